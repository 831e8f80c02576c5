import copy
import math

import pytest
import torch

from iap_gym.attention import (
    AngularFeatures,
    GeneralizedRandomFeatures,
    HybridFeatures,
    PositiveFeatures,
    RandomFourierFeatures,
    ReLUFeatures,
    SmoothedRandomFourierFeatures,
    TrigonometricFeatures,
)

DIM = 4


def make(name, orthogonal=True, generator=None):
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    options = {"orthogonal": orthogonal, "generator": generator}
    return {
        "positive": lambda: PositiveFeatures(DIM, 6, **options),
        "symmetric": lambda: PositiveFeatures(DIM, 6, symmetric=True, **options),
        "trigonometric": lambda: TrigonometricFeatures(DIM, 6, **options),
        "hybrid": lambda: HybridFeatures(DIM, 6, 5, **options),
        "angular": lambda: AngularFeatures(DIM, 6, **options),
        "generalized": lambda: GeneralizedRandomFeatures(DIM, 6, "relu", **options),
        "fourier": lambda: RandomFourierFeatures(DIM, 7, **options),
        "smoothed": lambda: SmoothedRandomFourierFeatures(DIM, 7, **options),
    }[name]()


RANDOM = (
    *("positive", "symmetric", "trigonometric", "hybrid"),
    *("angular", "generalized", "fourier", "smoothed"),
)


@pytest.fixture(scope="module")
def pairs():
    """Pairs x, y (P, DIM) with angles from 0 to pi and lengths that differ."""
    e = torch.eye(DIM, dtype=torch.float64)
    x = torch.stack([0.8 * e[0], 0.8 * e[0], 0.8 * e[-1], 0.5 * e.sum(0) / 2, e[0], e[1], e[2]])
    y = torch.stack(
        [0.8 * e[0], -0.8 * e[0], 0.8 * e[-1], 0.5 * e.sum(0) / 2, 0.5 * e[1], 0.3 * e[1] - e[2],
         0.4 * e[2] + 0.7 * e[3]]
    )  # fmt: skip
    return x, y


@pytest.mark.parametrize("name", RANDOM)
def test_redraw_moves_every_sample_in_place(name):
    features = make(name)
    buffers = dict(features.named_buffers())
    before = {key: value.clone() for key, value in buffers.items()}
    features.redraw(torch.Generator().manual_seed(3))
    for key, value in features.named_buffers():
        assert value is buffers[key]
        assert not torch.any(value == before[key])
    assert not list(features.parameters())


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("name", RANDOM)
def test_the_generator_decides(name, orthogonal):
    def samples(seed):
        return make(name, orthogonal, torch.Generator().manual_seed(seed)).state_dict()

    first, again, other = samples(1), samples(1), samples(2)
    for key, value in first.items():
        assert value.numel() == 0 or not torch.equal(value, other[key])
        assert torch.equal(value, again[key])
    redrawn = make(name, orthogonal)
    redrawn.redraw(torch.Generator().manual_seed(1))
    for key, value in redrawn.state_dict().items():
        assert torch.equal(value, first[key])


@pytest.mark.parametrize("name", RANDOM)
def test_sizes_and_dtypes(name):
    features = make(name)
    expected = {"symmetric": 12, "trigonometric": 12, "hybrid": 3 * 6 * (1 + 5)}
    expected |= {"fourier": 7, "smoothed": 7}
    assert features.num_features == expected.get(name, 6)
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(2, 3, DIM, dtype=dtype, generator=torch.Generator().manual_seed(0))
        for mapped in (features.query(x), features.key(x)):
            assert mapped.shape == (2, 3, features.num_features)
            assert mapped.dtype == dtype
        assert features.kernel(x, x).dtype == dtype
        assert features.kernel(x, x[0]).shape == (2, 3)


def test_the_paper_has_180_features_at_10_and_5():
    assert HybridFeatures(4, 10, 5).num_features == 180


def test_relu_features_are_exact():
    features = ReLUFeatures(DIM)
    x = torch.tensor([1.0, -2.0, 3.0, -4.0])
    y = torch.tensor([5.0, 6.0, -7.0, -8.0])
    assert features.num_features == DIM
    assert features.query(x) @ features.key(y) == 5.0
    assert features.kernel(x, y) == 5.0


def test_positive_features_equal_equation_6():
    features = make("positive")
    z = torch.tensor([0.3, -1.2, 0.7, 2.0])
    length = float(z @ z)
    for omega, value in zip(features.omega, features.query(z), strict=True):
        expected = math.exp(-length / 2) / math.sqrt(6) * math.exp(float(omega @ z))
        assert float(value) == pytest.approx(expected, rel=1e-5)


