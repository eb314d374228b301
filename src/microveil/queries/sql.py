"""Questions written as SQL: parsed by sqlglot, and every node of the tree must be one that the language has.

What comes out is a question of ours; the text goes nowhere else.
"""

from __future__ import annotations

import logging
import math
from typing import Any

from microveil.errors import ParameterError
from microveil.queries.conditions import EVERYBODY, Formula, all_of, any_of
from microveil.queries.questions import Fields, Question, QuestionError, Value

TABLE = "data"
LONGEST = 10_000  # characters of a question
_DEEPEST = 50
_ONLY = (
    "a question has the form SELECT COUNT(*) | SUM(x) | AVG(x) | MEDIAN(x) | MIN(x) | MAX(x) FROM data "
    "[WHERE conditions] [GROUP BY attributes]"
)


def question_of(text: str, fields: Fields) -> Question:
    """The question that a text in SQL asks; anything else is refused in one sentence."""
    exp = _sqlglot().exp
    tree = _parsed(text)
    if not isinstance(tree, exp.Select):
        raise QuestionError(f"{_what(tree)} is not allowed; {_ONLY}")
    for name, part in tree.args.items():
        if part and name not in ("expressions", "from_", "where", "group", "kind"):
            raise QuestionError(f"{name.strip('_').upper()} is not allowed; {_ONLY}")
    if tree.args.get("kind"):
        raise QuestionError(_ONLY)
    _check_source(tree.args.get("from_"))
    by = _grouped(tree.args.get("group"))
    shown, statistics = [], []
    for expression in tree.expressions:
        if isinstance(expression, exp.Alias):
            raise QuestionError("a question has no names of its own (AS)")
        if isinstance(expression, exp.Column):
            shown.append(_name(expression))
        else:
            statistics.append(expression)
    if len(statistics) != 1:
        raise QuestionError(f"a question asks for one statistic at a time; {_ONLY}")
    if {fields[name].name for name in shown} - {fields[name].name for name in by}:
        raise QuestionError(
            "values of single records are not given out; what is selected beside the statistic must "
            "stand after GROUP BY"
        )
    statistic, value = _statistic(statistics[0])
    where = tree.args.get("where")
    formula = EVERYBODY if where is None else _formula(where.this, fields)
    return fields.checked(Question(statistic, value, formula, tuple(by)))


def formula_of(text: str, fields: Fields) -> Formula:
    """Conditions alone, as they stand after WHERE."""
    return question_of(f"SELECT COUNT(*) FROM {TABLE} WHERE {text}", fields).where


def _sqlglot() -> Any:
    try:
        import sqlglot
    except ImportError:
        raise ParameterError(
            'questions in SQL need sqlglot; pip install "microveil[queries]", or ask in the JSON form'
        ) from None
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would repeat on the terminal what analysts write
    return sqlglot


def _parsed(text: str) -> Any:
    sqlglot = _sqlglot()
    if len(text) > LONGEST:
        raise QuestionError(f"a question has at most {LONGEST:,} characters, not {len(text):,}")
    if any(ord(sign) < 32 and sign not in "\t\n\r" for sign in text):
        raise QuestionError("a question has no control characters")
    try:
        tokens = sqlglot.tokenize(text, dialect="duckdb")
        if any(token.comments for token in tokens) or "--" in _outside_quotes(text) or "/*" in _outside_quotes(text):
            raise QuestionError("a question has no comments")
        trees = sqlglot.parse(text, dialect="duckdb")
    except QuestionError:
        raise
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        raise QuestionError(f"this is not SQL that can be understood; {_ONLY}") from None
    if len(trees) != 1 or trees[0] is None:
        raise QuestionError("one question at a time")
    if max((node.depth for node in trees[0].walk()), default=0) > _DEEPEST:
        raise QuestionError("conditions are nested too deeply")
    return trees[0]


def _outside_quotes(text: str) -> str:
    """The text without what stands in quotes."""
    kept, quote = [], ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            kept.append(sign)
    return "".join(kept)


def _what(tree: Any) -> str:
    """What kind of statement or expression it is, in the words of SQL."""
    words = type(tree).__name__
    return "".join(
        f" {sign}" if sign.isupper() and at and not words[at - 1].isupper() else sign for at, sign in enumerate(words)
    ).upper()


def _check_source(source: Any) -> None:
    exp = _sqlglot().exp
    table: Any = None if source is None else source.this
    plain = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    if not plain or table.name.casefold() != TABLE or _has_more(table):
        raise QuestionError(f"there is one table, and its name is {TABLE}")


def _has_more(node: Any) -> bool:
    """Whether a node has anything beside its name."""
    return any(part for name, part in node.args.items() if name != "this")


