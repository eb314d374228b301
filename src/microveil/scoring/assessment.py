"""Everything measured of one release, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from microveil.attacks import Risk
from microveil.battery import Battery
from microveil.losses import Loss
from microveil.registry import find
from microveil.scoring.score import Score

if TYPE_CHECKING:
    from microveil.scoring.rules.base import ScoreRule

_PLAIN_RULES = ("mean", "max")  # every assessment shows these two


@dataclass(frozen=True)
class Assessment:
    """Everything measured of one release. `rule` made the score out of `parts`, the values of its formula."""

    losses: Mapping[str, Loss]
    risks: Mapping[str, Risk]
    score: Score
    attributes: tuple[str, ...]
    records: int
    battery: Battery | None = None
    rule: ScoreRule | None = None
    parts: Mapping[str, float] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "attributes": list(self.attributes),
            "records": self.records,
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
        """Sort, name, value and meaning of every number, the score last."""
        rows = [("loss", name, loss.value, find("loss", loss.name).meaning) for name, loss in self.losses.items()]
        rows += [("risk", name, risk.value, find("attack", risk.name).meaning) for name, risk in self.risks.items()]
        if self.rule is not None and self.rule.name not in _PLAIN_RULES:
            rows.append(("score", self.rule.name, self.score.value, f"{self.rule.stated}; lower is better"))
        rows.append(("score", "mean", self.score.mean, "mean of loss and risk; lower is better"))
        rows.append(("score", "max", self.score.max, "the worse of loss and risk; lower is better"))
        return rows

    def __str__(self) -> str:
        return "\n".join(f"{sort:5}  {name:20} {value:8.3f}  {meaning}" for sort, name, value, meaning in self.rows())

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{sort}</td><td>{name}</td><td style='text-align:right'>{value:.3f}</td><td>{meaning}</td></tr>"
            for sort, name, value, meaning in self.rows()
        )
        return f"<table><tr><th></th><th>measure</th><th>%</th><th>what it means</th></tr>{cells}</table>"
