"""The noise of iCEM: its spectrum, its variance, its bounds."""

import numpy as np
import pytest

from iap_gym.baselines.planning import colored_noise


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("n", [1, 2, 5, 30, 31])
@pytest.mark.parametrize("beta", [0, 1, 2.5, 4])
def test_every_number_has_mean_0_and_variance_1(beta, n):
    draws = 20_000
    noise = colored_noise(beta, (draws, n), rng())
    assert noise.shape == (draws, n)
    # Of m normal numbers the mean deviates by 1 / sqrt(m), the variance by sqrt(2 / m).
    np.testing.assert_allclose(noise.mean(0), 0, atol=5 / np.sqrt(draws))
    np.testing.assert_allclose(noise.var(0), 1, atol=5 * np.sqrt(2 / draws))


@pytest.mark.parametrize("n", [24, 25])
@pytest.mark.parametrize("beta", [0, 1, 3])
def test_the_power_at_each_frequency_is_the_printed_one(beta, n):
    draws = 20_000
    power = np.abs(np.fft.rfft(colored_noise(beta, (draws, n), rng(1)))) ** 2
    frequencies = np.maximum(np.arange(n // 2 + 1), 1) / n
    wanted = frequencies**-beta
    ratios = power.mean(0) / wanted
    # The power of a real coefficient is chi-square with one degree of freedom, deviation sqrt(2).
    np.testing.assert_allclose(ratios / ratios.mean(), 1, atol=5 * np.sqrt(2 / draws))


def test_the_slope_of_a_long_sequence_is_minus_beta():
    n = 4096
    for beta in (0.5, 1.0, 2.0, 3.0):
        power = np.abs(np.fft.rfft(colored_noise(beta, (50, n), rng(2)))) ** 2
        interior = slice(1, n // 2)
        frequencies = np.fft.rfftfreq(n)[interior]
        slope, _ = np.polyfit(np.log(frequencies), np.log(power.mean(0)[interior]), 1)
        assert slope == pytest.approx(-beta, abs=0.05)


def test_white_noise_is_uncorrelated_and_coloured_noise_is_not():
    white, brown = (colored_noise(beta, (5_000, 30), rng(3)) for beta in (0, 2))
    assert np.abs(np.corrcoef(white.T) - np.eye(30)).max() < 5 / np.sqrt(5_000)
    assert np.corrcoef(brown.T)[0, 1] > 0.8


def test_it_comes_from_the_generator_alone():
    assert (colored_noise(1, (2, 3, 8), rng(5)) == colored_noise(1, [2, 3, 8], rng(5))).all()
    assert colored_noise(1.0, 8, rng()).shape == (8,)


@pytest.mark.parametrize(
    ("beta", "shape"), [(-1, 5), (np.nan, 5), ("1", 5), (1, (3, 0)), (1, ()), (1, (2.5,))]
)
def test_bad_arguments_are_named(beta, shape):
    with pytest.raises(ValueError, match="beta: |shape"):
        colored_noise(beta, shape, rng())
