"""Planned episodes: kept, gone on with, and the same whoever plays them."""

import dataclasses
import json

import pytest
import torch

from iap_gym.baselines import WorldModel
from iap_gym.baselines.experiments import plan_episodes as module
from iap_gym.baselines.experiments.plan_episodes import (
    PlannedTask,
    load_planned,
    plan_episodes,
)
from iap_gym.baselines.planning.settings import PlannerSettings
from iap_gym.baselines.world_model.scenarios import SCENARIOS

RRC = "iap_gym/RobotRemoteControl-v0"
QUICK = PlannerSettings(horizon=15, num_samples=24, iterations=2, steps=12)
TRUE = PlannedTask(RRC, QUICK)


@pytest.fixture
def model(tmp_path):
    torch.manual_seed(0)
    path = tmp_path / "weights.safetensors"
    WorldModel(**SCENARIOS["rrc"].model_settings("gru")).save(path)
    return PlannedTask(RRC, QUICK, str(path))


def test_a_killed_evaluation_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", 2)
    whole = plan_episodes(TRUE, range(7))
    assert list(whole.episodes) == list(range(7))
    file = tmp_path / "planning.json"
    told = []

    def dies(count):
        told.append(count)
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_episodes(TRUE, range(7), file=file, report=dies)
    assert list(load_planned(file)[0].episodes) == [0, 1, 2, 3]
    played = []
    monkeypatch.setattr(
        PlannedTask,
        "_play",
        _counted(PlannedTask._play, played),
    )
    assert plan_episodes(TRUE, range(7), file=file) == whole
    assert played == [4, 5, 6]
    assert plan_episodes(TRUE, range(3), file=file).episodes == {
        seed: whole.episodes[seed] for seed in range(3)
    }
    assert played == [4, 5, 6]


def test_evaluations_side_by_side_lose_nothing_of_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", 2)
    file = tmp_path / "planning.json"
    other = dataclasses.replace(TRUE, settings=dataclasses.replace(QUICK, horizon=6))
    begun = []

    def meanwhile(count):
        if not begun:
            begun.append(count)
            plan_episodes(other, range(3), file=file)
            plan_episodes(TRUE, range(4, 6), file=file)

    plan_episodes(TRUE, range(4), file=file, report=meanwhile)
    found = {planned.key["horizon"]: sorted(planned.episodes) for planned in load_planned(file)}
    assert found == {15: [0, 1, 2, 3, 4, 5], 6: [0, 1, 2]}


def test_a_model_that_is_replaced_meanwhile_is_named(tmp_path, monkeypatch, model):
    monkeypatch.setattr(module, "TOGETHER", 1)
    file = tmp_path / "planning.json"

    def replace(_):
        WorldModel(**SCENARIOS["rrc"].model_settings("gru")).save(model.weights)

    with pytest.raises(RuntimeError, match=r"weights.safetensors: was replaced while"):
        plan_episodes(model, range(3), file=file, report=replace)
    assert [list(planned.episodes) for planned in load_planned(file)] == [[0]]


def _counted(play, played):
    def counted(self, seed):
        played.append(seed)
        return play(self, seed)

    return counted


def test_models_and_the_simulator_are_told_apart(tmp_path, model):
    file = tmp_path / "planning.json"
    plan_episodes(TRUE, range(2), file=file)
    plan_episodes(model, range(2), file=file)
    other = dataclasses.replace(QUICK, horizon=10)
    plan_episodes(dataclasses.replace(model, settings=other), range(2), file=file)
    keys = [planned.key for planned in load_planned(file)]
    assert [key["horizon"] for key in keys] == [15, 15, 10]
    assert keys[0]["model"] == "true simulator"
    assert len(keys[1]["model"]) == 64
    assert {key["radius_factor"] for key in keys} == {1.5}
    # a model that was trained on leaves nothing of the one that it was
    torch.manual_seed(1)
    WorldModel(**SCENARIOS["rrc"].model_settings("gru")).save(model.weights)
    plan_episodes(model, range(1), file=file)
    assert [len(planned.episodes) for planned in load_planned(file)] == [2, 1]


@pytest.mark.slow  # processes, each of which imports torch
def test_workers_do_not_matter(model, monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", 2)
    assert plan_episodes(model, range(4), workers=2) == plan_episodes(model, range(4))


def test_shares_have_intervals(tmp_path):
    file = tmp_path / "planning.json"
    found = plan_episodes(TRUE, range(3), file=file)
    share = sum(episode.success for episode in found.episodes.values()) / 3
    assert found.success.mean == pytest.approx(share)
    content = json.loads(file.read_text())[0]
    assert content["success"] == found.success.to_json()
    file.write_text('[{"episodes": 3}]')
    with pytest.raises(ValueError, match="expected planned episodes"):
        load_planned(file)
