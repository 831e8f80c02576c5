"""Gymnasium vector environments for Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from iap_gym import _checks


class VectorEnvAdapter(VecEnv):
    """Lets Stable-Baselines3 train on a Gymnasium vector environment.

    An ended environment is started anew in the same step, as SB3 expects it, with the last
    observation in ``info["terminal_observation"]``; Gymnasium's infos are left out. With
    ``VecMonitor`` around it this is what ``DummyVecEnv`` is around single environments.

    Args:
        env: a vector environment with arrays as observations that can reset some of its
            environments (``options={"reset_mask": ...}``).

    Raises:
        ValueError: its observations are no arrays; the environment resets by itself in the step
            that ends an episode, or, where one ends, all that it has.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        mode = env.metadata.get("autoreset_mode")
        if mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
            raise _checks.refuse("env", "autoreset_mode NEXT_STEP or DISABLED", mode)
        if isinstance(env.single_observation_space, spaces.Dict | spaces.Tuple):
            wanted = "observations that are arrays"
            raise _checks.refuse("env", wanted, env.single_observation_space)
        self.env = env
        self._actions: Any = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        """Start an episode everywhere, with what ``seed`` and ``set_options`` left for this."""
        seeds: Any = None if None in self._seeds else self._seeds
        options = self._options[0] or None
        self._reset_seeds()
        self._reset_options()
        return self.env.reset(seed=seeds, options=options)[0]

    def set_options(self, options: Any = None) -> None:
        """Keep the options of the next ``reset``, which the vector environment gets as they are.

        Raises:
            ValueError: a list of options, one for each environment, of which there is one object.
        """
        if options is not None:
            wanted = "a dict for all environments, which are one object, or None"
            _checks.instance("options", options, dict, wanted)
        super().set_options(options)

    def step_async(self, actions: Any) -> None:
        """Keep the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Take the actions, and start anew where an episode ended."""
        observations, rewards, terminated, truncated, _ = self.env.step(self._actions)
        ended = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if ended.any():
            # A copy, as environments may write into one array again and again.
            last = np.array(observations)
            for index in np.flatnonzero(ended).tolist():
                infos[index]["terminal_observation"] = last[index]
                infos[index]["TimeLimit.truncated"] = not terminated[index]
            observations = self.env.reset(options={"reset_mask": ended})[0]
            if not np.array_equal(observations[~ended], last[~ended], equal_nan=True):
                wanted = 'a vector environment that resets those of options["reset_mask"] alone'
                raise _checks.refuse("env", wanted, self.env)
        return observations, np.asarray(rewards, np.float32), ended, infos

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a picture of each environment, or None for each if it draws none."""
        return list(self.env.render() or [None] * self.num_envs)  # type: ignore[arg-type]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the vector environment once for each index."""
        return [getattr(self.env, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refuse: the environments are one object."""
        raise NotImplementedError("set_attr: set it on the vector environment itself")

    def env_method(self, method_name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Refuse: the environments are one object."""
        raise NotImplementedError("env_method: call it on the vector environment itself")

    def env_is_wrapped(self, wrapper_class: Any, indices: VecEnvIndices = None) -> list[bool]:
        """Return False for each index: no environment has a wrapper of its own."""
        return [False] * len(list(self._get_indices(indices)))
