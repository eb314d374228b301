"""Probabilistic linkage: weights, thresholds, assignments and known traps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from microveil.attacks.base import Attack
from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.probabilistic import (
    Model,
    ProbabilisticLinkage,
    _closest,
    _nearest_values,
    _shares,
    _thresholds,
)
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata
from microveil.numerics.choices import UFrom
from microveil.numerics.linkage.agreement import Patterns, Scheme
from microveil.numerics.linkage.fellegi_sunter import fit_dependent, fit_independent
from microveil.progress import silent

from .test_distance_linkage import SWAPPED, X, moved, table

Reference = Callable[..., Microdata]
ASSIGNMENTS = ("best", "one-to-one", "threshold")


def german(reference: Reference) -> tuple[Microdata, list[str]]:
    data = reference("german_credit")
    return data, [data.names[i] for i in (0, 5, 6)]


def flare(reference: Reference) -> tuple[Microdata, list[str]]:
    data = reference("solar_flare2")
    return Microdata.of(data, nominal=list(data.names[:3])), list(data.names[:3])


# --- what the literature demands ------------------------------------------------------------------------------------


@pytest.mark.spec("05:DR-03")
@pytest.mark.parametrize("assignment", ["best", "one-to-one"])
@pytest.mark.parametrize("interactions", ["none", "different", "both"])
def test_an_unmasked_file_is_linked_as_often_as_it_has_different_records(
    reference: Reference, assignment: str, interactions: str
) -> None:
    """The solver's 100 per cent on files in the same order is a trap; German gives 8.5."""
    data, columns = german(reference)
    attack = ProbabilisticLinkage(assignment=assignment, interactions=interactions)  # type: ignore[arg-type]
    risk = attack.assess(data, data, columns)
    assert risk.value == pytest.approx(8.5)
    assert risk.counters["optimistic"] == 100


@pytest.mark.spec("05:DR-02", "05:DR-03")
@pytest.mark.parametrize(("load", "expected"), [(german, 54.25), (flare, 52.25)])
def test_disclosure_risk_of_an_unmasked_file(
    reference: Reference, load: Callable[[Reference], tuple[Microdata, list[str]]], expected: float
) -> None:
    """Marés (2013), section 4.2.4: (ID + max(DBRL, PRL)) / 2 of the identity is 54.25 on German and 52.25 on Flare."""
    data, columns = load(reference)
    interval = IntervalDisclosure().assess(data, data, columns).value
    links = [attack.assess(data, data, columns).value for attack in (DistanceLinkage(), ProbabilisticLinkage())]
    assert interval == 100
    assert round((interval + max(links)) / 2, 2) == expected


@pytest.mark.spec("03:RL-3")
def test_no_link_where_no_true_pair_agrees_on_anything() -> None:
    """Nin (2008), Table 4.2, row P-RL: 0, 0, 0, 0 right links with one to four attributes known."""
    attack = ProbabilisticLinkage(agreement="equal", standardisation="none")
    for known in (1, 2, 3, 4):
        names = [f"attr{j + 1}" for j in range(known)]
        assert attack.assess(table(X), table(SWAPPED), names).value == 0


@pytest.mark.spec("05:DR-03")
def test_the_solver_finds_the_same_total_on_shuffled_files(reference: Reference) -> None:
    """The even mixture is what random shuffling of both files gives on average."""
    from scipy.optimize import linear_sum_assignment

    data, columns = german(reference)
    data = data.take(np.arange(150))
    release = PRAM(p=0.7).mask(data, columns, seed=4)
    attack = ProbabilisticLinkage(assignment="one-to-one")
    codes = [np.stack([t.categories(c, data.domain(c)).codes for c in columns]) for t in (data, release.data)]
    agree = codes[0][:, :, None] == codes[1][:, None, :]
    weights = _weights(attack, data, release.data, columns)
    cost = -np.where(agree, weights[:, 0, None, None], weights[:, 1, None, None]).sum(axis=0)
    rng, right = np.random.default_rng(0), []
    for _ in range(200):
        rows, released = rng.permutation(150), rng.permutation(150)
        assigned = linear_sum_assignment(cost[np.ix_(rows, released)])[1]
        right.append((rows == released[assigned]).mean())
    error = np.std(right) / np.sqrt(len(right))
    assert attack.assess(data, release, columns).value / 100 == pytest.approx(np.mean(right), abs=5 * error)


