"""Likelihood linkage: the intruder knows how a release was made, and links each record to the most probable person."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from microveil.attacks.base import Attack, Risk, Variant
from microveil.attacks.linkage.base import refuse_long_assignment
from microveil.attacks.linkage.candidates import RECORDS, shared_risk
from microveil.attacks.linkage.evidence import Evidence, evidence_of
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.typing import IntArray

_AFFORDABLE_TERMS = 2.5e9  # terms of pairs: about twenty seconds on two processors
_QUICKLY_PAIRED = 2_000  # records that are linked one to one in seconds


@parameterised
class LikelihoodLinkage(Attack):
    """One attack on any pipeline, by an intruder who knows the plan, methods, parameters, attributes and order of the
    steps, but not the seed: for each released record the person is linked from whose true values it has most probably
    been made.

    Every step says how probable a released value is given the original one: PRAM by the row of its matrix, rank
    swapping by the distribution of its moves, noise by its density, data swapping by the share of records that keep
    their values. For other methods, and where several steps treat an attribute, the intruder carries out the plan on
    the known values with seeds of their own (`replays`). What no step draws, such as group means, recoding or rounding,
    then comes out as released, and the intruder sees whether it does; only records with the very values that a person
    must have are left. Where masking drew, replays show how released values scatter around the true ones. Attributes
    and steps multiply, and by Bayes' rule each person has a posterior probability.

    Where the groups cannot be made again, for they depend on attributes that are not known, the spread of released
    values is taken from the variances before and after. So it is with a table without provenance, of which no plan is
    known.

    With `one_to_one` all records are linked at once, so that all together are most probable. The counters, in per cent:
    `believed` is the mean posterior of the links, what the intruder expects to be right; `lost` are records that cannot
    be the person's own by what the intruder takes for certain; `candidates` is the share of persons left.

    >>> from microveil.masking.randomising.pram import PRAM
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "m", "f", "m"], "job": ["cook", "cook", "nurse", "nurse"]})
    >>> release = PRAM(given={"sex": [[0.0, 1.0], [1.0, 0.0]], "job": [[1.0, 0.0], [0.0, 1.0]]}).mask(people, seed=1)
    >>> risk = LikelihoodLinkage().assess(people, release)
    >>> risk.value, risk.certain.tolist()
    (100.0, [0, 1, 2, 3])
    """

    name: ClassVar[str] = "likelihood-linkage"
    family: ClassVar[str] = "linkage"
    reads_labels: ClassVar[bool] = True
    summary: ClassVar[str] = "links each released record to the most probable person, given how the release was made"
    meaning: ClassVar[str] = "records linked to the right person by one who knows the plan; lower is safer"
    assumes: ClassVar[str] = (
        "the true values of some attributes of everyone in the file, and the plan of the release: methods, parameters, "
        "attributes and order, but not the seed"
    )
    formula: ClassVar[str] = "link of l = argmax over i of prod over j of p(y_lj | x_ij)"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "where masking leaves missing cells as they are, only persons with the same missing cells are left; else a "
        "missing cell tells nothing"
    )
    source: ClassVar[str] = (
        "Microveil's own; Nin (2008), section 4.1, has the attacks on single methods that know how these work"
    )

    one_to_one: bool = parameter(
        default=False, help="link all records at once, so that every person is linked to one record"
    )
    replays: int | None = parameter(
        default=None,
        help="how often the plan is carried out again where a method does not say how its values are distributed; "
        "unset: up to 5 times, fewer on long files",
        ge=1,
        le=1_000,
    )
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(
        default=0, help="seed of the replays, and for drawing the records to attack", ge=0, le=LARGEST_SEED
    )

    variants: ClassVar[tuple[Variant, ...]] = (Variant({"one_to_one": True}, most_records=_QUICKLY_PAIRED),)

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        return super().suited(pair) if pair.release is not None else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        return "the release has no provenance" if pair.release is None else super().why_not(pair)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        found = self._evidence(pair, attributes, Part(progress, 0.0, 0.3))
        rest = Part(progress, 0.3, 1.0)
        own = self._attacked(pair, attributes, found)
        return (
            self._assigned(pair, attributes, found, own, rest)
            if self.one_to_one
            else self._likeliest(pair, attributes, found, own, rest)
        )

    def _evidence(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Evidence:
        """What the plan tells; the same whether records are linked one by one or one to one, so it is read once."""
        read = (self.name, pair.original, pair.masked, id(pair.release), pair.recoded, attributes)
        return pair.workings.once(
            (*read, self.replays, self.seed),
            lambda: evidence_of(pair, attributes, self.replays, self.seed, progress, self.name),
            named=pair.release,
        )

    def _attacked(self, pair: Pair, attributes: tuple[str, ...], found: Evidence) -> IntArray:
        scores = found.scores
        compared = float(np.bincount(scores.candidates.code).max(initial=1))
        affordable = int(_AFFORDABLE_TERMS / max(1.0, compared * sum(term.effort for term in scores.terms)))
        return drawn(pair, attributes, self.records or max(1000, affordable), self.seed, self.name)

    def _likeliest(
        self, pair: Pair, attributes: tuple[str, ...], found: Evidence, own: IntArray, progress: Progress
    ) -> Risk:
        label = f"{self.name}: linking records"
        links = found.scores.likeliest(found.record_of[own], found.person_of[own], progress, label)
        shares = {
            "expected": np.where(links.own, 1.0 / np.maximum(links.ties, 1), 0.0),
            "optimistic": links.own.astype(np.float64),
            "strict": (links.own & (links.ties == 1)).astype(np.float64),
            "believed": links.posterior,
            "lost": (~links.own_possible).astype(np.float64),
            "candidates": links.possible / len(pair),
        }
        proved: dict[str, Any] = {}
        if links.own_possible.all():
            certain = own[links.possible == 1]
            proof = "The plan allows of no other person for the released record."
            proved = {"certain": certain, "proof": proof if len(certain) else ""}
        return shared_risk(self.name, pair, attributes, own, shares, self._scenario(pair, attributes, found), **proved)

    def _assigned(
        self, pair: Pair, attributes: tuple[str, ...], found: Evidence, own: IntArray, progress: Progress
    ) -> Risk:
        from microveil.numerics.neighbours.assignment import even_assignment

        scores, label = found.scores, f"{self.name}: assigning records"
        refuse_long_assignment(self.name, len(scores.persons), len(scores.code))
        first, second = parts(progress, 2)
        costs = scores.costs(first, label)
        mixture = even_assignment(costs, scores.persons, np.bincount(found.record_of), second, label)
        expected = mixture.of_pairs(found.person_of[own], found.record_of[own])
        shares = {
            "expected": expected,
            "optimistic": (expected > 0).astype(np.float64),
            "strict": (expected > 1 - 1e-6).astype(np.float64),
        }
        return shared_risk(self.name, pair, attributes, own, shares, self._scenario(pair, attributes, found))

    def _scenario(self, pair: Pair, attributes: tuple[str, ...], found: Evidence) -> str:
        plan = "knows how the release was made, but not its seed"
        if pair.release is None:
            plan = "has no plan of the release and takes released values for true ones with noise"
        linked = (
            "gives each person a record of their own, so that all together are most probable"
            if self.one_to_one
            else "takes for each released record the person from whose values it was most probably made"
        )
        known = f"An intruder knows the true values of {', '.join(attributes)} of everyone in the file"
        told = f"{known}, {plan}, and {linked}."
        masked = () if pair.release is None else pair.release.provenance.attributes
        again = [name for name in found.decided if name in masked]
        return told + (f" What {', '.join(again)} must be released as, they found by masking again." if again else "")
