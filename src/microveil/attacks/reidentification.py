"""The risk of re-identification of every record, in a file as it is and after masking, and the figures that sum it up.

Before masking, the records that agree on the keys share the risk: 1/f where the file is the whole population, and the
expected 1/F where it is a sample and F of the population agree. After masking, each record has the largest risk that
any of the attacks on identity finds for it. A linkage says how often a person who is in the file is found; of a sample
the intruder does not know who is in it, so its chance is multiplied by the chance that a person with these keys is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, Literal, get_args

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.population.special_uniques import MOST_KEYS, SpecialUniques, special_uniques_of
from microveil.attacks.uniqueness import Uniqueness
from microveil.comparison.pairs import Pair
from microveil.display import html_table, number, paragraph, text_table
from microveil.errors import GuaranteeError, ParameterError, brief
from microveil.masking.households import household_of
from microveil.microdata.equivalence_classes import EquivalenceClasses, beside_wildcards, equivalence_classes_of
from microveil.microdata.microdata import Microdata, as_microdata, count, resolve_attributes
from microveil.microdata.schema import KINDS, Attribute
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.counting.individual_risk import Estimate, at_least_one, individual_risk, threshold_for
from microveil.progress import Progress, parts, silent
from microveil.typing import FloatArray, IntArray
from microveil.units import THRESHOLD, probability

Source = Literal["given", "keys", "all", "links"]

BELOW = (2, 3, 5, 10)
_REASONS: Mapping[Source, str] = {
    "given": "as given",
    "keys": "the declared keys",
    "all": "all attributes, because no keys are declared",
    "links": "the nodes of the graph have no attributes",
}
_LINKAGE = "linkage"
_LARGEST = 10  # so many combinations are told of by themselves
_ROUNDING = 1e-9


@dataclass(frozen=True)
class RiskSummary:
    """The headline of a file's risk: how many of its records an intruder is expected to re-identify (the global risk),
    the largest risk of a record, how many records exceed the threshold, and how many are unique on what the intruder
    knows, the keys where they are `declared`.

    `attacked` are the records the figures rest on; those of the others are extrapolated. `k` is the size of the
    smallest equivalence class of the keys. What rests on wildcards, empty cells that agree with every value,
    stands beside what it is when an empty cell agrees with empty cells only.
    """

    records: int
    expected: float
    largest: float
    above: int
    uniques: int
    threshold: float
    attacked: int
    uniques_without_wildcards: int
    k: int
    k_without_wildcards: int
    declared: bool = True

    @property
    def share(self) -> float:
        """The expected re-identifications in per cent of the records."""
        return 100 * self.expected / self.records if self.records else 0.0

    def to_plain(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "expected": self.expected,
            "largest": self.largest,
            "above": self.above,
            "uniques": self.uniques,
            "uniques_without_wildcards": self.uniques_without_wildcards,
            "k": self.k,
            "k_without_wildcards": self.k_without_wildcards,
            "threshold": self.threshold,
            "attacked": self.attacked,
        }


@dataclass(frozen=True)
class Combinations:
    """What each combination of key values contributes to the global risk, the largest contribution first: how many
    records have it, and the sum of their risks. `of_record` is the place of each record's combination in this order,
    from 1."""

    records: IntArray = field(repr=False)
    expected: FloatArray = field(repr=False)
    of_record: IntArray = field(repr=False)

    @classmethod
    def of(cls, classes: EquivalenceClasses, per_record: FloatArray) -> Combinations:
        """Records with exactly the same keys, also the same empty cells, have one combination."""
        order = np.argsort(classes.of_record, kind="stable")
        expected = np.bincount(classes.of_record[order], weights=per_record[order], minlength=len(classes)).astype(
            float
        )
        largest = np.lexsort((classes.counts, -expected.round(9)))  # sums that differ by rounding alone are equal
        place = np.empty(len(classes), dtype=np.int64)
        place[largest] = np.arange(1, len(classes) + 1)
        return cls(classes.counts[largest], expected[largest], place[classes.of_record])

    def carrying(self, share: float) -> int:
        """How many combinations, the largest first, have this share of the global risk together."""
        summed = np.cumsum(self.expected)
        return int(np.searchsorted(summed, share * summed[-1] - _ROUNDING)) + 1 if len(summed) else 0

    def to_plain(self) -> dict[str, Any]:
        """Numbers alone: which values a combination has is told by the records that have it."""
        total = float(self.expected.sum())
        shown = zip(self.records[:_LARGEST].tolist(), self.expected[:_LARGEST].tolist(), strict=True)
        return {
            "count": len(self.records),
            "carrying_half": self.carrying(0.5),
            "largest": [
                {"records": records, "expected": expected, "percent": 100 * expected / total if total else 0.0}
                for records, expected in shown
            ],
        }


@dataclass(frozen=True)
class FileRisk:
    """The risk of re-identification in a file that is released as it is, for an intruder who knows the keys.

    For each record `per_record` is its probability of being re-identified. `classes` are the combinations of the keys;
    by them `frequencies` is how many records of the file agree with each record (`without_wildcards` where an empty
    cell agrees with empty cells only), and `population` how many of the population, where the file is a sample: it is
    the `fraction` of the population. `household` is the number of each record's household, if households are declared,
    and `household_risk` the probability that it or another member is re-identified. `special_uniques` has the SUDA
    scores.

    >>> people = Microdata.of({"sex": ["f", "f", "m", "m", "m"], "job": ["cook", "cook", "cook", "cook", "judge"]})
    >>> found = risk_of_file(people, ["sex", "job"])
    >>> found.summary.expected, found.summary.largest, found.summary.uniques, found.below(3)
    (3.0, 1.0, 1, 5)
    """

    keys: tuple[str, ...]
    source: Source
    classes: EquivalenceClasses = field(repr=False)
    per_record: FloatArray = field(repr=False)
    is_sample: bool = False
    fraction: float = 1.0
    household: IntArray | None = field(default=None, repr=False)
    threshold: float = THRESHOLD
    named: tuple[str, ...] = ()  # the keys as they are told to people: a series by its name
    estimate: Estimate = "negative-binomial"

    def counted_by(self, keys: Sequence[str], classes: EquivalenceClasses) -> FileRisk:
        """The same of other combinations of the same records, such as those of changed keys."""
        risk = individual_risk(classes.frequencies, classes.population, self.estimate)[classes.of_record]
        return replace(self, keys=tuple(keys), classes=classes, per_record=risk, named=())

    @cached_property
    def without_each_key(self) -> Mapping[str, float]:
        """For each key how many re-identifications are expected by the others alone, where there are others."""
        if len(self.keys) < 2:
            return {}
        codes, left = self.classes.codes, {}
        for place, name in enumerate(self.keys):
            others = [column for column in range(len(self.keys)) if column != place]
            merged, first = number_rows([codes[:, column] + 1 for column in others])
            counts = np.bincount(merged, weights=self.classes.counts, minlength=len(first))
            weights = np.bincount(merged, weights=self.classes.weights, minlength=len(first)).astype(np.float64)
            fewer = EquivalenceClasses(
                tuple(self.keys[column] for column in others),
                codes[first][:, others],
                merged[self.classes.of_record],
                counts.round().astype(np.int64),
                weights,
            )
            left[name] = float(self.counted_by(fewer.attributes, fewer).per_record.sum())
        return left

    @cached_property
    def frequencies(self) -> IntArray:
        return self.classes.per_record

    @property
    def without_wildcards(self) -> IntArray:
        return self.classes.per_record_without_wildcards

    @cached_property
    def population(self) -> FloatArray | None:
        return self.classes.population[self.classes.of_record] if self.is_sample else None

    @cached_property
    def household_risk(self) -> FloatArray | None:
        return None if self.household is None else at_least_one(self.per_record, self.household)

    @cached_property
    def special_uniques(self) -> SpecialUniques | None:
        """The minimal sample uniques; none without keys, or with more of them than SUDA takes."""
        return special_uniques_of(self.classes, None, self.fraction) if 0 < len(self.keys) <= MOST_KEYS else None

    @cached_property
    def combinations(self) -> Combinations:
        """The combinations of keys with the largest sums of risk first."""
        return Combinations.of(self.classes, self.per_record)

    def threshold_for(self, expected: float) -> float:
        """The threshold above which records must be treated so that at most this many re-identifications are expected:
        if each risk above it is lowered to it, that is their number.

        >>> people = Microdata.of({"job": ["cook", "cook", "judge", "nurse"]}, keys=["job"])
        >>> risk_of_file(people).threshold_for(2.0)
        0.5
        """
        return threshold_for(self.per_record, check_target(expected))

    def with_target(self, expected: float) -> FileRisk:
        """The same with the threshold at which at most this many re-identifications are expected."""
        return replace(self, threshold=self.threshold_for(expected))

    @property
    def declared(self) -> bool:
        """Whether somebody said what the keys are."""
        return self.source not in ("all", "links")

    @property
    def heading(self) -> str:
        """What the intruder is assumed to know, and why."""
        known = ", ".join(self.named or self.keys) or "nothing but links"
        return f"the intruder is assumed to know {known} ({_REASONS[self.source]})"

    @property
    def assumption(self) -> str:
        """What the intruder is assumed to know of who is in the file."""
        return _assumption(weighted=self.is_sample)

    def rows(self) -> list[tuple[str, str]]:
        """What each figure is, and its value."""
        below = [
            (f"records in equivalence classes smaller than {k}",
             beside_wildcards(self.below(k), self.below_without_wildcards(k)))
            for k in BELOW[1:]
        ]  # fmt: skip
        return summary_rows(self.summary)[0] + below + self._household_rows()

    def _household_rows(self) -> list[tuple[str, str]]:
        if self.household_risk is None:
            return []
        expected = float(self.household_risk.sum())
        return [("expected re-identifications through households", f"{number(expected)} ({self._share(expected)} %)")]

    def _share(self, expected: float) -> str:
        return f"{100 * expected / max(1, len(self.per_record)):.3g}"

    def below(self, k: int) -> int:
        """How many records agree with fewer than k records on the keys, themselves included."""
        return int((self.frequencies < k).sum())

    def below_without_wildcards(self, k: int) -> int:
        """The same where an empty cell agrees with empty cells only."""
        return int((self.without_wildcards < k).sum())

    @property
    def summary(self) -> RiskSummary:
        n = len(self.per_record)
        return RiskSummary(
            records=n,
            expected=float(self.per_record.sum()),
            largest=float(self.per_record.max(initial=0.0)),
            above=int((self.per_record > self.threshold + _ROUNDING).sum()),
            threshold=self.threshold,
            attacked=n,
            declared=self.declared,
            **_counted(self.frequencies, self.without_wildcards),
        )

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        plain = {name: value for name, value in self.summary.to_plain().items() if name != "attacked"}
        return {
            "keys": list(self.keys),
            "declared": self.declared,
            **plain,
            "expected_percent": self.summary.share,
            "below": {str(k): self.below(k) for k in BELOW},
            "below_without_wildcards": {str(k): self.below_without_wildcards(k) for k in BELOW},
            "population": self.is_sample,
            "combinations": self.combinations.to_plain(),
            "suda": self._suda_plain(),
            "households": self._households_plain(),
        }

    def _suda_plain(self) -> dict[str, Any] | None:
        found = self.special_uniques
        if found is None:
            return None
        return {
            "size": found.size,
            "records": int((found.scores > 0).sum()),
            "score": float(found.scores.sum()),
            "largest": float(found.scores.max(initial=0.0)),
            "fraction": self.fraction,
            "dis": float(found.dis().sum()),
            "by_attribute": dict(found.by_attribute),
            "by_size": {str(size): share for size, share in found.by_size.items()},
        }

    def _households_plain(self) -> dict[str, Any] | None:
        if self.household is None or self.household_risk is None:
            return None
        first = np.unique(self.household, return_index=True)[1]
        return {
            "count": len(first),
            "expected": float(self.household_risk[first].sum()),
            "expected_persons": float(self.household_risk.sum()),
            "largest": float(self.household_risk.max(initial=0.0)),
        }

    def to_records(self) -> Microdata:
        """A row for each record. Keep it private.

        Its number; `fk`, how many records agree with it on the keys; `Fk`, how many of the population; its `risk`; its
        SUDA score `suda` and DIS-SUDA `dis`, if there are no more keys than SUDA takes; `household_risk`, its own where
        no household is declared; and the place of its `combination` in the order of contributions to the global risk.
        """
        special = self.special_uniques
        scores = {} if special is None else {"suda": special.scores, "dis": special.dis()}
        columns: dict[str, Any] = {
            "record": np.arange(1, len(self.per_record) + 1),
            "fk": self.frequencies,
            "Fk": self.frequencies.astype(np.float64) if self.population is None else self.population,
            "risk": self.per_record,
            **scores,
            "household_risk": self.per_record if self.household_risk is None else self.household_risk,
            "combination": self.combinations.of_record,
        }
        return Microdata.of({name: values.tolist() for name, values in columns.items()})

    def to_frame(self) -> Any:
        """The same as a table of the frame type that a dict becomes."""
        return self.to_records().native

    def __str__(self) -> str:
        return "\n".join([
            *paragraph(f"risk of re-identification: {self.heading}"),
            "",
            *text_table(self.rows(), right={1}),
            "",
            *paragraph(f"({self.assumption})"),
        ])  # fmt: skip

    def _repr_html_(self) -> str:
        heading = f"Risk of re-identification: {self.heading}"
        return f"{html_table(self.rows(), right={1}, caption=heading)}<p>({escape(self.assumption)})</p>"


@dataclass(frozen=True)
class Headline:
    """The risk of re-identification before and after masking, by the same definition.

    Where the file is taken for a sample by its weights, this is the risk by an intruder who does not know who is in it,
    and `in_file` the one after masking, by the linkages that were run, for an intruder who does.
    """

    before: RiskSummary
    after: RiskSummary
    weighted: bool = False
    in_file: RiskSummary | None = None

    @property
    def assumption(self) -> str:
        """What the intruder is assumed to know of who is in the file."""
        if self.in_file is None:
            return _assumption(weighted=self.weighted)
        found = self.in_file
        have = f"{count(found.above, 'record')} {'has' if found.above == 1 else 'have'}"
        return (
            f"{_assumption(weighted=self.weighted)}; for an intruder who does, {have} a risk above "
            f"{found.threshold:g} by linkage, and the largest is {found.largest:.3g}"
        )

    def rows(self) -> list[tuple[str, str, str]]:
        """What each figure is, its value before, and after."""
        before, after = summary_rows(self.before, self.after)
        return [(name, was, became) for (name, was), (_, became) in zip(before, after, strict=True)]

    def to_plain(self) -> dict[str, Any]:
        in_file = {} if self.in_file is None else {"in_file": self.in_file.to_plain()}
        return {"before": self.before.to_plain(), "after": self.after.to_plain(), "weighted": self.weighted, **in_file}


def _assumption(*, weighted: bool) -> str:
    if not weighted:
        return "the file is treated as the whole population, so the intruder knows who is in it"
    return (
        "the file is treated as a sample, and population frequencies are estimated by the sampling weights: the "
        "intruder does not know who is in it"
    )


def summary_rows(*summaries: RiskSummary) -> list[list[tuple[str, str]]]:
    """The figures of files in words, the same lines for each."""
    return [
        [
            ("expected re-identifications", f"{number(s.expected)} ({s.share:.3g} %)"),
            ("largest risk of a record", f"{s.largest:.4g}"),
            (f"records with a risk above {s.threshold:g}", f"{s.above:,}"),
            (
                f"uniques on the {'keys' if s.declared else 'known attributes'}",
                beside_wildcards(s.uniques, s.uniques_without_wildcards),
            ),
            ("records", f"{s.records:,}"),
        ]
        for s in summaries
    ]


def check_threshold(threshold: float) -> float:
    """A threshold for the risk of a record is a probability."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not threshold > 0:
        raise ParameterError(
            f"threshold = {brief(threshold)} is not allowed; it is a probability above 0, such as 0.09"
        )
    return probability(threshold, "the threshold")


