"""Where patterns plug in: what is declared with an entity, and its part in writes and reads. No pattern lives here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from prejoin.keys import Facet

if TYPE_CHECKING:
    from prejoin.table.codec.values import Json
    from prejoin.table.condition.record import Condition
    from prejoin.table.errors import ConditionFailed
    from prejoin.table.write.model import Action, Write

    from .bind import Bound
    from .declare import Key
    from .schema import Schema

OWNER = "owner"
"""The attribute by which an item that a pattern adds, and that does not have all attributes of the key of the item it
is there for, tells that key."""


class Pattern:
    """A pattern as it is declared: `Entity(…, patterns=[Version("version")])`. Plain data, until it is bound."""

    @property
    def expires(self) -> str:
        """The attribute that says when an item ends: the one by which DynamoDB deletes, stored as it wants it."""
        return ""

    @property
    def gone(self) -> str:
        """The attribute that an item has once it counts as deleted, though it is still there."""
        return ""

    @property
    def frees(self) -> bool:
        """Whether an item that is gone in this way frees its unique values."""
        return False

    def key_in(self, index: str) -> Key | None:
        """The key that items of its own have in an index; None where they have none of our making."""
        return None

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        """The pattern for one entity, when a schema is built; SchemaError where it does not fit."""
        raise NotImplementedError


class BoundPattern:
    """A pattern at work for one entity. Each method does nothing unless a pattern needs it.

    One write becomes a list of actions. First a pattern may `rewrite` what is meant. What it needs to know of the item
    that is there it `depends` on: that is read where the caller says `read=True`, checked when the write is done, and
    without it the write is refused, in the same words for all patterns. Then it may `expand` the write with items of
    its own, and do writes `also` on items of other entities, which are merged with whatever else the transaction does
    to them. What it means when a condition is false, it may say in `failed`.

    Reads leave out what is not `visible`, and whoever repairs a table learns from `expected` what should be there.
    """

    facets: tuple[Facet, ...] = ()
    """The keys that items of its own have in the table and its indexes. Those of the entity itself (copies) answer
    questions, too; others are named so that nobody can ask for them, such as `User unique email`."""
    what: str = ""
    """What it keeps, for the sentence that refuses a write: `the guard of unique email`."""

    def meet(self, entities: Mapping[type[Any], Bound[Any]]) -> Mapping[type[Any], BoundPattern]:
        """Called with all entities of the schema, before it is made of them. What it has to keep in others is theirs:
        returned by their classes, it is at work for them as if they had declared it."""
        return {}

    def check(self, schema: Schema) -> None:
        """Called when all entities are known; SchemaError where the pattern does not fit to the others."""

    def rewrite(self, write: Write) -> Write:
        """The write that is meant: with attributes that the pattern keeps, with conditions that it needs.

        Before anything is read: `was` and `becomes` are not known here.
        """
        return write

    def depends(self, write: Write) -> Iterable[str]:
        """The attributes of the item that is there (`write.before`) which decide what the pattern has to do.

        For an upsert: whether there are any is asked, for it does not know what is there; with `read=True` it comes
        as an update or an insert.
        """
        return ()

    def expand(self, schema: Schema, write: Write) -> Iterable[Action]:
        """Further items to be written with it, in the same transaction. `depends` is known."""
        return ()

    def also(self, schema: Schema, write: Write) -> Iterable[Write]:
        """Writes on items of entities (not rewritten), in the same transaction: a counter, the check of a parent.

        Where the transaction writes one of these items already, both become one action if they can: changes of an
        update are joined (amounts added up), applied to what is inserted or put; a check is part of any other write.
        """
        return ()

    def unbatched(self, write: Write) -> str:
        """Why a put or delete cannot go in a BatchWriteItem, for those who debug; empty if it can.

        A batch checks nothing: what has a condition, or is an update or of several items, does not go in one anyway.
        """
        return ""

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        """What it means that a write's condition is false, given what was there; None where the pattern has no part."""
        return None

    def visible(self) -> Condition | None:
        """What holds for the items that reads show, and that updates find; of whole attributes and values only."""
        return None

    def vacant(self) -> Condition | None:
        """What holds for items that are as good as not there: an insert may replace them."""
        return None

    def expected(self, schema: Schema, values: Mapping[str, Any]) -> Iterable[Json]:
        """The items, whole and in DynamoDB JSON, that have to be in the table because one with these values is.

        Of each facet of the pattern no others may be there: an audit compares, in both directions.
        """
        return ()
