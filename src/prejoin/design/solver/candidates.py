"""Candidate keys: for each entity, every key worth considering, in the table and in an index.

Candidates follow from the access patterns, as in NoSE (Mior, Salem, Aboulnaga and Liu, "NoSE: Schema Design for NoSQL
Applications", ICDE 2016), which enumerates column families from the queries of a workload. A read gives values for some
attributes, may ask for a range of one more, and may want an order. It is served by every key whose partition is a
subset of the given attributes, whose sort key continues with the rest of them in any order, then with the range and the
order, and ends with whatever makes the key unique. `index_candidates` enumerates these keys for each read.
`base_candidates` enumerates keys for the table itself: they consist of the id and, where no two items can share an id,
of attributes that never change; or of a unique value that never changes, instead of the id.

A partition should be one of many: a candidate is kept only if, for some read that it serves, the read gives nothing
that identifies better (`identifies`). So an enum or a boolean is a partition only where nothing better is given.

Three limits keep the number small. Beyond `MOST_PERMUTED` given attributes only one order is tried. So it is beyond
`MOST_FREE` attributes in a sort key of the table that no read asks for. A table key holds at most three attributes
beside the id. These limits are why a solution claims to be the best combination of the candidates, not the best of all
designs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations, product

import msgspec

from prejoin.design.cost.assumptions import count_of, per_second, size_of, values_of
from prejoin.design.mapping.map_reads import followed
from prejoin.design.solver.needs import Membership, Need, SortAttribute
from prejoin.types import Kind
from prejoin.workload.lookup import changes, root, target
from prejoin.workload.model import Combine, Consistency, Entity, Verb, Workload
from prejoin.workload.tenants import common_tenant, is_owned, own_id

MOST_PERMUTED = 4
"""With more equality inputs than this, only one order is tried: the number of permutations explodes."""
MOST_FREE = 3
"""The most attributes of a table's sort key that are tried in every order."""
_TURNING = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.DATETIME})
"""Types that a key can hold in descending order."""
MOST_FURTHER = 5
"""Attributes considered for a table key beside the id; at most three are used together."""
MOST_BYTES = 10_000_000
"""The largest size of an entity whose items may all be in one partition of the table."""
MOST_CALLS = 100
"""The highest rate of calls a second for such an entity. A partition takes 1,000 writes and 3,000 reads of small
items.
"""
FEW_VALUES = 10
"""With so few different values an attribute is no better a partition than an enum."""
_UNIQUE = frozenset({Kind.UUID, Kind.ULID})
MOST_SORTED = 20
"""The highest number of attributes in a sort key."""


class Candidate(msgspec.Struct, frozen=True, order=True):
    """A key for an entity: partition attributes, then sort attributes. It has no slot and no literal words yet."""

    entity: str
    pk: tuple[str, ...]
    sk: tuple[SortAttribute, ...] = ()
    when: tuple[tuple[str, str], ...] = ()
    """Constants that an item must have to be in this key: the key is sparse."""
    type_position: int = 0
    """The number of sort attributes before the word that names the type."""
    fixed: bool = False
    """The key exists already. The planner decides which reads it serves."""
    only: tuple[Membership, ...] = ()
    """Further conditions for an item to be in this key."""
    whole: bool = False
    """Whether a partition is not split into shards, although it is hot: a read finds several entities in it."""

    @property
    def sparse(self) -> bool:
        """Whether only some items are in this key."""
        return bool(self.when or self.only)

    @property
    def deciding(self) -> frozenset[str]:
        """The attributes that decide whether an item is in this key."""
        return frozenset((*(name for name, _ in self.when), *(one.attribute for one in self.only)))

    @property
    def attributes(self) -> tuple[str, ...]:
        return (*self.pk, *(one.attribute for one in self.sk))

    def __str__(self) -> str:
        sk = ", ".join(("-" if one.descending else "") + one.attribute for one in self.sk)
        when = "".join(f" when {a} = {v}" for a, v in self.when)
        when += "".join(f" when {one}" for one in self.only)
        late = f" type after {self.type_position}" if self.type_position else ""
        whole = " whole" if self.whole else ""
        return f"{self.entity}({', '.join(self.pk) or '*'} / {sk}{when}{late}{whole})"


