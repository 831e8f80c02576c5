"""Episodes in which the robot touches, grasps, lifts and drops the cube."""

import gymnasium
import numpy as np

import iap_gym  # noqa: F401
from iap_gym.envs.fetch.controllers import grasp_and_lift

ID = "iap_gym/FetchPickAndPlace-v0"


def make(**kwargs):
    return gymnasium.make(ID, **kwargs)


def numbers(observation):
    return observation["observation"] if isinstance(observation, dict) else observation


class Grasping:
    """Actions (4,) float32 that go to the cube, grasp and lift it, and may let it go."""

    def __init__(self, observation, seed=0):
        self._controller = grasp_and_lift(
            np.random.default_rng(seed), numbers(observation), arrival=5, release=0.7
        )
        self._action = next(self._controller)

    def __call__(self, observation):
        action = self._action
        if observation is not None:
            action = self._action = self._controller.send(numbers(observation))
        return action


def play(env, seed, steps=40, policy_seed=0):
    """Return observations (steps + 1, 11) and rewards (steps,) of an episode."""
    observation, _ = env.reset(seed=seed)
    policy = Grasping(observation, policy_seed)
    seen, rewards = [numbers(observation)], []
    for t in range(steps):
        observation, reward, *_ = env.step(policy(observation if t else None))
        seen.append(numbers(observation))
        rewards.append(reward)
    return np.array(seen), np.array(rewards)
