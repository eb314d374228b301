"""Alignment linkage against the known counts, and the interval attack on individual ranking."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.attacks.linkage import alignment
from microveil.attacks.linkage.alignment import AlignmentLinkage, masked_in_order
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.ranking_intervals import RankingIntervals, beside
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.losses.numeric.sse import SSE
from microveil.masking.base import Method
from microveil.masking.microaggregation.fixed import Fixed
from microveil.masking.microaggregation.individual_ranking import IndividualRanking
from microveil.masking.microaggregation.k_ward import KWD, KWR
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.optimal_univariate import OptimalUnivariate
from microveil.masking.microaggregation.projection import Projection
from microveil.masking.microaggregation.univariate_genetic import UnivariateGenetic
from microveil.masking.microaggregation.width import Width
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata
from microveil.microdata.datasets.reference import COLUMNS
from microveil.numerics.linkage.alignment import aligned_runs

Reference = Callable[..., Microdata]
TOY = Microdata.of({"attr1": [1, 2, 3, 6, 7, 8, 9], "attr2": [4, 15, 5, 17, 6, 18, 16]})
# methods that mask one attribute at a time, in groups of neighbours
IN_ORDER: list[Method] = [
    *(OptimalUnivariate(k=3), IndividualRanking(k=3), Fixed(k=3), Width(k=3), KWD(k=3), KWR(k=3)),
    *(UnivariateGenetic(k=3, **UnivariateGenetic.quick), MDAV(k=3, block=1), Projection(k=3, block=1)),
    *(MDAV(k=3, block=1, remainder="literal"), OptimalUnivariate(k=3, publish="median")),
]


def table(cells: np.ndarray) -> Microdata:
    return Microdata.of({f"a{j + 1}": cells[:, j] for j in range(cells.shape[1])})


def links(
    attack: AlignmentLinkage | DistanceLinkage, data: Microdata, release: object, known: int, counter: str
) -> float:
    return attack.assess(data, release, data.names[:known]).counters[counter] * len(data) / 100


# --- worked example and known counts ------------------------------------------------------------------------------


@pytest.mark.spec("04:ARL-OPT")
@pytest.mark.parametrize("align", ["positions", "warping"])
def test_the_toy_file_is_linked_but_for_one_of_two_equal_records(align: str) -> None:
    release = OptimalUnivariate(k=2).mask(TOY)
    risk = AlignmentLinkage(align=align).assess(TOY, release)  # type: ignore[arg-type]
    assert 7 * risk.value / 100 == pytest.approx(6)
    assert risk.certain.tolist() == [1, 3, 4, 5, 6]
    assert risk.counters["candidates"] == pytest.approx(100 * (2 + 1 + 2 + 1 + 1 + 1 + 1) / 49)
    assert risk.counters["lost"] == 0


@pytest.mark.spec("04:ARL-OPT")
def test_warping_finds_the_runs_of_the_toy_file() -> None:
    values = np.array([1.0, 2, 3, 6, 7, 8, 9])
    runs = aligned_runs(values, np.array([2.0, 6.5, 8.5]), 2, np.array([3, 3, 3]))
    assert runs is not None
    assert runs.tolist() == [0, 3, 5, 7]
    assert aligned_runs(values, np.array([2.0, 8.0]), 2, np.array([3, 3])) is None  # seven values, room for six


def warped(original: list[float], released: list[float | None]) -> dict[str, float]:
    """The counters, in records, of the runs of 2 to 3 values."""
    attack = AlignmentLinkage(align="warping", k=2)
    risk = attack.assess(Microdata.of({"a": original}), Microdata.of({"a": released}))
    return {name: risk.counters[name] * len(original) / 100 for name in ("lost", "candidates")}


@pytest.mark.spec("04:ARL-OPT")
def test_a_run_has_at_most_2k_minus_1_values() -> None:
    """Four values near 2 would be the nearest run; of two to three values it ends before the 4, which stands by 10."""
    found = warped([1, 2, 3, 4, 10, 11], [2, 2, 2, 10, 10, 10])
    assert found == pytest.approx({"lost": 0, "candidates": 3})


@pytest.mark.spec("04:ARL-OPT")
def test_a_run_may_have_2k_minus_1_values_though_its_mean_is_released_less_often() -> None:
    found = warped([1, 2, 3, 10, 11], [2, 2, None, 10.5, 10.5])
    assert found == pytest.approx({"lost": 0, "candidates": (3 + 3 + 5 + 2 + 2) / 5})


@pytest.mark.spec("04:ARL-OPT")
def test_a_mean_released_more_than_2k_minus_1_times_has_a_run_as_long() -> None:
    found = warped([5, 5, 5, 5, 9, 9.5], [5, 5, 5, 5, 9.25, 9.25])
    assert found == pytest.approx({"lost": 0, "candidates": (4 * 4 + 2 * 2) / 6})


def test_links_are_proved_only_where_the_provenance_says_that_groups_are_in_order() -> None:
    release = OptimalUnivariate(k=2).mask(TOY)
    proved, guessed = (AlignmentLinkage().assess(TOY, released) for released in (release, release.data))
    assert proved.certain.tolist() == [1, 3, 4, 5, 6]
    assert proved.proof.startswith("Every group is a run of neighbouring values")
    assert (guessed.certain.tolist(), guessed.proof) == ([], "")
    assert guessed.per_record.tolist() == proved.per_record.tolist()


def test_nothing_is_proved_where_a_right_person_does_not_fit() -> None:
    """Medians pull the runs to the wrong places: one of seven records is lost, so that being alone proves nothing."""
    data = Microdata.of({"a": [0, 0, 7, 7, 8, 8, 10], "b": [0, 9, 5, 11, 5, 5, 5]})
    release = OptimalUnivariate(k=2, publish="median").mask(data)
    assert release.data.numbers("a").values.tolist() == [0, 0, 7, 7, 7, 9, 9]
    risk = AlignmentLinkage(align="warping").assess(data, release)
    assert {name: round(7 * risk.counters[name] / 100, 6) for name in ("lost", "alone", "misled")} == {
        "lost": 1,
        "alone": 4,
        "misled": 1,
    }
    assert (risk.certain.tolist(), risk.proof) == ([], "")


def test_nothing_is_proved_where_nobody_is_alone_in_the_runs() -> None:
    twice = Microdata.of({"a": [1, 1, 5, 5], "b": [2, 2, 9, 9]})
    risk = AlignmentLinkage().assess(twice, OptimalUnivariate(k=2).mask(twice))
    assert (risk.certain.tolist(), risk.proof, risk.value) == ([], "", 50.0)


@pytest.mark.spec("04:EXP-48..49", "04:ARL-OPT")
@pytest.mark.parametrize(
    ("name", "k", "known"),
    [
        ("census-alphabetical", 5, {2: (1072, 1064), 3: (1080, 1080)}),
        ("census-alphabetical", 50, {2: (405, 86), 3: (1004, 932), 4: (1065, 1049), 5: (1075, 1071)}),
        ("eia", 50, {2: (1078, 292), 5: (3802, 3615)}),
    ],
)
def test_aligning_gives_the_known_right_and_certain_links(
    reference: Reference, name: str, k: int, known: dict[int, tuple[int, int]]
) -> None:
    data = reference(name.split("-")[0]).select(COLUMNS[name])
    release = OptimalUnivariate(k=k).mask(data)
    for c, (right, certain) in known.items():
        risk = AlignmentLinkage().assess(data, release, data.names[:c])
        assert risk.value * len(data) / 100 == pytest.approx(right, abs=0.01)
        assert len(risk.certain) == certain
        assert risk.counters["lost"] == 0


@pytest.mark.spec("04:EXP-48..49", "04:ARL-CONT", "04:ARL-TIES")
@pytest.mark.parametrize(
    ("name", "known", "printed", "optimal", "mdav", "distance"),
    [
        ("census-alphabetical", 2, 379, 374, 356, (370, 370)),
        ("census-alphabetical", 5, 1069, 1071, 1065, (1065, 1046)),
        ("eia", 2, 1012, 1002, 983, (462, 503)),
        ("eia", 5, 3703, 3683, 3655, (2337, 2312)),
    ],
)
def test_the_next_means_give_the_printed_links_within_two_per_cent(
    reference: Reference, name: str, known: int, printed: int, optimal: int, mdav: int, distance: tuple[int, int]
) -> None:
    """Figures 4.8 and 4.9, k = 50. DB-RL is printed as 369, 1047, 469 and 2353."""
    data = reference(name.split("-")[0]).select(COLUMNS[name])
    release, other = OptimalUnivariate(k=50).mask(data), MDAV(k=50, block=1).mask(data)
    attack = AlignmentLinkage(align="neighbours")
    found = links(attack, data, release, known, "first")
    assert found == pytest.approx(optimal, abs=0.01)
    assert found == pytest.approx(printed, rel=0.02)
    assert links(attack, data, other, known, "first") == pytest.approx(mdav, abs=0.01)
    for direction, plain in zip(("original", "masked"), distance, strict=True):
        baseline = DistanceLinkage(direction=direction)  # type: ignore[arg-type]
        assert links(baseline, data, release, known, "first") == pytest.approx(plain, abs=0.01)
        assert found >= plain


@pytest.mark.spec("04:ARL-TIES")
@pytest.mark.parametrize(
    ("name", "attribute", "k", "missed"), [("census", "ERNVAL", 5, 105), ("eia", "INDREVENUE", 50, 75)]
)
def test_only_the_plain_rule_misses_records_with_many_equals(
    reference: Reference, name: str, attribute: str, k: int, missed: int
) -> None:
    data = reference(name).select([attribute])
    release = OptimalUnivariate(k=k).mask(data)
    lost = {
        ties: links(AlignmentLinkage(align="neighbours", ties=ties), data, release, 1, "lost")  # type: ignore[arg-type]
        for ties in ("plain", "strict", "farther")
    }
    assert lost["plain"] == pytest.approx(missed)
    assert lost["strict"] == lost["farther"] == 0


@pytest.mark.spec("04:EXP-47")
@pytest.mark.parametrize(
    ("name", "k", "optimal", "mdav"),
    [
        ("census-alphabetical", 5, 46.52, 47.39),
        ("census-alphabetical", 50, 624.42, 628.05),
        ("eia", 50, 899.77, 899.98),
    ],
)
def test_univariate_groups_have_the_known_sums_of_squares(
    reference: Reference, name: str, k: int, optimal: float, mdav: float
) -> None:
    """Table 4.7 on z-scores; the printed sums have an unknown scale. The optimum is below MDAV in every row."""
    data = reference(name.split("-")[0]).select(COLUMNS[name])
    for method, known in ((OptimalUnivariate(k=k), optimal), (MDAV(k=k, block=1), mdav)):
        squares = SSE().measure(data, method.mask(data)).value / 100 * len(data) * len(data.names)
        assert squares == pytest.approx(known, abs=0.01)


# --- properties ---------------------------------------------------------------------------------------------------


def check_that_the_right_person_fits(method: Method, cells: np.ndarray) -> None:
    data = table(cells.astype(float))
    release = method.mask(data, seed=1)
    assert masked_in_order(Pair.of(data, release), "a1")
    for align in ("positions", "neighbours"):
        risk = AlignmentLinkage(align=align).assess(data, release)  # type: ignore[arg-type]
        if align == "positions" or getattr(method, "publish", "mean") == "mean":
            assert risk.counters["lost"] == 0
        assert (risk.per_record[risk.certain] == 1).all()


def test_a_single_value_keeps_its_order() -> None:
    data = Microdata.of({"a1": [5.0, None, None]}, numeric=["a1"])
    for missing in (data, data.with_columns({"a1": pa.array([None, None, None], pa.float64())})):
        release = IndividualRanking(k=2).mask(missing)
        assert masked_in_order(Pair.of(missing, release), "a1")


@settings(max_examples=25, deadline=None)
@given(cells=st.lists(st.tuples(st.integers(0, 8), st.integers(-40, 40)), min_size=7, max_size=50))
def test_the_right_person_always_fits_whatever_the_ties(cells: list[tuple[int, int]]) -> None:
    check_that_the_right_person_fits(OptimalUnivariate(k=3), np.array(cells))


@pytest.mark.spec("04:ARL-CONT")
@pytest.mark.parametrize("method", IN_ORDER, ids=lambda method: method.name)
def test_the_right_person_fits_after_every_method_that_groups_in_order(method: Method) -> None:
    rng = np.random.default_rng(7)
    for records in (7, 20, 61):
        check_that_the_right_person_fits(
            method, np.column_stack([rng.integers(0, 9, records), rng.permutation(records)])
        )


@pytest.mark.spec("04:ARL-OPT")
def test_each_class_of_equal_records_gives_one_right_link() -> None:
    data = table(np.random.default_rng(3).normal(size=(200, 2)))
    release = OptimalUnivariate(k=4).mask(data)
    cells = np.column_stack([release.data.numbers(name).values for name in data.names])
    _, sizes = np.unique(cells, axis=0, return_counts=True)
    risk = AlignmentLinkage().assess(data, release)
    assert risk.value * 2 == pytest.approx(len(sizes))
    assert len(risk.certain) == (sizes == 1).sum()
    assert risk.value >= DistanceLinkage().assess(data, release).value


def test_warping_and_positions_align_alike_without_ties() -> None:
    data = table(np.random.default_rng(4).normal(size=(150, 2)) + 1e6)
    release = OptimalUnivariate(k=5).mask(data)
    one, other = (AlignmentLinkage(align=align).assess(data, release) for align in ("positions", "warping"))  # type: ignore[arg-type]
    assert one.per_record.tolist() == other.per_record.tolist()


@pytest.mark.parametrize("align", ["positions", "neighbours"])
def test_the_order_of_the_records_does_not_matter(align: str) -> None:
    rng = np.random.default_rng(8)
    data = table(rng.integers(0, 30, size=(120, 3)).astype(float))
    masked = OptimalUnivariate(k=4).mask(data).data
    order = rng.permutation(120)
    attack = AlignmentLinkage(align=align)  # type: ignore[arg-type]
    one, other = attack.assess(data, masked), attack.assess(data.take(order), masked.take(order))
    assert other.per_record == pytest.approx(one.per_record[order])


def test_ordered_categories_are_aligned_by_their_domain() -> None:
    rng = np.random.default_rng(1)
    data = Microdata.of({"grade": rng.integers(0, 9, 80), "income": rng.normal(size=80)}, ordinal=["grade"])
    risk = AlignmentLinkage().assess(data, IndividualRanking(k=3).mask(data, ["grade", "income"]))
    assert risk.known == ("grade", "income")
    assert risk.counters["lost"] == 0
    assert risk.value > AlignmentLinkage().assess(data, IndividualRanking(k=3).mask(data, ["income"])).value


def test_missing_cells_fit_everything() -> None:
    rng = np.random.default_rng(1)
    values = [None if hole else float(v) for v, hole in zip(rng.normal(size=60), rng.random(60) < 0.2, strict=True)]
    data = Microdata.of({"a": values, "b": rng.normal(size=60)})
    release = IndividualRanking(k=3).mask(data)
    assert AlignmentLinkage().assess(data, release).counters["lost"] == 0


def test_it_suits_releases_masked_one_attribute_at_a_time_and_proves_nothing_of_others() -> None:
    data = table(np.random.default_rng(3).normal(size=(60, 2)))
    for method in IN_ORDER:
        assert AlignmentLinkage.suited(Pair.of(data, method.mask(data, seed=1))) == (AlignmentLinkage(),)
    for method in (MDAV(k=3), Noise(alpha=0.1), OptimalUnivariate(k=3, publish="perturb")):
        release = method.mask(data, seed=1)
        assert AlignmentLinkage.suited(Pair.of(data, release)) == ()
        assert len(AlignmentLinkage().assess(data, release).certain) == 0
    assert AlignmentLinkage.suited(Pair.of(data, data)) == ()


def test_warping_needs_a_size_that_fits() -> None:
    plain = OptimalUnivariate(k=2).mask(TOY).data
    with pytest.raises(ParameterError, match="k must be given"):
        AlignmentLinkage(align="warping").assess(TOY, plain)
    with pytest.raises(ParameterError, match="k = 5 is not allowed; no runs"):
        AlignmentLinkage(align="warping", k=5).assess(TOY, plain)
    assert 7 * AlignmentLinkage(align="warping", k=2).assess(TOY, plain).value / 100 == pytest.approx(6)


def test_warping_goes_as_far_as_the_steps_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Microdata.of({"x": [1.0, 2.0, 11.0, 12.0]})
    release = Microdata.of({"x": [1.5, 1.5, 11.5, 11.5]})
    attack = AlignmentLinkage(align="warping", k=2)
    monkeypatch.setattr(alignment, "_MOST_STEPS", 8)  # two means of four values
    assert attack.assess(data, release).value == 50.0
    monkeypatch.setattr(alignment, "_MOST_STEPS", 7)
    with pytest.raises(ParameterError, match="'warping' is not allowed with 2 released values of 4"):
        attack.assess(data, release)


# --- the interval attack ------------------------------------------------------------------------------------------


@pytest.mark.spec("01:DR-8")
def test_values_lie_between_the_means_of_the_next_groups() -> None:
    low, high = beside(np.array([21.0, 21.0, 42.0, 42.0, 63.0, np.nan]))
    assert low[:5].tolist() == [-np.inf, -np.inf, 21.0, 21.0, 42.0]
    assert high[:5].tolist() == [42.0, 42.0, 63.0, 63.0, np.inf]
    assert np.isnan([low[5], high[5]]).all()


@pytest.mark.spec("01:DR-8")
def test_every_value_of_individual_ranking_is_contained_and_the_narrow_ones_disclosed(reference: Reference) -> None:
    census = reference("census").select(COLUMNS["census-alphabetical"])
    values = []
    for k in (3, 10, 50):
        risk = RankingIntervals().assess(census, IndividualRanking(k=k).mask(census))
        assert risk.counters["contained"] == 100
        assert risk.value == pytest.approx(risk.counters["narrow"])
        values.append(risk.value)
    assert values == sorted(values, reverse=True)
    assert values[0] > 90


@pytest.mark.spec("01:DR-8")
def test_how_narrow_an_interval_must_be_is_a_share_of_the_deviation() -> None:
    data = Microdata.of({"a": [float(v) for v in range(100)]})
    release = IndividualRanking(k=5).mask(data)  # intervals of width 10; deviation 28.8
    assert RankingIntervals(narrow=0.3).assess(data, release).value == 0
    assert RankingIntervals(narrow=0.4).assess(data, release).value == pytest.approx(90)  # all but the ends
    assert RankingIntervals(narrow=0.4).assess(data, release).counters["width"] == pytest.approx(100 * 10 / 95)


def test_a_person_without_any_value_has_no_risk_from_intervals() -> None:
    before = Microdata.of({"a": [1.0, 2.0, 3.0, None, None], "b": [1.0, 2.0, None, 3.0, None]})
    risk = RankingIntervals(narrow=1e6).assess(before, before, ["a", "b"])
    # in both attributes the value in the middle lies between two others; the ends have no bound on one side
    assert risk.per_record == pytest.approx([0, 1, 0, 0, np.nan], nan_ok=True)
    assert risk.per_attribute == pytest.approx({"a": 100 / 3, "b": 100 / 3})


def test_the_interval_attack_suits_masking_in_order_only() -> None:
    data = table(np.random.default_rng(3).normal(size=(60, 2)))
    assert RankingIntervals.suited(Pair.of(data, IndividualRanking(k=3).mask(data)))
    assert RankingIntervals.suited(Pair.of(data, MDAV(k=3).mask(data))) == ()
