"""Options that several commands share, and what their texts mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from microveil.errors import ParameterError
from microveil.units import probability

Input = Annotated[Path, typer.Argument(help="The table: CSV, Parquet, Excel, SPSS, Stata or SAS.", metavar="IN")]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="Schema file (TOML); see 'describe --schema-out'.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Engine = Annotated[
    str | None,
    typer.Option(
        help="For tables longer than memory, in a folder or a pattern of Parquet or CSV files: duckdb (this machine) "
        "or spark (this machine, or the cluster that spark-submit names).",
        metavar="NAME",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel workbook; default: the first.")]
Delimiter = Annotated[str | None, typer.Option(help="Delimiter of the CSV input, where detection fails.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the CSV input, where detection fails.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal mark of the CSV input, where detection fails.")]


def columns(help: str) -> Any:  # noqa: A002
    """An option that takes a list of columns."""
    return typer.Option(help=help, metavar="A,B,...")


Original = Annotated[Path, typer.Argument(help="The original table.", metavar="ORIGINAL")]
Masked = Annotated[
    Path,
    typer.Argument(
        help="The masked table: the same records in the same order, or matched with --match-by.", metavar="MASKED"
    ),
]
Compared = Annotated[
    str | None,
    columns(
        "Columns to compare; default: those in the manifest beside MASKED, else the keys and the changed columns, "
        "else all numeric columns."
    ),
]
Keys = Annotated[str | None, columns("Attributes an intruder may know (quasi-identifiers).")]
Confidential = Annotated[str | None, columns("Attributes an intruder wants to learn.")]
Identifiers = Annotated[str | None, columns("Direct identifiers; they are left out of the release.")]
Nominal = Annotated[str | None, columns("Columns to treat as unordered categories.")]
Ordinal = Annotated[
    str | None,
    typer.Option(
        help="Columns to treat as ordered categories; the order is that of numbers, ranges or a common scale, or is "
        'given: "size=small<medium<large".',
        metavar="A,B=X<Y<Z,...",
    ),
]
Location = Annotated[
    str | None,
    columns("Columns with names of places; the gazetteer gives their regions and countries, unless the schema does."),
]
Numeric = Annotated[str | None, columns("Columns to treat as numbers.")]
Known = Annotated[
    str | None,
    columns("Attributes the intruder knows; default: the declared keys only; without keys, the masked attributes."),
]


def _threshold(text: str) -> float:
    from microveil.attacks.reidentification import check_threshold

    try:
        return check_threshold(probability(text, "the threshold"))
    except ParameterError as problem:
        raise typer.BadParameter(str(problem)) from None  # of a ValueError, which it is too, only the value is shown


Threshold = Annotated[
    float,
    typer.Option(
        help="Probability of re-identification above which a record is at risk, such as 0.09 or 9%.",
        metavar="PROBABILITY",
        parser=_threshold,
    ),
]
MatchBy = Annotated[
    str | None,
    typer.Option(
        help="An identifier in both tables by which released records are matched with their originals; default: "
        "records are matched by their order.",
        metavar="ID",
    ),
]
Control = Annotated[
    Path | None,
    typer.Option(
        help="A control group: a table of records of the same population that are not in the release, with the columns "
        "of ORIGINAL. Attacks are run on it too, to show what is true of everybody and what the release leaks.",
        metavar="FILE",
    ),
]
Weight = Annotated[str | None, typer.Option(help="The sampling weight.", metavar="NAME")]
Household = Annotated[str | None, typer.Option(help="The household number; a release has new numbers.", metavar="NAME")]
SeriesOption = Annotated[
    str | None,
    typer.Option(
        "--series",
        help="The records are series: 'id=shop,time=month,value=sales' for a file with a row for every series and time "
        "(value may be repeated), 'wide' for a row for every series and a column for every time. Further parts: "
        "length=N resamples every series to N points, fill=linear fills gaps, keep-ids releases the original ids.",
        metavar="HOW",
    ),
]
GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--graph",
        help="The records are the nodes of a graph, and this table has its edges: the columns source and target, or "
        "the first two.",
        metavar="EDGES",
    ),
]
Flat = Annotated[
    bool,
    typer.Option(
        "--flat",
        help="With --graph: take the nodes as an ordinary table, with the number of their links as the key 'degree' "
        "and without the links themselves.",
    ),
]
Node = Annotated[
    str | None,
    typer.Option(
        help="With --graph: the column by which edges name the nodes; default: node or id, else the first one. A "
        "release has new numbers in it.",
        metavar="NAME",
    ),
]
HouseholdAttributes = Annotated[
    str | None,
    columns(
        "Attributes of the household, such as tenure or household income: every method masks them once for each "
        "household, so that its members stay alike. Needs --household."
    ),
]
Strata = Annotated[str | None, columns("Strata of the sampling design.")]
RecordId = Annotated[
    str | None,
    typer.Option(
        help="The id of a record, an identifier: random numbers are drawn by it, so that the same records in another "
        "order or in other files get the same ones.",
        metavar="NAME",
    ),
]


def split(names: str | None) -> list[str] | None:
    """The names in a list with commas."""
    if names is None:
        return None
    named = [name.strip() for name in names.split(",") if name.strip()]
    if not named:
        raise ParameterError("a list of columns must name at least one, such as age,income")
    return named


def ordered(names: str | None) -> dict[str, list[str] | None] | None:
    """The columns of `--ordinal`, each with its categories from the lowest to the highest where they are given."""
    given: dict[str, list[str] | None] = {}
    for entry in split(names) or ():
        name, equals, order = entry.partition("=")
        categories = [category.strip() for category in order.split("<")]
        if equals and (len(categories) < 2 or not all(categories)):
            raise ParameterError(
                f"--ordinal takes categories from the lowest to the highest, such as size=small<medium<large, not "
                f"'{entry}'; categories with a comma or < in them stand in a schema"
            )
        given[name.strip()] = categories if equals else None
    return given or None


@dataclass(frozen=True)
class TableOptions:
    """How a table is to be read and what its columns are, where the user says so."""

    schema: SchemaFile = None
    keys: Keys = None
    confidential: Confidential = None
    identifiers: Identifiers = None
    weight: Weight = None
    household: Household = None
    household_attributes: HouseholdAttributes = None
    strata: Strata = None
    record_id: RecordId = None
    nominal: Nominal = None
    ordinal: Ordinal = None
    numeric: Numeric = None
    location: Location = None
    series: SeriesOption = None
    graph: GraphFile = None
    node: Node = None
    flat: Flat = False
    sheet: Sheet = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    decimal: Decimal = None

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is to be read."""
        return {name: getattr(self, name) for name in ("delimiter", "encoding", "decimal", "sheet")}

    @property
    def described(self) -> dict[str, Any]:
        """The description of the columns, which goes before the schema's."""
        roles = ("keys", "confidential", "identifiers", "strata", "household_attributes")
        lists = (*roles, "nominal", "numeric", "location")
        return {
            "weight": self.weight,
            "household": self.household,
            "record_id": self.record_id,
            "series": self.series,
            "graph": self.graph,
            "node": self.node,
            "flat": self.flat,
            "ordinal": ordered(self.ordinal),
            **{name: split(getattr(self, name)) for name in lists},
        }


