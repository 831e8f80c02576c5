"""Noise whose spectrum falls as a power of the frequency."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks

Array = NDArray[np.float64]


def colored_noise(
    beta: float, shape: int | Sequence[int], rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Draw Gaussian sequences with a power-law spectrum, along the last axis.

    With X_k the discrete Fourier transform of a sequence of n numbers and f_k = k / n,

    .. math::
        E|X_k|^2 \propto \max(f_k, 1/n)^{-\beta}

    so that the mean of a sequence (k = 0) is as strong as its slowest wave. Each number is normal
    with mean 0 and variance 1, exactly and at every place: the sequences are stationary.

    Source: Timmer and Koenig 1995, "On generating power law noise", by inverse Fourier transform.
    The package ``colorednoise`` that iCEM was published with leaves the mean out where it
    normalises, so that its numbers have a larger variance (1.2 or 1.4 for beta = 3, by version).

    Args:
        beta: the exponent, at least 0; 0 is white noise, 2 Brownian.
        shape: (..., n), n at least 1.
        rng: what is drawn comes from it.

    Returns:
        float64 of that shape.

    Raises:
        ValueError: a negative beta, or another shape.
    """
    beta = _checks.real("beta", beta, 0)
    sizes = (shape,) if isinstance(shape, int) else shape
    *batch, n = _checks.integers("shape", tuple(sizes)) or (0,)
    if n < 1:
        raise _checks.refuse("shape", "at least one number along the last axis", shape)
    power = np.maximum(np.fft.rfftfreq(n), 1 / n) ** -beta  # E|X_k|^2, (n // 2 + 1,)
    # Parseval: the k that are no conjugates of themselves count twice.
    twice = np.full(power.size, 2.0)
    twice[0] = 1
    if n % 2 == 0:
        twice[-1] = 1
    power *= n**2 / (twice @ power)
    real, imaginary = rng.standard_normal((2, *batch, power.size))
    imaginary[..., twice == 1] = 0
    spectrum = (real + 1j * imaginary) * np.sqrt(power / twice)
    return np.fft.irfft(spectrum, n)
