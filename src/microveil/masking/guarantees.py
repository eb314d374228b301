"""What a table of records guarantees, found by counting: k-anonymity, l-diversity in its forms, t-closeness.

The class of a record is all records that agree with it on the keys. Where a missing value is a wildcard it agrees with
every value; where it is a category of its own, or not applicable, only with its like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from microveil.errors import GuaranteeError, ParameterError, brief, nearest_name
from microveil.microdata import Microdata
from microveil.microdata.microdata import resolve_attributes
from microveil.microdata.schema import KINDS
from microveil.parameters import MOST_RECORDS
from microveil.progress import Progress, silent

if TYPE_CHECKING:
    from microveil.microdata.combinations import Combinations

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# what can be required: the name on the left; whether the value must be at least or at most what is asked
REQUIREMENTS: Mapping[str, str] = {
    "k": "at least k records share every combination of keys",
    "population": "every combination of keys stands for at least so many of the population, by the sampling weights",
    "l": "at least l different confidential values in every class (also known as p-sensitive)",
    "entropy-l": "the entropy of the confidential values in every class is at least log l",
    "recursive-l": "the most frequent value of a class is less than c times as frequent as the l-th and rarer together",
    "t": "the distribution of confidential values in every class is within t of that in the table",
}
_AT_MOST = ("t",)
_ROUNDED = ("population", "entropy-l", "t")  # sums of fractions, which rounding moves
_ROUNDING = 1e-9
_CELLS = 10_000_000  # of a table of classes and values that is laid out at a time
_C = 3.0  # the usual c of recursive diversity


@dataclass(frozen=True)
class Diversity:
    """How the values of a confidential attribute are spread over the classes, in the worst class for each measure.

    `distinct` values; `entropy`: the number of equally frequent values with the same entropy; `recursive`: the largest
    l of recursive (c, l)-diversity; `closeness`: the largest distance t to the distribution in the whole table.
    """

    attribute: str
    distinct: int
    entropy: float
    recursive: int
    closeness: float


@dataclass(frozen=True)
class Guarantees:
    """What holds for every record of a table.

    At least `k` records share each combination of the keys; `population` is the smallest class by sampling weights.
    """

    keys: tuple[str, ...]
    k: int
    population: float | None
    diversity: Mapping[str, Diversity] = field(default_factory=dict)
    per_record: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)

    def below(self, k: int) -> int:
        """How many records share their combination of keys with fewer than k records, themselves included."""
        return int((self.per_record < k).sum())

    def value(self, name: str) -> float:
        """What is reached of one requirement, over all confidential attributes."""
        if name == "k":
            return float(self.k)
        if name == "population":
            return float(self.k) if self.population is None else self.population
        if not self.diversity:
            raise ParameterError(f"'{name}' is about confidential attributes, and none is declared")
        values = self.diversity.values()
        if name == "l":
            return float(min(d.distinct for d in values))
        if name == "entropy-l":
            return min(d.entropy for d in values)
        if name == "recursive-l":
            return float(min(d.recursive for d in values))
        return max(d.closeness for d in values)

    def check(self, required: Mapping[str, float]) -> None:
        """Refuse, in one sentence, what does not meet the requirements."""
        for name, wanted in check_requirements(required).items():
            reached = self.value(name)
            slack = _ROUNDING * max(1.0, wanted) if name in _ROUNDED else 0.0
            met = reached <= wanted + slack if name in _AT_MOST else reached >= wanted - slack
            if not met:
                sort = "at most" if name in _AT_MOST else "at least"
                more = f" ({self.below(int(wanted)):,} records are below)" if name == "k" else ""
                raise GuaranteeError(
                    f"the release was to have {name} {sort} {wanted:g} over {', '.join(self.keys)}, "
                    f"but it reaches {reached:g}{more}; mask more strongly, or ask for less"
                )

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"keys": list(self.keys), "k": self.k}
        if self.population is not None:
            plain["population"] = self.population
        plain["confidential"] = {
            name: {"l": d.distinct, "entropy-l": d.entropy, "recursive-l": d.recursive, "t": d.closeness}
            for name, d in self.diversity.items()
        }
        return plain


def check_requirements(required: Mapping[str, float]) -> dict[str, float]:
    """Requirements such as {"k": 5, "l": 2}, checked for names and values that make sense."""
    checked = {}
    for name, wanted in required.items():
        if name not in REQUIREMENTS:
            raise ParameterError(f"'{name}' is not a guarantee{nearest_name(str(name), list(REQUIREMENTS))}")
        lowest, highest = (0.0, 1.0) if name in _AT_MOST else (1.0, MOST_RECORDS)
        if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not lowest <= wanted <= highest:
            what = "from 0 to 1" if name in _AT_MOST else f"of at least 1 and at most {MOST_RECORDS:,}"
            raise ParameterError(f"{name} must be a number {what}, not {brief(wanted)}")
        checked[name] = float(wanted)
    return checked


def guarantees_of(
    data: Microdata,
    keys: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    *,
    c: float = _C,
    progress: Progress = silent,
) -> Guarantees:
    """Count what a table guarantees over its keys (all attributes without roles) for its confidential attributes.

    >>> people = Microdata.of(
    ...     {"sex": ["f", "f", "m", "m"], "ill": ["flu", "flu", "flu", "gout"]}, keys=["sex"], confidential=["ill"]
    ... )
    >>> found = guarantees_of(people)
    >>> found.k, found.diversity["ill"].distinct, found.diversity["ill"].closeness
    (2, 1, 0.25)
    """
    from microveil.microdata.combinations import combinations_of

    keys = resolve_attributes(data, keys, KINDS, "a guarantee")
    confidential = data.schema.confidential if confidential is None else tuple(confidential)
    classes = combinations_of(data, keys, progress)
    smallest = int(classes.frequencies.min(initial=len(data))) if len(classes) else 0
    population = None
    if data.schema.weight is not None and len(classes):
        population = float(classes.population.min())
    diversity = {name: _diversity(data, classes, name, c) for name in confidential if name not in keys}
    return Guarantees(keys, smallest, population, diversity, classes.per_record)


def _diversity(data: Microdata, classes: Combinations, name: str, c: float) -> Diversity:
    from microveil.microdata.combinations import key_codes

    codes = key_codes(data, name)
    known = codes >= 0  # a value that could be any says nothing about the diversity of its class
    of_record = classes.of_record[known]
    codes = np.unique(codes[known], return_inverse=True)[1].reshape(-1)
    ones = np.ones(len(codes))
    table = _by_class(classes, of_record, codes, ones)
    if len(codes) == 0 or np.diff(table.indptr).min() == 0:  # some class has no known value at all
        return Diversity(name, 0, 0.0, 0, 1.0)
    starts, sizes = table.indptr[:-1], np.diff(table.indptr)
    shares = table.data / np.repeat(np.add.reduceat(table.data, starts), sizes)
    entropy = -np.add.reduceat(shares * np.log(shares), starts)
    weights, weighed = ones, table
    if data.schema.weight is not None:
        weights = np.nan_to_num(data.numbers(data.schema.weight).values)[known]
        weighed = _by_class(classes, of_record, codes, weights)
    whole = np.bincount(codes, weights=weights).astype(np.float64)
    ordered = data[name].kind in ("numeric", "ordinal")
    return Diversity(
        name,
        int(sizes.min()),
        float(np.exp(entropy.min())),
        _recursive(table, c),
        _closeness(weighed, whole, ordered=ordered),
    )


def _by_class(classes: Combinations, of_record: IntArray, codes: IntArray, weights: FloatArray) -> Any:
    """How often each value occurs in the class of each combination, as a sparse table."""
    from scipy import sparse

    shape = (len(classes), int(codes.max(initial=-1)) + 1)
    table = sparse.coo_array((weights, (of_record, codes)), shape=shape).tocsr()
    if (classes.codes < 0).any():
        width = max(1, _CELLS // max(1, len(classes)))
        columns = table.tocsc()
        blocks = [columns[:, start : start + width].toarray() for start in range(0, shape[1], width)]
        table = sparse.hstack([sparse.csr_array(classes.agreeing_with_each(block)) for block in blocks], format="csr")
    table.sort_indices()
    return table


def _recursive(table: Any, c: float) -> int:
    """The largest l with r_1 < c (r_l + r_(l+1) + ...) in every class, r the frequencies from the largest down."""
    starts, sizes = table.indptr[:-1], np.diff(table.indptr)
    order = np.lexsort((-table.data, np.repeat(np.arange(len(sizes)), sizes)))
    counts = table.data[order]
    sums = np.cumsum(counts)
    from_here_on = np.repeat(sums[table.indptr[1:] - 1], sizes) - sums + counts
    most = np.repeat(counts[starts], sizes)
    return int(np.add.reduceat((most < c * from_here_on).astype(np.int64), starts).min())


def _closeness(table: Any, whole: FloatArray, *, ordered: bool) -> float:
    """The largest earth mover's distance between the values of a class and those of all records.

    Between ordered values a step to the next costs 1 / (number of values - 1); between others every change costs 1.
    """
    starts, sizes = table.indptr[:-1], np.diff(table.indptr)
    totals = np.add.reduceat(table.data, starts)
    if whole.sum() <= 0 or len(whole) == 1:
        return 0.0
    shares = table.data / np.repeat(np.where(totals > 0, totals, 1.0), sizes)
    whole = whole / whole.sum()
    if ordered:
        distances = _ordered_distances(table, shares, whole)
    else:
        distances = np.add.reduceat(np.maximum(shares - whole[table.indices], 0.0), starts)
    return float(np.max(distances, initial=0.0, where=totals > 0))  # a class without weight stands for nobody


def _ordered_distances(table: Any, shares: FloatArray, whole: FloatArray) -> FloatArray:
    """The distances of all classes to the whole, from the differences of the cumulative shares.

    Between two values that a class has its cumulative share stands still while that of the whole rises, so the
    difference changes its sign at most once there and sums of the whole's shares give the area on both sides.
    """
    starts, sizes, values = table.indptr[:-1], np.diff(table.indptr), len(whole)
    rising = np.cumsum(whole)
    area = np.concatenate([[0.0], np.cumsum(rising)])
    sums = np.cumsum(shares)
    level = sums - np.repeat(sums[starts] - shares[starts], sizes)
    begin = table.indices.astype(np.int64)
    end = np.append(begin[1:], values)
    end[table.indptr[1:] - 1] = values
    turn = np.clip(np.searchsorted(rising, level), begin, end)
    below = level * (turn - begin) - (area[turn] - area[begin])
    above = (area[end] - area[turn]) - level * (end - turn)
    return np.asarray((np.add.reduceat(below + above, starts) + area[begin[starts]]) / (values - 1))
