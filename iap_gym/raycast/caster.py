"""The camera of a scene of boxes."""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym._compiled.availability import import_kernels
from iap_gym._optional import require
from iap_gym.raycast import plain
from iap_gym.raycast.camera import Camera, Frame, as_pose, checked_pose, pose_error
from iap_gym.raycast.packing import pack
from iap_gym.raycast.scene import Scene

BACKENDS = ("auto", "numba", "numpy")

# Pictures that are not asked for.
_NO_RGB = np.empty((0, 0, 3), np.uint8)
_NO_DEPTH = np.empty((0, 0), np.float32)
_NO_IDS = np.empty((0, 0), np.int32)


def compiled_calls() -> ModuleType | None:
    """Return ``compiled.kernels``; None without numba, of which ``import_kernels`` says more."""
    return import_kernels("iap_gym.raycast.compiled.kernels", "rays are cast by numpy")


class RayCaster:
    """A camera that sees textured boxes and the ground, without any graphics library.

    One ray through the middle of each pixel finds the nearest surface exactly; colors are those of
    the nearest texel. A solid in which a ray starts (``near`` from the camera) is not seen from
    within, and the ground not from below. A caster may be used by several threads at once.

    Args:
        scene: what is to be seen.
        width: of the picture, pixels, at most 8192.
        height: likewise.
        fov: vertical field of view, degrees in (0, 180).
        near: m along the optical axis, above 0; what is nearer is not seen.
        far: likewise, above ``near``; what is farther is not seen.
        backend: "numba" (extra ``fast``), "numpy", or "auto": numba where that is installed. Both
            see the same, up to rounding.

    Raises:
        ValueError: no scene, a size outside 1 to 8192, an angle outside (0, 180), ``near`` not
            below ``far``.
        gymnasium.error.DependencyNotInstalled: ``backend`` is "numba", which is not installed.
    """

    def __init__(
        self,
        scene: Scene,
        width: int = 32,
        height: int = 32,
        fov: float = 60.0,
        near: float = 0.01,
        far: float = 10.0,
        backend: str = "auto",
    ) -> None:
        self.camera = Camera(width, height, fov, near, far)
        self._rays = self.camera.rays
        self.backend: str = _checks.one_of("backend", backend, BACKENDS)
        if backend == "numba":
            require("numba", "fast")
        self.scene = scene

    @property
    def scene(self) -> Scene:
        """What is seen; another one may be set."""
        return self._scene

    @scene.setter
    def scene(self, scene: Scene) -> None:
        self._scene = _checks.instance("scene", scene, Scene, "a Scene")
        self._solids = pack(scene)

    def render(self, position: ArrayLike, rotation: ArrayLike) -> Frame:
        """Return colors, depth and ids.

        Args:
            position: (3,) of the camera in the world, m.
            rotation: (3, 3), its columns the camera's forward, left and up in the world.

        Raises:
            ValueError: another shape, numbers that are not finite, columns not orthonormal.
        """
        frame = Frame(self._rgb(), self._depth(), self._ids())
        if self._compiled(position, rotation, *frame):
            return frame
        return plain.cast_rays(self._solids, self._rays, *checked_pose(position, rotation))

    def rgb(self, position: ArrayLike, rotation: ArrayLike) -> NDArray[np.uint8]:
        """Return the colors alone, uint8 (H, W, 3), as :meth:`render` does."""
        rgb = self._rgb()
        if self._compiled(position, rotation, rgb, _NO_DEPTH, _NO_IDS):
            return rgb
        return self.render(position, rotation).rgb

    def depth(self, position: ArrayLike, rotation: ArrayLike) -> NDArray[np.float32]:
        """Return the depth alone, float32 (H, W), as :meth:`render` does."""
        depth = self._depth()
        if self._compiled(position, rotation, _NO_RGB, depth, _NO_IDS):
            return depth
        return self.render(position, rotation).depth

    def _rgb(self) -> NDArray[np.uint8]:
        return np.empty((self.camera.height, self.camera.width, 3), np.uint8)

    def _depth(self) -> NDArray[np.float32]:
        return np.empty((self.camera.height, self.camera.width), np.float32)

    def _ids(self) -> NDArray[np.int32]:
        return np.empty((self.camera.height, self.camera.width), np.int32)

    def _compiled(
        self,
        position: ArrayLike,
        rotation: ArrayLike,
        rgb: NDArray[np.uint8],
        depth: NDArray[np.float32],
        ids: NDArray[np.int32],
    ) -> bool:
        """Fill the arrays that have rows; False if numpy has to do it."""
        if self.backend == "numpy":
            return False
        kernels = compiled_calls()
        if kernels is None:
            return False
        place, directions = as_pose(position, rotation)
        if not kernels.render(self._solids, self._rays, place, directions, rgb, depth, ids):
            raise pose_error(place, directions)
        return True
