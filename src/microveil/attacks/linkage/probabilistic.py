"""Probabilistic record linkage after Fellegi and Sunter: pairs are linked by the match weight of their agreements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Risk
from microveil.attacks.linkage.base import (
    CONFIRMED,
    EFFORT_OF_LABELS,
    Assigned,
    Hits,
    Linkage,
    Linker,
    Standardisation,
    affordable_records,
    columns_of,
    hits_of_chances,
    hits_of_links,
    labelled_of,
    scaled,
    unit_of,
)
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.microdata.schema import KINDS
from microveil.numerics.choices import UFrom
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import PublicStreams
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.attacks.linkage.comparison import Comparison, Labelled
    from microveil.comparison.labels import Labels
    from microveil.numerics.linkage.agreement import Patterns, Scheme
    from microveil.numerics.linkage.fellegi_sunter import MatchModel
    from microveil.numerics.neighbours.mixed_distance import Table

Agreement = Literal["tolerance", "equal", "round", "nearest", "bins", "quantile"]

_EQUAL = 1e-9  # numbers that differ by less, in deviations, are equal
_MOST_INTERACTING = 2**17  # patterns a model with interactions is fitted to
_SAME_WEIGHT = 1e-9
_PAIRS = 10**8  # that agreements with labels are counted over
_COSTS = 2**24  # of patterns by several models, held at once


@parameterised
class ProbabilisticLinkage(Linkage):
    """Pairs of a known and a released record are weighed by how well they agree, and every record is linked to the
    released record with the highest weight; the risk is the share of right links.

    In each attribute a pair agrees at one of a few levels: categories are equal or not (`steps` adds levels for ordered
    categories that are neighbours), and numbers lie within one of the `tolerances` or beyond all. How often pairs of
    the same person and pairs of different persons agree is estimated from the files alone, by expectation and
    maximisation over the patterns of agreement; the weight of a pair is log2 of the ratio of the two probabilities.
    Better agreement never speaks against a pair, and of equal weights the better agreement is preferred.
    The share of pairs of the same person is 1 over the number of records, and different persons agree as often as the
    rest of all pairs; both can be estimated too, which easily locks on another class. With `interactions`
    coincidences between different persons (or both classes) may depend on each other, two attributes at a time; with
    less than three attributes nothing is left to tell the classes apart, and levels stay independent.

    Where an attribute is released as intervals, sets or nodes of its hierarchy, a value that lies inside agrees fully,
    and the gap to the nearest value inside decides the level of any other.

    The two bounds, on the probability that a pair of different persons is linked (`false_links`) and that a pair of
    the same person is not (`missed_links`), give two thresholds. The counters say how many right links lie above the
    upper one (`linked`) and between the two (`clerical`, left to clerical review), and how many wrong ones above
    (`wrong`). The value counts links of any weight, or with assignment `threshold` only those above. Where several
    released records have the highest weight, it counts the chance that a random one of them is right.

    With assignment `one-to-one` every released record is used once and the sum of weights is greatest. Equal records
    are exchangeable, and where several assignments are equally good their even mixture counts: so a file linked to
    itself shows how many of its records are distinct, not that both are in the same order.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "cook", "nurse", "clerk"], "sex": ["f", "f", "m", "m"]})
    >>> round(ProbabilisticLinkage(assignment="one-to-one").assess(people, people, ["job", "sex"]).value)
    75
    """

    name: ClassVar[str] = "probabilistic-linkage"
    summary: ClassVar[str] = "links each known record to the released record with the highest match weight"
    meaning: ClassVar[str] = "records an intruder links to the right person by match weight; lower is safer"
    formula: ClassVar[str] = "link = greatest sum over attributes of log2 P(level | same) / P(level | different)"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    success: ClassVar[str] = CONFIRMED
    missing: ClassVar[str] = (
        "a wildcard is no evidence for or against a pair; other missing cells agree with each other when they "
        "are missing for the same reason, and never with a value"
    )
    source: ClassVar[str] = (
        "Fellegi and Sunter (1969), Jaro (1989); Fayyoumi (2008), section 2.4.1; Nin (2008), section 2.3.2; Marés "
        "(2013), section 2.4.2"
    )

    agreement: Agreement = parameter(
        default="tolerance",
        help="when numbers agree: within tolerances; equal; equal after rounding to `digits`; the released value is "
        "the one nearest; in the same of `bins` equal shares of each file; or within the closest `quantile` of all "
        "differences",
    )
    tolerances: tuple[float, ...] = parameter(
        default=(0.05, 0.25),
        help="levels of agreement of numbers, each a greatest difference of scaled values",
        min_length=1,
    )
    digits: int = parameter(default=1, help="for round: decimals of the scaled values", ge=0, le=15)
    bins: int = parameter(default=10, help="for bins: number of bins", ge=2, le=100_000)
    quantile: float = parameter(default=0.05, help="for quantile: the share of all differences that agrees", gt=0, lt=1)
    steps: tuple[int, ...] = parameter(
        default=(0,),
        help="levels of agreement of ordered categories, each a greatest number of steps apart",
        min_length=1,
    )
    standardisation: Standardisation = parameter(
        default="separate",
        help="scale of numbers: each file's own z-scores, the original's, each file's min-max, or none",
    )
    prevalence: Literal["fixed", "estimated"] = parameter(
        default="fixed", help="share of pairs of the same person: 1 over the number of records, or estimated"
    )
    coincidence: UFrom = parameter(
        default="rest",
        help="how often pairs of different persons agree: as often as all pairs except those of the same person "
        "(rest); as often as all pairs; or estimated",
    )
    interactions: Literal["none", "different", "both"] = parameter(
        default="none", help="whether attributes depend on each other: no, among different persons, or in both classes"
    )
    assignment: Literal["best", "one-to-one", "threshold"] = parameter(
        default="best",
        help="each record is linked by itself to the highest weight (best); all records at once, so that every "
        "released record is used once (one-to-one); or by itself and only above the upper threshold (threshold)",
    )
    false_links: float = parameter(
        default=0.05, help="largest probability that a pair of different persons is linked (false match)", ge=0, le=1
    )
    missed_links: float = parameter(
        default=0.05,
        help="largest probability that a pair of the same person is not linked (false non-match)",
        ge=0,
        le=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tolerances", "steps"):
            limits = getattr(self, name)
            if min(limits) < 0 or list(limits) != sorted(set(limits)):
                raise ParameterError(f"{self.name}: {name} = {limits} is not allowed; give them rising from 0 or more")

    def _linker(self, pair: Pair, attributes: tuple[str, ...]) -> Linker:
        files = self._files(pair, attributes)

        def link(subset: list[int], attacked: IntArray, progress: Progress) -> Hits:
            known = files.of(subset)
            model = self._model(known, Part(progress, 0.0, 0.3))
            comparison, rest = known.compared(model.costs, model.table), Part(progress, 0.3, 1.0)
            return (self._assigned if self.assignment == "one-to-one" else self._hits)(
                comparison, model, attacked, rest
            )

        decoded = tuple(attributes[j] for j, labels in files.labels.items() if labels.by_code_book)
        return Linker(link, self._effort() * (EFFORT_OF_LABELS if files.labels else 1.0), decoded)

    def compared(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Comparison | None:
        if self.assignment != "best":
            return None
        known = self._files(pair, attributes)
        model = self._model(known, progress)
        return known.compared(model.costs, model.table)

    def without_each(
        self, pair: Pair, known: Sequence[str], left_out: Mapping[str, Collection[str]], progress: Progress
    ) -> dict[str, Risk]:
        """By one count of the patterns on all attributes, and one comparison of all pairs, where that can be."""
        faced = pair.about(tuple(known)).reading_labels()
        files, counting = self._files(faced, faced.attributes), Part(progress, 0.0, 0.5)
        subsets = {
            name: [j for j, other in enumerate(known) if other not in columns] for name, columns in left_out.items()
        }
        if all(subsets.values()) and self._goes_by_one_count(files, len(pair)):
            patterns = self._patterns(files, counting)
            if len(patterns.numbers) * len(subsets) <= _COSTS:
                chances = self._chances_on(files, list(subsets.values()), patterns, Part(progress, 0.5, 1.0))
                by_subset = zip(subsets.items(), chances, strict=True)
                return {name: self._risk_on([known[j] for j in chosen], found) for (name, chosen), found in by_subset}
        return super().without_each(pair, known, left_out, progress)

    def _goes_by_one_count(self, files: Files, records: int) -> bool:
        """Whether every pair is counted and every record attacked, and pairs are compared by additive weights alone."""
        from microveil.numerics.linkage.agreement import LAID_OUT, most_counted

        scheme = files.scheme
        additive = self.interactions == "none" and self.assignment == "best" and self.known_sizes is None
        plain = not files.labels and not scheme.blocking.any()
        attacked = self.records or affordable_records(self._effort() * len(scheme.limits) * records)
        short = scheme.patterns <= LAID_OUT and records <= min(attacked, most_counted(scheme, records))
        return additive and plain and short

    def _chances_on(
        self, files: Files, subsets: Sequence[list[int]], patterns: Patterns, progress: Progress
    ) -> FloatArray:
        """For each choice of attributes and each record the chance that the record is linked to its own."""
        from microveil.numerics.linkage.pattern_links import chances_by_pattern, pattern_costs, tolerances

        costs = np.empty((len(patterns.numbers), len(subsets)))
        for number, chosen in enumerate(subsets):
            scheme = files.scheme.of(chosen)
            model = self._model_of(scheme, files.known.cells.shape[1], patterns.on(files.scheme, chosen))
            costs[:, number] = pattern_costs(scheme, model.costs, patterns.levels[:, chosen])
        equal, label = tolerances(files.known, files.released, subsets), f"{self.name}: linking records"
        return chances_by_pattern(files.scheme, files.known, files.released, patterns, costs, equal, progress, label).T

    def _risk_on(self, attributes: Sequence[str], chances: FloatArray) -> Risk:
        return Risk.of(self.name, chances, attributes, self._scenario(tuple(attributes)))

    def _effort(self) -> float:
        """How many terms of a distance an attribute costs."""
        if self.assignment == "one-to-one":
            return 0.0
        return float(max(len(self.tolerances) if self.agreement == "tolerance" else 1, len(self.steps)))

    def _hits(self, comparison: Comparison, model: Model, attacked: IntArray, progress: Progress) -> Hits:
        links = comparison.link(attacked, progress, f"{self.name}: linking records")
        hits = hits_of_links(links, attacked)
        expected = hits["expected"]
        weight = model.highest - links.nearest
        linked, clerical = weight >= model.upper, (weight > model.lower) & (weight < model.upper)
        return {
            **hits,
            "expected": expected * linked if self.assignment == "threshold" else expected,
            "linked": expected * linked,
            "clerical": expected * clerical,
            "wrong": (1.0 - expected) * linked,
        }

    def _assigned(self, comparison: Comparison, model: Model, attacked: IntArray, progress: Progress) -> Hits:
        comparing, assigning = Part(progress, 0.0, 0.3), Part(progress, 0.3, 1.0)
        mixture, cost, row_of, column_of = Assigned.of(comparison, self.name, comparing, assigning)
        these, those = row_of[attacked], column_of[attacked]
        own, weight = mixture.of_pairs(these, those), model.highest - cost[these, those]
        above = model.highest - cost[mixture.rows, mixture.columns] >= model.upper
        links = np.bincount(
            mixture.rows, mixture.chance * np.bincount(column_of)[mixture.columns] * above, minlength=cost.shape[0]
        )
        linked = own * (weight >= model.upper)
        return {
            **hits_of_chances(own),
            "linked": linked,
            "clerical": own * ((weight > model.lower) & (weight < model.upper)),
            "wrong": np.clip(links[these] - linked, 0.0, 1.0),
        }

    def _scenario(self, attributes: tuple[str, ...]) -> str:
        known = self._known(attributes)
        if self.assignment == "one-to-one":
            return (
                f"An intruder knows {known} of everyone in the file and gives each person a released record of their "
                "own, so that the agreement speaks most for all together."
            )
        return (
            f"An intruder knows {known} for a person in the file, learns from both files how much each agreement "
            "means, and takes the released record whose agreement speaks most for the person."
        )

    # --- what a pair is compared by --------------------------------------------------------------------------------

    def _files(self, pair: Pair, attributes: tuple[str, ...]) -> Files:
        from microveil.numerics.linkage.agreement import Scheme

        labels = labelled_of(pair, attributes)
        plain = tuple(j for j in range(len(attributes)) if j not in labels)
        compared = {j: self._compared(pair, attributes[j]) for j in plain}
        tables = columns_of(pair, [attributes[j] for j in plain], [compared[j][:2] for j in plain])
        limits = [compared[j][2] if j in compared else self._limits(pair, name) for j, name in enumerate(attributes)]
        incomplete = np.zeros(len(attributes), dtype=np.bool_)
        incomplete[list(plain)] = tables[0].states.any(axis=1) | tables[1].states.any(axis=1)
        for j, found in labels.items():
            incomplete[j] = found.states.any() or (found.codes < 0).any()
        wildcard = np.array([pair.masked[name].missing == "wildcard" for name in attributes]) & incomplete
        blocking = np.array([self._is_blocking(name) for name in attributes])
        scheme = Scheme(tuple(limits), wildcard, blocking)
        if not scheme.fits:
            raise ParameterError(
                f"{self.name}: {len(attributes)} attributes with so many levels of agreement make too many patterns; "
                "name fewer attributes, tolerances or steps"
            )
        if self.interactions != "none" and scheme.patterns > _MOST_INTERACTING:
            raise ParameterError(
                f"{self.name}: interactions = '{self.interactions}' is not allowed with {len(attributes)} attributes "
                f"and so many levels; they make {scheme.patterns:,.0f} patterns, and at most {_MOST_INTERACTING:,} "
                "are fitted"
            )
        numeric = [j for j in labels if pair.original[attributes[j]].kind == "numeric"]
        labels |= {j: labels[j].over(unit_of(labels[j].released, self.standardisation)) for j in numeric}
        return Files(*tables, scheme, plain, labels)

    def _limits(self, pair: Pair, name: str) -> tuple[float, ...]:
        """Up to which gaps a value agrees with a label; 0 is inside."""
        kind = pair.original[name].kind
        if kind == "numeric":
            beyond = self.tolerances if self.agreement == "tolerance" and not self._is_blocking(name) else ()
            return (_EQUAL, *(limit for limit in beyond if limit > _EQUAL))
        return tuple(map(float, self.steps)) if kind == "ordinal" else (0.0,)

    def _compared(self, pair: Pair, name: str) -> tuple[FloatArray, FloatArray, tuple[float, ...]]:
        """The cells of an attribute in both tables, and up to which differences they agree."""
        if pair.original[name].kind != "numeric":
            before, after = (column.codes.astype(np.float64) for column in pair.categories(name))
            return before, after, self._limits(pair, name)
        before, after = (column.values for column in pair.numbers(name))
        if self._is_blocking(name):
            return before, after, (0.0,)
        before, after = scaled(before, after, self.standardisation)
        if self.agreement == "tolerance":
            return before, after, self.tolerances
        if self.agreement == "round":
            return np.round(before, self.digits), np.round(after, self.digits), (_EQUAL,)
        if self.agreement == "nearest":
            return _nearest_values(before, after), after, (_EQUAL,)
        if self.agreement == "bins":
            return _shares(before, self.bins), _shares(after, self.bins), (_EQUAL,)
        if self.agreement == "quantile":
            return before, after, (_closest(before, after, self.quantile),)
        return before, after, (_EQUAL,)

    # --- what agreement means --------------------------------------------------------------------------------------

    def _model(self, files: Files, progress: Progress) -> Model:
        return self._model_of(files.scheme, files.known.cells.shape[1], self._patterns(files, progress))

    def _patterns(self, files: Files, progress: Progress) -> Patterns:
        generator = PublicStreams(self.seed).generator(self.name, "pairs")
        return files.patterns(generator, progress, f"{self.name}: counting agreements")

    def _model_of(self, scheme: Scheme, records: int, patterns: Patterns) -> Model:
        """What agreements mean, by how often pairs agree in which way."""
        from microveil.numerics.linkage.fellegi_sunter import fit_dependent, fit_independent

        share = min(1.0 / records, 0.5)
        classes = fit_independent(
            patterns,
            scheme.levels.tolist(),
            share,
            self.coincidence,
            estimate_prevalence=self.prevalence == "estimated",
        )
        if self.interactions == "none" or len(scheme.limits) < 3:
            return Model.additive(scheme, patterns, classes, (self.false_links, self.missed_links))
        whole = patterns.all_possible(scheme)
        classes = fit_dependent(whole, classes, scheme.digits.tolist(), both=self.interactions == "both")
        return Model.tabular(scheme, whole, classes, (self.false_links, self.missed_links))


@dataclass(frozen=True)
class Files:
    """Both files and the levels at which their records may agree.

    The tables have the attributes with values, whose numbers are `plain`; `labels` are the others.
    """

    known: Table
    released: Table
    scheme: Scheme
    plain: tuple[int, ...]
    labels: Mapping[int, Labels]

    def of(self, chosen: Sequence[int]) -> Files:
        """With some of the attributes, numbered anew."""
        columns = [self.plain.index(j) for j in chosen if j in self.plain]
        plain = tuple(number for number, j in enumerate(chosen) if j in self.plain)
        labels = {number: self.labels[j] for number, j in enumerate(chosen) if j in self.labels}
        return Files(self.known.of(columns), self.released.of(columns), self.scheme.of(chosen), plain, labels)

    def compared(self, costs: Sequence[FloatArray], table: FloatArray | None = None) -> Comparison:
        """Records at distances that are sums of what each level of each attribute costs, or indices into a table."""
        from microveil.attacks.linkage.comparison import Comparison

        part = self.scheme.of(self.plain)
        terms = part.terms([costs[j] for j in self.plain], table)
        known, released = (part.table(side) if self.plain else side for side in (self.known, self.released))
        labelled = {j: self._labelled(j, costs[j]) for j in self.labels}
        return Comparison(known, released, terms, tuple(range(len(terms.form))), labelled)

    def _labelled(self, attribute: int, cost: FloatArray) -> Labelled:
        from microveil.attacks.linkage.comparison import Labelled

        limits = np.array(self.scheme.limits[attribute])
        levels, wildcard = len(limits) + 1, bool(self.scheme.wildcard[attribute])
        steps = np.array([0.0, *[np.inf] * len(limits)]) if self.scheme.blocking[attribute] else cost[:levels]
        unknown = float(cost[-1]) if wildcard else 0.0
        return Labelled(
            self.labels[attribute],
            lambda gap: steps[np.searchsorted(limits, gap, side="left")],
            wildcard,
            unknown,
            float(steps[-1]),
        )

    def patterns(self, generator: np.random.Generator, progress: Progress, label: str) -> Patterns:
        """How often pairs of records agree in which way."""
        from microveil.numerics.linkage.agreement import count_patterns
        from microveil.numerics.neighbours.nearest import distinct

        if self.labels:
            return self._patterns_with_labels(generator, progress, label)
        (rows, row_of), (columns, column_of) = distinct(self.known), distinct(self.released)
        counts = np.bincount(row_of), np.bincount(column_of)
        return count_patterns(self.scheme, rows, counts[0], columns, counts[1], generator, progress, label)

    def _patterns_with_labels(self, generator: np.random.Generator, progress: Progress, label: str) -> Patterns:
        from microveil.numerics.linkage.agreement import Patterns, counted

        comparison, possible = self.compared(_pattern_costs(self.scheme)), self.scheme.patterns
        (rows, row_of), (columns, column_of) = comparison.distinct_records
        distinct_known, most = np.arange(len(rows)), max(1, _PAIRS // len(columns))
        if len(distinct_known) > most:
            distinct_known = np.sort(generator.choice(len(distinct_known), size=most, replace=False))
        counts = np.bincount(row_of), np.bincount(column_of).astype(np.float64)

        def agreeing(chunk: IntArray, sums: FloatArray) -> tuple[IntArray, FloatArray]:
            compared = np.isfinite(sums)
            weights = counts[0][chunk][:, None] * counts[1]
            return counted(sums[compared].astype(np.int64), weights[compared], possible)

        found = comparison.over_known(distinct_known, agreeing, progress, label)
        numbers, sizes = (np.concatenate(parts) for parts in zip(*found, strict=True))
        different, sizes = counted(numbers, sizes, possible)
        return Patterns(different, self.scheme.levels_of(different), sizes)


@dataclass(frozen=True)
class Model:
    """Distances that are lower the more an agreement speaks for a pair: the `highest` weight less the pair's own.

    They are the sums of what levels of agreement cost, or have these sums for indices into a table.

    Pairs with a weight of at least `upper` are linked, and those with at most `lower` are ruled out.
    """

    costs: Sequence[FloatArray]
    table: FloatArray | None
    highest: float
    upper: float
    lower: float

    @classmethod
    def additive(cls, scheme: Scheme, patterns: Patterns, classes: MatchModel, bounds: tuple[float, float]) -> Model:
        """Each attribute adds its weight."""
        from microveil.numerics.linkage.fellegi_sunter import level_weights

        costs, highest, weight = [], 0.0, np.zeros(len(patterns.numbers))
        for j, weights in enumerate(level_weights(scheme, classes)):
            costs.append(weights[0] - weights)
            highest += float(weights[0])
            weight += weights[patterns.levels[:, j]]
        thresholds = _thresholds(weight, np.exp(classes.log_m), np.exp(classes.log_u), *bounds)
        return cls(costs, None, highest, *thresholds)

    @classmethod
    def tabular(cls, scheme: Scheme, patterns: Patterns, classes: MatchModel, bounds: tuple[float, float]) -> Model:
        """Each pattern has a weight of its own; `patterns` are all that are possible."""
        from microveil.numerics.linkage.fellegi_sunter import preference

        weight = (classes.log_m - classes.log_u) / np.log(2.0)
        laid = weight.reshape(scheme.digits[::-1])  # the first attribute changes fastest
        for j, levels in enumerate(scheme.levels):
            along = np.moveaxis(laid, len(scheme.levels) - 1 - j, 0)
            along[:levels] = np.maximum.accumulate(along[:levels][::-1], axis=0)[::-1]
        for j in range(len(scheme.limits)):
            weight -= preference(scheme, j)[patterns.levels[:, j]]
        thresholds = _thresholds(weight, np.exp(classes.log_m), np.exp(classes.log_u), *bounds)
        highest = float(weight.max())
        return cls(_pattern_costs(scheme), highest - weight, highest, *thresholds)


def _pattern_costs(scheme: Scheme) -> list[FloatArray]:
    """Levels so that their sum is the number of a pattern."""
    return [stride * np.arange(digits) for stride, digits in zip(scheme.strides, scheme.digits, strict=True)]


def _thresholds(
    weight: FloatArray, same: FloatArray, different: FloatArray, false_links: float, missed_links: float
) -> tuple[float, float]:
    """The least weight to link from and the greatest to rule out up to, by the probabilities of the patterns beyond.

    Where the bounds leave nothing undecided, pairs are ruled out below the upper threshold.
    """
    order = np.argsort(-weight, kind="stable")
    ordered = weight[order]
    last = np.append(ordered[:-1] - ordered[1:] > _SAME_WEIGHT, True)  # the last of each weight
    allowed = ordered[last & (np.cumsum(different[order]) <= false_links)]
    upper = float(allowed.min()) - _SAME_WEIGHT if len(allowed) else np.inf
    first = np.append(True, ordered[:-1] - ordered[1:] > _SAME_WEIGHT)
    missed = np.cumsum(same[order][::-1])[::-1]
    ruled_out = ordered[first & (missed <= missed_links)]
    lower = float(ruled_out.max()) + _SAME_WEIGHT if len(ruled_out) else -np.inf
    return upper, min(lower, upper)


def _nearest_values(before: FloatArray, after: FloatArray) -> FloatArray:
    """Each original value replaced by the released value nearest to it, the lower of two."""
    released = np.unique(after[~np.isnan(after)])
    if len(released) == 0:
        return before
    above = np.clip(np.searchsorted(released, before), 1, max(1, len(released) - 1))
    low, high = released[above - 1], released[np.minimum(above, len(released) - 1)]
    return np.where(np.isnan(before), np.nan, np.where(before - low <= high - before, low, high))


def _shares(values: FloatArray, bins: int) -> FloatArray:
    """In which of so many equal shares of the ordered file each value lies; equal values lie together."""
    from microveil.numerics.statistics.scaling import average_ranks

    present = ~np.isnan(values)
    shares = np.full(len(values), np.nan)
    if present.any():
        shares[present] = np.ceil(average_ranks(values[present]) * bins / present.sum())
    return shares


def _closest(before: FloatArray, after: FloatArray, quantile: float) -> float:
    """The difference below which this share of all pairs of values lies, by halving."""
    one, other = before[~np.isnan(before)], np.sort(after[~np.isnan(after)])
    if len(one) == 0 or len(other) == 0:
        return _EQUAL
    low, high = 0.0, float(max(one.max(), other[-1]) - min(one.min(), other[0]))
    wanted = quantile * len(one) * len(other)
    for _ in range(60):
        middle = (low + high) / 2
        within = np.searchsorted(other, one + middle, side="right") - np.searchsorted(other, one - middle, side="left")
        low, high = (low, middle) if within.sum() >= wanted else (middle, high)
    return max(high, _EQUAL)
