"""Distance-based record linkage: the intruder takes the released record nearest to what they know."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from microveil.attacks.base import Attack
from microveil.attacks.linkage.base import (
    Hits,
    Linkage,
    Linker,
    Standardisation,
    refuse_long_assignment,
    scaled,
    states_of,
)
from microveil.errors import DataError, ParameterError
from microveil.microdata.distances import OrdinalDistance, category_distance
from microveil.microdata.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts

if TYPE_CHECKING:
    from microveil.numerics.nearest import Table, Terms

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
# a direction in which the files do not differ counts as if they differed by a millionth of their spread
_LEAST_VARIANCE = 1e-12
_NO_VARIANCE = 1e-12
_QUICKLY_PAIRED = 2_000  # records that are linked one to one in seconds


@parameterised
class DistanceLinkage(Linkage):
    """For every record the intruder knows, link the nearest released record; the risk is the share of right links.

    Numbers are compared after standardising, categories by their distance in the domain. Where several released
    records are equally near, `value` counts the chance that a random one of them is right; the counters give the
    other conventions: `first` (the first in the file), `optimistic` (right if any is) and `strict` (right only if it
    is the one nearest).

    The metric `mahalanobis` takes into account how the numbers vary together; an intruder who does not know which
    records belong together takes the sum of both files' covariances (`separate`), while `joint` takes the covariance
    of the differences, which only the evaluator knows: the worst case. `gower` divides differences of numbers by their
    common range, so that numbers and categories weigh the same. `weights` make some attributes count more.

    The intruder may take several `neighbours`, and is right if any of them is the person; the counters then say how
    often the `nearest` is and how often a `later` one, with two neighbours the second. With `one_to_one` they link all
    records at once, so that no released record is used twice and the sum of (squared) distances is least. Equal
    records are exchangeable, and where several assignments are equally good their even mixture counts, so that the
    order of the files never decides. This looks at all pairs at once and takes at most 5,000 different records.

    With `known_sizes` they know only so many of the attributes: every choice of so many (or the first so many) is
    tried, and the risk is the mean over the choices and then over the numbers.

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
    missing: ClassVar[str] = (
        "a wildcard is left out of the distance and the rest scaled up; other missing cells are near each other when "
        "they are missing for the same reason and far from every value; refused in numbers by metric mahalanobis"
    )
    source: ClassVar[str] = (
        "Pagliuca and Seri (1999); specification 01, 3.4; specification 02, LM18; specification 03, RL-2; "
        "specification 04, 0.3 and 0.4; specification 05, 5.5"
    )

    metric: Literal["euclidean", "manhattan", "mahalanobis", "gower"] = parameter(
        "euclidean", help="how differences of numbers are summed"
    )
    covariance: Literal["separate", "joint"] = parameter(
        "separate", help="for mahalanobis: the sum of both files' covariances, or the covariance of their differences"
    )
    weights: tuple[float, ...] | None = parameter(
        None, help="weight of each known attribute in the sum, in their order; unset: all 1", min_length=1
    )
    standardisation: Standardisation = parameter(
        "separate",
        help="scale of numbers: each file's own z-scores, the original's, each file's min-max, or none; gower has "
        "its own",
    )
    ordinal_distance: OrdinalDistance = parameter("inclusive", help="distance between ordered categories")
    direction: Literal["original", "masked"] = parameter(
        "original", help="whose records look for their nearest: the original's, or the masked file's"
    )
    neighbours: int = parameter(1, help="how many nearest records the intruder takes; one of them must be right", ge=1)
    one_to_one: bool = parameter(False, help="link all records at once and use every released record once")

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        usual = super().suited(pair)
        return (*usual, usual[0].changed(one_to_one=True)) if usual and len(pair) <= _QUICKLY_PAIRED else usual

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
        original, masked, terms = self._tables(pair, attributes)

        def link(subset: list[int], attacked: IntArray, progress: Progress) -> Hits:
            tables = original.of(subset), masked.of(subset), terms.of(subset)
            if self.metric == "mahalanobis":
                tables = _whitened(*tables, joint=self.covariance == "joint")
            if self.one_to_one:
                return self._assigned(*tables, attacked, progress)
            return self._hits(*tables, attacked, progress)

        return link

    def _effort(self) -> float:
        return 0.0 if self.one_to_one else 1.0

    def _hits(self, original: Table, masked: Table, terms: Terms, attacked: IntArray, progress: Progress) -> Hits:
        """For each record attacked, by every convention for ties, the chance that its link is right."""
        from microveil.numerics.nearest import link, places_of_own

        sources, targets = (original, masked) if self.direction == "original" else (masked, original)
        label = f"{self.name}: linking records"
        if self.neighbours == 1:
            links = link(sources, targets, terms, attacked, progress, label)
            return {
                "expected": np.where(links.own, 1.0 / np.maximum(links.ties, 1), 0.0),
                "first": (links.first == attacked).astype(np.float64),
                "optimistic": links.own.astype(np.float64),
                "strict": (links.own & (links.ties == 1)).astype(np.float64),
            }
        places = places_of_own(sources, targets, terms, attacked, self.neighbours, progress, label)
        within = [np.clip((count - places.closer) / places.ties, 0.0, 1.0) for count in (1, self.neighbours)]
        return {
            "expected": within[1],
            "first": (places.closer + places.earlier < self.neighbours).astype(np.float64),
            "optimistic": (places.closer < self.neighbours).astype(np.float64),
            "strict": (places.closer + places.ties <= self.neighbours).astype(np.float64),
            "nearest": within[0],
            "later": within[1] - within[0],
        }

    def _assigned(self, original: Table, masked: Table, terms: Terms, attacked: IntArray, progress: Progress) -> Hits:
        """The same for the even mixture of the assignments with the least sum of distances."""
        from microveil.numerics.assignment import even_assignment
        from microveil.numerics.nearest import distances, distinct

        (rows, row_of), (columns, column_of) = distinct(original), distinct(masked)
        refuse_long_assignment(self.name, rows, columns)
        label, (first, second) = f"{self.name}: assigning records", parts(progress, 2)
        cost = distances(rows, columns, terms, first, label)
        mixture = even_assignment(cost, np.bincount(row_of), np.bincount(column_of), second, label)
        own = mixture.of_pairs(row_of[attacked], column_of[attacked])
        return {
            "expected": own,
            "optimistic": (own > 0).astype(np.float64),
            "strict": (own > 1 - 1e-6).astype(np.float64),
        }

    def _scenario(self, attributes: tuple[str, ...]) -> str:
        known = f"the true values of {'' if self.known_sizes is None else 'some of '}{', '.join(attributes)}"
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

    def _tables(self, pair: Pair, attributes: tuple[str, ...]) -> tuple[Table, Table, Terms]:
        from microveil.numerics.nearest import Table, Terms

        if self.weights is not None and len(self.weights) != len(attributes):
            raise ParameterError(
                f"{self.name}: weights = {self.weights} is not allowed; there are {len(attributes)} known attributes"
            )
        weights = np.ones(len(attributes)) if self.weights is None else np.array(self.weights)
        states = states_of(pair, attributes)
        compared = [
            self._compared(pair, name, weight, complete=not (states[0][j].any() or states[1][j].any()))
            for j, (name, weight) in enumerate(zip(attributes, weights.tolist(), strict=True))
        ]
        before, after, form, start, slope, penalty = zip(*compared, strict=True)
        wildcard = np.array([pair.original[name].missing == "wildcard" for name in attributes])
        return (
            Table(np.where(states[0] > 0, 0.0, np.stack(before)), states[0]),
            Table(np.where(states[1] > 0, 0.0, np.stack(after)), states[1]),
            Terms(np.array(form), np.array(start), np.array(slope), wildcard, np.array(penalty), weights),
        )

    def _compared(
        self, pair: Pair, name: str, weight: float, *, complete: bool
    ) -> tuple[FloatArray, FloatArray, int, float, float, float]:
        """The cells of an attribute in both tables; its form, start and slope; and what a missing cell costs."""
        from microveil.numerics.nearest import ABSOLUTE, CATEGORY, SQUARED

        blocks = self.block is not None and name in self.block
        if pair.original[name].kind != "numeric":
            columns = pair.categories(name)
            distance = category_distance(pair.original[name].kind, len(columns[0].domain), self.ordinal_distance)
            before, after = (column.codes.astype(np.float64) for column in columns)
            start = np.inf if blocks else weight * distance.start
            return before, after, CATEGORY, start, weight * distance.slope, np.inf if blocks else weight
        before, after = (column.values for column in pair.numbers(name))
        if blocks:
            return before, after, CATEGORY, np.inf, 0.0, np.inf
        if self.metric == "gower":
            before, after = _over_common_range(before, after)
            return weight * before, weight * after, ABSOLUTE, 0.0, 0.0, weight
        before, after = scaled(before, after, self.standardisation)
        if self.metric == "mahalanobis" and not complete:
            raise DataError(
                f"{self.name}: metric = 'mahalanobis' needs numbers without missing values, and '{name}' has some"
            )
        # a missing cell costs the mean (squared) difference of two independent standard normal values
        if self.metric == "manhattan":
            return weight * before, weight * after, ABSOLUTE, 0.0, 0.0, weight * 2.0 / np.sqrt(np.pi)
        root = np.sqrt(weight)
        return root * before, root * after, SQUARED, 0.0, 0.0, weight * 2.0


