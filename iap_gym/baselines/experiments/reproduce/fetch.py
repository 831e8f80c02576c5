"""Fetch Pick and Place: Figures 22 and 24 of the GateL0RD paper."""

from __future__ import annotations

from iap_gym.baselines.experiments.reproduce.model_comparison import comparison
from iap_gym.baselines.experiments.reproduce.model_target import (
    BASELINES,
    Arm,
    Budget,
    Measure,
    Target,
    worse,
)

DIVERSE = {"dataset": "fetch-diverse"}
OPEN, CLOSED = "diverse gatel0rd λ=0", "diverse gatel0rd λ=0.001"
GATED = ("gatel0rd",)
MEDIAN = "test_median_error"
DIVERSE_BASELINES = tuple(f"diverse {core}" for core in BASELINES)

TARGET = Target(
    name="fetch",
    title="Fetch Pick and Place",
    env="iap_gym/FetchPickAndPlace-v0",
    arms=(
        Arm("gatel0rd", "gatel0rd"),
        *(Arm(core, core) for core in BASELINES),
        Arm(OPEN, "gatel0rd", {"penalty": 0.0, **DIVERSE}, "diverse"),
        Arm(CLOSED, "gatel0rd", {"penalty": 0.001, **DIVERSE}, "diverse"),
        *(Arm(f"diverse {core}", core, DIVERSE, "diverse") for core in BASELINES),
    ),
    measures=(
        Measure("test_error", "test error"),
        Measure("gen_error", "generalisation error"),
        Measure("drop", "generalisation minus test error"),
        Measure("test_median_error", "median sequence's test error"),
        Measure("gen_median_error", "median sequence's generalisation error"),
        Measure("median_drop", "difference of the medians"),
        Measure("test_worst_share", "share of the worst 2 % in the test error", drawn=False),
        Measure("gen_worst_share", "in the generalisation error", drawn=False),
        Measure("test_gate_rate", "open gates"),
    ),
    claims=(
        *worse("{} predicts worse than LSTM", "Fig. 22", "test_error", "lstm", GATED),
        *worse("the error of {} rises more than GateL0RD's", "Fig. 22", "drop", "gatel0rd"),
        *worse("{} predicts the median sequence worse", "Fig. 22", MEDIAN, "lstm", GATED),
        *worse("that of {}'s median sequence rises more", "Fig. 22", "median_drop", "gatel0rd"),
        *(
            claim
            for core in DIVERSE_BASELINES
            for claim in (
                *worse("{} predicts worse than " + core, "Fig. 24", "test_error", core, (CLOSED,)),
                *worse("{} predicts worse than " + OPEN, "Fig. 24", "test_error", OPEN, (core,)),
            )
        ),
    ),
    also={"diverse": "all kinds of sequences, 50 steps, deeper models (Fig. 24)"},
    notes=(
        "Scripted controllers move the gripper, not the paper's APEX; see docs/fetch.md.",
        "A few sequences in which the cube slips or not have half of a mean error; medians show "
        "the others.",
        "The learning rate of the diverse set was not published; it is that of the grasps.",
    ),
)

BUDGETS = {
    "smoke": Budget(1, {"fetch": 3, "fetch-diverse": 2}, 64, 64, 1, 64),
    "small": Budget(5, {"fetch": 600, "fetch-diverse": 60}, None, None),
    "paper": Budget(5),
}
ALSO = TARGET.also
reproduce = comparison(TARGET, BUDGETS)
