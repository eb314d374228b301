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
            counter=self.counter, seeds=(seed,), require=require,
            labels=[f"{self.parameter}={value}" for value in self.values], progress=progress,
        )  # fmt: skip

    def to_plain(self, found: Strengthened) -> dict[str, Any]:
        """For --json: what was tried, by the values as typed."""
        plain = found.to_plain()
        tried = zip(self.values, plain["tried"], strict=False)
        return {
            "attack": self.attack.name,
            "counter": self.counter,
            "limit": self.limit,
            "parameter": self.parameter,
            "tried": [{"value": value, "risk": one["risk"], "required": one["required"]} for value, one in tried],
            "risk": plain["risk"],
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
    ((key, text),) = settings_of([until], "--until", "distance-linkage=5").items()
    name, _, counter = key.partition(".")
    return Trial(
        settings,
        parameter,
        values,
        tuple(methods),
        make("attack", name),
        counter or None,
        percentage(text, "the limit of --until"),
    )
