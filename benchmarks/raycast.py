r"""Speed of the cameras that cast rays against PyBullet's.

Colors and depth of ten boxes, as in an obstacle course, seen from the nose of the A1: our camera,
PyBullet's TinyRenderer with the robot as it is usually loaded, with its meshes, and without them
(``URDF_IGNORE_VISUAL_SHAPES``), and Bullet's rays (depth alone). And depth in pybullet_data's
temple of 125,000 triangles: Embree against TinyRenderer. All ways run in this one process, on one
thread, in turn, round after round; each counts with the shortest of its runs. That all see the same
is checked first.

    python benchmarks/raycast.py --out benchmarks/results/raycast.json
"""

from __future__ import annotations

import argparse
import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pybullet_data
import trimesh
from _common import circumstances, keep_freed_memory, shortest
from numpy.typing import NDArray

from iap_gym import _files
from iap_gym.raycast import Box, Mesh, MeshCaster, RayCaster, Scene, look_at

LONGEST_BATCH = 8192  # of rays that Bullet takes at once; 16384 are too many
SIZES = (32, 64, 128)
FOV, NEAR, FAR = 60.0, 0.01, 10.0
PLACE, TARGET = (0.29, 0.02, 0.33), (5.0, 0.3, 0.25)
MESH_SIZE, MESH_FAR = 64, 50.0
MESH_PLACE, MESH_TARGET = (0.0, 0.0, 5.0), (9.5, 3.0, 4.5)

OURS, USUAL = "ours, numba", "TinyRenderer, A1 with meshes"
EMBREE, TINY = "ours, Embree", "TinyRenderer"
# At a size, how many times as fast as TinyRenderer.
ASKED = {32: 200, 128: 25}
ASKED_OF_MESH = 20

Way = Callable[[], object]


def course() -> Scene:
    """Return a platform, four walls with a gap each, and a wall at the end: ten boxes."""
    boxes = [Box((4.5, 0.0, -0.25), (6.0, 1.5, 0.25), texture=(150, 150, 140))]
    for index, gap in enumerate((0.4, -0.6, 0.7, -0.2)):
        x = 2.0 + 2.2 * index
        for low, high in ((-1.5, gap - 0.5), (gap + 0.5, 1.5)):
            center = (x, (low + high) / 2, 0.3)
            boxes.append(Box(center, (0.05, (high - low) / 2, 0.3), texture=(190, 80, 60)))
    boxes.append(Box((10.4, 0.0, 0.3), (0.05, 1.5, 0.3), texture=(60, 80, 190)))
    return Scene(boxes)


def in_bullet(scene: Scene, flags: int | None) -> int:
    """Return a client with the boxes and, unless flags are None, the robot."""
    client = pybullet.connect(pybullet.DIRECT)
    for box in scene.boxes:
        shape = {"halfExtents": box.half_extents, "physicsClientId": client}
        collision = pybullet.createCollisionShape(pybullet.GEOM_BOX, **shape)
        visual = pybullet.createVisualShape(pybullet.GEOM_BOX, **shape)
        pybullet.createMultiBody(0, collision, visual, box.center, physicsClientId=client)
    if flags is not None:
        urdf = os.path.join(pybullet_data.getDataPath(), "a1", "a1.urdf")
        pybullet.loadURDF(urdf, (0, 0, 0.3), flags=flags, physicsClientId=client)
    return client


def image(client: int, size: int, place: Any, target: Any, far: float) -> Any:
    """Return a picture by TinyRenderer."""
    view = pybullet.computeViewMatrix(place, target, (0, 0, 1))
    projection = pybullet.computeProjectionMatrixFOV(FOV, 1, NEAR, far)
    return pybullet.getCameraImage(
        size, size, view, projection, renderer=pybullet.ER_TINY_RENDERER, physicsClientId=client
    )


def depth_of(picture: Any, far: float) -> NDArray[np.float64]:
    """Return the depth of a picture by TinyRenderer, m."""
    buffer = np.reshape(picture[3], (picture[1], picture[0]))
    return far * NEAR / (far - (far - NEAR) * buffer)


def rays(caster: RayCaster, client: int) -> Callable[[], NDArray[np.float64]]:
    """Return depth by Bullet's rays; their ends are computed once."""
    pixels, axes = caster.camera.rays, look_at(PLACE, TARGET)
    directions = np.stack(np.broadcast_arrays(1.0, pixels.left, pixels.up[:, None]), -1) @ axes.T
    ends = (np.array(PLACE) + FAR * directions).reshape(-1, 3).tolist()
    batches = [ends[start : start + LONGEST_BATCH] for start in range(0, len(ends), LONGEST_BATCH)]
    starts = [PLACE] * LONGEST_BATCH

    def cast() -> NDArray[np.float64]:
        found = [
            pybullet.rayTestBatch(starts[: len(batch)], batch, physicsClientId=client)
            for batch in batches
        ]
        depth = [FAR * hit[2] for batch in found for hit in batch]
        return np.array(depth).reshape(len(pixels.up), -1)

    return cast


