"""Notes: sentences made from a kind with numbers and names, brought together by part and read back from a manifest."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import ParameterError
from microveil.masking import notes as module
from microveil.masking.base import Masked, Method
from microveil.masking.coarsening.recode import Recode
from microveil.masking.coarsening.suppress import Suppress
from microveil.masking.microaggregation.camp_crest import CampCrest
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.notes import (
    CELLS_EMPTIED,
    CELLS_OF_ATTRIBUTE,
    CELLS_SUPPRESSED,
    COPIES,
    DISTANCE_TO_ORIGINALS,
    MEAN_MOVED,
    MEMBERS_DIFFER,
    MOMENTS_RESTORED,
    OF_GROUPING,
    OF_RUN,
    SAME_CLASS,
    SINGLE_CLASS,
    VALUES_MERGED,
    VALUES_OF_ATTRIBUTE,
    Kind,
    Note,
    Range,
    merged,
)
from microveil.masking.within import Within
from microveil.microdata import Microdata
from microveil.parameters import parameterised
from microveil.progress import Progress
from microveil.randomness import Streams

KINDS = {name: kind for name, kind in vars(module).items() if isinstance(kind, Kind)}


def said(notes: tuple[Note, ...]) -> list[str]:
    return [str(note) for note in notes]


# --- sentences -------------------------------------------------------------------------------------------------------


def test_a_noun_is_singular_for_one_and_plural_for_any_other_number() -> None:
    emptied = Kind("cells-emptied", "{cells:cell} emptied")
    assert [str(emptied(cells=cells)) for cells in (0, 1, 2, 1200)] == [
        "0 cells emptied",
        "1 cell emptied",
        "2 cells emptied",
        "1,200 cells emptied",
    ]
    assert str(Kind("merged", "{n:category|categories} merged")(n=3)) == "3 categories merged"


def test_names_are_joined_or_counted() -> None:
    names = ("age", "sex")
    assert str(Kind("a", "of {names}")(names=names)) == "of age, sex"
    assert str(Kind("a", "of {names:or}")(names=names)) == "of age or sex"
    assert str(Kind("a", "of {names:attribute}")(names=names)) == "of 2 attributes"
    assert str(MEMBERS_DIFFER(households=1, attributes=names)).startswith("members of 1 household differ in age or sex")


@pytest.mark.parametrize(
    ("codes", "rest"), [({}, ""), ({"codes": 0}, ""), ({"codes": 1}, ", 1 missing code among them")]
)
def test_a_clause_is_left_out_where_its_number_is_0_or_not_given(codes: dict[str, int], rest: str) -> None:
    assert str(CELLS_SUPPRESSED(cells=2, **codes)) == f"2 cells suppressed because of missing values{rest}"


def test_a_note_tells_no_more_digits_than_its_sentence() -> None:
    note = MEAN_MOVED(attribute="age", shift=0.0123456)
    assert note.values == {"attribute": "age", "shift": 0.012}
    assert str(note) == "the mean of 'age' moved by 0.012 standard deviations"


def test_names_may_hold_braces_and_brackets() -> None:
    assert str(MEAN_MOVED(attribute="income [{EUR}]", shift=1)) == (
        "the mean of 'income [{EUR}]' moved by 1 standard deviations"
    )


@pytest.mark.parametrize("values", [{}, {"cells": 3, "rows": 2}, {"codes": 1}])
def test_values_that_do_not_belong_to_the_kind_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match="a note of the kind 'cells-suppressed' has the values cells, codes, not"):
        CELLS_SUPPRESSED(**values)


def test_a_note_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        CELLS_SUPPRESSED(cells=1).kind = COPIES  # type: ignore[misc]


def test_every_kind_has_a_name_of_its_own() -> None:
    names = [kind.name for kind in KINDS.values()]
    assert len(set(names)) == len(names) > 40


# --- notes of parts --------------------------------------------------------------------------------------------------


def test_numbers_that_differ_become_a_range_and_the_noun_its_plural() -> None:
    parts = [[CELLS_SUPPRESSED(cells=cells, codes=0)] for cells in (12, 1, 7)]
    (note,) = merged(parts)
    assert str(note) == "1 to 12 cells suppressed because of missing values (in 3 parts of 3)"
    inside = note.values["note"]
    assert isinstance(inside, Note)
    assert inside.kind == CELLS_SUPPRESSED
    assert inside.values == {"cells": Range(1, 12), "codes": 0}


def test_a_number_that_all_parts_share_is_said_as_it_is() -> None:
    kind = Kind("emptied", "{cells} of {all:cell} emptied")
    assert said(merged([[kind(cells=3, all=10)], [kind(cells=1, all=10)]])) == [
        "1 to 3 of 10 cells emptied (in 2 parts of 2)"
    ]
    assert said(merged([[kind(cells=1, all=1)], [kind(cells=1, all=1)], []])) == [
        "1 of 1 cell emptied (in 2 parts of 3)"
    ]


def test_a_part_that_says_a_thing_twice_counts_once() -> None:
    assert said(merged([[SINGLE_CLASS(groups=1), SINGLE_CLASS(groups=4)], [SAME_CLASS(records=3, groups=1)]])) == [
        "1 to 4 groups with a class that only one member has (in 1 part of 2)",
        "3 records in 1 group whose members all have the same class (in 1 part of 2)",
    ]


def test_notes_about_other_names_stay_apart() -> None:
    parts = [[MEAN_MOVED(attribute="x1", shift=0.1)], [MEAN_MOVED(attribute="x2", shift=0.3)]]
    assert said(merged(parts)) == [
        "the mean of 'x1' moved by 0.1 standard deviations (in 1 part of 2)",
        "the mean of 'x2' moved by 0.3 standard deviations (in 1 part of 2)",
    ]


def test_runs_are_told_apart_and_groupings_by_their_attributes() -> None:
    runs = [[OF_RUN(run=str(run), note=SINGLE_CLASS(groups=run)) for run in (1, 2)] for _ in range(2)]
    assert said(merged(runs)) == [
        "run 1: 1 group with a class that only one member has (in 2 parts of 2)",
        "run 2: 2 groups with a class that only one member has (in 2 parts of 2)",
    ]
    blocks: list[tuple[str, ...]] = [("a", "b"), ("c",)]
    groupings = [[OF_GROUPING(attributes=block, note=SINGLE_CLASS(groups=n)) for block in blocks] for n in (1, 5)]
    assert said(merged(groupings)) == [
        "grouping of 2 attributes: 1 to 5 groups with a class that only one member has (in 2 parts of 2)",
        "grouping of 1 attribute: 1 to 5 groups with a class that only one member has (in 2 parts of 2)",
    ]


def test_lists_by_attribute_are_merged_attribute_by_attribute() -> None:
    def emptied(age: int, sex: int) -> Note:
        cells = tuple(CELLS_OF_ATTRIBUTE(attribute=n, cells=c) for n, c in (("age", age), ("sex", sex)))
        return CELLS_EMPTIED(method="suppress", cells=age + sex, records=4, attributes=cells)

    assert said(merged([[emptied(3, 2000)], [emptied(5, 1)]])) == [
        "suppress: 6 to 2,003 cells of 4 records emptied (age 3 to 5, sex 1 to 2,000) (in 2 parts of 2)"
    ]


def test_a_range_beside_the_word_to_has_a_dash() -> None:
    def fewer(before: int, left: int) -> Note:
        values = (VALUES_OF_ATTRIBUTE(attribute="age", before=before, after=2),)
        return VALUES_MERGED(method="recode", attributes=values, left=left, k=3)

    assert said(merged([[fewer(9, 0)], [fewer(12, 2)]])) == [
        "recode: values merged (age 9–12 to 2); 0 to 2 records left below k = 3 (in 2 parts of 2)"
    ]
    moved = [[MOMENTS_RESTORED(method="restore", before=b, after=a)] for b, a in ((0.5, 1e-6), (0.25, 1e-7))]
    assert said(merged(moved)) == [
        "restore: the discrepancy of the moments fell from 0.25–0.5 to 1e-07–1e-06 (in 2 parts of 2)"
    ]


def test_parts_inside_parts_are_merged_too() -> None:
    inner = [merged([[SINGLE_CLASS(groups=2)], []]), merged([[SINGLE_CLASS(groups=5)], [SINGLE_CLASS(groups=1)]])]
    assert said(merged(inner)) == [
        "1 to 5 groups with a class that only one member has (in 1 to 2 parts of 2) (in 2 parts of 2)"
    ]


def test_a_ratio_that_is_not_known_in_one_part_is_left_out_of_the_range() -> None:
    def distances(ratio: float) -> Note:
        return DISTANCE_TO_ORIGINALS(distance_ratio=ratio, neighbour_ratio=0.5, closer=5.0)

    (note,) = merged([[distances(math.nan)], [distances(1.25)], [distances(math.inf)]])
    assert "nearest original is 1.25 to inf times that" in str(note)
    (unknown,) = merged([[distances(math.nan)], [distances(math.nan)]])
    assert "nearest original is nan times that" in str(unknown)


@given(st.lists(st.lists(st.integers(0, 2000), max_size=3), min_size=1, max_size=6))
def test_a_merged_note_spans_all_numbers_and_counts_the_parts(cells: list[list[int]]) -> None:
    parts = [[CELLS_SUPPRESSED(cells=number, codes=0) for number in part] for part in cells]
    numbers = [number for part in cells for number in part]
    if not numbers:
        assert merged(parts) == ()
        return
    (note,) = merged(parts)
    inside = note.values["note"]
    assert isinstance(inside, Note)
    lowest, highest = min(numbers), max(numbers)
    assert inside.values["cells"] == (lowest if lowest == highest else Range(lowest, highest))
    assert (note.values["parts"], note.values["of"]) == (sum(map(bool, cells)), len(cells))


def test_a_method_inside_strata_says_ranges() -> None:
    data = Microdata.of(
        {"town": list("uuuuuuvvvvvv"), "sex": list("ffffmmffffff"), "job": list("aabbaaaabbcc")},
        strata=["town"],
        keys=["sex", "job"],
    )
    release = Within(method=Recode(k=2), by="strata").mask(data, seed=1)
    assert all(note.endswith(("part of 2)", "parts of 2)")) for note in release.provenance.notes)
    assert [note.kind.name for note in release.provenance.step_notes] == ["in-parts"] * len(release.provenance.notes)
    emptied = Within(method=Suppress(k=2), by="strata").mask(data, seed=1)
    assert "suppress: no cell had to be emptied (in" in " ".join(emptied.provenance.notes)


def test_the_runs_of_camp_crest_are_numbered() -> None:
    rng = np.random.default_rng(1)
    data = Microdata.of(
        {"x": rng.normal(size=30), "a": list("uv" * 15), "b": list("pqr" * 10)}, keys=["x"], confidential=["a", "b"]
    )
    notes = CampCrest(k=3, runs=True).mask(data, seed=1).provenance.step_notes
    assert str(notes[0]) == "the average of 2 groupings, with independent noise"
    assert all(note.kind == OF_RUN for note in notes[1:])


# --- manifests -------------------------------------------------------------------------------------------------------


def example(kind: Kind) -> Note:
    """A note of a kind with some value for everything that its sentence names."""
    values: dict[str, Any] = {}
    for _, name, form, _ in Formatter().parse(kind.sentence.replace("[", "").replace("]", "")):
        if name == "note":
            values[name] = SINGLE_CLASS(groups=2)
        elif name is not None:
            values[name] = 3 if form else ("age", "sex")
    return kind(**values)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_comes_back_from_a_manifest(kind: Kind) -> None:
    note = example(kind)
    again = Note.from_plain(json.loads(json.dumps(note.to_plain(), allow_nan=False)))
    assert again == note
    assert str(again) == str(note)
    assert again.to_plain() == note.to_plain()


@pytest.mark.parametrize(
    "note",
    [
        merged([[CELLS_SUPPRESSED(cells=1, codes=0)], [CELLS_SUPPRESSED(cells=3, codes=2)]])[0],
        DISTANCE_TO_ORIGINALS(distance_ratio=math.nan, neighbour_ratio=math.inf, closer=0.0),
        DISTANCE_TO_ORIGINALS(distance_ratio=1.0, neighbour_ratio=0.5, closer=5.0, compared=50, records=400),
        merged([[COPIES(copies=0.0, unique_copies=1.0)], [COPIES(copies=math.inf, unique_copies=1.0)]])[0],
    ],
    ids=["range", "infinite", "optional", "infinite range"],
)
def test_ranges_and_numbers_without_bound_come_back(note: Note) -> None:
    plain = json.loads(json.dumps(note.to_plain(), allow_nan=False))
    assert Note.from_plain(plain) == note
    assert str(Note.from_plain(plain)) == plain["sentence"] == str(note)


def test_a_manifest_holds_kind_numbers_and_sentence() -> None:
    plain = merged([[CELLS_SUPPRESSED(cells=1, codes=0)], [CELLS_SUPPRESSED(cells=3, codes=0)]])[0].to_plain()
    assert plain == {
        "kind": "in-parts",
        "sentence": "1 to 3 cells suppressed because of missing values (in 2 parts of 2)",
        "values": {
            "note": {
                "kind": "cells-suppressed",
                "sentence": "1 to 3 cells suppressed because of missing values",
                "values": {"cells": {"lowest": 1, "highest": 3}, "codes": 0},
            },
            "parts": 2,
            "of": 2,
        },
    }


def test_a_release_read_back_has_equal_notes(tmp_path: Path) -> None:
    data = Microdata.of(
        {"home": [1, 1, 2, 2, 3, 3], "age": [20, None, 30, 40, 50, 60], "rent": [5, 5, 6, 6, 7, 7]},
        household="home",
        keys=["age", "rent"],
    )
    release = MDAV(k=2).mask(data, seed=1).shuffled()
    release.save(tmp_path / "safe.csv")
    again = mv.read_release(tmp_path / "safe.csv")
    assert release.provenance.step_notes
    assert again.provenance.step_notes == release.provenance.step_notes
    assert again.provenance.notes == release.provenance.notes
    assert again.provenance.to_plain()["notes"] == release.provenance.to_plain()["notes"]
    (order,) = [note for note in release.provenance.to_plain()["notes"] if note["kind"] == "random-order"]
    assert order == {"kind": "random-order", "sentence": "records in random order", "values": {}}


def test_a_kind_of_a_newer_version_keeps_its_sentence_and_numbers() -> None:
    plain = {"kind": "of-next-year", "sentence": "7 of [{9}] things done", "values": {"things": 7, "of": ["a", "b"]}}
    note = Note.from_plain(plain)
    assert str(note) == "7 of [{9}] things done"
    assert note.kind.name == "of-next-year"
    assert note.values == {"things": 7, "of": ("a", "b")}
    assert note.to_plain() == plain


def test_the_sentence_of_a_manifest_stays_where_a_kind_has_another_now() -> None:
    note = Note.from_plain({"kind": "cells-suppressed", "sentence": "2 cells gone", "values": {"cells": 2}})
    assert note == CELLS_SUPPRESSED(cells=2)
    assert str(note) == "2 cells gone"


def test_notes_read_back_with_other_sentences_are_never_merged() -> None:
    read = [Note.from_plain(CELLS_SUPPRESSED(cells=cells).to_plain()) for cells in (2, 3)]
    assert said(merged([[read[0]], [read[1]]])) == [
        "2 cells suppressed because of missing values (in 1 part of 2)",
        "3 cells suppressed because of missing values (in 1 part of 2)",
    ]


def test_a_mere_text_is_a_remark() -> None:
    note = Note.from_plain("a note")
    assert (str(note), note.kind.name, note.values) == ("a note", "remark", {"text": "a note"})


@pytest.mark.parametrize(
    "plain",
    [
        3,
        None,
        [],
        {},
        {"kind": "a"},
        {"kind": 1, "sentence": "x"},
        {"kind": "a", "sentence": None},
        {"kind": "a", "sentence": "x", "values": []},
        {"kind": "a", "sentence": "x", "values": {"n": None}},
        {"kind": "a", "sentence": "x", "values": {"n": True}},
        {"kind": "a", "sentence": "x", "values": {"n": [[None]]}},
        {"kind": "a", "sentence": "x", "values": {"n": {"lowest": 1}}},
        {"kind": "a", "sentence": "x", "values": {"n": {"lowest": "x", "highest": 2}}},
        {"kind": "a", "sentence": "x", "values": {"n": {"number": "many"}}},
        {"kind": "a", "sentence": "x", "values": {"n": {"number": ["nan"]}}},
        {"kind": "a", "sentence": "x", "values": {"n": {"kind": "b"}}},
    ],
)
def test_what_is_no_note_is_refused_in_a_sentence(plain: object) -> None:
    with pytest.raises(ParameterError, match=r"^notes = .* is no part of a manifest; it must be a note with its kind"):
        Note.from_plain(plain)


# --- methods of other packages ---------------------------------------------------------------------------------------

DOUBLED = Kind("acme-doubled", "{values:value} of {attribute} doubled")


@parameterised
class Doubled(Method):
    name: ClassVar[str] = "acme-doubled"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = "doubles numbers"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "stay"
    source: ClassVar[str] = "a test"
    random: ClassVar[bool] = False

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns = {name: data.number_column(name, 2 * data.numbers(name).values) for name in attributes}
        return Masked(columns, notes=tuple(DOUBLED(values=len(data), attribute=name) for name in attributes))


def test_a_method_of_another_package_makes_notes_that_are_merged_and_read_back() -> None:
    data = Microdata.of({"town": list("uuvvv"), "x": [1.0, 2.0, 3.0, 4.0, 5.0]}, strata=["town"], keys=["x"])
    release = Within(method=Doubled(), by="strata").mask(data, seed=1)
    assert release.provenance.notes == ("2 to 3 values of x doubled (in 2 parts of 2)",)
    plain = release.provenance.to_plain()["notes"]
    assert [Note.from_plain(note) for note in plain] == list(release.provenance.step_notes)


def test_a_sentence_alone_is_no_note() -> None:
    with pytest.raises(TypeError, match="a note is made by its kind"):
        Masked({}, notes=("3 cells emptied",))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a note is made by its kind"):
        replace(Masked({}), notes=("3 cells emptied",))
