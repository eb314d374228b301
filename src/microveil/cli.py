"""The command line: thin. It parses, calls, prints. Heavy imports wait until a command needs them."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.exceptions import TyperException

import microveil
from microveil.errors import MicroveilError, ParameterError, SchemaError, UnknownNameError

if TYPE_CHECKING:
    from microveil.battery import Battery
    from microveil.masking import Plan, Release
    from microveil.masking.guarantees import Guarantees
    from microveil.microdata import Microdata
    from microveil.progress import Progress
    from microveil.scoring import Assessment

_PROTECT_EXAMPLE = (
    "Example: microveil protect people.csv --keys age,zip,income --method mdav --set k=5 --seed 7 --out safe.csv"
)

app = typer.Typer(
    name="microveil",
    epilog=_PROTECT_EXAMPLE,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)

FAILED, BAD_USAGE = 1, 2
_INTERRUPTED = 130  # what typer makes of an interruption

_Input = Annotated[Path, typer.Argument(help="The table: CSV, Parquet, Excel, SPSS, Stata or SAS.", metavar="IN")]
_SchemaFile = Annotated[Path | None, typer.Option("--schema", help="Schema file (TOML); see 'describe --schema-out'.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
_Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel workbook; default: the first.")]
_Delimiter = Annotated[str | None, typer.Option(help="Delimiter of the CSV input, where detection fails.")]
_Encoding = Annotated[str | None, typer.Option(help="Encoding of the CSV input, where detection fails.")]
_Decimal = Annotated[str | None, typer.Option(help="Decimal mark of the CSV input, where detection fails.")]


def _names(help: str) -> Any:  # noqa: A002
    return typer.Option(help=help, metavar="A,B,...")


_Keys = Annotated[str | None, _names("Attributes an intruder may know (quasi-identifiers).")]
_Confidential = Annotated[str | None, _names("Attributes an intruder wants to learn.")]
_Identifiers = Annotated[str | None, _names("Direct identifiers; they are left out of the release.")]
_Nominal = Annotated[str | None, _names("Columns to treat as unordered categories.")]
_Ordinal = Annotated[str | None, _names("Columns to treat as ordered categories (in sorted order).")]
_Numeric = Annotated[str | None, _names("Columns to treat as numbers.")]
_Weight = Annotated[str | None, typer.Option(help="The sampling weight.", metavar="NAME")]


def main() -> None:
    """Run the command line; whatever goes wrong ends in one sentence and a status."""
    _speak_of_compiling()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    try:
        # not standalone: typer would answer in paragraphs of its own
        status = app(standalone_mode=False)
        if status == _INTERRUPTED:
            _fail("cancelled; nothing was written", FAILED)
        sys.exit(status if isinstance(status, int) else 0)
    except TyperException as problem:
        _fail(f"{problem.format_message().rstrip('.')}; see --help", BAD_USAGE)
    except MicroveilError as problem:
        _fail(
            str(problem), BAD_USAGE if isinstance(problem, ParameterError | SchemaError | UnknownNameError) else FAILED
        )
    except KeyboardInterrupt:
        _fail("cancelled; nothing was written", FAILED)
    except MemoryError:
        _fail("there is not enough memory for this", FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except Exception as problem:
        if os.environ.get("MICROVEIL_DEBUG"):
            raise
        # the text of an unforeseen error may hold values of records, so only its type is shown
        _fail(f"internal error ({type(problem).__name__}); MICROVEIL_DEBUG=1 shows the details", FAILED)


def _interrupt(number: int, frame: object) -> None:
    """Ending a process from outside is an interruption too: what is half written goes away."""
    raise KeyboardInterrupt


def _fail(sentence: str, status: int) -> None:
    sys.stderr.write(f"microveil: {' '.join(sentence.split())}\n")
    sys.exit(status)


def _note(sentence: str) -> None:
    sys.stderr.write(f"note: {sentence}\n")


def _say(text: str = "") -> None:
    sys.stdout.write(text + "\n")


def _print_json(content: Any) -> None:
    _say(json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(content: Any) -> Any:
    """JSON knows no infinity: such numbers become null."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _note(record.getMessage())


def _speak_of_compiling() -> None:
    logger = logging.getLogger("microveil")
    logger.addHandler(_Notes())
    logger.setLevel(logging.INFO)


