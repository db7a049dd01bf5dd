"""Rates, sizes and counts, from the document or assumed. All assumptions are here, so that they can be reported."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace as with_other
from functools import partial, reduce
from operator import mul
from typing import assert_never

from prejoin.constructs.construct import Usage
from prejoin.constructs.registry import constructs_of, retention_in
from prejoin.types import Kind
from prejoin.workload.constants import constant_or_text, constant_text
from prejoin.workload.contents import CONTENT_SIZE, contents_of
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.lookup import chain, changes, foreign_key, identified, target
from prejoin.workload.memo import remembered
from prejoin.workload.model import (
    RANGES,
    Action,
    Attribute,
    Entity,
    Input,
    Level,
    Model,
    Op,
    Pattern,
    Per,
    Rate,
    Read,
    RelationshipKind,
    Result,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.program.resolved_read import Clause, ResolvedRead, resolve_read

HOT, WARM, COLD = 200.0, 10.0, 0.1
"""Calls a second for each level."""
RATE = 1.0
"""Calls a second if the document gives no rate."""
ITEMS = 10_000
"""Items of an entity whose number follows neither from the document nor from a relation."""
RETENTION = 31_536_000
"""Seconds that an item is kept if nothing removes it: a year from now."""
SEVERAL = 5
"""Items of a write with `[]` if no cardinality gives their number."""
LISTED = 10
"""Ids in a list input of a read."""
VALUES = 100
"""Distinct values of an attribute that is neither an id nor an enum, and whose name and type say nothing."""
_NEARLY_UNIQUE = (
    *("mail", "emailaddress", "phone", "phonenumber", "mobile", "username", "login", "handle", "slug"),
    *("token", "secret", "apikey", "requestkey", "idempotencykey", "externalid", "externalref", "externalreference"),
    *("serialnumber", "iban", "imei", "vin"),
)
"""Ends of names, in lower case without `_`, of strings that hardly any two items share."""
RANGE = 0.1
"""The fraction of items that a range finds."""
KEPT = 0.5
"""The fraction of items that pass a filter other than an equality or `contains`."""
PRESENT = 0.5
"""The fraction of items that have an optional attribute."""
BUCKETS = 7
"""Time buckets in a range with bounds from the caller."""
GARBAGE = 2_592_000
"""Seconds between two runs of `remove_garbage`: 30 days. Both guides that name it say so."""
FUNCTION = 0.0125
"""GB-seconds of a call of the function that reads the stream: 100 ms with 128 MB."""
_SIZE, _LARGE, _SET = 20, 200, 100
"""Bytes of a text or a number; of a list, a map or bytes; and of a set."""
_FIXED_SIZE = frozenset({Kind.UUID, Kind.ULID, Kind.DATE, Kind.DATETIME, Kind.BOOLEAN, Kind.CONTENT})
"""Types whose values have one size."""
_FLEXIBLE = frozenset({Kind.STRING, Kind.LIST, Kind.MAP, Kind.SET, Kind.BINARY})
"""Types of any size: they share the declared size of an item that the other attributes leave."""
KEY_SIZE = 100
"""Bytes of the keys and the type of an item."""
_DAY = 86_400
BUCKET_SECONDS = {"hour": 3_600, "day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY, "year": 365 * _DAY}


def per_second(rate: Rate | None) -> float:
    """The rate of a pattern in calls a second.

    >>> per_second(Rate(level=Level.WARM)), per_second(Rate(value=120, per="min")), per_second(None)
    (10.0, 2.0, 1.0)
    """
    if rate is None:
        return RATE
    if rate.value is not None:
        return rate.value / Per(rate.per).seconds
    if rate.level is not None:
        return _rate_of(rate.level)
    return rate.weight if rate.weight is not None else RATE


def _rate_of(level: Level) -> float:
    """Calls a second for a level."""
    match level:
        case Level.HOT:
            return HOT
        case Level.WARM:
            return WARM
        case Level.COLD:
            return COLD
        case _:
            assert_never(level)


def peak(rate: Rate | None) -> float:
    """Calls a second at the busiest time."""
    return rate.peak if rate and rate.peak is not None else per_second(rate)


def hottest(workload: Workload, entity: Entity, names: Iterable[str], rate: Rate | None) -> float:
    """The declared fraction of calls for the busiest partition; 0 if there is none.

    If the document says whose share it is (`hottest tenantId 40%`), a partition by more than that has its part of it.
    """
    if rate is None or not rate.hottest:
        return 0.0
    share = rate.hottest / 100
    if not rate.hottest_of:
        return share
    if entity.attribute(rate.hottest_of) is None:
        return 0.0
    # `hottest tenantId 40%`: a partition by the tenant and a day has the tenant's share divided by its days.
    items_of_both = count_by(workload, entity, {rate.hottest_of, *names})
    return share * items_of_both / count_by(workload, entity, [rate.hottest_of])


# --- Sizes ----------------------------------------------------------------------------------------------------------


def size_of(entity: Entity) -> int:
    """Bytes of a typical item, with its keys."""
    size = _declared_size(entity)
    return size if size is not None else _summed_size(entity)


def _declared_size(entity: Entity) -> int | None:
    """The declared size of an item, without the contents that are beside it."""
    contents_size = sum(attribute.size or 0 for attribute in contents_of(entity))
    if not contents_size or entity.size is None or entity.size < contents_size:
        return entity.size
    return max(entity.size - contents_size, _summed_size(entity))


def _summed_size(entity: Entity) -> int:
    return KEY_SIZE + sum(len(attribute.name) + _value_size(attribute) for attribute in entity.attributes)


def value_sizes(entity: Entity) -> Mapping[str, int]:
    """Bytes of a typical value of each attribute, without its name.

    If the item's size is declared, values of flexible size fill it.

    >>> note = Entity("Note", attributes=(Attribute("id", id=True), Attribute("text")), size=5_000)
    >>> dict(value_sizes(note))
    {'id': 20, 'text': 4874}
    """
    sizes = {attribute.name: _value_size(attribute) for attribute in entity.attributes}
    flexible_names = [attribute.name for attribute in entity.attributes if _is_flexible(attribute)]
    declared_size = _declared_size(entity)
    if declared_size is None or not flexible_names:
        return sizes
    remaining_size = declared_size - KEY_SIZE - sum(len(a.name) for a in entity.attributes)
    remaining_size -= sum(size for name, size in sizes.items() if name not in flexible_names)
    weight = sum(sizes[name] for name in flexible_names)
    for name in flexible_names:
        sizes[name] = max(1, remaining_size * sizes[name] // weight)
    return sizes


def _is_flexible(attribute: Attribute) -> bool:
    """Whether values may have any size: neither the document nor the type nor a role as an id says more."""
    has_size = attribute.size is not None or attribute.type.kind not in _FLEXIBLE
    return not (has_size or attribute.id or attribute.references or attribute.unique)


def _value_size(attribute: Attribute) -> int:
    if attribute.size is not None and attribute.type.kind is not Kind.CONTENT:
        return attribute.size
    kind = attribute.type.kind
    if kind is Kind.ENUM and attribute.type.values:
        return max(map(len, attribute.type.values))
    return _usual_size(kind)


def _usual_size(kind: Kind) -> int:
    """Bytes of a value of a kind."""
    match kind:
        case Kind.STRING | Kind.NUMBER | Kind.INTEGER | Kind.DECIMAL | Kind.ENUM:
            return _SIZE
        case Kind.UUID:
            return 36
        case Kind.ULID:
            return 26
        case Kind.DATE:
            return 10
        case Kind.DATETIME:
            return 27
        case Kind.BOOLEAN:
            return 1
        case Kind.CONTENT:
            return 160
        case Kind.LIST | Kind.MAP | Kind.BINARY:
            return _LARGE
        case Kind.SET:
            return _SET
        case _:
            assert_never(kind)


def has_guessed_size(attribute: Attribute) -> bool:
    """Whether the size of a value follows neither from the document nor from the type."""
    has_known_size = attribute.type.kind in _FIXED_SIZE or (attribute.type.kind is Kind.ENUM and attribute.type.values)
    return attribute.size is None and not has_known_size


# --- Numbers --------------------------------------------------------------------------------------------------------


@remembered
def count_of(workload: Workload, entity: Entity, seen: frozenset[str] = frozenset()) -> int:
    """The number of items of an entity.

    If the document gives none, an entity in a 1:1 relation has as many as the other one. What is unbounded, or kept for
    a stated time, grows with its writes for that time. Others have at least as many as the entities they belong to.
    """
    # `seen` has the entities that ask: figures may refer to each other in a circle.
    if entity.singleton:
        return 1
    declared_count = _declared_count(workload, entity, seen)
    if declared_count:
        return declared_count
    one_to_one = counterparts(workload, entity)
    count_by_growth = _count_by_growth(workload, entity) if not one_to_one else 0
    if count_by_growth:
        return count_by_growth
    counts = _counts_of_others(workload, one_to_one, entity, seen)
    return max(counts or [ITEMS, *_counts_of_others(workload, parents(workload, entity), entity, seen)])


def _counts_of_others(
    workload: Workload, entities: Iterable[Entity], asking: Entity, seen: frozenset[str]
) -> list[int]:
    """The numbers of items of entities that did not ask themselves."""
    seen_below = seen | {asking.name}
    return [count_of(workload, entity, seen_below) for entity in entities if entity.name not in seen]


def _declared_count(workload: Workload, entity: Entity, seen: frozenset[str]) -> int:
    """The number of items by the cardinalities of an entity; 0 if it has none.

    Nobody knows how many values an attribute has: `~25K per warehouseId` counts only if nothing else is declared.
    """
    counts: list[int] = []
    guesses: list[int] = []
    for cardinality in _declared_counts(entity):
        if not cardinality.per:
            return max(1, round(cardinality.count))
        parent = workload.entity(cardinality.per)
        if parent and parent.name not in seen:
            number_of_parents = count_of(workload, parent, seen | {entity.name})
            counts.append(max(1, round(cardinality.count * number_of_parents)))
        else:
            guesses.append(max(1, round(cardinality.count * ITEMS)))
    return max(counts or guesses, default=0)


def retention_of(entity: Entity) -> int:
    """Seconds that an item is kept: as declared, or assumed."""
    if entity.retention is not None:
        return entity.retention
    retention = retention_in(entity)
    return RETENTION if retention is None else retention


def grows(entity: Entity) -> bool:
    """Whether the number of items follows from the write rate: unbounded, or kept for a stated time."""
    if not entity.cardinality:
        return entity.retention is not None
    return None in [limit.count for limit in entity.cardinality]


def _count_by_growth(workload: Workload, entity: Entity) -> int:
    """The items that are created within the retention; 0 if that does not say how many there are."""
    return round(created(workload, entity) * retention_of(entity)) if grows(entity) else 0


def created(workload: Workload, entity: Entity) -> float:
    """The items of an entity that are created in a second."""
    return written(workload, entity, Verb.CREATE, Verb.PUT)


def surely_created(workload: Workload, entity: Entity) -> float:
    """The items of an entity that are created in a second, as far as the document gives figures, and not levels."""
    total = 0.0
    for write in workload.writes:
        if write.rate is None or write.rate.value is None:
            continue
        for action in write.actions:
            if action.entity == entity.name and action.verb is Verb.CREATE:
                items = several(workload, write, entity) if action.many else 1
                total += per_second(write.rate) * (items or 1)
    return total


def written(workload: Workload, entity: Entity, *verbs: Verb) -> float:
    """The items of an entity that some actions are done to in a second."""
    return rate_of(workload, entity, lambda _, action: action.verb in verbs)


def rate_of(workload: Workload, entity: Entity, is_counted: Callable[[Write, Action], bool]) -> float:
    """The items of an entity that writes do something to in a second."""
    total = 0.0
    for write, action in workload.actions_on(entity.name):
        if is_counted(write, action):
            total += per_second(write.rate) * number_of_items(workload, write, action, entity)
    return total


def number_of_items(workload: Workload, write: Write, action: Action, entity: Entity) -> int:
    """The number of items of its entity that an action writes in one call."""
    return (several(workload, write, entity) or SEVERAL) if action.many else 1


def replaced(workload: Workload, entity: Entity, name: str) -> float:
    """The values of an attribute that are replaced, or deleted with their item, in a second.

    A put creates items as long as their number grows. Otherwise it replaces one.
    """
    removing_verbs = (Verb.DELETE,) if grows(entity) else (Verb.DELETE, Verb.PUT)

    def is_replaced(write: Write, action: Action) -> bool:
        is_changed = action.updates and name in {change.attribute for change in changes(write, action, entity)}
        return is_changed or action.verb in removing_verbs

    return rate_of(workload, entity, is_replaced)


def usage_of(workload: Workload, entity: Entity) -> Usage:
    """What the cost of the items of an entity's constructs depends on."""
    return Usage(
        float(count_of(workload, entity)),
        retention_of(entity),
        partial(written, workload, entity),
        partial(replaced, workload, entity),
    )


