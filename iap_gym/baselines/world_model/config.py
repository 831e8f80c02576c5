"""What the training of a world model is made from; saved in its run folder as JSON."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from iap_gym import _checks
from iap_gym.baselines.world_model.model import WorldModel
from iap_gym.baselines.world_model.sampling import sampling_probability
from iap_gym.baselines.world_model.scenarios import (
    BATCH_SIZE,
    DECAY,
    DataSet,
    Scenario,
    scenario_of,
    scenarios_of,
)
from iap_gym.data.making import check_variant
from iap_gym.data.recipes import SPLITS
from iap_gym.recurrent import CORES
from iap_gym.recurrent.gates import PENALTIES

ALGO = "world-model"
GATED = "gatel0rd"  # the core that has gates
SAMPLINGS = ("scheduled", "teacher")
DECIDED = ("obs_size", "action_size", "core", "backend")  # of the model, by other fields
MODEL_ARGUMENTS = tuple(
    name for name in inspect.signature(WorldModel).parameters if name not in DECIDED
)


@dataclass(frozen=True)
class ModelConfig:
    """Everything that decides the outcome of a training run of a world model.

    What is None is as published for the environment and the core; ``fill_in`` gives the number.

    Raises:
        ValueError: an argument is wrong; the message names it.
    """

    env: str
    """Id of an environment with a published scenario, see ``SCENARIOS``."""
    algo: str = ALGO
    """Always ``"world-model"``."""
    core: str = "gatel0rd"
    """Recurrent core: a name of ``iap_gym.recurrent.CORES``."""
    seed: int = 0
    """Decides initial weights, the order of sequences, real inputs and noise; not the data."""
    epochs: int | None = None
    """Passes over the training sequences."""
    data: str = "data"
    """Folder of data sets; what it lacks is made. Training writes its absolute path."""
    data_sha256: dict[str, str] | None = None
    """Checksum of each set, "train" and those of the tests, which training writes as it begins and
    compares as it goes on."""
    variant: str = "code"
    """Of the world that data sets come from, "code" or "paper"."""
    dataset: str | None = None
    """Name of another data set of the environment to train on, validate and test with."""
    sequences: int | None = None
    """How many to train on."""
    test_sequences: int | None = None
    """How many of each other set, where it has more."""
    batch_size: int = BATCH_SIZE
    """Sequences of a batch."""
    learning_rate: float | None = None
    """Of Adam."""
    penalty: float | None = None
    """λ, the weight of the penalty on open gates."""
    penalty_kind: str = "l0"
    """"l0", "l1" or "l2"."""
    sampling: str = "scheduled"
    """"scheduled" sampling, or "teacher" forcing: all inputs real."""
    decay: float = DECAY
    """Factor of the probability of real inputs from epoch to epoch."""
    min_probability: float | None = None
    """Below which that probability does not fall."""
    start_steps: int | None = None
    """First steps that always take real inputs."""
    max_grad_norm: float = 0.1
    """To which the global norm of gradients is clipped."""
    evaluate_every: int = 100
    """Epochs between evaluations on the other sets, and between checkpoints."""
    model: dict[str, Any] = field(default_factory=dict[str, Any])
    """Arguments of ``WorldModel`` in the place of published ones; ``core_options`` are added."""

    def __post_init__(self) -> None:
        _checks.one_of("algo", self.algo, (ALGO,))
        scenarios = scenarios_of(self.env)
        _checks.one_of("core", self.core, CORES)
        _checks.integer("seed", self.seed, 0)
        _checks.instance("data", self.data, str, "the path of a folder")
        if self.data_sha256 is not None:
            _checks.instance("data_sha256", self.data_sha256, dict, "a dict of checksums or None")
        check_variant(scenarios[0].train.name, self.variant)
        names = {s.train.name for s in scenarios}
        names |= {test.name for s in scenarios for test in s.tests.values()}
        if self.dataset is not None:
            _checks.one_of("dataset", self.dataset, sorted(names))
        _checks.integer("batch_size", self.batch_size, 1)
        _checks.integer("evaluate_every", self.evaluate_every, 1)
        for name in ("epochs", "sequences", "test_sequences", "start_steps"):
            if getattr(self, name) is not None:
                _checks.integer(name, getattr(self, name), 1)
        for name in ("learning_rate", "penalty"):
            if getattr(self, name) is not None:
                _checks.real(name, getattr(self, name), 0.0)
        if self.min_probability is not None:
            _checks.real("min_probability", self.min_probability, 0.0, 1.0)
        _checks.one_of("penalty_kind", self.penalty_kind, PENALTIES)
        if self.core != GATED and self.penalty:
            wanted = f"0 or None, as {self.core} has no gates"
            raise _checks.refuse("penalty", wanted, self.penalty)
        if self.core != GATED and self.penalty_kind != "l0":
            wanted = f'"l0", as {self.core} has no gates'
            raise _checks.refuse("penalty_kind", wanted, self.penalty_kind)
        _checks.one_of("sampling", self.sampling, SAMPLINGS)
        _checks.real("decay", self.decay, 0.0, 1.0)
        _checks.real("max_grad_norm", self.max_grad_norm, 0.0, exclusive=True)
        _checks.instance("model", self.model, dict, "a dict of arguments of WorldModel")
        for name in self.model:
            if name in DECIDED:
                raise _checks.refuse("model", f"no {name!r}, which is decided elsewhere", name)
            if name not in MODEL_ARGUMENTS:
                near = difflib.get_close_matches(str(name), MODEL_ARGUMENTS, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                wanted = f"arguments of WorldModel among {', '.join(MODEL_ARGUMENTS)}"
                raise ValueError(f"{_checks.refuse('model', wanted, name)}{hint}")

    @property
    def scenario(self) -> Scenario:
        """The published scenario."""
        return scenario_of(self.env, self.dataset)

    @property
    def train_set(self) -> DataSet:
        """What is trained on."""
        published = self.scenario.train
        count = self.sequences or published.sequences
        return DataSet(self.dataset or published.name, published.split, count)

    @property
    def test_sets(self) -> dict[str, DataSet]:
        """What is evaluated on, by name; "gen" is another distribution than that trained on.

        Where it is the one trained on, as of RRC's random actions, there is no "gen".
        """
        tests: dict[str, DataSet] = {}
        for name, test in self.scenario.tests.items():
            count = min(test.sequences, self.test_sequences or test.sequences)
            own = self.dataset is not None and name in SPLITS
            found = DataSet(str(self.dataset) if own else test.name, test.split, count)
            if found not in tests.values():
                tests[name] = found
        return tests

    @property
    def model_settings(self) -> dict[str, Any]:
        """Arguments of ``WorldModel``."""
        settings = self.scenario.model_settings(self.core)
        options = self.model.get("core_options") or {}
        _checks.instance("core_options", options, Mapping, "a dict of options")
        return settings | self.model | {"core_options": settings["core_options"] | options}

    def probability(self, epoch: int) -> float:
        """Return the probability of a real input in an epoch, of a config that is filled in."""
        if self.sampling == "teacher":
            return 1.0
        assert self.min_probability is not None
        return sampling_probability(epoch, self.min_probability, self.decay)

    def fill_in(self) -> Self:
        """Return the config with every number, so that a run can be repeated after a change."""
        scenario = self.scenario
        published = {
            "epochs": scenario.epochs,
            "sequences": scenario.train.sequences,
            "learning_rate": scenario.rate_of(self.core, self.sampling),
            "penalty": scenario.penalty if self.core == GATED else 0.0,
            "min_probability": scenario.min_probability,
            "start_steps": scenario.start_steps,
        }
        missing = {name: value for name, value in published.items() if getattr(self, name) is None}
        return dataclasses.replace(self, **missing)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return dataclasses.asdict(self)
