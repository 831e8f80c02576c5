"""The obstacle course: what it pays, how it ends, and that seeing the gaps is worth something."""

import gymnasium
import numpy as np
import pytest

from iap_gym.baselines.small_images import SmallImageExtractor
from iap_gym.envs.quadruped.course import Course
from iap_gym.envs.quadruped.mover import Pose
from iap_gym.envs.quadruped.obstacle_course import CourseTask
from iap_gym.envs.quadruped.walkers import blind, oracle
from iap_gym.testing import ENV_CHECKS

ID = "iap_gym/QuadrupedObstacleCourse-v0"
DT = 0.01


def at(x, y=0.0, z=0.82):
    return Pose(np.array([x, y, z]), np.eye(3), 0.0, 0.0, 0.0)


def started(course=None, **settings):
    task = CourseTask(Course.from_spec(course), **settings)
    task.start(np.random.default_rng(0))
    return task


@pytest.mark.parametrize("v_cap", [1.0, 0.4])
def test_reward_is_the_capped_way_along_x(v_cap):
    task = started(v_cap=v_cap)
    positions = np.cumsum(np.random.default_rng(1).normal(0.0, 0.01, 200))
    rewards = [task.advance(at(x), DT)[0] for x in positions]
    ways = np.diff(positions, prepend=0.0)
    # f(r) = max(-v, min(r, v)) of x(t) - x(t - 1), with v = v_cap dt.
    expected = np.maximum(-v_cap * DT, np.minimum(ways, v_cap * DT))
    np.testing.assert_allclose(rewards, expected, atol=1e-15)
    assert np.mean(np.abs(ways) > v_cap * DT) > 0.1


@pytest.mark.parametrize(
    ("pose", "end"),
    [
        (at(0.0), None),
        (at(5.0, 1.49), None),
        (at(5.0, 1.51), "edge"),
        (at(5.0, -1.51), "edge"),
        (at(-0.99), None),
        (at(-1.01), "edge"),
        (at(10.79), None),
        (at(10.81), "finish"),
    ],
)
def test_ends_of_the_platform(pose, end):
    task = started()
    assert task.advance(pose, DT)[1] == end
    assert task.successes == ("finish",)


def test_robot_walks_to_the_end_of_a_short_platform():
    env = gymnasium.make(ID, course={"num_walls": 0, "length": 2.5}, camera=False)
    env.reset(seed=0)
    total, terminated, truncated = 0.0, False, False
    while not terminated and not truncated:
        _, reward, terminated, truncated, info = env.step(blind(16))
        total += reward
    assert terminated
    assert (info["end"], info["success"]) == ("finish", True)
    assert info["distance"] >= 2.5
    ways = np.diff(env.unwrapped.path[:, 0])
    assert total == pytest.approx(np.clip(ways, -0.01, 0.01).sum())
    env.close()


def test_robot_that_walks_off_the_platform_is_stopped_there():
    env = gymnasium.make(ID, course={"num_walls": 0, "platform_width": 1.0, "length": 9.0})
    env.reset(seed=0)
    turn = blind(16)
    turn[3] = 0.8
    for _ in range(600):
        _, _, terminated, _, info = env.step(turn)
        if terminated:
            break
    assert info["end"] == "edge"
    assert abs(info["position"][1]) > 0.5
    env.close()


def test_robot_starts_where_the_course_says():
    env = gymnasium.make(ID, course={"start_y": 0.5, "start_yaw": 0.4}, camera=False)
    starts = [env.reset(seed=seed)[1] for seed in range(4)]
    for info in starts:
        layout = env.unwrapped.layout
        assert abs(info["yaw"]) <= 0.4
        assert info["position"][2] == pytest.approx(0.82)
    assert info["position"][1] == pytest.approx(layout.start_y)
    assert len({info["yaw"] for info in starts}) == 4
    env.close()


def walked(env, seed, steer, steps):
    env.reset(seed=seed)
    total, done, info = 0.0, False, {}
    while not done and len(env.unwrapped.path) < steps:
        action = blind(2)
        action[0] = -1.0  # look as often as allowed
        if steer:
            action[1] = oracle(env.unwrapped.layout, env.unwrapped.path[-1])
        _, reward, terminated, truncated, info = env.step(action)
        total += reward
        done = terminated or truncated
    return total, info["walls_passed"]


def test_who_knows_the_gaps_gets_farther_than_who_walks_blindly():
    env = gymnasium.make(ID, control="latent", camera=False)
    compared = 0
    for seed in range(20):
        env.reset(seed=seed)
        if abs(env.unwrapped.layout.gap_centers[0][1]) < 0.6:  # may be passed by chance
            continue
        seeing, walls = walked(env, seed, True, 600)
        assert walls >= 1
        assert seeing > walked(env, seed, False, 600)[0] + 1.0
        compared += 1
        if compared == 2:
            break
    assert compared == 2
    env.close()


def test_oracle_steers_to_the_gap():
    layout = Course(num_walls=1).sample(np.random.default_rng(0))
    ((wall, center),) = layout.gap_centers
    assert oracle(layout, np.array([wall, center, 0.0])) == pytest.approx(0.0)
    assert (
        oracle(layout, np.array([wall, center, 0.2]))
        < 0
        < oracle(layout, np.array([wall, center, -0.2]))
    )
    assert np.sign(oracle(layout, np.zeros(3))) == np.sign(center)
    assert oracle(layout, np.array([0.0, 0.0, 2 * np.pi])) == pytest.approx(
        oracle(layout, np.zeros(3))
    )
    assert abs(oracle(layout, np.array([0.0, 0.0, 3.0]))) == 1.0


@pytest.mark.parametrize(
    "settings",
    [
        {"control": "latent", "latent_size": 3, "camera_size": (8, 12), "duration_range": (2, 5)},
        {"control": "motors", "course": "hard", "image_key": "depth"},
        {"control": "latent", "physics": "kinematic"},
    ],
    ids=lambda settings: settings.get("physics", settings["control"]),
)
def test_contract_with_other_settings(settings):
    for check in ENV_CHECKS.values():
        check(lambda: gymnasium.make(ID, **settings))


def test_picture_tells_layouts_apart():
    env = gymnasium.make(ID)
    first, second, again = (env.reset(seed=seed)[0]["camera"] for seed in (0, 1, 0))
    assert np.array_equal(first, again)
    assert np.mean(first != second) > 0.02
    assert len(np.unique(first.reshape(-1, 3), axis=0)) >= 4  # sky, platform, walls, ground
    env.close()


def test_ppo_trains_on_the_default():
    from stable_baselines3 import PPO

    env = gymnasium.make(ID)
    settings = {"features_extractor_class": SmallImageExtractor}
    model = PPO(
        "MultiInputPolicy",
        env,
        n_steps=64,
        batch_size=32,
        n_epochs=1,
        seed=0,
        policy_kwargs=settings,
    )
    before = [parameter.detach().clone() for parameter in model.policy.parameters()]
    model.learn(128)
    moved = [
        not np.array_equal(a.numpy(), b.detach().numpy())
        for a, b in zip(before, model.policy.parameters(), strict=True)
    ]
    assert np.mean(moved) > 0.9
    observation, _ = env.reset(seed=0)
    action, _ = model.predict(observation, deterministic=True)
    assert action in env.action_space
    env.close()
