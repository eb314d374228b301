"""Losses of graphs: the worked example, what bounds them, and how they read places, labels and missing cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.graphs.cells import cells_of
from microveil.graphs.losses import AAMIL, CDIL, ProfileDBIL, SemanticIL, StructureLoss
from microveil.graphs.losses.profile_distance import profile_distances
from microveil.masking import Recode
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.edges import Edges
from microveil.numerics.graphs.mixing import degree_weighted_cdil
from microveil.registry import find, make, method, names
from microveil.scoring import assess

from .example import released_users, rewired, social, structural, users

OF_GRAPHS = tuple(name for name in names("loss") if find("loss", name).of_graph)
EITHER_WORD = pytest.mark.parametrize("place", ["United States", "anywhere in United States"])


@pytest.mark.spec("06:SG-14")
@EITHER_WORD
def test_aamil_of_the_example_in_both_forms(place: str) -> None:
    formal, printed = (AAMIL(form=form).measure(users(), released_users(place)) for form in ("masked", "printed"))
    assert formal.per_attribute == pytest.approx({"location": 100, "t1": 50, "t2": 100, "t3": 100})
    assert printed.per_attribute == pytest.approx({"location": 50, "t1": 25, "t2": 75, "t3": 100})
    assert (formal.value, printed.value) == pytest.approx((87.5, 62.5))


@pytest.mark.spec("06:SG-15")
@EITHER_WORD
def test_cdil_of_the_example(place: str) -> None:
    loss = CDIL().measure(users(), released_users(place))
    assert loss.value == pytest.approx(100 * 0.6667, abs=0.01)
    assert loss.per_attribute == pytest.approx({"location": 200 / 3, "t1": 100 / 3, "t2": 200 / 3, "t3": 100})


@pytest.mark.spec("06:SG-16")
@EITHER_WORD
def test_dbil_of_the_example_for_each_user_and_for_all(place: str) -> None:
    pair = Pair.of(users(), released_users(place)).reading_labels()
    of_users = profile_distances(pair, pair.attributes).mean(axis=0)
    assert of_users.tolist() == pytest.approx([0.892857, 0.5, 0.392857], abs=1e-6)
    assert ProfileDBIL().measure(users(), released_users(place)).value == pytest.approx(59.5238, abs=1e-4)


@pytest.mark.spec("06:SG-17")
def test_the_average_loss_of_the_example() -> None:
    formal, printed = (SemanticIL(form=form).measure(users(), released_users()) for form in ("masked", "printed"))
    assert formal.value == pytest.approx(71.2302, abs=1e-4)
    assert printed.value == pytest.approx(62.8968, abs=1e-4)
    assert formal.details == pytest.approx({"aamil": 87.5, "cdil": 66.6667, "profile-dbil": 59.5238}, abs=1e-4)
    assert np.mean(list(formal.per_attribute.values())) == pytest.approx(formal.value)


@pytest.mark.spec("06:SG-14")
@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from(["masked", "printed"]), st.floats(0, 1))
def test_no_aamil_is_below_the_distance_of_degree_weighted_histograms(seed: int, form: str, share: float) -> None:
    data = social(seed, 40)
    release = rewired(method("pram", p=0.6).mask(data, ["job", "town"], seed=seed + 2**90).data, share)
    pair = Pair.of(data, release, ["job", "town"]).reading_labels()
    found = make("loss", "aamil", {"form": form}).measure_pair(pair)
    assert data.edges is not None
    assert release.edges is not None
    for name in pair.attributes:
        cells = cells_of(pair, name)
        bound = degree_weighted_cdil(data.edges.graph, cells.before, cells.after, release.edges.graph)
        assert found.per_attribute[name] / 100 >= bound - 1e-12


@pytest.mark.parametrize("name", [name for name in OF_GRAPHS if name != "structure"])
def test_an_empty_cell_is_a_category_like_any_other(name: str) -> None:
    before, after = users(t1=[None, None, "Sports"]), users(t1=[None, "Sports", "Sports"])
    loss = make("loss", name)
    assert loss.measure(before, before, ["t1"]).value == 0
    filled = users(t1=["None", "None", "Sports"]), users(t1=["None", "Sports", "Sports"])
    assert loss.measure(before, after, ["t1"]).value == pytest.approx(loss.measure(*filled, ["t1"]).value)
    assert loss.measure(before, after, ["t1"]).value > 0


def test_a_place_that_is_in_no_tree_is_far_from_all_others() -> None:
    before, after = (
        users(location=["Atlantis", "Brooklyn", "Brooklyn"]),
        users(location=["Atlantis", "Mu", "Manhattan"]),
    )
    pair = Pair.of(before, after, ["location"]).reading_labels()
    assert profile_distances(pair, ["location"]).tolist() == [[0, 1, 1]]


def test_distances_of_numbers_orders_and_labels() -> None:
    """Numbers over their range, ordered categories as `dbil` has them, labels by what they leave open."""
    schema = Schema([
        Attribute(name="age", kind="numeric"),
        Attribute(name="size", kind="ordinal", domain=("s", "m", "l", "xl")),
        Attribute(name="job", kind="nominal"),
    ])  # fmt: skip
    links = Edges.of([0, 1], [1, 2], 3)
    before = Microdata.of({"age": [20, 30, None], "size": ["s", "m", "l"], "job": ["a", "b", "c"]}, schema, graph=links)
    after = Microdata.of({"age": [25, 99, None], "size": ["m", "m", None], "job": ["{a, b}", "b", "a"]}, graph=links)
    pair = Pair.of(before, after, ["age", "size", "job"]).reading_labels()
    assert profile_distances(pair, pair.attributes).tolist() == [[0.5, 1, 0], [0.5, 0, 1], [0.5, 0, 1]]
    assert profile_distances(pair, ["size"], "unit").tolist() == [[pytest.approx(1 / 3), 0, 1]]


def test_places_that_were_recoded_cost_their_levels() -> None:
    data = social(1)
    release = Recode(by="hierarchy", level=5, publish="label").mask(data, ["town"])
    loss = ProfileDBIL().measure(data, release)
    level = {"Brooklyn": 5, "Manhattan": 5, "Central Park": 5, "Washington DC": 4}
    expected = np.mean([level[town] / 7 for town in data.arrow("town").to_pylist()])
    assert loss.value == pytest.approx(100 * expected)


@pytest.mark.spec("05:SN-02", "06:SG-24")
def test_structure_is_measured_in_six_parts_from_0_to_100_and_their_mean() -> None:
    data = social(2)
    parts = ("degrees", "clustering", "path length", "communities", "spectrum", "edges")
    slight, strong = (StructureLoss().measure(data, rewired(data, share)) for share in (0.05, 0.8))
    assert StructureLoss().measure(data, data).details == dict.fromkeys(slight.details, 0.0)
    for loss in (slight, strong):
        assert all(0 <= loss.details[part] <= 100 for part in loss.details)
        assert loss.value == pytest.approx(np.mean([loss.details[part] for part in parts]))
        assert loss.attributes == ()
    assert 0 < slight.value < strong.value
    assert strong.details["removed edges"] == pytest.approx(strong.details["added edges"])


def test_a_path_that_becomes_a_star_loses_what_counting_says() -> None:
    before, after = (
        Microdata.of({"id": [1, 2, 3, 4]}, graph={"source": source, "target": [2, 3, 4]})
        for source in ([1, 2, 3], [1, 1, 1])
    )
    loss = StructureLoss().measure(before, after)
    golden = (1 + 5**0.5) / 2
    values = np.array([golden, golden - 1, 1 - golden, -golden]), np.array([3**0.5, 0, 0, -(3**0.5)])
    spectrum = np.abs(values[0] - values[1]).sum() / (np.abs(values[0]).sum() + np.abs(values[1]).sum())
    expected = {"degrees": 50, "clustering": 0, "path length": 10, "edges": 80, "spectrum": 100 * spectrum}
    assert {name: loss.details[name] for name in expected} == pytest.approx(expected)


def test_graphs_without_links_or_with_none_left_have_a_loss() -> None:
    data = social(3, 30)
    nobody = np.zeros(0, dtype=np.int64)
    lonely = replace(data, edges=Edges.of(nobody, nobody, 30))
    for name in OF_GRAPHS:
        for before, after in ((data, lonely), (lonely, data), (lonely, lonely)):
            loss = make("loss", name).measure(before, after)
            assert 0 <= loss.value <= 100
    assert StructureLoss().measure(lonely, lonely).value == 0


@pytest.mark.parametrize("name", OF_GRAPHS)
def test_a_table_without_links_is_refused(name: str) -> None:
    data = social(1, 20)
    with pytest.raises(DataError, match=f"{name} compares the links of two graphs, and the masked table has none"):
        make("loss", name).measure(data, replace(data, edges=None))


def test_assessments_of_graphs_have_them_all_and_others_none() -> None:
    data = social(1, 60)
    release = method("mdav-generic", k=3).mask(data, seed=2**90)
    assert set(OF_GRAPHS) <= set(assess(data, release).losses)
    plain = replace(data, edges=None)
    assert not set(OF_GRAPHS) & set(assess(plain, replace(release, data=replace(release.data, edges=None))).losses)


def test_the_one_loss_of_a_graph_counts_its_links_as_one_more_attribute() -> None:
    data = social(1, 60).select(["id", "job"])
    found = assess(data, structural(data, rewired(data, 0.5)))
    assert {name: loss.value for name, loss in found.losses.items() if name in ("ctbil", "dbil", "ebil")} == {
        "ctbil": 0, "dbil": 0, "ebil": 0
    }  # fmt: skip
    assert found.score.loss == pytest.approx(found.losses["structure"].value / 2)
    assert found.score.loss > 0
