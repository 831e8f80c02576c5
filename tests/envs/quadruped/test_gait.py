"""The trajectory generator, the leg map and the action "pmtg" against their equations."""

import dataclasses
import json
import math

import numpy as np
import pytest

from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.gait import (
    AMPLITUDE_RATE,
    EXTENSION_HIGH,
    EXTENSION_LOW,
    OFFSETS,
    PRESETS,
    RAMP_TIME,
    TURN_TIME,
    GaitParameters,
    TrajectoryGenerator,
    gait_parameters,
    leg_map,
    offsets_of,
    warp,
)
from iap_gym.envs.quadruped.pmtg import ACTION_SIZE, PMTGController

DT = 0.01
LEFT = np.array([False, True, False, True])  # of FR, FL, RR, RL


def settled(gait, turn=0.0, **command):
    """A generator whose ramp and low-pass are over, standing at the phase it had before."""
    generator = TrajectoryGenerator(gait)
    for _ in range(500):
        generator.step(DT, frequency=0.0, turn=turn, **command)
    return generator


def test_offsets_are_by_name_and_in_our_order():
    # The published table has the order FL, RL, FR, RR.
    published = {"walk": (0.0, 0.25, 0.5, 0.75), "trot": (0.0, 0.5, 0.5, 0.0)}
    for gait, numbers in published.items():
        by_name = dict(zip(("FL", "RL", "FR", "RR"), numbers, strict=True))
        assert OFFSETS[gait] == by_name
        assert offsets_of(gait) == tuple(by_name[leg] for leg in a1.LEGS)
    trot = PRESETS["trot"].offsets
    assert trot[0] == trot[3] != trot[1] == trot[2]  # diagonal pairs


def test_the_phase_advances_by_its_equation():
    generator = TrajectoryGenerator("trot")
    generator.reset(1.0)
    phase = 1.0
    for frequency in (0.0, 1.0, 3.5, 4.0, 30.0):
        generator.step(DT, frequency=frequency)
        phase = (phase + 2 * math.pi * frequency * DT) % (2 * math.pi)
        assert generator.phase == pytest.approx(phase)
        assert 0 <= generator.phase < 2 * math.pi
        wanted = [(math.cos(phase) + 1) / 2, (math.sin(phase) + 1) / 2]
        np.testing.assert_allclose(generator.state, wanted)
    generator.reset(-1.0)
    assert generator.phase == pytest.approx(2 * math.pi - 1.0)


@pytest.mark.parametrize("stance", [0.3, 0.5, 0.8])
def test_the_warp_gives_stance_its_part_of_a_cycle(stance):
    phases = np.linspace(0, 2 * math.pi, 1000, endpoint=False)
    warped = np.array([warp(float(phase), stance) for phase in phases])
    for phase, value in zip(phases, warped, strict=True):
        if phase < 2 * math.pi * stance:
            assert value == pytest.approx(phase / (2 * stance))
        else:
            rest = 2 * math.pi - phase
            assert value == pytest.approx(2 * math.pi - rest / (2 * (1 - stance)))
    assert np.mean(warped < math.pi) == pytest.approx(stance, abs=2e-3)
    assert warped[0] == 0
    assert (np.diff(warped) > 0).all()
    # No jump between the halves, nor from one cycle to the next.
    most = 2 * math.pi / 1000 / (2 * min(stance, 1 - stance))
    assert np.diff(warped).max() <= most + 1e-12
    assert warped[-1] + most >= 2 * math.pi - 1e-12


@pytest.mark.parametrize("turn", [0.0, 0.3, -0.5])
@pytest.mark.parametrize("name", PRESETS)
def test_swing_and_extension_follow_their_equations(name, turn):
    gait = PRESETS[name]
    generator = settled(gait, turn)
    for step in range(40):
        legs = generator.step(0.013, frequency=1.7, turn=turn)
        for leg in range(4):
            phase = (generator.phase + 2 * math.pi * gait.offsets[leg]) % (2 * math.pi)
            if phase < 2 * math.pi * gait.stance:
                warped, bend = phase / (2 * gait.stance), gait.stance_extension
            else:
                warped = 2 * math.pi - (2 * math.pi - phase) / (2 * (1 - gait.stance))
                bend = gait.lift
            stride = gait.amplitude * (1 - turn if LEFT[leg] else 1 + turn)
            wanted = (
                gait.swing_center + stride * math.cos(warped),
                gait.height + bend * math.sin(warped),
            )
            np.testing.assert_allclose(legs[leg], wanted, atol=1e-9, err_msg=f"{step} {leg}")


def test_a_lifted_leg_is_short_and_swings_forward():
    """What the equations mean: stance goes backward, swing goes forward with a bent leg."""
    generator = settled(dataclasses.replace(PRESETS["trot"], stance_extension=0.0))
    legs = np.array([generator.step(DT) for _ in range(100)])
    lifted = legs[1:, :, 1] < legs[:, :, 1].max() - 1e-3
    forward = np.diff(legs[:, :, 0], axis=0) > 0
    assert np.mean(lifted == forward) > 0.9


