"""The attack by an intruder who knows the plan: exact small examples, what it is at least as strong as, properties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.attacks.linkage import evidence
from microveil.attacks.linkage.likelihood import LikelihoodLinkage
from microveil.battery import run_battery
from microveil.comparison.pairs import Pair
from microveil.entries import METHODS
from microveil.masking.likelihood import Normal, Shift, Transition
from microveil.microdata import Microdata
from microveil.numerics.linkage.likelihood import Candidates, NormalTerm, ShiftTerm, TableTerm
from microveil.randomness import PublicStreams
from microveil.registry import find, names

SEED = 2**90 + 13
NUMBERS = ("age", "income", "wealth", "expenditure")
LINKAGES = [name for name in names("attack") if name.endswith("linkage") and not find("attack", name).of_graph]


def likelihood(original: Any, release: Any, known: Any = None, **parameters: Any) -> mv.Risk:
    return LikelihoodLinkage(**parameters).assess(original, release, known)


@pytest.fixture(scope="module")
def people() -> Microdata:
    return mv.datasets.survey(100, seed=5)


# --- what methods say of themselves ----------------------------------------------------------------------------------


def test_pram_states_the_row_of_its_matrix() -> None:
    data = Microdata.of({"sex": ["f", "f", "f", "m"]})
    said = mv.method("pram", p=0.7, matrix="entropy").likelihood(data, ("sex",), PublicStreams(0))
    statement = said[("sex",)]
    assert isinstance(statement, Transition)
    np.testing.assert_allclose(statement.matrix, [[0.7, 0.3], [0.3, 0.7]])


def test_rank_swapping_states_shifts_within_its_window_alone() -> None:
    data = Microdata.of({"x": np.arange(100.0)})
    said = mv.method("rank-swapping", p=4).likelihood(data, ("x",), PublicStreams(0))[("x",)]
    assert isinstance(said, Shift)
    assert said.bounded
    assert said.reach == 4
    assert said.probabilities.sum() == pytest.approx(1.0)
    # who is swapped is swapped with another, and up as often as down
    assert said.probabilities[4] < 0.05
    np.testing.assert_allclose(said.probabilities, said.probabilities[::-1], atol=0.01)


def test_shifts_of_two_steps_add_up() -> None:
    one = Shift(np.array([0.25, 0.5, 0.25]), True)
    assert one.then(one).probabilities.tolist() == [0.0625, 0.25, 0.375, 0.25, 0.0625]
    assert not one.then(one).bounded  # equal values change their order between the steps


@pytest.mark.parametrize(("form", "slope", "factor"), [("uncorrelated", 1.0, 0.2), ("linear", 1.2**-0.5, 0.2 / 1.2)])
def test_noise_states_its_covariance(form: str, slope: float, factor: float) -> None:
    cells = np.random.default_rng(1).normal(size=(50, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    data = Microdata.of({"a": cells[:, 0], "b": cells[:, 1]})
    said = mv.method("noise", alpha=0.2, form=form).likelihood(data, ("a", "b"), PublicStreams(0))[("a", "b")]
    assert isinstance(said, Normal)
    assert said.slope == pytest.approx(slope)
    covariance = np.cov(cells.T, ddof=0)
    expected = np.diag(np.diag(covariance)) if form == "uncorrelated" else covariance
    np.testing.assert_allclose(said.covariance, factor * expected)


# --- terms by hand ---------------------------------------------------------------------------------------------------


def test_the_posterior_of_a_two_by_two_matrix() -> None:
    # p(b | a) = 0.1, p(b | b) = 0.6; of three persons a, a, b the last has a posterior of 0.6 / 0.8 for a released b
    data = Microdata.of({"x": ["a", "a", "b"], "n": [1, 2, 3]})
    given_matrix = {"x": [[0.9, 0.1], [0.4, 0.6]]}
    release = mv.method("pram", given=given_matrix).mask(data, ["x"], seed=SEED)
    found = likelihood(data, release, ["x"])
    published = release.data.arrow("x").to_pylist()
    believed = [0.9 / 2.2 if cell == "a" else 0.6 / 0.8 for cell in published]
    assert found.counters["believed"] == pytest.approx(100 * np.mean(believed))
    right = {("a", "a"): 0.5, ("b", "b"): 1.0, ("a", "b"): 0.0, ("b", "a"): 0.0}
    expected = [right[true, cell] for true, cell in zip(["a", "a", "b"], published, strict=True)]
    assert found.per_record.tolist() == expected


def test_a_table_term_is_the_log_of_the_likelihood_ratio() -> None:
    matrix = np.array([[0.9, 0.1], [0.4, 0.6]])
    term = TableTerm.of(matrix, np.array([3.0, 1.0]), np.array([0, 1, -1]), np.array([0, 1, -1]))
    sums = np.zeros((3, 3))
    term.add(sums, np.arange(3), np.arange(3))
    published = np.array([0.775, 0.225])
    np.testing.assert_allclose(np.exp(sums[:2, :2]), matrix.T / published[:, None])
    assert not sums[2].any()
    assert not sums[:, 2].any()


def _shift_sums(probabilities: list[float], bounded: bool, released: np.ndarray, known: np.ndarray) -> np.ndarray:
    n = len(known)
    ranks = [
        (np.searchsorted(np.sort(c), c, "left"), np.searchsorted(np.sort(c), c, "right")) for c in (released, known)
    ]
    term = ShiftTerm.of(np.array(probabilities), bounded, n, *ranks)
    sums = np.zeros((n, n))
    term.add(sums, np.arange(n), np.arange(n))
    return sums


def test_a_shift_term_is_the_probability_of_the_move_and_nothing_beyond_the_window() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    found = np.exp(_shift_sums([0.3, 0.2, 0.5], True, values, values)) / 4
    expected = [[0.2, 0.3, 0, 0], [0.5, 0.2, 0.3, 0], [0, 0.5, 0.2, 0.3], [0, 0, 0.5, 0.2]]
    np.testing.assert_allclose(found, expected)


def test_equal_values_share_their_ranks() -> None:
    values = np.array([1.0, 1.0, 2.0])
    found = np.exp(_shift_sums([0.3, 0.2, 0.5], True, values, values)) / 3 * np.array([2, 2, 1])[:, None]
    # from ranks 0 and 1 to both: (0.2 + 0.5 + 0.3 + 0.2) / 2; to rank 2: 0.5 / 2
    np.testing.assert_allclose(found[0], [0.6, 0.6, 0.3])
    np.testing.assert_allclose(found[2], [0.25, 0.25, 0.2])


def test_a_normal_term_knows_correlations() -> None:
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(2)
    released, centre = rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    scale, correlation = np.array([0.5, 2.0]), np.array([[1.0, 0.6], [0.6, 1.0]])
    term = NormalTerm.of(released, centre, np.tile(scale, (4, 1)), correlation, 0.0)
    sums = np.zeros((3, 4))
    term.add(sums, np.arange(3), np.arange(4))
    covariance = correlation * np.outer(scale, scale)
    expected = [[multivariate_normal(c, covariance).logpdf(y) for c in centre] for y in released]
    np.testing.assert_allclose(sums - sums[0, 0], np.array(expected) - expected[0][0])


def test_a_missing_number_tells_nothing() -> None:
    released, centre = np.array([[0.0], [np.nan]]), np.array([[0.0], [np.nan], [5.0]])
    term = NormalTerm.of(released, centre, np.ones((3, 1)), np.eye(1), 0.0)
    sums = np.zeros((2, 3))
    term.add(sums, np.arange(2), np.arange(3))
    assert sums[0, 0] > 0 > sums[0, 2]
    assert sums[0, 1] == 0
    assert not sums[1].any()


def test_persons_alike_share_what_they_may_be_released_as() -> None:
    made = Candidates.of(np.array([0, 1, 1, 0]), np.array([0, 0, 0, 1]))
    np.testing.assert_allclose(np.exp(made.log_share), [1 / 3, 1.0, 2 / 3])
    assert made.index_of(np.array([0, 1, 1]), np.array([1, 0, 1])).tolist() == [1, 2, -1]


# --- small releases --------------------------------------------------------------------------------------------------


def test_the_groups_of_a_method_without_randomness_are_made_again() -> None:
    rng = np.random.default_rng(3)
    data = Microdata.of({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    for k in (3, 4):
        found = likelihood(data, mv.method("mdav", k=k).mask(data, seed=SEED))
        assert found.value == pytest.approx(100 / k)
        assert found.counters["lost"] == 0
        assert "masking again" in found.scenario


def test_where_groups_depend_on_what_is_not_known_records_are_still_linked() -> None:
    rng = np.random.default_rng(3)
    data = Microdata.of({name: rng.normal(size=200) for name in "abcd"})
    release = mv.method("mdav", k=3).mask(data, seed=SEED)
    some = likelihood(data, release, ["a", "b"])
    assert "masking again" not in some.scenario
    assert 2 < some.value < likelihood(data, release, list("abcd")).value


def test_what_data_swapping_keeps_has_the_posterior_of_its_share() -> None:
    # kept with probability 1/2, else that of any of the four: 5/8 for the person with the released value
    data = Microdata.of({"x": [1.0, 2.0, 3.0, 4.0]})
    release = mv.method("data-swapping", share=0.5).mask(data, seed=SEED)
    found = likelihood(data, release)
    assert found.counters["believed"] == pytest.approx(62.5)
    kept = [before == after for before, after in zip([1, 2, 3, 4], release.data.arrow("x").to_pylist(), strict=True)]
    assert found.per_record.tolist() == [float(same) for same in kept]


def test_records_of_a_compound_with_a_missing_cell_are_left_alone_and_so_found() -> None:
    data = Microdata.of({"x": ["a", "b", None, "a", "b", "c"], "y": ["u", "v", "w", None, "u", "v"]})
    method = mv.method("pram", p=0.1, matrix="entropy", compound=True, exclude_missing=True)
    release = method.mask(data, ["x", "y"], seed=SEED)
    assert likelihood(data, release, ["x", "y"]).per_record[[2, 3]].tolist() == [1.0, 1.0]


def test_values_that_keep_their_order_are_found_by_their_ranks() -> None:
    data = Microdata.of({"x": np.random.default_rng(2).lognormal(size=80)})
    release = mv.method("resampling").mask(data, seed=SEED)
    ties = np.unique(release.data.numbers("x").values, return_counts=True)[1]
    assert likelihood(data, release).value == pytest.approx(100 * len(ties) / 80)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_little_noise_hides_nobody_whatever_the_unit(unit: float) -> None:
    data = Microdata.of({"x": unit * np.arange(20.0)})
    assert likelihood(data, mv.method("noise", alpha=1e-6).mask(data, seed=SEED)).value == 100


def test_one_to_one_uses_every_person_once() -> None:
    data = Microdata.of({"x": [0.0, 1.0, 5.0]})
    release = mv.method("noise", alpha=0.0001).mask(data, seed=SEED)
    found = likelihood(data, release, one_to_one=True)
    assert found.value == 100
    assert "of their own" in found.scenario


def test_a_certain_link_is_one_that_the_plan_allows_of_alone() -> None:
    data = Microdata.of({"x": np.arange(12.0), "y": np.random.default_rng(4).permutation(12).astype(float)})
    release = mv.method("rank-swapping", p=1, unit="positions").mask(data, seed=SEED)
    found = likelihood(data, release)
    assert len(found.certain) > 0
    assert (found.per_record[found.certain] == 1).all()
    assert found.proof


def test_an_identical_release_is_as_risky_as_its_records_are_unique() -> None:
    data = Microdata.of({"x": [1, 1, 2, 3, 3, 3], "y": list("aabbba")})
    release = mv.method("data-swapping", share=0.0).mask(data, ["x"], seed=SEED)
    assert likelihood(data, release, ["x", "y"]).value == pytest.approx(100 * 4 / 6)


def test_equal_persons_whose_groups_differ_are_not_told_apart() -> None:
    data = Microdata.of({"x": [1.0, 1.0, 1.0, 5.0, 9.0, 9.0]})
    found = likelihood(data, mv.method("mdav", k=2).mask(data, seed=SEED))
    assert found.per_record.max() <= 1.0
    assert found.value <= 100 * 3 / 6 + 1e-9  # there are three different values


def test_labels_are_what_masking_again_gives() -> None:
    rng = np.random.default_rng(6)
    data = Microdata.of({"a": rng.integers(0, 50, 80), "b": rng.integers(0, 50, 80)})
    release = mv.method("mondrian", k=4, publish="interval").mask(data, seed=SEED)
    whole = likelihood(data, release)
    assert whole.known == ("a", "b")
    assert 0 < whole.value <= 25
    assert whole.value >= mv.attack("distance-linkage").assess(data, release).value
    some = likelihood(data, release, ["a"])
    assert 0 < some.value < whole.value


def test_a_table_of_categories_may_have_as_many_cells_as_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Microdata.of({"c": list("aaabbcabca"), "x": np.arange(10.0)})

    def believed(most: int) -> float:
        monkeypatch.setattr(evidence, "_MOST_CELLS", most)
        release = mv.Synthetic(leaf=1).mask(data, ["c"], seed=1)
        return LikelihoodLinkage().assess(data, release, ["c"]).counters["believed"]

    learnt = believed(4_000_000)
    assert believed(16) == learnt  # three categories and what is missing, before and after
    assert believed(15) != learnt


def test_missing_cells_that_stay_missing_give_records_away() -> None:
    values = [None if i % 10 == 0 else float(i) for i in range(40)]
    data = Microdata.of({"x": values, "y": np.random.default_rng(7).normal(size=40)})
    release = mv.method("noise", alpha=50.0).mask(data, ["x", "y"], seed=SEED)
    found = likelihood(data, release)
    assert found.counters["candidates"] == pytest.approx(100 * (0.1 * 0.1 + 0.9 * 0.9))


# --- who runs it, and on what ----------------------------------------------------------------------------------------


def test_it_is_run_on_releases_with_provenance_alone(people: Microdata) -> None:
    release = mv.method("noise").mask(people, NUMBERS, seed=SEED)
    assert "likelihood-linkage" in run_battery(people, release, contributions=False).risks
    plain = run_battery(people, release.data, contributions=False)
    assert plain.passed_over["likelihood-linkage"] == "the release has no provenance"
    assert not LikelihoodLinkage.suited(Pair.of(people, release.data))


def test_the_seed_of_the_release_is_of_no_use_to_it(people: Microdata) -> None:
    """With the attack's seed as that of the release, the replays still draw other numbers."""
    values = [
        likelihood(people, mv.method("noise", alpha=0.5, exact=True).mask(people, NUMBERS, seed=s), NUMBERS).value
        for s in (0, 1)
    ]
    assert max(values) < 60
    assert abs(values[0] - values[1]) < 15


