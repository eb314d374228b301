"""Rows of every part sent on to others: each sender writes a file in which every receiver has a batch of its own, and
a receiver reads its batches of all files. So nobody holds more than what a part sends or receives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from microveil.engines.scratch import moved_into_place
from microveil.typing import IntArray


def send(folder: Path, sender: int, rows: pa.RecordBatch, ends: Sequence[int]) -> None:
    """Write rows that stand in the order of their receivers; `ends` is where those of each receiver end."""
    with (
        moved_into_place(_file(folder, sender)) as unfinished,
        pa.OSFile(str(unfinished), "wb") as file,
        pa.ipc.new_file(file, rows.schema) as writer,
    ):
        for first, last in pairwise([0, *ends]):
            writer.write_batch(rows.slice(first, last - first))


def send_by_number(folder: Path, sender: int, rows: pa.RecordBatch, numbers: IntArray, starts: Sequence[int]) -> None:
    """Send rows to those who have their numbers: the receiver r has those from `starts[r]` to below `starts[r + 1]`."""
    receivers = (np.searchsorted(starts, numbers, side="right") - 1).astype(np.int32)
    order = np.argsort(receivers, kind="stable")
    ends = np.cumsum(np.bincount(receivers, minlength=len(starts) - 1))
    send(folder, sender, rows.take(pa.array(order)), ends.tolist())


def received(folder: Path, senders: Iterable[int], receiver: int) -> list[pa.RecordBatch]:
    """What everybody sent to one receiver, in the order of the senders."""
    batches = []
    for sender in senders:
        with pa.OSFile(str(_file(folder, sender))) as file:
            batches.append(pa.ipc.open_file(file).get_batch(receiver))
    return batches


def _file(folder: Path, sender: int) -> Path:
    return folder / f"from-{sender:06d}.arrow"
