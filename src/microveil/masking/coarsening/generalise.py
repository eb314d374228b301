"""Full-domain generalisation: each key is published at one level of its hierarchy, the best that privacy allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError, GuaranteeError, ParameterError
from microveil.masking.base import Masked, Method, OfHouseholds
from microveil.masking.coarsening.attribute_levels import AttributeLevels, levels_of
from microveil.masking.coarsening.class_demands import (
    ClassModels,
    Confidential,
    Diversity,
    confidential_of,
    further_demands,
)
from microveil.masking.coarsening.coarse import Centre, Coarse, Publish, published
from microveil.masking.coarsening.utilities import Measure, utility_of
from microveil.masking.guarantees import guarantees_of
from microveil.masking.households import household_of
from microveil.masking.notes import (
    COUNTED_AGAIN,
    HIERARCHY_PROPOSED,
    HOUSEHOLDS_SUPPRESSED,
    LEVEL_OF_ATTRIBUTE,
    LEVELS_CHOSEN,
    OPTIMUM_NOT_PROVEN,
    OPTIMUM_PROVEN,
    Note,
)
from microveil.masking.partition import Partition
from microveil.masking.ranges import GROUP_SIZES, OneOf, Ranges, ranges
from microveil.microdata import Attribute, Microdata
from microveil.microdata.equivalence_classes import weights_of
from microveil.microdata.microdata import check_records, count
from microveil.microdata.schema import KINDS
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.lattice.checking import Demands, Solution, Utility, check
from microveil.numerics.lattice.classes import Records
from microveil.numerics.lattice.search import Outcome, search
from microveil.numerics.statistics.superpopulation import expected_uniques
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts, silent
from microveil.randomness import Streams
from microveil.typing import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-12
_OWN = ("own category", "not applicable")  # ways to treat missing cells as alike to their like only


@parameterised
class Generalise(Method):
    """Publishes each key at one level of its hierarchy, the same for all records, so that every equivalence class
    fulfils what is asked; records in classes that do not are suppressed, up to a share of all.

    Of all combinations of levels, the lattice, it finds the one that keeps most of the data and proves that there is no
    better one; a large lattice is searched until the `budget` is spent, and the release says how far from the best it
    can be at most. What is asked can be combined: k-anonymity, l-diversity, t-closeness, delta-disclosure privacy,
    beta-likeness, a least population (k-map, by sampling weights), an average risk, and a share of the population that
    is unique. All of it is counted again in the release before it is given out.

    Suppressed records stay in the file with empty keys. They are a class too, for whoever finds a person in no other
    class knows that the person is there: together they fulfil all that other classes do.

    With several `passes` the records that one pass suppresses are generalised again by themselves, at the levels that
    are best for them (local recoding), so that fewer are suppressed in the end.

    Where attributes are masked that the schema declares as ones of the household, households are suppressed as a whole
    and there is one pass: members then have the same released values of these, and k holds over the records.

    Attributes without a hierarchy get one that their values suggest; a note says which. Labels are published unless
    told otherwise; values at level 0 stay as they are.

    >>> from microveil.microdata import Hierarchy, Microdata
    >>> towns = Hierarchy.of([("Graz", "South", "*"), ("Leoben", "South", "*"), ("Linz", "North", "*")])
    >>> people = Microdata.of({"town": ["Graz", "Leoben", "Linz", "Linz"], "sex": ["f", "f", "m", "m"]})
    >>> people = people.with_schema(people.schema.replacing(people["town"].changed(hierarchy=towns)))
    >>> release = Generalise(k=2).mask(people)
    >>> release.frame["town"].to_pylist(), release.frame["sex"].to_pylist()
    (['South', 'South', 'North', 'North'], ['f', 'f', 'm', 'm'])
    """

    name: ClassVar[str] = "generalise"
    family: ClassVar[str] = "coarsening"
    suppresses: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    random: ClassVar[bool] = False
    of_households: ClassVar[OfHouseholds] = "itself"
    summary: ClassVar[str] = (
        "full-domain generalisation: the levels of all hierarchies that keep most, proven, under k-anonymity, "
        "l-diversity, t-closeness and others"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "missing cells and missing codes are values of their own at every level, also where the schema says wildcard, "
        "which is stricter; those of suppressed records are emptied, and then missing is a category of its own in the "
        "release"
    )
    weights: ClassVar[str] = (
        "with `population`, the sampling weights of every class add up to at least that; t, delta and beta compare "
        "weighted distributions; weights are not changed"
    )
    source: ClassVar[str] = (
        "Samarati (2001); LeFevre, DeWitt and Ramakrishnan (2005); El Emam et al. (2009); Iyengar (2002)"
    )
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES, suppression=OneOf((1.0, 0.2, 0.05)))
    quick: ClassVar = {"k": 2, "suppression": 1.0, "publish": "representative", "budget": 60}

    k: int = parameter(default=5, help="fewest records in every equivalence class", ge=1, le=MOST_RECORDS)
    suppression: float = parameter(default=1.0, help="largest share of the records that is suppressed", ge=0, le=1)
    utility: Measure = parameter(
        default="loss",
        help="what the release is to keep: the mean granularity of cells (loss), the same with more weight on "
        "attributes with many values (granularity), the height of cells in the hierarchy (precision), their "
        "information (entropy), records told apart (discernibility), or many classes (class size)",
    )
    l: float | None = parameter(  # noqa: E741
        default=None, help="least diversity of every confidential attribute in every class", ge=1, le=MOST_RECORDS
    )
    diversity: Diversity = parameter(
        default="distinct",
        help="what l counts: distinct values, the number of equally frequent values with the same entropy, or the l of "
        "recursive (c, l)-diversity",
    )
    c: float = parameter(default=3.0, help="c of recursive (c, l)-diversity", gt=0, le=MOST_RECORDS)
    t: float | None = parameter(
        default=None,
        help="largest distance between the distribution of a confidential attribute in a class and in the table; of "
        "ordered attributes by the steps between values",
        ge=0,
        le=1,
    )
    delta: float | None = parameter(
        default=None,
        help="delta-disclosure privacy: largest absolute logarithm of the share of a confidential value in a class "
        "over that in the table",
        gt=0,
        le=MOST_RECORDS,
    )
    beta: float | None = parameter(
        default=None,
        help="beta-likeness: how much larger the share of a confidential value in a class may be, relative to that in "
        "the table",
        gt=0,
        le=MOST_RECORDS,
    )
    population: float | None = parameter(
        default=None,
        help="k-map: fewest units of the population in every class, as estimated by the sampling weights",
        ge=1,
        le=MOST_RECORDS,
    )
    average_risk: float = parameter(
        default=1.0, help="largest mean over the records of one over the size of their class", gt=0, le=1
    )
    uniques: float | None = parameter(
        default=None,
        help="largest share of the units of the population that are unique in it by the released keys, as a model "
        "expects; it asks for nothing more where k is above 1",
        ge=0,
        le=1,
    )
    uniques_model: Literal["dankar", "pitman", "zayatz", "snb"] = parameter(
        default="dankar",
        help="model of population uniques: chosen by Dankar's rule, Pitman's, Zayatz's, or slide negative binomial",
    )
    population_size: int | None = parameter(
        default=None,
        help="units in the population, for `uniques`; unset: the sum of the sampling weights, or without weights the "
        "number of records",
        ge=1,
        le=10_000_000_000,
    )
    budget: int = parameter(
        default=4000,
        help="how many groupings of the records the search may make, those that change a single attribute counting as "
        "a tenth; with more it is nearer to the best",
        ge=1,
        le=MOST_RECORDS,
    )
    passes: int = parameter(
        default=1, help="how often records still suppressed are generalised again by themselves", ge=1, le=100
    )
    publish: Publish = parameter(
        default="label", help="what is published for generalised values: a label, or one of them (representative)"
    )
    centre: Centre = parameter(default="mean", help="which number represents an interval")

    def __post_init__(self) -> None:
        if self.passes > 1 and self.publish != "label":
            raise ParameterError(
                f"generalise: passes = {self.passes} is not allowed with publish = '{self.publish}'; records at "
                "several levels can be published as labels only"
            )
        if self.passes > 1 and self.uniques is not None:
            raise ParameterError(
                f"generalise: passes = {self.passes} is not allowed with uniques; the share of unique units is one of "
                "the whole release, which a pass over some of the records cannot know"
            )

    @property
    def models(self) -> ClassModels:
        """What every class has to fulfil."""
        return ClassModels(
            self.k, self.population, self.l, self.diversity, self.c, self.t, self.delta, self.beta
        )  # fmt: skip

    @property
    def reads_confidential(self) -> bool:
        return self.models.needs_confidential

    def solutions(self, data: Microdata, attributes: tuple[str, ...], progress: Progress = silent) -> Outcome:
        """The nodes of the lattice that the search checks, the best first, without making a release."""
        problem = _Problem.of(self, data, attributes)
        everyone = np.arange(len(data))
        records, row = problem.records(everyone)
        return search(records, problem.utility(), problem.demands(everyone, row), self.budget, progress)

    def at(self, data: Microdata, attributes: tuple[str, ...], levels: tuple[int, ...]) -> Solution:
        """What a release at these levels would keep and suppress, without making it."""
        problem = _Problem.of(self, data, attributes)
        highest = [attribute.levels for attribute in problem.attributes]
        if len(levels) != len(highest) or not all(0 <= level < top for level, top in zip(levels, highest, strict=True)):
            raise ParameterError(
                f"{self.name}: levels must have one number for each of {', '.join(attributes)}, from 0 to "
                f"{', '.join(str(top - 1) for top in highest)} at most"
            )
        everyone = np.arange(len(data))
        records, row = problem.records(everyone)
        return check(records, problem.utility(), problem.demands(everyone, row), tuple(levels)).solution

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, self.k, f"{self.name} with k = {self.k}")
        shared = tuple(name for name in attributes if data[name].level == "household")
        household = household_of(data) if shared else None
        problem = _Problem.of(self, data, attributes)
        progress(0.05, f"{self.name}: levels read")
        passes = self.passes if household is None else 1
        levels, labels, notes = problem.solved(passes, Part(progress, 0.05, 0.9))
        if household is not None:
            labels, told = self._by_households(labels, household, shared)
            notes += told
        columns, changed = _published(data, problem.attributes, levels, labels < 0, self.publish, self.centre)
        counted = self._check(data.with_columns(columns, changed), attributes, problem.total)
        partition = Partition.of(labels)
        return Masked(columns, {attributes: partition}, notes=(*notes, *counted), attributes=tuple(changed))

    def _by_households(
        self, labels: IntArray, household: IntArray, shared: tuple[str, ...]
    ) -> tuple[IntArray, tuple[Note, ...]]:
        """The classes after all members of a household with a suppressed one are suppressed, and what that makes rare
        in turn; further conditions on classes are counted at the end."""
        before, labels = int((labels < 0).sum()), labels.copy()
        while True:
            labels[np.isin(household, household[labels < 0])] = -1
            classes, position, sizes = np.unique(labels, return_inverse=True, return_counts=True)
            rare = (sizes < self.k) & (classes >= 0)
            if not rare.any() and 0 < (labels < 0).sum() < self.k and (classes >= 0).any():
                rare = (classes >= 0) & (sizes == sizes[classes >= 0].min())  # those suppressed are a class, too
            if not rare.any():
                break
            labels[rare[position.reshape(-1)]] = -1
        suppressed = int((labels < 0).sum())
        if suppressed > self.suppression * len(labels) * (1 + 1e-12):
            raise DataError(
                f"{self.name} would have to suppress {count(suppressed, 'record')} to suppress whole households, which "
                f"is more than {self.suppression:g} of all; allow more suppression, or ask for less"
            )
        more = suppressed - before
        return labels, (HOUSEHOLDS_SUPPRESSED(method=self.name, records=more, attributes=shared),) if more else ()

    def _check(self, released: Microdata, attributes: tuple[str, ...], total: float) -> list[Note]:
        """Count what is reached, with suppressed records as a class; nothing is released that falls short."""
        own = [released[name].changed(missing="own category") for name in attributes]
        counted = replace(released, schema=released.schema.replacing(*own))
        confidential = None if self.models.needs_confidential else ()
        found = guarantees_of(counted, attributes, confidential, c=self.c)
        required = dict(self.models.required)
        if self.average_risk < 1.0:
            required["average-risk"] = self.average_risk
        found.check(required)
        names = {"delta": "delta", "beta": "beta", "average-risk": "average risk"}
        notes = [
            COUNTED_AGAIN(method=self.name, what=what, reached=found.value(name), wanted=required[name])
            for name, what in names.items()
            if name in required
        ]
        if self.uniques is not None:
            share = _uniques_share(self.uniques_model, found.members, total)
            if share > self.uniques + _ROUNDING:
                raise GuaranteeError(
                    f"{self.name}: {share:g} of the population is expected to be unique by the released keys, and at "
                    f"most {self.uniques:g} was asked for; ask for k = 2, or for less"
                )
            what = "share of unique units in the population"
            notes.append(COUNTED_AGAIN(method=self.name, what=what, reached=share, wanted=self.uniques))
        return notes


@dataclass(frozen=True)
class _Problem:
    """The records and what is asked of their classes, as the search takes them."""

    method: Generalise
    data: Microdata
    attributes: tuple[AttributeLevels, ...]
    confidential: tuple[Confidential, ...]

    @classmethod
    def of(cls, method: Generalise, data: Microdata, attributes: tuple[str, ...]) -> _Problem:
        confidential = confidential_of(data, attributes, method.models)
        return cls(method, data, tuple(levels_of(data, name) for name in attributes), confidential)

    def records(self, members: IntArray) -> tuple[Records, IntArray]:
        """The distinct ones among some records, and which of them each is."""
        columns = [attribute.codes[members] for attribute in self.attributes]
        row, first = number_rows(columns, [attribute.table.shape[1] for attribute in self.attributes])
        amounts = [np.bincount(row, minlength=len(first)).astype(np.float64)]
        if self.method.population is not None:
            population = np.bincount(row, weights=self._weights()[members], minlength=len(first))
            amounts.append(population.astype(np.float64))
        held = [one.bits(row, len(first)) for one in self._of(members)] if self.method.l is not None else []
        words = np.hstack(held) if held else np.empty((len(first), 0), dtype=np.uint64)
        codes = np.column_stack([column[first] for column in columns]).astype(np.int64)
        tables = tuple(attribute.table for attribute in self.attributes)
        return Records(codes, tables, np.column_stack(amounts), words), row

    def _of(self, members: IntArray) -> list[Confidential]:
        return [
            Confidential(one.values[members], one.counted[members], one.weights[members], one.whole, one.ordered)
            for one in self.confidential
        ]

    def _weights(self) -> FloatArray:
        weight = self.data.schema.weight
        if weight is None:
            raise DataError("population counts sampling weights, but the table has no attribute with the role weight")
        return weights_of(self.data, weight)

    @property
    def total(self) -> float:
        """The number of units of the population, never less than that of the records."""
        units = float(self.method.population_size or 0)
        if self.method.population_size is None and self.data.schema.weight is not None:
            units = float(self._weights().sum())
        return max(units, float(len(self.data)))

    def _of_sizes(self) -> Callable[[IntArray], bool] | None:
        most, model, total = self.method.uniques, self.method.uniques_model, self.total
        if most is None:
            return None
        return lambda sizes: _uniques_share(model, sizes, total) <= most + _ROUNDING

    def demands(self, members: IntArray, row: IntArray) -> Demands:
        """What the classes of some records have to fulfil."""
        method = self.method
        least = [float(method.k), *([] if method.population is None else [method.population])]
        asked = [] if method.l is None else [int(np.ceil(method.l - 1e-9))] * len(self.confidential)
        words = [one.words for one in self._of(members)] if asked else []
        of_word = np.repeat(np.arange(len(words)), words).astype(np.int64)
        return Demands(
            np.array(least),
            np.array(asked, dtype=np.int64),
            of_word,
            further_demands(method.models, self.confidential, row, members),
            method.average_risk,
            method.suppression,
            self._of_sizes(),
        )

    def utility(self) -> Utility:
        """What records keep, as a share of what all have."""
        return utility_of(self.attributes, self.method.utility, len(self.data), self.method.k)

    def solved(self, passes: int, progress: Progress) -> tuple[IntArray, IntArray, tuple[Note, ...]]:
        """The levels of each record, the class of each record (-1 if suppressed), and what there is to say."""
        n, d = len(self.data), len(self.attributes)
        levels, labels = np.zeros((n, d), dtype=np.int64), np.full(n, -1, dtype=np.int64)
        members, notes = np.arange(n), list[Note]()
        for number, part in enumerate(parts(progress, passes)):
            records, row = self.records(members)
            utility, demands = self.utility(), self.demands(members, row)
            outcome = search(records, utility, demands, self.method.budget, part)
            best = outcome.best
            if best is None or (number and not best.classes):
                if number:
                    break
                raise DataError(
                    f"no level of the hierarchies fulfils what is asked with at most "
                    f"{self.method.suppression:g} of the records suppressed; allow more suppression, or ask for less"
                )
            found = check(records, utility, demands, best.levels).labels[row]
            levels[members] = best.levels
            labels[members] = np.where(found < 0, -1, found + labels.max() + 1)
            notes += self._notes(outcome, number)
            members = members[found < 0]
            if not len(members):
                break
        return levels, labels, (*notes, *self._proposals())

    def _notes(self, outcome: Outcome, number: int) -> list[Note]:
        best = outcome.best
        assert best is not None
        name = self.method.name
        chosen = tuple(
            LEVEL_OF_ATTRIBUTE(attribute=attribute.name, level=level, highest=attribute.levels - 1)
            for attribute, level in zip(self.attributes, best.levels, strict=True)
        )
        made = LEVELS_CHOSEN(
            method=name, levels=chosen, measure=self.method.utility, utility=best.utility, classes=best.classes,
            records=best.suppressed, number=number and number + 1,
        )  # fmt: skip
        if outcome.proven:
            return [made, OPTIMUM_PROVEN(method=name, checked=outcome.checked)]
        return [made, OPTIMUM_NOT_PROVEN(method=name, checked=outcome.checked, bound=outcome.bound)]

    def _proposals(self) -> tuple[Note, ...]:
        names = tuple(attribute.name for attribute in self.attributes if attribute.proposed)
        return (HIERARCHY_PROPOSED(method=self.method.name, attributes=names),) if names else ()


def _uniques_share(model: str, sizes: IntArray, total: float) -> float:
    """The share of the units of the population that a model expects to be unique, from the sizes of all classes."""
    if not (sizes == 1).any():
        return 0.0
    return min(1.0, expected_uniques(model, sizes, total).population / total)


def _published(
    data: Microdata,
    attributes: tuple[AttributeLevels, ...],
    levels: IntArray,
    suppressed: BoolArray,
    publish: Publish,
    centre: Centre,
) -> tuple[dict[str, pa.Array], list[Attribute]]:
    """The released columns, and the descriptions of attributes that changed."""
    columns, changed = {}, list[Attribute]()
    for j, attribute in enumerate(attributes):
        name, of_record = attribute.name, levels[:, j]
        described: Attribute | None = None
        if not of_record[~suppressed].any():
            column = data.arrow(name)
        else:
            coarse = _coarse(attribute, of_record)
            if publish == "representative":
                coarse = Coarse(np.where(suppressed, -1, coarse.indices), coarse.labels, coarse.ends)
            column, described = published(data, name, coarse, publish, centre)
        if suppressed.any():
            column = pc.if_else(pa.array(suppressed), pa.scalar(None, column.type), column)
            if data[name].missing not in _OWN:  # a suppressed record is alike only to those suppressed with it
                described = (described or data[name]).changed(missing="own category")
        columns[name] = column
        changed += [] if described is None else [described]
    return columns, changed


def _coarse(attribute: AttributeLevels, levels: IntArray) -> Coarse:
    """The values of the records at their levels; where these differ, with the labels of all levels that occur."""
    used = np.unique(levels)
    if len(used) == 1:
        return attribute.coarse(int(used[0]))
    label: dict[str, int] = {}
    indices = np.full(len(levels), -1, dtype=np.int64)
    for level in used:
        at = attribute.coarse(int(level))
        position = np.array([label.setdefault(text, len(label)) for text in at.labels] + [-1])
        rows = levels == level
        indices[rows] = position[at.indices[rows]]
    return Coarse(indices, tuple(label))
