"""Per cent and probabilities are never taken for each other in silence."""

from __future__ import annotations

from typing import Any

import pytest

from microveil.errors import MicroveilError, ParameterError
from microveil.masking.guarantees import check_requirements
from microveil.study.design import Design
from microveil.units import percentage, probability


@pytest.mark.parametrize(("given", "value"), [("5", 5.0), ("5%", 5.0), (" 0.5 % ", 0.5), (0, 0.0), (100, 100.0)])
def test_a_percentage(given: Any, value: float) -> None:
    assert percentage(given, "it") == value


@pytest.mark.parametrize("given", [0.05, "0.05", ".9"])
def test_a_number_below_one_needs_the_sign_of_per_cent(given: Any) -> None:
    with pytest.raises(ParameterError, match="could also be meant as a share of 1"):
        percentage(given, "it")


@pytest.mark.parametrize("given", [-1, 101, "x", "", None, True, float("nan"), float("inf"), 10**400, "1e999"])
def test_what_is_no_percentage_is_refused(given: Any) -> None:
    with pytest.raises(ParameterError, match="it is a percentage from 0 to 100"):
        percentage(given, "it")


@pytest.mark.parametrize(("given", "value"), [(0.09, 0.09), ("0.09", 0.09), ("9%", 0.09), ("1%", 0.01), (0, 0.0)])
def test_a_probability(given: Any, value: float) -> None:
    assert probability(given, "it") == pytest.approx(value)


@pytest.mark.parametrize("given", [9, "9", -0.1, "101%", "x", None, True, float("nan"), 10**400])
def test_what_is_no_probability_is_refused(given: Any) -> None:
    with pytest.raises(ParameterError, match="it is a probability from 0 to 1"):
        probability(given, "it")


@pytest.mark.parametrize("given", [1, 1.0, "1", "1.0"])
def test_a_limit_of_one_that_may_mean_one_per_cent_is_refused_with_both_readings(given: Any) -> None:
    with pytest.raises(ParameterError, match=r"write 0\.01 or 1% for 1 per cent; no probability is above 100 per cent"):
        probability(given, "it")


def test_a_limit_that_always_holds_is_refused() -> None:
    with pytest.raises(ParameterError, match="such a limit always holds"):
        probability("100%", "it")
    with pytest.raises(ParameterError, match="the required risk is a probability below 1"):
        check_requirements({"risk": 1})


def test_the_bound_of_a_study_is_per_cent() -> None:
    method = [{"name": "mdav"}]
    assert Design.from_plain({"method": method, "accept": {"risk": 5}}).risk_bound == 5
    assert Design.from_plain({"method": method, "accept": {"risk": "0.5%"}}).risk_bound == 0.5
    with pytest.raises(MicroveilError, match="could also be meant as a share of 1"):
        Design.from_plain({"method": method, "accept": {"risk": 0.05}})
