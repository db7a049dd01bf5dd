"""Rates, sizes and counts, from the document or assumed. All assumptions are here, so that they can be reported."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import mul
from typing import assert_never

from prejoin.types import Kind
from prejoin.workload.contents import contents_of
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.lookup import alternatives, bindings, chain, foreign_key, identified, target
from prejoin.workload.memo import remembered
from prejoin.workload.model import (
    RANGES,
    Attribute,
    Entity,
    History,
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

HOT, WARM, COLD = 200.0, 10.0, 0.1
"""Calls a second for each level."""
RATE = 1.0
"""Calls a second if the document gives no rate."""
ITEMS = 10_000
"""Items of an entity whose number follows neither from the document nor from a relation."""
RETENTION = 31_536_000
"""Seconds that an item is kept if nothing removes it: a year from now."""
EXPIRY = 2_592_000
"""Seconds until an item with a `ttl` expires: 30 days."""
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
GUARD = 200
"""Bytes of a guard: its key and its owner."""
COUNTER = 150
"""Bytes of a shard of a counter: its key and the numbers."""
CONTENT = 1024 * 1024
"""Bytes of a content beside an item."""
GARBAGE = 2_592_000
"""Seconds between two runs of `remove_garbage`: 30 days, as the guide says."""
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
    here = count_by(workload, entity, {rate.hottest_of, *names})
    return share * here / count_by(workload, entity, [rate.hottest_of])


# --- Sizes ----------------------------------------------------------------------------------------------------------


def size_of(entity: Entity) -> int:
    """Bytes of a typical item, with its keys."""
    size = _declared_size(entity)
    return size if size is not None else _summed_size(entity)


def _declared_size(entity: Entity) -> int | None:
    """The declared size of an item, without the contents that are beside it."""
    beside = sum(a.size or 0 for a in contents_of(entity))
    if not beside or entity.size is None or entity.size < beside:
        return entity.size
    return max(entity.size - beside, _summed_size(entity))


def _summed_size(entity: Entity) -> int:
    return KEY_SIZE + sum(len(a.name) + _value_size(a) for a in entity.attributes)


def value_sizes(entity: Entity) -> Mapping[str, int]:
    """Bytes of a typical value of each attribute, without its name.

    If the item's size is declared, values of flexible size fill it.

    >>> one = Entity("Note", attributes=(Attribute("id", id=True), Attribute("text")), size=5_000)
    >>> dict(value_sizes(one))
    {'id': 20, 'text': 4874}
    """
    sizes = {a.name: _value_size(a) for a in entity.attributes}
    flexible = [
        a.name
        for a in entity.attributes
        if a.size is None and a.type.kind in _FLEXIBLE and not (a.id or a.references or a.unique)
    ]
    declared = _declared_size(entity)
    if declared is None or not flexible:
        return sizes
    rest = declared - KEY_SIZE - sum(len(a.name) for a in entity.attributes)
    rest -= sum(size for name, size in sizes.items() if name not in flexible)
    weight = sum(sizes[name] for name in flexible)
    for name in flexible:
        sizes[name] = max(1, rest * sizes[name] // weight)
    return sizes


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
    known = attribute.type.kind in _FIXED_SIZE or (attribute.type.kind is Kind.ENUM and attribute.type.values)
    return attribute.size is None and not known


# --- Numbers --------------------------------------------------------------------------------------------------------


@remembered
def count_of(workload: Workload, entity: Entity, seen: frozenset[str] = frozenset()) -> int:
    """The number of items of an entity.

    If the document gives none, an entity in a 1:1 relation has as many as the other one. What is unbounded, or kept for
    a stated time, grows with its writes for that time. Others have at least as many as the entities they belong to.
    """
    if entity.singleton:
        return 1
    counts: list[int] = []
    guesses: list[int] = []
    for cardinality in _estimates(entity):
        if not cardinality.per:
            return max(1, round(cardinality.count))
        parent = workload.entity(cardinality.per)
        known = parent if parent and parent.name not in seen else None
        above = count_of(workload, known, seen | {entity.name}) if known else ITEMS
        (counts if known else guesses).append(max(1, round(cardinality.count * above)))
    counts = counts or guesses  # nobody knows how many values an attribute has
    related = counterparts(workload, entity) if not counts else []
    if not counts and not related and (grown := _grown(workload, entity)):
        return grown
    if not counts:
        counts = [count_of(workload, e, seen | {entity.name}) for e in related if e.name not in seen]
    if counts:
        return max(counts)
    holders = [e for e in parents(workload, entity) if e.name not in seen]
    return max([ITEMS, *(count_of(workload, e, seen | {entity.name}) for e in holders)])


def retention_of(entity: Entity) -> int:
    """Seconds that an item is kept: as declared, or assumed."""
    if entity.retention is not None:
        return entity.retention
    return EXPIRY if any(a.ttl for a in entity.attributes) else RETENTION


def grows(entity: Entity) -> bool:
    """Whether the number of items follows from the write rate: unbounded, or kept for a stated time."""
    return any(c.count is None for c in entity.cardinality) or (not entity.cardinality and entity.retention is not None)


def _grown(workload: Workload, entity: Entity) -> int:
    """The items that are created within the retention; 0 if that does not say how many there are."""
    return round(created(workload, entity) * retention_of(entity)) if grows(entity) else 0


def created(workload: Workload, entity: Entity) -> float:
    """The items of an entity that are created in a second."""
    return _written(workload, entity, Verb.CREATE, Verb.PUT)


def surely_created(workload: Workload, entity: Entity) -> float:
    """The items of an entity that are created in a second, as far as the document gives figures, and not levels."""
    return sum(
        per_second(write.rate) * ((several(workload, write, entity) or 1) if action.many else 1)
        for write in workload.writes
        for action in write.actions
        if action.entity == entity.name and action.verb is Verb.CREATE and write.rate and write.rate.value is not None
    )


def _written(workload: Workload, entity: Entity, *verbs: Verb) -> float:
    """The items of an entity that some actions are done to in a second."""
    return sum(
        per_second(write.rate) * ((several(workload, write, entity) or SEVERAL) if action.many else 1)
        for write in (*workload.writes, *workload.deletes)
        for action in write.actions
        if action.entity == entity.name and action.verb in verbs
    )


def versions_of(workload: Workload, entity: Entity, history: History) -> float:
    """The earlier versions of all items of an entity that are kept at a time."""
    replaced = _written(workload, entity, Verb.UPDATE, Verb.DELETE)
    found = replaced * (retention_of(entity) if history.seconds is None else history.seconds)
    return found if history.versions is None else min(found, float(count_of(workload, entity) * history.versions))


def parents(workload: Workload, entity: Entity) -> list[Entity]:
    """The entities that an item always belongs to: it has their whole id, and none of it is optional."""
    optional = {a.name for a in entity.attributes if a.optional}
    return [
        e
        for e in workload.entities
        if e is not entity and (key := foreign_key(workload, entity, e)) and optional.isdisjoint(key)
    ]


def counterparts(workload: Workload, entity: Entity) -> list[Entity]:
    """The entities that have exactly one item of this entity: by a 1:1 relation, or because its whole id is their
    id.
    """
    ids = frozenset(a.name for a in entity.id)
    related = {
        name
        for e in workload.entities
        for r in e.relationships
        if r.kind is RelationshipKind.ONE_TO_ONE and entity.name in (r.left, r.right)
        for name in (r.left, r.right)
    }
    return [
        e for e in workload.entities if e is not entity and (e.name in related or _one_each(workload, entity, e, ids))
    ]


def _one_each(workload: Workload, entity: Entity, other: Entity, ids: frozenset[str]) -> bool:
    """Whether the attributes that hold the other's id are the whole id, or unique."""
    held = foreign_key(workload, entity, other)
    if not held:
        return False
    single = entity.attribute(next(iter(held))) if len(held) == 1 else None
    return held == ids or held in map(frozenset, entity.unique) or bool(single and single.unique)


