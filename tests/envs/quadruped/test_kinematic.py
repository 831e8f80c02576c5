"""The surrogate: its equations, what ends in it, and how near it is to the robot."""

import dataclasses

import gymnasium
import numpy as np
import pytest

import iap_gym  # noqa: F401  registers the ids
from iap_gym.envs.quadruped import kinematic
from iap_gym.envs.quadruped.course import Course
from iap_gym.envs.quadruped.kinematic import CONTROL_DT, RADIUS, KinematicMover
from iap_gym.envs.quadruped.low_level import LowLevel
from iap_gym.envs.quadruped.mover import Place
from iap_gym.envs.quadruped.navigation_steering import indoor_low_level
from iap_gym.envs.quadruped.walkers import oracle
from iap_gym.envs.quadruped.world import Block, World
from iap_gym.raycast import rotation_from_yaw_pitch

pytest.importorskip("pybullet")

ID = "iap_gym/QuadrupedObstacleCourse-v0"
NAVIGATION = "iap_gym/QuadrupedNavigation-v0"
LONG = {"preset": "flat", "platform_width": 40.0, "length": 40.0, "platform_back": 20.0}


def place(blocks=(), ground=0.0, num_floors=0, position=(0.0, 0.0, 0.32), yaw=0.0, floor=0.0):
    scene = Course().sample(np.random.default_rng(0)).scene()
    return Place(World(tuple(blocks), ground), scene, position, yaw, floor, num_floors)


def moved(mover, steps, *command):
    for _ in range(steps):
        mover.step(np.array(command, np.float64))
    return mover.pose()


def test_each_step_is_the_equations_of_the_docstring():
    mover = KinematicMover(2)
    low_level = LowLevel.steering(2, 0.8)
    # FR, FL, RR, RL: the second of a leg's three residuals, after the gait's four numbers.
    swings = np.array([0.9, -0.9, 0.4, -0.8])
    low_level.weight[[5, 8, 11, 14], 1] = swings
    mover.controller.low_level = low_level
    start = place(position=(0.3, -0.2, 0.32), yaw=0.4)
    mover.reset(dataclasses.replace(start, turn_factor=1.2, turn_drift=-0.07))
    turn = late = speed = 0.0
    x, y, yaw = 0.3, -0.2, 0.4
    grips = []
    for k in range(1, 301):
        command = np.array([np.sin(k / 40), 0.7 * np.sign(np.sin(k / 13))])
        mover.step(command)
        swing = 0.25 * np.mean([1, -1, 1, -1] * swings * command[1])
        wanted = 0.5 * 0.8 * command[0] + swing
        turn += (wanted - turn) * (1 - np.exp(-CONTROL_DT / 0.2))
        late += (swing - late) * (1 - np.exp(-CONTROL_DT / 0.2))
        if k <= 60:
            continue
        grips.append(max(1 - 5 * abs(swing - late), 0.35))
        speed += (0.97 * grips[-1] - speed) * (1 - np.exp(-CONTROL_DT / 0.5))
        slow = np.clip(10.0 * turn, -3.0, 3.0)
        rate = 2.0 * turn * speed / 0.97 + slow * (1 - speed / 0.97)
        yaw += (1.2 * rate - 0.07) * CONTROL_DT
        x, y = x + speed * CONTROL_DT * np.cos(yaw), y + speed * CONTROL_DT * np.sin(yaw)
    assert 0.35 < np.median(grips) < 1.0
    pose = mover.pose()
    np.testing.assert_allclose(pose.position[:2], [x, y], atol=1e-9)
    phase = 2 * np.pi * 3.54 * 3.0  # of the trot, Hz
    sway = -0.010 * np.cos(phase) + 0.058 * np.sin(phase)
    roll = -0.025 * np.cos(phase) + 0.009 * np.sin(phase) + 0.22 * turn
    pitch = -0.007 * np.cos(2 * phase) - 0.017 * np.sin(2 * phase)
    np.testing.assert_allclose(
        [pose.roll, pose.pitch, pose.yaw], [roll, pitch, yaw + sway], atol=1e-9
    )
    np.testing.assert_allclose(
        pose.rotation, rotation_from_yaw_pitch(yaw + sway, pitch, roll), atol=1e-9
    )
    assert pose.position[2] == pytest.approx(0.26)


