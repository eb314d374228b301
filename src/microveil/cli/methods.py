"""`microveil methods`: what there is, with its parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from microveil.cli.options import Json
from microveil.cli.printing import console, print_json, say
from microveil.display import number
from microveil.errors import UnknownNameError

EXAMPLE = "Example: microveil methods suppress\n\nAll attacks: microveil methods --kind attack"
_TITLES = {"method": "Methods", "attack": "Attacks", "loss": "Losses", "score": "Scores", "control": "Controls"}
_WIDTH = 79
_KINDS = 4  # numeric, ordinal, nominal and location
_LIMITS = {"minimum": "at least", "above": "above", "maximum": "at most", "below": "below"}
_TYPES = {"int": "whole number", "float": "number", "str": "text", "bool": "true or false"}
_EXAMPLES = {
    "method": "microveil protect people.csv --schema people.toml --method {name}{attributes} --out safe.csv",
    "attack": "microveil assess people.csv safe.csv --attacks {name}",
    "loss": "microveil assess people.csv safe.csv --losses {name}",
    "score": "microveil assess people.csv safe.csv --score {name}",
    "control": 'microveil query people.csv --ask "SELECT COUNT(*) FROM data" --control "{name}"',
}
# of what is about series: a file with a row for every series and time
_SERIES = "meters.csv", " --series id=meter,time=time,value=load"
# of what is about graphs: a table of nodes and one of edges
_GRAPH = " --graph edges.csv --location home --keys home,topic1,topic2,topic3,age"
# attributes of people.csv that suit a method which cannot mask all of its keys
_NUMBERS, _CATEGORIES, _IN_ORDER = "age,income", "sex,education", "age,education"


def methods(
    name: Annotated[
        str | None, typer.Argument(help="Show this entry in full, with its parameters.", metavar="[NAME]")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="What to list: method (the default), attack, loss, score or control.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List methods, attacks, losses, scores or controls."""
    from microveil import registry
    from microveil.entries import ENTRIES

    if name is None:
        kind = kind or "method"
        entries = [registry.describe(kind, entry) for entry in registry.names(kind)]
        if as_json:
            print_json(entries)
        else:
            _list(kind, entries)
        return
    kinds = list(ENTRIES) if kind is None else [kind]
    found = {each: registry.describe(each, name) for each in kinds if registry.is_known(each, name)}
    if not found:
        known = [entry for each in kinds for entry in registry.names(each)]
        raise UnknownNameError(kind or "method, attack, loss, score or control", name, known)
    if as_json:
        print_json([{"kind": each, **entry} for each, entry in found.items()])
        return
    for each, entry in found.items():
        for line in _whole(each, entry, registry.find(each, name).__doc__ or ""):
            say(line)


