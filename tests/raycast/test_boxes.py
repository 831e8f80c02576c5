"""What is seen, where and how far, in closed form; on both backends."""

import threading

import numpy as np
import pytest

from iap_gym.raycast import (
    GROUND,
    NOTHING,
    Box,
    Ground,
    RayCaster,
    Scene,
    look_at,
    rotation_from_yaw_pitch,
)
from tests.raycast.scenes import random_place, random_rotation, random_scene

AHEAD = np.eye(3)
ORIGIN = np.zeros(3)


@pytest.fixture(params=["numba", "numpy"])
def caster(request):
    """Make casters of one backend."""
    if request.param == "numba":
        pytest.importorskip("numba")

    def make(*args, **options):
        return RayCaster(*args, backend=request.param, **options)

    return make


def tangents(pixels, fov):
    """Slopes of pixels from the left, or from above."""
    middles = (np.arange(pixels) + 0.5) / pixels
    return np.tan(np.radians(fov) / 2) * (1 - 2 * middles)


def test_a_wall_straight_ahead_has_one_depth(caster):
    camera = caster(Scene([Box((3.5, 0, 0), (0.5, 50, 50))]), 33, 17)
    for position, depth in (((0, 0, 0), 3), ((1, 7, -2), 2)):
        frame = camera.render(position, AHEAD)
        assert frame.depth.dtype == np.float32
        assert frame.ids.dtype == np.int32
        np.testing.assert_array_equal(frame.depth, np.full((17, 33), depth, np.float32))
        np.testing.assert_array_equal(frame.ids, 0)


@pytest.mark.parametrize("fov", [30, 60, 100])
def test_a_box_has_the_size_of_perspective(caster, fov):
    """Its front of 2 l by 2 h at depth d spans l H / (d tan(fov / 2)) columns."""
    depth, l, h, y, z = 4.0, 0.53, 0.31, 0.4, -0.2  # noqa: E741
    camera = caster(Scene([Box((depth + 0.01, y, z), (0.01, l, h))]), 160, 120, fov)
    ids = camera.render(ORIGIN, AHEAD).ids
    half_width = np.degrees(np.arctan(np.tan(np.radians(fov) / 2) * 160 / 120))
    columns = np.abs(depth * tangents(160, 2 * half_width) - y) <= l
    rows = np.abs(depth * tangents(120, fov) - z) <= h
    expected = l * 120 / (depth * np.tan(np.radians(fov) / 2))
    assert abs(columns.sum() - expected) <= 1
    np.testing.assert_array_equal(ids == 0, rows[:, None] & columns)


def test_the_ground_lies_at_the_depth_of_its_slope(caster):
    camera = caster(Scene(ground=Ground(-0.25)), 20, 40, far=5.0)
    frame = camera.render((3, 4, 0.5), rotation_from_yaw_pitch(0.7))
    with np.errstate(divide="ignore"):
        depth = 0.75 / -tangents(40, 60)
    depth = np.where((depth > 0) & (depth < 5), depth, 5)[:, None].repeat(20, 1)
    np.testing.assert_allclose(frame.depth, depth, rtol=1e-6)
    np.testing.assert_array_equal(frame.ids, np.where(depth < 5, GROUND, NOTHING))


def test_a_turned_wall_lies_in_its_plane(caster):
    """A face through p with the normal n has the depth n·(p - o) / n·d."""
    rotation = rotation_from_yaw_pitch(0.3, 0.2, 0.4)
    camera = caster(Scene([Box((4, 0.5, 0.2), (0.5, 60, 60), rotation)]), 31, 23)
    normal = -rotation[:, 0]
    point = np.array([4, 0.5, 0.2]) + 0.5 * normal
    position, view = np.array([0.1, 0.2, 0.3]), rotation_from_yaw_pitch(0.1, -0.1)
    left, up = np.meshgrid(
        tangents(31, 2 * np.degrees(np.arctan(31 / 23 / 3**0.5))), tangents(23, 60)
    )
    rays = np.stack([np.ones_like(left), left, up], -1) @ view.T
    depth = normal @ (point - position) / (rays @ normal)
    np.testing.assert_allclose(camera.depth(position, view), depth, rtol=1e-6)


def slabs(scene, position, rotation, left, up, far):
    """The textbook's test, ray by ray and plane by plane, in float64."""
    rays = np.stack(np.broadcast_arrays(1.0, left, up[:, None]), -1) @ rotation.T
    with np.errstate(divide="ignore"):
        depth = (scene.ground.height - position[2]) / rays[..., 2]
    depth[(depth <= 0) | (depth >= far)] = far
    ids = np.where(depth < far, GROUND, NOTHING)
    for index, box in enumerate(scene.boxes):
        origin, ray = (position - box.center) @ box.matrix, rays @ box.matrix
        planes = (np.multiply.outer([-1, 1], box.half_extents) - origin)[:, None, None] / ray
        first, last = planes.min(axis=0).max(axis=-1), planes.max(axis=0).min(axis=-1)
        hit = (first > 0) & (first <= last) & (first < depth)
        depth[hit], ids[hit] = first[hit], index
    return depth, ids


