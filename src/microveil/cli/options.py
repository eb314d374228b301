"""Options that several commands share, and what their texts mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from microveil.errors import ParameterError

Input = Annotated[Path, typer.Argument(help="The table: CSV, Parquet, Excel, SPSS, Stata or SAS.", metavar="IN")]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="Schema file (TOML); see 'describe --schema-out'.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel workbook; default: the first.")]
Delimiter = Annotated[str | None, typer.Option(help="Delimiter of the CSV input, where detection fails.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the CSV input, where detection fails.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal mark of the CSV input, where detection fails.")]


def columns(help: str) -> Any:  # noqa: A002
    """An option that takes a list of columns."""
    return typer.Option(help=help, metavar="A,B,...")


Keys = Annotated[str | None, columns("Attributes an intruder may know (quasi-identifiers).")]
Confidential = Annotated[str | None, columns("Attributes an intruder wants to learn.")]
Identifiers = Annotated[str | None, columns("Direct identifiers; they are left out of the release.")]
Nominal = Annotated[str | None, columns("Columns to treat as unordered categories.")]
Ordinal = Annotated[str | None, columns("Columns to treat as ordered categories (in sorted order).")]
Numeric = Annotated[str | None, columns("Columns to treat as numbers.")]
Weight = Annotated[str | None, typer.Option(help="The sampling weight.", metavar="NAME")]


def split(names: str | None) -> list[str] | None:
    """The names in a list with commas."""
    if names is None:
        return None
    named = [name.strip() for name in names.split(",") if name.strip()]
    if not named:
        raise ParameterError("a list of columns must name at least one, such as age,income")
    return named


def wishes_of(delimiter: str | None, encoding: str | None, decimal: str | None, sheet: str | None) -> dict[str, Any]:
    """How the file is to be read, where the user says so."""
    return {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "sheet": sheet}


def said_of(
    keys: str | None,
    confidential: str | None,
    identifiers: str | None,
    weight: str | None,
    nominal: str | None,
    ordinal: str | None,
    numeric: str | None,
) -> dict[str, Any]:
    """What the user says of the columns, over what the schema says."""
    return {
        "keys": split(keys), "confidential": split(confidential), "identifiers": split(identifiers),
        "weight": weight, "nominal": split(nominal), "ordinal": split(ordinal), "numeric": split(numeric),
    }  # fmt: skip


def settings_of(settings: Sequence[str] | None, option: str = "--set", example: str = "k=5") -> dict[str, str]:
    """The values by name that an option such as `--set k=5` gives."""
    given = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"{option} takes name=value, such as {option} {example}, not '{setting}'")
        if name.strip() in given:
            raise ParameterError(f"{option} gives {name.strip()} twice")
        given[name.strip()] = value.strip()
    return given
