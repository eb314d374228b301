"""Columns that may be something else than their type says: identifiers, weights, household numbers, codes.

Names and values are examined. Nothing is decided here: a hint says what a column looks like and which option says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError
from microveil.microdata.microdata import Microdata, as_categories
from microveil.microdata.schema import Attribute
from microveil.typing import FloatArray, IntArray

LooksLike = Literal["identifier", "weight", "household", "code", "categories", "numbers"]

_ENOUGH = 20  # fewer records show no pattern
_FEW = 12  # so many distinct numbers may be categories
_NEARLY_ALL, _MOST = 0.99, 0.9
_LARGEST_HOUSEHOLD = 30
_LARGEST_WEIGHT = 1e100
_MOST_WEIGHTS = 200  # distinct values of a weight that is the same for every record of a stratum
_YEARS = (1800, 2100)
_MOST_EXAMINED = 2000  # distinct texts whose form is examined

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_NUMBER = r"^\s*[-+]?[0-9]+([.,][0-9]+)*\s*$"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IDENTIFIER_WORDS = _words(
    "id ids uid uuid guid pid idno idnr identifier identifiant identificador kennung kennziffer no nr num number "
    "numero nummer numer ssn sin nhs nino nir dni nie nif cpf bsn ahv svnr pesel personnummer fodselsnummer passport "
    "passeport pasaporte reisepass ausweis email mail phone tel telephone telefon telefono telefoon mobile handy iban "
    "bic account konto cuenta compte licence license plate matricule mrn url username login"
)
_NAME_WORDS = _words(
    "name names surname lastname firstname forename nachname vorname familienname apellido apellidos nombre nom prenom "
    "cognome naam achternaam voornaam etternavn fornavn efternamn address adresse direccion indirizzo street strasse "
    "calle rue"
)
_CODE_WORDS = _words(
    "code codes kode codigo codice occ occupation occupations beruf profession isco soc kldb nace noga sic naics isic "
    "industry branche sector icd diagnosis diagnose zip zipcode postcode postal plz postleitzahl cap region county "
    "district kreis gemeinde municipality commune comune municipio kommune state country land nationality nuts lau "
    "fips ags tract area canton kanton province provincia ethnicity religion"
)
_CODE_ENDINGS = ("code", "kode", "codigo")
_IDENTIFIER_ENDINGS = ("nummer", "number", "uuid")
_WEIGHT = re.compile(
    r"(^|[_. -])(weights?|wgts?|wts?|pweight|fweight|w|pond\w*|gew|gewicht\w*|hochrechnung\w*|peso|expansion|"
    r"(final|samp|sample|person|hh|house|design|base)_?wte?)($|[_. -])"
    r"|weights?$|wgts?$",
    re.IGNORECASE,
)
_HOUSEHOLD = re.compile(
    r"(^|[_. -])(household|hh|hid|hhid|hhnr|hhno|family|haushalt\w*|hogar|menage|ménage|foyer|famiglia|familia|"
    r"husholdning|huishouden)[_. -]?(ids?|no|nr|num|number|nummer|key|code)?$",
    re.IGNORECASE,
)
# what a direct identifier looks like, whatever its column is called
_FORMS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$",
    "account numbers": r"^[A-Z]{2}[0-9]{2} ?[A-Z0-9]{4}( ?[A-Z0-9]{2,4}){2,7}$",
    "network addresses": r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$",
    "phone or personal numbers": r"^(\+[0-9]|\(?0[0-9]|[0-9]{3}[ -])[0-9 ()/.-]{5,}[0-9]$",
    "universal identifiers": r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
}
_DATE = r"^[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([ T].*)?$"


@dataclass(frozen=True)
class Hint:
    """What a column looks like, and what to say if it is that.

    `grave` hints are about what should not be released as it is.
    """

    looks_like: LooksLike
    text: str
    sure: bool = True

    @property
    def grave(self) -> bool:
        return self.looks_like != "categories"

    @property
    def no_amount(self) -> bool:
        """Whether it is about numbers with which nobody calculates."""
        return self.sure and self.looks_like in ("identifier", "weight", "household", "code")


def hints(data: Microdata) -> dict[str, Hint]:
    """Hints for the columns that look like something else than their kind and roles say.

    >>> people = Microdata.of({"case": list(range(101, 131)), "age": [30 + i % 25 for i in range(30)]})
    >>> {name: hint.text for name, hint in hints(people).items()}
    {'case': 'every value is distinct: an identifier? --identifiers case'}
    """
    found = {}
    for attribute in data.schema:
        if not attribute.is_administrative and (hint := _hint(data, attribute)) is not None:
            found[attribute.name] = hint
    return found


def _hint(data: Microdata, attribute: Attribute) -> Hint | None:
    try:
        column = _Column(attribute, data.arrow(attribute.name))
        if attribute.roles:  # what it is for has been said, but not that it is no amount
            return _code(column)
        return (
            _almost_numbers(column)
            or _weight(column, taken=data.schema.weight is not None)
            or _household(column, taken=data.schema.household is not None)
            or _identifier(column)
            or _code(column)
            or _few_numbers(column)
        )
    except DataError:  # lists, records and the like
        return None


class _Column:
    """A column with what all its tests need."""

    def __init__(self, attribute: Attribute, column: pa.Array) -> None:
        self.attribute, self.name, self.records = attribute, attribute.name, len(column)
        self.whole_column = column
        self.words = [word.lower() for word in _WORD.findall(self.name)]

    @cached_property
    def cells(self) -> pa.Array:
        """What is not missing, without missing codes."""
        codes = [code for code in self.attribute.missing_codes if isinstance(code, str) == self.is_text]
        cells = as_categories(self.whole_column).drop_null()
        return cells.filter(pc.invert(pc.is_in(cells, pa.array(codes, cells.type)))) if codes else cells

    @cached_property
    def is_text(self) -> bool:
        kind = as_categories(self.whole_column.slice(0, 0)).type
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    @property
    def is_number(self) -> bool:
        return self.attribute.kind == "numeric" and self.numbers is not None

    @cached_property
    def numbers(self) -> FloatArray | None:
        kind = self.whole_column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            return None
        values = self.cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return np.asarray(values[np.isfinite(values)])

    @property
    def is_whole(self) -> bool:
        """Whole numbers, also where they are stored as decimals."""
        values = self.numbers
        return values is not None and len(values) > 0 and bool((values == np.floor(values)).all())

    @cached_property
    def values(self) -> pa.Array:
        return pc.unique(self.cells)

    @property
    def distinct(self) -> int:
        return len(self.values)

    @property
    def is_distinct(self) -> bool:
        """Whether all values are distinct, or nearly all."""
        return len(self.cells) >= _ENOUGH and self.distinct >= _NEARLY_ALL * len(self.cells)

    @property
    def all_or_nearly(self) -> str:
        return "every value" if self.distinct == len(self.cells) else "nearly every value"

    @cached_property
    def group_sizes(self) -> IntArray:
        return np.asarray(pc.value_counts(self.cells).field("counts").to_numpy(zero_copy_only=False))

    @cached_property
    def runs(self) -> int:
        """How often the value changes from one record to the next, and one."""
        codes = self.cells.dictionary_encode().indices.to_numpy(zero_copy_only=False)
        return 1 + int((np.diff(codes) != 0).sum()) if len(codes) else 0


def _almost_numbers(column: _Column) -> Hint | None:
    """A text column that would be numeric but for a few cells."""
    cells = column.whole_column.drop_null()
    if not column.is_text or column.attribute.domain is not None or len(cells) < _ENOUGH // 2:
        return None
    if not column.attribute.is_categorical:
        return None
    text = as_categories(cells)
    numbers = pc.match_substring_regex(text, _NUMBER)
    if not _MOST <= pc.mean(numbers).as_py() < 1:
        return None
    filled = as_categories(column.whole_column).fill_null("0")
    first = pc.index(pc.match_substring_regex(filled, _NUMBER), False).as_py()
    return Hint("numbers", f"all but {len(text) - pc.sum(numbers).as_py()} values are numbers (see record {first + 1})")


def _weight(column: _Column, *, taken: bool) -> Hint | None:
    values = column.numbers
    if taken or not column.is_number or values is None or not len(values):
        return None
    if not 0 < values.min() <= values.max() < _LARGEST_WEIGHT:
        return None
    named = _WEIGHT.search(column.name) is not None
    mean = float(values.mean())
    if named and (mean > 1 or abs(mean - 1) < 0.02):
        return Hint("weight", f"named like a sampling weight: --weight {column.name}?")
    if not _shared_decimals(column, values):
        return None
    return Hint("weight", f"decimals shared by many records: a sampling weight? --weight {column.name}")


def _shared_decimals(column: _Column, values: FloatArray) -> bool:
    """Few values with many decimals, none below 1, as records of the same stratum have them."""
    if len(values) < _ENOUGH or not 2 <= column.distinct <= _MOST_WEIGHTS or 5 * column.distinct > len(values):
        return False
    distinct = np.unique(values)
    thousandths = np.abs(distinct * 100 - np.round(distinct * 100)) > 1e-6 * distinct
    return bool(distinct[0] >= 1 and thousandths.mean() >= 0.5 and values.std() < 1.5 * values.mean())


def _household(column: _Column, *, taken: bool) -> Hint | None:
    if not (column.is_text or column.is_whole) or column.distinct <= _FEW:
        return None
    named = _HOUSEHOLD.search(column.name) is not None
    if not named and (_named_identifier(column) or not _stands_together(column)):
        return None
    why = "named like a household number" if named else "the same for small groups of records: a household number"
    option = f"--identifiers {column.name}" if taken else f"--household {column.name}"
    return Hint("household", f"{why}: {option}?" if named else f"{why}? {option}")


def _stands_together(column: _Column) -> bool:
    """Many values, each of a few records that follow one another; numbers of which are given one by one."""
    records = len(column.cells)
    share = column.distinct / max(1, records)
    if records < _ENOUGH or not 0.1 <= share <= 0.85 or column.runs != column.distinct or _is_year(column):
        return False
    if not column.is_text and not _counts(column):
        return False
    return bool(column.group_sizes.max() <= _LARGEST_HOUSEHOLD and (column.group_sizes > 1).mean() >= 0.2)


def _is_year(column: _Column) -> bool:
    values = column.numbers
    return values is not None and len(values) > 0 and _YEARS[0] <= values.min() and values.max() <= _YEARS[1]


def _identifier(column: _Column) -> Hint | None:
    option = f"--identifiers {column.name}"
    if column.is_text and (form := _form(column)) is not None:
        return Hint("identifier", f"looks like {form}: {option}")
    if column.attribute.is_categorical and column.attribute.domain is not None:
        return None
    discrete = column.is_text or column.is_whole
    if discrete and column.is_distinct:
        numbered = _counts(column) or _same_length(column, at_least=5)
        if numbered or _named_identifier(column) or (column.is_text and not _dates(column)):
            return Hint("identifier", f"{column.all_or_nearly} is distinct: an identifier? {option}")
        if column.distinct == len(column.cells):
            known = f"--keys {column.name} if an intruder may know it"
            return Hint("identifier", f"every value is distinct: {option}, or {known}?", sure=False)
    many = column.distinct > _ENOUGH and len(column.cells) >= _ENOUGH
    if many and _named_identifier(column) and (discrete or column.is_distinct):
        return Hint("identifier", f"named like an identifier: {option}?")
    if many and column.is_text and _named_person(column):
        return Hint("identifier", f"named like a name or an address: {option}?")
    return None


def _named_identifier(column: _Column) -> bool:
    words = column.words
    whole = column.name.lower()
    joined = any(whole.endswith(ending) and len(whole) > len(ending) + 3 for ending in _IDENTIFIER_ENDINGS)
    capital = re.search(r"([a-z]I[Dd]|[A-Z]{3,}ID)$", column.name) is not None
    return bool(words) and (words[-1] in _IDENTIFIER_WORDS or joined or capital)


def _named_person(column: _Column) -> bool:
    return bool(set(column.words) & _NAME_WORDS) or column.name.lower().endswith("name")


def _counts(column: _Column) -> bool:
    """Whether whole numbers rise from value to value, or leave few gaps, as numbers given one by one do."""
    if not column.is_whole or column.distinct < 2:
        return False
    values = column.values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    rising = (np.diff(values) > 0).mean() >= _NEARLY_ALL
    return bool(rising or values.max() - values.min() < 1.5 * len(values))


def _same_length(column: _Column, *, at_least: int) -> bool:
    """Whether whole numbers all have as many digits."""
    values = column.numbers
    if values is None or not len(values) or values.min() < 1:
        return False
    low, high = (len(str(int(end))) for end in (values.min(), values.max()))
    return low == high >= at_least


def _form(column: _Column) -> str | None:
    """What kind of direct identifiers the texts are, if nearly all have the same form."""
    texts = column.values.slice(0, _MOST_EXAMINED)
    if len(texts) < _ENOUGH // 2:
        return None
    if _dates(column):
        return None
    for what, form in _FORMS.items():
        if pc.mean(pc.match_substring_regex(texts, form)).as_py() >= _MOST:
            return what
    return None


def _dates(column: _Column) -> bool:
    texts = column.values.slice(0, _MOST_EXAMINED)
    return column.is_text and bool(pc.mean(pc.match_substring_regex(texts, _DATE)).as_py() >= _MOST)


def _code(column: _Column) -> Hint | None:
    """Whole numbers with which nobody calculates."""
    if not column.is_number or not column.is_whole or column.distinct < 2 or _is_year(column):
        return None
    option = f"--nominal {column.name}"
    named = bool(set(column.words) & _CODE_WORDS) or column.name.lower().endswith(_CODE_ENDINGS)
    # in a small file a long list of codes has nearly as many values as records
    if len(column.cells) < _ENOUGH or column.distinct > (_NEARLY_ALL if named else 0.5) * len(column.cells):
        return None
    if named:
        return Hint("code", f"{column.distinct:,} distinct numbers, named like a code: {option}?")
    digits = 3 if column.distinct >= 100 else 4
    if column.distinct > _FEW and _same_length(column, at_least=digits) and _is_sparse(column):
        return Hint("code", f"{column.distinct:,} distinct numbers of equal length: a code? {option}")
    return None


def _is_sparse(column: _Column) -> bool:
    """Gaps between the numbers that no rounding explains."""
    distinct = np.unique(column.numbers if column.numbers is not None else [])
    step = np.gcd.reduce(np.diff(distinct).astype(np.int64)) if len(distinct) > 1 else 0
    return bool(step == 1 and len(distinct) < 0.5 * (distinct[-1] - distinct[0] + 1))


def _few_numbers(column: _Column) -> Hint | None:
    if not column.is_number or not 1 < column.distinct <= _FEW or column.records <= 4 * column.distinct:
        return None
    options = f"--nominal {column.name} or --ordinal {column.name}"
    return Hint("categories", f"{column.distinct} distinct numbers: categories? {options}")
