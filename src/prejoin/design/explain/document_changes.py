"""Changes of a document that a proposal makes, and the figures by which designs are compared."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from prejoin.design.explain.phrases import count
from prejoin.design.model import Design
from prejoin.workload.lookup import changes
from prejoin.workload.model import Attribute, Decision, Entity, Read, Workload


class DocumentChange(msgspec.Struct, frozen=True):
    """A change of the document."""

    what: str
    workload: Workload
    take: tuple[str, ...]
    """The changed lines."""


def only_entity(workload: Workload, read: Read) -> Entity | None:
    return workload.entity(read.entities[0]) if len(read.entities) == 1 else None


def changes_later(workload: Workload, entity: Entity, attribute: Attribute) -> bool:
    """Whether an update changes an attribute, so that a counter by it would have to know the old value."""
    return not attribute.id and (
        attribute.mutable is True
        or any(
            change.attribute == attribute.name
            for write in workload.writes
            for action in write.actions
            if action.entity == entity.name and action.updates
            for change in changes(write, action, entity)
        )
    )


def with_decisions(workload: Workload, decisions: tuple[Decision, ...]) -> Workload:
    return replace(workload, decisions=(*workload.decisions, *decisions))


def with_read(workload: Workload, read: Read) -> Workload:
    return replace(workload, reads=tuple(read if one.id == read.id else one for one in workload.reads))


def with_entity(workload: Workload, entity: Entity) -> Workload:
    return replace(workload, entities=tuple(entity if one.name == entity.name else one for one in workload.entities))


def shape_of(design: Design) -> str:
    return f"{count(len(design.indexes), 'GSI')} and {count(len(design.copies), 'copy', 'copies')}"


def structures_of(design: Design) -> int:
    return len(design.indexes) + len(design.copies)


def unserved_of(design: Design) -> set[str]:
    return {operation.pattern for operation in design.operations if not operation.served}
