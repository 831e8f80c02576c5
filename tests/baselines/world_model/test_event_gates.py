"""Gates at events, against a loop."""

import math

import pytest
import torch

from iap_gym.baselines.world_model import WorldModel, event_gates
from iap_gym.baselines.world_model.scenarios import SCENARIOS


def test_openings_are_counted_by_their_input(sets, monkeypatch):
    monkeypatch.setattr(event_gates, "PART", 20)
    sequences = sets[1]["gen"]
    torch.manual_seed(0)
    model = WorldModel(**SCENARIOS["rrc"].model_settings(), backend="torch").eval()
    found = event_gates.event_gates(model, sequences, "controlled")
    flags = sequences.flags("controlled")
    counts = {"trigger": [], "after": [], "elsewhere": []}
    for row in range(len(sequences)):
        observations, actions = sequences.observations[row], sequences.actions[row]
        with torch.no_grad():
            gates = model(observations[:-1, None], actions[:, None]).gates[:, 0]
        begins = [t for t in range(49) if flags[row, t + 1] > flags[row, t]]
        for t in range(49):
            kind = "trigger" if t in begins else "after" if t - 1 in begins else "elsewhere"
            counts[kind].append(bool((gates[t] > 0).any()))
    assert 10 < len(counts["trigger"]) <= 16  # half of 32 are controlled, some by the last action
    for name, opened in counts.items():
        assert getattr(found, name) == pytest.approx(sum(opened) / len(opened))
    assert found.at == (found.trigger + found.after) / 2


def test_cores_without_gates_and_events_that_are_not_there(sets):
    model = WorldModel(**SCENARIOS["rrc"].model_settings("gru"), backend="torch")
    assert event_gates.event_gates(model, sets[1]["gen"], "controlled") is None
    with pytest.raises(ValueError, match="event: expected one of 'controlled'"):
        event_gates.event_gates(model, sets[1]["gen"], "caught")
    gated = WorldModel(**SCENARIOS["rrc"].model_settings(), backend="torch")
    never = next(i for i, flags in enumerate(sets[1]["gen"].flags("controlled")) if not flags.any())
    found = event_gates.event_gates(gated, sets[1]["gen"].only(never), "controlled")
    assert math.isnan(found.trigger)
    assert 0 <= found.elsewhere <= 1
    with pytest.raises(ValueError, match="row: expected an integer"):
        sets[1]["gen"].only(32)
