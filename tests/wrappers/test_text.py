import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from stable_baselines3.common.env_checker import check_env

from iap_gym.testing import check_wrapper
from iap_gym.wrappers import DropTextObservation

pytest.importorskip("minigrid")
ID = "minigrid:MiniGrid-DoorKey-5x5-v0"
WITH_COLORS = "minigrid:MiniGrid-KeyCorridorS3R1-v0"  # its MissionSpace has placeholders

NUMBERS = spaces.Box(-1, 1, (2,), np.float32)
TEXT = spaces.Text(20)


class Told(gymnasium.Env):
    """An environment with the given observation space, which it samples."""

    action_space = spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, False, {}


@pytest.mark.parametrize("env_id", [ID, WITH_COLORS])
def test_contract_on_minigrid(env_id):
    # Gymnasium's check would open a window, after which EGL is dead in this process.
    ran = check_wrapper(env_id, DropTextObservation, skip=("gymnasium",))
    assert {"stable_baselines3", "spec"} <= set(ran)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*different from the unwrapped version")
        gymnasium_check_env(DropTextObservation(gymnasium.make(env_id)), skip_render_check=True)


@pytest.mark.filterwarnings("ignore")
def test_stable_baselines3_refuses_the_space_that_is_wrapped():
    with pytest.raises(AssertionError, match="key=mission"):
        check_env(gymnasium.make(ID))


def test_other_entries_keep_space_and_value():
    bare, env = gymnasium.make(ID), DropTextObservation(gymnasium.make(ID))
    assert set(env.observation_space) == {"direction", "image"}
    for key, space in env.observation_space.items():
        assert space == bare.observation_space[key]
    before, after = bare.reset(seed=3)[0], env.reset(seed=3)[0]
    for action in (0, 2, 1, 2, 3):
        assert "mission" in before
        assert set(after) == {"direction", "image"}
        assert after["direction"] == before["direction"]
        np.testing.assert_array_equal(after["image"], before["image"])
        before, after = bare.step(action)[0], env.step(action)[0]
    assert "key" in env.unwrapped.mission


def test_texts_go_at_any_depth_and_empty_dicts_with_them():
    inner = spaces.Dict([("z", NUMBERS), ("said", TEXT), ("a", spaces.Discrete(3))])
    space = spaces.Dict([("note", spaces.Dict({"said": TEXT})), ("inner", inner), ("said", TEXT)])
    env = DropTextObservation(Told(space))
    expected = spaces.Dict([("inner", spaces.Dict([("z", NUMBERS), ("a", spaces.Discrete(3))]))])
    assert env.observation_space == expected
    assert list(env.observation_space["inner"]) == ["z", "a"], "the order stays"
    for observation in (env.reset(seed=0)[0], env.step(0)[0]):
        assert observation in expected


@pytest.mark.parametrize(
    "space",
    [
        NUMBERS,
        spaces.Discrete(3),
        spaces.Dict({"a": NUMBERS, "b": spaces.Sequence(NUMBERS)}),
        spaces.Dict({"a": spaces.Graph(NUMBERS, None), "b": spaces.MultiBinary(2)}),
        spaces.Tuple((NUMBERS, TEXT)),
    ],
    ids=str,
)
def test_observation_without_text_stays_as_it_is(space):
    inner = Told(space)
    env = DropTextObservation(inner)
    assert env.observation_space is space
    observation, _ = env.reset(seed=0)
    assert observation in space


@pytest.mark.parametrize("space", [TEXT, spaces.Dict({"a": TEXT, "b": spaces.Dict({"c": TEXT})})])
def test_text_alone_is_refused(space):
    with pytest.raises(ValueError, match="env: expected an observation space with something"):
        DropTextObservation(Told(space))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_of_gymnasium(mode):
    options = {"context": "forkserver"} if mode == "async" else {}
    envs = gymnasium.make_vec(
        ID, 2, vectorization_mode=mode, wrappers=[DropTextObservation], vector_kwargs=options
    )
    observations, _ = envs.reset(seed=0)
    assert observations["image"].shape == (2, 7, 7, 3)
    assert set(envs.step(np.zeros(2, int))[0]) == {"direction", "image"}
    envs.close()


def test_it_pickles():
    env = DropTextObservation(Told(spaces.Dict({"a": NUMBERS, "said": TEXT})))
    again = pickle.loads(pickle.dumps(env))
    assert again.observation_space == env.observation_space
    assert set(again.reset(seed=0)[0]) == {"a"}
