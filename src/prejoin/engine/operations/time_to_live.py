"""UpdateTimeToLive, DescribeTimeToLive and the removal of expired items."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prejoin.engine.items import rows
from prejoin.engine.items.capacity import UncountedCapacity
from prejoin.engine.items.write import BoundWrite, PreparedWrite, perform
from prejoin.engine.operations.database import Database
from prejoin.engine.requests import TableInput, UpdateTimeToLiveInput
from prejoin.engine.tables.create import check_attribute_name
from prejoin.engine.validation import Constraints, table_name
from prejoin.protocol.errors import not_found, refuse


def update_time_to_live(database: Database, request: UpdateTimeToLiveInput) -> dict[str, Any]:
    name = table_name(request.table_name)
    specification = request.time_to_live_specification
    constraints = Constraints()
    constraints.require("timeToLiveSpecification", specification)
    if specification is not None:
        constraints.require("timeToLiveSpecification.attributeName", specification.attribute_name)
        constraints.require("timeToLiveSpecification.enabled", specification.enabled)
        check_attribute_name(constraints, "timeToLiveSpecification.attributeName", specification.attribute_name)
    constraints.finish()
    assert specification is not None
    with database.store.writing() as session:
        table = database.catalog.get(session, name)
        if table is None:
            raise not_found(f"Requested resource not found: Table: {name} not found")
        if table.ttl is not None and table.ttl != specification.attribute_name:
            refuse(f"TimeToLive is active on a different AttributeName: current AttributeName is {table.ttl}")
        if specification.enabled == (table.ttl is not None):
            refuse(f"TimeToLive is already {'enabled' if specification.enabled else 'disabled'}")
        new_table = replace(table, ttl=specification.attribute_name if specification.enabled else None)
        database.catalog.change(session, new_table)
        rows.set_expiries(session, new_table)
    return {
        "TimeToLiveSpecification": {"AttributeName": specification.attribute_name, "Enabled": specification.enabled}
    }


def describe_time_to_live(database: Database, request: TableInput) -> dict[str, Any]:
    name = table_name(request.table_name)
    with database.store.reading() as session:
        table = database.catalog.get(session, name)
    if table is None:
        raise not_found(f"Requested resource not found: Table: {name} not found")
    if table.ttl is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": table.ttl}}


EXPIRED_AT_ONCE = 100
"""The number of expired items that one transaction removes, so that no other writer waits long."""


def expire(database: Database, now: float) -> int:
    """Remove a bounded number of expired items and return how many.

    Like DeleteItem, this removes them from all indexes too.
    """
    with database.store.reading() as session:
        # Mostly nothing has expired, and finding that out needs no write transaction.
        if not rows.expired_keys(session, now, 1):
            return 0
    with database.store.writing() as session:
        expired_keys = rows.expired_keys(session, now, EXPIRED_AT_ONCE)
        for key in expired_keys:
            table = database.catalog.table_of_key(session, key)
            # Without its key in the content, the stream records the deletion as the service's own.
            perform(session, BoundWrite(PreparedWrite("delete", table.name, {}), table, key), UncountedCapacity(table))
    return len(expired_keys)
