"""Distance-based linkage against worked examples."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.attacks.linkage.base import columns_of, scaled
from microveil.attacks.linkage.distance import DistanceLinkage, _mean_distance, mean_square
from microveil.attacks.linkage.probabilistic import ProbabilisticLinkage
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError, UnknownNameError
from microveil.microdata import Microdata
from reproduction import swapping

X, SWAPPED = np.array(swapping.X), np.array(swapping.SWAPPED)


def table(cells: np.ndarray) -> Microdata:
    return Microdata.of({f"attr{j + 1}": cells[:, j] for j in range(cells.shape[1])})


def links(known: int, counter: str, **parameters: object) -> float:
    attack = DistanceLinkage(**parameters)  # type: ignore[arg-type]
    names = [f"attr{j + 1}" for j in range(known)]
    return attack.assess(table(X), table(SWAPPED), names).counters[counter] / 10


@pytest.mark.spec("03:RL-2")
def test_the_printed_counts_come_out_with_absolute_differences_and_ties_as_hits() -> None:
    """Example 4.1, Table 4.2, row DB-RL: 0, 2, 4, 1 correct links with one to four attributes known."""
    assert [links(c, "optimistic", metric="manhattan") for c in (1, 2, 3, 4)] == pytest.approx([0, 2, 4, 1])


@pytest.mark.spec("03:RL-2")
def test_squared_differences_give_the_recomputed_counts() -> None:
    assert [links(c, "expected") for c in (1, 2, 3, 4)] == pytest.approx([0, 2, 7, 5.5])


def test_record_two_is_nearest_to_its_own_in_squares_and_to_another_in_absolute_differences() -> None:
    for metric, own in (("euclidean", True), ("manhattan", False)):
        risk = DistanceLinkage(metric=metric, standardisation="none").assess(table(X), table(SWAPPED))  # type: ignore[arg-type]
        assert (risk.per_record[1] > 0) == own


@pytest.mark.spec("05:DR-02")
def test_the_categorical_example() -> None:
    """Computed independently: fractional 50, first 50, any 66.667 per cent."""
    original, masked = toy()
    for form in ("inclusive", "half-open"):
        risk = DistanceLinkage(ordinal_distance=form, direction="masked").assess(original, masked)  # type: ignore[arg-type]
        assert risk.value == pytest.approx(50)
        assert risk.counters["first"] == pytest.approx(50)
        assert risk.counters["optimistic"] == pytest.approx(200 / 3)


def toy() -> tuple[Microdata, Microdata]:
    original = {"v": [0, 0, 1, 2, 3, 3], "w": [0, 1, 1, 1, 2, 2]}
    masked = {"v": [0, 1, 1, 2, 3, 2], "w": [0, 1, 1, 0, 2, 2]}
    before = Microdata.of(original, ordinal=["v"], nominal=["w"], keys=["v", "w"])
    schema = before.schema.replacing(before["v"].changed(domain=(0, 1, 2, 3)), before["w"].changed(domain=(0, 1, 2)))
    return before.with_schema(schema), Microdata.of(masked, schema)


def test_an_unmasked_categorical_file_links_as_often_as_it_has_different_records(reference) -> None:  # type: ignore[no-untyped-def]
    """German 8.5 per cent, all ties counted right 100 per cent."""
    german = reference("german_credit")
    columns = [german.names[i] for i in (0, 5, 6)]
    risk = DistanceLinkage().assess(german, german, columns)
    assert risk.value == pytest.approx(8.5)
    assert risk.counters["optimistic"] == 100


def test_the_order_of_the_records_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    cells = rng.integers(0, 5, size=(80, 3)).astype(float)
    noisy = cells + rng.integers(-1, 2, size=cells.shape)
    order = rng.permutation(80)
    one = DistanceLinkage().assess(table(cells), table(noisy))
    other = DistanceLinkage().assess(table(cells[order]), table(noisy[order]))
    assert other.value == pytest.approx(one.value)
    assert other.per_record == pytest.approx(one.per_record[order])


def test_the_counters_are_ordered() -> None:
    rng = np.random.default_rng(8)
    cells = rng.integers(0, 6, size=(200, 2)).astype(float)
    counters = DistanceLinkage().assess(table(cells), table(cells + rng.integers(-1, 2, cells.shape))).counters
    assert counters["strict"] <= counters["expected"] <= counters["optimistic"]
    assert counters["strict"] <= counters["first"] <= counters["optimistic"]


def test_microaggregation_with_k_allows_at_most_one_link_in_k() -> None:
    from microveil.masking.microaggregation.mdav import MDAV

    data = table(np.random.default_rng(1).normal(size=(300, 4)))
    assert DistanceLinkage().assess(data, MDAV(k=5).mask(data)).value <= 20


@pytest.mark.parametrize("standardisation", ["separate", "joint", "minmax", "none"])
def test_a_shift_of_the_whole_file_helps_only_who_standardises_apart(standardisation: str) -> None:
    cells = np.random.default_rng(1).normal(size=(100, 3))
    risk = DistanceLinkage(standardisation=standardisation).assess(table(cells), table(cells + 50.0))  # type: ignore[arg-type]
    assert (risk.value == pytest.approx(100)) == (standardisation in ("separate", "minmax"))


def test_knowing_more_never_hurts_against_weak_noise() -> None:
    rng = np.random.default_rng(5)
    cells = rng.normal(size=(400, 5))
    noisy = table(cells + 0.2 * rng.normal(size=cells.shape))
    values = [
        DistanceLinkage().assess(table(cells), noisy, [f"attr{j + 1}" for j in range(c)]).value for c in (1, 3, 5)
    ]
    assert values == sorted(values)


def test_attacking_a_sample_estimates_the_same_risk() -> None:
    rng = np.random.default_rng(5)
    cells = rng.normal(size=(3000, 2))
    masked = table(cells + 0.05 * rng.normal(size=cells.shape))
    whole = DistanceLinkage().assess(table(cells), masked)
    part = DistanceLinkage(records=800).assess(table(cells), masked)
    assert part.attacked == 800
    assert np.isnan(part.per_record).sum() == 2200
    assert part.low <= whole.value <= part.high
    attacked = ~np.isnan(part.per_record)
    assert (part.per_record[attacked] == whole.per_record[attacked]).all()


def test_a_wildcard_matches_everything_and_other_missing_cells_their_like() -> None:
    columns = {"a": [1.0, 2.0, None], "b": [1.0, 2.0, 3.0]}
    data = Microdata.of(columns)
    assert DistanceLinkage().assess(data, data).value == pytest.approx(100)
    only = Microdata.of({"a": [1.0, 2.0, None, None]})
    for how in ("typical", "left out"):
        assert DistanceLinkage(missing_cells=how).assess(only, only).per_record.tolist() == [1, 1, 0, 0]  # type: ignore[arg-type]
    state = only.with_schema(only.schema.replacing(only["a"].changed(missing="not applicable")))
    assert DistanceLinkage().assess(state, state).per_record.tolist() == [1, 1, 0.5, 0.5]


@pytest.mark.spec("04:RS-BASE")
def test_rank_swapped_census_is_linked_about_as_often_as_the_spec_found(reference) -> None:  # type: ignore[no-untyped-def]
    """Census, mean over 1 to 7 known attributes, DB-RL 58.7 for p = 4 and 30.1 for p = 8.

    The method is random; over seeds the mean varies by less than one point, so two points are allowed.
    """
    from microveil.masking.swapping.rank_swapping import RankSwapping
    from microveil.microdata.datasets.reference import COLUMNS

    census = reference("census").select(COLUMNS["census-alphabetical"])
    for p, expected in ((4.0, 58.7), (8.0, 30.1)):
        release = RankSwapping(p=p).mask(census, seed=1)
        values = [DistanceLinkage().assess(census, release, census.names[:c]).value for c in range(1, 8)]
        assert np.mean(values) == pytest.approx(expected, abs=2)


# --- metrics ----------------------------------------------------------------------------------------------------------


def moved(n: int = 150, d: int = 3, noise: float = 0.6, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Correlated numbers and the same with noise."""
    rng = np.random.default_rng(seed)
    cells = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5
    return cells, cells + noise * rng.normal(size=cells.shape)


