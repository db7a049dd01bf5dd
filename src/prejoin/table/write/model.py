"""Writes as data: what a caller wants to write, and the actions on items that it becomes.

One action is sent as a plain request, several as a transaction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from prejoin.protocol.limits import ITEM_SIZE, TRANSACTION_ACTIONS, TRANSACTION_SIZE
from prejoin.protocol.sizes import item_size
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Condition
from prejoin.table.errors import ConditionFailed, SchemaError, TooMany, UnknownValue
from prejoin.table.options import Returning
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.update.changes import NO_CHANGES, Changes

Verb = Literal["insert", "put", "update", "upsert", "delete", "check", "check_absent"]
ActionKind = Literal["Put", "Update", "Delete", "ConditionCheck"]


class ItemDecision(ABC):
    """How a write depends on the stored item, in a way that DynamoDB cannot compute. Patterns implement it.

    Such a write is optimistic. It is sent with a condition under which the stored item needs no change. If that is
    false, DynamoDB returns the item, and the write is decided for it and sent again.
    """

    label: str = ""
    """The possible effect of the write, for the error that refuses it with a token: `may set the highest …`."""

    @abstractmethod
    def assumption(self) -> Condition:
        """Return the condition under which the write changes nothing more."""

    @abstractmethod
    def decide(self, entity: BoundEntity[Any], item: Mapping[str, Json] | None) -> tuple[Condition, Mapping[str, Any]]:
        """Return the values to set for this stored item, and the condition under which that is right."""

    @abstractmethod
    def combine(self, entity: BoundEntity[Any], other: ItemDecision) -> ItemDecision:
        """Return the decision of two writes to the same item as one."""

    @abstractmethod
    def apply(self, entity: BoundEntity[Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values to set in an object that the same transaction inserts or puts."""


class StoredObject(msgspec.Struct, frozen=True):
    """The stored object of a write, where it is known: the caller passed it, or its item was read first."""

    values: Mapping[str, Any]
    """All attributes."""
    item: Json | None = None
    """The item that was read. Its attributes that the write depends on must not have changed when it is written."""
    after: Mapping[str, Any] | None = None
    """All attributes after an update."""
    complete: bool = False
    """Whether the write depends on all attributes, because the item moves to another key."""


class Write(msgspec.Struct, frozen=True):
    """A requested write. It is immutable: patterns return changed copies, and add actions of their own."""

    verb: Verb
    entity: BoundEntity[Any]
    values: Mapping[str, Any]
    """All attributes, for an insert or put. Else those of the key, and others whose current value the caller knows."""
    stored: StoredObject | None = None
    changes: Changes = NO_CHANGES
    where: Condition | None = None
    returning: Returning = None
    """The object to return: as it is after the write, or as it was before."""
    read_first: bool = False
    """Whether to read the item first, to know the values of its other keys, copies and guards."""
    visible: bool = True
    """Whether the stored item has to be visible. False to restore or purge an item that is marked as deleted."""
    extra: Json | None = None
    """Attributes that the class does not have, for an insert of an item that moves."""
    cause: Write | None = None
    """The write that made a pattern add this one."""
    decision: ItemDecision | None = None
    """How the write depends on the stored item. Only for an update or upsert that a pattern adds."""
    if_stored: Condition | None = None
    """The condition of an upsert, which is about the stored item: one that does not exist is created."""
    or_absent: bool = False
    """Whether an item that does not exist fulfils the condition of a check or a delete."""
    missing_ok: bool = False
    """Whether a delete does nothing if no item has the key and the known values."""
    spread: Mapping[str, Any] = {}
    """Amounts that a pattern adds to items of its own, instead of the entity's item."""

    @property
    def asserted(self) -> dict[str, Any]:
        """The values that the caller knows beside the key. They are checked when the item is written."""
        base = self.entity.base.attributes
        if self.verb in ("insert", "put") or len(self.values) == len(base):
            return {}
        return {name: value for name, value in self.values.items() if name not in base}

    @property
    def spares_item(self) -> bool:
        """Whether an update writes items of a pattern only, and not the entity's own."""
        return bool(self.spread) and not self.changes.all

    @property
    def moves(self) -> bool:
        """Whether an update, whose item was read, changes its key.

        DynamoDB cannot do that: the item is written anew.
        """
        base = self.entity.base.attributes
        if self.stored is None or self.stored.after is None or self.changes.names.isdisjoint(base):
            return False
        before, after = self.stored.values, self.stored.after
        return any(before[name] != after[name] for name in base)

    @property
    def before(self) -> Mapping[str, Any]:
        """The known attributes of the stored item."""
        return self.values if self.stored is None else self.stored.values

    @property
    def after(self) -> Mapping[str, Any]:
        """The known attributes of the item after an update."""
        return self.changes.after(self.values) if self.read_after is None else self.read_after

    @property
    def read_item(self) -> Json | None:
        """The stored item, if it was read."""
        return self.stored.item if self.stored else None

    @property
    def read_after(self) -> Mapping[str, Any] | None:
        """All attributes after an update, if its item was read."""
        return self.stored.after if self.stored else None

    def need_before(self, names: Iterable[str], dependent: str) -> None:
        """Raise UnknownValue if attributes of the stored item that `dependent` needs are not known."""
        match self.verb:
            case "put" if self.stored is None:
                if other := [name for name in dict.fromkeys(names) if name not in self.entity.base.attributes]:
                    raise UnknownValue(
                        f"this put of {self.entity.tag} may change {', '.join(other)}, and {dependent} depends on the "
                        "stored value. Pass the object that it replaces as was=, or read=True, or use insert or "
                        "update"
                    )
            case "upsert":
                if any(True for _ in names):
                    raise UnknownValue(
                        f"this upsert of {self.entity.tag} changes {dependent}, which depends on the stored item. Pass "
                        "read=True to read it first"
                    )
            case "update" | "delete":
                self.need(names, self.before, dependent)
            case _:
                pass

    def need(self, names: Iterable[str], values: Mapping[str, Any], dependent: str) -> None:
        """Raise UnknownValue if attributes that `dependent` needs are not known."""
        missing = [name for name in dict.fromkeys(names) if name not in values]
        if missing:
            raise UnknownValue(
                f"this {self.verb} of {self.entity.tag} needs the current value of {', '.join(missing)}, because "
                f"{dependent} depends on it. Pass {', '.join(f'{name}=<current>' for name in missing)}, or read=True"
            )


