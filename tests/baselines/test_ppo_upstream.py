"""With LSTMs, separate and without cuts, we are sb3-contrib's RecurrentPPO."""

import numpy as np
import pytest
import sb3_contrib
import torch
from gymnasium import spaces
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv

from iap_gym.baselines import RecurrentPPO
from tests.baselines.ppo_envs import RandomEnv

UPDATES = 4
SETTINGS = {
    "n_steps": 24,
    "batch_size": 20,
    "n_epochs": 2,
    "learning_rate": 3e-4,
    "ent_coef": 0.01,
    "seed": 3,
    "device": "cpu",
}


def our_name(name):
    """The name of one of upstream's parameters in our policy."""
    for lstm in ("lstm_actor.", "lstm_critic."):
        name = name.replace(lstm, lstm + "network.")
    return name


def both(kind, longest, action_space=None, layers=1, **settings):
    """Ours and theirs, of the same weights, on the same environments."""
    settings = SETTINGS | settings

    def envs():
        return DummyVecEnv([lambda: RandomEnv(kind, action_space, longest)] * 3)

    prefix = {"vector": "Mlp", "image": "Cnn", "dict": "MultiInput"}[kind]
    theirs = sb3_contrib.RecurrentPPO(
        prefix + "LstmPolicy",
        envs(),
        policy_kwargs={"lstm_hidden_size": 8, "n_lstm_layers": layers, "net_arch": [8]},
        **settings,
    )
    ours = RecurrentPPO(
        prefix + "CorePolicy",
        envs(),
        core="lstm",
        core_sharing="separate",
        core_kwargs={"num_layers": layers},
        policy_kwargs={"hidden_size": 8, "net_arch": [8]},
        **settings,
    )
    weights = {our_name(name): value for name, value in theirs.policy.state_dict().items()}
    ours.policy.load_state_dict(weights | {"_extra_state": ours.policy.get_extra_state()})
    return ours, theirs


def learn(algorithm):
    set_random_seed(5)
    algorithm.learn(UPDATES * algorithm.n_steps * algorithm.n_envs)
    return dict(algorithm.policy.named_parameters())


def largest_difference(ours, theirs):
    before = {name: value.clone() for name, value in theirs.policy.named_parameters()}
    our_parameters, their_parameters = learn(ours), learn(theirs)
    assert {our_name(name) for name in their_parameters} == our_parameters.keys()
    for name, value in their_parameters.items():
        assert not torch.equal(value, before[name]), f"{name} was not trained"
    return max(
        (value - our_parameters[our_name(name)]).abs().max().item()
        for name, value in their_parameters.items()
    )


@pytest.mark.parametrize("longest", [5, 200], ids=["short", "long"])
@pytest.mark.parametrize("kind", ["vector", "dict"])
def test_parameters_after_some_updates(kind, longest):
    assert largest_difference(*both(kind, longest)) < 2e-7


@pytest.mark.parametrize(
    ("action_space", "settings"),
    [
        (spaces.Box(-1, 1, (2,), np.float32), {"clip_range_vf": 0.2}),
        (spaces.Box(-1, 1, (2,), np.float32), {"use_sde": True, "sde_sample_freq": 4}),
        (spaces.MultiDiscrete([2, 3]), {"normalize_advantage": False}),
        (spaces.Discrete(2), {"target_kl": 1e-5, "layers": 2}),
    ],
    ids=["box", "sde", "multi-discrete", "discrete"],
)
def test_action_spaces_and_options(action_space, settings):
    assert largest_difference(*both("vector", 5, action_space, **settings)) < 2e-7


def test_the_same_is_logged():
    ours, theirs = both("vector", 5, clip_range_vf=0.2)
    logs = []
    for algorithm in (ours, theirs):
        learn(algorithm)
        logs.append(dict(algorithm.logger.name_to_value))
    assert {name for name in logs[1] if name.startswith("train/")} <= logs[0].keys()
    for name, value in logs[1].items():
        if name.startswith("train/"):
            assert logs[0][name] == pytest.approx(value, rel=1e-3, abs=1e-6), name


def test_predictions_with_state():
    ours, theirs = both("vector", 5)
    rng = np.random.default_rng(0)
    states = [None, None]
    for _ in range(5):
        obs = rng.normal(size=(3, 3)).astype(np.float32)
        start = rng.integers(2, size=3).astype(bool)
        actions = []
        for i, algorithm in enumerate((ours, theirs)):
            action, states[i] = algorithm.predict(obs, states[i], start, deterministic=True)
            actions.append(action)
        np.testing.assert_array_equal(*actions)
        for mine, other in zip(*states, strict=True):
            np.testing.assert_allclose(mine, other, atol=1e-6)
