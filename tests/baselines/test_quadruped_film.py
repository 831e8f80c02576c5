"""Films, ways and ends of a quadruped's run, hardly trained."""

import numpy as np
import pytest

from iap_gym._video import read_video
from iap_gym.baselines.evolution.observations import add_axis
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.evaluate import (
    evaluate,
    load_evaluations,
    save_evaluations,
    table,
)
from iap_gym.baselines.experiments.film import END_SECONDS, record, scene
from iap_gym.baselines.experiments.loading import load_agent, make_env
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.shutter import RATE, Shutter, frame_rate
from iap_gym.baselines.experiments.train import train
from iap_gym.cli import main as cli
from iap_gym.envs.quadruped.navigation_metrics import Outcome, spl

STEPS = 50  # control steps of an episode
SETTINGS = {"episode_steps": STEPS, "render_size": [60, 80], "camera_size": [16, 16]}
SELECTOR = {"patch_size": 4, "num_selected": 3, "d_qk": 4}
KINDS = {
    "latent": {
        "env": "iap_gym/QuadrupedObstacleCourse-v0",
        "policy": "HierarchicalPolicy",
        "policy_kwargs": {"selector": SELECTOR},
        "env_kwargs": {"control": "latent", "latent_size": 2, **SETTINGS},
    },
    "pmtg": {
        "env": "iap_gym/QuadrupedNavigation-v0",
        "policy": "LinearPolicy",
        "policy_kwargs": {"selector": SELECTOR},
        "env_kwargs": SETTINGS,
    },
}


@pytest.fixture(scope="module", params=KINDS)
def run(request, tmp_path_factory):
    config = TrainConfig(
        algo_kwargs={"population_size": 2}, total_timesteps=1, **KINDS[request.param]
    )
    run = Run.create(tmp_path_factory.mktemp("runs") / request.param, config)
    train(run)
    return run


def test_film_has_the_rate_of_the_world_whatever_a_step_is(run):
    returns = record(run, seed=7, episodes=2)
    frames = list(read_video(run.film_file))
    assert RATE == 25  # one in four control steps
    # Those of the start and of each fourth control step, then the end stays.
    assert len(frames) == 2 * (1 + STEPS // 4 + round(END_SECONDS * 25))
    played = evaluate(run, 2, kinds=["trained"], first_seed=7)
    assert played.returns["trained"] == tuple(returns)
    assert played.ends == {"trained": {"time": 2}}
    assert played.success_rates == {"trained": 0.0}
    assert played.spl == ({"trained": 0.0} if "Navigation" in run.config().env else {})


def test_watch_draws_the_ways_and_the_report_shows_them(run, capsys, tmp_path):
    assert cli.main(["watch", str(run.path)]) == 0
    page = run.report_file.read_text()
    assert "<h2>What it attends to</h2>" in page
    assert "<h2>Where it goes</h2>" in page
    assert page.count("data:image/png") >= 1
    assert run.path_file.read_bytes()[:4] == b"\x89PNG"
    film = tmp_path / "mine.mp4"
    assert cli.main(["watch", str(run.path), "--out", str(film)]) == 0
    assert (tmp_path / "mine-path.png").read_bytes() == run.path_file.read_bytes()
    save_evaluations(run, [evaluate(run, 3, kinds=["trained", "zero"])])
    assert cli.main(["watch", str(run.path)]) == 0
    assert "<th>ends</th>" in run.report_file.read_text()
    assert "<td>time 3</td>" in run.report_file.read_text()
    capsys.readouterr()


def test_table_tells_how_episodes_ended(run):
    lines = table(evaluate(run, 2, kinds=["trained", "zero"])).splitlines()
    assert lines[-3:] == ["how episodes ended", "trained  time 2", "zero     time 2"]


def test_spl_is_that_of_the_episodes(tmp_path):
    """An episode that begins at its goal's door: some walk straight into it, some do not."""
    near = {"goal_distance": [0.45, 0.6], "start_yaw": 0.0, "episode_steps": 150}
    config = TrainConfig(
        algo_kwargs={"population_size": 2},
        total_timesteps=1,
        **{**KINDS["pmtg"], "env_kwargs": {**SETTINGS, **near}},
    )
    run = Run.create(tmp_path / "near", config)
    train(run)
    evaluation = evaluate(run, 4, kinds=["zero"], workers=2)
    env = make_env(run.config())
    outcomes = []
    for seed in evaluation.seeds:
        env.reset(seed=seed)
        ended = False
        while not ended:
            _, _, terminated, truncated, info = env.step(np.zeros(env.action_space.shape))
            ended = terminated or truncated
        outcomes.append(Outcome.of(info))
    env.close()
    assert evaluation.spl["zero"] == pytest.approx(spl(outcomes))
    assert 0 < evaluation.spl["zero"] <= evaluation.success_rates["zero"]
    assert f"{spl(outcomes):.3f}" in table(evaluation).splitlines()[-4]
    assert "SPL" in table(evaluation).splitlines()[1]
    save_evaluations(run, [evaluation])
    assert load_evaluations(run) == [evaluation]


def test_an_episode_that_a_limit_around_it_cuts_is_drawn_too(tmp_path):
    kind = KINDS["latent"]
    limited = {**kind["env_kwargs"], "max_episode_steps": 1}
    config = TrainConfig(
        algo_kwargs={"population_size": 2}, total_timesteps=1, **{**kind, "env_kwargs": limited}
    )
    run = Run.create(tmp_path / "cut", config)
    train(run)
    record(run)
    assert run.path_file.is_file()
    assert evaluate(run, 2, kinds=["trained"]).ends == {}


def test_patches_are_marked_where_the_robot_sees(run):
    env = make_env(run.config(), render_mode="rgb_array")
    policy = load_agent(run, env)
    policy.prepare(env)
    seen = add_axis(env.reset(seed=0)[0])
    policy.act(seen)
    frame = env.render()
    picture = scene(env, policy, seen, "text", True)
    factor = round(384 / 60)
    left = picture[28 : 28 + 60 * factor : factor, : 80 * factor : factor].astype(int)
    changed = (left != frame).any(axis=-1)
    rows, columns = env.unwrapped.inset
    outside = changed.copy()
    outside[rows, columns] = False
    assert not outside.any()
    share = changed[rows, columns].mean()
    assert share == pytest.approx(3 * 16 / 256, abs=0.05)
    reddened = (left[..., 0] - frame[..., 0])[changed]
    assert np.all(reddened >= 0)
    env.close()


def test_shutter_leaves_the_environment_as_it_was(run):
    env = make_env(run.config(), render_mode="rgb_array")
    assert frame_rate(env) == 25
    shutter = Shutter(env, print)
    with shutter as entered:
        assert entered is shutter
        assert env.unwrapped.on_control_step is not None
    assert env.unwrapped.on_control_step is None
    env.close()
