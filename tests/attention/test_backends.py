"""Where the compiled kernels come from, and what happens without them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.error import DependencyNotInstalled

from iap_gym._compiled.availability import import_kernels
from iap_gym.attention import PatchSelector, backends

IMAGES = np.random.default_rng(0).integers(0, 256, (2, 24, 50, 3), dtype=np.uint8)


def make(**options):
    return PatchSelector((24, 50, 3), 2, kernel="hybrid", **options)


@pytest.fixture
def fresh(monkeypatch):
    """Look for numba anew, and again after the test."""
    import_kernels.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    import_kernels.cache_clear()


def test_the_backend_is_checked_and_part_of_the_config():
    with pytest.raises(ValueError, match=r"backend: expected one of 'auto', 'torch', 'numba', got"):
        make(backend="jax")
    assert make().config["backend"] == "auto"
    config = json.loads(json.dumps(make(backend="torch").config))
    assert PatchSelector(**config).backend == "torch"


def test_without_numba_torch_selects_silently(fresh):
    expected = make(backend="torch").select(IMAGES)
    fresh.setitem(sys.modules, "numba", None)
    fresh.setattr("importlib.util.find_spec", lambda name: None)
    assert backends.compiled_calls() is None
    assert torch.equal(make().select(IMAGES), expected)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "iap-gym\[fast\]"'):
        make(backend="numba")


def test_a_numba_that_cannot_be_imported_is_reported_once(fresh, tmp_path):
    pytest.importorskip("numba")
    expected = make(backend="torch").select(IMAGES)
    (tmp_path / "numba.py").write_text("raise ImportError('needs another numpy')")
    fresh.delitem(sys.modules, "numba")
    fresh.syspath_prepend(str(tmp_path))
    with pytest.warns(RuntimeWarning, match="cannot be imported.*needs another numpy"):
        assert torch.equal(make().select(IMAGES), expected)
    assert torch.equal(make().select(IMAGES), expected)


def run(code, **environment):
    """Run Python in a new process, with the tests' package; returns what it prints."""
    root = str(Path(backends.__file__).parents[2])
    variables = {**os.environ, "PYTHONPATH": root, **environment}
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


SELECT = """
import sys, numpy as np
from iap_gym.attention import PatchSelector
images = np.random.default_rng(0).integers(0, 256, (2, 24, 50, 3), dtype=np.uint8)
selector = PatchSelector((24, 50, 3), 2, kernel="hybrid")
print("numba" in sys.modules)
selector.select(images / 255)
print("numba" in sys.modules)
print(selector.select(images).tolist() == PatchSelector(**selector.config | {"backend": "torch"})
      .select(images).tolist())
print("iap_gym.attention.compiled.kernels" in sys.modules)
"""


def test_numba_is_imported_when_bytes_come():
    pytest.importorskip("numba")
    assert run(SELECT) == ["False", "False", "True", "True"]


def test_numba_may_be_switched_off():
    pytest.importorskip("numba")
    assert run(SELECT, NUMBA_DISABLE_JIT="1") == ["False", "False", "True", "False"]


BEST = """
import numpy as np
from iap_gym.attention.compiled import kernels
assert kernels.best(np.arange(3, dtype=np.float32), 1, 3, 2).tolist() == [[2, 1]]
print(sum(kernels.best.stats.cache_hits.values()))
"""


def test_machine_code_is_kept_on_disk(tmp_path):
    pytest.importorskip("numba")
    assert run(BEST, NUMBA_CACHE_DIR=str(tmp_path)) == ["0"]
    assert list(tmp_path.rglob("*.nbc"))
    assert run(BEST, NUMBA_CACHE_DIR=str(tmp_path)) == ["1"]


def test_code_is_compiled_where_nothing_can_be_written(monkeypatch):
    pytest.importorskip("numba")
    from numba.core import caching

    from iap_gym._compiled.cache import compiled

    def double(x):
        return 2 * x

    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    function = compiled(double)
    assert function(3) == 6
    assert function.stats.cache_path is None


def test_kept_code_depends_on_every_source():
    # numba looks at the file of the function it keeps, and at what that encloses.
    pytest.importorskip("numba")
    from iap_gym.attention.compiled import kernels

    for function in (kernels.fold, kernels.relu, kernels.estimated, kernels.best):
        enclosed = [cell.cell_contents for cell in function.py_func.__closure__]
        assert kernels.SOURCES in enclosed
