"""Representatives of rows: the worked example with its printed table, and rows with missing numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.linkage.representatives import distinct_columns, representatives
from microveil.numerics.statistics.aggregation_operators import (
    FuzzyMeasure,
    owa,
    power_quantifier,
    quantifiers,
    sugeno,
    twofold,
)

EXAMPLE = np.array([[.2, .4, .2, .4], [.1, .2, .1, .2], [.5, .6, .5, .1], [.8, .4, .4, .7], [.9, .2, 0, 0],
                    [.2, .2, .3, .9], [.5, .3, .2, 1], [0, .1, .5, 1], [1, 0, .9, .2], [.5, 1, 1, .8]])  # fmt: skip
PRINTED = """0.37 0.35 0.33 0.32 0.30 0.29 0.28 0.27 0.26 0.25
0.19 0.18 0.17 0.16 0.15 0.14 0.14 0.13 0.13 0.13
0.55 0.51 0.48 0.45 0.43 0.40 0.38 0.36 0.35 0.33
0.74 0.69 0.64 0.61 0.56 0.55 0.53 0.51 0.49 0.48
0.71 0.55 0.44 0.35 0.28 0.22 0.18 0.14 0.12 0.094
0.74 0.62 0.53 0.46 0.40 0.36 0.32 0.30 0.28 0.26
0.85 0.73 0.63 0.56 0.50 0.45 0.41 0.38 0.36 0.34
0.82 0.68 0.57 0.47 0.40 0.34 0.29 0.25 0.22 0.19
0.87 0.77 0.67 0.59 0.53 0.47 0.41 0.37 0.33 0.29
0.96 0.92 0.88 0.85 0.83 0.80 0.78 0.755 0.74 0.72"""
# record and quantifier, from 1, of the cells that are printed wrong, with their right values
CORRECTED = {(1, 4): 0.3149, (4, 2): 0.6848, (4, 5): 0.5750, (5, 1): 0.7046}
RECOMPUTED = {
    1: (0.3741, 0.3516, 0.3320, 0.3149, 0.3000, 0.2871, 0.2758, 0.2660, 0.2574, 0.2500),
    5: (0.7046, 0.5536, 0.4366, 0.3458, 0.2750, 0.2197, 0.1763, 0.1421, 0.1152, 0.0938),
    8: (0.8216, 0.6794, 0.5657, 0.4741, 0.4000, 0.3396, 0.2902, 0.2495, 0.2157, 0.1875),
    10: (0.9573, 0.9190, 0.8844, 0.8532, 0.8250, 0.7995, 0.7763, 0.7553, 0.7362, 0.7188),
}


@pytest.mark.spec("04:FZ-EX", "04:FZ-OWA")
def test_the_printed_table_comes_out_but_for_four_cells_that_are_wrong() -> None:
    made = representatives(EXAMPLE, "owa", quantifiers("exponent"))
    for i, line in enumerate(PRINTED.split("\n"), start=1):
        for k, cell in enumerate(line.split(), start=1):
            half = 0.5 * 10.0 ** -(len(cell) - 2) + 1e-9  # of the last digit printed
            value = made[i - 1, k - 1]
            assert (abs(value - float(cell)) > half) == ((i, k) in CORRECTED)
    for (i, k), right in CORRECTED.items():
        assert made[i - 1, k - 1] == pytest.approx(right, abs=5.1e-5)
    for i, row in RECOMPUTED.items():
        assert made[i - 1] == pytest.approx(row, abs=5.1e-5)


@pytest.mark.spec("04:FZ-SI", "04:FZ-TI", "04:FZ-EX")
def test_the_integrals_of_the_example_are_those_computed_independently() -> None:
    even, square = [power_quantifier(1)], [power_quantifier(2)]
    found = {
        "sugeno": [0.4, 0.2, 0.5, 0.5, 0.25, 0.3, 0.5, 0.5, 0.5, 0.75],
        "twofold": [0.3, 0.15, 0.4, 0.45, 0.1125, 0.25, 0.375, 0.275, 0.3, 0.6875],
    }
    for operator, expected in found.items():
        assert representatives(EXAMPLE, operator, even)[:, 0] == pytest.approx(expected)  # type: ignore[arg-type]
    squared = [0.25, 0.2, 0.5, 0.4, 0.2, 0.25, 0.3, 0.25, 0.25, 0.5625]
    assert representatives(EXAMPLE, "sugeno", square)[:, 0] == pytest.approx(squared)


@settings(max_examples=40, deadline=None)
@given(width=st.integers(1, 6), seed=st.integers(0, 10_000))
def test_complete_rows_are_aggregated_as_by_the_functions_for_one_quantifier(width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.random((6, width)).round(1)
    shuffled = rng.permuted(rows, axis=1)
    first, second = quantifiers("exponent", [0.4, 1.7]), quantifiers("sigmoid", [0.2, 0.6])
    for operator, function in (
        ("owa", lambda k: owa(rows, first[k])),
        ("sugeno", lambda k: sugeno(rows, FuzzyMeasure.symmetric(first[k], width))),
        ("twofold", lambda k: twofold(rows, *(FuzzyMeasure.symmetric(q[k], width) for q in (first, second)))),
    ):
        made = representatives(rows, operator, first, second)  # type: ignore[arg-type]
        assert made == pytest.approx(np.column_stack([function(0), function(1)]))
        assert (representatives(shuffled, operator, first, second) == made).all()  # type: ignore[arg-type]


@pytest.mark.spec("04:FZ-MISS")
@settings(max_examples=10, deadline=None)
@given(width=st.integers(1, 6), seed=st.integers(0, 10_000))
def test_a_row_with_missing_numbers_is_a_shorter_row(width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((8, width)) < 0.4, np.nan, rng.random((8, width)))
    family = quantifiers("sigmoid")
    for operator in ("owa", "sugeno", "twofold"):
        made = representatives(rows, operator, family)  # type: ignore[arg-type]
        for row, found in zip(rows, made, strict=True):
            present = row[~np.isnan(row)]
            if len(present) == 0:
                assert np.isnan(found).all()
            else:
                assert found == pytest.approx(representatives(present[None], operator, family)[0])  # type: ignore[arg-type]


def test_raw_sigmoids_are_taken_as_they_are() -> None:
    """Weights of an ordered average add up to Q(1) - Q(0), which is 0.5 for alpha = 0."""
    made = representatives(np.ones((1, 3)), "owa", quantifiers("sigmoid", [0.0], "raw"))
    assert made[0, 0] == pytest.approx(0.5, abs=1e-4)
    assert representatives(np.ones((1, 3)), "owa", quantifiers("sigmoid", [0.0]))[0, 0] == pytest.approx(1.0)


def test_two_numbers_have_only_two_order_statistics() -> None:
    made = representatives(np.random.default_rng(1).random((9, 2)), "owa", quantifiers("threshold"))
    assert distinct_columns(made) == [0, 5]
    with pytest.raises(ParameterError, match="as many second quantifiers"):
        representatives(EXAMPLE, "twofold", quantifiers("threshold"), quantifiers("threshold", [0.5]))
