"""A features extractor of Stable-Baselines3 for images too small for its own network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import get_flattened_obs_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.baselines.image_spaces import images_of, layout_of, parts_of

SMALLEST_SIDE = 8  # pixels
NATURE_CNN_SIDE = 36  # pixels, the least that Stable-Baselines3's own network takes


class SmallImageExtractor(BaseFeaturesExtractor):
    """Convolutions over each image, the other entries of a Dict beside their features.

    Stable-Baselines3's own network (``NatureCNN``) needs images of 36x36 pixels. This one takes 8x8
    and more, such as the camera of the quadruped::

        settings = {"features_extractor_class": SmallImageExtractor}
        PPO("MultiInputPolicy", env, policy_kwargs=settings)

    An image passes three convolutions 3x3 with stride 2 and a frame of one zero, each followed by
    ReLU, to 16, 32 and 32 channels, and one layer with ReLU to ``image_features`` numbers. An image
    is every part of three dimensions: uint8, which the policy divides by 255, or float as it is.

    Args:
        observation_space: Box (h, w, c) or (c, h, w), told apart as ``layout_of`` says, or a Dict
            with at least one such Box.
        image_features: numbers for each image.

    Raises:
        ValueError: no image, or one with a side below 8 pixels.
    """

    def __init__(self, observation_space: spaces.Space, image_features: int = 128) -> None:
        _checks.integer("image_features", image_features, 1)
        parts = parts_of(observation_space)
        images = images_of(parts)
        if not images:
            wanted = "an image (h, w, c), or a Dict with one"
            raise _checks.refuse("observation_space", wanted, observation_space)
        self._other_keys = tuple(key for key in parts if key not in images)
        others = sum(get_flattened_obs_dim(parts[key]) for key in self._other_keys)
        super().__init__(observation_space, len(images) * image_features + others)
        # A module's name holds no dot and is not empty, a key may: they are numbered.
        self._image_keys = tuple(images)
        self.networks = nn.ModuleList(_network(image, image_features) for image in images.values())
        self.register_load_state_dict_pre_hook(_refuse_another_layout)

    def forward(self, observations: Tensor | dict[str, Tensor]) -> Tensor:
        """Map a batch (B, *space.shape), or a dict of batches, to (B, features_dim)."""
        batches = {"": observations} if isinstance(observations, Tensor) else observations
        features = [
            network(batches[key])
            for key, network in zip(self._image_keys, self.networks, strict=True)
        ]
        features += [batches[key].flatten(start_dim=1) for key in self._other_keys]
        return torch.cat(features, dim=1)


def has_small_images(observation_space: spaces.Space) -> bool:
    """Whether this network fits and Stable-Baselines3's own does not.

    Args:
        observation_space: of an environment; an image, a Dict, or anything else.
    """
    images = images_of(parts_of(observation_space)).values()
    sides = [min(layout_of(image)[:2]) for image in images]
    return bool(sides) and SMALLEST_SIDE <= min(sides) < NATURE_CNN_SIDE


def _refuse_another_layout(
    module: nn.Module, arrays: Mapping[str, Any], prefix: str, *rest: Any
) -> None:
    """Refuse weights of other layers, which Stable-Baselines3 would leave out with a warning."""
    came = {name.removeprefix(prefix) for name in arrays if name.startswith(prefix)}
    if came and came != module.state_dict().keys():
        wanted = "weights for images with their channels where these have them"
        errors: list[str] = rest[-1]
        errors.append(f"SmallImageExtractor: expected {wanted}, got those of another order")


class _ChannelsFirst(nn.Module):
    def forward(self, image: Tensor) -> Tensor:
        return image.permute(0, 3, 1, 2)


def _network(image: spaces.Box, image_features: int) -> nn.Sequential:
    rows, columns, channels, channels_first = layout_of(image)
    if min(rows, columns) < SMALLEST_SIDE:
        wanted = f"images of at least {SMALLEST_SIDE}x{SMALLEST_SIDE} pixels"
        raise _checks.refuse("observation_space", wanted, image)
    layers: list[nn.Module] = [] if channels_first else [_ChannelsFirst()]
    for size in (16, 32, 32):
        layers += [nn.Conv2d(channels, size, kernel_size=3, stride=2, padding=1), nn.ReLU()]
        channels, rows, columns = size, (rows + 1) // 2, (columns + 1) // 2
    flat = channels * rows * columns
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(flat, image_features), nn.ReLU())
