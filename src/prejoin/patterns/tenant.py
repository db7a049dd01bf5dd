"""An IAM policy that limits credentials to the items of one tenant.

`Schema(…, tenant="tenant_id")` declares tenants, and `db.tenant("acme")` returns a client that is confined to one. It
prevents mistakes of the program, and costs no request. The policy also stops anybody who has the credentials. It is
made from the same keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from prejoin.keys import TABLE, KeyText, Separator, Template
from prejoin.keys.content import tenant_folder
from prejoin.patterns.large.large import LargePattern
from prejoin.table.errors import SchemaError, TableError
from prejoin.table.schema.schema import Schema

if TYPE_CHECKING:
    from prejoin.table.schema.tenancy import Head, Tenancy

READS = ("BatchGetItem", "ConditionCheckItem", "GetItem", "Query")
WRITES = ("BatchWriteItem", "DeleteItem", "PutItem", "UpdateItem")
"""The actions that name the partition of every item they touch. A transaction needs those of its parts. Scan and
PartiQL name none, or may name none, and `ForAllValues` is true of none: so they are not allowed."""

_ARN = re.compile(r"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:\d{12}:table/[A-Za-z0-9_.-]{3,255}")
_BUCKET = re.compile(r"arn:aws[a-z-]*:s3:::[a-z0-9.-]{3,63}(/[A-Za-z0-9_.!/-]*)?")
_TAG = re.compile(r"[A-Za-z0-9_.:/=+@-]{1,128}")
_TAG_CHARACTERS = frozenset("_.:/=+-@")
"""Characters that the value of a tag may have beside letters, digits and spaces."""


def tenant_policy(
    schema: Schema, table_arn: str, tenant: object = None, *, tag: str = "", bucket_arn: str = ""
) -> dict[str, Any]:
    """Return the IAM policy for the items of one tenant, or of the tenant in a tag of the principal.

    For one tenant, pass `tenant`. For one role for all tenants, pass the name of the session tag, `tag="tenant"`: each
    session then reaches the tenant in `aws:PrincipalTag/tenant`, and no items without the tag. `bucket_arn` adds the
    objects of the tenant's large contents in a bucket, `arn:aws:s3:::my-bucket`, with the prefix of the store if it has
    one: `arn:aws:s3:::my-bucket/prefix/`.

    >>> from dataclasses import dataclass
    >>> from prejoin import Entity, Key
    >>> @dataclass
    ... class User:
    ...     tenant_id: str
    ...     user_id: str
    >>> schema = Schema(Entity(User, Key("TENANT#{tenant_id}#USER#{user_id}", "PROFILE")), tenant="tenant_id")
    >>> arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"
    >>> (items,) = tenant_policy(schema, arn, "acme*")["Statement"]
    >>> items["Condition"]["ForAllValues:StringLike"]
    {'dynamodb:LeadingKeys': ['TENANT#acme${*}#*']}
    >>> (items,) = tenant_policy(schema, arn, tag="tenant")["Statement"]
    >>> items["Condition"]["ForAllValues:StringLike"]
    {'dynamodb:LeadingKeys': ['TENANT#${aws:PrincipalTag/tenant}#*']}
    """
    tenancy = schema.tenancy
    if tenancy is None:
        raise SchemaError('the schema has no tenants. Declare them with Schema(…, tenant="tenant_id")')
    _check_policy_arguments(table_arn, tenant, tag)
    patterns: dict[str, list[str]] = {}
    for slot, heads in tenancy.heads.items():
        patterns[slot] = sorted({_pattern(head, slot, tenancy, tenant, tag) for head in heads})
    shared_keys: dict[str, list[str]] = {}
    for slot, forms in tenancy.shared.items():
        shared_patterns = _shared_patterns(forms, tenancy.heads.get(slot, ()))
        if shared_patterns:
            shared_keys[slot] = shared_patterns
    statements = [_statement("Items", READS + WRITES, [table_arn], patterns[TABLE])]
    if TABLE in shared_keys:
        # One request may read both, and a condition holds for all of its keys.
        statements.append(_statement("Shared", READS, [table_arn], [*patterns[TABLE], *shared_keys[TABLE]]))
    indexes: dict[tuple[str, ...], list[str]] = {}
    for slot in schema.indexes:
        # An index without such keys holds records of all tenants, and is not for any of them.
        if keys := (*patterns.get(slot, ()), *shared_keys.get(slot, ())):
            indexes.setdefault(keys, []).append(f"{table_arn}/index/{slot}")
    statements += [
        _statement(f"Indexes{number}" if number else "Indexes", ("Query",), arns, keys)
        for number, (keys, arns) in enumerate(indexes.items())
    ]
    if bucket_arn:
        folder = f"${{aws:PrincipalTag/{tag}}}!/" if tag else tenant_folder(str(tenant))
        statements.append(_objects(schema, table_arn.rpartition("/")[2], bucket_arn, folder))
    return {"Version": "2012-10-17", "Statement": statements}


def _check_policy_arguments(table_arn: str, tenant: object, tag: str) -> None:
    if not _ARN.fullmatch(table_arn):
        raise TableError(f"{table_arn!r} is not the ARN of one table: arn:aws:dynamodb:REGION:ACCOUNT:table/NAME")
    if (tenant is None) == (not tag):
        raise TableError("pass either tenant= or tag=")
    if tag and not _TAG.fullmatch(tag):
        raise TableError(f"{tag!r} is not the name of a tag")


def _objects(schema: Schema, table: str, bucket_arn: str, folder: str) -> dict[str, Any]:
    """Return the statement about the objects in a tenant's folders. Listing a bucket would show keys of all tenants."""
    if not _BUCKET.fullmatch(bucket_arn):
        raise TableError(f"{bucket_arn!r} is not the ARN of a bucket: arn:aws:s3:::NAME, or arn:aws:s3:::NAME/PREFIX/")
    start = bucket_arn if "/" in bucket_arn else f"{bucket_arn}/"
    resources = []
    for entity in schema.entities:
        large_patterns = [pattern for pattern in entity.patterns if isinstance(pattern, LargePattern)]
        in_store = [pattern for pattern in large_patterns if pattern.declared.store is not None]
        resources += [f"{start}{pattern.prefix(table)}{folder}*" for pattern in in_store if pattern.tenant(schema)]
    if not resources:
        raise SchemaError("no tenant has large contents in a store. Leave out bucket_arn")
    return {
        "Sid": "Objects",
        "Effect": "Allow",
        "Action": ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
        "Resource": sorted(resources),
    }


