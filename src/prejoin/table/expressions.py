"""Conditions written in Python and recorded: `lambda o: (o.stock >= 3) & (o.status == "OPEN")`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sized
from typing import Any, Literal, TypeVar, cast

import msgspec

from .codec import Codec
from .computed import Computed, Joined, Members, Steps, Sum, shown
from .errors import TableError
from .values import Json

T = TypeVar("T")
Where = Callable[[T], bool]
"""A condition, as a function of the entity. To a type checker its argument is the class; at run time, a recorder."""

Op = Literal["=", "<>", "<", "<=", ">", ">="]
TypeTag = Literal["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"]


class Condition(msgspec.Struct, frozen=True):
    """A recorded condition. Combine with `&`, `|` and `~`."""

    def __and__(self, other: Condition) -> Condition:
        return And((*_parts(self), *_parts(_condition(other))))

    def __or__(self, other: Condition) -> Condition:
        return Or((self, _condition(other)))

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> bool:
        raise TableError("a condition is recorded, not tested: write & | ~ with parentheses, not 'and', 'or', 'not'")


class Compare(Condition, frozen=True):
    """An attribute beside a value."""

    path: Steps
    op: Op
    value: Any


class Relate(Condition, frozen=True):
    """What no key condition can be: two attributes beside each other, or the size of one beside something."""

    left: Path | Size
    op: Op
    right: Any


class Between(Condition, frozen=True):
    path: Steps
    low: Any
    high: Any


class Function(Condition, frozen=True):
    """One of DynamoDB's functions of an attribute and a value."""

    function: Literal["begins_with", "contains", "attribute_type"]
    path: Steps
    value: Any


class Exists(Condition, frozen=True):
    path: Steps
    present: bool = True


class In(Condition, frozen=True):
    path: Steps
    values: tuple[Any, ...]


class And(Condition, frozen=True):
    items: tuple[Condition, ...]


class Or(Condition, frozen=True):
    items: tuple[Condition, ...]


class Not(Condition, frozen=True):
    item: Condition


class Stored(msgspec.Struct, frozen=True):
    """A value as it was read, to be compared with as it is, whatever the class makes of it."""

    json: Json


