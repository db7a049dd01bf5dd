"""What a word after an operator stands for: an input, another attribute of the item, or a constant; in quotes, a text."""

from __future__ import annotations

import pytest

from prejoin.workload.conditions import all_leaves, values_of
from prejoin.workload.files import read_text, write_text
from prejoin.workload.model import Value

DOCUMENT = """\
# Shop

## Entities

### Product

- `productId` (string, natural)
- `label` (string, mutable)
- `note` (string, mutable)

### Sale

- `saleId` (string, natural)
- `productId` (string, immutable, → Product)
- `label` (string, mutable)
- `word` (string, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Product | One | productId | Single | - |
| AP-002 | Sale | One | saleId | Single | - |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Sale, Product | Sell | INPUTS | create SaleCHANGE | Yes | CONDITION |
"""
GIVEN = {"object": "Sale", "inputs": "saleId, productId, label, word"}
"""The new sale as an object, or its attributes one by one."""
MEANT: dict[tuple[str, str], Value] = {
    ("label", "condition"): Value(param="label"),
    ("word", "condition"): Value(param="word"),
    ("other", "condition"): Value(const="other"),
    ("other", "change"): Value(const="other"),
    ("productId", "change"): Value(attribute="productId"),
}
"""What a word means without quotes, by the place where it stands. As an input, `productId` is meant itself."""


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("is_quoted", [False, True], ids=["bare", "quoted"])
@pytest.mark.parametrize(("word", "place"), MEANT)
def test_a_word_is_an_input_an_attribute_or_a_constant(word: str, place: str, is_quoted: bool, given: str) -> None:
    said = f'"{word}"' if is_quoted else word
    condition = f"Product.note = {said}" if place == "condition" else "-"
    change = f" (word = {said})" if place == "change" else ""
    text = DOCUMENT.replace("INPUTS", GIVEN[given]).replace("CHANGE", change).replace("CONDITION", condition)
    workload = read_text(text, "md").workload
    (write,) = workload.writes
    if place == "condition":
        (value,) = [value for leaf in all_leaves(write) for value in values_of(leaf)]
    else:
        (value,) = [change.value for change in write.actions[0].changes]
    expected = MEANT[word, place]
    if expected.attribute is not None and given == "inputs":
        expected = Value(param=expected.attribute)
    assert value == (Value(const=word) if is_quoted else expected)
    assert type(value.const) in (str, type(None))
    for form in ("md", "yaml"):
        assert read_text(write_text(workload, form), form).workload == workload
