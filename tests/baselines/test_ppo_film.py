"""What is shown of a recurrent agent is what its core did."""

import enum

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.env_util import make_vec_env

from iap_gym._video import read_video
from iap_gym.baselines import RecurrentPPO
from iap_gym.baselines.evolution.observations import add_axis
from iap_gym.baselines.evolution.rollout import run_episode
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.film import END_SECONDS, record
from iap_gym.baselines.experiments.gate_panel import GATE_SCALE, MARGIN
from iap_gym.baselines.experiments.memory_scene import MemoryScene, action_name, fit
from iap_gym.baselines.experiments.recurrent_agent import RecurrentAgent
from iap_gym.baselines.experiments.report import film_text
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.train import train
from iap_gym.recurrent.cores import CORES

TINY = {"n_steps": 8, "batch_size": 8, "n_epochs": 1}


def agent(core="gatel0rd", layers=1, size=6, **kwargs):
    algorithm = RecurrentPPO(
        "MlpCorePolicy",
        make_vec_env("CartPole-v1", 1),
        core=core,
        core_kwargs={"num_layers": layers},
        policy_kwargs={"hidden_size": size},
        seed=3,
        **TINY,
    )
    return RecurrentAgent(algorithm.policy, **kwargs)


def steps_of(agent, count=12, batch=3):
    """Act on random batches; yield the agent's gates, latent and cell state after each step."""
    rng = np.random.default_rng(0)
    state = None
    for _ in range(count):
        seen = rng.normal(0, 2, (batch, 4)).astype(np.float32)
        actions, state = agent.act(seen, state)
        assert actions.shape == (batch,)
        yield agent.gates, agent.latent, agent.memory


@pytest.mark.parametrize("layers", [1, 2])
def test_latent_state_changes_exactly_where_a_gate_is_open(layers):
    """The definition of the core, which fails if gates and units are not in one order."""
    before = np.zeros((3, 6 * layers))
    seen = []
    for gates, latent, memory in steps_of(agent(layers=layers)):
        assert memory is None
        assert gates.shape == latent.shape == (3, 6 * layers)
        np.testing.assert_array_equal(latent != before, gates > 0)
        before = latent
        seen.append(gates)
    assert 0.05 < np.mean(seen) < 0.95


def test_output_gate_of_an_lstm_lets_part_of_its_cell_state_through():
    for gates, latent, memory in steps_of(agent("lstm", layers=2)):
        assert gates is None
        assert latent.shape == memory.shape == (3, 12)
        assert (np.abs(latent) < np.abs(memory)).all()
        assert (np.sign(latent) == np.sign(memory)).all()


@pytest.mark.parametrize("core", CORES)
def test_columns_fit_the_strips_of_every_core(core):
    looked = agent(core, layers=2)
    *_, (gates, latent, memory) = steps_of(looked)
    assert [len(column) for column in looked.columns(1)] == [s.rows for s in looked.strips()]
    assert (gates is not None) == (core == "gatel0rd") == looked.strips()[0].gates
    assert (memory is not None) == (core == "lstm")
    assert (np.abs(latent) <= 1).all()


def test_agent_acts_as_its_policy_and_draws_only_when_asked():
    fixed, drawn = agent(), agent(sampled=True)
    seen = np.random.default_rng(0).normal(0, 0.1, (200, 4)).astype(np.float32)
    wanted, _ = fixed.policy.predict(seen, deterministic=True)
    np.testing.assert_array_equal(fixed.act(seen)[0], wanted)
    assert 20 < np.sum(drawn.act(seen)[0] != wanted) < 180


def test_frame_shows_the_gates_of_its_step():
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    looked = agent(size=8)
    scene = MemoryScene(looked, env)
    frames, gates = [], []

    def watch(seen, total):
        scene.note(len(frames), total)
        frames.append(scene.picture())
        gates.append(looked.gates[0] > 0)

    episode = run_episode(env, looked, 5, max_steps=40, watch=watch)
    frames.append(scene.draw_end(episode.length, episode.total_reward))
    assert len({frame.shape for frame in frames}) == 1
    assert all(size % 2 == 0 for size in frames[0].shape[:2])
    # The colour of an open gate at the right edge marks the strip; it is 8 rows of 16 pixels.
    column = np.stack([frame[:, -MARGIN - 2] for frame in frames]).astype(int)
    bright = (column == GATE_SCALE[1.0]).all(-1)
    top = np.flatnonzero((bright | (column == GATE_SCALE[0.0]).all(-1)).all(0))[0]
    shown = bright[:, top + 8 : top + 8 * 16 : 16]
    np.testing.assert_array_equal(shown[:-1], gates)
    np.testing.assert_array_equal(shown[-1], gates[-1])
    assert 0 < np.mean(gates) < 1
    env.close()


