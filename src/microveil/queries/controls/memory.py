"""Controls that remember what was asked: of all analysts together, or of each alone."""

from __future__ import annotations

from typing import Literal, Protocol

from microveil.queries.controls.base import Asked, Guard

Memory = Literal["all", "each"]
ALONE_OR_TOGETHER = "whether the questions of all analysts count together, who may tell each other, or of each alone"


class _Remembering(Protocol):
    @property
    def analysts(self) -> Memory:
        """Whose questions count together."""


class RememberingGuard(Guard):
    """A guard with a memory for each analyst, or one for all."""

    def whose(self, asked: Asked) -> str:
        """Whose memory a question belongs to; all share the one without a name."""
        control: _Remembering = self.control  # type: ignore[assignment]
        return asked.analyst if control.analysts == "each" else ""
