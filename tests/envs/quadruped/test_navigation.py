import json
import math

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import iap_gym  # noqa: F401
from iap_gym.envs.quadruped.mover import Pose
from iap_gym.envs.quadruped.navigation import NavigationTask, QuadrupedNavigationEnv
from iap_gym.envs.quadruped.navigation_metrics import Outcome, spl, success_rate
from iap_gym.envs.quadruped.navigation_steering import curve, indoor_low_level, pivot
from iap_gym.envs.quadruped.navigation_walkers import (
    oracle_walker,
    random_walker,
    straight_walker,
)
from iap_gym.envs.quadruped.scenes.indoor import scene_source
from iap_gym.raycast import RayCaster
from tests.envs.quadruped.houses import FORMS, write_gibson

ID = "iap_gym/QuadrupedNavigation-v0"
EMPTY = {"apartment": {"rooms": 1, "furniture": 0.0, "textures": False}}


def made(**settings):
    return QuadrupedNavigationEnv(**{"camera": False, **settings})


def walk(env, walker, seed):
    observation, info = env.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        observation, reward, terminated, truncated, info = env.step(walker(observation))
        total += reward
        done = terminated or truncated
    return total, info


def pose(x, y, yaw=0.0):
    return Pose(np.array((x, y, 0.3)), np.eye(3), 0.0, 0.0, yaw)


def test_observation_is_what_is_said():
    env = gymnasium.make(ID)
    observation, info = env.reset(seed=0)
    task, place = env.unwrapped.task, env.unwrapped.place
    assert set(observation) == {"depth", "proprio", "goal"}
    assert observation["depth"].shape == (32, 32, 1)
    assert env.observation_space["depth"].dtype == np.float32
    distance, bearing = observation["goal"]
    x, y, _ = place.position
    assert distance == pytest.approx(math.dist((x, y), task.goal))
    point = (
        x + distance * math.cos(place.yaw + bearing),
        y + distance * math.sin(place.yaw + bearing),
    )
    assert point == pytest.approx(task.goal.tolist(), abs=1e-5)
    assert info["goal"].tolist() == task.goal.tolist()
    caster = RayCaster(task.scene.view, 32, 32, 60.0, far=5.0)
    eye = np.array(place.position) + env.unwrapped.mover.pose().rotation @ (0.29, 0.0, 0.03)
    depth = caster.depth(eye, env.unwrapped.mover.pose().rotation)
    expected = np.clip((depth - 0.1) / 4.9, 0.0, 1.0)
    np.testing.assert_allclose(observation["depth"][..., 0], expected, atol=1e-5)
    env.close()
    color = gymnasium.make(ID, image_key="camera", camera_size=(24, 32))
    assert color.reset(seed=0)[0]["camera"].shape == (24, 32, 3)
    color.close()


def test_arguments_are_json_and_reach_the_task():
    spec = {
        "scene": {"apartment": {"rooms": [2, 3], "size": [8.0, 6.0]}},
        "goal_distance": [3.0, 5.0],
        "start_yaw": 0.5,
        "camera": False,
    }
    env = gymnasium.make(ID, **json.loads(json.dumps(spec)))
    for seed in range(5):
        _, info = env.reset(seed=seed)
        task = env.unwrapped.task
        assert len(task.scene.rooms) in (2, 3)
        assert 3.0 <= info["distance"] <= 5.1
        assert info["distance"] == info["shortest"] == task.field(task_start(env))
    env.close()


def task_start(env):
    return env.unwrapped.place.position[:2]


def test_start_and_goal_lie_in_different_rooms_and_the_start_faces_the_way():
    env = made(start_yaw=0.0)
    together = 0
    for seed in range(12):
        env.reset(seed=seed)
        task, place = env.task, env.place
        rooms = [
            [room.contains(*point) for room in task.scene.rooms]
            for point in (task_start(env), task.goal)
        ]
        together += any(map(all, zip(*rooms, strict=True)))
        ahead = np.array(task_start(env)) + 0.5 * np.array(
            (math.cos(place.yaw), math.sin(place.yaw))
        )
        assert task.field(ahead) < task.shortest - 0.4
        assert task.scene.traversable.is_free(task.goal)
        assert task.scene.traversable.is_free(task_start(env))
    assert together == 0
    env.close()
    same = NavigationTask(scene_source(None), different_rooms=False)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(12):
        start = same.start(rng).position[:2]
        seen.add(any(r.contains(*start) and r.contains(*same.goal) for r in same.scene.rooms))
    assert seen == {True, False}


