"""The interface of the environments: spaces, arguments, actions, rewards, info."""

import json
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.seeding import np_random

import iap_gym  # noqa: F401
from iap_gym.envs.distracting_control import make_distracting_control
from iap_gym.registry import DISTRACTING_TASKS

SMALL = {"height": 24, "width": 32, "render_quality": "fast"}


@pytest.fixture
def make():
    made = []

    def make(domain="cartpole", task="swingup", **kwargs):
        made.append(make_distracting_control(domain, task, **{**SMALL, **kwargs}))
        return made[-1]

    yield make
    for env in made:
        env.close()


def zero(env):
    return np.zeros(env.action_space.shape, np.float32)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"render_mode": "rgb_array"},
        {"observation": "both", "dynamic": True, "difficulty": "hard", "action_repeat": 3},
        {"difficulty": None, "render_quality": "reference"},
        {"distractions": ["color"]},
    ],
)
def test_gymnasium_and_stable_baselines_accept_it(kwargs):
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    env = gymnasium.make("iap_gym/DistractingCartpoleSwingup-v0", **{**SMALL, **kwargs})
    with warnings.catch_warnings():
        if kwargs.get("observation") == "both":
            # Gymnasium notes that the state has no bounds, as dm_control has none.
            warnings.filterwarnings("ignore", ".*Box observation space .*infinity.*")
        check_env(env.unwrapped)
        # The frames are smaller than its convolutions like.
        warnings.filterwarnings("ignore", ".*minimal resolution.*")
        sb3.check_env(env)
    env.close()


def test_spec_goes_through_json():
    env = gymnasium.make(
        "iap_gym/DistractingBallInCupCatch-v0", distractions=("camera",), camera_id=1, **SMALL
    )
    text = env.spec.to_json()
    json.loads(text)
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(text))
    frames = [each.reset(seed=3)[0] for each in (env, again)]
    np.testing.assert_array_equal(*frames)
    for each in (env, again):
        each.close()


@pytest.mark.parametrize(
    ("observation", "shapes"),
    [
        ("pixels", {"": ((24, 32, 3), np.uint8)}),
        ("state", {"": ((5,), np.float32)}),
        ("both", {"pixels": ((24, 32, 3), np.uint8), "state": ((5,), np.float32)}),
    ],
)
def test_observations(make, observation, shapes):
    env = make(observation=observation)
    first, _ = env.reset(seed=0)
    second, *_ = env.step(zero(env))
    for seen in (first, second):
        assert seen in env.observation_space
        parts = seen if isinstance(seen, dict) else {"": seen}
        assert {name: (part.shape, part.dtype) for name, part in parts.items()} == shapes
        assert all(part.flags.c_contiguous for part in parts.values())
    if observation == "pixels":
        assert not np.shares_memory(first, second)
        first[:] = 0
        assert second.any()


def test_state_is_dm_controls_in_its_order(make):
    env = make("walker", "walk", observation="state")
    state, _ = env.reset(seed=4)
    own = env.unwrapped._simulator._env.task.get_observation(env.physics)
    np.testing.assert_array_equal(
        state, np.concatenate([np.ravel(part) for part in own.values()]).astype(np.float32)
    )


def test_default_size_is_the_published_one(make):
    env = make_distracting_control("cartpole", "swingup", observation="pixels")
    assert env.observation_space.shape == (240, 320, 3)
    env.close()


def test_render_is_what_the_agent_sees_and_is_drawn_once(make, monkeypatch):
    env = make(render_mode="rgb_array", dynamic=True)
    drawn = []
    draw = env._renderer.draw
    monkeypatch.setattr(env._renderer, "draw", lambda pose: drawn.append(1) or draw(pose))
    seen, _ = env.reset(seed=0)
    for _ in range(3):
        frames = [env.render(), env.render()]
        for frame in frames:
            np.testing.assert_array_equal(frame, seen)
            assert not np.shares_memory(frame, seen)
        frames[0][:] = 0
        seen, *_ = env.step(zero(env))
    assert len(drawn) == 4


def test_render_of_a_state_environment_shows_the_distractions(make):
    env, seen = make(observation="state", render_mode="rgb_array"), make()
    env.reset(seed=5)
    np.testing.assert_array_equal(env.render(), seen.reset(seed=5)[0])
    assert env.metadata["render_fps"] == 100


def test_render_without_a_mode_warns(make):
    env = make()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="rgb_array"):
        assert env.render() is None


