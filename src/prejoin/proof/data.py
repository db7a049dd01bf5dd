"""Sample data for a workload: items of each entity in the document's proportions, with valid references.

The same seed gives the same data. With `edge_values`, values are such as are hard on keys.
"""

from __future__ import annotations

import math
import random
import string
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, assert_never

from msgspec.structs import replace

from prejoin.patterns.large.large import PART_SIZE, LargeValue
from prejoin.proof.edge_values import EMPTY, edge_values_of, moments
from prejoin.types import Kind, Type
from prejoin.workload.lookup import target, targets
from prejoin.workload.model import VERSION, Attribute, Cardinality, Entity, Workload
from prejoin.workload.tenants import is_owned, own_id

Values = dict[str, Any]
"""The attributes of an item by the document's names; an absent attribute is left out."""
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_WORDS = ("ash", "birch", "cedar", "elm", "fir", "hazel", "linden", "maple", "oak", "pine", "rowan", "willow")
_MOST = 48
"""The most items of an entity: enough for several pages, few enough for a search through all of them."""
_UNEQUAL = (1.0, 0.0, 2.0, 0.5, 1.0)
"""Factors for the number of children: parents have different numbers of them, and some have none."""
_TENANTS = 3
"""Tenants of a table that has tenants."""
_LARGEST = 3_000
"""The most bytes of a value. With the larger ones of some documents a proof would take minutes."""

_FAR = timedelta(days=40 * 365)
"""Time until the first item expires: an engine deletes by its own clock, whatever time the proof has."""


