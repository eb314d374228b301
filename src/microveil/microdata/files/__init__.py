"""Reading and writing tables: CSV, Parquet, Excel, SPSS, Stata, SAS."""

from microveil.microdata.files.origin import Origin
from microveil.microdata.files.reading import read
from microveil.microdata.files.writing import write, writer

__all__ = ["Origin", "read", "write", "writer"]
