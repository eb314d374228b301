"""What an application that is built on Microveil needs besides the names of the package: the family of errors, progress
and cancelling, seeds, formats of files, units, and how numbers and parameters are written. The workbench is made of
these and of the names of the package alone, and so can another application be.
"""

from microveil.display import number
from microveil.errors import (
    DataError,
    FileError,
    MicroveilError,
    ParameterError,
    brief,
    is_near_memory_limit,
    is_short_of_memory,
    toml_of,
)
from microveil.microdata.files.formats import FORMATS, Format, format_of
from microveil.microdata.files.isolation import taken_stdout
from microveil.parameters import shown
from microveil.progress import Part, Progress, reported
from microveil.randomness import check_seed, draw_seed, plain_seed
from microveil.units import THRESHOLD, percentage, probability

__all__ = [
    "FORMATS",
    "THRESHOLD",
    "DataError",
    "FileError",
    "Format",
    "MicroveilError",
    "ParameterError",
    "Part",
    "Progress",
    "brief",
    "check_seed",
    "draw_seed",
    "format_of",
    "is_near_memory_limit",
    "is_short_of_memory",
    "number",
    "percentage",
    "plain_seed",
    "probability",
    "reported",
    "shown",
    "taken_stdout",
    "toml_of",
]
