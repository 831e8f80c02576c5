"""What every environment of the quadruped does, on the obstacle course."""

import copy
import multiprocessing
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from iap_gym.envs.quadruped.course import Course
from iap_gym.envs.quadruped.env import QuadrupedEnv
from iap_gym.envs.quadruped.gait import PRESETS
from iap_gym.envs.quadruped.low_level import LowLevel
from iap_gym.envs.quadruped.observation import Camera
from iap_gym.envs.quadruped.obstacle_course import CourseTask, QuadrupedObstacleCourseEnv
from iap_gym.testing.episodes import play, same

TROT = np.zeros(16)


@pytest.fixture
def make():
    """Makes environments and closes them all."""
    made = []

    def make(*args, **kwargs):
        made.append(QuadrupedObstacleCourseEnv(*args, **kwargs))
        return made[-1]

    yield make
    for env in made:
        env.close()


def walk(env, steps, action=TROT, seed=0):
    env.reset(seed=seed)
    return [env.step(action) for _ in range(steps)]


@pytest.mark.parametrize(
    ("settings", "actions", "felt"),
    [
        ({}, 16, 18),
        ({"control": "motors"}, 12, 16),
        ({"control": "latent"}, 2, 18),
        ({"control": "latent", "latent_size": 5}, 6, 18),
    ],
)
def test_spaces(make, settings, actions, felt):
    env = make(**settings)
    assert env.action_space.shape == (actions,)
    assert env.observation_space["proprio"].shape == (felt,)
    assert env.observation_space["camera"].shape == (32, 32, 3)
    assert env.reset(seed=0)[0] in env.observation_space


def test_picture_has_the_size_that_is_asked_for(make):
    env = make(camera_size=[24, 40])
    assert env.reset(seed=0)[0]["camera"].shape == (24, 40, 3)
    assert make(camera_size=16).reset(seed=0)[0]["camera"].shape == (16, 16, 3)


def test_proprioception_is_what_the_physics_has(make):
    env = make(camera=False)
    felt = walk(env, 30)[-1][0]["proprio"]
    physics = env.mover.simulation
    neutral = np.tile([0.0, np.pi / 4, -np.pi / 2], 4)
    phase = 2 * np.pi * PRESETS["trot"].frequency * 0.01 * 30
    expected = [
        *physics.roll_pitch_yaw[:2],
        *physics.angular_velocity[:2],
        *(physics.joint_angles - neutral),
        (np.cos(phase) + 1) / 2,
        (np.sin(phase) + 1) / 2,
    ]
    np.testing.assert_allclose(felt, expected, atol=1e-6)


def test_motors_follow_targets_around_the_neutral_pose(make):
    env = make(control="motors", camera=False)
    action = np.tile([0.2, 0.1, -0.2], 4)
    felt = walk(env, 100, action)[-1][0]["proprio"]
    targets = np.tile([0.4 * 0.2, 0.75 * 0.1, 0.65 * -0.2], 4)
    # The gains leave an error that carries the weight: torque / 100 N m per rad.
    np.testing.assert_allclose(felt[4:], targets, atol=0.15)
    assert felt.shape == (16,)


@pytest.mark.parametrize(("number", "steps"), [(-1, 10), (-0.2, 16), (0, 18), (1, 25), (5, 25)])
def test_first_number_of_a_latent_action_is_a_duration(make, number, steps):
    env = make(control="latent", camera=False)
    info = walk(env, 1, np.array([number, 0.0]))[0][4]
    assert info["control_steps"] == steps  # 10 + 15 (number + 1) / 2, to the nearest
    assert len(env.path) == steps + 1


def test_latent_commands_run_the_low_level_at_every_control_step(make):
    rng = np.random.default_rng(0)
    low_level = LowLevel.from_vector(3, rng.normal(0, 0.1, LowLevel(3).num_parameters))
    env = make(control="latent", low_level=low_level, duration_range=(7, 7))
    plain = make()
    env.reset(seed=1)
    felt = plain.reset(seed=1)[0]["proprio"]
    for latent in rng.uniform(-1, 1, (3, 3)):
        observation, reward, *_ = env.step(np.array([0.0, *latent]))
        total = 0.0
        for _ in range(7):
            weighed = low_level.weight @ np.concatenate([latent, felt]) + low_level.bias
            step = plain.step(weighed)
            felt, total = step[0]["proprio"], total + step[1]
        assert reward == pytest.approx(total, abs=1e-5)
        np.testing.assert_allclose(observation["proprio"], felt, atol=1e-3)
        assert np.mean(observation["camera"] == step[0]["camera"]) > 0.95
    np.testing.assert_allclose(env.path, plain.path, atol=1e-4)


