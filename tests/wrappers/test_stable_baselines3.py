import warnings

import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv

from iap_gym.wrappers import IAPObservation
from tests.wrappers.pixel_env import Square

SELECTOR = {"patch_size": 4, "num_selected": 3}


def make(**options):
    return IAPObservation(Square("dict", horizon=16), SELECTOR, **options)


@pytest.mark.parametrize("features", ["centers", "patches", "both"])
def test_check_env(features):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(features=features))


@pytest.mark.parametrize(
    ("policy", "options"),
    [("MlpPolicy", {"features": "both"}), ("MultiInputPolicy", {"keep_dict": True})],
)
def test_ppo_trains_on_one_environment_and_on_several(policy, options):
    for env in (make(**options), DummyVecEnv([lambda: make(**options)] * 2)):
        model = PPO(policy, env, n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu")
        before = [p.detach().clone() for p in model.policy.parameters()]
        model.learn(256)
        assert model.num_timesteps == 256
        after = list(model.policy.parameters())
        assert any((b != a).any() for b, a in zip(before, after, strict=True))
        observation = model.get_env().reset()
        action, _ = model.predict(observation)
        assert np.isin(action, range(4)).all()
