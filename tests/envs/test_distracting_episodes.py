"""What an episode is made of: seeds, and what each distraction changes and leaves."""

import hashlib
import itertools
import subprocess
import sys

import numpy as np
import pytest

from iap_gym.envs.distracting_control import make_distracting_control
from iap_gym.envs.distracting_control.settings import DIFFICULTIES
from iap_gym.registry import DISTRACTING_TASKS

SMALL = {"height": 48, "width": 64}


@pytest.fixture
def make():
    made = []

    def make(domain="cheetah", task="run", **kwargs):
        made.append(make_distracting_control(domain, task, **{**SMALL, **kwargs}))
        return made[-1]

    yield make
    for env in made:
        env.close()


def digest(env, seed, steps=8):
    """Return a hash of all that an episode with random actions returns."""
    rng = np.random.default_rng(0)
    results = [env.reset(seed=seed)]
    for _ in range(steps):
        results.append(env.step(rng.uniform(-1, 1, env.action_space.shape)))
    digest = hashlib.sha256()
    for seen, *rest in results:
        digest.update(seen["pixels"].tobytes() + seen["state"].tobytes())
        digest.update(repr(rest).encode())
    return digest.hexdigest()


def frames(env, seed, steps=4):
    seen = [env.reset(seed=seed)[0]]
    seen += [env.step(np.full(env.action_space.shape, 0.3))[0] for _ in range(steps)]
    return np.array(seen)


_QUICK = {("cheetah", "run"), ("quadruped", "escape"), ("point_mass", "hard")}


@pytest.mark.parametrize(
    ("domain", "task"),
    [
        pytest.param(*key, marks=[] if key in _QUICK else pytest.mark.slow)
        for key in DISTRACTING_TASKS
    ],
)
def test_a_seed_fixes_every_bit_whatever_came_before(make, domain, task):
    kwargs = {"dynamic": True, "observation": "both", "render_quality": "fast"}
    env, other = make(domain, task, **kwargs), make(domain, task, **kwargs)
    first = digest(env, 1)
    assert digest(env, 2, steps=25) != first
    digest(env, 3, steps=3)
    assert digest(env, 1) == first
    assert digest(other, 4) == digest(env, 4) != first


def test_reference_quality_and_static_are_fixed_too(make):
    env, other = (make("walker", "walk", observation="both") for _ in range(2))
    digest(env, 9)
    assert digest(env, 1, steps=3) == digest(other, 1, steps=3)


def test_reset_without_a_seed_goes_on_with_the_stream(make):
    kwargs = {"observation": "both", "render_quality": "fast"}
    env, other = make(**kwargs), make(**kwargs)
    firsts = [digest(each, 1, steps=2) for each in (env, other)]
    seconds = [digest(each, None, steps=2) for each in (env, other)]
    assert firsts[0] == firsts[1] != seconds[0]
    assert seconds[0] == seconds[1]


def test_another_process_gives_the_same_bits(make):
    code = (
        "from tests.envs.test_distracting_episodes import digest, make_distracting_control as m\n"
        "env = m('cheetah', 'run', observation='both', dynamic=True, height=48, width=64)\n"
        "print(digest(env, 6))\n"
    )
    theirs = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout.strip()
    assert digest(make(observation="both", dynamic=True), 6) == theirs


def test_no_difficulty_is_dm_control_bit_for_bit(make):
    suite = pytest.importorskip("dm_control.suite")
    for domain, task in (("cheetah", "run"), ("reacher", "easy"), ("fish", "swim")):
        env = make(domain, task, difficulty=None, height=120, width=160, observation="both")
        seen, _ = env.reset(seed=7)
        plain = suite.load(domain, task, task_kwargs={"random": 0})
        plain.reset()
        for _ in range(3):
            plain.physics.set_state(env.physics.get_state())
            plain.physics.model.ptr.geom_pos[:] = env.physics.model.ptr.geom_pos
            plain.physics.model.ptr.geom_size[:] = env.physics.model.ptr.geom_size
            plain.physics.forward()
            np.testing.assert_array_equal(
                seen["pixels"], plain.physics.render(120, 160, camera_id=0)
            )
            seen, *_ = env.step(np.zeros(env.action_space.shape))
        plain.physics.free()


def test_dm_controls_own_rendering_goes_on_beside_ours(make):
    suite = pytest.importorskip("dm_control.suite")
    plain = suite.load("walker", "walk", task_kwargs={"random": 0})
    plain.reset()
    before = plain.physics.render(60, 80, camera_id=0)
    env = make(difficulty=None)
    ours, _ = env.reset(seed=0)
    np.testing.assert_array_equal(plain.physics.render(60, 80, camera_id=0), before)
    np.testing.assert_array_equal(env.reset(seed=0)[0], ours)
    plain.physics.free()


