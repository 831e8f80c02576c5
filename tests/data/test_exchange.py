"""Minari: there and back, what others collected, and what goes wrong."""

import subprocess
import sys
from pathlib import Path

import h5py
import minari
import numpy as np
import pytest
from gymnasium import spaces
from minari.data_collector.episode_buffer import EpisodeBuffer

from iap_gym.data import from_minari, load, make_dataset, to_minari


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Give Minari a folder of its own."""
    path = tmp_path / "minari"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(path))
    return path


@pytest.mark.parametrize(("name", "variant"), [("billiard", "code"), ("shepherd", "paper")])
def test_what_went_to_minari_comes_back_as_the_same_file(name, variant, tmp_path):
    path, back = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    dataset = make_dataset(name, path, "val", variant=variant, sequences=16)
    written = to_minari(dataset, f"iap_gym/{name}-val-v0")
    assert written.total_episodes == 16
    assert list(minari.list_local_datasets()) == [f"iap_gym/{name}-val-v0"]
    returned = from_minari(f"iap_gym/{name}-val-v0", back)
    assert back.read_bytes() == path.read_bytes()
    assert returned.header == dataset.header


def test_minari_sees_episodes_of_the_environment(tmp_path):
    dataset = make_dataset("rrc-random", tmp_path / "a", sequences=4, variant="paper")
    steps = []
    written = to_minari(dataset, "robot-v3", lambda *step: steps.append(step))
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for row, episode in enumerate(written.iterate_episodes()):
        np.testing.assert_array_equal(episode.observations, dataset.observations[row])
        np.testing.assert_array_equal(episode.actions, dataset.actions[row])
        np.testing.assert_array_equal(episode.rewards, dataset.rewards[row])
        np.testing.assert_array_equal(episode.infos["controlled"], dataset.info[row, :, 0])
        assert episode.truncations.tolist() == [False] * 48 + [True]
        assert not episode.terminations.any()
    metadata = next(iter(written.storage.get_episode_metadata([1])))
    assert metadata["options"] == {"category": "not controlled"}
    env = written.recover_environment()
    assert env.spec.id == "iap_gym/RobotRemoteControl-v0"
    assert env.unwrapped.world.variant == "paper"
    assert written.observation_space == env.observation_space


def others(name, lengths, *, space=None, actions=None, infos=True):
    """Write a data set that knows nothing of us."""
    rng = np.random.default_rng(0)
    buffers = [
        EpisodeBuffer(
            observations=rng.normal(size=(length + 1, 3)),
            actions=rng.integers(0, 4, length),
            rewards=rng.normal(size=length),
            terminations=np.zeros(length, bool),
            truncations=np.zeros(length, bool),
            infos={"lit": np.ones(length + 1, bool), "map": np.zeros((length + 1, 2))}
            if infos
            else None,
        )
        for length in lengths
    ]
    return minari.create_dataset_from_buffers(
        name,
        buffers,
        observation_space=space or spaces.Box(-9, 9, (3,), np.float64),
        action_space=actions or spaces.Discrete(4),
        eval_env="CartPole-v1",
        env="CartPole-v1",
        algorithm_name="random",
        author="nobody",
        author_email="nobody",
        code_permalink="none",
        description="noise",
    ), buffers


def test_data_of_others_come_as_float32(tmp_path):
    _, buffers = others("noise-v0", [5, 5])
    dataset = from_minari("noise-v0", tmp_path / "noise")
    assert dataset.header["dataset"] == "noise-v0"
    assert dataset.header["env"] is None
    assert dataset.categories == ("all",)
    assert dataset.header["columns"]["info"] == ["lit"]
    assert dataset.flags("lit").all()
    for row, buffer in enumerate(buffers):
        np.testing.assert_allclose(dataset.observations[row], buffer.observations, rtol=1e-6)
        np.testing.assert_array_equal(dataset.actions[row, :, 0], buffer.actions)
        np.testing.assert_allclose(dataset.rewards[row], buffer.rewards, rtol=1e-6)
    with pytest.raises(ValueError, match="dataset: expected one that make_dataset made"):
        to_minari(load(tmp_path / "noise"), "again-v0")


def test_data_of_others_without_infos(tmp_path):
    others("plain-v0", [4], infos=False)
    assert from_minari("plain-v0", tmp_path / "plain").info.shape == (1, 5, 0)


@pytest.mark.parametrize(
    ("lengths", "changes", "message"),
    [
        ([5, 7], {}, "name: expected episodes of the same number of steps, got '5 to 7'"),
        ([], {}, "name: expected a data set with episodes, got 'noise-v0'"),
        ([5], {"space": spaces.Box(0, 1, (3, 1))}, "observations: expected a Box with one dim"),
        ([5], {"actions": spaces.MultiBinary(3)}, "actions: expected a Box with one dimension"),
    ],
)
def test_what_has_no_place_in_a_file_is_named(lengths, changes, message, tmp_path):
    others("noise-v0", lengths, **changes)
    with pytest.raises(ValueError, match=message):
        from_minari("noise-v0", tmp_path / "noise")
    assert not (tmp_path / "noise").exists()


def test_changed_data_lose_our_header(tmp_path):
    written = to_minari(make_dataset("rrc-time", tmp_path / "a", sequences=4), "robot-v0")
    more = EpisodeBuffer(
        observations=np.zeros((50, 4), np.float32),
        actions=np.zeros((49, 2), np.float32),
        rewards=np.zeros(49),
        terminations=np.zeros(49, bool),
        truncations=np.zeros(49, bool),
        infos={"controlled": np.zeros(50)},
    )
    written.storage.update_episodes([more])
    dataset = from_minari("robot-v0", tmp_path / "b")
    assert len(dataset) == 5
    assert dataset.header["env"] is None
    assert dataset.header["seed"] is None


@pytest.mark.parametrize("name", ["shepherd", "billiard"])
def test_changed_data_keep_their_columns(name, tmp_path):
    """Several events, in an order that is not the alphabet's."""
    original = make_dataset(name, tmp_path / "a", sequences=16)
    written = to_minari(original, "changed-v0")
    with h5py.File(Path(written.storage.data_path) / "main_data.hdf5", "r+") as data:
        data["episode_0"]["rewards"][0] += 1.0
    dataset = from_minari("changed-v0", tmp_path / "b")
    assert dataset.header["env"] is None
    assert dataset.header["columns"] == original.header["columns"]
    assert len(original.header["columns"]["info"]) > 1
    for event in original.header["columns"]["info"]:
        np.testing.assert_array_equal(dataset.flags(event), original.flags(event))


