"""Conditions of a statement as inputs of an access pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from sqlglot import exp

from prejoin.migrate.discover.scope import MisfitError, Place, Scope, conjuncts
from prejoin.migrate.queries.statement import Statement
from prejoin.migrate.source.model import Column
from prejoin.types import Kind
from prejoin.workload.model import Input, Op, Value

SEARCH = "a prefix is `begins_with` on a normalised copy of the attribute; for anything else use a search service"
NEGATED = "keep the fact as an attribute of the item, and index it; or read more, and filter"
_OPS: dict[type[exp.Expr], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800, "MONTH": 2_592_000}
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")


@dataclass(slots=True)
class SqlCondition:
    """A comparison of a column with values: constants, times from now, or parameters (None)."""

    place: Place
    op: Op
    values: list[Value | None]
    nodes: list[exp.Expr]
    """The nodes of the values in the statement."""
    many: bool = False
    exact: bool = True
    """Whether the SQL of the statement can be run with the arguments of the pattern."""

    @property
    def equality(self) -> bool:
        return self.op is Op.EQ and not self.many


class ConditionReader:
    """Reads the conditions of one statement. `notes` collects guesses."""

    def __init__(self, statement: Statement, scope: Scope) -> None:
        self.statement = statement
        self.scope = scope
        self.notes: list[str] = []

    def read(self, node: exp.Expr) -> SqlCondition | None:
        """A condition; None if it is always true. Raises MisfitError."""
        node = _bare(node)
        if node.args.get("negate") and not (isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)):
            raise MisfitError(f"it has `{_short(node)}`", NEGATED)
        match node:
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._comparison(node)
            case exp.Between():
                place = self._place(node.this)
                ends = [node.args["low"], node.args["high"]]
                return SqlCondition(place, Op.BETWEEN, [self.value(one, place) for one in ends], ends)
            case exp.In():
                return self._in(node)
            case exp.Like() | exp.ILike():
                return self._like(node)
            case exp.Is() if isinstance(node.expression, exp.Null):
                op = Op.EXISTS if node.args.get("negate") else Op.NOT_EXISTS
                return SqlCondition(self._place(node.this), op, [], [])
            case exp.Is() if isinstance(node.expression, exp.Placeholder):  # IS TRUE
                place = self._place(node.this)
                return SqlCondition(place, Op.EQ, [self.value(node.expression, place)], [node.expression])
            case exp.Not() if _is_null(_bare(node.this)):
                return SqlCondition(self._place(_bare(node.this).this), Op.EXISTS, [], [])
            case exp.Not() if isinstance(_bare(node.this), exp.Column):
                return SqlCondition(self._place(node.this), Op.EQ, [Value(const="false")], [])
            case exp.Column():
                return SqlCondition(self._place(node), Op.EQ, [Value(const="true")], [])
            case exp.Or():
                return self._or(node)
            case exp.Exists() | exp.Not():
                what = "it has a condition with a subquery" if node.find(exp.Select) else f"it has `{_short(node)}`"
                raise MisfitError(what, NEGATED)
            case exp.Placeholder() | exp.Boolean():
                return None
        raise MisfitError(f"it has the condition `{_short(node)}`", "store what it computes as an attribute, or filter")

    def _comparison(self, node: exp.Expr) -> SqlCondition | None:
        left, right = _unwrapped(node.this), _unwrapped(node.expression)
        op = _OPS[type(node)]
        if isinstance(left, exp.Placeholder) and isinstance(right, exp.Placeholder):
            return None  # 1 = 1
        if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
            left, right, op = right, left, op.flipped or op
        place = self._place(left)
        if isinstance(right, exp.Any) and op is Op.EQ:  # PostgreSQL: id = ANY($1)
            inner = right.find(exp.Placeholder)
            if inner is not None:
                return SqlCondition(place, Op.EQ, [None], [inner], many=True, exact=False)
        return SqlCondition(place, op, [self.value(right, place)], [right])

    def _in(self, node: exp.In) -> SqlCondition:
        place = self._place(node.this)
        if not node.expressions or node.args.get("query"):
            raise MisfitError("it has a condition with a subquery", "read the ids first, then the items by their ids")
        (value,) = node.expressions
        if isinstance(value, exp.Placeholder):
            literals = self.statement.literals.get(value.name, [])
            if literals and value.name not in self.statement.given and self._few(place):
                self.notes.append(f"the values {', '.join(literals)} are taken as constants")
                return SqlCondition(
                    place, Op.IN, [Value(const=self._text(v, place)) for v in literals], [value], exact=False
                )
        return SqlCondition(place, Op.EQ, [None], [value], many=True)

    def _like(self, node: exp.Expr) -> SqlCondition:
        place, value = self._place(node.this), _bare(node.expression)
        literals = self.statement.literals.get(value.name, []) if isinstance(value, exp.Placeholder) else []
        prefixes = [v for v in literals if re.fullmatch(r"[^%_]+%", v)]
        if literals and len(prefixes) == len(literals):
            if isinstance(node, exp.ILike):
                self.notes.append("the prefix ignores case: store the text in lower case, too")
            return SqlCondition(place, Op.BEGINS_WITH, [None], [value], exact=not isinstance(node, exp.ILike))
        raise MisfitError(f"it searches in `{self.scope.attribute(place)}` (LIKE)", SEARCH)

    def _or(self, node: exp.Or) -> SqlCondition:
        parts = [self.read(one) for one in _disjuncts(node)]
        found = [one for one in parts if one is not None]
        if len(found) == len(parts) and len({one.place for one in found}) == 1 and all(c.op is Op.EQ for c in found):
            values = [value for one in found for value in one.values]
            if all(value is not None and value.const is not None for value in values):
                return SqlCondition(found[0].place, Op.IN, values, [], exact=False)
            return SqlCondition(found[0].place, Op.EQ, [None], [], many=True, exact=False)
        raise MisfitError(
            "it has alternatives (OR)", "one access pattern for each alternative; merge in the application"
        )

    def _place(self, node: exp.Expr) -> Place:
        node = _unwrapped(node)
        if isinstance(node, exp.Column):
            return self.scope.place(node)
        column = node.find(exp.Column)
        if column is None:
            raise MisfitError(f"it has the condition `{_short(node)}`", "compare an attribute with a value")
        if isinstance(node, exp.Lower | exp.Upper):
            name = self.scope.attribute(self.scope.place(column))
            raise MisfitError(
                f"it compares `{_short(node)}`", f"store `{name}` in lower case in an attribute of its own"
            )
        raise MisfitError(
            f"it computes `{_short(node)}` in a condition", "store the result as an attribute, and index it"
        )

    def value(self, node: exp.Expr, place: Place) -> Value | None:
        node = _bare(node)
        if isinstance(node, exp.Placeholder):
            constant = self.statement.constant(node.name)
            if constant is not None and self._is_constant(constant, place):
                text = self._text(constant, place)
                self.notes.append(f"{text} is taken as a constant for `{self.scope.attribute(place)}`")
                return Value(const=text)
            return None
        if (seconds := _from_now(node)) is not None:
            return Value(now=seconds)
        if isinstance(node, exp.Boolean):
            return Value(const="true" if node.this else "false")
        raise MisfitError(f"it compares with `{_short(node)}`", "compute the value in the application")

    def _column(self, place: Place) -> Column:
        column = self.scope.tables[place.alias].table.column(place.column)
        assert column is not None  # a place is of a column
        return column

    def _few(self, place: Place) -> bool:
        """Whether the column has few different values, so that a literal in the code is probably a constant."""
        table = self.scope.tables[place.alias].table
        keys = {
            *table.key,
            *(c for fk in table.foreign_keys for c in fk.columns),
            *(c for u in table.unique for c in u),
        }
        kind = self._column(place).type.kind
        return place.column not in keys and kind in (Kind.ENUM, Kind.BOOLEAN, Kind.STRING, Kind.INTEGER)

    def _is_constant(self, text: str, place: Place) -> bool:
        if not self._few(place):
            return False
        kind = self._column(place).type.kind
        match kind:
            case Kind.ENUM | Kind.BOOLEAN:
                return True
            case Kind.INTEGER:
                return text in ("0", "1")
            case (
                Kind.STRING
                | Kind.NUMBER
                | Kind.DECIMAL
                | Kind.BINARY
                | Kind.DATE
                | Kind.DATETIME
                | Kind.UUID
                | Kind.ULID
                | Kind.LIST
                | Kind.MAP
                | Kind.SET
                | Kind.CONTENT
            ):
                return bool(_WORD.fullmatch(text)) and (self.statement.calls > 2 or text.isupper())
            case _:
                assert_never(kind)

    def _text(self, text: str, place: Place) -> str:
        if self._column(place).type.kind is Kind.BOOLEAN:
            return {"1": "true", "0": "false", "t": "true", "f": "false"}.get(text.lower(), text.lower())
        return text


def inputs_of(conditions: Sequence[SqlCondition], scope: Scope, sorted_by: str = "") -> list[Input]:
    """Inputs of a pattern. Two ends on one attribute are a range; what no key can answer beside it is a filter."""
    found: list[Input] = []
    ranges: dict[Place, list[SqlCondition]] = {}
    for one in conditions:
        name = scope.attribute(one.place)
        if one.op in (Op.LT, Op.LE, Op.GT, Op.GE, Op.BETWEEN, Op.BEGINS_WITH):
            ranges.setdefault(one.place, []).append(one)
        elif one.op in (Op.NE, Op.NOT_EXISTS):
            found.append(Input(name, one.op, _values(one), filter=True))
        elif one.op is Op.EXISTS:
            found.append(Input(name, one.op))
        else:
            found.append(Input(name, one.op, _values(one), many=one.many))
    spans = [_span(scope.attribute(place), several) for place, several in ranges.items()]
    spans.sort(key=lambda span: span.attribute != sorted_by)
    first = spans[:1]
    return [*found, *first, *(Input(s.attribute, s.op, s.values, filter=True) for s in spans[1:])]


def _values(condition: SqlCondition) -> tuple[Value, ...]:
    return tuple(v for v in condition.values if v is not None) if None not in condition.values else ()


def _span(name: str, conditions: Sequence[SqlCondition]) -> Input:
    low = next((c for c in conditions if c.op in (Op.GT, Op.GE)), None)
    high = next((c for c in conditions if c.op in (Op.LT, Op.LE)), None)
    if low and high:  # the ends of `between` are included
        values = (*_values(low), *_values(high))
        return Input(name, Op.BETWEEN, values if len(values) == 2 else ())
    return Input(name, conditions[0].op, _values(conditions[0]))


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren | exp.Cast | exp.TryCast) or type(node).__name__ in ("Collate", "Binary"):
        node = node.this
    return node


def _unwrapped(node: exp.Expr) -> exp.Expr:
    """A node without parentheses. A cast of a column stays: it changes what is compared."""
    while isinstance(node, exp.Paren):
        node = node.this
    inner = _bare(node)
    return node if isinstance(inner, exp.Column) else inner


def _is_null(node: exp.Expr) -> bool:
    return isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) and not node.args.get("negate")


def _disjuncts(node: exp.Expr) -> list[exp.Expr]:
    node = _bare(node)
    return [*_disjuncts(node.left), *_disjuncts(node.right)] if isinstance(node, exp.Or) else [node]


def _from_now(node: exp.Expr) -> int | None:
    """Seconds from now: 0 for now, -604800 for a week ago; None if the node is no such time."""
    if isinstance(node, exp.CurrentTimestamp | exp.CurrentDatetime | exp.CurrentDate) or node.sql().lower() in (
        "now()",
    ):
        return 0
    if isinstance(node, exp.Sub | exp.Add | exp.DateSub | exp.DateAdd):
        interval = node.find(exp.Interval)
        base = _from_now(_bare(node.this))
        if interval is None or base is None:
            return None
        amount = re.match(r"'?(\d++)'?\s*+(\w*)", interval.this.sql() if interval.this else "")
        unit = (
            (interval.args["unit"].name if interval.args.get("unit") else amount[2] if amount else "")
            .upper()
            .rstrip("S")
        )
        if amount and unit in _SECONDS:
            sign = -1 if isinstance(node, exp.Sub | exp.DateSub) else 1
            return sign * int(amount[1]) * _SECONDS[unit]
    return None


def _short(node: exp.Expr) -> str:
    text = node.sql(comments=False).replace("`", "").replace("|", "/")
    return text if len(text) <= 50 else f"{text[:49]}…"


__all__ = ["SEARCH", "ConditionReader", "SqlCondition", "conjuncts", "inputs_of"]
