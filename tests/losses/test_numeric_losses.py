"""SSE and the IL1 to IL5 family against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.comparison.drawing import in_drawn_order
from microveil.errors import ParameterError
from microveil.losses import LossMeasure
from microveil.losses.numeric.moments import GIL, IL, IL1, IL2, IL3, IL4, IL5, Moments
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.cbfs import CBFS
from microveil.masking.microaggregation.iamat import IAMAT
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata
from microveil.numerics.grouping.sums_of_squares import squares
from microveil.numerics.statistics.scaling import standardise

# four records computed independently
BEFORE = Microdata.of({"a": [1.0, 2.0, 3.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0]})
AFTER = Microdata.of({"a": [1.5, 1.5, 4.5, 4.5], "b": [1.5, 1.5, 4.5, 4.5]})


@pytest.mark.spec("03:ME-4")
def test_the_five_parts_of_the_toy_vector() -> None:
    expected = {
        IL1: 100 * 0.309375,  # printed MV of X
        IL2: 0.0,
        # covariances 4.667, 2.333, 3.333 against 3, 3, 3: upper triangle with the diagonal
        IL3: 100 * (5 / 14 + 2 / 7 + 1 / 10) / 3,
        IL4: 100 * (5 / 14 + 1 / 10) / 2,
        IL5: 100 * 0.408392,  # printed MAE of R over the one cell off the diagonal
    }
    for measure, value in expected.items():
        assert measure().measure(BEFORE, AFTER).value == pytest.approx(value, abs=1e-4), measure
    assert IL().measure(BEFORE, AFTER).value == pytest.approx(np.mean(list(expected.values())), abs=1e-4)


@pytest.mark.spec("03:ME-1")
def test_sse_by_hand() -> None:
    # a: SSE 0.25+0.25+2.25+2.25 of SST 14; b: 0.25+0.25+0.25+0.25 of SST 10
    loss = SSE().measure(BEFORE, AFTER)
    assert loss.per_attribute == pytest.approx({"a": 100 * 5 / 14, "b": 100 * 1 / 10})
    assert loss.value == pytest.approx(100 * (5 / 14 + 1 / 10) / 2)


@pytest.mark.spec("03:ME-1")
@pytest.mark.parametrize(
    ("scale", "sse", "sst"),
    [("none", 5 + 1, 14 + 10), ("minmax", 5 / 25 + 1 / 16, 14 / 25 + 10 / 16), ("z", 4 * 5 / 14 + 4 * 1 / 10, 8)],
)
def test_the_sum_of_squares_is_on_the_scale_chosen(scale: str, sse: float, sst: float) -> None:
    loss = SSE(scale=scale).measure(BEFORE, AFTER)  # type: ignore[arg-type]
    assert loss.details["sse"] == pytest.approx(sse)
    assert loss.details["sst"] == pytest.approx(sst)
    assert loss.value == pytest.approx(100 * sse / sst)
    release = MDAV(k=2).mask(BEFORE)
    assert release.partition is not None
    made = SSE(scale=scale).measure(BEFORE, release)  # type: ignore[arg-type]
    assert made.details["kept"] == pytest.approx(100 - made.value)


def test_noise_keeps_no_share_of_the_variation() -> None:
    """The released values of noise vary more than the original's, so no share of these is meant."""
    cells = np.random.default_rng(3).normal(size=200)
    data = Microdata.of({"x": cells})
    release = Noise(alpha=1.0).mask(data, seed=1)
    found = SSE().measure(data, release).details
    assert found["ssa"] > found["sst"]
    assert "kept" not in found


def test_a_value_above_100_is_bounded_and_kept_raw() -> None:
    loss = SSE().measure(Microdata.of({"x": [1.0, 2.0]}), Microdata.of({"x": [9.0, -9.0]}))
    assert loss.value == 100
    assert loss.raw > 1000