def nearest_shares(distances: np.ndarray) -> list[float]:
    """The chance of each record's own among those nearest to it."""
    tied = distances <= distances.min(axis=1, keepdims=True) + 1e-9
    return [tied[i, i] / tied[i].sum() for i in range(len(distances))]


@pytest.mark.spec("01:DR-5")
@pytest.mark.parametrize("covariance", ["separate", "joint"])
def test_mahalanobis_distances_are_those_of_the_inverse_covariance(covariance: str) -> None:
    cells, noisy = moved()
    sigma = np.cov(cells.T, ddof=0) + np.cov(noisy.T, ddof=0)
    if covariance == "joint":
        sigma = np.cov((cells - noisy).T, ddof=0)
    gaps = (cells - cells.mean(axis=0))[:, None] - (noisy - noisy.mean(axis=0))[None]
    distances = np.einsum("abj,jk,abk->ab", gaps, np.linalg.inv(sigma), gaps)
    centred = table(cells - cells.mean(axis=0)), table(noisy - noisy.mean(axis=0))
    attack = DistanceLinkage(metric="mahalanobis", covariance=covariance, standardisation="none")  # type: ignore[arg-type]
    assert attack.assess(*centred).per_record.tolist() == pytest.approx(nearest_shares(distances))


@pytest.mark.spec("01:DR-5")
def test_mahalanobis_does_not_depend_on_units_or_on_sums_of_attributes() -> None:
    cells, noisy = moved()
    turn = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 30.0]])
    attack = DistanceLinkage(metric="mahalanobis", standardisation="none")
    plain = attack.assess(table(cells), table(noisy)).per_record
    assert attack.assess(table(cells @ turn), table(noisy @ turn)).per_record == pytest.approx(plain)


