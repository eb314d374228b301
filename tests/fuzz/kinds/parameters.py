"""Methods, attacks, losses and scores with parameters of every size, on a small table."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from attempt import Attempt
from values import NUMBERS, anything, small_columns


def make(rng: random.Random, folder: Path) -> Attempt:
    from microveil.microdata import Microdata
    from microveil.parameters import LARGEST_NUMBER, MOST_ATTRIBUTES, MOST_RECORDS
    from microveil.registry import describe, find, names
    from microveil.registry import make as build

    kind = rng.choice(["method", "method", "attack", "loss", "score"])
    name = rng.choice(names(kind))
    cls = find(kind, name)
    given: dict[str, Any] = dict(getattr(cls, "quick", {}))
    declared = describe(kind, name)["parameters"]
    for parameter in declared:
        if "choices" in parameter and rng.random() < 0.4:
            given[parameter["name"]] = rng.choice(parameter["choices"])
    numeric = [p for p in declared if "int" in p["type"] or "float" in p["type"]]
    for parameter in rng.sample(numeric or declared, min(len(numeric or declared), rng.choice([1, 1, 2]))):
        limits = [parameter.get("minimum", parameter.get("above", 0))]
        # a number of runs may be large and take its time; what stands for the size of a table must not
        if parameter.get("maximum", 0) in (MOST_RECORDS, MOST_ATTRIBUTES, LARGEST_NUMBER):
            limits.append(parameter["maximum"])
        number = rng.choice([*limits, *limits, 10**9, 10**23, 1e9, 1e23, rng.choice(NUMBERS)])
        if parameter["type"].startswith("int") and isinstance(number, float) and abs(number) < 1e30:
            number = int(number)
        listed = "list" in parameter["type"] and rng.random() < 0.7
        given[parameter["name"]] = (
            anything(rng) if rng.random() < 0.1 else [number] * rng.choice([1, 2, 3]) if listed else number
        )
    columns = small_columns(rng)
    told = f"{kind} {name} {str(given)[:400] if not _long(given) else '(long values)'}"

    def act() -> None:
        component = build(kind, name, given)
        keys = [n for n, held in (("age", "numeric"), ("income", "numeric"), ("sex", "nominal"), ("town", "nominal"))
                if held in component.kinds] or ["age", "income", "sex", "town"]  # fmt: skip
        data = Microdata.of(columns, keys=keys, weight="weight")
        if kind == "method":
            component.mask(data, seed=3)
            return
        masker = build("method", "mdav" if "age" in keys else "pram", {})
        release = masker.mask(data, [key for key in keys if data[key].kind in masker.kinds], seed=3)
        if kind == "attack":
            component.assess(data, release)
        elif kind == "loss":
            component.measure(data, release)
        else:
            from microveil.scoring import assess

            assess(data, release, score=component)

    return Attempt(told, act)


def _long(value: Any) -> bool:
    try:
        return len(repr(value)) > 4000
    except (ValueError, RecursionError):
        return True
