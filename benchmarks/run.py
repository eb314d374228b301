"""Speed and memory, as ratios against plain implementations in the same run and as growth with the number of records.

Run with `make bench`; the table it prints is kept in benchmarks/RESULTS.md. Seconds depend on the machine; ratios and
growth are what to compare. A job is timed once after a warm-up call that compiles the kernels.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from plain import plain_mdav, plain_nearest

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.masking.microaggregation.camp_crest import CampCrest
from microveil.masking.microaggregation.iamat import IAMAT
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.optimal_univariate import OptimalUnivariate
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Microdata, datasets, files
from microveil.microdata.datasets.sample_survey import survey
from microveil.numerics.core.compiled import allowance
from microveil.numerics.grouping.centroid_groups import centroid_groups
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.statistics.scaling import standardise
from microveil.scoring import assess


def seconds(job: Callable[[], object]) -> tuple[float, object]:
    began = time.perf_counter()
    result = job()
    return time.perf_counter() - began, result


def normal(n: int, d: int = 10) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, d))


def table(columns: np.ndarray) -> Microdata:
    return Microdata.of({f"x{j}": columns[:, j] for j in range(columns.shape[1])})


def normal_table(n: int) -> Microdata:
    return table(normal(n))


REAL = {
    "diamonds": ("carat", "depth", "table", "price", "x", "y", "z"),
    "nycflights13": ("dep_delay", "arr_delay", "air_time", "distance", "sched_dep_time"),
}
TWO_THREADS = ((20_000, 10, 3, 9), (100_000, 5, 3, 5), (100_000, 10, 3, 5), (100_000, 10, 5, 5), (300_000, 10, 3, 2))
REAL_SIZES = {"diamonds": (53_940,), "nycflights13": (100_000, 300_000)}


def real(table: str, n: int) -> np.ndarray:
    data = datasets.load(table)
    columns = np.column_stack([data.numbers(name).values for name in REAL[table]])
    return standardise(columns[~np.isnan(columns).any(axis=1)][:n])


def sampled(n: int) -> np.ndarray:
    """Flights drawn with replacement and moved a little, to any number of records."""
    rng = np.random.default_rng(1)
    columns = real("nycflights13", 10**9)
    return columns[rng.integers(0, len(columns), n)] + 0.01 * rng.normal(size=(n, columns.shape[1]))


def grouped(columns: np.ndarray) -> np.ndarray:
    return mdav_groups(columns, 3)


def optimal(values: np.ndarray) -> object:
    return OptimalUnivariate(k=3).mask(Microdata.of({"x": values}))


def class_table(n: int) -> Microdata:
    columns = {f"x{j}": column for j, column in enumerate(normal(n).T)}
    classes = np.random.default_rng(2).choice(["a", "b", "c"], n)
    return Microdata.of({**columns, "c": classes}, keys=list(columns), confidential=["c"])


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def mdav_against_plain(n: int) -> str:
    columns = normal(n)
    ours, groups = seconds(lambda: mdav_groups(columns, 3))
    plain, expected = seconds(lambda: plain_mdav(columns, 3))
    same = "the same partition" if (groups == expected).all() else "ANOTHER PARTITION"
    return f"| mdav, {n:,} x 10 normal, k=3 | {ours:.2f} s | {plain:.1f} s | {plain / ours:.0f} times | {same} |"


def linkage_against_plain(n: int) -> str:
    columns = normal(n)
    noisy = columns + 0.3 * normal(n)[::-1]
    ours, risk = seconds(lambda: DistanceLinkage(standardisation="none").assess(table(columns), table(noisy)))
    plain, links = seconds(lambda: plain_nearest(columns, noisy))
    right = 100 * float((links == np.arange(n)).mean())
    same = "the same links" if abs(right - risk.counters["first"]) < 1e-9 else "OTHER LINKS"
    return f"| distance-linkage, {n:,} x 10 normal | {ours:.2f} s | {plain:.1f} s | {plain / ours:.1f} times | {same} |"


def against_mdav(name: str, columns: np.ndarray, work: Callable[[np.ndarray], object], of: np.ndarray) -> str:
    """How long a job takes beside mdav on the columns `of`."""
    ours = min(seconds(lambda: work(columns))[0] for _ in range(2))
    mdav = min(seconds(lambda: mdav_groups(of, 3))[0] for _ in range(2))
    return f"| {name} | {ours:.2f} s | {mdav:.2f} s (mdav) | {ours / mdav:.1f} times as long | |"


def on_two_threads(name: str, columns: np.ndarray, k: int, turns: int) -> str:
    """Wall and processor time of one thread and of two in alternation, the least of each: others may be at work."""
    wall: dict[int, list[float]] = {1: [], 2: []}
    processor: dict[int, list[float]] = {1: [], 2: []}
    partitions, given = [], os.environ.get("MICROVEIL_THREADS")
    for _ in range(turns):
        for number in (1, 2):
            os.environ["MICROVEIL_THREADS"] = str(number)
            began = time.process_time()
            taken, groups = seconds(lambda: mdav_groups(columns, k))
            wall[number].append(taken)
            processor[number].append(time.process_time() - began)
            partitions.append(groups)
    os.environ.pop("MICROVEIL_THREADS")
    if given is not None:
        os.environ["MICROVEIL_THREADS"] = given
    same = "the same" if all((groups == partitions[0]).all() for groups in partitions) else "ANOTHER"
    times = " | ".join(f"{min(wall[number]):.2f} s, {min(processor[number]):.2f} s" for number in (1, 2))
    gain, load = min(wall[1]) / min(wall[2]), os.getloadavg()[0]
    size = f"{columns.shape[0]:,} x {columns.shape[1]}"
    return f"| {name}, {size}, k={k} | {times} | {gain:.2f} times | {load:.1f} | {same} |"


def with_a_huge_value(columns: np.ndarray) -> np.ndarray:
    coded = columns.copy()
    coded[17, 2] = 999_999_999.0
    return coded


def iamat(columns: np.ndarray) -> object:
    return centroid_groups(columns, 3, recomputed=False, interaction=True)


def growth(name: str, prepare: Callable[[int], Any], work: Callable[[Any], object], sizes: tuple[int, ...]) -> None:
    before = None
    for n in sizes:
        given = prepare(n)
        taken = seconds(lambda given=given: work(given))[0]
        factor = "" if before is None else f"{taken / before[1]:.1f} times for {n / before[0]:.1f} times the records"
        print(f"| {name} | {n:,} | {taken:.2f} s | {factor} |", flush=True)
        before = (n, taken)


def csv_round_trip(data: Microdata) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "survey.csv"
        files.write(data, path)
        return files.read(path, schema=data.schema)


def warm_up() -> None:
    allowance.end()
    small = table(normal(60))
    numeric = MDAV(k=3).mask(small)
    mdav_groups(normal(5000, 3), 3)
    mdav_groups(normal(100, 1), 3)
    RankSwapping().mask(small, seed=1)
    IAMAT(k=3).mask(small)
    OptimalUnivariate(k=3).mask(small)
    CampCrest(k=3).mask(class_table(60), seed=1)
    assess(small, numeric)


def main() -> None:
    warm_up()
    print("| job | Microveil | plain numpy | ratio | check |\n|---|---|---|---|---|")
    for row in (mdav_against_plain(10_000), mdav_against_plain(50_000), linkage_against_plain(10_000)):
        print(row, flush=True)
    for n, d in ((50_000, 3), (100_000, 10)):
        print(against_mdav(f"iamat, {n:,} x {d} normal, k=3", normal(n, d), iamat, normal(n, d)), flush=True)
    plain = normal(50_000, 5)
    coded = with_a_huge_value(plain)
    print(against_mdav("mdav, 50,000 x 5 with one value of 999999999", coded, grouped, plain), flush=True)
    print("\n| mdav | one thread: wall, processor | two threads | gain | load | partition |\n|---|---|---|---|---|---|")
    mdav_groups(normal(21_000, 5), 3)  # compiles the kernels of several threads
    for n, d, k, turns in TWO_THREADS:
        print(on_two_threads("normal", normal(n, d), k, turns), flush=True)
    print(on_two_threads("flights", real("nycflights13", 300_000), 3, 3), flush=True)
    print("\n| job | records | time | growth |\n|---|---|---|---|")
    growth("mdav, 10 normal attributes, k=3", normal, lambda x: mdav_groups(x, 3), (10_000, 30_000, 100_000))
    for table, attributes in REAL.items():
        growth(
            f"mdav, {table}, {len(attributes)} attributes, k=3",
            lambda n, t=table: real(t, n),
            grouped,
            REAL_SIZES[table],
        )
    growth("mdav, flights with small noise, 5 attributes, k=3", lambda n: sampled(n), grouped, (1_000_000,))
    growth("optimal-univariate, k=3", lambda n: normal(n, 1)[:, 0], lambda x: optimal(x), (100_000, 1_000_000))
    growth("iamat, 10 normal attributes, k=3", normal_table, lambda t: IAMAT(k=3).mask(t), (10_000, 30_000))
    growth(
        "camp-crest, 10 normal attributes, 3 classes, k=5",
        class_table,
        lambda t: CampCrest(k=5).mask(t, seed=1),
        (3_000, 10_000),
    )
    growth("mdav, 1 attribute, k=3", lambda n: normal(n, 1), lambda x: mdav_groups(x, 3), (100_000, 1_000_000))
    large = (100_000, 1_000_000)
    growth("rank-swapping p=5, 10 attributes", normal_table, lambda t: RankSwapping(p=5).mask(t, seed=1), large)
    growth("noise, 10 attributes", normal_table, lambda t: Noise().mask(t, seed=1), large)
    keys = ["region", "sex", "education", "occupation"]
    growth("pram, 4 attributes of the sample survey", survey, lambda t: PRAM().mask(t, keys, seed=1), large)
    growth(
        "distance-linkage, 10 attributes, noise",
        lambda n: (normal_table(n), Noise().mask(normal_table(n), seed=1)),
        lambda pair: DistanceLinkage().assess(*pair),
        (10_000, 30_000, 100_000),
    )
    growth("sample survey, 14 columns", lambda n: n, survey, large)
    growth("CSV written and read, 14 columns", survey, csv_round_trip, large)
    print(f"\npeak memory of the whole run: {peak_mib():,.0f} MiB; Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
