"""The stages in which the quadruped is trained, each as the settings of a training run.

Low level on flat ground, then the high level on a surrogate without dynamics, then in full physics,
then both together. The paper trains both from scratch on many machines (Choromanski et al. 2021,
section 5.3); on two cores that has not been seen to work, the stages have.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

ENV = "iap_gym/QuadrupedObstacleCourse-v0"
NAVIGATION = "iap_gym/QuadrupedNavigation-v0"
LATENT_SIZE = 2
# From where the low level learns to walk: a trot that hardly gets ahead.
UNTUNED = {"frequency": 2.0, "amplitude": 0.15}
# 64 patches of a 32x32 image. The paper's sizes are lost.
SELECTOR = {"patch_size": 4, "num_selected": 10, "d_qk": 4, "kernel": "relu", "pixel_offset": 0.5}
NETWORKS: dict[str, dict[str, Any]] = {
    "iap": {
        "high": "LinearPolicy",
        "velocity": None,
        "places": "signed",
        "selector": SELECTOR,
    },
    "cnn": {"high": "CnnPolicy"},
}
# Of the surrogate stage: the best of a handful that were tried for each, on one seed.
SEARCHES: dict[str, dict[str, float]] = {
    "iap": {"sigma": 0.3, "learning_rate": 0.15, "decay": 0.985},
    "cnn": {"sigma": 0.2, "learning_rate": 0.1, "decay": 0.995},
}
# The robot starts with a swerve and turns unevenly, which the surrogate does not. Without these a
# policy walks off the platform before the first wall, or turns as hard as it can and overshoots.
SCATTERED = {"start_y": 0.3, "start_yaw": 0.3, "turn_scatter": 0.4, "turn_drift": 0.1}


def flat() -> dict[str, Any]:
    """A linear low level learns to walk on flat ground from the untuned gait, without camera."""
    return {
        "env": ENV,
        "env_kwargs": {
            "control": "pmtg",
            "camera": False,
            "gait": UNTUNED,
            "course": {"preset": "flat"},
        },
        "policy": "LinearPolicy",
        "policy_kwargs": {"squash": "clip"},
        "algo_kwargs": {
            "population_size": 16,
            "sigma": 0.15,
            "learning_rate": 0.1,
            "decay": 0.98,
            "weight_decay": 0.0,
        },
        "total_timesteps": 1_500_000,
        # Every episode is the same, 10 s from standing: a tenth of its return is the mean speed.
        "eval_every": 50_000,
        "eval_episodes": 1,
    }


def surrogate(network: str) -> dict[str, Any]:
    """The high level learns to steer on the surrogate; the best in full physics is kept."""
    return {
        **_level(network, "high"),
        "env_kwargs": {**_latent(), "physics": "kinematic", "course": SCATTERED},
        "algo_kwargs": {
            "population_size": 128,
            **SEARCHES[network],
            "weight_decay": 0.0,
            "common_seeds": "pair",
        },
        "total_timesteps": 600_000,
        "eval_every": 50_000,
        "eval_episodes": 24,
        "eval_env_kwargs": {"physics": "bullet", "course": {}},
    }


def high(network: str) -> dict[str, Any]:
    """The high level goes on in full physics; the best on fixed validation courses is kept."""
    return {
        **_level(network, "high"),
        "env_kwargs": _latent(),
        "algo_kwargs": {
            "population_size": 48,
            "sigma": 0.05,  # more and it falls
            "learning_rate": 0.02,
            "decay": 0.98,
            "weight_decay": 0.0,
            "common_seeds": "pair",
        },
        "total_timesteps": 45_000,
        "eval_every": 9_000,
        "eval_episodes": 24,
    }


def joint(network: str) -> dict[str, Any]:
    """Both levels together in full physics, as in the paper: from a start, or from scratch."""
    return {**high(network), **_level(network, "both")}


def navigation() -> dict[str, Any]:
    """A high level learns on the surrogate to get through apartments; the best in physics is kept.

    It has a memory, as turning away from a wall is not done with when the wall is out of sight. Its
    camera is wide (110 degrees), so that it sees what it is about to scrape along, and training
    episodes are half as long as those it is judged by: who is stuck stays stuck.
    """
    fields = surrogate("iap")
    fields["algo_kwargs"] |= {"sigma": 1.5, "learning_rate": 0.7, "decay": 0.985}
    return {
        **fields,
        "env": NAVIGATION,
        # The surrogate always walks at one speed, so that the command has no number for it.
        "env_kwargs": {
            "control": "latent",
            "latent_size": 1,
            "physics": "kinematic",
            "camera_fov": 110.0,
            "episode_steps": 1000,
        },
        "policy_kwargs": {
            "trains": "high",
            "steering": "indoor",
            "high": "LstmPolicy",
            "hidden_size": 8,
            "places": "signed",
            "selector": {**SELECTOR, "num_selected": 4},
            "vector_scale": [0.15, 1.0],  # distance in m, bearing in rad
        },
        "total_timesteps": 400_000,
        "eval_every": 100_000,
        "eval_episodes": 60,
        "eval_env_kwargs": {"physics": "bullet", "episode_steps": 2000},
    }


def _latent() -> dict[str, Any]:
    return {"control": "latent", "latent_size": LATENT_SIZE}


def _level(network: str, trains: str) -> dict[str, Any]:
    return {
        "env": ENV,
        "policy": "HierarchicalPolicy",
        "policy_kwargs": {"trains": trains, **copy.deepcopy(NETWORKS[network])},
    }


STAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "quadruped-flat": flat,
    "quadruped-surrogate": lambda: surrogate("iap"),
    "quadruped-high": lambda: high("iap"),
    "quadruped-joint": lambda: joint("iap"),
    "quadruped-navigation": navigation,
    "quadruped-cnn-surrogate": lambda: surrogate("cnn"),
    "quadruped-cnn-high": lambda: high("cnn"),
    "quadruped-cnn-joint": lambda: joint("cnn"),
}
