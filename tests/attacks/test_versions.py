"""Several releases of one file, put together."""

from __future__ import annotations

import json

import numpy as np
import pytest

from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.versions import attack_versions, combine_versions
from microveil.errors import DataError, ParameterError
from microveil.masking.microaggregation.individual_ranking import IndividualRanking
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata


def people(records: int = 150, seed: int = 6) -> Microdata:
    rng = np.random.default_rng(seed)
    return Microdata.of({"age": rng.normal(50, 15, records), "income": rng.lognormal(3, 1, records)})


@pytest.mark.spec("01:AP-5")
def test_the_mean_of_noisy_versions_comes_nearer_to_the_original() -> None:
    data = people()
    releases = [Noise(alpha=0.3).mask(data, seed=seed) for seed in range(9)]
    found = attack_versions(data, releases)
    for gain in found.gains.values():
        assert gain.error == pytest.approx(gain.error_alone / 3, rel=0.15)  # nine versions
    assert found.together.value > 1.5 * max(risk.value for risk in found.alone)
    assert len(found.alone) == 9


@pytest.mark.spec("01:AP-5")
def test_the_intervals_of_individual_ranking_are_intersected() -> None:
    data = people(60)
    releases = [IndividualRanking(k=k).mask(data) for k in (3, 4, 5)]
    found = attack_versions(data, releases, attack=IntervalDisclosure())
    for name, gain in found.gains.items():
        assert gain.contained == 100.0, name
        assert gain.width < gain.width_alone
    assert [risk.name for risk in found.alone] == ["interval-disclosure"] * 3


def test_the_plain_form_has_nothing_of_single_records() -> None:
    data = people(40)
    found = attack_versions(data, [Noise(alpha=0.1).mask(data, seed=seed) for seed in range(2)])
    plain = found.to_plain()
    assert json.loads(json.dumps(plain)) == plain
    assert [risk["value"] for risk in plain["alone"]] == [risk.value for risk in found.alone]
    assert plain["together"]["value"] == found.together.value
    assert plain["gains"]["age"]["error"] == found.gains["age"].error
    assert "per_record" not in plain["together"]


def test_other_intervals_can_be_given() -> None:
    data = Microdata.of({"x": [10.0, 21.0, 34.0]})
    one, other = Microdata.of({"x": [10.0, 20.0, 30.0]}), Microdata.of({"x": [12.0, 24.0, 36.0]})
    found = attack_versions(data, [one, other], intervals=lambda column: (column - 4, column + 4)).gains["x"]
    # [8, 14], [20, 24] and [32, 34] are left
    assert found.contained == 100.0
    assert found.width == pytest.approx(100 * (6 + 4 + 2) / 3 / np.std([10, 21, 34]))
    assert found.error == pytest.approx(100 * np.sqrt((1 + 1 + 1) / 3) / np.std([10, 21, 34]))


@pytest.mark.spec("01:AP-5")
def test_versions_in_another_order_are_linked_first() -> None:
    data = people(100)
    releases = [Noise(alpha=0.001).mask(data, seed=seed).data for seed in range(4)]
    order = np.random.default_rng(1).permutation(100)
    shuffled = [releases[0], *(release.take(order) for release in releases[1:])]
    blind, linked = (combine_versions(shuffled, link=link) for link in ("order", "nearest"))  # type: ignore[arg-type]
    truth = data.numbers("age").values
    errors = [float(np.abs(table.numbers("age").values - truth).mean()) for table in (blind, linked, releases[0])]
    assert errors[1] < errors[2] < errors[0]


def test_equally_near_records_of_a_version_are_averaged() -> None:
    one, other = {"x": [1.0, 4.0]}, {"x": [0.0, 2.0]}
    # 1 is as near to 0 as to 2 (on the scale of the first); 4 is nearest to 2
    assert combine_versions([one, other], link="nearest").numbers("x").values.tolist() == [1.0, 3.0]


def test_categories_are_those_of_most_versions() -> None:
    versions = [{"j": ["a", "b", None]}, {"j": ["a", "c", "c"]}, {"j": ["b", "c", None]}]
    assert combine_versions(versions, ["j"]).frame["j"].to_list() == ["a", "c", None]  # missing is a category
    wild = [Microdata.of(version, nominal=["j"]) for version in versions]
    wild = [data.with_schema(data.schema.replacing(data["j"].changed(missing="wildcard"))) for data in wild]
    assert combine_versions(wild, ["j"]).frame["j"].to_list() == ["a", "c", "c"]
    rng = np.random.default_rng(2)
    data = Microdata.of({"job": rng.choice(list("abcd"), 300), "age": rng.normal(size=300)})
    releases = [PRAM(p=0.7).mask(data, ["job"], seed=seed) for seed in range(7)]
    found = attack_versions(data, releases, ["job"], attack=IntervalDisclosure())
    assert found.together.value > max(risk.value for risk in found.alone) + 10


def test_missing_values_are_taken_from_the_versions_that_have_them() -> None:
    versions = [{"x": [1.0, None, None]}, {"x": [3.0, 4.0, None]}]
    assert np.array_equal(combine_versions(versions).numbers("x").values, [2.0, 4.0, np.nan], equal_nan=True)


def test_what_cannot_be_put_together_is_refused() -> None:
    data = people(20)
    with pytest.raises(ParameterError, match="at least two releases"):
        attack_versions(data, [data])
    with pytest.raises(ParameterError, match="no release"):
        combine_versions([])
    apart = [MDAV(k=3).mask(data, ["age"]), MDAV(k=3).mask(data, ["income"])]
    with pytest.raises(ParameterError, match="no attribute in common"):
        attack_versions(data, apart)
    with pytest.raises(DataError, match="20 records and the masked table 5"):
        combine_versions([data, data.take(np.arange(5))])
