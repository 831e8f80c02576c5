"""Billiard Ball: Figures 3, 11, 12, 13 and 17 of the GateL0RD paper."""

from __future__ import annotations

from iap_gym.baselines.experiments.reproduce.model_comparison import comparison
from iap_gym.baselines.experiments.reproduce.model_target import (
    BASELINES,
    Arm,
    Budget,
    Claim,
    Measure,
    Operand,
    Target,
    better,
    worse,
)

MAIN = "gatel0rd λ=0.001"
FORCED = {"sampling": "teacher"}


def _options(**options: object) -> dict[str, object]:
    return {"model": {"core_options": options}}


TARGET = Target(
    name="billiard",
    title="Billiard Ball",
    env="iap_gym/BilliardBall-v0",
    arms=(
        Arm("gatel0rd λ=0", "gatel0rd", {"penalty": 0.0}),
        Arm(MAIN, "gatel0rd", {"penalty": 0.001}),
        Arm("gatel0rd λ=0.01", "gatel0rd", {"penalty": 0.01}),
        Arm("gatel0rd λ=0.1", "gatel0rd", {"penalty": 0.1}),
        *(Arm(core, core) for core in BASELINES),
        Arm("teacher gatel0rd λ=0", "gatel0rd", {"penalty": 0.0, **FORCED}, "teacher"),
        *(Arm(f"teacher {core}", core, FORCED, "teacher") for core in BASELINES),
        Arm("sigmoid λ=0", "gatel0rd", {"penalty": 0.0, **_options(gate="sigmoid")}, "gates"),
        Arm("heaviside λ=0", "gatel0rd", {"penalty": 0.0, **_options(gate="heaviside")}, "gates"),
        Arm("heaviside λ=0.001", "gatel0rd", _options(gate="heaviside"), "gates"),
        Arm(
            "no noise λ=0.01",
            "gatel0rd",
            {"penalty": 0.01, **_options(gate_noise=0.0)},
            "gates",
        ),
        *(
            Arm(f"zero start {core}", core, {"model": {"context_widths": None}}, "zero-start")
            for core in ("gatel0rd", *BASELINES)
        ),
    ),
    measures=(
        Measure("test_error", "test error"),
        Measure("test_gate_rate", "open gates"),
        Measure("test_gate_dims", "share of the state that ever changed"),
    ),
    claims=(
        *worse("GateL0RD (λ = 0.001) predicts better than {}", "Fig. 3", "test_error", MAIN),
        Claim(
            "λ = 0.1 predicts worse than λ = 0.001",
            "Fig. 3",
            Operand(MAIN, "test_error"),
            Operand("gatel0rd λ=0.1", "test_error"),
        ),
        Claim(
            "with λ = 0, gates are open less than half of the time",
            "D.3",
            Operand("gatel0rd λ=0", "test_gate_rate"),
            0.5,
        ),
        Claim(
            "with λ = 0, fewer than 6 of 8 numbers of the state change",
            "Fig. 17",
            Operand("gatel0rd λ=0", "test_gate_dims"),
            6 / 8,
        ),
        *(
            Claim(
                f"fewer numbers of the state change with λ = {high} than with λ = {low}",
                "Fig. 17",
                Operand(f"gatel0rd λ={high}", "test_gate_dims"),
                Operand(f"gatel0rd λ={low}", "test_gate_dims"),
            )
            for low, high in (("0", "0.001"), ("0.001", "0.01"), ("0.01", "0.1"))
        ),
        *worse(
            "with teacher forcing, GateL0RD (λ = 0) predicts better than {}",
            "Fig. 3",
            "test_error",
            "teacher gatel0rd λ=0",
            tuple(f"teacher {core}" for core in BASELINES),
        ),
        Claim(
            "sigmoid gates predict as well as ReTanh gates",
            "Fig. 11",
            Operand("gatel0rd λ=0", "test_error"),
            Operand("sigmoid λ=0", "test_error"),
            alike=True,
        ),
        Claim(
            "Heaviside gates predict worse (λ = 0)",
            "Fig. 11",
            Operand("gatel0rd λ=0", "test_error"),
            Operand("heaviside λ=0", "test_error"),
        ),
        Claim(
            "Heaviside gates predict worse (λ = 0.001)",
            "Fig. 11",
            Operand(MAIN, "test_error"),
            Operand("heaviside λ=0.001", "test_error"),
        ),
        Claim(
            "noise on gates does not change the error",
            "Fig. 12",
            Operand("no noise λ=0.01", "test_error"),
            Operand("gatel0rd λ=0.01", "test_error"),
            alike=True,
        ),
        *better(
            "noise on gates makes them open less",
            "Fig. 12",
            "test_gate_rate",
            "no noise λ=0.01",
            ("gatel0rd λ=0.01",),
        ),
        *(
            Claim(
                f"without f_init, {core} predicts worse",
                "Fig. 13",
                Operand(MAIN if core == "gatel0rd" else core, "test_error"),
                Operand(f"zero start {core}", "test_error"),
            )
            for core in ("gatel0rd", *BASELINES)
        ),
    ),
    also={
        "teacher": "teacher forcing (Fig. 3)",
        "gates": "sigmoid and Heaviside gates, no noise (Figs. 11, 12)",
        "zero-start": "no f_init (Fig. 13)",
    },
    notes=("The simulator of the paper was not published; see docs/planar.md for this one.",),
)

BUDGETS = {
    "smoke": Budget(1, {"billiard": 2}, 128, 64, 1, 64),
    "small": Budget(5, {"billiard": 150}, None, None),
    "paper": Budget(5),
}
ALSO = TARGET.also
reproduce = comparison(TARGET, BUDGETS)
