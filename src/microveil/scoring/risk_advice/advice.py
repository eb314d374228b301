"""The adviser: changes of keys tried on the file itself, what each does to its risk and what it loses.

Every number is that of the file which the change makes: the change is carried out on the key, and the combinations are
counted again.
"""

from __future__ import annotations

import json
import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from microveil.attacks.reidentification import FileRisk, RiskSummary, check_target, risk_of_file
from microveil.display import html_table, number, paragraph, text_table
from microveil.errors import ParameterError, brief
from microveil.masking.plan import Plan, Step
from microveil.masking.release import Release
from microveil.microdata.microdata import Microdata, as_microdata, count
from microveil.microdata.schema import Schema
from microveil.numerics.counting.individual_risk import Estimate
from microveil.parameters import shown
from microveil.progress import Part, Progress, Rising, silent
from microveil.protection import protect
from microveil.scoring.risk_advice.changes import Change, as_it_is, changes_of, dropped, suppression
from microveil.scoring.risk_advice.trying import Lost, Made, Trials
from microveil.units import THRESHOLD

_USUAL_STEPS, _MOST_STEPS = 3, 100
_SUPPRESS = (2, 3, 5)
_FEW = 0.01  # of the records: more are not left to suppression, which would empty many cells and take long
_AS_MUCH = 0.25  # of what the strongest change does, at least
_SHOWN, _NEAR = 15, 0.05
_LONG = 200  # characters of a step; a longer one stands in a plan
_ROUNDING = 1e-9
HEAD = ("change", "expected re-identifications", "records at risk", "uniques", "entropy lost")


