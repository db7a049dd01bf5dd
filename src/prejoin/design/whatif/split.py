"""Splits a workload by table: `split_tables(workload)`.

Each statement `Payment needs its own restore` makes a table; what is left is another. A table gets the patterns of its
entities. A pattern over several tables becomes one pattern for each, with the same id. References to entities of
another table become plain attributes, because no key of this table can use them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import TypeVar

from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_of
from prejoin.design.pins import pins_of
from prejoin.workload.conditions import entities_of, with_leaves
from prejoin.workload.lookup import bindings, foreign_key, identified, taken_inputs
from prejoin.workload.model import (
    Attribute,
    Cardinality,
    Combine,
    Condition,
    Consistency,
    Context,
    Decision,
    Entity,
    Input,
    ItemCollection,
    Model,
    Naming,
    Need,
    OwnTable,
    Pattern,
    Read,
    Relationship,
    Result,
    Sort,
    Uniqueness,
    Workload,
    Write,
)

REST = "rest"
"""The name of the table without needs."""


class Loss(StrEnum):
    """The losses of a pattern if its entities are in several tables."""

    REQUEST = "request"
    """A read of several entities is no longer one request."""
    TRANSACTION = "transaction"
    """A write of several items is no longer one transaction of the generated code."""
    CONDITION = "condition"
    """A write can no longer depend on an item of another table."""


class Crossing(Model, frozen=True):
    """A pattern over several tables."""

    pattern: str
    loss: Loss
    entities: tuple[str, ...]


class TablePart(Model, frozen=True):
    """One of several tables: its entities and the workload for it alone."""

    name: str
    entities: tuple[str, ...]
    needs: tuple[Need, ...]
    workload: Workload


class Split(Model, frozen=True):
    parts: tuple[TablePart, ...]
    """The tables with needs, in the order of the document; last the rest."""
    crossings: tuple[Crossing, ...]


def needs_own_table(workload: Workload) -> bool:
    """Whether the document says that some of its entities need a table of their own."""
    return any(len(pin.entities) < len(workload.entities) for pin in pins_of(workload, OwnTable))


def split_tables(workload: Workload) -> Split:
    """The workload of each table, and the patterns over several of them."""
    groups = [(pin.entities, pin.needs) for pin in pins_of(workload, OwnTable)]
    grouped_names = set[str]().union(*(entities for entities, _ in groups))
    remaining_names = tuple([entity.name for entity in workload.entities if entity.name not in grouped_names])
    if remaining_names:
        # The rest is a table like the others, without a need of its own.
        groups.append((remaining_names, ()))
    parts: list[TablePart] = []
    for entities, needs in groups:
        part = _Part(workload, entities, needs).make_workload()
        parts.append(TablePart(entities[0] if needs else REST, entities, needs, part))
    tables = [frozenset(entities) for entities, _ in groups]
    return Split(tuple(parts), _without_none(_crossing(pattern, tables) for pattern in workload.patterns))


def _crossing(pattern: Pattern, tables: Sequence[frozenset[str]]) -> Crossing | None:
    """What a pattern loses by the split; None if all of its entities are in one table."""
    if isinstance(pattern, Read):
        names = dict.fromkeys(pattern.entities)
        loss = Loss.TRANSACTION if pattern.consistency is Consistency.TRANSACTIONAL else Loss.REQUEST
    else:
        names = dict.fromkeys(action.entity for action in pattern.actions)
        loss = Loss.TRANSACTION if pattern.atomic is not False else Loss.REQUEST
        if _is_within_one(names, tables):
            loss = Loss.CONDITION
        names |= dict.fromkeys(_checked_entity(check, pattern) for check in pattern.checks)
    return None if _is_within_one(names, tables) else Crossing(pattern.id, loss, tuple(names))


def _is_within_one(names: Collection[str], tables: Sequence[frozenset[str]]) -> bool:
    return any(table.issuperset(names) for table in tables)


def _checked_entity(condition: Condition, write: Write) -> str:
    """The entity that a condition is about."""
    return next(iter(entities_of(condition)), "") or write.first_entity


def _with_entity(condition: Condition, entity: str) -> Condition:
    """A condition with the name of the entity that it is about."""
    if isinstance(condition, Uniqueness):
        return replace(condition, entity=entity)
    return with_leaves(condition, lambda leaf: replace(leaf, entity=entity))


_T = TypeVar("_T")


class _Part:
    """The part of a workload for some of its entities."""

    def __init__(self, workload: Workload, entities: tuple[str, ...], needs: tuple[Need, ...]) -> None:
        self._whole, self._names = workload, frozenset(entities)
        self._suffix = entities[0] if needs else ""
        """The suffix that distinguishes this table's names from those of the rest, which keeps its names."""

    def make_workload(self) -> Workload:
        whole = self._whole
        reads = _without_none(map(self._read, whole.reads))
        writes = _without_none(map(self._write, whole.writes))
        deletes = _without_none(map(self._write, whole.deletes))
        patterns = {read.id for read in reads}.union(write.id for write in (*writes, *deletes))
        entities = [entity for entity in whole.entities if entity.name in self._names]
        return replace(
            whole,
            title=f"{whole.title} {self._suffix}".strip(),
            context=self._context(),
            entities=tuple(map(self._entity, entities)),
            reads=reads,
            writes=writes,
            deletes=deletes,
            collections=_without_none(self._collection(collection, patterns) for collection in whole.collections),
            decisions=_without_none(self._decision(d, patterns) for d in whole.decisions),
        )

    def _collection(self, collection: ItemCollection, patterns: set[str]) -> ItemCollection | None:
        """The part of an item collection in this table; None if less than two of its entities are here."""
        names = tuple([name for name in collection.entities if name in self._names])
        own_patterns = tuple([pattern for pattern in collection.patterns if pattern in patterns])
        return replace(collection, entities=names, patterns=own_patterns) if len(names) > 1 else None

    def _context(self) -> Context | None:
        context = self._whole.context
        if context is None or context.tenant is None:
            return context
        tenant = context.tenant
        entity = tenant.entity if tenant.entity in self._names else ""
        exempt = tuple(name for name in tenant.exempt if name in self._names)
        return replace(context, tenant=replace(tenant, entity=entity, exempt=exempt))

    def _decision(self, decision: Decision, patterns: set[str]) -> Decision | None:
        pin = decision.pin
        if isinstance(pin, OwnTable):  # its table has a stream by this; what else it needs is for those who deploy it
            streams = Need.STREAM in pin.needs and set(pin.entities) == self._names
            return replace(decision, pin=replace(pin, needs=(Need.STREAM,))) if streams else None
        if isinstance(pin, Naming) and pin.what == "table" and self._suffix:
            return replace(decision, pin=replace(pin, name=f"{pin.name}-{self._suffix}"))
        # A decision goes to the table that has everything it names.
        entities = {getattr(pin, "entity", ""), getattr(pin, "parent", "")} - {""}
        pattern = getattr(pin, "pattern", "")
        return decision if entities <= self._names and (not pattern or pattern in patterns) else None

    # --- Entities ---------------------------------------------------------------------------------------------------

    def _entity(self, entity: Entity) -> Entity:
        return replace(
            entity,
            attributes=tuple(map(self._attribute, entity.attributes)),
            relationships=tuple(filter(self._is_relationship_here, entity.relationships)),
            cardinality=self._cardinality(entity),
            excludes=tuple(name for name in entity.excludes if name in self._names),
        )

    def _is_relationship_here(self, relationship: Relationship) -> bool:
        """Whether all entities of a relationship are in this table, also one between the two."""
        between = set(filter(self._whole.entity, relationship.via))
        return self._names.issuperset({relationship.left, relationship.right, *between})

    def _attribute(self, attribute: Attribute) -> Attribute:
        def here(name: str) -> bool:
            return name.partition(".")[0] in self._names

        # No key of this table can use an id of another table's item.
        references = tuple(filter(here, filter(None, (attribute.references, *attribute.references_or))))
        return replace(
            attribute,
            references=references[0] if references else "",
            references_or=references[1:],
            copy_of=attribute.copy_of if here(attribute.copy_of) else "",
            snapshot_of=attribute.snapshot_of if here(attribute.snapshot_of) else "",
            follows=attribute.follows if attribute.follows and here(attribute.follows.source) else None,
        )

    def _cardinality(self, entity: Entity) -> tuple[Cardinality, ...]:
        """The figures: for each item of another table, they are for each value of the attribute that holds its id."""
        figures: list[Cardinality] = []
        for figure in entity.cardinality:
            parent = self._whole.entity(figure.per)
            if parent is None or parent.name in self._names:
                figures.append(figure)
                continue
            key = foreign_key(self._whole, entity, parent)
            if key and len(key) == 1:
                (name,) = key
                figures.append(replace(figure, per=name))
        if tuple(figures) != entity.cardinality and all(figure.per for figure in figures):
            figures.append(Cardinality(count_of(self._whole, entity)))  # it followed from the other table's figures
        return tuple(figures)

    # --- Patterns ---------------------------------------------------------------------------------------------------

    def _read(self, read: Read) -> Read | None:
        """The part of a read that this table answers; None if it has none of its entities."""
        own_names = tuple([name for name in read.entities if name in self._names])
        if not own_names or own_names == read.entities:
            return read if own_names else None
        first = self._whole.entity(own_names[0])
        assert first is not None
        # The second part of a join gets the ids that the first one found in the other table.
        is_joined = read.combine is Combine.JOIN and own_names[0] != read.entities[0]
        inputs = self._own_inputs(read, own_names) if not is_joined else ()
        inputs = inputs or _list_of_ids(first) or self._own_inputs(read, own_names)
        finds_one = len(own_names) == 1 and _is_of_one_item(first, inputs)
        needs = tuple([name for name in read.needs if self._bound(read.entities, own_names, name)])
        part = replace(read, entities=own_names, inputs=inputs, sort=self._own_sort(read, own_names), needs=needs)
        if read.result is not Result.COUNT:
            part = replace(part, result=Result.ONE if finds_one else Result.MANY)
        if finds_one or is_joined:
            part = replace(part, sort=(), paginated=None, page=None, limit=None)
        return part if len(own_names) > 1 else replace(part, combine=None, via="")

    def _own_inputs(self, read: Read, own_names: tuple[str, ...]) -> tuple[Input, ...]:
        named_inputs = [(self._bound(read.entities, own_names, input_.attribute), input_) for input_ in read.inputs]
        return tuple(replace(input_, attribute=name) for name, input_ in named_inputs if name)

    def _own_sort(self, read: Read, own_names: tuple[str, ...]) -> tuple[Sort, ...]:
        named_sorts = [(self._bound(read.entities, own_names, sort.attribute), sort) for sort in read.sort]
        return tuple(Sort(name, sort.direction) for name, sort in named_sorts if name)

    def _bound(self, entities: tuple[str, ...], own: tuple[str, ...], name: str) -> str:
        """The name of an input for the entities of this table; empty if it is of none of them."""
        names = {bound for owner, bound in bindings(self._whole, entities, name).items() if owner in own}
        return name if len(names) > 1 else next(iter(names), "")

    def _write(self, write: Write) -> Write | None:
        actions = tuple(action for action in write.actions if action.entity in self._names)
        if not actions:
            return None
        entities_by_check = [(check, _checked_entity(check, write)) for check in write.checks]
        own_checks = [(check, name) for check, name in entities_by_check if name in self._names]
        checks = tuple([_with_entity(check, name) for check, name in own_checks])
        if {*write.entities} <= self._names and (len(actions), len(checks)) == (len(write.actions), len(write.checks)):
            return write
        own = tuple(dict.fromkeys(action.entity for action in actions))
        other_names = {name for _, name in own_checks}.difference(own)
        # One action on one item is atomic by itself, so the document need not say it.
        is_transaction = bool(other_names) or len(actions) > 1 or any(action.many for action in actions)
        atomic = write.atomic if is_transaction else False
        part = replace(write, entities=own, actions=actions, checks=checks, atomic=atomic)
        return replace(part, inputs=self._inputs(write, part))

    def _inputs(self, write: Write, part: Write) -> tuple[Input, ...]:
        """The inputs of a write that the items, changes and conditions of its part take."""
        # An input that only the other table's items take is left out here.
        input_names = taken_inputs(self._whole, part).union(*(action.by for action in part.actions))
        entities = tuple(dict.fromkeys((*write.entities, *(action.entity for action in write.actions))))
        inputs: dict[str, Input] = {}
        for argument in write.inputs:
            name = argument.attribute
            if name not in input_names:
                name = self._bound(entities, part.entities, name)
            if name:
                inputs.setdefault(name, replace(argument, attribute=name))
        return tuple(inputs.values())


def _list_of_ids(entity: Entity) -> tuple[Input, ...]:
    """The inputs that give several ids of an entity; the last part differs."""
    return tuple([Input(part.name, many=part is entity.id[-1]) for part in entity.id])


def _is_of_one_item(entity: Entity, inputs: Sequence[Input]) -> bool:
    """Whether inputs of a read identify one item of an entity."""
    names = [condition.attribute for condition in inputs]
    return identified(entity, names) and not any(condition.many for condition in inputs)


def _without_none(parts: Iterable[_T | None]) -> tuple[_T, ...]:
    return tuple(part for part in parts if part is not None)
