"""The hooks of patterns: how a pattern is declared, and what it does in writes and reads. No pattern is defined here.

`Pattern` is the declaration; `BoundPattern` is the pattern at work for one entity of a schema. A write runs the hooks
of its entity in this order:

1. `rewrite` changes the write itself.
2. `depends` names attributes of the stored item. They are read with `read=True`, or given by the caller and checked.
   Without them the write is refused.
3. `also` adds writes on items of other entities, and `expand` adds items of the pattern itself.
4. `failed` explains a condition that was false.

Reads use `visibility`; `audit` and `repair` use `expected`.

The imports below are for type checkers only: the hooks are called with types that are defined in terms of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from prejoin.keys import Facet

if TYPE_CHECKING:
    from prejoin.table.codec.values import Json, ValueCodec
    from prejoin.table.condition.record import Condition
    from prejoin.table.errors import ConditionFailed
    from prejoin.table.write.model import ItemAction, Write

    from .bind import Bound
    from .declare import Key
    from .schema import Schema

OWNER = "owner"
"""The attribute that holds the key of the entity's item, in an item of a pattern whose own key does not contain it."""


class Lifecycle(msgspec.Struct, frozen=True):
    """How a pattern ends items: DynamoDB deletes them at a time, or a delete only marks them."""

    attribute: str
    """The attribute with the time at which the item ends, or at which it was marked as deleted."""
    end: Literal["expires", "marked"]
    frees_unique: bool = False
    """Whether a marked item frees its unique values."""
    storage: Callable[[ValueCodec], ValueCodec] | None = None
    """How the attribute is stored, if not as its type usually is."""


class Visibility(msgspec.Struct, frozen=True):
    """Which items reads show. The conditions are of whole attributes and values."""

    shown: Condition
    """True of the items that reads show, and that updates find."""
    replaceable: Condition | None = None
    """True of hidden items that an insert may replace."""


class Pattern:
    """A declared pattern: `Entity(…, patterns=[Version("version")])`."""

    indexes: Mapping[str, Key] = {}
    """The keys of the pattern's own items in indexes, by index."""

    @property
    def lifecycle(self) -> Lifecycle | None:
        """How the pattern ends items; None if it does not. Other patterns look at it."""
        return None

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        """Bind the pattern to an entity, when a schema is built. Raise SchemaError if it does not fit."""
        raise NotImplementedError


class BoundPattern:
    """A pattern at work for one entity. All hooks do nothing by default."""

    facets: tuple[Facet, ...] = ()
    """The keys of the pattern's own items. Reads use those with the tag of the entity, as copies have; other items have
    a name that nobody can query, such as `User unique email`."""
    what: str = ""
    """What the pattern maintains, for the error that refuses a write: `the guard of unique email`."""

    def link(self, entities: Mapping[type[Any], Bound[Any]]) -> Mapping[type[Any], BoundPattern]:
        """Return patterns to add to other entities, by class. Called with all entities before the schema is built."""
        return {}

    def check(self, schema: Schema) -> None:
        """Raise SchemaError if the pattern does not fit the schema. Called when the schema is built."""

    def rewrite(self, write: Write) -> Write:
        """Return the write with attributes or conditions of the pattern. The stored item is not known yet."""
        return write

    def depends(self, write: Write) -> Iterable[str]:
        """Return the attributes of the stored item (`write.before`) that the pattern needs for this write.

        An upsert with any such attribute is refused; with `read=True` it becomes an insert or update first.
        """
        return ()

    def expand(self, schema: Schema, write: Write) -> Iterable[ItemAction]:
        """Return actions on the pattern's own items, for the same transaction."""
        return ()

    def also(self, schema: Schema, write: Write) -> Iterable[Write]:
        """Return writes on items of entities, for the same transaction: a counter, the check of a parent.

        They are not rewritten. If the transaction already writes such an item, both become one action if possible:
        changes of updates are joined and amounts added, an inserted object gets the changes, a check joins any write. A
        write whose values depend on the stored item has an `ItemDecision`.
        """
        return ()

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        """Return the error for a false condition, from the stored item; None if the pattern is not the cause."""
        return None

    def visibility(self) -> Visibility | None:
        """Return which items reads show, as of now; None if all."""
        return None

    def expected(self, schema: Schema, values: Mapping[str, Any]) -> Iterable[Json]:
        """Return the pattern's own items, in DynamoDB JSON, that belong to an item with these values.

        An audit reports items that are missing, and items of the pattern's facets that are not expected.
        """
        return ()
