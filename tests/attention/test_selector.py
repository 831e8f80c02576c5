import copy
import json
import pickle
import warnings

import numpy as np
import pytest
import torch

from iap_gym.attention import PatchSelector
from tests.attention import naive

# H, W, C, patch, stride: equal, overlapping, with gaps, not dividing, pairs, whole image, lists
GEOMETRIES = [
    ((8, 8, 3), 2, None),
    ((9, 7, 1), 3, 1),
    ((10, 11, 4), 2, 5),
    ((10, 13, 3), (4, 3), (3, 5)),
    ([6, 5, 2], [6, 5], None),
    ((5, 6, 3), 1, 1),
    ((7, 3, 1), (1, 2), (7, 1)),
]


def images_of(shape, batch=2, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (batch, *shape), dtype=np.uint8)


def everything(selector, batch=2):
    return torch.arange(selector.num_patches).expand(batch, -1)


@pytest.fixture
def selector():
    return PatchSelector((12, 10, 3), 2, num_selected=5)


@pytest.mark.parametrize(("shape", "patch", "stride"), GEOMETRIES)
def test_patches_equal_two_loops(shape, patch, stride):
    selector = PatchSelector(shape, patch, stride, num_selected=1)
    images = images_of(shape)
    expected = [naive.patches(image, selector.patch_size, selector.stride) for image in images]
    actual = selector.patches(images, everything(selector))
    assert actual.dtype == torch.float32
    assert actual.shape == (2, selector.num_patches, selector.patch_dim)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-6)
    floats = selector.patches(images.astype(np.float32) / 255, everything(selector))
    torch.testing.assert_close(floats, actual)
    rows, columns = selector.grid_shape
    assert rows * columns == selector.num_patches == len(expected[0])


@pytest.mark.parametrize(("shape", "patch", "stride"), GEOMETRIES)
def test_centers_are_those_of_the_pixels(shape, patch, stride):
    # An image of its own coordinates: the mean over a patch is its centre.
    height, width, _ = shape
    grid = np.stack(np.mgrid[0:height, 0:width], axis=-1) + 0.5
    coordinates = (grid / (height, width)).astype(np.float32)[None]
    selector = PatchSelector((height, width, 2), patch, stride, num_selected=1)
    pixels = selector.patches(coordinates, everything(selector, 1))
    expected = pixels.view(selector.num_patches, -1, 2).mean(1)
    centers = selector.centers(everything(selector, 1))
    assert centers.dtype == torch.float32
    torch.testing.assert_close(centers[0], expected)


def test_a_center_by_hand():
    selector = PatchSelector((96, 96, 3), 7, 4)
    assert selector.num_patches == 529  # Tang et al., 2020: (96 - 7) // 4 + 1 = 23 a side
    assert selector.patch_dim == 147
    center = selector.centers(np.array([[23 + 2]]))[0, 0]
    assert center.tolist() == pytest.approx([(1 * 4 + 3.5) / 96, (2 * 4 + 3.5) / 96])


def test_the_largest_setting_of_the_paper_has_19200_patches():
    assert PatchSelector((240, 320, 3), 2).num_patches == 19200


@pytest.mark.parametrize(
    "kernel", ["relu", "hybrid", "positive", "trigonometric", "softmax", "softmax_normalized"]
)
@pytest.mark.parametrize(("shape", "patch"), [((20, 30, 3), 2), ((80, 60, 1), 2)])
def test_selection_is_the_stable_argsort_of_the_scores(kernel, shape, patch):
    selector = PatchSelector(shape, patch, num_selected=12, kernel=kernel, pixel_offset=0.5)
    images = images_of(shape, 3) // 64 * 64  # few levels
    images[0] = images[0, 0, 0]
    scores = selector.scores(images).detach().numpy()
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :12]
    chosen = selector.select(images)
    assert chosen.dtype == torch.int64
    assert not chosen.requires_grad
    np.testing.assert_array_equal(chosen.numpy(), expected)
    assert chosen[0].tolist() == list(range(12))  # a uniform image: all tie
    assert torch.equal(selector(images), chosen)


