"""Keep attributes that follow another entity up to date, from the stream of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prejoin.patterns.follows import FollowsPattern, followers, refresh, refresh_item

from .changes import StreamChange
from .handlers import StreamHandlers

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client


def keep_fresh(handlers: StreamHandlers, db: Client | AsyncClient) -> None:
    """Add handlers that bring all attributes declared with `Follows` up to date.

    A change of a source refreshes the items that follow it. An item that was written without a check is compared with
    its source. The stream needs old and new images. With an `AsyncClient`, use the methods of the handlers that await.
    """
    for entity in db.schema.entities:
        if followers(db.schema, entity.codec.cls):
            handlers.on(entity.codec.cls, "update")(_SourceHandler(db).handle)
        own = [pattern for pattern in entity.patterns if isinstance(pattern, FollowsPattern)]
        if any(not pattern.declared.checked for pattern in own):
            handlers.on(entity.codec.cls, "insert", "update")(_FollowerHandler(db, own).handle)


class _SourceHandler:
    """Refreshes the items that follow a source, when an attribute that they follow has changed."""

    def __init__(self, db: Client | AsyncClient) -> None:
        self._db = db

    def handle(self, change: StreamChange[Any]) -> Any:
        db, source = self._db, change.new
        followed_names = {
            name for follower in followers(db.schema, change.entity) for name in follower.declared.attributes.values()
        }
        if source is None or change.changed.isdisjoint(followed_names):
            return None
        base = db.schema.entity(change.entity).base.attributes
        return refresh(db, change.entity, **{name: getattr(source, name) for name in base})


class _FollowerHandler:
    """Compares an item that was written without a check with its sources."""

    def __init__(self, db: Client | AsyncClient, patterns: list[FollowsPattern]) -> None:
        self._db = db
        self._names = {
            name for pattern in patterns for name in (*pattern.declared.attributes, *pattern.source.names.values())
        }

    def handle(self, change: StreamChange[Any]) -> Any:
        if change.new is None or change.changed.isdisjoint(self._names):
            return None
        return refresh_item(self._db, change.new)
