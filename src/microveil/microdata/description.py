"""A table described attribute by attribute, without showing any record's value."""

from __future__ import annotations

from typing import Any

import numpy as np

from microveil.errors import DataError
from microveil.microdata.frames import distinct_values
from microveil.microdata.hints import hints
from microveil.microdata.microdata import Microdata
from microveil.microdata.schema import Attribute, Schema

# more categories than this, or nearly as many as records, are rather names or texts than a domain worth declaring
_LARGEST_DOMAIN, _ALWAYS_A_DOMAIN, _SHARE_OF_RECORDS = 500, 12, 0.25


def describe_attributes(data: Microdata) -> list[dict[str, Any]]:
    """For each attribute its kind, roles, distinct values, missing cells, mean, standard deviation and hint.

    `looks_like` says in a word what the column may be, and `hint` what to do if it is that.
    """
    found = hints(data)
    rows = []
    for attribute in data.schema:
        hint = found.get(attribute.name)
        row: dict[str, Any] = {
            "name": attribute.name,
            "kind": attribute.kind,
            "roles": list(attribute.roles),
            "label": attribute.label,
            "distinct": distinct_values(data.frame, attribute.name),
            "missing": None,
            "missing_share": None,
            "missing_codes": None,
            "missing_policy": attribute.missing,
            "mean": None,
            "standard_deviation": None,
            "looks_like": None if hint is None else hint.sort,
            "hint": None if hint is None else hint.text,
        }
        try:
            row.update(_cells(data, attribute))
        except DataError as problem:  # a bad column is what one looks for here, so it must not end the description
            row["looks_like"], row["hint"] = "problem", str(problem)
        rows.append(row)
    return rows


def _cells(data: Microdata, attribute: Attribute) -> dict[str, Any]:
    states = data.missing_states(attribute.name)
    missing = int((states > 0).sum())
    found: dict[str, Any] = {
        "missing": missing,
        "missing_share": 100 * missing / max(1, len(data)),
        "missing_codes": int((states > 1).sum()),
    }
    if attribute.kind == "numeric" and missing < len(data):
        values = data.numbers(attribute.name).values
        found["mean"], found["standard_deviation"] = float(np.nanmean(values)), float(np.nanstd(values))
    return found


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
    return Schema(attributes)
