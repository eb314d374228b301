"""Every attack that a release invites, run together: the worst of them, who is in danger, and what gives them away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from microveil.attacks import Attack, Risk
from microveil.errors import Cancelled, DataError, MicroveilError, ParameterError
from microveil.microdata.pairs import Pair
from microveil.progress import Part, Progress, parts, silent
from microveil.registry import find, names

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_LINKAGE = "linkage"
_IDENTIFYING = (_LINKAGE, "uniqueness")
_SHOWN = 20  # characters of a value in an example


@dataclass(frozen=True)
class Battery:
    """What all attacks together gain.

    `risks` by the label of the attack, and `attacks` by the same; `passed_over` says why an attack was not run;
    `contributions` are, for each known attribute, the percentage points of the worst linkage that go with it.
    """

    risks: Mapping[str, Risk]
    attacks: Mapping[str, Attack] = field(repr=False)
    passed_over: Mapping[str, str]
    contributions: Mapping[str, float]
    known: tuple[str, ...]
    records: int

    @property
    def worst_linkage(self) -> str | None:
        """The label of the attack that links most records to the right person."""
        return _worst_linkage(self.attacks, self.risks)

    @property
    def value(self) -> float:
        """The greatest share of records that any attack links to the right person.

        What other attacks disclose is in `risks`: partly it could be guessed without the release (their `baseline`).
        """
        return 0.0 if self.worst_linkage is None else self.risks[self.worst_linkage].value

    @property
    def vulnerability(self) -> FloatArray:
        """For each record its greatest probability of being identified by any attack; NaN where none attacked it."""
        linked = [r.per_record for label, r in self.risks.items() if self.attacks[label].family in _IDENTIFYING]
        found = np.full(self.records, np.nan)
        for per_record in linked:
            found = np.fmax(found, per_record)
        return found

    @property
    def certain(self) -> IntArray:
        """The records that some attack links beyond doubt."""
        proved = [risk.certain for risk in self.risks.values()]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *proved])).astype(np.int64)

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        found = self.vulnerability
        known = found[~np.isnan(found)]
        return {
            "value": self.value,
            "worst_linkage": self.worst_linkage,
            "certain": len(self.certain),
            "vulnerable": {f"{share:g}": int((known >= share).sum()) for share in (0.1, 0.5, 1.0)},
            "contributions": dict(self.contributions),
            "risks": {label: risk.to_plain() for label, risk in self.risks.items()},
            "passed_over": dict(self.passed_over),
        }

    def explain(self, label: str, original: Any, release: Any) -> str:
        """What a risk means, with an example from the table: values of a record are shown, so keep it to yourself."""
        risk, attack = self.risks[label], self.attacks[label]
        lines = [
            f"{label}: {risk.value:.2f} % (95 % interval {risk.low:.2f} to {risk.high:.2f}, "
            f"{risk.attacked:,} records attacked)",
            f"Scenario: {risk.scenario}",
            f"The intruder is assumed to know: {attack.assumes}.",
        ]
        if attack.formula:
            lines.append(f"Formula: {attack.formula}")
        if len(risk.certain):
            lines.append(f"Beyond doubt: {len(risk.certain):,} records. {risk.proof}")
        pair = Pair.of(original, release, risk.known)
        example = _example(pair, risk, pair.release.rows if pair.release is not None else None)
        return "\n".join([*lines, *([example] if example else [])])


def run_battery(
    original: Any,
    release: Any,
    known: Sequence[str] | None = None,
    *,
    attacks: Sequence[str] | None = None,
    contributions: bool = True,
    workers: int | None = None,
    progress: Progress = silent,
) -> Battery:
    """Run every attack that applies to a release, as its provenance suggests, or those named.

    `known` are the attributes the intruder knows, by default those the release masked. The attacks run side by side;
    the result does not depend on how many at a time.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = {"age": [20, 22, 41, 43, 61, 65], "height": [170, 180, 175, 190, 160, 165]}
    >>> found = run_battery(people, MDAV(k=3).mask(people))
    >>> found.known, found.risks["distance-linkage"].value < 34
    (('age', 'height'), True)
    """
    pair = Pair.of(original, release, known)
    if isinstance(attacks, str):
        attacks = [attacks]
    if workers is not None and workers < 1:
        raise ParameterError(f"workers = {workers} is not allowed; at least one is needed")
    chosen, passed_over = _suited(pair, attacks)
    if not chosen:
        why = "; ".join(f"{name}: {reason}" for name, reason in passed_over.items()) or "none was named"
        raise DataError(f"there is no attack to run ({why})")
    risks, failed = _side_by_side(chosen, pair, workers, Part(progress, 0.0, 0.7 if contributions else 1.0))
    worst = _worst_linkage(chosen, risks)
    shares: dict[str, float] = {}
    if contributions and worst is not None and len(risks[worst].known) > 1 and chosen[worst].known_is_all:
        shares = _contributions(chosen[worst], pair, risks[worst], Part(progress, 0.7, 1.0))
    progress(1.0, "attacking")
    kept = {label: chosen[label] for label in risks}
    return Battery(risks, kept, {**passed_over, **failed}, shares, pair.attributes, len(pair))


def _suited(pair: Pair, wanted: Sequence[str] | None) -> tuple[dict[str, Attack], dict[str, str]]:
    """The attacks to run by label, and why the others are passed over."""
    chosen: dict[str, Attack] = {}
    passed_over: dict[str, str] = {}
    for name in names("attack") if wanted is None else wanted:
        cls: type[Attack] = find("attack", name)
        suited = cls.suited(pair)
        if not suited:
            passed_over[name] = cls.why_not(pair)
        for attack in suited:
            chosen[_label(attack, suited[0])] = attack
    for name in pair.recoded:
        passed_over[f"all, with '{name}'"] = "its released values are of another kind"
    return chosen, passed_over


def _label(attack: Attack, usual: Attack) -> str:
    """The attack's name, and what sets it apart from its usual form."""
    usually = usual.parameters()
    apart = [f"{name}={value}" for name, value in attack.parameters().items() if value != usually[name]]
    return f"{attack.name} ({', '.join(apart)})" if apart else attack.name


