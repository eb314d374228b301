"""Protect, attack, strengthen: methods of growing strength are tried until an attack gains little enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from microveil.attacks import Attack, Risk
from microveil.comparison.knowledge import Knowledge
from microveil.comparison.pairs import Pair
from microveil.display import html_table, paragraph, text_table
from microveil.errors import DataError, GuaranteeError, ParameterError
from microveil.masking.base import Method
from microveil.masking.release import Release
from microveil.parameters import own_names, settings_of, shown
from microveil.progress import Progress, parts, silent
from microveil.protection import check_required
from microveil.randomness import draw_seed
from microveil.registry import make_of


@dataclass(frozen=True)
class Strengthened:
    """The first release that resists the attack and guarantees what it must, how it was made, and the risk of every
    method tried, in per cent; `unmet` says of each what its release did not guarantee, nothing where it did, and
    `labels` what to call it. The risk is that of the attack `measure`, or of one of its counters, and at most `limit`.
    `knowledge` is what the intruder is assumed to know; none where the attack seeks masked values.
    """

    release: Release = field(repr=False)
    method: Method
    risk: Risk
    tried: tuple[tuple[Method, float], ...]
    unmet: tuple[str, ...]
    labels: tuple[str, ...]
    measure: str
    limit: float
    knowledge: Knowledge | None = None

    @property
    def heading(self) -> str:
        """What the intruder knows or is after."""
        return str(self.knowledge or f"the intruder wants to learn the values of {', '.join(self.risk.known)}")

    def sentences(self) -> list[str]:
        """What the intruder knows, what was tried, a line for each, and how sure the risk of the release is."""
        told = [
            f"tried {label}: {self.measure} {risk:.2f} %{', but not what is required' if unmet else ''}"
            for label, risk, unmet in self._rows()
        ]
        told[self._taken] += f" ({self._interval})" if self._interval else ""
        return [self.heading, *told]

    def rows(self) -> list[tuple[str, str, str]]:
        """What was tried, its risk, and what became of it."""
        became = ["does not guarantee what is required" if unmet else "" for _, _, unmet in self._rows()]
        became[self._taken] = ", ".join(filter(None, ["released", self._interval]))
        return [(label, f"{risk:.2f} %", end) for (label, risk, _), end in zip(self._rows(), became, strict=True)]

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        tried = [{"method": label, "risk": risk, "required": not unmet} for label, risk, unmet in self._rows()]
        return {"measure": self.measure, "limit": self.limit, "tried": tried, "risk": self.risk.to_plain()}

    def __str__(self) -> str:
        table = text_table([("tried", self.measure, ""), *self.rows()], right={1})
        return "\n".join([*paragraph(self.heading), "", *table])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.heading)}</p>" + html_table(self.rows(), ("tried", self.measure, ""), right={1})

    def _rows(self) -> list[tuple[str, float, bool]]:
        """The methods tried, their risks, and whether their releases fall short of what is required."""
        risks = (risk for _, risk in self.tried)
        return list(zip(self.labels, risks, map(bool, self.unmet), strict=True))

    @property
    def _taken(self) -> int:
        return [method for method, _ in self.tried].index(self.method)

    @property
    def _interval(self) -> str:
        """Known of the attack's own value only."""
        if self.measure != self.risk.name:
            return ""
        return f"95 % interval {self.risk.low:.2f} to {self.risk.high:.2f}"


def stronger(method: Method, parameter: str, values: Iterable[Any]) -> list[Method]:
    """The same method with other values of one parameter, from weak to strong.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> [method.k for method in stronger(MDAV(), "k", (3, 5, 10))]
    [3, 5, 10]
    """
    cls, kept = type(method), method.parameters()
    if parameter in settings_of(cls):  # other settings have parameters of their own
        replaced = own_names(type(getattr(method, parameter)))
        kept = {name: value for name, value in kept.items() if name not in replaced}
    return [make_of(cls, {**kept, parameter: value}) for value in values]


