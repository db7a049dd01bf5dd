"""`begin_change`: whether a table is where a command begins, by its record or, if it has none, by its items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prejoin.keys import TABLE
from prejoin.migrate import codes
from prejoin.migrate.evolve.record import ChangeStatus, TableRecord, now
from prejoin.migrate.evolve.transition import CodeVersion, Transition, design_id, plan_transition
from prejoin.pipeline.errors import RefusedError
from prejoin.table.admin.drift import describe
from prejoin.table.client.client import Client
from prejoin.table.codec.values import Json
from prejoin.table.read.decode import values_in
from prejoin.table.schema.schema import Schema

_SAMPLE = 200
"""Items that are looked at before the first change of a table."""


def begin_change(record: TableRecord, transition: Transition, client: Client) -> Transition:
    """Enters a change in the record of a table, if it is not there; returns the transition with the id of the change.

    Raises a `RefusedError` if the table is in another design or change.
    """
    source, target = design_id(transition.old), design_id(transition.new)
    change = record.change
    if change is None and record.design == target and _was_last(record, source, target):
        change = record.change = record.log[-1].again()
    if change is None:
        _require_design(record, transition, source, target)
        if not record.design:
            _require_items(transition, client)
        names = transition.old.name, transition.new.name
        record.change = ChangeStatus(transition.change, source, names[0], target, names[1], now())
        return transition
    is_forward = change.direction == "forward"
    if (source, target) == ((change.source, change.target) if is_forward else (change.target, change.source)):
        return plan_transition(transition.old, transition.new, change.id)
    if (source, target) == (change.target, change.source):
        message = f"the table is on its way {change.text}: the folders are exchanged"
        fix = f"to go back, first run `prejoin evolve abort {change.source_name} {change.target_name}`"
        raise RefusedError(codes.OTHER_CHANGE, message, fix)
    if (source, target) == (change.source, change.target):
        message = f"the table is on its way back from `{change.target_name}` to `{change.source_name}`"
        fix = f"finish that: `prejoin evolve plan {change.target_name} {change.source_name}` shows the steps"
        raise RefusedError(codes.OTHER_CHANGE, message, fix)
    message = f"the table is in another change, {change.text}"
    fix = f"finish it, or go back from it: `prejoin evolve abort {change.source_name} {change.target_name}`"
    raise RefusedError(codes.OTHER_CHANGE, message, fix)


def _was_last(record: TableRecord, source: str, target: str) -> bool:
    """Whether the last change of a table led from one design to another: it may be looked at once more."""
    if not record.log:
        return False
    last = record.log[-1]
    ends = (last.source, last.target) if last.result == "applied" else (last.target, last.source)
    return ends == (source, target)


def _require_design(record: TableRecord, transition: Transition, source: str, target: str) -> None:
    old, new = transition.old.name, transition.new.name
    if not record.design or record.design == source:
        return
    if record.design == target:
        last = f" since {record.log[-1].ended}" if record.log else ""
        message = f"the table has the design of `{new}`{last}: there is nothing to do"
        fix = f"to change it to `{old}`, exchange the folders: `prejoin evolve plan {new} {old}`"
        raise RefusedError(codes.OTHER_CHANGE, message, fix)
    message = f"the table has the design of `{record.design_name}`, which is not that of `{old}`"
    raise RefusedError(
        codes.OTHER_CHANGE, message, "begin with the design that is in force; `prejoin evolve log` lists all"
    )


def _require_items(transition: Transition, client: Client) -> None:
    """Looks whether a table without a record has the indexes of the old design, and not only items of the new one."""
    _require_indexes(transition.old, client)
    items = client.call("Scan", {"Limit": _SAMPLE, "ConsistentRead": True})["Items"]
    _refuse_items_of_new(transition.old, transition.new, items)
    _refuse_names_of_new(transition, items)


def _require_indexes(old: CodeVersion, client: Client) -> None:
    table_description = client._run(describe(client.table)) or {}
    index_names = {index["IndexName"] for index in table_description.get("GlobalSecondaryIndexes") or ()}
    for slot in old.design.indexes:
        if not slot.local and slot.name not in index_names:
            message = f"the table lacks the index {slot.name} of `{old.name}`"
            question = f"is `{old.name}` the design of the table?"
            fix = f"{question} The first folder is the design in force, the second the next one"
            raise RefusedError(codes.OTHER_CHANGE, message, fix)


def _refuse_items_of_new(old: CodeVersion, new: CodeVersion, items: Iterable[Json]) -> None:
    # Items of entities with the same keys in both designs say nothing.
    items_of_one_design = [item for item in items if _fits(old, item) != _fits(new, item)]
    if any(_fits(old, item) for item in items_of_one_design):
        return
    kept_entities = [entity.name for entity in old.workload.entities if new.workload.entity(entity.name)]
    if any(_is_of(new, item, kept_entities) for item in items_of_one_design):
        message = f"the table has items of `{new.name}`, and none of `{old.name}`: the folders are exchanged"
        raise RefusedError(codes.OTHER_CHANGE, message, f"write `prejoin evolve … {new.name} {old.name}`")


def _refuse_names_of_new(transition: Transition, items: Iterable[Json]) -> None:
    """Refuses a table whose items have new names of attributes, and no old one."""
    old, new = transition.old, transition.new
    names = [name for item in items for name in _names_in(transition, item)]
    new_names = [name for name, _, has_new in names if has_new]
    has_old_names = any(has_old for _, has_old, _ in names)
    if new_names and not has_old_names:
        message = f"the items of the table have {new_names[0]}, as in `{new.name}`: the folders are exchanged"
        raise RefusedError(codes.OTHER_CHANGE, message, f"write `prejoin evolve … {new.name} {old.name}`")


def _names_in(transition: Transition, item: Json) -> Iterator[tuple[str, bool, bool]]:
    """The new name of each renamed attribute of an item, and whether the item has the old and the new name."""
    package = transition.prepare.package
    tag = item.get(package.schema.type_attribute, {}).get("S", "")
    for entity, old, new in transition.renamed:
        bound = package.schema.entity(package.classes[entity])
        if bound.tag == tag:
            wires = [bound.codec.attribute(package.fields[entity][name]).wire for name in (old, new)]
            yield new, wires[0] in item, wires[1] in item


def _is_of(version: CodeVersion, item: Json, entities: Iterable[str]) -> bool:
    """Whether an item is of one of these entities."""
    package = version.package
    tags = [package.schema.entity(package.classes[name]).tag for name in entities if version.design.item(name)]
    return item.get(package.schema.type_attribute, {}).get("S", "") in tags


def _fits(version: CodeVersion, item: dict[str, dict[str, str]]) -> bool:
    """Whether an item has a key and a type of a design."""
    schema: Schema = version.package.schema
    tag = item.get(schema.type_attribute, {}).get("S", "")
    entity = schema.by_tag.get(tag)
    return entity is not None and entity.base.slot == TABLE and values_in(schema, entity.base, item) is not None
