"""The compiled sequence and its gradients against torch, in float64 where numbers are compared."""

import copy
import multiprocessing
import pickle
import threading

import pytest
import torch

pytest.importorskip("numba")

from iap_gym.recurrent import GATES, GateL0RD, GateL0RDCell, backends, gate_penalty
from iap_gym.recurrent.sequence import run_torch


class Case:
    """A cell, a sequence, and random gradients of what comes out."""

    def __init__(self, time, batch, inputs, hidden, *, seed=0, masked=False, noisy=True, **options):
        torch.manual_seed(seed)
        self.cell = GateL0RDCell(inputs, hidden, **options)
        self.x = torch.randn(time, batch, inputs, requires_grad=True)
        self.h = torch.randn(batch, hidden, requires_grad=True)
        self.mask = torch.rand(time, batch) < 0.3 if masked else None
        self.noise = 0.1 * torch.randn(time, batch, hidden) if noisy else None
        shapes = (time, batch, self.cell.output_size), (batch, hidden), (time, batch, hidden)
        self.d_outputs = [torch.randn(shape) for shape in shapes]

    @property
    def arguments(self):
        return self.x, self.h, self.mask, self.noise

    def run(self, backend="numba"):
        return backends.run(self.cell, *self.arguments, backend)

    def gradients(self, outputs, heard=(0, 1, 2), wanted=None):
        """Return those of x, h and all parameters."""
        inputs = [self.x, self.h, *self.cell.parameters()] if wanted is None else wanted
        loss = sum((outputs[i] * self.d_outputs[i].to(outputs[i].dtype)).sum() for i in heard)
        return torch.autograd.grad(loss, inputs, allow_unused=True)

    def double(self):
        other = copy.copy(self)
        other.cell = copy.deepcopy(self.cell).double()
        other.x, other.h = (z.detach().double().requires_grad_() for z in (self.x, self.h))
        other.noise = None if self.noise is None else self.noise.double()
        return other

    def check(self, heard=(0, 1, 2), tolerance=1e-5):
        """Compare with torch in float64, relatively to the largest number of each tensor."""
        exact = self.double()
        expected = run_torch(exact.cell, *exact.arguments)
        actual = self.run()
        assert torch.equal(actual[2], expected[2].float()) or self.cell.gate == "sigmoid"
        pairs = list(zip(actual, expected, strict=True))
        pairs += zip(self.gradients(actual, heard), exact.gradients(expected, heard), strict=True)
        for found, wanted in pairs:
            assert (found is None) == (wanted is None)
            if found is not None:
                assert found.dtype == torch.float32
                assert found.shape == wanted.shape
                # Terms are of about 1; of their sum over steps and sequences little may be left.
                scale = wanted.abs().max().clamp(min=1.0)
                assert (found - wanted).abs().max() <= tolerance * scale
        with torch.no_grad():
            for found, wanted in zip(self.run(), actual, strict=True):
                assert torch.equal(found, wanted)
                assert not found.requires_grad


