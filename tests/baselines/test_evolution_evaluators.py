"""Evaluators: the same numbers from any number of workers, also when they die."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from iap_gym.baselines.evolution.env_source import resolve
from iap_gym.baselines.evolution.evaluation import EvaluationError, InlineEvaluator
from iap_gym.baselines.evolution.policies import make_policy
from iap_gym.baselines.evolution.processes import ProcessEvaluator
from iap_gym.baselines.evolution.rollout import run_episode
from tests.baselines.pixel_envs import FollowBlob, Trouble


def setup(env, kwargs=None, name="LinearPolicy", policy_kwargs=None):
    source = resolve(env, kwargs)
    made = source.make()
    policy = make_policy(name, made.observation_space, made.action_space, policy_kwargs)
    made.close()
    return source, policy


def population(policy, size, episodes, seed=0):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(size, policy.num_parameters)).astype(np.float32)
    return vectors, rng.integers(2**31, size=(size, episodes))


def test_inline_means_over_episodes_by_hand():
    source, policy = setup("CartPole-v1")
    vectors, seeds = population(policy, 3, 4)
    evaluator = InlineEvaluator(source, policy, 50)
    returns, steps = evaluator.evaluate(vectors, seeds)
    env = source.make()
    for i in range(3):
        policy.set_vector(vectors[i])
        episodes = [run_episode(env, policy, seed, 50) for seed in seeds[i]]
        assert returns[i] == np.mean([e.total_reward for e in episodes])
        assert steps[i] == sum(e.length for e in episodes)
    env.close()
    evaluator.close()
    np.testing.assert_array_equal(evaluator.evaluate(vectors, seeds).returns, returns)
    evaluator.close()


@pytest.mark.parametrize("name", ["LinearPolicy", "LstmPolicy"])
def test_processes_give_bit_for_bit_what_inline_gives_on_pixels(name):
    kwargs = {"selector": {"patch_size": 4, "num_selected": 3, "kernel": "hybrid"}}
    source, policy = setup(FollowBlob, name=name, policy_kwargs=kwargs)
    vectors, seeds = population(policy, 6, 2)
    inline = InlineEvaluator(source, policy, None).evaluate(vectors, seeds)
    evaluator = ProcessEvaluator(source, policy, None, num_workers=2)
    for got in (evaluator.evaluate(vectors, seeds), evaluator.evaluate(vectors, seeds)):
        np.testing.assert_array_equal(got.returns, inline.returns)
        np.testing.assert_array_equal(got.steps, inline.steps)
    assert len(evaluator.pids) == 2
    evaluator.close()


def test_callers_environment_is_used_and_left_open():
    env = FollowBlob()
    _, policy = setup(FollowBlob)
    closed = []
    env.close = lambda: closed.append(True)
    evaluator = InlineEvaluator(resolve(env), policy, None)
    evaluator.evaluate(*population(policy, 1, 1))
    evaluator.close()
    assert env.steps == env.horizon
    assert not closed


def test_killed_worker_is_replaced_and_its_episode_run_again(tmp_path):
    source, policy = setup(Trouble, {"what": "die", "flag": str(tmp_path / "died")})
    vectors, seeds = population(policy, 5, 2)
    calm, _ = setup(Trouble, {"what": "none"})
    expected = InlineEvaluator(calm, policy, None).evaluate(vectors, seeds)
    evaluator = ProcessEvaluator(source, policy, None, num_workers=2)
    got = evaluator.evaluate(vectors, seeds)
    assert (tmp_path / "died").exists()
    np.testing.assert_array_equal(got.returns, expected.returns)
    np.testing.assert_array_equal(got.steps, expected.steps)
    # Killed while idle, too.
    os.kill(evaluator.pids[0], signal.SIGKILL)
    got = evaluator.evaluate(vectors, seeds)
    np.testing.assert_array_equal(got.returns, expected.returns)
    evaluator.close()
    assert not multiprocessing.active_children()


def test_episode_that_kills_every_worker_is_given_up():
    source, policy = setup(Trouble, {"what": "die", "parent": os.getpid()})
    evaluator = ProcessEvaluator(source, policy, None, num_workers=1)
    with pytest.raises(EvaluationError, match=r"candidate 0 with seed \d+ ended 3 .* code -9"):
        evaluator.evaluate(*population(policy, 2, 1))
    assert not multiprocessing.active_children()


def test_exceptions_of_the_environment_come_with_their_traceback():
    source, policy = setup(Trouble, {"what": "raise"})
    vectors, seeds = population(policy, 2, 1)
    evaluator = ProcessEvaluator(source, policy, None, num_workers=1)
    with pytest.raises(EvaluationError, match="candidate 0 with seed") as caught:
        evaluator.evaluate(vectors, seeds)
    assert "_go_wrong" in str(caught.value)
    assert "KeyError: 'the wheel came off'" in str(caught.value)
    with pytest.raises(EvaluationError, match="candidate 0 with seed") as caught:
        InlineEvaluator(source, policy, None).evaluate(vectors, seeds)
    assert isinstance(caught.value.__cause__, KeyError)
    assert not multiprocessing.active_children()


def broken():
    raise OSError("no such simulator")


def test_environment_that_cannot_be_made_in_a_worker_is_told_at_once():
    _, policy = setup(Trouble)
    evaluator = ProcessEvaluator(resolve(broken), policy, None, num_workers=2)
    with pytest.raises(EvaluationError, match="starting a worker") as caught:
        evaluator.evaluate(*population(policy, 2, 1))
    assert "OSError: no such simulator" in str(caught.value)


def die():
    os._exit(7)


def test_workers_that_die_on_starting_are_given_up():
    _, policy = setup(Trouble)
    evaluator = ProcessEvaluator(resolve(die), policy, None, num_workers=1)
    with pytest.raises(EvaluationError, match="3 worker processes died while starting.*code 7"):
        evaluator.evaluate(*population(policy, 2, 1))


@pytest.fixture
def interruptible():
    """A shell ignores the signal for what it runs in the background, and Python keeps to that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_ends_workers_in_the_middle_of_an_episode_promptly(interruptible):
    source, policy = setup(Trouble, {"what": "sleep"})
    evaluator = ProcessEvaluator(source, policy, None, num_workers=2)

    def interrupt():
        while len(evaluator.pids) < 2 or not all(w.job for w in evaluator._workers):
            time.sleep(0.02)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        evaluator.evaluate(*population(policy, 2, 1))
    start = time.monotonic()
    evaluator.close()
    assert time.monotonic() - start < 1
    assert not multiprocessing.active_children()


