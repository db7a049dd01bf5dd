"""Statements in backticks, which Markdown shows as code, mean the same as without."""

from __future__ import annotations

import pytest

from prejoin.workload.files import read_text, write_text

DOCUMENT = """# Tickets

## Entities

### Seat

- **Attributes**:
  - `seatId` (string, id)
  - `status` (FREE | HELD)
  - `first name` (string)
  - `heldUntil` (datetime, optional)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort |
| -- | ------ | ----------- | ---------------- | ------ | ---- |
| R1 | Seat | Seats | {inputs} | Collection | {sort} |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions |
| -- | ------ | ----------- | ---------------- | ------------- | ---------- |
| W1 | Seat | Hold | {given} | {items} | {conditions} |
"""
PLAIN = {
    "inputs": "status, heldUntil between",
    "sort": "heldUntil DESC",
    "given": "seatId, heldUntil?, `first name`",
    "items": "update Seat (status = HELD, `first name`, heldUntil)",
    "conditions": "status = FREE or heldUntil < now; Seat exists",
}
CODE = {
    "inputs": ["`status, heldUntil between`", "status, `heldUntil between`"],
    "sort": ["`heldUntil DESC`"],
    "given": ["`seatId, heldUntil?`, `first name`", "seatId, `heldUntil?`, `first name`"],
    "items": ["update `Seat` (`status = HELD`, `first name`, heldUntil)"],
    "conditions": [
        "`status = FREE or heldUntil < now`; `Seat exists`",
        "`status = FREE or heldUntil < now; Seat exists`",
    ],
}


@pytest.mark.parametrize("cell", CODE)
def test_a_statement_in_backticks_means_the_same(cell: str) -> None:
    plain = read_text(DOCUMENT.format(**PLAIN), "md").workload
    assert plain.writes[0].actions
    assert plain.writes[0].checks
    for text in CODE[cell]:
        workload = read_text(DOCUMENT.format(**{**PLAIN, cell: text}), "md").workload
        assert (workload.reads, workload.writes) == (plain.reads, plain.writes), text


def test_backticks_within_a_quoted_value_stay() -> None:
    text = DOCUMENT.format(**{**PLAIN, "items": 'update Seat (status = HELD, `first name` = "a `b = c` d")'})
    (change,) = [c for c in read_text(text, "md").workload.writes[0].actions[0].changes if c.attribute == "first name"]
    assert change.value is not None
    assert change.value.const == "a `b = c` d"


@pytest.mark.parametrize("name", ["$id <b>", "]]>", "<b>", "- # it's", "say: yes"])
def test_a_name_with_signs_is_no_statement(name: str) -> None:
    text = DOCUMENT.replace("first name", name).format(
        **{**PLAIN, "given": f"seatId, heldUntil?, `{name}`", "items": f"update Seat (`{name}`)"}
    )
    workload = read_text(text, "md").workload
    assert workload.writes[0].actions[0].changes[0].attribute == name


@pytest.mark.parametrize("name", ["a = b", "a, b", "paid?", "update it", "due exists"])
def test_a_name_that_looks_like_a_statement_is_in_double_backticks(name: str) -> None:
    text = DOCUMENT.replace("first name", name).format(
        **{**PLAIN, "given": f"seatId, ``{name}``", "items": f"update Seat (``{name}``)"}
    )
    workload = read_text(text, "md").workload
    assert workload.writes[0].actions[0].changes[0].attribute == name
    assert read_text(write_text(workload, "md"), "md").workload.writes == workload.writes
