"""The preference among keys of the same cost: what an expert would write.

Short keys are better than long ones. A partition is best made of the id of one entity: of a parent that the document
declares, if the item is in the table. Of two parents it is the one whose items are read more often. One partition for
everything is the worst.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import chain
from math import log10
from typing import assert_never

from prejoin.design.cost.assumptions import count_by, per_second, size_of
from prejoin.design.solver.candidates import Candidate, identifies, unique_keys
from prejoin.design.solver.placement import Placement
from prejoin.protocol.limits import PAGE_SIZE
from prejoin.types import Kind
from prejoin.workload.lookup import foreign_key, root
from prejoin.workload.model import Attribute, Entity, Read, RelationshipKind, Workload
from prejoin.workload.program.resolved_read import resolve_read
from prejoin.workload.tenants import common_tenant

Roots = frozenset[tuple[str, str]]
"""The origins of attributes: entity and attribute."""


class Taste:
    """The preference among the keys of a workload. The lower the number, the better."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._ids = [self._roots(e, [a.name for a in e.id]) for e in workload.entities if e.id]
        self._parents = {e.name: self._parents_of(e) for e in workload.entities}
        self._pages = cache(self._pages_of)
        self._asked = cache(self._asked_of)
        self._foreign = cache(self._foreign_of)

    def __call__(self, placement: Placement) -> int:
        candidate = placement.candidate
        entity = self._workload.entity(placement.entity)
        assert entity is not None
        if placement.is_base:
            return self._of_base(entity, candidate)
        id_size = self._id_size(entity, candidate)
        wanted_size = max(id_size, self._telling(entity, candidate.pk), 1)
        penalty = self._page_penalty(entity, candidate) + 20 * (bool(candidate.pk) and not id_size)
        return self._shape(entity, candidate, wanted_size) + penalty

    def _of_base(self, entity: Entity, candidate: Candidate) -> int:
        """The preference for a key of the own item in the table."""
        id_size = self._id_size(entity, candidate)
        if not entity.id:
            penalty = self._page_penalty(entity, candidate)
        else:
            roots, parents = self._roots(entity, candidate.pk), self._parents[entity.name]
            key_groups = [g for g in unique_keys(self._workload, entity) if g == set(candidate.attributes)]
            whole_groups = [group for group in key_groups if group <= set(candidate.pk)]
            parent_sizes = [len(parent) for parent in parents if parent <= roots]
            id_size = max([id_size, *parent_sizes, *map(len, whole_groups)])
            is_single_item = bool(whole_groups) or {a.name for a in entity.id} <= set(candidate.pk)
            penalty = self._collection_penalty(entity, candidate, is_single_item)
        # Rather an index than the table by something that is no id.
        penalty += 30 * (bool(candidate.pk) and not id_size)
        return self._shape(entity, candidate, max(id_size, 1)) + penalty

    def _collection_penalty(self, entity: Entity, candidate: Candidate, is_single_item: bool) -> int:
        """Whether an item is with its parent's items, and how well such a partition is used."""
        roots, parents = self._roots(entity, candidate.pk), self._parents[entity.name]
        is_elsewhere = roots not in parents if parents else is_single_item and _has_series(entity)
        if is_single_item:
            # An item that is read by itself is not read with its parent's: GetItem rather than a Query of an index.
            is_read_alone = len(parents) > 1 and self._is_read_alone(entity)
            return 6 * (is_elsewhere and not is_read_alone)
        # Compare the weights in `_shape`: a sort attribute counts 4, an attribute too many in the partition 6.
        has_pages = self._pages(entity.name, candidate.pk) > 1
        return 6 * is_elsewhere + 20 * has_pages + 2 * self._is_asked_less(entity, candidate.pk)

    def _page_penalty(self, entity: Entity, candidate: Candidate) -> int:
        """A partition of many pages is better split by what every read of it gives."""
        if not candidate.pk:
            return 0
        return min(20, int(5 * log10(max(1.0, self._pages(entity.name, candidate.pk)))))

    def _id_size(self, entity: Entity, candidate: Candidate) -> int:
        """The length of the longest id within a partition: items that share only a part of an id share a partition."""
        roots = self._roots(entity, candidate.pk)
        size = max((len(ids) for ids in self._ids if ids <= roots), default=0)
        return size or int(_is_series(entity, candidate))

    def _shape(self, entity: Entity, candidate: Candidate, wanted_size: int) -> int:
        """The preference for short keys, partitions of a certain number of attributes, and the document's order."""
        # At least 1, so that a key that nothing needs is never chosen.
        holds_everything = not candidate.pk and not entity.singleton
        return (
            1
            + 4 * len(candidate.sk)
            + 6 * abs(len(candidate.pk) - wanted_size)
            + _disorder(entity, candidate)
            + (12 if candidate.sparse else 40) * holds_everything
        )

    def _telling(self, entity: Entity, pk: tuple[str, ...]) -> int:
        """How many attributes a partition in an index should have if it holds no id but the tenant's.

        They are all that a read gives, but for enums and booleans: `COUNTRY#{country}#STATE#{state}`.
        """
        tenant = common_tenant(self._workload, entity.name)
        own = [name for name in pk if name not in tenant]
        roots = self._roots(entity, own)
        if any(ids <= roots for ids in self._ids if ids):
            return 0
        telling = sum(identifies(self._workload, entity, name) > 0 for name in own)
        return len(pk) - len(own) + telling if telling > 1 else 0

    def _roots(self, entity: Entity, names: Iterable[str]) -> Roots:
        attributes = filter(None, map(entity.attribute, names))
        return frozenset([root(self._workload, entity, attribute) for attribute in attributes])

    def _parents_of(self, entity: Entity) -> list[Roots]:
        """The partitions of an entity's parents, by relationships.

        Without any, it is the parent that its generated id belongs to, if no read gives the whole id.
        """
        partitions = self._partitions_by_relationships(entity)
        ids = {a.name for a in entity.id}
        has_whole_id = any(ids <= names for _, names in self._reads_with_names(entity.name))
        if partitions or has_whole_id or not any(a.generated for a in entity.id):
            return partitions
        tenant = common_tenant(self._workload, entity.name)
        references = [a.name for a in entity.id if a.references]
        parent_ids = [name for name in references if name not in tenant]
        return [self._roots(entity, [*tenant, *parent_ids])] if parent_ids else []

    def _partitions_by_relationships(self, entity: Entity) -> list[Roots]:
        """The partitions of the parents that 1:n relationships name."""
        partitions: list[Roots] = []
        for relationship in chain.from_iterable(owner.relationships for owner in self._workload.entities):
            parent = self._workload.entity(relationship.left)
            is_child = relationship.right == entity.name and _is_one_to_many(relationship.kind)
            if is_child and parent and parent is not entity:
                via = list(filter(entity.attribute, relationship.via))
                parent_id = [a.name for a in parent.id]
                partitions.append(self._roots(entity, via) if via else self._roots(parent, parent_id))
        return partitions

    def _is_read_alone(self, entity: Entity) -> bool:
        """Whether a read gives the id of one item, and nothing else."""
        ids = {a.name for a in entity.id}
        return any(names == ids for read, names in self._reads_with_names(entity.name) if len(read.entities) == 1)

    def _is_asked_less(self, entity: Entity, pk: tuple[str, ...]) -> bool:
        """Whether another parent's items are read more often than those of a partition."""
        own_roots = self._roots(entity, pk)
        mine = self._asked(entity.name, frozenset(pk))
        other_keys = [key for key in self._foreign(entity.name) if self._roots(entity, key) != own_roots]
        return any(self._asked(entity.name, key) > mine for key in other_keys)

    def _foreign_of(self, name: str) -> list[frozenset[str]]:
        """The attributes of an entity that hold the id of another one, for each of them."""
        entity = self._workload.entity(name)
        assert entity is not None
        other_entities = [other for other in self._workload.entities if other is not entity]
        keys = [foreign_key(self._workload, entity, other) for other in other_entities]
        return [key for key in keys if key]

    def _asked_of(self, name: str, pk: frozenset[str]) -> float:
        """The calls a second of the reads of an entity that give a partition, and nothing more."""
        return sum(per_second(read.rate) for read, names in self._reads_with_names(name) if names == pk)

    def _reads_with_names(self, name: str) -> list[tuple[Read, frozenset[str]]]:
        """The reads of an entity with the attributes of it that they give."""
        reads = [read for read in self._workload.reads if name in read.entities]
        return [(read, resolve_read(self._workload, read).given(name)) for read in reads]

    def _pages_of(self, name: str, pk: tuple[str, ...]) -> float:
        """The number of pages with the items of an entity in one partition."""
        entity = self._workload.entity(name)
        return count_by(self._workload, entity, pk) * size_of(entity) / PAGE_SIZE if entity else 0.0