@pytest.mark.parametrize("shape", [(50, 80), (384, 100), (1000, 7), (192, 192)])
def test_views_of_any_size_get_one_height(shape):
    frame = np.random.default_rng(0).integers(0, 255, (*shape, 3)).astype(np.uint8)
    view = fit(frame)
    assert view.shape[0] == 384
    assert view.shape[1] == round(shape[1] * 384 / shape[0])
    if shape == (192, 192):
        np.testing.assert_array_equal(view[::2, 1::2], frame)


def test_actions_are_named_where_the_environment_does():
    class Moves(enum.IntEnum):
        left = 0
        pickup = 1

    env = gymnasium.make("CartPole-v1")
    assert action_name(env, np.int64(1)) == "1"
    env.unwrapped.actions = Moves
    assert action_name(env, np.int64(1)) == "pickup"
    assert action_name(env, np.array([0.25, -1.0])) == "0.25 -1"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    pytest.importorskip("minigrid")
    config = TrainConfig(
        env="MiniGrid-Empty-5x5-v0",
        algo="ppo",
        core="lstm",
        total_timesteps=64,
        env_kwargs={"max_steps": 30},
        policy_kwargs={"hidden_size": 8},
        algo_kwargs={"n_envs": 2, "n_steps": 32, "batch_size": 32, "n_epochs": 1},
    )
    run = Run.create(tmp_path_factory.mktemp("runs") / "empty", config)
    train(run)
    return run


def test_film_has_a_frame_a_step_and_stays_at_the_end(run):
    returns = record(run, seed=4, episodes=2, sampled=True)
    frames = list(read_video(run.film_file))
    # MiniGrid's return says how long an episode was: 1 - 0.9 * steps / max_steps, or all of them.
    steps = [round((1 - r) / 0.9 * 30) if r > 0 else 30 for r in returns]
    assert len(frames) == sum(steps) + 2 * round(END_SECONDS * 10)
    assert frames[0].shape[0] > 384
    assert record(run, seed=4, episodes=2, sampled=True) == returns
    with pytest.raises(ValueError, match="scores: expected False, as a ppo agent selects no"):
        record(run, scores=True)


def test_heading_over_the_film_fits_the_agent(run):
    assert film_text(run.config())[0] == "What it remembers"
    gated = TrainConfig(env="MiniGrid-Empty-5x5-v0", algo="ppo")
    assert "its gate is open" in film_text(gated)[1]
    assert "gate" not in film_text(run.config())[1]
    assert film_text(TrainConfig(env="CartPole-v1"))[0] == "What it does"
    attentive = TrainConfig(env="CarRacing-v3", policy_kwargs={"selector": {"patch_size": 7}})
    assert film_text(attentive)[0] == "What it attends to"


def test_observations_are_normalised_as_in_training(tmp_path):
    config = TrainConfig(
        env="CartPole-v1",
        algo="ppo",
        total_timesteps=32,
        algo_kwargs={"n_envs": 2, "normalize": True, **TINY},
    )
    run = Run.create(tmp_path / "cart", config)
    train(run)
    from iap_gym.baselines.experiments.loading import load_agent, make_env

    env = make_env(config)
    looked = load_agent(run, env)
    seen = add_axis(np.array([0.5, -1.0, 0.1, 2.0], np.float32))
    plain = RecurrentPPO.load(run.checkpoint_file).policy
    statistics = looked.normalize.obs_rms
    by_hand = np.clip((seen - statistics.mean) / np.sqrt(statistics.var + 1e-8), -10, 10)
    _, state = plain.predict(by_hand.astype(np.float32))
    _, found = looked.act(seen)
    np.testing.assert_allclose(found[0], state[0], atol=1e-6)
    assert isinstance(env.action_space, spaces.Discrete)
    env.close()
