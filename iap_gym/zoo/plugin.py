"""What the zoo is told about our algorithm: classes, hyperparameters, ranges to search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import rl_zoo3
import rl_zoo3.hyperparams_opt
import yaml
from rl_zoo3.exp_manager import ExperimentManager

from iap_gym.baselines.minigrid import is_minigrid
from iap_gym.baselines.ppo import RecurrentPPO

NAME = "iap_recurrent_ppo"

# What --algo takes, and its core. A core has a name of its own because the zoo puts the runs of
# each algorithm into a folder of that name.
ALGORITHMS: dict[str, str] = {
    NAME: "gatel0rd",
    **{f"{NAME}_{core}": core for core in ("lstm", "gru", "elman", "clockwork")},
}

HYPERPARAMS = Path(__file__).with_name("hyperparams") / f"{NAME}.yml"
# Whose hyperparameters the tasks of MiniGrid have that the file does not know.
MINIGRID_DEFAULT = "MiniGrid-DoorKey-8x8-v0"


def install() -> None:
    """Add our algorithms to the zoo's tables, those for ``--optimize-hyperparameters`` included."""
    for name in ALGORITHMS:
        rl_zoo3.ALGOS[name] = RecurrentPPO
        rl_zoo3.hyperparams_opt.HYPERPARAMS_SAMPLER[name] = sample_hyperparameters
        rl_zoo3.hyperparams_opt.HYPERPARAMS_CONVERTER[name] = convert_hyperparameters


class CoreExperiments(ExperimentManager):
    """The zoo's experiments, which find our hyperparameters and set the core that --algo names."""

    def __init__(
        self, args: Any, algo: str, *arguments: Any, config: str | None = None, **options: Any
    ) -> None:
        ours = algo in ALGORITHMS
        if ours and config is None:
            config = str(HYPERPARAMS)
        super().__init__(args, algo, *arguments, config=config, **options)
        if ours:
            # As if given with --hyperparams, so that it is saved with the others.
            given = self.custom_hyperparams or {}
            self.custom_hyperparams = {"core": ALGORITHMS[algo], **given}

    def read_hyperparameters(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read those of the environment; see the zoo."""
        name = self.env_name
        ours = self.config == str(HYPERPARAMS) and is_minigrid(name.gym_id)
        if ours and name.gym_id not in yaml.safe_load(HYPERPARAMS.read_text()):
            print(f"Using the hyperparameters of {MINIGRID_DEFAULT}")  # noqa: T201, as the zoo does
            self.env_name = type(name)(MINIGRID_DEFAULT)
        try:
            return super().read_hyperparameters()
        finally:
            self.env_name = name


def sample_hyperparameters(
    trial: optuna.Trial, n_actions: int, n_envs: int, additional_args: dict[str, Any]
) -> dict[str, Any]:
    """Propose hyperparameters for the zoo's search, those of cores among them.

    The network is left as the file has it. Signature and use are the zoo's.
    """
    return {
        "learning_rate": trial.suggest_float("learning_rate", 1e-5, 2e-3, log=True),
        "ent_coef": trial.suggest_float("ent_coef", 1e-8, 0.1, log=True),
        "gae_lambda": trial.suggest_float("gae_lambda", 0.9, 1.0),
        "max_grad_norm": trial.suggest_float("max_grad_norm", 0.05, 2.0, log=True),
        "n_epochs": trial.suggest_int("n_epochs", 1, 10),
        "gate_penalty": trial.suggest_float("gate_penalty", 1e-4, 0.1, log=True),
        "bptt": trial.suggest_categorical("bptt", [8, 16, 32]),
    }


def convert_hyperparameters(sampled_params: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the algorithm for a trial's numbers, which are these themselves."""
    return dict(sampled_params)
