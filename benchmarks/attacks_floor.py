"""What attacks and start-up take, each beside a floor in the same run, in processor seconds.

python benchmarks/attacks_floor.py linkage           distance linkage beside scipy's k-d tree
python benchmarks/attacks_floor.py linkage 100000    with as many records; else 20,000
python benchmarks/attacks_floor.py contributions     what each attribute contributes, beside a run for each attribute
python benchmarks/attacks_floor.py start             protect of 100 rows beside importing numpy, pyarrow and numba
python benchmarks/attacks_floor.py start 2000        with as many rows
"""

from __future__ import annotations

import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

import microveil
from microveil.attacks.base import Attack
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.probabilistic import ProbabilisticLinkage
from microveil.comparison.pairs import Pair
from microveil.microdata import Microdata, files
from microveil.microdata.datasets.sample_survey import survey
from microveil.numerics.core.compiled import allowance
from microveil.progress import silent


def processor_seconds(job: Callable[[], object]) -> tuple[float, object]:
    began = time.process_time()
    result = job()
    return time.process_time() - began, result


def table(cells: np.ndarray) -> Microdata:
    return Microdata.of({f"v{j}": column for j, column in enumerate(cells.T)})


def pair(n: int, d: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Independent normal numbers, and the same with noise of 0.3 deviations."""
    rng = np.random.default_rng(seed)
    cells = rng.normal(size=(n, d))
    return cells, cells + 0.3 * rng.normal(size=(n, d))


def linkage(n: int) -> None:
    attack = DistanceLinkage(standardisation="none")
    few = pair(2000, 3)
    attack.assess(table(few[0]), table(few[1]))  # compiles the kernels
    print("| records | numbers | distance-linkage | k-d tree, the nearest alone | ratio | |")
    print("|---|---|---|---|---|---|")
    for d in (3, 6, 10, 16):
        before, after = pair(n, d)
        ours, risk = processor_seconds(lambda b=before, a=after: attack.assess(table(b), table(a)))  # type: ignore[misc]
        tree, found = processor_seconds(lambda b=before, a=after: cKDTree(a).query(b, workers=2))  # type: ignore[misc]
        right = 100 * float((found[1] == np.arange(n)).mean())  # type: ignore[index]
        same = "the same links" if abs(right - risk.counters["first"]) < 1e-9 else "OTHER LINKS"  # type: ignore[attr-defined]
        print(f"| {n:,} | {d} | {ours:.2f} s | {tree:.2f} s | {ours / tree:.2f} | {same} |", flush=True)


def contributions(n: int) -> None:
    attack = ProbabilisticLinkage()
    print("| records | numbers | by one count | a run for each attribute | ratio | |")
    print("|---|---|---|---|---|---|")
    for size in (200, n):  # the first compiles the kernels
        before, after = pair(size, 10)
        known = Pair.of(table(before), table(after))
        left_out = {name: {name} for name in known.attributes}
        given = known, known.attributes, left_out, silent
        ours, found = processor_seconds(lambda g=given: attack.without_each(*g))  # type: ignore[misc]
        plain, expected = processor_seconds(lambda g=given: Attack.without_each(attack, *g))  # type: ignore[misc]
        same = all(risk.value == expected[name].value for name, risk in found.items())  # type: ignore[attr-defined, index]
        told = "the same risks" if same else "OTHER RISKS"
        if size == n:
            print(f"| {n:,} | 10 | {ours:.2f} s | {plain:.2f} s | {plain / ours:.1f} times | {told} |")


def of_process(command: list[str], folder: Path, **environment: str) -> float:
    """The processor seconds of a process."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    for path in folder.glob("safe*"):
        path.unlink()
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env={**os.environ, **environment})
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def start(n: int) -> None:
    """As after an install, which compiles modules to byte code and no kernel."""
    compileall.compile_dir(Path(microveil.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files.write(survey(n, seed=1), folder / "people.csv")
        floor = [sys.executable, "-c", "import numpy, pyarrow, numba"]
        lowest = min(of_process(floor, folder) for _ in range(4))
        print(f"importing numpy, pyarrow and numba: {lowest:.2f} s\n")
        print(f"| protect of {n:,} rows | after an install | then | beside the imports |")
        print("|---|---|---|---|")
        numbers, codes = "age,income", "sex,region"
        jobs = {"mdav": numbers, "rank-swapping": numbers, "noise": numbers, "suppress": codes, "pram": codes}
        for method, names in jobs.items():
            words = ["people.csv", "--method", method, "--attributes", names, "--seed", "1", "--out", "safe.csv"]
            command = [sys.executable, "-m", "microveil.cli", "protect", *words]
            cache = str(folder / f"cache-{method}")
            first = of_process(command, folder, NUMBA_CACHE_DIR=cache)
            warm = min(of_process(command, folder, NUMBA_CACHE_DIR=cache) for _ in range(4))
            print(f"| {method} | {first:.1f} s | {warm:.2f} s | {warm / lowest:.1f} times |", flush=True)


def main() -> None:
    allowance.end()
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if what == "linkage":
        linkage(size or 20_000)
    elif what == "contributions":
        contributions(size or 10_000)
    elif what == "start":
        start(size or 100)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
