"""Index keys: texts, or attributes as they are. Both serve the same reads, and the better form is chosen."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.design.texts import changes_of, sort_text
from tests.design.workloads import workloads
from tests.place import examples
from tests.solutions import solve

from prejoin.design.cost.objective import objective
from prejoin.design.document.read_document import read_document
from prejoin.design.document.write_document import write_document
from prejoin.design.explain import explain
from prejoin.design.layout.index_keys import composite_form, is_natural_index
from prejoin.design.layout.projection import WORTH
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text
from prejoin.workload.grammar.statements import read_pin, write_pin
from prejoin.workload.model import Decision, IndexKeyForm, IndexKeys, Workload

DOCUMENT = """# Orders

## Entities

### Order

- **Attributes**:
  - `orderId` (ulid, generated)
  - `userId` (ulid, immutable)
  - `status` (OPEN | PAID | SENT, mutable)
  - `total` (integer, mutable)
  - `note` (string, optional, mutable)
  - `active` (boolean, mutable)
  - `createdAt` (datetime, immutable)

### Refund

- **Attributes**:
  - `refundId` (ulid, generated)
  - `userId` (ulid, immutable)
  - `state` (OPEN | PAID, mutable)
  - `createdAt` (datetime, immutable)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Order | orderId | Single | - | No | 10/s | No |
