"""What holds for every registered method. New methods are picked up from the registry by themselves."""

from __future__ import annotations

import json
import tomllib
from operator import eq

import numpy as np
import pyarrow as pa
import pytest

from microveil.attacks.correspondence import disorder_of
from microveil.errors import Cancelled, DataError, MicroveilError, ParameterError, UnknownNameError
from microveil.masking import Method, Plan, Release
from microveil.microdata import Microdata
from microveil.microdata.microdata import SYSTEM_MISSING
from microveil.protection import protect
from microveil.registry import describe, find, make, names

from .conftest import FRAMES, fitting, plain, to_frame, with_policy

CLASSES = ("crest", "camp-crest")  # need a confidential class

pytestmark = pytest.mark.parametrize("name", names("method"))


def quick(name: str, **parameters: object) -> Method:
    """The method, with parameters that keep a trial short."""
    return make("method", name, {**find("method", name).quick, **parameters})


def masked(name: str, data: Microdata, seed: int | None = 5, **options: object) -> Release:
    return quick(name).mask(data, fitting(data, find("method", name).kinds), seed=seed, **options)


def promises_k(name: str) -> bool:
    """Whether groups of k records must look alike, so that a rare missing code may be emptied; or a part does."""
    if name in ("suppress", "mondrian", "global-median", "within", "by-household", "restore", "hybrid"):
        return True
    return find("method", name).family == "microaggregation" and "k" in quick(name).parameters()


def of_the_same_records(data: Microdata, release: Release) -> Microdata:
    """The original records of a release; a sample has not all of them."""
    return data if release.rows is None else data.take(release.rows)


def test_the_same_seed_gives_the_same_release(name: str, people: Microdata) -> None:
    one, other = masked(name, people), masked(name, people)
    assert one.data.digest() == other.data.digest()
    assert one.provenance == other.provenance


