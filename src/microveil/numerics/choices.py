"""Choices that kernels share with parameters of methods, attacks, losses and scores.

No compiled code is loaded with them.
"""

from __future__ import annotations

from typing import Literal

# groups of values in order: which of them takes the values left over, and from which end they are made
Remainder = Literal["last", "mode", "median", "middle", "best"]
Direction = Literal["ascending", "descending", "auto"]
# how partitions that evolve are judged: by SST - SSE, or by 1 / SSE
Fitness = Literal["retained", "inverse"]
# k-Ward: which groups may merge, and with which records it starts
WardRule = Literal["contiguous", "kw", "kwd", "kwd-exact"]
Extremes = Literal["md", "fpc", "zs"]
# files that evolve: how loss and risk are combined, and what crossover and mutation change
By = Literal["mean", "max"]
Cut = Literal["printed", "symmetric"]
BitRange = Literal["genome", "word"]
Operators = Literal["one", "both-all-cells", "both-one-cell"]
# how often pairs of different persons agree: as all pairs without those of the same person, as all, or as estimated
UFrom = Literal["rest", "all", "estimated"]
# second moments: around the mean, or around 0
MomentKind = Literal["central", "raw"]
# what a regression forecasts from: the values before, or the time
Basis = Literal["lag", "time"]


def is_known_by_place(remainder: Remainder) -> bool:
    """Whether the group that takes the values left over is known from the number of values alone."""
    return remainder in ("last", "median", "middle")
