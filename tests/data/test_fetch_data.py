"""Data sets of Fetch Pick and Place: rules, episodes of the environment, parts, workers."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import iap_gym  # noqa: F401
from iap_gym import _files
from iap_gym.data import fetch as fetch_data
from iap_gym.data import from_minari, load, make_dataset, making, to_minari
from iap_gym.data.fetch import FetchTask, make_fetch_recipe
from iap_gym.data.fetch_rules import read_events
from iap_gym.data.making import NAMES, sequences_wanted, splits_of
from iap_gym.data.parts import Part, collect_in_parts, parts_folder, remove_parts
from iap_gym.envs.fetch.simulation import Simulation, draw_goal, draw_object

SPLIT_OF = {"fetch-grasp": "train", "fetch-diverse": "val"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make 16 sequences of each data set, and of the grasps that come later."""
    folder = tmp_path_factory.mktemp("fetch")
    wanted = [*SPLIT_OF.items(), ("fetch-grasp", "gen")]
    return {
        split: make_dataset(name, folder / f"{split}.safetensors", split, sequences=16)
        for name, split in wanted
    }


def first_grasps(readings):
    """Return the published rule's first state, or None, for (n, T + 1, 11), written out anew."""
    relative = np.abs(readings[..., 6:9])
    grasps = (relative[..., 0] < 5e-4) & (relative[..., 1] < 5e-4) & (relative[..., 2] < 0.15)
    return [int(np.flatnonzero(row)[0]) if row.any() else None for row in grasps]


def test_sizes_are_the_published_ones():
    sizes = {
        "fetch-grasp": {"train": 3_200, "val": 640, "test": 640, "gen": 3_200},
        "fetch-diverse": {"train": 12_800, "val": 6_400, "test": 6_400},
    }
    for name, splits in sizes.items():
        assert splits_of(name) == tuple(splits)
        for split, size in splits.items():
            assert sequences_wanted(name, split, None) == size
            assert make_fetch_recipe(name, split).steps == (25 if name == "fetch-grasp" else 50)
    assert set(fetch_data.NAMES) < set(NAMES)


@pytest.mark.parametrize(("split", "allowed"), [("train", {5}), ("gen", {6, 7, 8, 9, 10})])
def test_first_grasps_come_when_they_are_to_come_and_find_the_cube_unmoved(made, split, allowed):
    dataset = made[split]
    assert dataset.observations.shape == (16, 26, 11)
    assert dataset.actions.shape == (16, 25, 4)
    grasps = first_grasps(dataset.observations)
    assert set(grasps) <= allowed
    for readings, when in zip(dataset.observations, grasps, strict=True):
        way = np.abs(readings[:when, 3:6] - readings[0, 3:6])
        assert way.max() <= 1e-4
    lifted = (dataset.flags("lifted") > 0.5).any(1)
    assert lifted.mean() > 0.8, "what is grasped should mostly be lifted"


def test_the_diverse_set_has_four_kinds_that_differ(made):
    dataset = made["val"]
    assert dataset.observations.shape == (16, 51, 11)
    assert dataset.categories == ("grasp", "push", "slide", "flick")
    lifted = (dataset.flags("lifted") > 0.5).any(1)
    assert lifted.tolist() == (dataset.category == 0).tolist()
    cube = dataset.observations[..., 3:6]
    assert (cube[..., 2] > 0.4).all(), "none falls off the table"
    way = np.linalg.norm(cube[:, -1, :2] - cube[:, 0, :2], axis=1)
    assert (way[dataset.category > 0] > 0.02).all()
    # What slides or is flicked is soon faster than the gripper that pushes.
    speeds = np.linalg.norm(np.diff(cube[..., :2], axis=1), axis=2).max(1)
    assert speeds[dataset.category == 3].mean() > 1.5 * speeds[dataset.category == 1].mean()


def test_flags_and_rewards_are_those_of_the_states(made):
    for dataset in made.values():
        for readings, info in zip(dataset.observations, dataset.info, strict=True):
            events = read_events(readings)
            assert list(events) == dataset.header["columns"]["info"]
            np.testing.assert_array_equal(np.array(list(events.values())).T, info > 0.5)
        assert set(np.unique(dataset.info)) <= {0, 1}
        assert set(np.unique(dataset.rewards)) <= {-1, 0}
        assert not np.signbit(dataset.rewards[dataset.rewards == 0]).any()


