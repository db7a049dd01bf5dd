"""Copies: a second item of an entity under another key, written, changed and deleted with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from prejoin.keys import TABLE, Facet
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.errors import ConditionFailed, NotUnique, SchemaError
from prejoin.table.schema.bind import Bound, facet_tag, is_natural
from prejoin.table.schema.declare import Key
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.write.actions import delete_other, put_other, update_other, vacancy
from prejoin.table.write.index_keys import key_dependencies
from prejoin.table.write.model import Action, Write


@dataclass(frozen=True)
class Copy(Pattern):
    """A second item of an entity, under another key. Reads use it as they use an index, but may read consistently.

    Every write is done to the item and its copies in one transaction. `attributes` are what a copy holds beside the
    attributes of its keys; None: everything. With `when` in its key it is there for some items only, and so it is where
    an attribute of its key is missing. `indexes` are its keys in indexes: it is in those, and in indexes on attributes
    that it holds, and not in those of its entity.

    Cost: each write of an item with one copy writes 2 items in a transaction, so 4 write units where it would have been
    1 (of items up to 1 KB); updates of attributes that no copy holds cost nothing more. An update that moves the copy,
    because its key depends on what changes, deletes and puts: 6 units. Each index that it is in is written as for any
    item. What the copy's key is made of has to be known: give it (`status="OPEN"`, and it is checked), or `read=True`.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Client, Entity
    >>> @dataclass
    ... class Order:
    ...     user_id: str
    ...     order_id: str
    ...     total: int
    >>> key = Key("USER#{user_id}", "ORDER#{order_id}")
    >>> copy = Copy("by-id", Key("ORDER#{order_id}", "ORDER"))
    >>> db = Client(Schema(Entity(Order, key, patterns=[copy])), "shop", Embedded())
    >>> db.create_table()
    >>> db.insert(Order("1", "7", 99))
    Order(user_id='1', order_id='7', total=99)
    >>> with db.update(Order, user_id="1", order_id="7") as order:
    ...     order.total = 89
    >>> db.get(Order, order_id="7", consistent=True)
    Order(user_id='1', order_id='7', total=89)
    """

    name: str
    key: Key
    attributes: Sequence[str] | None = None
    indexes: Mapping[str, Key] = field(default_factory=dict)

    def key_in(self, index: str) -> Key | None:
        return self.indexes.get(index)

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        binder = entity.binder
        if not self.name:
            raise SchemaError(f"a copy of {entity.tag} has no name")
        if [one.name for one in binder.entity.patterns if isinstance(one, Copy)].count(self.name) > 1:
            raise SchemaError(f"two copies of {entity.tag} are called {self.name}")
        binder.check_indexes(self.indexes)
        facet = binder.facet(TABLE, self.key, self.name)
        given = [binder.facet(slot, key, self.name) for slot, key in self.indexes.items()]
        everything = frozenset(entity.codec.attributes)
        wanted = everything
        if self.attributes is not None:
            for name in self.attributes:
                entity.codec.attribute(name)
            # What decides whether an item is shown has to be in the copy, too.
            kept = {one.attribute for one in entity.lifecycles}
            # What decides where it is in an index, too: so its keys there can be told from the copy alone.
            placing = {name for one in (facet, *given) for name in one.placing} if given else set[str]()
            wanted = frozenset({*self.attributes, *entity.base.attributes, *facet.attributes, *placing, *kept})
        facet = replace(facet, holds=None if wanted == everything else wanted)
        found = [binder.of_copy(slot, facet, self.key, self.indexes.get(slot), wanted) for slot in binder.indexes]
        return _Copied(facet, [one for one in found if one], wanted)


class _Copied(BoundPattern):
    def __init__(self, facet: Facet, indexes: Sequence[Facet], attributes: frozenset[str]) -> None:
        self.facets = (facet, *indexes)
        self.facet = facet
        self.indexes = [one for one in indexes if not is_natural(one)]
        self.attributes = attributes
        self.what = f"its copy {facet.copy}"

    def depends(self, write: Write) -> Iterable[str]:
        match write.verb:
            case "insert" | "check":
                return ()
            case "update" if self._moves(write):
                return sorted({*self.attributes, *self.facet.placing})  # it moves, and is written whole
            case "update" if write.changes.names.isdisjoint(self.attributes):
                return ()
            case "update" if self.indexes:
                return [*self.facet.placing, *sorted(key_dependencies(write, self.indexes))]
            case _:
                return self.facet.placing

    def expand(self, schema: Schema, write: Write) -> Iterator[Action]:
        """The same write on the copy."""
        match write.verb:
            case "insert" | "put":
                yield from self._moved(schema, write, write.was, write.values)
            case "update" if self._moves(write):
                write.need(sorted({*self.attributes, *self.facet.placing}), write.after, self.what)
                yield from self._moved(schema, write, write.before, write.after)
            case "update":
                changes = write.changes.only(self.attributes)
                if changes.all and self.facet.has(write.before):
                    yield update_other(schema, write, self.facet, write.before, changes, self.indexes)
            case "delete":
                if self.facet.has(write.before):
                    yield delete_other(schema, write, self.facet, write.before)

    def expected(self, schema: Schema, values: Mapping[str, Any]) -> Iterator[Json]:
        if self.facet.has(values):
            yield self._item(schema, schema.by_tag[self.facet.entity], values)

    def _moves(self, write: Write) -> bool:
        """Whether where the copy is, or whether there is one, depends on what an update changes."""
        return not write.changes.whole.isdisjoint(self.facet.placing)

    def _moved(
        self, schema: Schema, write: Write, before: Mapping[str, Any] | None, after: Mapping[str, Any]
    ) -> Iterator[Action]:
        """The copy written whole, and the one under the old key deleted."""
        facet = self.facet
        now = facet.key(after) if facet.has(after) else None
        if before is not None and facet.has(before) and facet.key(before) != now:
            yield delete_other(schema, write, facet, before)
        if now is not None:
            yield self._put(schema, write, after)

    def _put(self, schema: Schema, write: Write, values: Mapping[str, Any]) -> Action:
        entity, codec = write.entity, write.entity.codec
        to, text = Placeholders(), ""
        if not self._its_own(entity):
            text = vacancy(schema, entity, to)
            if write.verb != "insert":
                # Its own copy may be replaced, that of another item may not.
                own = [
                    f"{to.name(codec.attribute(name).wire)} = {to.value(codec.encode_value(name, values[name]))}"
                    for name in entity.base.attributes
                ]
                text += f" OR ({' AND '.join(own)})" if own else ""
        item = self._item(schema, entity, values)
        return put_other(schema, write, item, text, to, self.facet, partial(_other, self.facet))

    def _item(self, schema: Schema, entity: Bound[Any], values: Mapping[str, Any]) -> Json:
        held = {name: value for name, value in values.items() if name in self.attributes}
        item = entity.codec.encode_values(held) | schema.written(self.facet, values)
        for facet in self.indexes:
            if facet.has(values):
                item |= schema.written(facet, values)
        return item | {schema.type_attribute: {"S": facet_tag(self.facet)}}

    def _its_own(self, entity: Bound[Any]) -> bool:
        """Whether no other item can have a copy under this key, for all of the item's key is in it."""
        return self.facet.readable.issuperset(entity.base.attributes)


def _other(facet: Facet, write: Write, _: Json | None) -> ConditionFailed:
    return NotUnique(f"the copy {facet.copy} of another {write.entity.tag} has the same key")
