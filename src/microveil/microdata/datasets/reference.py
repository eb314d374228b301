"""Reference data sets of disclosure control, read from a local folder; nothing is copied or downloaded.

Brand, Domingo-Ferrer and Mateo-Sanz (2002) describe Census, EIA and Tarragona.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from microveil.errors import FileError, UnknownNameError
from microveil.microdata.microdata import Microdata

FOLDER_VARIABLE = "MICROVEIL_DATA"
_ENDINGS = (".csv", ".csv.gz")

_EIA = (
    "RESREVENUE",
    "RESSALES",
    "COMREVENUE",
    "COMSALES",
    "INDREVENUE",
    "INDSALES",
    "OTHREVENUE",
    "OTHRSALES",
    "TOTREVENUE",
    "TOTSALES",
)

# The columns that published experiments used, in their order (a1, a2, ...), by the names in the data files.
COLUMNS: dict[str, tuple[str, ...]] = {
    # eia: the ten amounts
    "eia": _EIA,
    # eia: the eleven attributes with which the known losses of MDAV come out
    "eia-mdav": ("UTILITYID", *_EIA),
    # eia: three blocks of three correlated attributes
    "eia-nine": (
        *("RESREVENUE", "COMREVENUE", "COMSALES"),
        *("OTHREVENUE", "OTHRSALES", "TOTREVENUE"),
        *("INDREVENUE", "INDSALES", "TOTSALES"),
    ),
    # water_treatment: three blocks of three; Nin (2008), Table 3.1, prints DQO-E for COND-E
    "water": ("PH-E", "PH-P", "PH-D", "COND-E", "COND-P", "COND-D", "DBO-S", "SS-S", "SED-S"),
    # census: Nin (2008) lists ERNVAL and PEARNVAL as ERINVAL and PEARVAL, and by these names the order is alphabetical
    "census-alphabetical": (
        *("AFNLWGT", "AGI", "EMCONTRB", "ERNVAL", "FEDTAX", "FICA", "INTVAL"),
        *("PEARNVAL", "POTHVAL", "PTOTVAL", "STATETAX", "TAXINC", "WSALVAL"),
    ),
}


def data_folder() -> Path | None:
    """The folder of the reference data, which the environment variable MICROVEIL_DATA names."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named and Path(named).is_dir() else None


def available() -> list[str]:
    """The names of the data sets at hand, such as "census" for `census.csv` or `census.csv.gz`."""
    return sorted(files_at_hand())


def load(name: str, **read_options: Any) -> Microdata:
    """Read a reference data set; the options (`keys`, `schema`, ...) are those of `microveil.microdata.files.read`."""
    folder = data_folder()
    if folder is None:
        raise FileError(*no_folder())
    files = files_at_hand()
    if name not in files:
        raise UnknownNameError("data set", name, files)
    from microveil.microdata.files import read

    return read(files[name], **read_options)


def files_at_hand() -> dict[str, Path]:
    """The file of each data set; where a plain and a compressed one have the same name, the plain one."""
    folder = data_folder()
    found: dict[str, Path] = {}
    for ending in _ENDINGS:
        for path in sorted(folder.glob(f"*{ending}")) if folder else ():
            found.setdefault(path.name.removesuffix(ending), path)
    return found


def no_folder() -> tuple[str, str]:
    """The folder where data was looked for in vain, and what to do."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return named, f"{FOLDER_VARIABLE} names this folder, but it does not exist"
    return "reference data", f"set {FOLDER_VARIABLE} to the folder that holds them"
