"""Population uniqueness, k-map, delta-presence and the three intruders: by hand, by simulation, on masked files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

import microveil as mv
from microveil.attacks.base import Attack
from microveil.attacks.population.delta_presence import PresenceRisk
from microveil.attacks.population.intruders import JournalistRisk, MarketerRisk, ProsecutorRisk
from microveil.attacks.population.k_map import KMap
from microveil.attacks.population.population_uniqueness import PopulationUniqueness
from microveil.attacks.uniqueness import Uniqueness
from microveil.errors import DataError, MicroveilError, ParameterError
from microveil.microdata import Microdata

JOBS = {"job": ["cook", "cook", "judge", "baker", "baker", "baker"]}
ALL = (
    PopulationUniqueness(fraction=0.1),
    PopulationUniqueness(fraction=0.1, estimator="copula"),
    KMap(fraction=0.1),
    PresenceRisk(fraction=0.1),
    ProsecutorRisk(),
    JournalistRisk(fraction=0.1),
    MarketerRisk(fraction=0.1),
)


def names(attacks: tuple[Attack, ...]) -> list[str]:
    return [f"{attack.name}-{number}" for number, attack in enumerate(attacks)]


def population_of(reference: Callable[..., Microdata], name: str, keys: tuple[str, ...]) -> dict[str, list[object]]:
    table = reference(name, keys)
    return {key: table.arrow(key).to_pylist() for key in keys}


ADULT = ("age", "sex", "race", "education", "marital-status")
TESTDATA = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")


@pytest.mark.parametrize(("name", "keys"), [("adult", ADULT), ("testdata", TESTDATA)])
@pytest.mark.parametrize("share", [0.05, 0.1])
def test_dankars_rule_finds_the_uniques_of_real_populations(
    name: str, keys: tuple[str, ...], share: float, reference: Callable[..., Microdata]
) -> None:
    """Their paper reports relative errors of some tens of per cent for samples of this kind."""
    population = population_of(reference, name, keys)
    size = len(population[keys[0]])
    rows = np.random.default_rng(1).choice(size, round(share * size), replace=False)
    held = Counter(zip(*population.values(), strict=True))
    true = sum(count == 1 for count in held.values())
    sample = {key: [values[i] for i in rows] for key, values in population.items()}
    found = mv.population_uniques(sample, list(keys), population=size)
    assert found.model == "pitman"
    assert found.population == pytest.approx(true, rel=0.4)
    by_values = mv.population_uniques(sample, list(keys), population=size, estimator="copula")
    alone = np.array([held[key] == 1 for key in zip(*sample.values(), strict=True)])
    chosen = by_values.per_record > 0
    # the copula tells those who are unique in the population from those who are not
    assert by_values.per_record[chosen & alone].mean() > 2 * by_values.per_record[chosen & ~alone].mean()


def test_the_copula_finds_the_uniques_of_a_population_drawn_from_it() -> None:
    rng = np.random.default_rng(8)
    normal = rng.multivariate_normal(np.zeros(3), np.full((3, 3), 0.5) + 0.5 * np.eye(3), 20_000)
    codes = np.floor(normal * 4).astype(int)
    held = Counter(map(tuple, codes.tolist()))
    rows = rng.choice(20_000, 2000, replace=False)
    found = mv.population_uniques(dict(zip("abc", codes[rows].T, strict=True)), population=20_000, estimator="copula")
    true = sum(count == 1 for count in held.values())
    assert found.population == pytest.approx(true, rel=0.25)
    records = sum(held[key] == 1 for key in map(tuple, codes[rows].tolist()))
    assert found.per_record.sum() == pytest.approx(records, abs=4 * records**0.5)


def test_where_the_file_is_the_population_its_uniques_are_the_populations() -> None:
    data = Microdata.of(JOBS)
    for estimator in ("dankar", "pitman", "zayatz", "snb", "copula"):
        risk = PopulationUniqueness(estimator=estimator).assess(data, data, ["job"])  # type: ignore[arg-type]
        assert risk.per_record.tolist() == [0, 0, 1, 0, 0, 0]
        assert risk.counters["population-unique"] == 100


def test_a_model_that_does_not_converge_is_named() -> None:
    data = Microdata.of({"number": [str(i) for i in range(20)]})
    risk = PopulationUniqueness(estimator="snb", fraction=0.5).assess(data, data, ["number"])
    assert "Zayatz's model, because the slide negative binomial model did not converge" in risk.scenario


@pytest.mark.parametrize("attack", ALL, ids=names(ALL))
def test_keys_left_alone_are_found_in_another_order_and_with_other_labels(attack: Attack) -> None:
    rng = np.random.default_rng(3)
    data = Microdata.of({"a": rng.choice(list("abcdefghijk"), 300), "b": rng.geometric(0.2, 300).astype(str)})
    plain = attack.assess(data, data, ["a", "b"]).value
    assert plain > 0.5
    order = rng.permutation(300)
    assert attack.assess(data, data.take(order), ["a", "b"]).value == pytest.approx(plain)
    labels = Microdata.of({name: [f"label {v}" for v in data.arrow(name).to_pylist()] for name in data.names})
    relabelled = attack.assess(data, labels, ["a", "b"]).value
    by_order = attack.parameters().get("estimator") == "copula"  # it takes categories in their order
    assert relabelled > 0.5 * plain if by_order else relabelled == pytest.approx(plain, rel=0.1)


@pytest.mark.parametrize("attack", ALL, ids=names(ALL))
def test_what_masking_left_alone_is_not_made_safe_by_what_it_changed(attack: Attack) -> None:
    rng = np.random.default_rng(4)
    cells = {"a": np.arange(120).astype(str), "b": rng.integers(0, 9, 120).astype(str)}
    data = Microdata.of(cells)
    release = Microdata.of({**cells, "b": rng.permutation(cells["b"])})
    alone = attack.assess(data, data, ["a"]).value
    assert attack.assess(data, release, ["a", "b"]).value >= alone - 1e-9 > 0


@pytest.mark.parametrize("attack", [a for a in ALL if a.name != "delta-presence"], ids=lambda attack: attack.name)
def test_a_record_whose_own_values_no_longer_agree_is_not_found(attack: Attack) -> None:
    before = Microdata.of({"job": ["cook", "judge", "baker", "baker"]})
    after = Microdata.of({"job": ["judge", "cook", "baker", "baker"]})
    assert attack.assess(before, after, ["job"]).per_record.tolist()[:2] == [0.0, 0.0]


def test_prosecutor_and_journalist_risk_are_uniqueness_under_other_names() -> None:
    rng = np.random.default_rng(5)
    data = Microdata.of({"a": rng.integers(0, 9, 80).astype(str), "w": rng.uniform(1, 30, 80)}, weight="w", keys=["a"])
    release = mv.method("pram", p=0.7).mask(data, ["a"], seed=1)
    same = {
        ProsecutorRisk(): Uniqueness(estimate="none"),
        JournalistRisk(): Uniqueness(estimate="ratio"),
        JournalistRisk(estimator="negative-binomial"): Uniqueness(),
        MarketerRisk(estimator="negative-binomial"): Uniqueness(),
    }
    for attack, uniqueness in same.items():
        assert attack.assess(data, release).per_record == pytest.approx(uniqueness.assess(data, release).per_record)


def test_the_three_intruders_by_hand() -> None:
    data = Microdata.of({**JOBS, "w": [2.0, 2.0, 4.0, 1.0, 2.0, 3.0]}, weight="w", keys=["job"])
    prosecutor = ProsecutorRisk(threshold=0.4).assess(data, data)
    assert prosecutor.value == pytest.approx(50)  # three combinations of six records
    assert prosecutor.counters == pytest.approx({"above": 50.0, "highest": 100.0})
    journalist = JournalistRisk(threshold=0.2).assess(data, data)
    assert journalist.per_record == pytest.approx([1 / 4] * 3 + [1 / 6] * 3)
    assert journalist.counters == pytest.approx({"above": 50.0, "highest": 25.0})
    marketer = MarketerRisk().assess(data, data)
    assert marketer.value == pytest.approx(100 * (2 / 4 + 1 / 4 + 3 / 6) / 6)
    assert marketer.counters == pytest.approx({"combinations": 50.0})


def test_a_risk_at_the_threshold_is_not_above_it() -> None:
    data = Microdata.of(JOBS)
    assert ProsecutorRisk(threshold=0.5).assess(data, data, ["job"]).counters["above"] == pytest.approx(100 / 6)


def test_k_map_by_hand_with_every_estimator() -> None:
    data = Microdata.of(JOBS)
    f, rate, k = np.array([2, 2, 1, 3, 3, 3]), 0.25, 6
    others = np.arange(400)
    ratio = KMap(k=k, fraction=rate, estimator="ratio").assess(data, data, ["job"])
    assert ratio.per_record == pytest.approx(rate / f)
    assert ratio.counters["below-k"] == pytest.approx(100 / 6)
    assert ratio.counters["highest"] == pytest.approx(25)
    means = {
        "poisson": (1 - rate) * f / rate,
        "truncated-poisson": (1 - rate) / rate * np.array([1.593624] * 2 + [0] + [2.821439] * 3),
    }
    for estimator, unseen in means.items():
        risk = KMap(k=k, fraction=rate, estimator=estimator).assess(data, data, ["job"])  # type: ignore[arg-type]
        exact = [(poisson.pmf(others, m) / (c + others)).sum() for c, m in zip(f, unseen, strict=True)]
        assert risk.per_record == pytest.approx(exact, rel=1e-5)
        below = [poisson.cdf(k - 1 - c, m) for c, m in zip(f, unseen, strict=True)]
        assert risk.counters["below-k"] == pytest.approx(100 * np.mean(below), rel=1e-5)
    risk = KMap(k=k, fraction=rate, estimator="negative-binomial").assess(data, data, ["job"])
    assert risk.counters["below-k"] == pytest.approx(100 * nbinom.cdf(k - 1 - f, f, rate).mean())


def test_frequent_combinations_prove_k_in_the_population() -> None:
    """With k = 5 and 10 %, the mean is 0.5: P(f >= 2 | f >= 1) = 0.2293 and P(f >= 3 | f >= 1) = 0.0366."""
    data = Microdata.of(JOBS)
    assert KMap(k=5, fraction=0.1).assess(data, data, ["job"]).counters["unproved"] == pytest.approx(50)
    assert KMap(k=5, fraction=0.1, significance=0.3).assess(data, data, ["job"]).counters["unproved"] == pytest.approx(
        100 / 6
    )


def test_a_file_that_is_the_population_is_k_map_as_it_is_k_anonymous() -> None:
    data = Microdata.of(JOBS)
    for estimator in ("ratio", "poisson", "truncated-poisson", "negative-binomial"):
        risk = KMap(k=3, estimator=estimator).assess(data, data, ["job"])  # type: ignore[arg-type]
        assert risk.counters == pytest.approx({"below-k": 50.0, "unproved": 50.0, "highest": 100.0})


def test_presence_by_hand_and_after_masking() -> None:
    before = Microdata.of(JOBS)
    risk = PresenceRisk(population=24, delta=0.2).assess(before, before, ["job"])
    assert risk.per_record == pytest.approx([0.25] * 6)
    assert risk.counters == pytest.approx({"above": 100.0, "highest": 25.0, "lowest": 25.0})
    after = Microdata.of({"job": ["cook", "baker", "judge", "baker", "baker", "baker"]})
    moved = PresenceRisk(population=24).assess(before, after, ["job"])
    assert moved.per_record == pytest.approx([1 / 8, 1 / 8, 1 / 4, 1 / 3, 1 / 3, 1 / 3])


def test_delta_presence_of_a_sample_within_its_population() -> None:
    population = {
        "job": ["cook"] * 8 + ["judge"] * 2 + ["baker"] * 5,
        "sex": list("ffffmmmm") + list("fm") + list("fffmm"),
    }
    sample = {"job": ["cook", "cook", "judge"], "sex": ["f", "m", "m"]}
    found = mv.delta_presence(sample, population, ["job"])
    assert (found.low, found.high, found.k) == (0.0, 0.5, 2)
    finer = mv.delta_presence(sample, population, ["job", "sex"])
    assert (finer.low, finer.high, finer.k) == (0.0, 1.0, 1)
    whole = mv.delta_presence(population, population, ["job"])
    assert (whole.low, whole.high, whole.k) == (1.0, 1.0, 2)


def test_a_sample_that_is_no_part_of_the_population_is_refused() -> None:
    with pytest.raises(DataError, match="no part of"):
        mv.delta_presence({"job": ["smith"]}, JOBS, ["job"])
    with pytest.raises(DataError, match="have records"):
        mv.delta_presence({"job": []}, JOBS, ["job"])
    with pytest.raises(MicroveilError, match="'jobb'"):
        mv.delta_presence(JOBS, JOBS, ["jobb"])


@pytest.mark.parametrize(
    ("attack", "parameters"),
    [
        (PopulationUniqueness, {"estimator": "guess"}),
        (PopulationUniqueness, {"population": 10, "fraction": 0.5}),
        (KMap, {"k": 0}),
        (KMap, {"significance": 1.0}),
        (KMap, {"estimator": "none"}),
        (PresenceRisk, {"delta": 0.0}),
        (ProsecutorRisk, {"threshold": 2.0}),
        (JournalistRisk, {"population": 0}),
        (MarketerRisk, {"fraction": 1.5}),
    ],
)
def test_wrong_parameters_are_refused(attack: type[Attack], parameters: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=attack.name):
        attack(**parameters)


def test_huge_k_and_population_are_no_problem() -> None:
    data = Microdata.of(JOBS)
    risk = KMap(k=1_000_000_000, population=10_000_000_000).assess(data, data, ["job"])
    assert risk.counters["unproved"] == 50  # three of six would be odd if a tenth of the population were bakers
    assert PopulationUniqueness(population=10_000_000_000).assess(data, data, ["job"]).value < 1
