"""Parents: the entity that an item belongs to, and its key in attributes of the item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec
from msgspec.structs import replace

from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Condition, Exists, Or, both, conjuncts
from prejoin.table.errors import ConditionFailed, SchemaError, TableError, VersionConflict
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern
from prejoin.table.schema.schema import Schema
from prejoin.table.write.actions import item_name
from prejoin.table.write.model import Write

Entities = Mapping[type[Any], BoundEntity[Any]]


@runtime_checkable
class Counting(Protocol):
    """A pattern of a child that maintains an attribute of its parent."""

    attribute: str

    def counts(self, parent: Parent) -> bool:
        """Return whether the attribute is the number of all children of this parent."""
        ...


class Parent(msgspec.Struct, frozen=True):
    """The parent of the items of an entity."""

    entity: BoundEntity[Any]
    names: Mapping[str, str]
    """For each attribute of its key, the name in the child."""

    @property
    def cls(self) -> type[Any]:
        return self.entity.codec.cls

    def key(self, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the key of the parent of an item with these values; None if it has no parent."""
        key = {name: values[child_name] for name, child_name in self.names.items()}
        return None if None in key.values() else key


def parent_of(
    child: BoundEntity[Any], cls: type[Any], by: Mapping[str, str], entities: Entities, context: str
) -> Parent:
    """Return the parent of a child: its key attributes have the same names in the child, or those in `by`."""
    entity = entities.get(cls)
    if entity is None:
        tags = ", ".join(entity_of_schema.tag for entity_of_schema in entities.values())
        raise SchemaError(f"{context}: {cls.__name__} is not an entity of this schema, which has {tags}")
    key = entity.base.attributes
    for name in by:
        if name not in key:
            raise SchemaError(f"{context}: {name} is not in the key of {entity.tag}, which has {', '.join(key)}")
    names = {name: by.get(name, name) for name in key}
    for name, child_name in names.items():
        if child_name not in child.codec.attributes:
            raise SchemaError(
                f"{context}: {child.tag} has no attribute {child_name}. Name its attribute for {entity.tag}.{name} in "
                f"by={{{name!r}: …}}"
            )
        parent_type, child_type = entity.codec.types[name], child.codec.types[child_name]
        if parent_type.kind is not child_type.kind:
            raise SchemaError(
                f"{context}: {child.tag}.{child_name} is a {child_type}, and {entity.tag}.{name} is a {parent_type}"
            )
    return Parent(entity, names)


class ParentPattern(BoundPattern):
    """The pattern of a parent: only its children write the aggregate, and a parent with children is not deleted.

    A count of all children tells whether there are any. Without such a count, a parent cannot be deleted.
    """

    def __init__(self, child: BoundEntity[Any], parent: Parent, attribute: str = "") -> None:
        self.child, self.parent, self.attribute = child, parent, attribute
        self.count = ""
        """The attribute with the number of children; empty if there is none."""

    def check(self, schema: Schema) -> None:
        entity = self.parent.entity
        counting = (
            pattern for pattern in schema.entity(self.child.codec.cls).patterns if isinstance(pattern, Counting)
        )
        self.count = next((pattern.attribute for pattern in counting if pattern.counts(self.parent)), "")
        check_parent_stays(entity, self.child)

    def rewrite(self, write: Write) -> Write:
        match write.verb:
            case "insert":
                if self.attribute and write.values[self.attribute]:
                    raise TableError(
                        f"{self._maintained_text(self.attribute)}, so it must be 0 for a new {write.entity.tag}. To "
                        "import data, use a schema without this pattern"
                    )
            case "put":
                if self.attribute:
                    return replace(
                        write, where=both(write.where, _equals(self.attribute, write.values[self.attribute]))
                    )
            case "update" | "upsert":
                if self.attribute in write.changes.names:
                    raise TableError(
                        f"{self._maintained_text(self.attribute)} and cannot be changed. `recount` corrects it"
                    )
                if self._leaves_children(write):
                    return self._without_children(write)
            case "delete":
                return self._without_children(write)
            case _:
                pass
        return write

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        if not item:
            return None
        if (
            write.verb == "put"
            and self.attribute
            and self.number_in(item, self.attribute) != (write.values[self.attribute] or 0)
        ):
            return VersionConflict(
                f"{item_name(write)} has {self.attribute} {self.number_in(item, self.attribute)}, not "
                f"{write.values[self.attribute]}: a {self.child.tag} was written since. Read it again, or use update"
            )
        if (write.verb == "delete" or self._leaves_children(write)) and self.count and self.number_in(item, self.count):
            return ConditionFailed(
                f"{item_name(write)} has {self.number_in(item, self.count)} {self.child.tag}. Delete these first, or "
                "all with delete_tree"
            )
        return None

    def missing_count_error(self) -> TableError:
        """Return the error for the delete of a parent whose children are not counted."""
        tag = self.parent.entity.tag
        return TableError(
            f"{tag} cannot be deleted, because it is not known whether it has any {self.child.tag}. Add "
            f'Counted({self.parent.cls.__name__}, "…") to the patterns of {self.child.tag}'
        )

    def _without_children(self, write: Write) -> Write:
        if not self.count:
            raise self.missing_count_error()
        condition = _equals(self.count, 0)
        return write if condition in conjuncts(write.where) else replace(write, where=both(write.where, condition))

    def _leaves_children(self, write: Write) -> bool:
        """Return whether an update moves the parent away from its children, or marks it as deleted."""
        if write.verb != "update":
            return False
        moves = not write.changes.names.isdisjoint(write.entity.base.attributes)
        return moves or write.entity.deletion_mark in write.changes.sets

    def _maintained_text(self, name: str) -> str:
        return f"{self.parent.entity.tag}.{name} is maintained by each {self.child.tag}"

    def number_in(self, item: Mapping[str, Any], name: str) -> Any:
        attribute = self.parent.entity.codec.attribute(name)
        json = item.get(attribute.wire)
        return attribute.value.decode(json) if json else 0


def check_parent_stays(parent: BoundEntity[Any], child: BoundEntity[Any]) -> None:
    """Refuse a parent that expires: DynamoDB would delete it, and leave its children."""
    if parent.expiry:
        raise SchemaError(
            f"{parent.tag} expires by {parent.expiry}, which would leave each {child.tag} without a parent. Leave out "
            "one of the patterns"
        )


def _equals(name: str, value: Any) -> Condition:
    """Return the condition that a number has this value; an absent one counts as 0."""
    return Compare((name,), "=", value) if value else Or((Exists((name,), present=False), Compare((name,), "=", 0)))
