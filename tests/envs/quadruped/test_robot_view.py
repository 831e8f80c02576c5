"""The drawn robot against PyBullet's links in the simulation."""

import numpy as np
import pytest

from iap_gym.envs.quadruped import a1, robot_view
from iap_gym.envs.quadruped.obstacle_course import QuadrupedObstacleCourseEnv
from iap_gym.envs.quadruped.robot_view import (
    BoxRobot,
    MeshRobot,
    leg_segments,
    make_robot_view,
    robot_boxes,
)
from iap_gym.raycast import look_at

CAMERA = (160, 120, 40.0, 0.1, 10.0)


@pytest.fixture(scope="module")
def env():
    """After some random steps: no joint and no angle of the trunk is zero."""
    env = QuadrupedObstacleCourseEnv(camera=False)
    env.reset(seed=1)
    env.action_space.seed(0)
    for _ in range(30):
        env.step(env.action_space.sample())
    yield env
    env.close()


def links(env, client, body):
    import pybullet

    rows = [pybullet.getJointInfo(body, i, client) for i in range(21)]
    states = [pybullet.getLinkState(body, row[0], 0, True, client) for row in rows]
    return {row[12].decode(): state[4:6] for row, state in zip(rows, states, strict=True)}


def simulated_links(env):
    import pybullet

    client = env.mover.simulation.client_id
    return links(env, client, pybullet.getNumBodies(client) - 1)


def test_legs_are_where_bullet_has_them(env):
    pose, angles = env.mover.pose(), env.mover.joint_angles()
    wanted = simulated_links(env)
    for leg, joints in zip(a1.LEGS, angles.reshape(4, 3), strict=True):
        thigh, shank = leg_segments(leg, joints)
        for name, point in (("upper", thigh[0]), ("lower", shank[0]), ("toe", shank[1])):
            found = pose.position + pose.rotation @ point
            np.testing.assert_allclose(found, wanted[f"{leg}_{name}"][0], atol=2e-3)


def test_limbs_join_and_have_their_lengths(env):
    pose = env.mover.pose()
    trunk, *limbs = robot_boxes(pose, env.mover.joint_angles())
    assert trunk.center == pytest.approx(pose.position)
    assert len(limbs) == 8
    for thigh, shank in zip(limbs[::2], limbs[1::2], strict=True):
        ends = [
            np.array(box.center) + sign * box.matrix[:, 2] * box.half_extents[2]
            for box, sign in ((thigh, -1), (shank, 1))
        ]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
        assert (thigh.half_extents[2], shank.half_extents[2]) == pytest.approx((0.1, 0.1))


def test_meshes_take_the_pose_of_the_simulation(env):
    pose, angles = env.mover.pose(), env.mover.joint_angles()
    eye = pose.position + np.array((-1.2, 0.4, 0.7))
    drawn = MeshRobot(*CAMERA)
    drawn.see(eye, look_at(eye, pose.position), pose, angles)
    found = links(env, drawn._client.id, drawn._robot)
    for name, (position, quaternion) in simulated_links(env).items():
        np.testing.assert_allclose(found[name][0], position, atol=1e-5)
        assert abs(np.dot(found[name][1], quaternion)) == pytest.approx(1.0, abs=1e-6)
    drawn.close()


def test_meshes_and_boxes_are_seen_in_one_place(env):
    pose, angles = env.mover.pose(), env.mover.joint_angles()
    eye = pose.position + np.array((-1.2, 0.4, 0.7))
    axes = look_at(eye, pose.position)
    seen = []
    for kind in (MeshRobot, BoxRobot):
        drawn = kind(*CAMERA)
        colors, depth = drawn.see(eye, axes, pose, angles)
        assert colors.shape == (120, 160, 3)
        assert colors.dtype == np.uint8
        assert depth.shape == (120, 160)
        seen.append(depth)
        drawn.close()
    meshes, boxes = (depth < 9.9 for depth in seen)
    assert 0.5 < np.sum(meshes & boxes) / np.sum(meshes | boxes) < 1.0
    both = meshes & boxes
    assert np.median(np.abs(seen[0] - seen[1])[both]) < 0.05


def test_without_pybullet_there_are_boxes(monkeypatch):
    assert isinstance(make_robot_view(*CAMERA), MeshRobot)
    monkeypatch.setattr(robot_view.importlib.util, "find_spec", lambda name: None)
    assert isinstance(make_robot_view(*CAMERA), BoxRobot)
