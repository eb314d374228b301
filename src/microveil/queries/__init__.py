"""The guarded statistical database: questions, controls, engines, the log, and the red team that attacks it."""

from __future__ import annotations

from microveil.entries import homes, offered

__all__ = ["Answer", "Control", "QueryServer", "Question", "StoredTable", "control_of"]

_HOMES = {
    **homes("microveil.queries"),
    "Answer": "microveil.queries.answers",
    "Control": "microveil.queries.controls",
    "Question": "microveil.queries.questions",
    "QueryServer": "microveil.queries.server",
    "StoredTable": "microveil.queries.stored",
    "control_of": "microveil.queries.controls",
}
__getattr__, __dir__ = offered(globals(), _HOMES, [*__all__, *homes("microveil.queries")])
