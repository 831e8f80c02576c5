"""Play a recurrent policy on a fixed set of episodes, many at a time, during training or after."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3.common.vec_env import VecNormalize

from iap_gym import _checks
from iap_gym.baselines.experiments.outcomes import known, path_efficiency, succeeded, why_ended
from iap_gym.baselines.ppo.finite import bad_rows
from iap_gym.recurrent import Core

# Episodes are seeded FIRST_SEED, FIRST_SEED + 1, ...; `iap-gym evaluate` has another range, so that
# what was watched during training is not what is reported after it.
FIRST_SEED = 2_000_000
SIDE_BY_SIDE = 16


@dataclass(frozen=True)
class Played:
    """Episodes that were played, in the order of their seeds."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    successes: tuple[bool, ...] | None
    """None where the environment does not say what a success is."""
    gate_rate: float | None
    """Fraction of open gates over all steps; None for a core without gates."""
    seconds: float
    ends: tuple[str, ...] | None = None
    spl: tuple[float, ...] | None = None  # success weighted by path length, where there is one
    """Why each episode ended; None where the environment does not say."""

    def row(self, timesteps: int) -> dict[str, Any]:
        """Return the row of ``evaluations.csv``."""
        return {
            "timesteps": timesteps,
            "episodes": len(self.returns),
            "success_rate": None if self.successes is None else float(np.mean(self.successes)),
            "mean_return": float(np.mean(self.returns)),
            "mean_length": float(np.mean(self.lengths)),
            "gate_rate": self.gate_rate,
            "seconds": self.seconds,
        }


@contextlib.contextmanager
def own_randomness(seed: int, device: torch.device) -> Iterator[None]:
    """Seed the global generators, which Stable-Baselines3 draws from, and put them back after."""
    python, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            torch.manual_seed(seed)
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy_state)  # noqa: NPY002


class _Gates:
    """Listens to the cores of a policy and adds up their open gates."""

    def __init__(self, policy: torch.nn.Module) -> None:
        self.active: NDArray[np.bool_] | None = None  # of the batch, whose gates count
        self.open, self.all = 0.0, 0
        cores = [module for module in policy.modules() if isinstance(module, Core)]
        self._hooks = [core.register_forward_hook(self._listen) for core in cores]

    def _listen(self, core: Core, arguments: Any, outputs: Any) -> None:
        gates = outputs[2].get("gates")
        if gates is not None and self.active is not None:
            counted = gates[:, torch.from_numpy(self.active)]
            self.open += counted.sum(dtype=torch.float64).item()  # of sigmoids their mean
            self.all += counted.numel()

    def rate(self) -> float | None:
        return self.open / self.all if self.all else None

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()


def evaluate_policy_batch(
    policy: RecurrentActorCriticPolicy,
    make_env: Callable[[], gymnasium.Env[Any, Any]],
    episodes: int = 100,
    *,
    sampled: bool = True,
    first_seed: int = FIRST_SEED,
    side_by_side: int = SIDE_BY_SIDE,
    normalize: VecNormalize | None = None,
    env_id: str | None = None,
) -> Played:
    """Play episodes of fixed seeds, up to ``side_by_side`` at a time, with one call a step.

    Every episode of the set is played to its end, so that long and short ones count alike. The
    global random generators are as they were afterwards, and the result depends on the arguments
    alone.

    Args:
        policy: a recurrent policy of Stable-Baselines3's kind; left in evaluation mode.
        make_env: makes a fresh environment, of any that the policy's spaces fit.
        episodes: how many, seeded ``first_seed``, ``first_seed + 1``, ...
        sampled: whether actions are drawn from the policy; else the most probable are taken.
        first_seed: see ``episodes``; it decides the sampled actions as well.
        side_by_side: episodes at a time.
        normalize: statistics to normalise observations with, as in training.
        env_id: tells what a success is, see ``succeeded``; None is the id of the environment.

    Raises:
        ValueError: an argument is wrong, or the environment has other spaces than the policy.
        RuntimeError: an observation is not finite.
    """
    _checks.integer("episodes", episodes, 1)
    _checks.integer("first_seed", first_seed, 0)
    _checks.integer("side_by_side", side_by_side, 1)
    begin = time.perf_counter()
    places: list[_Place] = []
    gates = _Gates(policy)
    try:
        for _ in range(min(side_by_side, episodes)):
            places.append(_Place(make_env()))
        env = places[0].env
        if env.action_space != policy.action_space:
            wanted = f"an environment with the policy's actions, {policy.action_space}"
            raise _checks.refuse("make_env", wanted, env.action_space)
        with own_randomness(first_seed, policy.device):
            seeds = range(first_seed, first_seed + episodes)
            ended = _play(policy, places, seeds, sampled, normalize, gates)
    finally:
        gates.close()
        for place in places:
            place.env.close()
    name = env_id or (env.spec.id if env.spec is not None else "")
    return Played(
        tuple(episode.total_reward for episode in ended),
        tuple(episode.length for episode in ended),
        known(succeeded(name, episode.total_reward, episode.info) for episode in ended),
        gates.rate(),
        time.perf_counter() - begin,
        known(why_ended(episode.info) for episode in ended),
        known(path_efficiency(episode.info) for episode in ended),
    )


