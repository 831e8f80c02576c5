"""Exit codes and the one line that a user's mistake gets."""

import subprocess
import sys

import pytest

from iap_gym.cli import main as cli
from iap_gym.registry import ENTRIES, UPSTREAM

WRONG = [
    [],
    ["fly"],
    ["train"],
    ["train", "--env", "iap_gym/NoSuch-v0"],
    ["train", "--env", "CartPole-v1", "--timesteps", "0"],
    ["train", "--env", "CartPole-v1", "--timesteps", "many"],
    ["train", "--env", "CartPole-v1", "--workers", "-1"],
    ["train", "--env", "CartPole-v1", "--algo", "sac"],
    ["train", "--env", "CartPole-v1", "--policy", "CnnPolicy"],
    ["train", "--env", "CartPole-v1", "--env-kwargs", "height"],
    ["train", "--env", "CartPole-v1", "--env-kwargs", "height=3"],
    ["train", "--env", "CartPole-v1", "--algo-kwargs", "sigm=0.1"],
    ["train", "--env", "CartPole-v1", "--algo-kwargs", "sigma=-1"],
    ["train", "--env", "CartPole-v1", "--algo-kwargs", "population_size=5"],
    ["train", "--env", "CartPole-v1", "--selector", "patch_size=2"],
    ["train", "--env", "CartPole-v1", "--algo-kwargs", "seed=2"],
    ["train", "--env", "CartPole-v1", "--algo-kwargs", "sigma=2", "sigma=3"],
    ["train", "--env", "a b"],
    ["train", "--env", "iap_gym/DistractingWalkerWalk-v0", "--env-kwargs", "difficulty=brutal"],
    ["train", "--env", "iap_gym/DistractingWalkerWalk-v0", "--env-kwargs", "background="],
    ["train", "--env", "iap_gym/DistractingWalkerWalk-v0", "--selector", "patch_size=999"],
    ["train", "--env", "iap_gym/DistractingWalkerWalk-v0", "--selector", "patch=9"],
    ["train", "--resume", "nowhere"],
    ["train", "--resume", "nowhere", "--env", "CartPole-v1"],
    ["train", "--resume", "nowhere", "--env-kwargs", "height=3"],
    ["evaluate"],
    ["evaluate", "nowhere"],
    ["evaluate", "nowhere", "--episodes", "0"],
    ["watch", "nowhere"],
    ["plot", "nowhere"],
    ["reproduce"],
    ["reproduce", "figure3"],
    ["reproduce", "quadruped"],
    ["reproduce", "theorem", "--budget", "huge"],
    ["reproduce", "kernels", "--workers", "0"],
    ["data", "make"],
]


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_mistake_gets_one_line_and_code_2(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(words) == 2
    err = capsys.readouterr().err
    assert err.startswith("iap-gym")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir()), "a refused command must leave nothing behind"


@pytest.mark.parametrize("name", [*cli.COMMANDS, ""])
def test_help_exits_0(name, capsys):
    assert cli.main([*([name] if name else []), "--help"]) == 0
    assert "usage: iap-gym" in capsys.readouterr().out


def test_list_prints_every_id(capsys):
    assert cli.main(["list"]) == 0
    printed = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert printed == {entry.id for entry in (*ENTRIES, *UPSTREAM)}


@pytest.mark.parametrize("module", ["torch", "safetensors", "tqdm", "matplotlib"])
def test_absent_extra_is_a_failure_in_one_line(module):
    # None in sys.modules is how Python itself marks what cannot be imported.
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from iap_gym.cli.main import main\n"
        "sys.exit(main(['train', '--env', 'CartPole-v1']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    line = f'iap-gym train: {module} is not installed, run `pip install "iap-gym[baselines]"`\n'
    assert done.stderr == line


def test_environment_that_fails_in_its_own_way_gets_one_line(capsys, tmp_path, monkeypatch):
    (tmp_path / "broken_env.py").write_text(
        "import gymnasium\n"
        "def make():\n    return {}['sky']\n"
        "gymnasium.register('Broken-v0', make)\n"
        "gymnasium.register('Later-v0', lambda: Later())\n"
        "class Later(gymnasium.Env):\n"
        "    observation_space = gymnasium.spaces.Box(-1, 1, (2,))\n"
        "    action_space = gymnasium.spaces.Discrete(2)\n"
        "    def reset(self, *, seed=None, options=None):\n        return {}['sea']\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for words in (["Broken-v0"], ["Later-v0"], ["Later-v0", "--workers", "2", "--run", "two"]):
        words = ["train", "--env", f"broken_env:{words[0]}", "--no-progress", *words[1:]]
        assert cli.main(words) == 1
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert "KeyError" in err
        assert "Traceback" not in err


def test_error_without_a_text_is_named(capsys, monkeypatch):
    def fail(name, words):
        raise NotImplementedError

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main(["list"]) == 1
    assert capsys.readouterr().err == "iap-gym list: NotImplementedError\n"


def test_module_that_is_not_there_is_a_bad_argument(capsys):
    assert cli.main(["train", "--env", "no_such_module:Env-v0"]) == 2
    assert "--env: expected module:id with a module" in capsys.readouterr().err


def test_doctor_is_healthy_here_and_names_what_it_found(capsys):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("gymnasium", "mujoco", "rendering", "torch threads", "cpu cores"):
        assert word in out
    assert cli.main(["doctor", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
