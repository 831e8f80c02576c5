"""Goals, rewards, pictures, wrappers, and what is refused."""

import copy
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers

from iap_gym.envs._versions import outside
from iap_gym.envs.fetch import make_fetch_pick_and_place
from iap_gym.envs.fetch.versions import BOUNDS, check_pair
from iap_gym.testing import ENV_CHECKS, check_env
from iap_gym.wrappers import IAPObservation
from tests.envs.fetch.robots import ID, make


@pytest.mark.parametrize("check", ENV_CHECKS.values(), ids=ENV_CHECKS)
def test_contract_of_the_goal_environment(check):
    check(lambda: make(goal_env=True, reward="dense"))


def test_contract_of_pictures():
    ran = check_env(ID, observation="both", camera="gripper", height=40, width=36)
    assert set(ran) == set(ENV_CHECKS)


def test_spaces_are_the_fixed_ones():
    env = make()
    assert env.observation_space == gymnasium.spaces.Box(-np.inf, np.inf, (11,), np.float32)
    assert env.action_space == gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    assert env.spec.max_episode_steps == 50
    assert env.metadata["render_modes"] == ["rgb_array"]
    place = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    goals = {"observation": env.observation_space, "achieved_goal": place, "desired_goal": place}
    assert make(goal_env=True).observation_space == gymnasium.spaces.Dict(goals)


def test_an_episode_is_truncated_after_50_steps_and_never_terminates():
    env = make()
    env.reset(seed=0)
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(50)]
    assert ends == [(False, False)] * 49 + [(False, True)]


def test_both_kinds_of_environment_see_the_same():
    flat, goal = make(), make(goal_env=True)
    seen, info = flat.reset(seed=2)
    observed, _ = goal.reset(seed=2)
    assert info["desired_goal"].tolist() == observed["desired_goal"].tolist()
    for _ in range(10):
        action = flat.action_space.sample()
        seen, reward, *_, info = flat.step(action)
        observed, earned, *_, goal_info = goal.step(action)
        assert seen.tolist() == observed["observation"].tolist()
        assert observed["achieved_goal"].tolist() == seen[3:6].tolist()
        assert reward == earned
        assert info["is_success"] is goal_info["is_success"]
    assert not hasattr(flat.unwrapped, "compute_reward"), "by that name SB3 knows goal environments"
    assert not hasattr(flat, "compute_reward")


@pytest.mark.parametrize("reward", ["sparse", "dense"])
def test_rewards_come_from_the_distance(reward):
    env = make(goal_env=True, reward=reward)
    observation, _ = env.reset(seed=0)
    x, y, z = observation["observation"][3:6].tolist()
    for offset, success in ((0.03, True), (0.06, False)):
        fixed = make(goal_env=True, reward=reward, goal=[x, y + offset, z])
        fixed.reset(seed=0)  # the same cube
        observation, earned, *_, info = fixed.step(np.zeros(4, np.float32))
        far = np.linalg.norm(observation["achieved_goal"] - observation["desired_goal"])
        assert far == pytest.approx(offset, abs=0.005)
        assert earned == (pytest.approx(-far, rel=1e-5) if reward == "dense" else success - 1)
        assert info["is_success"] is success


def test_a_fixed_goal_is_that_of_every_episode_and_moves_nothing_else():
    fixed, free = make(goal=[1.3, 0.7, 0.5]), make()
    for seed in (0, None, None):
        seen, info = fixed.reset(seed=seed)
        assert info["desired_goal"].tolist() == np.float32([1.3, 0.7, 0.5]).tolist()
        other, drawn = free.reset(seed=seed)
        assert seen.tolist() == other.tolist()
        assert drawn["desired_goal"].tolist() != info["desired_goal"].tolist()


