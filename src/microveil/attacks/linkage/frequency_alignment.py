"""Frequency alignment linkage: categories that were only renamed are recognised by their frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow.compute as pc

from microveil.attacks.linkage.rank_alignment import Cells, RankAlignmentLinkage, correlation, reversed_text
from microveil.comparison.common_codes import common_codes
from microveil.comparison.pairs import Pair
from microveil.microdata.microdata import PRESENT
from microveil.numerics.linkage.category_alignment import CodedAttribute, agreement, align_categories
from microveil.parameters import parameterised

_MOST_CODES = 100  # different numbers that may be codes of categories
_ROUNDING = 1e-6  # agreements that differ by less are equal
_PLAIN = 0.9  # an attribute that agrees so much as it is was not renamed
_CLEARLY = 0.1  # by so much more agreement it is plain that categories were renamed


@dataclass(frozen=True)
class _Coded:
    """The categories of an attribute in both files by their names as they are written, and by their frequencies; and
    how well either agrees with the truth, where an order is another way to compare them."""

    by_frequency: CodedAttribute
    agreement: float
    plain_agreement: float

    @property
    def is_renamed(self) -> bool:
        return self.agreement > self.plain_agreement + _ROUNDING


@parameterised
class FrequencyAlignmentLinkage(RankAlignmentLinkage):
    """Categories that were renamed one by one, such as hashed or pseudonymised codes, still divide the records into the
    same classes. So the intruder takes for the same category what is as frequent, alone and together with the other
    attributes, and links every known record to the released record that agrees best.

    The first comparison needs no other attribute to be readable; it is repeated with the categories it found, until
    nothing changes. Categories that no frequency distinguishes are taken for one. Attributes with an order are compared
    by the ranks of their values, as in rank-alignment-linkage, so a release that is transformed and renamed throughout
    is linked all the same. Whether an attribute was renamed at all is decided by which of the two ways agrees better
    with the truth, which an intruder finds by trying both.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"job": ["cook", "cook", "cook", "nurse", "nurse", "judge"]})
    >>> hashed = Microdata.of({"job": ["x9", "x9", "x9", "b2", "b2", "k7"]})
    >>> risk = FrequencyAlignmentLinkage().assess(people, hashed, ["job"])
    >>> risk.per_record.round(2).tolist()
    [0.33, 0.33, 0.33, 0.5, 0.5, 1.0]
    """

    name: ClassVar[str] = "frequency-alignment-linkage"
    summary: ClassVar[str] = "matches renamed categories by their frequencies and joint frequencies, then links"
    meaning: ClassVar[str] = "records linked to the right person although categories were renamed; lower is safer"
    assumes: ClassVar[str] = (
        "the true values of some attributes of everyone in the file, and which of them were renamed or reversed"
    )
    formula: ClassVar[str] = (
        "same(a, b) = least sum over counts of (sqrt n_a - sqrt n'_b)^2; link = nearest in ranks and same categories"
    )
    missing: ClassVar[str] = "missing cells are not matched as a category; they are compared as in distance-linkage"
    source: ClassVar[str] = (
        "Naveed, Kamara and Wright (2015) on frequency analysis; Kang and Naughton (2003) on matching by joint "
        "frequencies; Muralidhar and Domingo-Ferrer (2016)"
    )

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        return "no attribute with categories" + (" that are not released as labels" if pair.labelled else "")

    @classmethod
    def _alignable(cls, pair: Pair) -> list[str]:
        plain = [name for name in pair.of_kinds(cls.kinds) if not _coarsened(pair, name)]
        return [name for name in plain if pair.original[name].is_categorical or _written(pair, name) is not None]

    @classmethod
    def noticed(cls, pair: Pair) -> bool:
        """Whether the categories of some attribute agree clearly better by their frequencies than by their names."""
        attributes = [name for name in pair.of_kinds(cls.kinds) if not _coarsened(pair, name)]
        found = cls()._coded(pair, attributes)
        return any(one.agreement > one.plain_agreement + _CLEARLY for one in found.values())

    def _cells(self, pair: Pair, attributes: Sequence[str]) -> tuple[dict[str, Cells], str]:
        ranks = {name: found for name in attributes if (found := self._ranks(pair, name)) is not None}
        coded = self._coded(pair, attributes)
        cells, renamed, downwards = {}, [], []
        for name in attributes:
            if name in coded and coded[name].is_renamed:
                one = coded[name].by_frequency
                cells[name] = Cells(one.before.astype(np.float64), one.after.astype(np.float64), "nominal")
                renamed.append(name)
            elif name in ranks:
                cells[name] = ranks[name][0]
                downwards += [name] * ranks[name][1]
        told = f" Categories were found again by their frequencies in {', '.join(renamed)}." if renamed else ""
        return cells, told + reversed_text(downwards)

    def _coded(self, pair: Pair, attributes: Sequence[str]) -> dict[str, _Coded]:
        """The attributes that may have been renamed, by their frequencies; those that plainly agree as they are tell
        others apart."""
        plain: dict[str, float] = {}
        beside: list[CodedAttribute] = []
        unsure: dict[str, CodedAttribute] = {}
        for name in attributes:
            ranked = self._ranks(pair, name)
            written = None if _coarsened(pair, name) else _written(pair, name)
            in_order = 0.0 if ranked is None else correlation(ranked[0].before, ranked[0].after)
            as_written = 0.0 if written is None else agreement(written.before, written.after)
            if ranked is not None and (written is None or in_order >= _PLAIN):
                beside.append(CodedAttribute.in_classes(ranked[0].before, ranked[0].after))
            elif written is not None and as_written >= _PLAIN:
                beside.append(written)
            elif written is not None:
                unsure[name] = written.nameless
                plain[name] = max(in_order, as_written)
        found = align_categories([*unsure.values(), *beside])[: len(unsure)]
        return {
            name: _Coded(one, agreement(one.before, one.after), plain[name])
            for name, one in zip(unsure, found, strict=True)
        }

    def _scenario(self, attributes: tuple[str, ...]) -> str:
        return (
            f"An intruder knows the true values of {', '.join(attributes)} of everyone in the file, takes for the same "
            "category what is as frequent in both files, and takes for a person the released record that agrees best."
        )


def _coarsened(pair: Pair, name: str) -> bool:
    """Whether an attribute was released as labels that stand for several values: fewer than the original has.

    Labels that are as many as the categories may be the categories under new names.
    """
    if name not in pair.recoded:
        return False
    if not pair.original[name].is_categorical:
        return True
    before, after = (len(pc.unique(table.arrow(name).drop_null())) for table in (pair.original, pair.masked))
    return after < before


def _written(pair: Pair, name: str) -> CodedAttribute | None:
    """The categories of both files numbered by how they are written; None for numbers that are no codes, such as the
    values of series."""
    panel, tables = pair.original.schema.panel, (pair.original, pair.masked)
    if panel is not None and name in panel.all_columns:
        return None
    codes = common_codes(*(table.arrow(name) for table in tables))
    before, after = (
        np.where(table.missing_states(name) != PRESENT, -1, side) for table, side in zip(tables, codes, strict=True)
    )
    if pair.original[name].kind == "numeric" and max(len(np.unique(side)) for side in (before, after)) > _MOST_CODES:
        return None
    return CodedAttribute(before, after, comparable=True)
