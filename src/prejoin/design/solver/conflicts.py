"""Explains why a workload has no solution, by a minimal set of statements that conflict.

A statement is an access pattern, its strong consistency, a decision, or a part of an approved design. Statements are
removed one after the other, larger groups first, and stay removed while the rest still conflicts. What remains is an
irreducible infeasible set: without any one of its statements there is a solution.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.excess import excess
from prejoin.design.model import TABLE, Design, Facet, Item, Slot
from prejoin.design.solver.needs import read_needs
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.search import choose, problem_of
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import (
    AtMost,
    CounterShards,
    Decision,
    FixedKey,
    Naming,
    Read,
    Spread,
    Under,
    Without,
    Workload,
)

_BINDING = (AtMost, CounterShards, FixedKey, Naming, Spread, Under, Without)
"""Decisions that can make a workload infeasible."""


class ConflictStatement(msgspec.Struct, frozen=True, order=True):
    """A statement of the document or of an approved design that may be part of a conflict."""

    kind: str
    """`pattern`, `consistent`, `decision` or `kept`."""
    name: str
    """The id of the pattern, the text of the decision, or the part of the design: `the index gsi1`."""

    def __str__(self) -> str:
        match self.kind:
            case "consistent":
                return f"{self.name} is read with strong consistency"
            case "decision":
                return f"the decision: {self.name}"
            case "kept":
                return f"the design that is kept has {self.name}"
            case _:
                return f"{self.name} is asked"


def conflict(workload: Workload, kept: Design | None = None) -> tuple[ConflictStatement, ...]:
    """A minimal set of statements that conflict; empty if there is a solution."""
    left = [*_parts(kept), [*_statements(workload)]]

    def fails(at: int, instead: list[ConflictStatement]) -> bool:
        return _fails(
            workload, kept, [one for number, group in enumerate(left) for one in (instead if number == at else group)]
        )

    if not fails(0, left[0]):
        return ()
    for number in range(len(left)):
        size = max(1, len(left[number]) // 2)
        while size:
            at = 0
            while at < len(left[number]):
                rest = left[number][:at] + left[number][at + size :]
                if fails(number, rest):
                    left[number] = rest
                else:
                    at += size
            size //= 2
    return tuple(one for group in left for one in group)


def _parts(kept: Design | None) -> Iterator[list[ConflictStatement]]:
    """The parts of an approved design: keys and copies, then indexes, then names. They are removed before the
    document's.
    """
    if kept:
        yield [*(_key(item, f) for item in kept.items if not item.copy for f in item.facets), *map(_copy, kept.copies)]
        yield [*map(_index, kept.indexes)]
        yield [_names(kept)]


def _key(item: Item, facet: Facet) -> ConflictStatement:
    where = "" if facet.slot == TABLE else f" in {facet.slot}"
    return ConflictStatement(
        "kept", f"the key {' and '.join(f'`{text}`' for text in facet.pk + facet.sk)} of {item.entity}{where}"
    )


def _copy(item: Item) -> ConflictStatement:
    return ConflictStatement("kept", f"the copy {item.name}")


def _index(slot: Slot) -> ConflictStatement:
    return ConflictStatement("kept", f"the index {slot.name}")


def _names(kept: Design) -> ConflictStatement:
    base = kept.slot(TABLE)
    keys = " and ".join(f"`{a.name}`" for a in (*base.pk, *base.sk)) if base else "none"
    rest = f"the type attribute `{kept.type_attribute}` and the separator `{kept.separator}`"
    return ConflictStatement("kept", f"the name `{kept.table}`, the key attributes {keys}, {rest}")


def _only(kept: Design, said: Collection[ConflictStatement]) -> Design:
    """The stated part of an approved design. An index stays if a key or a copy in it does."""
    items = []
    for item in kept.items:
        facets = tuple(f for f in item.facets if (_copy(item) if item.copy else _key(item, f)) in said)
        if facets:
            items.append(replace(item, facets=facets))
    used = {TABLE, *(facet.slot for item in items for facet in item.facets)}
    slots = tuple(slot for slot in kept.slots if slot.name in used or _index(slot) in said)
    return replace(kept, slots=slots, items=tuple(items))


def _statements(workload: Workload) -> Iterator[ConflictStatement]:
    """All statements of a workload. The most telling ones come last, because the first ones are removed first."""
    for pattern in workload.patterns:
        # What reads too much does so with any keys: it conflicts with no other statement.
        if not (isinstance(pattern, Read) and excess(pattern, workload)):
            yield ConflictStatement("pattern", pattern.id)
    for read in workload.reads:
        if read.is_consistent:
            yield ConflictStatement("consistent", read.id)
    for decision in workload.decisions:
        if isinstance(decision.pin, _BINDING):
            yield ConflictStatement("decision", write_pin(decision.pin))


def _fails(workload: Workload, kept: Design | None, statements: Sequence[ConflictStatement]) -> bool:
    said = set(statements)

    def is_said(pattern: str) -> bool:
        return ConflictStatement("pattern", pattern) in said

    def weakened(read: Read) -> Read:
        return read if ConflictStatement("consistent", read.id) in said else replace(read, consistency=None)

    def stays(decision: Decision) -> bool:
        if isinstance(decision.pin, Naming) and kept and _names(kept) not in said:
            return False  # without the approved names, others can be given
        return not isinstance(decision.pin, _BINDING) or ConflictStatement("decision", write_pin(decision.pin)) in said

    part = replace(
        workload,
        reads=tuple(weakened(read) for read in workload.reads if is_said(read.id)),
        writes=tuple(write for write in workload.writes if is_said(write.id)),
        deletes=tuple(write for write in workload.deletes if is_said(write.id)),
        decisions=tuple(filter(stays, workload.decisions)),
    )
    asked, refused = read_needs(part)
    try:
        return bool(refused) or bool(choose(problem_of(part, asked, kept and _only(kept, said))).unserved)
    except InfeasibleError:
        return True


def conflicts(workload: Workload, kept: Design | None = None) -> tuple[tuple[ConflictStatement, ...], ...]:
    """Every conflict: after each one its last pattern is removed, until the remaining patterns have a solution."""
    found = []
    while statements := conflict(workload, kept):
        found.append(statements)
        asked = [one.name for one in statements if one.kind == "pattern"]
        if not asked:
            break  # these decisions contradict each other, whatever the patterns are
        gone = asked[-1]
        workload = replace(
            workload,
            reads=tuple(one for one in workload.reads if one.id != gone),
            writes=tuple(one for one in workload.writes if one.id != gone),
            deletes=tuple(one for one in workload.deletes if one.id != gone),
        )
    return tuple(found)
