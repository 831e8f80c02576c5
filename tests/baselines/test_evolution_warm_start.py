"""A search starts from numbers that mean the same: a checkpoint names what they mean."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

from iap_gym.baselines import EvolutionStrategies
from iap_gym.baselines.evolution import checkpoint
from tests.baselines.pixel_envs import FollowBlob

SELECTOR = {"patch_size": 4, "num_selected": 2}
CNN = {"channels": [2, 2, 2], "feature_size": 3}


def build(policy="LinearPolicy", start_from=None, dict_observation=True, **policy_kwargs):
    plain = CNN if policy == "CnnPolicy" else {"selector": SELECTOR}
    return EvolutionStrategies(
        policy,
        FollowBlob,
        env_kwargs={"dict_observation": dict_observation},
        policy_kwargs={**plain, **policy_kwargs},
        population_size=2,
        seed=1 if start_from is None else 2,
        start_from=start_from,
    )


@pytest.fixture
def run(tmp_path):
    """The folder of a run with a best generation, of which the arrays alone are kept."""
    es = build()
    es.save(tmp_path / "checkpoint")
    es.policy.save_weights(tmp_path / "best.safetensors")
    return tmp_path


@pytest.mark.parametrize(
    ("policy", "changes", "differing"),
    [
        ("LinearPolicy", {"selector": {**SELECTOR, "kernel": "softmax"}}, "selector.kernel"),
        ("LinearPolicy", {"selector": {**SELECTOR, "patch_size": [2, 8]}}, "selector.patch_size"),
        ("LinearPolicy", {"selector": {**SELECTOR, "stride": 3}}, "selector.stride"),
        ("MlpPolicy", {"selector": {**SELECTOR, "input_scaling": "unit"}}, "input_scaling"),
        ("MlpPolicy", {"selector": {**SELECTOR, "pixel_offset": 0.25}}, "selector.pixel_offset"),
        ("LinearPolicy", {"places": "signed"}, "places"),
        ("LinearPolicy", {"velocity_gain": 2.0}, "velocity_gain"),
        ("LstmPolicy", {"vector_scale": [1.0, 2.0]}, "vector_scale"),
        ("LstmPolicy", {"squash": "clip"}, "squash"),
        ("CnnPolicy", {"pool_size": 3}, "pool_size"),
        ("CnnPolicy", {"vector_scale": 0.5}, "vector_scale"),
    ],
)
def test_arguments_that_change_what_the_numbers_mean_are_named(
    tmp_path, policy, changes, differing
):
    path = build(policy).save(tmp_path / "other")
    build(policy, path)
    message = r"^start_from: .*other.zip does not fit the policy: policy_kwargs: expected.*\b{}"
    with pytest.raises(ValueError, match=message.format(differing)) as caught:
        build(policy, path, **changes)
    if "selector" not in changes:
        assert "selector" not in str(caught.value)
    other = build(policy, **changes).save(tmp_path / "other")  # and the other way round
    with pytest.raises(ValueError, match=message.format(differing)):
        build(policy, other)


@pytest.mark.parametrize(
    ("policy", "changes"),
    [
        ("LinearPolicy", {"selector": {**SELECTOR, "patch_size": [4, 4], "stride": 4}}),
        ("LinearPolicy", {"selector": {**SELECTOR, "kernel": "relu", "pixel_offset": 0.5}}),
        ("LinearPolicy", {"selector": {**SELECTOR, "seed": 5, "backend": "torch"}}),
        ("LinearPolicy", {"velocity": "previous", "velocity_gain": 5, "vector_scale": 1}),
        ("LinearPolicy", {"image_key": "camera", "places": "unit", "vector_scale": [1, 1]}),
        ("CnnPolicy", {"kernel_sizes": [3, 3, 3], "strides": [2, 2, 1], "image_key": "camera"}),
    ],
)
def test_the_same_in_other_words_is_the_same(tmp_path, policy, changes):
    es = build(policy)
    again = build(policy, es.save(tmp_path / "other"), **changes)
    np.testing.assert_array_equal(again.get_vector(), es.get_vector())


def test_a_run_says_what_its_best_generation_was_trained_with(run):
    vector = build().get_vector()
    np.testing.assert_array_equal(build(start_from=run).get_vector(), vector)
    with pytest.raises(ValueError, match="does not fit the policy: policy_kwargs.*'places'"):
        build(start_from=run, places="signed")
    # Weights and vectors name no arguments: whoever hands them over knows.
    for start in (run / "best.safetensors", vector):
        es = build(start_from=start, places="signed")
        np.testing.assert_array_equal(es.get_vector(), vector)


def test_arguments_without_effect_are_not_compared(tmp_path):
    def cart(start_from=None, **kwargs):
        return EvolutionStrategies(
            "LinearPolicy", "CartPole-v1", policy_kwargs=kwargs, seed=0, start_from=start_from
        )

    path = cart().save(tmp_path / "cart")
    for kwargs in ({"velocity_gain": 3.0}, {"places": "signed"}, {"squash": "clip"}):
        cart(path, **kwargs)
    with pytest.raises(ValueError, match="policy_kwargs: expected.*'vector_scale'"):
        cart(path, vector_scale=2.0)


def test_only_what_is_looked_at_is_compared(tmp_path):
    """A search that named the image, or had no other, goes on where there are others."""
    eye, other = Box(0, 255, (16, 16, 3), np.uint8), Box(0, 255, (12, 12, 3), np.uint8)

    class Eyes(gymnasium.Env):
        action_space = Box(-1.0, 1.0, (2,))

        def __init__(self, **images):
            self.observation_space = Dict(images)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.observation_space.sample(), {}

    def search(images, start_from=None, **kwargs):
        return EvolutionStrategies(
            "LinearPolicy",
            Eyes,
            env_kwargs=images,
            policy_kwargs={"selector": SELECTOR, **kwargs},
            seed=0,
            start_from=start_from,
        )

    alone = search({"camera": eye})
    path = alone.save(tmp_path / "alone")
    for images, key in (({"camera": eye, "other": other}, "camera"), ({"eye": eye}, None)):
        found = search(images, path, image_key=key)
        np.testing.assert_array_equal(found.get_vector(), alone.get_vector())
        again = search({"camera": eye}, found.save(tmp_path / "named"))
        np.testing.assert_array_equal(again.get_vector(), alone.get_vector())


def test_the_best_generation_of_a_run_is_there_without_its_checkpoint(run):
    vector = build().get_vector()
    (run / "checkpoint.zip").write_bytes(b"half")
    np.testing.assert_array_equal(build(start_from=run).get_vector(), vector)
    (run / "checkpoint.zip").unlink()
    np.testing.assert_array_equal(build(start_from=run).get_vector(), vector)


def test_checkpoints_of_earlier_versions_name_no_settings(tmp_path):
    path = build().save(tmp_path / "old")
    stored = checkpoint.read(path)
    assert stored.policy_settings["places"] == "unit"
    checkpoint.write(path, dataclasses.replace(stored, policy_settings=None))
    build(start_from=path, places="signed")
