"""What `clean` deletes by the type of an item is made from other items. Originals stay, also those NEW does not know."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from prejoin import Client, Embedded, write_large
from prejoin.design.model import TABLE, Design, Facet, Guard, Item
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.leftovers import leftover_tags
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition
from prejoin.pipeline.errors import InputError
from tests.migrate.evolve.shop import _TABLE, version

_DOCUMENT = """# Wiki

## Entities

### Page

- `pageId` (string, id)
- `text` (string, mutable)
{more}
{other}
## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Page | Get page | pageId | Single | - | 10/s |
"""
_OTHER = "### Other\n\n- `otherId` (string, id)\n"
_PAGE = Item("Page", "Page", (Facet(TABLE, ("PAGE#{pageId}",), ("PAGE",)),))
_COPY = Item("Page", "Page.by-text", (Facet(TABLE, ("TEXT#{text}",), ("PAGE#{pageId}",)),), "by-text")
_LATER = Item("Other", "Other", (Facet(TABLE, ("OTHER#{otherId}",), ("OTHER",)),))
_VERSION = "- `version` (integer, mutable)\n"


def wiki(name: str, more: str = "", *items: Item, guards: tuple[Guard, ...] = ()) -> CodeVersion:
    has_other = any(item.entity == "Other" for item in items)
    text = _DOCUMENT.format(more=more, other=_OTHER if has_other else "")
    return version(name, text, Design("wiki", (_TABLE,), (_PAGE, *items), guards))


def add_versions(client: Client, old: CodeVersion) -> None:
    client.insert(old.package.record("Page", {"pageId": "1", "text": "a", "version": 0}))
    for text in ("b", "c"):
        with client.update(old.package.classes["Page"], page_id="1", read=True) as page:
            page.text = text


def add_content(client: Client, old: CodeVersion) -> None:
    client.insert(old.package.record("Page", {"pageId": "1", "text": "a"}))
    write_large(client, old.package.classes["Page"], "body", os.urandom(300_000), page_id="1")


def add_other(client: Client, old: CodeVersion) -> None:
    client.insert(old.package.record("Page", {"pageId": "1", "text": "a"}))
    client.insert(old.package.record("Other", {"otherId": "1"}))


CASES = {
    "history": (
        wiki("OLD", f"{_VERSION}- **History**: all versions\n"),
        wiki("NEW", _VERSION),
        add_versions,
        "Page history",
    ),
    "content": (wiki("OLD", "- `body` (content, optional, mutable)\n"), wiki("NEW"), add_content, "Page part body"),
    "entity": (wiki("OLD", "", _LATER), wiki("NEW"), add_other, "Other"),
}


@pytest.mark.parametrize("case", CASES)
def test_originals_that_new_does_not_know_stay(case: str, tmp_path: Path) -> None:
    old, new, fill, tag = CASES[case]
    client, result = changed(old, new, fill, tmp_path)
    assert result.undecided == []
    assert tag in {item["entityType"]["S"] for item in client.call("Scan")["Items"]}
    transition = plan_transition(old, new)
    assert leftover_tags(transition) == frozenset()
    assert any("stay" in note for note in transition.notes)


def test_copies_and_guards_are_deleted(tmp_path: Path) -> None:
    old = wiki("OLD", "", _COPY, guards=(Guard("Page", ("text",)),))

    def fill(client: Client, old: CodeVersion) -> None:
        client.insert(old.package.record("Page", {"pageId": "1", "text": "a"}))

    client, result = changed(old, wiki("NEW"), fill, tmp_path)
    assert result.written["deleted"] == 2
    assert {item["entityType"]["S"] for item in client.call("Scan")["Items"]} == {"Page", "prejoin.state"}


def test_an_entity_with_the_type_of_a_dropped_copy_is_refused() -> None:
    """Code between the designs could not tell their items apart, and `clean` would delete originals."""
    lookalike = Item("Other", "Page.by-text", _LATER.facets)
    with pytest.raises(InputError, match=r"two kinds of items have the type tag Page\.by-text"):
        plan_transition(wiki("OLD", "", _COPY), wiki("NEW", "", lookalike))


def changed(
    old: CodeVersion, new: CodeVersion, fill: Callable[[Client, CodeVersion], None], folder: Path
) -> tuple[Client, StepResult]:
    client = Client(old.package.schema, "wiki", Embedded())
    client.create_table()
    fill(client, old)
    result = StepResult()
    for step in (Evolution.add_indexes, Evolution.backfill, Evolution.clean):
        with evolution_of(plan_transition(old, new), client, folder) as evolution:
            result = step(evolution)
    return client, result
