"""The Clockwork RNN against its paper's equations."""

import pytest
import torch

from iap_gym.recurrent import make_core
from tests.recurrent import naive

I = 3  # noqa: E741


@pytest.mark.parametrize(
    ("hidden", "periods", "of_units"),
    [
        (6, (1, 4, 8), [1, 1, 4, 4, 8, 8]),
        (8, (1, 4, 8), [1, 1, 1, 4, 4, 4, 8, 8]),
        (7, [2, 3, 5], [2, 2, 2, 3, 3, 5, 5]),
        (2, (3,), [3, 3]),
    ],
)
@pytest.mark.parametrize("layers", [1, 2])
def test_every_unit_at_every_tick(hidden, periods, of_units, layers):
    torch.manual_seed(0)
    core = make_core("clockwork", I, hidden, num_layers=layers, periods=periods).double()
    x = torch.randn(40, 2, I, dtype=torch.float64)
    mask = torch.zeros(40, 2, dtype=torch.bool)
    mask[13, 0] = mask[29, 0] = True
    y, state, _ = core(x, None, mask)
    weights = [
        [
            naive.lifted(each.detach())
            for each in (
                core.from_input[i].weight,
                core.from_input[i].bias,
                core.from_state[i].weight,
            )
        ]
        for i in range(layers)
    ]
    for b in range(2):
        h, clock = [[0.0] * hidden for _ in range(layers)], 0
        for t in range(40):
            if mask[t, b]:
                h, clock = [[0.0] * hidden for _ in range(layers)], 0
            inputs = x[t, b].tolist()
            for layer in range(layers):
                h[layer] = naive.clockwork_step(*weights[layer], of_units, clock, inputs, h[layer])
                inputs = h[layer]
            clock += 1
            expected = torch.tensor(naive.values(inputs), dtype=torch.float64)
            torch.testing.assert_close(y[t, b], expected, rtol=0, atol=1e-12)
        expected = torch.tensor(naive.values(h), dtype=torch.float64)
        torch.testing.assert_close(state[:, b, :-1], expected, rtol=0, atol=1e-12)


def test_units_that_are_not_due_stay_as_they_are_to_the_bit():
    core = make_core("clockwork", I, 9, periods=(1, 2, 8))
    y = core(torch.randn(32, 4, I))[0]
    for t in range(1, 32):
        changed = (y[t].view(torch.int32) != y[t - 1].view(torch.int32)).all(dim=0)
        due = [True] * 3 + [t % 2 == 0] * 3 + [t % 8 == 0] * 3
        assert changed.tolist() == due
        same = (y[t].view(torch.int32) == y[t - 1].view(torch.int32)).all(dim=0)
        assert same.tolist() == [not each for each in due]


def test_weights_from_faster_units_have_no_effect_and_no_gradient():
    core = make_core("clockwork", I, 6)
    core(torch.randn(9, 2, I))[0].square().sum().backward()
    gradient = core.from_state[0].weight.grad
    faster = torch.tensor([1, 1, 4, 4, 8, 8])
    blocked = faster[None, :] < faster[:, None]
    assert not gradient[blocked].any()
    assert gradient[~blocked].all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_clock_does_not_run_out_of_integers(dtype):
    """bfloat16 counts to 256 alone; sequences of a stored state may be endless."""
    core = make_core("clockwork", 1, 3, periods=(1, 4, 6)).to(dtype)
    x = torch.randn(1, 1, 1).to(dtype).expand(600, 1, 1)
    y, state, _ = core(x)
    assert state[0, 0, -1] == 600 % 12
    slowest = y[:, 0, 2]
    changes = (slowest[1:] != slowest[:-1]).nonzero().flatten() + 1
    assert all(int(t) % 6 == 0 for t in changes)
    one_by_one = core(x[:300])[1]
    y_late = core(x[300:], one_by_one)[0]
    assert torch.equal(y_late, y[300:])


@pytest.mark.parametrize(
    ("dtype", "counted"),
    [(torch.bfloat16, 2**8), (torch.float16, 2**11), (torch.float32, 2**24)],
)
def test_a_clock_that_would_run_out_of_integers_is_refused(dtype, counted):
    last = torch.tensor(counted, dtype=dtype)
    assert ((last - 1).item(), (last + 1).item()) == (counted - 1, counted)
    longest = make_core("clockwork", 1, 2, periods=(1, counted)).to(dtype)
    x, state = torch.zeros(2, 1, 1, dtype=dtype), longest.initial_state(1)
    state[..., -1] = counted - 2
    assert longest(x[:1], state)[1][0, 0, -1] == counted - 1
    assert longest(x, state)[1][0, 0, -1] == 0
    core = make_core("clockwork", 1, 2, periods=(2, counted + 1)).to(dtype)
    name = str(dtype).removeprefix("torch.")
    message = f"periods: expected .* at most {counted}, to which {name} counts, got .*{counted + 1}"
    with pytest.raises(ValueError, match=message):
        core(x)
    core.double()(x.double())
