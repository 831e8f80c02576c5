"""`iap-gym data`: files, what is printed, and exit codes."""

import os
import pty
import subprocess
import sys

import pytest

import iap_gym
from iap_gym.cli import main as cli
from iap_gym.data import load

WRONG = [
    ["data"],
    ["data", "mix"],
    ["data", "make"],
    ["data", "make", "pool"],
    ["data", "make", "shepherd", "--split", "dev"],
    ["data", "make", "shepherd", "--variant", "both"],
    ["data", "make", "shepherd", "--seed", "-1"],
    ["data", "make", "shepherd", "--sequences", "0"],
    ["data", "make", "shepherd", "--sequences", "15"],
    ["data", "make", "shepherd", "--sequences", "16", "--out", "a.safetensors"],
    ["data", "make", "fetch-diverse", "--split", "gen"],
    ["data", "make", "fetch-grasp", "--variant", "paper"],
    ["data", "make", "fetch-grasp", "--workers", "0"],
    ["data", "make", "fetch-grasp", "--showpiece", "2"],
    ["data", "make", "fetch-diverse", "--showpiece", "101"],
    ["data", "make", "fetch-diverse", "--showpiece", "1", "--split", "val"],
    ["data", "make", "fetch-diverse", "--showpiece", "1", "--split", "all"],
    ["data", "make", "fetch-diverse", "--showpiece", "1", "--sequences", "4"],
    ["data", "make", "fetch-diverse", "--showpiece", "1", "--variant", "paper"],
    ["data", "make", "fetch-diverse", "--showpiece", "1", "--planner", "samples=8"],
    ["data", "make", "fetch-diverse", "--planner", "num_samples=8"],
    ["data", "info"],
    ["data", "info", "nowhere"],
    ["data", "info", "."],
    ["data", "to-minari", "nowhere", "--id", "x-v0"],
    ["data", "to-minari", "nowhere"],
    ["data", "from-minari", "x-v0"],
    ["data", "from-minari", "x", "--out", "a"],
    ["data", "from-minari", "x-v0", "--out", "a"],
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Work in an empty folder, beside one for Minari."""
    path = tmp_path / "here"
    path.mkdir()
    monkeypatch.chdir(path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return path


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_mistake_gets_one_line_and_code_2(words, here, capsys):
    assert cli.main(words) == 2
    err = capsys.readouterr().err
    assert err.startswith("iap-gym data")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert not list(here.iterdir()), "a refused command must leave nothing behind"


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        (
            "fetch-diverse",
            "--showpiece 101",
            "--showpiece: expected an integer in [1, 100], got 101",
        ),
        (
            "fetch-diverse",
            "--showpiece 2 --split test",
            "--split: expected none with --showpiece N, got 'test'",
        ),
        (
            "fetch-diverse",
            "--showpiece 2 --sequences 8",
            "--sequences: expected none with --showpiece N, got 8",
        ),
        (
            "fetch-diverse",
            "--showpiece 2 --variant paper",
            "variant: expected 'code' for fetch-diverse, got 'paper'",
        ),
        (
            "fetch-grasp",
            "--showpiece 2",
            "NAME with --showpiece: expected one of 'fetch-diverse', got 'fetch-grasp'",
        ),
        (
            "fetch-diverse",
            "--split gen",
            "--split: expected one of 'train', 'val', 'test', got 'gen'",
        ),
    ],
)
def test_a_mistake_names_the_option_that_was_typed(name, words, message, capsys):
    assert cli.main(["data", "make", name, *words.split()]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("action", ["make", "info", "to-minari", "from-minari"])
def test_help_of_every_action(action, capsys):
    assert cli.main(["data", action, "--help"]) == 0
    assert f"usage: iap-gym data {action}" in capsys.readouterr().out


def test_all_splits_go_into_a_folder(here, capsys):
    words = ["data", "make", "rrc-random", "--sequences", "20", "--out", "some/sets"]
    assert cli.main(words) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for split in ("train", "val", "test"):
        dataset = load(here / f"some/sets/rrc-random-{split}.safetensors")
        assert len(dataset) == 20
        assert dataset.header["split"] == split
        assert f"some/sets/rrc-random-{split}.safetensors: 20 sequences" in printed.out
    accepted = dataset.header["pools"]["controlled"]["accepted"]
    row = f"controlled 2,048 {accepted} 10 {accepted / 20.48:.2f} %".split()
    assert row in [line.split() for line in printed.out.splitlines()]


def test_the_command_in_the_header_makes_the_same_file_again(here):
    words = ["data", "make", "shepherd", "--split", "test", "--sequences", "8", "--seed", "3"]
    assert cli.main([*words, "--variant", "paper", "--out", "first.safetensors"]) == 0
    command = load("first.safetensors").header["command"].split()
    assert cli.main([*command[1:], "--out", "again"]) == 0
    again = here / "again" / "shepherd-paper-test.safetensors"
    assert again.read_bytes() == (here / "first.safetensors").read_bytes()


def test_what_is_there_is_kept_and_the_rest_is_made(here, capsys):
    words = ["data", "make", "rrc-time", "--sequences", "2"]
    assert cli.main([*words, "--split", "test"]) == 0
    test = here / "data" / "rrc-time-test.safetensors"
    before = test.stat().st_mtime_ns
    capsys.readouterr()
    assert cli.main(words) == 0
    out = capsys.readouterr().out
    assert "data/rrc-time-test.safetensors: is there already, with these 2 sequences\n" in out
    assert out.count("is there already") == 1
    assert len(list(test.parent.iterdir())) == 3
    assert test.stat().st_mtime_ns == before
    assert cli.main(words) == 0
    assert capsys.readouterr().out.count("is there already") == 3


@pytest.mark.parametrize("change", [["--sequences", "4"], ["--seed", "1"], "version", "damage"])
def test_nothing_is_made_where_another_file_is_there(here, capsys, monkeypatch, change):
    words = ["data", "make", "rrc-time", "--sequences", "2"]
    assert cli.main([*words, "--split", "test"]) == 0
    test = here / "data" / "rrc-time-test.safetensors"
    if change == "version":
        monkeypatch.setattr(iap_gym, "__version__", "99")
    elif change == "damage":
        test.write_bytes(test.read_bytes()[:-1] + b"!")
    else:
        words += change
    before = test.stat().st_mtime_ns
    assert cli.main(words) == 2
    assert "data/rrc-time-test.safetensors exists already; --force" in capsys.readouterr().err
    assert list(test.parent.iterdir()) == [test]
    assert cli.main([*words, "--force"]) == 0
    assert len(list(test.parent.iterdir())) == 3
    assert test.stat().st_mtime_ns > before


def test_a_folder_that_is_a_file_is_named(here, capsys):
    (here / "taken").write_text("")
    words = ["data", "make", "rrc-time", "--sequences", "2", "--out"]
    assert cli.main([*words, "taken"]) == 2
    assert "--out: expected a folder or a name that ends with .saf" in capsys.readouterr().err
    assert cli.main([*words, "taken/deeper"]) == 1
    assert "cannot write into taken/deeper: Not a directory" in capsys.readouterr().err


def test_info_prints_header_ranges_and_events(capsys):
    words = ["data", "make", "shepherd", "--split", "val", "--sequences", "40", "--out"]
    assert cli.main([*words, "s.safetensors"]) == 0
    capsys.readouterr()
    assert cli.main(["data", "info", "s.safetensors", "--verify"]) == 0
    out = capsys.readouterr().out
    dataset = load("s.safetensors")
    assert f"command     {dataset.header['command']}\n" in out
    assert f"sha256      {dataset.header['sha256']}\n" in out
    assert "arrays      observations (40, 101, 7), actions (40, 100, 3), rewards" in out
    lines = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    count = dataset.header["pools"]["sheep caught, start right"]
    assert lines["sheep caught, start right"][4:7] == [
        f"{count['tried']:,}",
        f"{count['accepted']:,}",
        "10",
    ]
    seen = dataset.observations[..., 5]
    numbers = [f"{number:.3f}" for number in (seen.min(), seen.max(), seen.mean(dtype=float))]
    assert lines["observation sheep y"][-3:] == numbers
    share = f"{100 * dataset.flags('caught').mean(dtype=float):.2f}"
    assert lines["caught"] == ["caught", share, "%", "0.00", "%", "25.00", "%"]
    assert lines["carried"][-4:] == ["100.00", "%", "0.00", "%"]
    assert out.endswith("the checksum is right\n")


def test_damage_is_named_before_anything_is_printed(here, capsys):
    words = ["data", "make", "rrc-time", "--split", "val", "--sequences", "2", "--out"]
    assert cli.main([*words, "r.safetensors"]) == 0
    content = bytearray((here / "r.safetensors").read_bytes())
    content[-1] ^= 1
    (here / "r.safetensors").write_bytes(content)
    capsys.readouterr()
    for words in (
        ["info", "r.safetensors", "--verify"],
        ["to-minari", "r.safetensors", "--id", "x-v0"],
    ):
        assert cli.main(["data", *words]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "r.safetensors is damaged: its sha256 is" in printed.err
    assert cli.main(["data", "info", "r.safetensors"]) == 0


def test_there_and_back_by_the_command(here, capsys):
    words = ["data", "make", "billiard", "--split", "val", "--sequences", "16", "--out"]
    assert cli.main([*words, "b.safetensors"]) == 0
    assert cli.main(["data", "to-minari", "b.safetensors", "--id", "iap_gym/balls-v0"]) == 0
    assert cli.main(["data", "from-minari", "iap_gym/balls-v0", "--out", "c.safetensors"]) == 0
    out = capsys.readouterr().out
    assert "iap_gym/balls-v0: 16 episodes in " in out
    assert "c.safetensors: 16 sequences of 50 steps\n" in out
    assert (here / "b.safetensors").read_bytes() == (here / "c.safetensors").read_bytes()


def test_a_terminal_is_shown_how_far_the_work_is(here):
    def errors(*options):
        main_end, terminal = pty.openpty()
        code = "import sys; from iap_gym.cli.main import main; sys.exit(main(sys.argv[1:]))"
        words = ["data", "make", "rrc-time", "--split", "val", "--sequences", "800", *options]
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            stdout=subprocess.PIPE,
            stderr=terminal,
            check=True,
        )
        os.write(terminal, b"end")
        os.close(terminal)
        text = b""
        while not text.endswith(b"end"):
            text += os.read(main_end, 10_000)
        os.close(main_end)
        assert b"800 sequences" in done.stdout
        return text[: -len(b"end")].decode()

    shown = errors()
    assert "\rrrc-time val [" in shown
    assert "] 100 %" in shown
    assert shown.endswith("\r\033[K")
    assert errors("--no-progress", "--force") == ""


def test_fetch_sets_have_the_splits_of_their_own_and_print_acceptance(here, capsys):
    words = ["data", "make", "fetch-grasp", "--sequences", "2", "--workers", "1"]
    assert cli.main(words) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for split in ("train", "val", "test", "gen"):
        assert len(load(here / f"data/fetch-grasp-{split}.safetensors")) == 2
    tried = load("data/fetch-grasp-gen.safetensors").header["pools"]["grasp at 6 to 10"]["tried"]
    row = f"grasp at 6 to 10 {tried} 2 2 {200 / tried:.2f} %".split()
    assert row in [line.split() for line in printed.out.splitlines()]


def test_showpieces_are_planned_into_a_file_of_their_own(here, capsys):
    words = ["data", "make", "fetch-diverse", "--showpiece", "1", "--workers", "1", "--planner"]
    assert cli.main([*words, "num_samples=6", "horizon=3", "iterations=1", "steps=2"]) == 0
    assert "fetch-diverse-showpiece.safetensors: 1 sequences" in capsys.readouterr().out
    dataset = load(here / "data/fetch-diverse-showpiece.safetensors")
    assert dataset.actions.shape == (1, 2, 4)
    assert cli.main([*words, "num_samples=6", "horizon=3", "iterations=1", "steps=2"]) == 0
    assert "is there already, with these 1 sequences" in capsys.readouterr().out
    assert cli.main([*words, "num_samples=7", "horizon=3", "iterations=1", "steps=2"]) == 2
    assert "exists already" in capsys.readouterr().err
    command = dataset.header["command"].split()
    assert cli.main([*command[1:], "--out", "again", "--workers", "1"]) == 0
    again = here / "again/fetch-diverse-showpiece.safetensors"
    assert again.read_bytes() == (here / "data/fetch-diverse-showpiece.safetensors").read_bytes()
