"""PRAM draws from the rows of a matrix: made, given, invariant, of one attribute or of several joined."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from microveil.errors import DataError, ParameterError
from microveil.masking.plan import Plan
from microveil.masking.randomising.matrices import matrix_for
from microveil.masking.randomising.pram import PRAM, variable_of
from microveil.microdata import Microdata
from microveil.numerics.perturbing.transition_matrices import entropy_matrix, uniform_matrix
from microveil.protection import protect


@pytest.fixture(scope="module")
def people() -> Microdata:
    rng = np.random.default_rng(4)
    return Microdata.of({"a": rng.choice(list("xyz"), 500, p=[0.6, 0.3, 0.1]), "b": rng.choice(list("pq"), 500)})


@pytest.mark.spec("05:PM-01")
def test_each_attribute_has_a_matrix_of_its_own() -> None:
    rng = np.random.default_rng(4)
    columns = {"a": rng.choice(list("xyz"), 500), "b": rng.choice(list("pq"), 500)}
    release = PRAM(p=0.6).mask(Microdata.of(columns), seed=1)
    assert {block: matrix.shape for block, matrix in release.matrices.items()} == {("a",): (3, 3), ("b",): (2, 2)}
    kept = (release.data.categories("a").codes == Microdata.of(columns).categories("a").codes).mean()
    assert abs(kept - 0.6) < 4 * np.sqrt(0.6 * 0.4 / 500)


def test_the_domain_comes_from_the_schema() -> None:
    data = Microdata.of({"answer": ["yes", "no"] * 300})
    data = data.with_schema(data.schema.replacing(data["answer"].changed(domain=("yes", "no", "unsure"))))
    assert "unsure" in PRAM(p=0.5).mask(data, seed=1).frame["answer"].to_pylist()


def test_missing_is_a_category_of_its_own_or_stays() -> None:
    values = ["a", "b", None, "REF"] * 50
    data = Microdata.of({"x": values})
    own = data.with_schema(data.schema.replacing(data["x"].changed(missing_codes=("REF",))))
    drawn = PRAM(p=0.2).mask(own, seed=1).frame["x"].to_pylist()
    assert any(before is None and after is not None for before, after in zip(values, drawn, strict=True))
    stays = own.with_schema(own.schema.replacing(own["x"].changed(missing="not applicable")))
    drawn = PRAM(p=0.2).mask(stays, seed=1).frame["x"].to_pylist()
    assert all(after == before for before, after in zip(values, drawn, strict=True) if before in (None, "REF"))


def test_truth_values_and_numbers_can_be_categories() -> None:
    data = Microdata.of({"smokes": [True, False, None] * 20, "code": [1, 2, 3] * 20}, nominal=["code"])
    release = PRAM(p=0.5).mask(data, ["smokes", "code"], seed=1)
    assert [str(field.type) for field in release.frame.schema] == ["bool", "int64"]


def test_p_is_a_probability() -> None:
    with pytest.raises(ParameterError, match=r"pram: p = 1\.2"):
        PRAM(p=1.2)


def test_more_categories_than_a_matrix_can_hold_are_refused() -> None:
    with pytest.raises(DataError, match=r"'x' has 5,001 categories.*recode it first"):
        PRAM().mask(Microdata.of({"x": [f"c{i}" for i in range(5001)]}), seed=1)


def test_columns_without_any_value_or_with_numbered_categories_come_back() -> None:
    import pyarrow as pa

    table = pa.table({"n": pa.nulls(4), "d": pa.array([1, 2, 2, 1]).dictionary_encode()})
    release = PRAM(p=0.5).mask(Microdata.of(table, nominal=["n", "d"]), seed=1)
    assert release.frame["n"].null_count == 4
    assert set(release.frame["d"].to_pylist()) <= {1, 2}


def test_a_column_without_any_category_stays_empty() -> None:
    data = Microdata.of({"x": [None, None], "y": ["a", "b"]}, nominal=["x", "y"])
    data = data.with_schema(data.schema.replacing(data["x"].changed(missing="not applicable")))
    release = PRAM(p=0.5).mask(data, ["x", "y"], seed=1)
    assert release.data.arrow("x").null_count == 2
    assert list(release.matrices) == [("y",)]


# --- which matrix ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("05:PM-03", "05:PM-04")
def test_the_matrix_is_made_as_named(people: Microdata) -> None:
    t = people.categories("a").frequencies
    uniform = PRAM(matrix="uniform", theta=0.3).mask(people, ["a"], seed=1)
    assert (uniform.matrices[("a",)] == uniform_matrix(t, 0.3)).all()
    entropy = PRAM(matrix="entropy", p=0.6).mask(people, ["a"], seed=1)
    assert (entropy.matrices[("a",)] == entropy_matrix(3, 0.6)).all()


@pytest.mark.spec("05:GE-02")
def test_a_formula_makes_the_matrix_and_stands_in_plan_and_manifest(people: Microdata) -> None:
    method = PRAM(matrix="formula", formula="freq_j * freq_min / (N - freq_i)")
    t = people.categories("a").frequencies
    release = method.mask(people, ["a"], seed=1)
    row = t * t.min() / (t.sum() - t[0])
    assert release.matrices[("a",)][0] == pytest.approx(row / row.sum())
    plan = Plan.from_plain(tomllib.loads(Plan(release.provenance.steps, seed=1).to_toml()))
    assert plan.steps[0].parameters["formula"] == "freq_j * freq_min / (N - freq_i)"
    assert protect(people, plan).data.categories("a").codes.tolist() == release.data.categories("a").codes.tolist()
    invariant = PRAM(matrix="formula", formula="freq_j + N", invariant=True).mask(people, ["a"], seed=1)
    assert t @ invariant.matrices[("a",)] == pytest.approx(t)


@pytest.mark.spec("05:GE-02")
def test_the_least_frequency_of_a_formula_can_leave_out_empty_categories() -> None:
    data = Microdata.of({"x": ["a"] * 3 + ["b"]})
    data = data.with_schema(data.schema.replacing(data["x"].changed(domain=("a", "b", "c"))))
    literal = PRAM(matrix="formula", formula="freq_j - freq_min").mask(data, seed=1)
    positive = PRAM(matrix="formula", formula="freq_j - freq_min", freq_min="positive").mask(data, seed=1)
    assert literal.matrices[("x",)][0].tolist() == [0.75, 0.25, 0]
    assert positive.matrices[("x",)][0].tolist() == [1, 0, 0]


def test_a_formula_is_checked_when_the_method_is_made() -> None:
    with pytest.raises(ParameterError, match=r"^pram: a formula has no term 'freq_k'; did you mean"):
        PRAM(matrix="formula", formula="freq_k")
    with pytest.raises(ParameterError, match="need each other"):
        PRAM(matrix="formula")
    with pytest.raises(ParameterError, match="need each other"):
        PRAM(formula="N")
    with pytest.raises(ParameterError, match="freq_min is not allowed without matrix = 'formula'"):
        PRAM(freq_min="positive")


@pytest.mark.spec("05:PM-05", "05:PM-06")
def test_an_invariant_matrix_with_its_diagonal_in_range(people: Microdata) -> None:
    release = PRAM(p=0.6, matrix="entropy", invariant=True, diagonal=(0.55, 0.8)).mask(people, seed=1)
    for name in ("a", "b"):
        t, matrix = people.categories(name).frequencies, release.matrices[(name,)]
        assert t @ matrix == pytest.approx(t)
        assert 0.55 <= np.diag(matrix).min() <= np.diag(matrix).max() <= 0.8
    assert release.provenance.notes == ()
    t = people.categories("a").frequencies
    plain = PRAM(p=0.6, matrix="entropy", invariant=True).mask(people, seed=1).matrices[("a",)]
    assert t @ plain == pytest.approx(t)
    # fewer records keep their category, though the most frequent category keeps more of its own
    assert (t * np.diag(plain)).sum() < 0.6 * t.sum()
    assert np.diag(plain)[0] > 0.6


@pytest.mark.spec("05:PM-06")
def test_a_range_that_cannot_be_kept_is_noted() -> None:
    data = Microdata.of({"x": ["a"] * 2 + ["b"] * 300})
    (note,) = PRAM(p=0.6, invariant=True, diagonal=(0.55, 0.75)).mask(data, seed=1).provenance.notes
    assert note == "pram: the matrix of 'x' keeps the frequencies, but not the diagonal within 0.55 to 0.75"


@pytest.mark.spec("05:PM-06")
def test_a_diagonal_is_kept_in_range_without_invariance(people: Microdata) -> None:
    for lowering in ("corrected", "printed"):
        method = PRAM(p=0.95, diagonal=(0.55, 0.75), lowering=lowering)  # type: ignore[arg-type]
        matrix = method.mask(people, ["a"], seed=1).matrices[("a",)]
        assert matrix.sum(axis=1) == pytest.approx(1)
        # as printed, rows are divided by 1 - (1 - beta) / 3 in the end
        beta = 0.75 / 0.95
        assert np.diag(matrix) == pytest.approx(0.75 if lowering == "corrected" else 0.75 / (1 - (1 - beta) / 3))


@pytest.mark.spec("05:PM-06", "05:PE-06")
def test_a_diagonal_out_of_its_range_and_frequencies_that_are_not_kept_are_noted(people: Microdata) -> None:
    """One factor for all rows cannot always keep both ends, and Eq. 4.7 loses the invariance."""
    one = PRAM(given={"a": [[0.4, 0.3, 0.3], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]]}, diagonal=(0.55, 0.75), scope="matrix")
    (note,) = one.mask(people, ["a"], seed=1).provenance.notes
    assert note == "pram: the diagonal of the matrix of 'a' is not within 0.55 to 0.75"
    rare = Microdata.of({"x": ["a"] * 2 + ["b"] * 300})
    release = PRAM(p=0.6, invariant=True, diagonal=(0.55, 0.75), lowering="eq-4.7").mask(rare, seed=1)
    assert release.provenance.notes == (
        "pram: the matrix of 'x' does not keep the frequencies, because its diagonal was lowered by Eq. 4.7",
    )
    diagonal = np.diag(release.matrices[("x",)])
    assert 0.55 <= diagonal.min() <= diagonal.max() <= 0.75 + 1e-12


@pytest.mark.spec("05:PM-06")
def test_a_scope_that_is_the_usual_one_makes_the_usual_matrix(people: Microdata) -> None:
    unset, rows = (PRAM(p=0.95, diagonal=(0.55, 0.75), scope=scope).mask(people, seed=1) for scope in (None, "row"))
    assert (unset.matrices[("a",)] == rows.matrices[("a",)]).all()


# --- given matrices --------------------------------------------------------------------------------------------------

ROWS = [[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.5, 0.25, 0.25]]
TABLE = {"x": {"x": 0.7, "y": 0.2, "z": 0.1}, "z": {"x": 0.5, "y": 0.25, "z": 0.25}}


@pytest.mark.spec("05:PM-01", "01:MK-2")
def test_a_matrix_is_given_as_rows_an_array_a_table_or_a_file(people: Microdata, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("from,z,y,x\nx,0.1,0.2,0.7\ny,,1,\nz,0.25,0.25,0.5\n")
    for given in (ROWS, np.array(ROWS), TABLE, str(file), file):
        release = PRAM(given={"a": given}).mask(people, seed=1)
        assert release.matrices[("a",)] == pytest.approx(np.array(ROWS))
        assert np.diag(release.matrices[("b",)]) == pytest.approx(0.8)  # none is given, so it is made


@pytest.mark.spec("01:MK-2")
def test_a_plan_holds_the_given_matrices(people: Microdata, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("from,x,y,z\nx,0.5,0.5,0\n")
    for given in (ROWS, TABLE, str(tmp_path / "a.csv")):
        release = PRAM(given={"a": given}, invariant=True).mask(people, seed=7)
        text = release.plan.to_toml()
        assert "a.csv" not in text
        assert protect(people, Plan.from_plain(tomllib.loads(text))).data.digest() == release.data.digest()


@pytest.mark.spec("01:MK-2")
def test_recoding_and_suppression_are_matrices_too() -> None:
    data = Microdata.of({"x": ["a", "b", "c", "b", "?"]})
    data = data.with_schema(data.schema.replacing(data["x"].changed(missing_codes=("?",))))
    recoded = PRAM(given={"x": {"b": {"a": 1.0}}}).mask(data, seed=1)
    assert recoded.frame["x"].to_pylist() == ["a", "a", "c", "a", "?"]
    suppressed = PRAM(given={"x": {"c": {"?": 1.0}}}).mask(data, seed=1)
    assert suppressed.frame["x"].to_pylist() == ["a", "b", "?", "b", "?"]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ([[0.5, 0.5], [1.0]], "row 2 of 2 has 1 numbers"),
        ([[0.5, 0.4], [0.0, 1.0]], r"row 1 sums to 0\.9 instead of 1"),
        ([[1.5, -0.5], [0.0, 1.0]], "row 1 has a number that is no probability"),
        ([["a"]], "holds a cell that is not a number"),
        ({"x": {"x": 0.5}}, r"category 'x' sums to 0\.5"),
        ({"x": 1.0}, "by categories, it has for each a table"),
        ({"x": {"x": 1.0}, "y": 1.0}, "by categories, it has for each a table"),
        (7, "it must be a list of rows"),
        ("none.csv", r"none\.csv: cannot be read"),
    ],
)
def test_a_matrix_that_is_none_is_refused(given: object, wrong: str) -> None:
    with pytest.raises(ParameterError, match=f"^pram: the matrix given for 'a' is not allowed; .*{wrong}"):
        PRAM(given={"a": given})


def test_a_file_that_holds_no_matrix_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for text, wrong in (
        ("", "a line of categories"),
        ("from,x,y\nx,1\n", "line 2: has 1 numbers for 2 categories"),
        ("from,x,y\nx,1,0\ny,0.5,oh\n", "line 3: it holds a cell that is not a number"),
        ("from,x,y\nx,0.5,0.4\n", r"line 2: category 'x' sums to 0\.9"),
    ):
        file.write_text(text)
        with pytest.raises(ParameterError, match=wrong):
            PRAM(given={"a": file})


def test_a_matrix_must_fit_the_attribute_it_is_given_for(people: Microdata) -> None:
    with pytest.raises(ParameterError, match="has 2 rows, but there are 3 categories"):
        PRAM(given={"a": np.eye(2)}).mask(people, seed=1)
    with pytest.raises(ParameterError, match="has a category 'w', which is not in its domain"):
        PRAM(given={"a": {"x": {"w": 1.0}}}).mask(people, seed=1)
    with pytest.raises(ParameterError, match="given for 'c', which is not masked"):
        PRAM(given={"c": np.eye(3)}).mask(people, seed=1)


def test_rows_that_sum_to_1_but_for_rounding_are_divided_by_their_sum() -> None:
    found = matrix_for("a", ((0.5, 0.5000008), (0.0, 1.0)), ["x", "y"])
    assert found[0].tolist() == pytest.approx([0.5 / 1.0000008, 0.5000008 / 1.0000008], rel=1e-12)
    assert found[1].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("one", ["1", "1.0", 1, 1.0])
def test_categories_that_are_decimal_numbers_are_named_as_whole_ones_too(one: object) -> None:
    data = Microdata.of({"a": [1.0, 2.0, 2.5, 1.0]}, nominal=["a"])
    release = PRAM(given={"a": {one: {"2.5": 1.0}}}).mask(data, seed=1)
    assert release.frame["a"].to_pylist() == [2.5, 2.0, 2.5, 2.5]


def test_a_range_of_the_diagonal_is_a_range() -> None:
    with pytest.raises(ParameterError, match="pram: diagonal = "):
        PRAM(diagonal=(0.8, 0.5))


# --- missing, and several attributes as one --------------------------------------------------------------------------


@pytest.mark.spec("05:PM-01")
def test_missing_can_be_left_out_where_it_is_a_category() -> None:
    """Those cells are untouched and not counted."""
    values = ["a", "b", "b", None, "REF"] * 40
    data = Microdata.of({"x": values})
    data = data.with_schema(data.schema.replacing(data["x"].changed(missing_codes=("REF",), missing="own category")))
    counted = PRAM(p=0.3).mask(data, seed=1)
    assert counted.matrices[("x",)].shape == (4, 4)
    left_out = PRAM(p=0.3, exclude_missing=True).mask(data, seed=1)
    assert left_out.matrices[("x",)].shape == (2, 2)
    after = left_out.frame["x"].to_pylist()
    assert all(y == x for x, y in zip(values, after, strict=True) if x in (None, "REF"))
    assert all(y in ("a", "b") for x, y in zip(values, after, strict=True) if x in ("a", "b"))


@pytest.mark.spec("05:PM-01", "01:MK-2")
def test_a_compound_makes_no_combination_that_did_not_occur() -> None:
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], 600)
    data = Microdata.of({"sex": sex, "illness": np.where(sex == "f", rng.choice(["womb", "lung"], 600), "lung")})
    release = PRAM(p=0.5, compound=True, invariant=True).mask(data, seed=1)
    pairs = set(zip(*(release.frame[name].to_pylist() for name in data.names), strict=True))
    assert pairs == {("f", "womb"), ("f", "lung"), ("m", "lung")}
    assert {block: matrix.shape for block, matrix in release.matrices.items()} == {("sex", "illness"): (3, 3)}
    t = variable_of(data, ("sex", "illness")).frequencies
    assert t @ release.matrices[("sex", "illness")] == pytest.approx(t)
    apart = PRAM(p=0.5).mask(data, seed=1)
    assert ("m", "womb") in set(zip(*(apart.frame[name].to_pylist() for name in data.names), strict=True))


@pytest.mark.spec("01:MK-2")
def test_a_matrix_can_be_given_for_a_compound() -> None:
    data = Microdata.of({"a": ["x", "x", "y", None], "b": [1, 2, 2, 1]}, nominal=["a", "b"])
    data = data.with_schema(data.schema.replacing(data["a"].changed(missing="not applicable")))
    assert variable_of(data, ("a", "b")).labels == ["x+1", "x+2", "y+2"]
    release = PRAM(compound=True, given={"a+b": {"x+1": {"y+2": 1.0}, "y+2": {"x+1": 1.0}}}).mask(
        data, ["a", "b"], seed=1
    )
    assert release.frame["a"].to_pylist() == ["y", "x", "x", None]
    assert release.frame["b"].to_pylist() == [2, 2, 1, 1]


def test_one_cell_that_is_no_probability_is_enough_to_refuse_a_row() -> None:
    rows = [[0.6, 0.6, -0.2], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    data = Microdata.of({"job": ["a", "b", "c"]})
    with pytest.raises(ParameterError, match="row 1 has a number that is no probability"):
        PRAM(given={"job": rows}).mask(data, ["job"])


def test_a_diagonal_may_be_a_single_number(people: Microdata) -> None:
    release = PRAM(p=0.3, diagonal=(0.6, 0.6)).mask(people, seed=1)
    for matrix in release.matrices.values():
        assert np.diag(matrix).mean() == pytest.approx(0.6, abs=1e-6)
    with pytest.raises(ParameterError, match="it is a range within 0 to 1"):
        PRAM(diagonal=(0.7, 0.6))
