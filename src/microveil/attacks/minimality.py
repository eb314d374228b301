"""The minimality attack: a method that masks no more than it must tells by what it did what must have been there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import comb
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from microveil.attacks.assignments import Assigned, Assignments
from microveil.attacks.base import Attack, Risk
from microveil.attacks.confidential import CONFIDENTIAL, ConfidentialAttack, Target, beside_baseline, mean_over, percent
from microveil.attacks.found_classes import (
    PARTS,
    Beliefs,
    ClassValues,
    FoundClasses,
    classes_of,
    common_value_codes,
    in_parts,
    made_groups,
)
from microveil.comparison.drawing import content_of, in_drawn_order
from microveil.comparison.pairs import Pair
from microveil.errors import Cancelled, MicroveilError
from microveil.masking.base import Method
from microveil.masking.coarsening.attribute_levels import levels_of
from microveil.masking.coarsening.class_demands import Confidential, confidential_of, diverse_enough
from microveil.masking.coarsening.generalise import Generalise
from microveil.masking.coarsening.suppress import Suppress
from microveil.masking.notes import LEVELS_CHOSEN
from microveil.masking.replaying import class_of, method_of, replayed
from microveil.microdata import Microdata
from microveil.microdata.microdata import count
from microveil.microdata.schema import KINDS
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.parameters import LARGEST_SEED, parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import PublicStreams
from microveil.typing import BoolArray, FloatArray, IntArray

_AFFORDABLE = 2e7  # records grouped anew: about ten seconds
_USUAL_GROUPINGS = 50  # of a method that does not say how many it made
_TRIED, _DRAWN = 500, 100
_FEWEST = 20  # assignments that must be left for a chance to be told
_DRAWS = 2_000  # of the members of a class
_MOST_NUMBERS = 20_000_000  # random ones that are held for these draws
_SURE = 1 - 1e-9


@parameterised
class Minimality(ConfidentialAttack):
    """The intruder knows how the release was made, that the method masks no more than it must, and the keys of
    everybody. Whoever has which of the confidential values of a class they do not know; but an assignment of these
    values to persons with which the method would not have had to mask so far is ruled out. Of what is left, the most
    probable value of a person is the guess.

    Where there are few assignments (`assignments`), the method is carried out on each of them, and the chances are
    exact. Else, in a release of `generalise`, every class of persons that was not released at the first levels, though
    large enough, must have lacked the diversity asked for: the chances of its members are those of all ways to fill
    this class with values of the released one that lack it, each class by itself. Where there is no such class, the
    method is carried out on assignments drawn at random (`samples`); of a few accepted ones chances are uncertain, and
    the scenario says by how much.

    A method that looks at keys alone rules nothing out, for the intruder knows the keys. So it is with `recode`,
    `mondrian`, `suppress` and `generalise` under k-anonymity alone. Where `suppress` has emptied cells of the
    confidential attribute itself, each value that would not have been emptied is ruled out.

    The risk is the share of right guesses. The counters, in per cent: `baseline`, the share right by naming the most
    frequent value of the class; `gain`, what the attack adds, (risk - baseline) / (100 - baseline), at least 0;
    `chance`, the mean chance of the true value, and `chance before`, what it would be if nothing were ruled out;
    `highest`, the greatest chance that any value of any person has, which l-diversity was to bound; `concerned`, the
    persons whose chances changed; `ruled out`, the assignments that are, where these were tried.

    >>> from microveil.masking.coarsening.generalise import Generalise
    >>> from microveil.microdata import Hierarchy, Microdata
    >>> towns = Hierarchy.of([("Graz", "Styria"), ("Leoben", "Styria")])
    >>> people = Microdata.of(
    ...     {"town": ["Graz"] * 2 + ["Leoben"] * 4, "ill": ["HIV", "HIV", "flu", "gout", "cold", "asthma"]},
    ...     keys=["town"], confidential=["ill"],
    ... )
    >>> people = people.with_schema(people.schema.replacing(people["town"].changed(hierarchy=towns)))
    >>> release = Generalise(k=2, l=2).mask(people, ["town"])
    >>> risk = Minimality().assess(people, release)
    >>> set(release.frame["town"].to_pylist()), risk.certain.tolist(), round(risk.counters["chance before"], 1)
    ({'Styria'}, [0, 1], 22.2)
    """

    name: ClassVar[str] = "minimality"
    family: ClassVar[str] = "inference"
    needs_private_file: ClassVar[bool] = True
    summary: ClassVar[str] = "rules out the confidential values with which the method would have masked less"
    meaning: ClassVar[str] = (
        "confidential values guessed right by one who knows that no more was masked than needed; lower is safer"
    )
    assumes: ClassVar[str] = (
        "the true values of some attributes of everyone, the plan of the release, and that the method masks no more "
        "than it must"
    )
    formula: ClassVar[str] = (
        "share of i with z_i = argmax over z of #{ assignments s : s_i = z, M(x, s) = release } / "
        "#{ s : M(x, s) = release }"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "records without a true confidential value are not attacked; a confidential cell that suppress has emptied "
        "may be any released value, others that are empty are none"
    )
    source: ClassVar[str] = "Wong et al. (2007); Cormode et al. (2010)"

    confidential: tuple[str, ...] | None = parameter(default=None, help=CONFIDENTIAL, min_length=1)
    assignments: int | None = parameter(
        default=None,
        help="up to how many different assignments of values all are tried; unset: 500, fewer in long files",
        ge=0,
        le=10_000_000,
    )
    samples: int | None = parameter(
        default=None,
        help="how many assignments are drawn and tried where there are more; unset: 100, none in long files",
        ge=0,
        le=10_000_000,
    )
    parts: int = parameter(default=5, help=PARTS, ge=1, le=10_000)
    seed: int = parameter(default=0, help="seed for drawing assignments", ge=0, le=LARGEST_SEED)

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        return super().suited(pair) if _Plan.of(cls.seen(pair), cls.sought(pair)) is not None else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        if pair.release is None:
            return "the release has no provenance"
        if cls.sought(pair) and _Plan.of(cls.seen(pair), cls.sought(pair)) is None:
            return "the method does not look at confidential values, or draws random numbers"
        return super().why_not(pair)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        targets = [in_parts(target, self.parts) for target in self.targets(pair, attributes)]
        found: dict[tuple[str, ...], _Reasoning] = {}
        right, counted, highest = {}, dict[str, list[FloatArray]](), 0.0
        for target in targets:
            if target.known not in found:
                found[target.known] = self._reasoned(pair, target.known, [one.name for one in targets], progress)
            reasoning = found[target.known]
            before, after, nothing = common_value_codes(target)
            values = reasoning.classes.values(after)
            plain, left = values.beliefs(), reasoning.beliefs(values, target, nothing)
            shares: dict[str, FloatArray | BoolArray] = {
                "right": left.right(before, nothing),
                "baseline": plain.right(before, nothing),
                "chance": left.of(before),
                "chance before": plain.of(before),
                "concerned": _changed(plain, left, len(pair)),
            }
            told = {name: np.where(target.attacked, share, np.nan) for name, share in shares.items()}
            right[target.name] = told.pop("right")
            highest = max(highest, left.highest(nothing))
            for name, share in told.items():
                counted.setdefault(name, []).append(share)
        per_record = mean_over(list(right.values()))
        means = {name: percent(mean_over(share)) for name, share in counted.items()}
        ways = list(found.values())
        counters = {
            **beside_baseline(percent(per_record), means.pop("baseline")),
            **means,
            "highest": 100 * min(1.0, highest),
        }
        if tried := [way.ruled_out for way in ways if way.ruled_out is not None]:
            counters["ruled out"] = 100 * float(np.mean(tried))
        surely = (mean_over(counted["chance"]) > _SURE) & (mean_over(counted["chance before"]) <= _SURE)
        certain = np.flatnonzero(surely) if all(way.exact for way in ways) else np.empty(0, dtype=np.int64)
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} of everyone in the file and how the release "
            f"was made, and rules out the assignments of {', '.join(right)} to persons with which less would have been "
            f"masked. {' '.join(dict.fromkeys(way.told for way in ways))}"
        )
        return Risk.of(
            self.name,
            per_record,
            attributes,
            scenario,
            counters=counters,
            per_attribute={name: percent(share) for name, share in right.items()},
            certain=certain,
            proof="With any other value the method would have made another release." if len(certain) else "",
        )

    def _reasoned(self, pair: Pair, known: tuple[str, ...], sought: list[str], progress: Progress) -> _Reasoning:
        """What can be ruled out, by the best way there is for so many assignments."""
        classes = classes_of(pair, known, Part(progress, 0.0, 0.2), f"{self.name}: finding classes")
        plan = _Plan.of(pair, [name for name in sought if name not in known])
        if plan is None or not classes.closed[classes.of_person].all():
            why = "how the release was made is not known" if pair.release is None else _NOTHING
            return _Reasoning(classes, f"Nothing is ruled out: {why}.", exact=False)
        assignments = Assignments.of(pair, known, classes, plan.moving, plan.emptied)
        rest = Part(progress, 0.2, 1.0)
        affordable = int(_AFFORDABLE / (len(pair) * plan.groupings))
        if assignments.number <= (min(_TRIED, affordable) if self.assignments is None else self.assignments):
            return self._tried(pair, classes, plan, assignments, rest)
        lacking = _lacking_diversity(pair, classes, plan, self.seed)
        if lacking is not None:
            return lacking
        samples = self.samples
        if samples is None:
            samples = min(_DRAWN, affordable) if affordable >= _FEWEST else 0
        return self._drawn(pair, known, classes, plan, assignments, samples, rest)

    def _tried(
        self, pair: Pair, classes: FoundClasses, plan: _Plan, assignments: Assignments, progress: Progress
    ) -> _Reasoning:
        accepted, weight, total = list[Assigned](), 0.0, 0.0
        for number, one in enumerate(assignments.every()):
            total += one.weight
            if plan.leads_to_release(pair, one):
                accepted.append(one)
                weight += one.weight
            progress((number + 1) / assignments.number, f"{self.name}: trying assignments")
        told = f"All {assignments.number:,} assignments that differ for the method were tried."
        if not accepted:  # the release cannot be made again from what is known
            return _Reasoning(
                classes, f"{told} None of them led to this release, so nothing is ruled out.", exact=False
            )
        return _Tried(classes, told, True, 1.0 - weight / total, tuple(accepted), assignments.alike)

    def _drawn(
        self, pair: Pair, known: tuple[str, ...], classes: FoundClasses, plan: _Plan, assignments: Assignments,
        samples: int, progress: Progress,
    ) -> _Reasoning:  # fmt: skip
        order = in_drawn_order(content_of(pair, (*known, *plan.moving)), self.seed, self.name)
        accepted, tried = list[Assigned](), list[Assigned]()
        for one in assignments.drawn(samples, order, self.seed):
            tried.append(one)
            if plan.leads_to_release(pair, one):
                accepted.append(one)
            progress(len(tried) / samples, f"{self.name}: trying assignments")
        told = f"Of {samples:,} assignments drawn at random {len(accepted):,} lead to this release"
        if len(accepted) < _FEWEST:
            told = f"{told}: too few for chances, so nothing is taken to be ruled out; try more of them (samples)."
            return _Reasoning(classes, told, exact=False)
        error = 50 * (1 / len(accepted) - 1 / samples) ** 0.5
        told = f"{told}; a chance has a standard error of up to {error:.1f} percentage points."
        beside = () if plan.emptied else tuple(tried)
        ruled_out = 1.0 - len(accepted) / samples
        return _Tried(classes, told, False, ruled_out, tuple(accepted), assignments.alike, beside)


_NOTHING = "the method does not look at confidential values, or what it did cannot be done again"


@dataclass(frozen=True)
class _Reasoning:
    """What an intruder has found out; here nothing beyond the shares of values in the classes."""

    classes: FoundClasses
    told: str
    exact: bool
    ruled_out: float | None = None

    def beliefs(self, values: ClassValues, target: Target, nothing: int) -> Beliefs:
        """How probable each value of a confidential attribute is for each person."""
        return values.beliefs()


@dataclass(frozen=True)
class _Tried(_Reasoning):
    """The assignments that lead to the release; persons that are `alike` have the same chances.

    Where assignments were drawn, `beside` are all of them: how the accepted ones differ from these is what they tell,
    and what all of them have in common is chance.
    """

    accepted: tuple[Assigned, ...] = ()
    alike: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    beside: tuple[Assigned, ...] = ()

    def beliefs(self, values: ClassValues, target: Target, nothing: int) -> Beliefs:
        _, after, _ = common_value_codes(target)
        held = self._shares(self.accepted, after, target.name, nothing)
        if self.beside:
            plain = values.beliefs()
            shares = np.zeros(held.shape)
            shares[self.alike[plain.person], plain.value] = plain.chance
            held = np.maximum(shares + held - self._shares(self.beside, after, target.name, nothing), 0.0)
            held /= held.sum(axis=1, keepdims=True)
        person, value = np.nonzero(held[self.alike] > 0)
        return Beliefs(person, value, held[self.alike[person], value])

    def _shares(self, assigned: tuple[Assigned, ...], after: IntArray, name: str, nothing: int) -> FloatArray:
        """For all persons who are alike the share of these assignments that gives them each value."""
        held = np.zeros((int(self.alike.max()) + 1, nothing + 1))
        for one in assigned:
            source = one.filled.get(name, np.arange(len(after)))
            np.add.at(held, (self.alike, after[source][one.record]), one.weight)
        return np.asarray(held / held.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class _ByClass(_Reasoning):
    """Classes of persons that must have lacked diversity: for the persons of each, how probable every record of the
    released class is theirs."""

    subclass: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # of each person; -1: nothing known
    chances: tuple[tuple[IntArray, FloatArray], ...] = ()  # of each subclass: records, and their chances

    def beliefs(self, values: ClassValues, target: Target, nothing: int) -> Beliefs:
        _, after, _ = common_value_codes(target)
        plain = values.beliefs()
        others = self.subclass[plain.person] < 0
        persons, codes, chances = [plain.person[others]], [plain.value[others]], [plain.chance[others]]
        order = np.argsort(self.subclass, kind="stable")
        bounds = np.searchsorted(self.subclass[order], np.arange(len(self.chances) + 1))
        for number, (records, chance) in enumerate(self.chances):
            held = np.bincount(after[records], weights=chance)
            possible = np.flatnonzero(held)
            members = order[bounds[number] : bounds[number + 1]]
            persons.append(np.repeat(members, len(possible)))
            codes.append(np.tile(possible, len(members)))
            chances.append(np.tile(held[possible], len(members)))
        person = np.concatenate(persons)
        by_person = np.argsort(person, kind="stable")
        return Beliefs(person[by_person], np.concatenate(codes)[by_person], np.concatenate(chances)[by_person])


def _changed(plain: Beliefs, left: Beliefs, persons: int) -> BoolArray:
    """Whose chances are others than the shares of the class."""
    size = int(max(plain.value.max(initial=0), left.value.max(initial=0))) + 1
    key = np.concatenate([one.person * size + one.value for one in (plain, left)])
    at, found = np.unique(key, return_inverse=True)
    moved = np.bincount(found, weights=np.concatenate([-plain.chance, left.chance]))
    changed = np.zeros(persons, dtype=np.bool_)
    changed[at[np.abs(moved) > 1e-9] // size] = True
    return changed


# --- carrying out the method again -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """The steps of a release that draw nothing, and the attributes that they depend on and that are not known.

    `moving` are these attributes; of them `emptied` may have cells that were suppressed. `groupings` says how often the
    records were grouped to make the release.
    """

    work: tuple[tuple[Method, tuple[str, ...]], ...]
    moving: tuple[str, ...]
    emptied: tuple[str, ...]
    groupings: int

    @classmethod
    def of(cls, pair: Pair, sought: list[str]) -> _Plan | None:
        """None where nothing depends on what is sought, or where it cannot be done again."""
        if pair.release is None or pair.release.is_sample or len(pair.release.provenance.steps) == 0:
            return None
        provenance = pair.release.provenance
        if any(class_of(step) is None for step in provenance.steps):
            return None
        work = tuple((method_of(step), provenance.masked_by(step)) for step in provenance.steps)
        if any(method.draws for method, _ in work):
            return None
        confidential = pair.original.schema.confidential
        moving = tuple(dict.fromkeys((*sought, *(n for n in confidential if n not in pair.knowledge.attributes))))
        moving = tuple(name for name in moving if name in pair.masked.names and name not in pair.recoded)
        masking = [method for method, masked in work if set(masked) & set(moving)]
        if not moving or any(not isinstance(method, Suppress) for method in masking):
            return None
        if not masking and not any(method.reads_confidential for method, _ in work):
            return None
        emptied = tuple(name for name in moving if any(name in masked for _, masked in work))
        checked = (note.values.get("checked", 0) for note in provenance.step_notes)
        groupings = sum(int(number) for number in checked if isinstance(number, int | float))
        return cls(work, moving, emptied, groupings or _USUAL_GROUPINGS)

    def leads_to_release(self, pair: Pair, assigned: Assigned) -> bool:
        """Whether the method makes this very release of the persons with these values."""
        columns = {}
        for name in self.moving:
            column = _array(pair.masked.arrow(name))
            source = assigned.filled.get(name, np.arange(len(pair)))[assigned.record]
            columns[name] = column.take(pa.array(source)).cast(_array(pair.original.arrow(name)).type)
        table = pair.original.with_columns(columns)
        try:
            made = replayed(table, self.work, 0)
        except Cancelled:
            raise
        except MicroveilError:
            return False
        names = tuple(dict.fromkeys((*(n for _, masked in self.work for n in masked), *self.moving)))
        return _rows(made, names) == _rows(pair.masked, names)


def _array(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _rows(table: Microdata, names: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    """How often each released record occurs: in which order they stand tells nothing."""
    return Counter(zip(*(_array(table.arrow(name)).to_pylist() for name in names), strict=True))


# --- classes that must have lacked diversity -----------------------------------------------------------------------


def _lacking_diversity(pair: Pair, classes: FoundClasses, plan: _Plan, seed: int) -> _Reasoning | None:
    """What follows of classes of persons that were not released at the first levels of `generalise`; None where there
    is no such class.

    A class at these levels that was suppressed, or generalised further in a later pass, did not fulfil what was asked.
    If it has k records and more than the smallest class that was released, it lacked diversity: classes that fulfil all
    are suppressed for the sake of others in the order of their sizes.
    """
    if len(plan.work) > 1 or plan.emptied or pair.release is None:
        return None
    (method, attributes), *_ = plan.work
    note = next((one for one in pair.release.provenance.step_notes if one.kind.name == LEVELS_CHOSEN.name), None)
    if not isinstance(method, Generalise) or method.population is not None or note is None:
        return None
    if not set(attributes) <= set(pair.knowledge.attributes):
        return None
    level = {str(one.values["attribute"]): int(one.values["level"]) for one in _notes_in(note.values["levels"])}
    if set(level) != set(attributes):
        return None
    read = [levels_of(pair.original, name) for name in attributes]
    at_levels = [one.table[level[one.name]][one.codes] for one in read]
    below, _ = number_rows([codes.astype(np.int64) for codes in at_levels])
    groups = made_groups(pair, attributes)
    if groups is None:
        return None
    sizes, of_group = np.bincount(below), np.bincount(groups)
    low, high = (np.full(len(sizes), start, dtype=np.int64) for start in (np.iinfo(np.int64).max, -1))
    np.minimum.at(low, below, groups)
    np.maximum.at(high, below, groups)
    inside = low == high
    released = inside & (sizes == of_group[np.where(inside, low, 0)])
    if not released.any():
        return None
    lacking = np.flatnonzero(inside & ~released & (sizes >= method.k) & (sizes > sizes[released].min()))
    confidential = confidential_of(pair.original, attributes, method.models)
    subclass, chances, concerned = np.full(len(pair), -1, dtype=np.int64), list[_Chances](), 0
    known: dict[tuple[tuple[int, int], ...], list[_Chances] | None] = {}
    for number in lacking:
        members = np.flatnonzero(below == number)
        fine, many = np.unique(classes.of_person[members], return_counts=True)  # where further keys tell records apart
        key = tuple(zip(fine.tolist(), many.tolist(), strict=True))
        if key not in known:
            known[key] = _chances_in(method, confidential, [(_records(classes, of), size) for of, size in key], seed)
        found = known[key]
        if found is not None:
            concerned += 1
            subclass[members] = len(chances) + np.searchsorted(fine, classes.of_person[members])
            chances += found
    if not chances:
        return None
    told = (
        f"{count(concerned, 'class', 'classes')} of {count(int((subclass >= 0).sum()), 'person')} in all "
        f"{'was' if concerned == 1 else 'were'} not released at the levels chosen first, though large enough: each, "
        "taken by itself, lacked the diversity that was asked for."
    )
    return _ByClass(classes, told, False, None, subclass, tuple(chances))


def _records(classes: FoundClasses, number: int) -> IntArray:
    return np.sort(classes.record[classes.member_of == number])


def _notes_in(held: Any) -> list[Any]:
    return [one for one in held if hasattr(one, "values") and "level" in one.values]


_Chances = tuple[IntArray, FloatArray]  # records, and how probable each of them is a person's


def _chances_in(
    method: Generalise, confidential: tuple[Confidential, ...], held: list[tuple[IntArray, int]], seed: int
) -> list[_Chances] | None:
    """For the persons of a class that lacks diversity, how probable each record is theirs.

    `held` are the released classes that its persons are in, and how many of them each has.
    """
    models = method.models
    if models.l is not None and not models.has_further and len(confidential) == len(held) == 1:
        ((records, size),) = held
        if (confidential[0].counted[records] >= 0).all():
            return [(records, few_distinct(confidential[0].counted[records], size, int(np.ceil(models.l - 1e-9)) - 1))]
    # in an order that is not that of the file
    ordered = [records[np.lexsort([one.values[records] for one in confidential])] for records, _ in held]
    draws = min(_DRAWS, max(_FEWEST, _MOST_NUMBERS // max(len(records) for records, _ in held)))
    drawn, members = list[tuple[int, IntArray]](), list[IntArray]()
    for number in sorted(range(len(held)), key=lambda n: confidential[0].values[ordered[n]].tolist()):
        rng = PublicStreams(seed).generator("minimality", "members", str(len(drawn)))
        picked = np.argsort(rng.random((draws, len(ordered[number]))), axis=1)[:, : held[number][1]]
        drawn.append((number, picked))
        members.append(ordered[number][picked])
    everyone = np.hstack(members)
    labels, cells = np.repeat(np.arange(draws), everyone.shape[1]), everyone.ravel()
    of_draws = [
        Confidential(one.values[cells], one.counted[cells], one.weights[cells], one.whole, one.ordered)
        for one in confidential
    ]
    lacking = ~diverse_enough(models, of_draws, labels, draws)
    if int(lacking.sum()) < _FEWEST:
        return None
    found = {}
    for number, picked in drawn:
        often = np.bincount(picked[lacking].ravel(), minlength=len(ordered[number])).astype(np.float64)
        found[number] = (ordered[number], often / often.sum())
    return [found[number] for number in range(len(held))]


def few_distinct(values: IntArray, size: int, most: int) -> FloatArray:
    """For each record of a class the chance that it belongs to a certain one of `size` persons, whose records are known
    to have at most `most` different values.

    All sets of `size` records with so few values are equally probable.

    >>> few_distinct(np.array([0, 0, 0, 1, 1, 2]), 2, 1).round(3).tolist()
    [0.25, 0.25, 0.25, 0.125, 0.125, 0.0]
    """
    counts = np.bincount(values)
    scale = size / len(values)  # keeps numbers in range; the factor is the same for all sets
    terms = [
        [float(comb(int(count), n)) * scale**n if n <= count else 0.0 for n in range(size + 1)] for count in counts
    ]
    chance = np.zeros(len(counts))
    for value in np.flatnonzero(counts):
        others = _sets([terms[v] for v in np.flatnonzero(counts) if v != value], size, most - 1)
        for n in range(1, size + 1):
            chance[value] += n / size * terms[value][n] * float(others[:most, size - n].sum())
    total = chance.sum()
    return (
        np.asarray((chance / total / np.maximum(counts, 1))[values])
        if total > 0
        else np.full(len(values), 1 / len(values))
    )


def _sets(terms: list[list[float]], size: int, most: int) -> FloatArray:
    """By the number of different values, up to `most`, and of records, up to `size`, how many sets there are."""
    ways = np.zeros((max(most, 0) + 1, size + 1))
    ways[0, 0] = 1.0
    for of_value in terms:
        for distinct in range(len(ways) - 1, 0, -1):
            for n in range(1, size + 1):
                if of_value[n]:
                    ways[distinct, n:] += of_value[n] * ways[distinct - 1, : size + 1 - n]
    return ways