@pytest.mark.parametrize("reward", ["sparse", "dense"])
def test_compute_reward_reaches_through_every_wrapper(reward):
    env = make(goal_env=True, reward=reward)
    assert env.unwrapped.compute_reward(np.zeros(3), np.zeros(3), {}) == 0
    layers = [
        lambda e: wrappers.RecordEpisodeStatistics(e),
        lambda e: wrappers.TimeAwareObservation(e, flatten=False),
        lambda e: wrappers.TransformReward(e, lambda r: r),
        lambda e: wrappers.FilterObservation(e, ["observation", "achieved_goal", "desired_goal"]),
        lambda e: wrappers.RescaleAction(e, np.float32(-1), np.float32(1)),
    ]
    rng = np.random.default_rng(0)
    achieved, desired = rng.uniform(0, 0.1, (2, 7, 3))
    wanted = env.compute_reward(achieved, desired, [{}] * 7)
    assert wanted.shape == (7,)
    for layer in layers:
        env = layer(env)
        found = env.get_wrapper_attr("compute_reward")(achieved, desired, [{}] * 7)
        np.testing.assert_array_equal(found, wanted)
    observation, _ = env.reset(seed=0)
    for _ in range(5):
        observation, earned, *_, info = env.step(env.action_space.sample())
        goals = observation["achieved_goal"], observation["desired_goal"]
        assert env.get_wrapper_attr("compute_reward")(*goals, info) == earned
        assert env.get_wrapper_attr("compute_terminated")(*goals, info) is False
        assert env.get_wrapper_attr("compute_truncated")(*goals, info) is False


def test_sb3_hindsight_replay_computes_our_rewards(tmp_path):
    from stable_baselines3 import SAC, HerReplayBuffer
    from stable_baselines3.common.env_checker import check_env as sb3_check_env

    env = make(goal_env=True)
    sb3_check_env(env)
    model = SAC(
        "MultiInputPolicy", env, replay_buffer_class=HerReplayBuffer, learning_starts=100,
        batch_size=32, device="cpu", seed=0, policy_kwargs={"net_arch": [16]},
    )  # fmt: skip
    model.learn(160)
    data = model.replay_buffer.sample(400)
    reached = np.linalg.norm(
        data.next_observations["achieved_goal"] - data.next_observations["desired_goal"], axis=1
    )
    np.testing.assert_array_equal(data.rewards[:, 0].numpy(), -(reached > 0.05).astype(np.float32))
    assert (data.rewards == 0).any(), "hindsight must have reached goals"


@pytest.mark.parametrize("camera", ["front", "gripper"])
def test_pictures_of_one_camera_are_a_box(camera):
    env = make(observation="pixels", camera=camera, height=48, width=64)
    assert env.observation_space == gymnasium.spaces.Box(0, 255, (48, 64, 3), np.uint8)
    first, _ = env.reset(seed=0)
    for _ in range(5):
        seen, *_ = env.step(np.array([1, 1, -1, 1], np.float32))
    assert first.std() > 5 or camera == "gripper"
    assert (first != seen).mean() > 0.02


def test_pictures_of_both_cameras_are_a_dict_and_equal_the_single_ones():
    env = make(observation="both", camera="both", height=32, width=32, render_mode="rgb_array")
    seen, _ = env.reset(seed=1)
    assert list(seen) == list(env.observation_space) == ["front", "gripper", "state"]
    assert seen["state"].tolist() == make().reset(seed=1)[0].tolist()
    for camera in ("front", "gripper"):
        single = make(observation="pixels", camera=camera, height=32, width=32)
        np.testing.assert_array_equal(single.reset(seed=1)[0], seen[camera])
    np.testing.assert_array_equal(env.render(), seen["front"])


def test_the_goal_is_seen_as_a_red_ball():
    def red(goal):
        env = make(observation="pixels", goal=goal, height=96, width=96)
        frame = env.reset(seed=0)[0].astype(int)
        rows, columns = np.nonzero((frame[..., 0] > 150) & (frame[..., 1:].max(-1) < 60))
        assert len(rows) > 5
        return rows.mean(), columns.mean()

    low, high = red([1.3, 0.9, 0.45]), red([1.3, 0.9, 0.75])
    assert high[0] < low[0] - 10
    left, right = red([1.3, 0.6, 0.7]), red([1.3, 0.95, 0.7])
    assert abs(right[1] - left[1]) > 10


