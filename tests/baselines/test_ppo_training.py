"""Runs of recurrent PPO: killed and resumed to the bit, evaluated aside, settings kept whole."""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.ppo_checkpoint import load_checkpoint, load_statistics
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.segments import Segments
from iap_gym.baselines.experiments.train import settle, train
from tests.baselines.run_envs import HERE

TINY = {"n_envs": 2, "n_steps": 16, "batch_size": 16, "n_epochs": 2}
UPDATE = 32  # steps
# Whatever is random or remembered between updates: gate noise, minibatches, sampled actions, Adam,
# running statistics, schedules, latent states, episodes under way.
EVERYTHING = TrainConfig(
    env=f"{HERE}:Recall-v0",
    algo="ppo",
    total_timesteps=12 * UPDATE,
    seed=5,
    algo_kwargs={
        **TINY, "bptt": 8, "normalize": True, "learning_rate": "lin_0.01", "clip_range": "lin_0.3",
    },
    policy_kwargs={"hidden_size": 8},
    checkpoint_every=4,
    eval_every=100,
    eval_episodes=3,
)  # fmt: skip
CLOCKS = {"seconds", "steps_per_second"}


def changed(config, **algo_kwargs):
    return dataclasses.replace(config, algo_kwargs={**config.algo_kwargs, **algo_kwargs})


def trained(path, config):
    run = Run.create(path, config)
    train(run)
    return run


def assert_same(run, other):
    assert run.weights_file.read_bytes() == other.weights_file.read_bytes()
    tables = [(run.metrics(), other.metrics())]
    if other.evaluations_file.is_file():
        tables.append((run.evaluations(), other.evaluations()))
    for table, wanted in tables:
        assert list(table) == list(wanted)
        for name in set(table) - CLOCKS:
            np.testing.assert_array_equal(table[name], wanted[name], err_msg=name)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("runs") / "whole", EVERYTHING)


def stopped(path, config, monkeypatch, updates):
    """Train a run that stops within a segment, and go on with it."""
    run = Run.create(path, config)
    end_update = Segments._end_update

    def end(self, last=False):
        end_update(self, last)
        if self.updates == updates:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Segments, "_end_update", end)
        with pytest.raises(KeyboardInterrupt):
            train(run)
    assert not run.weights_file.exists()
    train(run)
    return run


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, whole):
    config = dataclasses.replace(EVERYTHING, env_kwargs={"sleep": 0.005})
    run = Run.create(tmp_path / "killed", config)
    script = (
        "from iap_gym.baselines.experiments.run import Run\n"
        "from iap_gym.baselines.experiments.train import train\n"
        f"train(Run.open({str(run.path)!r}))\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", script], cwd=root) as victim:
        deadline = time.monotonic() + 60
        while not run.metrics_file.is_file() or len(run.metrics()["timesteps"]) < 6:
            assert time.monotonic() < deadline
            assert victim.poll() is None
            time.sleep(0.02)
        time.sleep(np.random.default_rng().uniform(0, 0.1))  # wherever it is by then
        os.kill(victim.pid, signal.SIGKILL)
    assert not run.weights_file.exists()
    model = load_checkpoint(run.checkpoint_file, run.config())
    assert model.num_timesteps % (4 * UPDATE) == 0
    run.write_config(dataclasses.replace(run.config(), env_kwargs={}))
    train(run)
    assert_same(run, whole)


@pytest.mark.parametrize("updates", [1, 4, 5, 11])
def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path, whole, monkeypatch, updates):
    assert_same(stopped(tmp_path / "run", EVERYTHING, monkeypatch, updates), whole)


@pytest.mark.parametrize(
    ("core", "env_kwargs", "algo_kwargs"),
    [
        ("lstm", {"kind": "dict"}, {"core_sharing": "separate"}),
        ("clockwork", {}, {"core_kwargs": {"num_layers": 2}}),
        ("elman", {"continuous": True}, {"use_sde": True, "sde_sample_freq": 3}),
        ("gru", {}, {"normalize": {"norm_reward": False}, "target_kl": 0.001}),
    ],
)
def test_every_core_goes_on_to_the_same_bits(tmp_path, monkeypatch, core, env_kwargs, algo_kwargs):
    config = TrainConfig(
        env=f"{HERE}:Random-v0",
        algo="ppo",
        core=core,
        total_timesteps=5 * UPDATE,
        env_kwargs=env_kwargs,
        algo_kwargs={**TINY, **algo_kwargs},
        policy_kwargs={"hidden_size": 6},
        checkpoint_every=2,
    )
    run = stopped(tmp_path / "stopped", config, monkeypatch, 3)
    assert_same(run, trained(tmp_path / "whole", config))


def test_training_twice_gives_the_same_and_another_seed_another(tmp_path, whole):
    again = trained(tmp_path / "again", EVERYTHING)
    assert_same(again, whole)
    other = trained(tmp_path / "other", dataclasses.replace(EVERYTHING, seed=6))
    assert other.weights_file.read_bytes() != whole.weights_file.read_bytes()


