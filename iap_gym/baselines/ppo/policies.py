"""Actor-critic policies that carry any core of ``iap_gym.recurrent``."""

from __future__ import annotations

import inspect
import json
import operator
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common import torch_layers
from stable_baselines3.common.torch_layers import (
    BaseFeaturesExtractor,
    CombinedExtractor,
    FlattenExtractor,
    NatureCNN,
)
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.baselines.minigrid import MiniGridFeatures, is_grid_view
from iap_gym.baselines.non_finite import NonFiniteObservationError
from iap_gym.baselines.ppo.finite import require_finite
from iap_gym.baselines.ppo.initialization import row_normalized_
from iap_gym.baselines.ppo.named_classes import named_class
from iap_gym.baselines.ppo.states import StatePair, run_core
from iap_gym.baselines.small_images import SmallImageExtractor, has_small_images
from iap_gym.recurrent import CORES, Core, GateL0RD, GateL0RDCore, make_core

SHARINGS = ("shared", "separate")
# Arguments of sb3-contrib's policies that have another name here.
_REPLACED = {
    "lstm_hidden_size": "hidden_size",
    "n_lstm_layers": "num_layers in core_kwargs",
    "lstm_kwargs": "core_kwargs",
    "shared_lstm": "core_sharing",
    "enable_critic_lstm": "core_sharing",
}
_OURS = {"hidden_size", "row_normalized_init"}
# What a checkpoint must share with the policy that it is loaded into, besides the core's options.
_IDENTITY = ("core", "core_sharing", "hidden_size")
# Options of cores that change how the same function is computed or trained.
_NO_IDENTITY = {"backend", "gate_noise"}


class _Latents(NamedTuple):
    """What actor and critic compute their outputs from, (B·T, ...), and what came with it."""

    pi: Tensor
    vf: Tensor
    states: RNNStates
    gates: Tensor | None  # (T, B, gates of all cores)


