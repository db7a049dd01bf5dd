"""A design that is kept, for a document that renames entities, attributes and members of enums."""

from __future__ import annotations

import pytest

from prejoin.design.former_names import FormerNames
from prejoin.design.model import TABLE, ContentStore, Counter, Design, Facet, Guard, Item, KeyAttribute, Slot, When
from prejoin.workload.document.read_document import read_document

DOCUMENT = """# Shop

## Entities

### Purchase

- **Attributes**:
  - `orderId` (string, id)
  - `boughtAt` (datetime, renamed from placedAt)
  - `views` (integer, mutable, renamed from hits)
  - `body` (content, renamed from text)
  - `state` (OPEN | PAID renamed from DONE, mutable, renamed from status)
- **Renamed from**: Order
"""


def design(entity: str, placed: str, hits: str, text: str, status: str, done: str) -> Design:
    """The same design in different names."""
    index = Facet("gsi1", ("S#{" + status + "}",), ("{" + placed + ":day}#{orderId}",), (When(status, (done,)),))
    own = Item(
        entity, "Order", (Facet(TABLE, ("ORDER#{orderId}",), ("ORDER",)), index), known=("orderId", placed, hits, text)
    )
    copy = Item(entity, "Order.day", (Facet(TABLE, ("DAY#{" + placed + ":day}",), ("{orderId}",)),), "day", (status,))
    return Design(
        "shop",
        (Slot(TABLE, (KeyAttribute("pk"),), (KeyAttribute("sk"),)),),
        (own, copy),
        (Guard(entity, (placed, "orderId")),),
        (Counter(entity, (hits,), 4),),
        (ContentStore(entity, text),),
    )


OLD = design("Order", "placedAt", "hits", "text", "status", "DONE")
NEW = design("Purchase", "boughtAt", "views", "body", "state", "PAID")


@pytest.mark.parametrize("kept", [OLD, NEW], ids=["old names", "new names"])
def test_keys_and_types_stay_and_names_are_those_of_the_document(kept: Design) -> None:
    """The line `renamed from` may stay in a document whose design has the new names already."""
    workload = read_document(DOCUMENT).workload
    assert FormerNames.of(kept, workload).design_in_new_names(kept) == NEW


def test_document_in_the_names_of_the_design() -> None:
    workload = read_document(DOCUMENT).workload
    (entity,) = FormerNames.of(OLD, workload).workload_in_former_names(workload).entities
    assert entity.name == "Order"
    assert [one.name for one in entity.attributes] == ["orderId", "placedAt", "hits", "text", "status"]
    status = entity.attribute("status")
    assert status is not None
    assert status.type.values == ("OPEN", "PAID", "DONE")
