"""Conditions of a statement as inputs of an access pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from sqlglot import exp

from prejoin.migrate.discover.scope import MisfitError, Place, Scope
from prejoin.migrate.queries.statement import Statement
from prejoin.migrate.source.model import Column
from prejoin.types import Kind
from prejoin.workload.model import Input, Op, Value

SEARCH = "a prefix is `begins_with` on a normalised copy of the attribute; for anything else use a search service"
NEGATION = "keep the fact as an attribute of the item, and index it; or read more, and filter"
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
    is_list: bool = False
    """Whether the parameter is a list: IN, or = ANY."""
    exact: bool = True
    """Whether the SQL of the statement can be run with the arguments of the pattern."""

    @property
    def is_equality(self) -> bool:
        return self.op is Op.EQ and not self.is_list


class ConditionReader:
    """Reads the conditions of one statement. `notes` collects guesses."""

    def __init__(self, statement: Statement, scope: Scope) -> None:
        self.statement = statement
        self.scope = scope
        self.notes: list[str] = []

    def read(self, node: exp.Expr) -> SqlCondition | None:
        """A condition; None if it is always true. Raises MisfitError.

        One piece, because it is a table of SQL's forms of conditions, and the order matters: NOT of a subquery comes
        after the two forms of NOT that are conditions of an attribute.
        """
        node = _without_casts(node)
        if node.args.get("negate") and not (isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)):
            raise MisfitError(f"it has `{_short(node)}`", NEGATION)
        match node:
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._comparison(node)
            case exp.Between():
                place = self._place(node.this)
                ends = [node.args["low"], node.args["high"]]
                return SqlCondition(place, Op.BETWEEN, [self.value(end, place) for end in ends], ends)
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
            case exp.Not() if _is_null(_without_casts(node.this)):
                return SqlCondition(self._place(_without_casts(node.this).this), Op.EXISTS, [], [])
            case exp.Not() if isinstance(_without_casts(node.this), exp.Column):
                return SqlCondition(self._place(node.this), Op.EQ, [Value(const="false")], [])
            case exp.Column():
                return SqlCondition(self._place(node), Op.EQ, [Value(const="true")], [])
            case exp.Or():
                return self._or(node)
            case exp.Exists() | exp.Not():
                reason = "it has a condition with a subquery" if node.find(exp.Select) else f"it has `{_short(node)}`"
                raise MisfitError(reason, NEGATION)
            case exp.Placeholder() | exp.Boolean():  # ORMs write `WHERE true` before the conditions that they append
                return None
        raise MisfitError(f"it has the condition `{_short(node)}`", "store what it computes as an attribute, or filter")

    def _comparison(self, node: exp.Expr) -> SqlCondition | None:
        left_operand, right_operand = _operand(node.this), _operand(node.expression)
        op = _OPS[type(node)]
        if isinstance(left_operand, exp.Placeholder) and isinstance(right_operand, exp.Placeholder):
            return None  # 1 = 1
        if not isinstance(left_operand, exp.Column) and isinstance(right_operand, exp.Column):
            left_operand, right_operand, op = right_operand, left_operand, op.flipped or op
        place = self._place(left_operand)
        if isinstance(right_operand, exp.Any) and op is Op.EQ:  # PostgreSQL: id = ANY($1)
            parameter = right_operand.find(exp.Placeholder)
            if parameter is not None:
                return SqlCondition(place, Op.EQ, [None], [parameter], is_list=True, exact=False)
        return SqlCondition(place, op, [self.value(right_operand, place)], [right_operand])

    def _in(self, node: exp.In) -> SqlCondition:
        place = self._place(node.this)
        if not node.expressions or node.args.get("query"):
            raise MisfitError("it has a condition with a subquery", "read the ids first, then the items by their ids")
        (value,) = node.expressions
        if isinstance(value, exp.Placeholder):
            literals = self.statement.literals.get(value.name, [])
            if literals and value.name not in self.statement.placeholders and self._may_have_constants(place):
                self.notes.append(f"the values {', '.join(literals)} are taken as constants")
                constants: list[Value | None] = [Value(const=self._constant(text, place)) for text in literals]
                return SqlCondition(place, Op.IN, constants, [value], exact=False)
        return SqlCondition(place, Op.EQ, [None], [value], is_list=True)

    def _like(self, node: exp.Expr) -> SqlCondition:
        place, value = self._place(node.this), _without_casts(node.expression)
        literals = self.statement.literals.get(value.name, []) if isinstance(value, exp.Placeholder) else []
        prefixes = [text for text in literals if re.fullmatch(r"[^%_]+%", text)]
        if literals and len(prefixes) == len(literals):
            if isinstance(node, exp.ILike):
                self.notes.append("the prefix ignores case: store the text in lower case, too")
            return SqlCondition(place, Op.BEGINS_WITH, [None], [value], exact=not isinstance(node, exp.ILike))
        raise MisfitError(f"it searches in `{self.scope.attribute(place)}` (LIKE)", SEARCH)

    def _or(self, node: exp.Or) -> SqlCondition:
        """Alternatives of one attribute are a list: `status = 'OPEN' OR status = 'HELD'` is an IN."""
        parts = [self.read(part) for part in _disjuncts(node)]
        equalities = [part for part in parts if part is not None and part.op is Op.EQ]
        places = {part.place for part in equalities}
        if len(equalities) == len(parts) and len(places) == 1:
            (place,) = places
            values = [value for part in equalities for value in part.values]
            if all(value is not None and value.const is not None for value in values):
                return SqlCondition(place, Op.IN, values, [], exact=False)
            return SqlCondition(place, Op.EQ, [None], [], is_list=True, exact=False)
        raise MisfitError(
            "it has alternatives (OR)", "one access pattern for each alternative; merge in the application"
        )

    def _place(self, node: exp.Expr) -> Place:
        node = _operand(node)
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
        """The constant or the time that a column is compared with; None for an argument of the pattern."""
        node = _without_casts(node)
        if isinstance(node, exp.Placeholder):
            constant = self.statement.constant(node.name)
            if constant is not None and self._is_constant(constant, place):
                text = self._constant(constant, place)
                self.notes.append(f"{text} is taken as a constant for `{self.scope.attribute(place)}`")
                return Value(const=text)
            return None
        seconds = _seconds_from_now(node)
        if seconds is not None:
            return Value(now=seconds)
        if isinstance(node, exp.Boolean):
            return Value(const="true" if node.this else "false")
        raise MisfitError(f"it compares with `{_short(node)}`", "compute the value in the application")

    def _column(self, place: Place) -> Column:
        column = self.scope.tables[place.alias].table.column(place.column)
        assert column is not None  # a place is of a column
        return column

    def _may_have_constants(self, place: Place) -> bool:
        """Whether a literal in the code may be a constant: not for ids, whose literals are examples of an argument."""
        table = self.scope.tables[place.alias].table
        foreign_keys = (fk.columns for fk in table.foreign_keys)
        ids = {column for columns in (table.key, *foreign_keys, *table.unique) for column in columns}
        kind = self._column(place).type.kind
        return place.column not in ids and kind in (Kind.ENUM, Kind.BOOLEAN, Kind.STRING, Kind.INTEGER)

    def _is_constant(self, text: str, place: Place) -> bool:
        """Whether the only literal that was seen is a constant of the code, not an argument that was always the same.

        A guess, which a note says: one of an enum, a boolean, 0 and 1, a word that was seen often or is in upper case.
        """
        if not self._may_have_constants(place):
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

    def _constant(self, text: str, place: Place) -> str:
        """A literal as a document writes it. MySQL and SQLite have 0 and 1 for booleans, PostgreSQL's logs t and f."""
        if self._column(place).type.kind is Kind.BOOLEAN:
            return {"1": "true", "0": "false", "t": "true", "f": "false"}.get(text.lower(), text.lower())
        return text


