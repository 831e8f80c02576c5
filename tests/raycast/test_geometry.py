"""Rotations of cameras."""

import numpy as np
import pytest

from iap_gym.raycast import look_at, rotation_from_yaw_pitch

X, Y, Z = np.eye(3)


def about(axis, angle):
    """Rodrigues' formula."""
    cross = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def test_yaw_is_to_the_left_pitch_downwards_and_roll_clockwise():
    np.testing.assert_allclose(rotation_from_yaw_pitch(np.pi / 2)[:, 0], Y, atol=1e-15)
    np.testing.assert_allclose(rotation_from_yaw_pitch(0, np.pi / 2)[:, 0], -Z, atol=1e-15)
    np.testing.assert_allclose(rotation_from_yaw_pitch(0, 0, np.pi / 2)[:, 1], Z, atol=1e-15)


def test_the_rotation_is_the_product_of_three():
    for yaw, pitch, roll in np.random.default_rng(0).uniform(-3, 3, (20, 3)):
        expected = about(Z, yaw) @ about(Y, pitch) @ about(X, roll)
        np.testing.assert_allclose(
            rotation_from_yaw_pitch(yaw, pitch, roll), expected, rtol=0, atol=1e-14
        )


@pytest.mark.parametrize("name", ["yaw", "pitch", "roll"])
def test_an_angle_is_finite(name):
    with pytest.raises(ValueError, match=f"^{name}: expected a finite number, got nan"):
        rotation_from_yaw_pitch(**{"yaw": 0.0, name: float("nan")})


def test_look_at_looks_there_with_up_above():
    rng = np.random.default_rng(0)
    for _ in range(20):
        position, target, up = rng.normal(size=(3, 3))
        rotation = look_at(position, target, up)
        np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-12)
        assert np.linalg.det(rotation) > 0
        along = rotation.T @ (target - position)
        np.testing.assert_allclose(along, [np.linalg.norm(target - position), 0, 0], atol=1e-12)
        assert rotation.T[2] @ up > 0
        assert abs(rotation.T[1] @ up) < 1e-12


def test_look_at_refuses_what_has_no_direction():
    with pytest.raises(ValueError, match="target: expected a point other than the position"):
        look_at((1, 2, 3), (1, 2, 3))
    with pytest.raises(ValueError, match="up: expected a direction other than the view"):
        look_at((0, 0, 0), (0, 0, 2))


@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize("value", [(0, 0, np.nan), (0, 1e10, 0), (1, 2), "there", None, (1j, 0, 0)])
def test_look_at_names_what_is_no_point(index, value):
    arguments = [(0, 0, 0), (1, 2, 3), (0, 0, 1)]
    arguments[index] = value
    name = ("position", "target", "up")[index]
    with pytest.raises(ValueError, match=f"^{name}: expected finite numbers of"):
        look_at(*arguments)
