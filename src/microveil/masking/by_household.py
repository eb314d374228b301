"""A method applied to households in the place of persons, so that all members of a household are changed alike."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

from microveil.errors import ParameterError
from microveil.masking.base import Masked, Method, MethodBesideOriginal, OfHouseholds, Tables
from microveil.masking.household_attributes import PersonStreams, joined, of_households
from microveil.masking.households import BY_HOUSEHOLD, household_of, shared_attributes
from microveil.masking.microaggregation.mdav_generic import MDAVGeneric
from microveil.masking.notes import NO_HOUSEHOLD, NO_SHARED_ATTRIBUTE
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import Streams


@parameterised
class ByHousehold(MethodBesideOriginal):
    """Masks what the members of a household share once for each household, and the rest record by record.

    An attribute such as region, tenure or household income is the same for all members. Masked person by person it
    comes out differently for them, and whoever sees two members sees that something was changed, or reads the value
    emptied in one record from the other. This method masks such attributes on the table of households, one record
    each, with the first member's sampling weight, and gives every member what became of the household. The attributes
    in which members differ are masked by the same method on the table of persons. The groups of k are then groups of k
    households, and those of the other attributes are groups of k persons.

    Which attributes are shared is counted in the table, beside those that the schema declares as ones of the household:
    those in which all households agree, or more than half of the households that would not agree by chance. Where
    members differ in one of them, those with the same values are masked as one household, the others as another, which
    counts as two towards k; the release shows that they differ, and the notes say in how many households. A record
    without a household number is a household of its own.

    In plans the method is a table, `method = { name = "mdav", k = 5 }`; on the command line
    `--set method="mdav k=5"`.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> from microveil.microdata import Microdata
    >>> homes = {"home": [1, 1, 2, 2, 2, 3, 4], "rent": [500, 500, 520, 520, 520, 900, 940]}
    >>> people = Microdata.of(homes, household="home", keys=["rent"])
    >>> ByHousehold(method=MDAV(k=2)).mask(people, seed=1).frame["rent"].to_pylist()
    [510.0, 510.0, 510.0, 510.0, 510.0, 920.0, 920.0]
    """

    name: ClassVar[str] = BY_HOUSEHOLD
    family: ClassVar[str] = "combining"
    suppresses: ClassVar[bool] = True
    summary: ClassVar[str] = "applies a method to households, so that what all members share is masked alike"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "as the method inside treats them; members who all lack a value share that they do"
    weights: ClassVar[str] = "a household has its first member's; otherwise as the method inside treats them"
    source: ClassVar[str] = (
        "Templ, Kowarik and Meindl (2015): household variables are anonymised on a file of households and merged"
    )
    random: ClassVar[bool] = False
    joint: ClassVar[bool] = True
    of_households: ClassVar[OfHouseholds] = "itself"
    quick: ClassVar[MappingProxyType[str, Any]] = MappingProxyType({})

    method: Method = parameter(default=MDAVGeneric(), help="the method that masks households and persons")

    @property
    def takes(self) -> tuple[str, ...]:
        return self.method.takes

    @property
    def draws(self) -> bool:
        return self.method.draws

    def _mask_beside(self, tables: Tables, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        data = tables.data
        household = household_of(data)
        shared = shared_attributes(data, attributes)
        own = tuple(name for name in attributes if name not in shared)
        if household is None or not shared:
            why = NO_HOUSEHOLD() if household is None else NO_SHARED_ATTRIBUTE(attributes=attributes)
            masked = self.method._mask_beside(tables, attributes, streams, progress)
            return replace(masked, notes=(why, *masked.notes))
        made = [of_households(self.method, tables, household, shared, streams, Part(progress, 0.0, 0.5))]
        if own:
            persons = PersonStreams(streams.seed, streams.step)
            made.append(self.method._mask_beside(tables, own, persons, Part(progress, 0.5, 1.0)))
        if any(masked.rows is not None for masked in made):
            raise ParameterError(
                f"{self.name}: method = '{self.method.name}' is not allowed; it releases only some of the records"
            )
        return joined(made)
