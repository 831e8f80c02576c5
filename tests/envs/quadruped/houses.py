"""A house of two rooms, in each of the forms that scans come in."""

import numpy as np
import trimesh
from PIL import Image

HALF_X, HALF_Y, HEIGHT = 3.0, 2.0, 2.5  # m
DOOR = (0.5, 1.5)  # y
FLOOR = 0.1  # z
UUID = "0123456789abcdef0123456789abcdef"


def wall(start, stop, low=FLOOR, high=FLOOR + HEIGHT):
    """Return the corners of an upright sheet."""
    return [(*start, low), (*stop, low), (*stop, high), (*start, high)]


def quads(storeys=1):
    """Return the corners (K, 4, 3) of floors and walls, which have no thickness."""
    corners = []
    for storey in range(storeys):
        up = storey * 3.0
        low, high = FLOOR + up, FLOOR + HEIGHT + up
        x, y = HALF_X, HALF_Y
        corners += [
            [(-x, -y, low), (x, -y, low), (x, y, low), (-x, y, low)],
            wall((-x, -y), (x, -y), low, high),
            wall((x, -y), (x, y), low, high),
            wall((x, y), (-x, y), low, high),
            wall((-x, y), (-x, -y), low, high),
            wall((0.0, -y), (0.0, DOOR[0]), low, high),
            wall((0.0, DOOR[1]), (0.0, y), low, high),
            wall((0.0, DOOR[0]), (0.0, DOOR[1]), low + 2.0, high),
        ]
    return np.array(corners)


def house(storeys=1):
    """Return the house as triangles."""
    corners = quads(storeys)
    faces = np.arange(4 * len(corners)).reshape(-1, 4)
    triangles = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])
    return trimesh.Trimesh(corners.reshape(-1, 3), triangles, process=False)


def write_gibson(folder, storeys=1, floors=True, maps=True, downsampled=False):
    folder.mkdir(parents=True, exist_ok=True)
    house(storeys).export(folder / "mesh_z_up.obj")
    if downsampled:
        house(storeys).export(folder / "mesh_z_up_downsampled.obj")
    if floors:  # not in order, as some are published
        heights = [FLOOR + 3.0 * storey for storey in reversed(range(storeys))]
        (folder / "floors.txt").write_text("".join(f"{height}\n" for height in heights))
    if maps:
        for storey in range(storeys):
            free = np.zeros((800, 1000), np.uint8)
            rows, columns = np.indices(free.shape)
            y, x = (rows + 0.5) / 100 - 4.0, (columns + 0.5) / 100 - 5.0
            inside = (np.abs(x) < HALF_X) & (np.abs(y) < HALF_Y)
            partition = (np.abs(x) < 0.02) & ((y < DOOR[0]) | (y > DOOR[1]))
            free[inside & ~partition] = 255
            Image.fromarray(free).save(folder / f"floor_trav_{storey}.png")


def write_gibson_v1(folder):
    write_gibson(folder, floors=False, maps=False)
    (folder / "camera_poses.csv").write_text("0,0,0\n")


def write_replica(folder):
    """Quads with colours of vertices; floors are red, the rest is green."""
    folder.mkdir(parents=True, exist_ok=True)
    corners = quads()
    lines = [
        "ply",
        "format ascii 1.0",
        f"element vertex {4 * len(corners)}",
        *(f"property float {axis}" for axis in "xyz"),
        *(f"property uchar {color}" for color in ("red", "green", "blue")),
        f"element face {len(corners)}",
        "property list uchar int vertex_indices",
        "end_header",
    ]
    for index, quad in enumerate(corners):
        color = "200 0 0" if index == 0 else "0 200 0"
        lines += [f"{x} {y} {z} {color}" for x, y, z in quad]
    first = 4 * np.arange(len(corners))
    lines += [f"4 {i} {i + 1} {i + 2} {i + 3}" for i in first]
    (folder / "mesh.ply").write_text("\n".join(lines) + "\n")


def write_matterport(folder):
    """Two materials with a picture each: blue floors, yellow walls."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"mtllib {UUID}.mtl"]
    for quad in quads():
        lines += [f"v {x} {y} {z}" for x, y, z in quad]
    lines += ["vt 0 0", "vt 1 0", "vt 1 1", "vt 0 1"]
    for index in range(len(quads())):
        if index < 2:
            lines.append(f"usemtl material{index}")
        first = 4 * index + 1
        lines.append("f " + " ".join(f"{first + corner}/{corner + 1}" for corner in range(4)))
    (folder / f"{UUID}.obj").write_text("\n".join(lines) + "\n")
    materials = []
    for index, color in enumerate([(0, 0, 200), (200, 200, 0)]):
        name = f"{UUID}_{index:03d}.jpg"
        Image.new("RGB", (16, 16), color).save(folder / name, quality=95)
        materials += [f"newmtl material{index}", f"map_Kd {name}"]
    (folder / f"{UUID}.mtl").write_text("\n".join(materials) + "\n")


FORMS = {
    "gibson": write_gibson,
    "gibson_v1": write_gibson_v1,
    "replica": write_replica,
    "matterport": write_matterport,
}
