"""Expected ratios and most probable categories against printed tables, and as attacks on releases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.attacks.pram_disclosure import ExpectedRatio, MapDisclosure
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata
from microveil.numerics.perturbing.posterior import expected_ratios, likeliest, map_disclosure
from microveil.numerics.perturbing.transition_matrices import (
    entropy_matrix,
    frequency_matrix,
    invariant_within_range,
)
from reproduction.pram import DEGREE
from reproduction.pram import TABLE_4_6 as EVOLVED

SIX = DEGREE[:6]
TABLE_4_6 = np.array([[float(cell) for cell in row.split()] for row in EVOLVED.splitlines()])


def entropy(frequencies: np.ndarray) -> float:
    shares = frequencies[frequencies > 0] / frequencies.sum()
    return float(-(shares * np.log2(shares)).sum())


def people(records: int = 400, seed: int = 3) -> Microdata:
    rng = np.random.default_rng(seed)
    job, sex = rng.choice(list("abcd"), records, p=[0.4, 0.3, 0.2, 0.1]), rng.choice(["f", "m"], records)
    return Microdata.of({"job": job, "sex": sex})


# --- the printed tables --------------------------------------------------------------------------------------------


@pytest.mark.spec("05:DR-06")
def test_the_expected_ratios_of_the_first_printed_row() -> None:
    """Marés (2013), Table 4.8, "Initial": a symmetric matrix has one form; 1.599 is truncated from 1.5997."""
    found = expected_ratios(entropy_matrix(6, 0.6), SIX)
    assert found.by_category == pytest.approx([0.846, 1.634, 2.629, 1.894, 1.5997, 0.676], abs=6e-4)
    assert found.mean == pytest.approx(1.780, abs=5e-4)
    transposed = expected_ratios(entropy_matrix(6, 0.6), SIX, "source")
    assert transposed.by_category == pytest.approx(found.by_category)


@pytest.mark.spec("05:DR-06")
def test_the_row_of_the_invariant_matrix_is_printed_with_transposed_indices() -> None:
    """Marés (2013), Table 4.8, "Only invariance": as printed with transposed indices, and what is right."""
    matrix = invariant_within_range(entropy_matrix(6, 0.6), SIX).matrix
    printed = expected_ratios(matrix, SIX, "source")
    assert printed.by_category == pytest.approx([0.981, 2.356, 4.838, 2.911, 2.287, 0.740], abs=5e-4)
    assert printed.mean == pytest.approx(2.827, abs=5e-4)
    right = expected_ratios(matrix, SIX)
    assert right.by_category == pytest.approx([1.892, 2.449, 2.994, 2.605, 2.428, 1.749], abs=5e-4)
    assert right.mean == pytest.approx(2.504, abs=5e-4)
    # an invariant matrix: kept over not kept
    assert right.by_category == pytest.approx(np.diag(matrix) / (1 - np.diag(matrix)))


@pytest.mark.spec("05:DR-06")
def test_the_evolved_matrix_keeps_little_and_gives_away_much() -> None:
    """Marés (2013), Table 4.6: 2.1 % of the values stay, 71.4 % can be recovered, 52.4 % before the evolution."""
    shares = DEGREE / DEGREE.sum()
    assert float(shares @ np.diag(TABLE_4_6)) == pytest.approx(0.021, abs=5e-4)
    assert map_disclosure(TABLE_4_6, DEGREE) == pytest.approx(0.714, abs=5e-4)
    assert map_disclosure(frequency_matrix(DEGREE, 0.5), DEGREE) == pytest.approx(0.524, abs=5e-4)
    after = DEGREE @ TABLE_4_6
    assert after == pytest.approx([94.3, 168.1, 259.4, 181.5, 172.4, 80.1, 22.8, 20.9], abs=0.05)
    finals = np.array([96, 171, 250, 181, 181, 81, 17, 23])
    assert [entropy(DEGREE), entropy(finals)] == pytest.approx([2.615, 2.672], abs=5e-4)


def test_a_category_that_nobody_else_is_published_as_has_an_infinite_ratio() -> None:
    found = expected_ratios(np.array([[1.0, 0.0], [0.0, 1.0]]), [3, 1])
    assert np.isinf(found.by_category).all()
    assert found.unbounded == 1.0
    assert found.chances.tolist() == [1.0, 1.0]
    one = expected_ratios(np.array([[0.5, 0.5], [0.0, 1.0]]), [2, 2])
    assert one.by_category.tolist() == [np.inf, 2.0]
    assert (one.mean, one.unbounded) == (2.0, 0.5)
    empty = expected_ratios(np.eye(2), [4, 0])
    assert empty.by_category.tolist() == [np.inf, 0.0]


@settings(max_examples=100, deadline=None)
@given(counts=st.lists(st.integers(0, 40), min_size=1, max_size=7).filter(any), seed=st.integers(0, 999))
def test_naming_the_likeliest_is_never_worse_than_the_commonest_or_the_published(counts: list[int], seed: int) -> None:
    cells = np.random.default_rng(seed).random((len(counts), len(counts)))
    matrix = cells / cells.sum(axis=1, keepdims=True)
    shares = np.array(counts) / sum(counts)
    found = map_disclosure(matrix, counts)
    assert found >= max(shares.max(), float(shares @ np.diag(matrix))) - 1e-12
    assert found <= 1 + 1e-12
    assert likeliest(matrix, counts).any(axis=1).all()


# --- the attacks ---------------------------------------------------------------------------------------------------


def test_the_matrices_of_the_release_are_used() -> None:
    data = people()
    release = PRAM(p=0.7).mask(data, ["job", "sex"], seed=1)
    risk = ExpectedRatio().assess(data, release)
    counts = data.categories("job").frequencies
    found = expected_ratios(release.matrices[("job",)], counts)
    assert risk.ratios["job"].by_category == pytest.approx(found.by_category)  # type: ignore[attr-defined]
    published = release.data.categories("job").codes
    assert risk.per_attribute["job"] == pytest.approx(100 * found.chances[published].mean())
    assert risk.value == pytest.approx(np.mean(list(risk.per_attribute.values())))
    assert set(risk.to_plain()["ratios"]) == {"job", "sex"}


def test_a_permutation_protects_nothing_from_who_knows_it() -> None:
    data = people()
    swapped = {"sex": {"f": {"m": 1.0}, "m": {"f": 1.0}}}
    release = PRAM(given=swapped).mask(data, ["sex"], seed=1)
    risk = MapDisclosure().assess(data, release)
    assert (risk.value, risk.counters["kept"], risk.counters["expected"]) == (100.0, 0.0, 100.0)
    assert ExpectedRatio().assess(data, release).value == 0.0


def test_one_record_is_known_without_its_release() -> None:
    data = Microdata.of({"sex": ["f"]}, nominal=["sex"])
    data = data.with_schema(data.schema.replacing(data["sex"].changed(domain=("f", "m"))))
    risk = MapDisclosure().assess(data, PRAM(p=0.8).mask(data, ["sex"], seed=1))
    assert risk.counters["baseline"] == 100


def test_the_share_right_is_near_what_the_matrix_promises_and_beats_the_baseline() -> None:
    data = people(4000)
    risk = MapDisclosure().assess(data, PRAM(p=0.8).mask(data, ["job"], seed=2))
    assert risk.value == pytest.approx(risk.counters["expected"], abs=2.5)
    assert risk.value > risk.counters["baseline"] + 20
    estimated = MapDisclosure(frequencies="estimated").assess(data, PRAM(p=0.8).mask(data, ["job"], seed=2))
    assert estimated.value == pytest.approx(risk.value, abs=2.5)


def test_attributes_drawn_together_are_attacked_together() -> None:
    data = people()
    release = PRAM(p=0.8, compound=True).mask(data, ["job", "sex"], seed=1)
    risk = MapDisclosure().assess(data, release)
    assert list(risk.per_attribute) == ["job+sex"]
    matrix = release.matrices[("job", "sex")]
    assert risk.counters["expected"] == pytest.approx(100 * map_disclosure(matrix, np.bincount(_compound(data))))
    same = (_compound(data) == _compound(release.data)).mean()
    assert risk.counters["kept"] == pytest.approx(100 * same)


def test_one_of_the_attributes_drawn_together_is_attacked_by_its_own_transitions() -> None:
    data = people()
    release = PRAM(p=0.8, compound=True).mask(data, ["job", "sex"], seed=1)
    risk = MapDisclosure().assess(data, release, ["job"])
    before, after = data.categories("job").codes, release.data.categories("job").codes
    counts = np.zeros((4, 4))
    np.add.at(counts, (before, after), 1)
    # of those published alike, the most frequent true category is named
    assert risk.per_attribute == {"job": pytest.approx(100 * counts.max(axis=0).sum() / 400)}


def _compound(data: Microdata) -> np.ndarray:
    return data.categories("job").codes * 2 + data.categories("sex").codes


def test_without_a_matrix_the_transitions_that_happened_serve() -> None:
    before, after = Microdata.of({"x": list("aabb")}), Microdata.of({"x": list("abbb")})
    risk = ExpectedRatio().assess(before, after)
    # published a: surely a; published b: one a, two b
    assert risk.per_record == pytest.approx([1.0, 2 / 3, 2 / 3, 2 / 3])
    assert risk.counters["unbounded"] == 25.0


def test_missing_cells_are_left_out_and_missing_categories_can_stay_out_of_the_matrix() -> None:
    data = Microdata.of({"x": ["a", "b", None, "b", "a", "b"]}, nominal=["x"])
    release = PRAM(p=0.9, exclude_missing=True).mask(data, ["x"], seed=1)
    risk = MapDisclosure().assess(data, release)
    assert len(release.matrices[("x",)]) == 2
    assert np.isnan(risk.per_record).tolist() == [False, False, True, False, False, False]


def test_they_suit_releases_with_matrices_only() -> None:
    data = people()
    pram, noise = PRAM().mask(data, ["job"], seed=1), Noise().mask({"a": [1.0, 2.0, 3.0]}, seed=1)
    assert [len(cls.suited(Pair.of(data, pram))) for cls in (ExpectedRatio, MapDisclosure)] == [1, 1]
    assert ExpectedRatio.suited(Pair.of({"a": [1.0, 2.0, 3.0]}, noise)) == ()
    assert MapDisclosure.suited(Pair.of(data, data, ["job"])) == ()


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [({"x": [[0.5, 0.4], [0.0, 1.0]]}, "row 1 sums to 0.9"), ({"y": [[1.0]]}, "'y', which is not known")],
)
def test_wrong_matrices_are_refused(matrix: dict[str, object], problem: str) -> None:
    data = Microdata.of({"x": ["a", "b"]})
    with pytest.raises(ParameterError, match=problem):
        MapDisclosure(given=matrix).assess(data, data)
