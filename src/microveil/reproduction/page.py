"""What a run found, as a page (Markdown) or as a table of all values (CSV)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import microveil
from microveil.reproduction.base import MEANINGS, VERDICTS, Row
from microveil.reproduction.running import Outcome, counted

_SHOWN = 15  # rows of a table that do not come out and are listed
_COLUMNS = (
    "table",
    "what",
    "printed values that come out",
    "exact",
    "within",
    "as the specification found",
    "differs",
    "without print, as specified",
    "seconds",
)
_HEADER = """\
# Published tables, rebuilt

Every published table that Microveil can compute again: the printed value, the value measured here, and a verdict.
Beside them stand values without print, which were never printed or whose print is lost, but which the specification
computed; they are counted apart. The page is written by `microveil reproduce all --out docs/reproduction.md`;
`microveil reproduce NAME` shows all rows of one table, `microveil reproduce --list` the names. What does not come out
stays here and says why. Seeds and tolerances are those set before the first run. Where a source leaves out how it did
something, the reading that the specification found to fit print is used; for PLD the rule of agreement was fitted here.
Such values support a reading, they do not prove it; the tables say where.

"Specification" means the specifications this project was built from: they checked the sources with programs of their
own, found many printed values wrong, and say how near a right program should come. Random methods are run with their
first few seeds.
"""


def number(value: float | None, decimals: int) -> str:
    """A value with one digit more than is printed; very large and very small ones by their size.

    >>> number(5.6922, 2), number(None, 2), number(1.5e-7, 2)
    ('5.692', '', '1.5e-07')
    """
    if value is None:
        return ""
    plain = f"{value:.{decimals + 1}f}"
    return plain if float(plain) or not value else f"{value:.3g}"


def shown(row: Row) -> str:
    """The printed value as it is printed."""
    return "" if row.printed is None else f"{row.printed:.{row.decimals}f}"


def as_csv(outcomes: Sequence[Outcome]) -> str:
    """Every row of every table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "reproduction",
            "source",
            "label",
            "printed",
            "measured",
            "difference",
            "tolerance",
            "found",
            "verdict",
            "note",
        ]
    )
    for outcome in outcomes:
        made = outcome.reproduction
        for row in outcome.rows:
            values = (row.printed, row.measured, row.difference, row.tolerance, row.found)
            writer.writerow([made.name, made.source, row.label, *values, row.verdict, row.note])
    return text.getvalue()


def as_page(outcomes: Sequence[Outcome]) -> str:
    return "\n".join([_HEADER, *_summary(outcomes), *(line for outcome in outcomes for line in _section(outcome))])


def _summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    printed = counted(row for outcome in outcomes for row in outcome.printed)
    unprinted = counted(row for outcome in outcomes for row in outcome.unprinted)
    compared, specified = (sum(getattr(outcome, what) for outcome in outcomes) for what in ("compared", "specified"))
    found, off = (printed.get(verdict, 0) for verdict in ("as the specification found", "differs"))
    as_printed = printed.get("exact", 0) + printed.get("within", 0)
    yield (
        f"Microveil {microveil.__version__}: of {compared:,} printed values that were measured, {as_printed:,} come "
        f"out as printed (exact or within) and {found:,} as the specification found; {off:,} differ. "
        f"Of {specified:,} values without print, {unprinted.get('as specified', 0):,} come out as specified.\n"
    )
    if quick := [f"`{outcome.reproduction.name}`" for outcome in outcomes if outcome.quick]:
        yield f"Run in their quick form only: {', '.join(quick)}.\n"
    yield "| verdict | meaning | printed values | without print |\n|---|---|---|---|"
    for verdict in VERDICTS:
        numbers = (f"{counts[verdict]:,}" if verdict in counts else "" for counts in (printed, unprinted))
        yield f"| {verdict} | {MEANINGS[verdict]} | {' | '.join(numbers)} |"
    yield f"\n| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}"
    for outcome in outcomes:
        of_print = counted(outcome.printed)
        cells = (
            f"[`{outcome.reproduction.name}`](#{_anchor(outcome)})",
            outcome.reproduction.title + (" (quick)" if outcome.quick else ""),
            f"{outcome.right} of {outcome.compared}" if outcome.compared else "",
            *(of_print.get(verdict, "") for verdict in ("exact", "within", "as the specification found", "differs")),
            f"{outcome.as_specified} of {outcome.specified}" if outcome.specified else "",
            f"{outcome.seconds:.0f}",
        )
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""


def _anchor(outcome: Outcome) -> str:
    """As the heading's own: letters, digits and hyphens stay, spaces become hyphens, the rest goes."""
    return "".join(c for c in _title(outcome).lower().replace(" ", "-") if c.isalnum() or c in "-_")


def _title(outcome: Outcome) -> str:
    return f"{outcome.reproduction.name}: {outcome.reproduction.title}"


def _section(outcome: Outcome) -> Iterator[str]:
    made = outcome.reproduction
    yield f"## {_title(outcome)}\n"
    yield f"{made.source}. {outcome.summary}.\n"
    if outcome.quick and made.quick is not None:
        yield f"Run in its quick form, which leaves out {made.quick.leaves_out}.\n"
    if made.why:
        yield f"{made.why[0].upper()}{made.why[1:]}.\n"
    off = [row for row in outcome.rows if row.verdict == "differs"]
    if not off:
        return
    yield "| does not come out | printed | measured | difference | specification |\n|---|---|---|---|---|"
    for row in off[:_SHOWN]:
        values = (shown(row), number(row.measured, row.decimals), number(row.difference, row.decimals))
        yield f"| {row.label} | {' | '.join(values)} | {number(row.found, row.decimals)} |"
    if len(off) > _SHOWN:
        yield f"\n... and {len(off) - _SHOWN} more: `microveil reproduce {made.name}`."
    yield ""
