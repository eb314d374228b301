"""Projected microaggregation: the worked example, the reference tables, and every axis and cut."""

from __future__ import annotations

import typing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.projection import Axis, Cut, Projection
from microveil.microdata import Microdata
from microveil.microdata.datasets.reference import COLUMNS
from microveil.microdata.datasets.selections import load_selection
from microveil.numerics.statistics.projections import first_component
from microveil.numerics.statistics.scaling import min_max, standardise

EXAMPLE = Microdata.of({"a1": [1, 2, 3, 6, 7, 8, 9], "a2": [4, 15, 5, 17, 6, 18, 16]})


def table(data: Microdata) -> np.ndarray:
    return np.column_stack([data.numbers(name).values for name in data.names])


def sse_sep(before: np.ndarray, after: np.ndarray) -> float:
    return float(((min_max(before) - min_max(after)) ** 2).sum())


@pytest.mark.spec("03:MA-4")
@pytest.mark.parametrize("scale", ["z", "none", "minmax"])
def test_example_2_3_on_the_first_component_of_min_max_values(scale: str) -> None:
    masked = table(Projection(k=2, component_scale="minmax", scale=scale).mask(EXAMPLE).data)  # type: ignore[arg-type]
    assert masked[:, 0] == pytest.approx([11 / 3, 4, 11 / 3, 4, 11 / 3, 8.5, 8.5])
    assert masked[:, 1] == pytest.approx([5, 16, 5, 16, 5, 17, 17])
    assert ((table(EXAMPLE) - masked) ** 2).sum() == pytest.approx(33.1667, abs=5e-5)
    assert sse_sep(table(EXAMPLE), masked) == pytest.approx(1.0161, abs=5e-5)  # printed 1.02
    scaled = min_max(table(EXAMPLE))
    assert first_component(scaled - scaled.mean(axis=0)).loadings == pytest.approx([0.6202, 0.7844], abs=5e-5)


@pytest.mark.spec("03:MA-5")
@pytest.mark.parametrize("scale", ["z", "none"])
def test_example_2_3_on_the_sum_of_z_scores(scale: str) -> None:
    masked = table(Projection(k=2, axis="z-sum", scale=scale).mask(EXAMPLE).data)  # type: ignore[arg-type]
    assert masked[:, 0] == pytest.approx([2, 4.5, 2, 23 / 3, 4.5, 23 / 3, 23 / 3])
    assert masked[:, 1] == pytest.approx([4.5, 10.5, 4.5, 17, 10.5, 17, 17])
    assert ((table(EXAMPLE) - masked) ** 2).sum() == pytest.approx(62.1667, abs=5e-5)
    assert sse_sep(table(EXAMPLE), masked) == pytest.approx(0.6518, abs=5e-5)  # printed 0.65


def test_other_scales_of_the_component_give_other_groups() -> None:
    raw = Projection(k=2, component_scale="none", scale="none").mask(EXAMPLE).partition
    assert raw is not None
    assert sorted((g + 1).tolist() for g in raw.groups) == [[1, 3, 5], [2, 7], [4, 6]]
    z = Projection(k=2, component_scale="z").mask(EXAMPLE).partition
    assert z == Projection(k=2, axis="z-sum").mask(EXAMPLE).partition


def loss(data: Microdata, **parameters: object) -> float:
    method = Projection(**parameters)  # type: ignore[arg-type]
    return float(SSE().measure(data, method.mask(data)).value)


TABLE_3_10 = {
    ("z-sum", "kw"): (30.13, 30.1315),
    ("z-sum", "kwd"): (30.13, 30.1315),
    ("z-sum", "kwr"): (30.13, 30.1337),
    ("z-sum", "kwdr"): (30.13, 30.1337),
    ("component", "kw"): (25.35, 25.3491),
    ("component", "kwd"): (25.35, 25.3491),
    ("component", "kwr"): (25.35, 25.3494),
    ("component", "kwdr"): (25.35, 25.3494),
}


