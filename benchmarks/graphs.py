"""Social graphs: profiles and links protected in one plan and measured, by the size of the graph, beside plain code.

Run with `python benchmarks/graphs.py [job ...]`; the tables it prints are kept in benchmarks/RESULTS.md. Each job has a
process of its own, on one thread, after a trial on a small graph that compiles the kernels. The graph is the fictional
social network of the datasets, with about ten links for each node. The parts of an assessment are told by its progress,
so that what two measures share counts for the first of them. The plain programs are timed in the same process as what
they are compared with: k-member clustering in NumPy, a row of distances at a time, and networkx.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import microveil as mv
from microveil.graphs.methods.profile_columns import RankedList, profiles_of
from microveil.microdata.ancestry import HierarchyTree
from microveil.microdata.hierarchy import node_text
from microveil.numerics.graphs.clustering import Clustering
from microveil.numerics.grouping.k_member import k_member
from microveil.progress import silent

SEED = 1
FRIENDS = 21.0
K = 5
SIZES = (2_500, 10_000, 40_000, 100_000)
PLAN = mv.Plan((mv.Step("graph-profiles", {"k": K}), mv.Step("k-degree", {"k": K})), seed=SEED)
PROFILE = ("home", "topic1", "topic2", "topic3")


class Clock:
    """Processor and wall seconds since the last look, and the peak of memory so far."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def look(self) -> dict[str, float]:
        cpu, wall = time.process_time(), time.perf_counter()
        taken = {"cpu": cpu - self.cpu, "wall": wall - self.wall, "peak": peak()}
        self.cpu, self.wall = cpu, wall
        return taken


class Parts:
    """A progress that adds up processor seconds by what is under way: the first words of its labels."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last, self.under_way = time.process_time(), ""

    def __call__(self, share: float, label: str = "") -> None:
        now = time.process_time()
        self.seconds[self.under_way] = self.seconds.get(self.under_way, 0.0) + now - self.last
        self.last, self.under_way = now, label.partition(":")[0]


def peak() -> float:
    """In GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def whole(nodes: int) -> dict[str, Any]:
    """The graph is made, protected and measured with the usual losses and attacks."""
    small = mv.datasets.social_network(300, seed=SEED, friends=FRIENDS)
    mv.assess(small, mv.protect(small, PLAN))
    clock = Clock()
    network = mv.datasets.social_network(nodes, seed=SEED, friends=FRIENDS)
    assert network.edges is not None
    found: dict[str, Any] = {"nodes": nodes, "edges": len(network.edges), "made": clock.look()}
    steps = Parts()
    release = mv.protect(network, PLAN, progress=steps)
    found["protected"], found["steps"] = clock.look(), steps.seconds
    measures = Parts()
    assessed = mv.assess(network, release, progress=measures)
    found["measured"], found["measures"] = clock.look(), measures.seconds
    found["risks"] = {name: risk.value for name, risk in assessed.risks.items()}
    found["losses"] = {name: loss.value for name, loss in assessed.losses.items()}
    found["k"] = release.guarantees.k, release.guarantees.degree_k
    return found


# --- plain programs ------------------------------------------------------------------------------------------------


