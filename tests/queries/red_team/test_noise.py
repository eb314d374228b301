"""Attacks on noise: drawn anew, sticky, bounded, sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from microveil.microdata import Microdata
from microveil.parameters import parameter, parameterised
from microveil.queries.answers import Estimate
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.database import Database
from microveil.queries.red_team.averaging import Averaging
from microveil.queries.red_team.campaign import attack_queries
from microveil.queries.red_team.linear_reconstruction import LinearReconstruction, fitted
from microveil.queries.red_team.split_averaging import SplitAveraging

People = Callable[..., Microdata]


class _FreshGuard(Guard):
    control: FreshNoise

    def __init__(self, control: Control, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        self.rng = np.random.default_rng(1)

    def estimate(self, asked: Asked, estimate: Estimate) -> Estimate:
        assert estimate.shown is not None
        return replace(estimate, value=estimate.shown + float(self.rng.normal(0.0, self.control.sd)))


@parameterised
class FreshNoise(Control):
    """Noise that is drawn anew for every question, as nobody should."""

    name: ClassVar[str] = "fresh-noise"
    family: ClassVar[str] = "output perturbation"
    summary: ClassVar[str] = "noise that is drawn anew"
    source: ClassVar[str] = "none"
    gives_exact_answers: ClassVar[bool] = False
    sd: float = parameter(default=1.0, gt=0, le=1e9, help="standard deviation")

    def guard(self, database: Database, key: str) -> Guard:
        return _FreshGuard(self, database, key)


def test_averaging_takes_out_noise_that_is_drawn_anew(people: People) -> None:
    data = people("eusilc", "eqIncome")
    noise = FreshNoise(sd=float(np.std(data.numbers("eqIncome").values)) / 2)
    few, many = (
        attack_queries(data, [noise], targets=10, attacks=[Averaging(repetitions=times)], questions=50_000)["averaging"]
        for times in (1, 400)
    )
    assert (few.success, many.success) == ("none", "partial")
    assert many.learnt >= 9


@pytest.mark.parametrize("control", ["output-noise c=0.5", "random-sample share=0.7"])
def test_averaging_gains_nothing_from_sticky_noise(people: People, control: str) -> None:
    data = people("eusilc", "eqIncome")
    few, many = (
        attack_queries(
            data,
            ["set-size k=5", control],
            targets=10,
            attacks=[Averaging(repetitions=times)],
            questions=50_000,
            key="k",
        )["averaging"]
        for times in (1, 30)
    )
    assert (few.exact, few.partial, few.wrong) == (many.exact, many.partial, many.wrong)


def test_split_averaging_finds_more_with_every_cut(people: People) -> None:
    data = people("eusilc", "eqIncome")
    few, many = (
        attack_queries(
            data, ["output-noise c=0.25"], targets=20, attacks=[SplitAveraging(cuts=cuts)], questions=50_000, key="k"
        )["split-averaging"]
        for cuts in (1, 16)
    )
    assert many.learnt > few.learnt


def test_linear_reconstruction_takes_out_sticky_noise_with_enough_questions(people: People) -> None:
    data = people("eusilc", "eqIncome")
    few, many = (
        attack_queries(
            data, ["set-size k=5", "output-noise c=0.25"], targets=20, questions=5_000, key="k",
            attacks=[LinearReconstruction(records=20, oversampling=times)],
        )["linear-reconstruction"]
        for times in (2.0, 40.0)
    )  # fmt: skip
    assert few.success == "none"
    assert many.success == "partial"
    assert many.learnt >= 15


@pytest.mark.parametrize("solver", ["linear program", "least squares"])
def test_values_are_fitted_within_their_limits(solver: str) -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(30) < 0.4).astype(float)
    sets = rng.random((200, 30)) < 0.5
    values = fitted(sets, sets @ truth + rng.normal(0, 0.5, 200), (0.0, 1.0), solver)
    assert ((values >= -1e-9) & (values <= 1 + 1e-9)).all()
    assert np.array_equal(values > 0.5, truth > 0.5)


@pytest.mark.parametrize("attack", ["first-derivative-difference", "stated-precision"])
@pytest.mark.parametrize("control", ["output-noise c=0.25", "output-noise c=10", "cell-key"])
@pytest.mark.parametrize(("name", "value"), [("eusilc", "eqIncome"), ("adult", "income")])
def test_noise_under_a_secret_condition_tells_nothing_of_one_person(
    people: People, attack: str, control: str, name: str, value: str
) -> None:
    """Noise that belonged to the counted records alone was the same in all classes but the target's; its stated
    deviation told how many there were."""
    found = attack_queries(people(name, value), ["set-size k=5", control], targets=16, attacks=[attack], key="k")[
        attack
    ]
    assert found.success == "none"


def test_full_samples_give_exact_sums_away(people: People) -> None:
    found = attack_queries(
        people("eusilc", "eqIncome"), ["set-size k=5", "random-sample share=0.9"], targets=10, attacks=["full-samples"],
        key="k",
    )["full-samples"]  # fmt: skip
    assert (found.success, found.wrong) == ("exact", 0)


def test_the_complement_is_taken_among_known_values() -> None:
    """The sum over all, and over all but one, were answered where as many values were missing as the limit asks for."""
    rng = np.random.default_rng(3)
    columns = {"person": [f"p{i}" for i in range(60)], "x": [None if i % 5 == 0 else float(v) for i, v in
               enumerate(rng.integers(0, 1000, 60))]}  # fmt: skip
    data = Microdata.of(pa.table(columns), nominal=["person"], confidential=["x"])
    assert attack_queries(data, ["set-size k=5"], attacks=["singleton"])["singleton"].success == "none"
    assert attack_queries(data, [], attacks=["singleton"])["singleton"].success == "exact"
