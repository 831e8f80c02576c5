"""Environments spread over worker processes, for Stable-Baselines3."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

CLOSE_SECONDS = 5.0  # for a worker to close its environments before it is killed


class WorkerVecEnv(VecEnv):
    """Plays in several processes what ``DummyVecEnv`` plays in one, with the same numbers.

    Unlike ``SubprocVecEnv``, which has a process for every environment, each worker holds its share
    of them. Workers come from a forkserver, since a fork of a process that has rendered hangs.

    Args:
        makers: make the environments; cloudpickle must be able to pickle them.
        num_workers: processes; no more than environments are started.

    Raises:
        RuntimeError: an environment raised, or a worker died; also in every other method.
    """

    def __init__(self, makers: Sequence[Callable[[], gymnasium.Env]], num_workers: int) -> None:
        shares = np.array_split(np.arange(len(makers)), min(num_workers, len(makers)))
        self._shares = [share.tolist() for share in shares]
        self._pipes: list[Any] = []  # Connection, whose class depends on the platform
        self._processes: list[Any] = []
        context = multiprocessing.get_context("forkserver")
        for share in self._shares:
            ours, theirs = context.Pipe()
            payload = cloudpickle.dumps([makers[index] for index in share])
            process = context.Process(
                target=_work, args=(theirs, payload, dict(os.environ)), daemon=True
            )
            process.start()
            theirs.close()  # else the worker's death would not close the connection
            self._pipes.append(ours)
            self._processes.append(process)
        try:
            spaces = [self._receive(worker) for worker in range(len(self._pipes))]
            super().__init__(len(makers), *spaces[0])
        except BaseException:
            self.close()
            raise

    def _send(self, worker: int, name: str, *arguments: Any, **named: Any) -> None:
        try:
            self._pipes[worker].send((name, arguments, named))
        except ConnectionError:
            self._receive(worker)  # says why

    def _receive(self, worker: int) -> Any:
        try:
            good, answer = self._pipes[worker].recv()
        except (EOFError, ConnectionError):
            process = self._processes[worker]
            process.join(CLOSE_SECONDS)
            good, answer = False, f"worker process ended with exit code {process.exitcode}"
        if not good:
            raise RuntimeError(answer)
        return answer

    def _everywhere(self, name: str, parts: Sequence[Any]) -> list[Any]:
        for worker, part in enumerate(parts):
            self._send(worker, name, part)
        return [self._receive(worker) for worker in range(len(parts))]

    def _of_indices(self, indices: VecEnvIndices, name: str, *args: Any, **named: Any) -> list[Any]:
        """Call a method of the workers' vector environments for some environments."""
        wanted = list(self._get_indices(indices))
        found: dict[int, Any] = {}
        for worker, share in enumerate(self._shares):
            here = [index for index in wanted if index in share]
            if here:
                local = [share.index(index) for index in here]
                self._send(worker, name, *args, indices=local, **named)
                answers = self._receive(worker)
                found.update(zip(here, answers or [None] * len(here), strict=True))
        return [found[index] for index in wanted]

    def reset(self) -> Any:
        """Reset all environments, with the seeds that ``seed`` gave."""
        parts = [
            ([self._seeds[i] for i in share], [self._options[i] for i in share])
            for share in self._shares
        ]
        observations, infos = zip(*self._everywhere("reset", parts), strict=True)
        self.reset_infos = [info for part in infos for info in part]
        self._reset_seeds()
        self._reset_options()
        return _join(observations)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Begin a step; ``actions`` has one row an environment."""
        for worker, share in enumerate(self._shares):
            self._send(worker, "step", actions[share])

    def step_wait(self) -> VecEnvStepReturn:
        """Wait for the step."""
        answers = [self._receive(worker) for worker in range(len(self._shares))]
        observations, rewards, dones, infos, resets = zip(*answers, strict=True)
        self.reset_infos = [info for part in resets for info in part]
        joined = [info for part in infos for info in part]
        return _join(observations), np.concatenate(rewards), np.concatenate(dones), joined

    def close(self) -> None:
        """End the workers; those that do not within seconds are killed."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(CLOSE_SECONDS)
            if process.exitcode is None:
                process.kill()
                process.join()
        self._pipes, self._processes = [], []

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of environments."""
        return self._of_indices(indices, "get_attr", attr_name)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of environments."""
        self._of_indices(indices, "set_attr", attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method of environments."""
        return self._of_indices(indices, "env_method", method_name, *method_args, **method_kwargs)

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Whether environments are inside such a wrapper."""
        return self._of_indices(indices, "env_is_wrapped", wrapper_class)

    def get_images(self) -> Sequence[NDArray[Any] | None]:
        """Render all environments."""
        return self.env_method("render")


def _join(parts: Sequence[Any]) -> Any:
    """Put the observations of the workers one after the other."""
    first = parts[0]
    if isinstance(first, dict):
        return {key: np.concatenate([part[key] for part in parts]) for key in first}
    if isinstance(first, tuple):
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    return np.concatenate(parts)


def _work(pipe: Connection, payload: bytes, environment: dict[str, str]) -> None:
    """Answer requests until the connection closes.

    Args:
        pipe: to the parent.
        payload: the functions that make the environments, as cloudpickle wrote them.
        environment: the parent's environment variables; those of the forkserver may be older.
    """
    # Ctrl-C reaches the whole process group; the parent alone decides what then happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)
    # Mesa's software renderer starts a thread per core in every process otherwise.
    os.environ.setdefault("LP_NUM_THREADS", "1")
    envs = None
    try:
        envs = DummyVecEnv(cloudpickle.loads(payload))
        pipe.send((True, (envs.observation_space, envs.action_space)))
        while True:
            name, arguments, named = pipe.recv()
            pipe.send((True, _answer(envs, name, arguments, named)))
    except (EOFError, ConnectionError):
        pass
    except Exception as error:
        pipe.send((False, f"{type(error).__name__}: {error}\n{traceback.format_exc()}"))
    finally:
        if envs is not None:
            envs.close()


def _answer(envs: DummyVecEnv, name: str, arguments: Any, named: Any) -> Any:
    if name == "step":
        return *envs.step(*arguments), envs.reset_infos
    if name == "reset":
        envs._seeds, envs._options = arguments[0]
        return envs.reset(), envs.reset_infos
    return getattr(envs, name)(*arguments, **named)
