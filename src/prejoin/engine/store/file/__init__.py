"""The store in a SQLite file: its format, its sessions, and what happens to it when the process forks."""

from prejoin.engine.store.file.store import FileStore

__all__ = ["FileStore"]