def test_the_best_patch_is_the_one_that_stands_out():
    # One positive key direction: brightness. All patches but one are dark.
    selector = PatchSelector((8, 8, 1), 2, num_selected=2, d_qk=1)
    selector.set_vector(np.ones(selector.num_parameters))
    image = np.full((1, 8, 8, 1), 10, np.uint8)
    image[0, 4:6, 2:4] = 200
    assert selector.select(image).tolist() == [[9, 0]]


def test_array_layouts_give_equal_results_without_warnings(selector):
    images = images_of((12, 10, 3))
    expected = selector.select(images)
    read_only = images.copy()
    read_only.flags.writeable = False
    wide = np.zeros((2, 12, 20, 3), np.uint8)
    wide[:, :, ::2] = images
    layouts = [
        read_only,
        wide[:, :, ::2],
        images[:, ::-1, ::-1].copy()[:, ::-1, ::-1],  # negative strides, as renderers return
        np.asfortranarray(images),
        torch.from_numpy(images).permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for layout in layouts:
            assert torch.equal(selector.select(layout), expected)
    assert not read_only.flags.writeable


def test_inputs_and_vectors_are_copied_not_shared(selector):
    images = images_of((12, 10, 3))
    before = images.copy()
    selector.select(images)
    np.testing.assert_array_equal(images, before)
    vector = np.ones(selector.num_parameters, np.float32)
    selector.set_vector(vector)
    vector[:] = 7
    taken = selector.get_vector()
    assert (taken == 1).all()
    taken[:] = 3
    assert (selector.get_vector() == 1).all()


@pytest.mark.parametrize(("bias", "learn_r"), [(False, False), (True, False), (True, True)])
def test_the_vector_is_w_q_w_k_biases_r(bias, learn_r):
    selector = PatchSelector(
        (4, 6, 1), 2, num_selected=2, d_qk=3, bias=bias, learn_r=learn_r, kernel="hybrid"
    )
    count = 2 * 4 * 3 + 2 * 3 * bias + 6 * learn_r
    assert selector.num_parameters == count
    assert sum(p.numel() for p in selector.parameters()) == count
    vector = np.arange(count, dtype=np.float32)
    selector.set_vector(vector)
    np.testing.assert_array_equal(selector.get_vector(), vector)
    assert selector.get_vector().dtype == np.float32
    assert selector.W_q.tolist() == vector[:12].reshape(4, 3).tolist()
    assert selector.W_k.tolist() == vector[12:24].reshape(4, 3).tolist()
    if bias:
        assert selector.b_q.tolist() == [24, 25, 26]
        assert selector.b_k.tolist() == [27, 28, 29]
    if learn_r:
        assert selector.r.tolist() == list(range(30, 36))


def test_published_parameter_count():
    # AttentionAgent on CarRacing: 2 (147 · 4 + 4) = 1184 numbers of attention.
    assert PatchSelector((96, 96, 3), 7, 4, bias=True).num_parameters == 1184


def test_r_starts_at_one_and_biases_at_zero():
    images = images_of((12, 10, 3))
    plain = PatchSelector((12, 10, 3), 2).scores(images)
    both = PatchSelector((12, 10, 3), 2, bias=True, learn_r=True).scores(images)
    torch.testing.assert_close(plain, both)


def test_weights_start_with_variance_one_over_d():
    selector = PatchSelector((32, 32, 3), 16, num_selected=1, d_qk=64)
    for weight in (selector.W_q.data, selector.W_k.data):
        assert float(weight.var()) == pytest.approx(1 / 768, rel=0.05)
        assert abs(float(weight.mean())) < 4 / 768**0.5 / weight.numel() ** 0.5


def test_seeds_decide_weights_and_samples_and_nothing_global():
    before = torch.get_rng_state()
    make = lambda seed: PatchSelector((12, 10, 3), 2, kernel="hybrid", seed=seed)  # noqa: E731
    first, again, other = make(0), make(0), make(1)
    assert torch.equal(torch.get_rng_state(), before)
    for key, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[key])
        assert not torch.equal(value, other.state_dict()[key])


