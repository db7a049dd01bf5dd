"""The line `Tenant: tenantId`: read, written out for every entity and pattern, left out again, and checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_data, read_file, read_text, write_data
from prejoin.workload.grammar.statements import read_tenant, write_tenant
from prejoin.workload.model import Input, Tenant, Workload
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
