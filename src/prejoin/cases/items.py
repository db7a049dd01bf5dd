"""Items of the data: compared by their values, or by identity where two may be equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prejoin.workload.lookup import unique_groups
from prejoin.workload.model import Entity

Values = dict[str, Any]
"""The attributes of an item by the document's names; an absent attribute is left out."""


def has_values(item: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether an item has these values; None is that of an absent attribute."""
    return all(item.get(name) == value for name, value in values.items())


def is_linked(item: Mapping[str, Any], other: Mapping[str, Any], links: Mapping[str, str]) -> bool:
    """Whether each linked attribute of an item equals that of the other item.

    >>> is_linked({"authorId": "u1"}, {"userId": "u1"}, {"authorId": "userId"})
    True
    """
    return all(item.get(own) == other.get(name) for own, name in links.items())


def is_among(item: Values | None, items: Iterable[Values | None]) -> bool:
    """Whether an item is one of some, and not only equal to one."""
    return any(item is other for other in items)


def remove_item(items: list[Values], item: Values) -> None:
    """Removes an item, and no other that is equal to it."""
    items[:] = [other for other in items if other is not item]


def identities(entity: Entity, item: Values) -> list[tuple[Any, ...]]:
    """The values that no other item of the entity may have: its id and unique attributes."""
    unique_names = [(attribute.name,) for attribute in entity.attributes if attribute.unique]
    groups = dict.fromkeys((tuple(attribute.name for attribute in entity.id), *unique_names, *entity.unique))
    present_groups = [group for group in groups if group and all(item.get(name) is not None for name in group)]
    return [(group, *(item[name] for name in group)) for group in present_groups]


def has_same_unique_values(entity: Entity, item: Values, other: Values) -> bool:
    """Whether two items cannot be in the table together, because they have the same unique values."""
    for group in unique_groups(entity):
        values = [item.get(name) for name in group]
        if None not in values and values == [other.get(name) for name in group]:
            return True
    return False


def is_unique(entity: Entity, name: str) -> bool:
    """Whether an attribute is unique, alone or together with others."""
    attribute = entity.attribute(name)
    return bool(attribute and attribute.unique) or any(name in group for group in entity.unique)


def names_item(entity: Entity, name: str) -> bool:
    """Whether an attribute tells an item from others: it is of the id, or unique."""
    attribute = entity.attribute(name)
    return attribute is not None and (bool(attribute.id) or is_unique(entity, name))
