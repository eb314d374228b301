"""A delimited file as a stream of UTF-8 bytes: unpacked, recoded and checked while it is read, never held whole."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from pathlib import Path
from typing import IO, cast

from microveil.errors import FileError, MicroveilError
from microveil.microdata.files.formats import is_compressed

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# what Python knows too, but no file is written in
_NOT_FOR_FILES = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined")
_HEAD = 1024
# the most UTF-8 bytes that one byte of another encoding can become
_EXPANSION = 3
_WIDEST_CHARACTER = 8


class UndecodableError(MicroveilError):
    """Bytes that are not valid in the encoding that was tried."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"bytes in line {line} do not suit the encoding")


def candidate_encodings(path: Path, given: str | None) -> list[str]:
    """The encodings to try, in order: the given one; what a byte order mark says; UTF-8, else the Western ones."""
    head = _head(path)
    marked = next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)
    if given is None:
        return [marked] if marked else ["utf-8", "cp1252", "latin-1"]
    name = known_encoding(path, given)
    if name == "utf-8" and marked == "utf-8-sig":
        return ["utf-8-sig"]
    return [_wide_encoding(path, name, head) if name.startswith(("utf-16", "utf-32")) and name != marked else name]


def known_encoding(path: Path, encoding: str) -> str:
    """The encoding's common name; refused when Python knows no such text encoding."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(encoding)
        if name in _NOT_FOR_FILES:
            raise LookupError
    except (LookupError, ValueError):
        raise FileError(
            path, f"unknown encoding '{encoding}'; give one such as utf-8, utf-16, cp1252 or latin-1"
        ) from None
    return "latin-1" if name == "iso8859-1" else name


def _head(path: Path) -> bytes:
    with Utf8Source(path, "latin-1") as source:
        return source.raw_bytes(_HEAD)


def _wide_encoding(path: Path, name: str, head: bytes) -> str:
    """UTF-16 or UTF-32 without a byte order mark: where the bytes of its line ends and delimiters are zero tells the
    order of the bytes, and whether it is what it is said to be.
    """
    width = 2 if name.startswith("utf-16") else 4
    whole = len(head) // width * width
    first, last = head[:whole:width].count(0), head[width - 1 : whole : width].count(0)
    order = "le" if last > first else "be" if first > last else None
    if order is None or (name[-2:] in ("le", "be") and name[-2:] != order):
        raise FileError(path, f"is not a text in {name}; give its true encoding")
    return f"{name[:6]}-{order}"


class Utf8Source(io.RawIOBase):
    """What Arrow reads from. Counts quotes, so that one left open is noticed, and lines, so that errors name them."""

    def __init__(self, path: Path, encoding: str) -> None:
        super().__init__()
        self.path, self.quotes, self._lines = path, 0, 1
        self.beyond_ascii = False  # so far
        self._file: IO[bytes] = path.open("rb")
        self._bytes = cast(IO[bytes], gzip.GzipFile(fileobj=self._file)) if is_compressed(path) else self._file
        self._size = max(os.fstat(self._file.fileno()).st_size, 1)
        self._pending = b""
        self._decoder = codecs.getincrementaldecoder("utf-8" if encoding == "utf-8-sig" else encoding)("strict")
        self._as_is = encoding in ("utf-8", "utf-8-sig")
        if encoding == "utf-8-sig" and (start := self.raw_bytes(len(codecs.BOM_UTF8))) != codecs.BOM_UTF8:
            self._pending = self._checked(start)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._bytes.close()
            self._file.close()
        super().close()

    @property
    def fraction(self) -> float:
        """How much of the file has been read."""
        return min(self._file.tell() / self._size, 1.0)

    def read(self, size: int = -1) -> bytes:
        if self._pending:
            size = len(self._pending) if size < 0 else size
            chunk, self._pending = self._pending[:size], self._pending[size:]
            return chunk
        return self._fresh(size)

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        chunk = self.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def peek(self, size: int) -> bytes:
        """The first bytes, which are read again afterwards."""
        parts = [self._pending]
        while sum(map(len, parts)) < size and (chunk := self._fresh(size)):
            parts.append(chunk)
        self._pending = b"".join(parts)
        return self._pending

    def skip(self, size: int) -> None:
        """Leave out bytes that have been peeked at."""
        self._pending = self._pending[size:]

    def raw_bytes(self, size: int) -> bytes:
        try:
            return self._bytes.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise FileError(self.path, "the gzip archive is damaged or cut off; fetch it again") from None
        except OSError as problem:
            raise FileError(self.path, f"cannot be read ({problem.strerror or problem})") from None

    def _fresh(self, size: int) -> bytes:
        wanted = size if self._as_is or size < 0 else max((size - _WIDEST_CHARACTER) // _EXPANSION, 1)
        while True:
            raw = self.raw_bytes(wanted)
            chunk = self._checked(raw, final=not raw)
            if chunk or not raw:
                return chunk

    def _checked(self, raw: bytes, *, final: bool = False) -> bytes:
        try:
            text = self._decoder.decode(raw, final)
        except UnicodeError as problem:
            before = problem.object[: problem.start] if isinstance(problem, UnicodeDecodeError) else b""
            raise UndecodableError(self._lines + before.count(b"\n")) from None
        chunk = raw if self._as_is else text.encode("utf-8", "surrogatepass")
        if (nul := chunk.find(b"\0")) >= 0:
            raise FileError(
                self.path,
                "holds NUL bytes, so it is not a text file, or its encoding must be given",
                line=self._lines + chunk[:nul].count(b"\n"),
            )
        self._lines += chunk.count(b"\n")
        self.quotes += chunk.count(b'"')
        self.beyond_ascii = self.beyond_ascii or not chunk.isascii()
        return chunk
