"""Names that all items of a table share: keys, the type, the TTL, keys of indexes. An attribute never collides with one."""

from __future__ import annotations

import time
from itertools import product

import pytest
from tests.solutions import solve

from prejoin import Client
from prejoin.design.checks import check_design
from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.engine import Embedded
from prejoin.pipeline.design.design_table import design_table
from prejoin.pipeline.document import parse_document
from prejoin.pipeline.errors import InputError
from prejoin.proof.package import load_package
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

DOCUMENT = """\
# Sessions

## Entities

### User

- **Attributes**:
  - `userId` (string, natural)
  - `email` (string, unique, mutable)
  - `name` (string, mutable)
  - `version` (integer, mutable)
  - `endsAt` (integer, mutable)
- **History**: 3 versions

### Session

- **Attributes**:
  - `sessionId` (string, natural)
  - `note` (string, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Session | One | sessionId | Single | - |
| AP-002 | User | One | userId | Single | - |
| AP-003 | User | By name | name | Collection | - |

### Writes

| ID | Entity | Description | Input Parameters | Items Written |
| --- | --- | --- | --- | --- |
| AP-020 | Session | Sign in | Session | create Session |
| AP-021 | User | Join | User | create User |

## Decisions

- DECISION
"""
NOTE = "`note` (string, mutable)"
ENDS = "`endsAt` (integer, mutable)"
VERSIONS_END = ("- **History**: 3 versions", "- **History**: 3 versions, 90 days")
TYPES = ("string", "integer", "datetime", "A | B", "boolean", "binary", "map", "set of string")
# What uses a name of the table, and an edit that makes it so.
AUTOMATIC = {
    "pk": (),
    "sk": (),
    "gsi1pk": (),
    "gsi1sk": (),
    "entityType": (),
    "expiresAt": (VERSIONS_END,),
    "version": (),
    "email": (),
    "name": (("- DECISION", "- natural index keys"),),
}


def edited(*edits: tuple[str, str]) -> str:
    text = DOCUMENT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text.replace("- DECISION\n", "")


def attribute(name: str, kind: str) -> tuple[str, str]:
    return NOTE, f"`{name}` ({kind}, mutable)"


def errors_of(text: str) -> list[Diagnostic]:
    return [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]


def workload_of(text: str) -> Workload:
    assert errors_of(text) == []
    return read_text(text, "md").workload


def own_names(design: Design) -> set[str]:
    """The names of attributes that hold texts of the table, and not attributes of an entity."""
    texts = {text for item in design.items for f in item.facets for text in (*f.pk, *f.sk)}
    keys = {key.name for slot in design.slots for key in (*slot.pk, *slot.sk) if f"{{{key.name}}}" not in texts}
    return keys | {design.type_attribute, design.ttl_attribute}


@pytest.mark.everyday(6)
@pytest.mark.parametrize(("name", "kind"), [*product(AUTOMATIC, TYPES)])
def test_the_designer_chooses_names_that_no_attribute_has(name: str, kind: str) -> None:
    workload = workload_of(edited(attribute(name, kind), *AUTOMATIC[name]))
    design = solve(workload).design
    assert name not in own_names(design)
    assert [d.message for d in check_design(design, workload) if d.severity is Severity.ERROR] == []


@pytest.mark.slow
@pytest.mark.everyday(4)
@pytest.mark.parametrize(("name", "kind"), [*product(AUTOMATIC, TYPES)])
def test_items_with_such_a_name_are_written_and_read(name: str, kind: str) -> None:
    workload = workload_of(edited(attribute(name, kind), *AUTOMATIC[name]))
    with Embedded() as engine:
        proof = prove(workload, solve(workload).design, engine)
        assert [(a.pattern, a.wrong, a.problem) for a in proof.failed] == []
        assert proof.findings == ()


PARTS = ("partition key", "sort key", "type attribute")


@pytest.mark.parametrize(("part", "kind"), [*product(PARTS, TYPES)])
def test_a_decision_that_names_an_attribute_is_refused(part: str, kind: str) -> None:
    text = edited(attribute("note", kind), ("- DECISION", f"- the {part} is named `note`"))
    (error,) = errors_of(text)
    assert (error.code, text.split("\n")[error.line - 1]) == ("PJ230", f"- the {part} is named `note`")
    assert "`Session`" in error.message


@pytest.mark.parametrize(
    ("part", "name"), [*product(PARTS, ("pk", "sk", "gsi1pk", "gsi1sk", "entityType", "expiresAt"))]
)
def test_decided_names_differ_from_those_that_the_designer_chooses(part: str, name: str) -> None:
    workload = workload_of(edited(("- DECISION", f"- the {part} is named `{name}`"), VERSIONS_END))
    design = solve(workload).design
    for slot in design.slots:
        names = [key.name for key in (*slot.pk, *slot.sk)] + [design.type_attribute, design.ttl_attribute]
        assert len(set(names)) == len(names)
    keys = [key.name for slot in design.slots for key in (*slot.pk, *slot.sk)]
    assert len(set(keys)) == len(keys)


