"""The attributes of a pair of tables as one matrix each, whatever their kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from microveil.comparison.common_codes import common_codes
from microveil.comparison.label_detection import readable_labels
from microveil.comparison.pairs import Pair
from microveil.microdata.distances import category_distance
from microveil.microdata.hierarchy import node_text
from microveil.microdata.microdata import encoded
from microveil.numerics.statistics.scaling import Scaling
from microveil.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.neighbours.range_search import Cells

_AT_ONCE = 1_000  # values that are looked for among all labels
Metric = Literal["euclidean", "manhattan"]
ScaledBy = Literal["separate", "joint"]  # each file by its own mean and deviation, or both by those of the original
Linked = Literal["original", "masked"]  # the records that are linked to those of the other file


@dataclass(frozen=True)
class Columns:
    """The attributes before and after masking, in rows: numbers or positions in a domain; NaN is missing.

    Where labels for several values are released, a person is taken to be found by the label that the own record has.
    """

    before: FloatArray
    after: FloatArray
    kinds: tuple[str, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, pair: Pair, attributes: Sequence[str]) -> Columns:
        sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
        sizes, kinds = [], []
        for name in attributes:
            kinds.append("nominal" if name in pair.recoded else pair.original[name].kind)
            if name in pair.recoded:
                labels = label_codes(pair, name)
                absent = (pair.original.missing_states(name) > 0, labels.empty)
                for side, codes, missing in zip(sides, (labels.known, labels.released), absent, strict=True):
                    side.append(np.where(missing, np.nan, codes))
                sizes.append(int(max(labels.known.max(), labels.released.max())) + 1)
                continue
            columns = _numbers(pair, name) if pair.original[name].kind == "numeric" else _codes(pair, name)
            for side, column, data in zip(sides, columns[:2], (pair.original, pair.masked), strict=True):
                side.append(np.where(data.missing_states(name) > 0, np.nan, column))
            sizes.append(columns[2])
        return cls(np.stack(sides[0]), np.stack(sides[1]), tuple(kinds), tuple(sizes))

    def cells(self, metric: Metric, scale: ScaledBy, sources: IntArray, direction: Linked = "original") -> Cells:
        """What distances are taken on, from these records of one file to all of the other."""
        from microveil.numerics.neighbours.mixed_distance import ABSOLUTE, CATEGORY, SQUARED
        from microveil.numerics.neighbours.range_search import Cells

        numeric = np.array([kind == "numeric" for kind in self.kinds])
        inside = self.before[:, : self.after.shape[1]]  # a control group comes after the persons in the release
        scalings = [Scaling.of(side.T) for side in (inside, inside if scale == "joint" else self.after)]
        before, after = (
            np.where(numeric[:, None], scaling.apply(side.T).T, side)
            for scaling, side in zip(scalings, (self.before, self.after), strict=True)
        )
        distances = [category_distance(kind, size) for kind, size in zip(self.kinds, self.sizes, strict=True)]
        form = np.where(numeric, SQUARED if metric == "euclidean" else ABSOLUTE, CATEGORY)
        start, slope = np.array([d.start for d in distances]), np.array([d.slope for d in distances])
        one, other = (before, after) if direction == "original" else (after, before)
        return Cells(one[:, sources], other, form, start, slope)


@dataclass(frozen=True)
class LabelCodes:
    """Released labels as codes: the label by which each person is found, that of each record, and where it has none.

    Who cannot be found by a label is found by a code that no record has.
    """

    known: IntArray
    released: IntArray
    empty: BoolArray


def label_codes(pair: Pair, name: str) -> LabelCodes:
    """By which of the released labels each person would be found.

    What is released of a person tells which label the true value belongs to. Not so a category released in the place of
    another, a cell that was suppressed, or a name that nothing explains and only one record has: else every random text
    would give its record away.
    """
    if len(pair.original) > len(pair.masked):
        return _labels_read(pair, name)
    released, codes = encoded(pair.masked.arrow(name))
    texts = [node_text(value) for value in released]
    attribute, nobody = pair.original[name], len(texts) + 1
    missing = {node_text(code) for code in attribute.missing_codes}
    empty = np.array([*(text in missing for text in texts), True])[codes]
    known = codes
    if attribute.is_categorical:
        code_of = {text: code for code, text in enumerate(texts)}
        true, own = encoded(pair.original.arrow(name))
        occurring = [node_text(value) for value in true]
        same = np.array([*(code_of.get(text, nobody) for text in occurring), nobody])[own]
        declared = {node_text(value) for value in attribute.domain or ()} if pair.release is not None else set()
        is_category = np.array([*(text in declared.union(occurring) for text in texts), False])
        known = np.where(is_category[codes], same, codes)
        if pair.release is None:
            readable = readable_labels(attribute, texts, {*occurring, *map(node_text, attribute.domain or ())})
            unexplained = np.array([*(text not in readable for text in texts), False]) & ~is_category
            known = np.where(unexplained[codes] & (np.bincount(codes, minlength=nobody)[codes] == 1), nobody, known)
    suppressed = empty & (pair.original.missing_states(name) == 0)
    return LabelCodes(np.where(suppressed, nobody, known), codes, empty)


def _labels_read(pair: Pair, name: str) -> LabelCodes:
    """The same where not everybody has a record: each person, with a record or without, is found by the label whose
    values are nearest to the true one, and of several that hold it by the narrowest."""
    from microveil.comparison.labels import labels_of

    labels = labels_of(pair, name)
    if labels is None:
        known, released = common_codes(pair.original.arrow(name), pair.masked.arrow(name))
        return LabelCodes(known, released, released < 0)
    nobody = len(labels.regions.segments)
    widths = np.array([float((region[:, 1] - region[:, 0]).sum()) for region in labels.regions.segments])
    narrowest_first = np.argsort(widths, kind="stable")
    values, value_of = np.unique(labels.values, return_inverse=True)
    found = np.full(len(values), nobody)
    for start in range(0, len(values), _AT_ONCE):
        some = values[start : start + _AT_ONCE]
        found[start : start + _AT_ONCE] = narrowest_first[labels.regions.gaps(some, narrowest_first).argmin(axis=1)]
    found = np.where(np.isnan(values), nobody, found)
    return LabelCodes(found[value_of.reshape(-1)], np.maximum(labels.codes, 0), labels.codes < 0)


def _numbers(pair: Pair, name: str) -> tuple[FloatArray, FloatArray, int]:
    before, after = pair.numbers(name)
    return before.values, after.values, 0


def _codes(pair: Pair, name: str) -> tuple[FloatArray, FloatArray, int]:
    before, after = pair.categories(name)
    return before.codes.astype(np.float64), after.codes.astype(np.float64), len(before.domain)
