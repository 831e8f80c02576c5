"""A map of an episode against the layout that it was drawn from."""

import math

import numpy as np
import pytest

from iap_gym.envs.quadruped.floor_map import HEADROOM, floor_map
from iap_gym.envs.quadruped.navigation import QuadrupedNavigationEnv
from iap_gym.envs.quadruped.obstacle_course import QuadrupedObstacleCourseEnv
from iap_gym.envs.quadruped.world import World
from iap_gym.raycast import Box


@pytest.fixture(scope="module")
def course():
    env = QuadrupedObstacleCourseEnv(camera=False)
    env.reset(seed=2)
    for _ in range(5):
        env.step(np.zeros(16))
    yield env
    env.close()


def rectangle(corners):
    return (*corners.min(axis=0), *corners.max(axis=0))


def test_course_has_its_platform_and_the_gaps_of_its_layout(course):
    seen, layout = floor_map(course), course.layout
    platform, *walls = seen.footprints
    assert rectangle(platform.corners) == pytest.approx((-1.0, -1.5, layout.length, 1.5))
    assert platform.high == pytest.approx(0.0)
    assert seen.finish == layout.length
    assert len(walls) == 2 * len(layout.gap_centers)
    gaps = zip(walls[::2], walls[1::2], layout.gap_centers, layout.gap_widths, strict=True)
    for right, left, (x, y), width in gaps:
        assert (right.low, right.high) == pytest.approx((0.0, 0.6))
        assert rectangle(right.corners) == pytest.approx((x - 0.05, -1.5, x + 0.05, y - width / 2))
        assert rectangle(left.corners) == pytest.approx((x - 0.05, y + width / 2, x + 0.05, 1.5))
    assert seen.path.shape == (6, 3)
    assert seen.control_dt == 0.01
    assert seen.goal is seen.shortest is seen.grid is None


def test_turned_boxes_and_what_hangs_too_high(course):
    course.place = course.place.__class__(
        world=World(
            (
                Box((1.0, 2.0, 1.0), (2.0, 1.0, 0.2), math.pi / 6),
                Box((0.0, 0.0, 2.4), (1.0, 1.0, 0.1)),
            )
        ),
        scene=course.place.scene,
        position=(0.0, 0.0, 0.0),
        yaw=0.0,
        floor_height=0.25,
    )
    (box,) = floor_map(course).footprints
    ahead = np.array([math.sqrt(0.75), 0.5])
    left = np.array([-0.5, math.sqrt(0.75)])
    wanted = [
        np.array([1, 2]) + 2 * a * ahead + b * left for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    np.testing.assert_allclose(box.corners, wanted)
    assert (box.low, box.high) == pytest.approx((0.55, 0.95))
    assert box.low > HEADROOM


def test_apartment_has_its_doors_and_the_way_to_the_goal():
    env = QuadrupedNavigationEnv(camera=False)
    env.reset(seed=0)
    seen, task = floor_map(env), env.task
    np.testing.assert_array_equal(seen.goal, task.goal)
    lengths = np.linalg.norm(np.diff(seen.shortest, axis=0), axis=1)
    assert lengths.sum() == pytest.approx(task.shortest, abs=0.3)
    np.testing.assert_allclose(seen.shortest[0], seen.path[0, :2], atol=0.1)
    np.testing.assert_allclose(seen.shortest[-1], seen.goal, atol=0.1)
    # The way leads through nothing that stands in the way.
    for each in seen.footprints:
        if each.low < HEADROOM:
            left, bottom, right, top = rectangle(each.corners)
            x, y = seen.shortest.T
            assert not ((x > left) & (x < right) & (y > bottom) & (y < top)).any()
    assert seen.grid is None
    env.close()
