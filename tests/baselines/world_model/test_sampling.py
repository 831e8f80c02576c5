"""Which inputs are real."""

import pytest
import torch

from iap_gym.baselines.world_model import draw_real, sampling_probability


def test_probability_falls_to_its_minimum():
    assert sampling_probability(0) == 1.0
    assert sampling_probability(1) == 0.998
    assert sampling_probability(1000) == pytest.approx(0.998**1000)
    assert sampling_probability(2000, 0.02) == 0.02
    assert sampling_probability(5, 0.1, 0.5) == 0.1


def test_real_inputs():
    generator = torch.Generator().manual_seed(0)
    real = draw_real(50, 4000, 0.3, 2, generator)
    assert real.dtype == torch.bool
    assert real[:2].all()
    rate = real[2:].double().mean().item()
    assert abs(rate - 0.3) < 0.005  # 192,000 draws: 4.8 standard errors
    # steps and sequences on their own
    assert abs((real[2:-1] & real[3:]).double().mean().item() - 0.09) < 0.005
    assert torch.equal(real, draw_real(50, 4000, 0.3, 2, torch.Generator().manual_seed(0)))


def test_borders():
    assert draw_real(9, 5, 1.0).all()
    alone = draw_real(9, 5, 0.0, 3)
    assert alone[:3].all()
    assert not alone[3:].any()


def test_bad_arguments():
    for arguments in ((0, 1, 0.5), (1, 0, 0.5), (1, 1, 1.5), (1, 1, 0.5, 0)):
        with pytest.raises(ValueError, match="expected"):
            draw_real(*arguments)
    with pytest.raises(ValueError, match="epoch"):
        sampling_probability(-1)
