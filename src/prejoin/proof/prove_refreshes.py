"""Items that repeat values of a source: every source is refreshed, and the table compared with brute force."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from prejoin.cases.belonging import references
from prejoin.cases.case import WriteStep
from prejoin.cases.items import Values
from prejoin.constructs.construct import RefreshedConstruct
from prejoin.design.cost.refreshes import refreshes
from prejoin.patterns.follows import refresh
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import REFUSALS, SampleTable
from prejoin.workload.model import Action, Verb


def prove_refreshes(sample: SampleTable, expected_table: ExpectedTable) -> str:
    """Refresh all sources with both clients in turn, and return the first difference; empty if there is none.

    The writes before have changed sources, and the data has items with other values than their source.
    """
    constructs = [refresh.bound for refresh in refreshes(sample.workload, sample.design)]
    if wrong := _unrefreshed_attribute(sample, constructs):
        return wrong
    for source in {bound.source.name: bound.source for bound in constructs}.values():
        own = [bound for bound in constructs if bound.source is source]
        for turn, item in enumerate(list(sample.items.get(source.name, []))):
            wrong = _prove_refresh(sample, expected_table, own, item, asynchronous=turn % 2 == 1)
            if wrong:
                return wrong
    return ""


def _prove_refresh(
    sample: SampleTable,
    expected_table: ExpectedTable,
    constructs: Sequence[RefreshedConstruct],
    item: Values,
    *,
    asynchronous: bool,
) -> str:
    """Refresh one source, and return what is wrong; empty if nothing is. The constructs are those of its entity."""
    source = constructs[0].source
    key = sample.package.named(source.name, {part: item[part] for part in sample.base(source)})
    text = f"{source.name} {key}"
    try:
        expected_count = _expect(sample, expected_table, constructs, item)
        count = _refresh(sample, source.name, key, asynchronous=asynchronous)
    except (*REFUSALS, ValueError) as error:
        return f"{text} cannot be refreshed: {error}"
    if count != expected_count:
        return f"a refresh of {text} updated {count} items, and {expected_count} differed from it"
    wrong = expected_table.difference()
    return f"after a refresh of {text}: {wrong}" if wrong else ""


def _unrefreshed_attribute(sample: SampleTable, constructs: Iterable[RefreshedConstruct]) -> str:
    """An attribute that follows another in the document, and that no construct refreshes; empty if there is none.

    The code is made of the same constructs. So what they leave out would be missed nowhere.
    """
    attributes = [
        (bound.entity.name, own, f"{bound.source.name}.{origin}", dict(bound.by))
        for bound in constructs
        for own, origin in bound.attributes.items()
    ]
    for entity in sample.workload.entities:
        for attribute in entity.attributes:
            follows = attribute.follows
            if follows is None:
                continue
            source = sample.entity(follows.source.partition(".")[0])
            by = references(sample.workload, entity, source, (follows.via,))
            if (entity.name, attribute.name, follows.source, by) not in attributes:
                return f"nothing refreshes `{entity.name}.{attribute.name}` after `{follows.source}` has changed"
    return ""


def _refresh(sample: SampleTable, name: str, key: dict[str, Any], *, asynchronous: bool) -> int:
    cls = sample.package.classes[name]
    if not asynchronous:
        return refresh(sample.client, cls, **key)

    async def refresh_items() -> int:
        return await refresh(sample.async_client, cls, **key)

    return int(sample.result_of(refresh_items()))


def _expect(
    sample: SampleTable, expected_table: ExpectedTable, constructs: Iterable[RefreshedConstruct], source: Values
) -> int:
    """Expect the values of a source in all items that repeat them, and return how many differ from it.

    Hidden items are refreshed, too: a soft-deleted one may be restored.
    """
    count = 0
    for bound in constructs:
        entity = bound.entity
        hidden_items = [values for owner, values in sample.hidden.values() if owner is entity]
        for item in (*sample.items.get(entity.name, ()), *hidden_items):
            after = bound.refreshed_values(source, item)
            if after is not None and after != item:
                expected_table.apply(WriteStep(Action(Verb.UPDATE, entity.name), entity, item, dict(after)))
                count += 1
    return count
