"""Log-linear models of a table of counts: independence of the attributes, but for some two-way interactions.

Attributes without an interaction between them, direct or by way of others, are independent. So the model is a product
over the connected parts of the graph that the interactions make, and a table is laid out for each part alone: the
shares of a single attribute are those observed, those of several are fitted by iterative proportional fitting. Sums
over all cells of the full cross, of which there may be more than could be laid out, are taken over a fine grid of the
logarithm of their shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from microveil.numerics.core.compiled import kernel
from microveil.typing import FloatArray, IntArray

Interaction = tuple[int, int]
_ROUNDS = 200  # of the fit
_CLOSE = 0.01  # combinations of the sample by which a fitted margin may be off
_STEP = 0.005  # of the grid in the logarithm of the shares
_SMALLEST = 1e-6  # a cell with a smaller expected frequency adds nothing to sums


@dataclass(frozen=True)
class Part:
    """Attributes that interact, and the fitted share of each combination of theirs."""

    attributes: tuple[int, ...]
    shares: FloatArray
    converged: bool = True


@dataclass(frozen=True)
class LogLinear:
    """A fitted model: its parts, and the interactions in it."""

    parts: tuple[Part, ...]
    interactions: tuple[Interaction, ...]

    @property
    def converged(self) -> bool:
        """Whether every margin was met."""
        return all(part.converged for part in self.parts)

    def shares(self, codes: IntArray) -> FloatArray:
        """The expected share of the units that agree with each row of codes; -1 agrees with every category."""
        found = np.ones(len(codes))
        for part in self.parts:
            found *= _share_of(part.shares, codes[:, list(part.attributes)])
        return found

    def cells(self, total: float) -> tuple[FloatArray, FloatArray]:
        """Expected frequencies on a grid, and how many cells of the full cross have each, where `total` are expected
        in all. Cells between two points of the grid are divided between them, so that sums of smooth functions of the
        frequencies are right to a few parts in a million."""
        size = int(np.ceil((np.log(max(total, 1.0)) - np.log(_SMALLEST)) / _STEP)) + 2
        held = np.zeros(size)
        held[0] = 1.0
        for counts in self._histograms(size):
            one, other = sorted((held, counts), key=np.count_nonzero)
            held = np.zeros(size)
            for shift in np.flatnonzero(one):
                held[shift:] += one[shift] * other[: size - shift]
        return total * np.exp(-_STEP * np.arange(size)), held

    def _histograms(self, size: int) -> Iterable[FloatArray]:
        for part in self.parts:
            shares = part.shares[part.shares > 0]
            place = -np.log(shares) / _STEP
            place = np.maximum(place[place < size - 1], 0.0)
            lower = place.astype(np.int64)
            beyond = place - lower
            counts = np.bincount(lower, weights=1.0 - beyond, minlength=size)
            yield np.asarray(counts + np.bincount(lower + 1, weights=beyond, minlength=size), dtype=np.float64)


def _share_of(table: FloatArray, codes: IntArray) -> FloatArray:
    """The share of the cells that agree with each row of codes; a category beyond the table has none."""
    found = np.zeros(len(codes))
    wild = codes < 0
    known = (codes < np.array(table.shape)).all(axis=1)
    if not wild.any():
        found[known] = table[tuple(codes[known].T)]
        return found
    # which attributes of a row are wild, as the bits of a number: numbers are sorted much faster than rows are
    numbers, of_row = np.unique(wild @ (1 << np.arange(wild.shape[1])), return_inverse=True)
    for number, pattern in enumerate(numbers[:, None] >> np.arange(wild.shape[1]) & 1 > 0):
        rows = np.flatnonzero((of_row.reshape(-1) == number) & known)
        margin = table.sum(axis=tuple(np.flatnonzero(pattern).tolist()))
        found[rows] = margin[tuple(codes[rows][:, ~pattern].T)]
    return found


def connected(attributes: int, interactions: Iterable[Interaction]) -> list[tuple[int, ...]]:
    """The attributes in parts that no interaction connects.

    >>> connected(4, [(0, 2)])
    [(0, 2), (1,), (3,)]
    """
    parts = [{attribute} for attribute in range(attributes)]
    for one, other in interactions:
        joined = [part for part in parts if one in part or other in part]
        parts = [part for part in parts if part not in joined] + [set().union(*joined)]
    return sorted(tuple(sorted(part)) for part in parts)


@dataclass(frozen=True)
class Fitting:
    """The combinations of a sample, to which models are fitted: `codes` with -1 for what is not known, and the `mass`
    of each combination, its frequency or its sum of weights. A part of a model is fitted to the combinations that have
    all of its attributes."""

    codes: IntArray
    mass: FloatArray

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of categories of each attribute."""
        return tuple(int(column.max(initial=-1)) + 1 for column in self.codes.T)

    def parts(self, interactions: Iterable[Interaction]) -> list[tuple[int, ...]]:
        """The attributes in parts that no interaction connects."""
        return connected(self.codes.shape[1], interactions)

    def cells(self, attributes: Sequence[int]) -> int:
        """How many cells the cross of these attributes has."""
        return prod(max(1, self.sizes[attribute]) for attribute in attributes)

    def fit(
        self,
        interactions: Sequence[Interaction],
        known: LogLinear | None = None,
        report: Callable[[float], None] = lambda done: None,
    ) -> LogLinear:
        """The model with these interactions; parts that another model has as they are, are taken from it."""
        parts = self.parts(interactions)
        held = {} if known is None else {(part.attributes, _within(part, known)): part for part in known.parts}
        made = []
        for number, attributes in enumerate(parts):
            pairs = tuple(pair for pair in interactions if pair[0] in attributes)
            made.append(held.get((attributes, frozenset(pairs))) or self._part(attributes, pairs, known))
            report((number + 1) / len(parts))
        return LogLinear(tuple(made), tuple(interactions))

    def _part(self, attributes: tuple[int, ...], pairs: Sequence[Interaction], known: LogLinear | None) -> Part:
        shape = tuple(max(1, self.sizes[attribute]) for attribute in attributes)
        codes = self.codes[:, list(attributes)]
        complete = (codes >= 0).all(axis=1)
        total = float(self.mass[complete].sum())
        if total <= 0:
            return Part(attributes, np.full(shape, 1.0 / prod(shape)))
        if not pairs:
            counts = np.bincount(codes[complete, 0], weights=self.mass[complete], minlength=shape[0])
            return Part(attributes, counts / total)
        place = {attribute: axis for axis, attribute in enumerate(attributes)}
        axes = [(place[one], place[other]) for one, other in pairs]
        margins = [_margin(codes[complete], self.mass[complete] / total, shape, pair) for pair in axes]
        close = max(1e-6, _CLOSE / len(codes))
        shares, converged = _proportional_fit(_start(attributes, shape, known), axes, margins, close)
        return Part(attributes, shares, converged)


