"""The form of an attribute in the next design of a table: what it requires of each write."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from prejoin.table.errors import CodecError, SchemaError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.update.changes import Changes
from prejoin.table.update.computed import Computed, First
from prejoin.table.write.model import Write


@dataclass(frozen=True)
class NextForm(Pattern):
    """What the next design of a table requires of an attribute. Reads still accept what the class accepts.

    It is for the time between two designs: `prejoin evolve` writes it into the code that runs before the next design.
    With `required`, a write without the attribute is refused; if there is a `default`, that is written instead. With
    `values`, only these are accepted.

    Cost: nothing more.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     nick: str | None = None
    >>> form = NextForm("nick", required=True, default="?")
    >>> db = Client(Schema(Entity(User, Key("USER#{user_id}", "USER"), patterns=[form])), "users", Embedded())
    >>> db.create_table()
    >>> db.insert(User("1"))
    User(user_id='1', nick='?')
    """

    attribute: str
    required: bool = False
    default: Any = None
    values: AbstractSet[str] | None = None

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        entity.codec.attribute(self.attribute)
        if self.attribute in entity.base.attributes:
            raise SchemaError(f"{entity.tag}.{self.attribute} is part of the key, and cannot get another form")
        return _NextFormPattern(self, f"{entity.tag}.{self.attribute}")


@dataclass(frozen=True)
class _NextFormPattern(BoundPattern):
    declared: NextForm
    name: str
    """The entity and the attribute, for messages: `User.nick`."""

    def rewrite(self, write: Write) -> Write:
        attribute = self.declared.attribute
        match write.verb:
            case "insert" | "put":
                value = self._accepted_value(write.values.get(attribute))
                return replace(write, values={**write.values, attribute: value})
            case "update" | "upsert":
                return replace(write, changes=self._changes(write))
            case _:
                return write

    def _changes(self, write: Write) -> Changes:
        attribute, changes = self.declared.attribute, write.changes
        sets: dict[Any, Any] = dict(changes.sets)
        removes = changes.removes
        if attribute in removes:
            if (value := self._accepted_value(None)) is not None:
                sets[attribute] = value
                removes -= {attribute}
        elif attribute in sets:
            sets[attribute] = self._accepted_value(sets[attribute])
        elif self._may_create_without(write) and (value := self._accepted_value(None)) is not None:
            sets[attribute] = First((attribute,), value)
        return Changes(sets, changes.adds, removes, changes.deletes)

    def _may_create_without(self, write: Write) -> bool:
        attribute = self.declared.attribute
        return write.verb == "upsert" and attribute not in write.changes.names and attribute not in write.values

    def _accepted_value(self, value: Any) -> Any:
        """Return the value, or the default instead of None. Raise CodecError if the next design does not accept it."""
        form = self.declared
        if isinstance(value, First):
            self._accepted_value(value.value)
            return value
        if isinstance(value, Computed):
            return value
        if value is None:
            if form.required and form.default is None:
                raise CodecError(f"{self.name} is None, and the next design of the table requires it. Give it a value")
            return form.default if form.required else None
        if form.values is not None and getattr(value, "value", value) not in form.values:
            words = ", ".join(sorted(form.values))
            raise CodecError(f"{self.name} is {value!r}, and the next design of the table accepts only {words}")
        return value