@pytest.mark.parametrize("yaw", [0.0, 0.5, -1.2])
def test_it_stops_where_the_first_disc_touches_a_wall(yaw):
    """Head on: the front disc's edge is at the wall, wherever the whole scene is turned."""
    rotation = (0.0, 0.0, np.sin(yaw / 2), np.cos(yaw / 2))
    middle = (2.0 * np.cos(yaw), 2.0 * np.sin(yaw), 0.3)
    wall = Block(middle, (0.05, 1.0, 0.3), rotation)
    mover = KinematicMover()
    mover.reset(place([wall], yaw=yaw))
    pose = moved(mover, 400, 0.0)
    assert mover.collides()
    along = float(np.hypot(*pose.position[:2]))
    front = along + max(kinematic.DISCS) + RADIUS
    assert 1.95 <= front < 1.95 + 2 * CONTROL_DT
    assert pose.position[2] == 0.0
    assert moved(mover, 50, 1.0).position.tolist() == pose.position.tolist()  # it lies


def test_it_falls_once_it_has_touched_walls_for_its_endurance():
    wall = Block((2.0, 0.0, 0.3), (0.05, 8.0, 0.3))
    mover = KinematicMover()
    steps = {}
    for endurance in (0.0, 0.5, 0.996):
        mover.reset(dataclasses.replace(place([wall]), endurance=endurance))
        steps[endurance] = 0
        while mover.pose().position[2] > 0.0:
            mover.step(np.array([0.0]))
            steps[endurance] += 1
    # Head on it is pushed back as far as it came in, and touches again a step later.
    assert steps[0.5] - steps[0.0] == 50
    assert steps[0.996] - steps[0.0] == 99


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


@pytest.mark.parametrize("yaw", [0.1, 0.9])
def test_one_contact_is_resolved_as_the_docstring_says(monkeypatch, yaw):
    """A front disc meets a corner: pushed off, held back, turned, by the equations."""
    # One round, whose turning leaves it a little deep.
    monkeypatch.setattr(kinematic, "_PUSHES", 1)
    monkeypatch.setattr(kinematic, "_TOUCH", 1e-3)
    corner = Block((1.3, 0.6, 0.3), (0.5, 0.5, 0.3))
    mover = KinematicMover()
    target = np.array([0.8, 0.1]) - 0.9 * np.array([np.cos(yaw), np.sin(yaw)])
    position = (target[0], target[1] - 0.05, 0.32)
    mover.reset(dataclasses.replace(place([corner], yaw=yaw, position=position), endurance=1.0))
    path = []
    while not mover.collides():
        mover.step(np.array([0.0]))
        path.append((*mover.pose().position[:2], mover._yaw, mover._speed))
    x, y, heading, _ = path[-2]  # without a command it does not turn by itself
    way = path[-1][3] * CONTROL_DT
    middle = np.array([x + way * np.cos(heading), y + way * np.sin(heading)])
    arm = 0.14 * np.array([np.cos(heading), np.sin(heading)])
    away = middle + arm - [0.8, 0.1]
    depth = RADIUS - np.linalg.norm(away)
    assert 1e-3 < depth < 0.01
    normal = away / np.linalg.norm(away)
    push = depth / (1.0 + cross(arm, normal) ** 2 / 0.2**2)
    middle = middle + push * normal
    turned = heading + push * cross(arm, normal) / 0.2**2

    slip = middle - [x, y] + (turned - heading) * np.array([-arm[1], arm[0]])
    arm = 0.14 * np.array([np.cos(turned), np.sin(turned)])
    along = np.array([-normal[1], normal[0]])
    slipped = slip @ along
    back = -np.sign(slipped) * along
    held = min(abs(slipped) / (1.0 + cross(arm, back) ** 2 / 0.2**2), 0.7 * push)
    middle = middle + held * back
    turned += held * cross(arm, back) / 0.2**2
    np.testing.assert_allclose(path[-1][:2], middle, atol=1e-9)
    assert path[-1][2] == pytest.approx(turned, abs=1e-9)


