"""Losses and risks of one release side by side, and the score that sums them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from microveil.attacks import Attack, Risk
from microveil.battery import Battery, run_battery
from microveil.errors import ParameterError
from microveil.losses import Loss, LossMeasure
from microveil.microdata.pairs import Pair
from microveil.microdata.schema import CATEGORICAL
from microveil.progress import Part, Progress, parts, silent
from microveil.registry import find, make, names

# the general measures the literature averages: numeric tables by IL, categorical ones by CTBIL and DBIL
_NUMERIC_HEADLINE = ("il",)
_CATEGORICAL_HEADLINE = ("ctbil", "dbil")
_INTERVALS = "interval-disclosure"


@dataclass(frozen=True)
class Score:
    """One loss and one risk, with their mean and their maximum; all from 0 (ideal) to 100, but for a loss without a
    bound."""

    loss: float
    risk: float

    @property
    def mean(self) -> float:
        return (self.loss + self.risk) / 2

    @property
    def max(self) -> float:
        return max(self.loss, self.risk)

    def weighted(self, share: float) -> float:
        """The loss counted with this share, the risk with the rest; one half gives the mean.

        >>> Score(loss=22.15, risk=31.8796).weighted(0.5).__round__(4)
        27.0148
        """
        if not 0 <= share <= 1:
            raise ParameterError(f"share = {share} is not allowed; it must be from 0 to 1")
        return share * self.loss + (1 - share) * self.risk

    def to_plain(self) -> dict[str, float]:
        return {"loss": self.loss, "risk": self.risk, "mean": self.mean, "max": self.max}


@dataclass(frozen=True)
class Assessment:
    """Everything measured of one release."""

    losses: Mapping[str, Loss]
    risks: Mapping[str, Risk]
    score: Score
    attributes: tuple[str, ...]
    records: int
    battery: Battery | None = None

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "attributes": list(self.attributes),
            "records": self.records,
            "losses": {name: loss.to_plain() for name, loss in self.losses.items()},
            "risks": {name: risk.to_plain() for name, risk in self.risks.items()},
            "score": self.score.to_plain(),
        }
        if self.battery is not None:
            plain["battery"] = {name: part for name, part in self.battery.to_plain().items() if name != "risks"}
        return plain

    def rows(self) -> list[tuple[str, str, float, str]]:
        """Sort, name, value and meaning of every number, the score last."""
        rows = [("loss", name, loss.value, find("loss", loss.name).meaning) for name, loss in self.losses.items()]
        rows += [("risk", name, risk.value, find("attack", risk.name).meaning) for name, risk in self.risks.items()]
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


def assess(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    attacks: Sequence[Attack | str] | Literal["all"] | None = None,
    losses: Sequence[LossMeasure | str] | None = None,
    known: Sequence[str] | None = None,
    progress: Progress = silent,
) -> Assessment:
    """Measure a release with every loss and every general attack that fits its attributes, or with those named.

    `attributes` are those to compare (by default those the release masked, else the keys, else all numeric ones);
    `known` are those the intruder knows, by default the same. `attacks="all"` runs every attack that applies to the
    release, also those of an intruder who knows how it was made.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65]})
    >>> round(assess(people, MDAV(k=2).mask(people)).losses["sse"].value, 2)
    0.68
    """
    pair = Pair.of(original, release, attributes)
    known_pair = pair if known is None else Pair.of(original, release, known)
    chosen_losses = _chosen("loss", losses, pair)
    chosen_attacks = [] if attacks == "all" else _chosen("attack", attacks, known_pair)
    stretches = iter(parts(Part(progress, 0.0, 0.5), max(1, len(chosen_losses))))
    loss_by_name = {
        label: loss.measure_pair(pair, progress=next(stretches)) for label, loss in _labelled(chosen_losses).items()
    }
    second_half = Part(progress, 0.5, 1.0)
    battery = None
    if attacks == "all":
        battery = run_battery(original, release, known_pair.attributes, progress=second_half)
        risk_by_name = dict(battery.risks)
    else:
        stretches = iter(parts(second_half, max(1, len(chosen_attacks))))
        risk_by_name = {
            label: attack.assess_pair(known_pair, progress=next(stretches))
            for label, attack in _labelled(chosen_attacks).items()
        }
    summary = Score(headline_loss(loss_by_name, pair), headline_risk(risk_by_name))
    return Assessment(loss_by_name, risk_by_name, summary, pair.attributes, len(pair), battery)


def score_index(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    known: Sequence[str] | None = None,
    known_sizes: Sequence[int] | None = None,
    widths: Sequence[float] = tuple(range(1, 11)),
    decimals: int | None = None,
    progress: Progress = silent,
) -> Assessment:
    """The score index SI of a numeric release, from the loss G_IL and the risk G_DR: `score.weighted(x)`.

    G_DR is the mean of two risks: RLD, in which an intruder who knows some of the attributes `known` takes the two
    persons nearest to each released record (`known_sizes`: how many they know, by default from 4 to all), and ID, in
    which all attributes of a record lie in the intervals around their released ranks. The loss has no upper bound.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65]})
    >>> score_index(people, MDAV(k=2).mask(people)).score.risk
    50.0
    """
    pair = Pair.of(original, release, attributes)
    known_pair = pair if known is None else Pair.of(original, release, known)
    most = len(known_pair.of_kinds(("numeric",)))
    sizes = range(min(4, most), most + 1) if known_sizes is None else known_sizes
    linkage = make(
        *("attack", "distance-linkage"),
        {"neighbours": 2, "direction": "masked", "standardisation": "joint", "known_sizes": tuple(sizes)},
    )
    intervals = make("attack", _INTERVALS, {"mode": "records", "ties": "order", "widths": tuple(map(float, widths))})
    for_loss, for_linkage, for_intervals = parts(progress, 3)
    loss = make("loss", "g-il", {"decimals": decimals}).measure_pair(pair, explicit=True, progress=for_loss)
    linked = linkage.assess_pair(known_pair, explicit=True, progress=for_linkage)
    inside = intervals.assess_pair(pair, explicit=True, progress=for_intervals)
    risks = {linkage.name: linked, intervals.name: inside}
    return Assessment({loss.name: loss}, risks, Score(loss.raw, headline_risk(risks)), pair.attributes, len(pair))


def _chosen(sort: str, wanted: Sequence[Any] | None, pair: Pair) -> list[Any]:
    """The measures asked for; without a wish the usual losses and general attacks that have an attribute to work on."""
    if wanted is not None:
        return [make(sort, item) if isinstance(item, str) else item for item in wanted]
    flag = {"loss": "usual", "attack": "general"}[sort]
    usual = [name for name in names(sort) if getattr(find(sort, name), flag)]
    return [make(sort, name) for name in usual if pair.of_kinds(find(sort, name).kinds)]


def _labelled(measures: Sequence[Any]) -> dict[str, Any]:
    """Measures by their names; those of the same name with a number."""
    same = {m.name: [other for other in measures if other.name == m.name] for m in measures}
    return {
        name if len(group) == 1 else f"{name} ({number})": measure
        for name, group in same.items()
        for number, measure in enumerate(group, start=1)
    }


def headline_loss(losses: Mapping[str, Loss], pair: Pair) -> float:
    """One loss: IL for numeric attributes, the mean of CTBIL and DBIL for the others, weighted by their numbers."""
    weighted = []
    for headline, kinds in (
        (_NUMERIC_HEADLINE, ("numeric",)),
        (_CATEGORICAL_HEADLINE, CATEGORICAL),
    ):
        values = [losses[name].value for name in headline if name in losses]
        attributes = len(pair.of_kinds(kinds))
        if values and attributes:
            weighted.append((sum(values) / len(values), attributes))
    if not weighted:  # other measures were asked for: their plain mean
        weighted = [(loss.value, 1) for loss in losses.values()]
    total = sum(weight for _, weight in weighted)
    return sum(value * weight for value, weight in weighted) / total if total else 0.0


def headline_risk(risks: Mapping[str, Risk]) -> float:
    """One risk: the mean of interval disclosure and of the linkage that succeeds most often, else of those measured."""
    linkages = [risk.value for risk in risks.values() if find("attack", risk.name).family == "linkage"]
    values = [risks[_INTERVALS].value] if _INTERVALS in risks else []
    if linkages:
        values.append(max(linkages))
    values = values or [risk.value for risk in risks.values()]
    return sum(values) / len(values) if values else 0.0
