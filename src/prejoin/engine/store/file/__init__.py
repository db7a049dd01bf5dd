"""The store in a SQLite file: its format, its sessions, and forks."""

from prejoin.engine.store.file.store import FileStore

__all__ = ["FileStore"]
