"""Cells: their seeds and digests depend on what decides their numbers, and on nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from microveil.masking import Step
from microveil.microdata import Microdata
from microveil.study import Candidate, Design
from microveil.study.cells import Cell, compared, planned_cell, source_digest, unfold

BASE: dict[str, Any] = {
    "seed": 3,
    "repeats": 2,
    "keys": ["age", "wealth"],
    "method": [{"name": "mdav", "grid": {"k": [3, 5]}}, {"name": "noise", "set": {"alpha": 0.1}}],
}


def cells(people: Microdata, **changes: Any) -> dict[tuple[str, int], Cell]:
    design = Design.from_plain({**BASE, **changes})
    return {(cell.candidate.label, cell.repeat): cell for cell in unfold(design, design.table(people))}


def test_only_random_methods_are_repeated(people: Microdata) -> None:
    assert list(cells(people)) == [("mdav k=3", 1), ("mdav k=5", 1), ("noise alpha=0.1", 1), ("noise alpha=0.1", 2)]


def test_every_cell_has_a_seed_of_its_own(people: Microdata) -> None:
    assert len({cell.seed for cell in cells(people).values()}) == 4


def test_the_seeds_follow_from_the_seed_of_the_study_or_else_from_the_secret(people: Microdata) -> None:
    def seeds(secret: int, **changes: Any) -> list[int]:
        plain = {name: value for name, value in {**BASE, **changes}.items() if value is not None}
        design = Design.from_plain(plain)
        return [cell.seed for cell in unfold(design, design.table(people), secret)]

    assert seeds(1) == seeds(2)  # a seed that is given makes the same cells everywhere
    assert seeds(1, seed=None) == seeds(1, seed=None)
    assert set(seeds(1, seed=None)).isdisjoint(seeds(2, seed=None))
    assert min(seeds(1) + seeds(1, seed=None)) > 2**100


def test_the_seed_of_a_plan_follows_from_the_secret_and_the_table(people: Microdata) -> None:
    import numpy as np

    cell = cells(people)["noise alpha=0.1", 1]

    def seed(table: Microdata, secret: int) -> int:
        return planned_cell(table, cell.candidate, cell.measures, secret).seed

    fewer = people.take(np.arange(100))
    assert seed(people, 1) == seed(people, 1)
    assert len({seed(people, 1), seed(people, 2), seed(fewer, 1), cell.seed}) == 4


def test_settings_that_draw_are_repeated_although_their_method_usually_does_not(people: Microdata) -> None:
    methods = [{"name": "rounding", "set": {"mode": mode}} for mode in ("nearest", "random")]
    found = cells(people, method=methods)
    assert list(found) == [("rounding mode=nearest", 1), ("rounding mode=random", 1), ("rounding mode=random", 2)]


def test_other_candidates_and_more_repeats_change_no_digest(people: Microdata) -> None:
    before = cells(people)
    more = [{"name": "noise", "set": {"alpha": 0.3}}, *BASE["method"]]
    after = cells(people, method=more, repeats=5)
    assert {key: after[key].digest for key in before} == {key: cell.digest for key, cell in before.items()}
    assert len(after) == 12


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"losses": ["sse"]},
        {"attacks": ["distance-linkage"]},
        {"attacks": "all"},
        {"known": ["age"]},
        {"attributes": ["age"]},
        {"score": "max"},
        {"confidential": ["sex"]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_decides_the_numbers_changes_the_digest(people: Microdata, change: dict[str, Any]) -> None:
    before, after = cells(people), cells(people, **change)
    assert list(after) == list(before)
    assert {cell.digest for cell in before.values()}.isdisjoint(cell.digest for cell in after.values())


def test_an_edited_microveil_changes_the_digest(people: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cells(people)["mdav k=3", 1].digest
    assert cells(people)["mdav k=3", 1].digest == before
    monkeypatch.setattr("microveil.study.cells.source_digest", lambda root: "another")
    assert cells(people)["mdav k=3", 1].digest != before


def test_the_source_is_known_by_the_names_and_content_of_its_modules(tmp_path: Path) -> None:
    (tmp_path / "numerics").mkdir()
    found = set()
    for name, text in (("a.py", "x = 1"), ("a.py", "x = 2"), ("numerics/a.py", "x = 1"), ("note.txt", "none")):
        (tmp_path / name).write_text(text)
        found.add(source_digest.__wrapped__(tmp_path))
    assert len(found) == 3


def test_another_table_changes_the_digest(people: Microdata) -> None:
    import numpy as np

    fewer = people.take(np.arange(100))
    assert cells(people)["mdav k=3", 1].digest != cells(fewer)["mdav k=3", 1].digest


def test_writing_out_what_is_usual_changes_no_digest(people: Microdata) -> None:
    written = cells(people, score={"name": "mean", "set": {"by": "mean"}})
    assert written["mdav k=3", 1].digest == cells(people)["mdav k=3", 1].digest


def test_all_candidates_are_compared_on_what_any_of_them_masks() -> None:
    ways = [Candidate("a", (Step("noise", {}, ("x", "y")),)), Candidate("b", (Step("noise", {}, ("z", "x")),))]
    assert compared(ways) == ("x", "y", "z")


def test_a_later_step_may_mask_what_an_earlier_one_made_of_another_kind(people: Microdata) -> None:
    steps = [
        {"name": "recode", "attributes": ["age"], "set": {"cuts": [30.0, 60.0]}},
        {"name": "pram", "attributes": ["age"], "set": {"p": 0.8}},
    ]
    (cell,) = unfold(Design.from_plain({"method": [{"steps": steps}]}), people)
    assert [step.attributes for step in cell.candidate.steps] == [("age",), ("age",)]
