"""Runs one load: `worker.py WAY FOLDER URL ENDPOINT` prints time, CPU and memory as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import psycopg  # noqa: F401 - both ways would import it within their time
import sqlalchemy as sa
import sqlalchemy.dialects.postgresql

from prejoin import Client, Credentials, Endpoint, TablePlace, load_table, open_migration
from prejoin.migrate.load.load import WORKERS

TABLE = "shop"


def prejoin_load(folder: Path, url: str, endpoint: str) -> int:
    place = TablePlace(endpoint=endpoint) if endpoint else TablePlace(db=str(folder / "target.db"))
    with open_migration(folder / "access-patterns.md", folder / "mapping.toml", url) as migration:
        found = load_table(migration, place, table=TABLE, state=folder / "state", create=True, restart=True)
    assert not found.dead
    return found.rows


def boto3_loop(folder: Path, url: str, endpoint: str) -> int:
    """The usual loop: a SELECT, a dict for each row, a batch writer. It writes the same items."""
    dynamodb = boto3.resource(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    rows = 0
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection, dynamodb.Table(TABLE).batch_writer() as batch:
        stream = connection.execution_options(stream_results=True, max_row_buffer=1000)
        for row in stream.execute(sa.text("SELECT * FROM users")).mappings():
            item = {
                "pk": f"USER#{row['id']}",
                "sk": "USER",
                "entityType": "User",
                "user_id": row["id"],
                "email": row["email"],
                "name": row["name"],
                "is_active": row["is_active"],
                "created_at": row["created_at"].isoformat(),
            }
            batch.put_item(Item=item)
            rows += 1
        for row in stream.execute(sa.text("SELECT * FROM orders")).mappings():
            placed = row["placed_at"].isoformat()
            item = {
                "pk": f"ORDER#{row['id']}",
                "sk": "ORDER",
                "gsi1pk": f"USER#{row['user_id']}",
                "gsi1sk": f"ORDER#{placed}#{row['id']}",
                "entityType": "Order",
                "order_id": row["id"],
                "user_id": row["user_id"],
                "status": row["status"],
                "total": row["total"],
                "items": row["items"],
                "placed_at": placed,
            }
            if row["note"] is not None:
                item["note"] = row["note"]
            batch.put_item(Item=item)
            rows += 1
    return rows


class _Recorder:
    """A transport that keeps requests instead of sending them."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def send(self, operation: str, body: bytes) -> bytes:
        self.bodies.append(body)
        return b'{"UnprocessedItems": {}}'


def recorded(folder: Path, url: str) -> tuple[list[bytes], int]:
    """The requests of a load, as bytes, and the number of its rows."""
    recorder, rows = _Recorder(), 0
    with (
        open_migration(folder / "access-patterns.md", folder / "mapping.toml", url) as migration,
        migration.source.snapshot() as snapshot,
    ):
        client = Client(migration.package.schema, TABLE, recorder)
        for one in migration.rows:
            for page in one.pages(snapshot):
                rows += client.put_many([migration.package.record(one.entity.name, one.convert(row)) for row in page])
    return recorder.bodies, rows


def send_raw(bodies: list[bytes], endpoint: str) -> None:
    """Sends requests that are ready as bytes. The server's speed is the bound for any client."""
    place = Endpoint(endpoint, credentials=Credentials("local", "local"))
    with ThreadPoolExecutor(WORKERS) as threads:
        for _ in threads.map(lambda body: place.send("BatchWriteItem", body), bodies):
            pass


WAYS = {"prejoin": prejoin_load, "boto3": boto3_loop}


def main(way: str, folder: str, url: str, endpoint: str) -> None:
    bodies, rows = recorded(Path(folder), url) if way == "raw" else ([], 0)
    began, used = time.monotonic(), time.process_time()
    if way == "raw":
        send_raw(bodies, endpoint)
    else:
        rows = WAYS[way](Path(folder), url, endpoint)
    seconds, cpu = time.monotonic() - began, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"rows": rows, "seconds": seconds, "cpu": cpu, "memory": memory}))


if __name__ == "__main__":
    main(*sys.argv[1:])
