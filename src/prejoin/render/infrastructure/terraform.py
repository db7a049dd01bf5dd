"""Terraform and OpenTofu: a module with the table of a design and a policy for each role."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from prejoin.design.model import Design, ProjectionKind
from prejoin.workload.model import Workload

from .hcl import HclBlock, HclCall, HclRaw, file_text
from .options import Encryption, Infrastructure, TableClass
from .policies import Policy, only_tls, policy_document
from .stack import (
    ABORT_DAYS,
    NOTICE,
    RECOVERY_DAYS,
    STREAM_ATTEMPTS,
    Scaled,
    Stack,
    scaled_dimensions,
    split_words,
    stack_of,
)
from .table import TableIndex

FOLDER = PurePosixPath("terraform")
_SINGLE_KEYS_VERSION, _COMPOSITE_KEYS_VERSION = ">= 5.80", ">= 6.29"
"""Versions of the provider: the least one, and the least one for index keys of several attributes."""
_LONGEST_PREFIX = 36
"""Characters of a bucket's name before the part that Terraform makes up."""
_IGNORED_UNITS = (
    "Auto scaling changes the units of indexes, too, which Terraform cannot be told to leave alone one by one."
)


def render_terraform(
    workload: Workload, design: Design, options: Infrastructure | None = None
) -> Mapping[PurePosixPath, str]:
    """Renders the module: versions, variables, the table with auto scaling and encryption, policies, outputs."""
    stack = stack_of(workload, design, options or Infrastructure())
    files = {
        "versions.tf": [_versions(stack)],
        "variables.tf": _variables(stack),
        "main.tf": _main(stack),
        "policies.tf": [_policy(stack, policy) for policy in stack.every_policy],
        "outputs.tf": _outputs(stack),
    }
    return {FOLDER / name: file_text(blocks, NOTICE) for name, blocks in files.items() if blocks}


def _versions(stack: Stack) -> HclBlock:
    has_composite_keys = any(map(_is_composite, stack.table.indexes))
    version = _COMPOSITE_KEYS_VERSION if has_composite_keys else _SINGLE_KEYS_VERSION
    aws = {"source": "hashicorp/aws", "version": version}
    return HclBlock(
        "terraform",
        attributes={"required_version": ">= 1.5"},
        blocks=[HclBlock("required_providers", attributes={"aws": aws})],
    )


def _variables(stack: Stack) -> list[HclBlock]:
    table_name = {"description": "The name of the table", "type": HclRaw("string"), "default": stack.table.name}
    valid = HclBlock(
        "validation",
        attributes={
            "condition": HclRaw('can(regex("^[A-Za-z0-9_.-]{3,255}$", var.table_name))'),
            "error_message": "A table's name has 3 to 255 letters, digits, _ . and -.",
        },
    )
    variables = [HclBlock("variable", "table_name", attributes=table_name, blocks=[valid])]
    if stack.consumer:
        about = "The names or ARNs of the functions that read the stream"
        functions = {"description": about, "type": HclRaw("list(string)"), "default": []}
        variables.append(HclBlock("variable", "stream_functions", attributes=functions))
    return variables


def _main(stack: Stack) -> list[HclBlock]:
    blocks = []
    if stack.makes_key:
        key = {"description": f"Encrypts the table of {stack.title}", "enable_key_rotation": True}
        blocks.append(HclBlock("resource", "aws_kms_key", "table", attributes=key, blocks=_prevent_destroy(stack)))
    blocks.append(_table(stack))
    if stack.bucket:
        blocks += _bucket(stack)
    for dimension in scaled_dimensions(stack):
        blocks += _scaling(dimension)
    if stack.consumer:
        blocks.append(_mapping())
    return blocks


def _mapping() -> HclBlock:
    """The mapping of the stream to its functions: a record that failed is delivered again, not for ever."""
    attributes = {
        "for_each": HclRaw("toset(var.stream_functions)"),
        "event_source_arn": HclRaw("aws_dynamodb_table.table.stream_arn"),
        "function_name": HclRaw("each.value"),
        "starting_position": "TRIM_HORIZON",
        "function_response_types": ["ReportBatchItemFailures"],
        "bisect_batch_on_function_error": True,
        "maximum_retry_attempts": STREAM_ATTEMPTS,
    }
    return HclBlock("resource", "aws_lambda_event_source_mapping", "stream", attributes=attributes)


