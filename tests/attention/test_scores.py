import mpmath
import numpy as np
import pytest
import torch

from iap_gym.attention import PatchSelector, importance
from tests.attention import naive

KERNELS = ("relu", "hybrid", "positive", "trigonometric", "softmax", "softmax_normalized")
SCALINGS = ("quarter", "unit", "patch")
SHAPE = (11, 14, 3)


def make(kernel, scaling="quarter", **options):
    options = {"num_selected": 4, "num_samples": 7, "num_sign_samples": 3, **options}
    return PatchSelector(
        options.pop("image_shape", SHAPE),
        options.pop("patch_size", (3, 2)),
        options.pop("stride", (2, 3)),
        kernel=kernel,
        input_scaling=scaling,
        **options,
    )


def random_images(batch=2, shape=SHAPE, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (batch, *shape), dtype=np.uint8)


def randomize(selector, seed=0):
    """Trained-looking numbers in every parameter, r of both signs included."""
    rng = np.random.default_rng(seed)
    selector.set_vector(rng.normal(size=selector.num_parameters).astype(np.float32))
    return selector


def magnify(selector, size):
    """Set the largest weight to ``size``."""
    with torch.no_grad():
        for weight in (selector.W_q, selector.W_k):
            weight.copy_((weight.double() / weight.abs().max() * size).float())
    return selector


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("trained", [False, True])
def test_scores_equal_the_naive_sum_over_all_pairs(kernel, scaling, trained):
    selector = make(kernel, scaling, bias=trained, learn_r=trained)
    if trained:
        randomize(selector)
    images = random_images()
    actual = selector.scores(images).detach().numpy()
    assert actual.dtype == np.float32
    assert actual.shape == (2, selector.num_patches)
    for image, row in zip(images, actual, strict=True):
        expected = naive.scores(selector, image).astype(np.float64)
        np.testing.assert_allclose(row, expected, rtol=2e-4, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_offset_is_subtracted_from_every_pixel(kernel):
    selector = make(kernel, pixel_offset=0.5)
    image = random_images(1)
    expected = naive.scores(selector, image[0]).astype(np.float64)
    actual = selector.scores(image)[0].detach().numpy()
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    plain = make(kernel).scores(image)[0].detach().numpy()
    assert np.abs(plain - actual).max() > 1e-2 * np.abs(plain).max()


@pytest.mark.parametrize("kernel", KERNELS)
def test_uint8_float_and_tensors_agree(kernel):
    selector = make(kernel)
    images = random_images()
    expected = selector.scores(images)
    for other in (
        images.astype(np.float32) / np.float32(255),
        images.astype(np.float64) / 255,
        torch.from_numpy(images),
        torch.from_numpy(images).double() / 255,
    ):
        torch.testing.assert_close(selector.scores(other), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel", ["hybrid", "positive", "trigonometric", "softmax"])
def test_true_values_up_to_the_range_of_float32(kernel):
    # The largest score is near exp(60): far beyond where exp(q·k) is summed carelessly, and yet
    # a float32, so that no factor may be taken out.
    selector = make(kernel)
    image = random_images(1)
    for _ in range(20):
        largest = max(abs(score) for score in naive.scores(selector, image[0]))
        if naive.logarithm(largest) > 60 or kernel == "positive":
            break
        with torch.no_grad():
            selector.W_q.mul_(1.3)
            selector.W_k.mul_(1.3)
    expected = naive.scores(selector, image[0])
    actual = selector.scores(image)[0].detach().numpy()
    ratios = [float(mpmath.mpf(float(a)) / e) for a, e in zip(actual, expected, strict=True)]
    assert np.median(np.abs(np.array(ratios) - 1)) < 1e-2
    best = int(np.argmax(np.abs(actual)))
    assert ratios[best] == pytest.approx(1, rel=2e-3)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e10, 3e38, 1e-20, 1e-44])
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_are_finite_and_rank_as_exact_arithmetic_does(kernel, scaling, size):
    selector = magnify(make(kernel, scaling), size)
    image = random_images(1)
    actual = selector.scores(image)[0].detach().numpy()
    assert np.isfinite(actual).all()
    assert np.abs(actual).max() > 0
    if kernel in ("hybrid", "trigonometric") and size > 1e7 and scaling != "unit":
        return  # phases are beyond the digits of float64 itself
    mpmath.mp.dps = 30
    expected = naive.relative(naive.scores(selector, image[0]))
    np.testing.assert_allclose(naive.relative(actual), expected, rtol=1e-2, atol=2e-4)
    # and so the best patch is the exact one, but for the near-ties of saturated softmax rows
    assert expected[np.argmax(actual)] == pytest.approx(expected.max(), rel=1e-3)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6, 1e10, 3e38])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_black_white_and_saturated_images(kernel, size, offset):
    selector = magnify(make(kernel, bias=True, learn_r=True, pixel_offset=offset), size)
    with torch.no_grad():
        selector.b_q.fill_(-size)
        selector.b_k.fill_(size)
        selector.r.fill_(-size)
    images = np.zeros((3, *SHAPE), np.uint8)
    images[1] = 255
    images[2, ::2] = 255
    scores = selector.scores(images)
    assert torch.isfinite(scores).all()
    assert selector.select(images)[0].tolist() == [0, 1, 2, 3]
    assert selector.select(images)[1].tolist() == [0, 1, 2, 3]