| AP-002 | Refund | refundId | Single | - | No | 10/s | No |
{reads}

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Order | orderId, status | update Order (status) | No | - | 10/s |
| AP-021 | Order | orderId | update Order (total += 1) | No | - | 10/s |
"""
BY_STATUS = "| AP-010 | Order | userId, status | Collection | createdAt DESC | Yes (20) | 10/s | No |"
BY_DATE = "| AP-011 | Order | userId | Collection | createdAt DESC | Yes (20) | 10/s | No |"
BY_TOTAL = "| AP-012 | Order | userId, total between | Collection | total DESC | Yes (20) | 10/s | No |"
BY_NOTE = "| AP-013 | Order | userId | Collection | note ASC | Yes (20) | 10/s | No |"
ALL = "| AP-014 | Order | - | Collection | createdAt ASC | Yes (20) | 1/s | No |"
ACTIVE = "| AP-015 | Order | userId, active | Collection | createdAt ASC | Yes (20) | 1/s | No |"
UNSENT = "| AP-016 | Order | userId, note not exists | Collection | createdAt ASC | Yes (20) | 1/s | No |"
REFUNDS = "| AP-017 | Refund | userId | Collection | state ASC | Yes (20) | 1/s | No |"
TOGETHER = "| AP-018 | Order, Refund | userId | Collection | createdAt DESC | Yes (20) | 9/s | Collection |"


def read(*reads: str, form: IndexKeyForm | None = None) -> Workload:
    workload = read_text(DOCUMENT.format(reads="\n".join(reads)), "md").workload
    return decided(workload, form) if form else workload


def decided(workload: Workload, form: IndexKeyForm) -> Workload:
    return replace(workload, decisions=(*workload.decisions, Decision(IndexKeys(form))))


def indexes(design: Design) -> list[tuple[list[str], list[str]]]:
    return [([a.name for a in slot.pk], [a.name for a in slot.sk]) for slot in design.indexes]


def is_right(workload: Workload, design: Design) -> bool:
    with Embedded() as engine:
        return prove(workload, design, engine).right


@pytest.mark.parametrize("form", [None, IndexKeyForm.NATURAL])
def test_natural_keys_save_reading_first(form: IndexKeyForm | None) -> None:
    """As a text, the key of a new status needs the user and the date, which the write does not know."""
    workload = read(BY_STATUS, form=form)
    design = solve(workload).design
    assert indexes(design) == [(["userId"], ["status", "createdAt"])]
    operation = design.operation("AP-020")
    assert operation is not None
    (request,) = operation.requests
    assert changes_of(request.actions[0]) == ["SET status = {status}"]
    assert is_right(workload, design)
    assert read_document(write_document(design, workload), workload).design.slots == design.slots


def test_decided_texts_read_first() -> None:
    workload = read(BY_STATUS, form=IndexKeyForm.COMPOSITE)
    solution = solve(workload)
    assert indexes(solution.design) == [(["gsi1pk"], ["gsi1sk"])]
    operation = solution.design.operation("AP-020")
    assert operation is not None
    assert len(operation.requests) == 2
    assert objective(workload, solve(read(BY_STATUS)).design) < objective(workload, solution.design)
    (index,) = explain(workload, solution).indexes
    assert (
        "could be the attributes `userId` / `status` + `createdAt` themselves: these would save a request of AP-020"
        in (" ".join(index.text))
    )


def test_forms_of_equal_cost_leave_texts() -> None:
    """Texts leave the index open to other entities."""
    assert indexes(solve(read(BY_DATE)).design) == [(["gsi1pk"], ["gsi1sk"])]


def test_natural_index_holds_no_other_entity() -> None:
    """A refund has `userId` and `createdAt`, too; only an order has an `orderId`."""
    workload = read(BY_DATE, form=IndexKeyForm.NATURAL)
    design = solve(workload).design
    assert indexes(design) == [(["userId"], ["createdAt", "orderId"])]
    assert is_right(workload, design)


def test_increment_of_a_natural_key_reads_nothing() -> None:
    workload = read(BY_TOTAL)
    design = solve(workload).design
    assert indexes(design) == [(["userId"], ["total"])]
    operation = design.operation("AP-012")
    assert operation is not None
    assert sort_text(operation.requests[0]) == "between {total from} and {total to}"
    assert is_right(workload, design)


@pytest.mark.parametrize("asked", [BY_NOTE, ALL, ACTIVE, UNSENT], ids=["optional", "all", "boolean", "absent"])
def test_what_no_attribute_expresses_stays_text(asked: str) -> None:
    workload = read(asked, form=IndexKeyForm.NATURAL)
    design = solve(workload).design
    assert indexes(design) == [(["gsi1pk"], ["gsi1sk"])]
    assert is_right(workload, design)


def test_entities_with_different_keys_share_texts() -> None:
    workload = read(BY_DATE, REFUNDS, form=IndexKeyForm.NATURAL)
    assert indexes(solve(workload).design) == [(["gsi1pk"], ["gsi1sk"])]


@pytest.mark.parametrize("type_", ["string", "boolean", "map"])
def test_attribute_with_another_type_elsewhere_is_no_index_key(type_: str) -> None:
    """DynamoDB would refuse every refund: its `total` is not a number."""
    text = DOCUMENT.format(reads=BY_TOTAL).replace("`state` (OPEN | PAID, mutable)", f"`total` ({type_}, mutable)")
    workload = decided(read_text(text, "md").workload, IndexKeyForm.NATURAL)
    design = solve(workload).design
    assert indexes(design) == [(["gsi1pk"], ["gsi1sk"])]
    assert is_right(workload, design)


def test_entities_that_are_read_together_share_attributes() -> None:
    workload = read(TOGETHER, form=IndexKeyForm.NATURAL)
    design = solve(workload).design
    assert indexes(design) == [(["userId"], ["createdAt"])]
    assert is_right(workload, design)


def test_index_in_use_and_decided_key_keep_their_form() -> None:
    before = solve(read(BY_STATUS, form=IndexKeyForm.COMPOSITE)).design
    assert indexes(solve(read(BY_STATUS), before).design) == [(["gsi1pk"], ["gsi1sk"])]
    natural = solve(read(BY_STATUS)).design
    both = read(BY_STATUS, BY_NOTE, form=IndexKeyForm.COMPOSITE)
    grown = solve(both, natural).design
    assert indexes(grown)[0] == (["userId"], ["status", "createdAt"])
    assert all(operation.served for operation in grown.operations)
    assert is_right(both, grown)
    pin = read_pin("Order has key `MINE#{userId}#{status}` and `{createdAt}` in gsi1")
    pinned = replace(read(BY_STATUS, form=IndexKeyForm.NATURAL), decisions=(Decision(pin),))
    assert indexes(solve(pinned).design) == [(["gsi1pk"], ["gsi1sk"])]


def test_explanation_compares_both_forms() -> None:
    workload = read(BY_STATUS)
    solution = solve(workload)
    (index,) = explain(workload, solution).indexes
    said = " ".join(index.text)
    assert "Its keys are the attributes `userId` / `status` + `createdAt` themselves" in said
    texts = composite_form(solution.design, workload, solution.design.indexes[0])
    more = objective(workload, texts).dollars - objective(workload, solution.design).dollars
    assert f"Compared with key templates, they save a request of AP-020 and cost ${more:.2f} a month less." in said


@pytest.mark.parametrize("form", IndexKeyForm)
def test_decision_is_read_as_it_is_written(form: IndexKeyForm) -> None:
    assert read_pin(write_pin(IndexKeys(form))) == IndexKeys(form)


@given(workloads())
@settings(max_examples=examples(25))
def test_default_is_at_least_as_good_as_either_form(workload: Workload) -> None:
    found = solve(workload).design
    for form in IndexKeyForm:
        other = solve(decided(workload, form)).design
        best = objective(workload, other)
        assert objective(workload, found) <= replace(best, dollars=best.dollars + WORTH)
        assert [o.served for o in found.operations] == [o.served for o in other.operations]
        if form is IndexKeyForm.NATURAL and any(is_natural_index(other, slot) for slot in other.indexes):
            assert is_right(workload, other)


def test_two_indexes_become_natural_together() -> None:
    """The write has to read first as long as one of the two is a text."""
    workload = read(BY_STATUS, "| AP-019 | Order | status, userId, total | Collection | - | Yes (20) | 1/s | No |")
    design = solve(workload).design
    assert all(is_natural_index(design, slot) for slot in design.indexes)
    assert len(design.indexes) == 2
    assert not any(operation.read_first for operation in design.operations)


@pytest.mark.parametrize("inputs", ["userId, status, total? between", "userId, status, filter total <"])
def test_attribute_that_a_read_filters_by_is_no_key_as_it_is(inputs: str) -> None:
    """DynamoDB refuses a filter by a key."""
    reads = f"| AP-019 | Order | {inputs} | Collection | total DESC | Yes (20) | 10/s | No |"
    for workload in (read(reads), decided(read(reads), IndexKeyForm.NATURAL)):
        design = solve(workload).design
        assert not any("total" in {a.name for a in slot.sk} for slot in design.indexes)
        assert all(operation.served for operation in design.operations)
        assert is_right(workload, design)


def test_filter_by_a_key_of_a_natural_index_is_refused() -> None:
    """As in a design that somebody wrote, or that has been in use before the read."""
    by_total = "| AP-018 | Order | userId, status | Collection | total DESC | Yes (20) | 10/s | No |"
    design = solve(decided(read(by_total), IndexKeyForm.NATURAL)).design
    assert [a.name for a in design.indexes[0].sk] == ["status", "total"]
    filtered = "| AP-019 | Order | userId, status, filter total < | Collection | - | Yes (20) | 10/s | No |"
    found = map_patterns(design, read(by_total, filtered)).operation("AP-019")
    assert found is not None
    assert found.problem == "total would be a filter, and DynamoDB does not filter by a key of gsi1"
