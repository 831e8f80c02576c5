"""Observations and rewards that are not finite stop a training."""

import pickle

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from iap_gym.baselines import RecurrentPPO
from iap_gym.baselines.evolution.rollout import run_episode
from iap_gym.baselines.ppo import NonFiniteObservationError, NonFiniteRewardError
from tests.baselines.ppo_envs import FaultyEnv

N_STEPS = 8


def faulty(
    tmp_path,
    kind="vector",
    fault_at=13,
    longest=100,
    wrap=None,
    value=np.nan,
    reward=False,
    **settings,
):
    """Three environments, of which number 1 has a fault."""
    envs = DummyVecEnv(
        [
            lambda i=i: FaultyEnv(kind, fault_at if i == 1 else None, longest, value, reward)
            for i in range(3)
        ]
    )
    return RecurrentPPO(
        "MlpCorePolicy" if kind == "vector" else "MultiInputCorePolicy",
        envs if wrap is None else wrap(envs),
        n_steps=N_STEPS,
        batch_size=12,
        seed=0,
        stopped_path=str(tmp_path / "runs" / "stopped"),
        policy_kwargs={"hidden_size": 4, "net_arch": []},
        **settings,
    )


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # VecNormalize on infinity
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("wrap", [None, VecNormalize], ids=["plain", "VecNormalize"])
def test_stops_saves_and_says_where(tmp_path, wrap, value):
    model = faulty(tmp_path, wrap=wrap, value=value)
    wanted = (
        r"observation: expected finite numbers, got NaN or infinity from environment 1 at step 5 "
        r"of the rollout, after 39 steps in all; the model is saved in .*stopped\.zip"
    )
    with pytest.raises(NonFiniteObservationError, match=wanted) as caught:
        model.learn(1000)
    assert caught.value.rows == [1]
    saved = RecurrentPPO.load(tmp_path / "runs" / "stopped.zip")
    for name, parameter in saved.policy.named_parameters():
        assert torch.isfinite(parameter).all(), name
        assert torch.equal(parameter, dict(model.policy.named_parameters())[name])


def test_the_first_observation_and_the_last_of_a_rollout(tmp_path):
    for fault_at, step, total in ((8, 8, 24), (16, 8, 48)):
        with pytest.raises(NonFiniteObservationError, match=f"at step {step} .* after {total} "):
            faulty(tmp_path, fault_at=fault_at).learn(1000)


def test_steps_of_a_training_that_goes_on(tmp_path):
    model = faulty(tmp_path, fault_at=30)
    model.learn(24)
    with pytest.raises(NonFiniteObservationError, match="at step 6 .* after 90 "):
        model.learn(1000, reset_num_timesteps=False)


def test_key_of_a_dict(tmp_path):
    with pytest.raises(NonFiniteObservationError, match=r"observation\['speed'\].*environment 1 "):
        faulty(tmp_path, "dict").learn(1000)


def test_last_observation_of_a_truncated_episode(tmp_path):
    # Environment 1 of three is not row 1 of the one observation that is judged.
    with pytest.raises(NonFiniteObservationError, match="from environment 1 at step 5 .* after 15"):
        faulty(tmp_path, fault_at=5, longest=5).learn(1000)


def test_finite_observations_however_large_go_on(tmp_path):
    model = faulty(tmp_path, value=3e38, fault_at=5)
    obs = torch.full((3, 3), 3e38)
    states = model._last_lstm_states
    model.policy.forward(obs, states, torch.zeros(3))


def test_nothing_is_saved_where_no_path_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = faulty(tmp_path)
    model.stopped_path = None
    with pytest.raises(NonFiniteObservationError, match="39 steps in all$"):
        model.learn(1000)
    assert not list(tmp_path.iterdir())


def test_error_survives_pickling():
    error = pickle.loads(pickle.dumps(NonFiniteObservationError("text", [1, 2], "speed")))
    assert (str(error), error.rows, error.key) == ("text", [1, 2], "speed")


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # VecNormalize on infinity
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("wrap", [None, VecNormalize], ids=["plain", "VecNormalize"])
def test_a_reward_stops_saves_and_says_where(tmp_path, wrap, value):
    model = faulty(tmp_path, wrap=wrap, value=value, reward=True)
    wanted = (
        r"^reward: expected finite numbers, got NaN or infinity from environment 1 at step 5 "
        r"of the rollout, after 39 steps in all; the model is saved in .*stopped\.zip$"
    )
    with pytest.raises(NonFiniteRewardError, match=wanted) as caught:
        model.learn(1000)
    assert caught.value.rows == [1]
    saved = RecurrentPPO.load(tmp_path / "runs" / "stopped.zip")
    assert saved.num_timesteps == 39
    for name, parameter in saved.policy.named_parameters():
        assert torch.isfinite(parameter).all(), name


def test_a_reward_at_the_ends_of_a_rollout(tmp_path):
    for fault_at, step, total in ((8, 8, 24), (9, 1, 27)):
        with pytest.raises(NonFiniteRewardError, match=f"at step {step} .* after {total} "):
            faulty(tmp_path, fault_at=fault_at, reward=True).learn(1000)


@pytest.mark.parametrize("reward", [False, True])
def test_a_path_that_cannot_be_written_does_not_hide_why_training_stopped(tmp_path, reward):
    (tmp_path / "file").touch()
    (tmp_path / "folder.zip").mkdir()
    for path in (tmp_path / "file" / "model", tmp_path / "folder", "/proc/none/model"):
        model = faulty(tmp_path, reward=reward)
        model.stopped_path = str(path)
        wanted = r"environment 1 at step 5 .*; the model could not be saved: \w+Error: "
        with pytest.raises((NonFiniteObservationError, NonFiniteRewardError), match=wanted):
            model.learn(1000)


def test_a_reward_of_an_evaluation_is_no_fault_of_the_training(tmp_path):
    class Nothing:
        def act(self, observations, state=None, episode_start=None):
            return np.zeros((1, *model.action_space.shape), model.action_space.dtype), None

    class Evaluates(BaseCallback):
        def _on_step(self):
            run_episode(FaultyEnv("vector", 3, 100, np.nan, True), Nothing(), seed=0)
            return True

    model = faulty(tmp_path, fault_at=None)
    with pytest.raises(NonFiniteRewardError, match=r"^reward: .* got nan at step 3 \(seed 0\)$"):
        model.learn(1000, Evaluates())
    assert not list(tmp_path.iterdir())


def test_predict_says_it_too(tmp_path):
    model = faulty(tmp_path)
    observations = np.zeros((3, *model.observation_space.shape), np.float32)
    observations[2] = np.nan
    with pytest.raises(NonFiniteObservationError, match="got NaN or infinity from environment 2$"):
        model.predict(observations)
    with pytest.raises(NonFiniteObservationError, match="^observation: .* environment 0$"):
        model.predict(observations[2])


def test_an_evaluation_during_training_is_not_taken_for_the_training(tmp_path):
    model = faulty(tmp_path, fault_at=None)
    bad = np.full(model.observation_space.shape, np.nan, np.float32)
    with pytest.raises(NonFiniteObservationError, match="environment 0$"):
        model.learn(1000, callback=lambda *_: model.predict(bad) and True)
    assert not (tmp_path / "runs").exists()
