"""What a generalised release keeps of the original, from 0 to 1, by measures that never rise with the levels.

- `loss`: the mean granularity of Iyengar (2002): a cell keeps what is left of 1 without the share of the domain that it
  covers, so that a single value keeps 1 and all values, or a suppressed cell, 0.
- `granularity`: the same with the share of the domain that a single value covers counted too, over what single values
  keep, so that attributes with many values weigh more than those with few; a label that several levels have covers what
  it does at the widest of them. So Prasser et al. (2020) state what a release keeps.
- `precision`: a cell keeps 1 without its level over the highest one, Sweeney (2002).
- `entropy`: a cell keeps the information about its value that its generalised value has, over all information that the
  cells have: non-uniform entropy, Gionis and Tassa (2009).
- `discernibility`: a record keeps 1 without the share of the records that it cannot be told from, a suppressed one
  nothing: Bayardo and Agrawal (2005).
- `class size`: k times the number of classes over that of records, one over the normalised average class size of
  LeFevre, DeWitt and Ramakrishnan (2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from microveil.masking.coarsening.attribute_levels import AttributeLevels
from microveil.numerics.lattice.checking import Utility
from microveil.typing import FloatArray

Measure = Literal["loss", "granularity", "precision", "entropy", "discernibility", "class size"]


def utility_of(attributes: Sequence[AttributeLevels], measure: Measure, records: int, k: int) -> Utility:
    """What the cells and classes of so many records keep."""
    if measure == "loss":
        return Utility(_flat([1.0 - attribute.shares for attribute in attributes]) / (records * len(attributes)))
    if measure == "granularity":
        excluded = [_excluded(attribute) for attribute in attributes]
        whole = sum(float(part[0][a.codes].sum()) for part, a in zip(excluded, attributes, strict=True))
        return Utility(_flat(excluded) / (whole or 1.0))
    if measure == "precision":
        return Utility(_flat([_precision(attribute) for attribute in attributes]) / (records * len(attributes)))
    if measure == "entropy":
        kept = [_information(attribute) for attribute in attributes]
        whole = sum(float(part[0][a.codes].sum()) for part, a in zip(kept, attributes, strict=True))
        return Utility(_flat(kept) / (whole or 1.0))
    nothing = _flat([np.zeros(attribute.table.shape) for attribute in attributes])
    sizes = np.arange(records + 1, dtype=np.float64)
    if measure == "discernibility":
        return Utility(nothing, (records - sizes) / records**2)
    return Utility(nothing, np.minimum(1.0, k / np.maximum(sizes, 1.0)) / records)


def _flat(parts: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate([part.ravel() for part in parts])


def _excluded(attribute: AttributeLevels) -> FloatArray:
    """For each level and code the share of the domain that the label which is published excludes."""
    if attribute.ends[0] is not None:  # of a number, a value is nothing beside the range
        return np.asarray(1.0 - attribute.shares)
    of_code = []
    for row, shares, labels in zip(attribute.table, attribute.shares, attribute.labels, strict=True):
        covered = np.zeros(int(row.max(initial=len(labels) - 1)) + 1)  # missing cells are codes beyond the labels
        covered[row] = shares
        of_code.append(covered)
    widest: dict[str, float] = {}
    for labels, covered in zip(attribute.labels, of_code, strict=True):
        for label, share in zip(labels, covered[: len(labels)].tolist(), strict=True):
            widest[label] = max(share, widest.get(label, 0.0))
    for labels, covered in zip(attribute.labels, of_code, strict=True):
        covered[: len(labels)] = [widest[label] for label in labels]
    by_label = np.array([covered[row] for row, covered in zip(attribute.table, of_code, strict=True)])
    never_falling = np.maximum.accumulate(by_label, axis=0)
    values = max(1, len(attribute.labels[0]))
    return np.asarray((1.0 - never_falling) * (1.0 - 1.0 / values))


def _precision(attribute: AttributeLevels) -> FloatArray:
    height = np.arange(attribute.levels) / max(1, attribute.levels - 1)
    missing = attribute.table >= np.array([[len(labels)] for labels in attribute.labels])
    return np.where(missing, 1.0, 1.0 - height[:, None])


def _information(attribute: AttributeLevels) -> FloatArray:
    """For each level and code how much a record's generalised value tells, in bits."""
    kept = []
    for row in attribute.table:
        frequency = np.bincount(row[attribute.codes], minlength=int(row.max()) + 1)
        kept.append(np.log2(len(attribute.codes) / np.maximum(frequency, 1))[row])
    return np.array(kept)
