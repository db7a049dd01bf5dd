"""What a schema says about an item in the table: whether it is right, and what patterns should keep beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from prejoin.keys import TABLE
from prejoin.patterns.aggregates.contribution import Kept
from prejoin.patterns.child import Belonging
from prejoin.protocol.values import canonical_item, equal
from prejoin.table.codec.values import Json
from prejoin.table.read.decode import values_in
from prejoin.table.schema.bind import Bound, facet_tag
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.pattern import OWNER, BoundPattern
from prejoin.table.schema.schema import Schema

Kind = Literal[
    "index keys",
    "missing",
    "drifted",
    "orphaned",
    "miscounted",
    "taken",
    "parentless",
    "misplaced",
    "damaged",
    "unknown",
]
MENDABLE: frozenset[Kind] = frozenset({"index keys", "missing", "drifted", "orphaned", "miscounted"})

_FIXES: Mapping[Kind, str] = {
    "index keys": "write the keys that its attributes give",
    "missing": "write it",
    "drifted": "write it as the item that it belongs to says",
    "orphaned": "delete it",
    "miscounted": "count again",
    "taken": "another item has what this one needs for itself: change either, or delete it",
    "parentless": "the item that it belongs to is not there: insert that, or delete this",
    "misplaced": "its key says other things than its attributes: find out which are right, and insert it anew",
    "damaged": "its attributes are not those of its class: mend them, or delete it",
    "unknown": "it is of no entity of the schema: add that, or delete it",
}


class Finding(msgspec.Struct, frozen=True):
    """One item that is not as it should be.

    >>> print(Finding("orphaned", "User unique email", {"pk": {"S": "UNIQUE#User#email#a"}}, {}, None))
    orphaned: User unique email UNIQUE#User#email#a: delete it
    """

    kind: Kind
    entity: str
    """What it is: an entity, or what a pattern keeps, such as `Order.by-id` or `User unique email`."""
    key: Json
    found: Json | None
    """What is there; of index keys, only those."""
    expected: Json | None
    """What should be there."""
    by: Json = msgspec.field(default_factory=dict)
    """The key of the item by which that was judged: of itself, or of the one that a pattern keeps it for."""
    owner: Json | None = None
    """That item; None if there is none."""
    reason: str = ""
    """Of a damaged item, what is wrong with it."""

    @property
    def fix(self) -> str:
        return _FIXES[self.kind]

    @property
    def mendable(self) -> bool:
        """Whether `repair` can mend it; the others need somebody who knows what was meant."""
        return self.kind in MENDABLE

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.kind}: {self.entity} {key_text(self.key)}: {self.fix}{reason}"


Key = tuple[str, ...]
Around = Mapping[Key, "Json | None"]
"""Items by the texts of their keys; None where there is none."""


class Judge:
    """What the schema says about an item."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.names = schema.keys(TABLE).names
        self._owners: dict[str, Bound[Any]] = {}
        """By the tags of what patterns keep for each item, the entity they keep it for."""
        self._others: set[str] = set()
        """The tags of what else patterns keep: shards of counts, journals. What is right there they alone know."""
        for entity in schema.entities:
            for pattern in entity.patterns:
                for facet in pattern.facets:
                    if type(pattern).expected is BoundPattern.expected:
                        self._others.add(facet_tag(facet))
                    else:
                        self._owners[facet_tag(facet)] = entity
        ours = [facet for facet in schema.facets if facet.slot != TABLE]
        self._index_names = {name for facet in ours for name in schema.composed(facet).names}

    def key_of(self, item: Json) -> Json:
        return {name: item[name] for name in self.names}

    def key(self, item: Json) -> Key:
        return tuple([text for name in self.names for text in item[name].values()])

    def beside(self, item: Json) -> Iterator[Json]:
        """The keys of the items that have to be known to judge an item."""
        entity, owner = self.kind(item)
        if entity is not None and (values := values_of(entity, item)) is not None:
            yield from map(self.key_of, self._expected(entity, values))
            yield from (key for _, key in self._parents(entity, values))
        elif owner is not None and (key := self._owner_key(owner, item)) is not None:
            yield key

    def findings(self, item: Json, around: Around) -> list[Finding]:
        """What is wrong with an item, and with what patterns keep for it."""
        if self._passing(item):
            return []
        entity, owner = self.kind(item)
        if entity is not None:
            return list(self._own(entity, item, around))
        if owner is not None:
            return list(self._kept(owner, item, around))
        tag = item.get(self.schema.type_attribute, {}).get("S", "")
        if tag in self._others:
            return []
        return [Finding("unknown", tag, self.key_of(item), item, None)]

    def _own(self, entity: Bound[Any], item: Json, around: Around) -> Iterator[Finding]:
        key = self.key_of(item)
        try:
            values = entity.codec.values(entity.codec.decode(item))
        except (ValueError, TypeError) as error:  # a CodecError, or what the class itself says
            yield Finding("damaged", entity.tag, key, item, None, reason=str(error))
            return
        wanted = self.schema.written(entity.base, values)
        if not same(key, wanted):
            yield Finding("misplaced", entity.tag, key, item, wanted)
            return
        keys = self._index_keys(entity, values)
        own = {attribute.wire for attribute in entity.codec.attributes.values()}
        found = {name: item[name] for name in self._index_names - own if name in item}
        if not same(found, keys):
            yield Finding("index keys", entity.tag, key, found, keys, key, item)
        for one in self._expected(entity, values):
            there = around[self.key(one)]
            if there is not None and self._passing(there):
                continue
            tag, place = one[self.schema.type_attribute]["S"], self.key_of(one)
            if there is None:
                yield Finding("missing", tag, place, None, one, key, item)
            elif not self._for(entity, there, item):
                yield Finding("taken", tag, place, there, one, key, item)
            elif not same(there, one):
                yield Finding("drifted", tag, place, there, one, key, item)
        for tag, place in self._parents(entity, values):
            if around[self.key(place)] is None:
                yield Finding("parentless", entity.tag, key, item, place | {self.schema.type_attribute: {"S": tag}})

    def _kept(self, entity: Bound[Any], item: Json, around: Around) -> Iterator[Finding]:
        key, tag = self.key_of(item), item[self.schema.type_attribute]["S"]
        of = self._owner_key(entity, item)
        if of is None:
            yield Finding("damaged", tag, key, item, None)
            return
        owner = around[self.key(of)]
        if owner is not None:
            if self._passing(owner) or self.kind(owner)[0] is not entity:
                return
            values = values_of(entity, owner)
            if values is None or any(self.key(one) == self.key(item) for one in self._expected(entity, values)):
                return
        yield Finding("orphaned", tag, key, item, None, of, owner)

    def kind(self, item: Json) -> tuple[Bound[Any] | None, Bound[Any] | None]:
        """The entity whose own item it is, or the one for which a pattern keeps it."""
        tag = item.get(self.schema.type_attribute, {}).get("S")
        if tag is not None:
            return self.schema.by_tag.get(tag), self._owners.get(tag)
        # What others wrote has no tag; in the table no two entities share a key.
        for entity in self.schema.entities:
            if values_in(self.schema, entity.base, item) is not None:
                return entity, None
        return None, None

    def _expected(self, entity: Bound[Any], values: Mapping[str, Any]) -> Iterator[Json]:
        for pattern in entity.patterns:
            for item in pattern.expected(self.schema, values):
                yield canonical_item(item)

    def _parents(self, entity: Bound[Any], values: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
        """The items without which one with these values should not be: their tags and keys."""
        for pattern in entity.patterns:
            if isinstance(pattern, Belonging) or (isinstance(pattern, Kept) and pattern.stays and not pattern.create):
                key = pattern.parent.key(values)
                if key is not None:
                    parent = pattern.parent.entity
                    yield parent.tag, self.schema.written(parent.base, key)

    def counts(self, entity: Bound[Any]) -> list[str]:
        """The attributes of an entity that hold counts of others."""
        patterns = [pattern for one in self.schema.entities for pattern in one.patterns]
        return [one.attribute for one in patterns if isinstance(one, Kept) and one.cls is entity.codec.cls]

    def _index_keys(self, entity: Bound[Any], values: Mapping[str, Any]) -> Json:
        found: Json = {}
        for facet in entity.indexes.values():
            if facet.has(values):
                names = self.schema.composed(facet).names
                written = self.schema.written(facet, values)
                found |= {name: written[name] for name in names}
        return found

    def _owner_key(self, entity: Bound[Any], item: Json) -> Json | None:
        """The key of the item because of which another is there; None if it does not tell."""
        owner = item.get(OWNER, {}).get("M")
        if owner is not None and owner.keys() == set(self.names):
            return dict(owner)
        try:
            attributes = [entity.codec.attribute(name) for name in entity.base.attributes]
            values = {one.name: one.value.decode(item[one.wire]) for one in attributes}
            return self.schema.written(entity.base, values)
        except (KeyError, ValueError):
            return None

    def _for(self, entity: Bound[Any], there: Json, owner: Json) -> bool:
        """Whether an item is kept for this owner."""
        if self.kind(there)[1] is not entity:
            return False
        of = self._owner_key(entity, there)
        return of is not None and self.key(of) == self.key(owner)

    def _passing(self, item: Json) -> bool:
        """Whether DynamoDB is about to delete it. It does so with each item when it likes."""
        time_ = item.get(self.schema.ttl, {}).get("N") if self.schema.ttl else None
        return time_ is not None and float(time_) <= time.time()


def values_of(entity: Bound[Any], item: Json) -> Mapping[str, Any] | None:
    try:
        return entity.codec.values(entity.codec.decode(item))
    except (ValueError, TypeError):  # a CodecError, or what the class itself says
        return None


def same(one: Json, other: Json) -> bool:
    """Whether two items are equal; sets are in any order."""
    return one.keys() == other.keys() and all(equal(value, other[name]) for name, value in one.items())
