"""Scores and ranking of patches in machine code, compiled by numba (extra ``fast``).

This package is imported when a :class:`PatchSelector` first needs it, through ``engine``; nothing
else of ``iap_gym.attention`` imports numba.
"""
