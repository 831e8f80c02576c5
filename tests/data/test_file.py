"""The file: whole or refused, mapped, and the same to safetensors' own library."""

import json
import struct

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import iap_gym
from iap_gym import _files
from iap_gym.data import DataFileError, load, make_dataset
from iap_gym.data import file as data_file


def test_the_safetensors_library_reads_the_same(small):
    for path in small.values():
        dataset = load(path)
        with safe_open(path, "numpy") as peer:
            assert set(peer.keys()) == set(dataset.arrays)
            for name, array in dataset.arrays.items():
                np.testing.assert_array_equal(peer.get_tensor(name), array)
            assert json.loads(peer.metadata()["iap_gym"]) == dataset.header


def test_the_header_says_what_the_data_are(small):
    header = load(small["shepherd"]).header
    assert header["env"] == "iap_gym/Shepherd-v0"
    assert (header["dataset"], header["split"], header["seed"]) == ("shepherd", "train", 0)
    assert header["versions"] == {"iap_gym": iap_gym.__version__, "numpy": np.__version__}
    assert header["columns"]["observations"][4:] == ["sheep x", "sheep y", "wall height"]
    assert header["columns"]["actions"] == ["move x", "move y", "hold"]
    assert header["columns"]["info"] == ["gate_open", "carried", "caught", "hidden"]
    assert header["command"] == (
        "iap-gym data make shepherd --split train --seed 0 --variant code --sequences 96"
    )
    content = small["shepherd"].read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    assert (8 + length) % 64 == 0


def test_arrays_are_mapped_and_cannot_be_written(tmp_path):
    # Four gigabytes, of which the disk holds a few blocks and memory less.
    n = 1_000_000
    header = {"format": data_file.FORMAT, "version": data_file.VERSION, "sha256": ""}
    columns = {"observations": list("abcdefghij"), "actions": [], "info": []}
    header |= dict.fromkeys(("dataset", "env", "variant", "split", "seed", "command"))
    header |= {"versions": {}, "pools": {}, "categories": ["all"], "columns": columns}
    header |= {"sequences": n, "steps": 100}
    shapes = {
        "observations": (n, 101, 10),
        "actions": (n, 100, 0),
        "rewards": (n, 100),
        "info": (n, 101, 0),
    }
    table, end = {"__metadata__": {"iap_gym": json.dumps(header)}}, 0
    for name, shape in shapes.items():
        begin, end = end, end + 4 * int(np.prod(shape))
        table[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(table).encode()
    path = tmp_path / "large.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    dataset = load(path)
    assert dataset.observations.nbytes > 4e9
    assert dataset.observations[n // 2, 50].tolist() == [0] * 10
    batch = next(dataset.batches(8, np.random.default_rng(0)))
    assert batch.observations.shape == (101, 8, 10)
    with pytest.raises(ValueError, match="read-only"):
        dataset.observations[0, 0, 0] = 1


def test_a_file_that_was_cut_off_anywhere_is_refused(small, tmp_path):
    content = small["rrc-time"].read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    cuts = [0, 1, 7, 8, 9, start // 2, start - 1, start, start + 1, len(content) // 2]
    for cut in [*cuts, len(content) - 4, len(content) - 1]:
        path = tmp_path / "cut.safetensors"
        path.write_bytes(content[:cut])
        with pytest.raises(DataFileError, match="cut off at its start|is truncated"):
            load(path)
    path.write_bytes(content + b"0")
    with pytest.raises(DataFileError, match="is too long"):
        load(path)


def load_whole(path):
    dataset = load(path)
    data_file.verify(path)
    return dataset


def test_every_changed_byte_is_found(tmp_path):
    path = tmp_path / "a.safetensors"
    make_dataset("rrc-random", path, sequences=2)
    content = bytearray(path.read_bytes())
    start = 8 + struct.unpack("<Q", content[:8])[0]
    places = [*range(start), *range(start, len(content), 101)]
    for place in places:
        content[place] ^= 1
        path.write_bytes(content)
        with pytest.raises(DataFileError, match=path.name):
            load_whole(path)
        content[place] ^= 1
    path.write_bytes(content)
    assert len(load_whole(path)) == 2


def test_damage_that_has_the_right_length_is_found_by_the_checksum(small, tmp_path):
    path = tmp_path / "a.safetensors"
    content = bytearray(small["shepherd"].read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    load(path)
    with pytest.raises(DataFileError, match="a.safetensors is damaged: its sha256 is"):
        data_file.verify(path)


def test_files_of_others_and_of_other_versions_are_named(small, tmp_path):
    path = tmp_path / "a.safetensors"
    for content in (b"", b"hello", b"\x93NUMPY\x01\x00" * 20, b"{}" * 30):
        path.write_bytes(content)
        with pytest.raises(DataFileError, match="is no data set of iap_gym"):
            load(path)
    for metadata in (None, {"iap_gym": "{}"}, {"iap_gym": "[1"}, {"iap_gym": '"x"'}):
        save_file({"weight": np.zeros(3, np.float32)}, path, metadata)
        with pytest.raises(DataFileError, match="is no data set of iap_gym"):
            load(path)
    arrays, header = load(small["rrc-time"]).arrays, load(small["rrc-time"]).header
    later = json.dumps(header | {"version": 2})
    save_file({name: np.array(array) for name, array in arrays.items()}, path, {"iap_gym": later})
    with pytest.raises(DataFileError, match="is of version 2 of the format, this .* version 1"):
        load(path)
    with pytest.raises(DataFileError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing"):
        load(tmp_path / "nothing")


def test_a_header_that_does_not_go_with_its_arrays_is_damage(small, tmp_path):
    dataset = load(small["rrc-time"])
    for changes in (
        {"columns": {"observations": ["x"], "actions": ["x", "y"], "info": ["controlled"]}},
        {"columns": {}},
        {"columns": None},
        {"categories": []},
        {"categories": ["one"] * 5},
    ):
        path = tmp_path / "a.safetensors"
        data_file.write(path, dataset.arrays, dataset.header | changes)
        with pytest.raises(DataFileError, match="a.safetensors is damaged: arrays: expected"):
            load(path)


def test_arrays_that_overlap_are_damage(small, tmp_path):
    content = small["rrc-time"].read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    table = json.loads(content[8:start])
    begin, end = table["actions"]["data_offsets"]
    table["actions"]["data_offsets"] = [0, end - begin]
    text = json.dumps(table).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[start:])
    with pytest.raises(DataFileError, match="is damaged: its header is not one that iap_gym"):
        load(path)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(small, tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    make_dataset("rrc-time", path, sequences=2)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        make_dataset("rrc-time", path, sequences=4, overwrite=True)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_found_before_the_work(tmp_path):
    def progress(*_):
        raise AssertionError("the work has begun")

    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "a", tmp_path / "file" / "deeper" / "a"):
        with pytest.raises(OSError, match="cannot write into"):
            make_dataset("rrc-time", path, sequences=2, progress=progress)
    with pytest.raises(FileExistsError, match="file exists already; --force"):
        make_dataset("rrc-time", tmp_path / "file", sequences=2, progress=progress)
    with pytest.raises(ValueError, match="path: expected the name of a file"):
        make_dataset("rrc-time", tmp_path, sequences=2, progress=progress)


def test_work_that_is_interrupted_leaves_no_file(tmp_path):
    def interrupt(done, _):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_dataset("shepherd", tmp_path / "a.safetensors", sequences=400, progress=interrupt)
    assert not list(tmp_path.iterdir())
