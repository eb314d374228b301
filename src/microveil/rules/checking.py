"""Check a table against the rules of an office: what fails, in words, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from microveil.display import html_table, paragraph, text_table
from microveil.errors import ParameterError
from microveil.microdata.microdata import as_microdata, count
from microveil.progress import Progress, silent
from microveil.rules.base import Checked, Finding, Outcome
from microveil.rules.pack import RulePack


@dataclass(frozen=True)
class RuleCheck:
    """What the rules of a pack say of a table: `findings`, and whether it `passed`, for none of them failed.

    It has counts and names of attributes, never a value of a record.
    """

    pack: RulePack
    records: int
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return not self.failed

    @property
    def failed(self) -> tuple[Finding, ...]:
        return self.having("failed")

    def having(self, outcome: Outcome) -> tuple[Finding, ...]:
        """The findings that ended like this."""
        return tuple(finding for finding in self.findings if finding.outcome == outcome)

    @property
    def heading(self) -> str:
        name = f" of '{self.pack.title}'" if self.pack.title else ""
        checks = count(len(self.findings), "check")
        left = len(self.having("not checked"))
        told = f"{count(self.records, 'record')}, {checks}{name}: "
        told += "all passed" if self.passed else f"{len(self.failed)} failed"
        return f"{told}, {left} could not be made" if left else told

    def rows(self) -> list[tuple[str, str, str]]:
        """Rule, outcome and sentence of every finding, what failed first."""
        order: tuple[Outcome, ...] = ("failed", "not checked", "passed")
        return [(one.rule, one.outcome, one.sentence) for outcome in order for one in self.having(outcome)]

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "title": self.pack.title,
            "records": self.records,
            "passed": self.passed,
            "findings": [finding.to_plain() for finding in self.findings],
        }

    def __repr__(self) -> str:
        return f"RuleCheck({self.heading})"

    def __str__(self) -> str:
        return "\n".join([*paragraph(self.heading), "", *text_table(self.rows())])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.heading)}</p>" + html_table(self.rows(), ("rule", "outcome", "what was found"))


def check(data: Any, rules: RulePack | Mapping[str, Any] | str | Path, *, progress: Progress = silent) -> RuleCheck:
    """Check a table, an original or a release, against a rule pack: one, a TOML file, the name of one that comes with
    Microveil (`public-use`, `scientific-use`), or the content of such a file.

    >>> people = {"sex": ["f", "f", "m", "m", "m"], "job": ["cook", "cook", "cook", "judge", "cook"]}
    >>> found = check(people, {"combinations": {"listed": ["sex >= 2", "sex,job >= 2"]}})
    >>> found.passed, [finding.outcome for finding in found.findings]
    (False, ['passed', 'failed'])
    >>> print(found.failed[0].found.partition(";")[0])
    1 of 3 combinations (1 record) falls short of 2 records in every combination of sex,job
    """
    pack = rules if isinstance(rules, RulePack) else _pack(rules)
    table = Checked(as_microdata(data))
    findings: list[Finding] = []
    for at, rule in enumerate(pack.rules):
        progress(at / len(pack.rules), f"checking {rule.name}")
        findings += rule.check(table)
    if table.without_role:
        several = "they have" if len(table.without_role) > 1 else "it has"
        told = f"no rule on keys looks at {', '.join(table.without_role)}, since {several} no role in the schema"
        findings.append(Finding("roles", "not checked", told))
    progress(1.0, "checked")
    return RuleCheck(pack, len(table.data), tuple(findings))


def _pack(rules: Any) -> RulePack:
    if isinstance(rules, Mapping):
        return RulePack.from_plain(rules)
    if isinstance(rules, str | Path):
        return RulePack.read(rules)
    raise ParameterError(f"rules are a rule pack, a file or the name of one, not {type(rules).__name__}")