def parents(workload: Workload, entity: Entity) -> list[Entity]:
    """The entities that an item always belongs to: it has their whole id, and none of it is optional."""
    optional_names = {attribute.name for attribute in entity.attributes if attribute.optional}
    owners: list[Entity] = []
    for other in workload.entities:
        key = foreign_key(workload, entity, other) if other is not entity else None
        if key and optional_names.isdisjoint(key):
            owners.append(other)
    return owners


def counterparts(workload: Workload, entity: Entity) -> list[Entity]:
    """The entities that have exactly one item of this entity: by a 1:1 relation, or because its whole id is their
    id.
    """
    ids = frozenset(attribute.name for attribute in entity.id)
    related_names = _one_to_one_names(workload, entity)
    others = [other for other in workload.entities if other is not entity]
    return [other for other in others if other.name in related_names or _is_one_to_one(workload, entity, other, ids)]


def _one_to_one_names(workload: Workload, entity: Entity) -> set[str]:
    """The entities in a 1:1 relation with an entity, itself included."""
    names: set[str] = set()
    for owner in workload.entities:
        for relationship in owner.relationships:
            ends = {relationship.left, relationship.right}
            if relationship.kind is RelationshipKind.ONE_TO_ONE and entity.name in ends:
                names |= ends
    return names


