"""Images of observation spaces, and their channels told from their sides."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

from iap_gym.baselines.image_spaces import images_of, layout_of, parts_of
from iap_gym.baselines.minigrid import MiniGridFeatures, is_grid_view
from iap_gym.baselines.small_images import SmallImageExtractor, has_small_images

# (h, w, c): one picture, stacked ones, one-hot cells; more channels than a side has pixels too
SHAPES = [
    *((7, 7, 3), (7, 7, 20), (9, 9, 12), (12, 12, 9), (8, 10, 3), (20, 20, 24), (20, 20, 12)),
    *((30, 24, 12), (35, 35, 64), (36, 36, 40), (84, 84, 1), (84, 84, 12), (84, 84, 96)),
]


def image(shape, first):
    order = (shape[2], *shape[:2]) if first else shape
    return spaces.Box(0, 255, order, np.uint8)


@pytest.mark.parametrize("first", [False, True], ids=["last", "first"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_channels_are_told_from_sides_however_many_there_are(shape, first):
    space = image(shape, first)
    assert layout_of(space) == (*shape, first)
    rows, columns, channels = shape
    assert is_grid_view(space) == (min(rows, columns) >= 7 and max(rows, columns) <= 15)
    assert has_small_images(space) == (8 <= min(rows, columns) < 36)
    for network in (SmallImageExtractor, MiniGridFeatures):
        if min(rows, columns) == 7 and network is SmallImageExtractor:
            continue
        convolution = next(m for m in network(space).modules() if isinstance(m, nn.Conv2d))
        assert convolution.in_channels == channels


@pytest.mark.parametrize("network", [SmallImageExtractor, MiniGridFeatures])
@pytest.mark.parametrize("shape", SHAPES[2:8], ids=str)
def test_both_orders_of_the_axes_give_the_same_features(shape, network):
    last, first = network(image(shape, first=False)), network(image(shape, first=True))
    weights = dict(zip(first.state_dict(), last.state_dict().values(), strict=True))
    first.load_state_dict(weights)
    batch = torch.rand(3, *shape)
    assert torch.equal(last(batch), first(batch.permute(0, 3, 1, 2)))


def test_parts_are_the_entries_of_a_dict_or_the_space_itself():
    view, vector = image((7, 7, 3), first=False), spaces.Box(-1, 1, (3,))
    both = spaces.Dict(view=view, vector=vector)
    assert parts_of(both) == {"view": view, "vector": vector}
    assert images_of(parts_of(both)) == {"view": view}
    assert images_of(parts_of(view)) == {"": view}
    assert images_of(parts_of(vector)) == {}


def test_weights_of_another_order_of_the_axes_are_refused_even_if_not_strict():
    """Stable-Baselines3 loads what has missing names loosely, and would leave them random."""
    shape = (20, 20, 24)
    first, last = (SmallImageExtractor(image(shape, order)) for order in (True, False))
    whole = nn.Sequential(last)
    for model, arrays in ((last, first.state_dict()), (whole, nn.Sequential(first).state_dict())):
        with pytest.raises(RuntimeError, match="SmallImageExtractor: expected weights for images"):
            model.load_state_dict(arrays, strict=False)
    last.load_state_dict(SmallImageExtractor(image(shape, False)).state_dict())
    whole.load_state_dict({}, strict=False)  # there is nothing of it in there