def test_an_assignment_is_strictly_right_where_no_other_is_as_good() -> None:
    """Each of the last two records can be exchanged for the other."""
    people = Microdata.of({"job": ["cook", "nurse", "smith", "pilot", "judge", "judge"]})
    risk = ProbabilisticLinkage(assignment="one-to-one").assess(people, people)
    assert risk.value == pytest.approx(100 * 5 / 6)
    assert risk.counters["optimistic"] == 100
    assert risk.counters["strict"] == pytest.approx(100 * 4 / 6)


def _weights(attack: ProbabilisticLinkage, original: Microdata, masked: Microdata, columns: list[str]) -> np.ndarray:
    """The weight of agreement and of disagreement in each attribute."""
    files = attack._files(Pair.of(original, masked, columns), tuple(columns))
    slope = files.compared(attack._model(files, silent).costs).terms.slope
    return np.column_stack([np.zeros(len(slope)), -slope])


# --- estimating -------------------------------------------------------------------------------------------------------


def simulated(m: list[float], u: list[float], n: int = 2000) -> tuple[Patterns, Scheme]:
    """The expected numbers of pairs with each pattern in two files of n records."""
    d = len(m)
    scheme = Scheme(((0.0,),) * d, np.zeros(d, dtype=bool), np.zeros(d, dtype=bool))
    levels = np.array([pattern[::-1] for pattern in product((0, 1), repeat=d)], dtype=np.uint8)
    same, different = (
        np.prod([np.where(levels[:, j] == 0, p, 1 - p) for j, p in enumerate(shares)], axis=0) for shares in (m, u)
    )
    counts = n * same + n * (n - 1) * different
    return Patterns(np.arange(len(levels)), levels, counts), scheme


@pytest.mark.spec("01:DR-6", "03:RL-3")
@pytest.mark.parametrize(("common", "free"), [("rest", False), ("estimated", False), ("estimated", True)])
def test_the_probabilities_that_made_the_pairs_are_found_again(common: UFrom, free: bool) -> None:
    m, u, n = [0.9, 0.7, 0.95, 0.8], [0.1, 0.3, 0.05, 0.2], 2000
    patterns, scheme = simulated(m, u, n)
    classes = fit_independent(patterns, scheme.levels.tolist(), 1 / n, common, estimate_prevalence=free)
    assert [row[0] for row in classes.m] == pytest.approx(m, abs=0.01)
    assert [row[0] for row in classes.u] == pytest.approx(u, abs=0.001)
    assert classes.prevalence == pytest.approx(1 / n, rel=0.02)


def test_better_agreement_never_speaks_against_a_pair() -> None:
    """Pairs of the same person agree less often than others: the attribute gets no weight, not a negative one."""
    patterns, scheme = simulated([0.02, 0.9, 0.9], [0.3, 0.1, 0.1])
    classes = fit_independent(patterns, scheme.levels.tolist(), 1 / 2000, "all", estimate_prevalence=False)
    for same, different in zip(classes.m, classes.u, strict=True):
        assert (np.diff(same / different) <= 1e-12).all()
    assert classes.m[0] == pytest.approx(classes.u[0])


def test_interactions_find_the_rare_class_where_attributes_of_strangers_go_together() -> None:
    """Two attributes of different persons agree together; taken as independent, that looks like the same person."""
    m, u, n = [0.95, 0.8, 0.85, 0.75], [0.2, 0.2, 0.1, 0.1], 2000
    (patterns, scheme), levels = simulated(m, u, n), simulated(m, u, n)[0].levels
    same, strangers = (
        np.prod([np.where(levels[:, j] == 0, p, 1 - p) for j, p in enumerate(shares)], axis=0) for shares in (m, u)
    )
    strangers *= np.where(levels[:, 0] == levels[:, 1], 1.5, 0.5)
    strangers /= strangers.sum()
    mixed = Patterns(patterns.numbers, levels, n * same + n * (n - 1) * strangers)
    plain = fit_independent(mixed, scheme.levels.tolist(), 1 / n, "rest", estimate_prevalence=False)
    better = fit_dependent(mixed, plain, scheme.digits.tolist(), both=False)
    assert np.exp(better.log_u) == pytest.approx(strangers, rel=0.01)
    errors = [np.abs([row[0] - p for row, p in zip(found.m, m, strict=True)]).max() for found in (plain, better)]
    assert errors[1] < 0.05 < errors[0]


