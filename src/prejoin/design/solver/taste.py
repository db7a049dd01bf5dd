"""The preference among keys of the same cost: what an expert would write.

Short keys are better than long ones. A partition is best made of the id of one entity: of a parent that the document
declares, if the item is in the table. Of two parents it is the one whose items are read more often. One partition for
everything is the worst.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import log10
from typing import assert_never

from prejoin.design.cost.assumptions import count_by, per_second, size_of
from prejoin.design.solver.candidates import Candidate, identifies, unique_keys
from prejoin.design.solver.placement import BASE, OWN, Placement
from prejoin.protocol.limits import PAGE_SIZE
from prejoin.types import Kind
from prejoin.workload.lookup import bindings, equalities, foreign_key, root
from prejoin.workload.model import Attribute, Entity, Read, RelationshipKind, Workload
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

    def __call__(self, place: Placement) -> int:
        candidate = place.candidate
        entity = self._workload.entity(place.entity)
        assert entity is not None
        roots = self._roots(entity, candidate.pk)
        # The longest id within the partition: items that share only a part of an id share a partition.
        known = max((len(ids) for ids in self._ids if ids <= roots), default=0)
        if not known and _is_series(entity, candidate):
            known = 1
        elsewhere = rarely = False
        large = 0
        base = (place.item, place.slot) == (OWN, BASE)
        if base and entity.id:
            parents = self._parents[entity.name]
            known = max([known, *(len(one) for one in parents if one <= roots)])
            unique = [group for group in unique_keys(self._workload, entity) if group == set(candidate.attributes)]
            known = max([known, *(len(group) for group in unique if group <= set(candidate.pk))])
            alone = any(group <= set(candidate.pk) for group in ({a.name for a in entity.id}, *unique))
            elsewhere = roots not in parents if parents else alone and _has_series(entity)
            # An item that is read by itself is not read with its parent's: GetItem rather than a Query of an index.
            elsewhere = elsewhere and not (alone and len(parents) > 1 and self._is_read_alone(entity))
            large = 20 * (not alone and self._pages(entity.name, candidate.pk) > 1)
            rarely = not alone and self._is_asked_less(entity, candidate.pk)
        elif candidate.pk:
            # A partition of many pages is better split by what every read of it gives.
            large = min(20, int(5 * log10(max(1.0, self._pages(entity.name, candidate.pk)))))
        everything = not candidate.pk and not entity.singleton
        return (
            1
            + 4 * len(candidate.sk)
            + 6 * abs(len(candidate.pk) - max(known, 1 if base else self._telling(entity, candidate.pk), 1))
            + 6 * elsewhere
            + 2 * rarely
            + large
            + _disorder(entity, candidate)
            # Rather an index than the table by something that is no id.
            + (30 if base else 20) * (bool(candidate.pk) and not known)
            + (12 if candidate.sparse else 40) * everything
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
        return frozenset(root(self._workload, entity, a) for name in names if (a := entity.attribute(name)))

    def _parents_of(self, entity: Entity) -> list[Roots]:
        """The partitions of an entity's parents, by relationships.

        Without any, it is the parent that its generated id belongs to, if no read gives the whole id.
        """
        found = []
        for one in (r for e in self._workload.entities for r in e.relationships if r.right == entity.name):
            parent = self._workload.entity(one.left)
            match one.kind:
                case RelationshipKind.ONE_TO_MANY:
                    if parent and parent is not entity:
                        via = [name for name in one.via if entity.attribute(name)]
                        parent_id = [a.name for a in parent.id]
                        found.append(self._roots(entity, via) if via else self._roots(parent, parent_id))
                case RelationshipKind.ONE_TO_ONE | RelationshipKind.MANY_TO_MANY | RelationshipKind.HIERARCHY:
                    pass
                case _:
                    assert_never(one.kind)
        ids = {a.name for a in entity.id}
        if found or not any(a.generated for a in entity.id) or any(ids <= one for _, one in self._given(entity.name)):
            return found
        tenant = common_tenant(self._workload, entity.name)
        held = [a.name for a in entity.id if a.references and a.name not in tenant]
        return [self._roots(entity, [*tenant, *held])] if held else []

    def _is_read_alone(self, entity: Entity) -> bool:
        """Whether a read gives the id of one item, and nothing else."""
        ids = {a.name for a in entity.id}
        return any(names == ids for read, names in self._given(entity.name) if len(read.entities) == 1)

    def _is_asked_less(self, entity: Entity, pk: tuple[str, ...]) -> bool:
        """Whether another parent's items are read more often than those of a partition."""
        here = self._roots(entity, pk)
        mine = self._asked(entity.name, frozenset(pk))
        others = [key for key in self._foreign(entity.name) if self._roots(entity, key) != here]
        return any(self._asked(entity.name, key) > mine for key in others)

    def _foreign_of(self, name: str) -> list[frozenset[str]]:
        """The attributes of an entity that hold the id of another one, for each of them."""
        entity = self._workload.entity(name)
        assert entity is not None
        others = [e for e in self._workload.entities if e is not entity]
        return [key for other in others if (key := foreign_key(self._workload, entity, other))]

    def _asked_of(self, name: str, pk: frozenset[str]) -> float:
        """The calls a second of the reads of an entity that give a partition, and nothing more."""
        return sum(per_second(read.rate) for read, names in self._given(name) if names == pk)

    def _given(self, name: str) -> list[tuple[Read, set[str | None]]]:
        """The reads of an entity with the attributes of it that they give."""
        return [
            (read, {bindings(self._workload, read.entities, one).get(name) for one in equalities(read)})
            for read in self._workload.reads
            if name in read.entities
        ]

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
    size = len(candidate.pk)
    ids = [places[a.name] for one in candidate.sk if (a := entity.attribute(one.attribute)) and a.id]
    if ids != sorted(ids):
        return 3
    return min(2, sum(one > other for at, one in enumerate(order) for other in order[max(at + 1, size) :]))


def _is_series(entity: Entity, candidate: Candidate) -> bool:
    """Whether a partition is the owner of a series: the rest of the entity's id is a time or a number."""
    return _has_series(entity) and set(candidate.pk) == {a.name for a in entity.id if not _counts(a)}


def _has_series(entity: Entity) -> bool:
    counting = [_counts(a) for a in entity.id]
    return any(counting) and not all(counting)


def _counts(attribute: Attribute) -> bool:
    return attribute.type.numeric or attribute.type.kind in (Kind.DATE, Kind.DATETIME)