@pytest.mark.parametrize("covariance", ["separate", "joint"])
def test_a_singular_covariance_is_no_obstacle(covariance: str) -> None:
    cells, noisy = moved()
    attack = DistanceLinkage(metric="mahalanobis", covariance=covariance)  # type: ignore[arg-type]
    doubled = [np.column_stack([block, block[:, 0], np.ones(len(block))]) for block in (cells, noisy)]
    plain = attack.assess(table(cells), table(noisy)).per_record
    assert attack.assess(table(doubled[0]), table(doubled[1])).per_record == pytest.approx(plain)
    assert attack.assess(table(cells), table(cells)).value == pytest.approx(100)


@pytest.mark.parametrize("covariance", ["separate", "joint"])
def test_a_constant_that_was_moved_far_away_says_nothing_of_any_record(covariance: str) -> None:
    """What it would add to all distances alike is so large that the others would be lost in it."""
    cells, noisy = moved()
    attack = DistanceLinkage(metric="mahalanobis", covariance=covariance, standardisation="none")  # type: ignore[arg-type]
    shifted = [np.column_stack([block, np.full(len(block), at)]) for block, at in ((cells, 0.0), (noisy, 1e12))]
    plain = attack.assess(table(cells), table(noisy)).per_record
    assert attack.assess(*map(table, shifted)).per_record == pytest.approx(plain)


def test_an_attribute_released_unchanged_gives_records_away_to_who_knows_the_covariance_of_the_differences() -> None:
    cells, noisy = moved(noise=3.0)
    noisy[:, 1] = cells[:, 1]
    attack = DistanceLinkage(metric="mahalanobis", covariance="joint", standardisation="joint")
    original = table(cells)
    assert attack.assess(original, table(noisy), original.names).value == pytest.approx(100)