def test_it_gets_along_a_wall_and_never_through():
    walls = [Block((2.0, 0.0, 0.3), (0.05, 8.0, 0.3)), Block((0.0, -2.0, 0.3), (8.0, 0.05, 0.3))]
    rng = np.random.default_rng(0)
    mover = KinematicMover()
    for _ in range(20):
        yaw = rng.uniform(-np.pi, np.pi)
        mover.reset(dataclasses.replace(place(walls, yaw=yaw), endurance=1e9))
        for _ in range(300):
            mover.step(rng.uniform(-1, 1, 1))
            pose = mover.pose().position
            assert pose[0] < 1.95 - RADIUS + 1e-3
            assert pose[1] > -1.95 + RADIUS - 1e-3
    mover.reset(dataclasses.replace(place(walls, yaw=1.0), endurance=1e9))
    pose = moved(mover, 400, 0.0)
    assert pose.position[1] > 1.5  # it slid along the wall
    narrow = [Block((2.0, side * 0.65, 0.3), (1.0, 0.5, 0.3)) for side in (-1, 1)]
    mover.reset(dataclasses.replace(place(narrow), endurance=1e9))
    assert moved(mover, 400, 0.0).position[0] < 1.0  # a gap that it does not fit through


def test_commands_go_through_a_low_pass_of_first_order():
    smooth, plain = KinematicMover(1, command_time=0.15), KinematicMover(1)
    for _ in range(2):  # a reset forgets
        smooth.reset(place())
        plain.reset(place())
        rng = np.random.default_rng(0)
        value = 0.0
        for k in range(150):
            command = rng.uniform(-1, 1, 1)
            value = value + (command - value) * (1 - np.exp(-CONTROL_DT / 0.15))
            smooth.step(command)
            plain.step(value)
            assert smooth.pose().yaw == pytest.approx(plain.pose().yaw, abs=1e-12), k


def test_only_what_is_at_its_height_is_in_its_way():
    lintel = Block((2.0, 0.0, 2.2), (0.05, 1.0, 0.2))
    sill = Block((3.0, 0.0, 0.01), (0.05, 1.0, 0.01))
    beside = Block((4.0, 1.0 + RADIUS + 0.01, 0.3), (0.05, 1.0, 0.3))
    mover = KinematicMover()
    mover.reset(place([lintel, sill, beside]))
    assert moved(mover, 600, 0.0).position[0] > 4.5
    nearer = Block((4.0, 1.0 + RADIUS - 0.01, 0.3), (0.05, 1.0, 0.3))
    mover.reset(place([lintel, sill, nearer]))
    assert 3.5 < moved(mover, 600, 0.0).position[0] < 4.0


def test_it_falls_off_its_floors():
    floor = Block((0.5, 0.0, 0.25), (1.0, 1.0, 0.25))
    raised = {"num_floors": 1, "position": (0.0, 0.0, 0.82), "floor": 0.5}
    mover = KinematicMover()
    mover.reset(place([floor], **raised))
    pose = moved(mover, 400, 0.0)
    assert 1.5 <= pose.position[0] < 1.51
    assert (pose.position[2], mover.collides()) == (0.5, False)
    beside = Block((2.5, 0.0, 0.25), (1.2, 1.0, 0.25))
    mover.reset(place([floor, beside], **{**raised, "num_floors": 2}))
    assert moved(mover, 400, 0.0).position[0] > 2.0


@pytest.mark.parametrize("physics", ["bullet", "kinematic"])
@pytest.mark.parametrize(
    ("command", "size", "end"),
    [
        (0.0, {"length": 1.5}, "finish"),
        (0.0, {"length": 1.5, "start_yaw": 0.4}, "finish"),
        (1.0, {"length": 20.0, "platform_width": 1.2}, "edge"),
        (-1.0, {"length": 20.0, "platform_width": 1.2}, "edge"),
    ],
)
def test_over_an_edge_it_ends_as_the_robot_does(physics, command, size, end):
    """It keeps its feet until its middle is past the edge, which is where the task ends."""
    course = {"num_walls": 0, "first_wall": 0.5, **size}
    env = gymnasium.make(ID, control="latent", physics=physics, camera=False, course=course)
    env.reset(seed=0)
    over, info = False, {}
    while not over:
        *_, terminated, truncated, info = env.step(np.array([-1.0, command], np.float32))
        over = terminated or truncated
    x, y, _ = env.unwrapped.path[-1]
    env.close()
    assert (info["end"], info["success"]) == (end, end == "finish")
    beyond = x - 1.5 if end == "finish" else abs(y) - 0.6
    assert 0.0 <= beyond < 0.02


