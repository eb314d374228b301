"""Methods, attacks and losses are frozen dataclasses; here is what makes them check and describe themselves."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

import numpy as np
import pydantic
from pydantic.dataclasses import dataclass as validated_dataclass

from microveil.errors import MicroveilError, ParameterError, brief, nearest_name, shortened

_DEEPEST = 32  # lists in lists, or methods inside methods
Component = TypeVar("Component", bound="Parameterised")
# What no parameter exceeds, whatever the table: a typing error must not start work without end.
MOST_RECORDS = 1_000_000_000
MOST_ATTRIBUTES = 100_000
LARGEST_NUMBER = 1e150  # its square is still a number
LARGEST_SEED = 2**64 - 1  # of what attacks and losses draw; the seed of a release is longer

# strict: a truth value or a text is never taken for a number
_CONFIG = pydantic.ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


def parameter(*, default: Any = dataclasses.MISSING, help: str, **limits: Any) -> Any:  # noqa: A002
    """A documented parameter; `limits` are those of pydantic (`ge`, `gt`, `le`, `lt`, `min_length`).

    Every number has an upper bound. Where the table itself is the bound (k cannot exceed the records), `MOST_RECORDS`
    and `MOST_ATTRIBUTES` stand for it; a number in the units of the data has `LARGEST_NUMBER`.
    """
    if default is dataclasses.MISSING:
        return pydantic.Field(description=help, **limits)
    return pydantic.Field(default=default, description=help, **limits)


class Parameterised:
    """What every method, attack and loss can say about itself."""

    name: ClassVar[str]
    family: ClassVar[str]
    summary: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    missing: ClassVar[str]
    source: ClassVar[str]

    def parameters(self) -> dict[str, Any]:
        """The parameters with their values, as plain data.

        Those of its settings stand beside its own, with the name of the settings where these are not the usual ones.
        """
        settings = settings_of(type(self))
        found = {name: plain(getattr(self, name)) for name in own_names(type(self))}
        for name, usual in settings.items():
            chosen: Settings = getattr(self, name)
            found |= {name: chosen.name} if type(chosen) is not type(usual) else {}
            found |= chosen.parameters()
        return found


class Settings(Parameterised):
    """Parameters that many components share, with the work they are for: one field of a component holds them.

    To a user they are parameters like any other: `MDAV(k=5, publish="median")`, `--set publish=median` and plans put
    each where it belongs. A field may offer several settings (`offered`), chosen by their name.
    """

    @classmethod
    def offered(cls) -> Mapping[str, type[Settings]]:
        """The settings that may stand in a field of this type, by name."""
        return {cls.name: cls}

    def check(self, label: str) -> None:
        """Refuse values that do not go together, as an error of the component that has these settings."""


@dataclass_transform(frozen_default=True, field_specifiers=(parameter,))
def parameterised(cls: type[Component]) -> type[Component]:
    """Make a class a frozen dataclass whose parameters are checked when it is built."""
    built = validated_dataclass(frozen=True, config=_CONFIG)(cls)
    validated_init = built.__init__

    @functools.wraps(validated_init)
    def checked_init(self: Component, *args: Any, **kwargs: Any) -> None:
        label = getattr(type(self), "name", type(self).__name__)
        names = own_names(type(self))
        if len(args) > len(names):
            raise ParameterError(f"{label} takes {len(names)} parameters at most without their names, got {len(args)}")
        for name in names[: len(args)]:
            if name in kwargs:
                raise ParameterError(f"{label}: {name} is given twice")
        _initialise(self, label, dict(zip(names, args, strict=False)) | kwargs)

    built.__init__ = checked_init  # type: ignore[method-assign, assignment]
    built._validated_init = validated_init  # type: ignore[attr-defined]
    return typing.cast("type[Component]", built)


def _initialise(component: Parameterised, label: str, given: Mapping[str, Any]) -> None:
    """Check what is given and fill the component with it; errors speak of `label`."""
    cls = type(component)
    values = _with_settings(cls, label, given)
    own, settings = own_names(cls), settings_of(cls)
    for name in values:
        if name not in own and name not in settings:
            everything = parameter_names(cls)
            raise ParameterError(f"{label} has no parameter '{shortened(name)}'{nearest_name(name, everything)}")
    limited = _limited_above(typing.cast(Hashable, cls))
    for name, value in values.items():
        _check_numbers(f"{label}: {name}", value, alone=name not in limited)
    try:
        cls._validated_init(component, **{name: _as_python(value) for name, value in values.items()})  # type: ignore[attr-defined]
    except pydantic.ValidationError as problem:
        raise ParameterError(_sentence(label, problem)) from None
    for name in settings:
        getattr(component, name).check(label)


def _with_settings(cls: type, label: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given, with the parameters of settings put into them."""
    values = dict(given)
    for name, usual in settings_of(cls).items():
        chosen = _chosen_settings(label, name, values.pop(name), usual) if name in values else usual
        inside = {key: values.pop(key) for key in own_names(type(chosen)) if key in values}
        if inside and isinstance(given.get(name), Settings):
            raise ParameterError(f"{label}: {next(iter(inside))} is given twice, in {name} and beside it")
        values[name] = _changed(chosen, label, inside)
    return values


