"""Guarantees are counted: against a plain count over all pairs of records, and known cases."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, GuaranteeError, ParameterError
from microveil.masking import Plan, Step, guarantees
from microveil.masking.guarantees import check_requirements, guarantees_of
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata
from microveil.protection import protect


def _plain(keys: list[tuple[Any, ...]], values: list[int], *, ordered: bool, c: float) -> tuple[float, ...]:
    """k, distinct, entropy, recursive and closeness by comparing every record with every other one."""
    domain = sorted(set(values))
    whole = [values.count(v) / len(values) for v in domain]
    found = []
    for one in keys:
        members = [
            i
            for i, other in enumerate(keys)
            if all(a == b or a is None or b is None for a, b in zip(one, other, strict=True))
        ]
        counts = Counter(values[i] for i in members)
        shares = [counts[v] / len(members) for v in domain]
        ranked = sorted(counts.values(), reverse=True)
        recursive = sum(ranked[0] < c * sum(ranked[place:]) for place in range(len(ranked)))
        if ordered:
            running = np.cumsum(np.array(shares) - np.array(whole))
            distance = float(np.abs(running).sum() / max(1, len(domain) - 1))
        else:
            distance = sum(abs(p - q) for p, q in zip(shares, whole, strict=True)) / 2
        entropy = exp(-sum(p * log(p) for p in shares if p > 0))
        found.append((len(members), len(counts), entropy, recursive, distance))
    columns = list(zip(*found, strict=True))
    return (*(min(column) for column in columns[:4]), max(columns[4]))


@pytest.mark.spec("01:AP-1")
@pytest.mark.spec("05:PM-12")
@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["x", "y", None]), st.integers(0, 4)),
        min_size=1,
        max_size=25,
    ),
    kind=st.sampled_from(["nominal", "ordinal", "numeric"]),
    c=st.sampled_from([1.0, 3.0]),
)
def test_every_guarantee_is_that_of_comparing_all_pairs(rows: list[Any], kind: str, c: float) -> None:
    data = Microdata.of(
        {"p": [r[0] for r in rows], "q": [r[1] for r in rows], "s": [r[2] for r in rows]},
        keys=["p", "q"],
        confidential=["s"],
    )
    data = Microdata.of(data, nominal=["p", "q"])
    data = Microdata.of(data, **{kind: ["s"]})
    data = data.with_schema(data.schema.replacing(*(data[n].changed(missing="wildcard") for n in ("p", "q"))))
    found = guarantees_of(data, c=c)
    s = found.diversity["s"]
    expected = _plain([r[:2] for r in rows], [r[2] for r in rows], ordered=kind != "nominal", c=c)
    assert (found.k, s.distinct, s.entropy, s.recursive, s.closeness) == pytest.approx(expected, abs=1e-12)


@pytest.mark.spec("01:AP-1")
def test_microaggregating_all_keys_gives_the_k_it_promises() -> None:
    rng = np.random.default_rng(3)
    data = Microdata.of({"a": rng.normal(size=50), "b": rng.normal(size=50)}, keys=["a", "b"])
    release = MDAV(k=4).mask(data, seed=1)
    assert release.guarantees.k >= 4
    assert guarantees_of(data).k == 1
    assert guarantees_of(data).below(2) == 50


def test_a_record_whose_confidential_value_is_unknown_adds_no_diversity() -> None:
    data = Microdata.of({"g": ["a", "a", "b"], "s": ["x", None, None]}, keys=["g"], confidential=["s"])
    found = guarantees_of(data.with_schema(data.schema.replacing(data["s"].changed(missing="wildcard"))))
    assert found.diversity["s"].distinct == 1
    assert found.diversity["s"].closeness == 0.0
    assert found.diversity["s"].unknown == 1


def test_weights_count_for_the_population_and_for_closeness() -> None:
    table = {"g": ["a", "a", "b", "b"], "s": ["x", "y", "x", "y"], "w": [3.0, 1.0, 1.0, 3.0]}
    found = guarantees_of(Microdata.of(table, keys=["g"], confidential=["s"], weight="w"))
    assert found.population == 4.0
    assert found.diversity["s"].closeness == pytest.approx(0.25)


def test_what_a_plan_requires_is_checked_and_kept_in_the_manifest() -> None:
    people = Microdata.of({"age": [20, 22, 41, 43, 61, 65], "sex": list("fmfmfm")}, keys=["age", "sex"])
    steps = (Step("mdav", {"k": 3}, ("age",)),)
    with pytest.raises(GuaranteeError, match="k at least 3 over age, sex, but it reaches 1"):
        protect(people, Plan(steps, seed=1, require={"k": 3}))
    release = protect(people, Plan(steps, seed=1, require={"k": 1}))
    assert Plan.from_plain(release.plan.to_plain()).require == {"k": 1.0}


@pytest.mark.parametrize(
    ("required", "problem"),
    [({"kk": 3}, "not a guarantee"), ({"k": 0}, "at least 1"), ({"t": 1.5}, "from 0 to 1"), ({"k": "3"}, "at least 1")],
)
def test_requirements_that_make_no_sense_are_refused(required: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        check_requirements(required)


def test_diversity_without_confidential_attributes_is_refused() -> None:
    with pytest.raises(ParameterError, match="none is declared"):
        guarantees_of(Microdata.of({"a": [1, 1]}, keys=["a"])).check({"l": 2})


def test_rounding_does_not_decide_whether_a_guarantee_is_met() -> None:
    people = {"sex": ["f"] * 3 + ["m"] * 3, "ill": list("abcabc"), "w": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]}
    data = Microdata.of(people, keys=["sex"], confidential=["ill"], weight="w")
    found = guarantees_of(data)
    assert found.diversity["ill"].entropy != 3.0  # a little below or above, by rounding
    found.check({"entropy-l": 3, "t": 0})
    moved = replace(
        found, population=3.0 - 1e-12, diversity={"ill": replace(found.diversity["ill"], closeness=0.2 + 1e-12)}
    )
    moved.check({"population": 3, "t": 0.2})
    with pytest.raises(GuaranteeError, match=r"entropy-l at least 3\.001"):
        found.check({"entropy-l": 3.001})
    with pytest.raises(GuaranteeError, match="population at least 3"):
        replace(found, population=2.999).check({"population": 3})


def test_weights_below_zero_are_refused() -> None:
    data = Microdata.of({"sex": ["f", "f", "m", "m"], "w": [1.0, -2.0, 3.0, 4.0]}, keys=["sex"], weight="w")
    with pytest.raises(DataError, match="attribute 'w' has weights below 0"):
        guarantees_of(data)


def test_records_without_any_weight_have_nothing_to_be_close_to() -> None:
    table = {"g": ["a", "a", "b", "b"], "s": ["x", "y", "x", "x"], "w": [0.0] * 4}
    found = guarantees_of(Microdata.of(table, keys=["g"], confidential=["s"], weight="w"))
    assert found.diversity["s"].closeness == 0


def test_a_class_without_weight_is_at_no_distance_from_the_whole() -> None:
    table = {"g": ["a", "a", "b", "b"], "s": ["x", "y", "x", "x"], "w": [1.0, 1.0, 0.0, 0.0]}
    found = guarantees_of(Microdata.of(table, keys=["g"], confidential=["s"], weight="w"))
    assert found.diversity["s"].per_class["t"].tolist() == [0, 0]


# --- what k is without wildcards -----------------------------------------------------------------------------------


def wild(table: dict[str, Any], **roles: Any) -> Microdata:
    """A table whose missing cells are wildcards."""
    data = Microdata.of(table, **roles)
    return data.with_schema(data.schema.replacing(*(a.changed(missing="wildcard") for a in data.schema)))


def test_what_k_is_without_wildcards_stands_beside_it() -> None:
    data = wild({"sex": ["f", "f", "f", "m", "m", "m"], "job": ["cook", "cook", None, "cook", "nurse", None]})
    found = guarantees_of(data, ["sex", "job"])
    assert (found.k, found.classes, found.k_without_wildcards) == (2, 5, 1)
    assert found.rests_on_wildcards
    assert (found.below(2), found.below_without_wildcards(2)) == (0, 4)
    assert found.sentences() == [
        "k-anonymity: 2 (every one of the 5 equivalence classes of sex, job has at least 2 records)",
        "k-anonymity without wildcards: 1 (where an empty cell agrees with empty cells only, 4 of 5 equivalence "
        "classes have fewer than 2 records, 4 records in all)",
    ]
    plain = found.to_plain()
    assert (plain["k"], plain["k-without-wildcards"], plain["below-without-wildcards"]) == (2, 1, 4)


def test_without_wildcards_the_classes_below_the_k_that_is_reached_with_them_are_told() -> None:
    found = guarantees_of(wild({"job": ["cook", "cook", "nurse", "nurse", None, "clerk", "clerk", "clerk"]}), ["job"])
    assert found.k == 3
    assert found.sentences()[1] == (
        "k-anonymity without wildcards: 1 (where an empty cell agrees with empty cells only, 3 of 4 equivalence "
        "classes have fewer than 3 records, 5 records in all)"
    )
    assert found.to_plain()["below-without-wildcards"] == 5


def test_diversity_with_wildcards_is_the_same_however_few_values_are_counted_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = wild({"g": ["a", "a", "a", None], "s": ["w", "x", "y", "z"]}, keys=["g"], confidential=["s"])
    for cells in (1, 4, 100):
        monkeypatch.setattr(guarantees, "_CELLS", cells)
        assert guarantees_of(data).diversity["s"].distinct == 4


def test_what_guarantees_show_of_themselves_has_nothing_of_single_records() -> None:
    shown = repr(guarantees_of(wild({"sex": ["f", "f", None], "w": [1.0, 2.0, 3.0]}, weight="w"), ["sex"]))
    assert shown == "Guarantees(keys=('sex',), k=3, population=6.0, diversity={})"


def test_where_no_cell_is_empty_k_needs_no_second_number() -> None:
    found = guarantees_of(wild({"sex": ["f", "f", "m"]}), ["sex"])
    assert not found.rests_on_wildcards
    assert found.k_without_wildcards == found.k == 1
    assert found.sentences() == ["k-anonymity: 1 (1 of 2 equivalence classes of sex has a single record)"]
    assert "below-without-wildcards" not in found.to_plain()


def test_empty_cells_that_are_a_category_of_their_own_are_no_wildcards() -> None:
    found = guarantees_of(Microdata.of({"job": ["cook", "cook", None, None]}), ["job"])
    assert (found.k, found.k_without_wildcards, found.rests_on_wildcards) == (2, 2, False)


# --- in words ------------------------------------------------------------------------------------------------------


def patients() -> Microdata:
    return Microdata.of(
        {
            "sex": ["f"] * 4 + ["m"] * 4,
            "age": ["old", "old", "young", "young"] * 2,
            "ill": ["flu", "flu", "flu", "gout", "gout", "gout", "flu", "gout"],
        },
        keys=["sex", "age"],
        confidential=["ill"],
    )


def test_guarantees_say_on_which_attribute_how_many_classes_fall_short() -> None:
    assert guarantees_of(patients()).sentences() == [
        "k-anonymity: 2 (every one of the 4 equivalence classes of sex, age has at least 2 records)",
        "l-diversity of ill: 1 (2 of 4 equivalence classes have a single value of ill)",
        "entropy l-diversity of ill: 1.00 (2 of 4 equivalence classes have an entropy of 0, because there is a single "
        "value of ill)",
        "recursive (3, l)-diversity of ill: 1 (2 of 4 equivalence classes have a most frequent value of ill that is at "
        "least 3 times as frequent as all others together)",
        "t-closeness of ill: 0.50 (the largest distance between the distribution of ill in an equivalence class and in "
        "the table)",
    ]


def test_a_single_class_is_called_the_only_one() -> None:
    data = Microdata.of({"sex": ["f"] * 3, "ill": ["flu", "gout", "cold"]}, keys=["sex"], confidential=["ill"])
    assert guarantees_of(data).sentences()[:2] == [
        "k-anonymity: 3 (the only equivalence class of sex has at least 3 records)",
        "l-diversity of ill: 3 (the only equivalence class has at least 3 distinct values of ill)",
    ]


@pytest.mark.parametrize(
    ("required", "sentence"),
    [
        ({"k": 3}, "k at least 3 over sex, age, but it reaches 2: 4 of 4 equivalence classes have fewer than 3 records "
                   "(8 records); mask more strongly, or ask for less"),
        ({"l": 2}, "l at least 2 over sex, age, but it reaches 1: 2 of 4 equivalence classes have fewer than 2 "
                   "distinct values of ill (4 records)"),
        ({"entropy-l": 1.5}, "reaches 1: 2 of 4 equivalence classes have an entropy of ill below log 1.5 (4 records)"),
        ({"recursive-l": 2}, "2 of 4 equivalence classes have no recursive diversity of ill with l = 2 (4 records)"),
        ({"t": 0.4}, "t at most 0.4 over sex, age, but it reaches 0.5: 2 of 4 equivalence classes have a distribution "
                     "of ill farther than 0.4 from that of the table (4 records)"),
    ],
)  # fmt: skip
def test_what_is_refused_says_how_many_classes_and_records_fall_short(required: Any, sentence: str) -> None:
    with pytest.raises(GuaranteeError) as refused:
        guarantees_of(patients()).check(required)
    assert sentence in str(refused.value)


def test_of_several_confidential_attributes_those_that_fall_short_are_named() -> None:
    data = patients()
    other = Microdata.of(
        {**{n: data.frame[n].to_list() for n in data.names}, "drug": list("ababababab"[:8])},
        keys=["sex", "age"],
        confidential=["drug", "ill"],
    )
    with pytest.raises(
        GuaranteeError, match="2 of 4 equivalence classes have fewer than 2 distinct values of ill"
    ) as e:
        guarantees_of(other).check({"l": 2})
    assert "drug" not in str(e.value)


def test_a_population_that_is_too_small_is_counted_in_classes_and_records() -> None:
    data = Microdata.of({"g": ["a", "a", "b"], "w": [3.0, 4.0, 2.5]}, keys=["g"], weight="w")
    found = guarantees_of(data)
    assert found.sentences()[1] == (
        "population: 2 (the smallest estimated population of an equivalence class, by the sampling weights)"
    )
    with pytest.raises(GuaranteeError, match=r"1 of 2 equivalence classes has a population below 5 \(1 record\)"):
        found.check({"population": 5})


def test_k_is_about_records_whatever_their_weights() -> None:
    data = Microdata.of({"g": ["a", "a", "b"], "w": [3.0, 4.0, 2.5]}, keys=["g"], weight="w")
    with pytest.raises(GuaranteeError, match=r"1 of 2 equivalence classes has fewer than 2 records \(1 record\)"):
        guarantees_of(data).check({"k": 2})


def test_guarantees_print_as_a_table_that_fits_the_screen() -> None:
    shown = str(guarantees_of(patients()))
    assert max(map(len, shown.splitlines())) <= 80
    first, second = shown.splitlines()[:2]
    assert first == f"{'k-anonymity':33}     2  every one of the 4 equivalence classes"
    assert second == " " * 41 + "of sex, age has at least 2 records"


def test_guarantees_are_a_table_in_a_notebook() -> None:
    data = Microdata.of({"<b>": ["f", "f"]}, keys=["<b>"])
    assert guarantees_of(data)._repr_html_() == (
        "<table><tr><th>guarantee</th><th>value</th><th>what it means</th></tr><tr><td>k-anonymity</td>"
        "<td style='text-align:right'>2</td><td>the only equivalence class of &lt;b&gt; has at least 2 records</td>"
        "</tr></table>"
    )


# --- diversity of numbers ------------------------------------------------------------------------------------------


def earners(**declared: Any) -> Microdata:
    """Two classes of keys: in the first all incomes differ but lie close together."""
    pay = [1000.0 + i for i in range(10)] + [500.0 + 1000 * i for i in range(10)]
    data = Microdata.of({"sex": ["f"] * 10 + ["m"] * 10, "pay": pay}, keys=["sex"], confidential=["pay"])
    return data.with_schema(data.schema.replacing(data["pay"].changed(**declared)))


def test_diversity_of_numbers_is_counted_in_declared_classes() -> None:
    found = guarantees_of(earners(hierarchy={"cuts": [[1000, 2000, 4000], [2000]]}))
    pay = found.diversity["pay"]
    assert (pay.distinct, pay.proposed, pay.per_class["l"].tolist()) == (1, False, [1.0, 4.0])
    assert pay.intervals == ("< 1000", "[1000, 2000)", "[2000, 4000)", ">= 4000")
    assert found.sentences()[1] == (
        "l-diversity of pay: 1 (1 of 2 equivalence classes has values in a single one of the 4 classes of pay)"
    )
    assert found.to_plain()["confidential"]["pay"]["classes"] == {"intervals": list(pay.intervals), "proposed": False}
    with pytest.raises(GuaranteeError, match="1 of 2 equivalence classes has fewer than 2 distinct values of pay"):
        found.check({"l": 2})
    found.check({"l": 1})


def test_without_declared_classes_intervals_of_equal_frequency_are_proposed() -> None:
    found = guarantees_of(earners())
    pay = found.diversity["pay"]
    assert (pay.distinct, len(pay.intervals), pay.proposed) == (6, 10, True)
    assert found.sentences()[1] == (
        "l-diversity of pay: 6 (every one of the 2 equivalence classes has values in at least 6 of the 10 classes of "
        "pay; these are intervals of equal frequency, proposed because the schema declares no classes)"
    )


@pytest.mark.parametrize("name", ["l", "entropy-l", "recursive-l"])
def test_diversity_on_proposed_classes_cannot_be_required(name: str) -> None:
    with pytest.raises(ParameterError) as refused:
        guarantees_of(earners()).check({name: 2})
    assert str(refused.value) == (
        f"{name} cannot be required of 'pay', a number with many distinct values, before classes of its values are "
        "declared; declare them in the schema by their cut points, such as "
        "hierarchy = { cuts = [[1000, 2000, 4000]] }, or require t, which needs none"
    )
    guarantees_of(earners()).check({"t": 0.5})


def test_closeness_of_numbers_does_not_depend_on_their_classes() -> None:
    plain, declared = guarantees_of(earners()), guarantees_of(earners(hierarchy={"cuts": [[2000]]}))
    assert plain.diversity["pay"].closeness == declared.diversity["pay"].closeness


def test_numbers_with_few_values_are_counted_as_they_are() -> None:
    data = Microdata.of({"g": ["a"] * 24, "s": [i % 12 for i in range(24)]}, keys=["g"], confidential=["s"])
    assert (guarantees_of(data).diversity["s"].distinct, guarantees_of(data).diversity["s"].intervals) == (12, ())
    more = Microdata.of({"g": ["a"] * 26, "s": [i % 13 for i in range(26)]}, keys=["g"], confidential=["s"])
    assert guarantees_of(more).diversity["s"].proposed


def test_a_listed_hierarchy_of_numbers_declares_classes_too() -> None:
    paths = [("0", "none"), ("1", "some"), ("2", "some"), ("9", "many")]
    data = Microdata.of({"g": list("aabb"), "s": [1.0, 2.0, 0.0, 6.2]}, keys=["g"], confidential=["s"])
    data = data.with_schema(data.schema.replacing(data["s"].changed(hierarchy=paths)))
    # 6.2, which masking may have made, is nearest to 9
    assert guarantees_of(data).diversity["s"].per_class["l"].tolist() == [1.0, 2.0]


def test_a_class_without_known_values_is_counted_beside_the_others() -> None:
    data = Microdata.of({"g": ["a", "a", "b"], "s": ["x", "y", None]}, keys=["g"], confidential=["s"])
    found = guarantees_of(data.with_schema(data.schema.replacing(data["s"].changed(missing="wildcard"))))
    np.testing.assert_array_equal(found.diversity["s"].per_class["l"], [2.0, np.nan])
    assert found.sentences()[1:4] == [
        "l-diversity of s: 2 (the only equivalence class with a known value of s has at least 2 distinct values of s; "
        "1 equivalence class has no known value)",
        "entropy l-diversity of s: 2.00 (the only equivalence class with a known value of s has at least the entropy "
        "of 2.00 equally frequent values of s)",
        "recursive (3, l)-diversity of s: 2 (the only equivalence class with a known value of s has a most frequent "
        "value of s that is less than 3 times as frequent as all others together)",
    ]
    found.check({"l": 2})
    assert found.to_plain()["confidential"]["s"]["unknown"] == 1


@pytest.mark.parametrize("keys", [["a", "b"], ["a", None]])
def test_without_any_known_value_there_is_no_diversity_to_tell(keys: list[str | None]) -> None:
    """Also where a key that is not known agrees with every other."""
    data = Microdata.of({"g": ["a", "b"], "s": ["x", "y"]}, keys=["g"], confidential=["s"])
    schema = data.schema.replacing(*(data[name].changed(missing="wildcard") for name in ("g", "s")))
    data = Microdata.of({"g": keys, "s": [None, None]}, schema)
    assert "l-diversity of s: none (no equivalence class has a known value of s)" in guarantees_of(data).sentences()
