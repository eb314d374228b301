"""Records far from the others are moved towards the robust centre, and what their release still tells."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil import assess, datasets
from microveil.errors import DataError, ParameterError
from microveil.masking.coarsening.multivariate_top_coding import MultivariateTopCoding
from microveil.masking.release import Release
from microveil.microdata import Microdata
from microveil.numerics.statistics.minimum_covariance_determinant import RobustEllipsoid
from microveil.typing import FloatArray

CUT = 7.377758908227871  # the 97.5 % quantile with 2 degrees of freedom: -2 log 0.025


def table(rows: FloatArray) -> Microdata:
    return Microdata.of(dict(zip("abcdef", rows.T, strict=False)))


def correlated(records: int = 300, seed: int = 1) -> FloatArray:
    rng = np.random.default_rng(seed)
    rows: FloatArray = rng.multivariate_normal([50, 20], [[100, 72], [72, 64]], records)
    rows[0] = 70, 4  # both values are usual, together they are not
    rows[1] = 400, 300
    return rows


def ellipsoid(rows: FloatArray) -> RobustEllipsoid:
    found = RobustEllipsoid.of(rows, 0.5, np.random.default_rng(0))
    assert found is not None
    return found


def released(release: Release) -> FloatArray:
    return release.data.matrix(release.data.names)


def test_far_records_come_to_lie_on_the_ellipsoid_and_the_others_stay() -> None:
    rows = correlated()
    release = MultivariateTopCoding().mask(table(rows))
    found = ellipsoid(rows)
    before, after = (found.squared_distances(of)[0] for of in (rows, released(release)))
    moved = before > CUT
    assert moved[:2].all()
    assert 2 < moved.sum() < 20
    assert after[moved] == pytest.approx(CUT, rel=1e-3)  # the starts differ, so the estimate may a little
    assert (released(release)[~moved] == rows[~moved]).mean() > 0.99
    assert f"{int((released(release) != rows).any(axis=1).sum())} records of 300 moved" in release.provenance.notes[0]


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 4]))
def test_every_record_moves_straight_towards_one_centre_and_never_past_it(seed: int, p: int) -> None:
    rows = np.random.default_rng(seed).standard_t(2, (50, p))
    after = released(MultivariateTopCoding().mask(table(rows)))
    moved = np.flatnonzero((after != rows).any(axis=1))
    # the lines of all moved records meet in one point: (after - rows) and (centre - rows) are parallel
    assert (np.abs(after).max(axis=0) <= np.abs(rows).max(axis=0) + 1e-9).all()
    if len(moved) > 2 and p > 1:
        steps = after[moved] - rows[moved]
        steps /= np.linalg.norm(steps, axis=1, keepdims=True)
        across = np.eye(p) - steps[:, :, None] * steps[:, None, :]
        centre = np.linalg.lstsq(across.reshape(-1, p), (across @ rows[moved][:, :, None]).reshape(-1), rcond=None)[0]
        gaps = centre - rows[moved]
        assert np.einsum("ij,ij->i", steps, gaps) == pytest.approx(np.linalg.norm(gaps, axis=1), rel=1e-5)


def test_a_larger_quantile_moves_fewer_and_a_table_in_other_units_the_same() -> None:
    rows = correlated()
    moved = [(released(MultivariateTopCoding(quantile=q).mask(table(rows))) != rows).any(axis=1) for q in (0.75, 0.999)]
    assert moved[0].sum() > moved[1].sum() >= 2
    other = rows @ np.array([[1000.0, 0.0], [3.0, 0.01]]) + 7
    in_units = released(MultivariateTopCoding(quantile=0.75).mask(table(other)))
    expected = released(MultivariateTopCoding(quantile=0.75).mask(table(rows)))
    assert in_units == pytest.approx(expected @ np.array([[1000.0, 0.0], [3.0, 0.01]]) + 7, rel=1e-6)


def test_sums_between_attributes_are_kept() -> None:
    rows = correlated()
    release = MultivariateTopCoding().mask(table(np.column_stack([rows, rows.sum(axis=1)])))
    after = released(release)
    assert (after != np.column_stack([rows, rows.sum(axis=1)])).any()
    assert after[:, 0] + after[:, 1] == pytest.approx(after[:, 2], rel=1e-9)
    assert any("vary in 2 directions only" in note for note in release.provenance.notes)


def test_constant_attributes_and_those_that_are_mostly_equal_are_left_as_they_are() -> None:
    rows = correlated()
    savings = np.where(np.arange(300) % 5 == 0, np.arange(300.0) ** 2, 0.0)
    release = MultivariateTopCoding().mask(table(np.column_stack([rows, savings, np.full(300, 7.0)])))
    after = released(release)
    assert (after[:, 2] == savings).all()
    assert (after[:, 3] == 7).all()
    assert after[:, :2] == pytest.approx(released(MultivariateTopCoding().mask(table(rows))))
    assert [("values of c are equal" in note) for note in release.provenance.notes].count(True) == 1
    alone = MultivariateTopCoding().mask(table(np.column_stack([savings, np.full(300, 7.0)])))
    assert (released(alone)[:, 0] == savings).all()


def test_where_more_than_half_of_the_records_lie_in_a_line_a_larger_share_is_taken() -> None:
    rows = correlated()
    rows[20:200, 1] = rows[20:200, 0]
    release = MultivariateTopCoding().mask(table(rows))
    assert any("0.625 of them made the ellipsoid" in note for note in release.provenance.notes)
    assert np.isfinite(released(release)).all()


def test_missing_cells_stay_and_the_others_of_a_record_are_moved() -> None:
    rows = correlated()
    rows[1, 1] = rows[7, 0] = rows[8] = np.nan
    after = released(MultivariateTopCoding().mask(table(rows)))
    assert (np.isnan(after) == np.isnan(rows)).all()
    assert 70 < after[1, 0] < 90  # it was 400; the mean is 50, with a deviation of 10


def test_too_few_records_and_bad_parameters_are_refused() -> None:
    with pytest.raises(DataError, match=r"9 records without missing cells are too few .* 2 attributes; it needs 10"):
        MultivariateTopCoding().mask(table(correlated(9)))
    half = correlated(24)
    half[:13, 0] = np.nan
    half[13:, 1] = 3.0
    with pytest.raises(DataError, match="too much alike"):
        MultivariateTopCoding().mask(table(half))
    for wrong in ({"quantile": 1.0}, {"quantile": 0.4}, {"share": 0.3}, {"share": 1.1}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            MultivariateTopCoding(**wrong)


def test_dates_and_whole_numbers_have_a_type_that_holds_them() -> None:
    days = pa.array([*range(60), 4000], pa.int32()).cast(pa.date32())
    release = MultivariateTopCoding().mask(Microdata.of(pa.table({"day": days})), ["day"])
    assert release.data.arrow("day").type == pa.date32()
    assert release.data.numbers("day").values.max() < 200


# What an intruder makes of the release


def test_how_far_away_a_record_was_is_gone_but_not_in_which_direction() -> None:
    rows = correlated()
    once = released(MultivariateTopCoding().mask(table(rows)))
    rows[1] = 50 + 3 * (rows[1] - 50)  # three times as far, nearly along the same line
    further = released(MultivariateTopCoding().mask(table(rows)))
    assert further[2:] == pytest.approx(once[2:])
    assert np.abs(further[1] - once[1]).max() < 4  # though it was 700 apart before


def test_whoever_estimates_the_ellipsoid_from_the_release_sees_who_was_moved_and_where_to() -> None:
    rows = correlated()
    after = released(MultivariateTopCoding().mask(table(rows)))
    moved = (after != rows).any(axis=1)
    guessed = ellipsoid(after)
    squared, _ = guessed.squared_distances(after)
    assert squared[moved].min() > squared[~moved].max() * 0.9
    directions = [(of[moved] - guessed.centre) for of in (rows, after)]
    cosines = [
        float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for a, b in zip(directions[0], directions[1], strict=True)
    ]
    assert min(cosines) > 0.99


def test_records_inside_are_as_easily_found_as_before() -> None:
    people = datasets.survey(300, seed=3)
    release = MultivariateTopCoding().mask(people, ["age", "income"], seed=1)
    found = assess(people, release, attacks=["distance-linkage"], losses=["il"])
    assert found.risks["distance-linkage"].value > 80
