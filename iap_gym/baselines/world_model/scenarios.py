"""The published scenarios: models, data sets and how they were trained.

From Appendix B of Gumbsch, Butz and Martius (NeurIPS 2021), its Table 1, and the configurations
that their code came with; where the two differ, the number of epochs is that of the paper.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from iap_gym import _checks
from iap_gym.recurrent import CORES

DECAY = 0.998  # of the probability of real inputs, each epoch
BATCH_SIZE = 128


class DataSet(NamedTuple):
    """A data set of ``iap_gym.data``, and how many of its sequences were used."""

    name: str
    split: str
    sequences: int


@dataclass(frozen=True)
class Scenario:
    """One scenario.

    Attributes:
        name: "billiard", "rrc", "shepherd", "fetch" or "fetch-diverse".
        env: id of the environment.
        obs_size: O.
        action_size: A.
        hidden_size: H.
        pre_widths: layers of f_pre.
        context_widths: layers of f_init before the last.
        context_inputs: k, inputs that f_init sees.
        internal_layers: of GateL0RD's g and r.
        stacked_layers: of the other cores.
        train: what is trained on.
        tests: by name what is evaluated on: "val", "test", and "gen", another distribution.
        learning_rate: of Adam, with scheduled sampling.
        teacher_rates: that with teacher forcing, by core, None for all others.
        penalty: λ.
        min_probability: p_min, down to which real inputs become rare.
        start_steps: first steps that always take real inputs.
        epochs: over the training set.
    """

    name: str
    env: str
    obs_size: int
    action_size: int
    hidden_size: int
    pre_widths: tuple[int, ...]
    context_widths: tuple[int, ...]
    context_inputs: int
    internal_layers: int
    stacked_layers: int
    train: DataSet
    tests: dict[str, DataSet]
    learning_rate: float
    penalty: float
    min_probability: float
    start_steps: int
    epochs: int
    teacher_rates: dict[str | None, float] = field(default_factory=dict[str | None, float])

    def model_settings(self, core: str = "gatel0rd") -> dict[str, Any]:
        """Return the arguments of ``WorldModel`` for a core.

        Raises:
            ValueError: there is no such core.
        """
        _checks.one_of("core", core, CORES)
        key = "num_internal_layers" if core == "gatel0rd" else "num_layers"
        layers = self.internal_layers if core == "gatel0rd" else self.stacked_layers
        return {
            "obs_size": self.obs_size,
            "action_size": self.action_size,
            "core": core,
            "hidden_size": self.hidden_size,
            "pre_widths": list(self.pre_widths),
            "context_widths": list(self.context_widths),
            "context_inputs": self.context_inputs,
            "core_options": {key: layers},
        }

    def rate_of(self, core: str, sampling: str) -> float:
        """Return the learning rate of a core, with "scheduled" sampling or "teacher" forcing."""
        if core == "clockwork":  # Appendix D.6
            return 0.001
        if sampling == "scheduled" or not self.teacher_rates:
            return self.learning_rate
        return self.teacher_rates.get(core, self.teacher_rates[None])


_BILLIARD = Scenario(
    name="billiard",
    env="iap_gym/BilliardBall-v0",
    obs_size=2,
    action_size=0,
    hidden_size=8,
    pre_widths=(64, 32, 16),
    context_widths=(64, 32),
    context_inputs=2,
    internal_layers=3,
    stacked_layers=3,
    train=DataSet("billiard", "train", 12_800),
    tests={
        "val": DataSet("billiard", "val", 3_200),
        "test": DataSet("billiard", "test", 3_200),
    },
    learning_rate=0.0005,
    teacher_rates={"elman": 0.0005, None: 0.001},
    penalty=0.001,
    min_probability=0.0,
    start_steps=2,
    epochs=5_000,
)

_ROBOT = Scenario(
    name="rrc",
    env="iap_gym/RobotRemoteControl-v0",
    obs_size=4,
    action_size=2,
    hidden_size=8,
    pre_widths=(32, 16, 8),
    context_widths=(16,),
    context_inputs=1,
    internal_layers=1,
    stacked_layers=1,
    train=DataSet("rrc-time", "train", 6_400),
    tests={
        "val": DataSet("rrc-time", "val", 6_400),
        "test": DataSet("rrc-time", "test", 6_400),
        "gen": DataSet("rrc-random", "test", 6_400),
    },
    learning_rate=0.005,
    penalty=0.001,
    min_probability=0.02,
    start_steps=1,
    epochs=5_000,
)

_SHEPHERD = Scenario(
    name="shepherd",
    env="iap_gym/Shepherd-v0",
    obs_size=7,
    action_size=3,
    hidden_size=8,
    pre_widths=(64, 32, 16),
    context_widths=(64, 32),
    context_inputs=2,
    internal_layers=1,
    stacked_layers=1,
    train=DataSet("shepherd", "train", 12_800),
    tests={
        "val": DataSet("shepherd", "val", 6_400),
        "test": DataSet("shepherd", "test", 12_800),
    },
    learning_rate=0.001,
    penalty=0.0001,
    min_probability=0.05,
    start_steps=2,
    epochs=10_000,
)

_FETCH = Scenario(
    name="fetch",
    env="iap_gym/FetchPickAndPlace-v0",
    obs_size=11,
    action_size=4,
    hidden_size=16,
    pre_widths=(64, 32, 16),
    context_widths=(32,),
    context_inputs=1,
    internal_layers=1,
    stacked_layers=1,
    train=DataSet("fetch-grasp", "train", 3_200),
    tests={
        "val": DataSet("fetch-grasp", "val", 640),
        "test": DataSet("fetch-grasp", "test", 640),
        "gen": DataSet("fetch-grasp", "gen", 3_200),
    },
    learning_rate=0.005,
    penalty=0.0001,
    min_probability=0.05,
    start_steps=1,
    epochs=5_000,
)

# Appendix D.8; its learning rate was not published, and λ of 0 and of 0.001 are in its figure.
_DIVERSE = dataclasses.replace(
    _FETCH,
    name="fetch-diverse",
    internal_layers=3,
    stacked_layers=3,
    train=DataSet("fetch-diverse", "train", 12_800),
    tests={
        "val": DataSet("fetch-diverse", "val", 6_400),
        "test": DataSet("fetch-diverse", "test", 6_400),
    },
    penalty=0.001,
)

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario for scenario in (_BILLIARD, _ROBOT, _SHEPHERD, _FETCH, _DIVERSE)
}


def scenarios_of(env: str) -> list[Scenario]:
    """Return the scenarios of an environment, the main one first.

    Raises:
        ValueError: none was published for it.
    """
    _checks.one_of("env", env, sorted({scenario.env for scenario in SCENARIOS.values()}))
    return [scenario for scenario in SCENARIOS.values() if scenario.env == env]


def scenario_of(env: str, dataset: str | None = None) -> Scenario:
    """Return the scenario of an environment: the one that trains on a data set, or the main one.

    Raises:
        ValueError: none was published for the environment.
    """
    found = scenarios_of(env)
    return next((scenario for scenario in found if scenario.train.name == dataset), found[0])
