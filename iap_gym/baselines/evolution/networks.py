"""The policies of one network: what lies between the features and the actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium import spaces

from iap_gym import _checks
from iap_gym.baselines.evolution.controllers import Controller, FeedForward, Lstm
from iap_gym.baselines.evolution.convolution import ConvolutionFeatures
from iap_gym.baselines.evolution.features import (
    Features,
    VectorFeatures,
    has_image,
    is_table,
)
from iap_gym.baselines.evolution.image_features import (
    DEFAULT_SELECTOR,
    PLACES,
    VELOCITIES,
    ImageFeatures,
)
from iap_gym.baselines.evolution.network_policy import NetworkPolicy


class AttentionPolicy(NetworkPolicy):
    """A controller of the patches that attention selects, or of plain numbers.

    An image (Box (H, W, C) or gray (H, W), uint8 or float in [0, 1], alone or in a Dict) is read
    through a ``PatchSelector``: the controller gets the places of the selected patches, their
    change since the last frame, and the other entries of the Dict (see ``ImageFeatures``). A Box
    without image, or a Dict of such, goes to the controller as it is; ``velocity`` and
    ``velocity_gain`` are then without effect. Floats (H, W) in [0, 1] are an image from 32x32
    on, smaller ones where ``selector`` or ``image_key`` says so;
    ``gymnasium.wrappers.FlattenObservation`` makes plain numbers of one.

    Args:
        observation_space: Box of at most three axes, another space that Gymnasium flattens and
            that has no spaces inside, or a Dict of such.
        action_space: see ``NetworkPolicy``.
        selector: arguments of ``PatchSelector`` without the image's shape, over the defaults
            ``patch_size=4, num_selected=10, d_qk=4, kernel="relu", pixel_offset=0.5``.
        image_key: which image of a Dict; None where there is one only.
        velocity: "previous" adds the change of the selected places, None does not.
        velocity_gain: factor on that change.
        places: "unit", places are fractions of the image, or "signed", from -1 to 1 with 0 in its
            middle: what a linear map is searched for more easily where left and right are alike.
        selector_seed: seed of the selector's first weights and random features where
            ``selector`` has none.
        vector_scale: factors on the numbers of the observation that are no image, in the order in
            which Gymnasium flattens them, one for each or one for all; None is 1. A search moves
            all weights alike, so numbers should be of about the size of 1.
        squash: see ``NetworkPolicy``.

    Raises:
        ValueError: spaces or arguments outside what is said above.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        selector: Mapping[str, Any] | None = None,
        image_key: str | None = None,
        velocity: str | None = None,
        velocity_gain: float = 5.0,
        places: str = "unit",
        selector_seed: int = 0,
        vector_scale: float | Sequence[float] | None = None,
        squash: str = "tanh",
    ) -> None:
        if selector is not None and not isinstance(selector, Mapping):
            raise _checks.refuse("selector", "a dict of arguments of PatchSelector", selector)
        _checks.one_of("velocity", velocity, VELOCITIES)
        _checks.real("velocity_gain", velocity_gain)
        _checks.one_of("places", places, PLACES)
        features: Features
        named = image_key is not None and isinstance(observation_space, spaces.Dict)
        named = named or (selector is not None and is_table(observation_space))
        if named or has_image(observation_space):
            arguments = {"seed": selector_seed, **DEFAULT_SELECTOR, **(selector or {})}
            features = ImageFeatures(
                observation_space,
                image_key,
                arguments,
                velocity,
                velocity_gain,
                places,
                vector_scale,
            )
        elif selector is not None or image_key is not None:
            raise _checks.refuse(
                "selector" if image_key is None else "image_key",
                "an observation with an image: Box (H, W, C) or (H, W), uint8 or float in [0, 1]",
                observation_space,
            )
        else:
            features = VectorFeatures(observation_space, vector_scale)
        super().__init__(observation_space, action_space, features, squash=squash)


