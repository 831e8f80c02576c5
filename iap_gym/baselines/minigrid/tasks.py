"""The MiniGrid tasks of the GateL0RD paper, under their upstream ids, and how they are made."""

from __future__ import annotations

from typing import Any

import gymnasium

from iap_gym import _checks
from iap_gym._optional import require
from iap_gym.registry import UPSTREAM, UpstreamEntry

TASKS: dict[str, UpstreamEntry] = {
    entry.id: entry for entry in UPSTREAM if entry.family == "minigrid"
}

# Figure 10 (a) to (f). The appendix calls the fifth KeyCorridorS3R2 in some places and S3R3 in
# others, so that both are here.
PAPER_TASKS: tuple[str, ...] = (
    "MiniGrid-DoorKey-8x8-v0",
    "MiniGrid-RedBlueDoors-8x8-v0",
    "MiniGrid-SimpleCrossingS9N3-v0",
    "MiniGrid-LavaCrossingS9N2-v0",
    "MiniGrid-KeyCorridorS3R2-v0",
    "MiniGrid-KeyCorridorS3R3-v0",
    "MiniGrid-MemoryS13Random-v0",
)

# Trained on the first, tested on the second without further training: figure 10 (g) and (h), D.10.
TRANSFER: dict[str, str] = {
    "MiniGrid-DoorKey-8x8-v0": "MiniGrid-DoorKey-16x16-v0",
    "MiniGrid-MemoryS13Random-v0": "MiniGrid-MemoryS17Random-v0",
}

_PREFIX = "minigrid:"


def is_minigrid(env_id: str) -> bool:
    """Whether an id is written as MiniGrid's are: "MiniGrid-…", with or without "minigrid:"."""
    return env_id.removeprefix(_PREFIX).startswith("MiniGrid-")


def is_success(episode_return: float) -> bool:
    """Whether an episode counts as solved, by the paper's measure: its return is above 0.

    MiniGrid gives one reward, ``1 - 0.9 * steps / max_steps`` when the task is done, and 0 for
    everything else.
    """
    return episode_return > 0


def make_minigrid(
    env_id: str, render_mode: str | None = None, **kwargs: Any
) -> gymnasium.Env[Any, Any]:
    """Make a MiniGrid environment whose observation is the image alone.

    Args:
        env_id: upstream id such as "MiniGrid-DoorKey-5x5-v0", also with "minigrid:" before it; any
            of MiniGrid's, not only ``TASKS``.
        render_mode: None, "rgb_array" or "human".
        **kwargs: arguments of the environment, such as ``agent_view_size=9``.

    Returns:
        Observations uint8 (7, 7, 3), the view of the agent: object, colour and state of each cell
        as small integers (10, 5 and 3 at most), no intensities. Actions ``Discrete(7)``.

    Raises:
        ValueError: the id is not one of MiniGrid's.
        gymnasium.error.DependencyNotInstalled: minigrid is not installed.
        gymnasium.error.NameNotFound: MiniGrid knows no such id.
    """
    if not isinstance(env_id, str) or not is_minigrid(env_id):
        raise _checks.refuse("env_id", "an id of MiniGrid such as MiniGrid-DoorKey-5x5-v0", env_id)
    require("minigrid", "minigrid")  # registers the ids as well
    wrappers = require("minigrid.wrappers", "minigrid")
    env = gymnasium.make(env_id.removeprefix(_PREFIX), render_mode=render_mode, **kwargs)
    return wrappers.ImgObsWrapper(env)
