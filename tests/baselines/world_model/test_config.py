"""Configs, and what was published."""

import pytest

from iap_gym.baselines.experiments.config import from_fields
from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.scenarios import SCENARIOS, scenario_of

RRC = "iap_gym/RobotRemoteControl-v0"


def test_numbers_of_the_paper_are_filled_in():
    config = ModelConfig(env=RRC).fill_in()
    assert (config.epochs, config.learning_rate, config.penalty) == (5_000, 0.005, 0.001)
    assert (config.min_probability, config.start_steps, config.sequences) == (0.02, 1, 6_400)
    assert config.train_set == ("rrc-time", "train", 6_400)
    assert config.test_sets["gen"] == ("rrc-random", "test", 6_400)
    assert ModelConfig(env=RRC, core="lstm").fill_in().penalty == 0.0
    assert ModelConfig(env=RRC, core="clockwork").fill_in().learning_rate == 0.001
    assert ModelConfig(env=RRC, epochs=7).fill_in().epochs == 7
    for name, rate, penalty, start in (
        ("billiard", 0.0005, 0.001, 2),
        ("shepherd", 0.001, 0.0001, 2),
        ("fetch", 0.005, 0.0001, 1),
    ):
        found = ModelConfig(env=SCENARIOS[name].env).fill_in()
        assert (found.learning_rate, found.penalty, found.start_steps) == (rate, penalty, start)


def test_teacher_forcing():
    env = SCENARIOS["billiard"].env
    forced = [
        ModelConfig(env=env, core=core, sampling="teacher").fill_in()
        for core in ("gatel0rd", "elman")
    ]
    assert [config.learning_rate for config in forced] == [0.001, 0.0005]
    assert forced[0].probability(10_000) == 1.0
    scheduled = ModelConfig(env=env).fill_in()
    assert scheduled.probability(100) == 0.998**100
    assert scheduled.probability(100_000) < 1e-30


def test_another_training_set_brings_its_own_tests():
    config = ModelConfig(env=RRC, dataset="rrc-random", test_sequences=100).fill_in()
    assert config.train_set == ("rrc-random", "train", 6_400)
    assert config.test_sets["val"] == ("rrc-random", "val", 100)
    assert config.test_sets["test"] == ("rrc-random", "test", 100)
    assert "gen" not in config.test_sets  # it would be the same set once more


def test_fetch():
    """The generalisation set is a split; the diverse set brings a deeper model, as in D.8."""
    env = SCENARIOS["fetch"].env
    grasp = ModelConfig(env=env).fill_in()
    assert grasp.test_sets["gen"] == ("fetch-grasp", "gen", 3_200)
    diverse = ModelConfig(env=env, dataset="fetch-diverse", core="lstm").fill_in()
    assert diverse.train_set == ("fetch-diverse", "train", 12_800)
    assert set(diverse.test_sets) == {"val", "test"}
    assert diverse.model_settings["core_options"] == {"num_layers": 3}
    with pytest.raises(ValueError, match=r"variant: expected 'code' for fetch-grasp"):
        ModelConfig(env=env, variant="paper")


def test_model_settings_are_added_to_the_published_ones():
    options = {"gate": "sigmoid", "num_internal_layers": 2}
    config = ModelConfig(env=RRC, model={"hidden_size": 4, "core_options": options})
    settings = config.model_settings
    assert settings["hidden_size"] == 4
    assert settings["core_options"] == options
    assert settings["pre_widths"] == [32, 16, 8]


def test_json():
    config = ModelConfig(env=RRC, model={"hidden_size": 4}).fill_in()
    assert from_fields(ModelConfig, config.to_json()) == config
    with pytest.raises(ValueError, match=r"'epoch'; did you mean epochs\?"):
        from_fields(ModelConfig, {"env": RRC, "epoch": 4})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"env": "CartPole-v1"}, r"env: expected one of 'iap_gym/BilliardBall-v0'"),
        ({"core": "rnn"}, r"core: expected one of"),
        ({"algo": "ppo"}, r"algo"),
        ({"epochs": 0}, r"epochs: expected an integer >= 1"),
        ({"seed": -1}, r"seed"),
        ({"dataset": "billiard"}, r"dataset: expected one of 'rrc-random', 'rrc-time'"),
        ({"sampling": "none"}, r"sampling: expected one of 'scheduled', 'teacher'"),
        ({"min_probability": 2}, r"min_probability"),
        ({"penalty_kind": "l3"}, r"penalty_kind"),
        ({"core": "lstm", "penalty": 0.5}, r"penalty: expected 0 or None, as lstm has no gates"),
        (
            {"core": "gru", "penalty_kind": "l2"},
            r'penalty_kind: expected "l0", as gru has no gates',
        ),
        ({"learning_rate": "fast"}, r"learning_rate: expected a finite number"),
        ({"variant": "other"}, r"variant"),
        ({"data": 3}, r"data: expected the path of a folder"),
        ({"model": [1]}, r"model: expected a dict"),
        ({"model": {"core": "gru"}}, r"model: expected no 'core'"),
        ({"max_grad_norm": 0}, r"max_grad_norm"),
        ({"decay": 1.5}, r"decay"),
    ],
)
def test_bad_fields(fields, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**({"env": RRC} | fields))


def test_scenarios_are_found_by_their_environment():
    for scenario in SCENARIOS.values():
        assert scenario_of(scenario.env, scenario.train.name) is scenario
        if scenario.name != "fetch-diverse":
            assert scenario_of(scenario.env) is scenario
    assert scenario_of(RRC, "rrc-random") is SCENARIOS["rrc"]
    with pytest.raises(ValueError, match=r"core: expected one of"):
        SCENARIOS["rrc"].model_settings("rnn")