# T, B, I, H, O: blocks of several steps and of one, whole tiles and leftovers.
SHAPES = [
    (1, 1, 1, 1, 1),
    (1, 16, 64, 64, 64),
    (50, 1, 16, 8, 8),
    (50, 2, 3, 7, 5),
    (9, 7, 11, 16, 40),
    (3, 130, 33, 9, 1),
    (6, 128, 16, 8, 8),
    (32, 8, 64, 64, 64),
    (2, 16, 70, 70, 33),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("internal", [1, 3])
def test_equals_torch(shape, masked, internal):
    *sizes, outputs = shape
    for gate in GATES:
        Case(
            *sizes, masked=masked, output_size=outputs, num_internal_layers=internal, gate=gate
        ).check()


@pytest.mark.parametrize("seed", range(25))
def test_equals_torch_for_random_sizes_and_options(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(low, high):
        return int(torch.randint(low, high + 1, (), generator=generator))

    Case(
        draw(1, 30),
        draw(1, 40),
        draw(1, 40),
        draw(1, 40),
        seed=seed,
        masked=bool(draw(0, 1)),
        noisy=bool(draw(0, 1)),
        output_size=draw(1, 40),
        num_internal_layers=draw(1, 3),
        gate=list(GATES)[draw(0, 2)],
        multiplicative_output=bool(draw(0, 1)),
    ).check()


@pytest.mark.parametrize("heard", [(0,), (1,), (2,), (0, 1), (1, 2)])
@pytest.mark.parametrize("internal", [1, 2])
def test_equals_torch_where_a_loss_looks_at_some_outputs(heard, internal):
    Case(12, 5, 6, 10, masked=True, num_internal_layers=internal).check(heard)


def test_equals_torch_over_a_long_sequence():
    Case(2000, 3, 4, 8, masked=True).check(tolerance=1e-4)


@pytest.mark.parametrize("gate", GATES)
def test_every_gradient_alone(gate):
    case = Case(7, 3, 4, 5, gate=gate, masked=True, num_internal_layers=2)
    inputs = [case.x, case.h, *case.cell.parameters()]
    together = case.gradients(case.run())
    for index in range(len(inputs)):
        for other, tensor in enumerate(inputs):
            tensor.requires_grad_(other == index)
        (alone,) = case.gradients(case.run(), wanted=[inputs[index]])
        assert torch.equal(alone, together[index])


def test_nothing_is_kept_where_nothing_requires_a_gradient():
    case = Case(7, 3, 4, 5)
    case.cell.requires_grad_(False)
    case.x.requires_grad_(False)
    case.h.requires_grad_(False)
    assert not any(z.requires_grad for z in case.run())
    case.h.requires_grad_()
    assert all(z.requires_grad for z in case.run())


def test_views_with_gaps_are_read_as_they_are():
    case = Case(9, 6, 4, 5, masked=True)
    expected = case.run()
    gradients = case.gradients(expected)
    wide = torch.randn(6, 9, 8)
    wide[..., ::2] = case.x.detach().transpose(0, 1)
    case.x = wide[..., ::2].transpose(0, 1).requires_grad_()
    case.h = case.h.detach().T.contiguous().T.requires_grad_()
    case.mask = case.mask.T.contiguous().T
    case.noise = case.noise.repeat(1, 1, 2)[..., :5]
    with torch.no_grad():
        weight = case.cell.g[0].weight
        case.cell.g[0].weight = torch.nn.Parameter(weight.T.contiguous().T)
    case.d_outputs[0] = case.d_outputs[0].transpose(0, 1).contiguous().transpose(0, 1)
    assert not any(z.is_contiguous() for z in (*case.arguments, case.cell.g[0].weight))
    outputs = case.run()
    assert all(map(torch.equal, outputs, expected))
    assert all(map(torch.equal, case.gradients(outputs), gradients))


def test_a_negated_view_is_read_with_its_sign():
    numbers = torch.randn(5, 2, 3, dtype=torch.complex64)
    x = numbers.conj().imag
    assert x.is_neg()
    cell = GateL0RDCell(3, 4)
    arguments = torch.zeros(2, 4), None, None, "numba"
    outputs = backends.run(cell, x, *arguments)
    assert torch.equal(outputs[0], backends.run(cell, x.clone(), *arguments)[0])
    (y,) = torch.autograd.grad(outputs[0], cell.p.weight, x[..., :1].expand(5, 2, 4))
    outputs = backends.run(cell, x, *arguments)
    expected = x[..., :1].clone().expand(5, 2, 4)
    assert torch.equal(y, torch.autograd.grad(outputs[0], cell.p.weight, expected)[0])


@pytest.mark.parametrize("gate", ["retanh", "heaviside"])
@pytest.mark.parametrize("batch", [1, 40])
def test_a_closed_gate_leaves_the_state_as_it_is_to_the_bit(gate, batch):
    case = Case(30, batch, 4, 9, gate=gate, noisy=False)
    with torch.no_grad():
        case.cell.g[0].weight[:5] = 0
        case.cell.g[0].bias[:5] = torch.tensor([-1e-40, -1.0, -1e4, 0.0, -0.0])
    h0 = torch.randn(batch, 9) * torch.tensor([1e-40, 1e-20, 1.0, 1e4, 1e20, 1, 1, 1, 1])
    case.h = h0.clone()
    _, h, gates = case.run()
    assert torch.equal(h[:, :5].view(torch.int32), h0[:, :5].view(torch.int32))
    assert not gates[..., :5].any()


def test_the_smallest_argument_opens_a_gate():
    case = Case(3, 5, 4, 9, noisy=False)
    with torch.no_grad():
        case.cell.g[0].weight.zero_()
        case.cell.g[0].bias.fill_(2.0**-149)
    outputs = case.run()
    assert (outputs[2] == 1).all()
    gradients = case.gradients(outputs)
    expected = case.gradients(case.run("torch"))
    for found, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [1e-40, 1e-20, 1e2, 1e4, 1e18])
@pytest.mark.parametrize("gate", GATES)
def test_extreme_inputs(size, gate):
    case = Case(6, 9, 5, 10, gate=gate)
    case.x = (case.x.detach() * size).requires_grad_()
    expected = case.run("torch")
    actual = case.run()
    for found, wanted in zip(actual, expected, strict=True):
        assert found.isfinite().all()
        # In sums of terms of 1e4 some 1e-3 is rounded, of those of 1e18 only the sign matters.
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-3 if size == 1e4 else 1e-6)
    assert actual[0].abs().max() <= 1
    assert actual[2].min() >= 0
    assert actual[2].max() <= 1
    # A sum of so large numbers is rounded to any side of a threshold.
    if size < 1e4:
        pairs = zip(case.gradients(actual), case.gradients(expected), strict=True)
        for found, wanted in pairs:
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5 * max(1.0, size))


@pytest.mark.parametrize("gate", GATES)
def test_nan_comes_out_of_the_sequences_that_it_went_into(gate):
    case = Case(8, 5, 3, 4, gate=gate)
    with torch.no_grad():
        case.x[3, 2] = torch.nan
    outputs = case.run()
    y, h, gates = (z.detach().isnan() for z in outputs)
    expected = torch.zeros(8, 5, dtype=torch.bool)
    expected[3:, 2] = True
    for found in (y, gates):
        assert torch.equal(found, expected[..., None].expand_as(found))
    assert torch.equal(h, expected[-1][:, None].expand_as(h))
    dx, dh, *weights = case.gradients(outputs)
    others = [0, 1, 3, 4]
    assert dx[:, others].isfinite().all()
    assert dh[others].isfinite().all()
    assert dh[2].isnan().all()
    assert all(weight.isnan().any() for weight in weights)


