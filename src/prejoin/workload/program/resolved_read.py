"""A read with its names resolved: what each input is about, what follows from the items found, and what is returned.

`resolve_read` is computed once for each read of a workload. Keys, checks, prices, generated code and the proof ask it,
so that all of them mean the same attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import assert_never

from prejoin.constructs.registry import held_attributes
from prejoin.keys import Lookup, Order, When
from prejoin.workload.constants import constant_or_text
from prejoin.workload.lookup import alternatives, bare_name, bindings, foreign_parts, targets
from prejoin.workload.model import (
    Accept,
    Attribute,
    Combine,
    Direction,
    Entity,
    Input,
    Op,
    Read,
    Result,
    Sort,
    Workload,
)
from prejoin.workload.tenants import tenant_of


class Role(Enum):
    """How an input can be answered: by keys, or by a filter over the items that they find."""

    EQUAL = "equal"
    """One value, from the caller or constant: keys have to take it."""
    OPTIONAL = "optional"
    """A value that the caller may leave out: keys take it, or else a filter does."""
    RANGE = "range"
    """A range: the sort key has to take it."""
    MEMBERSHIP = "membership"
    """`exists`, `not exists` or `in (A, B)`: an index may hold only these items, or else a filter finds them."""
    FILTER = "filter"
    """A filter with any keys: declared as one, or of a kind that no key answers."""


def role_of(condition: Input) -> Role:
    """The role of an input in a read."""
    if condition.filter or (condition.optional and condition.op is not Op.EQ):
        return Role.FILTER
    match condition.op:
        case Op.EQ:
            return Role.OPTIONAL if condition.optional else Role.EQUAL
        case Op.LT | Op.LE | Op.GT | Op.GE | Op.BETWEEN | Op.BEGINS_WITH:
            return Role.RANGE
        case Op.EXISTS | Op.NOT_EXISTS:
            return Role.MEMBERSHIP
        case Op.IN:
            are_constants = bool(condition.values) and all(value.const is not None for value in condition.values)
            return Role.MEMBERSHIP if are_constants else Role.FILTER
        case Op.NE | Op.CONTAINS:
            return Role.FILTER
        case _:
            assert_never(condition.op)


class ReturnKind(Enum):
    """The kind of value that a pattern gives its caller."""

    NOTHING = "nothing"
    """Of a write."""
    COUNT = "count"
    ONE = "one"
    """An item, or nothing."""
    LIST = "list"
    PAGE = "page"
    COLLECTION = "collection"
    """Items of several entities."""


@dataclass(frozen=True, slots=True, eq=False)
class Clause:
    """An input of a read."""

    input: Input
    role: Role
    name: str
    """Its name without an entity, which is its name in the lookup."""
    bound: Mapping[str, Attribute]
    """The attribute that it is about, by entity. Entities without such an attribute are left out."""

    @property
    def may_be_filter(self) -> bool:
        """Whether it is a filter unless keys answer it."""
        return self.role not in (Role.EQUAL, Role.RANGE)

    @property
    def is_value(self) -> bool:
        """Whether the read has a value for the attribute, for certain or if the caller gives it."""
        return self.role in (Role.EQUAL, Role.OPTIONAL)


@dataclass(frozen=True, slots=True, eq=False)
class SortClause:
    """An attribute that a result is sorted by."""

    name: str
    bound: Mapping[str, Attribute]
    descending: bool


@dataclass(frozen=True, slots=True)
class JoinLink:
    """An attribute of a join's first entity and the attribute of the other entity whose value it holds."""

    own: Attribute
    other: Attribute
    given: bool
    """Whether the read gives its value, so that all items found share it."""


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """An entity whose items a join reads after those of the first one."""

    entity: Entity
    links: tuple[JoinLink, ...]
    """The attributes that lead to its items; none if nothing refers to it."""
    own_links: tuple[JoinLink, ...]
    """Those without the tenant, which is not given by the caller."""

    @property
    def key_links(self) -> tuple[JoinLink, ...]:
        """The links whose values differ between the items of a read; all, if every value is given."""
        return tuple(link for link in self.own_links if not link.given) or self.own_links


