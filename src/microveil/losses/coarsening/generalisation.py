"""How much of an attribute's range a released label leaves open."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.comparison.labels import Labels, labels_of
from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.microdata.schema import KINDS
from microveil.parameters import parameterised
from microveil.progress import Progress, parts
from microveil.typing import FloatArray


@parameterised
class Generalisation(LossMeasure):
    """The mean share of its attribute's range that a released cell leaves open: the normalised certainty penalty.

    An interval leaves open its width over the range of the original values, a set of m of L categories
    (m - 1) / (L - 1), a suppressed cell everything, and a value nothing, be it the right one or not: what wrong values
    cost, other losses say. Assessments have this one where attributes were released as labels.

    >>> ages = {"age": [20, 30, 40, 60]}
    >>> Generalisation().measure(ages, {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]}).value
    37.5
    """

    name: ClassVar[str] = "generalisation"
    family: ClassVar[str] = "coarsening"
    usual: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "normalised certainty penalty: share of an attribute's range that a released interval or set covers"
    )
    meaning: ClassVar[str] = (
        "share of an attribute's range that released intervals and sets cover, empty cells covering all; lower "
        "is better"
    )
    route: ClassVar[Route] = "data"
    reads_labels: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "cells missing in the original are left out; a suppressed cell counts as the whole range"
    source: ClassVar[str] = "Xu et al. (2006), the normalised certainty penalty"

    @classmethod
    def suited(cls, pair: Pair) -> bool:
        return bool(pair.labelled)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        left_open: list[FloatArray] = []
        per_attribute = {}
        for name, part in zip(attributes, parts(progress, len(attributes)), strict=True):
            cells = left_open_by(pair, name)
            left_open.append(cells)
            per_attribute[name] = 100 * float(cells.mean()) if len(cells) else 0.0
            part(1.0, self.name)
        every = np.concatenate(left_open)
        return Loss.of(self.name, every.mean() if len(every) else 0.0, attributes, per_attribute=per_attribute)


def left_open_by(pair: Pair, name: str) -> FloatArray:
    """For each cell that is present in the original the share of the range that its release leaves open."""
    present = pair.original.missing_states(name) == 0
    labels = labels_of(pair, name) if name in pair.recoded else None
    if labels is None:
        # reading the cells refuses missing ones where the schema says so
        _ = pair.numbers(name) if pair.original[name].kind == "numeric" else pair.categories(name)
        return np.asarray((pair.masked.missing_states(name) > 0)[present], dtype=np.float64)
    shares = np.append(_shares(labels), 1.0)  # a code below 0 is a missing cell
    return np.asarray(shares[np.where(labels.codes < 0, -1, labels.codes)][present])


def _shares(labels: Labels) -> FloatArray:
    """The share of the range that each label leaves open."""
    segments = labels.regions.segments
    if labels.size:
        members = np.array([(region[:, 1] - region[:, 0] + 1).sum() for region in segments])
        return np.asarray(np.clip((members - 1) / max(1, labels.size - 1), 0.0, 1.0))
    low, high = np.nanmin(labels.values, initial=np.inf), np.nanmax(labels.values, initial=-np.inf)
    if not high > low:
        return np.zeros(len(segments))
    ends = np.clip([(region[0, 0], region[-1, 1]) for region in segments], low, high)
    return np.asarray((ends[:, 1] - ends[:, 0]) / (high - low))
