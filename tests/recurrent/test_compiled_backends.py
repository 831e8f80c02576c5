"""When the kernel runs, when torch does instead, and what "numba" says where it cannot."""

import gc
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from gymnasium.error import DependencyNotInstalled

from iap_gym._compiled.availability import import_kernels
from iap_gym.recurrent import GateL0RD, backends

X = torch.randn(5, 2, 3, generator=torch.Generator().manual_seed(0))


def network(backend="auto", **options):
    torch.manual_seed(0)
    return GateL0RD(3, 4, gate_noise=0.0, backend=backend, **options)


def is_compiled(y):
    return "_SequenceBackward" in type(y.grad_fn).__name__


@pytest.fixture
def fresh(monkeypatch):
    """Look for numba anew, and again after the test."""
    import_kernels.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    import_kernels.cache_clear()


def test_auto_takes_the_kernel_and_torch_never():
    pytest.importorskip("numba")
    assert is_compiled(network()(X)[0])
    assert is_compiled(network("numba")(X)[0])
    assert not is_compiled(network("torch")(X)[0])


def test_without_numba_torch_computes_silently(fresh):
    expected = network("torch")(X)
    fresh.setitem(sys.modules, "numba", None)
    fresh.setattr("importlib.util.find_spec", lambda name: None)
    assert all(map(torch.equal, network()(X), expected))
    with pytest.raises(DependencyNotInstalled, match=r'pip install "iap-gym\[fast\]"'):
        network("numba")(X)


def test_a_numba_that_cannot_be_imported_is_reported_once(fresh, tmp_path):
    pytest.importorskip("numba")
    expected = network("torch")(X)
    (tmp_path / "numba.py").write_text("raise ImportError('needs another numpy')")
    fresh.delitem(sys.modules, "numba")
    fresh.syspath_prepend(str(tmp_path))
    with pytest.warns(RuntimeWarning, match="sequences are computed by torch: needs another numpy"):
        assert all(map(torch.equal, network()(X), expected))
    assert all(map(torch.equal, network()(X), expected))
    with pytest.raises(ImportError, match="needs another numpy"):
        network("numba")(X)


def test_numba_may_be_switched_off(fresh):
    numba = pytest.importorskip("numba")
    fresh.setattr(numba.config, "DISABLE_JIT", 1)
    assert not is_compiled(network()(X)[0])
    with pytest.raises(ValueError, match="NUMBA_DISABLE_JIT"):
        network("numba")(X)


class Subclass(torch.Tensor):
    pass


def replace_p(model):
    model.cells[0].p = torch.nn.Linear(7, 4, bias=False)


def parametrize(model):
    torch.nn.utils.parametrizations.weight_norm(model.cells[0].p)


def hook(model):
    model.cells[0].p.register_forward_hook(lambda module, args, y: 2 * y)


def change_width(model):
    model.cells[0].p = torch.nn.Linear(7, 6)
    model.cells[0].o = torch.nn.Linear(7, 6)


@pytest.mark.parametrize(
    ("change", "x", "reason"),
    [
        (lambda model: model.double(), X.double(), "a tensor is torch.float64 on cpu"),
        (lambda model: model.bfloat16(), X.bfloat16(), "a tensor is torch.bfloat16 on cpu"),
        (lambda model: model.to("meta"), X.to("meta"), "a tensor is torch.float32 on meta"),
        (lambda model: None, X.as_subclass(Subclass), "a tensor is a Subclass"),
        (replace_p, X, "a tensor is a NoneType"),
        (parametrize, X, "a map of the cell is a ParametrizedLinear or has hooks"),
        (hook, X, "a map of the cell is a Linear or has hooks"),
        (change_width, X, "the weights of the cell have other shapes than it says"),
        (lambda model: None, X[:0], "it is empty"),
        (lambda model: None, X[:, :0], "it is empty"),
    ],
)
def test_what_the_kernel_does_not_know_is_left_to_torch(change, x, reason):
    pytest.importorskip("numba")
    results = {}
    for backend in ("auto", "torch", "numba"):
        model = network(backend)
        change(model)
        if backend == "numba":
            with pytest.raises(ValueError, match=f"'numba' cannot run this sequence: .*{reason}"):
                model(x)
        else:
            results[backend] = model(x)
    for ours, theirs in zip(results["auto"], results["torch"], strict=True):
        assert not is_compiled(ours)
        assert ours.is_meta or torch.equal(ours, theirs)


