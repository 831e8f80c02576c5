"""The A1 in PyBullet: control, readings, contacts, exact resets, clients, what is refused."""

import gc
import math
import os
import warnings

import numpy as np
import pytest

from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.gait import EXTENSION_HIGH, EXTENSION_LOW, leg_map
from iap_gym.envs.quadruped.pmtg import PMTGController
from iap_gym.envs.quadruped.simulation import GRAVITY, Simulation, stable_time_step
from iap_gym.envs.quadruped.world import Block, World

pybullet = pytest.importorskip("pybullet")

NEUTRAL = a1.neutral_pose()
HIGH = (0.0, 0.0, 5.0)
FLAT = World()
# A platform with walls close around the robot, so that it runs into them.
WALLED = World(
    (
        Block((0.0, 0.0, -0.25), (3.0, 1.5, 0.25)),
        Block((0.5, 0.1, 0.3), (0.05, 1.4, 0.3)),
        Block((-0.5, 0.1, 0.3), (0.05, 1.4, 0.3)),
    ),
    ground_height=-0.5,
)


@pytest.fixture
def simulation():
    made = Simulation()
    yield made
    made.close()


def readings(simulation):
    return np.concatenate(
        [
            simulation.position,
            simulation.rotation.ravel(),
            simulation.joint_angles,
            simulation.joint_velocities,
            simulation.linear_velocity,
            simulation.angular_velocity,
        ]
    )


def flail(simulation, steps, seed, size=1.0):
    """Drive the joints at random; return the readings (steps, 42)."""
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(steps):
        simulation.step(NEUTRAL + rng.uniform(-size, size, 12))
        seen.append(readings(simulation))
    return np.array(seen)


def write_obj(path, vertices, faces):
    lines = [f"v {x} {y} {z}" for x, y, z in vertices]
    lines += ["f " + " ".join(str(corner + 1) for corner in face) for face in faces]
    path.write_text("\n".join(lines) + "\n")
    return path


def trough(path, up="z", scale=1.0):
    """A floor at height 0 between two walls at x = -1 and x = 1, both sides of each face."""
    corners = [(x, y, z) for x in (-1, 1) for y in (-3, 3) for z in (0, 1)]
    if up == "y":
        corners = [(x, z, -y) for x, y, z in corners]
    vertices = np.array(corners) / scale
    quads = [(0, 4, 6, 2), (0, 2, 3, 1), (4, 5, 7, 6)]
    triangles = [quad[:3] for quad in quads] + [(quad[0], *quad[2:]) for quad in quads]
    return write_obj(path, vertices, triangles + [face[::-1] for face in triangles])


# Control


