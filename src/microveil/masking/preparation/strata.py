"""The strata of a file."""

from __future__ import annotations

import pyarrow as pa

from microveil.errors import DataError, ParameterError
from microveil.masking.partition import Partition
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import equivalence_classes_of
from microveil.microdata.frames import open_frame
from microveil.microdata.microdata import count
from microveil.typing import IntArray


def stratum_numbers(data: Microdata, why: str) -> IntArray:
    """The number of each record's stratum; `why` begins the sentence that refuses a table without strata."""
    names = data.schema.having("stratum")
    if not names:
        raise ParameterError(f"{why}; no attribute has the role stratum")
    if data.part is None:
        return equivalence_classes_of(data, names).of_record
    known = data.facts.counted(names).data  # beside all combinations of the table each has its number in the table
    columns = {name: pa.concat_arrays([known.arrow(name), data.arrow(name)]) for name in names}
    together = Microdata(open_frame(pa.table(columns)), data.schema.select(names))
    return equivalence_classes_of(together, names).of_record[len(known) :]


def strata_of(data: Microdata, k: int) -> list[IntArray]:
    """The records of each stratum; a stratum with fewer than k records is refused."""
    strata = Partition.of(stratum_numbers(data, "strata = True is not allowed")).groups
    small = sum(len(rows) < k for rows in strata)
    if small:
        raise DataError(f"{count(small, 'stratum') if small == 1 else f'{small} strata'} have fewer than {k} records")
    return strata
