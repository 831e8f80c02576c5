"""Film an agent: with the patches that it selects, or with what its recurrent core does."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from iap_gym import _checks
from iap_gym._video import VideoWriter
from iap_gym.attention import PatchSelector
from iap_gym.baselines.evolution.policy import EvolutionPolicy
from iap_gym.baselines.evolution.rollout import run_episode
from iap_gym.baselines.experiments.evaluate import FIRST_SEED
from iap_gym.baselines.experiments.loading import load_agent, make_env
from iap_gym.baselines.experiments.run import Run
from iap_gym.wrappers import mark_patches, score_map

if TYPE_CHECKING:
    from iap_gym.baselines.experiments.recurrent_agent import RecurrentAgent

PANEL_HEIGHT = 384  # pixels; smaller views are enlarged by a whole factor to about this
CAPTION_HEIGHT = 28
END_SECONDS = 1.5  # that the end of an episode stays, of a recurrent agent
BACKGROUND = (24, 24, 28)


def enlarge(frame: np.ndarray) -> np.ndarray:
    """Repeat the pixels of a small frame so that it can be looked at."""
    factor = max(1, round(PANEL_HEIGHT / frame.shape[0]))
    return frame.repeat(factor, axis=0).repeat(factor, axis=1)


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
        policy: has just acted on the observations.
        observations: a batch of one.
        text: the line below.
        scores: whether to add the scores of all patches as a heat map.
    """
    frame = env.render()
    if not isinstance(frame, np.ndarray):
        raise RuntimeError(f"render: expected an image, got {type(frame).__name__}")
    selector, indices = policy.selector, policy.last_indices
    view = enlarge(frame)
    if selector is None or indices is None:
        return caption([view], ["view"], text)
    chosen = indices[0]
    panels = [mark_patches(view, selector, chosen), only_patches(view, selector, chosen)]
    titles = ["what the agent sees, selected patches red", "what it keeps"]
    images = policy.images(observations)
    if scores and images is not None:
        panels.append(score_map(selector, images[0], view.shape[:2], scale="rank"))
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
    env = make_env(run.config(), split, render_mode="rgb_array")
    try:
        agent = load_agent(run, env, sampled)
        returns: list[float] = []
        with VideoWriter(path or run.film_file, frame_rate(env)) as video:
            for episode_seed in range(seed, seed + episodes):
                if isinstance(agent, EvolutionPolicy):
                    total = _attention(env, agent, episode_seed, video.write, scores)
                else:
                    total = _memory(env, agent, episode_seed, video.write)
                returns.append(total)
        return returns
    finally:
        env.close()


def _attention(
    env: gymnasium.Env,
    policy: EvolutionPolicy,
    seed: int,
    write: Callable[[np.ndarray], None],
    scores: bool,
) -> float:
    steps = itertools.count()

    def watch(seen: Any, total: float) -> None:
        text = f"step {next(steps)}   return {total:.1f}"
        write(scene(env, policy, seen, text, scores))

    return run_episode(env, policy, seed, watch=watch).total_reward


def _memory(
    env: gymnasium.Env, agent: RecurrentAgent, seed: int, write: Callable[[np.ndarray], None]
) -> float:
    from iap_gym.baselines.evolution.evaluation import one_torch_thread
    from iap_gym.baselines.experiments.memory_scene import MemoryScene
    from iap_gym.baselines.experiments.periodic import own_randomness

    drawn = MemoryScene(agent, env)
    steps = itertools.count()
    with one_torch_thread(), own_randomness(seed, agent.policy.device):
        episode = run_episode(
            env, agent, seed, watch=lambda _, total: write(drawn.draw(next(steps), total))
        )
    last = drawn.draw_end(episode.length, episode.total_reward)
    for _ in range(round(END_SECONDS * frame_rate(env))):
        write(last)
    return episode.total_reward


def _require_images(run: Run, split: str | None) -> None:
    # Asked without a render mode: with one, some environments refuse to be made, others warn.
    env = make_env(run.config(), split)
    env.close()
    if "rgb_array" not in env.metadata.get("render_modes", ()):
        raise ValueError(f"env: {run.config().env} renders no rgb_array images, so no film of it")


def frame_rate(env: gymnasium.Env) -> float:
    """Frames a second of real time; 30 where the environment does not say."""
    return float(env.metadata.get("render_fps") or 30)