def _table(stack: Stack) -> HclBlock:
    table, options = stack.table, stack.options
    attributes: dict[str, Any] = {"name": HclRaw("var.table_name"), "billing_mode": table.billing.value}
    attributes |= _units(stack)
    attributes["hash_key"] = table.pk[0]
    if table.sk:
        attributes["range_key"] = table.sk[0]
    if options.table_class is not TableClass.STANDARD:
        attributes["table_class"] = options.table_class.value
    if options.stream:
        attributes |= {"stream_enabled": True, "stream_view_type": options.stream.value}
    attributes["deletion_protection_enabled"] = options.deletion_protection
    if options.tags:
        attributes["tags"] = stack.tags
    blocks = [HclBlock("attribute", attributes={"name": name, "type": kind}) for name, kind in table.types.items()]
    blocks += [_index(index, stack) for index in table.global_indexes]
    blocks += [_index(index, stack) for index in table.local_indexes]
    blocks += _limits(stack)
    if table.ttl:
        blocks.append(HclBlock("ttl", attributes={"attribute_name": table.ttl, "enabled": True}))
    blocks.append(HclBlock("point_in_time_recovery", attributes={"enabled": options.point_in_time_recovery}))
    if options.encryption is not Encryption.AWS_OWNED:
        encryption: dict[str, Any] = {"enabled": True}
        if stack.has_customer_key:
            encryption["kms_key_arn"] = _key(stack)
        blocks.append(HclBlock("server_side_encryption", attributes=encryption))
    blocks += _lifecycle(stack)
    return HclBlock("resource", "aws_dynamodb_table", "table", attributes=attributes, blocks=blocks)


def _bucket(stack: Stack) -> list[HclBlock]:
    """The bucket of large contents."""
    name = HclRaw("aws_s3_bucket.contents.id")
    words = re.findall(r"[a-z0-9]+", stack.table.name.lower())
    bucket_attributes: dict[str, Any] = {
        "bucket_prefix": f"{'-'.join(words)[:_LONGEST_PREFIX].strip('-') or 'contents'}-"
    }
    if stack.options.tags:
        bucket_attributes["tags"] = stack.tags
    rule_attributes: dict[str, Any] = {}
    encryption: dict[str, Any] = {"sse_algorithm": "AES256"}
    if stack.has_customer_key:
        encryption = {"sse_algorithm": "aws:kms", "kms_master_key_id": _key(stack)}
        # With a bucket key S3 sends KMS fewer requests, which are charged.
        rule_attributes["bucket_key_enabled"] = True
    default_encryption = HclBlock("apply_server_side_encryption_by_default", attributes=encryption)
    rule = HclBlock("rule", attributes=rule_attributes, blocks=[default_encryption])
    access_blocks = ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets")
    abort_uploads = HclBlock("abort_incomplete_multipart_upload", attributes={"days_after_initiation": ABORT_DAYS})
    leftovers = [HclBlock("filter"), abort_uploads]
    lifecycle_attributes: dict[str, Any] = {}
    blocking = "aws_s3_bucket_public_access_block.contents"
    resources_of_policy = [HclRaw("aws_s3_bucket.contents.arn"), HclRaw('"${aws_s3_bucket.contents.arn}/*"')]
    policy = HclCall("jsonencode", only_tls(resources_of_policy))

    def settings(kind: str, attributes: dict[str, Any], *blocks: HclBlock) -> HclBlock:
        return HclBlock("resource", kind, "contents", attributes={"bucket": name, **attributes}, blocks=blocks)

    resources = [
        HclBlock("resource", "aws_s3_bucket", "contents", attributes=bucket_attributes, blocks=_prevent_destroy(stack)),
        settings("aws_s3_bucket_public_access_block", dict.fromkeys(access_blocks, True)),
        # S3 refuses both at the same time.
        settings("aws_s3_bucket_policy", {"policy": policy, "depends_on": [HclRaw(blocking)]}),
        settings("aws_s3_bucket_server_side_encryption_configuration", {}, rule),
    ]
    if stack.options.point_in_time_recovery:
        versioning = HclBlock("versioning_configuration", attributes={"status": "Enabled"})
        resources.append(settings("aws_s3_bucket_versioning", {}, versioning))
        lifecycle_attributes["depends_on"] = [HclRaw("aws_s3_bucket_versioning.contents")]
        leftovers.append(HclBlock("noncurrent_version_expiration", attributes={"noncurrent_days": RECOVERY_DAYS}))
        leftovers.append(HclBlock("expiration", attributes={"expired_object_delete_marker": True}))
    rule = HclBlock("rule", attributes={"id": "leftovers", "status": "Enabled"}, blocks=leftovers)
    return [*resources, settings("aws_s3_bucket_lifecycle_configuration", lifecycle_attributes, rule)]


def _prevent_destroy(stack: Stack) -> list[HclBlock]:
    lifecycle = HclBlock("lifecycle", attributes={"prevent_destroy": True})
    return [lifecycle] if stack.options.deletion_protection else []


def _index(index: TableIndex, stack: Stack) -> HclBlock:
    attributes: dict[str, Any] = {"name": index.name}
    blocks = []
    # A local index has the partition key of the table: Terraform takes it from there.
    hash_keys = () if index.local else index.pk
    if _is_composite(index):
        blocks += [_key_block(name, "HASH") for name in hash_keys]
        blocks += [_key_block(name, "RANGE") for name in index.sk]
    else:
        if hash_keys:
            attributes["hash_key"] = hash_keys[0]
        if index.sk:
            attributes["range_key"] = index.sk[0]
    attributes["projection_type"] = index.projection.value
    if index.projection is ProjectionKind.INCLUDE:
        attributes["non_key_attributes"] = list(index.attributes)
    if index.local:
        return HclBlock("local_secondary_index", attributes=attributes)
    attributes |= _units(stack)
    return HclBlock("global_secondary_index", attributes=attributes, blocks=[*blocks, *_limits(stack)])


