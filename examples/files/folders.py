"""A drive: folders in folders, and files in them, by their paths. The bytes are in an object store."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TypeVar
from uuid import UUID

from prejoin import NotUnique, Page, TransactionCancelled, delete_large, store_large, stream_large, ulid

from files.entities import File, Folder
from files.repository import FilesRepository

T = TypeVar("T")


class DriveError(Exception):
    """What was asked for cannot be done; the message says why."""


class Drive:
    """All that belongs to one owner."""

    def __init__(self, repository: FilesRepository, owner: UUID) -> None:
        self.repository = repository
        self.owner = owner

    def folder(self, path: str) -> Folder:
        if found := self.repository.folder_by_path(self.owner, path):
            return found
        raise DriveError(f"there is no folder {path}")

    def files(self, folder: Folder) -> Iterator[File]:
        """The files of a folder, newest first."""
        return in_pages(lambda after: self.repository.files_of_folder(folder.folder_id, after=after))

    def below(self, path: str) -> list[Folder]:
        """All folders below a path, however deep, in the order of their paths."""
        prefix = path.rstrip("/") + "/"
        ask = self.repository.all_folders_of_owner_below_path
        return [one for one in in_pages(lambda after: ask(self.owner, prefix, after=after)) if one.path != path]

    def find(self, path: str) -> Folder | File:
        """The folder or the file that has a path."""
        if folder := self.repository.folder_by_path(self.owner, path):
            return folder
        above, name = split(path)
        if file := next((file for file in self.files(self.folder(above)) if file.name == name), None):
            return file
        raise DriveError(f"there is no {path}")

    def make(self, path: str) -> Folder:
        """The folder of a path, made with all above it as far as they are not there."""
        if found := self.repository.folder_by_path(self.owner, path):
            return found
        above, name = split(path)
        parent = self.make(above).folder_id if name else None
        folder = Folder(folder_id=ulid(), owner_id=self.owner, parent_id=parent, name=name, path=path, created_at=now())
        try:
            self.repository.make_folder(folder)
        except NotUnique:  # somebody else was quicker
            return self.folder(path)
        return folder

    def upload(self, source: Path, into: str) -> File:
        """Enters a file of this machine. One of the same name that is there goes when the new one is in place."""
        with source.open("rb") as opened:
            folder, file_id = self.make(into), ulid()
            content = store_large(self.repository.db, File, "content", opened, file_id=file_id)
        file = File(file_id=file_id, folder_id=folder.folder_id, name=source.name, content=content, uploaded_at=now())
        before = [one for one in self.files(folder) if one.name == file.name]
        try:
            self.repository.upload_file(file)
        except TransactionCancelled as error:
            raise DriveError(f"{into} was removed meanwhile") from error
        for one in before:
            self._remove_file(one)
        return file

    def download(self, path: str, target: Path) -> File:
        """Writes the bytes of a file to one of this machine, which is there when it is whole."""
        file = self.find(path)
        if isinstance(file, Folder):
            raise DriveError(f"{path} is a folder")
        unfinished = target.with_name(f"{target.name}.{file.file_id}")
        try:
            with unfinished.open("wb") as opened:
                for piece in stream_large(self.repository.db, file, "content"):
                    opened.write(piece)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
        return file

    def move(self, source: str, target: str) -> str:
        """Moves or renames what has a path, into the target if that is a folder; the path it has then."""
        moved = self.find(source)
        if self.repository.folder_by_path(self.owner, target):
            target = f"{target.rstrip('/')}/{split(source)[1]}"
        above, name = split(target)
        parent = self.folder(above)
        if f"{target}/".startswith(f"{source.rstrip('/')}/"):
            raise DriveError(f"{source} cannot be moved into itself")
        if self.repository.folder_by_path(self.owner, target):
            raise DriveError(f"there is a folder {target} already")
        if isinstance(moved, Folder):
            self._move_folder(moved, parent, name, target)
        else:
            self._move_file(moved, parent, name)
        return target

    def _move_folder(self, folder: Folder, parent: Folder, name: str, path: str) -> None:
        move, moved = self.repository.move_folder, list[Folder]()
        try:
            # The folder itself goes last: cut short, the move is found where it began, and is asked for again.
            for one in self.below(folder.path):
                inside = one.parent_id or folder.folder_id  # only a drive's own folder has no parent
                move(one.folder_id, inside, one.name, path + one.path.removeprefix(folder.path))
                moved.append(one)
            move(folder.folder_id, parent.folder_id, name, path)
        except NotUnique as error:  # somebody made one there meanwhile
            for one in moved:
                move(one.folder_id, one.parent_id or folder.folder_id, one.name, one.path)
            raise DriveError(f"there is a folder {path} already") from error

    def _move_file(self, file: File, parent: Folder, name: str) -> None:
        if any(one.name == name for one in self.files(parent)):
            raise DriveError(f"there is a file {name} in {parent.path} already")
        if file.folder_id != parent.folder_id:
            self.repository.move_file_to_another_folder(file.file_id, parent.folder_id)
        if file.name != name:
            self.repository.rename_file(file.file_id, name)

    def remove(self, path: str) -> None:
        found = self.find(path)
        if isinstance(found, File):
            self._remove_file(found)
        elif self.below(path) or any(self.files(found)):
            raise DriveError(f"{path} is not empty")
        else:
            self.repository.remove_folder_that_is_empty(found.folder_id)

    def _remove_file(self, file: File) -> None:
        # AP-030, and then the bytes, which a plain delete would leave.
        delete_large(self.repository.db, File, file_id=file.file_id)

    def tree(self, path: str) -> Iterator[str]:
        """A folder and all below it, a line each."""
        top, inside = self.folder(path), dict[str | None, list[Folder]]()
        for folder in self.below(path):
            inside.setdefault(folder.parent_id, []).append(folder)
        yield path
        yield from self._lines(top, inside, "")

    def _lines(self, folder: Folder, inside: dict[str | None, list[Folder]], margin: str) -> Iterator[str]:
        files = sorted(self.files(folder), key=lambda file: file.name)
        entries: list[Folder | File] = [*inside.get(folder.folder_id, []), *files]
        for number, entry in enumerate(entries, 1):
            arm, more = ("└── ", "    ") if number == len(entries) else ("├── ", "│   ")
            if isinstance(entry, File):
                yield f"{margin}{arm}{entry.name} ({size_of(entry):,} bytes)"
            else:
                yield f"{margin}{arm}{entry.name}/"
                yield from self._lines(entry, inside, margin + more)


def in_pages(ask: Callable[[str | None], Page[T]]) -> Iterator[T]:
    cursor = None
    while True:
        page = ask(cursor)
        yield from page
        if (cursor := page.cursor) is None:
            return


def split(path: str) -> tuple[str, str]:
    """The folder that something is in, and its name there.

    >>> split("/Documents/2026/report.pdf"), split("/")
    (('/Documents/2026', 'report.pdf'), ('/', ''))
    """
    pure = PurePosixPath(path)
    return str(pure.parent), pure.name


def size_of(file: File) -> int:
    """The bytes of a file, as the table knows them."""
    return file.content.size if file.content else 0


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
