"""What an analyst gets: an answer or a refusal with its reason, for a single question or for every cell of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from microveil.microdata.schema import Category

# what refuses a question that is none of the language, or one that no record has an answer to; else it is a control
LANGUAGE, EMPTY_SET = "language", "empty set"


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    `value` is a number, or None where the question was refused, or where only an `interval` that holds the truth is
    given. `deviation` is the standard deviation of the noise in it, which is no secret. `reason` says why a question
    was refused, and `control` by what. A table has its `cells`, each with its categories.
    """

    question: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    deviation: float | None = None
    reason: str | None = None
    control: str | None = None
    cells: tuple[tuple[tuple[Category, ...], Answer], ...] = ()

    @property
    def is_refused(self) -> bool:
        return self.reason is not None

    def to_plain(self) -> dict[str, Any]:
        if self.cells:
            inside = [{"categories": list(names), **cell.to_plain()} for names, cell in self.cells]
            return {"question": self.question, "refused": self.is_refused, "cells": inside}
        plain: dict[str, Any] = {"question": self.question, "answer": _shortest(self.value), "refused": self.is_refused}
        if self.interval is not None:
            plain["interval"] = list(map(_shortest, self.interval))
        if self.deviation is not None:
            plain["standard_deviation"] = self.deviation
        if self.is_refused:
            plain |= {"reason": self.reason, "control": self.control}
        return plain

    def __str__(self) -> str:
        if self.is_refused:
            return f"refused: {self.reason}"
        if self.cells:
            return "\n".join(f"{', '.join(map(str, names))}: {cell}" for names, cell in self.cells)
        shown = f"{self.value:.12g}" if self.value is not None else ""
        if self.interval is not None:
            shown = f"{shown} [{self.interval[0]:.12g}, {self.interval[1]:.12g}]".strip()
        return shown if self.deviation is None else f"{shown} (standard deviation of the noise {self.deviation:.4g})"


def _shortest(number: float | None) -> float | int | None:
    """A whole number without a decimal point."""
    return int(number) if number is not None and number.is_integer() and abs(number) < 2**53 else number


@dataclass(frozen=True)
class Estimate:
    """An answer on its way through the controls: the records and the sum, as they are or as a control has changed them.

    `value` is there once something other than records and sum makes the answer, such as a median or noise.
    """

    statistic: str
    records: float
    total: float
    value: float | None = None
    interval: tuple[float, float] | None = None
    deviation: float | None = None

    @property
    def shown(self) -> float | None:
        """The value of the statistic."""
        if self.value is not None or self.interval is not None:
            return self.value
        if self.statistic == "count":
            return float(self.records)
        if self.statistic == "sum":
            return self.total
        return self.total / self.records if self.records else None
