"""The context network, and the models of the paper put together from our pieces."""

import pytest
import torch
from torch import nn

from iap_gym.recurrent import CORES, ContextNetwork, make_core
from iap_gym.recurrent.cell import tanh_layers
from tests.recurrent import naive

NAMES = ("gatel0rd", "lstm", "gru", "elman")


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize(("num_inputs", "widths"), [(1, None), (2, [6]), (3, ())])
def test_a_tanh_after_every_map_of_the_first_inputs(name, num_inputs, widths):
    core = make_core(name, 4, 3, num_layers=2)
    network = ContextNetwork(2, core, num_inputs, widths).double()
    x = torch.randn(3, 5, 2, dtype=torch.float64)
    context = network(x)
    assert context.shape == (2, 5, core.context_size)
    inner = (12, 6) if widths is None else tuple(widths)
    for layer, weights in enumerate(network.layers):
        linear = [each for each in weights if isinstance(each, nn.Linear)]
        assert [each.out_features for each in linear] == [*inner, core.context_size]
        pairs = [(naive.lifted(m.weight.detach()), naive.lifted(m.bias.detach())) for m in linear]
        for b in range(5):
            joined = [number for t in range(num_inputs) for number in x[t, b].tolist()]
            last = [naive.tanh(number) for number in naive.network(pairs, joined)]
            expected = torch.tensor(naive.values(last), dtype=torch.float64)
            torch.testing.assert_close(context[layer, b], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", CORES)
def test_a_sequence_may_begin_with_a_context(name):
    torch.manual_seed(0)
    core = make_core(name, 4, 3, num_layers=2).eval()
    network = ContextNetwork(4, core)
    x = torch.randn(5, 2, 4)
    state = core.state_from(network(x))
    assert state.shape == core.initial_state(2).shape
    assert not state[..., core.context_size :].any()  # a clock begins at 0
    with_context = core(x, state)[0]
    with_context.sum().backward()
    assert all(parameter.grad.any() for parameter in network.parameters())
    assert not torch.equal(with_context, core(x)[0])
    nothing = core.state_from(torch.zeros(2, 2, core.context_size))
    assert torch.equal(nothing, core.initial_state(2))


# Numbers of trained parameters of the published code's models, GateL0RD, LSTM, GRU and Elman, and
# what they consist of: observation and action, H, feature size, widths of f_pre, inner widths of
# f_init and the inputs that it sees, internal layers of GateL0RD, stacked layers of the others.
SCENARIOS = {
    "Billiard Ball": ((2, 0), 8, 16, (64, 32), (64, 32), 2, 3, 3, (9226, 13586, 12298, 11306)),
    "Robot Remote Control": ((4, 2), 8, 8, (32, 16), (16,), 1, 1, 1, (1716, 1884, 1604, 1316)),
    "Shepherd": ((7, 3), 8, 16, (64, 32), (64, 32), 2, 1, 1, (8319, 8159, 7687, 7271)),
    "Fetch Pick&Place": ((11, 4), 16, 16, (64, 32), (32,), 1, 1, 1, (6971, 7563, 6491, 5403)),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("which", range(4), ids=NAMES)
def test_the_models_of_the_paper_have_its_numbers_of_parameters(scenario, which):
    sizes, hidden, feature, pre, init, seen, internal, stacked, published = SCENARIOS[scenario]
    observation, inputs = sizes[0], sum(sizes)
    if NAMES[which] == "gatel0rd":
        options = {"output_size": feature, "num_internal_layers": internal}
    else:
        options = {"num_layers": stacked}
    core = make_core(NAMES[which], feature, hidden, **options)
    model = nn.ModuleDict(
        {
            "pre": tanh_layers([inputs, *pre, feature]),
            "core": core,
            "post": nn.Linear(core.output_size, observation),
            "init": ContextNetwork(inputs, core, num_inputs=seen, widths=init),
        }
    )
    ours = sum(parameter.numel() for parameter in model.parameters())
    # torch's recurrent networks have two biases where an affine map has one.
    assert ours == published[which]
