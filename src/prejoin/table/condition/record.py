"""Conditions as data, recorded from Python functions: `lambda o: (o.stock >= 3) & (o.status == "OPEN")`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sized
from typing import Any, Literal, SupportsIndex, TypeVar, cast

import msgspec

from prejoin.table.codec.codec import Codec
from prejoin.table.codec.paths import Steps, path_text
from prejoin.table.codec.values import Json
from prejoin.table.errors import NotAValue, TableError
from prejoin.table.update.computed import UNENCODABLE, Computed, Joined, Mark, Members, Sum

T = TypeVar("T")
Where = Callable[[T], bool]
"""A condition as a function. For type checkers its argument is an object of the class; it is called with a recorder."""

Op = Literal["=", "<>", "<", "<=", ">", ">="]
TypeTag = Literal["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"]


class Condition(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A recorded condition. Combine with `&`, `|` and `~`."""

    recorded: Any = UNENCODABLE

    def __and__(self, other: Condition) -> Condition:
        return And((*_parts(self), *_parts(_condition(other))))

    def __or__(self, other: Condition) -> Condition:
        return Or((self, _condition(other)))

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> bool:
        raise NotAValue(
            "a condition is recorded and has no truth value here. Write & | ~ with parentheses instead of 'and', 'or', "
            "'not' and 'if'; one_of(x, …) instead of 'x in …'; between(x, 1, 5) instead of '1 <= x <= 5'"
        )

    def __str__(self) -> str:
        raise NotAValue("a condition is recorded, and cannot be written as text")

    def __format__(self, spec: str) -> str:
        return str(self)


class Compare(Condition, frozen=True):
    """Compares an attribute with a value."""

    path: Steps
    op: Op
    value: Any


class Relate(Condition, frozen=True):
    """Compares two attributes, or the size of an attribute. No key condition can do that."""

    left: Path | Size
    op: Op
    right: Any


class Between(Condition, frozen=True):
    path: Steps
    low: Any
    high: Any


class Function(Condition, frozen=True):
    """A function of DynamoDB with an attribute and a value."""

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
    """A value in DynamoDB JSON, as it was read. It is compared without conversion."""

    json: Json


class RecordedItem:
    """The item that recorded attributes belong to. One expression can only use attributes of one item."""

    __slots__ = ("_codec", "mark")

    def __init__(self, codec: Codec[Any]) -> None:
        self._codec = codec
        self.mark: Mark | None = None
        """Created when it is needed: most updates and conditions need none."""

    @property
    def name(self) -> str:
        """The name of its class."""
        return self._codec.name

    def attribute_repr(self, path: Steps) -> str:
        """Return the repr of an attribute: `<recorded Order.total>`. `check_text` refuses it as a value."""
        text = f"<recorded {self.name}.{path_text(path)}>"
        self.remember(text)
        return text

    def remember(self, text: str) -> None:
        self.mark = self.mark or Mark()
        self.mark.texts += (text,)

    def check_text(self, value: object) -> None:
        """Refuse a value that contains the `repr` of an attribute: f"{order.total!r}"."""
        if self.mark is None or not self.mark.texts:
            return
        text = repr(value)
        if any(marker in text for marker in self.mark.texts):
            raise NotAValue(f"{text} contains the repr() of a recorded attribute, which is not its value")

    def computes(self, path: Steps) -> Mark:
        """Return the mark of a value that DynamoDB computes from an attribute; raise if it cannot compute here."""
        if self.mark is None:
            self.mark = Mark()
        return self.mark

    def no_value(self, path: Steps, how: str) -> NotAValue:
        """Return the error for using an attribute as a value."""
        raise NotImplementedError


_SETS = (set, frozenset)
_LISTS = (list, tuple)
_TEXTS = (str, bytes)