def test_a_mesh_is_refused(tmp_path):
    file = tmp_path / "scene.obj"
    file.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    scene = Course().sample(np.random.default_rng(0)).scene()
    there = Place(World(mesh=str(file)), scene, (0.0, 0.0, 0.32), 0.0, 0.0)
    with pytest.raises(ValueError, match=r"^physics: expected \"bullet\" in a scene of a mesh"):
        KinematicMover().reset(there)
    with pytest.raises(ValueError, match="^latent_size: expected"):
        KinematicMover(0)


def play(physics, seed, steering):
    """Return the path and the return of an episode; ``steering`` maps the env to a command."""
    env = gymnasium.make(ID, control="latent", physics=physics, camera=False)
    env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        action = np.array([-1.0, steering(env.unwrapped)], np.float32)
        _, reward, terminated, truncated, info = env.step(action)
        total += reward
        over = terminated or truncated
    path, end = env.unwrapped.path, info["end"]
    env.close()
    return path, total, end


def test_episodes_are_repeated_and_end_where_the_walk_ends():
    path, total, end = play("kinematic", 3, lambda env: 0.0)
    again = play("kinematic", 3, lambda env: 0.0)
    np.testing.assert_array_equal(again[0], path)
    assert again[1:] == (total, end)
    assert end == "fall"  # into a wall
    assert total == pytest.approx(path[-1, 0])
    seeing = play("kinematic", 3, lambda env: oracle(env.layout, env.path[-1]))
    assert seeing[1] > total + 2


def test_observations_have_the_space_of_the_robot():
    spaces = []
    for physics in ("kinematic", "bullet"):
        env = gymnasium.make(ID, control="latent", latent_size=3, physics=physics)
        spaces.append((env.observation_space, env.action_space))
        observation, _ = env.reset(seed=0)
        assert env.observation_space.contains(observation)
        observation, *_ = env.step(np.full(4, 0.3, np.float32))
        assert env.observation_space.contains(observation)
        env.close()
    assert spaces[0] == spaces[1]


@pytest.mark.parametrize("command", [0.0, 0.6, -1.0])
@pytest.mark.parametrize(
    ("low_level", "speeds", "rates"),
    # rad/s: 0.6 at the largest turn, 1.5 in a curve indoors
    [(LowLevel.steering(1, 0.6), 0.06, 0.1), (indoor_low_level(1), 0.15, 0.2)],
    ids=["turn", "curve"],
)
def test_it_walks_about_as_the_robot_does(low_level, speeds, rates, command):
    """The constants: speed and yaw rate of the trot in full physics, once it is up to speed."""
    found = {}
    for physics in ("kinematic", "bullet"):
        options = {"control": "latent", "low_level": low_level, "camera": False, "course": LONG}
        env = gymnasium.make(ID, physics=physics, **options)
        env.reset(seed=0)
        for _ in range(60):
            env.step(np.array([-1.0, command], np.float32))
        path = env.unwrapped.path[200::50]
        ways = np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1)
        turned = np.diff(np.unwrap(path[:, 2]))
        found[physics] = ways.mean() / 0.5, turned.mean() / 0.5, env.unwrapped.path[150]
        env.close()
    (speed, rate, early), (true_speed, true_rate, true_early) = found.values()
    assert speed == pytest.approx(true_speed, abs=speeds)
    assert rate == pytest.approx(true_rate, abs=rates)
    assert early[2] == pytest.approx(true_early[2], abs=0.35)  # the start, rough in the robot
    np.testing.assert_allclose(early[:2], true_early[:2], atol=0.2)


