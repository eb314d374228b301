"""How long the workbench takes to show a long file, and to answer while it works.

    python benchmarks/workbench.py [RECORDS]

It writes the sample survey with six columns more (1,000,000 x 20 by default) as CSV and as Parquet, starts the
workbench by its command in a temporary folder, and loads each file by its path. Told are the seconds from the press of
the button until the first screen has the table of attributes, beside what reading the file with `mv.read` alone takes
in a process of its own; then, while rank swapping of four attributes runs and is measured, at most for a minute, how
long each screen takes to answer (median, share within 200 ms, longest). Beside each stand the processor seconds, which
a machine that is busy with other programs changes least: of the server with its workers for a file, of the server alone
for an answer.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

RECORDS = 1_000_000
LONGEST = 60  # seconds of a run during which pages are asked for
NUMERIC = ("age", "income", "wealth", "expenditure")
SCREENS = ("data", "risk", "try", "map", "out")
_READ = "import sys, microveil as mv; mv.read(sys.argv[1])"


def write_files(folder: Path, records: int) -> list[Path]:
    """The survey with six columns of numbers and codes more, in two formats."""
    import microveil as mv

    table = mv.datasets.survey(records, seed=1).frame.to_arrow()
    rng = np.random.default_rng(1)
    for i in range(3):
        table = table.append_column(f"amount_{i}", [np.round(rng.gamma(2.0, 900.0, len(table)), 2)])
        table = table.append_column(f"code_{i}", [rng.integers(1, 40 * (i + 1), len(table))])
    paths = [folder / "long.csv", folder / "long.parquet"]
    for path in paths:
        mv.write(mv.Microdata.of(table), path)
    return paths


def started(folder: Path) -> tuple[subprocess.Popen[str], httpx.Client]:
    command = [sys.executable, "-m", "microveil.cli", "workbench", "--no-open", "--workspace", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    base = address.partition("/?")[0]
    client = httpx.Client(base_url=base, headers={"origin": base}, follow_redirects=True, timeout=600)
    client.get(address)
    return server, client


def processor_seconds(server: int, *, workers: bool) -> float:
    """What a process has used so far, with the processes that it has started and these have."""
    ticks, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        process = int(stat.parent.name)
        parents[process], ticks[process] = int(fields[1]), sum(map(int, fields[11:15] if workers else fields[11:13]))
    tree = {server}
    while workers and (more := {one for one, parent in parents.items() if parent in tree} - tree):
        tree |= more
    return sum(ticks[one] for one in tree if one in ticks) / os.sysconf("SC_CLK_TCK")


def seconds_to_first_screen(client: httpx.Client, server: int, path: Path) -> tuple[float, float]:
    """Seconds, and processor seconds of the server and its workers."""
    began, used = time.perf_counter(), processor_seconds(server, workers=True)
    client.post("/load", data={"path": str(path)})
    while True:
        page = client.get("/data").text
        if f"<strong>{path.name}</strong>" in page and 'class="attributes"' in page:
            return time.perf_counter() - began, processor_seconds(server, workers=True) - used
        assert "banner wrong" not in page, page
        time.sleep(0.1)


def seconds_of_reading(path: Path) -> tuple[float, float]:
    """Seconds, and processor seconds."""
    began, used = time.perf_counter(), os.times()
    subprocess.run([sys.executable, "-c", _READ, str(path)], check=True)
    now = os.times()
    processor = now.children_user + now.children_system - used.children_user - used.children_system
    return time.perf_counter() - began, processor


def answers_during_a_run(client: httpx.Client) -> dict[str, list[float]]:
    """The seconds of every answer while a step runs and is measured."""
    while _is_busy(client):
        time.sleep(0.1)
    client.post("/step", data={"method": "rank-swapping", "set:p": "5", "attribute": list(NUMERIC)})
    taken: dict[str, list[float]] = {screen: [] for screen in SCREENS}
    until = time.perf_counter() + LONGEST
    while _is_busy(client) and time.perf_counter() < until:
        for screen in SCREENS:
            began = time.perf_counter()
            assert client.get(f"/{screen}").status_code == 200
            taken[screen].append(time.perf_counter() - began)
    return taken


def _is_busy(client: httpx.Client) -> bool:
    with client.stream("GET", "/events") as events:
        for line in events.iter_lines():
            if line.startswith("data:"):
                return '"jobs": []' not in line
    return False


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder), records)
        server, client = started(Path(folder) / "space")
        try:
            client.post("/load", data={"source": "sample"})  # kernels are compiled, modules loaded
            while _is_busy(client):
                time.sleep(0.1)
            print("| file | MB | first screen, s | its processor seconds | reading alone, s | its processor seconds |")
            print("|---|---|---|---|---|---|")
            for path in paths:
                alone, shown = seconds_of_reading(path), seconds_to_first_screen(client, server.pid, path)
                size = path.stat().st_size / 1e6
                numbers = " | ".join(f"{number:.1f}" for number in (*shown, *alone))
                print(f"| {path.name} | {size:.0f} | {numbers} |", flush=True)
            used = processor_seconds(server.pid, workers=False)
            taken = answers_during_a_run(client)
            used = processor_seconds(server.pid, workers=False) - used
            print(
                "\n| screen | answers during a run | median, ms | within 200 ms | longest, ms |\n|---|---|---|---|---|"
            )
            for screen, found in taken.items():
                median, longest = 1000 * statistics.median(found), 1000 * max(found)
                within = 100 * sum(seconds <= 0.2 for seconds in found) / len(found)
                print(f"| {screen} | {len(found)} | {median:.0f} | {within:.1f} % | {longest:.0f} |")
            answers = sum(map(len, taken.values()))
            print(f"\nprocessor milliseconds of the server for an answer, at most: {1000 * used / answers:.0f}")
        finally:
            client.close()
            server.send_signal(signal.SIGINT)
            server.wait()


if __name__ == "__main__":
    main()
