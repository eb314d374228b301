"""Profiles of nodes made k-anonymous: nodes with similar profiles publish one, and their links stay as they are."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import ParameterError
from microveil.graphs.methods.profile_columns import RankedList, is_place, profiles_of, ranked_lists
from microveil.masking.base import Masked, Method
from microveil.masking.coarsening.axes import axis_of
from microveil.masking.notes import NO_PLACE_IN_COMMON, Note
from microveil.masking.partition import Partition
from microveil.masking.preparation.missing_patterns import rows_by_pattern
from microveil.masking.publishing.aggregate import aggregate_columns
from microveil.masking.publishing.publishing import cells_not_published
from microveil.masking.publishing.span import label_column
from microveil.masking.ranges import GROUP_SIZES, OneOf, Ranges, ranges
from microveil.microdata import Attribute, Hierarchy, Microdata
from microveil.microdata.microdata import as_categories, check_records
from microveil.microdata.schema import KINDS, category_key
from microveil.numerics.grouping.groups import joined_labels, lower_medians_by_group
from microveil.numerics.grouping.profiles import Profiles
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import IntArray


@parameterised
class GraphProfiles(Method):
    """Nodes are put into groups of at least k with similar profiles, and every node publishes the profile of its group:
    the closest place that holds all of their places, the topics with the highest Borda counts, the mode of other
    categories, the median of ordered ones, the mean of numbers. Nobody's links change, and so do neither degrees nor
    paths nor clusters. Tables without links can be masked so, too.

    The distance of two profiles is the mean over the attributes: of places the difference of their levels where one
    holds the other, else 1; 0 or 1 for other categories, and for the topics of each rank; the categories between two
    ordered ones; differences of numbers over their range.

    Groups are found by k-member clustering as it is printed, around nodes drawn at random, or `refined`: around nodes
    far from each other, with exchanges between groups until all profiles together are as near as can be to what is
    published, which loses about a third less.

    What an intruder can do: profiles alone tell at most a group of k. The links tell more: who knows how many friends
    somebody has, or who they are, may find the node by them. Combine it with a method that changes links, such as
    k-degree, and assess the graph.

    >>> from microveil.microdata import Microdata
    >>> jobs = ["cook", "cook", "nurse", "smith", "smith", "smith"]
    >>> people = Microdata.of({"age": [20, 24, 22, 41, 45, 43], "job": jobs}, keys=["age", "job"])
    >>> GraphProfiles(k=3).mask(people, seed=1).frame.to_pydict()
    {'age': [22.0, 22.0, 22.0, 43.0, 43.0, 43.0], 'job': ['cook', 'cook', 'cook', 'smith', 'smith', 'smith']}
    """

    name: ClassVar[str] = "graph-profiles"
    family: ClassVar[str] = "coarsening"
    joint: ClassVar[bool] = True
    suppresses: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "nodes of a graph with similar profiles publish one: common places, Borda-ranked topics, modes and means; "
        "links stay"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; nodes with the same pattern of missing cells are "
        "grouped together, rare patterns are pooled, and a value is suppressed where fewer than k members of its "
        "group have one. In ranked lists a missing topic gets no points, and lists may become longer or shorter"
    )
    weights: ClassVar[str] = "sampling weights are not used: k counts records; they are released as they are"
    source: ClassVar[str] = "Marés (2013), section 6.2.1, Algorithms 13 and 14"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES, topics=OneOf(("borda", "mode-distinct")))

    k: int = parameter(default=3, help="smallest size of a group", ge=2, le=MOST_RECORDS)
    partition: Literal["refined", "k-member"] = parameter(
        default="refined",
        help="refined: groups around nodes far apart, then exchanges that lower the loss; k-member: around random "
        "nodes, with one group for what is left, as it is printed",
    )
    topics: Literal["borda", "mode-distinct", "mode"] = parameter(
        default="borda",
        help="what a group publishes of a ranked list: the topics with the highest Borda counts; the most frequent of "
        "each rank that no higher rank has; or the most frequent of each rank, also twice",
    )
    ranked: tuple[str, ...] = parameter(
        default=(),
        help="the attributes of a ranked list, the first choice first; default: nominal ones that are numbered from 1 "
        "and have categories in common, such as topic1, topic2, topic3",
    )
    place_weight: float = parameter(
        default=1.0, help="how much a place counts in distances, where every other attribute counts 1", ge=0, le=1000
    )
    numbers: Literal["mean", "lower-median"] = parameter(
        default="mean", help="what a group publishes of numbers: their mean, or the lower one of their medians"
    )
    strict: bool = parameter(
        default=False,
        help="with k-member: distances by the equation as it is printed, where a place is near another only if that "
        "one holds it",
    )

    @classmethod
    def suits(cls, data: Microdata, name: str) -> bool:
        """In a search, nodes of graphs: for other tables there are quicker methods of its kind."""
        return super().suits(data, name) and data.edges is not None and name != data.schema.node

    def __post_init__(self) -> None:
        if self.strict and self.partition != "k-member":
            raise ParameterError(f"{self.name}: strict = True is allowed with partition = 'k-member' only")
        if self.ranked and self.topics == "mode":
            raise ParameterError(f"{self.name}: ranked has no use with topics = 'mode', which takes ranks one by one")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        check_records(data, self.k, f"{self.name} with k = {self.k}")
        lists = [] if self.topics == "mode" else ranked_lists(data, attributes, self.ranked, self.name)
        profiles = profiles_of(
            data,
            attributes,
            lists,
            borda=self.topics == "borda",
            place_weight=self.place_weight,
            medians=self.numbers == "lower-median",
        )
        listed = {name for one in lists for name in one.names}
        single = [name for name in attributes if name not in listed]
        rows = self._rows(data, single)
        partition = self._groups(profiles, rows, streams.generator("groups", *attributes), progress)
        columns, described, notes = self._published(data, single, partition)
        for one in lists:
            notes.append(one.note)
        columns |= self._published_lists(data, lists, profiles, partition, described)
        return Masked(
            {name: columns[name] for name in attributes},
            {attributes: partition},
            notes=tuple(notes),
            attributes=tuple(described),
        )

    def _rows(self, data: Microdata, single: list[str]) -> list[IntArray]:
        """The parts of the file whose records have the same cells missing."""
        if not single:
            return [np.arange(len(data))]
        states = np.column_stack([data.missing_states(name) for name in single])
        return rows_by_pattern(states, self.k, np.array([data[name].missing != "wildcard" for name in single]))

    def _groups(
        self, profiles: Profiles, rows: list[IntArray], rng: np.random.Generator, progress: Progress
    ) -> Partition:
        from microveil.numerics.grouping.k_member import k_member, refined_k_member

        label = f"{self.name}: grouping nodes"
        made = []
        for part, stretch in zip(rows, parts(Part(progress, 0.0, 0.9), len(rows)), strict=True):
            chosen = profiles.take(part)
            if self.partition == "refined":
                made.append(refined_k_member(chosen, self.k, rng, stretch, label))
            else:
                made.append(k_member(chosen, self.k, rng, stretch, label, strict=self.strict))
        return Partition.of(joined_labels(rows, made))

    def _published(
        self, data: Microdata, single: list[str], partition: Partition
    ) -> tuple[dict[str, pa.Array], list[Attribute], list[Note]]:
        """The columns of attributes that are no ranked lists."""
        suppressed, emptied = cells_not_published(data, single, partition, self.k)
        others = {name: cells for name, cells in suppressed.items() if not is_place(data, name)}
        columns = aggregate_columns(data, partition, others, "mean")
        if self.numbers == "lower-median":
            for name in others:
                if data[name].kind == "numeric":
                    middle = lower_medians_by_group(data.numbers(name).values, partition.labels)
                    columns[name] = data.number_column(name, middle, suppressed[name])
        described: list[Attribute] = []
        notes = list(emptied.notes)
        for name in single:
            if name in others:
                continue
            columns[name], after = label_column(data, axis_of(data, name), partition, suppressed[name], as_set=False)
            described.append(after)
            hierarchy = data[name].hierarchy
            assert isinstance(hierarchy, Hierarchy)
            coarsest = pa.array(hierarchy.categories(hierarchy.levels - 1), columns[name].type)
            nowhere = pc.sum(pc.is_in(columns[name], value_set=coarsest)).as_py() or 0
            if nowhere:
                notes.append(NO_PLACE_IN_COMMON(attribute=name, records=nowhere))
        return columns, described, notes

    def _published_lists(
        self,
        data: Microdata,
        lists: list[RankedList],
        profiles: Profiles,
        partition: Partition,
        described: list[Attribute],
    ) -> dict[str, pa.Array]:
        """The columns of ranked lists; an attribute whose domain lacks what it publishes is described anew."""
        from microveil.numerics.grouping.profiles import common_profiles

        if not lists:
            return {}
        common = common_profiles(profiles, partition.labels).ranked
        columns: dict[str, pa.Array] = {}
        row = start = 0
        for one in lists:
            for name in one.names:
                codes = common[row]
                chosen = np.where(codes < 0, len(one.topics), codes - start)[partition.labels]
                before = as_categories(data.arrow(name))
                made = pa.array([*one.topics, None]).take(pa.array(chosen))
                columns[name] = made if made.type == before.type else made.cast(before.type)
                domain = data[name].domain
                if domain is not None:
                    held = {category_key(topic) for topic in domain}
                    new = [one.topics[code] for code in np.unique(chosen) if code < len(one.topics)]
                    more = [topic for topic in new if category_key(topic) not in held]
                    if more:
                        described.append(data[name].changed(domain=(*domain, *more), hierarchy=None))
                row += 1
            start += len(one.topics)
        return columns
