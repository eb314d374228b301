"""A table goes in, a formula and a PRAM that uses it come out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import microveil as mv
from microveil.errors import DataError, ParameterError
from microveil.microdata import Microdata
from microveil.numerics.evolution.formulas import formula_matrix, parsed
from microveil.numerics.perturbing.posterior import map_disclosure
from microveil.search import EvolvedFormula, evolve_formula


@pytest.fixture(scope="module")
def people() -> Microdata:
    rng = np.random.default_rng(4)
    table = {"a": rng.choice(list("xyz"), 200, p=[0.6, 0.3, 0.1]), "b": rng.choice([1, 2, 3, 4], 200)}
    return Microdata.of(table, nominal=["a"], ordinal=["b"])


@pytest.fixture(scope="module")
def found(people: Microdata) -> EvolvedFormula:
    return evolve_formula(people, generations=40, levels=3, seed=1)


@pytest.mark.spec("05:GE-01", "05:GE-05")
def test_the_formula_makes_the_matrices_of_a_release(people: Microdata, found: EvolvedFormula) -> None:
    release = found.pram.mask(people, seed=1)
    for name in ("a", "b"):
        t = people.categories(name).frequencies
        assert release.matrices[name,].tolist() == formula_matrix(parsed(found.formula), t).tolist()
        assert found.disclosed[name] == pytest.approx(100 * map_disclosure(release.matrices[name,], t))
    assert found.attributes == ("a", "b")
    assert found.trajectory[-1] == found.optimised.score <= found.trajectory[0]


@pytest.mark.spec("05:GE-05")
def test_the_score_is_the_greater_of_loss_and_risk_or_their_mean(people: Microdata, found: EvolvedFormula) -> None:
    assert found.fresh.score >= max(found.fresh.loss, found.fresh.risk) - 1e-9
    mean = evolve_formula(people, generations=10, by="mean", seed=1)
    assert mean.fresh.score == pytest.approx((mean.fresh.loss + mean.fresh.risk) / 2)


@pytest.mark.spec("05:GE-05")
def test_the_fresh_evaluation_agrees_with_the_measures_on_releases(people: Microdata, found: EvolvedFormula) -> None:
    """The losses and the attacks of the registry say the same of 10 releases, within the noise."""
    scores = []
    for seed in range(10):
        release = found.pram.mask(people, seed=seed)
        scores.append(np.mean([mv.loss(name).measure(people, release).value for name in ("ctbil", "dbil", "ebil")]))
    assert np.mean(scores) == pytest.approx(found.fresh.loss, abs=3.0)


def test_the_same_seed_finds_the_same_formula(people: Microdata, found: EvolvedFormula) -> None:
    assert evolve_formula(people, generations=40, levels=3, seed=1) == found
    assert evolve_formula(people, generations=40, levels=3, seed=2).formula != found.formula


def test_an_intruder_who_knows_the_matrices_can_be_kept_from_guessing() -> None:
    """Whoever guesses the most frequent category is right in half of the records."""
    people = {"sex": ["f", "m"] * 30, "job": ["a", "a", "a", "b", "b", "c"] * 10}

    def found(**guard: float) -> EvolvedFormula:
        return evolve_formula(people, generations=60, population=12, seed=1, **guard)  # type: ignore[arg-type]

    free = found()
    assert max(free.disclosed.values()) > 90
    assert max(found(most_disclosed=75).disclosed.values()) <= 75
    weighed = found(disclosure_weight=1.0)
    assert sum(weighed.disclosed.values()) < sum(free.disclosed.values())
    assert weighed.trajectory[-1] == pytest.approx(weighed.optimised.score + sum(weighed.disclosed.values()) / 2)
    for matrix in found(epsilon=1.0).pram.mask(people, seed=1).matrices.values():
        assert (matrix.max(axis=0) <= np.e * matrix.min(axis=0) + 1e-9).all()
    with pytest.raises(DataError, match="disclose as little as is asked for"):
        evolve_formula(people, generations=5, most_disclosed=1, seed=1)


def test_missing_cells_stay_and_an_attribute_without_any_value_is_refused() -> None:
    with_gap = Microdata.of({"a": ["x", "y", "x", "y", None] * 20, "b": ["p", "q", "q", "p", "p"] * 20})
    table = with_gap.with_schema(with_gap.schema.replacing(with_gap["a"].changed(missing="not applicable")))
    found = evolve_formula(table, generations=5, seed=1)
    assert np.isfinite(found.fresh.score)
    assert found.pram.mask(table, seed=1).frame["a"].null_count == 20
    empty = Microdata.of({"b": ["p", "q"], "c": [None, None]}, nominal=["b", "c"])
    empty = empty.with_schema(empty.schema.replacing(empty["c"].changed(missing="not applicable")))
    with pytest.raises(DataError, match="attribute 'c' has no value"):
        evolve_formula(empty, seed=1)


def test_the_least_frequency_goes_into_the_method(people: Microdata) -> None:
    found = evolve_formula(people, generations=0, freq_min="positive", seed=1)
    assert found.pram.freq_min == "positive"


def test_bad_input_is_refused_in_a_sentence(people: Microdata) -> None:
    wrong: dict[str, tuple[Any, ...]] = {
        "levels": (1, 13, "3", 2.5),
        "population": (1, True),
        "generations": (-1, 10**9),
        "drawn": (0, 5, 8),
        "repeats": (0, "5"),
        "fresh": (0, None),
        "crossover": (-0.1, 1.1, float("nan"), "half"),
        "most_disclosed": (-1, 101),
        "disclosure_weight": (-1,),
        "epsilon": (0,),
        "by": ("least",),
        "freq_min": ("none",),
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ParameterError, match=f"{name} = "):
                evolve_formula(people, seed=1, **{name: value})
    with pytest.raises(DataError, match="numeric"):
        evolve_formula({"income": [1.5, 2.5]}, ["income"], seed=1)
