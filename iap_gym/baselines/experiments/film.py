"""Film an agent: with the patches that it selects, or with what its recurrent core does."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from tqdm import tqdm

from iap_gym import _checks
from iap_gym._video import VideoWriter
from iap_gym.attention import PatchSelector
from iap_gym.baselines.evolution.policy import EvolutionPolicy
from iap_gym.baselines.evolution.rollout import run_episode
from iap_gym.baselines.experiments.agents import LastInfo
from iap_gym.baselines.experiments.evaluate import FIRST_SEED
from iap_gym.baselines.experiments.loading import load_agent, make_env
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.shutter import Shutter, frame_rate
from iap_gym.envs.quadruped.env import QuadrupedEnv
from iap_gym.wrappers import mark_patches, score_map
from iap_gym.wrappers.overlay import observed_region

if TYPE_CHECKING:
    from iap_gym.baselines.experiments.path_plot import Walk
    from iap_gym.baselines.experiments.recurrent_agent import RecurrentAgent

PANEL_HEIGHT = 384  # pixels; smaller views are enlarged by a whole factor to about this
CAPTION_HEIGHT = 28
END_SECONDS = 1.5  # that the end of an episode stays, of a recurrent agent or a robot
BACKGROUND = (24, 24, 28)


def enlarge(frame: np.ndarray) -> np.ndarray:
    """Repeat the pixels of a small frame so that it can be looked at."""
    factor = max(1, round(PANEL_HEIGHT / frame.shape[0]))
    return frame.repeat(factor, axis=0).repeat(factor, axis=1)


def as_high(frame: np.ndarray, height: int) -> np.ndarray:
    """Take the nearest pixels of a frame for one of another height and the same sides' ratio."""
    rows, columns = frame.shape[:2]
    width = round(height * columns / rows)
    return frame[np.arange(height) * rows // height][:, np.arange(width) * columns // width]


def only_patches(frame: np.ndarray, selector: PatchSelector, indices: np.ndarray) -> np.ndarray:
    """Return the frame dark but for the selected patches: all that the agent keeps."""
    mask = mark_patches(
        np.zeros_like(frame), selector, indices, color=(255, 255, 255), alpha=1.0
    ).any(axis=-1, keepdims=True)
    return np.where(mask, frame, frame // 6)


def caption(panels: list[np.ndarray], titles: list[str], text: str) -> np.ndarray:
    """Put panels of one height side by side over a line of text.

    Returns:
        uint8 (height, width, 3), both even, as video needs.
    """
    height = panels[0].shape[0] + 2 * CAPTION_HEIGHT
    gap = 8
    width = sum(panel.shape[1] for panel in panels) + gap * (len(panels) - 1)
    canvas = Image.new("RGB", (width + width % 2, height + height % 2), BACKGROUND)
    draw = ImageDraw.Draw(canvas)
    font = ImageFont.load_default(size=15)
    left = 0
    for panel, title in zip(panels, titles, strict=True):
        draw.text((left + 6, 5), title, fill=(235, 235, 235), font=font)
        canvas.paste(Image.fromarray(panel), (left, CAPTION_HEIGHT))
        left += panel.shape[1] + gap
    draw.text((6, height - CAPTION_HEIGHT + 5), text, fill=(235, 235, 235), font=font)
    return np.asarray(canvas)


def scene(
    env: gymnasium.Env, policy: EvolutionPolicy, observations: Any, text: str, scores: bool
) -> np.ndarray:
    """Draw one moment: the rendered frame, and the selection if the policy has one.

    Args:
        env: renders the frame.
        policy: has acted on the observations last.
        observations: a batch of one.
        text: the line below.
        scores: whether to add the scores of all patches as a heat map.
    """
    frame = env.render()
    if not isinstance(frame, np.ndarray):
        raise RuntimeError(f"render: expected an image, got {type(frame).__name__}")
    selector, indices = policy.selector, policy.last_indices
    if selector is None or indices is None:
        return caption([enlarge(frame)], ["view"], text)
    chosen = indices[0]
    view = enlarge(frame)
    factor = len(view) // len(frame)
    rows, columns = observed_region(env, frame)
    region = (
        slice(factor * rows.start, factor * rows.stop),
        slice(factor * columns.start, factor * columns.stop),
    )
    seen = as_high(view[region], len(view))
    view[region] = mark_patches(view[region], selector, chosen)
    panels = [view, only_patches(seen, selector, chosen)]
    titles = ["what the agent sees, selected patches red", "what it keeps"]
    images = policy.images(observations)
    if scores and images is not None:
        panels.append(score_map(selector, images[0], seen.shape[:2], scale="rank"))
        titles.append("scores of all patches, by rank")
    return caption(panels, titles, text)


def record(
    run: Run,
    path: str | os.PathLike[str] | None = None,
    split: str | None = None,
    seed: int = FIRST_SEED,
    episodes: int = 1,
    scores: bool = False,
    sampled: bool = False,
) -> list[float]:
    """Film whole episodes of the trained agent to an mp4 file.

    The ways of a robot are drawn too, from above, into a picture beside it: the run's own
    ``path.png``, or the film's name with "-path.png".

    Args:
        run: a run with a checkpoint.
        path: of the film; None is the run's own ``film.mp4``.
        split: as for ``evaluate``.
        seed: of the first episode; the others follow.
        episodes: how many, one after the other.
        scores: whether to show the scores of all patches as a heat map too.
        sampled: whether actions are drawn from the policy, as for ``evaluate``.

    Returns:
        The return of each episode.

    Raises:
        ValueError: an argument is wrong, or does not go with the algorithm of the run; or the
            environment renders no images.
    """
    if scores and run.config().algo == "ppo":
        raise _checks.refuse("scores", "False, as a ppo agent selects no patches", scores)
    _require_images(run, split)
    env = LastInfo(make_env(run.config().evaluated(), split, render_mode="rgb_array"))
    try:
        agent = load_agent(run, env, sampled)
        returns: list[float] = []
        walks: list[Walk] = []
        with (
            VideoWriter(path or run.film_file, frame_rate(env)) as video,
            tqdm(unit="frame", disable=None, leave=False) as bar,  # on a terminal alone
        ):

            def write(frame: np.ndarray) -> None:
                video.write(frame)
                bar.update()

            for episode_seed in range(seed, seed + episodes):
                if isinstance(agent, EvolutionPolicy):
                    total = _attention(env, agent, episode_seed, write, scores)
                else:
                    total = _memory(env, agent, episode_seed, write)
                returns.append(total)
                if isinstance(env.unwrapped, QuadrupedEnv):
                    walks.append(_walk(env.unwrapped, f"seed {episode_seed}: {_ended(env, total)}"))
        if walks:
            from iap_gym.baselines.experiments.path_plot import draw_path

            draw_path(walks, run.path_file if path is None else path_picture(path))
        return returns
    finally:
        env.close()


def path_picture(film: str | os.PathLike[str]) -> Path:
    """Return where the ways of a film's episodes are drawn."""
    return Path(film).with_name(f"{Path(film).stem}-path.png")


def _walk(env: QuadrupedEnv, title: str) -> Walk:
    from iap_gym.baselines.experiments.path_plot import Walk
    from iap_gym.envs.quadruped.floor_map import floor_map

    return Walk(floor_map(env), title)


def _ended(env: LastInfo, total: float) -> str:
    """Say how an episode of a robot ended."""
    inner: Any = env.unwrapped
    seconds = (len(inner.path) - 1) * inner.mover.control_dt
    # A limit around the environment cuts an episode without a word of the environment.
    return f"{env.info.get('end', 'cut')} after {seconds:.2f} s, return {total:.2f}"


def _attention(
    env: LastInfo,
    policy: EvolutionPolicy,
    seed: int,
    write: Callable[[np.ndarray], None],
    scores: bool,
) -> float:
    steps = itertools.count()
    last: Any = None

    def watch(seen: Any, total: float) -> None:
        nonlocal last
        last = seen
        text = f"step {next(steps)}   return {total:.1f}"
        shutter.step(lambda: scene(env, policy, seen, text, scores))

    with Shutter(env, write) as shutter:
        total = run_episode(env, policy, seed, watch=watch).total_reward
    if "end" in env.info:
        _stay(write, env, scene(env, policy, last, _ended(env, total), scores))
    return total


def _stay(write: Callable[[np.ndarray], None], env: gymnasium.Env, last: np.ndarray) -> None:
    for _ in range(round(END_SECONDS * frame_rate(env))):
        write(last)


def _memory(
    env: gymnasium.Env, agent: RecurrentAgent, seed: int, write: Callable[[np.ndarray], None]
) -> float:
    from iap_gym.baselines.evolution.evaluation import one_torch_thread
    from iap_gym.baselines.experiments.memory_scene import MemoryScene
    from iap_gym.baselines.experiments.periodic import own_randomness

    drawn = MemoryScene(agent, env)
    steps = itertools.count()

    def watch(_: Any, total: float) -> None:
        drawn.note(next(steps), total)
        shutter.step(drawn.picture)

    with (
        one_torch_thread(),
        own_randomness(seed, agent.policy.device),
        Shutter(env, write) as shutter,
    ):
        episode = run_episode(env, agent, seed, watch=watch)
    _stay(write, env, drawn.draw_end(episode.length, episode.total_reward))
    return episode.total_reward


def _require_images(run: Run, split: str | None) -> None:
    # Asked without a render mode: with one, some environments refuse to be made, others warn.
    env = make_env(run.config().evaluated(), split)
    env.close()
    if "rgb_array" not in env.metadata.get("render_modes", ()):
        raise ValueError(f"env: {run.config().env} renders no rgb_array images, so no film of it")
