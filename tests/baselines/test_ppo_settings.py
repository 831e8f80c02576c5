"""Settings that Stable-Baselines3 would take as they come."""

import numpy as np
import pytest
import torch
from stable_baselines3.common.utils import LinearSchedule

from iap_gym.baselines import RecurrentPPO


def build(**settings):
    settings = {"n_steps": 33, "batch_size": 16, "normalize_advantage": False} | settings
    kwargs = {"hidden_size": 4, "net_arch": []}
    return RecurrentPPO("MlpCorePolicy", "CartPole-v1", seed=0, policy_kwargs=kwargs, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_steps": 0}, "n_steps: expected an integer >= 1, got 0"),
        ({"batch_size": 0}, "batch_size: expected an integer >= 1, got 0"),
        ({"n_epochs": 0}, "n_epochs: expected an integer >= 1, got 0"),
        ({"n_epochs": 1.5}, "n_epochs: expected an integer >= 1, got 1.5"),
        ({"gamma": 2}, r"gamma: expected a finite number in \[0, 1\], got 2"),
        ({"gamma": -0.1}, r"gamma: expected a finite number in \[0, 1\], got -0.1"),
        ({"gae_lambda": 1.01}, r"gae_lambda: expected a finite number in \[0, 1\], got 1.01"),
        ({"gae_lambda": np.nan}, "gae_lambda: expected .*, got nan"),
        ({"clip_range": 0}, "clip_range: expected a finite number > 0, or a schedule.*, got 0"),
        ({"clip_range_vf": -1.0}, "clip_range_vf: expected a finite number > 0, or .*, got -1.0"),
        ({"learning_rate": "lin_0.001"}, "learning_rate: expected .*LinearSchedule, got 'lin_0.0"),
        ({"learning_rate": -1e-3}, "learning_rate: expected a finite number >= 0, or .*got -0.001"),
    ],
)
def test_settings_out_of_range_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        build(**settings)


@pytest.mark.parametrize(("n_steps", "batch_size"), [(33, 32), (33, 1), (1, 8), (1, None)])
def test_minibatches_of_one_step_are_refused_where_they_are_divided_by_their_deviation(
    n_steps, batch_size
):
    settings = {"n_steps": n_steps, "batch_size": batch_size, "n_epochs": 1}
    wanted = f"batch_size: expected minibatches of at least 2 of the {n_steps} steps"
    with pytest.raises(ValueError, match=f"{wanted} .*, got {batch_size}"):
        build(**settings, normalize_advantage=True)
    model = build(**settings).learn(n_steps)
    assert all(torch.isfinite(parameter).all() for parameter in model.policy.parameters())


def test_edges_and_schedules_train():
    settings = {"gamma": 1, "gae_lambda": np.float32(0.0), "batch_size": None, "n_epochs": 1}
    build(
        **settings,
        learning_rate=LinearSchedule(1e-3, 0.0, 1.0),
        clip_range=LinearSchedule(0.2, 0.1, 1.0),
        clip_range_vf=LinearSchedule(0.2, 0.1, 1.0),
        normalize_advantage=True,
    ).learn(33)