def plain_k_member(network: mv.Microdata, rng: np.random.Generator) -> int:
    """The printed algorithm, with a table of the distances of places and one row of distances at a time; how many
    groups there are."""
    hierarchy = network["home"].hierarchy
    assert isinstance(hierarchy, mv.Hierarchy)
    tree = HierarchyTree.of(hierarchy)
    columns = [np.array(network.arrow(name).to_pylist(), dtype=str) for name in PROFILE]
    (homes, home), *topics = (np.unique(column, return_inverse=True) for column in columns)
    places = np.array([tree.code(node_text(place)) for place in homes])
    apart = tree.distances(places[:, None], places[None, :])
    ranks = np.array([codes for _, codes in topics])
    left, groups = np.arange(len(home)), 0
    while len(left) >= 2 * K:
        seed = left[rng.integers(len(left))]
        row = apart[home[seed], home[left]] + (ranks[:, left] != ranks[:, [seed]]).sum(axis=0)
        row[left == seed] = -1.0
        left = np.delete(left, np.argpartition(row, K - 1)[:K])
        groups += 1
    return groups + 1


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def beside(nodes: int) -> dict[str, Any]:
    """Groups of nodes beside NumPy, and the clustering coefficient beside networkx."""
    import networkx as nx

    network = mv.datasets.social_network(nodes, seed=SEED, friends=FRIENDS, gaps=False)
    lists = [RankedList.of(network, PROFILE[1:])]
    profiles = profiles_of(network, PROFILE, lists, borda=True, place_weight=1.0)

    def grouped(records: int) -> Any:
        chosen = profiles.take(np.arange(records))
        return k_member(chosen, K, np.random.default_rng(SEED), silent, "")

    grouped(50)
    ours, labels = timed(lambda: grouped(nodes))
    plain, groups = timed(lambda: plain_k_member(network, np.random.default_rng(SEED)))
    assert int(labels.max()) + 1 == groups
    assert network.edges is not None
    graph, other = network.edges.graph, mv.graphs.to_networkx(network)
    Clustering.of(graph)
    own, found = timed(lambda: Clustering.of(graph).mean)
    theirs, expected = timed(lambda: nx.average_clustering(other))
    assert abs(found - expected) < 1e-9
    return {"nodes": nodes, "edges": len(network.edges), "groups": (ours, plain), "clustering": (own, theirs)}


JOBS: dict[str, tuple[Callable[[int], dict[str, Any]], int]] = {
    **{f"whole-{nodes}": (whole, nodes) for nodes in SIZES},
    **{f"beside-{nodes}": (beside, nodes) for nodes in (2_500, 10_000)},
}
WHOLE = (
    "| nodes | edges | part | processor | wall | peak memory so far |\n|---|---|---|---|---|---|",
    "| nodes | what | processor |\n|---|---|---|",
)
BESIDE = "| nodes | edges | job | Microveil | plain | ratio |\n|---|---|---|---|---|---|"


def shown(found: dict[str, Any]) -> str:
    """The lines of a job's tables."""
    if "groups" in found:
        lines = []
        for job, name in (("groups", "k-member groups, k=5: NumPy"), ("clustering", "mean clustering: networkx")):
            ours, plain = found[job]
            ratio = f"{ours:.3f} s | {plain:.2f} s | {plain / ours:.0f}"
            lines.append(f"| {found['nodes']:,} | {found['edges']:,} | {name} | {ratio} |")
        return "\n".join([BESIDE, *lines])
    lines = [WHOLE[0]]
    for part in ("made", "protected", "measured"):
        taken = found[part]
        times = f"{taken['cpu']:.1f} s | {taken['wall']:.1f} s | {taken['peak']:.2f} GiB"
        lines.append(f"| {found['nodes']:,} | {found['edges']:,} | {part} | {times} |")
    lines += ["", WHOLE[1]]
    for name, seconds in sorted((found["steps"] | found["measures"]).items(), key=lambda one: -one[1]):
        if seconds >= 0.05:
            lines.append(f"| {found['nodes']:,} | {name or 'reading and guarantees'} | {seconds:.1f} s |")
    return "\n".join(lines)


def main() -> None:
    if sys.argv[1:2] == ["--job"]:
        work, nodes = JOBS[sys.argv[2]]
        print(json.dumps(work(nodes)))
        return
    one_thread = dict.fromkeys(("MICROVEIL_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    for name in sys.argv[1:] or JOBS:
        done = subprocess.run(
            [sys.executable, __file__, "--job", name],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | one_thread,
        )
        found = json.loads(done.stdout)
        print(shown(found), flush=True)
        print(json.dumps({key: found[key] for key in ("risks", "losses", "k") if key in found}), flush=True)


if __name__ == "__main__":
    main()
