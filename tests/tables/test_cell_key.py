"""The cell-key method: the same cell always gets the same value, and what averaging is worth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import microveil as mv
from microveil.errors import MicroveilError
from microveil.tables import CellKey, Respondents, perturbation_table


@pytest.fixture(scope="module")
def people() -> mv.Microdata:
    sample = mv.datasets.survey(600, seed=3)
    return sample.without([sample.schema.weight or ""])


def cells_of(made: mv.ProtectedTable) -> dict[frozenset[tuple[str, str]], float]:
    named = (frozenset((n, c) for n, c in made.name(i).items() if c != "Total") for i in range(len(made.cells)))
    return dict(zip(named, made.values.tolist(), strict=True))


@pytest.mark.spec("01:DAT-1")
@pytest.mark.parametrize("value", [None, "income"])
def test_the_same_cell_gets_the_same_value_in_every_table(people: mv.Microdata, value: str | None) -> None:
    names = ["sex", "education", "region"]
    tables = [
        cells_of(mv.table(people, list(by), value, method="cell-key", seed=11))
        for size in (1, 2, 3)
        for by in itertools.permutations(names, size)
    ]
    together: dict[frozenset[tuple[str, str]], set[float]] = {}
    for table in tables:
        for cell, published in table.items():
            together.setdefault(cell, set()).add(round(published, 6))
    assert max(len(values) for values in together.values()) == 1
    assert len(together) > 50


def test_another_definition_of_the_same_records_gives_the_same_value(people: mv.Microdata) -> None:
    """So that no second question about the same persons averages the deviation out."""
    sex = people.categories("sex")
    doubled = mv.Microdata.of({"a": [sex.domain[c] for c in sex.codes], "b": [f"x{c}" for c in sex.codes]})
    made = cells_of(mv.table(doubled, ["a", "b"], method="cell-key", seed=5))
    for code, category in enumerate(sex.domain):
        alone = {made[cell] for cell in made if ("a", str(category)) in cell or ("b", f"x{code}") in cell}
        assert len(alone) == 1


def test_records_keep_their_keys_in_another_order_of_the_file(people: mv.Microdata) -> None:
    numbered = {"id": list(range(len(people))), "sex": people.frame["sex"].to_list()}
    shuffled = {name: column[::-1] for name, column in numbered.items()}
    source = Respondents(identifier="id")
    made = [
        cells_of(mv.table(mv.Microdata.of(data), ["sex"], method="cell-key", seed=5, source=source))
        for data in (numbered, shuffled)
    ]
    assert made[0] == made[1]
    assert made[0] != cells_of(mv.table(mv.Microdata.of(numbered), ["sex"], method="cell-key", seed=6, source=source))


@pytest.mark.parametrize(("variance", "deviation", "small"), [(2.0, 5, 2), (1.0, 3, 0), (3.0, 8, 4)])
def test_the_perturbation_table_has_no_bias_and_its_variance(variance: float, deviation: int, small: int) -> None:
    made = perturbation_table(variance, deviation, small)
    for count, (targets, chances) in enumerate(zip(made.targets, made.probabilities, strict=True)):
        assert chances.sum() == pytest.approx(1)
        assert chances @ (targets - count) == pytest.approx(0, abs=1e-6)
        assert not (set(range(1, small + 1)) & set(targets.tolist()))
        assert targets.min() >= 0
        assert np.abs(targets - count).max() <= deviation
    targets, chances = made.targets[-1], made.probabilities[-1]
    assert chances @ (targets - (len(made.targets) - 1)) ** 2 == pytest.approx(variance, rel=1e-4)


def test_the_distribution_has_the_greatest_entropy() -> None:
    """Between counts that can all be reached, the chance falls as a discrete normal distribution does."""
    chances = perturbation_table(2.0, 5, 0).probabilities[-1]
    second_differences = np.diff(np.log(chances), 2)
    assert second_differences == pytest.approx(second_differences[0], rel=1e-3)


def test_zero_stays_zero_and_small_counts_do_not_occur(people: mv.Microdata) -> None:
    made = mv.table(people, ["age", "region"], rules=["frequency 3", "zeros"], method=CellKey(small=2), seed=7)
    assert (made.values[made.cells.contributors == 0] == 0).all()
    assert not (set(made.values.astype(int).tolist()) & {1, 2})
    deviation = made.values - made.cells.values
    assert np.abs(deviation).max() <= 5
    assert abs(deviation.mean()) < 0.5


def test_sums_deviate_by_a_share_of_the_largest_contribution(people: mv.Microdata) -> None:
    made = mv.table(people, ["sex", "region"], "income", method=CellKey(share=0.3), seed=7)
    deviation = np.abs(made.values - made.cells.values)
    assert (deviation <= 0.3 * made.cells.largest[:, 0] + 1e-6).all()
    assert (deviation[made.cells.contributors > 0] > 0).all()


def test_averaging_over_parts_finds_more_totals_than_their_own_values_do() -> None:
    """The attack that the method is open to: sums of parts are further estimates of a total."""
    draw = np.random.default_rng(4)
    data = {f"d{i}": [f"c{c}" for c in draw.integers(0, 2, 4000)] for i in range(6)}
    made = mv.table(data, list(data), method=CellKey(variance=2.0, small=0), seed=3)
    found = made.facts["averaging"]
    assert found["averaged"] > 1.2 * found["alone"]


def test_margins_do_not_add_up_and_a_seed_is_drawn_if_none_is_given(people: mv.Microdata) -> None:
    made = [mv.table(people, ["sex", "region"], method="cell-key") for _ in range(2)]
    assert made[0].seed != made[1].seed
    assert made[0].seed is not None
    assert made[0].seed > 2**64
    assert np.abs(made[0].cells.structure.equations @ made[0].values).max() > 0


def test_repeated_identifiers_are_refused() -> None:
    with pytest.raises(MicroveilError, match="missing or repeated"):
        mv.table({"id": [1, 1], "a": ["x", "y"]}, ["a"], method="cell-key", source=Respondents(identifier="id"))
    with pytest.raises(MicroveilError, match="only the cell-key method takes a seed"):
        mv.table({"a": ["x", "y"]}, ["a"], seed=5)
