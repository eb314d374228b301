"""Reports on graphs: figures and pictures of the structure, and what the public page does not show."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import microveil as mv
from microveil.comparison.pairs import Pair
from microveil.reporting.charts import network
from microveil.reporting.report_graph import graph_page, released_graph_pictures

NETWORK = mv.datasets.social_network(120, seed=2)


@cache
def released() -> mv.Release:
    plan = mv.Plan((mv.Step("graph-profiles", {"k": 5}), mv.Step("k-degree", {"k": 5})), seed=2**100)
    return mv.protect(NETWORK, plan)


def test_figures_of_the_structure_stand_side_by_side() -> None:
    page = graph_page(Pair.of(NETWORK, released()))
    assert page is not None
    rows = {name: (before, after) for name, before, after in page.rows}
    assert rows["links"] == (str(len(NETWORK.edges)), str(len(released().data.edges)))
    assert rows["fewest nodes that share a number of links"][0] == "1"
    assert int(rows["fewest nodes that share a number of links"][1]) >= 5
    kept = {*zip(NETWORK.edges.source.tolist(), NETWORK.edges.target.tolist(), strict=True)} & {
        *zip(released().data.edges.source.tolist(), released().data.edges.target.tolist(), strict=True)
    }
    assert rows["links that both have"] == (str(len(kept)),) * 2


def test_pictures_are_drawn_and_well_formed() -> None:
    page = graph_page(Pair.of(NETWORK, released()))
    assert page is not None
    pictures = [page.degrees, *page.mixing, *page.neighbourhood]
    assert len(page.neighbourhood) == 2
    assert len(page.mixing) == 6
    for picture in pictures:
        ElementTree.fromstring(picture.svg)
        assert picture.caption


def test_the_internal_page_has_the_graph_and_the_public_one_its_degrees_alone() -> None:
    internal, public = (mv.report(NETWORK, released(), public=public) for public in (False, True))
    assert "<h3>The graph</h3>" in internal
    assert "A node and those linked to it, original" in internal
    assert "A node and those linked to it" not in public
    assert "Links of the released nodes" in public
    assert "some links between persons were changed" in public


def test_a_table_without_links_has_no_such_section() -> None:
    table = replace(NETWORK, edges=None)
    release = mv.Noise().mask(table, ["age"], seed=1)
    assert graph_page(Pair.of(table, release)) is None
    assert "<h3>The graph</h3>" not in mv.report(table, release)


def test_public_degrees_are_whole_per_cent_and_none_that_few_nodes_have() -> None:
    (picture,) = released_graph_pictures(released().data, 10)
    falling = np.sort(released().data.edges.degrees)[::-1]
    assert picture.caption.endswith(f"up to {falling[9]}")
    told = re.findall(r"released: ([\d.]+) at ([\d.]+)", picture.svg)
    assert told
    assert all(float(share) == int(float(share)) for share, _ in told)
    assert max(float(at) for _, at in told) == falling[9] < falling[0]
    assert released_graph_pictures(released().data.take(np.arange(49)), 10) == []


@pytest.mark.parametrize("edges", [[], [(0, 1)], [(0, i) for i in range(1, 40)]])
def test_small_and_large_neighbourhoods_are_drawn(edges: list[tuple[int, int]]) -> None:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    table = replace(NETWORK, edges=mv.graphs.Edges.of(ends[:, 0], ends[:, 1], len(NETWORK)))
    page = graph_page(Pair.of(table, mv.PRAM().mask(table, ["topic1"], seed=1)))
    assert page is not None
    for picture in page.neighbourhood:
        ElementTree.fromstring(picture.svg)
    if len(edges) == 39:
        assert "25 more of them are not drawn" in page.neighbourhood[0].caption


def test_names_are_escaped_and_the_first_node_is_in_the_middle() -> None:
    svg = network(["<b>", "x", "y"], [(0, 1), (1, 2)], ["a&b", "", ""], title="t", description="d")
    root = ElementTree.fromstring(svg)
    circles = [c.attrib for c in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert (float(circles[0]["cx"]), float(circles[0]["cy"])) == (210.0, 160.0)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}line"))) == 2
