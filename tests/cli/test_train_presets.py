"""``iap-gym train --preset`` and ``--start-from`` as a user types them."""

import json

import pytest

from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.presets import PRESETS, training
from iap_gym.cli import main as cli
from iap_gym.cli.train import parts

CART = ["train", "--env", "CartPole-v1", "--no-progress", "--timesteps", "50"]
TINY = ["--no-progress", "--timesteps", "8", "--seed", "3"]
FEW = ["--algo-kwargs", "population_size=2", "episodes_per_candidate=1", "max_episode_steps=2"]


def said(capsys, words):
    code = cli.main(words)
    return code, capsys.readouterr().err.strip()


@pytest.fixture(scope="module")
def surrogate(tmp_path_factory):
    pytest.importorskip("pybullet")
    path = tmp_path_factory.mktemp("runs") / "surrogate"
    words = ["train", "--preset", "quadruped-surrogate", *TINY, *FEW, "--run", str(path)]
    words += ["--eval-every", "1000", "--eval-episodes", "1", "--selector", "num_selected=3"]
    words += ["--env-kwargs", "episode_steps=60", "course=easy"]
    words += ["--eval-env-kwargs", "physics=kinematic"]
    assert cli.main(words) == 0
    return path


def test_options_change_a_preset_key_by_key(surrogate):
    config = Run.open(surrogate).config()
    preset = training("quadruped-surrogate")
    assert config.env_kwargs == {**preset["env_kwargs"], "episode_steps": 60, "course": "easy"}
    assert config.eval_env_kwargs == {"physics": "kinematic", "course": "easy"}
    selector = {**preset["policy_kwargs"]["selector"], "num_selected": 3}
    assert config.policy_kwargs == {**preset["policy_kwargs"], "selector": selector}
    assert config.algo_kwargs["sigma"] == preset["algo_kwargs"]["sigma"]
    assert config.algo_kwargs["population_size"] == 2
    assert (config.seed, config.total_timesteps, config.eval_every) == (3, 8, 1000)
    assert preset["policy_kwargs"]["selector"]["num_selected"] == 10  # a copy of its own
    assert Run.open(surrogate).best_file.is_file()


def test_settings_within_an_argument_change_a_preset_too(tmp_path):
    """The course is another, its scattered starts stay, and are not those of evaluations."""
    pytest.importorskip("pybullet")
    path = tmp_path / "run"
    words = ["train", "--preset", "quadruped-surrogate", *TINY, *FEW, "--run", str(path)]
    words += ["--eval-every", "1000", "--eval-episodes", "1"]
    words += ["--env-kwargs", 'course={"preset": "easy", "start_y": 0.1}', "episode_steps=60"]
    assert cli.main(words) == 0
    config, preset = Run.open(path).config(), training("quadruped-surrogate")
    scattered = preset["env_kwargs"]["course"]
    assert config.env_kwargs["course"] == {**scattered, "preset": "easy", "start_y": 0.1}
    assert config.eval_env_kwargs == {
        "physics": "bullet",
        "course": {"preset": "easy", "start_y": 0.1},
    }


@pytest.mark.parametrize("high", ["LinearPolicy", "CnnPolicy"])
def test_another_high_level_takes_what_it_knows_of_a_preset(tmp_path, high):
    pytest.importorskip("pybullet")
    path = tmp_path / "run"
    words = ["train", "--preset", "quadruped-navigation", *TINY, *FEW, "--run", str(path)]
    words += ["--eval-every", "1000", "--eval-episodes", "1", "--policy-kwargs", f"high={high}"]
    words += ["--env-kwargs", "episode_steps=60", "--eval-env-kwargs", "physics=kinematic"]
    assert cli.main(words) == 0
    preset, found = training("quadruped-navigation")["policy_kwargs"], Run.open(path).config()
    dropped = {"LinearPolicy": set(), "CnnPolicy": {"places", "selector"}}[high] | {"hidden_size"}
    kept = {name: value for name, value in preset.items() if name not in dropped}
    assert found.policy_kwargs == {**kept, "high": high}


def test_the_next_stage_starts_from_the_one_before(surrogate, tmp_path):
    path = tmp_path / "joint"
    words = ["train", "--preset", "quadruped-joint", *TINY, *FEW, "--run", str(path)]
    words += ["--eval-every", "1000", "--eval-episodes", "1", "--selector", "num_selected=3"]
    words += ["--env-kwargs", "physics=kinematic", "episode_steps=60"]
    assert cli.main([*words, "--start-from", f"high={surrogate}", f"low={surrogate}"]) == 0
    started = json.loads((path / "config.json").read_text())["config"]["start_from"]
    assert started == {"high": str(surrogate), "low": str(surrogate)}
    assert cli.main(["train", "--resume", str(path), "--timesteps", "12", "--no-progress"]) == 0


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_config(name):
    from iap_gym.baselines.experiments.config import TrainConfig
    from iap_gym.baselines.experiments.train import settle

    pytest.importorskip("pybullet")
    config = TrainConfig(**training(name))
    assert settle(config) == config


