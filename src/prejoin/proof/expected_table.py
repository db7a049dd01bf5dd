"""The expected content of the table: each item with its keys, copies, guards and earlier versions.

It is computed from the key templates of the design, independently of the client, and compared with the table.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal, localcontext
from itertools import product
from typing import Any

from prejoin.cases.case import WriteCase, WriteStep
from prejoin.cases.items import Values, has_same_unique_values, names_item, remove_item
from prejoin.constructs.construct import AddedConstruct, Companion, DeclaredConstruct, ExpectedItem, ExpectedPiece
from prejoin.constructs.registry import (
    added_constructs,
    all_constructs,
    constructs_of,
    hiding_constructs,
    initial_values,
    is_hidden,
)
from prejoin.design.mapping.addressing import held
from prejoin.design.model import TABLE, Item
from prejoin.keys import Facet, Natural, Template
from prejoin.keys.content import INLINE, OBJECT_SIZE, PART_SIZE
from prejoin.keys.counter import counter_key
from prejoin.patterns.large.content import DATA
from prejoin.patterns.large.large import LargeValue, Place
from prejoin.proof.sample_table import REFUSALS, SampleTable
from prejoin.proof.table_content import Dump, Key, TableContent
from prejoin.protocol.limits import NUMBER_DIGITS
from prejoin.protocol.values import canonical_item, equal
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import Json
from prejoin.workload.model import Entity, Verb
from prejoin.workload.tenants import has_tenant_folder

_OWNER = "owner"
_BYSTANDERS = 3
"""The hidden items of each entity that hides some."""


class ExpectedTable:
    """The items that the table has to hold, and the writes that prepare it for a case."""

    def __init__(self, sample: SampleTable) -> None:
        self._sample = sample
        names = [k.name for k in (*sample.design.slots[0].pk, *sample.design.slots[0].sk)]
        self._content = TableContent(sample.unobserved, names, sample.followed)
        self._facets = {(f.entity, f.copy, f.slot): f for f in sample.facets}
        self._counted_copies: dict[Key, Key] = {}
        """The keys of copies that hold a number with shards, with the keys of their items."""
        self.items: Dump = {}
        for entity, items in sample.items.items():
            for values in items:
                self.items |= self.of(entity, values)
        # The client makes up the ids of uploads, so these parts are read from the table and not computed.
        self.items |= self._parts()
        self._counters = [self._counter_keys(counter.entity) for counter in sample.design.counters]
        self._numbers = [name for counter in sample.design.counters for name in counter.attributes]
        self._shards: dict[Key, dict[Key, None]] = {}
        """The shards of counters, by the key of their item."""
        self._suspects: dict[Key, None] = dict.fromkeys(self.items)
        """The keys that may differ: expected otherwise than at the last comparison, or different then."""
        self._wrong_objects = ""
        """What is wrong with the objects of contents in a store."""
        self._hide_bystanders()

    def _counter_keys(self, entity: str) -> tuple[Facet, Template, Template]:
        """The key of an entity, and that of the shards of its counter."""
        own, base = self._sample.design.item(entity), self._facets[entity, "", TABLE]
        assert own is not None
        assert isinstance(base.pk, Template)
        assert isinstance(base.sk, Template)
        types, separator = self._sample.entity(entity).types, self._sample.design.separator
        return (base, *counter_key(own.tag, base.pk, base.sk, types, separator))

    def of(self, entity: str, values: Values) -> Dump:
        """The items of the table for one item of the data: itself, its copies and its guards."""
        items = {self._content.key(item): item for item in self._stored_items(entity, values)}
        if items and self._sample.design.counter(entity) is not None:
            self._note_counted_copies(items)
        return items

    def _note_counted_copies(self, items: Dump) -> None:
        """Notes which items are copies with numbers of a counter. The first of the items has the shards."""
        own_key, *further_keys = items
        numbers = {name for counter in self._sample.design.counters for name in counter.attributes}
        for key in further_keys:
            if not numbers.isdisjoint(items[key]):
                self._counted_copies[key] = own_key

    def _parts(self) -> Dump:
        """The parts of large contents that were stored with the data. No pattern deletes one."""
        sample, fields = self._sample, self._sample.package.fields
        tags = {
            f"{own.tag} part {fields[content.entity][content.attribute]}"
            for content in sample.contents
            if (own := sample.design.item(content.entity))
        }
        stored_items = self._content.scan() if tags else {}
        return {key: item for key, item in stored_items.items() if self._entity_name(item) in tags}

    def store_contents(self, step: WriteStep) -> list[Json]:
        """Lets an item that was written refer to its large contents, and expects their parts, which it gives.

        The id of an upload is made up by the client, and read from the table.
        """
        parts: list[Json] = []
        after = step.after
        if after is None:
            return parts
        for bound in added_constructs(step.entity, self._sample.design):
            value = after.get(bound.item_name.content)
            if isinstance(value, LargeValue) and value.data is not None and len(value.data) > INLINE:
                parts += self._store_content(step, after, bound, value, value.data)
        self._expect({self._content.key(part): part for part in parts})
        return parts

    def _store_content(
        self, step: WriteStep, after: Values, bound: AddedConstruct, value: LargeValue, data: bytes
    ) -> list[Json]:
        """Lets an item refer to one large content, and gives its parts."""
        sample, name = self._sample, bound.item_name.content
        upload = self._upload_of(step.entity, after, name)
        folder = bound.folder(sample.design)
        place: Place = "parts"
        if folder:
            place = "tenant" if has_tenant_folder(sample.workload, step.entity) else "objects"
            self._wrong_objects = self._wrong_objects or self._object_difference(folder, upload, data)
        size = OBJECT_SIZE if folder else PART_SIZE
        after[name] = LargeValue(place, value.size, value.sha256, upload, size)
        if name in step.changed.sets:
            step.changed.sets[name] = after[name]
        pieces = bound.kept_pieces(upload, data, sample.design)
        return [self._part(step.entity, after, piece) for piece in pieces]

    def _upload_of(self, entity: Entity, values: Values, attribute: str) -> str:
        """The id of the upload that an item in the table refers to; empty if it refers to none."""
        sample = self._sample
        key = sample.package.named(entity.name, {name: values[name] for name in sample.base(entity)})
        record = sample.unobserved.get(sample.package.classes[entity.name], consistent=True, **key)
        content = getattr(record, sample.package.fields[entity.name][attribute], None)
        return content.upload if isinstance(content, LargeValue) else ""

    def _part(self, entity: Entity, values: Values, piece: ExpectedPiece) -> Json:
        own = self._sample.design.item(entity.name)
        assert own is not None  # the item was written
        return {
            **self._key_attributes(TABLE, piece.pk, piece.sk, {**values, **piece.fields}),
            self._sample.design.type_attribute: {"S": f"{own.tag} {piece.tag}"},
            _OWNER: {"M": self._keys(self._facets[entity.name, "", TABLE], values)},
            DATA: {"B": base64.b64encode(piece.data).decode()},
        }

    def _object_difference(self, folder: str, upload: str, data: bytes) -> str:
        """What is wrong with the object of a content, which is not larger than one object; empty if it is right."""
        store = self._sample.package.store
        names = list(store.keys(f"{self._sample.design.table}/{folder}"))
        key = next((name for name in names if name.endswith(f"/{upload}/000000")), "")
        return "" if store.get(key) == data else f"the object of the upload {upload} is not in the folder {folder}"

    def apply(self, step: WriteStep) -> None:
        """Records a step that was done, in the data and in the expected content."""
        sample, entity = self._sample, step.entity
        if step.before is not None:
            remove_item(sample.items[entity.name], step.before)
        if step.after is not None:
            key = self._own_key(entity, step.after)
            sample.hidden.pop(key, None)
            sample.generator.reserve(entity, step.after)
            if is_hidden(entity, step.after, sample.now):
                sample.hidden[key] = entity, step.after
            else:
                sample.items[entity.name].append(step.after)
        self._replace(entity.name, step.before, step.after)

    def prepare(self, case: WriteCase) -> None:
        """Deletes the items that must not exist, and writes those that a case needs."""
        for entity, item in case.obsolete:
            self._delete(entity, item)
        case.obsolete.clear()
        for entity, item in case.missing:
            self.insert(entity, item)
        case.missing.clear()
        for step in case.steps:
            # An update of an item that does not exist is refused: it creates nothing that a hidden item could prevent.
            is_created = step.before is None and step.action.verb is not Verb.UPDATE
            if is_created and step.after is not None:
                self._purge(step.entity, step.after)
                self._forget_versions(step.entity, step.after)

    def insert(self, entity: Entity, item: Values) -> None:
        """Writes an item of the data; the only one of its entity may replace another."""
        sample = self._sample
        self._purge(entity, item)
        self._forget_versions(entity, item)
        if entity.singleton:
            # As it is to be stored: a put of the client would count a version.
            self._put_stored(self.of(entity.name, item))
        else:
            sample.unobserved.insert(sample.package.record(entity.name, item))
        self._replace(entity.name, None, item)

    def hide(self, bound: DeclaredConstruct, item: Values) -> Values:
        """Hides an item of the data, as a construct of its entity does, and returns its values then."""
        entity = bound.entity
        hidden_values = dict(bound.hidden_values(item, self._sample.now))
        remove_item(self._sample.items[entity.name], item)
        self._delete_stored(self.of(entity.name, item))
        self._put_stored(self.of(entity.name, hidden_values))
        self._sample.hidden[self._own_key(entity, item)] = entity, hidden_values
        return hidden_values

    def _put_stored(self, stored_items: Dump) -> None:
        """Writes items as they are to be stored, without the client."""
        for item in stored_items.values():
            self._sample.unobserved.call("PutItem", {"Item": item})
        self._expect(stored_items)

    def _delete_stored(self, stored_items: Dump) -> None:
        """Deletes items by their keys, without the client."""
        for item in stored_items.values():
            self._sample.unobserved.call("DeleteItem", {"Key": self._content.key_of(item)})
        self._expect_none(stored_items)

    def _expect(self, stored_items: Dump) -> None:
        self.items |= stored_items
        self._suspects |= dict.fromkeys(stored_items)

    def _expect_none(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self.items.pop(key, None)
            self._suspects[key] = None

    def _hide_bystanders(self) -> None:
        """Adds hidden items beside the data, so that each read has some that it must not return."""
        for entity in self._sample.workload.entities:
            if not entity.singleton:
                examples = list(self._sample.items.get(entity.name, ())[:_BYSTANDERS])
                for bound, example in product(hiding_constructs(entity), examples):
                    self._hide_item_like(bound, example)

    def _hide_item_like(self, bound: DeclaredConstruct, example: Values) -> None:
        """Adds a hidden item with the values of another one that are not its own."""
        sample, entity = self._sample, bound.entity
        tenant = sample.tenant_name
        copied_values = {
            name: value for name, value in example.items() if name == tenant or not names_item(entity, name)
        }
        other = sample.generator.another(entity, copied_values)
        if other is not None and self.items.keys().isdisjoint(self.of(entity.name, other)):
            sample.generator.reserve(entity, other)
            self.items |= self.of(entity.name, other)
            self.hide(bound, other)

    def _own_key(self, entity: Entity, values: Values) -> Key:
        """The key of the entity's own item."""
        facet = self._facets[entity.name, "", TABLE]
        # An attribute that is a key is stored as itself.
        base_values = {name: values[name] for name in self._sample.base(entity) if values.get(name) is not None}
        attributes = self._codec(entity.name).encode_values(self._sample.package.named(entity.name, base_values))
        return self._content.key({**attributes, **self._keys(facet, values)})

    def _purge(self, entity: Entity, item: Values) -> None:
        """Deletes the hidden items that have the key of another, which is to be written, or its unique values."""
        hidden_items = self._sample.hidden
        if not hidden_items:
            return
        # The client does not find hidden items. An insert would meet the key of one, or the guard of its unique value.
        owners = {self._own_key(entity, item): None}
        for key, (other, values) in hidden_items.items():
            if other is entity and has_same_unique_values(entity, values, item):
                owners[key] = None
        for owner in owners:
            if owner in hidden_items:
                other, values = hidden_items.pop(owner)
                self._delete_stored(self.of(other.name, values))

    def _forget_versions(self, entity: Entity, item: Values) -> None:
        """Deletes the earlier versions of an item that had the key of another, which is to be written.

        With few ids, as of an enum, a case takes the id of an item that another case has deleted. The client counts on
        from the versions of that one, and the expected content begins with the first.
        """
        if entity.singleton:
            return  # it stays from case to case
        versions, _ = self.beside(entity.name, {**initial_values(entity), **item})
        type_attribute = self._sample.design.type_attribute
        tags = {(partition, version[type_attribute]["S"]) for (partition, *_), version in versions.items()}
        former_items: Dump = {}
        for key, stored_item in self.items.items():
            if (key[0], self._entity_name(stored_item)) in tags:
                former_items[key] = stored_item
        self._delete_stored(former_items)

    def restore(self) -> None:
        """Makes table and data agree again after a pattern that failed, so that no other pattern fails because of it.

        Items that were generated for its cases may not have been written, and the table may hold what a wrong write
        has left.
        """
        with suppress(*REFUSALS, ValueError, LookupError):  # of code or a transport that the proof has refuted anyway
            for name, items in self._sample.items.items():
                for values in list(items):
                    if any(self.items.get(key) != stored_item for key, stored_item in self.of(name, values).items()):
                        self._write_anew(self._sample.entity(name), values)
            self.difference()
            for key in list(self._suspects):
                self._restore_item(key)

    def _restore_item(self, key: Key) -> None:
        """Writes the expected item, in which the numbers of its shards are, or deletes what is there instead."""
        own_key = self._counted_copies.get(key, key)  # a copy is written with its item: both have the sum then
        copy_keys = [copy_key for copy_key, item_key in self._counted_copies.items() if item_key == own_key]
        for restored_key in (key, own_key, *copy_keys):
            self._put_expected(restored_key)

    def _put_expected(self, key: Key) -> None:
        client = self._sample.unobserved
        # The expected item has the sum of all shards, so these must go with the item.
        for stored_key in (key, *self._shards.get(key, ())):
            if (item := self._content.items.get(stored_key)) is not None:
                client.call("DeleteItem", {"Key": self._content.key_of(item)})
        if (item := self.items.get(key)) is not None:
            client.call("PutItem", {"Item": item})

    def _write_anew(self, entity: Entity, item: Values) -> None:
        """Writes an item of the data that the table lacks; drops it if it cannot be written."""
        try:
            self.insert(entity, item)
        except REFUSALS:
            remove_item(self._sample.items[entity.name], item)

    def _delete(self, entity: Entity, item: Values) -> None:
        sample = self._sample
        # A delete by the client would only hide the item, and the case needs its key to be free.
        if hiding := hiding_constructs(entity):
            self.hide(hiding[0], item)  # its delete would hide it, too
            self._purge(entity, item)
            return
        key = sample.package.named(entity.name, {name: item.get(name) for name in sample.base(entity)})
        sample.unobserved.delete(sample.package.classes[entity.name], read=True, **key)
        self._replace(entity.name, item, None)

    def _replace(self, entity: str, before: Values | None, after: Values | None) -> None:
        if before is not None:
            self._expect_none(self.of(entity, before))
        if after is not None:
            self._expect(self.of(entity, after))
        kept_items, dropped_keys = self.beside(entity, before, after)
        self._expect(kept_items)
        self._expect_none(dropped_keys)

    def beside(self, entity: str, before: Values | None, after: Values | None = None) -> tuple[Dump, list[Key]]:
        """What constructs keep beside the data after an item is replaced, and the keys of what they delete."""
        kept_items: Dump = {}
        dropped_keys: list[Key] = []
        if before is None:
            return kept_items, dropped_keys
        for bound in constructs_of(self._sample.entity(entity)):
            change = bound.expected_change(before, after, self._sample.design)
            for item in change.kept:
                stored_item = self._kept_item(bound.entity, item)
                kept_items[self._content.key(stored_item)] = stored_item
            dropped_keys += [self._content.key(self._key_of(bound.entity, item)) for item in change.dropped]
        return kept_items, dropped_keys

    def _kept_item(self, entity: Entity, kept_item: ExpectedItem) -> Json:
        sample, own = self._sample, self._sample.design.item(entity.name)
        assert own is not None  # the item was written
        item: Json = {
            "object": {
                "M": self._codec(entity.name).encode_values(sample.package.named(entity.name, kept_item.values))
            },
            sample.design.type_attribute: {"S": f"{own.tag} {kept_item.tag}"},
            **self._key_of(entity, kept_item),
        }
        if kept_item.ends is not None:
            end = sample.now + timedelta(seconds=kept_item.ends)
            item[sample.design.ttl_attribute] = {"N": str(int(end.timestamp()))}
        return item

    def _key_of(self, entity: Entity, kept_item: ExpectedItem) -> Json:
        separator = self._sample.design.separator
        pk, sk = (Template.of(text, entity.types, separator) for text in (kept_item.pk, kept_item.sk))
        return self._key_attributes(TABLE, pk, sk, kept_item.values)

    def difference(self) -> str:
        """How the table differs from its expected content; empty if it does not.

        Only what may differ is compared: what a write has changed in the table, what it should have changed, and what
        was different before.
        """
        if wrong := self._wrong_objects:
            self._wrong_objects = ""
            return wrong
        self._suspects |= dict.fromkeys(map(self._owner, self._content.refresh()))
        self._suspects = {key: None for key in self._suspects if not self._agrees(key)}
        # What is wrong with an expected item says more than another one that should not be there.
        expected_keys = [key for key in self._suspects if key in self.items]
        key = next(iter(expected_keys or self._suspects), None)
        return "" if key is None else self._difference_of(key)

    def _difference_of(self, key: Key) -> str:
        """How the item with a key differs from the expected one."""
        item, table_item = self.items.get(key), self._item_in_table(key)
        if item is None:
            return f"{self._entity_name(table_item or {})} {_key_text(key)} should not be there"
        wrong = "is not there" if table_item is None else f"is {table_item} instead of {item}"
        return f"{self._entity_name(item)} {_key_text(key)} {wrong}"

    def missed_changes(self) -> str:
        """An item that has changed without the engine telling it; empty if there is none."""
        self._content.refresh()
        followed_items, scanned_items = self._content.items, self._content.scan()
        for key in followed_items | scanned_items:
            if followed_items.get(key) != scanned_items.get(key):
                return f"{_key_text(key)} was changed, and the engine's stream does not tell it"
        return ""

    def _agrees(self, key: Key) -> bool:
        item, table_item = self.items.get(key), self._item_in_table(key)
        # Equal items may be written differently: a set has no order, and `1.0` is the number `1`.
        return item == table_item or (item is not None and table_item is not None and _is_same_item(item, table_item))

    def _owner(self, key: Key) -> Key:
        """The key itself; of a shard of a counter, that of its item."""
        # The shards of a counter have a sort key of their own. Their partition key holds the id of their item.
        for base, pk, sk in self._counters:
            if key[1:] == (sk.text,) and pk.matches(key[0]):
                values = pk.parse(key[0])
                owner = tuple(str(form.build(values)) for form in (base.pk, base.sk) if isinstance(form, Template))
                self._shards.setdefault(owner, {})[key] = None
                return owner
        return key

    def _item_in_table(self, key: Key) -> Json | None:
        """The item in the table, with the numbers of its shards added to its own."""
        items = self._content.items
        own_item = items.get(key)
        shard_keys = self._shards.get(self._counted_copies.get(key, key), ())
        shards = [items[shard_key] for shard_key in shard_keys if shard_key in items]
        if own_item is None and key in self._counted_copies:
            return None
        if own_item is None or not shards:
            return own_item or next(iter(shards), None)
        sums: Json = {}
        for name in self._numbers:
            if any(name in shard for shard in shards):
                sums[name] = _sum_of([item[name] for item in (own_item, *shards) if name in item])
        return {**own_item, **sums}

    def _entity_name(self, item: Json) -> str:
        return str(item.get(self._sample.design.type_attribute, {}).get("S", "an item"))

    def _stored_items(self, entity: str, values: Values) -> Iterator[Json]:
        design = self._sample.design
        definition = self._sample.entity(entity)
        own = design.item(entity)
        if own is None:
            return
        yield self._item(own, own.tag, values, {attribute.name for attribute in definition.attributes})
        for copy in design.items:
            if copy.entity == entity and copy.copy and self._facets[entity, copy.copy, TABLE].has(values):
                yield self._item(copy, copy.tag, values, held(copy, design, definition))
        for bound in all_constructs(definition, design):
            for companion in bound.companions(values, design):
                yield self._companion_item(own, companion, values)

    def _companion_item(self, own: Item, companion: Companion, values: Values) -> Json:
        """An item that a construct keeps beside another, such as a guard. It holds the key of its owner."""
        sample, entity = self._sample, own.entity
        stored_values = {name: values[name] for name in companion.stored if values.get(name) is not None}
        return {
            _OWNER: {"M": self._keys(self._facets[entity, "", TABLE], values)},
            **self._codec(entity).encode_values(sample.package.named(entity, stored_values)),
            **self._key_attributes(TABLE, companion.pk, companion.sk, values),
            sample.design.type_attribute: {"S": f"{own.tag} {companion.tag}"},
        }

    def _item(self, item: Item, tag: str, values: Values, holds: Collection[str]) -> Json:
        sample = self._sample
        held_values = {name: value for name, value in values.items() if name in holds}
        item_attributes = {
            **self._codec(item.entity).encode_values(sample.package.named(item.entity, held_values)),
            sample.design.type_attribute: {"S": tag},
        }
        # An item has the keys of an index only if it has all their attributes: others are not in the index.
        for facet in item.facets:
            keys = self._facets[item.entity, item.copy, facet.slot]
            if keys.has(values):
                item_attributes |= self._keys(keys, values)
        return item_attributes

    def _codec(self, entity: str) -> Codec[Any]:
        return self._sample.package.schema.entity(self._sample.package.classes[entity]).codec

    def _keys(self, facet: Facet, values: Values) -> Json:
        return self._key_attributes(facet.slot, facet.pk, facet.sk, values)

    def _key_attributes(
        self, name: str, pk: Template | Natural, sk: Template | Natural | None, values: Mapping[str, Any]
    ) -> Json:
        slot = self._sample.design.slot(name)
        assert slot is not None  # the facet is in it
        key_attributes: Json = {}
        for form, attributes in ((pk, slot.pk), (sk, slot.sk)):
            if isinstance(form, Template):
                key_attributes[attributes[0].name] = {
                    "S": form.build({name: values.get(name) for name in form.attributes})
                }
            elif form is not None:
                key_value = form.writer(values)
                parts = key_value if isinstance(key_value, tuple) else (key_value,)
                for attribute, part in zip(attributes, parts, strict=True):
                    # An attribute that is a key is already in the item, encoded as any other attribute.
                    if attribute.name not in values:
                        key_attributes[attribute.name] = {attribute.type: part if attribute.type == "S" else str(part)}
        return key_attributes


def _sum_of(numbers: Iterable[Json]) -> Json:
    with localcontext() as context:
        context.prec = 2 * NUMBER_DIGITS  # exact for numbers of DynamoDB
        total = sum(Decimal(number["N"]) for number in numbers)
        return {"N": f"{total:f}"}


def _is_same_item(item: Json, other_item: Json) -> bool:
    return equal({"M": canonical_item(item)}, {"M": canonical_item(other_item)})


def _key_text(key: Key) -> str:
    return " / ".join(key)