def test_a_reset_puts_the_trunk_where_it_is_told_in_the_neutral_pose(simulation):
    simulation.reset(FLAT, (1.0, -2.0, 0.4), yaw=2.0)
    np.testing.assert_allclose(simulation.position, (1.0, -2.0, 0.4), atol=1e-12)
    np.testing.assert_allclose(simulation.roll_pitch_yaw, (0.0, 0.0, 2.0), atol=1e-6)
    forward = (math.cos(2.0), math.sin(2.0), 0.0)
    np.testing.assert_allclose(simulation.rotation[:, 0], forward, atol=1e-6)
    np.testing.assert_allclose(simulation.joint_angles, NEUTRAL)
    for still in ("joint_velocities", "linear_velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(simulation, still), 0.0)


@pytest.mark.parametrize("index", range(12), ids=a1.JOINT_NAMES)
def test_each_joint_moves_its_own_leg_to_its_side(simulation, index):
    """Leg by leg: abduction is to the left, a hip swings backward, a knee makes the leg longer."""
    simulation.reset(FLAT, HIGH)
    robot = simulation._robot

    def toes():
        states = [pybullet.getLinkState(robot, toe, 0, 1) for toe in simulation._toes]
        return (np.array([state[4] for state in states]) - simulation.position) @ (
            simulation.rotation
        )

    before = toes()
    target = NEUTRAL.copy()
    target[index] += 0.2
    for _ in range(30):
        simulation.step(target)
    moved = simulation.joint_angles - NEUTRAL
    assert moved[index] == pytest.approx(0.2, abs=0.03)
    assert np.abs(np.delete(moved, index)).max() < 0.03
    change = toes() - before
    leg, joint = divmod(index, 3)
    axis, sign = ((1, 1), (0, -1), (2, -1))[joint]
    assert sign * change[leg, axis] > 0.02
    assert np.abs(np.delete(change, leg, axis=0)).max() < 0.01


def test_feet_are_where_the_leg_map_puts_them():
    """x = l sin S and z = -l cos S with l = 0.4 cos(knee / 2), by Bullet's forward kinematics."""
    client = pybullet.connect(pybullet.DIRECT)
    robot = pybullet.loadURDF(a1.urdf_path(), physicsClientId=client)
    rows = [pybullet.getJointInfo(robot, i, client) for i in range(21)]
    joints = {row[1].decode(): row[0] for row in rows}
    rng = np.random.default_rng(0)
    for _ in range(20):
        swing = rng.uniform(-0.6, 0.6, 4)
        extension = rng.uniform(EXTENSION_LOW, EXTENSION_HIGH, 4)
        angles = leg_map(np.zeros(4), swing, extension)
        for name, angle in zip(a1.JOINT_NAMES, angles, strict=True):
            pybullet.resetJointState(robot, joints[name], angle, physicsClientId=client)
        for leg, name in enumerate(a1.LEGS):
            hip, toe = (
                np.array(pybullet.getLinkState(robot, joints[joint], 0, 1, client)[4])
                for joint in (f"{name}_upper_joint", f"{name}_toe_fixed")
            )
            length = 0.4 * math.cos(angles[3 * leg + 2] / 2)
            wanted = (length * math.sin(swing[leg]), 0.0, -length * math.cos(swing[leg]))
            np.testing.assert_allclose(toe - hip, wanted, atol=1e-6)
    pybullet.disconnect(client)


def test_torques_are_those_of_the_control_law(monkeypatch):
    kp, kd, limit = 80.0, (1.0, 1.5, 1.8), 12.0
    simulation = Simulation(0.002, 1, kp=kp, kd=kd, torque_limit=limit)
    simulation.reset(FLAT, HIGH)
    applied = []
    original = pybullet.setJointMotorControlArray

    def applying(robot, joints, mode, **settings):
        assert mode == pybullet.TORQUE_CONTROL
        applied.append(settings["forces"])
        original(robot, joints, mode, **settings)

    monkeypatch.setattr(pybullet, "setJointMotorControlArray", applying)
    rng = np.random.default_rng(0)
    for _ in range(30):
        target = NEUTRAL + rng.uniform(-0.25, 0.25, 12)
        error, velocity = target - simulation.joint_angles, simulation.joint_velocities
        simulation.step(target)
        wanted = np.clip(kp * error - np.tile(kd, 4) * velocity, -limit, limit)
        np.testing.assert_allclose(applied[-1], wanted, atol=1e-9)
    assert len(applied) == 30
    assert 0 < np.mean(np.abs(applied) == limit) < 1
    simulation.close()


def test_a_joint_moves_as_its_torque_says(simulation):
    """One short physics step from rest in the air: q'' = M^-1 tau, less gravity."""
    simulation = Simulation(1e-4, 1)
    simulation.reset(FLAT, HIGH)
    target = NEUTRAL + np.linspace(-0.1, 0.1, 12)
    torque = np.concatenate([np.zeros(6), 100.0 * (target - NEUTRAL)])
    matrix = np.array(
        pybullet.calculateMassMatrix(
            simulation._robot, NEUTRAL.tolist(), physicsClientId=simulation.client_id
        )
    )
    simulation.step(target)
    acceleration = simulation.joint_velocities / simulation.time_step
    np.testing.assert_allclose(acceleration, np.linalg.solve(matrix, torque)[6:], rtol=0.02, atol=5)
    simulation.close()


def test_targets_are_clipped_to_the_limits_of_the_joints(simulation):
    ends = np.tile(a1.JOINT_LOW, 4), np.tile(a1.JOINT_HIGH, 4)
    simulation.reset(FLAT, HIGH)
    inside = [simulation.step(ends[i % 2]) or readings(simulation) for i in range(6)]
    simulation.reset(FLAT, HIGH)
    outside = [
        simulation.step(ends[i % 2] * 1.5 + (i % 2 - 0.5)) or readings(simulation) for i in range(6)
    ]
    np.testing.assert_array_equal(inside, outside)


def test_the_robot_falls_as_bodies_do(simulation):
    simulation.reset(FLAT, HIGH)
    start = simulation.position
    for _ in range(20):
        simulation.step(NEUTRAL)
    time = 20 * simulation.control_dt
    # Joints at rest on a falling body carry no torque; Bullet damps by 4 % a second.
    assert start[2] - simulation.position[2] == pytest.approx(GRAVITY * time**2 / 2, rel=0.03)
    np.testing.assert_allclose(simulation.linear_velocity, (0, 0, -GRAVITY * time), atol=0.03)
    np.testing.assert_allclose(simulation.joint_angles, NEUTRAL, atol=1e-3)


def test_readings_agree_with_one_another(simulation):
    """The gyroscope against the change of the rotation, roll and pitch against its matrix."""
    simulation = Simulation(0.001, 1)
    simulation.reset(FLAT, (0.0, 0.0, 0.5), yaw=1.0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        before = simulation.rotation, simulation.position
        simulation.step(NEUTRAL + rng.uniform(-0.5, 0.5, 12))
        change = before[0].T @ simulation.rotation
        rates = np.array([change[2, 1], change[0, 2], change[1, 0]]) / simulation.control_dt
        np.testing.assert_allclose(simulation.angular_velocity, rates, atol=0.02, rtol=0.02)
        speed = (simulation.position - before[1]) / simulation.control_dt
        # They differ by what the origin turns about the center of mass, 1.3 cm away.
        tolerance = 0.014 * np.linalg.norm(rates) + 1e-3
        assert np.linalg.norm(simulation.linear_velocity - speed) < tolerance
        roll, pitch, yaw = simulation.roll_pitch_yaw
        matrix = simulation.rotation
        assert math.sin(pitch) == pytest.approx(-matrix[2, 0], abs=1e-9)
        assert math.tan(roll) == pytest.approx(matrix[2, 1] / matrix[2, 2])
        assert math.tan(yaw) == pytest.approx(matrix[1, 0] / matrix[0, 0])
    simulation.close()


def test_readings_are_copies(simulation):
    simulation.reset(FLAT)
    for name in ("position", "rotation", "roll_pitch_yaw", "linear_velocity", "joint_angles"):
        before = getattr(simulation, name)
        getattr(simulation, name)[:] = 9.0
        np.testing.assert_array_equal(getattr(simulation, name), before)


def test_frictions_and_masses(simulation):
    simulation.reset(WALLED)
    client = simulation.client_id
    for toe in simulation._toes:
        assert pybullet.getDynamicsInfo(simulation._robot, toe, client)[1] == 1.0
    for body in (*simulation._bodies.boxes, simulation._bodies.ground):
        mass, friction = pybullet.getDynamicsInfo(body, -1, client)[:2]
        assert (mass, friction) == (0.0, 1.0)
    slippery = Simulation(toe_friction=0.3)
    slippery.reset(FLAT)
    found = pybullet.getDynamicsInfo(slippery._robot, slippery._toes[2], slippery.client_id)[1]
    assert found == pytest.approx(0.3)
    slippery.close()


# Contacts


def test_a_robot_that_stands_touches_with_its_toes(simulation):
    simulation.reset(FLAT)
    assert not any(simulation.contacts().toes)  # not yet: nothing has been computed
    for _ in range(100):
        simulation.step(NEUTRAL)
    contacts = simulation.contacts()
    assert contacts.toes == (True, True, True, True)
    assert not contacts.body
    assert not contacts.mesh
    assert contacts.boxes == ()
    assert 0.28 < simulation.position[2] < 0.32


def test_a_robot_that_lies_touches_with_its_body():
    simulation = Simulation(torque_limit=0.5)
    simulation.reset(FLAT)
    for _ in range(150):
        simulation.step(NEUTRAL)
    assert simulation.contacts().body
    assert simulation.position[2] < 0.15
    simulation.close()


def test_boxes_that_are_touched_are_named(simulation):
    ahead = Block((0.4, 0.0, 0.45), (0.05, 0.5, 0.2))  # a bar too low to pass under
    aside = Block((0.0, 2.0, 0.3), (0.05, 0.5, 0.3))
    simulation.reset(World((aside, ahead)))
    controller = PMTGController("trot")
    touched, body = set(), False
    for _ in range(200):
        simulation.step(controller.targets(np.zeros(16), simulation.control_dt))
        contacts = simulation.contacts()
        touched |= set(contacts.boxes)
        body |= contacts.body
    assert touched == {1}
    assert body
    assert simulation.position[0] < 0.4
    # The bar stays where it was.
    bar = pybullet.getBasePositionAndOrientation(simulation._bodies.boxes[1])[0]
    assert bar == ahead.center


def test_a_toe_on_a_box_is_no_body_contact(simulation):
    simulation.reset(World((Block((0.0, 0.0, -0.25), (1.0, 1.0, 0.25)),), ground_height=-0.5))
    for _ in range(60):
        simulation.step(NEUTRAL)
    contacts = simulation.contacts()
    assert contacts.boxes == (0,)
    assert not contacts.body


# Meshes


@pytest.mark.parametrize(("up", "scale"), [("z", 1.0), ("y", 0.5)])
def test_a_mesh_is_concave_and_stands_upright(simulation, tmp_path, up, scale):
    path = trough(tmp_path / "a house.obj", up, scale)
    world = World(ground_height=None, mesh=path, mesh_up=up, mesh_scale=scale)
    simulation.reset(world)
    for _ in range(100):
        simulation.step(NEUTRAL)
    contacts = simulation.contacts()
    # In the convex hull it would be inside of a solid.
    assert 0.28 < simulation.position[2] < 0.32
    assert contacts.mesh
    assert not contacts.body
    # The walls are there, on both sides.
    client = simulation.client_id
    for x in (-2.0, 2.0):
        (hit,) = pybullet.rayTest((0, 0.5, 0.5), (x, 0.5, 0.5), physicsClientId=client)
        assert hit[0] == simulation._bodies.mesh
        assert hit[3][0] == pytest.approx(x / 2, abs=0.02)
    (hit,) = pybullet.rayTest((0, 0.5, 0.5), (0, 4.0, 0.5), physicsClientId=client)
    assert hit[0] == -1


def test_a_plane_above_the_floor_of_a_mesh_carries_the_robot(simulation, tmp_path):
    path = trough(tmp_path / "a.obj")
    heights = []
    for ground in (None, 0.0):
        simulation.reset(World(ground_height=ground, mesh=path))
        for _ in range(100):
            simulation.step(NEUTRAL)
        heights.append(simulation.position[2])
        assert simulation.contacts().mesh is (ground is None)
        assert all(simulation.contacts().toes)
    assert heights[1] - heights[0] == pytest.approx(0.02, abs=2e-3)


def test_a_mesh_is_moved_by_its_position(simulation, tmp_path):
    path = trough(tmp_path / "a.obj")
    simulation.reset(World((), None, path, mesh_position=(5.0, 0.0, 1.0)), (5.0, 0.0, 1.32))
    for _ in range(60):
        simulation.step(NEUTRAL)
    assert 1.28 < simulation.position[2] < 1.32
    assert simulation.contacts().mesh


def test_meshes_without_a_triangle_are_named(simulation, tmp_path):
    empty = write_obj(tmp_path / "empty.obj", [(0, 0, 0)], [])
    unknown = tmp_path / "house.ply"
    unknown.write_bytes(b"ply")
    for path in (empty, unknown):
        with pytest.raises(ValueError, match=f"mesh: expected a triangle mesh.*{path.name}"):
            simulation.reset(World(mesh=path))
    # What failed is not taken for what stands.
    simulation.reset(FLAT)
    simulation.step(NEUTRAL)


@pytest.mark.slow
def test_a_large_mesh_is_kept_and_exact(simulation):
    data = pytest.importorskip("pybullet_data").getDataPath()
    temple = World(ground_height=None, mesh=f"{data}/samurai_monastry.obj", mesh_up="y")
    start = (0.0, 0.0, 0.32)
    simulation.reset(temple, start)
    for _ in range(100):
        simulation.step(NEUTRAL)
    assert simulation.contacts().mesh
    simulation.reset(temple, start)
    first = flail(simulation, 200, 0)
    body = simulation._bodies.mesh
    for seed in range(1, 4):
        simulation.reset(temple, (0.1 * seed, 0.0, 0.4), 0.5 * seed)
        flail(simulation, 60 * seed, seed)
        simulation.reset(temple, start)
        np.testing.assert_array_equal(flail(simulation, 200, 0), first)
    assert simulation._bodies.mesh == body


# Exact resets


@pytest.mark.parametrize("world", [FLAT, WALLED], ids=["flat", "walled"])
def test_an_episode_depends_on_no_episode_before(simulation, world):
    simulation.reset(world)
    first = flail(simulation, 150, 0)
    for seed, before in enumerate(
        (world, FLAT, World((Block((2.0, 0.0, 0.2), (1, 1, 1)),)), world)
    ):
        simulation.reset(before, (0.05, 0.0, 0.33), yaw=0.7)
        flail(simulation, 40, seed + 1, 2.0)
        simulation.reset(world)
        np.testing.assert_array_equal(flail(simulation, 150, 0), first)


def test_simulations_in_one_process_do_not_disturb_one_another():
    worlds = [FLAT, WALLED, FLAT]
    alone = []
    for seed, world in enumerate(worlds):
        simulation = Simulation()
        simulation.reset(world)
        alone.append(flail(simulation, 60, seed))
        simulation.close()
    together = [Simulation() for _ in worlds]
    for simulation, world in zip(together, worlds, strict=True):
        simulation.reset(FLAT)  # and the later reset of one is none of the others
        simulation.reset(world)
    rngs = [np.random.default_rng(seed) for seed in range(3)]
    for step in range(60):
        for i, simulation in enumerate(together):
            simulation.step(NEUTRAL + rngs[i].uniform(-1.0, 1.0, 12))
            np.testing.assert_array_equal(readings(simulation), alone[i][step])
        if step == 30:
            other = Simulation()
            other.reset(WALLED)
            other.close()
    assert len({simulation.client_id for simulation in together}) == 3
    for simulation in together:
        simulation.close()


def test_a_robot_that_is_not_finite_is_built_anew(simulation):
    simulation.reset(FLAT)
    first = flail(simulation, 20, 0)
    pybullet.resetBaseVelocity(simulation._robot, (math.nan,) * 3, (0, 0, 0), simulation.client_id)
    simulation.step(NEUTRAL)
    assert not np.isfinite(simulation.position).all()
    simulation.reset(FLAT)
    np.testing.assert_array_equal(flail(simulation, 20, 0), first)


def resident_memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
def test_memory_does_not_grow_with_resets(simulation):
    rng = np.random.default_rng(0)
    for i, row in enumerate(rng.uniform(-1, 1, (350, 4))):
        if i == 50:
            before = resident_memory()
        simulation.reset(
            World(tuple(Block((k + 1.0, y, 0.3), (0.05, 0.5, 0.3)) for k, y in enumerate(row)))
        )
        simulation.step(NEUTRAL)
        simulation.reset(simulation._world)
        simulation.step(NEUTRAL)
    assert resident_memory() - before < 1.0


# Clients and processes


def is_connected(client):
    return pybullet.getConnectionInfo(client)["isConnected"] == 1


def test_a_client_is_made_by_the_first_reset_and_ended_by_close():
    simulation = Simulation()
    with pytest.raises(RuntimeError, match="call reset first"):
        _ = simulation.client_id
    simulation.reset(FLAT)
    client = simulation.client_id
    assert is_connected(client)
    first = flail(simulation, 5, 0)
    simulation.close()
    assert not is_connected(client)
    simulation.close()
    with pytest.raises(RuntimeError, match="call reset first"):
        simulation.step(NEUTRAL)
    with pytest.raises(RuntimeError, match="call reset first"):
        simulation.contacts()
    # Another that took its number is not ended by it.
    other = Simulation()
    other.reset(FLAT)
    simulation.close()
    assert is_connected(other.client_id)
    other.close()
    simulation.reset(FLAT)
    np.testing.assert_array_equal(flail(simulation, 5, 0), first)
    simulation.close()
    Simulation().close()


def test_a_forgotten_simulation_frees_its_client():
    simulation = Simulation()
    simulation.reset(FLAT)
    client = simulation.client_id
    del simulation
    gc.collect()
    assert not is_connected(client)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_simulation_is_refused(simulation):
    simulation.reset(FLAT)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest's may run here
        said = []
        for call in (lambda: simulation.step(NEUTRAL), lambda: simulation.reset(FLAT)):
            try:
                call()
            except RuntimeError as error:
                said.append(str(error))
        simulation.close()
        own = Simulation()
        own.reset(FLAT)
        own.step(NEUTRAL)
        os.write(writer, "\n".join(said).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        said = file.read().splitlines()
    assert os.waitpid(child, 0)[1] == 0
    assert len(said) == 2
    assert all("make one in each process" in line and str(child) in line for line in said)
    simulation.step(NEUTRAL)
    assert is_connected(simulation.client_id)


# What is refused


def test_the_stable_time_step_is_that_of_the_mass_matrix(simulation):
    """Of explicit PD control: the largest eigenvalue of M^-1 (D dt + P dt^2 / 2) is 2."""
    simulation.reset(FLAT)
    pose = NEUTRAL.tolist()
    matrix = np.array(
        pybullet.calculateMassMatrix(simulation._robot, pose, physicsClientId=simulation.client_id)
    )
    inverse = np.linalg.inv(matrix)[-12:, -12:]
    for kp, kd in ((100, (1, 2, 2)), (100, (2, 4, 4)), (220, (0.3, 2, 2)), (40, (0.5, 0.5, 0.5))):
        dt = stable_time_step(kp, kd)
        gains = np.diag(np.tile(kd, 4)) * dt + np.eye(12) * kp * dt**2 / 2
        assert np.linalg.eigvals(inverse @ gains).real.max() == pytest.approx(2.0, rel=0.03)
    assert stable_time_step(0.0, (0.0, 0.0, 0.0)) == math.inf
    assert stable_time_step(100, (1, 2, 2)) == pytest.approx(0.0035, abs=1e-5)


def test_the_robot_chatters_above_the_stable_time_step(monkeypatch):
    """The same walk moves the joints as fast at every stable step, and much faster above."""

    def speed(time_step):
        simulation = Simulation(time_step, round(0.01 / time_step))
        simulation.reset(FLAT)
        controller = PMTGController("trot")
        speeds = []
        for _ in range(300):
            simulation.step(controller.targets(np.zeros(16), simulation.control_dt))
            speeds.append(np.abs(simulation.joint_velocities).mean())
        simulation.close()
        return np.mean(speeds)

    slow = speed(0.00125)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert speed(0.01 / 3) == pytest.approx(slow, rel=0.1)
        monkeypatch.setattr("iap_gym.envs.quadruped.simulation.stable_time_step", lambda *_: 1.0)
        assert speed(0.005) > 1.5 * slow


def test_time_steps_are_refused_or_warned_of():
    with pytest.raises(ValueError, match=r"time_step: expected at most 0.003495 s, which kp=100"):
        Simulation(0.005)
    with pytest.raises(ValueError, match="time_step"):
        Simulation(kd=(2.0, 4.0, 4.0))
    with pytest.warns(UserWarning, match="time_step: gaits are tuned at 0.0025 s"):
        Simulation(0.003)
    Simulation(0.0025)
    Simulation(0.0005)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"time_step": 0.0}, "time_step"),
        ({"time_step": math.nan}, "time_step"),
        ({"action_repeat": 0}, "action_repeat"),
        ({"action_repeat": 2.5}, "action_repeat"),
        ({"kp": -1.0}, "kp"),
        ({"kd": (1.0, 2.0)}, "kd"),
        ({"kd": (1.0, -2.0, 2.0)}, "kd: expected three numbers >= 0"),
        ({"torque_limit": -1}, "torque_limit"),
        ({"torque_limit": 0}, "torque_limit: expected a finite number > 0, got 0"),
        ({"urdf": 3}, "urdf: expected a path, got 3"),
        ({"toe_friction": math.inf}, "toe_friction"),
    ],
)
def test_wrong_settings_are_named(settings, match):
    with pytest.raises(ValueError, match=match):
        Simulation(**settings)


