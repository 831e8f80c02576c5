"""Gates that stay closed, noise, parameters and their initialisation."""

import itertools
import math

import pytest
import torch

from iap_gym.recurrent import GATES, GateL0RD, GateL0RDCell


def close_gates(cell, units):
    """Shut some gates for every input in (-10, 10)."""
    with torch.no_grad():
        last = cell.g[-1]
        last.weight[units] *= 0.01
        last.bias[units] = -100.0


@pytest.mark.parametrize("gate", ["retanh", "heaviside"])
@pytest.mark.parametrize("internal", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("batch", [1, 37])
def test_a_closed_gate_leaves_the_state_as_it_is_to_the_bit(gate, internal, dtype, batch):
    torch.manual_seed(0)
    network = GateL0RD(3, 8, gate=gate, num_internal_layers=internal).to(dtype)
    units = [0, 3, 7]
    close_gates(network.cells[0], units)
    h0 = torch.randn(batch, 8).to(dtype)
    h0[0, units] = torch.tensor([1e-30, -3.0, 0.0]).to(dtype)
    _, h, gates = network(torch.randn(400, batch, 3).to(dtype), h0)
    assert not gates[..., units].any()
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    assert torch.equal(h[:, units].contiguous().view(bits), h0[:, units].contiguous().view(bits))
    others = [1, 2, 4, 5, 6]
    assert gates[..., others].any()
    assert not torch.equal(h[:, others], h0[:, others])


def test_minus_zero_becomes_zero_in_a_closed_gate():
    network = GateL0RD(3, 8)
    close_gates(network.cells[0], slice(None))
    h = network(torch.randn(5, 2, 3), torch.full((2, 8), -0.0))[1]
    assert torch.equal(h, torch.zeros(2, 8))


def test_an_open_heaviside_gate_replaces_the_state():
    """Nothing of the old state is left, whatever its size."""
    cell = GateL0RDCell(3, 8, gate="heaviside")
    with torch.no_grad():
        cell.g[-1].bias.fill_(1e12)
    x, h = torch.randn(5, 3), 1e6 * torch.randn(5, 8)
    assert torch.equal(cell(x, h)[1], torch.tanh(cell.r(torch.cat((x, h), dim=-1))))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("sigma", [0.1, 0.5])
def test_noise_of_training_has_the_standard_deviation(sigma, layers):
    network = GateL0RD(2, 8, gate="sigmoid", gate_noise=sigma, num_layers=layers).double()
    with torch.no_grad():
        for cell in network.cells:  # s = e: neither input nor state reaches the gates
            cell.g[-1].weight.zero_()
            cell.g[-1].bias.zero_()
    time, batch = 500, 20
    x = torch.zeros(time, batch, 2, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    e = torch.logit(network(x, generator=generator)[2])
    n = e.numel()
    assert abs(e.mean()) < 4 * sigma / math.sqrt(n)
    assert abs(e.std() - sigma) < 4 * sigma / math.sqrt(2 * n)
    assert abs((e**4).mean() / sigma**4 - 3) < 4 * math.sqrt(96 / n)  # of a normal distribution
    for pair in ((e[1:], e[:-1]), (e[:, 1:], e[:, :-1]), (e[..., 1:], e[..., :-1])):
        correlation = (pair[0] * pair[1]).mean() / sigma**2
        assert abs(correlation) < 4 / math.sqrt(pair[0].numel())
    assert not torch.logit(network.eval()(x)[2]).any()


@pytest.mark.parametrize("gate", GATES)
def test_noise_is_drawn_in_training_alone_and_from_the_generator(gate):
    network = GateL0RD(3, 8, gate=gate)
    cell = network.cells[0]
    x = torch.randn(6, 4, 3)

    def outputs(seed):
        generator = torch.Generator().manual_seed(seed)
        return network(x, generator=generator)[0], cell(x[0], generator=generator)[0]

    before = torch.get_rng_state()
    first, again, other = outputs(0), outputs(0), outputs(1)
    assert torch.equal(torch.get_rng_state(), before)
    for a, b, c in zip(first, again, other, strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
    network(x)
    assert not torch.equal(torch.get_rng_state(), before)

    torch.set_rng_state(before)
    network.eval()
    assert torch.equal(network(x)[0], network(x)[0])
    assert torch.equal(torch.get_rng_state(), before)
    quiet = GateL0RD(3, 8, gate=gate, gate_noise=0.0)
    assert torch.equal(quiet(x)[0], quiet(x)[0])


@pytest.mark.parametrize("output_size", [None, 5])
@pytest.mark.parametrize("internal", [1, 2, 3])
def test_four_affine_maps_with_one_bias_each_and_nothing_else(internal, output_size):
    inputs, hidden = 7, 4
    outputs = output_size or hidden
    cell = GateL0RDCell(inputs, hidden, output_size, num_internal_layers=internal)
    sizes = [inputs + hidden, *[2**n * hidden for n in reversed(range(internal))]]
    expected = {}
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
        for network in "gr":
            expected[f"{network}.{2 * i}.weight"] = (fan_out, fan_in)
            expected[f"{network}.{2 * i}.bias"] = (fan_out,)
    for name in "po":
        expected[f"{name}.weight"] = (outputs, inputs + hidden)
        expected[f"{name}.bias"] = (outputs,)
    assert {name: tuple(p.shape) for name, p in cell.named_parameters()} == expected
    assert all(p.requires_grad for p in cell.parameters())
    assert not list(cell.buffers())

    without = GateL0RDCell(inputs, hidden, output_size, internal, multiplicative_output=False)
    kept = {name for name in expected if not name.startswith("o")}
    assert {name for name, _ in without.named_parameters()} == kept
    stacked = GateL0RD(inputs, hidden, output_size, internal, num_layers=3)
    sizes = [(cell.input_size, cell.output_size) for cell in stacked.cells]
    assert sizes == [(inputs, outputs), (outputs, outputs), (outputs, outputs)]
    assert not list(stacked.buffers())


def test_weights_and_biases_begin_uniform_within_one_over_the_root_of_fan_in():
    torch.manual_seed(0)
    cell = GateL0RDCell(300, 100, num_internal_layers=2)
    for name in ("g.0", "g.2", "r.0", "r.2", "p", "o"):
        layer = cell.get_submodule(name)
        bound = 1 / math.sqrt(layer.in_features)
        for parameter in (layer.weight, layer.bias):
            n = parameter.numel()
            assert parameter.abs().max() <= bound
            assert abs(parameter.mean()) < 4 * bound / math.sqrt(3 * n)
            # the square of a uniform number in (-b, b) has mean b²/3 and variance 4b⁴/45
            spread = abs((parameter**2).mean() - bound**2 / 3)
            assert spread < 4 * math.sqrt(4 / 45 / n) * bound**2


def test_empty_and_single():
    network = GateL0RD(3, 4, 2, num_layers=2)
    h0 = torch.randn(2, 5, 4)
    y, h, gates = network(torch.zeros(0, 5, 3), h0, torch.zeros(0, 5, dtype=torch.bool))
    assert (y.shape, gates.shape) == ((0, 5, 2), (0, 5, 8))
    assert torch.equal(h, h0)
    y, h, gates = network(torch.zeros(4, 0, 3))
    assert (y.shape, h.shape, gates.shape) == ((4, 0, 2), (2, 0, 4), (4, 0, 8))
    y, h, gates = network(torch.zeros(1, 1, 3))
    assert (y.shape, h.shape, gates.shape) == ((1, 1, 2), (2, 1, 4), (1, 1, 8))
    assert GateL0RD(3, 4)(torch.zeros(2, 1, 3))[1].shape == (1, 4)
