"""The expected content of the table: each item with its keys, copies, guards and earlier versions.

It is computed from the key templates of the design, independently of the client, and compared with the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal, localcontext
from typing import Any

from prejoin.design.mapping.addressing import held
from prejoin.design.mapping.facets import counter_templates, ending, history_key
from prejoin.design.model import TABLE, Item
from prejoin.keys import Facet, Natural, Template
from prejoin.keys.guard import guard_key
from prejoin.proof.data import Values
from prejoin.proof.sample_table import REFUSALS, SampleTable
from prejoin.proof.table_content import Dump, Key, TableContent
from prejoin.proof.write_cases import WriteCase, WriteStep
from prejoin.protocol.limits import NUMBER_DIGITS
from prejoin.protocol.values import canonical_item, equal
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import Json
from prejoin.workload.model import VERSION, Entity

_OWNER = "owner"


class ExpectedTable:
    """The items that the table has to hold, and the writes that prepare it for a case."""

    def __init__(self, sample: SampleTable) -> None:
        self._sample = sample
        names = [k.name for k in (*sample.design.slots[0].pk, *sample.design.slots[0].sk)]
        self._content = TableContent(sample.unobserved, names, sample.followed)
        self._facets = {(f.entity, f.copy, f.slot): f for f in sample.facets}
        self.items: Dump = {}
        for entity, items in sample.items.items():
            for values in items:
                self.items |= self.of(entity, values)
        self.items |= self._parts()
        self._counters = [
            (self._facets[counter.entity, "", TABLE], *counter_templates(sample.design, sample.entity(counter.entity)))
            for counter in sample.design.counters
        ]
        self._numbers = [name for counter in sample.design.counters for name in counter.attributes]
        self._shards: dict[Key, dict[Key, None]] = {}
        """The shards of counters, by the key of their item."""
        self._suspects: dict[Key, None] = dict.fromkeys(self.items)
        """The keys that may differ: expected otherwise than at the last comparison, or different then."""

    def of(self, entity: str, values: Values) -> Dump:
        """The items of the table for one item of the data: itself, its copies and its guards."""
        return {self._content.key(item): item for item in self._stored(entity, values)}

    def _parts(self) -> Dump:
        """The parts of large contents that were stored with the data. No pattern writes or deletes one."""
        sample, fields = self._sample, self._sample.package.fields
        tags = {
            f"{own.tag} part {fields[one.entity][one.attribute]}"
            for one in sample.contents
            if (own := sample.design.item(one.entity))
        }
        stored = self._content.scan() if tags else {}
        return {key: item for key, item in stored.items() if self._entity_name(item) in tags}

    def apply(self, step: WriteStep) -> None:
        """Records a step that was done, in the data and in the expected content."""
        items = self._sample.items[step.entity.name]
        if step.before is not None:
            items[:] = [item for item in items if item is not step.before]
        if step.after is not None:
            items.append(step.after)
            self._sample.generator.reserve(step.entity, step.after)
        self._replace(step.entity.name, step.before, step.after)

    def prepare(self, case: WriteCase) -> None:
        """Deletes the items that must not exist, and writes those that a case needs."""
        for entity, item in case.obsolete:
            self._delete(entity, item)
        case.obsolete.clear()
        for entity, item in case.missing:
            self.insert(entity, item)
        case.missing.clear()

    def insert(self, entity: Entity, item: Values) -> None:
        """Writes an item of the data; the only one of its entity may replace another."""
        sample = self._sample
        if entity.singleton:
            # As it is to be stored: a put of the client would count a version.
            for stored in self.of(entity.name, item).values():
                sample.unobserved.call("PutItem", {"Item": stored})
        else:
            sample.unobserved.insert(sample.package.record(entity.name, item))
        self._replace(entity.name, None, item)

    def restore(self) -> None:
        """Makes table and data agree again after a pattern that failed, so that no other pattern fails because of it.

        Items that were generated for its cases may not have been written, and the table may hold what a wrong write
        has left.
        """
        with suppress(*REFUSALS, ValueError, LookupError):  # of code or a transport that the proof has refuted anyway
            for name, items in self._sample.items.items():
                for values in list(items):
                    if any(self.items.get(key) != stored for key, stored in self.of(name, values).items()):
                        self._write_anew(self._sample.entity(name), values)
            self.difference()
            for key in list(self._suspects):
                self._restore_item(key)

    def _restore_item(self, key: Key) -> None:
        """Writes the expected item, in which the numbers of its shards are, or deletes what is there instead."""
        client = self._sample.unobserved
        for stored in (key, *self._shards.get(key, ())):
            if (item := self._content.items.get(stored)) is not None:
                client.call("DeleteItem", {"Key": self._content.key_of(item)})
        if (item := self.items.get(key)) is not None:
            client.call("PutItem", {"Item": item})

    def _write_anew(self, entity: Entity, item: Values) -> None:
        """Writes an item of the data that the table lacks; drops it if it cannot be written."""
        try:
            self.insert(entity, item)
        except REFUSALS:
            items = self._sample.items[entity.name]
            items[:] = [one for one in items if one is not item]

    def _delete(self, entity: Entity, item: Values) -> None:
        sample = self._sample
        key = sample.package.named(entity.name, {name: item.get(name) for name in sample.base(entity)})
        sample.unobserved.delete(sample.package.classes[entity.name], read=True, **key)
        self._replace(entity.name, item, None)

    def _replace(self, entity: str, before: Values | None, after: Values | None) -> None:
        old = self.of(entity, before) if before is not None else {}
        new = self.of(entity, after) if after is not None else {}
        for key in old:
            self.items.pop(key, None)
        self.items |= new
        kept, dropped = self.versions(entity, before)
        self.items |= kept
        for key in dropped:
            self.items.pop(key, None)
        self._suspects |= dict.fromkeys((*old, *new, *kept, *dropped))

    def versions(self, entity: str, before: Values | None) -> tuple[Dump, list[Key]]:
        """The history after an item is replaced: the version that is added, and the key of one that is deleted."""
        described = self._sample.entity(entity)
        history = described.history
        if history is None or before is None:
            return {}, []
        design = self._sample.design
        types = described.types
        pk, sk = (Template.of(text, types, design.separator) for text in history_key(design, described))
        own = design.item(entity)
        assert own is not None  # the item was written
        item: Json = {
            "object": {"M": self._codec(entity).encode_values(self._sample.package.named(entity, before))},
            design.type_attribute: {"S": f"{own.tag} history"},
            **self._written(TABLE, pk, sk, before),
        }
        if history.seconds is not None:
            end = self._sample.now + timedelta(seconds=history.seconds)
            item[design.ttl_attribute] = {"N": str(int(end.timestamp()))}
        last = before[VERSION] - (history.versions or before[VERSION])
        dropped = [self._content.key(self._written(TABLE, pk, sk, {**before, VERSION: last}))] if last > 0 else []
        return {self._content.key(item): item}, dropped

    def difference(self) -> str:
        """How the table differs from its expected content; empty if it does not.

        Only what may differ is compared: what a write has changed in the table, what it should have changed, and what
        was different before.
        """
        self._suspects |= dict.fromkeys(map(self._owner, self._content.refresh()))
        self._suspects = {key: None for key in self._suspects if not self._agrees(key)}
        for key in self._suspects:
            if (item := self.items.get(key)) is not None:
                found = self._found(key)
                wrong = "is not there" if found is None else f"is {found} instead of {item}"
                return f"{self._entity_name(item)} {_key_text(key)} {wrong}"
        strange = next(iter(self._suspects), None)
        if strange is None:
            return ""
        return f"{self._entity_name(self._found(strange) or {})} {_key_text(strange)} should not be there"

    def missed_changes(self) -> str:
        """An item that has changed without the engine telling it; empty if there is none."""
        self._content.refresh()
        followed, there = self._content.items, self._content.scan()
        unlike = next((key for key in followed | there if followed.get(key) != there.get(key)), None)
        return "" if unlike is None else f"{_key_text(unlike)} was changed, and the engine's stream does not tell it"

    def _agrees(self, key: Key) -> bool:
        item, found = self.items.get(key), self._found(key)
        return item == found or (item is not None and found is not None and _same(item, found))

    def _owner(self, key: Key) -> Key:
        """The key itself; of a shard of a counter, that of its item."""
        for base, pk, sk in self._counters:
            if key[1:] == (sk.text,) and pk.matches(key[0]):
                values = pk.parse(key[0])
                owner = tuple(str(form.build(values)) for form in (base.pk, base.sk) if isinstance(form, Template))
                self._shards.setdefault(owner, {})[key] = None
                return owner
        return key

    def _found(self, key: Key) -> Json | None:
        """The item in the table, with the numbers of its shards added to its own."""
        items = self._content.items
        found, shards = items.get(key), [items[one] for one in self._shards.get(key, ()) if one in items]
        if found is None or not shards:
            return found or next(iter(shards), None)
        with localcontext() as context:
            context.prec = 2 * NUMBER_DIGITS  # exact for numbers of DynamoDB
            sums = {
                name: {"N": f"{sum(Decimal(one[name]['N']) for one in (found, *shards) if name in one):f}"}
                for name in self._numbers
                if any(name in one for one in shards)
            }
        return {**found, **sums}

    def _entity_name(self, item: Json) -> str:
        return str(item.get(self._sample.design.type_attribute, {}).get("S", "an item"))

    def _stored(self, entity: str, values: Values) -> Iterator[Json]:
        sample, design = self._sample, self._sample.design
        described = sample.entity(entity)
        own = design.item(entity)
        if own is None:
            return
        yield self._item(own, own.tag, values, {a.name for a in described.attributes})
        for copy in (i for i in design.items if i.entity == entity and i.copy):
            if self._facets[entity, copy.copy, TABLE].has(values):
                yield self._item(copy, copy.tag, values, held(copy, design, described))
        for guard in (g for g in design.guards if g.entity == entity):
            if all(values.get(name) is not None for name in guard.attributes):
                types = described.types
                sorted_ = bool(design.slots[0].sk)
                pk, sk = guard_key(own.tag, guard.attributes, types, design.separator, sorted_)
                base = self._keys(self._facets[entity, "", TABLE], values)
                label = ", ".join(guard.attributes)
                keys = self._written(TABLE, pk, sk, values)
                tag = {"S": f"{own.tag} unique {label}"}
                ends = {n: values[n] for n in [ending(design, described)] if values.get(n) is not None}
                until = self._codec(entity).encode_values(sample.package.named(entity, ends))
                yield {_OWNER: {"M": base}, **until, **keys, design.type_attribute: tag}

    def _item(self, item: Item, tag: str, values: Values, holds: Collection[str]) -> Json:
        sample = self._sample
        kept = {name: value for name, value in values.items() if name in holds}
        found = {
            **self._codec(item.entity).encode_values(sample.package.named(item.entity, kept)),
            sample.design.type_attribute: {"S": tag},
        }
        for facet in item.facets:
            keys = self._facets[item.entity, item.copy, facet.slot]
            if keys.has(values):
                found |= self._keys(keys, values)
        return found

    def _codec(self, entity: str) -> Codec[Any]:
        return self._sample.package.schema.entity(self._sample.package.classes[entity]).codec

    def _keys(self, facet: Facet, values: Values) -> Json:
        return self._written(facet.slot, facet.pk, facet.sk, values)

    def _written(
        self, name: str, pk: Template | Natural, sk: Template | Natural | None, values: Mapping[str, Any]
    ) -> Json:
        slot = self._sample.design.slot(name)
        assert slot is not None  # the facet is in it
        found: Json = {}
        for form, attributes in ((pk, slot.pk), (sk, slot.sk)):
            if isinstance(form, Template):
                found[attributes[0].name] = {"S": form.build({name: values.get(name) for name in form.attributes})}
            elif form is not None:
                written = form.writer(values)
                parts = written if isinstance(written, tuple) else (written,)
                for attribute, part in zip(attributes, parts, strict=True):
                    if attribute.name not in values:
                        found[attribute.name] = {attribute.type: part if attribute.type == "S" else str(part)}
        return found


def _same(one: Json, other: Json) -> bool:
    return equal({"M": canonical_item(one)}, {"M": canonical_item(other)})


def _key_text(key: Key) -> str:
    return " / ".join(key)
