"""`Evolution`: the work on the table between two designs. It adds indexes, fills items and removes what is left.

Each step goes through the table in passes (`passes.py`) while the application writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from prejoin.keys import TABLE
from prejoin.migrate import codes
from prejoin.migrate.evolve.attribute_work import AttributeWork, ItemChange
from prejoin.migrate.evolve.begin import begin_change
from prejoin.migrate.evolve.carried_work import CarriedWork, PartKind, VersionKind, part_kinds, version_kinds
from prejoin.migrate.evolve.counter_work import CounterWork, counter_kinds
from prejoin.migrate.evolve.duplicates import DuplicateDecisions, guard_tags
from prejoin.migrate.evolve.function_work import FunctionWork, function_marks
from prejoin.migrate.evolve.functions import EntityFunction
from prejoin.migrate.evolve.leftovers import leftover_attributes, leftover_tags
from prejoin.migrate.evolve.member_work import MemberWork
from prejoin.migrate.evolve.pair_work import PairWork
from prejoin.migrate.evolve.passes import PassOutcome, TablePasses
from prejoin.migrate.evolve.record import (
    ChangeStatus,
    Hold,
    RecordPlace,
    TableRecord,
    record_place,
)
from prejoin.migrate.evolve.rename_work import RenameWork
from prejoin.migrate.evolve.transition import Transition, design_id
from prejoin.migrate.evolve.twins import (
    Decision,
    PairKind,
    decide,
    decide_at_end,
    decide_before_end,
    pair_kinds,
)
from prejoin.patterns.integrity.audit import Audit
from prejoin.patterns.integrity.findings import Finding
from prejoin.patterns.integrity.repair import repair
from prejoin.patterns.twin_mark import MARK
from prejoin.pipeline.connection import TablePlace, connect
from prejoin.pipeline.errors import RefusedError
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.admin.create_table import active
from prejoin.table.admin.drift import describe
from prejoin.table.client.client import Client
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request
from prejoin.table.errors import ConditionFailed, Conflict, ItemTooLarge, NotUnique
from prejoin.table.schema.bind import facet_tag
from prejoin.table.schema.schema import Schema
from prejoin.table.write.execute import write_one

FOLDER = ".prejoin-evolve"
"""The folder of the state."""
_DECISIONS = "duplicates"
"""The entry among the finished steps which says that a rule has decided about items with the same unique value."""
_OF_TWINS = frozenset({"missing", "drifted", "orphaned", "taken", "unknown"})
"""Findings of an audit about items that `_pair` has looked at."""
_UNMARK = "marks"
"""The pass of `clean` that removes the marks of twins."""
_LEFTOVERS = "leftovers"
"""The pass of `clean` that removes what NEW does not have."""


@dataclass
class StepResult:
    """The result of a step for a table."""

    read: int = 0
    written: Counter[str] = field(default_factory=Counter)
    """Changes, by kind: `index keys`, `missing`, `default`, …"""
    undecided: list[Finding] = field(default_factory=list)
    """Findings that no program can decide about, at most a thousand."""
    undecided_count: int = 0
    """All of these findings."""
    kept: int = 0
    """Items without a guard, because another item with the same unique value has it by a rule."""
    units: float = 0.0
    indexes: tuple[str, ...] = ()
    """Indexes that were added or removed."""
    is_left_to_clean: bool = False
    """Whether nothing was done, because `clean` of the change has begun, and carries over what was written since."""


@dataclass
class Evolution:
    """A transition at work on one table."""

    transition: Transition
    client: Client
    throttle: WriteThrottle
    progress: Progress
    place: RecordPlace
    record: TableRecord
    hold: Hold
    result: StepResult = field(default_factory=StepResult)
    undecided: PassOutcome = field(default_factory=PassOutcome)
    """Findings about twins and renamed attributes, where nobody knows which is right."""
    functions: tuple[EntityFunction, ...] = ()
    """Functions of the user that compute attributes and items of NEW."""
    keeps_new_values: bool = False
    """Whether an item keeps its values, if it and the result of a function have both changed."""
    is_repeated: bool = False
    """Whether the change was finished, and a step of it is run once more."""
    duplicates: DuplicateDecisions = field(default_factory=DuplicateDecisions)
    """Decides which of several items with the same unique value has the guard."""

    def __post_init__(self) -> None:
        self.passes = TablePasses(self.client, self.throttle, self.progress, self.record, self.hold)

    # --- Steps ------------------------------------------------------------------------------------------------------

    def add_indexes(self) -> StepResult:
        """Adds the indexes that NEW has more, one after the other, as DynamoDB does."""
        if self.change.is_cleaning:
            return self._leave_to_clean()
        self.progress.begin("adding indexes", "indexes")
        with self._alone():
            self.result.indexes = self.passes.client_of(self.transition.new.package.schema).add_indexes()
        self._finish("indexes")
        return self.result

    def backfill(self) -> StepResult:
        """Writes keys, copies, guards and defaults that NEW reads into all items, until an audit finds none missing."""
        if self.change.is_cleaning:
            return self._leave_to_clean()
        missing = [slot.name for slot in self.transition.added if slot.name not in self._indexes()]
        if missing:
            fix = f"run `prejoin evolve indexes {self._folders}` first, or deploy the infrastructure of each wave"
            raise RefusedError(codes.STEP_MISSING, f"the table lacks the index {missing[0]}", fix)
        # Code that has the types of NEW is deployed after this step.
        self.record.retire(leaving=(), coming=[kind.coming.tag for kind in self._kinds])
        self._pair("items under both keys", decide)
        self._settle_renames("renamed attributes", at_end=False)
        self._settle_members("renamed members")
        if not self._compute(at_end=False):
            return self.result
        # Once it is finished NEW may run, and may leave out what is optional in NEW.
        has_new_run = "backfill" in self.change.done
        schema = self.transition.before_backfill.package.schema
        self.change.done = [step for step in self.change.done if step != _DECISIONS]
        self._mend("backfill", schema, AttributeWork(self.transition, schema, has_new_run=has_new_run))
        self.change.done += [_DECISIONS] if self.result.kept else []
        self._finish("backfill")
        return self.result

    def clean(self) -> StepResult:
        """Removes the indexes, keys, copies and guards that NEW does not have. Code of NEW runs alone by now."""
        if self.transition.needs_backfill and "backfill" not in self.change.done:
            fix = f"run `prejoin evolve backfill {self._folders}` first, until it reports no item"
            raise RefusedError(codes.STEP_MISSING, "the backfill is not finished", fix)
        if not self._compute(at_end=True):
            return self.result
        # From now on, an item without a twin under the old key is no sign that somebody deleted it.
        self.change.is_cleaning = True
        self.hold.renew(force=True)
        index_names = self._indexes()
        removed_indexes = [slot.name for slot in self.transition.removed if slot.name in index_names]
        if removed_indexes:
            self.progress.begin("removing indexes", "indexes")
        for name in removed_indexes:
            update = {"TableName": self.client.table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}
            with self._alone():
                self.client._run(_update_table(update))
        self.result.indexes = tuple(removed_indexes)
        new = self.transition.new.package.schema
        self._end_pairs()
        self._settle_renames("old names", at_end=True)
        self._settle_members("old members")
        leftover_types = leftover_tags(self.transition)
        stale = leftover_attributes(self.transition) | function_marks(self.change.functions)
        work = AttributeWork(self.transition, new, has_new_run=True)
        self._remove_leftovers(new, leftover_types, stale)
        self._mend("verify", new, work, leftover_types)
        if any(finding.entity in leftover_types for finding in self.result.undecided):
            # Other code wrote them since an interrupted run had removed all.
            self._remove_leftovers(new, leftover_types, stale)
            self._mend("verify", new, work, leftover_types)
        self._finish("clean")
        if not self.result.undecided:
            new_version = self.transition.new
            result: Literal["applied", "taken back"] = "applied" if self.change.direction == "forward" else "taken back"
            self.record.retire([kind.leaving.tag for kind in self._kinds], new.by_tag)
            self.record.finish(design_id(new_version), new_version.name, result)
        return self.result

    def _leave_to_clean(self) -> StepResult:
        """Does nothing once `clean` has begun: a step before it would write again what `clean` removes."""
        self.result.is_left_to_clean = True
        if self.is_repeated:
            self.record.change = None
        return self.result

    @property
    def _folders(self) -> str:
        """The arguments of the commands of this change."""
        return f"{self.transition.old.name} {self.transition.new.name}"

    # --- Passes -----------------------------------------------------------------------------------------------------

    @cached_property
    def _kinds(self) -> tuple[PairKind, ...]:
        return pair_kinds(self.transition)

    def _pair(self, step: str, decision: Decision) -> None:
        """Settles the items of entities that have two keys."""
        if not self._kinds:
            return
        work = PairWork(self.passes, self._kinds, decision)
        outcome = self.passes.repeat(step, work.run_pass)
        self.result.written += work.written
        if decision is decide_before_end:
            return  # what it leaves to a person is found again at the end
        self.undecided.include(outcome)
        stored_kinds: list[VersionKind | PartKind] = [*version_kinds(self.transition), *part_kinds(self.transition)]
        if stored_kinds:
            carried_work = CarriedWork(self.passes, stored_kinds, at_end=decision is decide_at_end)
            self.undecided.include(self.passes.repeat(f"versions of {step}", carried_work.run_pass))
            self.result.written += carried_work.written
        if counters := counter_kinds(self.transition):
            shards = CounterWork(self.passes, counters, at_end=decision is decide_at_end)
            self.undecided.include(self.passes.repeat(f"counters of {step}", shards.run_pass))
            self.result.written += shards.written

    def _end_pairs(self) -> None:
        """Removes the items under the old key, after what was written there was carried over."""
        self._pair("items under the old key", decide_before_end)
        self._unmark()
        self._pair("old items", decide_at_end)

    def _unmark(self) -> None:
        """Removes the marks of the items that stay, before the first of the others is deleted."""
        schema = self.transition.new.package.schema
        coming = {kind.coming.tag for kind in self._kinds}
        if not coming:
            return

        def remove(item: Json) -> bool:
            change = _without_attributes(schema, item, [MARK])
            return _apply(self.client, change, item) is True

        self.passes.begin(_UNMARK)
        for page in self.passes.pages(_UNMARK):
            items = [item for item in page if MARK in item and item[schema.type_attribute]["S"] in coming]
            for _, is_removed in self.passes.each(remove, items):
                self.result.written["marks removed"] += is_removed
            self.passes.show(f"{self.passes.read:,} items read")
        self.passes.finish(_UNMARK, is_decided=False)  # it is done again each time

    def _settle_renames(self, step: str, at_end: bool) -> None:
        """Settles the items with renamed attributes."""
        if self.transition.renamed:
            self._settle(step, RenameWork(self.transition, at_end=at_end))

    def _settle_members(self, step: str) -> None:
        """Settles the items with renamed members of enums: none has an old one in the end."""
        if self.transition.renamed_members:
            self._settle(step, MemberWork(self.transition))

    def _settle(self, step: str, work: RenameWork | MemberWork) -> None:
        client = self.passes.client_of(work.schema)

        def run_pass(name: str) -> PassOutcome:
            outcome = PassOutcome()
            for page in self.passes.pages(name):
                changes = [(change, item) for item in page for change in work.work(item)]
                self._apply_all(client, changes, outcome)
            return outcome

        self.undecided.include(self.passes.repeat(step, run_pass))

    def _compute(self, *, at_end: bool) -> bool:
        """Writes what functions of the user compute. If one fails for an item, nothing is written; then it is False."""
        if self.change.is_cleaning:
            return True  # the marks are being removed
        is_forward = self.change.direction == "forward"
        lacking = set(self.change.functions) - {function.title for function in self.functions} if is_forward else set()
        if lacking:
            name = sorted(lacking)[0]
            message = f"the values of {name} are computed by a function, and code of older versions may have run since"
            raise RefusedError(codes.STEP_MISSING, message, f'pass it again: `--function "{name}=FILE.py:NAME"`')
        if not self.functions:
            return True
        work = FunctionWork(self.transition, self.functions, self.client)
        findings = work.check(self.progress)
        if not findings.undecided:
            self.change.functions = sorted(function.title for function in self.functions)
            self.hold.renew(force=True)
            findings = work.run(self.passes, at_end=at_end, keeps_new=self.keeps_new_values)
            self.result.written += work.written
        self.undecided.include(findings)
        self.result.read = self.passes.read
        self.result.undecided, self.result.undecided_count = self.undecided.undecided, self.undecided.undecided_count
        return not findings.undecided

    def _mend(
        self, step: str, schema: Schema, work: AttributeWork, leftover_types: frozenset[str] = frozenset()
    ) -> None:
        """Audits and repairs by a schema, again and again until nothing is left that can be repaired.

        `dropped` are types of items that must be gone. All other items of types that the schema does not have stay.
        """
        client = self.passes.client_of(schema)

        def run_pass(name: str) -> PassOutcome:
            outcome = PassOutcome()
            audit = Audit(schema, client.table)
            audit.starts = [self.passes.position(name)]
            self.duplicates.begin_pass()
            while not audit.done:
                before = audit.count
                suspects = client._run(audit.next_suspects())
                confirmations = self.passes.each(lambda suspect: client._run(audit.confirm(suspect)), suspects)
                findings = [finding for _, findings in confirmations for finding in findings]
                findings = [
                    finding for finding in findings if finding.kind != "unknown" or finding.entity in leftover_types
                ]
                self._repair_all(client, self._mendable(client, findings, work, outcome), outcome)
                self._fill_all(client, audit.page, work, outcome, verifies=step == "backfill")
                self.passes.read += audit.count - before
                self.passes.save(name, audit.starts[0], audit.count - before)
                self.passes.show(f"{self.passes.read:,} items read, {outcome.changes:,} repaired")
            return outcome

        outcome = self.passes.repeat(step, run_pass)
        self.duplicates.finish()
        self.result.kept = self.duplicates.kept
        findings = PassOutcome()
        findings.include(self.undecided)
        findings.include(outcome)
        self.result.undecided, self.result.undecided_count = findings.undecided, findings.undecided_count

    def _mendable(
        self, client: Client, findings: Iterable[Finding], work: AttributeWork, outcome: PassOutcome
    ) -> Iterator[Finding]:
        """The findings that can be repaired. The others are passed over, or reported to a person."""
        twins = {tag for kind in self._kinds for tag in kind.tags}
        guards = guard_tags(client.schema)
        for finding in findings:
            is_of_twin = finding.entity in twins and finding.kind in _OF_TWINS
            is_renamed = finding.kind == "damaged" and work.is_renamed(finding.found)
            if is_of_twin or is_renamed:
                continue
            if finding.kind == "taken" and finding.entity in guards:
                decision = self.duplicates.decide(client, finding)
                if decision == "moves":
                    outcome.changes += 1
                    if repair(client, replace(finding, kind="drifted")):
                        self.result.written["guards moved"] += 1
                    continue
                is_decided = decision == "stays" or _DECISIONS in self.change.done
                self.duplicates.note(finding, is_decided)
                if is_decided:
                    continue
            if finding.mendable:
                yield finding
            else:
                outcome.report(finding)

    def _repair_all(self, client: Client, findings: Iterable[Finding], outcome: PassOutcome) -> None:
        for finding, is_repaired in self.passes.each(lambda finding: repair(client, finding), findings):
            outcome.changes += 1
            self.passes.show(f"{self.passes.read:,} items read, {outcome.changes:,} repaired")
            if is_repaired:
                self.result.written[finding.kind] += 1

    def _fill_all(
        self, client: Client, items: Iterable[Json], work: AttributeWork, outcome: PassOutcome, *, verifies: bool
    ) -> None:
        """Writes defaults into items that lack them. If it `verifies`, items that NEW could not read are reported."""
        changes: list[tuple[ItemChange | Finding, Json]] = []
        for item in items:
            change = work.fill(item) or (work.unfit(item) if verifies else None)
            if change is not None:
                changes.append((change, item))
        self._apply_all(client, changes, outcome)

    def _apply_all(
        self, client: Client, changes: Iterable[tuple[ItemChange | Finding, Json]], outcome: PassOutcome
    ) -> None:
        """Applies changes of attributes, each if its item is as it was read. Reports findings."""

        def apply(change_and_item: tuple[ItemChange | Finding, Json]) -> Finding | bool:
            change, item = change_and_item
            return change if isinstance(change, Finding) else _apply(client, change, item)

        for (change, _), result in self.passes.each(apply, changes):
            if isinstance(result, Finding):
                outcome.report(result)
                continue
            outcome.changes += 1
            self.passes.show(f"{self.passes.read:,} items read, {outcome.changes:,} changed")
            if result and isinstance(change, ItemChange):
                self.result.written[change.kind] += 1

    def _remove_leftovers(self, schema: Schema, leftover_types: frozenset[str], stale: frozenset[str]) -> None:
        """Removes copies, guards, keys and attributes that NEW does not have. A false condition does nothing."""
        work = AttributeWork(self.transition, schema, has_new_run=True)
        if not (leftover_types or stale or work.drops):
            return
        leftover = self._drop(schema, leftover_types, stale)

        def remove(item: Json) -> list[str]:
            changes = [change for change in (leftover(item), work.drop(item)) if change is not None]
            return [change.kind for change in changes if _apply(self.client, change, item) is True]

        # Other code may have written items before the page at which a pass was interrupted.
        passes = 1 if self.passes.position(_LEFTOVERS) is None else 2
        for _ in range(passes):
            self.passes.begin(_LEFTOVERS)
            for page in self.passes.pages(_LEFTOVERS):
                for _, kinds in self.passes.each(remove, page):
                    self.result.written.update(kinds)
                self.passes.show(f"{self.passes.read:,} items read")
            self.passes.finish(_LEFTOVERS, is_decided=False)

    def _drop(
        self, schema: Schema, leftover_types: frozenset[str], stale: frozenset[str]
    ) -> Callable[[Json], ItemChange | None]:
        """The function that says what has to be removed of an item: all of it, keys, or nothing."""
        schema_tags = {*schema.by_tag, *(facet_tag(facet) for facet in schema.facets)}

        def change(item: Json) -> ItemChange | None:
            placeholders = Placeholders()
            tag = item.get(schema.type_attribute, {}).get("S", "")
            key = {"Key": schema.item_key(item)}
            if tag in leftover_types:
                text = {"ConditionExpression": f"{placeholders.name(schema.type_attribute)} = {placeholders.text(tag)}"}
                return ItemChange("deleted", {**key, **text, **placeholders.parameters()}, operation="DeleteItem")
            # Items of entities that NEW does not have stay as they are.
            names = sorted(stale & item.keys()) if tag in schema_tags else []
            if not names:
                return None
            return _without_attributes(schema, item, names)

        return change

    @property
    def change(self) -> ChangeStatus:
        return self.passes.change

    def _finish(self, step: str, *parts: str) -> None:
        """Records a step of the change as finished, unless something is left to a person."""
        self.result.read = self.passes.read
        self.result.units = self.throttle.units
        self.passes.finish(step, parts, is_decided=not self.result.undecided)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Says, if a change of the table's indexes fails, that another process works on it by now, if one does."""
        self.hold.renew()
        try:
            yield
        except DynamoDBError:
            self.hold.renew(force=True)
            raise

    def _indexes(self) -> set[str]:
        table_description = self.client._run(describe(self.client.table)) or {}
        return {index["IndexName"] for index in table_description.get("GlobalSecondaryIndexes") or ()}


