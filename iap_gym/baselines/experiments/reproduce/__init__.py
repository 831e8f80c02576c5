"""Figures of the papers, computed anew; one file a target of ``iap-gym reproduce``.

A target has ``BUDGETS``, from the names below to frozen dataclasses, and
``reproduce(out, budget, workers) -> Outcome``, which may be called again with the same folder.
Those of world models have ``ALSO`` too, names of arms that can be added, and more arguments.
"""

# target: (module of this package, one line of help)
TARGETS = {
    "theorem": ("theorem", "IAP figs. 3 to 5: errors of three softmax estimators, and theorem 4.1"),
    "inference-time": ("inference_time", "IAP figs. 1, 6 and 8: seconds per forward pass"),
    "kernels": ("kernels", "IAP fig. 6: reward curves of the attention kernels (trains agents)"),
    "billiard": ("billiard", "GateL0RD figs. 3 and 17: world models of Billiard Ball"),
    "rrc": ("rrc", "GateL0RD fig. 4, table 2: world models of Robot Remote Control, planning"),
    "shepherd": ("shepherd", "GateL0RD fig. 5: world models of Shepherd, planning"),
    "fetch": ("fetch", "GateL0RD figs. 22 and 24: world models of Fetch Pick and Place"),
}
# Named so that they are refused by name: a typing error and a missing figure read differently.
LATER = {
    "distracting": "IAP table 1 and fig. 7",
    "quadruped": "IAP figs. 10 and 11 and table 2",
}
BUDGETS = ("smoke", "small", "paper")  # the last one of world models alone
