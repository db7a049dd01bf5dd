"""Predicted units: by DynamoDB's rules from facts, by the document's figures, and as the engine counts them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.solutions import solve

from prejoin import Call as Made
from prejoin import Changes, Client, TableError
from prejoin.cases.data import DataGenerator
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.footprint import EntryWrite, PageRead, entries_of
from prejoin.design.cost.units import sum_units
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Facet,
    Item,
    ItemName,
    KeyAttribute,
    Operation,
    Projection,
    ProjectionKind,
    Request,
    Slot,
    Units,
    When,
)
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.protocol.sizes import item_size
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
EXAMPLES = ["shop", "blog", "groups", "files", "teams", "organisation"]


def example(name: str) -> Workload:
    return read_file(ROOT / "examples" / name / "access-patterns.md").workload


# --- By the rules, from what is in the table ------------------------------------------------------------------------

Items = dict[tuple[str, ...], Any]


class Table:
    """A design's table on the embedded engine, with all that is called and all that is in it."""

    def __init__(self, design: Design, workload: Workload, engine: Embedded) -> None:
        self.design = design
        self.calls: list[Made] = []
        self.package = load_package(workload, design)
        self.client = Client(self.package.schema, design.table, engine, observe=self.calls.append)
        self.client.create_table()
        self._engine = engine
        self._keys = [key.name for key in (*design.slots[0].pk, *design.slots[0].sk)]

    def items(self) -> Items:
        body = msgspec.json.encode({"TableName": self.design.table})
        found = msgspec.json.decode(self._engine.send("Scan", body))["Items"]
        return {self.key(item): item for item in found}

    def key(self, item: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(item[name]["S"] for name in self._keys)

    def touched(self, call: Made) -> list[tuple[str, ...]]:
        actions = call.request.get("TransactItems") or [{"": call.request}]
        parts = [part for action in actions for part in action.values()]
        return [self.key(part.get("Item") or part["Key"]) for part in parts]


def writes(table: Table, do: Any, *arguments: Any, **known: Any) -> Iterator[tuple[Made, list[EntryWrite]]]:
    """What a write called, and what that did to the items and their entries in the indexes."""
    before = table.items()
    table.calls.clear()
    try:
        do(*arguments, **known)
    except TableError:
        return  # a value that no key takes, or one that is taken: not what is looked at here
    after = table.items()
    sent = [c for c in table.calls if c.operation not in {"GetItem", "Query", "BatchGetItem", "TransactGetItems"}]
    if len(sent) == 1:
        entries = [
            entry
            for key in table.touched(sent[0])
            for entry in entries_of(table.design, before.get(key), after.get(key))
        ]
        yield sent[0], entries


@pytest.mark.everyday(4)
@pytest.mark.parametrize("narrow", [False, True], ids=["whole", "narrow"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_writes_cost_what_the_rules_say_for_the_items_that_are_there(name: str, narrow: bool) -> None:
    workload = example(name)
    design = solve(workload).design
    if narrow:
        keys_only = Projection(ProjectionKind.KEYS_ONLY)
        slots = tuple(s if s.name == TABLE else replace(s, projection=keys_only) for s in design.slots)
        design = replace(design, slots=slots)
    seen = list(_all_writes(design, workload))
    assert len(seen) > 20
    for call, entries in seen:
        operation = Operation("any", (Request(Call(call.operation)),))
        assert sum_units(operation, {}, {0: entries}) == Units(0, call.units)


def _all_writes(design: Design, workload: Workload) -> Iterator[tuple[Made, list[EntryWrite]]]:
    """Everything inserted, some of it changed, attribute by attribute, and deleted."""
    with Embedded() as engine:
        table = Table(design, workload, engine)
        client, names = table.client, table.package.fields
        made = DataGenerator(workload, NOW).make_all()
        for entity in workload.entities:
            cls = table.package.classes[entity.name]
            items = [{names[entity.name][k]: v for k, v in i.items() if v is not None} for i in made[entity.name]]
            for item in items:
                yield from writes(table, client.insert, cls(**item))
            base = design.item(entity.name)
            assert base is not None
            fixed = {
                a.name for a in entity.attributes if f"{{{a.name}" in "".join((*base.facets[0].pk, *base.facets[0].sk))
            }
            for item in items[:2]:
                known = {names[entity.name][n]: item[names[entity.name][n]] for n in fixed}
                for attribute in (a for a in entity.attributes if a.name not in fixed):
                    value = item.get(names[entity.name][attribute.name])
                    other = next((o.get(names[entity.name][attribute.name]) for o in items if o != item), value)
                    change = Changes({names[entity.name][attribute.name]: other if other is not None else value}, {})
                    if other is not None or value is not None:
                        yield from writes(table, client.apply, cls, change, read=True, **known)
                yield from writes(table, client.delete, cls, read=True, **known)


def test_reads_cost_by_page_or_item_and_twice_if_strong() -> None:
    def units(call: Call, *pages: PageRead, consistent: bool = False) -> float:
        operation = Operation("any", (Request(call, consistent=consistent),))
        return sum_units(operation, {0: pages}, {}).read

    assert units(Call.QUERY, PageRead(5000)) == 1.0
    assert units(Call.QUERY, PageRead(5000), consistent=True) == 2.0
    assert units(Call.BATCH_GET, PageRead(2500), PageRead(2500)) == 1.0
    assert units(Call.TRANSACT_GET, PageRead(5000)) == 4.0
    assert units(Call.GET, PageRead(0)) == 0.5, "what is not there is charged, too"
    assert units(Call.QUERY, PageRead(100, times=8)) == 4.0, "each shard rounds for itself"


# --- By the document's figures --------------------------------------------------------------------------------------

DESK = """\
# Desk

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
  - `email` (string, unique)
  - `about` (string, mutable)
- **Cardinality**: 10 total
- **Size**: 1500 B

### Order

- **Attributes**:
  - `orderId` (ulid, generated)
  - `userId` (uuid, immutable, → User)
  - `status` (OPEN | DONE, mutable)
  - `placedAt` (datetime, immutable)
  - `note` (string, mutable)
- **Cardinality**: 20 per User
- **Size**: 1200 B

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | User | By id | userId | Single | - | No | Hot | Eventual | No |
| AP-002 | User | By id, now | userId | Single | - | No | Hot | Strong | No |
| AP-003 | User | By e-mail | email | Single | - | No | Hot | Eventual | No |
| AP-004 | Order | A user's newest | userId | Collection | placedAt DESC | Yes (10) | Hot | Eventual | No |
| AP-005 | User, Order | A user with all orders | userId | Collection | - | No | Hot | Eventual | Collection |
| AP-006 | Order | Open ones of all | status | Collection | placedAt DESC | No | Cold | Eventual | No |
| AP-007 | Order | How many has a user | userId | Count | - | No | Cold | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | User | Register | userId, email, about | create User | Yes | email unique | Warm |
| AP-021 | Order | Place | orderId, userId, placedAt, note | create Order (status = OPEN) | No | - | Warm |
| AP-022 | Order | Note something | orderId, userId, placedAt, note | update Order (note) | No | - | Warm |
| AP-023 | Order | Done | orderId, userId, placedAt | update Order (status = DONE) | No | status = OPEN | Warm |
| AP-024 | User | Tell | userId, about | update User (about) | No | - | Warm |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-030 | Order | Remove | orderId, userId, placedAt, status = OPEN | delete Order | No | status = OPEN | Warm |
"""


class Desk:
    """The desk's table, with as many items as the document says, each as large as it says."""

    def __init__(self, engine: Embedded) -> None:
        self.workload = read_text(DESK, "md").workload
        self.design = solve(self.workload).design
        self.table = Table(self.design, self.workload, engine)
        self.db = self.table.client
        self.user, self.order = (self.table.package.classes[name] for name in ("User", "Order"))
        self.short = dict.fromkeys(("User", "Order"), "")
        self.short = self._missing()
        for number in range(10):
            self.db.insert(self.a_user(number))
            for one in range(20):
                self.db.insert(self.an_order(number, one))
        self.sized = {item_size(i) for i in self.table.items().values() if i["entityType"]["S"] in self.short}

    def _missing(self) -> dict[str, str]:
        """What has to be added to a text of each, so that it is as large as the document says."""
        self.db.insert(self.a_user(1))
        self.db.insert(self.an_order(1, 1))
        sizes = {item["entityType"]["S"]: item_size(item) for item in self.table.items().values()}
        self.db.delete(self.order, **self.key(self.an_order(1, 1)))
        self.db.delete(self.user, user_id=self.a_user(1).user_id, email=self.a_user(1).email)
        assert self.table.items() == {}
        return {e.name: "x" * ((e.size or 0) - sizes[e.name]) for e in self.workload.entities}

    def a_user(self, number: int) -> Any:
        return self.user(user_id=uuid.UUID(int=number, version=4), email=f"{number:05}@x.com", about=self.short["User"])

    def an_order(self, number: int, one: int) -> Any:
        return self.order(
            order_id=f"01{number:012}{one:012}",
            user_id=uuid.UUID(int=number, version=4),
            status="OPEN" if one % 2 else "DONE",
            placed_at=NOW - timedelta(hours=one),
            note=self.short["Order"],
        )

    def key(self, one: Any) -> dict[str, Any]:
        """All that identifies an order, wherever the design has put it."""
        facet = self.design.items[[i.entity for i in self.design.items].index("Order")].facets[0]
        text = "".join((*facet.pk, *facet.sk))
        fields = self.table.package.fields["Order"]
        return {fields[n]: getattr(one, fields[n]) for n in ("orderId", "userId", "placedAt") if f"{{{n}" in text}

    def run(self, id_: str) -> None:
        db, userid, other = self.db, uuid.UUID(int=3, version=4), "y" * len(self.short["Order"])
        order = self.an_order(3, 7)
        match id_:
            case "AP-001" | "AP-002":
                db.get(self.user, user_id=userid, consistent=id_ == "AP-002")
            case "AP-003":
                db.get(self.user, email="00003@x.com")
            case "AP-004":
                db.query(self.order, user_id=userid, order="-placed_at", limit=10)
            case "AP-005":
                db.collect((self.user, self.order), user_id=userid)
            case "AP-006":
                db.query(self.order, status="OPEN", order="-placed_at")
            case "AP-007":
                db.count(self.order, user_id=userid)
            case "AP-020":
                db.insert(self.a_user(99))
            case "AP-021":
                db.insert(self.an_order(3, 21))
            case "AP-022":
                db.apply(self.order, Changes({"note": other}, {}), **self.key(order))
            case "AP-023":
                whole = {n: getattr(order, n) for n in ("order_id", "user_id", "placed_at", "status")}
                db.apply(self.order, Changes({"status": "DONE"}, {}), **whole)
            case "AP-024":
                db.apply(self.user, Changes({"about": "y" * len(self.short["User"])}, {}), user_id=userid)
            case "AP-030":
                db.delete(self.order, **self.key(self.an_order(4, 7)))
            case _:
                raise AssertionError(id_)


@pytest.mark.slow
def test_with_the_document_s_sizes_and_numbers_the_engine_counts_what_was_predicted() -> None:
    with Embedded() as engine:
        desk = Desk(engine)
        assert desk.sized == {1500, 1200}
        assert all(o.served for o in desk.design.operations)
        for pattern in desk.workload.patterns:
            desk.table.calls.clear()
            desk.run(pattern.id)
            operation = desk.design.operation(pattern.id)
            assert operation is not None
            assert operation.units is not None
            consumed = sum(call.units for call in desk.table.calls)
            assert (pattern.id, operation.units.read + operation.units.write) == (pattern.id, consumed)


# --- What the figures are made of -----------------------------------------------------------------------------------


def shop(reads: str, writes: str = "", more: str = "") -> tuple[Workload, Design]:
    """Tasks of teams: a workload of these rows, solved."""
    text = f"""\
# Tasks

## Entities

### Team

- **Attributes**:
  - `teamId` (ulid, generated)
  - `name` (string, mutable)
- **Cardinality**: 100 total
- **Size**: 300 B

### Task

- **Attributes**:
  - `taskId` (ulid, generated)
  - `teamId` (ulid, immutable, → Team)
  - `state` (OPEN | DOING | DONE | DROPPED, mutable)
  - `owner` (string, optional, mutable)
  - `dueAt` (datetime, immutable)
  - `text` (string, mutable)
  - `gone` (integer, ttl)
- **Cardinality**: ~1000 per Team
- **Size**: 2 KB

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
{reads}
### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
{writes}
{more}
"""
    reading = read_text(text, "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    return reading.workload, solve(reading.workload).design


LARGE = "## Decisions\n\n- AP-001 may read several pages\n- AP-004 may read several pages"


def row(id_: str, entity: str, inputs: str, result: str = "Collection", sort: str = "-", page: str = "No") -> str:
    join = "Collection" if "," in entity else "No"
    return f"| {id_} | {entity} | Some | {inputs} | {result} | {sort} | {page} | Warm | Eventual | {join} |\n"


def write(id_: str, inputs: str, items: str, conditions: str = "-") -> str:
    return f"| {id_} | Task | Some | {inputs} | {items} | No | {conditions} | Warm |\n"


def units(design: Design, id_: str) -> Units:
    operation = design.operation(id_)
    assert operation is not None
    assert operation.served, operation.problem
    assert operation.units is not None
    return operation.units


def test_a_read_finds_as_many_as_the_cardinality_says_and_a_page_no_more_than_it_holds() -> None:
    reads = row("AP-001", "Task", "teamId", sort="dueAt ASC") + row("AP-002", "Task", "teamId", page="Yes (20)")
    reads += row("AP-003", "Task", "teamId, state") + row("AP-004", "Task", "teamId", "Count")
    _, design = shop(reads, more=LARGE)
    whole = 1000 * 2048
    assert units(design, "AP-001") == Units(-(-whole // 4096) * 0.5), "two pages, of which the first is full"
    assert units(design, "AP-002") == Units(20 * 2048 / 4096 * 0.5)
    assert units(design, "AP-003") == Units(250 * 2048 / 4096 * 0.5), "each state is as frequent as the others"
    assert units(design, "AP-004") == units(design, "AP-001"), "counting reads all the same"


def test_filtered_items_are_charged() -> None:
    reads = row("AP-001", "Task", "teamId, filter state", page="Yes (20)")
    _, design = shop(reads)
    assert units(design, "AP-001") == Units(80 * 2048 / 4096 * 0.5), "one in four is kept"


def test_a_list_of_ids_is_charged_item_by_item() -> None:
    _, design = shop(row("AP-001", "Task", "taskId[]"))
    (request,) = (design.operation("AP-001") or Operation("")).requests
    assert (request.call, request.each) == (Call.BATCH_GET, "taskId")
    assert units(design, "AP-001") == Units(10 * 0.5)


def keyed(workload: Workload, *of_tasks: Facet, projection: Projection = Projection()) -> Design:  # noqa: B008 - frozen
    """The design with these keys of a task; a team is under its id."""
    slots = [
        Slot(name, (KeyAttribute(f"{name}pk"),), (KeyAttribute(f"{name}sk"),), part)
        for name, part in ((TABLE, Projection()), ("gsi1", projection))
    ]
    team = Item("Team", "Team", (Facet(TABLE, ("TEAM#{teamId}",), ("TEAM",)),))
    return map_patterns(Design("tasks", tuple(slots), (team, Item("Task", "Task", of_tasks))), workload)


BY_ID = Facet(TABLE, ("TASK#{taskId}",), ("TASK",))


def test_shards_are_rounded_separately() -> None:
    workload, _ = shop(row("AP-001", "Task", "state = OPEN", sort="dueAt ASC", page="Yes (2)"))
    index = Facet("gsi1", ("STATE#{state}#{taskId:shard(8)}",), ("TASK#{dueAt}#{taskId}",))
    assert units(keyed(workload, BY_ID, index), "AP-001") == Units(8 * 0.5), "two tasks of each"


def test_time_buckets_are_read_until_there_are_enough_items() -> None:
    reads = row("AP-001", "Task", "dueAt last 7 days", sort="dueAt ASC")
    reads += row("AP-002", "Task", "dueAt last 7 days", sort="dueAt ASC", page="Yes (10)")
    workload, _ = shop(
        reads,
        write("AP-020", "taskId, teamId, dueAt, text", "create Task").replace("Warm", "60/h"),
        LARGE.replace("4", "2"),
    )
    design = keyed(workload, BY_ID, Facet("gsi1", ("DUE#{dueAt:day}",), ("TASK#{dueAt}#{taskId}",)))
    made = 7 * 24 * 60
    assert units(design, "AP-001") == Units(8 * -(-(made // 8) * 2048 // 4096) * 0.5), "a week touches eight days"
    assert units(design, "AP-002") == Units(10 * 2048 / 4096 * 0.5)


def test_an_item_enters_and_leaves_a_sparse_index_as_its_state_says() -> None:
    reads = row("AP-001", "Task", "taskId", "Single") + row("AP-002", "Task", "state = OPEN", sort="dueAt ASC")
    writes = write("AP-020", "taskId, teamId, dueAt, text", "create Task (state = OPEN)")
    writes += write("AP-021", "taskId, teamId, dueAt, text", "create Task (state = DONE)")
    writes += write("AP-022", "taskId", "update Task (state = DONE)", "state = OPEN")
    writes += write("AP-023", "taskId", "update Task (state = DONE)", "state = DOING")
    writes += write("AP-024", "taskId, text", "update Task (text)")
    writes += write("AP-025", "taskId", "update Task (state = DROPPED)")
    writes += write("AP-026", "taskId", "expire Task")
    workload, _ = shop(reads, writes)
    index = Facet("gsi1", ("OPEN",), ("TASK#{dueAt}#{taskId}",), (When("state", ("OPEN",)),))
    design = keyed(workload, BY_ID, index)

    def written(id_: str) -> float:
        return units(design, id_).write

    assert written("AP-020") == 2 + 2, "2 KB in the table, and in the index"
    assert written("AP-021") == 2
    assert written("AP-022") == 2 + 2, "deleted from the index"
    assert written("AP-023") == 2
    assert written("AP-024") == 2 + 2 / 4, "one in four is in the index"
    assert written("AP-025") == 2 + 2 / 4
    assert written("AP-026") == 0, "what DynamoDB removes on its own is free"


def test_a_narrow_index_is_not_written_for_what_it_does_not_hold() -> None:
    reads = row("AP-001", "Task", "taskId", "Single") + row("AP-002", "Task", "teamId", "Collection (state)")
    writes = write("AP-020", "taskId, text", "update Task (text)")
    writes += write("AP-021", "taskId, state", "update Task (state)")
    workload, _ = shop(reads, writes)
    index = Facet("gsi1", ("TEAM#{teamId}",), ("TASK#{taskId}",))
    whole = keyed(workload, BY_ID, index)
    part = keyed(workload, BY_ID, index, projection=Projection(ProjectionKind.INCLUDE, ("entityType", "gone", "state")))
    # Without the TTL attribute, the index does not tell which items have expired.
    blind = keyed(workload, BY_ID, index, projection=Projection(ProjectionKind.INCLUDE, ("entityType", "state")))
    served = [one.served for one in blind.operations if one.pattern == "AP-002"]
    assert served == [False]
    assert [units(whole, id_).write for id_ in ("AP-020", "AP-021")] == [4, 4]
    assert [units(part, id_).write for id_ in ("AP-020", "AP-021")] == [2, 3], "an entry is smaller than 1 KB"
    assert Estimates(part, workload).size(ItemName("Task"), "gsi1") < 300
    assert units(part, "AP-002").read < units(whole, "AP-002").read / 8


def test_an_update_of_a_copy_s_key_deletes_and_puts_it() -> None:
    writes = write("AP-020", "taskId, state, dueAt", "update Task (state)")
    writes += write("AP-021", "taskId, state, dueAt, text", "update Task (text)")
    workload, _ = shop(row("AP-001", "Task", "taskId", "Single"), writes)
    design = keyed(workload, BY_ID)
    copy = Item("Task", "Task.by", (Facet(TABLE, ("STATE#{state}",), ("{dueAt}#{taskId}",)),), "by", ("dueAt",))
    design = map_patterns(replace(design, items=(*design.items, copy)), workload)
    assert units(design, "AP-020").write == 4 + 2 + 2, "the item of 2 KB, and two small ones, in a transaction"
    assert units(design, "AP-021").write == 2, "the copy does not hold it"
