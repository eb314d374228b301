"""Entropy-based losses: the uncertainty of the true category given the released one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from math import log2
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.comparison.transitions import Transitions, transitions_of
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.losses.categorical.coding import ADD_MISSING, Coded, coded, domain_size
from microveil.masking.randomising.matrices import GivenMatrices
from microveil.microdata.facts import OverRecords
from microveil.microdata.schema import CATEGORICAL
from microveil.microdata.tables import Several, Tables
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.typing import FloatArray, IntArray

# the transitions that happened, or the transition matrices of the release
Probabilities = Literal["empirical", "matrix"]


class _Bits(NamedTuple):
    """Of one variable: bits lost in all cells with finitely many, how many cells there are, how many cells have no
    bound, and the size of the domain."""

    bits: float
    cells: int
    infinite: int
    size: int

    @property
    def share(self) -> float:
        """Of the bits that a cell of this domain can hold at most."""
        if self.infinite:
            return np.inf
        return self.bits / (self.cells * log2(self.size)) if self.cells and self.size > 1 else 0.0


@parameterised
class _EntropyLoss(LossMeasure):
    family: ClassVar[str] = "categorical"
    over_records: ClassVar[OverRecords] = "per combination"
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = (
        "missing cells are counted as a category of their own; with matrices, cells that are missing in either file "
        "and not a category of their own are left out"
    )

    mode: Probabilities = parameter(
        default="empirical",
        help="where probabilities come from: the transitions that happened, or the transition matrices of the release",
    )
    given: GivenMatrices | None = parameter(
        default=None,
        help="for attributes by name, the transition matrix (with mode matrix): rows of numbers, tables by category, "
        "or a CSV file; unset: those of the release, else the transitions that happened",
    )
    add_missing_category: bool = parameter(default=False, help=ADD_MISSING)

    @property
    def works_over(self) -> OverRecords:
        return self.over_records if self.mode == "empirical" else "whole table"

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        stretches = parts(progress, len(attributes))
        found: dict[str, _Bits] = {}
        for (name, bits), part in zip(self._variables(pair, attributes), stretches, strict=False):
            found[name] = bits
            part(1.0, f"{self.name}: {name}")
        shares = {name: bits.share for name, bits in found.items()}
        details = {"bits": sum(bits.bits for bits in found.values()), **self._counts(found)}
        return Loss.of(
            self.name,
            sum(shares.values()) / len(shares),
            attributes,
            per_attribute={name: min(100.0, 100 * share) for name, share in shares.items()},
            details=details,
        )

    def _variables(self, pair: Pair, attributes: tuple[str, ...]) -> Iterator[tuple[str, _Bits]]:
        if self.mode == "empirical":
            happened = pair.summed(partial(self._happened, attributes))
            for name, cells in zip(attributes, happened.found, strict=True):
                size = domain_size(pair, name, add_missing_category=self.add_missing_category)
                size = max(size, int(cells.codes.max()) + 1)  # missing cells come after all categories
                yield name, _Bits(cells.conditional_bits, len(pair), 0, size)
        else:
            for variable in transitions_of(pair, attributes, self.given, self.name):
                bits = variable.over(self._expected(variable))[variable.attacked]
                finite = np.isfinite(bits)
                size = len(variable.matrix) + int(self.add_missing_category)
                yield variable.name, _Bits(float(bits[finite].sum()), len(bits), int((~finite).sum()), size)

    def _happened(self, attributes: tuple[str, ...], pair: Tables) -> Several:
        """For each attribute, how often its transitions happened."""
        from microveil.numerics.counting.contingency import Cells

        return Several(tuple(Cells.of([self._asked_and_given(coded(pair, name))]) for name in attributes))

    def _asked_and_given(self, columns: Coded) -> tuple[IntArray, IntArray]:
        """The column whose probabilities are sought, and the one that is known."""
        return columns.before, columns.after

    @abstractmethod
    def _expected(self, variable: Transitions) -> FloatArray:
        """The bits lost for each released (row) and true (column) category, by a transition matrix."""

    def _counts(self, found: dict[str, _Bits]) -> dict[str, float]:
        return {}


@parameterised
class EBIL(_EntropyLoss):
    """For every record the entropy H(V | V' = its released category) of the true category, over the logarithm of the
    size of the domain.

    By the transitions that happened (`mode="empirical"`, for every method), the mean over the records is the
    conditional entropy H(V | V'). With `mode="matrix"` the probabilities are those of PRAM: the Bayes inverse of its
    matrix with the original frequencies; attributes without a matrix go by what happened. A relabelling that can be
    undone loses nothing here. The details have the sum over all records in `bits`.

    >>> from microveil.microdata import Microdata
    >>> one, other = ({"sex": list(text)} for text in ("ffmm", "ffff"))
    >>> EBIL().measure(Microdata.of(one), Microdata.of(other)).value
    100.0
    """

    name: ClassVar[str] = "ebil"
    usual: ClassVar[bool] = True
    summary: ClassVar[str] = "entropy of the original categories, given the released ones"
    meaning: ClassVar[str] = (
        "conditional entropy of the original category given the released one, in per cent of its maximum; "
        "lower is better"
    )
    route: ClassVar[Route] = "mechanism"
    source: ClassVar[str] = (
        "Kooiman, Willenborg and Gouweleeuw (1997); Marés (2013), section 2.4.1, Eq. 2.12 and 2.13; Fayyoumi (2008), "
        "section 2.4.2"
    )

    def _expected(self, variable: Transitions) -> FloatArray:
        from microveil.numerics.perturbing.transition_matrices import bayes_inverse

        inverse = bayes_inverse(variable.matrix, variable.frequencies)
        entropies = (inverse * surprise(inverse, nothing=0.0)).sum(axis=1)
        return np.broadcast_to(entropies[:, None], inverse.shape)


@parameterised
class RecordEntropy(_EntropyLoss):
    """For every record -log2 of the probability of its own true category, given its released one (PRIL).

    It counts the transition that happened to a record, where EBIL takes the mean over all that may have. By the
    transitions that happened both have the same sum; with `mode="matrix"` they differ. As printed in Fayyoumi
    (2008), which is `direction="forward"`, the probability is that of the released category given the true one: this
    measures the method rather than the analyst's loss. A record with probability 0 has no bound: `infinite` counts
    them, and `raw` is infinite then.

    >>> from microveil.microdata import Microdata
    >>> one, other = ({"sex": list(text)} for text in ("ffmm", "ffmf"))
    >>> RecordEntropy().measure(Microdata.of(one), Microdata.of(other)).details["bits"].__round__(4)
    2.7549
    >>> RecordEntropy(direction="forward").measure(Microdata.of(one), Microdata.of(other)).details["bits"]
    2.0
    """

    name: ClassVar[str] = "record-entropy"
    summary: ClassVar[str] = "information lost on the true category of each record, given the released one"
    meaning: ClassVar[str] = (
        "information lost on the true category of a record, in per cent of the maximum; lower is better"
    )
    route: ClassVar[Route] = "mechanism"
    source: ClassVar[str] = (
        "corrects the measure of a single record in Fayyoumi (2008), section 2.4.2, which is printed with the "
        "probabilities the other way round"
    )

    direction: Literal["posterior", "forward"] = parameter(
        default="posterior",
        help="the probability of the true category given the released one, or the other way as printed",
    )

    def _asked_and_given(self, columns: Coded) -> tuple[IntArray, IntArray]:
        asked, given = super()._asked_and_given(columns)
        return (asked, given) if self.direction == "posterior" else (given, asked)

    def _expected(self, variable: Transitions) -> FloatArray:
        from microveil.numerics.perturbing.transition_matrices import bayes_inverse

        if self.direction == "posterior":
            return surprise(bayes_inverse(variable.matrix, variable.frequencies), nothing=np.inf)
        return surprise(variable.matrix.T, nothing=np.inf)

    def _counts(self, found: dict[str, _Bits]) -> dict[str, float]:
        return {"infinite": float(sum(bits.infinite for bits in found.values()))}


def surprise(probabilities: FloatArray, *, nothing: float) -> FloatArray:
    """-log2 of each probability; `nothing` stands for that of 0."""
    possible = probabilities > 0
    return np.where(possible, -np.log2(np.where(possible, probabilities, 1.0)) + 0.0, nothing)
