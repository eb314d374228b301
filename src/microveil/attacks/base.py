"""The contract of an attack: `assess(original, release, known=...)` gives a risk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any, ClassVar, Literal, Self

import numpy as np

from microveil.attacks.leak import Leak, leak_of
from microveil.attacks.taxonomy import Disclosure
from microveil.comparison.pairs import Pair, fitting
from microveil.errors import Cancelled, MicroveilError
from microveil.microdata.facts import OverRecords
from microveil.numerics.statistics.wilson import wilson_interval
from microveil.parameters import Parameterised
from microveil.progress import Part, Progress, parts, silent
from microveil.typing import FloatArray, IntArray

Subject = Literal["known", "masked"]


@dataclass(frozen=True)
class Risk:
    """What an attack gains. `value`, `low`, `high` and `counters` are percentages; `per_record` are probabilities.

    `low` and `high` bound a 95 % confidence interval. Records that were not attacked have NaN in `per_record`.
    `certain` are records whose link the intruder can prove, and `proof` says how. Of a
    sample, records are those released. `leak` sets the success on them beside that on a control group, where one was
    given and the attack can be run on it.
    """

    name: str
    value: float
    low: float
    high: float
    per_record: FloatArray = field(repr=False)
    known: tuple[str, ...]
    scenario: str
    attacked: int
    counters: Mapping[str, float] = field(default_factory=dict)
    per_attribute: Mapping[str, float] = field(default_factory=dict)
    certain: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    proof: str = ""
    leak: Leak | None = None

    @classmethod
    def of(cls, name: str, per_record: FloatArray, known: Sequence[str], scenario: str, **details: Any) -> Risk:
        """The risk is the mean probability over the records attacked, with its Wilson interval."""
        attacked = per_record[~np.isnan(per_record)]
        total = fsum(attacked.tolist())  # exact, so that the order of the records plays no part
        low, high = wilson_interval(total, len(attacked))
        value = total / len(attacked) if len(attacked) else 0.0
        return cls(
            name, 100 * value, 100 * low, 100 * high, per_record, tuple(known), scenario, len(attacked), **details
        )

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; what belongs to single records stays in the process."""
        return {
            "value": self.value,
            "interval": [self.low, self.high],
            "known": list(self.known),
            "attacked": self.attacked,
            "counters": dict(self.counters),
            "per_attribute": dict(self.per_attribute),
            "certain": len(self.certain),
            "proof": self.proof,
            "scenario": self.scenario,
            **({} if self.leak is None else {"leak": self.leak.to_plain()}),
        }


def _always(pair: Pair) -> bool:
    return True


@dataclass(frozen=True)
class Variant:
    """Other parameters with which an attack may gain more: on files it `fits`, up to so many records."""

    parameters: Mapping[str, Any]
    fits: Callable[[Pair], bool] = _always
    most_records: int | None = None

    def too_long(self, pair: Pair) -> bool:
        return self.most_records is not None and len(pair) > self.most_records


