"""Control steps per second of the quadruped's obstacle course, with and without its camera.

Each way takes the same steps of the same episode, the blind walk on the default course: without a
camera; with one that looks at every control step, at every tenth, or once in each command of the
control "latent"; and with PyBullet's TinyRenderer in its place, on the walls alone and with the
robot as it is usually loaded, with its meshes.

All run in this one process, in turn, round after round. Speeds are the best of all rounds, in time
of one core, which others on the machine do not lengthen; a ratio is the median of the rounds' own.
How fast the cameras are by themselves is measured by raycast.py.

    python benchmarks/quadruped.py --out benchmarks/results/quadruped.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _common import circumstances

from iap_gym import _files
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.course import Course
from iap_gym.envs.quadruped.env import QuadrupedEnv
from iap_gym.envs.quadruped.mover import Place
from iap_gym.envs.quadruped.obstacle_course import CourseTask
from iap_gym.envs.quadruped.tiny import TinyRenderer
from iap_gym.raycast import Scene

WITHOUT, TENTH = "no camera", "every 10th step"
ASKED_TENTH = 0.8  # of the speed without a camera
SIZE = 32  # pixels


class UsualRenderer(TinyRenderer):
    """TinyRenderer with the robot's meshes in its client, out of the picture."""

    @property
    def scene(self) -> Scene:
        """What it looks at."""
        return self._scene

    @scene.setter
    def scene(self, scene: Scene) -> None:
        TinyRenderer.scene.fset(self, scene)  # type: ignore[misc]
        start = (0.0, 0.0, 0.5 + a1.START_HEIGHT)
        self._bullet.loadURDF(a1.urdf_path(), start, physicsClientId=self._client.id)


class UsualView:
    """A scene that is seen through ``UsualRenderer``."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def make_caster(
        self, width: int, height: int, fov: float, near: float, far: float
    ) -> UsualRenderer:
        """Return the renderer."""
        return UsualRenderer(self._scene, width, height, fov, near, far)


class UsualTask(CourseTask):
    """The obstacle course, seen through ``UsualRenderer``."""

    def start(self, rng: np.random.Generator) -> Place:
        """Draw a layout and stand at its start."""
        place = super().start(rng)
        assert isinstance(place.scene, Scene)
        return dataclasses.replace(place, scene=UsualView(place.scene))


def steps_of(steps: int, task: CourseTask | None = None, **settings: Any) -> Callable[[], float]:
    """Return what takes control steps of an episode and says how many a second of CPU time."""
    env = QuadrupedEnv(task or CourseTask(Course()), camera_size=SIZE, **settings)
    action = np.zeros(env.action_space.shape or ())

    def play() -> float:
        env.reset(seed=0)
        start, taken = time.process_time(), 0
        while taken < steps:
            taken += env.step(action)[4]["control_steps"]
        return taken / (time.process_time() - start)

    return play


def main() -> None:
    """Measure everything in turn, several times, in this one process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=300, help="control steps of a round")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()
    load_before = os.getloadavg()[0]

    ways = {
        WITHOUT: steps_of(options.steps, camera=False),
        "every step": steps_of(options.steps),
        TENTH: steps_of(options.steps, camera_every=10),
        "once a latent command": steps_of(options.steps, control="latent"),
        "TinyRenderer, every step": steps_of(options.steps, renderer="tiny"),
        "TinyRenderer, every 10th step": steps_of(options.steps, camera_every=10, renderer="tiny"),
        "TinyRenderer with the robot's meshes, every step": steps_of(
            options.steps, UsualTask(Course())
        ),
        "TinyRenderer with the robot's meshes, every 10th step": steps_of(
            options.steps, UsualTask(Course()), camera_every=10
        ),
    }
    for way in ways.values():
        way()  # compiles, loads
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, way in ways.items():
            speeds[name].append(way())

    ratios = {
        name: statistics.median(
            ours / plain for ours, plain in zip(speeds[name], speeds[WITHOUT], strict=True)
        )
        for name in ways
    }
    best = {name: max(each) for name, each in speeds.items()}
    for name in ways:
        print(f"{name}: {best[name]:,.0f} steps/s, {ratios[name]:.3f} x {WITHOUT}")
    print(f"asked of {TENTH}: {ASKED_TENTH}")
    if options.out:
        results = {
            "control_steps_per_cpu_second": {name: round(each) for name, each in best.items()},
            "times_without_a_camera": {name: round(each, 3) for name, each in ratios.items()},
            "asked_of_every_10th_step": ASKED_TENTH,
            "camera_size": [SIZE, SIZE],
            **circumstances(("numpy", "numba", "pybullet", "gymnasium"), load_before),
        }
        _files.write_text(options.out, json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
