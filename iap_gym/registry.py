"""The one table of every environment id; entry points are strings, so that it imports nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium
from gymnasium.envs.registration import WrapperSpec


@dataclass(frozen=True)
class EnvEntry:
    """One environment that ``gym.make`` knows after ``import iap_gym``."""

    id: str
    family: str  # ids of one family share code, settings and a page of the docs
    entry_point: str  # "module:callable", imported when the environment is made
    extra: str | None  # of iap-gym, that brings what it needs; None: it needs nothing more
    max_episode_steps: int
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    representative: bool = False  # the one of its family that the quick tests make
    vector_entry_point: str | None = None  # of a vector environment of its own
    wrapper: str | None = None  # "module:class" that `gym.make` puts outermost


# (domain, task) of dm_control.suite.ALL_TASKS without lqr, which has no time limit.
DISTRACTING_TASKS: tuple[tuple[str, str], ...] = (
    ("acrobot", "swingup"),
    ("acrobot", "swingup_sparse"),
    ("ball_in_cup", "catch"),
    ("cartpole", "balance"),
    ("cartpole", "balance_sparse"),
    ("cartpole", "swingup"),
    ("cartpole", "swingup_sparse"),
    ("cartpole", "two_poles"),
    ("cartpole", "three_poles"),
    ("cheetah", "run"),
    ("dog", "stand"),
    ("dog", "walk"),
    ("dog", "trot"),
    ("dog", "run"),
    ("dog", "fetch"),
    ("finger", "spin"),
    ("finger", "turn_easy"),
    ("finger", "turn_hard"),
    ("fish", "upright"),
    ("fish", "swim"),
    ("hopper", "stand"),
    ("hopper", "hop"),
    ("humanoid", "stand"),
    ("humanoid", "walk"),
    ("humanoid", "run"),
    ("humanoid", "run_pure_state"),
    ("humanoid_CMU", "stand"),
    ("humanoid_CMU", "walk"),
    ("humanoid_CMU", "run"),
    ("manipulator", "bring_ball"),
    ("manipulator", "bring_peg"),
    ("manipulator", "insert_ball"),
    ("manipulator", "insert_peg"),
    ("pendulum", "swingup"),
    ("point_mass", "easy"),
    ("point_mass", "hard"),
    ("quadruped", "walk"),
    ("quadruped", "run"),
    ("quadruped", "escape"),
    ("quadruped", "fetch"),
    ("reacher", "easy"),
    ("reacher", "hard"),
    ("stacker", "stack_2"),
    ("stacker", "stack_4"),
    ("swimmer", "swimmer6"),
    ("swimmer", "swimmer15"),
    ("walker", "stand"),
    ("walker", "walk"),
    ("walker", "run"),
)


def camel_case(name: str) -> str:
    """Join the words of a snake_case name, each with a capital; capitals inside a word stay."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _distracting_control() -> tuple[EnvEntry, ...]:
    return tuple(
        EnvEntry(
            id=f"iap_gym/Distracting{camel_case(domain)}{camel_case(task)}-v0",
            family="distracting_control",
            entry_point="iap_gym.envs.distracting_control:make_distracting_control",
            extra="distracting",
            max_episode_steps=1000,
            kwargs={"domain": domain, "task": task},
            representative=(domain, task) == ("walker", "walk"),
        )
        for domain, task in DISTRACTING_TASKS
    )


# World and steps of an episode.
PLANAR_WORLDS: dict[str, int] = {"BilliardBall": 50, "RobotRemoteControl": 50, "Shepherd": 100}


def _planar() -> tuple[EnvEntry, ...]:
    return tuple(
        EnvEntry(
            id=f"iap_gym/{world}-v0",
            family="planar",
            entry_point=f"iap_gym.envs.planar:{world}Env",
            extra=None,
            max_episode_steps=steps,
            representative=world == "Shepherd",
            vector_entry_point=f"iap_gym.envs.planar:{world}VectorEnv",
        )
        for world, steps in PLANAR_WORLDS.items()
    )


_FETCH = EnvEntry(
    id="iap_gym/FetchPickAndPlace-v0",
    family="fetch",
    entry_point="iap_gym.envs.fetch:make_fetch_pick_and_place",
    extra="fetch",
    max_episode_steps=50,
    representative=True,
    wrapper="iap_gym.envs.fetch:GoalInterface",
)


def _quadruped() -> tuple[EnvEntry, ...]:
    return (
        EnvEntry(
            id="iap_gym/QuadrupedObstacleCourse-v0",
            family="quadruped",
            entry_point="iap_gym.envs.quadruped.obstacle_course:QuadrupedObstacleCourseEnv",
            extra="quadruped",
            max_episode_steps=1000,
            representative=True,
        ),
        EnvEntry(
            id="iap_gym/QuadrupedNavigation-v0",
            family="quadruped",
            entry_point="iap_gym.envs.quadruped.navigation:QuadrupedNavigationEnv",
            extra="quadruped",
            max_episode_steps=2000,
        ),
    )


ENTRIES: tuple[EnvEntry, ...] = (
    *_distracting_control(),
    *_planar(),
    *_quadruped(),
    _FETCH,
)


@dataclass(frozen=True)
class UpstreamEntry:
    """One environment of another package that ours trains on; that package registers it."""

    id: str
    family: str
    module: str  # registers the id when it is imported, so that `gym.make("module:id")` works
    extra: str
    max_steps: int  # after which the environment itself truncates


# (task, steps): those of the GateL0RD paper and of its transfer, and a small one to begin with.
MINIGRID_TASKS: tuple[tuple[str, int], ...] = (
    ("DoorKey-5x5", 250),
    ("DoorKey-8x8", 640),
    ("DoorKey-16x16", 2560),
    ("RedBlueDoors-8x8", 1280),
    ("SimpleCrossingS9N3", 324),
    ("LavaCrossingS9N2", 324),
    ("KeyCorridorS3R2", 270),
    ("KeyCorridorS3R3", 270),
    ("MemoryS13Random", 845),
    ("MemoryS17Random", 1445),
)

UPSTREAM: tuple[UpstreamEntry, ...] = tuple(
    UpstreamEntry(f"MiniGrid-{task}-v0", "minigrid", "minigrid", "minigrid", steps)
    for task, steps in MINIGRID_TASKS
)


def register_all() -> None:
    """Register every entry of the table with Gymnasium; a second call changes nothing."""
    for entry in ENTRIES:
        if entry.id not in gymnasium.registry:
            gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
                id=entry.id,
                entry_point=entry.entry_point,
                max_episode_steps=entry.max_episode_steps,
                kwargs=dict(entry.kwargs),
                vector_entry_point=entry.vector_entry_point,
                additional_wrappers=_wrappers(entry),
            )


def _wrappers(entry: EnvEntry) -> tuple[WrapperSpec, ...]:
    if entry.wrapper is None:
        return ()
    return (WrapperSpec(entry.wrapper.partition(":")[2], entry.wrapper, {}),)
