"""Robot Remote Control: Figures 4, 14, 15, 19 and 20, Tables 2 and 3 of the GateL0RD paper."""

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

RANDOM = {"dataset": "rrc-random"}
SIGMOID = {"model": {"core_options": {"gate": "sigmoid"}}}
SINGLE = {"model": {"core_options": {"multiplicative_output": False}}}

TARGET = Target(
    name="rrc",
    title="Robot Remote Control",
    env="iap_gym/RobotRemoteControl-v0",
    arms=(
        Arm("gatel0rd", "gatel0rd"),
        *(Arm(core, core) for core in BASELINES),
        *(Arm(f"retuned {core}", core, {"learning_rate": 0.001}, "retuned") for core in BASELINES),
        *(Arm(f"random {core}", core, RANDOM, "random") for core in ("gatel0rd", *BASELINES)),
        Arm("random, p alone", "gatel0rd", {**RANDOM, **SINGLE}, "random"),
        Arm("sigmoid L1", "gatel0rd", {**SIGMOID, "penalty_kind": "l1"}, "penalties"),
        Arm("sigmoid L2", "gatel0rd", {**SIGMOID, "penalty_kind": "l2"}, "penalties"),
        Arm("clockwork", "clockwork", {}, "clockwork", longer=4),
    ),
    measures=(
        Measure("test_error", "test error"),
        Measure("gen_error", "generalisation error"),
        Measure("success", "planning success"),
        Measure("control_gates", "inputs with an open gate, at control"),
        Measure("before_gates", "… whose action brings control", drawn=False),
        Measure("after_gates", "… right after those", drawn=False),
        Measure("other_gates", "inputs with an open gate, elsewhere"),
    ),
    claims=(
        *worse("GateL0RD generalises better than {}", "Fig. 4", "gen_error", "gatel0rd"),
        *better(
            "planning with GateL0RD succeeds more often than with {}",
            "Fig. 4",
            "success",
            "gatel0rd",
        ),
        Claim(
            "gates open more at control than elsewhere",
            "Table 2",
            Operand("gatel0rd", "other_gates"),
            Operand("gatel0rd", "control_gates"),
        ),
        *(
            Claim(
                f"a rate of 0.001 lets {core} generalise better",
                "Fig. 19",
                Operand(f"retuned {core}", "gen_error"),
                Operand(core, "gen_error"),
            )
            for core in ("lstm", "gru")
        ),
        *worse(
            "GateL0RD generalises better than {}",
            "Fig. 19",
            "gen_error",
            "gatel0rd",
            tuple(f"retuned {core}" for core in BASELINES),
        ),
        *(
            Claim(
                f"trained on random actions, {core} is as good as GateL0RD",
                "Fig. 20",
                Operand("random gatel0rd", "test_error"),
                Operand(f"random {core}", "test_error"),
                alike=True,
            )
            for core in ("lstm", "gru")
        ),
        *worse(
            "trained on random actions, p · o is better than p alone",
            "Fig. 14",
            "test_error",
            "random gatel0rd",
            ("random, p alone",),
        ),
        *(
            claim
            for kind in ("L1", "L2")
            for claim in (
                *worse(
                    f"sigmoid gates with {kind} predict better than " + "{}",
                    "Fig. 15",
                    "test_error",
                    f"sigmoid {kind}",
                    ("gatel0rd",),
                ),
                *worse(
                    "{} generalise worse than GateL0RD",
                    "Fig. 15",
                    "gen_error",
                    "gatel0rd",
                    (f"sigmoid {kind}",),
                ),
            )
        ),
        *(
            Claim(
                f"the Clockwork RNN generalises worse than {core}",
                "Table 3",
                Operand(core, "gen_error"),
                Operand("clockwork", "gen_error"),
            )
            for core in ("gatel0rd", *BASELINES)
        ),
    ),
    also={
        "retuned": "lstm, gru and elman with a learning rate of 0.001 (Fig. 19)",
        "random": "trained on random actions (Figs. 14, 20)",
        "penalties": "sigmoid gates with L1 and L2 penalties (Fig. 15)",
        "clockwork": "Clockwork RNN, four times the epochs, 20 times the time of a batch (Table 3)",
    },
    plans=True,
    event="controlled",
)

BUDGETS = {
    "smoke": Budget(1, {"rrc": 3}, 128, 64, 1, 64),
    "small": Budget(5, {"rrc": 600}, None, None, 20),
    "paper": Budget(5),
}
ALSO = TARGET.also
reproduce = comparison(TARGET, BUDGETS)
