"""An entity gets another name in the document: its items, guards, copies and versions stay, and both names find them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from prejoin import (
    Client,
    Embedded,
    InputError,
    NotUnique,
    delete_large,
    history,
    read_large,
    refresh,
    write_large,
)
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Facet, design_with_names
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.items import Evolution, evolution_of
from prejoin.migrate.evolve.plan import steps_of, write_steps
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition
from prejoin.patterns.integrity.audit import audit
from prejoin.pipeline.design.design_table import design_table
from prejoin.workload.document.read_document import read_document
from tests.migrate.evolve.application import Application
from tests.migrate.evolve.shop import COPIED, FEW, MANY, MOVED, NAMES, NEW, OLD, ORDER, USER, in_new_names, version
from tests.migrate.evolve.test_while_in_use import NOON, Worker, evolve

DESIGNS = {"few": (OLD, FEW), "many": (NEW, MANY), "copied": (NEW, COPIED), "moved": (OLD, MOVED)}
CHANGES = [
    ("few", "few"),
    ("few", "many"),
    ("many", "few"),
    ("many", "copied"),
    ("copied", "many"),
    ("few", "moved"),
    ("moved", "few"),
]
"""A rename alone, and together with every other change."""


def renamed(name: str, design: str, names: dict[str, str] = NAMES) -> CodeVersion:
    text, keys = DESIGNS[design]
    return version(name, in_new_names(text, names), design_with_names(keys, names))


def as_it_was(name: str, design: str) -> CodeVersion:
    return version(name, *DESIGNS[design])


class ShopOfBoth(Application):
    """The application in versions that name their entities differently."""

    def _call(self, package: Any, client: Client, pattern: str, values: dict[str, Any]) -> Any:
        method = package.methods[pattern]
        arguments = {}
        for param in method.params:
            for was, now in NAMES.items():
                if param.name in (was.lower(), now.lower()):
                    cls = package.classes.get(was) or package.classes[now]
                    arguments[param.name] = cls(**values)
            if param.name in values:
                arguments[param.name] = values[param.name]
        return package.call(client, method, arguments)


def tables(client: Client) -> list[dict[str, Any]]:
    """All items but the state of the table."""
    items = client.call("Scan")["Items"]
    return sorted((one for one in items if one["entityType"]["S"] != "prejoin.state"), key=repr)


@pytest.mark.parametrize("direction", ["forward", "back"])
@pytest.mark.parametrize(("was", "now"), CHANGES)
def test_every_version_finds_every_item(was: str, now: str, direction: str, tmp_path: Path) -> None:
    old, new = as_it_was("OLD", was), renamed("NEW", now)
    if direction == "back":
        old, new = renamed("OLD", was), as_it_was("NEW", now)
    transition = plan_transition(old, new)
    application = ShopOfBoth(Embedded(), seed=1)
    worker = Worker(application, tmp_path)
    result = evolve(transition, application, worker)
    assert result.undecided == []
    assert application.checked > 150
    client = Client(transition.new.package.schema, "shop", application.engine)
    assert list(audit(client)) == []
    assert client.drift() == []


# --- What is stored beside an item ----------------------------------------------------------------------------------

LIBRARY = """# Library

## Context

- **Tenant**: townId

## Entities

### Town

- `townId` (string, natural)
- `title` (string, mutable)

### Book

- `bookId` (string, natural)
- `isbn` (string, mutable, unique)
- `title` (string, mutable)
- `state` (NEW | OLD, mutable)
- `body` (content, optional)
- `version` (integer, mutable)
- **History**: 5 versions

### Note

- `noteId` (string, natural)
- `bookId` (string, → Book)
- `bookTitle` (string, mutable, follows Book.title)
- `text` (string)
- `expiresAt` (datetime, optional, ttl)

### Shelf

