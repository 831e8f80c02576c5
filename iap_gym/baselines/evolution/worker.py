"""What a worker process does: episodes, one after the other, until its parent is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from iap_gym.baselines.evolution.rollout import run_episode


class Job(NamedTuple):
    """One episode of one candidate."""

    place: tuple[int, int]  # (candidate, episode)
    vector: NDArray[np.float32]
    seed: int


class Ready(NamedTuple):
    """The environment stands and jobs may come."""


class Done(NamedTuple):
    """The result of a job."""

    place: tuple[int, int]
    total_reward: float
    length: int


class Failed(NamedTuple):
    """What a job, or the start (place None), raised."""

    place: tuple[int, int] | None
    summary: str
    trace: str


def work(connection: Connection, payload: bytes, environment: dict[str, str]) -> None:
    """Answer jobs with results until the connection closes.

    Args:
        connection: to the parent.
        payload: (EnvSource, policy, max_steps) as cloudpickle wrote them.
        environment: the parent's environment variables; those of the forkserver may be older.
    """
    # Ctrl-C reaches the whole process group; the parent alone decides what then happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)
    # Mesa's software renderer starts a thread per core in every process otherwise.
    os.environ.setdefault("LP_NUM_THREADS", "1")
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        source, policy, max_steps = cloudpickle.loads(payload)
        env = source.make()
    except Exception as error:
        connection.send(Failed(None, repr(error), traceback.format_exc()))
        return
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    connection.send(Ready())
    try:
        while True:
            connection.send(_run(connection.recv(), env, policy, max_steps))
    except (EOFError, ConnectionError):
        env.close()


def _run(job: Job, env: Any, policy: Any, max_steps: int | None) -> Done | Failed:
    try:
        policy.set_vector(job.vector)
        return Done(job.place, *run_episode(env, policy, job.seed, max_steps))
    except Exception as error:
        return Failed(job.place, repr(error), traceback.format_exc())


def _die_with_parent() -> None:
    """End the process when its parent has gone, even in the middle of an episode."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
