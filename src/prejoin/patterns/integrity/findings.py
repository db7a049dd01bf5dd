"""Compare an item of the table with the schema: its index keys, and the items of its patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from prejoin.keys import TABLE
from prejoin.patterns.aggregates.contribution import ParentAggregate
from prejoin.patterns.child import ChildPattern
from prejoin.patterns.copies import CopyPattern
from prejoin.patterns.follows import FollowsPattern
from prejoin.protocol.values import canonical_item, equal
from prejoin.table.codec.values import Json
from prejoin.table.read.decode import values_in
from prejoin.table.schema.bind import BoundEntity, facet_tag
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.pattern import OWNER, STATE_TAG, BoundPattern
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_expired, is_hidden

FindingKind = Literal[
    "index keys",
    "missing",
    "drifted",
    "orphaned",
    "miscounted",
    "outdated",
    "taken",
    "parentless",
    "misplaced",
    "damaged",
    "unknown",
    "conflict",
    "computed",
    "unfit",
    "renamed",
]
MENDABLE: frozenset[FindingKind] = frozenset({"index keys", "missing", "drifted", "orphaned", "miscounted", "outdated"})

_FIXES: Mapping[FindingKind, str] = {
    "index keys": "write the keys of its attributes",
    "missing": "write it",
    "drifted": "write it with the values of its owner",
    "orphaned": "delete it",
    "miscounted": "count again",
    "outdated": "write it with the values that it follows",
    "taken": "another item has the same unique value: change or delete one of them",
    "parentless": "its parent does not exist: insert the parent, or delete the item",
    "misplaced": "its key does not match its attributes: find out which are right, and insert it again",
    "damaged": "its attributes do not fit its class: correct them, or delete it",
    "conflict": "it was changed under both of its keys: correct one of them, or delete it",
    "renamed": "an attribute was changed under both of its names: write it with the code that knows both",
    "computed": "a function of yours and the item do not agree: correct the item, or the function",
    "unfit": "an attribute does not fit the next design: correct it, or delete the item",
    "unknown": "it is of no entity of the schema: add the entity, or delete the item",
}


class Finding(msgspec.Struct, frozen=True):
    """One item that does not match the schema.

    >>> print(Finding("orphaned", "User unique email", {"pk": {"S": "UNIQUE#User#email#a"}}, {}, None))
    orphaned: User unique email UNIQUE#User#email#a: delete it
    """

    kind: FindingKind
    entity: str
    """The type tag: an entity, or an item of a pattern, such as `Order.by-id` or `User unique email`."""
    key: Json
    found: Json | None
    """The stored item; only the attributes in question for index keys, and for what follows a source."""
    expected: Json | None
    """The expected item, or these attributes of it."""
    by: Json = msgspec.field(default_factory=dict)
    """The key of the owner: of the item itself, or of the item that a pattern maintains it for."""
    owner: Json | None = None
    """The owner; None if it does not exist."""
    reason: str = ""
    """The error of a damaged item."""
    holder: Json = msgspec.field(default_factory=dict)
    """The key of the item that has a unique value, or the key of a copy, which is taken."""

    @property
    def fix(self) -> str:
        return _FIXES[self.kind]

    @property
    def mendable(self) -> bool:
        """Whether `repair` can fix it. Other findings need a decision by a person."""
        return self.kind in MENDABLE

    @property
    def detail(self) -> str:
        """The item, and how to fix it."""
        if self.holder:
            conflict_text = f"{key_text(self.holder)} has it, and {key_text(self.by)} has the same value"
            return f"{self.entity} {key_text(self.key)}: {conflict_text}: change or delete one of them"
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.entity} {key_text(self.key)}: {self.fix}{reason}"

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


KeyTexts = tuple[str, ...]
Around = Mapping[KeyTexts, "Json | None"]
"""Items by the values of their keys; None if there is no item."""


class Judge:
    """Compares items with a schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.names = schema.keys(TABLE).names
        self._owners: dict[str, BoundEntity[Any]] = {}
        """The entity for each type tag of items that patterns maintain."""
        self._others: set[str] = set()
        """The type tags of other items of patterns, such as shards and journals. They are not checked."""
        self._twins: dict[str, BoundEntity[Any]] = {}
        """The entity for each type tag of items under its other key, between two designs. They have guards, too."""
        for entity in schema.entities:
            for pattern in entity.patterns:
                if isinstance(pattern, CopyPattern) and pattern.change:
                    self._twins[facet_tag(pattern.facet)] = entity
                for facet in pattern.facets:
                    if type(pattern).expected is BoundPattern.expected:
                        self._others.add(facet_tag(facet))
                    else:
                        self._owners[facet_tag(facet)] = entity
        template_facets = [facet for facet in schema.facets if facet.slot != TABLE]
        self._index_names = {name for facet in template_facets for name in schema.template_keys(facet).names}

    def key_of(self, item: Json) -> Json:
        return self.schema.item_key(item)

    def key(self, item: Json) -> KeyTexts:
        return tuple([text for name in self.names for text in item[name].values()])

    def neighbours(self, item: Json) -> Iterator[Json]:
        """Return the keys of the items that are needed to check an item."""
        entity, owner = self.kind(item)
        if entity is not None and (values := values_of(entity, item)) is not None:
            for expected_item in self._items_expected(entity, values):
                yield self.key_of(expected_item)
                if (other_owner := self._other_owner(expected_item, item)) is not None:
                    yield other_owner
            yield from (key for _, key in self._parents(entity, values))
            yield from (key for _, key in self._sources(entity, values))
        elif owner is not None and (key := self._owner_key(owner, item)) is not None:
            yield key

    def findings(self, item: Json, around: Around) -> list[Finding]:
        """Return the findings of an item, and of the items that patterns maintain for it."""
        if self.is_expired(item):
            return []
        entity, owner = self.kind(item)
        if entity is not None:
            return list(self._entity_findings(entity, item, around))
        if owner is not None:
            return list(self._owned_findings(owner, item, around))
        tag = item.get(self.schema.type_attribute, {}).get("S", "")
        if tag in self._others or tag == STATE_TAG:
            return []
        return [Finding("unknown", tag, self.key_of(item), item, None)]

    def _entity_findings(self, entity: BoundEntity[Any], item: Json, around: Around) -> Iterator[Finding]:
        key = self.key_of(item)
        try:
            values = entity.codec.values(entity.codec.decode(item))
        except (ValueError, TypeError) as error:  # a CodecError, or what the class itself says
            yield Finding("damaged", entity.tag, key, item, None, reason=str(error))
            return
        expected_key = self.schema.facet_key(entity.base, values)
        if not same(key, expected_key):
            yield Finding("misplaced", entity.tag, key, item, expected_key)
            return
        yield from self._index_key_findings(entity, item, values)
        yield from self._pattern_item_findings(entity, item, values, around)
        for tag, place in self._parents(entity, values):
            if around[self.key(place)] is None:
                yield Finding("parentless", entity.tag, key, item, place | {self.schema.type_attribute: {"S": tag}})
        yield from self._source_findings(entity, item, values, around)

    def _index_key_findings(self, entity: BoundEntity[Any], item: Json, values: Mapping[str, Any]) -> Iterator[Finding]:
        """Compare the index keys of an item with those that its attributes give."""
        key = self.key_of(item)
        index_keys = self._index_keys(entity, values)
        # The key of an index on an attribute is the attribute itself.
        wires = {attribute.wire for attribute in entity.codec.attributes.values()}
        stored_keys = {name: item[name] for name in self._index_names - wires if name in item}
        if not same(stored_keys, index_keys):
            yield Finding("index keys", entity.tag, key, stored_keys, index_keys, key, item)

    def _pattern_item_findings(
        self, entity: BoundEntity[Any], item: Json, values: Mapping[str, Any], around: Around
    ) -> Iterator[Finding]:
        """Compare the copies and guards of an item with those that its attributes give."""
        key = self.key_of(item)
        for expected_item in self._items_expected(entity, values):
            stored_item = around[self.key(expected_item)]
            if stored_item is not None and self.is_expired(stored_item):
                continue
            other_owner = self._other_owner(expected_item, item)
            if other_owner is not None:
                twin = around[self.key(other_owner)]
                if not self._is_expected_by(entity, twin, expected_item):
                    continue  # `prejoin evolve` writes the twin first, or reports that both items were changed
            tag, place = expected_item[self.schema.type_attribute]["S"], self.key_of(expected_item)
            if stored_item is None:
                yield Finding("missing", tag, place, None, expected_item, key, item)
            elif not self._belongs_to(entity, stored_item, other_owner or item):
                holder = self._owner_key(entity, stored_item) if self.kind(stored_item)[1] is entity else None
                yield Finding("taken", tag, place, stored_item, expected_item, key, item, holder=holder or {})
            elif not same(stored_item, expected_item):
                yield Finding("drifted", tag, place, stored_item, expected_item, key, item)

    def _source_findings(
        self, entity: BoundEntity[Any], item: Json, values: Mapping[str, Any], around: Around
    ) -> Iterator[Finding]:
        """Compare the attributes that follow a source with those of the source."""
        key = self.key_of(item)
        for pattern, place in self._sources(entity, values):
            source = around[self.key(place)]
            if source is None or self.is_expired(source) or is_hidden(pattern.source.entity, source):
                continue  # without a source, the item keeps the last values
            source_values = values_of(pattern.source.entity, source)
            if source_values is None:
                continue  # a damaged source is a finding of its own
            source_json = {
                name: source_values[source_name] for name, source_name in pattern.declared.attributes.items()
            }
            if any(values[name] != value for name, value in source_json.items()):
                item_json = entity.codec.encode_values({name: values[name] for name in source_json})
                yield Finding(
                    "outdated", entity.tag, key, item_json, entity.codec.encode_values(source_json), key, item
                )

    def _owned_findings(self, entity: BoundEntity[Any], item: Json, around: Around) -> Iterator[Finding]:
        key, tag = self.key_of(item), item[self.schema.type_attribute]["S"]
        owner_key = self._owner_key(entity, item)
        if owner_key is None:
            yield Finding("damaged", tag, key, item, None)
            return
        owner = around[self.key(owner_key)]
        if owner is not None:
            if self.is_expired(owner) or self.entity_of(owner) is not entity:
                return
            if values_of(entity, owner) is None or self._is_expected_by(entity, owner, item):
                return
        yield Finding("orphaned", tag, key, item, None, owner_key, owner)

    def kind(self, item: Json) -> tuple[BoundEntity[Any] | None, BoundEntity[Any] | None]:
        """Return the entity of an item, or the one that a pattern maintains it for."""
        tag = item.get(self.schema.type_attribute, {}).get("S")
        if tag is not None:
            return self.schema.by_tag.get(tag), self._owners.get(tag)
        # What others wrote has no tag; in the table no two entities share a key.
        for entity in self.schema.entities:
            if values_in(self.schema, entity.base, item) is not None:
                return entity, None
        return None, None

    def entity_of(self, item: Json) -> BoundEntity[Any] | None:
        """Return the entity whose attributes an item has: its own, or that of a twin."""
        entity, _ = self.kind(item)
        tag = item.get(self.schema.type_attribute, {}).get("S", "")
        return entity or self._twins.get(tag)

    def _other_owner(self, expected_item: Json, item: Json) -> Json | None:
        """Return the key of the twin that an expected item belongs to; None if it belongs to the item itself."""
        owner = expected_item.get(OWNER, {}).get("M")
        if not self._twins or owner is None or self.key(owner) == self.key(item):
            return None
        return dict(owner)

    def _items_expected(self, entity: BoundEntity[Any], values: Mapping[str, Any]) -> Iterator[Json]:
        for pattern in entity.patterns:
            for item in pattern.expected(self.schema, values):
                yield canonical_item(item)

    def _is_expected_by(self, entity: BoundEntity[Any], owner: Json | None, item: Json) -> bool:
        """Return whether an owner has values for which a pattern maintains this item."""
        values = values_of(entity, owner) if owner is not None else None
        return values is not None and any(
            self.key(expected_item) == self.key(item) for expected_item in self._items_expected(entity, values)
        )

    def _parents(self, entity: BoundEntity[Any], values: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
        """Return the type tags and keys of the parents that an item with these values needs."""
        for pattern in entity.patterns:
            if isinstance(pattern, ChildPattern) or (
                isinstance(pattern, ParentAggregate) and pattern.stays and not pattern.create
            ):
                key = pattern.parent.key(values)
                if key is not None:
                    parent = pattern.parent.entity
                    yield parent.tag, self.schema.facet_key(parent.base, key)

    def _sources(self, entity: BoundEntity[Any], values: Mapping[str, Any]) -> Iterator[tuple[FollowsPattern, Json]]:
        """Return the items whose values an item with these values repeats, by their keys."""
        for pattern in entity.patterns:
            if isinstance(pattern, FollowsPattern) and (key := pattern.source.key(values)) is not None:
                yield pattern, self.schema.facet_key(pattern.source.entity.base, key)

    def counts(self, entity: BoundEntity[Any]) -> list[str]:
        """Return the attributes of an entity that hold aggregates of children."""
        patterns = [pattern for child in self.schema.entities for pattern in child.patterns]
        aggregates = [pattern for pattern in patterns if isinstance(pattern, ParentAggregate)]
        return [aggregate.attribute for aggregate in aggregates if aggregate.cls is entity.codec.cls]

    def _index_keys(self, entity: BoundEntity[Any], values: Mapping[str, Any]) -> Json:
        index_keys: Json = {}
        for facet in entity.indexes.values():
            if facet.has(values):
                names = self.schema.template_keys(facet).names
                facet_key = self.schema.facet_key(facet, values)
                index_keys |= {name: facet_key[name] for name in names}
        return index_keys

    def _owner_key(self, entity: BoundEntity[Any], item: Json) -> Json | None:
        """Return the key of the owner of an item; None if it is not known."""
        owner = item.get(OWNER, {}).get("M")
        if owner is not None and owner.keys() == set(self.names):
            return dict(owner)
        try:
            attributes = [entity.codec.attribute(name) for name in entity.base.attributes]
            values = {attribute.name: attribute.value.decode(item[attribute.wire]) for attribute in attributes}
            return self.schema.facet_key(entity.base, values)
        except (KeyError, ValueError):
            return None

    def _belongs_to(self, entity: BoundEntity[Any], item: Json, owner: Json) -> bool:
        """Return whether an item belongs to this owner."""
        if self.kind(item)[1] is not entity:
            return False
        owner_key = self._owner_key(entity, item)
        return owner_key is not None and self.key(owner_key) == self.key(owner)

    def is_expired(self, item: Json) -> bool:
        return is_expired(self.schema.ttl, item)


def values_of(entity: BoundEntity[Any], item: Json) -> Mapping[str, Any] | None:
    try:
        return entity.codec.values(entity.codec.decode(item))
    except (ValueError, TypeError):  # a CodecError, or what the class itself says
        return None


def same(first: Json, other: Json) -> bool:
    """Return whether two items are equal; sets have no order."""
    return first.keys() == other.keys() and all(equal(value, other[name]) for name, value in first.items())
