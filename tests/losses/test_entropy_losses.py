"""Losses by entropy, and the mean of the three categorical losses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.losses import LossMeasure
from microveil.losses.categorical.aggregate import ILCategorical
from microveil.losses.categorical.distance import DBIL
from microveil.losses.categorical.entropy import EBIL, RecordEntropy
from microveil.losses.categorical.tables import CTBIL
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata

# pi = (.75, .25), P = [[.8, .2], [.3, .7]]
TRANSITIONS = [[0.8, 0.2], [0.3, 0.7]]
POSTERIOR = {"1": 0.888889, "2": 0.461538}
ENTROPY = {"1": 0.503258, "2": 0.995727}


def of(text: str) -> Microdata:
    data = Microdata.of({"v": list(text)})
    return data.with_schema(data.schema.replacing(data["v"].changed(domain=("1", "2"))))


def toy() -> tuple[Microdata, Microdata]:
    """Computed independently."""
    before = Microdata.of({"v": [0, 0, 1, 2, 3, 3], "w": [0, 1, 1, 1, 2, 2]}, ordinal=["v"], nominal=["w"])
    schema = before.schema.replacing(before["v"].changed(domain=(0, 1, 2, 3)), before["w"].changed(domain=(0, 1, 2)))
    return before.with_schema(schema), Microdata.of({"v": [0, 1, 1, 2, 3, 2], "w": [0, 1, 1, 0, 2, 2]}, schema)


BOTH = ["v", "w"]


@pytest.mark.spec("05:IL-04")
def test_ebil_of_the_example() -> None:
    loss = EBIL().measure(*toy(), BOTH)
    assert loss.details["bits"] == pytest.approx(6.0)
    assert loss.per_attribute == pytest.approx({"v": 33.3333, "w": 21.0310}, abs=5e-5)
    assert loss.value == pytest.approx(27.182, abs=5e-4)


@pytest.mark.spec("01:IL-6", "05:IL-04")
@pytest.mark.parametrize("published", ["1", "2"])
def test_the_entropy_of_the_true_category_given_a_published_one(published: str) -> None:
    before, after = of("1112"), of(4 * published)
    loss = EBIL(mode="matrix", given={"v": TRANSITIONS}).measure(before, after, ["v"])
    assert loss.details["bits"] / 4 == pytest.approx(ENTROPY[published], abs=5e-7)
    assert loss.value == pytest.approx(100 * ENTROPY[published], abs=5e-5)  # log2 of two categories is 1


@pytest.mark.spec("01:IL-6")
def test_the_surprise_at_a_record_in_both_directions() -> None:
    before, after = of("1112"), of("1121")
    by = {"mode": "matrix", "given": {"v": TRANSITIONS}}
    posterior = RecordEntropy(**by).measure(before, after, ["v"])  # type: ignore[arg-type]
    chances = [POSTERIOR["1"], POSTERIOR["1"], POSTERIOR["2"], 1 - POSTERIOR["1"]]
    assert posterior.details["bits"] == pytest.approx(-sum(map(math.log2, chances)), abs=1e-4)
    forward = RecordEntropy(direction="forward", **by).measure(before, after, ["v"])  # type: ignore[arg-type]
    assert forward.details["bits"] == pytest.approx(-math.log2(0.8 * 0.8 * 0.2 * 0.3))


@pytest.mark.spec("01:IL-6")
def test_what_cannot_happen_is_infinite_and_counted() -> None:
    loss = RecordEntropy(mode="matrix", given={"v": [[1.0, 0.0], [0.5, 0.5]]}).measure(of("1122"), of("1212"), ["v"])
    assert loss.details["infinite"] == 1  # a published 2 was never a 1
    assert math.isinf(loss.raw)
    assert loss.value == 100


@pytest.mark.spec("05:IL-04")
def test_the_matrices_of_the_release_are_used() -> None:
    before = of("1" * 60 + "2" * 40)
    release = PRAM(given={"v": TRANSITIONS}).mask(before, seed=4)
    expected = EBIL(mode="matrix", given={"v": TRANSITIONS}).measure(before, release)
    assert EBIL(mode="matrix").measure(before, release).value == expected.value
    assert EBIL().measure(before, release).value != expected.value


@pytest.mark.spec("05:IL-04")
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60))
def test_ebil_is_the_conditional_entropy(cells: list[tuple[int, int]]) -> None:
    before, after = (np.array(column) for column in zip(*cells, strict=True))
    joint = np.zeros((4, 4))
    np.add.at(joint, (before, after), 1 / len(cells))

    def entropy(shares: np.ndarray) -> float:
        return float(-(shares[shares > 0] * np.log2(shares[shares > 0])).sum())

    data = Microdata.of({"v": before}, nominal=["v"])
    schema = data.schema.replacing(data["v"].changed(domain=(0, 1, 2, 3)))
    pair = data.with_schema(schema), Microdata.of({"v": after}, schema)
    wanted = entropy(joint) - entropy(joint.sum(axis=0))
    for measure in (EBIL(), RecordEntropy()):
        assert measure.measure(*pair, ["v"]).details["bits"] / len(cells) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.spec("05:IL-04")
def test_a_relabelling_loses_nothing_by_entropy_and_everything_by_distance() -> None:
    before, after = of("1122"), of("2211")
    assert EBIL().measure(before, after, ["v"]).value == 0
    assert DBIL().measure(before, after, ["v"]).value == 100


@pytest.mark.spec("05:IL-05", "06:PC-08")
def test_the_aggregate_of_the_example() -> None:
    loss = ILCategorical().measure(*toy(), BOTH)
    assert loss.value == pytest.approx(25.727, abs=5e-4)
    assert loss.details == pytest.approx({"ctbil": 33.3333, "dbil": 16.6667, "ebil": 27.1822}, abs=5e-5)
    # the preset counts one category more in each domain, over which the entropies of 4 and 2 bits are divided
    preset = ILCategorical(preset="source-ch4-2").measure(*toy(), BOTH)
    by_entropy = 100 * (4 / (6 * math.log2(5)) + 2 / (6 * math.log2(4))) / 2
    assert preset.value == pytest.approx((25.0 + 25.0 + by_entropy) / 3)
    assert ILCategorical(preset="source-ch4-2").parameters()["dimension"] == 1


@pytest.mark.spec("05:IL-05")
def test_a_domain_that_declares_its_category_for_missing_is_not_given_another() -> None:
    before, after = toy()
    own = {"missing": "own category", "missing_codes": (".",)}
    declared = before.schema.replacing(*(before[name].changed(**own) for name in BOTH))
    preset = ILCategorical(preset="source-ch4-2")
    with_one = preset.measure(before.with_schema(declared), after.with_schema(declared), BOTH)
    assert with_one.details == pytest.approx(dict(preset.measure(before, after, BOTH).details))


@pytest.mark.parametrize(
    ("name", "value"), [("dimension", 2), ("ordinal_distance", "inclusive"), ("add_missing_category", False)]
)
def test_the_preset_refuses_what_contradicts_it(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"{name} = {value!r} is not allowed with the preset source-ch4-2"):
        ILCategorical(preset="source-ch4-2", **{name: value})  # type: ignore[arg-type]
    preset = ILCategorical(preset="source-ch4-2")
    assert ILCategorical(**preset.parameters()) == preset  # what it says of itself makes it again
    assert getattr(ILCategorical(), name) == value


@pytest.mark.spec("01:IL-4", "05:IL-01")
def test_one_more_category_for_missing_widens_the_domain_once() -> None:
    pair = toy()
    assert DBIL(ordinal_distance="half-open").measure(*pair, ["v"]).details["distance"] == pytest.approx(2 / 4)
    wider = DBIL(ordinal_distance="half-open", add_missing_category=True).measure(*pair, ["v"])
    assert wider.details["distance"] == pytest.approx(2 / 5)
    bits = EBIL().measure(*pair, ["v"]).value * math.log2(4)
    assert EBIL(add_missing_category=True).measure(*pair, ["v"]).value == pytest.approx(bits / math.log2(5))
    assert CTBIL(dimension=1, add_missing_category=True).measure(*pair, ["v"]).details["actbil"] == pytest.approx(4 / 5)
    gaps = Microdata.of({"v": ["a", None, "b"]})
    assert gaps["v"].missing == "own category"
    same = [
        EBIL(add_missing_category=extra).measure(gaps, Microdata.of({"v": ["a", "a", "a"]})) for extra in (0 > 1, 1 > 0)
    ]
    assert same[0].value == same[1].value  # it has a category for missing already


@pytest.mark.spec("01:IL-5")
def test_differing_cells_can_be_counted_instead_of_differences() -> None:
    # v: counts 2 1 1 2 before and 1 2 2 1 after; w: 1 3 2 and 2 2 2
    loss = CTBIL(dimension=1, mode="cells").measure(*toy(), BOTH)
    assert loss.details["differing"] == 6
    assert loss.value == pytest.approx(100 * 6 / 7)
    assert loss.per_attribute == pytest.approx({"v": 100.0, "w": 200 / 3})


@pytest.mark.spec("01:IL-4")
def test_the_distance_over_the_cardinality_and_over_one_less() -> None:
    """Rank difference over K, as in Fayyoumi (2008), section 2.4.2, or with K - 1 so that the extremes are 1 apart."""
    before = Microdata.of({"v": [0, 0, 1]}, ordinal=["v"])
    schema = before.schema.replacing(before["v"].changed(domain=(0, 1, 2, 3)))
    pair = before.with_schema(schema), Microdata.of({"v": [3, 1, 1]}, schema)
    assert DBIL(ordinal_distance="half-open").measure(*pair, ["v"]).value == pytest.approx(100 * (3 / 4 + 1 / 4) / 3)
    assert DBIL(ordinal_distance="unit").measure(*pair, ["v"]).value == pytest.approx(100 * (1 + 1 / 3) / 3)


def test_missing_cells_are_a_state_of_their_own() -> None:
    before, after = Microdata.of({"v": ["a", "b", None, None]}), Microdata.of({"v": ["a", "b", None, "a"]})
    assert EBIL().measure(before, before).value == 0
    assert EBIL().measure(before, after).details["bits"] == pytest.approx(2.0)  # a released "a" is one of two


def test_many_categories_fit_in_memory() -> None:
    rng = np.random.default_rng(1)
    found = Microdata.of({"v": rng.integers(0, 50_000, 20_000)}, nominal=["v"])
    schema = found.schema.replacing(found["v"].changed(domain=tuple(range(50_000))))
    before, after = found.with_schema(schema), Microdata.of({"v": rng.integers(0, 50_000, 20_000)}, schema)
    assert 0 < EBIL().measure(before, after).value < 10  # almost every released category is seen once


def test_a_domain_of_one_category_has_no_bits_to_lose() -> None:
    before, after = (Microdata.of({"v": ["a"] * 4, "w": list(cells)}) for cells in ("aabb", "aaaa"))
    found = EBIL().measure(before, after, ["v", "w"])
    assert found.per_attribute == {"v": 0.0, "w": 100.0}
    assert found.value == 50


def test_a_matrix_for_an_unknown_attribute_or_of_a_wrong_size_is_refused() -> None:
    with pytest.raises(ParameterError, match="a matrix is given for 'x', which is not known"):
        EBIL(mode="matrix", given={"x": TRANSITIONS}).measure(of("12"), of("12"), ["v"])
    with pytest.raises(ParameterError, match=r"row 1 sums to 0\.9"):
        EBIL(mode="matrix", given={"v": [[0.8, 0.1], [0.3, 0.7]]})
    with pytest.raises(DataError, match="'v' is numeric, but ebil works on"):
        EBIL().measure(Microdata.of({"v": [1.5, 2.5]}), Microdata.of({"v": [1.5, 2.5]}), ["v"])


@pytest.mark.parametrize("measure", [EBIL(), RecordEntropy(), ILCategorical(), DBIL()], ids=lambda m: m.name)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1000))
def test_more_exchanges_lose_more(measure: LossMeasure, seed: int) -> None:
    """Categories kept with falling probability, down to drawing nearly alike among all of them."""
    rng = np.random.default_rng(seed)
    data = Microdata.of({"v": rng.choice(list("aaabbc"), 800), "w": rng.choice(list("xyyz"), 800)})
    releases = [PRAM(p=p, matrix="proportional").mask(data, seed=seed) for p in (1.0, 0.9, 0.7, 0.4)]
    values = [measure.measure(data, release).value for release in releases]
    assert values[0] == 0
    assert values == sorted(values)
    assert values[-1] > values[1] > 0
