"""A SELECT as an access pattern. A statement that no key can answer raises `MisfitError`, with an alternative."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from sqlglot import exp

from prejoin.migrate.discover.conditions import ConditionReader, SqlCondition, inputs_of
from prejoin.migrate.discover.entities import TableEntity
from prejoin.migrate.discover.scope import SUBQUERY, MisfitError, Scope, scope_of
from prejoin.migrate.queries.statement import Statement, quoted_sql, sql_of
from prejoin.workload.model import (
    Combine,
    Consistency,
    Direction,
    Input,
    Op,
    Pattern,
    Read,
    Result,
    Sort,
    Value,
)
from prejoin.workload.stubs import plural

WAREHOUSE = "keep totals up to date with each write (a counter on the parent), or run it on an export of the table"
_LOW, _HIGH = "_low", "_high"


@dataclass(frozen=True, slots=True)
class DiscoveredPattern:
    """An access pattern that a statement became."""

    pattern: Pattern
    sql: str
    """The statement, its parameters named after the inputs; empty if it cannot be run with the pattern's arguments."""
    quoted: str
    """The statement as it is shown."""
    notes: tuple[str, ...] = ()
    column_changes: frozenset[tuple[str, str]] = frozenset()
    """Columns that a write changes, with their tables."""


def read_pattern(statement: Statement, entities: Mapping[str, TableEntity], dialect: str) -> DiscoveredPattern:
    """The pattern of a SELECT."""
    quoted = quoted_sql(statement, dialect)
    tree = statement.tree.copy()
    if isinstance(tree, exp.Select) and not tree.args.get("from_") and len(tree.expressions) == 1:
        selected = tree.expressions[0].unalias()
        if isinstance(selected, exp.Exists) and isinstance(selected.this, exp.Select):
            tree = selected.this  # SELECT EXISTS (SELECT …)
    if not isinstance(tree, exp.Select):
        raise MisfitError("it combines several queries", "one access pattern for each; merge in the application")
    _refuse_analytics(tree)
    scope, rest = scope_of(tree, entities)
    reader = ConditionReader(statement, scope)
    conditions = [found for one in rest if (found := reader.read(one)) is not None]
    notes = reader.notes
    aggregate, extreme = _aggregate(tree, scope)
    shape = _shape(tree, scope, conditions)
    main, own = shape.main, [_moved(c, shape.main, scope) for c in conditions]
    if shape.left:
        others = " and ".join(scope.tables[a].name for a in shape.left)
        notes.append(f"the joined {others} needs a second request, or a copy of its attributes on the item")
    sort = extreme or _sort(tree, scope, main, shape.children)
    inputs = inputs_of(own, scope, sort[0].attribute if sort else "")
    _refuse_twice(inputs)
    spans = {i.attribute for i in inputs if i.op is Op.BETWEEN}
    strict = [scope.attribute(c.place) for c in own if c.op in (Op.LT, Op.GT) and scope.attribute(c.place) in spans]
    notes += [
        f"the range of `{name}` includes both ends; the statement leaves one out" for name in dict.fromkeys(strict)
    ]
    entity = scope.tables[main]
    equalities = {scope.attribute(c.place) for c in own if c.equality}
    uniques = [entity.id, *(tuple(entity.attributes[c] for c in u) for u in entity.table.unique)]
    single = any(set(u) <= equalities for u in uniques) and not shape.children
    limit, offset, fixed = _limit(tree, statement)
    names = (
        entity.name,
        *(scope.tables[a].name for a in shape.children),
        *(scope.tables[a].name for a in shape.joined),
    )
    result = Result.COUNT if aggregate else Result.ONE if single else Result.MANY
    paged = result is Result.MANY and (offset or (limit and fixed is None))
    if offset and result is Result.MANY:
        notes.append("OFFSET becomes a cursor: pages follow each other, and a page cannot be reached by its number")
    if not inputs and result is not Result.ONE and not limit:
        notes.append("it reads all items")
    if shape.joined:
        name = scope.tables[shape.joined[0]].name
        notes.append(f"the {name} of each item takes a second request; copies of its attributes would save it")
    combine = Combine.COLLECTION if shape.children else Combine.JOIN if shape.joined else None
    read = Read(
        "",
        entities=names,
        description=_description(names, inputs, sort, result, fixed if limit and not paged else None, combine),
        inputs=tuple(inputs),
        result=result,
        needs=_needs(tree, scope, main) if result is Result.MANY and combine is None and not extreme else (),
        limit=1 if extreme else fixed if result is Result.MANY and limit and not paged else None,
        sort=() if result is not Result.MANY else tuple(sort),
        paginated=bool(paged) if result is not Result.COUNT else None,
        page=fixed if paged else None,
        consistency=Consistency.STRONG if tree.args.get("locks") else None,
        combine=combine,
        via=shape.via if combine is Combine.JOIN else "",
    )
    exact = all(c.exact for c in conditions) and combine is not Combine.COLLECTION
    sql = _runnable(tree, conditions, own, scope, dialect) if exact else ""
    return DiscoveredPattern(read, sql, quoted, tuple(dict.fromkeys(notes)))