# --- The TTL attribute ----------------------------------------------------------------------------------------------


def expiring(kind: str, flags: str = "mutable", owner: str = "integer") -> str:
    return edited((NOTE, f"`endsAt` ({kind}, {flags})"), (ENDS, f"`endsAt` ({owner}, ttl, mutable)"))


@pytest.mark.parametrize(("kind", "owner"), [*product((*TYPES, "number", "decimal"), ("integer", "datetime"))])
def test_a_plain_attribute_with_the_name_of_the_ttl_is_refused(kind: str, owner: str) -> None:
    text = expiring(kind, owner=owner)
    (error,) = errors_of(text)
    line = text.split("\n")[error.line - 1]
    assert (error.code, line[error.column - 1 :][:6]) == ("PJ230", "endsAt")
    assert f"({kind}, mutable)" in line
    assert "rename it: `sessionEndsAt`" in error.fix
    numeric = kind in ("integer", "number", "decimal")
    assert ("DynamoDB would delete items of `Session`" in error.message) is numeric
    assert ("mark it `ttl`" in error.fix) is numeric
    assert errors_of(text.replace(f"`endsAt` ({kind}, mutable)", f"`sessionEndsAt` ({kind}, mutable)")) == []


def test_both_may_mark_it() -> None:
    assert errors_of(expiring("datetime", "ttl, mutable")) == []


def test_an_entity_that_needs_a_table_of_its_own_may_use_the_name() -> None:
    text = expiring("integer").rstrip("\n") + "\n- Session needs its own restore\n"
    assert errors_of(text) == []
    workload = read_text(text, "md").workload
    messages = [d.message for d in check_design(solve(workload).design, workload) if d.code == "PJ592"]
    assert len(messages) == 1  # it is in the same table until the document is split
    assert "`Session.endsAt`" in messages[0]


def test_one_name_for_several_is_not_that_of_a_plain_attribute() -> None:
    text = edited((NOTE, "`endsAt` (integer, mutable)\n  - `goneAt` (integer, ttl)"), (ENDS, "`endsAt` (integer, ttl)"))
    fixes = {(d.line, d.fix) for d in errors_of(text)}
    assert {fix for _, fix in fixes} == {
        "call it `goneAt`",
        "rename it: `sessionEndsAt`; or mark it `ttl`, if these items expire, too",
    }


def test_the_engine_deletes_what_the_check_refuses() -> None:
    workload = read_text(expiring("integer"), "md").workload
    design = solve(workload).design
    package = load_package(workload, design)
    with Embedded() as engine:
        client = Client(package.schema, design.table, engine)
        client.create_table()
        client.insert(package.classes["Session"](session_id="1", ends_at=int(time.time()) - 100_000))
        assert engine.expire() == 1


# --- A table in use -------------------------------------------------------------------------------------------------

# An attribute that is new in the document of a table in use, and the codes that refuse it.
NEW = [
    *((name, kind, "PJ595") for name, kind in product(("pk", "sk", "gsi1pk", "gsi1sk"), TYPES)),
    *(("entityType", kind, "PJ593") for kind in TYPES),
    *(("expiresAt", kind, "PJ592") for kind in TYPES),
]


@pytest.mark.parametrize("entity", ["Session", "User"])
@pytest.mark.parametrize("natural", [False, True])
def test_a_new_attribute_with_a_name_of_the_table_in_use_is_refused(entity: str, natural: bool) -> None:
    keys = ("- DECISION", f"- {'natural' if natural else 'composite'} index keys")
    old = ENDS if entity == "User" else NOTE
    kept = solve(workload_of(edited(VERSIONS_END, keys))).design
    for name, kind, code in NEW:
        if natural and name.startswith("gsi1"):
            continue  # the index has the key `name`
        text = edited(VERSIONS_END, keys, (old, f"{old}\n  - `{name}` ({kind}, optional, mutable)"))
        with pytest.raises(InputError) as caught:
            design_table(parse_document(text.encode()), keep=kept, prove=False, alternatives=0)
        (diagnostic,) = caught.value.diagnostics
        line = text.split("\n")[diagnostic.line - 1]
        assert (diagnostic.code, line.strip()) == (code, f"- `{name}` ({kind}, optional, mutable)")
        assert "rename" in diagnostic.fix


@pytest.mark.parametrize("kind", ["integer", "boolean", "binary", "map", "set of string"])
def test_another_type_than_that_of_a_natural_key_in_use_is_refused(kind: str) -> None:
    keys = ("- DECISION", "- natural index keys")
    kept = solve(workload_of(edited(keys))).design
    assert [key.name for key in kept.slots[1].pk] == ["name"]
    text = edited(keys, (NOTE, f"{NOTE}\n  - `name` ({kind}, optional, mutable)"))
    with pytest.raises(InputError) as caught:
        design_table(parse_document(text.encode()), keep=kept, prove=False, alternatives=0)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.fix) == ("PJ595", "rename the attribute: `sessionName`")
    assert "DynamoDB refuses the item" in diagnostic.message
