"""The contract of a rule: parameters in, `check` a table, findings out: counts, and no value of a record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from microveil.masking.households import household_of
from microveil.microdata import Microdata
from microveil.microdata.combinations import CombinationCounter
from microveil.microdata.equivalence_classes import key_codes
from microveil.parameters import Parameterised
from microveil.typing import IntArray

Outcome = Literal["passed", "failed", "not checked"]


@dataclass(frozen=True)
class Finding:
    """What one rule says of a table: whether it holds, what was found, and where it does not hold what to do."""

    rule: str
    outcome: Outcome
    found: str
    advice: str = ""
    counts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        return f"{self.found}; {self.advice}" if self.advice else self.found

    def to_plain(self) -> dict[str, Any]:
        plain = {"rule": self.rule, "outcome": self.outcome, "found": self.found, "counts": dict(self.counts)}
        return {**plain, "advice": self.advice} if self.advice else plain


class Checked:
    """A table that is being checked, with what several rules need of it."""

    def __init__(self, data: Microdata) -> None:
        self.data = data

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The declared keys; without any, all attributes that could be keys."""
        data = self.data
        return data.schema.keys or tuple(name for name in data.names if not data[name].is_administrative)

    @cached_property
    def counter(self) -> CombinationCounter:
        return CombinationCounter(self.data, self.keys)

    @cached_property
    def strict_counter(self) -> CombinationCounter:
        return CombinationCounter(self.data, self.keys, own_category=True)

    @cached_property
    def households(self) -> IntArray | None:
        """The number of each record's household; one without a number is alone in its own."""
        return household_of(self.data)

    def codes(self, name: str) -> IntArray:
        """An attribute as codes from 0 in the order of its values; every kind of missing is a value of its own."""
        codes = key_codes(self.data, name)
        empty = codes < 0
        return np.where(empty, codes.max(initial=-1) + 1 + self.data.missing_states(name), codes)

    @cached_property
    def without_role(self) -> tuple[str, ...]:
        """Attributes that no rule on keys looks at, because others are declared as keys and they as nothing."""
        schema = self.data.schema
        return tuple(a.name for a in schema if not a.roles) if schema.keys else ()

    def selected(self, names: Sequence[str]) -> tuple[str, ...]:
        """The attributes that a rule names: by their names, or by a word for all that have a role or a kind."""
        schema = self.data.schema
        words = {
            "keys": self.keys,
            "confidential": schema.confidential,
            "strata": schema.having("stratum"),
            "locations": schema.of_kind("location"),
            "all": tuple(name for name in self.data.names if "identifier" not in schema[name].roles),
        }
        found: list[str] = []
        for name in names:
            found += words[name] if name in words and name not in schema else [schema[name].name]
        return tuple(dict.fromkeys(found))


class Rule(Parameterised, ABC):
    """A rule of an office. A subclass is a frozen dataclass of its parameters and implements `check`."""

    kinds: ClassVar[tuple[str, ...]] = ()
    missing: ClassVar[str] = ""
    family: ClassVar[str] = "rules"

    @abstractmethod
    def check(self, table: Checked) -> list[Finding]:
        """What the rule finds in a table."""

    def passed(self, found: str, **counts: Any) -> Finding:
        return Finding(self.name, "passed", found, counts=counts)

    def failed(self, found: str, advice: str, **counts: Any) -> Finding:
        return Finding(self.name, "failed", found, advice, counts)

    def not_checked(self, why: str) -> Finding:
        return Finding(self.name, "not checked", why)
