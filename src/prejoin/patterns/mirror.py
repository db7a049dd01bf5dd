"""A renamed attribute: both names hold the same value, for the time between two designs of a table.

Code that knows both names writes both, and a mark with the same value. Code that knows one name writes only that. So
of each item it is known who wrote last: the attribute that differs from the mark is the newer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders, new_value
from prejoin.table.errors import SchemaError, TableError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes, head
from prejoin.table.update.computed import First, Sum
from prejoin.table.write.actions import with_set
from prejoin.table.write.model import ItemAction, Write
from prejoin.types import Kind

ABSENT: Json = {"NULL": True}
"""The mark of an item that has neither attribute."""


def mirror_mark(one: str, other: str) -> str:
    """The attribute that holds the mark of two attributes, by their names in the table."""
    return "~" + "~".join(sorted((one, other)))


@dataclass(frozen=True)
class Mirror(Pattern):
    """A second attribute with the value of the first: the new name of an attribute, or the old one.

    It is for the time between two designs: `prejoin evolve` writes it into the code of a change that renames an
    attribute. Each write of `source` also writes `target`, which is optional in the class and never set by itself.

    Cost: nothing more.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     full_name: str
    ...     display_name: str | None = None
    >>> key = Key("USER#{user_id}", "USER")
    >>> schema = Schema(Entity(User, key, patterns=[Mirror("full_name", "display_name")]))
    >>> db = Client(schema, "users", Embedded())
    >>> db.create_table()
    >>> db.insert(User("1", "Ann"))
    User(user_id='1', full_name='Ann', display_name='Ann')
    """

    source: str
    target: str

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        source, target = entity.codec.attribute(self.source), entity.codec.attribute(self.target)
        name = f"{entity.tag}.{self.target}"
        if source.type != target.type or source.type.kind in (Kind.SET, Kind.CONTENT):
            raise SchemaError(f"{name} repeats {self.source}: both must have the same type, and be no set or content")
        if not target.optional:
            raise SchemaError(f"{name} repeats {self.source}, and must be optional")
        if {self.source, self.target} & set(entity.base.attributes):
            raise SchemaError(f"{name} repeats {self.source}, and neither can be part of the key")
        return MirrorPattern(self.source, self.target, mirror_mark(source.wire, target.wire))


class MirrorPattern(BoundPattern):
    completes = True

    def __init__(self, source: str, target: str, mark: str) -> None:
        self.source = source
        self.target = target
        self.mark = mark

    def rewrite(self, write: Write) -> Write:
        match write.verb:
            case "insert" | "put":
                return replace(write, values={**write.values, self.target: write.values[self.source]})
            case "update" | "upsert":
                return replace(write, changes=self._changes(write))
            case _:
                return write

    def _changes(self, write: Write) -> Changes:
        changes, source = write.changes, self.source
        self._refuse_change_inside(write)
        # Only the source decides: changes of the target by the caller are left out.
        sets: dict[Any, Any] = {path: value for path, value in changes.sets.items() if head(path) != self.target}
        adds = {path: value for path, value in changes.adds.items() if head(path) != self.target}
        removes = frozenset([path for path in changes.removes if head(path) != self.target])
        if source in sets:
            sets[self.target] = sets[source]
        elif source in adds:
            sets[self.target] = Sum((source,), "+", adds[source], from_zero=True)
        elif source in removes:
            removes |= {self.target}
        elif write.verb == "upsert" and source not in write.values:
            # It may create the item, with the default of the class.
            default = write.entity.codec.attribute(source).field.default
            if default is not None and default() is not None:
                sets[self.target] = First((source,), default())
        return Changes(sets, adds, removes, changes.deletes)

    def _refuse_change_inside(self, write: Write) -> None:
        for path in write.changes.all:
            if not isinstance(path, str) and head(path) == self.source:
                name = f"{write.entity.tag}.{self.source}"
                raise TableError(f"{name} is being renamed, so a part of it cannot be changed. Set all of it")

    def complete(self, schema: Schema, write: Write, action: ItemAction) -> ItemAction:
        """Write the mark, too."""
        parameters, codec = action.parameters, write.entity.codec
        if "Item" in parameters:
            value = parameters["Item"].get(codec.attribute(self.source).wire, ABSENT)
            return replace(action, parameters={**parameters, "Item": {**parameters["Item"], self.mark: value}})
        if "UpdateExpression" not in parameters:
            return action
        placeholders = Placeholders.continued(parameters)
        if write.verb == "put":
            value = write.values[self.source]
            text = placeholders.value(ABSENT if value is None else codec.encode_value(self.source, value))
        elif self.target in write.changes.removes or write.changes.sets.get(self.target, ABSENT) is None:
            text = placeholders.value(ABSENT)
        elif self.target in write.changes.sets:
            text = new_value((self.source,), write.changes.sets[self.target], codec, placeholders)
        else:
            return action
        expression = with_set(parameters["UpdateExpression"], f"{placeholders.name(self.mark)} = {text}")
        return replace(action, parameters={**parameters, **placeholders.parameters(), "UpdateExpression": expression})