def _is_one_to_one(workload: Workload, entity: Entity, other: Entity, ids: frozenset[str]) -> bool:
    """Whether the attributes that hold the other's id are the whole id, or unique."""
    key = foreign_key(workload, entity, other)
    if not key:
        return False
    only_attribute = entity.attribute(next(iter(key))) if len(key) == 1 else None
    return key == ids or key in map(frozenset, entity.unique) or bool(only_attribute and only_attribute.unique)


class _Estimate(Model, frozen=True):
    count: int | float
    per: str


def _declared_counts(entity: Entity) -> list[_Estimate]:
    """The declared counts. An upper limit counts only if there is no estimate."""
    stated_counts = [limit for limit in entity.cardinality if limit.count is not None]
    estimated_counts = [limit for limit in stated_counts if not limit.at_most]
    return [_Estimate(limit.count, limit.per) for limit in estimated_counts or stated_counts if limit.count is not None]


def count_by(workload: Workload, entity: Entity, given: Iterable[str]) -> float:
    """The number of items of an entity that share their values of some attributes; at least one.

    `~20 per User` is the number for one `userId`. Without such a line, it follows from the number of distinct values.

    >>> from prejoin.types import STRING, Type
    >>> from prejoin.workload.model import Cardinality
    >>> user = Entity("User", attributes=(Attribute("userId", id=True),), cardinality=(Cardinality(1000),))
    >>> status = Attribute("status", Type(Kind.ENUM, values=("OPEN", "DONE")))
    >>> order = Entity(
    ...     "Order",
    ...     attributes=(Attribute("orderId", id=True), Attribute("userId", references="User"), status),
    ...     cardinality=(Cardinality(20, "User"),),
    ... )
    >>> shop = Workload(entities=(user, order))
    >>> [count_by(shop, order, given) for given in (["orderId"], ["userId"], ["userId", "status"], ["status"])]
    [1.0, 20.0, 10.0, 10000.0]
    """
    return _count_by(workload, entity, frozenset(given))