class _Estimate(Model, frozen=True):
    count: int | float
    per: str


def _estimates(entity: Entity) -> list[_Estimate]:
    """The declared counts. An upper limit counts only if there is no estimate."""
    said = [c for c in entity.cardinality if c.count is not None]
    usual = [c for c in said if not c.at_most]
    return [_Estimate(c.count, c.per) for c in usual or said if c.count is not None]


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
    total, combined = float(count_of(workload, entity)), _combinations(workload, entity, names)
    said = [
        # Attributes beside the parent's id split its items further.
        cardinality.count * _combinations(workload, entity, whose) / combined * _present(entity, names - whose)
        for cardinality in _estimates(entity)
        if (whose := _counted_for(workload, entity, cardinality.per, names)) and cardinality.count < total
    ]
    return max(1.0, min(said, default=total / combined * _present(entity, names)))


def _present(entity: Entity, names: Iterable[str]) -> float:
    """The fraction of items that have all of some attributes."""
    return PRESENT ** sum(bool(a and a.optional) for a in map(entity.attribute, names))


def count_said(workload: Workload, entity: Entity, given: Iterable[str]) -> int | None:
    """The declared number of items that share their values of some attributes; None if there is none."""
    names = frozenset(given)
    if identified(entity, names):
        return 1
    counts = [c.count for c in entity.cardinality if c.count and _counted_for(workload, entity, c.per, names)]
    return math.ceil(min(counts)) if counts else None


