"""The screen Try: the methods that fit, the form of one of them, and the same in Python and in the shell."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import microveil as mv
from microveil.applications import MicroveilError, number
from microveil.workbench import explanations
from microveil.workbench.bench import Bench, set_parameters
from microveil.workbench.explanations import Explanation
from microveil.workbench.screens.frame import named_keys, recipe_of

_PRICES = {
    "perturbative": "changes values",
    "non-perturbative": "keeps true values",
    "synthetic": "keeps no record",
}
_FAMILIES = {"swapping": "keeps totals"}


@cache
def methods() -> dict[str, dict[str, Any]]:
    """Every method of the registry as it describes itself, with its price in a word."""
    found = {}
    for name in mv.registry.names("method"):
        entry = mv.registry.describe("method", name)
        price = _FAMILIES.get(entry["family"], _PRICES[entry["nature"]])
        found[name] = {**entry, "price": price, "searched": bool(mv.registry.find("method", name).searched)}
    return found


def attempt(bench: Bench, method: str, search: str) -> dict[str, Any]:
    here = bench.history.here
    shown: dict[str, Any] = {"explained": explanations.TRY, "families": {}, "method": None, "python": "", "shell": "",
                             "search": search, "overview": None}  # fmt: skip
    if here is None:
        return shown
    found = bench.overview()
    if found is None:
        return shown
    fits: dict[str, list[str]] = found["fits"]
    families: dict[str, list[dict[str, Any]]] = {}
    for name, entry in methods().items():
        if name in fits and search.lower() in f"{name} {entry['summary']}".lower():
            families.setdefault(entry["family"], []).append(entry)
    chosen = methods().get(method) if method in fits else None
    recipe = recipe_of(bench, here)
    shown |= {"overview": found, "families": families}
    if chosen is None:
        steps = list(here.steps)
        if steps:
            shown |= {"python": recipe.python_of_steps(steps), "shell": recipe.shell_of_steps(steps)}
        return shown
    fitting = fits[method]
    declared = named_keys(bench)
    keys = [name for name in fitting if name in declared] or fitting
    open_to_choice = [p for p in chosen["parameters"] if len(p.get("choices", "two")) > 1]
    own = [p for p in open_to_choice if "part" not in p]
    more = [p for p in open_to_choice if "part" in p]
    step = {"method": method, "parameters": _usual(method)}
    steps = [*here.steps, {**step, "attributes": keys}]
    explained = {**explanations.TRY, "screen": Explanation(
        method, _sentence(chosen["summary"]), chosen.get("formula", "") or "",
        f"Missing values: {chosen['missing']}.", chosen["source"],
    )}  # fmt: skip
    explained |= {
        f"p-{p['name']}": Explanation(p["name"], _sentence(p["help"]), limits(p)) for p in chosen["parameters"]
    }
    return {
        **shown, "method": chosen, "fitting": fitting, "keys": keys, "own": own, "more": more, "limits": limits,
        "varied": [p["name"] for p in chosen["parameters"] if _is_number(p)], "explained": explained,
        "has_seed": here.seed is not None,
        "python": recipe.python_of_steps(steps), "shell": recipe.shell_of_steps(steps),
    }  # fmt: skip


def _usual(method: str) -> dict[str, Any]:
    """What a form begins with; nothing yet where something must be given."""
    try:
        return set_parameters(method, {})
    except MicroveilError:
        return {}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _is_number(parameter: Mapping[str, Any]) -> bool:
    return any(word in ("int", "float") for word in parameter["type"].split(" or "))


def limits(parameter: Mapping[str, Any]) -> str:
    """What values a parameter may have, in words."""
    told = []
    if "choices" in parameter:
        return "one of " + ", ".join(map(str, parameter["choices"]))
    for symbol, words in (("minimum", "at least"), ("above", "above"), ("maximum", "at most"), ("below", "below")):
        if symbol in parameter and not (symbol == "maximum" and parameter[symbol] >= 100_000):
            told.append(f"{words} {number(parameter[symbol])}")
    types = {"int": "a whole number", "float": "a number", "bool": "true or false"}
    kind = " or ".join(types.get(word, word) for word in parameter["type"].split(" or ") if word != "none")
    return ", ".join([kind, *told])


def code_of_step(bench: Bench, step: Mapping[str, Any]) -> dict[str, str]:
    """The steps where the user is and one more, in Python and in the shell."""
    here = bench.here()
    recipe, steps = recipe_of(bench, here), [*here.steps, step]
    return {"python": recipe.python_of_steps(steps), "shell": recipe.shell_of_steps(steps)}
