"""The page of a campaign: what every attack learnt, and the quality of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import microveil
from microveil.queries.red_team import attacks_of
from microveil.reporting.charts import Line, bars, lines
from microveil.reporting.pages import render

if TYPE_CHECKING:
    from microveil.queries.red_team.campaign import Campaign


def campaign_page(campaign: Campaign, title: str) -> str:
    """One HTML page that loads nothing from a network."""
    return render(
        "red_team.html",
        title=title,
        campaign=campaign,
        chart=_chart(campaign),
        knowledge=_knowledge(campaign),
        summaries={attack.name: (attack.summary, attack.source) for attack in attacks_of()},
        version=microveil.__version__,
    )


def _chart(campaign: Campaign) -> str | None:
    """What each attack learnt; nothing to look at where none did."""
    tried = [outcome for outcome in campaign.outcomes if outcome.why_not is None]
    if not any(outcome.learnt for outcome in tried):
        return None
    return bars(
        [outcome.attack for outcome in tried],
        {
            "learnt exactly": [100 * o.exact / max(o.targets, 1) for o in tried],
            "learnt exactly or partially": [100 * o.learnt / max(o.targets, 1) for o in tried],
        },
        title="What the attacks learnt",
        description="For each attack, the share of the targets whose value it claimed rightly",
        x_title="% of the targets",
        x_limits=(0.0, 100.0),
        number="{:.0f}",
    )


def _knowledge(campaign: Campaign) -> str | None:
    """The records that are learnt as the intruder knows more."""
    if campaign.quality is None or not campaign.quality.by_knowledge:
        return None
    return lines(
        [Line("compromised", [(float(known), share) for known, share in campaign.quality.by_knowledge])],
        title="Robustness",
        description="Share of the records that trackers and the like learn, by the number of attributes known",
        x_title="attributes known",
        y_title="% of the records",
        y_limits=(0.0, 100.0),
    )