def _within(part: Part, model: LogLinear) -> frozenset[Interaction]:
    return frozenset(pair for pair in model.interactions if pair[0] in part.attributes)


def _margin(codes: IntArray, mass: FloatArray, shape: tuple[int, ...], pair: Interaction) -> FloatArray:
    """The two-way margin of the observed shares."""
    one, other = pair
    cells = codes[:, one] * shape[other] + codes[:, other]
    return np.bincount(cells, weights=mass, minlength=shape[one] * shape[other]).astype(np.float64)


def _start(attributes: tuple[int, ...], shape: tuple[int, ...], known: LogLinear | None) -> FloatArray:
    """Where to begin the fit: an even table, or the model with fewer interactions that is known, which is nearer."""
    table = np.full(shape, 1.0 / prod(shape) if known is None else 1.0)
    for part in () if known is None else known.parts:
        if set(part.attributes) <= set(attributes):
            table *= part.shares.reshape(
                [size if a in part.attributes else 1 for a, size in zip(attributes, shape, strict=True)]
            )
    return table


def _proportional_fit(
    table: FloatArray, pairs: Sequence[Interaction], margins: Sequence[FloatArray], close: float
) -> tuple[FloatArray, bool]:
    """Raise and lower a table until it has these margins, but for `close`, and whether it came to have them."""
    # seen from a pair of axes, the table has five: before the first, the first, between, the second, and after it
    views = [
        (
            prod(table.shape[:i]),
            table.shape[i],
            prod(table.shape[i + 1 : j]),
            table.shape[j],
            prod(table.shape[j + 1 :]),
        )
        for i, j in pairs
    ]
    flat = np.ascontiguousarray(table).reshape(-1)
    starts = np.cumsum([0, *(len(margin) for margin in margins)])
    converged = _raise_and_lower(flat, np.array(views, dtype=np.int64), starts, np.concatenate(margins), _ROUNDS, close)
    return flat.reshape(table.shape), bool(converged)


@kernel
def _raise_and_lower(
    table: FloatArray, views: IntArray, starts: IntArray, margins: FloatArray, rounds: int, close: float
) -> bool:
    for _ in range(rounds):
        furthest = 0.0
        for number in range(len(views)):
            before, one, between, other, after = views[number]
            held = np.zeros(one * other)
            place = 0
            for _a in range(before):
                for i in range(one):
                    for _b in range(between):
                        for j in range(other):
                            total = 0.0
                            for _c in range(after):
                                total += table[place]
                                place += 1
                            held[i * other + j] += total
            for cell in range(one * other):
                wanted = margins[starts[number] + cell]
                furthest = max(furthest, abs(held[cell] - wanted))
                held[cell] = wanted / held[cell] if held[cell] > 0.0 else 0.0
            place = 0
            for _a in range(before):
                for i in range(one):
                    for _b in range(between):
                        for j in range(other):
                            factor = held[i * other + j]
                            for _c in range(after):
                                table[place] *= factor
                                place += 1
        if furthest <= close:
            return True
    return False


