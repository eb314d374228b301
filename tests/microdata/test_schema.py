"""Kinds, roles, domains, missing policies; and the schema as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from microveil.errors import FileError, MicroveilError, OutputExistsError, SchemaError, UnknownNameError
from microveil.microdata import Attribute, Hierarchy, Schema
from microveil.microdata.datasets.sample_survey import survey_schema
from microveil.microdata.schema import make_attribute


def test_a_schema_written_and_read_is_the_same(tmp_path: Path) -> None:
    schema = survey_schema()
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema


def test_every_field_survives_the_file(tmp_path: Path) -> None:
    schema = Schema(
        [
            Attribute(
                name="größe in m", kind="numeric", roles=("key", "confidential"), range=(0.5, 2.5), missing="refuse",
                missing_codes=(-9, 9.5), missing_ranges=((90.0, 99.0),), label="Körpergröße",
            ),
            Attribute(
                name="job", kind="nominal", roles=("stratum",), domain=(1, "a", 2.5, True), missing="own category",
                value_labels={1: "cook", "a": "nurse"}, missing_codes=("REF",),
            ),
            Attribute(name="place", kind="location", hierarchy=Hierarchy.of([("Graz", "South"), ("Linz", "North")])),
        ]
    )  # fmt: skip
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema


@pytest.mark.spec("01:DAT-3")
def test_a_role_can_be_one_word_a_list_or_other() -> None:
    entries = {
        "a": {"kind": "numeric", "role": "key"},
        "b": {"kind": "nominal", "role": ["key", "stratum"]},
        "c": {"kind": "ordinal", "role": "other"},
    }
    schema = Schema.from_plain({"attributes": entries})
    assert schema.keys == ("a", "b")
    assert schema.having("stratum") == ("b",)
    assert schema["c"].roles == ()


@pytest.mark.spec("01:DAT-3", "03:SC-1")
def test_roles_given_anew_replace_the_old_ones() -> None:
    schema = survey_schema().with_roles(key=["age"], weight=None)
    assert schema.keys == ("age",)
    assert schema.weight == "weight"
    assert schema.having("stratum") == ("region",)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kind": "number"}, "kind: it must be 'numeric', 'ordinal', 'nominal' or 'location'"),
        ({"kind": "numeric", "roles": ("boss",)}, "roles"),
        ({"kind": "numeric", "domain": (1, 2)}, "a numeric attribute has a range, not a domain"),
        ({"kind": "nominal", "domain": (1, 1.0)}, "its domain lists a category twice"),
        ({"kind": "nominal", "domain": ("a",), "missing_codes": ("a",)}, "a missing code stands in its domain"),
        ({"kind": "nominal", "range": (0, 1)}, "only a numeric attribute has a range"),
        ({"kind": "numeric", "range": (2, 1)}, "its range is empty"),
        ({"kind": "nominal", "roles": ("identifier", "key")}, "an identifier is never released"),
        ({"kind": "nominal", "roles": ("weight",)}, "a weight must be numeric"),
        ({"kind": "numeric", "missing": "ignore"}, "missing: it must be 'own category'"),
        ({"kind": "numeric", "colour": "red"}, "colour"),
        ({}, "kind"),
    ],
)
def test_an_attribute_that_contradicts_itself_is_refused_by_name(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        make_attribute({"name": "x", **wrong})
    assert str(refusal.value).startswith("attribute 'x': ")
    assert says in str(refusal.value)


def test_two_attributes_of_one_name_and_two_weights_are_refused() -> None:
    one = Attribute(name="w", kind="numeric", roles=("weight",))
    with pytest.raises(SchemaError, match="'w' is described twice"):
        Schema([one, one])
    with pytest.raises(SchemaError, match="only one attribute can be the weight, not w and v"):
        Schema([one, Attribute(name="v", kind="numeric", roles=("weight",))])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("attributes = 3", "a schema has a table"),
        ("[attributes]\na = 'numeric'", "its entry must be a table"),
        ("[attributes]\na = { kind = 'numeric', hierarchy = 'none.csv' }", "none.csv"),
        ("[attributes\n", "is not a TOML file"),
        ("[attributes]\na = { kind = 'numeric', role = 'kee' }", "attribute 'a': roles"),
    ],
)
def test_a_malformed_schema_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=says):
        Schema.read(path)


def test_a_schema_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nothing.toml: cannot be read"):
        Schema.read(tmp_path / "nothing.toml")


def test_a_schema_is_not_overwritten_unasked(tmp_path: Path) -> None:
    survey_schema().write(tmp_path / "s.toml")
    with pytest.raises(OutputExistsError):
        survey_schema().write(tmp_path / "s.toml")
    survey_schema().write(tmp_path / "s.toml", force=True)


def test_unknown_names_are_suggested() -> None:
    with pytest.raises(UnknownNameError, match="unknown column 'agee'; did you mean 'age'"):
        survey_schema()["agee"]
    with pytest.raises(UnknownNameError, match="unknown role 'keys'; did you mean 'key'"):
        survey_schema().with_roles(keys=["age"])
    with pytest.raises(UnknownNameError, match="kind"):
        survey_schema().with_kinds(integer=["age"])


def test_hierarchies_are_read_and_written_in_the_column_per_level_form(tmp_path: Path) -> None:
    hierarchy = Hierarchy.of([("Graz", "South", "*"), ("Linz", "North", "*"), ("Wels", "North", "*")])
    hierarchy.write(tmp_path / "h.csv")
    assert (tmp_path / "h.csv").read_text().splitlines()[:2] == ["level0,level1,level2", "Graz,South,*"]
    assert Hierarchy.read(tmp_path / "h.csv") == hierarchy
    (tmp_path / "bare.csv").write_text("Graz;South;*\nLinz;North;*\nWels;North;*\n")
    assert Hierarchy.read(tmp_path / "bare.csv") == hierarchy
    assert [hierarchy.generalise("Wels", level) for level in range(3)] == ["Wels", "North", "*"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("a,x\nb\n", "row 2 has 1 levels"),
        ("a,x\na,y\n", "'a' stands in it twice"),
        ("a,x,1\nb,x,2\n", "'x' at level 1 has two parents"),
        ("", "no categories"),
    ],
)
def test_a_hierarchy_with_gaps_or_contradictions_is_refused(tmp_path: Path, rows: str, says: str) -> None:
    (tmp_path / "h.csv").write_text(rows)
    with pytest.raises(FileError, match=says):
        Hierarchy.read(tmp_path / "h.csv")


def test_the_reference_hierarchies_are_sound(reference) -> None:  # type: ignore[no-untyped-def]
    from microveil.microdata.datasets.reference import data_folder

    reference("adult_arx")
    folder = data_folder()
    assert folder is not None
    for path in (folder / "hierarchies").glob("*.csv"):
        assert Hierarchy.read(path).levels >= 2, path.name


def test_a_level_or_category_that_does_not_exist_is_refused() -> None:
    hierarchy = Hierarchy.of([("Graz", "South")])
    for call in (lambda: hierarchy.generalise("Graz", 2), lambda: hierarchy.generalise("Gratz", 1)):
        with pytest.raises(MicroveilError):
            call()


@pytest.mark.parametrize("value", [5, -1.5, True, [], [[1]], {}, {"a": 1}, None, float("nan"), 10**400, [10**5000]])
@pytest.mark.parametrize(
    "entry", ["kind", "role", "domain", "range", "hierarchy", "missing", "missing_codes", "missing_ranges", "label",
              "value_labels", "name", "nothing"],
)  # fmt: skip
def test_values_of_wrong_types_are_refused_in_one_sentence(entry: str, value: object) -> None:
    refusals = []
    for kind in ("numeric", "nominal"):
        try:
            Schema.from_plain({"attributes": {"age": {"kind": kind, entry: value}}})
        except SchemaError as problem:
            refusals.append(str(problem))
    assert all(sentence and "\n" not in sentence and len(sentence) < 300 for sentence in refusals)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"role": 5}, "attribute 'age': roles: it must be 'identifier'"),
        ({"value_labels": [5]}, "attribute 'age': value_labels must be pairs of a code and a text"),
        ({"domain": [float("nan")]}, "attribute 'age': a category must be a text or a finite number"),
        ({"domain": [10**400]}, "attribute 'age': a category must be a text or a finite number"),
        ({"hierarchy": [5]}, "attribute 'age': hierarchy: it must be a list of paths"),
        ({"hierarchy": [[{}]]}, "attribute 'age': hierarchy: {} is no category; it must be a text or a number"),
        ({"name": "sex"}, "attribute 'age': its name stands before its entry, not in it"),
    ],
)
def test_the_sentence_says_what_is_wrong(entry: dict[str, object], sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        Schema.from_plain({"attributes": {"age": {"kind": "nominal", **entry}}})


def test_a_name_of_any_length_is_shown_by_its_beginning() -> None:
    with pytest.raises(SchemaError, match=r"attribute 'x{77}\.\.\.': kind: it must be given"):
        Schema.from_plain({"attributes": {"x" * 10_000: {}}})


def test_a_domain_without_categories_is_kept_in_the_plain_form() -> None:
    schema = Schema.from_plain({"attributes": {"sex": {"kind": "nominal", "domain": []}}})
    assert schema["sex"].domain == ()
    assert Schema.from_plain(schema.to_plain()) == schema


def test_a_message_with_characters_that_no_encoding_has_is_told_without_them() -> None:
    paths = [["Graz", "S", "*"], ["Linz", "N", "\ud800"], ["Wels", "N", "*"]]  # N lies below two different branches
    town = {"kind": "ordinal", "domain": ["Graz", "Linz", "Wels"], "hierarchy": paths}
    with pytest.raises(SchemaError, match="attribute 'town': a text holds a character that cannot be written"):
        Schema.from_plain({"attributes": {"town": town}})