def test_without_a_low_level_the_first_latent_number_steers(make):
    env = make(control="latent", latent_size=2, duration_range=(20, 20), camera=False)
    plain = make(camera=False)
    walk(env, 3, np.array([0.0, 0.5, -1.0]))
    turn = TROT.copy()
    turn[3] = 0.6 * 0.5
    walk(plain, 60, turn)
    assert np.array_equal(env.path, plain.path)
    assert env.path[-1, 2] > 0.05  # to the left


def test_latent_commands_go_through_a_low_pass_where_asked(make):
    """The same way as of commands that change at every control step by the low-pass's equation."""
    env = make(control="latent", duration_range=(5, 5), command_time=0.1, camera=False)
    plain = make(control="latent", duration_range=(1, 1), camera=False)
    rng = np.random.default_rng(0)
    for seed in (0, 1):  # a reset forgets
        env.reset(seed=seed)
        plain.reset(seed=seed)
        value = 0.0
        for command in rng.uniform(-1, 1, 12):
            env.step(np.array([0.0, command]))
            for _ in range(5):
                value += (command - value) * (1 - np.exp(-0.01 / 0.1))
                plain.step(np.array([0.0, value]))
        np.testing.assert_allclose(env.path, plain.path, atol=1e-9)


def test_camera_looks_every_so_many_control_steps(make):
    often, seldom = make(camera_every=1), make(camera_every=4)
    first = often.reset(seed=0)[0]["camera"]
    assert np.array_equal(seldom.reset(seed=0)[0]["camera"], first)
    frames = [first, *(often.step(TROT)[0]["camera"] for _ in range(9))]
    for step in range(1, 10):
        seen = seldom.step(TROT)[0]["camera"]
        assert np.array_equal(seen, frames[4 * (step // 4)])
        seen[:] = 0  # a copy: the next one is not harmed
    assert not np.array_equal(frames[4], frames[8])


@pytest.mark.parametrize(
    ("settings", "looks"),
    [
        ({"camera": False}, 0),
        ({"control": "latent"}, 6),
        ({"camera_every": 10}, 1),
        ({"control": "latent", "camera_every": 30}, 3),
    ],
)
def test_camera_looks_only_when_it_must(make, monkeypatch, settings, looks):
    seen = []
    look = Camera.look
    monkeypatch.setattr(Camera, "look", lambda self, pose: seen.append(1) or look(self, pose))
    env = make(**settings)
    walk(env, 5, np.zeros(env.action_space.shape))
    assert len(seen) == looks


def test_camera_changes_no_physics(make):
    paths = []
    for settings in ({}, {"camera": False}, {"renderer": "tiny"}, {"render_mode": "rgb_array"}):
        env = make(**settings)
        env.reset(seed=2)
        for _ in range(25):
            env.step(TROT)
            if env.render_mode is not None:
                env.render()
        paths.append(env.path)
    assert all(np.array_equal(path, paths[0]) for path in paths)


def test_depth_is_the_distance_of_the_wall_ahead(make):
    settings = {"image_key": "depth", "depth_range": (0.5, 3.0), "camera_size": 9}
    course = {"num_walls": 1, "gap": 0.5, "gap_range": 0.0, "start_y": 1.0}
    env = make(course, **settings)
    observation, info = env.reset(seed=0)
    depth = observation["depth"]
    assert depth.shape == (9, 9, 1)
    assert depth.dtype == np.float32
    assert abs(info["position"][1]) > 0.35  # not before the gap
    metres = 2.0 - 0.05 - 0.29  # the wall's face from the camera; depth is along the view
    assert depth[4, 4, 0] == pytest.approx((metres - 0.5) / 2.5, abs=1e-5)
    assert depth[0, 4, 0] == 1.0  # the sky


def test_tiny_renderer_sees_the_same(make):
    pictures = []
    for renderer in ("raycast", "tiny"):
        for key in ("depth", "camera"):
            env = make(image_key=key, depth_range=(0, 8), camera_size=32, renderer=renderer)
            pictures.append(env.reset(seed=3)[0][key].astype(float))
    depth, colors, tiny_depth, tiny_colors = pictures
    error = np.abs(depth - tiny_depth)
    assert np.median(error) * 8 < 0.05  # m
    assert np.mean(error * 8 < 0.3) > 0.9  # what is left are edges
    # Their light differs, the hue of a surface does not.
    hue, tiny_hue = (c / (c.sum(-1, keepdims=True) + 1) for c in (colors, tiny_colors))
    solid = (depth < 1)[..., 0]
    assert np.mean(np.abs(hue - tiny_hue)[solid].max(-1) < 0.05) > 0.85


def test_tiny_renderer_refuses_textures(make):
    for course in ("hard", {"textures": "noise"}):
        with pytest.raises(ValueError, match='renderer: expected "raycast" in a course with'):
            make(course, renderer="tiny")


def test_task_of_textures_is_refused_to_the_tiny_renderer_at_reset():
    env = QuadrupedEnv(CourseTask(Course.preset("hard")), renderer="tiny")
    with pytest.raises(ValueError, match='renderer: expected "raycast" in a scene with textures'):
        env.reset(seed=0)
    env.close()


def test_layout_is_drawn_by_reset(make):
    with pytest.raises(ResetNeeded, match="layout: call reset first"):
        _ = make().layout


@pytest.mark.parametrize("settings", [{"control": "latent"}, {"course": "hard"}])
def test_second_episode_of_a_seed_equals_the_first_also_after_others(make, settings):
    env, other = make(**settings), make()
    first = play(env, 5, 40)
    other.reset(seed=8)
    play(env, None, 7)
    again = []
    env.action_space.seed(7)
    again = [env.reset(seed=5)]
    for _ in range(len(first) - 1):  # another robot of this process in between
        other.step(TROT)
        again.append(env.step(env.action_space.sample()))
    for transition, one in zip(first, again, strict=True):
        for key, value in transition.observation.items():
            assert np.array_equal(value, one[0][key])
    assert same(play(env, 5, 40), first)


BAD_ACTIONS = [np.full(16, np.nan), np.zeros(12), np.zeros((16, 1)), "walk", np.zeros(16, complex)]


@pytest.mark.parametrize("action", BAD_ACTIONS)
def test_what_is_no_action_is_refused_and_changes_nothing(make, action):
    env, twin = make(camera=False), make(camera=False)
    for each in (env, twin):
        each.reset(seed=0)
    with pytest.raises(ValueError, match=r"action: expected finite numbers of shape \(16,\)"):
        env.step(action)
    assert np.array_equal(env.step(TROT)[0]["proprio"], twin.step(TROT)[0]["proprio"])


def test_episode_ends_by_a_fall(make):
    env = make(control="motors", camera=False)
    roll_over = np.tile([1.0, 0.0, 0.0], 4)
    roll_over[[5, 11]] = -1.0  # and the left legs bend
    env.reset(seed=0)
    for _ in range(300):
        _, _, terminated, truncated, info = env.step(roll_over)
        if terminated:
            break
    roll, pitch, _ = env.mover.simulation.roll_pitch_yaw
    height = env.mover.simulation.position[2] - 0.5
    assert (terminated, truncated) == (True, False)
    assert info["end"] == "fall"
    assert not info["success"]
    assert max(abs(roll), abs(pitch)) > 0.8 or height < 0.12
    with pytest.raises(ResetNeeded, match="no episode is under way"):
        env.step(roll_over)
    env.reset()
    env.step(roll_over)


def test_episode_is_truncated_by_time_inside_a_latent_command(make):
    env = make(control="latent", episode_steps=25, camera=False)
    steps = walk(env, 2, np.array([0.0, 0.0]))
    assert [step[4]["control_steps"] for step in steps] == [18, 7]
    assert [step[2:4] for step in steps] == [(False, False), (False, True)]
    assert steps[-1][4]["end"] == "time"
    assert "end" not in steps[0][4]


def test_info_tells_where_the_robot_is_and_how_fast(make):
    env = make(camera=False)
    steps = walk(env, 150)
    info = steps[-1][4]
    path = env.path
    assert path.shape == (151, 3)
    np.testing.assert_array_equal(path[-1], [*info["position"][:2], info["yaw"]])
    assert info["speed"] == pytest.approx(np.hypot(*(path[-1] - path[-2])[:2]) / 0.01)
    assert info["distance"] == path[-1, 0]
    assert np.mean([step[4]["speed"] for step in steps[100:]]) > 0.5
    assert info["collisions"] == 0


def test_collisions_count_the_steps_at_a_wall(make):
    env = make({"num_walls": 1, "gap": 0.5, "gap_range": 0.0, "start_y": 1.0}, camera=False)
    assert abs(env.reset(seed=0)[1]["position"][1]) > 0.45
    counts = [env.step(TROT)[4]["collisions"] for _ in range(400)]
    first = next(i for i, count in enumerate(counts) if count)
    x = env.path[first + 1, 0]
    assert 1.5 < x < 1.75  # the wall's face is at 1.95, the nose and the feet are ahead
    assert counts[-1] > 10
    assert set(np.diff(counts)) <= {0, 1}


def test_order_of_calls_is_checked(make):
    env = make(render_mode="rgb_array")
    with pytest.raises(ResetNeeded):
        env.step(TROT)
    with pytest.raises(ResetNeeded):
        env.render()
    env.reset(seed=0)
    env.close()
    env.close()
    for call in (env.reset, env.render, lambda: env.step(TROT)):
        with pytest.raises(ClosedEnvironmentError, match="closed"):
            call()


def test_environments_are_not_copied(make):
    for copying in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="from its spec"):
            copying(make())


def test_closing_one_leaves_the_others_alone(make):
    envs = [make(camera=False) for _ in range(3)]
    for env in envs:
        env.reset(seed=0)
    envs[1].close()
    assert np.array_equal(envs[0].step(TROT)[0]["proprio"], envs[2].step(TROT)[0]["proprio"])


def _step_in_a_fork(env, answers):
    try:
        env.step(TROT)
    except RuntimeError as error:
        env.close()  # must leave the parent's alone
        answers.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_of_a_world_is_refused(make):
    env = make(camera=False)
    env.reset(seed=0)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=_step_in_a_fork, args=(env, answers))
    process.start()
    answer = answers.get(timeout=30)
    process.join()
    assert "process" in answer
    env.step(TROT)


def test_low_level_comes_from_a_file_and_can_be_changed(make, tmp_path):
    path = tmp_path / "low_level"
    low_level = LowLevel.steering(2, 1.0)
    low_level.save(path)
    env = make(control="latent", low_level=str(path), camera=False)
    assert env.action_space.shape == (3,)
    action = np.array([0.0, 0.4, 0.0])
    walk(env, 4, action)
    turned = env.path[-1, 2]
    env.set_low_level(LowLevel.steering(2, -1.0))
    walk(env, 4, action)
    assert turned > 0.05
    assert env.path[-1, 2] < -0.05


def test_surrogate_takes_the_low_level_too(make):
    env = make(control="latent", physics="kinematic", low_level=LowLevel.steering(2, -0.5))
    assert env.action_space.shape == (3,)
    walk(env, 4, np.array([0.0, 0.4, 0.0]))
    turned = env.path[-1, 2]
    env.set_low_level(LowLevel.steering(2, 0.5))
    walk(env, 4, np.array([0.0, 0.4, 0.0]))
    assert turned < -0.05
    assert env.path[-1, 2] > 0.05


def test_low_level_that_does_not_fit_is_named(make, tmp_path):
    path = tmp_path / "low_level"
    LowLevel(3).save(path)
    with pytest.raises(ValueError, match="latent_size"):
        make(control="latent", low_level=str(path), latent_size=2)
    with pytest.raises(ValueError, match="low_level: expected .*size 2, got latent_size 3$"):
        make(control="latent", low_level=LowLevel(3), latent_size=2)
    with pytest.raises(ValueError, match="low_level: expected .* latent_size 1"):
        make(control="latent").set_low_level(LowLevel(3))
    with pytest.raises(ValueError, match="low_level: expected"):
        make().set_low_level(LowLevel(1))


@pytest.mark.parametrize("physics", ["bullet", "kinematic"])
@pytest.mark.parametrize(
    ("gait", "message"),
    [
        ("gallop", "gait: expected one of 'trot', 'walk', got 'gallop'"),
        (3, "gait: expected one of 'trot', 'walk', a dict"),
        ({"speed": 1.0}, "gait: expected one of"),
        ({"stance": 2.0}, "stance: expected"),
        ({"frequency": 100}, "frequency: expected a finite number in"),
    ],
)
def test_a_gait_is_checked_whatever_moves(make, physics, gait, message):
    with pytest.raises(ValueError, match=message):
        make(control="latent", physics=physics, gait=gait)
    assert make(control="latent", physics=physics, gait="walk").mover.command_size == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"control": "wheels"}, "control: expected one of 'pmtg', 'motors', 'latent'"),
        ({"latent_size": 2}, "latent_size: expected None unless"),
        ({"low_level": "x"}, "low_level: expected None unless"),
        ({"command_time": 0.1}, 'command_time: expected None unless .* "pmtg", got 0.1'),
        ({"control": "latent", "command_time": -1}, "command_time: expected a finite number >= 0"),
        ({"control": "latent", "latent_size": 0}, "latent_size: expected an integer >= 1"),
        (
            {"control": "latent", "duration_range": (5, 2)},
            "duration_range: expected two integers",
        ),
        ({"control": "latent", "duration_range": (0, 2)}, r"duration_range\[0\]: expected"),
        ({"duration_range": (10, 25)}, 'duration_range: expected None unless .* "pmtg", got'),
        ({"control": "motors", "duration_range": [2, 5]}, "duration_range: expected None unless"),
        ({"control": "motors", "gait": "trot"}, "gait: expected None .* \"motors\", got 'trot'"),
        ({"control": "wheels", "duration_range": [2, 5]}, "control: expected"),
        ({"gait": {"frequency": 100}}, r"frequency: expected a finite number in \[0, 4\], got 100"),
        ({"gait": 3}, "gait: expected one of 'trot', 'walk', a dict of GaitParameters, or"),
        ({"camera_size": 0}, r"camera_size: expected an integer in \[1, 8192\], got 0"),
        ({"camera_size": 100_000}, r"camera_size: expected an integer in \[1, 8192\], got 100000"),
        ({"render_size": 100_000}, r"render_size: expected an integer in \[32, 4096\], got 100000"),
        ({"camera_size": (32, 0)}, r"camera_size\[1\]: expected"),
        ({"camera_every": 0}, "camera_every: expected an integer >= 1"),
        ({"camera": 1}, "camera: expected True or False"),
        ({"camera_fov": 180}, "^camera_fov: expected"),
        ({"renderer": "opengl"}, "renderer: expected one of 'raycast', 'tiny'"),
        ({"image_key": "rgb"}, "^image_key: expected one of 'camera', 'depth'"),
        ({"depth_range": (2, 1)}, "depth_range: expected two numbers"),
        ({"depth_range": (0, 0.01)}, "depth_range: expected .* 0.01 < high"),
        ({"depth_range": (0, 1e-9), "image_key": "depth"}, "depth_range: expected .* 0.01 < high"),
        ({"depth_range": (5, 5 + 1e-12)}, "depth_range: expected two numbers .* low < high"),
        ({"depth_range": (0, 1e39)}, r"depth_range: expected .* high <= 1e\+09, got \(0, 1e\+39\)"),
        ({"depth_range": (1e300, 2e300)}, "depth_range: expected two numbers"),
        ({"episode_steps": 0}, "episode_steps: expected"),
        ({"gait": "gallop"}, "gait"),
        ({"physics": "mujoco"}, "physics: expected one of 'bullet', 'kinematic'"),
        ({"physics": "kinematic"}, 'physics: expected "bullet" unless'),
        (
            {"physics": "kinematic", "control": "latent", "simulation": {"kp": 90}},
            "simulation: expected None",
        ),
        ({"simulation": {"dt": 0.001}}, "simulation: expected one of"),
        ({"simulation": {"time_step": 0.01}}, "time_step: expected"),
        ({"simulation": {"urdf": 3}}, "urdf: expected a path, got 3"),
        ({"simulation": 0}, "simulation: expected a dict or None, got 0"),
        ({"render_mode": "human"}, "render_mode: expected"),
        ({"render_size": (0, 10)}, r"render_size\[0\]: expected"),
        ({"v_cap": 0}, "v_cap: expected"),
    ],
)
def test_what_is_no_setting_is_named(make, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)


