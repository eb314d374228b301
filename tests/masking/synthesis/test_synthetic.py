"""Synthetic records keep what their model holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from microveil.errors import DataError, ParameterError, SchemaError, UnknownNameError
from microveil.masking.synthesis.columns import Column, Smoothing
from microveil.masking.synthesis.synthetic import Synthetic
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.progress import silent
from microveil.randomness import Streams
from microveil.typing import FloatArray

MODELS = ("trees", "normal", "copula", "latin-hypercube")
ANY_KIND = ("trees", "copula", "latin-hypercube")


def numbers(data: Any, *names: str) -> np.ndarray:
    table = getattr(data, "data", data)
    return np.column_stack([table.numbers(name).values for name in names])


def skewed(n: int, seed: int = 1) -> Microdata:
    """Correlated amounts, a ranked and an unranked attribute."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    columns = {
        "wealth": np.exp(x + rng.standard_normal(n)),
        "debt": np.exp(0.5 * x - 0.5 * rng.standard_normal(n)),
        "grade": np.digitize(x + 0.5 * rng.standard_normal(n), [-1, 0, 1]),
        "town": np.array(["Ås", "東京", "Żory"])[np.digitize(x + rng.standard_normal(n), [-0.5, 0.5])],
    }
    return Microdata.of(columns, ordinal=["grade"])


# --- normal ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:MK-11")
@pytest.mark.parametrize(("records", "columns"), [(500, 4), (50, 1), (8, 20), (7, 7)])
def test_normal_keeps_mean_and_covariance_exactly(records: int, columns: int) -> None:
    """Also with more attributes than records."""
    rng = np.random.default_rng(3)
    values = np.exp(rng.standard_normal((records, columns))) @ rng.standard_normal((columns, columns))
    values *= 10.0 ** rng.integers(-3, 6, columns)
    names = [f"v{j}" for j in range(columns)]
    data = Microdata.of(dict(zip(names, values.T, strict=True)))
    drawn = numbers(Synthetic(model="normal").mask(data, seed=4), *names)
    assert np.abs(drawn - values).max() > 0
    spread = values.std(axis=0)
    assert np.abs((drawn.mean(axis=0) - values.mean(axis=0)) / spread).max() < 1e-10
    before, after = (np.cov(v.T, ddof=0).reshape(columns, columns) for v in (values, drawn))
    assert np.abs((after - before) / np.outer(spread, spread)).max() < 1e-10


@pytest.mark.spec("01:MK-11")
def test_normal_keeps_the_covariance_with_what_is_given_exactly() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal(300)
    group = rng.choice(["a", "b", "c"], 300)
    data = Microdata.of({"x": x, "group": group, "y": 2 * x + (group == "b") + rng.standard_normal(300), "z": x**2})
    release = Synthetic(model="normal").mask(data, ["y", "z"], seed=1)
    assert release.data.arrow("x").equals(data.arrow("x"))
    before, after = (np.cov(numbers(t, "x", "y", "z").T) for t in (data, release))
    assert np.abs(after - before).max() < 1e-10
    for category in "abc":
        there = group == category
        assert numbers(release, "y", "z")[there].mean(axis=0) == pytest.approx(
            numbers(data, "y", "z")[there].mean(axis=0), abs=1e-10
        )


def test_normal_is_for_numbers() -> None:
    with pytest.raises(DataError, match=r"'grade' is ordinal, but synthetic with model = normal works on numeric"):
        Synthetic(model="normal").mask(skewed(30), ["wealth", "grade"], seed=1)


def test_normal_passes_over_a_given_attribute_of_very_many_categories_and_says_so() -> None:
    data = Microdata.of({"x": np.arange(120.0), "code": [f"c{i}" for i in range(120)]})
    release = Synthetic(model="normal").mask(data, ["x"], seed=1)
    assert any("not drawn given code" in note for note in release.provenance.notes)


# --- copula and Latin hypercube ----------------------------------------------------------------------------------


@pytest.mark.spec("01:MK-11")
@pytest.mark.parametrize("smooth", [True, False])
def test_copula_draws_from_the_distribution_of_each_attribute(smooth: bool) -> None:
    """Dvoretzky, Kiefer and Wolfowitz: farther apart than this with a probability below one in a million."""
    n = 4000
    bound = np.sqrt(np.log(2 / 1e-6) / (2 * n))
    data = skewed(n)
    release = Synthetic(model="copula", smooth=smooth).mask(data, data.names, seed=2)
    for name in ("wealth", "debt"):
        before, after = np.sort(numbers(data, name)[:, 0]), np.sort(numbers(release, name)[:, 0])
        for side in ("left", "right"):
            shares = np.searchsorted(after, before, side=side) - np.searchsorted(before, before, side=side)
            assert np.abs(shares / n).max() < bound + 1 / n
    for name in ("grade", "town"):
        shares = [np.cumsum(t.categories(name).frequencies) / n for t in (data, release.data)]
        assert np.abs(shares[0] - shares[1]).max() < bound


