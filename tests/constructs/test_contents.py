"""Large contents: what the design says of their parts and objects is what the client sends, and each mistake is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from prejoin import Embedded
from prejoin.constructs.construct import ContentPieces
from prejoin.constructs.contents import LargeContent
from prejoin.design.model import Design
from prejoin.design.requests.lower import literal_requests
from prejoin.design.requests.text import requests_text
from prejoin.design.solver.solve import solve as solve_anew
from prejoin.diagnostics import has_errors
from prejoin.proof.prove import prove
from prejoin.render.documents.query_interfaces import query_interfaces
from prejoin.render.python.package import render_package
from prejoin.types import Kind, Type
from prejoin.workload.contents import contents_of
from prejoin.workload.files import read_text, write_text
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    ContentPlace,
    Decision,
    Entity,
    Input,
    Verb,
    Workload,
    Write,
)
from tests.design.test_laws import HUNDREDS
from tests.design.wide_workloads import wide_workloads
from tests.place import examples
from tests.proof.documented_requests import differences, recorded_calls
from tests.proof.league import NOW
from tests.solutions import solve

DOCUMENT = """# Archive

## Entities

### Document

- **Attributes**:
  - `documentId` (ulid, generated)
  - `title` (string, mutable)
  - `scannedText` (binary, mutable, 2 MB)
- **Cardinality**: ~1,000 total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Document | A document | documentId | Single | 1/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Document | Save a document | Document | create Document | 1/s |
| AP-011 | Document | Scan it again | documentId, scannedText | update Document (scannedText) | 1/s |
| AP-012 | Document | Rename it | documentId, title | update Document (title) | 1/s |
| AP-013 | Document | Replace it | Document | put Document | 1/s |
| AP-014 | Document | Announce it | documentId, title | create Document | 1/s |
| AP-015 | Document | Import several | Document[] | create Document[] | 1/s |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Document | Delete it | documentId | delete Document | 1/s |
"""
STORE = """
## Decisions