- `shelfId` (string, natural)
- `views` (integer, mutable, default=0)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Book | Get book | bookId | Single | - | 10/s |
| AP-002 | Book | By isbn | isbn | Single | - | 10/s |
| AP-003 | Book | By state | state | Collection | title | 10/s |
| AP-004 | Note | Notes of book | bookId | Collection | noteId | 10/s |
| AP-006 | Shelf | Get shelf | shelfId | Single | - | 10/s |
| AP-005 | Town | Get town | - | Single | - | 10/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Book | Add book | bookId, isbn, title, state | create Book | - | 1/s |
| AP-011 | Book | Change isbn | bookId, isbn | update Book (isbn) | - | 1/s |
| AP-012 | Book | Change state | bookId, state | update Book (state) | - | 1/s |
| AP-013 | Shelf | Look at | shelfId | update Shelf (views += 1) | - | 3000/s |
| AP-016 | Shelf | Add shelf | shelfId | create Shelf | - | 1/s |
| AP-014 | Note | Add note | noteId, bookId, bookTitle, text | create Note | Book.title = bookTitle | 1/s |
| AP-015 | Town | Add town | title | create Town | - | 1/s |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Book | Remove | bookId | delete Book | 1/s |

## Decisions

- Shelf.views in 4 shards
"""


LIBRARY_NAMES = {"Book": "Volume", "Note": "Remark", "Shelf": "Rack"}


@cache
def library(name: str, has_new_names: bool) -> CodeVersion:
    workload = read_document(LIBRARY).workload
    design = design_table(workload, prove=False).design
    if has_new_names:
        workload = read_document(in_library_names()).workload
        design = design_table(workload, keep=design, prove=False).design
    return CodeVersion(name, workload, map_patterns(design, workload))


def in_library_names() -> str:
    text = in_new_names(LIBRARY, LIBRARY_NAMES)
    for was, now in LIBRARY_NAMES.items():
        text = text.replace(f"{was}.", f"{now}.")
    return text


class Town:
    """The code of one version, for one tenant."""

    def __init__(self, version: CodeVersion, engine: Embedded, town: str = "t1") -> None:
        self.version, self.town = version, town
        self.client = Client(version.package.schema, "library", engine)
        self.own = self.client.tenant(town)

    def cls(self, entity: str) -> Any:
        classes = self.version.package.classes
        return classes.get(entity) or classes[LIBRARY_NAMES[entity]]

    def add(self, entity: str, **values: Any) -> None:
        self.own.insert(self.cls(entity)(town_id=self.town, **values))

    def book(self, number: str, isbn: str) -> None:
        self.add("Book", book_id=number, isbn=isbn, title=f"T{number}", state="NEW", version=0)

    def call(self, pattern: str, **arguments: Any) -> Any:
        package = self.version.package
        return package.call(self.client, package.methods[pattern], arguments, self.town)


def unique_value(one: Town, other: Town) -> None:
    one.book("b1", "i1")
    with pytest.raises(NotUnique):
        other.book("b2", "i1")
    other.call("AP-011", book_id="b1", isbn="i2")
    one.book("b2", "i1")
    with pytest.raises(NotUnique):
        one.call("AP-011", book_id="b2", isbn="i2")
    other.call("AP-020", book_id="b1")
    one.book("b3", "i2")


def earlier_versions(one: Town, other: Town) -> None:
    one.book("b1", "i1")
    for town, state in ((other, "OLD"), (one, "NEW"), (other, "OLD")):
        town.call("AP-012", book_id="b1", state=state)
    for town in (one, other):
        versions = list(history(town.own, town.cls("Book"), book_id="b1"))
        assert [book.state for book in versions][-3:] in (["NEW", "OLD", "NEW"], ["OLD", "NEW", "OLD"])
        assert len(versions) >= 3


def large_content(one: Town, other: Town) -> None:
    one.book("b1", "i1")
    for town, data in ((one, b"a" * 900_000), (other, b"b" * 900_000)):
        write_large(town.own, town.cls("Book"), "body", data, book_id="b1")
        for reader in (one, other):
            assert read_large(reader.own, reader.call("AP-001", book_id="b1"), "body") == data
    assert delete_large(other.own, other.cls("Book"), book_id="b1")
    assert one.call("AP-001", book_id="b1") is None


def sharded_counter(one: Town, other: Town) -> None:
    one.add("Shelf", shelf_id="s1")
    for _ in range(9):
        one.call("AP-013", shelf_id="s1")
        other.call("AP-013", shelf_id="s1")
    assert one.call("AP-006", shelf_id="s1").views == other.call("AP-006", shelf_id="s1").views == 18


def followed_attribute(one: Town, other: Town) -> None:
    one.book("b1", "i1")
    other.add("Note", note_id="n1", book_id="b1", book_title="Tb1", text="x")
    one.add("Note", note_id="n2", book_id="b1", book_title="Tb1", text="x")
    with other.own.update(other.cls("Book"), book_id="b1", read=True) as book:
        book.title = "new"
    refresh(one.own, one.cls("Book"), book_id="b1")
    for town in (one, other):
        assert [note.book_title for note in town.call("AP-004", book_id="b1").items] == ["new", "new"]


def expiry(one: Town, other: Town) -> None:
    end = datetime(2020, 1, 1, tzinfo=UTC)
    one.add("Note", note_id="n1", book_id="b1", book_title="t", text="x", expires_at=end)
    other.add("Note", note_id="n2", book_id="b1", book_title="t", text="x", expires_at=None)
    for town in (one, other):
        assert [note.note_id for note in town.call("AP-004", book_id="b1").items] == ["n2"]


def index(one: Town, other: Town) -> None:
    one.book("b1", "i1")
    other.book("b2", "i2")
    one.call("AP-012", book_id="b2", state="OLD")
    for town in (one, other):
        assert [book.book_id for book in town.call("AP-003", state="OLD").items] == ["b2"]


CONSTRUCTS = [unique_value, earlier_versions, large_content, sharded_counter, followed_attribute, expiry, index]


@pytest.mark.parametrize("first", ["OLD", "NEW"])
@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda one: one.__name__)
def test_stored_form_does_not_depend_on_the_name(construct: Any, first: str, tmp_path: Path) -> None:
    """Code with both names runs side by side; then the change is finished, or taken back."""
    old, new = library("OLD", False), library("NEW", True)
    transition = plan_transition(old, new)
    assert [step.kind for step in steps_of(transition)] == ["deploy", "clean"]
    engine = Embedded()
    client = Client(old.package.schema, "library", engine)
    client.create_table()
    bystander = Town(old, engine, "t2")
    bystander.book("b1", "i1")
    before = [one for one in tables(client) if "t2" in repr(one)]
    construct(*(Town(one, engine) for one in ((old, new) if first == "OLD" else (new, old))))
    items = tables(client)
    assert not any(name in repr(items) for name in LIBRARY_NAMES.values())
    if first == "OLD":
        with evolution_of(transition, client, state=tmp_path) as evolution:
            assert evolution.clean().undecided == []
    else:
        with evolution_of(transition, client, state=tmp_path):
            pass
        abort_on(client, transition, tmp_path)
    assert tables(client) == items
    assert [one for one in tables(client) if "t2" in repr(one)] == before
    for one in (old, new):
        assert list(audit(Client(one.package.schema, "library", engine))) == []


def test_design_that_keeps_another_one_keeps_keys_and_types() -> None:
    before, after = library("OLD", False).design, library("NEW", True).design
    assert [(one.tag, one.facets) for one in after.items] == [(one.tag, one.facets) for one in before.items]
    renamed_design = design_with_names(before, LIBRARY_NAMES)
    assert (renamed_design.guards, renamed_design.counters) == (after.guards, after.counters)


def test_new_entity_with_the_former_name_gets_another_type_and_key() -> None:
    new = library("NEW", True)
    text = in_library_names()
    for was in LIBRARY_NAMES:
        text = text.replace(f"- **Renamed from**: {was}\n", "")
    text = text.replace("### Town\n", "### Shelf\n\n- `shelfId` (string, natural)\n\n### Town\n")
    text = text.replace("| AP-005 |", "| AP-007 | Shelf | Get the new one | shelfId | Single | - | 10/s |\n| AP-005 |")
    design = design_table(read_document(text).workload, keep=new.design, prove=False).design
    rack, shelf = design.item("Rack"), design.item("Shelf")
    assert rack is not None
    assert shelf is not None
    assert (rack.tag, shelf.tag) == ("Shelf", "Shelf2")
    assert (rack.facets[0].pk, shelf.facets[0].pk) == (
        ("TENANT#{townId}#SHELF#{shelfId}",),
        ("TENANT#{townId}#SHELF2#{shelfId}",),
    )


def test_plan_says_that_items_stay_and_writes_all_files(tmp_path: Path) -> None:
    transition = plan_transition(as_it_was("OLD", "few"), renamed("NEW", "many"))
    assert "User becomes Customer: its items stay as they are" in transition.notes
    assert not any("NEW does not read them" in note for note in transition.notes)
    written = " ".join(write_steps(transition, tmp_path))
    assert "prepare" in written
    prepare = next(tmp_path.glob("*-prepare/*/entities.py")).read_text()
    assert "class User" in prepare
    assert "class Customer" not in prepare
    assert "class Customer" in next(tmp_path.glob("*-NEW/*/entities.py")).read_text()


def test_entity_without_the_line_is_told_how_to_say_it() -> None:
    text = in_new_names(OLD, {"User": "Customer"}).replace("- **Renamed from**: User\n", "")
    names = {"User": "Customer"}
    with pytest.raises(InputError, match=r"write `- \*\*Renamed from\*\*: User` below `### Customer`"):
        plan_transition(as_it_was("OLD", "few"), version("NEW", text, design_with_names(FEW, names)))
    other_type = replace(
        FEW, items=(replace(USER, tag="Customer", facets=(Facet(TABLE, ("C#{userId}",), ("C",)),)), ORDER)
    )
    transition = plan_transition(as_it_was("OLD", "few"), version("NEW", text, design_with_names(other_type, names)))
    assert any("write `- **Renamed from**: User`" in note for note in transition.notes)


def test_other_type_with_the_same_key_is_refused() -> None:
    changed = renamed("NEW", "few")
    items = tuple(replace(item, tag=item.entity) for item in changed.design.items)
    with pytest.raises(InputError, match="keep the type"):
        plan_transition(
            as_it_was("OLD", "few"), CodeVersion("NEW", changed.workload, replace(changed.design, items=items))
        )


def test_renamed_tenant_stays_the_tenant() -> None:
    old = library("OLD", False)
    text = LIBRARY.replace("### Town\n", "### City\n\n- **Renamed from**: Town\n").replace("| Town |", "| City |")
    text = text.replace("create Town ", "create City ")
    workload = read_document(text).workload
    design = design_with_names(old.design, {"Town": "City"})
    with pytest.raises(InputError, match="City is the entity of the tenants in OLD"):
        plan_transition(old, CodeVersion("NEW", workload, map_patterns(design, workload)))
    workload = read_document(text.replace("**Tenant**: townId", "**Tenant**: townId → City")).workload
    transition = plan_transition(old, CodeVersion("NEW", workload, map_patterns(design, workload)))
    assert [step.kind for step in steps_of(transition)] == ["deploy", "clean"]


def test_entity_and_member_are_renamed_at_once(tmp_path: Path) -> None:
    """Both in one change, with code of all versions."""
    names = {"User": "Customer", "Order": "Purchase"}
    old = version("OLD", OLD, FEW)
    text = in_new_names(OLD, names).replace("OPEN | PAID | SENT", "OPEN | PAID | SHIPPED renamed from SENT")
    transition = plan_transition(old, version("NEW", text, design_with_names(FEW, names)))
    engine = Embedded()
    Client(old.package.schema, "shop", engine).create_table()

    def order(number: int, one: CodeVersion, state: str) -> None:
        values = {"orderId": f"o{number}", "userId": "u", "placedAt": NOON, "status": state, "total": 1}
        entity = "Order" if "Order" in one.package.classes else "Purchase"
        Client(one.package.schema, "shop", engine).insert(one.package.record(entity, values))

    def states(one: CodeVersion) -> list[str]:
        cls = one.package.classes.get("Order") or one.package.classes["Purchase"]
        client = Client(one.package.schema, "shop", engine)
        return [client.get(cls, order_id=f"o{number}").status for number in range(3)]

    order(0, old, "SENT")
    order(1, transition.prepare, "SENT")
    order(2, transition.switch, "SHIPPED")
    assert states(transition.prepare) == ["SENT"] * 3
    assert states(transition.switch) == ["SHIPPED"] * 3
    for step in (Evolution.backfill, Evolution.clean):
        client = Client(old.package.schema, "shop", engine)
        with evolution_of(transition, client, state=tmp_path) as evolution:
            assert step(evolution).undecided == []
    assert states(transition.new) == ["SHIPPED"] * 3
    back = plan_transition(transition.new, old)
    for step in (Evolution.backfill, Evolution.clean):
        with evolution_of(back, client, state=tmp_path) as evolution:
            assert step(evolution).undecided == []
    assert states(old) == ["SENT"] * 3
