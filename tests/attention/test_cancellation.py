"""Scores where almost everything cancels, against the formula pair by pair in float64."""

import numpy as np
import pytest
import torch

from iap_gym.attention import PatchSelector


def opposite(c, seed, backend):
    """A selector whose queries lie about +c and whose keys lie about -c in every direction."""
    selector = PatchSelector(
        (32, 32, 3), 4, num_selected=5, kernel="hybrid", bias=True, seed=seed, backend=backend
    )
    vector = selector.get_vector()
    vector[:-8] *= 0.3
    vector[-8:-4], vector[-4:] = c, -c
    selector.set_vector(vector)
    return selector


def pair_by_pair(selector, image):
    """The hybrid estimate of every pair, whose factors are exactly 0 at the ends (eqs. 7 to 9)."""
    patches = image.reshape(8, 4, 8, 4, 3).transpose(0, 2, 1, 3, 4).reshape(64, 48) / 255
    parts = [selector.W_q, selector.W_k, selector.b_q, selector.b_k]
    w_q, w_k, b_q, b_k = (part.detach().numpy().astype(float) for part in parts)
    x, y = (patches @ w_q + b_q) * 4**-0.25, (patches @ w_k + b_k) * 4**-0.25
    omega = selector.features.omega.numpy().astype(float)
    xi = selector.features.xi.numpy().astype(float)
    half = (x**2).sum(1)[:, None] / 2, (y**2).sum(1)[None, :] / 2
    phase = (x @ omega.T)[:, None], (y @ omega.T)[None, :]
    waves = np.cos(phase[0] - phase[1]).mean(-1) * np.exp(half[0] + half[1])
    positive = np.exp(phase[0] + phase[1]).mean(-1) * np.exp(-half[0] - half[1])
    agreement = (np.where(x @ xi.T >= 0, 1, -1) @ np.where(y @ xi.T >= 0, 1, -1).T) / len(xi)
    return ((1 - agreement) / 2 * positive + (1 + agreement) / 2 * waves).sum(0)


@pytest.mark.parametrize("backend", ["torch", "auto"])
@pytest.mark.parametrize("c", [0.5, 1.0, 1.5, 2.0])
def test_hybrid_keeps_its_digits_where_queries_and_keys_are_opposite(c, backend):
    rng = np.random.default_rng(0)
    for seed in range(6):
        selector = opposite(c, seed, backend)
        image = rng.integers(0, 256, (32, 32, 3), np.uint8)
        exact = pair_by_pair(selector, image)
        with torch.no_grad():
            scores = selector.scores(image[None])[0].numpy()
        assert np.abs(scores - exact).max() < 2e-4 * np.abs(exact).max()
        chosen = selector.select(image[None])[0].numpy()
        lost = np.sort(exact)[-5:] - np.sort(exact[chosen])
        assert lost.max() < 4e-4 * np.abs(exact).max()


@pytest.mark.parametrize("backend", ["torch", "auto"])
def test_where_terms_cancel_is_decided_for_each_image_alone(backend, monkeypatch):
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (32, 32, 3), np.uint8)
    plain = [np.full_like(noise, level) for level in (0, 255)]
    images = np.stack([noise, *plain, noise // 4])
    precise: list[int] = []  # images that are computed in float64
    usual = PatchSelector._scores

    def counted(selector, images, dtype=None):
        precise.append(len(images) if dtype == torch.float64 else 0)
        return usual(selector, images, dtype)

    monkeypatch.setattr(PatchSelector, "_scores", counted)
    for seed in (0, 3):  # float32 will do for the first of these images, not for the second
        selector = opposite(1.5, seed, backend).requires_grad_(False)
        together = selector.scores(images)
        in_batch = sum(precise)
        precise.clear()
        apart = torch.cat([selector.scores(images[i : i + 1]) for i in range(len(images))])
        assert 0 < in_batch == sum(precise) < len(images)
        precise.clear()
        torch.testing.assert_close(together, apart)


def test_gradients_reach_the_weights_where_terms_of_some_images_cancel():
    images = np.zeros((2, 32, 32, 3), np.uint8)
    images[0] = np.random.default_rng(0).integers(0, 256, (32, 32, 3))
    gradients = []
    for batch in (images[:1], images[1:], images):
        selector = opposite(1.5, 0, "torch")
        selector.scores(batch).sum().backward()
        gradients.append(selector.W_q.grad)
    assert torch.isfinite(gradients[2]).all()
    torch.testing.assert_close(gradients[0] + gradients[1], gradients[2])


@pytest.mark.parametrize("factor", [1e8, 3e9, 1e10, 1e12, 1e30])
def test_normalized_softmax_is_finite_for_large_weights(factor):
    for seed in range(40):
        selector = PatchSelector(
            (16, 16, 3), 4, num_selected=4, kernel="softmax_normalized", seed=seed
        )
        selector.set_vector(selector.get_vector() * np.float32(factor))
        image = np.random.default_rng(seed).integers(0, 256, (1, 16, 16, 3), np.uint8)
        scores = selector.scores(image).detach()
        assert torch.isfinite(scores).all()
        # Every query gives attention of 1 in all.
        assert float(scores.sum()) == pytest.approx(16, rel=1e-4)
