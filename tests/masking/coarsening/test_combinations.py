"""Listed combinations: all of them hold at once after suppression, in few cells, whatever a missing value means."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_suppress import plain_combinations

from microveil.errors import DataError, GuaranteeError, ParameterError, UnknownNameError
from microveil.masking import Plan, Step
from microveil.masking.coarsening.recode import Recode
from microveil.masking.coarsening.suppress import Suppress
from microveil.masking.guarantees import check_requirements, guarantees_of
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.combinations import Combination, CombinationCounter, combinations_of
from microveil.microdata.datasets.sample_survey import survey
from microveil.numerics.counting import joint_suppression
from microveil.protection import protect

IntArray = npt.NDArray[np.int64]
KEYS = ("region", "sex", "education", "occupation")


def table(codes: Sequence[Sequence[int]] | IntArray, policy: str = "wildcard", **columns: Any) -> Microdata:
    """Codes as categories, -1 as an empty cell."""
    array = np.array(codes)
    names = [f"a{j}" for j in range(array.shape[1])]
    cells = {
        n: pa.array([None if v < 0 else f"v{v}" for v in c], pa.string()) for n, c in zip(names, array.T, strict=True)
    }
    schema = [Attribute(name=n, kind="nominal", missing=policy, roles=("key",)) for n in names]
    schema += [Attribute(name=n, kind="numeric", roles=("weight",)) for n in columns]
    return Microdata.of(pa.table({**cells, **columns}), Schema(schema))


def released_codes(data: Microdata, width: int) -> IntArray:
    cells = [[-1 if v is None else int(v[1:]) for v in data.arrow(f"a{j}").to_pylist()] for j in range(width)]
    return np.array(cells).T


def rarest(codes: IntArray, columns: Sequence[int], masses: Sequence[float], wildcard: bool) -> float:
    """By comparing every two records."""
    least = np.inf
    for one in codes[:, columns]:
        agree = codes[:, columns] == one
        if wildcard:
            agree |= (codes[:, columns] < 0) | (one < 0)
        least = min(least, float(np.array(masses)[agree.all(axis=1)].sum()))
    return least


tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(-1, 3), min_size=width, max_size=width), min_size=6, max_size=24)
)
policies = st.sampled_from(["wildcard", "own category"])


@given(tables, st.integers(1, 3), st.integers(2, 4), policies, st.integers(0, 2**32))
@settings(max_examples=40)
def test_all_combinations_hold_at_once_by_brute_force(
    codes: list[list[int]], size: int, t: int, policy: str, seed: int
) -> None:
    width = len(codes[0])
    weights = np.random.default_rng(seed).uniform(1, 5, len(codes))
    size = min(size, width)
    listed = [f"every {size} >= {t}", f"a0,a{width - 1} >= {t + 1}", f"every value >= {t + 2} population"]
    data = table(codes, policy, w=weights)
    release = Suppress(combinations=tuple(listed)).mask(data, seed=1)
    after = released_codes(release.data, width)
    wildcard = policy == "wildcard"
    for columns in combinations(range(width), size):
        assert rarest(after, columns, np.ones(len(codes)), wildcard) >= t
    assert rarest(after, (0, width - 1), np.ones(len(codes)), wildcard) >= t + 1
    for column in range(width):
        assert rarest(after, (column,), weights, wildcard) >= t + 2 - 1e-6
    assert ((after == np.array(codes)) | (after < 0)).all()


@given(tables, st.integers(2, 4), policies, st.booleans())
@settings(max_examples=60)
def test_counts_are_those_of_brute_force(codes: list[list[int]], t: int, policy: str, population: bool) -> None:
    width = len(codes[0])
    weights = 1.0 + np.arange(len(codes)) % 3
    masses = weights if population else np.ones(len(codes))
    data = table(codes, policy, w=weights)
    asked = Combination(float(t), size=2, population=population)
    found = CombinationCounter(data, data.schema.keys).count(asked)
    array, wildcard = np.array(codes), policy == "wildcard"
    short = np.zeros(len(codes), dtype=bool)
    for columns in combinations(range(width), 2):
        for at, one in enumerate(array[:, columns]):
            agree = array[:, columns] == one
            agree |= ((array[:, columns] < 0) | (one < 0)) & wildcard
            short[at] |= masses[agree.all(axis=1)].sum() < t
    assert found.per_record.tolist() == short.tolist()
    assert found.records == short.sum()
    assert found.reached == min(rarest(array, columns, masses, wildcard) for columns in combinations(range(width), 2))
    strict = CombinationCounter(data, data.schema.keys, own_category=True).count(asked)
    assert strict.records == found.without_wildcards >= found.records


def test_an_earlier_combination_is_not_broken_by_a_later_one() -> None:
    """Emptying a1 for (a1, a2) takes records from (a0, a1), which was frequent enough: in one pass it would be rare."""
    codes = [
        [0, 0, 0],
        [0, 0, 1],
        [0, 0, 1],
        [1, 0, 1],
        [1, 0, 1],
        [1, 1, 1],
        [1, 1, 1],
        [0, 1, 1],
        [0, 1, 1],
        [0, 0, 1],
    ]
    data = table(codes, "own category")
    first, second = Combination.of("a0,a1 >= 2"), Combination.of("a1,a2 >= 2")
    before = CombinationCounter(data, ())
    assert before.count(first).holds
    assert not before.count(second).holds
    one_pass = data.with_columns({"a1": pa.array([None, *data.arrow("a1").to_pylist()[1:]], pa.string())})
    assert not CombinationCounter(one_pass, ()).count(first).holds
    release = Suppress(combinations=(str(first), str(second))).mask(data, seed=1)
    after = CombinationCounter(release.data, ())
    assert after.count(first).holds
    assert after.count(second).holds


@pytest.mark.parametrize("policy", ["wildcard", "own category"])
@pytest.mark.parametrize("seed", range(6))
def test_no_more_cells_than_a_plain_greedy_needs(policy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.geometric(0.4, size=(60, 4)), 5)
    sets = [(0, 1), (1, 2, 3), (0, 3)]
    plain = plain_combinations(codes, [(columns, 3) for columns in sets], wildcard=policy == "wildcard")
    listed = tuple(",".join(f"a{j}" for j in columns) + " >= 3" for columns in sets)
    release = Suppress(combinations=listed).mask(table(codes, policy), seed=1)
    cells = int((released_codes(release.data, 4) < 0).sum())
    assert cells <= int((plain < 0).sum())


def test_one_combination_of_all_keys_needs_as_few_cells_as_k() -> None:
    for policy in ("wildcard", "own category"):
        data = survey(400)
        data = data.with_schema(data.schema.replacing(*(data[name].changed(missing=policy) for name in KEYS)))
        listed = Suppress(combinations=("keys >= 3",), suppressed=policy).mask(data, KEYS, seed=1)
        usual = Suppress(k=3, suppressed=policy).mask(data, KEYS, seed=1)
        assert guarantees_of(listed.data, KEYS).k >= 3
        cells = [sum(r.data.arrow(n).null_count for n in KEYS) for r in (listed, usual)]
        assert cells[0] <= cells[1] + 2


def test_large_tables_take_nothing_back_but_keep_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_suppression, "_MOST_STEPS", 0)
    data = survey(400)
    for policy in ("wildcard", "own category"):
        release = Suppress(combinations=("every pair >= 5",), suppressed=policy).mask(data, KEYS, seed=1)
        assert CombinationCounter(release.data, KEYS).count(Combination.of("every pair >= 5")).holds


def test_dear_cells_are_kept() -> None:
    data = survey(600)
    dear = Suppress(
        combinations=("region,education,occupation >= 4",), suppressed="own category", importance=(100, 1, 1, 1)
    )
    release = dear.mask(data, KEYS, seed=1)
    assert release.data.arrow("region").null_count == data.arrow("region").null_count


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("age", "is not a combination"),
        ("age >= x", "is not a combination"),
        ("every foo of keys >= 3", "is not a combination"),
        ("a0,,a1 >= 2", "does not name the attributes"),
        ("every pair >= 0", "at least 1"),
        ("every pair >= 5 persons", "is not a combination"),
        ("", "there is no combination"),
        ("a0,a0 >= 2", "names an attribute twice"),
        ("every 0 of keys >= 2", "at least one of them"),
    ],
)
def test_a_text_that_is_no_combination_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        combinations_of(text)
    with pytest.raises(ParameterError, match=sentence):
        Suppress(combinations=(text,))


def test_texts_are_read_however_they_are_separated() -> None:
    listed = ("age,sex,region >= 5", "every pair of keys >= 3", "every triple of a,b,c,d >= 100 population")
    expected = tuple(map(str, combinations_of(listed)))
    assert expected == listed
    assert tuple(map(str, combinations_of("; ".join(listed)))) == listed
    assert tuple(map(str, combinations_of(", ".join(listed)))) == listed
    assert str(Combination.of("every single value >= 200_000 population")) == "every value of keys >= 200000 population"
    assert Suppress(combinations="a,b >= 2;keys >= 1.5 population").combinations == (
        "a,b >= 2",
        "keys >= 1.5 population",
    )
    for text in listed:
        asked = Combination.of(text)
        assert Combination.required(asked.name, asked.at_least) == asked


def test_of_fewer_keys_than_asked_for_all_are_counted_together() -> None:
    assert Combination.of("every triple >= 3").sets(("a", "b")) == (("a", "b"),)


def test_what_cannot_hold_is_named() -> None:
    data = table([[0, 1], [1, 1], [0, 0]])
    with pytest.raises(DataError, match=r"'a0,a1 >= 4' cannot hold: all records together are 3 records"):
        Suppress(combinations=("a0 >= 2", "a0,a1 >= 4")).mask(data)
    with pytest.raises(DataError, match="no attribute with the role weight"):
        Suppress(combinations=("a0 >= 2 population",)).mask(data)
    with pytest.raises(ParameterError, match="'a7', which is not among the attributes to mask"):
        Suppress(combinations=("a7 >= 2",)).mask(data)
    with pytest.raises(ParameterError, match="leave out risk"):
        Suppress(combinations=("a0 >= 2",), risk=0.1)
    with pytest.raises(DataError, match="weights below 0"):
        Suppress(combinations=("a0 >= 2 population",)).mask(table([[0], [1]], w=[-1.0, 9.0]))


def test_a_release_is_refused_when_a_required_combination_fails() -> None:
    data = survey(500)
    plan = Plan(
        (Step("suppress", {"combinations": ["every pair >= 5"]}, KEYS),),
        seed=3,
        require={f"every pair of {','.join(KEYS)}": 5, "every combination of region population": 100},
    )
    release = protect(data, plan)
    assert Plan.from_plain(release.plan.to_plain()).require == release.plan.require
    assert release.guarantees.value(f"every pair of {','.join(KEYS)}") >= 5
    with pytest.raises(GuaranteeError, match="was to have 'region,education,occupation >= 5'"):
        protect(data, Plan(plan.steps, 3, require={"every combination of region,education,occupation": 5}))
    with pytest.raises(UnknownNameError, match="unknown column 'regoin'"):
        protect(data, Plan(plan.steps, 3, require={"every combination of regoin": 5}))


def test_requirements_on_combinations_are_checked_for_sense() -> None:
    assert check_requirements({"every pair population": 100}) == {"every pair of keys population": 100.0}
    with pytest.raises(ParameterError, match="is not a combination"):
        check_requirements({"every pear": 2})
    with pytest.raises(ParameterError, match="must be a number"):
        check_requirements({"every pair": 0})
    with pytest.raises(ParameterError, match="did you mean 'k'"):
        check_requirements({"kk": 2})


def test_recoding_first_leaves_less_to_suppress() -> None:
    data = survey(400)
    listed = ["every pair >= 6", "every triple >= 100 population"]
    suppress = Step("suppress", {"combinations": listed, "suppressed": "own category"}, KEYS)
    recode = Step("recode", {"combinations": listed, "leave": 0.05}, KEYS)
    alone = protect(data, Plan((suppress,), seed=1))
    both = protect(data, Plan((recode, suppress), seed=1))
    for release in (alone, both):
        counter = CombinationCounter(release.data, KEYS)
        assert all(counter.count(asked).holds for asked in combinations_of(listed))
    cells = [sum(r.data.arrow(n).null_count for n in KEYS) for r in (both, alone)]
    assert cells[0] < cells[1]


def test_recoding_alone_reaches_all_listed_combinations() -> None:
    data = survey(500)
    listed = ("every pair >= 5", "region,education >= 300 population")
    release = Recode(combinations=listed).mask(data, KEYS, seed=1)
    counter = CombinationCounter(release.data, KEYS)
    assert all(counter.count(asked).holds for asked in combinations_of(listed))
    with pytest.raises(ParameterError, match="for automatic recoding"):
        Recode(by="rare", combinations=listed)
    with pytest.raises(ParameterError, match="'age', which is not among the attributes"):
        Recode(combinations=("age,sex >= 2",)).mask(data, KEYS)
    with pytest.raises(DataError, match="combinations that are too rare"):
        Recode(combinations=("sex >= 501",)).mask(data, KEYS)


def test_the_attribute_that_causes_most_is_named() -> None:
    found = CombinationCounter(survey(2000), KEYS).count(Combination.of("every pair >= 10"))
    assert found.sentence == (
        "93 of 326 combinations (335 records) fall short of 10 records in every pair of keys; the rarest has 1; 307 of "
        "these records would not without occupation"
    )
    assert found.to_plain()["failing_records"] == 335


def test_a_record_that_is_empty_everywhere_makes_all_others_frequent_only_by_wildcards() -> None:
    codes = [[0, 1], [1, 0], [1, 1], *([[-1, -1]] * 5)]
    found = CombinationCounter(table(codes), ("a0", "a1")).count(Combination.of("keys >= 5"))
    assert found.holds
    assert found.without_wildcards == 3
    assert "3 records only because empty cells agree with every value" in found.sentence


def test_sets_together_need_fewer_cells_than_one_after_the_other() -> None:
    """A cell that serves several sets comes first, and what no set needs is taken back."""
    rng = np.random.default_rng(5)
    codes = np.minimum(rng.geometric(0.4, size=(80, 4)), 5)
    width = codes.shape[1]
    empty = np.full(width, 9, dtype=np.int64)
    cells = joint_suppression.Cells(codes, np.ones(width), np.zeros(width, dtype=bool), empty)
    ones = np.ones(len(codes))
    wanted = [joint_suppression.Wanted(np.array(columns), ones, 3.0) for columns in combinations(range(width), 3)]
    alone = np.zeros(codes.shape, dtype=bool)
    for one in wanted:
        alone |= joint_suppression.suppress_for_all(cells, [one])
    together = joint_suppression.suppress_for_all(cells, wanted)
    assert together.sum() == 40 < alone.sum()  # 48 where each set is seen to in turn and nothing is taken back
    assert joint_suppression.needed(cells, wanted, np.ones_like(together)).sum() < codes.size
