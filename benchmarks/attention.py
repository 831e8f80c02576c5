r"""Speed of patch selection on a CPU against torch, and its growth with the number of patches.

All ways run in this one process, on one thread, on one uint8 picture of 240x320 (scikit-image's
astronaut) cut into patches of 2x2, with the same weights (d 4, l 10, hybrid features with m 10 and
r 5), in turn, round after round; each counts with the shortest of its runs. Rivals get scale
factors folded into their weights. That each selects what it should is checked first.

    python benchmarks/attention.py --out benchmarks/results/attention.json \
        --plot docs/attention_growth.png
"""

from __future__ import annotations

import argparse
import json
import os
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _common import circumstances, keep_freed_memory, shortest
from numpy.typing import NDArray
from skimage import data, transform
from torch import Tensor
from torch.nn import functional

from iap_gym import _files
from iap_gym.attention import HybridFeatures, PatchSelector

SHAPE, PATCH, COUNT, CHUNK = (240, 320, 3), 2, 10, 256  # N is a multiple of CHUNK
# Height, width: N at patch 1.
GROWTH = ((25, 25), (50, 50), (100, 100), (120, 160), (240, 320), (480, 640))

# Ours, rival, ratio asked, ratio aimed at.
ASKED = (
    ("hybrid, compiled", "hybrid, torch, unfold and 180 features", 20, 35),
    ("hybrid, compiled", "softmax by rows, torch, chunks of 256", 600, 1000),
    ("relu, compiled", "relu, torch, unfold and matmul", 3, 4),
    ("relu, compiled", "relu, torch, strided convolution", 1, 1.2),
)


def picture(height: int, width: int) -> NDArray[np.uint8]:
    """Return a natural picture, uint8 (1, height, width, 3)."""
    resized = transform.resize(data.astronaut(), (height, width), anti_aliasing=True)
    return np.round(np.asarray(resized) * 255).astype(np.uint8)[None]


def unfolded(image: Tensor) -> Tensor:
    """Return the patches (N, D) in floats from 0 to 255, each channel, row, column."""
    pixels = image.permute(0, 3, 1, 2).float()
    return functional.unfold(pixels, PATCH, stride=PATCH)[0].T


def channel_first(weight: Tensor) -> Tensor:
    """Reorder weights (D, J) to the patches of ``unfolded``."""
    return weight.view(PATCH, PATCH, SHAPE[2], -1).permute(2, 0, 1, 3).reshape(weight.shape)


def top(scores: Tensor) -> Tensor:
    """Return the best patches, (1, l)."""
    return scores.topk(COUNT).indices[None]


def rivals(image: Tensor, selectors: dict[str, PatchSelector]) -> dict[str, Callable[[], Tensor]]:
    """Return the ways of selecting that are not ours."""
    hybrid, relu = selectors["hybrid"], selectors["relu"]
    scale = hybrid.d_qk**-0.25 / 255

    def weights(selector: PatchSelector) -> tuple[Tensor, Tensor]:
        query, key = (channel_first(w.detach()) * scale for w in (selector.W_q, selector.W_k))
        return query.contiguous(), key.contiguous()

    hybrid_query, hybrid_key = weights(hybrid)
    relu_both = torch.cat(weights(relu), 1)
    row_order = torch.cat([relu.W_q, relu.W_k], 1).detach() * scale
    kernels = relu_both.T.reshape(-1, SHAPE[2], PATCH, PATCH)
    features = hybrid.features
    assert isinstance(features, HybridFeatures)

    def hybrid_180() -> Tensor:
        patches = unfolded(image)
        total = features.query(patches @ hybrid_query).sum(0)
        return top(features.key(patches @ hybrid_key) @ total)

    def softmax() -> Tensor:
        patches = unfolded(image)
        query, key = patches @ hybrid_query, (patches @ hybrid_key).T.contiguous()
        total = torch.zeros(key.shape[1])
        logits = torch.empty(CHUNK, key.shape[1])
        for chunk in torch.split(query, CHUNK):
            torch.mm(chunk, key, out=logits)
            total += torch.softmax(logits, 1, out=logits).sum(0)
        return top(total)

    def relu_unfold() -> Tensor:
        patches = unfolded(image)
        both = (patches @ relu_both).relu_()
        return top(both[:, 4:] @ both[:, :4].sum(0))

    def relu_reshape() -> Tensor:
        rows, columns = SHAPE[0] // PATCH, SHAPE[1] // PATCH
        blocks = image.view(rows, PATCH, columns, PATCH, SHAPE[2]).transpose(1, 2)
        both = (blocks.reshape(rows * columns, -1).float() @ row_order).relu_()
        return top(both[:, 4:] @ both[:, :4].sum(0))

    def relu_convolution(kind: torch.memory_format) -> Tensor:
        pixels = image.permute(0, 3, 1, 2).to(torch.float32, memory_format=kind)
        both = functional.conv2d(pixels, kernels, stride=PATCH)[0].flatten(1).relu_()
        return top(both[:4].sum(1) @ both[4:])

    return {
        "hybrid, torch, unfold and 180 features": hybrid_180,
        "softmax by rows, torch, chunks of 256": softmax,
        "relu, torch, unfold and matmul": relu_unfold,
        "relu, torch, reshape and one matmul": relu_reshape,
        "relu, torch, strided convolution": lambda: relu_convolution(torch.contiguous_format),
        "relu, torch, strided convolution, channels last": lambda: relu_convolution(
            torch.channels_last
        ),
    }


