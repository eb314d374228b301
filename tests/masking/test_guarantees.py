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
from microveil.masking import Plan, Step
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
    assert found.diversity["s"].distinct == 0
    assert found.diversity["s"].closeness == 1.0


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
