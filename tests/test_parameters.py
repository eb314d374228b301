"""Parameters: checked when a component is built, described for programs, read from a command line."""

from __future__ import annotations

import pytest

from microveil.attacks.intervals import IntervalDisclosure
from microveil.errors import ParameterError, UnknownNameError
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.parameters import describe_parameters, from_text
from microveil.registry import attack, loss, make, method, names


def test_texts_from_a_command_line_become_values() -> None:
    assert from_text(MDAV, {"k": "7", "scale": "raw"}) == MDAV(k=7, scale="raw")
    assert from_text(IntervalDisclosure, {"widths": "1,5,10"}).widths == (1.0, 5.0, 10.0)
    assert from_text(IntervalDisclosure, {"widths": "[2.5]"}).widths == (2.5,)
    assert make("attack", "distance-linkage", {"records": "none"}, text=True).records is None


@pytest.mark.parametrize("value", ["", "5.5", "yes", "1e3", "none", "3,4"])
def test_texts_that_are_no_whole_number_are_refused(value: str) -> None:
    with pytest.raises(ParameterError, match="mdav: k = "):
        from_text(MDAV, {"k": value})


def test_a_wrong_choice_lists_the_right_ones() -> None:
    with pytest.raises(ParameterError, match="scale = 'zz' is not allowed; it must be 'z', 'minmax' or 'raw'"):
        MDAV(scale="zz")  # type: ignore[arg-type]


def test_too_many_values_are_refused() -> None:
    with pytest.raises(ParameterError, match="noise takes 1 parameters at most"):
        Noise(0.1, 0.2)  # type: ignore[call-arg]


def test_limits_and_choices_are_described() -> None:
    k, scale, *_ = describe_parameters(MDAV)
    assert (k["type"], k["default"], k["minimum"]) == ("int", 3, 2)
    assert (scale["type"], scale["choices"]) == ("choice", ["z", "minmax", "raw"])


def test_components_are_equal_when_their_parameters_are() -> None:
    assert MDAV(k=4) == MDAV(k=4) != MDAV(k=5)
    assert len({MDAV(k=4), MDAV(k=4)}) == 1
    assert repr(Noise(alpha=0.5)) == "Noise(alpha=0.5)"


def test_the_registry_makes_components_by_name() -> None:
    assert method("mdav", k=4) == MDAV(k=4)
    assert attack("interval-disclosure").name == "interval-disclosure"
    assert loss("sse").name == "sse"
    with pytest.raises(UnknownNameError, match="unknown attack 'distance-linkige'; did you mean 'distance-linkage'"):
        attack("distance-linkige")
    with pytest.raises(UnknownNameError, match="unknown kind of entry"):
        names("measure")
