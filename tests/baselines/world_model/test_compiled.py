"""The kernel against torch: float64 to the last digits, float32 within its rounding."""

import copy
import gc
import threading
import weakref

import pytest
import torch
from torch import nn

pytest.importorskip("numba")

from iap_gym.baselines.world_model import Gradients, ModelState, TrainingStep, backends
from iap_gym.baselines.world_model.model import WorldModel
from iap_gym.baselines.world_model.scenarios import SCENARIOS
from tests.baselines.world_model.cases import CORES, FUSED, batch, make

DTYPES = [torch.float64, torch.float32]


def pair(name="gatel0rd", dtype=torch.float32, **changes):
    return [make(name, dtype, backend=backend, **changes) for backend in ("numba", "torch")]


def difference(found, expected):
    """Relatively to the largest number."""
    return ((found - expected).abs().max() / expected.abs().max()).item()


def check_learning(kernel, torch_, arguments, dtype, penalty=0.1, kind="l0"):
    noise = torch_.train().draw_noise(*arguments[1].shape[:2])
    both = [Gradients(model.train(), penalty, kind) for model in (kernel, torch_)]
    found, expected = (gradients(*arguments, noise) for gradients in both)
    tolerance = 1e-12 if dtype == torch.float64 else 3e-6
    assert found.loss == pytest.approx(expected.loss, rel=tolerance)
    assert found.error == pytest.approx(expected.error, rel=tolerance)
    assert (found.gates is None) == (expected.gates is None)
    if found.gates is not None:
        assert found.gates == pytest.approx(expected.gates, rel=tolerance)
    for (name, mine), other in zip(kernel.named_parameters(), torch_.parameters(), strict=True):
        assert mine.grad.abs().max() > 0, name
        scale = max(other.grad.abs().max().item(), 1e-3)
        assert (mine.grad - other.grad).abs().max() <= tolerance * scale, name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUSED)
def test_losses_and_gradients(name, dtype):
    check_learning(*pair(name, dtype), batch(dtype=dtype), dtype)


@pytest.mark.parametrize("size", [1, 16, 64, 65, 150])  # columns: one block, whole ones, a rest
def test_sizes_of_batches(size):
    arguments = batch(3, size, torch.float64)
    check_learning(*pair(dtype=torch.float64), arguments, torch.float64)


@pytest.mark.parametrize("time", [2, 4, 5, 13])  # steps: less than a block, whole ones, a rest
def test_lengths(time):
    check_learning(*pair("3 lstm", torch.float64), batch(time, dtype=torch.float64), torch.float64)


@pytest.mark.parametrize("name", SCENARIOS)
def test_published_models(name):
    scenario = SCENARIOS[name]
    generator = torch.Generator().manual_seed(0)
    shape = 6, 70
    observations = torch.randn(7, 70, scenario.obs_size, generator=generator).double()
    actions = torch.randn(*shape, scenario.action_size, generator=generator).double()
    real = torch.rand(shape, generator=generator) < 0.3
    real[: scenario.start_steps] = True
    for core in ("gatel0rd", "lstm"):
        torch.manual_seed(1)
        kernel = WorldModel(**scenario.model_settings(core), backend="numba").double()
        plain = WorldModel(**scenario.model_settings(core), backend="torch").double()
        plain.load_state_dict(kernel.state_dict())
        check_learning(kernel, plain, (observations, actions, real), torch.float64)


def test_no_f_init_and_no_noise():
    kernel, plain = pair(dtype=torch.float64, context_widths=None)
    observations, actions, real = batch(dtype=torch.float64)
    check_learning(kernel, plain, (observations, actions, real), torch.float64)
    check_learning(kernel, plain, (observations, actions, None), torch.float64)
    for model in (kernel, plain):
        model.core.gatel0rd.cells[0].gate_noise = 0.0
    check_learning(kernel, plain, (observations, actions, real), torch.float64)


