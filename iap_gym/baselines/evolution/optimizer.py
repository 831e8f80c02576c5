"""Evolution strategies as ask and tell on vectors; numpy only, no environment and no policy.

Letters: P population size (even), n numbers in a vector.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks

SHAPINGS = ("population", "pairs")

# Adam's constants (Kingma and Ba 2015, algorithm 1).
BETA_1 = 0.9
BETA_2 = 0.999
EPSILON = 1e-8

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Update:
    """What one ``tell`` did."""

    gradient_norm: float  # Euclidean norm of the estimate in whitened coordinates, before decay
    step_norm: float  # Euclidean norm of the move of the centre in whitened coordinates


def failed_last(fitness: ArrayLike) -> Vector:
    """Replace NaN and both infinities, which measure nothing, by minus infinity.

    Args:
        fitness: (P,), larger is better.

    Returns:
        (P,) float64, finite or -inf.
    """
    values = np.asarray(fitness, dtype=np.float64)
    return np.where(np.isfinite(values), values, -np.inf)


def centered_ranks(values: ArrayLike) -> Vector:
    """Replace numbers by their ranks, spread evenly over [-1/2, 1/2].

    Equal numbers share the mean of their ranks, so that a constant fitness moves nothing.

    Args:
        values: (P,) with P >= 2, no NaN; larger is better.

    Returns:
        (P,) float64 with sum 0.
    """
    _, group, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts + 1) / 2
    return mean_rank[group] / (group.size - 1) - 0.5


def pair_advantages(values: Vector) -> Vector:
    """Return how far each candidate is ahead of its mirror image, candidate by candidate.

    Ranks of these compare pairs by their differences only, so that each pair may have met its own
    environment seeds. Where both failed the pair says nothing: 0.

    Args:
        values: (P,) finite, or -inf for a failed candidate; the first half the plus candidates,
            the second half their mirror images.

    Returns:
        (P,) float64, the second half minus the first half; infinite where one of two failed.
    """
    plus, minus = np.split(values, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        difference = plus - minus
    difference = np.where(np.isnan(difference), 0.0, difference)
    return np.concatenate([difference, -difference])


def antithetic_gradient(utilities: Vector, noise: Vector, sigma: float) -> Vector:
    r"""Estimate the gradient of the smoothed utility from mirrored samples.

    .. math::
        g = \frac{1}{P \sigma} \sum_{i=1}^{P/2} (u_i - u_{i + P/2})\, \epsilon_i

    With the raw fitness as utility it is an unbiased estimate of the gradient of
    E[f(x + sigma eps)] (Salimans et al. 2017, section 2, with mirrored samples of section 2.1).

    Args:
        utilities: (P,), first half plus, second half minus.
        noise: (P/2, n) standard normal.
        sigma: standard deviation of the search.

    Returns:
        (n,) float64.
    """
    plus, minus = np.split(utilities, 2)
    return (plus - minus) @ noise / (utilities.size * sigma)


class EvolutionOptimizer:
    r"""OpenAI-style evolution strategy with mirrored sampling, centred ranks and Adam.

    The search runs in whitened coordinates x with theta = s * x, where s is ``scale``: one sigma
    and one learning rate then suit all numbers. Both shrink by the factor d with each generation t
    = 1, 2, ...: sigma_t = sigma d^(t-1), alpha_t = alpha d^(t-1). A generation draws eps_i ~
    N(0, I), i = 1 .. P/2, and asks for the fitness (larger is better) of

    .. math::
        \theta_i = \theta + \sigma_t\, s \odot \epsilon_i, \qquad
        \theta_{i + P/2} = \theta - \sigma_t\, s \odot \epsilon_i .

    With the utilities u (centred ranks of the fitness) and the weight decay lambda it moves

    .. math::
        g = \frac{1}{P \sigma_t} \sum_{i=1}^{P/2} (u_i - u_{i + P/2})\, \epsilon_i
            - \lambda\, \theta / s \\
        m \leftarrow \beta_1 m + (1 - \beta_1) g, \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        \theta \leftarrow \theta + \alpha_t\, s \odot
            \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + 10^{-8}}

    where beta_1 = 0.9 and beta_2 = 0.999.

    Source: Salimans et al. 2017, "Evolution Strategies as a Scalable Alternative to Reinforcement
    Learning", algorithm 1 and section 2.1; Kingma and Ba 2015 for Adam.

    Args:
        center: (n,) where the search starts, finite.
        rng: owner of all randomness of the search.
        population_size: P, even and at least 2.
        sigma: standard deviation of the first generation in whitened coordinates, > 0.
        learning_rate: Adam's step size alpha in the first generation, > 0.
        decay: d in (0, 1], factor on both with each generation.
        weight_decay: lambda >= 0.
        scale: (n,) s > 0; None means ones.
        shaping: "population" ranks the fitness of all candidates (they must be comparable, so all
            should meet the same environment seeds); "pairs" ranks each candidate's advantage over
            its mirror image (only the two of a pair need the same seeds).

    Raises:
        ValueError: an argument outside what is said above.
    """

    def __init__(
        self,
        center: ArrayLike,
        rng: np.random.Generator,
        *,
        population_size: int = 32,
        sigma: float = 0.1,
        learning_rate: float = 0.05,
        decay: float = 1.0,
        weight_decay: float = 0.005,
        scale: ArrayLike | None = None,
        shaping: str = "population",
    ) -> None:
        self._center = _checks.array("center", center, ("n",), copy=True)
        self.population_size = even("population_size", population_size)
        self.sigma = _checks.real("sigma", sigma, 0.0, exclusive=True)
        self.learning_rate = _checks.real("learning_rate", learning_rate, 0.0, exclusive=True)
        self.decay = _checks.real("decay", decay, 0.0, 1.0, exclusive=True)
        self.weight_decay = _checks.real("weight_decay", weight_decay, 0.0)
        self.shaping: str = _checks.one_of("shaping", shaping, SHAPINGS)
        self._scale = np.ones_like(self._center)
        if scale is not None:
            self._scale = _checks.array("scale", scale, self._center.shape, copy=True)
            if np.any(self._scale <= 0):
                raise _checks.refuse("scale", "numbers > 0", float(self._scale.min()))
        self._rng = rng
        self._first_moment = np.zeros_like(self._center)
        self._second_moment = np.zeros_like(self._center)
        self.generation = 0
        self._noise: Vector | None = None
        self._rng_before_ask: dict[str, Any] | None = None

    @property
    def center(self) -> Vector:
        """(n,) float64, a copy of where the search is."""
        return self._center.copy()

    @property
    def current_sigma(self) -> float:
        """Standard deviation of the generation that ``ask`` gives."""
        return self.sigma * self.decay**self.generation

    def ask(self) -> Vector:
        """Return this generation's candidates, (P, n) float64; the same ones until ``tell``."""
        if self._noise is None:
            self._rng_before_ask = copy.deepcopy(dict(self._rng.bit_generator.state))
            self._noise = self._rng.standard_normal((self.population_size // 2, self._center.size))
        step = self.current_sigma * self._scale * self._noise
        return np.concatenate([self._center + step, self._center - step])

    def tell(self, fitness: ArrayLike) -> Update:
        """Move the centre by the fitness of the candidates that ``ask`` gave.

        Args:
            fitness: (P,) in the order of the candidates, larger is better. NaN and infinite mean
                that the candidate failed, and rank it last.

        Returns:
            The sizes of the estimate and of the move.

        Raises:
            ValueError: the wrong shape, or no finite number in it (nothing to learn from).
            RuntimeError: without an ``ask`` before.
        """
        if self._noise is None:
            raise RuntimeError("tell() needs the candidates of an ask() before it")
        values = failed_last(fitness)
        if values.shape != (self.population_size,):
            raise _checks.refuse("fitness", f"shape ({self.population_size},)", values.shape)
        if not np.isfinite(values).any():
            raise _checks.refuse("fitness", "at least one finite number", np.asarray(fitness))
        if self.shaping == "pairs":
            values = pair_advantages(values)
        gradient = antithetic_gradient(centered_ranks(values), self._noise, self.current_sigma)
        step = self._adam(gradient - self.weight_decay * self._center / self._scale)
        self._center = self._center + self._scale * step
        self._noise = None
        self._rng_before_ask = None
        return Update(float(np.linalg.norm(gradient)), float(np.linalg.norm(step)))

    def _adam(self, gradient: Vector) -> Vector:
        learning_rate = self.learning_rate * self.decay**self.generation
        self.generation += 1
        self._first_moment = BETA_1 * self._first_moment + (1 - BETA_1) * gradient
        self._second_moment = BETA_2 * self._second_moment + (1 - BETA_2) * gradient**2
        mean = self._first_moment / (1 - BETA_1**self.generation)
        variance = self._second_moment / (1 - BETA_2**self.generation)
        return learning_rate * mean / (np.sqrt(variance) + EPSILON)

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes: arrays (n,), the generation, and the generator's state (JSON).

        Taken between ``ask`` and ``tell`` it is the state before ``ask``: a restored optimizer
        asks for the same candidates again.
        """
        rng_state = self._rng_before_ask or dict(self._rng.bit_generator.state)
        return {
            "center": self._center.copy(),
            "first_moment": self._first_moment.copy(),
            "second_moment": self._second_moment.copy(),
            "generation": self.generation,
            "rng": copy.deepcopy(rng_state),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from ``state_dict()`` of an optimizer with the same arguments, bit for bit.

        Raises:
            ValueError: a missing entry, an array of another length, or of another generator.
        """
        wanted = {"center", "first_moment", "second_moment", "generation", "rng"}
        if set(state) != wanted:
            raise _checks.refuse("state", f"the entries {sorted(wanted)}", sorted(state))
        shape = self._center.shape
        arrays = {
            name: _checks.array(f"state[{name!r}]", state[name], shape, copy=True)
            for name in ("center", "first_moment", "second_moment")
        }
        generation = _checks.integer("state['generation']", state["generation"])
        kind = type(self._rng.bit_generator).__name__
        if state["rng"].get("bit_generator") != kind:
            raise _checks.refuse(
                "state['rng']", f"a state of {kind}", state["rng"].get("bit_generator")
            )
        self._rng.bit_generator.state = copy.deepcopy(state["rng"])
        self._center = arrays["center"]
        self._first_moment = arrays["first_moment"]
        self._second_moment = arrays["second_moment"]
        self.generation = generation
        self._noise = None
        self._rng_before_ask = None

    def move_center(self, center: ArrayLike) -> None:
        """Put the centre elsewhere; moments and randomness stay, a pending ``ask`` is forgotten.

        Raises:
            ValueError: not (n,) finite numbers.
        """
        moved = _checks.array("center", center, self._center.shape, copy=True)
        if self._rng_before_ask is not None:
            self._rng.bit_generator.state = self._rng_before_ask
        self._center = moved
        self._noise = None
        self._rng_before_ask = None


def even(name: str, value: Any) -> int:
    """Return an even integer of at least 2, the size of a population of mirrored pairs.

    Raises:
        ValueError: odd, too small or no integer.
    """
    number = _checks.integer(name, value, 2)
    if number % 2:
        raise _checks.refuse(name, "an even integer (pairs of mirrored candidates)", value)
    return number