@pytest.mark.parametrize("repeat", [1, 2, 3, 7])
def test_action_repeat_is_the_same_steps_with_summed_rewards(make, repeat):
    kwargs = {"dynamic": True, "observation": "both"}
    single, repeated = (
        make("cheetah", "run", **kwargs),
        make("cheetah", "run", action_repeat=repeat, **kwargs),
    )
    single.reset(seed=1)
    repeated.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(4):
        action = rng.uniform(-1, 1, single.action_space.shape)
        steps = [single.step(action) for _ in range(repeat)]
        seen, reward, terminated, truncated, info = repeated.step(action)
        assert reward == pytest.approx(sum(step[1] for step in steps), abs=1e-12)
        assert (terminated, truncated, info) == steps[-1][2:]
        for name, part in seen.items():
            np.testing.assert_array_equal(part, steps[-1][0][name])


@pytest.mark.parametrize(("repeat", "steps", "last"), [(1, 1000, 1), (4, 250, 4), (300, 4, 100)])
def test_episode_is_a_thousand_control_steps(make, repeat, steps, last):
    env = make("pendulum", "swingup", observation="state", action_repeat=repeat)
    env.reset(seed=0)
    for step in range(1, steps + 1):
        time = env.physics.time()
        _, _, terminated, truncated, _ = env.step(zero(env))
        assert (terminated, truncated) == (False, step == steps)
        assert isinstance(truncated, bool)
    assert env.physics.time() - time == pytest.approx(last * 0.02)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(zero(env))


def test_actions_are_clipped(make):
    env = make("cheetah", "run", observation="state")
    results = []
    for scale in (1.0, 5.0):
        env.reset(seed=2)
        action = scale * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
        kept = action.copy()
        results.append(env.step(action)[0])
        np.testing.assert_array_equal(action, kept)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    "action",
    [[np.nan], [np.inf], [-np.inf], [0.0, 0.0], 0.0, [[0.0]], [], ["a"], None, {}, [None]],
)
def test_wrong_actions_are_refused_and_change_nothing(make, action):
    env = make(observation="state")
    env.reset(seed=3)
    with pytest.raises(ValueError, match=r"action: expected finite numbers of shape \(1,\)"):
        env.step(action)
    after = env.step([0.5])[0]
    env.reset(seed=3)
    np.testing.assert_array_equal(after, env.step(np.array([0.5]))[0])


def test_action_space_has_the_bounds_of_the_actuators(make):
    env = make("humanoid_CMU", "stand", observation="state")
    spec = env.unwrapped._simulator._env.action_spec()
    assert env.action_space.dtype == np.float32
    np.testing.assert_allclose(env.action_space.low, spec.minimum)
    np.testing.assert_allclose(env.action_space.high, spec.maximum)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("difficulty", "Medium"),
        ("difficulty", 1),
        ("dynamic", 1),
        ("distractions", "background"),
        ("distractions", ["colour"]),
        ("distractions", [1]),
        ("distractions", None),
        ("background", 3),
        ("background", "/nowhere/at/all"),
        ("background_alpha", 1.5),
        ("background_alpha", -0.1),
        ("split", "test"),
        ("height", 0),
        ("width", 2.5),
        ("camera_id", -1),
        ("camera_id", 2),
        ("camera_id", "side"),
        ("camera_id", True),
        ("action_repeat", 0),
        ("render_quality", "best"),
        ("observation", "rgb"),
        ("render_mode", "human"),
        ("domain", "lqr"),
        ("domain", "car"),
        ("task", "run"),
    ],
)
def test_wrong_arguments_are_named(make, name, value):
    with pytest.raises(ValueError, match=rf"^{name}: "):
        make(**{name: value})


@pytest.mark.parametrize(
    "off", [{"difficulty": None}, {"distractions": ["color"]}, {"observation": "state"}]
)
def test_a_path_is_looked_for_also_where_no_picture_is_shown(make, off, tmp_path):
    with pytest.raises(ValueError, match="^background: .* does not exist"):
        make(background=tmp_path / "absent", **off)


def test_unknown_argument_is_a_type_error(make):
    with pytest.raises(TypeError, match="difficulti"):
        make(difficulti="easy")


def test_camera_by_name_and_number(make):
    by_name, by_number = (
        make("cheetah", "run", camera_id="back"),
        make("cheetah", "run", camera_id=1),
    )
    other = make("cheetah", "run")
    frames = [env.reset(seed=0)[0] for env in (by_name, by_number, other)]
    np.testing.assert_array_equal(frames[0], frames[1])
    assert (frames[0] != frames[2]).mean() > 0.2