def test_mahalanobis_refuses_missing_numbers_and_takes_categories_along() -> None:
    people = Microdata.of({"a": [1.0, 2.0, None], "job": ["x", "y", "x"]})
    with pytest.raises(DataError, match="'mahalanobis' needs numbers without missing values, and 'a' has some"):
        DistanceLinkage(metric="mahalanobis").assess(people, people)
    whole = Microdata.of({"a": [1.0, 1.0, 5.0], "job": ["x", "y", "x"]})
    assert DistanceLinkage(metric="mahalanobis").assess(whole, whole, ["a", "job"]).value == pytest.approx(100)


def test_gower_sums_shares_of_the_range_and_categories() -> None:
    rng = np.random.default_rng(2)
    ages, moved_ages = rng.integers(20, 60, 40).astype(float), rng.integers(15, 70, 40).astype(float)
    jobs, moved_jobs = (rng.choice(["cook", "nurse", "clerk"], 40) for _ in range(2))
    span = max(ages.max(), moved_ages.max()) - min(ages.min(), moved_ages.min())
    distances = np.abs(ages[:, None] - moved_ages) / span + (jobs[:, None] != moved_jobs)
    original, masked = (Microdata.of({"age": a, "job": j}) for a, j in ((ages, jobs), (moved_ages, moved_jobs)))
    risk = DistanceLinkage(metric="gower").assess(original, masked, ["age", "job"])
    assert risk.per_record.tolist() == pytest.approx(nearest_shares(distances))


@pytest.mark.spec("03:RL-2")
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
def test_weights_multiply_what_an_attribute_adds(metric: str) -> None:
    cells, noisy = moved()
    only = DistanceLinkage(metric=metric).assess(table(cells), table(noisy), ["attr2"])  # type: ignore[arg-type]
    none = DistanceLinkage(metric=metric, weights=(0.0, 3.0, 0.0)).assess(table(cells), table(noisy))  # type: ignore[arg-type]
    assert none.per_record == pytest.approx(only.per_record)
    twice = DistanceLinkage(metric=metric, weights=(2.0, 1.0, 1.0)).assess(table(cells), table(noisy))  # type: ignore[arg-type]
    columns = [np.column_stack([block[:, 0], block]) for block in (cells, noisy)]
    repeated = DistanceLinkage(metric=metric).assess(table(columns[0]), table(columns[1]))  # type: ignore[arg-type]
    assert twice.per_record == pytest.approx(repeated.per_record)


def test_a_wildcard_leaves_out_the_weight_of_its_attribute() -> None:
    """Known (0, 0); one released record has a gap of 1 in b and a wildcard in a, the other gaps of 1 in both."""
    known = Microdata.of({"a": [0.0, 9.0], "b": [0.0, 9.0]})
    released = Microdata.of({"a": [None, 1.0], "b": [1.0, 1.0]})
    attack = DistanceLinkage(metric="manhattan", standardisation="none", weights=(3.0, 1.0), missing_cells="left out")
    assert attack.assess(known, released).counters["optimistic"] == 100  # (1 * 4 / 1) and 4: they tie
    light = attack.changed(weights=(1.0, 3.0))
    assert light.assess(known, released).per_record.tolist() == [0.5, 0.5]


def test_bad_weights_are_refused() -> None:
    data = table(moved()[0])
    with pytest.raises(ParameterError, match="there are 3 known attributes"):
        DistanceLinkage(weights=(1.0, 2.0)).assess(data, data)
    for weights in ((-1.0, 1.0), (0.0, 0.0)):
        with pytest.raises(ParameterError, match="none is below 0, and one must be above"):
            DistanceLinkage(weights=weights)
    with pytest.raises(ParameterError, match="not allowed with weights"):
        DistanceLinkage(weights=(1.0,), metric="mahalanobis")


# --- neighbours, one-to-one, levels of knowledge, blocks --------------------------------------------------------------


@pytest.mark.spec("01:DR-4")
def test_linked_and_linked_by_the_second_nearest() -> None:
    """Masked 1.6 is nearest to 2 (0.4) and then to its own 1.1 (0.5); the other three are nearest to their own."""
    original, masked = Microdata.of({"a": [1.0, 1.1, 2.0, 9.0]}), Microdata.of({"a": [0.9, 1.6, 5.4, 9.5]})
    attack = DistanceLinkage(neighbours=2, direction="masked", standardisation="none")
    risk = attack.assess(original, masked)
    assert (risk.counters["nearest"], risk.counters["later"], risk.value) == (75, 25, 100)


