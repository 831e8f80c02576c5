"""What a world model remembers between steps and sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

if TYPE_CHECKING:
    from iap_gym.baselines.world_model.model import WorldModel


class ModelState(NamedTuple):
    """What a model remembers of B sequences, to go on with by steps, sequences or plans.

    Attributes:
        core: float (n_L, B, S), the core's; None until the k inputs that f_init sees have come.
        first: float (j, B, A + O), the j < k inputs so far; empty once there is a state.
    """

    core: Tensor | None
    first: Tensor


def state_of(model: WorldModel, core: Tensor) -> ModelState:
    """Return the state in which the core's is (n_L, B, S)."""
    return ModelState(core, core.new_zeros(0, core.shape[1], model.action_size + model.obs_size))
