"""The part of a page that tells the risk of records and households, where it comes from and what would lower it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microveil.attacks.reidentification import FileRisk
from microveil.battery import vulnerability_of
from microveil.display import number
from microveil.microdata import Microdata
from microveil.reporting.charts import bars, log_histogram
from microveil.reporting.report_pictures import Picture, risk_distribution
from microveil.scoring import Assessment
from microveil.scoring.risk_advice.advice import Proposal, RiskAdvice
from microveil.scoring.risk_profile import (
    MEANING_OF_HOUSEHOLDS,
    MEANING_OF_KEYS,
    MEANING_OF_RECORDS,
    RiskHistogram,
    RiskProfile,
    profile_of,
)

_COMBINATIONS, _MOST_BARS = 10, 30


@dataclass(frozen=True)
class RiskSection:
    """What the template shows."""

    records: Picture
    households: Picture | None
    keys: Picture | None
    suda: Picture | None
    combinations: list[dict[str, Any]]
    number_of_combinations: int
    carrying_half: int
    names: tuple[str, ...]
    expected: str
    proposals: list[dict[str, Any]]
    sequence: list[dict[str, Any]]
    plan: str
    advice: RiskAdvice | None


def risk_section(
    data: Microdata,
    profile: RiskProfile,
    advice: RiskAdvice | None,
    table: Sequence[str] = ("people.csv",),
    asked: Sequence[str] = (),
) -> RiskSection:
    """For a private page: combinations are shown with their values. `data` is the file before masking, and `table` the
    words that name and describe it on a command line; `asked` is the command line that gave the advice, if one did."""
    found, homes = profile.found, profile.of_households
    return RiskSection(
        _histogram(profile.of_records, "records", found.threshold, MEANING_OF_RECORDS),
        None if homes is None else _histogram(homes, "households", found.threshold, MEANING_OF_HOUSEHOLDS),
        _keys(profile),
        _suda(found),
        _combinations(data, found),
        len(found.combinations.records),
        found.combinations.carrying(0.5),
        found.keys,
        number(found.summary.expected),
        [] if advice is None else [
            _proposal(one, one.row(), table, [*asked, "--proposal", str(place)] if asked else ())
            for place, one in enumerate(advice.best, start=1)
        ],
        [] if advice is None else [
            _proposal(one, row, table) for one, row in zip(advice.sequence, advice.sequence_rows(), strict=True)
        ],
        "" if advice is None or not advice.sequence else _steps(advice.sequence[-1]),
        advice,
    )  # fmt: skip


def risk_histogram(found: FileRisk) -> str:
    """How many records of a file have which risk, as SVG.

    >>> from microveil.attacks.reidentification import risk_of_file
    >>> people = Microdata.of({"job": ["cook", "cook", "judge"]}, keys=["job"])
    >>> risk_histogram(risk_of_file(people)).startswith("<svg")
    True
    """
    return _histogram(profile_of(found).of_records, "records", found.threshold, MEANING_OF_RECORDS).svg.lstrip()


def risk_pictures(found: FileRisk | Assessment) -> list[Picture]:
    """The risk of records and of households, and what causes it: what each key adds, and what makes records unique. Of
    an assessment, how many records its attacks identify with which probability.

    >>> from microveil.attacks.reidentification import risk_of_file
    >>> people = Microdata.of({"job": ["cook", "cook", "judge"]}, keys=["job"])
    >>> [picture.caption.split(".")[0] for picture in risk_pictures(risk_of_file(people))][0]
    'Records by their risk'
    """
    if isinstance(found, Assessment):
        picture = risk_distribution(vulnerability_of(found.risks.values(), found.records))
        return [] if picture is None else [picture]
    profile = profile_of(found)
    homes = profile.of_households
    drawn = (
        _histogram(profile.of_records, "records", found.threshold, MEANING_OF_RECORDS),
        None if homes is None else _histogram(homes, "households", found.threshold, MEANING_OF_HOUSEHOLDS),
        _keys(profile),
        _suda(found),
    )
    return [picture for picture in drawn if picture is not None]


def _histogram(histogram: RiskHistogram, what: str, threshold: float, meaning: str) -> Picture:
    before = "before" in histogram.counts
    named = {name if before else what: numbers for name, numbers in histogram.counts.items()}
    title = f"{what.capitalize()} by their risk" + (", before and after masking" if before else "")
    svg = log_histogram(
        histogram.edges,
        named,
        title=title,
        description=f"The number of {what} for each step of the risk; both axes are logarithmic.",
        x_title="risk: probability of re-identification (logarithmic)",
        y_title=what,
        threshold=threshold,
        threshold_text=f"threshold {threshold:.3g}",
    )
    return Picture(svg, f"{title}. {meaning[0].upper()}{meaning[1:]}")


def _keys(profile: RiskProfile) -> Picture | None:
    without = dict(list(profile.without_each_key.items())[:_MOST_BARS])
    if not without:
        return None
    whole = profile.found.summary.expected
    svg = bars(
        list(without),
        {"fewer": [whole - left for left in without.values()]},
        title="What each key adds to the risk",
        description="For each key, by how much the expected re-identifications fall for who does not know it.",
        x_title="fewer expected without the key",
        number="{:,.4g}",
        width=430.0,
    )
    return Picture(svg, f"What each key adds. {MEANING_OF_KEYS[0].upper()}{MEANING_OF_KEYS[1:]}")


def _suda(found: FileRisk) -> Picture | None:
    special = found.special_uniques
    if special is None or not special.scores.any():
        return None
    parts = dict(sorted(special.by_attribute.items(), key=lambda item: -item[1])[:_MOST_BARS])
    svg = bars(
        list(parts),
        {"part": list(parts.values())},
        title="What makes records unique",
        description="For each key, the part of all SUDA scores that is due to sets of keys which hold it.",
        x_title="part of the SUDA scores, %",
        width=430.0,
    )
    told = (
        "What makes records unique: the part of all SUDA scores that is due to minimal sample uniques with the key. A "
        "minimal sample unique is a set of keys on which a record agrees with no other, while on every part of the set "
        "it agrees with somebody; it counts for each key that it holds, so the parts sum to more than 100 %"
    )
    return Picture(svg, told)


def _combinations(data: Microdata, found: FileRisk) -> list[dict[str, Any]]:
    """The combinations that contribute most to the global risk, with their values."""
    combinations, whole = found.combinations, found.summary.expected
    rows = []
    for place in range(1, min(_COMBINATIONS, len(combinations.records)) + 1):
        record = int(np.argmax(combinations.of_record == place))
        values = [data.arrow(name)[record].as_py() for name in found.keys]
        expected = float(combinations.expected[place - 1])
        rows.append({
            "values": ["(missing)" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
                       for value in values],
            "records": int(combinations.records[place - 1]),
            "expected": number(expected),
            "share": f"{100 * expected / whole:.3g} %" if whole else "",
        })  # fmt: skip
    return rows


def _proposal(
    proposal: Proposal, row: Sequence[str], table: Sequence[str], asked: Sequence[str] = ()
) -> dict[str, Any]:
    command = proposal.command(table)
    if asked and "--plan" in shlex.split(command):
        command = f"{shlex.join([*asked, '--plan-out', 'plan.toml'])}\n{command}"
    return {
        "row": row,
        "lost": proposal.lost,
        "command": command,
        "python": proposal.python,
        "in_plan": proposal.left_out or len(proposal.steps) > 1,
        "plan": _steps(proposal),
    }


def _steps(proposal: Proposal) -> str:
    """The steps of a plan as TOML, with what is left out as a remark; the schema is that of the file."""
    left_out = "".join(f"# {name} is left out: in the schema it becomes an identifier\n" for name in proposal.left_out)
    return left_out + replace(proposal.plan, schema=None).to_toml()
