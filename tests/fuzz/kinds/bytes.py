"""Damaged files of every format: bits, bytes and whole pieces changed, left out, put in or doubled."""

from __future__ import annotations

import gzip
import random
from functools import cache
from pathlib import Path

from attempt import Attempt
from values import small_columns

FORMATS = ("csv", "tsv", "csv.gz", "parquet", "xlsx", "sav", "dta", "tsv.gz")
ODD = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b'"',
    b"\r",
    b"\n\n",
    b",,,,,",
    b"\xff" * 8,
    b"9" * 400,
    b"\x7f\xff\xff\xff",
    b";",
)


@cache
def good_file(form: str) -> bytes:
    """A small table in the format, as Microveil itself writes it."""
    import tempfile

    from microveil.microdata import Microdata, files

    data = Microdata.of(small_columns(random.Random(1), 40))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"people.{form.removesuffix('.gz')}"
        files.write(data, path)
        content = path.read_bytes()
    return gzip.compress(content, mtime=0) if form.endswith(".gz") else content


def make(rng: random.Random, folder: Path) -> Attempt:
    form = rng.choice(FORMATS)
    content = bytearray(good_file(form))
    if form == "csv.gz" and rng.random() < 0.4:
        content = bytearray(gzip.compress(bytes(damaged(bytearray(good_file("csv")), rng)), mtime=0))
    else:
        content = damaged(content, rng)
    named = rng.choice(FORMATS) if rng.random() < 0.1 else form
    path = folder / f"people.{named}"
    path.write_bytes(bytes(content))

    def act() -> None:
        from microveil.microdata import files
        from microveil.microdata.description import describe_attributes

        data = files.read(path)
        describe_attributes(data)
        data.digest()
        numeric = [name for name in data.names if data[name].kind == "numeric"]
        if numeric:
            from microveil.masking.microaggregation.mdav import MDAV

            MDAV(k=3).mask(data, numeric[:2], seed=1)

    return Attempt(f"damaged {form} named {named}, {len(content)} bytes", act)


def damaged(content: bytearray, rng: random.Random) -> bytearray:
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        if not content:
            break
        place = rng.randrange(len(content))
        if rng.random() < 0.3:  # headers and footers decide most
            near = rng.randrange(min(len(content), 64))
            place = rng.choice([near, len(content) - 1 - near])
        length = rng.choice([1, 2, 4, 16, 200])
        act = rng.random()
        if act < 0.35:
            content[place] ^= 1 << rng.randrange(8)
        elif act < 0.5:
            content[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif act < 0.6:
            content = content[:place] if rng.random() < 0.5 else content[place:]
        elif act < 0.7:
            del content[place : place + length]
        elif act < 0.85:
            content[place:place] = rng.choice([*ODD, rng.randbytes(length)])
        else:
            content[place:place] = content[place : place + length] * rng.choice([1, 3, 50])
    return content
