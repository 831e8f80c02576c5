"""What a comparison of world models is made of: arms, measures, claims and budgets."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.scenarios import DECAY, Scenario, scenario_of

BASELINES = ("lstm", "gru", "elman")


@dataclass(frozen=True)
class Arm:
    """One setting of model and training, of which several seeds are trained.

    Attributes:
        name: in tables and pictures.
        core: of the model.
        changes: fields of ``ModelConfig`` other than published.
        also: name of the option that adds it; None is always there.
        longer: times the epochs of the others.
    """

    name: str
    core: str
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    also: str | None = None
    longer: int = 1


@dataclass(frozen=True)
class Measure:
    """One number of a trained model.

    Attributes:
        name: as ``model_results`` knows it.
        title: in tables and pictures.
        drawn: whether it has a panel, or is in the table alone.
    """

    name: str
    title: str
    drawn: bool = True


@dataclass(frozen=True)
class Operand:
    """A measure of an arm."""

    arm: str
    measure: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about two numbers, of which runs decide.

    Attributes:
        text: in own words.
        source: where the paper has it.
        less: what is to be smaller.
        more: what is to be larger, or a number.
        alike: the paper says that they are alike instead.
    """

    text: str
    source: str
    less: Operand
    more: Operand | float
    alike: bool = False

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What has to be measured."""
        both = (self.less, self.more)
        return tuple(operand for operand in both if isinstance(operand, Operand))


@dataclass(frozen=True)
class Budget:
    """How much is trained.

    Attributes:
        seeds: of each arm.
        epochs: by scenario; where there is no number, as published.
        sequences: to train on; None is as published.
        test_sequences: at most of each other set; None is as published.
        episodes: that are planned with each trained model.
        batch_size: of training.
    """

    seeds: int
    epochs: dict[str, int] = field(default_factory=dict[str, int])
    sequences: int | None = None
    test_sequences: int | None = None
    episodes: int = 100
    batch_size: int = 128


@dataclass(frozen=True)
class Target:
    """A comparison: all arms of a figure of the paper and those beside it.

    Attributes:
        name: of the target.
        title: of figure and table.
        env: id of the environment.
        arms: what is trained.
        measures: what is measured.
        claims: of the paper.
        also: options that add arms, with a line of help.
        plans: whether to plan with the trained models.
        event: whose gates are looked at, of the generalisation set.
        notes: what differs from the paper.
    """

    name: str
    title: str
    env: str
    arms: tuple[Arm, ...]
    measures: tuple[Measure, ...]
    claims: tuple[Claim, ...]
    also: dict[str, str] = field(default_factory=dict[str, str])
    plans: bool = False
    event: str | None = None
    notes: tuple[str, ...] = ()

    def scenario(self, arm: Arm) -> Scenario:
        """Return the published scenario of an arm."""
        return scenario_of(self.env, arm.changes.get("dataset"))

    def config(
        self, arm: Arm, budget: Budget, seed: int, data: str, epochs: int | None
    ) -> ModelConfig:
        """Return what one run is made from.

        The probability of real inputs falls faster where there are fewer epochs than published, so
        that it ends where theirs does.
        """
        scenario = self.scenario(arm)
        count = (epochs or budget.epochs.get(scenario.name, scenario.epochs)) * arm.longer
        published = scenario.epochs * arm.longer
        fields: dict[str, Any] = {
            "env": self.env,
            "core": arm.core,
            "seed": seed,
            "data": os.path.abspath(data),
            "epochs": count,
            "sequences": budget.sequences,
            "test_sequences": budget.test_sequences,
            "batch_size": budget.batch_size,
            "decay": DECAY if count >= published else DECAY ** (published / count),
            "evaluate_every": max(1, min(100, count // 20)),
        }
        return ModelConfig(**(fields | arm.changes)).fill_in()


def worse(
    text: str, source: str, measure: str, best: str, others: tuple[str, ...] = BASELINES
) -> tuple[Claim, ...]:
    """Return the claims that a measure is smaller for one arm than for each of others.

    Args:
        text: with ``{}`` for the other arm.
        source: where the paper has it.
        measure: of all.
        best: the arm whose measure is smaller.
        others: the arms whose measure is larger.
    """
    return tuple(
        Claim(text.format(other), source, Operand(best, measure), Operand(other, measure))
        for other in others
    )


def better(
    text: str, source: str, measure: str, best: str, others: tuple[str, ...] = BASELINES
) -> tuple[Claim, ...]:
    """As ``worse``, for a measure that is larger for the one arm."""
    return tuple(
        Claim(text.format(other), source, Operand(other, measure), Operand(best, measure))
        for other in others
    )
