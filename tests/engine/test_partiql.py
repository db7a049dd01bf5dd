"""PartiQL: ExecuteStatement, BatchExecuteStatement and ExecuteTransaction."""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import product
from typing import Any

import pytest

from .conftest import Ask, item, key_schema, refusal, value

KEY = item(pk="a", sk="1")
EXISTS = "EXISTS can only be used in ExecuteTransaction write requests."
MALFORMED = "Statement wasn't well formed, can't be processed: "


@pytest.fixture
def run(shop: Ask) -> Ask:
    """Execute a statement with parameters; the items of the response."""

    def execute(statement: str, *parameters: Any, **members: Any) -> Any:
        if parameters:
            members["Parameters"] = list(map(value, parameters))
        return shop("ExecuteStatement", Statement=statement, **members)["Items"]

    return execute


@pytest.fixture
def filled(run: Ask) -> Ask:
    for number in range(4):
        run("INSERT INTO shop VALUE {'pk': 'a', 'sk': ?, 'n': ?}", str(number), number)
    run("INSERT INTO \"shop\" VALUE {'pk': 'b', 'sk': '0', 'n': 9, 'city': 'Köln', 'm': {'x': [1, 'it''s']}}")
    return run


def test_an_inserted_item_has_the_types_of_its_literals(run: Ask, shop: Ask) -> None:
    text = (
        "{'pk': 'a', 'sk': '1', 'n': -1.50, 'l': [true, null, {'x': .5}], 's': <<'b', 'a'>>, 'ns': <<1, 2>>, 'e': ''}"
    )
    assert run(f"INSERT INTO shop VALUE {text}") == []
    assert shop("GetItem", Key=KEY)["Item"] == {
        **KEY,
        "n": {"N": "-1.5"},
        "l": {"L": [{"BOOL": True}, {"NULL": True}, {"M": {"x": {"N": "0.5"}}}]},
        "s": {"SS": ["a", "b"]},
        "ns": {"NS": ["1", "2"]},
        "e": {"S": ""},
    }
    error = refusal(run, "INSERT INTO shop VALUE {'pk': 'a', 'sk': '1'}")
    assert (error.code, error.message) == ("DuplicateItemException", "Duplicate primary key exists in table")


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("pk = 'a'", "0123"),
        ("pk = 'a' AND sk = '2'", "2"),
        ("sk >= '2' AND 'a' = pk", "23"),
        ("pk = 'a' AND sk BETWEEN '1' AND '2'", "12"),
        ("pk = 'a' AND begins_with(sk, '3')", "3"),
        ("pk = 'a' AND n > 1", "23"),
        ("pk = 'a' AND (sk = '1' OR n = 3)", "13"),
        ("pk = 'a' AND NOT n = 1 AND sk <> '0'", "23"),
        ("pk = 'a' AND n IN [0, 3]", "03"),
        ("pk = 'a' AND n NOT BETWEEN 1 AND 3", "0"),
        ("pk = 'a' AND city IS MISSING", "0123"),
        ("pk = 'a' AND city IS NOT MISSING", ""),
        ("pk = 'a' AND n IS NULL", ""),
        ("pk = 'a' AND n IS NOT NULL AND size(sk) = 1", "0123"),
        ("pk = 'a' ORDER BY sk DESC", "3210"),
        ("pk = 'a' ORDER BY pk ASC, sk ASC", "0123"),
    ],
)
def test_a_select_finds_what_its_condition_says(filled: Ask, where: str, found: str) -> None:
    items = filled(f"SELECT sk FROM shop WHERE {where}")
    assert [each["sk"]["S"] for each in items] == list(found)


def test_a_select_without_the_partition_reads_the_whole_table(filled: Ask) -> None:
    assert {each["pk"]["S"] for each in filled("SELECT * FROM shop")} == {"a", "b"}
    assert filled("SELECT n FROM shop WHERE contains(city, 'öl')") == [item(n=9)]
    assert len(filled("SELECT n FROM shop WHERE pk IN ('a', 'b')")) == 5