def test_evaluations_leave_training_as_it_is(tmp_path, whole):
    run = trained(tmp_path / "run", dataclasses.replace(EVERYTHING, eval_every=None))
    assert not run.evaluations_file.exists()
    assert run.weights_file.read_bytes() == whole.weights_file.read_bytes()


def test_evaluations_come_at_the_first_update_after_each_interval_and_at_the_end(whole):
    np.testing.assert_array_equal(whole.evaluations()["timesteps"], [128, 224, 320, 384])
    np.testing.assert_array_equal(whole.evaluations()["episodes"], 3)


def test_workers_change_nothing(tmp_path, whole):
    config = dataclasses.replace(EVERYTHING, workers=2)
    assert_same(trained(tmp_path / "run", config), whole)


def test_schedules_see_the_whole_run(tmp_path, monkeypatch):
    run = stopped(tmp_path / "run", EVERYTHING, monkeypatch, 6)
    metrics = run.metrics()
    left = 1 - metrics["timesteps"] / EVERYTHING.total_timesteps
    np.testing.assert_allclose(metrics["learning_rate"], 0.01 * left, atol=1e-12)


def test_a_finished_run_stays_as_it_is_and_a_longer_one_goes_on(tmp_path):
    config = changed(EVERYTHING, learning_rate=0.01, clip_range=0.3)
    short = trained(tmp_path / "run", dataclasses.replace(config, total_timesteps=8 * UPDATE))
    before = short.checkpoint_file.read_bytes(), short.weights_file.read_bytes()
    train(short)
    assert (short.checkpoint_file.read_bytes(), short.weights_file.read_bytes()) == before
    short.write_config(dataclasses.replace(short.config(), total_timesteps=12 * UPDATE))
    train(short)
    # It stopped where a segment ends, so that it is the run that was longer from the start.
    long = trained(tmp_path / "long", config)
    assert short.weights_file.read_bytes() == long.weights_file.read_bytes()


def test_metrics_count_what_happened(whole):
    metrics = whole.metrics()
    np.testing.assert_array_equal(metrics["timesteps"], UPDATE * np.arange(1, 13))
    # Episodes have 3 to 9 steps.
    assert 12 * UPDATE / 9 - 2 * 4 <= metrics["episodes"].sum() <= 12 * UPDATE / 3
    assert (np.abs(metrics["mean_return"]) <= 1).all()
    # The return is 1 for a success and -1 for a failure, in the same window of episodes.
    np.testing.assert_allclose(metrics["success_rate"], (metrics["mean_return"] + 1) / 2)
    assert ((metrics["mean_length"] >= 3) & (metrics["mean_length"] <= 9)).all()
    assert ((metrics["gate_rate"] > 0) & (metrics["gate_rate"] < 1)).all()
    np.testing.assert_allclose(metrics["gate_penalty"], 0.01 * metrics["gate_rate"])


def test_weights_are_those_of_the_checkpoint(whole):
    model = load_checkpoint(whole.checkpoint_file, whole.config())
    weights = load_file(whole.weights_file)
    state = model.policy.state_dict()
    assert set(weights) == set(state)
    for name, tensor in state.items():
        np.testing.assert_array_equal(weights[name], tensor.numpy(), err_msg=name)
    statistics = load_statistics(whole.checkpoint_file)
    assert statistics.obs_rms.count > 12 * UPDATE


def test_settings_are_written_out_whole_and_filled_in_once(tmp_path, whole):
    config = whole.config()
    assert config.policy == "MlpCorePolicy"
    assert config.core == "gatel0rd"
    assert config.algo_kwargs["gae_lambda"] == 0.95
    assert config.algo_kwargs["device"] == "cpu"
    assert config.algo_kwargs["n_steps"] == 16
    assert settle(config) == config


def test_policy_suits_the_observations():
    for kind, policy in (("image", "CnnCorePolicy"), ("dict", "MultiInputCorePolicy")):
        config = TrainConfig(env=f"{HERE}:Random-v0", algo="ppo", env_kwargs={"kind": kind})
        assert settle(config).policy == policy


def test_minigrid_takes_its_preset_and_single_values_stand():
    pytest.importorskip("minigrid")
    config = TrainConfig(
        env="MiniGrid-DoorKey-5x5-v0",
        algo="ppo",
        core="lstm",
        algo_kwargs={"n_epochs": 2},
        policy_kwargs={"hidden_size": 32},
    )
    settled = settle(config)
    assert settled.policy == "CnnCorePolicy"
    assert settled.core == "lstm"
    assert settled.policy_kwargs["hidden_size"] == 32
    assert settled.policy_kwargs["row_normalized_init"] is True
    kwargs = settled.algo_kwargs
    assert (kwargs["n_envs"], kwargs["n_epochs"], kwargs["gae_lambda"]) == (16, 2, 0.99)
    assert TrainConfig.from_json(settled.to_json()) == settled


