"""Which code runs a world model: torch, or a kernel that numba compiles."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym._compiled.availability import import_kernels
from iap_gym._optional import require
from iap_gym.baselines.world_model._shapes import Inputs
from iap_gym.baselines.world_model.loop import Predicted, predict_torch
from iap_gym.recurrent import (
    ContextNetwork,
    ElmanCore,
    GateL0RD,
    GateL0RDCell,
    GateL0RDCore,
    GRUCore,
    LSTMCore,
)
from iap_gym.recurrent.backends import (
    BACKENDS,
    has_hooks,
    obstacle_of_mode,
    unusual_tensor,
)

if TYPE_CHECKING:
    from iap_gym.baselines.world_model.compiled.calls import Kernel
    from iap_gym.baselines.world_model.model import WorldModel

FUSED_CORES = (GateL0RDCore, LSTMCore, GRUCore, ElmanCore)
ABSENT = "numba is absent, broken or told not to compile (NUMBA_DISABLE_JIT)"
# What a model that the kernel knows is made of, beside itself and its core.
_PARTS = (
    *(nn.Linear, nn.Tanh, nn.Sequential, nn.ModuleList, nn.LSTM, nn.GRU, nn.RNN),
    *(ContextNetwork, GateL0RD, GateL0RDCell),
)

# The program and the memory of each model; both can be made anew.
_kernels: weakref.WeakKeyDictionary[nn.Module, Kernel] = weakref.WeakKeyDictionary()


def check_backend(backend: str) -> str:
    """Return the name of a backend.

    Raises:
        ValueError: there is none of that name.
        gymnasium.error.DependencyNotInstalled: "numba" is not installed.
    """
    _checks.one_of("backend", backend, BACKENDS)
    if backend == "numba":
        require("numba", "fast")
    return backend


def check_model(model: WorldModel) -> None:
    """Refuse a model whose backend is "numba" if the kernel is for no batch of it.

    Raises:
        ValueError: it is not; the message says why.
    """
    if model.backend == "numba":
        obstacle = _unusual_model(model, []) or (ABSENT if _calls() is None else None)
        if obstacle is not None:
            raise refusal(obstacle)


def refusal(obstacle: str) -> ValueError:
    """Build the error that says what stands against the backend "numba"."""
    return ValueError(f"backend: 'numba' cannot compute this: {obstacle}")


def predict(model: WorldModel, inputs: Inputs) -> Predicted:
    """Do what ``predict_torch`` does, by the kernel where that can.

    Raises:
        ValueError: the model's backend is "numba", which cannot compute this; it says why.
    """
    wanted = None
    if torch.is_grad_enabled() and any(
        z.requires_grad for z in (*_given(inputs), *model.parameters())
    ):
        wanted = "gradients are wanted, which it computes for a TrainingStep alone"
    kernel = choose_kernel(model, inputs, wanted)
    if kernel is None:
        return predict_torch(model, inputs)
    outcome = kernel.run(model, *inputs)
    assert outcome.predictions is not None
    assert outcome.state is not None
    return outcome.predictions, outcome.state, outcome.gates


def choose_kernel(model: WorldModel, inputs: Inputs, otherwise: str | None = None) -> Kernel | None:
    """Return the kernel of a model; None where torch is to compute instead.

    Args:
        model: with its backend.
        inputs: checked.
        otherwise: something else that stands against the kernel.

    Raises:
        ValueError: the model's backend is "numba", and something stands against it.
    """
    backend = model.backend
    if backend == "torch" or (backend == "auto" and torch.compiler.is_compiling()):
        return None
    # In float64 the kernel is for comparisons: exact, and slower.
    double = backend == "numba" and model.f_post.weight.dtype == torch.float64
    dtype = torch.float64 if double else torch.float32
    parameters: list[Tensor] = []
    obstacle = (
        otherwise
        or obstacle_of_mode()
        or _unusual_model(model, parameters)
        or unusual_tensor((*_given(inputs), *parameters), dtype)
    )
    if obstacle is None:
        calls = _calls()
        if calls is not None:
            return _kernel(calls, model, parameters)
        obstacle = ABSENT
    if backend == "numba":
        require("numba", "fast")
        raise refusal(obstacle)
    return None


def _calls() -> Any:
    """Return the module that calls kernels; None without a numba that compiles."""
    return import_kernels(
        "iap_gym.baselines.world_model.compiled.calls", "world models are computed by torch"
    )


def _kernel(calls: Any, model: WorldModel, parameters: list[Tensor]) -> Kernel:
    """Return the kernel of a model, made anew if its parameters are others than they were."""
    known = _kernels.get(model)
    if known is not None and known.fits(parameters):
        return known
    _kernels[model] = kernel = calls.Kernel(model)
    return kernel


def _given(inputs: Inputs) -> list[Tensor]:
    """Return the tensors of numbers."""
    tensors = inputs.observations, inputs.actions, inputs.state, inputs.noise
    return [tensor for tensor in tensors if tensor is not None]


def _unusual_model(model: WorldModel, parameters: list[Tensor]) -> str | None:
    """Say what of a model the kernel does not know, and collect its parameters on the way."""
    core = model.core
    if type(core) not in FUSED_CORES:
        return f"its core is {core.name!r}"
    # One walk through the modules: it is done for every batch.
    for module in model.modules():
        kind = type(module).__name__
        if module is not model and module is not core and type(module) not in _PARTS:
            return f"a part of the model is a {kind}"
        if has_hooks(module):
            return f"a {kind} of the model has hooks"
        parameters += [z for z in module._parameters.values() if z is not None]
    return None