@contextmanager
def open_evolution(
    transition: Transition,
    place: TablePlace,
    *,
    table: str | None = None,
    state: str | Path = FOLDER,
    rate: float | None = None,
    progress: Progress = SILENT,
) -> Iterator[Evolution]:
    """A transition at work on a table. `rate` is the most write units a second.

    Raises a `RefusedError` if the table is in another change, or if another process works on it.
    """
    name = table or transition.old.design.table
    with (
        connect(transition.old.package.schema, name, place) as client,
        evolution_of(transition, client, state, rate, progress) as evolution,
    ):
        yield evolution


@contextmanager
def evolution_of(
    transition: Transition,
    table_client: Client,
    state: str | Path = FOLDER,
    rate: float | None = None,
    progress: Progress = SILENT,
) -> Iterator[Evolution]:
    """A transition at work on the table of a client."""
    throttle = WriteThrottle(rate)
    client = Client(table_client.schema, table_client.table, table_client._transport, observe=throttle.observe)
    place = record_place(client, state)
    record = place.read()
    is_under_way = record.change is not None
    transition = begin_change(record, transition, client).for_items
    done_before = [*record.change.done] if record.change else []
    hold = Hold(place, record)
    evolution = Evolution(transition, client, throttle, progress, place, record, hold)
    evolution.is_repeated = not is_under_way and evolution.change.is_cleaning
    try:
        hold.take()
        yield evolution
    except RefusedError:
        hold.abandon()
        change = record.change
        if not is_under_way and change is not None and change.done == done_before and not change.step.name:
            record.change = None  # a command that was refused begins no change, and repeats none
            place.write(record)
        raise
    except KeyboardInterrupt:
        with suppress(RefusedError, DynamoDBError):
            hold.release()  # so that another machine can continue at once
        raise
    except BaseException:
        hold.abandon()
        raise
    finally:
        evolution.duplicates.close()
    hold.release()


