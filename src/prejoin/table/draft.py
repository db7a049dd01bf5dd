"""An update written as assignments and recorded: `p.stock -= 1`, `p.note = None`, `p.address.city = "Berlin"`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from .changes import At, Changes, computed, steps
from .codec import Codec
from .computed import Computed, First, Joined, Steps, Sum, shown
from .errors import TableError
from .expressions import Path, path_of, step

T = TypeVar("T")
L = TypeVar("L", bound=Sequence[Any] | None)


def add(attribute: T, amount: T) -> T:
    """A number plus an amount, where an absent one counts as 0: `p.views = add(p.views, 1)`."""
    return cast("T", Sum(path_of(attribute), "+", amount, from_zero=True))


def appended(attribute: L, elements: L) -> L:
    """A list with more at its end, where an absent one counts as empty: `p.tags = appended(p.tags, ["new"])`."""
    return cast("L", Joined(path_of(attribute), cast("Sequence[Any]", elements)))


def prepended(attribute: L, elements: L) -> L:
    """A list with more at its beginning, where an absent one counts as empty."""
    return cast("L", Joined(path_of(attribute), cast("Sequence[Any]", elements), before=True))


def if_absent(attribute: T | None, value: T) -> T:
    """A value for what is absent; what is there stays: `p.color = if_absent(p.color, "red")`."""
    return cast("T", First(path_of(attribute), value))


class Record:
    """What has been recorded of an update."""

    __slots__ = ("adds", "deletes", "removes", "sets")

    def __init__(self) -> None:
        self.sets: dict[At, Any] = {}
        self.adds: dict[At, Any] = {}
        self.removes: set[At] = set()
        self.deletes: dict[At, Any] = {}

    def set(self, at: At, value: Any) -> None:
        if isinstance(value, Path):
            raise TableError(f"{shown(steps(at))} cannot be set to another attribute")
        if isinstance(value, Sum) and not value.from_zero:
            self.sets[at] = value
        elif isinstance(value, Computed):
            found = computed(at, value)
            self.sets |= found.sets
            self.adds |= found.adds
            self.deletes |= found.deletes
        else:
            self.sets[at] = value

    def check(self, path: Steps) -> None:
        """A place that was changed cannot be read, for nothing has been written yet."""
        for changed in (self.sets, self.adds, self.removes, self.deletes):
            for at in changed:
                if path[: len(steps(at))] == steps(at):
                    raise TableError(
                        f"{shown(path)} has been changed in this update already; its new value is not here to be read"
                    )


class Draft:
    """Stands for an entity in an update: what is assigned to its attributes is recorded."""

    __slots__ = ("_codec", "_record")
    _codec: Codec[Any]
    _record: Record

    def __init__(self, codec: Codec[Any]) -> None:
        object.__setattr__(self, "_codec", codec)
        object.__setattr__(self, "_record", Record())

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        self._codec.attribute(name)
        return DraftPath(self._record, (name,))

    def __setattr__(self, name: str, value: Any) -> None:
        self._codec.attribute(name)
        self._record.set(name, value)

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)


class DraftPath(Path):
    """Stands for a place in an entity: what is assigned to places inside it is recorded."""

    __slots__ = ("_record",)
    _record: Record

    def __init__(self, record: Record, path: Steps) -> None:
        if record.sets or record.adds or record.removes or record.deletes:
            record.check(path)
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_record", record)

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return DraftPath(self._record, (*self._path, name))

    def __getitem__(self, at: str | int) -> Path:
        return DraftPath(self._record, (*self._path, step(at)))

    def __setattr__(self, name: str, value: Any) -> None:
        self._record.set((*self._path, name), value)

    def __setitem__(self, at: str | int, value: Any) -> None:
        self._record.set((*self._path, step(at)), value)

    def __delattr__(self, name: str) -> None:
        self._record.removes.add((*self._path, name))

    def __delitem__(self, at: str | int) -> None:
        self._record.removes.add((*self._path, step(at)))


def changes_of(draft: Draft) -> Changes:
    """What has been recorded."""
    record = draft._record
    return Changes(record.sets, record.adds, frozenset(record.removes), record.deletes)
