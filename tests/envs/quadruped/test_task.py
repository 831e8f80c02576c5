"""Tasks of one's own: what an environment refuses of them, and when."""

import dataclasses

import numpy as np
import pytest
from gymnasium import spaces

from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.env import QuadrupedEnv
from iap_gym.envs.quadruped.mover import Place
from iap_gym.envs.quadruped.world import World
from iap_gym.raycast import Ground, Scene

PLACE = Place(
    World(ground_height=0.0), Scene((), ground=Ground()), (0.0, 0.0, a1.START_HEIGHT), 0.0, 0.0
)
BOX = spaces.Box(-1.0, 1.0, (1,), np.float32)


class Standing:
    """Has one entry of the observation, and pays nothing."""

    def __init__(self, **members):
        self.spaces = {"clock": BOX}
        self.successes = ("done",)
        vars(self).update(members)

    def start(self, rng):
        return PLACE

    def advance(self, pose, dt):
        return 0.0, None

    def observe(self, pose):
        return {"clock": np.zeros(1, np.float32)}

    def info(self, pose):
        return {"time": 0.0}


def environment(**members):
    return QuadrupedEnv(Standing(**members), camera=False)


class Empty:
    pass


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (Standing, "task: expected an instance with spaces, successes, .* got <class"),
        (None, "task: expected an instance .* got None without spaces, successes, start"),
        (object(), "task: expected an instance .* without spaces"),
        (Empty(), "task: expected .* without spaces, successes, start, advance, observe, info$"),
        (Standing(start=PLACE), "task.start: expected a method, got Place"),
        (Standing(info={}), "task.info: expected a method, got {}"),
        (Standing(successes="done"), "task.successes: expected a tuple of strings, got 'done'"),
        (Standing(successes=3), "task.successes: expected a tuple of strings, got 3"),
        (Standing(successes=(1,)), r"task.successes: expected a tuple of strings, got \(1,\)"),
        (Standing(spaces=None), "task.spaces: expected a dict of names and spaces, got None"),
        (Standing(spaces={"clock": 3}), "task.spaces: expected a dict of names and spaces"),
        (Standing(spaces={1: BOX}), "task.spaces: expected a dict of names and spaces"),
        (Standing(spaces={"proprio": BOX}), "task.spaces: expected names other .* got 'proprio'"),
        (Standing(spaces={"camera": BOX}), "task.spaces: expected names other .* got 'camera'"),
        (Standing(spaces={"depth": BOX}), "task.spaces: expected names other .* got 'depth'"),
    ],
)
def test_what_is_no_task_is_named(task, message):
    with pytest.raises(ValueError, match=message):
        QuadrupedEnv(task, camera=False)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"start": lambda rng: None}, "task.start: expected to return a Place, got None"),
        ({"observe": lambda pose: {}}, r"task.observe: expected .* keys \['clock'\], got {}"),
        ({"observe": lambda pose: None}, "task.observe: expected .* got None"),
        (
            {"observe": lambda pose: {"clock": np.zeros(1, np.float32), "more": 0}},
            "task.observe: expected to return a dict with the keys",
        ),
        ({"info": lambda pose: None}, "task.info: expected to return a dict .* got None"),
        ({"info": lambda pose: {"speed": 3}}, "task.info: expected .* without the robot's keys"),
        ({"info": lambda pose: {"end": "never"}}, "task.info: expected .* without the robot's"),
    ],
)
def test_what_a_task_tells_is_checked_by_reset(members, message):
    env = environment(**members)
    with pytest.raises(ValueError, match=message):
        env.reset(seed=0)
    env.close()


@pytest.mark.parametrize(
    "came",
    [None, 0.0, (0.0,), (0.0, None, {}), ("1", None), (np.nan, None), (np.inf, "done"), (0.0, 1)],
)
def test_what_is_no_outcome_of_a_step_is_named(came):
    env = environment(advance=lambda pose, dt: came)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"task.advance: expected to return \(finite reward, end"):
        env.step(np.zeros(16))
    env.close()


@pytest.mark.parametrize("reward", [1, 0.5, np.float32(0.5), np.float64(0.5), np.int64(1)])
def test_rewards_of_any_number(reward):
    env = environment(advance=lambda pose, dt: (reward, "done"))
    env.reset(seed=0)
    _, total, terminated, _, info = env.step(np.zeros(16))
    assert type(total) is float
    assert total == reward
    assert terminated
    assert (info["end"], info["success"]) == ("done", True)
    env.close()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"world": None}, "world: expected a World, got None"),
        ({"scene": None}, "scene: expected a Scene or a View, got None"),
        ({"position": (0, 0)}, r"position: expected finite numbers of shape \(3,\)"),
        ({"yaw": np.nan}, "yaw: expected"),
        ({"floor_height": None}, "floor_height: expected"),
        ({"num_floors": 1}, r"num_floors: expected an integer in \[0, 0\], got 1"),
        ({"endurance": -1.0}, "endurance: expected a finite number >= 0"),
        ({"turn_factor": -1.0}, "turn_factor: expected"),
        ({"turn_drift": np.inf}, "turn_drift: expected"),
    ],
)
def test_what_is_no_place_is_named(fields, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(PLACE, **fields)
