"""Everything measured of one release, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from microveil.attacks import Risk
from microveil.attacks.leak import LEAK_HEAD, LEAK_MEANING, Leak, leak_rows, leaks_of
from microveil.attacks.reidentification import Headline
from microveil.battery import Battery, leak_html
from microveil.comparison.knowledge import Knowledge
from microveil.display import frame_of, html_table, paragraph, text_table
from microveil.losses import Loss
from microveil.registry import find
from microveil.scoring.scores import Score

if TYPE_CHECKING:
    from microveil.scoring.rules.base import ScoreRule

_PLAIN_RULES = ("mean", "max")  # every assessment shows these two


@dataclass(frozen=True)
class Assessment:
    """Everything measured of one release.

    `knowledge` is what the intruder is assumed to know, and `headline` the risk of re-identification before and after
    masking. `rule` made the score out of `parts`, the values of its formula. `warnings` are sentences without which the
    numbers would be misread. `labelled` are the attributes that were released as labels for several values. `named` are
    the attributes as they are told to people: a series by its name.
    """

    losses: Mapping[str, Loss]
    risks: Mapping[str, Risk]
    score: Score
    attributes: tuple[str, ...]
    records: int
    knowledge: Knowledge
    headline: Headline
    battery: Battery | None = None
    rule: ScoreRule | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    labelled: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def leaks(self) -> dict[str, Leak]:
        """The success of attacks beside that on the control group, where one was given, by the label of the attack."""
        return leaks_of(self.risks)

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "attributes": list(self.attributes),
            "records": self.records,
            "warnings": list(self.warnings),
            "knowledge": self.knowledge.to_plain(),
            "headline": self.headline.to_plain(),
            "losses": {name: loss.to_plain() for name, loss in self.losses.items()},
            "risks": {name: risk.to_plain() for name, risk in self.risks.items()},
            "score": self.score.to_plain(),
        }
        if self.rule is not None:
            plain["score"] |= {"rule": self.rule.name, "formula": self.rule.stated, "parts": dict(self.parts)}
        if self.battery is not None:
            plain["battery"] = {name: part for name, part in self.battery.to_plain().items() if name != "risks"}
        return plain

    def rows(self) -> list[tuple[str, str, float, str]]:
        """Kind, name, value in per cent and meaning of every number: the risks, the losses, and the score last."""
        rows = [("risk", name, risk.value, find("attack", risk.name).meaning) for name, risk in self.risks.items()]
        rows += [("loss", name, loss.value, find("loss", loss.name).meaning) for name, loss in self.losses.items()]
        if self.rule is not None and self.rule.name not in _PLAIN_RULES:
            rows.append(("score", self.rule.name, self.score.value, f"{self.rule.stated}; lower is better"))
        rows.append(("score", "mean", self.score.mean, "mean of loss and risk; lower is better"))
        rows.append(("score", "max", self.score.max, "the worse of loss and risk; lower is better"))
        return rows

    @property
    def heading(self) -> str:
        """What was measured, for whoever knows what."""
        known = str(self.knowledge)
        return f"{self.records:,} records; {known}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the measures leave out."""
        told = []
        if self.labelled:
            told.append(
                f"{', '.join(self.labelled)}: released as labels that stand for several values; the loss "
                "'generalisation' measures their width, and not every attack can use them"
            )
        whole = self.headline.before.records
        if self.records < whole:
            told.append(
                f"{self.records:,} of {whole:,} records were released and compared with their own originals, so "
                "the losses do not include what is lost by leaving out the others"
            )
        return tuple(told)

    def to_frame(self) -> Any:
        """Every number as a table with the columns kind, measure, percent, low, high and meaning: a pandas DataFrame if
        pandas is installed, else a pyarrow Table."""
        rows = []
        for kind, name, value, meaning in self.rows():
            risk = self.risks.get(name) if kind == "risk" else None
            rows.append((kind, name, value, *((risk.low, risk.high) if risk is not None else (None, None)), meaning))
        columns = {"kind": str, "measure": str, "percent": float, "low": float, "high": float, "meaning": str}
        return frame_of(columns, rows)

    def __str__(self) -> str:
        head = [("", "before", "after"), *self.headline.rows()]
        body = [
            (kind, name, f"{value:.2f} %", told.partition("; lower is ")[0]) for kind, name, value, told in self.rows()
        ]
        warned = (line for warning in self.warnings for line in paragraph(f"warning: {warning}"))
        lines = [*paragraph(self.heading), *warned, "", *text_table(head, right={1, 2})]
        lines += [*paragraph(f"({self.headline.assumption})"), "", *text_table(body, right={2})]
        lines += ["", "lower is safer (risks) and better (losses, scores)"]
        if self.leaks:
            lines += [
                "",
                *text_table([LEAK_HEAD, *leak_rows(self.leaks)], right={1, 2, 3, 4}),
                *paragraph(LEAK_MEANING),
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        body = [(kind, name, f"{value:.2f}", meaning) for kind, name, value, meaning in self.rows()]
        warned = "".join(f"<p><strong>Warning: {escape(warning)}</strong></p>" for warning in self.warnings)
        return (
            f"<p>{escape(self.heading)}</p>{warned}"
            + html_table(self.headline.rows(), ("", "before", "after"), right={1, 2})
            + f"<p>({escape(self.headline.assumption)})</p>"
            + html_table(body, ("", "measure", "%", "what it means"), right={2})
            + leak_html(self.leaks)
        )
