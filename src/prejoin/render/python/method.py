"""Repository methods as data: parameters with their meaning, and the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from prejoin.design.cost.bill import Bill
from prejoin.design.explain.operations import operation_words
from prejoin.design.model import Design, Operation
from prejoin.keys import Facet, Plan, Refusal
from prejoin.render.python.entities import View
from prejoin.render.python.layout import STEP, WIDTH, Group, Imports, Noted, Part, docstring, lay, wide
from prejoin.render.python.names import Names
from prejoin.workload.model import Pattern, Workload, Write
from prejoin.workload.optional_inputs import optional_words

LOCAL = frozenset(
    {"asked", "dt", "found", "ids", "keys", "matches", "more", "o", "one", "one_id", "page", "self", "tests", "tx"}
    | {"again", "new", "old", "was"}
    | {"add", "and_", "appended", "begins_with", "between", "cast", "contains", "eq", "exists", "ne", "one_of"}
    | {"reduce", "replace"}
)
"""Names that the bodies of methods use, and parameters must not have."""


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


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter that is no input: `limit`, `after`, `now`, `token`, `again`."""

    name: str


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


class ReturnKind(StrEnum):
    NOTHING = "nothing"
    COUNT = "count"
    ONE = "one"
    LIST = "list"
    PAGE = "page"
    COLLECTION = "collection"


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
        return frozenset({self.item, *(one.item for one in self.joined)})

    @property
    def parts(self) -> tuple[str, ...]:
        """The type of each value that is returned."""
        first = {
            ReturnKind.NOTHING: "None",
            ReturnKind.COUNT: "int",
            ReturnKind.ONE: f"{self.item} | None",
            ReturnKind.LIST: f"list[{self.item}]",
            ReturnKind.PAGE: f"Page[{self.item}]",
            ReturnKind.COLLECTION: "Collection",
        }[self.kind]
        return (first, *map(str, self.joined))

    def __str__(self) -> str:
        return f"tuple[{', '.join(self.parts)}]" if self.joined else self.parts[0]


@dataclass(frozen=True, slots=True)
class Method:
    pattern: Pattern
    name: str
    params: tuple[Param, ...]
    result: ReturnType
    body: tuple[str, ...]
    mismatches: tuple[ArgumentMismatch, ...] = ()
    remarks: tuple[str, ...] = ()
    """Further sentences of the docstring."""

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
    def tests(self) -> list[str]:
        """The names of the generated tests that call the method."""
        name = f"test_{self.name.rstrip('_')}" if not self.name.startswith("test_") else self.name
        return [name, *([f"{name}_refuses_what_does_not_belong"] if self.mismatches else [])]

    def lines(self, words: Sequence[str], aio: bool) -> list[str]:
        given = ("self", *self._parameters)
        head = Group(f"{'async ' if aio else ''}def {self.name}(", given, f") -> {self.result}:")
        return [
            *_open(lay(head, STEP), self.result),
            *docstring(*words, indent=STEP * 2),
            *(f"{STEP * 2}{b}".rstrip() for b in self.body),
        ]


def _open(lines: list[str], result: ReturnType) -> list[str]:
    """The lines of a signature; a long result type has lines of its own."""
    if wide(lines[-1]) <= WIDTH or not result.joined:
        return lines
    listed = f"{STEP * 2}{', '.join(result.parts)}"
    parts = [listed] if wide(listed) <= WIDTH else [f"{STEP * 2}{part}," for part in result.parts]
    return [*lines[:-1], f"{lines[-1].removesuffix(f'{result}:')}tuple[", *parts, f"{STEP}]:"]


@dataclass(slots=True)
class RenderContext:
    """The input of rendering a repository, and what it has collected: imports, views, plans."""

    workload: Workload
    design: Design
    names: Names
    facets: Sequence[Facet]
    bill: Bill
    style: str = "dataclass"
    aio: bool = False
    imports: Imports = field(default_factory=Imports)
    views: dict[tuple[str, tuple[str, ...]], View] = field(default_factory=dict)
    plans: dict[str, Plan | Refusal] = field(default_factory=dict)
    """How the keys serve each read, by pattern."""
    unproven: Mapping[str, str] = field(default_factory=dict)
    """The patterns that the proof could not run, with the reasons."""

    @property
    def wait(self) -> str:
        return "await " if self.aio else ""

    def cls(self, entity: str) -> str:
        """Imports the class of an entity and gives its name."""
        name = self.names.classes[entity]
        self.imports.name(".entities", name)
        return name

    def enum(self, entity: str, attribute: str) -> str:
        """Imports the type of an enum attribute and gives its name; empty for other attributes."""
        name = self.names.enums.get((entity, attribute), "")
        if name:
            self.imports.name(".entities", name)
        return name

    def view(self, entity: str, attributes: Sequence[str]) -> str:
        """Imports the view with these attributes of an entity and gives its name."""
        wanted = tuple(sorted(set(attributes)))
        found = self.views.get((entity, wanted))
        if found is None:
            taken = {*self.names.classes.values(), *self.names.enums.values(), *(v.name for v in self.views.values())}
            base = name = f"{self.names.classes[entity]}View"
            number = 2
            while name in taken:
                name, number = f"{base}{number}", number + 1
            found = self.views[entity, wanted] = View(name, entity, wanted)
        self.imports.name(".entities", found.name)
        return found.name

    def words(self, pattern: Pattern, operation: Operation) -> list[str]:
        """The paragraphs of a method's docstring: description, operation, proof, assumptions, price."""
        cost = self.bill.pattern(pattern.id)
        price = ""
        if cost is not None:
            units = [(cost.units.read, "read"), (cost.units.write, "write")]
            used = (
                " and ".join(f"{number:g} {what} unit{'s' * (number != 1)}" for number, what in units if number)
                or "Nothing"
            )
            price = f"{used} a call, ${cost.dollars:,.2f} a month"
        said = " ".join(operation_words(operation, self.design, {one.attribute for one in pattern.inputs}))
        assumed = f"It is taken that {'; '.join(operation.assumes)}" if operation.assumes else ""
        not_proven = ""
        if reason := self.unproven.get(pattern.id):
            not_proven = f"Not proven: the proof could not run it, because {reason}. Test it before you use it"
        optional = optional_words(self.workload, pattern) if isinstance(pattern, Write) else ""
        title = pattern.description or pattern.name or pattern.id
        return [title, f"{pattern.id}: {said}", optional, not_proven, assumed, price]


def body_lines(lines: Sequence[Part]) -> tuple[str, ...]:
    """The lines of a method's body, laid out for its indentation."""
    found: list[str] = []
    for part in lines:
        if isinstance(part, str):
            found.append(part)
            continue
        if isinstance(part, Noted):
            found += lay(part)
            continue
        depth = len(part.head) - len(part.head.lstrip(" "))
        inner = replace(part, head=part.head.lstrip(" "))
        found += [line.removeprefix(STEP * 2) for line in lay(inner, STEP * 2 + " " * depth)]
    return tuple(found)
