"""Data for a workload: a few items of each entity, whose references hold, the same for the same seed."""

from __future__ import annotations

import random
import string
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from prejoin.types import Kind, Type
from prejoin.workload.lookup import target
from prejoin.workload.model import Attribute, Entity, Workload

Values = dict[str, Any]
"""The attributes of an item, by their names in the workload; what is absent is not there."""
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_WORDS = ("ash", "birch", "cedar", "elm", "fir", "hazel", "linden", "maple", "oak", "pine", "rowan", "willow")


@dataclass(slots=True)
class Maker:
    """Makes items. Its clock is given, so that what is made does not depend on when."""

    workload: Workload
    now: datetime
    seed: int = 1
    made: dict[str, list[Values]] = field(default_factory=dict)
    _chance: random.Random = field(init=False)
    _count: int = 0

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)  # noqa: S311 - sample data, not secrets

    def make_all(self, roots: int = 4, children: int = 3) -> Mapping[str, list[Values]]:
        """Items of every entity: `roots` of those that refer to nothing, `children` for each parent of the others."""
        for entity in _parents_first(self.workload):
            parents = [found for found in self._parents(entity).values() if found]
            count = 1 if entity.singleton else roots if not parents else children * min(len(p) for p in parents)
            for _ in range(count):
                self.add(entity)
        return self.made

    def add(self, entity: Entity, known: Values | None = None) -> Values | None:
        """A new item, kept. None where the entity has no further one: all its ids are taken."""
        taken = {_id(entity, item) for item in self.made.setdefault(entity.name, [])}
        for _ in range(30):
            item = self.make(entity, known)
            if entity.singleton or _id(entity, item) not in taken:
                self.made[entity.name].append(item)
                return item
        return None

    def make(self, entity: Entity, known: Values | None = None) -> Values:
        """A new item, not kept. `known` are attributes that it has to have."""
        self._count += 1
        item: Values = dict(known or {})
        chosen = {name: self._chance.choice(found) for name, found in self._parents(entity).items() if found}
        for attribute in entity.attributes:
            if attribute.name in item:
                continue
            if attribute.optional and self._chance.random() < 0.3:
                continue
            referred = self._referred(attribute, chosen)
            item[attribute.name] = self.value(attribute) if referred is None else referred
        return item

    def _parents(self, entity: Entity) -> dict[str, list[Values]]:
        """The items that could be referred to, by entity."""
        names = [a.references.partition(".")[0] for a in entity.attributes if a.references]
        copied = [a.partition(".")[0] for x in entity.attributes for a in (x.copy_of, x.snapshot_of) if a]
        return {
            name: self.made.get(name, []) for name in (*names, *copied) if name != entity.name or self.made.get(name)
        }

    def _referred(self, attribute: Attribute, chosen: Mapping[str, Values]) -> Any:
        """The value that an attribute takes from the item it refers to or repeats."""
        for reference in (attribute.copy_of, attribute.snapshot_of):
            owner, _, name = reference.partition(".")
            if reference and owner in chosen:
                return chosen[owner].get(name)
        found = target(self.workload, attribute)
        if found and found[0].name in chosen:
            # Two roles of one entity (follower and followed) are two items.
            others = self.made.get(found[0].name, [])
            item = self._chance.choice(others) if attribute.id else chosen[found[0].name]
            return item.get(found[1].name)
        return None

    def value(self, attribute: Attribute) -> Any:
        """A value of an attribute's type, readable where it can be."""
        if attribute.ttl:
            moment = self.now + timedelta(days=self._chance.randint(1, 90))
            return moment if attribute.type.kind is Kind.DATETIME else int(moment.timestamp())
        if attribute.type.kind is Kind.STRING:
            return self._text(attribute)
        return self._of(attribute.type)

    def _text(self, attribute: Attribute) -> str:
        word = self._chance.choice(_WORDS)
        name = attribute.name.lower()
        number = self._count
        if "mail" in name:
            return f"{word}{number}@example.com"
        if any(part in name for part in ("date", "time", "created", "updated")) or name.endswith("at"):
            return self._moment().isoformat(timespec="seconds").replace("+00:00", "Z")
        return f"{word}-{number}" if attribute.id or attribute.unique else word

    def _moment(self) -> datetime:
        """Within the last month, most of them lately."""
        return self.now - timedelta(seconds=int(self._chance.random() ** 2 * 30 * 86_400))

    def _of(self, type_: Type) -> Any:
        chance = self._chance
        match type_.kind:
            case Kind.STRING:
                return chance.choice(_WORDS)
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


def _id(entity: Entity, item: Values) -> tuple[Any, ...]:
    return tuple(item.get(a.name) for a in entity.id)


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
