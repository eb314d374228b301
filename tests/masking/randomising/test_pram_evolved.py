"""PRAM with matrices that evolve on the table: what is released and said, and what an intruder makes of it."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest

from microveil.attacks.pram_disclosure import ExpectedRatio, MapDisclosure
from microveil.errors import DataError, ParameterError
from microveil.masking.plan import Plan
from microveil.masking.randomising.evolution import Evolution
from microveil.masking.randomising.pram import PRAM, variable_of
from microveil.microdata import Microdata
from microveil.numerics.evolution.matrix_evolution import Guard, Strategy
from microveil.numerics.perturbing.posterior import map_disclosure
from microveil.numerics.perturbing.transition_matrices import frequency_matrix
from microveil.protection import protect
from reproduction.pram import DEGREE


@pytest.fixture(scope="module")
def people() -> Microdata:
    rng = np.random.default_rng(4)
    a = rng.choice(list("xyz"), 300, p=[0.5, 0.3, 0.2])
    ill = np.where(rng.random(300) < 0.7, np.where(a == "x", "yes", "no"), rng.choice(["yes", "no"], 300))
    return Microdata.of({"a": a, "b": rng.choice(list("pq"), 300), "ill": ill})


def evolved(**parameters: Any) -> PRAM:
    return PRAM(matrix="evolved", **{"generations": 60, **parameters})


@pytest.mark.spec("05:PE-01", "05:PE-05")
def test_the_release_holds_matrices_that_evolved_together(people: Microdata) -> None:
    release = evolved().mask(people, ["a", "b"], seed=1)
    assert {block: matrix.shape for block, matrix in release.matrices.items()} == {("a",): (3, 3), ("b",): (2, 2)}
    start = frequency_matrix(people.categories("a").frequencies, 0.5)
    assert np.abs(release.matrices[("a",)] - start).max() > 0.01
    again = evolved().mask(people, ["a", "b"], seed=1)
    assert again.data.digest() == release.data.digest()
    assert (again.matrices[("a",)] == release.matrices[("a",)]).all()
    # with another attribute beside it, a matrix evolves otherwise
    alone = evolved().mask(people, ["a"], seed=1)
    assert not np.array_equal(alone.matrices[("a",)], release.matrices[("a",)])


@pytest.mark.spec("05:PE-05")
def test_a_note_tells_the_fitness_to_expect_beside_the_one_that_was_optimised(people: Microdata) -> None:
    (note,) = evolved().mask(people, ["a", "b"], seed=1).provenance.step_notes
    assert note.kind.name == "matrices-evolved"
    values = note.values
    assert (values["generations"], values["perturbations"]) == (60, 50)
    assert values["fresh"] < values["start"]  # type: ignore[operator]
    assert values["fresh"] != values["stored"]
    assert values["disclosed"] <= values["before"]  # type: ignore[operator]
    assert "60 generations" in str(note)
    assert "50 fresh perturbations" in str(note)


def test_settings_go_where_they_belong(people: Microdata) -> None:
    """Fitness, guard and strategy are what was asked for, and the usual ones where nothing was."""
    variables = [variable_of(people, ("a",))]
    usual, other = Evolution(), Evolution(by="max", repeats=2, guard="term", epsilon=2.0, generations=7)
    made = [settings.fitness_of(people, variables, "pram") for settings in (usual, other)]
    assert [(fitness.by, fitness.repeats) for fitness in made] == [("mean", 5), ("max", 2)]  # type: ignore[attr-defined]
    assert usual._guard() == Guard(bound="start")
    assert other._guard() == Guard(weight=0.5, epsilon=2.0)
    assert Evolution(guard="none")._guard() == Guard()
    assert usual._strategy(variables) == Strategy(generations=500, common=True, scale=1_000)
    many = variable_of(Microdata.of({"x": [f"c{i}" for i in range(51)]}), ("x",))
    assert other._strategy([*variables, many]) == Strategy(generations=7, common=True, scale=10_000)


def test_the_start_decides_what_may_be_disclosed(people: Microdata) -> None:
    for start, invariant, diagonal in ((None, False, 0.5), (0.9, False, 0.9), (None, True, 0.6), (0.7, True, 0.7)):
        made = Evolution(start=start).start_of(people.categories("a").frequencies, invariant=invariant)
        assert np.diag(made) == pytest.approx(diagonal)
    (note,) = evolved(start=0.9, generations=5).mask(people, ["a"], seed=1).provenance.step_notes
    assert note.values["before"] == pytest.approx(90, abs=1)


def test_missing_cells_cost_nothing_in_the_fitness() -> None:
    data = Microdata.of({"x": ["u", "v", None, None] * 5, "y": ["k", "l", "k", "l"] * 5})
    data = data.with_schema(data.schema.replacing(data["x"].changed(missing="not applicable")))
    variables = [variable_of(data, (name,)) for name in data.names]
    fitness = Evolution().fitness_of(data, variables, "pram")
    assert fitness.of([np.eye(2), np.eye(2)], np.random.default_rng(1)).loss == 0.0
    assert fitness.of([np.full((2, 2), 0.5), np.eye(2)], np.random.default_rng(1)).loss > 0.0


def test_evolved_matrices_are_made_of_all_attributes_together() -> None:
    assert PRAM(matrix="evolved").is_joint
    assert not PRAM().is_joint


@pytest.mark.spec("05:PE-06")
def test_evolution_for_joint_counts_keeps_frequencies_and_range(people: Microdata) -> None:
    method = evolved(fitness="bivariate", invariant=True, diagonal=(0.55, 0.75), beside=["ill"])
    release = method.mask(people, ["a"], seed=1)
    matrix, t = release.matrices[("a",)], people.categories("a").frequencies
    assert t @ matrix == pytest.approx(t)
    assert np.diag(matrix).min() >= 0.55 - 1e-9
    assert np.diag(matrix).max() <= 0.75 + 1e-9
    usual = evolved(fitness="bivariate", invariant=True, diagonal=(0.55, 0.75)).mask(people, ["a"], seed=1)
    assert usual.matrices[("a",)].shape == (3, 3)  # beside all others


def test_a_range_that_an_evolved_matrix_cannot_keep_is_noted() -> None:
    data = Microdata.of({"x": ["a"] * 4 + ["b"] * 300})
    notes = evolved(invariant=True, diagonal=(0.55, 0.75)).mask(data, seed=1).provenance.notes
    assert "pram: the matrix of 'x' keeps the frequencies, but not the diagonal within 0.55 to 0.75" in notes


def test_a_given_matrix_stays_as_it_is_given(people: Microdata) -> None:
    rows = [[1 / 3, 1 / 3, 1 / 3], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]
    release = evolved(given={"a": rows}).mask(people, ["a", "b"], seed=1)
    assert release.matrices[("a",)] == pytest.approx(np.array(rows), abs=1e-15)


@pytest.mark.parametrize("how", ["missing", "compound", "one category", "nothing but missing", "one record"])
def test_awkward_tables_evolve_too(how: str) -> None:
    cells: dict[str, list[Any]] = {"x": ["u", "v", "w", None] * 10, "y": ["k", "l", "k", "m"] * 10}
    if how == "one category":
        cells = {"x": ["u"] * 9, "y": ["k", "l", "k"] * 3}
    if how == "nothing but missing":
        cells["x"] = [None] * 40
    if how == "one record":
        cells = {"x": ["u"], "y": ["k"]}
    data = Microdata.of(cells, nominal=["x", "y"])
    kept = data.with_schema(data.schema.replacing(data["x"].changed(missing="not applicable")))
    release = evolved(generations=20, compound=how == "compound").mask(kept, ["x", "y"], seed=1)
    before, after = (table.arrow("x").to_pylist() for table in (kept, release.data))
    assert [value is None for value in after] == [value is None for value in before]


def test_ordered_categories_move_no_further_than_their_reach() -> None:
    grades = Microdata.of({"grade": [1, 2, 3, 4, 5] * 40}, ordinal=["grade"])
    matrix = evolved(reach=1).mask(grades, seed=1).matrices[("grade",)]
    places = np.arange(5)
    assert (matrix[np.abs(places[:, None] - places) > 1] == 0).all()
    assert (matrix[np.abs(places[:, None] - places) == 1] > 0).any()


def test_a_privacy_loss_is_kept_or_refused(people: Microdata) -> None:
    matrix = evolved(epsilon=1.5).mask(people, ["a"], seed=1).matrices[("a",)]
    assert np.log(matrix.max(axis=0) / matrix.min(axis=0)).max() <= 1.5 + 1e-9
    with pytest.raises(DataError, match="let fewer categories stay at the start"):
        evolved(epsilon=0.1).mask(people, ["a"], seed=1)


def test_a_plan_makes_the_same_evolved_release_again(people: Microdata) -> None:
    release = evolved(by="max", repeats=2, guard="term", start=0.4).mask(people, ["a", "b"], seed=7)
    plan = Plan.from_plain(tomllib.loads(release.plan.to_toml()))
    assert protect(people, plan).data.digest() == release.data.digest()


def test_what_evolution_is_not_asked_for_changes_no_other_release(people: Microdata) -> None:
    """Its settings stand in a plan only where they are set, and so do not change what is drawn."""
    plain = PRAM(p=0.7).mask(people, ["a"], seed=1).plan.to_plain()["steps"][0]["parameters"]
    assert set(plain) == {"p", "matrix", "theta", "invariant", "lowering", "exclude_missing", "compound"}


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"matrix": "frequency", "generations": 10}, "generations is not allowed without matrix = 'evolved'"),
        ({"generations": 0}, "generations = 0 is not allowed"),
        ({"start": 0.0}, "start = 0.0 is not allowed"),
        ({"repeats": 0}, "repeats = 0 is not allowed"),
        ({"guard": "maybe"}, "guard = 'maybe' is not allowed"),
        ({"beside": ["ill"]}, "beside is not allowed without fitness = 'bivariate'"),
        ({"fitness": "bivariate", "by": "max"}, "by is not allowed with fitness = 'bivariate'"),
        ({"reach": 1, "invariant": True}, "reach is not allowed with invariant or diagonal"),
        ({"reach": 1, "diagonal": (0.5, 0.8)}, "reach is not allowed with invariant or diagonal"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(parameters: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ParameterError, match=f"^pram: {wrong}"):
        PRAM(**{"matrix": "evolved", **parameters})


@pytest.mark.parametrize(
    ("attributes", "beside", "wrong"),
    [
        (["a"], ["il"], "beside names 'il', which is no attribute; did you mean 'ill'"),
        (["a"], ["a"], "beside names 'a', which is masked itself"),
        (["a"], ["age"], "beside names 'age', which is numeric"),
        (["a", "b", "ill"], None, "needs a categorical attribute that is not masked"),
    ],
)
def test_joint_counts_need_another_attribute(
    people: Microdata, attributes: list[str], beside: list[str] | None, wrong: str
) -> None:
    columns = {name: people.arrow(name).to_pylist() for name in people.names}
    data = Microdata.of({**columns, "age": list(range(300))}, nominal=["a", "b", "ill"])
    with pytest.raises(ParameterError, match=f"^pram: .*{wrong}"):
        evolved(fitness="bivariate", beside=beside).mask(data, attributes, seed=1)


def test_more_categories_than_can_evolve_are_refused() -> None:
    with pytest.raises(DataError, match=r"'x' has 201 categories.*room for 200; recode it first"):
        evolved().mask(Microdata.of({"x": [f"c{i}" for i in range(201)] * 2}), seed=1)


# --- the intruder who knows the matrix -------------------------------------------------------------------------------


@pytest.mark.spec("05:PE-05")
def test_an_intruder_who_knows_an_unguarded_matrix_undoes_it_and_the_measures_say_so() -> None:
    """Hardly a category is published as it is, expected ratios are low, and yet most true ones are named."""
    data = Microdata.of({"degree": np.repeat(list("1234569"), DEGREE[:7])})
    free = PRAM(matrix="evolved", generations=900, repeats=2, guard="none").mask(data, seed=12)
    guarded = PRAM(matrix="evolved", generations=900, repeats=2).mask(data, seed=12)
    risks = {name: MapDisclosure().assess(data, release) for name, release in (("free", free), ("guarded", guarded))}
    start = map_disclosure(frequency_matrix(DEGREE[:7], 0.5), DEGREE[:7])
    assert risks["free"].counters["kept"] < 15
    assert ExpectedRatio().assess(data, free).value < 20
    assert risks["free"].value > 100 * start + 3
    assert risks["free"].value == pytest.approx(risks["free"].counters["expected"], abs=4)
    assert risks["guarded"].counters["expected"] <= 100 * start + 0.5
    assert risks["guarded"].value < risks["free"].value - 3
    (told,) = free.provenance.step_notes
    assert told.values["disclosed"] > told.values["before"]  # type: ignore[operator]