def test_columns_are_named_after_the_end_of_their_path(filled: Ask) -> None:
    (found,) = filled("SELECT \"m\".x[1], m['x'], n FROM shop WHERE pk = ? AND sk = ?", "b", "0")
    assert found == {"x[1]": value("it's"), "x": {"L": [value(1), value("it's")]}, "n": value(9)}


def test_an_index_is_read_by_its_name(filled: Ask) -> None:
    error = refusal(filled, 'SELECT pk, n FROM "shop"."by-city" WHERE city = \'Köln\'')
    assert error.message == (
        "One or more parameter values were invalid: Global secondary index by-city does not project [n]"
    )
    assert filled('SELECT pk FROM "shop"."by-city" WHERE city = ?', "Köln") == [item(pk="b")]
    assert refusal(filled, 'SELECT * FROM shop."none"').message == "The table does not have the specified index"


def test_several_partitions_are_read_one_after_the_other(ask: Ask) -> None:
    keys = {"p": "N", "s": "S"}
    ask(
        "CreateTable",
        TableName="numbers",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in keys.items()],
        KeySchema=key_schema("p", sort=("s",)),
    )
    for number in (3, 20, 1, 7):
        for letter in "ba":
            ask("PutItem", TableName="numbers", Item=item(p=number, s=letter))

    def found(condition: str, **members: Any) -> tuple[str, Any]:
        answer = ask("ExecuteStatement", Statement=f"SELECT * FROM numbers WHERE {condition}", **members)
        return " ".join(each["p"]["N"] + each["s"]["S"] for each in answer["Items"]), answer.get("NextToken")

    for condition, expected in {
        "p IN [20, 3, 1, 99]": "1a 1b 3a 3b 20a 20b",
        "p IN [20, 3, 1] ORDER BY p DESC": "20a 20b 3a 3b 1a 1b",
        "p IN [20, 3, 3.0] ORDER BY s DESC": "3b 3a 20b 20a",
        "p IN [20, 3] ORDER BY p DESC, s DESC": "20b 20a 3b 3a",
        "(p = 20 OR 3 = p) AND s = 'a'": "3a 20a",
        "p IN [20, 3] AND s IN ['b'] ORDER BY p": "3b 20b",
        "(p = 3 OR s = 'a') AND p IN [7, 3]": "3a 3b 7a",
        f"p IN {list(range(51))} AND s = 'a' AND p > 3": "7a 20a",
    }.items():
        assert found(condition)[0] == expected, condition
    pages, token = [], None
    while token is not None or not pages:
        text, token = found("p IN [20, 3, 1] ORDER BY p", Limit=4, **({"NextToken": token} if token else {}))
        pages.append(text)
    assert pages == ["1a 1b 3a 3b", "20a 20b"]
    token = found("p IN [20, 3]", Limit=1)[1]
    assert refusal(found, "p IN [1, 7]", NextToken=token).message == "Invalid NextToken"
    assert "ORDER BY clause" in refusal(found, f"p IN {list(range(51))} ORDER BY p").message
    answer = ask(
        "ExecuteStatement", Statement="SELECT * FROM numbers WHERE p IN [3, 7]", ReturnConsumedCapacity="TOTAL"
    )
    assert answer["ConsumedCapacity"]["CapacityUnits"] == 1.0


def test_pages_continue_at_their_token(filled: Ask, shop: Ask) -> None:
    statement, token, found = "SELECT sk FROM shop WHERE pk = 'a' ORDER BY sk DESC", None, []
    for _ in range(3):
        members = {"NextToken": token} if token else {}
        answer = shop("ExecuteStatement", Statement=statement, Limit=2, **members)
        found.append([each["sk"]["S"] for each in answer["Items"]])
        token = answer.get("NextToken")
    assert found == [["3", "2"], ["1", "0"], []]
    assert token is None


OTHER_POSITIONS = [*({**item(sk="1"), "pk": {kind: content}} for kind, content in (("B", 5), ("S", None), ("M", {})))]
OTHER_POSITIONS += [item(pk=partition, sk="1") for partition in "bcdefgh"]


