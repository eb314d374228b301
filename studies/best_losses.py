"""The loss of `best` on reference tables with a lower bound that no groups can fall below, beside targets and MDAV.

Run: python studies/best_losses.py [--tables tarragona,census] [--k 3,5] [--polish 1000] [--rounds 30] [--nodes 1000]
     [--effort fast|tight] [--out FILE.csv] [--markdown]

Losses are 100 SSE / SST on z-scores of all numeric attributes, bounds the same. Each row is added to the file once
it is measured, so that the table grows over many runs; `--markdown` prints what the file has: of the rows for one table
and k the least loss, the highest bound, and their gap as a share of the loss. Times are those of the processor.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.best import Best
from microveil.masking.microaggregation.bound import NODES, ROUNDS, microaggregation_bound
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata, datasets

TABLES = ("tarragona", "census", "eia", "abalone", "boston_housing", "wdbc", "water_treatment")
TARGETS = {
    ("tarragona", 3): 14.55, ("tarragona", 5): 20.10, ("tarragona", 10): 29.80,
    ("census", 3): 4.85, ("census", 5): 7.60, ("census", 10): 11.70,
}  # fmt: skip
COLUMNS = (
    "table", "records", "attributes", "k", "mdav", "best", "bound", "optimal",
    "best seconds", "bound seconds", "polish", "effort", "rounds", "nodes",
)  # fmt: skip


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--tables", default="tarragona,census")
    asked.add_argument("--k", default="3,4,5,10")
    asked.add_argument("--polish", type=int, default=None)
    asked.add_argument("--effort", choices=("fast", "tight"), default="tight")
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    asked.add_argument("--nodes", type=int, default=NODES)
    asked.add_argument("--out", type=Path, default=Path(__file__).with_name("best_losses.csv"))
    asked.add_argument("--markdown", action="store_true", help="print the file as a table and measure nothing")
    given = asked.parse_args()
    if not given.markdown:
        for name in TABLES if given.tables == "all" else given.tables.split(","):
            data = datasets.load(name)
            for k in map(int, given.k.split(",")):
                add_row(given.out, measured(name, data, k, given))
    print(as_markdown(given.out))


def measured(name: str, data: Microdata, k: int, given: argparse.Namespace) -> dict[str, object]:
    numeric = [attribute for attribute in data.names if data[attribute].kind == "numeric"]
    began = time.process_time()
    method = Best(k=k, bound="none", **({} if given.polish is None else {"polish": given.polish}))
    release = method.mask(data, numeric, seed=1)
    masked = time.process_time()
    bound = microaggregation_bound(
        data, k, numeric, effort=given.effort, start=release.partition, rounds=given.rounds, nodes=given.nodes
    )
    ended = time.process_time()
    plain = SSE().measure(data, MDAV(k=k).mask(data, numeric), numeric).value
    loss = SSE().measure(data, release, numeric).value
    values = (
        name, len(data), len(numeric), k, f"{plain:.4f}", f"{min(loss, bound.known):.4f}",
        f"{bound.least:.4f}", int(bound.optimal), f"{masked - began:.1f}", f"{ended - masked:.1f}",
        "" if given.polish is None else given.polish, given.effort, given.rounds, given.nodes,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def add_row(file: Path, row: dict[str, object]) -> None:
    is_new = not file.exists()
    with file.open("a", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)
    print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)


def as_markdown(file: Path) -> str:
    """For each table and k the least loss and the highest bound of all rows."""
    with file.open(encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    lines = [
        "| table | k | target | best | bound | gap | mdav | seconds of best | seconds of the bound |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, k in dict.fromkeys((row["table"], int(row["k"])) for row in rows):
        of_case = [row for row in rows if (row["table"], int(row["k"])) == (name, k)]
        best = min(of_case, key=lambda row: float(row["best"]))
        bound = max(of_case, key=lambda row: float(row["bound"]))
        loss, least, target = float(best["best"]), float(bound["bound"]), TARGETS.get((name, k))
        verdict = "" if target is None else f"{target:.2f}" + ("" if loss <= target else _missed(target, least))
        gap = f"{100 * max(0.0, 1 - least / loss) if loss > 0 else 0.0:.2f} %"
        cells = (name, k, verdict, f"{loss:.4f}", f"{least:.4f}", gap, best["mdav"])
        lines.append("| " + " | ".join(map(str, (*cells, best["best seconds"], bound["bound seconds"]))) + " |")
    return "\n".join(lines)


def _missed(target: float, least: float) -> str:
    return " (missed; proved to be out of reach)" if least > target else " (missed)"


if __name__ == "__main__":
    main()
