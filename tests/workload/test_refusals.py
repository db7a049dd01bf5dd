"""Conditions that DynamoDB or the document cannot express are refused in true words, with the way on."""

from __future__ import annotations

import pytest

from prejoin.diagnostics import Diagnostic, Severity
from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_text

DOCUMENT = """\
# Bank

## Entities

### Account

- **Attributes**:
  - `accountId` (string, natural)
  - `balance` (integer, mutable)
  - `held` (integer, mutable)
  - `owner` (string, mutable)
  - `reviewer` (string, mutable)
  - `status` (OPEN | DONE | held, mutable)
  - `closesOn` (date, mutable)
  - `endsOn` (date, mutable)

### Entry

- **Attributes**:
  - `entryId` (ulid, generated)
  - `accountId` (string, → Account)
  - `amount` (integer)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Account | One | accountId READ | Single | - |
| AP-002 | Entry | Of an account | accountId | Collection | - |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Account, Entry | Book | accountId, entryId, amount | create Entry; update Account (CHANGE) | Yes | CONDITION |
| AP-021 | Account | Open | Account | create Account | No | - |
"""


def document(condition: str = "-", change: str = "balance += amount", read: str = "") -> str:
    text = DOCUMENT.replace("CONDITION", condition).replace("CHANGE", change)
    return text.replace(" READ", f", {read}" if read else "")


def errors_of(text: str) -> list[Diagnostic]:
    return [d for d in read_text(text, "md").diagnostics if d.severity is Severity.ERROR]


def test_the_document_is_sound() -> None:
    assert errors_of(document("Account.status = OPEN")) == []


# A condition, its code, a part of the message, and a part of the fix.
REFUSED = [
    ("Account.balance = 0 or Entry.amount = 5", "PJ248", "is about `Account` and `Entry`", "one row for each case"),
    ("Account.balance = 0 or amount = 5", "PJ248", "is about `Account` and `Entry`", "one row for each case"),
    ("not status = OPEN", "PJ132", "before a condition in parentheses", "`not (status = SOLD)`"),
    ("(Account.balance = 0", "PJ132", "the parenthesis is not closed", "(a = 1 or b = 2)"),
    ("owner unique or status = OPEN", "PJ132", "`owner unique` cannot be a part", "after a semicolon"),
    ("Account.balance >= Account.owner", "PJ208", "`balance` is integer and `owner` is string", "the same type"),
    (
        "Account.balance >= Entry.amount",
        "PJ207",
        "`Entry.amount` is no attribute of the item",
        "attributes of one item",
    ),
    ("balance between held and 5", "PJ208", "`held` is an attribute", "`balance >= held`"),
    ("Account.balance + amount <= 5", "PJ132", "cannot compute: `+`", "`due >= amount`"),
    ("Account.balance - amount >= 0", "PJ132", "cannot compute: `-`", "keep the result as an attribute"),
    ("Account.balance >= 3 * amount", "PJ132", "cannot compute: `*`", "keep the result as an attribute"),
    ("Account.held <= Account.balance - amount", "PJ132", "cannot compute: `-`", "keep the result as an attribute"),
]


@pytest.mark.parametrize(("condition", "code", "message", "fix"), REFUSED)
def test_a_condition_is_refused_with_the_way_on(condition: str, code: str, message: str, fix: str) -> None:
    text = document(condition)
    (error,) = errors_of(text)
    assert (error.code, error.line) == (code, text[: text.index("| AP-020")].count("\n") + 1)
    assert message in error.message
    assert fix in error.fix


@pytest.mark.parametrize("change", ["balance = held", "owner = reviewer", "balance += held"])
def test_a_change_to_another_attribute_is_refused(change: str) -> None:
    (error,) = errors_of(document(change=change))
    assert error.code == "PJ207"
    assert "can be set only to an input or a constant" in error.message


# A condition, and how it is written.
MEANT = [
    ("Account.balance >= Account.held", "Account.balance >= held"),
    ("balance >= held", "balance >= held"),
    ("Account.owner = reviewer", "Account.owner = reviewer"),
    ("Account.closesOn < endsOn", "Account.closesOn < endsOn"),
    ("amount <= balance", "balance >= amount"),
    ("amount < Account.balance", "Account.balance > amount"),
    ("held <= 5 or status = OPEN and balance > 0", "held <= 5 or (status = OPEN and balance > 0)"),
    ("(held <= 5 or status = OPEN) and balance > 0", "held <= 5 or status = OPEN; balance > 0"),
    ("not (status = OPEN or balance < held)", "not (status = OPEN or balance < held)"),
    ("not (not exists)", "not (not exists)"),
    ("Account.balance = 0 or Account.status = OPEN", "Account.balance = 0 or Account.status = OPEN"),
]


@pytest.mark.parametrize(("condition", "meant"), MEANT)
def test_a_condition_keeps_its_meaning_when_the_document_is_written(condition: str, meant: str) -> None:
    text = document(condition)
    assert errors_of(text) == []
    workload = read_text(text, "md").workload
    again = write_document(workload)
    assert f"| Yes | {meant} |" in again
    assert read_text(again, "md").workload == workload


@pytest.mark.parametrize("read", ["balance < held", "owner = reviewer"])
def test_a_read_that_compares_attributes_is_a_filter(read: str) -> None:
    (error,) = errors_of(document(read=read))
    assert error.code == "PJ207"
    assert "no key compares two attributes" in error.message
    assert f"write `filter {read}`" in error.fix
    assert errors_of(document(read=f"filter {read}")) == []


QUOTED = [
    'Account.owner = "reviewer"',
    "Account.status = held",
    "Account.status in (OPEN, DONE)",
    "Account.owner = ann",
]


@pytest.mark.parametrize("condition", QUOTED)
def test_a_text_in_quotes_and_a_member_of_an_enum_are_constants(condition: str) -> None:
    text = document(condition, read=f"filter {condition}")
    assert errors_of(text) == []
    again = write_document(read_document(text).workload)
    assert errors_of(again) == []
    assert read_document(again).workload == read_document(text).workload


def test_the_attributes_of_several_entities_are_listed_once() -> None:
    (error,) = errors_of(document("zzz = 3"))
    assert error.code == "PJ202"
    assert error.fix.count("`accountId`") == 1
