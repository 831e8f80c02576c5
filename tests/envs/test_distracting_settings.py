import dataclasses
import math

import pytest

from iap_gym.envs.distracting_control.settings import (
    DIFFICULTIES,
    camera_settings,
    color_settings,
    distraction_settings,
    floor_alpha,
)


@pytest.mark.parametrize(
    ("difficulty", "scale", "num_clips"),
    [("easy", 0.1, 4), ("medium", 0.2, 8), ("hard", 0.3, None)],
)
def test_published_difficulties(difficulty, scale, num_clips):
    assert dataclasses.astuple(DIFFICULTIES[difficulty]) == (scale, num_clips)
    camera = camera_settings(scale, dynamic=True)
    assert camera.angle == camera.roll == pytest.approx(math.pi / 2 * scale)
    assert (camera.zoom_in, camera.zoom_out) == pytest.approx((0.5 * scale, 1.5 * scale))
    assert (camera.speed_std, camera.max_speed) == pytest.approx((0.1 * scale, 0.4 * scale))
    assert camera.roll_std == pytest.approx(math.pi / 300 * scale)
    assert camera.max_roll_speed == pytest.approx(math.pi / 50 * scale)
    color = color_settings(scale, dynamic=True)
    assert (color.delta, color.step_std) == pytest.approx((scale, 0.03 * scale))


def test_static_settings_do_not_move():
    camera = camera_settings(0.3, dynamic=False)
    assert camera.speed_std == camera.max_speed == camera.roll_std == camera.max_roll_speed == 0
    assert color_settings(0.3, dynamic=False).step_std == 0


def test_floors_of_the_published_six_and_of_the_others():
    alphas = {
        domain: floor_alpha(domain)
        for domain in ("reacher", "walker", "cheetah", "cartpole", "finger", "ball_in_cup", "dog")
    }
    assert alphas == {
        "reacher": 0.0,
        "walker": 1.0,
        "cheetah": 1.0,
        "cartpole": 0.3,
        "finger": 0.3,
        "ball_in_cup": 0.3,
        "dog": 0.3,
    }


def test_settings_in_force_name_only_what_is_on():
    common = {"dynamic": False, "split": "train", "clips": ("a",), "background_alpha": 1.0}
    plain = distraction_settings("walker", None, distractions=("camera", "color"), **common)
    assert (plain.background, plain.camera, plain.color) == (None, None, None)
    one = distraction_settings("walker", "easy", distractions=("camera",), **common)
    assert one.camera == camera_settings(0.1, False)
    assert (one.background, one.color) == (None, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.split = "val"