def test_neither_shuffling_nor_reading_back_hides_anything(people: Microdata, tmp_path: Any) -> None:
    for method in (mv.method("mdav", k=4), mv.method("rank-swapping", p=5)):
        release = method.mask(people, NUMBERS, seed=SEED)
        before = likelihood(people, release, NUMBERS)
        assert likelihood(people, release.shuffled(), NUMBERS).value == pytest.approx(before.value)
        path = tmp_path / f"{method.name}.csv"
        saved = release.save(path)
        if saved.private is not None:
            saved.private.unlink()
        again = mv.read_release(path)
        assert likelihood(people, again, NUMBERS).value == pytest.approx(before.value)


@pytest.mark.parametrize("method", ["rank-swapping", "noise", "mdav", "resampling"])
def test_the_order_of_the_records_does_not_matter(people: Microdata, method: str) -> None:
    release = mv.method(method).mask(people, NUMBERS, seed=SEED)
    pair = Pair.of(people, release, known=NUMBERS)
    order = np.random.default_rng(8).permutation(len(people))
    moved = replace(pair, original=pair.original.take(order), masked=pair.masked.take(order))
    for attack in (LikelihoodLinkage(), LikelihoodLinkage(one_to_one=True)):
        one, other = (attack.assess_pair(attack.facing(p)) for p in (pair, moved))
        np.testing.assert_allclose(other.per_record, one.per_record[order], atol=1e-6)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_more_noise_is_less_risk(number: int) -> None:
    rng = np.random.default_rng(number)
    data = Microdata.of({"a": rng.normal(size=150), "b": rng.lognormal(size=150)})
    found = [likelihood(data, mv.method("noise", alpha=a).mask(data, seed=SEED + number)) for a in (1e-4, 0.05, 5.0)]
    assert found[0].value > found[1].value > found[2].value
    for risk in found:  # what the intruder believes is about what comes true
        assert abs(risk.counters["believed"] - risk.value) < 15