def verify(name: str, found: NDArray[Any], wanted: NDArray[Any]) -> None:
    """Fail if depths are not those of our pixel or of one beside it."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(wanted, 1, mode="edge"), (3, 3))
    low, high = 0.99 * windows.min((2, 3)) - 0.02, 1.01 * windows.max((2, 3)) + 0.02
    share = float(((found >= low) & (found <= high)).mean())
    if share < 0.97:
        raise RuntimeError(f"{name}: the depth of {1 - share:.1%} of the pixels is another")


def ways_to_see_boxes(size: int, clients: dict[str, int]) -> dict[str, Way]:
    """Return ways to see the course."""
    scene, axes = course(), look_at(PLACE, TARGET)
    ways: dict[str, Way] = {}
    plain = RayCaster(scene, size, size, FOV, NEAR, FAR, "numpy")
    caster = RayCaster(scene, size, size, FOV, NEAR, FAR, "numba")
    ways[OURS] = functools.partial(caster.render, PLACE, axes)
    ways["ours, numba, colors alone"] = functools.partial(caster.rgb, PLACE, axes)
    ways["ours, numba, depth alone"] = functools.partial(caster.depth, PLACE, axes)
    ways["ours, numpy"] = functools.partial(plain.render, PLACE, axes)
    wanted = caster.depth(PLACE, axes)
    verify(f"numpy, {size}", plain.depth(PLACE, axes), wanted)
    for name, client in clients.items():
        picture = image(client, size, PLACE, TARGET, FAR)
        verify(f"{name}, {size}", depth_of(picture, FAR), wanted)
        ways[name] = functools.partial(image, client, size, PLACE, TARGET, FAR)
    by_rays = rays(caster, clients[USUAL])
    verify(f"rays, {size}", by_rays(), wanted)
    ways["Bullet's rays, depth alone"] = by_rays
    return ways


def ways_to_see_the_temple() -> dict[str, Way]:
    """Return ways to see the depth of the mesh scene, which is turned to have z up."""
    path = os.path.join(pybullet_data.getDataPath(), "samurai_monastry.obj")
    loaded: Any = trimesh.load(path, force="mesh", process=False)
    z_up = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    caster = MeshCaster(
        Mesh(loaded.vertices @ z_up.T, loaded.faces), MESH_SIZE, MESH_SIZE, FOV, NEAR, MESH_FAR
    )
    client = pybullet.connect(pybullet.DIRECT)
    visual = pybullet.createVisualShape(pybullet.GEOM_MESH, fileName=path, physicsClientId=client)
    half = np.sqrt(0.5)
    pybullet.createMultiBody(0, -1, visual, (0, 0, 0), (half, 0, 0, half), physicsClientId=client)
    axes = look_at(MESH_PLACE, MESH_TARGET)
    picture = image(client, MESH_SIZE, MESH_PLACE, MESH_TARGET, MESH_FAR)
    verify("temple", depth_of(picture, MESH_FAR), caster.depth(MESH_PLACE, axes))
    return {
        EMBREE: functools.partial(caster.depth, MESH_PLACE, axes),
        TINY: functools.partial(image, client, MESH_SIZE, MESH_PLACE, MESH_TARGET, MESH_FAR),
    }


def measure(ways: dict[str, Way], ours: str, rounds: int, seconds: float) -> dict[str, Any]:
    """Measure ways, print and return what came out."""
    times, runs = shortest(ways, rounds, seconds)
    for name, value in times.items():
        ratio = value / times[ours]
        print(
            f"  {name:32s} {1e3 * value:9.4f} ms {1 / value:9.0f}/s {ratio:8.2f}, of {runs[name]}"
        )
    return {
        "milliseconds": {name: round(1e3 * value, 4) for name, value in times.items()},
        "frames_per_second": {name: round(1 / value) for name, value in times.items()},
        "ours_times_as_fast": {
            name: round(value / times[ours], 2) for name, value in times.items()
        },
        "runs": runs,
    }


def main() -> None:
    """Measure, print the ratios, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each way in each round")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()

    keep_freed_memory()
    load = os.getloadavg()[0]
    scene = course()
    clients = {
        USUAL: in_bullet(scene, 0),
        "TinyRenderer, A1 without": in_bullet(scene, pybullet.URDF_IGNORE_VISUAL_SHAPES),
    }
    results: dict[str, Any] = {}
    for size in SIZES:
        print(f"ten boxes, {size} x {size}")
        found = measure(ways_to_see_boxes(size, clients), OURS, options.rounds, options.seconds)
        results[f"ten boxes, {size} x {size}"] = found
        if size in ASKED:
            found["asked"] = {USUAL: ASKED[size]}
            print(f"  asked {ASKED[size]}, found {found['ours_times_as_fast'][USUAL]}")
    name = f"temple, depth, {MESH_SIZE} x {MESH_SIZE}"
    print(name)
    found = measure(ways_to_see_the_temple(), EMBREE, options.rounds, options.seconds)
    results[name] = found | {"asked": {TINY: ASKED_OF_MESH}}
    print(f"  asked {ASKED_OF_MESH}, found {found['ours_times_as_fast'][TINY]}")
    if options.out:
        where = circumstances(("numba", "llvmlite", "numpy", "pybullet", "embreex"), load)
        _files.write_text(options.out, json.dumps(where | {"results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