def test_with_two_neighbours_a_link_is_strict_where_all_that_are_as_near_are_taken() -> None:
    original, attack = Microdata.of({"a": [0.0, 5.0, 3.0, 6.0]}), DistanceLinkage(neighbours=2, standardisation="none")
    # the third person, 3, is as near to their own record, 2, as to 4, and both are taken
    assert attack.assess(original, Microdata.of({"a": [0.0, 5.0, 2.0, 4.0]})).counters["strict"] == 100
    # to the fourth, 6, 5 is nearest, and of 4 and their own, 8, which are equally near, only one is taken
    counters = attack.assess(original, Microdata.of({"a": [0.0, 5.0, 4.0, 8.0]})).counters
    assert (counters["expected"], counters["optimistic"], counters["strict"]) == (87.5, 100, 75)


def test_linked_and_second_add_up(reference) -> None:  # type: ignore[no-untyped-def]
    from microveil.masking.microaggregation.mdav import MDAV

    tarragona = reference("tarragona")
    release = MDAV(k=3).mask(tarragona)
    both = DistanceLinkage(neighbours=2).assess(tarragona, release)
    one = DistanceLinkage().assess(tarragona, release)
    assert both.counters["nearest"] == pytest.approx(one.value)
    assert both.value == pytest.approx(both.counters["nearest"] + both.counters["later"])


@pytest.mark.spec("05:DR-02")
def test_an_unmasked_file_assigned_to_itself_shows_how_many_records_differ(reference) -> None:  # type: ignore[no-untyped-def]
    """A solver given both files in one order finds 100 per cent; the expectation is 8.5."""
    german = reference("german_credit")
    risk = DistanceLinkage(one_to_one=True).assess(german, german, [german.names[i] for i in (0, 5, 6)])
    assert risk.value == pytest.approx(8.5)
    assert risk.counters["optimistic"] == 100
    assert risk.counters["strict"] == pytest.approx(1.6)  # 16 combinations occur once


def test_one_to_one_uses_every_released_record_once() -> None:
    """Both known records are nearest to the first released one; together they are nearest the right way round."""
    original, masked = Microdata.of({"a": [0.0, 1.0]}), Microdata.of({"a": [2.0, 3.0]})
    alone = DistanceLinkage(standardisation="none").assess(original, masked)
    together = DistanceLinkage(standardisation="none", one_to_one=True).assess(original, masked)
    assert alone.per_record.tolist() == [1, 0]
    assert together.per_record.tolist() == [1, 1]
    # in absolute differences both ways are equally long
    even = DistanceLinkage(standardisation="none", one_to_one=True, metric="manhattan").assess(original, masked)
    assert even.per_record.tolist() == pytest.approx([0.5, 0.5])


def test_one_to_one_a_link_that_no_best_assignment_has_is_not_optimistic_either() -> None:
    """The first two are exchanged, and the last two are alike in both files."""
    original, masked = Microdata.of({"a": [0.0, 9.0, 20.0, 20.0]}), Microdata.of({"a": [9.0, 0.0, 20.0, 20.0]})
    for attack in (DistanceLinkage(one_to_one=True), ProbabilisticLinkage(assignment="one-to-one")):
        risk = attack.assess(original, masked)
        assert risk.per_record.tolist() == pytest.approx([0, 0, 0.5, 0.5])
        assert (risk.counters["optimistic"], risk.counters["strict"]) == (50, 0)