def test_kinds_of_penalties():
    name, dtype = "gatel0rd, 2 cells of sigmoids", torch.float64
    for kind in ("l0", "l1"):
        check_learning(*pair(name, dtype), batch(dtype=dtype), dtype, kind=kind)
    kernel = make(name, backend="numba")
    with pytest.raises(ValueError, match=r"'numba' cannot compute this: a penalty of kind 'l2'"):
        Gradients(kernel, 0.1, "l2")
    plain, auto = make(name, backend="torch"), make(name, backend="auto")
    noise = plain.train().draw_noise(7, 21)
    both = [Gradients(model.train(), 0.1, "l2")(*batch(), noise) for model in (plain, auto)]
    assert both[0] == pytest.approx(both[1], rel=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUSED)
def test_predictions(name, dtype):
    kernel, plain = pair(name, dtype)
    observations, actions, real = batch(size=70, dtype=dtype)
    atol = 1e-13 if dtype == torch.float64 else 5e-6
    core = torch.randn(kernel.core.num_layers, 70, kernel.core.state_size).to(dtype)
    state = ModelState(core, kernel.begin(70).first)
    for model in (kernel.eval(), plain.eval()):
        model.requires_grad_(False)
    for arguments in (
        (observations, actions),
        (observations, actions, real),
        (observations[:2], actions),
        (observations[:3], actions, real),
        (observations[:1], actions, None, state),
    ):
        ours, theirs = kernel(*arguments), plain(*arguments)
        pairs = zip((*ours, ours.state.core), (*theirs, theirs.state.core), strict=True)
        for found, expected in pairs:
            assert (found is None) == (expected is None)
            if isinstance(found, torch.Tensor):
                assert found.dtype == dtype
                torch.testing.assert_close(found, expected, rtol=0, atol=atol)
    # plans that begin with one observation for all
    plans = kernel.rollout(observations[:2, :1], actions)
    expected = plain.rollout(observations[:2, :1], actions)
    torch.testing.assert_close(plans, expected, rtol=0, atol=atol)


def test_tensors_in_any_order_of_memory():
    kernel = make(backend="numba").eval().requires_grad_(False)
    observations, actions, real = batch()
    expected = kernel(observations, actions, real).observations
    turned = [z.transpose(0, 1).contiguous().transpose(0, 1) for z in (observations, actions, real)]
    assert torch.equal(kernel(*turned).observations, expected)
    spread = [z.repeat_interleave(2, -1)[..., ::2] for z in (observations, actions)]
    assert torch.equal(kernel(*spread, real).observations, expected)


def test_what_observations_hold_where_they_are_not_looked_at_does_not_matter():
    kernel = make(backend="numba").eval().requires_grad_(False)
    observations, actions, real = batch()
    expected = kernel(observations, actions, real).observations
    broken = observations.clone()
    broken[:-1][~real] = torch.nan
    assert torch.equal(kernel(broken, actions, real).observations, expected)


def test_nan_is_not_lost():
    kernel = make(backend="numba")
    observations, actions, real = batch()
    observations[0, 3] = torch.nan
    losses = Gradients(kernel)(observations, actions, real)
    assert losses.loss != losses.loss


def test_a_step_is_that_of_torch():
    kernel, plain = pair("gatel0rd, 3 internal layers", torch.float64)
    arguments = batch(dtype=torch.float64)
    steps = [TrainingStep(model.train(), 0.01, 0.1) for model in (kernel, plain)]
    for _ in range(5):
        noise = plain.draw_noise(7, 21)
        for step in steps:
            step(*arguments, noise)
    for mine, other in zip(kernel.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-10)


