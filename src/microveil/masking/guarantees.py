"""What a table of records guarantees, found by counting: k-anonymity, l-diversity in its forms, t-closeness.

The equivalence class of a record is all records that agree with it on the keys. Where a missing value is a wildcard it
agrees with every value; where it is a category of its own, or not applicable, only with its like. Samarati and Sweeney
(1998); Machanavajjhala et al. (2007); Li, Li and Venkatasubramanian (2007).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from microveil.display import html_table, text_table
from microveil.errors import GuaranteeError, ParameterError, brief, nearest_name
from microveil.microdata import Microdata
from microveil.microdata.combinations import EVERY, Combination, CombinationCounter
from microveil.microdata.hierarchies import equal_frequency
from microveil.microdata.hierarchy import Hierarchy
from microveil.microdata.microdata import as_microdata, count, resolve_attributes
from microveil.microdata.schema import KINDS
from microveil.parameters import MOST_RECORDS
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray
from microveil.units import probability

if TYPE_CHECKING:
    from microveil.microdata.equivalence_classes import EquivalenceClasses


RISK = "risk"  # what attacks measure; the others are counted in the release
# what can be required: the name on the left; whether the value must be at least or at most what is asked
REQUIREMENTS: Mapping[str, str] = {
    "k": "at least k records share every combination of keys",
    "population": (
        "every combination of keys is shared by at least this number of units of the population, as estimated by the "
        "sampling weights"
    ),
    "l": "at least l distinct confidential values in every equivalence class (also known as p-sensitive)",
    "entropy-l": "the entropy of the confidential values in every equivalence class is at least log l",
    "recursive-l": (
        "in every equivalence class the most frequent confidential value is less than c times as frequent as the "
        "l-th most frequent and all rarer ones together"
    ),
    "degree-k": "at least this number of nodes share every number of links, in a graph",
    "t": "the distribution of confidential values in every equivalence class is within distance t of that in the table",
    "delta": (
        "delta-disclosure privacy: the logarithm of the share of every confidential value in every equivalence class "
        "over that in the table is at most delta, above or below 0"
    ),
    "beta": (
        "beta-likeness: the share of no confidential value in any equivalence class exceeds that in the table by more "
        "than beta times the latter"
    ),
    "average-risk": "the mean over the records of one over the size of their equivalence class is at most this",
    RISK: (
        "no record has a larger probability of re-identification, by the uniqueness attack and the general linkage "
        "attacks"
    ),
}
AT_MOST = ("t", "delta", "beta", "average-risk", RISK)
_UNLIMITED = ("delta", "beta")  # which may be more than 1
_ROUNDED = ("population", "entropy-l", "t", "delta", "beta", "average-risk")  # sums of fractions, which rounding moves
_ROUNDING = 1e-9
_COMBINATION = "every combination of A,B"  # how a requirement on listed combinations is named
_CELLS = 10_000_000  # of a table of classes and values that is laid out at a time
_FEW_VALUES = 12  # a number with no more distinct values is counted value by value
_C = 3.0  # the usual c of recursive diversity
_ON_CLASSES = ("l", "entropy-l", "recursive-l")  # which count values or classes of them
_OF_CLASSES: Mapping[str, str] = {  # what an equivalence class that falls short has
    "l": "fewer than {wanted} distinct values of {attribute}",
    "entropy-l": "an entropy of {attribute} below log {wanted}",
    "recursive-l": "no recursive diversity of {attribute} with l = {wanted}",
    "t": "a distribution of {attribute} farther than {wanted} from that of the table",
    "delta": "a share of a value of {attribute} whose logarithm is farther than {wanted} from that in the table",
    "beta": "a share of a value of {attribute} that exceeds that in the table by more than {wanted} times the latter",
}
_PROPOSED = 10  # intervals of equal frequency for a number without declared classes
_SEVERAL = 12  # names in a sentence before the rest is only counted


def _nothing() -> IntArray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Diversity:
    """How the values of a confidential attribute are spread over the equivalence classes, by the worst of these.

    `distinct` values; `entropy`: the number of equally frequent values with the same entropy; `recursive`: the largest
    l of recursive (c, l)-diversity; `closeness`: the largest distance t to the distribution in the whole table. `delta`
    and `beta` are the largest logarithm of a share over that in the table, infinite where a value is missing from a
    class, and the largest relative excess of a share over that in the table.

    The first three count the classes of values that the schema declares for a number. Where it declares none, a number
    with many distinct values has nearly as many of them as an equivalence class has records, which says nothing: then
    `intervals` of equal frequency are `proposed`. Closeness is measured on the values themselves.
    `per_class` has each measure, by the name under which it can be required, for every equivalence class. An
    equivalence class without any known value says nothing of anyone: it is NaN there, and `unknown` counts such
    classes, over which no minimum is taken.
    """

    attribute: str
    distinct: int
    entropy: float
    recursive: int
    closeness: float
    intervals: tuple[str, ...] = ()
    proposed: bool = False
    c: float = _C
    unknown: int = 0
    delta: float = np.inf
    beta: float = np.inf
    per_class: Mapping[str, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    def value(self, name: str) -> float:
        """What is reached of one requirement."""
        reached = {
            "l": self.distinct,
            "entropy-l": self.entropy,
            "recursive-l": self.recursive,
            "t": self.closeness,
            "delta": self.delta,
            "beta": self.beta,
        }
        return float(reached[name])

    def rows(self, classes: int) -> list[tuple[str, str, str]]:
        """Name, value and meaning of each measure, of so many equivalence classes."""
        name, least, unknown = self.attribute, self.distinct, self.unknown
        if classes == unknown:
            told = f"no equivalence class has a known value of {name}"
            return [(title, "none", told) for title in self._titles]
        over = f" with a known value of {name}" if unknown else ""
        every = _every(classes - unknown, over)

        def some(measure: str, wanted: float) -> str:
            return _some(self._failing(measure, wanted), classes - unknown, over)

        if self.intervals:
            of = f"of the {count(len(self.intervals), 'class', 'classes')} of {name}"
            spread = f"{every} has values in at least {least:,} {of}"
            spread = spread if least > 1 else f"{some('l', 1.5)} values in a single one {of}"
            if self.proposed:
                spread += "; these are intervals of equal frequency, proposed because the schema declares no classes"
            what, whats = f"class of {name}", f"classes of {name}"
        else:
            spread = f"{every} has at least {least:,} distinct values of {name}"
            spread = spread if least > 1 else f"{some('l', 1.5)} a single value of {name}"
            what, whats = f"value of {name}", f"values of {name}"
        if unknown:
            have = "has" if unknown == 1 else "have"
            spread += f"; {count(unknown, 'equivalence class', 'equivalence classes')} {have} no known value"
        even = f"{every} has at least the entropy of {self.entropy:.2f} equally frequent {whats}"
        if least <= 1:
            even = f"{some('l', 1.5)} an entropy of 0, because there is a single {what}"
        largest = f"the largest distance between the distribution of {name} in an equivalence class and in the table"
        meanings = (
            spread,
            even,
            self._recursive_words(every, some("recursive-l", self.recursive + 0.5), what),
            largest,
        )
        values = (f"{least:,}", f"{self.entropy:.2f}", f"{self.recursive:,}", f"{self.closeness:.2f}")
        return list(zip(self._titles, values, meanings, strict=True))

    @property
    def _titles(self) -> tuple[str, ...]:
        names = ("l-diversity", "entropy l-diversity", f"recursive ({self.c:g}, l)-diversity", "t-closeness")
        return tuple(f"{name} of {self.attribute}" for name in names)

    def _recursive_words(self, every: str, no_more: str, what: str) -> str:
        """What the largest l of recursive diversity means; where it is 1, for the classes that do not reach 2."""
        if self.recursive > 1:
            rarer = "all others" if self.recursive == 2 else f"all but the {self.recursive - 1} most frequent"
            return (
                f"{every} has a most frequent {what} that is less than {self.c:g} times as frequent as {rarer} together"
            )
        others = "all others" if self.recursive else "all"
        return f"{no_more} a most frequent {what} that is at least {self.c:g} times as frequent as {others} together"

    def _failing(self, name: str, wanted: float) -> int:
        return int(self.falls_short(name, wanted).sum())

    def falls_short(self, name: str, wanted: float) -> BoolArray:
        """For each equivalence class, whether it does not reach what is wanted."""
        return falls_short(name, self.per_class.get(name, np.empty(0)), wanted)

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {name: self.value(name) for name in ("l", "entropy-l", "recursive-l", "t")}
        plain |= {"l": self.distinct, "recursive-l": self.recursive, "single": self._failing("l", 2)}
        if self.unknown:
            plain["unknown"] = self.unknown
        if self.intervals:
            plain["classes"] = {"intervals": list(self.intervals), "proposed": self.proposed}
        return plain


@dataclass(frozen=True)
class Guarantees:
    """What holds for every record of a table.

    An equivalence class is a combination of the keys as it is released. At least `k` records agree with each;
    `population` is the smallest estimate of how many of the population do, by sampling weights. An empty cell that
    could be any value, a wildcard, agrees with all values: `k_without_wildcards` is what k is when it agrees with empty
    cells only. `print` shows all of it as a table.

    In a graph `degree_sizes` are how many nodes have each number of links that occurs.

    `per_record` are the records that agree with each record; `sizes` those that agree with each equivalence class, and
    `members` those with exactly its combination.
    """

    keys: tuple[str, ...]
    k: int
    population: float | None
    diversity: Mapping[str, Diversity] = field(default_factory=dict)
    per_record: IntArray = field(default_factory=_nothing, repr=False)
    sizes: IntArray = field(default_factory=_nothing, repr=False)
    members: IntArray = field(default_factory=_nothing, repr=False)
    populations: FloatArray | None = field(default=None, repr=False)
    degree_sizes: IntArray | None = field(default=None, repr=False)
    # the keys as they are told to people: a series by its name
    named: tuple[str, ...] = field(default=(), repr=False)
    # for how many records each of `per_record` stands, where that is not itself
    repeats: IntArray | None = field(default=None, repr=False)
    # the table that was counted, in which combinations of other attributes can be counted too
    table: Microdata | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, classes: EquivalenceClasses, *, weighted: bool, diversity: Mapping[str, Diversity] = MappingProxyType({})
    ) -> Guarantees:
        """What the equivalence classes guarantee, for the population too where the records are `weighted`."""
        sizes = classes.frequencies
        populations = classes.population if weighted and len(classes) else None
        return cls(
            classes.attributes,
            int(sizes.min()) if len(classes) else 0,
            None if populations is None else float(populations.min()),
            diversity,
            classes.per_record,
            sizes,
            classes.counts,
            populations,
        )

    @property
    def classes(self) -> int:
        """The number of equivalence classes."""
        return len(self.sizes)

    @property
    def degree_k(self) -> int | None:
        """At least so many nodes share every number of links; none where the records have no links."""
        return None if self.degree_sizes is None else int(self.degree_sizes.min(initial=len(self.per_record)))

    @property
    def k_without_wildcards(self) -> int:
        """What k is when empty cells agree with empty cells only."""
        return int(self.members.min()) if len(self.members) else self.k

    @property
    def rests_on_wildcards(self) -> bool:
        """Whether empty cells that could be any value make equivalence classes larger."""
        return not np.array_equal(self.sizes, self.members)

    def below(self, k: int) -> int:
        """How many records share their combination of keys with fewer than k records, themselves included."""
        return int(self._repeats[self.per_record < k].sum())

    @property
    def records(self) -> int:
        """The number of records that were counted."""
        return int(self._repeats.sum())

    @property
    def _repeats(self) -> IntArray:
        return np.ones(len(self.per_record), dtype=np.int64) if self.repeats is None else self.repeats

    def below_without_wildcards(self, k: int) -> int:
        """The same when empty cells agree with empty cells only."""
        return int(self.members[self.members < k].sum())

    def value(self, name: str) -> float:
        """What is reached of one requirement, over all confidential attributes."""
        if name.startswith(EVERY):
            return self._counter.count(Combination.required(name, 1)).reached
        if name == "k":
            return float(self.k)
        if name == "population":
            return float(self.k) if self.population is None else self.population
        if name == "average-risk":
            return float(np.average(1.0 / self.per_record, weights=self._repeats)) if len(self.per_record) else 0.0
        if name == "degree-k":
            if self.degree_k is None:
                raise ParameterError("'degree-k' is about the links of a graph, and the records have none")
            return float(self.degree_k)
        if not self.diversity:
            raise ParameterError(f"'{name}' is about confidential attributes, and none is declared")
        worst = max if name in AT_MOST else min
        return worst(found.value(name) for found in self.diversity.values())

    def check(self, required: Mapping[str, float]) -> None:
        """Refuse, in one sentence, what does not meet the requirements."""
        for name, wanted in check_requirements(required).items():
            if name.startswith(EVERY):
                self._check_combination(Combination.required(name, wanted))
                continue
            reached = self.value(name)
            if name in _ON_CLASSES:
                self._refuse_proposed(name)
            if falls_short(name, np.array([reached]), wanted).any():
                bound = "at most" if name in AT_MOST else "at least"
                keys = ", ".join(self.named or self.keys)
                over = "" if name == "degree-k" or not keys else f" over {keys}"
                raise GuaranteeError(
                    f"the release was to have {name} {bound} {wanted:g}{over}, but it reaches {reached:g}: "
                    f"{self._shortfall(name, wanted)}; mask more strongly, or ask for less"
                )

    @property
    def _counter(self) -> CombinationCounter:
        if self.table is None:
            raise ParameterError("combinations cannot be counted here: the records of the table are not at hand")
        return CombinationCounter(self.table, self.keys)

    def _check_combination(self, asked: Combination) -> None:
        found = self._counter.count(asked)
        if not found.holds:
            raise GuaranteeError(
                f"the release was to have '{asked}', but {found.sentence}; mask more strongly, or ask for less"
            )

    def _refuse_proposed(self, name: str) -> None:
        for attribute, found in self.diversity.items():
            if found.proposed:
                raise ParameterError(
                    f"{name} cannot be required of '{attribute}', a number with many distinct values, before classes "
                    "of its values are declared; declare them in the schema by their cut points, such as "
                    "hierarchy = { cuts = [[1000, 2000, 4000]] }, or require t, which needs none"
                )

    def _shortfall(self, name: str, wanted: float) -> str:
        """How many equivalence classes and records fall short, and in what."""
        if name == "degree-k" and self.degree_sizes is not None:
            few = self.degree_sizes[self.degree_sizes < wanted]
            return f"{count(int(few.sum()), 'node')} share their number of links with fewer than {wanted:g} nodes"
        if name == "average-risk":
            return f"{count(self.records, 'record')} are in {count(self.classes, 'class', 'classes')}"
        if name not in _OF_CLASSES:
            sizes = self.sizes if name == "k" or self.populations is None else self.populations
            what = f"fewer than {wanted:g} records" if name == "k" else f"a population below {wanted:g}"
            return self._told(falls_short(name, np.asarray(sizes, dtype=np.float64), wanted), what)
        told = []
        for attribute, found in self.diversity.items():
            short = found.falls_short(name, wanted)
            if falls_short(name, np.array([found.value(name)]), wanted).any():
                told.append(self._told(short, _OF_CLASSES[name].format(wanted=f"{wanted:g}", attribute=attribute)))
        return " and ".join(told)

    def _told(self, short: BoolArray, what: str) -> str:
        records = count(int(self.members[short].sum()), "record")
        return f"{_some(int(short.sum()), self.classes)} {what} ({records})"

    def rows(self) -> list[tuple[str, str, str]]:
        """Name, value and meaning of every guarantee, in words."""
        n, over = self.classes, f" of {listed(self.named or self.keys)}"
        if not self.keys:
            told = "the nodes have no attributes, so nothing but their links tells them apart"
        elif self.k > 1:
            told = f"{_every(n, over)} has at least {self.k:,} records"
        else:
            told = f"{_some(int((self.sizes < 2).sum()), n, over)} a single record"
        rows = [("k-anonymity", f"{self.k:,}", told)]
        if self.rests_on_wildcards:
            k = max(2, self.k)
            few = f"{_some(int((self.members < k).sum()), n)} fewer than {k:,} records"
            held = count(self.below_without_wildcards(k), "record")
            rows.append(
                (
                    "k-anonymity without wildcards",
                    f"{self.k_without_wildcards:,}",
                    f"where an empty cell agrees with empty cells only, {few}, {held} in all",
                )
            )
        if self.population is not None:
            told = "the smallest estimated population of an equivalence class, by the sampling weights"
            rows.append(("population", f"{self.population:,.0f}", told))
        if self.degree_k is not None and self.degree_sizes is not None:
            alone = count(int((self.degree_sizes == 1).sum()), "node")
            told = f"every number of links is shared by at least {self.degree_k:,} nodes"
            told = told if self.degree_k > 1 else f"{alone} with a number of links that no other has"
            rows.append(("k-degree anonymity", f"{self.degree_k:,}", told))
        return rows + [row for found in self.diversity.values() for row in found.rows(n)]

    def sentences(self) -> list[str]:
        """The same, a sentence each: `k-anonymity: 3 (every one of the 8 equivalence classes of sex has ...)`."""
        return [f"{name}: {value} ({meaning})" for name, value, meaning in self.rows()]

    def __str__(self) -> str:
        return "\n".join(text_table(self.rows(), right={1}))

    def _repr_html_(self) -> str:
        return html_table(self.rows(), ("guarantee", "value", "what it means"), right={1})

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "keys": list(self.keys),
            "classes": self.classes,
            "k": self.k,
            "k-without-wildcards": self.k_without_wildcards,
        }
        if self.rests_on_wildcards:
            plain["below-without-wildcards"] = self.below_without_wildcards(max(2, self.k))
        if self.population is not None:
            plain["population"] = self.population
        if self.degree_k is not None:
            plain["degree-k"] = self.degree_k
        plain["confidential"] = {name: found.to_plain() for name, found in self.diversity.items()}
        return plain


def falls_short(name: str, reached: FloatArray, wanted: float) -> BoolArray:
    """Whether what is reached of a requirement is less than wanted; sums of fractions may be off by rounding."""
    slack = _ROUNDING * max(1.0, wanted) if name in _ROUNDED else 0.0
    return np.asarray(reached > wanted + slack if name in AT_MOST else reached < wanted - slack)


def _every(classes: int, over: str = "") -> str:
    if classes == 1:
        return f"the only equivalence class{over}"
    return f"every one of the {classes:,} equivalence classes{over}"


def _some(number: int, classes: int, over: str = "") -> str:
    verb = "has" if number == 1 or classes == 1 else "have"
    return f"{number:,} of {count(classes, 'equivalence class', 'equivalence classes')}{over} {verb}"


def listed(names: Iterable[str]) -> str:
    """The names with commas; of very many the first ones and how many more there are."""
    names = list(names)
    more = len(names) - _SEVERAL
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_SEVERAL])} and {more} more"


def check_requirements(required: Mapping[str, float]) -> dict[str, float]:
    """Requirements such as {"k": 5, "l": 2}, checked for names and values that make sense."""
    checked = {}
    for name, wanted in required.items():
        is_combination = isinstance(name, str) and name.startswith(EVERY)
        if name not in REQUIREMENTS and not is_combination:
            known = [*REQUIREMENTS, _COMBINATION]
            raise ParameterError(f"'{name}' is not a guarantee{nearest_name(str(name), known)}")
        lowest = 0.0 if name in AT_MOST else 1.0
        highest = 1.0 if name in AT_MOST and name not in _UNLIMITED else MOST_RECORDS
        if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not lowest <= wanted <= highest:
            what = "from 0 to 1" if highest == 1.0 else f"of at least {lowest:g} and at most {MOST_RECORDS:,}"
            raise ParameterError(f"{name} must be a number {what}, not {brief(wanted)}")
        name = Combination.required(name, wanted).name if is_combination else name
        checked[name] = probability(wanted, "the required risk") if name == RISK else float(wanted)
    return checked


def guarantees_of(
    data: Any,
    keys: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    *,
    c: float = _C,
    progress: Progress = silent,
) -> Guarantees:
    """Count what a table guarantees over its keys (all attributes without roles) for its confidential attributes.

    >>> people = Microdata.of(
    ...     {"sex": ["f", "f", "m", "m"], "ill": ["flu", "flu", "flu", "gout"]}, keys=["sex"], confidential=["ill"]
    ... )
    >>> found = guarantees_of(people)
    >>> found.k, found.diversity["ill"].distinct, found.diversity["ill"].closeness
    (2, 1, 0.25)
    >>> print(found.sentences()[1])
    l-diversity of ill: 1 (1 of 2 equivalence classes has a single value of ill)
    """
    from microveil.microdata.equivalence_classes import equivalence_classes_of

    data = as_microdata(data)
    degrees = None if data.edges is None else np.unique(data.edges.degrees, return_counts=True)[1].astype(np.int64)
    if degrees is not None and not (keys or data.schema.keys) and set(data.names) == set(data.schema.having("node")):
        every = np.full(len(data), len(data), dtype=np.int64)
        return Guarantees((), len(data), None, {}, every, every[:1], every[:1], degree_sizes=degrees)
    keys = resolve_attributes(data, keys or None, KINDS, "a guarantee")
    confidential = data.schema.confidential if confidential is None else tuple(confidential)
    classes = equivalence_classes_of(data, keys, progress)
    diversity = {name: _diversity(data, classes, name, c) for name in confidential if name not in keys}
    found = Guarantees.of(classes, weighted=data.schema.weight is not None, diversity=diversity)
    repeats = None if data.part is None else data.part.counts
    return replace(found, named=data.schema.collapsed(keys), degree_sizes=degrees, repeats=repeats, table=data)


def _diversity(data: Microdata, classes: EquivalenceClasses, name: str, c: float) -> Diversity:
    from microveil.microdata.equivalence_classes import key_codes

    codes = key_codes(data, name)
    known = codes >= 0  # a value that could be any says nothing about the diversity of its class
    of_record = classes.of_record[known]
    values = np.unique(codes[known], return_inverse=True)[1].reshape(-1)
    counted, intervals, proposed = classes_of_values(data, name, known, values)
    ones = data.counts[known].astype(np.float64)
    table = _by_class(classes, of_record, counted, ones)
    filled = np.diff(table.indptr) > 0  # the others have no known value at all
    measures = {name: np.full(len(classes), np.nan) for name in _OF_CLASSES}
    if filled.any():
        table = table[filled]
        starts, sizes = table.indptr[:-1], np.diff(table.indptr)
        shares = table.data / np.repeat(np.add.reduceat(table.data, starts), sizes)
        measures["l"][filled] = sizes
        measures["entropy-l"][filled] = np.exp(-np.add.reduceat(shares * np.log(shares), starts))
        measures["recursive-l"][filled] = recursive_diversity(table, c)
        weights = ones
        if data.schema.weight is not None:
            weights = np.nan_to_num(data.numbers(data.schema.weight).values)[known]
        if counted is not values or weights is not ones:
            table = _by_class(classes, of_record, values, weights)[filled]
        whole = np.bincount(values, weights=weights).astype(np.float64)
        measures["t"][filled] = closeness(table, whole, ordered=data[name].kind in ("numeric", "ordinal"))
        measures["delta"][filled], measures["beta"][filled] = likeness(table, whole)
    worst = {
        measure: float(found[filled].max() if measure in AT_MOST else found[filled].min())
        for measure, found in measures.items()
        if filled.any()
    }
    return Diversity(
        name,
        int(worst.get("l", 0)),
        worst.get("entropy-l", 0.0),
        int(worst.get("recursive-l", 0)),
        worst.get("t", 1.0),
        intervals,
        proposed,
        c,
        int((~filled).sum()),
        worst.get("delta", np.inf),
        worst.get("beta", np.inf),
        measures,
    )


def classes_of_values(
    data: Microdata, name: str, known: BoolArray, values: IntArray
) -> tuple[IntArray, tuple[str, ...], bool]:
    """What diversity counts, as codes: the values; of a number the classes that its schema declares, with their names;
    else, if it has many distinct values, proposed ones."""
    hierarchy = data[name].hierarchy
    few = values.max(initial=-1) < _FEW_VALUES
    if data[name].kind != "numeric" or (hierarchy is None and few):
        return values, (), False
    numbers = data.numbers(name).values[known]
    present = numbers[~np.isnan(numbers)]
    if isinstance(hierarchy, Hierarchy):
        level = min(1, hierarchy.levels - 1)
        listed = np.unique([float(category) for category in hierarchy.categories(0)])
        between = np.searchsorted(
            (listed[1:] + listed[:-1]) / 2, present
        )  # masking may give numbers that are not listed
        positions, names = hierarchy.positions_of_numbers(listed[between], level), hierarchy.categories(level)
    else:
        intervals = hierarchy or equal_frequency(present, [_PROPOSED], data.counts[known][~np.isnan(numbers)])
        positions, names = intervals.positions_of_numbers(present, 1), intervals.categories(1)
    codes = values + len(names)  # missing cells that are values of their own stay so
    codes[~np.isnan(numbers)] = positions
    return np.unique(codes, return_inverse=True)[1].reshape(-1), names, hierarchy is None


def _by_class(classes: EquivalenceClasses, of_record: IntArray, codes: IntArray, weights: FloatArray) -> Any:
    """How often each value occurs in the class of each combination, as a sparse table."""
    from scipy import sparse

    shape = (len(classes), int(codes.max(initial=-1)) + 1)
    table = sparse.coo_array((weights, (of_record, codes)), shape=shape).tocsr()
    if len(codes) and (classes.codes < 0).any():
        width = max(1, _CELLS // max(1, len(classes)))
        columns = table.tocsc()
        blocks = [columns[:, start : start + width].toarray() for start in range(0, shape[1], width)]
        table = sparse.hstack([sparse.csr_array(classes.agreeing_with_each(block)) for block in blocks], format="csr")
    table.sort_indices()
    return table


def recursive_diversity(table: Any, c: float) -> IntArray:
    """For each class the largest l with r_1 < c (r_l + r_(l+1) + ...), r the frequencies from the largest down."""
    starts, sizes = table.indptr[:-1], np.diff(table.indptr)
    order = np.lexsort((-table.data, np.repeat(np.arange(len(sizes)), sizes)))
    counts = table.data[order]
    sums = np.cumsum(counts)
    from_here_on = np.repeat(sums[table.indptr[1:] - 1], sizes) - sums + counts
    most = np.repeat(counts[starts], sizes)
    return np.asarray(np.add.reduceat((most < c * from_here_on).astype(np.int64), starts))


def closeness(table: Any, whole: FloatArray, *, ordered: bool) -> FloatArray:
    """For each class the earth mover's distance between the values of a class and those of all records.

    Between ordered values a step to the next costs 1 / (number of values - 1); between others every change costs 1.
    """
    starts, sizes = table.indptr[:-1], np.diff(table.indptr)
    totals = np.add.reduceat(table.data, starts)
    if whole.sum() <= 0 or len(whole) == 1:
        return np.zeros(len(starts))
    shares = table.data / np.repeat(np.where(totals > 0, totals, 1.0), sizes)
    whole = whole / whole.sum()
    if ordered:
        distances = _ordered_distances(table, shares, whole)
    else:
        distances = np.add.reduceat(np.maximum(shares - whole[table.indices], 0.0), starts)
    return np.where(totals > 0, distances, 0.0)  # a class without weight stands for nobody


def likeness(table: Any, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each class the delta of delta-disclosure privacy and the beta of beta-likeness that it has.

    The first is the largest absolute logarithm of the share of a value over that in the table, and infinite where a
    value of the table is missing from the class; the second the largest excess of a share, relative to that in the
    table. Brickell and Shmatikov (2008); Cao and Karras (2012).
    """
    starts, sizes = table.indptr[:-1], np.diff(table.indptr)
    tiny = np.finfo(np.float64).tiny
    totals = np.maximum(np.add.reduceat(table.data, starts), tiny)
    overall = np.maximum(whole / max(float(whole.sum()), tiny), tiny)
    ratio = table.data / np.repeat(totals, sizes) / overall[table.indices]
    farthest = np.maximum.reduceat(np.abs(np.log(np.maximum(ratio, tiny))), starts)
    delta = np.where(sizes == int((whole > 0).sum()), farthest, np.inf)
    return delta, np.asarray(np.maximum.reduceat(ratio, starts) - 1.0)


def _ordered_distances(table: Any, shares: FloatArray, whole: FloatArray) -> FloatArray:
    """The distances of all classes to the whole, from the differences of the cumulative shares.

    Between two values that a class has its cumulative share stands still while that of the whole rises, so the
    difference changes its sign at most once there and sums of the whole's shares give the area on both sides.
    """
    starts, sizes, values = table.indptr[:-1], np.diff(table.indptr), len(whole)
    rising = np.cumsum(whole)
    area = np.concatenate([[0.0], np.cumsum(rising)])
    sums = np.cumsum(shares)
    level = sums - np.repeat(sums[starts] - shares[starts], sizes)
    begin = table.indices.astype(np.int64)
    end = np.append(begin[1:], values)
    end[table.indptr[1:] - 1] = values
    turn = np.clip(np.searchsorted(rising, level), begin, end)
    below = level * (turn - begin) - (area[turn] - area[begin])
    above = (area[end] - area[turn]) - level * (end - turn)
    return np.asarray((np.add.reduceat(below + above, starts) + area[begin[starts]]) / (values - 1))
