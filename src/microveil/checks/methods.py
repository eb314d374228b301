"""What holds for every method."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from operator import eq
from typing import Any

import numpy as np
import pyarrow as pa

from microveil.attacks.correspondence import disorder_of
from microveil.checks.expecting import expect, expect_equal, refused, threads
from microveil.checks.tables import (
    FRAMES,
    complete,
    fitting,
    linked_people,
    people,
    plain,
    to_frame,
    with_policy,
    with_refused_cells,
)
from microveil.errors import Cancelled, DataError, MicroveilError, ParameterError, UnknownNameError
from microveil.masking import Method, Plan, Release
from microveil.microdata import Microdata
from microveil.microdata.edges import Edges
from microveil.microdata.microdata import SYSTEM_MISSING
from microveil.protection import protect
from microveil.registry import describe_class, make_of

Class = type[Method]


def _about_attributes(check: Callable[[Class], None]) -> Callable[[Class], None]:
    """A check of what becomes of attributes, which passes for a method that changes links and no attribute."""

    @wraps(check)
    def run(cls: Class) -> None:
        if not cls.structural:
            check(cls)

    return run


def the_same_seed_gives_the_same_release(cls: Class) -> None:
    one, other = _masked(cls, _people(cls)), _masked(cls, _people(cls))
    _expect_same_values(other, one, "a second release with the same seed")
    expect(one.provenance == other.provenance, "the provenance of a second release with the same seed differs")


def the_number_of_threads_changes_nothing(cls: Class) -> None:
    with threads(1):
        one = _masked(cls, _people(cls))
    with threads(4):
        _expect_same_values(_masked(cls, _people(cls)), one, "a release made by four threads")


def only_random_methods_depend_on_the_seed(cls: Class) -> None:
    # households are renumbered at random by every method
    one, other = (_masked(cls, _people(cls), seed=seed, keep_household_ids=True) for seed in (1, 2))
    differ = one.data.digest() != other.data.digest()
    expect_equal(cls.random, differ, "what it declares as `random`")


@_about_attributes
def its_records_are_seen_to_correspond_unless_they_are_shuffled(cls: Class) -> None:
    """Without provenance; beside attributes that were left alone, and without any. In one order of three an attribute
    may have to do with itself by chance."""
    attributes = fitting(people(), cls.kinds)
    for data in (people(),) if cls.detaches_values else (people(), people().select(attributes)):
        release = _quick(cls).mask(data, attributes, seed=5, keep_household_ids=True)
        original = _of_the_same_records(data, release)
        expect(disorder_of(original, release.data) is None, "its records are taken for shuffled ones")
        if data is people():
            orders = (np.random.default_rng(seed).permutation(len(original)) for seed in (1, 2, 3))
            shuffled = [release.data.take(order) for order in orders]
            found = [(one, disorder) for one in shuffled if (disorder := disorder_of(original, one)) is not None]
            expect(len(found) >= 2, "shuffled records are not noticed")
            for one, disorder in found:
                tables = (original, original.take(disorder.order), one)
                health = [table.arrow("health").to_pylist() for table in tables]
                as_it_is, matched = (sum(map(eq, cells, health[2])) for cells in health[:2])
                expect(matched > as_it_is, "shuffled records are not matched")


def a_seed_that_was_not_given_is_drawn_and_recorded(cls: Class) -> None:
    release = _masked(cls, _people(cls), seed=None)
    again = _masked(cls, _people(cls), seed=release.provenance.seed)
    _expect_same_values(again, release, "a release with the seed that was drawn")


@_about_attributes
def an_attribute_is_masked_alike_whatever_else_is_not_masked_with_it(cls: Class) -> None:
    if cls.family in ("randomising", "swapping") and not cls.joint:
        attributes = fitting(complete(), cls.kinds)
        alone = _quick(cls).mask(complete(), attributes[:1], seed=5)
        together = _quick(cls).mask(complete(), attributes, seed=5)
        alike = alone.data.arrow(attributes[0]).equals(together.data.arrow(attributes[0]))
        expect(alike, f"'{attributes[0]}' differs when others are masked with it; declare the method as `joint`")


def the_frame_type_and_its_shape_come_back(cls: Class) -> None:
    for library in FRAMES:
        frame = to_frame(_people(cls), library)
        data = _again(cls, frame)
        release = _masked(cls, data)
        expect_equal(type(release.frame), type(frame), f"the type of a release from {library}")
        released = _of_the_same_records(data, release)
        expect_equal(len(release.data), len(released), f"the number of records from {library}")
        names = tuple(n for n in _people(cls).names if n not in _people(cls).schema.identifiers)
        expect_equal(release.data.names, names, f"the columns from {library}")
        kinds = [_people(cls)[n].kind for n in release.data.names]
        expect_equal([a.kind for a in release.data.schema], kinds, f"the kinds of attributes from {library}")
        if library == "pandas":
            expect_equal(list(release.frame.index), list(released.native.index), "the index of the pandas frame")


def every_frame_library_gives_the_same_values(cls: Class) -> None:
    expected = _masked(cls, _people(cls))
    for library in FRAMES:
        data = _again(cls, to_frame(_people(cls), library))
        _expect_same_values(_masked(cls, data), expected, f"a release from {library}")


def the_input_is_not_changed(cls: Class) -> None:
    for library in FRAMES:
        frame = to_frame(_people(cls), library)
        before = _again(cls, frame).digest()
        _masked(cls, _again(cls, frame))
        expect(_again(cls, frame).digest() == before, f"a frame of {library} was changed")


@_about_attributes
def changing_the_callers_frame_later_changes_no_release(cls: Class) -> None:
    if "pandas" in FRAMES:
        frame = to_frame(people(), "pandas")
        data = Microdata.of(frame, people().schema)
        frame.loc[:, "age"] = 0
        _expect_same_values(_masked(cls, data), _masked(cls, people()), "the release of a frame that changed later")


def attributes_that_were_not_asked_for_stay_as_they_are(cls: Class) -> None:
    release = _masked(cls, _people(cls), keep_household_ids=True)
    original = _of_the_same_records(_people(cls), release)
    # the weights of a sample grow as the records become fewer
    adjusted = () if release.rows is None else (_people(cls).schema.weight,)
    for other in release.data.names:
        if other not in (*release.provenance.attributes, *adjusted):
            expect(release.data.arrow(other).equals(original.arrow(other)), f"'{other}' was changed")


def households_are_numbered_anew_and_their_members_stay_together(cls: Class) -> None:
    release = _masked(cls, _people(cls))
    before = _of_the_same_records(_people(cls), release).arrow("household").to_pylist()
    after = release.data.arrow("household").to_pylist()
    expect(after != before, "the numbers of households are those of the original")
    together = len(set(zip(before, after, strict=True))) == len(set(before)) == len(set(after))
    expect(together, "members of a household have different numbers")
    expect_equal(set(after), set(range(1, len(set(before)) + 1)), "the numbers of households")
    said = "household: households renumbered in random order" in release.provenance.notes
    expect(said, "no note says that households were renumbered")


@_about_attributes
def members_stay_alike_in_declared_attributes_of_the_household(cls: Class) -> None:
    """In the first of the attributes that it masks, which members share here, beside others that they do not."""
    attributes = fitting(people(), cls.kinds)
    declared = attributes[0]
    home = np.unique(np.array(people().arrow("household").to_pylist()), return_inverse=True)[1]
    first = pa.array(np.unique(home, return_index=True)[1][home])
    shared = people().with_columns({declared: people().arrow(declared).take(first)})
    release = _masked(cls, Microdata.of(shared, household_attributes=[declared]))
    after = release.data.arrow("household").to_pylist()
    cells = set(zip(after, map(str, release.data.arrow(declared).to_pylist()), strict=True))
    expect_equal(len(cells), len(set(after)), f"the number of different values of '{declared}' in households")
    differing = dict(release.provenance.members_differ).get(declared, 0)
    expect_equal(differing, 0, "the households whose members are said to differ")


@_about_attributes
def domains_and_ranges_are_respected(cls: Class) -> None:
    release = _masked(cls, people())
    for attribute in release.provenance.attributes:
        if people()[attribute].kind == "numeric":
            values = release.data.numbers(attribute).values  # refuses values outside the range
            inside = np.nanmin(values) >= np.nanmin(people().numbers(attribute).values)
            expect(inside or cls.random or cls.joint, f"'{attribute}' has values below those of the original")
        else:
            codes = set(release.data.categories(attribute, people().domain(attribute)).codes)
            allowed = set(range(-1, len(people().domain(attribute))))
            expect(codes <= allowed, f"'{attribute}' has categories outside its domain")


@_about_attributes
def missing_cells_stay_missing_unless_missing_is_a_category(cls: Class) -> None:
    attributes = fitting(people(), cls.kinds)
    data = with_policy(people(), attributes, "not applicable")
    release = _masked(cls, data)
    for attribute in attributes:
        before = _of_the_same_records(data, release).missing_states(attribute)
        after = release.data.missing_states(attribute)
        suppressed = (after == SYSTEM_MISSING) & cls.suppresses
        kept = (suppressed | (after == before))[before > 0].all()
        expect(kept, f"missing cells of '{attribute}' have become something else")


@_about_attributes
def missing_cells_are_refused_where_the_schema_says_so(cls: Class) -> None:
    data, attributes = with_refused_cells(cls.kinds)
    with refused(DataError, f"'{attributes[0]}' has .* missing value.* policy", "a missing cell"):
        _masked(cls, data)


@_about_attributes
def a_column_that_is_missing_throughout_comes_back_missing(cls: Class) -> None:
    data = plain({"a": [1, 2, 3, 4, 5, 6], "b": pa.nulls(6, pa.float64())}, cls.kinds)
    release = _quick(cls).mask(data, ["a", "b"], seed=1)
    expect_equal(release.data.arrow("b").null_count, len(release), "the number of missing cells")


@_about_attributes
def constant_attributes_are_handled(cls: Class) -> None:
    # of a record that is taken for a series the values must not vary either
    data = plain({"a": [4] * 30, "b": [4 if cls.over_time else 7] * 30}, cls.kinds)
    release = _quick(cls).mask(data, seed=1)
    for column in ("a", "b"):
        values = set(data.arrow(column).to_pylist())
        expect_equal(set(release.data.arrow(column).to_pylist()), values, "the values of a constant")


def an_empty_table_is_refused(cls: Class) -> None:
    empty = _people(cls).take(np.arange(0))
    with refused(DataError, "no records", "an empty table"):
        _masked(cls, empty)


def a_tiny_table_is_masked_or_refused_in_one_sentence(cls: Class) -> None:
    for records in (1, 2, 3):
        tiny = _people(cls).take(np.arange(records))
        try:
            release = _masked(cls, tiny)
        except DataError as refusal:
            expect("\n" not in str(refusal), "the refusal has several lines")
        else:
            expect_equal(len(release), len(_of_the_same_records(tiny, release)), "the number of records")


@_about_attributes
def infinite_values_are_refused_with_their_record(cls: Class) -> None:
    if "numeric" in cls.kinds:
        data = Microdata.of({"a": [1.0, 2.0, float("inf"), 4.0], "b": [1.0, 2.0, 3.0, 4.0]})
        with refused(DataError, r"'a' has 1 infinite value \(the first in record 3\)", "an infinite value"):
            _quick(cls).mask(data, seed=1)


@_about_attributes
def an_attribute_of_another_kind_is_refused(cls: Class) -> None:
    odd = next((a for a in people().schema if a.kind not in cls.kinds and "identifier" not in a.roles), None)
    if odd is not None:
        words = f"'{odd.name}' is {odd.kind}, but {cls.name} works on"
        with refused(DataError, words, f"an attribute that is {odd.kind}"):
            _quick(cls).mask(people(), [odd.name])


@_about_attributes
def a_column_that_does_not_exist_is_refused(cls: Class) -> None:
    with refused(UnknownNameError, "did you mean 'income'", "a column that does not exist"):
        _quick(cls).mask(people(), ["incom"])


def identifiers_are_left_out_of_the_release(cls: Class) -> None:
    release = _masked(cls, _people(cls))
    expect("person" not in release.data.names, "the identifier is in the release")
    expect_equal(release.provenance.left_out, ("person",), "what the provenance says was left out")
    with refused(MicroveilError, "no attribute" if cls.structural else "identifier", "an identifier"):
        _quick(cls).mask(_people(cls), ["person"])


@_about_attributes
def unicode_names_and_values_pass_through(cls: Class) -> None:
    columns: dict[str, list[Any]] = {"größe ✓": [3, 1, 2, 5, 4, 6], "نوع": ["é", "ß", "é", "漢", "ß", "é"]}
    data = Microdata.of(columns, ordinal={"نوع": ["é", "ß", "漢"]} if "ordinal" in cls.kinds else None)
    attributes = [a for a in columns if data[a].kind in cls.kinds]
    release = _quick(cls).mask(data, attributes, seed=1)
    expect_equal(release.data.names, tuple(columns), "the names of the columns")


def progress_rises_to_one_and_names_the_work(cls: Class) -> None:
    reports: list[tuple[float, str]] = []
    _masked(cls, _people(cls), progress=lambda fraction, label: reports.append((fraction, label)))
    fractions = [fraction for fraction, _ in reports]
    expect(len(reports) >= 2, "there are fewer than two reports")
    expect_equal(fractions, sorted(fractions), "the progress")
    expect_equal(fractions[-1], 1.0, "the last report of progress")
    expect(all(label for _, label in reports), "a report does not name the work")


def work_is_cancelled_from_the_progress_callback(cls: Class) -> None:
    def stop(fraction: float, label: str) -> None:
        if fraction > 0:
            raise Cancelled("enough")

    with refused(Cancelled, "enough", "work that was cancelled"):
        _masked(cls, _people(cls), progress=stop)


def the_plan_in_the_provenance_makes_the_same_release(cls: Class) -> None:
    release = _masked(cls, _people(cls))
    plan = Plan.from_plain(tomllib.loads(release.plan.to_toml()))
    again = protect(Microdata.of(_people(cls).frame, graph=_people(cls).edges), plan)
    _expect_same_values(again, release, "the release that the plan makes")
    expect_equal(again.provenance.to_plain(), release.provenance.to_plain(), "its provenance")


def the_provenance_is_complete(cls: Class) -> None:
    provenance = _masked(cls, _people(cls)).provenance
    (step,) = provenance.steps
    expect_equal(step.method, cls.name, "the method in the provenance")
    declared = {p["name"] for p in describe_class("method", cls)["parameters"]}
    expect_equal(set(step.parameters), declared, "the parameters in the provenance")
    expect_equal(provenance.input_digest, _people(cls).digest(), "the digest of the input")
    expect_equal(provenance.input_records, len(_people(cls)), "the number of records of the input")
    known = {"python", "microveil", "numpy", "scipy", "numba"} <= set(provenance.versions)
    expect(known, "the provenance does not say which versions made the release")


@_about_attributes
def the_manifest_holds_no_original_value(cls: Class) -> None:
    numbers = [90210.125 + i for i in range(40)]
    texts = [f"secret{i % 4}" for i in range(40)]
    data = Microdata.of({"income": numbers, "disease": texts}, ordinal=["disease"])
    if "ordinal" not in cls.kinds:
        data = Microdata.of(data, nominal=["disease"])
    attributes = [a for a in data.names if data[a].kind in cls.kinds]
    text = json.dumps(_quick(cls).mask(data, attributes, seed=1).manifest("0"))
    expect(not any(str(value) in text for value in [*numbers, *texts]), "a value of a record is in the manifest")


@_about_attributes
def the_manifest_does_not_list_the_names_of_persons(cls: Class) -> None:
    """Not even when a schema declares them as a domain."""
    persons = [f"person {i}" for i in range(40)]
    data = Microdata.of({"who": persons, "x": [i % 7 for i in range(40)]}, identifiers=["who"])
    data = data.with_schema(data.schema.replacing(data["who"].changed(domain=tuple(persons))))
    data = Microdata.of(data, nominal=None if "numeric" in cls.kinds else ["x"])
    text = json.dumps(_quick(cls).mask(data, ["x"], seed=1).manifest("0"))
    expect("person 7" not in text, "the name of a person is in the manifest")


@_about_attributes
def masking_a_release_adds_a_step(cls: Class) -> None:
    attributes = fitting(people(), cls.kinds)
    first = _quick(cls).mask(people(), attributes[:1], seed=3)
    second = _quick(cls).mask(first, attributes[1:], original=people())
    steps = [step.attributes for step in second.provenance.steps]
    expect_equal(steps, [tuple(attributes[:1]), tuple(attributes[1:])], "the attributes of the two steps")
    expect_equal(second.provenance.input_digest, people().digest(), "the digest of the input")
    with refused(ParameterError, "one seed", "another seed for the second step"):
        _quick(cls).mask(first, attributes[1:], seed=4)


def links_stay_unless_the_method_is_structural(cls: Class) -> None:
    release = _quick(cls).mask(linked_people(), fitting(people(), cls.kinds), seed=5)
    edges = _of_the_same_records(linked_people(), release).edges
    if cls.structural:
        nodes = None if release.data.edges is None else release.data.edges.nodes
        expect_equal(nodes, len(linked_people()), "the number of nodes")
    else:
        expect(release.data.edges == edges, "its links are not those of the original")


def a_structural_method_needs_links_and_takes_no_attributes(cls: Class) -> None:
    if cls.structural:
        expect_equal(cls.kinds, (), "the kinds of attributes")
        with refused(DataError, "the table has none", "a table without links"):
            _quick(cls).mask(people(), seed=1)
        with refused(ParameterError, "no attribute", "the name of an attribute"):
            _quick(cls).mask(linked_people(), ["age"], seed=1)


def graphs_without_links_and_with_all_are_masked_or_refused_in_one_sentence(cls: Class) -> None:
    if cls.structural:
        some = people().take(np.arange(12))
        every = np.triu_indices(12, 1)
        for source, target in (every, (every[0][:0], every[1][:0])):
            try:
                release = _quick(cls).mask(replace(some, edges=Edges.of(source, target, 12)), seed=1)
            except DataError as refusal:
                expect("\n" not in str(refusal), "the refusal has several lines")
            else:
                expect_equal(len(release), 12, "the number of nodes")


def _people(cls: Class) -> Microdata:
    """The table to mask; with links for a method that changes these."""
    return linked_people() if cls.structural else people()


def _again(cls: Class, frame: Any) -> Microdata:
    """The same table in another frame."""
    return Microdata.of(frame, people().schema, graph=_people(cls).edges)


def _quick(cls: Class) -> Method:
    """The method, with parameters that keep a trial short."""
    made: Method = make_of(cls, cls.quick)
    return made


def _masked(cls: Class, data: Microdata, seed: int | None = 5, **options: Any) -> Release:
    return _quick(cls).mask(data, fitting(data, cls.kinds), seed=seed, **options)


def _of_the_same_records(data: Microdata, release: Release) -> Microdata:
    """The original records of a release; a sample has not all of them."""
    return data if release.rows is None else data.take(release.rows)


def _expect_same_values(found: Release, expected: Release, what: str) -> None:
    expect(found.data.digest() == expected.data.digest(), f"{what} has other values")
