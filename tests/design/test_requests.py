"""Literal requests of keys that are attributes, of writes that are repeated, and of writes with optional values."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.document.operation_rows import write_rows_of
from prejoin.design.document.read_document import read_document
from prejoin.design.document.write_document import write_document
from prejoin.design.explain.added import added_words
from prejoin.design.explain.operations import operation_words
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Call, Design, Did, Facet, Item, KeyAttribute, Slot
from prejoin.design.requests.literal import ItemRequest, KeyPart, ReadRequest, WriteRequest
from prejoin.design.requests.lower import literal_requests, repeated_requests
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import AtMost, Decision, Workload

ROOT = Path(__file__).parents[2]
PLACES = """# Places

## Entities

### Place

- **Attributes**:
  - `country` (string, id, natural)
  - `placeId` (string, id, natural)
  - `city` (string, immutable)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result |
| -- | ------ | ---------------- | ------ |
| R1 | Place | country, placeId | Single |
| R2 | Place | city, country | Collection |
"""


def requests_of(pattern: str, workload: Workload, design: Design) -> tuple[ReadRequest | WriteRequest, ...]:
    operation = design.operation(pattern)
    assert operation is not None
    return literal_requests(operation, workload, design)


def designed(path: str) -> tuple[Workload, Design]:
    workload = read_file(ROOT / path).workload
    return workload, solve(workload).design


def test_a_key_of_attributes_as_they_are_is_made_of_their_values() -> None:
    workload = read_text(PLACES, "md").workload
    country, place, city = KeyAttribute("country"), KeyAttribute("placeId"), KeyAttribute("city")
    slots = (Slot(TABLE, (country,), (place,)), Slot("gsi1", (city, country), (place,)))
    facets = (Facet(TABLE, ("{country}",), ("{placeId}",)), Facet("gsi1", ("{city}", "{country}"), ("{placeId}",)))
    design = map_patterns(Design("places", slots, (Item("Place", "Place", facets),)), workload)
    (get,) = requests_of("R1", workload, design)
    assert isinstance(get, ReadRequest)
    assert get.key == (KeyPart("country", "{country}"), KeyPart("placeId", "{placeId}"))
    (query,) = requests_of("R2", workload, design)
    assert [get.partition, query.partition if isinstance(query, ReadRequest) else ""] == ["{country}", "{city}"]


def test_a_repeated_write_checks_the_single_items_and_writes_those_of_the_list() -> None:
    workload, design = designed("tests/proof/market.md")
    operation = design.operation("W10")
    assert operation is not None
    find, transaction = repeated_requests(operation, workload, design)
    assert find.call is Call.QUERY
    assert isinstance(transaction, WriteRequest)
    written = [(item.action, str(item.item)) for item in transaction.items]
    assert written == [(Did.CHECK, "Project"), (Did.UPDATE, "Task")]


def test_repeated_requests_are_documented_and_written_once() -> None:
    workload, design = designed("tests/proof/market.md")
    text = write_document(design, workload)
    assert text.count("With `again=True`") == 2
    reading = read_document(text, workload)
    assert write_document(reading.design, workload, reading.kept).count("With `again=True`") == 2


def test_a_check_instead_of_an_update_is_documented_only_where_another_item_is_written() -> None:
    workload, design = designed("tests/render/python/documents/partial.md")
    checked = []
    for write in (*workload.writes, *workload.deletes):
        for request in requests_of(write.id, workload, design):
            items = request.items if isinstance(request, WriteRequest) else ()
            checked += [write.id for item in items if item.otherwise and item.otherwise.action is Did.CHECK]
    assert checked == ["AP-026", "AP-026", "AP-031"]


def test_conditions_of_the_client_are_named() -> None:
    workload, design = designed("tests/proof/market.md")
    sentences = {
        operation.pattern: list(added_words(operation, workload, design))
        for operation in design.operations
        if operation.served
    }
    assert sentences["R1"] == []
    assert "The client also requires that `path` has its known value, or that read before." in sentences["D2"]
    assert "The client also requires that `count` stays within the bounds." in sentences["W14"]
    assert "A guard may also be the item's own: the client adds this to its condition." in sentences["D2"]
    workload, design = designed("examples/metrics/access-patterns.md")
    operation = design.operation("AP-001")
    assert operation is not None
    (sentence,) = added_words(operation, workload, design)
    assert sentence == "Expired items of Sample count as absent: the client compares the time."


def test_a_read_by_key_is_compared_and_not_filtered() -> None:
    workload, design = designed("tests/corpus/debrie_session_store/access-patterns.md")
    operation = next(one for one in design.operations if one.requests[0].call is Call.GET and one.requests[0].filters)
    (request,) = literal_requests(operation, workload, design)
    assert isinstance(request, ReadRequest)
    assert request.filter is not None
    text = " ".join(operation_words(operation))
    assert "An item is returned only if ttl > now" in text
    assert "A filter" not in text


STATES = "tests/render/python/documents/states.md"
WITHOUT_INDEXES = (Decision(AtMost("GSIs", 0)),)


def puts_of(pattern: str, workload: Workload, design: Design) -> dict[str, ItemRequest]:
    (request,) = requests_of(pattern, workload, design)
    assert isinstance(request, WriteRequest)
    return {str(item.item): item for item in request.items}


@pytest.mark.parametrize("pattern", ["AP-020", "AP-021", "AP-022"])
def test_a_put_has_no_keys_of_an_index_that_its_constant_keeps_it_out_of(pattern: str) -> None:
    workload, design = designed(STATES)
    assert puts_of(pattern, workload, design)["Doc"].index_keys == ()


def test_a_put_has_the_keys_of_an_index_that_its_constant_puts_it_in() -> None:
    workload, design = designed(STATES)
    keys = puts_of("AP-025", workload, design)["Reminder"].index_keys
    assert [part.is_optional for part in keys] == [False, False]
    keys = puts_of("AP-023", workload, design)["Doc"].index_keys
    assert [part.is_optional for part in keys] == [True, True]


def test_a_new_item_that_its_constant_keeps_out_of_a_copy_is_put_alone() -> None:
    workload = replace(read_file(ROOT / STATES).workload, decisions=WITHOUT_INDEXES)
    design = solve(workload).design
    assert design.copies
    assert [*puts_of("AP-020", workload, design)] == [*puts_of("AP-021", workload, design)] == ["Doc"]
    assert [put.is_optional for put in puts_of("AP-023", workload, design).values()] == [False, True]
    assert [put.is_optional for put in puts_of("AP-025", workload, design).values()] == [False, False]
    assert not [one for one in check_design(design, workload) if one.severity == "error"]


def test_changes_of_a_put_are_the_values_of_its_item() -> None:
    workload, design = designed(STATES)

    def changes_of(write: str) -> str:
        pattern, operation = workload.pattern(write), design.operation(write)
        assert pattern is not None
        assert operation is not None
        return next(write_rows_of(pattern, operation, "pk"))["Changes"]

    assert [changes_of(write) for write in ("AP-020", "AP-021", "AP-022")] == ['`status = "DRAFT"`'] * 3
    assert [changes_of(write) for write in ("AP-023", "AP-025")] == ["-", '`state = "UNSENT"`']
    assert changes_of("AP-026") == '`SET state = "SENT"`; `SET sentAt = now`; `REMOVE gsi1pk`; `REMOVE gsi1sk`'


@pytest.mark.parametrize("name", ["debrie_ecommerce", "aws_bookmarks"])
def test_requests_of_designs_with_mistakes_are_left_out(name: str) -> None:
    workload = read_file(ROOT / "tests" / "corpus" / name / "access-patterns.md").workload
    design = solve(workload).design
    without_table = replace(design, slots=tuple(slot for slot in design.slots if slot.name != TABLE))
    without_keys = replace(design, items=tuple(replace(item, facets=()) for item in design.items))
    for write in (*workload.writes, *workload.deletes):
        operation = design.operation(write.id)
        assert operation is not None
        requests = tuple(replace(request, actions=()) for request in operation.requests)
        assert literal_requests(replace(operation, requests=requests), workload, design) == ()
        assert literal_requests(operation, workload, without_table) == ()
        assert literal_requests(operation, workload, without_keys) == ()
