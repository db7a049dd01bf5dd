"""Unique values: a guard item for each value, with the value as its key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from msgspec.structs import replace

from prejoin.keys import TABLE, Facet, TemplateError
from prejoin.keys.guard import guard_key
from prejoin.patterns.copies import owner_form
from prejoin.table.codec.values import Json
from prejoin.table.errors import ConditionFailed, NotUnique, SchemaError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import OWNER, BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_vacant
from prejoin.table.write.actions import release_guard, take_guard
from prejoin.table.write.model import ItemAction, Write

_CLOCK_SKEW = 15 * 60
"""Seconds by which two clocks may differ. AWS refuses requests whose time is more than five minutes wrong."""


class Unique(Pattern):
    """An attribute, or a combination of several, that no two items of the entity have with the same value.

    A guard item has the value as its key. It is written when an item gets the value and deleted when the item loses it,
    in the same transaction, so concurrent writes cannot take a value twice. None needs no guard.

    Cost: an insert or delete costs 4 write units instead of 1 (two items of up to 1 KB in a transaction); a change of
    the value writes 3 items, 6 units. Other updates cost nothing more. A change or delete needs the current value: pass
    it (`email="a@b.com"`, which is then checked), or `read=True`.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     email: str
    >>> schema = Schema(Entity(User, Key("USER#{user_id}", "PROFILE"), patterns=[Unique("email")]))
    >>> db = Client(schema, "shop", Embedded())
    >>> db.create_table()
    >>> db.insert(User("1", "a@b.com"))
    User(user_id='1', email='a@b.com')
    >>> db.insert(User("2", "a@b.com"))
    Traceback (most recent call last):
    prejoin.NotUnique: another User has email 'a@b.com' already
    """

    def __init__(self, *attributes: str, of: str = "") -> None:
        self.attributes = attributes
        self.of = of
        """The copy whose tag and key the guard has, instead of those of the item: the item of another design, for the
        time between two designs."""

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        binder, attributes = entity.binder, self.attributes
        if not attributes:
            raise SchemaError(f"Unique() of {entity.tag} needs the name of an attribute")
        if binder.tenant:  # values are unique within a tenant, and no tenant learns about the values of others
            attributes = (binder.tenant, *(name for name in attributes if name != binder.tenant))
        names = [entity.codec.attribute(name).wire for name in attributes]
        wires_text = ", ".join(names)
        types = {name: entity.codec.attribute(name).type for name in attributes}
        tag, base = owner_form(entity, self.of)
        try:
            pk, sk = guard_key(tag, attributes, types, binder.separator, bool(binder.keys[TABLE].sk), names)
        except TemplateError as error:
            raise SchemaError(f"{entity.tag}, unique {wires_text}: {error}") from None
        # A name that no query can use: reads never return a guard.
        facet = Facet(f"{tag} unique {wires_text}", TABLE, pk, sk)
        freeing_marks = tuple(lifecycle.attribute for lifecycle in entity.lifecycles if lifecycle.frees_unique)
        return UniquePattern(attributes, facet, base, entity.expiry, freeing_marks, self.of)

    def __repr__(self) -> str:
        parts = [*map(repr, self.attributes), *([f"of={self.of!r}"] if self.of else [])]
        return f"Unique({', '.join(parts)})"


class UniquePattern(BoundPattern):
    def __init__(
        self, attributes: tuple[str, ...], facet: Facet, base: Facet, expires: str, frees: tuple[str, ...], of: str = ""
    ) -> None:
        self.attributes = attributes
        self.of = of
        """The copy that has the guard; empty if it is the item itself."""
        self.base = base
        """The key of the owner."""
        self._placing = base.attributes if of else ()
        """Attributes of the owner's key that may change: the item itself keeps its key."""
        self.facets = (facet,)
        self.label = f"the guard of unique {', '.join(attributes)}"
        self.expires = expires
        """The time to live attribute of the item, and so of its guard."""
        self.frees = frees
        """Deletion marks: an item with one of these holds no unique values any more."""

    def depends(self, write: Write) -> Iterable[str]:
        match write.verb:
            case "insert" | "check" | "check_absent":
                return ()
            case "put":
                return self._tracked_names
            case "update" if write.changes.replaced.isdisjoint(self._tracked_names):
                return ()
            case "update" if self.expires and not write.changes.replaced.isdisjoint(self.attributes):
                return (*self.attributes, *self._placing, self.expires)
            case _:
                # Each of these writes checks that the item is visible, so it has neither expired nor a deletion mark.
                return (*self.attributes, *self._placing)

    def expand(self, schema: Schema, write: Write) -> Iterator[ItemAction]:
        """Put, delete or exchange the guard."""
        match write.verb:
            case "insert":
                if self._holds(write.values):
                    yield self._take(schema, write, write.values)
            case "put":
                yield from self._exchange(schema, write, write.values)
            case "update" if not write.changes.replaced.isdisjoint(self._tracked_names):
                ends = (self.expires,) if self.expires in write.changes.names else ()
                write.need((*self.attributes, *self._placing, *ends), write.after, self.label)
                yield from self._exchange(schema, write, write.after)
            case "delete":
                if self._holds(write.before):
                    yield self._release(schema, write)

    def expected(self, schema: Schema, values: Mapping[str, Any]) -> Iterator[Json]:
        if self._holds(values):
            yield self._guard(schema, values)

    @property
    def _tracked_names(self) -> tuple[str, ...]:
        return (*self.attributes, *self._placing, *self.frees, *((self.expires,) if self.expires else ()))

    def _holds(self, values: Mapping[str, Any]) -> bool:
        """Return whether an item with these values has a guard."""
        present = all(values.get(name) is not None for name in self.attributes)
        return present and all(values.get(name) is None for name in self.frees)

    def _guard(self, schema: Schema, values: Mapping[str, Any]) -> Json:
        """Return the guard, with the key of its owner: an audit needs it to find guards without an item."""
        (facet,) = self.facets
        item: Json = {OWNER: {"M": schema.facet_key(self.base, values)}}
        if self.expires and values.get(self.expires) is not None:
            item |= schema.by_tag[self.base.entity].codec.encode_values({self.expires: values[self.expires]})
        return item | schema.facet_key(facet, values) | {schema.type_attribute: {"S": facet.entity}}

    def _exchange(self, schema: Schema, write: Write, after: Mapping[str, Any]) -> Iterator[ItemAction]:
        before = write.before
        # The guard of an expired item has expired, too, and may belong to another item now.
        held_before = self._holds(before) and not self._has_expired(write.entity, before)
        holds_after = self._holds(after)
        if held_before and holds_after and all(before[name] == after[name] for name in self.attributes):
            # The key of a put tells the values of an item, but not whether there is one.
            is_unread_put = write.verb == "put" and write.stored is None
            has_moved = any(before[name] != after[name] for name in self._placing)
            if is_unread_put or has_moved or self._may_change_expiry(write):
                # Two items may share the value from before it was unique; one of them has the guard, and the other is
                # written without. But if this item has nearly expired, another one may just have taken its value.
                is_optional = not is_unread_put and not self._has_expired(write.entity, before, _CLOCK_SKEW)
                yield replace(self._take(schema, write, after), optional=is_optional)
            return
        if held_before:
            yield self._release(schema, write)
        if holds_after:
            yield self._take(schema, write, after)

    def _may_change_expiry(self, write: Write) -> bool:
        """Return whether a write may change when the item expires, and so when its guard does."""
        return bool(self.expires) and (write.verb == "put" or self.expires in write.changes.names)

    def _has_expired(self, entity: BoundEntity[Any], values: Mapping[str, Any], early: int = 0) -> bool:
        """Return whether an item has expired, or does so in `early` seconds."""
        expiry = values.get(self.expires) if self.expires else None
        if expiry is None:
            return False
        expiry -= timedelta(seconds=early) if isinstance(expiry, datetime) else early
        return is_vacant(entity, entity.codec.encode_values({self.expires: expiry}))

    def _take(self, schema: Schema, write: Write, values: Mapping[str, Any]) -> ItemAction:
        # The guard may be its own already: older code, which does not know it, changed the value or deleted the item.
        item, (facet,) = self._guard(schema, values), self.facets
        owners = [item[OWNER]["M"]]
        if self.of and write.stored is not None:
            owners.append(schema.facet_key(self.base, write.before))
        return take_guard(schema, write, item, facet, partial(self._not_unique, values), tuple(owners))

    def _release(self, schema: Schema, write: Write) -> ItemAction:
        # The guard may be that of another item: of two that had the value before it was unique, or of one that took it
        # because, by another clock, this item has expired.
        (facet,) = self.facets
        owner = schema.facet_key(self.base, write.before if self.of else write.values)
        return release_guard(schema, write, facet, write.before, (owner,))

    def _not_unique(self, values: Mapping[str, Any], write: Write, _: Json | None) -> ConditionFailed:
        values_text = ", ".join(f"{name} {values[name]!r}" for name in self.attributes)
        return NotUnique(f"another {write.entity.tag} has {values_text} already")
