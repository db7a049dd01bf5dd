"""An item and the list of its children, which are of the same entity: `delete Folder; delete Folder[]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product

from tests.exam.documents import TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import Case, Exam, Plan

Change = Callable[[Item], Item | None]
"""A changed item, or None for one that is deleted."""


def _delete(item: Item) -> Item | None:
    return None


def _finish(item: Item) -> Item:
    return {**item, "state": "DONE"}


def _keep(item: Item) -> Item:
    return item


FORMS: Mapping[str, tuple[Change, Change]] = {
    "delete Folder; delete Folder[]": (_delete, _delete),
    "delete Folder[]; delete Folder": (_delete, _delete),
    "update Folder (state = DONE); update Folder[] (state = DONE)": (_finish, _finish),
    "update Folder (state = DONE); delete Folder[]": (_finish, _delete),
    "delete Folder; update Folder[] (state = DONE)": (_delete, _finish),
    "delete Folder[] by parentId": (_keep, _delete),
}
"""Rows with the input `folderId`, and what they do with the folder and with its children."""

FOLDERS: Mapping[str, Sequence[str]] = {
    "several": ("a", "a1<a", "a2<a", "a11<a1", "b", "b1<b"),
    "one": ("a<b", "a1<a", "a11<a1", "b", "b1<b"),
    "empty": ("a<b", "b", "b1<b"),
}
"""The folders of each case: their ids, and their parents after `<`."""


def _folders(texts: Sequence[str]) -> list[Item]:
    found: list[Item] = []
    for text in texts:
        name, _, parent = text.partition("<")
        found.append({"folderId": name, "state": "NEW", **({"parentId": parent} if parent else {})})
    return found


def self_references(tenancy: Tenancy, transaction: str, mutability: str, is_read: bool) -> Exam:
    folder = (
        "`folderId` (string, natural)",
        f"`parentId` (string, optional, {mutability}, → Folder)",
        "`state` (NEW | DONE, mutable)",
    )
    reads = [Read("Folder", "folderId"), *([Read("Folder", "parentId", "Collection")] if is_read else [])]
    rows: list[Row] = []
    cases: list[Case] = []
    for items, (own, children) in FORMS.items():
        is_by_parent = items.endswith("by parentId")
        if is_by_parent and not is_read:
            continue  # its index would serve the other rows, too
        name = "parentId" if is_by_parent else "folderId"
        row = Row(f"row {len(rows)}", "Folder", name, items.removesuffix(" by parentId"), "-", transaction)
        rows.append(row)
        for label, texts in FOLDERS.items():
            folders = _folders(texts)
            after: list[Item] = []
            for item in folders:
                change = own if item["folderId"] == "a" else children if item.get("parentId") == "a" else _keep
                changed = change(item)
                after += [] if changed is None else [changed]
            stored, expected = (for_tenants(tenancy, _entries(one), _entries(folders)) for one in (folders, after))
            cases.append(Case(row, label, stored, {name: "a"}, expected))
    name = f"self-references, {mutability}, {transaction}{'' if is_read else ', no read'}"
    return Exam(name, DocumentText(tenancy, [EntityText("Folder", folder)], reads, rows), cases)


def _entries(folders: Sequence[Item]) -> list[tuple[str, Item]]:
    return [("Folder", item) for item in folders]


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    found: list[Plan] = []
    for tenancy, transaction, mutability, is_read in product(
        tenancies, ("Yes", "No"), ("mutable", "immutable"), (True, False)
    ):
        name = f"{mutability}, {transaction}{'' if is_read else ', no read'}"
        found.append(Plan(name, tenancy, partial(self_references, tenancy, transaction, mutability, is_read)))
    return found
