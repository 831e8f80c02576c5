"""Finite differences, where gates are smooth or far from their kink."""

import pytest
import torch

from iap_gym.recurrent import CORES, GateL0RD, GateL0RDCell, make_core

T, B, I, H = 4, 2, 3, 2  # noqa: E741
SHAPES = [
    {},
    {"num_internal_layers": 3},
    {"num_layers": 2, "output_size": 4},
    {"multiplicative_output": False, "output_size": 1},
    {"num_internal_layers": 2, "num_layers": 2, "multiplicative_output": False},
]


def arguments(module, h0_shape):
    """The module as a function of input, state and weights, and a point of all these."""
    names = [name for name, _ in module.named_parameters()]
    generator = torch.Generator().manual_seed(1)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)

    def function(x, h0, *weights):
        named = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(module, named, (x, h0, *rest))

    rest = ()
    if not isinstance(module, GateL0RDCell):
        mask = torch.zeros(T, B, dtype=torch.bool)
        mask[0, 0] = mask[2, 1] = True
        rest = (mask,)
    x = draw(B, I) if isinstance(module, GateL0RDCell) else draw(T, B, I)
    weights = [p.detach().clone().requires_grad_() for p in module.parameters()]
    return function, (x, draw(*h0_shape), *weights)


def build(gate, options):
    torch.manual_seed(0)
    module = GateL0RD(I, H, gate=gate, **options).double().eval()
    layers = options.get("num_layers", 1)
    return arguments(module, (B, H) if layers == 1 else (layers, B, H))


@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_sigmoid_gates_are_smooth(options):
    function, point = build("sigmoid", options)
    assert torch.autograd.gradcheck(function, point)


@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_retanh_between_its_kinks(options):
    """Outputs and state; the gates that are returned have a surrogate gradient on purpose."""
    function, point = build("retanh", options)

    def smooth(*arguments):
        return function(*arguments)[:2]

    # gradcheck moves one number at a time by 1e-6: no gate may change under larger moves.
    gates = function(*point)[2]
    generator = torch.Generator().manual_seed(2)
    for _ in range(20):
        moved = [
            each + 1e-4 * torch.randn(each.shape, generator=generator, dtype=each.dtype)
            for each in point
        ]
        assert torch.equal(function(*moved)[2], gates)
    assert 0 < gates.mean() < 1
    assert torch.autograd.gradcheck(smooth, point)


@pytest.mark.parametrize("gate", ["sigmoid", "retanh"])
def test_of_a_cell(gate):
    torch.manual_seed(1)
    cell = GateL0RDCell(I, H, 4, num_internal_layers=2, gate=gate).double().eval()
    function, point = arguments(cell, (B, H))
    assert torch.autograd.gradcheck(lambda *a: function(*a)[:2], point)


@pytest.mark.parametrize("options", SHAPES[:3], ids=str)
def test_second_derivatives(options):
    function, point = build("sigmoid", options)
    weights = [torch.randn_like(each) for each in function(*point)]

    def loss(*arguments):
        return sum(
            (each * own).sum() for each, own in zip(function(*arguments), weights, strict=True)
        )

    assert torch.autograd.gradgradcheck(loss, point)


@pytest.mark.parametrize("name", CORES)
def test_of_every_core(name):
    torch.manual_seed(0)
    options = {"gate": "sigmoid"} if name == "gatel0rd" else {}
    core = make_core(name, I, 3, num_layers=2, **options).double().eval()
    function, point = arguments(core, (2, B, core.context_size))

    def smooth(x, context, *weights):  # all of the state but the clock, which jumps
        y, state, _ = function(x, core.state_from(context), *weights)
        return y, state[..., : core.context_size]

    assert torch.autograd.gradcheck(smooth, point)