class Path:
    """An attribute as the recorder gives it: comparisons with it are conditions, sums are computed by DynamoDB."""

    __slots__ = ("_path",)
    __hash__ = None  # type: ignore[assignment]
    _path: Steps

    def __init__(self, *path: *Steps) -> None:
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return Path(*self._path, name)

    def __getitem__(self, at: str | int) -> Path:
        return Path(*self._path, step(at))

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return Exists(self._path, present=False) if other is None else _compare(self, "=", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return Exists(self._path) if other is None else _compare(self, "<>", other)

    def __lt__(self, other: object) -> Condition:
        return _compare(self, "<", other)

    def __le__(self, other: object) -> Condition:
        return _compare(self, "<=", other)

    def __gt__(self, other: object) -> Condition:
        return _compare(self, ">", other)

    def __ge__(self, other: object) -> Condition:
        return _compare(self, ">=", other)

    def __add__(self, more: object) -> Computed:
        return Joined(self._path, more) if isinstance(more, list | tuple) else Sum(self._path, "+", more)

    def __radd__(self, more: object) -> Computed:
        return Joined(self._path, more, True) if isinstance(more, list | tuple) else Sum(self._path, "+", more)

    def __sub__(self, less: object) -> Computed:
        return Members(self._path, "-", less) if isinstance(less, set | frozenset) else Sum(self._path, "-", less)

    def __or__(self, more: object) -> Computed:
        return Members(self._path, "+", more) if isinstance(more, set | frozenset) else NotImplemented

    def __bool__(self) -> bool:
        raise TableError(f"{shown(self._path)} is recorded, not tested: compare it, as in == True")

    def __iter__(self) -> Any:
        raise TableError(f"{shown(self._path)} is recorded, and not here to be looked through: use contains()")

    def __contains__(self, member: object) -> bool:
        raise TableError(f"whether {member!r} is in {shown(self._path)} is not known here: write contains()")

    def __repr__(self) -> str:
        return shown(self._path)


class Size:
    """The size of an attribute: length of text, bytes of binary, members of a list, map or set."""

    __slots__ = ("path",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, path: Steps) -> None:
        self.path = path

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return Relate(self, "=", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return Relate(self, "<>", other)

    def __lt__(self, other: object) -> Condition:
        return Relate(self, "<", other)

    def __le__(self, other: object) -> Condition:
        return Relate(self, "<=", other)

    def __gt__(self, other: object) -> Condition:
        return Relate(self, ">", other)

    def __ge__(self, other: object) -> Condition:
        return Relate(self, ">=", other)

    def __repr__(self) -> str:
        return f"size({shown(self.path)})"


def _compare(path: Path, op: Op, other: object) -> Condition:
    if isinstance(other, Path | Size):
        return Relate(path, op, other)
    return Compare(path._path, op, other)


def between(attribute: T | None, low: T, high: T) -> bool:
    """Both ends included."""
    return cast("bool", Between(path_of(attribute), low, high))


def begins_with(attribute: str | None, start: str) -> bool:
    return cast("bool", Function("begins_with", path_of(attribute), start))


def contains(attribute: Collection[T] | None, member: T) -> bool:
    """A member of a set or list, or a part of a text."""
    return cast("bool", Function("contains", path_of(attribute), member))


def exists(attribute: object) -> bool:
    return cast("bool", Exists(path_of(attribute)))


def of_type(attribute: object, tag: TypeTag) -> bool:
    """Whether what is there is of a type of DynamoDB's; for attributes that may be anything."""
    return cast("bool", Function("attribute_type", path_of(attribute), tag))


def one_of(attribute: T | None, values: Iterable[T]) -> bool:
    found = tuple(values)
    if not found:
        raise TableError(f"one_of({shown(path_of(attribute))}, …) has no values: nothing could ever be one of them")
    return cast("bool", In(path_of(attribute), found))


def size(attribute: Sized | None) -> int:
    """The size of an attribute, to be compared: `size(o.lines) < 100`."""
    return cast("int", Size(path_of(attribute)))


class Recorder:
    """Stands for an entity in a condition: its attributes are recorded, and no others are there."""

    def __init__(self, codec: Codec[Any]) -> None:
        self._codec = codec

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return Path(self._codec.attribute(name).name)


def recorded(where: Callable[[Any], Any] | None, codec: Codec[Any]) -> Condition | None:
    """The condition that a function of the entity says.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Product:
    ...     stock: int
    >>> recorded(lambda p: p.stock >= 3, Codec.of(Product))
    Compare(path=('stock',), op='>=', value=3)
    """
    if where is None:
        return None
    return _condition(where(Recorder(codec)))


def conjuncts(condition: Condition | None) -> tuple[Condition, ...]:
    """The conditions that must all hold."""
    return () if condition is None else _parts(condition)


def attributes_in(condition: Condition) -> list[str]:
    """The attributes that a condition of whole attributes tests."""
    match condition:
        case And(items) | Or(items):
            return [name for item in items for name in attributes_in(item)]
        case Not(item):
            return attributes_in(item)
        case Compare((str(name), *_)) | Exists((str(name), *_)):
            return [name]
        case _:
            raise AssertionError(condition)


def both(one: Condition | None, other: Condition) -> Condition:
    """Two conditions, of which there may be only one."""
    return other if one is None else one & other


def step(at: str | int) -> str | int:
    """A step into a map or a list. DynamoDB knows no position from the end."""
    if isinstance(at, bool) or not isinstance(at, str | int) or (isinstance(at, int) and at < 0):
        raise TableError(f"[{at!r}] is not a place that DynamoDB can find: a position is from 0, an entry has a name")
    return at


def path_of(attribute: object) -> Steps:
    """The path that a recorder gave."""
    if not isinstance(attribute, Path):
        raise TableError(f"{attribute!r} is a value, and an attribute belongs here")
    return attribute._path


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.items if isinstance(condition, And) else (condition,)


def _condition(value: object) -> Condition:
    if not isinstance(value, Condition):
        raise TableError(f"{value!r} is not a condition: it was tested in Python, not recorded")
    return value
