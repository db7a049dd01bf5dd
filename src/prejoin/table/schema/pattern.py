"""The hooks of patterns: how a pattern is declared, and what it does in writes and reads. No pattern is defined here.

`Pattern` is the declaration, and `BoundPattern` is the pattern at work for one entity of a schema. All hooks do nothing
by default; most patterns need one or two.

When a schema is built, it reads `Pattern.indexes`, `Pattern.lifecycle` and `Pattern.storage`, and calls `bind`, `link`
and `check`, in this order. A write then runs the hooks of its entity in this order:

1. `rewrite` changes the write itself. `prepare` may send requests that come before the write.
2. `depends` names attributes of the stored item. They are read with `read=True`, or given by the caller and checked.
   Without them the write is refused.
3. `also` adds writes on items of other entities, `expand` adds items of the pattern itself, and `complete` adds to the
   item itself what is no attribute.
4. `failed` explains a condition that was false.

Reads use `facets` and `visibility`; `audit` and `repair` use `expected`.

The imports below are for type checkers only. Writes, entities and schemas hold patterns, and the hooks are called with
writes, entities and schemas, so their types refer to each other. No module is imported in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from prejoin.keys import Facet

if TYPE_CHECKING:
    from prejoin.table.codec.values import Json, ValueCodec
    from prejoin.table.condition.record import Condition
    from prejoin.table.conversation import Steps
    from prejoin.table.errors import ConditionFailed
    from prejoin.table.write.model import ItemAction, Write

    from .bind import BoundEntity
    from .declare import Key
    from .schema import Schema

OWNER = "owner"
"""The attribute that holds the key of the entity's item, in an item of a pattern whose own key does not contain it."""


STATE_TAG = "prejoin.state"
"""The type tag of the item that holds the state of the table between two designs. It is of no entity."""
STATE_KEY = ("PREJOIN#EVOLVE", "STATE")
"""The key of that item."""


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
    """The items that reads show. The conditions are of whole attributes and values."""

    condition: Condition
    """True of the items that reads show, and that updates find."""
    replaceable: Condition | None = None
    """True of hidden items that an insert may replace."""


class Pattern:
    """A declared pattern: `Entity(…, patterns=[Version("version")])`."""

    indexes: Mapping[str, Key] = {}
    """The keys of the pattern's own items in indexes, by index. The schema needs them before it binds patterns, to know
    whether an index has a sort key. `Copy` has them."""

    @property
    def lifecycle(self) -> Lifecycle | None:
        """How the pattern ends items; None if it does not.

        The schema takes the time to live attribute of the table from it, and other patterns look at it: a guard of a
        unique value expires with its item, and a count leaves out marked items. `TimeToLive` and `SoftDelete` have it.
        """
        return None

    @property
    def storage(self) -> Mapping[str, Callable[[ValueCodec], ValueCodec]]:
        """How attributes are stored, by name, if not as their types usually are. `ReadAs` has it."""
        return {}

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        """Bind the pattern to an entity, when a schema is built. Raise SchemaError if it does not fit the entity.

        The other entities are not known yet: a pattern that needs them waits for `link`.
        """
        raise NotImplementedError


class BoundPattern:
    """A pattern at work for one entity."""

    facets: tuple[Facet, ...] = ()
    """The keys of the pattern's own items. Reads use those with the tag of the entity, as copies have; other items have
    a name that nobody can query, such as `User unique email`."""
    label: str = ""
    """The name of the thing that the pattern maintains, for errors: `the guard of unique email`."""
    spreads: ClassVar[bool] = False
    """Whether the pattern may write its own items instead of the entity's (`Write.spread`). It rewrites first, and a
    write that spares the entity's item is left to it alone. `ShardedCounter` does that."""
    only_checks: ClassVar[bool] = False
    """Whether the pattern only checks values that are written. Deletes, and batches of puts that it has checked, do not
    need it. `Bounds` does that."""

    completes: bool = False
    """Whether the pattern adds something to the entity's own item that is no attribute of its class."""

    def link(self, entities: Mapping[type[Any], BoundEntity[Any]]) -> Mapping[type[Any], BoundPattern]:
        """Return patterns to add to other entities, by class. Called with all entities before the schema is built.

        `Child` and `Counted` find their parent here, and add a pattern to it that refuses to delete a parent with
        children.
        """
        return {}

    def check(self, schema: Schema) -> None:
        """Raise SchemaError if the pattern does not fit the schema. Called when the schema is built.

        All patterns are bound and linked by then, so this is the place for rules about several patterns, such as that
        an entity with children must not expire.
        """

    def rewrite(self, write: Write) -> Write:
        """Return the write with attributes or conditions of the pattern. The stored item is not known yet.

        `Version` increments a number and adds a condition, `Timestamps` sets times, and `SoftDelete` turns a delete
        into an update. Raise TableError to refuse the write.
        """
        return write

    def prepare(self, schema: Schema, table: str, write: Write) -> Steps[Write] | None:
        """Return the steps that come before the write, and return the write to run; None if there are none.

        `Large` stores a content beside the item, and the write then refers to it.
        """
        return None

    def depends(self, write: Write) -> Iterable[str]:
        """Return the attributes of the stored item (`write.before`) that the pattern needs for this write.

        A change of a unique email needs the old one, to delete its guard. An upsert with any such attribute is refused;
        with `read=True` it becomes an insert or update first.
        """
        return ()

    def expand(self, schema: Schema, write: Write) -> Iterable[ItemAction]:
        """Return actions on the pattern's own items, for the same transaction: a guard, a copy, a shard of a counter.

        `prejoin.table.write.actions` has functions that make such actions.
        """
        return ()

    def complete(self, schema: Schema, write: Write, action: ItemAction) -> ItemAction:
        """Return the action on the entity's own item with what the pattern adds to it. Called if `completes` is set.

        The twin of an item that moves to another key marks both items.
        """
        return action

    def also(self, schema: Schema, write: Write) -> Iterable[Write]:
        """Return writes on items of entities, for the same transaction: a counter, the check of a parent.

        They are not rewritten. If the transaction already writes such an item, both become one action if possible:
        changes of updates are joined and amounts added, an inserted object gets the changes, a check joins any write. A
        write whose values depend on the stored item has an `ItemDecision`.
        """
        return ()

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        """Return the error for a false condition, from the stored item; None if the pattern is not the cause.

        `Version` returns a VersionConflict if the item has another version. The first pattern with an error wins.
        """
        return None

    def visibility(self) -> Visibility | None:
        """Return which items reads show, as of now; None if all. Expired and marked items are hidden by it."""
        return None

    def expected(self, schema: Schema, values: Mapping[str, Any]) -> Iterable[Json]:
        """Return the pattern's own items, in DynamoDB JSON, that belong to an item with these values.

        An audit reports items that are missing, and items of the pattern's facets that are not expected. Items of a
        pattern without this hook, such as shards of counters, are not audited.
        """
        return ()
