"""Frames of pandas, polars and pyarrow with columns of every type, masked, assessed and described."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attempt import Attempt, Finding
from values import NUMBERS, TEXTS

Cells = Callable[[random.Random, int], list[Any]]


def _each(draw: Callable[[random.Random], Any]) -> Cells:
    return lambda rng, records: [draw(rng) for _ in range(records)]


def _day(rng: random.Random) -> dt.date:
    return dt.date(1900, 1, 1) + dt.timedelta(days=rng.randrange(60_000))


def _stamp(rng: random.Random) -> dt.datetime:
    return dt.datetime(2000, 1, 1) + dt.timedelta(
        seconds=rng.randrange(10**9), microseconds=rng.choice([0, 1, 500_000])
    )


CELLS: dict[str, Cells] = {
    "whole": _each(lambda rng: rng.randrange(100)),
    "number": _each(lambda rng: rng.choice([rng.gauss(0, 1), rng.random() * 10**6])),
    "odd number": _each(lambda rng: rng.choice([0.0, -0.0, 1e-320, 1e150, 1e308, float("inf"), float("nan"), 5e-324])),
    "long": _each(lambda rng: rng.choice([2**53 + 1, 2**63, 2**64, 10**25, -(10**30), 10**80])),
    "text": _each(lambda rng: rng.choice([text for text in TEXTS if "\ud800" not in text])),
    "category": _each(lambda rng: rng.choice("abc")),
    "truth": _each(lambda rng: rng.random() < 0.5),
    "decimal": _each(lambda rng: decimal.Decimal(rng.randrange(10**6)).scaleb(-rng.choice([0, 2, 5]))),
    "day": _each(_day),
    "stamp": _each(_stamp),
    "time": _each(lambda rng: (_stamp(rng)).time()),
    "duration": _each(lambda rng: dt.timedelta(seconds=rng.randrange(10**6))),
    "iso": _each(lambda rng: _day(rng).isoformat()),
    "bytes": _each(lambda rng: rng.choice([b"a", b"\xff", b""])),
    "list": _each(lambda rng: [rng.randrange(3)] * rng.randrange(3)),
    "record": _each(lambda rng: {"a": rng.randrange(3)}),
    "nothing": _each(lambda rng: None),
    "mixed": _each(lambda rng: rng.choice([1, "a", None, 2.5, True, b"x", _day(rng), *NUMBERS[:6]])),
    "complex": _each(lambda rng: complex(rng.randrange(3), 1)),
}
PANDAS = ("Int64", "UInt8", "float32", "string", "category", "boolean", "period[M]", "Float64", "datetime64[s]",
          "timedelta64[ms]", "object", "interval", "Sparse[float]", "int8", "float16")  # fmt: skip


def make(rng: random.Random, folder: Path) -> Attempt:
    library = rng.choice(["pandas", "polars", "pyarrow", "mapping"])
    records = rng.choice([0, 1, 2, 7, 30, 30, 30])
    kinds = [rng.choice(list(CELLS)) for _ in range(rng.choice([1, 2, 3]))]
    columns: dict[Any, list[Any]] = {}
    for number, kind in enumerate(kinds):
        cells = CELLS[kind](rng, records)
        if rng.random() < 0.3:
            cells = [None if rng.random() < 0.2 else cell for cell in cells]
        name = rng.choice(["", " ", 5, ("a", "b"), "x", "[/red]", "x" * 300]) if rng.random() < 0.05 else f"c{number}"
        columns[name] = cells
    frame, told = _frame(library, columns, rng)

    def act() -> None:
        from microveil.microdata import Microdata
        from microveil.microdata.description import describe_attributes
        from microveil.registry import make as build

        data = Microdata.of(frame)
        describe_attributes(data)
        seal = data.digest()
        kind = rng.choice(["numeric", "nominal", "as it is"])
        if kind != "as it is":
            data = Microdata.of(frame, **{kind: [rng.choice(data.names)]})
        name = rng.choice(
            ["mdav", "noise", "rank-swapping", "rounding", "recode", "top-code"]
            if kind == "numeric" or rng.random() < 0.5
            else ["pram", "sampling", "suppress", "data-swapping"]
        )
        method = build("method", name, {})
        chosen = [column for column in data.names if data[column].kind in method.kinds][: rng.choice([1, 2])] or None
        release = method.mask(data, chosen, seed=1)
        if type(release.frame) is not type(Microdata.of(frame).native):
            raise Finding(f"{type(frame).__name__} became {type(release.frame).__name__}")
        if Microdata.of(frame).digest() != seal:
            raise Finding("the caller's frame was changed")
        for column in data.names:
            untouched = column not in release.provenance.attributes and release.rows is None
            if untouched and data.select([column]).digest() != release.data.select([column]).digest():
                raise Finding("a column that was not masked was changed")
        release.manifest()

    return Attempt(f"{library} {kinds} {told} of {records} records", act)


def _frame(library: str, columns: dict[Any, list[Any]], rng: random.Random) -> tuple[Any, str]:
    """The columns as a frame; what a library does not take itself stays a mapping, which Microveil must refuse."""
    if library == "mapping":
        return columns, "mapping"
    try:
        if library == "pandas":
            return _pandas(columns, rng)
        if library == "polars":
            import polars as pl

            return pl.DataFrame(columns, strict=False), "frame"
        import pyarrow as pa

        table = pa.table(columns)
        if rng.random() < 0.3:
            table = pa.table({n: c.dictionary_encode() for n, c in zip(table.column_names, table.columns, strict=True)})
        return table, "table"
    except Exception as problem:
        return columns, f"mapping after {type(problem).__name__}"


def _pandas(columns: dict[Any, list[Any]], rng: random.Random) -> tuple[Any, str]:
    import pandas as pd

    frame = pd.DataFrame({name: pd.Series(cells) for name, cells in columns.items()})
    told = "frame"
    if rng.random() < 0.5:
        name = rng.choice(list(columns))
        wanted = rng.choice(PANDAS)
        if wanted == "interval":
            frame[name] = pd.cut(frame[name], 3)
        else:
            frame[name] = frame[name].astype(wanted)
        told = f"frame as {wanted}"
    odd = rng.random()
    if odd < 0.05:
        return frame.iloc[:, 0], "series"
    if odd < 0.1:
        return pd.concat([frame, frame], axis=1), "doubled"
    if odd < 0.2 and len(frame):
        frame.index = rng.choices(range(3), k=len(frame))
    return frame, told
