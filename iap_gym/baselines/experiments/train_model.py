"""Train run folders of world models, one in this process or several in processes side by side."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from iap_gym._files import write_text
from iap_gym.baselines.evolution.evaluation import one_torch_thread
from iap_gym.baselines.evolution.processes import main_script_hidden
from iap_gym.baselines.experiments.lock import in_use
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.progress import Progress
from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.sets import check_data, load_sets
from iap_gym.baselines.world_model.training import DivergedError, Training

Report = Callable[[int], object]  # is told how many epochs are done


def settle(config: ModelConfig, workers: int = 1) -> ModelConfig:
    """Return a config filled in, once the data sets are there and the model took every argument.

    Args:
        config: of a run to be.
        workers: processes that make data sets of Fetch Pick and Place where there are none.

    Raises:
        ValueError: something of it is refused.
    """
    config = config.fill_in()
    Training(config, *load_sets(config, workers))
    return config


def train(run: ModelRun, bar: bool = False, report: Report | None = None) -> float:
    """Train a run to its config's epochs, from its newest checkpoint if it has one.

    A run that was killed and goes on ends with the same weights, to the bit, as one that was not.

    Args:
        run: its config is filled in.
        bar: whether to draw a progress bar on stderr.
        report: called after every epoch.

    Returns:
        The wall time in seconds.

    Raises:
        DivergedError: the loss is not finite; the newest checkpoint stays, and the folder says so.
        RunInUseError: another process trains it.
        ValueError: the config is wrong, the data sets are not those of the run so far, or the
            checkpoint is not one of it.
    """
    begin = time.monotonic()
    with in_use(run), one_torch_thread():
        run.diverged_file.unlink(missing_ok=True)
        try:
            _train(run, bar, report)
        except DivergedError as error:
            write_text(run.diverged_file, f"{error}\n")
            raise
    return time.monotonic() - begin


def _train(run: ModelRun, bar: bool, report: Report | None) -> None:
    config = run.config()
    assert config.epochs is not None
    sets = load_sets(config)
    # an old run with a checkpoint does not know its data, and nobody else does
    if config.data_sha256 is not None or not run.checkpoint_file.is_file():
        checked = check_data(config, *sets)
        if checked != config:
            run.write_config(checked)
    training = Training(config, *sets)
    if run.checkpoint_file.is_file():
        training.restore(run.checkpoint_file)
        _write_tables(run, training)  # whatever became of the files
    shown = Progress(run, training.epoch, bar, config.epochs, "epoch")
    with contextlib.closing(shown) as progress:
        if not training.evaluations:
            _evaluate(run, training, progress)
        while training.epoch < config.epochs:
            row = training.run_epoch()
            progress.advance(training.epoch, "training", error=f"{row['error']:.3g}")
            if report is not None:
                report(training.epoch)
            if training.epoch % config.evaluate_every == 0 or training.epoch == config.epochs:
                _evaluate(run, training, progress)
    training.model.save(run.weights_file)


def _evaluate(run: ModelRun, training: Training, progress: Progress) -> None:
    """Evaluate and save; the checkpoint comes first and holds all rows."""
    evaluation = training.evaluate()
    training.save(run.checkpoint_file)
    _write_tables(run, training)
    for group, row in (("evaluation", evaluation), *(("train", r) for r in training.history[-1:])):
        numbers = {name: value for name, value in row.items() if name != "epoch"}
        progress.record(group, numbers, training.epoch)


def _write_tables(run: ModelRun, training: Training) -> None:
    run.write_metrics(training.history)
    run.write_evaluations(training.evaluations)


class Failure(NamedTuple):
    """Why a run ended before its time."""

    reason: str
    diverged: bool


class RunsFailedError(RuntimeError):
    """Some of several runs failed; all others have been trained to their ends."""

    def __init__(self, failures: Mapping[Path, Failure], count: int) -> None:
        self.failures = dict(failures)
        path, first = next(iter(self.failures.items()))
        super().__init__(f"{len(failures)} of {count} runs failed; {path}: {first.reason}")


def train_side_by_side(runs: Sequence[ModelRun], workers: int, bar: bool = False) -> float:
    """Train runs in processes of their own, so many at a time; as ``train``.

    A process ends with this one, however that ended, after the epoch at hand.

    Returns:
        The wall time in seconds.

    Raises:
        RunsFailedError: runs failed, the others having gone on; the message names the first.
    """
    begin, waiting = time.monotonic(), list(runs)
    total = sum(run.config().epochs or 0 for run in runs)
    failed: dict[Path, Failure] = {}
    working: dict[Any, tuple[BaseProcess, ModelRun, int]] = {}
    shown = tqdm(total=total, unit="epoch", disable=not bar, dynamic_ncols=True)
    shown.set_description(f"{len(runs)} seeds", refresh=False)
    try:
        while waiting or working:
            while waiting and len(working) < workers:
                run = waiting.pop(0)
                connection, process = _start(run)
                working[connection] = process, run, 0
            ready: list[Any] = wait(list(working))
            for connection in ready:
                process, run, done = working[connection]
                news = _receive(connection)
                if isinstance(news, int):
                    shown.update(news - done)
                    working[connection] = process, run, news
                    continue
                del working[connection]
                connection.close()
                process.join()
                if news is not None or process.exitcode:
                    reason = f"its process ended with exit code {process.exitcode}"
                    failed[run.path] = news or Failure(reason, diverged=False)
    finally:
        shown.close()
        for connection, (process, _, _) in working.items():
            process.terminate()
            connection.close()
            process.join()
    if failed:
        raise RunsFailedError(failed, len(runs))
    return time.monotonic() - begin


def _start(run: ModelRun) -> tuple[Any, BaseProcess]:
    """Return a connection, whose class depends on the platform, and a process that trains."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(os.fspath(run.path), theirs), daemon=True)
    with main_script_hidden():
        process.start()
    theirs.close()  # else the end of the process would not close the connection
    return ours, process


def _receive(connection: Any) -> Any:
    """Return how many epochs are done, a ``Failure``, or None at the end."""
    try:
        return connection.recv()
    except (EOFError, OSError):
        return None


def _work(path: str, connection: Any) -> None:
    """Train a run in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process hears it, and ends this one
    try:
        train(ModelRun.open(path), report=connection.send)
    except BrokenPipeError:  # the parent process is gone
        sys.exit(1)
    except Exception as error:
        connection.send(Failure(str(error) or repr(error), isinstance(error, DivergedError)))