def test_wrong_robots_are_named(tmp_path):
    path = tmp_path / "robot.urdf"
    with pytest.raises(FileNotFoundError, match=f"urdf.*{path}"):
        Simulation(urdf=path)
    path.write_text('<robot name="stone"><link name="stone"/></robot>')
    simulation = Simulation(urdf=path)
    with pytest.raises(ValueError, match=r"urdf: expected a robot.*without FR_hip_joint"):
        simulation.reset(FLAT)
    simulation.close()
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot>")
    simulation = Simulation(urdf=broken)
    with pytest.raises(ValueError, match="urdf: expected a URDF that PyBullet reads"):
        simulation.reset(FLAT)
    simulation.close()


@pytest.mark.parametrize(
    "targets", [np.zeros(11), np.zeros((12, 1)), np.full(12, np.nan), [math.inf] * 12, "a", None]
)
def test_wrong_targets_are_refused(simulation, targets):
    simulation.reset(FLAT)
    with pytest.raises(ValueError, match=r"targets: expected finite numbers of shape \(12,\)"):
        simulation.step(targets)


def test_wrong_resets_are_refused(simulation):
    for arguments, match in (
        ((None,), "world: expected a World"),
        ((FLAT, (0, 0)), "position"),
        ((FLAT, (0, 0, math.nan)), "position"),
        ((FLAT, (0, 0, 1), math.inf), "yaw"),
    ):
        with pytest.raises(ValueError, match=match):
            simulation.reset(*arguments)