@pytest.mark.parametrize("hold", [1, 4])
def test_commands_that_change_slow_it_down_and_turn_it_as_they_do_the_robot(hold):
    """Random tight turns of the indoor gait, each held for 0.1 or 0.4 s, on open floor."""
    commands = np.repeat(np.random.default_rng(0).choice([-1.0, 1.0], (4, 60 // hold)), hold, 1)
    found = {}
    for physics in ("kinematic", "bullet"):
        env = gymnasium.make(
            ID, physics=physics, control="latent", low_level=indoor_low_level(1), course=LONG,
            command_time=0.15, camera=False, duration_range=(10, 11),
        )  # fmt: skip
        speeds, turned = [], []
        for row in commands:
            env.reset(seed=0)
            over = False
            for command in row:
                if not over:  # the robot slips and falls now and then
                    over = any(env.step(np.array([-1.0, command], np.float32))[2:4])
            # Without the sway of a stride.
            strides = env.unwrapped.path[150:]
            strides = strides[: len(strides) // 28 * 28].reshape(-1, 28, 3)
            x, y, yaw = np.unwrap(strides, axis=1).mean(1).T
            speeds.append(np.hypot(np.diff(x), np.diff(y)).mean() / 0.28)
            turned.append(np.abs(np.diff(np.unwrap(yaw))).mean() / 0.28)
        env.close()
        found[physics] = np.mean(speeds), np.mean(turned)
    assert found["bullet"][0] < 0.7  # of 0.97
    np.testing.assert_allclose(found["kinematic"], found["bullet"], rtol=0.25)


def test_its_trunk_sways_as_the_robots_does():
    """Roll, pitch and yaw at each control step, once the gait is up to speed."""
    swayed = {}
    for physics in ("kinematic", "bullet"):
        options = {"control": "latent", "camera": False, "course": LONG, "duration_range": [1, 2]}
        env = gymnasium.make(ID, physics=physics, **options)
        env.reset(seed=0)
        rows = []
        for _ in range(600):
            env.step(np.array([-1.0, 0.5], np.float32))
            pose = env.unwrapped.mover.pose()
            rows.append((pose.roll, pose.pitch, pose.yaw))
        env.close()
        angles = np.unwrap(np.array(rows)[250:], axis=0)
        steps = np.arange(len(angles))
        angles[:, 2] -= np.polyval(np.polyfit(steps, angles[:, 2], 2), steps)  # the turn itself
        swayed[physics] = angles
    difference = swayed["kinematic"] - swayed["bullet"]
    # The robot's own is 0.018, 0.015 and 0.042; a sway out of time would double them.
    np.testing.assert_array_less(np.sqrt((difference**2).mean(axis=0)), [0.01, 0.013, 0.015])


@pytest.mark.slow
def test_who_turns_to_the_goal_gets_about_as_far_as_in_full_physics():
    """60 apartments: how far, and how episodes end; what its friction and endurance are for."""
    found = {}
    for physics in ("kinematic", "bullet"):
        env = gymnasium.make(
            NAVIGATION, control="latent", latent_size=1, physics=physics, camera=False
        )
        returns, ends = [], []
        for seed in range(60):
            observation, _ = env.reset(seed=seed)
            total, over = 0.0, False
            while not over:
                bearing = float(np.clip(observation["goal"][1], -1, 1))
                observation, reward, *over, info = env.step(np.array([-1, bearing], np.float32))
                total, over = total + reward, any(over)
            returns.append(total)
            ends.append(info["end"])
        env.close()
        counts = [ends.count(end) for end in ("goal", "fall", "time")]
        found[physics] = np.mean(returns), np.std(returns) / len(returns) ** 0.5, counts
    (ours, error, counts), (true, true_error, true_counts) = found.values()
    assert abs(ours - true) < 3 * np.hypot(error, true_error), found
    # Counts of 60 differ by 5 by chance.
    np.testing.assert_allclose(counts, true_counts, atol=15)


def test_another_low_level_is_followed_at_once():
    mover = KinematicMover(2)
    mover.reset(place())
    ahead = moved(mover, 300, 0.5, 0.0)
    assert ahead.yaw > 0.3
    mover.controller.low_level = LowLevel.steering(2, -0.8)
    assert moved(mover, 300, 0.5, 0.0).yaw < ahead.yaw - 0.3
