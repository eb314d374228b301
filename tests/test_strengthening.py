"""Protect, attack, strengthen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microveil.attacks.inference import Inference
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.uniqueness import Uniqueness
from microveil.errors import Cancelled, DataError, ParameterError
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata
from microveil.strengthening import protect_until, stronger


def people(records: int = 120) -> Microdata:
    rng = np.random.default_rng(8)
    age = rng.normal(50, 15, records)
    return Microdata.of({"age": age, "cost": 3 * age + rng.normal(size=records)}, keys=["age"], confidential=["cost"])


@pytest.mark.spec("01:AP-5")
def test_the_method_is_strengthened_until_the_model_explains_little() -> None:
    data = people()
    methods = stronger(Noise(), "alpha", (0.01, 0.1, 1.0, 10.0, 100.0))
    found = protect_until(data, methods, Inference(learner="ridge"), 30.0, counter="explained")
    values = [value for _, value in found.tried]
    assert values[-1] <= 30 < min(values[:-1])
    assert values[0] > 90
    assert found.method == methods[len(values) - 1]
    assert found.risk.counters["explained"] == values[-1]
    assert Inference(learner="ridge").assess(data, found.release).counters["explained"] == values[-1]


def test_the_mean_over_seeds_must_meet_the_limit_as_often_as_asked() -> None:
    data = people(60)
    methods = stronger(MDAV(), "k", range(2, 12))
    once = protect_until(data, methods, DistanceLinkage(), 20.0, seeds=(1, 2))
    twice = protect_until(data, methods, DistanceLinkage(), 20.0, in_a_row=2)
    assert once.method == methods[len(once.tried) - 1]
    assert twice.method == methods[len(twice.tried) - 2]
    assert all(value <= 20 for _, value in twice.tried[-2:])
    assert once.tried[-1][1] <= 20 < once.tried[-2][1]


def test_what_no_method_reaches_is_said() -> None:
    with pytest.raises(DataError, match=r"no method tried brings the risk of distance-linkage to 0.1 %; the lowest"):
        protect_until(people(30), stronger(MDAV(), "k", (2, 3)), DistanceLinkage(), 0.1)
    with pytest.raises(DataError, match=r"no method tried .* to 5 %$"):
        protect_until(people(30), [], DistanceLinkage(), 5)


def test_wrong_wishes_are_refused() -> None:
    with pytest.raises(ParameterError, match="mdav has no parameter 'kk'"):
        stronger(MDAV(), "kk", (2,))
    with pytest.raises(ParameterError, match="distance-linkage has no counter 'explained'; it has "):
        protect_until(people(30), [MDAV()], DistanceLinkage(), 5, counter="explained")
    with pytest.raises(ParameterError, match="at least one seed"):
        protect_until(people(30), [MDAV()], DistanceLinkage(), 5, seeds=())


def test_progress_rises_from_the_first_method_to_the_end() -> None:
    seen: list[float] = []
    protect_until(
        people(60), stronger(MDAV(), "k", (2, 4, 8, 16)), DistanceLinkage(), 20.0, seeds=(1, 2),
        progress=lambda fraction, _: seen.append(fraction),
    )  # fmt: skip
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len({fraction for fraction in seen if fraction < 0.25}) > 2  # masking and attacking report for themselves


def test_it_can_be_cancelled() -> None:
    def stop(fraction: float, label: str) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        protect_until(people(30), [MDAV()], DistanceLinkage(), 5, progress=stop)


def test_the_loop_goes_on_until_the_requirements_are_met_too() -> None:
    data = people(60)
    methods = stronger(MDAV(), "k", (2, 4, 6, 8, 10))
    plain = protect_until(data, methods, DistanceLinkage(), 30.0)
    required = protect_until(data, methods, DistanceLinkage(), 30.0, require={"k": 8})
    assert plain.method.parameters()["k"] < required.method.parameters()["k"] == 8
    assert required.release.guarantees.k >= 8
    assert [bool(why) for why in required.unmet] == [True, True, True, False]
    assert plain.unmet == ("",) * len(plain.tried)
    with pytest.raises(DataError, match="is brought to 30 %, but the release was to have k at least 20"):
        protect_until(data, methods, DistanceLinkage(), 30.0, require={"k": 20})


def test_uniqueness_of_published_intervals_does_not_stop_the_loop_at_once() -> None:
    data = people(80)
    methods = stronger(Mondrian(publish="interval"), "k", (2, 4, 8, 16))
    found = protect_until(data, methods, Uniqueness(), 15.0, attributes=["age", "cost"])
    risks = [risk for _, risk in found.tried]
    assert len(risks) > 1
    assert risks[-1] <= 15 < min(risks[:-1])


def test_what_was_tried_is_shown_as_text_and_in_a_notebook() -> None:
    methods = stronger(MDAV(), "k", (2, 4, 8))
    found = protect_until(people(40), methods, DistanceLinkage(), 20.0, attributes=["age"])
    assert found.labels == ("k=2", "k=4", "k=8")[: len(found.tried)]
    assert found.rows()[0] == ("k=2", f"{found.tried[0][1]:.2f} %", "")
    assert found.rows()[-1][2] == f"released, 95 % interval {found.risk.low:.2f} to {found.risk.high:.2f}"
    assert str(found).startswith("the intruder is assumed to know age")
    assert "tried  distance-linkage" in str(found)
    assert "<td>k=2</td>" in found._repr_html_()
    assert found.to_plain()["tried"][0] == {"method": "k=2", "risk": found.tried[0][1], "required": True}
    assert found.to_plain()["measure"] == "distance-linkage"


def test_methods_are_told_apart_by_what_they_differ_in_or_by_labels_of_ones_own() -> None:
    data = people(30)
    one = protect_until(data, [MDAV(k=5)], DistanceLinkage(), 100)
    assert one.labels == ("mdav",)
    mixed = protect_until(data, [MDAV(k=2), Noise(alpha=50.0)], DistanceLinkage(), 100, labels=["weak", "strong"])
    assert mixed.labels == ("weak",)
    two = protect_until(data, [MDAV(k=2), Noise(alpha=50.0)], DistanceLinkage(), 100)
    assert two.labels == (repr(MDAV(k=2)),)
    with pytest.raises(ParameterError, match="2 methods need as many labels, not 1"):
        protect_until(data, [MDAV(k=2), MDAV(k=3)], DistanceLinkage(), 100, labels=["weak"])


def test_a_counter_has_no_interval() -> None:
    found = protect_until(people(), [Noise(alpha=100.0)], Inference(learner="ridge"), 100.0, counter="explained")
    assert found.measure == "inference.explained"
    assert found.rows()[0][2] == "released"
    assert "interval" not in found.sentences()[-1]


@pytest.mark.parametrize(
    ("parameter", "values"),
    [("scale", ["none", "minmax"]), ("publish", ["mean", "median"]), ("k", [3, 5]), ("publishing", ["span"])],
)
def test_parameters_of_preparation_and_publishing_are_varied_like_any_other(parameter: str, values: list[Any]) -> None:
    method = MDAV(k=4, publish="median") if parameter == "scale" else MDAV(k=4)
    found = stronger(method, parameter, values)
    assert [one.parameters().get(parameter) for one in found] == values
    kept = {name: value for name, value in method.parameters().items() if name != parameter}
    if parameter != "publishing":
        assert all({**one.parameters(), **kept} == one.parameters() for one in found)