@pytest.mark.spec("01:MK-11")
@pytest.mark.parametrize("model", ["copula", "latin-hypercube"])
def test_rank_correlations_are_kept_between_all_kinds(model: str) -> None:
    """Within 0.07: four and a half standard errors of a rank correlation in 4,000 records."""
    data = skewed(4000)
    release = Synthetic(model=model).mask(data, data.names, seed=2).data
    tables = []
    for table in (data, release):
        order = {"Ås": 0, "東京": 1, "Żory": 2}
        towns = [order[t] for t in table.arrow("town").to_pylist()]
        tables.append(np.column_stack([numbers(table, "wealth", "debt"), table.categories("grade").codes, towns]))
    before, after = (spearmanr(t).statistic for t in tables)
    assert np.abs(before - after).max() < 0.07


@pytest.mark.spec("01:MK-11")
def test_a_latin_hypercube_uses_every_value_as_often_as_it_occurs() -> None:
    data = skewed(500)
    release = Synthetic(model="latin-hypercube", smooth=False).mask(data, data.names, seed=2).data
    for name in data.names:
        before, after = data.arrow(name).to_pylist(), release.arrow(name).to_pylist()
        assert before != after
        assert sorted(before) == sorted(after)


# --- trees -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:MK-11")
def test_trees_follow_a_dependence_of_any_shape() -> None:
    """A parabola (no correlation at all), group means, and a table of two nominal attributes."""
    n, rng = 4000, np.random.default_rng(7)
    x = rng.standard_normal(n)
    kind = rng.choice(["p", "q", "r"], n)
    columns = {
        "x": x,
        "parabola": x**2 + 0.3 * rng.standard_normal(n),
        "kind": kind,
        "level": np.select([kind == "p", kind == "q"], [5.0, -5.0], 0.0) + rng.standard_normal(n),
        "twin": np.where(rng.random(n) < 0.9, kind, "s"),
    }
    data = Microdata.of(columns)
    release = Synthetic().mask(data, list(columns), seed=3).data
    x, parabola, level = numbers(release, "x", "parabola", "level").T
    assert np.corrcoef(x**2, parabola)[0, 1] > 0.9
    kind, twin = (np.array(release.arrow(name).to_pylist()) for name in ("kind", "twin"))
    for category, mean in (("p", 5.0), ("q", -5.0), ("r", 0.0)):
        there = kind == category
        # two samples, the original's and ours: five standard errors of a mean and of a standard deviation
        assert level[there].mean() == pytest.approx(mean, abs=5 * np.sqrt(2 / there.sum()))
        assert level[there].std() == pytest.approx(1.0, abs=5 * np.sqrt(2 / (2 * there.sum())))
        assert set(twin[there]) == {category, "s"}
        # the share of the original's own sampling and of ours, at four and a half standard errors
        assert abs((twin[there] == "s").mean() - 0.1) < 4.5 * np.sqrt(2 * 0.1 * 0.9 / there.sum())