def _counted_for(workload: Workload, entity: Entity, per: str, names: frozenset[str]) -> frozenset[str] | None:
    """The attributes among `names` that hold the id of the entity which a cardinality counts for."""
    if per in names:
        return frozenset({per})
    parent = workload.entity(per)
    return foreign_key(workload, entity, parent, names) if parent else None


def _undetermined(
    workload: Workload, entity: Entity, parent: str, key: frozenset[str], names: frozenset[str]
) -> frozenset[str]:
    """The names without those determined by the parent: the tenant of a comment is the tenant of its ticket.

    An attribute is determined if it is part of the parent's whole id in this entity, or is declared to hold or repeat
    the parent's attribute. The same name and origin are not enough: the author of a comment is not the author of the
    post.
    """
    above = workload.entity(parent)
    if above is None:
        return names
    whole = foreign_key(workload, entity, above) or frozenset()
    determined = whole if key <= whole else frozenset()
    for name in names:
        attribute = entity.attribute(name)
        if attribute and any(owner == parent for owner, _ in _sources(workload, entity, attribute)):
            determined |= {name}
    return names - determined


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
    found = 1.0
    while names:
        keys = [
            (len(key), count_of(workload, e), e.name, key)
            for e in workload.entities
            if e is not entity and (key := foreign_key(workload, entity, e, names))
        ]
        if not keys:
            break
        _, number, owner, key = max(keys, key=lambda one: one[:3])
        found *= min(count_of(workload, entity), number)
        names = _undetermined(workload, entity, owner, key, names - key)
    return found * reduce(mul, (values_of(workload, entity, name) for name in sorted(names)), 1.0)


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
    sources = [(e, name) for owner, name in _sources(workload, entity, attribute) if (e := workload.entity(owner))]
    if sources and sources[0][0] is not entity:
        return min([total, *(_values_within(workload, *one) for one in sources)])
    return _values_within(workload, entity, name)


def _values_within(workload: Workload, entity: Entity, name: str) -> float:
    """The number of distinct values of an attribute within its own entity."""
    attribute = entity.attribute(name)
    total = float(count_of(workload, entity))
    if attribute is None or attribute.references or attribute.unique or [a.name for a in entity.id] == [name]:
        return total
    each = [one.count for one in _estimates(entity) if one.per == name and one.count]
    if each and any(not one.per for one in _estimates(entity)):
        return max(1.0, total / max(each))  # `~500 per tenantId, 1M total`
    least, most = attribute.bounds
    guess = min(total, _guessed_count(entity, attribute))
    if attribute.type.kind is Kind.INTEGER and least is not None and most is not None:
        guess = min(guess, max(1.0, float(most - least + 1)))
    if not attribute.id:
        return guess
    if attribute.generated:
        return total
    # A part of an id distinguishes at least the items that share the other parts.
    parents = [
        min(count_of(workload, e) for owner, _ in chain(workload, entity, a)[1:] if (e := workload.entity(owner)))
        for a in entity.id
        if a.name != name and target(workload, a)
    ]
    return max(guess, total / min(total, reduce(mul, parents, 1.0))) if len(parents) == len(entity.id) - 1 else guess


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
    known = []
    for cardinality in _estimates(entity):
        if not cardinality.per:
            return True
        parent = workload.entity(cardinality.per)
        if parent and parent.name not in seen:
            known.append(is_count_known(workload, parent, seen | {entity.name}))
    others = [e for e in counterparts(workload, entity) if e.name not in seen] if not known else []
    return any(known) or any(is_count_known(workload, e, seen | {entity.name}) for e in others)


