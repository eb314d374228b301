"""Linkage to releases whose cells stand for several values: intervals, sets, nodes of a hierarchy."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.attacks.linkage.base import Linkage
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.labels import labels_of
from microveil.attacks.linkage.probabilistic import ProbabilisticLinkage
from microveil.errors import ParameterError
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.coarsening.recode import Recode
from microveil.microdata import Hierarchy, Microdata
from microveil.microdata.distances import Regions
from microveil.microdata.pairs import Pair

LINKAGES = [DistanceLinkage(), ProbabilisticLinkage()]


def people() -> Microdata:
    return Microdata.of({"age": [20, 22, 30, 41, 43], "job": ["cook", "cook", "nurse", "clerk", "nurse"]})


def released(ages: list[str | None], jobs: list[str | None]) -> Microdata:
    return Microdata.of({"age": ages, "job": jobs}, nominal=["age", "job"])


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
def test_a_record_is_hidden_among_those_of_its_class(attack: Linkage) -> None:
    release = released(["[20, 30]"] * 3 + ["[41, 43]"] * 2, ["{cook, nurse}"] * 3 + ["{clerk, nurse}"] * 2)
    risk = attack.assess(people(), release, ["age", "job"])
    assert risk.per_record.tolist() == pytest.approx([1 / 3] * 3 + [1 / 2] * 2)


def test_a_value_outside_is_as_far_as_from_the_nearest_end() -> None:
    """Age 35 is 5 from [20, 30] and 6 from [41, 43]; 36 is 6 and 5. A nurse is in both sets, a clerk in the second."""
    release = released(["[20, 30]", "[41, 43]"], ["{cook, nurse}", "{clerk, nurse}"])
    attack = DistanceLinkage(metric="manhattan", standardisation="none")
    for age, job, right in ((35, "nurse", 1.0), (36, "nurse", 0.0), (35, "clerk", 0.5), (35, "cook", 1.0)):
        known = Microdata.of({"age": [age, 99], "job": [job, "nurse"]})
        schema = known.schema.replacing(known["job"].changed(domain=("cook", "nurse", "clerk")))
        assert attack.assess(known.with_schema(schema), release, ["age", "job"]).per_record[0] == right


def test_distances_to_intervals_are_in_the_units_of_the_attribute() -> None:
    """Two attributes whose numbers differ only in their unit count the same after standardising."""
    known = Microdata.of({"a": [0.0, 10.0, 20.0, 30.0], "b": [0.0, 1000.0, 2000.0, 3000.0]})
    release = Microdata.of({"a": ["[0, 10]", "[0, 10]", "[4, 5]", "[29, 40]"], "b": ["[2000, 3000]"] * 4})
    for metric in ("euclidean", "manhattan", "gower"):
        for scale in ("separate", "joint", "minmax"):
            attack = DistanceLinkage(metric=metric, standardisation=scale)  # type: ignore[arg-type]
            # 10 is inside the first two, 5 from the third and 19 from the fourth, for all of which b adds the same
            assert attack.assess(known, release, ["a", "b"]).per_record.tolist() == [0.5, 0.5, 0.0, 1.0]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
def test_a_hair_outside_is_outside(metric: str) -> None:
    known = Microdata.of({"pay": [0, 1, 1_000_000]})
    release = Microdata.of({"pay": ["[0, 0.5]", "[0.8, 1]", "[1000000, 1000000]"]})
    attack = DistanceLinkage(metric=metric)  # type: ignore[arg-type]
    assert attack.assess(known, release, ["pay"]).per_record.tolist() == [1, 1, 1]


@pytest.mark.parametrize("publish", ["interval", "set"])
@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 6))
def test_no_record_of_a_k_anonymous_release_is_linked_with_more_than_one_in_k(
    attack: Linkage, publish: str, seed: int, k: int
) -> None:
    """All values lie in their class, so that all records of the class are nearest."""
    data = mixed(60, seed)
    release = Mondrian(k=k, publish=publish).mask(data, data.names)  # type: ignore[arg-type]
    risk = attack.assess(data, release)
    assert risk.known == data.names
    assert risk.counters["optimistic"] == pytest.approx(100)
    assert 0 < risk.value <= 100 / k + 1e-9
    assert risk.per_record.max() <= 1 / k + 1e-12


def mixed(n: int, seed: int) -> Microdata:
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(18, 90, n),
        "pay": rng.normal(size=n).round(2),
        "job": rng.choice(["cook", "nurse", "clerk", "smith, tin"], n),
        "grade": rng.choice(["low", "mid", "high"], n),
    }
    data = Microdata.of(columns, nominal=["job"], ordinal=["grade"])
    return data.with_schema(data.schema.replacing(data["grade"].changed(domain=("low", "mid", "high"))))


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
def test_neither_the_order_nor_the_provenance_decides(attack: Linkage) -> None:
    data = mixed(80, 3)
    release = Mondrian(k=3, publish="set").mask(data, data.names)
    order = np.random.default_rng(5).permutation(80)
    risk = attack.assess(data, release)
    other = attack.assess(data.take(order), release.data.take(order), data.names)
    assert other.per_record == pytest.approx(risk.per_record[order])


def test_records_of_a_recoded_file_are_hidden_among_those_with_the_same_labels() -> None:
    data = mixed(100, 7)
    release = Recode(by="frequency", groups=4, publish="label").mask(data, ["age", "pay"])
    release = Recode(by="map", map={"hands": ["cook", "smith, tin"]}, publish="label").mask(release, ["job"])
    for attack in LINKAGES:
        risk = attack.assess(data, release)
        labels = list(zip(*(release.frame[name].to_pylist() for name in ("age", "pay", "job")), strict=True))
        assert risk.per_record.tolist() == pytest.approx([1 / labels.count(one) for one in labels])


# --- how labels are read ----------------------------------------------------------------------------------------------


def regions(known: Microdata, name: str, texts: list[str | None]) -> list[list[list[float]]]:
    """What each of these labels, one for each record, is read as."""
    found = labels_of(Pair.of(known, Microdata.of({name: texts}, nominal=[name]), [name]), name)
    assert found is not None
    return [found.regions.segments[code].tolist() for code in found.codes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25", [[25, 25]]),
        ("[20, 35]", [[20, 35]]),
        ("[-5.5, 1e3]", [[-5.5, 1000]]),
        ("[30, 60)", [[30, 45]]),  # 60 is known and not in it; 45 is the next below
        ("(30, 60]", [[45, 60]]),
        ("< 60", [[-np.inf, 45]]),
        ("<= 60", [[-np.inf, 60]]),
        (">= 60", [[60, np.inf]]),
        ("> 45", [[60, np.inf]]),
        ("{20, 60}", [[20, 20], [60, 60]]),
        ("20, 45", [[20, 20], [45, 45]]),
        ("20 to 45", [[20, 45]]),
        ("*", [[-np.inf, np.inf]]),
        ("young", [[20, 20]]),  # as the record that has it
    ],
)
def test_labels_of_numbers(text: str, expected: list[list[float]]) -> None:
    known = Microdata.of({"age": [20, 30, 45, 60]})
    assert regions(known, "age", [text, "30", "45", "60"])[0] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{low, high}", [[0, 0], [2, 2]]),
        ("[low, mid]", [[0, 1]]),
        ("low to high", [[0, 2]]),
        ("mid, high", [[1, 2]]),
        ("*", [[0, 3]]),
        ("{mid, very, very high}", [[1, 1], [3, 3]]),
        ("not small", [[1, 1]]),  # as the record that has it
    ],
)
def test_labels_of_ordered_categories(text: str, expected: list[list[float]]) -> None:
    known = Microdata.of({"size": ["mid", "low", "high", "very, very high"]}, ordinal=["size"])
    domain = ("low", "mid", "high", "very, very high")
    known = known.with_schema(known.schema.replacing(known["size"].changed(domain=domain)))
    assert regions(known, "size", [text, "low", "high", "mid"])[0] == expected


def test_nodes_of_a_hierarchy_stand_for_the_categories_below_them() -> None:
    tree = Hierarchy.of([("Graz", "South", "*"), ("Linz", "North", "*"), ("Wels", "North", "*")])
    known = Microdata.of({"town": ["Graz", "Linz", "Wels", "Linz"]})
    known = known.with_schema(known.schema.replacing(known["town"].changed(hierarchy=tree)))
    assert regions(known, "town", ["North", "South", "*", "Wels"]) == [[[1, 2]], [[0, 0]], [[0, 2]], [[2, 2]]]
    release = Recode(by="hierarchy", level=1, publish="label").mask(known, ["town"])
    assert DistanceLinkage().assess(known, release).per_record.tolist() == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3])


def test_values_that_are_no_labels_are_compared_as_values() -> None:
    known = Microdata.of({"a": [1, 2, 3], "job": ["x", "y", "x"]})
    assert labels_of(Pair.of(known, known, ["a", "job"]), "a") is None
    assert labels_of(Pair.of(known, known, ["a", "job"]), "job") is None
    declared = known.with_schema(known.schema.replacing(known["job"].changed(domain=("x", "y", "z"))))
    masked = Microdata.of({"a": [1, 2, 3], "job": ["x", "z", "x"]})
    assert labels_of(Pair.of(declared, masked, ["a", "job"]), "job") is None


def test_dates_and_missing_cells_are_no_labels() -> None:
    import polars as pl

    days = [datetime(2020, 1, 1, 12), datetime(2021, 5, 4), datetime(2020, 1, 1, 12)]
    known = Microdata.of(pl.DataFrame({"day": days, "code": [1.0, float("nan"), 2.0]}), nominal=["day", "code"])
    pair = Pair.of(known, known, ["day", "code"])
    assert labels_of(pair, "day") is None
    assert labels_of(pair, "code") is None


def test_missing_codes_stay_missing_among_labels() -> None:
    known = Microdata.of({"age": [20, 30, -9, 60]})
    known = known.with_schema(
        known.schema.replacing(known["age"].changed(missing_codes=(-9,), missing="not applicable"))
    )
    release = Recode(by="cuts", cuts=(40,), publish="label").mask(known, ["age"])
    assert release.frame["age"].to_pylist() == ["< 40", "< 40", "-9", ">= 40"]
    assert DistanceLinkage().assess(known, release).per_record.tolist() == [0.5, 0.5, 1, 1]
    assert ProbabilisticLinkage().assess(known, release).per_record.tolist() == [0.5, 0.5, 1, 1]


def test_nothing_released_and_empty_texts_are_no_obstacle() -> None:
    known = people()
    nothing = known.with_columns({"age": pa.array([None] * 5, pa.string())})
    assert DistanceLinkage().assess(known, nothing, ["age"]).per_record.tolist() == [0.2] * 5
    assert ProbabilisticLinkage().assess(known, nothing, ["age"]).value <= 20 + 1e-9
    # 30 is 8 years from the span of "" (20 to 22); a missing cell costs the mean, a fifth of the square of that
    ages = Microdata.of({"age": [20, 22, 30, 43, 43]})
    empty = released(["", "", None, "43", "43"], ["cook"] * 5)
    assert DistanceLinkage().assess(ages, empty, ["age"]).per_record.tolist() == [0.5, 0.5, 1, 0.5, 0.5]


def test_an_emptied_label_could_be_any_value_but_one_that_fits_is_nearer() -> None:
    ages: list[str | None] = ["[20, 30]", "[20, 30]", None, "[41, 43]", "[41, 43]"]
    release = released(ages, ["cook", "cook", "nurse", "clerk", "nurse"])
    risk = DistanceLinkage().assess(people(), release, ["age", "job"])
    assert risk.per_record.tolist() == [0.5, 0.5, 1, 1, 1]
    with pytest.raises(ParameterError, match="missing_cells = 'left out' is not allowed where"):
        DistanceLinkage(missing_cells="left out").assess(people(), release, ["age", "job"])


@settings(max_examples=50, deadline=None)
@given(
    ends=st.lists(st.integers(-20, 20), min_size=2, max_size=8, unique=True).filter(lambda ends: len(ends) % 2 == 0),
    value=st.integers(-30, 30),
)
def test_a_gap_is_the_way_to_the_nearest_value_inside(ends: list[int], value: int) -> None:
    pairs = list(zip(sorted(ends)[::2], sorted(ends)[1::2], strict=True))
    inside = [x for low, high in pairs for x in range(low, high + 1)]
    gaps = Regions.of([[(0, 0)], pairs]).gaps(np.array([float(value)]), np.array([1, 0]))
    assert gaps.tolist() == [[min(abs(value - x) for x in inside), abs(value)]]


# --- all that linkage can do ------------------------------------------------------------------------------------------


def overlapping(seed: int = 4, n: int = 60) -> tuple[Microdata, Microdata, np.ndarray]:
    """Numbers released as overlapping intervals that do not always hold them, beside plain numbers."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 50, n), rng.integers(0, 50, n)
    low = a + rng.integers(-6, 3, n)
    high, moved = low + rng.integers(0, 9, n), b + rng.integers(-3, 4, n)
    gaps = np.maximum(np.maximum(low[None] - a[:, None], a[:, None] - high[None]), 0)
    masked = Microdata.of({"a": [f"[{x}, {y}]" for x, y in zip(low, high, strict=True)], "b": moved})
    return Microdata.of({"a": a, "b": b}), masked, gaps + np.abs(b[:, None] - moved[None])


