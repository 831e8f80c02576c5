"""The low level of the hierarchical policy: one linear layer, run at every control step."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym._files import replacing
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.pmtg import ACTION_SIZE, GAIT_ACTIONS

Array = NDArray[np.float64]

IMU_SIZE = 4  # roll, pitch, roll rate, pitch rate
STATE_SIZE = 2  # of the trajectory generator
FEEDBACK_SIZE = IMU_SIZE + len(a1.JOINT_NAMES) + STATE_SIZE

FORMAT = "iap_gym low level"
VERSION = 1  # of the layout: inputs, action and their units


class LowLevel:
    """A linear map with bias from what the robot senses to an action of the control "pmtg".

    ``action = W x + b``, with x = [latent, roll, pitch, roll rate, pitch rate, twelve motor angles
    minus the neutral pose, two numbers of the gait's phase], rad and rad/s, and the action's
    sixteen numbers as ``PMTGController`` takes them. It starts as zeros: the gait as it is.

    Args:
        latent_size: L, numbers in the command of the high level.
    """

    def __init__(self, latent_size: int) -> None:
        self.latent_size = _checks.integer("latent_size", latent_size)
        self.weight: Array = np.zeros((ACTION_SIZE, self.input_size))
        self.bias: Array = np.zeros(ACTION_SIZE)
        self._neutral = a1.neutral_pose()

    @classmethod
    def steering(cls, latent_size: int, gain: float = 1.0) -> LowLevel:
        """Return the map that turns by ``gain`` times the first latent number, and no more."""
        low_level = cls(_checks.integer("latent_size", latent_size, 1))
        low_level.weight[GAIT_ACTIONS.index("turn"), 0] = _checks.real("gain", gain)
        return low_level

    @property
    def input_size(self) -> int:
        """Numbers in x, L + 18."""
        return self.latent_size + FEEDBACK_SIZE

    @property
    def num_parameters(self) -> int:
        """Numbers in the weight and the bias, 16 (L + 19)."""
        return self.weight.size + self.bias.size

    def __call__(self, latent: Any, imu: Any, motor_angles: Any, phase_state: Any) -> Array:
        """Return the action (16,) float64, not yet clipped.

        Args:
            latent: (L,).
            imu: (4,) roll, pitch in rad, roll rate, pitch rate in rad/s.
            motor_angles: (12,) rad, in the order of ``a1.JOINT_NAMES``.
            phase_state: (2,), ``TrajectoryGenerator.state``.

        Raises:
            ValueError: another shape, or a number that is not finite.
        """
        x = np.concatenate(
            [
                _checks.array("latent", latent, (self.latent_size,)),
                _checks.array("imu", imu, (IMU_SIZE,)),
                _checks.array("motor_angles", motor_angles, (len(a1.JOINT_NAMES),)) - self._neutral,
                _checks.array("phase_state", phase_state, (STATE_SIZE,)),
            ]
        )
        return self.weight @ x + self.bias

    def get_vector(self) -> Array:
        """Return a copy of the parameters (num_parameters,): the weight by rows, then the bias."""
        return np.concatenate([self.weight.ravel(), self.bias])

    def set_vector(self, vector: Any) -> None:
        """Take parameters in the order of ``get_vector``.

        Raises:
            ValueError: another shape, or a number that is not finite.
        """
        parameters = _checks.array("vector", vector, (self.num_parameters,))
        self.weight = parameters[: self.weight.size].reshape(self.weight.shape).copy()
        self.bias = parameters[self.weight.size :].copy()

    @classmethod
    def from_vector(cls, latent_size: int, vector: Any) -> LowLevel:
        """Return a low level with the parameters of ``get_vector``."""
        low_level = cls(latent_size)
        low_level.set_vector(vector)
        return low_level

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map to a file of numpy's form .npz; one that is there is replaced at once."""
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                format=np.array(FORMAT),
                version=np.array(VERSION),
                latent_size=np.array(self.latent_size),
                weight=self.weight,
                bias=self.bias,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str], latent_size: int | None = None) -> LowLevel:
        """Read a map.

        Args:
            path: of a file of ``save``.
            latent_size: what it should be; None takes what the file says.

        Raises:
            FileNotFoundError: there is no file.
            ValueError: it is no path, a folder, damaged, no low level, or of another version or
                latent size.
        """
        _checks.instance("path", path, str | os.PathLike, "a path")  # type: ignore[arg-type]
        content = _read(Path(path))
        try:
            low_level = cls(content["latent_size"].tolist())
            weight = _checks.array("weight", content["weight"], low_level.weight.shape)
            bias = _checks.array("bias", content["bias"], low_level.bias.shape)
        except ValueError as error:
            raise ValueError(f"low_level {path}: {error}") from None
        if latent_size not in (None, low_level.latent_size):
            found = _checks.Words(f"{low_level.latent_size} in {path}")
            raise _checks.refuse("latent_size", f"{latent_size}, as what uses it", found)
        low_level.weight, low_level.bias = weight, bias
        return low_level


def _read(path: Path) -> dict[str, Any]:
    """Return the arrays of a file, whose format and version are known to be ours."""
    wanted = f"a file of {FORMAT}, version {VERSION}"
    content: dict[str, Any] = {}
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
        found = f"{content.pop('format')}, version {content.pop('version')}"
        whole = content.keys() == {"latent_size", "weight", "bias"}
    except FileNotFoundError:
        raise FileNotFoundError(f"low_level {path}: expected {wanted}, there is none") from None
    except IsADirectoryError:
        raise ValueError(f"low_level {path}: expected {wanted}, got a folder") from None
    except OSError:
        raise
    except Exception:  # zipfile and numpy have many for damaged bytes, with advice to unpickle
        text = f"low_level {path}: expected {wanted}, got a file that is damaged or no .npz"
        raise ValueError(text) from None
    if found != f"{FORMAT}, version {VERSION}" or not whole:
        raise ValueError(f"low_level {path}: expected {wanted}, got {found} with {sorted(content)}")
    return content
