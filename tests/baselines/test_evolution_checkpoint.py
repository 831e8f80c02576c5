"""Checkpoints: whole or not at all, refused when damaged, continued bit for bit."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from iap_gym.baselines import EvolutionStrategies
from tests.baselines.pixel_envs import FollowBlob, Trouble

SMALL = {"population_size": 8, "sigma": 0.3, "learning_rate": 0.1, "seed": 4}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    es = EvolutionStrategies("LstmPolicy", "CartPole-v1", **SMALL).learn(500)
    return es, es.save(tmp_path_factory.mktemp("run") / "deep" / "model")


def test_file_is_a_zip_without_pickles(trained):
    es, path = trained
    assert path.name == "model.zip"
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert set(archive.namelist()) == {
            "meta.json", "config.json", "state.json", "tensors.safetensors",
        }  # fmt: skip
        assert json.loads(archive.read("config.json"))["config"] == es.config.to_json()
    assert [entry.name for entry in path.parent.iterdir()] == ["model.zip"]
    plain = path.with_name("plain")
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode, "as readable as any file of the user's"
    plain.unlink()


@pytest.mark.parametrize("shaping", ["generation", "pair"])
def test_continuing_after_load_is_bit_equal(tmp_path, shaping):
    whole = EvolutionStrategies("LinearPolicy", "CartPole-v1", common_seeds=shaping, **SMALL)
    whole.learn(1500)
    first = EvolutionStrategies("LinearPolicy", "CartPole-v1", common_seeds=shaping, **SMALL)
    first.learn(600)
    first.save(tmp_path / "half.zip")
    second = EvolutionStrategies.load(tmp_path / "half")
    np.testing.assert_array_equal(second.get_vector(), first.get_vector())
    second.learn(1500 - first.num_timesteps, reset_num_timesteps=False)
    np.testing.assert_array_equal(second.get_vector(), whole.get_vector())
    assert second.num_timesteps == whole.num_timesteps
    returns = [[row["mean_return"] for row in es.history] for es in (second, whole)]
    assert returns[0] == returns[1]


def test_random_features_and_predictions_come_back(tmp_path):
    kwargs = {"selector": {"patch_size": 4, "num_selected": 3, "kernel": "hybrid"}}
    es = EvolutionStrategies("LinearPolicy", FollowBlob, policy_kwargs=kwargs, **SMALL).learn(400)
    path = es.save(tmp_path / "es")
    with pytest.raises(ValueError, match=r"es\.zip: expected env, .* got None"):
        EvolutionStrategies.load(path)
    again = EvolutionStrategies.load(path, env=FollowBlob)
    image = FollowBlob().reset(seed=0)[0]
    np.testing.assert_array_equal(again.predict(image)[0], es.predict(image)[0])
    np.testing.assert_array_equal(again.policy.selector.features.xi, es.policy.selector.features.xi)


def test_workers_may_change_on_loading_and_nothing_else(trained):
    es, path = trained
    more = EvolutionStrategies.load(path, evaluator="processes", num_workers=3)
    assert more.config.num_workers == 3
    np.testing.assert_array_equal(more.get_vector(), es.get_vector())
    with pytest.raises(ValueError, match=r"^env_kwargs: expected none without env, got"):
        EvolutionStrategies.load(path, env_kwargs={"difficulty": "hard"})
    with pytest.raises(ValueError, match=r"^changes: expected .* got \['sigma'\]"):
        EvolutionStrategies.load(path, sigma=3.0)


def test_what_cannot_travel_to_workers_can_still_predict(tmp_path):
    path = build(str(tmp_path / "flag"), "processes").save(tmp_path / "es")
    es = EvolutionStrategies.load(path, env=Trouble("none"))
    assert es.predict(np.zeros(1, np.float32))[0].shape == (1,)
    with pytest.raises(ValueError, match="whose spec is None"):
        es.learn(1)


def test_other_environment_is_refused(trained):
    with pytest.raises(ValueError, match=r"model\.zip: expected .* environment"):
        EvolutionStrategies.load(trained[1], env="Pendulum-v1")


def test_missing_file():
    with pytest.raises(FileNotFoundError, match=r"nothing\.zip"):
        EvolutionStrategies.load("nothing")


def test_truncated_files_are_refused(trained, tmp_path):
    content = trained[1].read_bytes()
    broken = tmp_path / "broken.zip"
    for size in (0, 1, 100, len(content) // 2, len(content) - 1):
        broken.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"broken\.zip: expected a checkpoint of iap_gym"):
            EvolutionStrategies.load(broken)


def test_damaged_files_are_refused_or_unharmed(trained, tmp_path):
    es, path = trained
    content = path.read_bytes()
    broken = tmp_path / "broken.zip"
    rng = np.random.default_rng(0)
    refused = []
    for position in rng.integers(len(content), size=60):
        damaged = bytearray(content)
        damaged[position] ^= 1 << int(rng.integers(8))
        broken.write_bytes(damaged)
        try:
            loaded = EvolutionStrategies.load(broken)
        except ValueError as error:
            refused.append(str(error))
        else:  # a time stamp, say
            np.testing.assert_array_equal(loaded.get_vector(), es.get_vector())
    assert all("broken.zip: expected" in message for message in refused)
    assert len(refused) > 30


def rewrite(source, target, name, change):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.namelist():
            content = old.read(entry)
            if entry == name:
                content = change(content)
            if content is not None:
                new.writestr(entry, content)


def edit(**changes):
    def change(content):
        data = json.loads(content)
        return json.dumps({**data, **changes})

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("meta.json", edit(version=2), "version 1, got .*'version': 2"),
        ("meta.json", edit(format="other"), "got .*'format': 'other'"),
        ("meta.json", lambda content: None, "meta.json"),
        ("meta.json", lambda content: b"[]", r"got \[\]"),
        ("tensors.safetensors", lambda content: content[:-8], "damaged"),
        ("state.json", lambda content: b"{}", "'generation'"),
        ("state.json", edit(generation=-1), "generation"),
        ("config.json", edit(config={}), "fields"),
        ("config.json", edit(env={}), "spec"),
    ],
)
def test_foreign_contents_are_refused(trained, tmp_path, name, change, message):
    target = tmp_path / "changed.zip"
    rewrite(trained[1], target, name, change)
    with pytest.raises(ValueError, match=rf"changed\.zip: expected .*{message}"):
        EvolutionStrategies.load(target)


def test_files_from_before_a_setting_have_its_default(trained, tmp_path):
    def older(content):
        data = json.loads(content)
        del data["config"]["decay"]
        return json.dumps(data)

    rewrite(trained[1], tmp_path / "older.zip", "config.json", older)
    again = EvolutionStrategies.load(tmp_path / "older")
    assert again.config == trained[0].config
    np.testing.assert_array_equal(again.get_vector(), trained[0].get_vector())


def test_failed_writes_leave_the_old_file(trained, tmp_path, monkeypatch):
    es, _ = trained
    path = es.save(tmp_path / "model")
    before = path.read_bytes()

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="disk full"):
        es.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.zip"]


VICTIM = """
import sys
sys.path.insert(0, {folder!r})
from iap_gym.baselines.evolution import CheckpointCallback
from tests.baselines.test_evolution_checkpoint import *