def _refuse_analytics(tree: exp.Select) -> None:
    if tree.args.get("with_") or tree.args.get("with"):
        raise MisfitError("it is a query with WITH", SUBQUERY)
    if tree.find(exp.Window):
        raise MisfitError("it computes over other rows (a window function)", WAREHOUSE)
    if tree.args.get("group") or tree.args.get("having"):
        raise MisfitError("it groups rows (GROUP BY)", WAREHOUSE)
    if tree.args.get("distinct"):
        raise MisfitError(
            "it finds distinct values (DISTINCT)", "keep the values as items of their own, written with the rows"
        )
    if any(one is not tree for one in tree.find_all(exp.Select)):
        raise MisfitError("it has a subquery", SUBQUERY)


def _refuse_twice(inputs: Sequence[Input]) -> None:
    names = [one.attribute for one in inputs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise MisfitError(
            f"it has two conditions on `{twice}`", "give one of them, and check the other in the application"
        )


def _aggregate(tree: exp.Select, scope: Scope) -> tuple[bool, list[Sort]]:
    """Whether it counts; and for MAX or MIN of one column, the order whose first item has it."""
    found = [a for e in tree.expressions for a in e.find_all(exp.AggFunc)]
    if not found:
        return False, []
    if len(found) == 1 and len(tree.expressions) == 1:
        (one,) = found
        if isinstance(one, exp.Count) and not one.find(exp.Distinct):
            return True, []
        if isinstance(one, exp.Max | exp.Min) and isinstance(one.this, exp.Column):
            direction = Direction.DESC if isinstance(one, exp.Max) else Direction.ASC
            return False, [Sort(scope.attribute(scope.place(one.this)), direction)]
    raise MisfitError(f"it computes {', '.join(sorted({type(a).__name__.upper() for a in found}))}", WAREHOUSE)


# --- Joins ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shape:
    main: str
    children: tuple[str, ...] = ()
    """Tables that are read together with the main one: its children."""
    joined: tuple[str, ...] = ()
    """A parent that each row of the main table is joined with."""
    via: str = ""
    left: tuple[str, ...] = ()
    """Joined tables that the pattern leaves to another request."""


def _shape(tree: exp.Select, scope: Scope, conditions: Sequence[SqlCondition]) -> _Shape:
    """The result of the statement.

    A join is one of three things. Children of a row whose key is given are read with it, as a collection. A parent of
    each row is a join in the sense of the document. A table that gives no columns only passes a condition on.
    """
    if len(scope.tables) == 1:
        return _Shape(scope.aliases[0])
    shown = _shown(tree, scope)
    for alias in scope.aliases:
        fixed = {p.column for c in conditions if c.equality and (p := scope.in_table(c.place, alias))}
        children = tuple(a for a in scope.aliases if a != alias and any(p == alias for p, _ in scope.parents(a)))
        kept = tuple(a for a in children if a in shown)
        whole = set(scope.tables[alias].table.key) <= fixed and alias in shown
        if whole and kept and all(scope.in_table(c.place, alias) for c in conditions):
            others = tuple(a for a in scope.aliases if a in shown and a not in (alias, *kept))
            return _Shape(alias, kept, left=others)
    sinks = [a for a in scope.aliases if scope.reaches(a) == set(scope.aliases)]
    if not sinks:
        names = ", ".join(e.name for e in scope.tables.values())
        raise MisfitError(f"it joins {names} in a way that foreign keys do not say", "read one entity after the other")
    main = sinks[0]
    for one in conditions:
        if scope.in_table(one.place, main) is None:
            other = f"{scope.tables[one.place.alias].name}.{scope.attribute(one.place)}"
            name = scope.tables[main].name
            raise MisfitError(
                f"it finds {plural(name)} by `{other}`, which is on another item",
                f"copy the attribute to {name} (`copy of {other}`) and index it, or read in two requests",
            )
    direct = dict(scope.parents(main))
    parents = [a for a in scope.aliases if a in shown and a != main]
    if len(parents) == 1 and parents[0] in direct and len(direct[parents[0]]) == 1:
        (column,) = direct[parents[0]]
        return _Shape(main, joined=(parents[0],), via=scope.tables[main].attributes[column])
    return _Shape(main, left=tuple(parents))


def _shown(tree: exp.Select, scope: Scope) -> set[str]:
    """The tables that the statement returns columns of."""
    found: set[str] = set()
    for one in tree.expressions:
        if isinstance(one, exp.Star):
            return set(scope.aliases)
        for column in one.find_all(exp.Column):
            if isinstance(column.this, exp.Star):
                found.add(column.table.lower())
            else:
                found.add(scope.place(column).alias)
    return found


def _moved(condition: SqlCondition, main: str, scope: Scope) -> SqlCondition:
    place = scope.in_table(condition.place, main)
    assert place is not None  # `_shape` checked it
    return SqlCondition(place, condition.op, condition.values, condition.nodes, condition.many, condition.exact)


# --- Parts ----------------------------------------------------------------------------------------------------------


def _sort(tree: exp.Select, scope: Scope, main: str, children: Sequence[str]) -> list[Sort]:
    order = tree.args.get("order")
    found = []
    for one in order.expressions if order else []:
        if not isinstance(one.this, exp.Column):
            raise MisfitError(f"it sorts by `{one.this.sql()[:40]}`", "store what it sorts by as an attribute")
        try:
            place = scope.place(one.this)
        except MisfitError:
            raise MisfitError(f"it sorts by `{one.this.name}`, which is computed", "store it as an attribute") from None
        own = scope.in_table(place, main)
        if own is None and place.alias not in children:
            other = f"{scope.tables[place.alias].name}.{scope.attribute(place)}"
            raise MisfitError(f"it sorts by `{other}`, which is on another item", f"copy `{other}` to the item")
        name = scope.attribute(own) if own else f"{scope.tables[place.alias].name}.{scope.attribute(place)}"
        found.append(Sort(name, Direction.DESC if one.args.get("desc") else Direction.ASC))
    if children:  # of several entities, the children have an order
        return [s for s in found if "." in s.attribute]
    return found


def _limit(tree: exp.Select, statement: Statement) -> tuple[bool, bool, int | None]:
    """Whether there is a limit and an offset, and the limit if it is always the same."""
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    node = limit.args.get("expression") or limit.args.get("count") if limit else None
    text = statement.constant(node.name) if isinstance(node, exp.Placeholder) else None
    fixed = int(text) if text and text.isdigit() and int(text) > 0 else None
    start = offset.args.get("expression") if offset else None
    zero = isinstance(start, exp.Placeholder) and statement.constant(start.name) == "0"
    return limit is not None, offset is not None and not zero, fixed


def _needs(tree: exp.Select, scope: Scope, main: str) -> tuple[str, ...]:
    """The attributes that are read, if they are less than half of the item; else all."""
    names: dict[str, None] = {}
    for one in tree.expressions:
        if isinstance(one, exp.Star) or one.find(exp.Star):
            return ()
        for column in one.find_all(exp.Column):
            place = scope.place(column)
            if place.alias == main:
                names[scope.attribute(place)] = None
    entity = scope.tables[main]
    wanted = {*names, *entity.id}
    if len(wanted) * 2 > len(entity.attributes):
        return ()
    return tuple(a for a in entity.attributes.values() if a in wanted)


def _description(
    names: Sequence[str],
    inputs: Sequence[Input],
    sort: Sequence[Sort],
    result: Result,
    limit: int | None,
    combine: Combine | None,
) -> str:
    """A sentence, which methods of the generated code are named after."""
    together = combine is Combine.COLLECTION
    several = names[0] if together else plural(names[0])
    match result:
        case Result.ONE:
            what = names[0]
        case Result.COUNT:
            what = f"Count {several}"
        case Result.MANY:
            what = f"First {limit} {several}" if limit else several
        case _:
            assert_never(result)
    if len(names) > 1:
        what += f" with {' and '.join(plural(n) for n in names[1:])}"
    by = [_input_words(one) for one in inputs]
    words = f"{what} by {' and '.join(by)}" if by else f"All {what}" if result is Result.MANY and not limit else what
    if sort and result is Result.MANY:
        words += ", by " + " and ".join(
            f"{s.attribute}{' descending' if s.direction is Direction.DESC else ''}" for s in sort
        )
    return words


def _input_words(one: Input) -> str:
    if one.op is Op.EQ and one.values and one.values[0].const is not None:
        return f"{one.attribute} {one.values[0].const}"
    if one.many:
        return f"{one.attribute}s"
    match one.op:
        case Op.EQ | Op.CONTAINS:
            return one.attribute
        case Op.BETWEEN:
            return f"{one.attribute} range"
        case Op.LT:
            return f"{one.attribute} below"
        case Op.LE:
            return f"{one.attribute} up to"
        case Op.GT:
            return f"{one.attribute} above"
        case Op.GE:
            return f"{one.attribute} from"
        case Op.NE:
            return f"{one.attribute} other than"
        case Op.EXISTS:
            return f"{one.attribute} present"
        case Op.NOT_EXISTS:
            return f"{one.attribute} absent"
        case Op.BEGINS_WITH:
            return f"{one.attribute} prefix"
        case Op.IN:
            return f"{one.attribute} among"
        case _:
            assert_never(one.op)


def _runnable(
    tree: exp.Select, conditions: Iterable[SqlCondition], own: Iterable[SqlCondition], scope: Scope, dialect: str
) -> str:
    """The statement with parameters that are named after the inputs, without its limit: for `migrate verify`."""
    ends: dict[str, int] = {}
    pairs = list(zip(conditions, own, strict=True))
    several = [scope.attribute(mine.place) for _, mine in pairs]
    for condition, mine in pairs:
        name = scope.attribute(mine.place)
        both = several.count(name) > 1 or condition.op is Op.BETWEEN
        if both and condition.op in (Op.LT, Op.GT):
            _include_end(condition.nodes[0])
        for at, (value, node) in enumerate(zip(condition.values, condition.nodes, strict=False)):
            if value is not None and value.const is not None:
                _replace_value(node, exp.Literal.string(value.const), value)
            elif value is None:
                high = condition.op in (Op.LT, Op.LE) or at == 1
                label = name + (_HIGH if high else _LOW) if both and condition.op is not Op.EQ else name
                ends[label] = ends.get(label, 0) + 1
                _replace_value(node, exp.Placeholder(this=label), None)
    if any(count > 1 for count in ends.values()):
        return ""
    tree.set("limit", None)
    tree.set("offset", None)
    tree.set("locks", None)
    return "" if _unnamed(tree) else sql_of(tree, dialect)


def _include_end(node: exp.Expr) -> None:
    """Makes `<` of a comparison `<=`, as the range of the pattern has it."""
    compared = node.find_ancestor(exp.LT, exp.GT)
    if compared is not None:
        kind: type[exp.Expr] = exp.LTE if isinstance(compared, exp.LT) else exp.GTE
        compared.replace(kind(this=compared.this, expression=compared.expression))


def _replace_value(node: exp.Expr, other: exp.Expr, value: Value | None) -> None:
    found = node if isinstance(node, exp.Placeholder) else node.find(exp.Placeholder)
    if found is not None:
        if value is not None and value.const in ("true", "false"):
            other = exp.Boolean(this=value.const == "true")
        found.replace(other)


def _unnamed(tree: exp.Expr) -> bool:
    """Whether a parameter is left that belongs to no input."""
    return any(node.name[:1] == "p" and node.name[1:].isdigit() for node in tree.find_all(exp.Placeholder))
