"""Errors of prediction and the use of gates, against loops."""

import numpy as np
import pytest
import torch

from iap_gym.baselines.world_model import WorldModel, metrics
from iap_gym.baselines.world_model.data import Sequences, load_or_make
from iap_gym.baselines.world_model.metrics import (
    copy_error,
    evaluate,
    gate_metrics,
    reappearance_error,
    sequence_errors,
)
from iap_gym.baselines.world_model.scenarios import SCENARIOS


def test_gate_metrics():
    gates = torch.zeros(4, 2, 3)
    gates[0, 0, 0] = gates[0, 0, 1] = gates[2, 0, 0] = 1.0
    gates[3, 1, 2] = 0.25
    found = gate_metrics(gates)
    assert found.rate == pytest.approx(4 / 24)
    assert found.times == pytest.approx(3 / 8)
    assert found.dims == pytest.approx(3 / 6)
    for bad in (gates[0], torch.zeros(0, 2, 3), [1]):
        with pytest.raises(ValueError, match="gates"):
            gate_metrics(bad)


@pytest.mark.parametrize("core", ["gatel0rd", "gru"])
def test_evaluate(sets, core, monkeypatch):
    monkeypatch.setattr(metrics, "PART", 20)  # parts of unequal sizes count by their sequences
    sequences = sets[1]["test"]
    torch.manual_seed(0)
    model = WorldModel(**SCENARIOS["rrc"].model_settings(core), backend="torch")
    found = evaluate(model, sequences, 2)
    observations = sequences.observations.transpose(0, 1)
    with torch.no_grad():
        told = model.eval()(observations[:2], sequences.actions.transpose(0, 1))
    error = (told.observations - observations[1:]).square().mean().item()
    assert found.error == pytest.approx(error, rel=1e-5)
    each = (told.observations - observations[1:]).square().mean(dim=(0, 2)).numpy()
    errors = sequence_errors(model, sequences, 2)
    assert errors == pytest.approx(each, rel=1e-5)
    assert errors.mean() == pytest.approx(found.error, rel=1e-12)
    if core == "gru":
        assert found.gates is None
    else:
        assert found.gates == pytest.approx(gate_metrics(told.gates))


def test_copy_error(sets):
    observations = sets[1]["val"].observations.double().numpy()
    total = 0.0
    for sequence in observations:
        for t in range(1, 50):
            total += ((sequence[t] - sequence[min(t - 1, 2)]) ** 2).sum()
    expected = total / (len(observations) * 49 * 4)
    assert copy_error(sets[1]["val"], 3) == pytest.approx(expected, rel=1e-5)


def test_reappearance_error(data_folder):
    dataset = load_or_make(data_folder, "shepherd", "val", 8)
    sequences = Sequences(dataset)
    torch.manual_seed(0)
    model = WorldModel(**SCENARIOS["shepherd"].model_settings(), backend="torch").eval()
    squares = []
    for row, opened in enumerate(sequences.flags("gate_open")):
        when = np.flatnonzero(opened)
        if len(when) == 0 or when[0] >= 100:
            continue
        t = int(when[0])
        observations, actions = (
            sequences.observations[row, :, None],
            sequences.actions[row, :, None],
        )
        # the sheep was out of sight, and is seen in the next state
        assert observations[t, 0, 4:6].tolist() == [0.0, 0.0]
        assert observations[t + 1, 0, 5] < 0.0
        with torch.no_grad():
            told = model(observations[: t + 1], actions[: t + 1]).observations[-1, 0, 4]
        squares.append((told - observations[t + 1, 0, 4]).square().item())
    assert len(squares) == 6  # three categories of four
    assert reappearance_error(model, sequences) == pytest.approx(np.mean(squares), rel=1e-4)
