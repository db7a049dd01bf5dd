"""Settings of tables that do not change how they work: tags, resource policies and contributor insights. They are kept
and described.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

from prejoin.engine.operations.database import Database
from prejoin.engine.requests import (
    ContributorInsightsInput,
    ResourceInput,
    ResourcePolicyInput,
    TableInput,
    TagResourceInput,
    UntagResourceInput,
)
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.create import new_revision
from prejoin.engine.tables.definition import TableDefinition
from prejoin.engine.tables.tags import check_tags, with_tags, without_tags
from prejoin.engine.validation import Constraints, table_name
from prejoin.protocol.errors import DynamoDBError, invalid, not_found, refuse

_TABLE_ARN = re.compile(r"arn:[^:]+:dynamodb:[^:]*:[^:]*:table/([a-zA-Z0-9_.-]{3,255})")
_POLICY_BYTES = 20 * 1024
_INSIGHTS_MODES = ("ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS")

_TAGGING = frozenset({"TagResource", "UntagResource", "ListTagsOfResource"})


def _find_resource(database: Database, session: Session, arn: str, operation: str) -> TableDefinition:
    """The table with this ARN. If the ARN is not of this engine, nobody may know that there is no such table."""
    match = _TABLE_ARN.fullmatch(arn)
    # AWS's order: the form of the ARN, then whose table it is, and then whether it exists.
    if match is None and not arn.startswith("arn:"):
        refuse(f"ARNs must start with 'arn:': {arn}")
    if match is None:
        refuse(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table, place = database.catalog.get(session, match.group(1)), database.catalog.place
    if table is None and not arn.startswith(f"arn:aws:dynamodb:{place}:"):
        raise DynamoDBError(
            "AccessDeniedException",
            f"User: arn:aws:iam::{place.partition(':')[2]}:root is not authorized to perform: dynamodb:{operation} "
            f"on resource: {arn}",
        )
    if table is None:
        missing = f"ResourcArn: {arn}" if operation in _TAGGING else f"Table: {match.group(1)}"  # so AWS writes it
        raise not_found(f"Requested resource not found: {missing} not found")
    return table


def _required_arn(request: ResourceInput) -> str:
    if request.resource_arn is None:
        raise invalid("Invalid TableArn")
    return request.resource_arn


def tag_resource(database: Database, request: TagResourceInput) -> bytes:
    arn = _required_arn(request)
    constraints = Constraints()
    constraints.require("tags", request.tags)
    check_tags(constraints, request.tags)
    constraints.finish()
    with database.store.writing() as session:
        if not request.tags and _TABLE_ARN.fullmatch(arn):
            refuse("Atleast one Tag needs to be provided as Input.")
        table = _find_resource(database, session, arn, "TagResource")
        database.catalog.change(session, replace(table, tags=with_tags(table.tags, request.tags or [])))
    return b""


def untag_resource(database: Database, request: UntagResourceInput) -> bytes:
    arn = _required_arn(request)
    constraints = Constraints()
    constraints.require("tagKeys", request.tag_keys)
    constraints.finish()
    with database.store.writing() as session:
        if not request.tag_keys and _TABLE_ARN.fullmatch(arn):
            refuse("Atleast one Tag Key needs to be provided as Input.")
        table = _find_resource(database, session, arn, "UntagResource")
        database.catalog.change(session, replace(table, tags=without_tags(table.tags, request.tag_keys or ())))
    return b""


def list_tags_of_resource(database: Database, request: ResourceInput) -> dict[str, Any]:
    """All tags at once: a table has at most fifty."""
    arn = _required_arn(request)
    with database.store.reading() as session:
        table = _find_resource(database, session, arn, "ListTagsOfResource")
    return {"Tags": [{"Key": key, "Value": value} for key, value in table.tags]}


# --- Resource policies -----------------------------------------------------------------------------------------------


def put_resource_policy(database: Database, request: ResourcePolicyInput) -> dict[str, Any]:
    arn = _required_arn(request)
    constraints = Constraints()
    constraints.require("policy", request.policy)
    constraints.finish()
    policy = str(request.policy)
    if len(policy.encode()) > _POLICY_BYTES:
        raise DynamoDBError("LimitExceededException", "The resource policy is larger than 20 KB")
    with database.store.writing() as session:
        table = _find_resource(database, session, arn, "PutResourcePolicy")
        _check_revision(table, request.expected_revision_id)
        revision = new_revision()
        database.catalog.change(session, replace(table, policy=(policy, revision)))
    return {"RevisionId": revision}


def get_resource_policy(database: Database, request: ResourceInput) -> dict[str, Any]:
    arn = _required_arn(request)
    with database.store.reading() as session:
        table = _find_resource(database, session, arn, "GetResourcePolicy")
    if table.policy is None:
        raise _no_policy(table)
    policy, revision = table.policy
    return {"Policy": policy, "RevisionId": revision}


def delete_resource_policy(database: Database, request: ResourcePolicyInput) -> dict[str, Any]:
    arn = _required_arn(request)
    with database.store.writing() as session:
        table = _find_resource(database, session, arn, "DeleteResourcePolicy")
        _check_revision(table, request.expected_revision_id)
        if table.policy is None:
            # Deleting it again does nothing.
            return {}
        database.catalog.change(session, replace(table, policy=None))
    return {"RevisionId": table.policy[1]}


def _check_revision(table: TableDefinition, expected: str | None) -> None:
    # NO_POLICY is AWS's name for the revision of a table without a policy.
    current = "NO_POLICY" if table.policy is None else table.policy[1]
    if expected is not None and expected != current:
        raise _no_policy(table)


def _no_policy(table: TableDefinition) -> DynamoDBError:
    return DynamoDBError(
        "PolicyNotFoundException", f"Resource-based policy not found for the provided ResourceArn: {table.arn}"
    )


# --- Contributor insights --------------------------------------------------------------------------------------------


def describe_contributor_insights(database: Database, request: ContributorInsightsInput) -> dict[str, Any]:
    name, index = table_name(request.table_name), request.index_name or ""
    with database.store.reading() as session:
        table = _insights_table(database, session, name, index)
    description = {"TableName": table.name, **({"IndexName": index} if index else {})}
    for indexed_name, mode, since in table.insights:
        if indexed_name == index:
            return {
                **description,
                "ContributorInsightsStatus": "ENABLED",
                "ContributorInsightsMode": mode,
                "LastUpdateDateTime": since,
            }
    return {**description, "ContributorInsightsStatus": "DISABLED"}


def update_contributor_insights(database: Database, request: ContributorInsightsInput) -> dict[str, Any]:
    name, index = table_name(request.table_name), request.index_name or ""
    constraints = Constraints()
    constraints.require("contributorInsightsAction", request.contributor_insights_action)
    constraints.one_of("contributorInsightsAction", request.contributor_insights_action, ("ENABLE", "DISABLE"))
    constraints.one_of("contributorInsightsMode", request.contributor_insights_mode, _INSIGHTS_MODES)
    constraints.finish()
    is_on = request.contributor_insights_action == "ENABLE"
    mode = request.contributor_insights_mode or _INSIGHTS_MODES[0]
    with database.store.writing() as session:
        table = _insights_table(database, session, name, index)
        other_insights = [setting for setting in table.insights if setting[0] != index]
        insights = (*other_insights, (index, mode, time.time())) if is_on else tuple(other_insights)
        database.catalog.change(session, replace(table, insights=insights))
    return {
        "TableName": table.name,
        **({"IndexName": index} if index else {}),
        "ContributorInsightsStatus": "ENABLING" if is_on else "DISABLING",
        "ContributorInsightsMode": mode,
    }


def list_contributor_insights(database: Database, request: TableInput) -> dict[str, Any]:
    """Every table and index on which they are on, of one table or of all."""
    only_name = None if request.table_name is None else table_name(request.table_name)
    summaries: list[dict[str, Any]] = []
    with database.store.reading() as session:
        names = session.table_names("", 1 << 31) if only_name is None else [only_name]
        for name in names:
            table = _insights_table(database, session, name, "")
            summaries += (
                {
                    "TableName": table.name,
                    **({"IndexName": index} if index else {}),
                    "ContributorInsightsStatus": "ENABLED",
                    "ContributorInsightsMode": mode,
                }
                for index, mode, _ in table.insights
            )
    return {"ContributorInsightsSummaries": summaries}


def _insights_table(database: Database, session: Session, name: str, index: str) -> TableDefinition:
    table = database.catalog.get(session, name)
    if table is None or (index and index not in table.by_name):
        raise not_found(f"Requested resource not found: Table: {name} not found")
    return table
