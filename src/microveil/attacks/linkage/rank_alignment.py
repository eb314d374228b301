"""Rank alignment linkage: where values were transformed in order, records are compared by ranks instead of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from microveil.attacks.base import Attack, Risk
from microveil.attacks.linkage.candidates import RECORDS
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.comparison.columns import Metric
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.microdata.microdata import FIRST_CODE, PRESENT, as_categories
from microveil.microdata.schema import KINDS, Attribute, category_key
from microveil.numerics.statistics.scaling import relative_ranks
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray

StateArray = npt.NDArray[np.uint8]
ORDERED = ("numeric", "ordinal")
_ROUNDING = 1e-9  # correlations that differ by less are equal
_FOLLOWS = 0.5  # released values whose ranks correlate less do not look like transformed ones
_ALTERED = 0.99  # values that correlate more are on their own scale


@dataclass(frozen=True)
class Cells:
    """An attribute of both files as the intruder compares it: relative ranks, or codes of its categories."""

    before: FloatArray
    after: FloatArray
    kind: Literal["numeric", "nominal"]


@parameterised
class RankAlignmentLinkage(Attack):
    """Any increasing or decreasing transformation of an attribute (other units, logarithms, `1e9 - x`) keeps or
    reverses the order of its values. So the intruder puts both files in order, attribute by attribute, takes the
    rank of a value instead of the value, and links every known record to the released record whose ranks are nearest.

    A rank is taken as the share of the records with smaller values, equal values sharing the middle of theirs. With
    `direction` each the ranks count from the end that suits an attribute better, which an intruder finds by trying two
    ways; otherwise all attributes count the same way. Attributes without an order are compared as they are. Where
    several released records are equally near, the value counts the chance that a random one of them is right.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 35, 41, 60], "income": [900, 5000, 1200, 300]})
    >>> hidden = Microdata.of({"age": [80, 65, 59, 40], "income": [6.8, 8.5, 7.1, 5.7]})
    >>> RankAlignmentLinkage().assess(people, hidden).value
    100.0
    """

    name: ClassVar[str] = "rank-alignment-linkage"
    family: ClassVar[str] = "linkage"
    general: ClassVar[bool] = True
    reads_labels: ClassVar[bool] = True
    summary: ClassVar[str] = "links by the order of values, which no increasing or decreasing transformation hides"
    meaning: ClassVar[str] = "records linked to the right person by the order of their values; lower is safer"
    assumes: ClassVar[str] = (
        "the true values of some attributes of everyone in the file, and whether larger values were released as larger "
        "or as smaller ones"
    )
    formula: ClassVar[str] = "link = nearest of (r'_l1, ..., r'_lp) to (r_i1, ..., r_ip), r the ranks, r' up or down"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "missing cells have no rank; they are compared as in distance-linkage"
    source: ClassVar[str] = (
        "Muralidhar and Domingo-Ferrer (2016) on rank-based record linkage; Naveed, Kamara and Wright (2015) on the "
        "sorting attack"
    )

    direction: Literal["each", "increasing", "decreasing"] = parameter(
        default="each",
        help="whether larger values are released as larger ones: as it suits each attribute, or for all alike",
    )
    metric: Metric = parameter(default="euclidean", help="distance of ranks")
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        return super().suited(pair) if cls._alignable(pair) else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        return "no attribute with an order" + (" that is not released as labels" if pair.labelled else "")

    @classmethod
    def _alignable(cls, pair: Pair) -> list[str]:
        """The attributes that the attack aligns; others are compared as they are."""
        return [name for name in pair.of_kinds(ORDERED) if name not in pair.recoded]

    @classmethod
    def noticed(cls, pair: Pair) -> bool:
        """Whether in some attribute the order of the released values tells clearly more than the values themselves."""
        numbers = [name for name in pair.of_kinds(("numeric",)) if name not in pair.recoded]
        return any(_is_transformed(*(column.values for column in pair.numbers(name))) for name in numbers)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        cells, told = self._cells(pair, attributes)
        aligned = _with_cells(pair, cells)
        linkage = DistanceLinkage(metric=self.metric, records=self.records, seed=self.seed)
        risk = linkage.assess_drawn(
            aligned,
            attributes,
            lambda wanted: drawn(pair, attributes, wanted, self.seed, self.name),
            lambda done, _: progress(done, f"{self.name}: linking records"),
        )
        return replace(risk, name=self.name, scenario=f"{self._scenario(attributes)}{told}")

    def _cells(self, pair: Pair, attributes: Sequence[str]) -> tuple[dict[str, Cells], str]:
        """The attributes that are not compared as they are, and a sentence on what was found of them."""
        cells = {name: found for name in attributes if (found := self._ranks(pair, name)) is not None}
        return {name: found for name, (found, _) in cells.items()}, reversed_text(
            [name for name, (_, downwards) in cells.items() if downwards]
        )

    def _ranks(self, pair: Pair, name: str) -> tuple[Cells, bool] | None:
        """The ranks of an attribute's values, and whether they count downwards; None where it has no order."""
        columns = ordered_values(pair, name)
        if columns is None:
            return None
        before, after = columns
        upwards, downwards = relative_ranks(after), relative_ranks(-after)
        known = relative_ranks(before)
        gain = correlation(known, downwards) - correlation(known, upwards)
        reverse = self.direction == "decreasing" or (self.direction == "each" and gain > _ROUNDING)
        return Cells(known, downwards if reverse else upwards, "numeric"), reverse

    def _scenario(self, attributes: tuple[str, ...]) -> str:
        return (
            f"An intruder knows the true values of {', '.join(attributes)} of everyone in the file, sorts both files "
            "by each of these attributes, and takes for a person the released record with the nearest ranks."
        )


