"""The lock of a run folder, between processes and within one."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from iap_gym.baselines.experiments import lock
from iap_gym.baselines.experiments import train as agents
from iap_gym.baselines.experiments import train_model as models
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.lock import RunInUseError, in_use
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.world_model.config import ModelConfig

HOLD = """
import os, sys, time
from iap_gym.baselines.experiments.lock import RunInUseError, in_use
from iap_gym.baselines.experiments.run import Run
try:
    with in_use(Run(sys.argv[1])):
        child = os.fork() if len(sys.argv) > 2 else -1
        if child:
            print("taken", child, flush=True)
        time.sleep(120)
except RunInUseError:
    print("refused", flush=True)
"""


def test_who_adds_to_a_file_waits_for_another_process(tmp_path, monkeypatch):
    file = tmp_path / "planning.json"
    code = (
        "import sys, time; from pathlib import Path;"
        "from iap_gym.baselines.experiments.lock import locked\n"
        "with locked(Path(sys.argv[1])):\n"
        "    print('taken', flush=True); time.sleep(float(sys.argv[2]))"
    )
    for seconds in ("0.3", "120"):
        words = [sys.executable, "-c", code, os.fspath(file), seconds]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == "taken\n"
            if seconds == "120":
                monkeypatch.setattr(lock, "PATIENCE", 0.1)
                refused = pytest.raises(TimeoutError, match=r"planning.json: another process")
                with refused, lock.locked(file):
                    pass
            else:
                with lock.locked(file):
                    pass
        finally:
            process.kill()
            process.communicate()


ES = TrainConfig(env="CartPole-v1", total_timesteps=10)
PPO = TrainConfig(env="CartPole-v1", algo="ppo", total_timesteps=10)
MODEL = ModelConfig(env="iap_gym/RobotRemoteControl-v0").fill_in()


def hold(run, *more):
    """Start a process that takes the lock and sleeps; return it and what it says."""
    words = [sys.executable, "-c", HOLD, os.fspath(run.path), *more]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()


@pytest.fixture
def run(tmp_path):
    return Run.create(tmp_path / "run", ES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_lock_ends_with_its_process_and_not_with_its_children(run):
    process, (word, child) = hold(run, "fork")
    try:
        assert word == "taken"
        with (
            pytest.raises(RunInUseError, match=r"run is being trained by another process"),
            in_use(run),
        ):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.kill(int(child), 0)  # it lives
        with in_use(run):
            pass
    finally:
        process.kill()
        os.kill(int(child), signal.SIGKILL)
        process.stdout.close()
        process.wait()


def test_within_a_process_it_is_taken_once_and_stays(run):
    with in_use(run):
        with pytest.raises(RunInUseError), in_use(Run(run.path / ".." / "run")):
            pass
        process, words = hold(run)
        process.communicate()
        assert words == ["refused"]
        with in_use(Run(run.path.parent)):  # another folder
            pass
    with pytest.raises(KeyError), in_use(run):
        raise KeyError
    with in_use(run):
        pass


@pytest.mark.parametrize(
    ("kind", "config", "train"),
    [
        (Run, ES, agents.train),
        (Run, PPO, agents.train),
        (ModelRun, MODEL, models.train),
    ],
    ids=["es", "ppo", "world model"],
)
def test_every_kind_of_run_is_trained_by_one_process(tmp_path, kind, config, train):
    folder = kind.create(tmp_path / "run", config)
    before = folder.config_file.read_bytes()
    with in_use(folder), pytest.raises(RunInUseError):
        train(folder)
    assert folder.config_file.read_bytes() == before
    names = sorted(path.name for path in folder.path.iterdir())
    assert names == [".lock", "config.json"]


def test_a_file_system_without_locks_keeps_nobody_out(run, monkeypatch):
    def refuse(_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(lock, "_lock", refuse)
    with in_use(run):
        pass
