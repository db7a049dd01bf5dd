"""The sentences of a write's docstring about objects, refreshed attributes, and lists."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.constructs.refreshed import refreshed_in
from prejoin.design.mapping.repetition import passes_over_missing, stale_lists
from prejoin.render.python.writes.sources import Sources
from prejoin.workload.grammar.values import write_value
from prejoin.workload.program.resolved_write import Step


def remarks(sources: Sources, is_repeatable: bool) -> tuple[str, ...]:
    return (*_on_values(sources), *_on_refreshes(sources), *_on_lists(sources, is_repeatable))


def _on_values(sources: Sources) -> Iterator[str]:
    """The values of new objects that the document sets."""
    for step, param in sources.records.items():
        replaced_values: list[str] = []
        compared_values: list[str] = []
        values = sources.of(step)
        for change in step.set_by_document:
            if change.value is None or step.entity.attribute(change.attribute) is None:
                continue
            value = write_value(change.value, frozenset(sources.inputs))
            if change.value.attribute is not None:
                value = values.field(change.value.attribute)
            text = f"`{values.field(change.attribute)} = {value}`"
            (compared_values if change.value.now is None else replaced_values).append(text)
        if compared_values:
            name = f"one of `{param.name}`" if step.is_list else f"`{param.name}`"
            yield f"Raises `ValueError` if {name} has other values than {', '.join(compared_values)}"
        if replaced_values:
            name = f"each of `{param.name}`" if step.is_list else f"`{param.name}`"
            yield f"Replaces the values of {name}: {', '.join(replaced_values)}"


def _on_refreshes(sources: Sources) -> Iterator[str]:
    """The items that repeat what the write changes, and that the application refreshes."""
    names = sources.context.names
    for bound in refreshed_in(sources.context.workload):
        if not bound.client_function or not any(bound.source_changes(sources.write)):
            continue
        source, entity = bound.source.name, bound.entity.name
        pairs: list[str] = []
        for own, origin in bound.attributes.items():
            own_name = f"`{names.classes[entity]}.{names.field(entity, own)}`"
            pairs.append(f"{own_name} {bound.flag.name} `{names.classes[source]}.{names.field(source, origin)}`")
        key = ", ".join(f"{names.field(source, part)}=…" for part in bound.by if part != sources.tenant)
        function = f"{sources.context.wait}{bound.client_function}"
        example = f"{function}(repository.db, {names.classes[source]}, {key})"
        yield f"{' and '.join(pairs)}: call `{example}` of `prejoin` afterwards"


def _on_lists(sources: Sources, is_repeatable: bool) -> Iterator[str]:
    """The lists of which items are passed over, and those that are found in an index."""
    for step in sources.steps:
        if passes_over_missing(step) and step.list_source.is_given:
            yield f"Passes over each {sources.context.cls(step.entity.name)} {_missing_words(sources, step)}"
    stale = stale_lists(sources.resolved, sources.operation)
    if not stale:
        return
    text = f"An index may lack {' and '.join(stale)} items that were written a moment ago"
    if is_repeatable:
        yield f"{text}: call it again with `again=True` a moment later for those"
    elif all(step.is_list for step in sources.steps):
        yield f"{text}: call it again a moment later for those"
    else:
        yield text


def _missing_words(sources: Sources, step: Step) -> str:
    """When an item of a list is passed over: it is not there, or belongs to another parent than the call names."""
    values, lists = sources.of(step), step.of.list_inputs
    names = [name for name, source in step.list_source.links.items() if source not in lists and name != sources.tenant]
    fields = " and ".join(f"`{values.field(name)}`" for name in names)
    return f"that is not there, or has another {fields}" if fields else "that is not there"