- Document.scannedText in a store
"""
PLACES = {"parts": DOCUMENT, "a store": DOCUMENT + STORE}
STORING = {"AP-010", "AP-011", "AP-013", "AP-015"}
"""The patterns that give a document a content."""
REPLACING = {"AP-011", "AP-013", "AP-020"}
"""The patterns that leave an old content."""


def designed(text: str) -> tuple[Workload, Design]:
    reading = read_text(text, "md")
    assert [one for one in reading.diagnostics if one.severity == "error"] == []
    return reading.workload, solve(reading.workload).design


def problems(text: str) -> list[str]:
    """The patterns that are not proven, and the requests that are not the documented ones."""
    workload, design = designed(text)
    with Embedded() as engine, recorded_calls() as recorded:
        proof = prove(workload, design, engine)
    wrong = [f"{one.pattern}: {one.wrong or one.problem}" for one in proof.patterns if not one.right]
    return [*wrong, *map(str, proof.findings), *differences(recorded, workload, design)]


@pytest.mark.parametrize("place", PLACES)
def test_large_contents_are_proven_and_documented(place: str) -> None:
    assert problems(PLACES[place]) == []


@pytest.mark.parametrize(
    ("place", "request_line", "key_line"),
    [
        ("parts", "PutItem Document.scannedText",
         "pk = DOCUMENT#{documentId}, sk = ~LARGE#Document#scanned_text#{upload}#{part}"),
        ("a store", "PutObject to the store Document.scannedText",
         "the table's name/RG9jdW1lbnQ/c2Nhbm5lZF90ZXh0/{key of the item}/{upload}/{part}"),
    ],
)  # fmt: skip
def test_a_write_documents_what_it_stores_before_the_item(place: str, request_line: str, key_line: str) -> None:
    workload, design = designed(PLACES[place])
    storing = set()
    for operation in design.operations:
        text = requests_text(literal_requests(operation, workload, design))
        if request_line in text:
            storing.add(operation.pattern)
            assert key_line in text
    assert storing == STORING


@pytest.mark.parametrize(
    ("place", "units", "sentence"),
    [
        ("parts", "1 write + 2,057 write for `Document.scannedText`", "9 parts and 2,057 write units more"),
        ("a store", "1 write + 1 object for `Document.scannedText`", "in the object store: 1 request"),
    ],
)
def test_methods_and_pages_say_what_a_content_costs(place: str, units: str, sentence: str) -> None:
    workload, design = designed(PLACES[place])
    page = query_interfaces(workload, design, {})
    code = " ".join(render_package(workload, design).modules["repository"].split())
    assert units in page
    assert sentence in page
    assert sentence in code
    assert code.count("a call, without large contents") == len(STORING)
    assert code.count("stays until `remove_garbage` deletes it") == len(REPLACING)


def test_earlier_versions_keep_the_content_that_they_had() -> None:
    text = DOCUMENT.replace("  - `title`", "  - `version` (integer, mutable)\n  - `title`")
    text = text.replace("~1,000 total\n", "~1,000 total\n- **History**: 3 versions\n")
    text = "\n".join(line for line in text.splitlines() if "AP-013" not in line)  # a history refuses a put
    workload, design = designed(text)
    assert "remove_garbage" not in render_package(workload, design).modules["repository"]


PREPARE = LargeContent.prepare


def changed(**changes: Any) -> Any:
    """The pieces with other values."""

    def prepare(*arguments: Any) -> Iterator[ContentPieces]:
        return (replace(pieces, **changes) for pieces in PREPARE(*arguments))

    return prepare


MUTANTS: dict[str, tuple[str, Any]] = {
    "no pieces": ("prepare", lambda *_: iter(())),
    "another key": ("prepare", changed(sk="~OTHER#{upload}")),
    "another type": ("prepare", changed(tag="piece")),
    "pieces of any write": ("prepare", lambda self, written, design: PREPARE(self, frozenset({"scannedText"}), design)),
    "no pattern in the schema": ("schema_calls", lambda *_: iter(())),
    "no parts are expected": ("kept_pieces", lambda *_: iter(())),
}


@pytest.mark.everyday(2)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Documents are read and solved once: a title makes this one another document.
    monkeypatch.setattr(LargeContent, *MUTANTS[mutant])
    assert problems(DOCUMENT.replace("# Archive", f"# Archive {mutant}")) != []


@pytest.mark.everyday(1)
@pytest.mark.parametrize("mutant", ["no pieces", "another folder"])
def test_a_mistake_about_objects_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = MUTANTS["no pieces"][1] if mutant == "no pieces" else changed(folder="b3RoZXI/")
    monkeypatch.setattr(LargeContent, "prepare", prepare)
    assert problems(PLACES["a store"].replace("# Archive", f"# Archive {mutant}")) != []


# --- Any workload -----------------------------------------------------------------------------------------------------


def with_contents(workload: Workload, in_store: bool) -> Workload:
    """The workload with a content in each entity that can have one, and with a write that gives it."""
    named = {entity.name: _with_content(entity) for entity in workload.entities if _can_have_content(entity)}
    entities = tuple(named.get(entity.name, entity) for entity in workload.entities)
    writes = [_giving_write(entity, number) for number, entity in enumerate(named.values())]
    pins = [ContentPlace(name, "bodyText", store=in_store) for name in named]
    decisions = (*workload.decisions, *(Decision(pin=pin) for pin in pins))
    changed = structs.replace(workload, entities=entities, writes=(*workload.writes, *writes), decisions=decisions)
    reading = read_text(write_text(changed, "md"), "md")
    assume(not has_errors(reading.diagnostics))
    return reading.workload


def _can_have_content(entity: Entity) -> bool:
    return bool(entity.id) and entity.soft_delete is None and not any(a.ttl for a in entity.attributes)


def _with_content(entity: Entity) -> Entity:
    body = Attribute("bodyText", Type(Kind.CONTENT), optional=True, mutable=True)
    return structs.replace(entity, attributes=(*entity.attributes, body))


def _giving_write(entity: Entity, number: int) -> Write:
    inputs = (*(Input(attribute.name) for attribute in entity.id), Input("bodyText"))
    action = Action(Verb.UPDATE, entity.name, changes=(Change("bodyText"),))
    return Write(f"C-{number}", entities=(entity.name,), inputs=inputs, actions=(action,))


@pytest.mark.slow
@given(wide_workloads(), st.booleans())
@settings(HUNDREDS, max_examples=examples(60))
def test_contents_of_random_workloads_are_proven_and_documented(workload: Workload, in_store: bool) -> None:
    changed = with_contents(workload, in_store)
    design = solve_anew(changed).design
    with Embedded() as engine, recorded_calls() as recorded:
        proof = prove(changed, design, engine, now=NOW)
    assert [f"{one.pattern}: {one.wrong}" for one in proof.patterns if one.wrong] == []
    large = {entity.name for entity in changed.entities if contents_of(entity)}
    storing = {write.id for write in changed.writes if all(action.entity in large for action in write.actions)}
    of_contents = {pattern: calls for pattern, calls in recorded.items() if pattern in storing}
    assert differences(of_contents, changed, design) == []
