"""Observation wrappers that replace an image by its most important patches."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from iap_gym.attention import PatchSelector
from iap_gym.wrappers._encoding import ObservationEncoder


class IAPObservation(gymnasium.ObservationWrapper, RecordConstructorArgs):
    """Replaces the image of an observation by where its most important patches are.

    The observation is a flat float32 Box: the ``l`` selected patches, best first, and then the
    other keys of a Dict observation in the order of that space, flattened. Bounds are those of
    the parts: [0, 1] for centres and pixels, and each key's own.

    Args:
        env: its observation is an image, uint8 or float in [0, 1], of shape (H, W, C) or (H, W)
            (one channel); or a Dict that holds one.
        selector: a ``PatchSelector`` for images of that shape, which is used as it is, so that
            its weights may be set from outside; or a dict of its arguments without
            ``image_shape``, with which ``env.spec`` can be written as JSON.
        image_key: the image's key in a Dict; None finds the only key of three axes, or of two
            and uint8, or of two of at least 32 floats in [0, 1].
        features: per selected patch, "centers": its row and column as fractions of the image, 2l
            numbers; "patches": its pixels in [0, 1], lD numbers; "both": all centres, then all
            pixels.
        keep_dict: give a Dict instead: "attention" with the numbers above, and the other keys
            unchanged.

    Attributes:
        selector: the ``PatchSelector``.
        last_indices: int64 (l,), the patches of the last observation, best first; None before the
            first reset.

    Raises:
        ValueError: an argument is wrong, there is no image, or another key cannot be flattened.
    """

    # What env.spec names, so that building from a spec asks for torch as the package does.
    __module__ = "iap_gym.wrappers"

    def __init__(
        self,
        env: gymnasium.Env,
        selector: PatchSelector | dict[str, Any],
        image_key: str | None = None,
        features: str = "centers",
        keep_dict: bool = False,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, selector=selector, image_key=image_key, features=features, keep_dict=keep_dict
        )
        gymnasium.ObservationWrapper.__init__(self, env)
        self._encoder = ObservationEncoder(
            env.observation_space, selector, image_key, features, keep_dict
        )
        self.observation_space = self._encoder.space
        self.image_key = self._encoder.image_key

    @property
    def selector(self) -> PatchSelector:
        """The selector in use."""
        return self._encoder.selector

    @property
    def last_indices(self) -> np.ndarray | None:
        """The patches selected for the last observation, int64 (l,), best first; a copy."""
        indices = self._encoder.last_indices
        return None if indices is None else indices[0].copy()

    def observation(self, observation: Any) -> Any:
        """Encode one observation of the wrapped environment."""
        return self._encoder.encode_one(observation)


class VectorIAPObservation(VectorWrapper):
    """``IAPObservation`` for a vector environment: one call selects for the whole batch.

    With same-step autoreset the ``final_obs`` of ``info`` are encoded too.

    Args:
        env: a vector environment, with single observations as ``IAPObservation`` wants.
        selector: as for ``IAPObservation``.
        image_key: as for ``IAPObservation``.
        features: as for ``IAPObservation``.
        keep_dict: as for ``IAPObservation``.

    Attributes:
        selector: the ``PatchSelector``.
        last_indices: int64 (B, l), the patches of the last observations; None before a reset.

    Raises:
        ValueError: as ``IAPObservation``.
    """

    __module__ = "iap_gym.wrappers"

    def __init__(
        self,
        env: VectorEnv,
        selector: PatchSelector | dict[str, Any],
        image_key: str | None = None,
        features: str = "centers",
        keep_dict: bool = False,
    ) -> None:
        super().__init__(env)
        self._encoder = ObservationEncoder(
            env.single_observation_space, selector, image_key, features, keep_dict
        )
        self.single_observation_space = self._encoder.space
        self.observation_space = batch_space(self._encoder.space, self.num_envs)
        self.image_key = self._encoder.image_key

    @property
    def selector(self) -> PatchSelector:
        """The selector in use."""
        return self._encoder.selector

    @property
    def last_indices(self) -> np.ndarray | None:
        """The patches selected for the last observations, int64 (B, l), best first; a copy."""
        indices = self._encoder.last_indices
        return None if indices is None else indices.copy()

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments and encode their observations."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._encoder.encode(observations, self.num_envs), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all environments and encode their observations."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        if "final_obs" in infos:
            infos = {**infos, "final_obs": self._encode_final(infos["final_obs"])}
        # After the final ones, so that last_indices are those of what is returned.
        encoded = self._encoder.encode(observations, self.num_envs)
        return encoded, rewards, terminations, truncations, infos

    def _encode_final(self, final: np.ndarray) -> np.ndarray:
        encoded = np.full(len(final), None, dtype=object)
        for index, observation in enumerate(final):
            if observation is not None:
                encoded[index] = self._encoder.encode_one(observation)
        return encoded