def test_distractions_do_not_touch_the_task(make):
    plain = make(difficulty=None, observation="both")
    distracted = make(difficulty="hard", dynamic=True, observation="both")
    for seed in (0, 1):
        seen, also = plain.reset(seed=seed)[0], distracted.reset(seed=seed)[0]
        for _ in range(5):
            np.testing.assert_array_equal(seen["state"], also["state"])
            assert (seen["pixels"] != also["pixels"]).mean() > 0.5
            action = np.full(6, 0.7)
            seen, reward, *_ = plain.step(action)
            also, same, *_ = distracted.step(action)
            assert reward == same


def test_each_distraction_draws_the_same_alone_as_with_the_others(make):
    together = make(difficulty="hard", dynamic=True)
    infos = [together.reset(seed=2)[1], together.step(np.zeros(6))[4]]
    colors = together.physics.model.mat_rgba[:, :3].copy()
    for name in ("background", "camera"):
        alone = make(difficulty="hard", dynamic=True, distractions=[name])
        for info, whole in zip(
            (alone.reset(seed=2)[1], alone.step(np.zeros(6))[4]), infos, strict=True
        ):
            assert info == {key: whole[key] for key in info}
            assert info
    alone = make(difficulty="hard", dynamic=True, distractions=["color"])
    alone.reset(seed=2)
    alone.step(np.zeros(6))
    np.testing.assert_array_equal(alone.physics.model.mat_rgba[:, :3], colors)


def test_background_alone_changes_the_sky_alone(make):
    # The floor of the cheetah stays opaque, so that only what was sky may change.
    plain, distracted = (
        make(difficulty=difficulty, distractions=["background"], height=120, width=160)
        for difficulty in (None, "medium")
    )
    own, seen = plain.reset(seed=0)[0], distracted.reset(seed=0)[0]
    sky = plain.physics.render(120, 160, camera_id=0, segmentation=True)[..., 0] < 0
    changed = (own != seen).any(axis=-1)
    # Antialiasing mixes the sky into the pixels beside it, and into one where two legs meet.
    beside = np.zeros_like(sky)
    for shift in itertools.product((-1, 0, 1), repeat=2):
        beside |= np.roll(sky, shift, (0, 1))
    assert changed[sky].mean() > 0.95
    assert changed[~beside].mean() < 1e-3
    np.testing.assert_array_equal(plain.physics.model.mat_rgba, distracted.physics.model.mat_rgba)
    np.testing.assert_array_equal(plain.physics.data.cam_xpos, distracted.physics.data.cam_xpos)


@pytest.mark.parametrize(
    ("domain", "task", "alpha"),
    [("reacher", "easy", 0.0), ("walker", "walk", 1.0), ("cartpole", "balance", 0.3)],
)
def test_background_sets_the_floor(make, domain, task, alpha):
    env = make(domain, task, distractions=["background"])
    model = env.physics.model
    assert model.mat_rgba[model.name2id("grid", "material"), 3] == pytest.approx(alpha)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_color_alone_changes_materials_within_the_range_and_nothing_else(make, difficulty):
    plain = make(difficulty=None)
    env = make(difficulty=difficulty, distractions=["color"], render_quality="fast", dynamic=True)
    own = plain.physics.model.mat_rgba.copy()
    own_texture = plain.physics.model.tex_data.copy()
    delta, seen = DIFFICULTIES[difficulty].scale, []
    for seed in range(12):
        env.reset(seed=seed)
        for _ in range(3):
            env.step(np.zeros(6))
            rgba = env.physics.model.mat_rgba
            low, high = (np.clip(own[:, :3] + sign * delta, 0, 1) for sign in (-1, 1))
            assert (rgba[:, :3] >= low - 1e-6).all()
            assert (rgba[:, :3] <= high + 1e-6).all()
            np.testing.assert_array_equal(rgba[:, 3], own[:, 3])
            seen.append(rgba[:, :3].copy())
    assert (np.ptp(seen, axis=0) > 0.5 * np.minimum(delta, high - low)).all()
    np.testing.assert_array_equal(env.physics.model.tex_data, own_texture)


