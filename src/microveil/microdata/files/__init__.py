"""Reading and writing tables: CSV, Parquet, Excel, SPSS, Stata, SAS."""

from microveil.microdata.files.origin import Origin

__all__ = ["Origin"]
