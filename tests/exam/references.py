"""References between the items of a write: a task, its job and its organisation belong together, or it is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from tests.exam.documents import TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import Case, Exam, Plan

ENTITIES = (
    EntityText("Org", ("`orgId` (string, natural)", "`state` (OPEN | SHUT, mutable)", "`n` (integer, mutable)")),
    EntityText(
        "Job",
        (
            "`jobId` (string, natural)",
            "`orgId` (string, immutable, → Org)",
            "`state` (OPEN | SHUT, mutable)",
            "`n` (integer, mutable)",
        ),
        "~5 per Org",
    ),
    EntityText(
        "Task",
        ("`taskId` (string, generated)", "`jobId` (string, immutable, → Job)", "`n` (integer, mutable)"),
        "~5 per Job",
    ),
)
SINGLE = (Read("Org", "orgId"), Read("Job", "jobId"), Read("Task", "taskId"))
READS = {
    "by id": SINGLE,
    "by parent": (*SINGLE, Read("Job", "orgId", "Collection"), Read("Task", "jobId", "Collection")),
    "under parent": (
        Read("Org", "orgId"),
        Read("Job", "orgId, jobId"),
        Read("Job", "orgId", "Collection", "Strong"),
        Read("Task", "jobId, taskId"),
        Read("Task", "jobId", "Collection", "Strong"),
    ),
}
"""Reads that make designs with other keys: by the id alone, with an index by the parent, and under the parent."""
PARENT = {"Job": ("orgId", "Org"), "Task": ("jobId", "Job")}
"""The reference of each entity."""


@dataclass(frozen=True, slots=True)
class Written:
    """A row, and what it does: the change of `n` by entity, None for a delete, and the items that must be open."""

    row: Row
    changes: Mapping[str, int | None]
    open: Sequence[str] = ()
    exist: Sequence[str] = ()
    creates: bool = False
    """Whether it creates a task of the job."""

    @property
    def named(self) -> list[str]:
        """The entities whose items the row writes or checks."""
        return list(dict.fromkeys((*self.changes, *self.open, *self.exist)))


def _rows() -> list[Written]:
    def row(entities: str, inputs: str, items: str, conditions: str = "-") -> Row:
        return Row(f"{inputs} {items} {conditions}", entities, inputs, items, conditions)

    both_open = "Job.state = OPEN; Org.state = OPEN"
    task_and_parents = ("Task, Job, Org", "taskId, jobId, orgId")
    return [
        Written(row(*task_and_parents, "update Task (n += 1)", both_open), {"Task": 1}, ("Job", "Org")),
        Written(row(*task_and_parents, "delete Task", both_open), {"Task": None}, ("Job", "Org")),
        Written(row("Org, Job", "orgId, jobId", "update Org (n += 1)", "Job.state = OPEN"), {"Org": 1}, ("Job",)),
        Written(row("Org, Job", "orgId, jobId", "update Org (n += 1)", "Job exists"), {"Org": 1}, (), ("Job",)),
        Written(row("Job, Org", "jobId, orgId", "update Job (n += 1); update Org (n += 1)"), {"Job": 1, "Org": 1}),
        Written(row("Job, Org", "jobId, orgId", "delete Job; update Org (n -= 1)"), {"Job": None, "Org": -1}),
        Written(row("Job, Org", "jobId", "delete Job; update Org (n -= 1)"), {"Job": None, "Org": -1}),
        Written(row("Job, Org", "jobId", "update Job (n += 1); update Org (n += 1)"), {"Job": 1, "Org": 1}),
        Written(row("Job, Org", "jobId", "update Job (n += 1)", "Org.state = OPEN"), {"Job": 1}, ("Org",)),
        Written(row("Job, Org", "jobId", "delete Job", "Org.state = OPEN"), {"Job": None}, ("Org",)),
        Written(row("Job", "jobId, orgId", "delete Job", "Job.orgId = orgId"), {"Job": None}),
        Written(row("Job", "jobId, orgId", "update Job (n += 1)"), {"Job": 1}),
        Written(row("Task, Job", "taskId, jobId", "delete Task; update Job (n -= 1)"), {"Task": None, "Job": -1}),
        Written(
            row("Task, Job, Org", "Task, orgId", "create Task; update Org (n += 1)", "Job.state = OPEN"),
            {"Org": 1},
            ("Job",),
            creates=True,
        ),
    ]


def content(states: Mapping[str, str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Two organisations, each with a job and a task, by entity and id. `states` are those of the first ones."""
    tables: dict[str, dict[str, dict[str, Any]]] = {"Org": {}, "Job": {}, "Task": {}}
    for number in ("1", "2"):
        own = states if number == "1" else {}
        tables["Org"][f"o{number}"] = {"orgId": f"o{number}", "state": own.get("Org", "OPEN"), "n": 5}
        job = {"jobId": f"j{number}", "orgId": f"o{number}", "state": own.get("Job", "OPEN"), "n": 5}
        tables["Job"][f"j{number}"] = job
        tables["Task"][f"t{number}"] = {"taskId": f"t{number}", "jobId": f"j{number}", "n": 5}
    return tables