def check_target(expected: float) -> float:
    """A target is a number of re-identifications above 0."""
    if isinstance(expected, bool) or not isinstance(expected, int | float) or not 0 < expected < math.inf:
        raise ParameterError(
            f"target = {brief(expected)} is not allowed; it is a number of re-identifications above 0, such as 5"
        )
    return float(expected)


def _check_fraction(fraction: float | None, population: int | None, records: int) -> float | None:
    """The fraction of the population that the file is, where one of the two is given."""
    if fraction is not None and population is not None:
        raise ParameterError("give the sampling fraction or the size of the population, not both")
    if fraction is not None:
        if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction <= 1:
            raise ParameterError(
                f"fraction = {brief(fraction)} is not allowed; it is a share above 0 and up to 1, such as 0.01"
            )
        return float(fraction)
    if population is not None:
        if isinstance(population, bool) or not isinstance(population, int) or population < max(1, records):
            raise ParameterError(
                f"population = {brief(population)} is not allowed; it is a whole number, at least that of the records"
            )
        return records / population
    return None


def risk_of_file(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    threshold: float = THRESHOLD,
    estimate: Estimate = "negative-binomial",
    fraction: float | None = None,
    population: int | None = None,
    progress: Progress = silent,
) -> FileRisk:
    """The risk of a file that is not masked, for an intruder who knows the keys: by default those that its schema
    declares, or without any every attribute that is not an identifier, a weight or a household number. Nodes of a graph
    without attributes are all alike.

    Sampling weights that the schema declares say how many of the population agree with a record. Where there are none,
    the sampling fraction or the size of the population does; without either the file is the whole population. DIS-SUDA
    takes the fraction that is given, else the one that the weights say. A missing key counts as its schema says: as a
    wildcard it agrees with every value. `estimate` is the expected 1/F under a negative binomial distribution, its
    usual approximation, or 1 over the estimate of F.
    """
    if estimate not in get_args(Estimate):
        raise ParameterError(
            f"estimate = {brief(estimate)} is not allowed; it is one of {', '.join(get_args(Estimate))}"
        )
    table = as_microdata(data)
    source: Source = "given" if keys else "keys" if table.schema.keys else "all"
    chosen = keys or table.schema.keys
    if source == "all":
        chosen = [name for name in table.names if not table[name].is_administrative]
    names: tuple[str, ...] = ()
    if chosen or table.edges is None:
        names = resolve_attributes(table, chosen, KINDS, "the risk of a file")
    else:
        source = "links"
    given = _check_fraction(fraction, population, len(table))
    counted = _combinations(table, names, progress)
    weighted = table.schema.weight is not None
    if given is not None and not weighted:
        counted = counted.weighing(counted.counts / given)
    total = float(counted.weights.sum())
    risk = individual_risk(counted.frequencies, counted.population, estimate)[counted.of_record]
    return FileRisk(
        names,
        source,
        counted,
        risk,
        is_sample=weighted or given is not None,
        fraction=given or min(1.0, len(table) / total if total else 1.0),
        household=household_of(table),
        threshold=check_threshold(threshold),
        named=table.schema.collapsed(names),
        estimate=estimate,
    )


