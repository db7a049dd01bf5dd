"""A ledger that changes all the time: a schema for any database, its project, and random transactions of an application.

Its mapping has what is hard to follow: a join, embedded children, a condition, unique values, and items whose keys are
not made of the primary key.
"""

from __future__ import annotations

import random
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from prejoin import design_table, design_target, read_document, write_design

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(100) NOT NULL UNIQUE, name VARCHAR(100) NOT NULL);
CREATE TABLE invoices (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, state VARCHAR(10) NOT NULL, total NUMERIC(12, 2) NOT NULL);
CREATE TABLE invoice_lines (
    id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL, position INTEGER NOT NULL, label VARCHAR(100) NOT NULL);
CREATE TABLE seats (
    id INTEGER PRIMARY KEY, room VARCHAR(20) NOT NULL, number INTEGER NOT NULL, holder VARCHAR(100),
    UNIQUE (room, number));
CREATE TABLE notes (id INTEGER PRIMARY KEY, label VARCHAR(100))
"""
IDENTITIES = "; ".join(f"ALTER TABLE {table} REPLICA IDENTITY FULL" for table in ("invoices", "invoice_lines", "seats"))
"""Statements that make PostgreSQL log the old values of `customer_id`, `invoice_id`, `room` and `number`."""

DOCUMENT = """# Ledger

## Entities

### Customer

- **Attributes**:
  - `customer_id` (integer, generated)
  - `email` (string, unique)
  - `name` (string)

### Invoice

- **Attributes**:
  - `invoice_id` (integer, generated)
  - `customer_id` (integer, → Customer)
  - `customer_name` (string, optional)
  - `state` (OPEN | PAID)
  - `total` (decimal)
  - `lines` (list, optional)

### Seat

- **Attributes**:
  - `room` (string, id)
  - `number` (integer, natural)
  - `holder` (string, optional)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Customer | Customer by id | customer_id | Single | - | No | 50/s |
| AP-002 | Customer | Customer by email | email | Single | - | No | 5/s |
| AP-003 | Invoice | Invoice by id | invoice_id | Single | - | No | 5/s |
| AP-004 | Invoice | Invoices of a customer | customer_id | Collection | - | No | 5/s |
| AP-005 | Seat | Seats of a room | room | Collection | number ASC | No | 5/s |
"""
MAPPING = """
[entities.Customer]
table = "customers"

[entities.Customer.attributes]
customer_id = "id"
email = "email"
name = "name"

[entities.Invoice]
table = "invoices"
where = "t.state <> 'DRAFT'"

[entities.Invoice.attributes]
invoice_id = "id"
customer_id = "customer_id"
customer_name = "customer.name"
state = "state"
total = { sql = "t.total * 2" }

[entities.Invoice.joins.customer]
table = "customers"
on = { id = "customer_id" }

[entities.Invoice.children.lines]
table = "invoice_lines"
on = { invoice_id = "id" }
order = ["position", "id"]

[entities.Invoice.children.lines.attributes]
label = "label"

[entities.Seat]
table = "seats"
ignore = ["id"]

[entities.Seat.attributes]
room = "room"
number = "number"
holder = "holder"

[patterns.AP-002]
sql = "SELECT * FROM customers WHERE email = :email"