def test_names_are_checked_and_nothing_is_overwritten(tmp_path, folder):
    dataset = make_dataset("rrc-time", tmp_path / "a", sequences=2)
    for name in ("", "noversion", "a b-v0", "/x-v0"):
        with pytest.raises(ValueError, match="name: expected name-v0 or namespace/name-v0"):
            to_minari(dataset, name)
        with pytest.raises(ValueError, match="name: expected name-v0 or namespace/name-v0"):
            from_minari(name, tmp_path / "b")
    with pytest.raises(FileNotFoundError, match="missing-v0 not found"):
        from_minari("missing-v0", tmp_path / "b")
    to_minari(dataset, "robot-v0")
    with pytest.raises(FileExistsError, match="robot-v0 exists already"):
        to_minari(dataset, "robot-v0")
    with pytest.raises(FileExistsError, match="a exists already"):
        from_minari("robot-v0", tmp_path / "a")
    from_minari("robot-v0", tmp_path / "a", overwrite=True)
    assert [path.name for path in folder.iterdir()] == ["robot-v0"]


def test_an_interrupted_export_leaves_nothing(tmp_path, folder):
    def interrupt(done, _):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_minari(make_dataset("rrc-time", tmp_path / "a", sequences=4), "some/robot-v0", interrupt)
    assert not list(folder.iterdir())


EXPORT = """
import sys, time
from iap_gym.data import load, to_minari
def wait(done, total):
    print(done, flush=True)
    time.sleep(600)
to_minari(load(sys.argv[1]), "some/robot-v0", wait)
"""


def test_what_a_killed_export_left_goes_with_the_next_one(tmp_path, folder):
    dataset = make_dataset("rrc-time", tmp_path / "a.safetensors", sequences=4)
    command = [sys.executable, "-c", EXPORT, str(tmp_path / "a.safetensors")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"1\n"
            (left,) = folder.iterdir()
            to_minari(dataset, "running-v0")
            assert left.is_dir(), "its process runs"
        finally:
            process.kill()
    assert list(minari.list_local_datasets()) == ["running-v0"]
    to_minari(dataset, "other-v0")  # whatever the killed one was to be called
    assert sorted(path.name for path in folder.iterdir()) == ["other-v0", "running-v0"]


@pytest.mark.parametrize("module", ["minari", "h5py"])
def test_without_minari_only_the_exchange_is_missing(module, tmp_path):
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from iap_gym.cli.main import main\n"
        "path = sys.argv[1]\n"
        "words = ['--sequences', '2', '--split', 'val', '--out', path]\n"
        "assert main(['data', 'make', 'rrc-time', *words]) == main(['data', 'info', path]) == 0\n"
        "sys.exit(main(['data', 'to-minari', path, '--id', 'x-v0']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.safetensors")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    line = f'iap-gym data: {module} is not installed, run `pip install "iap-gym[data]"`\n'
    assert done.stderr == line