@pytest.mark.spec("01:MK-11")
@pytest.mark.parametrize("evidence", [0.0, 5.0])
def test_what_is_independent_stays_independent(evidence: float) -> None:
    """Correlations of original and synthetic sampling together, at four and a half standard errors."""
    n, rng = 4000, np.random.default_rng(8)
    x, y, z = rng.standard_normal((3, n))
    data = Microdata.of({"x": x, "y": y, "sex": np.where(z > 0, "f", "m")})
    release = Synthetic(evidence=evidence).mask(data, ["x", "y", "sex"], seed=3).data
    x, y = numbers(release, "x", "y").T
    sex = release.categories("sex").codes
    for a, b in ((x, y), (x**2, y), (x, sex), (y, sex)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 * np.sqrt(2 / n)


@pytest.mark.spec("01:MK-11")
def test_missing_cells_are_drawn_like_values_each_state_where_it_belongs() -> None:
    n, rng = 4000, np.random.default_rng(9)
    x = rng.standard_normal(n)
    answer = np.where(x > 1, np.nan, np.where(x < -1, -9.0, 10 + x))
    mood = np.where(x > 0.5, None, rng.choice(["good", "bad"], n))
    data = Microdata.of({"x": x, "answer": answer, "mood": mood.tolist()})
    data = data.with_schema(data.schema.replacing(data["answer"].changed(missing_codes=(-9.0,))))
    release = Synthetic(smooth=False).mask(data, ["x", "answer", "mood"], seed=3).data
    x = release.numbers("x").values
    states, moods = release.missing_states("answer"), release.missing_states("mood")
    # at the borders the trees are as coarse as their bins: 1/255 of the records
    wrong = (states == 1) != (x > 1), (states == 2) != (x < -1), (moods == 1) != (x > 0.5)
    assert max(w.mean() for w in wrong) < 2 / 255
    shares = [np.bincount(t.missing_states("answer"), minlength=3) / n for t in (data, release)]
    assert np.abs(shares[0] - shares[1]).max() < 4.5 * np.sqrt(0.25 / n)


def test_cells_that_are_not_applicable_stay_and_the_rest_is_drawn_to_fit() -> None:
    n, rng = 3000, np.random.default_rng(2)
    age = rng.integers(0, 90, n)
    data = Microdata.of({"age": age, "wage": np.where(age < 16, np.nan, 100.0 + age)})
    data = data.with_schema(data.schema.replacing(data["wage"].changed(missing="not applicable")))
    release = Synthetic().mask(data, ["age", "wage"], seed=1).data
    stays = data.missing_states("wage") == 1
    assert (release.missing_states("wage") == data.missing_states("wage")).all()
    assert (release.numbers("age").values[stays] < 16).all()
    assert (release.numbers("age").values[~stays] >= 16).all()
    assert not (release.numbers("age").values == age).all()


def test_values_are_drawn_from_leaves_of_the_least_size() -> None:
    """With a leaf as large as the table an attribute is drawn as if it were alone."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal(1000)
    data = Microdata.of({"x": x, "y": x})
    close = numbers(Synthetic(leaf=5).mask(data, seed=1), "x", "y")
    apart = numbers(Synthetic(leaf=1000).mask(data, seed=1), "x", "y")
    assert np.corrcoef(close.T)[0, 1] > 0.99
    assert abs(np.corrcoef(apart.T)[0, 1]) < 4.5 / np.sqrt(1000)


@pytest.mark.parametrize("model", ANY_KIND)
def test_rare_numbers_are_moved_and_common_ones_are_kept(model: str) -> None:
    rng = np.random.default_rng(6)
    amounts = np.where(rng.random(600) < 0.4, 0.0, np.exp(rng.standard_normal(600)))
    heaps = rng.choice([0.0, 100.0, 250.5], 600)
    data = Microdata.of({"amount": amounts, "whole": rng.permutation(600) * 1000, "heaps": heaps})
    release = Synthetic(model=model).mask(data, seed=1)
    drawn = numbers(release, "amount")[:, 0]
    assert abs((drawn == 0).mean() - 0.4) < 0.1
    assert not np.isin(drawn[drawn != 0], amounts).any()
    assert set(numbers(release, "heaps")[:, 0]) == set(heaps)
    assert amounts.min() <= drawn.min()
    assert drawn.max() <= amounts.max()
    assert pa.types.is_integer(release.data.arrow("whole").type)
    assert np.isin(release.data.arrow("whole").to_numpy(), np.arange(600) * 1000).mean() < 0.1
    copied = numbers(Synthetic(model=model, smooth=False).mask(data, seed=1), "amount")[:, 0]
    assert np.isin(copied, amounts).all()


def test_the_order_can_be_chosen() -> None:
    data = skewed(200)
    usual = Synthetic().mask(data, data.names, seed=1)
    last_first = Synthetic(order=("town",)).mask(data, data.names, seed=1)
    assert usual.data.digest() != last_first.data.digest()
    drawn, same = (
        Synthetic(order=order)._mask(data, data.names, Streams(1), silent).columns for order in ((), data.names)
    )
    assert same == drawn
    with pytest.raises(DataError, match="order names 'town', which is not among"):
        Synthetic(order=("town",)).mask(data, ["wealth"], seed=1)


# --- all models --------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:MK-11")
@pytest.mark.parametrize("model", ["trees", "copula", "latin-hypercube", "normal"])
def test_attributes_that_stay_are_conditioned_on_unless_told_otherwise(model: str) -> None:
    n, rng = 2000, np.random.default_rng(1)
    x = rng.standard_normal(n)
    data = Microdata.of({"x": x, "y": x + 0.5 * rng.standard_normal(n)})
    before = np.corrcoef(numbers(data, "x", "y").T)[0, 1]
    partial = numbers(Synthetic(model=model).mask(data, ["y"], seed=2), "x", "y")
    assert (partial[:, 0] == x).all()
    assert np.corrcoef(partial.T)[0, 1] == pytest.approx(before, abs=0.03)
    alone = numbers(Synthetic(model=model, given=()).mask(data, ["y"], seed=2), "x", "y")
    assert abs(np.corrcoef(alone.T)[0, 1]) < 4.5 / np.sqrt(n)


def test_who_is_expected_beyond_all_others_gets_the_largest_value() -> None:
    """The difference of a and b tells y; that of the first record is far larger than any other."""
    a, y = np.random.default_rng(1).normal(size=(2, 1000))
    b = a - 0.2 * y
    a[0], b[0] = 9.0, -9.0
    release = Synthetic(model="copula", smooth=False).mask(Microdata.of({"a": a, "b": b, "y": y}), ["y"], seed=1)
    assert numbers(release, "y")[0] == y.max()


def test_what_is_given_must_stay_and_be_released() -> None:
    data = Microdata.of({"x": np.arange(30.0), "y": np.arange(30.0), "who": range(30)}, identifiers=["who"])
    with pytest.raises(DataError, match="given names 'x', which is to be masked"):
        Synthetic(given=("x",)).mask(data, ["x"], seed=1)
    with pytest.raises(SchemaError, match="given names 'who', which is an identifier"):
        Synthetic(given=("who",)).mask(data, ["x"], seed=1)
    with pytest.raises(UnknownNameError, match="did you mean 'who'"):
        Synthetic(given=("whom",)).mask(data, ["x"], seed=1)


@pytest.mark.spec("01:MK-11")
@pytest.mark.parametrize("model", MODELS)
def test_blending_goes_from_the_synthetic_numbers_to_those_of_the_nearest_original(model: str) -> None:
    """With the same random numbers; in releases each share has its own."""
    data = skewed(150).select(["wealth", "debt"])
    columns = (
        Synthetic(model=model, blend=blend)._mask(data, data.names, Streams(2), silent).columns
        for blend in (0.0, 0.5, 1.0)
    )
    none, half, full = (numbers(data.with_columns(drawn), "wealth", "debt") for drawn in columns)
    original = numbers(data, "wealth", "debt")
    scaled = original / original.std(axis=0)
    nearest = [np.argmin(((scaled - row) ** 2).sum(axis=1)) for row in none / original.std(axis=0)]
    assert full == pytest.approx(original[nearest])
    assert half == pytest.approx((none + full) / 2)


@pytest.mark.parametrize("model", MODELS)
def test_the_same_seed_gives_the_same_records(model: str) -> None:
    data = skewed(300)
    names = ["wealth", "debt"] if model == "normal" else list(data.names)
    one, again, other = (Synthetic(model=model).mask(data, names, seed=seed) for seed in (1, 1, 2))
    assert one.data.digest() == again.data.digest()
    assert one.provenance.notes == again.provenance.notes
    assert one.data.digest() != other.data.digest()


@pytest.mark.parametrize("model", MODELS)
def test_the_release_says_how_close_it_comes(model: str) -> None:
    notes = " ".join(Synthetic(model=model).mask(skewed(200), ["wealth", "debt"], seed=1).provenance.notes)
    assert "equal an original one" in notes
    assert "closest 5 %" in notes


@pytest.mark.parametrize("model", MODELS)
def test_constants_empty_columns_and_missing_cells_pass_through_every_model(model: str) -> None:
    data = Microdata.of(
        {
            "same": [4.0] * 40,
            "empty": pa.nulls(40, pa.float64()),
            "some": [None if i % 5 == 0 else float(i) for i in range(40)],
            "all": [float(i % 7) for i in range(40)],
        }
    )
    release = Synthetic(model=model).mask(data, seed=1).data
    assert release.arrow("same").to_pylist() == [4.0] * 40
    assert release.arrow("empty").null_count == 40
    assert release.arrow("all").null_count == 0
    assert 0 < release.arrow("some").null_count < 25


@pytest.mark.parametrize("model", ANY_KIND)
def test_categories_in_any_script_and_of_any_type_come_back(model: str) -> None:
    columns = {
        "town": ["Ås", "東京", "Żory", None, "‏نوع"] * 12,
        "yes": [True, False, None] * 20,
        "rank": [1, 2, 3, 4] * 15,
    }
    data = Microdata.of(columns, ordinal=["rank"], nominal=["yes"])
    release = Synthetic(model=model).mask(data, list(columns), seed=1).data
    for name, cells in columns.items():
        assert set(release.arrow(name).to_pylist()) == set(cells)
        assert release.arrow(name).type == data.arrow(name).type


@pytest.mark.parametrize("model", MODELS)
def test_a_table_smaller_than_a_leaf_is_refused_unless_asked_for(model: str) -> None:
    one = Microdata.of({"x": [3.0], "y": [4.0]})
    with pytest.raises(DataError, match="1 record, but synthetic with leaf = 5 needs at least 5"):
        Synthetic(model=model).mask(one, seed=1)
    assert numbers(Synthetic(model=model, leaf=1).mask(one, seed=1), "x", "y").tolist() == [[3.0, 4.0]]


def test_a_declared_range_is_kept() -> None:
    rng = np.random.default_rng(1)
    data = Microdata.of({"share": rng.random(200) ** 4})
    data = data.with_schema(data.schema.replacing(data["share"].changed(range=(0.0, 1.0))))
    assert numbers(Synthetic(model="normal").mask(data, seed=1), "share").min() == 0.0


@pytest.mark.spec("01:MK-11")
def test_a_survey_is_drawn_anew_with_its_weights_and_the_households_are_mentioned() -> None:
    data = survey(1000, seed=2)
    masked = [n for n in data.schema.keys if n != "region"]
    release = Synthetic().mask(data, masked, seed=1)
    assert release.data.arrow("weight").equals(data.arrow("weight"))
    assert any("members of a household" in note for note in release.provenance.notes)
    occupation = np.array(release.data.arrow("occupation").to_pylist())
    # children have no occupation, and the trees know it
    young = release.data.numbers("age").values < 10
    assert (occupation[young] == "NAP").mean() > 0.9
    told = next(note for note in release.provenance.notes if "equal an original one" in note)
    copies = float(told.split()[0])
    assert copies < 5


def test_the_parameters_have_limits() -> None:
    for wrong in ({"leaf": 0}, {"blend": 1.5}, {"evidence": -1.0}, {"model": "forest"}):
        with pytest.raises(ParameterError, match=f"synthetic: {next(iter(wrong))}"):
            Synthetic(**wrong)


def smoothed(values: FloatArray) -> FloatArray:
    """Rare values, smoothed 400 times."""
    size = len(values)
    column = Column("x", "numeric", values, np.zeros(size, dtype=np.uint8), False)
    rows, start, end = np.arange(size), np.zeros(size, dtype=np.int64), np.full(size, size)
    smooth, rng = Smoothing(column, common=2), np.random.default_rng(1)
    return np.array([smooth(rows, rows, start, end, rng) for _ in range(400)])


def test_rare_values_move_by_at_most_half_the_gap_to_their_neighbours() -> None:
    values = np.array([0.5, 2.125, 10.25, 100.75, 1000.5])
    moved = smoothed(values)
    gaps = np.diff(values) / 2
    assert (moved[:, 1:] >= values[1:] - gaps - 1e-3).all()
    assert (moved[:, :-1] <= values[:-1] + gaps + 1e-3).all()
    assert moved[:, 1:4].min(axis=0) == pytest.approx(values[1:4] - gaps[:3], rel=0.05)


def test_values_moved_beyond_the_ends_are_reflected_and_do_not_pile_up_there() -> None:
    values = np.array([10.125, 12.25, 20.5, 36.5])
    moved = smoothed(values)
    quarters = np.array([0.25, 0.5, 0.75, 1])
    low, high = moved[:, 0] - 10.125, 36.5 - moved[:, 3]  # evenly from 0 to half the gap
    for inwards, most in ((low, 2.125 / 2), (high, 16.0 / 2)):
        assert inwards.min() >= 0
        assert (inwards == 0).mean() < 0.02
        assert np.quantile(inwards, quarters) == pytest.approx(most * quarters, rel=0.2)


@pytest.mark.parametrize(("value", "decimals"), [(7.0, 0), (7.25, 2), (7.012345, 6), (7.0123456, None)])
def test_moved_values_keep_up_to_six_decimals(value: float, decimals: int | None) -> None:
    values = np.array([1.0, 2.0, 3.0, value])
    column = Column("x", "numeric", values, np.zeros(4, dtype=np.uint8), False)
    assert Smoothing(column, common=2).decimals == decimals
