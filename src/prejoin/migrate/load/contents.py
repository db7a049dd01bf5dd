"""Large contents of a migration: stored before an item refers to them, and deleted after it no longer does.

So an item always refers to a whole content. A run that is killed in between leaves contents that no item refers to. A
mark in the state tells of it, and the next run deletes them. Nobody else writes to the table before the cut-over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from prejoin.migrate.load.state import LoadState
from prejoin.patterns.large.content import Contents
from prejoin.patterns.large.garbage import remove_garbage
from prejoin.patterns.large.large import LargePattern, LargeValue
from prejoin.table.client.client import Client
from prejoin.table.errors import TableError, Unprocessed

Key = Mapping[str, Any]


class HeldContent(NamedTuple):
    """A content that the item with a key refers to, or referred to."""

    cls: type[Any]
    key: Key
    attribute: str
    value: LargeValue


@dataclass(frozen=True, slots=True)
class PlacedRecord:
    """An object whose contents are stored."""

    record: Any
    new: Sequence[HeldContent]
    """Contents that were stored for it."""
    old: Sequence[HeldContent]
    """Contents of the item in the table that the object does not refer to."""


class LargeContents:
    """The large contents that one run writes."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._attributes: dict[type[Any], list[str]] = {}
        for entity in client.schema.entities:
            names = [pattern.attribute for pattern in entity.patterns if isinstance(pattern, LargePattern)]
            if names:
                self._attributes[entity.codec.cls] = names
        self._unused = False

    def of(self, cls: type[Any]) -> bool:
        """Whether objects of a class have large contents."""
        return cls in self._attributes

    def place(self, records: Sequence[Any]) -> list[PlacedRecord | TableError]:
        """Stores the contents of objects of one class, which have them in their values, unless their items have them.

        Returns the objects as they refer to the stored contents; for one that cannot be stored, the error.
        """
        cls = type(records[0])
        keys = [self._key(record) for record in records]
        stored_records = self._client.get_many(cls, keys, consistent=True, unreadable="keep")
        placements = []
        for record, key, stored_record in zip(records, keys, stored_records, strict=True):
            placements.append(self._try_to_place(record, key, stored_record))
        return placements

    def _try_to_place(self, record: Any, key: Key, stored_record: Any) -> PlacedRecord | TableError:
        try:
            return self._place(record, key, stored_record)
        except Unprocessed:
            raise
        except TableError as error:  # its key is too long for an object
            self.note_unused()
            return error

    def _place(self, record: Any, key: Key, stored_record: Any) -> PlacedRecord:
        cls = type(record)
        values = dict(self._client.schema.entity(cls).codec.values(record))
        old = {content.attribute: content for content in self._contents_of(cls, key, stored_record)}
        new = []
        for name in self._attributes[cls]:
            value = values[name]
            if value is None:
                continue
            content = old.get(name)
            if content and (content.value.size, content.value.sha256) == (value.size, value.sha256):
                # The same content: the item keeps it, so that writing a page again stores nothing.
                values[name] = old.pop(name).value
            else:
                values[name] = self._client._run(self._contents(cls, name, key).store(value.data))
                new.append(HeldContent(cls, key, name, values[name]))
        return PlacedRecord(cls(**values), new, list(old.values()))

    def held(self, cls: type[Any], key: Key) -> list[HeldContent]:
        """The contents of the item with a key."""
        return self._contents_of(cls, key, self._client.get(cls, consistent=True, **key)) if self.of(cls) else []

    def _contents_of(self, cls: type[Any], key: Key, record: Any) -> list[HeldContent]:
        # The record is None if there is no item, and an error if the item cannot be read.
        values = {name: getattr(record, name, None) for name in self._attributes[cls]}
        return [HeldContent(cls, key, name, value) for name, value in values.items() if value is not None]

    def remove(self, unused: Iterable[HeldContent]) -> None:
        """Deletes contents that no item refers to."""
        for content in unused:
            self._client._run(self._contents(content.cls, content.attribute, content.key).remove(content.value))

    def remove_of(self, records: Sequence[Any]) -> None:
        """Deletes the contents of objects whose items are deleted."""
        for record in records if records and self.of(type(records[0])) else ():
            self.remove(self._contents_of(type(record), self._key(record), record))

    def _key(self, record: Any) -> Key:
        return {name: getattr(record, name) for name in self._client.schema.entity(type(record)).base.attributes}

    def _contents(self, cls: type[Any], attribute: str, key: Key) -> Contents:
        return Contents(self._client.schema, self._client.table, cls, attribute, key)

    # --- Interruptions ----------------------------------------------------------------------------------------------

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Notes an attempt that fails, and may have left contents."""
        try:
            yield
        except BaseException:
            self.note_unused()
            raise

    def note_unused(self) -> None:
        """Notes that there may be contents without items, which are deleted at the end of the run."""
        self._unused = True

    @contextmanager
    def run(self, state: LoadState) -> Iterator[None]:
        """Deletes contents without items: at first those of a run that was killed, at the end those of failed attempts.

        A run that ends with an error leaves them to the next one.
        """
        if not self._attributes:
            yield
            return
        if state.about("contents"):
            self._collect()
        state.say(contents="being written")
        yield
        if self._unused:
            self._collect()
        state.say(contents="")

    def _collect(self) -> None:
        for cls, names in self._attributes.items():
            for name in names:
                remove_garbage(self._client, cls, name, older_than=timedelta(0))
        self._unused = False
