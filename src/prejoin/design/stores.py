"""Object stores: the large contents that are beside the table, and not in parts in it.

A store is cheaper at any size: an object of up to 8 MB costs as much to write as 8 KB in the table, and a GB costs a
tenth. But it is a second service, with permissions, backups and a latency of its own. So contents are in a store where
the document says so, or where it puts money before structures. No key depends on it, so there is nothing to search.
"""

from __future__ import annotations

from collections.abc import Sequence

from prejoin.design.model import ContentStore
from prejoin.design.pins import pins_of
from prejoin.workload.contents import contents_of
from prejoin.workload.model import ContentPlace, Minimise, Workload


def stores_of(workload: Workload, former_stores: Sequence[ContentStore] = ()) -> tuple[ContentStore, ...]:
    """The contents that are in a store, in document order. In a table in use they stay there, because its items refer
    to objects.
    """
    decisions = {(pin.entity, pin.attribute): pin.store for pin in pins_of(workload, ContentPlace)}
    is_cheapest = Minimise("money") in pins_of(workload, Minimise)
    stores: list[ContentStore] = []
    for entity in workload.entities:
        for attribute in contents_of(entity):
            store = ContentStore(entity.name, attribute.name)
            if store in former_stores or decisions.get((entity.name, attribute.name), is_cheapest):
                stores.append(store)
    return tuple(stores)
