"""The work of a change on the attributes of items: it writes defaults, removes attributes, and finds unfit values.

Each change of an item has the conditions that the item is of the entity, and that the attribute is as it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from prejoin.keys import TABLE
from prejoin.migrate.evolve.same_version import rewrite_same_version
from prejoin.migrate.evolve.transition import CodeVersion, Transition
from prejoin.patterns.history import OBJECT, HistoryPattern
from prejoin.patterns.integrity.findings import Finding, same, values_of
from prejoin.table.codec.codec import AttributeCodec
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.errors import CodecError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_expired
from prejoin.table.update.changes import Changes
from prejoin.table.update.computed import First
from prejoin.table.write.model import Write


@dataclass(frozen=True)
class ItemChange:
    """A change of one item."""

    kind: str
    """What is done, as the result of the step counts it: `default`, `attribute removed`."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """The parameters of the operation."""
    write: Write | None = None
    """The write, instead, if keys, copies or guards change with the attribute."""
    operation: Literal["UpdateItem", "DeleteItem"] = "UpdateItem"


@dataclass(frozen=True)
class _Default:
    """A value for items that lack an attribute."""

    name: str
    """The field of the class."""
    wire: str
    value: Any
    wire_value: Json


@dataclass(frozen=True)
class _ItemPlace:
    """Where items with a type tag have the attributes of their entity: in the item, or in a map inside of it."""

    entity: str
    within: str = ""

    def attributes(self, item: Json) -> Json:
        if not self.within:
            return item
        members: Json = item.get(self.within, {}).get("M", {})
        return members


class AttributeWork:
    """What has to be done with the attributes of items at one step of a change."""

    def __init__(self, transition: Transition, schema: Schema, *, has_new_run: bool) -> None:
        self._schema = schema
        self._places = dict(_places(transition))
        self._defaults: dict[str, list[_Default]] = {}
        for fill in transition.fills:
            if has_new_run and fill.only_before_new:
                continue
            version = transition.old if fill.default_of == "OLD" else transition.new
            self._defaults.setdefault(fill.entity, []).extend(_default(version, fill.entity, fill.attribute))
        self._verified_contents: dict[str, list[AttributeCodec]] = {}
        for entity, attribute in transition.verified:
            self._verified_contents.setdefault(entity, []).append(_codec(transition.new, entity, attribute))
        self._renamed: dict[str, BoundEntity[Any]] = {}
        for name, _, _ in transition.renamed:
            if (entity_of_new := _bound(transition.new, name)) is not None:
                self._renamed[entity_of_new.tag] = entity_of_new
        self._dropped: dict[str, list[str]] = {}
        keys = self._schema.keys(TABLE).names
        for entity, attribute in transition.dropped:
            wire = _codec(transition.old, entity, attribute).wire
            if wire not in keys:
                self._dropped.setdefault(entity, []).append(wire)

    @property
    def drops(self) -> bool:
        return bool(self._dropped)

    def fill(self, item: Json) -> ItemChange | None:
        """The update that writes the defaults that an item lacks; None if it lacks none."""
        place = self._place(item)
        if place is None:
            return None
        attributes = place.attributes(item)
        defaults = self._defaults.get(place.entity, ())
        lacking = [default for default in defaults if is_absent(attributes.get(default.wire))]
        if not lacking or (place.within and not attributes):
            return None
        if not place.within:
            entity = self._schema.by_tag.get(item[self._schema.type_attribute]["S"])
            values = values_of(entity, item) if entity else None
            if entity is None or values is None:
                return None  # its twin is written with it; or the audit reports it
            if not same(self._schema.facet_key(entity.base, values), self._schema.item_key(item)):
                return None  # the audit reports it
            if _has_more_than_attributes(entity, lacking):
                return _fill_by_client(entity, item, values, lacking)
        placeholders = Placeholders()
        sets = [
            f"{_path(place, default.wire, placeholders)} = {placeholders.value(default.wire_value)}"
            for default in lacking
        ]
        tests = [_as_read(place, default.wire, attributes, placeholders) for default in lacking]
        return ItemChange("default", self._update(item, f"SET {', '.join(sets)}", tests, placeholders))

    def drop(self, item: Json) -> ItemChange | None:
        """The update that removes the attributes that NEW does not have; None if an item has none of them."""
        place = self._place(item)
        if place is None:
            return None
        attributes = place.attributes(item)
        names = [name for name in self._dropped.get(place.entity, ()) if name in attributes]
        if not names:
            return None
        placeholders = Placeholders()
        text = f"REMOVE {', '.join(_path(place, name, placeholders) for name in names)}"
        tests = [_as_read(place, name, attributes, placeholders) for name in names]
        return ItemChange("attributes removed", self._update(item, text, tests, placeholders))

    def is_renamed(self, item: Json | None) -> bool:
        """Whether an item has the new names of its attributes: code of NEW does not write the old ones."""
        tag = item[self._schema.type_attribute]["S"] if item and self._schema.type_attribute in item else ""
        entity = self._renamed.get(tag)
        return item is not None and entity is not None and values_of(entity, item) is not None

    def unfit(self, item: Json) -> Finding | None:
        """The finding about an item that NEW could not read; None if it could."""
        place = self._place(item)
        if place is None or place.within or is_expired(self._schema.ttl, item):
            return None
        for attribute in self._verified_contents.get(place.entity, ()):
            if (reason := _unfit_reason(attribute, item.get(attribute.wire))) is not None:
                tag = item[self._schema.type_attribute]["S"]
                return Finding("unfit", tag, self._schema.item_key(item), item, None, reason=reason)
        return None

    def _place(self, item: Json) -> _ItemPlace | None:
        return self._places.get(item.get(self._schema.type_attribute, {}).get("S", ""))

    def _update(self, item: Json, text: str, tests: Iterable[str], placeholders: Placeholders) -> dict[str, Any]:
        """An update on the condition that the item is still of its entity."""
        name = self._schema.type_attribute
        condition = " AND ".join([f"{placeholders.name(name)} = {placeholders.value(item[name])}", *tests])
        return {
            "Key": self._schema.item_key(item),
            "UpdateExpression": text,
            "ConditionExpression": condition,
            **placeholders.parameters(),
        }


def is_absent(value: Json | None) -> bool:
    """Whether an attribute has no value: other programs may write a NULL instead of leaving it out."""
    return value is None or "NULL" in value


def _unfit_reason(attribute: AttributeCodec, value: Json | None) -> str | None:
    if value is None or is_absent(value):
        needs_value = not attribute.optional and attribute.absent is None
        return f"it has no {attribute.wire}" if needs_value else None
    try:
        attribute.value.decode(value)
    except (CodecError, ValueError, TypeError) as error:
        return f"{attribute.wire}: {error}"
    return None


def _places(transition: Transition) -> Iterator[tuple[str, _ItemPlace]]:
    """The type tags of the items that hold all attributes of an entity: its own, under both keys, and its versions."""
    for version in (transition.old, transition.prepare, transition.switch, transition.new):
        for entity in version.package.classes:
            bound = _bound(version, entity)
            if bound is None:
                continue
            yield bound.tag, _ItemPlace(entity)
            for pattern in bound.patterns:
                if isinstance(pattern, HistoryPattern):
                    yield pattern.facet.entity, _ItemPlace(entity, OBJECT)


def _bound(version: CodeVersion, entity: str) -> BoundEntity[Any] | None:
    package = version.package
    return package.schema.entity(package.classes[entity]) if version.design.item(entity) else None


def _codec(version: CodeVersion, entity: str, attribute: str) -> AttributeCodec:
    bound = _bound(version, entity)
    assert bound is not None  # the attribute was compared, so both designs have the entity
    return bound.codec.attribute(version.package.fields[entity][attribute])


def _default(version: CodeVersion, entity: str, attribute: str) -> Iterator[_Default]:
    codec = _codec(version, entity, attribute)
    value = codec.field.default() if codec.field.default else None
    if value or not codec.value.empty:  # DynamoDB has no empty set
        yield _Default(codec.name, codec.wire, value, codec.value.encode(value))


def _if_absent(default: _Default, item: Json) -> Any:
    """The value to set. DynamoDB does not count a NULL as absent."""
    return default.value if default.wire in item else First((default.name,), default.value)


def _fill_by_client(
    entity: BoundEntity[Any], item: Json, values: Mapping[str, Any], lacking: Iterable[_Default]
) -> ItemChange:
    """The write of defaults that are part of keys, copies or guards: the client writes these, too."""
    key_values = {name: values[name] for name in entity.base.attributes}
    changes = Changes({default.name: _if_absent(default, item) for default in lacking})
    write = Write("update", entity, key_values, changes=changes, read_first=True)
    return ItemChange("default", write=rewrite_same_version(write, item))


def _has_more_than_attributes(entity: BoundEntity[Any], lacking: list[_Default]) -> bool:
    """Whether keys, copies, guards or versions of an item may change with its attributes."""
    names = {default.name for default in lacking}
    return bool(entity.patterns) or any(names & set(facet.placing) for facet in entity.indexes.values())


def _path(place: _ItemPlace, wire: str, placeholders: Placeholders) -> str:
    return f"{placeholders.name(place.within)}.{placeholders.name(wire)}" if place.within else placeholders.name(wire)


def _as_read(place: _ItemPlace, wire: str, attributes: Json, placeholders: Placeholders) -> str:
    """The condition that an attribute is as it was read."""
    path = _path(place, wire, placeholders)
    value = attributes.get(wire)
    return f"attribute_not_exists({path})" if value is None else f"{path} = {placeholders.value(value)}"
