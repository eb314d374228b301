"""What linkage attacks share: how much the intruder knows, which records are attacked, and how risks are combined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb, fsum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError, UnknownNameError
from microveil.numerics.statistics.scaling import Axis, Scaling, Spread
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.attacks.linkage.comparison import Comparison
    from microveil.comparison.labels import Labels
    from microveil.microdata import Microdata
    from microveil.numerics.neighbours.assignment import Mixture
    from microveil.numerics.neighbours.mixed_distance import Table
    from microveil.numerics.neighbours.nearest import Links

Standardisation = Literal["separate", "joint", "minmax", "none"]
Scales = Literal["separate", "joint", "minmax", "none", "common range"]
# for each record attacked and each counter, the chance that its link is right
Hits = dict[str, FloatArray]

# distance terms computed by default: about twenty seconds on two processors
AFFORDABLE_TERMS = 1.5e11
EFFORT_OF_LABELS = 10.0  # labels are compared in so many times the time of values
_MOST_CHOICES = 10_000  # choices of known attributes
MOST_PAIRED = 5_000  # different records in a one-to-one assignment: half a minute


CONFIRMED = (
    "the record that is linked by what is known of the person is also the nearest by their other released attributes"
)


class Linker(NamedTuple):
    """What links by some of the attributes, and how many terms of a distance an attribute costs: none where all
    records are always attacked. `by_code_book` are the attributes with labels that tell nothing as they are written."""

    link: Callable[[list[int], IntArray, Progress], Hits]
    effort: float
    by_code_book: tuple[str, ...] = ()


@parameterised
class Linkage(Attack):
    """An attack that links records known to the intruder with released ones, at several levels of knowledge."""

    family: ClassVar[str] = "linkage"
    reads_labels: ClassVar[bool] = True

    known_sizes: tuple[int, ...] | None = parameter(
        default=None,
        help="numbers of attributes that the intruder knows, each number in turn; unset: all attributes",
        min_length=1,
    )
    choose: Literal["all", "first"] = parameter(
        default="all",
        help="which attributes are known: every subset of that size in turn (all), or the first ones in their order "
        "(first)",
    )
    aggregate: Literal["mean", "any", "worst"] = parameter(
        default="mean",
        help="over the subsets of known attributes: the mean risk, the largest risk of each record (any), or the "
        "largest risk of the whole file (worst)",
    )
    block: tuple[str, ...] | None = parameter(
        default=None,
        help="blocking attributes: only records that agree on these known attributes are compared, a wildcard "
        "agreeing with every value; unset: no blocking",
        min_length=1,
    )
    records: int | None = parameter(
        default=None,
        help="number of records that are attacked, drawn at random; unset: all, or as many as take about 20 seconds",
        ge=1,
        le=MOST_RECORDS,
    )
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    def __post_init__(self) -> None:
        if self.known_sizes is not None and min(self.known_sizes) < 1:
            raise ParameterError(
                f"{self.name}: known_sizes = {self.known_sizes} is not allowed; each must be at least 1"
            )

    def _is_blocking(self, name: str) -> bool:
        return self.block is not None and name in self.block

    def _known(self, attributes: tuple[str, ...]) -> str:
        """What the intruder knows, for the scenario."""
        return f"the true values of {'' if self.known_sizes is None else 'some of '}{', '.join(attributes)}"

    @abstractmethod
    def _linker(self, pair: Pair, attributes: tuple[str, ...]) -> Linker:
        """What links by some of the attributes; made once for all choices of them."""

    @abstractmethod
    def _scenario(self, attributes: tuple[str, ...]) -> str:
        """The intruder in one sentence."""

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        return self.assess_drawn(
            pair, attributes, lambda wanted: drawn(pair, attributes, wanted, self.seed, self.name), progress
        )

    def _beside_control(
        self, pair: Pair, attributes: tuple[str, ...], progress: Progress
    ) -> tuple[FloatArray, FloatArray] | None:
        from microveil.attacks.linkage.confirmed import confirmed_links

        return None if self.known_sizes is not None else confirmed_links(self, pair, attributes, progress)

    def compared(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Comparison | None:
        """How persons, of whom some have no record in the release, are compared with released records; nothing where
        the links of some depend on those of others."""
        return None

    def assess_drawn(
        self, pair: Pair, attributes: tuple[str, ...], draw: Callable[[int], IntArray], progress: Progress
    ) -> Risk:
        """The risk of the records that `draw` gives, when it is asked for as many as can be attacked."""
        self._refuse_unknown_blocks(attributes)
        linker = self._linker(pair, attributes)
        scenarios = self._scenarios(len(attributes))
        terms = linker.effort * sum(len(subset) for subsets in scenarios for subset in subsets)
        attacked = draw(self.records or affordable_records(len(pair) * terms))
        stretches = iter(parts(progress, sum(len(subsets) for subsets in scenarios)))
        by_size = [
            self._together([linker.link(subset, attacked, next(stretches)) for subset in subsets])
            for subsets in scenarios
        ]
        counters = {name: np.mean([hits[name] for hits in by_size], axis=0) for name in by_size[0]}
        per_record = np.full(len(pair), np.nan)
        per_record[attacked] = counters["expected"]
        shares = {name: 100 * float(hits.mean()) for name, hits in counters.items()}
        scenario = self._scenario(attributes) + _code_book_text(linker.by_code_book)
        return Risk.of(self.name, per_record, attributes, scenario, counters=shares)

    def _refuse_unknown_blocks(self, attributes: tuple[str, ...]) -> None:
        for name in self.block or ():
            if name not in attributes:
                raise UnknownNameError("known attribute to block on", name, attributes)

    def _together(self, found: Sequence[Hits]) -> Hits:
        """One risk from those of several choices of attributes."""
        if self.aggregate == "worst":
            return max(found, key=lambda hits: fsum(hits["expected"]))
        aggregate: Callable[..., Any] = np.mean if self.aggregate == "mean" else np.max
        return {name: aggregate([hits[name] for hits in found], axis=0) for name in found[0]}

    def _scenarios(self, attributes: int) -> list[list[list[int]]]:
        """For each number of attributes that the intruder may know, all choices of so many."""
        if self.known_sizes is None:
            return [[list(range(attributes))]]
        if max(self.known_sizes) > attributes:
            raise ParameterError(
                f"{self.name}: known_sizes = {self.known_sizes} is not allowed; there are only {attributes} attributes"
            )
        if self.choose == "first":
            return [[list(range(size))] for size in self.known_sizes]
        choices = sum(comb(attributes, size) for size in self.known_sizes)
        if choices > _MOST_CHOICES:
            raise ParameterError(
                f"{self.name}: known_sizes = {self.known_sizes} is not allowed with {attributes} attributes; it means "
                f"{choices:,} choices, and at most {_MOST_CHOICES:,} are tried"
            )
        return [[list(subset) for subset in combinations(range(attributes), size)] for size in self.known_sizes]


def affordable_records(terms: float) -> int:
    """How many records are attacked by default, where each takes so many terms of distances."""
    return max(1000, int(AFFORDABLE_TERMS / max(terms, 1e-9)))


def _code_book_text(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    return (
        f" Some labels of {', '.join(names)} could not be read as they are written; each stands for the values that "
        "its records had, as in a code book; a label of a single record stands for any value."
    )


def columns_of(
    pair: Pair, attributes: Sequence[str], columns: Sequence[tuple[FloatArray, FloatArray]]
) -> tuple[Table, Table]:
    """The known and the released cells of attributes with values; missing ones are 0 and have their state."""
    before, after = ([column[side] for column in columns] for side in (0, 1))
    return table_of(pair.original, attributes, before), table_of(pair.masked, attributes, after)


def table_of(data: Microdata, attributes: Sequence[str], columns: Sequence[FloatArray]) -> Table:
    """The same of one of the files."""
    from microveil.numerics.neighbours.mixed_distance import Table

    cells = np.array(columns).reshape(len(attributes), len(data))
    states = np.array([data.missing_states(name) for name in attributes], dtype=np.uint8).reshape(cells.shape)
    return Table(np.where(states > 0, 0.0, cells), states)


def labelled_of(pair: Pair, attributes: Sequence[str]) -> dict[int, Labels]:
    """Those of the attributes, by number, that are released as labels for several values."""
    from microveil.comparison.labels import labels_of

    found = {number: labels_of(pair, name) for number, name in enumerate(attributes)}
    return {number: labels for number, labels in found.items() if labels is not None}


def hits_of_links(links: Links, attacked: IntArray) -> Hits:
    """By every convention for ties, the chance that each record is linked to its own."""
    return {
        "expected": np.where(links.own, 1.0 / np.maximum(links.ties, 1), 0.0),
        "first": (links.first == attacked).astype(np.float64),
        "optimistic": links.own.astype(np.float64),
        "strict": (links.own & (links.ties == 1)).astype(np.float64),
    }


def hits_of_chances(own: FloatArray) -> Hits:
    """The same of records that are assigned to their own with some chance."""
    return {
        "expected": own,
        "optimistic": (own > 0).astype(np.float64),
        "strict": (own > 1 - 1e-6).astype(np.float64),
    }


class Assigned(NamedTuple):
    """The even mixture of the one-to-one assignments with the least sum of distances, the distances of the distinct
    records, and which of these each known and each released record is."""

    mixture: Mixture
    cost: FloatArray
    row_of: IntArray
    column_of: IntArray

    @classmethod
    def of(cls, comparison: Comparison, name: str, comparing: Progress, assigning: Progress) -> Assigned:
        from microveil.numerics.neighbours.assignment import even_assignment

        (rows, _), (columns, _) = comparison.distinct_records
        refuse_long_assignment(name, len(rows), len(columns))
        label = f"{name}: assigning records"
        cost, row_of, column_of = comparison.distances(comparing, label)
        mixture = even_assignment(cost, np.bincount(row_of), np.bincount(column_of), assigning, label)
        return cls(mixture, cost, row_of, column_of)


def refuse_long_assignment(name: str, *different: int) -> None:
    """A one-to-one assignment compares all pairs of distinct records at once."""
    if max(different) > MOST_PAIRED:
        raise ParameterError(
            f"{name}: a one-to-one assignment is not possible with {max(different):,} distinct records; it takes at "
            f"most {MOST_PAIRED:,}, so assess a part of the file or let every record be linked for itself"
        )


def scaled(before: FloatArray, after: FloatArray, how: Scales) -> tuple[FloatArray, FloatArray]:
    """A numeric column of both files on a common scale. That of the known file is of the persons in the release; who is
    beyond them, in a control group, is put on it too."""
    axes = axes_of(Spread.of(before[: len(after)]), Spread.of(after), how)
    return axes[0].of(before), axes[1].of(after)


def axes_of(before: Spread, after: Spread, how: Scales) -> tuple[Axis, Axis]:
    """The scales of both files, by how their numbers spread."""
    if how == "none":
        return Axis(0.0, 1.0), Axis(0.0, 1.0)
    if how == "common range":
        low = min(before.low, after.low)
        width = max(before.high, after.high) - low
        common = Axis(low, width) if 0 < width < np.inf else Axis(low if np.isfinite(low) else 0.0, 1.0)
        return common, common
    if how == "minmax":
        return Axis(before.low, before.width or 1.0), Axis(after.low, after.width or 1.0)
    own, theirs = (Axis(one.mean, one.deviation or 1.0) for one in (before, after))
    return own, own if how == "joint" else theirs


def unit_of(known: FloatArray, how: Standardisation) -> float:
    """What numbers that are compared with labels are divided by: released labels have no scale of their own."""
    if how == "none":
        return 1.0
    deviation = float(Scaling.of(known[:, None]).deviation[0])
    width = float(np.nanmax(known, initial=-np.inf) - np.nanmin(known, initial=np.inf))
    return (width if how == "minmax" and np.isfinite(width) else deviation) or 1.0
