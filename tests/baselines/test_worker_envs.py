"""Environments in worker processes give the numbers of ``DummyVecEnv``."""

import functools
import os
import signal

import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from iap_gym.baselines.experiments.worker_envs import WorkerVecEnv
from tests.baselines.run_envs import Failing, random_env


def monitored(kind):
    return Monitor(random_env(kind))


def test_same_numbers_as_in_one_process():
    makers = [functools.partial(monitored, "dict")] * 5
    worlds = [DummyVecEnv(makers), WorkerVecEnv(makers, 2)]
    for world in worlds:
        world.seed(7)
    assert worlds[1].observation_space == worlds[0].observation_space
    found = [world.reset() for world in worlds]
    rng = np.random.default_rng(0)
    for _ in range(30):
        np.testing.assert_equal(found[1], found[0])
        actions = rng.integers(3, size=5)
        found = [world.step(actions) for world in worlds]
        for _, rewards, _, infos in found:
            assert rewards.dtype == np.float32
            for info in infos:
                info.pop("episode", {}).pop("t", None)  # seconds
    one, many = worlds
    many.set_attr("longest", 9, indices=[1, 4])
    one.set_attr("longest", 9, indices=[1, 4])
    assert many.get_attr("longest") == one.get_attr("longest")
    assert many.get_attr("longest", indices=[4, 0]) == one.get_attr("longest", indices=[4, 0])
    assert many.env_is_wrapped(Monitor) == [True] * 5
    assert many.env_method("get_wrapper_attr", "steps", indices=3) == one.env_method(
        "get_wrapper_attr", "steps", indices=3
    )
    for world in worlds:
        world.close()
        world.close()


def test_what_an_environment_raises_is_said_here():
    with pytest.raises(RuntimeError, match="^ZeroDivisionError: division by zero"):
        WorkerVecEnv([lambda: 1 / 0], 1)


def test_a_worker_that_dies_or_an_environment_that_raises_ends_the_step():
    world = WorkerVecEnv([random_env, Failing], 2)
    world.seed(0)
    world.reset()
    actions = np.zeros(2, int)
    world.set_attr("episodes", 2, indices=1)
    with pytest.raises(RuntimeError, match="^KeyError: 'sky'"):
        _ = [world.step(actions) for _ in range(10)]
    os.kill(world._processes[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="worker process ended with exit code -9"):
        world.reset()
    world.close()
