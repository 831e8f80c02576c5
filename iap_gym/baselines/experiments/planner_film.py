"""Film an agent that plans with a world model, and what the model remembers."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iap_gym._video import VideoWriter
from iap_gym.baselines.evolution.evaluation import one_torch_thread
from iap_gym.baselines.evolution.rollout import run_episode
from iap_gym.baselines.experiments.evaluate import FIRST_SEED
from iap_gym.baselines.experiments.film import END_SECONDS, frame_rate
from iap_gym.baselines.experiments.gate_panel import Strip
from iap_gym.baselines.experiments.memory_scene import MemoryScene
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.plan_episodes import PlannedTask, make_agent
from iap_gym.baselines.experiments.recurrent_agent import core_strips
from iap_gym.baselines.planning.agent import PlanningAgent
from iap_gym.baselines.planning.settings import PlannerSettings
from iap_gym.baselines.planning.tasks import task_of
from iap_gym.baselines.world_model import ModelState, WorldModel


class WatchedPlanner:
    """A ``PlanningAgent``, and beside it what its model remembers and its gates do.

    Letters as in ``RecurrentAgent``, with a batch of one.

    Args:
        agent: plans with a ``ModelObjective``, whose states of the model it hands on.
        model: the same one, or a copy, which tells of its gates.

    Attributes:
        actions: (1, A), of the last step; None before the first.
        gates: (1, R), of the last step; zeros until f_init has seen its inputs; None for a core
            without gates.
        latent: (1, R), after the last step.
        memory: (1, R), tanh of the cell state of an LSTM; None for other cores.
    """

    def __init__(self, agent: PlanningAgent, model: WorldModel) -> None:
        self._agent = agent
        self._model = model.eval()
        self.actions: NDArray[Any] | None = None
        self._begin()

    def _begin(self) -> None:
        core = self._model.core
        rows = core.num_layers * core.hidden_size
        self.gates = np.zeros((1, rows), np.float32) if core.name == "gatel0rd" else None
        self.latent = np.zeros((1, rows), np.float32)
        self.memory = np.zeros((1, rows), np.float32) if core.name == "lstm" else None

    def act(
        self, observations: Any, state: Any = None, episode_start: Any = None
    ) -> tuple[NDArray[np.float32], Any]:
        """Plan as the agent does; see there."""
        before: ModelState | None = state
        if before is None:
            self._begin()
        self.actions, after = self._agent.act(observations, before, episode_start)
        if after.core is not None:
            self._look(observations, before, after.core)
        return self.actions, after

    def _look(self, observations: Any, before: ModelState | None, after: Tensor) -> None:
        first, *rest = after.split(self._model.core.hidden_size, dim=-1)
        self.latent = first.transpose(0, 1).flatten(1).numpy()
        if self.memory is not None:
            self.memory = rest[0].tanh().transpose(0, 1).flatten(1).numpy()
        if self.gates is not None:
            seen, done = (torch.as_tensor(part)[None] for part in (observations, self.actions))
            with torch.no_grad():
                gates = self._model(seen.float(), done, state=before).gates
            assert gates is not None
            self.gates = gates[-1].numpy()

    def strips(self) -> list[Strip]:
        """Describe what ``columns`` returns."""
        return core_strips(self._model.core)

    def columns(self, row: int = 0) -> list[NDArray[np.float32]]:
        """Return gates, latent state and cell state, if they exist."""
        parts = (self.gates, self.latent, self.memory)
        return [part[row] for part in parts if part is not None]


def record_planning(
    run: ModelRun,
    path: str | os.PathLike[str] | None = None,
    seed: int = FIRST_SEED,
    episodes: int = 1,
    settings: PlannerSettings | None = None,
) -> list[float]:
    """Film planned episodes: the world, and under it the gates and the state of the model.

    Args:
        run: with weights.
        path: of the film; None is the run's own ``film.mp4``.
        seed: of the first episode; the others follow.
        episodes: how many.
        settings: of the planner; None is as published for the environment.

    Returns:
        The return of each episode.

    Raises:
        ValueError: nothing is planned in the environment of the run.
        FileNotFoundError: it has no weights yet.
    """
    config = run.config()
    chosen = settings or task_of(config.env).settings
    task = PlannedTask(config.env, chosen, os.fspath(run.weights_file), config.variant)
    model = WorldModel.load(run.weights_file)
    returns: list[float] = []
    env, _ = make_agent(task, seed, render_mode="rgb_array")
    rate = frame_rate(env)
    env.close()
    with VideoWriter(path or run.film_file, rate) as video, one_torch_thread():
        for number in range(seed, seed + episodes):
            env, agent = make_agent(task, number, render_mode="rgb_array")
            watched = WatchedPlanner(agent, model)
            drawn, steps = MemoryScene(watched, env), itertools.count()

            def watch(_: Any, total: float, drawn: Any = drawn, steps: Any = steps) -> None:
                drawn.note(next(steps), total)
                video.write(drawn.picture())

            episode = run_episode(env, watched, number, watch=watch)
            last = drawn.draw_end(episode.length, episode.total_reward)
            for _ in range(round(END_SECONDS * rate)):
                video.write(last)
            returns.append(episode.total_reward)
            env.close()
    return returns
