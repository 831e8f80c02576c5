"""What compiled kernels of several parts share; its modules import numba and are imported late.

``availability`` alone does without numba: it says whether kernels can be compiled here.
"""
