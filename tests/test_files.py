"""Files are whole or the old ones, and what killed writers left does not stay."""

import os
import signal
import subprocess
import sys

import pytest

from iap_gym import _files

WRITER = """
import sys, time
from iap_gym._files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print(temporary.name, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path):
    """Start a process that is in the middle of writing; return it and its temporary file."""
    started = []

    def start(name):
        command = [sys.executable, "-c", WRITER, str(tmp_path / name)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process, tmp_path / process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path, writer):
    process, left = writer("data.bin")
    assert left.read_text() == "half"
    assert left.suffix == ".bin"
    _files.write_text(tmp_path / "data.bin", "one")
    assert left.exists(), "its writer runs"
    kill(process)
    _files.write_text(tmp_path / "other.bin", "another path")
    _files.write_text(tmp_path / "data-2.bin", "another path")
    _files.write_text(tmp_path / "data.txt", "another path")
    assert left.exists()
    _files.write_text(tmp_path / "data.bin", "two")
    assert not left.exists()
    assert (tmp_path / "data.bin").read_text() == "two"


def test_names_with_signs_of_patterns_are_only_themselves(tmp_path, writer):
    process, left = writer("a[1]*.bin")
    kill(process)
    _files.remove_abandoned(tmp_path / "a1x.bin")
    assert left.exists()
    _files.remove_abandoned(tmp_path / "a[1]*.bin")
    assert not left.exists()


def test_what_may_be_another_machines_stays(tmp_path, writer, monkeypatch):
    process, left = writer("data.bin")
    kill(process)
    foreign = [".data.bin", ".data-notes.bin", ".data-0123456789ab.bin"]
    foreign.append(left.name.replace(_files._machine(), "00000000"))
    for name in foreign:
        (tmp_path / name).touch()
    _files.remove_abandoned(tmp_path / "data.bin")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(foreign)


def test_what_cannot_be_removed_stops_nobody(tmp_path, writer, monkeypatch):
    process, left = writer("data.bin")
    kill(process)
    left.unlink()
    (left / "folder").mkdir(parents=True)

    def refuse(path):
        raise PermissionError(path)

    with monkeypatch.context() as patch:
        patch.setattr(_files.shutil, "rmtree", refuse)
        _files.write_text(tmp_path / "data.bin", "text")
    assert (tmp_path / "data.bin").read_text() == "text"
    assert left.is_dir()
    _files.remove_abandoned(tmp_path / "data.bin")
    assert not left.exists()


def test_absent_folders_and_live_processes_are_no_matter(tmp_path):
    _files.remove_abandoned(tmp_path / "nowhere" / "data.bin")
    assert _files._runs(os.getpid())
    assert _files._runs(10**30), "what cannot be asked may run"
