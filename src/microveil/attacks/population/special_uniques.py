"""Special uniques: records of a file that few of their attributes suffice to tell from all others, with SUDA scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum

import numpy as np

from microveil.microdata.equivalence_classes import EquivalenceClasses
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

MOST_KEYS = 62  # a set of attributes is the bits of a whole number


@dataclass(frozen=True)
class SpecialUniques:
    """The minimal sample uniques of a file: sets of attributes on which a record agrees with no other, while it does
    on every part of them.

    `records` and `sets` have an entry for each minimal sample unique: the record, and the attributes as bits. `scores`
    are the SUDA scores of the records; `match` is the probability that a unique match with the file is correct, by data
    intrusion simulation.

    >>> from microveil.microdata import Microdata
    >>> from microveil.microdata.equivalence_classes import equivalence_classes_of
    >>> people = Microdata.of({"sex": ["f", "f", "m", "m", "m"], "job": ["cook", "cook", "cook", "cook", "judge"]})
    >>> found = special_uniques_of(equivalence_classes_of(people, ["sex", "job"]))
    >>> found.scores.tolist(), dict(found.by_attribute), dict(found.by_size)
    ([0.0, 0.0, 0.0, 0.0, 1.0], {'sex': 0.0, 'job': 100.0}, {1: 100.0, 2: 0.0})
    """

    attributes: tuple[str, ...]
    size: int
    records: IntArray = field(repr=False)
    sets: IntArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    scores: FloatArray = field(repr=False)
    match: float

    def among(self, same: BoolArray) -> SpecialUniques:
        """Those that hold no attribute in which the record is not what it was; a column for each attribute."""
        known = same @ (1 << np.arange(len(self.attributes), dtype=np.int64))
        kept = self.sets & ~known[self.records] == 0
        scores = np.bincount(self.records[kept], weights=self.weights[kept], minlength=len(self.scores)).astype(float)
        return SpecialUniques(
            self.attributes, self.size, self.records[kept], self.sets[kept], self.weights[kept], scores, self.match
        )

    def dis(self, among: SpecialUniques | None = None) -> FloatArray:
        """DIS-SUDA: for each record the probability that a match with it is correct, by its score `among` all."""
        from microveil.numerics.counting.suda import dis_suda

        return dis_suda(self.scores, len(self.attributes), self.match, (among or self).scores)

    @property
    def by_attribute(self) -> Mapping[str, float]:
        """The percentage of all scores that is due to sets with each attribute; one set counts for all it holds."""
        holds = {name: (self.sets >> place) & 1 == 1 for place, name in enumerate(self.attributes)}
        return {name: self._share(held) for name, held in holds.items()}

    @property
    def by_size(self) -> Mapping[int, float]:
        """The percentage of all scores that is due to sets of each size."""
        from microveil.numerics.counting.suda import sizes_of

        sizes = sizes_of(self.sets)
        return {size: self._share(sizes == size) for size in range(1, self.size + 1)}

    def _share(self, chosen: BoolArray) -> float:
        total = fsum(self.weights.tolist())  # exact, so that the order of the records plays no part
        return 100 * fsum(self.weights[chosen].tolist()) / total if total else 0.0


def special_uniques_of(
    classes: EquivalenceClasses,
    size: int | None = None,
    fraction: float = 1.0,
    progress: Progress = silent,
) -> SpecialUniques:
    """The minimal sample uniques of up to a size, by default as many as there is time for, in a file that is this
    fraction of the population."""
    from microveil.numerics.counting.minimal_sample_uniques import minimal_sample_uniques, usual_size
    from microveil.numerics.counting.suda import match_probability, score_of_size, sizes_of

    attributes = len(classes.attributes)
    size = min(size or usual_size(attributes), attributes)
    unique = classes.frequencies == 1
    combinations, sets = minimal_sample_uniques(classes.codes, unique, size, progress, "looking for special uniques")
    record_of = np.zeros(len(classes), dtype=np.int64)
    record_of[classes.of_record] = np.arange(len(classes.of_record))
    records = record_of[combinations]
    weights = score_of_size(attributes, size)[sizes_of(sets)]
    scores = np.bincount(records, weights=weights, minlength=len(classes.of_record)).astype(float)
    frequencies = classes.per_record
    match = match_probability(int((frequencies == 1).sum()), int((frequencies == 2).sum()), fraction)
    return SpecialUniques(classes.attributes, size, records, sets, weights, scores, match)
