import math

import numpy as np
import pytest

from iap_gym.envs.distracting_control.geometry import (
    look_upright,
    nearest,
    rotation_about,
    rotation_between,
    to_cartesian,
    to_spherical,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def is_rotation(matrix):
    return np.allclose(matrix @ matrix.T, np.eye(3)) and np.linalg.det(matrix) > 0


def test_spherical_coordinates_are_the_printed_formulas():
    x, y, z = 0.3, -1.2, 0.7
    radius, azimuth, polar = to_spherical(np.array([x, y, z]))
    assert radius == pytest.approx(math.sqrt(x**2 + y**2 + z**2))
    assert azimuth == pytest.approx(math.atan2(y, x))
    assert polar == pytest.approx(math.acos(z / radius))
    expected = radius * np.array(
        [
            math.sin(polar) * math.cos(azimuth),
            math.sin(polar) * math.sin(azimuth),
            math.cos(polar),
        ]
    )
    np.testing.assert_allclose(to_cartesian(np.array([radius, azimuth, polar])), expected)
    np.testing.assert_allclose(expected, [x, y, z])


def test_spherical_coordinates_round_trip(rng):
    for point in rng.normal(size=(100, 3)):
        np.testing.assert_allclose(to_cartesian(to_spherical(point)), point)


def test_nearest_names_the_same_point_within_half_a_turn(rng):
    for point, reference in zip(rng.normal(size=(200, 3)), rng.normal(0, 3, (200, 3)), strict=True):
        named = nearest(to_spherical(point), reference)
        np.testing.assert_allclose(to_cartesian(named), point, atol=1e-12)
        assert abs(named[1] - reference[1]) <= math.pi


def test_nearest_follows_a_walk_over_the_pole():
    before = np.array([1.0, 0.1, 0.02])
    after = to_spherical(to_cartesian(before) - np.array([0.05, 0.0, 0.0]))
    assert abs(after[1]) > 3  # the plain azimuth turned round
    named = nearest(after, before)
    assert abs(named[1] - before[1]) < 0.2
    assert named[2] < 0


def test_upright_rotation_looks_along_the_direction_with_a_level_horizon(rng):
    for direction in rng.normal(size=(50, 3)):
        rotation = look_upright(direction)
        assert is_rotation(rotation)
        np.testing.assert_allclose(-rotation[:, 2], direction / np.linalg.norm(direction))
        assert abs(rotation[2, 0]) < 1e-12
        assert rotation[2, 1] >= 0  # up is up


def test_upright_rotation_of_the_published_yaw_and_pitch():
    # The published no-roll form: Euler angles (pitch + pi/2, 0, -yaw) of the direction.
    direction = np.array([0.4, 1.1, -0.6])
    yaw = math.atan2(direction[0], direction[1])
    pitch = math.atan2(direction[2], math.hypot(direction[0], direction[1])) + math.pi / 2
    z, x = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    expected = rotation_about(z, -yaw) @ rotation_about(x, pitch)
    np.testing.assert_allclose(look_upright(direction), expected, atol=1e-12)


def test_rotation_between_turns_one_direction_into_the_other(rng):
    for start, end in rng.normal(size=(50, 2, 3)):
        rotation = rotation_between(start, end)
        assert is_rotation(rotation)
        np.testing.assert_allclose(
            rotation @ start / np.linalg.norm(start), end / np.linalg.norm(end)
        )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rotation_between_parallel_and_opposite_directions(sign):
    start = np.array([0.0, 0.0, -1.0])
    rotation = rotation_between(start, sign * start)
    assert is_rotation(rotation)
    np.testing.assert_allclose(rotation @ start, sign * start, atol=1e-12)


def test_rodrigues_formula():
    axis, angle = np.array([1.0, -2.0, 0.5]), 0.7
    unit = axis / np.linalg.norm(axis)
    k = np.column_stack([np.cross(unit, e) for e in np.eye(3)])
    expected = np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k
    rotation = rotation_about(axis, angle)
    np.testing.assert_allclose(rotation, expected)
    assert is_rotation(rotation)
    assert np.trace(rotation) == pytest.approx(1 + 2 * math.cos(angle))
