"""The schema: which entities live in the table, under which keys. Checked when it is built, then only looked up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from itertools import combinations
from typing import Any, TypeVar, cast

from prejoin.keys import TABLE, Ask, Facet, Plan, Refusal, disjoint, plan

from .bind import Bound, bind
from .declare import Copy, Entity, Index, Key
from .errors import NotServed, SchemaError

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
    >>> print(schema.plan(Ask.of("User", equal=["email"])))
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
    ) -> None:
        self.indexes: Mapping[str, Index] = {index.name: index for index in indexes}
        self.type_attribute = type_attribute
        self._keys = {TABLE: (pk, sk if _sorted(entities) else None)}
        for name, index in self.indexes.items():
            ours = [entity.indexes[name] for entity in entities if name in entity.indexes]
            self._keys[name] = _physical(index, ours)
        if TABLE in self.indexes:
            raise SchemaError(f"an index cannot be called {TABLE}")
        bound = [bind(entity, self.indexes, separator) for entity in entities]
        self._by_class: dict[type, Bound[Any]] = {one.codec.cls: one for one in bound}
        self.by_tag: Mapping[str, Bound[Any]] = {one.tag: one for one in bound}
        if len(self._by_class) < len(bound) or len(self.by_tag) < len(bound):
            raise SchemaError("two entities of a schema have the same class or the same tag")
        self.facets: tuple[Facet, ...] = tuple(facet for one in bound for facet in one.facets)
        self._plans: dict[Ask, Plan | Refusal] = {}
        self.shapes: dict[Hashable, Plan] = {}
        """Plans by the names of what is asked, where its values do not matter."""
        for one in bound:
            self._check_names(one)
        self._check_collisions()

    @property
    def entities(self) -> tuple[Bound[Any], ...]:
        return tuple(self._by_class.values())

    def entity(self, cls: type[E]) -> Bound[E]:
        found = self._by_class.get(cls)
        if found is None:
            known = ", ".join(one.tag for one in self.entities)
            raise SchemaError(f"{cls.__name__} is not an entity of this schema, which has {known}")
        return cast("Bound[E]", found)

    def physical(self, slot: str) -> tuple[str, str | None]:
        """The names of the attributes that are the keys of the table or of an index."""
        return self._keys[slot]

    def key(self, cls: type[E], /, **values: Any) -> dict[str, dict[str, str]]:
        """The key of one item in the table, in DynamoDB JSON."""
        bound = self.entity(cls)
        for name in values:
            bound.codec.attribute(name)
        return self.written(bound.base, values)

    def written(self, facet: Facet, values: Mapping[str, object]) -> dict[str, dict[str, str]]:
        """The key attributes of an item with these values, in one facet."""
        pk, sk = facet.key(values)
        names = self.physical(facet.slot)
        found = {names[0]: {"S": pk}}
        if sk is not None and names[1] is not None:
            found[names[1]] = {"S": sk}
        return found

    def plan(self, ask: Ask) -> Plan:
        """How to answer an ask, or NotServed."""
        found = self._plans.get(ask)
        if found is None:
            if len(self._plans) > 10_000:  # asks with constants of many values
                self._plans.clear()
            found = self._plans[ask] = plan(self.facets, ask)
        if isinstance(found, Refusal):
            raise NotServed(found)
        return found

    @cached_property
    def conditional(self) -> frozenset[tuple[str, str]]:
        """Entity and attribute, where the value of the attribute decides about membership in a sparse facet."""
        return frozenset((f.entity, w.attribute) for f in self.facets for w in f.when if w.values is not None)

    def _check_names(self, bound: Bound[Any]) -> None:
        ours = {self.type_attribute, *(name for name in self._keys[TABLE] if name)}
        for slot in bound.indexes:
            ours |= {name for name in self._keys[slot] if name}
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

    def _check_collisions(self) -> None:
        """In the table one key is one item: no two facets may ever write the same."""
        here = [facet for facet in self.facets if facet.slot == TABLE]
        for one, other in combinations(here, 2):
            apart = disjoint(one.pk, other.pk) or (one.sk and other.sk and disjoint(one.sk, other.sk))
            if not apart:
                word = other.entity.split()[0].upper()
                raise SchemaError(
                    f"two items could have the same key, and one would overwrite the other: {one} and {other}. "
                    f"Put a word of its own, such as {word}#, into one of the keys"
                )


def _sorted(entities: Iterable[Entity[Any]]) -> bool:
    keys = [entity.key for entity in entities] + [copy.key for entity in entities for copy in entity.copies]
    return _all_or_none("the table", keys)


def _all_or_none(what: str, keys: list[Key]) -> bool:
    with_sort = [key.sk is not None for key in keys]
    if any(with_sort) != all(with_sort):
        raise SchemaError(f"some keys of {what} have a sort key and some have none; DynamoDB wants all or none")
    return any(with_sort)


def _physical(index: Index, ours: list[Key]) -> tuple[str, str | None]:
    if not ours:
        if not index.pk:
            raise SchemaError(f"no entity has a key for index {index.name}, nor does it name an attribute as its pk")
        return index.pk, index.sk or None
    has_sort = _all_or_none(f"index {index.name}", ours)
    return index.pk or f"{index.name}pk", (index.sk or f"{index.name}sk") if has_sort else None


__all__ = ["Copy", "Entity", "Index", "Key", "Schema"]
