"""The CPU time to write and to read a document of 5 MB: `Large` beside boto3 with S3 by hand."""

from __future__ import annotations

import hashlib
import random
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import boto3

from common.figures import Figure, figure
from common.tables import table, times
from engine.servers import wait_for
from prejoin import Client, Entity, Key, Large, LargeValue, S3Store, Schema, read_large, write_large
from prejoin.transport import Credentials, Endpoint

WAYS = ("boto3, S3 by hand", "Large, S3Store", "Large, in parts")
ID = "d1"
KEYS = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}


@dataclass
class Document:
    document_id: str
    body: LargeValue | None = None


@contextmanager
def bucket() -> Iterator[str]:
    """The address of an S3 server with a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(Path(__file__).with_name("bucket.py")), str(port)])
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


class ByHand:
    """The object first, then the item that names it; the old object last."""

    def __init__(self, s3_url: str, url: str, name: str) -> None:
        self._s3: Any = boto3.client("s3", endpoint_url=s3_url, **KEYS)
        resource: Any = boto3.resource("dynamodb", endpoint_url=url, **KEYS)
        self._table = resource.Table(name)
        self._key = {"pk": f"DOC#{ID}", "sk": "DOC"}

    def write(self, data: bytes) -> None:
        old = self._table.get_item(Key=self._key, ConsistentRead=True).get("Item", {}).get("object")
        name = f"{ID}/{random.getrandbits(64):x}"
        self._s3.put_object(Bucket="docs", Key=name, Body=data)
        item = {"object": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        self._table.put_item(Item={**self._key, "document_id": ID, **item})
        if old:
            self._s3.delete_object(Bucket="docs", Key=old)

    def read(self) -> bytes:
        item = self._table.get_item(Key=self._key)["Item"]
        data: bytes = self._s3.get_object(Bucket="docs", Key=item["object"])["Body"].read()
        assert hashlib.sha256(data).hexdigest() == item["sha256"]
        return data


class WithPattern:
    """The same with the pattern."""

    def __init__(self, store: S3Store | None, url: str, name: str) -> None:
        schema = Schema(Entity(Document, Key("DOC#{document_id}", "DOC"), patterns=[Large("body", store)]))
        self._db = Client(schema, name, Endpoint(url, credentials=Credentials("a", "b")))
        self._db.create_table()
        self._db.insert(Document(ID))

    def write(self, data: bytes) -> None:
        write_large(self._db, Document, "body", data, document_id=ID)

    def read(self) -> bytes:
        return read_large(self._db, self._db.get(Document, document_id=ID), "body")


def document_costs(port: int, size: int, repeats: int) -> dict[str, tuple[Figure, Figure]]:
    """The CPU time of a write and a read in this process, each way in turn."""
    url = f"http://127.0.0.1:{port}"
    data = random.Random(1).randbytes(size)
    with bucket() as s3_url:
        with_store = WithPattern(S3Store("docs", endpoint=s3_url, credentials=Credentials("a", "b")), url, "docs-s3")
        ways: dict[str, ByHand | WithPattern] = {
            WAYS[1]: with_store,
            WAYS[2]: WithPattern(None, url, "docs-parts"),
            WAYS[0]: ByHand(s3_url, url, "docs-s3"),
        }
        samples: dict[str, tuple[list[float], list[float]]] = {way: ([], []) for way in WAYS}
        for _ in range(repeats + 1):
            for way in WAYS:
                for at, call in enumerate((lambda way=way: ways[way].write(data), ways[way].read)):
                    samples[way][at].append(_measured(call))
        for way in WAYS:
            ways[way].write(data)
            assert ways[way].read() == data
    # The first turn imports modules and opens connections.
    return {way: (figure(written[1:]), figure(read[1:])) for way, (written, read) in samples.items()}


def _measured(call: Callable[[], object]) -> float:
    begin = process_time()
    call()
    return process_time() - begin


def report(found: dict[str, tuple[Figure, Figure]]) -> str:
    base = found[WAYS[0]]
    rows = []
    for way, costs in found.items():
        row = [way]
        for cost, beside in zip(costs, base, strict=True):
            row += [f"{cost.median * 1e3:.1f} ms", times(beside.median / cost.median)]
        rows.append(row)
    return table(["", "write", "times less", "read", "times less"], rows)