def test_trigonometric_features_equal_their_definition():
    features = make("trigonometric")
    z = torch.tensor([0.3, -1.2, 0.7, 2.0])
    scale = math.exp(float(z @ z) / 2) / math.sqrt(6)
    phases = [float(omega @ z) for omega in features.omega]
    expected = [scale * math.sin(phase) for phase in phases]
    expected += [scale * math.cos(phase) for phase in phases]
    assert features.query(z).tolist() == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_hybrid_features_equal_equation_7(pairs):
    x, y = pairs
    hybrid = make("hybrid")
    positive, trigonometric = make("positive"), make("trigonometric")
    positive.omega.copy_(hybrid.omega)
    trigonometric.omega.copy_(hybrid.omega)
    e = (positive.query(x) * positive.key(y)).sum(-1)
    t = (trigonometric.query(x) * trigonometric.key(y)).sum(-1)
    xi = hybrid.xi.double()
    signs = [torch.where(z @ xi.T >= 0, 1.0, -1.0) for z in (x, y)]
    agreement = (signs[0] * signs[1]).double().mean(-1)
    expected = (1 - agreement) / 2 * e + (1 + agreement) / 2 * t
    actual = (hybrid.query(x) * hybrid.key(y)).sum(-1)
    torch.testing.assert_close(actual, expected.double(), rtol=1e-9, atol=1e-9)


def test_the_hybrid_estimate_is_exact_for_equal_and_opposite_vectors():
    x = torch.tensor([0.5, -0.7, 0.2, 0.9], dtype=torch.float64)
    for seed in range(5):
        features = HybridFeatures(DIM, 3, 2, generator=torch.Generator().manual_seed(seed))
        for y in (x, -x):
            estimate = features.query(x) @ features.key(y)
            torch.testing.assert_close(estimate, features.kernel(x, y))


@pytest.mark.parametrize("name", RANDOM)
def test_a_feature_depends_on_its_own_vector_alone(name):
    # Neither on the rest of the batch, whose maximum others take out, nor on the call.
    features = make(name)
    x = torch.randn(5, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x[-1] *= 4
    for mapped in (features.query, features.key):
        whole = mapped(x)
        torch.testing.assert_close(whole, torch.stack([mapped(row) for row in x]))
        assert torch.equal(whole, mapped(x))


def test_the_quadratic_is_inside_the_exponent():
    # exp(omega·z) alone overflows float32 here although no feature does.
    features = make("positive")
    z = 30 * features.omega[0] / features.omega[0].norm()
    assert torch.isfinite(features.query(z)).all()


def test_samples_travel_in_the_state_dict():
    features, other = make("hybrid"), make("hybrid", generator=torch.Generator().manual_seed(9))
    assert set(features.state_dict()) == {"omega", "xi"}
    other.load_state_dict(features.state_dict())
    x = torch.randn(5, DIM, generator=torch.Generator().manual_seed(0))
    assert torch.equal(features.query(x), other.query(x))


@pytest.mark.parametrize("name", RANDOM)
def test_no_global_randomness(name):
    before = torch.get_rng_state()
    features = copy.deepcopy(make(name))
    features.redraw()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", RANDOM)
def test_another_size_is_refused(name):
    features = make(name)
    wanted = r"expected a tensor of shape \(\.\.\., 4\), got \(3,\)"
    good, bad = torch.zeros(4), torch.zeros(3)
    with pytest.raises(ValueError, match=f"x: {wanted}"):
        features.query(bad)
    with pytest.raises(ValueError, match=f"x: {wanted}"):
        features.key(bad)
    with pytest.raises(ValueError, match=f"y: {wanted}"):
        features.kernel(good, bad)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="num_samples: expected an integer >= 1, got 0"):
        PositiveFeatures(4, 0)
    with pytest.raises(ValueError, match="num_sign_samples"):
        HybridFeatures(4, 3, -1)
    with pytest.raises(ValueError, match="dim"):
        ReLUFeatures(True)
    with pytest.raises(ValueError, match="orthogonal"):
        TrigonometricFeatures(4, 3, orthogonal=1)


@pytest.mark.parametrize("name", RANDOM)
def test_integers_are_refused_as_they_would_cut_the_random_vectors(name):
    feature_map = make(name)
    for call in (feature_map.query, feature_map.key, lambda x: feature_map.kernel(x, x)):
        with pytest.raises(ValueError, match=r"x: expected a tensor of floats, got torch.int64"):
            call(torch.tensor([[1, 0, 2, -1]]))