def _over_common_range(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Numbers over the range of both files together, so that the greatest difference is 1."""
    both = np.concatenate([before, after])
    present = both[~np.isnan(both)]
    width = float(np.ptp(present)) if len(present) else 0.0
    low = float(present.min()) if len(present) else 0.0
    return (before - low) / (width or 1.0), (after - low) / (width or 1.0)


def _whitened(original: Table, masked: Table, terms: Terms, *, joint: bool) -> tuple[Table, Table, Terms]:
    """The tables with their numbers turned and stretched, so that Euclidean distances are Mahalanobis distances.

    A direction in which neither file varies is left out, which is the pseudo-inverse. One in which they vary and do
    not differ would be infinitely telling; it is stretched a millionfold.
    """
    from microveil.numerics.nearest import SQUARED, Table

    numbers = np.flatnonzero(terms.form == SQUARED)
    if len(numbers) == 0:
        return original, masked, terms
    x, y = original.cells[numbers], masked.cells[numbers]
    spread = np.cov(x, ddof=0) + np.cov(y, ddof=0) if x.shape[1] > 1 else np.zeros((len(numbers), len(numbers)))
    spread = np.atleast_2d(spread)
    deviations = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    cross = deviations[0] @ deviations[1].T / x.shape[1]
    values, directions = np.linalg.eigh(spread - (cross + cross.T) if joint else spread)
    along = np.einsum("jk,jl,lk->k", directions, spread, directions)
    varies = along > _NO_VARIANCE * max(1.0, float(along.max()))
    stretch = np.where(varies, 1.0 / np.sqrt(np.maximum(np.maximum(values, _LEAST_VARIANCE * along), 1e-300)), 0.0)
    tables = []
    for table, cells in ((original, x), (masked, y)):
        turned = table.cells.copy()
        turned[numbers] = stretch[:, None] * (directions.T @ cells)
        tables.append(Table(turned, table.states))
    return tables[0], tables[1], terms