def ordered_values(pair: Pair, name: str) -> tuple[FloatArray, FloatArray] | None:
    """The values of an attribute with an order in both files, NaN where missing; None where there is no order."""
    attribute = pair.original[name]
    if name in pair.recoded or attribute.kind not in ORDERED:
        return None
    if attribute.kind == "numeric":
        numbers = pair.numbers(name)
        return numbers[0].values, numbers[1].values
    if attribute.domain is not None:
        known = {category_key(value) for value in (*attribute.domain, *attribute.missing_codes)}
        released = as_categories(pair.masked.arrow(name)).unique().drop_null().to_pylist()
        if not all(category_key(value) in known for value in released):
            return None  # renamed, so that nothing is known of their order
    codes = [column.codes.astype(np.float64) for column in pair.categories(name)]
    states = [data.missing_states(name) for data in (pair.original, pair.masked)]
    before, after = (np.where(state != PRESENT, np.nan, code) for code, state in zip(codes, states, strict=True))
    return before, after


def correlation(one: FloatArray, other: FloatArray) -> float:
    """Pearson's correlation over the records that have both; 0 where one does not vary."""
    both = ~(np.isnan(one) | np.isnan(other))
    if both.sum() < 2 or np.ptp(one[both]) == 0 or np.ptp(other[both]) == 0:
        return 0.0
    return float(np.corrcoef(one[both], other[both])[0, 1])


def reversed_text(names: Sequence[str]) -> str:
    return f" Larger values were found to be released as smaller ones in {', '.join(names)}." if names else ""


def _is_transformed(before: FloatArray, after: FloatArray) -> bool:
    """Whether ranks differ by less than a tenth of what standardised values do, or the order is reversed."""
    ranks, values = correlation(relative_ranks(before), relative_ranks(after)), correlation(before, after)
    if ranks < 0:
        return -ranks >= _FOLLOWS
    return ranks >= _FOLLOWS and values < _ALTERED and 1 - ranks < (1 - values) / 10


def _with_cells(pair: Pair, cells: dict[str, Cells]) -> Pair:
    """The pair with other cells in some attributes; a missing cell stays missing for the same reason."""
    tables = []
    for side, data in (("before", pair.original), ("after", pair.masked)):
        columns, described = {}, []
        for name, found in cells.items():
            attribute, states = data[name], data.missing_states(name)
            reasons = range(FIRST_CODE, FIRST_CODE + _reasons(attribute))
            described.append(
                Attribute(
                    name=name,
                    kind=found.kind,
                    missing=attribute.missing,
                    missing_codes=tuple(-reason for reason in reasons),
                )
            )
            columns[name] = _column(getattr(found, side), states, found.kind)
        tables.append(data.with_columns(columns, described))
    return replace(pair, original=tables[0], masked=tables[1])


def _reasons(attribute: Attribute) -> int:
    return len(attribute.missing_codes) + len(attribute.missing_ranges)


def _column(cells: FloatArray, states: StateArray, kind: str) -> pa.Array:
    held = np.where(states == PRESENT, cells, -states.astype(np.float64))
    empty = ((states != PRESENT) & (states < FIRST_CODE)) | np.isnan(held)
    column: Any = held if kind == "numeric" else np.where(empty, 0, held).astype(np.int64)
    return pa.array(column, mask=empty)