def _list(kind: str, entries: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(title=_TITLES[kind], title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("name", no_wrap=True)
    for column in ("kinds", "what it does"):
        table.add_column(column)
    for entry in entries:
        kinds = "any" if len(entry["kinds"]) == _KINDS else ", ".join(entry["kinds"])
        origin = _origin(entry)
        table.add_row(entry["name"], kinds, entry["summary"] + (f" (from {origin})" if origin else ""))
    console().print(table)
    say("microveil methods NAME shows one of them with its parameters")


def _whole(kind: str, entry: Mapping[str, Any], doc: str) -> Iterator[str]:
    """An entry as text: what it does, what it is for, where it comes from, its parameters and an example."""
    yield from textwrap.wrap(f"{entry['name']} ({kind}, {entry['family']}): {entry['summary']}", _WIDTH)
    for paragraph in _paragraphs(doc):
        yield ""
        yield from textwrap.wrap(paragraph, _WIDTH)
    yield ""
    facts = {
        "Attributes": ", ".join(entry["kinds"]),
        "Missing values": entry["missing"],
        "Weights": entry.get("weights"),
        "Reads as": entry.get("meaning"),
        "Formula": entry.get("formula"),
        "Source": entry["source"],
        "Package": _origin(entry),
    }
    for title, text in facts.items():
        if text:
            yield from textwrap.wrap(f"{title}: {text}", _WIDTH, subsequent_indent="  ")
    yield ""
    yield "Parameters:" if entry["parameters"] else "It has no parameters."
    yield from _parameters(entry, None)
    for settings in entry.get("settings", ()):
        yield ""
        yield f"Parameters of its {settings['field']}:"
        yield from _parameters(entry, settings["field"])
        for name, other in settings["offered"].items():
            if name != settings["usual"]:
                told = f"{settings['field']}={name}: {other['summary']} (parameters: {', '.join(other['parameters'])})"
                yield from textwrap.wrap(f"  or {told}", _WIDTH, subsequent_indent="      ")
    yield ""
    yield "Example: " + _example(kind, entry)


def _example(kind: str, entry: Mapping[str, Any]) -> str:
    """A command in one line, to be copied."""
    from microveil.registry import find

    shown = _EXAMPLES[kind]
    cls = find(kind, entry["name"])
    if getattr(cls, "over_time", False) or getattr(cls, "of_series", False):
        file, declared = _SERIES
        shown = shown.replace("people.csv", file).replace(" --schema people.toml", declared)
        return shown.format(name=entry["name"], attributes="")
    if cls.__module__.startswith("microveil.graphs."):
        shown = shown.replace("people.csv safe.csv", "nodes.csv safe --graph edges.csv").replace("safe.csv", "safe")
        shown = shown.replace("people.csv", "nodes.csv").replace(" --schema people.toml", _GRAPH)
        return shown.format(name=entry["name"], attributes="")
    return shown.format(name=entry["name"], attributes=_attributes(cls))


def _parameters(entry: Mapping[str, Any], part: str | None) -> Iterator[str]:
    for parameter in entry["parameters"]:
        if parameter.get("part") == part:
            shown = f"  {parameter['name']}: {_allowed(parameter)}"
            yield from textwrap.wrap(shown, _WIDTH, subsequent_indent="      ")
            yield from textwrap.wrap(parameter["help"], _WIDTH, initial_indent="      ", subsequent_indent="      ")


def _origin(entry: Mapping[str, Any]) -> str:
    """The package that an entry comes from, if it is not built in."""
    return f"{entry['package']} {entry['version']}" if "package" in entry else ""


def _paragraphs(doc: str) -> list[str]:
    """The text of a docstring, without its examples in Python."""
    return [" ".join(part.split()) for part in doc.split(">>>")[0].split("\n\n") if part.strip()]


def _allowed(parameter: Mapping[str, Any]) -> str:
    """What a parameter can be, and what it is unless given."""
    if "choices" in parameter:
        unset = [] if "none" not in parameter["type"].split(" or ") else ["none"]
        allowed = " or ".join(str(choice) for choice in (*parameter["choices"], *unset))
    else:
        allowed = " or ".join(_type(part) for part in parameter["type"].split(" or "))
    limits = [f"{words} {number(parameter[limit])}" for limit, words in _LIMITS.items() if limit in parameter]
    default = "must be given" if parameter["required"] else f"default {_shown(parameter['default'])}"
    return ", ".join([allowed, *limits]) + f"; {default}"


def _type(name: str) -> str:
    if name.startswith("list of "):
        return f"{_type(name.removeprefix('list of '))}s, separated by commas"
    return _TYPES.get(name, name)


def _shown(value: Any) -> str:
    from microveil.parameters import shown

    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else shown(value)


def _attributes(cls: type[Any]) -> str:
    """The attributes of an example, where they are not the keys."""
    if getattr(cls, "needs_order", False):
        return f" --attributes {_IN_ORDER}"
    if "nominal" not in cls.kinds:
        return f" --attributes {_NUMBERS}"
    return f" --attributes {_CATEGORIES}" if "numeric" not in cls.kinds else ""
