"""The decisions of a design as its document tells them: what was chosen, why, and what else there was."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.design.explain.model import AboutIndex, Alternative, Because, Explanation
from prejoin.design.explain.phrases import listed
from prejoin.design.model import Choice, Design


def told(design: Design, explanation: Explanation) -> Design:
    """The design with its decisions, and with what each index is for."""
    purposes = {index.index: purpose(index) for index in explanation.indexes}
    slots = tuple(replace(slot, purpose=purposes.get(slot.name, slot.purpose)) for slot in design.slots)
    return replace(design, slots=slots, decisions=choices(explanation))


def purpose(index: AboutIndex) -> str:
    """In a line: `User by email (AP-002); Order by status, in the order of placedAt (AP-008)`."""
    found = []
    for key in index.keys:
        by = dict.fromkeys(p.attribute for p in (*key.partition, *key.sort) if p.because is Because.GIVEN)
        order = dict.fromkeys(p.attribute for p in key.sort if p.because in (Because.RANGE, Because.ORDER))
        text = f"{key.entity} by {listed(by)}" if by else f"all {key.entity} items"
        text += f", in the order of {listed(order)}" if order else ""
        found.append(f"{text} ({', '.join(key.patterns)})" if key.patterns else text)
    return "; ".join(found)


def choices(explanation: Explanation) -> tuple[Choice, ...]:
    """What was decided, about the table, each entity, index, copy and busy partition, in that order."""
    return tuple(_choices(explanation))


def _choices(explanation: Explanation) -> Iterator[Choice]:
    yield Choice("table", " ".join(explanation.text), _texts(explanation.alternatives))
    for entity in explanation.entities:
        yield Choice(entity.entity, " ".join(entity.text), _texts(entity.alternatives))
    for index in explanation.indexes:
        yield Choice(index.index, " ".join(index.text), _texts(index.alternatives))
    for copy in explanation.copies:
        yield Choice(f"{copy.entity}/{copy.copy}", " ".join(copy.text), _texts(copy.alternatives))
    for partition in explanation.partitions:
        if partition.shards > 1 or partition.bucket or partition.enough > 1:
            yield Choice(f"partition {partition.pk}", " ".join(partition.text))
    for pattern in explanation.patterns:
        if not pattern.served or pattern.alternatives:
            yield Choice(pattern.pattern, " ".join(pattern.text), _texts(pattern.alternatives))


def _texts(alternatives: tuple[Alternative, ...]) -> tuple[str, ...]:
    return tuple(one.text for one in alternatives)
