"""Which file formats there are, how their names end, and how to see that a file is not what its name says."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from microveil.errors import FileError
from microveil.microdata.files.inputs import check_regular, unreadable


@dataclass(frozen=True)
class Format:
    """A file format: `natures` are the contents (see `nature_of`) that a file with one of these endings may have."""

    name: str
    words: str
    endings: tuple[str, ...]
    natures: tuple[str, ...]
    writable: tuple[str, ...] = ()


TEXT = "text"

FORMATS = (
    Format("csv", "CSV", (".csv", ".txt", ".csv.gz", ".txt.gz"), (TEXT,), (".csv", ".txt", ".csv.gz", ".txt.gz")),
    Format("tsv", "TSV", (".tsv", ".tsv.gz"), (TEXT,), (".tsv", ".tsv.gz")),
    Format("parquet", "Parquet", (".parquet", ".pq"), ("parquet",), (".parquet", ".pq")),
    Format("excel", "an Excel workbook", (".xlsx",), ("xlsx",), (".xlsx",)),
    Format("excel", "an old Excel workbook", (".xls",), ("xls",)),
    Format("excel", "a binary Excel workbook", (".xlsb",), ("xlsb",)),
    Format("excel", "an OpenDocument sheet", (".ods",), ("ods",)),
    Format("spss", "an SPSS file", (".sav", ".zsav"), ("sav", "zsav"), (".sav", ".zsav")),
    Format("spss-portable", "an SPSS portable file", (".por",), ("por",)),
    Format("stata", "a Stata file", (".dta",), ("dta",), (".dta",)),
    Format("sas", "a SAS data set", (".sas7bdat",), ("sas7bdat",)),
    Format("sas-transport", "a SAS transport file", (".xpt",), ("xpt",)),
    Format("graphml", "a GraphML file", (".graphml",), (TEXT,), (".graphml",)),
    Format("gml", "a GML file", (".gml",), (TEXT,), (".gml",)),
)

_INSTEAD = {
    ".xls": ".xlsx",
    ".xlsb": ".xlsx",
    ".ods": ".xlsx",
    ".por": ".sav",
    ".sas7bdat": ".csv or .parquet",
    ".xpt": ".csv or .parquet",
}

# what a file is, in words, and the ending that would suit it
_NATURES = {
    "parquet": ("a Parquet file", ".parquet"),
    "xlsx": ("an Excel workbook", ".xlsx"),
    "xlsb": ("a binary Excel workbook", ".xlsb"),
    "ods": ("an OpenDocument sheet", ".ods"),
    "xls": ("an old Excel workbook or one with a password", ".xls"),
    "zip": ("a zip archive", None),
    "gzip": ("a gzip archive", None),
    "sav": ("an SPSS file", ".sav"),
    "zsav": ("a compressed SPSS file", ".zsav"),
    "por": ("an SPSS portable file", ".por"),
    "dta": ("a Stata file", ".dta"),
    "sas7bdat": ("a SAS data set", ".sas7bdat"),
    "xpt": ("a SAS transport file", ".xpt"),
    "pdf": ("a PDF document", None),
    "html": ("a web page (HTML)", None),
    TEXT: ("a text file", ".csv"),
    "binary": ("a binary file", None),
}

_OPENINGS = (
    (b"PAR1", "parquet"),
    (b"$FL2", "sav"),
    (b"$FL3", "zsav"),
    (b"<stata_dta>", "dta"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xls"),
    (b"%PDF", "pdf"),
    (b"\x1f\x8b", "gzip"),
    (b"HEADER RECORD*******LIB", "xpt"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00", "sas7bdat"),
)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_HEAD = 1024


def format_of(path: Path) -> Format:
    """The format that a file's name announces."""
    ending = ending_of(path)
    for known in FORMATS:
        if ending in known.endings:
            return known
    listed = ", ".join(e for known in FORMATS for e in known.endings if not e.endswith(".gz"))
    raise FileError(path, f"the ending '{ending}' is not one Microveil knows; there are: {listed} (text also with .gz)")


def ending_of(path: Path) -> str:
    """The ending that tells the format, `.csv.gz` as a whole."""
    name = path.name.lower()
    ending = Path(name).suffix
    return Path(name.removesuffix(".gz")).suffix + ".gz" if ending == ".gz" else ending


def check_no_table(path: str | Path, what: str, ending: str) -> None:
    """Refuse the name of a table for something else, so that no table is replaced by mistake."""
    if any(ending_of(Path(path)) in known.endings for known in FORMATS):
        raise FileError(path, f"is the name of a table; {what} is written to a file that ends in {ending}")


def is_compressed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def check_writable(path: Path) -> Format:
    """The format to write, unless nobody can write it."""
    known = format_of(path)
    ending = ending_of(path)
    if ending not in known.writable:
        raise FileError(path, f"Microveil reads {ending} files but does not write them; use {_INSTEAD[ending]} instead")
    return known


def check_readable(path: Path) -> Format:
    """The format to read, after a look whether the file is there and is what its name says."""
    known = format_of(path)
    check_regular(path)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as problem:
        raise unreadable(path, problem) from None
    if not head:
        raise FileError(path, "the file is empty")
    _check_nature(path, known, nature_of(path, head))
    return known


def _check_nature(path: Path, known: Format, nature: str) -> None:
    if is_compressed(path):
        if nature != "gzip":
            raise FileError(path, f"is {_NATURES[nature][0]}, not a gzip archive; rename it without .gz")
        return
    # binary content under a text name is left to the reader, which can tell the line
    if nature in known.natures or (nature == "binary" and TEXT in known.natures):
        return
    words, ending = _NATURES[nature]
    advice = f"; rename it to end in {ending}" if ending else "; export the table as CSV"
    if nature == "gzip":
        advice = "; rename it to end in .csv.gz" if TEXT in known.natures else "; unpack it first"
    if nature == "binary":
        advice = ", or it is damaged"
    raise FileError(path, f"is {words}, not {known.words}{advice}")


def nature_of(path: Path, head: bytes) -> str:
    """What the first bytes of a file say it is."""
    for opening, nature in _OPENINGS:
        if head.startswith(opening):
            return nature
    if head.startswith(b"PK\x03\x04"):
        return _zip_nature(path)
    if b"SPSSPORT" in head[:600]:
        return "por"
    if head[0] in range(104, 116) and head[1:2] in (b"\x01", b"\x02") and head[2:3] == b"\x01":
        return "dta"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "html"
    return "binary" if b"\0" in head and not head.startswith(_UTF16_MARKS) else TEXT


def _zip_nature(path: Path) -> str:
    """Workbooks are zip archives; their parts tell them apart. A damaged one counts as what its name says."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = set(archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return ending_of(path).removeprefix(".") if ending_of(path) in (".xlsx", ".xlsb", ".ods") else "zip"
    if "xl/workbook.xml" in parts:
        return "xlsx"
    if "xl/workbook.bin" in parts:
        return "xlsb"
    return "ods" if "content.xml" in parts and "mimetype" in parts else "zip"