def test_a_restored_state_looks_the_same():
    env = make(observation="pixels", height=40, width=40)
    env.reset(seed=0)
    for _ in range(8):
        seen, *_ = env.step(np.array([0.3, 1, -0.5, 1], np.float32))
    fresh = make(observation="pixels", height=40, width=40, render_mode="rgb_array").unwrapped
    fresh.set_state(env.unwrapped.get_state())
    np.testing.assert_array_equal(fresh.render(), seen)


def test_patches_are_selected_from_pictures():
    selector = {"patch_size": 8, "num_selected": 5}
    env = make(observation="pixels", height=48, width=48)
    assert IAPObservation(env, selector).reset(seed=0)[0].shape == (10,)
    env = make(observation="both", height=48, width=48)
    env = IAPObservation(env, selector, image_key="front")
    assert env.reset(seed=0)[0].shape == (10 + 11,)


def test_close_frees_the_pictures_of_one_and_may_come_twice():
    env, other = (make(observation="pixels", height=16, width=16) for _ in range(2))
    first = env.reset(seed=0)[0]
    other.reset(seed=1)
    cameras = env.unwrapped._cameras
    assert cameras._context is not None
    for _ in range(2):
        env.close()
        assert cameras._context is None
    np.testing.assert_array_equal(other.reset(seed=0)[0], first)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"observation": "image"}, "observation: expected one of 'state', 'pixels', 'both'"),
        ({"reward": "shaped"}, "reward: expected one of 'sparse', 'dense'"),
        ({"goal": [1.0, 2.0]}, r"goal: expected finite numbers of shape \(3,\)"),
        ({"goal": [1.0, 2.0, np.inf]}, "goal: expected finite numbers"),
        ({"goal": ["1", "2", "3"]}, "goal: expected finite numbers"),
        ({"goal": [1.0, 2.0, 1e300]}, "goal: expected a place within 1000 m of 0 along each axis"),
        ({"camera": "head"}, "camera: expected one of 'front', 'gripper', 'both'"),
        ({"height": 0}, "height: expected an integer >= 1"),
        ({"width": 2.5}, "width: expected an integer >= 1"),
        ({"goal_env": 1}, "goal_env: expected True or False"),
        ({"goal_env": True, "observation": "pixels"}, 'observation: expected "state" with goal_en'),
        ({"render_mode": "depth"}, "render_mode: expected one of 'rgb_array', None"),
    ],
)
def test_bad_arguments_are_named(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_fetch_pick_and_place(**kwargs)


def test_a_goal_is_copied():
    """So that what its caller does to it reaches neither the environment nor copies of it."""
    goal = np.array([1.3, 0.8, 0.5])
    env = make_fetch_pick_and_place(goal=goal)
    goal[2] = 0.9
    for each in (env, copy.deepcopy(env)):
        np.testing.assert_array_equal(each.reset(seed=0)[1]["desired_goal"][2], np.float32(0.5))
        each.close()


def test_a_list_from_json_is_a_goal():
    spec = gymnasium.envs.registration.EnvSpec.from_json(make(goal=(1.3, 0.7, 0.5)).spec.to_json())
    env = gymnasium.make(spec)
    goal = env.reset(seed=0)[1]["desired_goal"]
    np.testing.assert_allclose(goal, [1.3, 0.7, 0.5])


@pytest.fixture
def installed(monkeypatch):
    def pretend(**packages):
        def version(name):
            if name not in packages:
                raise importlib.metadata.PackageNotFoundError(name)
            return packages[name]

        monkeypatch.setattr(importlib.metadata, "version", version)

    return pretend


@pytest.mark.parametrize("mujoco", ["3.12", "3.17.0", "4.0.0", "3.7.0"])
def test_a_mujoco_that_breaks_it_is_refused_by_name(installed, mujoco):
    installed(**{"gymnasium-robotics": "1.4.2", "mujoco": mujoco})
    with pytest.raises(ImportError) as error:
        make_fetch_pick_and_place()
    message = str(error.value)
    assert f"gymnasium-robotics 1.4.2 and mujoco {mujoco} installed" in message
    assert "mujoco>=3.8.1,<3.12" in message
    assert "pip install gymnasium-robotics==1.4.2 mujoco==3.10.0" in message


@pytest.mark.parametrize(
    "packages",
    [
        *(
            {"gymnasium-robotics": "1.4.2", "mujoco": each}
            for each in ("3.8.1", "3.10.0", "3.11.0")
        ),
        {},
    ],
)
def test_versions_that_work_are_accepted(installed, packages):
    installed(**packages)
    assert outside(BOUNDS) == {}
    check_pair()
    if packages:
        installed(**{**packages, "mujoco": "3.12.0"})
        with pytest.raises(ImportError, match="mujoco 3.12.0 installed"):
            check_pair()


def test_the_extra_stays_within_the_bounds():
    pyproject = Path(__file__).parents[3] / "pyproject.toml"
    extra = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]["fetch"]

    def numbers(version):
        return tuple(int(part) for part in version.split("."))

    found = {}
    for requirement in extra:
        name, low, high = re.fullmatch(r"([\w-]+)>=([\d.]+),<([\d.]+)", requirement).groups()
        found[name] = numbers(low), numbers(high)
    assert set(found) == set(BOUNDS)
    for name, (low, high) in BOUNDS.items():
        assert numbers(low) <= found[name][0] < found[name][1] <= numbers(high)


