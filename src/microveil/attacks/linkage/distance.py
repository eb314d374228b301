"""Distance-based record linkage: the intruder takes the released record nearest to what they know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Risk, Variant
from microveil.attacks.linkage.base import (
    CONFIRMED,
    EFFORT_OF_LABELS,
    Assigned,
    Hits,
    Linkage,
    Linker,
    Standardisation,
    affordable_records,
    axes_of,
    columns_of,
    hits_of_chances,
    hits_of_links,
    labelled_of,
    table_of,
    unit_of,
)
from microveil.comparison.columns import Linked
from microveil.comparison.pairs import Pair, fitting
from microveil.errors import DataError, ParameterError
from microveil.microdata.distances import ORDINAL_DISTANCES, OrdinalDistance, category_distance
from microveil.microdata.facts import OverRecords
from microveil.microdata.schema import CATEGORICAL, KINDS, Category
from microveil.microdata.tables import Tables
from microveil.numerics.statistics.scaling import Axis
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts, silent
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from microveil.attacks.linkage.comparison import Comparison, Labelled
    from microveil.comparison.labels import Labels
    from microveil.microdata import Microdata
    from microveil.numerics.neighbours.mixed_distance import Table
    from microveil.numerics.neighbours.nearest import Nearest

# a direction in which the files do not differ counts as if they differed by a millionth of their spread
_LEAST_VARIANCE = 1e-12
_NO_VARIANCE = 1e-12
_QUICKLY_PAIRED = 2_000  # records that are linked one to one in seconds
_QUICKLY_COMPARED = 50_000  # records that are compared each with each in seconds


def _has_numbers(pair: Pair) -> bool:
    return bool(pair.of_kinds(("numeric",)))


def _has_several_numbers(pair: Pair) -> bool:
    return sum(name not in pair.recoded for name in pair.of_kinds(("numeric",))) > 1  # labels have no covariances


def _is_mixed(pair: Pair) -> bool:
    return _has_numbers(pair) and bool(pair.of_kinds(CATEGORICAL))


@parameterised
class DistanceLinkage(Linkage):
    """For every record the intruder knows, link the nearest released record; the risk is the share of right links.

    Numbers are compared after standardising, categories by their distance in the domain. Where several released
    records are equally near, `value` counts the chance that a random one of them is right; the counters give the
    other conventions: `first` (the first in the file), `optimistic` (right if any is) and `strict` (right only if it
    is the one nearest).

    Where an attribute is released as intervals, sets or nodes of its hierarchy, a value that lies inside is at distance
    0, and any other as far as from the nearest value inside; numbers are then measured in the original's scale.

    The metric `mahalanobis` takes into account how the numbers vary together; an intruder who does not know which
    records belong together takes the sum of both files' covariances (`separate`), while `joint` takes the covariance
    of the differences, which only the evaluator knows: the worst case. `gower` divides differences of numbers by their
    common range, so that numbers and categories weigh the same. `weights` make some attributes count more.

    The intruder may take several `neighbours`, and is right if any of them is the person; the counters then say how
    often the `nearest` is and how often a `later` one, with two neighbours the second. With `one_to_one` they link all
    records at once, so that no released record is used twice and the sum of (squared) distances is least. Equal
    records are exchangeable, and where several assignments are equally good their even mixture counts, so that the
    order of the files never decides. This compares all pairs at once and takes at most 5,000 distinct records.

    With `known_sizes` they know only that number of the attributes: every subset of that size (or the first ones) is
    tried, and the risk is the mean over the subsets and then over the sizes.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43]})
    >>> release = Microdata.of({"age": [21.0, 21.0, 42.0, 42.0]})
    >>> risk = DistanceLinkage().assess(people, release)
    >>> risk.value, risk.counters["optimistic"]
    (50.0, 100.0)
    """

    name: ClassVar[str] = "distance-linkage"
    general: ClassVar[bool] = True
    summary: ClassVar[str] = "links each known record to the nearest released record"
    meaning: ClassVar[str] = "records an intruder links to the right person by nearest distance; lower is safer"
    formula: ClassVar[str] = "mean over records of [own among the nearest] / number of nearest"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    success: ClassVar[str] = CONFIRMED
    missing: ClassVar[str] = (
        "a wildcard adds the typical difference of its attribute between nearest records to a distance, or is "
        "left out and the rest scaled up (missing_cells); a record of wildcards only is not linked; other "
        "missing cells are near each other when they are missing for the same reason and far from every value; "
        "metric mahalanobis refuses missing numbers"
    )
    source: ClassVar[str] = (
        "Pagliuca and Seri (1999); Torra, Abowd and Domingo-Ferrer (2006) on the Mahalanobis distance; Fayyoumi "
        "(2008), sections 2.4.1 and 4.4; Nin (2008), section 2.3.1, Algorithm 1; Marés (2013), section 2.4.2"
    )

    metric: Literal["euclidean", "manhattan", "mahalanobis", "gower"] = parameter(
        default="euclidean", help="distance of numbers"
    )
    covariance: Literal["separate", "joint"] = parameter(
        default="separate",
        help="for mahalanobis: the sum of both files' covariances, or the covariance of their differences",
    )
    weights: tuple[float, ...] | None = parameter(
        default=None, help="weight of each known attribute in the sum, in their order; unset: all 1", min_length=1
    )
    standardisation: Standardisation = parameter(
        default="separate",
        help="scale of numbers: each file's own z-scores, the original's, each file's min-max, or none; gower has "
        "its own",
    )
    ordinal_distance: OrdinalDistance = parameter(default="inclusive", help=ORDINAL_DISTANCES)
    direction: Linked = parameter(
        default="original",
        help="which records are linked to the nearest record of the other file: the original ones, or the masked ones",
    )
    neighbours: int = parameter(
        default=1,
        help="number of nearest records that the intruder takes; the link is right if one of them is the person's",
        ge=1,
        le=MOST_RECORDS,
    )
    one_to_one: bool = parameter(
        default=False, help="link all records at once, so that every released record is used once"
    )
    missing_cells: Literal["typical", "left out"] = parameter(
        default="typical",
        help="what a missing cell that is a wildcard adds to a distance: the typical difference of its attribute "
        "between nearest records (typical); or nothing, the rest being scaled up, which favours links to records "
        "with few known cells (left out)",
    )

    variants: ClassVar[tuple[Variant, ...]] = (
        Variant({"one_to_one": True}, most_records=_QUICKLY_PAIRED),
        Variant({"standardisation": "joint"}, _has_numbers, _QUICKLY_COMPARED),
        Variant({"metric": "mahalanobis"}, _has_several_numbers, _QUICKLY_COMPARED),
        Variant({"metric": "gower"}, _is_mixed, _QUICKLY_COMPARED),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.one_to_one and self.neighbours > 1:
            raise ParameterError(
                f"{self.name}: neighbours = {self.neighbours} is not allowed with one_to_one; each record gets one"
            )
        if self.weights is not None:
            if min(self.weights) < 0 or max(self.weights) == 0:
                raise ParameterError(
                    f"{self.name}: weights = {self.weights} is not allowed; none is below 0, and one must be above"
                )
            if self.metric == "mahalanobis":
                raise ParameterError(f"{self.name}: metric = 'mahalanobis' is not allowed with weights")

    def _linker(self, pair: Pair, attributes: tuple[str, ...]) -> Linker:
        whole = self._comparison(pair, attributes)

        def link(subset: list[int], attacked: IntArray, progress: Progress) -> Hits:
            comparison = whole.of(subset)
            if self.metric == "mahalanobis":
                comparison = _whitened(comparison, joint=self.covariance == "joint")
            charged = comparison.charging_for_wildcards() if self.missing_cells == "typical" else comparison
            if self.one_to_one:
                return self._assigned(charged, attacked, progress)
            told = ~comparison.all_missing(attacked)
            return {name: found * told for name, found in self._hits(charged, attacked, progress).items()}

        effort = 0.0 if self.one_to_one else EFFORT_OF_LABELS if whole.labelled else 1.0
        decoded = tuple(attributes[j] for j, one in whole.labelled.items() if one.labels.by_code_book)
        return Linker(link, effort, decoded)

    def compared(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Comparison | None:
        if self.one_to_one or self.neighbours > 1 or self.direction == "masked" or self.metric == "mahalanobis":
            return None
        whole = self._comparison(pair, attributes)
        return whole.charging_for_wildcards() if self.missing_cells == "typical" else whole

    @property
    def works_over(self) -> OverRecords:
        """How a person is linked: with all released records part by part, or by what all of them are together."""
        plain = self.direction == "original" and self.neighbours == 1 and not self.one_to_one
        return "neighbours" if plain and self.metric != "mahalanobis" and self.known_sizes is None else "whole table"

    def persons_in_parts(self, pair: Pair) -> int:
        """How many persons are linked with the records of a long table by default."""
        return self.records or affordable_records(len(pair) * len(self.facing(pair).attributes))

    def assess_in_parts(self, persons: Pair, pair: Pair, numbers: IntArray, progress: Progress = silent) -> Risk:
        """The risk of some persons drawn from a table whose records come in parts, each linked with all released ones.

        `persons` are these with their own released records, compared on the scales of the whole table, and `numbers`
        which of its records they are. No attribute may be released as labels. What a missing wildcard typically costs
        is a mean over these persons and the released records nearest to them.
        """
        from microveil.numerics.neighbours.nearest import distances_of_pairs

        attributes, label = fitting(persons, self, explicit=False), f"{self.name}: linking records"
        self._refuse_unknown_blocks(attributes)
        comparison, whole = self._comparison(persons, attributes), pair.about(attributes)
        compared = [self._compared(persons, name, weight) for name, weight in self._weighted(attributes)]
        lacking = [j for j, name in enumerate(attributes) if compared[j].wildcard and pair.lacks(name)]
        if self.missing_cells == "typical" and lacking:
            before, progress = parts(progress, 2)
            first = _nearest_in_parts(comparison.charging(), whole, compared, before, label).first
            comparison = comparison.charging(_typical_in_parts(comparison, whole, compared, first, lacking))
        known, terms = comparison.known, comparison.terms
        found = _nearest_in_parts(comparison, whole, compared, progress, label)
        every = np.arange(len(persons))
        own = distances_of_pairs(known, comparison.released, terms, every, every) <= found.border
        told = ~comparison.all_missing(every)
        hits = {name: right * told for name, right in hits_of_links(found.links(own), numbers).items()}
        shares = {name: 100 * float(right.mean()) for name, right in hits.items()}
        return Risk.of(self.name, hits["expected"], attributes, self._scenario(attributes), counters=shares)

    def _hits(self, comparison: Comparison, attacked: IntArray, progress: Progress) -> Hits:
        """For each record attacked, by every convention for ties, the chance that its link is right."""
        label = f"{self.name}: linking records"
        if self.neighbours == 1:
            return hits_of_links(comparison.link(attacked, progress, label), attacked)
        ranks = comparison.ranks_of_own(attacked, self.neighbours, progress, label)
        within = [np.clip((count - ranks.closer) / ranks.ties, 0.0, 1.0) for count in (1, self.neighbours)]
        return {
            "expected": within[1],
            "first": (ranks.closer + ranks.earlier < self.neighbours).astype(np.float64),
            "optimistic": (ranks.closer < self.neighbours).astype(np.float64),
            "strict": (ranks.closer + ranks.ties <= self.neighbours).astype(np.float64),
            "nearest": within[0],
            "later": within[1] - within[0],
        }

    def _assigned(self, comparison: Comparison, attacked: IntArray, progress: Progress) -> Hits:
        """The same for the even mixture of the assignments with the least sum of distances."""
        mixture, _, row_of, column_of = Assigned.of(comparison, self.name, *parts(progress, 2))
        return hits_of_chances(mixture.of_pairs(row_of[attacked], column_of[attacked]))

    def _scenario(self, attributes: tuple[str, ...]) -> str:
        known = self._known(attributes)
        if self.one_to_one:
            return (
                f"An intruder knows {known} of everyone in the file and gives each person a released record of their "
                "own, so that all together are as near as can be."
            )
        if self.direction == "original":
            nearest = "record that is" if self.neighbours == 1 else f"{self.neighbours} records that are"
            return (
                f"An intruder knows {known} for a person in the file and takes the released {nearest} nearest to them."
            )
        nearest = "person who is" if self.neighbours == 1 else f"{self.neighbours} persons who are"
        return f"An intruder knows {known} of everyone and takes for each released record the {nearest} nearest to it."

    # --- what records are compared by ------------------------------------------------------------------------------

    def _comparison(self, pair: Pair, attributes: tuple[str, ...]) -> Comparison:
        from microveil.attacks.linkage.comparison import Comparison
        from microveil.numerics.neighbours.mixed_distance import Terms

        weights = np.array([weight for _, weight in self._weighted(attributes)])
        labels = labelled_of(pair, attributes)
        plain = tuple(j for j in range(len(attributes)) if j not in labels)
        compared = [self._compared(pair, attributes[j], float(weights[j])) for j in plain]
        tables = columns_of(pair, [attributes[j] for j in plain], [one.cells(pair) for one in compared])
        terms = Terms(
            np.array([one.form for one in compared], dtype=np.int64),
            np.array([one.start for one in compared]),
            np.array([one.slope for one in compared]),
            np.array([one.wildcard for one in compared], dtype=np.bool_),
            np.array([one.missing for one in compared]),
            weights[list(plain)],
        )
        labelled = {j: self._labelled(pair, attributes[j], found, float(weights[j])) for j, found in labels.items()}
        comparison = Comparison(*tables, terms, plain, labelled, flipped=self.direction == "masked")
        if labels and self.missing_cells == "left out" and any(comparison.lacks(j) for j in range(len(attributes))):
            raise ParameterError(
                f"{self.name}: missing_cells = 'left out' is not allowed where attributes are released as intervals or "
                "sets and cells are missing"
            )
        return comparison

    def _weighted(self, attributes: tuple[str, ...]) -> list[tuple[str, float]]:
        """The attributes, and how much each counts."""
        weights = (1.0,) * len(attributes) if self.weights is None else self.weights
        if len(weights) != len(attributes):
            raise ParameterError(
                f"{self.name}: weights = {self.weights} is not allowed; there are {len(attributes)} known attributes"
            )
        return list(zip(attributes, weights, strict=True))

    def _compared(self, pair: Pair, name: str, weight: float) -> Compared:
        from microveil.numerics.neighbours.mixed_distance import CATEGORY

        kind, wildcard = pair.original[name].kind, pair.masked[name].missing == "wildcard"
        domain: tuple[Category | None, ...] | None = None
        if kind == "numeric":
            if not self._is_blocking(name):
                return self._numbers(pair, name, weight, wildcard)
        else:
            columns = pair.categories(name)
            domain = columns[0].domain
            before, after = (column.codes.astype(np.float64) for column in columns)
        if self._is_blocking(name):
            return Compared(name, domain, None, CATEGORY, np.inf, 0.0, wildcard, weight if wildcard else np.inf)
        assert domain is not None
        distance = category_distance(kind, len(domain), self.ordinal_distance)
        missing = (
            _mean_distance(_nan_where_missing(before), _nan_where_missing(after), distance.start, distance.slope)
            if wildcard
            else 1.0
        )
        start, slope = weight * distance.start, weight * distance.slope
        return Compared(name, domain, None, CATEGORY, start, slope, wildcard, weight * missing)

    def _numbers(self, pair: Pair, name: str, weight: float, wildcard: bool) -> Compared:
        from microveil.numerics.neighbours.mixed_distance import ABSOLUTE, SQUARED

        before, after = (column.values for column in pair.numbers(name))
        if self.metric == "mahalanobis" and np.isnan([before, after]).any():
            raise DataError(
                f"{self.name}: metric = 'mahalanobis' needs numbers without missing values, and '{name}' has some"
            )
        axes = axes_of(*pair.spreads(name), "common range" if self.metric == "gower" else self.standardisation)
        missing = self._mean_of(axes[0].of(before), axes[1].of(after)) if wildcard else self._unlike
        factor = float(np.sqrt(weight)) if self._squares else weight
        form = SQUARED if self._squares else ABSOLUTE
        return Compared(name, None, axes, form, 0.0, 0.0, wildcard, weight * missing, factor)

    def _labelled(self, pair: Pair, name: str, labels: Labels, weight: float) -> Labelled:
        """An attribute released as labels: a value inside is at distance 0, any other as far as from the nearest
        value inside."""
        from microveil.attacks.linkage.comparison import Labelled

        kind, wildcard = pair.original[name].kind, pair.masked[name].missing == "wildcard"
        if self._is_blocking(name):
            return Labelled(labels, lambda gap: np.where(gap > 0, np.inf, 0.0), wildcard, weight, np.inf)
        if kind != "numeric":
            distance = category_distance(kind, labels.size, self.ordinal_distance)
            unknown = _mean_distance(labels.values, labels.values, distance.start, distance.slope)
            return Labelled(labels, lambda gap: weight * distance.of_gap(gap), wildcard, weight * unknown, weight)
        found = labels.over(unit_of(labels.released, "minmax" if self.metric == "gower" else self.standardisation))
        power, unknown = 2 if self._squares else 1, self._mean_of(found.values, found.values)
        return Labelled(
            found,
            lambda gap: weight * gap**power,
            wildcard,
            weight * unknown,
            weight * self._unlike,
            squared=self._squares,
        )

    @property
    def _squares(self) -> bool:
        return self.metric in ("euclidean", "mahalanobis")

    @property
    def _unlike(self) -> float:
        """What missing for another reason costs: the mean (squared) difference of two standard normal values."""
        return 2.0 if self._squares else 1.0 if self.metric == "gower" else 2.0 / float(np.sqrt(np.pi))

    def _mean_of(self, one: FloatArray, other: FloatArray) -> float:
        return mean_square(one, other) if self._squares else _mean_distance(one, other, 0.0, 1.0)


def _nearest_in_parts(
    comparison: Comparison, pair: Pair, compared: Sequence[Compared], progress: Progress, label: str
) -> Nearest:
    """The released records nearest to the known ones, among those of all parts."""
    from microveil.numerics.neighbours.nearest import nearest_targets

    known, terms = comparison.known, comparison.terms

    def of_part(part: Tables) -> Nearest:
        found = nearest_targets(known, _released(part, compared), terms, silent, "")
        return found.from_target(part.masked.range_of_places.start)

    return pair.summed(of_part, progress, label)


def _typical_in_parts(
    comparison: Comparison, pair: Pair, compared: Sequence[Compared], nearest: IntArray, attributes: Sequence[int]
) -> dict[int, float]:
    """How far apart, in each of these attributes, known records and the released ones nearest to them are."""
    from microveil.numerics.neighbours.nearest import distances_of_pairs

    alone = [comparison.of([j]) for j in attributes]

    def of_part(part: Tables) -> FloatArray:
        places, released = part.masked.range_of_places, _released(part, compared)
        persons = np.flatnonzero((nearest >= places.start) & (nearest < places.stop))
        sums = np.zeros((2, len(alone)))
        for position, (j, one) in enumerate(zip(attributes, alone, strict=True)):
            column = released.of([j])
            told = (one.known.states[0, persons] == 0) & (column.states[0, nearest[persons] - places.start] == 0)
            these, those = persons[told], nearest[persons[told]] - places.start
            apart = distances_of_pairs(one.known, column, one.terms, these, those)
            sums[:, position] = apart.sum(), len(these)
        return sums

    sums, numbers = pair.summed(of_part)
    return {j: sums[position] / numbers[position] for position, j in enumerate(attributes) if numbers[position] > 0}


def _released(part: Tables, compared: Sequence[Compared]) -> Table:
    return table_of(part.masked, [one.name for one in compared], [one.released(part) for one in compared])


@dataclass(frozen=True)
class Compared:
    """An attribute with values: its domain, or the scales of its numbers in both files; how it adds to a distance, and
    what a missing cell adds.

    For a wildcard that is the mean distance of two records picked at random.
    """

    name: str
    domain: tuple[Category | None, ...] | None
    axes: tuple[Axis, Axis] | None
    form: int
    start: float
    slope: float
    wildcard: bool
    missing: float
    factor: float = 1.0

    def cells(self, tables: Tables) -> tuple[FloatArray, FloatArray]:
        """What is compared, of the known and of the released records."""
        return self._of(tables.original, 0), self.released(tables)

    def released(self, tables: Tables) -> FloatArray:
        return self._of(tables.masked, 1)

    def _of(self, data: Microdata, side: int) -> FloatArray:
        if self.domain is not None:
            return data.categories(self.name, self.domain).codes.astype(np.float64)
        values = data.numbers(self.name).values
        return values if self.axes is None else self.factor * self.axes[side].of(values)


def _nan_where_missing(codes: FloatArray) -> FloatArray:
    return np.where(codes < 0, np.nan, codes)


def mean_square(one: FloatArray, other: FloatArray) -> float:
    """The mean squared difference over all pairs of present values."""
    present = [values[~np.isnan(values)] for values in (one, other)]
    if not all(map(len, present)):
        return 0.0
    return float(sum(map(np.var, present)) + (present[0].mean() - present[1].mean()) ** 2)


def _mean_distance(one: FloatArray, other: FloatArray, start: float, slope: float) -> float:
    """The mean over all pairs of present values of `start + slope * difference`, equal ones being at 0."""
    present = [np.sort(values[~np.isnan(values)]) for values in (one, other)]
    if not all(map(len, present)):
        return 0.0
    steps = np.unique(np.concatenate(present))
    below = [np.searchsorted(values, steps, side="right") / len(values) for values in present]
    apart = below[0] * (1 - below[1]) + below[1] * (1 - below[0])
    equal = float(np.prod([np.diff(share, prepend=0.0) for share in below], axis=0).sum())
    return start * (1 - equal) + slope * float((apart[:-1] * np.diff(steps)).sum())


def _whitened(comparison: Comparison, *, joint: bool) -> Comparison:
    """The same with its numbers turned and stretched, so that Euclidean distances are Mahalanobis distances.

    A direction in which neither file varies is left out, which is the pseudo-inverse. One in which they vary and do
    not differ would be infinitely telling; it is stretched a millionfold.
    """
    from microveil.numerics.neighbours.mixed_distance import SQUARED, Table

    numbers = np.flatnonzero(comparison.terms.form == SQUARED)
    if len(numbers) == 0:
        return comparison
    x, y = comparison.known.cells[numbers], comparison.released.cells[numbers]
    spread = np.cov(x, ddof=0) + np.cov(y, ddof=0) if x.shape[1] > 1 else np.zeros((len(numbers), len(numbers)))
    spread = np.atleast_2d(spread)
    deviations = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    cross = deviations[0] @ deviations[1].T / x.shape[1]
    values, directions = np.linalg.eigh(spread - (cross + cross.T) if joint else spread)
    along = np.einsum("jk,jl,lk->k", directions, spread, directions)
    varies = along > _NO_VARIANCE * max(1.0, float(along.max()))
    stretch = np.where(varies, 1.0 / np.sqrt(np.maximum(np.maximum(values, _LEAST_VARIANCE * along), 1e-300)), 0.0)
    tables = []
    for table, cells in ((comparison.known, x), (comparison.released, y)):
        turned = table.cells.copy()
        turned[numbers] = stretch[:, None] * (directions.T @ cells)
        tables.append(Table(turned, table.states))
    return comparison.between(tables[0], tables[1], comparison.terms)
