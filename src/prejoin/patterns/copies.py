"""Copies: a second item of an entity under another key, which is written and deleted with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from prejoin.keys import TABLE, Facet
from prejoin.patterns.twin_mark import MARK, twin_mark
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.errors import ConditionFailed, NotUnique, SchemaError
from prejoin.table.schema.bind import BoundEntity, facet_tag, is_natural
from prejoin.table.schema.declare import Key
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.write.actions import delete_other, put_other, update_other, vacancy, with_set
from prejoin.table.write.expand import WriteForm
from prejoin.table.write.index_keys import key_dependencies
from prejoin.table.write.model import ItemAction, Write, key_texts


@dataclass(frozen=True)
class Copy(Pattern):
    """A second item of an entity, under another key. Reads use it like an index, and can read it consistently.

    Each write changes the item and its copies in one transaction. `attributes` are the attributes that a copy holds
    beside those of its keys; by default all. If its key has `when`, or an attribute of its key is None, an item has no
    copy. `indexes` are the keys of the copy in indexes; it is also in indexes on attributes that it holds.

    Cost: a write of an item with one copy costs 4 write units instead of 1 (two items of up to 1 KB in a transaction).
    Updates of attributes that the copy does not hold cost nothing more. An update that changes the key of the copy
    deletes and puts it: 6 units. A write needs the current values of the attributes in the copy's key: pass them
    (`status="OPEN"`, which is then checked), or `read=True`.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity
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
    tag: str = ""
    """The type tag of the copy's items. The default is `<entity>.<name>`."""
    whole: bool = False
    """Whether each write puts the whole copy, and reads the item before it for that. It is for a copy that some items
    do not have yet, or not any more; other writes refuse to update a copy that does not exist."""
    change: str = ""
    """The id of the change of designs that gives the entity another key in the table, if the copy is the item with that
    key. Both items then hold a mark, by which `prejoin evolve` knows that they belong together."""

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        binder = entity.binder
        if not self.name:
            raise SchemaError(f"a copy of {entity.tag} has no name")
        copies = [pattern for pattern in binder.entity.patterns if isinstance(pattern, Copy)]
        if sum(copy.name == self.name for copy in copies) > 1:
            raise SchemaError(f"two copies of {entity.tag} have the name {self.name}")
        binder.check_indexes(self.indexes)
        facet = replace(binder.facet(TABLE, self.key, self.name), tag=self.tag)
        index_facets = [binder.facet(slot, key, self.name) for slot, key in self.indexes.items()]
        held_names = self._held_names(entity, facet, index_facets)
        facet = replace(facet, holds=None if held_names == frozenset(entity.codec.attributes) else held_names)
        facets_in_indexes = []
        for slot in binder.indexes:
            facet_in_index = binder.of_copy(slot, facet, self.key, self.indexes.get(slot), held_names)
            if facet_in_index is not None:
                facets_in_indexes.append(facet_in_index)
        return CopyPattern(facet, facets_in_indexes, held_names, self.whole, self.change)

    def _held_names(self, entity: BoundEntity[Any], facet: Facet, index_facets: Sequence[Facet]) -> frozenset[str]:
        """Return the attributes that a copy holds."""
        if self.attributes is None:
            return frozenset(entity.codec.attributes)
        for name in self.attributes:
            entity.codec.attribute(name)
        names = {*self.attributes, *entity.base.attributes, *facet.attributes}
        # The copy needs the attributes that decide whether an item is visible.
        names.update(lifecycle.attribute for lifecycle in entity.lifecycles)
        # And those of its keys in indexes, so that these can be computed from the copy alone.
        if index_facets:
            for index_facet in (facet, *index_facets):
                names.update(index_facet.placing)
        return frozenset(names)


def owner_form(entity: BoundEntity[Any], copy: str) -> tuple[str, Facet]:
    """Return the type tag and the key of an entity's own item, or of its copy with this name.

    An item that moves to another key has guards and versions under both: each design finds them by its own tag and key.
    """
    if not copy:
        return entity.tag, entity.base
    for pattern in entity.binder.entity.patterns:
        if isinstance(pattern, Copy) and pattern.name == copy:
            return pattern.tag, entity.binder.facet(TABLE, pattern.key, pattern.name)
    raise SchemaError(f"{entity.tag} has no copy {copy}")


