"""`prejoin audit` and `prejoin policy`: the schema of an application by name, and its table in any place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prejoin.engine import Embedded
from prejoin.engine.http import Server
from tests.cli.conftest import Prejoin

APP = """
from dataclasses import dataclass

from prejoin import Copy, Unique
from prejoin import Entity, Key, Schema


@dataclass
class User:
    tenant_id: str
    user_id: str
    email: str


schema = Schema(
    Entity(User, Key("T#{tenant_id}#USER#{user_id}", "PROFILE"), patterns=[Unique("email")]),
    tenant="tenant_id",
)
number = 7
"""

GUARD = "UNIQUE#User#tenant_id+email#acme#a@b.com"


@pytest.fixture
def app(here: Path) -> Iterator[Any]:
    """The module `shopapp` in the current folder, and its table with one user in shop.db."""
    (here / "shopapp.py").write_text(APP, encoding="utf-8")
    (here / "broken.py").write_text("import nowhere_to_be_found", encoding="utf-8")
    sys.path.insert(0, str(here))
    try:
        import shopapp
    finally:
        sys.path.remove(str(here))
    from prejoin import Client

    with Client(shopapp.schema, "shop", Embedded(here / "shop.db")) as db:
        db.create_table()
        db.insert(shopapp.User("acme", "1", "a@b.com"))
        db.insert(shopapp.User("acme", "2", "b@b.com"))
    yield shopapp
    for name in ("shopapp", "broken"):
        sys.modules.pop(name, None)


def damage(here: Path) -> None:
    """Deletes a guard, and adds an item of no entity."""
    with Embedded(here / "shop.db") as engine:
        for operation, body in (
            ("DeleteItem", {"Key": {"pk": {"S": GUARD}, "sk": {"S": "UNIQUE"}}}),
            ("PutItem", {"Item": {"pk": {"S": "X\x1b[31m"}, "sk": {"S": "Y"}}}),
        ):
            engine.send(operation, msgspec.json.encode({"TableName": "shop", **body}))


def test_correct_table_has_no_findings(app: Any, prejoin: Prejoin) -> None:
    ran = prejoin("audit", "shopapp:schema", "--table", "shop", "--db", "shop.db")
    assert (ran.status, ran.out) == (0, "")
    assert ran.err == "shop: 4 items read, all match the schema\n"


def test_errors_are_on_standard_output_with_status_1(app: Any, here: Path, prejoin: Prejoin) -> None:
    damage(here)
    ran = prejoin("audit", "shopapp:schema", "--table", "shop", "--db", "shop.db")
    assert ran.status == 1
    assert sorted(ran.out.splitlines()) == [
        f"missing: User unique tenant_id, email {GUARD} / UNIQUE: write it",
        "unknown:  X�[31m / Y: it is of no entity of the schema: add the entity, or delete the item",
    ]
    assert "1 missing" in ran.err
    assert "`--repair` repairs what it can" in ran.err


def test_json_finding_has_key_and_values(app: Any, here: Path, prejoin: Prejoin) -> None:
    damage(here)
    ran = prejoin("audit", "shopapp:schema", "--table", "shop", "--db", "shop.db", "--format", "json")
    assert ran.status == ran.json["exit"] == 1
    result = ran.json["result"]
    assert (result["table"], result["items"]) == ("shop", 4)
    (missing,) = [finding for finding in result["findings"] if finding["kind"] == "missing"]
    assert missing["key"] == {"pk": {"S": GUARD}, "sk": {"S": "UNIQUE"}}
    assert missing["found"] is None
    assert missing["expected"]["pk"] == {"S": GUARD}
    assert (missing["mendable"], missing["mended"]) == (True, False)


def test_damaged_file_is_reported_first(app: Any, here: Path, prejoin: Prejoin) -> None:
    file = here / "shop.db"
    content = file.read_bytes()
    assert b'"b@b.com"' in content
    file.write_bytes(content.replace(b'"b@b.com"', b'"b@b.con"'))
    ran = prejoin("audit", "shopapp:schema", "--table", "shop", "--db", "shop.db")
    assert ran.status == 1
    assert 'file: table shop: the item {"pk":{"S":"T#acme#USER#2"},"sk":{"S":"PROFILE"}} is damaged' in ran.out
    assert "shop.db is damaged in" in ran.err
    ran = prejoin("audit", "shopapp:schema", "--table", "shop", "--db", "shop.db", "--format", "json")
    assert ran.status == 1
    assert len(ran.json["result"]["damage"]) >= 1


def test_repair_asks_first_and_without_a_yes_changes_nothing(app: Any, here: Path, prejoin: Prejoin) -> None:
    damage(here)
    call = ("audit", "shopapp:schema", "--table", "shop", "--db", "shop.db", "--repair")
    for answer in (b"", b"n\n"):
        ran = prejoin(*call, stdin=answer)
        assert ran.status == 4
        assert "Repair 1 missing in shop?" in ran.err
        assert "PJ022" in ran.err
    ran = prejoin(*call, stdin=b"y\n")
    assert ran.status == 1  # the unknown item remains
    assert "1 repaired, 1 left" in ran.err
    assert prejoin("audit", "shopapp:schema", "--table", "shop", "--db", "shop.db").out.startswith("unknown")


def test_with_yes_it_does_not_ask(app: Any, here: Path, prejoin: Prejoin) -> None:
    with Embedded(here / "shop.db") as engine:
        key = {"pk": {"S": "T#acme#USER#2"}, "sk": {"S": "PROFILE"}}
        engine.send("DeleteItem", msgspec.json.encode({"TableName": "shop", "Key": key}))
    ran = prejoin("audit", "shopapp:schema", "--table", "shop", "--db", "shop.db", "--repair", "--yes", "--format=json")
    assert ran.status == 0
    assert [(one["kind"], one["mended"]) for one in ran.json["result"]["findings"]] == [("orphaned", True)]
    assert prejoin("audit", "shopapp:schema", "--table", "shop", "--db", "shop.db", "--segments", 3).status == 0


def test_a_table_on_a_server_is_reached_by_its_address(app: Any, here: Path, prejoin: Prejoin) -> None:
    with Embedded(here / "shop.db") as engine, Server(engine, port=0) as url:
        ran = prejoin("audit", "shopapp:schema", "--table", "shop", "--endpoint", url)
    assert (ran.status, ran.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "status", "code", "message"),
    [
        (("shopapp:schema",), 2, "PJ001", "--table"),
        (("shopapp", "--table", "shop"), 2, "PJ001", "write `module:name`"),
        (("nowhere:schema", "--table", "shop"), 1, "PJ020", "nowhere cannot be imported: ModuleNotFoundError"),
        (("broken:schema", "--table", "shop"), 1, "PJ020", "nowhere_to_be_found"),
        (("shopapp:number", "--table", "shop"), 1, "PJ020", "number in shopapp is a int, not a Schema"),
        (("shopapp:none", "--table", "shop"), 1, "PJ020", "none in shopapp does not exist"),
        (("shopapp:schema", "--table", "other", "--db", "shop.db"), 1, "PJ021", "there is no table `other` in shop.db"),
        (("shopapp:schema", "--table", "shop", "--db", "no.db"), 2, "PJ001", "no.db"),
        (("shopapp:schema", "--table", "shop", "--db", "shopapp.py"), 1, "PJ021", "database"),
        (("shopapp:schema", "--table", "shop", "--db", "shop.db", "--endpoint", "x"), 2, "PJ001", "one place"),
        (("shopapp:schema", "--table", "shop", "--endpoint", "http://127.0.0.1:9"), 1, "PJ021", "127.0.0.1"),
        (("shopapp:schema", "--table", "shop", "--endpoint", "::"), 1, "PJ021", "the endpoint"),
    ],
)
def test_failure_to_connect_is_reported(
    app: Any, prejoin: Prejoin, arguments: tuple[str, ...], status: int, code: str, message: str
) -> None:
    ran = prejoin("audit", *arguments)
    assert ran.status == status
    assert code in ran.err
    assert message in ran.err


ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"


def test_a_policy_is_printed_as_json_that_aws_takes(app: Any, prejoin: Prejoin) -> None:
    ran = prejoin("policy", "shopapp:schema", "--table-arn", ARN, "--tenant", "acme")
    assert ran.status == 0
    condition = ran.json["Statement"][0]["Condition"]["ForAllValues:StringLike"]
    assert condition == {"dynamodb:LeadingKeys": ["T#acme#*", "UNIQUE#User#tenant_id+email#acme#*"]}
    by_tag = prejoin("policy", "shopapp:schema", "--table-arn", ARN, "--tag", "team", "--format=json")
    assert "T#${aws:PrincipalTag/team}#*" in by_tag.out
    assert by_tag.json["result"]["Version"] == "2012-10-17"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "`--tenant` or `--tag`"),
        (("--tenant", "a", "--tag", "b"), 2, "`--tenant` or `--tag`"),
        (("--tenant", ""), 1, "a tenant has a name"),
    ],
)
def test_a_policy_is_for_one_tenant_or_by_tag(
    app: Any, prejoin: Prejoin, arguments: tuple[str, ...], status: int, message: str
) -> None:
    ran = prejoin("policy", "shopapp:schema", "--table-arn", ARN, *arguments)
    assert ran.status == status
    assert message in ran.err


def test_a_policy_needs_the_arn_of_a_table(app: Any, prejoin: Prejoin) -> None:
    ran = prejoin("policy", "shopapp:schema", "--table-arn", "shop", "--tenant", "a")
    assert ran.status == 1
    assert "not the ARN of one table" in ran.err


KEYED = """
from dataclasses import dataclass

