"""Shepherd: Figure 5 of the GateL0RD paper."""

from __future__ import annotations

from iap_gym.baselines.experiments.reproduce.model_comparison import comparison
from iap_gym.baselines.experiments.reproduce.model_target import (
    BASELINES,
    Arm,
    Budget,
    Measure,
    Target,
    better,
    worse,
)

TARGET = Target(
    name="shepherd",
    title="Shepherd",
    env="iap_gym/Shepherd-v0",
    arms=(
        Arm("gatel0rd", "gatel0rd"),
        *(Arm(core, core) for core in BASELINES),
        Arm("clockwork", "clockwork", {}, "clockwork"),
    ),
    measures=(
        Measure("test_error", "test error"),
        Measure("reappearance_error", "error of x where the sheep reappears"),
        Measure("success", "planning success"),
        Measure("test_gate_rate", "open gates"),
    ),
    claims=(
        *worse(
            "GateL0RD knows better than {} where the sheep reappears",
            "Fig. 5",
            "reappearance_error",
            "gatel0rd",
        ),
        *better(
            "planning with GateL0RD succeeds more often than with {}",
            "Fig. 5",
            "success",
            "gatel0rd",
        ),
    ),
    also={"clockwork": "Clockwork RNN, 12 times the time of a batch"},
    plans=True,
    notes=(
        "Models wait for the first of 60 steps, with the cage in hand, as f_init sees two inputs.",
        "Whoever guesses the middle of x, which is uniform in a range of 1, has an error of 0.083.",
    ),
)

BUDGETS = {
    "smoke": Budget(1, {"shepherd": 2}, 128, 64, 1, 64),
    "small": Budget(5, {"shepherd": 400}, None, None, 20),
    "paper": Budget(5),
}
ALSO = TARGET.also
reproduce = comparison(TARGET, BUDGETS)
