"""The two risks of the score index: linkage by some of the attributes (RLD) and rank intervals (ID)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.errors import ParameterError
from microveil.masking.microaggregation.cbfs import CBFS
from microveil.masking.microaggregation.iamat import IAMAT
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata

KEYS = (1, 2, 3, 5, 10, 11, 12)


def table(cells: npt.NDArray[np.float64]) -> Microdata:
    return Microdata.of({f"x{j}": cells[:, j] for j in range(cells.shape[1])})


def rld(**parameters: object) -> DistanceLinkage:
    return DistanceLinkage(neighbours=2, direction="masked", **parameters)  # type: ignore[arg-type]


# --- RLD ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("02:LM18")
@pytest.mark.parametrize(
    ("k", "one_to_seven", "seven", "thirteen"), [(3, 22.8, 45.4, 61.6), (4, 16.1, 32.8, 43.6), (5, 12.8, 25.3, 35.5)]
)
def test_the_literal_definition_gives_the_known_risks(reference, k, one_to_seven, seven, thirteen) -> None:  # type: ignore[no-untyped-def]
    """7.3: the source's own values (60.7, 49.7, 42.1) come out by no reading, and for k = 5 exceed its bound."""
    census = reference("census")
    keys = [census.names[number - 1] for number in KEYS]
    release = CBFS(k=k).mask(census)
    assert rld(standardisation="joint").assess(census, release, keys).value == pytest.approx(seven, abs=0.05)
    assert rld(standardisation="joint").assess(census, release).value == pytest.approx(thirteen, abs=0.05)
    every = rld(standardisation="joint", known_sizes=tuple(range(1, 8))).assess(census, release, keys)
    assert every.value == pytest.approx(one_to_seven, abs=0.05)


@pytest.mark.spec("02:LM18")
@pytest.mark.parametrize(
    ("method", "known"), [(CBFS, (60.95, 50.30, 42.18)), (IAMAT, (62.34, 51.32, 42.52))], ids=["cbfs", "iamat"]
)
def test_links_in_any_of_the_choices_come_near_the_printed_risks(reference, method, known) -> None:  # type: ignore[no-untyped-def]
    census = reference("census")
    keys = [census.names[number - 1] for number in KEYS]
    attack = rld(standardisation="separate", known_sizes=(4, 5, 6, 7), aggregate="any")
    for k, value in zip((3, 4, 5), known, strict=True):
        assert attack.assess(census, method(k=k).mask(census), keys).value == pytest.approx(value, abs=0.006)


@pytest.mark.spec("02:LM18")
@settings(max_examples=25, deadline=None)
@given(n=st.integers(6, 40), d=st.integers(1, 4), k=st.integers(2, 6), seed=st.integers(0, 999))
def test_two_neighbours_link_at_most_two_records_of_a_group(n: int, d: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = table(rng.integers(0, 6, size=(max(n, k), d)).astype(float))
    release = MDAV(k=k).mask(data)
    assert release.partition is not None
    bound = 100 * np.minimum(2, release.partition.sizes).sum() / len(data)
    sizes = tuple(range(1, d + 1))
    risk = rld(standardisation="joint", known_sizes=sizes).assess(data, release)
    assert risk.value <= bound + 1e-9
    assert risk.counters["strict"] <= risk.value + 1e-9
    assert risk.value <= risk.counters["optimistic"] + 1e-9
    assert risk.counters["nearest"] + risk.counters["later"] == pytest.approx(risk.value)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 30), d=st.integers(1, 3), m=st.integers(2, 4), seed=st.integers(0, 999))
