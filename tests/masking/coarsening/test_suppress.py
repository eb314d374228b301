"""Local suppression: k is reached, in few cells, whatever a missing value means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_suppress import plain_own_category, plain_wildcards

from microveil.errors import DataError, GuaranteeError, ParameterError
from microveil.masking.coarsening.suppress import Suppress
from microveil.masking.guarantees import guarantees_of
from microveil.masking.notes import FEWEST_CELLS, LEAST_COST_OF_CELLS
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.datasets.sample_survey import survey
from microveil.microdata.equivalence_classes import equivalence_classes_of
from microveil.numerics.counting import equivalence_classes
from microveil.numerics.counting.equivalence_classes import agreeing_sums
from microveil.numerics.counting.local_suppression import kept_sets
from microveil.progress import silent
from microveil.randomness import Streams

IntArray = npt.NDArray[np.int64]


def table(codes: IntArray, policies: str | Sequence[str] = "wildcard", **columns: Any) -> Microdata:
    """Codes as categories, -1 as an empty cell."""
    names = [f"a{j}" for j in range(codes.shape[1])]
    policies = [policies] * len(names) if isinstance(policies, str) else policies
    cells = {
        n: pa.array([None if v < 0 else f"v{v}" for v in c], pa.string()) for n, c in zip(names, codes.T, strict=True)
    }
    schema = [
        Attribute(name=n, kind="nominal", missing=p, roles=("key",)) for n, p in zip(names, policies, strict=True)
    ]
    return Microdata.of(pa.table({**cells, **columns}), Schema(schema))


def emptied(data: Microdata, release: Any) -> int:
    names = release.provenance.attributes
    return sum(release.data.arrow(n).null_count - data.arrow(n).null_count for n in names)


def random_codes(seed: int, blanks: bool) -> IntArray:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(4, 40)), int(rng.integers(1, 5)))
    codes = np.minimum(rng.geometric(0.2 + 0.6 * rng.random(), size=shape), 6)
    return np.where(rng.random(shape) < 0.1, -1, codes) if blanks else codes


tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(-1, 3), min_size=width, max_size=width), min_size=4, max_size=25)
)
any_policy = st.sampled_from(["wildcard", "own category", "not applicable"])


@pytest.mark.spec("01:MK-10", "05:PM-12")
@settings(max_examples=40, deadline=None)
@given(rows=tables, k=st.integers(2, 4), policies=st.lists(any_policy, min_size=4, max_size=4), strict=st.booleans())
def test_k_is_reached_whatever_missing_means(rows: list[list[int]], k: int, policies: list[str], strict: bool) -> None:
    data = table(np.array(rows), policies[: len(rows[0])])
    release = Suppress(k=k, count="original" if strict else "released").mask(data)
    assert release.guarantees.k >= k
    for name in data.names:  # cells are emptied, never changed
        before, after = data.arrow(name).to_pylist(), release.data.arrow(name).to_pylist()
        assert all(new in (old, None) for old, new in zip(before, after, strict=True))


@pytest.mark.spec("01:MK-10")
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("policy", ["wildcard", "own category"])
def test_it_never_empties_more_cells_than_the_plain_way(seed: int, policy: str) -> None:
    codes, k = random_codes(seed, blanks=seed % 3 == 0), 2 + seed % 3
    way = plain_wildcards if policy == "wildcard" else plain_own_category
    data = table(codes, policy)
    assert emptied(data, Suppress(k=k).mask(data)) <= (way(codes, k) != codes).sum()


@pytest.mark.parametrize("policy", ["wildcard", "own category"])
def test_it_empties_fewer_cells_of_the_sample_survey_than_the_plain_way(policy: str) -> None:
    people = survey(600)
    keys = ["region", "sex", "education", "occupation"]
    people = people.with_schema(people.schema.replacing(*(people[n].changed(missing=policy) for n in keys)))
    release = Suppress(k=4).mask(people, keys)
    codes = equivalence_classes_of(people, keys).codes[equivalence_classes_of(people, keys).of_record]
    way = plain_wildcards if policy == "wildcard" else plain_own_category
    lost = sum(int((release.data.missing_states(n) != people.missing_states(n)).sum()) for n in keys)
    assert guarantees_of(release.data, keys).k >= 4
    assert 0 < lost < (way(codes, 4) != codes).sum()


def test_eight_skewed_keys_with_nearly_only_rare_combinations_are_no_trouble() -> None:
    codes = np.minimum(np.random.default_rng(1).geometric(0.4, size=(800, 8)), 12)
    data = table(codes)
    assert (equivalence_classes_of(data, data.names).per_record < 3).mean() > 0.9
    classes = equivalence_classes_of(Suppress(k=3).mask(data).data, data.names)
    assert agreeing_sums(classes.codes, classes.counts[:, None]).min() >= 3


@pytest.mark.parametrize("policy", ["wildcard", "own category"])
def test_a_smaller_k_never_empties_more_cells(policy: str) -> None:
    data = table(np.minimum(np.random.default_rng(8).geometric(0.3, size=(60, 4)), 9), policy)
    cells = [emptied(data, Suppress(k=k).mask(data)) for k in (1, 2, 3, 4, 5, 6, 8, 12, 20)]
    assert cells[0] == 0
    assert cells == sorted(cells)


def test_a_safe_table_loses_nothing() -> None:
    data = table(np.repeat(np.arange(4), 5)[:, None] * np.ones((1, 3), dtype=np.int64))
    release = Suppress(k=5).mask(data)
    assert release.data.digest() == data.digest()
    assert release.provenance.notes == ("suppress: no cell had to be emptied",)


def test_only_records_below_k_lose_cells_that_are_wildcards() -> None:
    codes = random_codes(3, blanks=False)
    data = table(codes)
    release = Suppress(k=3).mask(data)
    safe = equivalence_classes_of(data, data.names).per_record >= 3
    for name in data.names:
        assert not release.data.missing_states(name)[safe].any()


def test_a_record_needs_no_more_cells_than_the_cheapest_way_for_itself() -> None:
    """One record in a table of two frequent rows differs from each of them in one cell."""
    codes = np.array([[0, 0, 0]] * 3 + [[0, 1, 1]] * 3 + [[0, 1, 0]])
    data = table(codes)
    assert emptied(data, Suppress(k=3).mask(data)) == 1
    dear = Suppress(k=3, importance=(1.0, 5.0, 1.0)).mask(data)
    assert dear.data.arrow("a2").null_count == 1
    cheap = Suppress(k=3, importance=(1.0, 1.0, 5.0)).mask(data)
    assert cheap.data.arrow("a1").null_count == 1


def test_two_rare_neighbours_need_one_empty_cell_between_them() -> None:
    codes = np.array([[0, 0], [0, 1], [1, 5], [1, 5]])
    data = table(codes)
    assert emptied(data, Suppress(k=2).mask(data)) == 1
    assert emptied(data, Suppress(k=2, count="original").mask(data)) == 2


def test_the_stricter_count_relies_on_original_values_only() -> None:
    codes = random_codes(8, blanks=False)
    data = table(codes)
    release = Suppress(k=3, count="original").mask(data)
    for record in range(len(codes)):
        shown = [j for j, n in enumerate(data.names) if release.data.arrow(n)[record].is_valid]
        assert (codes[:, shown] == codes[record, shown]).all(axis=1).sum() >= 3
    assert emptied(data, release) >= emptied(data, Suppress(k=3).mask(data))


def test_what_an_empty_cell_means_can_be_chosen_for_the_release() -> None:
    codes = random_codes(5, blanks=False)
    data = table(codes, "own category")
    release = Suppress(k=2, suppressed="wildcard").mask(data)
    assert {release.data[n].missing for n in data.names} == {"wildcard"}
    assert emptied(data, release) <= emptied(data, Suppress(k=2).mask(data))
    strict = Suppress(k=2, suppressed="own category").mask(table(codes))
    assert {strict.data[n].missing for n in data.names} == {"own category"}
    rows = np.array([[cell or "" for cell in strict.data.arrow(n).to_pylist()] for n in data.names]).T
    assert np.unique(rows, axis=0, return_counts=True)[1].min() >= 2


@pytest.mark.parametrize("policy", ["own category", "not applicable"])
def test_a_missing_code_that_is_a_value_never_becomes_a_wildcard(policy: str) -> None:
    job = Attribute(name="job", kind="nominal", roles=("key",), missing=policy, missing_codes=("NA",))
    sex = Attribute(name="sex", kind="nominal", roles=("key",))
    cells = {"job": ["cook", "cook", "cook", "NA"], "sex": ["f", "f", "m", "f"]}
    data = Microdata.of(cells, Schema([job, sex]))
    release = Suppress(k=2, suppressed="wildcard").mask(data)
    assert (release.data["job"].missing, release.data["sex"].missing) == (policy, "wildcard")
    assert "NA" not in release.frame["job"].to_pylist()  # one person alone has it
    assert release.guarantees.k >= 2
    assert "suppress: a suppressed cell of job is no wildcard" in " ".join(release.provenance.notes)
    declared = data.with_schema(data.schema.replacing(job.changed(missing="wildcard")))
    assert Suppress(k=2, suppressed="wildcard").mask(declared).frame["job"].to_pylist()[-1] == "NA"


def test_a_key_that_refuses_missing_cells_gets_wildcards() -> None:
    data = table(np.array([[0, 0], [0, 0], [0, 1]]), "refuse")
    release = Suppress(k=2).mask(data)
    assert release.data["a1"].missing == "wildcard"
    assert release.data["a0"].missing == "refuse"


@pytest.mark.spec("01:MK-10")
def test_a_highest_risk_is_a_smallest_class() -> None:
    data = table(random_codes(11, blanks=False))
    assert Suppress(k=1, risk=0.25).mask(data).guarantees.k >= 4
    assert Suppress(k=1, risk=0.25).mask(data).data.digest() == Suppress(k=4).mask(data).data.digest()


@pytest.mark.spec("01:MK-10")
@pytest.mark.parametrize(("risk", "fewest"), [(0.3, 4), (0.4, 3), (1 / 3, 3), (0.09, 12), (0.1, 10), (1.0, 1)])
def test_a_risk_between_two_class_sizes_asks_for_the_larger_one(risk: float, fewest: int) -> None:
    """One over the size of a class is at most the risk: 1/3 is above 0.3, 1/4 is not."""
    safe, rare = [[0, 0]] * fewest, [[1, 0]] * (fewest - 1)
    data = table(np.array(safe + rare))
    release = Suppress(k=1, risk=risk).mask(data)
    assert release.guarantees.k == 2 * fewest - 1  # the emptied cells could have either value
    kept = [cell is not None for cell in release.data.arrow("a0").to_pylist()]
    assert kept == [True] * fewest + [False] * (fewest - 1)


def test_a_risk_in_the_population_goes_by_the_weights() -> None:
    codes = random_codes(12, blanks=False)
    weights = np.random.default_rng(2).uniform(1.0, 30.0, len(codes))
    data = Microdata.of(table(codes, w=weights), weight="w")
    data = data.with_schema(data.schema.with_roles(key=[n for n in data.names if n != "w"]))
    release = Suppress(k=1, risk=0.02, weighted=True).mask(data)
    assert release.guarantees.population is not None
    assert release.guarantees.population >= 50 * (1 - 1e-9)
    names = [n for n in data.names if n != "w"]
    classes = equivalence_classes_of(release.data, names)
    assert agreeing_sums(classes.codes, classes.weights[:, None]).min() >= 50 * (1 - 1e-9)
    both = Suppress(k=3, risk=0.02, weighted=True).mask(data)
    assert both.guarantees.k >= 3


@pytest.mark.parametrize(
    ("method", "columns", "says"),
    [
        (Suppress(k=5), {"a": ["x", "y"]}, "2 records, but suppress"),
        (Suppress(k=2), {"a": np.arange(300)}, "'a' is numeric with more than 100 distinct values"),
        (Suppress(k=2, risk=0.5, weighted=True), {"a": ["x"] * 4}, "no attribute with the role weight"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(method: Suppress, columns: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        method.mask(Microdata.of(columns), ["a"])


def test_weights_that_are_too_small_are_refused() -> None:
    data = Microdata.of({"a": ["x"] * 4, "w": [1.0] * 4}, weight="w")
    with pytest.raises(DataError, match="all weights together are below 10"):
        Suppress(k=2, risk=0.1, weighted=True).mask(data, ["a"])
    with pytest.raises(DataError, match="weights below 0"):
        Suppress(k=2, risk=0.1, weighted=True).mask(Microdata.of({"a": ["x"] * 2, "w": [-1.0, 9.0]}, weight="w"), ["a"])


def test_parameters_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="weighted = True is not allowed without a risk"):
        Suppress(weighted=True)
    with pytest.raises(ParameterError, match="each must be above 0"):
        Suppress(importance=(1.0, 0.0))
    with pytest.raises(ParameterError, match="importance has 1 number for 2 attributes"):
        Suppress(importance=(1.0,)).mask(table(np.zeros((5, 2), dtype=np.int64)))


def test_few_different_numbers_are_keys_like_any_other() -> None:
    data = Microdata.of({"rooms": [1, 1, 1, 2, 2, 7]}, keys=["rooms"])
    release = Suppress(k=2).mask(data)
    assert release.data.arrow("rooms").to_pylist() == [1, 1, 1, 2, 2, None]


def test_nothing_is_released_that_falls_short(monkeypatch: pytest.MonkeyPatch) -> None:
    data = table(np.array([[0, 0], [0, 0], [0, 1]]))
    monkeypatch.setattr(Suppress, "_cells_to_suppress", lambda *arguments: np.zeros((3, 2), dtype=bool))
    with pytest.raises(GuaranteeError, match="k at least 2"):
        Suppress(k=2).mask(data)
    weighed = Microdata.of({"a": ["x", "x", "y"], "w": [3.0, 3.0, 3.0]}, keys=["a"], weight="w")
    monkeypatch.setattr(Suppress, "_cells_to_suppress", lambda *arguments: np.zeros((3, 1), dtype=bool))
    with pytest.raises(GuaranteeError, match="population at least 4"):
        Suppress(k=1, risk=0.25, weighted=True).mask(weighed)


def test_many_keys_are_treated_too() -> None:
    codes = np.random.default_rng(4).integers(0, 2, size=(60, 18))
    data = table(codes)
    assert Suppress(k=2).mask(data).guarantees.k >= 2
    cheapest = next(kept_sets(np.ones(18), 60))
    assert len(cheapest) == 18
    assert all(kept.sum() == 17 for kept in cheapest)


@given(rows=tables)
@settings(max_examples=40, deadline=None)
def test_what_agrees_is_counted_as_pair_by_pair(rows: list[list[int]]) -> None:
    codes = np.unique(np.array(rows), axis=0)
    masses = np.arange(1.0, 2 * len(codes) + 1).reshape(-1, 2)
    agree = ((codes[:, None] == codes) | (codes[:, None] < 0) | (codes < 0)).all(axis=2)
    assert agreeing_sums(codes, masses) == pytest.approx(agree @ masses)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equivalence_classes, "_FEW_ROWS", 0)  # pattern by pattern, as in long tables
        assert agreeing_sums(codes, masses) == pytest.approx(agree @ masses)


@pytest.mark.parametrize("values", [[1, 1, 2, 3], [True, True, True, False]])
def test_emptied_cells_of_a_pandas_frame_are_missing_whatever_its_type(values: list[Any]) -> None:
    import pandas as pd

    data = Microdata.of(pd.DataFrame({"code": values, "sex": list("ffmm")}), nominal=["code", "sex"])
    release = Suppress(k=2).mask(data, ["code", "sex"], seed=1)
    assert release.frame[["code", "sex"]].isna().to_numpy().any()
    assert release.guarantees.k >= 2


def test_a_number_may_have_as_many_distinct_values_as_are_allowed() -> None:
    data = Microdata.of({"age": [1, 1, 2, 2, 3, 3]})
    assert Suppress(k=2, most_values=3).mask(data, ["age"], seed=1).guarantees.k == 2
    with pytest.raises((DataError, ParameterError), match="more than 2 distinct values"):
        Suppress(k=2, most_values=2).mask(data, ["age"], seed=1)


@pytest.mark.parametrize("settings", [{}, {"importance": (1.0, 2.5, 1.0)}, {"suppressed": "own category"}])
def test_the_cost_is_told_beside_a_bound_below_it(settings: dict[str, Any]) -> None:
    codes = np.random.default_rng(8).integers(0, 4, size=(60, 3))
    method = Suppress(k=2, **settings)
    notes = method._mask(table(codes), ("a0", "a1", "a2"), Streams(1), silent).notes
    told = next(note for note in notes if note.kind in (FEWEST_CELLS, LEAST_COST_OF_CELLS))
    release = method.mask(table(codes))
    emptied = np.column_stack([release.data.missing_states(name) > 0 for name in release.data.names])
    assert told.values["cost"] == pytest.approx(
        float((emptied * np.array(settings.get("importance", (1, 1, 1)))).sum())
    )
    assert 0 < told.values["bound"] <= told.values["cost"]
    assert str(told) in release.provenance.notes
    without = Suppress(k=2, bound="none", **settings)._mask(table(codes), ("a0", "a1", "a2"), Streams(1), silent)
    assert without.notes == tuple(note for note in notes if note != told)
