"""A table described attribute by attribute, without showing any record's value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from microveil.display import html_table, number, paragraph, text_table
from microveil.errors import DataError
from microveil.microdata.frames import distinct_values
from microveil.microdata.hints import Hint, hints
from microveil.microdata.microdata import Microdata, as_microdata, count, encoded
from microveil.microdata.schema import Attribute, Schema

# more categories than this, or nearly as many as records, are rather names or texts than a domain worth declaring
_LARGEST_DOMAIN, _ALWAYS_A_DOMAIN, _SHARE_OF_RECORDS = 500, 12, 0.25


HEAD = ("name", "kind", "role", "distinct", "missing", "mean", "std. dev.", "hint")
NUMBERS = (3, 4, 5, 6)  # the columns of a description that hold numbers


@dataclass(frozen=True)
class TableOfAttributes:
    """The number of records of a table, and each of its attributes as `describe_attributes` gives it."""

    attributes: tuple[Mapping[str, Any], ...] = field(repr=False)
    records: int = 0

    @property
    def heading(self) -> str:
        return f"{self.records:,} records, {count(len(self.attributes), 'attribute')}"

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of a table with the columns `HEAD`."""
        return [
            (
                *(row["name"], row["kind"], ", ".join([*row["roles"], *(["of household"] if "level" in row else [])])),
                f"more than {row['distinct_above']:,}" if "distinct_above" in row else number(row["distinct"]),
                *(number(row[key]) for key in ("missing", "mean", "standard_deviation")),
                {None: "", "problem": "problem", "incomplete": "incomplete"}.get(
                    row["looks_like"], f"{row['looks_like']}?"
                ),
            )
            for row in self.attributes
        ]

    def hints(self) -> list[str]:
        """What columns may be, and what to do if they are that."""
        return [f"{row['name']}: {row['hint']}" for row in self.attributes if row["hint"]]

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"records": self.records, "attributes": [dict(row) for row in self.attributes]}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.heading})"

    def __str__(self) -> str:
        table = text_table([HEAD, *self.rows()], right=NUMBERS)
        hints = [line for hint in self.hints() for line in paragraph(hint)]
        return "\n".join([self.heading, "", *table, *([""] if hints else []), *hints])

    def _repr_html_(self) -> str:
        hints = "".join(f"<p>{escape(hint)}</p>" for hint in self.hints())
        return html_table(self.rows(), HEAD, right=NUMBERS, caption=self.heading) + hints


@dataclass(frozen=True, repr=False)
class Description(TableOfAttributes):
    """A table described: the number of its records, and each attribute as `describe_attributes` gives it."""

    data: Microdata = field(kw_only=True)

    @property
    def heading(self) -> str:
        records = "series" if self.data.schema.panel is not None else "records"
        attributes = count(len(self.attributes), "attribute")
        edges = self.data.edges
        if edges is None:
            return f"{self.records:,} {records}, {attributes}"
        alone = int((edges.degrees == 0).sum())
        return (
            f"{self.records:,} nodes, {attributes}, {count(len(edges), 'edge')}; "
            f"{2 * len(edges) / max(1, self.records):.2f} edges a node on average, "
            f"{int(edges.degrees.max(initial=0)):,} at most, {count(alone, 'node')} without any"
        )

    @property
    def schema(self) -> Schema:
        """The schema as it was declared and guessed, with the categories found: to be corrected and used."""
        return with_domains(self.data)

    def to_plain(self) -> dict[str, Any]:
        edges = {} if self.data.edges is None else {"edges": len(self.data.edges)}
        plain = super().to_plain()
        return {"records": plain.pop("records"), **edges, **plain}


def describe(data: Any) -> Description:
    """What the columns of a table are: their kinds, roles, numbers of distinct and missing values, means and standard
    deviations, with hints where a column looks like something else. It shows no value of a record.

    >>> print(describe({"age": [20, 22, 41, 43], "job": ["cook", "cook", "judge", None]}))
    4 records, 2 attributes
    <BLANKLINE>
    name  kind     role  distinct  missing  mean  std. dev.  hint
    age   numeric               4        0  31.5      10.55
    job   nominal               2        1
    """
    table = as_microdata(data)
    return Description(tuple(describe_attributes(table)), len(table), data=table)


