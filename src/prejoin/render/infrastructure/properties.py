"""The table in CloudFormation's words, which are those of CreateTable, too: `properties(stack)`."""

from __future__ import annotations

from typing import Any

from prejoin.design.model import ProjectionKind

from .options import Encryption, TableClass
from .stack import Stack
from .table import TableIndex


def properties(stack: Stack, name: Any, key: Any = None) -> dict[str, Any]:
    """The properties of `AWS::DynamoDB::Table`. `name` and `key` may be what the template calls them."""
    table, options = stack.table, stack.options
    found: dict[str, Any] = {
        "TableName": name,
        "BillingMode": table.billing.value,
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in table.types.items()],
        "KeySchema": _keys(table.pk, table.sk),
    }
    if table.global_indexes:
        found["GlobalSecondaryIndexes"] = [_index(one) | _throughput(stack) for one in table.global_indexes]
    if table.local_indexes:
        found["LocalSecondaryIndexes"] = [_index(one) for one in table.local_indexes]
    found |= _throughput(stack)
    if options.table_class is not TableClass.STANDARD:
        found["TableClass"] = options.table_class.value
    if table.ttl:
        found["TimeToLiveSpecification"] = {"AttributeName": table.ttl, "Enabled": True}
    if options.stream:
        found["StreamSpecification"] = {"StreamViewType": options.stream.value}
    found["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": options.point_in_time_recovery}
    if options.encryption is not Encryption.AWS_OWNED:
        found["SSESpecification"] = {"SSEEnabled": True, "SSEType": "KMS"}
        if options.encryption is Encryption.CUSTOMER:
            found["SSESpecification"]["KMSMasterKeyId"] = key
    found["DeletionProtectionEnabled"] = options.deletion_protection
    if options.tags:
        found["Tags"] = [{"Key": k, "Value": v} for k, v in sorted(options.tags.items())]
    return found


def _keys(pk: tuple[str, ...], sk: tuple[str, ...]) -> list[dict[str, str]]:
    found = [{"AttributeName": name, "KeyType": "HASH"} for name in pk]
    return found + [{"AttributeName": name, "KeyType": "RANGE"} for name in sk]


def _index(index: TableIndex) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection.value}
    if index.projection is ProjectionKind.INCLUDE:
        projection["NonKeyAttributes"] = list(index.attributes)
    return {"IndexName": index.name, "KeySchema": _keys(index.pk, index.sk), "Projection": projection}


def _throughput(stack: Stack) -> dict[str, Any]:
    options = stack.options
    if stack.table.provisioned:
        units = {"ReadCapacityUnits": options.reads.least, "WriteCapacityUnits": options.writes.least}
        return {"ProvisionedThroughput": units}
    most = {"MaxReadRequestUnits": options.most_reads, "MaxWriteRequestUnits": options.most_writes}
    said = {name: units for name, units in most.items() if units is not None}
    return {"OnDemandThroughput": said} if said else {}