def shares(apart: np.ndarray, neighbours: int = 1) -> list[float]:
    """The chance of each record's own among so many that are nearest."""
    own = np.diag(apart)
    closer, ties = (apart < own[:, None]).sum(axis=1), (apart == own[:, None]).sum(axis=1)
    return list(np.clip((neighbours - closer) / ties, 0, 1))


@pytest.mark.parametrize("neighbours", [1, 2, 5])
@pytest.mark.parametrize("direction", ["original", "masked"])
def test_links_are_those_of_a_search_over_all_pairs(neighbours: int, direction: str) -> None:
    known, masked, apart = overlapping()
    attack = DistanceLinkage(
        metric="manhattan",
        standardisation="none",
        neighbours=neighbours,
        direction=direction,  # type: ignore[arg-type]
    )
    risk = attack.assess(known, masked, ["a", "b"])
    assert risk.per_record.tolist() == pytest.approx(shares(apart if direction == "original" else apart.T, neighbours))
    order = np.argsort(apart if direction == "original" else apart.T, axis=1, kind="stable")[:, :neighbours]
    assert risk.counters["first"] == pytest.approx(100 * (order == np.arange(60)[:, None]).any(axis=1).mean())


def test_squared_and_weighted_gaps_add_up() -> None:
    known, masked, _ = overlapping()
    low, high = np.array([label[1:-1].split(", ") for label in masked.frame["a"].to_list()], dtype=float).T
    a, b = (known.numbers(name).values for name in ("a", "b"))
    gaps = np.maximum(np.maximum(low[None] - a[:, None], a[:, None] - high[None]), 0)
    apart = 3 * gaps**2 + (b[:, None] - masked.numbers("b").values[None]) ** 2
    attack = DistanceLinkage(standardisation="none", weights=(3.0, 1.0))
    assert attack.assess(known, masked, ["a", "b"]).per_record.tolist() == pytest.approx(shares(apart))