@remembered
def _count_by(workload: Workload, entity: Entity, names: frozenset[str]) -> float:
    if identified(entity, names):
        return 1.0
    total, combinations = float(count_of(workload, entity)), _combinations(workload, entity, names)
    numbers: list[float] = []
    for cardinality in _declared_counts(entity):
        parent_names = _holding_names(workload, entity, cardinality.per, names)
        if parent_names and cardinality.count < total:
            # Attributes beside the parent's id split its items further.
            items_of_parts = cardinality.count * _combinations(workload, entity, parent_names) / combinations
            numbers.append(items_of_parts * _share_with_all(entity, names - parent_names))
    return max(1.0, min(numbers, default=total / combinations * _share_with_all(entity, names)))


def _share_with_all(entity: Entity, names: Iterable[str]) -> float:
    """The fraction of items that have all of some attributes."""
    return PRESENT ** sum(bool(attribute and attribute.optional) for attribute in map(entity.attribute, names))


def count_said(workload: Workload, entity: Entity, given: Iterable[str]) -> int | None:
    """The declared number of items that share their values of some attributes; None if there is none."""
    names = frozenset(given)
    if identified(entity, names):
        return 1
    limits = [limit for limit in entity.cardinality if _holding_names(workload, entity, limit.per, names)]
    counts = [limit.count for limit in limits if limit.count]
    return math.ceil(min(counts)) if counts else None


def _holding_names(workload: Workload, entity: Entity, per: str, names: frozenset[str]) -> frozenset[str] | None:
    """The attributes among `names` that hold the id of the entity which a cardinality counts for."""
    if per in names:
        return frozenset({per})
    parent = workload.entity(per)
    return foreign_key(workload, entity, parent, names) if parent else None


