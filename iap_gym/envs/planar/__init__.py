"""Billiard Ball, Robot Remote Control and Shepherd: three partially observable planar worlds.

From Gumbsch, Butz and Martius (2021), "Sparsely Changing Latent States for Prediction and Planning
in Partially Observable Domains". Each world is a frozen dataclass of settings with pure functions
on arrays of n worlds; its environment and its vector environment call the same ones.
"""

from iap_gym.envs.planar.billiard_ball import BilliardBall
from iap_gym.envs.planar.environments import (
    BilliardBallEnv,
    BilliardBallVectorEnv,
    RobotRemoteControlEnv,
    RobotRemoteControlVectorEnv,
    ShepherdEnv,
    ShepherdVectorEnv,
)
from iap_gym.envs.planar.robot_remote_control import RobotRemoteControl
from iap_gym.envs.planar.shepherd import Shepherd
from iap_gym.envs.planar.world import World

__all__ = [
    "BilliardBall",
    "BilliardBallEnv",
    "BilliardBallVectorEnv",
    "RobotRemoteControl",
    "RobotRemoteControlEnv",
    "RobotRemoteControlVectorEnv",
    "Shepherd",
    "ShepherdEnv",
    "ShepherdVectorEnv",
    "World",
]
