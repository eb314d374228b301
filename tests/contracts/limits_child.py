"""Try every numeric parameter of one kind of component with numbers far too large, and print how each ended.

It runs in a process of its own, so that work without end can be ended from outside.
"""

from __future__ import annotations

import sys
from typing import Any

from microveil.errors import MicroveilError
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.parameters import describe_parameters
from microveil.registry import find, make, names

LARGE = (10**9, 10**23)


def numeric_parameters(cls: type) -> list[dict[str, Any]]:
    return [p for p in describe_parameters(cls) if "int" in p["type"] or "float" in p["type"]]


def forms(parameter: dict[str, Any], value: int) -> list[Any]:
    """The number as the parameter would take it: alone, or in lists."""
    kind = parameter["type"]
    number: Any = float(value) if "float" in kind else value
    listed = [[number], [number] * 2, [[number] * 2] * 2] if "list of" in kind else []
    return listed + ([number] if not kind.startswith("list") else [])


def used(kind: str, component: Any, people: Microdata, masked: Any) -> None:
    keys = [name for name in people.schema.keys if people[name].kind in component.kinds]
    if kind == "method":
        component.mask(people, keys, seed=1)
    elif kind == "attack":
        component.assess(people, masked)
    elif kind == "loss":
        component.measure(people, masked)


def main() -> None:
    kind = sys.argv[1]
    people = survey(40, seed=11)
    masked = make("method", "mdav").mask(people, people.schema.of_kind("numeric")[:2], seed=1)
    for name in names(kind):
        cls = find(kind, name)
        for parameter in numeric_parameters(cls):
            for given in (form for value in LARGE for form in forms(parameter, value)):
                sys.stdout.write(f"{name} {parameter['name']} {given}\n")
                sys.stdout.flush()
                try:
                    component = make(kind, name, {**getattr(cls, "quick", {}), parameter["name"]: given})
                    used(kind, component, people, masked)
                except MicroveilError as problem:
                    sentence = str(problem)
                    assert sentence, "an empty refusal"
                    assert "\n" not in sentence, sentence
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
