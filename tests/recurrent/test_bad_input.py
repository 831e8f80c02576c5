"""What the caller gets wrong is named: the argument, what was wanted, what came."""

import re

import numpy as np
import pytest
import torch

from iap_gym.recurrent import (
    CORES,
    ContextNetwork,
    GateL0RD,
    GateL0RDCell,
    gate_penalty,
    make_core,
)

T, B, I, H = 4, 2, 3, 5  # noqa: E741


def refused(message, call, *arguments, **options):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        call(*arguments, **options)


@pytest.mark.parametrize("build", [GateL0RDCell, GateL0RD, *CORES])
def test_sizes(build):
    def call(*arguments, **options):
        if isinstance(build, str):
            return make_core(build, *arguments, **options)
        return build(*arguments, **options)

    for wrong in (0, -1, True, 2.0, "8", None, float("nan")):
        refused(f"input_size: expected an integer >= 1, got {wrong!r}", call, wrong, H)
        refused(f"hidden_size: expected an integer >= 1, got {wrong!r}", call, I, wrong)
        if build is not GateL0RDCell:
            refused(
                f"num_layers: expected an integer >= 1, got {wrong!r}", call, I, H, num_layers=wrong
            )


@pytest.mark.parametrize(
    ("option", "wrong", "message"),
    [
        ("output_size", 0, "output_size: expected an integer >= 1, got 0"),
        ("output_size", True, "output_size: expected an integer >= 1, got True"),
        ("num_internal_layers", 0, "num_internal_layers: expected an integer >= 1, got 0"),
        ("num_internal_layers", 1.0, "num_internal_layers: expected an integer >= 1, got 1.0"),
        ("gate", "relu", "gate: expected one of 'retanh', 'heaviside', 'sigmoid', got 'relu'"),
        ("gate", None, "gate: expected one of 'retanh', 'heaviside', 'sigmoid', got None"),
        ("gate_noise", -0.1, "gate_noise: expected a finite number >= 0, got -0.1"),
        ("gate_noise", float("nan"), "gate_noise: expected a finite number >= 0, got nan"),
        ("gate_noise", float("inf"), "gate_noise: expected a finite number >= 0, got inf"),
        ("gate_noise", "0.1", "gate_noise: expected a finite number >= 0, got '0.1'"),
        ("gate_noise", True, "gate_noise: expected a finite number >= 0, got True"),
        ("multiplicative_output", 1, "multiplicative_output: expected True or False, got 1"),
    ],
)
def test_options_of_gatel0rd(option, wrong, message):
    refused(message, GateL0RDCell, I, H, **{option: wrong})
    refused(message, GateL0RD, I, H, **{option: wrong})
    refused(message, make_core, "gatel0rd", I, H, **{option: wrong})


def test_backends():
    message = "backend: expected one of 'auto', 'torch', 'numba', got 'jax'"
    refused(message, GateL0RD, I, H, backend="jax")
    refused(message, make_core, "gatel0rd", I, H, backend="jax")


def test_cores_and_their_options():
    known = "'gatel0rd', 'lstm', 'gru', 'elman', 'clockwork'"
    for wrong in ("LSTM", None, 3, ["lstm"]):
        refused(f"name: expected one of {known}, got {wrong!r}", make_core, wrong, I, H)
    refused(
        "options: expected options of 'lstm' among num_layers, got 'gate'",
        make_core, "lstm", I, H, gate="retanh",
    )  # fmt: skip
    refused(
        "options: expected options of 'clockwork' among num_layers, periods, got 'period'",
        make_core, "clockwork", I, H, period=(1, 2),
    )  # fmt: skip
    known = "backend, gate, gate_noise, multiplicative_output, num_internal_layers, num_layers"
    refused(
        f"options: expected options of 'gatel0rd' among {known}, output_size, got 'layers'",
        make_core, "gatel0rd", I, H, layers=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((), "periods: expected rising integers >= 1, got ()"),
        ((4, 1), "periods: expected rising integers >= 1, got (4, 1)"),
        ([1, 1], "periods: expected rising integers >= 1, got [1, 1]"),
        ((0, 1), "periods[0]: expected an integer >= 1, got 0"),
        ((1, 2.0), "periods[1]: expected an integer >= 1, got 2.0"),
        ((True, 2), "periods[0]: expected an integer >= 1, got True"),
        ("148", "periods: expected a sequence of integers >= 1, got '148'"),
        (4, "periods: expected a sequence of integers >= 1, got 4"),
        (range(1, 7), "hidden_size: expected at least one number for each of the 6 periods, got 5"),
    ],
)
def test_periods(wrong, message):
    refused(message, make_core, "clockwork", I, H, periods=wrong)


