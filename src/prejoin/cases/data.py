"""Sample data for a workload: items of each entity in the document's proportions, with valid references.

The same seed gives the same data. With `edge_values`, values are such as are hard on keys.
"""

from __future__ import annotations

import math
import random
import string
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, assert_never

from msgspec.structs import replace

from prejoin.cases.edge_values import EMPTY, edge_values_of, moments
from prejoin.cases.items import Values, has_values, identities
from prejoin.constructs.registry import initial_values
from prejoin.types import Kind, Type
from prejoin.workload.lookup import target, targets
from prejoin.workload.model import Attribute, Cardinality, Entity, Workload
from prejoin.workload.samples import CROCKFORD, SampleContent
from prejoin.workload.tenants import common_tenant, own_id

_WORDS = ("ash", "birch", "cedar", "elm", "fir", "hazel", "linden", "maple", "oak", "pine", "rowan", "willow")
_MAX_ITEMS = 48
"""The most items of an entity: enough for several pages, few enough for a search through all of them."""
_UNEQUAL = (1.0, 0.0, 2.0, 0.5, 1.0)
"""Factors for the number of children: parents have different numbers of them, and some have none."""
_TENANTS = 3
"""Tenants of a table that has tenants."""
_MAX_BYTES = 3_000
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
    make_content: Callable[[bytes], Any] = SampleContent
    """Makes the value of a large content that is stored in its item."""
    items: dict[str, list[Values]] = field(default_factory=dict)
    _chance: random.Random = field(init=False)
    _count: int = 0
    _used_identities: dict[str, set[Any]] = field(default_factory=dict)
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
        counted_parents = {cardinality.per for cardinality in entity.cardinality}
        candidates: list[tuple[Attribute, Entity, Attribute]] = []
        for attribute in sorted(entity.attributes, key=lambda a: not a.id):
            target_key = target(self.workload, attribute)
            if target_key and target_key[0] is not entity and self.items.get(target_key[0].name):
                candidates.append((attribute, *target_key))
        counted_candidates = [candidate for candidate in candidates if candidate[1].name in counted_parents]
        return next(iter(counted_candidates or candidates), None)

    def _add_children(self, entity: Entity, leading: tuple[Attribute, Entity, Attribute]) -> None:
        attribute, parent, part = leading
        cardinality = next((c for c in entity.cardinality if c.per == parent.name), None)
        # `at most 3` holds for every parent; other cardinalities are means.
        usual_count = usual_child_count(cardinality)
        max_count = _MAX_ITEMS
        if cardinality and cardinality.at_most and cardinality.count:
            max_count = math.ceil(cardinality.count)
        for at, owner in enumerate(self.items[parent.name]):
            for _ in range(min(max_count, math.ceil(usual_count * _UNEQUAL[at % len(_UNEQUAL)]))):
                if len(self.items[entity.name]) < _MAX_ITEMS:
                    self.add(entity, {attribute.name: owner[part.name], **self._same_tenant(entity, parent, owner)})
        if not self.items[entity.name]:
            self.add(entity)

    def _same_tenant(self, entity: Entity, parent: Entity, owner: Values) -> Values:
        """The tenant of a parent, which its children belong to as well."""
        return {name: owner[name] for name in common_tenant(self.workload, entity.name, parent.name)}

    def add(self, entity: Entity, values: Values | None = None) -> Values | None:
        """Generates an item and keeps it. None if all ids of the entity are used."""
        item = self.another(entity, values)
        if item is not None:
            self.keep(entity, item)
        return item

    def another(self, entity: Entity, values: Values | None = None) -> Values | None:
        """Generates an item with an id and unique values that no other has, without keeping it."""
        used_identities = self._used_identities.setdefault(entity.name, set())
        if values and not entity.singleton and not used_identities.isdisjoint(identities(entity, values)):
            return None  # whatever the other attributes are
        # First with values that others have, as usual. If these are taken together, with new ones.
        for attempt in range(30):
            item = self.make(entity, values, fresh=attempt > 5)
            if entity.singleton or used_identities.isdisjoint(identities(entity, item)):
                return item
        return None

    def reserve(self, entity: Entity, item: Values) -> None:
        """Marks the ids of an item as used. They are not generated again, even after it was deleted."""
        self._used_identities.setdefault(entity.name, set()).update(identities(entity, item))

    def is_taken(self, entity: Entity, item: Values) -> bool:
        """Whether another item has, or had, the id or a unique value of an item."""
        return not self._used_identities.setdefault(entity.name, set()).isdisjoint(identities(entity, item))

    def release(self, entity: Entity, item: Values) -> None:
        """Marks the ids of a deleted item as free."""
        self._used_identities.setdefault(entity.name, set()).difference_update(identities(entity, item))

    def keep(self, entity: Entity, item: Values) -> None:
        """Adds an item to the data."""
        self.reserve(entity, item)
        items = self.items.setdefault(entity.name, [])
        items[:] = [*(() if entity.singleton else items), item]

    def make(self, entity: Entity, values: Values | None = None, fresh: bool = False) -> Values:
        """Generates an item with these values, without keeping it.

        Values that are unique only together, as within a tenant, are those of other items as well, unless `fresh`.
        """
        self._count += 1
        item: Values = dict(values or {})
        owners: dict[str, Values] = {}
        self._choose_tenant(entity, item)
        for attribute in entity.attributes:
            # References come first: they decide parts of the id, and copies of other items' values.
            self._follow(entity, attribute, item, owners)
        self._repeat_id(entity, item)
        for attribute in entity.attributes:
            if attribute.name in item or self._leaves_out(entity, attribute):
                continue
            is_joint = fresh and any(attribute.name in group for group in entity.unique)
            like = replace(attribute, unique=True) if is_joint else attribute
            copied_value = self._copied_value(attribute, owners)
            item[attribute.name] = self.value(like) if copied_value is None else copied_value
        item.update(initial_values(entity))
        return {name: value for name, value in item.items() if value is not None}

    def _leaves_out(self, entity: Entity, attribute: Attribute) -> bool:
        """Whether an item lacks an optional attribute. The first one of an entity has all: every read can find it."""
        return attribute.optional and bool(self.items.get(entity.name)) and self._chance.random() < 0.3

    def _choose_tenant(self, entity: Entity, item: Values) -> None:
        """Gives an item one of a few tenants, if tenants are no entity."""
        for name in common_tenant(self.workload, entity.name):
            attribute = entity.attribute(name)
            if attribute is None or attribute.references or name in item:
                continue
            while len(self._tenants) < _TENANTS:
                self._tenants = [*dict.fromkeys((*self._tenants, self.value(attribute)))]
            item[name] = self._chance.choice(self._tenants)

    def _repeat_id(self, entity: Entity, item: Values) -> None:
        """Often gives an item the id of another tenant's item, so that a missing separation of tenants shows."""
        for name in common_tenant(self.workload, entity.name) if self.edge_values else ():
            foreign_items = [other for other in self.items.get(entity.name, []) if other.get(name) != item.get(name)]
            if item.get(name) is None or not foreign_items or self._chance.random() < 0.5:
                continue
            other = self._chance.choice(foreign_items)
            for part in own_id(self.workload, entity):
                # A reference has to lead to an item of the own tenant.
                if not part.references and part.name in other:
                    item.setdefault(part.name, other[part.name])

    def _follow(self, entity: Entity, attribute: Attribute, item: Values, owners: dict[str, Values]) -> None:
        """Chooses the item that an attribute refers to, and takes over the parts of its id."""
        target_key = self._referred_entity(attribute, item)
        if target_key is None:
            return
        owner, part = target_key
        choices = self._choices_of_owner(entity, attribute, item, owner, part)
        if not choices or self._leaves_out(entity, attribute):
            return
        referred_item = self._chance.choice(choices)
        owners.setdefault(owner.name, referred_item)
        item.setdefault(attribute.name, referred_item.get(part.name))
        if len(owner.id) > 1 and owner is not entity:
            for other_part in owner.id:
                if entity.attribute(other_part.name) is not None and other_part.name not in item:
                    item[other_part.name] = referred_item.get(other_part.name)

    def _choices_of_owner(
        self, entity: Entity, attribute: Attribute, item: Values, owner: Entity, part: Attribute
    ) -> list[Values]:
        """The items that an attribute may refer to: those that have what the item has of the owner's id already."""
        choices = self.items.get(owner.name, [])
        if attribute.name in item:
            choices = [choice for choice in choices if choice.get(part.name) == item[attribute.name]]
        # Of a composite id, another reference of the item may hold a part: both have to be of one parent.
        shared_names = [a.name for a in owner.id if a.name in item and entity.attribute(a.name) and a is not part]
        shared_values = {name: item[name] for name in shared_names}
        choices = [choice for choice in choices if has_values(choice, shared_values)] or choices
        if self.edge_values or attribute.name in item:
            return choices
        return self._choices_for_example(entity, item, (owner, part), choices)

    def _choices_for_example(
        self, entity: Entity, item: Values, target_key: tuple[Entity, Attribute], choices: list[Values]
    ) -> list[Values]:
        """The choices without those that the item refers to already: nobody follows themselves."""
        _, part = target_key
        like = [attribute for attribute in entity.attributes if target(self.workload, attribute) == target_key]
        referred_values = {item[attribute.name] for attribute in like if attribute.name in item}
        return [choice for choice in choices if choice.get(part.name) not in referred_values] or choices

    def _referred_entity(self, attribute: Attribute, item: Values) -> tuple[Entity, Attribute] | None:
        """The entity that an attribute refers to; of several, the one that has its value, or any."""
        candidates = [candidate for candidate in targets(self.workload, attribute) if self.items.get(candidate[0].name)]
        if attribute.name in item:
            value = item[attribute.name]
            candidates = [candidate for candidate in candidates if self._is_present(*candidate, value)] or candidates
        return self._chance.choice(candidates) if len(candidates) > 1 else next(iter(candidates), None)

    def _is_present(self, entity: Entity, attribute: Attribute, value: Any) -> bool:
        return any(item.get(attribute.name) == value for item in self.items[entity.name])

    def _copied_value(self, attribute: Attribute, owners: Mapping[str, Values]) -> Any:
        """The value of an attribute that is a copy of another item's."""
        for reference in attribute.repeats:
            owner, _, name = reference.partition(".")
            original = owners.get(owner) or next(iter(self.items.get(owner, [])), None)
            if original is not None:
                return original.get(name)
        return None

    def bounds(self, attribute: Attribute) -> tuple[int | None, int | None]:
        """The bounds of a number, or of the id that it holds."""
        for _ in self.workload.entities:
            target_key = target(self.workload, attribute) if attribute.bounds == (None, None) else None
            if target_key is None:
                break
            attribute = target_key[1]
        return attribute.bounds

    def usual_values(self, entity: Entity, attribute: Attribute) -> list[Any]:
        """Values that are tried first; none where any value is as good."""
        return []

    # --- Values -----------------------------------------------------------------------------------------------------

    def value(self, attribute: Attribute) -> Any:
        """A value of an attribute's type; a new one for an id."""
        if attribute.ttl:
            return self._end(attribute)
        lowest, highest = self.bounds(attribute)
        if attribute.type.numeric and lowest is not None:
            return self._within(attribute, lowest, highest)
        if self.edge_values and not attribute.size and not _is_time(attribute):
            return self._edge_value(attribute)
        return self._plain_value(attribute)

    def _edge_value(self, attribute: Attribute) -> Any:
        """A new value for an id; for other attributes mostly one of a few."""
        if attribute.id or attribute.unique:
            return self._next(attribute)
        choices = self._pool(attribute)
        if choices and self._chance.random() < 0.7:
            return self._chance.choice(choices)
        return self._plain_value(attribute)

    def _plain_value(self, attribute: Attribute) -> Any:
        kind = attribute.type.kind
        if kind is Kind.STRING:
            return self._text(attribute)
        if kind is Kind.BINARY and attribute.size:
            return self._chance.randbytes(min(attribute.size, _MAX_BYTES))
        return self._of(attribute.type)

    def unused_value(self, attribute: Attribute, used_texts: Collection[str]) -> Any:
        """A value that is not among the used ones, which are texts, if the type has one."""
        value = None
        for _ in range(30):
            self._count += 1
            value = self.value(attribute)
            if repr(value) not in used_texts:
                break
        return value

    def large_content(self, min_size: int) -> bytes:
        """A content of some more bytes than the least, which cannot be compressed."""
        return self._chance.randbytes(min_size + self._chance.randint(1, 1000))

    def _end(self, attribute: Attribute) -> Any:
        """The time when an item expires, in whole seconds."""
        moment = self.now.replace(microsecond=0) + _FAR + timedelta(days=self._chance.randint(1, 90))
        return moment if attribute.type.kind is Kind.DATETIME else int(moment.timestamp())

    def _within(self, attribute: Attribute, lowest: int, highest: int | None) -> Any:
        """A number within its bounds; with edge values, often one with another number of digits.

        A mutable one keeps a distance from its bounds, because writes add to it.
        """
        highest = max(lowest, highest if highest is not None else lowest + 1_000_000)
        if attribute.mutable or not self.edge_values:
            margin = min(3, (highest - lowest) // 3)
            lowest, highest = lowest + margin, highest - margin
        # A key that does not pad numbers sorts 9 after 10.
        if self._chance.random() < 0.5 * self.edge_values:
            edges = (lowest, lowest + 1, 9, 10, 99, 100, 999, 1000, highest - 1, highest)
            number = self._chance.choice([edge for edge in edges if lowest <= edge <= highest])
        elif self.edge_values or attribute.id or attribute.unique:
            number = self._chance.randint(lowest, highest)
        else:
            number = self._chance.randint(lowest, min(highest, lowest + 500))
        return Decimal(number) if attribute.type.kind is Kind.DECIMAL else number

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
        unused_values = self._fresh.get(kind)
        if unused_values is None:
            unused_values = self._fresh[kind] = list(dict.fromkeys(self._edge_values(kind)))
            self._chance.shuffle(unused_values)
        if unused_values:
            return unused_values.pop()
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
        return (text + " ") * (min(attribute.size, _MAX_BYTES) // (len(text) + 1)) if attribute.size else text

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
                return "01" + "".join(chance.choices(CROCKFORD, k=24))
            case Kind.ENUM:
                return chance.choice(type_.values)
            case Kind.LIST:
                return [self._of(type_.of or Type(Kind.STRING)) for _ in range(2)]
            case Kind.SET:
                return {self._of(type_.of or Type(Kind.STRING)) for _ in range(2)}
            case Kind.CONTENT:
                return self.make_content(chance.randbytes(8))
            case Kind.MAP:
                return {letter: chance.choice(_WORDS) for letter in string.ascii_lowercase[:2]}
            case _:
                assert_never(type_.kind)


def usual_child_count(cardinality: Cardinality | None) -> int:
    """The number of children for a cardinality of the document: scaled down if it is large.

    >>> [usual_child_count(Cardinality(count)) for count in (1, 3, 20, 100, 1_000_000, None)]
    [1, 3, 6, 9, 12, 12]
    """
    if cardinality is None:
        return 3
    count = None if cardinality.count is None else math.ceil(cardinality.count)
    return 12 if count is None else min(count, 12, 2 + round(math.log2(max(1, count))))


def _is_time(attribute: Attribute) -> bool:
    """Whether a text attribute is a time, by its name."""
    name = attribute.name.lower()
    is_named_as_time = any(part in name for part in ("date", "time", "created", "updated")) or name.endswith("at")
    return is_named_as_time and attribute.type.kind is Kind.STRING


def entities_in_order(workload: Workload) -> list[Entity]:
    """The entities, each after those that it refers to, except in cycles."""
    remaining = list(workload.entities)
    order: list[Entity] = []
    while remaining:
        placed_names = {entity.name for entity in order}
        ready = [entity for entity in remaining if _referred_to(entity) <= placed_names | {entity.name}]
        # Of a cycle the first one comes first.
        ready = ready or remaining[:1]
        order += ready
        remaining = [entity for entity in remaining if entity not in ready]
    return order


def _referred_to(entity: Entity) -> set[str]:
    references = (name for a in entity.attributes for name in (a.references, *a.references_or, *a.repeats) if name)
    return {name.partition(".")[0] for name in references}
