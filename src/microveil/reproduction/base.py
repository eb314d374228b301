"""What a reproduction is: a published table that can be computed again, and what is said about each of its values."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

Verdict = Literal[
    "exact", "within", "as the specification found", "as specified", "differs", "no printed value", "not measured"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MEANINGS: dict[Verdict, str] = {
    "exact": "comes out to every printed digit",
    "within": "as near as the specification expects, or, where the table names another bound, as near as that",
    "as the specification found": (
        "printed, and does not come out as printed but as the specification computed it, so that print is at fault or "
        "leaves out how it was made"
    ),
    "as specified": "never printed, or the print is lost; comes out as the specification computed it",
    "differs": "neither the printed value, where there is one, nor one that the specification computed",
    "no printed value": "measured, and nothing to compare it with: neither printed nor computed by the specification",
    "not measured": "printed, but cannot be measured, mostly because its data cannot be had",
}
PRINTED = Path(__file__).parent / "printed"


@dataclass(frozen=True)
class Row:
    """One value of a table.

    `decimals` is how many digits after the point are printed (or were found); `tolerance` how far from print the
    specification expects a right program to be; `found` what the specification computed where the print does not come
    out, within `near` of it (by default half a digit).

    >>> Row("IL", 5.6535, 5.653559, decimals=4).verdict
    'differs'
    >>> Row("IL", 5.6535, 5.653559, decimals=4, tolerance=1e-4).verdict
    'within'
    >>> Row("2G", 6.64, 1.392, found=1.39).verdict
    'as the specification found'
    >>> Row("2G", None, 1.392, found=1.39).verdict
    'as specified'
    """

    label: str
    printed: float | None
    measured: float | None
    decimals: int = 2
    tolerance: float = 0.0
    found: float | None = None
    near: float | None = None
    note: str = ""

    @property
    def difference(self) -> float | None:
        return None if self.printed is None or self.measured is None else self.measured - self.printed

    @property
    def verdict(self) -> Verdict:
        if self.measured is None:
            return "not measured"
        half = 0.5 * 10.0**-self.decimals
        if self.difference is not None and _at_most(self.difference, half):
            return "exact"
        if self.difference is not None and _at_most(self.difference, self.tolerance):
            return "within"
        if self.found is not None:
            near = half if self.near is None else self.near
            if not _at_most(self.measured - self.found, near):
                return "differs"
            return "as specified" if self.printed is None else "as the specification found"
        return "no printed value" if self.printed is None else "differs"

    @property
    def comes_out(self) -> bool:
        """Whether the value is as printed, or as the specification expects it."""
        return self.verdict in ("exact", "within", "as the specification found", "as specified")

    def to_plain(self) -> dict[str, Any]:
        return {**asdict(self), "difference": self.difference, "verdict": self.verdict}


def _at_most(difference: float, bound: float) -> bool:
    """Within the bound, but for what rounding twice can add."""
    return abs(difference) <= bound + 1e-9 * max(1.0, abs(bound))


Rows = Iterator[Row]


@dataclass(frozen=True)
class Quick:
    """A short form of a long reproduction: how many rows, about how many seconds, and what it leaves out."""

    length: int
    seconds: float
    leaves_out: str


@dataclass(frozen=True)
class Reproduction:
    """A published table, or a part of one, that can be computed again.

    `rows` computes it, whole or (if there is one) in its quick form; `length` is how many rows there are, `seconds`
    about how long that takes; `needs` are the reference files; `why` explains what does not come out.
    """

    name: str
    title: str
    source: str
    rows: Callable[[bool], Rows]
    length: int
    seconds: float
    needs: tuple[str, ...] = ()
    quick: Quick | None = None
    why: str = ""

    @property
    def family(self) -> str:
        """The name without the number of the table."""
        return self.name.rpartition("-")[0]

    def extent(self, quick: bool) -> tuple[int, float]:
        """The number of rows and about how many seconds they take."""
        if quick and self.quick is not None:
            return self.quick.length, self.quick.seconds
        return self.length, self.seconds

    def to_plain(self) -> dict[str, Any]:
        return {
            **{key: getattr(self, key) for key in ("name", "title", "source", "why")},
            "needs": list(self.needs),
            "rows": self.length,
            "seconds": self.seconds,
            "quick": None if self.quick is None else asdict(self.quick),
        }


def whole(rows: Callable[[], Rows]) -> Callable[[bool], Rows]:
    """Of a table that is quick as a whole."""
    return lambda quick: rows()


def printed(name: str, *tables: str) -> list[dict[str, str]]:
    """The lines of a printed table that lies beside this module, as text; those of some tables only, if named."""
    with (PRINTED / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return [line for line in csv.DictReader(lines) if not tables or line["table"] in tables]


def decimals_of(number: str) -> int:
    """How many digits a printed number has after its point.

    >>> decimals_of("0.1080"), decimals_of("12")
    (4, 0)
    """
    return len(number.partition(".")[2])


def row(label: str, shown: str, measured: float | None, **more: Any) -> Row:
    """A row whose printed value is text, so that its digits are known; empty text is no value.

    >>> row("SSE", "28.18", 28.1849).verdict
    'exact'
    """
    if not shown:
        return Row(label, None, measured, **more)
    return Row(label, float(shown), measured, **{"decimals": decimals_of(shown), **more})


def file_of_scores(table: str) -> str:
    """The printed scores of a table lie under its number.

    >>> file_of_scores("4.10")
    'scores_4_10'
    """
    return f"scores_{table.replace('.', '_')}"
