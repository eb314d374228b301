"""Command lines: every command with options and values of every kind, sensible ones among them."""

from __future__ import annotations

import random
from pathlib import Path

from attempt import Attempt
from commanding import command
from kinds.plans import _write_table
from values import NUMBERS, TEXTS, small_columns, some

COLUMNS = ("age", "sex", "town", "income", "day", "weight")
METHODS = (
    "mdav",
    "noise",
    "pram",
    "rank-swapping",
    "recode",
    "suppress",
    "sampling",
    "rounding",
    "top-code",
    "mondrian",
)
FILES = (
    "people.csv",
    "safe.csv",
    "nothing.csv",
    ".",
    "people.toml",
    "odd [bold] name.csv",
    "x" * 300 + ".csv",
    "",
    "out.xlsx",
    "a/b.csv",
)
SETTINGS = ("k", "alpha", "p", "scale", "by", "share", "base", "uniqueness.classes", "")
ENCODINGS = ("utf-8", "utf-16", "latin-1", "ascii", "rot13", "base64", "idna", "x", "utf-32")
TABLE = {
    "--keys": "columns",
    "--confidential": "columns",
    "--identifiers": "columns",
    "--weight": "column",
    "--nominal": "columns",
    "--ordinal": "columns",
    "--numeric": "columns",
    "--schema": "file",
    "--sheet": "text",
    "--delimiter": "text",
    "--encoding": "encoding",
    "--decimal": "text",
}
OPTIONS = {
    "describe": {**TABLE, "--schema-out": "file", "--force": "", "--json": ""},
    "protect": {
        **TABLE,
        "--method": "method",
        "--set": "setting",
        "--attributes": "columns",
        "--plan": "file",
        "--require": "requirement",
        "--seed": "number",
        "--until": "until",
        "--vary": "vary",
        "--force": "",
        "--json": "",
    },
    "assess": {
        **TABLE,
        "--attributes": "columns",
        "--known": "columns",
        "--json": "",
        "--explain": "",
        "--also": "file",
        "--other": "file",
        "--score": "text",
        "--set": "setting",
    },
    "report": {**TABLE, "--attributes": "columns", "--public": "", "--force": "", "--json": "", "--known": "columns"},
    "methods": {"--kind": "kind", "--json": ""},
    "study": {"--data": "file", "--workers": "zero", "--dry-run": "", "--fresh": "", "--json": ""},
    "--version": {},
    "--help": {},
    "nonsense": {"--json": ""},
}


def make(rng: random.Random, folder: Path) -> Attempt:
    columns = small_columns(rng)
    _write_table(columns, folder / "people.csv")
    _write_table({**columns, "age": columns["age"][::-1]}, folder / "safe.csv")
    (folder / "people.toml").write_text("[attributes.age]\nkind = 'numeric'\n", encoding="utf-8")
    (folder / "odd [bold] name.csv").write_text("a,b\n1,2\n3,4\n5,6\n7,8\n", encoding="utf-8")
    (folder / "grid.toml").write_text("data = 'people.csv'\n[[method]]\nname = 'mdav'\n", encoding="utf-8")
    name = rng.choice([*list(OPTIONS), "protect", "protect", "assess", "describe"])
    words = [name, *_arguments(name, rng)]
    taken = OPTIONS[name]
    for option in some(rng, list(taken), 4) if taken and rng.random() < 0.85 else []:
        words += [option, *([_value(taken[option], rng)] if taken[option] else [])]
    if name == "assess":
        words += ["--attacks", "uniqueness", "--losses", "il1"]
    if rng.random() < 0.05:
        rng.shuffle(words)
    words = [word.replace("\x00", "") for word in words]  # no shell can pass it
    # an output may be any name that is no original, or one that --force has named
    originals = ("people.csv", "safe.csv", "people.toml", "grid.toml", "odd [bold] name.csv")
    named = {word for word in words if word and word not in originals and not word.startswith("-")}
    beside = (f"{word}.{ending}.json" for word in named for ending in ("manifest", "private"))
    outputs = {*named, *beside, "grid-results"}
    if "--force" in words and "--schema-out" in words:
        outputs |= {word for word in words if word.endswith(".toml")}
    return Attempt(" ".join(map(repr, words))[:600], lambda: command(words), tuple(outputs))


def _arguments(name: str, rng: random.Random) -> list[str]:
    def file(usual: str) -> str:
        return usual if rng.random() < 0.85 else rng.choice(FILES)

    if name == "describe":
        return [file("people.csv")]
    if name == "protect":
        return [file("people.csv"), "--out", file("out.csv"), *(["--method", "mdav"] if rng.random() < 0.5 else [])]
    if name == "assess":
        return [file("people.csv"), file("safe.csv")]
    if name == "report":
        return [file("people.csv"), file("safe.csv"), "--out", file("page.html"), "--losses", "il1"]
    return [file("grid.toml")] if name == "study" else []


def _value(kind: str, rng: random.Random) -> str:
    if rng.random() < 0.2:
        return rng.choice(TEXTS)
    number = str(rng.choice([n for n in NUMBERS if abs(n) < 10**400 or n != n]))
    values = {
        "columns": lambda: ",".join(some(rng, COLUMNS)),
        "column": lambda: rng.choice(COLUMNS),
        "file": lambda: rng.choice(FILES),
        "text": lambda: rng.choice([",", ";", "\t", ".", "Sheet1", "mean", *TEXTS]),
        "encoding": lambda: rng.choice(ENCODINGS),
        "method": lambda: rng.choice(METHODS),
        "setting": lambda: f"{rng.choice(SETTINGS)}={rng.choice([number, *TEXTS])}",
        "requirement": lambda: f"{rng.choice(['k', 'l', 't', 'population', 'entropy-l', 'x'])}={number}",
        "until": lambda: f"{rng.choice(['uniqueness', 'distance-linkage', 'x'])}={number}",
        "vary": lambda: f"{rng.choice(['k', 'alpha', 'x'])}={rng.choice(['3,4', '3', number, '3,,4', 'a,b'])}",
        "number": lambda: number,
        "zero": lambda: "0",
        "kind": lambda: rng.choice(["method", "attack", "loss", "score", "x"]),
    }
    return values[kind]()