def _is_composite(index: TableIndex) -> bool:
    """Whether a side of the key has several attributes, for which Terraform has another form."""
    return len(index.pk) > 1 or len(index.sk) > 1


def _key_block(name: str, key_type: str) -> HclBlock:
    return HclBlock("key_schema", attributes={"attribute_name": name, "key_type": key_type})


def _units(stack: Stack) -> dict[str, int]:
    if units := stack.provisioned_units:
        reads, writes = units
        return {"read_capacity": reads, "write_capacity": writes}
    return {}


def _limits(stack: Stack) -> list[HclBlock]:
    """The limit of an on-demand table, if there is one."""
    limits = stack.request_limits
    return [HclBlock("on_demand_throughput", attributes=limits)] if limits else []


def _lifecycle(stack: Stack) -> list[HclBlock]:
    attributes: dict[str, Any] = {}
    if stack.options.deletion_protection:
        attributes["prevent_destroy"] = True
    if stack.table.is_provisioned:
        attributes["ignore_changes"] = [HclRaw("read_capacity"), HclRaw("write_capacity")]
    comment = _IGNORED_UNITS if stack.table.is_provisioned and stack.table.global_indexes else ""
    return [HclBlock("lifecycle", attributes=attributes, comment=comment)] if attributes else []


def _scaling(dimension: Scaled) -> list[HclBlock]:
    name = split_words(dimension.name)
    place = f"table/${{aws_dynamodb_table.table.name}}{f'/index/{dimension.index.name}' if dimension.index else ''}"
    target = f"aws_appautoscaling_target.{name}"
    return [
        HclBlock(
            "resource",
            "aws_appautoscaling_target",
            name,
            attributes={
                "service_namespace": "dynamodb",
                "resource_id": HclRaw(f'"{place}"'),
                "scalable_dimension": dimension.dimension,
                "min_capacity": dimension.least,
                "max_capacity": dimension.most,
            },
        ),
        HclBlock(
            "resource",
            "aws_appautoscaling_policy",
            name,
            attributes={
                "name": HclRaw(f'"{dimension.metric}:${{{target}.resource_id}}"'),
                "policy_type": "TargetTrackingScaling",
                "service_namespace": HclRaw(f"{target}.service_namespace"),
                "resource_id": HclRaw(f"{target}.resource_id"),
                "scalable_dimension": HclRaw(f"{target}.scalable_dimension"),
            },
            blocks=[
                HclBlock(
                    "target_tracking_scaling_policy_configuration",
                    attributes={"target_value": dimension.target},
                    blocks=[
                        HclBlock(
                            "predefined_metric_specification",
                            attributes={"predefined_metric_type": dimension.metric},
                        )
                    ],
                )
            ],
        ),
    ]


def _policy(stack: Stack, policy: Policy) -> HclBlock:
    arns = stack.resources(
        table=HclRaw("aws_dynamodb_table.table.arn"),
        stream=HclRaw("aws_dynamodb_table.table.stream_arn"),
        bucket=HclRaw("aws_s3_bucket.contents.arn"),
        index=lambda name: HclRaw(f'"${{aws_dynamodb_table.table.arn}}/index/{name}"'),
        folder=lambda name: HclRaw(f'"${{aws_s3_bucket.contents.arn}}/${{var.table_name}}/{name}*"'),
    )
    attributes = {
        # The names of policies are unique in an account, those of tables in a region.
        "name_prefix": f"{stack.table.name[:40]}-{policy.name[:40]}-",
        "description": policy.text,
        "policy": HclCall("jsonencode", policy_document(policy, arns, _key(stack))),
    }
    return HclBlock("resource", "aws_iam_policy", split_words(policy.name), attributes=attributes)


def _key(stack: Stack) -> Any:
    return stack.options.key_arn or HclRaw("aws_kms_key.table.arn")


def _outputs(stack: Stack) -> list[HclBlock]:
    outputs = {"table_name": "aws_dynamodb_table.table.name", "table_arn": "aws_dynamodb_table.table.arn"}
    if stack.options.stream:
        outputs["stream_arn"] = "aws_dynamodb_table.table.stream_arn"
    if stack.bucket:
        outputs["bucket_name"] = "aws_s3_bucket.contents.id"
    for policy in stack.every_policy:
        outputs[f"{split_words(policy.name)}_policy_arn"] = f"aws_iam_policy.{split_words(policy.name)}.arn"
    return [HclBlock("output", name, attributes={"value": HclRaw(value)}) for name, value in outputs.items()]
