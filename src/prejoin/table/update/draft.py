"""Record the assignments of an update: `p.stock -= 1`, `p.note = None`, `p.address.city = "Berlin"`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Never, SupportsIndex, TypeVar, cast

from msgspec.structs import astuple

from prejoin.table.codec.codec import Codec
from prejoin.table.codec.paths import Steps, path_text
from prejoin.table.condition.record import Condition, Path, RecordedItem, Recorder, Size, path_of, step
from prejoin.table.errors import NotAValue, TableError

from .changes import At, Changes, computed_change, steps
from .computed import Computed, First, Joined, Mark, Sum

T = TypeVar("T")
L = TypeVar("L", bound=Sequence[Any] | None)


def add(attribute: T, amount: T) -> T:
    """Add to a number; an absent number counts as 0: `p.views = add(p.views, 1)`."""
    return cast("T", Sum(path_of(attribute), "+", amount, from_zero=True, recorded=mark(attribute)))


def appended(attribute: L, elements: L) -> L:
    """Append to a list; an absent list counts as empty: `p.tags = appended(p.tags, ["new"])`."""
    return cast("L", Joined(path_of(attribute), cast("Sequence[Any]", elements), recorded=mark(attribute)))


def prepended(attribute: L, elements: L) -> L:
    """Prepend to a list; an absent list counts as empty: `p.tags = prepended(p.tags, ["first"])`."""
    return cast("L", Joined(path_of(attribute), cast("Sequence[Any]", elements), before=True, recorded=mark(attribute)))


def if_absent(attribute: T | None, value: T) -> T:
    """Set a value only if the attribute is absent: `p.color = if_absent(p.color, "red")`."""
    return cast("T", First(path_of(attribute), value, recorded=mark(attribute)))


def mark(attribute: object) -> Mark:
    """Return the mark of the draft that an attribute belongs to."""
    return cast("Path", attribute)._owner.computes(path_of(attribute))


class DraftChanges(RecordedItem):
    """The recorded changes of a draft."""

    __slots__ = ("adds", "closed", "deletes", "removes", "sets")

    def __init__(self, codec: Codec[Any]) -> None:
        self._codec = codec
        self.mark = None
        self.sets: dict[At, Any] = {}
        self.adds: dict[At, Any] = {}
        self.removes: set[At] = set()
        self.deletes: dict[At, Any] = {}
        self.closed = False

    def set(self, at: At, value: Any) -> None:
        if self.closed:
            self.open()
        if isinstance(value, Computed):
            if value.recorded is not self.mark:
                raise self._of_another(at, value)
            self.check_text(astuple(value)[1:-1])
            if isinstance(value, Sum) and not value.from_zero:
                self.sets[at] = value
            else:
                changes = computed_change(at, value)
                self.sets |= changes.sets
                self.adds |= changes.adds
                self.deletes |= changes.deletes
            return
        if type(value) not in _PLAIN and isinstance(value, _RECORDED_TYPES):
            raise self._not_this(at, value)
        if self.mark is not None:
            self.check_text(value)
        self.sets[at] = value

    def remove(self, at: At) -> None:
        self.open()
        self.removes.add(at)

    def open(self) -> None:
        """Refuse a change after the block has ended, because it would not be sent."""
        if self.closed:
            raise TableError(
                f"the update of this {self.name} was sent at the end of its block. Change it inside of the block, or "
                "begin another update"
            )

    def check(self, path: Steps) -> None:
        """Refuse to read a path that was changed: its new value is not known."""
        for targets in (self.sets, self.adds, self.removes, self.deletes):
            for at in targets:
                if path[: len(steps(at))] == steps(at):
                    raise TableError(
                        f"{path_text(path)} was already changed in this update, so its new value cannot be read here"
                    )

    def no_value(self, path: Steps, how: str) -> NotAValue:
        return NotAValue(
            f"{self.name}.{path_text(path)} stands for an attribute inside an update. It has no value here and cannot "
            f"be {how}. {self._advice(path)}"
        )

    def _advice(self, path: Steps) -> str:
        name = path[0]
        return (
            f"Get the item first, compute with its value, and pass {name}=<that value> to the update, which fails if "
            "it has changed; or let DynamoDB compute: +=, -=, |=, add(), appended(), prepended(), if_absent()"
        )

    def _of_another(self, at: At, value: Computed) -> TableError:
        """Return the error for a value that is computed from an attribute of another item."""
        return TableError(
            f"{self.name}.{path_text(steps(at))} cannot be computed from {path_text(value.path)} of another item: get "
            "that item first, and use its value"
        )

    def _not_this(self, at: At, value: object) -> TableError:
        place = f"{self.name}.{path_text(steps(at))}"
        if isinstance(value, Path) and value._owner is self:
            return NotAValue(
                f"{place} cannot be set to another attribute, {path_text(value._path)}. {self._advice(value._path)}"
            )
        return NotAValue(
            f"{place} cannot be set to {value!r}, which is recorded and has no value here. Get the item first, and "
            "use its value"
        )


class Draft:
    """Stands for an object in an update, and records assignments to its attributes."""

    __slots__ = ("_codec", "_record")
    _codec: Codec[Any]
    _record: DraftChanges

    def __init__(self, codec: Codec[Any]) -> None:
        object.__setattr__(self, "_codec", codec)
        object.__setattr__(self, "_record", DraftChanges(codec))

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

    def __eq__(self, other: object) -> bool:
        raise self._no_value("compared")

    def __hash__(self) -> int:
        raise self._no_value("put into a set, or used as a key of a dict")

    def __str__(self) -> str:
        raise self._no_value("written as text")

    def __format__(self, spec: str) -> str:
        raise self._no_value("written as text")

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise self._no_value("copied")

    def _no_value(self, how: str) -> NotAValue:
        return NotAValue(
            f"this {self._codec.name} is the draft of an update. Its attributes have no values here, and it cannot be "
            f"{how}. Get the item first"
        )

    def __repr__(self) -> str:
        text = f"<draft of {self._codec.name}>"
        self._record.remember(text)
        return text


class DraftPath(Path):
    """Stands for an attribute in an update, and records assignments inside of it."""

    __slots__ = ()
    _owner: DraftChanges  # pyright: ignore[reportIncompatibleVariableOverride] - set once, by __init__

    def __init__(self, record: DraftChanges, path: Steps) -> None:
        if record.closed:
            record.open()
        if record.sets or record.adds or record.removes or record.deletes:
            record.check(path)
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_owner", record)

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return DraftPath(self._owner, (*self._path, name))

    def __getitem__(self, at: str | int) -> Path:
        return DraftPath(self._owner, (*self._path, step(at)))

    def _compare(self, other: object) -> Never:
        # In an update a comparison has no use: a condition is given to `update` as `where`, and says it of a recorder.
        raise self._owner.no_value(self._path, "compared")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compare
    __hash__ = Path.__hash__

    def __setattr__(self, name: str, value: Any) -> None:
        self._owner.set((*self._path, name), value)

    def __setitem__(self, at: str | int, value: Any) -> None:
        self._owner.set((*self._path, step(at)), value)

    def __delattr__(self, name: str) -> None:
        self._owner.remove((*self._path, name))

    def __delitem__(self, at: str | int) -> None:
        self._owner.remove((*self._path, step(at)))


_PLAIN = frozenset({str, int, float, bool, bytes, Decimal, list, tuple, dict, set, frozenset, type(None)})
_RECORDED_TYPES = (Path, Size, Condition, Draft, Recorder)


def changes_of(draft: Draft) -> Changes:
    """Return the recorded changes, and close the draft."""
    record = draft._record
    record.closed = True
    return Changes(record.sets, record.adds, frozenset(record.removes), record.deletes)


def close(draft: Draft) -> None:
    """Make a draft refuse further changes."""
    draft._record.closed = True