def test_one_to_one_is_the_solvers_assignment_where_nothing_ties() -> None:
    from scipy.optimize import linear_sum_assignment

    cells, noisy = moved(noise=1.5)
    distances = ((cells[:, None] - noisy[None]) ** 2).sum(axis=2)
    right = linear_sum_assignment(distances)[1] == np.arange(len(cells))
    risk = DistanceLinkage(one_to_one=True, standardisation="none").assess(table(cells), table(noisy))
    assert risk.per_record.tolist() == pytest.approx(right.astype(float).tolist())
    assert 0 < risk.value < 100


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_the_order_of_the_records_does_not_matter_one_to_one(metric: str) -> None:
    rng = np.random.default_rng(8)
    cells = rng.integers(0, 5, size=(60, 2)).astype(float)
    noisy, order = cells + rng.integers(-1, 2, size=cells.shape), rng.permutation(60)
    attack = DistanceLinkage(one_to_one=True, metric=metric)  # type: ignore[arg-type]
    one = attack.assess(table(cells), table(noisy))
    other = attack.assess(table(cells[order]), table(noisy[order]))
    assert other.per_record == pytest.approx(one.per_record[order], abs=1e-6)


def test_one_to_one_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ParameterError, match="neighbours = 2 is not allowed with one_to_one"):
        DistanceLinkage(one_to_one=True, neighbours=2)
    long = Microdata.of({"a": np.arange(5001.0)})
    with pytest.raises(ParameterError, match="not possible with 5,001 distinct records"):
        DistanceLinkage(one_to_one=True).assess(long, long)


@pytest.mark.spec("03:ME-5")
def test_the_first_attributes_as_levels_of_knowledge() -> None:
    cells, noisy = moved()
    names = table(cells).names
    apart = [DistanceLinkage().assess(table(cells), table(noisy), names[:c]).value for c in (1, 2)]
    levels = DistanceLinkage(known_sizes=(1, 2), choose="first").assess(table(cells), table(noisy))
    assert levels.value == pytest.approx(np.mean(apart))


def test_more_choices_of_attributes_than_are_tried_are_refused() -> None:
    data = table(np.arange(80.0).reshape(4, 20))
    with pytest.raises(ParameterError, match="it means 15,504 choices, and at most 10,000 are tried"):
        DistanceLinkage(known_sizes=(5,)).assess(data, data)


def test_a_missing_cell_is_laid_out_as_0_with_its_state() -> None:
    data = Microdata.of({"x": [7.0, None, 3.0]})
    values = np.array([7.0, np.nan, 3.0])
    for side in columns_of(Pair.of(data, data), ["x"], [(values, values)]):
        assert side.cells.tolist() == [[7, 0, 3]]
        assert (side.states > 0).tolist() == [[False, True, False]]


def test_the_worst_choice_of_attributes_lies_between_the_mean_and_each_records_worst() -> None:
    cells, noisy = moved()
    noisy[:, 2] = cells[:, 2]
    original, masked = table(cells), table(noisy)
    mean, worst, each = (
        DistanceLinkage(known_sizes=(1,), aggregate=how).assess(original, masked, original.names).value  # type: ignore[arg-type]
        for how in ("mean", "worst", "any")
    )
    assert worst == DistanceLinkage().assess(original, masked, ["attr3"]).value
    assert mean < worst <= each


@pytest.mark.spec("03:RL-1")
def test_blocking_compares_only_within_blocks() -> None:
    people = Microdata.of({"sex": ["f", "m", "f", "m"], "age": [20.0, 30.0, 40.0, 50.0]})
    release = Microdata.of({"sex": ["f", "m", "f", "f"], "age": [29.0, 21.0, 41.0, 50.0]})
    free = DistanceLinkage(standardisation="none").assess(people, release, ["sex", "age"])
    blocked = DistanceLinkage(standardisation="none", block=("sex",)).assess(people, release, ["sex", "age"])
    assert free.per_record.tolist() == [0, 0, 1, 1]
    # the first two are no longer confused; the last, whose sex was changed, is lost
    assert blocked.per_record.tolist() == [1, 1, 1, 0]
    with pytest.raises(UnknownNameError, match="known attribute to block on 'ages'"):
        DistanceLinkage(block=("ages",)).assess(people, release, ["sex", "age"])


# --- missing cells, samples -------------------------------------------------------------------------------------------


