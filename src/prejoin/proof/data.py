"""Data for a workload: items of each entity in the document's proportions, whose references hold; by seed.

Told to be harsh, it takes the values that are hard on keys. What is absent in `Values` is absent in the item.
"""

from __future__ import annotations

import math
import random
import string
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from prejoin.proof import edge_values as hard
from prejoin.types import Kind, Type
from prejoin.workload.lookup import target
from prejoin.workload.model import Attribute, Cardinality, Entity, Workload
from prejoin.workload.tenants import is_owned, own_id

Values = dict[str, Any]
"""The attributes of an item, by their names in the workload; what is absent is not there."""
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_WORDS = ("ash", "birch", "cedar", "elm", "fir", "hazel", "linden", "maple", "oak", "pine", "rowan", "willow")
_MOST = 48
"""Items of an entity: enough to page through, few enough to look through for every answer."""
_UNEQUAL = (1.0, 0.0, 2.0, 0.5, 1.0)
"""Parents do not have equally many children, and some have none."""
_TENANTS = 3
"""Of a table that has tenants: enough for one to see what is another's."""
_LARGEST = 3_000
"""Bytes of a value; a document's larger ones are cut to it, or a proof would take minutes."""

_FAR = timedelta(days=40 * 365)
"""Until the first item ends: engines delete by their own clock, whichever a proof is given."""


