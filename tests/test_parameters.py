"""Parameters: checked when a component is built, described for programs, read from a command line."""

from __future__ import annotations

import pytest

from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.errors import ParameterError, UnknownNameError
from microveil.losses.categorical.distance import DBIL
from microveil.masking import Method
from microveil.masking.coarsening.recode import Recode
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.matrix import Matrix
from microveil.masking.swapping.data_swapping import DataSwapping
from microveil.masking.swapping.rank_swapping_buckets import RankSwappingBuckets
from microveil.masking.within import Within
from microveil.parameters import component_parameters, describe_parameters, from_text
from microveil.registry import attack, loss, make, method, names


def test_texts_from_a_command_line_become_values() -> None:
    assert from_text(MDAV, {"k": "7", "scale": "none"}) == MDAV(k=7, scale="none")
    assert from_text(IntervalDisclosure, {"widths": "1,5,10"}).widths == (1.0, 5.0, 10.0)
    assert from_text(IntervalDisclosure, {"widths": "[2.5]"}).widths == (2.5,)
    assert make("attack", "distance-linkage", {"records": "none"}, text=True).records is None


@pytest.mark.parametrize(
    ("typed", "columns"),
    [
        ("sex", ("sex",)),
        ("sex,town", ("sex", "town")),
        ("[sex, town]", ("sex", "town")),
        ('["sex"]', ("sex",)),
        ('["sex, or so", "town"]', ("sex, or so", "town")),
        ("2024", ("2024",)),
        ("[2024, 01]", ("2024", "01")),
        ("none", None),
    ],
)
def test_one_name_is_a_list_of_one_on_a_command_line(typed: str, columns: tuple[str, ...] | None) -> None:
    assert from_text(DataSwapping, {"within": typed}).within == columns


def test_one_number_is_a_list_of_one_only_where_a_list_is_asked_for() -> None:
    assert from_text(IntervalDisclosure, {"widths": "5"}).widths == (5.0,)
    assert from_text(Recode, {"by": "cuts", "cuts": "5"}).cuts == 5
    assert from_text(RankSwappingBuckets, {"bucket_weights": "normal"}).bucket_weights == "normal"
    assert from_text(Matrix, {"mixing": "[[1, 0], [0, 1]]"}).mixing == ((1.0, 0.0), (0.0, 1.0))
    with pytest.raises(ParameterError, match="widths = 'wide' is not allowed; it must be a valid number"):
        from_text(IntervalDisclosure, {"widths": "wide"})


@pytest.mark.parametrize("value", ["", "5.5", "yes", "1e3", "none", "3,4"])
def test_texts_that_are_no_whole_number_are_refused(value: str) -> None:
    with pytest.raises(ParameterError, match="mdav: k = "):
        from_text(MDAV, {"k": value})


def test_a_wrong_choice_lists_the_right_ones() -> None:
    with pytest.raises(ParameterError, match="scale = 'zz' is not allowed; it must be 'z', 'minmax' or 'none'"):
        MDAV(scale="zz")  # type: ignore[arg-type]


def test_too_many_values_are_refused() -> None:
    with pytest.raises(ParameterError, match="sampling takes"):
        Sampling(*[0.5] * 9)  # type: ignore[call-arg]


def test_a_value_by_its_position_is_named_in_the_error() -> None:
    with pytest.raises(ParameterError, match="k = 'many' is not allowed"):
        MDAV("many")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="k is given twice"):
        MDAV(3, k=4)  # type: ignore[misc]


def test_limits_and_choices_are_described() -> None:
    described = {entry["name"]: entry for entry in describe_parameters(MDAV)}
    k, scale = described["k"], described["scale"]
    assert (k["type"], k["default"], k["minimum"]) == ("int", 3, 2)
    assert (scale["type"], scale["choices"], scale["part"]) == ("choice", ["z", "minmax", "none"], "preparation")
    assert "part" not in k


def test_components_are_equal_when_their_parameters_are() -> None:
    assert MDAV(k=4) == MDAV(k=4) != MDAV(k=5)
    assert len({MDAV(k=4), MDAV(k=4)}) == 1
    assert repr(DBIL(ordinal_distance="unit")).startswith("DBIL(ordinal_distance='unit', ")


def test_the_registry_makes_components_by_name() -> None:
    assert method("mdav", k=4) == MDAV(k=4)
    assert attack("interval-disclosure").name == "interval-disclosure"
    assert loss("sse").name == "sse"
    with pytest.raises(UnknownNameError, match="unknown attack 'distance-linkige'; did you mean 'distance-linkage'"):
        attack("distance-linkige")
    with pytest.raises(UnknownNameError, match="unknown kind of entry"):
        names("measure")


