"""The table itself: its indexes, its time to live and the shards of its counters.

No result of a pattern depends on these, so each is compared with the design on its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.constructs.registry import ending_in
from prejoin.design.mapping.facets import unsaid_ending
from prejoin.design.model import Design, ProjectionKind, Slot
from prejoin.patterns.aggregates.sharded_counter import BoundCounter
from prejoin.proof.sample_table import SampleTable
from prejoin.proof.table_content import TableContent
from prejoin.table.codec.values import Json


def prove_table(sample: SampleTable) -> Iterator[str]:
    """The differences between the table that the generated schema makes and the design."""
    table = sample.unobserved.call("DescribeTable", {})["Table"]
    created_indexes = {index["IndexName"]: index for kind in _INDEXES for index in table.get(kind) or ()}
    for slot in sample.design.indexes:
        index = created_indexes.pop(slot.name, None)
        if index is None:
            yield f"the table has no index {slot.name}"
        else:
            yield from _index_differences(slot, index, sample.design)
    # Each index is paid for with every write, so one too many is a difference, too.
    yield from (f"the table has an index {name}, which is not in the design" for name in created_indexes)
    ttl = sample.unobserved.call("DescribeTimeToLive", {})["TimeToLiveDescription"].get("AttributeName", "")
    ttl_attribute = _ttl_attribute(sample)
    if ttl != ttl_attribute:
        yield f"the time to live attribute of the table is {ttl or 'none'}, and should be {ttl_attribute or 'none'}"
    yield from _untimely_items(sample)
    yield from _counter_differences(sample)


def _ttl_attribute(sample: SampleTable) -> str:
    """The time to live attribute that the table should have: one of text is ignored by DynamoDB."""
    ends = any(ending_in(entity, sample.design) for entity in sample.workload.entities)
    return sample.design.ttl_attribute if ends else unsaid_ending(sample.design, sample.workload)


_INDEXES = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def _index_differences(slot: Slot, index: Json, design: Design) -> Iterator[str]:
    keys = [key["AttributeName"] for key in index["KeySchema"]]
    key_names = [key.name for key in (*slot.pk, *slot.sk)]
    if keys != key_names:
        yield f"the key of {slot.name} is {' and '.join(keys)}, and in the design it is {' and '.join(key_names)}"
    kind = index["Projection"]["ProjectionType"]
    if kind != slot.projection.kind.value:
        yield f"{slot.name} holds {kind}, and in the design {slot.projection.kind.value}"
    elif slot.projection.kind is ProjectionKind.INCLUDE:
        # Each item's type goes along, and its keys are there in any case.
        projected_names = {*index["Projection"]["NonKeyAttributes"], design.type_attribute}
        base = design.slots[0]
        keys_of_items = {key.name for key in (*base.pk, *base.sk, *slot.pk, *slot.sk)}
        missing = {*slot.projection.attributes} - projected_names - keys_of_items
        yield from (f"{slot.name} does not hold `{name}`, and in the design it does" for name in sorted(missing))


def _untimely_items(sample: SampleTable) -> Iterator[str]:
    """Items whose time to live is not a number, so that DynamoDB does not see that they end."""
    names = {
        item.tag: name
        for item in sample.design.items
        if (entity := sample.workload.entity(item.entity)) and (name := ending_in(entity, sample.design))
    }
    base = sample.design.slots[0]
    content = TableContent(sample.unobserved, [key.name for key in (*base.pk, *base.sk)], None)
    for stored_item in content.scan().values() if names else ():
        tag = stored_item.get(sample.design.type_attribute, {}).get("S", "")
        # DynamoDB ignores a time to live that is a text, without an error.
        if tag in names and names[tag] in stored_item and "N" not in stored_item[names[tag]]:
            yield f"{tag}.{names[tag]} is not stored as a number of seconds, so DynamoDB does not delete its items"
            return


def _counter_differences(sample: SampleTable) -> Iterator[str]:
    """Counters with another number of shards: their sums are right, and their partitions hotter or reads dearer."""
    for counter in sample.design.counters:
        patterns = sample.package.schema.entity(sample.package.classes[counter.entity]).patterns
        shards = [pattern.shards for pattern in patterns if isinstance(pattern, BoundCounter)]
        if shards != [counter.shards]:
            yield f"the numbers of {counter.name} are in {shards} shards, and in the design in {counter.shards}"
