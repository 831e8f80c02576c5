"""A policy of two levels: one looks and commands now and then, one walks at every control step.

Letters: B batch, L numbers of the latent command, n trained numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym.baselines.evolution.networks import NETWORKS
from iap_gym.baselines.evolution.policy import (
    Arrays,
    EvolutionPolicy,
    State,
    same_shapes,
    sized,
    with_prefix,
)

if TYPE_CHECKING:
    from iap_gym.attention import PatchSelector
    from iap_gym.envs.quadruped.low_level import LowLevel

PARTS = ("high", "low")
TRAINS = ("high", "low", "both")
LOW_WEIGHT, LOW_BIAS = "low.weight", "low.bias"
# What LinearPolicy calls its one layer: the form of a low level trained by itself.
LINEAR_WEIGHT, LINEAR_BIAS = "controller.0.weight", "controller.0.bias"
INDOOR = "indoor"
PROPRIO = "proprio"  # what only the low level senses


class HierarchicalPolicy(EvolutionPolicy):
    """A high level for the control "latent" of the quadruped, and the low level inside that.

    The high level is any policy of one network. Its action is a duration and a latent command of L
    numbers, clipped to [-1, 1] (Choromanski et al. 2021, section 5.3). The low level is
    ``iap_gym.envs.quadruped.low_level.LowLevel``, linear; the environment runs it at every control
    step of the duration, and ``prepare`` puts it there. ``run_episode`` does so before each reset;
    who steps the environment without it calls ``prepare`` first. An environment that was made with
    another ``low_level`` is refused, unless the low level is trained.

    The vector holds what is trained: the numbers of the high level, then those of the low level;
    ``state_dict`` holds both, as ``high.*``, ``low.weight`` (16, L + 18) and ``low.bias`` (16,).

    Args:
        observation_space: a Dict.
        action_space: Box (1 + L,) within [-1, 1].
        high: name of the high level's policy, such as "LinearPolicy" (IAP) or "CnnPolicy".
        high_sees: entries of the observation that it is shown; None is all but "proprio".
        trains: "high", "low" or "both": what the search moves. The rest stays as it starts.
        steering: the low level starts as the gait itself, turned by so much times the first
            number of the command; None is what the obstacle course does by itself. "indoor" is
            ``navigation_steering.indoor_low_level``, as navigation does by itself.
        squash: as in ``NetworkPolicy``, of the high level.
        selector_seed: see ``AttentionPolicy``.
        **kwargs: arguments of the high level's policy.

    Raises:
        ValueError: spaces or arguments outside what is said above.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        high: str = "LinearPolicy",
        high_sees: Sequence[str] | None = None,
        trains: str = "both",
        steering: float | str | None = None,
        squash: str = "clip",
        selector_seed: int = 0,
        **kwargs: Any,
    ) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        latent_size = _latent_size(action_space)
        kind: Any = NETWORKS[_checks.one_of("high", high, NETWORKS)]
        if high != "CnnPolicy":
            kwargs["selector_seed"] = selector_seed
        self.high: EvolutionPolicy = kind(
            _seen(observation_space, high_sees), action_space, squash=squash, **kwargs
        )
        self.low: LowLevel = _low_level(latent_size, steering)
        # What is saved is float32: what is played must be so from the start.
        self.low.set_vector(self.low.get_vector().astype(np.float32))
        self._trains = PARTS if _checks.one_of("trains", trains, TRAINS) == "both" else (trains,)
        self._sizes = {
            "high": self.high.num_parameters if "high" in self._trains else 0,
            "low": self.low.num_parameters if "low" in self._trains else 0,
        }
        self.num_parameters = sum(self._sizes.values())

    @property
    def selector(self) -> PatchSelector | None:
        """What selects patches of the image; None for a high level without."""
        return self.high.selector

    @property
    def last_indices(self) -> NDArray[np.int64] | None:
        """The patches selected in the last ``act``, (B, l), best first; None without attention."""
        return self.high.last_indices

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers of the high level mean; those of the low level mean one thing."""
        return self.high.settings

    def images(self, observations: Any) -> NDArray[Any] | None:
        """Return the images that are read in a batch, (B, H, W, C); None without one."""
        return self.high.images(observations)

    def prepare(self, env: gymnasium.Env[Any, Any]) -> None:
        """Give an environment, or what it wraps, a copy of the low level.

        Raises:
            ValueError: it takes none, or was made with another one (its ``low_level``) while the
                policy's is not trained.
        """
        inner: Any = env.unwrapped
        if not hasattr(inner, "set_low_level"):
            wanted = "an environment that runs a low level (control 'latent')"
            raise _checks.refuse("env", wanted, inner)
        low = type(self.low).from_vector(self.low.latent_size, self.low.get_vector())
        given: LowLevel | None = getattr(inner, "given_low_level", None)
        if given is not None and "low" not in self._trains and not _equal(given, low):
            wanted = (
                "an environment made without low_level, as HierarchicalPolicy puts its own there, "
                "or with an equal one"
            )
            raise _checks.refuse("env", wanted, _checks.Words(f"another low_level in {inner}"))
        try:
            inner.set_low_level(low)
        except ValueError as error:
            wanted = f"control 'latent' with latent_size={low.latent_size}"
            raise ValueError(f"env: expected {wanted}: {error}") from error

    def get_vector(self) -> NDArray[np.float32]:
        """Return the trained numbers, (n,) float32, a copy."""
        low = self.low.get_vector().astype(np.float32)
        parts = {"high": self.high.get_vector(), "low": low}
        return np.concatenate([parts[part] for part in self._trains])

    def set_vector(self, vector: ArrayLike) -> None:
        """Take the trained numbers from a vector.

        Raises:
            ValueError: not (n,).
        """
        numbers = sized(vector, self.num_parameters)
        if "high" in self._trains:
            self.high.set_vector(numbers[: self._sizes["high"]])
        if "low" in self._trains:
            self.low.set_vector(numbers[self._sizes["high"] :])

    def parameter_scale(self) -> NDArray[np.float32]:
        """Return for every number 1/sqrt(numbers its unit adds up), (n,): the unit of search."""
        low = np.full(self.low.num_parameters, 1 / math.sqrt(self.low.input_size), np.float32)
        parts = {"high": self.high.parameter_scale(), "low": low}
        return np.concatenate([parts[part] for part in self._trains])

    def initial_vector(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw where a search starts: the high level as its policy does, the gait as it is."""
        high = self.high.initial_vector(rng)
        if "high" not in self._trains:
            self.high.set_vector(high)
        parts = {"high": high, "low": self.low.get_vector().astype(np.float32)}
        return np.concatenate([parts[part] for part in self._trains])

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of all arrays of both levels."""
        arrays = {f"high.{name}": array for name, array in self.high.state_dict().items()}
        arrays[LOW_WEIGHT] = self.low.weight.astype(np.float32)
        arrays[LOW_BIAS] = self.low.bias.astype(np.float32)
        return arrays

    def load_state_dict(self, arrays: Arrays) -> None:
        """Take what ``state_dict`` gave.

        Raises:
            ValueError: other names or shapes.
        """
        same_shapes(self.state_dict(), arrays)
        self.high.load_state_dict(with_prefix("high.", arrays))
        self._set_low(arrays[LOW_WEIGHT], arrays[LOW_BIAS])

    def start_from(self, arrays: Arrays, part: str | None = None) -> None:
        """Take the weights of another policy as the place where a search starts.

        A low level may also come from a ``LinearPolicy`` that walks without a command ("pmtg"
        without camera): what it does with the command then stays as it is here.

        Args:
            arrays: the other's ``state_dict``.
            part: "high" or "low": take that level alone; None takes both.

        Raises:
            ValueError: other names or shapes, or no such part.
        """
        if part is None:
            self.load_state_dict(arrays)
        elif _checks.one_of("start_from", part, PARTS) == "high":
            self.high.load_state_dict(with_prefix("high.", arrays) or arrays)
        else:
            self._start_low(arrays)

    def _start_low(self, arrays: Arrays) -> None:
        current = {LOW_WEIGHT: self.low.weight, LOW_BIAS: self.low.bias}
        if arrays.keys() == {LINEAR_WEIGHT, LINEAR_BIAS}:
            commands = self.low.weight[:, : self.low.latent_size]
            weight = np.concatenate([commands, arrays[LINEAR_WEIGHT]], axis=1)
            found: dict[str, NDArray[Any]] = {LOW_WEIGHT: weight, LOW_BIAS: arrays[LINEAR_BIAS]}
        else:
            found = {name: array for name, array in arrays.items() if name.startswith("low.")}
        same_shapes(current, found)
        self._set_low(found[LOW_WEIGHT], found[LOW_BIAS])

    def _set_low(self, weight: NDArray[Any], bias: NDArray[Any]) -> None:
        self.low.set_vector(np.concatenate([weight.ravel(), bias]).astype(np.float32))

    def initial_state(self, batch: int) -> State:
        """Return the high level's state at the start of an episode."""
        return self.high.initial_state(batch)

    def act(
        self,
        observations: Any,
        state: State | None = None,
        episode_start: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], State]:
        """Choose a duration and a latent command for every row (see ``EvolutionPolicy``)."""
        return self.high.act(observations, state, episode_start)


