"""CDK: the constructs of a design, independent of the language.

A language prints `Construct`s, `Do`s and what they are made of. Names are Python's; another language has its own form
of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from prejoin.design.model import TABLE, ProjectionKind
from prejoin.workload.model import Model

from .options import Encryption, TableClass
from .policies import BUCKET, STREAM, Policy, policy_document
from .stack import ABORT_DAYS, RECOVERY_DAYS, Scaled, Stack, scaled, split_words
from .table import TableIndex

_TYPES = {"S": "STRING", "N": "NUMBER", "B": "BINARY"}
_ENCRYPTIONS = {
    Encryption.AWS_MANAGED: "AWS_MANAGED",
    Encryption.CUSTOMER: "CUSTOMER_MANAGED",
}

_LONGEST_NAME = 60
"""The most characters of a table's name in the construct's name, which is also a file name."""


class Name(Model, frozen=True):
    """A name: `dynamodb.AttributeType.STRING`, or a variable, `table_name`."""

    text: str


class Own(Model, frozen=True):
    """A member of the construct, or an attribute of it: `table`, `table.table_arn`."""

    path: str
    middle: str = ""
    """A variable that follows it, after a slash."""
    suffix: str = ""
    """Text that follows."""
    value: bool = False
    """Whether its type allows nothing to be there, and something is."""


class Props(Model, frozen=True):
    """A structure of CDK with named values."""

    type: str
    values: dict[str, Any]


class Make(Model, frozen=True):
    """A construct that is created and assigned to a member."""

    member: str
    type: str
    id: str
    props: dict[str, Any]


class Do(Model, frozen=True):
    """A method call on a member, and one on its result."""

    member: str
    method: str
    arguments: tuple[str, ...]
    props: Props
    then: str = ""
    then_props: Props | None = None


Step = Make | Do


def steps(stack: Stack) -> Iterator[Step]:
    """The statements for a stack, in order."""
    if stack.options.encryption is Encryption.CUSTOMER:
        yield _key(stack)
    yield Make("table", "dynamodb.Table", "Table", _table(stack))
    if stack.bucket:
        yield _bucket(stack)
    for index in stack.table.global_indexes:
        props = Props("dynamodb.GlobalSecondaryIndexProps", _index(index, stack) | _limits(stack))
        yield Do("table", "add_global_secondary_index", (), props)
    for index in stack.table.local_indexes:
        props = Props("dynamodb.LocalSecondaryIndexProps", _index(index, stack))
        yield Do("table", "add_local_secondary_index", (), props)
    for one in scaled(stack):
        yield _scaling(one)
    for policy in stack.every_policy:
        yield _policy(policy, stack)


def modules(stack: Stack) -> list[str]:
    """The modules of CDK that are used."""
    used = {
        "dynamodb": True,
        "iam": bool(stack.every_policy),
        "kms": stack.options.encryption is Encryption.CUSTOMER,
        "s3": stack.bucket,
    }
    return [name for name, is_used in used.items() if is_used]


def core_names(stack: Stack) -> list[str]:
    """The names of CDK's core module that are used."""
    used = {"Duration": stack.bucket, "RemovalPolicy": True, "Tags": bool(stack.options.tags)}
    return [name for name, is_used in used.items() if is_used]


def tagged(stack: Stack) -> list[str]:
    """The members that get the tags of the options."""
    return ["table", *(["bucket"] if stack.bucket else [])]


def _bucket(stack: Stack) -> Make:
    """The bucket of large contents, which is kept as the table is."""
    customer = stack.options.encryption is Encryption.CUSTOMER
    props: dict[str, Any] = {"encryption": Name(f"s3.BucketEncryption.{'KMS' if customer else 'S3_MANAGED'}")}
    if customer:
        props |= {"encryption_key": Own("key"), "bucket_key_enabled": True}
    props |= {"block_public_access": Name("s3.BlockPublicAccess.BLOCK_ALL"), "enforce_ssl": True}
    leftovers: dict[str, Any] = {"abort_incomplete_multipart_upload_after": Name(f"Duration.days({ABORT_DAYS})")}
    if stack.options.point_in_time_recovery:
        props["versioned"] = True
        leftovers["noncurrent_version_expiration"] = Name(f"Duration.days({RECOVERY_DAYS})")
        leftovers["expired_object_delete_marker"] = True
    props["lifecycle_rules"] = [Props("s3.LifecycleRule", leftovers)]
    props["removal_policy"] = _removal(stack)
    return Make("bucket", "s3.Bucket", "Bucket", props)


def _removal(stack: Stack) -> Name:
    """The removal policy. CDK deletes resources that leave a stack, with their data, unless it is RETAIN."""
    return Name(f"RemovalPolicy.{'RETAIN' if stack.options.deletion_protection else 'DESTROY'}")


