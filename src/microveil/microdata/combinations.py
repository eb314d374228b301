"""Combinations of attributes that must not be rare: these attributes together, at least so many records, or units of
the population. They are written as a text, and counted in a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from microveil.errors import DataError, ParameterError, brief, shortened
from microveil.microdata.microdata import Microdata, count
from microveil.parameters import MOST_RECORDS
from microveil.progress import Progress, silent
from microveil.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.microdata.equivalence_classes import EquivalenceClasses

EVERY = "every "  # how the name of a requirement on combinations begins
EXAMPLES = "'age,sex,region >= 5', 'every pair of keys >= 3' or 'every triple >= 100 population'"
_ROUNDING = 1e-9
_SIZES = {"value": 1, "single value": 1, "pair": 2, "triple": 3}
_MOST_SETS = 100_000  # choices of attributes that one rule may stand for
_BOUND = re.compile(
    r"(?P<what>[^;]*?)>=\s*(?P<least>\d[\d_]*(?:\.\d+)?(?:[eE]\+?\d+)?)\s*(?P<unit>[A-Za-z]*)\s*(?:[,;]|$)", re.DOTALL
)
_CHOICE = re.compile(r"every\s+(?P<size>single value|value|pair|triple|combination|\d+)(?:\s+of\s+(?P<names>.*))?")


@dataclass(frozen=True)
class Combination:
    """Every combination of values of some attributes is shared by at least so many records, or units of the population.

    `attributes` are counted together, or in every choice of `size` of them; without any, the keys are meant.

    >>> Combination.of("age,sex,region >= 5")
    Combination(at_least=5.0, attributes=('age', 'sex', 'region'), size=None, population=False)
    >>> str(Combination.of("every triple >= 100 population"))
    'every triple of keys >= 100 population'
    """

    at_least: float
    attributes: tuple[str, ...] = ()
    size: int | None = None
    population: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.at_least <= MOST_RECORDS:
            raise ParameterError(f"a combination asks for at least 1 and at most {MOST_RECORDS:,} records or units")
        if len(set(self.attributes)) < len(self.attributes):
            raise ParameterError(f"a combination names an attribute twice: {shortened(','.join(self.attributes))}")
        if self.size is not None and self.size < 1:
            raise ParameterError("a choice of attributes has at least one of them")

    @classmethod
    def of(cls, text: str) -> Combination:
        """Read from a text, such as 'age,sex,region >= 5'."""
        found = combinations_of(text)
        if len(found) != 1:
            raise ParameterError(f"{brief(text)} is not one combination; write {EXAMPLES}")
        return found[0]

    @classmethod
    def required(cls, name: str, at_least: float) -> Combination:
        """Read from the name of a requirement, such as 'every combination of age,sex', and its number."""
        what, _, unit = name.rpartition(" ")
        population = unit == "population"
        return cls(float(at_least), *_attributes_of(what if population else name), population)

    @property
    def name(self) -> str:
        """What is to be frequent: the name of the requirement, without the number."""
        words = next((word for word, size in _SIZES.items() if size == self.size), str(self.size))
        what = f"{EVERY}{'combination' if self.size is None else words} of {self._named}"
        return f"{what} population" if self.population else what

    @property
    def unit(self) -> str:
        return "units of the population" if self.population else "records"

    @property
    def _named(self) -> str:
        return ",".join(self.attributes) or "keys"

    def __str__(self) -> str:
        what = self._named if self.size is None else self.name.removesuffix(" population")
        return f"{what} >= {_number(self.at_least)}{' population' if self.population else ''}"

    def sets(self, keys: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The sets of attributes that are counted together, where these are the keys."""
        names = self.attributes or tuple(keys)
        if not names:
            raise DataError(f"'{self}' is about the keys, and none is declared")
        if self.size is None or self.size >= len(names):  # of fewer attributes than asked for, all together
            return (names,)
        chosen = combinations(names, self.size)
        listed = tuple(one for one, _ in zip(chosen, range(_MOST_SETS + 1), strict=False))
        if len(listed) > _MOST_SETS:
            raise ParameterError(f"'{self}' stands for more than {_MOST_SETS:,} sets of attributes; name fewer")
        return listed