def test_info_is_plain_and_new_at_every_step(make):
    env = make(dynamic=True)
    _, info = env.reset(seed=0)
    assert {name: type(value) for name, value in info.items()} == {
        "background_clip": str,
        "background_frame": int,
        "camera_radius": float,
        "camera_azimuth": float,
        "camera_polar": float,
        "camera_roll": float,
    }
    kept = dict(info)
    *_, later = env.step(zero(env))
    assert info == kept
    assert later["camera_radius"] != info["camera_radius"]
    assert make(difficulty=None).reset(seed=0)[1] == {}
    assert set(make(distractions=["background"]).reset(seed=0)[1]) == {
        "background_clip",
        "background_frame",
    }


def test_attributes(make):
    env = make("reacher", "hard", difficulty="easy", dynamic=True, split="val")
    assert (env.domain, env.task) == ("reacher", "hard")
    settings = env.settings
    assert (settings.difficulty, settings.dynamic, settings.split) == ("easy", True, "val")
    assert len(settings.background.clips) == 4
    assert settings.background.floor_alpha == 0.0
    assert env.physics.model.name == "two-link planar reacher"


def test_larger_frames_than_the_models_own_buffer(make):
    env = make(height=500, width=700, difficulty=None)
    frame, _ = env.reset(seed=0)
    assert frame.shape == (500, 700, 3)
    assert frame.std() > 5
    assert env.physics.model.vis.global_.offwidth == 640


@pytest.mark.parametrize("observation", ["pixels", "state"])
def test_use_in_the_wrong_order(make, observation):
    env = make(observation=observation, render_mode="rgb_array")
    env.np_random.random()  # makes the generator, and is no reset
    with pytest.raises(gymnasium.error.ResetNeeded, match="step: call reset first"):
        env.step(zero(env))
    with pytest.raises(gymnasium.error.ResetNeeded, match="render: call reset first"):
        env.render()
    env.reset(seed=0)
    assert env.render().shape == (24, 32, 3)


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("render_mode", ["rgb_array", None])
def test_after_close_nothing_works_but_close(make, begun, render_mode):
    env = make(render_mode=render_mode)
    if begun:
        env.reset(seed=0)
        env.step(zero(env))
    env.close()
    env.close()
    for verb, call in (
        ("reset", env.reset),
        ("step", lambda: env.step(zero(env))),
        ("render", env.render),
    ):
        with pytest.raises(gymnasium.error.ClosedEnvironmentError, match=f"^{verb}: .* closed$"):
            call()


def test_pickling_says_why_not(make):
    with pytest.raises(TypeError, match="spec"):
        pickle.dumps(make())


def test_shared_metadata_of_shimmy_is_left_alone(make):
    compatibility = pytest.importorskip("shimmy.dm_control_compatibility")
    before = dict(compatibility.DmControlCompatibilityV0.metadata)
    make("swimmer", "swimmer6", observation="state")
    assert compatibility.DmControlCompatibilityV0.metadata == before
    assert make(observation="state").metadata["render_modes"] == ["rgb_array"]


def test_first_draw_of_a_reset_is_the_seed_of_the_task(make):
    suite = pytest.importorskip("dm_control.suite")
    env = make("finger", "turn_hard", observation="state")
    rng, _ = np_random(12)
    for reset in range(2):
        state, _ = env.reset(seed=12 if reset == 0 else None)
        seed = int(rng.integers(2**32, size=4)[0])
        plain = suite.load(
            "finger", "turn_hard", task_kwargs={"random": np.random.RandomState(seed)}
        )
        own = plain.reset().observation
        np.testing.assert_array_equal(
            state, np.concatenate([np.ravel(part) for part in own.values()]).astype(np.float32)
        )


# One domain for each way a camera is held and each size of model; the rest is slow.
_QUICK = {("cartpole", "balance"): 1, ("fish", "swim"): 4, ("manipulator", "bring_peg"): 1}


@pytest.mark.parametrize(
    ("domain", "task"),
    [
        pytest.param(*key, marks=[] if key in _QUICK else pytest.mark.slow)
        for key in DISTRACTING_TASKS
    ],
)
def test_every_task_runs_from_every_camera(make, domain, task):
    count = make(domain, task, observation="state").physics.model.ncam
    for camera in range(count):
        env = make(domain, task, dynamic=True, camera_id=camera, height=16, width=16)
        frame, _ = env.reset(seed=0)
        frames = [frame, *(env.step(env.action_space.sample())[0] for _ in range(3))]
        assert all(frame in env.observation_space for frame in frames)
        assert frame.std() > 1
        assert any(not np.array_equal(frame, later) for later in frames[1:])
        env.close()
