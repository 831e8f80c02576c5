"""PyBullet's TinyRenderer on a scene of boxes, in a physics client of its own: no OpenGL, slow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped.a1 import require_bullet
from iap_gym.envs.quadruped.client import Client
from iap_gym.envs.quadruped.world import Block
from iap_gym.raycast import Box, Scene

_GROUND_SIDE = 200.0  # m
_GROUND_DEPTH = 0.1  # m


class TinyRenderer:
    """A camera with the interface of ``RayCaster`` that draws with PyBullet's TinyRenderer.

    It is there to compare with. It draws plain colours alone, lights them in its own way, and has
    a white sky. The scene has a client of its own, so that looking never changes any physics.

    Args:
        scene: what to look at.
        width: pixels.
        height: pixels.
        fov: vertical field of view, degrees.
        near: m.
        far: m.

    Raises:
        ValueError: a scene with textures.
    """

    def __init__(
        self, scene: Scene, width: int, height: int, fov: float, near: float, far: float
    ) -> None:
        self._size = (width, height)
        self._near, self._far = near, far
        self._bullet: Any = require_bullet()
        self._projection = self._bullet.computeProjectionMatrixFOV(fov, width / height, near, far)
        self._client = Client(self._bullet, "the renderer")
        self.scene = scene

    @property
    def scene(self) -> Scene:
        """What it looks at; setting it takes another."""
        return self._scene

    @scene.setter
    def scene(self, scene: Scene) -> None:
        if scene.textures:
            wanted = 'a scene of plain colours for the renderer "tiny"'
            raise _checks.refuse("scene", wanted, _checks.Words(f"textures {list(scene.textures)}"))
        self._bullet.resetSimulation(physicsClientId=self._client.id)
        self._scene = scene
        for box in scene.boxes:
            self._add(box)
        if scene.ground is not None:
            center = (0.0, 0.0, scene.ground.height - _GROUND_DEPTH)
            half_extents = (_GROUND_SIDE / 2, _GROUND_SIDE / 2, _GROUND_DEPTH)
            self._add(Box(center, half_extents, texture=scene.ground.texture))

    def rgb(self, position: ArrayLike, rotation: ArrayLike) -> NDArray[np.uint8]:
        """Return colours, uint8 (H, W, 3); position and rotation are those of ``RayCaster``."""
        return np.ascontiguousarray(self._image(position, rotation)[0][..., :3])

    def depth(self, position: ArrayLike, rotation: ArrayLike) -> NDArray[np.float32]:
        """Return depth along the view, float32 (H, W), m; ``far`` where nothing is."""
        return self._meters(self._image(position, rotation)[1])

    def close(self) -> None:
        """End the client; again is nothing."""
        self._client.close()

    def _meters(self, buffer: NDArray[Any]) -> NDArray[np.float32]:
        near, far = self._near, self._far
        return (far * near / (far - (far - near) * buffer)).astype(np.float32)

    def _add(self, box: Box) -> None:
        p, client = self._bullet, self._client.id
        color = [*(channel / 255 for channel in box.texture), 1.0]  # pyright: ignore
        shape = p.createVisualShape(
            p.GEOM_BOX,
            halfExtents=box.half_extents,
            rgbaColor=color,
            physicsClientId=client,
        )
        block = Block.of("box", box)
        p.createMultiBody(0.0, -1, shape, block.center, block.quaternion, physicsClientId=client)

    def _image(self, position: ArrayLike, rotation: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        p, client = self._bullet, self._client.id
        eye, axes = np.asarray(position, np.float64), np.asarray(rotation, np.float64)
        view = p.computeViewMatrix(eye.tolist(), (eye + axes[:, 0]).tolist(), axes[:, 2].tolist())
        width, height = self._size
        _, _, colors, depth, _ = p.getCameraImage(
            width,
            height,
            view,
            self._projection,
            shadow=0,
            renderer=p.ER_TINY_RENDERER,
            flags=p.ER_NO_SEGMENTATION_MASK,
            physicsClientId=client,
        )
        shape = (height, width)
        return (
            np.asarray(colors, np.uint8).reshape(*shape, 4),
            np.asarray(depth, np.float64).reshape(shape),
        )