ORPHANS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {folder!r})
from tests.baselines.test_evolution_evaluators import *
source, policy = setup(Trouble, {{"what": "sleep"}})
evaluator = ProcessEvaluator(source, policy, None, num_workers=2)
def tell():
    while len(evaluator.pids) < 2 or not all(w.job for w in evaluator._workers):
        time.sleep(0.02)
    time.sleep(0.2)
    print(*evaluator.pids, flush=True)
threading.Thread(target=tell, daemon=True).start()
evaluator.evaluate(*population(policy, 2, 1))
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_its_parent(tmp_path, how):
    script = tmp_path / "script.py"
    script.write_text(ORPHANS.format(folder=str(Path(__file__).parents[2])))
    # Not a pipe: its end would come only with the end of the last worker.
    with (
        open(tmp_path / "errors", "w") as errors,
        subprocess.Popen(
            [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as parent,
    ):
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        parent.send_signal(how)
        assert parent.wait(10) == -how
    deadline = time.monotonic() + 5
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    said = (tmp_path / "errors").read_text()
    assert said.count("KeyboardInterrupt") == (1 if how == signal.SIGINT else 0)
    assert not any(alive(pid) for pid in pids)


SCRIPT = """
import gymnasium, numpy
from iap_gym.baselines import EvolutionStrategies

print("script runs")

class Mine(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return numpy.zeros(1, numpy.float32), {}

    def step(self, action):
        return numpy.zeros(1, numpy.float32), 1.0, True, False, {}

es = EvolutionStrategies("LinearPolicy", Mine, evaluator="processes", num_workers=2, seed=0)
es.learn(40)
print("steps", es.num_timesteps)
"""


@pytest.mark.parametrize("from_stdin", [False, True])
def test_workers_never_run_the_main_script(tmp_path, from_stdin):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-" if from_stdin else str(script)],
        input=SCRIPT if from_stdin else None,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.split("\n") == ["script runs", "steps 66", ""]