def test_reward_is_the_clipped_decrease_of_the_way():
    """r(t) = max(-c, min(D(t - 1) - D(t), c)), c = v_cap dt; D is nearly straight in a room."""
    task = NavigationTask(scene_source(EMPTY), v_cap=2.0)
    place = task.start(np.random.default_rng(0))
    start, goal = np.array(place.position[:2]), task.goal
    ahead = (goal - start) / np.linalg.norm(goal - start)
    before = task.field(start)
    points = [start + 0.01 * ahead, start + 0.3 * ahead, start]
    paid = []
    for x, y in points:
        reward, end = task.advance(pose(x, y), 0.01)
        distance = task.field((x, y))
        assert reward == pytest.approx(max(-0.02, min(before - distance, 0.02)))
        assert end is None
        before = distance
        paid.append(reward)
    assert paid == [pytest.approx(0.01, rel=0.1), 0.02, -0.02]
    assert task.advance(pose(50.0, 0.0), 0.01) == (0.0, None)
    _, end = task.advance(pose(*(goal - 0.39 * ahead)), 0.01)
    assert end == "goal"
    assert task.info(pose(*goal))["distance"] < 0.45


def test_a_goal_behind_a_wall_is_not_reached_through_it():
    task = NavigationTask(
        scene_source({"apartment": {"rooms": 2, "furniture": 0.0}}), goal_radius=1.0
    )
    rng = np.random.default_rng(0)
    ends = []
    for _ in range(30):
        task.start(rng)
        for angle in np.arange(0.0, 2 * math.pi, 0.3):
            x, y = task.goal + 0.95 * np.array((math.cos(angle), math.sin(angle)))
            _, end = task.advance(pose(x, y), 0.01)
            if task.field((x, y)) > 2.5 and not math.isinf(task.field((x, y))):
                ends.append(end)
    assert ends
    assert set(ends) == {None}


def test_path_length_is_that_of_a_smoothed_path():
    task = NavigationTask(scene_source(EMPTY))
    place = task.start(np.random.default_rng(1))
    x, y = place.position[:2]
    for step in range(1, 96):  # 0.95 m along x, swaying by 1 cm at the end of every step
        sway = 0.01 * (step % 2)
        here = pose(x + 0.01 * step, y + sway)
        task.advance(here, 0.01)
    assert task.info(here)["path_length"] == pytest.approx(0.95, abs=0.01)


def test_the_oracle_walks_through_doors_where_the_straight_walker_does_not():
    env = made()
    outcomes = {}
    for name in ("oracle", "straight", "random"):
        outcomes[name] = []
        for seed in range(3):
            walker = {
                "oracle": lambda: oracle_walker(env),
                "straight": straight_walker,
                "random": lambda: random_walker(np.random.default_rng(0)),
            }[name]()
            total, info = walk(env, walker, seed)
            outcome = Outcome.of(info)
            outcomes[name].append(outcome)
            assert info["spl"] == outcome.efficiency
            assert (info["spl"] > 0) == outcome.success
            if outcome.success:
                assert info["end"] == "goal"
                assert math.dist(info["position"][:2], info["goal"]) <= 0.4
                nearer = info["shortest"] - info["distance"]
                assert 0.8 * nearer < total < nearer + 0.05  # the fastest moments are clipped
                assert info["path_length"] > 0.85 * (info["shortest"] - 0.4)
    env.close()
    assert success_rate(outcomes["oracle"]) == 1.0
    assert spl(outcomes["oracle"]) > 0.8
    assert success_rate(outcomes["straight"]) < 0.6
    assert success_rate(outcomes["random"]) == 0.0


