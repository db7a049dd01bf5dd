"""Attributes that repeat those of another entity, such as the name of a comment's author, kept equal to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from msgspec.structs import replace

from prejoin.keys import TABLE, Lookup
from prejoin.protocol.limits import TRANSACTION_ACTIONS
from prejoin.table.client.reads import get_steps
from prejoin.table.condition.record import Compare, Condition, Exists, both
from prejoin.table.conversation import Steps
from prejoin.table.errors import (
    AlreadyExists,
    ConditionFailed,
    Conflict,
    NotServed,
    NotUnique,
    SchemaError,
    TooMany,
    TransactionCancelled,
)
from prejoin.table.read.arguments import QueryArguments
from prejoin.table.read.query import query
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.execute import ATTEMPTS, write_all
from prejoin.table.write.from_call import check_known, update_write
from prejoin.table.write.model import Write

from .parents import Entities, Parent, parent_of

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

_AT_ONCE = TRANSACTION_ACTIONS - 1  # and the check of the source
_PAGE = 1_000

Progress = Callable[[int], None]
"""Called with the number of items that were brought up to date."""


@dataclass(frozen=True)
class Follows(Pattern):
    """Attributes that repeat attributes of another entity: `Follows(User, {"user_name": "name"})`.

    `refresh` brings all items of a source up to date after it has changed; `keep_fresh` does so from a stream. With
    `checked`, a write that gives the values checks in the same transaction that they are those of the source, so no
    item is ever written with an outdated value. Without it an item that is written while its source changes keeps the
    old value, until `keep_fresh` or `refresh` sees it.

    The key of the source has the same names in the item, or those in `by`: `by={"user_id": "author_id"}`. A key of the
    entity has to find the items of a source.

    Cost: `refresh` reads the items of the source, and each item that differs costs 2 write units (up to 1 KB). An
    insert costs 4 write units instead of 1, or without `checked` nothing more.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, refresh
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     name: str
    >>> @dataclass
    ... class Comment:
    ...     user_id: str
    ...     comment_id: str
    ...     user_name: str
    >>> schema = Schema(
    ...     Entity(User, Key("USER#{user_id}", "USER")),
    ...     Entity(
    ...         Comment,
    ...         Key("USER#{user_id}", "COMMENT#{comment_id}"),
    ...         patterns=[Follows(User, {"user_name": "name"})],
    ...     ),
    ... )
    >>> db = Client(schema, "blog", Embedded())
    >>> db.create_table()
    >>> _ = db.insert(User("1", "Ann")), db.insert(Comment("1", "c1", "Ann"))
    >>> with db.update(User, user_id="1") as user:
    ...     user.name = "Anne"
    >>> refresh(db, User, user_id="1")
    1
    >>> db.get(Comment, user_id="1", comment_id="c1").user_name
    'Anne'
    """

    of: type[Any]
    attributes: Mapping[str, str]
    """For each attribute of the entity, the attribute of the source that it repeats."""
    by: Mapping[str, str] = field(default_factory=dict)
    checked: bool = True

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        return FollowsPattern(entity, self)


class FollowsPattern(BoundPattern):
    """`Follows`, bound to an entity."""

    source: Parent

    def __init__(self, entity: BoundEntity[Any], follows: Follows) -> None:
        self.entity, self.declared = entity, follows
        self.label = f"its {' and '.join(follows.attributes)}, of {follows.of.__name__}"

    def link(self, entities: Entities) -> Mapping[type[Any], BoundPattern]:
        follows, context = self.declared, f"{self.entity.tag}, which follows {self.declared.of.__name__}"
        self.source = parent_of(self.entity, follows.of, follows.by, entities, context)
        for name, source_name in follows.attributes.items():
            attribute = self.entity.codec.attribute(name)
            source_attribute = self.source.entity.codec.attribute(source_name)
            if attribute.type != source_attribute.type or (source_attribute.optional and not attribute.optional):
                raise SchemaError(
                    f"{context}: {name} is a {attribute.type}, and {source_name} is a {source_attribute.type}, or may "
                    "be absent"
                )
            if name in self.entity.base.attributes or source_name in self.source.entity.base.attributes:
                raise SchemaError(f"{context}: {name} cannot follow {source_name}, because a key never changes")
        return {}

    def check(self, schema: Schema) -> None:
        try:
            self.consistent = schema.plan(self._lookup).slot == TABLE
        except NotServed as error:
            raise SchemaError(f"{self.entity.tag} follows {self.source.entity.tag}: {error}") from None

    @property
    def _lookup(self) -> Lookup:
        return Lookup.of(self.entity.tag, equal=self.source.names.values())

    def also(self, schema: Schema, write: Write) -> Iterator[Write]:
        if not self.declared.checked:
            return
        match write.verb:
            case "insert" | "put":
                values: Mapping[str, Any] = write.values
            case "update" if not write.changes.names.isdisjoint(self.declared.attributes):
                write.need((*self.source.names.values(), *self.declared.attributes), write.after, self.label)
                values = write.after
            case _:
                return
        if (key := self.source.key(values)) is not None:
            yield self.source_check(schema, key, values)

    def source_check(self, schema: Schema, key: Mapping[str, Any], values: Mapping[str, Any]) -> Write:
        """Return the check that a source has the values that items repeat."""
        return Write("check", schema.entity(self.declared.of), key, where=self._source_condition(values))

    def _source_condition(self, values: Mapping[str, Any]) -> Condition | None:
        """Return the condition that the source has the values that the item repeats."""
        condition: Condition | None = None
        for name, source_name in self.declared.attributes.items():
            value = values[name]
            test = Exists((source_name,), present=False) if value is None else Compare((source_name,), "=", value)
            condition = both(condition, test)
        return condition

    def current(self, source: Any) -> dict[str, Any]:
        """Return the values that items of a source have to have."""
        return {name: getattr(source, source_name) for name, source_name in self.declared.attributes.items()}

    def differs(self, item: Any, current: Mapping[str, Any]) -> bool:
        return any(getattr(item, name) != value for name, value in current.items())

    def update(self, schema: Schema, item: Any, current: Mapping[str, Any]) -> Write:
        """Return the update of an item that is not up to date, also of one that is marked as deleted."""
        entity = schema.entity(self.entity.codec.cls)  # with all of its patterns: this one was bound before others
        known_names = {*entity.base.attributes, *self.source.names.values()}
        known_values = {name: getattr(item, name) for name in known_names}
        # An index key, and patterns that write more than the item, may need any of its stored values.
        is_in_index = any(not current.keys().isdisjoint(facet.placing) for facet in entity.indexes.values())
        other_patterns = [pattern for pattern in entity.patterns if type(pattern) is not FollowsPattern]
        must_read = is_in_index or any(not pattern.only_checks for pattern in other_patterns)
        write = update_write(
            schema, entity.codec.cls, Changes(dict(current)), None, known_values, must_read, None, False
        )
        return replace(write, visible=False)


@overload
def refresh(db: Client, cls: type[Any], /, *, progress: Progress | None = None, **key: Any) -> int: ...
@overload
def refresh(db: AsyncClient, cls: type[Any], /, *, progress: Progress | None = None, **key: Any) -> Awaitable[int]: ...
def refresh(db: Client | AsyncClient, cls: type[Any], /, *, progress: Progress | None = None, **key: Any) -> Any:
    """Bring the items that follow a source up to date, and return how many were not.

    `cls` and `key` are those of the source. It is not one transaction: it writes up to 99 items at a time, each time on
    the condition that the source has the values that are written. So an older value never replaces a newer one. To
    continue after an interruption, call it again: items that are up to date are not written.

    If an index finds the items, one that was inserted a moment ago may be missed: indexes are eventually consistent.
    """
    schema: Schema = db.schema
    return db._run(_refresh(schema, db.table, *check_known(schema, cls, key), progress or (lambda _: None)))


def refresh_item(db: Client | AsyncClient, item: Any) -> Any:
    """Bring one item up to date with all sources that it follows, and return whether it was not."""
    return db._run(refreshed_item(db.schema, db.table, item))


def refreshed_item(schema: Schema, table: str, item: Any) -> Steps[bool]:
    """Bring one item up to date with all sources that it follows, and return whether it was not."""
    entity, is_stale = schema.entity(type(item)), False
    for pattern in entity.patterns:
        if not isinstance(pattern, FollowsPattern):
            continue
        key = pattern.source.key(entity.codec.values(item))
        if key is None:
            continue
        source = yield from get_steps(schema, table, pattern.declared.of, key, True, None)
        if source is None:
            continue
        current = pattern.current(source)
        if pattern.differs(item, current):
            count = yield from _Pass(schema, table, pattern, key, current).write([item])
            is_stale = is_stale or bool(count)
    return is_stale


def followers(schema: Schema, cls: type[Any]) -> list[FollowsPattern]:
    """Return the patterns that follow an entity."""
    patterns = (pattern for entity in schema.entities for pattern in entity.patterns)
    return [pattern for pattern in patterns if isinstance(pattern, FollowsPattern) and pattern.declared.of is cls]


def _refresh(
    schema: Schema, table: str, source: BoundEntity[Any], key: Mapping[str, Any], progress: Progress
) -> Steps[int]:
    cls, count = source.codec.cls, 0
    patterns = followers(schema, cls)
    if not patterns:
        raise SchemaError(f"no entity follows {source.tag}. Declare Follows({cls.__name__}, …)")
    current = yield from get_steps(schema, table, cls, key, True, None)
    for _ in range(ATTEMPTS):
        if current is None:
            return count
        for pattern in patterns:
            count = yield from _Pass(schema, table, pattern, key, pattern.current(current)).run(count, progress)
        # What was refused because the source has changed meanwhile is written with the new values.
        previous, current = current, (yield from get_steps(schema, table, cls, key, True, None))
        if current is None or all(pattern.current(current) == pattern.current(previous) for pattern in patterns):
            return count
    raise Conflict(f"{source.tag} was changed during each of {ATTEMPTS} attempts. Call refresh() again")


class _Pass:
    """One pass over the items that follow a source."""

    def __init__(
        self, schema: Schema, table: str, pattern: FollowsPattern, key: Mapping[str, Any], current: Mapping[str, Any]
    ) -> None:
        self._schema, self._table, self._pattern, self._current = schema, table, pattern, current
        self._check = pattern.source_check(schema, key, current)
        self._source_key = {item_name: key[name] for name, item_name in pattern.source.names.items()}
        """The key of the source, by the names that it has in the items."""

    def run(self, count: int, progress: Progress) -> Steps[int]:
        """Bring the items up to date, and return their number plus `count`."""
        cls = self._pattern.entity.codec.cls
        arguments = QueryArguments(
            None, self._source_key, limit=_PAGE, consistent=self._pattern.consistent, hidden=True
        )
        while True:
            page = yield from query(self._schema, self._table, cls, arguments)
            stale = [item for item in page.items if self._pattern.differs(item, self._current)]
            for start in range(0, len(stale), _AT_ONCE):
                count += yield from self.write(stale[start : start + _AT_ONCE])
                progress(count)
            if page.cursor is None:
                return count
            arguments = arguments.after_page(page.cursor)

    def write(self, items: Sequence[Any]) -> Steps[int]:
        """Write items in one transaction, or else in two halves. An item that is refused alone is left as it is."""
        try:
            writes = [self._pattern.update(self._schema, item, self._current) for item in items]
            yield from write_all(self._schema, self._table, [*writes, self._check])
        except (TooMany, ConditionFailed, TransactionCancelled) as error:
            if len(items) == 1:
                causes = error.failures if isinstance(error, TransactionCancelled) else (error,)
                if any(isinstance(cause, (TooMany, AlreadyExists, NotUnique)) for cause in causes):
                    raise
                return 0  # it was deleted, or its source has changed
            middle = len(items) // 2
            first_half = yield from self.write(items[:middle])
            return first_half + (yield from self.write(items[middle:]))
        return len(items)