def class_name(stack: Stack) -> str:
    """The construct's name, by the table's: `shop-orders` is `ShopOrdersTable`."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", stack.table.name) if word]
    name = "".join(word[0].upper() + word[1:] for word in words)[:_LONGEST_NAME]
    name = name if name.lower().endswith("table") else f"{name}Table"
    return name if name[0].isalpha() else f"The{name}"


def _table(stack: Stack) -> dict[str, Any]:
    table, options = stack.table, stack.options
    found: dict[str, Any] = {"table_name": Name("table_name"), "partition_key": _attribute(table.pk[0], stack)}
    if table.sk:
        found["sort_key"] = _attribute(table.sk[0], stack)
    found["billing_mode"] = Name(f"dynamodb.BillingMode.{'PROVISIONED' if table.provisioned else 'PAY_PER_REQUEST'}")
    found |= _limits(stack)
    if options.table_class is not TableClass.STANDARD:
        found["table_class"] = Name("dynamodb.TableClass.STANDARD_INFREQUENT_ACCESS")
    if table.ttl:
        found["time_to_live_attribute"] = table.ttl
    if options.stream:
        found["stream"] = Name(f"dynamodb.StreamViewType.{options.stream.value}")
    found["point_in_time_recovery_specification"] = Props(
        "dynamodb.PointInTimeRecoverySpecification", {"point_in_time_recovery_enabled": options.point_in_time_recovery}
    )
    if options.encryption in _ENCRYPTIONS:
        found["encryption"] = Name(f"dynamodb.TableEncryption.{_ENCRYPTIONS[options.encryption]}")
    if options.encryption is Encryption.CUSTOMER:
        found["encryption_key"] = Own("key")
    found["deletion_protection"] = options.deletion_protection
    found["removal_policy"] = _removal(stack)
    return found


def _limits(stack: Stack) -> dict[str, Any]:
    """The capacity of the table or an index: provisioned units, or the limit of an on-demand table."""
    options = stack.options
    if stack.table.provisioned:
        return {"read_capacity": options.reads.least, "write_capacity": options.writes.least}
    most = {"max_read_request_units": options.most_reads, "max_write_request_units": options.most_writes}
    return {name: units for name, units in most.items() if units is not None}


def _index(index: TableIndex, stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = {"index_name": index.name}
    if not index.local:
        found |= _side("partition_key", index.pk, stack)
    found |= _side("sort_key", index.sk, stack)
    found["projection_type"] = Name(f"dynamodb.ProjectionType.{index.projection.value}")
    if index.projection is ProjectionKind.INCLUDE:
        found["non_key_attributes"] = list(index.attributes)
    return found


def _side(name: str, attributes: tuple[str, ...], stack: Stack) -> dict[str, Any]:
    found = [_attribute(one, stack) for one in attributes]
    if len(found) > 1:
        return {f"{name}s": found}
    return {name: found[0]} if found else {}


def _attribute(name: str, stack: Stack) -> Props:
    kind = Name(f"dynamodb.AttributeType.{_TYPES[stack.table.types[name]]}")
    return Props("dynamodb.Attribute", {"name": name, "type": kind})


def _key(stack: Stack) -> Make:
    if arn := stack.options.key_arn:
        return Make("key", "kms.Key.from_key_arn", "TableKey", {"key_arn": arn})
    described = {"description": f"Encrypts the table of {stack.title}", "enable_key_rotation": True}
    return Make("key", "kms.Key", "TableKey", described)


def _scaling(one: Scaled) -> Do:
    units = "write" if one.writes else "read"
    method = f"auto_scale_{'global_secondary_index_' if one.index else ''}{units}_capacity"
    between = Props("dynamodb.EnableScalingProps", {"min_capacity": one.least, "max_capacity": one.most})
    target = Props("dynamodb.UtilizationScalingProps", {"target_utilization_percent": one.target})
    arguments = (one.index.name,) if one.index else ()
    return Do("table", method, arguments, between, "scale_on_utilization", target)


def _policy(policy: Policy, stack: Stack) -> Make:
    indexes = {one.name: Own("table.table_arn", suffix=f"/index/{one.name}") for one in stack.table.indexes}
    arns = {**indexes, TABLE: Own("table.table_arn"), STREAM: Own("table.table_stream_arn", value=True)}
    arns |= {one: Own("bucket.bucket_arn", "table_name", f"/{one}*") for one in stack.folders}
    arns[BUCKET] = Own("bucket.bucket_arn")
    written = policy_document(policy, arns, Own("key.key_arn"))
    statements = []
    for one in written["Statement"]:
        values = {"sid": one["Sid"], "actions": one["Action"], "resources": one["Resource"]}
        if "Condition" in one:
            values["conditions"] = one["Condition"]
        statements.append(Props("iam.PolicyStatement", values))
    member = split_words(policy.name)
    props = {"description": policy.text, "statements": statements}
    return Make(f"{member}_policy", "iam.ManagedPolicy", f"{policy.name}Policy", props)