class ItemAction(msgspec.Struct, frozen=True):
    """One item to write, with parameters for a plain request or a transaction."""

    kind: ActionKind
    parameters: Mapping[str, Any]
    key: tuple[str, ...]
    """The values of the item's key."""
    write: Write
    """The write that it belongs to."""
    failure: Callable[[Write, Json | None], ConditionFailed]
    """Makes the error if its condition is false, from the stored item if it is known."""
    own: bool = True
    """Whether it is the entity's own item, or another one that is written with it."""
    adds: Mapping[str, Any] | None = None
    """The amounts, if the action only adds to numbers, by names in the table. Two such actions can be merged."""
    adding: Callable[[Mapping[str, Any]], ItemAction] | None = None
    """Makes the same action with other amounts."""
    owners: tuple[Json, ...] = ()
    """The keys of the items whose guard the action may delete or replace. It does not touch that of another item."""
    owned: Callable[[tuple[Json, ...]], ItemAction] | None = None
    """Makes the same action for other owners. Several actions on one guard are merged."""
    optional: bool = False
    """Whether the transaction is sent without this action if its condition is false."""

    def __str__(self) -> str:
        return " / ".join(self.key)


def key_texts(key: Json) -> tuple[str, ...]:
    """Return the values of a key.

    >>> key_texts({"pk": {"S": "USER#1"}, "at": {"N": "7"}})
    ('USER#1', '7')
    """
    return tuple(chain.from_iterable(map(_TEXTS, key.values())))


_TEXTS = dict[str, str].values


def check_actions(actions: Sequence[ItemAction]) -> Sequence[ItemAction]:
    """Return the actions; raise TooMany or SchemaError if DynamoDB would not accept them in one transaction."""
    if len(actions) > TRANSACTION_ACTIONS:
        raise TooMany(
            f"a transaction takes at most {TRANSACTION_ACTIONS} actions, and this one has {len(actions)}. Write fewer "
            "items at a time, or write them without a transaction"
        )
    if len({action.key for action in actions}) < len(actions):
        first_actions: dict[tuple[str, ...], ItemAction] = {}
        # Transactions refuse two actions on one item, without a word on which one it is.
        for action in actions:
            first = first_actions.setdefault(action.key, action)
            if first is not action:
                if not action.own and first.kind == action.kind == "Put":  # both take a unique value
                    raise action.failure(action.write, None)
                raise SchemaError(f"the item {action} is written twice in one transaction")
    # Fewer items cannot exceed the size of a transaction, because each item has a size limit, too.
    if len(actions) * ITEM_SIZE > TRANSACTION_SIZE:
        size = sum(item_size(action.parameters.get("Item", {})) for action in actions)
        if size > TRANSACTION_SIZE:
            raise TooMany(
                f"a transaction takes at most {TRANSACTION_SIZE // 2**20} MB, and this one has {size / 2**20:.1f} MB"
            )
    return actions