def inputs_of(conditions: Sequence[SqlCondition], scope: Scope, sort_attribute: str = "") -> list[Input]:
    """Inputs of a pattern. Two ends on one attribute are a range.

    A key condition of DynamoDB has one range. It is that of the attribute that the result is sorted by, if there is
    one; other ranges are filters.
    """
    inputs: list[Input] = []
    ranges: dict[Place, list[SqlCondition]] = {}
    for condition in conditions:
        name = scope.attribute(condition.place)
        if condition.op in (Op.LT, Op.LE, Op.GT, Op.GE, Op.BETWEEN, Op.BEGINS_WITH):
            ranges.setdefault(condition.place, []).append(condition)
        elif condition.op in (Op.NE, Op.NOT_EXISTS):
            inputs.append(Input(name, condition.op, _constants(condition), filter=True))
        elif condition.op is Op.EXISTS:
            inputs.append(Input(name, condition.op))
        else:
            inputs.append(Input(name, condition.op, _constants(condition), many=condition.is_list))
    spans = [_range_input(scope.attribute(place), ends) for place, ends in ranges.items()]
    spans.sort(key=lambda span: span.attribute != sort_attribute)
    filters = [Input(span.attribute, span.op, span.values, filter=True) for span in spans[1:]]
    return [*inputs, *spans[:1], *filters]