def is_value_count_known(workload: Workload, entity: Entity, name: str, given: Iterable[str]) -> bool:
    """Whether the number of values of an attribute is known: an id, a reference or an enum, or counted for it."""
    attribute = entity.attribute(name)
    if attribute is None:
        return False
    counted = any(name in (_counted_for(workload, entity, c.per, frozenset(given)) or ()) for c in entity.cardinality)
    finite = bool(attribute.type.values) or attribute.type.kind is Kind.BOOLEAN
    return counted or finite or attribute.id or attribute.unique or bool(attribute.references)


def kept_by(workload: Workload, read: Read, one: Input) -> float:
    """The fraction of items that pass a filter."""
    if one.keeps is not None:
        return one.keeps / 100
    for name in read.entities:
        entity = workload.entity(name)
        attribute = bindings(workload, read.entities, one.attribute).get(name)
        if entity is None or not attribute:
            continue
        match one.op:
            case Op.EQ:
                return 1 / values_of(workload, entity, attribute)
            case Op.CONTAINS:  # a word is as rare as a value of a plain attribute
                return 1 / min(VALUES, values_of(workload, entity, attribute))
            case Op.IN:
                if one.values:
                    return min(1.0, len(one.values) / values_of(workload, entity, attribute))
            case Op.NE | Op.LT | Op.LE | Op.GT | Op.GE | Op.BETWEEN | Op.BEGINS_WITH | Op.EXISTS | Op.NOT_EXISTS:
                pass
            case _:
                assert_never(one.op)
    return KEPT


def kept_by_all(workload: Workload, read: Read, inputs: Iterable[Input]) -> float:
    """The fraction of items that pass several filters; of alternatives, one is enough."""
    found = 1.0
    for group in alternatives(inputs):
        kept = [kept_by(workload, read, one) for one in group]
        found *= kept[0] if len(kept) == 1 else 1 - math.prod(1 - one for one in kept)
    return found


def share_within(workload: Workload, entity: Entity, one: Input) -> float:
    """The fraction of an entity's items in a range. For the time up to now it is what was created in that time."""
    if one.keeps is not None:
        return one.keeps / 100
    seconds = span(one)
    if seconds is None:
        return RANGE
    made = created(workload, entity)
    return min(1.0, made * seconds / count_of(workload, entity)) if made else RANGE


def span(one: Input) -> int | None:
    """The seconds of a time range with known bounds, such as the last seven days."""
    times = [v.now for v in one.values if v.now is not None]
    if len(times) != len(one.values) or not times:
        return None
    if one.op is Op.BETWEEN:
        return abs(times[1] - times[0])
    return -times[0] if one.op in {Op.GT, Op.GE} and times[0] < 0 else None


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
    found: list[Assumption] = []
    for entity in workload.entities:
        found += _of_entity(workload, entity)
    for pattern in workload.patterns:
        found += _of_pattern(workload, pattern)
    return tuple(found)


