"""Sharded counters: a count that is spread over several items, for more writes per second than one item takes."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping
from random import randrange
from typing import TYPE_CHECKING, Any, overload

from prejoin.keys import TABLE, Facet
from prejoin.keys.template.parts import KeyText
from prejoin.keys.template.separator import Separator
from prejoin.keys.template.template import Template
from prejoin.protocol.limits import TRANSACTION_ACTIONS
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import SchemaError, TableError
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.pattern import BoundPattern
from prejoin.table.schema.schema import Schema
from prejoin.table.write.actions import add_other, delete_other
from prejoin.table.write.from_call import check_known
from prejoin.table.write.model import ItemAction, Write
from prejoin.types import Kind, Type

from .contribution import RECOUNTING, Aggregate, Number

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

MOST_SHARDS = TRANSACTION_ACTIONS - 1
"""A recount writes all shards in one transaction, and the delete of a parent deletes all of them."""

VALUE = "n"
"""The attribute with the count of a shard."""
LABEL = "~COUNTER"
"""The beginning of the sort keys of shards. It sorts after all words, so that shards are never between a parent and its
children, which one Query may read together."""
_SHARD = "shard_of_counter"


class ShardedAggregate(Aggregate):
    """An aggregate in items of its own. A shard may be negative; their sum is right."""

    def __init__(self, shards: int, *args: Any) -> None:
        super().__init__(*args)
        self.shards = shards

    def settle(self, context: str) -> Mapping[type[Any], BoundPattern]:
        parent, binder = self.parent.entity, self.parent.entity.binder
        if parent.base.sk is None:
            raise SchemaError(f"{context}: shards need a sort key, and this table has none")
        if self.of and self.entity.codec.attribute(self.of).type.kind not in (Kind.INTEGER, Kind.DECIMAL):
            raise SchemaError(f"{context}: {self.entity.tag}.{self.of} must be int or Decimal, which add up exactly")
        separator = Separator(binder.separator)
        label = binder.separator.join([LABEL, *(separator.quote(text) for text in (parent.tag, self.attribute))])
        sort_names = [name for name in parent.base.sk.attributes if name not in parent.base.pk.attributes]
        fields = binder.separator.join([*(f"{{{name}}}" for name in sort_names), f"{{{_SHARD}:03d}}"])
        types = {**{name: parent.codec.types[name] for name in sort_names}, _SHARD: Type(Kind.INTEGER)}
        fields_template = Template.of(fields, types, binder.separator)
        # Made from parts, because a tag may contain escapes, which the text of a template must not.
        head = KeyText(label + binder.separator)
        sk = Template(f"{label}{binder.separator}{fields}", (head, *fields_template.parts), fields_template.separator)
        # A name that no query can use: reads never return a shard.
        self.facets = (Facet(f"{parent.tag} counter {self.attribute}", TABLE, parent.base.pk, sk),)
        return {parent.codec.cls: _ShardOwner(self)}

    def counts(self, parent: Any) -> bool:
        return False

    def key(self, schema: Schema, parent: Mapping[str, Any], shard: int) -> Json:
        return schema.facet_key(self.facets[0], {**parent, _SHARD: shard})

    def expand(self, schema: Schema, write: Write) -> Iterator[ItemAction]:
        for parent, amount in self.shares(write):
            key = self.key(schema, parent, randrange(self.shards))  # noqa: S311 - no secret
            yield add_other(schema, write, key, {VALUE: amount}, self.facets[0].entity, (str(RECOUNTING),))

    def read(self, schema: Schema, table: str, parent: Mapping[str, Any], consistent: bool) -> Steps[list[Json]]:
        """Read the stored shards, also those of an earlier, larger number of shards."""
        key = self.key(schema, parent, 0)
        (pk,), (sk,) = (schema.keys(TABLE).pk, schema.keys(TABLE).sk)
        placeholders = Placeholders()
        # The key up to the number of the shard.
        beginning = key[sk]["S"][:-3]
        in_partition = f"{placeholders.name(pk)} = {placeholders.value(key[pk])}"
        text = f"{in_partition} AND begins_with({placeholders.name(sk)}, {placeholders.text(beginning)})"
        body = {"TableName": table, "KeyConditionExpression": text, **placeholders.parameters()}
        if consistent:
            body["ConsistentRead"] = True
        answer = yield Request("Query", body, f"{key_text({pk: key[pk]})} / {beginning}*")
        shards: list[Json] = answer["Items"]
        return shards


class _ShardOwner(BoundPattern):
    """The pattern of the parent: a delete deletes its shards, too."""

    def __init__(self, count: ShardedAggregate) -> None:
        self.count = count

    def rewrite(self, write: Write) -> Write:
        if not write.changes.names.isdisjoint(write.entity.base.attributes):
            raise TableError(
                f"the key of {write.entity.tag} cannot change, because its shards of {self.count.attribute} have the "
                "same key. Insert another one, and delete this one"
            )
        return write

    def expand(self, schema: Schema, write: Write) -> Iterator[ItemAction]:
        if write.verb == "delete":
            for shard in range(self.count.shards):
                yield delete_other(schema, write, self.count.facets[0], {**write.values, _SHARD: shard})


def shard_amount(shard: Json) -> Number:
    """Return the count of a shard."""
    from decimal import Decimal

    text = shard.get(VALUE, {"N": "0"})["N"]
    return Decimal(text) if "." in text or "E" in text else int(text)


@overload
def total(db: Client, cls: type[Any], attribute: str, *, consistent: bool = False, **key: Any) -> Number: ...
@overload
def total(
    db: AsyncClient, cls: type[Any], attribute: str, *, consistent: bool = False, **key: Any
) -> Coroutine[Any, Any, Number]: ...
def total(db: Client | AsyncClient, cls: type[Any], attribute: str, *, consistent: bool = False, **key: Any) -> Any:
    """Return the sum of the shards of a count: `total(db, Video, "likes", video_id="7")`.

    It is one Query of the shards: half a read unit for 4 KB, about 40 shards, or a whole unit if `consistent`.
    """
    _, key_values = check_known(db.schema, cls, key)
    return db._run(_total(db.schema, db.table, sharded_count(db.schema, cls, attribute), key_values, consistent))


def _total(
    schema: Schema, table: str, count: ShardedAggregate, key: Mapping[str, Any], consistent: bool
) -> Steps[Number]:
    return sum(map(shard_amount, (yield from count.read(schema, table, key, consistent))))


def sharded_count(schema: Schema, cls: type[Any], attribute: str) -> ShardedAggregate:
    """Return the sharded aggregate of this name."""
    sharded_counts = [
        pattern
        for entity in schema.entities
        for pattern in entity.patterns
        if isinstance(pattern, ShardedAggregate) and pattern.cls is cls
    ]
    for pattern in sharded_counts:
        if pattern.attribute == attribute:
            return pattern
    names = ", ".join(count.attribute for count in sharded_counts) or "none"
    raise SchemaError(
        f"{cls.__name__} has no sharded count {attribute} (it has {names}). Other counts are attributes of the item"
    )
