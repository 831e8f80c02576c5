"""Indoor scenes: procedural apartments, scanned meshes, and where a robot can walk in them."""

from iap_gym.envs.quadruped.scenes.apartment import Apartment, ApartmentLayout
from iap_gym.envs.quadruped.scenes.distance_field import DistanceField
from iap_gym.envs.quadruped.scenes.formats import SceneFiles, find_scene
from iap_gym.envs.quadruped.scenes.indoor import IndoorScene, MeshSettings, scene_source
from iap_gym.envs.quadruped.scenes.rectangle import Rectangle
from iap_gym.envs.quadruped.scenes.traversable import TraversableMap

__all__ = [
    "Apartment",
    "ApartmentLayout",
    "DistanceField",
    "IndoorScene",
    "MeshSettings",
    "Rectangle",
    "SceneFiles",
    "TraversableMap",
    "find_scene",
    "scene_source",
]
