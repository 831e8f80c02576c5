"""The algorithm: generations, seeds, callbacks, workers, predictions and what it learns."""

import json
import os
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

from iap_gym.baselines import EvolutionStrategies
from iap_gym.baselines.evolution import EvaluationError, run_episode
from tests.baselines.pixel_envs import FollowBlob, Trouble

SMALL = {"population_size": 8, "sigma": 0.3, "learning_rate": 0.1, "seed": 4}
FEW_PATCHES = {"selector": {"patch_size": 4, "num_selected": 2, "pixel_offset": 0.5}}


@pytest.mark.parametrize("common_seeds", ["generation", "pair"])
def test_weights_do_not_depend_on_workers_nor_on_their_death(tmp_path, common_seeds):
    def train(what, **kwargs):
        es = EvolutionStrategies(
            "LinearPolicy",
            Trouble,
            env_kwargs={"what": what, "flag": str(tmp_path / "died"), "parent": os.getpid()},
            episodes_per_candidate=2,
            common_seeds=common_seeds,
            **SMALL,
            **kwargs,
        )
        return es.learn(600)

    one = train("none")
    two = train("none", evaluator="processes", num_workers=2)
    (tmp_path / "died").unlink(missing_ok=True)
    bereaved = train("die", evaluator="processes", num_workers=2)
    assert (tmp_path / "died").exists()
    assert one.generation == two.generation == bereaved.generation == 4
    for other in (two, bereaved):
        np.testing.assert_array_equal(other.get_vector(), one.get_vector())
        assert other.num_timesteps == one.num_timesteps


def test_learn_runs_whole_generations_and_counts_every_step():
    es = EvolutionStrategies("LinearPolicy", Trouble, env_kwargs={"what": "none"}, **SMALL)
    start = es.get_vector()
    assert es.learn(91) is es
    # Episodes have 10 steps; 8 candidates and the centre.
    assert (es.num_timesteps, es.generation) == (180, 2)
    assert not np.array_equal(es.get_vector(), start)
    es.learn(1, reset_num_timesteps=False)
    assert (es.num_timesteps, es.generation) == (270, 3)
    assert [row["timesteps"] for row in es.history] == [90, 180, 270]
    es.learn(90)
    assert (es.num_timesteps, es.generation) == (90, 4)
    assert [row["generation"] for row in es.history] == [4]
    json.dumps(es.history, allow_nan=False)


def test_a_generation_equals_one_done_by_hand():
    es = EvolutionStrategies(
        "LinearPolicy", "CartPole-v1", episodes_per_candidate=2, max_episode_steps=60, **SMALL
    )
    candidates, center, seeds = es._optimizer.ask(), es.get_vector(), es._seeds()
    scale = es.policy.parameter_scale()
    np.testing.assert_allclose(candidates[:4] - center, center - candidates[4:], atol=1e-6)
    spread = (candidates[:4] - center) / scale
    assert 0.15 < spread.std() < 0.5  # sigma in units of the scale
    assert np.all(seeds == seeds[0])
    es.learn(1)
    returns = []
    with gymnasium.make("CartPole-v1") as env:
        twin = EvolutionStrategies("LinearPolicy", "CartPole-v1", **SMALL)
        for vector in [*candidates, center]:
            twin.set_vector(vector)
            returns.append(
                np.mean([run_episode(env, twin.policy, s, 60).total_reward for s in seeds[0]])
            )
    row = es.history[0]
    assert row["mean_return"] == np.mean(returns[:-1])
    assert row["best_return"] == np.max(returns[:-1])
    assert row["center_return"] == returns[-1]
    assert row["timesteps"] == 2 * sum(returns)
    assert not np.array_equal(es._seeds(), seeds)


def test_pairs_share_seeds_within_and_differ_across():
    es = EvolutionStrategies("LinearPolicy", "CartPole-v1", common_seeds="pair", **SMALL)
    seeds = es._seeds()
    assert seeds.shape == (9, 1)
    np.testing.assert_array_equal(seeds[:4], seeds[4:8])
    assert len(np.unique(seeds[:4])) == 4
    assert es._optimizer.shaping == "pairs"