@pytest.mark.spec("01:DR-6")
def test_thresholds_respect_both_bounds_and_leave_the_rest_to_people() -> None:
    weight = np.array([6.0, 3.0, 1.0, -2.0, -5.0])
    same = np.array([0.6, 0.2, 0.1, 0.06, 0.04])
    different = np.array([0.001, 0.02, 0.1, 0.3, 0.579])
    upper, lower = _thresholds(weight, same, different, 0.03, 0.05)
    assert (weight >= upper).tolist() == [True, True, False, False, False]  # 0.021 of the different, not 0.121
    assert (weight <= lower).tolist() == [False, False, False, False, True]  # 0.04 of the same, not 0.1
    upper, lower = _thresholds(weight, same, different, 0.0, 0.0)
    assert (upper, lower) == (np.inf, -np.inf)  # nothing is allowed to go wrong: everything is clerical
    upper, lower = _thresholds(weight, same, different, 1.0, 1.0)
    assert (weight >= upper).all()
    assert lower <= upper


def test_patterns_of_equal_weight_fall_on_the_same_side() -> None:
    weight, same = np.array([4.0, 2.0, 2.0, -3.0]), np.array([0.5, 0.2, 0.2, 0.1])
    upper, _ = _thresholds(weight, same, np.array([0.01, 0.03, 0.03, 0.93]), 0.05, 0.01)
    assert (weight >= upper).tolist() == [True, False, False, False]


# --- the attack -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:DR-6")
def test_links_are_right_and_sure_right_and_clerical_or_wrong() -> None:
    cells, noisy = moved(n=300, d=4, noise=0.15)
    wide = ProbabilisticLinkage(false_links=1e-4, missed_links=1e-4).assess(table(cells), table(noisy)).counters
    narrow = ProbabilisticLinkage(false_links=0.01, missed_links=1e-4).assess(table(cells), table(noisy)).counters
    assert wide["expected"] == pytest.approx(narrow["expected"])
    assert wide["linked"] < narrow["linked"]
    assert wide["clerical"] > narrow["clerical"]
    assert wide["wrong"] < narrow["wrong"]
    assert narrow["linked"] + narrow["clerical"] <= narrow["expected"] + 1e-9


def test_the_threshold_counts_only_links_above_it() -> None:
    cells, noisy = moved(n=300, d=4, noise=0.15)
    best, sure = (
        ProbabilisticLinkage(assignment=how, false_links=1e-4).assess(table(cells), table(noisy))  # type: ignore[arg-type]
        for how in ("best", "threshold")
    )
    assert sure.value == pytest.approx(best.counters["linked"])
    assert sure.value < best.value


@pytest.mark.parametrize("agreement", ["tolerance", "equal", "round", "nearest", "bins", "quantile"])
def test_numbers_link_by_every_rule_of_agreement(agreement: str) -> None:
    cells, noisy = moved(n=200, d=4, noise=0.02)
    rule = ProbabilisticLinkage(agreement=agreement)  # type: ignore[arg-type]
    assert rule.assess(table(cells), table(cells)).value > 85
    weak = rule.assess(table(cells), table(noisy)).value
    assert weak < 3 if agreement == "equal" else weak > 20


def test_the_rules_of_agreement_in_small() -> None:
    one, other = np.array([0.0, 1.4, 3.0]), np.array([1.0, 2.0, 2.9])
    assert _nearest_values(one, other).tolist() == [1.0, 1.0, 2.9]
    assert _shares(np.array([5.0, 1.0, 2.0, 9.0]), 2).tolist() == [2, 1, 1, 2]
    gaps = np.sort(np.abs(one[:, None] - other).ravel())  # nine differences
    assert _closest(one, other, 3 / 9) == pytest.approx(gaps[2])