INPUTS = [
    (torch.zeros(T, B, I + 1), "float32 of shape (4, 2, 4)"),
    (torch.zeros(T, B), "float32 of shape (4, 2)"),
    (torch.zeros(I), "float32 of shape (3,)"),
    (torch.zeros(()), "float32 of shape ()"),
    (torch.zeros(T, B, 1, I), "float32 of shape (4, 2, 1, 3)"),
    (torch.zeros(T, B, I, dtype=torch.float64), "float64 of shape (4, 2, 3)"),
    (torch.zeros(T, B, I, dtype=torch.int64), "int64 of shape (4, 2, 3)"),
    (torch.zeros(T, B, I, dtype=torch.bool), "bool of shape (4, 2, 3)"),
    (np.zeros((T, B, I), np.float32), "ndarray"),
    ([[[0.0] * I]], "list"),
    (None, "NoneType"),
]


@pytest.mark.parametrize("name", ["GateL0RD", *CORES])
@pytest.mark.parametrize(("wrong", "came"), INPUTS)
def test_inputs(name, wrong, came):
    module = GateL0RD(I, H) if name == "GateL0RD" else make_core(name, I, H)
    wanted = "x: expected a tensor, float32 of shape (T, B, I) with I = 3"
    refused(f"{wanted}, got {came!r}", module, wrong)
    refused(f"{wanted}, got {came!r}", ContextNetwork(I, make_core("gru", 9, H)), wrong)


def test_inputs_of_a_cell():
    wanted = "x: expected a tensor, float32 of shape (B, I) with I = 3"
    refused(f"{wanted}, got 'float32 of shape (4, 2, 3)'", GateL0RDCell(I, H), torch.zeros(T, B, I))
    refused(f"{wanted}, got 'float32 of shape (3,)'", GateL0RDCell(I, H), torch.zeros(I))
    double = torch.zeros(B, I, dtype=torch.float64)
    refused(f"{wanted}, got 'float64 of shape (2, 3)'", GateL0RDCell(I, H), double)
    wanted = "h: expected a tensor, float32 of shape (2, 5)"
    cell, x = GateL0RDCell(I, H), torch.zeros(B, I)
    refused(f"{wanted}, got 'float32 of shape (3, 5)'", cell, x, torch.zeros(B + 1, H))
    refused(f"{wanted}, got 'float32 of shape (5,)'", cell, x, torch.zeros(H))
    refused(f"{wanted}, got 'float64 of shape (2, 5)'", cell, x, torch.zeros(B, H).double())


@pytest.mark.parametrize("layers", [1, 2])
def test_states_of_gatel0rd(layers):
    network, x = GateL0RD(I, H, num_layers=layers), torch.zeros(T, B, I)
    shape = (B, H) if layers == 1 else (layers, B, H)
    for wrong in ((B + 1, H), (layers, B + 1, H), (3, B, H), (B, H + 1), (H,)):
        message = f"h0: expected a tensor, float32 of shape {shape}, got 'float32 of shape {wrong}'"
        refused(message, network, x, torch.zeros(wrong))
    refused(f"h0: expected a tensor, float32 of shape {shape}, got 'tuple'", network, x, (1, 2))


