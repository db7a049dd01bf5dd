"""A method of a repository, as data: what it is called with, what that means, and its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from prejoin.design.cost.bill import Bill
from prejoin.design.explain.operations import operation_words
from prejoin.design.model import Design, Operation
from prejoin.keys import Facet, Plan
from prejoin.keys import Refusal as Refused
from prejoin.render.python.entities import View
from prejoin.render.python.layout import STEP, WIDTH, Group, Imports, Noted, Part, docstring, lay, wide
from prejoin.render.python.names import Names
from prejoin.workload.model import Pattern, Workload

LOCAL = frozenset(
    {"asked", "dt", "found", "ids", "keys", "matches", "more", "o", "one", "one_id", "page", "self", "tests", "tx"}
    | {"add", "and_", "appended", "begins_with", "between", "cast", "contains", "eq", "exists", "ne", "one_of"}
    | {"reduce", "replace"}
)
"""Names that the bodies of methods use."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The value of an input; of one that takes two, the lower or the upper."""

    input: str
    end: Literal["", "low", "high"] = ""
    many: bool = False


@dataclass(frozen=True, slots=True)
class Whole:
    """An item of an entity as an object, or several."""

    entity: str
    many: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """An attribute of the items that a write is about, which its caller knows though the document does not say so."""

    entity: str
    attribute: str
    many: bool = False
    new: bool = False
    """Whether it is what the attribute becomes, and not what it is."""


@dataclass(frozen=True, slots=True)
class Option:
    """What says how to answer, and not what: `limit`, `after`, `now`."""

    name: str


Meaning = Asked | Whole | Known | Option


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    annotation: str
    meaning: Meaning
    default: str = ""
    """Those with one are given by keyword."""

    def __str__(self) -> str:
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A comparison with which a method begins: what an object has to have in common with another argument."""

    record: int
    """The position of the action whose objects are compared."""
    attribute: str
    message: str
    """Of the `ValueError`."""


@dataclass(frozen=True, slots=True)
class Method:
    pattern: Pattern
    name: str
    params: tuple[Param, ...]
    result: str
    body: tuple[str, ...]
    refusals: tuple[Refusal, ...] = ()

    @property
    def signature(self) -> str:
        """The head of the method as one calls it: on one line, or with a line for each parameter."""
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
        return [name, *([f"{name}_refuses_what_does_not_belong"] if self.refusals else [])]

    def lines(self, words: Sequence[str], aio: bool) -> list[str]:
        given = ("self", *self._parameters)
        head = Group(f"{'async ' if aio else ''}def {self.name}(", given, f") -> {self.result}:")
        return [
            *_open(lay(head, STEP)),
            *docstring(*words, indent=STEP * 2),
            *(f"{STEP * 2}{b}".rstrip() for b in self.body),
        ]


def _open(lines: list[str]) -> list[str]:
    """The lines of a head; what it gives has lines of its own where that is long."""
    lead, said, parts = lines[-1].partition("tuple[")
    if wide(lines[-1]) <= WIDTH or not said:
        return lines
    parts = parts.removesuffix("]:")
    listed = f"{STEP * 2}{parts}"
    if wide(listed) > WIDTH:
        listed = "\n".join(f"{STEP * 2}{one}," for one in _parts(parts))
    return [*lines[:-1], f"{lead}tuple[", *listed.splitlines(), f"{STEP}]:"]


def _parts(text: str) -> list[str]:
    """The members of a type's brackets.

    >>> _parts("Book | None, dict[str, Author]")
    ['Book | None', 'dict[str, Author]']
    """
    found = [""]
    for char in text:
        if char == "," and found[-1].count("[") == found[-1].count("]"):
            found.append("")
        else:
            found[-1] += char
    return [one.strip() for one in found]


@dataclass(slots=True)
class Module:
    """What the methods of one module are made from, and what they make it import."""

    workload: Workload
    design: Design
    names: Names
    facets: Sequence[Facet]
    bill: Bill
    style: str = "dataclass"
    aio: bool = False
    imports: Imports = field(default_factory=Imports)
    views: dict[tuple[str, tuple[str, ...]], View] = field(default_factory=dict)
    plans: dict[str, Plan | Refused] = field(default_factory=dict)
    """How the keys serve each read, by pattern."""

    @property
    def wait(self) -> str:
        return "await " if self.aio else ""

    def cls(self, entity: str) -> str:
        """The class of an entity, imported."""
        name = self.names.classes[entity]
        self.imports.name(".entities", name)
        return name

    def enum(self, entity: str, attribute: str) -> str:
        """What the few values of an attribute are called, imported; empty where it has any."""
        name = self.names.enums.get((entity, attribute), "")
        if name:
            self.imports.name(".entities", name)
        return name

    def view(self, entity: str, attributes: Sequence[str]) -> str:
        """The class for some of an entity's attributes, imported."""
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
        """The docstring of a pattern: what it is, how it is done and what that costs."""
        cost = self.bill.pattern(pattern.id)
        price = ""
        if cost is not None:
            units = [(cost.units.read, "read"), (cost.units.write, "write")]
            used = (
                " and ".join(f"{number:g} {what} unit{'s' * (number != 1)}" for number, what in units if number)
                or "Nothing"
            )
            price = f"{used} a call, ${cost.dollars:,.2f} a month"
        said = " ".join(operation_words(operation))
        assumed = f"It is taken that {'; '.join(operation.assumes)}" if operation.assumes else ""
        return [pattern.description or pattern.name or pattern.id, f"{pattern.id}: {said}", assumed, price]


def bodied(lines: Sequence[Part]) -> tuple[str, ...]:
    """Lines of a body, each laid out for where it will stand."""
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
