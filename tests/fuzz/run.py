"""Try Microveil with damaged files and nonsense of every kind, and report whatever is not refused in one sentence.

    python tests/fuzz/run.py --cases 10000             all kinds in turn
    python tests/fuzz/run.py --kinds frames --cases 500 --seed 7
    python tests/fuzz/run.py --case frames:123          one attempt again, with its traceback

A finding is an exception outside the error family, an internal error of a command, a crash, no answer within the time
limit, a file left behind, or an original that was changed. The same seed tries the same cases.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from children import Child

KINDS = ("bytes", "commands", "schemas", "plans", "manifests", "private", "frames", "parameters")
_FAR = 1_000_000  # between the cases of one seed and those of the next


def trials(kinds: Sequence[str], cases: int, seed: int) -> Iterator[tuple[str, int]]:
    """The kinds in turn, each with its next number."""
    for number in range(cases):
        yield kinds[number % len(kinds)], seed * _FAR + number // len(kinds)


def search(
    kinds: Sequence[str],
    cases: int,
    seed: int,
    seconds: float,
    until: float | None = None,
    tell: Callable[[str], object] = lambda line: None,
) -> dict[str, Any]:
    """Try the cases, all or until that many seconds are over; how they ended and every finding with its case."""
    ended: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []
    began = time.monotonic()
    with Child(seconds) as child:
        for kind, number in trials(kinds, cases, seed):
            if until is not None and time.monotonic() - began > until:
                break
            outcome = child.attempt(kind, number)
            ended[f"{kind} {outcome['ended']}"] += 1
            if outcome["ended"] == "finding":
                findings.append({"case": f"{kind}:{number}", **outcome})
                tell(f"{kind}:{number}  {outcome['what']}\n")
    return {"ended": ended, "findings": findings, "seconds": time.monotonic() - began}


def _tell(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000, help="how many attempts in all")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which kinds, with commas")
    parser.add_argument("--seed", type=int, default=1, help="which cases")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of work after which an attempt hangs")
    parser.add_argument("--case", help="one attempt again, as a finding names it")
    wanted = parser.parse_args()
    say = sys.stdout.write
    if wanted.case:
        kind, _, number = wanted.case.partition(":")
        with Child(wanted.limit) as child:
            outcome = child.attempt(kind, int(number))
        for part in ("ended", "what", "told", "trace"):
            say(f"{part:6} {outcome.get(part, '')}\n")
        return int(outcome["ended"] == "finding")
    found = search(wanted.kinds.split(","), wanted.cases, wanted.seed, wanted.limit, tell=_tell)
    for name, times in sorted(found["ended"].items()):
        say(f"{name:24} {times:7,}\n")
    alike: dict[str, list[dict[str, Any]]] = {}
    for finding in found["findings"]:
        alike.setdefault(f"{finding['case'].partition(':')[0]}: {finding['what']}", []).append(finding)
    for what, group in sorted(alike.items(), key=lambda pair: -len(pair[1])):
        say(f"{len(group):5} x {what}\n        {group[0]['case']}  {group[0]['told'][:300]}\n")
    say(f"{sum(found['ended'].values()):,} cases, {len(found['findings']):,} findings, {found['seconds']:.0f} s\n")
    return int(bool(found["findings"]))


if __name__ == "__main__":
    sys.exit(main())
