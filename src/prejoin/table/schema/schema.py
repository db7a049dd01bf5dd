"""The schema: which entities live in the table, under which keys. Checked when it is built, then only looked up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from prejoin.keys import TABLE, Facet, KeyValueError, Lookup, Plan, Refusal, Tag, disjoint, plan
from prejoin.table.errors import NotServed, SchemaError

from .bind import Bound, acquainted, bind
from .declare import Entity, Index, Key
from .key_attributes import (
    KeyAttributes,
    KeyWriter,
    all_or_none,
    composed,
    index_attributes,
    key_types,
    key_writer,
    quick_writer,
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
        indexes = tuple(indexes)
        exempt = frozenset(exempt)
        self.indexes: Mapping[str, Index] = {index.name: index for index in indexes}
        self.type_attribute = type_attribute
        self._separator = separator
        self.ttl = _ttl(entities, ttl)
        """The attribute whose time, in seconds since 1970, is when DynamoDB may delete an item; empty: none."""
        if TABLE in self.indexes or len(self.indexes) < len(indexes):
            raise SchemaError(f"each index has a name of its own, and none is called {TABLE}")
        table = KeyAttributes((pk,), (sk,) if _sorted(entities) else ())
        self._keys = {TABLE: table}
        for name, index in self.indexes.items():
            self._keys[name] = index_attributes(index, _keys_in(name, entities), table)
        owner = {entity.cls: "" if entity.cls in exempt else tenant for entity in entities}
        bound = acquainted(
            [bind(one, self.indexes, self._keys, separator, owner[one.cls], self.ttl) for one in entities]
        )
        self._by_class: dict[type, Bound[Any]] = {one.codec.cls: one for one in bound}
        self.by_tag: Mapping[str, Bound[Any]] = {one.tag: one for one in bound}
        if len(self._by_class) < len(bound) or len(self.by_tag) < len(bound):
            raise SchemaError("two entities of a schema have the same class or the same tag")
        self.facets: tuple[Facet, ...] = tuple(facet for one in bound for facet in one.facets)
        self.key_types: Mapping[str, Tag] = key_types(self._keys, self.facets)
        """Every key attribute of the table and its indexes, with its type."""
        # By the facet itself, not by what it says: comparing that would take longer than writing the key.
        self._writers: dict[int, KeyWriter | None] = dict.fromkeys(map(id, self.facets))
        self._composed = {id(facet): composed(facet, self._keys[facet.slot]) for facet in self.facets}
        self._plans: dict[Lookup, Plan | Refusal] = {}
        self.shapes: dict[Hashable, Any] = {}
        """How questions are answered, by the names of what is asked: the values do not matter."""
        for one in bound:
            self._check_names(one)
            self._check_ttl(one)
        self._check_collisions()
        for one in bound:
            for pattern in one.patterns:
                pattern.check(self)
        self.tenancy: Tenancy | None = self._tenancy(tenant, exempt) if tenant else None
        """Which attribute is the tenant, and where it stands in the keys; None: the table has no tenants."""
        self.fence: Fence | None = None
        """What keeps a client inside one tenant, of the schema of such a client."""

    @property
    def entities(self) -> tuple[Bound[Any], ...]:
        return tuple(self._by_class.values())

    def entity(self, cls: type[E]) -> Bound[E]:
        found = self._by_class.get(cls)
        if found is None:
            known = ", ".join(one.tag for one in self.entities)
            if cls.__name__ == "coroutine":
                raise SchemaError("a coroutine was given where an object is needed: await the call that made it")
            raise SchemaError(f"{cls.__name__} is not an entity of this schema, which has {known}")
        return found

    def keys(self, slot: str) -> KeyAttributes:
        """The attributes that are the keys of the table or of an index."""
        return self._keys[slot]

    def key_names(self) -> list[tuple[str, ...]]:
        """The names of the key attributes of the table, and of each index."""
        return [keys.names for keys in self._keys.values()]

    def key(self, cls: type[E], /, **values: Any) -> dict[str, dict[str, str]]:
        """The key of one item in the table, in DynamoDB JSON."""
        bound = self.entity(cls)
        for name in values:
            bound.codec.attribute(name)
        return self.written(bound.base, values)

    def written(self, facet: Facet, values: Mapping[str, object]) -> dict[str, dict[str, str]]:
        """The key attributes of an item with these values, in one facet."""
        write = self._writers.get(id(facet))
        return self._writer(facet)(values) if write is None else write(values)

    def _writer(self, facet: Facet) -> KeyWriter:
        """The writer of a facet's keys. If the facet is ours, the quick one, made once; others may be any number."""
        write = key_writer(facet, self._keys[facet.slot])
        if id(facet) in self._writers:
            write = self._writers[id(facet)] = quick_writer(facet, self._keys[facet.slot], write)
        return write

    def composed(self, facet: Facet) -> KeyAttributes:
        """Of the key attributes of a facet, those that hold text of our making, and not an attribute as it stands."""
        return self._composed.get(id(facet)) or composed(facet, self._keys[facet.slot])

    def read_key(self, pk: object, sk: object = None) -> tuple[type[Any], dict[str, object]]:
        """Whose key this is, and the values it is made of: from the key of an item back to what `key` was given.

        Keys of copies, and of the items that guard unique values, are nobody's own: KeyValueError.
        """
        from .key_map import shown_key, values_in

        for bound in self.entities:
            found = values_in(bound.base, pk, sk)
            if found is not None:
                return bound.codec.cls, found
        here = (facet for facet in self.facets if facet.slot == TABLE)
        other = next((facet for facet in here if values_in(facet, pk, sk) is not None), None)
        what = f"it is one of {other}" if other else f"they have {', '.join(str(one.base) for one in self.entities)}"
        raise KeyValueError(f"{shown_key(pk, sk)} is not the key of an entity's own item; {what}")

    def plan(self, ask: Lookup) -> Plan:
        """How to answer an ask, or NotServed."""
        found = self._plans.get(ask)
        if found is None:
            if len(self._plans) > 10_000:  # asks with constants of many values
                self._plans.clear()
            found = self._plans[ask] = plan(self.facets, ask)
        if isinstance(found, Refusal):
            raise NotServed(found)
        return found

    def of_tenant(self, tenant: object) -> Schema:
        """The schema as a client of one tenant uses it, which neither asks for nor writes what is not the tenant's."""
        from .tenancy import fenced

        return fenced(self, tenant)

    def _tenancy(self, attribute: str, exempt: frozenset[type[Any]]) -> Tenancy:
        from .tenancy import tenancy

        if unknown := exempt - self._by_class.keys():
            raise SchemaError(f"exempt names {next(iter(unknown)).__name__}, which is not an entity of this schema")
        return tenancy(self, attribute, self._separator, exempt)

    @cached_property
    def conditional(self) -> frozenset[tuple[str, str]]:
        """Entity and attribute, where the value of the attribute decides about membership in a sparse facet."""
        return frozenset((f.entity, w.attribute) for f in self.facets for w in f.when if w.values is not None)

    def _check_names(self, bound: Bound[Any]) -> None:
        ours = {self.type_attribute}
        for facet in bound.facets:
            if facet.entity == bound.tag:  # others are of items that have none of its attributes
                ours |= {*self.composed(facet).names}
        seen: set[str] = set()
        for attribute in bound.codec.attributes.values():
            if attribute.wire in ours:
                raise SchemaError(
                    f"{bound.tag}.{attribute.name} is called {attribute.wire} in the table, "
                    "and so is one of the table's own attributes: rename either"
                )
            if attribute.wire in seen:
                raise SchemaError(f"{bound.tag} has two attributes that are called {attribute.wire} in the table")
            seen.add(attribute.wire)

    def _check_ttl(self, bound: Bound[Any]) -> None:
        for attribute in bound.codec.attributes.values():
            if attribute.wire == self.ttl and attribute.value.wire.tag != "N":
                raise SchemaError(
                    f"{bound.tag}.{attribute.name} is a {attribute.type}, and DynamoDB deletes by a number, "
                    f"the seconds since 1970: make it an int, or declare TimeToLive({attribute.name!r})"
                )

    def _check_collisions(self) -> None:
        """In the table one key is one item: no two facets may ever write the same."""
        here = [facet for facet in self.facets if facet.slot == TABLE]
        for one, other in combinations(here, 2):
            apart = disjoint(one.pk, other.pk) or (one.sk and other.sk and disjoint(one.sk, other.sk))
            if not apart:
                word = other.entity.split()[0].upper()
                raise SchemaError(
                    f"two items could have the same key, and one would overwrite the other: {one} and {other}. "
                    f"Put a word of its own, such as {word}{self._separator}, into one of the keys"
                )

    def __str__(self) -> str:
        """The key map: a line for each entity in each place it is found in."""
        from .key_map import key_map

        return key_map(self.facets)


def _ttl(entities: Iterable[Entity[Any]], said: str) -> str:
    """The one attribute by which items of the table expire, by the name it has there; empty if none do."""
    found: dict[str, str] = {}
    for entity in entities:
        for name in [pattern.expires for pattern in entity.patterns if pattern.expires]:
            wire = entity.names.get(name) or said or name
            found.setdefault(wire, f"{entity.cls.__name__}.{name}")
    if said:
        found = {said: "ttl=", **found}
    if len(found) > 1:
        names = " and ".join(f"{wire} ({what})" for wire, what in found.items())
        raise SchemaError(
            f"items of a table expire by one attribute, and here by {names}: give the schema ttl= its name, "
            "and no other in names="
        )
    return next(iter(found), "")


def _keys_in(index: str, entities: Iterable[Entity[Any]]) -> list[Key]:
    """The keys of our making that items have in an index: the entities' own, and those of their copies."""
    found = [key for entity in entities if (key := entity.indexes.get(index))]
    return found + [key for entity in entities for one in entity.patterns if (key := one.key_in(index))]


def _sorted(entities: Iterable[Entity[Any]]) -> bool:
    return all_or_none("the table", [entity.key for entity in entities])


__all__ = ["Entity", "Index", "Key", "Schema"]
