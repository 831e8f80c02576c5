"""Threads of torch in a forked process."""

from __future__ import annotations

import os

import torch

_process = os.getpid()


def one_thread_after_fork() -> None:
    """Let torch use one thread from now on if this process was forked from the importing one.

    The threads of its OpenMP pool are not copied by a fork, so that the first parallel operation
    of the child would wait for them for ever. Workers of ``AsyncVectorEnv`` are forked on Linux
    before Python 3.14. torch does the same in the workers of its own data loaders.
    """
    global _process
    if os.getpid() != _process:
        _process = os.getpid()
        torch.set_num_threads(1)
