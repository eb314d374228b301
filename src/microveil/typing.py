"""The names of array types, for every room."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
ShortArray = npt.NDArray[np.int32]  # half as long, for kernels that read at random
BoolArray = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]
Places = range | Bits  # of records in a random stream: one after the other, or the numbers of their ids