# --- at least as strong as every other -------------------------------------------------------------------------------


def _strongest(data: Microdata, release: Any, known: Any) -> tuple[mv.Risk, str, mv.Risk]:
    """The better of its two forms, and the best of all other linkages."""
    risks = run_battery(data, release, known, attacks=LINKAGES, contributions=False).risks
    own = max((r for label, r in risks.items() if label.startswith("likelihood")), key=lambda r: r.value)
    label, best = max(
        ((label, r) for label, r in risks.items() if not label.startswith("likelihood")), key=lambda item: item[1].value
    )
    return own, label, best


@pytest.mark.parametrize("name", [name for name in METHODS if not find("method", name).structural])
def test_it_is_at_least_as_strong_as_every_other_linkage(people: Microdata, name: str) -> None:
    cls = find("method", name)
    method = cls(**cls.quick)
    known = [key for key in people.schema.keys if people[key].kind in method.takes][-4:]
    release = method.mask(people, known, seed=SEED)
    own, label, best = _strongest(people, release, known)
    assert own.high >= best.value, f"{label} links {best.value} %, and one who knows the plan {own.value} %"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("rank-swapping", {"p": 15}),
        ("rank-swapping-distribution", {"p": 10}),
        ("rank-swapping-buckets", {"buckets": 10}),
        ("individual-ranking", {"k": 10}),
        ("projection", {"k": 5}),
        ("noise", {"alpha": 0.2, "form": "correlated"}),
        ("noise", {"alpha": 0.2, "form": "multiplicative"}),
    ],
)
def test_it_beats_the_attacks_made_for_one_method(people: Microdata, name: str, parameters: dict[str, Any]) -> None:
    release = mv.method(name, **parameters).mask(people, NUMBERS, seed=SEED)
    own, label, best = _strongest(people, release, NUMBERS)
    assert own.value >= best.value, label


def test_on_a_pipeline_it_is_stronger_than_every_other_attack() -> None:
    data = mv.datasets.survey(400, seed=9)
    categories = ("region", "sex", "education", "occupation")
    swapped = mv.method("rank-swapping", p=15).mask(data, NUMBERS, seed=SEED)
    release = mv.method("pram", p=0.6).mask(swapped, categories)
    own, label, best = _strongest(data, release, (*NUMBERS, *categories))
    assert own.low > best.high, f"{label} links {best.value} %, and one who knows the plan {own.value} %"


def test_steps_on_the_same_attribute_compose(people: Microdata) -> None:
    once = mv.method("rank-swapping", p=5).mask(people, NUMBERS, seed=SEED)
    twice = mv.method("rank-swapping", p=5).mask(once, NUMBERS)
    noisy = mv.method("noise", alpha=0.05).mask(once, NUMBERS)
    values = [likelihood(people, release, NUMBERS).value for release in (once, twice, noisy)]
    assert values[0] > values[1] > 5
    assert values[0] > values[2] > 5
    assert likelihood(people, twice, NUMBERS).counters["lost"] == 0
