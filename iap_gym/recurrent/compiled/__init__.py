"""GateL0RD over a sequence, and its gradients, in machine code compiled by numba (extra ``fast``).

This package is imported when a sequence first needs it, through ``backends``; nothing else of
``iap_gym.recurrent`` imports numba.
"""