def test_without_the_robots_files_the_extra_is_named(monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if "robotics" in name else find(name)
    )
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match=r'"iap-gym\[fetch\]"'):
        make_fetch_pick_and_place()


def test_numbers_need_no_opengl_and_gymnasium_robotics_is_not_imported():
    code = (
        "import gymnasium, iap_gym, sys\n"
        f"e = gymnasium.make({ID!r}); e.reset(seed=0); e.step(e.action_space.sample())\n"
        "bad = {'gymnasium_robotics', 'OpenGL', 'torch'} & set(sys.modules)\n"
        "print(bad or 'nothing')"
    )
    clean = {name: value for name, value in os.environ.items() if name != "MUJOCO_GL"}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=clean
    )
    assert out.stdout.strip() == "nothing"
    assert out.stderr == ""


@pytest.mark.parametrize("achieved", [np.full(3, np.nan), None, np.zeros(2), "x", 0.0])
def test_compute_reward_refuses_what_is_no_place(achieved):
    env = make(goal_env=True)
    with pytest.raises(ValueError, match="achieved_goal: expected finite numbers of shape"):
        env.compute_reward(achieved, np.zeros(3), {})
    with pytest.raises(ValueError, match="desired_goal: expected finite numbers of shape"):
        env.compute_reward(np.zeros(3), achieved, {})


@pytest.mark.parametrize("camera", ["front", "gripper", "both"])
@pytest.mark.parametrize("goal_env", [False, True])
def test_without_observed_pictures_the_camera_is_that_of_render(camera, goal_env):
    size = {"height": 24, "width": 32}
    env = make(camera=camera, goal_env=goal_env, render_mode="rgb_array", **size)
    observation, _ = env.reset(seed=1)
    shown = "front" if camera == "both" else camera
    single = make(observation="pixels", camera=shown, **size).reset(seed=1)[0]
    np.testing.assert_array_equal(env.render(), single)
    seen = observation["observation"] if goal_env else observation
    assert seen.tolist() == make().reset(seed=1)[0].tolist()


def test_options_of_reset_are_ignored():
    env = make()
    wanted = env.reset(seed=1)[0]
    for options in ({}, {"goal": [9, 9, 9]}, {"unknown": object()}):
        np.testing.assert_array_equal(env.reset(seed=1, options=options)[0], wanted)


@pytest.mark.parametrize("drawn", [False, True])
def test_pictures_come_from_workers_of_a_forkserver_whatever_was_drawn_before(drawn):
    kwargs = {"observation": "pixels", "height": 16, "width": 24}
    if drawn:
        make(**kwargs).reset(seed=0)
    envs = gymnasium.make_vec(f"iap_gym:{ID}", 1, "async", {"context": "forkserver"}, **kwargs)
    try:
        seen = envs.reset(seed=3)[0][0]
    finally:
        envs.close()
    np.testing.assert_array_equal(seen, make(**kwargs).reset(seed=3)[0])
