"""The compiled world model; ``backends`` alone imports what is here, when it is first needed.

Its modules import numba, but for ``builder`` and ``program``.
"""
