"""What the classes of a release tell together of keys and confidential values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.attacks.definetti import DeFinetti
from microveil.masking.coarsening.generalise import Generalise
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.microdata import Microdata
from microveil.numerics.statistics.exchangeable import Shuffled, learn
from microveil.progress import silent


def planted(strength: float, records: int = 400, size: int = 10, seed: int = 1) -> tuple[Microdata, Microdata]:
    """Groups of persons drawn at random, of which only the number and the values are released."""
    rng = np.random.default_rng(seed)
    sick = rng.integers(0, 2, records)
    keys = {
        name: np.where(rng.random(records) < strength, sick, rng.integers(0, 2, records)).astype(str) for name in "abc"
    }
    ill = np.array(["flu", "gout"])[sick]
    data = Microdata.of({**keys, "ill": ill}, keys=["a", "b", "c"], confidential=["ill"])
    groups = [f"group {i // size}" for i in range(records)]
    released = {"a": groups, "b": ["*"] * records, "c": ["*"] * records, "ill": ill}
    return data, Microdata.of(released)


def test_what_depends_on_the_keys_is_guessed_though_every_class_has_both_values() -> None:
    data, release = planted(0.9)
    risk = DeFinetti().assess(data, release)
    assert risk.value > 95
    assert 50 < risk.counters["baseline"] < 60
    assert risk.counters["most frequent"] < 70
    assert risk.counters["one pass"] > 90
    assert risk.counters["gain"] == pytest.approx(
        100 * (risk.value - risk.counters["most frequent"]) / (100 - risk.counters["most frequent"])
    )


def test_what_does_not_depend_on_the_keys_is_guessed_no_better_than_without_them() -> None:
    found = [DeFinetti().assess(*planted(0.0, seed=seed)) for seed in range(5)]
    gained = [risk.value - risk.counters["most frequent"] for risk in found]
    # a difference of two shares of 400 has a standard error of at most 3.5, the mean of five of 1.6
    assert abs(float(np.mean(gained))) < 5


def test_one_class_for_everybody_tells_nothing() -> None:
    data, _ = planted(1.0, 100)
    release = Microdata.of({name: ["*"] * 100 for name in "abc"} | {"ill": data.arrow("ill").to_pylist()})
    risk = DeFinetti().assess(data, release)
    shares = np.unique(data.arrow("ill").to_pylist(), return_counts=True)[1] / 100
    # by symmetry every person of the class may have either value
    assert risk.value == pytest.approx(100 * shares.max())
    assert risk.counters["baseline"] == pytest.approx(100 * (shares**2).sum())


def test_keys_left_alone_disclose_everything_that_they_single_out() -> None:
    data = Microdata.of({"age": np.arange(30), "ill": ["flu", "gout", "cold"] * 10}, keys=["age"], confidential=["ill"])
    assert DeFinetti().assess(data, data).value == 100.0


def test_two_persons_and_two_values_have_the_odds_of_the_model() -> None:
    # likelihoods a: .9, .1 and b: .8, .2; the assignment keeps their odds ratio with margins of 1
    pairs = Shuffled(
        np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1]), np.ones(2), np.ones(4, dtype=np.bool_),
        np.zeros((1, 2), dtype=np.int64),
    )  # fmt: skip
    chances = pairs.assigned(np.log([0.9, 0.1, 0.8, 0.2]))
    odds = np.sqrt(0.9 * 0.2 / (0.1 * 0.8))
    assert chances == pytest.approx([odds / (1 + odds), 1 / (1 + odds), 1 / (1 + odds), odds / (1 + odds)])


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 4))
def test_assignments_keep_the_counts_of_closed_classes(seed: int, persons: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    held = rng.integers(0, values, persons)
    codes, counts = np.unique(held, return_counts=True)
    person = np.repeat(np.arange(persons), len(codes))
    cell = np.tile(np.arange(len(codes)), persons)
    keys = rng.integers(0, 3, (2, persons))
    closed = np.ones(len(person), dtype=np.bool_)
    pairs = Shuffled(person, codes[cell], cell, counts.astype(float), closed, keys)
    found = learn(pairs, 3, 1.0, 0.0, silent, "")
    assert np.bincount(person, weights=found.chances) == pytest.approx(np.ones(persons))
    assert np.bincount(cell, weights=found.chances) == pytest.approx(counts, abs=1e-3)


def mixed(records: int = 300, seed: int = 5) -> Microdata:
    """Numeric keys with missing cells, and two confidential attributes, one of them a number."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, records).astype(float)
    sex = rng.choice(["f", "m"], records)
    old = age > 50
    ill = np.where(rng.random(records) < 0.9, np.where(old, "gout", "flu"), "cold")
    income = np.where(old, 3000, 1000) + rng.normal(0, 200, records)
    age[rng.random(records) < 0.05] = np.nan
    cells = {
        "age": [None if np.isnan(a) else a for a in age], "sex": sex,
        "ill": [None if i % 40 == 3 else value for i, value in enumerate(ill)], "income": income,
    }  # fmt: skip
    return Microdata.of(cells, keys=["age", "sex"], confidential=["ill", "income"])


def test_numbers_missing_cells_and_several_attributes() -> None:
    data = mixed()
    release = Mondrian(k=20).mask(data, ["age", "sex"])
    risk = DeFinetti().assess(data, release)
    assert set(risk.per_attribute) == {"ill", "income"}
    assert risk.attacked == len(data)
    only = DeFinetti(confidential=("ill",)).assess(data, release)
    assert only.attacked == len(data) - len([1 for i in range(300) if i % 40 == 3])
    assert only.value >= only.counters["baseline"]


def test_labels_tell_as_much_with_and_without_provenance() -> None:
    data, _ = planted(0.8, 300)
    release = Mondrian(k=8, publish="interval").mask(data, ["a", "b", "c"])
    known, plain = DeFinetti().assess(data, release), DeFinetti().assess(data, release.data)
    assert plain.value == pytest.approx(known.value)


def test_shuffled_records_are_attacked_all_the_same() -> None:
    data, release = planted(0.9)
    before = DeFinetti().assess(data, release)
    order = np.random.default_rng(3).permutation(len(data))
    both = DeFinetti().assess(data.take(order), release.take(order))
    assert both.value == pytest.approx(before.value)
    assert both.per_record == pytest.approx(before.per_record[order])


def test_suppressed_cells_leave_more_records_possible() -> None:
    data, _ = planted(0.9, 200)
    kept = Generalise(k=2).mask(data, ["a", "b", "c"])
    cells = {name: [None if i % 3 == 0 else v for i, v in enumerate(data.arrow(name).to_pylist())] for name in "abc"}
    emptied = Microdata.of({**cells, "ill": data.arrow("ill").to_pylist()})
    assert 0 < DeFinetti().assess(data, emptied).counters["baseline"] <= DeFinetti().assess(data, kept).value


def test_adult_records_are_guessed_better_than_at_random(reference: Callable[..., Microdata]) -> None:
    keys = ("age", "sex", "race", "marital-status", "education", "workclass", "salary-class")
    table = reference("adult_arx", (*keys, "occupation")).take(np.arange(1500))
    roles = [table[key].changed(roles=("key",)) for key in keys] + [
        table["occupation"].changed(roles=("confidential",))
    ]
    table = table.with_schema(table.schema.replacing(*roles))
    release = Mondrian(k=6).mask(table, keys)
    risk = DeFinetti().assess(table, release)
    assert release.guarantees.k >= 6
    assert risk.low > risk.counters["most frequent"] > risk.counters["baseline"]
