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
from .stack import ABORT_DAYS, NOTICE, RECOVERY_DAYS, Scaled, Stack, scaled, stack_of
from .table import TableIndex
from .typescript import TypeScriptCall, TypeScriptRaw, call_lines, quoted

FILE = PurePosixPath("infra", "table.ts")
_TYPES = {"S": "string", "N": "number", "B": "binary"}
_LINKED = "Give a function the policy of its role; `link` would allow it everything, Scan and DeleteTable too."

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
        kept = ", { retainOnDelete: true });"
        parts.append(call_lines(f"export const key = new aws.kms.Key({quoted(f'{class_name(stack)}Key')}, ", key, kept))
    if _adjusted(stack):
        parts += [
            call_lines("const units = ", _units(stack), ";"),
            call_lines("const settings = ", _settings(stack), ";"),
        ]
        parts.append(_ADJUST)
    parts.append(call_lines(f"export const table = new sst.aws.Dynamo({quoted(class_name(stack))}, ", _table(stack)))
    parts += _bucket(stack) if stack.bucket else []
    parts += [_scaling(one, stack) for one in scaled(stack)]
    policies = [_policy(one, stack) for one in stack.every_policy]
    parts += [[f"// {_LINKED}", *policies[0]], *policies[1:]] if policies else []
    return {FILE: "\n\n".join("\n".join(part) for part in parts) + "\n"}


def _table(stack: Stack) -> dict[str, Any]:
    table, options = stack.table, stack.options
    found: dict[str, Any] = {
        "fields": {name: _TYPES[kind] for name, kind in table.types.items()},
        "primaryIndex": _keys(table.pk, table.sk),
    }
    if table.global_indexes:
        found["globalIndexes"] = {one.name: _index(one) for one in table.global_indexes}
    if table.local_indexes:
        found["localIndexes"] = {one.name: _index(one) for one in table.local_indexes}
    if options.stream:
        found["stream"] = options.stream.value.lower().replace("_", "-")
    if table.ttl:
        found["ttl"] = table.ttl
    found["deletionProtection"] = options.deletion_protection
    if settings := _settings(stack):
        found["transform"] = {"table": TypeScriptRaw("adjust") if _adjusted(stack) else settings}
    return found


