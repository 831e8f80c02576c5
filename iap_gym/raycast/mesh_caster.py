"""The camera of a triangle mesh, beside boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym._optional import need
from iap_gym.raycast.camera import MESH, Frame, checked_pose
from iap_gym.raycast.caster import RayCaster
from iap_gym.raycast.mesh import Floats, Hits, Mesh
from iap_gym.raycast.scene import GREY, Pixels, Scene


class MeshCaster:
    """A camera that sees a mesh of triangles, through Embree, and the boxes of a scene.

    Made and used as a :class:`RayCaster`; in ``ids`` the mesh is -3. Embree computes in float32:
    depths are exact to about 1e-6 of the largest coordinate.

    Args:
        mesh: what is to be seen. Its search tree is built when it is first seen, and shared by all
            casters of the mesh.
        width: of the picture, pixels.
        height: likewise.
        fov: vertical field of view, degrees in (0, 180).
        near: m along the optical axis, above 0; what is nearer is not seen.
        far: likewise, above ``near``; what is farther is not seen.
        scene: what else is there: boxes, the ground, the sky, and the light on a grey mesh.
        backend: for the boxes, as of :class:`RayCaster`.

    Raises:
        ValueError: no mesh, or as :class:`RayCaster` raises.
        gymnasium.error.DependencyNotInstalled: Embree (embreex, extra ``meshes``) is not installed.
    """

    def __init__(
        self,
        mesh: Mesh,
        width: int = 32,
        height: int = 32,
        fov: float = 60.0,
        near: float = 0.01,
        far: float = 10.0,
        scene: Scene | None = None,
        backend: str = "auto",
    ) -> None:
        need("meshes", "embreex")
        self.mesh = _checks.instance("mesh", mesh, Mesh, "a Mesh")
        rest = Scene() if scene is None else scene
        self._rest = RayCaster(rest, width, height, fov, near, far, backend)
        self.camera = self._rest.camera
        self._pixels = self.camera.rays

    @property
    def scene(self) -> Scene:
        """What is seen beside the mesh; another one may be set."""
        return self._rest.scene

    @scene.setter
    def scene(self, scene: Scene) -> None:
        self._rest.scene = scene

    def render(self, position: ArrayLike, rotation: ArrayLike) -> Frame:
        """Return colors, depth and ids.

        Args:
            position: (3,) of the camera in the world, m.
            rotation: (3, 3), its columns the camera's forward, left and up in the world.

        Raises:
            ValueError: another shape, numbers that are not finite, columns not orthonormal.
        """
        frame = self._rest.render(position, rotation)
        origins, directions = self._rays(position, rotation)
        hits = self.mesh.hits(origins, directions, self.camera.far - self.camera.near)
        depth = hits.distance + np.float32(self.camera.near)
        seen = (hits.face >= 0) & (depth <= frame.depth.ravel())
        colors = self._colors(hits.only(seen), directions[seen])
        frame.rgb.reshape(-1, 3)[seen] = colors
        frame.depth.ravel()[seen] = depth[seen]
        frame.ids.ravel()[seen] = MESH
        return frame

    def rgb(self, position: ArrayLike, rotation: ArrayLike) -> Pixels:
        """Return the colors alone, uint8 (H, W, 3), as :meth:`render` does."""
        return self.render(position, rotation).rgb

    def depth(self, position: ArrayLike, rotation: ArrayLike) -> NDArray[np.float32]:
        """Return the depth alone, float32 (H, W), as :meth:`render` does."""
        origins, directions = self._rays(position, rotation)
        near, far = self.camera.near, self.camera.far
        depth = self.mesh.distances(origins, directions, far - near)
        depth += np.float32(near)
        depth = depth.reshape(self.camera.height, self.camera.width)
        return np.minimum(depth, self._rest.depth(position, rotation), out=depth)

    def _rays(self, position: ArrayLike, rotation: ArrayLike) -> tuple[Floats, Floats]:
        """Return where rays start, ``near`` from the camera, and their directions, (n, 3)."""
        place, axes = checked_pose(position, rotation)
        forward, left, up = axes.T
        rows = (forward + self._pixels.up[:, None] * up).astype(np.float32)
        columns = (self._pixels.left[:, None] * left).astype(np.float32)
        directions = (rows[:, None] + columns).reshape(-1, 3)
        return place.astype(np.float32) + np.float32(self.camera.near) * directions, directions

    def _colors(self, hits: Hits, directions: Floats) -> Pixels:
        if not self.mesh.is_grey:
            return self.mesh.colors(hits)
        # The side that is seen, whichever way the triangle was wound.
        towards = np.where(np.einsum("ij,ij->i", hits.normal, directions) > 0, -1, 1)[:, None]
        normals = hits.normal * towards
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
        grey = self.scene.brightness(normals.astype(np.float64))[:, None] * np.array(GREY)
        return np.rint(grey).astype(np.uint8)
