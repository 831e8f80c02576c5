"""Episodes played side by side are those that are played one by one."""

import random

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.utils import set_random_seed

from iap_gym.baselines import RecurrentPPO
from iap_gym.baselines.experiments.outcomes import succeeded
from iap_gym.baselines.experiments.periodic import Played, evaluate_policy_batch
from iap_gym.baselines.experiments.vector import make_single
from iap_gym.recurrent.cores import CORES
from tests.baselines.run_envs import HERE, Faulty, Recall, Seeded

TINY = {"n_steps": 8, "batch_size": 8, "n_epochs": 1, "policy_kwargs": {"hidden_size": 6}}


def agent(env=Recall, core="gatel0rd", **kwargs):
    return RecurrentPPO("MlpCorePolicy", make_vec_env(env, 2), core=core, seed=3, **TINY, **kwargs)


def one_by_one(policy, env, seeds):
    """Return returns, lengths and the mean of the gates, of most probable actions."""
    returns, lengths, gates = [], [], []

    def listen(core, arguments, outputs):
        if "gates" in outputs[2]:
            gates.append(outputs[2]["gates"])

    hook = policy.actor_core.register_forward_hook(listen)
    for seed in seeds:
        seen, _ = env.reset(seed=seed)
        state, done, total, length = None, False, 0.0, 0
        while not done:
            action, state = policy.predict(seen, state, np.array([length == 0]), deterministic=True)
            seen, reward, terminated, truncated, _ = env.step(action)
            total, length, done = total + reward, length + 1, terminated or truncated
        returns.append(total)
        lengths.append(length)
    hook.remove()
    return returns, lengths, float(torch.cat(gates).mean()) if gates else None


@pytest.mark.parametrize(
    ("core", "gate"), [*((core, None) for core in CORES), ("gatel0rd", "sigmoid")]
)
@pytest.mark.parametrize("side_by_side", [1, 4, 16])
def test_side_by_side_is_one_by_one(core, gate, side_by_side):
    policy = agent(core=core, core_kwargs=None if gate is None else {"gate": gate}).policy
    played = evaluate_policy_batch(
        policy, Recall, 11, sampled=False, first_seed=40, side_by_side=side_by_side
    )
    returns, lengths, rate = one_by_one(policy, Recall(), range(40, 51))
    assert played.returns == tuple(returns)
    assert played.lengths == tuple(lengths)
    assert played.successes == tuple(value > 0 for value in returns)
    assert played.gate_rate == (None if rate is None else pytest.approx(rate, abs=1e-6))
    assert (rate is None) == (core != "gatel0rd")
    assert gate is None or 0.2 < played.gate_rate < 0.8  # not how many are above 0, which all are


def test_long_and_short_episodes_count_alike():
    """The first episodes to end would be the short ones: their mean is not that of the set."""
    policy = agent(Seeded).policy
    lengths = [np.random.default_rng(seed).integers(1, 30) for seed in range(7, 47)]
    played = evaluate_policy_batch(policy, Seeded, 40, first_seed=7)
    assert played.lengths == tuple(lengths)
    assert played.returns == tuple(float(length) for length in lengths)


def global_draws():
    return random.random(), np.random.random(), torch.rand(1).item()  # noqa: NPY002


def test_sampled_actions_follow_the_seed_and_leave_the_generators_alone():
    policy = agent().policy
    set_random_seed(1)
    drawn = []
    for seed in (5, 5, 6):
        played = evaluate_policy_batch(policy, Recall, 20, first_seed=seed)
        drawn.append((played.returns, played.lengths))
    after = global_draws()
    set_random_seed(1)
    assert after == global_draws()
    assert drawn[0] == drawn[1] != drawn[2]
    most_probable = evaluate_policy_batch(policy, Recall, 20, sampled=False, first_seed=5)
    assert most_probable.returns != drawn[0][0]


def test_success_is_what_the_environment_says_or_minigrids_rule():
    assert succeeded("Recall-v0", -1.0, {"is_success": np.True_}) is True
    assert succeeded("MiniGrid-DoorKey-5x5-v0", 0.1, {}) is True
    assert succeeded("minigrid:MiniGrid-DoorKey-5x5-v0", 0.0, {}) is False
    assert succeeded("CartPole-v1", 500.0, {}) is None
    assert evaluate_policy_batch(agent(Seeded).policy, Seeded, 2).successes is None


def test_row_of_the_table():
    row = Played((1.0, 0.0), (3, 6), (True, False), None, 2.5).row(400)
    assert row == {
        "timesteps": 400, "episodes": 2, "success_rate": 0.5, "mean_return": 0.5,
        "mean_length": 4.5, "gate_rate": None, "seconds": 2.5,
    }  # fmt: skip


def test_a_policy_plays_in_another_environment_of_the_same_spaces():
    pytest.importorskip("minigrid")
    from iap_gym.baselines.minigrid import make_minigrid
    from iap_gym.baselines.presets import minigrid

    env = make_vec_env(make_minigrid, 1, env_kwargs={"env_id": "MiniGrid-DoorKey-5x5-v0"})
    policy = RecurrentPPO(env=env, **minigrid()).policy
    played = evaluate_policy_batch(
        policy, lambda: make_single("MiniGrid-DoorKey-6x6-v0"), 2, side_by_side=2
    )
    assert max(played.lengths) <= 10 * 6**2
    assert played.successes == tuple(value > 0 for value in played.returns)


def test_other_actions_are_refused():
    policy = agent(Seeded).policy
    with pytest.raises(ValueError, match=r"make_env: expected .*Discrete\(2\), got Box"):
        evaluate_policy_batch(policy, lambda: gymnasium.make("Pendulum-v1"), 2)


def test_nan_is_named_with_its_episode():
    policy = agent(lambda: Faulty(99)).policy
    with pytest.raises(RuntimeError, match="NaN or infinity at step . of the episode with seed"):
        evaluate_policy_batch(policy, lambda: Faulty(2), 30, first_seed=100)


def test_text_is_left_out():
    pytest.importorskip("minigrid")
    import minigrid  # noqa: F401

    env = make_single("BabyAI-GoToRedBall-v0")
    assert set(env.observation_space) == {"direction", "image"}
    assert make_single(f"{HERE}:Recall-v0", sleep=0.0).observation_space.shape == (2,)
