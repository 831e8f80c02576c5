"""Against PyBullet: its rays, and its software renderer."""

import numpy as np
import pytest

from iap_gym.raycast import GROUND, NOTHING, Box, RayCaster, Scene, look_at
from tests.raycast.scenes import random_place, random_scene

bullet = pytest.importorskip("pybullet")


@pytest.fixture
def client():
    number = bullet.connect(bullet.DIRECT)
    yield number
    bullet.disconnect(number)


def build(scene, client, visual=False):
    """Return the index of a box, or GROUND, for each body."""
    of_body = {-1: NOTHING}
    for index, box in enumerate(scene.boxes):
        matrix = box.matrix
        collision = bullet.createCollisionShape(
            bullet.GEOM_BOX, halfExtents=box.half_extents, physicsClientId=client
        )
        shape = -1
        if visual:
            shape = bullet.createVisualShape(
                bullet.GEOM_BOX, halfExtents=box.half_extents, physicsClientId=client
            )
        body = bullet.createMultiBody(
            0, collision, shape, box.center, quaternion(matrix), physicsClientId=client
        )
        of_body[body] = index
    if scene.ground is not None:
        plane = bullet.createCollisionShape(bullet.GEOM_PLANE, physicsClientId=client)
        body = bullet.createMultiBody(
            0, plane, -1, (0, 0, scene.ground.height), physicsClientId=client
        )
        of_body[body] = GROUND
    return of_body


def quaternion(matrix):
    """(x, y, z, w), of eigenvectors."""
    k = np.zeros((4, 4))
    k[:3, :3] = matrix + matrix.T - np.eye(3) * np.trace(matrix)
    k[3, :3] = k[:3, 3] = [
        matrix[2, 1] - matrix[1, 2],
        matrix[0, 2] - matrix[2, 0],
        matrix[1, 0] - matrix[0, 1],
    ]
    k[3, 3] = np.trace(matrix)
    return np.linalg.eigh(k)[1][:, -1]


@pytest.mark.parametrize("backend", ["auto", "numpy"])
@pytest.mark.parametrize("seed", range(4))
def test_depth_and_ids_are_those_of_rays(seed, backend, client):
    rng = np.random.default_rng(seed)
    scene = random_scene(rng)
    of_body = build(scene, client)
    camera = RayCaster(scene, 40, 30, 75, far=9.0, backend=backend)
    half = np.tan(np.radians(75) / 2)
    left = half * 40 / 30 * (1 - 2 * (np.arange(40) + 0.5) / 40)
    up = half * (1 - 2 * (np.arange(30) + 0.5) / 30)
    seen = set()
    for _ in range(4):
        place, target = random_place(rng, scene), rng.uniform([-1, -1, 0.5], [1, 1, 1.5])
        rotation = look_at(place, target, rng.normal(size=3))
        rays = np.stack(np.broadcast_arrays(1.0, left, up[:, None]), -1).reshape(-1, 3) @ rotation.T
        found = bullet.rayTestBatch(
            [place.tolist()] * len(rays), (place + 9.0 * rays).tolist(), physicsClientId=client
        )
        frame = camera.render(place, rotation)
        ids = np.array([of_body[hit[0]] for hit in found]).reshape(30, 40)
        depth = 9.0 * np.array([hit[2] for hit in found]).reshape(30, 40)
        # Bullet meets boxes by iteration, and takes them for about 1e-3 larger at their edges.
        same = frame.ids == ids
        assert same.mean() > 0.995
        error = np.abs(frame.depth / depth - 1)[same]
        assert np.median(error) < 1e-7
        assert (error < 1e-6).mean() > 0.95
        assert error.max() < 0.03
        seen |= set(ids.ravel())
    assert len(seen) > 5


def course():
    walls = [
        Box((x, side * (0.8 + 0.2 * x) + shift, 0.3), (0.05, 0.2 * x, 0.3))
        for x, shift in ((2.0, 0.3), (4.2, -0.2), (6.4, 0.4))
        for side in (-1, 1)
    ]
    return Scene([Box((4, 0, -0.25), (6, 1.5, 0.25)), *walls])


@pytest.mark.parametrize(("size", "median"), [(32, 0.04), (128, 0.01)])
@pytest.mark.parametrize("kind", ["course", "random"])
def test_depth_is_that_of_the_software_renderer_to_a_pixel(size, median, kind, client):
    rng = np.random.default_rng(0)
    scene = course() if kind == "course" else random_scene(rng, ground=False)
    build(scene, client, visual=True)
    place = (0.3, 0.1, 0.35) if kind == "course" else (-6.0, 1.0, 2.5)
    target = (5.0, 0.0, 0.2) if kind == "course" else (0.0, 0.0, 1.0)
    near, far = 0.1, 12.0
    depth = RayCaster(scene, size, size, 60, near, far).depth(place, look_at(place, target))
    view = bullet.computeViewMatrix(place, target, (0, 0, 1))
    projection = bullet.computeProjectionMatrixFOV(60, 1, near, far)
    image = bullet.getCameraImage(
        size, size, view, projection, renderer=bullet.ER_TINY_RENDERER, physicsClientId=client
    )
    buffer = np.reshape(image[3], (size, size))
    theirs = far * near / (far - (far - near) * buffer)
    # It looks through the corners of pixels: the depths of a pixel and of those around.
    padded = np.pad(depth, 1, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
    low, high = windows.min((2, 3)), windows.max((2, 3))
    assert ((theirs >= low - 0.02) & (theirs <= high + 0.02)).mean() > 0.99
    hit = depth < far
    assert hit.sum() > 0.1 * size**2
    if kind == "course":
        assert np.median(np.abs(theirs - depth)[hit]) < median


def test_nothing_is_there_without_bodies(client):
    assert build(Scene(), client) == {-1: NOTHING}