def test_the_nearest_released_value_is_the_lower_of_two() -> None:
    one = np.array([-5.0, 1.5, 2.4, np.nan, 99.0])
    assert_array_equal(_nearest_values(one, np.array([2.0, 1.0, np.nan, 3.0])), [1.0, 1.0, 2.0, np.nan, 3.0])
    assert_array_equal(_nearest_values(one, np.array([7.0])), [7.0, 7.0, 7.0, np.nan, 7.0])
    assert_array_equal(_nearest_values(one, np.array([np.nan])), one)


def test_shares_of_a_file_keep_equal_values_together_and_leave_missing_ones_out() -> None:
    values = np.array([3.0, np.nan, 1.0, 1.0, 2.0, 9.0])
    assert_array_equal(_shares(values, 5), [4, np.nan, 2, 2, 3, 5])  # the two ones have rank 1.5 of 5
    assert_array_equal(_shares(np.array([np.nan]), 5), [np.nan])


def test_the_closest_share_of_all_differences() -> None:
    one, other = np.array([0.0, 10.0, np.nan]), np.array([4.0, np.nan, 7.0])  # differences of 3, 4, 6 and 7
    for share, expected in ((0.25, 3.0), (0.5, 4.0), (0.75, 6.0), (0.76, 7.0)):
        assert _closest(one, other, share) == pytest.approx(expected)
    assert _closest(one, np.array([np.nan]), 0.5) == _closest(np.array([np.nan]), other, 0.5) == 1e-9
    assert _closest(np.array([1.0]), np.array([1.0]), 0.5) == 1e-9


def test_thresholds_keep_wrong_decisions_within_their_bounds() -> None:
    weight = np.array([5.0, 3.0, 3.0, 1.0, -2.0])
    same = np.array([0.6, 0.2, 0.1, 0.06, 0.04])
    different = np.array([0.01, 0.02, 0.03, 0.24, 0.7])
    found = [_thresholds(weight, same, different, *bounds) for bounds in ((0.06, 0.04), (0.059, 0.1), (0.3, 0.1))]
    assert found[0] == pytest.approx((3.0, -2.0), abs=1e-8)  # of equal weights all are linked, or none
    assert found[1] == pytest.approx((5.0, 1.0), abs=1e-8)
    assert found[2] == pytest.approx((1.0, 1.0), abs=1e-8)  # nothing is left undecided
    assert found[2][0] == found[2][1]
    assert found[0][0] < 3.0
    assert found[0][1] > -2.0
    assert _thresholds(weight, same, different, 0.0, 0.0) == (np.inf, -np.inf)
    shuffled = np.array([3, 1, 4, 0, 2])
    assert _thresholds(weight[shuffled], same[shuffled], different[shuffled], 0.06, 0.04) == found[0]


def test_finer_levels_of_agreement_find_more() -> None:
    cells, noisy = moved(n=400, d=3, noise=0.05)
    values = [
        ProbabilisticLinkage(tolerances=tolerances).assess(table(cells), table(noisy)).value
        for tolerances in ((0.25,), (0.05, 0.25), (0.02, 0.05, 0.1, 0.25))
    ]
    assert values == sorted(values)


def test_ordered_categories_can_agree_nearly() -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 8, size=(300, 4))
    near = np.clip(codes + rng.integers(-1, 2, size=codes.shape), 0, 7)
    names = list("abcd")
    original = Microdata.of({name: codes[:, j] for j, name in enumerate(names)}, ordinal=names)
    masked = Microdata.of({name: near[:, j] for j, name in enumerate(names)}, ordinal=names)
    strict, lenient = (
        ProbabilisticLinkage(steps=steps).assess(original, masked, names).value for steps in ((0,), (0, 1))
    )
    assert lenient > strict + 5


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({"agreement": "tolerance"}, (1e-9, 0.1, 0.5)),
        ({"agreement": "tolerance", "block": ("age",)}, (1e-9,)),
        ({"agreement": "equal"}, (1e-9,)),
    ],
)
def test_a_number_agrees_with_a_label_nearby_only_where_there_is_a_tolerance(
    settings: dict[str, object], limits: tuple[float, ...]
) -> None:
    pair = Pair.of({"age": [20.0, 31.0]}, Microdata.of({"age": ["[20, 30]", "[30, 40]"]}), ["age"], known=["age"])
    attack = ProbabilisticLinkage(tolerances=(0.1, 0.5), **settings)  # type: ignore[arg-type]
    assert attack._files(pair, ("age",)).scheme.limits == (limits,)