def test_it_sees_what_the_textbook_does(caster):
    rng = np.random.default_rng(0)
    for _ in range(10):
        scene = random_scene(rng)
        camera = caster(scene, 80, 50, 70, far=8.0)
        half = np.degrees(2 * np.arctan(np.tan(np.radians(35)) * 80 / 50))
        for _ in range(3):
            position, rotation = random_place(rng, scene), random_rotation(rng)
            depth, ids = slabs(scene, position, rotation, tangents(80, half), tangents(50, 70), 8.0)
            frame = camera.render(position, rotation)
            np.testing.assert_array_equal(frame.ids, ids)
            np.testing.assert_allclose(frame.depth, depth, rtol=1e-6)


def test_the_nearest_of_boxes_is_seen(caster):
    boxes = [Box((x, 0, 0), (0.1, 1, 1)) for x in (5, 3, 4)]
    frame = caster(Scene(boxes), 9, 9).render(ORIGIN, AHEAD)
    assert frame.ids[4, 4] == 1
    assert frame.depth[4, 4] == np.float32(2.9)


def test_of_equal_distances_the_first_box_is_seen_and_boxes_before_the_ground(caster):
    down = look_at((0.1, 0.2, 2), (0.1, 0.3, 0), (0, 1, 0))
    low, high = Box((0, 0, -1), (9, 9, 1)), Box((0, 0, -2), (8, 8, 2))
    for boxes in ([low, high], [high, low]):
        for place in ((0.1, 0.2, 2), (0.7, -0.4, 1.3)):
            ids = caster(Scene(boxes, Ground(0.0))).render(place, down).ids
            np.testing.assert_array_equal(ids, 0)


def test_what_is_nearer_than_near_or_farther_than_far_is_not_seen(caster):
    wall, behind = Box((2, 0, 0), (0.1, 50, 50)), Box((4, 0, 0), (0.1, 50, 50))
    ids = {
        (near, far): int(
            caster(Scene([wall, behind]), near=near, far=far).render(ORIGIN, AHEAD).ids[5, 5]
        )
        for near, far in ((0.1, 10), (1.8, 10), (2, 10), (2.2, 10), (0.1, 1.8), (2.2, 3.8))
    }
    assert list(ids.values()) == [0, 0, 1, 1, NOTHING, NOTHING]
    depth = caster(Scene([wall, behind]), far=1.8).depth(ORIGIN, AHEAD)
    np.testing.assert_array_equal(depth, np.float32(1.8))


def test_a_solid_is_not_seen_from_within_nor_the_ground_from_below(caster):
    scene = Scene([Box((0, 0, 0), (1, 1, 1)), Box((3, 0, 0), (1, 9, 9))], Ground(-0.5))
    frame = caster(scene).render((0, 0, -0.7), AHEAD)
    np.testing.assert_array_equal(frame.ids, 1)
    np.testing.assert_array_equal(frame.depth, 2)
    for on_the_face in ((1, 0, 0), (0, 1, 0)):
        assert caster(scene).render(on_the_face, AHEAD).ids[16, 16] == 1


def test_an_empty_scene_is_sky(caster):
    frame = caster(Scene(sky=(1, 2, 3)), 4, 5, far=7).render(ORIGIN, AHEAD)
    np.testing.assert_array_equal(frame.rgb, np.broadcast_to((1, 2, 3), (5, 4, 3)))
    np.testing.assert_array_equal(frame.depth, 7)
    np.testing.assert_array_equal(frame.ids, NOTHING)


def test_colors_and_depth_alone_are_those_of_all(caster):
    rng = np.random.default_rng(0)
    camera = caster(random_scene(rng), 50, 40)
    for _ in range(5):
        pose = rng.uniform(-2, 2, 3), rotation_from_yaw_pitch(*rng.uniform(-3, 3, 3))
        frame = camera.render(*pose)
        np.testing.assert_array_equal(camera.rgb(*pose), frame.rgb)
        np.testing.assert_array_equal(camera.depth(*pose), frame.depth)


def test_another_scene_may_be_set(caster):
    camera = caster(Scene([Box((3, 0, 0), (1, 9, 9))]))
    assert camera.depth(ORIGIN, AHEAD)[3, 3] == 2
    camera.scene = Scene([Box((4, 0, 0), (1, 9, 9))])
    assert camera.scene.boxes[0].center == (4, 0, 0)
    assert camera.depth(ORIGIN, AHEAD)[3, 3] == 3


def test_lists_and_single_precision_make_poses(caster):
    camera = caster(random_scene(np.random.default_rng(0)))
    rotation = rotation_from_yaw_pitch(0.3, 0.2)
    expected = camera.rgb(np.array([1.0, 0.5, 0.25]), rotation)
    np.testing.assert_array_equal(camera.rgb([1, 0.5, 0.25], rotation.tolist()), expected)
    strided = np.asfortranarray(np.repeat(rotation, 2, 0))[::2]
    np.testing.assert_array_equal(camera.rgb((1, 0.5, 0.25), strided), expected)
    camera.rgb(np.float32([1, 0.5, 0.25]), rotation.astype(np.float32))


def test_a_caster_may_be_used_by_threads(caster):
    rng = np.random.default_rng(0)
    camera = caster(random_scene(rng), 64, 64)
    poses = [(rng.uniform(-2, 2, 3), rotation_from_yaw_pitch(yaw)) for yaw in range(4)]
    expected = [camera.rgb(*pose) for pose in poses]
    wrong = []

    def work(index):
        wrong.extend(
            index
            for _ in range(20)
            if not np.array_equal(camera.rgb(*poses[index]), expected[index])
        )

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
