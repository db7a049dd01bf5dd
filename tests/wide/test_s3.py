"""Large contents in the S3 of moto, which others wrote."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from tests.design.test_stores import stored
from tests.migrate.test_contents import application, write_project

from prejoin import (
    Client,
    Embedded,
    Entity,
    Key,
    Large,
    LargeValue,
    S3Store,
    Schema,
    TablePlace,
    delete_large,
    load_table,
    open_migration,
    read_large,
    remove_garbage,
    roll_back,
    store_large,
    stream_large,
    verify_table,
    write_large,
)
from prejoin.render.python.package import Options, render_python

pytestmark = pytest.mark.wide


@dataclass
class Document:
    document_id: str
    body: LargeValue | None = None


def bucket(moto_url: str, name: str) -> Any:
    """A client of boto3 for a new bucket."""
    s3 = boto3.client(
        "s3", endpoint_url=moto_url, region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local"
    )
    s3.create_bucket(Bucket=name)
    return s3


def test_generated_code_keeps_contents_in_s3(moto_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s3 = bucket(moto_url, "archive")
    for path, text in render_python(*stored(), Options(package="stored_archive")).items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    schema = importlib.import_module("stored_archive.schema")
    entities = importlib.import_module("stored_archive.entities")
    document = importlib.import_module("stored_archive.seed").document()
    repository = importlib.import_module("stored_archive.repository").ArchiveRepository
    store = S3Store("archive", endpoint=moto_url)
    db = Client(schema.schema(store), schema.TABLE, Embedded())
    db.create_table()
    data = os.urandom(2_000_000)
    key = document.document_id
    document.body = store_large(db, entities.Document, "body", data, document_id=key)
    repository(db).ap_020(document)
    found = repository(db).ap_001(key)
    assert read_large(db, found, "body") == data
    (one,) = s3.list_objects_v2(Bucket="archive")["Contents"]
    assert one["Size"] == len(data)
    write_large(db, entities.Document, "body", data[::-1], document_id=key)
    assert read_large(db, repository(db).ap_001(key), "body") == data[::-1]
    assert read_large(db, found, "body") == data[::-1]  # the object that it refers to is gone
    (other,) = s3.list_objects_v2(Bucket="archive")["Contents"]
    assert other["Key"] != one["Key"]
    store.close()


def test_contents_in_s3(moto_url: str) -> None:
    s3 = bucket(moto_url, "documents")
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


def test_migration_stores_contents_in_s3(moto_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s3 = bucket(moto_url, "moved")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    write_project(tmp_path, store=True)
    application("sqlite:///archive.db")
    place = TablePlace(db="table.db", store=f"{moto_url}/moved/contents")
    with open_migration(url="sqlite:///archive.db") as migration:
        assert load_table(migration, place, create=True).dead == 0
        assert verify_table(migration, place).equal
        keys = [one["Key"] for one in s3.list_objects_v2(Bucket="moved")["Contents"]]
        assert len(keys) == 4
        assert all(key.startswith(f"contents/{migration.table}/") for key in keys)
        assert roll_back(migration, place).items == 6
    assert "Contents" not in s3.list_objects_v2(Bucket="moved")
