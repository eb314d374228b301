"""The rules of an office: each finds what it is about, says so in words, and passes what keeps to it."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import FileError, ParameterError, UnknownNameError
from microveil.microdata import Microdata
from microveil.numerics.statistics.record_order import MOST_TESTED, order_p_values, records_to_test
from microveil.rules import RULES, Finding, RulePack, check, shipped


def findings(data: Any, **rules: Mapping[str, Any]) -> tuple[Finding, ...]:
    return check(data, dict(rules)).findings


def outcomes(data: Any, **rules: Mapping[str, Any]) -> list[str]:
    return [finding.outcome for finding in findings(data, **rules)]


@pytest.fixture(scope="module")
def people() -> Microdata:
    return mv.datasets.survey(600)


def homes(sizes: list[int], **columns: Any) -> Microdata:
    numbers = np.repeat(np.arange(len(sizes)), sizes).tolist()
    return Microdata.of({"home": numbers, **columns}, household="home", nominal=[n for n in columns if n != "w"])


# --- combinations and regions ----------------------------------------------------------------------------------------


def test_every_listed_combination_has_a_finding(people: Microdata) -> None:
    listed = ["sex >= 5", "region,education >= 10", "every pair of sex,region,education >= 400 population"]
    found = findings(people, combinations={"listed": listed})
    assert [finding.outcome for finding in found] == ["passed", "failed", "failed"]
    assert found[1].counts["combination"] == "region,education >= 10"
    assert "recode" in found[1].advice
    assert "--combination 'region,education >= 10'" in found[1].sentence


def test_a_combination_in_the_population_fails_without_weights() -> None:
    (found,) = findings({"sex": ["f", "m"] * 10}, combinations={"listed": ["sex >= 5 population"]})
    assert found.outcome == "failed"
    assert "no attribute with the role weight" in found.found


def test_regions_are_named_only_where_the_schema_declares_them(people: Microdata) -> None:
    (found,) = findings(people, regions={"inhabitants": 3000})
    population: Counter[str] = Counter()
    for region, weight in zip(people.arrow("region").to_pylist(), people.arrow("weight").to_pylist(), strict=True):
        population[region] += weight
    small = [name for name in people.domain("region") if population[str(name)] < 3000]
    assert found.counts["failing"] == len(small) > 0
    assert all(str(name) in found.found for name in small)
    bare = people.with_schema(people.schema.replacing(people["region"].changed(domain=None, hierarchy=None)))
    (unnamed,) = findings(bare, regions={"inhabitants": 3000})
    assert unnamed.counts["failing"] == len(small)
    assert not any(str(name) in unnamed.found for name in small)
    assert outcomes(people, regions={"inhabitants": 1}) == ["passed"]


def test_regions_of_two_attributes_are_counted_together_too() -> None:
    table = {"north": ["n", "n", "s", "s"], "urban": ["u", "r", "u", "r"], "w": [5.0] * 4}
    data = Microdata.of(table, weight="w", strata=["north", "urban"])
    found = findings(data, regions={"inhabitants": 10})
    assert [finding.outcome for finding in found] == ["passed", "passed", "failed"]
    assert found[-1].counts["failing"] == 4


def test_regions_that_are_not_declared_are_not_checked() -> None:
    assert outcomes({"sex": ["f", "m"]}, regions={}) == ["not checked"]


# --- households ------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=4), min_size=1, max_size=12), st.integers(1, 4))
def test_compositions_are_the_multisets_of_members(households: list[list[str]], at_least: int) -> None:
    kinds = Counter(tuple(sorted(members)) for members in households)
    rare = {kind for kind, number in kinds.items() if number < at_least}
    data = homes([len(members) for members in households], sex=[sex for members in households for sex in members])
    (found,) = findings(data, households={"attributes": ["sex"], "at_least": at_least})
    assert found.counts["compositions"] == len(kinds)
    assert found.counts["failing"] == len(rare)
    assert found.counts["households"] == sum(kinds[kind] for kind in rare)
    assert found.outcome == ("failed" if rare else "passed")


def test_households_are_counted_by_size_alone_or_in_the_population() -> None:
    data = homes([1, 1, 2, 2, 3], sex=list("fmfmfmfmf"))
    (found,) = findings(data, households={"attributes": [], "at_least": 2})
    assert (found.counts["compositions"], found.counts["failing"], found.counts["records"]) == (3, 1, 3)
    weighted = data.with_schema(data.schema)
    (unweighted,) = findings(weighted, households={"attributes": [], "at_least": 2, "population": True})
    assert "role weight" in unweighted.found
    table = {"home": [0, 0, 1], "w": [4.0, 6.0, 2.0]}
    by_weight = Microdata.of(table, household="home", weight="w")
    (found,) = findings(by_weight, households={"attributes": [], "at_least": 5, "population": True})
    assert found.counts["failing"] == 1  # 5 households of two stand for themselves, 2 of one


def test_without_a_household_number_households_are_not_checked(people: Microdata) -> None:
    assert outcomes(people.without(["household"]), households={}) == ["not checked"]


def test_an_empty_cell_makes_no_household_look_like_another() -> None:
    data = homes([1, 1, 1], sex=["f", "f", None])
    (found,) = findings(data, households={"attributes": ["sex"], "at_least": 2})
    assert found.counts["failing"] == 1


# --- weights ---------------------------------------------------------------------------------------------------------


def weighted(weights: list[float], **columns: Any) -> Microdata:
    return Microdata.of({**columns, "w": weights}, weight="w", nominal=list(columns))


def test_a_weight_that_few_records_share_fails() -> None:
    (found,) = findings(weighted([2.0] * 5 + [3.0] * 2), weights={"at_least": 3})
    assert found.outcome == "failed"
    assert found.counts == {"weights": 1, "records": 2}
    assert outcomes(weighted([2.0] * 5 + [3.0] * 3), weights={"at_least": 3}) == ["passed"]


def test_a_weight_that_one_household_has_fails_however_many_its_members() -> None:
    data = Microdata.of({"home": [0] * 5 + [1, 2, 3], "w": [2.0] * 5 + [3.0] * 3}, household="home", weight="w")
    (found,) = findings(data, weights={"at_least": 3})
    assert found.counts == {"weights": 1, "households": 1}


def test_a_weight_that_restores_empty_cells_fails() -> None:
    regions = ["north"] * 20 + ["south"] * 20
    weights = [3.0] * 20 + [7.0] * 20
    hidden = [None if at in (4, 25, 26) else region for at, region in enumerate(regions)]
    (found,) = findings(weighted(weights, region=hidden), weights={})
    assert found.counts == {"attribute": "region", "cells": 3}
    mixed = [3.0, 7.0] * 20
    assert outcomes(weighted(mixed, region=hidden), weights={}) == ["passed"]


def test_a_weight_shared_by_two_records_restores_nothing_for_certain() -> None:
    data = weighted([3.0, 3.0, 3.0, 4.0, 4.0, 4.0], sex=["f", "f", None, "m", "f", "m"])
    assert outcomes(data, weights={}) == ["passed"]


def test_weights_that_are_scaled_or_differ_within_strata_fail() -> None:
    data = weighted([0.5] * 3 + [1.5] * 3)
    (small,) = findings(data, weights={})
    assert small.counts == {"records": 3}
    (total,) = findings(weighted([2.0] * 6), weights={"population": 1200})
    assert "come to 12" in total.found
    assert outcomes(weighted([200.0] * 6), weights={"population": 1250}) == ["passed"]
    assert outcomes(weighted([2.0] * 3 + [3.0] * 3), weights={"strata": "constant"}) == ["failed"]
    table = {"region": ["n"] * 3 + ["s"] * 3, "w": [2.0] * 3 + [3.0] * 3}
    by_region = Microdata.of(table, weight="w", strata=["region"])
    assert outcomes(by_region, weights={"strata": "constant"}) == ["passed"]


def test_without_a_weight_nothing_is_said_of_it() -> None:
    assert outcomes({"sex": ["f", "m"]}, weights={}) == ["not checked"]


# --- order -----------------------------------------------------------------------------------------------------------


def ordered_by(people: Microdata, name: str) -> Microdata:
    return people.take(np.argsort(people.categories(name).codes, kind="stable"))


def test_a_sorted_file_is_told_and_a_shuffled_one_passes(people: Microdata) -> None:
    shuffled = people.take(np.random.default_rng(4).permutation(len(people)))
    assert outcomes(shuffled, order={}) == ["passed"]
    for name in ("region", "sex", "occupation"):
        (found,) = findings(ordered_by(shuffled, name), order={})
        assert found.outcome == "failed"
        assert name in found.counts["attributes"]
    (as_surveyed,) = findings(people, order={})
    assert {"household", "region", "weight"} <= set(as_surveyed.counts["attributes"])


def test_the_order_is_found_whatever_the_labels_are(people: Microdata) -> None:
    by_region = ordered_by(people, "region").arrow("region").to_pylist()
    new = dict(zip(sorted(set(by_region)), ["q", "b", "z", "a", "m", "c", "x", "k", "d"], strict=True))
    assert outcomes({"zone": [new[region] for region in by_region]}, order={}) == ["failed"]


@pytest.mark.parametrize(
    "pattern",
    [
        np.tile([0, 1], 100),
        np.repeat([0, 1], 100),
        np.arange(200) // 4,
        np.sort(np.random.default_rng(1).normal(size=200)),
        np.column_stack([np.arange(100), np.arange(100, 200)]).reshape(-1),
    ],
    ids=["alternating", "two halves", "households", "a sorted amount", "two sorted files in turn"],
)
def test_patterns_that_are_not_random_are_found(pattern: Any) -> None:
    codes = np.unique(pattern, return_inverse=True)[1]
    assert order_p_values([codes], 99, np.random.default_rng(1))[0] <= 0.01


def test_a_random_order_is_rejected_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(11)
    rejected = 0
    for _ in range(200):
        columns = [
            rng.integers(0, 4, 40),
            rng.integers(0, 40, 40),
            np.sort(rng.integers(0, 3, 40))[rng.permutation(40)],
        ]
        rejected += order_p_values(columns, 19, rng).min() <= 0.05
    assert rejected <= 21  # binomial(200, 0.05) exceeds it with a probability below 0.001


def test_households_may_stand_together_where_only_their_order_counts() -> None:
    rng = np.random.default_rng(3)
    order = rng.permutation(100)
    table = {"home": np.repeat(order, 3).tolist(), "region": np.repeat(rng.integers(0, 4, 100), 3).tolist()}
    data = Microdata.of(table, household="home", nominal=["region"])
    assert outcomes(data, order={"unit": "households"}) == ["passed"]
    assert outcomes(data, order={}) == ["failed"]


def test_of_a_long_file_stretches_of_neighbours_are_tested() -> None:
    chosen = records_to_test(50_000)
    assert len(chosen) == MOST_TESTED
    assert (np.diff(chosen) == 1).sum() == MOST_TESTED - 10
    assert (chosen[0], chosen[-1]) == (0, 49_999)


def test_an_error_level_needs_enough_permutations() -> None:
    with pytest.raises(ParameterError, match="needs at least 999 permutations"):
        RulePack.from_plain({"order": {"error": 0.001, "permutations": 99}})
    assert outcomes({"sex": ["f", "f"]}, order={}) == ["not checked"]


# --- columns ---------------------------------------------------------------------------------------------------------


def test_identifiers_declared_and_undeclared_are_found(people: Microdata) -> None:
    assert [f.counts["attribute"] for f in findings(people, identifiers={}) if f.outcome == "failed"] == ["person"]
    mails = {"mail": [f"p{i}@home.org" for i in range(40)], "age": [30 + i % 9 for i in range(40)]}
    (found,) = findings(mails, identifiers={})
    assert "looks like a direct identifier" in found.found
    assert outcomes(mails, identifiers={"allowed": ["mail"]}) == ["passed"]
    assert outcomes(people.without(["person"]), identifiers={}) == ["passed"]


def test_categories_and_extremes_are_counted() -> None:
    table = {"age": [1, 2, 3, 9, 9, None], "job": ["a", "b", "c", "a", "b", "c"]}
    found = findings(table, categories={"attributes": ["age", "job"], "most": 3})
    assert [(f.outcome, f.counts["categories"]) for f in found] == [("failed", 4), ("passed", 3)]
    (top,) = findings(table, extremes={"attributes": ["age"], "at_least": 2})
    assert (top.outcome, top.counts["largest"]) == ("passed", 2)
    (both,) = findings(table, extremes={"attributes": ["age"], "at_least": 2, "both": True})
    assert both.found == "the smallest value of age is shared by 1 record, fewer than 2"
    assert outcomes(table, extremes={"attributes": ["job"]}) == ["not checked"]


def test_empty_cells_and_records_that_are_empty_everywhere_are_found() -> None:
    table = {"a": ["x", None, None, None], "b": ["y", "y", "y", None]}
    found = findings(table, **{"empty-cells": {"most": 0.5}})
    assert [f.counts for f in found] == [{"attribute": "a", "share": 0.75}, {"records": 1}]
    codes = Microdata.of({"a": ["x", "REF", "REF"]})
    declared = codes.with_schema(codes.schema.replacing(codes["a"].changed(missing="wildcard", missing_codes=("REF",))))
    assert outcomes(declared, **{"empty-cells": {"most": 0.5}}) == ["failed"]


def test_an_empty_cell_that_other_members_of_the_household_show_is_found() -> None:
    regions = [region for region in "nsewnsewns" for _ in range(2)]
    hidden = [None if at in (0, 6, 7) else region for at, region in enumerate(regions)]
    found = findings(homes([2] * 10, region=hidden), **{"empty-cells": {"attributes": ["region"]}})
    assert [f.counts for f in found] == [{"attribute": "region", "cells": 1}]


# --- files that are disclosive in truth ------------------------------------------------------------------------------


def test_scaled_weights_pass_the_population_and_fail_by_its_size(people: Microdata) -> None:
    rules = {"combinations": {"listed": ["region,education >= 100 population"]}}
    assert not check(people, rules).passed
    weights = people.numbers("weight").values
    scaled = people.with_columns({"weight": people.number_column("weight", weights * 1000)})
    assert check(scaled, rules).passed
    known = {**rules, "weights": {"at_least": 1, "population": float(weights.sum())}}
    failed = check(scaled, known).failed
    assert [finding.rule for finding in failed] == ["weights"]


def test_copied_records_pass_the_combinations_and_fail_as_copies(people: Microdata) -> None:
    rules = {"combinations": {"listed": ["region,education,occupation >= 3"]}, "copies": {"most": 0.5}}
    assert [f.rule for f in check(people, rules).failed] == ["combinations"]
    copied = people.take(np.repeat(np.arange(len(people)), 3))
    assert [f.rule for f in check(copied, rules).failed] == ["copies"]


def test_records_without_any_value_pass_by_wildcards_and_fail_otherwise() -> None:
    table = {"a": list("xyz") + [None] * 5, "b": list("uvw") + [None] * 5}
    data = Microdata.of(table)
    data = data.with_schema(data.schema.replacing(*(data[name].changed(missing="wildcard") for name in "ab")))
    asked = {"listed": ["keys >= 5"]}
    (found,) = findings(data, combinations=asked)
    assert found.outcome == "passed"
    assert "3 records only because empty cells agree with every value" in found.found
    assert outcomes(data, combinations={**asked, "empty": "own category"}) == ["failed"]
    assert outcomes(data, **{"empty-cells": {"most": 0.9}}) == ["failed"]


def test_a_key_that_is_not_declared_is_told(people: Microdata) -> None:
    schema = people.schema.replacing(people["occupation"].changed(roles=()))
    found = check(people.with_schema(schema), {"combinations": {"listed": ["sex >= 2"]}})
    assert found.passed
    assert [f.rule for f in found.having("not checked")] == ["roles"]
    assert "occupation" in found.heading or "occupation" in str(found)


# --- packs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["public-use", "scientific-use", "teaching"])
def test_packs_of_the_package_are_read_and_written_back(name: str, people: Microdata) -> None:
    pack = RulePack.read(name)
    assert pack.title == name
    assert pack.description
    assert RulePack.from_plain(tomllib.loads(pack.to_toml())) == pack
    found = check(people, replace(pack, rules=tuple(rule for rule in pack.rules if rule.name != "order")))
    assert not found.passed
    assert json.loads(json.dumps(found.to_plain()))["passed"] is False
    assert found.heading in " ".join(str(found).split("\n"))
    assert "<table>" in found._repr_html_()


def test_packs_have_the_figures_of_offices() -> None:
    assert shipped() == ("public-use", "scientific-use", "teaching")
    listed = {name: str(RulePack.read(name).to_plain()["combinations"]["listed"]) for name in shipped()}
    assert "every value of keys >= 200000 population" in listed["public-use"]
    assert "every pair of keys >= 1000 population" in listed["public-use"]
    assert "every triple of keys >= 100 population" in listed["scientific-use"]
    assert RulePack.read("scientific-use").to_plain()["households"] == {}  # at least 5 is the usual


@pytest.mark.parametrize(
    ("plain", "sentence"),
    [
        ({"combination": {}}, "there is no rule 'combination'; did you mean 'combinations'?"),
        ({"regions": {"inhabitant": 5}}, "the rule 'regions' has no entry 'inhabitant'; did you mean 'inhabitants'?"),
        ({"regions": {"inhabitants": "many"}}, "it must be a valid number"),
        ({"regions": 5}, "is a table of its parameters, not 5"),
        ({"combinations": {}}, "parameter listed must be given"),
        ({"combinations": {"listed": ["age"]}}, "is not a combination"),
        ({"combinations": {"listed": [5]}}, "it must be a valid string"),
        ({"title": 5}, "is a text, not 5"),
        ({}, "needs at least one rule"),
        ([], "is a table"),
    ],
)
def test_a_wrong_pack_is_refused_in_a_sentence(plain: Any, sentence: str) -> None:
    with pytest.raises(ParameterError) as problem:
        RulePack.from_plain(plain)
    assert sentence in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_rule_may_stand_in_a_pack_several_times(tmp_path: Path) -> None:
    file = tmp_path / "ours.toml"
    file.write_text("[[extremes]]\nattributes = ['age']\n[[extremes]]\nattributes = ['pay']\nat_least = 3\n")
    assert [rule.parameters()["at_least"] for rule in RulePack.read(file).rules] == [10, 3]
    with pytest.raises(FileError, match="did you mean 'public-use'"):
        RulePack.read("publicuse")
    with pytest.raises(FileError, match="cannot be read"):
        RulePack.read(tmp_path / "none.toml")
    file.write_text("[[")
    with pytest.raises(FileError, match="is not a TOML file"):
        RulePack.read(file)
    with pytest.raises(ParameterError, match="not int"):
        check({"a": [1]}, 5)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown column 'agee'"):
        check({"age": [1, 2]}, {"categories": {"attributes": ["agee"]}})


def test_every_rule_says_something_of_any_table() -> None:
    for name in RULES:
        entry = {"listed": ["keys >= 2"]} if name == "combinations" else {}
        for table in ({"a": []}, {"a": ["x"]}, {"a": [None, None]}, {"a": [1.5, 2.5, None]}):
            assert findings(table, **{name: entry})


def test_no_value_of_a_record_is_told(people: Microdata) -> None:
    data = Microdata.of({"job": ["baker"] * 9 + ["astronaut"], "pay": [100.0] * 9 + [98765.0]})
    pack = {
        "combinations": {"listed": ["job >= 2", "every pair of job,pay >= 2"]},
        "categories": {"attributes": ["all"], "most": 1},
        "extremes": {"attributes": ["pay"]},
        "order": {"error": 0.05},
        "copies": {"most": 0.0},
    }
    told = json.dumps(check(data, pack).to_plain())
    assert "astronaut" not in told
    assert "98765" not in told


# --- command ---------------------------------------------------------------------------------------------------------


def test_the_command_has_a_status_and_words(tmp_path: Path, people: Microdata, run: Callable[..., Any]) -> None:
    mv.write(people.without(["person"]), tmp_path / "people.csv")
    people.without(["person"]).schema.write(tmp_path / "people.toml")
    (tmp_path / "good.toml").write_text("[combinations]\nlisted = ['sex >= 5']\n")
    (tmp_path / "bad.toml").write_text("[combinations]\nlisted = ['region,education,occupation >= 5']\n")
    (tmp_path / "wrong.toml").write_text("[combinatoins]\n")
    given_schema = ("check", "people.csv", "--schema", "people.toml", "--rules")
    good, bad, wrong = (run(*given_schema, f"{name}.toml") for name in ("good", "bad", "wrong"))
    assert (good.status, bad.status, wrong.status) == (0, 1, 2)
    assert "all passed" in good.stdout
    assert "failed: combinations:" in bad.stdout
    assert "did you mean 'combinations'?" in wrong.stderr
    shown = json.loads(run(*given_schema, "bad.toml", "--json").stdout)
    assert shown["passed"] is False
    assert shown["findings"][0]["counts"]["failing_records"] > 0
    assert run(*given_schema, "pubic-use").status == 2
    assert "[order]" in run(*given_schema, "public-use", "--show-rules").stdout


def test_a_release_is_checked_with_the_schema_in_its_manifest(
    tmp_path: Path, people: Microdata, run: Callable[..., Any]
) -> None:
    mv.write(people, tmp_path / "people.csv")
    people.schema.write(tmp_path / "people.toml")
    text = "region,education,occupation >= 4"
    (tmp_path / "rules.toml").write_text(f"[identifiers]\n[combinations]\nlisted = ['{text}']\n")
    before = run("check", "people.csv", "--schema", "people.toml", "--rules", "rules.toml")
    assert before.status == 1
    columns = ("--attributes", "region,education,occupation", "--out", "safe.csv", "--combination", text)
    made = run("protect", "people.csv", "--schema", "people.toml", "--method", "suppress", *columns)
    assert made.status == 0, made.stderr
    after = run("check", "safe.csv", "--rules", "rules.toml")
    assert after.status == 0, after.stdout + after.stderr
    refused = run(
        *("protect", "people.csv", "--schema", "people.toml", "--method", "recode", "--set", "by=rare", "--attributes"),
        *("region,education", "--out", "other.csv", "--require", text),
    )
    assert refused.status == 1
    assert "was to have 'region,education,occupation >= 4'" in refused.stderr
