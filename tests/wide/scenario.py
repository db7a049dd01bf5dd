"""The requests of an application with boto3, and their responses without parts that differ from run to run."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from .random_expressions import RandomExpressions

TABLE: dict[str, Any] = {
    "TableName": "scenario",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": kind}
        for name, kind in {"pk": "S", "sk": "S", "status": "S", "placed": "N"}.items()
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-status",
            "KeySchema": [
                {"AttributeName": "status", "KeyType": "HASH"},
                {"AttributeName": "placed", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


_WITHOUT_TABLE = frozenset(
    {
        *("batch_write_item", "batch_get_item", "transact_write_items", "transact_get_items"),
        *("execute_statement", "batch_execute_statement", "execute_transaction"),
        *("tag_resource", "untag_resource", "list_tags_of_resource"),
        *("describe_stream", "get_shard_iterator", "get_records"),
        *("describe_backup", "delete_backup", "restore_table_from_backup", "restore_table_to_point_in_time"),
    }
)
"""Operations whose requests do not name the table by itself."""


class Scenario:
    """Sends requests to a table, and keeps the responses and errors."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.answers: dict[str, Any] = {}

    def step(self, name: str, operation: str, /, **request: Any) -> Any:
        assert name not in self.answers
        if operation not in _WITHOUT_TABLE:
            request = {"TableName": TABLE["TableName"], **request}
        try:
            answer = getattr(self.client, operation)(**request)
            answer.pop("ResponseMetadata")
        except ClientError as error:
            answer = {**error.response, "raised": type(error).__name__}
            answer["status"] = answer.pop("ResponseMetadata")["HTTPStatusCode"]
        self.answers[name] = answer
        return answer


def key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def order(at: int, **more: Any) -> dict[str, Any]:
    status = "OPEN" if at % 2 else "DONE"
    return {**key("USER#1", f"ORDER#{at:03}"), "status": {"S": status}, "placed": {"N": str(at)}, **more}


def run_everywhere(url: str) -> dict[str, Any]:
    """All requests of this file that DynamoDB Local knows, and the records of streams."""
    unchecked = Config(parameter_validation=False)  # boto3 would refuse some of it itself
    client = boto3.client("dynamodb", endpoint_url=url)
    streams = boto3.client("dynamodbstreams", endpoint_url=url, config=unchecked)
    answers = run(client) | run_expressions(client) | run_statements(client) | misuse_streams(client, streams)
    answers |= run_random_expressions(client)
    return answers | {f"stream of {view}": run_stream(client, streams, view) for view in VIEWS}


def run(client: Any) -> dict[str, Any]:
    """Runs the scenario on a new table, and deletes it."""
    client.create_table(**TABLE)
    client.get_waiter("table_exists").wait(TableName=TABLE["TableName"], WaiterConfig={"Delay": 1})
    scenario = Scenario(client)
    _items(scenario.step)
    _queries(scenario.step)
    _batches_and_transactions(scenario.step)
    _errors(scenario.step)
    _legacy(scenario.step)
    _statements(scenario.step)
    _time_to_live(scenario.step)
    _tags(scenario.step, client.describe_table(TableName=TABLE["TableName"])["Table"]["TableArn"])
    client.delete_table(TableName=TABLE["TableName"])
    return scenario.answers


