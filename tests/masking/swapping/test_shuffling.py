"""Data shuffling: marginals stay exactly, ranks correlate as before, and no record keeps its own values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from microveil.errors import DataError, SchemaError
from microveil.masking.swapping.shuffling import Shuffling
from microveil.microdata import Microdata

N = 1_000
MODELS = ("copula", "normal")


def skewed(seed: int) -> Microdata:
    """Age stays with its record; wealth and income depend on it and on each other, far from normally."""
    rng = np.random.default_rng(seed)
    age, own, common = rng.uniform(18, 90, N), rng.standard_normal(N), rng.standard_normal(N)
    income = np.exp(0.02 * age + 0.6 * common + 0.3 * own)
    wealth = np.exp(0.05 * age + 0.9 * common)
    return Microdata.of({"age": age, "income": income, "wealth": wealth})


def ranks_of(data: Microdata) -> np.ndarray:
    return np.asarray(spearmanr(data.matrix(["age", "income", "wealth"])).statistic)


@pytest.mark.parametrize("model", MODELS)
def test_every_value_is_released_as_often_as_it_occurs(model: str) -> None:
    table = {
        "size": ["small", "large", "middle", "small", None, "large", "small", "middle"],
        "income": [10.5, 10.5, 30.0, None, 20.0, 70.0, -1.0, 5.0],
        "region": list("abcabcab"),
    }
    people = Microdata.of(table, ordinal={"size": ["small", "middle", "large"]})
    for seed in range(5):
        release = Shuffling(model=model).mask(people, ["size", "income"], seed=seed)
        for name in ("size", "income"):
            assert sorted(map(str, release.frame[name].to_pylist())) == sorted(map(str, table[name]))
        assert release.frame["region"].to_pylist() == table["region"]


@pytest.mark.parametrize("seed", range(5))
def test_ranks_correlate_as_before_within_two_standard_errors(seed: int) -> None:
    people = skewed(seed)
    released = Shuffling().mask(people, ["income", "wealth"], seed=seed).data
    assert np.abs(ranks_of(released) - ranks_of(people)).max() <= 2 / np.sqrt(N)


def test_values_as_they_are_make_a_worse_model_of_skewed_ones_than_ranks() -> None:
    people = skewed(1)
    errors = [
        np.abs(
            ranks_of(Shuffling(model=model).mask(people, ["income", "wealth"], seed=3).data) - ranks_of(people)
        ).max()
        for model in MODELS
    ]
    assert errors[1] > 2 * errors[0]


@pytest.mark.parametrize("model", MODELS)
def test_given_what_stays_a_released_value_says_nothing_about_the_own_one(model: str) -> None:
    """An intruder who knows the method, and everything but the value of one person, has what a regression on the
    attributes that stay would tell."""
    found = []
    for seed in range(8):
        people = skewed(seed)
        released = Shuffling(model=model).mask(people, ["income", "wealth"], seed=100 + seed).data
        age = np.column_stack([np.ones(N), people.matrix(["age"])])
        before, after = (np.log(table.matrix(["income"])[:, 0]) for table in (people, released))
        own, seen = (values - age @ np.linalg.lstsq(age, values)[0] for values in (before, after))
        found.append(float(np.corrcoef(own, seen)[0, 1]))
    assert abs(np.mean(found)) < 4 / np.sqrt(N * len(found))


def test_cells_that_are_not_applicable_stay_where_they_are() -> None:
    schema = Microdata.of({"age": list(range(20, 40)), "rent": [None if i % 3 == 0 else 100.0 * i for i in range(20)]})
    people = schema.with_schema(schema.schema.replacing(schema["rent"].changed(missing="not applicable")))
    released = Shuffling().mask(people, ["rent"], seed=2).frame["rent"].to_pylist()
    assert [value is None for value in released] == [i % 3 == 0 for i in range(20)]


def test_only_what_is_named_is_drawn_given() -> None:
    people = skewed(4)
    alone = Shuffling(given=[]).mask(people, ["income"], seed=1).data
    assert abs(spearmanr(alone.matrix(["age", "income"])).statistic) < 4 / np.sqrt(N)
    assert spearmanr(people.matrix(["age", "income"])).statistic > 0.4


def test_wrong_attributes_are_refused_in_one_sentence() -> None:
    people = Microdata.of({"name": list("abcd"), "age": [1, 2, 3, 4], "job": list("wxyz")}, identifiers=["name"])
    with pytest.raises(DataError, match="given names 'age', which is to be masked itself"):
        Shuffling(given=["age"]).mask(people, ["age"], seed=1)
    with pytest.raises(SchemaError, match="given names 'name', which is an identifier"):
        Shuffling(given=["name"]).mask(people, ["age"], seed=1)
    with pytest.raises(DataError, match="attribute 'job' is nominal, but shuffling works on"):
        Shuffling().mask(people, ["job"], seed=1)
    with pytest.raises(DataError, match="the table has 2 records, but shuffling needs at least 3"):
        Shuffling().mask(Microdata.of({"age": [1, 2]}), seed=1)
