"""Cells and cores as torch modules: copies, dtypes, devices, compilation."""

import copy
import io
import pickle
import shutil

import pytest
import torch
from torch.nn.utils import prune

from iap_gym.recurrent import CORES, GATES, GateL0RD, GateL0RDCell, gate_penalty, make_core

T, B, I, H = 6, 3, 4, 5  # noqa: E741
MODULES = {
    "cell": lambda: GateL0RDCell(I, H, 3, num_internal_layers=2),
    "sequence": lambda: GateL0RD(I, H, 3, num_layers=2),
    **{name: lambda name=name: make_core(name, I, H, num_layers=2) for name in CORES},
}


def build(kind):
    torch.manual_seed(0)
    return MODULES[kind]()


def inputs(module, dtype=torch.float32, device="cpu"):
    shape = (B, I) if isinstance(module, GateL0RDCell) else (T, B, I)
    generator = torch.Generator().manual_seed(1)
    return torch.randn(shape, generator=generator).to(device, dtype)


def reset_mask():
    mask = torch.zeros(T, B, dtype=torch.bool)
    mask[0, 0] = mask[3, 1] = True
    return mask


def flat(results):
    """The tensors of what a module returns."""
    for each in results:
        yield from each.values() if isinstance(each, dict) else (each,)


def train_once(module, x):
    """One backward pass, whose graph is kept alive by what is returned."""
    results = list(flat(module(x)))
    sum(each.sum() for each in results).backward()
    return results


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda module: pickle.loads(pickle.dumps(module)),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", MODULES)
def test_copies_after_a_backward_pass_work_on_their_own(kind, how):
    module = build(kind)
    alive = train_once(module, inputs(module))
    assert alive[0].grad_fn is not None
    twin = COPIES[how](module)
    twin.eval()
    module.eval()
    x = inputs(module)
    for one, other in zip(flat(module(x)), flat(twin(x)), strict=True):
        assert torch.equal(one, other)
    before = [parameter.clone() for parameter in module.parameters()]
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(1.0)
    for one, other in zip(module.parameters(), before, strict=True):
        assert torch.equal(one, other)
    train_once(twin, x)


@pytest.mark.parametrize("kind", MODULES)
def test_state_dict_round_trip(kind):
    module, other = build(kind).eval(), MODULES[kind]().eval()
    x = inputs(module)
    assert not torch.equal(module(x)[0], other(x)[0])
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    for one, two in zip(flat(module(x)), flat(other(x)), strict=True):
        assert torch.equal(one, two)
    assert set(module.state_dict()) == {name for name, _ in module.named_parameters()}


