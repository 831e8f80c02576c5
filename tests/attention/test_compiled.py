"""The compiled kernels against float64, and against torch on the same images."""

import multiprocessing
import threading
import tracemalloc

import numpy as np
import pytest
import torch

from iap_gym.attention import PatchSelector
from iap_gym.attention.backends import compiled_calls
from tests.attention import naive

pytest.importorskip("numba")

KERNELS = ("relu", "hybrid", "positive", "trigonometric")
SCALINGS = ("quarter", "unit", "patch")
# H, W, C, patch, stride: each step between patches that has an instruction of its own (1, 2, 3,
# 4, 6, 8 and 12 bytes) and others; overlaps, gaps, leftovers, one patch, fewer than a block, more.
GEOMETRIES = [
    ((9, 70, 1), 3, 1),
    ((6, 70, 2), 2, 1),
    ((70, 9, 3), 1, 1),
    ((21, 33, 4), (3, 2), 1),
    ((24, 50, 3), 2, 2),
    ((17, 40, 4), 2, 2),
    ((40, 61, 3), 7, 4),
    ((20, 40, 1), 5, (3, 5)),
    ((30, 31, 3), (1, 2), (4, 3)),
    ((12, 10, 3), 2, 2),
    ((6, 400, 3), (6, 400), None),
    ((5, 3, 1), (1, 3), 1),
    ((64, 64, 3), 32, 16),
]


def make(kernel, shape=(24, 50, 3), patch=2, stride=None, **options):
    options = {"num_selected": 1, "num_samples": 7, "num_sign_samples": 3, **options}
    return PatchSelector(shape, patch, stride, kernel=kernel, **options)


def images_of(shape, batch=2, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (batch, *shape), dtype=np.uint8)


def randomize(selector, seed=0, size=1.0):
    vector = np.random.default_rng(seed).normal(size=selector.num_parameters) * size
    selector.set_vector(vector.astype(np.float32))
    return selector


def compiled_scores(selector, images):
    """Scores by the kernels; fails where they leave the work to torch."""
    found = selector._compiled_scores(torch.as_tensor(images))
    assert found is not None
    return found[1]


def torch_twin(selector):
    twin = PatchSelector(**{**selector.config, "backend": "torch"})
    twin.load_state_dict(selector.state_dict())
    return twin


def exact_scores(selector, image):
    """Scores in float64 by the features themselves, in time linear in N."""
    queries, keys = (torch.from_numpy(z) for z in naive.queries_and_keys(selector, image))
    r = torch.ones(len(queries)) if selector.r is None else selector.r.detach()
    if selector.kernel == "relu":
        return (keys.relu() @ (r.double() @ queries.relu())).numpy()
    return (selector.features.key(keys) @ (r.double() @ selector.features.query(queries))).numpy()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("shape", "patch", "stride"), GEOMETRIES)
def test_scores_are_those_of_float64_at_every_step_between_patches(kernel, shape, patch, stride):
    selector = make(kernel, shape, patch, stride, pixel_offset=0.25)
    if selector.patch_dim > 1000:  # so that float32 would do for every image
        selector.set_vector(selector.get_vector() / 8)
    images = images_of(shape)
    actual = compiled_scores(selector, images)
    assert actual.dtype == np.float32
    assert actual.shape == (2, selector.num_patches)
    for image, row in zip(images, actual, strict=True):
        expected = exact_scores(selector, image)
        np.testing.assert_allclose(row, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("d_qk", [1, 3, 6, 16])
def test_scores_are_those_of_float64_for_every_scaling_and_size(kernel, scaling, d_qk):
    for trained in (False, True):
        selector = make(
            kernel,
            input_scaling=scaling,
            d_qk=d_qk,
            bias=trained,
            learn_r=trained,
            num_samples=d_qk,
        )
        if trained:
            randomize(selector, d_qk, 0.2)
        images = images_of((24, 50, 3))
        images[1, :8] = 0  # queries and keys of length 0
        for image, row in zip(images, compiled_scores(selector, images), strict=True):
            expected = exact_scores(selector, image)
            np.testing.assert_allclose(row, expected, atol=5e-5 * np.abs(expected).max())


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_are_exact_on_both_sides_of_where_torch_takes_over(kernel, scaling):
    # The naive sum has the range of mpmath, so that no side sets the standard.
    images = images_of((4, 6, 3), 2)
    images[1, :, :3] = 255
    used = []
    for size in (1e-12, 1e-6, *np.geomspace(0.2, 10, 40), 100, 1e4):
        selector = make(kernel, (4, 6, 3), input_scaling=scaling, pixel_offset=0.5, learn_r=True)
        randomize(selector, len(used), size)
        with torch.no_grad():
            selector.r.abs_().div_(selector.r.max()).mul_((1.0, 1e-3, 1e4)[len(used) % 3])
        for image in images:
            used.append(selector._compiled_scores(torch.as_tensor(image[None])) is not None)
            with torch.no_grad():
                actual = selector.scores(image[None])[0].numpy()
            assert np.isfinite(actual).all()
            expected = naive.relative(naive.scores(selector, image))
            np.testing.assert_allclose(naive.relative(actual), expected, atol=2e-4)
    assert any(used)
    if kernel != "relu" and scaling != "unit":
        assert not all(used)


def one_number(kernel, omega, weight, r=1.0):
    """Two patches of one pixel, d = m = 1, so that each exponent is known."""
    selector = make(kernel, (1, 2, 1), 1, d_qk=1, num_samples=1, num_sign_samples=1, learn_r=True)
    with torch.no_grad():
        selector.features.omega.fill_(omega)
        selector.W_q.fill_(weight)
        selector.W_k.fill_(weight)
        selector.r.fill_(r)
    return selector


@pytest.mark.parametrize(
    ("kernel", "omega", "weight", "r", "compiled"),
    [
        # w·z - |z|²/2 of both: -48 and -120; exp(-120) is no float32
        ("positive", 1.0, -6.0, 1.0, True),
        ("positive", 1.0, -10.0, 1.0, False),
        # (|q|² + |k|²)/2 is 64 and 81; exp(81) is a float32, but r times as much is not
        ("trigonometric", 1e-3, 8.0, 1.0, True),
        ("trigonometric", 1e-3, 8.8, 1e6, False),
        ("trigonometric", 1e-3, 8.0, 1e-3, True),
        ("hybrid", 1e-3, 8.0, 1.0, True),
        ("hybrid", 1e-3, 8.8, 1e6, False),
        # a phase of 4000, of which float32 keeps three digits behind the point
        ("trigonometric", 1e3, 4.0, 1.0, False),
    ],
)
def test_what_float32_cannot_hold_is_left_to_torch(kernel, omega, weight, r, compiled):
    selector = one_number(kernel, omega, weight, r)
    image = np.array([[[[255], [254]]]], np.uint8)
    assert (selector._compiled_scores(torch.as_tensor(image)) is not None) == compiled
    with torch.no_grad():
        actual = selector.scores(image)[0].numpy()
    assert np.isfinite(actual).all()
    expected = naive.relative(naive.scores(selector, image[0]))
    np.testing.assert_allclose(naive.relative(actual), expected, rtol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_patches_that_look_alike_score_exactly_alike(kernel, scaling):
    rng = np.random.default_rng(0)
    for trial in range(8):
        height, width = (int(side) for side in rng.integers(13, 90, 2))
        channels, patch, stride = (int(size) for size in rng.integers(1, 6, 3))
        selector = make(
            kernel,
            (height, width, channels),
            patch,
            stride,
            seed=trial,
            d_qk=int(rng.integers(1, 9)),
            input_scaling=scaling,
            pixel_offset=0.5,
        )
        images = np.empty((2, height, width, channels), np.uint8)
        colors = rng.integers(0, 256, (3, channels))
        images[0] = colors[0]
        images[1] = colors[np.arange(height) // 12 % 3][:, None, :]
        scores = compiled_scores(selector, images)
        everything = np.arange(selector.num_patches)[None].repeat(2, axis=0)
        for row, contents in zip(scores, selector.patches(images, everything), strict=True):
            _, kind = np.unique(contents.numpy(), axis=0, return_inverse=True)
            for label in range(kind.max() + 1):
                assert len(np.unique(row[kind.ravel() == label])) == 1


def pictures(height, width):
    from skimage import data, transform

    names = ("astronaut", "coffee", "chelsea")
    shapes = [transform.resize(getattr(data, name)(), (height, width)) for name in names]
    return (np.stack(shapes) * 255).astype(np.uint8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_real_pictures_select_as_torch_does_but_for_near_ties(kernel):
    pytest.importorskip("skimage")
    images = pictures(240, 320)
    different = 0
    for seed in range(2):
        selector = PatchSelector((240, 320, 3), 2, kernel=kernel, seed=seed, pixel_offset=0.5)
        compiled_scores(selector, images[:1])
        chosen, expected = selector.select(images), torch_twin(selector).select(images)
        for image, ours, theirs in zip(images, chosen, expected, strict=True):
            if torch.equal(ours, theirs):
                continue
            different += 1
            # A place of the list may go to another patch whose exact score is as good. The sum
            # over 19200 queries, of both signs, is rounded to about 1e-5 of the largest score.
            scores = exact_scores(selector, image)
            gap = np.abs(scores[ours.numpy()] - scores[theirs.numpy()])
            assert gap.max() <= 2e-5 * np.abs(scores).max()
    assert different <= 1  # of 6


@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_of_a_real_picture_equal_those_of_torch(kernel):
    pytest.importorskip("skimage")
    images = pictures(240, 320)
    selector = PatchSelector((240, 320, 3), 2, kernel=kernel, pixel_offset=0.5)
    expected = torch_twin(selector).scores(images).detach().numpy()
    error = np.abs(compiled_scores(selector, images) - expected) / np.abs(expected).max()
    # xi · z may round to the other side of 0 in a patch, whose hybrid score then jumps.
    assert (error > 2e-5).sum() <= (2 if kernel == "hybrid" else 0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("count", [1, 12, 64, 65, 300])
def test_selection_is_the_stable_argsort_of_the_scores(kernel, count):
    selector = make(kernel, num_selected=count, pixel_offset=0.5)
    images = images_of((24, 50, 3), 3) // 64 * 64
    images[0] = images[0, 0, 0]
    with torch.no_grad():
        scores = selector.scores(images).numpy()
    np.testing.assert_array_equal(scores, compiled_scores(selector, images))
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    chosen = selector.select(images)
    assert chosen.dtype == torch.int64
    np.testing.assert_array_equal(chosen.numpy(), expected)


@pytest.mark.parametrize("columns", [1, 63, 64, 65, 4000])
@pytest.mark.parametrize("levels", [1, 3, 40, None])
def test_the_best_equal_a_stable_descending_argsort(columns, levels):
    rng = np.random.default_rng(columns)
    for count in {1, min(10, columns), min(64, columns)}:
        scores = rng.normal(size=(6, columns)).astype(np.float32)
        if levels is not None:
            scores = rng.integers(-levels, levels, size=(6, columns)).astype(np.float32)
            scores[0] = -0.0
            scores[0, ::2] = 0.0
        scores[1].sort()  # each one enters the list
        expected = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        np.testing.assert_array_equal(compiled_calls().best(scores, count).numpy(), expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_batches_and_single_images_agree(kernel):
    selector = make(kernel, (40, 61, 3), 3, 2)
    images = images_of((40, 61, 3), 5)
    apart = [compiled_scores(selector, images[i : i + 1]) for i in range(5)]
    np.testing.assert_array_equal(compiled_scores(selector, images), np.concatenate(apart))


@pytest.mark.parametrize("kernel", KERNELS)
def test_memory_is_linear_in_the_patches(kernel):
    peaks = []
    for side in (100, 400):
        selector = PatchSelector((side, side, 3), 2, kernel=kernel)
        images = images_of((side, side, 3), 1)
        compiled_scores(selector, images)
        tracemalloc.start()
        selector.select(images)
        peaks.append(tracemalloc.get_traced_memory()[1] / 4)
        tracemalloc.stop()
    patches = (200**2, 50**2)
    slope = (peaks[1] - peaks[0]) / (patches[0] - patches[1])
    assert 4.9 < slope < 5.5  # d = 4 numbers of a key, and a score


def test_gradients_come_from_torch_and_only_when_wanted():
    selector = make("hybrid")
    images = images_of((24, 50, 3))
    expected = torch_twin(selector).scores(images)
    actual = selector.scores(images)
    assert torch.equal(actual, expected)
    actual.sum().backward()
    assert selector.W_q.grad.abs().max() > 0
    with torch.no_grad():
        assert not torch.equal(selector.scores(images), expected)
    selector.requires_grad_(False)
    assert not selector.scores(images).requires_grad
    assert not torch.equal(selector.scores(images), expected)


@pytest.mark.parametrize("kernel", ["softmax", "softmax_normalized"])
def test_other_kernels_images_and_types_are_left_to_torch(kernel):
    images = images_of((24, 50, 3))
    assert make(kernel)._compiled_scores(torch.as_tensor(images)) is None
    selector = make("relu", backend="numba")
    assert selector._compiled_scores(torch.as_tensor(images)) is not None
    assert selector._compiled_scores(torch.as_tensor(images) / 255) is None
    expected = selector.select(images)
    assert torch.equal(selector.select(images / 255), expected)
    selector.double()
    assert selector._compiled_scores(torch.as_tensor(images)) is None
    assert torch.equal(selector.select(images), expected)


@pytest.mark.parametrize("name", ["W_q", "b_k", "r"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(name, value):
    selector = make("relu", bias=True, learn_r=True)
    with torch.no_grad():
        getattr(selector, name).view(-1)[0] = value
    with pytest.raises(ValueError, match="weights of the selector: expected finite numbers"):
        selector.select(images_of((24, 50, 3)))


def test_weights_are_read_anew_at_every_call():
    selector = make("relu", num_selected=5)
    images = images_of((24, 50, 3))
    before = selector.select(images)
    selector.W_k.data.neg_()
    after = selector.select(images)
    assert not torch.equal(before, after)
    assert torch.equal(after, torch_twin(selector).select(images))


def test_threads_do_not_share_memory():
    # The kernels release the interpreter lock.
    selectors = [make(kernel, (100, 100, 3), seed=seed) for kernel in KERNELS for seed in range(2)]
    images = images_of((100, 100, 3), 1)
    expected = [compiled_scores(selector, images) for selector in selectors]
    failures = []

    def work(selector, right):
        for _ in range(30):
            if not np.array_equal(compiled_scores(selector, images), right):
                failures.append(selector.kernel)

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(selectors, expected, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def _select_in_child(queue, selector, images):
    queue.put(selector.select(images).tolist())


def test_forked_processes_select_alike():
    selector = make("hybrid", num_selected=5)
    images = images_of((24, 50, 3))
    expected = selector.select(images).tolist()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_select_in_child, args=(queue, selector, images))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(timeout=60)
    assert child.exitcode == 0