def test_the_gait_starts_from_standing_within_half_a_second():
    generator = TrajectoryGenerator("trot")
    gait = generator.parameters
    before = np.column_stack([np.full(4, gait.swing_center), np.full(4, gait.height)])
    legs = [before]
    for _ in range(100):
        legs.append(generator.step(DT))
    deviation = np.abs(np.array(legs) - before).max(axis=(1, 2))
    for step, value in enumerate(deviation):
        most = max(gait.amplitude, gait.lift) * min(1, step * DT / RAMP_TIME)
        assert value <= most + 1e-12
    assert deviation[60:].max() == pytest.approx(max(gait.amplitude, gait.lift), rel=0.05)


def test_intensity_and_amplitude_are_limited_in_both_directions():
    generator = TrajectoryGenerator(GaitParameters(amplitude=0.2, lift=0.0))

    def stride(**command):
        legs = generator.step(DT, frequency=0.0, **command)
        return abs(legs[1, 0])  # FL, with no offset, is at the foremost point

    assert stride() == pytest.approx(0.2 * DT / RAMP_TIME)
    for _ in range(60):
        stride()
    assert stride() == pytest.approx(0.2)
    # An amplitude moves by its rate, up and down.
    assert stride(amplitude=0.5) == pytest.approx(0.2 + AMPLITUDE_RATE * DT)
    assert stride(amplitude=0.0) == pytest.approx(0.2)
    assert stride(amplitude=0.0) == pytest.approx(0.2 - AMPLITUDE_RATE * DT)
    assert stride() == pytest.approx(0.2)
    # So does the intensity, and a stop is as slow as a start.
    for step in range(1, 60):
        assert stride(intensity=0.0) == pytest.approx(0.2 * max(0.0, 1 - step * DT / RAMP_TIME))


def test_the_turn_is_low_passed():
    generator = TrajectoryGenerator("trot")
    for step in range(1, 100):
        generator.step(DT, turn=0.4)
        assert generator.turn == pytest.approx(0.4 * (1 - math.exp(-step * DT / TURN_TIME)))
    # The same in time at another control rate.
    coarse = TrajectoryGenerator("trot")
    for _ in range(33):
        coarse.step(3 * DT, turn=0.4)
    assert coarse.turn == pytest.approx(generator.turn)


def test_a_reset_forgets():
    fresh, used = TrajectoryGenerator("trot"), TrajectoryGenerator("trot")
    for _ in range(77):
        used.step(DT, frequency=2.0, amplitude=0.4, height=0.2, turn=0.5)
    used.reset(0.5)
    fresh.reset(0.5)
    for _ in range(20):
        np.testing.assert_array_equal(used.step(DT), fresh.step(DT))


def test_the_leg_map_follows_its_equations():
    rng = np.random.default_rng(0)
    for _ in range(20):
        abduction, swing = rng.uniform(-0.5, 0.5, (2, 4))
        extension = rng.uniform(EXTENSION_LOW, EXTENSION_HIGH, 4)
        angles = leg_map(abduction, swing, extension).reshape(4, 3)
        np.testing.assert_allclose(angles[:, 2], -math.pi / 2 + extension)
        np.testing.assert_allclose(angles[:, 1], -angles[:, 2] / 2 - swing)
        np.testing.assert_array_equal(angles[:, 0], abduction)
    np.testing.assert_allclose(leg_map(*np.zeros((3, 4))), a1.neutral_pose())


def test_extensions_are_clipped_to_the_limits_of_the_knee():
    assert pytest.approx(-1.126, abs=1e-3) == EXTENSION_LOW
    assert pytest.approx(0.655, abs=1e-3) == EXTENSION_HIGH
    zeros = np.zeros(4)
    angles = leg_map(zeros, zeros, np.array([-9.0, 9.0, EXTENSION_LOW, EXTENSION_HIGH]))
    low, high = a1.JOINT_LOW[2], a1.JOINT_HIGH[2]
    np.testing.assert_allclose(angles.reshape(4, 3)[:, 2], [low, high, low, high])
    # The hip goes with the clipped knee: the foot stays where the swing puts it.
    np.testing.assert_allclose(angles.reshape(4, 3)[:, 1], [-low / 2, -high / 2] * 2)


def test_action_zero_is_the_gait_itself():
    for name in PRESETS:
        controller, generator = PMTGController(name), TrajectoryGenerator(name)
        for _ in range(80):
            legs = generator.step(DT)
            wanted = leg_map(generator.abduction, legs[:, 0], legs[:, 1])
            np.testing.assert_array_equal(controller.targets(np.zeros(16), DT), wanted)
        np.testing.assert_array_equal(controller.state, generator.state)