@dataclass(frozen=True, eq=False)
class ResolvedRead:
    """A read, and what its names mean in a workload."""

    workload: Workload
    read: Read
    entities: tuple[Entity, ...]
    """The entities that the inputs find; of a join only the first."""
    joins: tuple[Join, ...]
    """The entities that a join follows from the items found."""
    clauses: tuple[Clause, ...]
    order: tuple[SortClause, ...]
    """Empty for a count, which has no order."""
    returns: ReturnKind
    tenant: str
    """The attribute that the client of a tenant fills in; empty if the read is not for one tenant."""
    accepted: frozenset[str]
    """What decisions accept for the read, `filter` or `several pages`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entities that the inputs find."""
        return tuple(entity.name for entity in self.entities)

    @property
    def counts(self) -> bool:
        return self.returns is ReturnKind.COUNT

    @property
    def in_list(self) -> Clause | None:
        """The input that is a list of values; each is asked for by itself."""
        return next((clause for clause in self.clauses if clause.input.many), None)

    def having(self, *roles: Role) -> tuple[Clause, ...]:
        return tuple(clause for clause in self.clauses if clause.role in roles)

    @cached_property
    def groups(self) -> tuple[tuple[Clause, ...], ...]:
        """The inputs, alternatives together: an item has to pass one of each group."""
        # Alternatives stand side by side in the inputs, so the clauses can be counted off.
        clauses = iter(self.clauses)
        return tuple(tuple(next(clauses) for _ in group) for group in alternatives(self.read.inputs))

    def given(self, entity: str) -> frozenset[str]:
        """The attributes of an entity that the read knows the value of, for certain."""
        return frozenset(c.bound[entity].name for c in self.having(Role.EQUAL) if entity in c.bound)

    def wanted_of(self, *entities: Entity) -> tuple[str, ...]:
        """The wanted attributes of some entities; empty if the read wants all."""
        names = map(bare_name, self.read.needs)
        return tuple(name for name in names if any(entity.attribute(name) for entity in entities))

    @cached_property
    def lookup(self) -> Lookup:
        """The question to the planner. A list of ids is one id at a time."""
        # A filter may take over what keys do not answer, if the document accepts a filter for this read.
        values = self.having(Role.EQUAL, Role.OPTIONAL)
        ranges = self.having(Role.RANGE)
        only = [_membership(clause) for clause in self.having(Role.MEMBERSHIP)]
        may_filter = not self.accepted <= {"several pages"}
        return Lookup.of(
            *self.names,
            equal=[clause.name for clause in values if not clause.input.values],
            constants=[(clause.name, _constant(clause)) for clause in values if clause.input.values],
            within=(ranges[0].name, ranges[0].input.op.value) if ranges else None,
            order=[self._order_of(clause) for clause in self.order],
            consistent=self.read.is_consistent,
            filtered=[c.name for c in values if may_filter or c.role is Role.OPTIONAL] + [w.attribute for w in only],
            needs=self._needs(),
            roles=dict.fromkeys(self._roles()),
            only=only,
            optional=[c.name for c in values if c.role is Role.OPTIONAL and not c.input.values],
        )

    def _order_of(self, clause: SortClause) -> Order:
        """The order for the planner: of one entity, if only that one of several has the attribute."""
        entity = next(iter(clause.bound)) if len(clause.bound) == 1 and len(self.entities) > 1 else ""
        return Order(clause.name, clause.descending, entity)

    def _roles(self) -> Iterator[tuple[str, str, str]]:
        clauses: tuple[Clause | SortClause, ...] = (*self.clauses, *self.order)
        for clause in clauses:
            for entity, attribute in clause.bound.items():
                if attribute.name != clause.name:
                    yield entity, clause.name, attribute.name

    def _needs(self) -> list[str] | None:
        """The attributes that the slot must hold: the wanted ones, those of filters, and those that a join follows.

        None for all attributes. A count wants none, but that of several entities collects their items.
        """
        # A count of one entity needs only the attributes of its filters: `Select=COUNT` returns none.
        if not self.read.needs and (not self.counts or len(self.entities) > 1):
            return None
        names = [*self.wanted_of(*self.entities)]
        names += [clause.name for clause in self.clauses if clause.may_be_filter]
        names += [name for entity in self.entities for name in sorted(held_attributes(entity))]
        names += [link.own.name for join in self.joins for link in join.links]
        return list(dict.fromkeys(names))


def resolve_read(workload: Workload, read: Read) -> ResolvedRead:
    """The read with its names resolved."""
    if workload.pattern(read.id) is not read:
        return _resolve(workload, read)
    key = ("resolve_read", read.id)  # the solver asks thousands of times
    if key not in workload.memo:
        workload.memo[key] = _resolve(workload, read)
    resolved_read: ResolvedRead = workload.memo[key]
    return resolved_read


def _resolve(workload: Workload, read: Read) -> ResolvedRead:
    # The inputs of a join are about its first entity; the others are found by the items of that one.
    entity_names, joined_names = _asked_and_joined(read)
    entities = workload.entities_named(entity_names)
    clauses = tuple(_resolve_clause(workload, entity_names, input_) for input_ in read.inputs)
    returns = _return_kind(read, len(entity_names) > 1)
    order: tuple[SortClause, ...] = ()
    if returns is not ReturnKind.COUNT:
        order = tuple(_resolve_sort(workload, entity_names, sort) for sort in read.sort)
    tenant = tenant_of(workload, read)
    joined_entities = workload.entities_named(joined_names) if entities else ()
    joins = tuple(_resolve_join(workload, read, entities[0], entity, clauses, tenant) for entity in joined_entities)
    accepted = frozenset(pin.how for pin in workload.pins if isinstance(pin, Accept) and pin.pattern == read.id)
    return ResolvedRead(workload, read, entities, joins, clauses, order, returns, tenant, accepted)


