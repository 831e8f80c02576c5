"""A scanned scene as cameras and PyBullet see it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import weakref
from pathlib import Path

import numpy as np

from iap_gym.envs.quadruped.tiny import TinyRenderer
from iap_gym.raycast import Mesh, MeshCaster, Scene


class MeshFile:
    """A Wavefront file of a mesh's triangles in a folder of its own, which goes with this object.

    PyBullet takes meshes from files alone, and reads fewer forms than we do.

    Args:
        mesh: what is written.
        both_sides: whether each triangle is written a second time, wound the other way round.
    """

    def __init__(self, mesh: Mesh, both_sides: bool = False) -> None:
        folder = tempfile.mkdtemp(prefix="iap_gym-scene-")
        weakref.finalize(self, _remove, folder, os.getpid())
        self.path = Path(folder) / "mesh.obj"
        faces = mesh.faces + 1
        if both_sides:
            faces = np.concatenate([faces, faces[:, ::-1]])
        with self.path.open("w", encoding="ascii") as file:
            file.writelines(f"v {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in mesh.vertices.tolist())
            file.writelines(f"f {a} {b} {c}\n" for a, b, c in faces.tolist())


def _remove(folder: str, pid: int) -> None:
    # A forked process has the same object, but the folder is its parent's.
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


class MeshView:
    """What a camera sees of a scanned scene.

    Args:
        mesh: the scene.
        file: that physics reads; it lives as long as this view.
    """

    def __init__(self, mesh: Mesh, file: MeshFile) -> None:
        self.mesh = mesh
        self.file = file

    def make_caster(
        self, width: int, height: int, fov: float, near: float, far: float
    ) -> MeshCaster | TinyMeshRenderer:
        """Return a camera: by Embree, or by TinyRenderer (many times slower) where it is absent.

        Args:
            width: pixels.
            height: pixels.
            fov: vertical field of view, degrees.
            near: m.
            far: m.
        """
        if importlib.util.find_spec("embreex") is None:
            return TinyMeshRenderer(self.mesh, width, height, fov, near, far)
        return MeshCaster(self.mesh, width, height, fov, near, far)


class TinyMeshRenderer(TinyRenderer):
    """PyBullet's TinyRenderer on a mesh, in plain white; a ``TinyRenderer`` otherwise.

    Args:
        mesh: what is seen, from both sides.
        width: pixels.
        height: pixels.
        fov: vertical field of view, degrees.
        near: m.
        far: m.
    """

    def __init__(
        self, mesh: Mesh, width: int, height: int, fov: float, near: float, far: float
    ) -> None:
        # TinyRenderer leaves out triangles that show their back.
        self._file = MeshFile(mesh, both_sides=True)
        super().__init__(Scene(), width, height, fov, near, far)

    @property
    def scene(self) -> Scene:
        """What is seen beside the mesh; another one may be set."""
        return self._scene

    @scene.setter
    def scene(self, scene: Scene) -> None:
        TinyRenderer.scene.__set__(self, scene)
        p, client = self._bullet, self._client.id
        path = str(self._file.path)
        shape = p.createVisualShape(p.GEOM_MESH, fileName=path, physicsClientId=client)
        p.createMultiBody(0.0, -1, shape, physicsClientId=client)
