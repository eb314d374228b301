"""Tables of records with a schema: what they are, how they are read and written, and sample data."""

from microveil.microdata.hierarchy import Hierarchy, Intervals
from microveil.microdata.microdata import Categories, Microdata, Numbers
from microveil.microdata.schema import Attribute, Kind, MissingPolicy, Role, Schema

__all__ = [
    "Attribute",
    "Categories",
    "Hierarchy",
    "Intervals",
    "Kind",
    "Microdata",
    "MissingPolicy",
    "Numbers",
    "Role",
    "Schema",
]
