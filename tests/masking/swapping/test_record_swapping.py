"""Targeted record swapping: households stay whole, areas keep their counts, and those at risk live elsewhere."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.masking.swapping.record_swapping import RecordSwapping
from microveil.microdata import Microdata
from microveil.numerics.perturbing.area_swapping import pair_elsewhere

PLACES = ("region", "district")


def town(seed: int, households: int = 60) -> Microdata:
    """Persons in households of 1 to 3, in 2 regions of 3 districts each, with rare jobs."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, households)
    home = np.repeat(np.arange(households), sizes)
    district = np.repeat(rng.integers(0, 6, households), sizes)
    job = rng.choice(["clerk", "cook", "judge"], len(home), p=[0.6, 0.35, 0.05])
    table = {
        "home": home,
        "region": [f"r{d // 3}" for d in district],
        "district": [f"d{d}" for d in district],
        "job": job,
        "tenure": np.repeat(rng.choice(["own", "rent"], households), sizes),
        "age": rng.integers(0, 90, len(home)),
    }
    return Microdata.of(table, household="home", keys=["region", "district", "job"], nominal=["tenure"])


def column(data: Microdata, name: str) -> list[str]:
    return data.arrow(name).to_pylist()


def swapped(data: Microdata, released: Microdata) -> set[int]:
    """The households that live elsewhere."""
    moved = zip(column(data, "home"), column(data, "district"), column(released, "district"), strict=True)
    return {home for home, before, after in moved if before != after}


def rare(data: Microdata, place: str, k: int) -> set[int]:
    seen = Counter(zip(column(data, place), column(data, "job"), strict=True))
    cells = zip(column(data, "home"), column(data, place), column(data, "job"), strict=True)
    return {home for home, *cell in cells if seen[tuple(cell)] < k}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0, 1), st.sampled_from([(), ("tenure",), ("tenure", "age")]))
def test_households_stay_whole_and_areas_keep_their_counts(
    seed: int, k: int, share: float, similar: tuple[str, ...]
) -> None:
    people = town(seed, 30)
    release = RecordSwapping(k=k, share=share, similar=similar).mask(people, PLACES, seed=seed, keep_household_ids=True)
    for name in ("home", "job", "tenure", "age"):
        assert column(release.data, name) == column(people, name)
    homes = dict(zip(column(people, "home"), column(release.data, "district"), strict=True))
    assert [homes[home] for home in column(people, "home")] == column(release.data, "district")
    pairs = set(zip(column(release.data, "region"), column(release.data, "district"), strict=True))
    assert pairs <= {(f"r{d // 3}", f"d{d}") for d in range(6)}
    assert Counter(column(release.data, "district")) == Counter(column(people, "district"))
    first = dict(zip(column(people, "home"), column(people, "district"), strict=True))
    assert Counter(homes.values()) == Counter(first.values())


@pytest.mark.parametrize("seed", range(6))
def test_every_household_at_risk_lives_in_another_area_of_the_level_at_which_it_is(seed: int) -> None:
    people = town(seed, 200)
    release = RecordSwapping(k=4, share=0.0).mask(people, PLACES, seed=seed, keep_household_ids=True)
    moved = swapped(people, release.data)
    assert rare(people, "district", 4) | rare(people, "region", 4) <= moved
    after = dict(zip(column(people, "home"), column(release.data, "region"), strict=True))
    before = dict(zip(column(people, "home"), column(people, "region"), strict=True))
    at_risk_in_region = rare(people, "region", 4)
    assert all(before[home] != after[home] for home in at_risk_in_region)
    assert "no-partner" not in {note.kind.name for note in release.provenance.step_notes}