def _without_determined(
    workload: Workload, entity: Entity, parent: str, key: frozenset[str], names: frozenset[str]
) -> frozenset[str]:
    """The names without those determined by the parent: the tenant of a comment is the tenant of its ticket.

    An attribute is determined if it is part of the parent's whole id in this entity, or is declared to hold or repeat
    the parent's attribute. The same name and origin are not enough: the author of a comment is not the author of the
    post.
    """
    parent_entity = workload.entity(parent)
    if parent_entity is None:
        return names
    # The tenant of a comment follows from its ticket: it splits nothing further.
    whole_key = foreign_key(workload, entity, parent_entity) or frozenset()
    determined_names = whole_key if key <= whole_key else frozenset()
    for name in names:
        attribute = entity.attribute(name)
        if attribute and any(owner == parent for owner, _ in _sources(workload, entity, attribute)):
            determined_names |= {name}
    return names - determined_names


def _sources(workload: Workload, entity: Entity, attribute: Attribute) -> Iterator[tuple[str, str]]:
    """The attributes of other entities that an attribute refers to or repeats."""
    yield from chain(workload, entity, attribute)[1:]
    for reference in attribute.repeats:
        owner, _, name = reference.partition(".")
        yield owner, name


def _combinations(workload: Workload, entity: Entity, names: frozenset[str]) -> float:
    """The number of distinct combinations of values of some attributes.

    Attributes that form the id of another entity have as many as that entity has items.
    """
    combinations = 1.0
    while names:
        keys: dict[tuple[int, int, str], frozenset[str]] = {}
        for other in workload.entities:
            key = foreign_key(workload, entity, other, names) if other is not entity else None
            if key:
                keys[len(key), count_of(workload, other), other.name] = key
        if not keys:
            break
        # The longest id comes first: it determines the ids that are parts of it.
        (_, number, owner), key = max(keys.items(), key=lambda item: item[0])
        combinations *= min(count_of(workload, entity), number)
        names = _without_determined(workload, entity, owner, key, names - key)
    return combinations * reduce(mul, (values_of(workload, entity, name) for name in sorted(names)), 1.0)


@remembered
def values_of(workload: Workload, entity: Entity, name: str) -> float:
    """The number of distinct values of an attribute."""
    attribute = entity.attribute(name)
    total = float(count_of(workload, entity))
    if attribute is None:
        return 1.0
    if attribute.type.values:
        return float(len(attribute.type.values))
    if attribute.type.kind is Kind.BOOLEAN:
        return 2.0
    sources: list[tuple[Entity, str]] = []
    for owner, source_name in _sources(workload, entity, attribute):
        owning_entity = workload.entity(owner)
        if owning_entity:
            sources.append((owning_entity, source_name))
    if sources and sources[0][0] is not entity:
        return min([total, *(_values_within(workload, *source) for source in sources)])
    return _values_within(workload, entity, name)


def _values_within(workload: Workload, entity: Entity, name: str) -> float:
    """The number of distinct values of an attribute within its own entity."""
    attribute = entity.attribute(name)
    total = float(count_of(workload, entity))
    if attribute is None or attribute.references or attribute.unique or [part.name for part in entity.id] == [name]:
        return total
    estimates = _declared_counts(entity)
    counts_per_value = [estimate.count for estimate in estimates if estimate.per == name]
    has_total = "" in [estimate.per for estimate in estimates]
    if has_total and any(counts_per_value):
        return max(1.0, total / max(counts_per_value))  # `~500 per tenantId, 1M total`
    if attribute.id and attribute.generated:
        return total
    guess = min(total, _guessed_count(entity, attribute), _values_in_bounds(attribute))
    return max(guess, _values_in_id(workload, entity, name)) if attribute.id else guess


def _values_in_bounds(attribute: Attribute) -> float:
    """The number of integers within the bounds of an attribute."""
    lowest, highest = attribute.bounds
    if attribute.type.kind is not Kind.INTEGER or lowest is None or highest is None:
        return math.inf
    return max(1.0, float(highest - lowest + 1))


def _values_in_id(workload: Workload, entity: Entity, name: str) -> float:
    """The least number of values of a part of an id; 0 if the numbers of the other parts are unknown.

    A part of an id distinguishes at least the items that share the other parts: with 10,000 order lines of 1,000
    orders, a line number has at least 10 values.
    """
    total = float(count_of(workload, entity))
    combinations = 1.0
    for part in entity.id:
        if part.name == name:
            continue
        if not target(workload, part):
            return 0.0
        owners = [workload.entity(owner) for owner, _ in chain(workload, entity, part)[1:]]
        combinations *= min(count_of(workload, owner) for owner in owners if owner is not None)
    return total / min(total, combinations)


