"""Rules on how frequent values and combinations are: in the file, in the population, and over whole households."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from microveil.errors import DataError
from microveil.masking.households import compositions
from microveil.microdata.combinations import canonical, combinations_of, falls_short, population_weights
from microveil.microdata.hierarchy import node_text
from microveil.microdata.microdata import count
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.rules.base import Checked, Finding, Rule
from microveil.typing import FloatArray, IntArray

_MOST_NAMED = 10  # categories that a sentence names


@parameterised
class CombinationsRule(Rule):
    """Every listed combination of attributes is shared by enough records, or units of the population.

    An empty cell counts as the schema says. Where it is a wildcard, a record that is empty everywhere agrees with all
    others; `empty = "own category"` counts it for none of them.
    """

    name: ClassVar[str] = "combinations"
    summary: ClassVar[str] = "listed combinations of attributes are frequent enough"
    source: ClassVar[str] = "Willenborg and de Waal (2001)"

    listed: Annotated[tuple[str, ...], pydantic.BeforeValidator(canonical)] = parameter(
        help="combinations, such as 'age,sex,region >= 5' or 'every triple of keys >= 100 population'"
    )
    empty: Literal["as declared", "own category"] = parameter(
        default="as declared",
        help="how an empty cell is counted: as the schema says, or as a category of its own",
    )

    def check(self, table: Checked) -> list[Finding]:
        counter = table.counter if self.empty == "as declared" else table.strict_counter
        found = []
        for asked in combinations_of(self.listed):
            try:
                counted = counter.count(asked)
            except DataError as problem:
                found.append(self.failed(f"'{asked}' cannot be checked: {problem}", "declare what is missing"))
                continue
            if counted.holds:
                found.append(self.passed(counted.sentence, **counted.to_plain()))
                continue
            advice = f"recode {counted.worst} more coarsely and suppress the rest: --combination '{asked}'"
            found.append(self.failed(counted.sentence, advice, **counted.to_plain()))
        return found


@parameterised
class RegionsRule(Rule):
    """Every region that the file shows has enough inhabitants, as the sampling weights estimate them.

    A region that fails is named where the schema declares it in the domain: that a region is small is no secret. Of
    others only the number is told. Several attributes are counted together too, for they show smaller areas.
    """

    name: ClassVar[str] = "regions"
    summary: ClassVar[str] = "every region has enough inhabitants"
    source: ClassVar[str] = "Willenborg and de Waal (2001)"

    attributes: tuple[str, ...] = parameter(
        default=("locations", "strata"), help="the attributes that are regions, by name, or locations or strata"
    )
    inhabitants: float = parameter(
        default=10_000.0, help="fewest inhabitants of a region, by the sampling weights", ge=1, le=1e12
    )

    def check(self, table: Checked) -> list[Finding]:
        names = table.selected(self.attributes)
        if not names:
            return [self.not_checked("no attribute is declared as a region (kind location, or role stratum)")]
        try:
            weights = population_weights(table.data, "the number of inhabitants")
        except DataError as problem:
            return [self.failed(f"regions cannot be checked: {problem}", "declare the weight with --weight NAME")]
        found = [self._check_one(table, (name,), weights) for name in names]
        return [*found, self._check_one(table, names, weights)] if len(names) > 1 else found

    def _check_one(self, table: Checked, names: tuple[str, ...], weights: FloatArray) -> Finding:
        """The regions that one attribute shows, or several together."""
        name, columns = ", ".join(names), [table.codes(name) for name in names]
        codes = columns[0] if len(columns) == 1 else number_rows(columns)[0]
        present = np.all([table.data.missing_states(name) == 0 for name in names], axis=0)
        sums = np.bincount(codes[present], weights=weights[present])
        occurs = np.bincount(codes[present]) > 0
        few = falls_short(sums, self.inhabitants) & occurs
        counts = {"attribute": name, "regions": int(occurs.sum()), "failing": int(few.sum())}
        if not few.any():
            return self.passed(f"every region of {name} has at least {self.inhabitants:,.10g} inhabitants", **counts)
        has = "has" if few.sum() == 1 else "have"
        told = (
            f"{few.sum():,} of {count(int(occurs.sum()), 'region')} of {name} {has} fewer than "
            f"{self.inhabitants:,.10g} inhabitants{_named(table, names, np.flatnonzero(few))}"
        )
        return self.failed(told, f"merge small regions of {name} with neighbours (recode)", **counts)


def _named(table: Checked, names: tuple[str, ...], codes: IntArray) -> str:
    """The names of categories that the schema declares, where they are few and of one attribute."""
    domain = table.data[names[0]].domain
    if len(names) > 1 or domain is None or len(codes) > _MOST_NAMED or codes.max() >= len(domain):
        return ""
    return f" ({', '.join(node_text(domain[code]) for code in codes)})"


@parameterised
class HouseholdsRule(Rule):
    """Every composition of a household is shared by enough households.

    The composition is the size and the values of some attributes of all members, whatever their order. An empty cell is
    a value like others here, so that it makes no household look like another. Without attributes the size is counted.
    """

    name: ClassVar[str] = "households"
    summary: ClassVar[str] = "every composition of a household is shared by enough households"
    source: ClassVar[str] = "Willenborg and de Waal (2001)"

    attributes: tuple[str, ...] = parameter(
        default=("keys",), help="attributes of the members that are known together; none: the size alone"
    )
    at_least: float = parameter(default=5.0, help="fewest households of a composition", ge=1, le=MOST_RECORDS)
    population: bool = parameter(
        default=False, help="whether households of the population are counted, each by the mean weight of its members"
    )

    def check(self, table: Checked) -> list[Finding]:
        households = table.households
        if households is None:
            return [self.not_checked("no household number is declared, so households cannot be told apart")]
        names = table.selected(self.attributes)
        columns = [table.codes(name) for name in names]
        members = number_rows(columns)[0] if columns else np.zeros(len(households), dtype=np.int64)
        composition = compositions(households, members)
        masses = np.ones(len(composition))
        if self.population:
            try:
                weights = population_weights(table.data, "households")
            except DataError as problem:
                return [self.failed(f"households cannot be checked: {problem}", "declare the weight")]
            masses = np.bincount(households, weights=weights) / np.bincount(households)
        return [self._finding(composition, masses, names, households)]

    def _finding(
        self, composition: IntArray, masses: FloatArray, names: Sequence[str], households: IntArray
    ) -> Finding:
        few = falls_short(np.bincount(composition, weights=masses), self.at_least)
        rare = few[composition]
        of = f"size and {', '.join(names)} of the members" if names else "size"
        unit = "households of the population" if self.population else "households"
        counts = {
            "compositions": len(few),
            "failing": int(few.sum()),
            "households": int(rare.sum()),
            "records": int(rare[households].sum()),
        }
        if not few.any():
            return self.passed(
                f"every composition of a household by {of} has at least {self.at_least:g} {unit}", **counts
            )
        told = (
            f"{few.sum():,} of {count(len(few), 'composition')} of households by {of} are shared by fewer than "
            f"{self.at_least:g} {unit} ({count(int(rare.sum()), 'household')}, {count(counts['records'], 'record')})"
        )
        large = int(np.bincount(households)[rare].max())
        advice = (
            f"recode {', '.join(names)} more coarsely, or leave out large households or the household number (the "
            f"largest that fails has {large} members)"
            if names
            else f"leave out the household number, or records of large households (up to {large} members)"
        )
        return self.failed(told, advice, **counts)
