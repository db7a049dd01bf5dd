"""Attributes that follow a source: every source is refreshed, and the table compared with brute force."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prejoin.design.cost.refreshes import refreshes
from prejoin.patterns.follows import refresh
from prejoin.proof.data import Values
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import REFUSALS, SampleTable
from prejoin.proof.write_cases import WriteStep
from prejoin.workload.follow_links import FollowLink
from prejoin.workload.model import Action, Verb


def prove_refreshes(sample: SampleTable, expected: ExpectedTable) -> str:
    """Refresh all sources with both clients in turn, and return the first difference; empty if there is none.

    The writes before have changed sources, and the data has items with other values than their source.
    """
    found = refreshes(sample.workload, sample.design)
    sources = {one.link.source.name: one.link.source for one in found}
    for name, source in sources.items():
        for turn, item in enumerate(list(sample.items.get(name, []))):
            key = sample.package.named(name, {part: item[part] for part in sample.base(source)})
            own = [one.link for one in found if one.link.source is source]
            try:
                differing = _expect(sample, expected, own, item)
                count = _refresh(sample, name, key, asynchronous=turn % 2 == 1)
            except (*REFUSALS, ValueError) as error:
                return f"{name} {key} cannot be refreshed: {error}"
            if count != differing:
                return f"a refresh of {name} {key} updated {count} items, and {differing} differed from it"
            if wrong := expected.difference():
                return f"after a refresh of {name} {key}: {wrong}"
    return ""


def _refresh(sample: SampleTable, name: str, key: dict[str, Any], *, asynchronous: bool) -> int:
    cls = sample.package.classes[name]
    if not asynchronous:
        return refresh(sample.client, cls, **key)

    async def refreshed() -> int:
        return await refresh(sample.async_client, cls, **key)

    return int(sample.awaited(refreshed()))


def _expect(sample: SampleTable, expected: ExpectedTable, followings: Iterable[FollowLink], source: Values) -> int:
    """Expect the values of a source in all items that follow it, and return how many differ from it."""
    count = 0
    for following in followings:
        entity = following.entity
        for item in list(sample.items.get(entity.name, [])):
            after = _followed(following, source, item)
            if all(item.get(own) == source.get(part) for part, own in following.by.items()) and after != item:
                expected.apply(WriteStep(Action(Verb.UPDATE, entity.name), entity, item, after))
                count += 1
    return count


def _followed(link: FollowLink, source: Values, item: Values) -> Values:
    """An item with the values of its source."""
    values = {own: source.get(name) for own, name in link.attributes.items()}
    kept = {name: value for name, value in item.items() if name not in values}
    return kept | {own: value for own, value in values.items() if value is not None}
