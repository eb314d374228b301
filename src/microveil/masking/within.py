"""A method applied inside parts of the file: clusters of similar records, or strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import ParameterError, TooFewRecordsError
from microveil.masking.base import Masked, Method, MethodBesideOriginal, Tables
from microveil.masking.microaggregation.mdav_generic import MDAVGeneric
from microveil.masking.notes import CLUSTERS, FEWER_CLUSTERS, LABELS_LEFT_OUT, MATRICES_OF_PARTS, Note, merged
from microveil.masking.partition import Partition
from microveil.masking.preparation import strata_of
from microveil.masking.randomising.matrices import JOINT
from microveil.microdata import Attribute, Microdata
from microveil.microdata.distances import ORDINAL_DISTANCES, OrdinalDistance
from microveil.microdata.microdata import check_records
from microveil.microdata.mixed import mixed_columns
from microveil.microdata.schema import KINDS, Category, category_key
from microveil.numerics.clustering.c_medians import Merge
from microveil.numerics.grouping.groups import joined_labels
from microveil.numerics.neighbours.mixed_distance import MEDIAN
from microveil.parameters import MOST_RECORDS, Parameterised, component_parameters, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray


@parameterised
class Within(MethodBesideOriginal):
    """Divide the file into clusters of similar records, or into its strata, and mask each part by itself.

    Clusters are those of c-medians over the attributes that are masked: records join the nearest centre, which has the
    median of ordered values and the most frequent of others, until none changes; the best of several runs counts, each
    from dissimilar first centres of its own (in files of more than 20,000 distinct records, on so many drawn at
    random). Clusters too small for the method are merged. With one cluster the method masks the whole file as it would
    alone, if it draws nothing: what is random is drawn anew.

    Masking similar records together costs less while there are far fewer clusters than groups; with many, the merging
    of small ones costs more than the clusters save. What the method promises of its groups holds in every part, so k
    records still share every combination.

    In plans the method is a table, `method = { name = "mdav", k = 5 }`; on the command line
    `--set method="mdav k=5"`.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 21, 22, 41, 43, 45]})
    >>> Within(method=MDAV(k=3), clusters=2).mask(people, seed=1).frame["age"].to_pylist()
    [21.0, 21.0, 21.0, 43.0, 43.0, 43.0]
    """

    name: ClassVar[str] = "within"
    family: ClassVar[str] = "combining"
    suppresses: ClassVar[bool] = True
    summary: ClassVar[str] = "applies a method inside clusters of similar records, or inside strata"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "as the method inside treats them; for clusters a missing cell counts as the middle of the others, and records "
        "in which different cells are missing are further apart; where missing is no wildcard, missing cells that are "
        "rare in a part may still tell its records apart"
    )
    weights: ClassVar[str] = "not used to make clusters; otherwise as the method inside treats them"
    source: ClassVar[str] = "Marés and Torra (2012); Marés (2013), sections 5.1 to 5.3, Algorithms 9 to 11"
    quick: ClassVar[MappingProxyType[str, Any]] = MappingProxyType({"starts": 1})

    method: Method = parameter(default=MDAVGeneric(), help="the method that masks each part")
    by: Literal["clusters", "strata"] = parameter(default="clusters", help="what the parts are")
    clusters: int = parameter(
        default=10, help="initial number of clusters, before small ones are merged", ge=1, le=1_000_000
    )
    starts: int = parameter(
        default=20, help="number of runs of the clustering, of which the best is taken", ge=1, le=10_000
    )
    smallest: int | None = parameter(
        default=None,
        help="fewest records in a cluster; unset: the k of the method or of one inside it, else 2",
        ge=1,
        le=MOST_RECORDS,
    )
    merge: Merge = parameter(
        default="two-smallest",
        help="what becomes of smaller clusters: the two smallest are merged, or the smallest joins the nearest",
    )
    centre: Literal["median", "least"] = parameter(
        default="median",
        help="centre of a cluster of ordered values: their median, or the value of least total distance",
    )
    ordinal_distance: OrdinalDistance = parameter(default="inclusive", help=f"clusters: {ORDINAL_DISTANCES}")

    @property
    def takes(self) -> tuple[str, ...]:
        return self.method.takes

    @property
    def is_joint(self) -> bool:
        return self.by == "clusters" or self.method.is_joint

    def _mask_beside(self, tables: Tables, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        data = _with_domains(tables.data, attributes)
        tables = Tables(data, tables.original)
        rows_of_parts, notes = self._parts(data, attributes, streams, Part(progress, 0.0, 0.3))
        made = []
        for number, (rows, part) in enumerate(
            zip(rows_of_parts, parts(Part(progress, 0.3, 1.0), len(rows_of_parts)), strict=True)
        ):
            own = streams if len(rows_of_parts) == 1 else _PartStreams(streams.seed, streams.step, number)
            try:
                made.append(self.method._mask_beside(tables.take(rows), attributes, own, part))
            except TooFewRecordsError as problem:
                if len(rows_of_parts) == 1:
                    raise
                raise TooFewRecordsError(problem.records, problem.at_least, problem.why, where="a part") from None
        return _together(data, made, rows_of_parts, notes)

    def _parts(
        self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress
    ) -> tuple[list[IntArray], tuple[Note, ...]]:
        smallest: int = self.smallest if self.smallest is not None else max(_sizes(self.method), default=2)
        check_records(data, smallest, f"{self.name} with parts of {smallest}")
        if self.by == "clusters":
            return self._clusters(data, attributes, smallest, streams, progress)
        if not data.schema.having("stratum"):
            raise ParameterError(f"{self.name}: by = 'strata' is not allowed; no attribute has the role stratum")
        return strata_of(data, smallest), ()

    def _clusters(
        self, data: Microdata, attributes: tuple[str, ...], smallest: int, streams: Streams, progress: Progress
    ) -> tuple[list[IntArray], tuple[Note, ...]]:
        from microveil.numerics.clustering.c_medians import c_medians, merge_small

        columns, axes = mixed_columns(data, attributes, self.ordinal_distance, numeric_centre=MEDIAN)
        found = c_medians(
            columns,
            axes,
            self.clusters,
            self.starts,
            streams.generator("clusters"),
            progress,
            f"{self.name}: clusters",
            least=self.centre == "least",
        )
        together = Partition.of(merge_small(columns, axes, found.labels, smallest, self.merge))
        notes = [CLUSTERS(clusters=len(together), smallest=together.smallest)]
        if len(found.centres) < self.clusters:
            notes.append(FEWER_CLUSTERS(clusters=len(found.centres), asked=self.clusters))
        return together.groups, tuple(notes)


@dataclass(frozen=True)
class _PartStreams(Streams):
    """The random streams of one part of the file, other than those of every other part."""

    part: int = 0

    def generator(self, *labels: str) -> np.random.Generator:
        return super().generator("part", str(self.part), *labels)


def _with_domains(data: Microdata, attributes: Sequence[str]) -> Microdata:
    """The same table with every domain declared, so that a part of it has the domain of the whole."""
    declared = []
    for name in attributes:
        if data[name].is_categorical and data[name].domain is None:
            codes = set(map(category_key, data[name].missing_codes))
            domain = tuple(c for c in data.domain(name) if c is not None and category_key(c) not in codes)
            declared += [data[name].changed(domain=domain)] if domain else []
    return replace(data, schema=data.schema.replacing(*declared)) if declared else data


def _sizes(method: Parameterised) -> list[int]:
    """The k of a method and of the methods inside it."""
    inside = [getattr(method, name) for name in component_parameters(type(method))]
    found = [size for part in inside if part is not None for size in _sizes(part)]
    k = getattr(method, "k", None)
    return found if k is None else [k, *found]


def _together(
    data: Microdata, made: Sequence[Masked], rows_of_parts: Sequence[IntArray], notes: tuple[Note, ...]
) -> Masked:
    """The masked parts as one file, its records in their old order."""
    if len(made) == 1:
        only = made[0]
        return Masked(only.columns, only.partitions, only.matrices, (*notes, *only.notes), only.attributes, only.rows)
    columns_of_parts = _completed(data, made, rows_of_parts)
    back = pa.array(np.argsort(np.concatenate(rows_of_parts), kind="stable"))
    # a part with an empty cell has decimals where another still has whole numbers
    joined = pa.concat_tables(map(pa.table, columns_of_parts), promote_options="permissive")
    attributes, unlabelled = _descriptions(data, made, columns_of_parts)
    matrices, unlike = _matrices_of_all(made)
    return Masked(
        {name: joined[name].combine_chunks().take(back) for name in joined.column_names},
        partitions={block: _one_partition(made, rows_of_parts, block) for block in _blocks_of_all(made)},
        matrices=matrices,
        notes=(*notes, *merged([masked.notes for masked in made]), *unlabelled, *unlike),
        attributes=attributes,
        rows=_kept(made, rows_of_parts),
    )


def _completed(data: Microdata, made: Sequence[Masked], rows_of_parts: Sequence[IntArray]) -> list[dict[str, pa.Array]]:
    """The columns of each part; what only other parts have made anew is as it was."""
    names = list(dict.fromkeys(name for masked in made for name in masked.columns))
    before = {name: data.arrow(name) for name in names}
    return [
        {name: masked.columns[name] if name in masked.columns else before[name].take(pa.array(rows)) for name in names}
        for masked, rows in zip(made, rows_of_parts, strict=True)
    ]


def _kept(made: Sequence[Masked], rows_of_parts: Sequence[IntArray]) -> IntArray | None:
    """The records that are released, where some are not."""
    if all(masked.rows is None for masked in made):
        return None
    pairs = zip(made, rows_of_parts, strict=True)
    return np.sort(np.concatenate([rows if masked.rows is None else rows[masked.rows] for masked, rows in pairs]))


def _matrices_of_all(made: Sequence[Masked]) -> tuple[dict[tuple[str, ...], FloatArray], tuple[Note, ...]]:
    """The transition matrices that all parts share, and a note of those that differ."""
    blocks = list(dict.fromkeys(block for masked in made for block in masked.matrices))
    shared = {}
    for block in blocks:
        found = [masked.matrices.get(block) for masked in made]
        if found[0] is not None and all(m is not None and np.array_equal(m, found[0]) for m in found):
            shared[block] = found[0]
    lost = tuple(JOINT.join(block) for block in blocks if block not in shared)
    return shared, (MATRICES_OF_PARTS(matrices=lost),) if lost else ()


def _blocks_of_all(made: Sequence[Masked]) -> list[tuple[str, ...]]:
    return [block for block in made[0].partitions if all(block in masked.partitions for masked in made)]


def _one_partition(made: Sequence[Masked], rows_of_parts: Sequence[IntArray], block: tuple[str, ...]) -> Partition:
    return Partition.of(joined_labels(rows_of_parts, (masked.partitions[block].labels for masked in made)))


def _descriptions(
    data: Microdata, made: Sequence[Masked], columns_of_parts: Sequence[Mapping[str, pa.Array]]
) -> tuple[tuple[Attribute, ...], tuple[Note, ...]]:
    """The attributes that any part describes anew, with the domains, missing codes and value labels of all parts."""
    by_name: dict[str, dict[int, Attribute]] = {}
    for number, masked in enumerate(made):
        for attribute in masked.attributes:
            by_name.setdefault(attribute.name, {})[number] = attribute
    described, notes = [], []
    for name, of_part in by_name.items():
        same = list(of_part.values())
        domains = [attribute.domain for attribute in same if attribute.domain is not None]
        codes = dict.fromkeys(code for attribute in same for code in attribute.missing_codes)
        domain = _in_one_order(domains) if domains else None
        labels = [of_part.get(number, data[name]).value_labels for number in range(len(made))]
        agreed, dropped = _agreed_labels(labels, [columns[name] for columns in columns_of_parts if name in columns])
        described.append(same[0].changed(domain=domain, missing_codes=tuple(codes), value_labels=agreed))
        if dropped:
            notes.append(LABELS_LEFT_OUT(attribute=name, labels=dropped))
    return tuple(described), tuple(notes)


def _agreed_labels(
    labels_of_parts: Sequence[Mapping[Category, str]], columns: Sequence[pa.Array]
) -> tuple[dict[Category, str], int]:
    """The value labels on which all parts agree that publish the category, and how many others there are."""
    held = [set(map(category_key, pc.unique(column.drop_null()).to_pylist())) for column in columns]
    agreed, dropped = {}, 0
    for category in dict.fromkeys(category for labels in labels_of_parts for category in labels):
        key = category_key(category)
        of_holders = {
            labels.get(category) for labels, own in zip(labels_of_parts, held, strict=False) if key in own
        } or {labels[category] for labels in labels_of_parts if category in labels}
        label = next(iter(of_holders))
        if len(of_holders) == 1 and label is not None:
            agreed[category] = label
        elif len(of_holders) > 1:
            dropped += 1
    return agreed, dropped


def _in_one_order(domains: Sequence[tuple[Category, ...]]) -> tuple[Category, ...]:
    """All categories, each after those that come before it in any of the lists, where that can be."""
    sorter: TopologicalSorter[Category] = TopologicalSorter()
    for domain in domains:
        for category in domain:
            sorter.add(category)
        for before, after in pairwise(domain):
            sorter.add(after, before)
    try:
        return tuple(sorter.static_order())
    except CycleError:
        return tuple(dict.fromkeys(category for domain in domains for category in domain))