def test_relu_ranks_alike_at_every_scale_of_the_weights():
    images = random_images(3)
    selector = make("relu", num_selected=20)
    expected = selector.select(images)
    weights = selector.get_vector()
    for power in (-140, -100, -60, -20, 20, 60, 100, 120):
        selector.set_vector(np.ldexp(weights, power).astype(np.float32))
        if power == -140:  # subnormal weights have few digits left
            assert torch.equal(selector.select(images)[:, 0], expected[:, 0])
        else:
            assert torch.equal(selector.select(images), expected)


@pytest.mark.parametrize("kernel", ["hybrid", "trigonometric"])
def test_estimates_keep_their_negative_scores(kernel):
    selector = magnify(make(kernel, pixel_offset=0.5, num_samples=2), 3)
    image = random_images(1)
    actual = selector.scores(image)[0].detach().numpy()
    expected = naive.scores(selector, image[0]).astype(np.float64)
    assert (expected < 0).any()
    np.testing.assert_array_equal(np.sign(actual), np.sign(expected))


def test_large_queries_are_not_reweighted():
    # Two queries of very different length: with a maximum taken out of each query, or a constant
    # added to its features, the short one would count as much as the long one.
    selector = PatchSelector((1, 2, 2), (1, 1), num_selected=1, d_qk=2, kernel="positive")
    with torch.no_grad():
        selector.W_q.copy_(torch.tensor([[3.0, 0.0], [0.0, 0.1]]))
        selector.W_k.copy_(torch.eye(2))
    image = np.array([[[[1.0, 0.0], [0.0, 1.0]]]], dtype=np.float32)
    expected = naive.scores(selector, image[0]).astype(np.float64)
    np.testing.assert_allclose(selector.scores(image)[0].detach().numpy(), expected, rtol=1e-5)


def tile(shape, distinct, rng):
    """An image of horizontal bands: many patches that look exactly alike."""
    colors = rng.integers(0, 256, (distinct, shape[2]), dtype=np.uint8)
    image = np.empty(shape, np.uint8)
    image[:] = colors[np.arange(shape[0]) // 12 % distinct][:, None, :]
    return image


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [None, 1e3])
def test_patches_that_look_alike_score_exactly_alike(kernel, size):
    rng = np.random.default_rng(0)
    for trial in range(12):
        height, width = (int(side) for side in rng.integers(13, 90, 2))
        shape = (height, width, int(rng.integers(1, 5)))
        patch, stride = int(rng.integers(1, 8)), int(rng.integers(2, 8))
        d_qk = int(rng.integers(1, 9))
        selector = PatchSelector(
            shape, patch, stride, 1, d_qk=d_qk, kernel=kernel, seed=trial, pixel_offset=0.5
        )
        if size is not None:
            magnify(selector, size)
        images = np.stack([tile(shape, 1, rng), tile(shape, 3, rng)])
        for batch in (images, images.astype(np.float32) / 255):
            scores = selector.scores(batch).detach().numpy()
            everything = np.arange(selector.num_patches)[None].repeat(2, axis=0)
            pixels = selector.patches(batch, everything).numpy()
            for row, contents in zip(scores, pixels, strict=True):
                _, kind = np.unique(contents, axis=0, return_inverse=True)
                for label in range(kind.max() + 1):
                    assert len(np.unique(row[kind.ravel() == label])) == 1


