"""Figures of the papers, computed anew; one file a target of ``iap-gym reproduce``.

A target has ``BUDGETS``, from the names below to frozen dataclasses, and
``reproduce(out, budget, workers) -> Outcome``, which may be called again with the same folder.
"""

# target: (module of this package, one line of help)
TARGETS = {
    "theorem": ("theorem", "IAP figs. 3 to 5: errors of three softmax estimators, and theorem 4.1"),
    "inference-time": ("inference_time", "IAP figs. 1, 6 and 8: seconds per forward pass"),
    "kernels": ("kernels", "IAP fig. 6: reward curves of the attention kernels (trains agents)"),
}
# Named so that they are refused by name: a typing error and a missing figure read differently.
LATER = {
    "distracting": "IAP table 1 and fig. 7",
    "quadruped": "IAP figs. 10 and 11 and table 2",
}
BUDGETS = ("smoke", "small")