@dataclass(frozen=True)
class Errors:
    """How far a model is from right, by Skinner and Shlomo (2008): the estimated bias of the number of sample uniques
    that are population uniques (`bias[0]`) and of the sum of 1/F over sample uniques (`bias[1]`), and these over their
    standard deviations. Above 2 the model has too few interactions and the risk is overestimated; below -2 it has too
    many."""

    bias: tuple[float, float]
    standardised: tuple[float, float]


def model_errors(
    counts: FloatArray, rates: FloatArray, expected: FloatArray, cells: tuple[FloatArray, FloatArray], rate: float
) -> Errors:
    """The criteria of a model, from the cells that the sample has (frequency, sampling fraction, expected population
    frequency lambda) and those of the full cross, with the sampling fraction over all.

    With h(lambda) the risk of a sample unique, the bias is the sum over all cells of
    lambda exp(-pi lambda) (-h' (f - pi lambda) + h'' ((f - pi lambda)^2 - f) / (2 pi)): f - pi lambda and
    (f - pi lambda)^2 - f have the expectation 0 if the model holds, the variances pi lambda and 2 (pi lambda)^2, and no
    covariance.
    """
    everywhere, number = cells
    bias, standardised = [], []
    for slopes in (_slopes_unique, _slopes_inverse):
        all_bias, all_variance = _terms(slopes, np.zeros(len(everywhere)), np.full(len(everywhere), rate), everywhere)
        seen_bias, seen_variance = _terms(slopes, counts, rates, expected)
        empty_bias, empty_variance = _terms(slopes, np.zeros(len(counts)), np.full(len(counts), rate), expected)
        total = float(number @ all_bias + (seen_bias - empty_bias).sum())
        variance = float(number @ all_variance + (seen_variance - empty_variance).sum())
        bias.append(total)
        standardised.append(total / variance**0.5 if variance > 0 else 0.0)
    return Errors((bias[0], bias[1]), (standardised[0], standardised[1]))


Slopes = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


def _terms(slopes: Slopes, f: FloatArray, rate: FloatArray, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    first, second = slopes(1.0 - rate, expected)
    mean = rate * expected
    weight = expected * np.exp(-mean)
    linear, square = -weight * first, weight * second / (2 * rate)
    return linear * (f - mean) + square * ((f - mean) ** 2 - f), linear**2 * mean + 2 * square**2 * mean**2


def _slopes_unique(rest: FloatArray, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of exp(-(1 - pi) lambda), the chance that a sample unique is a population unique."""
    chance = np.exp(-rest * expected)
    return -rest * chance, rest**2 * chance


def _slopes_inverse(rest: FloatArray, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of (1 - exp(-x)) / x with x = (1 - pi) lambda, the expected 1/F of a sample unique; by its series near 0."""
    x = rest * expected
    near = x < 1e-2
    far = np.where(near, 1.0, x)
    fall = np.exp(-far)
    first = np.where(near, -1 / 2 + x / 3 - x**2 / 8 + x**3 / 30, (fall * (1 + far) - 1) / far**2)
    second = np.where(near, 1 / 3 - x / 4 + x**2 / 10 - x**3 / 36, (2 - fall * (far**2 + 2 * far + 2)) / far**3)
    return rest * first, rest**2 * second


def dispersion_shape(counts: FloatArray, means: FloatArray, cells: tuple[FloatArray, FloatArray]) -> float:
    """The shape a of the gamma distribution by which the cells of a table vary about the model, by maximum likelihood:
    the counts f are negative binomial with means m, and the variance is m + m^2 / a.

    `counts` and `means` are those of the cells that the sample has, `cells` the means of all cells of the full cross
    and how many have each. Where the counts vary no more than Poisson counts do, it is the largest shape considered,
    10^6.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    everywhere, number = cells

    def loss(log_shape: float) -> float:
        a = float(np.exp(log_shape))
        empty = -a * np.log1p(everywhere / a)
        # of a cell with f > 0, in the place of the term that it has as an empty one
        more = gammaln(a + counts) - gammaln(a) + counts * (np.log(np.maximum(means, 1e-300)) - np.log(a + means))
        return -float(number @ empty + more.sum())

    lowest, highest = np.log(1e-4), np.log(1e6)
    found = minimize_scalar(loss, bounds=(lowest, highest), method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x if found.fun < loss(highest) else highest))
