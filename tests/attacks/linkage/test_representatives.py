"""Linkage without common attributes: the worked example, the chances of Table 5.3, and who knows and sees what."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from math import comb

import numpy as np
import pytest

from microveil.attacks.linkage.chance import chance_of_links
from microveil.attacks.linkage.representatives import RepresentativeLinkage, _linked_by_rank
from microveil.battery import run_battery
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError, UnknownNameError
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata
from microveil.numerics.statistics.scaling import min_max, standardise

A = np.array([[.2, .4, .2, .4], [.1, .2, .1, .2], [.5, .6, .5, .1], [.8, .4, .4, .7], [.9, .2, 0, 0],
              [.2, .2, .3, .9], [.5, .3, .2, 1], [0, .1, .5, 1], [1, 0, .9, .2], [.5, 1, 1, .8]])  # fmt: skip
B = np.array([[.4, .2, .2, .4], [.2, .1, .1, .2], [.1, .5, .5, .6], [.7, .4, .8, .4], [0, 0, .9, .2],
              [.9, .3, .2, .2], [1, .2, .5, .3], [1, .5, 0, .1], [.2, .9, 1, 0], [.8, 1, .5, 1]])  # fmt: skip
KNOWN, SEEN = [f"a{j}" for j in range(1, 5)], tuple(f"b{j}" for j in range(1, 5))
# as printed: exactly r, and at least r right links of 100
TABLE_5_3 = {
    0: ("0.36787944", "1"),
    1: ("0.36787944", "0.63212056"),
    2: ("0.18393972", "0.26424112"),
    3: ("0.06131324", "0.08030140"),
    5: ("0.00306566", "0.00365985"),
    10: ("1.0138E-07", "1.1143E-07"),
    15: ("2.8132E-13", "3.0000E-13"),
    20: ("1.5121E-19", "1.5875E-19"),
    25: ("2.3717E-26", "2.4664E-26"),
    26: ("9.1219E-28", "9.4723E-28"),
    28: ("1.2066E-30", "1.2496E-30"),
    30: ("1.3869E-33", "1.4331E-33"),
    50: ("1.2096E-65", "1.2338E-65"),
}


def together(known: np.ndarray, seen: np.ndarray) -> Microdata:
    columns = {f"a{j + 1}": known[:, j] for j in range(known.shape[1])}
    columns |= {f"b{j + 1}": seen[:, j] for j in range(seen.shape[1])}
    return Microdata.of(columns, numeric=list(columns))


def dependent(n: int, seed: int, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Three attributes and two others that depend on the same two quantities."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    one, other = hidden @ rng.uniform(0.2, 1, size=(2, 3)), hidden @ rng.uniform(0.2, 1, size=(2, 2))
    return one + noise * rng.normal(size=one.shape), other + noise * rng.normal(size=other.shape)


@pytest.mark.spec("04:FZ-SCEN", "04:FZ-EX")
@pytest.mark.parametrize("operator", ["owa", "twofold"])
def test_all_records_of_the_example_are_linked_though_the_files_share_no_attribute(operator: str) -> None:
    attack = RepresentativeLinkage(operator=operator, quantifier="exponent", scale="none", released=SEEN)  # type: ignore[arg-type]
    data = together(A, B)
    risk = attack.assess(data, data, KNOWN)
    assert risk.value == 100
    assert risk.known == tuple(KNOWN)
    assert risk.counters["chance"] == 10
    assert risk.counters["chance, one to one"] == pytest.approx(100 * chance_of_links(10, 10).at_least)
    assert "b1, b2, b3, b4 only" in risk.scenario


@pytest.mark.spec("04:FZ-SI")
def test_sugeno_integrals_tell_records_apart_less_well_than_ordered_averages() -> None:
    """With Q(x) = x records 3, 4, 7, 8 and 9 all have 0.5."""
    data = together(A, B)
    attack = RepresentativeLinkage(operator="sugeno", quantifier="exponent", alphas=(1.0,), released=SEEN, scale="none")
    risk = attack.assess(data, data, KNOWN)
    assert risk.per_record == pytest.approx([1, 1, 0.2, 0.2, 1, 1, 0.2, 0.2, 0.2, 1])


def test_the_same_attributes_without_their_names_are_seen_when_nothing_else_is_released() -> None:
    names = [f"a{j + 1}" for j in range(4)]
    original, release = (Microdata.of(dict(zip(names, rows.T, strict=True)), numeric=names) for rows in (A, B))
    assert RepresentativeLinkage(scale="none").assess(original, release, names).value == 100
    assert "which is which" in RepresentativeLinkage().assess(original, release).scenario


@pytest.mark.spec("04:FZ-SCEN")
def test_masked_attributes_that_are_not_known_are_what_the_intruder_sees() -> None:
    data = together(*dependent(60, 1))
    release = MDAV(k=3).mask(data)
    found = RepresentativeLinkage().assess(data, release, ["a1", "a2", "a3"])
    assert "b1, b2 only" in found.scenario
    named = RepresentativeLinkage(released=("b1", "b2")).assess(data, release.data, ["a1", "a2", "a3"])
    assert named.to_plain() == found.to_plain()
    assert found.known == ("a1", "a2", "a3")


@pytest.mark.spec("04:FZ-SPLIT")
def test_a_split_parts_correlated_attributes_and_the_battery_runs_it() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=(80, 2))
    noisy = base + 0.05 * rng.normal(size=base.shape)
    data = Microdata.of({"x": base[:, 0], "y": base[:, 1], "like_x": noisy[:, 0], "alone": rng.normal(size=80)})
    risk = RepresentativeLinkage(split=True).assess(data, data)
    assert risk.known == ("x",)
    assert "like_x only" in risk.scenario
    assert risk.value > 10 * risk.counters["chance"]
    release = MDAV(k=3).mask(data)
    label = "representative-linkage"
    battery = run_battery(data, release, attacks=["distance-linkage", label], contributions=False)
    assert battery.risks[label].known == ("x",)
    assert battery.risks[label].to_plain() == RepresentativeLinkage(split=True).assess(data, release).to_plain()
    assert not run_battery(data, release, ["x"], attacks=["distance-linkage", label]).attacks[label].split  # type: ignore[attr-defined]


def test_the_battery_passes_over_a_single_attribute() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 4.0, 5.0, 9.0, 11.0]})
    named = ["distance-linkage", "representative-linkage"]
    assert "representative-linkage" in run_battery(data, MDAV(k=2).mask(data), attacks=named).passed_over


def test_two_attributes_are_enough_for_a_split() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 4.0, 5.0], "y": [2.0, 1.0, 5.0, 7.0]})
    assert RepresentativeLinkage.suited(Pair.of(data, data)) == (RepresentativeLinkage(split=True),)


@pytest.mark.parametrize("operator", ["owa", "sugeno", "twofold", "structure", "component", "z-sum"])
def test_the_order_of_records_and_of_attributes_does_not_matter(operator: str) -> None:
    known, seen = dependent(70, 3)
    known, seen = known.round(1), seen.round(1)  # with ties
    attack = RepresentativeLinkage(operator=operator, released=("b1", "b2"))  # type: ignore[arg-type]
    data = together(known, seen)
    risk = attack.assess(data, data, ["a1", "a2", "a3"])
    order = np.random.default_rng(4).permutation(70)
    moved = attack.assess(data.take(order), data.take(order), ["a1", "a2", "a3"])
    assert moved.per_record == pytest.approx(risk.per_record[order])
    if operator != "structure":  # of matchings that are equally good it takes the first
        assert attack.assess(data, data, ["a3", "a1", "a2"]).per_record == pytest.approx(risk.per_record)


@pytest.mark.spec("04:FZ-N1N2")
def test_ranging_and_standardising_make_units_irrelevant() -> None:
    known, seen = dependent(50, 5)
    scaled = together(known * [1, 1000, 0.01] + [5, 0, -3], seen * [7, 0.1])
    data = together(known, seen)
    names = ["a1", "a2", "a3"]
    for scale, function in (("minmax", min_max), ("z", standardise)):
        attack = RepresentativeLinkage(scale=scale, released=("b1", "b2"))  # type: ignore[arg-type]
        risk = attack.assess(data, data, names)
        assert attack.assess(scaled, scaled, names).per_record == pytest.approx(risk.per_record)
        ready = together(function(known), function(seen))
        plain = RepresentativeLinkage(scale="none", released=("b1", "b2")).assess(ready, ready, names)
        assert plain.per_record == pytest.approx(risk.per_record)
    units = RepresentativeLinkage(scale="none", released=("b1", "b2"))
    assert units.assess(scaled, scaled, names).value < units.assess(data, data, names).value


def test_rescaled_representatives_do_not_depend_on_the_level_of_a_file() -> None:
    known, seen = dependent(50, 5)
    names, options = ["a1", "a2", "a3"], {"scale": "none", "released": ("b1", "b2")}
    data, lifted = together(known, seen), together(known, 10 + 3 * seen)
    risks = [
        RepresentativeLinkage(**options, rescale=rescale).assess(given, given, names)  # type: ignore[arg-type]
        for rescale, given in ((True, data), (True, lifted), (False, lifted))
    ]
    assert risks[1].per_record == pytest.approx(risks[0].per_record)
    assert risks[2].value < risks[1].value


def test_ranks_see_through_any_growing_change_of_values() -> None:
    known, seen = dependent(50, 6)
    attack = RepresentativeLinkage(scale="rank", released=("b1", "b2"))
    data, bent = together(known, seen), together(np.exp(known), seen**3)
    names = ["a1", "a2", "a3"]
    assert attack.assess(bent, bent, names).per_record == pytest.approx(attack.assess(data, data, names).per_record)


@pytest.mark.spec("04:FZ-MISS")
def test_missing_cells_are_left_out_or_taken_as_0_once_scaled() -> None:
    known, seen = A.copy(), B.copy()
    known[2, 3] = seen[2, 0] = np.nan  # the same cell in both
    known[0, :] = np.nan
    data = together(known, seen)
    options = {"scale": "none", "quantifier": "exponent", "released": SEEN}
    projected = RepresentativeLinkage(**options).assess(data, data, KNOWN)  # type: ignore[arg-type]
    assert projected.per_record.tolist() == [0.0] + [1.0] * 9  # nothing is known of the first
    zeros = RepresentativeLinkage(**options, missing_cells="zero").assess(data, data, KNOWN)  # type: ignore[arg-type]
    filled = together(np.nan_to_num(known), np.nan_to_num(seen))
    expected = RepresentativeLinkage(**options).assess(filled, filled, KNOWN)  # type: ignore[arg-type]
    assert zeros.per_record.tolist() == expected.per_record.tolist()


@pytest.mark.spec("04:FZ-BASE")
def test_baselines_link_equal_ranks_of_one_score() -> None:
    income, tax = np.array([[1.0], [2.0], [3.0], [10.0]]), np.array([[5.0], [9.0], [7.0], [30.0]])
    data = together(income, tax)
    for operator in ("component", "z-sum"):
        risk = RepresentativeLinkage(operator=operator, released=("b1",)).assess(data, data, ["a1"])  # type: ignore[arg-type]
        assert risk.per_record.tolist() == [1.0, 0.0, 0.0, 1.0]
        assert risk.counters[operator] == 50
    linked = RepresentativeLinkage(released=("b1",)).assess(data, data, ["a1"])
    assert linked.counters["component"] == linked.counters["z-sum"] == 50


@pytest.mark.spec("04:FZ-BASE")
def test_equal_scores_share_their_ranks_at_random() -> None:
    """By all orders of the tied records, the mean number of right links is the sum of the probabilities."""
    one, other = np.array([1, 1, 2, 3, 3, 3]), np.array([1, 2, 2, 2, 3, 3])
    data = together(one[:, None].astype(float), other[:, None].astype(float))
    risk = RepresentativeLinkage(operator="z-sum", released=("b1",)).assess(data, data, ["a1"])

    def ranks(values: np.ndarray) -> list[np.ndarray]:
        orders = [np.array(order) for order in permutations(range(6))]
        return [np.argsort(order) for order in orders if (np.diff(values[order]) >= 0).all()]

    right = np.mean([a == b for a in ranks(one) for b in ranks(other)], axis=0)
    assert risk.per_record == pytest.approx(right)


def test_scores_that_only_rounding_tells_apart_share_their_ranks() -> None:
    scores = np.array([1.0, 1.0 + 4e-10, 2.0])
    assert _linked_by_rank(scores, np.array([1.0, 2.0, 3.0])).tolist() == [0.5, 0.5, 1.0]
    assert _linked_by_rank(np.array([1.0, 1.0 + 4e-9, 2.0]), np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.spec("01:DR-7")
def test_attributes_are_matched_by_the_structure_of_their_correlations() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(150, 1)) * [1.0, 0.9, 0.5, 0.2] + rng.normal(size=(150, 4)) * [0.2, 0.4, 0.8, 1.0]
    like = x[:, [2, 0, 3, 1]] + 0.02 * rng.normal(size=(150, 4))
    data = together(x, like)
    structure = RepresentativeLinkage(operator="structure", released=SEEN).assess(data, data, KNOWN)
    averages = RepresentativeLinkage(released=SEEN).assess(data, data, KNOWN)
    assert structure.value > 95
    assert averages.counters["chance, one to one"] < 1e-6
    wide = RepresentativeLinkage(operator="structure", released=SEEN[:3]).assess(data, data, KNOWN)
    assert wide.value > 50


@pytest.mark.spec("04:FZ-TI", "04:FZ-OWA", "04:FZ-SI")
@pytest.mark.parametrize("operator", ["owa", "sugeno", "twofold"])
@pytest.mark.parametrize("linkage", ["distance", "probabilistic"])
def test_dependent_files_are_linked_far_beyond_chance(operator: str, linkage: str) -> None:
    attack = RepresentativeLinkage(operator=operator, linkage=linkage, released=("b1", "b2"))  # type: ignore[arg-type]
    files = [together(*dependent(100, seed)) for seed in range(5)]
    right = sum(attack.assess(data, data, ["a1", "a2", "a3"]).value for data in files)
    assert right > 15  # five are to be expected from chance


def test_independent_files_are_linked_as_by_chance() -> None:
    rng = np.random.default_rng(10)
    data = together(rng.normal(size=(400, 3)), rng.normal(size=(400, 3)))
    risk = RepresentativeLinkage(released=("b1", "b2", "b3")).assess(data, data, ["a1", "a2", "a3"])
    assert risk.value <= 1.5  # six of 400; one is to be expected
    assert risk.counters["chance, independent"] > 0.05


def test_some_records_may_be_drawn_and_equal_representatives_counted_once() -> None:
    data = together(*dependent(60, 11))
    risk = RepresentativeLinkage(released=("b1", "b2"), records=20, distinct=True).assess(
        data, data, ["a1", "a2", "a3"]
    )
    assert risk.attacked == 20
    assert "chance, one to one" not in risk.counters
    assert 0 <= risk.counters["chance, independent"] <= 100


@pytest.mark.spec("04:FZ-CHANCE")
@pytest.mark.parametrize("right", TABLE_5_3)
def test_table_5_3_comes_out_to_every_printed_digit(right: int) -> None:
    found = chance_of_links(right, 100)
    for value, printed in zip((found.exactly, found.at_least), TABLE_5_3[right], strict=True):
        digits = len(printed.split("E")[0].partition(".")[2])
        assert f"{value:.{digits}{'E' if 'E' in printed else 'f'}}" == printed


@pytest.mark.spec("04:FZ-CHANCE")
def test_the_last_row_of_table_5_3_is_printed_cut_off() -> None:
    """All hundred: 1.0715E-158, printed 1.071; ninety-nine cannot be."""
    assert f"{chance_of_links(100, 100).exactly:.4E}" == "1.0715E-158"
    assert chance_of_links(99, 100).exactly == 0
    assert chance_of_links(99, 100).at_least == chance_of_links(100, 100).exactly


@pytest.mark.spec("04:FZ-CHANCE")
def test_the_chances_are_those_of_counting_all_assignments() -> None:
    fixed = np.array([sum(i == j for i, j in enumerate(order)) for order in permutations(range(6))])
    for right in range(7):
        assert chance_of_links(right, 6).exactly == pytest.approx(np.mean(fixed == right))
        assert chance_of_links(right, 6).at_least == pytest.approx(np.mean(fixed >= right))
        drawn = chance_of_links(right, 6, "independent")
        assert drawn.exactly == pytest.approx(comb(6, right) * (1 / 6) ** right * (5 / 6) ** (6 - right))
    assert chance_of_links(3, 10**6).exactly == pytest.approx(np.exp(-1) / 6)
    assert chance_of_links(5000, 10**6).at_least == 0
    assert chance_of_links(2, 50, "independent", 10).exactly == pytest.approx(comb(10, 2) * 0.02**2 * 0.98**8)
    with pytest.raises(ParameterError, match="7 right links are not possible with 6 of 6"):
        chance_of_links(7, 6)
    with pytest.raises(ParameterError, match="all records are attacked"):
        chance_of_links(1, 6, attacked=3)


def test_what_cannot_be_is_refused() -> None:
    data = together(A, B)
    with pytest.raises(ParameterError, match="released is not allowed with split"):
        RepresentativeLinkage(split=True, released=("b1",))
    with pytest.raises(ParameterError, match="alphas"):
        RepresentativeLinkage(alphas=())
    with pytest.raises(ParameterError, match="only for operator = 'twofold'"):
        RepresentativeLinkage(choquet_quantifier="exponent")
    with pytest.raises(ParameterError, match=r"representative-linkage: .*alpha = 1.5 is not allowed"):
        RepresentativeLinkage(alphas=(1.5,))
    with pytest.raises(DataError, match="none is left"):
        RepresentativeLinkage(released=SEEN).assess(data, data, list(SEEN))
    with pytest.raises(DataError, match="at least two attributes"):
        RepresentativeLinkage(split=True).assess(data, data, ["a1"])
    with pytest.raises(UnknownNameError, match="'zz'"):
        RepresentativeLinkage(released=("zz",)).assess(data, data, KNOWN)
    with pytest.raises(UnknownNameError, match="'zz'"):
        RepresentativeLinkage(released=("zz",)).assess(data, data)


@pytest.mark.spec("04:FZ-SPLIT")
def test_census_is_divided_so_that_correlated_amounts_are_apart(reference: Callable[..., Microdata]) -> None:
    census = reference("census")
    risk = RepresentativeLinkage(split=True, records=50).assess(census, census)
    correlated = [{"AGI", "TAXINC"}, {"PEARNVAL", "ERNVAL"}, {"WSALVAL", "ERNVAL"}, {"FEDTAX", "STATETAX"}]
    for pair in correlated:
        assert len(pair & set(risk.known)) == 1
    assert "AFNLWGT" not in risk.scenario  # it depends on nothing else
