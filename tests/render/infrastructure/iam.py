"""Evaluates IAM policies, as far as ours need it: whether a policy allows a request to DynamoDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/{table}"
Json = Mapping[str, Any]


class IamRequest(msgspec.Struct, frozen=True):
    """A request for authorization: an action on a resource, and the condition keys."""

    action: str
    resource: str
    context: Mapping[str, Sequence[str]]


def allowed(document: Json, request: IamRequest) -> bool:
    return any(_applies(statement, request) for statement in document["Statement"])


def iam_requests(operation: str, request: Json, pk: Mapping[str, str]) -> Iterator[IamRequest]:
    """The authorization requests of a call. `pk` has the partition key of the table, under "", and of each index."""
    match operation:
        case "GetItem" | "UpdateItem" | "DeleteItem" | "PutItem":
            item = request.get("Item") or request["Key"]
            yield _iam_request(operation, request, [_text(item[pk[""]])])
        case "Query":
            yield _iam_request(operation, request, [_partition(request, pk[request.get("IndexName", "")])])
        case "BatchGetItem" | "BatchWriteItem":
            for table, part in request["RequestItems"].items():
                keys = part["Keys"] if operation == "BatchGetItem" else [_batched(one) for one in part]
                about = part if operation == "BatchGetItem" else {}
                yield _iam_request(operation, {"TableName": table, **about}, [_text(key[pk[""]]) for key in keys])
        case "TransactWriteItems" | "TransactGetItems":
            for one in request["TransactItems"]:
                for kind, part in one.items():
                    item = part.get("Item") or part["Key"]
                    action = {"ConditionCheck": "ConditionCheckItem"}.get(kind, f"{kind}Item")
                    yield _iam_request(action, part, [_text(item[pk[""]])])
        case _:
            yield _iam_request(operation, request, [])


def _iam_request(action: str, request: Json, keys: list[str]) -> IamRequest:
    resource = ARN.format(table=request["TableName"])
    if index := request.get("IndexName"):
        resource += f"/index/{index}"
    names = request.get("ExpressionAttributeNames", {}).values()
    context: dict[str, Sequence[str]] = {"dynamodb:LeadingKeys": keys, "dynamodb:Attributes": list(names)}
    if action in ("GetItem", "Query", "BatchGetItem"):
        everything = "ALL_PROJECTED_ATTRIBUTES" if index else "ALL_ATTRIBUTES"
        some = "SPECIFIC_ATTRIBUTES" if "ProjectionExpression" in request else everything
        context["dynamodb:Select"] = [request.get("Select", some)]
    if "ReturnValues" in request:
        context["dynamodb:ReturnValues"] = [request["ReturnValues"]]
    return IamRequest(f"dynamodb:{action}", resource, {name: values for name, values in context.items() if values})


def _applies(statement: Json, request: IamRequest) -> bool:
    conditions = [
        _holds(operator, wanted if isinstance(wanted, list) else [wanted], request.context.get(key))
        for operator, tests in statement.get("Condition", {}).items()
        for key, wanted in tests.items()
    ]
    named = any(_like(one, request.action) for one in statement["Action"])
    there = any(_like(one, request.resource) for one in statement["Resource"])
    return statement["Effect"] == "Allow" and named and there and all(conditions)


def _holds(operator: str, wanted: list[str], found: Sequence[str] | None) -> bool:
    match operator:
        case "ForAllValues:StringLike":
            return all(any(_like(one, value) for one in wanted) for value in found or ())
        case "ForAllValues:StringNotLike":
            return not any(_like(one, value) for one in wanted for value in found or ())
        case "ForAllValues:StringEquals":
            return all(value in wanted for value in found or ())
        case "StringEquals":
            return found is not None and found[0] in wanted
        case "StringEqualsIfExists":
            return found is None or found[0] in wanted
        case "Null":
            return (found is None) == (wanted == ["true"])
    raise AssertionError(f"{operator} is not told here")


def _like(pattern: str, value: str) -> bool:
    """`*` and `?` are wildcards; `${*}`, `${?}` and `${$}` are these characters."""
    parts = re.split(r"(\$\{[*?$]\}|\*|\?)", pattern)
    wild = {"*": ".*", "?": "."}
    text = "".join(wild.get(p) or re.escape(p[2] if re.fullmatch(r"\$\{.\}", p) else p) for p in parts)
    return re.fullmatch(text, value, re.DOTALL) is not None


def _partition(request: Json, pk: str) -> str:
    names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
    for name, value in re.findall(r"(#\w+) = (:\w+)", request["KeyConditionExpression"]):
        if names[name] == pk:
            return _text(values[value])
    raise AssertionError(f"{request['KeyConditionExpression']} does not say the partition")


def _batched(one: Json) -> Json:
    found: Json = one["PutRequest"]["Item"] if "PutRequest" in one else one["DeleteRequest"]["Key"]
    return found


def _text(value: Json) -> str:
    (found,) = value.values()
    return str(found)