def _constants(condition: SqlCondition) -> tuple[Value, ...]:
    """The values of a condition; none if one of them is an argument."""
    constants = tuple(value for value in condition.values if value is not None)
    return constants if len(constants) == len(condition.values) else ()


def _range_input(name: str, conditions: Sequence[SqlCondition]) -> Input:
    """The input for the conditions on one attribute: both ends, or the first of them."""
    low = next((condition for condition in conditions if condition.op in (Op.GT, Op.GE)), None)
    high = next((condition for condition in conditions if condition.op in (Op.LT, Op.LE)), None)
    if low and high:  # the ends of `between` are included
        values = (*_constants(low), *_constants(high))
        return Input(name, Op.BETWEEN, values if len(values) == 2 else ())
    return Input(name, conditions[0].op, _constants(conditions[0]))


def _without_casts(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren | exp.Cast | exp.TryCast) or type(node).__name__ in ("Collate", "Binary"):
        node = node.this
    return node


def _operand(node: exp.Expr) -> exp.Expr:
    """A side of a comparison without parentheses. A cast of a column stays: it changes what is compared."""
    while isinstance(node, exp.Paren):
        node = node.this
    inner = _without_casts(node)
    return node if isinstance(inner, exp.Column) else inner


def _is_null(node: exp.Expr) -> bool:
    return isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) and not node.args.get("negate")


def _disjuncts(node: exp.Expr) -> list[exp.Expr]:
    node = _without_casts(node)
    return [*_disjuncts(node.left), *_disjuncts(node.right)] if isinstance(node, exp.Or) else [node]


def is_now(node: exp.Expr) -> bool:
    """Whether a node is the current time: by sqlglot's class, or as `NOW()`, which it leaves a function in SQLite."""
    current = exp.CurrentTimestamp | exp.CurrentDatetime | exp.CurrentDate
    return isinstance(node, current) or node.sql().lower() == "now()"


def _seconds_from_now(node: exp.Expr) -> int | None:
    """Seconds from now: 0 for now, -604800 for a week ago; None if the node is no such time."""
    if is_now(node):
        return 0
    if not isinstance(node, exp.Sub | exp.Add | exp.DateSub | exp.DateAdd):
        return None
    interval = node.find(exp.Interval)
    base = _seconds_from_now(_without_casts(node.this))
    if interval is None or base is None:
        return None
    # INTERVAL '7 days' has the unit in the text, INTERVAL 7 DAY beside it.
    amount = re.match(r"'?(\d++)'?\s*+(\w*)", interval.this.sql() if interval.this else "")
    if amount is None:
        return None
    unit = interval.args["unit"].name if interval.args.get("unit") else amount[2]
    seconds = _SECONDS.get(unit.upper().rstrip("S"))
    if seconds is None:
        return None
    sign = -1 if isinstance(node, exp.Sub | exp.DateSub) else 1
    return sign * int(amount[1]) * seconds


def _short(node: exp.Expr) -> str:
    text = node.sql(comments=False).replace("`", "").replace("|", "/")
    return text if len(text) <= 50 else f"{text[:49]}…"
