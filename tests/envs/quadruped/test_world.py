"""Worlds: what their fields allow, boxes of the ray caster, rotations."""

import dataclasses
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from iap_gym.envs.quadruped.world import FLOOR_CLEARANCE, Block, World

pybullet = pytest.importorskip("pybullet")


def box(**fields):
    return SimpleNamespace(**{"center": [1, 2, 3], "half_extents": [0.1, 0.2, 0.3], **fields})


def test_boxes_of_any_kind_become_blocks():
    block = Block((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    worlds = [
        World([block]),
        World((box(),)),
        World((box(rotation=None),)),
        World((box(rotation=np.eye(3), center=np.array([1, 2, 3])),)),
        World((box(rotation=0.0),)),
    ]
    for world in worlds:
        assert world.boxes == (block,)
        assert world == worlds[0]
        assert hash(world) == hash(worlds[0])


def test_boxes_of_the_ray_caster_fit():
    raycast = pytest.importorskip("iap_gym.raycast")
    world = World((raycast.Box((1, 2, 3), (0.1, 0.2, 0.3), rotation=0.5),))
    assert world.boxes[0].center == (1.0, 2.0, 3.0)
    assert pybullet.getEulerFromQuaternion(world.boxes[0].quaternion)[2] == pytest.approx(0.5)


def test_a_rotation_is_the_same_to_bullet():
    rng = np.random.default_rng(0)
    matrices = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(20)]
    matrices = [matrix * np.sign(np.linalg.det(matrix)) for matrix in matrices]
    # Half turns, where formulas that divide by the trace's root fail.
    matrices += [np.diag(signs) for signs in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1])]
    for matrix in matrices:
        (block,) = World((box(rotation=matrix.tolist()),)).boxes
        found = pybullet.getMatrixFromQuaternion(block.quaternion)
        np.testing.assert_allclose(np.reshape(found, (3, 3)), matrix, atol=1e-9)


def test_worlds_that_differ_are_not_equal():
    worlds = [
        World(),
        World(ground_height=None),
        World(ground_height=-0.5),
        World((box(),)),
        World((box(rotation=1.0),)),
        World((box(), box())),
    ]
    for first, second in itertools.combinations(worlds, 2):
        assert first != second


def test_a_mesh_raises_the_ground(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text("")
    assert World(ground_height=0.5).plane_height == 0.5
    assert World(ground_height=0.5, mesh=path).plane_height == 0.5 + FLOOR_CLEARANCE
    assert World(ground_height=None, mesh=str(path)).plane_height is None
    assert World(mesh=path) == World(mesh=str(path))


def test_it_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        World().ground_height = 1.0


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"boxes": (3,)}, r"boxes\[0\]: expected a box with center and half_extents, got 3"),
        ({"boxes": 3}, "boxes: expected a sequence of boxes, got 3"),
        ({"boxes": (box(), box(half_extents=(1, 1, 0)))}, r"boxes\[1\].half_extents"),
        ({"boxes": (box(half_extents=(1, 1)),)}, r"boxes\[0\].half_extents"),
        ({"boxes": (box(center=(1, 1, np.nan)),)}, r"boxes\[0\].center"),
        ({"boxes": (box(rotation=2 * np.eye(3)),)}, r"boxes\[0\].rotation"),
        ({"boxes": (box(rotation=-np.eye(3)),)}, r"boxes\[0\].rotation"),
        ({"boxes": (box(rotation=np.inf),)}, r"boxes\[0\].rotation"),
        ({"boxes": (box(rotation=[1, 2]),)}, r"boxes\[0\].rotation"),
        ({"ground_height": np.nan}, "ground_height"),
        ({"ground_height": "low"}, "ground_height"),
        ({"mesh_up": "x"}, "mesh_up"),
        ({"mesh_scale": 0.0}, "mesh_scale"),
        ({"mesh_position": (0, 0)}, "mesh_position"),
    ],
)
def test_wrong_fields_are_named(fields, match):
    with pytest.raises(ValueError, match=match):
        World(**fields)


def test_an_absent_mesh_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"mesh.*house\.obj"):
        World(mesh=tmp_path / "house.obj")
