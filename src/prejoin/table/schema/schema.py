"""The schema: the entities of a table, and their keys. It is checked when it is built."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from prejoin.keys import TABLE, Facet, KeyForm, KeyValueError, Lookup, Natural, Plan, Refusal, Tag, disjoint, plan
from prejoin.table.errors import NotServed, SchemaError

from .bind import BoundEntity, bind, facet_tag, introduce
from .declare import Entity, Index, Key
from .key_attributes import (
    KeyAttributes,
    KeyWriter,
    all_or_none,
    index_attributes,
    key_types,
    key_writer,
    quick_writer,
    template_keys,
)

if TYPE_CHECKING:
    from .tenancy import Fence, Tenancy

E = TypeVar("E")


class Schema:
    """Entities, indexes, and the physical names of their keys.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     email: str
    >>> schema = Schema(
    ...     Entity(User, Key("USER#{user_id}", "PROFILE"), indexes={"gsi1": Key("EMAIL#{email}", "USER")}),
    ...     indexes=[Index("gsi1")],
    ... )
    >>> schema.key(User, user_id="42")
    {'pk': {'S': 'USER#42'}, 'sk': {'S': 'PROFILE'}}
    >>> print(schema.plan(Lookup.of("User", equal=["email"])))
    Query gsi1: EMAIL#{email} / USER
    """

    def __init__(
        self,
        *entities: Entity[Any],
        indexes: Iterable[Index] = (),
        pk: str = "pk",
        sk: str = "sk",
        type_attribute: str = "entityType",
        separator: str = "#",
        ttl: str = "",
        tenant: str = "",
        exempt: Iterable[type[Any]] = (),
    ) -> None:
        if not type_attribute:
            raise SchemaError("the schema has no type attribute, and each item needs its type. Name it entityType")
        indexes = tuple(indexes)
        exempt = frozenset(exempt)
        self.indexes: Mapping[str, Index] = {index.name: index for index in indexes}
        self.type_attribute = type_attribute
        self._separator = separator
        self.ttl = _ttl(entities, ttl)
        """The time to live attribute of the table, in seconds since 1970; empty if there is none."""
        if TABLE in self.indexes or len(self.indexes) < len(indexes):
            raise SchemaError(f"index names must be unique, and none can be {TABLE}")
        table = KeyAttributes((pk,), (sk,) if _have_sort_keys(entities) else ())
        self._keys = {TABLE: table, **_index_keys(self.indexes, entities, table)}
        bound = introduce(self._bind_all(entities, tenant, exempt))
        self._by_class: dict[type, BoundEntity[Any]] = {bound_entity.codec.cls: bound_entity for bound_entity in bound}
        self.by_tag: Mapping[str, BoundEntity[Any]] = {bound_entity.tag: bound_entity for bound_entity in bound}
        if len(self._by_class) < len(bound) or len(self.by_tag) < len(bound):
            raise SchemaError("two entities of a schema have the same class or the same tag")
        self.facets: tuple[Facet, ...] = tuple(facet for bound_entity in bound for facet in bound_entity.facets)
        self.key_types: Mapping[str, Tag] = key_types(self._keys, self.facets)
        """The type of each key attribute of the table and its indexes."""
        # By the identity of the facet: comparing facets would take longer than writing a key.
        self._writers: dict[int, KeyWriter | None] = dict.fromkeys(map(id, self.facets))
        self._composed = {id(facet): template_keys(facet, self._keys[facet.slot]) for facet in self.facets}
        self._plans: dict[Lookup, Plan | Refusal] = {}
        self.read_plans: dict[Hashable, Any] = {}
        """Cached plans of reads, by their arguments without the values. `read.plan` fills and bounds it."""
        self.write_forms: dict[Hashable, Any] = {}
        """Cached parameters of writes, without the values. `write.expand` fills and bounds it."""
        self._check()
        self.tenancy: Tenancy | None = self._tenancy(tenant, exempt) if tenant else None
        """The tenant attribute, and its place in the keys; None if the table has no tenants."""
        self.fence: Fence | None = None
        """Confines the client of a tenant, in the schema of such a client."""

    def _bind_all(
        self, entities: Iterable[Entity[Any]], tenant: str, exempt: frozenset[type[Any]]
    ) -> list[BoundEntity[Any]]:
        """Bind each entity by itself. Exempt ones have no tenant."""
        bound = []
        for entity in entities:
            entity_tenant = "" if entity.cls in exempt else tenant
            bound.append(bind(entity, self.indexes, self._keys, self._separator, entity_tenant, self.ttl))
        return bound

    @property
    def entities(self) -> tuple[BoundEntity[Any], ...]:
        return tuple(self._by_class.values())

    def entity(self, cls: type[E]) -> BoundEntity[E]:
        bound = self._by_class.get(cls)
        if bound is None:
            tags = ", ".join(bound_entity.tag for bound_entity in self.entities)
            if cls.__name__ == "coroutine":
                raise SchemaError("a coroutine was given instead of an object. Await the call that returned it")
            raise SchemaError(f"{cls.__name__} is not an entity of this schema, which has {tags}")
        return bound

    def keys(self, slot: str) -> KeyAttributes:
        """Return the key attributes of the table or of an index."""
        return self._keys[slot]

    def key(self, cls: type[E], /, **values: Any) -> dict[str, dict[str, str]]:
        """Return the key of an item in the table, in DynamoDB JSON."""
        bound = self.entity(cls)
        for name in values:
            bound.codec.attribute(name)
        return self.facet_key(bound.base, values)

    def facet_key(self, facet: Facet, values: Mapping[str, object]) -> dict[str, dict[str, str]]:
        """Return the key attributes of an item with these values, in one facet."""
        write = self._writers.get(id(facet))
        return self._writer(facet)(values) if write is None else write(values)

    def item_key(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return the key in the table of a stored item."""
        return {name: item[name] for name in self._keys[TABLE].names}

    def _writer(self, facet: Facet) -> KeyWriter:
        """Return the function that writes the keys of a facet. For facets of the schema it is compiled and cached."""
        write = key_writer(facet, self._keys[facet.slot])
        if id(facet) in self._writers:
            write = self._writers[id(facet)] = quick_writer(facet, self._keys[facet.slot], write)
        return write

    def template_keys(self, facet: Facet) -> KeyAttributes:
        """Return the key attributes of a facet that hold text from a template, not an attribute itself."""
        return self._composed.get(id(facet)) or template_keys(facet, self._keys[facet.slot])

    def read_key(self, pk: object, sk: object = None) -> tuple[type[Any], dict[str, object]]:
        """Return the class and the values of a key: the inverse of `key`.

        Raise KeyValueError for other keys, also for those of copies and of guards of unique values.
        """
        for bound in self.entities:
            values = _values_in_key(bound.base, pk, sk)
            if values is not None:
                return bound.codec.cls, values
        table_facets = (facet for facet in self.facets if facet.slot == TABLE)
        other = next((facet for facet in table_facets if _values_in_key(facet, pk, sk) is not None), None)
        hint = (
            f"it is one of {other}" if other else f"they have {', '.join(str(entity.base) for entity in self.entities)}"
        )
        key = repr(pk) if sk is None else f"{pk!r}, {sk!r}"
        raise KeyValueError(f"{key} is not the key of an entity's own item; {hint}")

    def plan(self, lookup: Lookup) -> Plan:
        """Return the plan for a read; raise NotServed if no key or index serves it."""
        answer = self._plans.get(lookup)
        if answer is None:
            if len(self._plans) > 10_000:  # only reads of sparse indexes with many different values
                self._plans.clear()
            answer = self._plans[lookup] = plan(self.facets, lookup)
        if isinstance(answer, Refusal):
            raise NotServed(answer)
        return answer

    def of_tenant(self, tenant: object) -> Schema:
        """Return the schema for a client that is confined to one tenant."""
        from .tenancy import Fence  # only schemas with tenants need it

        if self.tenancy is None:
            raise SchemaError('the schema has no tenants. Declare them with Schema(…, tenant="tenant_id")')
        if self.fence is not None:
            self.fence.check_tenant(tenant)
            return self
        # A shallow copy: the clients of all tenants share cached plans and compiled key writers.
        tenant_schema = copy.copy(self)
        tenant_schema.fence = Fence(self.tenancy, self._keys, tenant)
        return tenant_schema

    def with_tenant(self, values: Mapping[str, Any], *entities: BoundEntity[Any]) -> Mapping[str, Any]:
        """Return known attributes, with the tenant if this is the schema of a tenant's client."""
        return values if self.fence is None else self.fence.fill(values, *entities)

    def refuse_to_tenant(self, operation: str) -> None:
        """Raise OtherTenant if this is the schema of a tenant's client: `operation` reaches items of all tenants."""
        if self.fence is not None:
            raise self.fence.refusal(operation)

    def _tenancy(self, attribute: str, exempt: frozenset[type[Any]]) -> Tenancy:
        from .tenancy import tenancy  # only schemas with tenants need it

        if unknown := exempt - self._by_class.keys():
            raise SchemaError(f"exempt names {next(iter(unknown)).__name__}, which is not an entity of this schema")
        return tenancy(self.entities, attribute, self._separator, exempt)

    @cached_property
    def conditional(self) -> frozenset[tuple[str, str]]:
        """Pairs of entity and attribute whose value decides about membership in a sparse index."""
        return frozenset(
            (facet.entity, when.attribute) for facet in self.facets for when in facet.when if when.values is not None
        )

    @cached_property
    def has_other_words(self) -> bool:
        """Whether items hold members of some enum under two words."""
        return any(
            attribute.value.other_words for entity in self.entities for attribute in entity.codec.attributes.values()
        )

    def _check(self) -> None:
        """Raise SchemaError for what entities cannot have together. Patterns check last: they see a valid schema."""
        for bound_entity in self.entities:
            self._check_names(bound_entity)
            self._check_ttl(bound_entity)
        self._check_tags()
        self._check_shared_attributes()
        self._check_collisions()
        for bound_entity in self.entities:
            for pattern in bound_entity.patterns:
                pattern.check(self)

    def _check_names(self, bound: BoundEntity[Any]) -> None:
        reserved_names = {self.type_attribute}
        for facet in bound.facets:
            if facet.entity == bound.tag:  # items of other facets have no attributes of the entity
                reserved_names |= {*self.template_keys(facet).names}
        names: set[str] = set()
        for attribute in bound.codec.attributes.values():
            if attribute.wire in reserved_names:
                raise SchemaError(
                    f"{bound.tag}.{attribute.name} is named {attribute.wire} in the table, and so is one of the "
                    "table's own attributes. Rename one of them"
                )
            if attribute.wire in names:
                raise SchemaError(f"{bound.tag} has two attributes with the name {attribute.wire} in the table")
            names.add(attribute.wire)

    def _check_ttl(self, bound: BoundEntity[Any]) -> None:
        for attribute in bound.codec.attributes.values():
            if attribute.wire == self.ttl and attribute.value.wire.tag != "N":
                raise SchemaError(
                    f"{bound.tag}.{attribute.name} is a {attribute.type}, and a time to live is a number of seconds "
                    f"since 1970. Make it an int, or declare TimeToLive({attribute.name!r})"
                )

    def _check_tags(self) -> None:
        """Refuse two kinds of items with one type: readers could not tell them apart."""
        tags: set[str] = set()
        for facet in self.facets:
            if facet.slot != TABLE:
                continue
            tag = facet_tag(facet)
            if tag in tags:
                raise SchemaError(f"two kinds of items have the type tag {tag}: give the copy another tag")
            tags.add(tag)

    def _check_shared_attributes(self) -> None:
        """Refuse a key attribute to which two keys of an item give different values.

        An inverted index shares the attributes of the table with equal templates, and is fine.
        """
        first: dict[tuple[str, str, str], tuple[Facet, KeyForm | None]] = {}
        for facet in self.facets:
            names = self.template_keys(facet)
            forms = [*((name, facet.pk) for name in names.pk), *((name, facet.sk) for name in names.sk)]
            for name, form in forms:
                other, other_form = first.setdefault((facet.entity, facet.copy, name), (facet, form))
                if (form, facet.when) != (other_form, other.when):
                    raise SchemaError(
                        f"the key attribute {name} has one value in an item, and would have different ones for {other} "
                        f"and {facet}. Give the index an attribute of its own"
                    )

    def _check_collisions(self) -> None:
        """Refuse facets that could write the same key in the table: one item would overwrite the other."""
        table_facets = [facet for facet in self.facets if facet.slot == TABLE]
        for first, second in combinations(table_facets, 2):
            are_disjoint = disjoint(first.pk, second.pk) or (first.sk and second.sk and disjoint(first.sk, second.sk))
            if not are_disjoint:
                word = second.entity.split()[0].upper()
                raise SchemaError(
                    f"items of {first} and {second} could have the same key, and overwrite each other. Put a different "
                    f"word, such as {word}{self._separator}, into one of the keys"
                )

    def __str__(self) -> str:
        """Return the key map: a line for each entity in the table and in each index."""
        return _key_map(self.facets)