def test_table_3_10_comes_out(reference) -> None:  # type: ignore[no-untyped-def]
    data = reference("tarragona")
    for (axis, partition), (printed, computed) in TABLE_3_10.items():
        measured = loss(data, k=3, axis=axis, partition=partition)
        assert round(measured, 2) == printed
        assert measured == pytest.approx(computed, abs=5.1e-5)
    assert loss(data, k=3, axis="z-sum", partition="kwr", threshold=0.8) == pytest.approx(30.1337, abs=5.1e-5)
    # printed 25.35; an independent recomputation has 25.3382 too
    assert loss(data, k=3, axis="component", partition="kwr", threshold=0.8) == pytest.approx(25.3382, abs=5.1e-5)


PROJECTED = {
    ("tarragona", "z-sum", "fixed"): (28.9217, 32.1505, 35.2030, 40.9245),
    ("tarragona", "z-sum", "optimal-score"): (28.3428, 31.9954, 32.8699, 38.0656),
    ("tarragona", "component", "fixed"): (23.8886, 30.6309, 33.2875, 39.9075),
    ("tarragona", "component", "optimal-score"): (24.8514, 30.8705, 31.8736, 37.4750),
    ("census", "z-sum", "fixed"): (26.6357, 30.4984, 32.3456, 36.4493),
    ("census", "z-sum", "optimal-score"): (28.0434, 30.2334, 32.6540, 36.9035),
    ("census", "component", "fixed"): (26.7161, 30.0541, 32.4366, 36.2164),
    ("census", "component", "optimal-score"): (28.1092, 31.4494, 33.2952, 36.6805),
}


@pytest.mark.parametrize(("name", "axis", "partition"), PROJECTED)
def test_the_computed_losses_on_one_axis_come_out(reference, name: str, axis: str, partition: str) -> None:  # type: ignore[no-untyped-def]
    data = reference(name)
    for k, known in zip((3, 4, 5, 10), PROJECTED[name, axis, partition], strict=True):
        assert loss(data, k=k, axis=axis, partition=partition) == pytest.approx(known, abs=5.1e-5)
        assert loss(data, k=k, axis=axis) <= known  # the cost of all attributes is never worse in the same order


def test_the_loadings_of_the_first_component_come_out(reference) -> None:  # type: ignore[no-untyped-def]
    component = first_component(standardise(table(reference("tarragona"))))
    assert component.loadings.round(4).tolist() == [
        *(0.2825, 0.2947, 0.2128, 0.3259, 0.2244, 0.2852, 0.3025),
        *(0.2576, 0.2849, 0.3195, -0.1730, 0.3038, 0.2945),
    ]
    assert 100 * component.share == pytest.approx(63.42, abs=5e-3)
    assert 100 * first_component(standardise(table(reference("census")))).share == pytest.approx(58.70, abs=5e-3)


@pytest.mark.spec("01:MA-2", "03:MA-7")
def test_each_axis_puts_the_records_in_its_own_order() -> None:
    data = Microdata.of({"a": [0.0, 1.0, 0.6, 0.7, 0.3, 0.9], "b": [1.0, 0.0, 0.6, 0.58, 0.96, 0.9]})

    def pairs(**parameters: object) -> list[list[int]]:
        partition = Projection(k=2, partition="fixed", **parameters).mask(data).partition  # type: ignore[arg-type]
        assert partition is not None
        return [g.tolist() for g in partition.groups]

    # means .5 .5 .6 .64 .63 .9; Sugeno, max(low, min(high, 1/2)): .5 .5 .6 .58 .5 .9; the larger 1 1 .6 .7 .96 .9
    assert pairs(axis="variable", variable="a") == [[0, 4], [1, 5], [2, 3]]
    assert pairs(axis="variable", variable="b") == [[0, 4], [1, 3], [2, 5]]
    assert pairs(axis="mean") == [[0, 1], [2, 4], [3, 5]]
    assert pairs(axis="sugeno") == [[0, 1], [2, 5], [3, 4]]
    assert pairs(axis="owa", alpha=0.02) == [[0, 1], [2, 3], [4, 5]]
    assert pairs(axis="choquet", alpha=0.02) == pairs(axis="owa", alpha=0.02)
    assert pairs(axis="weighted-mean", importance=(1.0, 0.0)) == pairs(axis="variable", variable="a")
    assert pairs(axis="choquet", measure=(0.0, 1.0, 0.0, 1.0)) == pairs(axis="variable", variable="a")
    assert pairs(axis="sugeno", measure=(0.0, 1.0, 0.0, 1.0)) == pairs(axis="variable", variable="a")
    top = (0.0, 1.0, 1.0)
    assert pairs(axis="twofold", measure=top, choquet_measure=(0.0, 0.0, 1.0, 1.0)) == pairs(
        axis="variable", variable="b"
    )
    assert pairs(axis="twofold", measure=(0.0, 1.0, 0.0, 1.0), choquet_measure=top) == pairs(
        axis="variable", variable="a"
    )