def expected(
    written: Written, states: Mapping[str, str], ids: Mapping[str, str]
) -> dict[str, dict[str, dict[str, Any]]] | None:
    """The tables after a call about the items with these ids; None if it must be refused."""
    tables = content(states)
    items = {entity: tables[entity].get(ids[entity]) for entity in written.named}
    if written.creates:
        items["Task"] = {"taskId": "t9", "jobId": ids["Job"], "n": 0}
    if any(item is None for item in items.values()):
        return None  # an update needs its item, and a delete that says whose it is
    for entity, item in items.items():
        reference, parent = PARENT.get(entity, ("", ""))
        is_said = parent in items or reference in written.row.inputs.split(", ")
        if item is not None and is_said and item[reference] != ids[parent]:
            return None
    if any((items[entity] or {}).get("state") == "SHUT" for entity in written.open):
        return None
    for entity, amount in written.changes.items():
        if amount is None:
            del tables[entity][ids[entity]]
        else:
            tables[entity][ids[entity]]["n"] += amount
    if written.creates:
        tables["Task"]["t9"] = dict(items["Task"] or {})
    return tables


def references(tenancy: Tenancy, reads: Sequence[Read]) -> Exam:
    rows = _rows()
    cases = [case for written in rows for case in _cases(tenancy, written)]
    return Exam("references", DocumentText(tenancy, ENTITIES, reads, [written.row for written in rows]), cases)


def _cases(tenancy: Tenancy, written: Written) -> list[Case]:
    found: list[Case] = []
    choices = {"Org": ("o1", "o2", "o9"), "Job": ("j1", "j2", "j9"), "Task": ("t1", "t9")}
    shut: list[dict[str, str]] = [{}, *({entity: "SHUT"} for entity in written.open)]
    for states, (org, job, task) in product(shut, product(*choices.values())):
        ids = {"Org": org, "Job": job, "Task": task}
        if written.creates and task == "t1":
            continue
        after = expected(written, states, ids)
        arguments: dict[str, Any] = {"orgId": org, "jobId": job, "taskId": task}
        if written.creates:
            new = {"taskId": "t9", "jobId": job, "n": 0}
            arguments = {"orgId": org, "Task": for_tenants(tenancy, [("Task", new)], ())[0][1]}
        before = _entries(content(states))
        case_after = None if after is None else for_tenants(tenancy, _entries(after), before)
        label = f"{org} {job} {task} {states or ''}".strip()
        found.append(Case(written.row, label, for_tenants(tenancy, before, before), arguments, case_after))
    return found


def _entries(tables: Mapping[str, Mapping[str, Item]]) -> list[tuple[str, Item]]:
    return [(entity, item) for entity, items in tables.items() for item in items.values()]


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    return [
        Plan(f"references, {name}", tenancy, partial(references, tenancy, reads))
        for tenancy in tenancies
        for name, reads in READS.items()
    ]