def protect_until(
    data: Any,
    methods: Iterable[Method],
    attack: Attack,
    limit: float,
    *,
    attributes: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    counter: str | None = None,
    seeds: Sequence[int] | None = None,
    in_a_row: int = 1,
    require: Mapping[str, float] | None = None,
    labels: Sequence[str] | None = None,
    progress: Progress = silent,
) -> Strengthened:
    """Mask with each method in turn, attack the release, and stop at the first whose risk is at most `limit` per cent.

    The risk is the attack's value, or one of its counters, such as the `gain` or the `explained` variance of an
    `inference`; the mean over several seeds if given; without any, a secret one is drawn. Risks that are noisy may be
    asked to meet the limit for several methods in a row; the first of these is taken. The release is that of the first
    seed. `require` are guarantees, such as {"k": 5}, that the releases must have besides. It is the value that must
    meet the limit; the upper end of its confidence interval, `found.risk.high`, can lie above it. `labels` are what the
    methods are called where the result is shown; by default the parameters in which they differ.

    >>> from microveil.attacks.linkage.distance import DistanceLinkage
    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = {"age": list(range(20, 60)), "height": [150 + (7 * i) % 41 for i in range(40)]}
    >>> found = protect_until(people, stronger(MDAV(), "k", (2, 4, 8, 16)), DistanceLinkage(), limit=20)
    >>> found.method.k, [round(risk) for _, risk in found.tried]
    (8, [50, 24, 12])
    >>> found.labels
    ('k=2', 'k=4', 'k=8')
    """
    seeds = (draw_seed(),) if seeds is None else seeds
    if not seeds or in_a_row < 1:
        raise ParameterError("the loop needs at least one seed, and one method to meet the limit")
    strengths = list(methods)
    names = _labels(strengths) if labels is None else list(labels)
    if len(names) != len(strengths):
        raise ParameterError(f"{len(strengths)} methods need as many labels, not {len(names)}")
    measure = attack.name if counter is None else f"{attack.name}.{counter}"
    tried: list[tuple[Method, float]] = []
    unmet: list[str] = []
    first: tuple[Release, Risk] | None = None
    met = 0
    for number, (method, stretch) in enumerate(zip(strengths, parts(progress, len(strengths)), strict=True)):
        results = [
            _attacked(data, method, attack, attributes, known, seed, part)
            for seed, part in zip(seeds, parts(stretch, len(seeds)), strict=True)
        ]
        value = sum(_value(risk, counter) for _, risk in results) / len(results)
        tried.append((method, value))
        unmet.append(_unmet(data, [release for release, _ in results], require or {}))
        met = met + 1 if value <= limit and not unmet[-1] else 0
        first = None if met == 0 else first or results[0]
        if first is not None and met == in_a_row:
            progress(1.0, f"{attack.name} is within its limit")
            knowledge = Pair.of(data, first[0], known=known).knowledge if attack.subject == "known" else None
            taken = strengths[number + 1 - in_a_row]
            return Strengthened(
                first[0], taken, first[1], tuple(tried), tuple(unmet), tuple(names[: len(tried)]), measure, limit,
                knowledge,
            )  # fmt: skip
    short = [why for (_, value), why in zip(tried, unmet, strict=True) if value <= limit and why]
    if short:
        raise DataError(f"{attack.name} is brought to {limit:g} %, but {short[-1]}")
    lowest = f"; the lowest risk was {min(value for _, value in tried):.4g} %" if tried else ""
    raise DataError(f"no method tried brings the risk of {attack.name} to {limit:g} %{lowest}")


def _labels(methods: Sequence[Method]) -> list[str]:
    """The parameters in which methods of one name differ; else the methods as they are written."""
    if len({method.name for method in methods}) != 1:
        return [repr(method) for method in methods]
    settings = [method.parameters() for method in methods]
    varied = [name for name, value in settings[0].items() if any(other[name] != value for other in settings)]
    if not varied:
        return [method.name for method in methods]
    return [", ".join(f"{name}={shown(setting[name])}" for name in varied) for setting in settings]


def _attacked(
    data: Any,
    method: Method,
    attack: Attack,
    attributes: Sequence[str] | None,
    known: Sequence[str] | None,
    seed: int,
    progress: Progress,
) -> tuple[Release, Risk]:
    masking, attacking = parts(progress, 2)
    release = method.mask(data, attributes, seed=seed, progress=masking)
    return release, attack.assess(data, release, known, progress=attacking)


def _unmet(data: Any, releases: Sequence[Release], require: Mapping[str, float]) -> str:
    """What the first of the releases that falls short lacks."""
    for release in releases if require else ():
        try:
            check_required(data, release, require)
        except GuaranteeError as short:
            return str(short)
    return ""


def _value(risk: Risk, counter: str | None) -> float:
    if counter is not None and counter not in risk.counters:
        raise ParameterError(f"{risk.name} has no counter '{counter}'; it has {', '.join(risk.counters) or 'none'}")
    return risk.value if counter is None else risk.counters[counter]