_TITLES = ("entity", "in", "partition key", "sort key", "when")


def _key_map(facets: Sequence[Facet]) -> str:
    rows = [_TITLES, *map(_key_row, facets)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _key_row(facet: Facet) -> tuple[str, ...]:
    """Return the cells of a facet in the key map."""
    name = f"{facet.entity}, copy {facet.copy}" if facet.copy else facet.entity
    return name, facet.slot, str(facet.pk), str(facet.sk or ""), " and ".join(map(str, facet.when))


def _values_in_key(facet: Facet, pk: object, sk: object) -> dict[str, object] | None:
    """Return the values in a key of a facet; None if it is not a key of this facet."""
    key_values: dict[str, object] = {}
    for form, key in ((facet.pk, pk), (facet.sk, sk)):
        if (form is None) != (key is None):
            return None
        values = _parse(form, key) if form else {}
        if values is None or any(key_values.get(name, value) != value for name, value in values.items()):
            return None
        key_values |= values
    return key_values


def _parse(form: KeyForm, key: object) -> dict[str, object] | None:
    if isinstance(form, Natural):
        return form.parse(key)
    try:
        return form.parse(key) if isinstance(key, str) else None
    except KeyValueError:
        return None


def _ttl(entities: Iterable[Entity[Any]], declared_name: str) -> str:
    """Return the time to live attribute by its name in the table; empty if no entity has one."""
    wires: dict[str, str] = {}
    for entity in entities:
        for name in [lifecycle.attribute for lifecycle in entity.lifecycles if lifecycle.end == "expires"]:
            wire = entity.names.get(name) or declared_name or name
            wires.setdefault(wire, f"{entity.cls.__name__}.{name}")
    if declared_name:
        wires = {declared_name: "ttl=", **wires}
    if len(wires) > 1:
        names = " and ".join(f"{wire} ({source})" for wire, source in wires.items())
        raise SchemaError(
            f"a table has one time to live attribute, and here are {names}. Pass its name to the schema as ttl=, and "
            "give no other in names="
        )
    return next(iter(wires), "")


def _index_keys(
    indexes: Mapping[str, Index], entities: Sequence[Entity[Any]], table: KeyAttributes
) -> dict[str, KeyAttributes]:
    """Return the key attributes of indexes, by name."""
    return {name: index_attributes(index, _keys_in(name, entities), table) for name, index in indexes.items()}


def _keys_in(index: str, entities: Iterable[Entity[Any]]) -> list[Key]:
    """Return the key templates in an index: those of the entities, and those of their copies."""
    entities = list(entities)
    declarations = [entity.indexes for entity in entities]
    declarations += [pattern.indexes for entity in entities for pattern in entity.patterns]
    return [indexes[index] for indexes in declarations if index in indexes]


def _have_sort_keys(entities: Iterable[Entity[Any]]) -> bool:
    return all_or_none("the table", [entity.key for entity in entities])


__all__ = ["Entity", "Index", "Key", "Schema"]