def test_what_does_not_fit_the_attributes_is_refused() -> None:
    with pytest.raises(ParameterError, match="variable = 'b1' is not allowed"):
        Projection(k=2, axis="variable", variable="b1").mask(EXAMPLE)
    with pytest.raises(ParameterError, match="2 weights"):
        Projection(k=2, axis="weighted-mean", importance=(1.0,)).mask(EXAMPLE)
    with pytest.raises(ParameterError, match="a fuzzy measure of 2 attributes"):
        Projection(k=2, axis="sugeno", measure=(0.0, 1.0)).mask(EXAMPLE)
    with pytest.raises(ParameterError, match="alpha"):
        Projection(alpha=0.0)


@pytest.mark.parametrize("partition", typing.get_args(Cut))
@settings(max_examples=10, deadline=None)
@given(
    n=st.integers(2, 25),
    d=st.integers(1, 30),
    k=st.integers(2, 7),
    distinct=st.sampled_from([1, 2, 1000]),
    axis=st.sampled_from(typing.get_args(Axis)),
    seed=st.integers(0, 9999),
)
def test_every_group_has_k_to_2k_minus_1_records(
    partition: str, n: int, d: int, k: int, distinct: int, axis: str, seed: int
) -> None:
    cells = np.random.default_rng(seed).integers(0, distinct, (max(n, k), d))
    data = Microdata.of({f"x{j}": cells[:, j] for j in range(d)})
    made = Projection(k=k, axis=axis, partition=partition).mask(data).partition  # type: ignore[arg-type]
    assert made is not None
    assert made.smallest >= k
    assert made.sizes.max() <= 2 * k - 1


WATER = {  # blocks: k: the source's sum of squares, and its real anonymity for one, two and three blocks
    "correlated": {5: (23.78, 5.43, 1.03, 1.00), 10: (49.05, 10.00, 1.16, 1.01), 20: (93.10, 20.00, 1.62, 1.03)},
    "spread": {10: (115.77, 10.00, 1.35, 1.05), 20: (197.20, 20.00, 2.59, 1.26)},
}


def real_anonymity(masked: np.ndarray) -> float:
    return len(masked) / len(np.unique(masked.round(9), axis=0))


@pytest.mark.parametrize("blocks", WATER)
def test_table_3_5_comes_out_in_fixed_sizes_on_the_sum_of_z_scores(reference, blocks: str) -> None:  # type: ignore[no-untyped-def]
    reference("water_treatment")  # skips without the reference data
    nine = load_selection("water-nine")
    order = np.arange(9) if blocks == "correlated" else np.arange(9).reshape(3, 3).T.ravel()
    data = nine.select([nine.names[j] for j in order])
    for k, (printed, *anonymity) in WATER[blocks].items():
        masked = table(Projection(k=k, axis="z-sum", partition="fixed", block=3).mask(data).data)
        assert round(sse_sep(table(data), masked), 2) == printed
        for known_blocks, expected in zip((1, 2, 3), anonymity, strict=True):
            assert round(real_anonymity(masked[:, : 3 * known_blocks]), 2) == expected


def test_table_3_6_comes_out_within_a_thousandth(reference) -> None:  # type: ignore[no-untyped-def]
    data = reference("eia", COLUMNS["eia-nine"])
    known = {25: (140.70, 140.75), 50: (184.19, 184.22), 75: (287.95, 287.98), 100: (378.51, 378.71)}
    for k, (printed, computed) in known.items():
        method = Projection(k=k, axis="z-sum", partition="fixed", remainder="middle", block=3)
        measured = sse_sep(table(data), table(method.mask(data).data))
        assert measured == pytest.approx(printed, rel=1e-3)
        assert round(measured, 2) == computed
