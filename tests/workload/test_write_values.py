"""Changes and conditions of writes that would have no effect, or could never be true, are errors with a way on."""

from __future__ import annotations

import pytest

from prejoin.diagnostics import Severity
from prejoin.workload.files import read_text

DOCUMENT = """# Seats

## Entities

### Seat

- **Attributes**:
  - `seatId` (string, natural)
  - `holderId` (string, optional, mutable)
  - `n` (integer, mutable)
  - `share` (decimal, mutable)
  - `tags` (set of string, optional, mutable)

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Seat | get | seatId | Single |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Seat | write | {inputs} | {items} | {transaction} | {conditions} |
"""


def errors(inputs: str, items: str, conditions: str = "-", transaction: str = "No") -> list[tuple[str, str]]:
    """The code and the fix of each error."""
    text = DOCUMENT.format(inputs=inputs, items=items, conditions=conditions, transaction=transaction)
    return [(d.code, d.fix) for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]


@pytest.mark.parametrize("transaction", ["No", "Yes"])
@pytest.mark.parametrize(
    ("inputs", "items"),
    [
        ("seatId", "update Seat (n = 1, n = 2)"),
        ("seatId", "update Seat (n += 1, n -= 1)"),
        ("seatId", "update Seat (n += 1, n += 1)"),
        ("seatId", "update Seat (n = 1, n += 1)"),
        ("seatId, n", "update Seat (n, n = 2)"),
        ("seatId, n", "update Seat (n, n)"),
        ("seatId", "update Seat (n += 1); update Seat (n += 1)"),
        ("seatId", "update Seat (n += 1); update Seat (n = 2)"),
        ("seatId, tag", "update Seat (append tags = tag, remove tags)"),
        ("seatId", "upsert Seat (n = 1, n = 2, share = 1)"),
        ("seatId[]", "update Seat[] (n = 1, n = 2)"),
        ("Seat", "create Seat (n = 1, n = 2)"),
        ("Seat", "put Seat (n = 1, n = 2)"),
    ],
)
def test_an_attribute_is_changed_once(inputs: str, items: str, transaction: str) -> None:
    name = "tags" if "tags" in items else "n"
    assert ("PJ212", f"write one change of `{name}`") in errors(inputs, items, transaction=transaction)


@pytest.mark.parametrize(
    ("inputs", "items"),
    [
        ("seatId", "update Seat (n = 1, share = 2)"),
        ("seatId", "update Seat (n += 1); update Seat (share = 2)"),
        ("fromSeatId, toSeatId", "update Seat by fromSeatId (n -= 1); update Seat by toSeatId (n += 1)"),
    ],
)
def test_two_attributes_and_two_items_are_changed(inputs: str, items: str) -> None:
    assert errors(inputs, items, transaction="Yes") == []


@pytest.mark.parametrize("condition", ["-", "n > 0", "exists"])
@pytest.mark.parametrize("verb", ["update Seat", "upsert Seat"])
def test_an_update_changes_something(verb: str, condition: str) -> None:
    (fix,) = [fix for code, fix in errors("seatId", verb, condition) if code == "PJ317"]
    assert fix == f"write `{verb} (attribute, …)`"
    (fix,) = [fix for code, fix in errors("Seat", verb, condition) if code == "PJ317"]
    assert "`put Seat`" in fix
    assert "PJ317" not in dict(errors("seatId, n", verb, condition))


AMOUNTS = {
    ("n", "amount < 0"): True,
    ("n", "amount <= 0"): True,
    ("n", "amount < 1"): True,
    ("n", "amount <= -5; amount <> 7"): True,
    ("n", "amount < 2"): False,
    ("n", "amount <= 1"): False,
    ("n", "amount <> 0"): False,
    ("n", "amount < 0; amount >= -5"): False,
    ("n", "amount between -5 and -1"): False,
    ("n", "amount = 0"): False,
    ("share", "amount < 0"): True,
    ("share", "amount <= 0"): True,
    ("share", "amount < 0.5"): False,
    ("share", "amount <= 0.5"): False,
}
"""Conditions on the amount of `-= amount`, with whether they allow none that is more than 0."""


def test_an_amount_can_be_more_than_0() -> None:
    for (attribute, condition), is_refused in AMOUNTS.items():
        found = errors("seatId, amount", f"update Seat ({attribute} -= amount)", condition)
        assert [code for code, _ in found] == ["PJ212"] * is_refused, (attribute, condition)
        assert errors("seatId, amount", f"update Seat ({attribute} += amount)", condition) == []


def test_an_upsert_that_only_creates_compares_no_stored_item() -> None:
    assert errors("seatId, n, share", "upsert Seat (n, share)", "not exists") == []
    assert errors("seatId, n, share", "upsert Seat (n, share)", "n > 3") == []
    for condition in ("Seat.n > 3", "holderId exists", "holderId not exists", "holderId = abc"):
        found = errors("seatId, n, share", "upsert Seat (n, share)", f"not exists; {condition}")
        assert [code for code, _ in found] == ["PJ212"], condition
        assert "`create Seat`" in found[0][1]


def test_a_checked_item_that_must_be_absent_has_no_attributes() -> None:
    for condition, codes in (("Seat not exists", []), ("Seat not exists; Seat.n > 3", ["PJ212"])):
        text = DOCUMENT.replace("## Access Patterns", PERSON)
        row = "| AP-010 | Person, Seat | write | Person | create Person | Yes | CONDITION |\n"
        text = text[: text.index("| AP-010")] + row.replace("CONDITION", condition)
        assert [d.code for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR] == codes


PERSON = """### Person

- **Attributes**:
  - `personId` (string, natural)
  - `seatId` (string, immutable, → Seat)

## Access Patterns"""


@pytest.mark.parametrize("number", ["1e3", "2E2", "1000", "5e0"])
def test_an_integer_may_have_an_exponent(number: str) -> None:
    assert errors("seatId", f"update Seat (n = {number})") == []
    assert errors("seatId", "update Seat (holderId = x)", f"n >= {number}") == []


@pytest.mark.parametrize("number", ["1e-3", "15e-1", "1.5", "1.0e3"])
def test_an_integer_has_no_fraction(number: str) -> None:
    assert [code for code, _ in errors("seatId", f"update Seat (n = {number})")] == ["PJ207"]
