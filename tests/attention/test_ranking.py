import numpy as np
import pytest
import torch

from iap_gym.attention.ranking import best_indices


@pytest.mark.parametrize("columns", [1, 7, 300, 1500, 4000])  # both sides of the plain sort
@pytest.mark.parametrize("levels", [1, 3, 40, None])  # few distinct values make many ties
def test_it_equals_a_stable_descending_argsort(columns, levels):
    rng = np.random.default_rng(columns)
    for count in {1, min(10, columns), columns}:
        scores = rng.normal(size=(6, columns)).astype(np.float32)
        if levels is not None:
            scores = rng.integers(-levels, levels, size=(6, columns)).astype(np.float32)
            scores[0] = -0.0
            scores[0, ::2] = 0.0
        expected = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        actual = best_indices(torch.from_numpy(scores), count)
        assert actual.dtype == torch.int64
        np.testing.assert_array_equal(actual.numpy(), expected)


def test_rows_with_and_without_ties_may_meet_in_one_batch():
    scores = torch.zeros(3, 2000)
    scores[0] = torch.arange(2000)
    scores[1, 1500] = 1.0
    scores[2, [3, 1999]] = 2.0
    expected = [[1999, 1998, 1997], [1500, 0, 1], [3, 1999, 0]]
    assert best_indices(scores, 3).tolist() == expected
