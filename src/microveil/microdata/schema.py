"""What each attribute of a table is: its kind, its roles, its domain, and what its missing values mean."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import pydantic

from microveil.errors import MicroveilError, SchemaError, UnknownNameError, errors_of_file, parsed, shortened, toml_of
from microveil.microdata.files.inputs import read_text
from microveil.microdata.hierarchy import Hierarchy, Intervals, hierarchy_from_plain, node_text
from microveil.microdata.panel import Panel
from microveil.parameters import raised_by, what_is_wrong

Kind = Literal["numeric", "ordinal", "nominal", "location"]
Role = Literal["identifier", "record", "key", "confidential", "weight", "household", "stratum", "series", "node"]
Level = Literal["record", "household"]
MissingPolicy = Literal["own category", "wildcard", "not applicable", "refuse"]
Category = str | int | float | bool

KINDS: tuple[Kind, ...] = get_args(Kind)
ROLES: tuple[Role, ...] = get_args(Role)
_LARGEST_CATEGORY = sys.float_info.max
CATEGORICAL: tuple[Kind, ...] = ("ordinal", "nominal", "location")
_ADMINISTRATIVE = frozenset(("identifier", "weight", "household", "series", "node"))


class Attribute(pydantic.BaseModel):
    """One column of the table.

    `missing` says what a missing cell means: a category of its own; a wildcard that could be anything; not applicable
    (the question did not arise, so the cell stays as it is); or refuse, when there must be none.
    The role `record` is that of the record's id, by which random numbers are drawn; it makes the attribute an
    identifier.
    `domain` lists the valid categories in order; for a numeric attribute `range` gives the smallest and largest value.
    The hierarchy of a numeric attribute is one of intervals, or lists the numbers that occur.
    With the `level` "household" it is an attribute of the household, such as tenure or household income: every method
    masks it once for each household, and all members get the same released value.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: str = pydantic.Field(min_length=1)
    kind: Kind
    roles: tuple[Role, ...] = ()
    level: Level = "record"
    domain: tuple[Category, ...] | None = None
    range: tuple[float, float] | None = None
    hierarchy: Annotated[Hierarchy | Intervals | None, pydantic.BeforeValidator(hierarchy_from_plain)] = None
    missing: MissingPolicy = "wildcard"
    missing_codes: tuple[Category, ...] = ()
    missing_ranges: tuple[tuple[float, float], ...] = ()
    label: str = ""
    value_labels: dict[Category, str] = pydantic.Field(default_factory=dict)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _one_role_may_stand_alone(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and "role" in values:
            values = dict(values)
            role = values.pop("role")
            roles = list(role) if isinstance(role, list | tuple) else [role]
            values["roles"] = tuple(r for r in roles if r != "other")
        return values

    @pydantic.field_validator("roles")
    @classmethod
    def _the_id_of_a_record_is_an_identifier(cls, roles: tuple[Role, ...]) -> tuple[Role, ...]:
        return ("identifier", *roles) if "record" in roles and "identifier" not in roles else roles

    @pydantic.model_validator(mode="after")
    def _consistent(self) -> Attribute:
        for category in (*(self.domain or ()), *self.missing_codes, *self.value_labels):
            if isinstance(category, float | int) and not abs(category) <= _LARGEST_CATEGORY:
                raise ValueError("a category must be a text or a finite number")
        if self.domain is not None:
            if self.kind == "numeric":
                raise ValueError("a numeric attribute has a range, not a domain")
            if len(set(map(category_key, self.domain))) != len(self.domain):
                raise ValueError("its domain lists a category twice")
            if set(map(category_key, self.domain)) & set(map(category_key, self.missing_codes)):
                raise ValueError("a missing code stands in its domain")
        if self.range is not None:
            if self.kind != "numeric":
                raise ValueError("only a numeric attribute has a range")
            if not self.range[0] <= self.range[1]:
                raise ValueError("its range is empty")
        if isinstance(self.hierarchy, Intervals) and self.kind != "numeric":
            raise ValueError("a hierarchy of intervals is for numeric attributes only")
        if isinstance(self.hierarchy, Hierarchy) and self.kind == "numeric" and not self.hierarchy.is_numeric:
            raise ValueError("its hierarchy has categories that are not numbers")
        if isinstance(self.hierarchy, Hierarchy) and self.domain is not None:
            lacking = {node_text(c) for c in self.domain} - set(self.hierarchy.categories())
            if lacking:
                raise ValueError(f"its hierarchy has no place for {len(lacking)} of its categories")
        if "identifier" in self.roles and set(self.roles) - {"identifier", "record"}:
            raise ValueError("an identifier is never released, so it can have no other role")
        if self.level == "household" and "household" in self.roles:
            raise ValueError("the household number is no attribute of the household; level is for what members share")
        if "weight" in self.roles and self.kind != "numeric":
            raise ValueError("a weight must be numeric")
        return self

    @property
    def is_administrative(self) -> bool:
        """Whether it tells which unit a record is, or what it stands for, and nothing about the unit."""
        return not _ADMINISTRATIVE.isdisjoint(self.roles)

    @property
    def is_categorical(self) -> bool:
        return self.kind != "numeric"

    @property
    def has_order(self) -> bool:
        """Whether its values have an order to go by: nominal categories and locations where the domain is declared."""
        return self.kind in ("numeric", "ordinal") or self.domain is not None

    def changed(self, **changes: Any) -> Attribute:
        """A copy with some fields changed, checked like a new one."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return make_attribute({**values, **changes})

    def with_missing_of(self, other: Attribute) -> Attribute:
        """The same attribute, knowing besides its own the missing codes that another description of its kind has."""
        codes = tuple(code for code in other.missing_codes if code not in self.missing_codes)
        ranges = tuple(limits for limits in other.missing_ranges if limits not in self.missing_ranges)
        if other.kind != self.kind or not (codes or ranges):
            return self
        return self.changed(missing_codes=(*self.missing_codes, *codes), missing_ranges=(*self.missing_ranges, *ranges))

    def to_plain(self) -> dict[str, Any]:
        """Only what differs from the defaults, as TOML and JSON can hold it."""
        values: dict[str, Any] = {"kind": self.kind}
        if self.roles:
            values["role"] = self.roles[0] if len(self.roles) == 1 else list(self.roles)
        if self.level != "record":
            values["level"] = self.level
        for name in ("domain", "range"):
            if getattr(self, name) is not None:  # a domain without categories is one too
                values[name] = list(getattr(self, name))
        if self.missing_codes:
            values["missing_codes"] = list(self.missing_codes)
        if self.missing_ranges:
            values["missing_ranges"] = [list(limits) for limits in self.missing_ranges]
        values["missing"] = self.missing
        if self.label:
            values["label"] = self.label
        if self.value_labels:
            values["value_labels"] = [[code, text] for code, text in self.value_labels.items()]
        if self.hierarchy is not None:
            values["hierarchy"] = self.hierarchy.to_plain()
        return values


def _is_category(value: object) -> bool:
    return isinstance(value, str | int | float)


def category_key(value: object) -> tuple[str, object]:
    """Categories 1 and 1.0 are the same, 1 and True and "1" are not."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int | float):
        return ("number", float(value))
    return ("text", str(value))


def make_attribute(values: Mapping[str, Any]) -> Attribute:
    """Build an attribute; what is wrong with it comes out as one sentence that names it."""
    values = dict(values)
    labels = values.get("value_labels")
    if isinstance(labels, list | tuple):
        if not all(isinstance(pair, list | tuple) and len(pair) == 2 and _is_category(pair[0]) for pair in labels):
            name = shortened(str(values.get("name", "?")))
            raise SchemaError(f"attribute '{name}': value_labels must be pairs of a code and a text")
        values["value_labels"] = dict(map(tuple, labels))
    try:
        return Attribute(**values)
    except UnicodeEncodeError:  # half of a pair of surrogates, which no encoding has
        name = shortened(ascii(values.get("name", "?")).strip("'"))
        raise SchemaError(f"attribute '{name}': a text holds a character that cannot be written") from None
    except pydantic.ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        name = shortened(str(values.get("name", "?")))
        raise SchemaError(f"attribute '{name}': {_what_is_wrong(first)}") from None
    except SchemaError as problem:
        raise SchemaError(f"attribute '{shortened(str(values.get('name', '?')))}': {problem}") from None


def _what_is_wrong(error: Mapping[str, Any]) -> str:
    """The field and what is wrong with it; an error of ours names the field itself."""
    if not error["loc"] or isinstance(raised_by(error), MicroveilError):
        return what_is_wrong(error)
    what = "it must be given" if error["type"] == "missing" else what_is_wrong(error)
    return f"{shortened(str(error['loc'][0]))}: {what}"


class Schema:
    """The attributes of a table, in column order. Immutable. Of a table of series, `panel` says which they are.

    >>> schema = Schema([Attribute(name="age", kind="numeric", roles=("key",)), Attribute(name="job", kind="nominal")])
    >>> schema.keys
    ('age',)
    >>> schema.with_roles(key=["job"]).keys
    ('job',)
    """

    attributes: tuple[Attribute, ...]
    panel: Panel | None

    def __init__(self, attributes: Iterable[Attribute], panel: Panel | None = None) -> None:
        object.__setattr__(self, "attributes", tuple(attributes))
        object.__setattr__(self, "panel", panel)
        repeated = _repeated([a.name for a in self.attributes])
        if repeated:
            raise SchemaError(f"attribute '{repeated}' is described twice")
        for role in ("weight", "household", "series", "node", "record"):
            holders = self.having(role)
            if len(holders) > 1:
                what = "id of the record" if role == "record" else role
                raise SchemaError(f"only one attribute can be the {what}, not {' and '.join(holders)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a schema does not change; make another with `replacing`, `with_roles` or `with_kinds`")

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {a.name: a for a in self.attributes}

    def __getitem__(self, name: str) -> Attribute:
        if name not in self._by_name:
            raise UnknownNameError("column", name, list(self._by_name))
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and (self.attributes, self.panel) == (other.attributes, other.panel)

    def __hash__(self) -> int:
        return hash(tuple(a.name for a in self.attributes))

    def __repr__(self) -> str:
        return (
            "Schema(" + ", ".join(f"{a.name}: {a.kind}{' ' + '+'.join(a.roles) if a.roles else ''}" for a in self) + ")"
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    def having(self, role: str) -> tuple[str, ...]:
        """The names of the attributes that have a role."""
        return tuple(a.name for a in self.attributes if role in a.roles)

    def of_kind(self, *kinds: str) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes if a.kind in kinds)

    @property
    def keys(self) -> tuple[str, ...]:
        return self.having("key")

    @property
    def confidential(self) -> tuple[str, ...]:
        return self.having("confidential")

    @property
    def identifiers(self) -> tuple[str, ...]:
        return self.having("identifier")

    @property
    def weight(self) -> str | None:
        return next(iter(self.having("weight")), None)

    @property
    def record_id(self) -> str | None:
        """The attribute by which random numbers are drawn, whatever the order of the records."""
        return next(iter(self.having("record")), None)

    @property
    def household(self) -> str | None:
        return next(iter(self.having("household")), None)

    @property
    def household_attributes(self) -> tuple[str, ...]:
        """The names of the attributes that are declared as ones of the household."""
        return tuple(a.name for a in self.attributes if a.level == "household")

    @property
    def node(self) -> str | None:
        """The column that the edges of a graph name its nodes by."""
        return next(iter(self.having("node")), None)

    @property
    def has_roles(self) -> bool:
        """Whether any attribute has one, beside the node of a graph."""
        return any(set(a.roles) - {"node"} for a in self.attributes)

    def select(self, names: Sequence[str]) -> Schema:
        panel = self.panel.restricted(names) if self.panel is not None and self.panel.is_read else self.panel
        return Schema((self[name] for name in names), panel)

    def read_as(self, other: Schema) -> Schema:
        """This schema of a file as one of the table that another describes, which was read from such a file."""
        read = other.panel
        if read is None or not read.is_read or self.panel is None or self.panel.is_read:
            return self if read is None or self.panel is not None else Schema(self.attributes, read)
        if self.panel != read:
            raise SchemaError("the schema declares other series than the table has")
        if read.form == "wide":
            return Schema(self.attributes, read)
        from microveil.microdata.panel_forms import expanded_schema

        return expanded_schema(self, read, other.names)

    def expanded(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names with every variable of a table of series replaced by its columns."""
        return tuple(names) if self.panel is None else self.panel.expanded(names)

    def collapsed(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names with all columns of a variable of a table of series replaced by its name."""
        return tuple(names) if self.panel is None else self.panel.collapsed(names)

    def with_whole_series(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names with all columns of a variable of a table of series where any of them is there: who knows a series
        at some times knows it at the others."""
        return tuple(names) if self.panel is None else self.panel.with_whole_series(names)

    def replacing(self, *attributes: Attribute) -> Schema:
        """A copy in which these attributes take the place of those of the same name."""
        new = {a.name: a for a in attributes}
        for name in new:
            self[name]
        return Schema((new.get(a.name, a) for a in self.attributes), self.panel)

    def with_roles(self, **names_by_role: Sequence[str] | str | None) -> Schema:
        """Give roles anew: `with_roles(key=["age", "zip"], weight="w")`; a role named here is taken from all others."""
        schema = self
        for role, given in names_by_role.items():
            if role not in ROLES:
                raise UnknownNameError("role", role, ROLES)
            if given is None:
                continue
            names = self.expanded([given] if isinstance(given, str) else given)
            for name in names:
                self[name]
            schema = Schema((_with_role(a, role, a.name in names) for a in schema.attributes), self.panel)
        return schema

    def with_kinds(self, **names_by_kind: Sequence[str] | None) -> Schema:
        """Set kinds: `with_kinds(nominal=["sex"], ordinal=["education"])`."""
        changed: dict[str, Attribute] = {}
        for kind, names in names_by_kind.items():
            if kind not in KINDS:
                raise UnknownNameError("kind", kind, KINDS)
            for name in self.expanded(names or ()):
                changed[name] = _with_kind(self[name], kind)
        return self.replacing(*changed.values())

    def with_household_attributes(self, names: Sequence[str] | str | None) -> Schema:
        """Declare anew which attributes are ones of the household; None leaves them as they are.

        >>> schema = Schema([Attribute(name="home", kind="nominal"), Attribute(name="rent", kind="numeric")])
        >>> schema.with_household_attributes(["rent"])["rent"].level
        'household'
        """
        if names is None:
            return self
        chosen = self.expanded([names] if isinstance(names, str) else names)
        for name in chosen:
            self[name]
        levels = {a.name: "household" if a.name in chosen else "record" for a in self.attributes}
        return self.replacing(*(a.changed(level=levels[a.name]) for a in self if a.level != levels[a.name]))

    def in_words(self, text: str) -> str:
        """A sentence in which the list of all columns of a variable of a table of series is its name."""
        for variable, columns in ({} if self.panel is None else self.panel.columns).items():
            text = text.replace(", ".join(columns), variable)
        return text

    def to_plain(self) -> dict[str, Any]:
        """As TOML and JSON can hold it; of a long table of series the attributes are the columns of its file."""
        if self.panel is None:
            return {"attributes": {a.name: a.to_plain() for a in self.attributes}}
        attributes: dict[str, Any] = {}
        for a in self.attributes:
            variable = self.panel.variable_of(a.name) if self.panel.form == "long" else None
            attributes.setdefault(variable or a.name, a.to_plain())
        return {"series": self.panel.to_plain(), "attributes": attributes}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], folder: Path | None = None) -> Schema:
        """Build from the content of a TOML or JSON file; hierarchies may be file names relative to `folder`."""
        table = plain.get("attributes") if isinstance(plain, Mapping) else None
        if not isinstance(table, Mapping) or set(plain) - {"attributes", "series"}:
            raise SchemaError(
                "a schema has a table [attributes] with an entry for each column and, for series, a table [series]"
            )
        series = plain.get("series")
        if series is not None and not isinstance(series, Mapping):
            raise SchemaError("the table [series] of a schema says which columns are id, time and values")
        attributes = []
        for name, entry in table.items():
            if not isinstance(entry, Mapping):
                raise SchemaError(
                    f"attribute '{shortened(str(name))}': its entry must be a table such as {{ kind = 'numeric' }}"
                )
            values = dict(entry)
            if isinstance(values.get("hierarchy"), str):
                values["hierarchy"] = Hierarchy.read((folder or Path()) / values["hierarchy"])
            if "name" in values:
                raise SchemaError(f"attribute '{shortened(str(name))}': its name stands before its entry, not in it")
            attributes.append(make_attribute({"name": name, **values}))
        return cls(attributes, None if series is None else Panel.from_plain(series))

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a schema from a TOML file."""
        path = Path(path)
        with errors_of_file(path):
            return cls.from_plain(parsed(tomllib.loads, read_text(path)), path.parent)

    def to_toml(self) -> str:
        return toml_of(self.to_plain())

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the schema as a TOML file that `read` gives back."""
        from microveil.microdata.files.atomic import write_text
        from microveil.microdata.files.formats import check_no_table

        check_no_table(path, "a schema", ".toml")
        write_text(path, self.to_toml(), force=force)


def _with_role(attribute: Attribute, role: str, wanted: bool) -> Attribute:
    roles = [r for r in attribute.roles if r != role] + ([role] if wanted else [])
    return attribute if tuple(roles) == attribute.roles else attribute.changed(roles=tuple(roles))


def _with_kind(attribute: Attribute, kind: str) -> Attribute:
    if kind == attribute.kind:
        return attribute
    if kind == "numeric":
        return attribute.changed(kind=kind, domain=None, hierarchy=None)
    policy = "own category" if attribute.kind == "numeric" else attribute.missing
    hierarchy = None if isinstance(attribute.hierarchy, Intervals) else attribute.hierarchy
    return attribute.changed(kind=kind, range=None, missing=policy, hierarchy=hierarchy)


def _repeated(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