def wildcards(columns: dict[str, list[str | None]]) -> Microdata:
    data = Microdata.of(columns, nominal=list(columns))
    return data.with_schema(data.schema.replacing(*(data[name].changed(missing="wildcard") for name in data.names)))


def test_a_record_that_agrees_throughout_is_nearer_than_one_with_an_emptied_cell() -> None:
    known = wildcards({"job": ["cook", "cook", "nurse"], "sex": ["f", "m", "m"]})
    release = wildcards({"job": ["cook", None, "nurse"], "sex": ["f", "m", "m"]})
    assert DistanceLinkage().assess(known, release, ["job", "sex"]).per_record.tolist() == [1, 1, 1]
    # left out, an empty cell agrees as well as any: the nurse may be the second or the third
    left_out = DistanceLinkage(missing_cells="left out").assess(known, release, ["job", "sex"])
    assert left_out.per_record.tolist() == [1, 1, 0.5]


def test_what_the_intruder_does_not_know_draws_no_link_to_emptied_cells() -> None:
    known = wildcards({"job": [None, "cook"], "sex": ["f", "m"]})
    release = wildcards({"job": ["cook", None], "sex": ["f", "f"]})
    assert DistanceLinkage().assess(known, release).per_record[0] == 0.5


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
def test_missing_cells_among_disturbed_numbers_do_not_draw_all_links(metric: str) -> None:
    """Scaled up, the few cells of a nearly empty record are soon nearer than one's own disturbed record."""
    rng = np.random.default_rng(2)
    cells = rng.normal(size=(300, 5))
    noisy = cells + 0.1 * rng.normal(size=cells.shape)
    noisy[rng.random(noisy.shape) < 0.4] = np.nan
    attack = DistanceLinkage(metric=metric)  # type: ignore[arg-type]
    typical = attack.assess(table(cells), table(noisy)).value
    assert typical > 2 * attack.changed(missing_cells="left out").assess(table(cells), table(noisy)).value


def test_a_release_with_suppressed_cells_is_linked_by_what_is_left() -> None:
    from microveil.masking.coarsening.suppress import Suppress
    from microveil.microdata.datasets.sample_survey import survey

    people = survey(300, seed=3)
    release = Suppress(k=5).mask(people, ["region", "sex", "education"])
    masked = release.provenance.attributes
    typical = DistanceLinkage().assess(people, release, masked)
    assert typical.value > DistanceLinkage(missing_cells="left out").assess(people, release, masked).value
    order = np.random.default_rng(1).permutation(300)
    turned = DistanceLinkage().assess(people.take(order), release.data.take(order), masked)
    assert turned.per_record == pytest.approx(typical.per_record[order])


def test_the_risk_of_a_sample_is_that_of_the_persons_in_it() -> None:
    from microveil.masking.coarsening.sampling import Sampling

    data = table(np.arange(40.0).reshape(20, 2))
    release = Sampling(share=0.25).mask(data, seed=1)
    risk = DistanceLinkage().assess(data, release)
    assert (risk.attacked, len(risk.per_record)) == (5, 5)
    assert risk.value == pytest.approx(100 * risk.per_record.mean())
    assert risk.counters["of all"] == pytest.approx(risk.value / 4)
    assert "that of the 5 of 20 persons who are in the released sample" in risk.scenario
    assert "of all" not in DistanceLinkage().assess(data, data).counters


# --- what a missing cell adds ---------------------------------------------------------------------------------------


def with_gaps(seed: int, size: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(size) < 0.2, np.nan, rng.integers(0, 6, size).astype(float))


@pytest.mark.parametrize("seed", range(4))
def test_a_wildcard_adds_the_mean_over_all_pairs_of_values(seed: int) -> None:
    one, other = with_gaps(seed, 15), with_gaps(seed + 10, 22)
    pairs = [(x, y) for x in one for y in other if not np.isnan(x) and not np.isnan(y)]
    assert mean_square(one, other) == pytest.approx(np.mean([(x - y) ** 2 for x, y in pairs]))
    plain = np.mean([0.3 + 0.1 * abs(x - y) if x != y else 0.0 for x, y in pairs])
    assert _mean_distance(one, other, 0.3, 0.1) == pytest.approx(plain)


