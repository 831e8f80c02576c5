"""The numbers of the A1 against PyBullet's own reading of its URDF."""

import sys

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

from iap_gym.envs.quadruped import a1

pybullet = pytest.importorskip("pybullet")


@pytest.fixture(scope="module")
def robot():
    client = pybullet.connect(pybullet.DIRECT)
    body = pybullet.loadURDF(a1.urdf_path(), physicsClientId=client)
    yield client, body
    pybullet.disconnect(client)


def joints_of(robot):
    client, body = robot
    count = pybullet.getNumJoints(body, client)
    return [pybullet.getJointInfo(body, i, client) for i in range(count)]


def test_names_are_those_of_the_moving_joints_in_the_order_of_the_file(robot):
    moving = [row[1].decode() for row in joints_of(robot) if row[2] == pybullet.JOINT_REVOLUTE]
    assert tuple(moving) == a1.JOINT_NAMES
    links = {row[12].decode() for row in joints_of(robot)}
    assert links >= {*a1.TOE_NAMES, *a1.LOWER_LEG_NAMES}


def test_limits_masses_and_sizes(robot):
    client, body = robot
    rows = {row[1].decode(): row for row in joints_of(robot)}
    low = [rows[name][8] for name in a1.JOINT_NAMES]
    high = [rows[name][9] for name in a1.JOINT_NAMES]
    np.testing.assert_allclose(low, np.tile(a1.JOINT_LOW, 4))
    np.testing.assert_allclose(high, np.tile(a1.JOINT_HIGH, 4))
    links = range(-1, len(rows))
    mass = sum(pybullet.getDynamicsInfo(body, link, client)[0] for link in links)
    assert mass == pytest.approx(a1.MASS)
    (trunk,) = pybullet.getCollisionShapeData(body, -1, client)
    assert trunk[3] == pytest.approx(a1.TRUNK_SIZE)
    toe = rows["FR_toe_fixed"][0]
    ((*_, dimensions, _, _, _),) = pybullet.getCollisionShapeData(body, toe, client)
    assert dimensions[0] == pytest.approx(a1.TOE_RADIUS)


def test_links_of_a_straight_leg(robot):
    client, body = robot
    rows = {row[1].decode(): row for row in joints_of(robot)}
    for name in a1.JOINT_NAMES:
        pybullet.resetJointState(body, rows[name][0], 0.0, physicsClientId=client)
    for leg, front, side in zip(a1.LEGS, (1, 1, -1, -1), a1.OUTWARD, strict=True):
        toe = pybullet.getLinkState(body, rows[f"{leg}_toe_fixed"][0], physicsClientId=client)[4]
        x, y = a1.HIP_ORIGIN
        wanted = (front * x, side * (y + a1.HIP_OFFSET), -2 * a1.LINK_LENGTH)
        np.testing.assert_allclose(toe, wanted, atol=1e-6)


def test_an_absent_urdf_is_named(tmp_path):
    path = tmp_path / "robot.urdf"
    with pytest.raises(FileNotFoundError, match=str(path)):
        a1.urdf_path(path)
    with pytest.raises(FileNotFoundError, match="urdf"):
        a1.urdf_path(tmp_path)
    path.write_text("<robot/>")
    assert a1.urdf_path(path) == str(path)


def test_an_absent_pybullet_names_the_extra_and_the_python(monkeypatch):
    monkeypatch.setitem(sys.modules, "pybullet", None)  # what an absent module looks like

    with pytest.raises(DependencyNotInstalled, match=r"iap-gym\[quadruped\]") as error:
        a1.require_bullet()
    assert "wheels" not in str(error.value) or sys.version_info >= a1.NO_WHEELS

    monkeypatch.setattr(a1, "NO_WHEELS", (3, 0))
    with pytest.raises(DependencyNotInstalled, match=r"no wheels for Python 3\.\d+"):
        a1.require_bullet()
