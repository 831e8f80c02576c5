"""The extractor for small images."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import preprocess_obs
from torch import nn

from iap_gym.baselines.small_images import SmallImageExtractor

VECTOR = spaces.Box(-np.inf, np.inf, (5,), np.float32)


def camera(*shape):
    return spaces.Box(0, 255, shape, np.uint8)


def batch_of(space, size=3):
    space.seed(0)
    samples = [space.sample() for _ in range(size)]
    if isinstance(space, spaces.Dict):
        stacked = {key: torch.as_tensor(np.stack([s[key] for s in samples])) for key in samples[0]}
        return preprocess_obs(stacked, space)
    return preprocess_obs(torch.as_tensor(np.stack(samples)), space)


@pytest.mark.parametrize(
    ("space", "images"),
    [
        (camera(8, 8, 3), 1),
        (camera(3, 32, 32), 1),
        (camera(9, 40, 1), 1),
        (spaces.Dict(camera=camera(32, 32, 3), proprio=VECTOR), 1),
        (spaces.Dict({"front.rgb": camera(3, 16, 16), "back": camera(3, 8, 8), "p": VECTOR}), 2),
        (spaces.Dict(depth=spaces.Box(0, 1, (33, 17, 1), np.float32), proprio=VECTOR), 1),
    ],
)
def test_features_have_the_size_that_is_announced(space, images):
    extractor = SmallImageExtractor(space, image_features=6)
    others = 5 if isinstance(space, spaces.Dict) else 0
    features = extractor(batch_of(space))
    assert extractor.features_dim == 6 * images + others
    assert features.shape == (3, extractor.features_dim)
    assert torch.isfinite(features).all()


def test_both_orders_of_the_axes_give_the_same_features():
    last = spaces.Dict(camera=camera(12, 10, 3), proprio=VECTOR)
    first = spaces.Dict(camera=camera(3, 12, 10), proprio=VECTOR)
    ours, other = SmallImageExtractor(last), SmallImageExtractor(first)
    pairs = zip(
        (m for m in ours.modules() if isinstance(m, nn.Conv2d | nn.Linear)),
        (m for m in other.modules() if isinstance(m, nn.Conv2d | nn.Linear)),
        strict=True,
    )
    for mine, theirs in pairs:
        theirs.load_state_dict(mine.state_dict())
    batch = batch_of(last)
    turned = {**batch, "camera": batch["camera"].permute(0, 3, 1, 2)}
    assert torch.equal(ours(batch), other(turned))
    assert torch.equal(ours(batch)[:, 128:], batch["proprio"])  # vectors come as they are


def test_every_pixel_counts():
    space = camera(11, 8, 3)
    torch.manual_seed(0)  # of the layers' initial weights
    extractor = SmallImageExtractor(space)
    image = batch_of(space).requires_grad_()
    (extractor(image) * torch.randn(extractor.features_dim)).sum().backward()
    assert (image.grad != 0).float().mean() > 0.99


@pytest.mark.parametrize(
    ("space", "wanted"),
    [
        (VECTOR, "an image"),
        (spaces.Dict(proprio=VECTOR), "an image"),
        (camera(7, 32, 3), "at least 8x8 pixels"),
    ],
)
def test_what_is_no_image_or_too_small_is_named(space, wanted):
    with pytest.raises(ValueError, match=f"observation_space: expected .*{wanted}"):
        SmallImageExtractor(space)


def test_number_of_features_is_checked():
    with pytest.raises(ValueError, match="image_features: expected an integer >= 1, got 0"):
        SmallImageExtractor(camera(8, 8, 3), image_features=0)
