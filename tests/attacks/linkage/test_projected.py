"""Projected linkage: one score for each block, every way of making it, and the best of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.projected import ProjectedLinkage
from microveil.attacks.linkage.scenarios import first_blocks
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError, UnknownNameError
from microveil.masking.base import Method
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.optimal_univariate import OptimalUnivariate
from microveil.masking.microaggregation.projection import Projection
from microveil.masking.preparation.attribute_blocks import consecutive_blocks
from microveil.masking.randomising.noise import Noise
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Microdata
from microveil.microdata.datasets.reference import COLUMNS
from microveil.numerics.statistics.projection_axis import Axis
from reproduction.measuring import linked

Reference = Callable[..., Microdata]
Z = ProjectedLinkage(projections=("z-sum",), parameters_from=("masked",))
COMPONENT = ProjectedLinkage(projections=("component",), parameters_from=("own",))
RAW = ProjectedLinkage(projections=("component-raw",), parameters_from=("masked",))


def table(cells: np.ndarray) -> Microdata:
    return Microdata.of({f"a{j + 1}": cells[:, j] for j in range(cells.shape[1])})


def normal(records: int, attributes: int) -> Microdata:
    return table(np.random.default_rng(5).normal(size=(records, attributes)))


def of_blocks(
    attack: ProjectedLinkage | DistanceLinkage, data: Microdata, method: Method, counter: str = "expected"
) -> float:
    """The right links with two to all blocks known; attributes that do not fill a block are left out."""
    blocks = consecutive_blocks(data.names, method.parameters()["block"], "drop")
    release = method.mask(data, [name for block in blocks for name in block])
    return linked(attack, data, release, first_blocks(blocks), counter)


# --- tables 4.10 and 4.11 -----------------------------------------------------------------------------------------


@pytest.mark.spec("04:PRORL-Z", "04:PROJLD")
@pytest.mark.parametrize(
    ("name", "v", "k", "printed", "first", "optimistic"),
    [
        ("census-alphabetical", 2, 5, 99.59, 99.3, 99.5),
        ("census-alphabetical", 3, 15, 67.41, 70.8, 74.0),
        ("census-alphabetical", 4, 25, 21.85, 24.5, 32.5),
        ("eia", 4, 25, 73.17, 65.2, 90.7),
    ],
)
def test_the_sum_of_z_scores_gives_the_known_disclosure(
    reference: Reference, name: str, v: int, k: int, printed: float, first: float, optimistic: float
) -> None:
    """Within 8 points of print, and an independent recomputation to its last digit."""
    data = reference(name.split("-")[0]).select(COLUMNS[name])
    found = {way: of_blocks(Z, data, Projection(k=k, block=v, axis="z-sum"), way) for way in ("first", "optimistic")}
    assert found == pytest.approx({"first": first, "optimistic": optimistic}, abs=0.06)
    assert found["first"] == pytest.approx(printed, abs=8.0)


@pytest.mark.spec("04:PRORL-PCP", "04:PRORL-GEN")
@pytest.mark.parametrize(("v", "k", "first"), [(2, 5, 79.8), (2, 25, 55.2), (3, 15, 48.6), (4, 25, 25.5)])
def test_the_component_of_raw_values_gives_the_known_disclosure_of_mdav(
    reference: Reference, v: int, k: int, first: float
) -> None:
    """Printed are 80.59, 61.28, 60.03 and 34.63."""
    census = reference("census").select(COLUMNS["census-alphabetical"])
    assert of_blocks(RAW, census, MDAV(k=k, block=v, scale="none"), "first") == pytest.approx(first, abs=0.06)


@pytest.mark.spec("04:PRORL-PCP")
@pytest.mark.parametrize(("v", "k", "first"), [(2, 5, 63.2), (3, 25, 15.4), (4, 15, 9.4)])
def test_components_of_each_file_give_the_known_disclosure_of_components(
    reference: Reference, v: int, k: int, first: float
) -> None:
    """Printed are 49.83, 20.90 and 14.77."""
    census = reference("census").select(COLUMNS["census-alphabetical"])
    assert of_blocks(COMPONENT, census, Projection(k=k, block=v), "first") == pytest.approx(first, abs=0.06)


@pytest.mark.spec("04:PROJLD", "04:PRORL-Z", "04:PRORL-PCP")
@pytest.mark.parametrize(("axis", "printed", "known"), [("z-sum", 21.85, 66.4), ("component", 12.87, 63.0)])
def test_an_intruder_who_uses_the_originals_gains_far_more_than_was_printed(
    reference: Reference, axis: str, printed: float, known: float
) -> None:
    census = reference("census").select(COLUMNS["census-alphabetical"])
    method = Projection(k=25, block=4, axis=axis)  # type: ignore[arg-type]
    from_originals = ProjectedLinkage(projections=(axis,), parameters_from=("original",))  # type: ignore[arg-type]
    value = of_blocks(from_originals, census, method)
    assert value == pytest.approx(known, abs=0.06)
    assert of_blocks(ProjectedLinkage(), census, method) >= value > 2 * printed


@pytest.mark.spec("04:PRORL-Z")
def test_scores_beat_distances_on_projected_blocks(reference: Reference) -> None:
    """Table 4.10, Zscores, v = 4, k = 25: DLD 5.69 (known 5.5) and ProjLD 21.85."""
    census = reference("census").select(COLUMNS["census-alphabetical"])
    method = Projection(k=25, block=4, axis="z-sum")
    assert of_blocks(DistanceLinkage(), census, method, "first") == pytest.approx(5.5, abs=0.06)
    assert of_blocks(Z, census, method, "first") > 4 * 5.5


# --- what it does -------------------------------------------------------------------------------------------------


@pytest.mark.spec("04:PROJLD")
def test_the_risk_is_that_of_the_best_way() -> None:
    data = table(np.random.default_rng(2).normal(size=(200, 4)) @ np.array([[1, 0.8, 0, 0], [0, 1, 0, 0.5], [0, 0, 1, 0.5], [0, 0, 0, 1.0]]))  # fmt: skip  # noqa: E501
    risk = ProjectedLinkage().assess(data, Projection(k=4, block=2, axis="z-sum").mask(data))
    ways = [share for name, share in risk.counters.items() if ", " in name]
    assert len(ways) == 9
    assert risk.value == pytest.approx(max(ways))
    assert min(ways) < max(ways)
    best = max((name for name in risk.counters if ", " in name), key=lambda name: risk.counters[name])
    assert best in risk.scenario


@pytest.mark.spec("04:PRORL-GEN")
def test_blocks_of_one_attribute_are_distance_linkage() -> None:
    data = normal(150, 3)
    release = Noise(alpha=0.3).mask(data, seed=1)
    way = ProjectedLinkage(projections=("z-sum",), parameters_from=("own",), block=1)
    assert way.assess(data, release).per_record.tolist() == DistanceLinkage().assess(data, release).per_record.tolist()


@pytest.mark.spec("04:PRORL-GEN")
@pytest.mark.parametrize("method", [Noise(alpha=0.05), RankSwapping(p=2), MDAV(k=3)])
def test_it_runs_on_any_release_with_one_block_or_several(method: Method) -> None:
    data = normal(120, 4)
    release = method.mask(data, seed=1)
    one = ProjectedLinkage(blocks=(("a1", "a2", "a3", "a4"),)).assess(data, release)
    two = ProjectedLinkage(blocks=(("a1", "a2"), ("a3", "a4"))).assess(data, release)
    assert 0 < one.value < two.value
    assert ProjectedLinkage(block=2).assess(data, release).per_record.tolist() == two.per_record.tolist()


@pytest.mark.spec("04:PRORL-GEN")
def test_any_projection_can_be_given_by_its_loadings() -> None:
    data = normal(120, 4)
    release = Projection(k=4, block=2, axis="z-sum").mask(data)
    summed = ProjectedLinkage(projections=("z-sum",))
    given = ProjectedLinkage(projections=("loadings",), loadings=(1.0, 1.0, 1.0, 1.0))
    assert given.assess(data, release).per_record.tolist() == summed.assess(data, release).per_record.tolist()
    other = ProjectedLinkage(projections=("loadings",), loadings=(1.0, -1.0, 1.0, -1.0))
    assert other.assess(data, release).value < summed.assess(data, release).value


def test_the_blocks_come_from_the_release_and_the_known_attributes() -> None:
    data = normal(120, 4)
    release = Projection(k=4, block=2, axis="z-sum").mask(data)
    named = ProjectedLinkage(blocks=(("a1", "a2"), ("a3", "a4")))
    assert ProjectedLinkage().assess(data, release).per_record.tolist() == (
        named.assess(data, release).per_record.tolist()
    )
    known = ["a1", "a2", "a3"]  # of the second block only a part
    part = ProjectedLinkage(blocks=(("a1", "a2"), ("a3",))).assess(data, release, known)
    assert ProjectedLinkage().assess(data, release, known).per_record.tolist() == part.per_record.tolist()


def test_the_sign_of_a_component_never_turns_a_file_round() -> None:
    rows = np.random.default_rng(3).normal(size=(50, 2)) * [1.0, 3.0]
    axis = Axis.of(rows, False)
    turned = axis.along(-axis.loadings).like(axis)
    assert turned.scores(rows) == pytest.approx(axis.scores(rows))


def test_the_order_of_the_records_does_not_matter() -> None:
    data = normal(120, 4)
    masked = MDAV(k=4, block=2).mask(data).data
    order = np.random.default_rng(8).permutation(120)
    attack = ProjectedLinkage(block=2)
    one, other = attack.assess(data, masked), attack.assess(data.take(order), masked.take(order))
    assert other.per_record == pytest.approx(one.per_record[order])


def test_a_block_with_a_missing_cell_is_left_out_of_the_distance() -> None:
    cells = np.random.default_rng(3).normal(size=(40, 4))
    columns = {f"a{j + 1}": [float(v) for v in cells[:, j]] for j in range(4)}
    columns["a1"][0] = None  # type: ignore[call-overload]
    data = Microdata.of(columns)
    risk = ProjectedLinkage(block=2).assess(data, data)
    assert risk.value == pytest.approx(100)
    only = Microdata.of({"a": [None, 1.0, 2.0], "b": [1.0, 2.0, 4.0]})
    assert ProjectedLinkage().assess(only, only).per_record.tolist() == [0, 1, 1]


def test_rescaled_scores_weigh_blocks_alike() -> None:
    data = table(np.random.default_rng(3).normal(size=(200, 4)) * [1.0, 1.0, 1000.0, 1000.0])
    release = MDAV(k=4, block=2).mask(data)
    raw, alike = (
        ProjectedLinkage(projections=("component-raw",), parameters_from=("masked",), rescale=rescale)
        for rescale in (False, True)
    )
    assert alike.assess(data, release).value > raw.assess(data, release).value


def test_rescaled_values_are_those_over_the_deviation_of_the_released_ones() -> None:
    rng = np.random.default_rng(4)
    before = rng.normal(size=(60, 2)) * [1.0, 500.0]
    after = before + rng.normal(size=(60, 2)) * [0.5, 250.0]
    attack = ProjectedLinkage(projections=("component-raw",), parameters_from=("masked",), block=1, rescale=True)
    apart = (((before[:, None] - after[None]) / after.std(axis=0)) ** 2).sum(axis=2)
    right = apart.argmin(axis=1) == np.arange(60)
    assert attack.assess(table(before), table(after)).per_record.tolist() == right.tolist()
    assert 0.1 < right.mean() < 0.9


@pytest.mark.parametrize("source", ["original", "masked"])
def test_a_block_that_was_released_as_a_constant_does_not_hide_the_others(source: str) -> None:
    cells = np.random.default_rng(5).normal(size=(30, 2))
    release = np.column_stack([cells[:, 0], np.full(30, 2.0)])
    attack = ProjectedLinkage(projections=("component-raw",), parameters_from=(source,), block=1, rescale=True)  # type: ignore[arg-type]
    assert attack.assess(table(cells), table(release), ["a1", "a2"]).value == 100.0


def test_it_suits_releases_whose_attributes_were_masked_together() -> None:
    data = normal(60, 2)
    assert ProjectedLinkage.suited(Pair.of(data, MDAV(k=3).mask(data))) == (ProjectedLinkage(),)
    for release in (OptimalUnivariate(k=3).mask(data), Noise(alpha=0.1).mask(data, seed=1), data):
        assert ProjectedLinkage.suited(Pair.of(data, release)) == ()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"projections": ("loadings",)}, "given together or not at all"),
        ({"loadings": (1.0,)}, "given together or not at all"),
        ({"block": 2, "blocks": (("a1",),)}, "not allowed with blocks"),
        ({"projections": ("loadings",), "loadings": (1.0,)}, "a number for each of the 2 known attributes"),
        ({"blocks": (("a1", "a1"),)}, "an attribute twice"),
        ({"projections": ()}, "projections"),
    ],
)
def test_parameters_without_sense_are_refused(parameters: dict[str, object], message: str) -> None:
    data = normal(10, 2)
    with pytest.raises(ParameterError, match=message):
        ProjectedLinkage(**parameters).assess(data, data)  # type: ignore[arg-type]


def test_a_block_of_unknown_attributes_is_refused() -> None:
    data = normal(10, 2)
    with pytest.raises(UnknownNameError, match="'zz'"):
        ProjectedLinkage(blocks=(("zz",),)).assess(data, data)