@dataclass(slots=True)
class Maker:
    """Makes items. Its clock is given, so that what is made does not depend on when."""

    workload: Workload
    now: datetime
    seed: int = 1
    harsh: bool = False
    without: str = ""
    """A character that no text may have."""
    filled: frozenset[str] = frozenset()
    """Attributes that are never empty texts: they are keys as they stand, and DynamoDB has no empty keys."""
    made: dict[str, list[Values]] = field(default_factory=dict)
    _chance: random.Random = field(init=False)
    _count: int = 0
    _taken: dict[str, set[Any]] = field(default_factory=dict)
    _tenants: list[Any] = field(default_factory=list)
    _fresh: dict[Kind, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)  # noqa: S311 - sample data, not secrets

    def make_all(self, roots: int = 5) -> Mapping[str, list[Values]]:
        """Items of every entity: `roots` of those that refer to nothing, and of the others some for each parent."""
        for entity in _parents_first(self.workload):
            self.made.setdefault(entity.name, [])
            leading = self._leading(entity)
            if entity.singleton:
                self.add(entity)
            elif leading is None:
                for _ in range(roots):
                    self.add(entity)
            else:
                self._add_children(entity, leading)
        return self.made

    def _leading(self, entity: Entity) -> tuple[Attribute, Entity, Attribute] | None:
        """The attribute by which items belong to their parent: where the cardinality is told for one, that."""
        found = []
        for attribute in sorted(entity.attributes, key=lambda a: not a.id):
            held = target(self.workload, attribute)
            if held and held[0] is not entity and self.made.get(held[0].name):
                found.append((attribute, *held))
        told = [one for one in found if any(c.per == one[1].name for c in entity.cardinality)]
        return next(iter(told or found), None)

    def _add_children(self, entity: Entity, leading: tuple[Attribute, Entity, Attribute]) -> None:
        attribute, parent, name = leading
        told = next((c for c in entity.cardinality if c.per == parent.name), None)
        usual = scaled(told)
        most = told.count if told and told.at_most and told.count else _MOST
        for at, owner in enumerate(self.made[parent.name]):
            for _ in range(min(most, math.ceil(usual * _UNEQUAL[at % len(_UNEQUAL)]))):
                if len(self.made[entity.name]) < _MOST:
                    self.add(entity, {attribute.name: owner[name.name], **self._same_tenant(entity, parent, owner)})
        if not self.made[entity.name]:
            self.add(entity)

    def _same_tenant(self, entity: Entity, parent: Entity, owner: Values) -> Values:
        """What belongs to an item belongs to its tenant."""
        tenant = self.workload.tenant
        both = is_owned(self.workload, entity.name) and is_owned(self.workload, parent.name)
        return {tenant.attribute: owner[tenant.attribute]} if tenant and both else {}

    def add(self, entity: Entity, known: Values | None = None) -> Values | None:
        """A new item, kept. None where the entity has no further one: all its ids are taken."""
        item = self.another(entity, known)
        if item is not None:
            self.keep(entity, item)
        return item

    def another(self, entity: Entity, known: Values | None = None) -> Values | None:
        """A new item with an id and unique values that no other has, not kept."""
        taken = self._taken.setdefault(entity.name, set())
        for _ in range(30):
            item = self.make(entity, known)
            if entity.singleton or taken.isdisjoint(identities(entity, item)):
                return item
        return None

    def reserve(self, entity: Entity, item: Values) -> None:
        """Counts the ids of an item as taken: they are never made again, also after it was deleted."""
        self._taken.setdefault(entity.name, set()).update(identities(entity, item))

    def release(self, entity: Entity, item: Values) -> None:
        """Frees the ids of an item that was deleted to make room."""
        self._taken.setdefault(entity.name, set()).difference_update(identities(entity, item))

    def keep(self, entity: Entity, item: Values) -> None:
        """Counts an item as made."""
        self.reserve(entity, item)
        items = self.made.setdefault(entity.name, [])
        items[:] = [*(() if entity.singleton else items), item]

    def make(self, entity: Entity, known: Values | None = None) -> Values:
        """A new item, not kept. `known` are attributes that it has to have."""
        self._count += 1
        item: Values = dict(known or {})
        owners: dict[str, Values] = {}
        self._choose_tenant(entity, item)
        for attribute in entity.attributes:
            self._follow(entity, attribute, item, owners)
        self._repeat_id(entity, item)
        for attribute in entity.attributes:
            if attribute.name in item or (attribute.optional and self._chance.random() < 0.3):
                continue
            repeated = self._repeated(attribute, owners)
            value = self.value(attribute) if repeated is None else repeated
            item[attribute.name] = value
        return {name: value for name, value in item.items() if value is not None}

    def _choose_tenant(self, entity: Entity, item: Values) -> None:
        """One of a few tenants, where they are no entity themselves."""
        tenant = self.workload.tenant
        attribute = entity.attribute(tenant.attribute) if tenant and is_owned(self.workload, entity.name) else None
        if attribute is None or attribute.references or attribute.name in item:
            return
        while len(self._tenants) < _TENANTS:
            self._tenants = [*dict.fromkeys((*self._tenants, self.value(attribute)))]
        item[attribute.name] = self._chance.choice(self._tenants)

    def _repeat_id(self, entity: Entity, item: Values) -> None:
        """Often the id that an item of another tenant has: whatever lets one see the other's then shows."""
        tenant = self.workload.tenant
        if not self.harsh or tenant is None or not is_owned(self.workload, entity.name):
            return
        mine = item.get(tenant.attribute)
        others = [one for one in self.made.get(entity.name, []) if one.get(tenant.attribute) != mine]
        if mine is None or not others or self._chance.random() < 0.5:
            return
        other = self._chance.choice(others)
        for part in own_id(self.workload, entity):
            if not part.references and part.name in other:
                item.setdefault(part.name, other[part.name])

    def _follow(self, entity: Entity, attribute: Attribute, item: Values, owners: dict[str, Values]) -> None:
        """Takes the item that an attribute refers to, and what this item has of its id under the same names."""
        held = target(self.workload, attribute)
        if held is None or not (choices := self.made.get(held[0].name)):
            return
        owner, name = held
        if attribute.name in item:
            choices = [one for one in choices if one.get(name.name) == item[attribute.name]]
        same = [a.name for a in owner.id if a.name in item and entity.attribute(a.name) and a is not name]
        choices = [one for one in choices if all(one.get(n) == item[n] for n in same)] or choices
        if not self.harsh and attribute.name not in item:  # nobody follows themselves, who is only an example
            others = {item[a.name] for a in entity.attributes if a.name in item and target(self.workload, a) == held}
            choices = [one for one in choices if one.get(name.name) not in others] or choices
        if not choices or (attribute.optional and self._chance.random() < 0.3):
            return
        chosen = self._chance.choice(choices)
        owners.setdefault(owner.name, chosen)
        item.setdefault(attribute.name, chosen.get(name.name))
        for part in owner.id if len(owner.id) > 1 else ():
            own = entity.attribute(part.name)
            if own is not None and own.name not in item and owner is not entity:
                item[own.name] = chosen.get(part.name)

    def _repeated(self, attribute: Attribute, owners: Mapping[str, Values]) -> Any:
        """The value that an attribute repeats of another item."""
        for reference in filter(None, (attribute.copy_of, attribute.snapshot_of)):
            owner, _, name = reference.partition(".")
            found = owners.get(owner) or next(iter(self.made.get(owner, [])), None)
            if found is not None:
                return found.get(name)
        return None

    # --- Values -----------------------------------------------------------------------------------------------------

    def value(self, attribute: Attribute) -> Any:
        """A value of an attribute's type, readable where it can be; a new one for an id."""
        if attribute.ttl:
            return self._end(attribute)
        kind = attribute.type.kind
        if attribute.type.numeric and attribute.bounds[0] is not None:
            return self._within(attribute, attribute.bounds[0], attribute.bounds[1])
        if self.harsh and not attribute.size and not _is_time(attribute):
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

    def _end(self, attribute: Attribute) -> Any:
        """When an item ends, in whole seconds, as DynamoDB has it."""
        moment = self.now.replace(microsecond=0) + _FAR + timedelta(days=self._chance.randint(1, 90))
        return moment if attribute.type.kind is Kind.DATETIME else int(moment.timestamp())

    def _within(self, attribute: Attribute, least: int, most: int | None) -> Any:
        """A number within its bounds, told to be harsh often one of another number of digits.

        One that changes keeps away from its bounds: what is added to it may be one or two.
        """
        most = max(least, most if most is not None else least + 1_000_000)
        if attribute.mutable or not self.harsh:
            margin = min(3, (most - least) // 3)
            least, most = least + margin, most - margin
        edges = [n for n in (least, least + 1, 9, 10, 99, 100, 999, 1000, most - 1, most) if least <= n <= most]
        usual = most if self.harsh or attribute.id or attribute.unique else min(most, least + 500)
        found = (
            self._chance.choice(edges)
            if self._chance.random() < 0.5 * self.harsh
            else self._chance.randint(least, usual)
        )
        return Decimal(found) if attribute.type.kind is Kind.DECIMAL else found

    def _pool(self, attribute: Attribute) -> Sequence[Any]:
        """Values that are not ids: few, so that some are equal."""
        choices = self._hard(attribute.type.kind)
        if attribute.type.kind is not Kind.STRING:
            return choices
        return (*choices[:6], *choices[-4:], *(() if attribute.name in self.filled else (hard.EMPTY,)))

    def _hard(self, kind: Kind) -> Sequence[Any]:
        choices = hard.pool(kind, self.now)
        if kind is not Kind.STRING or not self.without:
            return choices
        return [text for text in choices if self.without not in text]

    def _next(self, attribute: Attribute) -> Any:
        """A value that was not given out, as far as the type has one."""
        kind = attribute.type.kind
        left = self._fresh.get(kind)
        if left is None:
            left = self._fresh[kind] = list(dict.fromkeys(self._hard(kind)))
            self._chance.shuffle(left)
        if left:
            return left.pop()
        if kind is Kind.STRING:
            return f"{self._chance.choice(self._hard(kind))}{self._count}"
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
        """Within the last month, most of them lately; told to be harsh, at an edge or equal to another."""
        if self.harsh and self._chance.random() < 0.7:
            return self._chance.choice(hard.moments(self.now))
        return self.now - timedelta(seconds=int(self._chance.random() ** 2 * 30 * 86_400))

    def _of(self, type_: Type) -> Any:
        chance = self._chance
        match type_.kind:
            case Kind.STRING:
                return chance.choice(self._hard(type_.kind) if self.harsh else _WORDS)
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
            case Kind.MAP:
                return {letter: chance.choice(_WORDS) for letter in string.ascii_lowercase[:2]}


def scaled(told: Cardinality | None) -> int:
    """How many children stand for a document's figure: as many, as long as they are few.

    >>> [scaled(Cardinality(count)) for count in (1, 3, 20, 100, 1_000_000, None)]
    [1, 3, 6, 9, 12, 12]
    """
    if told is None:
        return 3
    return 12 if told.count is None else min(told.count, 12, 2 + round(math.log2(max(1, told.count))))


def identities(entity: Entity, item: Values) -> list[tuple[Any, ...]]:
    """What no other item of the entity may have: its id, and what is said to be unique."""
    groups = [tuple(a.name for a in entity.id), *((a.name,) for a in entity.attributes if a.unique), *entity.unique]
    return [
        (group, *(item[name] for name in group))
        for group in dict.fromkeys(groups)
        if group and all(item.get(name) is not None for name in group)
    ]


def _is_time(attribute: Attribute) -> bool:
    """Whether text is a time, by its name."""
    name = attribute.name.lower()
    told = any(part in name for part in ("date", "time", "created", "updated")) or name.endswith("at")
    return told and attribute.type.kind is Kind.STRING


def _parents_first(workload: Workload) -> list[Entity]:
    """Entities in an order in which each comes after those it refers to, as far as they do not refer in circles."""
    left = list(workload.entities)
    found: list[Entity] = []
    while left:
        done = {e.name for e in found}
        ready = [e for e in left if _referred_to(e) <= done | {e.name}] or left[:1]
        found += ready
        left = [e for e in left if e not in ready]
    return found


def _referred_to(entity: Entity) -> set[str]:
    references = (name for a in entity.attributes for name in (a.references, a.copy_of, a.snapshot_of) if name)
    return {name.partition(".")[0] for name in references}
