"""Repository methods as data: parameters with their meaning, and the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Literal, assert_never

from prejoin.render.python.layout import STEP, WIDTH, Group, docstring, lay, wide
from prejoin.render.python.statements import Block, lines_of
from prejoin.workload.model import Pattern
from prejoin.workload.program.resolved_read import ReturnKind

LOCAL = frozenset(
    {"asked", "dt", "found", "ids", "keys", "matches", "more", "o", "one", "one_id", "page", "self", "tests", "tx"}
    | {"again", "new", "old", "was"}
    | {"add", "and_", "appended", "begins_with", "between", "cast", "contains", "eq", "exists", "ne", "one_of"}
    | {"reduce", "replace"}
)
"""Names that the bodies of methods use, and parameters must not have."""
_INDENT = STEP * 2
"""The indentation of a method's body."""


@dataclass(frozen=True, slots=True)
class InputValue:
    """A parameter for an input; for one end of a range, if the input is a range."""

    input: str
    end: Literal["", "low", "high"] = ""
    many: bool = False


@dataclass(frozen=True, slots=True)
class RecordValue:
    """A parameter for an object of an entity, or for several."""

    entity: str
    many: bool = False


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A parameter for an attribute that the caller has to know, though it is no input of the document."""

    entity: str
    attribute: str
    many: bool = False
    new: bool = False
    """Whether it is the new value of the attribute, and not the stored one."""


class Option(StrEnum):
    """A parameter that is no input."""

    LIMIT = auto()
    AFTER = auto()
    NOW = auto()
    TOKEN = auto()
    AGAIN = auto()


Meaning = InputValue | RecordValue | KnownValue | Option


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    annotation: str
    meaning: Meaning
    default: str = ""
    """A parameter with a default is keyword-only."""

    def __str__(self) -> str:
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")


@dataclass(frozen=True, slots=True)
class ArgumentMismatch:
    """A check at the beginning of a method: an attribute of an object has to agree with another argument."""

    record: int
    """The position of the action that writes the objects."""
    attribute: str
    message: str
    """The message of the `ValueError`."""


@dataclass(frozen=True, slots=True)
class JoinedItems:
    """The items of another entity that a join returns, by their ids."""

    id: str
    """The type of their ids."""
    item: str

    def __str__(self) -> str:
        return f"dict[{self.id}, {self.item}]"


@dataclass(frozen=True, slots=True)
class ReturnType:
    """The return type of a method.

    >>> print(ReturnType(ReturnKind.ONE, "Book", (JoinedItems("str", "Author"),)))
    tuple[Book | None, dict[str, Author]]
    """

    kind: ReturnKind
    item: str = ""
    """The class or view of the items; empty for a count, a collection or nothing."""
    joined: tuple[JoinedItems, ...] = ()

    @property
    def items(self) -> frozenset[str]:
        """The classes and views of all items."""
        return frozenset({self.item, *(items.item for items in self.joined)})

    @property
    def parts(self) -> tuple[str, ...]:
        """The type of each value that is returned."""
        return (self._first, *map(str, self.joined))

    @property
    def _first(self) -> str:
        match self.kind:
            case ReturnKind.NOTHING:
                return "None"
            case ReturnKind.COUNT:
                return "int"
            case ReturnKind.ONE:
                return f"{self.item} | None"
            case ReturnKind.LIST:
                return f"list[{self.item}]"
            case ReturnKind.PAGE:
                return f"Page[{self.item}]"
            case ReturnKind.COLLECTION:
                return "Collection"
            case _:
                assert_never(self.kind)

    def __str__(self) -> str:
        return f"tuple[{', '.join(self.parts)}]" if self.joined else self.parts[0]


@dataclass(frozen=True, slots=True)
class Method:
    pattern: Pattern
    name: str
    params: tuple[Param, ...]
    result: ReturnType
    block: Block
    mismatches: tuple[ArgumentMismatch, ...] = ()
    remarks: tuple[str, ...] = ()
    """Further sentences of the docstring."""

    @property
    def body(self) -> tuple[str, ...]:
        """The lines of the body, laid out for its indentation in the class, and without it."""
        return tuple(line.removeprefix(_INDENT) for line in lines_of(self.block, _INDENT))

    @property
    def inputs(self) -> frozenset[str]:
        """The inputs that it has a parameter for."""
        return frozenset(param.meaning.input for param in self.params if isinstance(param.meaning, InputValue))

    @property
    def signature(self) -> str:
        """The signature without `self`, on one line if it fits."""
        line = f"{self.name}({', '.join(self._parameters)}) -> {self.result}"
        if len(line) <= WIDTH:
            return line
        return "\n".join([f"{self.name}(", *(f"{STEP}{part}," for part in self._parameters), f") -> {self.result}"])

    @property
    def _parameters(self) -> list[str]:
        positional = [str(p) for p in self.params if not p.default]
        options = [str(p) for p in self.params if p.default]
        return [*positional, *(["*"] if options else []), *options]

    @property
    def test_name(self) -> str:
        """The name of the generated test that the method does what it should. Those of refusals begin with it."""
        return self.name if self.name.startswith("test_") else f"test_{self.name.rstrip('_')}"

    def lines(self, words: Sequence[str], aio: bool) -> list[str]:
        return [*self._opening(aio), *docstring(*words, indent=_INDENT), *lines_of(self.block, _INDENT)]

    def _opening(self, aio: bool) -> list[str]:
        """The lines of the signature. A long result type has lines of its own."""
        parameters = ("self", *self._parameters)
        signature = Group(f"{'async ' if aio else ''}def {self.name}(", parameters, f") -> {self.result}:")
        lines = lay(signature, STEP)
        # A formatter breaks the brackets of a result type only if the line is still too long.
        if wide(lines[-1]) <= WIDTH or not self.result.joined:
            return lines
        one_line = f"{_INDENT}{', '.join(self.result.parts)}"
        types = [one_line] if wide(one_line) <= WIDTH else [f"{_INDENT}{part}," for part in self.result.parts]
        return [*lines[:-1], f"{STEP}) -> tuple[", *types, f"{STEP}]:"]