@dataclass
class _Episode:
    seed: int
    total_reward: float = 0.0
    length: int = 0
    info: dict[str, Any] = field(default_factory=dict[str, Any])  # of the last step


class _Place:
    """An environment, and the episode that is played in it; None once there is none left."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self.env = env
        self.seen: Any = None  # the newest observation
        self.episode: _Episode | None = None

    def begin(self, seed: int | None) -> None:
        self.episode = None if seed is None else _Episode(seed)
        if seed is not None:
            self.seen, _ = self.env.reset(seed=seed)

    def step(self, action: Any) -> bool:
        """Take a step; return whether the episode has ended."""
        assert self.episode is not None
        self.seen, reward, terminated, truncated, info = self.env.step(action)
        self.episode.total_reward += float(reward)
        self.episode.length += 1
        self.episode.info = info
        return bool(terminated or truncated)


def _play(
    policy: RecurrentActorCriticPolicy,
    places: Sequence[_Place],
    seeds: Sequence[int],
    sampled: bool,
    normalize: VecNormalize | None,
    gates: _Gates,
) -> list[_Episode]:
    """Play the episode of every seed, and return them in their order."""
    waiting = iter(seeds)
    ended: list[_Episode] = []
    begins = np.ones(len(places), bool)
    state = None
    for place in places:
        place.begin(next(waiting, None))
    while len(ended) < len(seeds):
        # Places without an episode repeat their last observation; nothing of them counts.
        gates.active = np.array([place.episode is not None for place in places])
        batch = _stack(places)
        if normalize is not None:
            batch = normalize.normalize_obs(batch)
        actions, state = policy.predict(batch, state, begins, deterministic=not sampled)
        begins[:] = False
        for index, place in enumerate(places):
            episode = place.episode
            if episode is not None and place.step(actions[index]):
                ended.append(episode)
                place.begin(next(waiting, None))
                begins[index] = True
    return sorted(ended, key=lambda episode: episode.seed)


def _stack(places: Sequence[_Place]) -> Any:
    """Return the observations as a batch.

    Raises:
        RuntimeError: one is not finite.
    """
    seen = [place.seen for place in places]
    if not isinstance(seen[0], dict):
        batch = np.stack(seen)
        _require_finite(batch, places)
        return batch
    batches = {key: np.stack([part[key] for part in seen]) for key in seen[0]}
    for batch in batches.values():
        _require_finite(batch, places)
    return batches


def _require_finite(batch: NDArray[Any], places: Sequence[_Place]) -> None:
    for row in bad_rows(batch):
        episode = places[row].episode
        if episode is not None:
            raise RuntimeError(
                f"observation: expected finite numbers, got NaN or infinity at step "
                f"{episode.length} of the episode with seed {episode.seed}"
            )
