"""What the equivalence classes of a generalised release have to fulfil, from the names under which models are known.

k-anonymity and k-map, Sweeney (2002); l-diversity in its forms, Machanavajjhala et al. (2007); t-closeness, Li, Li and
Venkatasubramanian (2007); delta-disclosure privacy, Brickell and Shmatikov (2008); beta-likeness, Cao and Karras
(2012). A class that has k records, a population or l distinct values has them with further records too; the other
demands it may lose with them, though two classes that fulfil one of them fulfil it together as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.guarantees import classes_of_values, closeness, falls_short, likeness, recursive_diversity
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import key_codes
from microveil.numerics.lattice.classes import Words
from microveil.typing import BoolArray, FloatArray, IntArray

Diversity = Literal["distinct", "entropy", "recursive"]
_BITS = 64


@dataclass(frozen=True)
class ClassModels:
    """The models that are asked for; unset ones ask for nothing."""

    k: int
    population: float | None
    l: float | None  # noqa: E741
    diversity: Diversity
    c: float
    t: float | None
    delta: float | None
    beta: float | None

    @property
    def needs_confidential(self) -> bool:
        return any(asked is not None for asked in (self.l, self.t, self.delta, self.beta))

    @property
    def required(self) -> dict[str, float]:
        """What is asked for, by the names of guarantees."""
        forms = {"distinct": "l", "entropy": "entropy-l", "recursive": "recursive-l"}
        asked = {
            "k": float(self.k),
            "population": self.population,
            forms[self.diversity]: self.l,
            "t": self.t,
            "delta": self.delta,
            "beta": self.beta,
        }
        return {name: wanted for name, wanted in asked.items() if wanted is not None}

    @property
    def has_further(self) -> bool:
        """Whether something is asked for that a class may lose with further records."""
        forms = self.l is not None and self.diversity != "distinct"
        return forms or any(asked is not None for asked in (self.t, self.delta, self.beta))


@dataclass(frozen=True)
class Confidential:
    """A confidential attribute: the value of each record, -1 where it could be any, and the classes that l counts."""

    values: IntArray
    counted: IntArray
    weights: FloatArray
    whole: FloatArray
    ordered: bool

    @property
    def words(self) -> int:
        """How many words hold a bit for each counted value."""
        return int(self.counted.max(initial=-1)) // _BITS + 1

    def bits(self, row: IntArray, rows: int) -> Words:
        """Which of the counted values occur in each row, as the bits of words."""
        held = np.zeros((rows, self.words), dtype=np.uint64)
        known = np.flatnonzero(self.counted >= 0)
        value = self.counted[known]
        bit = np.uint64(1) << (value % _BITS).astype(np.uint64)
        np.bitwise_or.at(held, (row[known], value // _BITS), bit)
        return held

    def table(self, labels: IntArray, number: int, codes: IntArray, weights: FloatArray) -> Any:
        """How often each value occurs in each class of records, as a sparse table."""
        from scipy import sparse

        known = np.flatnonzero((codes >= 0) & (labels >= 0))
        shape = (number, int(codes.max(initial=-1)) + 1)
        table = sparse.coo_array((weights[known], (labels[known], codes[known])), shape=shape).tocsr()
        table.sort_indices()
        return table


def confidential_of(data: Microdata, attributes: Sequence[str], models: ClassModels) -> tuple[Confidential, ...]:
    """The confidential attributes of a table that are not generalised themselves, if a model is about them."""
    if not models.needs_confidential:
        return ()
    names = [name for name in data.schema.confidential if name not in attributes]
    if not names:
        raise DataError(
            "l, t, delta and beta are about confidential attributes, and none is declared; declare one in the schema"
        )
    return tuple(_confidential(data, name, models) for name in names)


def _confidential(data: Microdata, name: str, models: ClassModels) -> Confidential:
    codes = key_codes(data, name)
    known = codes >= 0
    values, counted = np.full(len(codes), -1, dtype=np.int64), np.full(len(codes), -1, dtype=np.int64)
    values[known] = np.unique(codes[known], return_inverse=True)[1].reshape(-1)
    counted[known], _, proposed = classes_of_values(data, name, known, values[known])
    if proposed and models.l is not None:
        raise ParameterError(
            f"l cannot be asked of '{name}', a number with many distinct values, before classes of its values are "
            "declared; declare them in the schema by their cut points, such as hierarchy = { cuts = [[1000, 2000]] }"
        )
    weights = np.ones(len(codes))
    if data.schema.weight is not None:
        weights = np.nan_to_num(data.numbers(data.schema.weight).values)
    whole = np.bincount(values[known], weights=weights[known]).astype(np.float64)
    return Confidential(values, counted, weights, whole, data[name].kind in ("numeric", "ordinal"))


def further_demands(
    models: ClassModels, confidential: Sequence[Confidential], row: IntArray, members: IntArray
) -> Callable[[IntArray, int], BoolArray] | None:
    """For classes of the distinct rows, whether they fulfil what a class may lose with further records.

    `row` is the distinct row of each of the records `members`.
    """
    if not models.has_further:
        return None

    def fulfilled(labels: IntArray, number: int) -> BoolArray:
        of_record = np.full(len(confidential[0].values), -1, dtype=np.int64)
        of_record[members] = labels[row]
        holds = np.ones(number, dtype=np.bool_)
        for attribute in confidential:
            holds &= _holds(models, attribute, of_record, number)
        return holds

    return fulfilled


def diverse_enough(
    models: ClassModels, confidential: Sequence[Confidential], labels: IntArray, number: int
) -> BoolArray:
    """Which classes of records fulfil all that is asked of their confidential values, whatever their size."""
    holds = np.ones(number, dtype=np.bool_)
    for attribute in confidential:
        if models.l is not None:  # of every form at least so many distinct values, as the search asks
            known = attribute.counted >= 0
            of = np.unique(labels[known] * (attribute.counted.max(initial=0) + 1) + attribute.counted[known])
            distinct = np.bincount(of // (attribute.counted.max(initial=0) + 1), minlength=number)
            holds &= distinct >= np.ceil(models.l - 1e-9)
        holds &= _holds(models, attribute, labels, number)
    return holds


def _holds(models: ClassModels, attribute: Confidential, labels: IntArray, number: int) -> BoolArray:
    """Which classes fulfil the models for one confidential attribute; one without any known value says nothing."""
    holds = np.ones(number, dtype=np.bool_)
    ones = np.ones(len(labels))
    counts = attribute.table(labels, number, attribute.counted, ones)
    filled = np.diff(counts.indptr) > 0
    counts = counts[filled]
    if not filled.any():
        return holds
    if models.l is not None and models.diversity == "recursive":
        holds[filled] &= ~falls_short("recursive-l", recursive_diversity(counts, models.c).astype(float), models.l)
    if models.l is not None and models.diversity == "entropy":
        starts, sizes = counts.indptr[:-1], np.diff(counts.indptr)
        shares = counts.data / np.repeat(np.add.reduceat(counts.data, starts), sizes)
        entropy = np.exp(-np.add.reduceat(shares * np.log(shares), starts))
        holds[filled] &= ~falls_short("entropy-l", entropy, models.l)
    if models.t is not None or models.delta is not None or models.beta is not None:
        weighted = attribute.table(labels, number, attribute.values, attribute.weights)[filled]
        if models.t is not None:
            distances = closeness(weighted, attribute.whole, ordered=attribute.ordered)
            holds[filled] &= ~falls_short("t", distances, models.t)
        delta, beta = likeness(weighted, attribute.whole)
        if models.delta is not None:
            holds[filled] &= ~falls_short("delta", delta, models.delta)
        if models.beta is not None:
            holds[filled] &= ~falls_short("beta", beta, models.beta)
    return holds