def _side_by_side(
    attacks: Mapping[str, Attack], pair: Pair, workers: int | None, progress: Progress
) -> tuple[dict[str, Risk], dict[str, str]]:
    from microveil.numerics.compiled import threads

    done = dict.fromkeys(attacks, 0.0)
    lock = Lock()

    def run(label: str) -> Risk | str:
        def part(fraction: float, _: str) -> None:
            with lock:
                done[label] = max(done[label], fraction)
                progress(sum(done.values()) / len(done), f"attacking: {label}")

        try:
            return attacks[label].assess_pair(pair, progress=part)
        except Cancelled:
            raise
        except MicroveilError as problem:
            return str(problem)

    with ThreadPoolExecutor(max_workers=workers or threads()) as pool:
        results = dict(zip(attacks, pool.map(run, attacks), strict=True))
    risks = {label: result for label, result in results.items() if isinstance(result, Risk)}
    return risks, {label: result for label, result in results.items() if isinstance(result, str)}


def _worst_linkage(attacks: Mapping[str, Attack], risks: Mapping[str, Risk]) -> str | None:
    linkages = [label for label in risks if attacks[label].family == _LINKAGE]
    return max(linkages, key=lambda label: risks[label].value, default=None)


def _contributions(attack: Attack, pair: Pair, risk: Risk, progress: Progress) -> dict[str, float]:
    """How much of a risk goes when the intruder does not know one of the attributes, the largest first."""
    lost = {}
    for name, part in zip(risk.known, parts(progress, len(risk.known)), strict=True):
        others = tuple(other for other in risk.known if other != name)
        try:
            lost[name] = risk.value - attack.assess_pair(pair.knowing(others), progress=part).value
        except Cancelled:
            raise
        except MicroveilError:
            continue  # the attack needs this attribute
    return dict(sorted(lost.items(), key=lambda item: -item[1]))


def _example(pair: Pair, risk: Risk, rows: IntArray | None) -> str:
    """The most endangered record: what the intruder knows of it, what is released, and the chance of a right link."""
    if np.isnan(risk.per_record).all():
        return ""
    record = int(np.nanargmax(risk.per_record))
    number = (record if rows is None else int(rows[record])) + 1  # its number in the original file
    cells = []
    for name in pair.attributes:
        before, after = (table.arrow(name)[record].as_py() for table in (pair.original, pair.masked))
        cells.append(f"{name} {_short(before)} released as {_short(after)}")
    return (
        f"Example: record {number} has {', '.join(cells)}; the attack succeeds for it with probability "
        f"{risk.per_record[record]:.2f}."
    )


def _short(value: object) -> str:
    text = "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