def serves(candidate: Candidate, need: Need, pk: frozenset[str] | None = None) -> bool:
    """Whether a candidate serves a need, by the same rules as the planner.

    For a need that several entities share, the partition must consist of exactly `pk`, and the remaining given
    attributes come before the type.
    """
    constants = dict(need.constants)
    if any(constants.get(attribute) != value for attribute, value in candidate.when):
        return False
    if not set(candidate.only) <= set(need.only):
        return False
    given = need.given - {attribute for attribute, _ in candidate.when}
    known = given | need.left
    if not set(candidate.pk) <= known or (not candidate.pk and known and not candidate.sparse):
        return False
    if pk is not None and set(candidate.pk) != pk:
        return False
    rest = given - set(candidate.pk)
    # An attribute that may be left to a filter can still come first in the sort key.
    for one in candidate.sk[len(rest) :] if need.left else ():
        if one.attribute not in need.left:
            break
        rest |= {one.attribute}
    if {one.attribute for one in candidate.sk[: len(rest)]} != rest:
        return False
    # Leaving everything to a filter would read all items of a tenant.
    if need.tenant and need.left and need.given <= need.tenant and need.left.isdisjoint({*candidate.pk, *rest}):
        return False
    return candidate.type_position in _types(need, len(rest)) and _runs(candidate.sk[len(rest) :], need.tail)


def _types(need: Need, known: int) -> range:
    """The positions in the sort key where the type may stand, if `known` attributes precede it."""
    if need.interleaved:
        return range(known + len(need.tail), known + len(need.tail) + 1)
    if need.shared and known:
        return range(known, known + 1)
    # A read of the whole partition finds every type, wherever the type stands.
    return range(MOST_SORTED if need.shared else known + 1)


def _runs(keys: Sequence[SortAttribute], wanted: Sequence[SortAttribute]) -> bool:
    """Whether the keys have the wanted order, forwards or backwards."""
    if len(keys) < len(wanted) or any(k.attribute != w.attribute for k, w in zip(keys, wanted, strict=False)):
        return False
    turned = {k.descending != w.descending for k, w in zip(keys, wanted, strict=False)}
    return len(turned) <= 1


def index_candidates(workload: Workload, entity: Entity, needs: Iterable[Need]) -> list[Candidate]:
    """Keys that serve at least one need, with a partition that is the best for one of the needs it serves."""
    needs = list(needs)
    found = {candidate for need in needs for candidate in _for_need(entity, need)}
    return sorted(one for one in _within_tenant(workload, entity, found) if _is_best(workload, entity, one, needs))


def identifies(workload: Workload, entity: Entity, name: str) -> int:
    """How well an attribute tells items apart: 2 for an id or a reference, 0 for an enum or a boolean, 1 for the rest.

    A part of an id that is not generated, such as the name of a repository of an owner, is like any other attribute.
    """
    attribute = entity.attribute(name)
    if attribute is None or attribute.type.values or attribute.type.kind is Kind.BOOLEAN:
        return 0
    alone = [a.name for a in entity.id] == [name]
    if alone or attribute.references or attribute.unique or attribute.type.kind in _UNIQUE:
        return 2
    if attribute.id and attribute.generated:
        return 2
    return int(values_of(workload, entity, name) > FEW_VALUES)


def _best(workload: Workload, entity: Entity, names: Iterable[str]) -> int:
    return max((identifies(workload, entity, name) for name in names), default=-1)


