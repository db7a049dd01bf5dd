"""Object stores: where contents lie that are too large for a table. A store has four methods."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from prejoin.table.errors import SchemaError


class ObjectStore(Protocol):
    """A place for objects by key. Keys consist of ASCII letters, digits, `-`, `_`, `.`, `!` and `/`."""

    def put(self, key: str, data: bytes) -> None:
        """Write an object completely, or not at all."""
        ...

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        """Return the bytes from `start` up to `end` of an object; None if it does not exist."""
        ...

    def delete(self, key: str) -> None:
        """Delete an object. A missing one is no error."""
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with a prefix."""
        ...


class NoStore:
    """The store of a schema that is made without one, to build keys or to look at a table. Its use is an error."""

    def put(self, key: str, data: bytes) -> None:
        """Raise SchemaError."""
        raise _no_store_error()

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        """Raise SchemaError."""
        raise _no_store_error()

    def delete(self, key: str) -> None:
        """Raise SchemaError."""
        raise _no_store_error()

    def keys(self, prefix: str) -> Iterator[str]:
        """Raise SchemaError."""
        raise _no_store_error()


def _no_store_error() -> SchemaError:
    return SchemaError(
        "this schema has no store for large contents. Make one with a store: `schema(S3Store(bucket))` in generated "
        "code, or `Large(attribute, S3Store(bucket))`"
    )


class MemoryStore:
    """An object store in memory, for tests.

    >>> store = MemoryStore()
    >>> store.put("a/1", b"hello")
    >>> store.get("a/1", 1, 3), store.get("a/2"), list(store.keys("a/"))
    (b'el', None, ['a/1'])
    """

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    def put(self, key: str, data: bytes) -> None:
        """Write an object."""
        self._objects[key] = data

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        """Return the bytes from `start` up to `end` of an object; None if it does not exist."""
        content = self._objects.get(key)
        return None if content is None else content[start:end]

    def delete(self, key: str) -> None:
        """Delete an object. A missing one is no error."""
        self._objects.pop(key, None)

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with a prefix."""
        yield from sorted(key for key in list(self._objects) if key.startswith(prefix))


class FolderStore:
    """An object store in a folder of this machine, for tests and single servers.

    >>> import tempfile
    >>> store = FolderStore(tempfile.mkdtemp())
    >>> store.put("a/1", b"hello")
    >>> store.get("a/1", 1, 3), store.get("a/2"), list(store.keys("a/"))
    (b'el', None, ['a/1'])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)

    def put(self, key: str, data: bytes) -> None:
        """Write an object completely, or not at all."""
        path = self._folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        """Return the bytes from `start` up to `end` of an object; None if it does not exist."""
        try:
            with (self._folder / key).open("rb") as file:
                file.seek(start)
                return file.read() if end is None else file.read(max(0, end - start))
        except FileNotFoundError:
            return None

    def delete(self, key: str) -> None:
        """Delete an object. A missing one is no error."""
        (self._folder / key).unlink(missing_ok=True)

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with a prefix."""
        keys = []
        for path in self._folder.rglob("*"):
            key = path.relative_to(self._folder).as_posix()
            if path.suffix != ".tmp" and key.startswith(prefix) and path.is_file():
                keys.append(key)
        yield from sorted(keys)
