"""What RecurrentPPO is built from: the preset of the environment, defaults, and what was given."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import math
from typing import Any

import sb3_contrib
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.utils import LinearSchedule

from iap_gym import _checks
from iap_gym.baselines import RecurrentPPO, presets
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.minigrid import is_minigrid
from iap_gym.baselines.ppo.settings import check_minibatches

# Said by the config elsewhere, or by the run folder.
NOT_ALGO_KWARGS = (
    *("policy", "env", "core", "seed", "policy_kwargs", "verbose", "tensorboard_log"),
    *("stopped_path", "_init_setup_model"),
)
# What stands beside RecurrentPPO's own arguments.
OUR_KWARGS = {"n_envs": 8, "normalize": False}
SCHEDULES = ("learning_rate", "clip_range", "clip_range_vf")  # a number or "lin_NUMBER"
# What Stable-Baselines3 takes as it comes, and then fails of in the middle of training.
SMALLEST_INTEGERS = {
    **{"n_envs": 1, "n_steps": 1, "batch_size": 1, "n_epochs": 1, "stats_window_size": 1},
    "sde_sample_freq": -1,
}
SMALLEST_NUMBERS = {
    **{"gamma": 0.0, "gae_lambda": 0.0, "max_grad_norm": 0.0, "target_kl": 0.0},
    **{"ent_coef": -math.inf, "vf_coef": -math.inf},
}
DEVICES = ("cpu", "cuda", "mps")
SWITCHES = ("normalize_advantage", "use_sde")
MAY_BE_NONE = ("clip_range_vf", "target_kl")


def fill_in(config: TrainConfig, observation_space: spaces.Space[Any]) -> TrainConfig:
    """Return the config with every setting written out.

    What the config says stands; then come the preset of MiniGrid, for its environments, and the
    defaults of RecurrentPPO. A config that is filled in already is returned as it is.

    Raises:
        ValueError: an algorithm's argument that there is none of, the nearest one is named; or one
            of a wrong kind.
    """
    # On "auto" the GPU would be taken, where small recurrent policies are slower and sums have no
    # fixed order.
    algo_kwargs = {**_defaults(), "device": "cpu", **OUR_KWARGS}
    for name in config.algo_kwargs:
        if name not in algo_kwargs:
            near = difflib.get_close_matches(name, algo_kwargs, n=1)
            wanted = "an argument of RecurrentPPO" + (f" such as {near[0]}" if near else "")
            raise _checks.refuse("algo_kwargs", wanted, name)
    policy, policy_kwargs = _policy_for(observation_space), {}
    if is_minigrid(config.env):
        preset = presets.minigrid(config.core or "gatel0rd")
        policy, policy_kwargs = preset.pop("policy"), preset.pop("policy_kwargs")
        preset.pop("core")
        algo_kwargs |= {"n_envs": presets.MINIGRID_ENVS, **preset}
    algo_kwargs |= config.algo_kwargs
    _check(algo_kwargs)
    return dataclasses.replace(
        config,
        policy=config.policy or policy,
        policy_kwargs={**policy_kwargs, **config.policy_kwargs},
        algo_kwargs=algo_kwargs,
    )


def _check(kwargs: dict[str, Any]) -> None:
    kwargs = {
        name: value for name, value in kwargs.items() if not (value is None and name in MAY_BE_NONE)
    }
    for name, smallest in SMALLEST_INTEGERS.items():
        _checks.integer(name, kwargs[name], smallest)
    for name, smallest in SMALLEST_NUMBERS.items():
        if name in kwargs:
            _checks.real(name, kwargs[name], smallest)
    for name in SWITCHES:
        _checks.boolean(name, kwargs[name])
    for name in SCHEDULES:
        if name in kwargs:
            _schedule(name, kwargs[name])
    check_device(kwargs["device"])
    if not isinstance(kwargs["normalize"], bool | dict):
        wanted = "True, False or the arguments of VecNormalize"
        raise _checks.refuse("normalize", wanted, kwargs["normalize"])
    if kwargs["normalize_advantage"]:
        check_minibatches(kwargs["n_steps"] * kwargs["n_envs"], kwargs["batch_size"])


def check_device(device: Any) -> None:
    """Refuse a device that torch does not know, or a GPU that is not there.

    Stable-Baselines3 would take the CPU in its place, and say nothing.

    Raises:
        ValueError: it is one of these.
    """
    wanted = "'cpu', 'cuda', 'cuda:N' or 'auto'"
    if device == "auto":
        return
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise _checks.refuse("device", wanted, device) from None
    if found.type not in DEVICES:
        raise _checks.refuse("device", wanted, device)
    count = torch.cuda.device_count()
    if found.type == "cuda" and (found.index or 0) >= count:
        wanted = f"one of this machine, where torch finds {count} GPUs"
        raise _checks.refuse("device", wanted, device)


def _defaults() -> dict[str, Any]:
    """Return what RecurrentPPO, and sb3-contrib's that it hands the rest to, take by default."""
    return {
        name: parameter.default
        for source in (sb3_contrib.RecurrentPPO, RecurrentPPO)
        for name, parameter in inspect.signature(source).parameters.items()
        if name not in NOT_ALGO_KWARGS and parameter.default is not inspect.Parameter.empty
    }


def _policy_for(space: spaces.Space[Any]) -> str:
    if isinstance(space, spaces.Dict):
        return "MultiInputCorePolicy"
    return "CnnCorePolicy" if is_image_space(space) else "MlpCorePolicy"


def arguments_of(config: TrainConfig) -> dict[str, Any]:
    """Return a filled-in config's arguments of RecurrentPPO but ``env``.

    Raises:
        ValueError: a schedule that cannot be read.
    """
    kwargs = {name: value for name, value in config.algo_kwargs.items() if name not in OUR_KWARGS}
    for name in SCHEDULES:
        if kwargs[name] is not None:
            kwargs[name] = _schedule(name, kwargs[name])
    return {
        "policy": config.policy,
        "core": config.core,
        "seed": config.seed,
        "stopped_path": None,  # the newest checkpoint is what a run keeps
        # JSON is what comes back from the file, so that both ways build the same.
        "policy_kwargs": json.loads(json.dumps(config.policy_kwargs)),
        **kwargs,
    }


def _schedule(name: str, value: Any) -> float | LinearSchedule:
    wanted = 'a number > 0, or "lin_NUMBER"'
    kind, _, text = value.partition("_") if isinstance(value, str) else ("", "", value)
    try:
        number = _checks.real(name, float(text) if kind == "lin" else text, 0.0, exclusive=True)
    except ValueError:
        raise _checks.refuse(name, wanted, value) from None
    return LinearSchedule(number, 0.0, 1.0) if kind == "lin" else number
