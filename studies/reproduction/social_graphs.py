"""Profiles of a social graph and tables made of it, over the size of groups: sections 6.5.1 and 6.5.2 of Marés (2013).

The two crawls of the source are not available, and its curves are pictures whose numbers are lost. In their place are
two fictional networks with as many nodes and about as many links, and three real graphs whose attributes take the place
of profiles, so that only what the text says can be tried. Groups are found as the source finds them (k-member), five
runs for each K, and beside it by our own partition (refined). Losses and risks are shares of 1, as in the source. DR is
the share of nodes whose neighbourhood is found anywhere in the release, root and links among friends included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa

from microveil.comparison.pairs import Pair
from microveil.graphs.extraction import DEGREE, extract_microdata
from microveil.graphs.losses.profile_distance import profile_distances
from microveil.masking import Release
from microveil.microdata import Attribute, Microdata, Schema, datasets
from microveil.microdata.ancestry import HierarchyTree
from microveil.microdata.locations import LocationTree
from microveil.numerics.graphs.statistics import GraphStatistics, graph_statistics
from reproduction.base import Picture, Quick, Reproduction, Row, Rows, claim, whole
from reproduction.measuring import attack, loss, method

Partitioner = Literal["k-member", "refined"]
Form = Literal["protected", "protected, K", "original, K"]
Figures = Mapping[str, float]
Curve = Mapping[int, Figures]  # figures by K

SIZES = (2, 3, 5, 10, 20)
QUICK_SIZES = (3, 20)
REAL_SIZES = SIZES
RUNS = 5
TOPICS = ("topic1", "topic2", "topic3")
PROFILE = ("home", *TOPICS)
SCENARIOS: dict[str, tuple[str, ...]] = {
    "t1": TOPICS[:1],
    "t2": TOPICS[1:2],
    "t3": TOPICS[2:],
    "location": PROFILE[:1],
    "topics": TOPICS,
    "all": PROFILE,
}
PARTS = ("AAMIL", "CDIL", "DBIL")
FORMS: tuple[Form, ...] = ("protected", "protected, K", "original, K")
# nodes, and the friends of a person with which the fictional network has about as many links as the crawl
NETWORKS = {"graph 1": (306, 2.78), "graph 2": (1638, 6.39)}
# of the two crawls: nodes, links, diameter, characteristic path length, mean path length, mean degree
CRAWLS = {
    "graph 1": ("306", "342", "17", "8", "7.597", "2"),
    "graph 2": ("1638", "4622", "11", "4", "4.2595", "5"),
}


# --- graphs ------------------------------------------------------------------------------------------------------


@cache
def network(name: str) -> Microdata:
    """A fictional network in the place of a crawl; of its attributes only the profile of the source."""
    nodes, friends = NETWORKS[name]
    return datasets.social_network(nodes, seed=1, friends=friends, gaps=False).select(["id", *PROFILE])


@cache
def statistics(name: str) -> GraphStatistics:
    edges = network(name).edges
    assert edges is not None
    return graph_statistics(edges.graph, np.random.default_rng(1))


def twitch() -> Microdata:
    """Streamers: days and views in ten classes of equal frequency, and two marks."""
    nodes = datasets.load("graph_twitch_engb_nodes")
    columns = {
        "node": nodes.arrow("node"),
        **{name: pa.array(tenths(nodes.numbers(name).values)) for name in ("days", "views")},
        **{
            name: pa.array(["yes" if cell else "no" for cell in booleans(nodes, name)])
            for name in ("mature", "partner")
        },
    }
    return attributed("graph_twitch_engb", columns, ordinal=("days", "views"))


def polblogs() -> Microdata:
    """Blogs: their leaning, and the directory that lists them, where it is one of the nine most frequent."""
    nodes = datasets.load("graph_polblogs_nodes")
    listed = np.array(nodes.arrow("source").to_pylist(), dtype=object)
    names, often = np.unique(listed.astype(str), return_counts=True)
    frequent = set(names[np.argsort(-often, kind="stable")[:9]])
    columns = {
        "node": nodes.arrow("node"),
        "leaning": pa.array([str(cell) for cell in nodes.arrow("value").to_pylist()]),
        "directory": pa.array([str(cell) if str(cell) in frequent else "other" for cell in listed]),
    }
    return attributed("graph_polblogs", columns)


def facebook() -> Microdata:
    """Persons: the three coded attributes with the fewest gaps, where a gap is a category."""
    nodes = datasets.load("graph_facebook_nodes")
    named = {"gender": "gender", "locale": "locale", "education": "education.type"}
    columns = {
        "node": nodes.arrow("node"),
        **{name: pa.array([str(cell) for cell in nodes.arrow(column).to_pylist()]) for name, column in named.items()},
    }
    return attributed("graph_facebook", columns)


# how they are made, and how many runs there are for each K
REAL: dict[str, tuple[Callable[[], Microdata], int]] = {
    "polblogs": (polblogs, RUNS),
    "twitch": (twitch, 2),
    "facebook": (facebook, 1),
}


@cache
def real(name: str) -> Microdata:
    return REAL[name][0]()


def attributed(name: str, columns: Mapping[str, pa.Array], ordinal: Sequence[str] = ()) -> Microdata:
    """Nodes with these attributes, all of them keys, and the links of a reference file."""
    keys = [column for column in columns if column != "node"]
    return Microdata.of(
        pa.table(dict(columns)),
        keys=keys,
        ordinal=list(ordinal),
        nominal=[key for key in keys if key not in ordinal],
        graph=datasets.load(f"{name}_edges").native,
        node="node",
    )


def tenths(values: np.ndarray) -> list[int]:
    """The class of each number, 1 to 10, of classes with about as many nodes.

    >>> tenths(np.arange(20.0))[:4]
    [1, 1, 2, 2]
    """
    cuts = np.quantile(values, np.arange(1, 10) / 10)
    return [int(one) + 1 for one in np.searchsorted(cuts, values, side="right")]


def booleans(nodes: Microdata, name: str) -> list[bool]:
    return [str(cell).lower() in ("true", "1", "yes") for cell in nodes.arrow(name).to_pylist()]


# --- measures ----------------------------------------------------------------------------------------------------


def protected(data: Microdata, partition: Partitioner, k: int, seed: int, topics: str = "borda") -> Release:
    made = method("graph-profiles", k=k, partition=partition, topics=topics)
    return made.mask(data, data.schema.keys, seed=seed)


def losses_of(data: Microdata, release: Release, attributes: Sequence[str] | None = None) -> Figures:
    """The three parts of the average semantic loss, and the first in its other form, too."""
    names = data.schema.keys if attributes is None else tuple(attributes)
    found = {
        "AAMIL": loss("aamil", data, release, names).value / 100,
        "AAMIL, printed form": loss("aamil", data, release, names, form="printed").value / 100,
        "CDIL": loss("cdil", data, release, names).value / 100,
        "DBIL": loss("profile-dbil", data, release, names).value / 100,
    }
    return {**found, "IL": float(np.mean([found[part] for part in PARTS]))}


def risks_of(data: Microdata, release: Release, scenarios: Mapping[str, Sequence[str]]) -> Figures:
    """DR by what is known; with places that may hold the true one; and the chance that a match is the person."""
    found: dict[str, float] = {}
    for scenario, known in scenarios.items():
        equal = attack("neighbourhood-matching", match="equal").assess(data, release, known)
        found[f"DR {scenario}"] = equal.counters["matched"] / 100
        found[f"found {scenario}"] = equal.value / 100
        if "home" in known:
            nested = attack("neighbourhood-matching", match="consistent").assess(data, release, known)
            found[f"DR {scenario}, consistent"] = nested.counters["matched"] / 100
    return found


def averaged(runs: Sequence[Figures]) -> Figures:
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


@cache
def point(name: str, partition: Partitioner, k: int, runs: int = RUNS) -> Figures:
    """Losses and risks of a fictional network, in the mean of the runs."""
    data = network(name)
    made = [protected(data, partition, k, seed) for seed in range(1, runs + 1)]
    return averaged([{**losses_of(data, one), **risks_of(data, one, SCENARIOS)} for one in made])


@cache
def real_point(name: str, k: int, runs: int) -> Figures:
    """The same of a real graph with all its attributes known; groups are refined."""
    data = real(name)
    keys = data.schema.keys
    made = [protected(data, "refined", k, seed) for seed in range(1, runs + 1)]
    return averaged([{**losses_of(data, one), **risks_of(data, one, {"all": keys})} for one in made])


def table_of(form: Form, data: Microdata, k: int, seed: int) -> Microdata:
    """A table of the nodes with their degrees: of the protected graph as it is, of the protected graph with its rows
    grouped once more, or of the original graph with its rows grouped."""
    source = data if form == "original, K" else protected(data, "k-member", k, seed).data
    flat = extract_microdata(source)
    if form == "protected":
        return flat
    made = method("graph-profiles", k=k, partition="k-member", numbers="lower-median")
    return made.mask(flat, flat.schema.keys, seed=seed).data


def table_figures(data: Microdata, released: Microdata) -> Figures:
    """IL: the mean of the losses by tables, distances and entropy. DR: the mean of what is unchanged (of the degree
    what lies near by its rank) and of the links by distance. All against the table of the original graph."""
    flat = extract_microdata(data)
    names = flat.schema.keys
    distances = float(profile_distances(Pair.of(flat, released, names), names).mean())
    before, after = as_categories(flat, released)
    tables = loss("ctbil", before, after, names).value / 100
    entropy = loss("ebil", before, after, names).value / 100
    same = [np.mean(_texts(flat, name) == _texts(released, name)) for name in names if name != DEGREE]
    near = attack("interval-disclosure").assess(flat, released, [DEGREE]).value / 100
    linked = attack("distance-linkage", metric="gower").assess(flat, released, names).value / 100
    disclosed = float(np.mean([*same, near]))
    return {
        "CTBIL": tables,
        "DBIL": distances,
        "EBIL": entropy,
        "IL": (tables + distances + entropy) / 3,
        "ID": disclosed,
        "DBRL": linked,
        "DR": (disclosed + linked) / 2,
    }


def as_categories(*tables: Microdata) -> list[Microdata]:
    """The same tables with every attribute nominal, over the categories of all of them."""
    names = tables[0].schema.keys
    texts = [{name: _texts(table, name) for name in names} for table in tables]
    domains = {name: tuple(np.unique(np.concatenate([one[name] for one in texts])).tolist()) for name in names}
    schema = Schema([Attribute(name=name, kind="nominal", roles=("key",), domain=domains[name]) for name in names])
    return [Microdata.of({name: pa.array(one[name].tolist()) for name in names}, schema) for one in texts]


def _texts(table: Microdata, name: str) -> np.ndarray:
    cells = table.arrow(name).to_pylist()
    return np.array([f"{cell:g}" if isinstance(cell, int | float) else str(cell) for cell in cells])


@cache
def table_point(name: str, form: Form, k: int, runs: int = RUNS) -> Figures:
    data = network(name)
    return averaged([table_figures(data, table_of(form, data, k, seed)) for seed in range(1, runs + 1)])


# --- rows --------------------------------------------------------------------------------------------------------


def listed(label: str, figures: Figures) -> Rows:
    for figure, value in figures.items():
        if not figure.startswith("found"):
            yield Row(f"{label}: {figure}", None, value, 2)


def sizes_for(quick: bool) -> tuple[tuple[int, ...], int]:
    return (QUICK_SIZES, 1) if quick else (SIZES, RUNS)


def crawls() -> Rows:
    """The printed figures of the crawls, which are not available, beside those of the networks in their place."""
    for name, (nodes, links, *shown) in CRAWLS.items():
        found = statistics(name)
        paths = found.paths
        kept = {
            "diameter": (shown[0], float(paths.diameter)),
            "characteristic path length": (shown[1], float(paths.median)),
            "average shortest path": (shown[2], float(paths.mean)),
        }
        yield Row(f"{name}: nodes", float(nodes), float(found.nodes), 0, kind="fitted")
        note = f"{found.components} components, where a crawl has one"
        yield Row(f"{name}: edges", float(links), float(found.edges), 0, kind="fitted", note=note)
        for figure, (text, value) in kept.items():
            decimals = len(text.partition(".")[2])
            note = f"the network in its place has {value:.{max(2, decimals)}f}"
            yield Row(f"{name}: {figure}", float(text), None, decimals, note=note)
        degree = 2 * int(links) / int(nodes)
        note = (
            f"2 edges / nodes = {degree:.3f}, truncated in print; the network in its place has {found.mean_degree:.3f}"
        )
        yield Row(f"{name}: average degree", float(shown[3]), float(int(degree)), 0, kind="arithmetic", note=note)
        small = found.small_world
        yield claim(
            f"{name}: the network in its place is a small world",
            small.clustering > 3 * small.random_clustering and small.path_length < 2 * small.random_path_length,
            small.clustering,
            f"clustering, of random graphs {small.random_clustering:.3f}; paths {small.path_length:.2f} and "
            f"{small.random_path_length:.2f}",
        )


def profile_rows(quick: bool) -> Rows:
    sizes, runs = sizes_for(quick)
    partitions: tuple[Partitioner, ...] = ("k-member", "refined")
    for name in list(NETWORKS)[: 1 if quick else 2]:
        for partition in partitions:
            for k in sizes:
                yield from listed(f"{name}, {partition}, K={k}", point(name, partition, k, runs))


def real_rows(quick: bool) -> Rows:
    for name, (_, runs) in list(REAL.items())[: 1 if quick else 3]:
        for k in QUICK_SIZES if quick else REAL_SIZES:
            yield from listed(f"{name}, K={k}", real_point(name, k, 1 if quick else runs))


def real_findings(quick: bool) -> Rows:
    """Q1 and Q5 on the real graphs."""
    for name, (_, runs) in list(REAL.items())[: 1 if quick else 3]:
        curve = {k: real_point(name, k, 1 if quick else runs) for k in (QUICK_SIZES if quick else REAL_SIZES)}
        for part in PARTS:
            step = least_step(curve, part)
            yield claim(f"Q1 {name}: {part} grows with K", step > 0, step, f"least step; {told(curve, part)}", 3)
        fall = curve[max(curve)]["DR all"] - curve[min(curve)]["DR all"]
        note = f"K={max(curve)} less K={min(curve)}; {told(curve, 'DR all')}"
        yield claim(f"Q5 {name}: DR all falls with K", fall < 0, fall, note, 3)


def table_rows(quick: bool) -> Rows:
    sizes, runs = sizes_for(quick)
    for name in list(NETWORKS)[: 1 if quick else 2]:
        for form in FORMS:
            for k in sizes:
                yield from listed(f"{name}, {form}, K={k}", table_point(name, form, k, runs))


# --- what the text says ------------------------------------------------------------------------------------------


def least_step(curve: Curve, figure: str) -> float:
    """The least by which a figure grows from one K to the next; below 0 where it falls."""
    values = [curve[k][figure] for k in sorted(curve)]
    return min(b - a for a, b in pairwise(values))


def told(curve: Curve, figure: str) -> str:
    """A figure over K."""
    return ", ".join(f"{curve[k][figure]:.3f}" for k in sorted(curve))


def graph_findings(curves: Mapping[str, Curve]) -> Rows:
    """Q1 to Q8, of curves of two graphs, the smaller first."""
    (small, one), (large, two) = curves.items()
    first, third, last = min(one), sorted(one)[min(1, len(one) - 2)], max(one)
    for name, curve in curves.items():
        for part in PARTS:
            step = least_step(curve, part)
            yield claim(f"Q1 {name}: {part} grows with K", step > 0, step, f"least step; {told(curve, part)}", 3)
    for part in (*PARTS, "IL"):
        most = max(two[k][part] - one[k][part] for k in one)
        yield claim(f"Q2 the larger graph has less {part} at every K", most < 0, most, "largest difference", 3)
    rate = {part: one[last][part] / one[first][part] for part in PARTS}
    rates = ", ".join(f"{part} {value:.2f}" for part, value in rate.items())
    others = max(rate["AAMIL"], rate["DBIL"])
    yield claim(
        f"Q3 {small}: CDIL grows fastest", rate["CDIL"] > others, rate["CDIL"], f"K={last} over K={first}: {rates}"
    )
    slow = (others - 1) / (rate["CDIL"] - 1)
    note = "growth of the faster of the others, as a share of CDIL's; the source does not say how much lower is much"
    yield Row(f"Q3 {small}: the others grow at a much lower rate", None, slow, note=note)
    lowest = {
        form: sum(two[k][form] < min(two[k]["CDIL"], two[k]["DBIL"]) for k in two)
        for form in ("AAMIL", "AAMIL, printed form")
    }
    for form, count in lowest.items():
        note = f"values of K of {len(two)}; no test, for AAMIL is at least the distance of degree-weighted histograms"
        yield Row(f"Q4 {large}: {form} is the lowest part", None, float(count), 0, note=note)
    for name, curve in curves.items():
        for scenario in ("t1", "t2"):
            fall = curve[last][f"DR {scenario}"] - curve[third][f"DR {scenario}"]
            note = f"K={last} less K={third}; {told(curve, f'DR {scenario}')}"
            yield claim(f"Q5 {name}: DR {scenario} falls with K", fall < 0, fall, note, 3)
        for scenario in ("t3", "location", "topics"):
            fall = curve[last][f"DR {scenario}"] - curve[third][f"DR {scenario}"]
            yield Row(f"Q5 {name}: DR {scenario} by K", None, fall, 3, note=told(curve, f"DR {scenario}"))
    for name, curve in curves.items():
        for high, low in (("t1", "t2"), ("t2", "t3")):
            least = min(one[f"DR {high}"] - one[f"DR {low}"] for one in curve.values())
            yield claim(f"Q6 {name}: DR {high} > {low} at every K", least > 0, least, "least difference", 3)
        least = min(one["DR t3"] - one["DR location"] for one in curve.values())
        note = f"least difference from t3, which the source does not compare it with; {told(curve, 'DR location')}"
        yield Row(f"Q6 {name}: DR location is low", None, least, 3, note=note)
    for name, curve in curves.items():
        excess = max(one["DR topics"] - min(one[f"DR {t}"] for t in ("t1", "t2", "t3")) for one in curve.values())
        yield claim(f"Q7 {name}: DR topics is at most that of each topic", excess <= 0, excess, "a theorem", 3)
        excess = max(one["DR all"] - min(one["DR topics"], one["DR location"]) for one in curve.values())
        yield claim(f"Q7 {name}: DR all is the lowest", excess <= 0, excess, f"a theorem; {told(curve, 'DR all')}", 3)
    for scenario in ("t1", "t2", "t3"):
        most = max(two[k][f"DR {scenario}"] - one[k][f"DR {scenario}"] for k in one)
        yield claim(f"Q8 the larger graph has a lower DR {scenario}", most < 0, most, "largest difference over K", 3)


def table_findings(curves: Mapping[str, Curve]) -> Rows:
    """Q9, of the tables of two graphs whose profiles are protected."""
    first, last = min(next(iter(curves.values()))), max(next(iter(curves.values())))
    for name, curve in curves.items():
        rise = curve[last]["IL"] / curve[first]["IL"] - 1
        fall = 1 - curve[last]["DR"] / curve[first]["DR"]
        yield claim(f"Q9 {name}: IL of the table rises with K", rise > 0, rise, f"share; {told(curve, 'IL')}")
        yield claim(f"Q9 {name}: DR of the table falls with K", fall > 0, fall, f"share; {told(curve, 'DR')}")
        up, down = curve[last]["IL"] - curve[first]["IL"], curve[first]["DR"] - curve[last]["DR"]
        note = f"share; IL {rise:.2f}. As differences DR falls by {down:.3f} and IL rises by {up:.3f}"
        yield claim(f"Q9 {name}: DR falls faster than IL rises", fall > rise, fall, note)
    one, two = curves.values()
    for figure in ("IL", "DR"):
        most = max(two[k][figure] - one[k][figure] for k in one)
        yield claim(
            f"Q9 the table of the larger graph has less {figure}", most < 0, most, "largest difference over K", 3
        )


def use_findings(curves: Mapping[str, Curve], runs: int) -> Rows:
    """Q10 to Q12."""
    one, two = curves.values()
    first, last = min(one), max(one)
    affordable = max((k for k in two if two[k]["IL"] <= one[first]["IL"]), default=0)
    note = f"largest K at which graph 2 loses no more than graph 1 with K={first} ({one[first]['IL']:.3f})"
    yield claim("Q10 a larger K is affordable for a larger graph", affordable > first, float(affordable), note, 0)
    for name in curves:
        for k in (first, last):
            data = network(name)
            means = {}
            for topics in ("borda", "mode"):
                made = [protected(data, "k-member", k, seed, topics) for seed in range(1, runs + 1)]
                means[topics] = averaged([losses_of(data, release, TOPICS) for release in made])
            for part in ("DBIL", "CDIL"):
                borda, mode = means["borda"][part], means["mode"][part]
                label = f"Q11 {name}, K={k}: Borda topics minimise {part}"
                yield claim(label, borda <= mode, borda, f"the mode of each rank {mode:.3f}", 3)
    yield from common_place()
    for name, curve in curves.items():
        figures = curve[sorted(curve)[len(curve) // 2]]
        note = f"chance that a match by the first topic is the person; DR t1 {figures['DR t1']:.3f}"
        yield claim(
            f"Q12 {name}: DR t1 is far above what identifies",
            figures["found t1"] < figures["DR t1"] / 2,
            figures["found t1"],
            note,
            3,
        )
        nested = figures["DR all, consistent"]
        note = f"chance with all attributes known; with places that may hold the true one DR is {nested:.3f}"
        yield Row(f"Q12 {name}: found by all attributes", None, figures["found all"], 3, note=note)


def common_place() -> Rows:
    """Four who live in New York City and one in Washington DC."""
    top = [("United States", "Country"), ("North America", "Continent")]
    city = [("New York City", "Locality"), ("New York State", "Administrative area level 1"), *top]
    capital = [("Washington DC", "Locality"), ("District of Columbia", "Administrative area level 1"), *top]
    tree = HierarchyTree.of(LocationTree.of([city, capital]).hierarchy())
    homes = np.array([tree.code("New York City")] * 4 + [tree.code("Washington DC")])
    costs = {
        place: float(tree.distances(homes, np.full(5, tree.code(place))).sum())
        for place in ("United States", "New York City")
    }
    common, kept = costs["United States"], costs["New York City"]
    yield claim(
        "Q11 the common place minimises the distance", common <= kept, common, f"the most frequent place {kept:.3f}", 3
    )


def findings(quick: bool) -> Rows:
    sizes, runs = sizes_for(quick)
    curves = {name: {k: point(name, "k-member", k, runs) for k in sizes} for name in NETWORKS}
    yield from graph_findings(curves)
    tables = {name: {k: table_point(name, "protected", k, runs) for k in sizes} for name in NETWORKS}
    yield from table_findings(tables)
    yield from use_findings(curves, runs)
    for name in NETWORKS:
        most = max(point(name, "refined", k, runs)["IL"] - curves[name][k]["IL"] for k in sizes)
        note = "largest difference of IL from the printed clustering; our own, not the source's"
        yield claim(f"{name}: the refined partition loses less at every K", most < 0, most, note, 3)


NEEDED = tuple(
    f"graph_{name}_{part}" for name in ("polblogs", "twitch_engb", "facebook") for part in ("nodes", "edges")
)
NO_CRAWLS = "the crawls are not available; fictional networks can only show whether the text holds elsewhere"
TABLES = (
    Reproduction(
        "social-graphs-crawls",
        "The two crawled graphs",
        "Marés (2013), section 6.5",
        whole(crawls),
        14,
        1,
        why="the crawls are not available. Fictional networks with as many nodes and about as many links are in their "
        "place; characteristic path length is the median, and the printed ones are also the rounded means",
        in_full=True,
    ),
    Reproduction(
        "social-graphs-profiles",
        "Loss and risk of protected profiles over K, fictional networks",
        "Marés (2013), section 6.5.1",
        profile_rows,
        260,
        20,
        quick=Quick(52, 1, "graph 2, three values of K and four of five runs"),
        why="the curves of the source are pictures whose numbers are lost, so that there is nothing to compare with "
        "but what the text says of them, which is in social-graphs-findings. Means of five runs",
        over="K",
        pictures=(
            *(
                Picture(
                    f"social-{name.replace(' ', '-')}-losses",
                    f"Loss over K, {name}",
                    (f"{name}, k-member",),
                    (*PARTS, "IL"),
                )
                for name in NETWORKS
            ),
            *(
                Picture(
                    f"social-{name.replace(' ', '-')}-risks",
                    f"Disclosure risk over K by what is known, {name}",
                    (f"{name}, k-member",),
                    tuple(f"DR {scenario}" for scenario in SCENARIOS),
                )
                for name in NETWORKS
            ),
            Picture(
                "social-partitions",
                "Loss over K, the printed clustering and the refined partition",
                tuple(f"{name}, {partition}" for name in NETWORKS for partition in ("k-member", "refined")),
                ("IL",),
            ),
        ),
    ),
    Reproduction(
        "social-graphs-real",
        "Loss and risk of protected attributes over K, real graphs",
        "Marés (2013), section 6.5.1, on other graphs",
        real_rows,
        90,
        60,
        NEEDED,
        Quick(12, 2, "Twitch, Facebook, three values of K and all runs but one"),
        "attributes take the place of profiles: of political blogs their leaning and the directory that lists them, of "
        "streamers on Twitch (England) their days and views in ten classes and two marks, of persons on Facebook three "
        "coded attributes. Groups are refined; there are five runs on blogs, two on Twitch and one on Facebook",
        over="K",
        pictures=(
            Picture("social-real-losses", "Loss over K, real graphs", tuple(REAL), ("IL",)),
            Picture(
                "social-real-risks",
                "Disclosure risk over K, all attributes known, real graphs",
                tuple(REAL),
                ("DR all",),
            ),
        ),
    ),
    Reproduction(
        "social-graphs-tables",
        "Loss and risk of tables of nodes with their degrees over K",
        "Marés (2013), section 6.5.2",
        table_rows,
        210,
        20,
        quick=Quick(42, 1, "graph 2, three values of K and four of five runs"),
        why="protected: the nodes of the protected graph with their true degrees; protected, K: these rows grouped "
        "once more; original, K: the rows of the original graph grouped once. The source defines no measures for these "
        "tables. IL is the mean of CTBIL, DBIL and EBIL, DR that of ID and of distance-based record linkage",
        over="K",
        pictures=tuple(
            Picture(
                f"social-tables-{figure.lower()}",
                f"{figure} of tables of nodes over K",
                tuple(f"{name}, {form}" for name in NETWORKS for form in FORMS),
                (figure,),
            )
            for figure in ("IL", "DR")
        ),
    ),
    Reproduction(
        "social-graphs-findings",
        "What is said of protected social graphs, on fictional networks",
        "claims of Marés (2013), sections 6.5.1 and 6.5.2",
        findings,
        61,
        40,
        quick=Quick(61, 3, "three values of K and four of five runs"),
        why=NO_CRAWLS,
        in_full=True,
    ),
    Reproduction(
        "social-graphs-others",
        "What is said of protected social graphs, on real graphs",
        "claims of Marés (2013), section 6.5.1",
        real_findings,
        12,
        60,
        NEEDED,
        Quick(4, 2, "Twitch, Facebook, three values of K and all runs but one"),
        "attributes of real graphs take the place of the profiles of the crawls, which are not available",
        in_full=True,
    ),
)