def _apply(client: Client, change: ItemChange, item: Json) -> Finding | bool:
    """Applies a change, if the item is as it was read. Returns whether it was, or a finding if it cannot be applied."""
    try:
        if change.write is not None:
            client._run(write_one(client.schema, client.table, change.write))
        else:
            client.call(change.operation, change.parameters)
    except NotUnique as error:
        tag = item[client.schema.type_attribute]["S"]
        return Finding("taken", tag, client.schema.item_key(item), item, None, reason=str(error))
    except ItemTooLarge as error:
        return _unfit(client, item, str(error))
    except (ConditionFailed, Conflict):
        return False  # it was written since, or its copies are not there yet: the next pass looks at it again
    except DynamoDBError as error:
        if error.code == "ValidationException":
            return _unfit(client, item, error.message)
        if error.code != "ConditionalCheckFailedException":
            raise
        return False
    return True


def _unfit(client: Client, item: Json, reason: str) -> Finding:
    """The finding about an item that cannot be written as the next design needs it."""
    tag = item[client.schema.type_attribute]["S"]
    return Finding("unfit", tag, client.schema.item_key(item), item, None, reason=reason)


def _without_attributes(schema: Schema, item: Json, names: Iterable[str]) -> ItemChange:
    """The update that removes keys or marks of an item, if it still exists."""
    placeholders = Placeholders()
    text = f"REMOVE {', '.join(map(placeholders.name, names))}"
    condition = f"attribute_exists({placeholders.name(schema.keys(TABLE).names[0])})"
    parameters = {"UpdateExpression": text, "ConditionExpression": condition, **placeholders.parameters()}
    return ItemChange("keys removed", {"Key": schema.item_key(item), **parameters})


def _update_table(body: dict[str, Any]) -> Any:
    yield from active(body["TableName"])
    yield Request("UpdateTable", body)
    yield from active(body["TableName"])
