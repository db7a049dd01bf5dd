"""Repair findings of an audit, each in one transaction, if nothing has changed since."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from prejoin.patterns.aggregates.recount import recount_steps
from prejoin.patterns.follows import refreshed_item
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import TableError
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .audit import patiently, reasons
from .findings import Finding, Judge, values_of

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

MOST_COMPARED = 120
"""The most attributes in one condition; DynamoDB accepts 300 operators in 4 KB."""


@overload
def repair(db: Client, finding: Finding) -> bool: ...
@overload
def repair(db: AsyncClient, finding: Finding) -> Awaitable[bool]: ...
def repair(db: Client | AsyncClient, finding: Finding) -> bool | Awaitable[bool]:
    """Repair one finding. Return False, and write nothing, if anything has changed since: audit again."""
    return db._run(_repair(db.schema, db.table, finding))


def _repair(schema: Schema, table: str, finding: Finding) -> Steps[bool]:
    if not finding.mendable:
        raise TableError(f"{finding}. A program cannot decide that")
    if finding.kind == "miscounted":
        return (yield from _repair_count(schema, table, finding))
    if finding.kind == "outdated":
        return (yield from _repair_outdated(schema, table, finding))
    actions = [{kind: {"TableName": table, **parameters}} for kind, parameters in _actions(schema, finding)]
    try:
        yield from patiently(Request("TransactWriteItems", {"TransactItems": actions}, key_text(finding.key)))
    except DynamoDBError as error:
        if "ConditionalCheckFailed" not in reasons(error):
            raise
        return False
    return True


def _repair_count(schema: Schema, table: str, finding: Finding) -> Steps[bool]:
    assert finding.owner is not None
    entity = schema.by_tag[finding.entity]
    values = values_of(entity, finding.owner)
    assert values is not None
    key = {name: values[name] for name in entity.base.attributes}
    return bool((yield from recount_steps(schema, table, entity.codec.cls, key, keep_extremes=True)))


def _repair_outdated(schema: Schema, table: str, finding: Finding) -> Steps[bool]:
    # Not a read of the client: that would hide an item that is marked as deleted.
    request = Request(
        "GetItem", {"TableName": table, "Key": finding.key, "ConsistentRead": True}, key_text(finding.key)
    )
    item = (yield request).get("Item")
    codec = schema.by_tag[finding.entity].codec
    return item is not None and (yield from refreshed_item(schema, table, codec.decode(item)))


def _actions(schema: Schema, finding: Finding) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the actions that repair a finding, if nothing has changed."""
    judge, stored_item, expected_item, owner = Judge(schema), finding.found, finding.expected, finding.owner
    if finding.kind == "index keys":
        assert expected_item is not None
        assert owner is not None
        placeholders = Placeholders()
        sets = [f"{placeholders.name(name)} = {placeholders.value(value)}" for name, value in expected_item.items()]
        removes = [placeholders.name(name) for name in (stored_item or {}) if name not in expected_item]
        clauses = [f"SET {', '.join(sets)}"] * bool(sets) + [f"REMOVE {', '.join(removes)}"] * bool(removes)
        condition = _unchanged_condition(judge, owner, [*owner, *expected_item], placeholders)
        yield "Update", {"Key": finding.key, "UpdateExpression": " ".join(clauses), **condition}
        return
    names = {*(stored_item or {}), *(expected_item or {})}
    owner_condition = _unchanged_condition(judge, owner, _deciding_names(judge, owner, names))
    yield "ConditionCheck", {"Key": finding.by, **owner_condition}
    condition = _unchanged_condition(judge, stored_item, [*(stored_item or {}), *(expected_item or {})])
    if expected_item is None:
        yield "Delete", {"Key": finding.key, **condition}
    else:
        yield "Put", {"Item": expected_item, **condition}


def _deciding_names(judge: Judge, owner: Json | None, names: set[str]) -> list[str]:
    """Return the attributes of an owner that decide about a finding: its own, and counts only if a copy has them."""
    entity = judge.entity_of(owner) if owner is not None else None
    if entity is None:
        return []
    counts = judge.counts(entity)
    wires = [attribute.wire for attribute in entity.codec.attributes.values() if attribute.name not in counts]
    count_wires = [entity.codec.attribute(name).wire for name in counts]
    return [*wires, *(wire for wire in count_wires if wire in names)]


def _unchanged_condition(
    judge: Judge, item: Json | None, names: Sequence[str], placeholders: Placeholders | None = None
) -> dict[str, Any]:
    """Return the condition that these attributes of an item have not changed, or that there is still no item."""
    placeholders = placeholders or Placeholders()
    if item is None:
        text = f"attribute_not_exists({placeholders.name(judge.names[0])})"
    else:
        unique = dict.fromkeys(names)
        if len(unique) > MOST_COMPARED:
            raise TableError(
                f"{key_text(judge.key_of(item))} has more than {MOST_COMPARED} attributes, too many for one "
                "condition. Repair it by hand"
            )
        text = " AND ".join(unchanged_test(item, name, placeholders) for name in unique)
    return {"ConditionExpression": text, **placeholders.parameters()}


def unchanged_test(item: Json, name: str, placeholders: Placeholders) -> str:
    """Return the test that an attribute of an item has not changed; an absent one is still absent."""
    path = placeholders.name(name)
    return f"{path} = {placeholders.value(item[name])}" if name in item else f"attribute_not_exists({path})"
