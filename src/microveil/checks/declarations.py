"""What every method, attack, loss, score and control says about itself and its parameters."""

from __future__ import annotations

import json
from typing import Any

from microveil.attacks import Attack
from microveil.checks.expecting import expect, expect_equal, refused
from microveil.entries import Kind
from microveil.errors import MicroveilError, ParameterError
from microveil.losses import LossMeasure
from microveil.masking import Method
from microveil.parameters import Parameterised, describe_parameters
from microveil.plugins import GROUPS
from microveil.queries.controls import Control
from microveil.registry import describe_class, find, make_of

Class = type[Parameterised]


def it_is_found_by_its_name(cls: Class) -> None:
    kind = _kind(cls)
    how = f"declare it as an entry point of the group {GROUPS[kind]}, and install the package"
    try:
        found = find(kind, cls.name)
    except MicroveilError as problem:
        raise AssertionError(f"{problem}; {how}") from None
    expect(found is cls, f"the name stands for another class, {found.__module__}.{found.__name__}; {how}")


def it_describes_itself(cls: Class) -> None:
    entry = _described(cls)
    json.dumps(entry)
    of_links = getattr(cls, "structural", False) or getattr(cls, "of_graph", False)  # these may treat no attribute
    needed = ["name", "family", "summary", "source", "missing", *([] if of_links else ["kinds"])]
    needed += {"method": ["weights"], "control": ["assumes"]}.get(_kind(cls), ["meaning"])
    for field in needed:
        expect(entry.get(field), f"it has no {field}")
    if _kind(cls) in ("attack", "loss"):
        ends = ("lower is better", "lower is safer")
        expect(entry["meaning"].endswith(ends), f"its meaning does not end with {' or '.join(ends)}")
    for parameter in entry["parameters"]:
        expect(parameter["help"] and parameter["type"], f"parameter {parameter['name']} has no help or no type")


def the_documented_defaults_are_the_real_ones(cls: Class) -> None:
    defaults = {p["name"]: p["default"] for p in _described(cls)["parameters"]}
    for name, value in make_of(cls).parameters().items():
        # a preset of a measure fills in what is unset
        if defaults[name] is not None or _kind(cls) == "method":
            expect_equal(value, defaults[name], f"what parameter {name} is unless given")
    expect_equal(make_of(cls, defaults), make_of(cls), "what is made with the documented defaults")


def unknown_parameters_are_refused(cls: Class) -> None:
    with refused(ParameterError, f"{cls.name} has no parameter 'nonsense'", "an unknown parameter"):
        make_of(cls, {"nonsense": 1})


def values_of_a_wrong_type_are_refused(cls: Class) -> None:
    for parameter in describe_parameters(cls):
        with refused(ParameterError, parameter["name"], f"an object as {parameter['name']}"):
            make_of(cls, {parameter["name"]: object()})


def every_number_has_an_upper_bound(cls: Class) -> None:
    for parameter in describe_parameters(cls):
        if parameter["type"] in ("int", "float", "int or none", "float or none"):
            bounded = "maximum" in parameter or "below" in parameter
            expect(bounded, f"parameter {parameter['name']} has no upper bound (le or lt)")


def a_number_beyond_all_limits_is_refused_in_one_sentence(cls: Class) -> None:
    for parameter in describe_parameters(cls):
        if parameter["type"].split(" or ")[0] in ("int", "float"):
            for digits in (200, 4000, 5000):
                words = f"{parameter['name']} = a number of .* digits is not allowed"
                with refused(ParameterError, words, f"a number of {digits} digits as {parameter['name']}"):
                    make_of(cls, {parameter["name"]: 10**digits})


def it_is_frozen(cls: Class) -> None:
    component = make_of(cls, getattr(cls, "quick", {}))
    for parameter in component.parameters():
        with refused(AttributeError, "", f"changing parameter {parameter}"):
            setattr(component, parameter, 3)


def _kind(cls: Class) -> Kind:
    bases: tuple[tuple[Class, Kind], ...] = (
        (Method, "method"), (Attack, "attack"), (LossMeasure, "loss"), (Control, "control"),
    )  # fmt: skip
    return next((kind for base, kind in bases if issubclass(cls, base)), "score")


def _described(cls: Class) -> dict[str, Any]:
    return describe_class(_kind(cls), cls)