def _of_entity(workload: Workload, entity: Entity) -> Iterator[Assumption]:
    if entity.size is None:
        yield Assumption(entity.name, "the size of an item", f"{size_of(entity)} B", _BYTES)
    for attribute in contents_of(entity):
        if attribute.size is None:
            yield Assumption(f"{entity.name}.{attribute.name}", "the size of a content", f"{CONTENT:,} B", _BYTES)
    counted = entity.singleton or (grows(entity) and created(workload, entity))
    # Nobody knows how many values an attribute has: `~25K per warehouseId`.
    said = any(c.count is not None and (not c.per or workload.entity(c.per)) for c in entity.cardinality)
    if not counted and not said:
        yield Assumption(entity.name, "the number of items", f"{count_of(workload, entity):,}", _MANY)
    if entity.retention is None and not counterparts(workload, entity) and _grown(workload, entity):
        kept = f"{retention_of(entity) // _DAY} days"
        yield Assumption(entity.name, "the time that an item is kept", kept, "the number of items depends on it")


def _of_pattern(workload: Workload, pattern: Pattern) -> Iterator[Assumption]:
    rate = pattern.rate
    if rate is None or rate.value is None:
        what = "the rate" if rate is None or rate.level is None else f"the rate {rate.level}"
        yield Assumption(pattern.id, what, f"{per_second(rate):g} a second", _MONEY)
    if not isinstance(pattern, Read):
        for action in pattern.actions:
            entity = workload.entity(action.entity)
            if action.many and entity and several(workload, pattern, entity) is None:
                why = "the units of this write depend on it"
                yield Assumption(pattern.id, f"the number of {entity.name} items", str(SEVERAL), why)
        return
    for one in pattern.inputs:
        if one.many and not pattern.limit:
            yield Assumption(pattern.id, f"the number of values in {one.attribute}[]", str(LISTED), _ASKED)
        if (
            one.op in RANGES
            and not one.filter
            and not pattern.limit
            and not pattern.page
            and span(one) is None
            and one.keeps is None
        ):
            yield Assumption(pattern.id, f"the part of the items within {one.attribute}", f"{RANGE:.0%}", _ASKED)
    yield from _guessed_values(workload, pattern)
    yield from _guessed_shares(workload, pattern)


def _guessed_values(workload: Workload, read: Read) -> Iterator[Assumption]:
    """Attributes with an equality input whose number of distinct values is a guess."""
    entity = workload.entity(read.entities[0]) if read.entities else None
    if entity is None or read.result is Result.ONE or read.limit or read.page:
        return
    given = [i.attribute for i in read.inputs if i.op is Op.EQ and not i.filter and not i.many]
    if identified(entity, given):
        return
    for name in given:
        if entity.attribute(name) and not is_value_count_known(workload, entity, name, given):
            values = math.ceil(values_of(workload, entity, name))
            yield Assumption(read.id, f"the number of different values of {name}", f"{values:,}", _ASKED)


def _guessed_shares(workload: Workload, read: Read) -> Iterator[Assumption]:
    """Constants of a read, whose part of all items is a guess: each value is taken to be as frequent."""
    if read.result is Result.ONE or read.limit or read.page:
        return
    for one in read.inputs:
        constant = one.op in (Op.EQ, Op.IN) and one.values
        if one.keeps is None and not one.filter and (constant or one.op in (Op.EXISTS, Op.NOT_EXISTS)):
            what = f"the part of the items with {write_inputs((one,))}"
            yield Assumption(read.id, what, f"{kept_by(workload, read, one):.0%}", _ASKED)


def several(workload: Workload, write: Write, entity: Entity) -> int | None:
    """The number of items that one call of a write means by `[]`; None if nothing gives it.

    It is the number that belongs to another item of the write or to its inputs; else that of the other `[]` items.
    """
    told = {
        action.entity: count
        for action in write.actions
        if action.many and (one := workload.entity(action.entity)) and (count := _belonging(workload, write, one))
    }
    return told.get(entity.name) or max(told.values(), default=None)


def _belonging(workload: Workload, write: Write, entity: Entity) -> int | None:
    touched = {*write.entities, *(action.entity for action in write.actions)} - {entity.name}
    given = frozenset(i.attribute for i in write.inputs if not i.many)
    counts = [
        math.ceil(c.count)
        for c in entity.cardinality
        if c.count is not None and (c.per in touched or _counted_for(workload, entity, c.per, given))
    ]
    return min(counts, default=None)
