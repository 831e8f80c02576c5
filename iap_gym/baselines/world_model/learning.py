"""One training step: loss, gradients, clipping, Adam."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from iap_gym import _checks
from iap_gym.baselines.world_model import backends
from iap_gym.baselines.world_model._shapes import check_inputs
from iap_gym.baselines.world_model.loop import predict_torch
from iap_gym.baselines.world_model.model import WorldModel
from iap_gym.recurrent import gate_penalty
from iap_gym.recurrent.gates import PENALTIES

BETAS = (0.9, 0.999)
EPSILON = 1e-4


class Losses(NamedTuple):
    """What a batch cost.

    Attributes:
        loss: the error plus λ times the penalty.
        error: mean squared error over steps, sequences and numbers of an observation.
        gates: mean of what GateL0RD returns as gates, the rate of open ones but for sigmoids; None
            of other cores.
    """

    loss: float
    error: float
    gates: float | None


class Gradients:
    """Loss and gradients of a model, by the kernel where that can compute them.

    loss = mean((ô_{t+1} - o_{t+1})²) + λ penalty(gates), both means over all steps, sequences and
    numbers (GateL0RD, Equation 2 with the norm replaced by Θ). Gradients pass through the model's
    own predictions and all steps.

    Args:
        model: its parameters get a ``grad`` each, views of one tensor.
        penalty: λ, at least 0; of GateL0RD alone.
        penalty_kind: "l0", "l1" or "l2", see ``gate_penalty``.

    Attributes:
        flat: float (n,), all gradients one after the other.

    Raises:
        ValueError: an argument is wrong; the message names it. The model's backend is "numba",
            which knows no "l2".
    """

    def __init__(self, model: WorldModel, penalty: float = 0.0, penalty_kind: str = "l0") -> None:
        self.model = _checks.instance("model", model, WorldModel, "a WorldModel")
        self.penalty = _checks.real("penalty", penalty, 0.0)
        self.penalty_kind: str = _checks.one_of("penalty_kind", penalty_kind, PENALTIES)
        # Means of |gates| and of Θ have the same gradient, as gates are not negative.
        lacking = self.penalty and self.penalty_kind == "l2"
        self._lacking = "a penalty of kind 'l2'" if lacking else None
        if self._lacking is not None and model.backend == "numba":
            raise backends.refusal(self._lacking)
        self.parameters = list(model.parameters())
        first = self.parameters[0]
        self.flat = torch.zeros(
            sum(map(Tensor.numel, self.parameters)), dtype=first.dtype, device=first.device
        )
        parts = self.flat.split([parameter.numel() for parameter in self.parameters])
        self.views = [
            part.view(parameter.shape)
            for part, parameter in zip(parts, self.parameters, strict=True)
        ]

    def __call__(
        self,
        observations: Tensor,
        actions: Tensor,
        real: Tensor | None = None,
        noise: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Losses:
        """Set the gradients of a batch.

        Args:
            observations: float (T + 1, B, O).
            actions: float (T, B, A).
            real: bool (T, B), see ``WorldModel.forward``; None is teacher forcing.
            noise: float (T, B, n_L·H), of gates; None draws it in training mode.
            generator: draws it; None is torch's own.

        Raises:
            ValueError: a tensor of another shape or dtype, or a backend that cannot compute this.
        """
        model = self.model
        inputs = check_inputs(model, observations, actions, real, None, noise)
        time, batch = actions.shape[:2]
        if len(observations) != time + 1:
            wanted = f"one step more than the {time} actions"
            raise _checks.refuse("observations", wanted, len(observations))
        if noise is None:
            inputs = inputs._replace(noise=model.draw_noise(time, batch, generator))
        for parameter, view in zip(self.parameters, self.views, strict=True):
            parameter.grad = view
        kernel = backends.choose_kernel(model, inputs, self._lacking)
        if kernel is None:
            return self._by_torch(inputs, observations[1:])
        outcome = kernel.run(
            model, *inputs, wanted=False, gradients=self.views, penalty=self.penalty
        )
        error = outcome.squares / (time * batch * model.obs_size)
        if kernel.program.gates == 0:
            return Losses(error, error, None)
        gates = outcome.open_gates / (time * batch * kernel.program.gates)
        # Of sigmoids all gates are above 0, and l0 counts them all.
        penalty = gates
        if self.penalty_kind == "l0" and model.settings["core_options"].get("gate") == "sigmoid":
            penalty = 1.0
        return Losses(error + self.penalty * penalty, error, gates)

    def _by_torch(self, inputs: backends.Inputs, target: Tensor) -> Losses:
        self.flat.zero_()
        with torch.enable_grad():
            predictions, _, gates = predict_torch(self.model, inputs)
            error = (predictions - target).square().mean()
            loss = error
            if gates is not None:
                loss = error + self.penalty * gate_penalty(gates, kind=self.penalty_kind)
        loss.backward()
        rate = None if gates is None else gates.detach().mean().item()
        return Losses(loss.item(), error.item(), rate)


class NonFiniteLossError(FloatingPointError):
    """The loss of a batch is NaN or infinite."""


class TrainingStep:
    """One step of Adam on the loss of a batch, as the GateL0RD paper trained (Appendix B.1).

    The global norm of all gradients is clipped; Adam has betas of 0.9 and 0.999 and an epsilon of
    1e-4.

    Args:
        model: is trained.
        learning_rate: of Adam.
        penalty: as of ``Gradients``.
        penalty_kind: as there.
        max_grad_norm: to which the global norm is clipped; None is not.

    Raises:
        ValueError: an argument is wrong; the message names it.
    """

    def __init__(
        self,
        model: WorldModel,
        learning_rate: float = 0.001,
        penalty: float = 0.0,
        penalty_kind: str = "l0",
        max_grad_norm: float | None = 0.1,
    ) -> None:
        self.gradients = Gradients(model, penalty, penalty_kind)
        self.max_grad_norm = max_grad_norm
        if max_grad_norm is not None:
            _checks.real("max_grad_norm", max_grad_norm, 0.0, exclusive=True)
        rate = _checks.real("learning_rate", learning_rate, 0.0)
        self.optimizer = torch.optim.Adam(
            self.gradients.parameters, lr=rate, betas=BETAS, eps=EPSILON, fused=True
        )

    def __call__(
        self,
        observations: Tensor,
        actions: Tensor,
        real: Tensor | None = None,
        noise: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Losses:
        """Train on a batch; arguments as of ``Gradients``.

        Raises:
            ValueError: as there.
            NonFiniteLossError: the loss is NaN or infinite; the model stays as it was.
        """
        losses = self.gradients(observations, actions, real, noise, generator)
        if not math.isfinite(losses.loss):
            raise NonFiniteLossError(f"loss: expected a finite number, got {losses.loss}")
        if self.max_grad_norm is not None:
            flat = self.gradients.flat
            norm = torch.linalg.vector_norm(flat).item()
            if norm > self.max_grad_norm:
                flat.mul_(self.max_grad_norm / (norm + 1e-6))  # as torch's clip_grad_norm_
        self.optimizer.step()
        return losses
