"""INSERT, UPDATE and DELETE as access patterns. What has no key to write by raises `MisfitError`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from prejoin.migrate.discover.conditions import ConditionReader, SqlCondition, is_now
from prejoin.migrate.discover.entities import TableEntity
from prejoin.migrate.discover.reads import DiscoveredPattern
from prejoin.migrate.discover.scope import MisfitError, Place, Scope, conjuncts, scope_of
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

_COMPARISONS = {Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE}


def write_pattern(statement: Statement, entities: Mapping[str, TableEntity], dialect: str) -> DiscoveredPattern:
    """The pattern of a statement that writes."""
    tree = statement.tree.copy()
    shown_sql = quoted_sql(statement, dialect)
    match tree:
        case exp.Insert():
            draft = _read_insert(tree, statement, entities)
        case exp.Update():
            draft = _read_update(tree, statement, entities)
        case exp.Delete():
            draft = _read_delete(tree, statement, entities)
        case _:
            raise MisfitError(f"it is {type(tree).__name__.upper()}", "it is no access pattern of an application")
    return DiscoveredPattern(draft.write, "", shown_sql, tuple(draft.notes), column_changes=draft.column_changes)


@dataclass(frozen=True, slots=True)
class _WriteDraft:
    """The pattern of a statement, points to review, and the columns that it changes."""

    write: Write
    notes: list[str]
    column_changes: frozenset[tuple[str, str]] = frozenset()


def _read_insert(tree: exp.Insert, statement: Statement, entities: Mapping[str, TableEntity]) -> _WriteDraft:
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if isinstance(tree.expression, exp.Select | exp.Union | exp.Subquery):
        raise MisfitError("it inserts the result of a query", "read the rows in the application, then `put_many`")
    entity = _scope_of_target(target, entities).tables[target.alias_or_name.lower()]
    conflict = tree.args.get("conflict")
    is_upsert = conflict is not None and _updates_on_conflict(conflict)
    # REPLACE of MySQL and SQLite, and an upsert, write whether the row exists or not, as PutItem does.
    verb = Verb.PUT if statement.replaces or is_upsert else Verb.CREATE
    columns = _inserted_columns(tree, entity)
    unique = _unique_attributes(entity)
    write = Write(
        "",
        "",
        (entity.name,),
        f"{'Create' if verb is Verb.CREATE else 'Put'} {a_or_an(entity.name)}",
        _insert_inputs(entity, columns),
        (Action(verb, entity.name),),
        True if unique else None,
        tuple(Uniqueness(attribute=name) for name in unique) if verb is Verb.CREATE else (),
    )
    notes = []
    if conflict is not None and verb is Verb.CREATE:
        notes.append("a conflict is ignored in SQL; here it is an error that the application handles")
    column_changes = frozenset((entity.table.name, column) for column in columns) if is_upsert else frozenset()
    return _WriteDraft(write, notes, column_changes)


def _updates_on_conflict(conflict: exp.Expr) -> bool:
    """Whether a row that exists is updated: ON CONFLICT … DO UPDATE, ON DUPLICATE KEY UPDATE. Else it is ignored."""
    words = f"{conflict.args.get('action', '')}{conflict.key}".upper()
    return "UPDATE" in words or bool(conflict.expressions)


def _inserted_columns(tree: exp.Insert, entity: TableEntity) -> list[str]:
    """The columns that the statement lists; all of the table if it lists none."""
    names = [identifier.name for identifier in tree.this.expressions] if isinstance(tree.this, exp.Schema) else []
    columns = [column.name for name in names if (column := entity.table.column(name)) is not None]
    return columns or [column.name for column in entity.table.columns]


def _insert_inputs(entity: TableEntity, columns: Sequence[str]) -> tuple[Input, ...]:
    optional = {entity.attributes[column.name] for column in entity.table.columns if column.nullable}
    names = dict.fromkeys((*entity.id, *(entity.attributes[column] for column in columns)))
    return tuple(Input(name, optional=name in optional) for name in names)


def _unique_attributes(entity: TableEntity) -> list[str]:
    """The attributes that are unique by themselves, besides the id."""
    constraints = [columns for columns in entity.table.unique if columns != entity.table.key]
    return [entity.attributes[columns[0]] for columns in constraints if len(columns) == 1]


def _read_update(tree: exp.Update, statement: Statement, entities: Mapping[str, TableEntity]) -> _WriteDraft:
    reader, entity, checks = _read_key(tree, tree.this, statement, entities)
    changes: list[Change] = []
    inputs = [Input(name) for name in entity.id]
    column_changes: set[tuple[str, str]] = set()
    for assignment in tree.expressions:
        place = _assigned_place(assignment, reader.scope, entity)
        change, input_name = _read_change(assignment.expression, reader, place)
        column_changes.add((entity.table.name, place.column))
        changes.append(change)
        if input_name:
            inputs.append(Input(input_name))
    inputs += _check_inputs(checks)
    names = [change.attribute for change in changes]
    summary = ", ".join(names) if len(names) <= 4 else f"{len(names)} attributes"
    condition = f" if {' and '.join(check.attribute for check in checks)} fits" if checks else ""
    action = Action(Verb.UPDATE, entity.name, changes=tuple(changes))
    unique_inputs = tuple({item.attribute: item for item in inputs}.values())
    words = f"Change {summary} of {a_or_an(entity.name)}{condition}"
    write = Write("", "", (entity.name,), words, unique_inputs, (action,), None, tuple(checks))
    return _WriteDraft(write, reader.notes, frozenset(column_changes))


def _assigned_place(assignment: exp.Expr, scope: Scope, entity: TableEntity) -> Place:
    """The column that an assignment of SET changes."""
    if not isinstance(assignment, exp.EQ) or not isinstance(assignment.this, exp.Column):
        raise MisfitError(f"it sets `{assignment.sql()[:40]}`", "compute the values in the application")
    place = scope.place(assignment.this)
    if place.column in entity.table.key:
        raise MisfitError(
            f"it changes the key of {a_or_an(entity.name)}", "delete the item and create another, in one transaction"
        )
    return place


def _check_inputs(checks: Sequence[Leaf]) -> list[Input]:
    """An input for each argument that a check compares with."""
    return [Input(value.param) for check in checks for value in values_of(check) if value.param]


def _read_change(node: exp.Expr, reader: ConditionReader, place: Place) -> tuple[Change, str]:
    """A change, and the input that it takes its value from."""
    name = reader.scope.attribute(place)
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    if isinstance(node, exp.Null):
        return Change(name, ChangeOp.REMOVE), ""
    if isinstance(node, exp.Placeholder):
        value = reader.value(node, place)
        return Change(name, value=value), "" if value else name
    if is_now(node):
        return Change(name, value=Value(now=0)), ""
    if isinstance(node, exp.Add | exp.Sub) and _adds_to(node, name, reader.scope):
        op = ChangeOp.ADD if isinstance(node, exp.Add) else ChangeOp.SUBTRACT
        constant = reader.statement.constant(node.expression.name)
        if constant is not None:
            return Change(name, op, Value(const=constant)), ""
        amount = f"{name}_change"
        return Change(name, op, Value(param=amount)), amount
    raise MisfitError(f"it computes `{node.sql()[:40]}`", "compute the value in the application, then update")


def _adds_to(node: exp.Add | exp.Sub, attribute: str, scope: Scope) -> bool:
    """Whether a value is added to the attribute that is changed: `SET stock = stock - :p1`."""
    if not isinstance(node.this, exp.Column) or not isinstance(node.expression, exp.Placeholder):
        return False
    return scope.attribute(scope.place(node.this)) == attribute


def _read_delete(tree: exp.Delete, statement: Statement, entities: Mapping[str, TableEntity]) -> _WriteDraft:
    reader, entity, checks = _read_key(tree, tree.this, statement, entities)
    inputs = (*(Input(name) for name in entity.id), *_check_inputs(checks))
    action = Action(Verb.DELETE, entity.name)
    words = f"Delete {a_or_an(entity.name)}"
    write = Write("", "", (entity.name,), words, inputs, (action,), None, tuple(checks))
    return _WriteDraft(write, reader.notes)


def _read_key(
    tree: exp.Expr, target: exp.Expr, statement: Statement, entities: Mapping[str, TableEntity]
) -> tuple[ConditionReader, TableEntity, list[Leaf]]:
    """The entity of a write whose WHERE fixes the whole key. Other conditions are checks."""
    joins = (tree.args.get("from_"), tree.args.get("using"), target.args.get("joins"))
    if not isinstance(target, exp.Table) or any(joins):
        raise MisfitError("it writes to joined tables", "read the items, then write each of them by its key")
    scope = _scope_of_target(target, entities)
    (entity,) = scope.tables.values()
    where_clause = tree.args.get("where")
    reader = ConditionReader(statement, scope)
    nodes = conjuncts(where_clause.this) if where_clause else []
    conditions = [condition for node in nodes if (condition := reader.read(node)) is not None]
    table_key = set(entity.table.key)
    # UpdateItem and DeleteItem need the whole key. What else the WHERE compares is a condition expression.
    keys: list[SqlCondition] = []
    other_conditions: list[SqlCondition] = []
    for condition in conditions:
        (keys if condition.is_equality and condition.place.column in table_key else other_conditions).append(condition)
    if {condition.place.column for condition in keys} != table_key:
        names = dict.fromkeys(f"`{scope.attribute(condition.place)}`" for condition in conditions)
        reason = f"it writes every {entity.name} by {', '.join(names) or 'nothing'}, not one by its id"
        raise MisfitError(reason, "read the items by that, then `delete_many`, or an update of each")
    return reader, entity, [_check_of(condition, scope) for condition in other_conditions]


def _check_of(condition: SqlCondition, scope: Scope) -> Leaf:
    """A condition of a write as a check of its item."""
    name = scope.attribute(condition.place)
    # In a document a bare `note exists` could be about an entity, so a test of presence names its entity.
    entity = scope.tables[condition.place.alias].name
    if condition.op is Op.EXISTS:
        return Presence(entity=entity, attribute=name)
    if condition.op is Op.NOT_EXISTS:
        return Absence(entity=entity, attribute=name)
    if condition.op not in _COMPARISONS or condition.is_list:
        raise MisfitError(
            f"it writes if `{name}` fits a list or a range", "check it in the application, and compare one value"
        )
    value = condition.values[0]
    if value is None:
        value = Value(param=name if condition.op is Op.EQ else f"{name}_limit")
    return Comparison(attribute=name, op=condition.op, values=(value,))


def _scope_of_target(target: exp.Table, entities: Mapping[str, TableEntity]) -> Scope:
    return scope_of(exp.Select(from_=exp.From(this=target.copy())), entities)[0]


def merge_updates(patterns: Sequence[DiscoveredPattern], limit: int) -> list[DiscoveredPattern]:
    """Merges plain updates of an entity if there are more than the limit.

    ORMs write only the columns that changed, so each combination of columns is a statement of its own.
    """
    updates: dict[str, list[DiscoveredPattern]] = {}
    for sql_pattern in patterns:
        pattern = sql_pattern.pattern
        if isinstance(pattern, Write) and _is_plain_update(pattern):
            updates.setdefault(pattern.first_entity, []).append(sql_pattern)
    groups = [group for group in updates.values() if len(group) > limit]
    absorbed_ids = {id(sql_pattern) for group in groups for sql_pattern in group}
    remaining = [sql_pattern for sql_pattern in patterns if id(sql_pattern) not in absorbed_ids]
    return [*remaining, *map(_merge_group, groups)]


def _is_plain_update(pattern: Write) -> bool:
    """Whether it only sets attributes to arguments."""
    action = pattern.actions[0]
    sets_arguments = all(change.op is ChangeOp.SET and change.value is None for change in action.changes)
    return action.verb is Verb.UPDATE and not pattern.checks and sets_arguments


def _merge_group(patterns: Sequence[DiscoveredPattern]) -> DiscoveredPattern:
    writes = [sql_pattern.pattern for sql_pattern in patterns if isinstance(sql_pattern.pattern, Write)]
    changes = {change.attribute: change for write in writes for change in write.actions[0].changes}
    inputs = {item.attribute: item for write in writes for item in write.inputs}
    entity = writes[0].first_entity
    action = Action(Verb.UPDATE, entity, changes=tuple(changes.values()))
    words = f"Change attributes of {a_or_an(entity)}"
    note = f"{len(patterns)} updates with other columns each are one pattern; `update` of the client takes any of them"
    merged_write = Write("", "", writes[0].entities, words, tuple(inputs.values()), (action,), None)
    column_changes = frozenset(change for sql_pattern in patterns for change in sql_pattern.column_changes)
    return DiscoveredPattern(merged_write, "", patterns[0].quoted_sql, (note,), column_changes=column_changes)
