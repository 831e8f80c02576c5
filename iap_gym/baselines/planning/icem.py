"""The improved cross-entropy method; numpy only, no environment and no model.

Letters: P candidates of an iteration, H steps of the horizon, A numbers in an action, K elites.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym.baselines.planning.colored_noise import colored_noise

Array = NDArray[np.float64]
Objective = Callable[[Array], ArrayLike]


class ICEM:
    r"""Plan by sampling action sequences, and again around the best of them.

    One ``plan`` does I iterations. Iteration i = 0 .. I - 1 draws P_i sequences with noise c whose
    spectrum falls as f^(-beta), clips them to the bounds, asks for their costs, and moves mean and
    deviation towards those of the K cheapest, the elites:

    .. math::
        P_i = \max(\lfloor N d^{-i} \rfloor, 2K), \qquad
        u = \mathrm{clip}(\mu + \sigma \odot c,\ low,\ high) \\
        \mu \leftarrow \alpha \mu + (1 - \alpha)\, \mathrm{mean}(elites), \qquad
        \sigma \leftarrow \alpha \sigma + (1 - \alpha)\, \mathrm{std}(elites)

    The first iteration gets the best part of the elites of the step before too, shifted by one
    action, with a last one drawn anew; each later iteration keeps that part of the elites of the
    iteration before, with the costs that they had. In the last iteration one candidate is the
    mean. What is returned is the first action of the cheapest sequence of the last iteration; then
    the mean is shifted, its last action repeated, and sigma begins anew at
    ``init_std`` * (high - low) / 2.

    A cost that is NaN or infinite measures nothing, and its candidate never becomes an elite.

    Source: Pinneri et al. 2020, "Sample-efficient Cross-Entropy Method for Real-time Planning",
    algorithm 1, and the code published with it.

    Attributes:
        horizon: H.
        num_elites: K, at most half of ``num_samples``.
        population_sizes: P_i of the iterations; a plan asks for the costs of their sum, and from
            the second one on of ``num_kept`` shifted elites more.
        num_kept: of the elites.

    Args:
        objective: from action sequences (P, H, A), float64, to their costs (P,); smaller is better.
            It starts from what is the present at the time of the call, which is its business.
        action_low: (A,) finite.
        action_high: (A,) finite, above ``action_low``.
        horizon: H, at least 1.
        rng: owner of all randomness of the search.
        num_samples: N, at least 2.
        noise_beta: beta >= 0; 0 is white noise.
        num_elites: K, at least 1; half of ``num_samples`` where that is less.
        iterations: I, at least 1.
        init_std: > 0, in units of half of the range.
        alpha: in [0, 1), how much of the old mean and deviation stays.
        decay: d >= 1.
        keep_fraction: in [0, 1], the part of the elites that goes on.

    Raises:
        ValueError: an argument outside of this.
    """

    def __init__(
        self,
        objective: Objective,
        action_low: ArrayLike,
        action_high: ArrayLike,
        horizon: int,
        rng: np.random.Generator,
        *,
        num_samples: int = 256,
        noise_beta: float = 3.0,
        num_elites: int = 10,
        iterations: int = 3,
        init_std: float = 0.5,
        alpha: float = 0.1,
        decay: float = 1.25,
        keep_fraction: float = 0.3,
    ) -> None:
        if not callable(objective):
            raise _checks.refuse("objective", "a function of (P, H, A)", objective)
        self._objective = objective
        self._low = _checks.array("action_low", action_low, ("A",), copy=True)
        self._high = _checks.array("action_high", action_high, ("A",), copy=True)
        if self._low.shape != self._high.shape:
            wanted = f"as many numbers as action_low has, {self._low.size}"
            raise _checks.refuse("action_high", wanted, action_high)
        if not (self._low < self._high).all():
            wanted = f"numbers above action_low, {self._low}"
            raise _checks.refuse("action_high", wanted, action_high)
        self.horizon = _checks.integer("horizon", horizon, 1)
        self._rng = _checks.instance("rng", rng, np.random.Generator, "a numpy Generator")
        samples = _checks.integer("num_samples", num_samples, 2)
        self._beta = _checks.real("noise_beta", noise_beta, 0)
        self.num_elites = min(_checks.integer("num_elites", num_elites, 1), samples // 2)
        rounds = _checks.integer("iterations", iterations, 1)
        self._init_std = _checks.real("init_std", init_std, 0, exclusive=True)
        self._alpha = _checks.real("alpha", alpha, 0)
        if self._alpha >= 1:
            raise _checks.refuse("alpha", "a number in [0, 1)", alpha)
        decay = _checks.real("decay", decay, 1)
        fraction = _checks.real("keep_fraction", keep_fraction, 0, 1)
        self.num_kept = int(self.num_elites * fraction)
        self.population_sizes = tuple(
            max(int(samples * decay**-i), 2 * self.num_elites) for i in range(rounds)
        )
        self.reset()

    def reset(self) -> None:
        """Forget mean and elites, as before a new episode; the random numbers go on."""
        middle = (self._low + self._high) / 2
        self._mean = np.tile(middle, (self.horizon, 1))  # (H, A)
        self._elites = np.empty((0, *self._mean.shape))  # (K or fewer, H, A), best first

    def plan(self) -> Array:
        """Search from the present on, and be ready for the next step.

        Returns:
            (A,) float64, the action to take now, within the bounds.

        Raises:
            ValueError: the objective returned another shape, a tensor that requires gradients, or
                no finite cost at all. Then mean and elites stay what they were.
        """
        mean, std = self._mean, self._new_std()
        elites, costs = self._elites[:0], np.empty(0)
        for i, population in enumerate(self.population_sizes):
            candidates = self._draw(mean, std, population)
            if i == len(self.population_sizes) - 1:
                candidates[0] = mean
            if i == 0:
                candidates = np.concatenate([candidates, self._shifted_elites(mean, std)])
            kept, kept_costs = elites[: self.num_kept], costs[: self.num_kept]
            everything = np.concatenate([candidates, kept])
            all_costs = np.concatenate([self._costs(candidates), kept_costs])
            elites, costs = self._cheapest(everything, all_costs)
            # Clipped, as a mean of numbers that are all the bound need not be it, to the last bit.
            mean = self._clipped(self._alpha * mean + (1 - self._alpha) * elites.mean(0))
            std = self._alpha * std + (1 - self._alpha) * elites.std(0)
        self._mean = np.concatenate([mean[1:], mean[-1:]])
        self._elites = elites
        return elites[0, 0].copy()

    def state_dict(self) -> dict[str, Any]:
        """Return what changes: ``mean`` (H, A), ``elites`` (n, H, A), the generator's state."""
        return {
            "mean": self._mean.copy(),
            "elites": self._elites.copy(),
            "rng": copy.deepcopy(dict(self._rng.bit_generator.state)),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from ``state_dict()`` of a planner with the same arguments, bit for bit.

        Raises:
            ValueError: a missing entry, an array of another shape, or of another generator.
        """
        if set(state) != {"mean", "elites", "rng"}:
            raise _checks.refuse("state", "the entries mean, elites and rng", sorted(state))
        shape = self._mean.shape
        mean = _checks.array("state['mean']", state["mean"], shape, copy=True)
        elites = _checks.array("state['elites']", state["elites"], (..., *shape), copy=True)
        if elites.ndim != 3 or len(elites) > self.num_elites:
            wanted = f"at most {self.num_elites} arrays of shape {shape}"
            raise _checks.refuse("state['elites']", wanted, elites.shape)
        kind = type(self._rng.bit_generator).__name__
        if state["rng"].get("bit_generator") != kind:
            came = state["rng"].get("bit_generator")
            raise _checks.refuse("state['rng']", f"a state of {kind}", came)
        for name, plans in (("mean", mean), ("elites", elites)):
            if not np.array_equal(plans, self._clipped(plans)):
                raise _checks.refuse(f"state[{name!r}]", "actions within the bounds", plans)
        self._rng.bit_generator.state = copy.deepcopy(state["rng"])
        self._mean, self._elites = mean, elites

    def _new_std(self) -> Array:
        return np.tile(self._init_std * (self._high - self._low) / 2, (self.horizon, 1))

    def _draw(self, mean: Array, std: Array, population: int) -> Array:
        """Return (population, H, A); the noise is correlated along the steps."""
        noise = colored_noise(self._beta, (population, self._low.size, self.horizon), self._rng)
        return self._clipped(mean + std * noise.swapaxes(1, 2))

    def _shifted_elites(self, mean: Array, std: Array) -> Array:
        """Return what is left of the last step's plans, the last action of each drawn anew."""
        kept = self._elites[: self.num_kept]
        # One number of the noise alone is standard normal, whatever its colour.
        noise = self._rng.standard_normal((len(kept), 1, self._low.size))
        last = self._clipped(mean[-1] + std[-1] * noise)
        return np.concatenate([kept[:, 1:], last], axis=1)

    def _clipped(self, actions: Array) -> Array:
        return np.clip(actions, self._low, self._high)

    def _costs(self, candidates: Array) -> Array:
        # The objective may write into what it is given.
        costs = self._objective(candidates.copy())
        if getattr(costs, "requires_grad", False):  # a tensor of torch, which is not known here
            wanted = "numbers without gradients, such as costs.detach() or those under no_grad()"
            came = _checks.Words("a tensor that requires grad")
            raise _checks.refuse("costs of objective", wanted, came)
        return _checks.array("costs of objective", costs, (len(candidates),), finite=False)

    def _cheapest(self, candidates: Array, costs: Array) -> tuple[Array, Array]:
        """Return the elites and their costs, best first."""
        finite = np.flatnonzero(np.isfinite(costs))
        if not finite.size:
            wanted = "a finite cost of at least one candidate"
            raise _checks.refuse("objective", wanted, {"costs": len(costs), "finite": 0})
        order = finite[np.argsort(costs[finite], kind="stable")[: self.num_elites]]
        return candidates[order], costs[order]
