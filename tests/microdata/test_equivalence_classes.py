"""Counting combinations of key values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import equivalence_classes_of, key_codes
from microveil.numerics.counting.distinct_rows import number_rows


@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(1, 40),
    sizes=st.lists(st.sampled_from([1, 2, 3, 7, 2**40]), min_size=1, max_size=4),
    seed=st.integers(0, 999),
)
def test_rows_are_numbered_by_their_distinct_combinations_in_order(n: int, sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.choice(rng.integers(0, size, 4), n).astype(np.int64) for size in sizes]
    rows, first = number_rows(columns, sizes)
    table = np.column_stack(columns)
    distinct, expected = np.unique(table, axis=0, return_inverse=True)
    assert (rows == expected.reshape(-1)).all()
    assert (table[first] == distinct).all()


def _agree(one: list[str | None], other: list[str | None], policies: list[str]) -> bool:
    return all(
        a == b or (policy == "wildcard" and None in (a, b)) for a, b, policy in zip(one, other, policies, strict=True)
    )


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=3, max_size=3), min_size=1, max_size=25),
    policies=st.lists(st.sampled_from(["wildcard", "own category", "not applicable"]), min_size=3, max_size=3),
)
def test_frequencies_are_those_of_comparing_every_pair_of_records(
    rows: list[list[str | None]], policies: list[str]
) -> None:
    names = ["x", "y", "z"]
    data = Microdata.of({name: [row[j] for row in rows] for j, name in enumerate(names)}, nominal=names)
    changed = [data[name].changed(missing=policy) for name, policy in zip(names, policies, strict=True)]
    data = data.with_schema(data.schema.replacing(*changed))
    found = equivalence_classes_of(data, names).per_record
    assert found.tolist() == [sum(_agree(one, other, policies) for other in rows) for one in rows]


def test_weights_estimate_the_population() -> None:
    people = Microdata.of({"sex": ["f", "f", "m"], "w": [10.0, 20.0, 5.0]}, keys=["sex"], weight="w")
    found = equivalence_classes_of(people, ["sex"])
    assert found.population[found.of_record].tolist() == [30.0, 30.0, 5.0]


def test_numbers_and_their_missing_codes_are_values_too() -> None:
    people = Microdata.of({"age": [31.0, 31.0, -9.0, -8.0, None]})
    age = people["age"].changed(missing_codes=(-9, -8), missing="own category")
    codes = key_codes(people.with_schema(people.schema.replacing(age)), "age")
    assert len(set(codes.tolist())) == 4
    assert codes[0] == codes[1]


def test_no_attributes_are_refused() -> None:
    with pytest.raises(DataError, match="at least one attribute"):
        equivalence_classes_of(Microdata.of({"a": [1]}), [])


def test_a_table_without_records_has_no_combinations() -> None:
    assert len(equivalence_classes_of(Microdata.of({"a": np.array([], dtype=float)}), ["a"])) == 0