def headline_of(
    original: Any,
    pair: Pair,
    linked: Iterable[Risk],
    unique: Risk | None = None,
    *,
    unmasked: Sequence[Risk] = (),
    threshold: float = THRESHOLD,
    progress: Progress = silent,
) -> Headline:
    """The risk before and after masking, from linkages that were run; uniqueness is measured if it is not given.

    `original` is the whole file, `pair` the records that were released. `unmasked` are the risks by links, if the
    records have any and were released as they are: what is known of the keys does not tell the risk before masking.
    """
    known = pair.knowledge.attributes
    first, second, third = parts(progress, 3)
    before = risk_of_file(original, known, threshold=threshold, progress=first)
    if unique is None and known:
        unique = Uniqueness().assess_pair(Uniqueness.facing(pair), progress=second)
    by_linkage = [risk.per_record for risk in linked]
    chances = chances_after(pair, before, by_linkage, unique, third)
    progress(1.0, "re-identification")
    counted = _released(pair, known)
    after = _summary(chances, counted, check_threshold(threshold))
    declared = pair.knowledge.source == "keys"
    was, became = (replace(summary, declared=declared) for summary in (_with_links(before.summary, unmasked), after))
    if not before.is_sample:
        return Headline(was, became)
    told = _summary(by_linkage, counted, threshold) if by_linkage else None
    return Headline(was, became, weighted=True, in_file=told)


