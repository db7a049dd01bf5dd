"""`abort_change` and `table_status`: the way back from a change, and the state of a table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from prejoin.migrate import codes
from prejoin.migrate.evolve.begin import begin_change
from prejoin.migrate.evolve.items import FOLDER
from prejoin.migrate.evolve.record import Hold, StepStatus, TableRecord, is_dead, record_place
from prejoin.migrate.evolve.transition import CodeVersion, Transition, design_id, plan_transition
from prejoin.pipeline.connection import TablePlace, connect
from prejoin.pipeline.errors import RefusedError
from prejoin.pipeline.summary import duration
from prejoin.table.client.client import Client


def abort_change(
    transition: Transition, place: TablePlace, *, table: str | None = None, state: str | Path = FOLDER
) -> Transition | None:
    """Turns the change of a table round. Returns the transition back; None if nothing was written yet.

    Raises a `RefusedError` if the table is not in this change.
    """
    name = table or transition.old.design.table
    with connect(transition.old.package.schema, name, place) as client:
        return abort_on(client, transition, state)


def abort_on(client: Client, transition: Transition, state: str | Path = FOLDER) -> Transition | None:
    """As `abort_change`, for the table of a client."""
    records = record_place(client, state)
    record = records.read()
    source, target = design_id(transition.old), design_id(transition.new)
    if record.change is None and record.design != target and not _lacks_indexes(client, transition):
        # No command of the change was run, but its code may be deployed, and have written.
        begin_change(record, transition, client)
    change = record.change
    old, new = transition.old.name, transition.new.name
    if change is None or (change.source, change.target) != (source, target):
        raise RefusedError(codes.OTHER_CHANGE, *_not_under_way(record, transition))
    if change.direction == "back":
        message = f"the table goes back to `{change.source_name}` already"
        raise RefusedError(codes.OTHER_CHANGE, message, f"`prejoin evolve plan {new} {old}` shows the steps")
    if change.is_cleaning:
        message = f"`clean` removes what only `{change.source_name}` has already"
        fix = (
            f"finish it: `prejoin evolve clean {change.source_name} {change.target_name}`; the way back is a new change"
        )
        raise RefusedError(codes.OTHER_CHANGE, message, fix)
    way_back = plan_transition(transition.new, transition.old, change.id)  # it may be refused
    hold = Hold(records, record)
    hold.take()
    has_written = bool({*change.done} - {"indexes"}) or bool(change.step.name)
    # `prepare` may have been deployed, and what it wrote under new keys has to be removed.
    if not has_written and not transition.added and not transition.needs_prepare:
        record.change = None
        hold.release()
        return None
    change.direction, change.done, change.step = "back", [], StepStatus()
    hold.release()
    return way_back


def _lacks_indexes(client: Client, transition: Transition) -> bool:
    """Whether the table lacks an index of the next design, without which none of its code is deployed."""
    table_description = client.call("DescribeTable")["Table"]
    names = {index["IndexName"] for index in table_description.get("GlobalSecondaryIndexes") or ()}
    return any(slot.name not in names for slot in transition.added)


def _not_under_way(record: TableRecord, transition: Transition) -> tuple[str, str]:
    """Why a change cannot be turned round, and what to do instead."""
    old, new = transition.old.name, transition.new.name
    message = f"the table is not on its way from `{old}` to `{new}`: "
    if record.change is not None:
        message += f"it is in the change {record.change.text}"
        if (record.change.source, record.change.target) == (design_id(transition.new), design_id(transition.old)):
            return message, f"the folders are exchanged: `prejoin evolve abort {new} {old}`"
        return message, f"`prejoin evolve status {new}` shows its state"
    if record.design == design_id(transition.new):
        message += f"no change is under way, and `{new}` is its design"
        return message, f"the way back is a new change: `prejoin evolve plan {new} {old}`"
    return message + "no change is under way", f"there is nothing to take back: go on with the code of `{old}`"


@dataclass(frozen=True)
class PlannedChange:
    """A transition beside the record of a table."""

    transition: Transition
    """With the id of the change that the table goes back from, if it does: code has to write the same marks."""
    note: str = ""
    """Where the table is, unless it is in the design that the transition begins with."""
    can_run: bool = True
    """Whether the steps of the transition can be run on the table now."""
    goes_back: bool = False
    """Whether it is the way back from a change that was turned round."""


def planned_change(
    transition: Transition, place: TablePlace, *, table: str | None = None, state: str | Path = FOLDER
) -> PlannedChange:
    """Compares a transition with the record of a table."""
    with connect(transition.old.package.schema, table or transition.old.design.table, place) as client:
        record = record_place(client, state).read()
    change = record.change
    old, new = transition.old.name, transition.new.name
    source, target = design_id(transition.old), design_id(transition.new)
    if change is None:
        if record.design == target:
            note = f"the table has the design of `{new}` already: these steps are done"
            return PlannedChange(transition, note, can_run=False)
        if record.design and record.design != source:
            note = f"the table has the design of `{record.design_name}`: these steps begin with that of `{old}`"
            return PlannedChange(transition, note, can_run=False)
        return PlannedChange(transition)
    if change.direction == "back" and (change.source, change.target) == (target, source):
        note = f"this is the way back from the change to `{old}`"
        return PlannedChange(plan_transition(transition.old, transition.new, change.id), note, goes_back=True)
    if (change.source, change.target) != (source, target):
        note = f"the table is in another change, {change.text}: finish it, or go back from it first"
        return PlannedChange(transition, note, can_run=False)
    if change.direction == "back":
        note = f"the table is on its way back to `{old}`: finish that first, `prejoin evolve plan {new} {old}`"
        return PlannedChange(transition, note, can_run=False)
    steps = f"finished: {', '.join(change.done)}" if change.done else "no step is finished"
    back = f"to go back at any step before `clean`: `prejoin evolve abort {old} {new}`"
    return PlannedChange(transition, f"this change is under way ({steps}); {back}")


@dataclass(frozen=True)
class StepProgress:
    """How far a pass over a table came."""

    read: int
    share: float
    """The share of the items that were read, from 0 to 1."""
    per_second: float
    seconds_left: float

    def __str__(self) -> str:
        remaining = f"about {duration(self.seconds_left)} left"
        return f"{self.share:.0%}, {self.read:,} items read, {self.per_second:,.0f} a second, {remaining}"


@dataclass(frozen=True)
class TableStatus:
    """The record of a table, and how far its step came."""

    record: TableRecord
    progress: StepProgress | None = None
    """None if no step has read an item yet."""
    holder: str = ""


def table_status(
    version: CodeVersion, place: TablePlace, *, table: str | None = None, state: str | Path = FOLDER
) -> TableStatus:
    """The state of a table, of which `version` is any design."""
    with connect(version.package.schema, table or version.design.table, place) as client:
        record = record_place(client, state).read()
        count = client.call("DescribeTable")["Table"]["ItemCount"]
    change = record.change
    if change is None:
        return TableStatus(record)
    is_held = change.holder and change.held_until > time.time() and not is_dead(change.holder)
    holder = change.holder if is_held else ""
    return TableStatus(record, _progress(change.step, count), " ".join(holder.split(" ")[:2]))


def _progress(step: StepStatus, count: int) -> StepProgress | None:
    if not step.read:
        return None
    seconds = max(time.time() - datetime.fromisoformat(step.began).timestamp(), 1)
    rate = step.read / seconds
    share = min(step.read / count, 1) if count else 1
    return StepProgress(step.read, share, rate, max(count - step.read, 0) / rate)