class CorePolicy(RecurrentActorCriticPolicy):
    """sb3-contrib's recurrent actor-critic policy with a core in the place of its LSTMs.

    The core's state travels as the two arrays (n_L, B, H) that sb3-contrib passes on and stores:
    the latent state, and what else a core remembers (c of an LSTM, the clock of a Clockwork RNN).

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        lr_schedule: learning rate for the remaining progress, 1 to 0.
        core: a name of ``iap_gym.recurrent.make_core``.
        core_sharing: "shared" is one core for actor and critic, with the gradients of both;
            "separate" is one for each.
        core_kwargs: options of the core, such as ``num_layers``.
        hidden_size: H.
        row_normalized_init: whether all linear layers start as ``row_normalized_`` says, instead of
            orthogonal (``ortho_init``).
        features_extractor_class: class, "module:Name", or name in SB3's ``torch_layers``; None is
            the policy's own.
        activation_fn: class, "module:Name", or name in ``torch.nn``.
        optimizer_class: class, "module:Name", or name in ``torch.optim``.
        **kwargs: the others of sb3-contrib's ``RecurrentActorCriticPolicy``: ``net_arch``,
            ``features_extractor_kwargs``, ``share_features_extractor``, ``normalize_images``,
            ``optimizer_kwargs``, ``ortho_init``, ``log_std_init`` and those of gSDE.

    Raises:
        ValueError: an argument is wrong; the message names it.
    """

    extractor: ClassVar[type[BaseFeaturesExtractor]] = FlattenExtractor

    def __init__(
        self,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        lr_schedule: Schedule,
        *,
        core: str = "gatel0rd",
        core_sharing: str = "shared",
        core_kwargs: dict[str, Any] | None = None,
        hidden_size: int = 64,
        row_normalized_init: bool = False,
        features_extractor_class: type[BaseFeaturesExtractor] | str | None = None,
        activation_fn: type[nn.Module] | str = nn.Tanh,
        optimizer_class: type[torch.optim.Optimizer] | str = torch.optim.Adam,
        **kwargs: Any,
    ) -> None:
        known = inspect.signature(RecurrentActorCriticPolicy).parameters.keys() - _REPLACED.keys()
        for name in kwargs.keys() - known:
            wanted = _REPLACED.get(name, f"names among {', '.join(sorted(known | _OURS))}")
            raise _checks.refuse("policy_kwargs", wanted, name)
        core_kwargs = {} if core_kwargs is None else core_kwargs
        _checks.instance("core_kwargs", core_kwargs, Mapping, "a dict of options of the core")
        if "hidden_size" in core_kwargs:
            wanted = "options of the core alone; hidden_size belongs in policy_kwargs"
            raise _checks.refuse("core_kwargs", wanted, core_kwargs)
        self._core_arguments: dict[str, Any] = {
            "core": _checks.one_of("core", core, CORES),
            "core_sharing": _checks.one_of("core_sharing", core_sharing, SHARINGS),
            "core_kwargs": dict(core_kwargs),
            "hidden_size": _checks.integer("hidden_size", hidden_size, 1),
            "row_normalized_init": _checks.boolean("row_normalized_init", row_normalized_init),
        }
        shared = core_sharing == "shared"
        if shared and not kwargs.get("share_features_extractor", True):
            wanted = "'separate' where actor and critic have features extractors of their own"
            raise _checks.refuse("core_sharing", wanted, core_sharing)
        if features_extractor_class is None:
            features_extractor_class = self.extractor
            takes_images = issubclass(self.extractor, (NatureCNN, CombinedExtractor))
            if takes_images and is_grid_view(observation_space):
                # Cells of a grid, such as MiniGrid's, whose small integers must not be divided.
                features_extractor_class = MiniGridFeatures
                kwargs.setdefault("normalize_images", False)
            elif takes_images and has_small_images(observation_space):
                features_extractor_class = SmallImageExtractor
        extractor = named_class(
            "features_extractor_class",
            features_extractor_class,
            BaseFeaturesExtractor,
            torch_layers,
        )
        if isinstance(observation_space, spaces.Dict) and extractor in (
            FlattenExtractor,
            NatureCNN,
        ):
            wanted = "'MultiInputCorePolicy' for a Dict of observations"
            raise _checks.refuse("policy", wanted, type(self).__name__)
        if row_normalized_init:
            kwargs["ortho_init"] = False
        for name in ("features_extractor_kwargs", "optimizer_kwargs"):
            if kwargs.get(name) is not None:  # SB3 writes into them
                kwargs[name] = dict(kwargs[name])
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            features_extractor_class=extractor,
            activation_fn=named_class("activation_fn", activation_fn, nn.Module, nn),
            optimizer_class=named_class(
                "optimizer_class", optimizer_class, torch.optim.Optimizer, torch.optim
            ),
            # LSTMs of one unit, which make way at once; what else depends on the size is below.
            lstm_hidden_size=1,
            shared_lstm=shared,
            enable_critic_lstm=not shared,
            **kwargs,
        )
        actor = self._make_core()
        self.lstm_actor = actor  # type: ignore[assignment]
        self.lstm_critic = None if shared else self._make_core()  # type: ignore[assignment]
        self.lstm_hidden_state_shape = (actor.num_layers, 1, actor.hidden_size)
        if row_normalized_init:
            row_normalized_(self)
        self.optimizer = self.optimizer_class(
            self.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    def _make_core(self) -> Core:
        arguments = self._core_arguments
        return make_core(
            arguments["core"],
            self.features_dim,
            arguments["hidden_size"],
            **arguments["core_kwargs"],
        )

    def _build_mlp_extractor(self) -> None:
        # Called by the constructors above, once the number of features is known.
        self.lstm_output_dim = self._make_core().output_size
        super()._build_mlp_extractor()

    @property
    def actor_core(self) -> Core:
        """The core of the actor."""
        return self.lstm_actor  # type: ignore[return-value]

    @property
    def critic_core(self) -> Core:
        """The core of the critic; if shared, that of the actor."""
        return self.lstm_actor if self.lstm_critic is None else self.lstm_critic  # type: ignore[return-value]

    @staticmethod
    def _process_sequence(  # type: ignore[override]
        features: Tensor, lstm_states: StatePair, episode_starts: Tensor, lstm: Core
    ) -> tuple[Tensor, StatePair]:
        output, states, _ = run_core(lstm, features, lstm_states, episode_starts)
        return output, states

    def _latents(self, obs: PyTorchObs, states: RNNStates, episode_starts: Tensor) -> _Latents:
        features = self.extract_features(obs)
        pi, vf = (features, features) if isinstance(features, Tensor) else features
        pi, pi_states, extras = run_core(self.actor_core, pi, states.pi, episode_starts)  # type: ignore[arg-type]
        gates = extras.get("gates")
        if self.lstm_critic is None:
            vf, vf_states = pi, pi_states
        else:
            vf, vf_states, extras = run_core(self.critic_core, vf, states.vf, episode_starts)  # type: ignore[arg-type]
            gates = None if gates is None else torch.cat((gates, extras["gates"]), dim=-1)
        return _Latents(
            self.mlp_extractor.forward_actor(pi),
            self.mlp_extractor.forward_critic(vf),
            RNNStates(pi_states, vf_states),
            gates,
        )

    def forward(
        self,
        obs: PyTorchObs,
        lstm_states: RNNStates,
        episode_starts: Tensor,
        deterministic: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor, RNNStates]:
        """Act, and judge the state.

        Args:
            obs: (B, ...), or a dict of such.
            lstm_states: of actor and critic before this step.
            episode_starts: (B,), 1 where the state has to be zeroed first.
            deterministic: whether to take the most likely action.

        Returns:
            Actions (B, ...), values (B, 1), log probabilities (B,), the new states.

        Raises:
            NonFiniteObservationError: an observation holds NaN or infinity.
        """
        require_finite(obs)
        latents = self._latents(obs, lstm_states, episode_starts)
        distribution = self._get_action_dist_from_latent(latents.pi)
        actions = distribution.get_actions(deterministic=deterministic)
        log_prob = distribution.log_prob(actions)
        actions = actions.reshape(-1, *self.action_space.shape)  # type: ignore[misc]
        return actions, self.value_net(latents.vf), log_prob, latents.states

    def predict_values(
        self, obs: PyTorchObs, lstm_states: StatePair, episode_starts: Tensor
    ) -> Tensor:
        """Judge the state: values (B, 1); see ``forward``."""
        require_finite(obs)
        return super().predict_values(obs, lstm_states, episode_starts)  # type: ignore[arg-type]

    def evaluate_with_gates(
        self, obs: PyTorchObs, actions: Tensor, lstm_states: RNNStates, episode_starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Judge actions that were taken, over B padded sequences of T steps.

        Args:
            obs: (B·T, ...), one sequence after the other, or a dict of such.
            actions: (B·T, ...).
            lstm_states: of actor and critic before the first steps.
            episode_starts: (B·T,), 1 where the state has to be zeroed first.

        Returns:
            Values (B·T, 1), log probabilities (B·T,), entropies (B·T,) or None where there is no
            closed form, and the gates (T, B, K) of all cores, None for cores without gates.
        """
        latents = self._latents(obs, lstm_states, episode_starts)
        distribution = self._get_action_dist_from_latent(latents.pi)
        log_prob = distribution.log_prob(actions)
        return self.value_net(latents.vf), log_prob, distribution.entropy(), latents.gates

    def evaluate_actions(  # type: ignore[override]
        self, obs: PyTorchObs, actions: Tensor, lstm_states: RNNStates, episode_starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Judge actions that were taken; ``evaluate_with_gates`` without the gates."""
        return self.evaluate_with_gates(obs, actions, lstm_states, episode_starts)[:3]

    def predict(
        self,
        observation: NDArray[Any] | dict[str, NDArray[Any]],
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[Any], tuple[NDArray[Any], ...] | None]:
        """Act; see SB3.

        Args:
            observation: one, or several (B, ...); or a dict of such.
            state: two arrays (n_L, B, H), what an earlier call returned; None is zeros.
            episode_start: (B,), True where the state has to be zeroed first; None is nowhere.
            deterministic: whether to take the most likely action.

        Returns:
            The action or actions, and the state after the step.

        Raises:
            ValueError: a state, or ``episode_start``, of another shape.
            NonFiniteObservationError: an observation holds NaN or infinity.
        """
        if state is not None and not (isinstance(state, (tuple, list)) and len(state) == 2):
            raise _checks.refuse("state", "two arrays, as predict returns them", type(state))
        return super().predict(observation, state, episode_start, deterministic)

    def _predict(
        self,
        observation: PyTorchObs,
        lstm_states: StatePair,
        episode_starts: Tensor,
        deterministic: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        try:
            require_finite(observation)
        except NonFiniteObservationError as error:
            error.outside_rollouts = True
            raise
        first = observation if isinstance(observation, Tensor) else next(iter(observation.values()))
        layers, _, size = self.lstm_hidden_state_shape
        shape = (layers, len(first), size)
        for state in lstm_states:
            if tuple(state.shape) != shape:
                wanted = f"two arrays of shape (n_L, observations, H) = {shape}"
                raise _checks.refuse("state", wanted, tuple(state.shape))
        if tuple(episode_starts.shape) != shape[1:2]:
            wanted = f"an array of shape {shape[1:2]}"
            raise _checks.refuse("episode_start", wanted, tuple(episode_starts.shape))
        return super()._predict(observation, lstm_states, episode_starts, deterministic)  # type: ignore[arg-type]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        data = super()._get_constructor_parameters()
        data["share_features_extractor"] = self.share_features_extractor
        return data | self._core_arguments

    def get_extra_state(self) -> Tensor:
        """Return which core this is, for the ``state_dict``: JSON in UTF-8, as uint8."""
        text = json.dumps(self._identity(), default=operator.methodcaller("item"))
        return torch.tensor(list(text.encode()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Refuse the weights of another core.

        Raises:
            ValueError: the ``state_dict`` is of a policy with another core; names what differs.
        """
        saved = json.loads(bytes(state.tolist()))
        mine = json.loads(bytes(self.get_extra_state().tolist()))
        for name, value in mine.items():
            # A checkpoint may be older than an option.
            if saved.get(name, value) != value:
                wanted = f"weights of a policy with {name}={value!r}"
                raise _checks.refuse(name, wanted, saved[name])

    def _identity(self) -> dict[str, Any]:
        arguments = self._core_arguments
        core = CORES[arguments["core"]]
        owner = GateL0RD if core is GateL0RDCore else core
        # An option that is left out is the same as its default given.
        options = {
            name: parameter.default
            for name, parameter in inspect.signature(owner).parameters.items()
            if parameter.default is not inspect.Parameter.empty
        } | arguments["core_kwargs"]
        if "output_size" in options:
            options["output_size"] = self.actor_core.output_size
        kept = {name: options[name] for name in sorted(options.keys() - _NO_IDENTITY)}
        return {name: arguments[name] for name in _IDENTITY} | kept


class MlpCorePolicy(CorePolicy):
    """``CorePolicy`` for vectors: the core sees the flattened observation."""


class CnnCorePolicy(CorePolicy):
    """``CorePolicy`` for images: the core sees the features of SB3's ``NatureCNN``.

    Below 36 pixels a side they are those of ``SmallImageExtractor``, and of 7 to 15 cells a side,
    taken for a grid and not divided by 255, those of ``MiniGridFeatures``.
    """

    extractor = NatureCNN


class MultiInputCorePolicy(CorePolicy):
    """``CorePolicy`` for Dict observations: the core sees SB3's ``CombinedExtractor``.

    Small images and grids have other networks, as of ``CnnCorePolicy``.
    """

    extractor = CombinedExtractor