def test_seed_decides_and_nothing_global_does():
    def run(seed, noise):
        np.random.seed(noise)  # noqa: NPY002
        es = EvolutionStrategies("LinearPolicy", FollowBlob, **{**SMALL, "seed": seed}).learn(300)
        return es.get_vector()

    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.testing.assert_array_equal(run(1, 0), run(1, 99))
    assert not np.array_equal(run(1, 0), run(2, 0))
    free = [EvolutionStrategies("LinearPolicy", "CartPole-v1") for _ in range(2)]
    assert free[0].config.seed != free[1].config.seed
    assert state.size


def test_callbacks_are_called_after_every_generation_and_can_stop(capsys):
    es = EvolutionStrategies("LinearPolicy", Trouble, env_kwargs={"what": "none"}, **SMALL)
    seen = []
    es.learn(270, callback=lambda es: seen.append(es.generation))
    assert seen == [1, 2, 3]
    es.verbose = 1
    es.learn(10**6, callback=[lambda es: False, lambda es: seen.append(es.generation)])
    assert seen == [1, 2, 3, 4]
    assert capsys.readouterr().out.startswith("generation 4: 90 steps, return mean")
    es.learn(180, progress_bar=True)
    assert "180/180" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["nan", "raise"])
def test_trouble_in_an_episode_stops_at_the_last_whole_generation(tmp_path, what):
    env = Trouble("none")
    es = EvolutionStrategies("LinearPolicy", env, **SMALL).learn(180)
    before = es.get_vector()
    env.what = what
    with pytest.raises(EvaluationError, match=r"candidate 0 with seed \d+ failed"):
        es.learn(180, reset_num_timesteps=False)
    assert (es.generation, es.num_timesteps, len(es.history)) == (2, 180, 2)
    np.testing.assert_array_equal(es.get_vector(), before)
    path = es.save(tmp_path / "stopped")
    resumed = EvolutionStrategies.load(path, env=Trouble("none")).learn(180)
    whole = EvolutionStrategies("LinearPolicy", Trouble("none"), **SMALL).learn(360)
    np.testing.assert_array_equal(resumed.get_vector(), whole.get_vector())


@pytest.mark.parametrize("policy", ["LinearPolicy", "MlpPolicy", "LstmPolicy", "CnnPolicy"])
@pytest.mark.parametrize("dict_observation", [False, True])
def test_predict_serves_stable_baselines(policy, dict_observation):
    kwargs = {"dict_observation": dict_observation, "horizon": 5}
    policy_kwargs = None if policy == "CnnPolicy" else FEW_PATCHES
    es = EvolutionStrategies(
        policy, FollowBlob, env_kwargs=kwargs, policy_kwargs=policy_kwargs, **SMALL
    ).learn(1)
    vec = make_vec_env(FollowBlob, n_envs=2, seed=0, env_kwargs=kwargs)
    returns, lengths = evaluate_policy(es, vec, n_eval_episodes=4, return_episode_rewards=True)
    assert lengths == [5] * 4
    # The same episodes alone: VecEnvs seed world i with seed + i at the first reset.
    vec.close()
    for i in range(2):
        alone = run_episode(FollowBlob(**kwargs), es.policy, seed=i)
        assert min(abs(r - alone.total_reward) for r in returns) < 1e-3


def test_predict_single_batch_and_what_is_neither():
    es = EvolutionStrategies("LstmPolicy", "CartPole-v1", **SMALL)
    observation = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    action, state = es.predict(observation)
    assert action in (0, 1)
    assert [part.shape for part in state] == [(1, 16), (1, 16)]
    again, _ = es.predict(observation, state, episode_start=np.array([True]))
    assert again == action
    actions, state = es.predict(np.stack([observation] * 3), None, np.ones(3, bool), True)
    assert actions.shape == (3,)
    assert state[0].shape == (3, 16)
    with pytest.raises(ValueError, match=r"^observation: expected shape \(4,\)"):
        es.predict(np.zeros(5))
    pixels = EvolutionStrategies(
        "LinearPolicy", FollowBlob, env_kwargs={"dict_observation": True}, **SMALL
    )
    observation = FollowBlob(dict_observation=True).reset(seed=0)[0]
    assert pixels.predict(observation)[0].shape == (2,)
    with pytest.raises(ValueError, match="^observation: expected a dict with the keys"):
        pixels.predict(observation["camera"])
    with pytest.raises(ValueError, match="only single entries or only batches"):
        pixels.predict({**observation, "proprio": np.zeros((1, 2), np.float32)})
    with pytest.raises(ValueError, match=r"^observation\['camera'\]: expected shape"):
        pixels.predict({**observation, "camera": observation["camera"].transpose(2, 0, 1)})