@pytest.mark.parametrize("split", ["train", "val"])
def test_sequences_are_episodes_of_the_environment_to_the_bit(made, split):
    dataset = made[split]
    name, seed = dataset.header["dataset"], dataset.header["seed"]
    task, kinds = FetchTask(name, split, seed, ()), len(dataset.categories)
    recipe, simulation = make_fetch_recipe(name, split), Simulation()
    env = gymnasium.make(dataset.header["env"]).unwrapped
    for row in range(kinds):
        rolled = None
        for attempt in range(1000):
            rolled = fetch_data.roll_out(
                simulation,
                recipe.categories[row % kinds],
                recipe.steps,
                task.generator(row, attempt),
            )
            if rolled is not None:
                break
        rng = task.generator(row, attempt)
        start = simulation.gripper_start
        simulation.reset(draw_object(rng, start))
        goal = draw_goal(rng, start, simulation.object_height).astype(np.float32)
        env.set_state(np.concatenate([simulation.get_state(), goal]))
        for t in range(dataset.steps):
            seen, reward, *_ = env.step(dataset.actions[row, t])
            np.testing.assert_array_equal(seen, dataset.observations[row, t + 1])
            assert reward == dataset.rewards[row, t]


def test_the_header_says_how_it_was_made(made):
    header = made["gen"].header
    assert header["command"] == "iap-gym data make fetch-grasp --split gen --seed 0 --sequences 16"
    assert header["variant"] is None
    assert set(header["versions"]) == {"iap_gym", "numpy", "mujoco", "gymnasium-robotics"}
    (count,) = header["pools"].values()
    assert count["kept"] == count["accepted"] == 16 <= count["tried"]
    assert len(header["columns"]["observations"]) == 11


def test_other_splits_seeds_and_sets_have_other_sequences(made, tmp_path):
    sets = [*made.values()]
    for number, (split, seed) in enumerate((("val", 0), ("test", 0), ("train", 1))):
        path = tmp_path / str(number)
        sets.append(make_dataset("fetch-grasp", path, split, seed, sequences=4))
    starts = [row.tobytes() for dataset in sets for row in dataset.observations[:, 0]]
    assert len(set(starts)) == len(starts)


def test_workers_parts_and_a_smaller_number_change_nothing(made, tmp_path):
    for workers, part_size, sequences in ((1, 5, 13), (2, 4, 16), (2, 7, 14)):
        target = tmp_path / f"{workers}-{part_size}"
        task, steps = FetchTask("fetch-grasp", "train", 0, (), part_size=part_size), []
        part = collect_in_parts(task, target, sequences, workers, recorder(steps))
        for name, array in made["train"].arrays.items():
            np.testing.assert_array_equal(part.arrays[name], array[:sequences])
        assert steps == sorted(steps)
        assert steps[0] == (0, sequences)
        assert steps[-1] == (sequences, sequences)
        if sequences == 16:
            (count,) = made["train"].header["pools"].values()
            assert [*part.tried.values()] == [count["tried"]]


def test_the_parts_are_removed_with_the_file_written(tmp_path):
    target = tmp_path / "set"
    make_dataset("fetch-grasp", target, sequences=1, workers=2)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def recorder(steps):
    return lambda *step: steps.append(step)


def task_of_four():
    return FetchTask("fetch-grasp", "val", 0, (("a", "1"),), part_size=2)


def test_what_was_interrupted_goes_on_with_the_parts_that_are_whole(tmp_path, monkeypatch):
    target, task = tmp_path / "set", task_of_four()
    whole = collect_in_parts(task, target, 8, 1)
    folder = parts_folder(task, target, 8)
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"{first:06d}.safetensors" for first in (0, 2, 4, 6)]
    (folder / names[0]).unlink()
    damaged = folder / names[2]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    collected = []
    collect = FetchTask.collect

    def recorded(self, first, count):
        collected.append((first, count))
        return collect(self, first, count)

    monkeypatch.setattr(FetchTask, "collect", recorded)
    steps = []
    again = collect_in_parts(task, target, 8, 1, recorder(steps))
    assert collected == [(0, 2), (4, 2)]
    assert steps == [(4, 8), (6, 8), (8, 8)]
    assert again.tried == whole.tried
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
    # Parts of another seed, of other versions or of another number are none of it, nor taken.
    others = (
        (FetchTask("fetch-grasp", "val", 1, task.versions, part_size=2), 2),
        (FetchTask("fetch-grasp", "val", 1, (("a", "2"),), part_size=2), 2),
        (task, 2),
    )
    for count, (other, sequences) in enumerate(others, 1):
        collected.clear()
        collect_in_parts(other, target, sequences, 1)
        assert collected == [(0, 2)]
        assert len(list(tmp_path.iterdir())) == 1 + count
        remove_parts(other, target, sequences)
        assert len(list(tmp_path.iterdir())) == count
        collect_in_parts(other, target, sequences, 1)
    assert sorted(path.name for path in folder.iterdir()) == names


