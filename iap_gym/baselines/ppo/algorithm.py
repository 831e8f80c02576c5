"""RecurrentPPO with any core."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import sb3_contrib
import torch
from gymnasium import spaces
from sb3_contrib.common.recurrent.buffers import RecurrentDictRolloutBuffer, RecurrentRolloutBuffer
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback
from stable_baselines3.common.utils import explained_variance
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from iap_gym import _checks, _files, _optional
from iap_gym.baselines.minigrid import is_minigrid
from iap_gym.baselines.non_finite import NonFiniteError, NonFiniteRewardError
from iap_gym.baselines.ppo.buffers import TruncatedDictRolloutBuffer, TruncatedRolloutBuffer
from iap_gym.baselines.ppo.finite import (
    FiniteRewards,
    bad_rewards,
    bad_rows,
    describe,
    name_of,
    require_finite,
)
from iap_gym.baselines.ppo.policies import (
    CnnCorePolicy,
    CorePolicy,
    MlpCorePolicy,
    MultiInputCorePolicy,
)
from iap_gym.baselines.ppo.settings import check_schedule, check_settings
from iap_gym.recurrent import gate_penalty as penalty_of
from iap_gym.wrappers.text import DropTextObservation, has_text

Self = TypeVar("Self", bound="RecurrentPPO")


class RecurrentPPO(sb3_contrib.RecurrentPPO):
    """Proximal policy optimization with a recurrent core, GateL0RD first.

    sb3-contrib's ``RecurrentPPO`` whose policies carry a core of ``iap_gym.recurrent``. The loss
    has one more term, ``gate_penalty`` times the fraction of open gates over the steps that are no
    padding (GateL0RD, Equation 2), of sigmoid gates times their mean; the noise on the gates is on
    in the updates, not in rollouts.

    Args:
        policy: "MlpCorePolicy", "CnnCorePolicy", "MultiInputCorePolicy" or a subclass of
            ``CorePolicy``.
        env: a gymnasium environment, a ``VecEnv`` or an id. Text in the observation of a single
            environment, such as MiniGrid's mission, is left out.
        core: "gatel0rd", "lstm", "gru", "elman" or "clockwork".
        core_sharing: "shared" is one core for actor and critic with the gradients of both, as in
            the GateL0RD paper; "separate" is one for each.
        gate_penalty: λ >= 0; without effect on cores that have no gates.
        bptt: most steps of a sequence in an update; None is as long as they come.
        core_kwargs: options of the core, such as ``{"num_layers": 2}``.
        stopped_path: where the model is saved if an observation or a reward in training is not
            finite; .zip is added if missing; None does not save.
        **kwargs: those of sb3-contrib's, ``learning_rate`` to ``device``; ``policy_kwargs`` are
            those of ``CorePolicy``.

    Raises:
        ValueError: an argument is wrong; the message names it.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpCorePolicy": MlpCorePolicy,
        "CnnCorePolicy": CnnCorePolicy,
        "MultiInputCorePolicy": MultiInputCorePolicy,
    }
    policy: CorePolicy  # type: ignore[assignment]
    rollout_buffer: RecurrentRolloutBuffer | RecurrentDictRolloutBuffer  # type: ignore[assignment]
    clip_range: Any  # a number that _setup_model makes a schedule
    clip_range_vf: Any

    def __init__(
        self,
        policy: str | type[CorePolicy],
        env: GymEnv | str,
        core: str = "gatel0rd",
        core_sharing: str = "shared",
        gate_penalty: float = 0.01,
        bptt: int | None = None,
        core_kwargs: dict[str, Any] | None = None,
        stopped_path: str | None = "recurrent_ppo_stopped.zip",
        _init_setup_model: bool = True,
        **kwargs: Any,
    ) -> None:
        if isinstance(policy, str):
            _checks.one_of("policy", policy, self.policy_aliases)
        elif not (isinstance(policy, type) and issubclass(policy, CorePolicy)):
            raise _checks.refuse("policy", "a subclass of CorePolicy", policy)
        if isinstance(env, str) and is_minigrid(env):
            _optional.require("minigrid", "minigrid")  # registers the ids
        super().__init__(policy, env, _init_setup_model=False, **kwargs)
        self.core = core
        self.core_sharing = core_sharing
        self.core_kwargs = core_kwargs
        self.gate_penalty = gate_penalty
        self.bptt = bptt
        self.stopped_path = stopped_path
        if _init_setup_model:
            self._setup_model()

    @staticmethod
    def _wrap_env(env: GymEnv, verbose: int = 0, monitor_wrapper: bool = True) -> VecEnv:
        if has_text(env.observation_space):
            if isinstance(env, VecEnv):
                wanted = (
                    "observations without text: wrap every environment in "
                    "iap_gym.wrappers.DropTextObservation"
                )
                raise _checks.refuse("env", wanted, env.observation_space)
            env = DropTextObservation(env)  # type: ignore[arg-type]
        return sb3_contrib.RecurrentPPO._wrap_env(env, verbose, monitor_wrapper)

    def _setup_model(self) -> None:
        self.gate_penalty = _checks.real("gate_penalty", self.gate_penalty, 0.0)
        if self.bptt is not None:
            self.bptt = _checks.integer("bptt", self.bptt, 1)
        check_settings(
            n_steps=self.n_steps,
            n_envs=self.n_envs,
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            normalize_advantage=self.normalize_advantage,
        )
        check_schedule("learning_rate", self.learning_rate)
        check_schedule("clip_range", self.clip_range, exclusive=True)
        if self.clip_range_vf is not None:
            check_schedule("clip_range_vf", self.clip_range_vf, exclusive=True)
        given = self.policy_kwargs
        ours = {name: getattr(self, name) for name in ("core", "core_sharing", "core_kwargs")}
        for name in ours.keys() & given.keys():
            raise _checks.refuse("policy_kwargs", f"{name} beside them, not inside", given)
        self.policy_kwargs = given | ours
        super()._setup_model()
        self.policy_kwargs = given
        if self.bptt is not None:
            is_dict = isinstance(self.observation_space, spaces.Dict)
            truncated = TruncatedDictRolloutBuffer if is_dict else TruncatedRolloutBuffer
            self.rollout_buffer = truncated(
                self.n_steps,
                self.observation_space,
                self.action_space,
                self.rollout_buffer.hidden_state_shape,
                self.device,
                gamma=self.gamma,
                gae_lambda=self.gae_lambda,
                n_envs=self.n_envs,
                bptt=self.bptt,
            )

    def _update_info_buffer(self, infos: list[dict[str, Any]], dones: Any = None) -> None:
        super()._update_info_buffer(infos, dones)
        # sb3-contrib calls this after each step, before it judges the last observation of each
        # truncated episode by itself; only here is it known whose it is.
        for row in np.flatnonzero(dones if dones is not None else []).tolist():
            last = infos[row].get("terminal_observation")
            if last is not None and infos[row].get("TimeLimit.truncated", False):
                require_finite(self.policy.obs_to_tensor(last)[0], names=[row])

    def collect_rollouts(self, env: VecEnv, *arguments: Any, **options: Any) -> bool:
        """Fill the buffer; sb3-contrib's, which stops at a reward that is not finite."""
        return super().collect_rollouts(FiniteRewards(env), *arguments, **options)

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "RecurrentPPO",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Train; see SB3.

        Raises:
            NonFiniteObservationError: an observation holds NaN or infinity. The model, whose
                weights have not seen it, is saved to ``stopped_path`` first.
            NonFiniteRewardError: the same of a reward.
        """
        try:
            return super().learn(
                total_timesteps,
                callback,
                log_interval,
                tb_log_name,
                reset_num_timesteps,
                progress_bar,
            )
        except NonFiniteError as error:
            if error.outside_rollouts:  # of a callback that evaluates, not of the training
                raise
            raise self._stopped(error) from error

    def _stopped(self, error: NonFiniteError) -> NonFiniteError:
        """Save the model, and say where, and when the number came."""
        rows, normalized = error.rows, self._vec_normalize_env
        of_reward = isinstance(error, NonFiniteRewardError)
        if of_reward:
            self.num_timesteps += self.n_envs  # counted after a step only
        # One bad number spoils the running mean of VecNormalize, and with it all others.
        if normalized is not None and of_reward:
            rows = bad_rewards(normalized.get_original_reward()) or rows
        elif normalized is not None:
            original: Any = normalized.get_original_obs()
            rows = bad_rows(original if error.key is None else original[error.key]) or rows
        taken = (self.num_timesteps - self._num_timesteps_at_start) // self.n_envs
        step = (taken - 1) % self.n_steps + 1 if taken else 0
        what = "reward" if of_reward else name_of(error.key)
        message = (
            f"{describe(what, rows)} at step {step} of the rollout, after "
            f"{self.num_timesteps} steps in all"
        )
        if self.stopped_path is not None:
            try:
                path = Path(self.stopped_path)
                path = path if path.suffix == ".zip" else path.with_name(path.name + ".zip")
                with _files.replacing(path) as temporary:
                    self.save(temporary)
            except Exception as failure:  # whatever it is, it must not hide why training stopped
                message += f"; the model could not be saved: {type(failure).__name__}: {failure}"
            else:
                message += f"; the model is saved in {path}"
        return type(error)(message, rows, error.key)

    def train(self) -> None:
        """Update the policy on the rollout: sb3-contrib's ``train`` with the penalty on gates."""
        policy, buffer, logger = self.policy, self.rollout_buffer, self.logger
        policy.set_training_mode(True)
        self._update_learning_rate(policy.optimizer)
        clip_range = self.clip_range(self._current_progress_remaining)
        clip_range_vf = None
        if self.clip_range_vf is not None:
            clip_range_vf = self.clip_range_vf(self._current_progress_remaining)
        logs: dict[str, list[float]] = defaultdict(list)
        go_on = True
        for epoch in range(self.n_epochs):
            logs["approx_kl"].clear()  # that of the last epoch is logged
            for batch in buffer.get(self.batch_size):
                loss, numbers = self._loss(batch, clip_range, clip_range_vf)
                for name, number in numbers.items():
                    logs[name].append(number)
                if self.target_kl is not None and numbers["approx_kl"] > 1.5 * self.target_kl:
                    go_on = False
                    if self.verbose >= 1:
                        divergence = numbers["approx_kl"]
                        logger.info(f"Stopped in epoch {epoch}: approximate KL {divergence:.2f}")
                    break
                policy.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(policy.parameters(), self.max_grad_norm)
                policy.optimizer.step()
            self._n_updates += 1
            if not go_on:
                break

        last_loss = logs.pop("loss")[-1]
        for name, numbers in logs.items():
            logger.record(f"train/{name}", np.mean(numbers))
        logger.record("train/loss", last_loss)
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        logger.record("train/explained_variance", explained)
        if hasattr(policy, "log_std"):
            logger.record("train/std", torch.exp(policy.log_std).mean().item())
        logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        logger.record("train/clip_range", clip_range)
        if clip_range_vf is not None:
            logger.record("train/clip_range_vf", clip_range_vf)

    def _loss(
        self, batch: Any, clip_range: float, clip_range_vf: float | None
    ) -> tuple[Tensor, dict[str, float]]:
        """Return the loss of a minibatch, and the numbers to log."""
        # The buffer keeps the dtype of the space; a Bernoulli distribution wants floats.
        actions = batch.actions.float()
        if isinstance(self.action_space, spaces.Discrete):
            actions = actions.long().flatten()
        mask = batch.mask > 1e-8  # False where a sequence is filled up
        values, log_prob, entropy, gates = self.policy.evaluate_with_gates(
            batch.observations, actions, batch.lstm_states, batch.episode_starts
        )
        values = values.flatten()

        advantages = batch.advantages
        if self.normalize_advantage:
            kept = advantages[mask]
            advantages = (advantages - kept.mean()) / (kept.std() + 1e-8)
        log_ratio = log_prob - batch.old_log_prob
        ratio = torch.exp(log_ratio)
        clipped = torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
        policy_loss = -torch.min(advantages * ratio, advantages * clipped)[mask].mean()
        if clip_range_vf is not None:
            change = torch.clamp(values - batch.old_values, -clip_range_vf, clip_range_vf)
            values = batch.old_values + change
        value_loss = ((batch.returns - values) ** 2)[mask].mean()
        # Without a closed form the entropy is estimated from the actions taken.
        entropy_loss = -(-log_prob if entropy is None else entropy)[mask].mean()
        loss = policy_loss + self.ent_coef * entropy_loss + self.vf_coef * value_loss

        numbers: dict[str, float] = {}
        if gates is not None:
            # The mask is flat, one sequence after the other; the gates are (T, B, K).
            kept = mask.reshape(gates.shape[1], gates.shape[0]).T
            # Sigmoids never close: "l0" would be 1, with the gradient that "l1" has.
            kind = "l1" if (self.core_kwargs or {}).get("gate") == "sigmoid" else "l0"
            gate_rate = penalty_of(gates, kept, kind)
            loss = loss + self.gate_penalty * gate_rate
            numbers["gate_rate"] = gate_rate.item()
            numbers["gate_penalty"] = self.gate_penalty * numbers["gate_rate"]
        with torch.no_grad():
            # Estimator of the divergence: http://joschu.net/blog/kl-approx.html
            numbers["approx_kl"] = ((torch.exp(log_ratio) - 1) - log_ratio)[mask].mean().item()
            numbers["clip_fraction"] = ((ratio - 1).abs() > clip_range)[mask].float().mean().item()
        numbers["policy_gradient_loss"] = policy_loss.item()
        numbers["value_loss"] = value_loss.item()
        numbers["entropy_loss"] = entropy_loss.item()
        numbers["loss"] = loss.item()
        return loss, numbers
