"""A new attribute in a design in use: commands report it, and a default makes old items readable."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from prejoin import Client, CodecError, Entity, Index, Key, Schema, audit, repair
from prejoin.design.document.read_document import parse_document
from prejoin.engine import Embedded
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_text
from tests.cli.conftest import Prejoin

DOCUMENT = """\
# Helpdesk

## Entities

### Ticket

- **Attributes**:
  - `ticketId` (string, generated)
  - `subject` (string, mutable)
- **Cardinality**: 1K total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Ticket | One | ticketId | Single | - | No | Warm | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Ticket | Open | Ticket | create Ticket | No | - | Cold |
"""
SUBJECT = "  - `subject` (string, mutable)\n"
BY_LANGUAGE = "| AP-002 | Ticket | Of a language | language | Collection | - | Yes (20) | Cold | Eventual | No |\n"


def grown(flags: str, read: str = "") -> str:
    text = DOCUMENT.replace(SUBJECT, f"{SUBJECT}  - `language` ({flags})\n")
    return text.replace("\n### Writes", f"{read}\n### Writes")


@pytest.fixture
def approved(prejoin: Prejoin, here: Path) -> Path:
    """A folder with a document and its approved design."""
    (here / "access-patterns.md").write_text(DOCUMENT, "utf-8")
    assert prejoin("design", "--yes", "--no-proof").status == 0
    page = here / "table-design.md"
    page.write_text(page.read_text("utf-8").replace("Status: DRAFT", "Status: APPROVED"), "utf-8")
    return here


def test_a_design_records_the_attributes_it_was_written_for(approved: Path) -> None:
    text = (approved / "table-design.md").read_text("utf-8")
    assert "- **Attributes**: `ticketId`, `subject`" in text
    (item,) = parse_document(text).design.items
    assert item.known == ("ticketId", "subject")


def test_a_design_without_that_record_is_read_as_before(prejoin: Prejoin, approved: Path) -> None:
    page = approved / "table-design.md"
    text = page.read_text("utf-8").replace("- **Attributes**: `ticketId`, `subject`\n", "")
    page.write_text(text, "utf-8")
    (approved / "access-patterns.md").write_text(grown("string, mutable"), "utf-8")
    (item,) = parse_document(text).design.items
    assert item.known == ()
    assert "PJ526" not in prejoin("check").out


@pytest.mark.everyday(4)
@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("check", "table-design.md"),
        ("design", "--keep", "table-design.md", "--no-proof"),
        ("build", "--diff"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("flags", ["string, mutable", "string, mutable, optional", "string, mutable, default=en"])
def test_new_required_attribute_is_reported(
    prejoin: Prejoin, approved: Path, command: tuple[str, ...], flags: str
) -> None:
    (approved / "access-patterns.md").write_text(grown(flags), "utf-8")
    done = prejoin(*command)
    output = done.out + done.err
    assert ("PJ526" in output) == (flags == "string, mutable"), output
    if "PJ526" in output:
        assert "Ticket.language is new since the design was written" in " ".join(output.split())


def test_message_is_gone_after_the_design_is_rewritten(prejoin: Prejoin, approved: Path) -> None:
    (approved / "access-patterns.md").write_text(grown("string, mutable"), "utf-8")
    assert prejoin("design", "--keep", "table-design.md", "--yes", "--no-proof").status == 0
    assert "`language`" in (approved / "table-design.md").read_text("utf-8")
    assert "PJ526" not in prejoin("check").out


def test_a_new_attribute_with_a_default_that_an_index_is_keyed_by(prejoin: Prejoin, approved: Path) -> None:
    (approved / "access-patterns.md").write_text(grown("string, mutable, default=en", BY_LANGUAGE), "utf-8")
    done = prejoin("design", "--keep", "table-design.md", "--no-proof")
    assert "PJ527" in done.out + done.err


@pytest.fixture
def imports(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(here))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "helpdesk"]:
        del sys.modules[name]


@pytest.mark.parametrize("style", ["dataclass", "msgspec", "pydantic"])
@pytest.mark.usefixtures("imports")
def test_older_items_are_read_with_the_default(prejoin: Prejoin, here: Path, style: str) -> None:
    pytest.importorskip("pydantic")
    engine = Embedded()

    def client(text: str) -> tuple[Client, type]:
        (here / "access-patterns.md").write_text(text, "utf-8")
        assert prejoin("build", "--yes", "--style", style, "--no-tests").status == 0
        for name in [name for name in sys.modules if name.split(".")[0] == "helpdesk"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        schema, entities = (importlib.import_module(f"helpdesk.{name}") for name in ("schema", "entities"))
        return Client(schema.SCHEMA, "helpdesk", engine), entities.Ticket

    old, ticket = client(DOCUMENT)
    old.create_table()
    old.insert(ticket(ticket_id="1", subject="Printer"))
    required, ticket = client(grown("string, mutable"))
    with pytest.raises(CodecError):
        required.get(ticket, ticket_id="1")
    new, ticket = client(grown('string, mutable, default="en"'))
    found = new.get(ticket, ticket_id="1")
    assert found is not None
    assert found.language == "en"


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ('string, mutable, default="en"', ""),
        ("integer, mutable, default=0", ""),
        ("boolean, mutable, default=false", ""),
        ("EN | DE, mutable, default=DE", ""),
        ("date, mutable, default=2024-01-15", ""),
        ("decimal, mutable, default=1.50", ""),
        ("uuid, mutable, default=00000000-0000-0000-0000-000000000000", ""),
        ("integer, mutable, default=some", "PJ207"),
        ("EN | DE, mutable, default=FR", "PJ207"),
        ("date, mutable, default=soon", "PJ207"),
        ("uuid, mutable, default=en", "PJ207"),
        ("string, id, default=en", "PJ212"),
        ("string, unique, default=en", "PJ212"),
        ("string, optional, default=en", "PJ212"),
        ("datetime, ttl, default=2024-01-15", "PJ212"),
        ("list of string, default=en", "PJ208"),
        ("binary, default=en", "PJ208"),
        ("string, default", "PJ110"),
        ("string, default=now", "PJ110"),
    ],
)
def test_a_default_is_a_value_of_its_type_where_one_makes_sense(flags: str, code: str) -> None:
    reading = read_text(grown(flags), "md")
    diagnostics = [d.code for d in reading.diagnostics if d.code in {"PJ110", "PJ207", "PJ208", "PJ212"}]
    assert diagnostics == ([code] if code else [])
    if not code:
        assert read_text(write_document(reading.workload), "md").workload == reading.workload


@dataclass
class Older:
    ticket_id: str


@dataclass
class Newer:
    ticket_id: str
    language: str = "en"


def test_an_audit_puts_older_items_into_an_index_by_their_default() -> None:
    engine = Embedded()
    keys = Key("TICKET#{ticket_id}", "TICKET")
    by_language = {"gsi1": Key("LANGUAGE#{language}", "{ticket_id}")}
    new = Client(
        Schema(Entity(Newer, keys, tag="Ticket", indexes=by_language), indexes=[Index("gsi1")]), "tickets", engine
    )
    new.create_table()
    Client(Schema(Entity(Older, keys, tag="Ticket")), "tickets", engine).insert(Older("1"))
    assert list(new.query(Newer, language="en")) == []
    (found,) = audit(new)
    assert repair(new, found)
    assert list(new.query(Newer, language="en")) == [Newer("1", "en")]
