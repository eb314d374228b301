"""Rules on single columns and whole records: identifiers, fineness, extreme values, empty cells, copies."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.masking.households import shared_attributes
from microveil.microdata.hints import hints
from microveil.microdata.microdata import SYSTEM_MISSING, count
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.rules.base import Checked, Finding, Rule
from microveil.typing import BoolArray


@parameterised
class IdentifiersRule(Rule):
    """No column identifies a person directly: none has the role identifier, and none looks like one."""

    name: ClassVar[str] = "identifiers"
    summary: ClassVar[str] = "no direct identifiers"
    source: ClassVar[str] = "Willenborg and de Waal (2001)"

    allowed: tuple[str, ...] = parameter(
        default=(),
        help="columns that look like identifiers or numbers of households and are none, or that have new identifiers",
    )

    def check(self, table: Checked) -> list[Finding]:
        declared = set(table.data.schema.identifiers)
        looks = {
            name
            for name, hint in hints(table.data).items()
            if hint.sure and hint.looks_like in ("identifier", "household") and name not in self.allowed
        }
        found = [
            self.failed(f"column '{name}' is declared as a direct identifier", "leave it out", attribute=name)
            for name in sorted(declared - set(self.allowed))
        ]
        found += [
            self.failed(
                f"column '{name}' looks like a direct identifier or the number of a household",
                "leave it out, declare what it is in the schema, or list it as allowed",
                attribute=name,
            )
            for name in sorted(looks - declared)
        ]
        return found or [self.passed("no column is or looks like a direct identifier")]


@parameterised
class CategoriesRule(Rule):
    """No attribute is finer than a given number of categories or distinct values."""

    name: ClassVar[str] = "categories"
    summary: ClassVar[str] = "no attribute has too many categories"
    source: ClassVar[str] = "Willenborg and de Waal (2001)"

    attributes: tuple[str, ...] = parameter(default=("keys",), help="the attributes, by name or by role")
    most: int = parameter(
        default=100, help="most categories, or distinct numbers, of an attribute", ge=1, le=MOST_RECORDS
    )

    def check(self, table: Checked) -> list[Finding]:
        found = []
        for name in table.selected(self.attributes):
            codes = table.codes(name)[table.data.missing_states(name) == 0]
            distinct = len(np.unique(codes))
            counts = {"attribute": name, "categories": distinct}
            if distinct <= self.most:
                found.append(self.passed(f"{name} has {count(distinct, 'category', 'categories')}", **counts))
                continue
            told = f"{name} has {distinct:,} distinct values, more than the {self.most:,} allowed"
            found.append(self.failed(told, f"recode {name} more coarsely", **counts))
        return found or [self.not_checked("no attribute is declared that the rule on categories is about")]


@parameterised
class ExtremesRule(Rule):
    """At least so many records share the largest value, as top-coding sees to, and with `both` the smallest too."""

    name: ClassVar[str] = "extremes"
    summary: ClassVar[str] = "the largest values are shared by enough records"
    source: ClassVar[str] = "Willenborg and de Waal (2001)"

    attributes: tuple[str, ...] = parameter(default=("keys",), help="the attributes, by name or by role")
    at_least: int = parameter(default=10, help="fewest records that share the largest value", ge=1, le=MOST_RECORDS)
    both: bool = parameter(default=False, help="whether the smallest value must be shared too")

    def check(self, table: Checked) -> list[Finding]:
        schema = table.data.schema
        names = [n for n in table.selected(self.attributes) if schema[n].kind in ("numeric", "ordinal")]
        if not names:
            return [self.not_checked("no numeric or ordered attribute is declared that could be top-coded")]
        return [self._check_one(table, name) for name in names]

    def _check_one(self, table: Checked, name: str) -> Finding:
        codes = table.codes(name)[table.data.missing_states(name) == 0]
        held = np.bincount(codes)[np.unique(codes)] if len(codes) else np.array([self.at_least])
        ends = {"largest": int(held[-1]), **({"smallest": int(held[0])} if self.both else {})}
        few = [
            f"the {end} value of {name} is shared by {count(n, 'record')}"
            for end, n in ends.items()
            if n < self.at_least
        ]
        counts = {"attribute": name, **ends}
        if not few:
            return self.passed(
                f"at least {self.at_least:,} records share the {' and the '.join(ends)} value of {name}", **counts
            )
        told = f"{' and '.join(few)}, fewer than {self.at_least:,}"
        methods = "top-code" + (" and bottom-code" if self.both else "")
        return self.failed(told, f"code it with {methods}", **counts)


@parameterised
class EmptyCellsRule(Rule):
    """Empty cells are few enough not to hide that combinations are rare.

    A wildcard agrees with every value, so a file with many empty cells, or with records that are empty everywhere,
    keeps to every rule on combinations. Missing codes count too where the schema says that they are wildcards. Nor may
    other members of a household show what was emptied, in an attribute that households share.
    """

    name: ClassVar[str] = "empty-cells"
    summary: ClassVar[str] = "empty cells are few"
    source: ClassVar[str] = "Willenborg and de Waal (2001)"

    attributes: tuple[str, ...] = parameter(default=("keys",), help="the attributes, by name or by role")
    most: float = parameter(default=0.2, help="largest share of empty cells in an attribute", ge=0, le=1)

    def check(self, table: Checked) -> list[Finding]:
        names = table.selected(self.attributes)
        empty = np.column_stack([_says_nothing(table, name) for name in names])
        if not len(empty):
            return [self.not_checked("the table has no records")]
        shares = empty.mean(axis=0)
        found = [
            self.failed(
                f"{100 * share:.3g} % of the cells of {name} are empty or agree with every value, more than "
                f"{100 * self.most:.3g} %",
                f"recode {name} more coarsely instead of emptying cells, or leave it out",
                attribute=name,
                share=float(share),
            )
            for name, share in zip(names, shares, strict=True)
            if share > self.most + 1e-12
        ]
        whole = int(empty.all(axis=1).sum())
        if whole and len(names) > 1:
            told = f"{count(whole, 'record')} {'has' if whole == 1 else 'have'} no value of any of {', '.join(names)}"
            found.append(self.failed(told, "leave these records out: they agree with all others", records=whole))
        found += self._restored(table, names)
        return found or [self.passed("empty cells are few", largest_share=float(shares.max(initial=0.0)))]

    def _restored(self, table: Checked, names: tuple[str, ...]) -> list[Finding]:
        """Empty cells of attributes that households share, where other members show the value."""
        homes, found = table.households, []
        if homes is None:
            return []
        for name in shared_attributes(table.data, names):
            codes, empty = table.codes(name), _says_nothing(table, name)
            shown = np.unique(np.column_stack([homes[~empty], codes[~empty]]), axis=0)[:, 0]
            told = int((np.bincount(shown, minlength=homes.max() + 1)[homes[empty]] == 1).sum())
            if told:
                sentence = f"other members of the household restore {count(told, 'empty cell')} of {name}"
                advice = "empty the cells of all members, as the method by-household does"
                found.append(self.failed(sentence, advice, attribute=name, cells=told))
        return found


def _says_nothing(table: Checked, name: str) -> BoolArray:
    """Which cells of an attribute are empty, or agree with every value."""
    states = table.data.missing_states(name)
    return np.asarray(states > 0 if table.data[name].missing == "wildcard" else states == SYSTEM_MISSING)


@parameterised
class CopiesRule(Rule):
    """Few records repeat another one in all attributes, for copies make rare combinations look frequent.

    Weights, household numbers and identifiers are not compared. A file of few attributes has equal records by nature;
    `most` is then larger.
    """

    name: ClassVar[str] = "copies"
    summary: ClassVar[str] = "few records are copies of others"
    source: ClassVar[str] = "Willenborg and de Waal (2001)"

    most: float = parameter(default=0.05, help="largest share of records that repeat another", ge=0, le=1)

    def check(self, table: Checked) -> list[Finding]:
        names = [name for name in table.data.names if not table.data[name].is_administrative]
        if not names or not len(table.data):
            return [self.not_checked("there are no records with attributes to compare")]
        rows, first = number_rows([table.codes(name) for name in names])
        repeated = len(rows) - len(first)
        counts = {"copies": repeated, "records": len(rows)}
        compared = count(len(names), "attribute")
        told = f"{repeated:,} of {count(len(rows), 'record')} repeat another one in all of {compared}"
        if repeated <= self.most * len(rows) + 1e-9:
            return [self.passed(told, **counts)]
        return [self.failed(told, "count every person once, and use weights for persons of the same kind", **counts)]
