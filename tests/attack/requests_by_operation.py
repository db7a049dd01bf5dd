"""Requests that the attack on operations starts from, beside those of `tests.engine.test_fuzz`.

A text such as `<BackupArn>` stands for something that an earlier response had in a member of this name.
"""

from __future__ import annotations

from typing import Any

from tests.engine.conftest import SHOP, key_schema
from tests.engine.test_fuzz import CONDITION, KEY, READ, RESOURCE, TABLE, UPDATE, WHOLE

from prejoin.engine.operations import OPERATIONS

KNOWN = (
    *("BackupArn", "StreamArn", "ShardId", "ShardIterator", "SequenceNumber", "ExportArn", "ImportArn", "NextToken"),
    *("TableArn", "TableId", "RevisionId", "LastEvaluatedKey", "ExportManifest"),
)
"""Members of responses whose content later requests use."""
OTHER_NAMES = {"LatestStreamArn": "StreamArn", "NextShardIterator": "ShardIterator", "LastEvaluatedShardId": "ShardId"}
BUCKET = "bucket"
FILES = {
    "json/a.json": b'{"Item":{"pk":{"S":"a"},"n":{"N":"1"}}}\n{"Item":{"pk":{"N":"1"}}}\nnothing\n\n[]\n{"Item":[]}\n',
    "csv/a.csv": b'pk,a,b\nx,1,"2\n3"\ny,"un""closed\n\xff,,\n' + b"z," + b"," * 2_000,
    "ion/a.ion": b'$ion_1_0 {Item:{pk:"a",n:1.,l:[true,{x:null}],b:{{AAE=}},s:$dynamodb_SS::["a"]}}\n{Item:{pk:a}}{{{',
    "gzip/a.json.gz": b"\x1f\x8b\x08\x00broken",
}
"""The objects of the bucket, of which imports read."""
_ABSENT = {
    **TABLE,
    "StreamArn": "arn:aws:kinesis:local:000000000000:stream/x",
    "GlobalTableName": "shop",
    "BulkOperationArn": "<ExportArn>",
}
_NAME = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}}
_SIMPLE: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": key_schema("pk"),
    "BillingMode": "PAY_PER_REQUEST",
}
_STATEMENTS = (
    "SELECT * FROM shop WHERE pk = 'a' AND begins_with(sk, '1') ORDER BY sk DESC",
    'SELECT pk, "m"."l"[0] FROM "shop"."gsi1" WHERE g1pk IN [\'x\', \'y\'] AND contains(m, ?)',
    "INSERT INTO \"shop\" VALUE {'pk': 'i', 'sk': ?, 'l': [1, -2.5e3, true, null, {'s': <<1, 2>>}]}",
    "UPDATE shop SET a = a + 1 SET m.l[0] = list_append(m.l, ['x']) REMOVE b WHERE pk = 'a' AND sk = '1' RETURNING MODIFIED OLD *",
    "UPDATE shop SET d = set_add(d, <<'a'>>) WHERE pk = ? AND sk = '1' AND attribute_type(\"n\", 'N') AND a IS MISSING",
    "DELETE FROM shop WHERE pk = 'b' AND sk = '1' AND size(a) <> 3 RETURNING ALL OLD *",
    "EXISTS(SELECT * FROM shop WHERE pk = 'a' AND sk = '1' AND n NOT BETWEEN 1 AND 2)",
)
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
RECOVERY = {"PointInTimeRecoveryEnabled": True}


def _statement(text: str) -> dict[str, Any]:
    return {"Statement": text, "Parameters": [{"S": "a"}] * text.count("?")}


def _import(kind: str, prefix: str, compression: str = "NONE", **options: Any) -> dict[str, Any]:
    return {
        "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": prefix},
        "InputFormat": kind,
        "InputCompressionType": compression,
        "TableCreationParameters": {"TableName": "imported", **_SIMPLE},
        **options,
    }


REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("UpdateTable", {**TABLE, "StreamSpecification": STREAM}),
    ("UpdateTable", {**TABLE, "StreamSpecification": {"StreamEnabled": False}}),
    ("ListStreams", {}),
    ("DescribeStream", {"StreamArn": "<StreamArn>"}),
    ("ListStreams", {"TableName": "shop", "ExclusiveStartStreamArn": "<StreamArn>"}),
    ("DescribeStream", {"StreamArn": "<StreamArn>", "Limit": 5}),
    ("DescribeStream", {"StreamArn": "<StreamArn>", "ShardFilter": {"Type": "CHILD_SHARDS", "ShardId": "<ShardId>"}}),
    ("GetShardIterator", {"StreamArn": "<StreamArn>", "ShardId": "<ShardId>", "ShardIteratorType": "TRIM_HORIZON"}),
    (
        "GetShardIterator",
        {
            "StreamArn": "<StreamArn>",
            "ShardId": "<ShardId>",
            "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
            "SequenceNumber": "<SequenceNumber>",
        },
    ),
    ("GetRecords", {"ShardIterator": "<ShardIterator>", "Limit": 10}),
    ("DescribeBackup", {"BackupArn": "<BackupArn>"}),
    ("DeleteBackup", {"BackupArn": "<BackupArn>"}),
    ("ListBackups", {"ExclusiveStartBackupArn": "<BackupArn>", "Limit": 1, "TimeRangeUpperBound": 2e9}),
    (
        "RestoreTableFromBackup",
        {
            "BackupArn": "<BackupArn>",
            "TargetTableName": "restored",
            "BillingModeOverride": "PROVISIONED",
            "ProvisionedThroughputOverride": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            "LocalSecondaryIndexOverride": [],
        },
    ),
    (
        "RestoreTableToPointInTime",
        {"SourceTableArn": "<TableArn>", "TargetTableName": "restored", "RestoreDateTime": 1.8e9},
    ),
    ("ExportTableToPointInTime", {"TableArn": "<TableArn>", "S3Bucket": BUCKET, "ClientToken": "once"}),
    (
        "ExportTableToPointInTime",
        {"TableArn": "<TableArn>", "S3Bucket": BUCKET, "ExportFormat": "ION", "S3Prefix": "x"},
    ),
    ("DescribeExport", {"ExportArn": "<ExportArn>"}),
    ("ListExports", {"TableArn": "<TableArn>", "MaxResults": 1, "NextToken": "<NextToken>"}),
    ("ImportTable", _import("DYNAMODB_JSON", "json/")),
    ("ImportTable", _import("DYNAMODB_JSON", "gzip/", "GZIP")),
    ("ImportTable", _import("DYNAMODB_JSON", "", "ZSTD", ClientToken="once")),
    ("ImportTable", _import("CSV", "csv/", InputFormatOptions={"Csv": {"Delimiter": ","}})),
    ("ImportTable", _import("ION", "ion/")),
    ("DescribeImport", {"ImportArn": "<ImportArn>"}),
    ("ListImports", {"TableArn": "<TableArn>", "PageSize": 1, "NextToken": "<NextToken>"}),
    ("DeleteTable", {"TableName": "imported"}),
    ("DeleteTable", {"TableName": "restored"}),
    ("PutItem", {**TABLE, "Item": WHOLE, "Expected": {"pk": {"Value": {"S": "a"}, "Exists": True}}}),
    ("DeleteItem", {**TABLE, "Key": KEY, "Expected": _NAME, "ConditionalOperator": "OR", "ReturnValues": "ALL_OLD"}),
    ("GetItem", {**TABLE, "Key": KEY, "AttributesToGet": ["pk", "m"]}),
    ("BatchGetItem", {"RequestItems": {"<TableArn>": {"Keys": [KEY], "AttributesToGet": ["pk"]}}}),
    ("Scan", {**TABLE, "ScanFilter": {**_NAME, "sk": {"ComparisonOperator": "NOT_NULL"}}, "Select": "COUNT"}),
    (
        "Scan",
        {**TABLE, **{name: READ[name] for name in ("IndexName", "Limit")}, "ExclusiveStartKey": "<LastEvaluatedKey>"},
    ),
    ("PutResourcePolicy", {**RESOURCE, "Policy": '{"Version": "2012-10-17"}', "ExpectedRevisionId": "<RevisionId>"}),
    ("ListTagsOfResource", {"ResourceArn": "<TableArn>", "NextToken": "<NextToken>"}),
    (
        "CreateTable",
        {
            **SHOP,
            "TableName": "another",
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
            "SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/x"},
            "Tags": [{"Key": "team", "Value": "a"}],
            "TableClass": "STANDARD_INFREQUENT_ACCESS",
            "DeletionProtectionEnabled": False,
            "WarmThroughput": {"ReadUnitsPerSecond": 15_000, "WriteUnitsPerSecond": 5_000},
            "ResourcePolicy": "{}",
        },
    ),
    (
        "UpdateTable",
        {
            **TABLE,
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
            "GlobalSecondaryIndexUpdates": [
                {
                    "Update": {
                        "IndexName": name,
                        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
                    }
                }
                for name in ("gsi1", "by-city")
            ],
        },
    ),
    ("UpdateTable", {**TABLE, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "late"}}]}),
    ("UpdateTable", {**TABLE, "OnDemandThroughput": {"MaxReadRequestUnits": 5}, "TableClass": "STANDARD"}),
    *(("ExecuteStatement", _statement(text)) for text in _STATEMENTS),
    ("ExecuteStatement", {"Statement": "SELECT * FROM shop", "Limit": 1, "NextToken": "<NextToken>"}),
    ("ExecuteTransaction", {"TransactStatements": [_statement(text) for text in _STATEMENTS[2:5]]}),
    ("BatchExecuteStatement", {"Statements": [_statement(text) for text in _STATEMENTS[2:]]}),
    (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Update": {**TABLE, **UPDATE}},
                {"ConditionCheck": {**TABLE, "Key": {**KEY, "sk": {"S": "2"}}, **CONDITION}},
            ],
            "ReturnConsumedCapacity": "INDEXES",
        },
    ),
    *((name, _ABSENT) for name in sorted(OPERATIONS) if "GlobalTable" in name or "Kinesis" in name or "Bulk" in name),
]

WEATHER: list[dict[str, Any]] = [
    {
        "tables": ["shop"],
        "seed": 1,
        "faults": 20,
        "read_lag": 0.5,
        "index_lag": {"gsi1": 2},
        "page_items": 2,
        "conflicts": 0.5,
        "unprocessed": 0.5,
        "errors": {"*": {"ThrottlingException": 0.1}},
        "lost": {"PutItem": 0.2},
        "delays": {"GetItem": 0},
        "throttling": True,
        "partitions": 2,
        "partition_reads": 50,
        "partition_writes": 5,
        "burst_seconds": 1,
        "adaptive": True,
    },
    {"read_lag": 1},
]
"""A document for the server's admin endpoint."""
