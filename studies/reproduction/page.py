"""What a run found, as a page (Markdown) or as a table of all values (CSV)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import microveil
from reproduction.base import (
    AGAINST_PRINT,
    ARITHMETIC,
    CLAIMS,
    GROUPS,
    MEANINGS,
    NOT_AS_PRINTED,
    UNPRINTED,
    Row,
    Verdict,
)
from reproduction.catalogue import reproductions
from reproduction.curves import FOLDER, grid
from reproduction.running import Outcome, counted

_SHOWN = 15  # rows of one verdict that are listed of a table
_COLUMNS = (
    "table",
    "what",
    "measured against print",
    *AGAINST_PRINT,
    "arithmetic that adds up",
    "not in print, agrees",
    "claims that hold",
    "seconds",
)
_HEADER = """\
# Published tables, rebuilt

Published tables that Microveil computes again: the printed value, the value measured here, and a verdict. Five kinds of
values are counted apart and never added up:

- values **measured against print**: as printed in every digit, near print (as near as the table says), recomputed, or
  different. "Recomputed" is not a success against print: the measured value equals a corrected value or an independent
  recomputation, and print says something else;
- **arithmetic** on printed values, such as a score from its printed parts, where nothing was measured;
- values that are **not in print**, or whose print is lost, compared with an independent recomputation;
- **claims** that a text makes in words, each decided by a number that was measured;
- values **without a verdict**: settings fitted to print, second readings of the same text, and what could not be
  measured or compared.

A printed value has one verdict at most. The page is written by `microveil reproduce all --out docs/reproduction.md`;
`microveil reproduce NAME` shows all rows of one table, `microveil reproduce --list` the names. Random methods are run
with their first few seeds. Where a text leaves out how something was done, the reading that comes nearest to print is
used, and the table says so: such values support a reading and do not prove it. Seconds include compilation and depend
on what else the machine was doing.

The works: Fayyoumi, *Novel Micro-Aggregation Techniques for Secure Statistical Databases* (thesis, Carleton University,
2008); Nin, *Contributions to Record Linkage for Disclosure Risk Assessment* (thesis, Universitat Autònoma de Barcelona,
2008); Marés, *Categorical Data Protection on Statistical Datasets and Social Networks* (thesis, Universitat Autònoma de
Barcelona, 2013); Li and Sarkar, *Class-Restricted Clustering and Microperturbation for Data Privacy* (Management
Science 59(4), 2013).
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
            "recomputed",
            "verdict",
            "note",
        ]
    )
    for outcome in outcomes:
        made = outcome.reproduction
        for row in outcome.rows:
            values = (row.printed, row.measured, row.difference, row.tolerance, row.recomputed)
            writer.writerow([made.name, made.source, row.label, *values, row.verdict, row.note])
    return text.getvalue()


def as_page(outcomes: Sequence[Outcome]) -> str:
    return "\n".join([_HEADER, *_summary(outcomes), *(line for outcome in outcomes for line in _section(outcome))])


def _summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    counts = counted(row for outcome in outcomes for row in outcome.rows)
    total = {title: sum(counts.get(verdict, 0) for verdict in verdicts) for title, verdicts in GROUPS.items()}
    printed, near, again, off = (f"{counts.get(verdict, 0):,}" for verdict in AGAINST_PRINT)
    adding, agreeing = (f"{counts.get(verdict, 0):,}" for verdict in ("adds up", "agrees"))
    yield (
        f"Of {total['measured against print']:,} printed values that were measured, {printed} come out as printed and "
        f"{near} near print; {again} are not as printed but equal a correction or an independent recomputation; {off} "
        f"differ. Apart from these, {adding} of {total['arithmetic on printed values']:,} printed results follow from "
        f"printed parts by arithmetic, and of {total['recomputed, not in print']:,} values that are not in print "
        f"{agreeing} agree with an independent recomputation. Of {total['claims of the text']:,} claims that were put "
        f"to the test {counts.get('holds', 0):,} hold.\n"
    )
    days = sorted({outcome.day for outcome in outcomes if outcome.day})
    if days:
        when = f"on {days[0]}" if len(days) == 1 else f"between {days[0]} and {days[-1]}"
        yield f"All values on this page were measured {when} by Microveil {microveil.__version__}.\n"
    if quick := [f"`{outcome.reproduction.name}`" for outcome in outcomes if outcome.quick]:
        yield f"Run in their quick form only: {', '.join(quick)}.\n"
    if absent := _absent(outcomes):
        yield (
            f"Not run, and therefore not on this page: {', '.join(f'`{name}`' for name in absent)}. The counts are "
            "those of the tables on this page and say nothing about these.\n"
        )
    yield "| counted as | verdict | meaning | values |\n|---|---|---|---|"
    for title, verdicts in GROUPS.items():
        for verdict in verdicts:
            yield f"| {title} | {verdict} | {MEANINGS[verdict]} | {counts.get(verdict, 0):,} |"
    yield f"\n| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}"
    for outcome in outcomes:
        of_verdict = counted(outcome.rows)
        compared = outcome.count(AGAINST_PRINT)
        cells = (
            f"[`{outcome.reproduction.name}`](#{_anchor(outcome)})",
            outcome.reproduction.title + (" (quick)" if outcome.quick else ""),
            compared or "",
            *(of_verdict.get(verdict, "") for verdict in AGAINST_PRINT),
            _of(outcome, ARITHMETIC),
            _of(outcome, UNPRINTED),
            _of(outcome, CLAIMS),
            f"{outcome.seconds:.0f}",
        )
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""


def _of(outcome: Outcome, verdicts: Sequence[Verdict]) -> str:
    """How many have the first of these verdicts, of how many; empty where there are none."""
    total = outcome.count(verdicts)
    return f"{outcome.count(verdicts[:1])} of {total}" if total else ""


def _absent(outcomes: Sequence[Outcome]) -> list[str]:
    """Tables of the catalogue that a page of most of them leaves out."""
    made = {outcome.reproduction.name for outcome in outcomes}
    known = reproductions()
    return [name for name in known if name not in made] if 2 * len(made & set(known)) > len(known) else []


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
    if made.over:
        yield from grid(outcome.rows, made.over)
        for picture in made.pictures:
            yield f"![{picture.title}]({FOLDER}/{picture.name}.svg)\n"
        return
    if made.in_full:
        yield from _listed("value", outcome.rows, made.name, len(outcome.rows))
        return
    for verdict in NOT_AS_PRINTED:
        yield from _listed(verdict, [row for row in outcome.rows if row.verdict == verdict], made.name, _SHOWN)


def _listed(title: str, rows: Sequence[Row], name: str, most: int) -> Iterator[str]:
    """Rows with print, correction and measurement beside each other, up to so many."""
    if not rows:
        return
    whole = title == "value"
    more = " verdict | note |" if whole else ""
    yield f"| {title} | printed | recomputed | measured | difference |{more}\n|{'---|' * (7 if whole else 5)}"
    for row in rows[:most]:
        values = (number(value, row.decimals) for value in (row.recomputed, row.measured, row.difference))
        more = f" {row.verdict} | {row.note} |" if whole else ""
        yield f"| {row.label} | {shown(row)} | {' | '.join(values)} |{more}"
    if len(rows) > most:
        yield f"\n... and {len(rows) - most} more: `microveil reproduce {name}`."
    yield ""