[patterns.AP-005]
sql = "SELECT * FROM seats WHERE room = :room ORDER BY number"
"""


def write_project(folder: Path) -> None:
    """Writes the document, its design and the mapping."""
    (folder / "access-patterns.md").write_text(DOCUMENT, encoding="utf-8")
    (folder / "mapping.toml").write_text(MAPPING, encoding="utf-8")
    designed = design_table(read_document(folder / "access-patterns.md"), prove=False, alternatives=0)
    assert designed.fine, designed.diagnostics
    write_design(designed, design_target(folder / "table-design.md"))


def create_ledger(engine: Engine, customers: int = 30) -> None:
    """Creates the tables with some rows."""
    statements = [*SCHEMA.split(";"), *(IDENTITIES.split(";") if engine.dialect.name == "postgresql" else ())]
    with engine.begin() as db:
        for statement in statements:
            db.exec_driver_sql(statement)
        for n in range(1, customers + 1):
            _run(db, "INSERT INTO customers VALUES (:n, :email, :name)", n=n, email=f"c{n}@x.org", name=f"Customer {n}")
            _run(db, "INSERT INTO invoices VALUES (:n, :n, 'OPEN', 1.5)", n=n)
            _run(db, "INSERT INTO invoice_lines VALUES (:n, :n, 1, 'first')", n=n)
            _run(db, "INSERT INTO seats VALUES (:n, :room, :number, NULL)", n=n, room=f"R{n % 3}", number=n)


def _run(db: Connection, sql: str, **values: object) -> None:
    db.execute(sa.text(sql), values)


def _any(db: Connection, table: str, chance: random.Random) -> int | None:
    """The id of some row."""
    ids = [row[0] for row in db.execute(sa.text(f"SELECT id FROM {table} ORDER BY id"))]
    return chance.choice(ids) if ids else None


def change(db: Connection, chance: random.Random) -> None:
    """The statements of one transaction of the application: inserts, updates, deletes, changed keys, exchanged values."""
    new = chance.randrange(1_000, 1_000_000_000)
    one, other = _any(db, "customers", chance), _any(db, "customers", chance)
    invoice, seat = _any(db, "invoices", chance), _any(db, "seats", chance)
    match chance.randrange(12):
        case 0:
            _run(db, "INSERT INTO customers VALUES (:n, :email, 'new')", n=new, email=f"n{new}@x.org")
        case 1:
            _run(db, "UPDATE customers SET name = :name WHERE id = :n", n=one, name=f"named {new}")
        case 2:
            _run(db, "DELETE FROM customers WHERE id = :n", n=one)
        case 3:  # another primary key, and the rows that refer to it
            _run(db, "UPDATE customers SET id = :new WHERE id = :n", n=one, new=new)
            _run(db, "UPDATE invoices SET customer_id = :new WHERE customer_id = :n", n=one, new=new)
        case 4 if one is not None and other is not None and one != other:  # two customers exchange their addresses
            sql = "SELECT email FROM customers WHERE id = :n"
            mine = db.execute(sa.text(sql), {"n": one}).scalar_one()
            theirs = db.execute(sa.text(sql), {"n": other}).scalar_one()
            _run(db, "UPDATE customers SET email = :email WHERE id = :n", n=one, email=f"moving {new}")
            _run(db, "UPDATE customers SET email = :email WHERE id = :n", n=other, email=mine)
            _run(db, "UPDATE customers SET email = :email WHERE id = :n", n=one, email=theirs)
        case 5 | 6:  # an invoice with its lines
            state = chance.choice(["DRAFT", "OPEN"])
            _run(db, "INSERT INTO invoices VALUES (:n, :c, :state, 9.99)", n=new, c=one or 1, state=state)
            for line in range(chance.randrange(4)):
                label = f"line {line}"
                _run(
                    db,
                    "INSERT INTO invoice_lines VALUES (:id, :n, :l, :label)",
                    id=new + line,
                    n=new,
                    l=line,
                    label=label,
                )
        case 7:
            state = chance.choice(["DRAFT", "OPEN", "PAID"])
            _run(db, "UPDATE invoices SET state = :state, total = total + 1 WHERE id = :n", n=invoice, state=state)
        case 8:
            _run(db, "DELETE FROM invoice_lines WHERE invoice_id = :n", n=invoice)
            _run(db, "DELETE FROM invoices WHERE id = :n", n=invoice)
        case 9:
            _run(
                db,
                "UPDATE invoice_lines SET label = :label, invoice_id = :n WHERE id < 10",
                n=invoice or 1,
                label=f"moved {new}",
            )
        case 10:
            _run(db, "UPDATE seats SET room = 'R9', number = :new WHERE id = :n", n=seat, new=new)
        case _:
            _run(db, "DELETE FROM seats WHERE id = :n", n=seat)
            _run(db, "INSERT INTO seats VALUES (:new, 'R1', :new, 'someone')", new=new)
            _run(db, "UPDATE customers SET name = 'all' WHERE id < 5")