def test_the_state_dict_holds_trained_numbers_and_samples():
    options = {"bias": True, "learn_r": True, "kernel": "hybrid"}
    selector = PatchSelector((12, 10, 3), 2, **options)
    names = {"W_q", "W_k", "b_q", "b_k", "r", "features.omega", "features.xi"}
    assert set(selector.state_dict()) == names
    assert set(PatchSelector((12, 10, 3), 2).state_dict()) == {"W_q", "W_k"}
    other = PatchSelector((12, 10, 3), 2, **options, seed=5)
    images = images_of((12, 10, 3))
    assert not torch.equal(other.scores(images), selector.scores(images))
    other.load_state_dict(selector.state_dict())
    assert torch.equal(other.scores(images), selector.scores(images))
    # the vector has no samples: they stay when it is set
    other.set_vector(np.zeros(other.num_parameters))
    assert torch.equal(other.features.omega, selector.features.omega)


def test_copies_pickles_and_config_select_alike():
    selector = PatchSelector(
        [12, 10, 3], [2, 3], [1, 2], 3, kernel="hybrid", bias=True, seed=3, pixel_offset=0.5
    )
    images = images_of((12, 10, 3))
    expected = selector.scores(images)
    rebuilt = PatchSelector(**json.loads(json.dumps(selector.config)))
    for twin in (copy.deepcopy(selector), pickle.loads(pickle.dumps(selector)), rebuilt):
        assert torch.equal(twin.scores(images), expected)
        with torch.no_grad():
            twin.W_q.zero_()
    assert torch.equal(selector.scores(images), expected)
    assert rebuilt.config == selector.config


def test_it_moves_between_devices_and_types():
    selector = PatchSelector((12, 10, 3), 2, kernel="hybrid")
    images = images_of((12, 10, 3))
    expected = selector.scores(images)
    torch.testing.assert_close(copy.deepcopy(selector).double().scores(images), expected)
    moved = copy.deepcopy(selector).to("meta").to_empty(device="cpu")
    moved.load_state_dict(selector.state_dict())
    assert torch.equal(moved.scores(images), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_shape": (8, 8)}, r"image_shape: expected three integers \(H, W, C\)"),
        ({"image_shape": "abc"}, "image_shape"),
        ({"image_shape": 8}, "image_shape"),
        ({"image_shape": (8, 0, 3)}, r"image_shape\[1\]: expected an integer >= 1, got 0"),
        ({"image_shape": (8, 8, True)}, r"image_shape\[2\]"),
        ({"patch_size": 9}, r"patch_size: expected at most the image, \(8, 8\), got 9"),
        ({"patch_size": 0}, "patch_size"),
        ({"patch_size": (2, 2, 2)}, "patch_size"),
        ({"patch_size": 2.0}, "patch_size"),
        ({"patch_size": True}, "patch_size"),
        ({"stride": 0}, "stride: expected an integer >= 1, got 0"),
        ({"stride": (1, -1)}, r"stride\[1\]"),
        ({"num_selected": 17}, r"num_selected: expected an integer in \[1, 16\], got 17"),
        ({"num_selected": 0}, "num_selected"),
        ({"num_selected": True}, "num_selected"),
        ({"d_qk": 0}, "d_qk"),
        ({"d_qk": "4"}, "d_qk"),
        ({"kernel": "gelu"}, "kernel: expected one of 'relu', 'hybrid'.*got 'gelu'"),
        ({"num_samples": -1}, "num_samples"),
        ({"num_sign_samples": 0}, "num_sign_samples"),
        ({"input_scaling": "none"}, "input_scaling: expected one of 'quarter'.*got 'none'"),
        ({"bias": 1}, "bias: expected True or False, got 1"),
        ({"learn_r": None}, "learn_r"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"pixel_offset": float("nan")}, "pixel_offset"),
        ({"pixel_offset": "half"}, "pixel_offset"),
    ],
)
def test_bad_arguments_are_named(change, message):
    arguments = {"image_shape": (8, 8, 3), "patch_size": 2, **change}
    with pytest.raises(ValueError, match=message):
        PatchSelector(**arguments)