@pytest.mark.parametrize(("difficulty", "degrees"), [("easy", 9), ("medium", 18), ("hard", 27)])
@pytest.mark.parametrize(
    ("domain", "task", "radius"),
    [
        ("cheetah", "run", 3.00),
        ("walker", "walk", 2.35),
        ("cartpole", "swingup", 4.12),
        ("ball_in_cup", "catch", 1.28),
        ("finger", "spin", 1.28),
        ("reacher", "easy", 0.75),
    ],
)
def test_camera_of_the_published_six_within_the_table(
    make, domain, task, radius, difficulty, degrees
):
    env = make(domain, task, difficulty=difficulty, distractions=["camera"], observation="state")
    scale, poses = DIFFICULTIES[difficulty].scale, []
    for seed in range(60):
        _, info = env.reset(seed=seed)
        start = env._distractions._camera.start
        poses.append(
            [
                info["camera_radius"] / radius,
                info["camera_azimuth"] - start[1],
                info["camera_polar"] - start[2],
                info["camera_roll"],
            ]
        )
        assert start[0] == pytest.approx(radius, rel=0.01)
        if domain != "reacher":
            assert 0 <= info["camera_polar"] <= np.pi / 2 + 1e-9
            assert -np.pi <= info["camera_azimuth"] <= 0
    low, high, angle = np.min(poses, axis=0), np.max(poses, axis=0), np.radians(degrees)
    assert (low >= [(1 - 0.5 * scale) * 0.99, -angle, -angle, -angle]).all()
    assert (high <= [(1 + 1.5 * scale) * 1.01, angle, angle, angle]).all()
    # 60 uniform draws reach into the outer tenth of each range, up to 1 in 500 per end.
    assert (low[[1, 3]] < -0.8 * angle).all()
    assert (high[[1, 3]] > 0.8 * angle).all()


def test_camera_alone_changes_the_view_and_leaves_the_model(make):
    plain, env = make(difficulty=None), make(distractions=["camera"], dynamic=True)
    own, seen = frames(plain, 3), frames(env, 3)
    assert (own != seen).mean() > 0.3
    for name in ("mat_rgba", "tex_data", "cam_pos", "cam_quat"):
        np.testing.assert_array_equal(
            getattr(plain.physics.model, name), getattr(env.physics.model, name)
        )
    # The physics keeps its own camera also between frames.
    np.testing.assert_array_equal(plain.physics.data.cam_xpos, env.physics.data.cam_xpos)


def test_camera_is_the_one_that_was_asked_for(make):
    env = make(distractions=["camera"], camera_id=1)
    _, info = env.reset(seed=0)
    # 2.44 m is the radius of the cheetah's camera "back".
    assert 2.44 * 0.89 < info["camera_radius"] < 2.44 * 1.31
    assert -145 - 18.1 < np.degrees(info["camera_azimuth"]) < -145 + 18.1


def test_static_distractions_are_constant_and_dynamic_ones_move(make):
    static, dynamic = (make(dynamic=dynamic, render_quality="fast") for dynamic in (False, True))
    for env, moves in ((static, False), (dynamic, True)):
        _, first = env.reset(seed=4)
        colors = env.physics.model.mat_rgba.copy()
        for _ in range(3):
            *_, later = env.step(np.zeros(6))
        changed = {key for key in first if first[key] != later[key]}
        assert changed == (set(first) - {"background_clip"} if moves else set())
        assert np.array_equal(colors, env.physics.model.mat_rgba) != moves


def test_static_scene_without_motion_is_the_same_picture(make):
    env = make("cartpole", "balance", distractions=["background", "color"])
    env.reset(seed=0)
    first = env._renderer.draw(env._distractions.apply())
    np.testing.assert_array_equal(first, env._renderer.draw(env._distractions.apply()))


def test_train_and_val_share_no_picture(make):
    clips = {}
    for split in ("train", "val"):
        env = make(split=split, difficulty="hard", observation="state")
        clips[split] = {env.reset(seed=seed)[1]["background_clip"] for seed in range(60)}
        assert clips[split] <= set(env.settings.background.clips)
    assert len(clips["train"]) == 8
    assert len(clips["val"]) == 5
    assert not clips["train"] & clips["val"]


def test_blended_background_keeps_part_of_the_sky(make):
    kwargs = {"distractions": ["background"], "render_quality": "fast"}
    full, none = make(**kwargs), make(background_alpha=0.0, **kwargs)
    half = make(background_alpha=0.5, **kwargs)
    pictures = [env.reset(seed=0)[0].astype(int) for env in (full, half, none)]
    assert np.abs(pictures[1] - (pictures[0] + pictures[2]) / 2).mean() < 2
    assert np.abs(pictures[0] - pictures[2]).mean() > 20
    again = half.reset(seed=0)[0]
    np.testing.assert_array_equal(again, pictures[1])


def test_fast_is_near_to_reference(make):
    for domain, task in (("cartpole", "swingup"), ("ball_in_cup", "catch"), ("reacher", "easy")):
        pictures = [
            make(domain, task, render_quality=quality, height=120, width=160)
            .reset(seed=1)[0]
            .astype(int)
            for quality in ("reference", "fast")
        ]
        difference = np.abs(pictures[0] - pictures[1]).mean()
        assert 0 < difference < 2
