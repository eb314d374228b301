"""A method applied inside parts of the file: clusters of similar records, or strata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from microveil.errors import ParameterError
from microveil.masking.base import Masked, Method
from microveil.masking.microaggregation.base import strata_of
from microveil.masking.microaggregation.mdav_generic import MDAVGeneric
from microveil.masking.partition import Partition
from microveil.microdata import Attribute, Microdata
from microveil.microdata.distances import OrdinalDistance
from microveil.microdata.microdata import check_records, count
from microveil.microdata.mixed import mixed_columns
from microveil.microdata.schema import KINDS, Category, category_key
from microveil.numerics.c_medians import Merge
from microveil.numerics.generic import MEDIAN
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams

IntArray = npt.NDArray[np.int64]


@parameterised
class Within(Method):
    """Divide the file into clusters of similar records, or into its strata, and mask each part by itself.

    Clusters are those of c-medians over the attributes that are masked: records join the nearest centre, which has the
    median of ordered values and the most frequent of others, until none changes; the best of several runs counts, each
    from dissimilar first centres of its own (in files of more than 20,000 different records, on so many drawn at
    random). Clusters too small for the method are merged. With one cluster the method masks the whole file as it would
    alone.

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
    summary: ClassVar[str] = "applies a method inside clusters of similar records, or inside strata"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "as the method inside treats them; for clusters a missing cell counts as the middle of the others, and records "
        "in which different cells are missing are further apart; where missing is no wildcard, missing cells that are "
        "rare in a part may still tell its records apart"
    )
    weights: ClassVar[str] = "not used to make clusters; otherwise as the method inside treats them"
    source: ClassVar[str] = "pre-clustering protection; specification 06, PC-01 to PC-06"
    quick: ClassVar[MappingProxyType[str, Any]] = MappingProxyType({"starts": 1})

    method: Method = parameter(MDAVGeneric(), help="the method that masks each part")  # type: ignore[call-arg]
    by: Literal["clusters", "strata"] = parameter("clusters", help="what the parts are")
    clusters: int = parameter(10, help="how many clusters to begin with", ge=1)
    starts: int = parameter(20, help="how many runs of the clustering, of which the best is kept", ge=1)
    smallest: int | None = parameter(
        None, help="fewest records in a cluster; unset: the k of the method, or 2 where it has none", ge=1
    )
    merge: Merge = parameter(
        "two-smallest",
        help="what becomes of smaller clusters: the two smallest are merged, or the smallest joins the nearest",
    )
    centre: Literal["median", "least"] = parameter(
        "median", help="centre of a cluster of ordered values: their median, or the value of least total distance"
    )
    ordinal_distance: OrdinalDistance = parameter("inclusive", help="distance between ordered categories, for clusters")

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", self.method.kinds)  # this one takes what the method inside takes

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        return self._mask_beside(None, data, attributes, streams, progress)

    def _mask_beside(
        self,
        original: Microdata | None,
        data: Microdata,
        attributes: tuple[str, ...],
        streams: Streams,
        progress: Progress,
    ) -> Masked:
        data = _with_domains(data, attributes)
        rows_of_parts, notes = self._parts(data, attributes, streams, Part(progress, 0.0, 0.3))
        made = []
        for number, (rows, part) in enumerate(
            zip(rows_of_parts, parts(Part(progress, 0.3, 1.0), len(rows_of_parts)), strict=True)
        ):
            own = streams if len(rows_of_parts) == 1 else _PartStreams(streams.seed, streams.step, number)
            beside = None if original is None else original.take(rows)
            made.append(self.method._mask_beside(beside, data.take(rows), attributes, own, part))
        return _together(made, rows_of_parts, notes)

    def _parts(
        self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress
    ) -> tuple[list[IntArray], tuple[str, ...]]:
        smallest: int = self.smallest if self.smallest is not None else getattr(self.method, "k", 2)
        check_records(data, smallest, f"{self.name} with parts of {smallest}")
        if self.by == "clusters":
            return self._clusters(data, attributes, smallest, streams, progress)
        if not data.schema.having("stratum"):
            raise ParameterError(f"{self.name}: by = 'strata' is not allowed; no attribute has the role stratum")
        return strata_of(data, smallest), ()

    def _clusters(
        self, data: Microdata, attributes: tuple[str, ...], smallest: int, streams: Streams, progress: Progress
    ) -> tuple[list[IntArray], tuple[str, ...]]:
        from microveil.numerics.c_medians import c_medians, merge_small

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
        merged = Partition.of(merge_small(columns, axes, found.labels, smallest, self.merge))
        notes = [f"masked inside {count(len(merged), 'cluster')}, the smallest of {count(merged.smallest, 'record')}"]
        if len(found.centres) < self.clusters:
            notes.append(f"there are records for {count(len(found.centres), 'cluster')} only, not {self.clusters}")
        return merged.groups, tuple(notes)


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
    return Microdata(data.frame, data.schema.replacing(*declared), data.origin) if declared else data


def _together(made: Sequence[Masked], rows_of_parts: Sequence[IntArray], notes: tuple[str, ...]) -> Masked:
    """The masked parts as one file, its records in their old order."""
    if len(made) == 1:
        only = made[0]
        return Masked(only.columns, only.partitions, only.matrices, (*notes, *only.notes), only.attributes, only.rows)
    back = pa.array(np.argsort(np.concatenate(rows_of_parts), kind="stable"))
    columns = {name: pa.concat_arrays([masked.columns[name] for masked in made]).take(back) for name in made[0].columns}
    kept = [rows[masked.rows] for rows, masked in zip(rows_of_parts, made, strict=True) if masked.rows is not None]
    said = Counter(note for masked in made for note in masked.notes)
    return Masked(
        columns,
        partitions={block: _one_partition(made, rows_of_parts, block) for block in _blocks_of_all(made)},
        notes=(*notes, *(f"{note} (in {count(parts, 'part')} of {len(made)})" for note, parts in said.items())),
        attributes=_descriptions(made),
        rows=np.sort(np.concatenate(kept)) if kept else None,
    )


def _blocks_of_all(made: Sequence[Masked]) -> list[tuple[str, ...]]:
    return [block for block in made[0].partitions if all(block in masked.partitions for masked in made)]


def _one_partition(made: Sequence[Masked], rows_of_parts: Sequence[IntArray], block: tuple[str, ...]) -> Partition:
    labels = np.empty(sum(map(len, rows_of_parts)), dtype=np.int64)
    used = 0
    for masked, rows in zip(made, rows_of_parts, strict=True):
        labels[rows] = used + masked.partitions[block].labels
        used += len(masked.partitions[block])
    return Partition.of(labels)


def _descriptions(made: Sequence[Masked]) -> tuple[Attribute, ...]:
    """The attributes that any part describes anew, with the domains and missing codes of all parts."""
    by_name: dict[str, list[Attribute]] = {}
    for masked in made:
        for attribute in masked.attributes:
            by_name.setdefault(attribute.name, []).append(attribute)
    described = []
    for same in by_name.values():
        domains = [attribute.domain for attribute in same if attribute.domain is not None]
        codes = dict.fromkeys(code for attribute in same for code in attribute.missing_codes)
        domain = _in_one_order(domains) if domains else None
        described.append(same[0].changed(domain=domain, missing_codes=tuple(codes)))
    return tuple(described)


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
