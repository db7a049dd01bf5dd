"""Delete an item collection: all objects of one partition."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from prejoin.keys import TABLE
from prejoin.patterns.parents import ParentPattern
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import ArgumentError, Failure, PartlyWritten
from prejoin.table.options import Progress
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.key_attributes import wire
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_hidden
from prejoin.table.write.batch import delete_many
from prejoin.table.write.from_call import check_known

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client


@overload
def delete_collection(db: Client, cls: type[Any], /, *, progress: Progress | None = None, **partition: Any) -> int: ...
@overload
def delete_collection(
    db: AsyncClient, cls: type[Any], /, *, progress: Progress | None = None, **partition: Any
) -> Coroutine[Any, Any, int]: ...
def delete_collection(db: Any, cls: type[Any], /, *, progress: Progress | None = None, **partition: Any) -> Any:
    """Delete all objects in the partition of an object, of any class, and return how many.

    `partition` are the attributes of its partition key. Objects are deleted as by `delete_many`, with their copies,
    guards and counts wherever these are, and parents after their children. Copies of objects that live in other
    partitions stay, because they belong to those. To continue after an interruption, call it again.

    Objects that are refused, such as a parent with children in another partition, are listed in PartlyWritten; use
    `delete_tree` for these.

    Cost: a consistent Query of the collection, once for each generation of parents, and a read and a delete for each
    object that has patterns.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key
    >>> @dataclass
    ... class User:
    ...     user_id: str
    >>> @dataclass
    ... class Order:
    ...     user_id: str
    ...     order_id: str
    >>> schema = Schema(
    ...     Entity(User, Key("USER#{user_id}", "USER")), Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}"))
    ... )
    >>> db = Client(schema, "shop", Embedded())
    >>> db.create_table()
    >>> _ = db.put_many([User("42"), Order("42", "a"), Order("42", "b"), Order("7", "c")])
    >>> delete_collection(db, User, user_id="42")
    3
    """
    schema: Schema = db.schema
    entity, key_values = check_known(schema, cls, partition)
    if set(key_values) != set(entity.base.pk.attributes):
        names = ", ".join(entity.base.pk.attributes)
        raise ArgumentError(f"the partition of a {entity.tag} is given by {names}, and not by {', '.join(key_values)}")
    key = entity.base.pk.build(key_values)
    assert not isinstance(key, tuple)  # only an index has several attributes in its partition key
    return db._run(_delete(schema, db.table, wire(key), progress))


def _delete(schema: Schema, table: str, partition: Mapping[str, str], progress: Progress | None) -> Steps[int]:
    generations = {entity.tag: _generation(schema, entity) for entity in schema.entities}
    placeholders = Placeholders()
    text = f"{placeholders.name(schema.keys(TABLE).pk[0])} = {placeholders.value(dict(partition))}"
    body = {"TableName": table, "KeyConditionExpression": text, **placeholders.parameters(), "ConsistentRead": True}
    total = 0
    failures: list[Failure] = []
    for generation in sorted(set(generations.values())):
        tags = [tag for tag, level in generations.items() if level == generation]
        start: dict[str, Any] = {}
        while True:
            answer = yield Request("Query", body | start, next(iter(partition.values())))
            for tag in tags:
                items = [item for item in answer["Items"] if item.get(schema.type_attribute) == {"S": tag}]
                number, refused_items = yield from _delete_items(schema, table, schema.by_tag[tag], items)
                total += number
                failures += refused_items
            if progress:
                progress(total)
            if "LastEvaluatedKey" not in answer:
                break
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
    if failures:
        raise PartlyWritten(total, failures)
    return total


def _delete_items(
    schema: Schema, table: str, entity: BoundEntity[Any], items: Sequence[Json]
) -> Steps[tuple[int, Sequence[Failure]]]:
    codec = entity.codec
    objects = [codec.read(item, entity.tag, {}) for item in items if not is_hidden(entity, item)]
    try:
        number = yield from delete_many(schema, table, codec.cls, objects, None, read=entity.maintains)
    except PartlyWritten as error:
        return error.written, error.failures
    return number, ()


def _generation(schema: Schema, entity: BoundEntity[Any]) -> int:
    """Return 0 for objects that are no parents, and one more than their children for others."""
    generation = 0
    for pattern in entity.patterns:
        # A parent of its own class: these are deleted in the order in which they stand.
        if isinstance(pattern, ParentPattern) and pattern.child is not entity:
            child = schema.entity(pattern.child.codec.cls)
            generation = max(generation, 1 + _generation(schema, child))
    return generation
