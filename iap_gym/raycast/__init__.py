"""Cameras that cast rays: at textured boxes by closed forms, at triangle meshes by Embree.

No graphics library is needed. numba (extra ``fast``) makes the camera of boxes fast; Embree (extra
``meshes``) is asked for when a :class:`MeshCaster` is made.
"""

from iap_gym.raycast.camera import GROUND, MESH, NOTHING, Frame
from iap_gym.raycast.caster import RayCaster
from iap_gym.raycast.geometry import look_at, rotation_from_yaw_pitch
from iap_gym.raycast.mesh import Mesh
from iap_gym.raycast.mesh_caster import MeshCaster
from iap_gym.raycast.scene import Box, Ground, Scene, Texture

__all__ = [
    "GROUND",
    "MESH",
    "NOTHING",
    "Box",
    "Frame",
    "Ground",
    "Mesh",
    "MeshCaster",
    "RayCaster",
    "Scene",
    "Texture",
    "look_at",
    "rotation_from_yaw_pitch",
]