def test_a_reset_forgets_nan():
    case = Case(6, 2, 3, 4)
    case.mask = torch.zeros(6, 2, dtype=torch.bool)
    case.mask[3, 1] = True
    with torch.no_grad():
        case.x[1, 1] = torch.nan
    y, h, _ = case.run()
    assert y[3:].isfinite().all()
    assert h.isfinite().all()


def test_backward_twice_and_after_a_change():
    case = Case(6, 2, 3, 4)
    outputs = case.run()
    loss = (outputs[0] ** 2).mean() + gate_penalty(outputs[2])
    first = torch.autograd.grad(loss, case.x, retain_graph=True)[0]
    assert torch.equal(first, torch.autograd.grad(loss, case.x, retain_graph=True)[0])
    with torch.no_grad():
        case.cell.p.weight.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(loss, case.x)


def test_outputs_may_be_changed_in_place():
    case = Case(6, 2, 3, 4)
    expected = case.gradients(case.run())
    outputs = case.run()
    inputs = [case.x, case.h, *case.cell.parameters()]
    loss = sum((z * d).sum() for z, d in zip(outputs, case.d_outputs, strict=True))
    with torch.no_grad():
        for output in outputs:
            output.view(-1)[0] = 7.0
    loss = sum((z * d).sum() for z, d in zip(outputs, case.d_outputs, strict=True))
    assert all(map(torch.equal, torch.autograd.grad(loss, inputs), expected))


def test_weights_are_read_anew_at_every_call():
    case = Case(6, 2, 3, 4)
    before = case.run()[0]
    case.cell.r[0].weight.data.neg_()
    after = case.run()[0]
    assert not torch.equal(before, after)
    torch.testing.assert_close(after, case.run("torch")[0])


def test_stacked_cells_train_as_with_torch():
    torch.manual_seed(0)
    compiled = GateL0RD(3, 8, 5, num_layers=3, gate_noise=0.0, backend="numba")
    plain = GateL0RD(3, 8, 5, num_layers=3, gate_noise=0.0, backend="torch")
    plain.load_state_dict(compiled.state_dict())
    x, mask = torch.randn(20, 6, 3), torch.rand(20, 6) < 0.1
    optimizers = [torch.optim.SGD(m.parameters(), 0.5) for m in (compiled, plain)]
    for _ in range(5):
        for model, optimizer in zip((compiled, plain), optimizers, strict=True):
            y, h, gates = model(x, None, mask)
            optimizer.zero_grad()
            (y.square().mean() + h.square().mean() + 0.1 * gate_penalty(gates)).backward()
            optimizer.step()
    for ours, theirs in zip(compiled.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_modules_are_copied_and_pickled_after_a_backward():
    network = GateL0RD(3, 4, backend="numba")
    x = torch.randn(5, 2, 3)
    y, _, gates = network(x)
    (y.sum() + gates.sum()).backward()
    network.eval()
    for twin in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert all(map(torch.equal, twin(x), network(x)))


def test_gradients_may_be_differentiated():
    case = Case(5, 3, 4, 6, masked=True, num_internal_layers=2)

    def penalty(backend):
        outputs = case.run(backend)
        loss = sum(z.square().sum() for z in outputs)
        inputs = [case.x, case.h, *case.cell.parameters()]
        first = torch.autograd.grad(loss, inputs, create_graph=True)
        return torch.autograd.grad(sum(d.square().sum() for d in first), inputs)

    for found, wanted in zip(penalty("numba"), penalty("torch"), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_several_gradients_at_once():
    case = Case(3, 2, 4, 5)
    outputs = case.run()
    basis = torch.randn(6, *outputs[0].shape)
    (batched,) = torch.autograd.grad(
        outputs[0], case.x, basis, is_grads_batched=True, retain_graph=True
    )
    for found, d in zip(batched, basis, strict=True):
        expected = torch.autograd.grad(outputs[0], case.x, d, retain_graph=True)[0]
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_threads_do_not_share_memory():
    # The kernels release the interpreter lock.
    cases = [Case(20, 3 + seed, 5, 9, seed=seed, masked=seed % 2 == 0) for seed in range(4)]
    expected = [case.gradients(case.run()) for case in cases]
    failures = []

    def work(case, right):
        for _ in range(40):
            if not all(map(torch.equal, case.gradients(case.run()), right)):
                failures.append(case)

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(cases, expected, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def _in_child(queue, case):
    queue.put([gradient.tolist() for gradient in case.gradients(case.run())])


def test_forked_processes_compute_alike():
    case = Case(20, 3, 5, 9)
    expected = [gradient.tolist() for gradient in case.gradients(case.run())]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue, case))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(timeout=60)
    assert child.exitcode == 0
