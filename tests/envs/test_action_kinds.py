"""What is no real number is no action, in any environment; and a warning is no refusal."""

import gymnasium
import numpy as np
import pytest

import iap_gym  # noqa: F401

CALM = {"disable_env_checker": True}  # gymnasium's own looks at actions before we do
ENVS = {
    "robot": lambda: gymnasium.make("iap_gym/RobotRemoteControl-v0", **CALM),
    "shepherd": lambda: gymnasium.make("iap_gym/Shepherd-v0", **CALM),
    "robots": lambda: gymnasium.make_vec("iap_gym/RobotRemoteControl-v0", num_envs=2),
    "fetch": lambda: gymnasium.make("iap_gym/FetchPickAndPlace-v0", **CALM),
    "quadruped": lambda: gymnasium.make("iap_gym/QuadrupedObstacleCourse-v0", camera=False, **CALM),
    "distracting": lambda: gymnasium.make(
        "iap_gym/DistractingCheetahRun-v0", observation="state", **CALM
    ),
    "racing": lambda: gymnasium.make(
        "iap_gym.envs.car_racing_variants:iap_gym/CarRacing-v0", variant="blob", **CALM
    ),
}
KINDS = {
    "complex": lambda action: action + 0j,
    "bool": lambda action: action > 0,
    "text": lambda action: action.astype(str),
    "objects": lambda action: action.astype(object),
    "NaN": lambda action: np.full_like(action, np.nan),
    "a row more": lambda action: np.stack([action, action]),
    "a ragged list": lambda action: [action.tolist(), 0.0],
}


@pytest.fixture(scope="module", params=ENVS.values(), ids=ENVS)
def env(request):
    made = request.param()
    made.reset(seed=0)
    yield made
    made.close()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_actions_of_a_wrong_kind_are_refused_by_name(env, kind):
    action = np.zeros(env.action_space.shape, np.float32)
    shape = str(action.shape).replace("(", r"\(").replace(")", r"\)")
    wanted = rf"^actions?: expected finite numbers of shape {shape}, got "
    with pytest.raises(ValueError, match=wanted):
        env.step(kind(action))
    env.step(action.tolist())
    env.step(action.astype(int))
