"""The heat map against scores put in place by hand."""

import numpy as np
import pytest
import torch

from iap_gym.attention import PatchSelector
from iap_gym.wrappers import score_map
from iap_gym.wrappers.heat_map import COLORS, UNREACHED

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (12, 18, 3), np.uint8)


def brightness(picture):
    # Colours rise in the sum of their channels, so that it tells which of two scores is higher.
    return picture.astype(int).sum(axis=-1)


@pytest.mark.parametrize("scale", ["linear", "rank"])
def test_order_of_colours_is_the_order_of_scores(scale):
    selector = PatchSelector((12, 18, 3), patch_size=3)
    scores = selector.scores(IMAGE[None])[0].detach().numpy().reshape(4, 6)
    heat = brightness(score_map(selector, IMAGE, scale=scale)).reshape(4, 3, 6, 3)
    assert (heat == heat[:, :1, :, :1]).all(), "a patch has one colour"
    found = heat[:, 0, :, 0].ravel()
    # Rounding to colours of 256 steps may make neighbours equal, never swap them.
    assert (np.diff(found[np.argsort(scores.ravel())]) >= 0).all()
    top, bottom = (
        np.unravel_index(scores.argmax(), (4, 6)),
        np.unravel_index(scores.argmin(), (4, 6)),
    )
    picture = score_map(selector, IMAGE, scale=scale)
    np.testing.assert_array_equal(picture[top[0] * 3, top[1] * 3], COLORS[-1])
    np.testing.assert_array_equal(picture[bottom[0] * 3, bottom[1] * 3], COLORS[0])


def test_linear_scale_is_linear():
    selector = PatchSelector((12, 18, 3), patch_size=3)
    scores = selector.scores(IMAGE[None])[0].detach().numpy().astype(float)
    heat = (scores - scores.min()) / np.ptp(scores)
    steps = np.arange(len(COLORS)) / (len(COLORS) - 1)
    wanted = np.stack([np.interp(heat, steps, channel) for channel in COLORS.T], axis=-1)
    picture = score_map(selector, IMAGE)[1::3, 1::3].reshape(-1, 3)
    np.testing.assert_allclose(picture, wanted, atol=0.51)


def test_overlapping_patches_are_averaged_and_gaps_are_gray():
    overlapping = PatchSelector((12, 18, 3), patch_size=4, stride=1)
    assert not (score_map(overlapping, IMAGE) == UNREACHED).all(axis=-1).any()
    gaps = PatchSelector((12, 18, 3), patch_size=2, stride=6, num_selected=3)
    covered = np.zeros((12, 18), bool)
    for row in range(0, 12, 6):
        for column in range(0, 18, 6):
            covered[row : row + 2, column : column + 2] = True
    np.testing.assert_array_equal((score_map(gaps, IMAGE) == UNREACHED).all(axis=-1), ~covered)


def test_size_enlarges_by_repetition():
    selector = PatchSelector((12, 18, 3), patch_size=3)
    small, large = score_map(selector, IMAGE), score_map(selector, IMAGE, size=(36, 54))
    np.testing.assert_array_equal(large, small.repeat(3, axis=0).repeat(3, axis=1))


def test_gray_image_needs_no_channel():
    selector = PatchSelector((12, 18, 1), patch_size=3)
    gray = IMAGE[..., 0]
    np.testing.assert_array_equal(score_map(selector, gray), score_map(selector, gray[..., None]))


def test_uniform_image_is_uniform():
    picture = score_map(
        PatchSelector((12, 18, 3), patch_size=3), np.full((12, 18, 3), 90, np.uint8)
    )
    assert (picture == picture[0, 0]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": "log"}, "scale: expected one of 'linear', 'rank', got 'log'"),
        ({"size": (0, 3)}, r"size\[0\]: expected an integer >= 1"),
        ({"image": IMAGE[:6]}, r"image: expected shape \(12, 18, 3\), got \(6, 18, 3\)"),
        ({"size": "large"}, "size: expected"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    selector = PatchSelector((12, 18, 3), patch_size=3)
    with pytest.raises(ValueError, match=message):
        score_map(selector, **{"image": IMAGE, **arguments})


def test_it_computes_without_gradients(monkeypatch):
    """Which would keep all that the scores are made of."""
    seen = []
    selector = PatchSelector((12, 16, 3), patch_size=4, num_selected=2)
    scores = selector.scores
    monkeypatch.setattr(
        selector, "scores", lambda images: seen.append(torch.is_grad_enabled()) or scores(images)
    )
    score_map(selector, np.zeros((12, 16, 3), np.uint8))
    assert seen == [False]
