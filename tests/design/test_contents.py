"""The price of large contents in the checks is what the pattern consumes."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from prejoin import Call, Client, Embedded, Entity, Key, Large, LargeValue, Schema, store_large
from prejoin.design.cost.contents import content_fix, part_units


@dataclass
class Document:
    document_id: str
    body: LargeValue | None = None


@pytest.mark.parametrize("size", [150_000, 240 * 1024, 500_000, 2_000_000])
def test_units_in_parts_are_those_that_are_consumed(size: int) -> None:
    calls: list[Call] = []
    schema = Schema(Entity(Document, Key("DOC#{document_id}", "DOC"), patterns=[Large("body")]))
    db = Client(schema, "documents", Embedded(), observe=calls.append)
    db.create_table()
    calls.clear()
    store_large(db, Document, "body", os.urandom(size), document_id="1")
    assert sum(call.units for call in calls) == part_units(size)


def test_fix_names_both_places_with_their_price() -> None:
    assert "cost $0.61 in parts in the table, and $0.005 in S3" in content_fix("scan", 1_000_000)
