"""The oracle of a walk: the objects that a table must have, in plain dicts, and who may write them.

Code of any version writes at any time. What nobody could know afterwards, no walk does, or the oracle accepts both:

- An entity that moves has an item under each key, and a renamed attribute has two names: two *sides*. Code of one
  design knows one side. If both sides were changed, nobody knows which is right. So code writes an object only if the
  side that it reads has the newest state (`Object.sides`).
- While `clean` removes a side, code of that side creates objects, and does not change any.
- A deletion on the side that `clean` removes, which no backfill saw: the object may stay (`Existence.MAYBE`).
- An attribute without a value may have the default of either design.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from prejoin.migrate.evolve.transition import CodeVersion, Transition

Side = Literal["first", "second"]
BOTH: frozenset[Side] = frozenset({"first", "second"})
Accepted = frozenset[Any]
"""The values that an attribute may have: one, unless nobody can know."""


class Existence(Enum):
    YES = "yes"
    NO = "no"
    MAYBE = "maybe"


@dataclass(frozen=True)
class Code:
    """A version of the code that writes, and the design whose application it serves."""

    version: CodeVersion
    reads: Side
    writes: frozenset[Side]
    application: CodeVersion
    """The version whose attributes the application knows."""
    change: str = ""
    """The id in the marks that it writes."""


@dataclass
class Object:
    entity: str
    tenant: str
    key: dict[str, str]
    values: dict[str, Accepted]
    """By the names of the first design."""
    sides: frozenset[Side]
    """The sides that have the newest state."""
    mark: str = ""
    """The change whose marks the items of both sides may have; empty if there is none, or that under way."""
    existence: Existence = Existence.YES
    written: int = 0
    """The time of the last write."""
    may_have_twin: bool = False
    """Whether a command may have written the item of the other side."""
    versions: list[dict[str, Accepted]] = field(default_factory=list)
    """The earlier versions of its history, the newest first."""
    content: bytes | None = None


def sides_of(transition: Transition, first: CodeVersion) -> tuple[Side, Side]:
    """The sides that a transition leaves, and that it goes to."""
    return ("first", "second") if transition.old is first else ("second", "first")


def codes_of(transition: Transition, first: CodeVersion) -> list[Code]:
    """The versions of the code of a transition."""
    old, new = sides_of(transition, first)
    return [
        Code(transition.old, old, frozenset({old}), transition.old),
        Code(transition.prepare, old, BOTH, transition.old, transition.change),
        Code(transition.switch, new, BOTH, transition.new, transition.change),
        Code(transition.new, new, frozenset({new}), transition.new),
    ]


@dataclass
class Oracle:
    """All objects of a table, between two designs."""

    first: CodeVersion
    second: CodeVersion
    moved: frozenset[str]
    renamed: dict[tuple[str, str], str]
    """The names in the first design of renamed attributes, by entity and name in the second."""
    objects: list[Object] = field(default_factory=list)

    @property
    def two_sided(self) -> set[str]:
        return {*self.moved, *(entity for entity, _ in self.renamed)}

    def name(self, entity: str, attribute: str) -> str:
        """The name of an attribute in the first design."""
        return self.renamed.get((entity, attribute), attribute)

    def absent(self, entity: str, name: str) -> Accepted:
        """What an attribute without a value may be: a design may have a default for it."""
        accepted: set[Any] = {None}
        for version in (self.first, self.second):
            described = version.workload.entity(entity)
            for attribute in described.attributes if described else ():
                if self.name(entity, attribute.name) == name and attribute.default is not None:
                    accepted.add(attribute.default)
        return frozenset(accepted)

    def attributes(self, entity: str) -> list[str]:
        """The names of all attributes of both designs."""
        names: dict[str, None] = {}
        for version in (self.first, self.second):
            described = version.workload.entity(entity)
            for attribute in described.attributes if described else ():
                names[self.name(entity, attribute.name)] = None
        return list(names)

    def of(self, entity: str, tenant: str = "") -> list[Object]:
        return [one for one in self.objects if one.entity == entity and tenant in ("", one.tenant)]

    # --- Who may write ----------------------------------------------------------------------------------------------

    def may_write(self, code: Code, one: Object, change: str) -> bool:
        """Whether code reads the newest state of an object. `change` is the change under way."""
        if one.existence is not Existence.YES:
            return False
        if one.entity not in self.two_sided:
            return True
        if code.reads not in one.sides:
            return False
        return len(code.writes) > 1 or one.mark in ("", change)

    def note_write(self, code: Code, one: Object, time: int, leaving: Side | None) -> None:
        """`leaving` is the side that is being removed by `clean`, if one is."""
        one.written = time
        if one.entity not in self.two_sided:
            return
        one.sides = code.writes - ({leaving} if leaving else set())
        if len(code.writes) > 1 and one.entity in self.moved:
            one.mark = code.change
            one.may_have_twin = True

    def delete(self, code: Code, one: Object, time: int) -> None:
        one.written = time
        one.existence = Existence.NO
        if one.entity in self.moved:
            one.sides = code.writes

    # --- Commands ---------------------------------------------------------------------------------------------------

    def begin_command(self) -> None:
        """A command that writes may carry any object over, from now on."""
        for one in self.objects:
            one.may_have_twin = True

    def note_cleaning(self, leaving: Side, source: CodeVersion, target: CodeVersion) -> None:
        """`clean` may have removed all that only one side has."""
        for one in self.objects:
            if one.entity in self.two_sided:
                if one.existence is Existence.NO and one.sides == {leaving} and one.may_have_twin:
                    one.existence = Existence.MAYBE
                one.sides -= {leaving}
            for name in self._dropped(one.entity, source, target):
                one.values[name] |= self.absent(one.entity, name)
                for version in one.versions:
                    version[name] |= self.absent(one.entity, name)

    def note_complete(self, change: str, coming: Side, since: int) -> None:
        """A backfill is finished: both sides of all objects that nobody has written since are equal.

        The old name of an attribute gets no values that code of the new design wrote: code that reads it must be gone.
        """
        for one in self.objects:
            if one.written < since and one.existence is not Existence.MAYBE:
                one.sides = BOTH if one.entity in self.moved else one.sides | {coming}
                one.mark = change if one.existence is Existence.YES and one.entity in self.moved else ""

    def note_clean(self, coming: Side, source: CodeVersion, target: CodeVersion, since: int) -> None:
        """`clean` is finished: only one side is left of the objects that nobody has written since."""
        self.note_cleaning("first" if coming == "second" else "second", source, target)
        for one in self.objects:
            if one.written < since:
                one.sides = frozenset({coming})
                one.mark = ""
                one.may_have_twin = False
                for name in self._dropped(one.entity, source, target):
                    one.values[name] = self.absent(one.entity, name)
                    for version in one.versions:
                        version[name] = self.absent(one.entity, name)

    def _dropped(self, entity: str, source: CodeVersion, target: CodeVersion) -> list[str]:
        """The attributes that an entity has in one design only."""
        old, new = source.workload.entity(entity), target.workload.entity(entity)
        if old is None or new is None:
            return []
        kept = {self.name(entity, attribute.name) for attribute in new.attributes}
        names = [self.name(entity, attribute.name) for attribute in old.attributes]
        return [name for name in names if name not in kept]