def test_what_the_kernel_does_not_know_is_computed_by_torch():
    observations, actions, real = batch()
    with pytest.raises(ValueError, match=r"gradients are wanted"):
        make(backend="numba")(observations, actions, real)
    hooked = make(backend="numba")
    hooked.f_pre[0].register_forward_hook(lambda *_: None)
    with pytest.raises(ValueError, match=r"has hooks"):
        Gradients(hooked)(observations, actions, real)
    other = make(backend="numba")
    other.f_pre[1] = nn.ReLU()
    with pytest.raises(ValueError, match=r"is a ReLU"):
        Gradients(other)(observations, actions, real)
    for name in CORES:
        auto = make(name, backend="auto").train()
        Gradients(auto)(observations, actions, real)
        assert auto(observations, actions, real).observations.requires_grad


def test_without_numba_torch_computes(monkeypatch):
    monkeypatch.setattr(backends, "import_kernels", lambda *_: None)
    arguments, found = batch(), []
    for backend in ("auto", "torch"):
        model = make(backend=backend).eval()
        found.append(Gradients(model)(*arguments))
        with torch.no_grad():
            found.append(model(*arguments).observations)
    assert found[0] == pytest.approx(found[2], rel=1e-5)
    torch.testing.assert_close(found[1], found[3], rtol=0, atol=5e-6)
    with pytest.raises(ValueError, match=r"numba is absent, broken or told not to compile"):
        make(backend="numba")


@pytest.mark.parametrize("name", CORES)
def test_a_model_that_the_kernel_computes_no_batch_of_is_refused_at_once(name, tmp_path):
    """Not with the first batch, when data sets are made and processes have begun."""
    file = tmp_path / "weights.safetensors"
    make(name).save(file)
    if name != "clockwork":
        assert WorldModel.load(file, backend="numba").backend == "numba"
        return
    for build in (
        lambda: make(name, backend="numba"),
        lambda: WorldModel.load(file, backend="numba"),
    ):
        with pytest.raises(ValueError, match=r"^backend: 'numba' cannot .* core is 'clockwork'$"):
            build()


def test_replaced_parameters_are_noticed():
    kernel, plain = pair()
    kernel.eval().requires_grad_(False)
    arguments = batch()
    kernel(*arguments)
    weight = torch.randn_like(plain.f_post.weight)
    kernel.f_post.weight = nn.Parameter(weight, requires_grad=False)
    plain.f_post.weight = nn.Parameter(weight)
    expected = plain.eval()(*arguments).observations
    torch.testing.assert_close(kernel(*arguments).observations, expected, rtol=0, atol=5e-6)
    kernel.load_state_dict(make().state_dict())
    expected = make().eval()(*arguments).observations
    torch.testing.assert_close(kernel(*arguments).observations, expected, rtol=0, atol=5e-6)


def test_models_are_forgotten_with_their_kernels_and_copied_without():
    kernel = make(backend="numba").eval().requires_grad_(False)
    kernel(*batch())
    assert kernel in backends._kernels
    other = copy.deepcopy(kernel)
    assert other not in backends._kernels
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None


def test_threads_do_not_share_memory():
    kernel = make(backend="numba").eval().requires_grad_(False)
    batches = [batch(40, 70, seed=seed) for seed in range(4)]
    expected = [kernel(*arguments).observations for arguments in batches]
    found = [None] * 4

    def work(index):
        for _ in range(20):
            found[index] = kernel(*batches[index]).observations
            if not torch.equal(found[index], expected[index]):
                return

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(map(torch.equal, found, expected))


def test_the_kernel_is_compiled_once_for_each_type_of_numbers():
    from iap_gym.baselines.world_model.compiled import kernels

    for size, time in ((1, 2), (30, 3)):
        kernel = make(backend="numba")
        arguments = batch(time, size)
        Gradients(kernel)(*arguments)
        kernel.eval().requires_grad_(False)(*arguments)
    assert sorted(str(types[0].dtype) for types in kernels.run.signatures) in (
        ["float32"],
        ["float32", "float64"],
    )
    # what is kept on the disk is compiled anew when a source changes
    assert kernels.SOURCES in [cell.cell_contents for cell in kernels.run.py_func.__closure__]
