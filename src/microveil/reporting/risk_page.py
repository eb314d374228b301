"""A page about the risk of a file before anything is released. It shows the original, so it is not for everyone."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import microveil
from microveil.attacks.reidentification import risk_of_file
from microveil.display import number
from microveil.microdata.microdata import Microdata, as_microdata, count
from microveil.numerics.counting.individual_risk import Estimate
from microveil.progress import Part, Progress, silent
from microveil.reporting.pages import render
from microveil.reporting.report_findings import Masthead, Verdict, records_at_risk
from microveil.reporting.risk_section import risk_section
from microveil.scoring.risk_advice.advice import RiskAdvice, advise_on
from microveil.scoring.risk_profile import RiskProfile, profile_of
from microveil.units import THRESHOLD


def risk_page(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    target: float | None = None,
    threshold: float = THRESHOLD,
    estimate: Estimate = "negative-binomial",
    fraction: float | None = None,
    population: int | None = None,
    table: Sequence[str] = ("people.csv",),
    organisation: str = "",
    author: str = "",
    date: str | None = None,
    progress: Progress = silent,
) -> str:
    """The risk of a file as one HTML page that needs no network: histograms of the risk of records and households, the
    combinations and keys that cause it, and what would lower it most. Keep it private: it shows combinations.

    The parameters are those of `advise_risk`; `table` are the words that name and describe the file on a command line.

    >>> people = Microdata.of({"age": [20, 21, 22, 60], "sex": ["f", "m", "f", "m"]}, keys=["age", "sex"])
    >>> "keep it confidential" in risk_page(people)
    True
    """
    read = as_microdata(data)
    found = risk_of_file(
        read, keys, threshold=threshold, estimate=estimate, fraction=fraction, population=population,
        progress=Part(progress, 0.0, 0.2),
    )  # fmt: skip
    found = found if target is None else found.with_target(target)
    advice = advise_on(read, found, target=target, progress=Part(progress, 0.2, 0.9))
    masthead = Masthead(organisation, author, datetime.date.today().isoformat() if date is None else date)
    page = page_of(read, profile_of(found), advice, table, masthead)
    progress(1.0, "risk: writing the page")
    return page


def page_of(
    data: Microdata,
    profile: RiskProfile,
    advice: RiskAdvice,
    table: Sequence[str] = ("people.csv",),
    masthead: Masthead | None = None,
    asked: Sequence[str] = (),
) -> str:
    """The page, of what was measured; `asked` is the command line that gave the advice, if one did."""
    found = profile.found
    summary = found.summary
    numbers = (
        ("expected re-identifications", f"{number(summary.expected)} ({summary.share:.3g} %)"),
        ("largest risk of a record", f"{summary.largest:.4g}"),
        (f"records above {summary.threshold:.3g}", f"{summary.above:,}"),
        ("uniques on the keys", f"{summary.uniques:,}"),
    )
    words = records_at_risk(summary, f"a risk of re-identification above {summary.threshold:.3g}")
    return render(
        "risk_page.html",
        version=microveil.__version__,
        masthead=(masthead or Masthead(date=datetime.date.today().isoformat())).line,
        verdict=Verdict(summary.above == 0, f"{words}.", numbers),
        records=count(summary.records, "record"),
        heading=found.heading[0].upper() + found.heading[1:],
        assumption=found.assumption[0].upper() + found.assumption[1:],
        rows=found.rows(),
        section=risk_section(data, profile, advice, table, asked),
    )
