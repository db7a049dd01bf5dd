"""Child: an item whose parent must exist, and is not deleted while it has children."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prejoin.table.errors import UnknownValue
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.write.model import Write
from prejoin.table.write.upsert import new_values

from .parents import Entities, Parent, ParentPattern, parent_of


@dataclass(frozen=True)
class Child(Pattern):
    """Items that belong to an item of another entity, the parent. `by` names the attributes of its key, if different.

    A write that creates a child, or changes its parent, checks in the same transaction that the parent exists; else it
    raises NotFound. A child whose attribute is None has no parent.

    A parent with children cannot be deleted. That needs a `Counted` without `when` beside this pattern; without it, no
    parent can be deleted. `delete_tree` deletes a parent with its children.

    Cost: an insert costs 4 write units instead of 1 (two items of up to 1 KB in a transaction); with `Counted` nothing
    more than that. Updates and deletes cost nothing more.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
    >>> @dataclass
    ... class User:
    ...     user_id: str
    >>> @dataclass
    ... class Order:
    ...     user_id: str
    ...     order_id: str
    >>> schema = Schema(
    ...     Entity(User, Key("USER#{user_id}", "USER")),
    ...     Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}"), patterns=[Child(User)]),
    ... )
    >>> db = Client(schema, "shop", Embedded())
    >>> db.create_table()
    >>> db.insert(Order("42", "a"))
    Traceback (most recent call last):
    prejoin.NotFound: there is no User user_id='42'
    """

    of: type[Any]
    by: Mapping[str, str] = field(default_factory=dict)

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        return ChildPattern(entity, self.of, self.by)


class ChildPattern(BoundPattern):
    """`Child`, bound to an entity."""

    parent: Parent

    def __init__(self, entity: BoundEntity[Any], of: type[Any], by: Mapping[str, str]) -> None:
        self.entity, self.cls, self._by = entity, of, by

    def link(self, entities: Entities) -> Mapping[type[Any], BoundPattern]:
        context = f"{self.entity.tag}, child of {self.cls.__name__}"
        self.parent = parent_of(self.entity, self.cls, self._by, entities, context)
        return {self.cls: ParentPattern(self.entity, self.parent)}

    def also(self, schema: Schema, write: Write) -> Iterator[Write]:
        key = self._new_parent(write)
        if key is not None:
            yield Write("check", schema.entity(self.cls), key)

    def _new_parent(self, write: Write) -> dict[str, Any] | None:
        """Return the key of the new parent of an item; None if it does not change."""
        match write.verb:
            case "insert":
                return self.parent.key(write.values)
            case "put":
                new_key = self.parent.key(write.values)
                return None if write.stored and new_key == self.parent.key(write.stored.values) else new_key
            case "update" if not write.changes.names.isdisjoint(self.parent.names.values()):
                write.need(self.parent.names.values(), write.after, f"the key of its {self.cls.__name__}")
                return self.parent.key(write.after)
            case "upsert":
                child_names = set(self.parent.names.values())
                if unknown := child_names & write.changes.unknown:
                    raise UnknownValue(
                        f"this upsert of {write.entity.tag} may or may not set {', '.join(sorted(unknown))}, which is "
                        f"its {self.cls.__name__}. Pass read=True to read the item first"
                    )
                return self.parent.key(new_values(write))
            case _:
                return None
