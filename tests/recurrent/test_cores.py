"""What every core has: states in one tensor, resets, and the values of its peer."""

import numpy as np
import pytest
import torch
from torch import nn

from iap_gym.recurrent import CORES, Core, make_core
from tests.recurrent import naive

T, B, I, H = 9, 3, 4, 5  # noqa: E741
VARIANTS = [(name, layers, {}) for name in CORES for layers in (1, 2, 3)] + [
    ("gatel0rd", 1, {"num_internal_layers": 3, "output_size": 2}),
    ("gatel0rd", 2, {"gate": "heaviside", "output_size": 6}),
    ("gatel0rd", 1, {"gate": "sigmoid", "multiplicative_output": False}),
    ("clockwork", 2, {"periods": [2, 3]}),
]


def make(name, layers, options, dtype=torch.float64):
    torch.manual_seed(0)
    return make_core(name, I, H, num_layers=layers, **options).to(dtype).eval()


def random_state(core, dtype=torch.float64):
    """A state in the middle of a sequence, a clock of 1, 2, 3, ... included."""
    state = core.state_from(torch.randn(core.num_layers, B, core.context_size).to(dtype))
    if core.state_size > core.context_size:
        state[..., -1] = torch.arange(1, B + 1).to(dtype)
    return state


def random_mask():
    mask = torch.rand(T, B, generator=torch.Generator().manual_seed(1)) < 0.3
    mask[0, 0] = mask[T - 1, 1] = True
    mask[:, 2] = False
    return mask


def cut_into_sequences(core, x, state, mask):
    """Each row from reset to reset as a sequence of its own, with no mask at all."""
    columns, states = [], []
    for b in range(x.shape[1]):
        own, pieces, begin = state[:, b : b + 1], [], 0
        for cut in [*(t for t in range(len(x)) if mask[t, b]), len(x)]:
            if cut > begin:
                y, own, _ = core(x[begin:cut, b : b + 1], own)
                pieces.append(y)
            if cut < len(x):
                own = core.initial_state(1)
            begin = cut
        columns.append(torch.cat(pieces))
        states.append(own)
    return torch.cat(columns, dim=1), torch.cat(states, dim=1)


def gradients(core, x, state, y, last):
    weights = torch.Generator().manual_seed(2)
    factors = [torch.randn(e.shape, generator=weights, dtype=torch.float64) for e in (y, last)]
    loss = (y * factors[0]).sum() + (last * factors[1])[..., : core.context_size].sum()
    wanted = (x, state, *core.parameters())
    return torch.autograd.grad(loss, wanted, allow_unused=True, materialize_grads=True)


