"""The parts of the reference data that experiments used are found in the files, with the properties printed of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microveil.errors import UnknownNameError
from microveil.microdata import Microdata
from microveil.microdata.datasets.selections import SELECTIONS, load_selection

SHAPES = {
    "census": (1080, 13),
    "eia": (4092, 10),
    "eia-nine": (4092, 9),
    "water-nine": (380, 9),
    "water": (527, 25),
    "abalone": (4177, 9),
    "dermatology": (366, 16),
    "housing": (506, 7),
    "ionosphere": (351, 12),
    "iris": (150, 4),
    "wdbc": (569, 22),
}


@pytest.mark.spec("03:DS-1")
@pytest.mark.parametrize("name", SELECTIONS)
def test_every_selection_has_the_records_and_attributes_of_the_source(
    reference: Callable[..., Microdata], name: str
) -> None:
    reference("iris")  # skips without the reference data
    data = load_selection(name)
    assert (len(data), len(data.names)) == SHAPES[name]
    assert data.names == SELECTIONS[name].columns
    kinds = {attribute.kind for attribute in data.schema if attribute.name not in ("Sex", "diagnosis")}
    assert kinds == {"numeric"}


@pytest.mark.spec("03:DS-1")
def test_complete_selections_have_no_missing_cell(reference: Callable[..., Microdata]) -> None:
    reference("water_treatment")
    data = load_selection("water-nine")
    assert not any(data.numbers(name).has_missing for name in data.names)
    whole = load_selection("water")
    assert any(whole.numbers(name).has_missing for name in whole.names)


@pytest.mark.spec("03:DS-1")
def test_the_attributes_of_dermatology_are_those_that_correlate_with_another(
    reference: Callable[..., Microdata],
) -> None:
    table = reference("dermatology")
    names = [name for name in table.names if name not in ("age", "class")]  # age has missing cells
    correlations = np.abs(np.corrcoef([table.numbers(name).values for name in names]))
    np.fill_diagonal(correlations, 0.0)
    strong = {name for name, row in zip(names, correlations, strict=True) if row.max() >= 0.7}
    assert set(SELECTIONS["dermatology"].columns) <= strong


@pytest.mark.spec("03:DS-1")
def test_the_columns_of_wdbc_are_counted_from_the_record_number(reference: Callable[..., Microdata]) -> None:
    file = reference("wdbc").names  # without the record number: V2 is the first column
    numbers = [2, 4, 6, 8, 10, 12, 13, 18, 20, 26, 29, 32, 5, 9, 15, 16, 19, 22, 25, 27, 28, 30]
    assert SELECTIONS["wdbc"].columns == tuple(file[number - 2] for number in numbers)


def test_an_unknown_selection_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown selection 'iri'; did you mean 'iris'"):
        load_selection("iri")