def test_spl_is_its_equation():
    """SPL = 1/N sum S l / max(p, l)."""
    rng = np.random.default_rng(0)
    success, shortest, walked = (
        rng.random(50) < 0.6,
        rng.uniform(1, 6, 50),
        rng.uniform(0.5, 12, 50),
    )
    outcomes = [
        Outcome(bool(s), float(l_), float(p), "goal" if s else "time", 0)
        for s, l_, p in zip(success, shortest, walked, strict=True)
    ]
    assert spl(outcomes) == pytest.approx(
        np.mean(success * shortest / np.maximum(walked, shortest))
    )
    assert success_rate(outcomes) == pytest.approx(success.mean())
    assert Outcome(True, 3.0, 3.0, "goal", 0).efficiency == 1.0
    assert Outcome(True, 3.0, 6.0, "goal", 0).efficiency == 0.5
    assert Outcome(False, 3.0, 3.0, "fall", 9).efficiency == 0.0
    for function in (spl, success_rate):
        with pytest.raises(ValueError, match="outcomes: expected at least one episode"):
            function([])
    with pytest.raises(ValueError, match="info: expected the info of the last step"):
        Outcome.of({"success": True})


def turning(env, action_of, steps=400):
    """Return speed (m/s) and yaw rate (rad/s) over the second half of some steps."""
    observation, _ = env.reset(seed=0)
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(action_of(observation))
        if terminated or truncated:
            break
    path = env.path[len(env.path) // 2 :]
    assert len(path) > steps // 4
    seconds = 0.01 * (len(path) - 1)
    length = np.linalg.norm(np.diff(path[::10, :2], axis=0), axis=1).sum()
    return length / seconds, (np.unwrap(path[:, 2])[-1] - path[0, 2]) / seconds


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_curves_and_pivots_are_as_tight_as_their_docstrings_say(side):
    scene = {"apartment": {"rooms": 1, "furniture": 0.0, "size": [20.0, 20.0]}}
    env = made(scene=scene, goal_distance=[5.0, 15.0])
    speed, rate = turning(env, lambda observation: curve(side))
    assert rate == pytest.approx(1.7 * side, rel=0.15)
    assert 0.3 < speed / abs(rate) < 0.6
    speed, rate = turning(env, lambda observation: pivot(side, observation["proprio"][-2:]))
    assert rate == pytest.approx(2.0 * side, rel=0.15)
    assert speed / abs(rate) == pytest.approx(0.25, abs=0.08)
    env.close()


def test_latent_commands_steer_by_the_indoor_low_level():
    scene = {"apartment": {"rooms": 1, "furniture": 0.0, "size": [20.0, 20.0]}}
    options = {"scene": scene, "goal_distance": [5.0, 15.0], "control": "latent"}
    env = made(**options, command_time=0.0)
    assert env.action_space.shape == (3,)
    straight, _ = turning(env, lambda observation: (0.0, 0.0, 0.0), steps=20)
    assert straight > 0.85
    _, rate = turning(env, lambda observation: (0.0, 1.0, 0.0), steps=20)
    assert rate == pytest.approx(1.7, rel=0.2)
    slow, _ = turning(env, lambda observation: (0.0, 0.0, -0.5), steps=20)
    assert slow < 0.6 * straight
    env.close()
    assert made(control="latent", latent_size=1).action_space.shape == (2,)
    assert np.array_equal(indoor_low_level(1).weight[:, 0], curve(1.0))
    with pytest.raises(ValueError, match="latent_size: expected an integer >= 1, got 0"):
        made(control="latent", latent_size=0)


@pytest.mark.parametrize("form", FORMS)
def test_scanned_scenes_are_walked_like_apartments(tmp_path, form):
    FORMS[form](tmp_path)
    env = QuadrupedNavigationEnv(str(tmp_path), goal_distance=[3.5, 5.0], camera_size=16)
    observation, _ = env.reset(seed=0)
    assert observation["depth"].min() < 0.5
    assert observation["depth"].max() <= 1.0
    _, info = walk(env, oracle_walker(env), 0)
    assert info["success"]
    env.close()


def test_walls_of_a_scan_stop_the_robot(tmp_path):
    write_gibson(tmp_path)
    env = made(scene=str(tmp_path), different_rooms=False, goal_distance=[1.0, 5.0])
    env.reset(seed=0)
    done = False
    while not done:
        _, _, terminated, truncated, info = env.step(np.zeros(16))
        x, y, _ = info["position"]
        assert abs(x) < 3.0
        assert abs(y) < 2.0
        done = terminated or truncated
    # On open ground it walks 9 m in this time.
    assert len(env.path) > 500
    env.close()


def test_episodes_in_a_scan_repeat_to_the_bit(tmp_path):
    write_gibson(tmp_path)
    env = QuadrupedNavigationEnv(str(tmp_path), camera_size=8)

    def episode():
        observations = [env.reset(seed=3)[0]]
        observations += [env.step(curve(0.5))[0] for _ in range(150)]
        return observations

    for one, other in zip(episode(), episode(), strict=True):
        assert all(np.array_equal(one[key], other[key]) for key in one)
    env.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"goal_distance": 3.0}, "goal_distance: expected two lengths"),
        ({"goal_distance": [3.0, 2.0]}, r"goal_distance\[1\]: expected"),
        ({"goal_distance": [0.3, 2.0]}, r"goal_radius: expected less .* \(goal_distance\[0\]\)"),
        ({"goal_distance": [-0.3, 2.0]}, r"goal_distance\[0\]: expected"),
        ({"goal_radius": 0.0}, "goal_radius: expected"),
        ({"goal_radius": 5.0}, "goal_radius: expected less than the 2 m of the nearest goal"),
        ({"different_rooms": 1}, "different_rooms: expected True or False"),
        ({"start_yaw": 4.0}, "start_yaw: expected"),
        ({"v_cap": -1.0}, "v_cap: expected"),
        ({"scene": "no/such/place"}, "scene: expected .*there is nothing at this path"),
        ({"scene": {"apartment": {"rooms": 0}}}, "rooms: expected"),
        ({"scene": {"apartment": {"door_height": 5}}}, "door_height: expected"),
        ({"renderer": "tiny"}, 'renderer: expected "raycast" in an apartment with textures'),
    ],
)
def test_bad_arguments(settings, message):
    with pytest.raises(ValueError, match=message):
        made(**settings)