from prejoin import Entity, Index, Key, Schema


@dataclass
class User:
    user_id: str
    city: str


def by(template):
    return Schema(
        Entity(User, Key("USER#{user_id}", "PROFILE"), indexes={"gsi1": Key(template, "USER#{user_id}")}),
        indexes=[Index("gsi1")],
    )


old, new = by("CITY#{city}"), by("TOWN#{city}")
"""


@pytest.fixture
def keyed(here: Path) -> Iterator[Any]:
    """The module `keyedapp` with two designs of an index, and a table of the first one."""
    from prejoin import Client

    (here / "keyedapp.py").write_text(KEYED, encoding="utf-8")
    sys.path.insert(0, str(here))
    try:
        import keyedapp  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(here))
    with Client(keyedapp.old, "shop", Embedded(here / "shop.db")) as db:
        db.create_table()
        for number in range(8):
            db.insert(keyedapp.User(f"{number}", "Bern"))
    yield keyedapp
    sys.modules.pop("keyedapp", None)


def keys_of(here: Path, schema: Any) -> set[str]:
    from prejoin import Client

    with Client(schema, "shop", Embedded(here / "shop.db")) as db:
        return {item["gsi1pk"]["S"] for item in db.call("Scan")["Items"] if "gsi1pk" in item}


def test_items_of_another_design_are_not_repaired(keyed: Any, here: Path, prejoin: Prejoin) -> None:
    ran = prejoin("audit", "keyedapp:new", "--table", "shop", "--db", "shop.db", "--repair", "--yes")
    assert (ran.status, "PJ777" in ran.err) == (4, True)
    assert "User in gsi1, 8 of 8 items" in ran.err
    assert keys_of(here, keyed.old) == {"CITY#Bern"}


def test_a_few_wrong_keys_are_repaired(keyed: Any, here: Path, prejoin: Prejoin) -> None:
    with Embedded(here / "shop.db") as engine:
        update = {
            "TableName": "shop",
            "Key": {"pk": {"S": "USER#1"}, "sk": {"S": "PROFILE"}},
            "UpdateExpression": "SET gsi1pk = :key",
            "ExpressionAttributeValues": {":key": {"S": "TOWN#Bern"}},
        }
        engine.send("UpdateItem", msgspec.json.encode(update))
    ran = prejoin("audit", "keyedapp:old", "--table", "shop", "--db", "shop.db", "--repair", "--yes")
    assert ran.status == 0, ran.err
    assert keys_of(here, keyed.old) == {"CITY#Bern"}


def test_a_table_in_a_change_is_not_repaired(keyed: Any, here: Path, prejoin: Prejoin) -> None:
    from prejoin import Client
    from prejoin.migrate.evolve.record import ChangeStatus, record_place

    with Client(keyed.old, "shop", Embedded(here / "shop.db")) as db:
        place = record_place(db, here)
        record = place.read()
        record.change = ChangeStatus("id", "1", "before", "2", "after", "2026-01-01T00:00:00Z")
        place.write(record)
    ran = prejoin("audit", "keyedapp:old", "--table", "shop", "--db", "shop.db", "--repair", "--yes")
    assert (ran.status, "PJ777" in ran.err) == (4, True)
    assert "prejoin evolve backfill before after" in ran.err
    assert prejoin("audit", "keyedapp:old", "--table", "shop", "--db", "shop.db").status == 0