def test_absent_robot_is_named(make):
    with pytest.raises(FileNotFoundError, match="no_such"):
        make(simulation={"urdf": "no_such.urdf"})


def test_simulation_settings_reach_the_physics(make):
    env = make(simulation={"time_step": 0.002, "action_repeat": 5}, camera=False)
    assert env.mover.control_dt == pytest.approx(0.01)
    assert env.metadata["render_fps"] == 100
    coarse = make(simulation={"action_repeat": 8}, camera=False)
    assert coarse.metadata["render_fps"] == 50


def _resident_kilobytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@pytest.mark.slow
@pytest.mark.parametrize("renderer", ["raycast", "tiny"])
def test_memory_does_not_grow_with_resets(make, renderer):
    env = make("hard" if renderer == "raycast" else None, renderer=renderer)
    for _ in range(30):  # allocators settle
        env.reset()
        env.step(TROT)
    before = _resident_kilobytes()
    for _ in range(300):
        env.reset()
        env.step(TROT)
    assert _resident_kilobytes() - before < 2048


def test_made_by_its_id_it_keeps_its_settings_in_the_spec():
    env = gymnasium.make("iap_gym/QuadrupedObstacleCourse-v0", course={"num_walls": 2}, gait="walk")
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.unwrapped.task.course == env.unwrapped.task.course
    assert env.spec.max_episode_steps == 1000
    env.close()
    again.close()
