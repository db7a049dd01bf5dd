"""The second half of a join: each item that was found names another, and these are fetched by their ids."""

from __future__ import annotations

from prejoin.design.model import Call
from prejoin.proof.bench import Bench
from prejoin.proof.reference import Found
from prejoin.workload.lookup import bindings, equalities, target
from prejoin.workload.model import Attribute, Entity, Read
from prejoin.workload.tenants import common_tenant


def follow(bench: Bench, read: Read, found: Found) -> tuple[Found, Found]:
    """The items that the found ones name: as they were fetched, and as the data has them."""
    fetched: Found = []
    expected: Found = []
    first = bench.entity(read.entities[0])
    for name in read.entities[1:]:
        for attribute in _followed(bench, read, first, bench.entity(name)):
            held = target(bench.workload, attribute)
            assert held is not None  # it was followed because it refers to something
            tenant = common_tenant(bench.workload, first.name, name)
            parts = (held[1].name, *tenant)
            named = dict.fromkeys(
                (values[attribute.name], *(values[one] for one in tenant))
                for _, values in found
                if attribute.name in values
            )
            keys = [bench.named(name, dict(zip(parts, values, strict=True))) for values in named]
            if keys:
                cls = bench.built.classes[name]
                if _batched(bench, read, name):
                    records = bench.client.get_many(cls, keys)
                else:
                    records = [bench.client.get(cls, **key) for key in keys]
                fetched += [bench.values(record) for record in records if record is not None]
            expected += [(name, v) for v in bench.items.get(name, []) if tuple(map(v.get, parts)) in named]
    return fetched, expected


def _batched(bench: Bench, read: Read, name: str) -> bool:
    """Whether the others are read by their keys in the table, many at once; else each is found by an index."""
    operation = bench.design.operation(read.id)
    return operation is None or any(r.call is Call.BATCH_GET and name in r.entities for r in operation.requests)


def _followed(bench: Bench, read: Read, first: Entity, other: Entity) -> list[Attribute]:
    """The attribute that leads to the other entity: the one that is said, or the only one that is not asked by."""
    if read.via and (said := first.attribute(read.via.rpartition(".")[2])):
        return [said]
    asked = {bindings(bench.workload, read.entities[:1], name).get(first.name) for name in equalities(read)}
    leading = [a for a in first.attributes if (held := target(bench.workload, a)) and held[0] is other]
    return [a for a in leading if a.name not in asked][:1]