def verify(image: NDArray[np.uint8], ways: dict[str, Callable[[], Tensor]]) -> None:
    """Fail if a way selects other patches than torch does with scores in float64."""
    for name, way in ways.items():
        kernel = "softmax_normalized" if name.startswith("softmax") else name.split(",")[0]
        exact = PatchSelector(SHAPE, PATCH, kernel=kernel, backend="torch")
        with torch.no_grad():
            scores = exact.scores(image)[0]
        wanted = scores.topk(COUNT).values
        error = float((scores[way()[0]] - wanted).abs().max() / wanted.abs().max())
        if error > 1e-5:
            raise RuntimeError(f"{name} selects patches whose scores differ by {error:.1e}")


def growth(rounds: int, seconds: float) -> dict[str, Any]:
    """Measure time and memory, without the picture, of both kernels at patch 1."""
    ways: dict[str, Callable[[], Tensor]] = {}
    memory: dict[str, int] = {}
    for height, width in GROWTH:
        image = picture(height, width)
        for kernel in ("hybrid", "relu"):
            selector = PatchSelector((height, width, 3), 1, kernel=kernel, backend="numba")
            name = f"{kernel} {selector.num_patches}"
            ways[name] = lambda selector=selector, image=image: selector.select(image)
            ways[name]()
            tracemalloc.start()
            ways[name]()
            memory[name] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    times, _ = shortest(ways, rounds, seconds)
    patches = [height * width for height, width in GROWTH]
    result: dict[str, Any] = {"patches": patches}
    for kernel in ("hybrid", "relu"):
        names = [f"{kernel} {count}" for count in patches]
        milliseconds = [round(1e3 * times[name], 4) for name in names]
        peaks = [memory[name] for name in names]
        result[kernel] = {
            "milliseconds": milliseconds,
            "peak_bytes": peaks,
            "time": fit(patches, milliseconds),
            "memory": fit(patches, peaks),
        }
    return result


def fit(patches: list[int], values: Sequence[float]) -> dict[str, float]:
    """Fit a + b N with equal relative weights, and the p of values ~ N^p where N >= 10,000."""
    n, y = np.array(patches, float), np.array(values, float)
    (a, b), *_ = np.linalg.lstsq(np.stack([1 / y, n / y], 1), np.ones_like(y))
    large = n >= 10_000
    return {
        "constant": round(float(a), 5),
        "per_patch": round(float(b), 8),
        "largest_relative_deviation": round(float(np.abs((a + b * n) / y - 1).max()), 3),
        "exponent_above_10000": round(
            float(np.polyfit(np.log(n[large]), np.log(y[large]), 1)[0]), 3
        ),
    }


def plot(result: dict[str, Any], path: Path) -> None:
    """Draw the growth."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots(1, 2)
    patches = np.array(result["patches"])
    columns = (("milliseconds", "time", "time in ms"), ("peak_bytes", "memory", "memory in bytes"))
    for axis, (quantity, fitted, label) in zip(axes, columns, strict=True):
        for kernel in ("hybrid", "relu"):
            found = result[kernel][fitted]
            line = found["constant"] + found["per_patch"] * patches
            axis.loglog(patches, result[kernel][quantity], "o", label=kernel)
            axis.loglog(patches, line, "k:", label="a + b N" if kernel == "relu" else None)
        axis.set(xlabel="patches N", ylabel=label)
        axis.legend()
    with _files.replacing(path) as temporary:
        figure.savefig(temporary, dpi=100)


def main() -> None:
    """Measure, print the ratios, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each way in each round")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    parser.add_argument("--plot", type=Path, help="PNG file for the growth")
    options = parser.parse_args()

    keep_freed_memory()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    load = os.getloadavg()[0]
    image = picture(*SHAPE[:2])
    selectors = {
        k: PatchSelector(SHAPE, PATCH, kernel=k, backend="numba") for k in ("hybrid", "relu")
    }
    ways: dict[str, Callable[[], Tensor]] = {}
    for kernel, selector in selectors.items():
        plain = PatchSelector(SHAPE, PATCH, kernel=kernel, backend="torch")
        ways[f"{kernel}, compiled"] = lambda selector=selector: selector.select(image)
        ways[f"{kernel}, our torch"] = lambda plain=plain: plain.select(image)
    ways |= rivals(torch.from_numpy(image), selectors)
    verify(image, ways)
    times, runs = shortest(ways, options.rounds, options.seconds)

    for name, seconds in times.items():
        print(f"{name:50s} {1e3 * seconds:9.3f} ms, shortest of {runs[name]}")
    ratios = {}
    for ours, rival, asked, aim in ASKED:
        # A rival counts with the better memory layout where there are two.
        fastest = min(seconds for name, seconds in times.items() if name.startswith(rival))
        ratios[f"{ours} / {rival}"] = ratio = fastest / times[ours]
        print(f"{ours} is {ratio:.1f} x as fast as {rival} (asked {asked}, aim {aim})")
    result = {
        "milliseconds": {name: round(1e3 * value, 4) for name, value in times.items()},
        "runs": runs,
        "times_as_fast": {name: round(value, 2) for name, value in ratios.items()},
        "asked": {f"{ours} / {rival}": asked for ours, rival, asked, _ in ASKED},
        "aim": {f"{ours} / {rival}": aim for ours, rival, _, aim in ASKED},
        "growth": growth(options.rounds, options.seconds / 4),
    } | circumstances(("torch", "numba", "llvmlite", "numpy"), load)
    for kernel in selectors:
        for quantity in ("time", "memory"):
            print(kernel, quantity, result["growth"][kernel][quantity])
    if options.out:
        _files.write_text(options.out, json.dumps(result, indent=2) + "\n")
    if options.plot:
        plot(result["growth"], options.plot)


if __name__ == "__main__":
    main()
