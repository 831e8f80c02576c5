"""What can be looked at without being a scene of boxes."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from iap_gym.raycast import Scene


class Caster(Protocol):
    """A camera, such as a ``RayCaster`` or a ``MeshCaster``."""

    @property
    def scene(self) -> Scene:
        """What is seen; of the camera of a view, what is seen beside it. Another may be set."""
        ...

    @scene.setter
    def scene(self, scene: Scene) -> None: ...

    def rgb(self, position: Any, rotation: Any) -> NDArray[np.uint8]:
        """Return colours, (H, W, 3)."""
        ...

    def depth(self, position: Any, rotation: Any) -> NDArray[np.float32]:
        """Return depth along the optical axis, (H, W) m."""
        ...


@runtime_checkable
class View(Protocol):
    """Something that makes its own cameras, such as a mesh."""

    def make_caster(self, width: int, height: int, fov: float, near: float, far: float) -> Caster:
        """Return a camera; the arguments are those of ``RayCaster``."""
        ...
