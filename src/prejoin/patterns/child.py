"""Children and parents: a child has a parent that is there, and a parent with children stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prejoin.table.errors import UnknownValue
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.write.model import Write
from prejoin.table.write.upsert import new_values

from .parents import Entities, Owner, Parent, parent_of


@dataclass(frozen=True)
class Child(Pattern):
    """Items that belong to one of another entity, found by the attributes of its key, or as `by` says.

    What makes a child, or gives it to another parent, checks in the same transaction that the parent is there; if not,
    it is a NotFound, and nothing is written. Where the child is `Counted`, too, that is the check. A child whose
    attribute is None belongs to nobody.

    A parent is deleted only when it has no children, which is known by a `Counted` without `when` beside this; without
    it, it is not deleted. `delete_tree` deletes both.

    Cost: an insert is 4 write units where it was 1 (two items up to 1 KB, each twice in a transaction); with `Counted`
    none more than that has. Nothing for updates and deletes.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Client, Entity, Key, Schema
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

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        return Belonging(entity, self.of, self.by)


class Belonging(BoundPattern):
    """`Child` at work."""

    parent: Parent

    def __init__(self, entity: Bound[Any], of: type[Any], by: Mapping[str, str]) -> None:
        self.entity, self.cls, self._by = entity, of, by

    def link(self, entities: Entities) -> Mapping[type[Any], BoundPattern]:
        said = f"{self.entity.tag}, child of {self.cls.__name__}"
        self.parent = parent_of(self.entity, self.cls, self._by, entities, said)
        return {self.cls: Owner(self.entity, self.parent)}

    def also(self, schema: Schema, write: Write) -> Iterator[Write]:
        key = self._new_parent(write)
        if key is not None:
            yield Write("check", schema.entity(self.cls), key)

    def _new_parent(self, write: Write) -> dict[str, Any] | None:
        """The parent that an item gets."""
        match write.verb:
            case "insert":
                return self.parent.key(write.values)
            case "put":
                now = self.parent.key(write.values)
                return None if write.was is not None and now == self.parent.key(write.was) else now
            case "update" if not write.changes.names.isdisjoint(self.parent.names.values()):
                write.need(self.parent.names.values(), write.after, f"the key of its {self.cls.__name__}")
                return self.parent.key(write.after)
            case "upsert":
                own = set(self.parent.names.values())
                if unknown := own & write.changes.unknown:
                    raise UnknownValue(
                        f"an upsert of {write.entity.tag} may keep {', '.join(sorted(unknown))} or set it, and that is "
                        f"its {self.cls.__name__}: give read=True, and the item is read first"
                    )
                return self.parent.key(new_values(write))
            case _:
                return None