@pytest.mark.parametrize("token", ["x", "e30=", *(b64encode(json.dumps(each).encode()) for each in OTHER_POSITIONS)])
def test_token_of_another_place_is_refused(filled: Ask, shop: Ask, token: str | bytes) -> None:
    given = token if isinstance(token, str) else token.decode()
    statement = "SELECT sk FROM shop WHERE pk = 'a'"
    assert refusal(shop, "ExecuteStatement", Statement=statement, NextToken=given).message == "Invalid NextToken"


def test_an_update_changes_an_existing_item(filled: Ask) -> None:
    where = "WHERE pk = 'a' AND sk = '1'"
    assert filled(f"UPDATE shop SET n = n + 10 SET l = [1], s = <<'a'>> {where} RETURNING ALL NEW *") == [
        {**KEY, "n": value(11), "l": {"L": [value(1)]}, "s": {"SS": ["a"]}}
    ]
    statement = f"UPDATE shop SET l = list_append(l, [?]), s = set_add(s, <<'b'>>) {where} RETURNING MODIFIED NEW *"
    assert filled(statement, 2) == [{"l": {"L": [value(1), value(2)]}, "s": {"SS": ["a", "b"]}}]
    assert filled(f"UPDATE shop SET s = set_delete(s, <<'a'>>) REMOVE l[0] {where} RETURNING MODIFIED OLD *") == [
        {"s": {"SS": ["a", "b"]}, "l": {"L": [value(1)]}}
    ]
    assert filled(f"UPDATE shop SET x = if_not_exists(x, 'new') {where} AND n = 11") == []
    assert refusal(filled, f"UPDATE shop SET n = 0 {where} AND n = 1").code == "ConditionalCheckFailedException"
    assert refusal(filled, "UPDATE shop SET n = 0 WHERE pk = 'no' AND sk = '1'").code == (
        "ConditionalCheckFailedException"
    )


def test_a_delete_needs_a_key_and_may_have_a_condition(filled: Ask) -> None:
    assert filled("DELETE FROM shop WHERE pk = 'no' AND sk = '1'") == []
    assert refusal(filled, "DELETE FROM shop WHERE pk = 'a' AND sk = '1' AND n = 5").code == (
        "ConditionalCheckFailedException"
    )
    assert filled("DELETE FROM shop WHERE pk = 'a' AND sk = '1' RETURNING ALL OLD *") == [{**KEY, "n": value(1)}]
    assert filled("SELECT * FROM shop WHERE pk = 'a' AND sk = '1'") == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT", MALFORMED + "SELECT"),
        ("SELECT * FROM", MALFORMED + "SELECT * FROM"),
        ("SELECT * FROM shop WHERE", MALFORMED + "SELECT * FROM shop WHERE"),
        ("SELECT * FROM shop WHERE pk = 'a' 'b'", MALFORMED + "SELECT * FROM shop WHERE pk = 'a' 'b'"),
        ("SELECT * FROM shop WHERE pk = 'a", MALFORMED + "SELECT * FROM shop WHERE pk = 'a"),
        ("SELECT COUNT(*) FROM shop", "Unexpected path component at 1:8:5"),
        ("DROP TABLE shop", "Unsupported operation: DropTable"),
        ("SELECT * FROM shop WHERE pk = ?", "Number of parameters in request and statement don't match."),
        ("INSERT INTO shop VALUE 1", "Unsupported format in item expression. Please use struct format {...} to express "
         "item values for insert statement. at 1:24:1"),
        ("UPDATE shop SET n = 1 WHERE pk = 'a'", "Where clause does not contain a mandatory equality on all key attributes"),
        ("DELETE FROM shop", "Where clause does not contain a mandatory equality on all key attributes"),
        ("UPDATE shop SET pk = 'b' WHERE pk = 'a' AND sk = '1'", "One or more parameter values were invalid: Cannot update "
         "attribute pk. This attribute is part of the key"),
        ("SELECT * FROM shop WHERE n = 1 ORDER BY sk", "Must have at least one non-optional hash key condition in WHERE "
         "clause when using ORDER BY clause."),
        ("SELECT * FROM shop WHERE pk = 'a' ORDER BY n", "Variable reference n in ORDER BY clause must be part of the "
         "primary key"),
        ("SELECT * FROM shop WHERE pk = 1", "One or more parameter values were invalid: Condition parameter type does not "
         "match schema type"),
        ("UPDATE shop SET s = set_add(s, 1) WHERE pk = 'a' AND sk = '1'", "set_add takes a set, as <<'a', 'b'>>"),
        ("EXISTS(SELECT * FROM shop WHERE pk = 'a')", EXISTS),
    ],
)  # fmt: skip
def test_invalid_statements_are_refused(filled: Ask, statement: str, message: str) -> None:
    error = refusal(filled, statement)
    assert (error.code, error.message) == ("ValidationException", message)