def _guessed_count(entity: Entity, attribute: Attribute) -> float:
    """The number of distinct values as the type and the name of an attribute suggest.

    A time or an e-mail address is of nearly one item. A `uuid` that refers to nothing is the id of something outside.
    """
    kind = attribute.type.kind
    if kind is Kind.DATETIME or (kind is Kind.STRING and is_nearly_unique(attribute.name)):
        return math.inf
    if kind is Kind.DATE:
        return retention_of(entity) / _DAY
    return float(ITEMS if kind in (Kind.UUID, Kind.ULID) else VALUES)


def is_nearly_unique(name: str) -> bool:
    """Whether hardly any two items share a value of this name.

    >>> [is_nearly_unique(name) for name in ("customerEmail", "phone_number", "emailStatus", "city")]
    [True, True, False, False]
    """
    return name.lower().replace("_", "").endswith(_NEARLY_UNIQUE)


def is_count_known(workload: Workload, entity: Entity, seen: frozenset[str] = frozenset()) -> bool:
    """Whether the number of items follows from figures of the document."""
    if entity.singleton or (created(workload, entity) and grows(entity)):
        return True
    owner_names = [cardinality.per for cardinality in _declared_counts(entity)]
    if "" in owner_names:
        return True
    others = [owner for owner in map(workload.entity, owner_names) if owner and owner.name not in seen]
    if not others:
        others = [other for other in counterparts(workload, entity) if other.name not in seen]
    return any(is_count_known(workload, other, seen | {entity.name}) for other in others)


def is_value_count_known(workload: Workload, entity: Entity, name: str, given: Iterable[str]) -> bool:
    """Whether the number of values of an attribute is known: an id, a reference or an enum, or counted for it."""
    attribute = entity.attribute(name)
    if attribute is None:
        return False
    names = frozenset(given)
    counted_names = [_holding_names(workload, entity, limit.per, names) or () for limit in entity.cardinality]
    is_counted = any(name in holding_names for holding_names in counted_names)
    is_finite = bool(attribute.type.values) or attribute.type.kind is Kind.BOOLEAN
    return is_counted or is_finite or attribute.id or attribute.unique or bool(attribute.references)


def kept_by(workload: Workload, clause: Clause) -> float:
    """The fraction of items that pass a filter."""
    condition = clause.input
    if condition.keeps is not None:
        return condition.keeps / 100
    for name, attribute in clause.bound.items():
        entity = workload.entity(name)
        if entity is None:
            continue
        match condition.op:
            case Op.EQ:
                return 1 / values_of(workload, entity, attribute.name)
            case Op.CONTAINS:  # a word is as rare as a value of a plain attribute
                return 1 / min(VALUES, values_of(workload, entity, attribute.name))
            case Op.IN:
                if condition.values:
                    return min(1.0, len(condition.values) / values_of(workload, entity, attribute.name))
            case Op.NE | Op.LT | Op.LE | Op.GT | Op.GE | Op.BETWEEN | Op.BEGINS_WITH | Op.EXISTS | Op.NOT_EXISTS:
                pass
            case _:
                assert_never(condition.op)
    return KEPT


def share_meeting(
    workload: Workload, entity: Entity, name: str, values: Iterable[object] | None = None, absent: bool = False
) -> float:
    """The fraction of an entity's items that have an attribute, have one of some values in it, or lack it."""
    share = stated_share(workload, entity, name, None if values is None else frozenset(values), absent)
    if share is not None:
        return share
    if values:
        return min(1.0, len(frozenset(values)) / values_of(workload, entity, name))
    attribute = entity.attribute(name)
    present = PRESENT if attribute and attribute.optional else 1.0
    return 1.0 - present if absent else present


def stated_share(
    workload: Workload, entity: Entity, name: str, values: frozenset[object] | None, absent: bool
) -> float | None:
    """The same, if reads state it: `heldSince exists (keeps 0.1%)`, `status = OPEN (keeps 2%)`.

    Of different statements the largest share holds, because an index with more items costs more.
    """
    shares = _stated_shares(workload, entity, name)
    if not values:
        op, opposite = (Op.NOT_EXISTS, Op.EXISTS) if absent else (Op.EXISTS, Op.NOT_EXISTS)
        if (op, frozenset()) in shares:
            return shares[op, frozenset()]
        opposite_share = shares.get((opposite, frozenset()))
        return None if opposite_share is None else 1.0 - opposite_share
    # `status = OPEN or DONE` may be stated as a whole, or as the sum of both.
    texts = frozenset(constant_text(value) for value in values)
    if (Op.IN, texts) in shares:
        return shares[Op.IN, texts]
    single_shares = [shares.get((Op.IN, frozenset((text,)))) for text in texts]
    return None if None in single_shares else min(1.0, sum(share or 0.0 for share in single_shares))


