"""Do jobs in processes side by side."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from iap_gym.baselines.evolution.processes import main_script_hidden

Job = TypeVar("Job")
Answer = TypeVar("Answer")


def run_jobs(
    function: Callable[[Job], Answer], jobs: Sequence[Job], workers: int
) -> Iterator[Answer]:
    """Yield what a function makes of each job, in the order in which they are done.

    Args:
        function: of a module, so that another process can find it.
        jobs: what pickle takes.
        workers: processes; with one of them, or one job, all is done in this process.
    """
    if workers == 1 or len(jobs) < 2:
        yield from map(function, jobs)
        return
    # Forked processes would inherit a graphics context and hang.
    context = multiprocessing.get_context("spawn")
    with main_script_hidden(), ProcessPoolExecutor(min(workers, len(jobs)), context) as pool:
        for done in as_completed([pool.submit(function, job) for job in jobs]):
            yield done.result()