if __name__ == "__main__":
    es = build({flag!r}, {evaluator!r})
    es.learn(10**6, callback=CheckpointCallback({path!r}))
"""


def build(flag, evaluator):
    """The third generation hangs in the middle of its fifth step, once ``flag`` is gone."""
    return EvolutionStrategies(
        "MlpPolicy", SleepLater, env_kwargs={"flag": flag}, evaluator=evaluator, **SMALL
    )


class SleepLater(Trouble):
    """Hangs in the episode after the twentieth of its process, unless ``flag`` exists."""

    def __init__(self, flag):
        super().__init__("sleep", flag)
        self.episodes = 0

    def reset(self, **kwargs):
        self.episodes += 1
        self.what = "sleep" if self.episodes > 20 else "none"
        return super().reset(**kwargs)

    def _go_wrong(self, reward):
        return super()._go_wrong(reward) if self.what == "sleep" else reward


@pytest.mark.parametrize("evaluator", ["inline", "processes"])
def test_training_killed_in_the_middle_of_a_generation_goes_on_bit_for_bit(tmp_path, evaluator):
    flag, path = tmp_path / "slept", tmp_path / "model.zip"
    script = tmp_path / "script.py"
    folder = str(Path(__file__).parents[2])
    script.write_text(
        VICTIM.format(folder=folder, flag=str(flag), path=str(path), evaluator=evaluator)
    )
    with subprocess.Popen([sys.executable, str(script)]) as victim:
        deadline = time.monotonic() + 60
        while not flag.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert flag.exists()
        os.kill(victim.pid, signal.SIGKILL)
    resumed = EvolutionStrategies.load(path, env=lambda: SleepLater(str(flag)))
    assert resumed.generation == 2
    resumed.learn(500 - resumed.num_timesteps, reset_num_timesteps=False)
    whole = build(str(flag), "inline").learn(500)
    assert whole.generation == resumed.generation == 6
    np.testing.assert_array_equal(resumed.get_vector(), whole.get_vector())