@remembered
def _stated_shares(workload: Workload, entity: Entity, name: str) -> dict[tuple[Op, frozenset[str]], float]:
    """The shares of conditions on an attribute that reads of the entity state, by the operator and its constants."""
    shares: dict[tuple[Op, frozenset[str]], float] = {}
    attribute = entity.attribute(name)
    for read in workload.reads if attribute else ():
        for clause in resolve_read(workload, read).clauses:
            condition = clause.input
            constants = [value.const for value in condition.values]
            has_values = condition.op in (Op.EQ, Op.IN) and bool(constants) and None not in constants
            if condition.keeps is None or not (has_values or condition.op in (Op.EXISTS, Op.NOT_EXISTS)):
                continue
            if clause.bound.get(entity.name) is attribute:
                texts = frozenset(_normal_text(text, attribute) for text in constants if text is not None)
                key = (Op.IN if has_values else condition.op, texts)
                shares[key] = max(condition.keeps / 100, shares.get(key, 0.0))
    return shares


def _normal_text(text: str, attribute: Attribute | None) -> str:
    """A constant as the text of its value, so that `007` and `7` are one number."""
    return constant_text(constant_or_text(text, attribute.type)) if attribute else text


def kept_by_all(resolved_read: ResolvedRead, clauses: Collection[Clause]) -> float:
    """The fraction of items that pass several filters; of alternatives, one is enough."""
    share = 1.0
    for group in resolved_read.groups:
        shares = [kept_by(resolved_read.workload, clause) for clause in group if clause in clauses]
        if len(shares) == 1:
            share *= shares[0]
        elif shares:
            share *= 1 - math.prod(1 - part for part in shares)
    return share


def share_within(workload: Workload, entity: Entity, condition: Input) -> float:
    """The fraction of an entity's items in a range. For the time up to now it is what was created in that time."""
    if condition.keeps is not None:
        return condition.keeps / 100
    seconds = span(condition)
    if seconds is None:
        return RANGE
    created_per_second = created(workload, entity)
    # As if items had been created evenly up to now.
    return min(1.0, created_per_second * seconds / count_of(workload, entity)) if created_per_second else RANGE


def span(condition: Input) -> int | None:
    """The seconds of a time range with known bounds, such as the last seven days."""
    times = [value.now for value in condition.values if value.now is not None]
    if len(times) != len(condition.values) or not times:
        return None
    if condition.op is Op.BETWEEN:
        return abs(times[1] - times[0])
    return -times[0] if condition.op in {Op.GT, Op.GE} and times[0] < 0 else None


# --- Telling --------------------------------------------------------------------------------------------------------


class Assumption(Model, frozen=True):
    """An assumed value that the document does not give."""

    about: str
    """The entity or the pattern."""
    what: str
    value: str
    why: str
    """The figures that depend on it."""

    def __str__(self) -> str:
        return f"{self.about}: {self.what} is assumed to be {self.value}; {self.why}"


_MONEY = "prices and hot partitions depend on it"
_BYTES = "units and storage depend on it"
_MANY = "storage and the results of reads depend on it"
_ASKED = "the units of this read depend on it"


def assumptions(workload: Workload) -> tuple[Assumption, ...]:
    """All assumptions for a workload, entities first, in document order."""
    all_assumptions: list[Assumption] = []
    for entity in workload.entities:
        all_assumptions += _entity_assumptions(workload, entity)
    for pattern in workload.patterns:
        all_assumptions += _pattern_assumptions(workload, pattern)
    return tuple(all_assumptions)


def _entity_assumptions(workload: Workload, entity: Entity) -> Iterator[Assumption]:
    if entity.size is None:
        yield Assumption(entity.name, "the size of an item", f"{size_of(entity)} B", _BYTES)
    for attribute in contents_of(entity):
        if attribute.size is None:
            yield Assumption(f"{entity.name}.{attribute.name}", "the size of a content", f"{CONTENT_SIZE:,} B", _BYTES)
    is_derived = entity.singleton or (grows(entity) and created(workload, entity))
    if not is_derived and not _is_count_stated(workload, entity):
        yield Assumption(entity.name, "the number of items", f"{count_of(workload, entity):,}", _MANY)
    is_counted_by_time = not counterparts(workload, entity) and _count_by_growth(workload, entity)
    if entity.retention is None and (is_counted_by_time or _keeps_by_time(workload, entity)):
        lifetime = f"{retention_of(entity) // _DAY} days"
        subject = "the number of items" if is_counted_by_time else "the number of items that are kept beside it"
        yield Assumption(entity.name, "the time that an item is kept", lifetime, f"{subject} depends on it")


