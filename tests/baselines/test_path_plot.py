"""Ways from above, read back from the picture."""

import numpy as np
import pytest
from PIL import Image

from iap_gym.baselines.experiments.path_plot import Walk, draw_path
from iap_gym.envs.quadruped.floor_map import FloorMap, Footprint, Grid


def rectangle(left, bottom, right, top, low=0.0, high=2.5):
    corners = np.array([(left, bottom), (right, bottom), (right, top), (left, top)], float)
    return Footprint(corners, low, high)


WAY = np.stack([np.linspace(0, 3, 301), np.zeros(301), np.zeros(301)], axis=1)
COURSE = FloorMap(
    WAY,
    0.01,
    (rectangle(-1, -1, 5, 1, -0.5, 0.0), rectangle(4, -1, 4.2, 0.5)),
    finish=4.8,
)
ROOM = FloorMap(
    WAY,
    0.01,
    (rectangle(-1, 1, 4, 4), rectangle(-1, -4, 4, -1, 0.7, 0.8)),
    goal=np.array([3.5, 0.5]),
    shortest=np.array([[0, 0], [3.5, 0.5]]),
)


def drawn(tmp_path, *floors):
    walks = [Walk(floor, f"episode {index}") for index, floor in enumerate(floors)]
    draw_path(walks, tmp_path / "path.png")
    return np.asarray(Image.open(tmp_path / "path.png").convert("RGB")).astype(int)


def near(picture, color, margin=12):
    return np.abs(picture - np.array(color)).max(axis=-1) < margin


BLUE, GREEN, RED = (31, 119, 180), (44, 160, 44), (214, 39, 40)


def test_course_shows_way_wall_and_finish(tmp_path):
    picture = drawn(tmp_path, COURSE)
    end = near(picture, RED)
    wall = near(picture, (round(0.2 * 255),) * 3, 3)
    panel = slice(0, int(0.75 * len(picture)))  # the legend is below
    ends = np.flatnonzero(end[panel].any(axis=0)).mean()
    walls = np.flatnonzero(wall[panel].sum(axis=0) > 40)
    finish = np.flatnonzero(near(picture, GREEN, 60)[panel].sum(axis=0) > 20)
    scale = (finish.mean() - ends) / 1.8  # pixels of a metre: from 3 to 4.8
    assert (walls.mean() - ends) / scale == pytest.approx(1.1, abs=0.05)
    assert len(walls) == pytest.approx(0.2 * scale, abs=3)


def test_room_shows_goal_and_shortest_way_and_outlines_what_is_walked_under(tmp_path):
    picture = drawn(tmp_path, ROOM)
    assert near(picture, GREEN).sum() > 100
    dark = near(picture, (round(0.2 * 255),) * 3, 3)
    assert dark.sum() > 0.1 * dark.size  # the one that stands is filled, the other is not
    assert dark[: len(dark) // 2].sum() > 0.95 * dark.sum()


def test_wide_maps_are_stacked_and_others_side_by_side(tmp_path):
    one, three = drawn(tmp_path, COURSE), drawn(tmp_path, COURSE, COURSE, COURSE)
    assert three.shape[1] == one.shape[1]
    assert 2.0 * len(one) < len(three) <= 3.0 * len(one)
    one, four = drawn(tmp_path, ROOM), drawn(tmp_path, *[ROOM] * 4)
    assert four.shape[1] == 3 * one.shape[1]
    assert 1.5 * len(one) < len(four) <= 2.0 * len(one)


def test_scene_without_boxes_shows_its_grid(tmp_path):
    free = np.ones((40, 60), bool)
    free[30:, :] = False  # y from 1 to 2
    grid = Grid(free, (-1.0, 5.0, -2.0, 2.0))
    picture = drawn(tmp_path, FloorMap(WAY, 0.01, (), grid=grid))
    blocked = near(picture, (85, 85, 85), 4)
    assert blocked.sum() > 0.08 * blocked.size
    assert np.flatnonzero(blocked.any(axis=1)).mean() < len(picture) / 2


def test_nothing_to_draw(tmp_path):
    with pytest.raises(ValueError, match="walks: expected at least one, got none"):
        draw_path([], tmp_path / "path.png")
