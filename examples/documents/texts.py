"""An archive: texts of any size in versions, byte for byte. Up to 8 MB they are in the table, in parts."""

from __future__ import annotations

import datetime as dt
import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from prejoin import Page, TransactionCancelled, ulid

from documents.entities import Document, DocumentPart, DocumentVersion, DocumentView
from documents.repository import DocumentsRepository

T = TypeVar("T")
PART = 300 * 1024
"""Bytes of a part: three fit into the 1 MB that a Query answers with, and an item may have 400 KB."""
LARGE = 8 * 1024 * 1024
"""What is larger goes to object storage."""


class ArchiveError(Exception):
    """What was asked for cannot be done; the message says why."""


class Archive:
    """The documents of one owner. `objects` is a folder that stands where a bucket would."""

    def __init__(self, repository: DocumentsRepository, owner: UUID, objects: Path) -> None:
        self.repository = repository
        self.owner = owner
        self.objects = objects

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
            bytes_=stored.bytes_,
        )
        self.repository.import_document(document, stored)
        return document

    def replace(self, document_id: str, source: Path, newest: int | None = None) -> DocumentVersion:
        """A new version in place of the newest. Refused where somebody else has replaced that one meanwhile."""
        newest = self.document(document_id).version if newest is None else newest
        stored = self._store(document_id, newest + 1, source)
        try:
            self.repository.make_stored_version_valid_one(stored, stored.saved_at, newest)
        except TransactionCancelled as error:
            self._discard(stored)
            raise ArchiveError(f"version {newest} of {document_id} is not the newest any more") from error
        return stored

    def _store(self, document_id: str, number: int, source: Path) -> DocumentVersion:
        """The text of a version that nobody can see yet."""
        version = DocumentVersion(
            document_id=document_id,
            version=number,
            saved_at=dt.datetime.now(dt.UTC),
            bytes_=0,
            sha256="",
            upload_id=ulid(),
            part_count=0,
        )
        if source.stat().st_size > LARGE:
            self.objects.mkdir(parents=True, exist_ok=True)
            source = shutil.copyfile(source, self.objects / version.upload_id)
            version.location = str(source.resolve())
        sha256 = hashlib.sha256()
        with source.open("rb") as file:
            while body := file.read(PART):
                sha256.update(body)
                version.bytes_ += len(body)
                if version.location is None:
                    version.part_count += 1
                    part = DocumentPart(
                        document_id=document_id, upload_id=version.upload_id, part=version.part_count, body=body
                    )
                    self.repository.store_one_part_of_text(part)
        version.sha256 = sha256.hexdigest()
        return version

    # --- Out of it ----------------------------------------------------------------------------------------------------

    def save(self, document_id: str, target: Path, number: int | None = None) -> DocumentVersion:
        """Writes a version to a file, which is there when it is whole and right, and not before."""
        version = self.version(document_id, number)
        unfinished = target.with_name(f"{target.name}.{version.upload_id}")
        sha256 = hashlib.sha256()
        try:
            with unfinished.open("wb") as file:
                for piece in self._pieces(version):
                    sha256.update(piece)
                    file.write(piece)
            if sha256.hexdigest() != version.sha256:
                raise ArchiveError(f"version {version.version} of {document_id} is damaged")
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
        return version

    def beginning(self, document_id: str) -> bytes:
        """The first part of the valid version."""
        version = self.version(document_id)
        if version.location:
            return next(self._pieces(version))
        first = self.repository.one_part(document_id, version.upload_id, 1)
        return first.body if first else b""

    def _pieces(self, version: DocumentVersion) -> Iterator[bytes]:
        if version.location:
            with open(version.location, "rb") as file:
                while piece := file.read(PART):
                    yield piece
            return
        key = version.document_id, version.upload_id
        for part in in_pages(lambda after: self.repository.parts_of_text(*key, after=after)):
            yield part.body

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
        parts = range(1, version.part_count + 1)
        self.repository.forget_version_and_text(version.document_id, version.version, version.upload_id, parts)
        self._unlink(version)

    def _discard(self, stored: DocumentVersion) -> None:
        parts = range(1, stored.part_count + 1)
        self.repository.discard_upload(stored.document_id, stored.upload_id, parts)
        self._unlink(stored)

    def _unlink(self, version: DocumentVersion) -> None:
        if version.location:
            Path(version.location).unlink(missing_ok=True)


def in_pages(ask: Callable[[str | None], Page[T]]) -> Iterator[T]:
    cursor = None
    while True:
        page = ask(cursor)
        yield from page
        if (cursor := page.cursor) is None:
            return