def _disorder(entity: Entity, candidate: Candidate) -> int:
    """0 to 3: how far the attributes are in another order than in the document. Within a partition it does not matter.

    Parts of the id in the sort key count most: mostly they only make it unique, and nothing asks for another order.
    """
    places = {a.name: at for at, a in enumerate(entity.attributes)}
    order = [places[name] for name in candidate.attributes if name in places]
    sort_attributes = [entity.attribute(key.attribute) for key in candidate.sk]
    ids = [places[attribute.name] for attribute in filter(None, sort_attributes) if attribute.id]
    if ids != sorted(ids):
        return 3
    inversions = 0
    for at, place in enumerate(order):
        following = order[max(at + 1, len(candidate.pk)) :]
        inversions += sum(place > other for other in following)
    return min(2, inversions)


def _is_one_to_many(kind: RelationshipKind) -> bool:
    match kind:
        case RelationshipKind.ONE_TO_MANY:
            return True
        case RelationshipKind.ONE_TO_ONE | RelationshipKind.MANY_TO_MANY | RelationshipKind.HIERARCHY:
            return False
        case _:
            assert_never(kind)


def _is_series(entity: Entity, candidate: Candidate) -> bool:
    """Whether a partition is the owner of a series: the rest of the entity's id is a time or a number."""
    return _has_series(entity) and set(candidate.pk) == {a.name for a in entity.id if not _is_time_or_number(a)}


def _has_series(entity: Entity) -> bool:
    return {_is_time_or_number(attribute) for attribute in entity.id} == {False, True}


def _is_time_or_number(attribute: Attribute) -> bool:
    return attribute.type.numeric or attribute.type.kind in (Kind.DATE, Kind.DATETIME)
