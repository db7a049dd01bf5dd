"""Why something cannot be: the fewest statements of the document that cannot all hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from prejoin.design.choose import choose, task_of
from prejoin.design.needs import questions
from prejoin.design.program import InfeasibleError
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import AtMost, Consistency, Decision, FixedKey, Read, Spread, Under, Without, Workload

_BINDING = (AtMost, FixedKey, Spread, Under, Without)
"""Decisions that can make something impossible."""


class Statement(msgspec.Struct, frozen=True, order=True):
    """A statement of the document: a pattern, that it is read consistently, or a decision."""

    kind: str
    """`pattern`, `consistent` or `decision`."""
    name: str
    """The id of the pattern, or the text of the decision."""

    def __str__(self) -> str:
        match self.kind:
            case "consistent":
                return f"{self.name} is read with strong consistency"
            case "decision":
                return f"the decision: {self.name}"
            case _:
                return f"{self.name} is asked"


def conflict(workload: Workload) -> tuple[Statement, ...]:
    """Statements that cannot all hold, none of which could be left out; nothing if all can.

    Each is left out in turn: what then still is in conflict does not need it.
    """
    left = list(_statements(workload))
    if not _fails(workload, left):
        return ()
    size = max(1, len(left) // 2)
    while size:
        at = 0
        while at < len(left):
            rest = left[:at] + left[at + size :]
            if _fails(workload, rest):
                left = rest
            else:
                at += size
        size //= 2
    return tuple(left)


def _statements(workload: Workload) -> Iterator[Statement]:
    """All of them; those that say most about the conflict last, for the first ones are left out first."""
    for pattern in workload.patterns:
        yield Statement("pattern", pattern.id)
    for read in workload.reads:
        if read.consistency in (Consistency.STRONG, Consistency.TRANSACTIONAL):
            yield Statement("consistent", read.id)
    for decision in workload.decisions:
        if isinstance(decision.pin, _BINDING):
            yield Statement("decision", write_pin(decision.pin))


def _fails(workload: Workload, statements: Sequence[Statement]) -> bool:
    said = set(statements)

    def is_said(pattern: str) -> bool:
        return Statement("pattern", pattern) in said

    def weakened(read: Read) -> Read:
        return read if Statement("consistent", read.id) in said else replace(read, consistency=None)

    def stays(decision: Decision) -> bool:
        return not isinstance(decision.pin, _BINDING) or Statement("decision", write_pin(decision.pin)) in said

    part = replace(
        workload,
        reads=tuple(weakened(read) for read in workload.reads if is_said(read.id)),
        writes=tuple(write for write in workload.writes if is_said(write.id)),
        deletes=tuple(write for write in workload.deletes if is_said(write.id)),
        decisions=tuple(filter(stays, workload.decisions)),
    )
    asked, refused = questions(part)
    try:
        return bool(refused) or bool(choose(task_of(part, asked)).unserved)
    except InfeasibleError:
        return True


def conflicts(workload: Workload) -> tuple[tuple[Statement, ...], ...]:
    """All that is in conflict: one set of statements after the other, until what is left of the patterns can be."""
    found = []
    while statements := conflict(workload):
        found.append(statements)
        asked = [one.name for one in statements if one.kind == "pattern"]
        if not asked:
            break  # decisions that contradict each other, whatever is asked
        gone = asked[-1]
        workload = replace(
            workload,
            reads=tuple(one for one in workload.reads if one.id != gone),
            writes=tuple(one for one in workload.writes if one.id != gone),
            deletes=tuple(one for one in workload.deletes if one.id != gone),
        )
    return tuple(found)
