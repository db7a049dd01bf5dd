"""Counts that are written too often for one item: spread over several beside the parent, and read as one."""

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
from prejoin.table.write.model import Action, Write
from prejoin.types import Kind, Type

from .contribution import RECOUNTING, Number, Tally

if TYPE_CHECKING:
    from prejoin.table import AsyncClient, Client

MOST_SHARDS = TRANSACTION_ACTIONS - 1
"""All are written at once when they are counted anew, and deleted at once with their parent."""

VALUE = "n"
"""The attribute that holds what a shard has counted."""
LABEL = "~COUNTER"
"""What the sort keys of shards begin with. It comes after all words, so that they lie between no parent and its
children, which one Query may read together."""
_SHARD = "shard_of_counter"


class Sharded(Tally):
    """An aggregate in items of its own. A shard may be below zero; their sum is right."""

    def __init__(self, shards: int, *args: Any) -> None:
        super().__init__(*args)
        self.shards = shards

    def settle(self, said: str) -> Mapping[type[Any], BoundPattern]:
        parent, binder = self.parent.entity, self.parent.entity.binder
        if parent.base.sk is None:
            raise SchemaError(f"{said}: shards lie side by side under a sort key, and this table has none")
        if self.of and self.entity.codec.attribute(self.of).type.kind not in (Kind.INTEGER, Kind.DECIMAL):
            raise SchemaError(f"{said}: {self.entity.tag}.{self.of} is no int or Decimal; only these add up exactly")
        separator = Separator(binder.separator)
        label = binder.separator.join([LABEL, *(separator.quote(text) for text in (parent.tag, self.attribute))])
        rest = [name for name in parent.base.sk.attributes if name not in parent.base.pk.attributes]
        fields = binder.separator.join([*(f"{{{name}}}" for name in rest), f"{{{_SHARD}:03d}}"])
        types = {**{name: parent.codec.types[name] for name in rest}, _SHARD: Type(Kind.INTEGER)}
        of = Template.of(fields, types, binder.separator)
        # Put together from parts, for a tag may hold what no template's own text may: escapes.
        head = KeyText(label + binder.separator)
        sk = Template(f"{label}{binder.separator}{fields}", (head, *of.parts), of.separator)
        # Named so that nobody can ask for it: a shard is never an answer.
        self.facets = (Facet(f"{parent.tag} counter {self.attribute}", TABLE, parent.base.pk, sk),)
        return {parent.codec.cls: _Shedding(self)}

    def counts(self, parent: Any) -> bool:
        return False

    def key(self, schema: Schema, parent: Mapping[str, Any], shard: int) -> Json:
        return schema.written(self.facets[0], {**parent, _SHARD: shard})

    def expand(self, schema: Schema, write: Write) -> Iterator[Action]:
        for parent, amount in self.shares(write):
            key = self.key(schema, parent, randrange(self.shards))  # noqa: S311 - no secret
            yield add_other(schema, write, key, {VALUE: amount}, self.facets[0].entity, (str(RECOUNTING),))

    def read(self, schema: Schema, table: str, parent: Mapping[str, Any], consistent: bool) -> Steps[list[Json]]:
        """The shards there are, however many were declared when they were written."""
        key = self.key(schema, parent, 0)
        (pk,), (sk,) = (schema.keys(TABLE).pk, schema.keys(TABLE).sk)
        to = Placeholders()
        # All that comes before the number of the shard.
        beginning = key[sk]["S"][:-3]
        text = f"{to.name(pk)} = {to.value(key[pk])} AND begins_with({to.name(sk)}, {to.text(beginning)})"
        body = {"TableName": table, "KeyConditionExpression": text, **to.parameters()}
        if consistent:
            body["ConsistentRead"] = True
        answer = yield Request("Query", body, f"{key_text({pk: key[pk]})} / {beginning}*")
        found: list[Json] = answer["Items"]
        return found


class _Shedding(BoundPattern):
    """The part of the parent: when it is deleted, the shards beside it go too, those that are there and those not."""

    def __init__(self, count: Sharded) -> None:
        self.count = count

    def rewrite(self, write: Write) -> Write:
        if not write.changes.names.isdisjoint(write.entity.base.attributes):
            raise TableError(
                f"the shards of {self.count.attribute} lie beside their {write.entity.tag}, by its key, and would stay "
                "behind: insert another, and delete this one"
            )
        return write

    def expand(self, schema: Schema, write: Write) -> Iterator[Action]:
        if write.verb == "delete":
            for shard in range(self.count.shards):
                yield delete_other(schema, write, self.count.facets[0], {**write.values, _SHARD: shard})


def value(shard: Json) -> Number:
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
    """The sum of the shards of a count: `total(db, Video, "likes", video_id="7")`.

    One Query of as many small items as there are shards: half a read unit up to 4 KB, some 40 shards; a whole one if
    it is to be consistent.
    """
    schema = db.schema
    entity = schema.entity(cls)
    for name in key:
        entity.codec.attribute(name)
    if schema.fence is not None:
        key = dict(schema.fence.filled(key))
    return db._run(_total(schema, db.table, sharded(schema, cls, attribute), key, consistent))


def _total(schema: Schema, table: str, count: Sharded, key: Mapping[str, Any], consistent: bool) -> Steps[Number]:
    return sum(map(value, (yield from count.read(schema, table, key, consistent))))


def sharded(schema: Schema, cls: type[Any], attribute: str) -> Sharded:
    """The sharded aggregate of this name."""
    found = [
        pattern
        for entity in schema.entities
        for pattern in entity.patterns
        if isinstance(pattern, Sharded) and pattern.cls is cls
    ]
    for pattern in found:
        if pattern.attribute == attribute:
            return pattern
    known = ", ".join(one.attribute for one in found) or "none"
    raise SchemaError(
        f"{cls.__name__} has no count {attribute} in shards (it has {known}); one without is an attribute of the item"
    )
