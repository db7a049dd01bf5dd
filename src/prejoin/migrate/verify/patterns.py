"""Run access patterns on both sides: the statement on the database, the method on the table, the same arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from prejoin.migrate.mapping.rows import EntityRows
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.migrate.verify.collection import compare_collection
from prejoin.migrate.verify.compare import ItemDifference
from prejoin.migrate.verify.sides import PatternComparison, Sample, Sides
from prejoin.migrate.verify.statement import StatementComparison, joined_columns
from prejoin.workload.model import Combine, Direction, Op, Read, Result
from prejoin.workload.program.resolved_read import resolve_read


def compare_pattern(sides: Sides, pattern: str, samples: Sequence[Sample]) -> PatternComparison:
    """Compares one pattern on sampled arguments."""
    migration = sides.migration
    read = migration.query.document.workload.pattern(pattern)
    method = migration.package.methods.get(pattern)
    if not isinstance(read, Read) or method is None:
        return PatternComparison(pattern, 0, skipped="it is no read, or the design does not serve it")
    match read.combine:
        case Combine.COLLECTION:
            return compare_collection(sides, read, method, samples)
        case Combine.JOIN:
            pass
        case None:
            if len(read.entities) != 1:
                return PatternComparison(pattern, 0, skipped="it reads several entities")
        case _:
            assert_never(read.combine)
    if not set(read.entities) <= set(migration.mapping.entities):
        return PatternComparison(pattern, 0, skipped="one of its entities is not mapped")
    joins = resolve_read(migration.query.document.workload, read).joins
    if any(not joined_columns(migration, read, join) for join in joins):
        return PatternComparison(pattern, 0, skipped="the columns of its join are not known")
    source = migration.mapping.patterns.get(pattern)
    sql = source.sql if source else derived_sql(read, migration.of(read.entities[0]), sides.snapshot)
    if not sql:
        return PatternComparison(pattern, 0, skipped="its SQL is not known")
    comparison = StatementComparison(sides, read, method, sql)
    differences: list[ItemDifference] = []
    runs = 0
    for arguments, parameters in comparison.cases(samples):
        runs += 1
        differences += comparison.compare(arguments, parameters)
    return PatternComparison(pattern, runs, tuple(differences), "" if runs else "no row has all of its arguments")


# --- Statements for reads without one -------------------------------------------------------------------------------


def derived_sql(read: Read, rows: EntityRows, snapshot: SourceSnapshot) -> str:
    """A statement for a read that was not found in the database, from its inputs and order; empty if there is none."""
    conditions = []
    for read_input in read.inputs:
        column = _plain_column(read_input.attribute, rows, snapshot)
        operator = _sql_operator(read_input.op)
        if not column or not operator or read_input.constant or read_input.many:
            return ""
        conditions.append(f"{column} {operator} :{read_input.attribute}")
    if read.combine or not conditions:
        return ""
    order = []
    for sort in read.sort:
        column = _plain_column(sort.attribute, rows, snapshot)
        if not column:
            return ""
        order.append(f"{column} {'DESC' if sort.direction is Direction.DESC else 'ASC'}")
    is_count = read.result is Result.COUNT
    columns = "count(*)" if is_count else "*"
    sql = f"SELECT {columns} FROM {snapshot.quote(rows.mapping.table)} AS t WHERE {' AND '.join(conditions)}"  # noqa: S608
    return f"{sql} ORDER BY {', '.join(order)}" if order and not is_count else sql


def _plain_column(attribute: str, rows: EntityRows, snapshot: SourceSnapshot) -> str:
    """The column of an attribute in SQL; empty if its values are not those of a column of the entity's table."""
    if attribute not in rows.mapping.attributes:
        return ""
    source = rows.mapping.source(attribute)
    is_converted = bool(source.form or source.members or source.default)
    if is_converted or not source.column or "." in source.column:
        return ""
    return f"t.{snapshot.quote(source.column)}"


def _sql_operator(op: Op) -> str:
    """The operator of SQL for a comparison with one value; empty if there is none that finds the same."""
    match op:
        case Op.EQ | Op.LT | Op.LE | Op.GT | Op.GE:
            return op.value
        case Op.NE:  # DynamoDB also finds items without the attribute
            return ""
        case Op.BETWEEN | Op.BEGINS_WITH | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return ""
        case _:
            assert_never(op)
