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

For example, a read of the orders of a user with a status, newest first, gives these keys for an index, each ending with
`orderId`, and `userId / orderId` is one of the keys for the table:

    userId / status, placedAt      status / userId, placedAt      status, userId / placedAt

Only the first and the last are kept: a partition by the status alone would be one of few.

Three limits keep the number small. Beyond `MOST_PERMUTED` given attributes only one order is tried. So it is beyond
`MOST_FREE` attributes in a sort key of the table that no read asks for. A table key holds at most three attributes
beside the id. These limits are why a solution claims to be the best combination of the candidates, not the best of all
designs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import combinations, permutations, product, takewhile

import msgspec

from prejoin.design.cost.assumptions import count_of, per_second, size_of, values_of
from prejoin.design.solver.needs import Membership, Need, SortAttribute
from prejoin.types import Kind
from prejoin.workload.lookup import changes, root, target
from prejoin.workload.model import Consistency, Entity, Verb, Workload
from prejoin.workload.program.resolved_read import resolve_read
from prejoin.workload.tenants import common_tenant, is_owned, own_id

MOST_PERMUTED = 4
"""With more equality inputs than this, only one order is tried: the number of permutations explodes."""
MOST_FREE = 3
"""The most attributes of a table's sort key that are tried in every order."""
TURNING = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.DATETIME})
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


# Ordered, because candidates are sorted before they become variables: the order of variables decides ties.
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
        return frozenset((*(name for name, _ in self.when), *(condition.attribute for condition in self.only)))

    @property
    def attributes(self) -> tuple[str, ...]:
        return (*self.pk, *(key.attribute for key in self.sk))

    def __str__(self) -> str:
        sk = ", ".join(("-" if key.descending else "") + key.attribute for key in self.sk)
        when = "".join(f" when {name} = {value}" for name, value in self.when)
        when += "".join(f" when {condition}" for condition in self.only)
        type_position = f" type after {self.type_position}" if self.type_position else ""
        whole_text = " whole" if self.whole else ""
        return f"{self.entity}({', '.join(self.pk) or '*'} / {sk}{when}{type_position}{whole_text})"


def serves(candidate: Candidate, need: Need, pk: frozenset[str] | None = None) -> bool:
    """Whether a candidate serves a need, by the same rules as the planner.

    For a need that several entities share, the partition must consist of exactly `pk`, and the remaining given
    attributes come before the type.

    >>> orders = Need("AP-001", "Order", frozenset({"userId"}), tail=(SortAttribute("placedAt"),))
    >>> by_date = Candidate("Order", ("userId",), (SortAttribute("placedAt"), SortAttribute("orderId")))
    >>> by_status = Candidate("Order", ("userId",), (SortAttribute("status"), SortAttribute("placedAt")))
    >>> serves(by_date, orders), serves(by_status, orders)
    (True, False)
    """
    # One piece, because it is called for every key and every need. The rules that exclude most come first.
    names = need.equal_names
    if candidate.when or candidate.only:
        if not _meets_conditions(candidate, need):
            return False
        names = names.difference(dict(candidate.when))
    # A Query needs an equality for the whole partition key, so the read has to know all of it.
    partition = set(candidate.pk)
    known_names = names | need.filterable
    if not partition <= known_names or (pk is not None and partition != pk):
        return False
    if not partition and known_names and not candidate.sparse:
        return False
    # What the read knows beside the partition has to come first in the sort key: DynamoDB reads one range of it, from
    # left to right.
    prefix = names - partition
    if need.filterable:
        prefix |= _filterable_prefix(candidate.sk[len(prefix) :], need)
    size = len(prefix)
    if {key.attribute for key in candidate.sk[:size]} != prefix:
        return False
    if need.tenant and need.filterable and _reads_whole_tenant(need, partition | prefix):
        return False
    return candidate.type_position in _type_positions(need, size) and _has_order(candidate.sk[size:], need.tail)