# --- components inside components ---------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [{"name": "mdav", "k": 5}, "mdav k=5", "mdav  scale=z k=5", MDAV(k=5)])
def test_a_method_inside_another_is_given_in_its_plain_form_or_as_it_is(inside: object) -> None:
    assert make("method", "within", {"method": inside}) == Within(method=MDAV(k=5))


def test_a_method_inside_another_is_given_on_a_command_line() -> None:
    typed = {"method": "mdav k=5", "clusters": "4"}
    assert make("method", "within", typed, text=True) == Within(method=MDAV(k=5), clusters=4)
    inside = {"method": "within method=mdav clusters=3"}
    assert make("method", "within", inside, text=True) == Within(method=Within(method=MDAV(), clusters=3))


def test_the_plain_form_of_a_method_inside_another_gives_it_back() -> None:
    made = Within(method=MDAV(k=5, block=2))
    plain = made.parameters()
    assert plain["method"]["name"] == "mdav"
    assert "chunk" not in plain["method"]  # not set, and TOML has no null
    assert make("method", "within", {k: v for k, v in plain.items() if v is not None}) == made


def test_a_parameter_that_is_a_component_is_described_as_one() -> None:
    described = {entry["name"]: entry for entry in describe_parameters(Within)}
    assert component_parameters(Within) == {"method": Method}
    assert component_parameters(MDAV) == {}
    assert described["method"]["type"] == "method"
    assert described["method"]["default"]["name"] == "mdav-generic"


@pytest.mark.parametrize(
    ("inside", "problem"),
    [
        ({"k": 5}, "within: method needs the name of a method"),
        ({"name": 5}, "within: method needs the name of a method"),
        ({"name": "mdaw"}, "unknown method 'mdaw'; did you mean 'mdav'"),
        ({"name": "mdav", "q": 5}, "mdav has no parameter 'q'"),
        ("", "within: method is a method with its parameters, such as 'mdav k=5', not ''"),
        ("mdav 5", "such as 'mdav k=5', not 'mdav 5'"),
        ("mdav k=0", "mdav: k = 0 is not allowed"),
        (5, "within: method = 5 is not allowed; it must be an instance of Method"),
    ],
)
def test_what_is_no_method_is_refused_in_one_sentence(inside: object, problem: str) -> None:
    with pytest.raises((ParameterError, UnknownNameError), match=problem) as refusal:
        make("method", "within", {"method": inside})
    assert "\n" not in str(refusal.value)


# --- numbers that nobody can mean ---------------------------------------------------------------------------------


def test_a_bound_is_said_in_the_error() -> None:
    with pytest.raises(
        ParameterError, match=r"mdav: k = 10000000000 is not allowed; it must be at most 1,000,000,000$"
    ):
        MDAV(k=10**10)
    assert describe_parameters(MDAV)[0]["maximum"] == 1_000_000_000


@pytest.mark.parametrize("digits", [200, 4300, 5000])
def test_numbers_of_thousands_of_digits_are_refused_on_a_command_line_and_in_python(digits: int) -> None:
    with pytest.raises(
        ParameterError, match=r"mdav: k = .* is not allowed; it must be (at most|a whole number)"
    ) as said:
        from_text(MDAV, {"k": "9" * digits})
    assert len(str(said.value)) < 200
    with pytest.raises(ParameterError, match=rf"mdav: k = a number of {digits:,} digits is not allowed"):
        MDAV(k=10 ** (digits - 1))


def test_lists_hold_no_number_beyond_all_limits_either() -> None:
    with pytest.raises(ParameterError, match=r"interval-disclosure: widths = 1e\+200 is not allowed"):
        IntervalDisclosure(widths=(1.0, 1e200))
    with pytest.raises(ParameterError, match="widths = nan is not allowed; it must be a finite number"):
        IntervalDisclosure(widths=(1.0, float("nan")))


def test_values_that_are_nested_deeply_are_refused() -> None:
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ParameterError, match="matrix: mixing is nested too deeply"):
        Matrix(mixing=deep)  # type: ignore[arg-type]


def test_a_choice_that_is_called_none_is_not_taken_for_an_unset_value() -> None:
    assert from_text(DistanceLinkage, {"standardisation": "none"}) == DistanceLinkage(standardisation="none")
    assert from_text(MDAV, {"block": "none"}) == MDAV(block=None)
