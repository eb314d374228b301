"""DBIL and CTBIL against an example computed independently."""

from __future__ import annotations

import pytest

from microveil.losses.categorical.distance import DBIL
from microveil.losses.categorical.tables import CTBIL
from microveil.microdata import Attribute, Microdata, Schema


def toy() -> tuple[Microdata, Microdata]:
    before = Microdata.of(
        {"v": [0, 0, 1, 2, 3, 3], "w": [0, 1, 1, 1, 2, 2]}, ordinal=["v"], nominal=["w"], keys=["v", "w"]
    )
    schema = before.schema.replacing(before["v"].changed(domain=(0, 1, 2, 3)), before["w"].changed(domain=(0, 1, 2)))
    return before.with_schema(schema), Microdata.of({"v": [0, 1, 1, 2, 3, 2], "w": [0, 1, 1, 0, 2, 2]}, schema)


@pytest.mark.spec("05:IL-01", "05:IL-02")
@pytest.mark.parametrize(
    ("form", "distance", "value"), [("inclusive", 2.0, 16.667), ("half-open", 1.5, 12.5), ("unit", 1.6667, 13.889)]
)
def test_dbil_of_the_example(form: str, distance: float, value: float) -> None:
    loss = DBIL(ordinal_distance=form).measure(*toy())  # type: ignore[arg-type]
    assert loss.details["distance"] == pytest.approx(distance, abs=5e-5)
    assert loss.value == pytest.approx(value, abs=5e-4)


@pytest.mark.spec("05:IL-01")
def test_a_distance_that_ignores_order_counts_changes() -> None:
    assert DBIL(ordinal_distance="nominal").measure(*toy()).value == pytest.approx(100 * 3 / 12)


@pytest.mark.spec("05:IL-03")
@pytest.mark.parametrize(("dimension", "ctbil", "actbil", "value"), [(1, 6, 6 / 7, 25.0), (2, 12, 12 / 19, 100 / 3)])
def test_ctbil_of_the_example(dimension: int, ctbil: float, actbil: float, value: float) -> None:
    loss = CTBIL(dimension=dimension).measure(*toy())
    assert loss.details["ctbil"] == ctbil
    assert loss.details["actbil"] == pytest.approx(actbil)
    assert loss.value == pytest.approx(value)
    assert loss.per_attribute == pytest.approx({"v": 100 * 4 / 12, "w": 100 * 2 / 12})


@pytest.mark.spec("05:IL-03")
def test_a_permutation_of_the_records_leaves_the_tables_alone() -> None:
    before, _ = toy()
    turned = Microdata.of({"v": [3, 3, 2, 1, 0, 0], "w": [2, 2, 1, 1, 1, 0]}, before.schema)
    assert CTBIL().measure(before, turned).value == 0
    assert DBIL().measure(before, turned).value > 0


def test_the_domain_of_the_schema_decides_the_distance() -> None:
    data = Microdata.of({"v": ["low", "high"]}, ordinal=["v"])
    other = Microdata.of({"v": ["high", "low"]}, ordinal=["v"])
    wide = data.with_schema(data.schema.replacing(data["v"].changed(domain=("low", "b", "c", "d", "high"))))
    middle = data.with_schema(data.schema.replacing(data["v"].changed(domain=("low", "high", "c", "d", "e"))))
    assert DBIL().measure(wide, other).value == 100
    assert DBIL().measure(middle, other).value == pytest.approx(40)


def test_missing_categories_count_once_and_suppressed_cells_whole() -> None:
    before = Microdata.of({"v": ["a", None, "b", None]})
    after = Microdata.of({"v": ["a", None, None, "b"]})
    assert DBIL().measure(before, after).value == pytest.approx(50)
    structural = before.with_schema(before.schema.replacing(before["v"].changed(missing="not applicable")))
    assert DBIL().measure(structural, after).value == pytest.approx(50)  # of the two cells that had a value
    assert CTBIL().measure(structural, after).value == 0


def test_cells_that_only_the_release_lacks_are_counted_in_a_cell_of_their_own() -> None:
    before = Microdata.of({"v": ["a", "b", "b", "c"]})
    refused = before.with_schema(before.schema.replacing(before["v"].changed(missing="wildcard")))
    found = CTBIL().measure(refused, Microdata.of({"v": ["a", "b", None, None]}))
    # b and c lose a record each, and the fourth cell has two
    assert found.details == {"ctbil": 4.0, "actbil": 1.0, "differing": 3.0, "tables": 1.0}
    assert found.value == 50


def test_a_missing_cell_is_1_away_from_every_ordered_category() -> None:
    schema = Schema([Attribute(name="v", kind="ordinal", domain=("low", "mid", "high"), missing="own category")])
    before, after = (Microdata.of({"v": cells}, schema) for cells in ([None, None, "low"], ["low", "high", "mid"]))
    # from low to mid there are two of the four categories
    assert DBIL().measure(before, after).details["distance"] == 2.5
    # where the original has no missing cell they are two of three
    assert DBIL().measure(after, before).details["distance"] == pytest.approx(2 + 2 / 3)


def test_new_categories_of_a_recoded_file_are_compared_too() -> None:
    declared = Schema([Attribute(name="v", kind="nominal", domain=("a", "b", "c", "a or b"))])
    before = Microdata.of({"v": ["a", "b", "c", "c"]}, declared)
    after = Microdata.of({"v": ["a or b", "a or b", "c", "c"]})
    assert DBIL().measure(before, after).value == 50
    assert CTBIL().measure(before, after).value == 50


def test_tables_of_many_attributes_fit_in_memory() -> None:
    columns = {f"x{j}": [f"{(i * (j + 3)) % 97}" for i in range(200)] for j in range(9)}
    data = Microdata.of(columns)
    assert CTBIL(dimension=9).measure(data, data).value == 0