def _is_count_stated(workload: Workload, entity: Entity) -> bool:
    """Whether a cardinality gives the number of items. Nobody knows how many values `~25K per warehouseId` has."""
    owner_names = [limit.per for limit in entity.cardinality if limit.count is not None]
    return any(not name or workload.entity(name) for name in owner_names)


def _keeps_by_time(workload: Workload, entity: Entity) -> bool:
    """Whether a construct of an entity has more items if an item is kept longer, such as a history without a limit."""
    usage = usage_of(workload, entity)
    longer = with_other(usage, retention=usage.retention * 2)
    return any(construct.stored_count(usage) != construct.stored_count(longer) for construct in constructs_of(entity))


def _pattern_assumptions(workload: Workload, pattern: Pattern) -> Iterator[Assumption]:
    rate = pattern.rate
    if rate is None or rate.value is None:
        subject = "the rate" if rate is None or rate.level is None else f"the rate {rate.level}"
        yield Assumption(pattern.id, subject, f"{per_second(rate):g} a second", _MONEY)
    if isinstance(pattern, Read):
        yield from _read_assumptions(workload, pattern)
        return
    for action in pattern.actions:
        entity = workload.entity(action.entity)
        if action.many and entity and several(workload, pattern, entity) is None:
            reason = "the units of this write depend on it"
            yield Assumption(pattern.id, f"the number of {entity.name} items", str(SEVERAL), reason)


def _read_assumptions(workload: Workload, read: Read) -> Iterator[Assumption]:
    resolved_read = resolve_read(workload, read)
    # A page ends the read, however many items there are.
    has_page = bool(read.limit or read.page)
    for clause in resolved_read.clauses:
        condition = clause.input
        if condition.many and not read.limit:
            yield Assumption(read.id, f"the number of values in {condition.attribute}[]", str(LISTED), _ASKED)
        is_unknown_range = condition.op in RANGES and span(condition) is None and condition.keeps is None
        if is_unknown_range and not condition.filter and not has_page:
            yield Assumption(read.id, f"the part of the items within {condition.attribute}", f"{RANGE:.0%}", _ASKED)
    if resolved_read.entities and read.result is not Result.ONE and not has_page:
        yield from _guessed_values(resolved_read)
        yield from _guessed_shares(resolved_read)


def _guessed_values(resolved_read: ResolvedRead) -> Iterator[Assumption]:
    """Attributes with an equality input whose number of distinct values is a guess."""
    workload, entity = resolved_read.workload, resolved_read.entities[0]
    equalities = [clause.input for clause in resolved_read.clauses if clause.is_value]
    given_names = [condition.attribute for condition in equalities if not condition.many]
    if identified(entity, given_names):
        return
    for name in given_names:
        if entity.attribute(name) and not is_value_count_known(workload, entity, name, given_names):
            values = math.ceil(values_of(workload, entity, name))
            yield Assumption(resolved_read.read.id, f"the number of different values of {name}", f"{values:,}", _ASKED)


def _guessed_shares(resolved_read: ResolvedRead) -> Iterator[Assumption]:
    """Constants of a read, whose part of all items is a guess: each value is taken to be as frequent."""
    for clause in resolved_read.clauses:
        condition = clause.input
        if condition.keeps is not None or condition.filter:
            continue
        is_constant = condition.op in (Op.EQ, Op.IN) and condition.values
        if is_constant or condition.op in (Op.EXISTS, Op.NOT_EXISTS):
            subject = f"the part of the items with {write_inputs((condition,))}"
            yield Assumption(resolved_read.read.id, subject, f"{kept_by(resolved_read.workload, clause):.0%}", _ASKED)


def several(workload: Workload, write: Write, entity: Entity) -> int | None:
    """The number of items that one call of a write means by `[]`; None if nothing gives it.

    It is the number that belongs to another item of the write or to its inputs; else that of the other `[]` items.
    """
    counts: dict[str, int] = {}
    for action in write.actions:
        many_entity = workload.entity(action.entity) if action.many else None
        count = _declared_number(workload, write, many_entity) if many_entity else None
        if count:
            counts[action.entity] = count
    return counts.get(entity.name) or max(counts.values(), default=None)


def _declared_number(workload: Workload, write: Write, entity: Entity) -> int | None:
    entity_names = {*write.entities, *(action.entity for action in write.actions)} - {entity.name}
    input_names = frozenset(input_.attribute for input_ in write.inputs if not input_.many)
    counts: list[int] = []
    for limit in entity.cardinality:
        if limit.count is not None:
            is_for_write = limit.per in entity_names or _holding_names(workload, entity, limit.per, input_names)
            counts += [math.ceil(limit.count)] if is_for_write else []
    return min(counts, default=None)
