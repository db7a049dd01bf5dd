"""Renamed members of enums in items: each item that has the old member gets the new one.

An item has one value, so no two versions may run side by side of which one writes what the other cannot read:

    version     reads                   writes   beside it                            deploy it
    OLD         DONE                    DONE     `prepare`, which writes DONE         it runs now
    `prepare`   DONE and PAID as DONE   DONE     `switch`, whose PAID it reads        first
    `switch`    DONE and PAID as PAID   PAID     NEW, which writes PAID               when no OLD runs any more
    NEW         PAID                    PAID                                          when the backfill is finished

So the backfill runs when `switch` runs alone: nobody writes DONE any more, and nobody is lost by PAID. Both words mean
the same, so there is nothing to decide about: what a forgotten job of OLD writes is renamed by the next run, `clean`
included, and a repeated run does nothing. The way back is the same with both designs exchanged.

`prepare` and `switch` compare with both words in conditions and filters. In the key of an index the word is that of the
version that wrote the item last, so a query by the member reads both keys. Keys of the table, of copies and of unique
values cannot have two words: such a change is refused (`attribute_forms.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prejoin.migrate.evolve.attribute_work import ItemChange
from prejoin.migrate.evolve.transition import Transition
from prejoin.patterns.history import OBJECT, HistoryPattern
from prejoin.patterns.integrity.findings import values_of
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.schema.bind import BoundEntity, facet_tag
from prejoin.table.schema.schema import Schema

_CHANGE_KIND = "members renamed"


@dataclass(frozen=True)
class _Words:
    """An attribute with renamed members, in the items with one type tag."""

    entity: BoundEntity[Any]
    wire: str
    names: Mapping[str, str]
    """The new names by the old ones."""
    within: str = ""
    """The map inside of the item that holds the attribute; empty for the item itself."""
    is_own: bool = False
    """Whether the item is the entity's own, with keys in indexes."""


class MemberWork:
    """What has to be done with the renamed members of enums."""

    def __init__(self, transition: Transition) -> None:
        version = transition.switch
        self.schema: Schema = version.package.schema
        """The schema of the code that reads both names, and writes the new one."""
        names: dict[tuple[str, str], dict[str, str]] = {}
        for member in transition.renamed_members:
            names.setdefault((member.entity, member.attribute), {})[member.old] = member.new
        self._words: dict[str, list[_Words]] = {}
        for (entity, attribute), new_names in names.items():
            bound = self.schema.entity(version.package.classes[entity])
            wire = bound.codec.attribute(version.package.fields[entity][attribute]).wire
            for tag, within in dict.fromkeys(_places(bound)):
                words = _Words(bound, wire, new_names, within, is_own=tag == bound.tag)
                self._words.setdefault(tag, []).append(words)

    def work(self, item: Json) -> Iterator[ItemChange]:
        """The changes of an item."""
        tag = item.get(self.schema.type_attribute, {}).get("S", "")
        for words in self._words.get(tag, ()):
            attributes = item.get(words.within, {}).get("M", {}) if words.within else item
            word = attributes.get(words.wire, {}).get("S", "")
            if word in words.names:
                yield self._rename(words, item, word)

    def _rename(self, words: _Words, item: Json, word: str) -> ItemChange:
        """The update that writes the new name, also into the keys of indexes, if all are as they were read."""
        placeholders = Placeholders()
        names = [words.within, words.wire] if words.within else [words.wire]
        path = ".".join(placeholders.name(name) for name in names)
        type_attribute = self.schema.type_attribute
        tests = [
            f"{path} = {placeholders.text(word)}",
            f"{placeholders.name(type_attribute)} = {placeholders.value(item[type_attribute])}",
        ]
        sets = [f"{path} = {placeholders.text(words.names[word])}"]
        for name, value in self._index_keys(words, item):
            sets.append(f"{placeholders.name(name)} = {placeholders.value(value)}")
            tests.append(f"{placeholders.name(name)} = {placeholders.value(item[name])}")
        parameters = {
            "Key": self.schema.item_key(item),
            "UpdateExpression": f"SET {', '.join(sets)}",
            "ConditionExpression": " AND ".join(tests),
            **placeholders.parameters(),
        }
        return ItemChange(_CHANGE_KIND, parameters)

    def _index_keys(self, words: _Words, item: Json) -> Iterator[tuple[str, Json]]:
        """The key attributes of indexes that change with the name. Others are left to the audit."""
        values = values_of(words.entity, item) if words.is_own else None
        if values is None:
            return
        for facet in words.entity.indexes.values():
            if not facet.has(values) or any(values.get(name) is None for name in facet.attributes):
                continue
            names = self.schema.template_keys(facet).names
            keys = self.schema.facet_key(facet, values)
            for name in names:
                if name in item and name in keys and item[name] != keys[name]:
                    yield name, keys[name]


def _places(entity: BoundEntity[Any]) -> Iterator[tuple[str, str]]:
    """The type tags of items that hold attributes of an entity, and the map inside of them that does."""
    yield entity.tag, ""
    for pattern in entity.patterns:
        if isinstance(pattern, HistoryPattern):
            yield pattern.facet.entity, OBJECT
            continue
        for facet in pattern.facets:
            if facet.entity == entity.tag:
                yield facet_tag(facet), ""
