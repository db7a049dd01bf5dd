"""Large contents in the S3 of moto, which others wrote."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import boto3  # type: ignore[import-untyped]
import pytest

from prejoin import (
    Client,
    Embedded,
    Entity,
    Key,
    Large,
    LargeValue,
    S3Store,
    Schema,
    delete_large,
    read_large,
    remove_garbage,
    store_large,
    stream_large,
    write_large,
)

pytestmark = pytest.mark.wide


@dataclass
class Document:
    document_id: str
    body: LargeValue | None = None


def test_contents_in_s3(moto_url: str) -> None:
    s3 = boto3.client(
        "s3", endpoint_url=moto_url, region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local"
    )
    s3.create_bucket(Bucket="documents")
    store = S3Store("documents", prefix="large/", endpoint=moto_url)
    schema = Schema(Entity(Document, Key("DOC#{document_id}", "DOC"), patterns=[Large("body", store)]))
    db = Client(schema, "documents", Embedded())
    db.create_table()
    db.insert(Document("a b/ä"))
    data = os.urandom(20_000_000)
    assert write_large(db, Document, "body", data, document_id="a b/ä").parts == 3
    found = db.get(Document, document_id="a b/ä")
    assert read_large(db, found, "body") == data
    assert b"".join(stream_large(db, found, "body")) == data
    assert read_large(db, found, "body", 8_000_000, 9_000_000) == data[8_000_000:9_000_000]
    (first, *_) = list(store.keys(""))
    assert s3.get_object(Bucket="documents", Key=f"large/{first}")["Body"].read(10) == data[:10]
    for number in range(1_001):  # more than a page of a list
        store.put(f"other/{number:04}", b"")
    assert len(list(store.keys("other/"))) == 1_001
    store_large(db, Document, "body", data, document_id="gone")
    later = datetime.now(UTC) + timedelta(days=2)
    assert remove_garbage(db, Document, "body", clock=lambda: later).done == 3
    assert delete_large(db, Document, document_id="a b/ä")
    assert [key for key in store.keys("") if not key.startswith("other/")] == []
    store.close()
