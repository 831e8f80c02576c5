"""Every core learns to remember."""

import pytest
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from iap_gym.baselines import RecurrentPPO
from tests.baselines.ppo_envs import CueEnv

SLOW = [
    pytest.param(core, marks=pytest.mark.slow) for core in ("lstm", "gru", "elman", "clockwork")
]


@pytest.mark.parametrize("core", ["gatel0rd", *SLOW])
def test_a_cue_is_remembered(core):
    model = RecurrentPPO(
        "MlpCorePolicy",
        DummyVecEnv([CueEnv] * 8),
        core=core,
        n_steps=40,
        batch_size=80,
        n_epochs=4,
        learning_rate=5e-3,
        ent_coef=0.01,
        seed=0,
        policy_kwargs={"hidden_size": 16, "net_arch": []},
    )
    for _ in range(15):
        model.learn(1600, reset_num_timesteps=False)
        returns = evaluate_policy(model, Monitor(CueEnv()), 20, return_episode_rewards=True)[0]
        if min(returns) == 1:  # 20 right answers are one in a million by chance
            return
    pytest.fail(f"not learnt after {model.num_timesteps} steps")