def test_a_run_starts_from_another(tmp_path, capsys):
    first, second = tmp_path / "first", tmp_path / "second"
    assert cli.main([*CART, "--run", str(first)]) == 0
    assert cli.main([*CART, "--run", str(second), "--start-from", str(first)]) == 0
    assert Run.open(second).config().start_from == str(first)
    code, message = said(capsys, [*CART, "--policy", "MlpPolicy", "--start-from", str(first)])
    assert code == 2
    assert "start_from" in message
    code, message = said(capsys, ["train", "--resume", str(second), "--start-from", str(first)])
    assert code == 2
    assert "--resume: expected no option that the run's config decides, got --start-from" in message


def test_what_start_from_may_be():
    assert parts(None) is None
    assert parts(["runs/a"]) == "runs/a"
    assert parts(["high=runs/a"]) == {"high": "runs/a"}
    assert parts(["low=b", "high=a"]) == {"low": "b", "high": "a"}
    for wrong in (["a", "b"], ["high=a", "high=b"], ["high=a", "b"]):
        with pytest.raises(ValueError, match="^--start-from: expected one RUN, or high=RUN"):
            parts(wrong)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--preset", "quadruped-flat", "--algo", "ppo"], "--algo: expected es beside --preset"),
        (["--preset", "quadruped"], "preset: expected one of 'quadruped-flat'"),
        ([], "--env: expected the id of an environment"),
        (
            ["--env", "CartPole-v1", "--start-from", "nowhere"],
            "start_from: there is no run or file",
        ),
        (
            ["--env", "CartPole-v1", "--eval-episodes", "3"],
            "--eval-episodes: expected --eval-every",
        ),
        (["--preset", "quadruped-high", "--core", "lstm"], "core: expected nothing beside algo"),
        (
            ["--env", "CartPole-v1", "--start-from", __file__],
            "start_from: expected a run's folder, a checkpoint",
        ),
        (["--resume", "x", "--preset", "quadruped-flat"], "--resume: expected no option"),
    ],
)
def test_mistakes_are_one_line(capsys, words, message):
    code, text = said(capsys, ["train", *words])
    assert (code, len(text.splitlines())) == (2, 1)
    assert message in text


def test_a_low_level_is_taken_to_the_gait_that_it_learnt_with(tmp_path, capsys):
    pytest.importorskip("pybullet")
    flat = tmp_path / "flat"
    words = ["--preset", "quadruped-flat", *TINY, *FEW, "--run", str(flat), "--eval-every", "1000"]
    assert cli.main(["train", *words]) == 0
    joint = ["train", "--preset", "quadruped-joint", *TINY, *FEW, "--eval-episodes", "1"]
    joint += ["--eval-every", "1000", "--run", str(tmp_path / "joint")]
    joint += ["--start-from", f"low={flat}"]
    code, message = said(capsys, [*joint[:-1], str(flat)])
    assert code == 2
    assert "start_from: expected a run of HierarchicalPolicy, or high=RUN low=RUN" in message
    gait = Run.open(flat).config().env_kwargs["gait"]
    code, message = said(capsys, joint)
    assert code == 2
    assert f"start_from: expected the gait of {flat}, {gait}, in --env-kwargs" in message
    assert cli.main([*joint, "--env-kwargs", f"gait={json.dumps(gait)}", "episode_steps=40"]) == 0


def test_defaults_that_one_run_names_and_another_does_not_are_the_same(tmp_path):
    pytest.importorskip("pybullet")
    words = ["train", "--env", "iap_gym/QuadrupedObstacleCourse-v0", *TINY, *FEW]
    latent = ["control=latent", "physics=kinematic", "episode_steps=40"]
    hierarchy = ["--policy", "HierarchicalPolicy", "--policy-kwargs", "trains=high"]
    first = tmp_path / "first"
    assert cli.main([*words, *hierarchy, "--env-kwargs", *latent, "--run", str(first)]) == 0
    named = [*hierarchy, "high=LinearPolicy", "--env-kwargs", *latent, "gait=trot"]
    for start in ([str(first)], [f"high={first}", f"low={first}"]):
        run = ["--run", str(tmp_path / f"run{len(start)}"), "--start-from", *start]
        assert cli.main([*words, *named, *run]) == 0
