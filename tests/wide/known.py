"""Differences of other servers from DynamoDB: tests that fail there, each with the server's defect.

As a plugin of pytest (`-p tests.wide.known`, with the server's name in PREJOIN_SERVER) it expects exactly these to fail. One
that passes is a failure: the server was fixed, or the list was wrong.
"""

from __future__ import annotations

import inspect
import os

import pytest
from tests.place import fresh
from tests.table.both import both

_SEVERAL = "keys of several attributes, new since 2025, are not supported"
_RACES = "concurrent requests are not isolated: another write may come between a condition and its write"

KNOWN: dict[str, dict[str, str]] = {
    "prejoin": {},
    "dynoxide": {
        "tests/patterns/test_tenant.py::test_a_tenant_may_be_a_whole_partition_or_several_attributes_of_an_index": _SEVERAL,
        "tests/table/test_keys_stay_right_law.py::test_indexes_are_right_after_any_writes": _SEVERAL,
        "tests/table/test_natural_keys.py::test_several_attributes_are_a_key_from_left_to_right": _SEVERAL,
        "tests/table/test_natural_keys.py::test_pages_go_on_after_keys_of_any_type": _SEVERAL,
        "tests/table/test_natural_keys.py::test_an_update_of_an_attribute_moves_the_item_and_may_be_an_amount": _SEVERAL,
    },
    "moto": {
        "tests/table/test_compared.py::test_get_with_more_than_the_key_returns_only_a_matching_item": (
            "a consistent read with a projection is counted as half a unit instead of one"
        ),
        "tests/table/test_errors.py::test_item_too_large_after_update_is_named": (
            "a transaction whose update makes an item too large is a ValidationException, not cancelled with reasons"
        ),
        "tests/table/test_get_together.py::test_several_classes_are_read_at_one_moment": (
            "TransactGetItems counts nothing for a missing item, where DynamoDB counts two units"
        ),
        "tests/table/test_lessons.py::test_numbers_do_not_go_through_float": (
            "adding to a number of more than 28 digits fails"
        ),
        "tests/table/test_reads.py::test_get_is_one_getitem_and_returns_none_for_a_missing_item": (
            "a consistent read of a missing item is counted as half a unit instead of one"
        ),
        "tests/table/test_writes.py::test_one_write_in_a_transaction_is_a_plain_call_unless_it_has_a_token": (
            "ClientRequestToken is ignored: the same transaction is applied again"
        ),
    },
}

CHANCE: dict[str, dict[str, str]] = {
    "moto": {
        "tests/table/test_lessons.py::test_an_insert_does_not_overwrite_even_when_both_come_at_once": _RACES,
        "tests/table/test_lessons.py::test_uniqueness_is_not_a_read_and_then_a_write": _RACES,
        "tests/table/test_read_first.py::test_concurrent_writes_are_counted_once_each": _RACES,
    },
}
"""Tests that fail there sometimes. They are skipped."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if isinstance(item, pytest.Function) and _is_for_any_server(item)]
    known, chance = KNOWN[os.environ["PREJOIN_SERVER"]], CHANCE.get(os.environ["PREJOIN_SERVER"], {})
    if missing := {*known, *chance} - {_name(item) for item in items}:
        raise pytest.UsageError(f"tests/wide/known.py names tests that are not there: {', '.join(sorted(missing))}")
    for item in items:
        if defect := known.get(_name(item)):
            item.add_marker(pytest.mark.xfail(reason=defect, strict=True))
        elif defect := chance.get(_name(item)):
            item.add_marker(pytest.mark.skip(reason=defect))


def _name(item: pytest.Item) -> str:
    """The name of a test without its parameters."""
    return item.nodeid.partition("[")[0]


def _is_for_any_server(item: pytest.Function) -> bool:
    """Whether a test uses the DynamoDB of PREJOIN_PLACE; others need no table, or the embedded engine."""
    uses_place = any(one is fresh or one is both for one in vars(item.module).values())
    return uses_place and "tmp_path" not in item.fixturenames and "Embedded(" not in inspect.getsource(item.obj)
