"""The battery: all attacks that apply to a release, the worst of them, and the records and attributes at risk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from html import escape
from threading import Lock
from typing import Any

import numpy as np

from microveil.attacks import Attack, Risk
from microveil.attacks.correspondence import corresponding
from microveil.attacks.leak import LEAK_HEAD, LEAK_MEANING, Leak, leak_rows, leaks_of
from microveil.comparison.knowledge import Knowledge
from microveil.comparison.pairs import Pair
from microveil.display import frame_of, html_table, paragraph, text_table
from microveil.errors import Cancelled, DataError, MicroveilError, ParameterError
from microveil.progress import Part, Progress, silent
from microveil.registry import find, names
from microveil.typing import FloatArray, IntArray

_LINKAGE = "linkage"
_UNIQUENESS = "uniqueness"  # the attack, not its family: who is singled out by a predicate need not be the own record
_DRAWN = 10_000  # records whose contributions are found
_SHOWN = 20  # characters of a value in an example
_SHOWN_CELLS = 12  # cells of a series in an example


@dataclass(frozen=True, repr=False)
class Battery:
    """What all attacks together gain.

    `risks` by the label of the attack, and `attacks` by the same; `passed_over` says why an attack was not run;
    `contributions` are, for each known attribute, the percentage points of the worst linkage that go with it; of a long
    file for some records drawn at random. `labelled` are attributes released as labels for several values, which only
    the attacks that have them among what they know can read; the others are run without them.
    `failed` are the attacks that broke off with an error that nobody foresaw: what they would have gained is not known,
    so the risk may be higher than it seems. `warnings` say where the records of the two tables did not correspond.
    """

    risks: Mapping[str, Risk]
    attacks: Mapping[str, Attack] = field(repr=False)
    passed_over: Mapping[str, str]
    contributions: Mapping[str, float]
    knowledge: Knowledge
    records: int
    labelled: tuple[str, ...] = ()
    # the text of such an error may hold values of records
    failed: Mapping[str, Exception] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """The attributes the intruder knows."""
        return self.knowledge.attributes

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
        return vulnerability_of(self.risks.values(), self.records)

    @property
    def certain(self) -> IntArray:
        """The records whose link the intruder can prove to be right, by some attack."""
        proved = [risk.certain for risk in self.risks.values()]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *proved])).astype(np.int64)

    @property
    def leaks(self) -> dict[str, Leak]:
        """The success of attacks beside that on the control group, where one was given, by the label of the attack."""
        return leaks_of(self.risks)

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        found = self.vulnerability
        known = found[~np.isnan(found)]
        return {
            "value": self.value,
            "knowledge": self.knowledge.to_plain(),
            "worst_linkage": self.worst_linkage,
            "certain": len(self.certain),
            "vulnerable": {f"{share:g}": int((known >= share).sum()) for share in (0.1, 0.5, 1.0)},
            "contributions": dict(self.contributions),
            "labelled": list(self.labelled),
            "risks": {label: risk.to_plain() for label, risk in self.risks.items()},
            "passed_over": dict(self.passed_over),
            "failed": {label: type(problem).__name__ for label, problem in self.failed.items()},
            "warnings": list(self.warnings),
        }

    @property
    def heading(self) -> str:
        """What was attacked, by whom."""
        return f"attacks on {self.records:,} records; {self.knowledge}"

    def rows(self) -> list[tuple[str, float, float, float, str]]:
        """Label, risk in per cent, its 95 % interval, and meaning of every attack."""
        return [
            (label, risk.value, risk.low, risk.high, find("attack", risk.name).meaning.partition("; lower is ")[0])
            for label, risk in self.risks.items()
        ]

    def sentences(self) -> list[str]:
        """What all attacks together say: the worst linkage, who is in danger, and what was not run to its end."""
        told = [f"warning: {warning}" for warning in self.warnings]
        if self.worst_linkage is not None:
            worst = self.risks[self.worst_linkage]
            told.append(
                f"worst linkage: {self.worst_linkage}, {worst.value:.2f} % of the records "
                f"(95 % interval {worst.low:.2f} to {worst.high:.2f})"
            )
        plain = self.to_plain()
        vulnerable = plain["vulnerable"]
        told.append(
            f"records that some attack links to the right person with a probability of 1: {vulnerable['1']:,}; one "
            f"half or more: {vulnerable['0.5']:,}; one tenth or more: {vulnerable['0.1']:,}. Links that the intruder "
            f"can prove to be right: {plain['certain']:,}"
        )
        if self.contributions:
            parts_told = ", ".join(f"{name} {points:+.2f}" for name, points in self.contributions.items())
            told.append(f"contribution of each attribute to the worst linkage, in percentage points: {parts_told}")
        if self.labelled:
            readers = [label for label, risk in self.risks.items() if set(risk.known) & set(self.labelled)]
            by = ", ".join(readers) or "none"
            told.append(f"{', '.join(self.labelled)}: released as labels, which only these attacks could use: {by}")
        told += [f"not run ({reason}): {', '.join(attacks)}" for reason, attacks in self.reasons.items()]
        if self.failed:
            told.append(f"failed (internal error; the risk may be higher): {', '.join(self.failed)}")
        return told

    @property
    def reasons(self) -> dict[str, list[str]]:
        """Why attacks were passed over, with the attacks for each reason."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.passed_over.items():
            reasons.setdefault(reason, []).append(name)
        return reasons

    def _shown(self) -> list[tuple[str, str, str, str]]:
        return [
            (label, f"{value:.2f} %", f"{low:.2f} to {high:.2f}", meaning)
            for label, value, low, high, meaning in self.rows()
        ]

    def __str__(self) -> str:
        table = [("attack", "risk", "95 % interval"), *(row[:3] for row in self._shown())]
        lines = [*paragraph(self.heading), "", *text_table(table, right={1, 2}), ""]
        if self.leaks:
            lines += [
                *text_table([LEAK_HEAD, *leak_rows(self.leaks)], right={1, 2, 3, 4}),
                *paragraph(LEAK_MEANING),
                "",
            ]
        return "\n".join([*lines, *(line for told in self.sentences() for line in paragraph(told))])

    __repr__ = __str__  # the fields themselves are long, and what they say of single records is not for the screen

    def _repr_html_(self) -> str:
        table = html_table(self._shown(), ("attack", "risk", "95 % interval", "what it means"), right={1, 2})
        told = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        return f"<p>{escape(self.heading)}</p>{table}{leak_html(self.leaks)}{told}"

    def to_frame(self) -> Any:
        """Every risk as a table with the columns attack, percent, low, high and meaning: a pandas DataFrame if pandas
        is installed, else a pyarrow Table."""
        return frame_of({"attack": str, "percent": float, "low": float, "high": float, "meaning": str}, self.rows())

    def explain(self, label: str, original: Any, release: Any) -> str:
        """What a risk means, with an example from the table: values of a record are shown, so keep it confidential."""
        return explain_risk(label, self.risks[label], original, release)