def chances_after(
    pair: Pair, before: FileRisk, by_linkage: Sequence[FloatArray], unique: Risk | None, progress: Progress = silent
) -> list[FloatArray]:
    """By uniqueness and by each linkage, the chance with which each released record is re-identified; NaN where it was
    not attacked. That of a linkage is multiplied by the chance that a person with these keys is in the file."""
    released = pair.original
    same = before
    if len(released) != len(before.per_record):
        same = risk_of_file(released, pair.knowledge.attributes, progress=progress)
    in_file = same.per_record * same.frequencies
    by_values = same.per_record if unique is None else unique.per_record
    return [by_values, *(chance * in_file for chance in by_linkage)]


def _with_links(summary: RiskSummary, risks: Sequence[Risk]) -> RiskSummary:
    """The figures of a file, where some of the risks by links are larger."""
    found = [risk.per_record[~np.isnan(risk.per_record)] for risk in risks if risk.attacked]
    if not found:
        return summary
    above = max(float((each > summary.threshold + _ROUNDING).mean()) for each in found)
    return replace(
        summary,
        expected=max(summary.expected, *(summary.records * float(each.mean()) for each in found)),
        largest=max(summary.largest, *(float(each.max()) for each in found)),
        above=max(summary.above, round(summary.records * above)),
    )


