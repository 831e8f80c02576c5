"""Recurrent cores for sequences under partial observability, GateL0RD first (torch)."""

from iap_gym._optional import need

need("recurrent", "torch")

from iap_gym.recurrent.cell import GateL0RDCell
from iap_gym.recurrent.clockwork import ClockworkCore
from iap_gym.recurrent.context import ContextNetwork
from iap_gym.recurrent.core import Core
from iap_gym.recurrent.cores import CORES, ElmanCore, GateL0RDCore, GRUCore, LSTMCore, make_core
from iap_gym.recurrent.gatel0rd import GateL0RD
from iap_gym.recurrent.gates import GATES, gate_penalty, heaviside, retanh

__all__ = [
    "CORES",
    "GATES",
    "ClockworkCore",
    "ContextNetwork",
    "Core",
    "ElmanCore",
    "GRUCore",
    "GateL0RD",
    "GateL0RDCell",
    "GateL0RDCore",
    "LSTMCore",
    "gate_penalty",
    "heaviside",
    "make_core",
    "retanh",
]