def test_the_number_of_threads_changes_nothing(name: str, people: Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICROVEIL_THREADS", "1")
    one = masked(name, people)
    monkeypatch.setenv("MICROVEIL_THREADS", "4")
    assert masked(name, people).data.digest() == one.data.digest()


def test_only_random_methods_depend_on_the_seed(name: str, people: Microdata) -> None:
    # households are renumbered at random by every method
    one, other = (masked(name, people, seed=seed, keep_household_ids=True) for seed in (1, 2))
    differ = one.data.digest() != other.data.digest()
    assert differ == find("method", name).random


def test_its_records_are_seen_to_correspond_unless_they_are_shuffled(name: str, people: Microdata) -> None:
    """Without provenance; beside attributes that were left alone, and without any."""
    attributes = fitting(people, find("method", name).kinds)
    for data in (people, people.select([*attributes, "diagnosis"] if name in CLASSES else attributes)):
        release = quick(name).mask(data, attributes, seed=5, keep_household_ids=True)
        original = of_the_same_records(data, release)
        assert disorder_of(original, release.data) is None
        if data is people:
            shuffled = release.data.take(np.random.default_rng(1).permutation(len(original)))
            found = disorder_of(original, shuffled)
            assert found is not None
            health = [data.arrow("health").to_pylist() for data in (original, original.take(found.order), shuffled)]
            as_it_is, matched = (sum(map(eq, one, health[2])) for one in health[:2])
            assert matched > as_it_is


def test_a_seed_that_was_not_given_is_drawn_and_recorded(name: str, people: Microdata) -> None:
    release = masked(name, people, seed=None)
    assert masked(name, people, seed=release.provenance.seed).data.digest() == release.data.digest()


def test_an_attribute_is_masked_alike_whatever_else_is_not_masked_with_it(name: str, complete: Microdata) -> None:
    method = find("method", name)
    if method.family in ("randomising", "swapping") and not method.joint:
        attributes = fitting(complete, find("method", name).kinds)
        alone = quick(name).mask(complete, attributes[:1], seed=5)
        together = quick(name).mask(complete, attributes, seed=5)
        assert alone.data.arrow(attributes[0]).equals(together.data.arrow(attributes[0]))


@pytest.mark.parametrize("library", FRAMES)
def test_the_frame_type_and_its_shape_come_back(name: str, people: Microdata, library: str) -> None:
    frame = to_frame(people, library)
    data = Microdata.of(frame, people.schema)
    release = masked(name, data)
    assert type(release.frame) is type(frame)
    released = of_the_same_records(data, release)
    assert len(release.data) == len(released)
    assert release.data.names == tuple(n for n in people.names if n not in people.schema.identifiers)
    assert [a.kind for a in release.data.schema] == [people[n].kind for n in release.data.names]
    if library == "pandas":
        assert list(release.frame.index) == list(released.native.index)


@pytest.mark.parametrize("library", FRAMES)
def test_every_frame_library_gives_the_same_values(name: str, people: Microdata, library: str) -> None:
    data = Microdata.of(to_frame(people, library), people.schema)
    assert masked(name, data).data.digest() == masked(name, people).data.digest()


@pytest.mark.parametrize("library", FRAMES)
def test_the_input_is_not_changed(name: str, people: Microdata, library: str) -> None:
    frame = to_frame(people, library)
    before = Microdata.of(frame, people.schema).digest()
    masked(name, Microdata.of(frame, people.schema))
    assert Microdata.of(frame, people.schema).digest() == before


def test_changing_the_callers_frame_later_changes_no_release(name: str, people: Microdata) -> None:
    frame = to_frame(people, "pandas")
    data = Microdata.of(frame, people.schema)
    frame.loc[:, "age"] = 0
    assert masked(name, data).data.digest() == masked(name, people).data.digest()


def test_attributes_that_were_not_asked_for_stay_as_they_are(name: str, people: Microdata) -> None:
    release = masked(name, people, keep_household_ids=True)
    original = of_the_same_records(people, release)
    # the weights of a sample grow as the records become fewer
    adjusted = () if release.rows is None else (people.schema.weight,)
    for other in release.data.names:
        if other not in (*release.provenance.attributes, *adjusted):
            assert release.data.arrow(other).equals(original.arrow(other))


def test_households_are_numbered_anew_and_their_members_stay_together(name: str, people: Microdata) -> None:
    release = masked(name, people)
    before = of_the_same_records(people, release).arrow("household").to_pylist()
    after = release.data.arrow("household").to_pylist()
    assert after != before
    assert len(set(zip(before, after, strict=True))) == len(set(before)) == len(set(after))
    assert set(after) == set(range(1, len(set(before)) + 1))
    assert "household: households renumbered in random order" in release.provenance.notes


def test_domains_and_ranges_are_respected(name: str, people: Microdata) -> None:
    release = masked(name, people)
    for attribute in release.provenance.attributes:
        if people[attribute].kind == "numeric":
            values = release.data.numbers(attribute).values  # refuses values outside the range
            method = find("method", name)
            inside = np.nanmin(values) >= np.nanmin(people.numbers(attribute).values)
            assert inside or method.random or method.joint
        else:
            assert set(release.data.categories(attribute, people.domain(attribute)).codes) <= set(
                range(-1, len(people.domain(attribute)))
            )


def test_missing_cells_stay_missing_unless_missing_is_a_category(name: str, people: Microdata) -> None:
    attributes = fitting(people, find("method", name).kinds)
    data = with_policy(people, attributes, "not applicable")
    release = masked(name, data)
    for attribute in attributes:
        before = of_the_same_records(data, release).missing_states(attribute)
        after = release.data.missing_states(attribute)
        emptied = (after == SYSTEM_MISSING) & promises_k(name)
        assert (emptied | (after == before))[before > 0].all()


def test_missing_cells_are_refused_where_the_schema_says_so(name: str, people: Microdata) -> None:
    attributes = [a for a in fitting(people, find("method", name).kinds) if people.missing_states(a).any()]
    data = with_policy(people, attributes[:1], "refuse")
    with pytest.raises(DataError, match=f"'{attributes[0]}' has .* missing value.* policy"):
        masked(name, data)


def test_a_column_that_is_missing_throughout_comes_back_missing(name: str) -> None:
    data = plain({"a": [1, 2, 3, 4, 5, 6], "b": pa.nulls(6, pa.float64())}, find("method", name).kinds)
    release = quick(name).mask(data, ["a", "b"], seed=1)
    assert release.data.arrow("b").null_count == len(release)


def test_constant_attributes_are_handled(name: str) -> None:
    data = plain({"a": [4] * 30, "b": [7] * 30}, find("method", name).kinds)
    release = quick(name).mask(data, seed=1)
    for column in ("a", "b"):
        assert set(release.data.arrow(column).to_pylist()) == set(data.arrow(column).to_pylist())


def test_an_empty_table_is_refused(name: str, people: Microdata) -> None:
    empty = Microdata.of(people.frame.to_arrow().slice(0, 0), people.schema)
    with pytest.raises(DataError, match="no records"):
        masked(name, empty)


@pytest.mark.parametrize("records", [1, 2, 3])
def test_a_tiny_table_is_masked_or_refused_in_one_sentence(name: str, people: Microdata, records: int) -> None:
    tiny = Microdata.of(people.frame.to_arrow().slice(0, records), people.schema)
    try:
        release = masked(name, tiny)
        assert len(release) == len(of_the_same_records(tiny, release))
    except DataError as refusal:
        assert "\n" not in str(refusal)  # noqa: PT017 - either way is right


def test_infinite_values_are_refused_with_their_record(name: str) -> None:
    if "numeric" in find("method", name).kinds:
        data = Microdata.of({"a": [1.0, 2.0, float("inf"), 4.0], "b": [1.0, 2.0, 3.0, 4.0]})
        with pytest.raises(DataError, match=r"'a' has 1 infinite value \(the first in record 3\)"):
            quick(name).mask(data, seed=1)


def test_an_attribute_of_another_kind_is_refused(name: str, people: Microdata) -> None:
    kinds = find("method", name).kinds
    odd = next((a for a in people.schema if a.kind not in kinds and "identifier" not in a.roles), None)
    if odd is not None:
        with pytest.raises(DataError, match=f"'{odd.name}' is {odd.kind}, but {name} works on"):
            quick(name).mask(people, [odd.name])


def test_a_column_that_does_not_exist_is_refused(name: str, people: Microdata) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'income'"):
        quick(name).mask(people, ["incom"])


def test_identifiers_are_left_out_of_the_release(name: str, people: Microdata) -> None:
    release = masked(name, people)
    assert "person" not in release.data.names
    assert release.provenance.left_out == ("person",)
    with pytest.raises(MicroveilError, match="identifier"):
        quick(name).mask(people, ["person"])


def test_unicode_names_and_values_pass_through(name: str) -> None:
    columns = {"größe ✓": [3, 1, 2, 5, 4, 6], "نوع": ["é", "ß", "é", "漢", "ß", "é"]}
    data = Microdata.of(columns, ordinal={"نوع": ["é", "ß", "漢"]} if "ordinal" in find("method", name).kinds else None)
    attributes = [a for a in columns if data[a].kind in find("method", name).kinds]
    release = quick(name).mask(data, attributes, seed=1)
    assert release.data.names == tuple(columns)


def test_progress_rises_to_one_and_names_the_work(name: str, people: Microdata) -> None:
    reports: list[tuple[float, str]] = []
    masked(name, people, progress=lambda fraction, label: reports.append((fraction, label)))
    fractions = [fraction for fraction, _ in reports]
    assert len(reports) >= 2
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert all(label for _, label in reports)


def test_work_is_cancelled_from_the_progress_callback(name: str, people: Microdata) -> None:
    def stop(fraction: float, label: str) -> None:
        if fraction > 0:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        masked(name, people, progress=stop)


def test_the_plan_in_the_provenance_makes_the_same_release(name: str, people: Microdata) -> None:
    release = masked(name, people)
    plan = Plan.from_plain(tomllib.loads(release.plan.to_toml()))
    again = protect(Microdata.of(people.frame), plan)
    assert again.data.digest() == release.data.digest()
    assert again.provenance.to_plain() == release.provenance.to_plain()


def test_the_provenance_is_complete(name: str, people: Microdata) -> None:
    provenance = masked(name, people).provenance
    (step,) = provenance.steps
    assert step.method == name
    assert set(step.parameters) == {p["name"] for p in describe("method", name)["parameters"]}
    assert provenance.input_digest == people.digest()
    assert provenance.input_records == len(people)
    assert {"python", "microveil", "numpy", "scipy", "numba"} <= set(provenance.versions)


def test_the_manifest_holds_no_original_value(name: str) -> None:
    numbers = [90210.125 + i for i in range(40)]
    texts = [f"secret{i % 4}" for i in range(40)]
    data = Microdata.of({"income": numbers, "disease": texts}, ordinal=["disease"])
    if "ordinal" not in find("method", name).kinds:
        data = Microdata.of(data, nominal=["disease"])
    attributes = [a for a in data.names if data[a].kind in find("method", name).kinds]
    text = json.dumps(quick(name).mask(data, attributes, seed=1).manifest("0"))
    assert not any(str(value) in text for value in [*numbers, *texts])


def test_the_manifest_does_not_list_the_names_of_persons(name: str) -> None:
    """Not even when a schema declares them as a domain."""
    persons = [f"person {i}" for i in range(40)]
    data = Microdata.of({"who": persons, "x": [i % 7 for i in range(40)]}, identifiers=["who"])
    data = data.with_schema(data.schema.replacing(data["who"].changed(domain=tuple(persons))))
    kinds = find("method", name).kinds
    data = Microdata.of(data, nominal=None if "numeric" in kinds else ["x"])
    text = json.dumps(quick(name).mask(data, ["x"], seed=1).manifest("0"))
    assert "person 7" not in text


def test_masking_a_release_adds_a_step(name: str, people: Microdata) -> None:
    attributes = fitting(people, find("method", name).kinds)
    first = quick(name).mask(people, attributes[:1], seed=3)
    second = quick(name).mask(first, attributes[1:], original=people)
    assert [step.attributes for step in second.provenance.steps] == [tuple(attributes[:1]), tuple(attributes[1:])]
    assert second.provenance.input_digest == people.digest()
    with pytest.raises(ParameterError, match="one seed"):
        quick(name).mask(first, attributes[1:], seed=4)


def test_it_describes_itself(name: str) -> None:
    entry = describe("method", name)
    json.dumps(entry)
    assert entry["name"] == name
    assert entry["kinds"]
    assert all(entry[field] for field in ("family", "summary", "source", "missing", "weights"))
    for parameter in entry["parameters"]:
        assert parameter["help"]
        assert parameter["type"]


def test_the_documented_defaults_are_the_real_ones(name: str) -> None:
    defaults = {p["name"]: p["default"] for p in describe("method", name)["parameters"]}
    assert make("method", name).parameters() == defaults
    assert make("method", name, defaults) == make("method", name)


def test_unknown_and_wrong_parameters_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name} has no parameter 'nonsense'"):
        make("method", name, {"nonsense": 1})
    for parameter in describe("method", name)["parameters"]:
        with pytest.raises(ParameterError, match=parameter["name"]):
            make("method", name, {parameter["name"]: object()})


def test_it_is_frozen(name: str) -> None:
    method = quick(name)
    parameter = describe("method", name)["parameters"][0]["name"]
    with pytest.raises(AttributeError):
        setattr(method, parameter, 3)