def _meets_conditions(candidate: Candidate, need: Need) -> bool:
    """Whether all items that a read wants are in a sparse key."""
    constants = dict(need.constants)
    if any(constants.get(attribute) != value for attribute, value in candidate.when):
        return False
    return set(candidate.only) <= set(need.only)


def _filterable_prefix(keys: Sequence[SortAttribute], need: Need) -> set[str]:
    """The attributes at the beginning of some sort attributes that a read may leave to a filter, and need not."""
    names = (key.attribute for key in keys)
    return set(takewhile(need.filterable.__contains__, names))


def _reads_whole_tenant(need: Need, names: Set[str]) -> bool:
    """Whether a key with these attributes leaves everything but the tenant to a filter."""
    return need.equal_names <= need.tenant and need.filterable.isdisjoint(names)


def _type_positions(need: Need, size: int) -> range:
    """The positions in the sort key where the type may stand, if `size` attributes with a known value precede it."""
    if need.is_interleaved:
        return range(size + len(need.tail), size + len(need.tail) + 1)
    if need.is_shared and size:
        return range(size, size + 1)
    # A read of the whole partition finds every type, wherever the type stands.
    return range(MOST_SORTED if need.is_shared else size + 1)


def _has_order(keys: Sequence[SortAttribute], order: Sequence[SortAttribute]) -> bool:
    """Whether the keys begin with an order, forwards or backwards: a Query reads in both directions."""
    if len(keys) < len(order):
        return False
    directions: set[bool] = set()
    for key, wanted_key in zip(keys, order, strict=False):
        if key.attribute != wanted_key.attribute:
            return False
        directions.add(key.descending == wanted_key.descending)
    return len(directions) <= 1


def index_candidates(workload: Workload, entity: Entity, needs: Iterable[Need]) -> list[Candidate]:
    """Keys that serve at least one need, with a partition that is the best for one of the needs it serves."""
    needs = list(needs)
    candidates: set[Candidate] = set()
    for need in needs:
        candidates.update(_candidates_for(entity, need))
    in_tenant = _within_tenant(workload, entity, candidates)
    return sorted(candidate for candidate in in_tenant if _is_best(workload, entity, candidate, needs))


def identifies(workload: Workload, entity: Entity, name: str) -> int:
    """How well an attribute tells items apart: 2 for an id or a reference, 0 for an enum or a boolean, 1 for the rest.

    A part of an id that is not generated, such as the name of a repository of an owner, is like any other attribute.
    """
    attribute = entity.attribute(name)
    if attribute is None or attribute.type.values or attribute.type.kind is Kind.BOOLEAN:
        return 0
    is_whole_id = [a.name for a in entity.id] == [name]
    if is_whole_id or attribute.references or attribute.unique or attribute.type.kind in _UNIQUE:
        return 2
    if attribute.id and attribute.generated:
        return 2
    return int(values_of(workload, entity, name) > FEW_VALUES)


def _best_rank(workload: Workload, entity: Entity, names: Iterable[str]) -> int:
    """The highest rank, by `identifies`, of some attributes."""
    return max((identifies(workload, entity, name) for name in names), default=-1)


def _is_best(workload: Workload, entity: Entity, candidate: Candidate, needs: Iterable[Need]) -> bool:
    """Whether no attribute that a read gives identifies better than the partition, for one of the reads it serves."""
    rank = _best_rank_in_tenant(workload, entity, candidate.pk)
    for need in needs:
        if serves(candidate, need):
            names = (need.equal_names | need.filterable).difference(dict(candidate.when))
            if rank >= _best_rank_in_tenant(workload, entity, names):
                return True
    return False


def _best_rank_in_tenant(workload: Workload, entity: Entity, names: Iterable[str]) -> int:
    """As `_best_rank`; but a tenant, which every read gives, tells items apart no better than an enum does."""
    tenant = common_tenant(workload, entity.name)
    return max((0 if name in tenant else identifies(workload, entity, name) for name in names), default=-1)


