"""The ledger as four DynamoDB tables, and random writes of an application on them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from prejoin import Embedded
from tests.migrate.ledger import MAPPING, write_project

TABLES = ("customers", "invoices", "invoice_lines", "seats")
FILE = "app.db"


def send(engine: Embedded, operation: str, **body: Any) -> Any:
    return json.loads(engine.send(operation, json.dumps(body).encode()))


def write_tables_project(folder: Path) -> None:
    """The project of the ledger. Only numbers of keys are sorted as numbers in the copy of a table."""
    write_project(folder)
    mapping = MAPPING.replace("ORDER BY number", "ORDER BY number + 0")
    mapping = mapping.replace('table = "seats"', 'table = "seats"\nkey = ["room", "number"]')
    (folder / "mapping.toml").write_text(mapping, encoding="utf-8")


def create_tables(engine: Embedded, customers: int = 20) -> None:
    for name in TABLES:
        send(
            engine,
            "CreateTable",
            TableName=name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
            BillingMode="PAY_PER_REQUEST",
        )
    for n in range(1, customers + 1):
        for name, item in (
            ("customers", {"email": f"c{n}@x.org", "name": f"Customer {n}"}),
            ("invoices", {"customer_id": n, "state": "OPEN", "total": 1.5}),
            ("invoice_lines", {"invoice_id": n, "position": 1, "label": "first"}),
            ("seats", {"room": f"R{n % 3}", "number": n, "holder": "someone"}),
        ):
            put(engine, name, {"id": n, **item})


def _typed(item: dict[str, Any]) -> dict[str, Any]:
    return {name: {"S": value} if isinstance(value, str) else {"N": str(value)} for name, value in item.items()}


def put(engine: Embedded, table: str, item: dict[str, Any]) -> None:
    send(engine, "PutItem", TableName=table, Item=_typed(item))


def write(engine: Embedded, *actions: tuple[str, dict[str, Any] | int]) -> None:
    """Puts items, and deletes those that are given by their id, in one transaction."""
    found: list[dict[str, Any]] = []
    for table, one in actions:
        if isinstance(one, int):
            found.append({"Delete": {"TableName": table, "Key": _typed({"id": one})}})
        else:
            found.append({"Put": {"TableName": table, "Item": _typed(one)}})
    send(engine, "TransactWriteItems", TransactItems=found)


def items(engine: Embedded, table: str) -> dict[int, dict[str, Any]]:
    """All items of a table by id."""
    found = send(engine, "Scan", TableName=table, ConsistentRead=True)["Items"]
    plain = [{n: v["S"] if "S" in v else json.loads(v["N"]) for n, v in one.items()} for one in found]
    return {one["id"]: one for one in sorted(plain, key=lambda one: one["id"])}


def change(engine: Embedded, chance: random.Random) -> None:
    """One transaction of the application: puts, deletes, other keys, exchanged values, parents and children."""
    new = chance.randrange(1_000, 1_000_000_000)
    customers, invoices, lines, seats = (items(engine, name) for name in TABLES)
    one, other = (dict(customers[chance.choice(list(customers))]) for _ in range(2))
    invoice = dict(invoices[chance.choice(list(invoices))])
    seat = dict(seats[chance.choice(list(seats))])
    match chance.randrange(11):
        case 0 | 1:
            write(engine, ("customers", {"id": new, "email": f"n{new}@x.org", "name": "new"}))
        case 2:
            write(engine, ("customers", one | {"name": f"named {new}"}))
        case 3 if len(customers) > 5:
            write(engine, ("customers", one["id"]))
        case 4:  # another key, and the items that refer to it
            referring = [i | {"customer_id": new} for i in invoices.values() if i["customer_id"] == one["id"]]
            changed = [("invoices", i) for i in referring[:20]]
            write(engine, ("customers", one["id"]), ("customers", one | {"id": new}), *changed)
        case 5 if one["id"] != other["id"]:  # two customers exchange their addresses
            exchanged = [("customers", one | {"email": other["email"]}), ("customers", other | {"email": one["email"]})]
            write(engine, *exchanged)
        case 6:
            made = [("invoice_lines", _line(new + n, new, n)) for n in range(chance.randrange(4))]
            state = chance.choice(["DRAFT", "OPEN"])
            write(engine, ("invoices", {"id": new, "customer_id": one["id"], "state": state, "total": 9.5}), *made)
        case 7:
            state = chance.choice(["DRAFT", "OPEN", "PAID"])
            write(engine, ("invoices", invoice | {"state": state, "total": invoice["total"] + 1}))
        case 8 if len(invoices) > 5:
            own = [("invoice_lines", key) for key, line in lines.items() if line["invoice_id"] == invoice["id"]]
            write(engine, ("invoices", invoice["id"]), *own[:20])
        case 9:  # lines move to another invoice
            write(
                engine, *(("invoice_lines", line | {"invoice_id": invoice["id"]}) for line in list(lines.values())[:3])
            )
        case _ if chance.random() < 0.5:
            write(engine, ("seats", seat | {"room": "R9", "number": new}))
        case _:  # another item takes over the seat
            write(engine, ("seats", seat["id"]), ("seats", seat | {"id": new, "holder": f"heir {new}"}))


def _line(key: int, invoice: int, position: int) -> dict[str, Any]:
    return {"id": key, "invoice_id": invoice, "position": position, "label": f"line {position}"}
