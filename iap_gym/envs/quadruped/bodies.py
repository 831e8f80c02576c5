"""The static bodies of a world in a PyBullet client."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from iap_gym.envs.quadruped.world import Vector, World

Quaternion = tuple[float, float, float, float]

FRICTION = 1.0  # lateral, of everything that stands; Bullet multiplies the two that touch
UPRIGHT: Quaternion = (0.0, 0.0, 0.0, 1.0)
# From a file's axes to the world's, by the file's axis that points up.
MESH_ROTATIONS: dict[str, Quaternion] = {
    "z": UPRIGHT,
    "y": (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)),
}


@dataclass(frozen=True)
class Bodies:
    """PyBullet's numbers of a world's bodies; -1 for one that the world has not."""

    boxes: tuple[int, ...]
    ground: int
    mesh: int


def build(bullet: Any, client: int, world: World) -> Bodies:
    """Build a world in a client that is empty.

    Args:
        bullet: the module pybullet.
        client: number of the client.
        world: what to build.

    Raises:
        ValueError: PyBullet makes no shape of the mesh, as of an empty file.
    """
    place = _Place(bullet, client)
    ground = mesh = -1
    if world.plane_height is not None:
        ground = place.body((0.0, 0.0, world.plane_height), UPRIGHT, bullet.GEOM_PLANE)
    if world.mesh is not None:
        mesh = _mesh(place, world)
        if ground >= 0:
            bullet.setCollisionFilterPair(ground, mesh, -1, -1, 0, client)
    boxes = tuple(
        place.body(
            block.center, block.quaternion, bullet.GEOM_BOX, halfExtents=list(block.half_extents)
        )
        for block in world.boxes
    )
    return Bodies(boxes, ground, mesh)


@dataclass(frozen=True)
class _Place:
    """Puts static bodies without a visual shape into a client: cameras of ours need none."""

    bullet: Any
    client: int

    def body(self, position: Vector, rotation: Sequence[float], kind: int, **shape: Any) -> int:
        p, client = self.bullet, self.client
        number = p.createCollisionShape(kind, physicsClientId=client, **shape)
        body = p.createMultiBody(0.0, number, -1, position, rotation, physicsClientId=client)
        p.changeDynamics(body, -1, lateralFriction=FRICTION, physicsClientId=client)
        return body


def _mesh(place: _Place, world: World) -> int:
    p = place.bullet
    try:
        return place.body(
            world.mesh_position,
            MESH_ROTATIONS[world.mesh_up],
            p.GEOM_MESH,
            fileName=world.mesh,
            meshScale=[world.mesh_scale] * 3,
            # Without this a house becomes its convex hull.
            flags=p.GEOM_FORCE_CONCAVE_TRIMESH,
        )
    except p.error as error:
        raise ValueError(
            f"mesh: expected a triangle mesh that PyBullet reads (.obj, .stl, .dae), with at least "
            f"one triangle, got {world.mesh}"
        ) from error
