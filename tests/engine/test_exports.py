"""Exports and imports: files as AWS writes them, in a folder in place of S3."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from tests.engine.conftest import SHOP, item, refusal, send

from prejoin.engine import Embedded
from prejoin.engine.operations import exports, transfers
from prejoin.testing import attach

ARN = "arn:aws:dynamodb:local:000000000000:table/shop"
ON = {"PointInTimeRecoveryEnabled": True}
CREATION: dict[str, Any] = {**SHOP, "TableName": "imported"}
CREATION.pop("LocalSecondaryIndexes")
CREATION["AttributeDefinitions"] = [each for each in SHOP["AttributeDefinitions"] if each["AttributeName"] != "rank"]


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    (tmp_path / "s3" / "bucket").mkdir(parents=True)
    return tmp_path / "s3" / "bucket"


@pytest.fixture(params=["in memory", "in a file"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, bucket: Path) -> Iterator[Embedded]:
    path = None if request.param == "in memory" else tmp_path / "shop.db"
    with Embedded(path, buckets=bucket.parent) as engine:
        send(engine, "CreateTable", **SHOP)
        send(engine, "UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
        for number in range(5):
            send(engine, "PutItem", Item=item(pk=f"p{number}", sk="1", g1pk="x", g1sk=number, name="ä"))
        yield engine


def exported(engine: Embedded, **members: Any) -> dict[str, Any]:
    """The description of an export that has ended."""
    begun = send(engine, "ExportTableToPointInTime", TableArn=ARN, S3Bucket="bucket", **members)["ExportDescription"]
    assert begun["ExportStatus"] == "IN_PROGRESS"
    ended: dict[str, Any] = send(engine, "DescribeExport", ExportArn=begun["ExportArn"])["ExportDescription"]
    return ended


def imported(engine: Embedded, **members: Any) -> dict[str, Any]:
    """The description of an import that has ended."""
    request = {"InputFormat": "DYNAMODB_JSON", "TableCreationParameters": CREATION, **members}
    begun = send(engine, "ImportTable", **request)["ImportTableDescription"]
    assert begun["ImportStatus"] == "IN_PROGRESS"
    ended: dict[str, Any] = send(engine, "DescribeImport", ImportArn=begun["ImportArn"])["ImportTableDescription"]
    return ended


def lines(bucket: Path, manifest: str) -> list[dict[str, Any]]:
    """The lines of all data files of an export, after a look at the checksums."""
    summary = json.loads((bucket / manifest).read_text())
    files = bucket / summary["manifestFilesS3Key"]
    for path in (bucket / manifest, files):
        checksum = base64.b64encode(hashlib.md5(path.read_bytes()).digest()).decode()
        assert path.with_suffix(".md5").read_text() == checksum
    found: list[dict[str, Any]] = []
    for line in files.read_text().splitlines():
        entry = json.loads(line)
        content = (bucket / entry["dataFileS3Key"]).read_bytes()
        assert entry["md5Checksum"] == base64.b64encode(hashlib.md5(content).digest()).decode()
        part = [json.loads(each) for each in gzip.decompress(content).splitlines()]
        assert entry["itemCount"] == len(part)
        found += part
    assert summary["itemCount"] == len(found)
    return found


def test_an_export_has_the_files_of_aws(engine: Embedded, bucket: Path) -> None:
    before = send(engine, "Scan")["Items"]
    ended = exported(engine, S3Prefix="exports/today", ClientToken="once")
    number = ended["ExportArn"].rpartition("/")[2]
    assert ended["ExportStatus"] == "COMPLETED"
    assert ended["ExportManifest"] == f"exports/today/AWSDynamoDB/{number}/manifest-summary.json"
    assert [line["Item"] for line in lines(bucket, ended["ExportManifest"])] == before
    summary = json.loads((bucket / ended["ExportManifest"]).read_text())
    assert (summary["version"], summary["tableArn"], summary["outputFormat"]) == ("2020-06-30", ARN, "DYNAMODB_JSON")
    assert summary["exportTime"].endswith("Z")
    assert sorted(path.name for path in (bucket / ended["ExportManifest"]).parent.iterdir()) == [
        "_started",
        "data",
        "manifest-files.json",
        "manifest-files.md5",
        "manifest-summary.json",
        "manifest-summary.md5",
    ]


def test_an_export_with_the_same_token_is_the_same(engine: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"TableArn": ARN, "S3Bucket": "bucket", "ClientToken": "once"}
    ended = exported(engine, ClientToken="once")
    assert send(engine, "ExportTableToPointInTime", **request)["ExportDescription"] == ended
    error = refusal(send, engine, "ExportTableToPointInTime", **request, S3Prefix="other")
    assert error.code == "ExportConflictException"
    monkeypatch.setattr(transfers, "_TOKEN_SECONDS", 0)
    later = send(engine, "ExportTableToPointInTime", **request)["ExportDescription"]
    assert later["ExportArn"] != ended["ExportArn"], "a token is valid for eight hours"


def test_an_import_with_the_same_token_is_the_same(engine: Embedded, bucket: Path) -> None:
    (bucket / "a.json").write_text(json.dumps({"Item": item(pk="a", sk="1")}))
    source = {"S3Bucket": "bucket", "S3KeyPrefix": "a"}
    request = {"InputFormat": "DYNAMODB_JSON", "TableCreationParameters": CREATION, "ClientToken": "once"}
    ended = imported(engine, S3BucketSource=source, **request)
    again = send(engine, "ImportTable", S3BucketSource=source, **request)
    assert again["ImportTableDescription"] == ended
    error = refusal(send, engine, "ImportTable", S3BucketSource={"S3Bucket": "bucket"}, **request)
    assert error.code == "ImportConflictException"


def test_exports_and_imports_are_listed_in_pages(engine: Embedded) -> None:
    arns = [exported(engine)["ExportArn"] for _ in range(3)]
    first = send(engine, "ListExports", MaxResults=2)
    rest = send(engine, "ListExports", MaxResults=2, NextToken=first["NextToken"])
    assert [each["ExportArn"] for page in (first, rest) for each in page["ExportSummaries"]] == sorted(arns)
    assert "NextToken" not in rest
    assert refusal(send, engine, "ListImports", PageSize=26).message.endswith("less than or equal to 25")


def test_an_export_has_several_files(engine: Embedded, bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "_FILE_BYTES", 150)
    ended = exported(engine)
    assert len(list((bucket / ended["ExportManifest"]).parent.glob("data/*.json.gz"))) == 3
    assert [line["Item"] for line in lines(bucket, ended["ExportManifest"])] == send(engine, "Scan")["Items"]


def test_an_export_is_of_a_moment(engine: Embedded, bucket: Path) -> None:
    moment, before = time.time(), send(engine, "Scan")["Items"]
    time.sleep(0.002)
    send(engine, "DeleteItem", Key=item(pk="p1", sk="1"))
    ended = exported(engine, ExportTime=moment)
    assert [line["Item"] for line in lines(bucket, ended["ExportManifest"])] == before
    assert exported(engine)["ItemCount"] == 4


def test_an_incremental_export_has_what_has_changed(engine: Embedded, bucket: Path) -> None:
    first = time.time()
    time.sleep(0.002)
    send(engine, "PutItem", Item=item(pk="p1", sk="1", name="new"))
    send(engine, "DeleteItem", Key=item(pk="p2", sk="1"))
    send(engine, "PutItem", Item=item(pk="p9", sk="1"))
    send(engine, "PutItem", Item=item(pk="p8", sk="1"))
    send(engine, "DeleteItem", Key=item(pk="p8", sk="1"))
    last = time.time()
    time.sleep(0.002)
    send(engine, "DeleteItem", Key=item(pk="p9", sk="1"))
    wish = {"ExportFromTime": first, "ExportToTime": last}
    ended = exported(engine, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=wish)
    found = {line["Keys"]["pk"]["S"]: line for line in lines(bucket, ended["ExportManifest"])}
    assert {key: sorted(set(line) - {"Keys", "Metadata"}) for key, line in found.items()} == {
        "p1": ["NewImage", "OldImage"],
        "p2": ["OldImage"],
        "p9": ["NewImage"],
    }
    assert found["p1"]["NewImage"]["name"] == {"S": "new"}
    assert first <= int(found["p1"]["Metadata"]["WriteTimestampMicros"]) / 1e6 <= last
    wish |= {"ExportViewType": "NEW_IMAGE"}  # type: ignore[dict-item]
    ended = exported(engine, ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=wish)
    assert not any("OldImage" in line for line in lines(bucket, ended["ExportManifest"]))


def test_what_was_exported_is_imported(engine: Embedded, bucket: Path) -> None:
    ended = exported(engine)
    data = str(Path(ended["ExportManifest"]).parent / "data")
    source = {"S3Bucket": "bucket", "S3KeyPrefix": data}
    found = imported(engine, S3BucketSource=source, InputCompressionType="GZIP")
    assert (found["ImportStatus"], found["ImportedItemCount"], found["ErrorCount"]) == ("COMPLETED", 5, 0)
    same = sorted(send(engine, "Scan")["Items"], key=json.dumps)
    assert sorted(send(engine, "Scan", TableName="imported")["Items"], key=json.dumps) == same
    assert send(engine, "Scan", TableName="imported", IndexName="gsi1")["Count"] == 5
    assert engine.verify() == []
    request = {"S3BucketSource": source, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": CREATION}
    assert refusal(send, engine, "ImportTable", **request).code == "ResourceInUseException"
    (listed,) = send(engine, "ListImports")["ImportSummaryList"]
    assert listed["ImportArn"] == found["ImportArn"]
    (listed,) = send(engine, "ListExports", TableArn=ARN)["ExportSummaries"]
    assert listed == {"ExportArn": ended["ExportArn"], "ExportStatus": "COMPLETED", "ExportType": "FULL_EXPORT"}


def test_lines_that_are_no_items_are_counted(engine: Embedded, bucket: Path) -> None:
    texts = [
        {"Item": item(pk="a", sk="1")},
        {"Item": item(pk="a")},
        {"Item": item(pk="a", sk="2", g1pk=5)},
        {"Other": 1},
        {"Item": item(pk="a", sk="1", name="later")},
    ]
    deep = '{"Item":' + '{"M":{"a":' * 5000
    content = "\n".join([*map(json.dumps, texts), "{not json", deep, ""])
    (bucket / "items.json").write_text(content)
    found = imported(engine, S3BucketSource={"S3Bucket": "bucket", "S3KeyPrefix": "items"})
    assert (found["ProcessedItemCount"], found["ImportedItemCount"], found["ErrorCount"]) == (7, 2, 5)
    assert found["ProcessedSizeBytes"] == len(content)
    assert send(engine, "Scan", TableName="imported")["Items"] == [item(pk="a", sk="1", name="later")]


def test_csv_files_are_imported(engine: Embedded, bucket: Path) -> None:
    (bucket / "one.csv").write_text('pk,sk,g1pk,g1sk,name\na,1,x,5,"Ann, A."\nb,1,,,\nc,1,x,no number,\nd,1,x,1,e,f\n')
    source = {"S3Bucket": "bucket", "S3KeyPrefix": "one"}
    found = imported(engine, S3BucketSource=source, InputFormat="CSV")
    assert (found["ImportedItemCount"], found["ErrorCount"]) == (2, 2)
    items = {each["pk"]["S"]: each for each in send(engine, "Scan", TableName="imported")["Items"]}
    assert items == {
        "a": item(pk="a", sk="1", g1pk="x", g1sk=5, name="Ann, A."),
        "b": item(pk="b", sk="1"),
    }
    (bucket / "long.csv").write_text(f"pk,sk\na,{'x' * 200_000}\nb,1\n")
    found = imported(
        engine,
        S3BucketSource={"S3Bucket": "bucket", "S3KeyPrefix": "long"},
        InputFormat="CSV",
        TableCreationParameters={**CREATION, "TableName": "long"},
    )
    assert (found["ImportedItemCount"], found["ErrorCount"]) == (1, 1)
    (bucket / "wide.csv").write_text("x" * 200_000 + ",sk\na,1\n")
    found = imported(
        engine,
        S3BucketSource={"S3Bucket": "bucket", "S3KeyPrefix": "wide"},
        InputFormat="CSV",
        TableCreationParameters={**CREATION, "TableName": "wide"},
    )
    assert (found["ImportStatus"], found["FailureCode"]) == ("FAILED", "InvalidHeader")
    (bucket / "two.csv").write_text("a;1\nb;2\n")
    options = {"Csv": {"Delimiter": ";", "HeaderList": ["pk", "sk"]}}
    found = imported(
        engine,
        S3BucketSource={"S3Bucket": "bucket", "S3KeyPrefix": "two"},
        InputFormat="CSV",
        InputFormatOptions=options,
        TableCreationParameters={**CREATION, "TableName": "second"},
    )
    assert found["ImportedItemCount"] == 2


@pytest.mark.parametrize(
    ("name", "prefix", "compression", "code"),
    [
        ("absent", "", "NONE", "S3NoSuchBucket"),
        ("bucket", "absent", "NONE", "S3NoSuchKey"),
        ("bucket", "plain", "GZIP", "InvalidCompression"),
        ("bucket", "cut", "GZIP", "InvalidCompression"),
        ("bucket", "damaged", "GZIP", "InvalidCompression"),
    ],
)
def test_a_failed_import_leaves_no_table(
    engine: Embedded, bucket: Path, name: str, prefix: str, compression: str, code: str
) -> None:
    (bucket / "plain.json").write_text("{}")
    good = gzip.compress(json.dumps({"Item": item(pk="a", sk="1")}).encode())
    (bucket / "cut").write_bytes(good[:-9])
    (bucket / "damaged").write_bytes(good[:10] + b"\xff" + good[11:])
    source = {"S3Bucket": name, "S3KeyPrefix": prefix}
    found = imported(engine, S3BucketSource=source, InputCompressionType=compression)
    assert (found["ImportStatus"], found["FailureCode"]) == ("FAILED", code)
    assert send(engine, "ListTables")["TableNames"] == ["shop"]
    assert engine.verify() == []


def test_an_export_without_a_bucket_fails(engine: Embedded, bucket: Path) -> None:
    bucket.rmdir()
    ended = exported(engine)
    assert (ended["ExportStatus"], ended["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    with Embedded() as other:
        send(other, "CreateTable", **SHOP)
        send(other, "UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
        assert "Embedded(buckets=" in exported(other)["FailureMessage"]


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"TableArn": ARN + "s"}, "TableNotFoundException"),
        ({"S3Bucket": "../bucket"}, "ValidationException"),
        ({"S3Prefix": "../../etc"}, "ValidationException"),
        ({"S3Prefix": "/etc"}, "ValidationException"),
        ({"ExportFormat": "ION"}, "ValidationException"),
        ({"ExportTime": 5}, "InvalidExportTimeException"),
        ({"ExportType": "INCREMENTAL_EXPORT"}, "ValidationException"),
    ],
)
def test_mistakes_in_exports_are_refused(engine: Embedded, members: dict[str, Any], code: str) -> None:
    request = {"TableArn": ARN, "S3Bucket": "bucket", **members}
    assert refusal(send, engine, "ExportTableToPointInTime", **request).code == code


@pytest.mark.parametrize("members", [{"InputFormat": "ION"}, {"InputCompressionType": "ZSTD"}])
def test_an_import_says_what_it_cannot_read(engine: Embedded, members: dict[str, Any]) -> None:
    request = {"InputFormat": "CSV", "TableCreationParameters": CREATION, "S3BucketSource": {"S3Bucket": "bucket"}}
    error = refusal(send, engine, "ImportTable", **request | members)
    assert error.code == "ValidationException"
    assert error.message.endswith("it reads no ION and no ZSTD")


def test_an_export_needs_recovery(engine: Embedded) -> None:
    send(engine, "UpdateContinuousBackups", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False})
    error = refusal(send, engine, "ExportTableToPointInTime", TableArn=ARN, S3Bucket="bucket")
    assert error.code == "PointInTimeRecoveryUnavailableException"


def test_an_import_of_an_unreadable_file_fails(engine: Embedded, bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(f"Permission denied: {path}")

    (bucket / "secret.json").write_text("{}")
    monkeypatch.setattr(Path, "open", refuse)
    found = imported(engine, S3BucketSource={"S3Bucket": "bucket"})
    assert (found["ImportStatus"], found["FailureCode"]) == ("FAILED", "S3InternalError")


def test_links_out_of_a_bucket_are_not_followed(engine: Embedded, bucket: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps({"Item": item(pk="secret", sk="1")}))
    (bucket / "link.json").symlink_to(tmp_path / "secret.json")
    found = imported(engine, S3BucketSource={"S3Bucket": "bucket"})
    assert found["FailureCode"] == "S3NoSuchKey"


def test_boto3_exports_and_imports(engine: Embedded, bucket: Path) -> None:
    client = boto3.client("dynamodb", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    client = attach(client, engine)
    export = client.export_table_to_point_in_time(TableArn=ARN, S3Bucket="bucket")["ExportDescription"]
    export = client.describe_export(ExportArn=export["ExportArn"])["ExportDescription"]
    assert export["ExportStatus"] == "COMPLETED"
    assert export["ExportTime"].tzinfo is not None
    begun = client.import_table(
        S3BucketSource={"S3Bucket": "bucket", "S3KeyPrefix": str(Path(export["ExportManifest"]).parent / "data")},
        InputFormat="DYNAMODB_JSON",
        InputCompressionType="GZIP",
        TableCreationParameters=CREATION,
    )["ImportTableDescription"]
    ended = client.describe_import(ImportArn=begun["ImportArn"])["ImportTableDescription"]
    assert ended["ImportedItemCount"] == 5
    assert client.scan(TableName="imported")["Count"] == 5
