"""CDK: the constructs of a design, independent of the language.

A language prints `Construct`s, `Do`s and what they are made of. Names are Python's; another language has its own form
of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prejoin.design.model import ProjectionKind
from prejoin.workload.model import Model

from .options import Encryption, TableClass
from .policies import Policy, pascal, policy_document
from .stack import ABORT_DAYS, RECOVERY_DAYS, Scaled, Stack, scaled_dimensions, split_words
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
    next_method: str = ""
    next_props: Props | None = None


Step = Make | Do


def steps(stack: Stack) -> Iterator[Step]:
    """The statements for a stack, in order."""
    if stack.has_customer_key:
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
    for dimension in scaled_dimensions(stack):
        yield _scaling(dimension)
    for policy in stack.every_policy:
        yield _policy(policy, stack)


def modules(stack: Stack) -> list[str]:
    """The modules of CDK that are used."""
    module_uses = {
        "dynamodb": True,
        "iam": bool(stack.every_policy),
        "kms": stack.has_customer_key,
        "s3": stack.bucket,
    }
    return [name for name, is_used in module_uses.items() if is_used]


def core_names(stack: Stack) -> list[str]:
    """The names of CDK's core module that are used."""
    name_uses = {"Duration": stack.bucket, "RemovalPolicy": True, "Tags": bool(stack.options.tags)}
    return [name for name, is_used in name_uses.items() if is_used]


def tagged_members(stack: Stack) -> list[str]:
    """The members that get the tags of the options."""
    return ["table", "bucket"] if stack.bucket else ["table"]


def _bucket(stack: Stack) -> Make:
    """The bucket of large contents, which is kept as the table is."""
    encryption = "KMS" if stack.has_customer_key else "S3_MANAGED"
    props: dict[str, Any] = {"encryption": Name(f"s3.BucketEncryption.{encryption}")}
    if stack.has_customer_key:
        # With a bucket key S3 sends KMS fewer requests, which are charged.
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
    name = pascal(stack.table.name)[:_LONGEST_NAME]
    name = name if name.lower().endswith("table") else f"{name}Table"
    return name if name[0].isalpha() else f"The{name}"


def _table(stack: Stack) -> dict[str, Any]:
    table, options = stack.table, stack.options
    properties: dict[str, Any] = {"table_name": Name("table_name"), "partition_key": _attribute(table.pk[0], stack)}
    if table.sk:
        properties["sort_key"] = _attribute(table.sk[0], stack)
    billing_mode = "PROVISIONED" if table.is_provisioned else "PAY_PER_REQUEST"
    properties["billing_mode"] = Name(f"dynamodb.BillingMode.{billing_mode}")
    properties |= _limits(stack)
    if options.table_class is not TableClass.STANDARD:
        properties["table_class"] = Name("dynamodb.TableClass.STANDARD_INFREQUENT_ACCESS")
    if table.ttl:
        properties["time_to_live_attribute"] = table.ttl
    if options.stream:
        properties["stream"] = Name(f"dynamodb.StreamViewType.{options.stream.value}")
    properties["point_in_time_recovery_specification"] = Props(
        "dynamodb.PointInTimeRecoverySpecification", {"point_in_time_recovery_enabled": options.point_in_time_recovery}
    )
    if options.encryption in _ENCRYPTIONS:
        properties["encryption"] = Name(f"dynamodb.TableEncryption.{_ENCRYPTIONS[options.encryption]}")
    if stack.has_customer_key:
        properties["encryption_key"] = Own("key")
    properties["deletion_protection"] = options.deletion_protection
    properties["removal_policy"] = _removal(stack)
    return properties


def _limits(stack: Stack) -> dict[str, Any]:
    """The capacity of the table or an index: provisioned units, or the limit of an on-demand table."""
    if units := stack.provisioned_units:
        reads, writes = units
        return {"read_capacity": reads, "write_capacity": writes}
    return {**stack.request_limits}


def _index(index: TableIndex, stack: Stack) -> dict[str, Any]:
    properties: dict[str, Any] = {"index_name": index.name}
    if not index.local:
        properties |= _side("partition_key", index.pk, stack)
    properties |= _side("sort_key", index.sk, stack)
    properties["projection_type"] = Name(f"dynamodb.ProjectionType.{index.projection.value}")
    if index.projection is ProjectionKind.INCLUDE:
        properties["non_key_attributes"] = list(index.attributes)
    return properties


def _side(name: str, attributes: tuple[str, ...], stack: Stack) -> dict[str, Any]:
    """A side of a key. CDK has other properties for index keys of several attributes."""
    if not attributes:
        return {}
    if len(attributes) == 1:
        return {name: _attribute(attributes[0], stack)}
    return {f"{name}s": [_attribute(attribute, stack) for attribute in attributes]}


def _attribute(name: str, stack: Stack) -> Props:
    kind = Name(f"dynamodb.AttributeType.{_TYPES[stack.table.types[name]]}")
    return Props("dynamodb.Attribute", {"name": name, "type": kind})


def _key(stack: Stack) -> Make:
    if arn := stack.options.key_arn:
        return Make("key", "kms.Key.from_key_arn", "TableKey", {"key_arn": arn})
    properties = {"description": f"Encrypts the table of {stack.title}", "enable_key_rotation": True}
    return Make("key", "kms.Key", "TableKey", properties)


def _scaling(dimension: Scaled) -> Do:
    units = "write" if dimension.writes else "read"
    method = f"auto_scale_{'global_secondary_index_' if dimension.index else ''}{units}_capacity"
    limits = Props("dynamodb.EnableScalingProps", {"min_capacity": dimension.least, "max_capacity": dimension.most})
    target = Props("dynamodb.UtilizationScalingProps", {"target_utilization_percent": dimension.target})
    arguments = (dimension.index.name,) if dimension.index else ()
    return Do("table", method, arguments, limits, "scale_on_utilization", target)


def _policy(policy: Policy, stack: Stack) -> Make:
    arns = stack.resources(
        table=Own("table.table_arn"),
        stream=Own("table.table_stream_arn", value=True),
        bucket=Own("bucket.bucket_arn"),
        index=lambda name: Own("table.table_arn", suffix=f"/index/{name}"),
        folder=lambda name: Own("bucket.bucket_arn", "table_name", f"/{name}*"),
    )
    document = policy_document(policy, arns, Own("key.key_arn"))
    statements = []
    for statement in document["Statement"]:
        values = {"sid": statement["Sid"], "actions": statement["Action"], "resources": statement["Resource"]}
        if "Condition" in statement:
            values["conditions"] = statement["Condition"]
        statements.append(Props("iam.PolicyStatement", values))
    member = split_words(policy.name)
    props = {"description": policy.text, "statements": statements}
    return Make(f"{member}_policy", "iam.ManagedPolicy", f"{policy.name}Policy", props)
