"""Optional inputs of writes, `name?`: a change is left out if the caller does not give its value."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.constructs.registry import maintained
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Change, ChangeOp, Entity, Input, Workload, Write
from prejoin.workload.phrases import and_list


def source_of(change: Change) -> str | None:
    """The input that a change takes its value from; None for a constant, a time, or a removal."""
    if change.op is ChangeOp.REMOVE:
        return None
    return change.attribute if change.value is None else change.value.param


def is_optional(write: Write, change: Change) -> bool:
    """Whether a change is left out if the caller does not give its value."""
    source = source_of(change)
    return change.optional or any(input_.optional and input_.attribute == source for input_ in write.inputs)


def with_optional_inputs(write: Write) -> Write:
    """The write with `name?` as an input for each change `(name?)`, so that both spellings are one."""
    optional_changes = [change for action in write.actions for change in action.changes if change.optional]
    sources = {change.attribute for change in optional_changes}
    if not sources:
        return write
    inputs = [replace(input_, optional=True) if input_.attribute in sources else input_ for input_ in write.inputs]
    inputs += [Input(name, optional=True) for name in sorted(sources - {input_.attribute for input_ in inputs})]
    return replace(write, inputs=tuple(inputs))


def optional_changes(workload: Workload, write: Write) -> Iterator[tuple[Action, Entity, Change]]:
    """The changes of a write that are left out if their values are not given."""
    for action in write.actions:
        entity = workload.entity(action.entity)
        if entity is None or not action.updates:
            continue
        for change in changes(write, action, entity):
            if is_optional(write, change):
                yield action, entity, change


def is_only_change(workload: Workload, write: Write) -> bool:
    """Whether a write consists of updates that all take one optional input, so that it has to be given after all."""
    sources = _sources_of_updates(workload, write)
    return len(sources) == 1 and None not in sources


def is_all_optional(workload: Workload, write: Write) -> bool:
    """Whether a write consists of updates that take optional inputs, so that one of them has to be given."""
    sources = _sources_of_updates(workload, write)
    return bool(sources) and None not in sources


def _sources_of_updates(workload: Workload, write: Write) -> set[str | None]:
    """The optional inputs of a write's changes, and None if it does something else, too."""
    sources: set[str | None] = set()
    for action in write.actions:
        entity = workload.entity(action.entity)
        if entity is None or not action.updates:
            return {None}
        for change in changes(write, action, entity):
            if change.attribute not in maintained(entity):
                sources.add(source_of(change) if is_optional(write, change) else None)
    return sources


def optional_words(workload: Workload, write: Write) -> str:
    """The sentences about optional inputs, for people; empty if there are none."""
    inputs: dict[str, None] = {}
    removable: dict[str, None] = {}
    for _, entity, change in optional_changes(workload, write):
        source = source_of(change)
        attribute = entity.attribute(change.attribute)
        if source is not None and attribute is not None:
            inputs[source] = None
            if attribute.optional:
                removable[source] = None
    if not inputs:
        return ""
    words = f"{and_list(inputs)} may be left out: what is not given stays as it is"
    return f"{words}; None removes {and_list(removable)}" if removable else words
