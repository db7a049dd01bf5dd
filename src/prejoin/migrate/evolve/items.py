"""`Evolution`: the work on the table between two designs. It adds indexes, fills items and removes what is left.

Each step goes through the table in pages while the application writes, and changes an item only if it is as it was
read. After an interruption it goes on with the page that it was at; doing a page twice does nothing more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from prejoin.keys import TABLE
from prejoin.migrate import codes
from prejoin.migrate.evolve.attribute_work import AttributeWork, ItemChange
from prejoin.migrate.evolve.begin import begin_change
from prejoin.migrate.evolve.duplicates import DuplicateDecisions, guard_tags
from prejoin.migrate.evolve.record import (
    ChangeStatus,
    Hold,
    RecordPlace,
    StepStatus,
    TableRecord,
    now,
    record_place,
)
from prejoin.migrate.evolve.rename_work import RenameWork
from prejoin.migrate.evolve.transition import CodeVersion, Transition, design_id
from prejoin.migrate.evolve.twins import (
    Decision,
    Pair,
    PairKind,
    TwinAction,
    decide,
    decide_at_end,
    is_comparable,
    pair_kinds,
    requests,
)
from prejoin.patterns.integrity.audit import Audit, patiently, read_items, reasons
from prejoin.patterns.integrity.findings import Finding, Judge
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
from prejoin.table.errors import ConditionFailed, Conflict, NotUnique
from prejoin.table.schema.bind import facet_tag
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema
from prejoin.table.write.execute import write_one

FOLDER = ".prejoin-evolve"
"""The folder of the state."""
_PASSES = 20
"""How often the table is gone through until nothing is wrong. Two are usual; more if items change all the time."""
_SHOWN = 1000
"""Findings that are kept; all are counted."""
_DECIDED = "duplicates"
"""The entry among the finished steps which says that a rule has decided about items with the same unique value."""
_OF_TWINS = frozenset({"missing", "drifted", "orphaned", "taken", "unknown"})
"""Findings of an audit about items that `_pair` has looked at."""


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


@dataclass
class Undecided:
    """Findings of a pass that no program can decide about."""

    shown: list[Finding] = field(default_factory=list)
    count: int = 0

    def add(self, finding: Finding) -> None:
        self.count += 1
        if len(self.shown) < _SHOWN:
            self.shown.append(finding)


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
    undecided_pairs: list[Finding] = field(default_factory=list)
    """Items that differ from their twins, where nobody knows which is right."""
    duplicates: DuplicateDecisions = field(default_factory=DuplicateDecisions)
    """Decides which of several items with the same unique value has the guard."""

    # --- Steps ------------------------------------------------------------------------------------------------------

    def add_indexes(self) -> StepResult:
        """Adds the indexes that NEW has more, one after the other, as DynamoDB does."""
        self.progress.begin("adding indexes", "indexes")
        self.result.indexes = self._client(self.transition.new).add_indexes()
        self._finish("indexes")
        return self.result

    def backfill(self) -> StepResult:
        """Writes keys, copies, guards and defaults that NEW reads into all items, until an audit finds none missing."""
        missing = [one.name for one in self.transition.added if one.name not in self._indexes()]
        if missing:
            fix = "`prejoin evolve indexes` adds them, or deploy the infrastructure of each wave"
            raise RefusedError(codes.STEP_MISSING, f"the table lacks the index {missing[0]}", fix)
        is_over = self.change.is_cleaning
        self._pair("twins", decide_at_end if is_over else decide)
        self._settle_renames("renames", is_over)
        # Once it is finished NEW may run, and may leave out what is optional in NEW.
        has_new_run = is_over or "backfill" in self.change.done
        schema = self.transition.before_backfill.package.schema
        self.change.done = [one for one in self.change.done if one != _DECIDED]
        self._mend("backfill", schema, AttributeWork(self.transition, schema, has_new_run=has_new_run))
        self.change.done += [_DECIDED] if self.result.kept else []
        self._finish("backfill")
        return self.result

    def clean(self) -> StepResult:
        """Removes the indexes, keys, copies and guards that NEW does not have. Code of NEW runs alone by now."""
        if self.transition.needs_backfill and "backfill" not in self.change.done:
            raise RefusedError(
                codes.STEP_MISSING, "the backfill is not finished", "run `prejoin evolve backfill` first"
            )
        # From now on, an item without a twin under the old key is no sign that somebody deleted it.
        self.change.is_cleaning = True
        self.hold.renew(force=True)
        self.progress.begin("removing indexes", "indexes")
        there = self._indexes()
        gone = [one.name for one in self.transition.removed if one.name in there]
        for name in gone:
            update = {"TableName": self.client.table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}
            self.client._run(_update_table(update))
        self.result.indexes = tuple(gone)
        new = self.transition.new.package.schema
        self._pair("old items", decide_at_end)
        self._settle_renames("old names", at_end=True)
        dropped, stale = self._leftovers(new)
        work = AttributeWork(self.transition, new, has_new_run=True)
        if dropped or stale or work.drops:
            self._scan("leftovers", self._drop(new, dropped, stale), work.drop)
        self._mend("verify", new, work)
        if any(finding.entity in dropped for finding in self.result.undecided):
            # Other code wrote them since an interrupted run had removed all.
            self.change.done.remove("leftovers")
            self._scan("leftovers", self._drop(new, dropped, stale), work.drop)
            self._mend("verify", new, work)
        self._finish("clean", "leftovers")
        if not self.result.undecided:
            new_version = self.transition.new
            result: Literal["applied", "taken back"] = "applied" if self.change.direction == "forward" else "taken back"
            self.record.finish(design_id(new_version), new_version.name, result)
        return self.result

    def _leftovers(self, new: Schema) -> tuple[frozenset[str], frozenset[str]]:
        """The type tags and the key attributes that only versions before NEW have, of entities that NEW has, too."""
        versions = (self.transition.old, self.transition.prepare, self.transition.switch)
        kept = {facet_tag(facet) for facet in new.facets}
        names = {name for facet in new.facets for name in new.keys(facet.slot).names}
        names |= {one.wire for entity in new.entities for one in entity.codec.attributes.values()}
        dropped: set[str] = set()
        stale: set[str] = set()
        for version in versions:
            package = version.package
            for entity, cls in package.classes.items():
                if self.transition.new.design.item(entity) is None or version.design.item(entity) is None:
                    continue
                for facet in package.schema.entity(cls).facets:
                    if facet.slot == TABLE:
                        dropped.add(facet_tag(facet))
                    else:
                        stale.update(package.schema.template_keys(facet).names)
        # Items of an entity are deleted one by one, each beside its twin.
        pairs = {tag for kind in self._kinds for tag in kind.tags}
        return frozenset(dropped - kept - pairs), frozenset(stale - names) | ({MARK} if pairs else set())

    # --- Pairs ------------------------------------------------------------------------------------------------------

    @cached_property
    def _kinds(self) -> tuple[PairKind, ...]:
        return pair_kinds(self.transition)

    def _pair(self, step: str, decision: Decision) -> None:
        """Goes through the items of entities that have two keys, again and again until nothing is left to be done."""
        kinds = {tag: kind for kind in self._kinds for tag in kind.tags}
        for number in range(_PASSES if kinds else 0):
            name = f"{step} {number + 1}"
            if name in self.change.done:
                continue
            self.progress.begin(f"{step}, pass {number + 1}", step)
            start = first = self._start(name)
            done = 0
            conflicts: dict[str, Finding] = {}
            while start != {}:
                begin = {"ExclusiveStartKey": start} if start else {}
                page = self.client.call("Scan", {"ConsistentRead": True, **begin})
                self.result.read += len(page["Items"])
                for pair in self._pairs_of(kinds, page["Items"], decision, conflicts):
                    done += self._pair_up(pair, decision, conflicts)
                start = page.get("LastEvaluatedKey") or {}
                self._save(name, start, len(page["Items"]))
                self.progress.update(f"{self.result.read:,} items read, {done:,} done")
            self._finish(name)
            # A pass that was interrupted does not know what its first part found.
            if not done and first is None:
                self.undecided_pairs = list(conflicts.values())
                break
        else:
            if kinds:
                message = f"items changed again and again during {_PASSES} passes; the table is not verified"
                fix = "run the command again, best at a time with fewer writes"
                raise RefusedError(codes.STEP_MISSING, message, fix)
        self.change.done = [one for one in self.change.done if not one.startswith(f"{step} ")]

    def _pairs_of(
        self, kinds: dict[str, PairKind], items: list[Json], decision: Decision, conflicts: dict[str, Finding]
    ) -> Iterator[Pair]:
        """The items of a page with their twins, which are read in batches.

        The twins may be old. That does no harm: all requests have the condition that both items are as they were read.
        """
        judge, type_attribute = Judge(self.client.schema), self.client.schema.type_attribute
        pairs: list[tuple[PairKind, Json, bool, Json | None]] = []
        for item in items:
            tag = item.get(type_attribute, {}).get("S", "")
            kind = kinds.get(tag)
            if kind is None:
                continue
            is_leaving = tag == kind.leaving.tag
            entity = kind.leaving if is_leaving else kind.coming
            values = kind.values(item, entity)
            if values is None:
                own_key = self.client.schema.item_key(item)
                conflicts[key_text(own_key)] = Finding("damaged", tag, own_key, item, None)
                continue
            # At the end, an item that is as it was marked is removed, whatever became of its twin.
            is_settled = decision is decide_at_end and is_leaving and kind.is_marked(item, values)
            pairs.append((kind, item, is_leaving, None if is_settled else kind.keys(values)[1 if is_leaving else 0]))
        keys = {judge.key(key): key for _, _, _, key in pairs if key is not None}
        twins = self.client._run(read_items(self.client.table, judge, list(keys.values())))
        for kind, item, is_leaving, key in pairs:
            twin = twins[judge.key(key)] if key is not None else None
            yield Pair(kind, item, twin) if is_leaving else Pair(kind, twin, item)

    def _pair_up(self, pair: Pair, decision: Decision, conflicts: dict[str, Finding]) -> int:
        """Does what is to be done with a pair. Returns 1 if something was done, or has to be tried again."""
        if pair.is_expired:
            return 0
        action = decision(*pair.states, pair.are_equal)
        if action is TwinAction.NOTHING:
            return 0
        if action in (TwinAction.CONFLICT, TwinAction.DAMAGED):
            pair = self._read_pair(pair)
            action = decision(*pair.states, pair.are_equal)
        if action in (TwinAction.CONFLICT, TwinAction.DAMAGED) or not is_comparable(pair):
            self._report_conflict(pair, conflicts)
            return 0
        actions = [
            (name, {"TableName": self.client.table, **body})
            for one in requests(pair, action)
            for name, body in one.items()
        ]
        if not actions:
            return 0
        self._wait()
        try:
            if len(actions) == 1:
                self.client.call(f"{actions[0][0]}Item", actions[0][1])
            else:
                self.client.call("TransactWriteItems", {"TransactItems": [{name: body} for name, body in actions]})
            self.result.written[action.value] += 1
        except DynamoDBError as error:
            if not reasons(error) <= {"ConditionalCheckFailed", "TransactionConflict"}:
                raise
        return 1

    def _report_conflict(self, pair: Pair, conflicts: dict[str, Finding]) -> None:
        """Reports a pair once, although each of its items is met."""
        item = pair.leaving if pair.leaving is not None else pair.coming
        assert item is not None  # one of them was met
        entity = pair.kind.leaving if pair.leaving is not None else pair.kind.coming
        key = self.client.schema.item_key(item)
        conflicts[key_text(key)] = Finding("conflict", entity.tag, key, item, pair.coming)

    def _read_pair(self, pair: Pair) -> Pair:
        """The pair, read again in one transaction."""
        values = pair.leaving_values or pair.coming_values
        if values is None:
            return pair
        gets = [{"Get": {"TableName": self.client.table, "Key": key}} for key in pair.kind.keys(values)]
        request = Request("TransactGetItems", {"TransactItems": gets}, pair.kind.leaving.tag)
        answer = self.client._run(patiently(request))
        leaving, coming = (one.get("Item") for one in answer["Responses"])
        return Pair(pair.kind, leaving, coming)

    # --- Passes -----------------------------------------------------------------------------------------------------

    def _mend(self, step: str, schema: Schema, work: AttributeWork) -> None:
        """Audits and repairs by a schema, again and again until nothing is left that can be repaired."""
        client = self._client_of(schema)
        twins = {tag for kind in self._kinds for tag in kind.tags}
        guards = guard_tags(schema)
        for number in range(_PASSES):
            name = f"{step} {number + 1}"
            if name in self.change.done:
                continue
            self.progress.begin(f"{step}, pass {number + 1}", step)
            audit = Audit(schema, client.table)
            audit.starts = [start := self._start(name)]
            self.duplicates.begin_pass()
            undecided = Undecided()
            wrong = 0
            while not audit.done:
                before = audit.count
                for finding in client._run(audit.next()):
                    if finding.entity in twins and finding.kind in _OF_TWINS:
                        continue
                    if finding.kind == "damaged" and work.is_renamed(finding.found):
                        continue
                    if finding.kind == "taken" and finding.entity in guards:
                        decision = self.duplicates.decide(client, finding)
                        if decision == "moves":
                            wrong += 1
                            self._wait()
                            if repair(client, replace(finding, kind="drifted")):
                                self.result.written["guards moved"] += 1
                            continue
                        is_decided = decision == "stays" or _DECIDED in self.change.done
                        self.duplicates.note(finding, is_decided)
                        if is_decided:
                            continue
                    if not finding.mendable:
                        undecided.add(finding)
                        continue
                    wrong += 1
                    self._wait()
                    if repair(client, finding):
                        self.result.written[finding.kind] += 1
                for item in audit.page:
                    if (item_change := work.fill(item)) is not None:
                        if (conflict := self._apply(client, item_change, item)) is not None:
                            undecided.add(conflict)
                        else:
                            wrong += 1
                    elif step == "backfill" and (unfit := work.unfit(item)) is not None:
                        undecided.add(unfit)
                self._save(name, audit.starts[0], audit.count - before)
                self.progress.update(f"{audit.count:,} items read, {wrong:,} repaired")
            self.result.read += audit.count
            self._finish(name)
            # A pass that was interrupted does not know what its first part found.
            if not wrong and start is None:
                self.duplicates.finish()
                self.result.kept = self.duplicates.kept
                self.result.undecided = [*self.undecided_pairs, *undecided.shown][:_SHOWN]
                self.result.undecided_count = len(self.undecided_pairs) + undecided.count
                break
        else:
            message = f"items changed again and again during {_PASSES} passes; the table is not verified"
            raise RefusedError(codes.STEP_MISSING, message, "run the command again, best at a time with fewer writes")
        # The next run of the step looks at the whole table again.
        self.change.done = [one for one in self.change.done if not one.startswith(f"{step} ")]

    def _settle_renames(self, step: str, at_end: bool) -> None:
        """Goes through the items with renamed attributes, again and again until nothing is left to be done."""
        if not self.transition.renamed:
            return
        work = RenameWork(self.transition, at_end=at_end)
        client = self._client_of(work.schema)
        for number in range(_PASSES):
            name = f"{step} {number + 1}"
            if name in self.change.done:
                continue
            self.progress.begin(f"{step}, pass {number + 1}", step)
            start = first = self._start(name)
            done = 0
            conflicts: list[Finding] = []
            while start != {}:
                begin = {"ExclusiveStartKey": start} if start else {}
                page = self.client.call("Scan", {"ConsistentRead": True, **begin})
                for item in page["Items"]:
                    self.result.read += 1
                    for one in work.work(item):
                        finding = self._apply(client, one, item) if isinstance(one, ItemChange) else one
                        if finding is None:
                            done += 1
                        else:
                            conflicts.append(finding)
                start = page.get("LastEvaluatedKey") or {}
                self._save(name, start, len(page["Items"]))
                self.progress.update(f"{self.result.read:,} items read, {done:,} done")
            self._finish(name)
            # A pass that was interrupted does not know what its first part found.
            if not done and first is None:
                self.undecided_pairs += conflicts
                break
        else:
            message = f"items changed again and again during {_PASSES} passes; the table is not verified"
            raise RefusedError(codes.STEP_MISSING, message, "run the command again, best at a time with fewer writes")
        self.change.done = [one for one in self.change.done if not one.startswith(f"{step} ")]

    def _apply(self, client: Client, item_change: ItemChange, item: Json) -> Finding | None:
        """Applies a change of attributes, if the item is as it was read. Returns a finding if it cannot be applied."""
        self._wait()
        try:
            if item_change.write is not None:
                client._run(write_one(client.schema, client.table, item_change.write))
            else:
                client.call("UpdateItem", item_change.parameters)
            self.result.written[item_change.kind] += 1
        except NotUnique as error:
            tag = item[client.schema.type_attribute]["S"]
            return Finding("taken", tag, self.client.schema.item_key(item), item, None, reason=str(error))
        except (ConditionFailed, Conflict):
            pass  # it was written since, or its copies are not there yet: the next pass looks at it again
        except DynamoDBError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
        return None

    def _scan(
        self,
        step: str,
        change: Callable[[Json], tuple[str, str, dict[str, Any]] | None],
        drop: Callable[[Json], ItemChange | None],
    ) -> None:
        """Applies changes to items, page by page. A change whose condition is false does nothing."""
        if step in self.change.done:
            return
        self.progress.begin(step, step)
        start = self._start(step)
        while start != {}:
            page = self.client.call("Scan", {"ConsistentRead": True} | ({"ExclusiveStartKey": start} if start else {}))
            for item in page["Items"]:
                self.result.read += 1
                if (found := change(item)) is not None:
                    what, operation, body = found
                    self._wait()
                    try:
                        self.client.call(operation, body)
                        self.result.written[what] += 1
                    except DynamoDBError as error:
                        if error.code != "ConditionalCheckFailedException":
                            raise
                if (item_change := drop(item)) is not None:
                    self._apply(self.client, item_change, item)
            start = page.get("LastEvaluatedKey") or {}
            self._save(step, start, len(page["Items"]))
            self.progress.update(f"{self.result.read:,} items read")
        self._finish(step)

    def _drop(
        self, schema: Schema, dropped: frozenset[str], stale: frozenset[str]
    ) -> Callable[[Json], tuple[str, str, dict[str, Any]] | None]:
        def change(item: Json) -> tuple[str, str, dict[str, Any]] | None:
            to = Placeholders()
            tag = item.get(schema.type_attribute, {}).get("S", "")
            if tag in dropped:
                text = {"ConditionExpression": f"{to.name(schema.type_attribute)} = {to.text(tag)}"}
                return "deleted", "DeleteItem", {"Key": schema.item_key(item), **text, **to.parameters()}
            # Items of entities that NEW does not have stay as they are.
            ours = tag in schema.by_tag or any(facet_tag(facet) == tag for facet in schema.facets)
            found = sorted(stale & item.keys()) if ours else []
            if not found:
                return None
            text = {
                "UpdateExpression": f"REMOVE {', '.join(map(to.name, found))}",
                "ConditionExpression": _exists(schema, to),
            }
            return "keys removed", "UpdateItem", {"Key": schema.item_key(item), **text, **to.parameters()}

        return change

    # --- State ------------------------------------------------------------------------------------------------------

    @property
    def change(self) -> ChangeStatus:
        assert self.record.change is not None  # until it is finished
        return self.record.change

    def _start(self, step: str) -> Json | None:
        """Where a step goes on: at the beginning, unless it was interrupted."""
        return self.change.step.position if self.change.step.name == step else None

    def _save(self, step: str, position: Json | None, read: int) -> None:
        """Saves how far a step came: after the first page of it, and then when the hold is renewed."""
        is_new = self.change.step.name != step
        began = now() if is_new else self.change.step.began
        already_read = 0 if is_new else self.change.step.read
        self.change.step = StepStatus(step, position, already_read + read, began)
        self.hold.renew(force=True)

    def _finish(self, step: str, *parts: str) -> None:
        """Records a step as finished. The next run does its parts again: items may have been written since."""
        self.change.step = StepStatus()
        is_decided = step not in ("backfill", "clean") or not self.result.undecided
        self.change.done = [one for one in self.change.done if one not in (step, *parts)]
        self.change.done += [step] if is_decided else []
        self.result.units = self.throttle.units
        self.hold.renew(force=True)

    # --- Clients ----------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Waits until the next write fits the rate, and says that this process is alive."""
        self.throttle.wait()
        self.hold.renew()

    def _client(self, version: CodeVersion) -> Client:
        return self._client_of(version.package.schema)

    def _client_of(self, schema: Schema) -> Client:
        return Client(schema, self.client.table, self.client._transport, observe=self.throttle.observe)

    def _indexes(self) -> set[str]:
        found = self.client._run(describe(self.client.table)) or {}
        return {one["IndexName"] for one in found.get("GlobalSecondaryIndexes") or ()}


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
        connect(transition.old.package.schema, name, place) as connected,
        evolution_of(transition, connected, state, rate, progress) as evolution,
    ):
        yield evolution


@contextmanager
def evolution_of(
    transition: Transition,
    connected: Client,
    state: str | Path = FOLDER,
    rate: float | None = None,
    progress: Progress = SILENT,
) -> Iterator[Evolution]:
    """A transition at work on the table of a client."""
    throttle = WriteThrottle(rate)
    client = Client(connected.schema, connected.table, connected._transport, observe=throttle.observe)
    place = record_place(client, state)
    record = place.read()
    transition = begin_change(record, transition, client)
    hold = Hold(place, record)
    evolution = Evolution(transition, client, throttle, progress, place, record, hold)
    try:
        hold.take()
        yield evolution
    except BaseException:
        hold.abandon()
        raise
    finally:
        evolution.duplicates.close()
    hold.release()


def _exists(schema: Schema, to: Placeholders) -> str:
    return f"attribute_exists({to.name(schema.keys(TABLE).names[0])})"


def _update_table(body: dict[str, Any]) -> Any:
    yield from active(body["TableName"])
    yield Request("UpdateTable", body)
    yield from active(body["TableName"])