def _items(step: Any) -> None:
    user = {
        **key("USER#1", "PROFILE"),
        "name": {"S": "Zoë"},
        "visits": {"N": "1"},
        "photo": {"B": b"\x00\xff"},
        "tags": {"SS": ["a", "b"]},
        "address": {"M": {"city": {"S": "Köln"}, "lines": {"L": [{"S": "1"}, {"NULL": True}]}}},
    }
    step("put", "put_item", Item=user, ReturnConsumedCapacity="TOTAL")
    step("get", "get_item", Key=key("USER#1", "PROFILE"), ConsistentRead=True, ReturnConsumedCapacity="TOTAL")
    step("get nothing", "get_item", Key=key("USER#1", "NOTHING"))
    step(
        "project",
        "get_item",
        Key=key("USER#1", "PROFILE"),
        ProjectionExpression="#n, address.#l[0]",
        ExpressionAttributeNames={"#n": "name", "#l": "lines"},
    )
    step(
        "update",
        "update_item",
        Key=key("USER#1", "PROFILE"),
        UpdateExpression="SET visits = visits + :one, address.zip = :zip REMOVE photo ADD tags :tag",
        ConditionExpression="attribute_exists(pk) AND visits < :most",
        ExpressionAttributeValues={
            ":one": {"N": "1"},
            ":zip": {"S": "50667"},
            ":tag": {"SS": ["c"]},
            ":most": {"N": "10"},
        },
        ReturnValues="ALL_NEW",
    )
    step(
        "update old",
        "update_item",
        Key=key("USER#1", "PROFILE"),
        UpdateExpression="SET visits = if_not_exists(nothing, :zero)",
        ExpressionAttributeValues={":zero": {"N": "0"}},
        ReturnValues="UPDATED_OLD",
    )
    step(
        "upsert",
        "update_item",
        Key=key("USER#2", "PROFILE"),
        UpdateExpression="ADD visits :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="ALL_NEW",
    )
    step("delete", "delete_item", Key=key("USER#2", "PROFILE"), ReturnValues="ALL_OLD")


def _queries(step: Any) -> None:
    for at in range(12):
        step(f"put order {at}", "put_item", Item=order(at, note={"S": "x" * at}))
    orders = {
        "KeyConditionExpression": "pk = :p AND begins_with(sk, :s)",
        "ExpressionAttributeValues": {":p": {"S": "USER#1"}, ":s": {"S": "ORDER#"}},
    }
    step("query", "query", **orders, ReturnConsumedCapacity="INDEXES")
    step("query back", "query", **orders, ScanIndexForward=False, Limit=3)
    page = step("page 1", "query", **orders, Limit=5)
    step("page 2", "query", **orders, Limit=5, ExclusiveStartKey=page["LastEvaluatedKey"])
    step("count", "query", **orders, Select="COUNT")
    step(
        "filter",
        "query",
        KeyConditionExpression="pk = :p AND sk BETWEEN :a AND :b",
        FilterExpression="size(note) > :n AND #s IN (:open, :none)",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={
            ":p": {"S": "USER#1"},
            ":a": {"S": "ORDER#002"},
            ":b": {"S": "ORDER#009"},
            ":n": {"N": "3"},
            ":open": {"S": "OPEN"},
            ":none": {"S": "NONE"},
        },
    )
    step(
        "index",
        "query",
        IndexName="by-status",
        KeyConditionExpression="#s = :s AND placed > :n",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":s": {"S": "OPEN"}, ":n": {"N": "4"}},
        Limit=2,
        ReturnConsumedCapacity="INDEXES",
    )


