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
        found = {name: values[own] for name, own in self.names.items()}
        return None if None in found.values() else found


def parent_of(
    child: BoundEntity[Any], cls: type[Any], by: Mapping[str, str], entities: Entities, context: str
) -> Parent:
    """Return the parent of a child: its key attributes have the same names in the child, or those in `by`."""
    entity = entities.get(cls)
    if entity is None:
        known = ", ".join(one.tag for one in entities.values())
        raise SchemaError(f"{context}: {cls.__name__} is not an entity of this schema, which has {known}")
    key = entity.base.attributes
    for name in by:
        if name not in key:
            raise SchemaError(f"{context}: {name} is not in the key of {entity.tag}, which has {', '.join(key)}")
    names = {name: by.get(name, name) for name in key}
    for name, own in names.items():
        if own not in child.codec.attributes:
            raise SchemaError(
                f"{context}: {child.tag} has no attribute {own}. Name its attribute for {entity.tag}.{name} in "
                f"by={{{name!r}: …}}"
            )
        theirs, ours = entity.codec.types[name], child.codec.types[own]
        if theirs.kind is not ours.kind:
            raise SchemaError(f"{context}: {child.tag}.{own} is a {ours}, and {entity.tag}.{name} is a {theirs}")
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
        counts = (one for one in schema.entity(self.child.codec.cls).patterns if isinstance(one, Counting))
        self.count = next((one.attribute for one in counts if one.counts(self.parent)), "")
        check_parent_stays(entity, self.child)

    def rewrite(self, write: Write) -> Write:
        match write.verb:
            case "insert":
                if self.attribute and write.values[self.attribute]:
                    raise TableError(
                        f"{self._its(self.attribute)}, so it must be 0 for a new {write.entity.tag}. To import data, "
                        "use a schema without this pattern"
                    )
            case "put":
                if self.attribute:
                    return replace(write, where=both(write.where, _is(self.attribute, write.values[self.attribute])))
            case "update" | "upsert":
                if self.attribute in write.changes.names:
                    raise TableError(f"{self._its(self.attribute)} and cannot be changed. `recount` corrects it")
                if self._ends(write):
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
            and self.stored(item, self.attribute) != (write.values[self.attribute] or 0)
        ):
            return VersionConflict(
                f"{item_name(write)} has {self.attribute} {self.stored(item, self.attribute)}, not "
                f"{write.values[self.attribute]}: a {self.child.tag} was written since. Read it again, or use update"
            )
        if (write.verb == "delete" or self._ends(write)) and self.count and self.stored(item, self.count):
            return ConditionFailed(
                f"{item_name(write)} has {self.stored(item, self.count)} {self.child.tag}. Delete these first, or all "
                "with delete_tree"
            )
        return None

    def uncounted(self) -> TableError:
        """Return the error for the delete of a parent whose children are not counted."""
        tag = self.parent.entity.tag
        return TableError(
            f"{tag} cannot be deleted, because it is not known whether it has any {self.child.tag}. Add "
            f'Counted({self.parent.cls.__name__}, "…") to the patterns of {self.child.tag}'
        )

    def _without_children(self, write: Write) -> Write:
        if not self.count:
            raise self.uncounted()
        condition = _is(self.count, 0)
        return write if condition in conjuncts(write.where) else replace(write, where=both(write.where, condition))

    def _ends(self, write: Write) -> bool:
        """Return whether an update moves the parent away from its children, or marks it as deleted."""
        if write.verb != "update":
            return False
        moves = not write.changes.names.isdisjoint(write.entity.base.attributes)
        return moves or write.entity.deletion_mark in write.changes.sets

    def _its(self, name: str) -> str:
        return f"{self.parent.entity.tag}.{name} is maintained by each {self.child.tag}"

    def stored(self, item: Mapping[str, Any], name: str) -> Any:
        attribute = self.parent.entity.codec.attribute(name)
        found = item.get(attribute.wire)
        return attribute.value.decode(found) if found else 0


def check_parent_stays(parent: BoundEntity[Any], child: BoundEntity[Any]) -> None:
    """Refuse a parent that expires: DynamoDB would delete it, and leave its children."""
    if parent.expiry:
        raise SchemaError(
            f"{parent.tag} expires by {parent.expiry}, which would leave each {child.tag} without a parent. Leave out "
            "one of the patterns"
        )


def _is(name: str, value: Any) -> Condition:
    """Return the condition that a number has this value; an absent one counts as 0."""
    return Compare((name,), "=", value) if value else Or((Exists((name,), present=False), Compare((name,), "=", 0)))
