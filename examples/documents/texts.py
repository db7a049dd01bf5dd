"""An archive: texts of any size in versions, byte for byte. They are in the table, in parts that `Large` keeps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from prejoin import (
    LargeContentError,
    LargeValue,
    Page,
    TransactionCancelled,
    delete_large,
    read_large,
    remove_garbage,
    store_large,
    stream_large,
    ulid,
)

from documents.entities import Document, DocumentVersion, DocumentView
from documents.repository import DocumentsRepository

T = TypeVar("T")
DAY = dt.timedelta(days=1)
BEGINNING = 4000
"""Bytes of a text that are shown of it."""


class ArchiveError(Exception):
    """What was asked for cannot be done; the message says why."""


class Archive:
    """The documents of one owner."""

    def __init__(self, repository: DocumentsRepository, owner: UUID) -> None:
        self.repository = repository
        self.owner = owner

    def documents(self) -> Iterator[DocumentView]:
        """Last changed first."""
        return in_pages(lambda after: self.repository.owner_documents(self.owner, after=after))

    def versions(self, document_id: str) -> Iterator[DocumentVersion]:
        """Newest first."""
        return in_pages(lambda after: self.repository.versions_of_document(document_id, after=after))

    def document(self, document_id: str) -> Document:
        if found := self.repository.document_metadata(document_id):
            return found
        raise ArchiveError(f"there is no document {document_id}")

    def version(self, document_id: str, number: int | None = None) -> DocumentVersion:
        """A version; the valid one, if no number is given."""
        number = self.document(document_id).version if number is None else number
        if found := self.repository.one_version(document_id, number):
            return found
        raise ArchiveError(f"there is no version {number} of {document_id}")

    # --- Into the archive ---------------------------------------------------------------------------------------------

    def add(self, source: Path) -> Document:
        """A new document: its text first, and then what is known about it."""
        stored = self._store(ulid(), 1, source)
        document = Document(
            document_id=stored.document_id,
            owner_id=self.owner,
            title=source.name,
            updated_at=stored.saved_at,
            version=1,
            bytes_=text_of(stored).size,
        )
        self.repository.import_document(document, stored)
        return document

    def replace(self, document_id: str, source: Path, newest: int | None = None) -> DocumentVersion:
        """A new version in place of the newest. Refused where somebody else has replaced that one meanwhile."""
        newest = self.document(document_id).version if newest is None else newest
        stored = self._store(document_id, newest + 1, source)
        try:
            self.repository.make_stored_version_valid_one(stored, stored.saved_at, text_of(stored).size, newest)
        except TransactionCancelled as error:
            raise ArchiveError(f"version {newest} of {document_id} is not the newest any more") from error
        return stored

    def _store(self, document_id: str, number: int, source: Path) -> DocumentVersion:
        """A version whose text is stored, and that nobody can see yet."""
        with source.open("rb") as file:
            text = store_large(
                self.repository.db, DocumentVersion, "text", file, document_id=document_id, version=number
            )
        return DocumentVersion(document_id=document_id, version=number, saved_at=dt.datetime.now(dt.UTC), text=text)

    # --- Out of it ----------------------------------------------------------------------------------------------------

    def save(self, document_id: str, target: Path, number: int | None = None) -> DocumentVersion:
        """Writes a version to a file, which is there when it is whole and right, and not before."""
        version = self.version(document_id, number)
        unfinished = target.with_name(f"{target.name}.{text_of(version).upload}")
        try:
            with unfinished.open("wb") as file:
                for piece in stream_large(self.repository.db, version, "text"):
                    file.write(piece)
            unfinished.replace(target)
        except LargeContentError as error:
            raise ArchiveError(f"version {version.version} of {document_id} is damaged: {error}") from error
        finally:
            unfinished.unlink(missing_ok=True)
        return version

    def beginning(self, document_id: str) -> bytes:
        """The first bytes of the valid version: one part is read, however many there are."""
        return read_large(self.repository.db, self.version(document_id), "text", 0, BEGINNING)

    # --- Away ---------------------------------------------------------------------------------------------------------

    def forget(self, document_id: str, number: int) -> None:
        """Removes an old version."""
        if self.document(document_id).version == number:
            raise ArchiveError(f"version {number} of {document_id} is the valid one")
        self._forget(self.version(document_id, number))

    def delete(self, document_id: str) -> None:
        """Removes a document: first what it is found by, then what there is of it."""
        self.repository.delete_document(document_id)
        for version in list(self.versions(document_id)):
            self._forget(version)

    def _forget(self, version: DocumentVersion) -> None:
        # AP-030, and then the text, which a plain delete would leave to `clean`.
        key = {"document_id": version.document_id, "version": version.version}
        delete_large(self.repository.db, DocumentVersion, **key)

    def clean(self, older_than: dt.timedelta = DAY) -> int:
        """Removes the texts of uploads that were refused or cut off, and returns the number of their parts."""
        return remove_garbage(self.repository.db, DocumentVersion, "text", older_than=older_than).done


def text_of(version: DocumentVersion) -> LargeValue:
    """Every version that the archive writes has a text."""
    assert version.text is not None
    return version.text


def in_pages(ask: Callable[[str | None], Page[T]]) -> Iterator[T]:
    cursor = None
    while True:
        page = ask(cursor)
        yield from page
        if (cursor := page.cursor) is None:
            return
