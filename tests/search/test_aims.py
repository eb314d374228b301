from __future__ import annotations

from typing import Any

import pytest

from microveil.errors import MicroveilError
from microveil.search.aims import Aim, seconds_of
from microveil.study.measuring import Measured, Value


def measured(loss: float = 10.0, risk: float = 5.0, il: float = 10.0, **guarantees: float) -> Measured:
    values = (Value("loss", "il", "il", il), Value("risk", "distance-linkage", "distance-linkage", risk))
    return Measured(values, loss, risk, (loss + risk) / 2, 100, guarantees=guarantees)


def test_shortfalls_are_shares_of_what_was_asked_for() -> None:
    aim = Aim.of(5, {"k": 4, "t": 0.2}, {"il": 20, "distance-linkage": 2})
    found = aim.shortfalls(measured(k=3, t=0.3, il=30.0))
    assert found == {"k": 0.25, "t": pytest.approx(0.5), "il": 0.5, "distance-linkage": 1.5}
    assert aim.violation(measured(k=3, t=0.3, il=30.0)) == pytest.approx(2.75)
    assert aim.violation(measured(k=4, t=0.2, il=20.0, risk=2.0)) == 0
    assert aim.violation(measured(k=9, t=0.1, il=1.0, risk=1.0)) == 0


def test_what_was_not_measured_is_not_kept() -> None:
    assert Aim.of(None, {"k": 3}, None).violation(measured()) == 1.0
    assert Aim.of(None, None, {"sse": 5}).shortfalls(measured()) == {"sse": 1.0}


def test_what_is_asked_for_and_what_is_reached_are_told() -> None:
    aim = Aim.of(5, {"k": 3, "risk": 0.1}, {"il": 20})
    assert aim.words == "k at least 3 and risk at most 0.1 and il at most 20 % and a risk below 5 %"
    assert aim.told(measured(k=2)) == "k = 2, il = 10.00 %, risk 5.00 %, loss 10.00 %"


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ((0, None, None), "no release has a risk below 0 %"),
        ((0.05, None, None), "could also be meant as a share of 1"),
        ((101, None, None), "from 0 to 100"),
        (("low", None, None), "from 0 to 100"),
        ((None, {"kk": 3}, None), "kk"),
        ((None, None, {"ill": 3}), "unknown loss or attack 'ill'; did you mean 'il'"),
        ((None, None, {"il": 300}), "the bound on il is a percentage"),
    ],
)
def test_wishes_without_a_meaning_are_refused(wish: tuple[Any, Any, Any], told: str) -> None:
    with pytest.raises(MicroveilError, match=told):
        Aim.of(*wish)


@pytest.mark.parametrize("budget", ["", "ten", "-5", "0", 0, "1d", True, None, "1e9h", "5 5", [1]])
def test_times_without_a_meaning_are_refused(budget: Any) -> None:
    with pytest.raises(MicroveilError, match="it must be a time above 0"):
        seconds_of(budget)


def test_times_are_seconds_minutes_or_hours() -> None:
    assert [seconds_of(text) for text in ("90", "90s", "1.5m", "2 h", 7)] == [90, 90, 90, 7200, 7]
