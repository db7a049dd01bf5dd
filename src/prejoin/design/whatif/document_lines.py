"""The lines of a document that a change needs: `changed_lines(before, after)`."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.workload.document.columns import Column, TableKind
from prejoin.workload.document.tables import (
    CONSISTENCY,
    DELETES,
    DESCRIPTION,
    ENTITY,
    FREQUENCY,
    ID,
    INPUTS,
    NAME,
    PAGINATED,
    READS,
    TRANSACTION,
    WRITES,
)
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.grammar.quantities import write_cardinality
from prejoin.workload.model import Entity, Pattern, Workload, Write
from prejoin.workload.tenants import contract

_NAMED_COLUMNS = (FREQUENCY, PAGINATED, CONSISTENCY)
"""Columns whose cells do not say what they are about."""


def changed_lines(before: Workload, after: Workload) -> Iterator[str]:
    """New entities, changed attributes, and the changed cells of patterns.

    A tenant that the context names is not repeated in them.
    """
    before, after = contract(before), contract(after)
    for entity in after.entities:
        yield from _entity_lines(before.entity(entity.name), entity)
    dropped_patterns = [pattern for pattern in before.patterns if after.pattern(pattern.id) is None]
    for kind in (WRITES, DELETES, READS):
        for pattern in getattr(after, kind.field):
            # A pattern with a new id takes the place of one that is dropped.
            old_pattern = before.pattern(pattern.id) or dropped_patterns[0]
            if pattern != old_pattern:
                columns = _changed_columns(kind, pattern, old_pattern, before, after)
                yield f"{pattern.id}: {' | '.join(_cell(column, pattern, after) for column in columns)}"


def _entity_lines(old: Entity | None, entity: Entity) -> Iterator[str]:
    if old is None:
        yield f"### {entity.name}"
        yield from (f"- {write_attribute(attribute)}" for attribute in entity.attributes)
        if any(cardinality.count != 1 for cardinality in entity.cardinality):
            yield f"- Cardinality: {write_cardinality(entity.singleton, entity.cardinality)}"
        return
    for attribute in entity.attributes:
        if attribute not in old.attributes:
            yield f"{entity.name}: {write_attribute(attribute)}"
    for group in old.unique:
        if group not in entity.unique:
            yield f"{entity.name}: without `{' + '.join(group)}` under Unique"


def _changed_columns(
    kind: TableKind, pattern: Pattern, old_pattern: Pattern, before: Workload, after: Workload
) -> list[Column]:
    """The columns whose cells differ, and those without which they are hard to understand."""
    changed_columns = [
        column for column in kind.columns if column.text_of(pattern, after) != column.text_of(old_pattern, before)
    ]
    untold = [ID, NAME, DESCRIPTION]
    if isinstance(pattern, Write):
        untold.append(ENTITY)  # the items say it
        if len(pattern.actions) > 1:
            changed_columns.append(TRANSACTION)
    elif ENTITY in changed_columns:
        changed_columns.append(INPUTS)
    shown_columns = [column for column in changed_columns if column not in untold]
    return [column for column in kind.columns if column in shown_columns]


def _cell(column: Column, pattern: Pattern, workload: Workload) -> str:
    text = column.text_of(pattern, workload)
    return f"{text} under {column.name}" if column in _NAMED_COLUMNS or text == column.empty else text
