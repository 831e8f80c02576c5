"""Scores by their definitions: loops over patches, the whole N x N matrix, 60 digits if asked."""

import math

import mpmath
import numpy as np


def patches(image, patch, stride):
    """Cut (H, W, C) into (N, D) by two loops; uint8 becomes [0, 1]."""
    image = image / 255.0 if image.dtype == np.uint8 else image.astype(np.float64)
    height, width, _ = image.shape
    return np.array(
        [
            image[row : row + patch[0], column : column + patch[1]].ravel()
            for row in range(0, height - patch[0] + 1, stride[0])
            for column in range(0, width - patch[1] + 1, stride[1])
        ]
    )


def queries_and_keys(selector, image):
    """Scaled queries and keys, float64 (N, d)."""
    pixels = patches(image, selector.patch_size, selector.stride) - selector.pixel_offset
    results = []
    for weight, bias in ((selector.W_q, selector.b_q), (selector.W_k, selector.b_k)):
        z = pixels @ weight.detach().numpy().astype(np.float64)
        if bias is not None:
            z = z + bias.detach().numpy()
        if selector.input_scaling == "quarter":
            z = z / selector.d_qk**0.25
        elif selector.input_scaling == "patch":
            z = z / selector.patch_dim**0.25
        else:
            length = np.linalg.norm(z, axis=1, keepdims=True)
            z = np.where(length > 0, z / np.where(length > 0, length, 1), 0) * selector.d_qk**0.25
        results.append(z)
    return results


def matrix(selector, image):
    """K(q_i, k_j) for all pairs, (N, N), of float64 or of mpmath numbers where those overflow."""
    queries, keys = queries_and_keys(selector, image)
    if selector.kernel == "relu":
        return np.maximum(queries, 0) @ np.maximum(keys, 0).T
    exp = np.vectorize(mpmath.exp, otypes=[object])
    logits = queries @ keys.T
    if selector.kernel == "softmax":
        return exp(logits)
    if selector.kernel == "softmax_normalized":
        attention = exp(logits - logits.max(axis=1, keepdims=True))
        return attention / attention.sum(axis=1, keepdims=True)
    omega = selector.features.omega.numpy().astype(np.float64)
    half_squares = (queries**2).sum(1)[:, None] / 2, (keys**2).sum(1)[None, :] / 2
    phases = (queries @ omega.T)[:, None, :], (keys @ omega.T)[None, :, :]  # (N, 1, m), (1, N, m)
    trigonometric = exp(half_squares[0] + half_squares[1]) * np.cos(phases[0] - phases[1]).mean(2)
    if selector.kernel == "trigonometric":
        return trigonometric
    exponents = phases[0] + phases[1] - (half_squares[0] + half_squares[1])[..., None]
    positive = exp(exponents).mean(2)
    if selector.kernel == "positive":
        return positive
    xi = selector.features.xi.numpy().astype(np.float64)
    signs = [np.where(z @ xi.T >= 0, 1.0, -1.0) for z in (queries, keys)]
    agreement = signs[0] @ signs[1].T / len(xi)
    return (1 - agreement) / 2 * positive + (1 + agreement) / 2 * trigonometric


def scores(selector, image):
    """The sum over queries, (N,)."""
    total = matrix(selector, image)
    if selector.r is not None:
        total = selector.r.detach().numpy().astype(np.float64)[:, None] * total
    return total.sum(axis=0)


def relative(values):
    """Divide by the largest magnitude, to floats: what one factor per image leaves."""
    top = max(abs(value) for value in values)
    return np.array([float(value / top) for value in values])


def logarithm(value):
    """Natural logarithm of a float or an mpmath number."""
    return float(mpmath.log(value)) if value else -math.inf
