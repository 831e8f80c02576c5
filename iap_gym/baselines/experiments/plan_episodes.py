"""Play planned episodes in several processes, and keep what came of them in a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iap_gym._files import write_text
from iap_gym.baselines.experiments.jobs import run_jobs
from iap_gym.baselines.experiments.lock import locked
from iap_gym.baselines.experiments.statistics import Mean, share
from iap_gym.baselines.planning.settings import PlannerSettings
from iap_gym.baselines.planning.tasks import task_of

PLANNER = "icem"
TRUE_SIMULATOR = "true simulator"
TOGETHER = 5  # episodes that a process plays in one go, and that a killed one loses


class Planned(NamedTuple):
    """What came of an episode."""

    success: bool
    steps: int


@dataclass(frozen=True)
class PlannedTask:
    """Episodes of one planner.

    Attributes:
        env: id of an environment with a task in ``iap_gym.baselines.planning.tasks``.
        settings: of the planner.
        weights: of a world model; None plans with the true simulator.
        variant: of the world.
    """

    env: str
    settings: PlannerSettings
    weights: str | None = None
    variant: str = "code"

    def key(self) -> dict[str, Any]:
        """Return all that an episode depends on but its seed, as JSON."""
        model = TRUE_SIMULATOR
        if self.weights is not None:
            model = hashlib.sha256(Path(self.weights).read_bytes()).hexdigest()
        settings = asdict(self.settings)
        factor = task_of(self.env).radius_factors[self.variant]
        about = {"env": self.env, "variant": self.variant, "radius_factor": factor}
        return {**about, "planner": PLANNER, **settings, "model": model}

    def play(self, seeds: Sequence[int]) -> dict[int, Planned]:
        """Play an episode of each seed."""
        from iap_gym.baselines.evolution.evaluation import one_torch_thread

        with one_torch_thread():
            return {seed: self._play(seed) for seed in seeds}

    def _play(self, seed: int) -> Planned:
        env, agent = make_agent(self, seed)
        observation, _ = env.reset(seed=seed)
        state, steps = None, 0
        while True:
            actions, state = agent.act(observation[None], state)
            observation, reward, terminated, truncated, _ = env.step(actions[0])
            steps += 1
            if terminated or truncated:
                env.close()
                return Planned(float(reward) > 0, steps)


def make_agent(task: PlannedTask, seed: int, **kwargs: Any) -> tuple[Any, Any]:
    """Make the environment of a task and the agent that plans in it.

    Args:
        task: what is planned.
        seed: of the search's randomness.
        **kwargs: of the environment, such as ``render_mode``.

    Returns:
        A Gymnasium environment and a ``PlanningAgent``.
    """
    from iap_gym.baselines.planning.agent import PlanningAgent
    from iap_gym.baselines.planning.objectives import ModelObjective, SimulatorObjective
    from iap_gym.baselines.world_model import WorldModel

    about = task_of(task.env)
    env = about.make_env(task.variant, **kwargs)
    world: Any = env.unwrapped
    if task.weights is None:
        objective = SimulatorObjective(world.world, about.cost, world.get_state)
    else:
        objective = ModelObjective(WorldModel.load(task.weights), about.cost)
    space: Any = env.action_space
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    return env, PlanningAgent(objective, space.low, space.high, rng, task.settings, about.waits)


@dataclass(frozen=True)
class PlannedEpisodes:
    """Episodes of one planner, by seed."""

    key: dict[str, Any]
    episodes: dict[int, Planned]

    @property
    def success(self) -> Mean:
        """Share of successes, with its Wilson interval over episodes."""
        return share([episode.success for episode in self.episodes.values()])

    @property
    def steps(self) -> float | None:
        """Mean number of steps of the successful episodes; None if there is none."""
        steps = [episode.steps for episode in self.episodes.values() if episode.success]
        return float(np.mean(steps)) if steps else None

    def to_json(self) -> dict[str, Any]:
        """Return the episodes, and what follows from them, as JSON values."""
        return {
            **self.key,
            "success": self.success.to_json(),
            "mean_steps_of_successes": self.steps,
            "episodes": {str(seed): list(found) for seed, found in self.episodes.items()},
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> PlannedEpisodes:
        """Build it from what ``to_json`` gave."""
        key = dict(fields)
        episodes = key.pop("episodes")
        del key["success"], key["mean_steps_of_successes"]
        return cls(key, {int(seed): Planned(*found) for seed, found in episodes.items()})


def load_planned(file: Path) -> list[PlannedEpisodes]:
    """Read a file of planned episodes; none yet gives an empty list.

    Raises:
        ValueError: it is something else.
    """
    if not file.is_file():
        return []
    try:
        return [PlannedEpisodes.from_json(fields) for fields in json.loads(file.read_text("utf-8"))]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file}: expected planned episodes, {error!r}") from None


def plan_episodes(
    task: PlannedTask,
    seeds: Sequence[int],
    workers: int = 1,
    file: str | os.PathLike[str] | None = None,
    report: Callable[[int], object] | None = None,
) -> PlannedEpisodes:
    """Play episodes, but those that a file has already; a run that was killed goes on.

    Args:
        task: what is planned.
        seeds: of the episodes.
        workers: processes; the result does not depend on it.
        file: of planned episodes, JSON; those of models that are no more leave it.
        report: called with how many episodes more there are.

    Raises:
        ValueError: an environment or settings without a task, or a file of something else.
        FileNotFoundError: there are no weights.
        RuntimeError: the weights changed meanwhile.
    """
    key = task.key()
    path = None if file is None else Path(file)
    there = [] if path is None else load_planned(path)
    known = next((found.episodes for found in there if found.key == key), {})
    missing = [seed for seed in seeds if seed not in known]
    parts = [missing[i : i + TOGETHER] for i in range(0, len(missing), TOGETHER)]
    for played in run_jobs(task.play, parts, workers):
        if task.key() != key:
            raise RuntimeError(f"{task.weights}: was replaced while its episodes were played")
        known = known | played
        if path is not None:
            _add(path, PlannedEpisodes(key, played))
        if report is not None:
            report(len(played))
    return PlannedEpisodes(key, {seed: known[seed] for seed in seeds})


def _add(path: Path, played: PlannedEpisodes) -> None:
    """Add episodes to a file, in which another process may have written meanwhile."""
    with locked(path):
        key, known, others = played.key, played.episodes, []
        for found in load_planned(path):
            if found.key == key:
                known = found.episodes | known
            elif not _outdated(found.key, key):
                others.append(found)
        parts = [*others, PlannedEpisodes(key, dict(sorted(known.items())))]
        write_text(path, json.dumps([part.to_json() for part in parts], indent=1) + "\n")


def _outdated(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Say whether what was planned is of a model in whose place there is another now."""
    models = {old["model"], new["model"]}
    return len(models) == 2 and TRUE_SIMULATOR not in models
