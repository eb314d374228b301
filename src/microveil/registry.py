"""Every method, attack, loss, score and control by its short name."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from microveil.entries import ENTRIES
from microveil.errors import MicroveilError, ParameterError, PluginError, UnknownNameError, nearest_name, shortened
from microveil.parameters import (
    Parameterised,
    component_parameters,
    describe_parameters,
    describe_settings,
    from_text,
    own_names,
    settings_for,
    settings_of,
)
from microveil.plugins import Plugin, declared, loaded, plugin_of

if TYPE_CHECKING:
    from microveil.attacks import Attack
    from microveil.losses import LossMeasure
    from microveil.masking import Method


logger = logging.getLogger(__name__)
# what a class of the kind can do
_DOES = {"method": "mask", "attack": "assess", "loss": "measure", "score": "combine", "control": "guard"}
_USUAL = {"attack": "general", "loss": "usual"}


def names(kind: str = "method") -> tuple[str, ...]:
    """The names of one kind, in order: those built in, then those of other packages that can be used."""
    if kind not in ENTRIES:
        raise UnknownNameError("kind of entry", kind, ENTRIES)
    return (*ENTRIES[kind], *_plugins(kind))


def usual_names(kind: str) -> tuple[str, ...]:
    """What every assessment runs unless told otherwise. Only what is built in: no package that somebody installs may
    change what a risk or a loss is."""
    return tuple(name for name in ENTRIES[kind] if getattr(find(kind, name), _USUAL[kind]))


def is_known(kind: str, name: str) -> bool:
    """Whether there is such an entry; one of another package that cannot be used is known, too, and `find` says why."""
    return kind in ENTRIES and (name in ENTRIES[kind] or name in declared(kind)[0])


def find(kind: str, name: str) -> type[Any]:
    """The class behind a name."""
    if not isinstance(name, str):
        given = name.__name__ if isinstance(name, type) else type(name).__name__
        raise ParameterError(f"{kind} takes a name in quotes, such as {kind}('{names(kind)[0]}'), not {given}")
    if not is_known(kind, name):
        raise UnknownNameError(kind, name, names(kind))
    found: type[Any] = loaded(kind, name)
    return found if name in ENTRIES[kind] else _checked(declared(kind)[0][name], found)


@cache
def _plugins(kind: str) -> tuple[str, ...]:
    """The names that other packages declare and that can be used; the others are reported, once, and left out."""
    found, refused = declared(kind)
    for problem in refused:
        logger.warning("%s", problem)
    usable = []
    for name, plugin in found.items():
        try:
            _checked(plugin, plugin.load())
            usable.append(name)
        except PluginError as problem:
            logger.warning("%s", problem)
    return tuple(usable)


def _checked(plugin: Plugin, cls: type[Any]) -> type[Any]:
    """The class of another package, if it can do and say what every entry can."""
    fits = isinstance(cls, type) and issubclass(cls, Parameterised) and hasattr(cls, _DOES[plugin.kind])
    if not fits or inspect.isabstract(cls):
        raise plugin.refused(f"its entry point does not lead to a class of {plugin.kind}s")
    if getattr(cls, "name", None) != plugin.name:
        raise plugin.refused("its class has another name than its entry point")
    try:
        describe_class(plugin.kind, cls)
    except Exception as problem:
        told = str(problem) if isinstance(problem, MicroveilError | AttributeError) else type(problem).__name__
        raise plugin.refused(f"it does not describe itself ({told})") from None
    return cls


def make(kind: str, name: str, parameters: Mapping[str, Any] | None = None, *, text: bool = False) -> Any:
    """Build a component by name; with `text`, the values are texts as typed on a command line."""
    return make_of(find(kind, name), parameters, text=text)


def make_of(cls: type[Any], parameters: Mapping[str, Any] | None = None, *, text: bool = False) -> Any:
    """The same for a class."""
    name, given = cls.name, dict(parameters or {})
    known = [*own_names(cls), *settings_of(cls)]
    known += [name for settings in settings_for(cls, given) for name in own_names(type(settings))]
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
    return describe_class(kind, find(kind, name))


def describe_class(kind: str, cls: type[Any]) -> dict[str, Any]:
    """The same for a class; one of another package also says which that is."""
    entry: dict[str, Any] = {
        "name": cls.name,
        "family": cls.family,
        "summary": cls.summary,
        "kinds": list(cls.kinds),
        "parameters": [dict(parameter) for parameter in describe_parameters(cls)],
        "source": cls.source,
        "missing": cls.missing,
    }
    settings = describe_settings(cls)
    if settings:
        entry["settings"] = list(settings)
    for extra in ("weights", "meaning", "formula", "route", "scope", "assumes"):
        if hasattr(cls, extra):
            entry[extra] = getattr(cls, extra)
    if kind == "method":
        from microveil.masking.taxonomy import classify

        entry["nature"] = classify(cls).nature
    if kind == "attack":
        from microveil.attacks.taxonomy import disclosure_of

        disclosure_of(cls)  # refuses a family that is not known
    plugin = plugin_of(cls)
    return entry if plugin is None else {**entry, "package": plugin.package, "version": plugin.version}
