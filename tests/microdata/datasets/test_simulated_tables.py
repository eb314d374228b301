"""Simulated files and the choice of key attributes."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.errors import ParameterError, UnknownNameError
from microveil.microdata import Microdata
from microveil.microdata.datasets.simulated_tables import RECIPES, fewest_repeats, simulated


def matrix(data: Microdata) -> np.ndarray:
    return np.column_stack([data.numbers(name).values for name in data.names])


@pytest.mark.spec("02:LM26")
def test_the_a_files_have_their_distributions_and_any_shape() -> None:
    uniform, normal = matrix(simulated("uniform-a", 4000, 20)), matrix(simulated("normal-a", 4000, 20))
    assert uniform.shape == normal.shape == (4000, 20)
    assert uniform.min() >= 0
    assert uniform.max() <= 1000
    # five standard errors of the mean and the deviation of 80,000 draws
    assert uniform.mean() == pytest.approx(500, abs=5 * 288.7 / 80_000**0.5)
    assert uniform.std() == pytest.approx(1000 / 12**0.5, rel=0.01)
    assert normal.mean() == pytest.approx(0, abs=5 * 0.05 / 80_000**0.5)
    assert normal.std() == pytest.approx(0.05, rel=0.0125)
    assert np.abs(np.corrcoef(uniform, rowvar=False) - np.eye(20)).max() < 0.1


@pytest.mark.spec("02:LM26")
@pytest.mark.parametrize(("name", "records", "keys"), [("uniform-b", 4800, 3), ("normal-b", 1560, 5)])
def test_the_b_files_can_be_divided_and_their_keys_repeat_least(name: str, records: int, keys: int) -> None:
    data = simulated(name)
    assert (len(data), len(data.names), len(data.schema.keys)) == (records, 16, keys)
    assert all(records % k == 0 for k in (3, 4, 5, 6))
    cells = matrix(data)
    assert (cells == np.rint(cells)).all()
    distinct = {attribute: len(np.unique(column)) for attribute, column in zip(data.names, cells.T, strict=True)}
    others = [count for attribute, count in distinct.items() if attribute not in data.schema.keys]
    assert min(distinct[attribute] for attribute in data.schema.keys) >= max(others)
    assert max(others) < records  # values do repeat, or the choice would say nothing


@pytest.mark.spec("02:LM26")
def test_keys_are_chosen_by_their_repeats_the_first_of_equals_in_file_order() -> None:
    data = Microdata.of({"a": [1, 1, 2, 2], "b": ["x", "y", "z", "w"], "c": [1, 2, 3, 3], "d": [3, 2, 1, 1]})
    assert fewest_repeats(data, 1) == ("b",)
    assert fewest_repeats(data, 2) == ("b", "c")
    assert fewest_repeats(data, 3, ["d", "c", "a"]) == ("d", "c", "a")
    with pytest.raises(ParameterError, match="count = 5"):
        fewest_repeats(data, 5)


def test_the_same_seed_gives_the_same_file_and_names_are_checked() -> None:
    assert simulated("uniform-a", 50, seed=3).digest() == simulated("uniform-a", 50, seed=3).digest()
    assert simulated("uniform-a", 50, seed=3).digest() != simulated("uniform-a", 50, seed=4).digest()
    assert all(len(simulated(name, 12)) == 12 for name in RECIPES)
    with pytest.raises(UnknownNameError, match="did you mean 'normal-b'"):
        simulated("normal-c")
    with pytest.raises(ParameterError, match="attributes = 2 is not allowed"):
        simulated("uniform-b", attributes=2)
    with pytest.raises(ParameterError, match="records = 0 is not allowed"):
        simulated("uniform-a", 0)
