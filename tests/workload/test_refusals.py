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
    ("Account.balance = 0 or Account.status = OPEN", "PJ132", "`or` is not supported", "one row for each case"),
    ("Account exists or Entry exists", "PJ132", "`or` is not supported", "`status in (OPEN, DRAFT)`"),
    ("Account.balance + amount <= 5", "PJ132", "cannot compute: `+`", "`due >= amount`"),
    ("Account.balance - amount >= 0", "PJ132", "cannot compute: `-`", "keep the result as an attribute"),
    ("Account.balance >= 3 * amount", "PJ132", "cannot compute: `*`", "keep the result as an attribute"),
    ("Account.held <= Account.balance - amount", "PJ132", "cannot compute: `-`", "keep the result as an attribute"),
    ("Account.balance >= Account.held", "PJ207", "`Account.held` is an attribute", "`available >= amount`"),
    ("balance >= held", "PJ207", "`held` is an attribute", "`available >= amount`"),
    ("Account.owner = reviewer", "PJ207", "`reviewer` is an attribute", 'written `"reviewer"`'),
    ("Account.owner <> Account.reviewer", "PJ207", "`Account.reviewer` is an attribute", "as an input"),
    ("Account.closesOn < endsOn", "PJ207", "`endsOn` is an attribute", "as an input"),
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


@pytest.mark.parametrize("read", ["filter balance < held", "filter owner = reviewer", "filter balance < Account.held"])
def test_a_read_that_compares_attributes_is_refused(read: str) -> None:
    (error,) = errors_of(document(read=read))
    assert error.code == "PJ207"
    assert "is an attribute" in error.message
    assert "keep the result of the comparison as an attribute" in error.fix


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
