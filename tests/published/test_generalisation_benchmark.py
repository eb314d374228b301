"""The published optimum of full-domain generalisation of adult data, and what the printed figure measures.

Meurers et al. (2021) ask for 5-anonymity with any number of suppressed records and optimise the mean loss of Iyengar
(2002). Printed is the granularity of the optimum, 0.7296212378705822, with hierarchies over complete domains: ages from
1 to 100, and a class of workers that no record has. The hierarchies at hand list only what occurs, so both are
completed here.
"""

from __future__ import annotations

import pytest

from microveil.masking.coarsening.generalise import Generalise
from microveil.microdata import Attribute, Hierarchy, Microdata, Schema, datasets

KEYS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class"
)  # fmt: skip
OPTIMUM = (0, 3, 0, 0, 2, 1, 1, 1, 0)


@pytest.fixture(scope="module")
def adult() -> Microdata:
    """The coded table with its ages in years, and its hierarchies over complete domains."""
    folder = datasets.data_folder()
    if folder is None:
        pytest.skip("reference data not found: set MICROVEIL_DATA to the folder that holds it")
    from microveil import read

    coded, plain = read(folder / "adult_int.csv.gz"), read(folder / "adult_arx.csv")
    hierarchies = {
        key: Hierarchy.read(folder / "hierarchies" / "arx_int" / f"adult_int_hierarchy_{key}.csv.gz") for key in KEYS
    }
    hierarchies["age"] = Hierarchy.read(folder / "hierarchies" / "adult_age.csv")
    hierarchies["workclass"] = Hierarchy.of([*hierarchies["workclass"].paths, ("7", "10", "8")])
    columns = {key: [str(cell) for cell in (plain if key == "age" else coded).arrow(key).to_pylist()] for key in KEYS}
    schema = Schema([
        Attribute(name=key, kind="nominal", roles=("key",), hierarchy=hierarchies[key]) for key in KEYS
    ])  # fmt: skip
    return Microdata.of(columns, schema)


def test_the_optimum_by_loss_is_the_published_one(adult: Microdata) -> None:
    found = Generalise(k=5, suppression=1.0).solutions(adult, KEYS)
    assert found.proven
    assert found.best is not None
    assert (found.best.levels, found.best.suppressed) == (OPTIMUM, 2584)
    assert found.best.utility == pytest.approx(0.771447799, abs=1e-9)


def test_its_granularity_is_the_printed_figure(adult: Microdata) -> None:
    printed = 0.7296212378705822
    assert Generalise(k=5, suppression=1.0, utility="granularity").at(adult, KEYS, OPTIMUM).utility == pytest.approx(
        printed, abs=1e-12
    )