def test_a_mesh_is_refused_to_the_tiny_renderer(tmp_path):
    write_gibson(tmp_path)
    with pytest.raises(ValueError, match='renderer: expected "raycast" in a scene of a mesh'):
        QuadrupedNavigationEnv(str(tmp_path), renderer="tiny")


def test_distances_that_a_scene_does_not_have():
    env = made(goal_distance=[40.0, 50.0])
    with pytest.raises(ValueError, match="goal_distance: expected distances that the scene has"):
        env.reset(seed=0)
    env.close()


@pytest.mark.slow
def test_temple_of_pybullet():
    """125 thousand triangles, y up, no map: loaded, surveyed, seen and walked."""
    data = pytest.importorskip("pybullet_data").getDataPath()
    env = QuadrupedNavigationEnv({"path": f"{data}/samurai_monastry.obj", "up": "y"})
    scene = env.task._source.sample(np.random.default_rng(0))
    assert len(scene.view.mesh.faces) == 124_789
    assert scene.floor_height == pytest.approx(1.70, abs=0.02)
    area = scene.traversable.free.sum() * scene.traversable.resolution**2
    assert 1000 < area < 3000
    for seed in range(3):
        observation, _ = env.reset(seed=seed)
        # The lowest row looks at the floor, 0.35 m below, at an angle of 29 degrees.
        assert np.median(observation["depth"][-1]) * 4.9 + 0.1 == pytest.approx(0.61, abs=0.1)
        _, info = walk(env, oracle_walker(env), seed)
        assert info["success"]
    env.close()


def test_after_a_reset_that_failed_no_episode_is_under_way():
    env = QuadrupedNavigationEnv(control="latent", physics="kinematic")
    env.reset(seed=0)
    env.task._nearest = env.task._farthest = 60.0  # which no apartment has
    with pytest.raises(ValueError, match="goal_distance"):
        env.reset(seed=1)
    with pytest.raises(ResetNeeded, match="step: call reset first"):
        env.step(np.zeros(env.action_space.shape))
