"""Mic1D-kappa on EIA and Water, grouping on the circle and the sphere, and the random file: printed beside measured.

Run: python studies/mic1d_tables.py. Takes a few seconds. The printed 2G columns were made with two triples cut down to
pairs; they are rebuilt with those pairs, and the value with the triples as listed stands beside.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from microveil.attacks.anonymity import random_file_anonymity, random_file_bounds, real_anonymity
from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.losses.numeric.moments import IL
from microveil.masking.microaggregation.grouping import circle_file, correlated_blocks, sphere_file, spread_blocks
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata, datasets
from microveil.numerics.one_dimension import mic1d, scan

FloatArray = npt.NDArray[np.float64]

# what the intruder knows: attributes within one block, across two, across three
KNOWN = {
    "S1": {
        "1G": "123 456 789",
        "2G": "125 137 236 45 46 569 678 189 279",
        "2G as listed": "125 137 236 145 246 569 678 189 279",
        "3G": "147 158 169 247 258 269 347 358 369",
    },
    "S2": {
        "1G": "147 258 369",
        "2G": "145 137 478 25 28 589 368 169 349",
        "2G as listed": "145 137 478 125 248 589 368 169 349",
        "3G": "123 156 189 234 456 489 237 567 789",
    },
}
# kappa: sum of squares, and 1G, 2G, 3G for S1 and S2; the S2 half of EIA repeats S1 in print
EIA = {
    5000: (36.49, (3.04, 4.57, 2.68), None),
    5500: (472.69, (4.48, 6.79, 3.90), None),
    6000: (135.21, (5.37, 8.18, 4.52), None),
    6500: (556.24, (7.89, 11.69, 6.56), None),
    7000: (56.84, (8.96, 13.51, 7.08), None),
}
WATER = {
    300: (32.67, (1.62, 1.51, 1.10), (1.11, 1.35, 1.35)),
    500: (65.89, (3.25, 3.39, 1.76), (2.78, 2.58, 2.63)),
    800: (80.95, (7.87, 7.55, 4.67), (4.74, 7.17, 6.88)),
    850: (132.13, (9.65, 10.03, 6.65), (6.54, 9.77, 8.67)),
    900: (255.64, (12.95, 13.61, 9.14), (9.07, 14.52, 11.71)),
}


def heading(title: str, *columns: str) -> None:
    print(f"\n## {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def row(*cells: object) -> None:
    print(f"| {' | '.join(f'{cell:.2f}' if isinstance(cell, float) else str(cell) for cell in cells)} |", flush=True)


def compared(printed: float, measured: float, tolerance: float = 0.0151) -> tuple[float, float, str, str]:
    verdict = "reproduced" if abs(measured - printed) <= tolerance else "not reproduced"
    return printed, measured, f"{measured - printed:+.2f}", verdict


def matrix(data: Microdata) -> FloatArray:
    return np.column_stack([data.numbers(name).values for name in data.names])


def water() -> FloatArray:
    """The nine attributes of the records that have no missing value in any of the 38."""
    table = datasets.load("water_treatment")
    numeric = [name for name in table.names if table[name].kind == "numeric"]
    complete = ~np.isnan(matrix(table.select(numeric))).any(axis=1)
    return matrix(table.select(datasets.COLUMNS["water"]))[complete]


def anonymity(masked: FloatArray, known: str) -> float:
    sets = ([int(number) - 1 for number in entry] for entry in known.split())
    return float(np.mean([real_anonymity(masked[:, columns]).average for columns in sets]))


Printed = dict[int, tuple[float, tuple[float, ...], tuple[float, ...] | None]]


def mic1d_table(title: str, columns: FloatArray, printed: Printed) -> None:
    heading(title, "kappa", "figure", "printed", "measured", "difference", "")
    for kappa, sse in scan(columns, printed).items():
        row(kappa, "SSE", *compared(printed[kappa][0], sse))
        masked = mic1d(columns, kappa)
        for scheme, values in zip(("S1", "S2"), printed[kappa][1:], strict=True):
            for case, value in zip(("1G", "2G", "3G"), values or (), strict=values is not None):
                row(kappa, f"{scheme} {case}", *compared(value, anonymity(masked, KNOWN[scheme][case])))
            row(
                kappa, f"{scheme} 2G as listed", "", anonymity(masked, KNOWN[scheme]["2G as listed"]), "", "right value"
            )


def shapes() -> None:
    heading(
        "The circle and the sphere: correlated attributes together (S1) or spread over the blocks (S2)",
        *("file", "blocks", "figure", "printed", "measured", "difference", ""),
    )
    for file, data, k, size, printed in (
        ("circle", circle_file(), 2, 2, {"S1": (0.0, 75.0, 100.0), "S2": (26.38, 35.0, 39.23)}),
        ("sphere", sphere_file(), 4, 3, {"S1": (0.0, 55.0, 100.0), "S2": (31.52, 10.0, 70.66)}),
    ):
        for scheme, choose in (("S1", correlated_blocks), ("S2", spread_blocks)):
            release = MDAV(k=k, block=size).mask(data, choose(matrix(data), data.names, size).order)
            linked = [
                DistanceLinkage().assess(data, release, [f"a{j + 1}" for j in range(t)]).value
                for t in range(1, size + 1)
            ]
            measured = (
                IL().measure(data, release).value,
                float(np.mean(linked)),
                IntervalDisclosure().assess(data, release).value,
            )
            for figure, value, found in zip(("IL", "DLD", "ID"), printed[scheme], measured, strict=True):
                row(file, scheme, figure, *compared(value, found))
            row(file, scheme, "k'", "", real_anonymity(release).average, "", "")


def random_file() -> None:
    heading("A random file of 380 records, k = 25, two blocks", "figure", "known", "measured")
    row("k'", "1.91776", f"{random_file_anonymity(380, 25, 2):.5f}")
    row("bounds", "1.9158 to 1.9176", " to ".join(f"{bound:.4f}" for bound in random_file_bounds(380, 25, 2)))


def main() -> None:
    eia = matrix(datasets.load("eia").select(datasets.COLUMNS["eia-nine"]))
    mic1d_table("Table 3.10: Mic1D on EIA", eia, EIA)
    mic1d_table("Table 3.11: Mic1D on Water", water(), WATER)
    shapes()
    random_file()


if __name__ == "__main__":
    main()
