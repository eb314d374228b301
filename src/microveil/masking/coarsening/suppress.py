"""Local suppression: single cells are emptied until no combination of keys is rare."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pydantic

from microveil.errors import DataError, GuaranteeError, ParameterError, TooFewRecordsError
from microveil.masking.base import Masked, Method, OfHouseholds, OverRecords
from microveil.masking.guarantees import Guarantees
from microveil.masking.households import household_of, units_of
from microveil.masking.notes import (
    CELLS_EMPTIED,
    CELLS_OF_ATTRIBUTE,
    CELLS_OF_MEMBERS,
    CODES_ARE_VALUES,
    FEWEST_CELLS,
    LEAST_COST_OF_CELLS,
    NO_CELL_EMPTIED,
    Note,
)
from microveil.masking.ranges import Ranges, Whole, ranges
from microveil.microdata import Attribute, Microdata
from microveil.microdata.combinations import (
    EXAMPLES,
    Combination,
    CombinationCounter,
    canonical,
    combinations_of,
    population_weights,
)
from microveil.microdata.equivalence_classes import EquivalenceClasses, equivalence_classes_of, key_codes, weights_of
from microveil.microdata.microdata import FIRST_CODE, SYSTEM_MISSING, count
from microveil.microdata.schema import KINDS
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, silent
from microveil.randomness import Streams
from microveil.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.counting.nested_local_suppression import Keys

_MOST_BOUNDED = 100_000  # records; of more there are too many combinations for a bound


@parameterised
class Suppress(Method):
    """Suppresses single cells, as few as it can find, until at least k records share every combination of the keys.

    An empty cell that is a wildcard could be any value: its record agrees with all records that have its other values,
    and counts for them too, so that many records are safe through the cells emptied around them. Whoever does not want
    to rely on that asks with `count = "original"` that as many *original* records as k have the values a record still
    shows: stricter, with more empty cells. Where the schema says that missing is a category of its own, or not
    applicable, an empty cell agrees with other empty cells only, and rare records are brought together until k of them
    look alike.

    A smaller k never suppresses more cells than a larger one (nor costlier cells, with `importance`). For that the
    larger ones up to 10 are searched too, which takes up to ten times as long as one of them. A k above 10 that is no
    round number is treated as the next round one: 23 as 25.

    Instead of k, or beside it, a `risk` can be asked for: no record may have a risk above it, taken as one over the
    number of records that share its combination, or over the number of persons in the population when `weighted`.

    With `combinations` only these must be frequent, each with its own threshold in records or in the population by
    sampling weights, instead of all keys together: `"age,sex,region >= 5"`, `"every pair of keys >= 3"`, `"every triple
    >= 100 population"`. All of them hold at once in the end: where an empty cell is a category of its own, cells
    emptied for one combination can make an earlier one rare again, so all are gone through until none is.

    A cell of an attribute that the schema declares as one of the household is emptied for all members who have the
    same value. Where that makes another combination rare, cells are emptied again, until k holds over the records.

    A note tells how many cells are emptied, or their cost by importance, a lower bound that no suppression can fall
    below, and the gap between the two. The bound is close where each record needs its own cells, as in `count =
    "original"` or where an empty cell is a category. Where it is a wildcard the bound is far below: k-1 records without
    any value agree with everybody, and would do for k, but nobody wants such a release.

    Recode first what has many categories; a numeric key with many distinct values is refused. The result is counted
    again at the end, as every guarantee is.

    >>> from microveil.microdata import Microdata
    >>> people = {"sex": ["f", "f", "f", "m", "m"], "job": ["cook", "cook", "nurse", "cook", "cook"]}
    >>> release = Suppress(k=2, suppressed="wildcard").mask(Microdata.of(people))
    >>> release.frame["job"].to_pylist(), release.guarantees.k
    (['cook', 'cook', None, 'cook', 'cook'], 2)
    """

    name: ClassVar[str] = "suppress"
    family: ClassVar[str] = "coarsening"
    suppresses: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "local suppression: single cells are set to missing until at least k records share every combination of keys"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "cells missing already agree with every value, or with their like, as the schema says, and cost nothing. Where "
        "missing is a value of its own, a missing code may be emptied like any value"
    )
    weights: ClassVar[str] = (
        "with `weighted`, the population that sampling weights estimate decides; they are not changed"
    )
    source: ClassVar[str] = "Willenborg and de Waal (2001); Fayyoumi (2008), section 2.5.2"
    searched: ClassVar[Ranges] = ranges(k=Whole(2, 10))
    told: ClassVar[Mapping[str, Any]] = MappingProxyType({"bound": "none"})
    random: ClassVar[bool] = False
    of_households: ClassVar[OfHouseholds] = "itself"
    over_records: ClassVar[OverRecords] = "per combination"
    quick: ClassVar = {"k": 2, "most_values": 1000}

    k: int = parameter(default=3, help="fewest records that share every combination of keys", ge=1, le=MOST_RECORDS)
    risk: float | None = parameter(
        default=None, help="largest risk of a record, 1 over the size of its equivalence class", gt=0, le=1
    )
    weighted: bool = parameter(
        default=False, help="whether the risk refers to the population, as estimated by the sampling weights"
    )
    combinations: Annotated[tuple[str, ...] | None, pydantic.BeforeValidator(canonical)] = parameter(
        default=None,
        help="combinations that must be frequent instead of all keys together, such as 'age,sex >= 5' or 'every triple "
        ">= 100 population', with commas between them; k is not used then",
    )
    importance: tuple[float, ...] | None = parameter(
        default=None, help="cost of a suppressed cell for each attribute; unset: equal costs"
    )
    suppressed: Literal["as declared", "wildcard", "own category"] = parameter(
        default="as declared",
        help="how a suppressed cell of a key is counted in the release; as declared: as the schema treats missing "
        "cells, and so it is in any case where the key has missing codes that count as values",
    )
    count: Literal["released", "original"] = parameter(
        default="released",
        help="where the records that agree with a record with suppressed cells are counted: in the release, or in the "
        "original file (stricter)",
    )
    most_values: int = parameter(
        default=100, help="a numeric key with more distinct values is refused", ge=1, le=MOST_RECORDS
    )

    bound: Literal["none", "fast"] = parameter(
        default="fast",
        help="lower bound that the cost of the cells is told beside: none, or by linear programming where the table "
        "has few different combinations (fast)",
    )

    def __post_init__(self) -> None:
        if self.weighted and self.risk is None:
            raise ParameterError(
                "suppress: weighted = True is not allowed without a risk; give the highest risk allowed"
            )
        if self.combinations is not None and (self.risk is not None or self.count != "released"):
            raise ParameterError(
                "suppress: combinations have their own thresholds and are counted in the release; leave out risk and "
                "count, and write the population into a combination, such as 'keys >= 100 population'"
            )
        if self.importance is not None and any(dear <= 0 for dear in self.importance):
            raise ParameterError(f"suppress: importance = {self.importance} is not allowed; each must be above 0")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        masked = self._emptied_once(data, attributes, progress)
        shared = tuple(name for name in attributes if data[name].level == "household")
        household = household_of(data) if shared else None
        if household is None:
            return masked
        units = {name: units_of(data, household, [name]) for name in shared}
        notes, described = list(masked.notes), {attribute.name: attribute for attribute in masked.attributes}
        while True:
            released = data.with_columns(masked.columns, tuple(described.values()))
            left = {name: _shown_by_members(data, released, name, units[name]) for name in shared}
            if not any(cells.any() for cells in left.values()):
                return replace(masked, notes=tuple(notes), attributes=tuple(described.values()))
            listed = tuple(_cells_of(name, cells) for name, cells in left.items() if cells.any())
            total = sum(int(cells.sum()) for cells in left.values())
            notes.append(CELLS_OF_MEMBERS(method=self.name, cells=total, attributes=listed))
            spread = released.with_columns({name: _emptied(released, name, cells) for name, cells in left.items()})
            masked = self._emptied_once(spread, attributes, progress)
            notes += masked.notes
            described |= {attribute.name: attribute for attribute in masked.attributes}

    def _emptied_once(self, data: Microdata, attributes: tuple[str, ...], progress: Progress) -> Masked:
        """The cells emptied so that no combination is rare, without a look at households."""
        listed = combinations_of(self.combinations) if self.combinations else ()
        used = _attributes_in(listed, attributes) if listed else attributes
        keys = self.with_policies(data, used)
        if listed:
            suppressed = self._cells_for_all(keys, attributes, listed, Part(progress, 0.0, 0.9))
        else:
            masses, targets = self._asked(data)
            suppressed = self._cells_to_suppress(keys, attributes, masses, targets, Part(progress, 0.0, 0.9))
        columns, changed = {}, []
        for name, cells in zip(attributes, suppressed.T, strict=True):
            columns[name] = _emptied(data, name, cells)
            if keys[name].missing != data[name].missing and (cells.any() or data[name].missing != "refuse"):
                changed.append(keys[name])
        released = data.with_columns(columns, changed)
        if listed:
            _check_all(released, attributes, listed)
        else:
            self._check(released, attributes, targets)
        notes = [_note(self.name, attributes, suppressed)]
        if self.bound != "none" and not listed and suppressed.any() and data.counts.sum() <= _MOST_BOUNDED:
            notes += self._bound(self._keys(keys, attributes, masses), suppressed, targets)
        coded = tuple(name for name in used if keys[name].missing != "wildcard")
        if coded and self.suppressed == "wildcard":
            notes.append(CODES_ARE_VALUES(method=self.name, attributes=coded))
        return Masked(columns, notes=tuple(notes), attributes=tuple(changed))

    @classmethod
    def suits(cls, data: Microdata, name: str) -> bool:
        return super().suits(data, name) and (
            data[name].kind != "numeric" or _distinct_numbers(data, name) <= cls().most_values
        )

    def with_policies(self, data: Microdata, attributes: tuple[str, ...]) -> Microdata:
        """The table with the meaning that empty cells of the keys are to have; refused where it cannot be treated."""
        changed: list[Attribute] = []
        for name in attributes:
            attribute = data[name]
            key_codes(data, name)  # refuses missing cells where the schema does
            if attribute.kind == "numeric" and _distinct_numbers(data, name) > self.most_values:
                raise DataError(
                    f"attribute '{name}' is numeric with more than {self.most_values} distinct values, so nearly "
                    "every combination is rare; recode it to intervals first"
                )
            policy = attribute.missing if self.suppressed == "as declared" else self.suppressed
            if policy == "wildcard" and attribute.missing != "refuse" and _has_codes(data, name):
                policy = attribute.missing  # a code that is a value must not agree with every other value
            if policy == "refuse":  # there are none yet; emptied cells could be anything
                policy = "wildcard"
            changed.append(attribute.changed(missing=policy))
        return replace(data, schema=data.schema.replacing(*changed))

    def _asked(self, data: Microdata) -> tuple[FloatArray, FloatArray]:
        """What each record counts for, and how much must agree with every one: records, and where asked persons."""
        k = self.k if self.risk is None or self.weighted else max(self.k, math.ceil(1.0 / self.risk - 1e-9))
        masses, targets = [data.counts.astype(np.float64)], [float(k)]
        if masses[0].sum() < k:
            raise TooFewRecordsError(len(data), k, f"suppress with at least {k} records for every combination")
        if self.weighted and self.risk is not None:
            if data.schema.weight is None:
                raise DataError("suppress is to weigh records, but the table has no attribute with the role weight")
            weights = weights_of(data, data.schema.weight)
            if weights.sum() < 1.0 / self.risk:
                raise DataError(f"all weights together are below {1.0 / self.risk:g}, so the risk cannot be reached")
            masses.append(weights)
            targets.append(1.0 / self.risk)
        return np.column_stack(masses), np.array(targets)

    def _cells_to_suppress(
        self, data: Microdata, attributes: tuple[str, ...], masses: FloatArray, targets: FloatArray, progress: Progress
    ) -> BoolArray:
        """Which cells are emptied, a row for each record and a column for each attribute."""
        from microveil.numerics.counting.nested_local_suppression import suppress_nested

        keys = self._keys(data, attributes, masses, Part(progress, 0.0, 0.1))
        return suppress_nested(keys, targets, Part(progress, 0.1, 1.0))

    def _keys(
        self, data: Microdata, attributes: tuple[str, ...], masses: FloatArray, progress: Progress = silent
    ) -> Keys:
        """The combinations of the keys, and what an empty cell is in each."""
        from microveil.numerics.counting.nested_local_suppression import Keys

        classes = equivalence_classes_of(data, attributes, progress)
        own = np.array([data[name].missing != "wildcard" for name in attributes])
        empty = np.array([_empty_code(data, name, classes, j) for j, name in enumerate(attributes)])
        alone, several = self.count == "original", data.counts > 1
        return Keys(classes.codes, classes.of_record, masses, self._costs(attributes), own, empty, alone, several)

    def _bound(self, keys: Keys, suppressed: BoolArray, targets: FloatArray) -> tuple[Note, ...]:
        """What is told of the bound; nothing where there is none, or none above 0."""
        from microveil.numerics.counting.suppression_bound import least_cost

        least = least_cost(keys, float(targets[0]))
        return () if least is None or least < 1e-3 else (self._least_cost(keys.cost(suppressed), least),)

    def _least_cost(self, cost: float, least: float) -> Note:
        """The cost of the emptied cells beside its bound; without importance that is a whole number of cells."""
        if self.importance is None:
            least = math.ceil(least - 1e-6)
        bound = min(cost, math.floor(1000 * least) / 1000)
        kind = FEWEST_CELLS if self.importance is None else LEAST_COST_OF_CELLS
        return kind(method=self.name, cost=cost, bound=bound, gap=100 * (1 - bound / cost))

    def _cells_for_all(
        self, data: Microdata, attributes: tuple[str, ...], listed: Iterable[Combination], progress: Progress
    ) -> BoolArray:
        """Which cells are emptied so that all listed combinations are frequent at once."""
        from microveil.numerics.counting.joint_suppression import Cells, Wanted, suppress_for_all

        used = _attributes_in(listed, attributes)
        classes = equivalence_classes_of(data, used, Part(progress, 0.0, 0.1))
        ones, wanted = np.ones(len(data)), []
        for asked in listed:
            masses = population_weights(data, f"'{asked}'") if asked.population else ones
            if masses.sum() < asked.at_least * (1.0 - 1e-9):
                raise DataError(f"'{asked}' cannot hold: all records together are {masses.sum():,.10g} {asked.unit}")
            for names in asked.sets(attributes):
                columns = np.array([used.index(name) for name in names], dtype=np.int64)
                wanted.append(Wanted(columns, masses, asked.at_least))
        own = np.array([data[name].missing != "wildcard" for name in used])
        empty = np.array([_empty_code(data, name, classes, j) for j, name in enumerate(used)])
        costs = self._costs(attributes)[[attributes.index(name) for name in used]]
        cells = Cells(classes.codes[classes.of_record], costs, own, empty)
        suppressed = np.zeros((len(data), len(attributes)), dtype=bool)
        place = [attributes.index(name) for name in used]
        suppressed[:, place] = suppress_for_all(cells, wanted, Part(progress, 0.1, 1.0))
        return suppressed

    def _costs(self, attributes: tuple[str, ...]) -> FloatArray:
        if self.importance is None:
            return np.ones(len(attributes))
        if len(self.importance) != len(attributes):
            raise ParameterError(
                f"suppress: importance has {count(len(self.importance), 'number')} for "
                f"{count(len(attributes), 'attribute')}; give one for each, in their order"
            )
        return np.array(self.importance, dtype=np.float64)

    def _check(self, released: Microdata, attributes: tuple[str, ...], targets: FloatArray) -> None:
        """Count what is reached; nothing is released that falls short."""
        required = {"k": float(targets[0])}
        if len(targets) > 1:
            required["population"] = max(1.0, float(targets[1]) * (1.0 - 1e-9))
        Guarantees.of(equivalence_classes_of(released, attributes), weighted=True).check(required)


def _attributes_in(listed: Iterable[Combination], attributes: Sequence[str]) -> tuple[str, ...]:
    """The attributes that combinations are about, in the order in which they are masked."""
    used = {name for asked in listed for names in asked.sets(attributes) for name in names}
    for name in sorted(used - set(attributes)):
        raise ParameterError(
            f"suppress: a combination names '{name}', which is not among the attributes to mask; add it to them, or "
            f"write combinations of these, such as {EXAMPLES}"
        )
    return tuple(name for name in attributes if name in used)


def _check_all(released: Microdata, attributes: Sequence[str], listed: Iterable[Combination]) -> None:
    """Count all combinations in what is to be released; nothing is that has a rare one."""
    counter = CombinationCounter(released, attributes)
    for asked in listed:
        found = counter.count(asked)
        if not found.holds:
            raise GuaranteeError(f"'{asked}' does not hold together with the other combinations: {found.sentence}")


def _shown_by_members(before: Microdata, after: Microdata, name: str, units: IntArray) -> BoolArray:
    """Cells that still show what was emptied in the record of another member of the same household."""
    emptied = (after.missing_states(name) == SYSTEM_MISSING) & (before.missing_states(name) != SYSTEM_MISSING)
    affected = np.zeros(int(units.max()) + 1, dtype=np.bool_)
    affected[units[emptied]] = True
    return np.asarray(affected[units] & ~emptied & (after.missing_states(name) != SYSTEM_MISSING))


def _cells_of(name: str, cells: BoolArray) -> Note:
    return CELLS_OF_ATTRIBUTE(attribute=name, cells=int(cells.sum()))


def _emptied(data: Microdata, name: str, cells: BoolArray) -> pa.Array:
    column = data.arrow(name)
    if not cells.any():
        return column
    if data[name].kind == "numeric":
        return data.number_column(name, data.numbers(name).values, cells)
    return pc.if_else(pa.array(cells), pa.scalar(None, column.type), column)


def _empty_code(data: Microdata, name: str, classes: EquivalenceClasses, column: int) -> int:
    """The code of an empty cell: that of the cells empty already, else one of its own."""
    empty = np.flatnonzero(data.missing_states(name) == SYSTEM_MISSING)
    if len(empty) and data[name].missing != "wildcard":
        return int(classes.codes[classes.of_record[empty[0]], column])
    return int(classes.codes[:, column].max(initial=-1)) + 1


def _has_codes(data: Microdata, name: str) -> bool:
    return bool((data.missing_states(name) >= FIRST_CODE).any())


def _distinct_numbers(data: Microdata, name: str) -> int:
    numbers = data.numbers(name)
    return len(np.unique(numbers.values[numbers.present]))


def _note(method: str, attributes: tuple[str, ...], suppressed: BoolArray) -> Note:
    cells = {name: int(column.sum()) for name, column in zip(attributes, suppressed.T, strict=True)}
    listed = tuple(CELLS_OF_ATTRIBUTE(attribute=name, cells=number) for name, number in cells.items() if number)
    if not listed:
        return NO_CELL_EMPTIED(method=method)
    hit = int(suppressed.any(axis=1).sum())
    return CELLS_EMPTIED(method=method, cells=sum(cells.values()), records=hit, attributes=listed)
