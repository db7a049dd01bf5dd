"""A unique value that never changes is the key in the table, if it finds the items and the id does not have to."""

from __future__ import annotations

import pytest
from tests.design.brute_force import best_design
from tests.design.claims import false_claims

from prejoin.design.checks import check_design
from prejoin.design.cost.objective import objective
from prejoin.design.explain import explain
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import Severity
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

SESSIONS = """# Sessions

## Entities

### Session

- **Attributes**:
  - `sessionId` (string, generated)
  - `token` (string, unique, immutable)
  - `state` (OPEN | DONE, mutable)
  - `seenAt` (datetime, mutable)
- **Cardinality**: 100K total

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Session | token | Single | - | No | 50/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Session | Session | create Session | No | 5/s |
| AP-021 | Session | token, seenAt | update Session (seenAt) | No | 5/s |
| AP-022 | Session | token | delete Session | No | 1/s |
"""
BY_STATE = "| AP-002 | Session | state | Collection | seenAt DESC | Yes | 1/s |\n"
BY_ID = "| AP-003 | Session | sessionId | Single | - | No | 50/s |\n"


def sessions(*changed: tuple[str, str], reads: str = "") -> Workload:
    text = SESSIONS.replace("\n\n### Writes", f"\n{reads}\n### Writes")
    for old, new in changed:
        assert old in text
        text = text.replace(old, new)
    found = read_text(text, "md")
    assert not [one for one in found.diagnostics if one.severity is Severity.ERROR]
    return found.workload


def key(workload: Workload) -> str:
    found = solve(workload)
    assert false_claims(workload, found, explain(workload, found)) == []
    assert not [one for one in check_design(found.design, workload) if one.severity is Severity.ERROR]
    item = found.design.item("Session")
    assert item is not None
    return f"{item.facets[0].pk[0]} / {item.facets[0].sk[0]}"


def test_unique_value_is_the_key_and_needs_no_guard() -> None:
    workload = sessions()
    design = solve(workload).design
    assert key(workload) == "TOKEN#{token} / SESSION"
    assert not design.guards
    assert all(len(operation.requests) == 1 for operation in design.operations)
    assert prove(workload, design, Embedded()).right


def test_unique_value_within_a_tenant_is_the_key() -> None:
    workload = sessions(("## Entities", "## Context\n\n- **Tenant**: accountId\n\n## Entities"))
    assert key(workload) == "TENANT#{accountId}#TOKEN#{token} / SESSION"
    assert prove(workload, solve(workload).design, Embedded()).right


@pytest.mark.parametrize(
    "changed",
    [("unique, immutable", "unique, mutable"), ("unique, immutable", "unique"), ("unique, immutable", "immutable")],
)
def test_value_that_may_change_or_repeat_is_not_the_key(changed: tuple[str, str]) -> None:
    assert "sessionId" in key(sessions(changed))


def test_chosen_id_stays_in_the_key() -> None:
    """Two items could have the same id."""
    assert "sessionId" in key(sessions(("(string, generated)", "(string, natural)")))


def test_put_keeps_the_id_in_the_key() -> None:
    """It would replace the item of another id that has the same value."""
    assert "sessionId" in key(sessions(("create Session", "put Session")))


@pytest.mark.parametrize(
    "changed", [("| token, seenAt |", "| sessionId, seenAt |"), ("| token | delete", "| sessionId | delete")]
)
def test_write_by_the_id_keeps_the_id_in_the_key(changed: tuple[str, str]) -> None:
    assert "sessionId" in key(sessions(changed))


def test_read_by_the_id_keeps_the_id_in_the_key() -> None:
    assert key(sessions(reads=BY_ID)) == "SESSION#{sessionId} / SESSION"


def test_read_of_several_entities_by_the_id_keeps_the_id_in_the_partition() -> None:
    event = "`eventId` (string, generated)\n  - `sessionId` (string, immutable, → Session)"
    head = "| ID | Entity | Input Parameters | Result | Paginated | Frequency | Multi-Entity |\n" + 7 * "| --- " + "|\n"
    reads = f"{head}| AP-001 | Session, Event | sessionId | Collection | Yes | 50/s | Collection |\n"
    rows = (
        "| AP-023 | Event | Event | create Event | No | 5/s |\n| AP-024 | Event | eventId | delete Event | No | 5/s |"
    )
    workload = sessions(
        ("## Access", f"### Event\n\n- **Attributes**:\n  - {event}\n\n## Access"),
        (SESSIONS[SESSIONS.index("| ID") : SESSIONS.index("\n### Writes")], reads),
        ("| AP-022 | Session | token | delete Session | No | 1/s |", rows),
    )
    assert key(workload) == "SESSION#{sessionId} / #SESSION"


def test_unique_key_is_not_split_into_shards() -> None:
    """Two items of the same value would be in two shards."""
    busy = ("create Session | No | 5/s", "create Session | No | 4,000/s")
    workload = sessions(("100K total", "5 total\n- **Size**: 3 KB"), busy)
    assert key(workload) == "TOKEN#{token} / SESSION"


def test_write_that_knows_both_is_served_by_the_unique_key() -> None:
    assert key(sessions(("| token, seenAt |", "| sessionId, token, seenAt |"))) == "TOKEN#{token} / SESSION"


@pytest.mark.everyday(2)
@pytest.mark.parametrize("reads", ["", BY_ID + BY_STATE, BY_ID, BY_STATE])
def test_brute_force_finds_nothing_better(reads: str) -> None:
    """With BY_STATE an update has to read the id, which is a part of the key in the index."""
    workload = sessions(reads=reads)
    found = solve(workload).design
    assert objective(workload, found) <= objective(workload, best_design(workload))
    assert prove(workload, found, Embedded()).right


def test_partition_that_only_a_guard_makes_hot_is_avoided() -> None:
    """A guard makes each creation a transaction of twice the units. With the unique value as the key there is none."""
    team = "### Team\n\n- **Attributes**:\n  - `teamId` (string, generated)\n- **Cardinality**: 1 total\n\n### Session"
    text = (
        SESSIONS.split("| AP-021")[0]
        .replace("### Session", team)
        .replace("create Session | No | 5/s", "create Session | No | 700/s")
    )
    text = text.replace("`state` (OPEN", "`teamId` (string, immutable, → Team)\n  - `state` (OPEN")
    text = text.replace("| token | Single | - | No | 50/s |", "| teamId | Collection | - | Yes | 1/s |")
    workload = read_text(text, "md").workload
    found = solve(workload)
    assert key(workload) == "TOKEN#{token} / SESSION"
    assert objective(workload, found.design).hot == 0
    assert found.chosen.least == objective(workload, found.design).complexity