GOOD = np.zeros((1, 12, 10, 3), np.float32)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (GOOD[0], r"images: expected shape \(B, 12, 10, 3\) with B >= 1, got \(12, 10, 3\)"),
        (GOOD[:, :, :9], r"got \(1, 12, 9, 3\)"),
        (GOOD[..., :1], r"got \(1, 12, 10, 1\)"),
        (np.moveaxis(GOOD, -1, 1), r"got \(1, 3, 12, 10\)"),
        (GOOD[:0], r"got \(0, 12, 10, 3\)"),
        (GOOD.astype(np.int64), r"images: expected uint8, or floats in \[0, 1\], got .*int64"),
        (GOOD.astype(bool), "got .*bool"),
        (torch.zeros(1, 12, 10, 3, dtype=torch.int32), "got torch.int32"),
        (GOOD.tolist(), "expected a numpy array or a torch tensor, got 'list'"),
        (GOOD + np.float32("nan"), "expected finite floats.*got 'values from nan to nan'"),
        (GOOD + np.float32("inf"), "got 'values from inf to inf'"),
        (GOOD + 1.5, "got 'values from 1.5 to 1.5'"),
        (GOOD - 0.5, "got 'values from -0.5 to -0.5'"),
    ],
)
def test_bad_images_are_refused(selector, images, message):
    for method in (
        selector.scores,
        selector.select,
        lambda batch: selector.patches(batch, [[0]]),
    ):
        with pytest.raises(ValueError, match=message):
            method(images)


def test_one_bad_pixel_is_enough(selector):
    for value in (np.nan, np.inf, -np.inf, 1.001, -0.001):
        images = np.full((2, 12, 10, 3), 0.5)
        images[1, 11, 9, 2] = value
        with pytest.raises(ValueError, match="images"):
            selector.select(images)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[30]], r"indices: expected integers in \[0, 30\), got 'values from 30 to 30'"),
        ([[-1]], "got 'values from -1 to -1'"),
        ([[0.5]], "indices: expected integers, got torch.float"),
        ([[True]], "got torch.bool"),
    ],
)
def test_bad_indices_are_refused(selector, indices, message):
    with pytest.raises(ValueError, match=message):
        selector.centers(indices)
    with pytest.raises(ValueError, match=message):
        selector.patches(GOOD, indices)


def test_patches_want_indices_of_the_same_batch(selector):
    with pytest.raises(ValueError, match=r"indices: expected shape \(1, l\), got \(2, 1\)"):
        selector.patches(GOOD, [[0], [1]])
    with pytest.raises(ValueError, match=r"got \(1,\)"):
        selector.patches(GOOD, [0])


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (np.zeros(95), r"v: expected finite numbers of shape \(96,\), got \(95,\)"),
        (np.zeros(97), r"got \(97,\)"),
        (np.zeros((96, 1)), r"got \(96, 1\)"),
        (np.full(96, np.nan), "v: expected finite numbers"),
        (np.full(96, 1e300), "v: expected finite numbers"),
    ],
)
def test_bad_vectors_are_refused(selector, vector, message):
    before = selector.get_vector()
    with pytest.raises(ValueError, match=message):
        selector.set_vector(vector)
    np.testing.assert_array_equal(selector.get_vector(), before)
