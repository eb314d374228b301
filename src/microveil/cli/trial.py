"""Methods of growing strength tried until an attack gains little enough: `microveil protect --until --vary`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microveil.cli.options import settings_of
from microveil.errors import ParameterError
from microveil.units import percentage

if TYPE_CHECKING:
    from microveil.attacks import Attack
    from microveil.masking import Method
    from microveil.microdata import Microdata
    from microveil.progress import Progress
    from microveil.strengthening import Strengthened


@dataclass(frozen=True)
class Trial:
    """Settings of a method, the parameter that varies with its values as typed, and the limit an attack must meet."""

    settings: Mapping[str, str]
    parameter: str
    values: tuple[str, ...]
    methods: tuple[Method, ...]
    attack: Attack
    counter: str | None
    limit: float

    @property
    def weakest(self) -> dict[str, str]:
        return {**self.settings, self.parameter: self.values[0]}

    @property
    def measure(self) -> str:
        return self.attack.name if self.counter is None else f"{self.attack.name}.{self.counter}"

    def run(
        self,
        data: Microdata,
        attributes: Sequence[str] | None,
        known: Sequence[str] | None,
        seed: int,
        require: Mapping[str, float],
        progress: Progress,
    ) -> Strengthened:
        from microveil.strengthening import protect_until

        return protect_until(
            data, self.methods, self.attack, self.limit, attributes=attributes, known=known,
            counter=self.counter, seeds=(seed,),
            require=require, progress=progress,
        )  # fmt: skip

    def lines(self, found: Strengthened) -> list[str]:
        """What was tried, a line for each, and how sure the last is."""
        short = ", but not what is required"
        lines = [
            f"tried {self.parameter}={value}: {self.measure} {risk:.2f} %{short if unmet else ''}"
            for value, risk, unmet in self._tried(found)
        ]
        lines.insert(
            0, str(found.knowledge or f"the intruder wants to learn the values of {', '.join(found.risk.known)}")
        )
        if self.counter is None:
            lines[-1] += f" (95 % interval {found.risk.low:.2f} to {found.risk.high:.2f})"
        return lines

    def _tried(self, found: Strengthened) -> list[tuple[str, float, bool]]:
        """The values tried, their risks, and whether their releases fall short of what is required."""
        risks, unmet = (risk for _, risk in found.tried), map(bool, found.unmet)
        return list(zip(self.values, risks, unmet, strict=False))

    def to_plain(self, found: Strengthened) -> dict[str, Any]:
        tried = self._tried(found)
        return {
            "attack": self.attack.name,
            "counter": self.counter,
            "limit": self.limit,
            "parameter": self.parameter,
            "tried": [{"value": value, "risk": risk, "required": not unmet} for value, risk, unmet in tried],
            "risk": found.risk.to_plain(),
        }


def trial_of(method: str | None, settings: Mapping[str, str], until: str | None, vary: str | None) -> Trial:
    """What --until and --vary say; wrong values of any strength are found before the work begins."""
    from microveil.registry import make

    if method is None:
        raise ParameterError("--until and --vary can be used only with --method; a plan has its own parameters")
    if until is None or vary is None:
        raise ParameterError("--until ATTACK=PERCENT and --vary NAME=A,B,... must be given together")
    ((parameter, listed),) = settings_of([vary], "--vary", "k=3,5,10").items()
    values = tuple(value.strip() for value in listed.split(",") if value.strip())
    if not values:
        raise ParameterError(f"--vary takes values of a parameter, such as --vary k=3,5,10, not '{vary}'")
    if parameter in settings:
        raise ParameterError(f"{parameter} is given by --set and by --vary; give it once")
    methods = [make("method", method, {**settings, parameter: value}, text=True) for value in values]
    ((place, text),) = settings_of([until], "--until", "distance-linkage=5").items()
    name, _, counter = place.partition(".")
    return Trial(
        settings,
        parameter,
        values,
        tuple(methods),
        make("attack", name),
        counter or None,
        percentage(text, "the limit of --until"),
    )