def _batches_and_transactions(step: Any) -> None:
    puts = [{"PutRequest": {"Item": {**key("BATCH", f"{at:02}"), "n": {"N": str(at)}}}} for at in range(10)]
    step("batch write", "batch_write_item", RequestItems={"scenario": puts})
    deletes = [{"DeleteRequest": {"Key": key("BATCH", "09")}}]
    step("batch delete", "batch_write_item", RequestItems={"scenario": deletes})
    step("batch get", "batch_get_item", RequestItems={"scenario": {"Keys": [key("BATCH", "03")]}})
    step(
        "transact",
        "transact_write_items",
        TransactItems=[
            {"Put": {"TableName": "scenario", "Item": order(50), "ConditionExpression": "attribute_not_exists(pk)"}},
            {
                "Update": {
                    "TableName": "scenario",
                    "Key": key("BATCH", "01"),
                    "UpdateExpression": "SET n = n - :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                }
            },
            {"Delete": {"TableName": "scenario", "Key": key("BATCH", "02")}},
            {
                "ConditionCheck": {
                    "TableName": "scenario",
                    "Key": key("USER#1", "PROFILE"),
                    "ConditionExpression": "attribute_exists(pk)",
                }
            },
        ],
    )
    step(
        "transact cancelled",
        "transact_write_items",
        TransactItems=[
            {"Put": {"TableName": "scenario", "Item": order(60)}},
            {
                "Put": {
                    "TableName": "scenario",
                    "Item": order(50),
                    "ConditionExpression": "attribute_not_exists(pk)",
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            },
        ],
    )
    keys = [key("USER#1", "ORDER#050"), key("USER#1", "ORDER#060"), key("BATCH", "01"), key("BATCH", "02")]
    step(
        "transact get",
        "transact_get_items",
        TransactItems=[{"Get": {"TableName": "scenario", "Key": one}} for one in keys],
    )


def _errors(step: Any) -> None:
    profile = key("USER#1", "PROFILE")
    step(
        "condition fails",
        "put_item",
        Item=profile,
        ConditionExpression="attribute_not_exists(pk)",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    step("no such table", "get_item", TableName="nowhere", Key=profile)
    step("key of wrong type", "get_item", Key={"pk": {"N": "1"}, "sk": {"S": "a"}})
    step("half a key", "get_item", Key={"pk": {"S": "1"}})
    step("reserved word", "get_item", Key=profile, ProjectionExpression="name")
    step("unknown value", "query", KeyConditionExpression="pk = :p")
    step(
        "number in words",
        "put_item",
        Item={**profile, "n": {"N": "one"}},
    )
    step(
        "table again",
        "create_table",
        **{name: value for name, value in TABLE.items() if name != "TableName"},
    )


def _legacy(step: Any) -> None:
    """Legacy parameters, from before expressions."""
    profile = key("USER#9", "PROFILE")

    def compared(operator: str, *operands: Any) -> dict[str, Any]:
        return {"ComparisonOperator": operator, "AttributeValueList": list(operands)}

    user, two = compared("EQ", {"S": "USER#1"}), {"N": "2"}
    step("legacy put", "put_item", Item={**profile, "n": two}, Expected={"pk": {"Exists": False}})
    step("legacy put again", "put_item", Item=profile, Expected={"pk": {"Exists": False}})
    step(
        "legacy update",
        "update_item",
        Key=profile,
        AttributeUpdates={
            "n": {"Action": "ADD", "Value": two},
            "l": {"Action": "ADD", "Value": {"L": [two]}},
            "gone": {"Action": "DELETE"},
            "new": {"Action": "PUT", "Value": {"S": "x"}},
        },
        Expected={"n": compared("BETWEEN", {"N": "1"}, {"N": "3"}), "pk": compared("BEGINS_WITH", {"S": "USER"})},
        ConditionalOperator="AND",
        ReturnValues="ALL_NEW",
    )
    step("legacy get", "get_item", Key=profile, AttributesToGet=["n", "new", "nothing"])
    step("legacy query", "query", KeyConditions={"pk": user, "sk": compared("GE", {"S": "ORDER#005"})}, Limit=3)
    step("legacy scan", "scan", ScanFilter={"n": compared("EQ", two), "pk": compared("NE", {"S": "x"})}, Limit=1)
    step(
        "legacy scan or",
        "scan",
        ScanFilter={"new": compared("CONTAINS", {"S": "x"}), "l": {"ComparisonOperator": "NOT_NULL"}},
        ConditionalOperator="OR",
        AttributesToGet=["sk", "n"],
    )
    wish = {"Keys": [profile], "AttributesToGet": ["n", "nothing"]}
    step("legacy batch get", "batch_get_item", RequestItems={TABLE["TableName"]: wish})
    step("legacy filter", "query", KeyConditions={"pk": user}, QueryFilter={"placed": compared("LT", two)})
    step("legacy delete", "delete_item", Key=profile, Expected={"n": {"Value": {"N": "4"}}}, ReturnValues="ALL_OLD")
    for name, expected in {
        "legacy no value": {},
        "legacy both": {"Value": two, "AttributeValueList": [two]},
        "legacy too many": compared("EQ", two, two),
        "legacy types": compared("IN", two, {"S": "2"}),
        "legacy range": compared("BETWEEN", {"N": "3"}, two),
    }.items():
        step(name, "put_item", Item=profile, Expected={"n": expected})
    step("legacy add", "update_item", Key=profile, AttributeUpdates={"n": {"Action": "ADD", "Value": {"S": "x"}}})
    step("legacy no action", "update_item", Key=profile, AttributeUpdates={"n": {"Action": "PUT"}})
    step("legacy key filter", "query", KeyConditions={"pk": user}, QueryFilter={"sk": compared("EQ", {"S": "x"})})
    step("legacy key operator", "query", KeyConditions={"pk": {"ComparisonOperator": "NULL"}})
    step("legacy three keys", "query", KeyConditions=dict.fromkeys(("pk", "sk", "n"), user))
    step("legacy duplicate", "get_item", Key=profile, AttributesToGet=["n", "n"])
    step("legacy operator alone", "scan", ConditionalOperator="OR")
    step("legacy delete key", "update_item", Key=profile, AttributeUpdates={"pk": {"Action": "DELETE"}})
    step("legacy and new", "query", KeyConditionExpression="pk = :p", QueryFilter={"n": compared("EQ", two)})


def _statement_of(step: Any) -> Any:
    """A function that executes a statement as a step."""

    def statement(name: str, text: str, *parameters: Any) -> None:
        given = {"Parameters": list(parameters)} if parameters else {}
        step(name, "execute_statement", Statement=text, **given)

    return statement


def _statements(step: Any) -> None:
    """PartiQL."""
    name = TABLE["TableName"]
    statement = _statement_of(step)
    user, sort = {"S": "USER#5"}, {"S": "NOTE"}
    whole = "{'pk': ?, 'sk': ?, 'n': 1, 'm': {'l': [1, 'two', true, null]}}"
    statement("statement insert", f"INSERT INTO {name} VALUE {whole}", user, sort)
    statement("statement insert again", f"INSERT INTO {name} VALUE {whole}", user, sort)
    statement("statement select", f"SELECT * FROM {name} WHERE pk = ? AND sk = ?", user, sort)
    statement("statement path", f"SELECT n, m.l[1] FROM {name} WHERE pk = 'USER#5' AND sk = 'NOTE'")
    statement("statement between", f"SELECT placed FROM {name} WHERE pk = 'USER#1' AND placed BETWEEN 2 AND 4")
    statement("statement begins", f"SELECT sk FROM {name} WHERE pk = 'USER#1' AND begins_with(sk, 'ORDER#00')")
    update = f"UPDATE {name} SET n = n + 2 REMOVE m.l[3] WHERE pk = ? AND sk = ?"
    statement("statement update", f"{update} RETURNING ALL NEW *", user, sort)
    statement("statement condition", f"UPDATE {name} SET n = 9 WHERE pk = ? AND sk = ? AND n = 8", user, sort)
    statement("statement no key", f"DELETE FROM {name} WHERE n = 1")
    statement("statement no table", "SELECT * FROM nowhere WHERE pk = 'x'")
    read = {"Statement": f"SELECT n FROM {name} WHERE pk = ? AND sk = ?", "Parameters": [user, sort]}
    step("statements", "batch_execute_statement", Statements=[read, read | {"Parameters": [sort, sort]}])
    step("statements read", "execute_transaction", TransactStatements=[read])
    delete = {"Statement": f"DELETE FROM {name} WHERE pk = ? AND sk = ?", "Parameters": [user, sort]}
    check = {"Statement": f"EXISTS(SELECT * FROM {name} WHERE pk = 'USER#5' AND sk = 'NOTE' AND n = 8)"}
    absent = check | {"Statement": check["Statement"].replace("NOTE", "NONE")}
    step("statements cancelled", "execute_transaction", TransactStatements=[delete, absent])
    statement("statement delete", f"DELETE FROM {name} WHERE pk = ? AND sk = ? RETURNING ALL OLD *", user, sort)


CONDITIONS = (
    *(
        "n = status AND foo(n)",
        "foo(status) = n",
        "size(n) AND status = n",
        "status IN (size(n), n)",
        "size(n) AND foo(n)",
    ),
    *(
        "n = l[99999999999] AND status = n",
        "foo(n) = l[99999999999]",
        "attribute_type(status, n) = n",
        "n = n",
        "n IN (l, n)",
    ),
    *(
        "((n)) = l",
        "((n = l)) d",
        "((n = l)).d",
        "((n)).d = l",
        "n = ((l)).d",
        "size(((n)).d) = l",
        "n = l AND (",
        "(n).d = l",
    ),
    *(
        "remove = n",
        "n = m.SET",
        "n AND l",
        "n == l",
        "n =",
        "NOT",
        "n IN ()",
        "contains(n, n)",
        "begins_with(n)",
        "size(n, l) = n",
    ),
    *(
        "if_not_exists(n, l) = n",
        "attribute_exists(size(n))",
        "#x = n",
        "n BETWEEN l AND",
        "n[-1] = l",
        "n.1 = l",
        "(n = l",
        "n = l)",
    ),
)
UPDATES = (
    *(
        "SET a = ((b))",
        "SET a = ((b + c))",
        "SET a = list_append(b, c) + c",
        "SET a = if_not_exists(b, list_append(b, c))",
        "SET a = ((b + c)",
        "SET a = ((b + c) + b)",
        "SET a = (((b) + (c)))",
        "SET a = ((b)).c",
        "SET a = b SET c = b",
        "SET status = foo(n)",
        "SET a = foo(status)",
        "SET in = b",
    ),
    *(
        "SET a = if_not_exists(b, b)",
        "SET a = list_append(list_append(l, l), l)",
        "SET a = size(l)",
        "SET a = b, a.c = b",
    ),
    *(
        "REMOVE a.b, a[0]",
        "REMOVE status",
        "REMOVE",
        "ADD a b",
        "SET a",
        "SET a = b + ",
        "DELETE a",
        "SET (a) = b",
        "SET a = l[99999999999]",
    ),
)
PROJECTIONS = ("a, a", "a.b, a", "a.b, a[0]", "status", "and", "a,", "a..b", "(a)", "#x", "a[99999999999]")


def run_expressions(client: Any) -> dict[str, Any]:
    """Expressions with mistakes, on an item that has none of their attributes."""
    client.create_table(**TABLE)
    client.get_waiter("table_exists").wait(TableName=TABLE["TableName"], WaiterConfig={"Delay": 1})
    scenario = Scenario(client)
    for text in CONDITIONS:
        scenario.step(f"condition {text}", "scan", FilterExpression=text)
    for text in UPDATES:
        scenario.step(f"update {text}", "update_item", Key=key("USER#1", "PROFILE"), UpdateExpression=text)
    for text in PROJECTIONS:
        scenario.step(f"projection {text}", "scan", ProjectionExpression=text)
    client.delete_table(TableName=TABLE["TableName"])
    return scenario.answers


def run_random_expressions(client: Any, number: int = 300) -> dict[str, Any]:
    """Random updates of an item, each followed by a filter that tests it and a projection that reads it."""
    client.create_table(**TABLE)
    client.get_waiter("table_exists").wait(TableName=TABLE["TableName"], WaiterConfig={"Delay": 1})
    scenario, where = Scenario(client), key("USER#1", "RANDOM")
    for at in range(number):
        if at % 5 == 0:
            client.put_item(TableName=TABLE["TableName"], Item=where | RandomExpressions(at).item())
        made = RandomExpressions(at)
        text = made.update()
        given = {"ExpressionAttributeValues": made.values} if made.values else {}
        scenario.step(
            f"random {at}: {text}", "update_item", Key=where, UpdateExpression=text, ReturnValues="ALL_NEW", **given
        )
        made = RandomExpressions(at)
        text, path = made.filter(), made.path()
        given = {"ExpressionAttributeValues": made.values} if made.values else {}
        scenario.step(f"random {at}: {text}", "scan", FilterExpression=text, ProjectionExpression=path, **given)
    client.delete_table(TableName=TABLE["TableName"])
    return scenario.answers


def run_statements(client: Any) -> dict[str, Any]:
    """Further statements of PartiQL, valid and invalid. dynoxide does not support many of them."""
    client.create_table(**TABLE)
    client.get_waiter("table_exists").wait(TableName=TABLE["TableName"], WaiterConfig={"Delay": 1})
    scenario = Scenario(client)
    name, statement = TABLE["TableName"], _statement_of(scenario.step)
    user, sort = {"S": "USER#5"}, {"S": "NOTE"}
    for at in range(12):
        client.put_item(TableName=name, Item=order(at, note={"S": "x" * at}))
    note = {**key("USER#5", "NOTE"), "n": {"N": "1"}, "m": {"M": {"l": {"L": [{"N": "1"}, {"S": "two"}]}}}}
    client.put_item(TableName=name, Item=note)
    statement(
        "statement missing", f"SELECT sk FROM {name} WHERE pk = 'USER#5' AND absent IS MISSING AND n IS NOT MISSING"
    )
    statement("statement null", f"SELECT sk FROM {name} WHERE pk = 'USER#5' AND n IS NOT NULL")
    statement("statement in", f"SELECT sk FROM {name} WHERE pk = 'USER#1' AND placed IN [1, 3, 99]")
    statement(
        "statement or", f"SELECT sk FROM {name} WHERE pk = 'USER#1' AND (placed = 1 OR contains(note, 'xxxxxxxx'))"
    )
    statement("statement not", f"SELECT sk FROM {name} WHERE pk = 'USER#1' AND NOT placed > 2 AND size(note) >= 1")
    statement("statement type", f"SELECT sk FROM {name} WHERE pk = 'USER#5' AND attribute_type(m, 'M')")
    statement("statement index", f"SELECT sk FROM {name}.\"by-status\" WHERE status = 'OPEN' AND placed > 6")
    statement("statement order", f"SELECT sk FROM {name} WHERE pk = 'USER#1' AND sk > 'ORDER#008' ORDER BY sk DESC")
    several = f"SELECT pk, sk FROM {name} WHERE pk IN ['USER#5', 'USER#1', 'none'] AND sk > 'ORDER#008'"
    statement("statement partitions", several)
    statement("statement partitions backwards", f"{several} ORDER BY pk DESC")
    statement("statement no index", f"SELECT sk FROM {name}.absent WHERE pk = 'x'")
    statement("statement wrong key", f"SELECT sk FROM {name} WHERE pk = ?", {"N": "1"})
    statement("statement few parameters", f"SELECT sk FROM {name} WHERE pk = ? AND sk = ?", user)
    statement("statement many parameters", f"SELECT sk FROM {name} WHERE pk = ?", user, sort)
    statement("statement syntax", f"SELECT FROM {name}")
    statement("statement half a key", f"UPDATE {name} SET n = 1 WHERE pk = 'USER#5'")
    statement("statement key", f"UPDATE {name} SET sk = 'x' WHERE pk = 'USER#5' AND sk = 'NOTE'")
    statement("statement absent", f"UPDATE {name} SET n = 1 WHERE pk = 'USER#5' AND sk = 'NONE'")
    statement(
        "statement sets",
        f"UPDATE {name} SET s = <<'a', 'b'>> SET b = ? WHERE pk = ? AND sk = ?",
        {"B": b"x"},
        user,
        sort,
    )
    append = f"UPDATE {name} SET m.l = list_append(m.l, [5]) SET m.n = -1.5"
    statement("statement old", f"{append} WHERE pk = ? AND sk = ? RETURNING MODIFIED OLD *", user, sort)
    statement(
        "statement undo",
        f"UPDATE {name} REMOVE s REMOVE b REMOVE m.n REMOVE m.l[2] WHERE pk = ? AND sk = ?",
        user,
        sort,
    )
    for text in (
        *("n AS m FROM {}", "DISTINCT n FROM {}", "n+1 FROM {}", "'n' FROM {}", "((n)) FROM {} WHERE pk = 'USER#5'"),
        *("* FROM {}, {}", "* FROM {}.a.b", "* FROM {} ORDER BY pk", "* FROM {} LIMIT 1", "* FROM {} GROUP BY n"),
        *("n FROM {} WHERE pk LIKE 'a'", "n FROM {} WHERE n + 1 = 2", "n FROM {} -- comment\nWHERE pk = 'USER#5'"),
    ):
        statement(f"select {text}", f"SELECT {text.format(name, name)}")
    one = " WHERE pk = 'USER#5' AND sk = 'NOTE'"
    statement("delete modified", f"DELETE FROM {name}{one} RETURNING MODIFIED OLD *")
    statement("update index", f'UPDATE {name}."by-status" SET n = 1{one}')
    statement("insert twice", f"INSERT INTO {name} VALUE {{'pk': 'a', 'pk': 'b'}}")
    read, update = {"Statement": f"SELECT n FROM {name}{one}"}, {"Statement": f"UPDATE {name} SET n = 1{one}"}
    exists, half = {"Statement": f"EXISTS({read['Statement']})"}, {"Statement": f"SELECT n FROM {name} WHERE pk = 'a'"}
    for title, given in {"reads": [read, read], "writes": [update, update], "check": [exists]}.items():
        scenario.step(f"batch of {title}", "batch_execute_statement", Statements=given)
    returning = {"Statement": f"{update['Statement']} RETURNING ALL OLD *"}
    insert = {"Statement": f"INSERT INTO {name} VALUE {{'pk': 'a'}}"}
    refused = {"reads": [read, read], "both": [read, update], "check": [exists], "half a key": [half]}
    for title, given in {**refused, "returning": [returning], "no key": [update, insert]}.items():
        scenario.step(f"transaction of {title}", "execute_transaction", TransactStatements=given)
    client.delete_table(TableName=name)
    return scenario.answers


def _time_to_live(step: Any) -> None:
    def update(name: str, attribute: str, *, enabled: bool, **more: Any) -> None:
        wish = {"AttributeName": attribute, "Enabled": enabled}
        step(name, "update_time_to_live", TimeToLiveSpecification=wish, **more)

    step("no time to live", "describe_time_to_live")
    update("disable early", "expires", enabled=False)
    update("enable", "expires", enabled=True)
    step("time to live", "describe_time_to_live")
    update("enable again", "expires", enabled=True)
    update("enable another", "later", enabled=True)
    update("disable another", "later", enabled=False)
    update("enable no table", "expires", enabled=True, TableName="nowhere")
    step("time to live of no table", "describe_time_to_live", TableName="nowhere")


def _tags(step: Any, arn: str) -> None:
    """Tags, one at a time, because their order is undefined."""
    step("tag", "tag_resource", ResourceArn=arn, Tags=[{"Key": "team", "Value": "a"}])
    step("tag again", "tag_resource", ResourceArn=arn, Tags=[{"Key": "team", "Value": "b"}])
    step("tags", "list_tags_of_resource", ResourceArn=arn)
    step("untag", "untag_resource", ResourceArn=arn, TagKeys=["team", "unknown"])
    step("no tags", "list_tags_of_resource", ResourceArn=arn)


def run_backups(client: Any) -> dict[str, Any]:
    """Backups, and tables restored from them. Only moto has them, too."""
    client.create_table(**TABLE)
    client.get_waiter("table_exists").wait(TableName=TABLE["TableName"], WaiterConfig={"Delay": 1})
    for at in range(3):
        client.put_item(TableName=TABLE["TableName"], Item=order(at))
    scenario = Scenario(client)
    step = scenario.step
    step("no continuous backups", "describe_continuous_backups")
    step(
        "continuous", "update_continuous_backups", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    step("continuous of no table", "describe_continuous_backups", TableName="nowhere")
    step("no backups", "list_backups")
    backup = step("backup", "create_backup", BackupName="first")["BackupDetails"]["BackupArn"]
    step("backup of no table", "create_backup", BackupName="first", TableName="nowhere")
    step("backups", "list_backups")
    step("describe backup", "describe_backup", BackupArn=backup)
    client.delete_item(TableName=TABLE["TableName"], Key=key("USER#1", "ORDER#001"))
    step("restore", "restore_table_from_backup", BackupArn=backup, TargetTableName="restored")
    client.get_waiter("table_exists").wait(TableName="restored", WaiterConfig={"Delay": 1})
    user = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "USER#1"}}}
    step("restored items", "query", **user, TableName="restored")
    latest = {"SourceTableName": TABLE["TableName"], "UseLatestRestorableTime": True}
    step("restore the latest", "restore_table_to_point_in_time", **latest, TargetTableName="latest")
    client.get_waiter("table_exists").wait(TableName="latest", WaiterConfig={"Delay": 1})
    step("latest items", "query", **user, TableName="latest")
    step("restore again", "restore_table_from_backup", BackupArn=backup, TargetTableName="restored")
    step("delete backup", "delete_backup", BackupArn=backup)
    step("describe deleted", "describe_backup", BackupArn=backup)
    step("delete deleted", "delete_backup", BackupArn=backup)
    step("restore deleted", "restore_table_from_backup", BackupArn=backup, TargetTableName="third")
    for table in (TABLE["TableName"], "restored", "latest"):
        client.delete_table(TableName=table)
    return scenario.answers


def misuse_streams(client: Any, streams: Any) -> dict[str, Any]:
    """The responses to invalid requests about streams."""
    name = "misused"
    write_to_stream(client, name, "KEYS_ONLY")
    arn = client.describe_table(TableName=name)["Table"]["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    scenario = Scenario(streams)
    place = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    absent = arn.replace(name, "absent")
    for step, change in {
        "type": {"ShardIteratorType": "FIRST"},
        "shard": {"ShardId": shard[:-1] + ("0" if shard[-1] != "0" else "1")},
        "short shard": {"ShardId": "shardId-000"},
        "stream": {"StreamArn": absent},
        "no number": {"ShardIteratorType": "AT_SEQUENCE_NUMBER"},
        "number not used": {"SequenceNumber": "1" * 21},
    }.items():
        scenario.step(f"iterator {step}", "get_shard_iterator", **place | change)
    scenario.step("describe absent", "describe_stream", StreamArn=absent)
    scenario.step("describe nothing", "describe_stream", StreamArn="arn:nothing-that-is-a-stream-of-a-table")
    scenario.step("describe few", "describe_stream", StreamArn=arn, Limit=0)
    scenario.step("records of nothing", "get_records", ShardIterator="nothing")
    iterator = streams.get_shard_iterator(**place)["ShardIterator"]
    scenario.step("records too many", "get_records", ShardIterator=iterator, Limit=1001)
    scenario.step("streams of no table", "list_streams", TableName="nowhere")
    client.delete_table(TableName=name)
    return scenario.answers


VIEWS = ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")


def run_stream(client: Any, streams: Any, view: str) -> list[Any]:
    """The records of a table's stream after writes of every kind."""
    name = f"stream-{view}"
    write_to_stream(client, name, view)
    found = consume(client, streams, name)
    client.delete_table(TableName=name)
    return found


def consume(client: Any, streams: Any, name: str) -> list[Any]:
    """The records of a stream as a consumer reads them, without parts that differ between servers."""
    arn = client.describe_table(TableName=name)["Table"]["LatestStreamArn"]
    found: list[Any] = []
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        place = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
        iterator = place["ShardIterator"]
        while iterator:
            answer = streams.get_records(ShardIterator=iterator, Limit=3)
            found += answer["Records"]
            iterator = answer.get("NextShardIterator") if answer["Records"] else None
    numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in found]
    assert numbers == sorted(numbers)
    return [
        [record["eventName"], *(record["dynamodb"].get(part) for part in ("Keys", "NewImage", "OldImage"))]
        for record in found
    ]


def write_to_stream(client: Any, name: str, view: str) -> None:
    """Creates a table with a stream, and writes items of every kind."""
    stream = {"StreamEnabled": True, "StreamViewType": view}
    client.create_table(**{**TABLE, "TableName": name}, StreamSpecification=stream)
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    client.put_item(TableName=name, Item=order(1))
    client.put_item(TableName=name, Item=order(1, note={"S": "changed"}))
    update = {"UpdateExpression": "SET note = :n", "ExpressionAttributeValues": {":n": {"B": b"\x00\xff"}}}
    client.update_item(TableName=name, Key=key("USER#1", "ORDER#001"), **update)
    client.batch_write_item(RequestItems={name: [{"PutRequest": {"Item": order(2)}}]})
    client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": name, "Item": order(3)}},
            {"Delete": {"TableName": name, "Key": key("USER#1", "ORDER#002")}},
        ]
    )
    client.delete_item(TableName=name, Key=key("USER#1", "ORDER#001"))
    client.delete_item(TableName=name, Key=key("USER#1", "ORDER#001"))
