"""SST: the table of a design as its `Dynamo` component, and an IAM policy for each role. The name is SST's to give."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from prejoin.design.model import Design, ProjectionKind
from prejoin.workload.model import Workload

from .cdk import class_name
from .layout import Lines
from .options import Encryption, Infrastructure, TableClass
from .policies import Policy, policy_document
from .stack import ABORT_DAYS, NOTICE, RECOVERY_DAYS, Scaled, Stack, scaled_dimensions, stack_of
from .table import TableIndex
from .typescript import TypeScriptCall, TypeScriptRaw, call_lines, camel, string_literal

FILE = PurePosixPath("infra", "table.ts")
_TYPES = {"S": "string", "N": "number", "B": "binary"}
_LINK_REMARK = "Give a function the policy of its role; `link` would allow it everything, Scan and DeleteTable too."

_ADJUST = [
    "/** What the component leaves to Pulumi, and the units of each index. */",
    "function adjust(args: aws.dynamodb.TableArgs): void {",
    "  Object.assign(args, settings, {",
    "    globalSecondaryIndexes: $util",
    "      .output(args.globalSecondaryIndexes)",
    "      .apply((indexes) => indexes?.map((index) => ({ ...index, ...units }))),",
    "  });",
    "}",
]


def render_sst(
    workload: Workload, design: Design, options: Infrastructure | None = None
) -> Mapping[PurePosixPath, str]:
    """Renders a module for `sst.config.ts` to import."""
    stack = stack_of(workload, design, options or Infrastructure())
    parts = [[f"// {NOTICE}"]]
    if stack.makes_key:
        key = {"description": f"Encrypts the table of {stack.title}", "enableKeyRotation": True}
        # Without the key nobody can read the table and the bucket: it stays if the stack is removed.
        end_of_call = ", { retainOnDelete: true });"
        key_name = string_literal(f"{class_name(stack)}Key")
        parts.append(call_lines(f"export const key = new aws.kms.Key({key_name}, ", key, end_of_call))
    if _needs_transform(stack):
        parts.append(call_lines("const units = ", _units(stack), ";"))
        parts.append(call_lines("const settings = ", _settings(stack), ";"))
        parts.append(_ADJUST)
    component = f"export const table = new sst.aws.Dynamo({string_literal(class_name(stack))}, "
    parts.append(call_lines(component, _table(stack)))
    if stack.bucket:
        parts += _bucket(stack)
    for dimension in scaled_dimensions(stack):
        parts.append(_scaling(dimension, stack))
    remark = [f"// {_LINK_REMARK}"]
    for policy in stack.every_policy:
        parts.append(remark + _policy(policy, stack))
        remark = []  # it stands once, before the first policy
    return {FILE: "\n\n".join(map("\n".join, parts)) + "\n"}


def _table(stack: Stack) -> dict[str, Any]:
    table, options = stack.table, stack.options
    properties: dict[str, Any] = {
        "fields": {name: _TYPES[kind] for name, kind in table.types.items()},
        "primaryIndex": _keys(table.pk, table.sk),
    }
    if table.global_indexes:
        properties["globalIndexes"] = {index.name: _index(index) for index in table.global_indexes}
    if table.local_indexes:
        properties["localIndexes"] = {index.name: _index(index) for index in table.local_indexes}
    if options.stream:
        properties["stream"] = options.stream.value.lower().replace("_", "-")
    if table.ttl:
        properties["ttl"] = table.ttl
    properties["deletionProtection"] = options.deletion_protection
    if settings := _settings(stack):
        properties["transform"] = {"table": TypeScriptRaw("adjust") if _needs_transform(stack) else settings}
    return properties


def _bucket(stack: Stack) -> list[Lines]:
    """The bucket of large contents. The component blocks public access, and access without TLS.

    By itself it would delete all objects with the bucket, and let the pages of every web site use it.
    """
    name = f"{class_name(stack)}Bucket"
    bucket_name = TypeScriptRaw("bucket.name")
    rule: dict[str, Any] = {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}
    if stack.has_customer_key:
        rule["applyServerSideEncryptionByDefault"] = {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": _key(stack)}
        # With a bucket key S3 sends KMS fewer requests, which are charged.
        rule["bucketKeyEnabled"] = True
    abort_uploads = {"daysAfterInitiation": ABORT_DAYS}
    leftovers: dict[str, Any] = {
        "id": "leftovers",
        "status": "Enabled",
        "abortIncompleteMultipartUpload": abort_uploads,
    }
    bucket_settings: dict[str, Any] = {"forceDestroy": False}
    if stack.options.tags:
        bucket_settings["tags"] = stack.tags
    encryption_call = f"new aws.s3.BucketServerSideEncryptionConfigurationV2({string_literal(f'{name}Encryption')}, "
    lifecycle_call = f"new aws.s3.BucketLifecycleConfigurationV2({string_literal(f'{name}Lifecycle')}, "
    bucket_call = f"export const bucket = new sst.aws.Bucket({string_literal(name)}, "
    calls = [
        call_lines(bucket_call, {"cors": False, "transform": {"bucket": bucket_settings}}),
        call_lines(encryption_call, {"bucket": bucket_name, "rules": [rule]}),
    ]
    if stack.options.point_in_time_recovery:
        versioning_call = f"new aws.s3.BucketVersioningV2({string_literal(f'{name}Versioning')}, "
        versioning = {"bucket": bucket_name, "versioningConfiguration": {"status": "Enabled"}}
        calls.append(call_lines(versioning_call, versioning))
        leftovers["noncurrentVersionExpiration"] = {"noncurrentDays": RECOVERY_DAYS}
        leftovers["expiration"] = {"expiredObjectDeleteMarker": True}
    return [*calls, call_lines(lifecycle_call, {"bucket": bucket_name, "rules": [leftovers]})]


def _needs_transform(stack: Stack) -> bool:
    """Whether the table needs `transform`, because the component creates indexes without capacity."""
    return bool(_units(stack) and stack.table.global_indexes)


def _index(index: TableIndex) -> dict[str, Any]:
    properties = _keys(() if index.local else index.pk, index.sk)
    if index.projection is ProjectionKind.INCLUDE:
        properties["projection"] = list(index.attributes)
    elif index.projection is ProjectionKind.KEYS_ONLY:
        properties["projection"] = "keys-only"
    return properties


def _keys(pk: tuple[str, ...], sk: tuple[str, ...]) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for name, side in (("hashKey", list(pk)), ("rangeKey", list(sk))):
        if side:
            keys[name] = side if len(side) > 1 else side[0]
    return keys


def _settings(stack: Stack) -> dict[str, Any]:
    """Properties of the table that the component does not have."""
    options = stack.options
    settings: dict[str, Any] = {"billingMode": "PROVISIONED"} if stack.table.is_provisioned else {}
    settings |= _units(stack)
    if options.table_class is not TableClass.STANDARD:
        settings["tableClass"] = options.table_class.value
    if not options.point_in_time_recovery:
        settings["pointInTimeRecovery"] = {"enabled": False}
    if options.encryption is not Encryption.AWS_OWNED:
        settings["serverSideEncryption"] = {"enabled": True}
        if stack.has_customer_key:
            settings["serverSideEncryption"]["kmsKeyArn"] = _key(stack)
    if options.tags:
        settings["tags"] = stack.tags
    return settings


def _units(stack: Stack) -> dict[str, Any]:
    """The capacity of the table and of each index: provisioned units, or the limit of an on-demand table."""
    if units := stack.provisioned_units:
        reads, writes = units
        return {"readCapacity": reads, "writeCapacity": writes}
    limits = {camel(name): units for name, units in stack.request_limits.items()}
    return {"onDemandThroughput": limits} if limits else {}


def _scaling(dimension: Scaled, stack: Stack) -> Lines:
    name = f"{class_name(stack)}{dimension.name}"
    target = f"{dimension.name[0].lower()}{dimension.name[1:]}"
    place = f"/index/{dimension.index.name}" if dimension.index else ""
    target_properties = {
        "serviceNamespace": "dynamodb",
        "resourceId": TypeScriptRaw(f"$interpolate`table/${{table.name}}{place}`"),
        "scalableDimension": dimension.dimension,
        "minCapacity": dimension.least,
        "maxCapacity": dimension.most,
    }
    tracking = {
        "predefinedMetricSpecification": {"predefinedMetricType": dimension.metric},
        "targetValue": dimension.target,
    }
    policy = {
        "policyType": "TargetTrackingScaling",
        "serviceNamespace": TypeScriptRaw(f"{target}.serviceNamespace"),
        "resourceId": TypeScriptRaw(f"{target}.resourceId"),
        "scalableDimension": TypeScriptRaw(f"{target}.scalableDimension"),
        "targetTrackingScalingPolicyConfiguration": tracking,
    }
    return [
        *call_lines(f"const {target} = new aws.appautoscaling.Target({string_literal(name)}, ", target_properties),
        *call_lines(f"new aws.appautoscaling.Policy({string_literal(name)}, ", policy),
    ]


def _policy(policy: Policy, stack: Stack) -> Lines:
    arns = stack.resources(
        table=TypeScriptRaw("table.arn"),
        stream=TypeScriptRaw("table.nodes.table.streamArn"),
        bucket=TypeScriptRaw("bucket.arn"),
        index=lambda name: TypeScriptRaw(f"$interpolate`${{table.arn}}/index/{name}`"),
        folder=lambda name: TypeScriptRaw(f"$interpolate`${{bucket.arn}}/${{table.name}}/{name}*`"),
    )
    document = policy_document(policy, arns, _key(stack))
    member = f"{policy.name[0].lower()}{policy.name[1:]}Policy"
    values = {"description": policy.text, "policy": TypeScriptCall("$jsonStringify(", document)}
    return call_lines(
        f"export const {member} = new aws.iam.Policy({string_literal(f'{class_name(stack)}{policy.name}')}, ", values
    )


def _key(stack: Stack) -> Any:
    return stack.options.key_arn or TypeScriptRaw("key.arn")