def _within_tenant(workload: Workload, entity: Entity, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates whose partitions hold items of one tenant only, if the entity belongs to tenants."""
    tenant = workload.tenant
    if tenant is None or not is_owned(workload, entity.name):
        return list(candidates)
    return [candidate for candidate in candidates if tenant.attribute in candidate.pk]


def _candidates_for(entity: Entity, need: Need) -> Iterator[Candidate]:
    """The keys that serve a need: each partition of given attributes, then the others in each order, then the tail.

    A read of the orders of a user with a status, sorted by date, gets `userId / status, date`, `status / userId, date`
    and `status, userId / date`. Each ends with the id. Constants and conditions of the read also make sparse keys.
    """
    tail = _storable_order(entity, need.tail)
    if tail is None:
        return
    for when, only, filterable in product({(), need.constants}, {(), need.only}, _subsets(sorted(need.filterable))):
        names = sorted(need.equal_names.union(filterable).difference(dict(when)))
        # Leaving everything to a filter would read all items of a tenant.
        if need.filterable and need.tenant.issuperset(names):
            continue
        for pk in _subsets(names):
            # One partition for all items, although the read gives something, is worth it only if it is sparse.
            if pk or not names or when or only:
                partition = Candidate(entity.name, pk, when=when, only=only)
                for candidate in _with_sort_keys(partition, need, names, tail):
                    yield _with_id(entity, candidate)


def _with_sort_keys(
    partition: Candidate, need: Need, names: Sequence[str], tail: Sequence[SortAttribute]
) -> Iterator[Candidate]:
    """A partition with its sort keys: the other attributes that the read gives, in each order, then the tail."""
    remaining_names = [name for name in names if name not in partition.pk]
    end = [key for key in tail if key.attribute not in partition.pk]
    for order in orders_of(remaining_names):
        sk = (*map(SortAttribute, order), *end)
        type_position = 0
        if need.is_interleaved:
            type_position = len(sk)
        elif need.is_shared:
            type_position = len(order)
        yield msgspec.structs.replace(partition, sk=sk, type_position=type_position)


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All subsets, small ones first: (), (a), (b), (a, b)."""
    for size in range(len(names) + 1):
        yield from combinations(names, size)


def orders_of(names: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """All orders of a few attributes; one of many."""
    return permutations(names) if len(names) <= MOST_PERMUTED else [tuple(names)]


def _storable_order(entity: Entity, tail: tuple[SortAttribute, ...]) -> tuple[SortAttribute, ...] | None:
    """The sort attributes with directions that a key can hold; None if it can hold none of them.

    None descends if all have one direction, because a Query reads backwards as well. Else some have to, and only
    numbers and times can be written so that they sort in descending order.
    """
    if len({key.descending for key in tail}) < 2:
        return tuple(SortAttribute(key.attribute) for key in tail)
    for is_reversed in (False, True):
        keys = tuple(SortAttribute(key.attribute, key.descending != is_reversed) for key in tail)
        if all(_can_descend(entity, key.attribute) for key in keys if key.descending):
            return keys
    return None


def _can_descend(entity: Entity, name: str) -> bool:
    attribute = entity.attribute(name)
    return attribute is None or attribute.type.kind in TURNING


def _with_id(entity: Entity, candidate: Candidate) -> Candidate:
    """The candidate with the missing parts of the id at the end, so that no two items share a key."""
    missing = tuple(SortAttribute(a.name) for a in entity.id if a.name not in candidate.attributes)
    return msgspec.structs.replace(candidate, sk=candidate.sk + missing)


def base_candidates(workload: Workload, entity: Entity, needs: Iterable[Need]) -> list[Candidate]:
    """Keys for an entity in the table: its id, for a generated id also with ids of its parents; or a unique value."""
    needs = list(needs)
    if not entity.id:
        return [Candidate(entity.name, ())]
    addable = _addable_attributes(workload, entity, needs)
    # A partition takes 1,000 writes and 3,000 reads of small items a second: only few items may all share one.
    least_size = 0 if _is_small(workload, entity, needs) else 1
    candidates = _id_candidates(entity, addable, needs, least_size)
    candidates |= _asked_candidates(workload, entity, addable, needs, least_size)
    candidates = _with_unique_values(workload, entity, needs, candidates)
    candidates = _found_by_joins(workload, entity, needs, candidates)
    in_tenant = _within_tenant(workload, entity, candidates)
    return sorted(candidate for candidate in in_tenant if _is_good_base(workload, entity, candidate, needs))


def _id_candidates(entity: Entity, addable: Sequence[str], needs: Sequence[Need], least_size: int) -> set[Candidate]:
    """Keys of the id and at most three addable attributes, in each division into a partition and a sort key."""
    ids = tuple(a.name for a in entity.id)
    # The key has to hold the id, because a put with the same key replaces the item.
    name_sets: set[frozenset[str]] = set()
    for size in range(4):
        for added_names in combinations(addable[:MOST_FURTHER], size):
            name_sets.add(frozenset((*ids, *added_names)))
    candidates: set[Candidate] = set()
    for names in name_sets:
        for size in range(least_size, len(names) + 1):
            for pk in combinations(sorted(names), size):
                for order in _base_orders(entity, names - set(pk)):
                    candidate = Candidate(entity.name, pk, tuple(map(SortAttribute, order)))
                    # One partition for everything is worth considering only if a read asks for it.
                    if size or any(serves(candidate, need) for need in needs):
                        candidates |= {candidate, *_with_later_type(candidate, needs)}
    return candidates


def _asked_candidates(
    workload: Workload, entity: Entity, addable: Sequence[str], needs: Sequence[Need], least_size: int
) -> set[Candidate]:
    """Keys of an index that can also be keys of the table: attributes that reads give may be in it, too."""
    ids = [a.name for a in entity.id]
    allowed_names = {*ids, *addable, *_constant_given_attributes(workload, entity, needs, addable)}
    candidates: set[Candidate] = set()
    for need in needs:
        for candidate in _candidates_for(entity, need):
            if candidate.sparse or len(candidate.pk) < least_size:
                continue  # all items are in the table
            if allowed_names.issuperset(candidate.attributes):
                candidates.add(candidate)
    return candidates


def _with_unique_values(
    workload: Workload, entity: Entity, needs: Sequence[Need], candidates: set[Candidate]
) -> set[Candidate]:
    """The candidates with keys of unique values, where these are as good as the id.

    An item that is asked for by its id has the id as its key, and the unique value in an index. A consistent read by
    the value has no index, though.
    """
    result = set(candidates)
    for group in unique_keys(workload, entity):
        unique_candidates = _keys_of_group(entity, group)
        if _is_read_consistently(workload, group, needs):
            result |= unique_candidates
            continue
        result |= {key for key in unique_candidates if _knows_every_key(workload, entity, key, needs)}
        # The same is true of a key that holds the id, too, if its partition is the unique value.
        in_group = [candidate for candidate in result if group.issubset(candidate.pk)]
        result -= {key for key in in_group if not _knows_every_key(workload, entity, key, needs)}
    return result


def _keys_of_group(entity: Entity, group: frozenset[str]) -> set[Candidate]:
    """The keys that consist of the attributes of a unique value, with a partition of at least one of them."""
    candidates: set[Candidate] = set()
    for pk in _subsets(sorted(group)):
        if pk:
            for order in permutations(sorted(group.difference(pk))):
                candidates.add(Candidate(entity.name, pk, tuple(map(SortAttribute, order))))
    return candidates


def _found_by_joins(
    workload: Workload, entity: Entity, needs: Sequence[Need], candidates: set[Candidate]
) -> set[Candidate]:
    """The candidates by which joins find the items with one BatchGetItem, which takes whole keys of the table.

    The items may have other keys in the table only if a read asks for the same, because that read brings an index.
    """
    read_ids = {read.id for read in workload.reads}
    asked_names = {need.equal_names for need in needs if need.read in read_ids}
    for names in set(joined_by(workload, entity)) - asked_names:
        if names.issuperset(a.name for a in entity.id):
            join_need = Need("", entity.name, names)
            candidates = {candidate for candidate in candidates if serves(candidate, join_need)} or candidates
    return candidates


def _is_good_base(workload: Workload, entity: Entity, candidate: Candidate, needs: Sequence[Need]) -> bool:
    """Whether a partition of the table tells items apart as well as the id does, or as well as a read can."""
    if not candidate.pk and _knows_every_key(workload, entity, candidate, needs):
        return True
    # A partition by something common, such as a status, would be hot and large.
    rank = _best_rank(workload, entity, candidate.pk)
    if rank >= _best_rank(workload, entity, (a.name for a in entity.id)):
        return True
    return rank > 0 and _is_best(workload, entity, candidate, needs)


def _base_orders(entity: Entity, names: frozenset[str]) -> Iterable[tuple[str, ...]]:
    """The orders of the attributes in a sort key. Of many, only that of the document.

    Reads that need another order bring their own keys.
    """
    if len(names) <= MOST_FREE:
        return permutations(sorted(names))
    return [tuple(a.name for a in entity.attributes if a.name in names)]


def _knows_every_key(workload: Workload, entity: Entity, candidate: Candidate, needs: Iterable[Need]) -> bool:
    """Whether everything that knows the id of an item knows its key: reads, writes, and the items of joins."""
    ids = {a.name for a in entity.id}
    name_sets = (*(need.equal_names for need in needs), *joined_by(workload, entity))
    return all(names.issuperset(candidate.attributes) for names in name_sets if names >= ids)


def _is_read_consistently(workload: Workload, names: frozenset[str], needs: Iterable[Need]) -> bool:
    """Whether a read that gives these attributes has to see every write before it."""
    reads = {read.id for read in workload.reads if read.consistency not in (None, Consistency.EVENTUAL)}
    return any(need.read in reads and need.equal_names >= names for need in needs)


def joined_by(workload: Workload, entity: Entity) -> list[frozenset[str]]:
    """The attributes by which each join finds items of an entity."""
    name_sets: list[frozenset[str]] = []
    for read in workload.reads:
        joins = [join for join in resolve_read(workload, read).joins if join.entity is entity]
        name_sets += [frozenset(link.other.name for link in join.links) for join in joins]
    return list(filter(None, name_sets))


def _constant_given_attributes(
    workload: Workload, entity: Entity, needs: Iterable[Need], addable: Iterable[str]
) -> list[str]:
    """Attributes that reads give and that never change: a generated id allows them in the key."""
    if _may_replace(workload, entity):
        return []
    names: dict[str, None] = {}
    for need in needs:
        names |= dict.fromkeys(sorted(need.equal_names))
    excluded_names = {*(a.name for a in entity.id), *addable}
    return [name for name in names if name not in excluded_names and _can_be_in_base_key(entity, name)]


def _is_small(workload: Workload, entity: Entity, needs: Iterable[Need]) -> bool:
    """Whether one partition can hold all items of an entity that is read as a whole, such as a catalogue.

    There are few items, and their rates are far below the limits of a partition.
    """
    if not any(_is_of_all_items(need) for need in needs):
        return False
    rate = sum(per_second(pattern.rate) for pattern in workload.patterns if entity.name in pattern.entities)
    return count_of(workload, entity) * size_of(entity) <= MOST_BYTES and rate <= MOST_CALLS


def _is_of_all_items(need: Need) -> bool:
    """Whether a read wants all items of its one entity."""
    return not (need.equal_names or need.is_shared or need.has_range or need.only)


def _addable_attributes(workload: Workload, entity: Entity, needs: Iterable[Need]) -> list[str]:
    """Attributes that the key may hold beside the id without giving one item two keys."""
    references = [a.name for a in entity.attributes if a.references]
    parents = [name for name in references if _is_constant(workload, entity, name)]
    if _may_replace(workload, entity):
        return [name for name in parents if _is_determined_by_id(workload, entity, name)]
    names = dict.fromkeys(parents)
    for need in needs:
        order = [key.attribute for key in need.tail]
        names |= dict.fromkeys(name for name in order if _is_constant(workload, entity, name))
    for part in entity.id:
        names.pop(part.name, None)
    return list(names)


def extendable(workload: Workload, entity: Entity) -> bool:
    """Whether no two items ever share an id, so that further attributes may be part of the key.

    The application generates such an id. A single id of the entity's own is assumed to be generated.
    """
    # Where an id may come again, a key with more than the id would keep both items.
    if any(a.generated for a in entity.id):
        return True
    own = own_id(workload, entity)
    return len(own) == 1 and own[0].generated is None and not own[0].references


def unique_keys(workload: Workload, entity: Entity) -> list[frozenset[str]]:
    """The unique values that can be an entity's key in the table instead of its id: they never change.

    No two items share such an id, so that only the unique value has to be kept apart, and the key does it.
    """
    if not extendable(workload, entity) or _is_put(workload, entity):
        return []  # a put would replace another item with the same value
    groups = dict.fromkeys(map(frozenset, declared_groups(entity)))
    ids = frozenset(a.name for a in entity.id)
    without_id = [group for group in groups if not group >= ids]
    return [group for group in without_id if all(_can_be_in_base_key(entity, name) for name in group)]


def declared_groups(entity: Entity) -> list[tuple[str, ...]]:
    """The groups of attributes that the document declares unique, by an attribute or together."""
    values = [a for a in entity.attributes if a.unique]
    return [*((value.name,) for value in values if not value.id), *entity.unique]


def _can_be_in_base_key(entity: Entity, name: str) -> bool:
    """Whether every item has an attribute, and keeps its value."""
    attribute = entity.attribute(name)
    if attribute is None:
        return False
    return attribute.id or (attribute.mutable is False and not attribute.optional)


def _is_put(workload: Workload, entity: Entity) -> bool:
    """Whether a write may replace an item, or create it where there is none."""
    for write in workload.writes:
        verbs = [action.verb for action in write.actions if action.entity == entity.name]
        if Verb.PUT in verbs or Verb.UPSERT in verbs:
            return True
    return False


def _may_replace(workload: Workload, entity: Entity) -> bool:
    """Whether a write may replace an item by one of the same id with other attributes. The key would have to move."""
    return _is_put(workload, entity) and not extendable(workload, entity)


def _is_determined_by_id(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether the id determines an attribute: the user of an order line is the user of its order."""
    attribute = entity.attribute(name)
    if attribute is None or attribute.id:
        return False
    origin = root(workload, entity, attribute)
    for part in entity.id:
        place = target(workload, part)
        if place is None:
            continue
        parent = place[0]
        same_values = [a.name for a in parent.attributes if root(workload, parent, a) == origin]
        if any(_is_constant(workload, parent, same) for same in same_values):
            return True
    return False


def _with_later_type(candidate: Candidate, needs: Iterable[Need]) -> Iterator[Candidate]:
    """The same key with the type in a later position, for reads of several entities."""
    for need in needs:
        if need.is_shared:
            position = len(need.equal_names - set(candidate.pk)) + (len(need.tail) if need.is_interleaved else 0)
            later = msgspec.structs.replace(candidate, type_position=position)
            if serves(later, need):
                yield later


def _is_constant(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether every item has the attribute and no write changes it."""
    attribute = entity.attribute(name)
    if attribute is None or attribute.optional or attribute.mutable:
        return False
    return attribute.mutable is False or not _is_written(workload, entity, name)


def _is_written(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether a write changes an attribute of an existing item."""
    for write in workload.changing:
        for action in write.actions:
            is_update = action.entity == entity.name and action.updates
            if is_update and any(change.attribute == name for change in changes(write, action, entity)):
                return True
    return False