class Path:
    """A recorded attribute. Comparisons return conditions, and sums are computed by DynamoDB.

    It has no value. All that would make a plain value from it raises `NotAValue`, because else its name or its repr
    could be stored as data.
    """

    __slots__ = ("_owner", "_path")
    _owner: RecordedItem
    _path: Steps

    def __init__(self, path: Steps, owner: RecordedItem) -> None:
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_owner", owner)

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return Path((*self._path, name), self._owner)

    def __getitem__(self, at: str | int) -> Path:
        return Path((*self._path, step(at)), self._owner)

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

    def __add__(self, operand: object) -> Computed:
        if isinstance(operand, _LISTS):
            return Joined(self._path, operand, recorded=self._owner.computes(self._path))
        if isinstance(operand, _TEXTS):
            raise self._owner.no_value(self._path, "joined with text")
        return Sum(self._path, "+", operand, recorded=self._owner.computes(self._path))

    def __radd__(self, operand: object) -> Computed:
        if isinstance(operand, _LISTS):
            return Joined(self._path, operand, True, recorded=self._owner.computes(self._path))
        return self + operand

    def __sub__(self, operand: object) -> Computed:
        if isinstance(operand, _SETS):
            return Members(self._path, "-", operand, recorded=self._owner.computes(self._path))
        return Sum(self._path, "-", operand, recorded=self._owner.computes(self._path))

    def __or__(self, operand: object) -> Computed:
        if not isinstance(operand, _SETS):
            raise self._owner.no_value(self._path, "combined so")
        return Members(self._path, "+", operand, recorded=self._owner.computes(self._path))

    def __bool__(self) -> bool:
        raise self._owner.no_value(self._path, "tested")

    def __iter__(self) -> Any:
        raise self._owner.no_value(self._path, "looked through")

    def __len__(self) -> int:
        raise self._owner.no_value(self._path, "measured with len()")

    def __contains__(self, member: object) -> bool:
        raise self._owner.no_value(self._path, f"searched for {member!r} with 'in'")

    def __call__(self, *_: object, **__: object) -> Any:
        name, *inner_steps = self._path
        if not inner_steps:
            raise self._owner.no_value(self._path, "called")
        raise self._owner.no_value((name, *inner_steps[:-1]), f"asked for .{inner_steps[-1]}()")

    def __str__(self) -> str:
        raise self._owner.no_value(self._path, "written as text")

    def __format__(self, spec: str) -> str:
        raise self._owner.no_value(self._path, "written as text")

    def __hash__(self) -> int:
        raise self._owner.no_value(self._path, "put into a set, or used as a key of a dict")

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise self._owner.no_value(self._path, "copied")

    def __repr__(self) -> str:
        return self._owner.attribute_repr(self._path)


def _refusal_of(how: str) -> Callable[..., Any]:
    def method(self: Path, *_: object) -> Any:
        raise self._owner.no_value(self._path, how)

    return method


# All other operators and conversions, which would turn the stand-in of an attribute into a plain value.
for _name in ("int", "float", "complex", "index", "round", "trunc", "floor", "ceil", "bytes", "fspath", "reversed"):
    setattr(Path, f"__{_name}__", _refusal_of("turned into a value"))