@dataclass(slots=True)
class DataGenerator:
    """Generates items. It has no clock of its own, so that the data depends only on `now` and `seed`."""

    workload: Workload
    now: datetime
    seed: int = 1
    edge_values: bool = False
    without: str = ""
    """A character that no text may have."""
    filled: frozenset[str] = frozenset()
    """Attributes that are never empty, because they are keys and DynamoDB has no empty keys."""
    items: dict[str, list[Values]] = field(default_factory=dict)
    _chance: random.Random = field(init=False)
    _count: int = 0
    _taken: dict[str, set[Any]] = field(default_factory=dict)
    _tenants: list[Any] = field(default_factory=list)
    _fresh: dict[Kind, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)  # noqa: S311 - sample data, not secrets

    def make_all(self, roots: int = 5) -> Mapping[str, list[Values]]:
        """Generates items of every entity: `roots` of those without references, some per parent of the others."""
        for entity in entities_in_order(self.workload):
            self.items.setdefault(entity.name, [])
            leading = self._leading(entity)
            if entity.singleton:
                self.add(entity)
            elif leading is None:
                for _ in range(roots):
                    self.add(entity)
            else:
                self._add_children(entity, leading)
                for other in targets(self.workload, leading[0])[1:]:
                    self._add_children(entity, (leading[0], *other))
        return self.items

    def _leading(self, entity: Entity) -> tuple[Attribute, Entity, Attribute] | None:
        """The attribute that refers to the parent: the one for which the document gives a cardinality, if any."""
        found = []
        for attribute in sorted(entity.attributes, key=lambda a: not a.id):
            held = target(self.workload, attribute)
            if held and held[0] is not entity and self.items.get(held[0].name):
                found.append((attribute, *held))
        counted = [one for one in found if any(c.per == one[1].name for c in entity.cardinality)]
        return next(iter(counted or found), None)

    def _add_children(self, entity: Entity, leading: tuple[Attribute, Entity, Attribute]) -> None:
        attribute, parent, name = leading
        per_parent = next((c for c in entity.cardinality if c.per == parent.name), None)
        usual = scaled(per_parent)
        most = math.ceil(per_parent.count) if per_parent and per_parent.at_most and per_parent.count else _MOST
        for at, owner in enumerate(self.items[parent.name]):
            for _ in range(min(most, math.ceil(usual * _UNEQUAL[at % len(_UNEQUAL)]))):
                if len(self.items[entity.name]) < _MOST:
                    self.add(entity, {attribute.name: owner[name.name], **self._same_tenant(entity, parent, owner)})
        if not self.items[entity.name]:
            self.add(entity)

    def _same_tenant(self, entity: Entity, parent: Entity, owner: Values) -> Values:
        """The tenant of a parent, which its children belong to as well."""
        tenant = self.workload.tenant
        both = is_owned(self.workload, entity.name) and is_owned(self.workload, parent.name)
        return {tenant.attribute: owner[tenant.attribute]} if tenant and both else {}

    def add(self, entity: Entity, values: Values | None = None) -> Values | None:
        """Generates an item and keeps it. None if all ids of the entity are used."""
        item = self.another(entity, values)
        if item is not None:
            self.keep(entity, item)
        return item

    def another(self, entity: Entity, values: Values | None = None) -> Values | None:
        """Generates an item with an id and unique values that no other has, without keeping it."""
        taken = self._taken.setdefault(entity.name, set())
        if values and not entity.singleton and not taken.isdisjoint(identities(entity, values)):
            return None  # whatever the other attributes are
        for attempt in range(30):
            item = self.make(entity, values, fresh=attempt > 5)
            if entity.singleton or taken.isdisjoint(identities(entity, item)):
                return item
        return None

    def reserve(self, entity: Entity, item: Values) -> None:
        """Marks the ids of an item as used. They are not generated again, even after it was deleted."""
        self._taken.setdefault(entity.name, set()).update(identities(entity, item))

    def is_taken(self, entity: Entity, item: Values) -> bool:
        """Whether another item has, or had, the id or a unique value of an item."""
        return not self._taken.setdefault(entity.name, set()).isdisjoint(identities(entity, item))

    def release(self, entity: Entity, item: Values) -> None:
        """Marks the ids of a deleted item as free."""
        self._taken.setdefault(entity.name, set()).difference_update(identities(entity, item))

    def keep(self, entity: Entity, item: Values) -> None:
        """Adds an item to the data."""
        self.reserve(entity, item)
        items = self.items.setdefault(entity.name, [])
        items[:] = [*(() if entity.singleton else items), item]

    def make(self, entity: Entity, values: Values | None = None, fresh: bool = False) -> Values:
        """Generates an item with the `known` attributes, without keeping it.

        Values that are unique only together, as within a tenant, are those of other items as well, unless `fresh`.
        """
        self._count += 1
        together = {name for group in entity.unique for name in group} if fresh else set()
        item: Values = dict(values or {})
        owners: dict[str, Values] = {}
        self._choose_tenant(entity, item)
        for attribute in entity.attributes:
            self._follow(entity, attribute, item, owners)
        self._repeat_id(entity, item)
        for attribute in entity.attributes:
            if attribute.name in item or self._leaves_out(entity, attribute):
                continue
            repeated = self._repeated(attribute, owners)
            drawn = replace(attribute, unique=True) if attribute.name in together else attribute
            value = self.value(drawn) if repeated is None else repeated
            item[attribute.name] = value
        if entity.history:
            item[VERSION] = 1
        return {name: value for name, value in item.items() if value is not None}

    def _leaves_out(self, entity: Entity, attribute: Attribute) -> bool:
        """Whether an item lacks an optional attribute. The first one of an entity has all: every read can find it."""
        return attribute.optional and bool(self.items.get(entity.name)) and self._chance.random() < 0.3

    def _choose_tenant(self, entity: Entity, item: Values) -> None:
        """Gives an item one of a few tenants, if tenants are no entity."""
        tenant = self.workload.tenant
        attribute = entity.attribute(tenant.attribute) if tenant and is_owned(self.workload, entity.name) else None
        if attribute is None or attribute.references or attribute.name in item:
            return
        while len(self._tenants) < _TENANTS:
            self._tenants = [*dict.fromkeys((*self._tenants, self.value(attribute)))]
        item[attribute.name] = self._chance.choice(self._tenants)

    def _repeat_id(self, entity: Entity, item: Values) -> None:
        """Often gives an item the id of another tenant's item, so that a missing separation of tenants shows."""
        tenant = self.workload.tenant
        if not self.edge_values or tenant is None or not is_owned(self.workload, entity.name):
            return
        mine = item.get(tenant.attribute)
        others = [one for one in self.items.get(entity.name, []) if one.get(tenant.attribute) != mine]
        if mine is None or not others or self._chance.random() < 0.5:
            return
        other = self._chance.choice(others)
        for part in own_id(self.workload, entity):
            if not part.references and part.name in other:
                item.setdefault(part.name, other[part.name])

    def _follow(self, entity: Entity, attribute: Attribute, item: Values, owners: dict[str, Values]) -> None:
        """Chooses the item that an attribute refers to, and takes over the parts of its id."""
        held = self._referred_entity(attribute, item)
        if held is None or not (choices := self.items.get(held[0].name)):
            return
        owner, name = held
        if attribute.name in item:
            choices = [one for one in choices if one.get(name.name) == item[attribute.name]]
        same = [a.name for a in owner.id if a.name in item and entity.attribute(a.name) and a is not name]
        choices = [one for one in choices if all(one.get(n) == item[n] for n in same)] or choices
        if not self.edge_values and attribute.name not in item:  # nobody follows themselves, who is only an example
            others = {item[a.name] for a in entity.attributes if a.name in item and target(self.workload, a) == held}
            choices = [one for one in choices if one.get(name.name) not in others] or choices
        if not choices or self._leaves_out(entity, attribute):
            return
        chosen = self._chance.choice(choices)
        owners.setdefault(owner.name, chosen)
        item.setdefault(attribute.name, chosen.get(name.name))
        for part in owner.id if len(owner.id) > 1 else ():
            own = entity.attribute(part.name)
            if own is not None and own.name not in item and owner is not entity:
                item[own.name] = chosen.get(part.name)

    def _referred_entity(self, attribute: Attribute, item: Values) -> tuple[Entity, Attribute] | None:
        """The entity that an attribute refers to; of several, the one that has its value, or any."""
        found = [one for one in targets(self.workload, attribute) if self.items.get(one[0].name)]
        if attribute.name in item:
            value = item[attribute.name]
            found = [one for one in found if any(i.get(one[1].name) == value for i in self.items[one[0].name])] or found
        return self._chance.choice(found) if len(found) > 1 else next(iter(found), None)

    def _repeated(self, attribute: Attribute, owners: Mapping[str, Values]) -> Any:
        """The value of an attribute that is a copy of another item's."""
        for reference in attribute.repeats:
            owner, _, name = reference.partition(".")
            found = owners.get(owner) or next(iter(self.items.get(owner, [])), None)
            if found is not None:
                return found.get(name)
        return None

    def bounds(self, attribute: Attribute) -> tuple[int | None, int | None]:
        """The bounds of a number, or of the id that it holds."""
        for _ in self.workload.entities:
            held = target(self.workload, attribute) if attribute.bounds == (None, None) else None
            if held is None:
                break
            attribute = held[1]
        return attribute.bounds

    # --- Values -----------------------------------------------------------------------------------------------------

    def value(self, attribute: Attribute) -> Any:
        """A value of an attribute's type; a new one for an id."""
        if attribute.ttl:
            return self._end(attribute)
        kind = attribute.type.kind
        least, most = self.bounds(attribute)
        if attribute.type.numeric and least is not None:
            return self._within(attribute, least, most)
        if self.edge_values and not attribute.size and not _is_time(attribute):
            if attribute.id or attribute.unique:
                return self._next(attribute)
            choices = self._pool(attribute)
            if choices and self._chance.random() < 0.7:
                return self._chance.choice(choices)
        if kind is Kind.STRING:
            return self._text(attribute)
        if kind is Kind.BINARY and attribute.size:
            return self._chance.randbytes(min(attribute.size, _LARGEST))
        return self._of(attribute.type)

    def unused_value(self, attribute: Attribute, used: Collection[str]) -> Any:
        """A value that is not among the used ones, which are texts, if the type has one."""
        value = None
        for _ in range(30):
            self._count += 1
            value = self.value(attribute)
            if repr(value) not in used:
                break
        return value

    def content(self) -> bytes:
        """A large content of two parts, which cannot be compressed."""
        return self._chance.randbytes(PART_SIZE + self._chance.randint(1, 1000))

    def _end(self, attribute: Attribute) -> Any:
        """The time when an item expires, in whole seconds."""
        moment = self.now.replace(microsecond=0) + _FAR + timedelta(days=self._chance.randint(1, 90))
        return moment if attribute.type.kind is Kind.DATETIME else int(moment.timestamp())

    def _within(self, attribute: Attribute, least: int, most: int | None) -> Any:
        """A number within its bounds; with edge values, often one with another number of digits.

        A mutable one keeps a distance from its bounds, because writes add to it.
        """
        most = max(least, most if most is not None else least + 1_000_000)
        if attribute.mutable or not self.edge_values:
            margin = min(3, (most - least) // 3)
            least, most = least + margin, most - margin
        edges = [n for n in (least, least + 1, 9, 10, 99, 100, 999, 1000, most - 1, most) if least <= n <= most]
        usual = most if self.edge_values or attribute.id or attribute.unique else min(most, least + 500)
        found = (
            self._chance.choice(edges)
            if self._chance.random() < 0.5 * self.edge_values
            else self._chance.randint(least, usual)
        )
        return Decimal(found) if attribute.type.kind is Kind.DECIMAL else found

    def _pool(self, attribute: Attribute) -> Sequence[Any]:
        """The few values of an attribute that is no id, so that some items have equal ones."""
        choices = self._edge_values(attribute.type.kind)
        if attribute.type.kind is not Kind.STRING:
            return choices
        return (*choices[:6], *choices[-4:], *(() if attribute.name in self.filled else (EMPTY,)))

    def _edge_values(self, kind: Kind) -> Sequence[Any]:
        choices = edge_values_of(kind, self.now)
        if kind is not Kind.STRING or not self.without:
            return choices
        return [text for text in choices if self.without not in text]

    def _next(self, attribute: Attribute) -> Any:
        """A value that was not used yet, if the type has one."""
        kind = attribute.type.kind
        left = self._fresh.get(kind)
        if left is None:
            left = self._fresh[kind] = list(dict.fromkeys(self._edge_values(kind)))
            self._chance.shuffle(left)
        if left:
            return left.pop()
        if kind is Kind.STRING:
            return f"{self._chance.choice(self._edge_values(kind))}{self._count}"
        if kind in (Kind.INTEGER, Kind.NUMBER):
            return self._count * self._chance.choice((1, -1, 10))
        if kind is Kind.DECIMAL:
            return Decimal(self._count) / self._chance.choice((1, 10, -100))
        return self._of(attribute.type)

    def _text(self, attribute: Attribute) -> str:
        word = self._chance.choice(_WORDS)
        name = attribute.name.lower()
        number = self._count
        if "mail" in name:
            return f"{word}{number}@example.com"
        if _is_time(attribute):
            return self._moment().isoformat(timespec="seconds").replace("+00:00", "Z")
        text = f"{word}-{number}" if attribute.id or attribute.unique else word
        return (text + " ") * (min(attribute.size, _LARGEST) // (len(text) + 1)) if attribute.size else text

    def _moment(self) -> datetime:
        """A time within the last month, most of them recent; with edge values, at an edge or equal to another."""
        if self.edge_values and self._chance.random() < 0.7:
            return self._chance.choice(moments(self.now))
        return self.now - timedelta(seconds=int(self._chance.random() ** 2 * 30 * 86_400))

    def _of(self, type_: Type) -> Any:
        chance = self._chance
        match type_.kind:
            case Kind.STRING:
                return chance.choice(self._edge_values(type_.kind) if self.edge_values else _WORDS)
            case Kind.INTEGER | Kind.NUMBER:
                return chance.randint(1, 500)
            case Kind.DECIMAL:
                return Decimal(chance.randint(100, 20_000)) / 100
            case Kind.BOOLEAN:
                return chance.random() < 0.5
            case Kind.BINARY:
                return chance.randbytes(8)
            case Kind.DATE:
                return self._moment().date()
            case Kind.DATETIME:
                return self._moment()
            case Kind.UUID:
                return uuid.UUID(int=chance.getrandbits(128), version=4)
            case Kind.ULID:
                return "01" + "".join(chance.choices(_CROCKFORD, k=24))
            case Kind.ENUM:
                return chance.choice(type_.values)
            case Kind.LIST:
                return [self._of(type_.of or Type(Kind.STRING)) for _ in range(2)]
            case Kind.SET:
                return {self._of(type_.of or Type(Kind.STRING)) for _ in range(2)}
            case Kind.CONTENT:
                return LargeValue.of(chance.randbytes(8))
            case Kind.MAP:
                return {letter: chance.choice(_WORDS) for letter in string.ascii_lowercase[:2]}
            case _:
                assert_never(type_.kind)


def scaled(cardinality: Cardinality | None) -> int:
    """The number of children for a cardinality of the document: scaled down if it is large.

    >>> [scaled(Cardinality(count)) for count in (1, 3, 20, 100, 1_000_000, None)]
    [1, 3, 6, 9, 12, 12]
    """
    if cardinality is None:
        return 3
    count = None if cardinality.count is None else math.ceil(cardinality.count)
    return 12 if count is None else min(count, 12, 2 + round(math.log2(max(1, count))))


def identities(entity: Entity, item: Values) -> list[tuple[Any, ...]]:
    """The values that no other item of the entity may have: its id and unique attributes."""
    groups = [tuple(a.name for a in entity.id), *((a.name,) for a in entity.attributes if a.unique), *entity.unique]
    return [
        (group, *(item[name] for name in group))
        for group in dict.fromkeys(groups)
        if group and all(item.get(name) is not None for name in group)
    ]


def _is_time(attribute: Attribute) -> bool:
    """Whether a text attribute is a time, by its name."""
    name = attribute.name.lower()
    timely = any(part in name for part in ("date", "time", "created", "updated")) or name.endswith("at")
    return timely and attribute.type.kind is Kind.STRING


def entities_in_order(workload: Workload) -> list[Entity]:
    """The entities, each after those that it refers to, except in cycles."""
    left = list(workload.entities)
    found: list[Entity] = []
    while left:
        done = {e.name for e in found}
        ready = [e for e in left if _referred_to(e) <= done | {e.name}] or left[:1]
        found += ready
        left = [e for e in left if e not in ready]
    return found


def _referred_to(entity: Entity) -> set[str]:
    references = (name for a in entity.attributes for name in (a.references, *a.references_or, *a.repeats) if name)
    return {name.partition(".")[0] for name in references}
