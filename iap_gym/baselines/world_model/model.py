"""A recurrent model of how observations follow from actions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.baselines.world_model import backends, weights
from iap_gym.baselines.world_model._shapes import (
    Inputs,
    check_inputs,
    check_state,
    check_step,
    for_all_plans,
    prepend,
)
from iap_gym.baselines.world_model.state import ModelState, state_of
from iap_gym.recurrent import CORES, ContextNetwork, Core, GateL0RDCore, make_core


class Prediction(NamedTuple):
    """What a model predicts over T steps.

    Attributes:
        observations: float (T, B, O), predictions of the observations after each step.
        state: what the model remembers after the last step.
        gates: float (T, B, n_L·H) of GateL0RD; None of other cores.
    """

    observations: Tensor
    state: ModelState
    gates: Tensor | None


class WorldModel(nn.Module):
    """The predictive model of Gumbsch, Butz and Martius (NeurIPS 2021), around any core.

    With x_t = [a_t; o_t], the action first, and a recurrent core with state h:

    - h_0 = f_init([x_0; ...; x_{k-1}]), affine maps with a tanh after each
    - y_t, h_{t+1} = core(f_pre(x_t), h_t); f_pre: affine maps with a tanh after each
    - ô_{t+1} = o_t + 0.1 f_post(y_t), f_post affine (Appendix B: the model predicts the change of
      observations, scaled by a constant c = 0.1)

    In the place of o_t stands ô_t wherever the model goes on from its own predictions; gradients
    pass through them.

    Args:
        obs_size: O, numbers of an observation.
        action_size: A, numbers of an action, which may be 0.
        core: "gatel0rd", "lstm", "gru", "elman" or "clockwork".
        hidden_size: H, numbers of the latent state of a layer.
        pre_widths: of the layers of f_pre; the last is the size of the core's input, and of
            GateL0RD's output.
        context_widths: of the layers of f_init before the last; None is no f_init, and h_0 = 0.
        context_inputs: k.
        core_options: ``num_layers`` of any core, the other arguments of ``GateL0RD``, ``periods``
            of the Clockwork RNN.
        residual_scale: c; 0.1 in the paper.
        backend: as of ``GateL0RD``, for the whole model.

    Raises:
        ValueError: an argument is wrong; the message names it. "numba" is asked for and cannot
            compute such a model.
        gymnasium.error.DependencyNotInstalled: "numba" is asked for and not installed.
    """

    def __init__(
        self,
        obs_size: int,
        action_size: int,
        core: str = "gatel0rd",
        hidden_size: int = 8,
        pre_widths: Sequence[int] = (64, 32, 16),
        context_widths: Sequence[int] | None = (64, 32),
        context_inputs: int = 1,
        core_options: Mapping[str, Any] | None = None,
        residual_scale: float = 0.1,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.obs_size = _checks.integer("obs_size", obs_size, 1)
        self.action_size = _checks.integer("action_size", action_size, 0)
        _checks.one_of("core", core, CORES)
        _checks.integer("hidden_size", hidden_size, 1)
        self.residual_scale = _checks.real("residual_scale", residual_scale, 0.0, exclusive=True)
        self.backend = backends.check_backend(backend)
        widths = _checks.integers("pre_widths", pre_widths, 1)
        if not widths:
            raise _checks.refuse("pre_widths", "at least one layer", pre_widths)
        _checks.integer("context_inputs", context_inputs, 0 if context_widths is None else 1)
        if core_options is not None:
            _checks.instance("core_options", core_options, Mapping, "a dict of options or None")
        options = dict(core_options or {})
        if core == GateL0RDCore.name:
            plain = "torch" if self.backend == "torch" else "auto"
            options = {"output_size": widths[-1], "backend": plain} | options
        inputs = self.action_size + self.obs_size
        layers: list[nn.Module] = []
        for fan_in, width in zip((inputs, *widths), widths, strict=False):
            layers += [nn.Linear(fan_in, width), nn.Tanh()]
        self.f_pre = nn.Sequential(*layers)
        self.core = _make_core(core, widths[-1], hidden_size, options)
        self.f_post = nn.Linear(self.core.output_size, self.obs_size)
        self.context_inputs = 0
        self.f_init: ContextNetwork | None = None
        if context_widths is not None:
            context_widths = _checks.integers("context_widths", context_widths, 1)
            self.context_inputs = int(context_inputs)
            self.f_init = ContextNetwork(inputs, self.core, context_inputs, context_widths)
        self.settings: dict[str, Any] = {
            "obs_size": self.obs_size,
            "action_size": self.action_size,
            "core": core,
            "hidden_size": self.core.hidden_size,
            "pre_widths": list(widths),
            "context_widths": None if context_widths is None else list(context_widths),
            "context_inputs": int(context_inputs),
            "core_options": dict(core_options or {}),
            "residual_scale": self.residual_scale,
        }
        backends.check_model(self)

    @property
    def num_parameters(self) -> int:
        """How many numbers are trained."""
        return sum(parameter.numel() for parameter in self.parameters())

    def forward(
        self,
        observations: Tensor,
        actions: Tensor,
        real: Tensor | None = None,
        state: ModelState | None = None,
        noise: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Prediction:
        """Predict the observations after each of T steps.

        Args:
            observations: float (T', B, O). Steps from T' on take the model's own predictions; more
                than T are not looked at.
            actions: float (T, B, A).
            real: bool (T, B), True where a step takes the observation and False where it takes the
                model's own prediction; None takes every observation that there is. The first step
                takes the observation.
            state: of the steps before, as predictions and ``step`` return it; None begins anew. The
                observations that f_init still needs have to be there, which it sees whatever
                ``real`` says.
            noise: float (T, B, n_L·H), added to the arguments of GateL0RD's gates, as
                ``draw_noise`` gives it. None draws it in training mode and has none otherwise.
            generator: draws the noise; None is torch's own.

        Raises:
            ValueError: a tensor of another shape or dtype, too few observations, or a backend that
                cannot compute this.
        """
        inputs = check_inputs(self, observations, actions, real, state, noise)
        past = len(inputs.actions) - len(actions)  # what the state held for f_init
        if noise is None:
            time, batch = actions.shape[:2]
            drawn = self.draw_noise(time, batch, generator)
            if drawn is not None and past:
                drawn = prepend(drawn, past)
            inputs = inputs._replace(noise=drawn)
        predicted, core, gates = backends.predict(self, inputs)
        gates = None if gates is None else gates[past:]
        return Prediction(predicted[past:], state_of(self, core), gates)

    def rollout(
        self, observations: Tensor, actions: Tensor, state: ModelState | None = None
    ) -> Tensor:
        """Predict what plans lead to, without gradients and, whatever the mode, without noise.

        Nothing is drawn: the same arguments give the same numbers.

        Args:
            observations: float (k', B, O) or (k', 1, O), one for all plans: the newest, before it
                those that f_init still needs.
            actions: float (T, B, A), those of the first observations first.
            state: from steps before the first observation, of B sequences or one; None begins anew.

        Returns:
            float (T, B, O), the predicted observations after each action.

        Raises:
            ValueError: a tensor of another shape or dtype, or too few observations for f_init.
        """
        observations = for_all_plans("observations", observations, actions)
        if state is not None:
            state = check_state(self, state, actions.shape[1], spread=True)
        inputs = check_inputs(self, observations, actions, None, state, None)
        with torch.no_grad():
            return backends.predict(self, inputs)[0][-len(actions) :]

    def begin(self, batch_size: int) -> ModelState:
        """Return what is remembered before the first step.

        Raises:
            ValueError: the batch size is no integer >= 1.
        """
        state = self.core.initial_state(batch_size)
        begun = state_of(self, state)
        return begun if self.f_init is None else begun._replace(core=None)

    def step(
        self, observation: Tensor, action: Tensor, state: ModelState | None = None
    ) -> tuple[Tensor, ModelState]:
        """Take one step, as in acting: no noise whatever the mode.

        Steps are the same as a sequence of real observations, from the k-th step on. Before, f_init
        has not seen its k inputs, and there is no prediction but that nothing changes.

        Args:
            observation: float (B, O).
            action: float (B, A).
            state: what the step before returned, or a prediction; None is ``begin``.

        Returns:
            The predicted observation, float (B, O), and what is remembered.

        Raises:
            ValueError: a tensor of another shape or dtype.
        """
        check_step(self, observation, action)
        batch = len(observation)
        state = self.begin(batch) if state is None else check_state(self, state, batch)
        observations, actions = observation.unsqueeze(0), action.unsqueeze(0)
        if state.core is None:
            seen = torch.cat((state.first, torch.cat((actions, observations), dim=-1)))
            if len(seen) < self.context_inputs:
                return observation, ModelState(None, seen)
            actions, observations = seen.split([self.action_size, self.obs_size], dim=-1)
        inputs = Inputs(observations, actions, None, state.core, None)
        predicted, core, _ = backends.predict(self, inputs)
        return predicted[-1], state_of(self, core)

    def draw_noise(
        self, time: int, batch: int, generator: torch.Generator | None = None
    ) -> Tensor | None:
        """Draw noise of gates, (T, B, n_L·H); None without GateL0RD, or outside of training."""
        if not isinstance(self.core, GateL0RDCore) or not self.training:
            return None
        sigma = self.core.gatel0rd.gate_noise
        if sigma == 0.0:
            return None
        weight = self.f_post.weight
        shape = time, self.core.num_layers * self.core.hidden_size, batch
        # in the order of the kernels, which then need not turn it
        normal = torch.randn(shape, generator=generator, dtype=weight.dtype, device=weight.device)
        return (sigma * normal).transpose(1, 2)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as safetensors, its arguments in the metadata.

        Raises:
            OSError: it cannot be written.
        """
        weights.save(path, self.state_dict(), self.settings)

    @classmethod
    def load(cls, path: str | os.PathLike[str], backend: str = "auto") -> Self:
        """Read a model that ``save`` wrote; it is in evaluation mode, in which gates have no noise.

        Raises:
            FileNotFoundError: there is no file.
            ValueError: it is no world model, or damaged; or there is no such backend, or it cannot
                compute the model.
        """
        backends.check_backend(backend)
        tensors, settings = weights.load(path)
        try:
            model = cls(**settings, backend=backend)
            dtype = next(iter(tensors.values())).dtype
            model.to(dtype).load_state_dict(tensors)
        except (TypeError, ValueError, RuntimeError, StopIteration) as error:
            if str(error).startswith("backend:"):  # a whole model, but for another backend
                raise
            raise ValueError(f"{path}: expected a whole world model; {error}") from None
        return model.eval()


def _make_core(name: str, input_size: int, hidden_size: int, options: dict[str, Any]) -> Core:
    """Build a core; what is wrong with its options is said of ``core_options``."""
    for option in options:
        if not isinstance(option, str) or option in ("name", "input_size", "hidden_size"):
            wanted = f"no {option!r}, which the model decides or does not know"
            raise _checks.refuse("core_options", wanted, option)
    try:
        return make_core(name, input_size, hidden_size, **options)
    except ValueError as error:
        text = str(error)
        if text.startswith("hidden_size:"):
            raise
        raise ValueError(f"core_options: {text.removeprefix('options: ')}") from None
