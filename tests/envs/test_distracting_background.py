from types import SimpleNamespace

import numpy as np
import pytest

from iap_gym.envs.distracting_control.background import (
    BackgroundDistraction,
    Sky,
    blend,
    reflect,
)


class FlatClip:
    def __init__(self, name, count):
        self.name, self._count = name, count

    def __len__(self):
        return self._count

    def texture(self, index, size):
        return np.full((size, size, 3), 100 + index, np.uint8)


class Uploads(list):
    texture_changed = list.append


def model(width=8, skybox=True):
    """A model with another texture, then a sky of six faces of ``width`` pixels, grey 40."""
    first = 5 * 5 * 3
    data = np.concatenate([np.full(first, 7, np.uint8), np.full(6 * width**2 * 3, 40, np.uint8)])
    return SimpleNamespace(
        tex_type=np.array([0, 2 if skybox else 1]),
        tex_width=np.array([5, width]),
        tex_height=np.array([5, 6 * width]),
        tex_adr=np.array([0, first]),
        tex_data=data,
    )


def test_blend_is_the_printed_mean():
    picture, sky = np.array([[10, 200]], np.uint8), np.array([[110, 100]], np.uint8)
    np.testing.assert_array_equal(blend(picture, sky, 0.25), [[85, 125]])
    np.testing.assert_array_equal(blend(picture, sky, 0.0), sky)
    np.testing.assert_array_equal(blend(picture, sky, 1.0), picture)


def test_reflect_goes_back_and_forth_over_every_frame():
    frame, direction, seen = 2, 1, []
    for _ in range(12):
        frame, direction = reflect(frame, direction, 4)
        seen.append(frame)
    assert seen == [3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2]
    assert reflect(0, 1, 1) == (0, 1)


def test_draws_are_uniform_over_clips_and_frames():
    clips = [FlatClip("a", 2), FlatClip("b", 5), FlatClip("c", 3)]
    background, rng = BackgroundDistraction(clips, dynamic=True), np.random.default_rng(0)
    counts = {}
    for _ in range(6000):
        background.reset(rng)
        key = background.clip.name, background.frame, background._direction
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 2 * (2 + 5 + 3)
    for (name, _, _), count in counts.items():
        share = 1 / 3 / {"a": 2, "b": 5, "c": 3}[name] / 2
        assert abs(count / 6000 - share) < 5 * (share / 6000) ** 0.5


def test_static_keeps_its_frame_and_dynamic_moves_by_one():
    for dynamic in (False, True):
        background = BackgroundDistraction([FlatClip("a", 30)], dynamic)
        background.reset(np.random.default_rng(1))
        frames = [background.frame]
        for _ in range(100):
            background.advance()
            frames.append(background.frame)
        steps = set(np.abs(np.diff(frames)))
        assert steps == ({1} if dynamic else {0})


def test_sky_takes_one_square_picture_and_leaves_other_textures():
    fake, uploads = model(), Uploads()
    sky = Sky(fake, 1.0, uploads)
    sky.show(FlatClip("a", 9), 3)
    assert sky.texture_id == 1
    assert (fake.tex_width[1], fake.tex_height[1]) == (8, 8)
    assert (fake.tex_data[:75] == 7).all()
    assert (fake.tex_data[75 : 75 + 192] == 103).all()
    assert (fake.tex_data[75 + 192 :] == 40).all()


def test_sky_uploads_only_what_changed():
    clip, uploads = FlatClip("a", 9), Uploads()
    sky = Sky(model(), 1.0, uploads)
    for frame in (3, 3, 4, 4, 4, 3):
        sky.show(clip, frame)
    assert uploads == [1, 1, 1]


def test_blending_does_not_compound():
    fake, clip = model(), FlatClip("a", 9)
    sky = Sky(fake, 0.5, Uploads())
    for frame in (0, 1, 2, 0):
        sky.show(clip, frame)
    assert (fake.tex_data[75 : 75 + 192] == (40 + 100) // 2).all()


def test_sky_of_another_size():
    fake = model()
    Sky(fake, 1.0, Uploads(), size=4).show(FlatClip("a", 9), 0)
    assert (fake.tex_width[1], fake.tex_height[1]) == (4, 4)
    assert (fake.tex_data[75 : 75 + 48] == 100).all()
    larger = model()
    Sky(larger, 1.0, Uploads(), size=99)
    assert larger.tex_width[1] == 8


def test_model_without_a_skybox_is_refused():
    with pytest.raises(ValueError, match="skybox"):
        Sky(model(skybox=False), 1.0, Uploads())
