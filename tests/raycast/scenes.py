"""Scenes and poses that tests share."""

import numpy as np

from iap_gym.raycast import Box, Ground, Scene, Texture


def random_rotation(rng):
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q * np.linalg.det(q)


def random_textures(rng):
    picture = rng.integers(0, 256, (24, 18, 3), dtype=np.uint8)
    return {"one": picture, 2: Texture(rng.integers(0, 256, (5, 7, 3), dtype=np.uint8), 0.3)}


def random_scene(rng, boxes=10, ground=True):
    """Boxes turned all ways, with textures and colors."""
    surfaces = ["one", 2, (200, 100, 50)]
    return Scene(
        [
            Box(
                rng.uniform([-4, -4, 0], [4, 4, 2]),
                rng.uniform(0.1, 0.8, 3),
                random_rotation(rng) if index % 4 else rng.uniform(-3, 3),
                surfaces[index % 3],
            )
            for index in range(boxes)
        ],
        Ground(-0.1, "one") if ground else None,
        textures=random_textures(rng),
    )


def random_place(rng, scene):
    """A place outside all boxes."""
    while True:
        place = rng.uniform([-4, -4, 0], [4, 4, 2])
        within = [
            (np.abs((place - box.center) @ box.matrix) < np.add(box.half_extents, 0.05)).all()
            for box in scene.boxes
        ]
        if not any(within):
            return place