@contextmanager
def _bar(label: str) -> Iterator[Progress]:
    """A progress bar on the terminal that appears after a moment and goes when the work is done."""
    import time

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeRemainingColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    task = bar.add_task(label, total=1.0)
    began, shown = time.monotonic(), False

    def report(fraction: float, text: str, /) -> None:
        nonlocal shown
        if not shown and time.monotonic() - began > 0.5:
            bar.start()
            shown = True
        bar.update(task, completed=fraction, description=text or label)

    try:
        yield report
    finally:
        if shown:
            bar.stop()


def _split(names: str | None) -> list[str] | None:
    if names is None:
        return None
    named = [name.strip() for name in names.split(",") if name.strip()]
    if not named:
        raise ParameterError("a list of columns must name at least one, such as age,income")
    return named


def _console() -> Any:
    from rich.console import Console

    # a pipe or a file gets the whole width, so that nothing is cut there
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def _version(wanted: bool) -> None:
    if wanted:
        _say(f"microveil {microveil.__version__}")
        raise typer.Exit


@app.callback()
def microveil_command(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Statistical disclosure control: mask a table, measure what an intruder could learn and what an analyst loses."""


@app.command(epilog="Example: microveil methods --kind attack --json")
def methods(
    kind: Annotated[str, typer.Option(help="What to list: method, attack or loss.")] = "method",
    as_json: _Json = False,
) -> None:
    """List the methods, attacks or losses with their parameters."""
    from microveil import registry

    entries = [registry.describe(kind, name) for name in registry.names(kind)]
    if as_json:
        _print_json(entries)
        return
    from rich.table import Table

    table = Table(title={"method": "Methods", "attack": "Attacks", "loss": "Losses"}[kind], title_justify="left")
    for column in ("name", "family", "kinds", "what it does", "parameters (default)"):
        table.add_column(column, overflow="fold")
    for entry in entries:
        parameters = "\n".join(f"{p['name']} ({_default(p)}): {p['help']}" for p in entry["parameters"])
        table.add_row(entry["name"], entry["family"], ", ".join(entry["kinds"]), entry["summary"], parameters or "none")
    _console().print(table)


def _default(parameter: dict[str, Any]) -> str:
    value = parameter["default"]
    if isinstance(value, list):
        return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in value)
    return str(value)


@app.command(epilog="Example: microveil describe people.csv --keys age,zip --schema-out people.toml")
def describe(
    path: _Input,
    schema: _SchemaFile = None,
    keys: _Keys = None,
    confidential: _Confidential = None,
    identifiers: _Identifiers = None,
    weight: _Weight = None,
    nominal: _Nominal = None,
    ordinal: _Ordinal = None,
    numeric: _Numeric = None,
    schema_out: Annotated[Path | None, typer.Option(help="Write the schema, for you to correct and use again.")] = None,
    force: _Force = False,
    as_json: _Json = False,
    sheet: _Sheet = None,
    delimiter: _Delimiter = None,
    encoding: _Encoding = None,
    decimal: _Decimal = None,
) -> None:
    """Say what the columns of a table are, with what Microveil guesses about them."""
    from microveil.microdata.description import describe_attributes, with_domains
    from microveil.microdata.files.atomic import check_output

    if schema_out is not None:
        check_output(schema_out, force=force)
    wishes = _wishes(delimiter, encoding, decimal, sheet)
    said = _said(keys, confidential, identifiers, weight, nominal, ordinal, numeric)
    with _bar(f"reading {path.name}") as bar:
        data = _read(path, schema, bar, **wishes, **said)
    rows = describe_attributes(data)
    if schema_out is not None:
        with_domains(data).write(schema_out, force=force)
    if as_json:
        _print_json({"records": len(data), "attributes": rows})
        return
    from rich.table import Table

    table = Table(title=f"{path.name}: {len(data):,} records, {len(rows)} attributes", title_justify="left")
    for column in ("name", "kind", "role", "different", "missing", "mean", "deviation", "to look at"):
        table.add_column(column, justify="right" if column in ("different", "missing", "mean", "deviation") else "left")
    for row in rows:
        numbers = [f"{row[k]:,.4g}" if row.get(k) is not None else "" for k in ("mean", "deviation")]
        missing = f"{row['missing']:,} ({row['missing_share']:.1f} %)" if row["missing"] else str(row["missing"] or 0)
        table.add_row(
            row["name"],
            row["kind"],
            ", ".join(row["roles"]),
            f"{row['different']:,}",
            missing,
            *numbers,
            row["suggestion"] or "",
        )
    _console().print(table)
    if schema_out is not None:
        _say(f"schema written to {schema_out}")


def _wishes(delimiter: str | None, encoding: str | None, decimal: str | None, sheet: str | None) -> dict[str, Any]:
    """How the file is to be read, where the user says so."""
    return {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "sheet": sheet}


def _said(
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
        "keys": _split(keys), "confidential": _split(confidential), "identifiers": _split(identifiers),
        "weight": weight, "nominal": _split(nominal), "ordinal": _split(ordinal), "numeric": _split(numeric),
    }  # fmt: skip


def _read(path: Path, schema: Any, progress: Progress, **options: Any) -> Microdata:
    from microveil.microdata.files import read

    return read(path, schema=schema, progress=progress, **options)


@app.command(epilog=_PROTECT_EXAMPLE)
def protect(
    path: _Input,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write; its manifest is written beside it.")],
    method: Annotated[str | None, typer.Option("--method", "-m", help="The method; see 'microveil methods'.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the method.", metavar="NAME=VALUE")
    ] = None,
    attributes: Annotated[
        str | None, _names("Columns to mask; default: the keys, or all numeric columns where no role is given.")
    ] = None,
    keys: _Keys = None,
    confidential: _Confidential = None,
    identifiers: _Identifiers = None,
    weight: _Weight = None,
    nominal: _Nominal = None,
    ordinal: _Ordinal = None,
    numeric: _Numeric = None,
    schema: _SchemaFile = None,
    plan: Annotated[
        Path | None, typer.Option(help="A plan (TOML) or a manifest (JSON) to carry out, instead of --method.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="What the release must guarantee over its keys: k, population, l, entropy-l, recursive-l (at least), "
            "or t (at most); counted before anything is written.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed, a whole number from 0; drawn and recorded if not given.")
    ] = None,
    force: _Force = False,
    as_json: _Json = False,
    sheet: _Sheet = None,
    delimiter: _Delimiter = None,
    encoding: _Encoding = None,
    decimal: _Decimal = None,
) -> None:
    """Mask a table and write the release with a manifest from which it can be made again."""
    from dataclasses import replace

    from microveil.masking.release import check_place
    from microveil.progress import Part
    from microveil.protection import protect as carry_out
    from microveil.randomness import check_seed

    the_plan, manifest = _the_plan(plan, method, settings, attributes)
    the_plan = replace(the_plan, require={**the_plan.require, **_required(require)})
    if seed is not None:
        check_seed(seed)
    _check_places(path, out)
    check_place(out, force=force)
    wishes = _wishes(delimiter, encoding, decimal, sheet)
    said = _said(keys, confidential, identifiers, weight, nominal, ordinal, numeric)
    if manifest is not None:
        wishes.update({k: v for k, v in manifest["input"].get("dialect", {}).items() if wishes[k] is None})
    with _bar(f"protecting {path.name}") as bar:
        # the plan's schema decides how columns are read; what is said on the command line goes on top of it
        data = _read(path, schema or the_plan.schema, Part(bar, 0.0, 0.1), **wishes, **said)
        release = carry_out(data, replace(the_plan, schema=None), seed=seed, progress=Part(bar, 0.1, 0.9))
        bar(0.9, f"writing {out.name}")
        written, beside = release.save(out, force=force)
    _advise(data, release)
    if manifest is not None:
        _compare_with(manifest, release, written)
    if as_json:
        guarantees = release.guarantees.to_plain()
        plain = release.provenance.to_plain()
        _print_json({"release": str(written), "manifest": str(beside), "guarantees": guarantees, **plain})
        return
    for step in release.provenance.steps:
        settings_text = ", ".join(f"{k}={_shown(v)}" for k, v in step.parameters.items() if v is not None)
        _say(f"{step.method} ({settings_text}) on {', '.join(step.attributes or ())}")
    if release.partition is not None:
        _say(f"{len(release.partition):,} groups, the smallest of {release.partition.smallest} records")
    _say_guarantees(release.guarantees)
    as_they_were = [n for n in release.data.names if n not in release.provenance.attributes]
    if as_they_were:
        _say(f"released as they were: {', '.join(as_they_were)}")
    if release.provenance.left_out:
        _say(f"left out (identifiers): {', '.join(release.provenance.left_out)}")
    for remark in release.provenance.notes:
        _say(remark)
    _say(f"seed {release.provenance.seed}; {len(release):,} records written to {written}")
    _say(f"manifest written to {beside}; keep it private, for its seed helps to undo the masking")


def _the_plan(
    plan: Path | None, method: str | None, settings: Sequence[str] | None, attributes: str | None
) -> tuple[Plan, dict[str, Any] | None]:
    from microveil.masking.plan import Plan, Step, read_plan
    from microveil.registry import make

    if (plan is None) == (method is None):
        raise ParameterError("give either --method NAME or --plan FILE")
    if plan is not None:
        if settings or attributes:
            raise ParameterError("--set and --attributes belong to --method; with --plan they stand in the plan")
        return read_plan(plan)
    assert method is not None
    built = make("method", method, _settings(settings), text=True)
    chosen = _split(attributes)
    return Plan((Step(method, built.parameters(), None if chosen is None else tuple(chosen)),)), None


def _shown(value: object) -> str:
    """A parameter as it would be typed; a method inside another as its name and settings."""
    if isinstance(value, dict) and "name" in value:
        rest = "".join(f" {k}={v}" for k, v in value.items() if k != "name" and v is not None)
        return f"{value['name']}{rest}"
    return str(value)


def _required(require: Sequence[str] | None) -> dict[str, float]:
    from microveil.masking.guarantees import check_requirements

    wanted = {}
    for name, text in _settings(require, "--require").items():
        try:
            wanted[name] = float(text)
        except ValueError:
            raise ParameterError(f"--require takes a number, such as --require k=5, not '{text}'") from None
    return check_requirements(wanted)


def _say_guarantees(guarantees: Guarantees) -> None:
    """What the release guarantees, by counting."""
    from microveil.microdata.microdata import count

    over = ", ".join(guarantees.keys)
    people = "" if guarantees.population is None else f", for {guarantees.population:,.0f} of the population"
    if guarantees.k < 2:
        _say(f"{count(guarantees.below(2), 'record')} stand alone in their combination of {over}")
        return
    _say(f"every combination of {over} is shared by at least {guarantees.k:,} records{people}")
    for name, found in guarantees.diversity.items():
        _say(
            f"{name}: at least {count(found.distinct, 'different value')} for every combination (entropy "
            f"{found.entropy:.2f}, recursive {found.recursive}), at most {found.closeness:.2f} from the whole table"
        )


def _settings(settings: Sequence[str] | None, option: str = "--set") -> dict[str, str]:
    given = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"{option} takes name=value, such as {option} k=5, not '{setting}'")
        if name.strip() in given:
            raise ParameterError(f"{option} gives {name.strip()} twice")
        given[name.strip()] = value.strip()
    return given


def _check_places(path: Path, out: Path) -> None:
    if path.exists() and out.exists() and path.samefile(out):
        raise ParameterError(f"the release would overwrite the original {path}; choose another name for --out")


def _advise(data: Microdata, release: Release) -> None:
    """What a careful colleague would say before this goes out."""
    from microveil.microdata.inference import suggestions

    for name, hint in suggestions(data).items():
        if name in release.data.names and name not in release.provenance.attributes:
            if "identifier" in hint:
                _note(f"column '{name}': {hint} It is in the release as it was; --identifiers {name} leaves it out.")
            elif "are numbers" in hint:
                _note(f"column '{name}': {hint} It was taken for text and is in the release as it was.")


def _compare_with(manifest: dict[str, Any], release: Release, written: Path) -> None:
    """Say where a release made from a manifest differs from the one the manifest came with."""
    from microveil.masking.release import file_digest

    if manifest.get("input", {}).get("digest") != release.provenance.input_digest:
        _note("the input is not the one this manifest was made from, so the release is a new one")
        return
    expected = manifest.get("output", {})
    if expected.get("file_sha256") == file_digest(written):
        _note("the same bytes as the release this manifest came with")
    elif expected.get("digest") == release.data.digest():
        _note("the same values as the release this manifest came with, written in another form")
    else:
        _note(
            f"the values differ from the release this manifest came with; it was made with {manifest.get('versions')}"
        )


@app.command(epilog="Example: microveil assess people.csv safe.csv --keys age,zip,income --json")
def assess(
    original: Annotated[Path, typer.Argument(help="The original table.", metavar="ORIGINAL")],
    masked: Annotated[Path, typer.Argument(help="The masked table, same records in the same order.", metavar="MASKED")],
    attributes: Annotated[
        str | None,
        _names("Columns to compare; default: those of the manifest beside MASKED, the keys, or all numeric."),
    ] = None,
    known: Annotated[str | None, _names("What the intruder knows; default: the columns compared.")] = None,
    attacks: Annotated[
        str | None,
        _names("Attacks to run; default: the general ones; 'all': also those of an intruder who knows the method."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of an attack named with --attacks.", metavar="ATTACK.NAME=VALUE"),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="With --attacks all: say what each risk means, with an example record.")
    ] = False,
    losses: Annotated[str | None, _names("Losses to measure; default: all that fit.")] = None,
    keys: _Keys = None,
    confidential: _Confidential = None,
    weight: _Weight = None,
    nominal: _Nominal = None,
    ordinal: _Ordinal = None,
    numeric: _Numeric = None,
    schema: _SchemaFile = None,
    as_json: _Json = False,
    sheet: _Sheet = None,
    delimiter: _Delimiter = None,
    encoding: _Encoding = None,
    decimal: _Decimal = None,
) -> None:
    """Measure what an intruder could learn from a masked table and what an analyst has lost."""
    from microveil.progress import Part
    from microveil.registry import make
    from microveil.scoring import assess as measure

    every = _split(attacks) == ["all"]
    if explain and (not every or as_json):
        raise ParameterError("--explain goes with --attacks all, and not with --json: it shows values of a record")
    chosen_attacks: Any = "all" if every else None
    named = [] if every else _split(attacks) or []
    given = _settings_of_attacks(settings, named)
    if attacks is not None and not every:
        chosen_attacks = [make("attack", name, given.get(name, {}), text=True) for name in named]
    chosen_losses = None if losses is None else [make("loss", name) for name in _split(losses) or ()]
    plan, manifest = _from_manifest(masked)
    chosen = None
    if plan is not None:
        chosen = list(dict.fromkeys(name for step in plan.steps for name in step.attributes or ())) or None
    if attributes is not None or keys is not None:
        chosen = _split(keys if attributes is None else attributes)
    wishes = _wishes(delimiter, encoding, decimal, sheet)
    said = _said(keys, confidential, None, weight, nominal, ordinal, numeric)
    with _bar(f"assessing {masked.name}") as bar:
        before = _read(original, schema or (plan.schema if plan else None), Part(bar, 0.0, 0.1), **wishes, **said)
        after = _read(masked, None, Part(bar, 0.1, 0.2), like=before, **wishes)
        release: Any = after
        if plan is not None and manifest is not None and (every or len(after) < len(before)):
            release = _read_back(before, after, plan, manifest)
        assessment = measure(
            before, release, chosen, known=_split(known), attacks=chosen_attacks, losses=chosen_losses,
            progress=Part(bar, 0.2, 1.0),
        )  # fmt: skip
    if as_json:
        _print_json(assessment.to_plain())
        return
    _print_assessment(assessment)
    if assessment.battery is not None:
        _print_battery(assessment.battery)
    if explain and assessment.battery is not None:
        for label in assessment.battery.risks:
            _say("")
            _say(assessment.battery.explain(label, before, release))


def _settings_of_attacks(settings: Sequence[str] | None, named: Sequence[str]) -> dict[str, dict[str, str]]:
    """What --set says, by attack: `distance-linkage.metric=gower`."""
    by_attack: dict[str, dict[str, str]] = {}
    for place, value in _settings(settings).items():
        attack, dot, parameter = place.partition(".")
        if not dot:
            raise ParameterError(f"--set takes attack.name=value, such as distance-linkage.metric=gower, not '{place}'")
        if attack not in named:
            raise ParameterError(f"--set {place} needs the attack to be named: --attacks {attack}")
        by_attack.setdefault(attack, {})[parameter] = value
    return by_attack


def _from_manifest(masked: Path) -> tuple[Plan | None, dict[str, Any] | None]:
    """The plan and the manifest beside a released file, if it belongs to that file."""
    from microveil.masking.plan import read_plan
    from microveil.masking.release import file_digest, manifest_path

    beside = manifest_path(masked)
    if not (beside.is_file() and masked.is_file()):
        return None, None
    plan, manifest = read_plan(beside)
    if manifest is None or manifest.get("output", {}).get("file_sha256") != file_digest(masked):
        _note(f"{masked.name} is not the file its manifest was written for, so the manifest is not used")
        return None, None
    return plan, manifest


def _read_back(before: Microdata, after: Microdata, plan: Plan, manifest: dict[str, Any]) -> Release:
    """The release as it was made. What its manifest does not hold, the groups, matrices and records used, is found by
    carrying out the plan again; where that gives another table, it is done without.
    """
    from dataclasses import replace

    from microveil.errors import MicroveilError
    from microveil.masking.release import release_from
    from microveil.protection import protect

    release = release_from(after, plan, manifest)
    try:
        again = protect(before, replace(plan, schema=None, require={}))
    except MicroveilError:
        return release
    if again.data.digest() != manifest.get("output", {}).get("digest"):
        return release
    return replace(release, partitions=again.partitions, matrices=again.matrices, rows=again.rows)


def _print_battery(battery: Battery) -> None:
    """What all attacks together say: the worst, who is in danger, what gives them away, what was not run."""
    from microveil.microdata.microdata import count

    plain = battery.to_plain()
    if battery.worst_linkage is not None:
        risk = battery.risks[battery.worst_linkage]
        _say(
            f"worst linkage: {battery.worst_linkage}, {risk.value:.2f} % of the records "
            f"(95 % interval {risk.low:.2f} to {risk.high:.2f})"
        )
    vulnerable = plain["vulnerable"]
    _say(
        f"{count(plain['certain'], 'record')} linked beyond doubt; {vulnerable['0.5']:,} with a probability of one "
        f"half or more, {vulnerable['0.1']:,} of one tenth or more"
    )
    if battery.contributions:
        told = ", ".join(f"{name} {points:+.2f}" for name, points in battery.contributions.items())
        _say(f"what gives them away (points of the worst linkage that go without the attribute): {told}")
    reasons: dict[str, list[str]] = {}
    for name, reason in battery.passed_over.items():
        reasons.setdefault(reason, []).append(name)
    for reason, attacks in reasons.items():
        _say(f"not run ({reason}): {', '.join(attacks)}")


def _print_assessment(assessment: Assessment) -> None:
    from rich.table import Table

    table = Table(title=f"{assessment.records:,} records; {', '.join(assessment.attributes)}", title_justify="left")
    table.add_column("")
    table.add_column("measure")
    table.add_column("%", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("what it means", overflow="fold")
    for sort, name, value, meaning in assessment.rows():
        risk = assessment.risks.get(name) if sort == "risk" else None
        interval = f"{risk.low:.2f} to {risk.high:.2f}" if risk else ""
        sampled = f" ({risk.attacked:,} records attacked)" if risk and risk.attacked < assessment.records else ""
        table.add_row(sort, name, f"{value:.2f}", interval, meaning + sampled)
    _console().print(table)


@app.command(epilog="Example: microveil demo --out demo-output --records 5000")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the files it makes.")] = Path("demo-output"),
    records: Annotated[int, typer.Option(help="Number of persons in the sample survey.", min=50)] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the survey and of the methods.", min=0)] = 1,
    force: _Force = False,
    as_json: _Json = False,
) -> None:
    """Protect a fictional survey in many ways, rank them, and write the best release and a page about all of them."""
    from microveil import demo as demonstration

    with _bar("demo") as bar:
        made = demonstration.run(out, records=records, seed=seed, force=force, progress=bar)
    rows = [
        (r.candidate.label, r.assessment.score, r.assessment.risks["distance-linkage"].value)
        for r in made.study.results
    ]
    if as_json:
        ranking = [{"candidate": label, **score.to_plain(), "links": links} for label, score, links in rows]
        _print_json({"release": str(made.release_file), "page": str(made.page), "ranking": ranking})
        return
    from rich.table import Table

    table = Table(
        title=f"{len(made.data):,} fictional persons, {len(rows)} candidates, best first", title_justify="left"
    )
    for column in ("", "candidate", "loss", "risk", "score", "links"):
        table.add_column(column, justify="left" if column == "candidate" else "right")
    for place, (label, score, links) in enumerate(rows, start=1):
        style = "bold" if place == 1 else None
        cells = (f"{score.loss:.2f}", f"{score.risk:.2f}", f"{score.mean:.2f}", f"{links:.2f} %")
        table.add_row(str(place), label, *cells, style=style)
    _console().print(table)
    _say("loss: what an analyst loses; risk: what an intruder gains; score: their mean; 0 to 100, lower is better")
    _say("links: records that an intruder who knows all masked attributes links to the right person")
    _say()
    _say(f"best release   {made.release_file}")
    _say(f"its manifest   {made.manifest_file}")
    _say(f"the page       {made.page}  (open it in a browser; it needs no network)")
    _say(f"make it again  {made.again}")


if __name__ == "__main__":
    main()