def _statement(name: str, actions: tuple[str, ...], arns: list[str], keys: Sequence[str]) -> dict[str, Any]:
    return {
        "Sid": name,
        "Effect": "Allow",
        "Action": [f"dynamodb:{action}" for action in sorted(actions)],
        "Resource": arns,
        "Condition": {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(keys)},
            # ForAllValues holds where there are no values at all: a request has to name its partitions.
            "Null": {"dynamodb:LeadingKeys": "false"},
        },
    }


def _pattern(head: Head, slot: str, tenancy: Tenancy, tenant: object, tag: str) -> str:
    """Return the IAM pattern of the tenant's partition keys in the table or an index."""
    if head.several:
        raise SchemaError(
            f"the partition key of {slot} has several attributes, and AWS does not document how IAM compares that. "
            f"Give the index one key, such as TENANT#{{{tenancy.attribute}}}#…"
        )
    if not tag:
        start = head.start(tenant, tenancy.separator)
        if "B" in start:
            raise SchemaError(f"{tenancy.attribute} is binary in {slot}, and IAM compares text. Use text")
        (text,) = start.values()
        return escape_pattern(text) + ("" if head.whole_key else "*")
    _check_tag(head, slot, tenancy)
    key_end = "" if head.whole_key else f"{escape_pattern(tenancy.separator)}*"
    return f"{escape_pattern(head.lead)}${{aws:PrincipalTag/{tag}}}{key_end}"


def _shared_patterns(forms: Sequence[Template], heads: Sequence[Head]) -> list[str]:
    """Return the IAM patterns of partition keys without a tenant.

    `*` in a policy matches separators, too. So a key is left out if a key of a tenant could begin with the same text.
    """
    is_whole_key: dict[str, bool] = {}
    for form in forms:
        first_part = form.parts[0]
        if isinstance(first_part, KeyText):
            is_whole_key[first_part.text] = form.constant
    patterns = []
    for lead, is_whole in is_whole_key.items():
        is_near_tenants = any(head.lead.startswith(lead) or lead.startswith(head.lead) for head in heads)
        if not is_near_tenants:
            patterns.append(escape_pattern(lead) + ("" if is_whole else "*"))
    return sorted(patterns)


def _check_tag(head: Head, slot: str, tenancy: Tenancy) -> None:
    """Refuse keys that do not contain the tenant as in the tag, and tags that could contain a separator."""
    if head.encoding.name not in ("text", "uuid", "ulid") and not head.natural:
        raise SchemaError(f"{tenancy.attribute} is written as {head.encoding.name} in {slot}, which no tag says so")
    if not head.natural:
        separator = Separator(tenancy.separator)
        if not _TAG_CHARACTERS.isdisjoint({separator.char, separator.escape}):
            raise SchemaError(
                f"the value of a tag may hold {separator.char!r} or {separator.escape!r}, and so reach into the keys "
                "of others: for policies by tag choose # as the separator"
            )


def escape_pattern(text: str) -> str:
    """Escape text for IAM's StringLike, where `*`, `?` and `$` are special.

    >>> escape_pattern("a*b?c$d")
    'a${*}b${?}c${$}d'
    """
    return re.sub(r"[*?$]", lambda match: f"${{{match[0]}}}", text)
