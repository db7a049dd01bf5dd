"""Repair findings of an audit, each in one transaction, if nothing has changed since."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from prejoin.patterns.aggregates.recount import recounted
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
        return (yield from _refreshed(schema, table, finding))
    actions = [{kind: {"TableName": table, **said}} for kind, said in _actions(schema, finding)]
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
    return bool((yield from recounted(schema, table, entity.codec.cls, key, keep_extremes=True)))


def _refreshed(schema: Schema, table: str, finding: Finding) -> Steps[bool]:
    # Not a read of the client: that would hide an item that is marked as deleted.
    request = Request(
        "GetItem", {"TableName": table, "Key": finding.key, "ConsistentRead": True}, key_text(finding.key)
    )
    item = (yield request).get("Item")
    codec = schema.by_tag[finding.entity].codec
    return item is not None and (yield from refreshed_item(schema, table, codec.decode(item)))


def _actions(schema: Schema, finding: Finding) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the actions that repair a finding, if nothing has changed."""
    judge, found, expected, owner = Judge(schema), finding.found, finding.expected, finding.owner
    if finding.kind == "index keys":
        assert expected is not None
        assert owner is not None
        to = Placeholders()
        sets = [f"{to.name(name)} = {to.value(value)}" for name, value in expected.items()]
        removes = [to.name(name) for name in (found or {}) if name not in expected]
        clauses = [f"SET {', '.join(sets)}"] * bool(sets) + [f"REMOVE {', '.join(removes)}"] * bool(removes)
        condition = _as_found(judge, owner, [*owner, *expected], to)
        yield "Update", {"Key": finding.key, "UpdateExpression": " ".join(clauses), **condition}
        return
    kept = {*(found or {}), *(expected or {})}
    yield "ConditionCheck", {"Key": finding.by, **_as_found(judge, owner, _deciding(judge, owner, kept))}
    condition = _as_found(judge, found, [*(found or {}), *(expected or {})])
    if expected is None:
        yield "Delete", {"Key": finding.key, **condition}
    else:
        yield "Put", {"Item": expected, **condition}


def _deciding(judge: Judge, owner: Json | None, names: set[str]) -> list[str]:
    """Return the attributes of an owner that decide about a finding: its own, and counts only if a copy has them."""
    entity = judge.entity_of(owner) if owner is not None else None
    if entity is None:
        return []
    counts = judge.counts(entity)
    wires = [attribute.wire for attribute in entity.codec.attributes.values() if attribute.name not in counts]
    return [*wires, *(wire for name in counts if (wire := entity.codec.attribute(name).wire) in names)]


def _as_found(judge: Judge, item: Json | None, names: Sequence[str], to: Placeholders | None = None) -> dict[str, Any]:
    """Return the condition that these attributes of an item have not changed, or that there is still no item."""
    to = to or Placeholders()
    if item is None:
        text = f"attribute_not_exists({to.name(judge.names[0])})"
    else:
        unique = dict.fromkeys(names)
        if len(unique) > MOST_COMPARED:
            raise TableError(
                f"{key_text(judge.key_of(item))} has more than {MOST_COMPARED} attributes, too many for one "
                "condition. Repair it by hand"
            )
        text = " AND ".join(
            f"{to.name(name)} = {to.value(item[name])}" if name in item else f"attribute_not_exists({to.name(name)})"
            for name in unique
        )
    return {"ConditionExpression": text, **to.parameters()}
