"""Quality criteria of inference control: security, robustness, bias, precision, consistency and cost, in one report."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from microveil.display import number
from microveil.queries.answers import Answer
from microveil.queries.conditions import (
    EVERYBODY,
    CategorySet,
    Condition,
    Formula,
    NumberSet,
    Span,
    all_of,
    attributes_of,
)
from microveil.queries.database import Database
from microveil.queries.questions import Question, Statistic
from microveil.queries.server import QueryServer

if TYPE_CHECKING:
    from microveil.queries.red_team.campaign import Campaign

_ADDITIVE = ("count", "sum")
_ROUNDING = 1e-9  # relative difference that arithmetic leaves
_MOST_CATEGORIES, _MOST_ATTRIBUTES = 12, 6  # that the questions of an ordinary analyst go by
_WIDE = 2.0  # standard deviations of the noise on each side of an answer
_FEW_TARGETS = 10
# what each control takes for granted of those who ask; an intruder who knows or does more is not stopped


@dataclass(frozen=True)
class Accuracy:
    """Answers beside the truth: the mean and the variance of answer - truth, and how often the truth lies in the stated
    interval, or within two standard deviations of stated noise."""

    answered: int
    refused: int
    bias: float | None
    variance: float | None
    coverage: float | None

    def to_plain(self) -> dict[str, Any]:
        share = None if self.coverage is None else 100 * self.coverage
        return {
            "answered": self.answered, "refused": self.refused, "bias": self.bias, "variance": self.variance,
            "coverage_percent": share,
        }  # fmt: skip


@dataclass(frozen=True)
class Consistency:
    """Contradictions: sums over two disjoint sets that do not add up to that over both, each with the gap. Paradoxes:
    answers that the statistic cannot have."""

    checked: int
    contradictions: tuple[float, ...]
    paradoxes: tuple[str, ...]

    def to_plain(self) -> dict[str, Any]:
        largest = max(map(abs, self.contradictions), default=0.0)
        kinds = {kind: self.paradoxes.count(kind) for kind in dict.fromkeys(self.paradoxes)}
        return {
            "sums_checked": self.checked, "contradictions": len(self.contradictions),
            "largest_contradiction": largest, "paradoxes": kinds,
        }  # fmt: skip


@dataclass(frozen=True)
class Quality:
    """The six criteria, for one configuration."""

    security: dict[str, float]
    assumptions: tuple[str, ...]
    by_knowledge: tuple[tuple[int, float], ...]  # attributes known, and per cent of the records that are learnt
    accuracy: dict[str, Accuracy]
    consistency: Consistency
    refused: float
    time_ratio: float

    def to_plain(self) -> dict[str, Any]:
        return {
            "security": self.security,
            "robustness": {
                "assumptions": list(self.assumptions),
                "compromised_percent_by_attributes_known": [list(step) for step in self.by_knowledge],
            },
            "bias_and_precision": {name: accuracy.to_plain() for name, accuracy in self.accuracy.items()},
            "consistency": self.consistency.to_plain(),
            "cost": {"refused_percent": self.refused, "time_ratio": self.time_ratio},
        }

    def rows(self) -> list[tuple[str, str]]:
        """The criteria in words."""
        grown = ", ".join(f"{known}: {share:.0f} %" for known, share in self.by_knowledge)
        found = [
            ("security", f"{self.security['classic_attacks']:.0f} % of the records are compromised by singleton, "
             f"trackers, overlap and mean difference, {self.security['all_attacks']:.0f} % by any attack"),
            ("robustness", f"records compromised by the number of attributes known: {grown or 'not measured'}"),
            *(("assumption", told) for told in self.assumptions),
        ]  # fmt: skip
        for name, accuracy in self.accuracy.items():
            if accuracy.bias is None or accuracy.variance is None:
                found.append((f"bias of {name}", "nothing was answered"))
                continue
            within = (
                "" if accuracy.coverage is None else f"; the truth is within the stated limits {_percent(accuracy)}"
            )
            found.append((f"bias of {name}", number(accuracy.bias)))
            found.append((f"precision of {name}", f"variance {number(accuracy.variance)}{within}"))
        told = self.consistency
        found.append((
            "consistency", f"{len(told.contradictions)} contradictions in {told.checked} sums, "
            f"{len(told.paradoxes)} paradoxes",
        ))  # fmt: skip
        found.append(
            ("cost", f"{self.refused:.0f} % of an analyst's questions refused, {self.time_ratio:.1f} x the time")
        )
        return found


def _percent(accuracy: Accuracy) -> str:
    assert accuracy.coverage is not None
    return f"{100 * accuracy.coverage:.0f} % of the time"


def accuracy(server: QueryServer, questions: Sequence[Question]) -> Accuracy:
    """Ask a server and compare its answers with the truth."""
    answers = [server.ask(question, "criteria") for question in questions]
    return accuracy_of(answers, truths(server, questions))


def accuracy_of(answers: Sequence[Answer], true: Sequence[float | None]) -> Accuracy:
    """The same for answers that were given."""
    errors, inside, refused = [], [], 0
    for answer, truth in zip(answers, true, strict=True):
        if answer.is_refused or truth is None:
            refused += answer.is_refused
            continue
        if answer.interval is not None:
            inside.append(
                answer.interval[0] - _ROUNDING * abs(truth) <= truth <= answer.interval[1] + _ROUNDING * abs(truth)
            )
        told = sum(answer.interval) / 2 if answer.value is None and answer.interval is not None else answer.value
        assert told is not None
        errors.append(told - truth)
        if answer.deviation is not None:
            inside.append(abs(told - truth) <= _WIDE * answer.deviation)
    return Accuracy(
        len(errors),
        refused,
        float(np.mean(errors)) if errors else None,
        float(np.var(errors)) if errors else None,
        float(np.mean(inside)) if inside else None,
    )


def truths(server: QueryServer, questions: Sequence[Question]) -> list[float | None]:
    """The true answers, from the original data."""
    with QueryServer(server.database.data, [], engine="arrays") as unguarded:
        return [unguarded.ask(question).value for question in questions]


def consistency(database: Database, asked: Sequence[tuple[Question, Answer]]) -> Consistency:
    """Contradictions and paradoxes in a log of questions; `database` has the original values."""
    gaps, checked = [], 0
    given = [(question, answer) for question, answer in asked if not answer.is_refused]
    for statistic, value in dict.fromkeys((q.statistic, q.value) for q, _ in given if q.statistic in _ADDITIVE):
        some = [(q, a) for q, a in given if (q.statistic, q.value) == (statistic, value)]
        for gap in _gaps(database, some):
            checked += 1
            gaps += [gap] if gap else []
    paradoxes = [kind for question, answer in given for kind in _paradoxes(database, question, answer)]
    return Consistency(checked, tuple(gaps), tuple(paradoxes))


def _gaps(database: Database, given: Sequence[tuple[Question, Answer]]) -> Iterator[float]:
    """q(A) + q(B) - q(A or B) for all disjoint sets A and B whose union was asked about, too; 0 where they agree."""
    sets = {}
    for question, answer in given:
        inside = np.zeros(database.records, dtype=bool)
        inside[database.members(question.where, question.value)] = True
        sets[np.packbits(inside).tobytes()] = (inside, answer)
    for (first, one), (second, other) in itertools.combinations(list(sets.values()), 2):
        if (first & second).any():
            continue
        whole = sets.get(np.packbits(first | second).tobytes())
        if whole is not None and whole[0] is not first and whole[0] is not second:
            yield _gap(one, other, whole[1])


def _gap(one: Answer, other: Answer, whole: Answer) -> float:
    ends = [_ends(answer) for answer in (one, other, whole)]
    low, high = ends[0][0] + ends[1][0] - ends[2][1], ends[0][1] + ends[1][1] - ends[2][0]
    size = _ROUNDING * max(1.0, *(abs(end) for pair in ends for end in pair))
    return 0.0 if low <= size and high >= -size else low if low > 0 else high


def _ends(answer: Answer) -> tuple[float, float]:
    if answer.value is not None:
        return answer.value, answer.value
    assert answer.interval is not None
    return answer.interval


def _paradoxes(database: Database, question: Question, answer: Answer) -> Iterator[str]:
    low, high = _ends(answer)
    if question.statistic == "count":
        if high < 0:
            yield "negative count"
        if low > database.records:
            yield "count above the number of records"
        return
    assert question.value is not None
    values = np.asarray(database.values(question.value), dtype=float)
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    records = len(database.members(question.where, question.value)) if question.statistic == "sum" else 1
    slack = _ROUNDING * max(1.0, abs(records * least), abs(records * most))
    if high < records * least - slack or low > records * most + slack:
        yield f"{question.statistic} outside what the values allow"


def usual_questions(database: Database, value: str, category: int | None = None) -> dict[str, list[Question]]:
    """What an ordinary analyst asks: counts, sums and means for everybody and for each category of each attribute that
    is not confidential, or the two halves of its numbers; of an attribute with categories, counts."""
    names = [name for name in database.fields if name != value and name not in database.confidential]
    groups: list[Formula] = [EVERYBODY]
    for name in names[:_MOST_ATTRIBUTES]:
        groups += _classes(database, name)
    parted = [name for name in names if 1 < len(database.fields[name].domain) <= _MOST_CATEGORIES]
    if parted:  # crossed, so that there are sums that must add up
        fewest = min(parted, key=lambda name: len(database.fields[name].domain))
        others = [group for group in groups[1:] if fewest not in attributes_of(group)]
        groups += [all_of([group, part]) for part in _classes(database, fewest) for group in others]
    if category is not None:
        held = Condition(value, CategorySet(frozenset([category]), len(database.fields[value].domain)))
        return {"count": [Question("count", None, all_of([group, held])) for group in groups]}
    statistics: tuple[Statistic, ...] = ("count", "sum", "mean")
    return {s: [Question(s, None if s == "count" else value, group) for group in groups] for s in statistics}


def _classes(database: Database, name: str) -> list[Formula]:
    field = database.fields[name]
    if not field.is_numeric:
        places = range(min(len(field.domain), _MOST_CATEGORIES))
        return [Condition(name, CategorySet(frozenset([place]), len(field.domain))) for place in places]
    middle = float(np.nanmedian(np.asarray(database.values(name), dtype=float)))
    below, above = Span(-np.inf, middle, with_low=False), Span(middle, np.inf, with_low=False, with_high=False)
    return [Condition(name, NumberSet.of(span)) for span in (below, above)]


def quality_of(server: QueryServer, campaign: Campaign, *, seed: int = 0) -> Quality:
    """All criteria for a server that has just been opened; `campaign` is what the red team found against the same
    configuration."""
    original = Database(server.database.data, engine="arrays")
    field = original.fields[campaign.value]
    place = None if campaign.category is None else next(iter(field.places([campaign.category])))
    questions = usual_questions(original, campaign.value, place)
    asked: list[tuple[Question, Answer]] = []
    measured = {}
    taken, began = 0.0, time.perf_counter()
    for statistic, several in questions.items():
        began = time.perf_counter()
        answers = [server.ask(question, "criteria") for question in several]
        taken += time.perf_counter() - began
        measured[statistic] = accuracy_of(answers, truths(server, several))
        asked += zip(several, answers, strict=True)
    refused = [answer.is_refused for _, answer in asked]
    plain = campaign.to_plain()["compromised_percent"]
    return Quality(
        plain,
        tuple(f"{c.name}: {c.assumes}" for c in server.controls),
        _by_knowledge(server, campaign, seed),
        measured,
        consistency(original, asked),
        100 * float(np.mean(refused)),
        taken / max(_unguarded_time(server, [q for q, _ in asked]), 1e-9),
    )


def _unguarded_time(server: QueryServer, questions: Sequence[Question]) -> float:
    with QueryServer(server.database.data, [], engine=server.engine) as unguarded:
        began = time.perf_counter()
        for question in questions:
            unguarded.ask(question)
        return time.perf_counter() - began


def _by_knowledge(server: QueryServer, campaign: Campaign, seed: int) -> tuple[tuple[int, float], ...]:
    """How many records the classic attacks learn as the intruder knows one attribute more at a time."""
    from microveil.queries.red_team import CLASSIC
    from microveil.queries.red_team.campaign import attack_queries

    steps = []
    for known in range(1, len(campaign.known) + 1):
        found = attack_queries(
            server.database.data, server.controls, value=campaign.value, category=campaign.category,
            known=campaign.known[:known], scope=campaign.scope, attacks=CLASSIC, targets=_FEW_TARGETS, seed=seed,
        )  # fmt: skip
        steps.append((known, 100 * found.compromised(CLASSIC)))
    return tuple(steps)
