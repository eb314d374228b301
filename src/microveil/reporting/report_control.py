"""The part of the internal report about the control group: success on the original beside success on the control."""

from __future__ import annotations

from typing import Any

from microveil.attacks.leak import leak_rows
from microveil.masking.guarantees import listed
from microveil.reporting.charts import bars
from microveil.reporting.report_findings import Findings
from microveil.reporting.report_pictures import Picture


def control_page(found: Findings) -> dict[str, Any] | None:
    """What the page shows of the control group; nothing where none was given or no attack could be run on it."""
    leaks = found.assessment.leaks
    if not leaks or found.pair.control is None:
        return None
    svg = bars(
        list(leaks),
        {
            "persons in the release": [leak.original for leak in leaks.values()],
            "control group": [leak.control for leak in leaks.values()],
        },
        title="Success on the original beside success on the control group",
        description="For each attack the share of successes on persons in the release and on persons not in it.",
        x_title="successes, %",
        x_limits=(0.0, 100.0),
    )
    caption = "Success of each attack on persons in the release (filled) and on persons of the control group (outline)"
    return {
        "records": len(found.pair.control),
        "leaking": listed([label for label, leak in leaks.items() if leak.is_seen]),
        "rows": [(*row, leak.meaning) for row, leak in zip(leak_rows(leaks), leaks.values(), strict=True)],
        "picture": Picture(svg, caption),
    }
