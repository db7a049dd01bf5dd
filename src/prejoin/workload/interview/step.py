"""The parts of a question, and readers that several questions share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from importlib import resources
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from prejoin.workload.grammar.answers import read_yes_no
from prejoin.workload.grammar.attributes import read_attribute
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.model import Attribute, Entity, Pattern, Workload

_TEXTS = resources.files("prejoin.workload.interview").joinpath("questions.md").read_text(encoding="utf-8")
HELP = {head: " ".join(text.split()) for head, _, text in (e.partition("\n") for e in _TEXTS.split("\n## ")[1:])}
"""The help text for `?`, by the subject of a question."""
NONE = "-"
"""The answer for "none"."""
T = TypeVar("T")


class Question(msgspec.Struct, frozen=True):
    key: str
    """The subject, in words; stable, and written in the document's header."""
    text: str
    help: str
    default: str | None = None
    """The meaning of an empty answer; None if an answer is required."""
    known: tuple[str, ...] = ()
    """The existing entries."""
    several: bool = False
    """Whether it is asked again until the answer is `done`."""
    choices: tuple[str, ...] = ()
    """Likely answers, for completion."""


class StepKind(Enum):
    FIELD = auto()
    """One answer."""
    LIST = auto()
    """Asked until `done`."""
    PROBE = auto()
    """Asked only if it could add something."""


Taken = tuple[Workload, str | None]
"""The workload after an answer, and the key of the next question if it is not the following one."""


@dataclass(frozen=True, slots=True)
class InterviewStep:
    """A position in the interview."""

    key: str
    kind: StepKind
    ask: Callable[[Workload], Question]
    take: Callable[[Workload, str], Taken]
    missing: Callable[[Workload], bool]
    """Whether the workload has no answer to it yet."""
    unit: str = ""
    """The entity or pattern that it belongs to; questions of a unit are asked in a row."""
    required: bool = False
    """Whether an interview of an existing document starts here if the answer is missing."""
    figure: bool = False
    """Whether it asks for a rate or a cardinality. `done` skips all of these."""


def accept_letters(read: Callable[[str], T]) -> Callable[[str], T]:
    """A reader of answers in which `y` and `n` stand for yes and no."""

    def read_answer(text: str) -> T:
        return read({"y": "yes", "n": "no"}.get(text.strip().lower(), text))

    return read_answer


yes = accept_letters(read_yes_no)


def entities_of(workload: Workload, pattern: Pattern) -> tuple[Entity, ...]:
    """The existing entities of a pattern."""
    return workload.entities_named(pattern.entities)


def put_entity(workload: Workload, entity: Entity) -> Workload:
    entities = tuple(entity if e.name == entity.name else e for e in workload.entities)
    return replace(workload, entities=entities)


_NEXT = re.compile(r",\s*(?=`?[\w$.]+`?\s*\()")


def read_attributes(text: str) -> tuple[Attribute, ...]:
    """Read one or several attributes, separated by commas.

    >>> [a.name for a in read_attributes("userId (uuid, id), email (string, unique) - for receipts, and signing in")]
    ['userId', 'email']
    >>> [a.name for a in read_attributes("name, age (integer)")]
    ['name', 'age']
    """
    attributes = []
    for piece in _cut(text):
        has_text = re.search(r"\s[-–—]\s", piece)
        parts = [piece] if has_text or "(" in piece else piece.split(",")
        attributes += [read_attribute(part.strip()) for part in parts if part.strip()]
    if not attributes:
        raise Inexact("that names no attribute", "write `name (type)`, for example `email (string, unique)`")
    return tuple(attributes)


def _cut(text: str) -> list[str]:
    """The pieces between commas outside of parentheses, if a comma separates two attributes."""
    pieces, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0 and (_NEXT.match(text, at) or text[:at].rstrip().endswith(")")):
            pieces.append(text[start:at])
            start = at + 1
    return [*pieces, text[start:]]