def test_only_missing_cells_make_room_for_what_is_not_known() -> None:
    known = Microdata.of({"age": [20.0, 31.0]})
    known = known.with_schema(known.schema.replacing(known["age"].changed(missing="wildcard")))
    for cells, wildcard in ((["[20, 30]", "[30, 40]"], False), (["[20, 30]", None], True)):
        pair = Pair.of(known, Microdata.of({"age": cells}, nominal=["age"]), ["age"], known=["age"])
        assert ProbabilisticLinkage()._files(pair, ("age",)).scheme.wildcard.tolist() == [wildcard]


def test_one_to_one_a_link_is_strict_where_every_best_assignment_has_it() -> None:
    data = Microdata.of({"job": list("aabcd"), "sex": list("ffmfm")})
    risk = ProbabilisticLinkage(assignment="one-to-one").assess(data, data, ["job", "sex"])
    assert risk.per_record.tolist() == pytest.approx([0.5, 0.5, 1, 1, 1])
    assert risk.counters["strict"] == pytest.approx(60)
    assert risk.counters["optimistic"] == pytest.approx(100)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), assignment=st.sampled_from(ASSIGNMENTS))
def test_the_order_of_the_records_does_not_matter(seed: int, assignment: str) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(40, 3)).astype(float)
    noisy = np.where(rng.random(codes.shape) < 0.3, rng.integers(0, 3, size=codes.shape), codes)
    order = rng.permutation(40)
    attack = ProbabilisticLinkage(assignment=assignment)  # type: ignore[arg-type]
    one = attack.assess(table(codes), table(noisy))
    other = attack.assess(table(codes[order]), table(noisy[order]))
    assert other.per_record == pytest.approx(one.per_record[order], abs=1e-6)


def test_a_wildcard_says_nothing_and_another_missing_cell_agrees_with_its_like() -> None:
    data = Microdata.of({"a": ["x", "y", None, "z"], "b": ["p", "q", "r", "s"]})
    assert ProbabilisticLinkage().assess(data, data, ["a", "b"]).value == pytest.approx(100)
    only = Microdata.of({"a": [1.0, 2.0, None, None, 3.0]})
    state = only.with_schema(only.schema.replacing(only["a"].changed(missing="not applicable")))
    assert ProbabilisticLinkage().assess(state, state).per_record.tolist() == [1, 1, 0.5, 0.5, 1]


@pytest.mark.spec("03:ME-5")
def test_levels_of_knowledge() -> None:
    cells, noisy = moved(n=120, noise=0.1)
    names = table(cells).names
    apart = [ProbabilisticLinkage().assess(table(cells), table(noisy), names[:c]).value for c in (1, 2, 3)]
    levels = ProbabilisticLinkage(known_sizes=(1, 2, 3), choose="first").assess(table(cells), table(noisy))
    assert levels.value == pytest.approx(np.mean(apart))


@pytest.mark.spec("03:RL-1")
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_blocking_on_a_changed_attribute_loses_the_link(assignment: str) -> None:
    people = {"sex": ["f", "m", "f", "m", "f", "m"], "job": list("abcdef")}
    release = {"sex": ["f", "m", "f", "m", "f", "f"], "job": list("abcdef")}
    attack = ProbabilisticLinkage(block=("sex",), assignment=assignment, false_links=0.5)  # type: ignore[arg-type]
    per_record = attack.assess(Microdata.of(people), Microdata.of(release), ["sex", "job"]).per_record
    assert per_record.tolist() == pytest.approx([1, 1, 1, 1, 1, 0])


def test_what_cannot_be_done_is_refused() -> None:
    for name, limits in (("tolerances", (0.2, 0.1)), ("tolerances", (-1.0,)), ("steps", (1, 1))):
        with pytest.raises(ParameterError, match=f"{name} = .* rising"):
            ProbabilisticLinkage(**{name: limits})
    for name in ("tolerances", "steps"):
        with pytest.raises(ParameterError, match=name):
            ProbabilisticLinkage(**{name: ()})
    wide = table(np.random.default_rng(1).normal(size=(20, 40)))
    with pytest.raises(ParameterError, match="too many patterns"):
        ProbabilisticLinkage().assess(wide, wide)
    some = table(np.random.default_rng(1).normal(size=(20, 12)))
    with pytest.raises(ParameterError, match="531,441 patterns"):
        ProbabilisticLinkage(interactions="both").assess(some, some)
    assert ProbabilisticLinkage().assess(some, some).value == pytest.approx(100)
    long = Microdata.of({"a": np.arange(5001.0)})
    with pytest.raises(ParameterError, match="5,001 distinct records"):
        ProbabilisticLinkage(assignment="one-to-one").assess(long, long)


