"""A core's one state tensor in the two arrays that sb3-contrib stores, and back."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from iap_gym.recurrent import Core

StatePair = tuple[Tensor, Tensor]


def split_state(state: Tensor, hidden_size: int) -> StatePair:
    """Cut a state (n_L, B, S), H <= S <= 2H, into two arrays (n_L, B, H).

    The first is the latent state; the second what else there is (c of an LSTM, the clock of a
    Clockwork RNN), filled up with zeros.
    """
    first, rest = state[..., :hidden_size], state[..., hidden_size:]
    missing = hidden_size - rest.shape[-1]
    return first, functional.pad(rest, (0, missing)) if missing else rest


def join_state(pair: StatePair, state_size: int) -> Tensor:
    """Undo ``split_state``."""
    first, rest = pair
    used = state_size - first.shape[-1]
    return torch.cat((first, rest[..., :used]), dim=-1) if used else first


def run_core(
    core: Core, features: Tensor, states: StatePair, episode_starts: Tensor
) -> tuple[Tensor, StatePair, dict[str, Tensor]]:
    """Run a core over padded sequences in sb3-contrib's layout.

    Args:
        core: the core.
        features: (B·T, I), one sequence after the other.
        states: of the B sequences before their first step, two arrays (n_L, B, H).
        episode_starts: (B·T,), not 0 where the state has to be zeroed before the step.

    Returns:
        Outputs (B·T, O); the states after the last step; the core's extras, (T, B, ...).
    """
    batch = states[0].shape[1]
    state = join_state(states, core.state_size)
    if len(features) == batch:  # one step, as in acting, where every operation counts
        if episode_starts.any():
            state = state.masked_fill((episode_starts != 0).unsqueeze(-1), 0.0)
        y, state, extras = core(features.unsqueeze(0), state)
        y = y.squeeze(0)
    else:
        x = features.reshape(batch, -1, core.input_size).transpose(0, 1)
        reset_mask = episode_starts.reshape(batch, -1).transpose(0, 1) != 0
        y, state, extras = core(x, state, reset_mask)
        y = y.transpose(0, 1).flatten(0, 1)
    if core.state_size == core.hidden_size:  # nothing is in the second array, nor comes into it
        return y, (state, states[1]), extras
    return y, split_state(state, core.hidden_size), extras