def leak_html(leaks: Mapping[str, Leak]) -> str:
    """The leaks of attacks for a notebook; nothing without a control group."""
    if not leaks:
        return ""
    return html_table(leak_rows(leaks), LEAK_HEAD, right={1, 2, 3, 4}) + f"<p>{escape(LEAK_MEANING)}</p>"


def explain_risk(label: str, risk: Risk, original: Any, release: Any) -> str:
    """What a risk means, with an example from the table: values of a record are shown, so keep it confidential."""
    known = risk.known or None  # by links alone nothing is known of attributes
    return explain_in_pair(label, risk, Pair.of(original, release, known, known=known))


def explain_in_pair(label: str, risk: Risk, pair: Pair) -> str:
    """The same on tables that are paired up already."""
    attack: type[Attack] = find("attack", risk.name)
    lines = [
        f"{label}: {risk.value:.2f} % (95 % interval {risk.low:.2f} to {risk.high:.2f}, "
        f"{risk.attacked:,} records attacked)",
        f"Scenario: {risk.scenario}",
        f"The intruder is assumed to know: {attack.assumes}.",
    ]
    if attack.formula:
        lines.append(f"Formula: {attack.formula}")
    if (leak := risk.leak) is not None:
        lines.append(
            f"Beside the control group: {leak.original:.2f} % of {leak.attacked:,} attacks on persons of the original "
            f"succeed, and {leak.control:.2f} % of {leak.controls:,} on persons of the control group; the leak is "
            f"{leak.value:.2f} % (95 % interval {leak.low:.2f} to {leak.high:.2f}). A success: {leak.meaning}."
        )
    if len(risk.certain):
        lines.append(f"Links that the intruder can prove to be right: {len(risk.certain):,} records. {risk.proof}")
    example = _example(pair.about(risk.known), risk, pair.release.rows if pair.release is not None else None)
    return "\n".join([*lines, *([example] if example else [])])


def vulnerability_of(risks: Iterable[Risk], records: int) -> FloatArray:
    """For each record its greatest probability of being identified by any of these; NaN where none attacked it."""
    found = np.full(records, np.nan)
    for risk in risks:
        if risk.name == _UNIQUENESS or find("attack", risk.name).family == _LINKAGE:
            found = np.fmax(found, risk.per_record)
    return found