def with_table_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with a parameter `table: TableOptions` takes each of these options by itself, but for those of which it
    has one of its own."""
    own = inspect.signature(command, eval_str=True).parameters
    every = inspect.signature(TableOptions, eval_str=True).parameters
    shared = {name: parameter for name, parameter in every.items() if name not in own}

    @wraps(command)
    def expanded(**given: Any) -> None:
        table = TableOptions(**{name: given.pop(name) for name in shared})
        command(**given, table=table)

    parameters = [
        taken.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in own.items()
        for taken in (shared.values() if name == "table" else (parameter,))
    ]
    # typer looks at both to know what a command takes
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


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


def required(require: Sequence[str] | None) -> dict[str, float]:
    """What `--require k=5` or `--require "age,sex >= 5"` asks for, by name."""
    from microveil.masking.guarantees import RISK, check_requirements
    from microveil.microdata.combinations import combinations_of

    wanted: dict[str, float] = {}
    listed = [text for text in require or () if ">=" in text]
    for asked in combinations_of(listed) if listed else ():
        wanted[asked.name] = max(asked.at_least, wanted.get(asked.name, 0.0))
    for name, text in settings_of([text for text in require or () if ">=" not in text], "--require").items():
        if name == RISK:
            wanted[name] = probability(text, "the risk of --require")
            continue
        try:
            wanted[name] = float(text)
        except ValueError:
            raise ParameterError(f"--require takes a number, such as --require k=5, not '{text}'") from None
    return check_requirements(wanted)
