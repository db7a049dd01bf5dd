"""`abort_change` and `table_status`: the way back from a change, and the state of a table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from prejoin.migrate import codes
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
    change = record.change
    source, target = design_id(transition.old), design_id(transition.new)
    if change is None or (change.source, change.target) != (source, target):
        under_way = f"it is in the change {change.text}" if change else "no change is under way"
        message = f"the table is not on its way from `{transition.old.name}` to `{transition.new.name}`: {under_way}"
        raise RefusedError(codes.OTHER_CHANGE, message, "`prejoin evolve status` shows its state")
    if change.direction == "back":
        message = f"the table goes back to `{change.source_name}` already"
        fix = f"go on with `prejoin evolve backfill {change.target_name} {change.source_name}`"
        raise RefusedError(codes.OTHER_CHANGE, message, fix)
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


def as_under_way(transition: Transition, place: TablePlace, *, table: str | None = None) -> Transition:
    """The transition with the id of the change that the table goes back from: code has to write the same marks."""
    with connect(transition.old.package.schema, table or transition.old.design.table, place) as client:
        change = record_place(client, FOLDER).read().change
    ends = design_id(transition.new), design_id(transition.old)
    if change is None or change.direction != "back" or (change.source, change.target) != ends:
        return transition
    return plan_transition(transition.old, transition.new, change.id)


@dataclass(frozen=True)
class TableStatus:
    """The record of a table, and how far its step came."""

    record: TableRecord
    progress: str = ""
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


def _progress(step: StepStatus, count: int) -> str:
    """The share of the items that a step has read, its rate and the time that is left."""
    if not step.read:
        return "in the first page"
    seconds = max(time.time() - datetime.fromisoformat(step.began).timestamp(), 1)
    rate = step.read / seconds
    left = max(count - step.read, 0) / rate
    share = min(step.read / count, 1) if count else 1
    return f"{share:.0%}, {step.read:,} items read, {rate:,.0f} a second, about {duration(left)} left"