def _counted(frequencies: IntArray, without_wildcards: IntArray) -> dict[str, int]:
    """Uniques and k, with and without wildcards, of records with these frequencies."""
    both = {"": frequencies, "_without_wildcards": without_wildcards}
    return {f"uniques{name}": int((each == 1).sum()) for name, each in both.items()} | {
        f"k{name}": int(each.min()) if len(each) else 0 for name, each in both.items()
    }


def _released(pair: Pair, known: Sequence[str]) -> EquivalenceClasses:
    """The combinations of keys as they are released."""
    labels = [pair.masked[name] for name in known if name in pair.recoded]
    as_labels = [Attribute(name=a.name, kind="nominal", missing=a.missing) for a in labels]
    released = Microdata(pair.masked.frame, pair.masked.schema.replacing(*as_labels))
    return _combinations(released, known)


def _combinations(data: Microdata, names: Sequence[str], progress: Progress = silent) -> EquivalenceClasses:
    """The combinations of these attributes; where there are none, all records are alike."""
    if names:
        return equivalence_classes_of(data, names, progress)
    return EquivalenceClasses.of((), [np.zeros(len(data), dtype=np.int64)])


def _summary(chances: Sequence[FloatArray], released: EquivalenceClasses, threshold: float) -> RiskSummary:
    """Of the best single attack the expected number, and of each record the largest chance by any of them."""
    n = len(chances[0])
    shares = [float(np.nanmean(each)) for each in chances if not np.isnan(each).all()]
    stacked = np.stack(chances)
    by_all = ~np.isnan(stacked).any(axis=0)
    largest = np.fmax.reduce(stacked, axis=0)
    attacked = int(by_all.sum())
    above = float((largest[by_all] > threshold + _ROUNDING).mean()) if attacked else 0.0
    return RiskSummary(
        records=n,
        expected=n * max(shares, default=0.0),
        largest=float(np.nanmax(largest)) if not np.isnan(largest).all() else 0.0,
        above=round(n * above),
        threshold=threshold,
        attacked=attacked,
        declared=True,
        **_counted(released.per_record, released.per_record_without_wildcards),
    )