def _chosen_settings(label: str, field: str, given: Any, usual: Settings) -> Settings:
    """Settings as they are given: themselves, or the name of some that have their usual values then."""
    offered = type(usual).offered()
    if isinstance(given, str) and given in offered:
        return usual if offered[given] is type(usual) else offered[given]()
    if type(given) in offered.values():
        return typing.cast(Settings, given)
    if isinstance(given, Settings) and isinstance(usual, type(given)):  # the general form of what is offered here
        own = {name: getattr(given, name) for name in own_names(type(given))}
        general = {entry["name"]: entry["default"] for entry in describe_parameters(type(given))}
        return _changed(usual, label, {k: v for k, v in own.items() if v != general[k]})
    raise ParameterError(f"{label}: {field} = {brief(given)} is not allowed; it must be {_listed(offered)}")


def _listed(names: Iterable[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else quoted[0]


def _changed(settings: Settings, label: str, values: Mapping[str, Any]) -> Settings:
    """Settings with some values changed; what is wrong with these is the error of the component that has them."""
    if not values:
        return settings
    made = object.__new__(type(settings))
    _initialise(made, label, {name: getattr(settings, name) for name in own_names(type(settings))} | dict(values))
    return made


def _sentence(label: str, problem: pydantic.ValidationError) -> str:
    """The first thing wrong: component, parameter, value, and what is allowed."""
    first = problem.errors(include_url=False)[0]
    location = first["loc"][0] if first["loc"] else ""
    raised = raised_by(first)
    if first["type"] == "missing":
        return f"{label}: parameter {location} must be given"
    if not location:  # what a component says of its parameters together names it already
        return str(raised) if isinstance(raised, MicroveilError) else f"{label}: {what_is_wrong(first)}"
    if isinstance(raised, MicroveilError):
        return f"{label}: {raised}"
    return f"{label}: {location} = {brief(first['input'])} is not allowed; {what_is_wrong(first)}"


# by the type of pydantic's error, with its numbers and names
_ALLOWED = {
    "int_type": "a whole number",
    "float_type": "a valid number",
    "bool_type": "a valid boolean",
    "string_type": "a valid string",
    "float_parsing": "a valid number, unable to parse string as a number",
    "finite_number": "a finite number",
    "list_type": "a valid list",
    "tuple_type": "a valid tuple",
    "dict_type": "a valid dictionary",
    "literal_error": "{expected}",
    "greater_than": "greater than {gt}",
    "greater_than_equal": "greater than or equal to {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "is_instance_of": "an instance of {class}",
    "dataclass_type": "a dictionary or an instance of {class_name}",
}


def what_is_wrong(error: Mapping[str, Any]) -> str:
    """What one of pydantic's errors says, in our words where we have any."""
    raised = raised_by(error)
    if raised is not None:
        return str(raised)
    if error["type"] not in _ALLOWED:
        return str(error["msg"])
    limits = {name: _limit(value) for name, value in error.get("ctx", {}).items()}
    return f"it must be {_ALLOWED[error['type']].format(**limits)}"


def raised_by(error: Mapping[str, Any]) -> Exception | None:
    """The exception of ours from which pydantic made an error, if it did."""
    found = error.get("ctx", {}).get("error")
    return found if isinstance(found, Exception) else None


def _limit(value: Any) -> str:
    """A limit as a sentence has it: long whole numbers by thousands.

    >>> _limit(1000), _limit(1e6), _limit(0.5), _limit("'mean' or 'max'")
    ('1000', '1,000,000', '0.5', "'mean' or 'max'")
    """
    if not isinstance(value, int | float) or (isinstance(value, float) and not value.is_integer()):
        return str(value)
    return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))


