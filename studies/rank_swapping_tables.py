"""Information loss of the three ways of rank swapping: Tables 4.3 to 4.5, printed value beside measured value.

Run: python studies/rank_swapping_tables.py [repeats]. All ten attributes of EIA and all thirteen of Census are swapped;
the loss is the plain mean of IL1 to IL5 (`raw`), since bounding each part by 100 would hide where IL1 goes beyond. The
methods are random, the source does not say how many files it made, and each measured value is a mean over `repeats`
(10 unless given) with its standard deviation. "known" is what the specification computed by itself. The other columns
of these tables are risks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from microveil.losses.numeric.moments import IL
from microveil.masking.base import Method
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.masking.swapping.rank_swapping_buckets import RankSwappingBuckets
from microveil.masking.swapping.rank_swapping_distribution import RankSwappingDistribution
from microveil.microdata import Microdata, datasets

PERCENTAGES = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
BUCKETS = (75, 50, 35, 30, 25, 20, 15, 10, 5)
# table of the source, method, its parameter, file and printed losses; the loss of p = 8 on EIA in Table 4.4 is a copy
# of that in Table 4.3 and has no value of its own
Make = Callable[[int], Method]
PRINTED: list[tuple[str, Make, Sequence[int], str, Sequence[float | None]]] = [
    (
        *("4.3 rank-swapping", lambda p: RankSwapping(p=p), PERCENTAGES, "census"),
        (3.89, 6.54, 10.57, 16.54, 20.18, 23.46, 28.93, 35.16, 32.52, 35.12),
    ),
    (
        *("4.3 rank-swapping", lambda p: RankSwapping(p=p), PERCENTAGES, "eia"),
        (4.24, 9.67, 14.63, 18.71, 22.87, 26.60, 29.42, 32.38, 34.22, 36.27),
    ),
    (
        *("4.4 rank-swapping-distribution", lambda p: RankSwappingDistribution(p=p), PERCENTAGES, "census"),
        (3.80, 7.42, 14.44, 17.31, 22.49, 31.04, 31.80, 33.53, 37.89, 43.92),
    ),
    (
        *("4.4 rank-swapping-distribution", lambda p: RankSwappingDistribution(p=p), PERCENTAGES, "eia"),
        (5.24, 11.33, 16.83, None, 26.11, 29.89, 32.01, 35.59, 37.69, 40.12),
    ),
    (
        *("4.5 rank-swapping-buckets", lambda b: RankSwappingBuckets(buckets=b), BUCKETS, "census"),
        (7.51, 13.14, 17.03, 18.96, 22.79, 30.97, 36.29, 46.91, 65.29),
    ),
    (
        *("4.5 rank-swapping-buckets", lambda b: RankSwappingBuckets(buckets=b), BUCKETS, "eia"),
        (10.03, 14.35, 20.03, 22.49, 25.98, 30.46, 36.32, 45.17, 54.96),
    ),
    (
        *("(4.5) the same, only the place drawn again", lambda b: RankSwappingBuckets(buckets=b, taken="place")),
        *(BUCKETS, "eia", (10.03, 14.35, 20.03, 22.49, 25.98, 30.46, 36.32, 45.17, 54.96)),
    ),
]
# the specification's own computation, sections 2 and 3, by table, file and parameter
KNOWN = {("4.4", "eia", p): loss for p, loss in ((2, 5.74), (4, 12.5), (10, 26.5))} | {
    ("4.5", "eia", b): loss
    for b, loss in zip(BUCKETS, (9.25, 13.2, 18.1, 20.3, 25.0, 30.6, 39.5, 62.6, 204.8), strict=True)
}
TOLERANCE = 0.1


def losses(data: Microdata, method: Method, repeats: int) -> np.ndarray:
    return np.array([IL().measure(data, method.mask(data, data.names, seed=s)).raw for s in range(1, repeats + 1)])


def main(repeats: int = 10) -> None:
    files = {name: datasets.load(name) for name in ("census", "eia")}
    files["eia"] = files["eia"].select(datasets.COLUMNS["eia"])
    compared, near = 0, 0
    for title, make, parameters, name, printed in PRINTED:
        print(f"\n## Table {title}, {name}, mean of {repeats} files\n")
        print("| parameter | printed | measured | deviation | difference | known | within 10 % of printed |")
        print("|---|---|---|---|---|---|---|")
        for value, shown in zip(parameters, printed, strict=True):
            measured = losses(files[name], make(value), repeats)
            mean, known = measured.mean(), KNOWN.get((title[:3], name, value))
            close = shown is not None and abs(mean - shown) <= TOLERANCE * shown
            if shown is not None and title.startswith("4"):
                compared, near = compared + 1, near + close
            print(
                f"| {value} | {'(misprint)' if shown is None else shown} | {mean:.2f} | {measured.std():.2f} | "
                f"{'' if shown is None else f'{100 * (mean / shown - 1):+.1f} %'} | {known or ''} | "
                f"{'' if shown is None else 'yes' if close else 'no'} |",
                flush=True,
            )
    print(f"\n{near} of {compared} printed losses within 10 per cent")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
