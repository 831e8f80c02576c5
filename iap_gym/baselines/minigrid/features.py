"""The image network of the GateL0RD paper's MiniGrid agents."""

from __future__ import annotations

import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import get_flattened_obs_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.baselines.image_spaces import images_of, layout_of, parts_of

SMALLEST_VIEW = 7  # cells a side that leave one cell after the layers
LARGEST_VIEW = 15  # cells a side that are still taken for a grid and not for pixels


class MiniGridFeatures(BaseFeaturesExtractor):
    """Convolutions over MiniGrid's view of the grid; a features extractor of Stable-Baselines3.

    Gumbsch, Butz and Martius 2021, appendix B.6 and the published ``model.py``: convolution 2x2 to
    16 channels, ReLU, max-pooling 2x2, convolution 2x2 to 32, ReLU, convolution 2x2 to 64, ReLU;
    stride 1 and no padding. A view of h x w cells gives ``64 * ((h-1)//2 - 2) * ((w-1)//2 - 2)``
    features, 64 for the 7x7 of MiniGrid.

    It reads the integers of the image as they are. Set ``normalize_images=False`` in
    ``policy_kwargs``: Stable-Baselines3 would divide by 255 what is at most 10.

    Args:
        observation_space: an image, Box (h, w, c) or (c, h, w) (Stable-Baselines3 puts channels
            first), of at least 7x7 cells; or a Dict with one such image, whose other entries
            follow the features flattened, in the order of the Dict.

    Raises:
        ValueError: no image, more than one, or one that is smaller than 7x7.
    """

    def __init__(self, observation_space: spaces.Space) -> None:
        parts = parts_of(observation_space)
        images = images_of(parts)
        if len(images) != 1:
            wanted = "an image (h, w, c), or a Dict with one"
            raise _checks.refuse("observation_space", wanted, observation_space)
        ((key, image),) = images.items()
        del parts[key]
        rows, columns, channels, channels_first = layout_of(image)
        if min(rows, columns) < SMALLEST_VIEW:
            wanted = f"an image of at least {SMALLEST_VIEW}x{SMALLEST_VIEW} cells"
            raise _checks.refuse("observation_space", wanted, image)
        features = 64 * ((rows - 1) // 2 - 2) * ((columns - 1) // 2 - 2)
        flat = sum(get_flattened_obs_dim(part) for part in parts.values())
        super().__init__(observation_space, features + flat)
        self._image_key = key
        self._other_keys = tuple(parts)
        self._channels_first = channels_first
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, 16, kernel_size=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, kernel_size=2),
            nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=2),
            nn.ReLU(),
            nn.Flatten(),
        )

    def forward(self, observations: Tensor | dict[str, Tensor]) -> Tensor:
        """Map a batch of images (B, *space.shape), or a dict of batches, to (B, features_dim)."""
        if isinstance(observations, Tensor):
            return self._look(observations)
        others = [observations[key].flatten(start_dim=1) for key in self._other_keys]
        return torch.cat([self._look(observations[self._image_key]), *others], dim=1)

    def _look(self, image: Tensor) -> Tensor:
        return self.convolutions(image if self._channels_first else image.permute(0, 3, 1, 2))


def is_grid_view(observation_space: spaces.Space) -> bool:
    """Whether there is one image of 7 to 15 cells a side: too small to be anything but a grid.

    Args:
        observation_space: of an environment; an image, a Dict, or anything else.
    """
    images = [layout_of(image)[:2] for image in images_of(parts_of(observation_space)).values()]
    return len(images) == 1 and SMALLEST_VIEW <= min(images[0]) <= max(images[0]) <= LARGEST_VIEW