def _as_python(value: Any) -> Any:
    """numpy scalars and arrays become plain values, lists become tuples."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray | list):
        return tuple(_as_python(item) for item in value)
    return value


@functools.cache
def _limited_above(cls: Hashable) -> frozenset[str]:
    """The parameters that say themselves how large they may be."""
    fields: Mapping[str, Any] = cls.__pydantic_fields__  # type: ignore[attr-defined]
    return frozenset(
        name
        for name, field in fields.items()
        if any(hasattr(limit, "le") or hasattr(limit, "lt") for limit in field.metadata)
    )


def _check_numbers(where: str, value: Any, *, alone: bool) -> None:
    """Refuse what no parameter can mean, also inside lists and tables: infinite, no number, or beyond all limits.

    A number that stands alone is looked at where its parameter has no limit of its own.
    """
    for depth, item in _items(value):
        if depth > _DEEPEST:
            raise ParameterError(f"{where} is nested too deeply")
        if isinstance(item, float | np.floating) and not np.isfinite(item):
            raise ParameterError(f"{where} = {item!r} is not allowed; it must be a finite number")
        if (
            (alone or depth)
            and isinstance(item, float | np.floating | int)
            and not -LARGEST_NUMBER <= item <= LARGEST_NUMBER
        ):
            raise ParameterError(f"{where} = {brief(item)} is not allowed; it must be at most {LARGEST_NUMBER:g}")


def _items(value: Any) -> Iterator[tuple[int, Any]]:
    """A value and all that lies in it, each with how deep it lies."""
    open_ends = [(0, value)]
    while open_ends:
        depth, item = open_ends.pop()
        yield depth, item
        inside = item.values() if isinstance(item, Mapping) else item if isinstance(item, tuple | list) else ()
        open_ends += [(depth + 1, part) for part in inside]


def plain(value: Any) -> Any:
    """A parameter's value as JSON and TOML can hold it."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Parameterised):
        # TOML has no null: a parameter that is not set is left out
        return {"name": value.name, **{k: v for k, v in value.parameters().items() if v is not None}}
    return value


def shown(value: Any) -> str:
    """A parameter's value as a reader would write it: a component as its name and what is set, a number without the
    digits that say nothing.

    >>> shown({"name": "mdav", "k": 5, "scale": None}), shown([2.0, 0.5])
    ('mdav k=5', '2,0.5')
    """
    if isinstance(value, Mapping):
        name = [str(value["name"])] if "name" in value else []
        settings = (f"{k}={shown(item)}" for k, item in value.items() if k != "name" and item is not None)
        return " ".join([*name, *settings])
    if isinstance(value, list | tuple):
        return ",".join(map(shown, value))
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)


def own_names(cls: type) -> tuple[str, ...]:
    """The names of a component's own parameters, in order."""
    return _own_names(typing.cast(Hashable, cls))


@functools.cache
def _own_names(cls: Hashable) -> tuple[str, ...]:
    settings = _settings_of(cls)
    return tuple(field.name for field in dataclasses.fields(cls) if field.name not in settings)  # type: ignore[arg-type]


def parameter_names(cls: type) -> list[str]:
    """The names of all parameters of a component: its own, then those of its usual settings."""
    return [*own_names(cls), *(name for usual in settings_of(cls).values() for name in own_names(type(usual)))]


def settings_of(cls: type) -> Mapping[str, Settings]:
    """The settings of a component as they usually are, by the name of the field that holds them."""
    return _settings_of(typing.cast(Hashable, cls))


