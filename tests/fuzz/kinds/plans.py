"""Plans and studies with values of every type in every place."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from attempt import Attempt
from kinds.schemas import GOOD as SCHEMA
from kinds.schemas import _short, damaged
from values import anything, mutated, small_columns
from written import toml_text

PLAN: dict[str, Any] = {
    "seed": 7,
    "require": {"k": 2},
    "schema": SCHEMA,
    "steps": [
        {"method": "mdav", "attributes": ["age", "income"], "parameters": {"k": 4, "scale": "z"}},
        {"method": "within", "attributes": ["age"], "parameters": {"method": {"name": "mdav", "k": 4}, "clusters": 2}},
        {"method": "pram", "attributes": ["sex"], "parameters": {"p": 0.9}},
    ],
}
STUDY: dict[str, Any] = {
    "title": "Candidates", "data": "people.csv", "keys": ["age", "income"], "confidential": ["town"],
    "weight": "weight",
    "seed": 5, "repeats": 1, "workers": 0, "attributes": ["age", "income"], "known": ["age"],
    "attacks": ["distance-linkage", {"name": "uniqueness", "set": {"classes": 3}}], "losses": ["il1"],
    "score": {"name": "mean", "set": {"share": 0.5}}, "accept": {"risk": 50}, "delimiter": ",",
    "method": [
        {"name": "mdav", "grid": {"k": [3, 4]}, "set": {"scale": "z"}, "label": "groups"},
        {"steps": [{"name": "mdav", "set": {"k": 3}}, {"name": "noise", "grid": {"alpha": [0.1]}}]},
    ],
}  # fmt: skip


def make(rng: random.Random, folder: Path) -> Attempt:
    columns = small_columns(rng)
    is_study = rng.random() < 0.4
    good = {**PLAN, "steps": rng.sample(PLAN["steps"], rng.choice([1, 2]))} if not is_study else STUDY
    if is_study and rng.random() < 0.6:
        good = {**STUDY, "method": STUDY["method"][:1]}
    plain = mutated(good, rng) if rng.random() < 0.95 else anything(rng)
    text = toml_text(plain) if is_study or rng.random() < 0.7 else None
    if text is not None and rng.random() < 0.1:
        text = damaged(text, rng)
    if text is not None:
        (folder / "plan.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
    if is_study:
        _write_table(columns, folder / "people.csv")
    return Attempt(
        f"{'study' if is_study else 'plan'} {'read' if text is not None else 'built'}: {_short(plain)}",
        (lambda: _study(folder)) if is_study else lambda: _plan(plain, text is not None, columns),
        ("plan-results",) if is_study else (),
    )


def _plan(plain: Any, is_file: bool, columns: dict[str, list[Any]]) -> None:
    from microveil.masking.plan import Plan, read_plan
    from microveil.microdata import Microdata
    from microveil.protection import protect

    plan = read_plan("plan.toml")[0] if is_file else Plan.from_plain(plain)
    plan.to_toml()
    release = protect(Microdata.of(columns), plan)
    release.manifest()


def _study(folder: Path) -> None:
    from microveil.study.design import read_design
    from microveil.study.running import run_study

    read_design("plan.toml")
    # work in this process: the time limit covers it
    run_study(folder / "plan.toml", out=folder / "plan-results", workers=0)


def _write_table(columns: dict[str, list[Any]], path: Path) -> None:
    records = zip(*columns.values(), strict=True)
    rows = [",".join(columns), *(",".join("" if cell is None else str(cell) for cell in record) for record in records)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
