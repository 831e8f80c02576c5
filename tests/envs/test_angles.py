import math

import numpy as np

from iap_gym.envs._angles import wrapped


def test_the_direction_is_kept_and_the_range_is_half_open():
    assert (wrapped(math.pi), wrapped(-math.pi), wrapped(0.0)) == (-math.pi, -math.pi, 0.0)
    for angle in np.random.default_rng(0).uniform(-50.0, 50.0, 1000).tolist():
        found = wrapped(angle)
        assert -math.pi <= found < math.pi
        np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * angle))