# Walking


def walk(simulation, gait, seconds, turn=0.0, phase=0.0):
    """Walk on flat ground; return speed along x, path speed, yaw rate after 2 s, largest tilt."""
    simulation.reset(FLAT)
    controller = PMTGController(gait, turn=0.5)
    controller.reset(phase)
    action = np.zeros(16)
    action[3] = turn / 0.5
    path, yaws, tilt = 0.0, [], 0.0
    last = simulation.position
    for _ in range(round(seconds / simulation.control_dt)):
        simulation.step(controller.targets(action, simulation.control_dt))
        position = simulation.position
        path += math.dist(position[:2], last[:2])
        last = position
        roll, pitch, yaw = simulation.roll_pitch_yaw
        yaws.append(yaw)
        tilt = max(tilt, abs(roll), abs(pitch))
        assert position[2] > 0.2
    yaws = np.unwrap(yaws)
    yaw_rate = (yaws[-1] - yaws[199]) / (seconds - 2.0)
    return last[0] / seconds, path / seconds, yaw_rate, tilt


@pytest.mark.parametrize(("gait", "slowest", "fastest"), [("trot", 0.8, 1.0), ("walk", 0.35, 0.7)])
def test_presets_do_not_fall_in_a_minute(simulation, gait, slowest, fastest):
    forward, path, yaw_rate, tilt = walk(simulation, gait, 60.0)
    assert slowest < forward <= path < fastest
    assert abs(yaw_rate) < 0.03
    assert tilt < 0.25
    assert not simulation.contacts().body


@pytest.mark.parametrize(
    ("gait", "turn", "slower"),
    [("trot", 0.3, 0.1), ("trot", -0.3, 0.1), ("trot", 0.5, 0.1), ("walk", -0.3, 0.25)],
)
def test_a_turn_is_to_its_side_at_its_rate_and_costs_little_speed(simulation, gait, turn, slower):
    """The yaw rate is about 1.9 turn rad/s, of a trot up to 0.5, of a walk up to 0.3."""
    straight = walk(simulation, gait, 8.0)
    turning = walk(simulation, gait, 8.0, turn)
    assert turning[2] == pytest.approx(1.9 * turn, rel=0.25)
    assert turning[1] == pytest.approx(straight[1], rel=slower)