@pytest.mark.parametrize(
    ("algo_kwargs", "message"),
    [
        ({"n_step": 4}, "algo_kwargs: expected an argument of RecurrentPPO such as n_steps, got"),
        ({"learning_rate": "fast"}, 'learning_rate: expected a number > 0, or "lin_NUMBER", got'),
        ({"learning_rate": None}, "learning_rate: expected a number > 0"),
        ({"gamma": "high"}, "gamma: expected a finite number >= 0, got 'high'"),
        ({"n_steps": 1.5}, "n_steps: expected an integer >= 1, got 1.5"),
        ({"batch_size": 1}, "batch_size: expected minibatches of at least 2 of the 1024 steps"),
        ({"batch_size": 1023}, "batch_size: expected minibatches of at least 2 of the 1024 steps"),
        ({"use_sde": 1}, "use_sde: expected True or False, got 1"),
        ({"clip_range": "lin_-1"}, "clip_range: expected a number"),
        ({"normalize": 3}, "normalize: expected True, False or the arguments of VecNormalize"),
        ({"n_envs": 0}, "n_envs: expected an integer >= 1, got 0"),
        ({"gate_penalty": -1}, "gate_penalty: expected a finite number >= 0, got -1"),
        ({"clip_range_vf": -0.1}, "clip_range_vf: expected a number > 0"),
    ],
)
def test_wrong_settings_are_refused_by_name(algo_kwargs, message):
    with pytest.raises(ValueError, match=message):
        settle(TrainConfig(env="CartPole-v1", algo="ppo", algo_kwargs=algo_kwargs))


def test_nan_ends_the_run_and_the_checkpoint_before_it_stays(tmp_path):
    config = TrainConfig(
        env=f"{HERE}:Faulty-v0",
        algo="ppo",
        total_timesteps=200,
        env_kwargs={"fault_at": 40},
        algo_kwargs=TINY,
        checkpoint_every=2,
    )
    run = Run.create(tmp_path / "run", config)
    with pytest.raises(RuntimeError, match=r"NaN or infinity from environment . at step") as e:
        train(run)
    assert str(e.value).endswith("the checkpoint of step 64 stays")
    model = load_checkpoint(run.checkpoint_file, run.config())
    assert model.num_timesteps == 64
    assert all(np.isfinite(p.detach().numpy()).all() for p in model.policy.parameters())


@pytest.mark.parametrize("table", ["metrics_file", "evaluations_file"])
@pytest.mark.parametrize("kept", [None, 0, 2])
def test_a_run_that_lost_rows_does_not_go_on(tmp_path, whole, table, kept):
    path = tmp_path / "lost"
    shutil.copytree(whole.path, path)
    run = Run.open(path)
    run.write_config(dataclasses.replace(run.config(), total_timesteps=13 * UPDATE))
    file = getattr(run, table)
    lines = file.read_text().splitlines(keepends=True)
    if kept is None:
        file.unlink()
    else:
        file.write_text("".join(lines[:kept]))
    before = run.checkpoint_file.read_bytes()
    with pytest.raises(ValueError, match=f"{file.name}: expected .*( are lost, the first|no row)"):
        train(run)
    assert run.checkpoint_file.read_bytes() == before


def test_a_gpu_that_is_gone_is_refused(tmp_path, whole):
    path = tmp_path / "gpu"
    shutil.copytree(whole.path, path)
    run = Run.open(path)
    run.write_config(changed(run.config(), device="cuda:99"))
    with pytest.raises(ValueError, match="device: expected one of this machine"):
        train(run)


def test_checkpoint_of_another_core_is_refused(tmp_path, whole):
    run = Run.create(tmp_path / "run", dataclasses.replace(whole.config(), core="lstm"))
    run.checkpoint_file.write_bytes(whole.checkpoint_file.read_bytes())
    with pytest.raises(ValueError, match=r"zip: expected a .* core 'lstm', got .* 'gatel0rd'"):
        train(run)


@pytest.mark.parametrize("normalized", [True, False])
def test_checkpoint_of_another_environment_is_refused(tmp_path, whole, normalized):
    config = changed(dataclasses.replace(EVERYTHING, total_timesteps=1), normalize=normalized)
    source = whole if normalized else trained(tmp_path / "source", config)
    config = dataclasses.replace(source.config(), env="CartPole-v1")
    run = Run.create(tmp_path / "run", config)
    run.checkpoint_file.write_bytes(source.checkpoint_file.read_bytes())
    with pytest.raises(ValueError, match=r"checkpoint.*: expected .* do not match|\(4,\)"):
        train(run)


def test_damaged_checkpoints_are_refused_or_unharmed(tmp_path, whole):
    content = whole.checkpoint_file.read_bytes()
    broken = tmp_path / "broken.zip"
    rng = np.random.default_rng(0)
    refused = []
    for position in [*rng.integers(len(content), size=25), None]:
        damaged = bytearray(content) if position is not None else bytearray(content[:500])
        if position is not None:
            damaged[position] ^= 1 << int(rng.integers(8))
        broken.write_bytes(damaged)
        try:
            load_statistics(broken)
            model = load_checkpoint(broken, whole.config())
        except ValueError as error:
            refused.append(str(error))
        else:
            assert model.num_timesteps == 12 * UPDATE
    assert all("broken.zip: expected a checkpoint" in message for message in refused)
    assert len(refused) > 10
