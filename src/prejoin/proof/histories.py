"""Histories: items with more versions than are kept, so that a write deletes the oldest one."""

from __future__ import annotations

from dataclasses import replace

from prejoin.cases.case import WriteCase, WriteStep
from prejoin.cases.items import Values
from prejoin.constructs.history import VERSION
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import REFUSALS, SampleTable
from prejoin.workload.lookup import gives_object
from prejoin.workload.model import Action, Entity, Verb, Write

_MOST_VERSIONS = 50
"""Histories that keep more are not filled."""


def prove_histories(sample: SampleTable, expected_table: ExpectedTable) -> str:
    """Replace an item of each entity with a history more often than the history is long.

    Returns the first difference of the table; empty if there is none.
    """
    for entity in sample.workload.entities:
        items = sample.items.get(entity.name)
        versions = _kept_versions(entity)
        if not versions or not items:
            continue
        item = items[0]
        # Two more than are kept, so that an oldest version is deleted twice.
        for number in range(versions + 2):
            try:
                item = _add_version(sample, expected_table, entity, item)
            except REFUSALS as error:
                return f"{entity.name} {item} cannot be replaced: {error}"
            if wrong := expected_table.difference():
                return f"after {number + 1} more versions of a {entity.name}: {wrong}"
    return ""


def can_fill_histories(sample: SampleTable, write: Write) -> bool:
    """Whether a write changes or deletes items with a short history, and the caller does not give their version."""
    inputs = {source.attribute for source in write.inputs}
    for action in write.actions:
        entity = sample.entity(action.entity)
        is_existing = action.updates or action.verb is Verb.DELETE
        if is_existing and _kept_versions(entity) and VERSION not in inputs and not gives_object(write, entity):
            return True
    return False


def fill_histories(sample: SampleTable, expected_table: ExpectedTable, case: WriteCase) -> None:
    """Replaces the stored items of a case as often as their histories are long."""
    for position, step in enumerate(case.steps):
        versions = _kept_versions(step.entity)
        before, after = step.before, step.after
        if before is None or not versions:
            continue
        for _ in range(versions):
            before = _add_version(sample, expected_table, step.entity, before)
        # The write counts on from the version that the item has now.
        if after is not None:
            after = {**after, VERSION: after[VERSION] + versions}
        case.steps[position] = replace(step, before=before, after=after)


def _kept_versions(entity: Entity) -> int:
    """How many versions the history of an entity keeps; 0 without a history, or of one that is too long to fill."""
    versions = entity.history.versions if entity.history is not None else None
    return versions if versions is not None and versions <= _MOST_VERSIONS else 0


def _add_version(sample: SampleTable, expected_table: ExpectedTable, entity: Entity, item: Values) -> Values:
    """Replaces an item by an equal one, and returns its values then."""
    after = {**item, VERSION: item[VERSION] + 1}
    sample.unobserved.put(sample.package.record(entity.name, item), read=True)
    expected_table.apply(WriteStep(Action(Verb.PUT, entity.name), entity, item, after))
    return after
