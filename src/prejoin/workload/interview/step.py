"""What a question is made of, and the small readers that several questions share."""

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
"""What `?` tells, by the subject of a question."""
NONE = "-"
"""The answer that stands for none."""
T = TypeVar("T")


class Question(msgspec.Struct, frozen=True):
    key: str
    """What it is about, in words; stable, and what the document's header says."""
    text: str
    help: str
    default: str | None = None
    """What an empty answer means; None where there has to be one."""
    known: tuple[str, ...] = ()
    """What is there already."""
    several: bool = False
    """It is asked again until the answer is `done`."""
    choices: tuple[str, ...] = ()
    """Answers that are likely, for completion."""


class StepKind(Enum):
    FIELD = auto()
    """One answer."""
    LIST = auto()
    """Asked until `done`."""
    PROBE = auto()
    """Asked only where it would bring something."""


Taken = tuple[Workload, str | None]
"""The workload after an answer, and the key of the next question where it is not the one that comes next anyway."""


@dataclass(frozen=True, slots=True)
class Step:
    """A place in the interview."""

    key: str
    kind: StepKind
    ask: Callable[[Workload], Question]
    take: Callable[[Workload, str], Taken]
    missing: Callable[[Workload], bool]
    """Whether the workload has no answer to it yet."""
    unit: str = ""
    """The entity or pattern that it belongs to; its questions are asked in a row."""
    required: bool = False
    """An interview that begins with a document begins here, where the answer is missing."""


def yes(text: str) -> bool:
    word = text.strip().lower()
    return read_yes_no({"y": "yes", "n": "no"}.get(word, text))


def several(text: str, read: Callable[[str], tuple[T, ...]]) -> tuple[T, ...]:
    """What `read` makes of an answer; `-` stands for none."""
    return () if text.strip() == NONE else read(text)


Prompt = tuple[str, str | None]
"""A question about a pattern, and its default."""


def found_entities(workload: Workload, pattern: Pattern) -> list[Entity]:
    """The entities of a pattern, as far as they are there."""
    return [e for e in map(workload.entity, pattern.entities) if e]


def put_entity(workload: Workload, entity: Entity) -> Workload:
    found = tuple(entity if e.name == entity.name else e for e in workload.entities)
    return replace(workload, entities=found)


_NEXT = re.compile(r",\s*(?=`?[\w$.]+`?\s*\()")


def read_attributes(text: str) -> tuple[Attribute, ...]:
    """One attribute or several, separated by commas.

    >>> [a.name for a in read_attributes("userId (uuid, id), email (string, unique) - for receipts, and signing in")]
    ['userId', 'email']
    >>> [a.name for a in read_attributes("name, age (integer)")]
    ['name', 'age']
    """
    found = []
    for piece in _cut(text):
        dashed = re.search(r"\s[-–—]\s", piece)
        plain = [piece] if dashed or "(" in piece else piece.split(",")
        found += [read_attribute(part.strip()) for part in plain if part.strip()]
    if not found:
        raise Inexact("that names no attribute", "write `name (type)`, for example `email (string, unique)`")
    return tuple(found)


def _cut(text: str) -> list[str]:
    """At the commas outside of parentheses that are followed by a name and a parenthesis, or follow one that closes."""
    pieces, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0 and (_NEXT.match(text, at) or text[:at].rstrip().endswith(")")):
            pieces.append(text[start:at])
            start = at + 1
    return [*pieces, text[start:]]