def test_deep_and_long_statements_are_refused(run: Ask) -> None:
    for deep in ("(" * 2000 + "a = 1" + ")" * 2000, "a = " + "[" * 2000 + "]" * 2000):
        assert "nested too deeply" in refusal(run, f"SELECT * FROM shop WHERE {deep}").message
    assert "less than or equal to 8192" in refusal(run, "SELECT * FROM shop WHERE a = 1" + " " * 9000).message
    assert refusal(run, "SELECT * FROM none").code == "ResourceNotFoundException"


def test_clauses_that_dynamodb_does_not_have_are_named(filled: Ask) -> None:
    one = "Only select from a single table or index is supported."
    index = "This operation is not supported on an index"
    for statement, message in {
        "SELECT n AS m FROM shop": "Aliasing is not supported",
        "SELECT n m FROM shop": "Aliasing is not supported",
        "SELECT * FROM shop s WHERE s.pk = 'a'": "Aliasing is not supported",
        "SELECT n, FROM shop": MALFORMED + "SELECT n, FROM shop",
        "SELECT DISTINCT n FROM shop": "Unsupported token in expression: DISTINCT",
        "SELECT pk,\n n+1 FROM shop": "Unexpected path component at 2:3:1",
        "SELECT 'n' FROM shop": "Unexpected path component at 1:8:3",
        "SELECT ? FROM shop": "Unexpected path component at 1:8:1",
        "SELECT * FROM shop, shop": one,
        "SELECT * FROM shop JOIN shop ON true": one,
        "SELECT * FROM shop.gsi1.x": "A path may contain at most 2 components in the FROM clause",
        "SELECT * FROM shop ORDER BY pk": "Must have WHERE clause in the statement when using ORDER BY clause.",
        "SELECT * FROM shop WHERE pk = 'a' LIMIT 1": "Unsupported clause: LIMIT at 1:41:1",
        "SELECT * FROM shop GROUP BY n": "Unsupported clause: GROUP BY",
        "SELECT * FROM shop WHERE pk LIKE 'a%'": "Unsupported operator in Condition Expression. Operator: like",
        "SELECT * FROM shop WHERE n + 1 = 2": "Unsupported operator in Condition Expression. Operator: +",
        "UPDATE shop.gsi1 SET n = 1 WHERE g1pk = 'a'": index,
        "DELETE FROM shop.gsi1 WHERE g1pk = 'a'": index,
        "INSERT INTO shop.gsi1 VALUE {'pk': 'a'}": (
            "FROM clause may only contain a single table name in data manipulation statements"
        ),
        "INSERT INTO shop VALUE {'pk': 'a', 'pk': 'b'}": "Duplicate keys in tuple. Key: pk under root at 1:36:4",
        "INSERT INTO shop VALUE {'x': <<>>}": "Empty bags are not supported at 1:30:2",
        "INSERT INTO shop VALUE {'x': <<1, 'a'>>}": (
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
        ),
        "INSERT INTO shop VALUE {'pk': 'a'} RETURNING ALL OLD *": "RETURNING is not supported in INSERT",
        "DELETE FROM shop WHERE pk = 'a' AND sk = '1' RETURNING MODIFIED NEW *": (
            "Invalid returning clause: RETURNING MODIFIED NEW *. "
            "Only RETURNING ALL OLD * is allowed in DELETE statements."
        ),
    }.items():
        assert refusal(filled, statement).message == message


