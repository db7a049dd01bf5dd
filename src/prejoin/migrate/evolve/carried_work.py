"""`CarriedWork`: carries what is stored under the key of an entity over to its other key: versions and contents.

Earlier versions, and the parts of large contents, have keys that begin with the key of their item. While an entity has
two keys, code that knows both designs writes each under both. Neither is ever changed, so they are known by the number
of the version, or by the upload and the number of the part:

    leaving   coming    what is done                              at the end, when code of the coming design runs alone
    there     absent    the coming one is written                 the same
    absent    there     the leaving one is written                nothing
    there     there     nothing if they are equal, else reported  the leaving one is deleted if they are equal

One is deleted only in a transaction which checks that the same one is under the other key. If a history keeps a number
of versions, code of one design deletes the oldest under its own key; so one that is under one key, and that the newest
version of the item does not keep any more, is deleted instead of carried over. A part of a content that was replaced
may be carried over, too: `remove_garbage` deletes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from prejoin.migrate.evolve.passes import PassOutcome, TablePasses
from prejoin.migrate.evolve.transition import TWIN, Transition
from prejoin.migrate.evolve.twins import PairKind, pair_kinds
from prejoin.patterns.history import OBJECT, HistoryPattern
from prejoin.patterns.integrity.audit import read_items
from prejoin.patterns.integrity.findings import Finding, Judge
from prejoin.patterns.large.content import DATA
from prejoin.patterns.large.large import LargePattern
from prejoin.protocol.values import equal
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.read.decode import values_in
from prejoin.table.schema.pattern import OWNER
from prejoin.table.schema.visibility import is_expired


class CarriedAction(Enum):
    """What is done with a version, or a part of a content."""

    NOTHING = "nothing"
    WRITE_OTHER = "versions and contents carried over"
    DELETE_LEAVING = "versions and contents under the old key deleted"
    DELETE_SURPLUS = "versions deleted that are not kept any more"
    CONFLICT = "conflict"


@dataclass(frozen=True)
class CarriedPair:
    """A version, or a part of a content, under both keys."""

    kind: VersionKind | PartKind
    leaving: Json | None
    coming: Json | None

    @property
    def item(self) -> Json:
        """The leaving one, or a coming one without it."""
        item = self.leaving if self.leaving is not None else self.coming
        assert item is not None  # one of them was met
        return item

    def decide(self, *, at_end: bool) -> CarriedAction:
        """What is to be done."""
        if self.leaving is None:
            return CarriedAction.NOTHING if at_end else CarriedAction.WRITE_OTHER
        if self.coming is None:
            return CarriedAction.WRITE_OTHER
        if not self.kind.are_equal(self.leaving, self.coming):
            return CarriedAction.CONFLICT
        return CarriedAction.DELETE_LEAVING if at_end else CarriedAction.NOTHING


@dataclass(frozen=True)
class VersionKind:
    """The history of an entity under both of its keys."""

    pair: PairKind
    leaving: HistoryPattern
    coming: HistoryPattern
    changing_names: frozenset[str]
    """Attributes that the change itself writes into versions or removes from them."""

    compared_name: ClassVar[str] = OBJECT
    """The attribute that is compared when a version is checked or deleted."""

    @property
    def tags(self) -> tuple[str, str]:
        return self.leaving.facet.entity, self.coming.facet.entity

    def key_values(self, item: Json) -> Mapping[str, Any] | None:
        """The attributes of a version that are in the keys; None if they cannot be read."""
        codec = self.pair.leaving.codec
        attributes = item.get(OBJECT, {}).get("M", {})
        names = {*self.leaving.facet.attributes, *self.coming.facet.attributes}
        try:
            return {name: codec.attribute(name).value.decode(attributes[codec.attribute(name).wire]) for name in names}
        except (KeyError, ValueError, TypeError):
            return None

    def key(self, values: Mapping[str, Any], *, of_leaving: bool) -> Json:
        """The key of a version under one of the keys of its entity."""
        pattern = self.leaving if of_leaving else self.coming
        return self.pair.leaving_schema.facet_key(pattern.facet, values)

    def copy_under_other_key(self, item: Json, values: Mapping[str, Any], *, to_leaving: bool) -> Json:
        """A version under its other key."""
        type_attribute = self.pair.leaving_schema.type_attribute
        tag = self.tags[0 if to_leaving else 1]
        return {**item, **self.key(values, of_leaving=to_leaving), type_attribute: {"S": tag}}

    def are_equal(self, attributes: Json, other_attributes: Json) -> bool:
        """Whether two items hold the same version."""
        first, second = (item.get(OBJECT, {}).get("M", {}) for item in (attributes, other_attributes))
        names = (first.keys() | second.keys()) - self.changing_names
        return all(name in first and name in second and equal(first[name], second[name]) for name in names)

    @property
    def keeps_all(self) -> bool:
        return self.leaving.keep is None

    def is_kept(self, values: Mapping[str, Any], items: Iterable[Json]) -> bool:
        """Whether the history still keeps a version, by the items of its object. A deleted object keeps all."""
        attribute = self.pair.leaving.codec.attribute(self.leaving.version)
        numbers = [attribute.value.decode(item[attribute.wire]) for item in items if attribute.wire in item]
        if self.leaving.keep is None or not numbers:
            return True
        return bool(values[self.leaving.version] >= max(numbers) - self.leaving.keep)


@dataclass(frozen=True)
class PartKind:
    """The parts of the contents of an attribute under both keys of their entity."""

    pair: PairKind
    pattern: LargePattern
    compared_name: ClassVar[str] = OWNER
    keeps_all: ClassVar[bool] = True

    @property
    def tags(self) -> tuple[str, str]:
        leaving, coming = self.pattern.facets
        return leaving.entity, coming.entity

    def key_values(self, item: Json) -> Mapping[str, Any] | None:
        """The attributes in the key of a part; None if it cannot be read."""
        schema = self.pair.leaving_schema
        is_leaving = item[schema.type_attribute]["S"] == self.tags[0]
        return values_in(schema, self.pattern.facets[0 if is_leaving else 1], item)

    def key(self, values: Mapping[str, Any], *, of_leaving: bool) -> Json:
        """The key of a part under one of the keys of its entity."""
        return self.pair.leaving_schema.facet_key(self.pattern.facets[0 if of_leaving else 1], values)

    def copy_under_other_key(self, item: Json, values: Mapping[str, Any], *, to_leaving: bool) -> Json:
        """A part under its other key."""
        number = 0 if to_leaving else 1
        tag, owner = {"S": self.tags[number]}, {"M": self.pair.keys(values)[number]}
        key = self.key(values, of_leaving=to_leaving)
        return {**item, **key, self.pair.leaving_schema.type_attribute: tag, OWNER: owner}

    def are_equal(self, attributes: Json, other_attributes: Json) -> bool:
        """Whether two parts hold the same bytes. Each upload has an id of its own."""
        return attributes.get(DATA) == other_attributes.get(DATA)

    def is_kept(self, values: Mapping[str, Any], items: Iterable[Json]) -> bool:
        return True


def part_kinds(transition: Transition) -> tuple[PartKind, ...]:
    """The contents of entities that get another key in the table."""
    return tuple(
        PartKind(pair, pattern)
        for pair in pair_kinds(transition)
        for pattern in pair.leaving.patterns
        if isinstance(pattern, LargePattern) and pattern.declared.twin
    )


def version_kinds(transition: Transition) -> tuple[VersionKind, ...]:
    """The histories of entities that get another key in the table."""
    kinds: list[VersionKind] = []
    for name, pair in zip(transition.moved, pair_kinds(transition), strict=True):
        patterns = {pattern.of: pattern for pattern in pair.leaving.patterns if isinstance(pattern, HistoryPattern)}
        if TWIN in patterns:
            fields = transition.prepare.package.fields[name]
            attributes = [fill.attribute for fill in transition.fills if fill.entity == name]
            attributes += [attribute for entity, attribute in transition.dropped if entity == name]
            wires = {pair.leaving.codec.attribute(fields[attribute]).wire for attribute in attributes}
            kinds.append(VersionKind(pair, patterns[""], patterns[TWIN], frozenset(wires)))
    return tuple(kinds)


class CarriedWork:
    """A pass over the versions and contents of entities that have two keys."""

    def __init__(self, passes: TablePasses, kinds: Iterable[VersionKind | PartKind], *, at_end: bool) -> None:
        self._passes = passes
        self._client = passes.client
        self._kinds = {tag: kind for kind in kinds for tag in kind.tags}
        self._at_end = at_end
        self.written: Counter[str] = Counter()

    def run_pass(self, name: str) -> PassOutcome:
        """Goes through the table once."""
        return self._passes.settle(name, self._pairs_of, self._settle, CarriedAction.NOTHING, self.written)

    def _pairs_of(self, items: list[Json], outcome: PassOutcome) -> Iterator[CarriedPair]:
        """The items of a page with something to do, each once: by the leaving one, or by a coming one without it."""
        judge, schema = Judge(self._client.schema), self._client.schema
        entries: list[tuple[VersionKind | PartKind, Json, bool, Json]] = []
        for item in items:
            tag = item.get(schema.type_attribute, {}).get("S", "")
            kind = self._kinds.get(tag)
            if kind is None or is_expired(schema.ttl, item):
                continue
            is_leaving = tag == kind.tags[0]
            if self._at_end and not is_leaving:
                continue
            values = kind.key_values(item)
            if values is None:
                outcome.report(Finding("damaged", tag, schema.item_key(item), item, None))
                continue
            entries.append((kind, item, is_leaving, kind.key(values, of_leaving=not is_leaving)))
        keys = {judge.key(key): key for _, _, _, key in entries}
        counterparts = self._client._run(read_items(self._client.table, judge, list(keys.values())))
        for kind, item, is_leaving, key in entries:
            other = counterparts[judge.key(key)]
            if not is_leaving and other is not None:
                continue  # the pass meets the leaving one, too
            pair = CarriedPair(kind, item, other) if is_leaving else CarriedPair(kind, None, item)
            if pair.decide(at_end=self._at_end) is not CarriedAction.NOTHING:
                yield pair

    def _settle(self, pair: CarriedPair) -> CarriedAction | Finding | None:
        """Does what is to be done, and returns it; None if an item is not any more as it was read."""
        schema, item = self._client.schema, pair.item
        action = pair.decide(at_end=self._at_end)
        if action is CarriedAction.CONFLICT:
            tag = item[schema.type_attribute]["S"]
            return Finding("conflict", tag, schema.item_key(item), item, pair.coming)
        values = pair.kind.key_values(item)
        assert values is not None  # `_pairs_of` has read them
        is_leaving = pair.leaving is not None
        judge, compared_name = self._judge, pair.kind.compared_name
        if action is CarriedAction.WRITE_OTHER:
            key = pair.kind.key(values, of_leaving=not is_leaving)
            if not pair.kind.is_kept(values, self._items_of(pair.kind, values)):
                actions = [_delete(judge, item, compared_name), _check_absent(judge, key)]
                return CarriedAction.DELETE_SURPLUS if self._passes.write(actions) else None
            copy = pair.kind.copy_under_other_key(item, values, to_leaving=not is_leaving)
            return action if self._passes.write([_check(judge, item, compared_name), _put(judge, copy)]) else None
        assert pair.coming is not None  # or it would be written
        actions = [_delete(judge, item, compared_name), _check(judge, pair.coming, compared_name)]
        return action if self._passes.write(actions) else None

    def _items_of(self, kind: VersionKind | PartKind, values: Mapping[str, Any]) -> list[Json]:
        """The items of the object whose version has these values, under both keys."""
        if kind.keeps_all:
            return []
        answers = [self._client.call("GetItem", {"Key": key, "ConsistentRead": True}) for key in kind.pair.keys(values)]
        return [answer["Item"] for answer in answers if "Item" in answer]

    @property
    def _judge(self) -> Judge:
        return Judge(self._client.schema)


def _put(judge: Judge, item: Json) -> dict[str, Any]:
    placeholders = Placeholders()
    condition = f"attribute_not_exists({placeholders.name(judge.names[0])})"
    return {"Put": {"Item": item, "ConditionExpression": condition, **placeholders.parameters()}}


def _check_absent(judge: Judge, key: Json) -> dict[str, Any]:
    placeholders = Placeholders()
    condition = f"attribute_not_exists({placeholders.name(judge.names[0])})"
    return {"ConditionCheck": {"Key": key, "ConditionExpression": condition, **placeholders.parameters()}}


def _delete(judge: Judge, item: Json, compared_name: str) -> dict[str, Any]:
    return {"Delete": {"Key": judge.key_of(item), **_as_read(judge, item, compared_name)}}


def _check(judge: Judge, item: Json, compared_name: str) -> dict[str, Any]:
    return {"ConditionCheck": {"Key": judge.key_of(item), **_as_read(judge, item, compared_name)}}


def _as_read(judge: Judge, item: Json, compared_name: str) -> dict[str, Any]:
    """The condition that an item is still as it was read."""
    placeholders = Placeholders()
    names = [name for name in (compared_name, judge.schema.type_attribute) if name in item]
    text = " AND ".join(f"{placeholders.name(name)} = {placeholders.value(item[name])}" for name in names)
    return {"ConditionExpression": text, **placeholders.parameters()}
