"""A table with data in it, on which patterns are run: the design's schema, a client, and what was written so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import Design
from prejoin.keys import Facet, KeyValueError, Natural
from prejoin.proof.data import Maker, Values
from prejoin.proof.schema import Built, python_type, schema_of
from prejoin.protocol.errors import DynamoDBError
from prejoin.table import Call, Client, TableError
from prejoin.transport import Transport
from prejoin.workload.model import Accept, Entity, OutOfScope, Workload

REFUSALS = (TableError, DynamoDBError, KeyValueError)
"""How what cannot be asked or written is refused."""


def as_they_stand(facets: Iterable[Facet]) -> frozenset[str]:
    """The attributes that are keys by themselves, with nothing written before or after them."""
    forms = [form for facet in facets for form in (facet.pk, facet.sk) if form]
    alone = [f for f in forms if isinstance(f, Natural) or (f.raw and len(f.parts) == 1)]
    return frozenset(name for form in alone for name in form.attributes)


@dataclass(slots=True)
class Bench:
    workload: Workload
    design: Design
    now: datetime
    built: Built
    client: Client
    facets: Sequence[Facet]
    maker: Maker
    calls: list[Call] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Items of the data that could not be written, and why."""
    _views: dict[tuple[str, tuple[str, ...]], type[Any]] = field(default_factory=dict)

    @classmethod
    def ready(
        cls,
        workload: Workload,
        design: Design,
        transport: Transport,
        now: datetime,
        seed: int = 1,
        harsh: bool = False,
    ) -> Bench:
        """A table made from a design and filled through the client; `harsh`, with values that are hard on keys."""
        built = schema_of(design, workload, lambda: now)
        calls: list[Call] = []
        client = Client(built.schema, design.table, transport, observe=calls.append)
        # Keys made of values as they are cannot hold the separator, and say so: that is known, and not to be proven.
        facets = planner_facets(design, workload)
        maker = Maker(workload, now, seed, harsh, design.separator if design.raw_keys else "", as_they_stand(facets))
        bench = cls(workload, design, now, built, client, facets, maker, calls)
        client.create_table()
        for name, items in maker.make_all().items():
            items[:] = [values for values in items if bench._filled(name, values)]
        calls.clear()
        return bench

    def _filled(self, entity: str, values: Values) -> bool:
        """Whether an item of the data could be written. One that cannot is a finding about the design."""
        try:
            self.client.insert(self.record(entity, values))
        except REFUSALS as problem:
            self.refused.append(f"{entity} {values} cannot be written: {problem}")
            return False
        return True

    @property
    def items(self) -> Mapping[str, list[Values]]:
        return self.maker.made

    @property
    def outside(self) -> dict[str, str]:
        """The patterns that this table does not answer and that the document says so of, with the reason."""
        found: dict[str, str] = {}
        for decision in self.workload.decisions:
            match decision.pin:
                case OutOfScope(pattern):
                    found[pattern] = "it is out of scope"
                case Accept(pattern):
                    operation = self.design.operation(pattern)
                    if operation is not None and not operation.served:
                        found[pattern] = f"{operation.problem}, which the document accepts"
        return found

    @contextmanager
    def watched(self) -> Iterator[list[Call]]:
        """The calls made inside the `with`."""
        found: list[Call] = []
        self.calls.clear()
        yield found
        found += self.calls

    def entity(self, name: str) -> Entity:
        found = self.workload.entity(name)
        if found is None:
            raise KeyError(name)
        return found

    def record(self, entity: str, values: Values) -> Any:
        """Values as an object of the entity's class."""
        return self.built.classes[entity](**self.named(entity, values))

    def named(self, entity: str, values: Values) -> dict[str, Any]:
        """Values by the names that they have in Python."""
        names = self.built.names[entity]
        return {names[name]: value for name, value in values.items()}

    def values(self, record: Any) -> tuple[str, Values]:
        """The entity of an object, and its values by the workload's names."""
        entity = next(name for name, cls in self.built.classes.items() if isinstance(record, cls))
        return entity, self.values_as(entity, record)

    def values_as(self, entity: str, record: Any) -> Values:
        """The values of an object of an entity's class, or of one with some of its attributes."""
        found = {name: getattr(record, python, None) for name, python in self.built.names[entity].items()}
        return {name: value for name, value in found.items() if value is not None}

    def view(self, entity: str, needs: Iterable[str]) -> type[Any]:
        """A class with some of an entity's attributes, for those who want no others."""
        names = tuple(needs)
        found = self._views.get((entity, names))
        if found is None:
            attributes = [a for a in self.entity(entity).attributes if a.name in names]
            python = self.built.names[entity]
            required = [(python[a.name], python_type(a.type)) for a in attributes if not a.optional]
            optional = [(python[a.name], python_type(a.type) | None, None) for a in attributes if a.optional]
            found = msgspec.defstruct(f"{self.built.classes[entity].__name__}View", [*required, *optional], frozen=True)
            self._views[entity, names] = found
        return found
