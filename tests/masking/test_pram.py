"""PRAM draws from the rows of its matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.masking.randomising.pram import PRAM, draw_categories, frequency_matrix
from microveil.microdata import Microdata

DEGREE = [98, 173, 251, 195, 170, 80, 33, 0]
PRINTED = """
0.500 0.067 0.060 0.065 0.067 0.076 0.080 0.083
0.073 0.500 0.058 0.064 0.066 0.075 0.080 0.083
0.072 0.064 0.500 0.062 0.064 0.074 0.080 0.083
0.073 0.065 0.057 0.500 0.066 0.075 0.080 0.083
0.073 0.066 0.058 0.064 0.500 0.075 0.080 0.083
0.074 0.068 0.061 0.066 0.068 0.500 0.080 0.083
0.075 0.068 0.062 0.067 0.069 0.076 0.500 0.083
0.075 0.069 0.062 0.067 0.069 0.077 0.081 0.500
"""


@pytest.mark.spec("05:PM-02")
def test_the_printed_matrix_comes_out_but_for_the_one_wrong_cell() -> None:
    """Table 4.1 from the frequencies of Table 4.2: cell (1, 5) is printed 0.067 and is 0.06763."""
    printed = np.array([[float(x) for x in row.split()] for row in PRINTED.strip().splitlines()])
    matrix = frequency_matrix(DEGREE, 0.5)
    differing = np.argwhere(matrix.round(3) != printed)
    assert differing.tolist() == [[0, 4]]
    assert matrix[0, 4] == pytest.approx(0.06763, abs=5e-6)


@pytest.mark.spec("05:PM-02")
def test_the_expected_frequencies_after_the_printed_matrix() -> None:
    expected = [115.08, 140.83, 169.39, 148.68, 139.77, 109.11, 93.82, 83.33]
    assert (np.array(DEGREE) @ frequency_matrix(DEGREE, 0.5)).round(2).tolist() == expected


@settings(max_examples=100, deadline=None)
@given(t=st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any), p=st.floats(0, 1))
def test_rows_are_probabilities_with_p_on_the_diagonal(t: list[int], p: float) -> None:
    matrix = frequency_matrix(t, p)
    assert np.allclose(matrix.sum(axis=1), 1)
    assert (matrix >= 0).all()
    assert len(t) == 1 or np.allclose(np.diag(matrix), p)


def test_two_categories_and_a_single_full_one_have_their_own_rule() -> None:
    assert frequency_matrix([3, 9], 0.8) == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert frequency_matrix([5, 0, 0], 0.8)[0].tolist() == pytest.approx([0.8, 0.1, 0.1])


@pytest.mark.spec("05:PM-01")
def test_the_identity_matrix_changes_nothing() -> None:
    codes = np.random.default_rng(1).integers(0, 5, 200)
    assert (draw_categories(codes, np.eye(5), np.random.default_rng(2)) == codes).all()


@pytest.mark.spec("05:PM-01")
def test_a_category_without_probability_is_never_drawn() -> None:
    matrix = np.array([[0.5, 0.5, 0.0], [0.0, 0.3, 0.7], [1.0, 0.0, 0.0]])
    codes = np.repeat([0, 1, 2], 3000)
    drawn = draw_categories(codes, matrix, np.random.default_rng(2))
    table = np.zeros((3, 3))
    np.add.at(table, (codes, drawn), 1)
    assert (table[matrix == 0] == 0).all()
    # four standard errors of a share among 3000
    assert (np.abs(table / 3000 - matrix) <= 4 * np.sqrt(matrix * (1 - matrix) / 3000)).all()


@pytest.mark.spec("05:PM-01")
def test_each_attribute_has_a_matrix_of_its_own() -> None:
    rng = np.random.default_rng(4)
    columns = {"a": rng.choice(list("xyz"), 500), "b": rng.choice(list("pq"), 500)}
    release = PRAM(p=0.6).mask(Microdata.of(columns), seed=1)
    assert {name: matrix.shape for name, matrix in release.matrices.items()} == {"a": (3, 3), "b": (2, 2)}
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
