"""The result of `prejoin design` with `--why`, `--alternatives`, `--frontier`, `--drop` or `--explain`: answers."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType


class Why(msgspec.Struct, frozen=True):
    """The answer to `--why TOPIC`."""

    topic: str
    text: str
    """Lines of text."""


class OtherDesign(msgspec.Struct, frozen=True):
    """Another design that was solved and priced; numbers are differences from the design, less than 0 is fewer."""

    about: str
    """`the table`, an entity, or a copy as `Order/by-userId`."""
    text: str
    structures: int
    dollars: float
    """A month."""
    unserved: tuple[str, ...]
    """Patterns that it would not serve."""


class Without(msgspec.Struct, frozen=True):
    """The answer to `--drop PATTERN`: the design without it, in differences."""

    pattern: str
    text: str
    structures: int
    dollars: float
    unserved: tuple[str, ...]


class Choosable(msgspec.Struct, frozen=True):
    """A design of `--frontier`, which serves as much as the chosen one."""

    complexity: float
    dollars: float
    """A month."""
    indexes: int
    copies: int
    reading_writes: int
    """Writes that have to read first."""
    decisions: tuple[str, ...]
    command: str
    """The command that makes it."""
    chosen: bool
    """Whether it is the design of the document as it is."""


class DesignAnswers(msgspec.Struct, frozen=True):
    """The result. An answer is there only if its option was given."""

    document: str
    decided: tuple[str, ...]
    """The sentences of `--decide` and `--at-most`."""
    why: tuple[Why, ...] | UnsetType = UNSET
    alternatives: tuple[OtherDesign, ...] | UnsetType = UNSET
    dropped: tuple[Without, ...] | UnsetType = UNSET
    explanation: dict[str, Any] | UnsetType = UNSET
    frontier: tuple[Choosable, ...] | UnsetType = UNSET
    chart: str | UnsetType = UNSET
    """The chart that was written, with `--frontier` and `--yes`."""
    output: str | UnsetType = UNSET
    """The file that was written, with `--yes`."""