@pytest.mark.parametrize("attack", [DistanceLinkage, ProbabilisticLinkage])
@pytest.mark.parametrize("labels", [False, True])
def test_a_missing_wildcard_to_block_on_is_compared_with_all(
    attack: type[DistanceLinkage | ProbabilisticLinkage], labels: bool
) -> None:
    """The same rule in both linkages; missing cells that are no wildcards are compared with their like alone."""
    columns = {"area": ["x", "y", "x", "y"], "pay": [1.0, 2.0, 3.0, 4.0]}
    areas = [None, "{y}", "{x}", "{y}"] if labels else [None, "y", "x", "y"]
    known = Microdata.of(columns)
    for policy, expected in (("wildcard", [1, 1, 1, 1]), ("not applicable", [0, 1, 1, 1])):
        people = known.with_schema(known.schema.replacing(known["area"].changed(missing=policy)))
        risk = attack(block=("area",)).assess(people, {**columns, "area": areas}, ["area", "pay"])
        assert risk.per_record.tolist() == expected


def test_nobody_of_another_block_is_linked_even_if_all_else_agrees() -> None:
    known = Microdata.of({"area": ["x", "y", "y", "x"], "pay": [1.0, 2.0, 3.0, 4.0]})
    masked = Microdata.of({"area": ["x", "y", "y", "x"], "pay": [2.0, 1.0, 3.0, 4.0]})
    risk = ProbabilisticLinkage(block=("area",)).assess(known, masked, ["area", "pay"])
    assert risk.per_record[0] == 0.5  # one of the two in area x; the record with pay 1 is in area y


def test_agreement_that_is_rare_among_strangers_weighs_more_than_agreement_that_is_common() -> None:
    """Of every fifth person the sex was changed: the own record agrees on the number alone, half of all on the sex."""
    number, sex = np.arange(40), np.arange(40) % 2
    people = Microdata.of({"number": number, "sex": sex}, nominal=["number", "sex"])
    release = Microdata.of({"number": number, "sex": np.where(number % 5 == 0, 1 - sex, sex)}, people.schema)
    risk = ProbabilisticLinkage().assess(people, release, ["number", "sex"])
    assert risk.per_record.tolist() == [1.0] * 40


def test_a_column_without_a_known_value_has_no_closest_differences() -> None:
    people = Microdata.of({"age": [None, None, None], "job": ["a", "b", "c"]}, numeric=["age"], nominal=["job"])
    release = Microdata.of({"age": [20.0, 40.0, 90.0], "job": ["a", "b", "c"]}, people.schema)
    risk = ProbabilisticLinkage(agreement="quantile").assess(people, release, ["age", "job"])
    assert risk.per_record.tolist() == [1.0, 1.0, 1.0]


def test_a_single_known_value_has_closest_differences() -> None:
    """A third of the differences 1, 4 and 6 of 10 to 11, 14 and 16 are at most 1."""
    assert _closest(np.array([10.0, np.nan]), np.array([11.0, 14.0, 16.0, np.nan]), 1 / 3) == pytest.approx(1.0)


def test_closest_differences_do_not_depend_on_where_zero_is() -> None:
    one, other = np.array([10.0, 20.0, 40.0]), np.array([11.0, 24.0, 49.0])
    # of the nine differences the least three are 1, 4 and 9
    for moved_by in (0.0, -25.0, -100.0, 1000.0):
        assert _closest(one + moved_by, other + moved_by, 3 / 9) == pytest.approx(9.0)


