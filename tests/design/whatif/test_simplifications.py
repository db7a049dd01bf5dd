"""Simplifications: other ways to answer a read that is served, solved, priced and proven."""

from __future__ import annotations

import pytest
from tests.solutions import solve

from prejoin.design.explain import add_alternatives, explain
from prejoin.design.whatif.attempt import WhatIf, price_of
from prejoin.design.whatif.change import apply_change
from prejoin.design.whatif.simplifications import simplification_changes, simplify
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.checks import check
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

ACCOUNTS = """# Accounts

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
  - `email` (string, unique, {email})
  - `name` (string, mutable)
- **Cardinality**: 1M total
- **Size**: 300 B

### Vote

- **Attributes**:
  - `voteId` (ulid, generated)
  - `userId` (uuid, immutable, → User)
  - `pollId` (string, immutable)
- **Cardinality**: 100 per User, ~5K per pollId
- **Size**: 100 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | User | userId | Single | - | No | 5/s | No |
| AP-002 | User | email | Single | - | No | 5/s | No |
| AP-003 | Vote | pollId | Count | - | No | {counted} | No |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | User | userId, email, name | create User | No | email unique | 5/s |
| AP-021 | User | userId, name | update User (name) | No | - | 50/s |
| AP-022 | Vote | voteId, userId, pollId | create Vote | No | - | 5/s |

### Deletes

| ID | Entity | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-030 | User | userId, email | delete User | No | - | Cold |
"""


def accounts(email: str = "immutable", counted: str = "50/s") -> Workload:
    reading = read_text(ACCOUNTS.format(email=email, counted=counted), "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    return reading.workload


@pytest.mark.slow
def test_item_that_keeps_a_value_unique_is_proposed_as_its_lookup() -> None:
    workload = accounts()
    solution = solve(workload)
    assert len(solution.design.indexes) == 1
    found = simplify(WhatIf(workload, solution))
    lookup = next(one for one in found if "AP-002 reads an item by `email`" in one.text)
    assert (lookup.structures, lookup.changes_document) == (-1, True)
    assert lookup.dollars < 0
    assert "### UserEmail" in lookup.take
    assert "AP-030: delete User; delete UserEmail | Yes" in lookup.take
    explanation = add_alternatives(WhatIf(workload, solution), explain(workload, solution), most=0)
    assert set(found) <= set(explanation.relaxations)


def test_counter_is_proposed_for_a_count_that_costs_much() -> None:
    workload = accounts()
    found = simplify(WhatIf(workload, solve(workload)))
    assert found[0].text.startswith("a counter, `VoteCount.number`")
    assert found[0].dollars < 0


@pytest.mark.slow
def test_counter_is_not_proposed_for_a_count_that_costs_little() -> None:
    workload = accounts(counted="1/h")
    assert not [one for one in simplify(WhatIf(workload, solve(workload))) if "counter" in one.text]


@pytest.mark.slow
@pytest.mark.parametrize("email", ["mutable", "optional, immutable"])
def test_lookup_item_is_not_proposed_for_a_value_that_changes_or_is_absent(email: str) -> None:
    workload = accounts(email)
    assert not [one for one in simplify(WhatIf(workload, solve(workload))) if "AP-002" in one.text]


@pytest.mark.everyday(1)
@pytest.mark.parametrize("number", [0, 1])
def test_what_is_proposed_can_be_proven(number: int) -> None:
    workload = accounts()
    change = list(simplification_changes(WhatIf(workload, solve(workload))))[number]
    changed = apply_change(workload, change)
    assert [d for d in check(changed) if d.severity == "error"] == []
    after = solve(changed).design
    assert price_of(changed, after) < price_of(workload, solve(workload).design)
    with Embedded() as engine:
        proof = prove(changed, after, engine)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []
