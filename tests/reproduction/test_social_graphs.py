"""Losses and risks of small graphs over K, what is concluded from curves, and how curves are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from microveil.graphs.extraction import DEGREE, extract_microdata
from microveil.microdata import datasets
from reproduction import social_graphs as social
from reproduction.base import Picture, Reproduction, Row
from reproduction.curves import curves, drawings, grid
from reproduction.measuring import loss
from reproduction.running import Outcome


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both networks small, and nothing measured on the large ones left over."""
    caches = (social.network, social.statistics, social.point, social.table_point)
    for one in caches:
        one.cache_clear()
    monkeypatch.setattr(social, "NETWORKS", {"graph 1": (60, 2.8), "graph 2": (120, 5.0)})
    yield
    for one in caches:
        one.cache_clear()


@pytest.mark.spec("06:SG-21")
@pytest.mark.usefixtures("small")
def test_profiles_lose_the_mean_of_three_parts_and_more_knowledge_finds_no_more_neighbourhoods() -> None:
    data = social.network("graph 1")
    release = social.protected(data, "k-member", 3, seed=1)
    found = social.losses_of(data, release)
    assert found["IL"] == pytest.approx(loss("semantic-il", data, release, social.PROFILE).value / 100)
    risks = social.risks_of(data, release, social.SCENARIOS)
    assert risks["DR all"] <= min(risks["DR topics"], risks["DR location"])
    assert risks["DR topics"] <= min(risks["DR t1"], risks["DR t2"], risks["DR t3"])
    for scenario in ("location", "all"):
        assert risks[f"found {scenario}"] <= risks[f"DR {scenario}"] <= risks[f"DR {scenario}, consistent"]


@pytest.mark.spec("06:SG-21")
@pytest.mark.usefixtures("small")
def test_a_point_is_the_mean_of_its_runs() -> None:
    data = social.network("graph 1")
    runs = [social.losses_of(data, social.protected(data, "k-member", 5, seed))["CDIL"] for seed in (1, 2)]
    assert runs[0] != runs[1]
    assert social.point("graph 1", "k-member", 5, 2)["CDIL"] == pytest.approx(np.mean(runs))


@pytest.mark.spec("06:SG-22")
@pytest.mark.usefixtures("small")
def test_tables_with_true_degrees_are_not_anonymous_until_their_rows_are_grouped() -> None:
    data = social.network("graph 1")
    smallest = {}
    for form in social.FORMS:
        made = social.table_of(form, data, 3, seed=1)
        rows = list(zip(*(made.arrow(name).to_pylist() for name in made.schema.keys), strict=True))
        smallest[form] = min(rows.count(row) for row in rows)
    assert smallest["protected"] < 3
    assert min(smallest["protected, K"], smallest["original, K"]) >= 3


@pytest.mark.spec("06:SG-22")
@pytest.mark.usefixtures("small")
def test_a_table_that_is_released_as_it_is_loses_nothing() -> None:
    data = social.network("graph 1")
    found = social.table_figures(data, extract_microdata(data))
    assert found["IL"] == pytest.approx(0)
    assert found["ID"] == pytest.approx(1)
    masked = social.table_figures(data, social.table_of("original, K", data, 5, seed=1))
    assert 0 < masked["IL"] < 1
    assert masked["DR"] < found["DR"]


@pytest.mark.spec("06:SG-22")
@pytest.mark.usefixtures("small")
def test_the_table_of_the_protected_graph_has_the_true_degrees() -> None:
    data = social.network("graph 1")
    true, released = extract_microdata(data), social.table_of("protected", data, 3, seed=1)
    assert released.arrow(DEGREE).to_pylist() == true.arrow(DEGREE).to_pylist()


def figures(*, il: float, dr: float) -> dict[str, float]:
    """All figures of a point: losses near one number, risks in the order of the source below another."""
    names = ("t1", "t2", "t3", "location", "topics", "all")
    risks = {f"DR {name}": dr * 0.8**i for i, name in enumerate(names)}
    return {"AAMIL": il, "AAMIL, printed form": il, "CDIL": il**2, "DBIL": il, "IL": il, **risks}


@pytest.mark.spec("06:SG-21")
def test_findings_follow_from_the_curves() -> None:
    made = {
        "graph 1": {2: figures(il=0.4, dr=0.6), 3: figures(il=0.5, dr=0.5), 20: figures(il=0.7, dr=0.2)},
        "graph 2": {2: figures(il=0.3, dr=0.5), 3: figures(il=0.4, dr=0.4), 20: figures(il=0.6, dr=0.1)},
    }
    rows = {row.label: row for row in social.graph_findings(made)}
    assert {row.verdict for label, row in rows.items() if label.startswith(("Q1", "Q2", "Q6", "Q7", "Q8"))} == {
        "holds",
        "no comparison",
    }
    assert rows["Q3 graph 1: CDIL grows fastest"].verdict == "holds"
    assert {row.verdict for label, row in rows.items() if label.startswith("Q4")} == {"no comparison"}
    made["graph 1"], made["graph 2"] = made["graph 2"], made["graph 1"]
    turned = {row.label: row.verdict for row in social.graph_findings(made)}
    assert {verdict for label, verdict in turned.items() if label.startswith(("Q2", "Q8"))} == {"does not hold"}


@pytest.mark.spec("06:SG-22")
def test_findings_about_tables_follow_from_the_curves() -> None:
    made = {
        "graph 1": {2: {"IL": 0.5, "DR": 0.4}, 20: {"IL": 0.6, "DR": 0.1}},
        "graph 2": {2: {"IL": 0.4, "DR": 0.3}, 20: {"IL": 0.5, "DR": 0.2}},
    }
    verdicts = {row.label: row.verdict for row in social.table_findings(made)}
    assert verdicts.pop("Q9 the table of the larger graph has less DR") == "does not hold"
    assert set(verdicts.values()) == {"holds"}


def test_the_common_place_of_four_and_one_costs_more_than_the_place_of_the_four() -> None:
    (row,) = social.common_place()
    assert row.measured == pytest.approx(20 / 7)
    assert row.verdict == "does not hold"


@pytest.mark.spec("06:SG-21")
@pytest.mark.parametrize(("name", "nodes", "edges"), [("polblogs", 1490, 16_715), ("twitch", 7126, 35_324)])
@pytest.mark.usefixtures("reference_folder")
def test_real_graphs_have_their_links_and_attributes(name: str, nodes: int, edges: int) -> None:
    if "graph_polblogs_nodes" not in datasets.files_at_hand():
        pytest.skip("the reference graphs are not in the folder of reference data")
    data = social.real(name)
    assert data.edges is not None
    assert (len(data), len(data.edges)) == (nodes, edges)


def test_curves_are_shown_as_a_grid_and_drawn() -> None:
    rows = tuple(
        Row(f"{curve}, K={k}: {figure}", None, value)
        for curve, lift in (("one", 0.1), ("two", 0.2))
        for k, value in ((2, lift), (5, 2 * lift))
        for figure in ("IL", "DR")
    )
    assert curves(rows, "K")["two"][5.0] == {"IL": 0.4, "DR": 0.4}
    assert "| two | 5 | 0.400 | 0.400 |" in list(grid(rows, "K"))
    picture = Picture("some-losses", "Loss over K", ("one", "two", "not measured"), ("IL",))
    made = Reproduction("x-1", "", "", lambda quick: iter(rows), 8, 0, over="K", pictures=(picture,))
    (drawing,) = drawings([Outcome(made, rows, False, 0.0)]).values()
    assert drawing.startswith("<svg")
    assert "one from 0.100 to 0.200" in drawing
    assert not re.search("not measured", drawing)
