"""Analytical validity and interest."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.losses.analytical.subdomains import by_category
from microveil.losses.analytical.validity import Validity
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata
from microveil.numerics.statistics.scaling import standardise

RNG = np.random.default_rng(1)
AGE, PAY = RNG.normal(40, 10, 200), RNG.normal(3000, 400, 200)
SEX = np.array(["f", "m"])[RNG.integers(0, 2, 200)]


def _table(**changes: np.ndarray) -> Microdata:
    return Microdata.of({"age": AGE, "pay": PAY, "sex": SEX, **changes})


EVERYTHING = ["age", "pay", "sex"]


@pytest.mark.spec("01:IL-7")
def test_an_untouched_release_is_valid() -> None:
    found = Validity(subdomains=("sex",)).measure(_table(), _table(), EVERYTHING)
    # one tabulation; means and covariances in all, among women and among men; two distributions
    assert found.details["checks"] == 1 + 3 * (2 + 3) + 2
    assert (found.details["valid"], found.details["failed"], found.details["attributes"]) == (1, 0, 3)
    assert found.details["interesting"] == 0  # six attributes are needed


@pytest.mark.spec("01:IL-7")
def test_a_mean_that_moves_beyond_the_tolerance_fails() -> None:
    for shift, failed in ((0.099, 0), (0.101, 1)):
        moved = _table(pay=PAY + shift * PAY.mean())
        found = Validity().measure(_table(), moved, ["pay"])
        # mean and variance are checked, and the distribution, which a shift this large breaks too
        assert found.details["failed"] - (1 - _kept(PAY, shift)) == failed
        assert found.details["valid"] == float(failed == 0 and _kept(PAY, shift))


def _kept(values: np.ndarray, shift: float) -> int:
    quantiles = np.quantile(values, np.arange(0.05, 0.96, 0.05))
    return int((shift * values.mean() <= 0.1 * np.abs(quantiles)).all())


@pytest.mark.spec("01:IL-7")
def test_a_sub_domain_can_fail_where_the_whole_does_not() -> None:
    """Pay moves from men to women, so that only within the sexes the means change."""
    women = SEX == "f"
    shift = np.where(women, 400 / women.sum(), -400 / (~women).sum()) * 100
    moved = _table(pay=PAY + shift)
    whole = Validity(tolerance=11.0).measure(_table(), moved, ["pay"])
    split = Validity(tolerance=11.0, subdomains=("sex",)).measure(_table(), moved, ["pay"])
    assert split.details["failed"] >= whole.details["failed"] + 2
    assert split.details["valid"] == 0


@pytest.mark.spec("01:IL-7")
def test_marginals_are_checked_by_total_variation() -> None:
    for changed, passed in ((20, True), (21, False)):
        other = SEX.copy()
        women = np.flatnonzero(SEX == "f")[:changed]
        other[women] = "m"
        found = Validity().measure(_table(), _table(sex=other), ["sex"])
        assert (found.value == 0) == passed
        assert found.details["valid"] == float(passed)


@pytest.mark.parametrize(("tolerance", "kept"), [(25.0, True), (24.9, False)])
def test_a_distribution_is_kept_whose_steps_differ_by_no_more_than_the_tolerance(tolerance: float, kept: bool) -> None:
    """One value of four moves far, so that the steps differ by a quarter and the quantiles by much more."""
    before, after = (Microdata.of({"x": [1.0, 2.0, 3.0, last]}) for last in (4.0, 400.0))
    found = Validity(tolerance=tolerance)._kept("x", before.numbers("x").values, after.numbers("x").values)
    assert found.passed == kept


@pytest.mark.spec("01:IL-7")
def test_six_attributes_that_pass_make_a_release_interesting() -> None:
    columns = {f"x{j}": np.random.default_rng(j).normal(50, 5, 100) for j in range(7)}
    data = Microdata.of(columns)
    assert Validity().measure(data, data).details["interesting"] == 1
    spoiled = {name: 3 * x if name in ("x0", "x1") else x for name, x in columns.items()}
    found = Validity().measure(data, Microdata.of(spoiled)).details
    assert found["interesting"] == 0


def test_covariances_near_zero_pass_by_the_scale_and_fail_by_the_value() -> None:
    x, y = np.tile([-1.0, 1.0], 50), np.repeat([-1.0, 1.0], 50)
    y = y + 0.001 * x  # nearly uncorrelated
    data, masked = Microdata.of({"x": x, "y": y}), Microdata.of({"x": x, "y": y + 0.01 * x})
    by_value = Validity().measure(data, masked).per_attribute
    by_scale = Validity(relative_to="scale").measure(data, masked)
    assert by_value["x"] > 0
    assert by_scale.value == 0


def test_small_sub_domains_are_not_checked_and_vanished_ones_fail() -> None:
    sex = SEX.copy()
    sex[:5] = "x"
    few = _table(sex=sex)
    checks = Validity(subdomains=("sex",)).measure(few, few, ["age"]).details["checks"]
    assert checks == 3 * 2 + 1  # all, women, men; not the five others
    gone = Validity(subdomains=("sex",)).measure(_table(), _table(sex=np.full(200, "m")), ["age"])
    assert gone.details["valid"] == 0


def test_bad_wishes_are_refused() -> None:
    with pytest.raises(DataError, match="'age' is numeric"):
        Validity(subdomains=("age",)).measure(_table(), _table(), ["pay"])
    with pytest.raises(DataError, match="no column 'sex'"):
        Validity(tabulations=("sex",)).measure(_table(), _table().select(["age", "pay"]), ["pay"])


def test_where_nothing_is_checked_nothing_fails() -> None:
    loss = Validity(tabulations=()).measure(_table(), _table(sex=np.full(200, "m")), ["sex"])
    assert (loss.value, loss.raw) == (0.0, 0.0)
    assert loss.details["checks"] == 0


def test_moments_that_are_0_but_for_rounding_have_not_moved() -> None:
    cells = standardise(np.random.default_rng(1).normal(size=(500, 2)))
    data = Microdata.of({"a": cells[:, 0], "b": cells[:, 1], "c": np.full(500, 0.1)})
    found = Validity().measure(data, MDAV(k=3).mask(data, ["a", "b"]), ["a", "b", "c"])
    assert found.details["failed"] == 0
    # no covariance at all, before and after
    grid = np.array([(a, b) for a in (-0.1, 0.1, 0.3) for b in (-0.3, 0.7, 0.11)])
    one, other = (Microdata.of({"a": c[:, 0], "b": c[:, 1]}) for c in (grid, grid * (1 + 1e-13)))
    assert Validity().measure(one, other).value == 0


def test_a_sub_domain_needs_as_many_original_records_as_asked_for() -> None:
    before, after = Microdata.of({"town": list("aaabbc")}), Microdata.of({"town": list("abbbcd")})
    pair = Pair.of(before, after, ["town"])
    found = [[rows.tolist() for rows in both] for both in by_category(pair, "town", fewest=2)]
    assert found == [[[0, 1, 2], [0]], [[3, 4], [1, 2, 3]]]
    every = [[rows.tolist() for rows in both] for both in by_category(pair, "town")]
    assert every == [*found, [[5], [4]]]  # nobody came from d
