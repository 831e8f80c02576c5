"""A policy of recurrent PPO that can be looked into while it acts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecNormalize

from iap_gym.baselines.experiments.gate_panel import Strip
from iap_gym.baselines.ppo import CorePolicy
from iap_gym.recurrent import Core


class RecurrentAgent:
    """Acts on batches, and keeps what its core did in the last step.

    Letters: B batch, n_L layers, H numbers of a layer, R = n_L·H.

    Args:
        policy: of ``RecurrentPPO``.
        normalize: statistics to normalise observations with, as in training.
        sampled: whether actions are drawn from the policy, with torch's own generator as everywhere
            in Stable-Baselines3; else the most probable are taken.

    Attributes:
        actions: (B, ...), of the last step; None before the first.
        gates: (B, R) of the last step, 1 where open; None for a core without gates.
        latent: (B, R), the latent state after the last step, the first layer first.
        memory: (B, R), tanh of the cell state c of an LSTM, which its output gate lets through as
            latent state; None for other cores.
    """

    def __init__(
        self, policy: CorePolicy, normalize: VecNormalize | None = None, sampled: bool = False
    ) -> None:
        self.policy = policy
        self.normalize = normalize
        self.sampled = sampled
        self.actions: NDArray[Any] | None = None
        self.gates: NDArray[np.float32] | None = None
        self.latent: NDArray[np.float32] | None = None
        self.memory: NDArray[np.float32] | None = None
        policy.actor_core.register_forward_hook(self._see_gates)

    def _see_gates(self, core: Core, arguments: Any, outputs: Any) -> None:
        gates: torch.Tensor | None = outputs[2].get("gates")
        self.gates = None if gates is None else gates[-1].detach().cpu().numpy()

    def act(
        self, observations: Any, state: Any = None, episode_start: Any = None
    ) -> tuple[NDArray[Any], Any]:
        """Act on a batch.

        Args:
            observations: (B, ...), or a dict of such.
            state: what the last call returned; None is the start of an episode.
            episode_start: bool (B,), True where the state has to be zeroed first.

        Returns:
            Actions (B, ...), and the state: two arrays (n_L, B, H).
        """
        if self.normalize is not None:
            observations = self.normalize.normalize_obs(observations)
        actions, state = self.policy.predict(
            observations, state, episode_start, deterministic=not self.sampled
        )
        assert state is not None
        first, second = (np.swapaxes(part, 0, 1).reshape(part.shape[1], -1) for part in state)
        self.latent = first
        self.memory = np.tanh(second) if self.policy.actor_core.name == "lstm" else None
        self.actions = actions
        return actions, state

    def strips(self) -> list[Strip]:
        """Describe what ``columns`` returns."""
        return core_strips(self.policy.actor_core)

    def columns(self, row: int = 0) -> list[NDArray[np.float32]]:
        """Return gates, latent state and cell state of one row of the last batch, if they exist."""
        parts = (self.gates, self.latent, self.memory)
        return [part[row] for part in parts if part is not None]


def core_strips(core: Core) -> list[Strip]:
    """Describe gates, latent state and cell state of a core, as far as it has them."""
    layers, size = core.num_layers, core.hidden_size
    stack = f"{size} units" if layers == 1 else f"{layers} layers of {size} units"
    strips = [Strip(f"latent state h, {stack}", layers * size, layers)]
    if core.name == "gatel0rd":
        strips.insert(0, Strip(f"gates, {stack}", layers * size, layers, gates=True))
    if core.name == "lstm":
        strips.append(Strip(f"cell state tanh(c), {stack}", layers * size, layers))
    return strips
