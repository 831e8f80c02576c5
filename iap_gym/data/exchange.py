"""Data sets to Minari and from there.

Minari keeps a data set as a group of HDF5 for each episode. It has no place for all that our header
says, which goes along in its metadata: what went there comes back as the same file, to the bit.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks, _files, _optional
from iap_gym.data import fetch, file
from iap_gym.data.collection import Progress
from iap_gym.data.dataset import SequenceDataset, load
from iap_gym.data.making import check_target, versions

if TYPE_CHECKING:
    from minari import EpisodeData, MinariDataset
    from minari.data_collector.episode_buffer import EpisodeBuffer

_KEY = "iap_gym_header"  # of Minari's metadata
_PARTIAL = "iap_gym-export"  # in names of folders that are being written


def to_minari(
    dataset: SequenceDataset, name: str, progress: Progress | None = None
) -> MinariDataset:
    """Write a data set into Minari's folder, each sequence as an episode that is truncated at T.

    Collection went on through rewards, so ``terminations`` are False throughout. The events become
    ``infos``, and the options of an episode name its category. What an export left that was killed
    is removed by the next one.

    Args:
        dataset: one that ``make_dataset`` made.
        name: Minari's id for it, "name-v0" or "namespace/name-v0".
        progress: called with how many sequences have been written, and how many it will be.

    Returns:
        Minari's data set.

    Raises:
        ValueError: Minari does not take the name, or the data set came from there.
        FileExistsError: there is such a data set already.
        gymnasium.error.DependencyNotInstalled: Minari or h5py is not installed.
    """
    _optional.need("data", "minari", "h5py")
    import minari
    from minari.dataset.minari_storage import MinariStorage
    from minari.namespace import create_namespace, list_local_namespaces
    from minari.storage import get_dataset_path

    namespace = _namespace(name)
    header = dataset.header
    if header["env"] is None:
        raise _checks.refuse("dataset", "one that make_dataset made", header["dataset"])
    target = get_dataset_path(name)
    if target.exists():
        raise FileExistsError(f"{target} exists already; choose another name")
    settings = {} if header["variant"] is None else {"variant": header["variant"]}
    env: gymnasium.Env[Any, Any] = gymnasium.make(header["env"], **settings)
    # A folder whose name begins with a dot is none of Minari's: half a data set never looks whole.
    beside = get_dataset_path() / _PARTIAL
    _files.remove_abandoned(beside)
    partial = _files.temporary_name(beside)
    try:
        partial.mkdir()
        storage = MinariStorage.new(
            partial / "data", env.observation_space, env.action_space, env.spec, "hdf5"
        )
        storage.update_metadata(
            {
                "dataset_id": name,
                "minari_version": minari.__version__,
                "description": f"{header['dataset']}, {header['split']}: {header['command']}",
                "algorithm_name": _collector(header),
                "requirements": ["iap-gym"],
                _KEY: json.dumps(header),
            }
        )
        storage.update_episodes(_episodes(dataset, env.action_space, progress))
        if namespace is not None and namespace not in list_local_namespaces():
            create_namespace(namespace)
        partial.replace(target)
    finally:
        env.close()
        shutil.rmtree(partial, ignore_errors=True)
    return minari.load_dataset(name)


def from_minari(
    name: str,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> SequenceDataset:
    """Write a data set of Minari's folder into a file of ours, and open it.

    One that ``to_minari`` wrote becomes the file that it was. Of another one, numbers become
    float32 and all sequences are of one category; infos that are not one number a state are left
    out, and so are ends of episodes.

    Args:
        name: Minari's id of it.
        path: of the file; its folder is made.
        overwrite: replace a file that is there.
        progress: called with how many sequences have been read, and how many it will be.

    Raises:
        ValueError: its episodes are not equally long, its observations not a Box with one
            dimension, its actions neither that nor Discrete.
        FileNotFoundError: Minari has no such data set.
        FileExistsError: the file is there, and not to be replaced.
        OSError: it cannot be written.
        gymnasium.error.DependencyNotInstalled: Minari or h5py is not installed.
    """
    _optional.need("data", "minari", "h5py")
    import minari

    _namespace(name)
    source = minari.load_dataset(name)
    _check_source(source)
    check_target(path, overwrite=overwrite)
    stored = source.storage.metadata.get(_KEY)
    header = _foreign_header(source) if stored is None else json.loads(stored)
    arrays = _read_episodes(source, header["columns"]["info"], progress)
    if stored is not None and file.checksum_of(header, arrays) != header["sha256"]:
        # Somebody has changed the data since; the arrays are in the order of our columns.
        header = {**_foreign_header(source), "columns": header["columns"]}
    file.write(path, arrays, header)
    return load(path)


def _collector(header: Mapping[str, Any]) -> str:
    """Name what chose the actions of a data set."""
    if header["dataset"] not in fetch.NAMES:
        return "the policy that collected the published data"
    return "scripted controllers" if header["split"] in fetch.SPLITS else "iCEM on the simulator"


def _namespace(name: str) -> str | None:
    from minari.dataset.minari_dataset import parse_dataset_id

    try:
        return parse_dataset_id(name)[0]
    except (ValueError, TypeError):  # the latter where the version is missing
        raise _checks.refuse("name", "name-v0 or namespace/name-v0", name) from None


def _episodes(
    dataset: SequenceDataset, actions: spaces.Space[Any], progress: Progress | None
) -> Iterator[EpisodeBuffer]:
    from minari.data_collector.episode_buffer import EpisodeBuffer

    still = np.zeros(dataset.steps, np.int64)  # what a world that takes no action is given
    truncated = np.zeros(dataset.steps, np.bool_)
    truncated[-1] = True
    for index, category in enumerate(dataset.category.tolist()):
        events = zip(dataset.header["columns"]["info"], dataset.info[index].T, strict=True)
        yield EpisodeBuffer(
            options={"category": dataset.categories[category]},
            observations=dataset.observations[index],  # type: ignore[arg-type]
            actions=still if isinstance(actions, spaces.Discrete) else dataset.actions[index],  # type: ignore[arg-type]
            rewards=dataset.rewards[index],  # type: ignore[arg-type]
            terminations=np.zeros_like(truncated),  # type: ignore[arg-type]
            truncations=truncated,  # type: ignore[arg-type]
            infos=dict(events),
        )
        if progress is not None:
            progress(index + 1, len(dataset))


def _check_source(source: MinariDataset) -> None:
    if source.total_episodes < 1:
        raise _checks.refuse("name", "a data set with episodes", source.id)
    seen, done = source.observation_space, source.action_space
    if not isinstance(seen, spaces.Box) or len(seen.shape) != 1:
        raise _checks.refuse("observations", "a Box with one dimension", seen)
    if not isinstance(done, spaces.Discrete) and not (
        isinstance(done, spaces.Box) and len(done.shape) == 1
    ):
        raise _checks.refuse("actions", "a Box with one dimension, or Discrete", done)


def _read_episodes(
    source: MinariDataset, events: list[str], progress: Progress | None
) -> dict[str, NDArray[np.float32]]:
    parts: dict[str, list[NDArray[np.float32]]] = {}
    for number, episode in enumerate(source.iterate_episodes()):
        infos = [np.asarray(episode.infos[event], np.float32) for event in events]
        states = len(episode) + 1
        arrays = {
            "observations": episode.observations,
            "actions": _actions(episode, source.action_space),
            "rewards": episode.rewards,
            "info": np.stack(infos, axis=1) if infos else np.zeros((states, 0)),
        }
        for name, array in arrays.items():
            parts.setdefault(name, []).append(np.asarray(array, np.float32))
        if progress is not None:
            progress(number + 1, source.total_episodes)
    lengths = {len(rewards) for rewards in parts["rewards"]}
    if len(lengths) > 1:
        wanted = "episodes of the same number of steps"
        raise _checks.refuse("name", wanted, f"{min(lengths)} to {max(lengths)}")
    return {name: np.stack(arrays) for name, arrays in parts.items()}


def _actions(episode: EpisodeData, space: spaces.Space[Any]) -> NDArray[Any]:
    actions = np.asarray(episode.actions)
    if not isinstance(space, spaces.Discrete):
        return actions
    return np.zeros((len(actions), 0)) if space.n == 1 else actions[:, None]


def _foreign_header(source: MinariDataset) -> dict[str, Any]:
    """Return a header for a data set of which Minari alone knows."""
    first = next(iter(source.iterate_episodes()))
    sizes: Mapping[str, int] = {
        "observations": np.asarray(first.observations).shape[1],
        "actions": _actions(first, source.action_space).shape[1],
    }
    columns = {name: [str(column) for column in range(size)] for name, size in sizes.items()}
    infos = first.infos or {}
    columns["info"] = [
        name
        for name, values in sorted(infos.items())
        if isinstance(values, np.ndarray)
        and values.shape == (len(first) + 1,)
        and values.dtype.kind in "biuf"
    ]
    return {
        "dataset": source.id,
        "env": None,
        "variant": None,
        "split": None,
        "seed": None,
        "sequences": int(source.total_episodes),
        "steps": len(first),
        "command": f"iap-gym data from-minari {source.id}",
        "versions": versions(),
        "categories": ["all"],
        "pools": {},
        "columns": columns,
    }
