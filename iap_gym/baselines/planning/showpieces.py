"""Sequences of Fetch Pick and Place that iCEM plans on the true simulator.

Each action costs the simulation of some hundred candidates: 600 of 30 steps take 10 to 20 s of a
core. So these are for pictures and spot checks, and the data sets come from scripted controllers.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.baselines.planning.icem import ICEM, Array
from iap_gym.baselines.planning.settings import PlannerSettings
from iap_gym.data import fetch
from iap_gym.data.collection import Progress
from iap_gym.data.dataset import SequenceDataset
from iap_gym.data.making import check_target, fetch_versions, make_fetch_file
from iap_gym.data.parts import Part
from iap_gym.envs.fetch.goal import distance

NAME, SPLIT = "fetch-diverse", "showpiece"
MOST = 100  # sequences
_STREAM = 101  # what tells its random numbers from those of the data sets
_REACH_WEIGHT = 0.5  # of the distance between gripper and cube, beside that of cube and goal


class SimulatedCost:
    """The cost of action sequences from a simulation's present on, by simulating them.

    It is summed over the steps: the distance between cube and goal, and half of that between
    gripper and cube. The simulation is back in its present after every call.

    Args:
        simulation: ``iap_gym.envs.fetch.simulation.Simulation``.
        goal: (3,).
    """

    def __init__(self, simulation: Any, goal: NDArray[Any]) -> None:
        self._simulation = simulation
        self._goal = goal

    def __call__(self, candidates: Array) -> Array:
        """Return the costs (P,) of candidates (P, H, 4)."""
        present = self._simulation.get_state()
        costs = np.zeros(len(candidates))
        for index, actions in enumerate(candidates.astype(np.float32)):
            self._simulation.set_state(present)
            for action in actions:
                self._simulation.step(action)
                reading = self._simulation.read()
                way = np.linalg.norm(reading[6:9])
                costs[index] += distance(reading[3:6], self._goal) + _REACH_WEIGHT * way
        self._simulation.set_state(present)
        return costs


@dataclass(frozen=True)
class ShowpieceTask:
    """One planned sequence a part, from a start and to a goal of its own."""

    seed: int
    settings: PlannerSettings
    versions: tuple[tuple[str, str], ...]
    part_size: int = 1

    def key(self) -> dict[str, Any]:
        """Return all that the sequences depend on, as JSON."""
        return {
            "dataset": NAME,
            "split": SPLIT,
            "seed": self.seed,
            "settings": asdict(self.settings),
            "versions": dict(self.versions),
        }

    def collect(self, first: int, count: int) -> Part:
        """Plan sequences ``first`` to ``first + count - 1``."""
        found = [
            plan_sequence(
                np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(_STREAM, i))),
                self.settings,
            )
            for i in range(first, first + count)
        ]
        arrays = {name: np.stack([sequence[name] for sequence in found]) for name in found[0]}
        return Part(arrays, {"planned": count})


def plan_sequence(
    rng: np.random.Generator, settings: PlannerSettings
) -> dict[str, NDArray[np.float32]]:
    """Bring the cube to a goal in the air, planning anew at each step.

    Returns:
        ``observations`` (T + 1, 11), ``actions`` (T, 4), ``rewards`` (T,), ``info`` (T + 1, 3).
    """
    fetch.load_simulator()
    from iap_gym.envs.fetch.simulation import Simulation

    simulation = Simulation()
    goal = simulation.begin(rng).astype(np.float32)
    planner = ICEM(
        SimulatedCost(simulation, goal),
        [-1] * 4,
        [1] * 4,
        rng=rng,
        **settings.arguments(),
    )
    readings, actions = [simulation.read()], []
    for _ in range(settings.steps):
        actions.append(planner.plan())
        simulation.step(actions[-1].astype(np.float32))
        readings.append(simulation.read())
    return fetch.as_sequence(np.array(readings, np.float32), np.array(actions, np.float32), goal)


def showpiece_header(sequences: int, seed: int, settings: PlannerSettings) -> dict[str, Any]:
    """Return the entries of the header that tell what ``make_showpieces`` would write now."""
    planner = " ".join(f"{key}={value}" for key, value in asdict(settings).items())
    return {
        "dataset": NAME,
        "split": SPLIT,
        "seed": seed,
        "sequences": sequences,
        "versions": dict(fetch_versions()),
        "command": f"iap-gym data make {NAME} --showpiece {sequences} --seed {seed} "
        f"--planner {planner}",
    }


def make_showpieces(
    path: str | os.PathLike[str],
    sequences: int,
    seed: int = 0,
    settings: PlannerSettings | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    workers: int = 1,
) -> SequenceDataset:
    """Plan sequences into a file like those of the data sets; what was killed goes on.

    Args:
        path: of the file.
        sequences: N, at most 100.
        seed: at least 0.
        settings: of the planner.
        overwrite: replace a file that is there.
        progress: called with how many sequences there are, and how many there will be.
        workers: processes.

    Raises:
        ValueError: an argument outside of this.
        FileExistsError: the file is there, and not to be replaced.
        OSError: it cannot be written.
        gymnasium.error.DependencyNotInstalled: the extra ``fetch`` is not installed.
        ImportError: it has versions that do not work.
    """
    sequences = _checks.integer("sequences", sequences, 1, MOST)
    seed = _checks.integer("seed", seed)
    settings = settings or PlannerSettings()
    fetch.load_simulator()
    check_target(path, overwrite=overwrite)
    task = ShowpieceTask(seed, settings, fetch_versions())
    header = showpiece_header(sequences, seed, settings)
    return make_fetch_file(task, Path(path), sequences, header, progress, workers)
