"""A rule pack: the rules of an office as data, in a TOML file with a table for every rule."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from os.path import isfile
from pathlib import Path
from typing import Any

from microveil.errors import FileError, ParameterError, brief, errors_of_file, nearest_name, parsed, shortened, toml_of
from microveil.microdata.files.inputs import read_text
from microveil.parameters import describe_parameters, parameter_names
from microveil.rules.base import Rule
from microveil.rules.columns import CategoriesRule, CopiesRule, EmptyCellsRule, ExtremesRule, IdentifiersRule
from microveil.rules.frequencies import CombinationsRule, HouseholdsRule, RegionsRule
from microveil.rules.order import OrderRule
from microveil.rules.weights import WeightsRule

RULES: Mapping[str, type[Rule]] = {
    rule.name: rule
    for rule in (
        IdentifiersRule,
        CombinationsRule,
        RegionsRule,
        HouseholdsRule,
        WeightsRule,
        OrderRule,
        ExtremesRule,
        CategoriesRule,
        EmptyCellsRule,
        CopiesRule,
    )
}
_TEXTS = ("title", "description")


@dataclass(frozen=True)
class RulePack:
    """The rules of an office, with a title and a description.

    >>> pack = RulePack.from_plain({"title": "ours", "combinations": {"listed": ["age,sex >= 5"]}, "identifiers": {}})
    >>> [rule.name for rule in pack.rules]
    ['combinations', 'identifiers']
    """

    rules: tuple[Rule, ...]
    title: str = ""
    description: str = ""

    @classmethod
    def from_plain(cls, plain: Any) -> RulePack:
        """Build from the content of a TOML file; a rule may stand there several times, as an array of tables."""
        if not isinstance(plain, Mapping):
            raise ParameterError("a rule pack is a table with an entry for every rule")
        texts: dict[str, str] = {}
        rules: list[Rule] = []
        for name, entry in plain.items():
            if name in _TEXTS:
                if not isinstance(entry, str):
                    raise ParameterError(f"the {name} of a rule pack is a text, not {brief(entry)}")
                texts[name] = entry
                continue
            if name not in RULES:
                known = [*RULES, *_TEXTS]
                raise ParameterError(f"there is no rule '{shortened(str(name))}'{nearest_name(str(name), known)}")
            rules += [_rule(str(name), one) for one in (entry if isinstance(entry, list) else [entry])]
        if not rules:
            raise ParameterError(f"a rule pack needs at least one rule{nearest_name('', list(RULES))}")
        return cls(tuple(rules), **texts)

    @classmethod
    def read(cls, source: str | Path) -> RulePack:
        """Read a TOML file, or a pack that comes with the package by its name, such as `public-use`."""
        if not isfile(source) and str(source) in shipped():
            text = (resources.files("microveil.rules") / "packs" / f"{source}.toml").read_text(encoding="utf-8")
            return cls.from_plain(tomllib.loads(text))
        if not isfile(source) and Path(source).suffix == "":
            raise FileError(
                source, f"is neither a file nor a rule pack of Microveil{nearest_name(str(source), shipped())}"
            )
        with errors_of_file(source):
            return cls.from_plain(parsed(tomllib.loads, read_text(Path(source))))

    def to_plain(self) -> dict[str, Any]:
        """As TOML and JSON can hold it; only what differs from the usual."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in _TEXTS if getattr(self, name)}
        for rule in self.rules:
            usual = {entry["name"]: entry["default"] for entry in describe_parameters(type(rule))}
            own = {n: v for n, v in rule.parameters().items() if v is not None and v != usual[n]}
            plain.setdefault(rule.name, []).append(own)
        return {name: part[0] if isinstance(part, list) and len(part) == 1 else part for name, part in plain.items()}

    def to_toml(self) -> str:
        return toml_of(self.to_plain())


def _rule(name: str, entry: Any) -> Rule:
    if not isinstance(entry, Mapping):
        raise ParameterError(f"the rule '{name}' is a table of its parameters, not {brief(entry)}")
    known = parameter_names(RULES[name])
    for key in entry:
        if key not in known:
            raise ParameterError(
                f"the rule '{name}' has no entry '{shortened(str(key))}'{nearest_name(str(key), known)}"
            )
    return RULES[name](**entry)


@cache
def shipped() -> tuple[str, ...]:
    """The names of the rule packs that come with the package."""
    folder = resources.files("microveil.rules") / "packs"
    return tuple(sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")))
