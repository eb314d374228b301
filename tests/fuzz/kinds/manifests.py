"""Manifests of any shape beside a release: used by protect --plan, assess and report."""

from __future__ import annotations

import json
import random
from pathlib import Path

from attempt import Attempt
from commanding import command
from kinds.plans import _write_table
from kinds.schemas import _short, damaged
from values import anything, mutated, small_columns
from written import json_text


def make(rng: random.Random, folder: Path) -> Attempt:
    from microveil.microdata import files
    from microveil.registry import make as build

    _write_table(small_columns(rng), folder / "people.csv")
    data = files.read(folder / "people.csv", keys=["age", "income"])
    release = build("method", rng.choice(["mdav", "noise", "sampling"]), {}).mask(data, seed=rng.randrange(2**40))
    release.save(folder / "safe.csv")
    beside = folder / "safe.csv.manifest.json"
    plain = json.loads(beside.read_text(encoding="utf-8"))
    plain = mutated(plain, rng) if rng.random() < 0.95 else anything(rng)
    text = json_text(plain)
    if rng.random() < 0.1:
        text = damaged(text, rng)
    beside.write_text(text, encoding="utf-8", errors="surrogatepass")
    use = rng.choice(["protect", "protect", "assess", "report"])
    attack = rng.choice(["distance-linkage", "uniqueness"])
    words = {
        "protect": ["protect", "people.csv", "--plan", beside.name, "--out", "again.csv"],
        "assess": ["assess", "people.csv", "safe.csv", "--attacks", attack, "--losses", "il1"],
        "report": ["report", "people.csv", "safe.csv", "--out", "page.html", "--losses", "il1"],
    }[use]  # fmt: skip
    outputs = ("again.csv", "again.csv.manifest.json", "again.csv.private.json", "page.html")
    return Attempt(f"{use}: {_short(plain)}", lambda: command(words), outputs)