def run_battery(
    original: Any,
    release: Any,
    known: Sequence[str] | None = None,
    *,
    attributes: Sequence[str] | None = None,
    attacks: Sequence[str] | None = None,
    contributions: bool = True,
    workers: int | None = None,
    match_by: str | None = None,
    control: Any = None,
    progress: Progress = silent,
) -> Battery:
    """Run every attack that applies to a release, as its provenance suggests, or those named.

    `known` are the attributes the intruder knows, by default the declared keys, or without any those the release
    masked; `attributes` are the masked ones whose values are sought. The attacks run side by side; the result does not
    depend on how many at a time. An attack that breaks off is among the `failed`; the others go on. Records that do not
    correspond are matched as `assess` does it, by the identifier `match_by` if one is named. With a `control` group,
    records of the same population that are not in the release, attacks are run on these too, as `assess` does it.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = {"age": [20, 22, 41, 43, 61, 65], "height": [170, 180, 175, 190, 160, 165]}
    >>> found = run_battery(people, MDAV(k=3).mask(people))
    >>> found.known, found.risks["distance-linkage"].value < 34
    (('age', 'height'), True)
    """
    matched = corresponding(original, release, match_by)
    pair = Pair.of(matched.original, matched.release, attributes, known=known, control=control)
    found = battery_of(pair, attacks=attacks, contributions=contributions, workers=workers, progress=progress)
    return replace(found, warnings=matched.warnings + (() if pair.control is None else pair.control.warnings))


def battery_of(
    pair: Pair,
    *,
    attacks: Sequence[str] | None = None,
    done: Sequence[Attack] = (),
    records: int | None = None,
    contributions: bool = True,
    workers: int | None = None,
    progress: Progress = silent,
) -> Battery:
    """The same on tables whose records are in the same order; those that are `done` already are not run again, and
    those that can draw the records to attack draw so many `records`."""
    if isinstance(attacks, str):
        attacks = [attacks]
    if workers is not None and workers < 1:
        raise ParameterError(f"workers = {workers} is not allowed; at least one is needed")
    chosen, passed_over, failed = _suited(pair, attacks)
    chosen = {label: attack.on_at_most(records) for label, attack in chosen.items() if attack not in done}
    if not chosen and not done:
        raise DataError(f"there is no attack to run ({_reasons(passed_over, failed)})")
    results = _side_by_side(chosen, pair, workers, Part(progress, 0.0, 0.7 if contributions else 1.0))
    risks = {label: result for label, result in results.items() if isinstance(result, Risk)}
    passed_over |= {label: str(result) for label, result in results.items() if isinstance(result, MicroveilError)}
    failed |= {
        label: result for label, result in results.items() if not isinstance(result, Risk) and label not in passed_over
    }
    if not risks and not done:
        raise DataError(f"no attack could be run to its end ({_reasons(passed_over, failed)})")
    worst = _worst_linkage(chosen, risks)
    shares: dict[str, float] = {}
    if contributions and worst is not None and chosen[worst].known_is_all and len(_parts_of(pair, risks[worst])) > 1:
        stretch = _Watched(Part(progress, 0.7, 1.0))
        try:
            shares = _contributions(chosen[worst], pair, risks[worst], stretch)
        except Exception as problem:
            if stretch.raised:
                raise
            failed[f"contributions to {worst}"] = problem
    progress(1.0, "attacking")
    kept = {label: chosen[label] for label in risks}
    labelled = pair.about(tuple(dict.fromkeys((*pair.knowledge.attributes, *pair.compared)))).labelled
    return Battery(risks, kept, passed_over, shares, pair.knowledge, len(pair), labelled, failed)


def _reasons(passed_over: Mapping[str, str], failed: Mapping[str, Exception]) -> str:
    why = {**passed_over, **{label: type(problem).__name__ for label, problem in failed.items()}}
    return "; ".join(f"{label}: {reason}" for label, reason in why.items()) or "none was named"


def _suited(pair: Pair, wanted: Sequence[str] | None) -> tuple[dict[str, Attack], dict[str, str], dict[str, Exception]]:
    """The attacks to run by label, why others are passed over, and those that break off when asked."""
    chosen: dict[str, Attack] = {}
    passed_over: dict[str, str] = {}
    failed: dict[str, Exception] = {}
    for name in names("attack") if wanted is None else wanted:
        cls: type[Attack] = find("attack", name)
        if wanted is None and cls.of_series and pair.original.schema.panel is None:
            continue  # nothing that anybody would miss
        if wanted is None and cls.of_graph and not pair.is_graph:
            continue
        faced = cls.facing(pair)
        try:
            suited = cls.suited(faced)
            if not suited:
                passed_over[name] = cls.why_not(faced)
                continue
            passed_over |= {variant_label(attack, suited[0]): reason for attack, reason in cls.too_long(faced)}
        except MicroveilError:
            raise
        except Exception as problem:
            failed[name] = problem
            continue
        chosen |= {variant_label(attack, suited[0]): attack for attack in suited}
    return chosen, passed_over, failed


