"""Errors are one sentence each, however long what a user wrote is."""

from __future__ import annotations

import pandas as pd
import pytest

import microveil as mv
from microveil.errors import DataError, FileError, MicroveilError, ParameterError, toml_of


def test_what_a_user_wrote_at_length_is_shown_by_its_beginning() -> None:
    assert str(ParameterError(f"not '{'9' * 5000}'")) == f"not '{'9' * 76}..."
    assert str(MicroveilError("short")) == "short"
    many = str(ParameterError("name, " * 2000))
    assert len(many) == 1503
    assert many.endswith("...")


def test_a_path_of_a_usual_length_is_shown_whole() -> None:
    path = "/data/" + "x" * 400 + ".csv"
    assert path in str(FileError(path, "is empty"))


@pytest.mark.parametrize("value", [10**5000, object(), [[None]]], ids=["long", "object", "nothing"])
def test_what_toml_cannot_express_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match="TOML cannot express"):
        toml_of({"value": value})


def test_a_plan_with_a_number_of_5000_digits_is_refused() -> None:
    plan = mv.Plan.from_plain({"steps": [{"method": "mdav", "parameters": {"k": 10**5000}}]})
    with pytest.raises(ParameterError, match="too many digits"):
        plan.to_toml()


@pytest.mark.parametrize("long", [2**62, 2**70])
def test_truth_values_among_long_numbers_are_several_types(long: int) -> None:
    frame = pd.DataFrame({"mixed": pd.Series([True, long, 5], dtype=object)})
    with pytest.raises(DataError, match="values of several types"):
        mv.risk_of_file(mv.Microdata.of(frame, keys=["mixed"]))