def _grouped(group: Any) -> list[str]:
    if group is None:
        return []
    if any(part for name, part in group.args.items() if name != "expressions"):
        raise QuestionError("GROUP BY lists attributes and nothing else")
    return [_name(expression) for expression in group.expressions]


def _name(column: Any) -> str:
    exp = _sqlglot().exp
    if not isinstance(column, exp.Column) or not isinstance(column.this, exp.Identifier):
        raise QuestionError(f"an attribute is expected where {_what(column)} stands")
    if any(
        part
        for name, part in column.args.items()
        if name != "this" and not (name == "table" and column.table.casefold() == TABLE)
    ):
        raise QuestionError(f"an attribute is named by itself, without other tables than {TABLE}")
    return str(column.name)


def _statistic(expression: Any) -> tuple[Any, str | None]:
    exp = _sqlglot().exp
    known = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "mean", exp.Median: "median", exp.Min: "min", exp.Max: "max"}
    statistic = known.get(type(expression))
    if statistic is None:
        raise QuestionError(f"{_what(expression)} is no statistic that can be asked for; {_ONLY}")
    extra = {name for name, part in expression.args.items() if part and name not in ("this", "big_int")}
    if extra or isinstance(expression.this, exp.Distinct):
        raise QuestionError(f"{statistic.upper()} takes one attribute and nothing else")
    if isinstance(expression.this, exp.Star):
        if statistic != "count" or any(expression.this.args.values()):
            raise QuestionError("* can be counted only")
        return statistic, None
    return statistic, _name(expression.this)


def _formula(node: Any, fields: Fields, *, not_: bool = False) -> Formula:
    exp = _sqlglot().exp
    if isinstance(node, exp.Paren):
        return _formula(node.this, fields, not_=not_)
    if isinstance(node, exp.Not):
        return _formula(node.this, fields, not_=not not_)
    if isinstance(node, exp.And | exp.Or):
        parts = [_formula(part, fields, not_=not_) for part in (node.this, node.expression)]
        return all_of(parts) if isinstance(node, exp.And) != not_ else any_of(parts)
    comparisons = {exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
    comparison = comparisons.get(type(node))
    if comparison is not None:
        return _compared(node, comparison, fields, not_=not_)
    if isinstance(node, exp.In):
        if any(part for name, part in node.args.items() if name not in ("this", "expressions")):
            raise QuestionError("IN takes a list of values and nothing else")
        name, level = _subject(node.this)
        return fields.condition(name, "in", [_literal(e) for e in node.expressions], level=level, not_=not_)
    if isinstance(node, exp.Between):
        if node.args.get("symmetric"):
            raise QuestionError("BETWEEN takes a lower and an upper value")
        limits = [_literal(node.args["low"]), _literal(node.args["high"])]
        return fields.condition(_name(node.this), "between", limits, not_=not_)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return fields.condition(_name(node.this), "is missing", None, not_=not_)
    raise QuestionError(
        f"{_what(node)} is not allowed in a condition; there are =, <>, <, <=, >, >=, IN, BETWEEN, "
        "IS NULL, AND, OR, NOT"
    )


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def _compared(node: Any, comparison: str, fields: Fields, *, not_: bool) -> Formula:
    exp = _sqlglot().exp
    left, right = node.this, node.expression
    if isinstance(left, exp.Literal | exp.Neg | exp.Boolean):
        left, right, comparison = right, left, _MIRRORED[comparison]
    name, level = _subject(left)
    return fields.condition(name, comparison, _literal(right), level=level, not_=not_)


def _subject(node: Any) -> tuple[str, int | None]:
    """The attribute that is compared, and the level of its hierarchy: `region` or `generalise(region, 1)`."""
    exp = _sqlglot().exp
    if isinstance(node, exp.Anonymous) and str(node.this).casefold() in ("generalise", "generalize"):
        if len(node.expressions) != 2:
            raise QuestionError("GENERALISE takes an attribute and a level")
        level = _literal(node.expressions[1])
        if isinstance(level, bool) or not isinstance(level, int):
            raise QuestionError("GENERALISE takes an attribute and a level, which is a whole number")
        return _name(node.expressions[0]), level
    return _name(node), None


def _literal(node: Any) -> Value:
    exp = _sqlglot().exp
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return -_number(node.this.this)
    if not isinstance(node, exp.Literal):
        raise QuestionError(f"an attribute is compared with a text or a number, not with {_what(node)}")
    return str(node.this) if node.is_string else _number(node.this)


def _number(text: str) -> int | float:
    try:
        value = float(text)
    except ValueError:
        raise QuestionError("a number is expected") from None
    if not math.isfinite(value) or abs(value) > 1e300:
        raise QuestionError("a number is too large")
    return int(value) if text.isdecimal() and abs(value) < 2**53 else value
