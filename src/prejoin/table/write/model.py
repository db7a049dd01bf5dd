"""A write as it is meant, and the actions it becomes: one is a plain call, several are a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from prejoin.protocol.limits import ITEM_SIZE, TRANSACTION_ACTIONS, TRANSACTION_SIZE
from prejoin.protocol.sizes import item_size
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Condition
from prejoin.table.errors import ConditionFailed, SchemaError, TooMany, UnknownValue
from prejoin.table.schema.bind import Bound
from prejoin.table.update.changes import NOTHING, Changes

Verb = Literal["insert", "put", "update", "upsert", "delete", "check"]
Kind = Literal["Put", "Update", "Delete", "ConditionCheck"]
Returning = Literal["", "new", "old"]


class Extreme(msgspec.Struct, frozen=True):
    """A value that an attribute is to reach: it is at least that (`>=`), or at most (`<=`)."""

    op: Literal[">=", "<="]
    value: Any


class Write(msgspec.Struct, frozen=True):
    """What a caller wants written. A frozen value: patterns look at it and add actions of their own."""

    verb: Verb
    entity: Bound[Any]
    values: Mapping[str, Any]
    """Of an insert or put, all attributes. Of the others, those of the key, and those known to have these values."""
    was: Mapping[str, Any] | None = None
    """All attributes of the item that is there, where that is known."""
    changes: Changes = NOTHING
    where: Condition | None = None
    returning: Returning = ""
    """The object that is wanted back: as it is after the write, or as it was before."""
    read: bool = False
    """Whether the item is to be read first, to know what its other keys, copies and guards are made of."""
    item: Json | None = None
    """The item that was read, as it lay there; it has to be the same still, as far as the write relies on it."""
    becomes: Mapping[str, Any] | None = None
    """Of an update whose item was read, all attributes after it."""
    seen: bool = True
    """Whether the item, if it has to be there, has to be one that reads show."""
    whole: bool = False
    """Whether it relies on all of the item that was read, for that is written anew under another key; or is that."""
    cause: Write | None = None
    """The write that a pattern does this one with."""
    absent: bool = False
    """Of a check: whether there must be no item."""
    extremes: Mapping[str, Extreme] | None = None
    """What attributes are to reach, and are set to where they have not. Of an update or upsert that a pattern does."""

    @property
    def asserted(self) -> dict[str, Any]:
        """What the caller says of the item beside its key, so that it is checked when it is written."""
        base = self.entity.base.attributes
        if self.verb in ("insert", "put") or len(self.values) == len(base):
            return {}
        return {name: value for name, value in self.values.items() if name not in base}

    @property
    def moves(self) -> bool:
        """Whether an update, whose item was read, changes its key: DynamoDB cannot, so the item is written anew."""
        was, becomes = self.was, self.becomes
        if was is None or becomes is None or self.changes.names.isdisjoint(self.entity.base.attributes):
            return False
        return any(was[name] != becomes[name] for name in self.entity.base.attributes)

    @property
    def before(self) -> Mapping[str, Any]:
        """What is known of the item that is there."""
        return self.values if self.was is None else self.was

    @property
    def after(self) -> Mapping[str, Any]:
        """What is known of the item after an update."""
        return self.changes.after(self.values) if self.becomes is None else self.becomes

    def need_before(self, names: Iterable[str], what: str) -> None:
        """Refuses a write that does not know of the item that is there what it would have to."""
        match self.verb:
            case "put" if self.was is None:
                if other := [name for name in dict.fromkeys(names) if name not in self.entity.base.attributes]:
                    raise UnknownValue(
                        f"a put of {self.entity.tag} may replace an item with another {', '.join(other)}, of which "
                        f"{what} is made: give was= the item it replaces, or read=True, or insert or update"
                    )
            case "upsert":
                if any(True for _ in names):
                    raise UnknownValue(
                        f"what an upsert of {self.entity.tag} has to do about {what} depends on what is there: give "
                        "read=True, and the item is read first"
                    )
            case "update" | "delete":
                self.need(names, self.before, what)
            case _:
                pass

    def need(self, names: Iterable[str], known: Mapping[str, Any], what: str) -> None:
        """Refuses a write that does not know what it would have to."""
        missing = [name for name in dict.fromkeys(names) if name not in known]
        if missing:
            raise UnknownValue(
                f"this {self.verb} of {self.entity.tag} does not give {', '.join(missing)}, of which {what} is made: "
                f"give {', '.join(f'{name}=…' for name in missing)} as well, and it is checked when written, "
                "or read=True, and the item is read first"
            )


class Action(msgspec.Struct, frozen=True):
    """One item written: parameters shared by the plain call and the transaction."""

    kind: Kind
    parameters: Mapping[str, Any]
    key: tuple[str, ...]
    """The texts of the item's key."""
    write: Write
    """What it is a part of."""
    failure: Callable[[Write, Json | None], ConditionFailed]
    """What it means when its condition is false, given the item that was there, if it is known."""
    own: bool = True
    """Whether it is the entity's own item, or another that is written with it."""
    adds: Mapping[str, Any] | None = None
    """Of an action that only adds to numbers, by their names in the table: two of these can be one."""
    adding: Callable[[Mapping[str, Any]], Action] | None = None
    """The same action with other amounts."""

    def __str__(self) -> str:
        return " / ".join(self.key)


def key_texts(key: Json) -> tuple[str, ...]:
    """The texts of a key.

    >>> key_texts({"pk": {"S": "USER#1"}, "at": {"N": "7"}})
    ('USER#1', '7')
    """
    return tuple(chain.from_iterable(map(_TEXTS, key.values())))


_TEXTS = dict[str, str].values


def checked_actions(actions: Sequence[Action]) -> Sequence[Action]:
    """The actions, if DynamoDB would take them together."""
    if len(actions) > TRANSACTION_ACTIONS:
        raise TooMany(f"{len(actions)} actions: a transaction takes at most {TRANSACTION_ACTIONS}")
    if len({action.key for action in actions}) < len(actions):
        seen: set[tuple[str, ...]] = set()
        for action in actions:
            if action.key in seen:
                raise SchemaError(f"the item {action} is written twice in one transaction")
            seen.add(action.key)
    # Fewer items cannot be larger than a transaction may be, for each has a limit of its own.
    if len(actions) * ITEM_SIZE > TRANSACTION_SIZE:
        size = sum(item_size(action.parameters.get("Item", {})) for action in actions)
        if size > TRANSACTION_SIZE:
            raise TooMany(f"items of {size / 2**20:.1f} MB: a transaction takes at most {TRANSACTION_SIZE // 2**20} MB")
    return actions
