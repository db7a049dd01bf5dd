"""CloudFormation: renders `template.yaml`, which SAM deploys as well."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import yaml

from prejoin.design.model import Design, ProjectionKind
from prejoin.workload.model import Workload

from .options import Encryption, Infrastructure, TableClass
from .policies import only_tls, pascal, policy_document
from .stack import ABORT_DAYS, NOTICE, RECOVERY_DAYS, STREAM_ATTEMPTS, Scaled, Stack, scaled_dimensions, stack_of
from .table import TableIndex

FILE = PurePosixPath("template.yaml")
_COMMENT = f"# {NOTICE}\n"


class Tagged:
    """A function of CloudFormation in its short form: `!Ref TableName`."""

    def __init__(self, function: str, text: str) -> None:
        self.function = function
        self.text = text


_FUNCTION = Tagged("Ref", "StreamFunction")


def render_cloudformation(
    workload: Workload, design: Design, options: Infrastructure | None = None
) -> Mapping[PurePosixPath, str]:
    """Renders the template: the table, auto scaling, the encryption key, and a managed policy for each role."""
    stack = stack_of(workload, design, options or Infrastructure())
    return {FILE: _COMMENT + _text(template(stack))}


def template(stack: Stack) -> dict[str, Any]:
    """The template as data, with functions in it."""
    resources: dict[str, Any] = {}
    key = None
    if stack.has_customer_key:
        key = stack.options.key_arn or Tagged("GetAtt", "TableKey.Arn")
    if stack.makes_key:
        resources["TableKey"] = _key(stack)
    resources["Table"] = _table(stack, key)
    if stack.bucket:
        resources |= {"Bucket": _bucket(stack, key), "BucketPolicy": _bucket_policy()}
    for dimension in scaled_dimensions(stack):
        resources |= _scaling(dimension)
    for policy in stack.every_policy:
        resources[f"{policy.name}Policy"] = {
            "Type": "AWS::IAM::ManagedPolicy",
            "Properties": {
                "Description": policy.text,
                "PolicyDocument": policy_document(policy, _arns(stack), key),
            },
        }
    parameters: dict[str, Any] = {
        "TableName": {
            "Type": "String",
            "Default": stack.table.name,
            "AllowedPattern": "^[A-Za-z0-9_.-]{3,255}$",
            "Description": "The name of the table",
        }
    }
    conditions: dict[str, Any] = {}
    if stack.consumer:
        parameters["StreamFunction"] = {
            "Type": "String",
            "Default": "",
            "Description": "The name or ARN of the function that reads the stream; empty if it is not there yet",
        }
        conditions = {"Conditions": {"HasStreamFunction": {"Fn::Not": [{"Fn::Equals": [_FUNCTION, ""]}]}}}
        resources["StreamMapping"] = _mapping()
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"The table of {stack.title}",
        "Parameters": parameters,
        **conditions,
        "Resources": resources,
        "Outputs": _outputs(stack),
    }


def _mapping() -> dict[str, Any]:
    """The mapping of the stream to its function: a record that failed is delivered again, not for ever."""
    return {
        "Type": "AWS::Lambda::EventSourceMapping",
        "Condition": "HasStreamFunction",
        "Properties": {
            "EventSourceArn": Tagged("GetAtt", "Table.StreamArn"),
            "FunctionName": _FUNCTION,
            "StartingPosition": "TRIM_HORIZON",
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "BisectBatchOnFunctionError": True,
            "MaximumRetryAttempts": STREAM_ATTEMPTS,
        },
    }


def _table(stack: Stack, key: Any) -> dict[str, Any]:
    resource: dict[str, Any] = {"Type": "AWS::DynamoDB::Table"}
    # CloudFormation deletes resources that leave a stack, with their data, unless their policy is Retain.
    deletion_policy = "Retain" if stack.options.deletion_protection else "Delete"
    resource |= {"DeletionPolicy": deletion_policy, "UpdateReplacePolicy": deletion_policy}
    return resource | {"Properties": _properties(stack, Tagged("Ref", "TableName"), key)}


def _properties(stack: Stack, table_name: Any, key: Any = None) -> dict[str, Any]:
    """The properties of `AWS::DynamoDB::Table`."""
    table, options = stack.table, stack.options
    properties: dict[str, Any] = {
        "TableName": table_name,
        "BillingMode": table.billing.value,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": attribute_type} for name, attribute_type in table.types.items()
        ],
        "KeySchema": _keys(table.pk, table.sk),
    }
    if table.global_indexes:
        properties["GlobalSecondaryIndexes"] = [_index(index) | _throughput(stack) for index in table.global_indexes]
    if table.local_indexes:
        properties["LocalSecondaryIndexes"] = list(map(_index, table.local_indexes))
    properties |= _throughput(stack)
    if options.table_class is not TableClass.STANDARD:
        properties["TableClass"] = options.table_class.value
    if table.ttl:
        properties["TimeToLiveSpecification"] = {"AttributeName": table.ttl, "Enabled": True}
    if options.stream:
        properties["StreamSpecification"] = {"StreamViewType": options.stream.value}
    properties["PointInTimeRecoverySpecification"] = {"PointInTimeRecoveryEnabled": options.point_in_time_recovery}
    if options.encryption is not Encryption.AWS_OWNED:
        properties["SSESpecification"] = {"SSEEnabled": True, "SSEType": "KMS"}
        if stack.has_customer_key:
            properties["SSESpecification"]["KMSMasterKeyId"] = key
    properties["DeletionProtectionEnabled"] = options.deletion_protection
    if options.tags:
        properties["Tags"] = _tags(stack)
    return properties


def _bucket(stack: Stack, key: Any) -> dict[str, Any]:
    """The bucket of large contents, which is kept as the table is."""
    deletion_policy = "Retain" if stack.options.deletion_protection else "Delete"
    encryption = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key} if key else {"SSEAlgorithm": "AES256"}
    rule: dict[str, Any] = {"ServerSideEncryptionByDefault": encryption}
    if key:
        # With a bucket key S3 sends KMS fewer requests, which are charged.
        rule["BucketKeyEnabled"] = True
    access_blocks = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    properties: dict[str, Any] = {
        "BucketEncryption": {"ServerSideEncryptionConfiguration": [rule]},
        "PublicAccessBlockConfiguration": dict.fromkeys(access_blocks, True),
    }
    leftovers: dict[str, Any] = {
        "Id": "Leftovers",
        "Status": "Enabled",
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": ABORT_DAYS},
    }
    if stack.options.point_in_time_recovery:
        properties["VersioningConfiguration"] = {"Status": "Enabled"}
        leftovers["NoncurrentVersionExpiration"] = {"NoncurrentDays": RECOVERY_DAYS}
        leftovers["ExpiredObjectDeleteMarker"] = True
    properties["LifecycleConfiguration"] = {"Rules": [leftovers]}
    if stack.options.tags:
        properties["Tags"] = _tags(stack)
    return {
        "Type": "AWS::S3::Bucket",
        "DeletionPolicy": deletion_policy,
        "UpdateReplacePolicy": deletion_policy,
        "Properties": properties,
    }


def _bucket_policy() -> dict[str, Any]:
    """The policy of the bucket: no access without TLS."""
    document = only_tls([Tagged("GetAtt", "Bucket.Arn"), Tagged("Sub", "${Bucket.Arn}/*")])
    return {
        "Type": "AWS::S3::BucketPolicy",
        "Properties": {"Bucket": Tagged("Ref", "Bucket"), "PolicyDocument": document},
    }


def _tags(stack: Stack) -> list[dict[str, str]]:
    return [{"Key": tag, "Value": value} for tag, value in stack.tags.items()]


def _keys(pk: tuple[str, ...], sk: tuple[str, ...]) -> list[dict[str, str]]:
    return [_key_part(name, "HASH") for name in pk] + [_key_part(name, "RANGE") for name in sk]


def _key_part(name: str, key_type: str) -> dict[str, str]:
    return {"AttributeName": name, "KeyType": key_type}


def _index(index: TableIndex) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection.value}
    if index.projection is ProjectionKind.INCLUDE:
        projection["NonKeyAttributes"] = list(index.attributes)
    return {"IndexName": index.name, "KeySchema": _keys(index.pk, index.sk), "Projection": projection}


def _throughput(stack: Stack) -> dict[str, Any]:
    if units := stack.provisioned_units:
        reads, writes = units
        return {"ProvisionedThroughput": {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}}
    limits = {pascal(name): units for name, units in stack.request_limits.items()}
    return {"OnDemandThroughput": limits} if limits else {}


def _key(stack: Stack) -> dict[str, Any]:
    root = Tagged("Sub", "arn:${AWS::Partition}:iam::${AWS::AccountId}:root")
    return {
        "Type": "AWS::KMS::Key",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": {
            "Description": f"Encrypts the table of {stack.title}",
            "EnableKeyRotation": True,
            "KeyPolicy": {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Sid": "Account",
                        "Effect": "Allow",
                        "Principal": {"AWS": root},
                        "Action": "kms:*",
                        "Resource": "*",
                    }
                ],
            },
        },
    }


def _scaling(dimension: Scaled) -> dict[str, Any]:
    place = f"table/${{Table}}/index/{dimension.index.name}" if dimension.index else "table/${Table}"
    role = (
        "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/aws-service-role/dynamodb.application-autoscaling."
        "amazonaws.com/AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
    )
    return {
        f"{dimension.name}Target": {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {
                "ServiceNamespace": "dynamodb",
                "ResourceId": Tagged("Sub", place),
                "ScalableDimension": dimension.dimension,
                "MinCapacity": dimension.least,
                "MaxCapacity": dimension.most,
                "RoleARN": Tagged("Sub", role),
            },
        },
        f"{dimension.name}Scaling": {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {
                "PolicyName": dimension.name,
                "PolicyType": "TargetTrackingScaling",
                "ScalingTargetId": Tagged("Ref", f"{dimension.name}Target"),
                "TargetTrackingScalingPolicyConfiguration": {
                    "PredefinedMetricSpecification": {"PredefinedMetricType": dimension.metric},
                    "TargetValue": dimension.target,
                },
            },
        },
    }


def _arns(stack: Stack) -> dict[str, Any]:
    return stack.resources(
        table=Tagged("GetAtt", "Table.Arn"),
        stream=Tagged("GetAtt", "Table.StreamArn"),
        bucket=Tagged("GetAtt", "Bucket.Arn"),
        index=lambda name: Tagged("Sub", f"${{Table.Arn}}/index/{name}"),
        folder=lambda name: Tagged("Sub", f"${{Bucket.Arn}}/${{Table}}/{name}*"),
    )


def _outputs(stack: Stack) -> dict[str, Any]:
    outputs: dict[str, Any] = {
        "TableName": {"Value": Tagged("Ref", "Table")},
        "TableArn": {"Value": Tagged("GetAtt", "Table.Arn")},
    }
    if stack.options.stream:
        outputs["StreamArn"] = {"Value": Tagged("GetAtt", "Table.StreamArn")}
    if stack.bucket:
        outputs["BucketName"] = {"Value": Tagged("Ref", "Bucket")}
    for policy in stack.every_policy:
        outputs[f"{policy.name}PolicyArn"] = {"Value": Tagged("Ref", f"{policy.name}Policy")}
    return outputs


class _Dumper(yaml.SafeDumper):
    """Writes YAML with indented lists and without references."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def choose_scalar_style(self) -> str:
        # PyYAML quotes whatever has a tag; people do not quote a name.
        plain = getattr(self.event, "tag", None) in ("!Ref", "!GetAtt")
        return "" if plain else super().choose_scalar_style()


def _represent_tagged(dumper: yaml.SafeDumper, value: Tagged) -> yaml.Node:
    return dumper.represent_scalar(f"!{value.function}", value.text)


_Dumper.add_representer(Tagged, _represent_tagged)


def _text(data: Any) -> str:
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return text
