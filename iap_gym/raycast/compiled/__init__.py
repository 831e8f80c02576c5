"""The rays of boxes in machine code, compiled by numba (extra ``fast``).

Imported when a :class:`RayCaster` renders first; nothing else of ``iap_gym.raycast`` imports numba.
"""