def combinations_of(texts: str | Iterable[str]) -> tuple[Combination, ...]:
    """The combinations in a text, between commas or semicolons, or in several texts.

    >>> [str(one) for one in combinations_of("age,sex >= 5; every pair >= 3")]
    ['age,sex >= 5', 'every pair of keys >= 3']
    """
    text = (texts if isinstance(texts, str) else ",".join(texts)).strip().rstrip(",;")
    found, at = [], 0
    while at < len(text):
        bound = _BOUND.match(text, at)
        if bound is None or bound["unit"].lower() not in ("", "population", "sample", "records"):
            raise ParameterError(f"{brief(text[at:].strip())} is not a combination; write {EXAMPLES}")
        attributes, size = _attributes_of(bound["what"])
        least = float(bound["least"].replace("_", ""))
        found.append(Combination(least, attributes, size, bound["unit"].lower() == "population"))
        at = bound.end()
    if not found:
        raise ParameterError(f"there is no combination in {brief(text)}; write {EXAMPLES}")
    return tuple(found)


def canonical(texts: Any) -> Any:
    """Texts of combinations as they are kept, however they were separated; what is no text at all stays as it is."""
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return tuple(map(str, combinations_of(texts)))
    return tuple(map(str, combinations_of(texts))) if isinstance(texts, str) else texts


def _attributes_of(what: str) -> tuple[tuple[str, ...], int | None]:
    """The attributes, none for the keys, and the size of each choice of them, none for all together."""
    what = what.strip()
    choice = _CHOICE.fullmatch(what)
    if what.startswith(EVERY) and choice is None:
        raise ParameterError(f"{brief(what)} is not a combination; write {EXAMPLES}")
    size = None
    if choice is not None:
        word, what = choice["size"], (choice["names"] or "keys").strip()
        size = None if word == "combination" else _SIZES.get(word) or int(word)
    names = tuple(name.strip() for name in what.split(","))
    if names == ("keys",):
        return (), size
    if not all(names):
        raise ParameterError(f"{brief(what)} does not name the attributes of a combination; write {EXAMPLES}")
    return names, size


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


