"""A case of a read for an example or a test: one item of each entity, which it finds, and the inputs that find it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prejoin.cases.conditions import value_of
from prejoin.cases.constraints import Constraint, ContradictionError, Unknown, Variable, comparison
from prejoin.cases.items import Values
from prejoin.cases.sample_data import SampleData
from prejoin.cases.search import solve
from prejoin.cases.slots import input_variable, stored_variable
from prejoin.cases.write_cases import NothingFitsError
from prejoin.types import Kind
from prejoin.workload.lookup import member_of
from prejoin.workload.model import Attribute, Entity, Input, Op, Read
from prejoin.workload.program.resolved_read import Join, resolve_read


@dataclass(slots=True)
class PlainRead:
    """The items before a read, and for each input the attribute that has its value."""

    items: list[tuple[Entity, Values]] = field(default_factory=list)
    joined: list[tuple[Entity, Values]] = field(default_factory=list)
    """The items that a join follows from the first one."""
    inputs: dict[str, tuple[int, Attribute]] = field(default_factory=dict)
    """For an input that the caller gives, the number of an item and its attribute."""


def plain_read(sample: SampleData, read: Read) -> PlainRead:
    """The case of a read. It raises `NothingFitsError` if no item satisfies its conditions."""
    return _PlainReads(sample, read).build()


class _PlainReads:
    def __init__(self, sample: SampleData, read: Read) -> None:
        self.sample = sample
        self.read = read
        self.resolved = resolve_read(sample.workload, read)
        self.entities = self.resolved.entities
        self.case = PlainRead()
        self.constraints: list[Constraint] = []
        self.unknowns: dict[Variable, Unknown] = {}
        self.roots: dict[Variable, Variable] = {}
        self.absent: set[Variable] = set()

    def build(self) -> PlainRead:
        for clause in self.resolved.clauses:
            for at, entity in enumerate(self.entities):
                attribute = clause.bound.get(entity.name)
                if attribute is not None:
                    self._constrain(clause.input, at, entity, attribute)
        try:
            values = solve(self.constraints, self.unknowns, self.sample.generator.value, self.sample.generator.bounds)
        except ContradictionError as error:
            raise NothingFitsError(str(error)) from None
        for at, entity in enumerate(self.entities):
            self.case.items.append((entity, self._item(at, entity, values)))
        self.case.joined = [self._joined_item(join) for join in self.resolved.joins]
        return self.case

    def _item(self, at: int, entity: Entity, values: dict[Variable, Any]) -> Values:
        """The item of an entity. Its attributes that are inputs decide these for the next items."""
        required_values: Values = {}
        for attribute in entity.attributes:
            if self._root(at, attribute) in values:
                required_values[attribute.name] = values[self._root(at, attribute)]
            if stored_variable((at, 0), attribute.name) in self.absent:
                required_values[attribute.name] = None
        item = self.sample.generator.make(entity, required_values)
        for attribute in entity.attributes:
            root = self._root(at, attribute)
            if root[0] == "input" and attribute.name in item:
                values.setdefault(root, item[attribute.name])
        return item

    def _constrain(self, source: Input, at: int, entity: Entity, attribute: Attribute) -> None:
        """The constraint of an input on the item of an entity."""
        variable = stored_variable((at, 0), attribute.name)
        if source.op is Op.NOT_EXISTS:
            self.absent.add(variable)
        elif source.values and source.values[0].attribute is not None:
            other = entity.attribute(source.values[0].attribute)
            if other is not None:
                self._compare(source, [(at, entity, attribute), (at, entity, other)], [])
        elif source.values:
            like = attribute
            if source.op is Op.CONTAINS and attribute.type.kind in (Kind.SET, Kind.LIST):
                like = member_of(attribute)
            constants = [value_of(value, like, self.sample.now) for value in source.values]
            op = Op.IN if source.many else source.op
            self._compare(source, [(at, entity, attribute)], constants, op)
        else:
            if source.op is Op.EQ:
                self.roots[variable] = input_variable(source.attribute)
            self.case.inputs.setdefault(source.attribute, (at, attribute))
            if attribute.optional:
                self._compare(source, [(at, entity, attribute)], [], Op.EXISTS)

    def _compare(
        self,
        source: Input,
        places: Sequence[tuple[int, Entity, Attribute]],
        constants: Sequence[Any],
        op: Op | None = None,
    ) -> None:
        variables: list[Variable] = []
        for at, entity, attribute in places:
            root = self._root(at, attribute)
            unknown = self.unknowns.setdefault(root, Unknown())
            unknown.attributes.append(attribute)
            unknown.usual += self.sample.generator.usual_values(entity, attribute)
            variables.append(root)
        self.constraints.append(comparison(source.attribute, op or source.op, variables, constants))

    def _root(self, at: int, attribute: Attribute) -> Variable:
        """The variable of an attribute; that of the input which it is equal to."""
        variable = stored_variable((at, 0), attribute.name)
        return self.roots.get(variable, variable)

    def _joined_item(self, join: Join) -> tuple[Entity, Values]:
        """The item that the first one refers to."""
        first = self.case.items[0][1]
        values = {link.other.name: first[link.own.name] for link in join.links}
        return join.entity, self.sample.generator.make(join.entity, values)


def time_of_read(sample_time: datetime, read: Read, entities: Sequence[Entity]) -> datetime:
    """The time of a read. One that asks for expired items comes after the time to live of the samples."""
    for source in read.inputs:
        is_before = source.op in (Op.LT, Op.LE) and any(value.now is not None for value in source.values)
        attributes = [entity.attribute(source.attribute.rpartition(".")[2]) for entity in entities]
        if is_before and any(attribute is not None and attribute.ttl for attribute in attributes):
            return sample_time.replace(year=2100)
    return sample_time