def test_importing_loads_no_torch_and_names_what_there_is():
    code = (
        "import sys, iap_gym.baselines as b; b.EvolutionStrategies; "
        "assert 'EvolutionStrategies' in dir(b); assert 'torch' not in sys.modules; b.Nothing"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.endswith("module 'iap_gym.baselines' has no attribute 'Nothing'\n")


def test_vector_can_be_set():
    es = EvolutionStrategies("LinearPolicy", "CartPole-v1", **SMALL)
    vector = np.arange(es.num_parameters, dtype=np.float32)
    es.set_vector(vector)
    np.testing.assert_array_equal(es.get_vector(), vector)
    np.testing.assert_array_equal(es._optimizer.center, vector)
    for wrong in (vector[1:], vector * np.nan, vector + 0j, "weights"):
        with pytest.raises(ValueError, match=r"^vector: expected finite numbers of shape \(10,\)"):
            es.set_vector(wrong)
    np.testing.assert_array_equal(es.get_vector(), vector)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"policy": "GruPolicy"}, "^policy: expected one of"),
        ({"evaluator": "ray"}, "^evaluator: 'ray' comes with a later release"),
        ({"evaluator": "threads"}, "^evaluator: expected one of"),
        ({"population_size": 9}, "^population_size: expected an even integer"),
        ({"num_workers": 0}, "^num_workers: expected"),
        ({"episodes_per_candidate": 0}, "^episodes_per_candidate: expected"),
        ({"max_episode_steps": 0}, "^max_episode_steps: expected"),
        ({"common_seeds": "none"}, "^common_seeds: expected one of 'generation', 'pair'"),
        ({"sigma": -1}, "^sigma: expected"),
        ({"seed": -1}, "^seed: expected"),
        ({"policy_kwargs": {"selector": object()}}, "^policy_kwargs: expected JSON types"),
        ({"policy_kwargs": {"size": 3}}, "^policy_kwargs: expected keys"),
        ({"env": 7}, "^env: expected"),
        ({"env": FollowBlob(), "evaluator": "processes"}, "^env: .* whose spec is None"),
    ],
)
def test_bad_arguments_are_named(kwargs, message):
    arguments = {"policy": "LinearPolicy", "env": "CartPole-v1", **kwargs}
    with pytest.raises(ValueError, match=message):
        EvolutionStrategies(**arguments)
    with pytest.raises(ValueError, match="^total_timesteps: expected"):
        EvolutionStrategies("LinearPolicy", "CartPole-v1").learn(0)


def test_learns_to_attend_to_what_matters():
    def score(actor, blind=False):
        env = FollowBlob()
        returns = [run_episode(env, actor, 10**6 + i, blind=blind) for i in range(20)]
        return np.mean([episode.total_reward for episode in returns])

    es = EvolutionStrategies(
        "LinearPolicy",
        FollowBlob,
        population_size=24,
        sigma=0.5,
        learning_rate=0.2,
        seed=0,
        policy_kwargs={**FEW_PATCHES, "velocity": None},
    )
    before = score(es.policy)
    es.learn(12_000)

    class Still:
        def act(self, observations, state=None, episode_start=None):
            return np.zeros((1, 2), np.float32), ()

    trained, blind = score(es.policy), score(es.policy, blind=True)
    # At most 20; always pointing to the middle gives about 9.6, acting at random less.
    assert trained > 14 > score(Still()) + 3
    assert trained > before + 3
    assert trained > blind + 3


@pytest.mark.parametrize(("policy", "steps"), [("LinearPolicy", 120_000), ("MlpPolicy", 120_000)])
def test_solves_cart_pole(policy, steps):
    es = EvolutionStrategies(
        policy, "CartPole-v1", population_size=16, sigma=0.3, learning_rate=0.2, seed=0
    ).learn(steps)
    with gymnasium.make("CartPole-v1") as env:
        returns = [run_episode(env, es.policy, 10**6 + i).total_reward for i in range(20)]
    assert np.mean(returns) > 400
