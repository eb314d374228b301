"""Values that programs do not expect, and a small table to try them on."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 5, 100, 10**6, 10**9, 2**31, 2**53 + 1, 2**63, 2**64, 10**23, -(10**23), 10**400, 10**4999,
    0.0, -0.0, 0.5, 1.5, 1e-300, 1e9, 1e23, 1e150, 1e308, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
TEXTS: tuple[str, ...] = (
    "", " ", "a", "x", "age", "sex", "none", "null", "true", "[/bold]", "[red]", "{}", "[", "=1+1", "é", "日本",
    "\u202e", "\x00", "\n", "a\tb", "../x", "/", "-", "--", "mdav", "key", "numeric", "%s", "{0}", "\ud800", "x" * 300,
    "9" * 5000, "NaN", "1e999",
)  # fmt: skip
WORDS = ("age", "sex", "town", "income", "day", "weight", "name", "kind", "role", "domain", "k", "method", "steps")


def deep(rng: random.Random) -> Any:
    """Lists or tables in each other, up to far more than anything reads."""
    value: Any = 1
    for _ in range(rng.choice([5, 50, 900, 3000])):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def anything(rng: random.Random, depth: int = 2) -> Any:
    """A value of any plain type."""
    choice = rng.random()
    if choice < 0.35:
        return rng.choice(NUMBERS)
    if choice < 0.6:
        return rng.choice(TEXTS)
    if choice < 0.7:
        return rng.choice([None, True, False])
    if choice < 0.72:
        return deep(rng)
    if depth == 0:
        return rng.choice(WORDS)
    if choice < 0.86:
        return [anything(rng, depth - 1) for _ in range(rng.choice([0, 1, 2, 3]))]
    return {rng.choice((*WORDS, *TEXTS)): anything(rng, depth - 1) for _ in range(rng.choice([0, 1, 2]))}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a tree of lists and tables something lies."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if len(path) > 12:
        return [path]
    return [path, *(place for key, item in inside for place in places(item, (*path, key)))]


def mutated(tree: Any, rng: random.Random, other: Callable[[random.Random], Any] = anything) -> Any:
    """The tree with one to three places replaced, left out, doubled or renamed."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        place = rng.choice(places(tree))
        if not place:
            if rng.random() < 0.1:
                return other(rng)
            continue
        parent = tree
        for key in place[:-1]:
            parent = parent[key]
        key, act = place[-1], rng.random()
        if act < 0.6:
            parent[key] = other(rng)
        elif act < 0.75:
            del parent[key]
        elif act < 0.85 and isinstance(parent, list):
            parent.append(parent[key])
        elif isinstance(parent, dict):
            parent[rng.choice((*WORDS, *TEXTS[:24]))] = parent.pop(key) if act < 0.93 else other(rng)
    return tree


def small_columns(rng: random.Random, records: int = 24) -> dict[str, list[Any]]:
    """Numbers with gaps, whole numbers, texts, dates as texts and weights."""
    return {
        "age": [rng.randrange(18, 80) for _ in range(records)],
        "sex": [rng.choice(["f", "m"]) for _ in range(records)],
        "town": [rng.choice(["Graz", "Linz", "Wels", "Steyr"]) for _ in range(records)],
        "income": [None if rng.random() < 0.05 else round(rng.lognormvariate(10, 1), 2) for _ in range(records)],
        "day": [f"20{rng.randrange(10, 24)}-0{rng.randrange(1, 9)}-1{rng.randrange(9)}" for _ in range(records)],
        "weight": [rng.choice([0.5, 1.0, 2.5]) for _ in range(records)],
    }


def some(rng: random.Random, things: Sequence[Any], most: int = 3) -> list[Any]:
    return rng.sample(list(things), rng.randint(1, min(most, len(things))))
