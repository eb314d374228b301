"""Schemas with values of every type in every place, from TOML and from Python, and then used."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from attempt import Attempt
from values import anything, mutated, small_columns
from written import toml_text

GOOD: dict[str, Any] = {
    "attributes": {
        "age": {"kind": "numeric", "role": "key", "range": [0, 120], "missing_codes": [-9],
                "hierarchy": {"cuts": [[30, 50], [50]]}},
        "sex": {"kind": "nominal", "role": ["key"], "domain": ["f", "m"],
                "value_labels": [["f", "female"], ["m", "male"]]},
        "town": {"kind": "ordinal", "domain": ["Graz", "Linz", "Steyr", "Wels"], "missing": "own category",
                 "hierarchy": [["Graz", "S", "*"], ["Linz", "N", "*"], ["Steyr", "N", "*"], ["Wels", "N", "*"]]},
        "income": {"kind": "numeric", "role": "confidential", "missing": "wildcard", "missing_ranges": [[-99, -90]]},
        "weight": {"kind": "numeric", "role": "weight", "label": "weight"},
    }
}  # fmt: skip


def make(rng: random.Random, folder: Path) -> Attempt:
    from microveil.masking.microaggregation.mdav import MDAV
    from microveil.microdata import Microdata, Schema

    plain = mutated(GOOD, rng) if rng.random() < 0.95 else anything(rng)
    columns = small_columns(rng)
    text = toml_text(plain) if rng.random() < 0.5 else None
    if text is not None:
        if rng.random() < 0.1:
            text = damaged(text, rng)
        (folder / "people.toml").write_text(text, encoding="utf-8", errors="surrogatepass")

    def act() -> None:
        schema = Schema.read("people.toml") if text is not None else Schema.from_plain(plain)
        again = Schema.from_plain(schema.to_plain())
        assert again == schema, "a schema changed in its plain form"
        schema.to_toml()
        data = Microdata.of(columns, schema)
        for name in data.names:
            data.missing_states(name)
            data[name].kind == "numeric" or data.categories(name)
        MDAV(k=3).mask(data, ["age", "income"], seed=1)

    return Attempt(f"schema {'read' if text is not None else 'built'}: {_short(plain)}", act)


def damaged(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text) + 1)
    odd = ["", "\x00", "[[", "a." * 3000 + "b = 1\n", "[" * 5000, "\ud800", "= nan", '"""']
    return text[:place] + rng.choice(odd) + text[place + rng.choice([0, 1, 9]) :]


def _short(value: Any) -> str:
    try:
        return repr(value)[:600]
    except (ValueError, RecursionError):
        return "(too long or too deep)"
