from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.microdata import Microdata
from microveil.microdata.schema import Attribute, Schema
from microveil.numerics.evolution.categorical_measures import (
    BY_EQUALITY,
    CategoricalMeasures,
    Conventions,
    Measures,
    score_of,
)
from microveil.numerics.neighbours.category_distance import OrdinalDistance
from microveil.registry import make
from microveil.scoring.rules.categorical import Categorical, CategoricalRule, CategoricalSource
from microveil.typing import BoolArray, IntArray

ORIGINAL = np.array([[0, 0], [0, 1], [1, 1], [2, 1], [3, 2], [3, 2]])
MASKED = np.array([[0, 0], [1, 1], [1, 1], [2, 0], [3, 2], [2, 2]])
TOY = np.array([4, 3]), np.array([True, False])


def table(codes: IntArray, sizes: IntArray, ordinal: BoolArray) -> Microdata:
    names = [f"v{j}" for j in range(codes.shape[1])]
    schema = [
        Attribute(
            name=name,
            kind="ordinal" if ordinal[j] else "nominal",
            roles=("key",),
            domain=tuple(f"c{code}" for code in range(sizes[j])),
        )
        for j, name in enumerate(names)
    ]
    return Microdata.of(
        {name: [f"c{code}" for code in codes[:, j]] for j, name in enumerate(names)}, Schema(attributes=tuple(schema))
    )


def registered(rule: CategoricalRule, original: Microdata, masked: Microdata) -> Measures:
    """The parts of a score as the registered measures have them."""
    found = rule.assess(original, masked, original.names, known=original.names).parts
    return Measures(*(found[symbol] for symbol in ("ctbil", "dbil", "ebil", "id", "dbrl", "prl")))


@st.composite
def files(draw: st.DrawFn) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 30)), draw(st.integers(1, 4))
    sizes = generator.integers(1, 6, size=d)
    original = generator.integers(0, sizes, size=(n, d))
    changed = generator.random((n, d)) < draw(st.sampled_from([0.0, 0.2, 0.9]))
    masked = np.where(changed, generator.integers(0, sizes, size=(n, d)), original)
    return original, masked, sizes, generator.random(d) < 0.5


@pytest.mark.spec("05:IL-05")
@pytest.mark.spec("05:DR-05")
@settings(max_examples=25)
@given(files())
def test_every_measure_is_that_of_the_score_of_categories(
    found: tuple[IntArray, IntArray, IntArray, BoolArray],
) -> None:
    original, masked, sizes, ordinal = found
    tables = table(original, sizes, ordinal), table(masked, sizes, ordinal)
    usual = CategoricalMeasures(original, sizes, ordinal)
    assert usual.of(masked) == pytest.approx(registered(Categorical(), *tables), abs=1e-9)
    source = Conventions(dimension=1, ordinal_distance="nominal", widths=BY_EQUALITY)
    as_printed = CategoricalMeasures(original, sizes, ordinal, source, extra=1)
    assert as_printed.of(masked) == pytest.approx(registered(CategoricalSource(), *tables), abs=1e-9)


@pytest.mark.parametrize("form", ["inclusive", "half-open", "unit", "nominal"])
def test_the_distance_of_ordered_categories_is_that_of_dbil(form: OrdinalDistance) -> None:
    measures = CategoricalMeasures(ORIGINAL, *TOY, Conventions(ordinal_distance=form), extra=np.array([1, 0]))
    expected = make("loss", "dbil", {"ordinal_distance": form}).measure(
        table(ORIGINAL, np.array([5, 3]), TOY[1]), table(MASKED, np.array([5, 3]), TOY[1])
    )
    assert measures.dbil(MASKED) == pytest.approx(expected.value, abs=1e-12)


def test_a_small_file_has_the_values_computed_by_hand() -> None:
    """Six records, an ordered attribute with four categories and one without order with three."""
    measures = CategoricalMeasures(ORIGINAL, *TOY)
    found = measures.of(MASKED)
    assert found[:5] == pytest.approx((100 / 3, 50 / 3, 27.18217, 75.0, 50.0), abs=1e-4)
    assert found.loss == pytest.approx(25.727, abs=1e-3)
    assert CategoricalMeasures(ORIGINAL, *TOY, Conventions(dimension=1)).ctbil(MASKED) == 25.0
    for widths, expected in (((10.0,), 75.0), ((20.0,), 75.0), ((30.0,), 275 / 3)):
        assert CategoricalMeasures(ORIGINAL, *TOY, Conventions(widths=widths)).interval(MASKED) == pytest.approx(
            expected
        )
    for form, expected in (("inclusive", 50 / 3), ("half-open", 12.5), ("unit", 125 / 9)):
        conventions = Conventions(ordinal_distance=form)  # type: ignore[arg-type]
        assert CategoricalMeasures(ORIGINAL, *TOY, conventions).dbil(MASKED) == pytest.approx(expected)


def test_without_linkage_by_match_weight_that_by_distance_counts_alone() -> None:
    found = CategoricalMeasures(ORIGINAL, *TOY).of(MASKED, probabilistic=False)
    assert found.prl == 0.0
    assert found.risk == (75.0 + 50.0) / 2


@pytest.mark.spec("05:SC-01")
@pytest.mark.spec("05:SC-02")
def test_the_mean_takes_a_lopsided_file_that_the_maximum_leaves() -> None:
    """Marés (2013), section 3.4: loss and risk go from (20, 30) to (5, 40)."""
    assert (score_of(20, 30), score_of(5, 40)) == (25.0, 22.5)
    assert (score_of(20, 30, "max"), score_of(5, 40, "max")) == (30, 40)
    assert score_of(20, 30, share=0.25) == 27.5
