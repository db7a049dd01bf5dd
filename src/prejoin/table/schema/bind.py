"""Bind a declared entity: parse its key templates and conditions, and bind its patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from prejoin.keys import TABLE, Facet, KeyForm, Natural, Template, TemplateError, When
from prejoin.keys.template.encoding import plain
from prejoin.table.codec.codec import Codec
from prejoin.table.errors import SchemaError
from prejoin.types import Kind

from .declare import Entity, Index, Key, Membership
from .key_attributes import KeyAttributes
from .pattern import BoundPattern, Lifecycle, Visibility

if TYPE_CHECKING:
    from prejoin.table.condition.record import Condition

E = TypeVar("E")


class BoundEntity(msgspec.Struct, Generic[E], frozen=True):
    """An entity of a schema."""

    tag: str
    codec: Codec[E]
    base: Facet
    indexes: Mapping[str, Facet]
    """By index, the facets with key templates, whose keys have to be written."""
    natural: Mapping[str, Facet]
    """By index, the facets whose keys are attributes of the entity."""
    binder: Binder
    """Makes facets for the items that patterns add."""
    patterns: tuple[BoundPattern, ...] = ()
    unknown: str = "replace"
    """What a put does with stored attributes that the class does not have: `replace`, `keep` or `refuse`."""

    @property
    def facets(self) -> tuple[Facet, ...]:
        own = (self.base, *self.indexes.values(), *self.natural.values())
        return own + tuple(facet for pattern in self.patterns for facet in pattern.facets)

    def visible(self) -> list[Condition]:
        """Return the conditions that visible items fulfil."""
        return [visibility.condition for visibility in self._visibilities()]

    def vacant(self) -> list[Condition]:
        """Return the conditions of hidden items that an insert may replace."""
        conditions = [visibility.replaceable for visibility in self._visibilities()]
        return [condition for condition in conditions if condition is not None]

    def _visibilities(self) -> list[Visibility]:
        # Not cached: the condition of items with a time to live contains the present time.
        visibilities = [pattern.visibility() for pattern in self.patterns]
        return [visibility for visibility in visibilities if visibility is not None]

    @property
    def maintains(self) -> bool:
        """Whether patterns maintain something that deletes and batches would leave stale."""
        return any(not pattern.only_checks for pattern in self.patterns)

    @property
    def tested_names(self) -> frozenset[str]:
        """The attributes that decide whether an item is visible."""
        conditions = self.visible()
        if not conditions:
            return frozenset()
        from prejoin.table.condition.record import attributes_in  # patterns with conditions have imported it

        return frozenset([name for condition in conditions for name in attributes_in(condition)])

    @property
    def lifecycles(self) -> tuple[Lifecycle, ...]:
        """How patterns end the items."""
        return self.binder.entity.lifecycles

    @property
    def expiry(self) -> str:
        """The time to live attribute; empty if items do not expire."""
        return next((lifecycle.attribute for lifecycle in self.lifecycles if lifecycle.end == "expires"), "")

    @property
    def deletion_mark(self) -> str:
        """The attribute that marks an item as deleted; empty if there is none."""
        return next((lifecycle.attribute for lifecycle in self.lifecycles if lifecycle.end == "marked"), "")


def bind(
    entity: Entity[E],
    indexes: Mapping[str, Index],
    keys: Mapping[str, KeyAttributes],
    separator: str,
    tenant: str = "",
    ttl: str = "",
) -> BoundEntity[E]:
    """Bind a declared entity; raise SchemaError if it cannot work."""
    if entity.unknown not in ("replace", "keep", "refuse"):
        raise SchemaError(
            f"{entity.cls.__name__}: unknown is {entity.unknown!r}, and must be 'replace', 'keep' or 'refuse'"
        )
    codec = _codec(entity, ttl)
    binder = Binder(entity, codec, indexes, keys, separator, tenant)
    base = binder.facet(TABLE, entity.key)
    _check_base(base, codec)
    binder.check_indexes(entity.indexes)
    template_facets: dict[str, Facet] = {}
    natural_facets: dict[str, Facet] = {}
    for slot in indexes:
        facet = binder.in_index(slot)
        if facet is None:
            continue
        if is_natural(facet):
            natural_facets[slot] = facet
        else:
            template_facets[slot] = facet
    bound = BoundEntity(binder.tag, codec, base, template_facets, natural_facets, binder, unknown=entity.unknown)
    # A soft delete rewrites a delete to an update. It comes first, so that the other patterns see the update. A pattern
    # that spreads comes even before it, because the others leave its writes alone.
    patterns = sorted(
        entity.patterns, key=lambda pattern: pattern.lifecycle is None or pattern.lifecycle.end != "marked"
    )
    bound_patterns = [pattern.bind(bound) for pattern in patterns]
    return replace(bound, patterns=tuple(sorted(bound_patterns, key=lambda pattern: not pattern.spreads)))


def _codec(entity: Entity[E], ttl: str) -> Codec[E]:
    """Return the codec of an entity. A time to live attribute has the same name in the whole table."""
    names, storage = dict(entity.names), {}
    for lifecycle in entity.lifecycles:
        if lifecycle.end == "expires":
            names[lifecycle.attribute] = ttl
        if lifecycle.storage:
            storage[lifecycle.attribute] = lifecycle.storage
    for pattern in entity.patterns:
        storage.update(pattern.storage)
    return Codec.of(entity.cls, names, storage=storage)


def introduce(bound: Sequence[BoundEntity[Any]]) -> list[BoundEntity[Any]]:
    """Return the entities of a schema, each with the patterns that patterns of other entities add to it."""
    entities = {entity.codec.cls: entity for entity in bound}
    additions: dict[type[Any], tuple[BoundPattern, ...]] = {}
    for entity in bound:
        for pattern in entity.patterns:
            for cls, theirs in pattern.link(entities).items():
                additions[cls] = (*additions.get(cls, ()), theirs)
    return [replace(entity, patterns=entity.patterns + additions.get(entity.codec.cls, ())) for entity in bound]


def facet_tag(facet: Facet) -> str:
    """Return the value of the type attribute for the items of a facet."""
    return facet.tag or (f"{facet.entity}.{facet.copy}" if facet.copy else facet.entity)


def is_natural(facet: Facet) -> bool:
    """Return whether the keys of a facet are attributes of the entity, so that no other keys have to be written."""
    ours = isinstance(facet.pk, Template) and not facet.local
    return not ours and not isinstance(facet.sk, Template)


class Binder(msgspec.Struct, frozen=True):
    """Makes the facets of one entity from its key templates."""

    entity: Entity[Any]
    codec: Codec[Any]
    indexes: Mapping[str, Index]
    keys: Mapping[str, KeyAttributes]
    separator: str
    tenant: str = ""
    """The tenant attribute, if the table has tenants: all partition keys begin with it."""

    @property
    def tag(self) -> str:
        return self.entity.tag or self.codec.name

    def facet(self, slot: str, key: Key, copy: str = "") -> Facet:
        """Return the facet of a key in the table or an index, for the entity's own items or for a copy."""
        names = self.keys[slot]
        if (key.sk is None) != (not names.sk):
            raise SchemaError(
                f"{self.codec.name}: {key.pk} {'has a' if key.sk else 'needs a'} sort key, and the others of {slot} "
                f"have {'none' if key.sk else 'one'}. DynamoDB needs it for all keys, or for none"
            )
        pk = self._form(key.pk, key.raw, names.pk)
        sk = self._form(key.sk, key.raw, names.sk) if key.sk is not None else None
        when = list(membership(key.when, self.codec))
        own_items = slot == TABLE and not copy
        facet = replace(self._facet(slot, pk, sk, when, copy), write_only=key.write_only)
        if own_items and key.write_only:
            raise SchemaError(f"{self.codec.name}: the key in the table cannot be write_only: writes find items by it")
        if own_items and facet.when:
            raise SchemaError(
                f"{self.codec.name}: the key in the table cannot have `when` or optional attributes, because all "
                "items are there"
            )
        if when and slot != TABLE and is_natural(facet):
            raise SchemaError(
                f"{self.codec.name}: the keys of index {slot} are the attributes {' and '.join(facet.attributes)}, so "
                "all items with these are in it. `when` cannot change that"
            )
        self._check_absent(facet)
        self._check_optional(facet, own_items)
        if slot == TABLE:
            self._check_settled(facet)
        return facet

    def _facet(self, slot: str, pk: KeyForm, sk: KeyForm | None, when: Sequence[When], copy: str = "") -> Facet:
        fields = (*pk.fields, *(sk.fields if sk else ()))
        condition_names = {item.attribute for item in when}
        # An item without an attribute of an index key is not in the index, unless the template allows it to be missing.
        required_names = dict.fromkeys(field.attribute for field in fields if not field.optional)
        optional_names = [name for name in required_names if self.codec.attribute(name).optional]
        sparse = [When(name) for name in optional_names if name not in condition_names]
        index = self.indexes.get(slot)
        local = index is not None and index.local
        held_names = self._projected_names(index) if index else None
        return Facet(self.tag, slot, pk, sk, (*when, *sparse), copy, held_names, local)

    def check_indexes(self, slots: Iterable[str]) -> None:
        """Refuse keys for an index that the schema does not have."""
        for slot in slots:
            if slot not in self.indexes:
                names = ", ".join(self.indexes) or "none"
                raise SchemaError(
                    f"{self.codec.name} has a key for index {slot}, which the schema does not have (it has {names})"
                )

    def in_index(self, slot: str) -> Facet | None:
        """Return the facet of the entity in an index: by its key template, or by its attributes."""
        return self._in_index(slot, self.entity.key, self.entity.indexes.get(slot), frozenset(self.codec.attributes))

    def of_copy(self, slot: str, copy: Facet, base: Key, key: Key | None, attributes: frozenset[str]) -> Facet | None:
        """Return the facet of a copy in an index: by its key template, or by the attributes that it holds."""
        facet = self._in_index(slot, base, key, attributes, copy.copy)
        if facet is None:
            return None
        held_names = attributes if facet.holds is None else attributes & facet.holds
        return replace(
            facet,
            # If there is no copy, it is not in the index either.
            when=tuple(dict.fromkeys((*copy.when, *facet.when))),
            holds=None if len(held_names) == len(self.codec.attributes) else held_names,
            write_only=facet.write_only or copy.write_only,
            tag=copy.tag,
        )

    def _in_index(
        self, slot: str, base: Key, key: Key | None, attributes: frozenset[str], copy: str = ""
    ) -> Facet | None:
        index = self.indexes[slot]
        if index.local and key is not None and (key.pk, key.raw) != (base.pk, base.raw):
            raise SchemaError(
                f"{self.codec.name}: {slot} is a local index, so its partition key is {base.pk}, as in the table, not "
                f"{key.pk}"
            )
        if key is not None:
            return self.facet(slot, key, copy)
        wires = {self.codec.attribute(name).wire: name for name in attributes}
        names = self.keys[slot]
        if any(name not in wires for name in (names.sk if index.local else names.names)):
            return None
        pk = self._form(base.pk, base.raw, names.pk) if index.local else self._natural(slot, names.pk, wires)
        return self._facet(slot, pk, self._natural(slot, names.sk, wires) if names.sk else None, (), copy)

    def _projected_names(self, index: Index) -> frozenset[str] | None:
        """Return the attributes that an index projects; None if it projects all."""
        if index.projection == "ALL":
            return None
        wires = () if isinstance(index.projection, str) else index.projection
        # Keys are always projected, and so are attributes that are keys themselves.
        index_wires = {*wires, *self.keys[TABLE].names, *self.keys[index.name].names}
        held_names = frozenset(
            attribute.name for attribute in self.codec.attributes.values() if attribute.wire in index_wires
        )
        return None if wires and len(held_names) == len(self.codec.attributes) else held_names

    def _natural(self, slot: str, names: Sequence[str], wires: Mapping[str, str]) -> Natural:
        try:
            return Natural.of([wires[name] for name in names], self.codec.types)
        except TemplateError as error:
            raise SchemaError(f"{self.codec.name} in {slot}: {error}") from None

    def _form(self, text: str, raw: bool, names: Sequence[str]) -> KeyForm:
        """Return a template; or the attribute itself, if the key attribute has its name, so that it is stored once."""
        field = text.removeprefix("{").removesuffix("}")
        attribute = self.codec.attributes.get(field)
        if attribute and text == f"{{{field}}}" and tuple(names) == (attribute.wire,):
            return self._natural(names[0], names, {attribute.wire: field})
        try:
            return Template.of(text, self.codec.types, self.separator, raw)
        except TemplateError as error:
            raise SchemaError(f"{self.codec.name}, {error}") from None

    def _check_settled(self, facet: Facet) -> None:
        for field in (*facet.pk.fields, *(facet.sk.fields if facet.sk else ())):
            if not field.encoding.settled:
                raise SchemaError(
                    f"{self.codec.name}, {{{field.name}}}: the number of shards in a key of the table can never "
                    "change, because items are found by it. Use shards in an index"
                )

    def _check_absent(self, facet: Facet) -> None:
        for name in (when.attribute for when in facet.when if when.absent):
            attribute = self.codec.attribute(name)
            # An empty set is not stored.
            may_lack = attribute.optional or attribute.type.kind is Kind.SET
            if not may_lack or name in facet.attributes:
                why = "is part of the key" if name in facet.attributes else "is never absent"
                raise SchemaError(f"{self.codec.name} in {facet.slot}: {name} {why}, so no item would be in the index")

    def _check_optional(self, facet: Facet, own_items: bool) -> None:
        for field in (*facet.pk.fields, *(facet.sk.fields if facet.sk else ())):
            if not field.optional:
                continue
            name, place = field.attribute, f"{self.codec.name}, {facet.pk} / {facet.sk}"
            if own_items:
                raise SchemaError(f"{place}: {name} is in the key of the table, so it cannot be missing")
            if field in facet.pk.fields:
                raise SchemaError(
                    f"{place}: {name} is in a partition key, so it cannot be missing. Write {{{name}}}: items without "
                    "it are not in the index"
                )
            if not self.codec.attribute(name).optional:
                raise SchemaError(f"{place}: {name} is not optional. Write {{{name}}}")


