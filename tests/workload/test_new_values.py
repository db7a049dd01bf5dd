"""Values of new items that a row says: what they may be, and how they are written."""

from __future__ import annotations

import pytest

from prejoin.diagnostics import Severity
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_text
from prejoin.workload.model import Value

DOCUMENT = """\
# Bills

## Entities

### Invoice

- **Attributes**:
  - `invoiceId` (uuid, generated)
  - `total` (integer, mutable)
  - `due` (integer, mutable)
  - `rest` (decimal, mutable)
  - `extra` (integer, optional, mutable)
  - `code` (string, mutable, unique)

### Line

- **Attributes**:
  - `lineId` (uuid, generated)
  - `pieces` (integer, immutable)

## Access Patterns

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Invoice | Bill | INPUTS | ITEMS | No | - |
"""


def document(inputs: str, items: str) -> str:
    return DOCUMENT.replace("INPUTS", inputs).replace("ITEMS", items)


@pytest.mark.parametrize(
    ("inputs", "items", "value"),
    [
        ("Invoice", "create Invoice (due = total)", Value(attribute="total")),
        ("Invoice[]", "put Invoice[] (due = total)", Value(attribute="total")),
        ("invoiceId", "create Invoice (due = Invoice.total)", Value(attribute="total")),
        ("invoiceId, total", "create Invoice (due = total)", Value(param="total")),
        ("Invoice", "create Invoice (due = total, total = 5)", Value(const="5")),
        ("Invoice, n", "create Invoice (due = total, total = n)", Value(param="n")),
        ("invoiceId", 'create Invoice (code = "total")', Value(const="total")),
    ],
)
def test_a_value_is_an_attribute_an_input_or_a_constant(inputs: str, items: str, value: Value) -> None:
    reading = read_text(document(inputs, items), "md")
    assert [d.message for d in reading.diagnostics if d.severity is Severity.ERROR] == []
    assert reading.workload.writes[0].actions[0].changes[0].value == value
    again = read_text(write_document(reading.workload), "md")
    assert again.workload.writes == reading.workload.writes


@pytest.mark.parametrize(
    ("inputs", "items", "message", "fix"),
    [
        ("invoiceId", "update Invoice (due = total)", "can be set only to an input or a constant", "only `create` and"),
        ("invoiceId", "upsert Invoice (due = total)", "can be set only to an input or a constant", "only `create` and"),
        ("Invoice", "create Invoice (due = total, total = due)", "which is set to it", "set one of them"),
        ("Invoice", "create Invoice (rest = total)", "the value cannot be taken over", "with the same type"),
        ("Invoice", "create Invoice (due = extra)", "may be absent", "mark `due` optional"),
        ("Invoice[]", "create Invoice[] (code = A)", "the same value in each", "take `unique` away"),
        (
            "invoiceId, Line[]",
            "create Line[]; update Invoice (due -= pieces)",
            "attribute of each Line",
            "give the value as an input of its own: `update Invoice (due -= amount)`",
        ),
    ],
)
def test_other_values_are_refused_with_a_way_on(inputs: str, items: str, message: str, fix: str) -> None:
    reading = read_text(document(inputs, items), "md")
    found = [d for d in reading.diagnostics if d.severity is Severity.ERROR and message in d.message]
    assert len(found) >= 1, [d.message for d in reading.diagnostics]
    assert fix in found[0].fix