def _is_best(workload: Workload, entity: Entity, candidate: Candidate, needs: Iterable[Need]) -> bool:
    """Whether no attribute that a read gives identifies better than the partition, for one of the reads it serves."""
    own = _best_in_tenant(workload, entity, candidate.pk)
    left_out = {attribute for attribute, _ in candidate.when}
    served = (need for need in needs if serves(candidate, need))
    return any(own >= _best_in_tenant(workload, entity, (need.given | need.left) - left_out) for need in served)


def _best_in_tenant(workload: Workload, entity: Entity, names: Iterable[str]) -> int:
    """As `_best`; but a tenant, which every read gives, tells items apart no better than an enum does."""
    tenant = common_tenant(workload, entity.name)
    return max((0 if name in tenant else identifies(workload, entity, name) for name in names), default=-1)


def _within_tenant(workload: Workload, entity: Entity, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates whose partitions hold items of one tenant only, if the entity belongs to tenants."""
    tenant = workload.tenant
    if tenant is None or not is_owned(workload, entity.name):
        return list(candidates)
    return [one for one in candidates if tenant.attribute in one.pk]


def _for_need(entity: Entity, need: Need) -> Iterator[Candidate]:
    tail = _directed(entity, need.tail)
    if tail is None:
        return
    subsets = [left for size in range(len(need.left) + 1) for left in combinations(sorted(need.left), size)]
    for when, only, left in product({(), need.constants}, {(), need.only}, subsets):
        given = sorted((need.given | set(left)) - {attribute for attribute, _ in when})
        if need.left and need.tenant.issuperset(given):
            continue
        partitions: list[tuple[str, ...]] = [()] if when or only or not given else []
        partitions += [pk for size in range(1, len(given) + 1) for pk in combinations(given, size)]
        for pk in partitions:
            rest = [name for name in given if name not in pk]
            orders = permutations(rest) if len(rest) <= MOST_PERMUTED else [tuple(rest)]
            for order in orders:
                sk = (*map(SortAttribute, order), *(one for one in tail if one.attribute not in pk))
                late = len(sk) if need.interleaved else len(order) if need.shared else 0
                yield _unique(entity, Candidate(entity.name, pk, sk, when, late, only=only))


def _directed(entity: Entity, tail: tuple[SortAttribute, ...]) -> tuple[SortAttribute, ...] | None:
    """The sort attributes with their directions. None descends if all have one direction; else those that can."""
    if len({one.descending for one in tail}) < 2:
        return tuple(SortAttribute(one.attribute) for one in tail)
    for turned in (False, True):
        found = tuple(SortAttribute(one.attribute, one.descending != turned) for one in tail)
        types = [a.type.kind for one in found if one.descending and (a := entity.attribute(one.attribute))]
        if all(kind in _TURNING for kind in types):
            return found
    return None


def _unique(entity: Entity, candidate: Candidate) -> Candidate:
    """The candidate with the rest of the id at the end, so that no two items share a key."""
    more = tuple(SortAttribute(a.name) for a in entity.id if a.name not in candidate.attributes)
    return msgspec.structs.replace(candidate, sk=candidate.sk + more)


def base_candidates(workload: Workload, entity: Entity, needs: Iterable[Need]) -> list[Candidate]:
    """Keys for an entity in the table: its id, for a generated id also with ids of its parents; or a unique value."""
    needs = list(needs)
    ids = tuple(a.name for a in entity.id)
    if not ids:
        return [Candidate(entity.name, ())]
    more = _further(workload, entity, needs)
    sets = {frozenset((*ids, *further)) for size in range(4) for further in combinations(more[:MOST_FURTHER], size)}
    least = 0 if _is_small(workload, entity, needs) else 1
    found: set[Candidate] = set()
    for names in sorted(sets, key=sorted):
        for size in range(least, len(names) + 1):
            for pk in combinations(sorted(names), size):
                for order in _base_orders(entity, names - set(pk)):
                    plain = Candidate(entity.name, pk, tuple(map(SortAttribute, order)))
                    if size or any(serves(plain, need) for need in needs):
                        found |= {plain, *_late(plain, needs)}
    # Attributes that reads give may be in the key, too, if that serves a read.
    allowed = {*ids, *more, *_given(workload, entity, needs, more)}
    for need in needs:
        found |= {
            one
            for one in _for_need(entity, need)
            if not one.sparse and allowed.issuperset(one.attributes) and (one.pk or not least)
        }
    for group in unique_keys(workload, entity):
        keys = {
            Candidate(entity.name, pk, tuple(map(SortAttribute, order)))
            for size in range(1, len(group) + 1)
            for pk in combinations(sorted(group), size)
            for order in permutations(sorted(group.difference(pk)))
        }
        # An item that is asked for by its id has the id as its key, and the unique value in an index. A consistent read
        # by the value has no index, though.
        if _is_read_consistently(workload, group, needs):
            found |= keys
            continue
        found |= {one for one in keys if _finds_all(workload, entity, one, needs)}
        # The same is true of a key that holds the id, too, if its partition is the unique value.
        found -= {one for one in found if group.issubset(one.pk) and not _finds_all(workload, entity, one, needs)}
    # A join reads a hundred items in one request by their keys in the table. Its items may have other keys there only
    # if a read asks for the same, because that read brings an index.
    asked = {need.given for need in needs if any(read.id == need.read for read in workload.reads)}
    for names in set(joined_by(workload, entity)) - asked:
        if names.issuperset(ids):
            joined = Need("", entity.name, names)
            found = {one for one in found if serves(one, joined)} or found
    best = _best(workload, entity, ids)
    return sorted(
        one
        for one in _within_tenant(workload, entity, found)
        if (not one.pk and _finds_all(workload, entity, one, needs))
        or _best(workload, entity, one.pk) >= best
        or (_best(workload, entity, one.pk) > 0 and _is_best(workload, entity, one, needs))
    )


def _base_orders(entity: Entity, names: frozenset[str]) -> Iterable[tuple[str, ...]]:
    """The orders of the attributes in a sort key. Of many, only that of the document.

    Reads that need another order bring their own keys.
    """
    if len(names) <= MOST_FREE:
        return permutations(sorted(names))
    return [tuple(a.name for a in entity.attributes if a.name in names)]


def _finds_all(workload: Workload, entity: Entity, candidate: Candidate, needs: Iterable[Need]) -> bool:
    """Whether everything that knows the id of an item knows its key: reads, writes, and the items of joins."""
    ids = {a.name for a in entity.id}
    known = (*(need.given for need in needs), *joined_by(workload, entity))
    return all(given.issuperset(candidate.attributes) for given in known if given >= ids)


def _is_read_consistently(workload: Workload, names: frozenset[str], needs: Iterable[Need]) -> bool:
    """Whether a read that gives these attributes has to see every write before it."""
    reads = {read.id for read in workload.reads if read.consistency not in (None, Consistency.EVENTUAL)}
    return any(need.read in reads and need.given >= names for need in needs)


def joined_by(workload: Workload, entity: Entity) -> list[frozenset[str]]:
    """The attributes by which each join finds items of an entity."""
    joins = [r for r in workload.reads if r.combine is Combine.JOIN and entity.name in r.entities[1:]]
    links = [followed(read, workload, entity.name) for read in joins]
    return [frozenset(link.other.name for link in one) for one in links if one]


def _given(workload: Workload, entity: Entity, needs: Iterable[Need], known: Iterable[str]) -> list[str]:
    """Attributes that reads give and that never change: a generated id allows them in the key."""
    if _may_replace(workload, entity):
        return []
    left = {*(a.name for a in entity.id), *known}
    names = dict.fromkeys(name for need in needs for name in sorted(need.given))
    return [
        name
        for name in names
        if name not in left and (a := entity.attribute(name)) and a.mutable is False and not a.optional
    ]


def _is_small(workload: Workload, entity: Entity, needs: Iterable[Need]) -> bool:
    """Whether one partition can hold all items of an entity that is read as a whole, such as a catalogue.

    There are few items, and their rates are far below the limits of a partition.
    """
    if not any(not need.given and not need.shared and not need.ranged and not need.only for need in needs):
        return False
    touching = [p for p in workload.patterns if entity.name in p.entities]
    rate = sum(per_second(p.rate) for p in touching)
    return count_of(workload, entity) * size_of(entity) <= MOST_BYTES and rate <= MOST_CALLS


def _further(workload: Workload, entity: Entity, needs: Iterable[Need]) -> list[str]:
    """Attributes that the key may hold beside the id without giving one item two keys."""
    above = [a.name for a in entity.attributes if a.references and _fixed(workload, entity, a.name)]
    if _may_replace(workload, entity):
        return [name for name in above if _determined(workload, entity, name)]
    above += [t.attribute for n in needs for t in n.tail if _fixed(workload, entity, t.attribute)]
    ids = {a.name for a in entity.id}
    return list(dict.fromkeys(name for name in above if name not in ids))


def extendable(workload: Workload, entity: Entity) -> bool:
    """Whether no two items ever share an id, so that further attributes may be part of the key.

    The application generates such an id. A single id of the entity's own is assumed to be generated.
    """
    if any(a.generated for a in entity.id):
        return True
    own = own_id(workload, entity)
    return len(own) == 1 and own[0].generated is None and not own[0].references


def unique_keys(workload: Workload, entity: Entity) -> list[frozenset[str]]:
    """The unique values that can be an entity's key in the table instead of its id: they never change.

    No two items share such an id, so that only the unique value has to be kept apart, and the key does it.
    """
    verbs = {a.verb for write in workload.writes for a in write.actions if a.entity == entity.name}
    if not extendable(workload, entity) or not verbs.isdisjoint((Verb.PUT, Verb.UPSERT)):
        return []  # a put would replace another item with the same value
    groups = [frozenset({a.name}) for a in entity.attributes if a.unique and not a.id]
    groups += [frozenset(group) for group in entity.unique]
    ids = frozenset(a.name for a in entity.id)
    return [
        group
        for group in dict.fromkeys(groups)
        if not group >= ids
        and all((a := entity.attribute(n)) and (a.id or (a.mutable is False and not a.optional)) for n in group)
    ]


def _may_replace(workload: Workload, entity: Entity) -> bool:
    """Whether a write may replace an item by one of the same id with other attributes. The key would have to move."""
    verbs = {a.verb for write in workload.writes for a in write.actions if a.entity == entity.name}
    return not verbs.isdisjoint((Verb.PUT, Verb.UPSERT)) and not extendable(workload, entity)


def _determined(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether the id determines an attribute: the user of an order line is the user of its order."""
    attribute = entity.attribute(name)
    if attribute is None or attribute.id:
        return False
    wanted = root(workload, entity, attribute)
    for part in entity.id:
        found = target(workload, part)
        if found and any(
            root(workload, found[0], a) == wanted and _fixed(workload, found[0], a.name) for a in found[0].attributes
        ):
            return True
    return False


def _late(plain: Candidate, needs: Iterable[Need]) -> Iterator[Candidate]:
    """The same key with the type in a later position, for reads of several entities."""
    for need in needs:
        if need.shared:
            late = len(need.given - set(plain.pk)) + (len(need.tail) if need.interleaved else 0)
            one = msgspec.structs.replace(plain, type_position=late)
            if serves(one, need):
                yield one


def _fixed(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether every item has the attribute and no write changes it."""
    attribute = entity.attribute(name)
    if attribute is None or attribute.optional or attribute.mutable:
        return False
    return attribute.mutable is False or not _changed(workload, entity, name)


def _changed(workload: Workload, entity: Entity, name: str) -> bool:
    return any(
        change.attribute == name
        for write in (*workload.writes, *workload.deletes)
        for action in write.actions
        if action.entity == entity.name and action.updates
        for change in changes(write, action, entity)
    )
