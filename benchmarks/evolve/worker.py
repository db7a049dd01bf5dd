"""Moves the orders of a table to another key: `worker.py WAY ORDERS PLACE` prints time, CPU and memory as JSON.

PLACE is the URL of a server, or a file of the engine. The table is filled first, which is not measured.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.migrate.evolve.shop import few, moved

from prejoin import Client, Credentials, Embedded, Endpoint
from prejoin.migrate.evolve.items import evolution_of
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition

TABLE = "shop"
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_BATCH = 1000


def fill(client: Client, old: CodeVersion, orders: int) -> None:
    """Creates the table of the old design with orders."""
    client.create_table()
    for start in range(0, orders, _BATCH):
        numbers = range(start, min(start + _BATCH, orders))
        client.put_many([old.package.record("Order", _order(number)) for number in numbers])


def _order(number: int) -> dict[str, Any]:
    return {
        "orderId": f"o{number:08}",
        "userId": f"u{number % 1000}",
        "placedAt": _BEGIN + timedelta(seconds=number),
        "status": "OPEN",
        "total": number,
    }


# --- Ways -----------------------------------------------------------------------------------------------------------


def prejoin_steps(client: Client, old: CodeVersion) -> Iterator[Callable[[], None]]:
    """`prejoin evolve backfill` and `clean`."""
    transition = plan_transition(old, moved("new"))

    def run(step: str) -> None:
        with TemporaryDirectory() as folder, evolution_of(transition, client, folder) as evolution:
            result = getattr(evolution, step)()
        assert not result.undecided

    run("add_indexes")
    yield lambda: run("backfill")
    yield lambda: run("clean")


def script_steps(endpoint: str) -> Iterator[Callable[[], None]]:
    """The usual script: read all items, put each with its new key, then delete those with the old one."""
    settings = {"region_name": "us-east-1", "aws_access_key_id": "local", "aws_secret_access_key": "local"}
    table = boto3.resource("dynamodb", endpoint_url=endpoint, **settings).Table(TABLE)

    def pages() -> Iterator[list[dict[str, Any]]]:
        start: dict[str, Any] = {}
        while True:
            page = table.scan(**start)
            yield page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def backfill() -> None:
        with table.batch_writer() as batch:
            for items in pages():
                for item in items:
                    if item["entityType"] != "Order":
                        continue
                    new = {**item, "entityType": "Order2", "pk": f"O#{item['orderId']}", "sk": "O"}
                    new["gsi3pk"], new["gsi3sk"] = new.pop("gsi1pk"), new.pop("gsi1sk")
                    batch.put_item(Item=new)

    def clean() -> None:
        with table.batch_writer() as batch:
            for items in pages():
                for item in items:
                    if item["entityType"] == "Order":
                        batch.delete_item(Key={"pk": item["pk"], "sk": item["sk"]})

    yield backfill
    yield clean


def main(way: str, orders: str, place: str) -> None:
    is_server = place.startswith("http")
    transport = Endpoint(place, credentials=Credentials("local", "local")) if is_server else Embedded(place)
    old = few("old")
    client = Client(old.package.schema, TABLE, transport)
    fill(client, old, int(orders))
    steps = []
    for step in prejoin_steps(client, old) if way == "prejoin" else script_steps(place):
        began, used = time.monotonic(), time.process_time()
        step()
        steps.append({"seconds": time.monotonic() - began, "cpu": time.process_time() - used})
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"steps": steps, "memory": memory}))


if __name__ == "__main__":
    main(*sys.argv[1:])
