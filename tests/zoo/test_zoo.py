"""The zoo's scripts with our algorithms, in processes of their own: the zoo patches gymnasium."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import iap_gym
from iap_gym.baselines.minigrid import TASKS, make_minigrid
from iap_gym.baselines.presets import MINIGRID_ENVS, minigrid

yaml = pytest.importorskip("yaml")
if importlib.util.find_spec("rl_zoo3") is None:  # which patches gymnasium when it is imported
    pytest.skip("rl_zoo3 is not installed", allow_module_level=True)

ENV = "MiniGrid-DoorKey-5x5-v0"
FILE = Path(iap_gym.__file__).parent / "zoo" / "hyperparams" / "iap_recurrent_ppo.yml"
COMMON = ["--env", ENV, "--gym-packages", "minigrid", "iap_gym", "-f", "logs", "--num-threads", "1"]
SMALL = ["-n", "128", "--seed", "1", "-params", "n_envs:2", "n_steps:64"]


def run(*words, cwd):
    done = subprocess.run(
        [sys.executable, *words], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def zoo(script, *words, cwd):
    return run("-m", f"iap_gym.zoo.{script}", *COMMON, "--device", "cpu", *words, cwd=cwd)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder in which the LSTM agent was trained a little, evaluated on the way."""
    folder = tmp_path_factory.mktemp("zoo")
    words = ["--eval-freq", "128", "--eval-episodes", "1"]
    zoo("train", "--algo", "iap_recurrent_ppo_lstm", *SMALL, *words, cwd=folder)
    return folder / "logs" / "iap_recurrent_ppo_lstm" / f"{ENV}_1"


@pytest.mark.parametrize("env_id", TASKS)
def test_file_is_the_preset(env_id):
    settings = yaml.safe_load(FILE.read_text())[env_id]
    assert settings.pop("n_timesteps") >= 200_000
    assert settings.pop("n_envs") == MINIGRID_ENVS
    assert settings.pop("env_wrapper") == "minigrid.wrappers.ImgObsWrapper"
    assert settings == minigrid()


def test_training_leaves_what_the_zoo_leaves(trained):
    settings = yaml.unsafe_load((trained / ENV / "config.yml").read_text())
    assert settings["core"] == "lstm"
    assert settings["n_steps"] == 64
    assert settings["env_wrapper"] == "minigrid.wrappers.ImgObsWrapper"
    for name in (f"{ENV}.zip", "best_model.zip", "evaluations.npz", "1.monitor.csv"):
        assert (trained / name).is_file()


def test_the_model_loads_without_the_zoo(trained):
    from iap_gym.baselines import RecurrentPPO
    from iap_gym.baselines.minigrid import MiniGridFeatures

    model = RecurrentPPO.load(trained / f"{ENV}.zip", device="cpu")
    assert model.core == "lstm"
    assert model.num_timesteps == 128
    assert isinstance(model.policy.features_extractor, MiniGridFeatures)
    env = make_minigrid(ENV)
    observation, _ = env.reset(seed=0)
    state, starts = None, np.ones(1, bool)
    for _ in range(3):
        action, state = model.predict(observation, state, starts)
        observation, starts = env.step(action)[0], np.zeros(1, bool)
    assert np.abs(state[0]).sum() > 0


def test_enjoy_plays_the_trained_agent(trained):
    words = ["--algo", "iap_recurrent_ppo_lstm", "-n", "260", "--no-render"]
    printed = zoo("enjoy", *words, cwd=trained.parents[2])
    assert "Mean reward" in printed


def test_default_trains_and_goes_on_and_the_search_proposes_what_can_be_trained(tmp_path):
    code = """
import sys
import optuna, rl_zoo3, rl_zoo3.exp_manager, rl_zoo3.hyperparams_opt, rl_zoo3.train
from iap_gym.baselines.presets import minigrid
from iap_gym.baselines.ppo import RecurrentPPO
from iap_gym.recurrent.cores import CORES
from iap_gym.zoo import ALGORITHMS
from iap_gym.zoo.train import main

sys.argv[1:] = ["--algo", "iap_recurrent_ppo", "--env", "CartPole-v1", "-n", "128", "--seed", "1",
    "--eval-freq", "-1", "--device", "cpu", "--num-threads", "1", "-params", "n_envs:2",
    "n_steps:32", "core:'gru'"]
main()
sys.argv += ["-i", "logs/iap_recurrent_ppo/CartPole-v1_1/CartPole-v1.zip"]
main()
assert set(ALGORITHMS.values()) == set(CORES)
for module in (rl_zoo3, rl_zoo3.train, rl_zoo3.exp_manager):
    assert all(module.ALGOS[name] is RecurrentPPO for name in ALGORITHMS)

def build(trial):
    found = rl_zoo3.hyperparams_opt.HYPERPARAMS_SAMPLER["iap_recurrent_ppo_gru"](trial, 7, 1, {})
    assert set(found) <= set(minigrid())
    RecurrentPPO("MlpCorePolicy", "CartPole-v1", **found)
    convert = rl_zoo3.hyperparams_opt.HYPERPARAMS_CONVERTER["iap_recurrent_ppo_gru"]
    assert convert(trial.params) == found
    return 0.0

optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0)).optimize(build, n_trials=5)
"""
    assert "Loading pretrained agent" in run("-c", code, cwd=tmp_path)
    runs = tmp_path / "logs" / "iap_recurrent_ppo"
    assert (runs / "CartPole-v1_2" / "CartPole-v1.zip").is_file()
    settings = (runs / "CartPole-v1_1" / "CartPole-v1" / "config.yml").read_text()
    assert yaml.unsafe_load(settings)["core"] == "gru", (
        "what is given by hand comes before the name"
    )


def test_a_task_without_an_entry_has_the_settings_of_those_with_one(tmp_path):
    words = ["--algo", "iap_recurrent_ppo", "--env", "MiniGrid-Empty-5x5-v0", "--eval-freq", "-1"]
    printed = zoo("train", *SMALL, *words, cwd=tmp_path)
    assert "Using the hyperparameters of MiniGrid-DoorKey-8x8-v0" in printed
    found = tmp_path / "logs" / "iap_recurrent_ppo" / "MiniGrid-Empty-5x5-v0_1"
    assert (found / "MiniGrid-Empty-5x5-v0.zip").is_file()
    text = (found / "MiniGrid-Empty-5x5-v0" / "config.yml").read_text()
    assert yaml.unsafe_load(text)["env_wrapper"] == "minigrid.wrappers.ImgObsWrapper"


def test_without_the_zoo_the_extra_is_named(tmp_path):
    code = """
import sys; sys.modules["rl_zoo3"] = None
try:
    import iap_gym.zoo
except Exception as error:
    print(error)
"""
    assert 'pip install "iap-gym[zoo]"' in run("-c", code, cwd=tmp_path)