def test_the_ends_of_an_action_are_the_ends_of_the_ranges():
    gait = PRESETS["trot"]
    ends = {"frequency": (1.0, 3.8), "amplitude": (0.1, 0.4), "height": (-0.2, 0.1)}
    for index, (name, (low, high)) in enumerate(ends.items()):
        middle = getattr(gait, name)
        steps = {-1: low, -0.5: (low + middle) / 2, 0: middle, 0.5: (middle + high) / 2, 1: high}
        for number, value in steps.items():
            controller, generator = PMTGController(gait, **ends), TrajectoryGenerator(gait)
            action = np.zeros(ACTION_SIZE)
            action[index] = number
            for _ in range(60):
                legs = generator.step(DT, **{name: value})
                targets = controller.targets(action, DT)
            wanted = leg_map(generator.abduction, legs[:, 0], legs[:, 1])
            np.testing.assert_allclose(targets, wanted, atol=1e-12)


def test_turn_and_residuals_have_their_scale_and_order():
    controller = PMTGController("trot", turn=0.4, residual=0.1)
    generator = TrajectoryGenerator("trot")
    rng = np.random.default_rng(1)
    for _ in range(50):
        action = np.concatenate([np.zeros(3), rng.uniform(-1, 1, 13)])
        residual = 0.1 * action[4:].reshape(4, 3)
        legs = generator.step(DT, turn=0.4 * action[3])
        wanted = leg_map(
            generator.abduction + residual[:, 0],
            legs[:, 0] + residual[:, 1],
            legs[:, 1] + residual[:, 2],
        )
        np.testing.assert_allclose(controller.targets(action, DT), wanted, atol=1e-12)


def test_actions_are_clipped():
    inside, outside = PMTGController(), PMTGController()
    action = np.linspace(-3, 3, ACTION_SIZE)
    for _ in range(10):
        np.testing.assert_array_equal(
            outside.targets(action, DT), inside.targets(np.clip(action, -1, 1), DT)
        )


@pytest.mark.parametrize(
    "action", [np.zeros(15), np.zeros((1, 16)), np.full(16, np.nan), np.full(16, np.inf), "a", None]
)
def test_wrong_actions_are_refused(action):
    with pytest.raises(ValueError, match=r"action: expected finite numbers of shape \(16,\)"):
        PMTGController().targets(action, DT)


def test_parameters_come_by_name_as_they_are_or_from_json():
    assert gait_parameters("trot") is PRESETS["trot"]
    untuned = GaitParameters()
    assert (untuned.frequency, untuned.amplitude) == (2.0, 0.15)
    assert gait_parameters(untuned) is untuned
    text = json.dumps(dataclasses.asdict(PRESETS["walk"]))
    assert gait_parameters(json.loads(text)) == PRESETS["walk"]
    slower = gait_parameters({"preset": "trot", "amplitude": 0.2})
    assert slower == dataclasses.replace(PRESETS["trot"], amplitude=0.2)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ("gallop", "gait: expected one of 'trot', 'walk'"),
        ({"speed": 1.0}, "gait: expected one of 'abduction'"),
        ({"preset": "gallop"}, "gait"),
        ({"stance": 1.0}, "stance"),
        ({"stance": 0.0}, "stance"),
        ({"frequency": -1.0}, "frequency"),
        ({"lift": math.nan}, "lift"),
        ({"offsets": [0.0, 0.5]}, "offsets"),
        (None, "gait: expected one of 'trot', 'walk', a dict of GaitParameters, or a GaitP.* None"),
        (["trot"], r"gait: expected one of 'trot', .* got \['trot'\]"),
    ],
)
def test_wrong_parameters_are_refused(parameters, match):
    with pytest.raises(ValueError, match=match):
        gait_parameters(parameters)


@pytest.mark.parametrize(
    ("gait", "match"),
    [
        ({"frequency": 100}, r"frequency: expected a finite number in \[0, 4\], got 100$"),
        ({"amplitude": 0.6}, r"amplitude: expected a finite number in \[0, 0.5\], got 0.6$"),
        ({"height": -0.7}, r"height: expected a finite number in \[-0.5, 0.5\], got -0.7$"),
    ],
)
def test_gaits_beyond_the_range_of_actions_are_named(gait, match):
    with pytest.raises(ValueError, match=match):
        PMTGController(gait)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"frequency": (0.0, 3.0)}, "frequency: expected a range"),
        ({"frequency": (-1.0, 4.0)}, "frequency"),
        ({"amplitude": (0.4, 0.1)}, "amplitude"),
        ({"height": (0.0, 1.0, 2.0)}, "height"),
        ({"height": (0.1, 0.5)}, "height"),
        ({"turn": 1.5}, "turn"),
        ({"residual": -0.1}, "residual"),
    ],
)
def test_wrong_ranges_are_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        PMTGController("trot", **settings)