def describe_attributes(data: Microdata) -> list[dict[str, Any]]:
    """For each attribute its kind, roles, distinct values, missing cells, mean, standard deviation and hint.

    `looks_like` says in a word what the column may be, and `hint` what to do if it is that.
    """
    found = hints(data)
    rows = []
    panel = data.schema.panel
    values = set() if panel is None else set(panel.all_columns)
    if panel is not None:
        rows = [_variable(data, variable) for variable in panel.columns]
    for attribute in data.schema:
        if attribute.name in values:
            continue
        hint = found.get(attribute.name)
        row = row_of(attribute, hint) | {"distinct": distinct_values(data.frame, attribute.name)}
        try:
            row.update(_cells(data, attribute))
        except DataError as problem:  # a bad column is what one looks for here, so it must not end the description
            row["looks_like"], row["hint"] = "problem", str(problem)
        if attribute.level == "household":
            row["level"] = attribute.level
            problem_of_level = _members(data, attribute)
            if problem_of_level:
                said = (f"{row['hint']}; " if row["hint"] else "") + problem_of_level
                row["looks_like"], row["hint"] = row["looks_like"] or "problem", said
        rows.append(row)
    return rows


def row_of(attribute: Attribute, hint: Hint | None = None) -> dict[str, Any]:
    """What is known of an attribute before its cells are looked at."""
    return {
        "name": attribute.name,
        "kind": attribute.kind,
        "roles": list(attribute.roles),
        "label": attribute.label,
        "distinct": None,
        "missing": None,
        "missing_share": None,
        "missing_codes": None,
        "missing_policy": attribute.missing,
        "mean": None,
        "standard_deviation": None,
        "looks_like": None if hint is None else hint.looks_like,
        "hint": None if hint is None else hint.text,
    }


def _members(data: Microdata, attribute: Attribute) -> str:
    """What keeps an attribute of the household from being one; empty where members have the same value."""
    household = data.schema.household
    if household is None:
        return "declared as an attribute of the household, but no attribute is the household number: --household NAME"
    home, cells = (encoded(data.arrow(name)) for name in (household, attribute.name))
    known = home[1] < len(home[0])  # a record without a household number is one of its own
    pairs = np.unique(np.column_stack([home[1], cells[1]])[known], axis=0)[:, 0]
    differing = int((np.bincount(pairs) > 1).sum()) if len(pairs) else 0
    if not differing:
        return ""
    return (
        f"declared as an attribute of the household, but members of {count(differing, 'household')} differ; those with "
        "the same values are masked as one household, so correct errors first"
    )


def _variable(data: Microdata, variable: str) -> dict[str, Any]:
    """A variable of a table of series, over all its times."""
    panel = data.schema.panel
    assert panel is not None
    columns = tuple(panel.columns[variable])
    first = data[columns[0]]
    row = row_of(first) | {
        "name": variable,
        "kind": f"series of {len(columns):,}",
        "times": [str(time) for time in panel.times.to_pylist()] if panel.times is not None else [],
    }
    try:
        (series,) = data.series_among(columns)
    except DataError as problem:
        return row | {"looks_like": "problem", "hint": str(problem)}
    empty = np.isnan(series.values)
    row["distinct"] = len(np.unique(np.where(empty, np.inf, series.values), axis=0))
    row["missing"], row["missing_share"] = int(empty.sum()), 100 * float(empty.mean()) if empty.size else 0.0
    if not empty.all():
        row["mean"], row["standard_deviation"] = float(np.nanmean(series.values)), float(np.nanstd(series.values))
    lengths = (~empty).sum(axis=1)
    if len(data) and lengths.min() < lengths.max():
        row["hint"] = (
            f"series have {lengths.min():,} to {lengths.max():,} of {len(columns):,} values; methods that compare "
            "whole series need all of them: length=N in --series resamples them, fill=linear fills gaps"
        )
        row["looks_like"] = "incomplete"
    return row


def _cells(data: Microdata, attribute: Attribute) -> dict[str, Any]:
    states = data.missing_states(attribute.name)
    missing = int((states > 0).sum())
    found = missing_cells(len(data), missing, int((states > 1).sum()))
    if attribute.kind == "numeric" and missing < len(data):
        values = data.numbers(attribute.name).values
        found["mean"], found["standard_deviation"] = float(np.nanmean(values)), float(np.nanstd(values))
    return found


def missing_cells(records: int, missing: int, by_codes: int) -> dict[str, Any]:
    """How many cells are missing, and how many of them by a code that says so."""
    return {"missing": missing, "missing_share": 100 * missing / max(1, records), "missing_codes": by_codes}


def with_domains(data: Microdata) -> Schema:
    """The schema with the categories found in the table declared as domains, for the user to check and keep."""
    attributes = []
    for attribute in data.schema:
        declare = attribute.is_categorical and attribute.domain is None and "identifier" not in attribute.roles
        if declare:
            codes = set(attribute.missing_codes)
            found = tuple(v for v in data.domain(attribute.name) if v is not None and v not in codes)
            most = min(_LARGEST_DOMAIN, max(_ALWAYS_A_DOMAIN, int(_SHARE_OF_RECORDS * len(data))))
            if 0 < len(found) <= most and not (len(data) >= 20 and len(found) == len(data)):
                attribute = attribute.changed(domain=found)
        attributes.append(attribute)
    return Schema(attributes, data.schema.panel)
