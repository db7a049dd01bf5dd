"""Conditions written in Python and recorded: `lambda o: (o.stock >= 3) & (o.status == "OPEN")`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from .codec import Codec
from .errors import TableError

T = TypeVar("T")
Where = Callable[[T], bool]
"""A condition, as a function of the entity. To a type checker its argument is the class; at run time, a recorder."""

Op = Literal["=", "<>", "<", "<=", ">", ">="]


class Condition:
    """A recorded condition. Combine with `&`, `|` and `~`."""

    def __and__(self, other: Condition) -> Condition:
        return And((*_parts(self), *_parts(_condition(other))))

    def __or__(self, other: Condition) -> Condition:
        return Or((self, _condition(other)))

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> bool:
        raise TableError("a condition is recorded, not tested: write & | ~ with parentheses, not 'and', 'or', 'not'")


@dataclass(frozen=True)
class Compare(Condition):
    path: tuple[str, ...]
    op: Op
    value: Any


@dataclass(frozen=True)
class Between(Condition):
    path: tuple[str, ...]
    low: Any
    high: Any


@dataclass(frozen=True)
class Function(Condition):
    """One of DynamoDB's functions: begins_with, contains."""

    function: Literal["begins_with", "contains"]
    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True)
class Exists(Condition):
    path: tuple[str, ...]
    present: bool = True


@dataclass(frozen=True)
class In(Condition):
    path: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class And(Condition):
    items: tuple[Condition, ...]


@dataclass(frozen=True)
class Or(Condition):
    items: tuple[Condition, ...]


@dataclass(frozen=True)
class Not(Condition):
    item: Condition


@dataclass(frozen=True)
class Arithmetic:
    """An attribute plus or minus an amount; or, `absolute`, ADD: from 0 where it is absent."""

    path: tuple[str, ...]
    sign: Literal["+", "-"]
    amount: Any
    from_zero: bool = False


class Path:
    """An attribute as the recorder gives it: comparisons with it are conditions, sums are arithmetic."""

    __slots__ = ("_path",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return Path(*self._path, name)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return Exists(self._path, present=False) if other is None else Compare(self._path, "=", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return Exists(self._path) if other is None else Compare(self._path, "<>", other)

    def __lt__(self, other: object) -> Condition:
        return Compare(self._path, "<", other)

    def __le__(self, other: object) -> Condition:
        return Compare(self._path, "<=", other)

    def __gt__(self, other: object) -> Condition:
        return Compare(self._path, ">", other)

    def __ge__(self, other: object) -> Condition:
        return Compare(self._path, ">=", other)

    def __add__(self, amount: object) -> Arithmetic:
        return Arithmetic(self._path, "+", amount)

    def __sub__(self, amount: object) -> Arithmetic:
        return Arithmetic(self._path, "-", amount)

    def __bool__(self) -> bool:
        raise TableError(f"{'.'.join(self._path)} is recorded, not tested: compare it, as in == True")


def between(attribute: T, low: T, high: T) -> bool:
    """Both ends included."""
    return cast("bool", Between(_path(attribute), low, high))


def begins_with(attribute: str, start: str) -> bool:
    return cast("bool", Function("begins_with", _path(attribute), start))


def contains(attribute: Collection[T] | None, member: T) -> bool:
    return cast("bool", Function("contains", _path(attribute), member))


def exists(attribute: object) -> bool:
    return cast("bool", Exists(_path(attribute)))


def one_of(attribute: T, values: Iterable[T]) -> bool:
    return cast("bool", In(_path(attribute), tuple(values)))


def add(attribute: T, amount: T) -> T:
    """An attribute plus an amount, where an absent one counts as 0: `p.views = add(p.views, 1)`."""
    return cast("T", Arithmetic(_path(attribute), "+", amount, from_zero=True))


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


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.items if isinstance(condition, And) else (condition,)


def _condition(value: object) -> Condition:
    if not isinstance(value, Condition):
        raise TableError(f"{value!r} is not a condition: it was tested in Python, not recorded")
    return value


def _path(attribute: object) -> tuple[str, ...]:
    if not isinstance(attribute, Path):
        raise TableError(f"{attribute!r} is a value, and an attribute belongs here")
    return attribute._path
