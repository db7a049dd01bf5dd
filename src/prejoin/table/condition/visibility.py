"""Items that reads do not show: whether one is, by conditions of its attributes, tested here as DynamoDB would."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from prejoin.keys import Facet
from prejoin.protocol.values import ordered
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import Json
from prejoin.table.read.decode import facet_tag
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.schema import Schema

from .record import And, Compare, Condition, Exists, Not, Or
from .render import Placeholders, grouped

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Hiding(msgspec.Struct, frozen=True):
    """What holds for the items with a tag that are shown."""

    tag: str
    codec: Codec[Any]
    conditions: list[Condition]


def hiding(schema: Schema, facets: Iterable[Facet]) -> tuple[Hiding, ...]:
    """What is left out of what is read in some facets, at this moment."""
    found = ((facet, schema.by_tag[facet.entity]) for facet in facets)
    return tuple(
        Hiding(facet_tag(facet), entity.codec, conditions)
        for facet, entity in found
        if entity.patterns and (conditions := entity.visible())
    )


def filter_text(hidden: Iterable[Hiding], type_attribute: str, alone: bool, to: Placeholders) -> str:
    """A filter for what is shown. Where items of several kinds are read, each is tested as what its tag says."""
    texts = []
    for one in hidden:
        text = " AND ".join([grouped(condition, one.codec, to) for condition in one.conditions])
        if not alone:
            # DynamoDB refuses parentheses that are there twice.
            shown = f"({text})" if len(one.conditions) > 1 else text
            text = f"({to.name(type_attribute)} <> {to.text(one.tag)} OR {shown})"
        texts.append(text)
    return " AND ".join(texts)


def is_hidden(entity: Bound[Any], item: Mapping[str, Json]) -> bool:
    """Whether reads leave this item of an entity out."""
    return bool(entity.patterns) and not all(holds(one, entity.codec, item) for one in entity.visible())


def is_vacant(entity: Bound[Any], item: Mapping[str, Json]) -> bool:
    """Whether this item is as good as not there."""
    return any(holds(one, entity.codec, item) for one in entity.vacant())


def holds(condition: Condition, codec: Codec[Any], item: Mapping[str, Json]) -> bool:
    """Whether a condition of whole attributes and values is true of an item.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Product:
    ...     stock: int
    >>> holds(Compare(("stock",), ">", 9), Codec.of(Product), {"stock": {"N": "10"}})
    True
    """
    match condition:
        case Exists((str(name),), present):
            return (codec.attribute(name).wire in item) is present
        case Compare((str(name),), op, value):
            found, said = item.get(codec.attribute(name).wire), codec.encode_value(name, value)
            # What is absent, or of another type, is not equal to anything, and neither less nor more.
            if found is None or found.keys() != said.keys():
                return op == "<>"
            return _COMPARED[op](ordered(found), ordered(said))
        case And(items):
            return all(holds(one, codec, item) for one in items)
        case Or(items):
            return any(holds(one, codec, item) for one in items)
        case Not(one):
            return not holds(one, codec, item)
        case _:
            raise AssertionError(condition)
