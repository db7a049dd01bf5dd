"""The line `Tenant: tenantId`: read, written out for every entity and pattern, left out again, and checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from prejoin.diagnostics import Severity
from prejoin.types import STRING
from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_data, read_file, read_text, write_data
from prejoin.workload.grammar.statements import read_tenant, write_tenant
from prejoin.workload.model import Attribute, Context, Entity, Input, Tenant, Workload
from prejoin.workload.tenants import contract, expand, is_scoped, own_id
from tests.place import examples
from tests.workload.strategies import workloads

DOCUMENT = Path(__file__).parents[1] / "render" / "python" / "documents" / "tenants.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
LINE = "- **Tenant**: workspaceId, except Plan"


def projects() -> Workload:
    return read_file(DOCUMENT).workload


@pytest.mark.parametrize(
    ("text", "tenant"),
    [
        ("tenantId", Tenant("tenantId")),
        ("tenantId → Company", Tenant("tenantId", "Company")),
        ("tenantId -> Company, except Plan", Tenant("tenantId", "Company", ("Plan",))),
        ("`tenant id`, except Plan and Country", Tenant("tenant id", "", ("Plan", "Country"))),
        ("tenantId except Plan, Country", Tenant("tenantId", "", ("Plan", "Country"))),
    ],
)
def test_the_line_names_the_attribute_the_entity_and_the_exceptions(text: str, tenant: Tenant) -> None:
    assert read_tenant(text) == tenant
    assert read_tenant(write_tenant(tenant)) == tenant


def test_the_tenant_is_part_of_every_id_and_input() -> None:
    workload = projects()
    for entity in workload.entities:
        ids = [a.name for a in entity.id]
        assert ("workspaceId" in ids) == (entity.name != "Plan")
    for pattern in workload.patterns:
        assert (Input("workspaceId") in pattern.inputs) == (pattern.entities[0] != "Plan")
        assert is_scoped(workload, pattern) == (pattern.entities[0] != "Plan")


def test_unique_values_are_unique_within_a_tenant() -> None:
    member = projects().entity("Member")
    assert member is not None
    assert member.unique == (("workspaceId", "email"),)
    assert not any(a.unique for a in member.attributes)


def test_singleton_exists_once_for_each_tenant() -> None:
    settings_ = projects().entity("Settings")
    assert settings_ is not None
    assert not settings_.singleton
    assert [a.name for a in settings_.id] == ["workspaceId"]
    assert [(c.count, c.per) for c in settings_.cardinality] == [(1, "workspaceId")]


def test_references_name_the_part_of_the_id_that_they_hold() -> None:
    workload = projects()
    task = workload.entity("Task")
    assert task is not None
    assignee = task.attribute("assigneeId")
    assert assignee is not None
    assert assignee.references == "Member.memberId"
    assert [a.name for a in own_id(workload, task)] == ["projectId", "taskId"]


def test_repeating_the_tenant_changes_nothing_and_is_not_remarked() -> None:
    repeated = TEXT.replace(
        "- **Attributes**:\n  - `memberId`", "- **Attributes**:\n  - `workspaceId` (string, id)\n  - `memberId`"
    ).replace("| Members | - |", "| Members | workspaceId |")
    assert repeated != TEXT
    found = read_text(repeated, "md")
    assert found.workload == projects()
    assert [d.code for d in found.diagnostics] == [d.code for d in read_text(TEXT, "md").diagnostics]


def test_the_line_may_stand_below_the_title() -> None:
    above = TEXT.replace(LINE, "- **Teams**: 1").replace("> Status", "> Tenant: workspaceId, except Plan\n> Status")
    found = read_text(above, "md").workload
    assert found.tenant == projects().tenant
    assert found.entities == projects().entities


def test_the_entity_of_the_tenants_is_the_one_the_id_is_named_after() -> None:
    company = (
        "### Workspace\n\n- **Attributes**:\n  - `workspaceId` (string, generated)\n  - `slug` (string, unique)\n\n"
    )
    workload = read_text(TEXT.replace("### Member", company + "### Member", 1), "md").workload
    entity = workload.entity("Workspace")
    assert workload.tenant_entity is entity
    assert entity is not None
    slug = entity.attribute("slug")
    assert slug is not None
    assert slug.unique, "among all tenants"
    member = workload.entity("Member")
    assert member is not None
    assert member.attributes[0].references == "Workspace"


def test_written_document_omits_the_tenant_attribute() -> None:
    text = write_document(projects())
    assert read_document(text).workload == projects()
    assert LINE in text
    assert text.count("workspaceId") <= TEXT.count("workspaceId") + 2, "only the singleton needs it"


@settings(max_examples=examples(30))
@given(workloads())
def test_expanding_the_tenant_is_idempotent(workload: Workload) -> None:
    assert expand(workload) == workload
    assert expand(contract(workload)) == workload
    plain = replace(workload, decisions=())
    assert read_data(write_data(plain, "json"), "json").workload == plain


@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        (LINE, "- **Tenant**: workspaceId → Company", "PJ201", "Company"),
        (LINE, "- **Tenant**: workspaceId, except Plam", "PJ201", "Plam"),
        (LINE, "- **Tenant**: workspaceId → Plan", "PJ223", "workspaceId → Plan"),
        (LINE, "- **Tenant**: workspaceId but not Plan", "PJ223", "but"),
        ("| Members | - |", "| Members | workspaceId[] |", "PJ223", "workspaceId"),
        ("| Members | - |", "| Members | workspaceId between |", "PJ223", "workspaceId"),
        ("| Members | - |", "| Members | workspaceId = acme |", "PJ223", "workspaceId"),
        ("`name` (string, mutable)", "`name` (string, mutable, → Nobody)", "PJ201", "Nobody"),
    ],
)
def test_pattern_across_tenants_is_reported_with_its_place(old: str, new: str, code: str, place: str) -> None:
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    found = next(d for d in read_text(text, "md").diagnostics if d.code == code)
    assert text.splitlines()[found.line - 1][found.column - 1 :].startswith(place)


def test_a_decided_key_has_to_begin_with_the_tenant() -> None:
    text = TEXT + "\n## Decisions\n\n- Task has key `PROJECT#{projectId}` and `TASK#{taskId}`\n"
    (found,) = [d for d in read_text(text, "md").diagnostics if d.code == "PJ223"]
    assert found.fix == "write `TENANT#{workspaceId}#PROJECT#{projectId}`"


# --- What is meant within one tenant --------------------------------------------------------------------------------

PRACTICE = """\
# Practice