ENDLESS = """
import signal, sys
from pathlib import Path
from tests.data.test_fetch_data import LongTask
from iap_gym.data.parts import collect_in_parts

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # some shells ignore it
    try:
        collect_in_parts(LongTask(), Path(sys.argv[1]), 4, 2)
    except KeyboardInterrupt:
        print("interrupted")
"""


@dataclasses.dataclass(frozen=True)
class LongTask:
    """Its first part is made at once, the others take minutes."""

    part_size: int = 1

    def key(self):
        return {}

    def collect(self, first, count):
        if first:
            time.sleep(300)
        return Part({"a": np.zeros((count, 1), np.float32)}, {"kind": 1})


def alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("to_group", [True, False])
def test_an_interruption_ends_all_processes_and_keeps_the_parts(tmp_path, to_group):
    """As Ctrl-C, which the whole group hears, and as a signal to the parent alone."""
    script = tmp_path / "script.py"
    script.write_text(ENDLESS)
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "set")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        start_new_session=True,
    )
    try:
        folder = parts_folder(LongTask(), tmp_path / "set", 4)
        begin = time.monotonic()
        while not (folder / "000000.safetensors").exists():
            assert time.monotonic() - begin < 60
            time.sleep(0.05)
        (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "interrupted\n"
        assert process.returncode == 0
        while alive(process.pid):  # nobody is left in the group
            assert time.monotonic() - begin < 120
            time.sleep(0.05)
        assert [path.name for path in folder.iterdir()] == ["000000.safetensors"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_worker_that_fails_is_reported_and_leaves_the_whole_parts(tmp_path):
    task = FetchTask("fetch-grasp", "dev", 0, (), part_size=1)
    with pytest.raises(ValueError, match="split: expected one of 'train', 'val', 'test', 'gen'"):
        collect_in_parts(task, tmp_path / "set", 4, 2)


def test_a_rule_that_nothing_fulfils_ends(monkeypatch, tmp_path):
    monkeypatch.setattr(fetch_data, "MOST_TRIES", 3)
    monkeypatch.setattr(fetch_data, "ARRIVALS", ((60, 60), (6, 10)))
    with pytest.raises(RuntimeError, match="none of 3 rollouts of grasp at 5 was accepted"):
        make_dataset("fetch-grasp", tmp_path / "a", sequences=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"split": "gen", "name": "fetch-diverse"},
            "split: expected one of 'train', 'val', 'test'",
        ),
        ({"split": "gen", "name": "shepherd"}, "split: expected one of 'train', 'val', 'test'"),
        ({"variant": "paper"}, "variant: expected 'code' for fetch-grasp, got 'paper'"),
        ({"name": "fetch-diverse", "sequences": 6}, "sequences: expected a multiple of 4"),
        ({"workers": 0}, "workers: expected an integer >= 1"),
    ],
)
def test_bad_arguments_are_named(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        make_dataset(**{"name": "fetch-grasp", "path": tmp_path / "a", **changes})
    assert not list(tmp_path.iterdir())


def test_what_a_killed_run_left_is_removed_when_it_is_asked_for_again(tmp_path):
    path = tmp_path / "a.safetensors"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tmp_path / f".a-{_files._machine()}-{gone.pid}-0123456789ab.safetensors"
    left.touch()
    (tmp_path / "kept.safetensors").touch()
    making.check_target(path, overwrite=False)
    assert [each.name for each in tmp_path.iterdir()] == ["kept.safetensors"]


def test_a_file_that_is_there_is_not_replaced(tmp_path):
    (tmp_path / "a").write_text("mine")
    with pytest.raises(FileExistsError):
        make_dataset("fetch-grasp", tmp_path / "a", sequences=1)
    assert (tmp_path / "a").read_text() == "mine"


def test_to_minari_and_back_gives_the_same_file(made, tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    original = make_dataset("fetch-grasp", tmp_path / "a", sequences=4)
    written = to_minari(original, "fetch/grasp-v0")
    assert written.recover_environment().unwrapped.spec.id == "iap_gym/FetchPickAndPlace-v0"
    from_minari("fetch/grasp-v0", tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert load(tmp_path / "b").header == original.header
