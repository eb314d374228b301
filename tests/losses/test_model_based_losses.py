"""Propensity-score and classification-based losses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize

from microveil.errors import ParameterError, UnknownNameError
from microveil.losses.model_based.classification import Classification, _cuts, _Tested
from microveil.losses.model_based.propensity import Propensity
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata
from microveil.numerics.statistics.logistic import design, fit_logistic
from microveil.numerics.statistics.prediction import Task, by_bayes

Reference = Callable[..., Microdata]


def people(seed: int, size: int = 600) -> Microdata:
    """Whether somebody is ill depends on age and job."""
    rng = np.random.default_rng(seed)
    age, job = rng.uniform(20, 80, size), rng.integers(0, 4, size)
    ill = np.where(age + 10 * job + 4 * rng.normal(size=size) > 65, "yes", "no")
    return Microdata.of({"age": age, "job": [f"job {j}" for j in job], "ill": ill}, confidential=["ill"])


def disturbed(data: Microdata, strength: float, seed: int = 1) -> Microdata:
    if strength == 0:
        return data
    noisy = Noise(alpha=strength).mask(data, ["age"], seed=seed).data
    return PRAM(p=1 - min(0.75, strength), matrix="entropy").mask(noisy, ["job"], seed=seed).data


KNOWN = ["age", "job"]


def test_the_regression_is_the_most_likely_one() -> None:
    rng = np.random.default_rng(2)
    columns = design(rng.normal(size=(2, 300)), np.zeros(2, dtype=bool), squares=True, interactions=True)
    assert columns.shape == (300, 1 + 4 + 4)
    y = rng.random(300) < 1 / (1 + np.exp(-columns[:, 1] + columns[:, 2]))

    def loss(beta: np.ndarray) -> float:
        score = columns @ beta
        return float((np.logaddexp(0, score) - y * score).mean())

    known = minimize(loss, np.zeros(columns.shape[1]), method="BFGS", options={"gtol": 1e-8})
    found = fit_logistic(columns, y)
    assert loss(found.coefficients) == pytest.approx(known.fun, abs=1e-7)
    assert found.rank == 9


def test_a_response_that_can_be_told_without_doubt_has_a_finite_fit() -> None:
    x = np.arange(40.0)
    columns = design(x[None], np.zeros(1, dtype=bool), squares=False, interactions=False)
    found = fit_logistic(columns, x >= 20)
    assert np.isfinite(found.coefficients).all()
    assert ((found.fitted > 0.5) == (x >= 20)).all()


def test_pmse_of_a_category_is_that_of_its_shares() -> None:
    """With one categorical attribute the propensity is the released share of each category."""
    before, after = Microdata.of({"v": list("aaaabbcc")}), Microdata.of({"v": list("aabbbbcc")})
    shares = np.repeat([2 / 6, 4 / 6, 2 / 4], [6, 6, 4])
    loss = Propensity().measure(before, after)
    assert loss.details["pmse"] == pytest.approx(((shares - 0.5) ** 2).mean(), rel=1e-4)
    assert loss.value == pytest.approx(400 * loss.details["pmse"])
    assert loss.details["parameters"] == 3
    assert loss.details["expected"] == pytest.approx(2 / (16 * 8))


@pytest.mark.parametrize("model", ["logistic", "tree"])
def test_a_missing_category_is_told_from_every_other(model: str) -> None:
    """All a are gone and all missing ones are new: half of the records are recognised, the others are not at all."""
    before, after = Microdata.of({"v": ["a"] * 50 + ["b"] * 50}), Microdata.of({"v": [None] * 50 + ["b"] * 50})
    loss = Propensity(model=model).measure(before, after, ["v"])  # type: ignore[arg-type]
    assert loss.value == pytest.approx(50, abs=0.1)  # the penalty keeps a logistic regression from 0 and 1


def test_a_leaf_of_one_record_is_told_apart_wholly() -> None:
    before, after = Microdata.of({"x": [1.0]}), Microdata.of({"x": [5.0]})
    assert Propensity(model="tree", leaf=1, evidence=0.0).measure(before, after).value == 100


@pytest.mark.parametrize("model", ["logistic", "tree"])
def test_files_that_have_nothing_in_common_are_told_apart(model: str) -> None:
    before, after = Microdata.of({"x": np.arange(200.0)}), Microdata.of({"x": 1000 + np.arange(200.0)})
    assert Propensity(model=model).measure(before, after).value > 99  # type: ignore[arg-type]


def test_synthetic_records_have_a_ratio_of_one_and_independent_files_of_two() -> None:
    """Snoke et al. (2018): the model that draws records was fitted to the original, so half the variance is gone."""
    rng = np.random.default_rng(8)
    synthetic, independent = [], []
    for _ in range(80):
        x, y = rng.normal(size=(2, 250))
        drawn = [v.mean() + v.std() * rng.normal(size=250) for v in (x, y)]
        other = rng.normal(size=(2, 250))
        original = Microdata.of({"x": x, "y": y})
        for ratios, (one, two) in ((synthetic, drawn), (independent, other)):
            ratios.append(Propensity().measure(original, Microdata.of({"x": one, "y": two})).details["ratio"])
    for ratios, wanted in ((synthetic, 1.0), (independent, 2.0)):
        assert np.mean(ratios) == pytest.approx(wanted, abs=4 * np.std(ratios) / np.sqrt(len(ratios)))


def test_permutations_expect_what_the_formula_does() -> None:
    """Six parameters: under permutation pMSE is chi-square with 5 degrees of freedom; the mean of 400 has an error."""
    data = people(2, 300)
    formula, permuted = (
        Propensity(permutations=p).measure(data, disturbed(data, 0.5), KNOWN).details["expected"] for p in (None, 400)
    )
    assert formula == pytest.approx((6 - 1) / (16 * 300))
    assert permuted == pytest.approx(formula, rel=5 * np.sqrt(2 / 5 / 400))


@pytest.mark.parametrize("model", ["logistic", "tree"])
@pytest.mark.parametrize("seed", [1, 2])
def test_more_noise_is_recognised_more(model: str, seed: int) -> None:
    data = people(seed)
    measure = Propensity(model=model, permutations=0)  # type: ignore[arg-type]
    values = [measure.measure(data, disturbed(data, s, seed), KNOWN).value for s in (0, 0.2, 0.7, 3.0)]
    assert values[0] == pytest.approx(0, abs=1e-12)
    assert values == sorted(values)
    assert values[-1] > 1


def test_squares_see_what_means_do_not_and_interactions_what_squares_do_not() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=800)
    data = Microdata.of({"x": x, "y": x + 0.3 * rng.normal(size=800)})
    shrunk = Microdata.of({"x": x.mean() + (x - x.mean()) / 2, "y": data.numbers("y").values})
    assert Propensity(squares=False).measure(data, shrunk).value < 0.5
    assert Propensity().measure(data, shrunk).value > 3
    mixed = Microdata.of({"x": x, "y": data.numbers("y").values[rng.permutation(800)]})
    assert Propensity().measure(data, mixed).value < 0.01
    assert Propensity(interactions=True).measure(data, mixed).value > 10


def test_the_error_of_a_sample_is_what_samples_show() -> None:
    data = people(6, 3000)
    masked = disturbed(data, 0.8)
    drawn = [Propensity(sample=600, seed=seed).measure(data, masked, KNOWN) for seed in range(30)]
    spread = np.std([loss.value for loss in drawn], ddof=1)
    told = np.mean([loss.details["standard_error"] for loss in drawn])
    assert 0.6 < told / spread < 1.6
    assert {loss.details["sampled"] for loss in drawn} == {600}
    assert "standard_error" not in Propensity(sample=None).measure(data, masked, KNOWN).details


def test_too_many_products_are_refused_before_memory_runs_out() -> None:
    rng = np.random.default_rng(1)
    data = Microdata.of({f"v{j}": rng.integers(0, 60, 500) for j in range(30)}, nominal=[f"v{j}" for j in range(30)])
    with pytest.raises(ParameterError, match="does not fit in memory"):
        Propensity(interactions=True).measure(data, data, list(data.names))


def test_missing_cells_are_told_from_others() -> None:
    before = Microdata.of({"x": [1.0, 2.0, 3.0, 4.0] * 20})
    after = Microdata.of({"x": [1.0, None, 3.0, None] * 20})
    assert Propensity().measure(before, before).value == 0
    assert Propensity().measure(before, after).value > 20


def test_bayes_names_the_class_of_the_greatest_product() -> None:
    seen = np.array([[0.0, 0, 0, 1, 1, 1, 1, np.nan], [5.0, 6, 5, 50, 60, 55, 52, 51]])
    target = np.array([0.0, 0, 0, 1, 1, 1, 1, 1])
    asked = np.array([[0.0, 1.0, np.nan], [5.5, 54.0, 53.0]])
    named = by_bayes(Task(seen, target, asked, np.array([True, False]), classes=True))
    assert named.tolist() == [[1, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize("learner", ["tree", "bayes"])
def test_what_can_be_learnt_is_lost_with_the_noise(learner: str) -> None:
    data = people(3, 900)
    measure = Classification(learner=learner)  # type: ignore[arg-type]
    losses = [measure.measure(data, disturbed(data, s), KNOWN) for s in (0, 0.3, 8.0)]
    assert losses[0].value == 0
    assert losses[0].details["error_original"] < 15 < losses[0].details["error_guess"]
    assert losses[0].value < losses[1].value < losses[2].value
    for loss in losses:
        gone = loss.details["error_release"] - loss.details["error_original"]
        assert loss.raw == pytest.approx(gone)
        assert loss.per_attribute["ill"] == pytest.approx(gone)
    assert losses[2].value > 10


def test_predictions_that_differ_can_be_the_loss() -> None:
    data = people(4)
    masked = disturbed(data, 0.3)
    one, other = (Classification(compare=c).measure(data, masked, KNOWN) for c in ("accuracy", "predictions"))  # type: ignore[arg-type]
    assert other.value == pytest.approx(one.details["disagreement"])
    assert other.value >= one.value
    assert Classification(compare="predictions").measure(data, data, KNOWN).value == 0


def test_predictions_that_are_all_reversed_differ_in_every_record() -> None:
    ages, ill = [20.0] * 50 + [70.0] * 50, ["no"] * 50 + ["yes"] * 50
    before, after = (Microdata.of({"age": ages, "ill": cells}, confidential=["ill"]) for cells in (ill, ill[::-1]))
    loss = Classification().measure(before, after, ["age"])
    assert (loss.value, loss.details["disagreement"]) == (100, 100)


def test_two_tested_records_have_an_error() -> None:
    tested = _Tested(np.array([1.0, 1.0]), np.array([1.0, 0.0]), 0.0, 0.0, np.array([0, 1]))
    # what is lost is 0 in one fold and 1 in the other
    assert tested.error == pytest.approx(np.sqrt(0.5))


def test_the_error_is_the_deviation_over_the_folds_where_that_is_larger() -> None:
    folds = np.array([0, 0, 1, 1, 2, 2])
    # in the first fold all is lost, in the others nothing
    tested = _Tested(np.ones(6), np.array([0.0, 0, 1, 1, 1, 1]), 0.0, 0.0, folds)
    assert tested.error == pytest.approx(np.std([1, 0, 0], ddof=1))
    # in every fold a half is lost, so that only the records differ
    tested = _Tested(np.ones(6), np.array([0.0, 1, 0, 1, 0, 1]), 0.0, 0.0, folds)
    assert tested.error == pytest.approx(np.sqrt(0.3 / 6))


def test_the_response_is_confidential_or_has_few_categories_or_is_cut() -> None:
    data = people(5)
    plain = Microdata.of(data, confidential=[])
    masked = disturbed(data, 0.5)
    assert set(Classification().measure(data, masked, KNOWN).per_attribute) == {"ill"}
    assert set(Classification().measure(plain, masked, ["age", "job", "ill"]).per_attribute) == {"ill"}
    assert set(Classification().measure(plain, masked, KNOWN).per_attribute) == {"job"}
    numbers = Microdata.of({"x": np.arange(200.0), "y": np.arange(200.0) % 17, "z": np.arange(200.0) ** 2})
    cut = Classification(classes=4).measure(numbers, numbers, ["x", "y", "z"])
    assert set(cut.per_attribute) == {"z"}
    assert cut.details["error_guess"] == pytest.approx(75)
    assert cut.details["error_original"] < 15


def test_a_response_with_one_common_value_is_cut_beside_it() -> None:
    data = Microdata.of({"x": [*range(30)], "benefit": [0.0] * 20 + [5.0] * 10}, confidential=["benefit"])
    assert Classification().measure(data, data, ["x"]).details["error_guess"] == pytest.approx(100 / 3)


def test_the_parts_do_not_depend_on_the_order_but_on_the_seed() -> None:
    data = people(6, 300)
    masked = disturbed(data, 0.6)
    order = np.random.default_rng(1).permutation(300)
    first = Classification().measure(data, masked, KNOWN)
    assert Classification().measure(data.take(order), masked.take(order), KNOWN).details == first.details
    assert Classification(seed=1).measure(data, masked, KNOWN).details != first.details


def test_a_sampled_classification_has_an_error() -> None:
    data = people(7, 2000)
    masked = disturbed(data, 8.0)
    whole, some = (Classification(sample=s).measure(data, masked, KNOWN) for s in (None, 700))
    assert some.details["sampled"] == 700
    assert "standard_error" not in whole.details
    assert abs(some.value - whole.value) < 5 * some.details["standard_error"]


def test_responses_that_are_not_there_are_refused() -> None:
    data = people(8, 50)
    with pytest.raises(UnknownNameError, match="'zz'"):
        Classification(target=("zz",)).measure(data, data, KNOWN)
    with pytest.raises(ParameterError, match="'ill', which was not released"):
        Classification(target=("ill",)).measure(data, data.select(KNOWN), KNOWN)


def test_a_response_that_was_suppressed_teaches_nothing() -> None:
    data = people(9, 100)
    empty = data.select(KNOWN).frame.to_dict(as_series=False)
    masked = Microdata.of({**empty, "ill": [None] * 100}, data.schema)
    loss = Classification().measure(data, masked, KNOWN)
    assert loss.details["error_release"] == 100


def test_where_the_response_of_nobody_is_known_nobody_is_guessed_wrong() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 3.0, 4.0], "y": np.full(4, np.nan)})
    loss = Classification(target=("y",)).measure(data, data)
    errors = {name: share for name, share in loss.details.items() if name.startswith("error")}
    assert errors == {"error_original": 0, "error_release": 0, "error_guess": 0}


def test_iris_is_classified_as_well_as_is_known(reference: Reference) -> None:
    data = reference("iris")
    response = next(name for name in data.names if data[name].is_categorical)
    measures = tuple(name for name in data.names if data[name].kind == "numeric")
    for learner in ("tree", "bayes"):
        loss = Classification(target=(response,), learner=learner).measure(data, data, measures)  # type: ignore[arg-type]
        assert loss.details["error_original"] < 10
        noisy = Noise(alpha=2.0).mask(data, measures, seed=1).data
        assert Classification(target=(response,), learner=learner).measure(data, noisy, measures).value > 3  # type: ignore[arg-type]


def test_several_responses_are_averaged() -> None:
    data = people(5, 200)
    masked = disturbed(data, 0.4)
    both, *single = (
        Classification(target=target).measure(data, masked, ["age"]) for target in (("ill", "job"), ("ill",), ("job",))
    )
    for name in ("error_original", "error_release", "error_guess", "disagreement"):
        assert both.details[name] == pytest.approx(np.mean([loss.details[name] for loss in single]))
    assert both.raw == pytest.approx(np.mean([loss.raw for loss in single]))
    assert both.per_attribute == pytest.approx({**single[0].per_attribute, **single[1].per_attribute})
    guesses = [1 - data.categories(name).frequencies.max() / 200 for name in ("ill", "job")]
    assert both.details["error_guess"] == pytest.approx(100 * np.mean(guesses))


def test_what_is_lost_its_errors_and_their_standard_error() -> None:
    original, release = np.array([1.0, 0.5, 1.0, 0.0]), np.array([0.5, 0.5, 0.0, 1.0])
    tested = _Tested(original, release, 0.25, 0.5, np.array([0, 0, 1, 1]))
    assert tested.lost == pytest.approx(0.125)
    assert tested.errors == pytest.approx((0.375, 0.5))
    lost = original - release
    assert tested.error == pytest.approx(lost.std(ddof=1) / 2)  # that of the folds, 0.25 and 0, is smaller
    apart = _Tested(original, release, 0.25, 0.5, np.array([0, 1, 0, 1]))
    assert apart.error == pytest.approx(np.std([0.75, -0.5], ddof=1))
    none = _Tested(np.empty(0), np.empty(0), 0.0, 0.0, np.empty(0, np.int64))
    assert (none.lost, none.errors, none.error) == (0.0, (0.0, 0.0), 0.0)
    assert _Tested(original[:1], release[:1], 0.0, 0.0, np.array([0])).error == 0.0


def test_a_number_is_cut_into_classes_of_equal_frequency() -> None:
    assert _cuts(np.arange(1.0, 9.0), 2).tolist() == [4.0]
    assert _cuts(np.arange(1.0, 9.0), 4).tolist() == [2.0, 4.0, 6.0]
    assert _cuts(np.array([1.0, 2.0, 2.0, 2.0]), 2).tolist() == [1.0]  # the last class is not empty
    assert _cuts(np.array([3.0, 3.0]), 2).tolist() == [3.0]
    assert _cuts(np.empty(0), 2).tolist() == []