@dataclass(frozen=True)
class Proposal:
    """Some changes of the keys, and what the file's risk was `before` and is `after` them. `keys` are those that are
    left, `households` the persons expected to be found by themselves or through their household, before and after,
    where households are declared, and `lost` what the changes lose."""

    changes: tuple[Change, ...]
    before: RiskSummary
    after: RiskSummary
    keys: tuple[str, ...]
    lost: Lost
    households: tuple[float, float] | None = None
    schema: Schema | None = field(default=None, repr=False, compare=False)

    @property
    def words(self) -> str:
        """What is done."""
        return "; ".join(change.words for change in self.changes)

    @property
    def sentence(self) -> str:
        """What is done, and what it does."""
        return (
            f"{self.words}: expected re-identifications {number(self.before.expected)} -> {number(self.after.expected)}"
        )

    @property
    def left_out(self) -> tuple[str, ...]:
        """The keys that are not released."""
        return tuple(change.attribute for change in self.changes if change.drops)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that make the changes; one that changes nothing where attributes are only left out."""
        made = tuple(change.step for change in self.changes if change.step is not None)
        return made or (as_it_is(self.keys[0]),)

    @property
    def plan(self) -> Plan:
        """The plan that makes the changes, with the schema, in which what is left out is an identifier."""
        schema = self.schema
        if schema is not None and self.left_out:
            schema = schema.replacing(*(schema[name].changed(roles=("identifier",)) for name in self.left_out))
        return Plan(self.steps, schema=schema)

    def mask(self, data: Any, seed: int | None = None) -> Release:
        """The table with the changes made."""
        return protect(data, self.plan, seed=seed)

    @property
    def python(self) -> str:
        """The call that makes the changes, for a table `data`."""
        listed = "".join(f"mv.Step({s.method!r}, {dict(s.parameters)!r}, {s.attributes!r}), " for s in self.steps)
        table = "data"
        if self.left_out:
            changed = ", ".join(f"data.schema[{name!r}].changed(roles=('identifier',))" for name in self.left_out)
            table = f"data.with_schema(data.schema.replacing({changed}))"
        return f"mv.protect({table}, mv.Plan(({listed.strip()})))"

    def command(self, table: Sequence[str] = ("people.csv",), plan: str = "plan.toml", out: str = "safe.csv") -> str:
        """The command line that makes the changes; `table` are the words that name and describe the table. Several
        changes, one with long parameters, and what is left out stand in a plan."""
        if len(self.steps) == 1 and not self.left_out:
            (step,) = self.steps
            options = [word for name, value in step.parameters.items() for word in ("--set", f"{name}={_typed(value)}")]
            named = step.attributes or ()
            if len(shlex.join(options)) <= _LONG and not any("," in name for name in named):
                begin = ["microveil", "protect", *table, "--method", step.method]
                return shlex.join([*begin, *options, "--attributes", ",".join(named), "--out", out])
        return shlex.join(["microveil", "protect", table[0], "--plan", plan, "--out", out])

    def row(self) -> tuple[str, str, str, str, str]:
        """The cells of a table with the columns of `HEAD`."""
        return (
            self.words,
            f"{number(self.before.expected)} -> {number(self.after.expected)}",
            f"{self.before.above:,} -> {self.after.above:,}",
            f"{self.before.uniques:,} -> {self.after.uniques:,}",
            f"{self.lost.entropy:.1f} %",
        )

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        homes = None if self.households is None else {"before": self.households[0], "after": self.households[1]}
        return {
            "changes": [change.to_plain() for change in self.changes],
            "keys": list(self.keys),
            "before": _figures(self.before),
            "after": _figures(self.after),
            "households": homes,
            "lost_percent": self.lost.to_plain(),
            "python": self.python,
        }


@dataclass(frozen=True)
class RiskAdvice:
    """What would lower the risk of a file most.

    `proposals` are single changes, those that leave fewest re-identifications to expect first. `sequence` are changes
    one after the other, each with all before it, until the `target` is met: so many expected re-identifications, or
    without one no record above the threshold. Each step takes, of the changes that do at least a quarter of what the
    strongest does, the one that loses least entropy; if some meet the target, the one of these that loses least.
    `tried` is how many were tried, and `complete` whether that was all.
    """

    found: FileRisk = field(repr=False)
    proposals: tuple[Proposal, ...]
    sequence: tuple[Proposal, ...]
    target: float | None
    tried: int
    complete: bool = True

    @property
    def met(self) -> bool:
        """Whether the last proposal of the sequence, or the file as it is, meets the target."""
        return _meets(self.sequence[-1].after if self.sequence else self.found.summary, self.target)

    @property
    def front(self) -> tuple[Proposal, ...]:
        """The single changes than which no other both leaves less risk and loses less entropy."""
        kept: list[Proposal] = []
        for each in self.proposals:
            if all(each.lost.entropy < other.lost.entropy - _ROUNDING for other in kept):
                kept.append(each)
        return tuple(kept)

    @property
    def best(self) -> tuple[Proposal, ...]:
        """The single changes that are worth a look: those on the front that differ, and of each key the strongest one
        beside leaving it out."""
        kept: list[Proposal] = []
        for each in self.front:
            if not kept or each.after.expected > kept[-1].after.expected * (1 + _NEAR):
                kept.append(each)
        seen = {proposal.changes[0].attribute for proposal in kept if not proposal.left_out}
        for each in self.proposals:
            if not each.left_out and each.changes[0].attribute not in seen:
                seen.add(each.changes[0].attribute)
                kept.append(each)
        return tuple(sorted(kept, key=self.proposals.index))[:_SHOWN]

    @property
    def heading(self) -> str:
        """What the changes were tried on."""
        known = ", ".join(self.found.named or self.found.keys)
        more = "" if self.complete else "; the time was up before all were tried"
        return f"{count(self.tried, 'change')} of {known} tried on the file{more}"

    @property
    def outcome(self) -> str:
        """Whether the target can be met, in a sentence."""
        goal = "no record is above the threshold"
        if self.target is not None:
            goal = f"at most {number(self.target)} re-identifications are expected"
        if not self.sequence:
            return f"as the file is, {goal}" if self.met else f"no change lowers the risk, and not yet: {goal}"
        taken = f"with {count(len(self.sequence[-1].changes), 'change')}"
        return f"{taken} {goal}" if self.met else f"{taken} the target is not met: {goal}"

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """The best single changes, with the columns of `HEAD`."""
        return [proposal.row() for proposal in self.best]

    def sequence_rows(self) -> list[tuple[str, str, str, str, str]]:
        """The changes one after the other; each row tells the last one, and what all until then come to."""
        rows = []
        done: tuple[Change, ...] = ()
        for proposal in self.sequence:
            new = [change.words for change in proposal.changes if change not in done]
            gone = [c.words for c in done if c not in proposal.changes]
            words = "; ".join(new) + (f" (instead of: {'; '.join(gone)})" if gone else "")
            rows.append((words, *proposal.row()[1:]))
            done = proposal.changes
        return rows

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        return {
            "target": self.target,
            "met": self.met,
            "tried": self.tried,
            "complete": self.complete,
            "proposals": [proposal.to_plain() for proposal in self.best],
            "sequence": [proposal.to_plain() for proposal in self.sequence],
        }

    def __str__(self) -> str:
        lines = [*paragraph(self.heading), ""]
        for title, rows in (("single changes", self.rows()), ("one after the other", self.sequence_rows())):
            if rows:
                table = [("expected", "at risk", "uniques", "lost", title), *((*row[1:], row[0]) for row in rows)]
                lines += [*text_table(table, right={0, 1, 2, 3}), ""]
        return "\n".join([*lines, *paragraph(self.outcome)])

    def _repr_html_(self) -> str:
        tables = "".join(
            html_table(rows, HEAD, right={1, 2, 3, 4}, caption=title)
            for title, rows in (("Single changes", self.rows()), ("One after the other", self.sequence_rows()))
            if rows
        )
        return f"<p>{escape(self.heading)}</p>{tables}<p>{escape(self.outcome)}</p>"


def advise_risk(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    target: float | None = None,
    steps: int | None = None,
    threshold: float = THRESHOLD,
    estimate: Estimate = "negative-binomial",
    fraction: float | None = None,
    population: int | None = None,
    seconds: float | None = None,
    progress: Progress = silent,
) -> RiskAdvice:
    """What would lower the risk of re-identification of a file most, tried on the file itself.

    Numbers are put in intervals of round widths or rounded, both ends of ordered attributes coded as one value, rare
    categories merged, hierarchies climbed (declared ones, or those that `propose_hierarchy` finds), attributes left
    out, and where few records are rare, cells suppressed. Each proposal says what it does to the expected
    re-identifications and what it loses, and makes the release (`proposal.mask(data)`), in which the number is the one
    promised.

    Then changes are joined one after the other, until at most `target` re-identifications are expected, or without a
    target until no record has a risk above the threshold, in at most `steps` changes (3 without a target). `seconds` of
    the processor end the search early. The other parameters are those of `risk_of_file`.

    >>> people = {"age": [20, 21, 22, 23, 60, 61, 62, 63], "sex": ["f", "m"] * 4}
    >>> advice = advise_risk(Microdata.of(people, keys=["age", "sex"]))
    >>> best = [one for one in advice.proposals if "20" in one.words][0]
    >>> best.sentence
    'recode age to intervals of 20: expected re-identifications 8 -> 4'
    >>> risk_of_file(best.mask(people), best.keys).summary.expected
    4.0
    """
    table = as_microdata(data)
    found = risk_of_file(
        table, keys, threshold=threshold, estimate=estimate, fraction=fraction, population=population,
        progress=Part(progress, 0.0, 0.1),
    )  # fmt: skip
    return advise_on(table, found, target=target, steps=steps, seconds=seconds, progress=Part(progress, 0.1, 1.0))


def advise_on(
    data: Microdata,
    found: FileRisk,
    *,
    target: float | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    progress: Progress = silent,
) -> RiskAdvice:
    """The same on a file whose risk was measured."""
    goal = None if target is None else check_target(target)
    most = _check_steps(steps, goal)
    adviser = _Adviser(data, found, goal, _deadline(seconds), Rising(progress))
    return adviser.advise(most)


@dataclass
class _Candidate:
    """A change in the state that it makes of the file."""

    changed: dict[str, Made]
    risk: FileRisk
    lost: Lost
    last: Change | None = None  # a suppression after all

    @property
    def changes(self) -> tuple[Change, ...]:
        return (*(made.change for made in self.changed.values()), *(() if self.last is None else (self.last,)))


class _Adviser:
    def __init__(
        self, data: Microdata, found: FileRisk, target: float | None, deadline: float, progress: Progress
    ) -> None:
        self.data, self.found, self.target, self.deadline, self.progress = data, found, target, deadline, progress
        self.trials = Trials(data, found)
        self.tried, self.complete = 0, True

    def advise(self, steps: int) -> RiskAdvice:
        if not self.found.keys or not len(self.data):
            return RiskAdvice(self.found, (), (), self.target, 0)
        rounds = [Part(self.progress, i / (steps + 1), (i + 1) / (steps + 1)) for i in range(steps + 1)]
        made = self._made(Part(rounds[0], 0.0, 0.5))
        start = _Candidate({}, self.found, Lost())
        singles = self._candidates(start, made, Part(rounds[0], 0.5, 1.0))
        sequence: list[_Candidate] = []
        now, following = start, singles
        while len(sequence) < steps and not _meets(now.risk.summary, self.target):
            chosen = self._chosen(now, following)
            if chosen is None:
                break
            sequence.append(chosen)
            now = chosen
            if now.last is not None or len(sequence) == steps or _meets(now.risk.summary, self.target):
                break
            following = self._candidates(now, made, rounds[len(sequence)])
        self.progress(1.0, "advising")
        by_risk = sorted(
            (one for one in singles if _lowers(one.risk.summary, self.found.summary)),
            key=lambda one: (round(one.risk.summary.expected, 9), round(one.lost.entropy, 9), one.changes[0].words),
        )
        return RiskAdvice(
            self.found, tuple(map(self._proposal, by_risk)), tuple(map(self._proposal, sequence)), self.target,
            self.tried, self.complete,
        )  # fmt: skip

    def _made(self, progress: Progress) -> list[Made]:
        """Every change of a single key, carried out."""
        found: list[Made] = []
        keys = self.found.keys
        for place, name in enumerate(keys):
            progress(place / len(keys), f"advising: {name}")
            wanted = changes_of(self.data, name)
            if len(keys) > 1 and not self._is_in_series(name):
                wanted.append(dropped(name))
            for change in wanted:
                if self._is_late():
                    return found
                made = self.trials.make(change)
                found += [] if made is None else [made]
        return found

    def _candidates(self, now: _Candidate, made: Sequence[Made], progress: Progress) -> list[_Candidate]:
        """What one further change does, in the place of an earlier one of the same key, and suppression after all."""
        found = []
        for place, each in enumerate(made):
            name = each.change.attribute
            if self._is_late():
                break
            progress(place / len(made), f"advising: {name}")
            if now.changed.get(name) is each:
                continue
            risk = self.trials.risk(now.changed, name, each)
            self.tried += 1
            if risk is not None:
                changed = {**{other: one for other, one in now.changed.items() if other != name}, name: each}
                found.append(_Candidate(changed, risk, self.trials.lost(changed)))
        for k in _SUPPRESS:
            rare = now.risk.below(k)
            if not 0 < rare <= _FEW * len(self.data) or self._is_late():
                continue
            change = suppression(now.risk.keys, k)
            outcome = self.trials.suppressed(now.changed, change)
            self.tried += 1
            if outcome is not None:
                found.append(_Candidate(now.changed, outcome[0], outcome[1], change))
        return found

    def _chosen(self, now: _Candidate, candidates: Sequence[_Candidate]) -> _Candidate | None:
        """The next change of the sequence. Suppression comes last, so it is taken only if it meets the target."""

        def loses(one: _Candidate) -> tuple[float, float, str]:
            return round(one.lost.entropy, 9), round(one.risk.summary.expected, 9), one.changes[-1].words

        had = _excess(now.risk.summary, self.target)
        less = [one for one in candidates if _excess(one.risk.summary, self.target) < had * (1 - _ROUNDING)]
        enough = [one for one in less if _meets(one.risk.summary, self.target)]
        if enough:
            return min(enough, key=loses)
        less = [one for one in less if one.last is None]
        if not less:
            return None
        gained = [had - _excess(one.risk.summary, self.target) for one in less]
        strong = [one for one, gain in zip(less, gained, strict=True) if gain >= _AS_MUCH * max(gained)]
        return min(strong, key=loses)

    def _proposal(self, one: _Candidate) -> Proposal:
        homes = None
        if self.found.household_risk is not None and one.risk.household_risk is not None:
            homes = float(self.found.household_risk.sum()), float(one.risk.household_risk.sum())
        return Proposal(
            one.changes, self.found.summary, one.risk.summary, one.risk.keys, one.lost, homes, self.data.schema
        )

    def _is_in_series(self, name: str) -> bool:
        panel = self.data.schema.panel
        return panel is not None and name in panel.all_columns

    def _is_late(self) -> bool:
        if time.process_time() > self.deadline:
            self.complete = False
        return not self.complete


def _meets(summary: RiskSummary, target: float | None) -> bool:
    return summary.above == 0 if target is None else summary.expected <= target * (1 + _ROUNDING)


def _lowers(after: RiskSummary, before: RiskSummary) -> bool:
    """Whether fewer re-identifications are to be expected, or as many with fewer records at risk."""
    if after.expected < before.expected * (1 - _ROUNDING):
        return True
    return after.above < before.above and after.expected <= before.expected * (1 + _ROUNDING)


def _excess(summary: RiskSummary, target: float | None) -> float:
    """What a sequence is to bring down: records above the threshold, or re-identifications."""
    return float(summary.above) if target is None else summary.expected


def _figures(summary: RiskSummary) -> dict[str, float]:
    return {name: getattr(summary, name) for name in ("expected", "largest", "above", "uniques", "k")}


def _typed(value: Any) -> str:
    """A parameter as it is typed on a command line."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return ",".join(map(_typed, value)) if isinstance(value, list | tuple) else str(shown(value))


def _check_steps(steps: int | None, target: float | None) -> int:
    if steps is None:
        return _USUAL_STEPS if target is None else _MOST_STEPS
    if isinstance(steps, bool) or not isinstance(steps, int) or not 0 <= steps <= _MOST_STEPS:
        raise ParameterError(f"steps = {brief(steps)} is not allowed; it is a whole number from 0 to {_MOST_STEPS}")
    return steps


def _deadline(seconds: float | None) -> float:
    if seconds is None:
        return math.inf
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise ParameterError(f"seconds = {brief(seconds)} is not allowed; it is a number above 0, such as 10")
    return time.process_time() + seconds
