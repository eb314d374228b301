"""What a reproduction is: a published table that can be computed again, and what is said about each of its values."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

Kind = Literal["measurement", "arithmetic", "claim", "fitted", "another reading"]
Verdict = Literal[
    "as printed",
    "near print",
    "recomputed",
    "differs",
    "not measured",
    "adds up",
    "does not add up",
    "agrees",
    "disagrees",
    "holds",
    "does not hold",
    "fitted",
    "another reading",
    "no comparison",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MEANINGS: dict[Verdict, str] = {
    "as printed": "measured, and equal to the printed value in every printed digit",
    "near print": "measured, and as near to the printed value as the table allows; the table says how near",
    "recomputed": (
        "measured, and not as printed, but equal to a corrected value or to an independent recomputation, which stand "
        "beside the printed value"
    ),
    "differs": "measured, and neither near the printed value nor equal to a recomputation",
    "not measured": "printed, but cannot be measured, mostly because its data are not available",
    "adds up": "arithmetic: follows from other printed values, within their rounding; nothing was measured",
    "does not add up": "arithmetic: does not follow from the other printed values",
    "agrees": "never printed, or the print is lost; measured, and equal to an independent recomputation",
    "disagrees": "never printed, or the print is lost; measured, and not equal to an independent recomputation",
    "holds": "something that the text claims, or that should be seen if it is right; it was measured, and it is so",
    "does not hold": "something that the text claims, or that should be seen if it is right; measured, it is not so",
    "fitted": "used to choose a setting that the literature does not state, so that it is no check",
    "another reading": "measured by a second reading of the text; its printed value has its verdict elsewhere",
    "no comparison": "measured by Microveil; neither printed nor recomputed",
}
# what is counted together; nothing else is ever added up
AGAINST_PRINT: tuple[Verdict, ...] = ("as printed", "near print", "recomputed", "differs")
ARITHMETIC: tuple[Verdict, ...] = ("adds up", "does not add up")
UNPRINTED: tuple[Verdict, ...] = ("agrees", "disagrees")
CLAIMS: tuple[Verdict, ...] = ("holds", "does not hold")
UNJUDGED: tuple[Verdict, ...] = ("not measured", "fitted", "another reading", "no comparison")
GROUPS: dict[str, tuple[Verdict, ...]] = {
    "measured against print": AGAINST_PRINT,
    "arithmetic on printed values": ARITHMETIC,
    "recomputed, not in print": UNPRINTED,
    "claims of the text": CLAIMS,
    "without a verdict": UNJUDGED,
}
NOT_AS_PRINTED: tuple[Verdict, ...] = ("differs", "recomputed", "does not add up", "disagrees", "does not hold")
PRINTED = Path(__file__).parent / "printed"


@dataclass(frozen=True)
class Row:
    """One value of a table.

    `decimals` is how many digits after the point are printed (or were recomputed); `tolerance` how far from print a
    right program may be; `recomputed` a corrected value, or what an independent program computed from the published
    description, which must be met within `near` (by default half a digit). `kind` says how the value was made: measured
    by Microveil, by arithmetic on other printed values, fitted to print, or by a second reading of the same text; or
    that it decides a claim, which then `holds` or not.

    >>> Row("IL", 5.6535, 5.653559, decimals=4).verdict
    'differs'
    >>> Row("IL", 5.6535, 5.653559, decimals=4, tolerance=1e-4).verdict
    'near print'
    >>> Row("2G", 6.64, 1.392, recomputed=1.39).verdict
    'recomputed'
    >>> Row("2G", None, 1.392, recomputed=1.39).verdict
    'agrees'
    >>> Row("score", 20.75, 20.751, kind="arithmetic").verdict
    'adds up'
    >>> Row("score falls by, %", None, 12.5, kind="claim", holds=True).verdict
    'holds'
    """

    label: str
    printed: float | None
    measured: float | None
    decimals: int = 2
    tolerance: float = 0.0
    recomputed: float | None = None
    near: float | None = None
    note: str = ""
    kind: Kind = "measurement"
    holds: bool = False

    @property
    def difference(self) -> float | None:
        return None if self.printed is None or self.measured is None else self.measured - self.printed

    @property
    def verdict(self) -> Verdict:
        if self.measured is None:
            return "not measured"
        if self.kind in ("fitted", "another reading"):
            return cast("Verdict", self.kind)
        if self.kind == "claim":
            return "holds" if self.holds else "does not hold"
        half = 0.5 * 10.0**-self.decimals
        exact, near = (
            self.difference is not None and _at_most(self.difference, bound) for bound in (half, self.tolerance)
        )
        if self.kind == "arithmetic":
            return "adds up" if exact or near else "does not add up"
        if exact:
            return "as printed"
        if near:
            return "near print"
        if self.recomputed is None:
            return "no comparison" if self.printed is None else "differs"
        reach = half if self.near is None else self.near
        met = _at_most(self.measured - self.recomputed, reach)
        if self.printed is None:
            return "agrees" if met else "disagrees"
        return "recomputed" if met else "differs"

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
class Picture:
    """Figures of some curves over a parameter, drawn together; the lines bear what tells them apart."""

    name: str
    title: str
    curves: tuple[str, ...]
    figures: tuple[str, ...]


@dataclass(frozen=True)
class Reproduction:
    """A published table, or a part of one, that can be computed again.

    `rows` computes it, whole or (if there is one) in its quick form; `length` is how many rows there are, `seconds`
    about how long that takes; `needs` are the reference files; `why` explains what does not come out; `in_full` if the
    page shows every row and not only those that are not as printed; `judges` if the printed values of its tables get
    their verdict here and not in another reproduction. `over` names the parameter of curves: labels of rows are then
    such as "curve, K=5: figure", and the page shows a grid of all figures and these `pictures`.
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
    in_full: bool = False
    judges: bool = True
    over: str = ""
    pictures: tuple[Picture, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """The printed tables by work and number.

        >>> Reproduction("x-1", "", "Nin (2008), Tables 4.8 to 4.10 and 4.12", whole(lambda: iter(())), 0, 0).tables
        ('Nin (2008) 4.8', 'Nin (2008) 4.9', 'Nin (2008) 4.10', 'Nin (2008) 4.12')
        """
        work, _, listed = self.source.partition(", Table")
        numbers: list[str] = []
        for first, last in re.findall(r"([\d.]+)(?: to ([\d.]+))?", listed):
            chapter, _, number = first.rpartition(".")
            numbers += [
                f"{chapter}.{table}" if chapter else str(table)
                for table in range(int(number), int((last or first).rpartition(".")[2]) + 1)
            ]
        return tuple(f"{work} {number}" for number in numbers)

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
    'as printed'
    """
    if not shown:
        return Row(label, None, measured, **more)
    return Row(label, float(shown), measured, **{"decimals": decimals_of(shown), **more})


def claim(label: str, holds: bool, measured: float | None, note: str = "", decimals: int = 2) -> Row:
    """Something that a text says in words, with the number that decides it and, in the note, what it is compared with.

    >>> claim("the score falls by at least 10 %", False, 4.2).verdict
    'does not hold'
    >>> claim("the score falls by at least 10 %", False, None).verdict
    'not measured'
    """
    return Row(label, None, measured, decimals, note=note, kind="claim", holds=bool(holds))


def file_of_scores(table: str) -> str:
    """The printed scores of a table lie under its number.

    >>> file_of_scores("4.10")
    'scores_4_10'
    """
    return f"scores_{table.replace('.', '_')}"