@pytest.mark.parametrize("empty", [0, 1])
def test_a_wildcard_adds_nothing_where_a_file_has_no_value(empty: int) -> None:
    sides = [np.array([1.0, 4.0]), np.array([2.0, 7.0])]
    sides[empty] = np.full(2, np.nan)
    assert mean_square(*sides) == 0.0
    assert _mean_distance(*sides, 0.3, 0.1) == 0.0


@pytest.mark.parametrize("seed", range(30))
def test_a_wildcard_costs_what_nearest_records_differ_by_or_else_records_at_random(seed: int) -> None:
    """Against the definition, record by record, in files so small and so empty that nearest records tell little."""
    rng = np.random.default_rng(seed)
    before, after = rng.normal(size=(6, 2)) * [1.0, 3.0], rng.normal(size=(6, 2)) * [1.0, 3.0]
    before[rng.random(before.shape) < 0.4], after[rng.random(after.shape) < 0.4] = np.nan, np.nan
    gaps = np.abs(before[:, None] - after[None])  # known x released x attributes, NaN where one does not tell
    told = ~np.isnan(gaps)
    at_random = [float(gaps[..., j][told[..., j]].mean()) if told[..., j].any() else 0.0 for j in (0, 1)]
    costs = []
    apart = np.where(told, gaps, at_random).sum(axis=2)
    nearest = np.abs(apart - apart.min(axis=1, keepdims=True)) < 1e-9
    share = nearest / nearest.sum(axis=1, keepdims=True)
    for j in (0, 1):
        among = np.where(told[..., j], share, 0.0)
        typical = (among * np.nan_to_num(gaps[..., j])).sum() / among.sum() if among.any() else at_random[j]
        costs.append(typical + 1e-6 * at_random[j])
    apart = np.where(told, gaps, costs).sum(axis=2)
    nearest = np.abs(apart - apart.min(axis=1, keepdims=True)) < 1e-9
    expected = np.diag(nearest) / nearest.sum(axis=1) * ~np.isnan(before).all(axis=1)
    attack = DistanceLinkage(metric="manhattan", standardisation="none")
    assert attack.assess(table(before), table(after)).per_record == pytest.approx(expected)


def test_the_scenario_says_who_looks_for_whom() -> None:
    data = table(X)
    known = "attr1, attr2, attr3, attr4"
    told = {
        (): f"An intruder knows the true values of {known} for a person in the file and takes the released record that "
        "is nearest to them.",
        ("neighbours",): f"An intruder knows the true values of {known} for a person in the file and takes the "
        "released 2 records that are nearest to them.",
        ("direction",): f"An intruder knows the true values of {known} of everyone and takes for each released record "
        "the person who is nearest to it.",
        ("one_to_one",): f"An intruder knows the true values of {known} of everyone in the file and gives each person "
        "a released record of their own, so that all together are as near as can be.",
    }
    other = {"neighbours": 2, "direction": "masked", "one_to_one": True}
    for changed, scenario in told.items():
        attack = DistanceLinkage(**{name: other[name] for name in changed})  # type: ignore[arg-type]
        assert attack.assess(data, data).scenario == scenario


def test_numbers_are_divided_by_the_range_of_both_files() -> None:
    gap = np.nan
    before, after = scaled(np.array([2.0, 4.0, gap]), np.array([3.0, gap, 10.0]), "common range")
    assert before == pytest.approx([0.0, 0.25, gap], nan_ok=True)
    assert after == pytest.approx([0.125, gap, 1.0], nan_ok=True)
    constant = scaled(np.array([5.0, 5.0]), np.array([5.0, gap]), "common range")
    assert constant[0].tolist() == [0.0, 0.0]
    assert constant[1][0] == 0.0
    assert np.isnan(scaled(np.full(2, gap), np.full(2, gap), "common range")).all()