class Attack(Parameterised, ABC):
    """What an intruder does. A subclass is a frozen dataclass of its parameters and implements `_assess`."""

    family: ClassVar[str] = "attack"
    # the kind of disclosure it looks for, if not that of its family
    disclosure: ClassVar[Disclosure | None] = None
    meaning: ClassVar[str]
    # an intruder who knows nothing of the method can run a general attack, so every assessment has it
    general: ClassVar[bool] = False
    assumes: ClassVar[str] = "the true values of some attributes of everyone in the file"
    formula: ClassVar[str] = ""
    # whether leaving an attribute out of what is known only takes knowledge away
    known_is_all: ClassVar[bool] = True
    # whether the attack knows what to make of labels that stand for several values, in the place of values
    reads_labels: ClassVar[bool] = False
    # what the attack is about: the attributes the intruder knows, by which people are found, or those that were masked,
    # whose values are sought
    subject: ClassVar[Subject] = "known"
    # whether the groups or matrices that the masking used decide if it is of use
    needs_private_file: ClassVar[bool] = False
    # whether it is about the course of values in time: run on tables of series, on others when asked for by name
    of_series: ClassVar[bool] = False
    # whether it needs the links between the records, so that it is run on graphs only
    of_graph: ClassVar[bool] = False
    # what a success is for anybody, in the release or not, so that the attack can be run on a control group; else empty
    success: ClassVar[str] = ""
    # whether it cannot be run without records that are not in the release
    needs_control: ClassVar[bool] = False
    # what a battery tries beside the usual form
    variants: ClassVar[tuple[Variant, ...]] = ()
    # what must be known of other records to attack one
    over_records: ClassVar[OverRecords] = "whole table"

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        """The attack as it would be run on this release by an intruder who knows how it was made, first in its usual
        form, then in its variants; none if it is no use.

        `pair.release` has the provenance; an attack on one method takes its parameters from there.
        """
        seen = cls.seen(pair)
        if (cls.kinds and not seen.of_kinds(cls.kinds)) or (cls.of_graph and not pair.is_graph):
            return ()
        usual = cls()
        tried = [variant for variant in cls.variants if variant.fits(seen) and not variant.too_long(seen)]
        return (usual, *(usual.changed(**variant.parameters) for variant in tried))

    @classmethod
    def too_long(cls, pair: Pair) -> tuple[tuple[Attack, str], ...]:
        """The variants that would fit but take too long on so many records, each with a sentence that says so."""
        seen = cls.seen(pair)
        return tuple(
            (cls().changed(**variant.parameters), f"tried on files of up to {variant.most_records:,} records")
            for variant in cls.variants
            if variant.fits(seen) and variant.too_long(seen)
        )

    @classmethod
    def noticed(cls, pair: Pair) -> bool:
        """Whether an intruder who knows nothing of the method would try a general attack, by the looks of the release.

        A battery runs it in any case.
        """
        return True

    @classmethod
    def usual_forms(cls, pair: Pair) -> tuple[Attack, ...]:
        """The forms in which every assessment runs a general attack; none if it is no use."""
        return (cls(),) if cls.suited(pair) else ()

    @classmethod
    def facing(cls, pair: Pair) -> Pair:
        """The same tables on the attributes that this attack is about."""
        return pair.about(pair.knowledge.attributes if cls.subject == "known" else pair.compared)

    @classmethod
    def seen(cls, pair: Pair) -> Pair:
        """The tables as this attack sees them."""
        return pair.reading_labels() if cls.reads_labels else pair

    def changed(self, **parameters: Any) -> Self:
        """The same attack with some parameters changed."""
        return type(self)(**{**self.parameters(), **parameters})

    def on_at_most(self, records: int | None) -> Self:
        """The same attack on so many records, drawn at random, where it can draw some and was not told how many."""
        held = self.parameters()
        if records is None or "records" not in held or held["records"] is not None:
            return self
        return self.changed(records=records)

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        """Why the attack is not suited, for those that are not."""
        if cls.of_graph and not pair.is_graph:
            return "the records have no links"
        if cls.seen(pair).of_kinds(cls.kinds):
            if cls.needs_private_file and pair.release is not None and pair.release.missing_file:
                return f"it needs the private file '{pair.release.missing_file}', which is missing"
            return "not applicable to this release"
        return "no attribute of its kind" + (" that is not released as labels" if pair.labelled else "")

    def assess(
        self,
        original: Any,
        release: Any,
        known: Sequence[str] | None = None,
        *,
        control: Any = None,
        progress: Progress = silent,
    ) -> Risk:
        """The risk of a release for an intruder who knows the original values of the attributes `known`.

        By default these are all declared keys and nothing else; where no keys are declared, the attributes that were
        masked, or of a table without provenance those that were changed. An attack that seeks masked values takes
        `known` for those to seek. With a `control` group, a table of records of the same population that are not in
        the release, the same attack is run on these too, if it can be, and the `leak` of the risk compares.

        Record i of both tables is taken for the same person. If the records are seen not to correspond, they are
        matched by what they hold, as an intruder would, and the scenario says so.
        """
        from microveil.attacks.correspondence import corresponding

        matched = corresponding(original, release)
        seeking = known if self.subject == "masked" else None
        pair = Pair.of(matched.original, matched.release, seeking, known=known, control=control)
        risk = self.assess_pair(self.facing(pair), explicit=known is not None, progress=progress)
        told = matched.warnings if self.needs_private_file else (matched.warning,)
        told += () if pair.control is None else pair.control.warnings
        said = "".join(f" Note: {warning}." for warning in told if warning)
        return replace(risk, scenario=risk.scenario + said) if said else risk

    def assess_pair(self, pair: Pair, *, explicit: bool = False, progress: Progress = silent) -> Risk:
        """The same on tables that are paired up already; without `explicit`, attributes of other kinds are left out."""
        pair = self.seen(pair)
        attributes = fitting(pair, self, explicit=explicit)
        progress(0.0, self.name)
        compared = pair.control is not None and bool(self.success)
        risk = self._assess(pair, attributes, Part(progress, 0.0, 0.5) if compared else progress)
        if compared and risk.leak is None:
            risk = replace(risk, leak=self._leak(pair, attributes, Part(progress, 0.5, 1.0)))
        progress(1.0, self.name)
        told = pair.original.schema.in_words(risk.scenario)
        risk = risk if told == risk.scenario else replace(risk, scenario=told)
        return risk if self.needs_control else _of_sample(pair, risk)

    def without_each(
        self, pair: Pair, known: Sequence[str], left_out: Mapping[str, Collection[str]], progress: Progress
    ) -> dict[str, Risk]:
        """The risk of an intruder who does not know some of the `known` attributes, by the name of what is left out;
        nothing for what the attack cannot do without."""
        found = {}
        for (name, columns), part in zip(left_out.items(), parts(progress, len(left_out)), strict=True):
            others = tuple(other for other in known if other not in columns)
            try:
                found[name] = self.assess_pair(pair.about(others), progress=part)
            except Cancelled:
                raise
            except MicroveilError:
                continue
        return found

    def _leak(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Leak | None:
        found = self._beside_control(pair, attributes, progress)
        return None if found is None else leak_of(*found, self.success)

    def _beside_control(
        self, pair: Pair, attributes: tuple[str, ...], progress: Progress
    ) -> tuple[FloatArray, FloatArray] | None:
        """The success on persons of the original, and on persons of the control group; NaN where none was attacked.
        Nothing where the attack with these parameters has no meaning for who is not in the release."""
        return None

    @abstractmethod
    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        """The attack itself, with the original values of these attributes as knowledge."""


def _of_sample(pair: Pair, risk: Risk) -> Risk:
    """Where only a sample of the records was released, the risk is that of the persons in it, who alone are attacked.

    The scenario says so, and the counter `of all` has the risk as a share of all original records.
    """
    if pair.release is None or not pair.release.is_sample:
        return risk
    records = pair.release.provenance.input_records
    of_all = risk.value * len(pair) / records
    said = (
        f" The risk is that of the {len(pair):,} of {records:,} persons who are in the released sample; of all of them "
        f"it is {of_all:.2f} %."
    )
    return replace(risk, scenario=risk.scenario + said, counters={**risk.counters, "of all": of_all})