def test_comments_and_parentheses_around_columns_are_allowed(filled: Ask) -> None:
    assert filled("SELECT /* a 'b' * */ ((n)) -- the number\nFROM shop WHERE pk = 'a' AND sk = '1'") == [item(n=1)]
    assert refusal(filled, "SELECT n FROM shop /* open").message == MALFORMED + "SELECT n FROM shop /* open"


def test_a_batch_answers_each_statement(filled: Ask, shop: Ask) -> None:
    texts = [
        "SELECT n FROM shop WHERE pk = 'a' AND sk = '1'",
        "SELECT n FROM shop WHERE pk = 'no' AND sk = '1'",
        "SELECT * FROM none WHERE pk = 'a'",
        "SELECT * FROM shop WHERE pk = 'a'",
        "SELECT",
    ]
    responses = shop("BatchExecuteStatement", Statements=[{"Statement": text} for text in texts])["Responses"]
    assert responses[:2] == [{"TableName": "shop", "Item": item(n=1)}, {"TableName": "shop"}]
    assert [answer["Error"]["Code"] for answer in responses[2:]] == [
        "ResourceNotFound",
        "ValidationError",
        "ValidationError",
    ]
    writes = [
        {"Statement": "INSERT INTO shop VALUE {'pk': 'a', 'sk': '0'}"},
        {"Statement": "UPDATE shop SET n = ? WHERE pk = 'a' AND sk = '1'", "Parameters": [value(7)]},
        {
            "Statement": "DELETE FROM shop WHERE pk = 'a' AND sk = '2' AND n = 0",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
    ]
    duplicate, updated, failed = shop("BatchExecuteStatement", Statements=writes)["Responses"]
    assert duplicate["Error"]["Code"] == "DuplicateItem"
    assert updated == {"TableName": "shop"}
    assert failed["Error"]["Item"] == item(pk="a", sk="2", n=2)
    assert filled("SELECT n FROM shop WHERE pk = 'a' AND sk = '1'") == [item(n=7)]
    mixed = [{"Statement": texts[0]}, writes[0]]
    assert refusal(shop, "BatchExecuteStatement", Statements=mixed).message == (
        "Read and write requests together in the same batch is not supported."
    )
    assert "greater than or equal to 1" in refusal(shop, "BatchExecuteStatement", Statements=[]).message
    for twice in (
        [{"Statement": texts[0]}] * 2,
        [writes[1], {"Statement": "DELETE FROM shop WHERE sk = '1' AND pk = 'a'"}],
    ):
        error = refusal(shop, "BatchExecuteStatement", Statements=twice)
        assert error.message == "Provided list of item keys contains duplicates"
    exists = [{"Statement": "EXISTS(SELECT * FROM shop WHERE pk = 'a' AND sk = '1')"}]
    (answer,) = shop("BatchExecuteStatement", Statements=exists)["Responses"]
    assert answer["Error"]["Message"] == EXISTS


def test_a_transaction_happens_as_a_whole_and_once(filled: Ask, shop: Ask) -> None:
    def transact(*texts: str, **members: Any) -> Any:
        return shop("ExecuteTransaction", TransactStatements=[{"Statement": text} for text in texts], **members)

    insert = "INSERT INTO shop VALUE {'pk': 'new', 'sk': '1'}"
    error = refusal(transact, insert, "UPDATE shop SET n = 0 WHERE pk = 'a' AND sk = '1' AND n = 99")
    assert [reason["Code"] for reason in error.fields["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]
    assert filled("SELECT * FROM shop WHERE pk = 'new'") == []
    exists = "EXISTS(SELECT * FROM shop WHERE pk = 'a' AND sk = '1' AND n = 1)"
    for _ in range(2):
        assert transact(exists, insert, ClientRequestToken="once") == {"Responses": []}
    error = refusal(transact, exists, insert)
    assert [reason["Code"] for reason in error.fields["CancellationReasons"]] == ["None", "DuplicateItem"]
    reads = "SELECT n FROM shop WHERE pk = 'a' AND sk = '1'", "SELECT * FROM shop WHERE pk = 'no' AND sk = '1'"
    assert transact(*reads) == {"Responses": [{"Item": item(n=1)}, {}]}
    update = "UPDATE shop SET n = 5 WHERE pk = 'a' AND sk = '1'"
    for twice in ((update, update), (reads[0], reads[0])):
        error = refusal(transact, *twice)
        assert error.message == "Transaction request cannot include multiple operations on one item"
    assert refusal(transact, reads[0], update).message == (
        "ExecuteTransaction API does not support both read and write operations in the same request."
    )


def test_statements_that_do_not_fit_a_transaction_are_refused_or_cancel_it(filled: Ask, shop: Ask) -> None:
    def transact(statement: str) -> Any:
        first = "SELECT * FROM shop WHERE pk = 'a' AND sk = '0'"
        if not statement.startswith("SELECT"):
            first = "UPDATE shop SET n = 1 WHERE pk = 'a' AND sk = '0'"
        return shop("ExecuteTransaction", TransactStatements=[{"Statement": first}, {"Statement": statement}])

    only = "EXISTS() must contain a single item read with additional condition"
    for statement, message in {
        "SELECT * FROM shop WHERE pk = 'a'": (
            "Select statements within ExecuteTransaction must specify the primary key in the where clause."
        ),
        "SELECT * FROM shop.gsi1 WHERE g1pk = 'a'": "Reads on indices are not supported within transactions.",
        "DELETE FROM shop WHERE pk = 'a' AND sk = '1' RETURNING ALL OLD *": (
            "RETURNING clause is not supported in ExecuteTransaction."
        ),
        "EXISTS(SELECT * FROM shop WHERE pk = 'a' AND n = 1)": only,
        "EXISTS(SELECT * FROM shop WHERE pk = 'a' AND sk = '1')": only,
    }.items():
        assert refusal(transact, statement).message == f"Validation failed in TransactStatements[1]: {message}"
    for statement in (
        "UPDATE shop SET n = 1 WHERE pk = 'a'",
        "INSERT INTO shop VALUE {'pk': 'a'}",
        "INSERT INTO shop VALUE {'pk': 'a', 'sk': 1}",
    ):
        reasons = refusal(transact, statement).fields["CancellationReasons"]
        assert [reason["Code"] for reason in reasons] == ["None", "ValidationError"]


def test_consumed_capacity_is_that_of_the_same_request(filled: Ask, shop: Ask) -> None:
    def units(statement: str) -> float:
        answer = shop("ExecuteStatement", Statement=statement, ReturnConsumedCapacity="TOTAL")
        return float(answer["ConsumedCapacity"]["CapacityUnits"])

    assert units("SELECT * FROM shop WHERE pk = 'a'") == 0.5
    assert units("UPDATE shop SET n = 2 WHERE pk = 'a' AND sk = '1'") == 1.0


KEY_VALUES: list[Any] = [
    {"S": "a"},
    {"S": ""},
    {"N": "1"},
    {"B": "eA=="},
    {"BOOL": True},
    {"NULL": True},
    {"L": []},
    {"M": {}},
    {"SS": ["a"]},
    {"NS": ["1"]},
]


@pytest.mark.parametrize("condition", ["pk = ?", "? = pk", "pk IN (?, ?)", "pk = ? OR pk = ?", "pk = ? AND sk = ?"])
def test_values_of_keys_are_of_the_type_of_the_key(filled: Ask, condition: str) -> None:
    for parameters in product(KEY_VALUES, repeat=condition.count("?")):
        if all(parameter == {"S": "a"} for parameter in parameters):
            filled(f"SELECT * FROM shop WHERE {condition}", *parameters)
        else:
            error = refusal(filled, f"SELECT * FROM shop WHERE {condition}", *parameters)
            assert error.code == "ValidationException", parameters