@pytest.mark.parametrize("name", CORES)
def test_states_of_cores(name):
    core, x = make_core(name, I, H, num_layers=2), torch.zeros(T, B, I)
    size = core.state_size
    wanted = f"state: expected a tensor, float32 of shape (2, 2, {size})"
    for wrong in ((2, 3, size), (1, B, size), (B, size), (2, B, size + 1), (size,)):
        came = f"got 'float32 of shape {wrong}'"
        refused(f"{wanted}, {came}", core, x, torch.zeros(wrong))
    double = torch.zeros(2, B, size, dtype=torch.float64)
    refused(f"{wanted}, got 'float64 of shape (2, 2, {size})'", core, x, double)
    refused(f"{wanted}, got 'tuple'", core, x, (torch.zeros(2, B, H), torch.zeros(2, B, H)))
    for wrong in (0, -1, True, 2.5):
        refused(f"batch_size: expected an integer >= 1, got {wrong!r}", core.initial_state, wrong)
    size = core.context_size
    for wrong in ((2, 1, size + 1), (1, 1, size), (size,)):
        message = f"context: expected a tensor, float32 of shape (2, 1, {size}), got 'float32 of"
        refused(message, core.state_from, torch.zeros(wrong))


MASKS = [
    (torch.zeros(T, B), "float32 of shape (4, 2)"),
    (torch.zeros(T, B, dtype=torch.int64), "int64 of shape (4, 2)"),
    (torch.zeros(T, B, dtype=torch.uint8), "uint8 of shape (4, 2)"),
    (torch.zeros(B, T, dtype=torch.bool), "bool of shape (2, 4)"),
    (torch.zeros(T, dtype=torch.bool), "bool of shape (4,)"),
    (torch.zeros(T, B, 1, dtype=torch.bool), "bool of shape (4, 2, 1)"),
    (np.zeros((T, B), bool), "ndarray"),
]


@pytest.mark.parametrize("name", ["GateL0RD", *CORES])
@pytest.mark.parametrize(("wrong", "came"), MASKS)
def test_reset_masks(name, wrong, came):
    module = GateL0RD(I, H) if name == "GateL0RD" else make_core(name, I, H)
    message = "reset_mask: expected a tensor, bool of shape (T, B) = (4, 2)"
    refused(f"{message}, got {came!r}", module, torch.zeros(T, B, I), None, wrong)


def test_penalties():
    gates = torch.zeros(T, B, H)
    refused("kind: expected one of 'l0', 'l1', 'l2', got 'L0'", gate_penalty, gates, None, "L0")
    wanted = "mask: expected a bool tensor of shape (4, 2) or of its first dimensions"
    for wrong, came in MASKS:
        if came != "bool of shape (4,)":
            refused(f"{wanted}, got {came!r}", gate_penalty, gates, wrong)
    refused(f"{wanted}, got 'bool of shape (4, 2, 5)'", gate_penalty, gates, gates > 0)
    message = "gates: expected a float tensor, got"
    refused(f"{message} 'bool of shape (4, 2, 5)'", gate_penalty, gates > 0)
    refused(f"{message} 'ndarray'", gate_penalty, gates.numpy())


def test_context_networks():
    core = make_core("lstm", I, H)
    refused("core: expected a Core, such as make_core gives, got 'lstm'", ContextNetwork, I, "lstm")
    refused("input_size: expected an integer >= 1, got 0", ContextNetwork, 0, core)
    refused("num_inputs: expected an integer >= 1, got 0", ContextNetwork, I, core, 0)
    refused("widths[1]: expected an integer >= 1, got 0", ContextNetwork, I, core, 1, [8, 0])
    refused("widths: expected a sequence of integers >= 1, got 8", ContextNetwork, I, core, 1, 8)
    network = ContextNetwork(I, core, num_inputs=3)
    message = "x: expected at least the 3 steps that the network sees, got (2, 2, 3)"
    refused(message, network, torch.zeros(2, B, I))