def _bind(workload: Workload, entities: tuple[str, ...], name: str) -> dict[str, Attribute]:
    """The attribute of each entity that a name means."""
    attributes: dict[str, Attribute] = {}
    for entity_name, attribute_name in bindings(workload, entities, name).items():
        entity = workload.entity(entity_name)
        attribute = entity.attribute(attribute_name) if entity else None
        if attribute:
            attributes[entity_name] = attribute
    return attributes


def _resolve_clause(workload: Workload, entities: tuple[str, ...], input_: Input) -> Clause:
    return Clause(input_, role_of(input_), bare_name(input_.attribute), _bind(workload, entities, input_.attribute))


def _resolve_sort(workload: Workload, entities: tuple[str, ...], sort: Sort) -> SortClause:
    attributes = _bind(workload, entities, sort.attribute)
    return SortClause(bare_name(sort.attribute), attributes, sort.direction is Direction.DESC)


def _asked_and_joined(read: Read) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The entities that the inputs of a read find, and those that it follows from the items found."""
    match read.combine:
        case Combine.JOIN:
            return read.entities[:1], read.entities[1:]
        case Combine.COLLECTION | None:
            return read.entities, ()
        case _:
            assert_never(read.combine)


def _return_kind(read: Read, are_several: bool) -> ReturnKind:
    match read.result:
        case Result.COUNT:
            return ReturnKind.COUNT
        case Result.ONE | Result.MANY | None if are_several:
            return ReturnKind.COLLECTION
        case Result.ONE | Result.MANY | None if any(input_.many for input_ in read.inputs):
            return ReturnKind.LIST
        case Result.ONE:
            return ReturnKind.ONE
        case Result.MANY | None:
            return ReturnKind.LIST if read.paginated is False else ReturnKind.PAGE
        case _:
            assert_never(read.result)


def _resolve_join(
    workload: Workload, read: Read, first: Entity, other: Entity, clauses: tuple[Clause, ...], tenant: str
) -> Join:
    """The attributes that lead from a join's first entity to another.

    `via` names one of them; otherwise it is the first reference to the other entity, if possible one that is not an
    input. If it holds a part of that entity's id, the attributes with the other parts follow, in the order of the id.
    """
    own_clauses = [clause for clause in clauses if first.name in clause.bound]
    given_names = {clause.bound[first.name].name for clause in own_clauses if clause.role is Role.EQUAL}
    list_names = {clause.bound[first.name].name for clause in own_clauses if clause.input.many}
    reference = _join_reference(workload, read, first, other, given_names, tenant)
    pairs = _join_pairs(workload, first, other, reference) if reference else ()
    links = tuple(JoinLink(holder, part, holder.name in given_names - list_names) for holder, part in pairs)
    return Join(other, links, tuple(link for link in links if link.own.name != tenant))


def _join_pairs(
    workload: Workload, first: Entity, other: Entity, reference: Attribute
) -> Iterator[tuple[Attribute, Attribute]]:
    """The attributes of a join's first entity, each with that of the other entity whose value it holds."""
    for target_entity, held_attribute in targets(workload, reference):
        if target_entity is not other:
            continue
        if not held_attribute.id:
            yield reference, held_attribute
            return
        # The id of a room is `buildingId, number`: with `roomNumber → Room.number` the building is held by another
        # attribute.
        holders = {part.name: holder for part, holder in foreign_parts(workload, first, other, reference)}
        holders.setdefault(held_attribute.name, reference)
        for part in other.id:
            if part.name in holders:
                yield holders[part.name], part
        return


def _join_reference(
    workload: Workload, read: Read, first: Entity, other: Entity, given_names: set[str], tenant: str
) -> Attribute | None:
    """The attribute of a join's first entity that refers to the other: the one after `via`, or else the first."""
    if read.via and (named_reference := first.attribute(bare_name(read.via))):
        return named_reference
    references = [a for a in first.attributes if any(entity is other for entity, _ in targets(workload, a))]
    # If possible one that is no input; else any but the tenant's, which every entity has.
    for excluded_names in (given_names, {tenant}):
        for reference in references:
            if reference.name not in excluded_names:
                return reference
    return None


def _membership(clause: Clause) -> When:
    condition = clause.input
    # All entities of a read have the attribute with one type, so the first one's type is as good as any.
    attribute = next(iter(clause.bound.values()), None)
    name = attribute.name if attribute else clause.name
    texts = [value.const for value in condition.values if value.const is not None]
    values = frozenset(constant_or_text(text, attribute.type) if attribute else text for text in texts)
    return When(name, values if condition.op is Op.IN else None, absent=condition.op is Op.NOT_EXISTS)


def _constant(clause: Clause) -> object:
    """The constant of an input, with the type of its attribute."""
    text = clause.input.values[0].const
    attribute = next(iter(clause.bound.values()), None)
    return text if attribute is None or text is None else constant_or_text(text, attribute.type)