class LinearPolicy(AttentionPolicy):
    """A linear map of the features, with the velocity of the selected places among them."""

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        velocity: str | None = "previous",
        **kwargs: Any,
    ) -> None:
        super().__init__(observation_space, action_space, velocity=velocity, **kwargs)

    def _make_controller(self, inputs: int, outputs: int) -> Controller:
        return FeedForward(inputs, outputs)


class MlpPolicy(AttentionPolicy):
    """A tanh network of the features, with the velocity of the selected places among them.

    Args:
        observation_space: see ``AttentionPolicy``, as all others.
        action_space: see there.
        hidden_size: units of the hidden layer, or a list for several layers.
        velocity: see there.
        **kwargs: see there.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        hidden_size: int | Sequence[int] = 16,
        velocity: str | None = "previous",
        **kwargs: Any,
    ) -> None:
        sizes = [hidden_size] if isinstance(hidden_size, int) else list(hidden_size)
        self._hidden_sizes = [_checks.integer("hidden_size", size, 1) for size in sizes]
        super().__init__(observation_space, action_space, velocity=velocity, **kwargs)

    def _make_controller(self, inputs: int, outputs: int) -> Controller:
        return FeedForward(inputs, outputs, self._hidden_sizes)


class LstmPolicy(AttentionPolicy):
    """An LSTM over the features; it can find velocities itself, so none are among them.

    Args:
        observation_space: see ``AttentionPolicy``, as all others.
        action_space: see there.
        hidden_size: units of the LSTM.
        two_biases: two biases for its gates, as torch has; the functions are the same.
        **kwargs: see there.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        hidden_size: int = 16,
        two_biases: bool = False,
        **kwargs: Any,
    ) -> None:
        self._hidden_size = _checks.integer("hidden_size", hidden_size, 1)
        self._two_biases = _checks.boolean("two_biases", two_biases)
        super().__init__(observation_space, action_space, **kwargs)

    def _make_controller(self, inputs: int, outputs: int) -> Controller:
        return Lstm(inputs, outputs, self._hidden_size, self._two_biases)


class CnnPolicy(NetworkPolicy):
    """Convolutions over the whole image where the others attend to patches; then a linear map.

    What the IAP paper compares its attention with: three convolutions, pooling, a fully connected
    layer with tanh to few features, a fully connected layer to the outputs. Its sizes are lost;
    these defaults suit 32x32 images.

    Args:
        observation_space: an image, or a Dict with one; other entries join the features.
        action_space: see ``NetworkPolicy``.
        image_key: which image of a Dict; None where there is one only.
        channels: outputs of each convolution.
        kernel_sizes: sides of the kernels, one for each convolution or one for all.
        strides: of the convolutions, one for each or one for all.
        pool_size: side of the pooling windows.
        pool_stride: their stride.
        feature_size: outputs of the layer with tanh.
        vector_scale: see ``AttentionPolicy``.
        squash: see ``NetworkPolicy``.

    Raises:
        ValueError: arguments outside what is said above, or layers that leave nothing of the image.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        image_key: str | None = None,
        channels: Sequence[int] = (16, 24, 16),
        kernel_sizes: int | Sequence[int] = 3,
        strides: int | Sequence[int] = (2, 2, 1),
        pool_size: int = 2,
        pool_stride: int = 2,
        feature_size: int = 8,
        vector_scale: float | Sequence[float] | None = None,
        squash: str = "tanh",
    ) -> None:
        features = ConvolutionFeatures(
            observation_space,
            image_key,
            channels,
            kernel_sizes,
            strides,
            pool_size,
            pool_stride,
            feature_size,
            vector_scale,
        )
        super().__init__(observation_space, action_space, features, squash=squash)

    def _make_controller(self, inputs: int, outputs: int) -> Controller:
        return FeedForward(inputs, outputs)


NETWORKS: dict[str, type[NetworkPolicy]] = {
    policy.__name__: policy for policy in (LinearPolicy, MlpPolicy, LstmPolicy, CnnPolicy)
}