## Context

- **Tenant**: clinicId → Clinic

## Entities

### Clinic

- **Attributes**:
  - `clinicId` (string, natural)

### Staff

- **Attributes**:
  - `staffId` (ulid, generated)
  - `NAME` (string, FLAG)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Staff | One | staffId | Single | - |
| AP-002 | Staff | Some | INPUTS | RESULT | - |
| AP-003 | Clinic | One | clinicId | Single | - |

### Writes

| ID | Entity | Description | Input Parameters | Items Written |
| --- | --- | --- | --- | --- |
| AP-020 | Staff | Hire | Staff | create Staff |
| AP-021 | Clinic | Open | Clinic | create Clinic |
"""


def scope_of(
    name: str = "code", flag: str = "mutable", inputs: str = "staffId", result: str = "Collection"
) -> list[str]:
    text = PRACTICE.replace("NAME", name).replace("FLAG", flag).replace("INPUTS", inputs).replace("RESULT", result)
    diagnostics = read_text(text, "md").diagnostics
    assert [d.code for d in diagnostics if d.severity is Severity.ERROR] == []
    return [d.message for d in diagnostics if d.code == "PJ407"]


@pytest.mark.parametrize("name", ["email", "eMail", "workEmail", "login", "userName", "phone", "slug", "domain"])
def test_a_unique_name_of_a_person_is_said_to_be_unique_within_the_tenant(name: str) -> None:
    (message,) = scope_of(name, "unique")
    assert f"`Staff.{name}` is unique within it" in message
    assert scope_of(name, "mutable") == []


def test_other_unique_values_are_as_expected() -> None:
    assert scope_of("number", "unique") == []


@pytest.mark.parametrize(("inputs", "result"), [("-", "Collection"), ("-", "Count"), ("filter code = x", "Collection")])
def test_a_read_without_inputs_is_said_to_be_of_one_tenant(inputs: str, result: str) -> None:
    (message,) = scope_of(inputs=inputs, result=result)
    assert "`AP-002` reads the items of one" in message


@pytest.mark.parametrize("inputs", ["clinicId", "clinicId, code", "code"])
def test_a_read_that_names_the_tenant_or_another_input_is_as_expected(inputs: str) -> None:
    assert scope_of(inputs=inputs) == []


def test_both_are_said_once() -> None:
    (message,) = scope_of("email", "unique", "-")
    assert "`Staff.email`" in message
    assert "`AP-002`" in message


def test_nothing_is_said_where_an_entity_of_no_tenant_holds_the_name() -> None:
    login = "### Login\n\n- **Attributes**:\n  - `email` (string, natural)\n\n### Staff"
    text = PRACTICE.replace("### Staff", login).replace("→ Clinic", "→ Clinic, except Login")
    text = (
        text.replace("NAME", "email").replace("FLAG", "unique").replace("INPUTS", "staffId").replace("RESULT", "Single")
    )
    assert "PJ407" not in {d.code for d in read_text(text, "md").diagnostics}


_ROWS = {
    "update Staff (active = false); update Clinic (admins -= 1); delete Shift[]": ["PJ241"],
    "delete Shift[]": ["PJ241"],
    "delete Clinic; delete Shift[]": [],
    "update Clinic (admins = 0); delete Shift[]; delete Staff[]": [],
}


@pytest.mark.parametrize("items", _ROWS)
def test_the_tenant_binds_a_list_only_if_its_own_item_is_the_only_other(items: str) -> None:
    document = f"""\
# Surgery

## Context

- **Tenant**: clinicId → Clinic

## Entities

### Clinic

- **Attributes**: `clinicId` (string, natural), `admins` (integer, mutable)

### Staff

- **Attributes**: `staffId` (string, natural), `active` (boolean, mutable)

### Shift

- **Attributes**: `shiftId` (string, natural)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- |
| AP-001 | Shift | shiftId | Single | 1/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Clinic, Staff, Shift | clinicId, staffId | {items} | No | - | 1/s |
"""
    errors = [d.code for d in read_text(document, "md").diagnostics if d.severity is Severity.ERROR]
    assert errors == _ROWS[items]


def test_a_tenant_that_refers_to_one_of_several_entities_can_be_written() -> None:
    tenant = Attribute("orgId", STRING, id=True, references="Note", references_or=("Org",))
    workload = Workload(
        title="Notes", context=Context(tenant=Tenant("orgId")), entities=(Entity("Note", "", (tenant,)),)
    )
    assert read_document(write_document(workload)).workload == expand(workload)