def test_a_partner_is_looked_for_in_the_area_above_first() -> None:
    people = town(3, 400)
    release = RecordSwapping(k=1, share=0.5).mask(people, PLACES, seed=1)
    assert column(release.data, "region") == column(people, "region")
    assert column(release.data, "district") != column(people, "district")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_the_share_of_households_is_reached(share: float) -> None:
    people = town(5, 300)
    release = RecordSwapping(k=1, share=share).mask(people, PLACES, seed=2, keep_household_ids=True)
    assert abs(len(swapped(people, release.data)) - share * 300) <= 1
    [note] = release.provenance.step_notes
    assert str(note) == f"{len(swapped(people, release.data))} households changed places ({100 * share:.2f} %)"


def test_tables_of_areas_by_similar_attributes_stay_where_partners_agree() -> None:
    people = town(7, 400)
    release = RecordSwapping(k=3, share=0.4, similar=["tenure"]).mask(people, PLACES, seed=3)
    tables = [
        Counter(zip(column(data, "district"), column(data, "tenure"), strict=True)) for data in (people, release.data)
    ]
    assert tables[0] == tables[1]
    apart = RecordSwapping(k=3, share=0.4).mask(people, PLACES, seed=3).data
    assert Counter(zip(column(apart, "district"), column(apart, "tenure"), strict=True)) != tables[0]


def test_what_is_least_important_is_given_up_first() -> None:
    table = {
        "area": ["a", "b", "b"],
        "tenure": ["own", "own", "rent"],
        "age": [30, 60, 30],
        "job": ["judge", "cook", "cook"],
    }
    people = Microdata.of(table, keys=["area", "job"])
    for seed in range(5):
        release = RecordSwapping(k=2, share=0.0, similar=["tenure", "age"]).mask(people, ["area"], seed=seed)
        assert column(release.data, "area") == ["b", "a", "b"]


def test_without_a_household_of_the_same_size_elsewhere_one_stays_and_the_notes_say_so() -> None:
    people = Microdata.of(
        {"home": [1, 1, 2, 3], "area": list("aabb"), "job": ["judge", "cook", "cook", "cook"]},
        household="home", keys=["area", "job"],
    )  # fmt: skip
    release = RecordSwapping(k=2, share=1.0).mask(people, ["area"], seed=1)
    assert column(release.data, "area") == list("aabb")
    assert "1 household at risk found no household of the same size" in str(release.provenance.step_notes[1])


def test_a_household_whose_place_is_missing_is_not_swapped() -> None:
    people = Microdata.of({"area": ["a", None, "b", "a", None], "job": list("vwxyz")}, keys=["area", "job"])
    for seed in range(10):
        released = column(RecordSwapping(share=1.0).mask(people, ["area"], seed=seed).data, "area")
        assert [place is None for place in released] == [False, True, False, False, True]


def test_what_is_swapped_can_be_neither_similar_nor_risk() -> None:
    for option in ("similar", "risk"):
        with pytest.raises(ParameterError, match=f"{option} = 'region' is not allowed, for it is swapped"):
            RecordSwapping(**{option: ["region"]}).mask(town(1), PLACES, seed=1)


def test_partners_are_alike_and_elsewhere_and_nobody_has_two() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        n = int(rng.integers(1, 40))
        like, area = rng.integers(0, 3, n), rng.integers(0, 4, n)
        wants, free = rng.random(n) < 0.5, rng.random(n) < 0.8
        most = int(rng.integers(0, n + 1))
        partner = pair_elsewhere(like, area, wants, free, most, rng)
        paired = np.flatnonzero(partner != np.arange(n))
        assert (partner[partner] == np.arange(n)).all()
        assert free[paired].all()
        assert (like[partner] == like).all()
        assert (area[partner[paired]] != area[paired]).all()
        assert (wants[paired] | wants[partner[paired]]).all()
        assert len(paired) <= 2 * most
        left = free & wants & (partner == np.arange(n))
        if len(paired) < 2 * most:  # whoever is left had nobody to go to
            for unit in np.flatnonzero(left):
                others = free & (partner == np.arange(n)) & (like == like[unit]) & (area != area[unit])
                assert not others.any()