@pytest.mark.parametrize(("name", "layers", "options"), VARIANTS, ids=str)
def test_a_reset_inside_a_sequence_is_two_sequences(name, layers, options):
    core = make(name, layers, options)
    x = torch.randn(T, B, I, dtype=torch.float64, requires_grad=True)
    state = random_state(core).requires_grad_()
    mask = random_mask()
    y, last, extras = core(x, state, mask)
    assert y.shape == (T, B, core.output_size)
    assert last.shape == (layers, B, core.state_size)
    expected = cut_into_sequences(core, x, state, mask)
    for ours, theirs in zip((y, last), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    ours, theirs = gradients(core, x, state, y, last), gradients(core, x, state, *expected)
    assert all(each.any() for each in theirs[:2])
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    assert not ours[1][:, 0].any()  # reset before its first step, a row forgets its state
    if name == "gatel0rd":
        assert extras["gates"].shape == (T, B, layers * H)
    else:
        assert extras == {}


@pytest.mark.parametrize(("name", "layers", "options"), VARIANTS, ids=str)
def test_a_reset_at_the_first_step_is_the_initial_state(name, layers, options):
    core = make(name, layers, options)
    x = torch.randn(T, B, I, dtype=torch.float64)
    mask = torch.zeros(T, B, dtype=torch.bool)
    mask[0] = True
    fresh = core(x, core.initial_state(B))
    for other in (core(x, random_state(core), mask), core(x), core(x, None, ~mask & False)):
        assert torch.equal(other[0], fresh[0])
        assert torch.equal(other[1], fresh[1])


@pytest.mark.parametrize(("name", "layers", "options"), VARIANTS, ids=str)
def test_states_can_be_sliced_mixed_and_continued(name, layers, options):
    core = make(name, layers, options)
    x = torch.randn(2 * T, B, I, dtype=torch.float64)
    start = random_state(core)
    whole, last, _ = core(x, start)
    first, middle, _ = core(x[:5], start)
    torch.testing.assert_close(first, whole[:5], rtol=0, atol=1e-12)
    order = [2, 0, 2, 1]
    y, end, _ = core(x[5:, order], middle[:, order])
    torch.testing.assert_close(y, whole[5:, order], rtol=0, atol=1e-12)
    torch.testing.assert_close(end, last[:, order], rtol=0, atol=1e-12)
    state = middle[:, 1].clone()  # one step at a time, from a stored state of one sequence
    for t in range(5, 2 * T):
        y, new, _ = core(x[t : t + 1, 1:2], state[:, None])
        torch.testing.assert_close(y[0, 0], whole[t, 1], rtol=0, atol=1e-12)
        state = new[:, 0]


@pytest.mark.parametrize(("name", "layers", "options"), VARIANTS, ids=str)
def test_arguments_are_left_as_they_are_and_results_own_their_memory(name, layers, options):
    core = make(name, layers, options, torch.float32)
    x, state, mask = torch.randn(T, B, I), random_state(core, dtype=torch.float32), random_mask()
    copies = x.clone(), state.clone(), mask.clone()
    y, last, _ = core(x, state, mask)
    for one, other in zip((x, state, mask), copies, strict=True):
        assert torch.equal(one, other)
    kept = y.detach().clone(), last.detach().clone()
    core(torch.randn(T, B, I), last.detach(), mask)
    x.zero_()
    state.zero_()
    assert torch.equal(y, kept[0])
    assert torch.equal(last, kept[1])


@pytest.mark.parametrize("name", CORES)
def test_sizes(name):
    core = make_core(name, I, H, num_layers=2)
    assert (core.input_size, core.hidden_size, core.output_size, core.num_layers) == (I, H, H, 2)
    assert core.context_size == (2 * H if name == "lstm" else H)
    assert core.state_size == core.context_size + (name == "clockwork")
    state = core.initial_state(7)
    assert state.shape == (2, 7, core.state_size)
    assert not state.any()
    assert core.double().initial_state(7).dtype == torch.float64
    assert make_core(name, np.int64(I), np.int64(H)).state_size == core.state_size


class Sum(Core):
    """A core without weights, and perhaps with a buffer."""

    name = "sum"

    def __init__(self, numbers=None):
        super().__init__(H, H)
        if numbers is not None:
            self.register_buffer("counted", torch.zeros(1, dtype=torch.int64))
            self.register_buffer("numbers", numbers)

    def run(self, x, state, reset_mask):
        y = state + x.cumsum(0)
        return y, y[-1:], {}


@pytest.mark.parametrize(
    ("numbers", "dtype"), [(None, torch.float32), (torch.zeros(2).double(), torch.float64)]
)
def test_a_core_without_weights_has_the_dtype_of_its_buffers_or_torchs_own(numbers, dtype):
    core = Sum(numbers)
    state = core.initial_state(B)
    assert state.dtype == core.state_from(torch.ones(1, B, H, dtype=dtype)).dtype == dtype
    y, last, _ = core(torch.ones(T, B, H, dtype=dtype))
    assert (last == T).all()
    assert torch.equal(core(torch.ones(T, B, H, dtype=dtype), state)[0], y)
    with pytest.raises(ValueError, match=f"^x: expected a tensor, {str(dtype)[6:]} of shape"):
        core(torch.ones(T, B, H, dtype=torch.float16))


@pytest.mark.parametrize("name", CORES)
def test_empty_sequences(name):
    core = make_core(name, I, H, num_layers=2).eval()
    state = random_state(core, dtype=torch.float32)
    mask = torch.zeros(0, B, dtype=torch.bool)
    for reset_mask in (None, mask):
        y, last, _ = core(torch.zeros(0, B, I), state, reset_mask)
        assert y.shape == (0, B, H)
        assert torch.equal(last, state)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("peer", [nn.LSTM, nn.GRU, nn.RNN])
def test_the_same_weights_give_the_numbers_of_torch(peer, layers):
    name = {nn.LSTM: "lstm", nn.GRU: "gru", nn.RNN: "elman"}[peer]
    network = peer(I, H, layers)
    core = make_core(name, I, H, num_layers=layers)
    weights = dict(zip(core.state_dict(), network.state_dict().values(), strict=True))
    core.load_state_dict(weights)
    x, h, c = torch.randn(T, B, I), torch.randn(layers, B, H), torch.randn(layers, B, H)
    if peer is nn.LSTM:
        y, (h, c) = network(x, (h0 := h, c0 := c))
        ours = core(x, torch.cat((h0, c0), dim=-1))
        assert torch.equal(ours[1], torch.cat((h, c), dim=-1))
    else:
        y, last = network(x, h)
        ours = core(x, h)
        assert torch.equal(ours[1], last)
    assert torch.equal(ours[0], y)


def test_elman_by_its_formula():
    core = make_core("elman", I, H).double()
    weights = [naive.lifted(each.detach()) for each in core.parameters()]
    weight_x, weight_h, bias_x, bias_h = weights
    x, h = torch.randn(T, 1, I, dtype=torch.float64), [0.0] * H
    y = core(x)[0]
    for t in range(T):
        h = naive.elman_step(weight_x, bias_x, weight_h, bias_h, x[t, 0].tolist(), h)
        expected = torch.tensor(naive.values(h), dtype=torch.float64)
        torch.testing.assert_close(y[t, 0], expected, rtol=0, atol=1e-12)