def refused(model, context, x=X):
    with context, pytest.raises(ValueError, match="'numba' cannot run this sequence") as error:
        model(x)
    return str(error.value)


def test_autocast_is_left_to_torch():
    pytest.importorskip("numba")
    context = torch.autocast("cpu", torch.bfloat16)
    assert "autocast" in refused(network("numba"), context)
    with context:
        assert torch.equal(network()(X)[0], network("torch")(X)[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own torch.jit.script
def test_forward_mode_is_left_to_torch():
    pytest.importorskip("numba")
    from torch.autograd import forward_ad

    tangents = []
    for model in (network(), network("torch")):
        with forward_ad.dual_level():
            y = model(forward_ad.make_dual(X, torch.ones_like(X)))[0]
            tangents.append(forward_ad.unpack_dual(y).tangent)
    torch.testing.assert_close(*tangents)
    assert "forward-mode" in refused(network("numba"), forward_ad.dual_level())


def test_transforms_of_torch_func_are_left_to_torch():
    pytest.importorskip("numba")
    xs, model = torch.stack([X, 2 * X]), network()
    actual = torch.func.vmap(lambda x: model(x)[0])(xs)
    torch.testing.assert_close(actual, torch.stack([network("torch")(x)[0] for x in xs]))

    def loss(model):
        return lambda weights: torch.func.functional_call(model, weights, (X,))[0].sum()

    gradients = []
    for backend in ("auto", "torch"):
        model = network(backend)
        gradients.append(torch.func.grad(loss(model))(dict(model.named_parameters())))
    torch.testing.assert_close(*gradients)
    # Weights that are not differentiated are plain tensors even there.
    model = network()
    scale = torch.func.grad(lambda z: (z * model(X)[0]).sum())(torch.ones(4))
    torch.testing.assert_close(scale, model(X)[0].sum((0, 1)).detach())


@pytest.mark.filterwarnings("ignore")  # torch advises against tracing, and of each shape in it
def test_traces_hold_operations_of_torch():
    pytest.importorskip("numba")
    traced = torch.jit.trace(network(), (X,), check_trace=False)
    other = torch.randn_like(X)
    torch.testing.assert_close(traced(other), network("torch")(other))


def test_compiled_modules_hold_operations_of_torch():
    pytest.importorskip("numba")
    model = network()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    y = compiled(X)[0]
    assert not is_compiled(y)
    torch.testing.assert_close(y, network("torch")(X)[0])
    torch.testing.assert_close(y, model(X)[0])


def test_checkpoints_run_the_kernel_again():
    pytest.importorskip("numba")
    from torch.utils.checkpoint import checkpoint

    model = network("numba")
    y = checkpoint(lambda x: model(x)[0], X, use_reentrant=False)
    y.sum().backward()
    expected = torch.autograd.grad(model(X)[0].sum(), model.parameters())
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        assert torch.equal(parameter.grad, gradient)


def test_weights_may_be_handed_in():
    pytest.importorskip("numba")
    model = network("numba")
    weights = {name: (2 * w).detach().requires_grad_() for name, w in model.named_parameters()}
    y = torch.func.functional_call(model, weights, (X,))[0]
    assert is_compiled(y)
    loss = y.square().sum()
    inputs = list(weights.values())
    gradients = torch.autograd.grad(loss, inputs, retain_graph=True)
    again = torch.autograd.grad(loss, inputs, create_graph=True)
    torch.testing.assert_close(gradients, again)
    assert not any(parameter.grad is not None for parameter in model.parameters())


def test_nothing_is_read_before_it_is_written(monkeypatch):
    pytest.importorskip("numba")
    new_empty = torch.Tensor.new_empty

    def new_nan(tensor, *shape):
        return new_empty(tensor, *shape).fill_(torch.nan)

    model = network("numba", num_internal_layers=2, output_size=3)
    x, mask = torch.randn(70, 3, 3), torch.rand(70, 3) < 0.2

    def everything():
        outputs = model(x, None, mask)
        gradients = torch.autograd.grad(sum(z.sum() for z in outputs), model.parameters())
        with torch.no_grad():
            return [*outputs, *gradients, *model(x, None, mask)]

    expected = everything()
    monkeypatch.setattr(torch.Tensor, "new_empty", new_nan)
    assert all(map(torch.equal, everything(), expected))


def run(code, **environment):
    """Run Python in a new process, with the tests' package; returns what it prints."""
    root = str(Path(backends.__file__).parents[2])
    variables = {**os.environ, "PYTHONPATH": root, **environment}
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=600)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


IMPORT = """
import sys, torch
from iap_gym.recurrent import GateL0RD
network = GateL0RD(3, 4)
print("numba" in sys.modules)
network.double()(torch.ones(2, 2, 3, dtype=torch.float64))
print("numba" in sys.modules)
network.float()(torch.ones(2, 2, 3))
print("numba" in sys.modules)
"""


def test_numba_is_imported_when_a_sequence_needs_it():
    pytest.importorskip("numba")
    assert run(IMPORT) == ["False", "False", "True"]


ACT, LEARN = (
    """
import torch
from numba import njit
from iap_gym.recurrent import GateL0RD
from iap_gym.recurrent.compiled import kernels
for _ in range(3):  # other functions of this process
    njit(lambda x: x)
"""
    + code
    for code in (
        """
with torch.no_grad():
    GateL0RD(3, 4, backend="numba")(torch.ones(2, 2, 3))
print(sum(kernels.forward.stats.cache_hits.values()))
""",
        """
torch.manual_seed(0)
x, gradients = torch.randn(9, 7, 3), []
networks = [GateL0RD(3, 9, num_internal_layers=2, gate_noise=0.0, backend=b)
            for b in ("numba", "torch")]
networks[1].load_state_dict(networks[0].state_dict())
for network in networks:
    y, _, gates = network(x)
    (y.square().sum() + gates.sum()).backward()
for ours, theirs in zip(*(network.parameters() for network in networks)):
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)
print(*(sum(kernel.stats.cache_hits.values()) for kernel in (kernels.forward, kernels.backward)))
""",
    )
)


@pytest.mark.slow
def test_machine_code_of_two_processes_runs_together(tmp_path):
    # One process keeps the way forward, another one the way back.
    pytest.importorskip("numba")
    assert run(ACT, NUMBA_CACHE_DIR=str(tmp_path)) == ["0"]
    assert list(tmp_path.rglob("*.nbc"))
    for hits in (["1", "0"], ["1", "1"]):
        assert run(LEARN.replace("range(3)", "range(0)"), NUMBA_CACHE_DIR=str(tmp_path)) == hits


def test_no_two_functions_have_one_name():
    # Machine code that is kept by several processes is linked by names; see `variant`.
    pytest.importorskip("numba")
    from numba.core.dispatcher import Dispatcher

    from iap_gym.baselines.world_model.compiled import kernels as others
    from iap_gym.recurrent.compiled import kernels

    parts = ("iap_gym.recurrent", "iap_gym._compiled", "iap_gym.baselines.world_model")
    dispatchers = [z for z in gc.get_objects() if Dispatcher in type(z).__mro__]
    # numba makes several dispatchers of one function for a function of several types
    functions = {z.py_func for z in dispatchers if z.py_func.__module__.startswith(parts)}
    found = [(function.__module__, function.__qualname__) for function in functions]
    for entry_point in (kernels.backward, others.run):
        assert entry_point.py_func.__qualname__ in [name for _, name in found]
    assert [name for name, count in Counter(found).items() if count > 1] == []


def test_kept_code_depends_on_every_source():
    # numba looks at the file of the function it keeps, and at what that encloses.
    pytest.importorskip("numba")
    from iap_gym.recurrent.compiled import kernels

    for function in (kernels.forward, kernels.backward):
        enclosed = [cell.cell_contents for cell in function.py_func.__closure__]
        assert kernels.SOURCES in enclosed


def test_each_function_is_compiled_once():
    pytest.importorskip("numba")
    from iap_gym.recurrent.compiled import kernels

    model = network("numba", output_size=3)
    for x, h in ((X, None), (X[:1, :1], torch.zeros(1, 4)), (X.expand(5, 2, 3), None)):
        y, _, gates = model(x, h, torch.zeros(x.shape[:2], dtype=torch.bool))
        (y.sum() + gates.sum()).backward()
        with torch.no_grad():
            model(x, h)
    assert len(kernels.forward.signatures) == len(kernels.backward.signatures) == 1
