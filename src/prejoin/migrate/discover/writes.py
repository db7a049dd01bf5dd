"""INSERT, UPDATE and DELETE as access patterns. What has no key to write by raises `MisfitError`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from prejoin.migrate.discover.conditions import ConditionReader, SqlCondition, conjuncts
from prejoin.migrate.discover.entities import TableEntity
from prejoin.migrate.discover.reads import DiscoveredPattern
from prejoin.migrate.discover.scope import MisfitError, Place, Scope, scope_of
from prejoin.migrate.queries.statement import Statement, quoted_sql
from prejoin.workload.conditions import values_of
from prejoin.workload.model import (
    Absence,
    Action,
    Change,
    ChangeOp,
    Comparison,
    Input,
    Leaf,
    Op,
    Presence,
    Uniqueness,
    Value,
    Verb,
    Write,
)
from prejoin.workload.stubs import one as a_or_an

_COMPARED = {Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE}


def write_pattern(statement: Statement, entities: Mapping[str, TableEntity], dialect: str) -> DiscoveredPattern:
    """The pattern of a statement that writes."""
    tree = statement.tree.copy()
    quoted = quoted_sql(statement, dialect)
    match tree:
        case exp.Insert():
            write, notes, changed = _insert(tree, statement, entities)
        case exp.Update():
            write, notes, changed = _update(tree, statement, entities)
        case exp.Delete():
            write, notes, changed = _delete(tree, statement, entities)
        case _:
            raise MisfitError(f"it is {type(tree).__name__.upper()}", "it is no access pattern of an application")
    return DiscoveredPattern(write, "", quoted, tuple(notes), column_changes=changed)


Written = tuple[Write, list[str], frozenset[tuple[str, str]]]


def _insert(tree: exp.Insert, statement: Statement, entities: Mapping[str, TableEntity]) -> Written:
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if isinstance(tree.expression, exp.Select | exp.Union | exp.Subquery):
        raise MisfitError("it inserts the result of a query", "read the rows in the application, then `put_many`")
    entity = _scope(target, entities).tables[target.alias_or_name.lower()]
    conflict = tree.args.get("conflict")
    updates = (
        conflict is not None and "UPDATE" in str(conflict.args.get("action", "")).upper() + str(conflict.key).upper()
    )
    updates = updates or bool(conflict is not None and conflict.expressions)
    verb = Verb.PUT if statement.replaces or updates else Verb.CREATE
    listed = [c.name for c in tree.this.expressions] if isinstance(tree.this, exp.Schema) else []
    columns = [c.name for name in listed if (c := entity.table.column(name))] or [c.name for c in entity.table.columns]
    names = [*entity.id, *(entity.attributes[c] for c in columns)]
    optional = {entity.attributes[c.name] for c in entity.table.columns if c.nullable}
    inputs = tuple(Input(name, optional=name in optional) for name in dict.fromkeys(names))
    unique = [entity.attributes[u[0]] for u in entity.table.unique if len(u) == 1 and u != entity.table.key]
    checks = tuple(Uniqueness(attribute=name) for name in unique) if verb is Verb.CREATE else ()
    notes = []
    if conflict is not None and verb is Verb.CREATE:
        notes.append("a conflict is ignored in SQL; here it is an error that the application handles")
    words = f"{'Create' if verb is Verb.CREATE else 'Put'} {a_or_an(entity.name)}"
    write = Write("", "", (entity.name,), words, inputs, (Action(verb, entity.name),), True if unique else None, checks)
    return write, notes, frozenset((entity.table.name, c) for c in columns) if updates else frozenset()


def _update(tree: exp.Update, statement: Statement, entities: Mapping[str, TableEntity]) -> Written:
    reader, entity, checks = _by_key(tree, tree.this, statement, entities)
    scope, notes = reader.scope, reader.notes
    changes, inputs, changed = [], [Input(name) for name in entity.id], set()
    for one in tree.expressions:
        if not isinstance(one, exp.EQ) or not isinstance(one.this, exp.Column):
            raise MisfitError(f"it sets `{one.sql()[:40]}`", "compute the values in the application")
        column = scope.place(one.this).column
        if column in entity.table.key:
            raise MisfitError(
                f"it changes the key of {a_or_an(entity.name)}",
                "delete the item and create another, in one transaction",
            )
        name = entity.attributes[column]
        change, given = _change(name, one.expression, reader, scope.place(one.this))
        changed.add((entity.table.name, column))
        changes.append(change)
        inputs += [Input(given)] if given else []
    inputs += [Input(v.param) for check in checks for v in values_of(check) if v.param]
    names = [c.attribute for c in changes]
    what = ", ".join(names) if len(names) <= 4 else f"{len(names)} attributes"
    condition = f" if {' and '.join(c.attribute for c in checks)} fits" if checks else ""
    action = Action(Verb.UPDATE, entity.name, changes=tuple(changes))
    unique_inputs = tuple({one.attribute: one for one in inputs}.values())
    words = f"Change {what} of {a_or_an(entity.name)}{condition}"
    write = Write("", "", (entity.name,), words, unique_inputs, (action,), None, tuple(checks))
    return write, notes, frozenset(changed)


def _change(name: str, node: exp.Expr, reader: ConditionReader, place: Place) -> tuple[Change, str]:
    """A change, and the input that it takes its value from."""
    scope, statement = reader.scope, reader.statement
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    match node:
        case exp.Null():
            return Change(name, ChangeOp.REMOVE), ""
        case exp.Placeholder():
            value = reader.value(node, place)
            return Change(name, value=value), "" if value else name
        case exp.CurrentTimestamp() | exp.CurrentDatetime() | exp.CurrentDate():
            return Change(name, value=Value(now=0)), ""
        case exp.Add() | exp.Sub() if isinstance(node.this, exp.Column) and isinstance(
            node.expression, exp.Placeholder
        ):
            if scope.attribute(scope.place(node.this)) == name:
                op = ChangeOp.ADD if isinstance(node, exp.Add) else ChangeOp.SUBTRACT
                constant = statement.constant(node.expression.name)
                if constant is not None:
                    return Change(name, op, Value(const=constant)), ""
                amount = f"{name}_change"
                return Change(name, op, Value(param=amount)), amount
    if node.sql().lower() == "now()":
        return Change(name, value=Value(now=0)), ""
    raise MisfitError(f"it computes `{node.sql()[:40]}`", "compute the value in the application, then update")


def _delete(tree: exp.Delete, statement: Statement, entities: Mapping[str, TableEntity]) -> Written:
    reader, entity, checks = _by_key(tree, tree.this, statement, entities)
    inputs = [Input(name) for name in entity.id]
    inputs += [Input(v.param) for check in checks for v in values_of(check) if v.param]
    action = Action(Verb.DELETE, entity.name)
    words = f"Delete {a_or_an(entity.name)}"
    return (
        Write("", "", (entity.name,), words, tuple(inputs), (action,), None, tuple(checks)),
        reader.notes,
        frozenset(),
    )


def _by_key(
    tree: exp.Expr, target: exp.Expr, statement: Statement, entities: Mapping[str, TableEntity]
) -> tuple[ConditionReader, TableEntity, list[Leaf]]:
    """The entity of a write whose WHERE gives the whole key; other conditions are checks."""
    if (
        not isinstance(target, exp.Table)
        or tree.args.get("from_")
        or tree.args.get("using")
        or target.args.get("joins")
    ):
        raise MisfitError("it writes to joined tables", "read the items, then write each of them by its key")
    scope = _scope(target, entities)
    (entity,) = scope.tables.values()
    where = tree.args.get("where")
    reader = ConditionReader(statement, scope)
    conditions = [c for one in (conjuncts(where.this) if where else []) if (c := reader.read(one)) is not None]
    keys = [c for c in conditions if c.equality and c.place.column in entity.table.key]
    if {c.place.column for c in keys} != set(entity.table.key):
        by = ", ".join(dict.fromkeys(f"`{scope.attribute(c.place)}`" for c in conditions)) or "nothing"
        what = f"it writes every {entity.name} by {by}, not one by its id"
        raise MisfitError(what, "read the items by that, then `delete_many`, or an update of each")
    return reader, entity, [_check(c, scope) for c in conditions if c not in keys]


def _check(condition: SqlCondition, scope: Scope) -> Leaf:
    name = scope.attribute(condition.place)
    if condition.op is Op.EXISTS:
        return Presence(attribute=name)
    if condition.op is Op.NOT_EXISTS:
        return Absence(attribute=name)
    if condition.op not in _COMPARED or condition.many:
        raise MisfitError(
            f"it writes if `{name}` fits a list or a range", "check it in the application, and compare one value"
        )
    value = condition.values[0]
    if value is None:
        value = Value(param=name if condition.op is Op.EQ else f"{name}_limit")
    return Comparison(attribute=name, op=condition.op, values=(value,))


def _scope(target: exp.Table, entities: Mapping[str, TableEntity]) -> Scope:
    return scope_of(exp.Select(from_=exp.From(this=target.copy())), entities)[0]


def merge_updates(found: Sequence[DiscoveredPattern], most: int) -> list[DiscoveredPattern]:
    """Merges plain updates of an entity if there are many: ORMs write each combination of changed columns."""
    plain: dict[str, list[DiscoveredPattern]] = {}
    for one in found:
        pattern = one.pattern
        if isinstance(pattern, Write) and _is_plain_update(pattern):
            plain.setdefault(pattern.first_entity, []).append(one)
    merged = {name: several for name, several in plain.items() if len(several) > most}
    absorbed = {id(one) for several in merged.values() for one in several}
    return [one for one in found if id(one) not in absorbed] + [_merged(several) for several in merged.values()]


def _is_plain_update(pattern: Write) -> bool:
    action = pattern.actions[0]
    plain = all(c.op is ChangeOp.SET and c.value is None for c in action.changes)
    return action.verb is Verb.UPDATE and not pattern.checks and plain


def _merged(several: Sequence[DiscoveredPattern]) -> DiscoveredPattern:
    first = several[0].pattern
    assert isinstance(first, Write)
    writes = [one.pattern for one in several if isinstance(one.pattern, Write)]
    changes = {c.attribute: c for w in writes for c in w.actions[0].changes}
    inputs = {i.attribute: i for w in writes for i in w.inputs}
    action = Action(Verb.UPDATE, first.first_entity, changes=tuple(changes.values()))
    words = f"Change attributes of {a_or_an(first.first_entity)}"
    note = f"{len(several)} updates with other columns each are one pattern; `update` of the client takes any of them"
    write = Write("", "", first.entities, words, tuple(inputs.values()), (action,), None)
    changed = frozenset(pair for one in several for pair in one.column_changes)
    return DiscoveredPattern(write, "", several[0].quoted, (note,), column_changes=changed)
