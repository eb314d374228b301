"""Primary rules: which cells would tell too much about a contributor, and how far they must stay uncertain.

A rule is a small frozen component that is also written as a text, such as `dominance 1 85`. Contributors who consent to
be disclosed (waivers) need no protection, but they still may look at the others.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from microveil.errors import ParameterError, brief, nearest_name
from microveil.parameters import MOST_RECORDS, Parameterised, own_names, parameter, parameterised
from microveil.tables.aggregation import Cells
from microveil.typing import BoolArray, FloatArray


class Rule(Parameterised, ABC):
    """What every primary rule can say of cells."""

    takes: ClassVar[str] = ""

    @abstractmethod
    def sensitive(self, cells: Cells) -> BoolArray:
        """Which cells the rule forbids to publish."""

    def upper_level(self, cells: Cells) -> FloatArray:
        """How much more than its value a sensitive cell must seem to hold, so that the rule would hold; 0 if the rule
        says nothing about it."""
        return np.zeros(len(cells))

    @property
    def tops(self) -> int:
        """How many of the largest contributions the rule looks at."""
        return 0

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return " ".join([self.name, *(f"{getattr(self, name):g}" for name in own_names(type(self)))])


@parameterised
class Frequency(Rule):
    """A cell needs at least `n` contributors.

    >>> Frequency(n=3).text
    'frequency 3'
    """

    name: ClassVar[str] = "frequency"
    takes: ClassVar[str] = "frequency N"
    n: int = parameter(default=3, help="least number of contributors", ge=1, le=MOST_RECORDS)

    def sensitive(self, cells: Cells) -> BoolArray:
        few = (cells.contributors > 0) & (cells.contributors < self.n)
        return few & ~cells.waived


@parameterised
class Dominance(Rule):
    """The `n` largest contributors may have at most `k` % of a cell."""

    name: ClassVar[str] = "dominance"
    takes: ClassVar[str] = "dominance N K"
    n: int = parameter(default=1, help="number of the largest contributors", ge=1, le=100)
    k: float = parameter(default=85.0, help="largest share that they may have together, in %", gt=0, lt=100)

    @property
    def tops(self) -> int:
        return self.n

    def sensitive(self, cells: Cells) -> BoolArray:
        anyone = (~cells.consents[:, : self.n] & (cells.largest[:, : self.n] > 0)).any(axis=1)
        return anyone & (self._dominating(cells) > self.k / 100 * cells.absolute)

    def upper_level(self, cells: Cells) -> FloatArray:
        return np.maximum(self._dominating(cells) * 100 / self.k - cells.absolute, 0.0)

    def _dominating(self, cells: Cells) -> FloatArray:
        return np.asarray(cells.largest[:, : self.n].sum(axis=1), dtype=np.float64)


class _PriorPosterior(Rule):
    """The second largest contributor must not be able to estimate the largest one too closely."""

    @property
    def tops(self) -> int:
        return 2

    @property
    @abstractmethod
    def _share(self) -> float:
        """Of the largest contribution, what the others beside the two must come to at least."""

    def sensitive(self, cells: Cells) -> BoolArray:
        return (cells.exposed > 0) & (self._rest(cells) < self._share * cells.exposed)

    def upper_level(self, cells: Cells) -> FloatArray:
        return np.maximum(self._share * cells.exposed - self._rest(cells), 0.0)

    def _rest(self, cells: Cells) -> FloatArray:
        """What is left of a cell without the exposed contributor and the largest of the others."""
        first, second = cells.largest[:, 0], cells.largest[:, 1]
        other = np.where(cells.exposed >= first, second, first)
        return np.asarray(cells.absolute - cells.exposed - other, dtype=np.float64)


@parameterised
class PPercent(_PriorPosterior):
    """No contributor may be estimated to within `p` % by the largest of the others."""

    name: ClassVar[str] = "p-percent"
    takes: ClassVar[str] = "p-percent P"
    p: float = parameter(default=10.0, help="how close an estimate may come, in % of the contribution", gt=0, le=1000)

    @property
    def _share(self) -> float:
        return self.p / 100


@parameterised
class PriorPosterior(_PriorPosterior):
    """As p-percent, for contributors who know each other's values to within `q` % before anything is published."""

    name: ClassVar[str] = "p-q"
    takes: ClassVar[str] = "p-q P Q"
    p: float = parameter(default=10.0, help="how close an estimate may come, in %", gt=0, le=1000)
    q: float = parameter(default=100.0, help="how close an estimate comes before publication, in %", gt=0, le=1000)

    @property
    def _share(self) -> float:
        return self.p / self.q


@parameterised
class Zeros(Rule):
    """Cells of value zero are sensitive: without it an empty cell is published as zero."""

    name: ClassVar[str] = "zeros"
    takes: ClassVar[str] = "zeros"

    def sensitive(self, cells: Cells) -> BoolArray:
        return np.asarray(cells.values == 0)


RULES: dict[str, type[Rule]] = {rule.name: rule for rule in (Frequency, Dominance, PPercent, PriorPosterior, Zeros)}
_OTHER_NAMES = {"p%": "p-percent", "p": "p-percent", "pq": "p-q", "nk": "dominance"}


def rule_of(text: str | Rule) -> Rule:
    """A rule of its text.

    >>> rule_of("dominance 1 85")
    Dominance(n=1, k=85.0)
    """
    if isinstance(text, Rule):
        return text
    if not isinstance(text, str) or not text.strip():
        raise ParameterError(f"a rule is a text such as 'frequency 3' or 'dominance 1 85', not {brief(text)}")
    plain = text.strip().lower().replace("(n,k)", "nk").replace("(p,q)", "pq")
    name, *given = re.split(r"[\s,=]+", plain)
    name = _OTHER_NAMES.get(name, name)
    if name not in RULES:
        raise ParameterError(f"unknown rule '{name[:40]}'{nearest_name(name, list(RULES))}")
    rule = RULES[name]
    names = own_names(rule)
    if len(given) > len(names):
        raise ParameterError(f"the rule is written '{rule.takes}', not {brief(text)}")
    return rule(**{name: _number(word, text) for name, word in zip(names, given, strict=False)})


def _number(word: str, text: str) -> float | int:
    try:
        number = float(word.removesuffix("%"))
    except ValueError:
        raise ParameterError(f"'{word[:40]}' in the rule {brief(text)} is not a number") from None
    return int(number) if np.isfinite(number) and number.is_integer() and abs(number) < 2**53 else number


def primary_cells(rules: Sequence[Rule], cells: Cells) -> BoolArray:
    """The cells that at least one rule forbids to publish."""
    found = np.zeros(len(cells), dtype=bool)
    for rule in rules:
        found |= rule.sensitive(cells)
    return found
