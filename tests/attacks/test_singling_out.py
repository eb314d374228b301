"""Predicates read off a release that isolate one original record, against those that do so by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.attacks.singling_out import SinglingOut
from microveil.errors import ParameterError
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata
from microveil.numerics.counting.predicates import isolated
from microveil.progress import silent


def numbers(records: int = 200, seed: int = 2) -> Microdata:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=records)
    return Microdata.of({name: base + rng.normal(size=records) for name in "abcd"})


@settings(max_examples=80, deadline=None)
@given(data=st.data(), columns=st.integers(1, 3), records=st.integers(1, 12))
def test_isolated_records_are_those_found_by_trying_all(data: st.DataObject, columns: int, records: int) -> None:
    cell = st.one_of(st.integers(0, 4).map(float), st.just(np.nan))
    row = st.lists(cell, min_size=records, max_size=records)
    table, centres = (np.array(data.draw(st.lists(row, min_size=columns, max_size=columns))) for _ in range(2))
    reach = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=columns, max_size=columns)))
    found = isolated(table, centres, reach, np.arange(columns), silent, "")
    for q in range(records):
        fitting = np.flatnonzero((np.abs(table - centres[:, [q]]) <= reach[:, None]).all(axis=0))
        assert found[q] == (fitting[0] if len(fitting) == 1 else -1 if len(fitting) == 0 else -2)


def test_an_unmasked_file_is_singled_out_far_beyond_chance() -> None:
    data = numbers()
    risk = SinglingOut().assess(data, data)
    assert risk.value > risk.counters["chance"] + 40
    assert risk.counters["own"] == pytest.approx(risk.value)  # who is isolated is who the predicate was made from
    assert risk.counters["gain"] == pytest.approx(
        100 * (risk.value - risk.counters["chance"]) / (100 - risk.counters["chance"])
    )


def test_strong_noise_leaves_chance() -> None:
    data = numbers(400)
    risk = SinglingOut().assess(data, Noise(alpha=20.0).mask(data, seed=1))
    assert risk.counters["own"] < 1
    assert risk.counters["gain"] < 3
    grouped = SinglingOut().assess(data, MDAV(k=10).mask(data))
    assert grouped.value < SinglingOut().assess(data, data).value / 2


def test_a_predicate_of_equal_categories_isolates_who_is_alone() -> None:
    people = Microdata.of({"job": ["cook", "cook", "judge", "smith"]})
    release = Microdata.of({"job": ["cook", "judge", "judge", None]})
    risk = SinglingOut().assess(people, release, ["job"])
    assert risk.per_record.tolist() == [0.0, 1.0, 1.0, 0.0]
    assert risk.counters["own"] == 25.0


def test_the_same_seed_gives_the_same_predicates_whatever_the_order_of_the_records() -> None:
    data = numbers(150)
    release = Noise(alpha=0.05).mask(data, seed=1).data
    order = np.random.default_rng(3).permutation(150)
    one, other = SinglingOut().assess(data, release), SinglingOut().assess(data.take(order), release.take(order))
    assert other.per_record.tolist() == one.per_record[order].tolist()
    assert other.counters == pytest.approx(one.counters)
    assert (
        SinglingOut(size=2, seed=4).assess(data, release).value
        == SinglingOut(size=2, seed=4).assess(data, release).value
    )


def test_a_number_may_be_as_far_as_the_width_in_released_deviations() -> None:
    """Half of the deviation of 0 and 10, which is 5: the first original is 2.5 away, the second 2.6."""
    people, release = Microdata.of({"a": [2.5, 12.6, 50.0]}), Microdata.of({"a": [0.0, 10.0, None]})
    risk = SinglingOut(width=50.0).assess(people, release)
    assert risk.per_record.tolist() == [1.0, 0.0, 0.0]
    assert risk.counters["own"] == pytest.approx(100 / 3)
    wider = SinglingOut(width=52.0).assess(people, release)
    assert wider.per_record.tolist() == [1.0, 1.0, 0.0]


def test_predicates_have_different_attributes_as_long_as_there_are_any() -> None:
    every = SinglingOut(size=2)._choices(4, np.random.default_rng(1))
    assert sorted(choice.tolist() for choice in every) == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    few = SinglingOut(size=2, predicates=3)._choices(4, np.random.default_rng(1))
    assert [choice.tolist() for choice in few] == [choice.tolist() for choice in every[:3]]
    assert [choice.tolist() for choice in SinglingOut(size=3)._choices(2, np.random.default_rng(1))] == [[0, 1]]


def test_whoever_is_alone_in_the_file_is_singled_out_by_chance_too() -> None:
    alone = Microdata.of({"a": [4.0], "b": ["x"]})
    risk = SinglingOut().assess(alone, alone, ["a", "b"])
    assert (risk.value, risk.counters) == (100.0, {"chance": 100.0, "gain": 0.0, "own": 100.0})


def test_shares_are_means_over_the_predicates() -> None:
    """By `a` everyone is alone, by `b` nobody is; one attribute in a predicate."""
    people = Microdata.of({"a": ["p", "q", "r", "s"], "b": ["x", "x", "x", "x"]})
    risk = SinglingOut(size=1).assess(people, people, ["a", "b"])
    assert risk.per_record.tolist() == [0.5] * 4
    assert risk.counters == pytest.approx({"chance": 50, "gain": 0, "own": 50})


def test_records_can_be_drawn() -> None:
    data = numbers(100)
    risk = SinglingOut(records=10, seed=3).assess(data, data)
    assert risk.attacked == 10


@pytest.mark.parametrize("parameters", [{"size": 0}, {"predicates": 0}, {"width": -1.0}])
def test_wrong_parameters_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="singling-out"):
        SinglingOut(**parameters)  # type: ignore[arg-type]
