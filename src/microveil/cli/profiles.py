"""The risk of records and households as a histogram on the terminal, and the keys that cause it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microveil.cli.printing import console, say

if TYPE_CHECKING:
    from microveil.scoring.risk_profile import RiskProfile

_KEYS = 8  # so many are shown


def print_profile(profile: RiskProfile) -> None:
    """How many records and households have which risk, and what is left of it without each key."""
    from rich.table import Table

    from microveil.display import number
    from microveil.scoring.risk_profile import MEANING_OF_HOUSEHOLDS, MEANING_OF_KEYS, MEANING_OF_RECORDS, rows_of

    homes = profile.of_households
    for what, histogram, meaning in (
        ("records", profile.of_records, MEANING_OF_RECORDS),
        ("households", homes, MEANING_OF_HOUSEHOLDS),
    ):
        if histogram is None:
            continue
        shown = Table(title=f"{what} by their risk", title_justify="left", caption=meaning, caption_justify="left")
        shown.add_column("risk", no_wrap=True)
        names = list(histogram.counts)
        for name in names:
            shown.add_column(what if len(names) == 1 else name, justify="right", no_wrap=True)
        shown.add_column(f"{names[-1] if len(names) > 1 else 'number'}, as a logarithm", no_wrap=True)
        for row in rows_of(histogram):
            shown.add_row(*row)
        console().print(shown)
    without = profile.without_each_key
    if not without:
        return
    title = "where the risk comes from" + (", before masking" if "after" in profile.records else "")
    causes = Table(title=title, title_justify="left", caption=MEANING_OF_KEYS, caption_justify="left")
    causes.add_column("without the key")
    causes.add_column("expected re-identifications", justify="right")
    expected = number(profile.found.summary.expected)
    for name, left in list(without.items())[:_KEYS]:
        causes.add_row(name, f"{expected} -> {number(left)}")
    console().print(causes)
    if len(without) > _KEYS:
        say(f"and {len(without) - _KEYS} more keys")