@pytest.mark.spec("03:ME-4")
@pytest.mark.parametrize(("zero", "value"), [("ignore", 25.0), ("skip", 50.0), ("scale", 62.5)])
def test_a_zero_in_the_original_is_ignored_skipped_or_scaled(zero: str, value: float) -> None:
    # second cell: 2 -> 3 is a half; first cell 0 -> 1.414, with deviation sqrt(2) (sample) a whole
    before, after = Microdata.of({"x": [0.0, 2.0]}), Microdata.of({"x": [0.75 * np.sqrt(2.0), 3.0]})
    assert IL1(zero=zero).measure(before, after).value == pytest.approx(value)  # type: ignore[arg-type]


def test_nothing_over_nothing_is_nothing() -> None:
    zeros = Microdata.of({"x": [0.0, 0.0, 0.0], "y": [0.0, 0.0, 0.0]})
    for measure in (SSE, IL1, IL2, IL3, IL4, IL5, IL):
        assert measure().measure(zeros, zeros).value == 0


def test_a_single_attribute_has_no_correlations_to_lose() -> None:
    assert IL5().measure(BEFORE, AFTER, ["a"]).value == 0


def test_missing_originals_are_left_out_and_suppressed_cells_count_as_lost() -> None:
    before = Microdata.of({"x": [1.0, 3.0, None, 5.0]})
    same = Microdata.of({"x": [1.0, 3.0, 99.0, 5.0]})
    suppressed = Microdata.of({"x": [1.0, 3.0, None, None]})
    for measure in (SSE, IL1, IL2, IL4):
        assert measure().measure(before, same).value == 0
    assert SSE().measure(before, suppressed).value == pytest.approx(50)  # the extreme value, replaced by the mean
    assert IL1().measure(before, suppressed).value == pytest.approx(100 / 3)


def test_moments_with_missing_cells_use_the_pairs_that_are_there() -> None:
    before = Microdata.of({"x": [1.0, 2.0, 4.0, None], "y": [2.0, 4.0, None, 1.0]})
    after = Microdata.of({"x": [1.0, 2.0, 4.0, None], "y": [4.0, 2.0, None, 1.0]})
    # the two records that have both turn their covariance from 1 to -1; the variances, each 7/3, stay
    assert IL5().measure(before, after).value == pytest.approx(100 * 6 / 7)
    assert IL4().measure(before, after).value == 0


def test_covariances_with_missing_cells_are_about_the_means_of_the_records_that_have_both() -> None:
    cells = np.array([[1.0, 2.0], [2.0, 9.0], [4.0, 5.0], [8.0, np.nan], [16.0, np.nan], [np.nan, 40.0]])
    found = Moments(cells).covariances
    both = cells[:3]
    assert found[0, 1] == pytest.approx(np.cov(both, rowvar=False)[0, 1])
    assert np.diag(found) == pytest.approx([cells[:5, 0].var(ddof=1), cells[[0, 1, 2, 5], 1].var(ddof=1)])


@pytest.mark.spec("03:ME-4")
def test_a_mean_that_is_0_but_for_rounding_is_0() -> None:
    """Standardised tables: group means keep means of 0, and what rounding leaves of them must not be divided by."""
    cells = standardise(np.random.default_rng(1).normal(size=(500, 3)) @ np.array([[1, 2, 0], [0, 1, 1], [3, 0, 1.0]]))
    assert (np.abs(cells.mean(axis=0)) > 0).any()
    data = Microdata.of(dict(zip("abc", cells.T, strict=True)))
    release = MDAV(k=5).mask(data)
    assert IL2().measure(data, release).raw == 0
    assert IL2(zero="scale").measure(data, release).raw == 0
    assert GIL().measure(data, release).details["m2"] == 0
    assert IL().measure(data, release).details["il2"] == 0


@pytest.mark.spec("03:ME-4")
def test_a_constant_has_no_variance_whatever_is_missing_elsewhere() -> None:
    x = np.random.default_rng(2).normal(10, 1, size=1000)
    data = Microdata.of({"c": np.full(1000, 0.1), "x": x})
    assert (Moments(np.column_stack([np.full(1000, 0.1), x])).covariances[0] == 0).all()
    suppressed = Microdata.of({"c": np.full(1000, 0.1), "x": np.where(np.arange(1000) == 0, np.nan, x)})
    for measure in (IL3, IL4):
        with_constant = measure().measure(data, suppressed).raw
        alone = measure().measure(data, suppressed, ["x"]).raw
        assert with_constant == pytest.approx(alone / (2 if measure is IL4 else 3))


