"""The evaluator that spreads episodes over worker processes and replaces those that die."""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import os
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from iap_gym.baselines.evolution.env_source import EnvSource
from iap_gym.baselines.evolution.evaluation import EvaluationError, Evaluator, Scores, collect
from iap_gym.baselines.evolution.policy import EvolutionPolicy
from iap_gym.baselines.evolution.worker import Done, Failed, Job, work

CLOSE_SECONDS = 2.0  # for a worker to close its environment before it is killed


@dataclass
class _Worker:
    process: BaseProcess
    connection: Any  # multiprocessing's Connection, whose class depends on the platform
    ready: bool = False
    job: Job | None = None


class ProcessEvaluator(Evaluator):
    """Runs episodes in processes of their own, each given to the next free worker.

    Processes come from a forkserver: a fork of a process that has rendered would hang. They never
    run the main script, so that it needs no ``if __name__ == "__main__":`` for their sake. Workers
    start with the first ``evaluate``.

    An exception in an episode ends the evaluation with the worker's traceback. A worker that
    vanishes (killed, out of memory, crashed) is replaced and its episode run again.

    Args:
        source: where environments come from; cloudpickle must be able to pickle it.
        policy: what acts.
        max_steps: cut episodes there; None does not.
        num_workers: processes.
        max_deaths: so many workers may one episode cost, or the start, before that is an error.

    Raises:
        ValueError: the environment cannot be made in another process.
    """

    def __init__(
        self,
        source: EnvSource,
        policy: EvolutionPolicy,
        max_steps: int | None,
        num_workers: int,
        max_deaths: int = 3,
    ) -> None:
        self._payload = cloudpickle.dumps((source.for_workers(), policy, max_steps))
        self._num_workers = num_workers
        self._max_deaths = max_deaths
        self._workers: list[_Worker] = []
        self._failed_starts = 0

    @property
    def pids(self) -> list[int | None]:
        """The process ids of the workers that live."""
        return [worker.process.pid for worker in self._workers]

    def evaluate(self, vectors: NDArray[np.float32], seeds: NDArray[np.int64]) -> Scores:
        """Run every candidate through its episodes (see ``Evaluator``)."""
        try:
            return self._evaluate(vectors, seeds)
        except BaseException:  # Ctrl-C too: results under way belong to no later evaluation
            self.close()
            raise

    def _evaluate(self, vectors: NDArray[np.float32], seeds: NDArray[np.int64]) -> Scores:
        waiting = collections.deque(
            Job(place, vectors[place[0]], int(seeds[place])) for place in np.ndindex(*seeds.shape)
        )
        results: dict[tuple[int, int], tuple[float, int]] = {}
        deaths: collections.Counter[tuple[int, int]] = collections.Counter()
        while len(results) < seeds.size:
            while len(self._workers) < min(self._num_workers, seeds.size):
                self._workers.append(self._start())
            self._hand_out(waiting)
            for worker, message in self._receive():
                if message is None:
                    job = self._bury(worker, deaths)
                    if job is not None:
                        waiting.appendleft(job)
                elif isinstance(message, Failed):
                    where = _explain(worker.job)
                    raise EvaluationError(f"{where} failed: {message.summary}\n{message.trace}")
                elif isinstance(message, Done):
                    results[message.place] = (message.total_reward, message.length)
                    worker.job = None
                else:
                    worker.ready = True
                    self._failed_starts = 0
        return collect(results, seeds.shape)

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("forkserver")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=work, args=(theirs, self._payload, dict(os.environ)), daemon=True
        )
        with main_script_hidden():
            process.start()
        theirs.close()  # else the worker's death would not close the connection
        return _Worker(process, ours)

    def _hand_out(self, waiting: collections.deque[Job]) -> None:
        for worker in self._workers:
            if worker.ready and worker.job is None and waiting:
                worker.job = waiting.popleft()
                with contextlib.suppress(ConnectionError):  # its death is seen on receiving
                    worker.connection.send(worker.job)

    def _receive(self) -> Iterable[tuple[_Worker, Any]]:
        """Wait for news; None as message says that the worker has died."""
        # A grandchild may hold the connection open, so that only the sentinel tells of a death.
        watched: list[Any] = [w.connection for w in self._workers]
        watched += [w.process.sentinel for w in self._workers]
        news = set(wait(watched))
        for worker in list(self._workers):
            if worker.connection in news or worker.process.sentinel in news:
                yield worker, _next_message(worker.connection)

    def _bury(self, worker: _Worker, deaths: collections.Counter[tuple[int, int]]) -> Job | None:
        """Remove a dead worker and return the job that it leaves.

        Raises:
            EvaluationError: too many have died of the same job, or on starting.
        """
        self._workers.remove(worker)
        code = _end([worker])[0]
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= self._max_deaths:
                raise EvaluationError(
                    f"{self._failed_starts} worker processes died while starting, the last with "
                    f"exit code {code}; their own messages are on stderr"
                )
        if worker.job is not None:
            deaths[worker.job.place] += 1
            if deaths[worker.job.place] >= self._max_deaths:
                raise EvaluationError(
                    f"{_explain(worker.job)} ended {self._max_deaths} worker processes, the last "
                    f"with exit code {code} (a negative one is a signal, -9 often lack of memory)"
                )
        return worker.job

    def close(self) -> None:
        """End all workers; those in an episode at once, the others once they have closed up."""
        for worker in self._workers:
            if worker.job is not None or not worker.ready:
                worker.process.terminate()
        _end(self._workers)
        self._workers = []


@contextlib.contextmanager
def main_script_hidden() -> Iterator[None]:
    """Keep a starting process from importing the main script, and so from running it again.

    What a worker needs of the script is in the payload, by value.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _next_message(connection: Any) -> Any:
    try:
        return connection.recv() if connection.poll() else None
    except (EOFError, OSError):
        return None


def _end(workers: Iterable[_Worker]) -> list[int | None]:
    """Close the connections, wait, kill what does not end, and return the exit codes."""
    for worker in workers:
        worker.connection.close()
    codes: list[int | None] = []
    for worker in workers:
        worker.process.join(CLOSE_SECONDS)
        if worker.process.exitcode is None:
            worker.process.kill()
            worker.process.join()
        codes.append(worker.process.exitcode)
        worker.process.close()
    return codes


def _explain(job: Job | None) -> str:
    if job is None:
        return "starting a worker process"
    return f"candidate {job.place[0]} with seed {job.seed}"
