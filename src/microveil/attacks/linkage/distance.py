"""Distance-based record linkage: the intruder takes the released record nearest to what they know."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from microveil.attacks.base import Attack, Risk
from microveil.errors import ParameterError
from microveil.microdata.distances import OrdinalDistance, category_distance
from microveil.microdata.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.numerics.standard import Scaling, min_max, standardise
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams

if TYPE_CHECKING:
    from microveil.numerics.nearest import Table, Terms

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
# distance terms computed by default: about twenty seconds on two processors
_AFFORDABLE_TERMS = 1.5e11
_MOST_CHOICES = 10_000  # choices of known attributes


@parameterised
class DistanceLinkage(Attack):
    """For every record the intruder knows, link the nearest released record; the risk is the share of right links.

    Numbers are compared after standardising, categories by their distance in the domain. Where several released
    records are equally near, `value` counts the chance that a random one of them is right; the counters give the
    other conventions: `first` (the first in the file), `optimistic` (right if any is) and `strict` (right only if it
    is the one nearest).

    The intruder may take several `neighbours`, and is right if any of them is the person; the counters then say how
    often the `nearest` is and how often a `later` one. With `known_sizes` they know only so many of the attributes:
    every choice of so many is tried, and the risk is the mean over the choices and then over the numbers.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43]})
    >>> release = Microdata.of({"age": [21.0, 21.0, 42.0, 42.0]})
    >>> risk = DistanceLinkage().assess(people, release)
    >>> risk.value, risk.counters["optimistic"]
    (50.0, 100.0)
    """

    name: ClassVar[str] = "distance-linkage"
    family: ClassVar[str] = "linkage"
    general: ClassVar[bool] = True
    summary: ClassVar[str] = "links each known record to the nearest released record"
    meaning: ClassVar[str] = "records an intruder links to the right person by nearest distance; lower is safer"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "a wildcard is left out of the distance and the rest scaled up; other missing cells are near each other when "
        "they are missing for the same reason and far from every value"
    )
    source: ClassVar[str] = (
        "Pagliuca and Seri (1999); specification 02, LM18; specification 03, RL-2; specification 04, 0.3 and 0.4"
    )

    metric: Literal["euclidean", "manhattan"] = parameter("euclidean", help="how differences of numbers are summed")
    standardisation: Literal["separate", "joint", "minmax", "none"] = parameter(
        "separate", help="scale of numbers: each file's own z-scores, the original's, each file's min-max, or none"
    )
    ordinal_distance: OrdinalDistance = parameter("inclusive", help="distance between ordered categories")
    direction: Literal["original", "masked"] = parameter(
        "original", help="whose records look for their nearest: the original's, or the masked file's"
    )
    neighbours: int = parameter(1, help="how many nearest records the intruder takes; one of them must be right", ge=1)
    known_sizes: tuple[int, ...] | None = parameter(
        None, help="how many of the attributes the intruder knows, each number in turn; unset: all", min_length=1
    )
    aggregate: Literal["mean", "any"] = parameter(
        "mean", help="over the choices of known attributes: the mean risk, or the risk in the choice worst for a record"
    )
    records: int | None = parameter(
        None, help="attack so many records drawn at random; by default all, or as many as about 20 s allow", ge=1
    )
    seed: int = parameter(0, help="seed for drawing the records to attack", ge=0)

    def __post_init__(self) -> None:
        if self.known_sizes is not None and min(self.known_sizes) < 1:
            raise ParameterError(
                f"{self.name}: known_sizes = {self.known_sizes} is not allowed; each must be at least 1"
            )

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        original, masked, terms = self._tables(pair, attributes)
        scenarios = self._scenarios(len(attributes))
        choices = sum(len(subsets) for subsets in scenarios)
        attacked = self._attacked(len(pair), sum(len(subset) for subsets in scenarios for subset in subsets))
        stretches = iter(parts(progress, choices))
        together = np.mean if self.aggregate == "mean" else np.max
        by_size = []
        for subsets in scenarios:
            found = [
                self._hits(original.of(subset), masked.of(subset), terms.of(subset), attacked, next(stretches))
                for subset in subsets
            ]
            by_size.append({name: together([hits[name] for hits in found], axis=0) for name in found[0]})
        counters = {name: np.mean([hits[name] for hits in by_size], axis=0) for name in by_size[0]}
        per_record = np.full(len(pair), np.nan)
        per_record[attacked] = counters["expected"]
        shares = {name: 100 * float(hits.mean()) for name, hits in counters.items()}
        return Risk.of(self.name, per_record, attributes, self._scenario(attributes), counters=shares)

    def _scenarios(self, attributes: int) -> list[list[list[int]]]:
        """For each number of attributes that the intruder may know, all choices of so many."""
        if self.known_sizes is None:
            return [[list(range(attributes))]]
        if max(self.known_sizes) > attributes:
            raise ParameterError(
                f"{self.name}: known_sizes = {self.known_sizes} is not allowed; there are only {attributes} attributes"
            )
        choices = sum(comb(attributes, size) for size in self.known_sizes)
        if choices > _MOST_CHOICES:
            raise ParameterError(
                f"{self.name}: known_sizes = {self.known_sizes} is not allowed with {attributes} attributes; it means "
                f"{choices:,} choices, and at most {_MOST_CHOICES:,} are tried"
            )
        return [[list(subset) for subset in combinations(range(attributes), size)] for size in self.known_sizes]

    def _hits(
        self, original: Table, masked: Table, terms: Terms, attacked: IntArray, progress: Progress
    ) -> dict[str, FloatArray]:
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

    def _scenario(self, attributes: tuple[str, ...]) -> str:
        known = f"the true values of {'' if self.known_sizes is None else 'some of '}{', '.join(attributes)}"
        if self.direction == "original":
            nearest = "record that is" if self.neighbours == 1 else f"{self.neighbours} records that are"
            return (
                f"An intruder knows {known} for a person in the file and takes the released {nearest} nearest to them."
            )
        nearest = "person who is" if self.neighbours == 1 else f"{self.neighbours} persons who are"
        return f"An intruder knows {known} of everyone and takes for each released record the {nearest} nearest to it."

    def _attacked(self, records: int, terms: int) -> IntArray:
        wanted = self.records or max(1000, int(_AFFORDABLE_TERMS / (records * terms)))
        if wanted >= records:
            return np.arange(records)
        drawn = Streams(self.seed).generator(self.name).choice(records, size=wanted, replace=False)
        return np.sort(drawn).astype(np.int64)

    def _tables(self, pair: Pair, attributes: tuple[str, ...]) -> tuple[Table, Table, Terms]:
        from microveil.numerics.nearest import ABSOLUTE, CATEGORY, SQUARED, Table, Terms

        squared = self.metric == "euclidean"
        cells: tuple[list[FloatArray], list[FloatArray]] = ([], [])
        form, start, slope, penalty = [], [], [], []
        for name in attributes:
            if pair.original[name].kind == "numeric":
                before, after = self._scaled(*(column.values for column in pair.numbers(name)))
                form.append(SQUARED if squared else ABSOLUTE)
                start.append(0.0)
                slope.append(0.0)
                # the mean (squared) difference of two independent standard normal values
                penalty.append(2.0 if squared else 2.0 / np.sqrt(np.pi))
            else:
                columns = pair.categories(name)
                distance = category_distance(pair.original[name].kind, len(columns[0].domain), self.ordinal_distance)
                before, after = (column.codes.astype(np.float64) for column in columns)
                form.append(CATEGORY)
                start.append(distance.start)
                slope.append(distance.slope)
                penalty.append(1.0)
            cells[0].append(before)
            cells[1].append(after)
        tables = []
        for side, data in zip(cells, (pair.original, pair.masked), strict=True):
            states = np.stack([data.missing_states(name) for name in attributes])
            tables.append(Table(np.where(states > 0, 0.0, np.stack(side)), states))
        wildcard = np.array([pair.original[name].missing == "wildcard" for name in attributes])
        terms = Terms(np.array(form), np.array(start), np.array(slope), wildcard, np.array(penalty))
        return tables[0], tables[1], terms

    def _scaled(self, before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.standardisation == "none":
            return before, after
        if self.standardisation == "joint":
            scaling = Scaling.of(before[:, None])
            return scaling.apply(before[:, None])[:, 0], scaling.apply(after[:, None])[:, 0]
        scale = min_max if self.standardisation == "minmax" else standardise
        return scale(before[:, None])[:, 0], scale(after[:, None])[:, 0]
