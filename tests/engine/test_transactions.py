"""TransactWriteItems and TransactGetItems: all or nothing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from .conftest import Ask, item, refusal, values


def write(shop: Ask, *actions: dict[str, Any], **members: Any) -> dict[str, Any]:
    named = [{kind: {"TableName": "shop", **content} for kind, content in action.items()} for action in actions]
    return shop("TransactWriteItems", TransactItems=named, **members)


def put(sk: str, **members: Any) -> dict[str, Any]:
    return {"Put": {"Item": item(pk="a", sk=sk), **members}}


def key(sk: str) -> dict[str, Any]:
    return {"Key": item(pk="a", sk=sk)}


def stored(shop: Ask) -> list[str]:
    return [found["sk"]["S"] for found in shop("Scan")["Items"]]


def test_all_actions_happen_together(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="counter", n=1))
    shop("PutItem", Item=item(pk="a", sk="gone"))
    answer = write(
        shop,
        put("new"),
        {
            "Update": {
                **key("counter"),
                "UpdateExpression": "SET n = n + :one",
                "ExpressionAttributeValues": values(one=1),
            }
        },
        {"Delete": key("gone")},
        {"ConditionCheck": {**key("absent"), "ConditionExpression": "attribute_not_exists(pk)"}},
    )
    assert answer == {}
    assert stored(shop) == ["counter", "new"]
    assert shop("GetItem", **key("counter"))["Item"]["n"] == {"N": "2"}


def test_one_failed_condition_cancels_all_and_says_which(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="taken", n=1))
    error = refusal(
        write,
        shop,
        put("new"),
        put(
            "taken",
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        ),
        {"ConditionCheck": {**key("absent"), "ConditionExpression": "attribute_exists(pk)"}},
    )
    assert error.code == "TransactionCanceledException"
    assert error.message == (
        "Transaction cancelled, please refer cancellation reasons for specific reasons "
        "[None, ConditionalCheckFailed, ConditionalCheckFailed]"
    )
    failed = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
    assert error.fields["CancellationReasons"] == [
        {"Code": "None"},
        {**failed, "Item": item(pk="a", sk="taken", n=1)},
        failed,
    ]
    assert stored(shop) == ["taken"]


def test_invalid_update_cancels_transaction(shop: Ask) -> None:
    error = refusal(
        write,
        shop,
        put("new", ConditionExpression="attribute_not_exists(pk)"),
        {
            "Update": {
                **key("counter"),
                "UpdateExpression": "SET n = n + :one",
                "ExpressionAttributeValues": values(one=1),
            }
        },
    )
    assert [reason["Code"] for reason in error.fields["CancellationReasons"]] == ["None", "ValidationError"]
    assert stored(shop) == []


def test_a_condition_that_fails_comes_before_an_update_of_the_key(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", n=1))
    for n, code in ((2, "ConditionalCheckFailed"), (1, "ValidationError")):
        update = {
            **key("1"),
            "UpdateExpression": "SET sk = :new",
            "ConditionExpression": "n = :n",
            "ExpressionAttributeValues": values(new="2", n=n),
        }
        error = refusal(write, shop, put("3"), {"Update": update})
        assert [reason["Code"] for reason in error.fields["CancellationReasons"]] == ["None", code]
    assert stored(shop) == ["1"]


def test_an_item_cannot_be_in_a_transaction_twice(shop: Ask) -> None:
    error = refusal(write, shop, put("same"), {"Delete": key("same")})
    assert (error.code, error.message) == (
        "ValidationException",
        "Transaction request cannot include multiple operations on one item",
    )


def test_a_transaction_has_1_to_100_actions(shop: Ask) -> None:
    write(shop, *(put(f"{number}") for number in range(100)))
    error = refusal(write, shop, *(put(f"{number}") for number in range(101)))
    assert error.message.endswith("Member must have length less than or equal to 100")
    error = refusal(write, shop)
    assert error.message == (
        "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1"
    )


def test_a_transaction_with_more_than_4_mb_is_refused(shop: Ask) -> None:
    puts = [{"Put": {"Item": item(pk="a", sk=f"{n}", big="x" * 390_000)}} for n in range(11)]
    assert refusal(write, shop, *puts).code == "ValidationException"
    assert stored(shop) == []


def test_each_member_has_exactly_one_action(shop: Ask) -> None:
    assert refusal(write, shop, {}).message == (
        "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
    )
    assert refusal(write, shop, {**put("a"), "Delete": key("b")}).code == "ValidationException"


CHECK: dict[str, Any] = {**key("1"), "ConditionExpression": "attribute_exists(pk)"}


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("put", put("1")),
        ("update", {"Update": {**key("1"), "UpdateExpression": "REMOVE a"}}),
        ("delete", {"Delete": key("1")}),
        ("conditionCheck", {"ConditionCheck": CHECK}),
    ],
)
def test_invalid_table_name_is_listed_among_constraints(shop: Ask, kind: str, action: dict[str, Any]) -> None:
    ((member, content),) = action.items()
    wrong = {member: {**content, "TableName": "a b"}}
    listed = (
        f"Value 'a b' at 'transactItems.2.member.{kind}.tableName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )
    error = refusal(write, shop, put("2", ConditionExpression="wrong ="), wrong)
    assert error.message == f"1 validation error detected: {listed}"
    error = refusal(write, shop, put("2"), wrong, ReturnConsumedCapacity="X")
    assert error.message == (
        "2 validation errors detected: Value 'X' at 'returnConsumedCapacity' failed to satisfy constraint: "
        f"Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; {listed}"
    )


def test_invalid_table_name_in_transact_get_is_listed(shop: Ask) -> None:
    gets = [{"Get": {"TableName": name, **key("1")}} for name in ("shop", "a b")]
    assert refusal(shop, "TransactGetItems", TransactItems=gets).message == (
        "1 validation error detected: Value 'a b' at 'transactItems.2.member.get.tableName' failed to satisfy "
        "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )


def too_deep() -> dict[str, Any]:
    value: dict[str, Any] = {"S": "leaf"}
    for _ in range(32):
        value = {"L": [value]}
    return value


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        ({"Delete": {"ConditionExpression": ""}}, "Invalid ConditionExpression: The expression can not be empty;"),
        ({"Update": {"UpdateExpression": "DROP a"}}, 'Syntax error; token: "DROP", near: "DROP a"'),
        ({"ConditionCheck": {**CHECK, "ExpressionAttributeValues": values(v=1)}}, "unused in expressions: keys: {:v}"),
        ({"Delete": {"ExpressionAttributeNames": {"#n": "n"}}}, "nested levels beyond supported limit"),
        ({"ConditionCheck": CHECK}, "nested levels beyond supported limit"),
        ({"Delete": {}}, "nested levels beyond supported limit"),
    ],
)
def test_an_action_is_refused_for_its_expressions_before_its_key(
    shop: Ask, action: dict[str, Any], complaint: str
) -> None:
    ((kind, content),) = action.items()
    action = {kind: {**content, "Key": {**item(pk="a"), "sk": too_deep()}}}
    for actions in ([action], [action, put("2", ConditionExpression="later = = still")]):
        error = refusal(write, shop, *actions)
        assert error.code == "ValidationException"
        assert complaint in error.message


def test_a_token_makes_a_repeated_transaction_happen_once(shop: Ask) -> None:
    add = {
        "Update": {
            **key("counter"),
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": values(one=1),
        }
    }
    for _ in range(3):
        assert write(shop, add, ClientRequestToken="token") == {}
    assert shop("GetItem", **key("counter"))["Item"]["n"] == {"N": "1"}
    error = refusal(write, shop, put("other"), ClientRequestToken="token")
    assert error.code == "IdempotentParameterMismatchException"


def test_a_token_is_forgotten_after_ten_minutes(shop: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    count = {"TableName": "shop", "Key": item(pk="a", sk="1"), "UpdateExpression": "ADD n :one"}
    count["ExpressionAttributeValues"] = values(one=1)
    now = time.time()
    for later, counted in ((0, "1"), (599, "1"), (601, "2"), (1200, "2"), (1202, "3")):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        shop("TransactWriteItems", TransactItems=[{"Update": count}], ClientRequestToken="t")
        assert shop("GetItem", Key=item(pk="a", sk="1"))["Item"]["n"] == {"N": counted}


def test_a_failed_transaction_does_not_use_up_its_token(shop: Ask) -> None:
    check = {"ConditionCheck": {**key("gate"), "ConditionExpression": "attribute_exists(pk)"}}
    assert refusal(write, shop, put("new"), check, ClientRequestToken="token").code == ("TransactionCanceledException")
    shop("PutItem", Item=item(pk="a", sk="gate"))
    write(shop, put("new"), check, ClientRequestToken="token")
    assert stored(shop) == ["gate", "new"]


def test_a_transaction_reads_items_in_the_order_asked(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", n=1, m=2))
    gets = [
        {"Get": {"TableName": "shop", **key("absent")}},
        {"Get": {"TableName": "shop", **key("1"), "ProjectionExpression": "n"}},
    ]
    assert shop("TransactGetItems", TransactItems=gets) == {"Responses": [{}, {"Item": item(n=1)}]}


def test_a_wrong_key_in_a_transaction_is_its_reason(shop: Ask) -> None:
    error = refusal(
        shop,
        "TransactGetItems",
        TransactItems=[{"Get": {"TableName": "shop", "Key": item(pk="a")}}],
    )
    assert error.fields["CancellationReasons"] == [
        {"Code": "ValidationError", "Message": "The provided key element does not match the schema"}
    ]


@pytest.mark.parametrize("operation", ["TransactWriteItems", "TransactGetItems"])
def test_missing_table_is_not_found(shop: Ask, operation: str) -> None:
    content = {"TableName": "nowhere", "Key": item(pk="a", sk="1")}
    kind = "Delete" if operation == "TransactWriteItems" else "Get"
    assert refusal(shop, operation, TransactItems=[{kind: content}]).code == "ResourceNotFoundException"


def test_only_first_invalid_action_has_a_reason(shop: Ask) -> None:
    put = {"Put": {"TableName": "shop", "Item": item(pk="a", sk=7)}}
    right = {"Put": {"TableName": "shop", "Item": item(pk="a", sk="1"), "ConditionExpression": "attribute_exists(pk)"}}
    error = refusal(shop, "TransactWriteItems", TransactItems=[right, put, put])
    codes = [reason["Code"] for reason in error.fields["CancellationReasons"]]
    assert codes == ["None", "ValidationError", "None"]


EMPTY = "One or more parameter values are not valid. "


@pytest.mark.parametrize(
    "action",
    [
        {"Put": {"Item": item(pk="", sk="1")}},
        {"Delete": {"Key": item(pk="", sk="1")}},
        {"ConditionCheck": {"Key": item(pk="", sk="1"), "ConditionExpression": "attribute_exists(pk)"}},
        {
            "Update": {
                "Key": item(pk="", sk="1"),
                "UpdateExpression": "SET n = :n",
                "ExpressionAttributeValues": values(n=1),
            }
        },
    ],
)
def test_empty_key_refuses_whole_transaction(shop: Ask, action: dict[str, Any]) -> None:
    (kind, members), right = next(iter(action.items())), {"Put": {"TableName": "shop", "Item": item(pk="a", sk="1")}}
    error = refusal(shop, "TransactWriteItems", TransactItems=[right, {kind: {"TableName": "shop", **members}}])
    assert (error.code, error.message) == (
        "ValidationException",
        EMPTY + "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk",
    )
    assert shop("Scan")["Count"] == 0


def test_an_empty_index_key_refuses_a_transaction(shop: Ask) -> None:
    put = {"Put": {"TableName": "shop", "Item": item(pk="a", sk="1", city="")}}
    error = refusal(shop, "TransactWriteItems", TransactItems=[put])
    assert (error.code, error.message) == (
        "ValidationException",
        EMPTY + "A value specified for a secondary index key is not supported. The AttributeValue for a key attribute "
        "cannot contain an empty string value. IndexName: by-city, IndexKey: city",
    )


def test_token_ignores_attribute_order(shop: Ask) -> None:
    for attributes in (item(pk="a", sk="1", n=1), item(n=1, sk="1", pk="a")):
        put = {"Put": {"TableName": "shop", "Item": attributes}}
        assert shop("TransactWriteItems", TransactItems=[put], ClientRequestToken="once") == {}


def test_names_and_values_without_an_expression_are_ignored(shop: Ask) -> None:
    """Unlike in PutItem and GetItem, AWS accepts them in a transaction."""
    names = {"ExpressionAttributeNames": {"#n": "n"}}
    write(shop, put("1", **names, ExpressionAttributeValues=values(v=1)))
    get = {"TableName": "shop", "Key": item(pk="a", sk="1"), **names}
    (answer,) = shop("TransactGetItems", TransactItems=[{"Get": get}])["Responses"]
    assert answer["Item"]["pk"] == item(pk="a")["pk"]