# --- sums of squares ----------------------------------------------------------------------------------------------


@pytest.mark.spec("02:LM02")
def test_what_is_lost_and_what_is_kept_of_a_partition_add_up_on_the_reference_files(reference) -> None:  # type: ignore[no-untyped-def]
    for table, known in (("tarragona", 16.966068), ("census", 5.653559)):
        data = reference(table)
        loss = SSE().measure(data, CBFS(k=3).mask(data))
        assert loss.value == pytest.approx(known, abs=6e-7)
        assert loss.details["sst"] == pytest.approx(len(data) * 13)  # z-scores
        assert loss.details["sse"] + loss.details["ssa"] == pytest.approx(loss.details["sst"])
        assert loss.value == pytest.approx(100 * (1 - loss.details["ssa"] / loss.details["sst"]))


@pytest.mark.spec("02:LM02")
@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 30),
    d=st.integers(1, 4),
    groups=st.integers(1, 6),
    kind=st.sampled_from(["plain", "whole", "constant"]),
    seed=st.integers(0, 9999),
)
def test_sums_of_squares_within_and_between_make_the_total(n: int, d: int, groups: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = {"plain": rng.normal(5, 3, (n, d)), "whole": rng.integers(0, 3, (n, d)), "constant": np.full((n, d), 7)}
    columns = cells[kind].astype(float)
    labels = rng.integers(0, groups, n)
    made = squares(columns, labels)
    assert made.sse + made.ssa == pytest.approx(made.sst, abs=1e-9)
    assert 0 <= made.ratio <= 1 + 1e-12
    within = sum(((columns[labels == g] - columns[labels == g].mean(axis=0)) ** 2).sum() for g in set(labels.tolist()))
    assert made.sse == pytest.approx(within, abs=1e-9)
    # the centre is the mean of the records, not that of the groups' means
    assert made.sst == pytest.approx(columns.var(axis=0).sum() * n, abs=1e-9)


@pytest.mark.spec("02:LM02")
@settings(max_examples=30, deadline=None)
@given(n=st.integers(4, 40), d=st.integers(1, 4), k=st.integers(2, 4), seed=st.integers(0, 9999))
def test_the_loss_of_a_release_is_that_of_its_partition(n: int, d: int, k: int, seed: int) -> None:
    cells = np.random.default_rng(seed).normal(size=(max(n, k), d))
    data = Microdata.of({f"x{j}": cells[:, j] for j in range(d)})
    release = MDAV(k=k).mask(data)
    assert release.partition is not None
    made, loss = squares(standardise(cells), release.partition.labels), SSE().measure(data, release)
    sums = {name: loss.details[name] for name in ("sse", "ssa", "sst")}
    assert sums == pytest.approx({"sse": made.sse, "ssa": made.ssa, "sst": made.sst}, abs=1e-9)
    assert loss.value == pytest.approx(100 * made.ratio)


def test_where_nothing_varies_nothing_is_lost() -> None:
    assert squares(np.full((4, 2), 3.0), np.array([0, 0, 1, 1])).ratio == 0


# --- G_IL ---------------------------------------------------------------------------------------------------------

# Tables 4.4 and 5.2: G_IL on Census with each of the five rounded to four decimals
PRINTED_G_IL = {
    *(("cbfs", 3, 28.610), ("cbfs", 4, 33.254), ("cbfs", 5, 38.672)),
    *(("iamat", 3, 22.150), ("iamat", 4, 30.312), ("iamat", 5, 34.958)),
}


@pytest.mark.spec("02:LM17")
@pytest.mark.parametrize(("method", "k", "printed"), sorted(PRINTED_G_IL))
def test_the_printed_g_il_comes_out(reference, method, k, printed) -> None:  # type: ignore[no-untyped-def]
    census = reference("census")
    release = (CBFS if method == "cbfs" else IAMAT)(k=k).mask(census)
    assert GIL(decimals=4).measure(census, release).raw == pytest.approx(printed, abs=1e-9)
    plain = GIL().measure(census, release)
    assert plain.raw == pytest.approx(printed, abs=4e-3)
    assert plain.details["m2"] == pytest.approx(0, abs=1e-9)
    assert plain.details["m3"] == pytest.approx(SSE().measure(census, release).value)  # of means, on z-scores


@pytest.mark.spec("02:LM17")
def test_the_five_changes_of_census_are_the_known_ones(reference) -> None:  # type: ignore[no-untyped-def]
    census = reference("census")
    for method, known in (
        (CBFS(k=3), (132.237, 0, 5.654, 3.527, 1.625)),
        (IAMAT(k=3), (99.7757, 0, 5.3736, 3.9318, 1.6729)),
        (IAMAT(k=5), (156.0946, 0, 8.9322, 7.2217, 2.5542)),
    ):
        details = GIL().measure(census, method.mask(census)).details
        assert [details[f"m{m}"] for m in range(1, 6)] == pytest.approx(known, abs=6e-4)


@pytest.mark.spec("02:LM17")
def test_a_change_of_zero_is_divided_by_what_it_became() -> None:
    # values: 0 -> 5 counts 1, 0 -> 0 counts 0, 2 -> 3 counts a half; the number of cells stays three
    before, after = Microdata.of({"x": [0.0, 0.0, 2.0]}), Microdata.of({"x": [5.0, 0.0, 3.0]})
    loss = GIL().measure(before, after)
    assert loss.details["m1"] == pytest.approx(50)
    assert IL1(zero="released").measure(before, after).value == pytest.approx(50)
    # the mean of the original is 0: its change counts 1
    shifted = GIL().measure(Microdata.of({"x": [-1.0, 1.0, 0.0]}), Microdata.of({"x": [3.0, 1.0, 2.0]}))
    assert shifted.details["m2"] == pytest.approx(100)
    # an original covariance of 0, but for rounding, that became another counts 1 of the three
    one = Microdata.of({"x": [-0.1, 0.1, -0.1, 0.1], "y": [0.3, 0.3, -0.3, -0.3]})
    other = Microdata.of({"x": [-0.1, 0.1, -0.1, 0.1], "y": [0.3, -0.3, 0.3, -0.3]})
    assert GIL().measure(one, other).details["m4"] == pytest.approx(100 / 3)


def test_a_mean_of_changes_beyond_100_is_bounded_and_kept_raw() -> None:
    loss = GIL().measure(Microdata.of({"x": [1e-3, 5.0]}), Microdata.of({"x": [5.0, 1e-3]}))
    assert loss.value == 100
    assert loss.raw == pytest.approx(sum(loss.details.values()) / 5)
    assert loss.raw > 10_000


def test_decimals_cannot_be_negative() -> None:
    with pytest.raises(ParameterError, match="g-il: decimals = -1"):
        GIL(decimals=-1)


# --- analysis of variance, and the variance that groups take away --------------------------------------------------


@pytest.mark.spec("01:IL-2")
def test_the_f_ratio_of_a_partition_is_that_of_a_textbook() -> None:
    from scipy import stats

    values = np.array([1.0, 2.0, 4.0, 10.0, 11.0, 15.0, 30.0, 31.0, 35.0])
    data = Microdata.of({"x": values})
    release = MDAV(k=3).mask(data)
    assert release.partition is not None
    found = SSE().measure(data, release).details
    assert found["groups"] == 3
    expected = stats.f_oneway(*(values[group] for group in release.partition.groups)).statistic
    assert found["anova_f"] == pytest.approx(expected)
    assert found["kept"] == pytest.approx(100 * found["ssa"] / found["sst"])
    assert found["kept"] == pytest.approx(100 - SSE().measure(data, release).value)


@pytest.mark.spec("01:IL-2")
def test_without_a_partition_or_without_variance_there_is_no_f_ratio() -> None:
    assert "anova_f" not in SSE().measure(BEFORE, AFTER).details
    constant = Microdata.of({"x": [4.0] * 6})
    found = SSE().measure(constant, MDAV(k=3).mask(constant)).details
    assert "anova_f" not in found
    assert found["kept"] == 100


@pytest.mark.spec("01:IL-2")
@settings(max_examples=30, deadline=None)
@given(n=st.integers(4, 40), d=st.integers(1, 3), k=st.integers(2, 5), seed=st.integers(0, 9999))
def test_group_means_take_away_exactly_the_variance_within_groups(n: int, d: int, k: int, seed: int) -> None:
    """Var(x') = Var(x) - SSE / n for each attribute."""
    cells = np.random.default_rng(seed).gamma(2.0, 3.0, size=(max(n, k), d))
    release = MDAV(k=k).mask(Microdata.of({f"x{j}": cells[:, j] for j in range(d)}))
    for j in range(d):
        masked = release.data.numbers(f"x{j}").values
        lost = float(((cells[:, j] - masked) ** 2).sum())
        assert masked.var() == pytest.approx(cells[:, j].var() - lost / len(cells), abs=1e-9)


# --- which records belong together ---------------------------------------------------------------------------------


@pytest.mark.spec("03:ME-4")
def test_values_can_be_compared_with_those_of_the_nearest_released_record() -> None:
    # the nearest of 1, 2, 2.9 and 6 among 1.5 and 4.5
    before, after = Microdata.of({"a": [1.0, 2.0, 2.9, 6.0]}), Microdata.of({"a": [4.5, 1.5, 1.5, 4.5]})
    by_row = IL1().measure(before, after).value
    nearest = IL1(correspondence="nearest").measure(before, after).value
    assert nearest == pytest.approx(100 * (0.5 / 1 + 0.5 / 2 + 1.4 / 2.9 + 1.5 / 6) / 4)
    assert nearest < by_row
    # the order of the release does not matter any more
    turned = Microdata.of({"a": [1.5, 4.5, 4.5, 1.5]})
    assert IL1(correspondence="nearest").measure(before, turned).value == nearest
    parts = IL(correspondence="nearest").measure(before, after)
    assert parts.details["il1"] == pytest.approx(nearest)
    assert parts.details["il2"] == pytest.approx(IL2().measure(before, after).raw)


@pytest.mark.spec("03:ME-4")
def test_nearest_records_of_a_long_table_are_sought_for_a_sample() -> None:
    rng = np.random.default_rng(6)
    cells = rng.gamma(3.0, 2.0, size=(3000, 2))
    before, after = (Microdata.of({"a": c[:, 0], "b": c[:, 1]}) for c in (cells, cells + rng.normal(size=cells.shape)))
    whole = IL1(correspondence="nearest", sample=None).measure(before, after)
    assert "sampled" not in whole.details
    # of 3,000 records, each with its own mean change: the error of a mean of 300 drawn without replacement
    masked = np.column_stack([after.numbers(name).values for name in "ab"])
    deviations = cells.std(axis=0)
    apart = [(((masked - record) / deviations) ** 2).sum(axis=1).argmin() for record in cells]
    changes = 100 * (np.abs(cells - masked[apart]) / np.abs(cells)).mean(axis=1)
    assert whole.value == pytest.approx(changes.mean())
    drawn = []
    for seed in range(10):
        rows = in_drawn_order(np.hstack([cells, masked]).T, seed, "il1")[:300]
        loss = IL1(correspondence="nearest", sample=300, seed=seed).measure(before, after)
        assert loss.details["sampled"] == 300
        assert loss.value == pytest.approx(changes[rows].mean())
        assert loss.details["standard_error"] == pytest.approx(changes[rows].std() * np.sqrt(1 / 300 - 1 / 3000))
        drawn.append(loss.value)
    true = changes.std() * np.sqrt(1 / 300 - 1 / 3000)
    assert np.mean(drawn) == pytest.approx(whole.value, abs=5 * true / np.sqrt(10))
    rows = in_drawn_order(np.hstack([cells, masked]).T, 0, "il")[:300]
    of_all = IL(correspondence="nearest", sample=300).measure(before, after).details["standard_error"]
    assert of_all == pytest.approx(changes[rows].std() * np.sqrt(1 / 300 - 1 / 3000) / 5)


def test_a_loss_is_not_among_the_usual_ones_unless_it_says_so() -> None:
    assert LossMeasure.usual is False