def test_one_to_one_gives_every_record_of_a_class_to_its_class() -> None:
    data = mixed(60, 11)
    release = Mondrian(k=3, publish="set").mask(data, data.names)
    for attack in (DistanceLinkage(one_to_one=True), ProbabilisticLinkage(assignment="one-to-one")):
        risk = attack.assess(data, release)
        assert 0 < risk.value <= 100 / 3 + 1e-6


def test_levels_of_knowledge_blocks_and_interactions_work_with_labels() -> None:
    data = mixed(60, 12)
    release = Mondrian(k=3, publish="interval").mask(data, data.names)
    whole = DistanceLinkage().assess(data, release).value
    assert DistanceLinkage(known_sizes=(1, 4)).assess(data, release).value < whole
    # all own records lie inside, so that blocking only takes others away
    assert DistanceLinkage(block=("job", "age")).assess(data, release).value == pytest.approx(whole)
    blocked = ProbabilisticLinkage(block=("job",)).assess(data, release)
    assert blocked.per_record.max() <= 1 / 3 + 1e-12
    assert 0 < ProbabilisticLinkage(interactions="different").assess(data, release).value <= 100 / 3 + 1e-9


def test_the_battery_runs_both_linkages_on_intervals() -> None:
    from microveil.battery import run_battery

    data = mixed(40, 2)
    found = run_battery(data, Mondrian(k=4, publish="interval").mask(data, data.names), contributions=False)
    for name in ("distance-linkage", "probabilistic-linkage"):
        assert found.risks[name].known == data.names