@pytest.mark.parametrize("kernel", KERNELS)
def test_batches_and_single_images_agree(kernel, monkeypatch):
    selector = make(kernel)
    images = random_images(5)
    together = selector.scores(images)
    apart = torch.cat([selector.scores(images[i : i + 1]) for i in range(5)])
    torch.testing.assert_close(together, apart)
    # groups of images, blocks of pixels and blocks of the attention matrix change nothing
    monkeypatch.setattr("iap_gym.attention.selector.GROUP_PATCHES", 2 * selector.num_patches)
    monkeypatch.setattr("iap_gym.attention.patches.BLOCK_NUMBERS", 1)
    monkeypatch.setattr("iap_gym.attention.importance.BLOCK_NUMBERS", 1)
    torch.testing.assert_close(selector.scores(images), together)


@pytest.mark.parametrize("kernel", ["softmax", "softmax_normalized"])
def test_blocks_of_the_attention_matrix_change_nothing(kernel, monkeypatch):
    selector = make(kernel, image_shape=(20, 20, 1), patch_size=1, stride=1)
    image = random_images(1, (20, 20, 1))
    expected = selector.scores(image)
    monkeypatch.setattr(importance, "BLOCK_NUMBERS", 448 * 64)
    torch.testing.assert_close(selector.scores(image), expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_memory_is_linear_or_bounded(kernel):
    selector = PatchSelector((100, 100, 3), 2, kernel=kernel, backend="torch")
    image = random_images(1, (100, 100, 3))
    with torch.no_grad(), torch.profiler.profile(profile_memory=True) as profile:
        selector.scores(image)
    largest = max(event.cpu_memory_usage for event in profile.events()) / 4
    patches = selector.num_patches
    bound = importance.BLOCK_NUMBERS if kernel.startswith("softmax") else 15 * patches
    assert 4 * patches < largest <= 1.05 * bound < patches * 180  # 180: features of the hybrid


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_gradients_reach_every_trained_number(kernel, scaling):
    selector = randomize(make(kernel, scaling, bias=True, learn_r=True, seed=1), seed=1)
    with torch.no_grad():
        for parameter in selector.parameters():
            parameter.mul_(0.5)
    image = random_images(1)
    weights = torch.randn(selector.num_patches, generator=torch.Generator().manual_seed(0))
    (selector.scores(image)[0] @ weights).backward()
    for parameter in selector.parameters():
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        index = int(gradient.abs().argmax())
        before, points, values = flat[index].item(), [], []
        for step in (1e-4, -1e-4):  # so small that no sign of the hybrid kernel flips
            flat[index] = before + step
            points.append(flat[index].item())
            values.append(naive.scores(selector, image[0]) @ weights.double().numpy())
        flat[index] = before
        difference = float((values[0] - values[1]) / (points[0] - points[1]))
        assert gradient[index].item() == pytest.approx(difference, rel=2e-2, abs=1e-6)


def test_unit_scaling_has_no_nan_in_the_gradient_of_black_patches():
    selector = make("softmax", "unit")
    image = random_images(1)
    image[0, :6] = 0
    selector.scores(image).square().sum().backward()
    assert torch.isfinite(selector.W_q.grad).all()
    assert selector.W_q.grad.abs().max() > 0


@pytest.mark.parametrize("kernel", ["relu", "hybrid"])
def test_autocast_does_not_lower_the_precision(kernel):
    selector = make(kernel)
    image = random_images(1)
    expected = selector.scores(image)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(selector.scores(image), expected)


@pytest.mark.parametrize("name", ["W_q", "b_k", "r"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(name, value):
    selector = make("relu", bias=True, learn_r=True)
    with torch.no_grad():
        getattr(selector, name).view(-1)[0] = value
    with pytest.raises(ValueError, match="weights of the selector: expected finite numbers"):
        selector.scores(random_images(1))