class CopyPattern(BoundPattern):
    def __init__(
        self, facet: Facet, indexes: Sequence[Facet], attributes: frozenset[str], whole: bool, change: str = ""
    ) -> None:
        self.facets = (facet, *indexes)
        self.facet = facet
        self.indexes = [index for index in indexes if not is_natural(index)]
        self.attributes = attributes
        self.whole = whole
        self.change = change
        self.completes = bool(change)
        self.label = f"its copy {facet.copy}"
        self._insert: WriteForm | None = None
        """A cache: the parts of a put of the copy that are the same for all inserts."""

    def rewrite(self, write: Write) -> Write:
        reads = self.whole and write.stored is None and write.verb in ("put", "update", "upsert", "delete")
        return replace(write, read_first=True) if reads else write

    def depends(self, write: Write) -> Iterable[str]:
        match write.verb:
            case "insert" | "check" | "check_absent":
                return ()
            case "update" if self._must_move(write):
                return sorted({*self.attributes, *self.facet.placing})  # the copy moves, so all of it is written
            case "update" if write.changes.names.isdisjoint(self.attributes):
                return ()
            case "update" if self.indexes:
                return [*self.facet.placing, *sorted(key_dependencies(write, self.indexes))]
            case _:
                return self.facet.placing

    def expand(self, schema: Schema, write: Write) -> Iterator[ItemAction]:
        """Apply the write to the copy."""
        match write.verb:
            case "insert" | "put":
                before = write.stored.values if write.stored else None
                yield from self._move(schema, write, before, write.values)
            case "update" if self._must_move(write):
                write.need(sorted({*self.attributes, *self.facet.placing}), write.after, self.label)
                yield from self._move(schema, write, write.before, write.after)
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

    def _must_move(self, write: Write) -> bool:
        """Return whether an update changes the key of the copy, or whether there is one; or writes the whole copy."""
        return self.whole or not write.changes.replaced.isdisjoint(self.facet.placing)

    def _move(
        self, schema: Schema, write: Write, before: Mapping[str, Any] | None, after: Mapping[str, Any]
    ) -> Iterator[ItemAction]:
        """Put the copy, and delete the one with the old key."""
        facet = self.facet
        has_copy = facet.has(after)
        if before is not None and facet.has(before) and not (has_copy and facet.key(before) == facet.key(after)):
            yield delete_other(schema, write, facet, before)
        if has_copy:
            yield self._put(schema, write, after)

    def _put(self, schema: Schema, write: Write, values: Mapping[str, Any]) -> ItemAction:
        entity, codec = write.entity, write.entity.codec
        is_cacheable = write.verb == "insert" and not self.whole and not entity.vacant()
        if is_cacheable and self._insert is not None:
            item = self._item(schema, entity, values)
            key = key_texts(schema.item_key(item))
            form = self._insert
            return ItemAction("Put", {"Item": item, **form.constant}, key, write, form.failure, own=False)
        placeholders, text = Placeholders(), ""
        if not self._has_own_key(entity):
            text = vacancy(schema, entity, placeholders)
            if self.whole or write.verb != "insert":
                # It may replace the copy of the same item, but not that of another. One that not all writers keep may
                # be left of a deleted item.
                owner_tests = []
                for name in entity.base.attributes:
                    value = placeholders.value(codec.encode_value(name, values[name]))
                    owner_tests.append(f"{placeholders.name(codec.attribute(name).wire)} = {value}")
                if owner_tests:
                    text += f" OR ({' AND '.join(owner_tests)})"
        item = self._item(schema, entity, values)
        action = put_other(schema, write, item, text, placeholders, self.facet, partial(_not_unique, self.facet))
        if is_cacheable:
            constant = {name: parameter for name, parameter in action.parameters.items() if name != "Item"}
            self._insert = WriteForm(constant, action.failure)
        return action

    def _item(self, schema: Schema, entity: BoundEntity[Any], values: Mapping[str, Any]) -> Json:
        held_values = {name: value for name, value in values.items() if name in self.attributes}
        item = entity.codec.encode_values(held_values)
        item.update(schema.facet_key(self.facet, values))
        for facet in self.indexes:
            if facet.has(values):
                item.update(schema.facet_key(facet, values))
        item[schema.type_attribute] = {"S": facet_tag(self.facet)}
        if self.change:
            item[MARK] = twin_mark(self.change, entity.codec, values)
        return item

    def complete(self, schema: Schema, write: Write, action: ItemAction) -> ItemAction:
        """Mark the item itself, too."""
        parameters = action.parameters
        if "Item" in parameters:
            mark = twin_mark(self.change, write.entity.codec, write.values)
            return replace(action, parameters={**parameters, "Item": {**parameters["Item"], MARK: mark}})
        if "UpdateExpression" not in parameters:
            return action
        after = write.values if write.verb == "put" else write.after
        mark = twin_mark(self.change, write.entity.codec, after)
        placeholders = Placeholders.continued(parameters)
        expression = with_set(parameters["UpdateExpression"], f"{placeholders.name(MARK)} = {placeholders.value(mark)}")
        marked_parameters = {**parameters, **placeholders.parameters(), "UpdateExpression": expression}
        return replace(action, parameters=marked_parameters)

    def _has_own_key(self, entity: BoundEntity[Any]) -> bool:
        """Return whether no other item can have a copy with this key, because it contains the whole key of the item."""
        return self.facet.readable.issuperset(entity.base.attributes)


def _not_unique(facet: Facet, write: Write, _: Json | None) -> ConditionFailed:
    return NotUnique(f"another {write.entity.tag} has a copy {facet.copy} with the same key")
