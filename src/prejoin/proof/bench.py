"""A table with data in it, on which patterns are run: the design's schema, a client, and what was written so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prejoin.design.facets import planner_facets
from prejoin.design.model import Design
from prejoin.keys import Facet
from prejoin.proof.data import Maker, Values
from prejoin.proof.schema import Built, schema_of
from prejoin.table import Call, Client
from prejoin.transport import Transport
from prejoin.workload.model import Entity, Workload


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

    @classmethod
    def ready(cls, workload: Workload, design: Design, transport: Transport, now: datetime, seed: int = 1) -> Bench:
        """A table made from a design, filled with data through the client."""
        built = schema_of(design, workload)
        calls: list[Call] = []
        client = Client(built.schema, design.table, transport, observe=calls.append)
        bench = cls(
            workload, design, now, built, client, planner_facets(design, workload), Maker(workload, now, seed), calls
        )
        client.create_table()
        for name, items in bench.maker.make_all().items():
            for values in items:
                client.insert(bench.record(name, values))
        calls.clear()
        return bench

    @property
    def items(self) -> Mapping[str, list[Values]]:
        return self.maker.made

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
        found = {name: getattr(record, python) for name, python in self.built.names[entity].items()}
        return entity, {name: value for name, value in found.items() if value is not None}