@pytest.mark.parametrize(("interactions", "both"), [("different", False), ("both", True)])
def test_interactions_are_among_different_persons_or_in_both_classes(interactions: str, both: bool) -> None:
    rng = np.random.default_rng(2)
    kind = rng.integers(0, 3, 120)
    columns = {name: (kind + (rng.random(120) < 0.4) * rng.integers(0, 3, 120)) % 3 for name in "abc"}
    changed = rng.random(120) < 0.3  # all three at once, so that the same person agrees or not throughout
    released = {name: np.where(changed, rng.integers(0, 3, 120), column) for name, column in columns.items()}
    people = Microdata.of(columns, nominal=list("abc"))
    attack = ProbabilisticLinkage(interactions=interactions)  # type: ignore[arg-type]
    files = attack._files(Pair.of(people, Microdata.of(released, people.schema), list("abc")), tuple("abc"))
    scheme = files.scheme
    patterns = files.patterns(np.random.default_rng(0), silent, "")
    plain = fit_independent(patterns, scheme.levels.tolist(), 1 / 120, "rest", estimate_prevalence=False)
    whole = patterns.all_possible(scheme)
    classes = [fit_dependent(whole, plain, scheme.digits.tolist(), both=way) for way in (both, not both)]
    found, other = (Model.tabular(scheme, whole, one, (0.05, 0.05)).table for one in classes)
    assert attack._model(files, silent).table == pytest.approx(found)
    assert found != pytest.approx(other, rel=0.01)


def partly_missing(missing: str) -> tuple[Microdata, Microdata]:
    """Numbers, ordered and unordered categories, some of them missing and some records alike, with a noisy release."""
    rng = np.random.default_rng(12)
    a, b, c = rng.normal(size=160).round(1), rng.integers(0, 4, 160), rng.choice(list("xyz"), 160)
    tables = []
    for noise in (0.0, 0.2):
        moved = (a + noise * rng.normal(size=160)).round(1)
        columns = {
            "a": [None if i % 11 == 0 else float(value) for i, value in enumerate(moved)],
            "b": [int(value) for value in np.where(rng.random(160) < noise, 0, b)],
            "c": [None if i % 7 == 0 else str(value) for i, value in enumerate(c)],
            "d": (moved**2).round(2).tolist(),
        }
        made = Microdata.of(columns, ordinal=["b"])
        ruled = (made.schema[name].changed(missing=missing) for name in ("a", "c"))
        tables.append(made.with_schema(made.schema.replacing(*ruled)))
    return tables[0], tables[1]


@pytest.mark.parametrize("missing", ["not applicable", "wildcard"])
@pytest.mark.parametrize("parameters", [{}, {"agreement": "round"}, {"standardisation": "joint", "steps": (0, 1)}])
def test_without_an_attribute_one_count_gives_what_a_run_of_its_own_does(
    missing: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair.of(*partly_missing(missing), known=["a", "b", "c", "d"])
    attack, left_out = ProbabilisticLinkage(**parameters), {name: {name} for name in "abcd"} | {"a, b": {"a", "b"}}
    expected = Attack.without_each(attack, pair, "abcd", left_out, silent)
    monkeypatch.setattr(Attack, "assess_pair", None)  # one count is enough
    found = attack.without_each(pair, "abcd", left_out, silent)
    assert list(found) == list(expected) == list(left_out)
    for name, risk in found.items():
        assert (risk.value, risk.known, risk.scenario) == (
            expected[name].value, expected[name].known, expected[name].scenario
        )  # fmt: skip
        assert risk.per_record.tobytes() == expected[name].per_record.tobytes()
    assert len({risk.value for risk in found.values()}) > 3


@pytest.mark.parametrize(
    "parameters", [{"records": 50}, {"block": ("b",)}, {"interactions": "both"}, {"assignment": "one-to-one"}]
)
def test_what_one_count_cannot_tell_takes_a_run_for_each_attribute(parameters: dict[str, Any]) -> None:
    pair = Pair.of(*partly_missing("wildcard"), known=["a", "b", "c", "d"])
    attack, left_out = ProbabilisticLinkage(**parameters), {name: {name} for name in "abcd"}
    found = attack.without_each(pair, "abcd", left_out, silent)
    assert set(found) == set(left_out) - set(attack.block or ())
    for name, risk in found.items():
        others = tuple(other for other in "abcd" if other != name)
        assert risk.value == attack.assess_pair(pair.about(others)).value
