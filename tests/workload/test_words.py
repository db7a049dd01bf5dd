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


WORDS = [
    "label",
    "word",
    "productId",
    "saleId",
    "Sale",
    "now",
    "true",
    "null",
    "5",
    "-3",
    "exists",
    "a and b",
    "x;y",
    "a, b",
    "or",
]
"""Texts that mean something else without quotes: attributes, inputs, entities, times, numbers, operators."""
PLACES = {
    "condition": ("CONDITION", "Product.note = {}"),
    "condition of the new item": ("CONDITION", "Sale.word <> {}"),
    "value of the new item": ("CHANGE", " (word = {})"),
    "change": ("CHANGE", "; update Product (note = {})"),
    "input": ("| One | saleId | Single | - |", "| One | word = {} | Collection | - |"),
    "filter": ("| One | saleId | Single | - |", "| One | productId, filter word = {} | Collection | - |"),
    "default": ("- `note` (string, mutable)", "- `note` (string, mutable, default {})"),
}


@pytest.mark.everyday(3)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("place", PLACES)
def test_a_text_in_quotes_is_a_text_wherever_it_stands(place: str, given: str) -> None:
    marker, said = PLACES[place]
    for word in WORDS:
        text = DOCUMENT.replace("INPUTS", GIVEN[given]).replace(marker, said.format(f'"{word}"'))
        reading = read_text(text.replace("CHANGE", "").replace("CONDITION", "-"), "md")
        assert [one for one in reading.diagnostics if one.severity == "error"] == [], word
        workload = reading.workload
        (write,) = workload.writes
        values = [value for leaf in all_leaves(write) for value in values_of(leaf)]
        values += [change.value for action in write.actions for change in action.changes if change.value]
        values += [value for one in workload.reads[1].inputs for value in one.values]
        values += [Value(const=attribute.default) for attribute in workload.entities[0].attributes if attribute.default]
        assert Value(const=word) in values
        for form in ("md", "yaml", "json"):
            assert read_text(write_text(workload, form), form).workload == workload


BESIDE = {
    "change beside a change": ("Sale", "create Sale (word = {quoted}, label = {bare})", "-"),
    "change beside a condition": ("saleId", "update Sale (word = {quoted})", "label = {bare}"),
    "condition beside a condition": ("saleId", "delete Sale", "word = {quoted}; label <> {bare}"),
    "condition in parentheses": ("saleId", "delete Sale", "not (word in ({quoted}, x) or label = {bare})"),
    "condition beside a change": ("Sale", "create Sale (word = {bare})", "label = {quoted}"),
}
"""A text in quotes, and the same without quotes elsewhere in the row: the inputs, the items written, the conditions."""


@pytest.mark.parametrize("place", BESIDE)
def test_a_text_in_quotes_is_a_text_beside_the_same_word_without_quotes(place: str) -> None:
    inputs, items, conditions = BESIDE[place]
    table = DOCUMENT[: DOCUMENT.index("| AP-010")]
    for bare, quoted in (("productId", '"productId"'), ("note", "'note'"), ("null", '"null"'), ("other", '"other"')):
        row = f"| AP-010 | Sale | Sell | {inputs} | {items} | Yes | {conditions} |".format(quoted=quoted, bare=bare)
        reading = read_text(f"{table}{row}\n", "md")
        errors = [one.message for one in reading.diagnostics if one.severity == "error"]
        assert len(errors) == (1 if bare == "null" else 0), row  # `label = null` is a mistake, and "null" a text
        (write,) = reading.workload.writes
        values = [value for leaf in all_leaves(write) for value in values_of(leaf)]
        values += [change.value for action in write.actions for change in action.changes if change.value]
        assert Value(const=bare) in values, row