def check_risk(
    original: Any, release: Any, allowed: float, attacks: Iterable[Attack], progress: Progress = silent
) -> Headline:
    """Refuse a release in which some record has a larger risk of re-identification than allowed, by these attacks."""
    pair = Pair.of(original, release)
    faced = [(attack, attack.facing(pair)) for attack in attacks if attack.family == _LINKAGE]
    forms = [
        (form, seen)
        for attack, seen in faced
        for form in (attack.usual_forms(seen) if attack.of_series or attack.of_graph else [attack])
    ]
    fitting = [(attack, seen) for attack, seen in forms if attack.of_graph or attack.seen(seen).of_kinds(attack.kinds)]
    *stretches, last = parts(progress, len(fitting) + 1)
    linked = [attack.assess_pair(seen, progress=part) for (attack, seen), part in zip(fitting, stretches, strict=True)]
    found = headline_of(original, pair, linked, threshold=max(allowed, _ROUNDING), progress=last)
    if found.after.largest > allowed + _ROUNDING:
        raise GuaranteeError(
            f"the release was to have no record with a risk of re-identification above {allowed:g}, but "
            f"{found.after.above:,} records have one of up to {found.after.largest:.4g}, for an intruder who knows "
            f"{', '.join(pair.knowledge.named)}; mask more strongly, or ask for less"
        )
    return found
