"""SST: the table of a design as its `Dynamo` component, and an IAM policy for each role. The name is SST's to give."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from prejoin.design.model import TABLE, Design, ProjectionKind
from prejoin.workload.model import Workload

from .cdk import class_name
from .layout import Lines
from .options import Encryption, Infrastructure, TableClass
from .policies import BUCKET, STREAM, Policy, policy_document
from .stack import ABORT_DAYS, NOTICE, RECOVERY_DAYS, Scaled, Stack, scaled_dimensions, stack_of
from .table import TableIndex
from .typescript import TypeScriptCall, TypeScriptRaw, call_lines, string_literal

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
        # Without the key nobody can read the table and the bucket.
        end_of_call = ", { retainOnDelete: true });"
        parts.append(
            call_lines(
                f"export const key = new aws.kms.Key({string_literal(f'{class_name(stack)}Key')}, ", key, end_of_call
            )
        )
    if _needs_transform(stack):
        parts += [
            call_lines("const units = ", _units(stack), ";"),
            call_lines("const settings = ", _settings(stack), ";"),
        ]
        parts.append(_ADJUST)
    parts.append(
        call_lines(f"export const table = new sst.aws.Dynamo({string_literal(class_name(stack))}, ", _table(stack))
    )
    parts += _bucket(stack) if stack.bucket else []
    parts += [_scaling(dimension, stack) for dimension in scaled_dimensions(stack)]
    policies = [_policy(policy, stack) for policy in stack.every_policy]
    parts += [[f"// {_LINK_REMARK}", *policies[0]], *policies[1:]] if policies else []
    return {FILE: "\n\n".join("\n".join(part) for part in parts) + "\n"}


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
    customer = stack.options.encryption is Encryption.CUSTOMER
    default_encryption = (
        {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": _key(stack)} if customer else {"sseAlgorithm": "AES256"}
    )
    rule: dict[str, Any] = {"applyServerSideEncryptionByDefault": default_encryption}
    if customer:
        rule["bucketKeyEnabled"] = True
    abort_uploads = {"daysAfterInitiation": ABORT_DAYS}
    leftovers: dict[str, Any] = {
        "id": "leftovers",
        "status": "Enabled",
        "abortIncompleteMultipartUpload": abort_uploads,
    }
    bucket_settings: dict[str, Any] = {"forceDestroy": False}
    if stack.options.tags:
        bucket_settings["tags"] = dict(sorted(stack.options.tags.items()))
    encryption_call = f"new aws.s3.BucketServerSideEncryptionConfigurationV2({string_literal(f'{name}Encryption')}, "
    lifecycle_call = f"new aws.s3.BucketLifecycleConfigurationV2({string_literal(f'{name}Lifecycle')}, "
    calls = [
        call_lines(
            f"export const bucket = new sst.aws.Bucket({string_literal(name)}, ",
            {"cors": False, "transform": {"bucket": bucket_settings}},
        ),
        call_lines(encryption_call, {"bucket": bucket_name, "rules": [rule]}),
    ]
    if stack.options.point_in_time_recovery:
        versioning_call = f"new aws.s3.BucketVersioningV2({string_literal(f'{name}Versioning')}, "
        calls.append(
            call_lines(versioning_call, {"bucket": bucket_name, "versioningConfiguration": {"status": "Enabled"}})
        )
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
    settings: dict[str, Any] = {"billingMode": "PROVISIONED"} if stack.table.provisioned else {}
    settings |= _units(stack)
    if options.table_class is not TableClass.STANDARD:
        settings["tableClass"] = options.table_class.value
    if not options.point_in_time_recovery:
        settings["pointInTimeRecovery"] = {"enabled": False}
    if options.encryption is not Encryption.AWS_OWNED:
        settings["serverSideEncryption"] = {"enabled": True}
        if options.encryption is Encryption.CUSTOMER:
            settings["serverSideEncryption"]["kmsKeyArn"] = _key(stack)
    if options.tags:
        settings["tags"] = dict(sorted(options.tags.items()))
    return settings


def _units(stack: Stack) -> dict[str, Any]:
    """The capacity of the table and of each index: provisioned units, or the limit of an on-demand table."""
    options = stack.options
    if stack.table.provisioned:
        return {"readCapacity": options.reads.least, "writeCapacity": options.writes.least}
    limits = {"maxReadRequestUnits": options.most_reads, "maxWriteRequestUnits": options.most_writes}
    set_limits = {name: units for name, units in limits.items() if units is not None}
    return {"onDemandThroughput": set_limits} if set_limits else {}


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
    indexes = {
        index.name: TypeScriptRaw(f"$interpolate`${{table.arn}}/index/{index.name}`") for index in stack.table.indexes
    }
    arns = {**indexes, TABLE: TypeScriptRaw("table.arn"), STREAM: TypeScriptRaw("table.nodes.table.streamArn")}
    arns |= {
        folder: TypeScriptRaw(f"$interpolate`${{bucket.arn}}/${{table.name}}/{folder}*`") for folder in stack.folders
    }
    arns[BUCKET] = TypeScriptRaw("bucket.arn")
    document = policy_document(policy, arns, _key(stack))
    member = f"{policy.name[0].lower()}{policy.name[1:]}Policy"
    values = {"description": policy.text, "policy": TypeScriptCall("$jsonStringify(", document)}
    return call_lines(
        f"export const {member} = new aws.iam.Policy({string_literal(f'{class_name(stack)}{policy.name}')}, ", values
    )


def _key(stack: Stack) -> Any:
    return stack.options.key_arn or TypeScriptRaw("key.arn")
