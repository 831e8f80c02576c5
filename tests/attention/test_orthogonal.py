import math

import pytest
import torch

from iap_gym.attention import orthogonal_gaussian

DIM = 4
BLOCKS = 20_000


@pytest.fixture(scope="module")
def blocks():
    """Independent blocks, (BLOCKS, DIM, DIM), float64."""
    rows = orthogonal_gaussian(BLOCKS * DIM, DIM, torch.Generator().manual_seed(0))
    return rows.double().view(BLOCKS, DIM, DIM)


def assert_mean(samples, expected, errors=4.0):
    """The mean over the first axis equals ``expected`` within its standard errors."""
    error = samples.std(0) / math.sqrt(len(samples))
    worst = ((samples.mean(0) - expected).abs() / error).max()
    assert worst < errors, f"off by {worst:.1f} standard errors: {samples.mean(0)}"


def test_rows_are_orthogonal_within_a_block(blocks):
    gram = blocks @ blocks.mT
    off_diagonal = gram - torch.diag_embed(gram.diagonal(dim1=1, dim2=2))
    assert off_diagonal.abs().max() < 1e-5


def test_every_row_of_a_block_has_mean_zero_and_identity_covariance(blocks):
    for row in range(DIM):
        w = blocks[:, row]
        assert_mean(w, torch.zeros(DIM, dtype=torch.float64))
        assert_mean(w[:, :, None] * w[:, None, :], torch.eye(DIM, dtype=torch.float64))


def test_lengths_are_chi_and_independent_of_directions(blocks):
    squares = blocks.square().sum(-1)  # (BLOCKS, DIM), chi-squared with DIM degrees
    assert_mean(squares, torch.full((DIM,), float(DIM), dtype=torch.float64))
    assert_mean((squares - DIM).square(), torch.full((DIM,), 2.0 * DIM, dtype=torch.float64))
    directions = blocks / squares.sqrt()[..., None]
    assert_mean(directions.square() * (squares - DIM)[..., None], torch.zeros(DIM, DIM))
    # lengths of one block are independent of each other
    assert_mean((squares[:, 0] - DIM) * (squares[:, 1] - DIM), torch.zeros(()))


@pytest.mark.parametrize("axis", [*range(DIM), "diagonal"])
def test_kernels_are_unbiased_along_every_axis(blocks, axis):
    # The common constructions fail here: exp(x·x) comes out too large along the first axis and
    # too small along the last, and the positive half-space along the diagonal gets too few rows.
    x = torch.zeros(DIM, dtype=torch.float64)
    if axis == "diagonal":
        x[:] = 0.6 / math.sqrt(DIM)
    else:
        x[axis] = 0.6
    projected = blocks @ x
    softmax = (2 * projected - x @ x).exp()
    assert_mean(softmax, (x @ x).exp().expand(DIM))
    assert_mean(projected.relu().square(), (x @ x / 2).expand(DIM))
    assert_mean((projected > 0).double(), torch.full((DIM,), 0.5, dtype=torch.float64))


def test_the_last_block_is_cut():
    rows = orthogonal_gaussian(10, DIM, torch.Generator().manual_seed(0))
    assert rows.shape == (10, DIM)
    assert rows.dtype == torch.float32
    assert abs(rows[8] @ rows[9]) < 1e-5
    assert abs(rows[3] @ rows[4]) > 1e-3


def test_one_dimension_draws_plain_normals():
    rows = orthogonal_gaussian(20_000, 1, torch.Generator().manual_seed(0)).double()
    assert_mean(rows, torch.zeros(1))
    assert_mean(rows.square(), torch.ones(1))


def test_the_generator_decides_and_the_global_one_is_untouched():
    before = torch.get_rng_state()
    first = orthogonal_gaussian(5, 3, torch.Generator().manual_seed(1))
    again = orthogonal_gaussian(5, 3, torch.Generator().manual_seed(1))
    other = orthogonal_gaussian(5, 3, torch.Generator().manual_seed(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(orthogonal_gaussian(5, 3), orthogonal_gaussian(5, 3))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("rows", "dim"), [(0, 3), (3, 0), (-1, 3), (2.0, 3), (3, True)])
def test_bad_sizes_are_refused(rows, dim):
    with pytest.raises(ValueError, match=r"rows|dim"):
        orthogonal_gaussian(rows, dim)
