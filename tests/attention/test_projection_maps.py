import math
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from iap_gym.attention import AngularFeatures, GeneralizedRandomFeatures, UnknownKernelError

E = torch.eye(3, dtype=torch.float64)


def seeded():
    return torch.Generator().manual_seed(0)


def test_angular_features_equal_their_definition():
    features = AngularFeatures(3, 5, generator=seeded())
    z = torch.tensor([0.3, -1.2, 0.7])
    expected = [math.copysign(1 / math.sqrt(5), float(xi @ z)) for xi in features.xi]
    np.testing.assert_allclose(features.query(z), expected, rtol=1e-6)


def test_the_angular_kernel_at_known_angles():
    features = AngularFeatures(3, 5, generator=seeded())
    slanted = (E[0] + E[1]) * 7
    for y, expected in ((E[0], 1), (slanted, 0.5), (E[1], 0), (-slanted, -0.5), (-E[0], -1)):
        assert float(features.kernel(E[0] * 1e-3, y)) == pytest.approx(expected, abs=1e-15)


def test_angles_keep_their_digits_near_0_and_pi_and_for_tiny_vectors():
    features = AngularFeatures(3, 5, generator=seeded())
    for small in (1e-3, 1e-6, 1e-9):
        near = E[0] + small * E[1]
        assert float(1 - features.kernel(E[0], near)) == pytest.approx(
            2 * small / math.pi, rel=1e-3
        )
        assert float(1 + features.kernel(E[0], -near)) == pytest.approx(
            2 * small / math.pi, rel=1e-3
        )
    x = torch.tensor([3e-30, 4e-30, 0.0])  # squares are 0 in float32
    assert float(features.kernel(x, x)) == 1
    assert float(features.kernel(x, -x)) == -1


def test_the_angular_estimate_is_exact_for_equal_and_opposite_directions():
    x = torch.tensor([0.5, -0.7, 0.2], dtype=torch.float64)
    for seed in range(5):
        features = AngularFeatures(3, 4, generator=torch.Generator().manual_seed(seed))
        for y in (3 * x, -2 * x):
            estimate = float(features.query(x) @ features.key(y))
            assert estimate == pytest.approx(float(features.kernel(x, y)), abs=1e-12)


def test_the_sign_of_zero_is_one_and_the_kernel_agrees():
    features = AngularFeatures(3, 4, generator=seeded())
    zero = torch.zeros(3)
    assert features.query(zero).tolist() == [0.5] * 4
    assert features.kernel(zero, zero) == 1
    assert features.kernel(zero, E[1].float()) == 0  # signs of the other average to 0
    assert features.kernel(E[1].float(), zero) == 0


@pytest.mark.parametrize("m", [1, 2, 5, 8, 13])
def test_generalized_features_equal_their_definition(m):
    features = GeneralizedRandomFeatures(3, m, torch.tanh, generator=seeded())
    z = torch.tensor([0.3, -1.2, 0.7])
    assert features.num_features == m
    expected = [math.tanh(float(omega @ z)) / math.sqrt(m) for omega in features.omega]
    assert len(expected) == m
    np.testing.assert_allclose(features.query(z), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "relu", ["relu", torch.relu, nn.functional.relu, nn.ReLU()], ids=["name", "torch", "f", "nn"]
)
def test_every_spelling_of_relu_has_the_arc_cosine_kernel(relu):
    features = GeneralizedRandomFeatures(3, 4, relu, generator=seeded())
    x = torch.tensor([0.3, -1.2, 0.7], dtype=torch.float64)
    # E[relu(w·x)²] = |x|²/2; nothing is common to opposite half-spaces; 1/2pi at right angles.
    assert float(features.kernel(x, x)) == pytest.approx(float(x @ x) / 2)
    assert float(features.kernel(x, -x)) == pytest.approx(0, abs=1e-15)
    assert float(features.kernel(2 * E[0], 3 * E[2])) == pytest.approx(6 / (2 * math.pi))
    theta = math.pi / 4
    expected = math.sqrt(2) * (math.sin(theta) + (math.pi - theta) * math.cos(theta))
    assert float(features.kernel(E[0], E[0] + E[1])) == pytest.approx(expected / (2 * math.pi))
    assert features.kernel(x, 0 * x) == 0
    assert (features.query(x) >= 0).all()


def test_a_kernel_that_is_not_known_is_an_error_with_the_functions_name():
    features = GeneralizedRandomFeatures(3, 4, torch.tanh)
    with pytest.raises(UnknownKernelError, match="kernel_fn: .* relu only, got tanh"):
        features.kernel(E[0], E[1])
    assert issubclass(UnknownKernelError, ValueError)
    assert issubclass(UnknownKernelError, NotImplementedError)
    assert features.query(E[0]).shape == (4,), "the estimate is there all the same"


def test_other_functions_estimate_their_kernels():
    # E[exp(w·x) exp(w·y)] = exp(|x + y|²/2)
    features = GeneralizedRandomFeatures(3, 60_000, torch.exp, generator=seeded())
    x, y = 0.4 * E[0], 0.3 * E[1] - 0.2 * E[0]
    samples = features.query(x) * features.key(y) * 60_000
    exact = math.exp(float((x + y) @ (x + y)) / 2)
    error = float(samples.std()) / math.sqrt(60_000)
    assert abs(float(samples.mean()) - exact) < 4 * error


def test_a_map_of_relu_travels():
    features = GeneralizedRandomFeatures(3, 4, "relu", generator=seeded())
    again = pickle.loads(pickle.dumps(features))
    assert torch.equal(features.query(E), again.query(E))


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="kernel_fn: expected 'relu' or a function"):
        GeneralizedRandomFeatures(3, 4, "gelu")
    with pytest.raises(ValueError, match="kernel_fn: expected 'relu' or a function"):
        GeneralizedRandomFeatures(3, 4, None)
    with pytest.raises(ValueError, match="kernel_fn: expected a function that keeps the shape"):
        GeneralizedRandomFeatures(3, 4, torch.sum).query(E)
    with pytest.raises(ValueError, match="num_samples"):
        GeneralizedRandomFeatures(3, 0, "relu")
    with pytest.raises(ValueError, match="num_sign_samples"):
        AngularFeatures(3, 2.0)
