"""A file with some of its keys changed: what the risk becomes, counted by the changed keys alone, and what is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from microveil.attacks.reidentification import FileRisk
from microveil.errors import MicroveilError
from microveil.masking.plan import Step
from microveil.microdata.equivalence_classes import EquivalenceClasses, key_codes, weights_of
from microveil.microdata.microdata import Microdata
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.registry import make
from microveil.scoring.risk_advice.changes import Change
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Lost:
    """What a change loses, in per cent: `entropy` of the keys, that is H(X | Y) over H(X) for the values X that were
    and the values Y that are released, distinct `values`, and `cells` whose value can no longer be told; means over the
    keys."""

    entropy: float = 0.0
    values: float = 0.0
    cells: float = 0.0

    def to_plain(self) -> dict[str, float]:
        return {"entropy": self.entropy, "values": self.values, "cells": self.cells}


@dataclass(frozen=True)
class Made:
    """A change that was made to one key: its codes as released, none where it is left out, and its column."""

    change: Change
    codes: IntArray | None
    column: Microdata | None
    lost: Lost


Changed = Mapping[str, Made]  # by key; a key that is not there is as it was


class Trials:
    """The file whose keys are changed, again and again."""

    def __init__(self, data: Microdata, found: FileRisk) -> None:
        self.data, self.found = data, found
        self.codes = {name: key_codes(data, name) for name in found.keys}
        weight = data.schema.weight
        self.masses: FloatArray | None = None if weight is None else weights_of(data, weight)
        self._others: tuple[object, dict[str, IntArray]] = (None, {})

    def make(self, change: Change) -> Made | None:
        """The key with the change; none where it cannot be made or changes nothing."""
        name = change.attribute
        before = self.codes[name]
        if change.step is None:
            return Made(change, None, None, lost_by(before, np.zeros_like(before)))
        column = carried_out(change.step, self.data.select([name]))
        if column is None:
            return None
        codes = key_codes(column, name)
        lost = lost_by(before, codes)
        return Made(change, codes, column, lost) if lost.values or lost.cells else None

    def risk(self, changed: Changed, name: str, made: Made) -> FileRisk | None:
        """With this change of a key beside those of others; none where no key would be left."""
        state = {**changed, name: made}
        columns = self._columns(state)
        if not columns:
            return None
        if made.codes is None or len(columns) == 1 or any((codes < 0).any() for codes in columns.values()):
            return self.counted(columns)
        others = self._numbers_of_others(changed, name)
        classes = EquivalenceClasses.of(("others", name), [others, made.codes], self.masses)
        return self._weighted(tuple(columns), classes)

    def suppressed(self, changed: Changed, change: Change) -> tuple[FileRisk, Lost] | None:
        """With cells of all keys suppressed after the other changes; none where that is refused."""
        keys = tuple(self._columns(changed))
        made = {name: changed[name].column for name in keys if name in changed}
        columns = {name: column.arrow(name) for name, column in made.items() if column is not None}
        described = [column[name] for name, column in made.items() if column is not None]
        table = self.data.select(keys).with_columns(columns, described)
        assert change.step is not None
        released = carried_out(change.step, table)
        if released is None:
            return None
        codes = {name: key_codes(released, name) for name in keys}
        lost = [lost_by(self.codes[name], codes.get(name, np.zeros_like(self.codes[name]))) for name in self.codes]
        return self.counted(codes), mean(lost)

    def lost(self, changed: Changed) -> Lost:
        """What some changes lose together."""
        return mean([changed[name].lost if name in changed else Lost() for name in self.codes])

    def counted(self, columns: Mapping[str, IntArray]) -> FileRisk:
        """The risk by these keys with these codes."""
        return self._weighted(tuple(columns), EquivalenceClasses.of(tuple(columns), [*columns.values()], self.masses))

    def _weighted(self, keys: tuple[str, ...], classes: EquivalenceClasses) -> FileRisk:
        if self.masses is None and self.found.is_sample:
            classes = classes.weighing(classes.counts / self.found.fraction)
        return self.found.counted_by(keys, classes)

    def _columns(self, changed: Changed) -> dict[str, IntArray]:
        """The codes of the keys that are left, in the order of the keys."""
        found = {}
        for name, before in self.codes.items():
            codes = changed[name].codes if name in changed else before
            if codes is not None:
                found[name] = codes
        return found

    def _numbers_of_others(self, changed: Changed, name: str) -> IntArray:
        """The combinations of all other keys, numbered; kept until other keys are changed."""
        if self._others[0] is not changed:
            self._others = (changed, {})
        numbers = self._others[1]
        if name not in numbers:
            columns = [codes for other, codes in self._columns(changed).items() if other != name]
            numbers[name] = number_rows(columns)[0]
        return numbers[name]


def carried_out(step: Step, table: Microdata) -> Microdata | None:
    """The table after a step without randomness; none where the method refuses it."""
    try:
        return make("method", step.method, step.parameters).mask(table, step.attributes, seed=0).data  # type: ignore[no-any-return]
    except MicroveilError:
        return None


def lost_by(before: IntArray, after: IntArray) -> Lost:
    """What is lost of one key, from its codes; a missing cell counts as a value.

    >>> half = lost_by(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    >>> half.entropy, half.values, half.cells
    (50.0, 50.0, 100.0)
    """
    if not len(before):
        return Lost()
    both, first = number_rows([before + 1, after + 1])
    released = number_rows([after + 1])[0]
    several = np.bincount(released[first])  # how many values each released value stands for
    emptied = (after < 0) & (before >= 0)
    had, left = len(np.unique(before)), len(np.unique(after))
    entropy = _entropy(before + 1)
    unknown = max(0.0, _entropy(both) - _entropy(released))
    return Lost(
        100 * min(1.0, unknown / entropy) if entropy > 0 else 0.0,
        100 * max(0, had - left) / had,
        100 * float(((several[released] > 1) & ~(after < 0) | emptied).mean()),
    )


def _entropy(codes: IntArray) -> float:
    shares = np.bincount(codes) / len(codes)
    shares = shares[shares > 0]
    return float(-(shares * np.log2(shares)).sum())


def mean(lost: Sequence[Lost]) -> Lost:
    """Of several keys."""
    several = max(1, len(lost))
    return Lost(*(sum(getattr(one, part) for one in lost) / several for part in ("entropy", "values", "cells")))