for _name in ("mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "lshift", "rshift", "and", "xor"):
    setattr(Path, f"__{_name}__", _refusal_of("computed with in this way"))
    setattr(Path, f"__r{_name}__", _refusal_of("computed with in this way"))
for _name in ("rsub", "ror", "neg", "pos", "abs", "invert"):
    setattr(Path, f"__{_name}__", _refusal_of("computed with in this way"))


class Size:
    """The size of an attribute: the length of text or binary, or the number of members of a list, map or set."""

    __slots__ = ("owner", "path")

    def __init__(self, path: Steps, owner: RecordedItem) -> None:
        self.path = path
        self.owner = owner

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return _relate(self, "=", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return _relate(self, "<>", other)

    def __lt__(self, other: object) -> Condition:
        return _relate(self, "<", other)

    def __le__(self, other: object) -> Condition:
        return _relate(self, "<=", other)

    def __gt__(self, other: object) -> Condition:
        return _relate(self, ">", other)

    def __ge__(self, other: object) -> Condition:
        return _relate(self, ">=", other)

    def __bool__(self) -> bool:
        raise self.owner.no_value(self.path, "measured and tested")

    def __str__(self) -> str:
        raise self.owner.no_value(self.path, "measured and written as text")

    def __format__(self, spec: str) -> str:
        return str(self)

    def __hash__(self) -> int:
        raise self.owner.no_value(self.path, "measured, and put into a set or used as a key of a dict")

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise self.owner.no_value(self.path, "copied")

    def __repr__(self) -> str:
        return f"size({self.owner.attribute_repr(self.path)})"


def _compare(path: Path, op: Op, other: object) -> Condition:
    if isinstance(other, Path | Size):
        return _relate(path, op, other)
    if path._owner.mark is not None:
        path._owner.check_text(other)
    return Compare(path._path, op, other)


def _relate(operand: Path | Size, op: Op, other_operand: object) -> Condition:
    if isinstance(other_operand, Path | Size) and owner_of(operand) is not owner_of(other_operand):
        raise TableError(
            f"{operand!r} and {other_operand!r} are of different items, and DynamoDB compares attributes of one item "
            "only. Get the other item first, and compare with its value"
        )
    return Relate(operand, op, other_operand)


def owner_of(operand: Path | Size) -> RecordedItem:
    return operand._owner if isinstance(operand, Path) else operand.owner


def between(attribute: T | None, low: T, high: T) -> bool:
    """Both ends included."""
    return cast("bool", Between(path_of(attribute), low, high))


def begins_with(attribute: str | None, start: str) -> bool:
    """The text begins with `start`. On a sort key it is a key condition."""
    return cast("bool", Function("begins_with", path_of(attribute), start))


def contains(attribute: Collection[T] | None, member: T) -> bool:
    """Whether a set or list has a member, or a text has a part."""
    return cast("bool", Function("contains", path_of(attribute), member))


def exists(attribute: object) -> bool:
    """The item has the attribute; `~exists(o.note)` for items without it."""
    return cast("bool", Exists(path_of(attribute)))


def not_(condition: bool) -> bool:
    """The opposite of a condition: `not_(begins_with(o.name, "x"))`. As `~`, which type checkers take for a number."""
    return cast("bool", Not(_condition(condition)))


def of_type(attribute: object, tag: TypeTag) -> bool:
    """Whether the stored value has a DynamoDB type; for attributes of any type."""
    return cast("bool", Function("attribute_type", path_of(attribute), tag))


def one_of(attribute: T | None, values: Iterable[T]) -> bool:
    """The attribute equals one of the values."""
    choices = tuple(values)
    if not choices:
        raise TableError(f"one_of({path_text(path_of(attribute))}, …) needs at least one value")
    return cast("bool", In(path_of(attribute), choices))


def size(attribute: Sized | None) -> int:
    """The size of an attribute, for a comparison: `size(o.lines) < 100`."""
    path_of(attribute)
    return cast("int", Size(attribute._path, attribute._owner))  # type: ignore[union-attr]


class _Condition(RecordedItem):
    """The item of a condition."""

    __slots__ = ()

    def computes(self, path: Steps) -> Mark:
        raise NotAValue(
            f"DynamoDB cannot compute with {self.name}.{path_text(path)} in a condition. Compute with values on the "
            "other side"
        )

    def no_value(self, path: Steps, how: str) -> NotAValue:
        return NotAValue(
            f"{self.name}.{path_text(path)} stands for an attribute in a condition. It has no value here and cannot be "
            f"{how}. Use ==, !=, <, <=, >, >=, between(), one_of(), begins_with(), "
            "contains(), exists() and size()"
        )


class Recorder:
    """Stands for an object in a condition. It has the attributes of the entity, and records their use."""

    def __init__(self, codec: Codec[Any]) -> None:
        self._codec = codec
        self._owner = _Condition(codec)

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return Path((self._codec.attribute(name).name,), self._owner)

    def __str__(self) -> str:
        raise NotAValue(f"{self!r} stands for an item in a condition, and cannot be written as text")

    def __format__(self, spec: str) -> str:
        return str(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise NotAValue(f"{self!r} stands for an item in a condition, and cannot be copied")

    def __repr__(self) -> str:
        text = f"<recorded {self._codec.name}>"
        self._owner.remember(text)
        return text


def recorded(predicate: Callable[[Any], Any] | None, codec: Codec[Any]) -> Condition | None:
    """Return the condition that a function returns.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Product:
    ...     stock: int
    >>> recorded(lambda p: p.stock >= 3, Codec.of(Product))
    Compare(path=('stock',), op='>=', value=3)
    """
    if predicate is None:
        return None
    return _condition(predicate(Recorder(codec)))


def conjuncts(condition: Condition | None) -> tuple[Condition, ...]:
    """Return the parts of a condition that must all hold."""
    return () if condition is None else _parts(condition)


def attributes_in(condition: Condition) -> list[str]:
    """Return the attributes in a condition of whole attributes."""
    match condition:
        case And(items) | Or(items):
            return [name for item in items for name in attributes_in(item)]
        case Not(item):
            return attributes_in(item)
        case Compare((str(name), *_)) | Exists((str(name), *_)):
            return [name]
        case _:
            raise AssertionError(condition)


def both(first: Condition | None, second: Condition) -> Condition:
    """Return the conjunction of two conditions, of which the first may be None."""
    return second if first is None else first & second


def step(at: str | int) -> str | int:
    """Return a valid step into a map or list. DynamoDB has no negative positions."""
    if isinstance(at, bool) or not isinstance(at, str | int) or (isinstance(at, int) and at < 0):
        raise TableError(f"[{at!r}] is not a valid path: use a position from 0, or the name of an entry")
    return at


def path_of(attribute: object) -> Steps:
    """Return the path of a recorded attribute."""
    if not isinstance(attribute, Path):
        raise TableError(f"{attribute!r} is a value. An attribute is needed here")
    return attribute._path


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.items if isinstance(condition, And) else (condition,)


def _condition(value: object) -> Condition:
    if not isinstance(value, Condition):
        raise TableError(f"{value!r} is not a condition: it was evaluated in Python, not recorded")
    return value
