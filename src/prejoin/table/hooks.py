"""Where patterns plug in: what is declared with an entity, and its part in a write. None of them lives here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from prejoin.keys import Facet

if TYPE_CHECKING:
    from .bind import Bound
    from .errors import ConditionFailed
    from .schema import Schema
    from .values import Json
    from .writes import Action, Write


class Pattern(Protocol):
    """A pattern as it is declared: `Entity(…, patterns=[Version("version")])`."""

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        """The pattern for one entity, when a schema is built; SchemaError where it does not fit."""
        ...


class BoundPattern:
    """A pattern at work for one entity. One write becomes a list of actions, and here it may have its say.

    Each method does nothing unless a pattern needs it.
    """

    facets: tuple[Facet, ...] = ()
    """The keys that items of its own have in the table."""

    def rewrite(self, write: Write) -> Write:
        """The write that is meant: with attributes that the pattern keeps, with conditions that it needs."""
        return write

    def expand(self, schema: Schema, write: Write) -> Iterable[Action]:
        """Further items to be written with it, in the same transaction."""
        return ()

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        """What it means that a write's condition is false, given what was there; None where the pattern has no part."""
        return None
