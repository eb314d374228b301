"""Everything measured of one release, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from microveil.attacks import Risk
from microveil.attacks.reidentification import Headline
from microveil.battery import Battery
from microveil.losses import Loss
from microveil.microdata.knowledge import Knowledge
from microveil.registry import find
from microveil.scoring.score import Score

if TYPE_CHECKING:
    from microveil.scoring.rules.base import ScoreRule

_PLAIN_RULES = ("mean", "max")  # every assessment shows these two


@dataclass(frozen=True)
class Assessment:
    """Everything measured of one release.

    `knowledge` is what the intruder is assumed to know, and `headline` the risk of re-identification before and after
    masking. `rule` made the score out of `parts`, the values of its formula. `warnings` are sentences without which the
    numbers would be misread.
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

    def to_frame(self) -> Any:
        """Every number as a table with the columns kind, measure, percent, low, high and meaning: a pandas DataFrame if
        pandas is installed, else a pyarrow Table."""
        import pyarrow as pa

        columns: dict[str, list[Any]] = {name: [] for name in ("kind", "measure", "percent", "low", "high", "meaning")}
        for kind, name, value, meaning in self.rows():
            risk = self.risks.get(name) if kind == "risk" else None
            bounds = (risk.low, risk.high) if risk is not None else (None, None)
            for column, cell in zip(columns, (kind, name, value, *bounds, meaning), strict=True):
                columns[column].append(cell)
        types = [pa.string(), pa.string(), pa.float64(), pa.float64(), pa.float64(), pa.string()]
        table = pa.table([pa.array(c, t) for c, t in zip(columns.values(), types, strict=True)], names=list(columns))
        try:
            return table.to_pandas()
        except ImportError:
            return table

    def __str__(self) -> str:
        lines = [
            self.heading,
            *(f"warning: {warning}" for warning in self.warnings),
            "",
            f"{'':42}{'before':>18}{'after':>18}",
        ]
        lines += [f"{name:42}{before:>18}{after:>18}" for name, before, after in self.headline.rows()]
        lines += [f"({self.headline.assumption})"]
        lines += ["", *(f"{kind:5}  {name:24} {value:8.3f} %  {meaning}" for kind, name, value, meaning in self.rows())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(
            f"<tr><td>{name}</td><td style='text-align:right'>{before}</td>"
            f"<td style='text-align:right'>{after}</td></tr>"
            for name, before, after in self.headline.rows()
        )
        cells = "".join(
            f"<tr><td>{kind}</td><td>{escape(name)}</td><td style='text-align:right'>{value:.3f}</td>"
            f"<td>{escape(meaning)}</td></tr>"
            for kind, name, value, meaning in self.rows()
        )
        warned = "".join(f"<p><strong>Warning: {escape(warning)}</strong></p>" for warning in self.warnings)
        return (
            f"<p>{escape(self.heading)}</p>{warned}<table><tr><th></th><th>before</th><th>after</th></tr>{head}</table>"
            f"<table><tr><th></th><th>measure</th><th>%</th><th>what it means</th></tr>{cells}</table>"
        )
