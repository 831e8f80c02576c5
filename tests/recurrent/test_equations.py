"""The equations of the docstrings against scalar arithmetic that knows nothing of torch."""

import itertools

import pytest
import torch

from iap_gym.recurrent import GATES, GateL0RD, GateL0RDCell, gate_penalty, heaviside, retanh
from tests.recurrent import naive

T, B, I, H, O = 6, 2, 4, 3, 2  # noqa: E741
OPTIONS = [
    {"num_internal_layers": layers, "num_layers": stacked, "multiplicative_output": product}
    for layers, stacked, product in itertools.product((1, 2, 3), (1, 2), (True, False))
]


def seeded(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def make(gate, **options):
    torch.manual_seed(0)
    network = GateL0RD(I, H, O, gate=gate, gate_noise=0.3, **options).double()
    with torch.no_grad():  # gates of both kinds, far from saturated
        for parameter in network.parameters():
            parameter.mul_(1.5)
    return network


def directions(module, seed):
    return {
        name: seeded(*parameter.shape, seed=seed + i)
        for i, (name, parameter) in enumerate(module.named_parameters())
    }


def run_both(network, gate, mask, slope_seed=None):
    """Values of the network and of the loops; also the arguments of both."""
    x, h0 = seeded(T, B, I, seed=1), seeded(network.num_layers, B, H, seed=2)
    generator = torch.Generator().manual_seed(3)
    noise = [cell.draw_noise((T, B), generator) for cell in network.cells]
    slopes = [
        None if slope_seed is None else seeded(*each.shape, seed=slope_seed) for each in (x, h0)
    ]
    cells = [
        naive.weights_of(cell, None if slope_seed is None else directions(cell, slope_seed + i))
        for i, cell in enumerate(network.cells)
    ]
    expected = naive.gatel0rd(
        cells,
        naive.lifted(x, slopes[0]),
        naive.lifted(h0, slopes[1]),
        mask.tolist(),
        [each.tolist() for each in noise],
        gate,
    )
    x.requires_grad_()
    h0.requires_grad_()
    first = h0[0] if network.num_layers == 1 else h0
    got = network(x, first, mask, generator=torch.Generator().manual_seed(3))
    return got, expected, (x, h0), slopes


@pytest.fixture(scope="module")
def mask():
    mask = torch.zeros(T, B, dtype=torch.bool)
    mask[0, 1] = mask[3, 0] = mask[4, 0] = mask[5, 1] = True
    return mask


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
@pytest.mark.parametrize("gate", GATES)
def test_values_are_those_of_the_loops(gate, options, mask):
    network = make(gate, **options)
    (y, h, gates), expected, _, _ = run_both(network, gate, mask)
    assert y.shape == (T, B, O)
    assert gates.shape == (T, B, network.num_layers * H)
    h = h.reshape(network.num_layers, B, H)
    for ours, theirs in zip((y, h, gates), expected, strict=True):
        wanted = torch.tensor(naive.values(theirs), dtype=torch.float64)
        torch.testing.assert_close(ours, wanted, rtol=0, atol=1e-12)
    if gate != "sigmoid":
        assert set(gates.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
@pytest.mark.parametrize("gate", GATES)
def test_gradients_are_the_slopes_of_the_loops(gate, options, mask):
    """The surrogates too: each output, state and gate weighs in the loss with its own factor."""
    network = make(gate, **options)
    got, expected, arguments, slopes = run_both(network, gate, mask, slope_seed=10)
    shapes = ((T, B, O), (network.num_layers, B, H), (T, B, network.num_layers * H))
    factors = [seeded(*shape, seed=20 + i) for i, shape in enumerate(shapes)]
    products = [
        (ours.reshape(shape) * factor).sum()
        for ours, shape, factor in zip(got, shapes, factors, strict=True)
    ]
    torch.stack(products).sum().backward()
    along = sum(float((a.grad * s).sum()) for a, s in zip(arguments, slopes, strict=True))
    for i, cell in enumerate(network.cells):
        direction = directions(cell, 10 + i)
        along += sum(float((p.grad * direction[n]).sum()) for n, p in cell.named_parameters())
    expected = sum(
        naive.weighted_sum(theirs, factor.tolist()).slope
        for theirs, factor in zip(expected, factors, strict=True)
    )
    assert along == pytest.approx(expected, rel=1e-10)


def test_a_cell_is_one_step_of_a_sequence():
    cell = GateL0RDCell(I, H, O, num_internal_layers=2).double()
    x, h = seeded(B, I), seeded(B, H)
    y, new, gates = cell(x, h, generator=torch.Generator().manual_seed(5))
    noise = cell.draw_noise((B,), torch.Generator().manual_seed(5))
    weights = naive.weights_of(cell)
    for b in range(B):
        expected = naive.gatel0rd_step(
            weights, x[b].tolist(), h[b].tolist(), noise[b].tolist(), "retanh"
        )
        for ours, theirs in zip((y[b], new[b], gates[b]), expected, strict=True):
            wanted = torch.tensor(naive.values(theirs), dtype=torch.float64)
            torch.testing.assert_close(ours, wanted, rtol=0, atol=1e-12)
    zero = cell.eval()(x, torch.zeros(B, H, dtype=torch.float64))
    for ours, wanted in zip(cell(x), zero, strict=True):
        assert torch.equal(ours, wanted)


@pytest.mark.parametrize("options", [{}, {"num_internal_layers": 3, "gate": "heaviside"}])
def test_a_sequence_is_its_steps_one_by_one(options, mask):
    """The products that a sequence takes out of its loop."""
    network = GateL0RD(I, H, O, **options).double()
    (cell,) = network.cells
    x, h = seeded(T, B, I), seeded(B, H)
    noise = cell.draw_noise((T, B), torch.Generator().manual_seed(0))
    y, last, gates = network(x, h, mask, generator=torch.Generator().manual_seed(0))
    for t in range(T):
        h = torch.where(mask[t][:, None], 0.0, h)
        step_y, h, step_gates = cell.step(x[t], h, noise[t])
        torch.testing.assert_close(y[t], step_y, rtol=0, atol=1e-12)
        assert torch.equal(gates[t], step_gates)
    torch.testing.assert_close(last, h, rtol=0, atol=1e-12)


def test_gate_functions_and_their_surrogates():
    s = torch.tensor([-3.0, -1e-30, -0.0, 0.0, 1e-30, 0.4, 3.0], dtype=torch.float64)
    open_gate = torch.tensor([0.0, 0, 0, 0, 1, 1, 1], dtype=torch.float64)
    slope = (1 - torch.tanh(s) ** 2) * open_gate

    def value_and_slope(function):
        argument = s.clone().requires_grad_()
        value = function(argument)
        (gradient,) = torch.autograd.grad(value.sum(), argument)
        return value.detach(), gradient

    value, gradient = value_and_slope(retanh)
    torch.testing.assert_close(value, torch.tanh(s) * open_gate)
    torch.testing.assert_close(gradient, slope)
    value, gradient = value_and_slope(heaviside)
    assert torch.equal(value, open_gate)
    assert torch.equal(gradient, torch.ones_like(s))
    value, gradient = value_and_slope(lambda s: heaviside(retanh(s)))
    assert torch.equal(value, open_gate)
    torch.testing.assert_close(gradient, slope)


@pytest.mark.parametrize(
    ("kind", "of", "slope"),
    [
        ("l0", lambda v: float(v > 0), lambda v: 1.0),
        ("l1", abs, lambda v: 1.0 if v > 0 else -1.0),
        ("l2", lambda v: v * v, lambda v: 2 * v),
    ],
)
@pytest.mark.parametrize("masked", [None, "TB", "T"])
def test_penalties_are_means_of_what_is_kept(kind, of, slope, masked):
    gates = seeded(T, B, H)
    keep = {
        None: torch.ones(T, B, dtype=torch.bool),
        "TB": seeded(T, B, seed=1) > 0,
        "T": (seeded(T, seed=1) > 0)[:, None].expand(T, B),
    }[masked]
    mask = {None: None, "TB": keep, "T": keep[:, 0]}[masked]
    kept = [(t, b, i) for t, b, i in itertools.product(range(T), range(B), range(H)) if keep[t, b]]
    gates.requires_grad_()
    penalty = gate_penalty(gates, mask, kind)
    penalty.backward()
    expected = torch.zeros_like(gates)
    for index in kept:
        expected[index] = slope(gates[index].item()) / len(kept)
    assert penalty.shape == ()
    assert penalty.item() == pytest.approx(sum(of(gates[k].item()) for k in kept) / len(kept))
    torch.testing.assert_close(gates.grad, expected)


def test_the_gradient_of_the_penalty_reaches_open_gates_alone():
    """mean(Θ) over s = g(z): (1 - tanh² s) / (B·H) where s > 0, and 0 where it is closed."""
    cell = GateL0RDCell(I, H).double().eval()
    x, h = seeded(8, I), seeded(8, H)
    seen = []
    cell.g.register_forward_hook(lambda module, arguments, s: (s.retain_grad(), seen.append(s))[1])
    gate_penalty(cell(x, h)[2]).backward()
    (s,) = seen
    assert 0 < int((s > 0).sum()) < s.numel()
    expected = (1 - torch.tanh(s) ** 2) * (s > 0) / s.numel()
    torch.testing.assert_close(s.grad, expected.detach())