def test_ranks_are_those_of_sorting_all_distances(n: int, d: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, moved = (rng.integers(0, 4, size=(n, d)).astype(float) for _ in range(2))
    attack = DistanceLinkage(neighbours=m, direction="masked", standardisation="none")
    original = table(cells)
    risk = attack.assess(original, table(moved), original.names)
    expected, first = [], []
    for i in range(n):
        distances = ((moved[i] - cells) ** 2).sum(axis=1)
        closer, ties = int((distances < distances[i]).sum()), int((distances == distances[i]).sum())
        expected.append(min(1.0, max(0.0, (m - closer) / ties)))
        first.append(i in np.argsort(distances, kind="stable")[:m])
    assert risk.per_record.tolist() == pytest.approx(expected)
    assert risk.counters["first"] == pytest.approx(100 * np.mean(first))


def test_one_neighbour_and_all_attributes_is_the_plain_linkage_in_both_forms() -> None:
    rng = np.random.default_rng(3)
    cells = rng.normal(size=(80, 3))
    original, masked = table(cells), table(cells + 0.4 * rng.normal(size=cells.shape))
    plain = DistanceLinkage().assess(original, masked)
    assert DistanceLinkage(known_sizes=(3,)).assess(original, masked).value == pytest.approx(plain.value)
    both = DistanceLinkage(neighbours=2).assess(original, masked)
    assert both.counters["nearest"] == pytest.approx(plain.value)
    assert both.value > plain.value


@pytest.mark.spec("02:LM18")
def test_the_risk_is_the_mean_over_choices_and_then_over_their_sizes() -> None:
    rng = np.random.default_rng(5)
    cells = rng.normal(size=(60, 4))
    original, masked = table(cells), table(cells + 0.3 * rng.normal(size=cells.shape))
    by_size = []
    for size in (1, 3):
        choices = combinations(original.names, size)
        by_size.append([rld().assess(original, masked, choice).per_record for choice in choices])
    mean = np.mean([np.mean(values, axis=0) for values in by_size], axis=0)
    most = np.mean([np.max(values, axis=0) for values in by_size], axis=0)
    assert rld(known_sizes=(1, 3)).assess(original, masked).per_record == pytest.approx(mean)
    assert rld(known_sizes=(1, 3), aggregate="any").assess(original, masked).per_record == pytest.approx(most)


def test_categories_and_missing_cells_take_part_in_linkage_by_some_attributes() -> None:
    people = Microdata.of({"a": [1.0, 2.0, None, 4.0], "job": ["cook", "nurse", "cook", None]})
    risk = DistanceLinkage(neighbours=2, known_sizes=(1, 2)).assess(people, people, ["a", "job"])
    assert 0 < risk.value <= 100
    assert "some of a, job" in risk.scenario


def test_impossible_knowledge_is_refused() -> None:
    data = table(np.random.default_rng(1).normal(size=(10, 3)))
    with pytest.raises(ParameterError, match="there are only 3 attributes"):
        DistanceLinkage(known_sizes=(4,)).assess(data, data)
    for sizes in ((0, 1), ()):
        with pytest.raises(ParameterError, match="distance-linkage: known_sizes"):
            DistanceLinkage(known_sizes=sizes)
    wide = table(np.random.default_rng(1).normal(size=(10, 20)))
    with pytest.raises(ParameterError, match="184,756 choices"):
        DistanceLinkage(known_sizes=(10,)).assess(wide, wide)


# --- ID -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("02:LM19")
@pytest.mark.parametrize(("method", "counts"), [(CBFS, (214, 79, 29)), (IAMAT, (202, 93, 60))], ids=["cbfs", "iamat"])
def test_the_printed_interval_disclosures_come_out(reference, method, counts) -> None:  # type: ignore[no-untyped-def]
    """Tables 4.4 and 5.2: records disclosed in all 13 attributes, summed over windows of 1 to 10 per cent."""
    census = reference("census")
    attack = IntervalDisclosure(mode="records", ties="order")
    for k, disclosed in zip((3, 4, 5), counts, strict=True):
        risk = attack.assess(census, method(k=k).mask(census))
        assert risk.value == pytest.approx(100 * disclosed / (10 * len(census)))


@pytest.mark.spec("02:LM19")
def test_equal_released_values_have_ranks_in_record_order() -> None:
    # released 2 2 2 8 8 8: with a reach of one rank the first record's interval ends at the second value, the third's
    # at the fourth; mean ranks would give all three the same
    original = Microdata.of({"x": [5.0, 2.0, 5.0, 5.0, 8.0, 5.0]})
    masked = Microdata.of({"x": [2.0, 2.0, 2.0, 8.0, 8.0, 8.0]})
    by_record = IntervalDisclosure(widths=(17.0,), ties="order").assess(original, masked)
    assert by_record.per_record.tolist() == [0, 1, 1, 1, 1, 0]
    by_mean = IntervalDisclosure(widths=(17.0,)).assess(original, masked)
    assert by_mean.per_record.tolist() == [0, 1, 0, 0, 1, 0]


@pytest.mark.spec("02:LM19")
def test_wider_windows_disclose_more() -> None:
    rng = np.random.default_rng(2)
    cells = rng.normal(size=(200, 3))
    data, release = table(cells), MDAV(k=4).mask(table(cells))
    values = [
        IntervalDisclosure(widths=(float(p),), mode="records", ties="order").assess(data, release).value
        for p in (1, 5, 10, 30)
    ]
    assert values == sorted(values)
    assert values[0] < values[-1]