def _equal(one: LowLevel, other: LowLevel) -> bool:
    # As float32, as they are saved.
    return np.array_equal(
        one.get_vector().astype(np.float32), other.get_vector().astype(np.float32)
    )


def _latent_size(space: spaces.Space[Any]) -> int:
    shape = space.shape if isinstance(space, spaces.Box) else None
    if shape is None or len(shape) != 1 or shape[0] < 2:
        wanted = "Box (1 + L,), a duration and a latent command (control 'latent')"
        raise _checks.refuse("action_space", wanted, space)
    return shape[0] - 1


def _low_level(latent_size: int, steering: float | str | None) -> LowLevel:
    from iap_gym.envs.quadruped.control import STEERING_GAIN
    from iap_gym.envs.quadruped.low_level import LowLevel
    from iap_gym.envs.quadruped.navigation_steering import indoor_low_level

    if isinstance(steering, str):
        _checks.one_of("steering", steering, (INDOOR,))
        return indoor_low_level(latent_size)
    gain = STEERING_GAIN if steering is None else _checks.real("steering", steering)
    return LowLevel.steering(latent_size, gain)


def _seen(space: spaces.Space[Any], keys: Sequence[str] | None) -> spaces.Dict:
    if not isinstance(space, spaces.Dict):
        raise _checks.refuse("observation_space", "a Dict", space)
    if keys is None:
        keys = [key for key in space.spaces if key != PROPRIO]
    if isinstance(keys, str) or not keys or not set(keys) <= set(space.spaces):
        raise _checks.refuse("high_sees", f"some of {list(space.spaces)}", keys)
    return spaces.Dict({key: space.spaces[key] for key in cast("Sequence[str]", keys)})
