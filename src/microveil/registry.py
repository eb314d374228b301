"""Every method, attack, loss and score by its short name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from microveil.entries import ENTRIES
from microveil.errors import ParameterError, UnknownNameError, nearest_name, shortened
from microveil.parameters import (
    Parameterised,
    component_parameters,
    describe_parameters,
    from_text,
    parameter_names,
)

if TYPE_CHECKING:
    from microveil.attacks import Attack
    from microveil.losses import LossMeasure
    from microveil.masking import Method


def names(kind: str = "method") -> tuple[str, ...]:
    """The registered names of one kind, in order."""
    if kind not in ENTRIES:
        raise UnknownNameError("kind of entry", kind, ENTRIES)
    return tuple(ENTRIES[kind])


def find(kind: str, name: str) -> type[Any]:
    """The class behind a name."""
    if not isinstance(name, str):
        given = name.__name__ if isinstance(name, type) else type(name).__name__
        raise ParameterError(f"{kind} takes a name in quotes, such as {kind}('{names(kind)[0]}'), not {given}")
    if name not in names(kind):
        raise UnknownNameError(kind, name, names(kind))
    module, cls = ENTRIES[kind][name].split(":")
    found: type[Any] = getattr(importlib.import_module(module), cls)
    return found


def make(kind: str, name: str, parameters: Mapping[str, Any] | None = None, *, text: bool = False) -> Any:
    """Build a component by name; with `text`, the values are texts as typed on a command line."""
    cls = find(kind, name)
    given = dict(parameters or {})
    known = parameter_names(cls)
    for parameter in given:
        if parameter not in known:
            raise ParameterError(
                f"{name} has no parameter '{shortened(str(parameter))}'{nearest_name(str(parameter), known)}"
            )
    for parameter in component_parameters(cls):
        if parameter in given:
            given[parameter] = _made_inside(f"{name}: {parameter}", given[parameter])
    return from_text(cls, given) if text else cls(**given)


def _made_inside(where: str, given: Any) -> Any:
    """A method that is a parameter of another, from its plain forms: `{"name": "mdav", "k": 5}` or "mdav k=5".

    Other things are left as they are: either it is a method already, or the component says what is wrong with it.
    """
    if isinstance(given, Mapping):
        rest = dict(given)
        name = rest.pop("name", None)
        if not isinstance(name, str):
            raise ParameterError(f"{where} needs the name of a method, such as {{ name = 'mdav', k = 5 }}")
        return make("method", name, rest)
    if isinstance(given, str):
        words = given.split()
        settings = [word.partition("=") for word in words[1:]]
        if not words or not all(equals for _, equals, _ in settings):
            raise ParameterError(f"{where} is a method with its parameters, such as 'mdav k=5', not '{given}'")
        return make("method", words[0], {name: value for name, _, value in settings}, text=True)
    return given


def method(name: str, **parameters: Any) -> Method:
    """A method by its name: `method("mdav", k=5)`."""
    made: Method = make("method", name, parameters)
    return made


def attack(name: str, **parameters: Any) -> Attack:
    """An attack by its name."""
    made: Attack = make("attack", name, parameters)
    return made


def loss(name: str, **parameters: Any) -> LossMeasure:
    """A loss by its name."""
    made: LossMeasure = make("loss", name, parameters)
    return made


def describe(kind: str, name: str) -> dict[str, Any]:
    """Everything a program or a page needs to show an entry."""
    cls: type[Parameterised] = find(kind, name)
    entry: dict[str, Any] = {
        "name": cls.name,
        "family": cls.family,
        "summary": cls.summary,
        "kinds": list(cls.kinds),
        "parameters": [dict(parameter) for parameter in describe_parameters(cls)],
        "source": cls.source,
        "missing": cls.missing,
    }
    for extra in ("weights", "meaning", "formula", "route", "scope"):
        if hasattr(cls, extra):
            entry[extra] = getattr(cls, extra)
    if kind == "method":
        from microveil.masking.taxonomy import place_of

        entry["nature"] = place_of(find("method", name)).nature
    return entry
