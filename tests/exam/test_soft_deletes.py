"""Soft delete crossed with other constructs: each verb on one item, with neighbours of another parent and tenant.

An oracle without any code of ours says what the table has to hold: a delete changes the item and its copies in the mark,
a restore takes that back, and a purge leaves nothing of the item. The items of all neighbours stay as they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from tests.solutions import solve

from prejoin import Client, ConditionFailed, Embedded, NotUnique, TransactionCancelled, purge, restore
from prejoin.design.checks import check_design
from prejoin.diagnostics import Severity
from prejoin.proof.package import load_package
from prejoin.workload.files import read_text

DOCUMENT = """# Files
{context}
## Entities

### Folder

- **Attributes**:
  - `folderId` (string, id)
  - `title` (string, mutable)
- **Cardinality**: ~50 total

### File

- **Attributes**:
  - `folderId` (string, id, → Folder)
  - `fileId` (string, id)
  - `slug` (string, {unique}mutable)
  - `state` (DRAFT | SHOWN, mutable)
  - `deletedAt` (datetime, optional, mutable)
{attributes}- **Relationships**:
  - Folder 1:N File via folderId
- **Cardinality**: ~5 per Folder
- **Soft delete**: deletedAt{released}
{lines}
{decisions}
## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | File | A file | folderId, fileId | Single |
| AP-002 | File | The files of a folder | folderId | Collection |
| AP-003 | File | The files in a state | state | Collection |
| AP-004 | File | How many a folder has | folderId | Count |
| AP-005 | Folder | A folder | folderId | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Folder | Open a folder | Folder | create Folder | No |
| AP-011 | File | Add a file | File | create File | Yes |
| AP-012 | File | Show a file | folderId, fileId | update File (state = SHOWN) | Yes |
{counting}
### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Transaction |
| --- | --- | --- | --- | --- | --- |
| AP-020 | File | Delete a file | folderId, fileId | delete File | Yes |
| AP-021 | File | Delete all of a folder | folderId | delete File[] | No |
"""


@dataclass(frozen=True, slots=True)
class Crossing:
    """The constructs that a soft delete is crossed with."""

    uniqueness: str = "not unique"
    """Or: `stay taken`, `are released`."""
    is_tenanted: bool = False
    has_history: bool = False
    has_copies: bool = False
    extra: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        flags = {"tenant": self.is_tenanted, "history": self.has_history, "copies": self.has_copies}
        return " ".join([self.uniqueness, *(name for name, is_set in flags.items() if is_set)])

    @property
    def text(self) -> str:
        is_released = self.uniqueness == "are released"
        parts = {
            "context": "\n## Context\n\n- **Tenant**: orgId\n" if self.is_tenanted else "",
            "unique": "" if self.uniqueness == "not unique" else "unique, ",
            "released": ", unique values are released" if is_released else "",
            "attributes": "  - `version` (integer, mutable)\n" if self.has_history else "",
            "lines": "- **History**: 3 versions\n" if self.has_history else "",
            "decisions": "## Decisions\n\n- at most 0 GSIs\n" if self.has_copies else "",
            "counting": "",
        }
        return DOCUMENT.format(**parts | self.extra)


CROSSINGS = [
    Crossing(uniqueness, *flags)
    for uniqueness in ("not unique", "stay taken", "are released")
    for flags in product((False, True), repeat=3)
]
Dump = dict[str, dict[str, Any]]
NEIGHBOURS = [("acme", "f1", "b"), ("acme", "f2", "a"), ("zeta", "f1", "a"), ("zeta", "f2", "b")]
"""The tenant, folder and file of each neighbour. Without tenants, those of the first only."""
TARGET = ("acme", "f1", "a")


class Shelf:
    """The generated package on a table with one file that is written, and its neighbours."""

    def __init__(self, crossing: Crossing) -> None:
        reading = read_text(crossing.text, "md")
        assert [one for one in reading.diagnostics if one.severity is Severity.ERROR] == []
        design = solve(reading.workload).design
        self.crossing = crossing
        self.has_copies = any(item.copy for item in design.items)
        self.package = load_package(reading.workload, design)
        self.db = Client(self.package.schema, design.table, Embedded())
        self.db.create_table()
        self.neighbours = [one for one in NEIGHBOURS if crossing.is_tenanted or one[0] == "acme"]
        for tenant, folder in sorted({one[:2] for one in (*self.neighbours, TARGET)}):
            self.call("AP-010", tenant, folder=self.record("Folder", tenant, folderId=folder, title="t"))
        for tenant, folder, file in (*self.neighbours, TARGET):
            self.add(tenant, folder, file)

    def record(self, entity: str, tenant: str, **values: Any) -> Any:
        owner = {"orgId": tenant} if self.crossing.is_tenanted else {}
        return self.package.record(entity, {**owner, **values})

    def add(self, tenant: str, folder: str, file: str, slug: str = "") -> None:
        version = {"version": 0} if self.crossing.has_history else {}
        values = {"folderId": folder, "fileId": file, "slug": slug or f"{tenant}-{folder}-{file}", "state": "DRAFT"}
        self.call("AP-011", tenant, file=self.record("File", tenant, **values, **version))

    def call(self, pattern: str, tenant: str, **arguments: Any) -> Any:
        owner = tenant if self.crossing.is_tenanted else None
        return self.package.call(self.db, self.package.methods[pattern], arguments, owner)

    def apply(self, verb: str) -> None:
        """Does a verb to the target."""
        tenant, folder, file = TARGET
        owner = {"org_id": tenant} if self.crossing.is_tenanted else {}
        key = {"folder_id": folder, "file_id": file}
        match verb:
            case "delete":
                self.call("AP-020", tenant, **key)
            case "update":
                self.call("AP-012", tenant, **key)
            case "restore":
                restore(self.db, self.package.classes["File"], **owner, **key)
            case "purge":
                purge(self.db, self.package.classes["File"], **owner, **key)
            case "create":
                self.add(*TARGET)
            case _:
                raise AssertionError(verb)

    def dump(self) -> Dump:
        """All items of the table by their keys."""
        items = self.db.call("Scan")["Items"]
        return {json.dumps([item["pk"], item["sk"]]): item for item in items}

    def listed(self) -> set[tuple[str, str, str]]:
        """The files that the reads return, which have to agree."""
        tenants = ("acme", "zeta") if self.crossing.is_tenanted else ("acme",)
        found: set[tuple[str, str, str]] = set()
        for tenant, folder in product(tenants, ("f1", "f2")):
            if not any(one[:2] == (tenant, folder) for one in (*self.neighbours, TARGET)):
                continue
            files = {one.file_id for one in self.call("AP-002", tenant, folder_id=folder)}
            assert self.call("AP-004", tenant, folder_id=folder) == len(files)
            for file in ("a", "b"):
                single = self.call("AP-001", tenant, folder_id=folder, file_id=file)
                assert (single is not None) is (file in files)
            found |= {(tenant, folder, file) for file in files}
        for tenant in tenants:
            states = [one for state in ("DRAFT", "SHOWN") for one in self.call("AP-003", tenant, state=state)]
            by_state = sorted((one.folder_id, one.file_id) for one in states)
            assert by_state == sorted(one[1:] for one in found if one[0] == tenant)
        return found


def of_target(dump: Dump) -> Dump:
    """The items that are of the target: they name it in their attributes, their owner or their versions."""
    slug = "-".join(TARGET)
    return {key: item for key, item in dump.items() if slug in json.dumps(item)}


def current(dump: Dump) -> Dump:
    """The items without the versions that are kept, and without the number of the current one."""
    return {
        key: {name: value for name, value in item.items() if name not in ("version", "deletedAt")}
        for key, item in dump.items()
        if "object" not in item
    }


REFUSED = (ConditionFailed, TransactionCancelled, NotUnique)
STEPS = {
    # What a verb needs, and what it leaves: a file that is there, deleted, or gone.
    "there": {"update": "there", "delete": "deleted"},
    "deleted": {"restore": "there", "purge": "gone"},
    "gone": {"create": "there"},
}


@pytest.mark.everyday(6)
@pytest.mark.parametrize("crossing", CROSSINGS, ids=str)
def test_each_verb_changes_only_its_item(crossing: Crossing) -> None:
    """From each state, each verb is done or refused; the neighbours keep all their items, byte for byte."""
    routes = {"there": (), "deleted": ("delete",), "gone": ("delete", "purge")}
    verbs = ("update", "delete", "restore", "purge", "create")
    for (state, route), verb in product(routes.items(), verbs):
        shelf = Shelf(crossing)
        assert shelf.has_copies is crossing.has_copies
        fresh = shelf.dump()
        beside = {key: item for key, item in fresh.items() if key not in of_target(fresh)}
        for step in route:
            shelf.apply(step)
        before = shelf.dump()
        after_state = STEPS[state].get(verb, "")
        if after_state:
            shelf.apply(verb)
        else:
            with pytest.raises(REFUSED):
                shelf.apply(verb)
            assert shelf.dump() == before, (state, verb)
        after = shelf.dump()
        assert {key: item for key, item in after.items() if key in beside} == beside, (state, verb)
        is_there = (after_state or state) == "there"
        assert shelf.listed() == {*shelf.neighbours, *([TARGET] if is_there else [])}, (state, verb)
        own, usual = current(of_target(after)), current(of_target(fresh))
        match after_state or state:
            case "there" if verb != "update":
                assert own == usual, (state, verb)
            case "gone":
                assert own == {}, (state, verb)
            case "deleted":
                guards = {key for key, item in usual.items() if "owner" in item}
                is_released = crossing.uniqueness == "are released"
                assert own.keys() == usual.keys() - (guards if is_released else set()), (state, verb)
            case _:
                pass


@pytest.mark.everyday(2)
@pytest.mark.parametrize("crossing", [one for one in CROSSINGS if one.uniqueness != "not unique"], ids=str)
def test_a_value_is_free_for_others_only_if_it_is_released_or_purged(crossing: Crossing) -> None:
    is_released = crossing.uniqueness == "are released"
    for verbs in (("delete",), ("delete", "purge"), ("delete", "restore")):
        shelf, slug = Shelf(crossing), "-".join(TARGET)
        for verb in verbs:
            shelf.apply(verb)
        is_free = verbs[-1] == "purge" or (verbs[-1] == "delete" and is_released)
        if not is_free:
            with pytest.raises(REFUSED):
                shelf.add("acme", "f2", "new", slug)
            continue
        shelf.add("acme", "f2", "new", slug)
        if verbs[-1] == "delete":
            before = shelf.dump()
            with pytest.raises(REFUSED):
                shelf.apply("restore")  # another has the value
            assert shelf.dump() == before
            shelf.apply("purge")  # and keeps it
            with pytest.raises(REFUSED):
                shelf.add("acme", "f1", "third", slug)


@pytest.mark.everyday(2)
@pytest.mark.parametrize("crossing", CROSSINGS, ids=str)
def test_a_delete_of_all_of_a_folder_hides_those_only(crossing: Crossing) -> None:
    shelf = Shelf(crossing)
    before = shelf.dump()
    shelf.call("AP-021", "acme", folder_id="f1")
    assert shelf.listed() == {one for one in shelf.neighbours if one[:2] != ("acme", "f1")}
    kept = {key: item for key, item in before.items() if "acme-f1-" not in json.dumps(item)}
    after = shelf.dump()
    assert {key: item for key, item in after.items() if key in kept} == kept
    shelf.apply("restore")
    assert shelf.listed() == {TARGET, *(one for one in shelf.neighbours if one[:2] != ("acme", "f1"))}


CONTENT = {"attributes": "  - `page` (content, mutable)\n"}
COUNTER = {
    "attributes": "  - `views` (integer, mutable)\n",
    "decisions": "## Decisions\n\n- File.views in 4 shards\n",
    "counting": "| AP-013 | File | View a file | folderId, fileId | update File (views += 1) | No |\n",
}


def test_a_large_content_is_refused_beside_a_soft_delete() -> None:
    diagnostics = read_text(Crossing(extra=CONTENT).text, "md").diagnostics
    (error,) = [one for one in diagnostics if one.severity is Severity.ERROR]
    assert "is a large content" in error.message
    assert "remove the soft delete" in error.fix


def test_a_sharded_counter_beside_a_soft_delete_is_a_plain_number_and_the_design_says_why() -> None:
    workload = read_text(Crossing(extra=COUNTER).text, "md").workload
    design = solve(workload).design
    assert design.counters == ()
    messages = [one.message for one in check_design(design, workload)]
    assert [one for one in messages if "has no effect: a File is only hidden by its delete" in one]
