"""Policies of the quadruped that come with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium
from safetensors.numpy import load_file, save

import iap_gym  # noqa: F401  registers our ids
from iap_gym import _checks
from iap_gym._files import write_bytes, write_text
from iap_gym.baselines.evolution.policies import make_policy
from iap_gym.baselines.evolution.policy import EvolutionPolicy
from iap_gym.baselines.evolution.warm_start import read_weights
from iap_gym.baselines.experiments.run import Run

FOLDER = Path(str(resources.files("iap_gym.baselines.quadruped"))) / "weights"
# The file beside the weights: for each name its environment, its policy and how it was made.
INDEX = "index.json"


@dataclass(frozen=True)
class Pretrained:
    """A trained policy and where it was trained.

    Attributes:
        policy: ready to act; ``run_episode`` plays it, or call ``policy.prepare(env)`` before a
            reset.
        env: id of its environment.
        env_kwargs: arguments for ``gymnasium.make``.
        command: what trained it.
    """

    policy: EvolutionPolicy
    env: str
    env_kwargs: dict[str, Any]
    command: str

    def make_env(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:
        """Make its environment; arguments take the place of its own."""
        return gymnasium.make(self.env, **{**self.env_kwargs, **kwargs})


def load_pretrained(name: str, folder: Path = FOLDER) -> Pretrained:
    """Return a policy that comes with the package.

    Args:
        name: one of ``PRETRAINED``.
        folder: where the weights lie.

    Raises:
        ValueError: another name.
        gymnasium.error.DependencyNotInstalled: its environment needs an extra.
    """
    index = _index(folder)
    entry = index[_checks.one_of("name", name, index)]
    env = gymnasium.make(entry["env"], **entry["env_kwargs"])
    env.close()
    policy = make_policy(
        entry["policy"], env.observation_space, env.action_space, entry["policy_kwargs"]
    )
    policy.load_state_dict(load_file(folder / f"{name}.safetensors"))
    return Pretrained(policy, entry["env"], entry["env_kwargs"], entry["command"])


def add_pretrained(name: str, run: Run, command: str, folder: Path = FOLDER) -> None:
    """Put the policy of a run among those of the package, or in the place of one.

    Args:
        name: of the policy.
        run: its best generation is taken, or its newest where there were no evaluations.
        command: what trained it.
        folder: where the weights lie.

    Raises:
        FileNotFoundError: the run has nothing trained.
    """
    arrays, config = read_weights(run.path), run.config()
    write_bytes(folder / f"{name}.safetensors", save(arrays))
    entry = {
        "env": config.env,
        "env_kwargs": config.evaluated().env_kwargs,
        "policy": config.policy,
        "policy_kwargs": config.policy_kwargs,
        "command": command,
    }
    index = {**_index(folder), name: entry}
    write_text(folder / INDEX, json.dumps(dict(sorted(index.items())), indent=2) + "\n")


def _index(folder: Path) -> dict[str, dict[str, Any]]:
    file = folder / INDEX
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


PRETRAINED: tuple[str, ...] = tuple(_index(FOLDER))
