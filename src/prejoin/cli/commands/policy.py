"""`prejoin policy`: the IAM policy that confines credentials to one tenant of a table."""

from __future__ import annotations

import json

import click

from prejoin.cli.command import command, schema_argument
from prejoin.cli.outcome import Outcome
from prejoin.keys import KeyValueError
from prejoin.patterns.tenant import tenant_policy
from prejoin.pipeline import codes
from prejoin.pipeline.connection import load_schema
from prejoin.pipeline.errors import PipelineError
from prejoin.table.errors import TableError


@command("policy")
@schema_argument
@click.option("--table-arn", required=True, metavar="ARN", help="arn:aws:dynamodb:REGION:ACCOUNT:table/NAME.")
@click.option("--tenant", help="The tenant, a string.")
@click.option("--tag", help="The tag of the principal that names the tenant, instead of one tenant.")
@click.option("--bucket-arn", default="", metavar="ARN", help="The bucket of large contents: arn:aws:s3:::NAME.")
def policy(schema: str, table_arn: str, tenant: str | None, tag: str | None, bucket_arn: str) -> Outcome:
    """Print the IAM policy that confines credentials to the items of one tenant.

    MODULE:NAME is the schema, declared with `tenant=…`: `shop.tables:schema`.
    """
    if (tenant is None) == (tag is None):
        raise click.UsageError("A policy is for one tenant, or for the tenant in a tag: give `--tenant` or `--tag`")
    try:
        found = tenant_policy(load_schema(schema), table_arn, tenant, tag=tag or "", bucket_arn=bucket_arn)
    except (TableError, KeyValueError) as problem:
        fix = "see the policies in the guide to tenants"
        raise PipelineError(codes.NO_SCHEMA, str(problem), fix) from None
    return Outcome(result=found, page=json.dumps(found, indent=2, ensure_ascii=False))