def variant_label(attack: Attack, usual: Attack) -> str:
    """The attack's name, and what sets it apart from its usual form."""
    usually = usual.parameters()
    apart = [f"{name}={value}" for name, value in attack.parameters().items() if value != usually[name]]
    return f"{attack.name} ({', '.join(apart)})" if apart else attack.name


class _Watched:
    """Progress that remembers whether the caller raised something: that is the caller's error, not an attack's."""

    def __init__(self, whole: Progress) -> None:
        self.whole, self.raised = whole, False

    def __call__(self, fraction: float, label: str, /) -> None:
        try:
            self.whole(fraction, label)
        except BaseException:
            self.raised = True
            raise


def _side_by_side(
    attacks: Mapping[str, Attack], pair: Pair, workers: int | None, progress: Progress
) -> dict[str, Risk | Exception]:
    """The risk of every attack, or what it ended with."""
    from microveil.numerics.core.compiled import threads

    done = dict.fromkeys(attacks, 0.0)
    lock = Lock()
    watched = _Watched(progress)

    def run(label: str) -> Risk | Exception:
        def part(fraction: float, _: str) -> None:
            with lock:
                done[label] = max(done[label], fraction)
                watched(sum(done.values()) / len(done), f"attacking: {label}")

        try:
            return attacks[label].assess_pair(attacks[label].facing(pair), progress=part)
        except Cancelled:
            raise
        except Exception as problem:
            if watched.raised:
                raise
            return problem

    with ThreadPoolExecutor(max_workers=workers or threads()) as pool:
        return dict(zip(attacks, pool.map(run, attacks), strict=True))


def _worst_linkage(attacks: Mapping[str, Attack], risks: Mapping[str, Risk]) -> str | None:
    linkages = [label for label in risks if attacks[label].family == _LINKAGE]
    return max(linkages, key=lambda label: risks[label].value, default=None)


def _contributions(attack: Attack, pair: Pair, risk: Risk, progress: Progress) -> dict[str, float]:
    """How much of a risk goes when the intruder does not know one of the attributes, the largest first.

    Every attribute may take a run of its own, so of many records some are drawn.
    """
    few, pair = _on_few(attack, risk), replace(pair, control=None)
    without = few.without_each(pair, risk.known, _parts_of(pair, risk), progress)
    lost = {name: _of_same_records(risk, other) - other.value for name, other in without.items()}
    return dict(sorted(lost.items(), key=lambda item: -item[1]))


def _parts_of(pair: Pair, risk: Risk) -> dict[str, set[str]]:
    """What the intruder may not know, by its name: an attribute, and of a table of series all times of a variable."""
    panel = pair.original.schema.panel
    found: dict[str, set[str]] = {}
    for name in risk.known:
        found.setdefault((panel and panel.variable_of(name)) or name, set()).add(name)
    return found


def _of_same_records(risk: Risk, other: Risk) -> float:
    """The risk of the records that another attacked; of its own where it did not attack all of these."""
    same = risk.per_record[~np.isnan(other.per_record)]
    return risk.value if other.attacked == risk.attacked or np.isnan(same).any() else 100 * float(same.mean())


def _on_few(attack: Attack, risk: Risk) -> Attack:
    """The attack on no more records than contributions need; as it is where it needs all of them."""
    if risk.attacked <= _DRAWN or "records" not in attack.parameters():
        return attack
    try:
        return attack.changed(records=_DRAWN)
    except ParameterError:
        return attack


def _example(pair: Pair, risk: Risk, rows: IntArray | None) -> str:
    """The most endangered record: what the intruder knows of it, what is released, and the chance of a right link."""
    if np.isnan(risk.per_record).all():
        return ""
    record = int(np.nanargmax(risk.per_record))
    number = (record if rows is None else int(rows[record])) + 1  # its number in the original file
    cells = []
    times = pair.original.schema.panel is not None and len(pair.attributes) > _SHOWN_CELLS
    for name in pair.attributes[:_SHOWN_CELLS] if times else pair.attributes:
        before, after = (table.arrow(name)[record].as_py() for table in (pair.original, pair.masked))
        cells.append(f"{name} {_short(before)} released as {_short(after)}")
    cells += [f"and so on for {len(pair.attributes) - _SHOWN_CELLS:,} more times"] if times else []
    held = f" has {', '.join(cells)}" if cells else ""
    return f"Example: record {number}{held}; the attack succeeds for it with probability {risk.per_record[record]:.2f}."


def _short(value: object) -> str:
    text = "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
