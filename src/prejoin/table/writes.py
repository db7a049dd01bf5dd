"""A write as it is meant, and the actions it becomes: one is a plain call, several are a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .bind import Bound
from .errors import CodecError, ConditionFailed, SchemaError, TableError, TooMany, UnknownValue
from .expressions import Arithmetic, Condition
from .schema import Schema

Verb = Literal["insert", "put", "update", "delete", "check"]
Kind = Literal["Put", "Update", "Delete", "ConditionCheck"]

MOST_ACTIONS = 100


@dataclass(frozen=True)
class Changes:
    """What an update changes, by attribute: values set, amounts added (from 0 if absent), attributes removed."""

    sets: Mapping[str, Any] = field(default_factory=dict)
    adds: Mapping[str, Any] = field(default_factory=dict)
    removes: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.sets, *self.adds, *self.removes))

    def only(self, names: Iterable[str]) -> Changes:
        """The part of the changes that concerns these attributes."""
        wanted = set(names)
        return Changes(
            {name: value for name, value in self.sets.items() if name in wanted},
            {name: value for name, value in self.adds.items() if name in wanted},
            self.removes & wanted,
        )

    def after(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """The values after the change, as far as they are known; what is removed is None."""
        values = {name: value for name, value in known.items() if name not in self.adds}
        for name, value in self.sets.items():
            values[name] = value
            if isinstance(value, Arithmetic):
                del values[name]
        return values | dict.fromkeys(self.removes)


@dataclass(frozen=True)
class Write:
    """What a caller wants written. A frozen value: patterns look at it and add actions of their own."""

    verb: Verb
    entity: Bound[Any]
    values: Mapping[str, Any]
    """Of an insert or put, all attributes. Of the others, those of the key, and those known to have these values."""
    was: Mapping[str, Any] | None = None
    """Of a put, all attributes of the item it replaces, where that is known."""
    changes: Changes = field(default_factory=Changes)
    where: Condition | None = None

    @property
    def asserted(self) -> dict[str, Any]:
        """What the write relies on beside the key, so that it is checked when it is done."""
        if self.verb in ("insert", "put"):
            return {}
        return {name: value for name, value in self.values.items() if name not in self.entity.base.attributes}

    def need(self, names: Iterable[str], known: Mapping[str, Any], what: str) -> None:
        """Refuses a write that does not know what it would have to."""
        missing = [name for name in dict.fromkeys(names) if name not in known]
        if missing:
            raise UnknownValue(
                f"this {self.verb} of {self.entity.tag} does not give {', '.join(missing)}, of which {what} is made: "
                f"give {', '.join(f'{name}=…' for name in missing)} as well, and it is checked when written"
            )


@dataclass(frozen=True)
class Action:
    """One item written: parameters shared by the plain call and the transaction."""

    kind: Kind
    parameters: Mapping[str, Any]
    key: tuple[str, ...]
    """The texts of the item's key."""
    failure: Callable[[Mapping[str, Any] | None], ConditionFailed]
    """What it means when its condition is false, given the item that was there, if it is known."""

    def __str__(self) -> str:
        return " / ".join(self.key)


Expansion = Callable[[Schema, Write], Iterable[Action]]
"""A pattern's part in a write: the actions it adds to those of the item itself."""


def checked_changes(entity: Bound[Any], changes: Changes) -> Changes:
    """Changes that make sense: None set is an attribute removed; the key and what is required stay."""
    for name in changes.names:
        entity.codec.attribute(name)
    gone = {name for name, value in changes.sets.items() if value is None}
    # DynamoDB has no empty set: to set one is to remove the attribute, optional or not.
    emptied = {name for name, value in changes.sets.items() if isinstance(value, set | frozenset) and not value}
    sets = {name: value for name, value in changes.sets.items() if name not in gone | emptied}
    removes = changes.removes | gone
    if not changes.names:
        raise TableError(f"an update of {entity.tag} that changes nothing")
    for name in changes.names:
        if name in entity.base.attributes:
            raise TableError(
                f"{name} is part of the key of {entity.tag} and cannot change: delete the item and insert another"
            )
    for name in removes:
        if not entity.codec.attribute(name).optional:
            raise CodecError(f"{entity.tag}.{name} is not optional and cannot be removed")
    twice = (set(sets) & set(changes.adds)) | ((set(sets) | set(changes.adds)) & set(removes))
    if twice:
        raise TableError(f"an update of {entity.tag} changes {', '.join(sorted(twice))} in two ways")
    return Changes(sets, changes.adds, frozenset(removes | emptied))


def checked_actions(actions: Sequence[Action]) -> Sequence[Action]:
    """The actions, if DynamoDB would take them together."""
    if len(actions) > MOST_ACTIONS:
        raise TooMany(f"{len(actions)} actions: a transaction takes at most {MOST_ACTIONS}")
    seen: set[tuple[str, ...]] = set()
    for action in actions:
        if action.key in seen:
            raise SchemaError(f"the item {action} is written twice in one transaction")
        seen.add(action.key)
    return actions