@functools.cache
def _settings_of(cls: Hashable) -> Mapping[str, Settings]:
    found = {field.name: field.default for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    found = {name: getattr(usual, "default", usual) for name, usual in found.items()}
    return types.MappingProxyType({name: usual for name, usual in found.items() if isinstance(usual, Settings)})


def settings_for(cls: type, parameters: Mapping[str, Any]) -> list[Settings]:
    """The settings of a component for which these parameters are meant: the usual ones unless others are named."""
    label = getattr(cls, "name", cls.__name__)
    return [
        _chosen_settings(label, name, parameters[name], usual) if name in parameters else usual
        for name, usual in settings_of(cls).items()
    ]


def component_parameters(cls: type) -> Mapping[str, type[Parameterised]]:
    """The parameters that are components themselves, such as the method that another method applies."""
    return _component_parameters(typing.cast(Hashable, cls))


@functools.cache
def _component_parameters(cls: Hashable) -> Mapping[str, type[Parameterised]]:
    owner = typing.cast(type, cls)
    hints = typing.get_type_hints(owner)
    found = {name: _component_class(hints[name]) for name in own_names(owner)}
    return types.MappingProxyType({name: component for name, component in found.items() if component is not None})


def _component_class(hint: Any) -> type[Parameterised] | None:
    parts = typing.get_args(hint) if _is_union(hint) else (hint,)
    return next((part for part in parts if isinstance(part, type) and issubclass(part, Parameterised)), None)


def describe_parameters(cls: type[Parameterised]) -> tuple[dict[str, Any], ...]:
    """Each parameter's name, type, default, help and limits, as plain data; one of settings also says of which."""
    settings = settings_of(cls)
    described = [_described(cls, name, None) for name in own_names(cls)]
    for part, usual in settings.items():
        described += [{**_described(type(usual), name, usual), "part": part} for name in own_names(type(usual))]
    return tuple(described)


def _described(cls: type, name: str, usual: Settings | None) -> dict[str, Any]:
    hint = typing.get_type_hints(cls)[name]
    field = cls.__pydantic_fields__[name]  # type: ignore[attr-defined]
    entry: dict[str, Any] = {
        "name": name,
        "type": type_name(hint),
        "default": None if field.is_required() else plain(field.default if usual is None else getattr(usual, name)),
        "required": field.is_required(),
        "help": field.description,
    }
    for limit in field.metadata:
        for symbol in ("ge", "gt", "le", "lt"):
            if hasattr(limit, symbol):
                entry[{"ge": "minimum", "gt": "above", "le": "maximum", "lt": "below"}[symbol]] = getattr(limit, symbol)
    choices = choices_of(hint)
    return {**entry, "choices": choices} if choices else entry


def describe_settings(cls: type[Parameterised]) -> tuple[dict[str, Any], ...]:
    """The settings of a component: the field that holds them, the usual ones, and what may stand there instead."""
    return tuple(
        {
            "field": field,
            "usual": usual.name,
            "offered": {
                name: {"summary": offered.summary, "parameters": list(own_names(offered))}
                for name, offered in type(usual).offered().items()
            },
        }
        for field, usual in settings_of(cls).items()
    )


def choices_of(hint: Any) -> list[Any]:
    """The values a Literal allows, also inside an optional one."""
    if typing.get_origin(hint) is Literal:
        return list(typing.get_args(hint))
    return [c for part in typing.get_args(hint) if _is_union(hint) for c in choices_of(part)]


def type_name(hint: Any) -> str:
    """A type as a user would call it.

    >>> type_name(int), type_name(float | None), type_name(tuple[float, ...])
    ('int', 'float or none', 'list of float')
    """
    if hint is type(None):
        return "none"
    if choices_of(hint) and not _is_union(hint):
        return "choice"
    if _is_union(hint):
        return " or ".join(type_name(part) for part in typing.get_args(hint))
    if typing.get_origin(hint) in (tuple, list):
        return f"list of {type_name(typing.get_args(hint)[0])}"
    name = getattr(hint, "__name__", str(hint))
    return name.lower() if _component_class(hint) is not None else name


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def from_text(cls: type[Component], values: Mapping[str, Any]) -> Component:
    """Build a component from the `name=value` texts of a command line; what is no text is a value already.

    A list is written `1,5,10` or as in JSON; one value alone is a list of one where the parameter is a list.
    """
    hints = typing.get_type_hints(cls)
    for settings in settings_for(cls, values):
        hints |= typing.get_type_hints(type(settings))
    fields = settings_of(cls)
    return cls(
        **{
            name: _read_parameter(text, hints.get(name)) if isinstance(text, str) and name not in fields else text
            for name, text in values.items()
        }
    )


_WORDS: dict[str, Any] = {"none": None, "null": None, "true": True, "false": False}


def _read_parameter(text: str, hint: Any) -> Any:
    forms = typing.get_args(hint) if _is_union(hint) else (hint,)
    elements = [typing.get_args(form)[0] for form in forms if typing.get_args(form)[1:] == (...,)]
    if elements == [str]:  # a column may be named 2024
        unset = type(None) in forms and _WORDS.get(text.strip().lower(), text) is None
        return None if unset else _read_list(text, str.strip)
    if str in forms and set(forms) <= {str, type(None)}:  # a text is one, whatever stands in it
        return None if type(None) in forms and text.strip().lower() in ("none", "null") else text
    value = text.strip() if text.strip() in choices_of(hint) else _read_text(text)  # "none" may be a choice
    named = isinstance(value, str) and choices_of(hint)
    alone = not elements or named or value is None or isinstance(value, list) or float in forms
    return value if alone else [value]


def _read_text(text: str) -> Any:
    lowered = text.strip().lower()
    if lowered in _WORDS:
        return _WORDS[lowered]
    if "," in text or (text.startswith("[") and text.endswith("]")):
        return _read_list(text, _read_text)
    for read in _READERS:
        try:
            value = read(lowered)
        except ValueError:
            continue
        # more digits than a number can have stay a text: nobody has typed "infinite"
        return text.strip() if value in (math.inf, -math.inf) and "inf" not in lowered else value
    return text.strip()


def _read_list(text: str, read: Callable[[str], Any]) -> list[Any]:
    """The items between commas; JSON where it is that, so that an item can have a comma in it."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        items = None
    if isinstance(items, list) and (read is _read_text or all(isinstance(item, str) for item in items)):
        return items
    return [read(item) for item in text.strip("[] ").split(",") if item.strip()]


_READERS: tuple[Callable[[str], Any], ...] = (int, float)
