"""`prejoin policy`: the IAM policy that confines credentials to one tenant of a table."""

from __future__ import annotations

import json

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import CommandError, Outcome
from prejoin.cli.status import Status
from prejoin.keys import KeyValueError
from prejoin.patterns import tenant_policy
from prejoin.pipeline import codes
from prejoin.pipeline.connection import load_schema, schema_argument
from prejoin.table import TableError


@command("policy")
@schema_argument
@click.option("--table-arn", required=True, metavar="ARN", help="arn:aws:dynamodb:REGION:ACCOUNT:table/NAME.")
@click.option("--tenant", help="The tenant; a text.")
@click.option("--tag", help="Instead of one: the tag of the principal that names the tenant.")
def policy(schema: str, table_arn: str, tenant: str | None, tag: str | None) -> Outcome:
    """Print the IAM policy under which credentials reach the items of one tenant and no others.

    MODULE:NAME is the schema, declared with `tenant=…`: `shop.tables:schema`.
    """
    if (tenant is None) == (tag is None):
        raise click.UsageError("A policy is for one tenant or for the one that a tag names: `--tenant` or `--tag`")
    try:
        found = tenant_policy(load_schema(schema), table_arn, tenant, tag=tag or "")
    except (TableError, KeyValueError) as problem:
        fix = "see what the guide to tenants says about policies"
        raise CommandError(codes.NO_SCHEMA, str(problem), fix, Status.FAILED) from None
    return Outcome(result=found, page=json.dumps(found, indent=2, ensure_ascii=False))