def _bucket(stack: Stack) -> list[Lines]:
    """The bucket of large contents. The component blocks public access, and access without TLS.

    By itself it would delete all objects with the bucket, and let the pages of every web site use it.
    """
    name = f"{class_name(stack)}Bucket"
    on = TypeScriptRaw("bucket.name")
    customer = stack.options.encryption is Encryption.CUSTOMER
    encrypted = {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": _key(stack)} if customer else {"sseAlgorithm": "AES256"}
    rule: dict[str, Any] = {"applyServerSideEncryptionByDefault": encrypted}
    if customer:
        rule["bucketKeyEnabled"] = True
    after = {"daysAfterInitiation": ABORT_DAYS}
    leftovers: dict[str, Any] = {"id": "leftovers", "status": "Enabled", "abortIncompleteMultipartUpload": after}
    kept: dict[str, Any] = {"forceDestroy": False}
    if stack.options.tags:
        kept["tags"] = dict(sorted(stack.options.tags.items()))
    encryption = f"new aws.s3.BucketServerSideEncryptionConfigurationV2({quoted(f'{name}Encryption')}, "
    lifecycle = f"new aws.s3.BucketLifecycleConfigurationV2({quoted(f'{name}Lifecycle')}, "
    found = [
        call_lines(
            f"export const bucket = new sst.aws.Bucket({quoted(name)}, ", {"cors": False, "transform": {"bucket": kept}}
        ),
        call_lines(encryption, {"bucket": on, "rules": [rule]}),
    ]
    if stack.options.point_in_time_recovery:
        versioning = f"new aws.s3.BucketVersioningV2({quoted(f'{name}Versioning')}, "
        found.append(call_lines(versioning, {"bucket": on, "versioningConfiguration": {"status": "Enabled"}}))
        leftovers["noncurrentVersionExpiration"] = {"noncurrentDays": RECOVERY_DAYS}
        leftovers["expiration"] = {"expiredObjectDeleteMarker": True}
    return [*found, call_lines(lifecycle, {"bucket": on, "rules": [leftovers]})]


def _adjusted(stack: Stack) -> bool:
    """Whether the table needs `transform`, because the component creates indexes without capacity."""
    return bool(_units(stack) and stack.table.global_indexes)


def _index(index: TableIndex) -> dict[str, Any]:
    found = _keys(() if index.local else index.pk, index.sk)
    if index.projection is ProjectionKind.INCLUDE:
        found["projection"] = list(index.attributes)
    elif index.projection is ProjectionKind.KEYS_ONLY:
        found["projection"] = "keys-only"
    return found


def _keys(pk: tuple[str, ...], sk: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, side in (("hashKey", list(pk)), ("rangeKey", list(sk))):
        if side:
            found[name] = side if len(side) > 1 else side[0]
    return found


def _settings(stack: Stack) -> dict[str, Any]:
    """Properties of the table that the component does not have."""
    options = stack.options
    found: dict[str, Any] = {"billingMode": "PROVISIONED"} if stack.table.provisioned else {}
    found |= _units(stack)
    if options.table_class is not TableClass.STANDARD:
        found["tableClass"] = options.table_class.value
    if not options.point_in_time_recovery:
        found["pointInTimeRecovery"] = {"enabled": False}
    if options.encryption is not Encryption.AWS_OWNED:
        found["serverSideEncryption"] = {"enabled": True}
        if options.encryption is Encryption.CUSTOMER:
            found["serverSideEncryption"]["kmsKeyArn"] = _key(stack)
    if options.tags:
        found["tags"] = dict(sorted(options.tags.items()))
    return found


def _units(stack: Stack) -> dict[str, Any]:
    """The capacity of the table and of each index: provisioned units, or the limit of an on-demand table."""
    options = stack.options
    if stack.table.provisioned:
        return {"readCapacity": options.reads.least, "writeCapacity": options.writes.least}
    most = {"maxReadRequestUnits": options.most_reads, "maxWriteRequestUnits": options.most_writes}
    said = {name: units for name, units in most.items() if units is not None}
    return {"onDemandThroughput": said} if said else {}


def _scaling(one: Scaled, stack: Stack) -> Lines:
    name = f"{class_name(stack)}{one.name}"
    target = f"{one.name[0].lower()}{one.name[1:]}"
    place = f"/index/{one.index.name}" if one.index else ""
    scaled_ = {
        "serviceNamespace": "dynamodb",
        "resourceId": TypeScriptRaw(f"$interpolate`table/${{table.name}}{place}`"),
        "scalableDimension": one.dimension,
        "minCapacity": one.least,
        "maxCapacity": one.most,
    }
    tracked = {"predefinedMetricSpecification": {"predefinedMetricType": one.metric}, "targetValue": one.target}
    policy = {
        "policyType": "TargetTrackingScaling",
        "serviceNamespace": TypeScriptRaw(f"{target}.serviceNamespace"),
        "resourceId": TypeScriptRaw(f"{target}.resourceId"),
        "scalableDimension": TypeScriptRaw(f"{target}.scalableDimension"),
        "targetTrackingScalingPolicyConfiguration": tracked,
    }
    return [
        *call_lines(f"const {target} = new aws.appautoscaling.Target({quoted(name)}, ", scaled_),
        *call_lines(f"new aws.appautoscaling.Policy({quoted(name)}, ", policy),
    ]


def _policy(policy: Policy, stack: Stack) -> Lines:
    indexes = {one.name: TypeScriptRaw(f"$interpolate`${{table.arn}}/index/{one.name}`") for one in stack.table.indexes}
    arns = {**indexes, TABLE: TypeScriptRaw("table.arn"), STREAM: TypeScriptRaw("table.nodes.table.streamArn")}
    arns |= {one: TypeScriptRaw(f"$interpolate`${{bucket.arn}}/${{table.name}}/{one}*`") for one in stack.folders}
    arns[BUCKET] = TypeScriptRaw("bucket.arn")
    written = policy_document(policy, arns, _key(stack))
    member = f"{policy.name[0].lower()}{policy.name[1:]}Policy"
    values = {"description": policy.text, "policy": TypeScriptCall("$jsonStringify(", written)}
    return call_lines(
        f"export const {member} = new aws.iam.Policy({quoted(f'{class_name(stack)}{policy.name}')}, ", values
    )


def _key(stack: Stack) -> Any:
    return stack.options.key_arn or TypeScriptRaw("key.arn")
