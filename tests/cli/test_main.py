"""Exit codes and the one line that a user's mistake gets."""

import gymnasium
import pytest

from iap_gym.cli import main as cli
from iap_gym.registry import ENTRIES

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
    ["train", "--env", "iap_gym/DistractingWalkerWalk-v0", "--env-kwargs", "difficulty=brutal"],
    ["train", "--env", "iap_gym/DistractingWalkerWalk-v0", "--selector", "patch_size=999"],
    ["train", "--resume", "nowhere"],
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
    assert printed == {entry.id for entry in ENTRIES}


def test_absent_extra_is_a_failure_in_one_line(capsys, monkeypatch):
    def absent(module, extra):
        raise gymnasium.error.DependencyNotInstalled(f'run `pip install "iap-gym[{extra}]"`')

    monkeypatch.setattr("iap_gym.cli.train.require", absent)
    assert cli.main(["train", "--env", "CartPole-v1"]) == 1
    assert capsys.readouterr().err == 'iap-gym train: run `pip install "iap-gym[baselines]"`\n'


def test_later_commands_are_refused_by_name(capsys):
    assert cli.main(["data", "make"]) == 2
    assert "data: not available yet" in capsys.readouterr().err


def test_doctor_is_healthy_here_and_names_what_it_found(capsys):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("gymnasium", "mujoco", "rendering", "torch threads", "cpu cores"):
        assert word in out
    assert cli.main(["doctor", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