@dataclass(frozen=True)
class CombinationCount:
    """How often the combinations of a table occur that one rule asks for.

    `reached` is the least number; `combinations` and `records` fall short, of so many; `per_record` says which records.
    `without_wildcards` are the records that fall short where an empty cell agrees with empty cells only. For each
    attribute, `involved` are the combinations with it that fall short, and `relief` the records that would not without
    it.
    """

    combination: Combination
    sets: tuple[tuple[str, ...], ...]
    reached: float
    combinations: int
    distinct: int
    records: int
    without_wildcards: int
    involved: Mapping[str, int]
    relief: Mapping[str, int]
    per_record: BoolArray = field(repr=False, compare=False)

    @property
    def holds(self) -> bool:
        return self.records == 0

    @property
    def sentence(self) -> str:
        """What was counted, in words and without any value of a record."""
        asked = self.combination
        if self.holds:
            rests = self.without_wildcards
            more = f", {count(rests, 'record')} only because empty cells agree with every value" if rests else ""
            return f"{asked.name} is shared by at least {asked.at_least:,.10g} {asked.unit}{more}"
        have = "falls" if self.combinations == 1 else "fall"
        told = (
            f"{self.combinations:,} of {count(self.distinct, 'combination')} ({count(self.records, 'record')}) {have} "
            f"short of {asked.at_least:,.10g} {asked.unit} in {asked.name.removesuffix(' population')}; the rarest has "
            f"{self.reached:,.4g}"
        )
        if len(self.relief) == 1:
            return told
        if self.relief[self.worst]:
            return f"{told}; {self.relief[self.worst]:,} of these records would not without {self.worst}"
        return f"{told}; most often with {self.worst}" if len(self.sets) > 1 else told

    @property
    def worst(self) -> str:
        """The attribute without which most records would no longer fall short; of equals that with most that do."""
        return max(self.relief, key=lambda name: (self.relief[name], self.involved[name]))

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; counts only."""
        return {
            "combination": str(self.combination),
            "holds": self.holds,
            "reached": self.reached,
            "failing_combinations": self.combinations,
            "distinct_combinations": self.distinct,
            "failing_records": self.records,
            "failing_records_without_wildcards": self.without_wildcards,
            "involved": dict(self.involved),
            "relief": dict(self.relief),
        }


class CombinationCounter:
    """Counts combinations of a table; what is read of an attribute is read once.

    With `own_category` an empty cell agrees with empty cells only, whatever the schema says.
    """

    def __init__(self, data: Microdata, keys: Sequence[str], *, own_category: bool = False) -> None:
        self.data, self.keys, self.own_category = data, tuple(keys), own_category
        self._codes: dict[str, IntArray] = {}

    def count(self, asked: Combination, progress: Progress = silent) -> CombinationCount:
        """How far the table keeps to one combination."""
        sets = asked.sets(self.keys)
        weights = self.weights if asked.population else None
        short = np.zeros((len(sets), len(self.data)), dtype=bool)
        bare = np.zeros(len(self.data), dtype=bool)
        reached, rare, distinct = np.inf, np.zeros(len(sets), dtype=np.int64), 0
        for at, names in enumerate(sets):
            progress(at / len(sets), "counting combinations")
            classes = self._classes(names, weights)
            have = classes.population if asked.population else classes.frequencies
            own = classes.weights if asked.population else classes.counts
            few = falls_short(have, asked.at_least)
            short[at] = few[classes.of_record]
            bare |= falls_short(own, asked.at_least)[classes.of_record]
            reached = min(reached, float(have.min()) if len(have) else np.inf)
            rare[at], distinct = few.sum(), distinct + len(classes)
        failing = np.asarray(short.any(axis=0))
        return CombinationCount(
            asked,
            sets,
            reached if np.isfinite(reached) else float(len(self.data)),
            int(rare.sum()),
            distinct,
            int(failing.sum()),
            int(bare.sum()),
            _involved(sets, rare),
            self._relief(asked, sets, short, weights),
            failing,
        )

    @cached_property
    def weights(self) -> FloatArray:
        """What each record stands for in the population; one without a weight stands for nobody."""
        return population_weights(self.data, "a combination")

    def _classes(self, names: Sequence[str], weights: FloatArray | None) -> EquivalenceClasses:
        from microveil.microdata.equivalence_classes import EquivalenceClasses

        return EquivalenceClasses.of(names, [self._codes_of(name) for name in names], weights)

    def _codes_of(self, name: str) -> IntArray:
        from microveil.microdata.equivalence_classes import key_codes

        if name not in self._codes:
            codes = key_codes(self.data, name)
            self._codes[name] = np.where(codes < 0, codes.max(initial=-1) + 1, codes) if self.own_category else codes
        return self._codes[name]

    def _relief(
        self, asked: Combination, sets: Sequence[tuple[str, ...]], short: BoolArray, weights: FloatArray | None
    ) -> dict[str, int]:
        """For each attribute, the records that fall short and would not if it were left out."""
        failing = int(short.any(axis=0).sum())
        names = tuple(dict.fromkeys(name for names in sets for name in names))
        if not failing:
            return dict.fromkeys(names, 0)
        if len(sets) > 1:
            holding = np.array([[name in one for one in sets] for name in names])
            return {
                name: failing - int(short[~held].any(axis=0).sum()) for name, held in zip(names, holding, strict=True)
            }
        relief = {}
        for name in names:
            others = [other for other in names if other != name]
            left = np.zeros(len(self.data), dtype=bool)
            if others:
                classes = self._classes(others, weights)
                have = classes.population if asked.population else classes.frequencies
                left = falls_short(have, asked.at_least)[classes.of_record]
            relief[name] = failing - int((left & short[0]).sum())
        return relief


def _involved(sets: Sequence[tuple[str, ...]], rare: IntArray) -> dict[str, int]:
    """For each attribute, the rare combinations in sets that have it."""
    names = dict.fromkeys(name for names in sets for name in names)
    return {name: int(rare[[name in one for one in sets]].sum()) for name in names}


def falls_short(have: FloatArray | IntArray, at_least: float) -> BoolArray:
    """Whether numbers of records or sums of weights are below what is asked; rounding of sums does not decide."""
    return np.asarray(have < at_least * (1.0 - _ROUNDING))


def population_weights(data: Microdata, asker: str) -> FloatArray:
    """The sampling weights; refused where there are none or some are below 0. A missing one is 0."""
    from microveil.microdata.equivalence_classes import weights_of

    if data.schema.weight is None:
        raise DataError(
            f"{asker} is to be counted in the population, but the table has no attribute with the role weight; declare "
            "it, or ask for a number of records"
        )
    return weights_of(data, data.schema.weight)
