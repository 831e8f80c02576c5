"""Films of planning with a world model: what is shown of the model, and how long they are."""

import dataclasses

import numpy as np
import pytest
import torch

from iap_gym._video import read_video
from iap_gym.baselines import WorldModel
from iap_gym.baselines.experiments.film import END_SECONDS
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.plan_episodes import make_agent
from iap_gym.baselines.experiments.planner_film import WatchedPlanner, record_planning
from iap_gym.baselines.planning.agent import PlanningAgent
from iap_gym.baselines.planning.objectives import ModelObjective
from iap_gym.baselines.planning.settings import PlannerSettings
from iap_gym.baselines.planning.tasks import TASKS, PlanningTask
from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.scenarios import SCENARIOS
from iap_gym.baselines.world_model.trace import trace
from iap_gym.cli.main import main

QUICK = PlannerSettings(horizon=6, num_samples=12, iterations=2, steps=5)


@pytest.mark.parametrize(
    ("scenario", "core"), [("shepherd", "gatel0rd"), ("rrc", "lstm"), ("shepherd", "gru")]
)
def test_it_shows_the_state_over_real_observations(scenario, core):
    torch.manual_seed(0)
    model = WorldModel(**SCENARIOS[scenario].model_settings(core))
    task = TASKS[SCENARIOS[scenario].env]
    size, k = model.action_size, model.context_inputs
    rng = np.random.default_rng(0)
    objective = ModelObjective(model, task.cost)
    agent = PlanningAgent(objective, [-1] * size, [1] * size, rng, QUICK, task.waits)
    watched = WatchedPlanner(agent, model)
    observations = rng.uniform(-0.5, 0.5, (6, 1, model.obs_size)).astype(np.float32)
    for _ in range(2):  # the second episode begins anew
        state, done, shown = None, [], []
        for observation in observations:
            actions, state = watched.act(observation, state)
            np.testing.assert_array_equal(actions, watched.actions)
            done.append(torch.as_tensor(actions))
            shown.append([column.copy() for column in watched.columns()])
            assert [strip.rows for strip in watched.strips()] == [len(c) for c in shown[-1]]
        found = trace(model, torch.as_tensor(observations), torch.stack(done))
        states = found.states[1:, 0].numpy()
        for t in range(len(observations)):
            *gates, latent = shown[t] if core == "gatel0rd" else (shown[t][0],)
            if t + 1 < k:
                assert not any(np.any(column) for column in shown[t])
                continue
            np.testing.assert_allclose(latent, states[t, :8], atol=1e-6)
            if gates:
                np.testing.assert_array_equal(gates[0], found.gates[t, 0].numpy())
            if core == "lstm":
                np.testing.assert_allclose(shown[t][1], np.tanh(states[t, 8:]), atol=1e-6)


def test_a_film_has_a_frame_a_step_and_stays_at_the_end(tmp_path, monkeypatch, capsys):
    env = "iap_gym/RobotRemoteControl-v0"
    quick = PlanningTask(**{**TASKS[env].__dict__, "settings": QUICK})
    monkeypatch.setitem(TASKS, env, quick)
    run = ModelRun.create(tmp_path / "run", ModelConfig(env=env).fill_in())
    WorldModel(**SCENARIOS["rrc"].model_settings()).save(run.weights_file)
    assert main(["watch", str(run.path), "--planner", "icem", "--episodes", "2"]) == 0
    assert "film.mp4: returns 0, 0" in capsys.readouterr().out
    assert len(list(read_video(run.film_file))) == 2 * (5 + round(END_SECONDS * 10))
    assert "data:video/mp4" in run.report_file.read_text()
    assert record_planning(run, tmp_path / "one.mp4", seed=3) == [0.0]
    planned = []

    def made(task, *arguments, **options):
        planned.append(task.settings)
        return make_agent(task, *arguments, **options)

    monkeypatch.setattr("iap_gym.baselines.experiments.planner_film.make_agent", made)
    more = ["--samples", "8", "--horizon", "4"]
    assert main(["watch", str(run.path), "--planner", "icem", *more]) == 0
    assert set(planned) == {dataclasses.replace(QUICK, num_samples=8, horizon=4)}
    capsys.readouterr()
    for i in (0, 2):
        assert main(["watch", str(run.path), *more[i : i + 2]]) == 2
        assert f"{more[i]}: expected --planner icem with it" in capsys.readouterr().err
    ball = ModelRun.create(tmp_path / "ball", ModelConfig(env="iap_gym/BilliardBall-v0").fill_in())
    assert main(["watch", str(ball.path), "--planner", "icem"]) == 2
    assert "env: expected one of" in capsys.readouterr().err
