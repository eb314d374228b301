"""How many units of a population are unique, from how many combinations of a sample have each frequency.

Each model gives P(F = 1 | f = 1), the probability that a unit that is unique in the sample is unique in the population,
and the number of unique units in the population. N and n are the sizes of the population and the sample, pi = n / N,
s_j the number of combinations that j records of the sample have, and u the number of all combinations in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, isfinite, log

import numpy as np

from microveil.typing import FloatArray, IntArray

_FEW = 0.1  # up to this sampling fraction the rule takes Pitman's model
_SMALL = 1e-9


@dataclass(frozen=True)
class Uniques:
    """What a model says: the probability that a sample unique is a population unique, and the number of these in the
    population; NaN where the estimate did not converge."""

    model: str
    chance: float
    population: float

    @property
    def converged(self) -> bool:
        return isfinite(self.chance) and isfinite(self.population)


def _failed(model: str) -> Uniques:
    return Uniques(model, float("nan"), float("nan"))


def zayatz(sizes: IntArray, population: float) -> Uniques:
    """Combinations of the population are as often of size j as those of the sample are; a combination of size j has one
    unit in the sample with the hypergeometric probability, and Bayes' rule turns this round.

    >>> found = zayatz(np.array([1, 1, 2]), 8.0)
    >>> round(found.chance, 4), round(found.population, 4)
    (0.6364, 2.5455)
    """
    from scipy.special import gammaln

    n = int(sizes.sum())
    size, number = np.unique(sizes, return_counts=True)
    alone = int(number[size == 1].sum())
    if alone == 0:
        return Uniques("zayatz", 0.0, 0.0)
    # j C(N - j, n - 1) / C(N, n) over its value at j = 1, for a size that leaves room for the rest of the sample
    room = population - size - n + 1
    possible = room > -1 + _SMALL
    j, rest = size[possible].astype(np.float64), room[possible]
    logs = np.log(j) + gammaln(population - j + 1) - gammaln(rest + 1)
    drawn = np.exp(logs - (gammaln(population) - gammaln(population - n + 1)))
    chance = float(number[size == 1][0] / (number[possible] @ drawn))
    return Uniques("zayatz", chance, alone * chance * population / n)


def pitman(sizes: IntArray, population: float) -> Uniques:
    """Pitman's sampling formula, as Hoshino (2001) uses it: the next unit falls on a combination that f units have with
    probability (f - alpha) / (theta + n), and else on a new one.

    Both parameters are estimated by maximum likelihood. A sample unique stays alone among N units with the probability
    that no later unit falls on it, the product over i from n to N - 1 of (theta + i - 1 + alpha) / (theta + i), and
    N units are expected to have N Gamma(theta + 1) Gamma(theta + alpha + N - 1) over Gamma(theta + alpha)
    Gamma(theta + N) uniques. Without a maximum in 0 <= alpha < 1 and theta > -alpha the estimate does not converge.
    """
    from scipy.special import gammaln

    n, u = int(sizes.sum()), len(sizes)
    alone = int((sizes == 1).sum())
    if alone == 0:
        return Uniques("pitman", 0.0, 0.0)
    found = _pitman_parameters(sizes, n, u)
    if found is None:
        return _failed("pitman")
    alpha, theta = found
    grown = gammaln(theta + alpha + population - 1) - gammaln(theta + population)
    chance = exp(grown + gammaln(theta + n) - gammaln(theta + alpha + n - 1))
    uniques = population * exp(gammaln(theta + 1) - gammaln(theta + alpha) + grown)
    return Uniques("pitman", min(1.0, chance), min(uniques, population))


def _pitman_parameters(sizes: IntArray, n: int, u: int) -> tuple[float, float] | None:
    """alpha and theta of the largest likelihood, or none if it lies on the border."""
    from scipy.optimize import minimize
    from scipy.special import gammaln

    size, number = np.unique(sizes, return_counts=True)
    earlier = np.arange(1, u, dtype=np.float64)

    def loss(place: FloatArray) -> float:
        alpha, theta = _pitman_of(place)
        joined = number @ (gammaln(size - alpha) - gammaln(1.0 - alpha))
        drawn = np.log(theta + alpha * earlier).sum() - (gammaln(theta + n) - gammaln(theta + 1.0))
        return -float(drawn + joined)

    if not 1 < u < n:
        return None
    options = {"maxiter": 800, "xatol": 1e-6, "fatol": 1e-8}
    # the likelihood can have a ridge, so the search begins in three places
    starts = [np.array([log(alpha / (1 - alpha)), log(max(u / 10, 1.0))]) for alpha in (0.1, 0.5, 0.9)]
    found = [minimize(loss, start, method="Nelder-Mead", options=options) for start in starts]
    best = min(found, key=lambda end: float(end.fun))
    alpha, theta = _pitman_of(best.x)
    inside = alpha < 1 - 1e-4 and theta < 1e12  # alpha = 0 is a model too, that of Ewens
    return (alpha, theta) if inside and best.success else None


def _pitman_of(place: FloatArray) -> tuple[float, float]:
    """alpha between 0 and 1 and theta above -alpha, for any two numbers."""
    alpha = 1.0 / (1.0 + exp(-max(-40.0, min(40.0, float(place[0])))))
    return alpha, exp(max(-60.0, min(60.0, float(place[1])))) - alpha


def slide_negative_binomial(sizes: IntArray, population: float) -> Uniques:
    """The slide negative binomial model of Chen and Keller-McNulty (1998): a combination of the population has 1 + Y
    units, Y negative binomial with size r and success probability p; each unit is in the sample with probability pi.

    The number K of combinations, r and p are those under which n, u and s_1 are as expected: K (1 + r q / p) = N,
    K (1 - P(f = 0)) = u and K P(f = 1) = s_1, with A = p / (p + pi q), P(f = 0) = (1 - pi) A^r and
    P(f = 1) = pi A^r (1 + (1 - pi) r q / (p + pi q)). Where no r and p do this the estimate does not converge.
    The population has K p^r uniques.
    """
    n, u = int(sizes.sum()), len(sizes)
    alone, rate = int((sizes == 1).sum()), n / population
    if alone == 0:
        return Uniques("snb", 0.0, 0.0)
    if not u < n:
        return _failed("snb")
    cuts = np.concatenate([np.geomspace(1e-8, 0.5, 60), 1.0 - np.geomspace(0.5, 1e-8, 60)[1:]])
    gaps = [_gap(float(p), rate, u / population, alone / population) for p in cuts]
    for lower, upper, one, other in zip(cuts[:-1], cuts[1:], gaps[:-1], gaps[1:], strict=True):
        if isfinite(one) and isfinite(other) and one * other <= 0:
            p = _root(lambda p: _gap(p, rate, u / population, alone / population), float(lower), float(upper))
            mean = _mean_beyond_one(p, rate, u / population)
            unseen_alone = exp(mean * p / (1.0 - p) * log(p))  # p^r
            _, first = _sampled(p, mean, rate)
            return Uniques("snb", min(1.0, rate * unseen_alone / first), population / (1.0 + mean) * unseen_alone)
    return _failed("snb")


def _sampled(p: float, mean: float, rate: float) -> tuple[float, float]:
    """P(f = 0) and P(f = 1) of a combination with 1 + Y units, where Y has this mean."""
    q = 1.0 - p
    r = mean * p / q
    none = exp(r * log(p / (p + rate * q)))
    return (1.0 - rate) * none, none * (rate + (1.0 - rate) * r * rate * q / (p + rate * q))


def _mean_beyond_one(p: float, rate: float, seen: float) -> float:
    """The mean of Y at which u / N combinations are seen for each unit: their number falls as it rises."""
    return _root(lambda mean: (1.0 - _sampled(p, mean, rate)[0]) / (1.0 + mean) - seen, 0.0, 2.0 / seen)


def _gap(p: float, rate: float, seen: float, alone: float) -> float:
    """By how much the expected number of sample uniques exceeds the observed one, for each unit of the population."""
    mean = _mean_beyond_one(p, rate, seen)
    return _sampled(p, mean, rate)[1] / (1.0 + mean) - alone if isfinite(mean) else inf


def _root(function: Callable[[float], float], lower: float, upper: float) -> float:
    """Where a continuous function changes its sign; NaN if it has the same at both ends."""
    from scipy.optimize import brentq

    if function(lower) * function(upper) > 0:
        return float("nan")
    return float(brentq(function, lower, upper, xtol=1e-14, rtol=1e-12))


def dankar(sizes: IntArray, population: float) -> Uniques:
    """The rule of Dankar et al. (2012): up to a sampling fraction of 10 % Pitman's model, above it
    the smaller of the slide negative binomial and Zayatz's; Zayatz's where the other does not converge."""
    few = sizes.sum() <= _FEW * population
    other = (pitman if few else slide_negative_binomial)(sizes, population)
    if few and other.converged:
        return other
    equal = zayatz(sizes, population)
    return other if other.converged and other.population < equal.population else equal


def expected_uniques(model: str, sizes: IntArray, population: float) -> Uniques:
    """What a model says, Zayatz's where it does not converge; of a sample that is the population, what it has itself.

    >>> expected_uniques("zayatz", np.array([1, 1, 2]), 4.0)
    Uniques(model='file', chance=1.0, population=2.0)
    """
    sizes = sizes[sizes > 0]
    if sizes.sum() >= population:
        return Uniques("file", 1.0, float((sizes == 1).sum()))
    wanted = MODELS[model](sizes, population)
    return wanted if wanted.converged else zayatz(sizes, population)


MODELS: dict[str, Callable[[IntArray, float], Uniques]] = {
    "dankar": dankar,
    "pitman": pitman,
    "zayatz": zayatz,
    "snb": slide_negative_binomial,
}
