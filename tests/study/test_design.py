"""What a study's file may say, and how everything else is refused."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from microveil.errors import Cancelled, DataError, FileError, ParameterError
from microveil.microdata import Microdata
from microveil.study import Design, read_design
from microveil.study.cells import Named, unfold
from microveil.study.design import ENTRIES

MDAV: dict[str, Any] = {"name": "mdav"}


def labels(*methods: dict[str, Any]) -> list[str]:
    return [candidate.label for candidate in Design.from_plain({"method": list(methods)}).candidates]


def test_a_grid_unfolds_into_every_combination() -> None:
    entry = {"name": "rank-swapping", "grid": {"p": [2.0, 5.5]}, "attributes": ["age"]}
    assert labels(MDAV, entry) == ["mdav", "rank-swapping p=2", "rank-swapping p=5.5"]


def test_the_grids_of_a_chain_multiply() -> None:
    steps = [{"name": "mdav", "grid": {"k": [3, 5]}}, {"name": "noise", "grid": {"alpha": [0.1, 0.2, 0.3]}}]
    found = labels({"steps": steps})
    assert len(found) == 6
    assert found[0] == "mdav k=3, noise alpha=0.1"
    design = Design.from_plain({"method": [{"steps": steps}]})
    assert design.candidates[-1].varied == {"mdav.k": 5, "noise.alpha": 0.3}
    assert design.candidates[-1].family == "mdav + noise"


def test_the_steps_of_a_method_that_occurs_twice_are_numbered() -> None:
    steps = [{"name": "mdav", "grid": {"k": [3]}}, {"name": "noise"}, {"name": "mdav", "grid": {"k": [5]}}]
    (candidate,) = Design.from_plain({"method": [{"steps": steps}]}).candidates
    assert candidate.varied == {"1.mdav.k": 3, "3.mdav.k": 5}


def test_values_that_differ_in_late_digits_have_different_labels() -> None:
    found = labels({"name": "noise", "grid": {"alpha": [0.12345671, 0.12345672, 0.5]}})
    assert found == ["noise alpha=0.12345671", "noise alpha=0.12345672", "noise alpha=0.5"]


def test_a_label_takes_the_place_of_the_methods_name() -> None:
    assert labels({**MDAV, "label": "groups", "set": {"scale": "z"}, "grid": {"k": [3]}}) == ["groups k=3"]


def test_measures_and_scores_are_names_or_tables() -> None:
    design = Design.from_plain(
        {
            "method": [MDAV],
            "attacks": ["distance-linkage", {"name": "interval-disclosure", "set": {"widths": [5.0]}}],
            "losses": ["sse"],
            "score": {"name": "max"},
            "accept": {"risk": 10},
        }
    )
    assert isinstance(design.attacks, tuple)
    assert design.attacks[1].parameters["widths"] == [5.0]
    assert design.losses is not None
    assert design.losses[0].name == "sse"
    assert design.score.name == "max"
    assert design.risk_bound == 10.0
    assert Design.from_plain({"method": [MDAV], "attacks": "all"}).attacks == "all"
    assert Design.from_plain({"method": [MDAV]}).score == Named("mean")


BAD: list[tuple[str, str]] = [
    ("", "a study needs at least one [[method]] entry"),
    ("method = 3", "a study needs at least one [[method]] entry"),
    ("method = [3]", "method 1: an entry is a table"),
    ("repeets = 2\n[[method]]\nname = 'mdav'", "no entry 'repeets'; did you mean 'repeats'?"),
    ("[[method]]\nset = { k = 3 }", "method 1: the name of a method must be given"),
    ("[[method]]\nname = 'mdva'", "method 1: unknown method 'mdva'; did you mean 'mdav'?"),
    ("[[method]]\nname = 'mdav'\nsets = { k = 3 }", "method 1: a method has no entry 'sets'; did you mean 'set'?"),
    ("[[method]]\nname = 'mdav'\nset = { q = 3 }", "method 1: mdav has no parameter 'q'"),
    ("[[method]]\nname = 'mdav'\nset = { k = 'x' }", "method 1: mdav: k = 'x' is not allowed"),
    ("[[method]]\nname = 'mdav'\nset = 3", "method 1: set = 3 is not allowed; it must be a table"),
    ("[[method]]\nname = 'mdav'\ngrid = { k = 3 }", "method 1: mdav: the grid of k must be a list"),
    ("[[method]]\nname = 'mdav'\ngrid = { k = [] }", "method 1: mdav: the grid of k must be a list"),
    ("[[method]]\nname = 'mdav'\ngrid = { k = [3, 0] }", "method 1: mdav: k = 0 is not allowed"),
    ("[[method]]\nname = 'mdav'\nset = { k = 3 }\ngrid = { k = [3] }", "mdav: k stands both in set and in grid"),
    ("[[method]]\nname = 'mdav'\ngrid = { k = [3, 3] }", "method 1: the candidate 'mdav k=3' stands twice"),
    ("[[method]]\nname = 'mdav'\n[[method]]\nname = 'mdav'", "method 2: the candidate 'mdav' stands already in"),
    ("[[method]]\nname = 'mdav'\nattributes = 'age'", "method 1: attributes = 'age' is not allowed; it must be a list"),
    ("[[method]]\nname = 'mdav'\nlabel = 3", "method 1: label = 3 is not allowed; it must be a text"),
    ("[[method]]\nname = 'mdav'\nlabel = '  '", "method 1: label = '  ' is not allowed; it must be a text that is not"),
    ("title = ' '\n[[method]]\nname = 'mdav'", "title = ' ' is not allowed; it must be a text that is not blank"),
    ("attributes = ['age', 'age']\n[[method]]\nname = 'mdav'", "attributes names 'age' twice"),
    ("[[method]]\nname = 'mdav'\nattributes = ['age', 'sex', 'age']", "method 1: attributes names 'age' twice"),
    ("[[method]]\nsteps = []", "method 1: steps are a list of tables"),
    ("[[method]]\nsteps = [3]", "method 1: the name of a method must be given"),
    ("[[method]]\nname = 'mdav'\nsteps = [{ name = 'mdav' }]", "method 1: an entry with steps has name, set, grid"),
    ("[[method]]\nsteps = [{ name = 'mdav', gird = {} }]", "a step has no entry 'gird'; did you mean 'grid'?"),
    ("seed = -1\n[[method]]\nname = 'mdav'", "seed must be a whole number from 0 to 2^256 - 1"),
    ("repeats = 0\n[[method]]\nname = 'mdav'", "repeats = 0 is not allowed; it must be a whole number of at least 1"),
    ("repeats = true\n[[method]]\nname = 'mdav'", "repeats = True is not allowed"),
    ("workers = -1\n[[method]]\nname = 'mdav'", "workers = -1 is not allowed"),
    ("title = 3\n[[method]]\nname = 'mdav'", "title = 3 is not allowed"),
    ("keys = 'age'\n[[method]]\nname = 'mdav'", "keys = 'age' is not allowed; it must be a list of column names"),
    ("weight = ['w']\n[[method]]\nname = 'mdav'", "weight = ['w'] is not allowed; it must be a text"),
    ("schema = 3\n[[method]]\nname = 'mdav'", "schema = 3 is not allowed"),
    ("schema = 'none.toml'\n[[method]]\nname = 'mdav'", "none.toml: cannot be read"),
    ("attacks = 'some'\n[[method]]\nname = 'mdav'", "attacks = 'some' is not allowed; it must be a list of names"),
    ("attacks = ['linkage']\n[[method]]\nname = 'mdav'", "attacks: unknown attack 'linkage'"),
    ("attacks = [3]\n[[method]]\nname = 'mdav'", "attacks: an entry is a name or a table"),
    ("losses = []\n[[method]]\nname = 'mdav'", "losses = [] is not allowed; it must be a list of names"),
    ("losses = [{ name = 'sse', sets = {} }]\n[[method]]\nname = 'mdav'", "an entry of losses has no entry 'sets'"),
    ("score = 'sum'\n[[method]]\nname = 'mdav'", "score: unknown score 'sum'"),
    ("accept = 10\n[[method]]\nname = 'mdav'", "accept is a table such as { risk = 10 }"),
    ("accept = { risk = 0 }\n[[method]]\nname = 'mdav'", "accept: risk = 0 is not allowed"),
    ("data = 'a.csv'\ndataset = 'census'\n[[method]]\nname = 'mdav'", "either data, a file, or dataset"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), BAD)
def test_what_is_wrong_is_said_in_one_sentence_that_names_the_entry(
    text: str, sentence: str, study_file: Callable[..., Path]
) -> None:
    tomllib.loads(text)
    path = study_file(text)
    with pytest.raises(FileError) as refused:
        read_design(path)
    told = str(refused.value)
    assert sentence in told
    assert "\n" not in told
    assert str(path.parent) in told


def test_a_file_that_is_no_toml_or_not_there_is_refused(study_file: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is not a TOML file"):
        read_design(study_file("[[method"))
    with pytest.raises(FileError, match="cannot be read"):
        read_design(tmp_path / "none.toml")


def test_a_study_without_a_table_says_so() -> None:
    with pytest.raises(ParameterError, match="names no table"):
        Design.from_plain({"method": [MDAV]}).table()


def test_attributes_that_do_not_exist_or_do_not_fit_are_refused_before_any_work(people: Microdata) -> None:
    for plain, sentence in (
        (
            {"method": [{**MDAV, "attributes": ["agee"]}]},
            "method 1, candidate 'mdav': unknown column 'agee'; did you mean 'age'?",
        ),
        ({"method": [{**MDAV, "attributes": ["sex"]}]}, "candidate 'mdav': attribute 'sex' is nominal"),
        (
            {"method": [{"steps": [{**MDAV, "attributes": ["age"]}, {**MDAV, "attributes": ["agee"]}]}]},
            "method 1, candidate 'mdav, mdav', step 2: unknown column 'agee'",
        ),
        ({"method": [{**MDAV, "attributes": ["age"]}], "attributes": ["agee"]}, "attributes: unknown column 'agee'"),
        ({"method": [{**MDAV, "attributes": ["age"]}], "known": ["agee"]}, "known: unknown column 'agee'"),
    ):
        with pytest.raises((ParameterError, LookupError, DataError)) as refused:
            unfold(Design.from_plain(plain), people)
        assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("keys = ['agee']\n[[method]]\nname = 'mdav'", "keys: unknown column 'agee'; did you mean 'age'?"),
        ("weight = 'w'\n[[method]]\nname = 'mdav'", "weight: unknown column 'w'"),
        ("nominal = ['sexx']\n[[method]]\nname = 'mdav'", "nominal: unknown column 'sexx'; did you mean 'sex'?"),
        ("known = ['agee']\n[[method]]\nname = 'mdav'", "known: unknown column 'agee'"),
        ("[[method]]\nname = 'mdav'\nattributes = ['agee']", "method 1, candidate 'mdav': unknown column 'agee'"),
    ],
)
def test_errors_about_columns_name_the_file_and_the_entry(
    text: str, sentence: str, study_file: Callable[..., Path]
) -> None:
    path = study_file(f"data = 'people.csv'\n{text}")
    design = read_design(path)
    with pytest.raises(FileError) as refused:
        unfold(design, design.table())
    assert str(refused.value).startswith(f"{path}: {sentence}")


def test_who_cancels_the_reading_is_not_told_of_an_error(study_file: Callable[..., Path]) -> None:
    def stop(fraction: float, label: str, /) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled, match=r"^enough$"):
        read_design(study_file()).table(progress=stop)


@pytest.mark.parametrize(
    ("plain", "sentence"),
    [
        ({"score": "classic", "attributes": ["age", "sex"]}, "score: attribute 'sex' is nominal, but classic works on"),
        ({"score": "classic", "known": ["sex"]}, "score: attribute 'sex' is nominal"),
        ({"score": "categorical"}, "score: attribute 'age' is numeric"),
    ],
)
def test_a_score_that_can_fit_no_candidate_is_refused_before_any_work(
    plain: dict[str, Any], sentence: str, people: Microdata
) -> None:
    with pytest.raises(ParameterError, match=re.escape(sentence)):
        unfold(Design.from_plain({"method": [{**MDAV, "attributes": ["age"]}], **plain}), people)
    assert unfold(Design.from_plain({"method": [{**MDAV, "attributes": ["age"]}], "score": "classic"}), people)


def test_roles_and_kinds_in_the_file_go_over_those_of_the_table(people: Microdata) -> None:
    design = Design.from_plain({"method": [MDAV], "keys": ["wealth"], "ordinal": ["age"]})
    table = design.table(people)
    assert table.schema.keys == ("wealth",)
    assert table["age"].kind == "ordinal"


def test_paths_are_relative_to_the_file(study_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = study_file()
    monkeypatch.chdir("/")
    assert len(read_design(path).table()) == 120


def test_the_example_of_the_documentation_is_a_study() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "studies.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert example is not None
    design = Design.from_plain(tomllib.loads(example[1]), docs / "examples")
    assert len(design.candidates) == 3 + 6
    assert design.candidates[3].label == "swapped and changed rank-swapping p=5, pram p=0.9"
    entries = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    named = {name for entry in entries for name in re.findall(r"`(\w+)`", entry)}
    assert named | {"method"} == set(ENTRIES)


def test_the_study_of_two_hundred_cells_has_them() -> None:
    design = read_design(Path(__file__).parents[2] / "studies" / "two_hundred_cells.toml")
    assert sum(design.repeats if candidate.is_random else 1 for candidate in design.candidates) == 200


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"repeats": 10**9}, "repeats = 1000000000 is not allowed; it must be a whole number .* at most 10,000"),
        ({"workers": 10**23}, "workers = .* is not allowed; it must be a whole number of at least 0 and at most 1,000"),
        ({"repeats": 10**5000}, "repeats = a number of 5,001 digits is not allowed"),
        ({"title": [[[[[5]]]]]}, r"title = \[\[\[\[\.\.\.\]\]\]\] is not allowed; it must be a text"),
        ({"method": [{"name": "mdav", "grid": {"k": [*range(1000)], "block": [*range(1000)]}}]}, "1,000,000 combi"),
    ],
)  # fmt: skip
def test_numbers_that_would_never_end_are_refused(entry: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Design.from_plain({"method": [{"name": "mdav"}], **entry})


@pytest.mark.parametrize("text", ["seed = " + "9" * 5000, "x = " + "[" * 5000, "a." * 400 + "b = 1"])
def test_a_study_that_no_reader_can_hold_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"study\.toml: (is nested too deeply|has a number|is not a TOML)"):
        read_design(tmp_path / "study.toml")
