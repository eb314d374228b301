"""How long the workbench takes to show a long file, and to answer while it works.

    python benchmarks/workbench.py [RECORDS]

It writes the sample survey with six columns more (1,000,000 x 20 by default) as CSV and as Parquet, starts the
workbench by its command in a temporary folder, and loads each file by its path. Told are the seconds from the press of
the button until the first screen has the table of attributes, beside what reading the file with `mv.read` alone takes
in a process of its own; then, while rank swapping of four attributes runs, how long each screen takes to answer (median
and longest).
"""

from __future__ import annotations

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


def seconds_to_first_screen(client: httpx.Client, path: Path) -> float:
    began = time.perf_counter()
    client.post("/load", data={"path": str(path)})
    while True:
        page = client.get("/data").text
        if f"<strong>{path.name}</strong>" in page and 'class="attributes"' in page:
            return time.perf_counter() - began
        assert "banner wrong" not in page, page
        time.sleep(0.02)


def seconds_of_reading(path: Path) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", _READ, str(path)], check=True)
    return time.perf_counter() - began


def answers_during_a_run(client: httpx.Client) -> dict[str, list[float]]:
    """The seconds of every answer while a step runs."""
    while _is_busy(client):
        time.sleep(0.1)
    client.post("/step", data={"method": "rank-swapping", "set:p": "5", "attribute": list(NUMERIC)})
    taken: dict[str, list[float]] = {screen: [] for screen in SCREENS}
    while _is_busy(client):
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
            print("| file | MB | first screen, s | reading alone, s | ratio |\n|---|---|---|---|---|")
            for path in paths:
                alone = seconds_of_reading(path)
                shown = seconds_to_first_screen(client, path)
                size = path.stat().st_size / 1e6
                print(f"| {path.name} | {size:.0f} | {shown:.1f} | {alone:.1f} | {shown / alone:.1f} |", flush=True)
            taken = answers_during_a_run(client)
            print("\n| screen | answers during a run | median, ms | longest, ms |\n|---|---|---|---|")
            for screen, found in taken.items():
                median, longest = 1000 * statistics.median(found), 1000 * max(found)
                print(f"| {screen} | {len(found)} | {median:.0f} | {longest:.0f} |")
        finally:
            client.close()
            server.send_signal(signal.SIGINT)
            server.wait()


if __name__ == "__main__":
    main()
