"""Settings of agents, as arguments of the algorithm that trains them or of a whole training run.

``attention_agent`` is for ``EvolutionStrategies``, ``minigrid`` for ``RecurrentPPO``: published
agents, which leave the environment to the caller. ``training`` gives the settings of a run of
``iap-gym train --preset NAME``. All return JSON values, a fresh copy with every call.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym.baselines.quadruped.stages import STAGES

PRESETS = STAGES  # by name, each a function without arguments

IMAGE_SIZE, PATCH_SIZE, STRIDE, CHANNELS = 96, 7, 4, 3
PATCH_DIM, D_QK, SELECTED, HIDDEN = PATCH_SIZE**2 * CHANNELS, 4, 10, 16

MINIGRID_ENVS = 16  # side by side, what `minigrid` is meant for: procs in train_fc.py


def training(name: str) -> dict[str, Any]:
    """Return the fields of ``iap_gym.baselines.experiments.config.TrainConfig`` of a preset.

    Raises:
        ValueError: there is no preset of that name.
    """
    return copy.deepcopy(PRESETS[_checks.one_of("preset", name, PRESETS)]())


def attention_agent() -> dict[str, Any]:
    """Return AttentionAgent as arguments of ``EvolutionStrategies``, of JSON values.

    Tang, Nguyen and Ha 2020, "Neuroevolution of Self-Interpretable Agents", with the constants of
    the published code: patches of 7x7 with stride 4 (529 in 96x96), queries and keys of 4 numbers
    with biases, logits divided by sqrt(147), softmax over keys, the sum over queries, the 10 best
    patches in order of importance, their centres as fractions of the image, an LSTM of 16 and a
    linear layer, tanh mapped to the range of each action (on CarRacing [-1, 1] x [0, 1] x [0, 1]).
    On 96x96 RGB images and three actions it has 3,667 parameters, as published.

    Two things differ. Patch i begins at pixel 4i and its centre is at (4i + 3.5) / 96 here, at
    (4i + 3) / 96 there; the bias of the LSTM takes up the difference (``attention_agent_vector``
    does so). And the published search is CMA-ES with populations of 256, which is not part of this
    package: population, sigma and learning rate are left to the caller.

        EvolutionStrategies(
            env="iap_gym.envs.car_racing_variants:iap_gym/CarRacing-v0",
            env_kwargs={"max_negative_rewards": 20},
            **attention_agent(),
        )
    """
    return {
        "policy": "LstmPolicy",
        "policy_kwargs": {
            "hidden_size": HIDDEN,
            "two_biases": True,
            "selector": {
                "patch_size": PATCH_SIZE,
                "stride": STRIDE,
                "num_selected": SELECTED,
                "d_qk": D_QK,
                "kernel": "softmax_normalized",
                "input_scaling": "patch",
                "bias": True,
                "pixel_offset": 0.0,
            },
        },
    }


def minigrid(core: str = "gatel0rd", **changes: Any) -> dict[str, Any]:
    """Return the GateL0RD paper's MiniGrid agent as arguments of ``RecurrentPPO``, of JSON values.

    Gumbsch, Butz and Martius 2021, appendix B.6; what it leaves open comes from the code published
    with it, ``martius-lab/GateL0RD-paper``, src/minigrid: its ``model.py`` and ``ppo.py``, and the
    defaults of its ``train_fc.py``, which are those of rl-starter-files. It is for the image alone
    (``iap_gym.baselines.minigrid.make_minigrid``) and ``MINIGRID_ENVS`` environments:

        env = make_vec_env(make_minigrid, 16, env_kwargs={"env_id": "MiniGrid-DoorKey-8x8-v0"})
        RecurrentPPO(env=env, **minigrid("lstm"))

    How many steps each task was trained for is not published. Against the published code,
    Stable-Baselines3 adds the value of the last state where an episode was cut off at
    ``max_steps``, takes the clipped value alone where that takes the larger of two errors, and
    keeps the latent states of the rollout through all epochs.

    Args:
        core: "gatel0rd", or "lstm", "gru", "elman", "clockwork" with everything else unmodified,
            as the paper has it for the LSTM.
        **changes: arguments of ``RecurrentPPO`` that take the place of these, or are new; those
            under ``policy_kwargs`` one by one. For KeyCorridor the paper also shows
            ``learning_rate=0.0005`` (D.9), with which its LSTM learns better.
    """
    policy_kwargs: dict[str, Any] = {
        "features_extractor_class": "iap_gym.baselines.minigrid:MiniGridFeatures",  # B.6, model.py
        "normalize_images": False,  # model.py: the integers as they are
        "hidden_size": 64,  # B.6; the output of GateL0RD has as many
        "net_arch": {"pi": [64], "vf": [64]},  # B.6; tanh, as Stable-Baselines3 has by itself
        "row_normalized_init": True,  # model.py; other layers start as torch has them
        "optimizer_kwargs": {"eps": 1e-4},  # B.6; its betas .9 and .999 are those of torch
    }
    settings: dict[str, Any] = {
        "policy": "CnnCorePolicy",
        "core": core,
        "core_sharing": "shared",  # model.py: one core, the gradients of actor and critic
        "gate_penalty": 0.01,  # B.6
        "bptt": 32,  # B.6
        "n_steps": 128,  # ppo.py
        "batch_size": 256,  # B.6: 8 sequences of 32
        "n_epochs": 4,  # B.6
        "learning_rate": 1e-3,  # B.6
        "gamma": 0.99,  # B.6
        "gae_lambda": 0.99,  # B.6
        "max_grad_norm": 0.1,  # B.6
        "clip_range": 0.2,  # train_fc.py
        "clip_range_vf": 0.2,  # ppo.py clips the value as it does the policy
        "normalize_advantage": False,  # ppo.py does not
        "ent_coef": 0.01,  # train_fc.py
        "vf_coef": 0.5,  # train_fc.py
    }
    policy_kwargs |= changes.pop("policy_kwargs", None) or {}
    return {**settings, "policy_kwargs": policy_kwargs, **changes}


def attention_agent_vector(published: ArrayLike) -> NDArray[np.float32]:
    """Return the parameters of a published AttentionAgent in the order of our policy.

    The published files hold the array ``params``: queries, keys, LSTM and output layer, each with
    its biases before its matrices, and the recurrent before the input part.

    Args:
        published: (3667,) for CarRacing; (3633,), with one output, for TakeCover.

    Returns:
        float32 of the same size, for ``policy.set_vector``.

    Raises:
        ValueError: another size.
    """
    numbers = np.asarray(published, np.float64)
    inputs, gates = 2 * SELECTED, 4 * HIDDEN
    fixed = 2 * (D_QK + D_QK * PATCH_DIM) + 2 * gates + gates * (HIDDEN + inputs)
    outputs = (numbers.size - fixed) // (1 + HIDDEN)
    if numbers.ndim != 1 or outputs < 1 or numbers.size != fixed + outputs * (1 + HIDDEN):
        wanted = f"shape ({fixed} + {1 + HIDDEN} times the outputs,)"
        raise _checks.refuse("published", wanted, numbers.shape)
    shapes = (
        *((D_QK,), (D_QK, PATCH_DIM)) * 2,
        *((gates,), (gates,), (gates, HIDDEN), (gates, inputs)),
        *((outputs,), (outputs, HIDDEN)),
    )
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    parts = [
        part.reshape(shape) for part, shape in zip(np.split(numbers, ends), shapes, strict=True)
    ]
    b_q, w_q, b_k, w_k, b_hidden, b_input, w_hidden, w_input, b_output, w_output = parts
    # Our centres lie half a pixel further.
    b_input = b_input - w_input.sum(1) * (PATCH_SIZE / 2 - PATCH_SIZE // 2) / IMAGE_SIZE
    ours = (w_q.T, w_k.T, b_q, b_k, w_input, b_input, w_hidden, b_hidden, w_output, b_output)
    return np.concatenate([part.ravel() for part in ours]).astype(np.float32)
