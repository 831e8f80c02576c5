import numpy as np
import pytest

from iap_gym.envs.distracting_control.color import ColorDistraction, color_range
from iap_gym.envs.distracting_control.settings import DIFFICULTIES, color_settings

ORIGINAL = np.array([[0.0, 0.5, 1.0], [0.05, 0.3, 0.95]])


def test_range_is_the_clipped_interval():
    low, high = color_range(ORIGINAL, 0.2)
    np.testing.assert_allclose(low, [[0.0, 0.3, 0.8], [0.0, 0.1, 0.75]])
    np.testing.assert_allclose(high, [[0.2, 0.7, 1.0], [0.25, 0.5, 1.0]])


@pytest.mark.parametrize(("difficulty", "delta"), [("easy", 0.1), ("medium", 0.2), ("hard", 0.3)])
def test_draws_cover_the_table_and_stay_in_it(difficulty, delta):
    color = ColorDistraction(color_settings(DIFFICULTIES[difficulty].scale, False), ORIGINAL)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(4000):
        color.reset(rng)
        draws.append(color.rgb)
        color.advance()
        assert color.rgb is draws[-1]  # static
    low, high = color_range(ORIGINAL, delta)
    assert (np.min(draws, axis=0) >= low).all()
    assert (np.max(draws, axis=0) <= high).all()
    margin = 0.01 * (high - low)
    assert (np.min(draws, axis=0) < low + margin).all()
    assert (np.max(draws, axis=0) > high - margin).all()


def test_walk_has_the_published_steps_and_limits():
    scale = 0.3
    color = ColorDistraction(color_settings(scale, True), np.full((400, 3), 0.5))
    color.reset(np.random.default_rng(1))
    color.rgb = np.full((400, 3), 0.5)
    color.advance()
    assert np.std(color.rgb - 0.5) == pytest.approx(0.03 * scale, rel=0.1)
    for _ in range(3000):
        color.advance()
    assert color.rgb.min() >= 0.2
    assert color.rgb.max() <= 0.8
    assert np.ptp(color.rgb) > 0.55


def test_later_resets_forget_the_walk():
    color = ColorDistraction(color_settings(0.2, True), ORIGINAL)
    color.reset(np.random.default_rng(2))
    first = color.rgb.copy()
    for _ in range(50):
        color.advance()
    color.reset(np.random.default_rng(2))
    np.testing.assert_array_equal(color.rgb, first)
