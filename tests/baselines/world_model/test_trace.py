"""States at every step, against whole sequences."""

import pytest
import torch

from iap_gym.baselines.world_model.trace import trace

from . import cases


@pytest.mark.parametrize("name", ["gatel0rd", "3 lstm", "gatel0rd, 2 cells of sigmoids"])
def test_it_is_the_forward_pass(name):
    model = cases.make(name, torch.float64).train()
    observations, actions, _ = cases.batch(dtype=torch.float64)
    found = trace(model, observations[:3], actions)
    assert model.training
    with torch.no_grad():
        whole = model.eval()(observations[:3], actions)
        half = model(observations[:3], actions[:4])
    torch.testing.assert_close(found.observations, whole.observations)
    layers, batch, size = whole.state.core.shape
    assert found.states.shape == (len(actions) + 1, batch, layers * size)
    torch.testing.assert_close(found.states[-1, :, :size], whole.state.core[0])
    torch.testing.assert_close(found.states[4, :, -size:], half.state.core[-1])
    if whole.gates is None:
        assert found.gates is None
    else:
        torch.testing.assert_close(found.gates, whole.gates)


def test_a_closed_gate_keeps_the_state():
    model = cases.make()
    observations, actions, _ = cases.batch()
    found = trace(model, observations[:2], actions)
    changed = found.states[1:] != found.states[:-1]
    assert torch.equal(changed, found.gates > 0)
    assert 0 < changed.double().mean() < 1
    with pytest.raises(ValueError, match="observations: expected at least 2"):
        trace(model, observations[:1], actions)