@pytest.mark.parametrize("kind", MODULES)
def test_float64_is_float32_with_more_digits(kind):
    module = build(kind).eval()
    x = inputs(module)
    single = list(flat(module(x)))
    double = list(flat(copy.deepcopy(module).to(torch.float64)(x.double())))
    for one, other in zip(single, double, strict=True):
        assert (one.dtype, other.dtype) == (torch.float32, torch.float64)
        torch.testing.assert_close(one.double(), other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", MODULES)
def test_everything_moves_with_the_module(kind):
    """The device "meta" has shapes alone, so that whatever stays on the CPU is an error."""
    module = build(kind).to("meta")
    assert all(each.is_meta for each in [*module.parameters(), *module.buffers()])
    results = list(flat(module(inputs(module, device="meta"))))
    assert all(each.is_meta for each in results)
    here = list(flat(build(kind)(inputs(module))))
    assert [each.shape for each in results] == [each.shape for each in here]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("kind", MODULES)
def test_autocast(kind, backward):
    module = build(kind).eval()
    x = inputs(module)
    exact = list(flat(module(x)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for argument in (x, x.bfloat16()):
            results = list(flat(module(argument)))
            for one, other in zip(results[:2], exact[:2], strict=True):
                assert (one.float() - other).abs().max() < 0.05
        if kind in ("cell", "sequence", "gatel0rd"):
            assert results[1].dtype == torch.float32  # the state does not lose digits
        if kind != "cell":
            module(x, None, reset_mask())
        loss = sum(each.float().square().sum() for each in results)
    if backward:
        loss.backward()
        assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


def loss_and_gradients(function, module, arguments):
    module.zero_grad()
    y, h, gates = function(*arguments)
    loss = y.square().mean() + h.sum() + gate_penalty(gates)
    loss.backward()
    return [loss.detach(), y.detach(), h.detach(), gates.detach()] + [
        parameter.grad.clone() for parameter in module.parameters()
    ]


def compare_compiled(module, arguments, compiler):
    torch._dynamo.reset()
    compiled = torch.compile(module, backend=compiler, fullgraph=True)
    expected = loss_and_gradients(module, module, arguments)
    got = loss_and_gradients(compiled, module, arguments)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    return compiled


@pytest.mark.parametrize("gate", GATES)
def test_compile_a_cell_without_a_break(gate):
    torch.manual_seed(0)
    cell = GateL0RDCell(I, H, 3, num_internal_layers=2, gate=gate).eval()
    compiled = compare_compiled(cell, (torch.randn(B, I), torch.randn(B, H)), "eager")
    cell.train()  # the noise is drawn inside too
    x = torch.randn(B, I)
    assert not torch.equal(compiled(x)[0], compiled(x)[0])


@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_compile_a_sequence_without_a_break(backend):
    torch.manual_seed(0)
    network = GateL0RD(I, H, 3, num_internal_layers=2, num_layers=2, backend=backend).eval()
    x, state, mask = torch.randn(3, B, I), torch.randn(2, B, H), reset_mask()[1:4]
    compare_compiled(network, (x, state, mask), "eager")
    core = make_core("gatel0rd", I, H, num_layers=2, backend=backend).eval()
    compiled = torch.compile(core, backend="eager", fullgraph=True)
    for one, other in zip(flat(compiled(x, state, mask)), flat(core(x, state, mask)), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor compiles C++")
def test_compile_to_machine_code():
    torch.manual_seed(0)
    cell = GateL0RDCell(I, H).eval()
    compare_compiled(cell, (torch.randn(B, I), torch.randn(B, H)), "inductor")
    network = GateL0RD(I, H).eval()
    units = [0, 3]
    with torch.no_grad():
        network.cells[0].g[-1].bias[units] = -100.0
    h0, mask = torch.randn(B, H), torch.zeros(3, B, dtype=torch.bool)
    mask[1, 2] = True
    arguments = (torch.randn(3, B, I), h0, mask)
    compiled = compare_compiled(network, arguments, "inductor")
    kept = compiled(*arguments)[1][:2, units]  # a closed gate leaves the state to the bit here too
    assert torch.equal(kept, h0[:2, units])


@pytest.mark.parametrize("internal", [1, 2])
def test_pruned_maps_are_called_with_their_hooks(internal):
    """A pruned layer has its weights from a hook, at every call anew."""
    network = GateL0RD(I, H, num_internal_layers=internal).eval()
    for name in "gr":
        prune.l1_unstructured(network.cells[0].get_submodule(f"{name}.0"), "weight", amount=0.5)
    optimizer = torch.optim.SGD(network.parameters(), 0.5)
    x = torch.randn(T, B, I)
    for _ in range(3):
        y, h, gates = network(x)
        loss = y.square().mean() + h.sum() + gate_penalty(gates)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    results = network(x)
    for name in "gr":
        prune.remove(network.cells[0].get_submodule(f"{name}.0"), "weight")
    twin = GateL0RD(I, H, num_internal_layers=internal).eval()
    twin.load_state_dict(network.state_dict())
    assert (twin.cells[0].g[0].weight == 0).float().mean() > 0.4
    for one, other in zip(results, twin(x), strict=True):
        torch.testing.assert_close(one, other)
