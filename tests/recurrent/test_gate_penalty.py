"""What padding and empty masks do to the penalty; its equations are in test_equations.py."""

import pytest
import torch

from iap_gym.recurrent import GateL0RD, gate_penalty

KINDS = ("l0", "l1", "l2")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("padding", [float("nan"), float("inf"), -float("inf")])
def test_padding_may_hold_anything(kind, padding):
    gates = torch.rand(4, 3, 2)
    mask = torch.ones(4, 3, dtype=torch.bool)
    mask[2:, 1] = False
    expected = gate_penalty(gates[mask], None, kind)
    filled = torch.where(mask[..., None], gates, padding).requires_grad_()
    penalty = gate_penalty(filled, mask, kind)
    penalty.backward()
    torch.testing.assert_close(penalty.detach(), expected)
    assert filled.grad.isfinite().all()
    assert filled.grad[mask].count_nonzero() == mask.sum() * 2
    assert not filled.grad[~mask].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "mask"),
    [
        ((4, 3, 2), torch.zeros(4, 3, dtype=torch.bool)),
        ((0, 3, 2), torch.zeros(0, 3, dtype=torch.bool)),
        ((0, 3, 2), None),
        ((4, 0, 2), torch.ones(4, dtype=torch.bool)),
    ],
)
def test_nothing_kept_costs_nothing(kind, shape, mask):
    gates = torch.full(shape, float("nan"), requires_grad=True)
    penalty = gate_penalty(gates, mask, kind)
    penalty.backward()
    assert penalty.item() == 0
    assert torch.equal(gates.grad, torch.zeros(shape))


@pytest.mark.parametrize("num_layers", [1, 2])
def test_it_is_a_fraction_of_all_gates_of_all_layers(num_layers):
    network = GateL0RD(3, 5, num_layers=num_layers)
    gates = network(torch.randn(7, 4, 3))[2]
    share = gate_penalty(gates).item()
    assert share == pytest.approx(int(gates.sum()) / (7 * 4 * 5 * num_layers))
    assert 0 < share < 1
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        assert gate_penalty(gates.to(dtype)).dtype == dtype


def test_training_with_the_penalty_closes_gates():
    torch.manual_seed(0)
    network = GateL0RD(3, 8)
    optimizer = torch.optim.Adam(network.parameters(), 0.02)
    x = torch.randn(10, 16, 3)
    shares = []
    for _ in range(60):
        penalty = gate_penalty(network(x)[2])
        shares.append(penalty.item())
        optimizer.zero_grad()
        penalty.backward()
        optimizer.step()
    assert shares[0] > 0.3
    assert shares[-1] < 0.05