def membership(when: Membership, codec: Codec[Any]) -> tuple[When, ...]:
    """Return the conditions of a sparse facet: an attribute is present, or has one of some values."""
    if when is None:
        return ()
    if not callable(when):
        for item in when:
            codec.attribute(item.attribute)
        return tuple(when)
    # Not at the top: a cold start does not need conditions, and most schemas have none.
    from prejoin.table.condition.record import conjuncts, recorded

    return tuple(_value_condition(condition, codec) for condition in conjuncts(recorded(when, codec)))


def _value_condition(condition: Condition, codec: Codec[Any]) -> When:
    from prejoin.table.condition.record import Compare, Exists, In

    match condition:
        case Compare((str(name),), "=", value):
            return When(name, frozenset({plain(value)}))
        case Compare((str(name),), "<>", value) if codec.attribute(name).type.values:
            return When(name, frozenset(codec.attribute(name).type.values) - {plain(value)})
        case In((str(name),), values):
            return When(name, frozenset(map(plain, values)))
        case Exists((str(name),), present):
            return When(name, absent=not present)
        case _:
            from prejoin.table.condition.describe import condition_text

            raise SchemaError(
                f"{codec.name}: {condition_text([condition])} cannot decide which items are in an index. Use ==, "
                "one_of, exists or == None, or != for an enum"
            )


def _check_base(base: Facet, codec: Codec[Any]) -> None:
    identifying_names = set()
    for form in (base.pk, base.sk):
        identifying_names |= {field.attribute for field in (form.fields if form else ()) if not field.encoding.derived}
    for attribute in base.attributes:
        if attribute not in identifying_names:
            raise SchemaError(
                f"{codec.name}: its key {base.pk} / {base.sk} has {attribute} only in a derived form, so several "
                "items could have the same key"
            )
