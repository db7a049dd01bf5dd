"""What other servers do otherwise than DynamoDB: tests that fail there, each with the server's defect in words.

As a plugin of pytest (`-p tests.wide.known`, with the server's name in PREJOIN_SERVER) it expects just these to fail. One
that passes is a failure: the server was mended, or the list was wrong.
"""

from __future__ import annotations

import inspect
import os

import pytest
from tests.place import fresh
from tests.table.both import both

_SEVERAL = "keys of several attributes, new since 2025, are not understood: an index has one attribute on each side"
_UNTOLD = "a transaction does not tell what it consumed"
_HALF = "an update is counted as half a unit, and is one"

KNOWN: dict[str, dict[str, str]] = {
    "prejoin": {},
    "dynoxide": {
        "tests/patterns/test_tenant.py::test_a_tenant_may_be_a_whole_partition_or_several_attributes_of_an_index": _SEVERAL,
        "tests/table/test_keys_stay_right_law.py::test_after_any_writes_every_index_holds_what_it_should": _SEVERAL,
        "tests/table/test_natural_keys.py::test_several_attributes_are_a_key_from_left_to_right": _SEVERAL,
        "tests/table/test_natural_keys.py::test_pages_go_on_after_keys_of_any_type": _SEVERAL,
        "tests/table/test_natural_keys.py::test_an_update_of_an_attribute_moves_the_item_and_may_be_an_amount": _SEVERAL,
    },
    "moto": {
        "tests/patterns/test_copies.py::test_what_it_costs": _UNTOLD,
        "tests/patterns/test_soft_delete.py::test_what_it_costs": (
            "an update and a consistent read are counted as half a unit each, and are one"
        ),
        "tests/patterns/test_timestamps.py::test_it_costs_nothing": _HALF,
        "tests/patterns/test_ttl.py::test_it_costs_nothing_on_writes_and_what_is_hidden_on_reads": (
            "a put into an index is counted as one unit, and is two"
        ),
        "tests/patterns/test_unique.py::test_what_it_costs": _UNTOLD,
        "tests/patterns/test_version.py::test_it_costs_nothing": _HALF,
        "tests/table/test_get_together.py::test_several_classes_are_read_at_one_moment": (
            "TransactGetItems counts nothing for an item that is not there, where DynamoDB counts two units"
        ),
        "tests/table/test_lessons.py::test_numbers_do_not_go_through_float": (
            "numbers of more than 28 digits cannot be added to: the server fails"
        ),
        "tests/table/test_reads.py::test_get_is_one_getitem_and_knows_what_is_missing": (
            "a consistent read of an item that is not there is counted as half a unit, and is one"
        ),
        "tests/table/test_writes.py::test_one_write_in_a_transaction_is_a_plain_call_unless_it_has_a_token": (
            "ClientRequestToken is ignored: the same transaction is done again"
        ),
    },
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if isinstance(item, pytest.Function) and _is_for_any_server(item)]
    known = KNOWN[os.environ["PREJOIN_SERVER"]]
    if missing := known.keys() - {_name(item) for item in items}:
        raise pytest.UsageError(f"tests/wide/known.py names tests that are not there: {', '.join(sorted(missing))}")
    for item in items:
        if defect := known.get(_name(item)):
            item.add_marker(pytest.mark.xfail(reason=defect, strict=True))


def _name(item: pytest.Item) -> str:
    """The name of a test, whatever its parameters."""
    return item.nodeid.partition("[")[0]


def _is_for_any_server(item: pytest.Function) -> bool:
    """Whether a test makes its tables where PREJOIN_PLACE says; others make none, or are about the engine or its file."""
    told = any(one is fresh or one is both for one in vars(item.module).values())
    return told and "tmp_path" not in item.fixturenames and "Embedded(" not in inspect.getsource(item.obj)
