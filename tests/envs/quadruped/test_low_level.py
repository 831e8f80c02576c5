"""The linear low level: its map, its vector of parameters, its file."""

import numpy as np
import pytest

from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.low_level import FEEDBACK_SIZE, LowLevel
from iap_gym.envs.quadruped.pmtg import ACTION_SIZE, PMTGController

LATENT = 5


def inputs(rng, latent_size=LATENT):
    return (
        rng.uniform(-1, 1, latent_size),
        rng.normal(size=4),
        a1.neutral_pose() + rng.normal(size=12),
        rng.uniform(0, 1, 2),
    )


@pytest.fixture
def low_level():
    rng = np.random.default_rng(0)
    made = LowLevel(LATENT)
    made.set_vector(rng.normal(size=made.num_parameters))
    return made


def test_it_is_a_linear_map_with_bias(low_level):
    rng = np.random.default_rng(1)
    latent, imu, angles, state = inputs(rng)
    x = np.concatenate([latent, imu, angles - a1.neutral_pose(), state])
    assert x.shape == (low_level.input_size,) == (LATENT + 18,)
    wanted = [
        sum(low_level.weight[i, j] * x[j] for j in range(len(x))) + low_level.bias[i]
        for i in range(ACTION_SIZE)
    ]
    np.testing.assert_allclose(low_level(latent, imu, angles, state), wanted)


def test_it_starts_as_the_gait_itself():
    low_level = LowLevel(0)
    action = low_level(*inputs(np.random.default_rng(2), 0))
    np.testing.assert_array_equal(action, np.zeros(ACTION_SIZE))
    np.testing.assert_array_equal(
        PMTGController().targets(action, 0.01), PMTGController().targets(np.zeros(16), 0.01)
    )


def test_steering_turns_by_the_first_latent_number_alone():
    low_level = LowLevel.steering(3, gain=0.6)
    rng = np.random.default_rng(3)
    for _ in range(5):
        latent, *rest = inputs(rng, 3)
        wanted = np.zeros(ACTION_SIZE)
        wanted[3] = 0.6 * latent[0]
        np.testing.assert_allclose(low_level(latent, *rest), wanted)


def test_the_vector_holds_every_parameter(low_level):
    vector = low_level.get_vector()
    assert vector.shape == (low_level.num_parameters,) == (16 * (LATENT + FEEDBACK_SIZE + 1),)
    np.testing.assert_array_equal(vector[-16:], low_level.bias)
    np.testing.assert_array_equal(vector[: low_level.input_size], low_level.weight[0])
    other = LowLevel.from_vector(LATENT, vector)
    np.testing.assert_array_equal(other.get_vector(), vector)
    arguments = inputs(np.random.default_rng(4))
    np.testing.assert_array_equal(other(*arguments), low_level(*arguments))
    # Neither side shares memory with the other.
    vector[:] = 0
    assert np.abs(other.get_vector()).min() > 0


def test_a_file_keeps_it_to_the_bit(low_level, tmp_path):
    path = tmp_path / "weights" / "low_level.npz"
    low_level.save(path)
    found = LowLevel.load(path)
    assert found.latent_size == LATENT
    np.testing.assert_array_equal(found.get_vector(), low_level.get_vector())
    assert LowLevel.load(str(path), latent_size=LATENT).latent_size == LATENT
    first = path.read_bytes()
    low_level.save(path)
    assert path.read_bytes() == first  # no time, no path
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_another_latent_size_is_refused(low_level, tmp_path):
    low_level.save(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"latent_size: expected 4.*got 5 in .*a\.npz$"):
        LowLevel.load(tmp_path / "a.npz", latent_size=4)


def test_damaged_files_are_refused(low_level, tmp_path):
    path = tmp_path / "a.npz"
    with pytest.raises(FileNotFoundError, match=r"^low_level .*a\.npz: expected .* there is none"):
        LowLevel.load(path)
    with pytest.raises(ValueError, match=r"^low_level .*: expected .* got a folder"):
        LowLevel.load(tmp_path)
    low_level.save(path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for content in (b"", b"junk", whole[:-40], whole[:100], flipped):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.npz: expected a file of iap_gym low level") as no:
            LowLevel.load(path)
        assert "pickle" not in str(no.value)


@pytest.mark.parametrize(
    "change",
    [
        {"version": np.array(2)},
        {"format": np.array("another")},
        {"weight": np.zeros((16, 3))},
        {"bias": np.zeros(15)},
        {"bias": np.full(16, np.nan)},
        {"latent_size": np.array(-1)},
        {"latent_size": np.array([1, 2])},
        {"latent_size": np.array("many")},
        {"latent_size": np.array(2.5)},
        {"more": np.zeros(1)},
        {"weight": np.array([object()])},
        {"bias": None},
    ],
)
def test_files_of_other_contents_are_refused(low_level, tmp_path, change):
    path = tmp_path / "a.npz"
    low_level.save(path)
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files}
    content |= change
    np.savez(path, **{name: array for name, array in content.items() if array is not None})
    with pytest.raises(ValueError, match=r"a\.npz"):
        LowLevel.load(path)


@pytest.mark.parametrize(
    ("index", "name"), [(0, "latent"), (1, "imu"), (2, "motor_angles"), (3, "phase_state")]
)
@pytest.mark.parametrize("wrong", ["short", "nan"])
def test_wrong_inputs_are_named(low_level, index, name, wrong):
    arguments = list(inputs(np.random.default_rng(5)))
    if wrong == "short":
        arguments[index] = arguments[index][:-1]
    else:
        arguments[index][0] = np.nan
    with pytest.raises(ValueError, match=f"{name}: expected finite numbers"):
        low_level(*arguments)


def test_wrong_arguments_are_refused(low_level):
    for path in (3, None, [1]):
        with pytest.raises(ValueError, match=r"path: expected a path, got (3|None|\[1\])"):
            LowLevel.load(path)
    for size in (-1, 1.5, True, "3"):
        with pytest.raises(ValueError, match="latent_size"):
            LowLevel(size)
    with pytest.raises(ValueError, match="latent_size"):
        LowLevel.steering(0)
    with pytest.raises(ValueError, match="gain"):
        LowLevel.steering(1, gain=np.inf)
    for vector in (np.zeros(3), np.full(low_level.num_parameters, np.nan)):
        with pytest.raises(ValueError, match="vector"):
            low_level.set_vector(vector)
