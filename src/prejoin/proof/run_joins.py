"""The second half of a join: each item that was found names another, and these are fetched by their ids."""

from __future__ import annotations

from prejoin.design.mapping.map_reads import followed
from prejoin.design.model import Call
from prejoin.proof.bench import Bench
from prejoin.proof.reference import Found
from prejoin.workload.model import Read


def follow(bench: Bench, read: Read, found: Found) -> tuple[Found, Found]:
    """The items that the found ones name: as they were fetched, and as the data has them."""
    fetched: Found = []
    expected: Found = []
    for name in read.entities[1:]:
        links = followed(read, bench.workload, name)
        if not links:
            continue
        named = [
            {link.other.name: values[link.own.name] for link in links if link.own.name in values} for _, values in found
        ]
        named = [one for n, one in enumerate(named) if len(one) == len(links) and one not in named[:n]]
        keys = [bench.named(name, one) for one in named]
        if keys:
            cls = bench.built.classes[name]
            if _batched(bench, read, name):
                records = bench.client.get_many(cls, keys)
            else:
                records = [bench.client.get(cls, **key) for key in keys]
            fetched += [bench.values(record) for record in records if record is not None]
        expected += [
            (name, values)
            for values in bench.items.get(name, [])
            if {link.other.name: values.get(link.other.name) for link in links} in named
        ]
    return fetched, expected


def _batched(bench: Bench, read: Read, name: str) -> bool:
    """Whether the others are read by their keys in the table, many at once; else each is found by an index."""
    operation = bench.design.operation(read.id)
    return operation is None or any(r.call is Call.BATCH_GET and name in r.entities for r in operation.requests)
