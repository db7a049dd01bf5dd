"""Migrations from PostgreSQL and MariaDB: discover with their statistics, design, load, verify, query."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from tests.wide.databases import mariadb, postgres

from prejoin import (
    PipelineError,
    TablePlace,
    design_table,
    design_target,
    discover_database,
    follow_table,
    load_table,
    open_migration,
    plan_load,
    read_document,
    verify_table,
    write_design,
)
from prejoin.migrate.mapping import rows
from prejoin.migrate.source.connection import open_source
from prejoin.pipeline.connection import connect

pytestmark = pytest.mark.wide
PLACE = TablePlace(db="table.db")

POSTGRES = """
CREATE EXTENSION pg_stat_statements;
CREATE TYPE state AS ENUM ('OPEN', 'DONE');
CREATE TABLE customers (
    id uuid PRIMARY KEY, email varchar(200) NOT NULL UNIQUE, tags text[] NOT NULL, prefs jsonb,
    active boolean NOT NULL, joined timestamptz NOT NULL, born date, photo bytea);
CREATE TABLE jobs (
    customer_id uuid NOT NULL REFERENCES customers(id), number integer NOT NULL, state state NOT NULL,
    price numeric(30, 10) NOT NULL, due timestamp NOT NULL, weight double precision, took interval,
    PRIMARY KEY (customer_id, number));
"""
MARIADB = """
CREATE TABLE customers (
    id BINARY(16) PRIMARY KEY, email VARCHAR(200) NOT NULL UNIQUE, tags SET('a', 'b', 'c') NOT NULL, prefs JSON,
    active TINYINT(1) NOT NULL, joined DATETIME(6) NOT NULL, born DATE, photo BLOB);
CREATE TABLE jobs (
    customer_id BINARY(16) NOT NULL, number INTEGER NOT NULL, state ENUM('OPEN', 'DONE') NOT NULL,
    price DECIMAL(30, 10) NOT NULL, due DATETIME NOT NULL, weight DOUBLE, took TIME,
    PRIMARY KEY (customer_id, number), FOREIGN KEY (customer_id) REFERENCES customers(id));
"""
QUERIES = (
    "SELECT * FROM customers WHERE id = :id",
    "SELECT id, email FROM customers WHERE email = :email",
    "SELECT * FROM jobs WHERE customer_id = :id ORDER BY due DESC LIMIT 20",
    "SELECT * FROM jobs WHERE customer_id = :id AND number = 1",
    "SELECT count(*) FROM jobs WHERE customer_id = :id",
    "SELECT state, count(*) FROM jobs GROUP BY state",
)


@dataclass(frozen=True)
class Server:
    dialect: str
    url: str
    public: str
    """The URL as a user writes it."""
    engine: sa.Engine


def prepared(dialect: str, url: str, schema: str) -> Server:
    engine = sa.create_engine(url)
    chance = random.Random(5)
    with engine.begin() as db:
        for statement in schema.split(";"):
            if statement.strip():
                db.exec_driver_sql(statement)
        for n in range(120):
            id_: Any = UUID(int=n + 1)
            row = {
                "id": id_ if dialect == "postgresql" else id_.bytes,
                "email": f"Ü{n}@x.org",
                "tags": ["a", "c"] if dialect == "postgresql" else "a,c",
                "prefs": '{"rate": 0.10, "deep": [1, null]}' if n % 3 else None,
                "active": bool(n % 2),
                "joined": datetime(2025, 7, 1, 12, 0, n % 60, 123456, tzinfo=UTC if dialect == "postgresql" else None),
                "born": "1980-02-29" if n % 5 else None,
                "photo": bytes([n]) * 3,
            }
            names = ", ".join(row)
            places = ", ".join(
                f"CAST(:{c} AS jsonb)" if c == "prefs" and dialect == "postgresql" else f":{c}" for c in row
            )
            db.execute(sa.text(f"INSERT INTO customers ({names}) VALUES ({places})"), row)
            for number in range(1, chance.randint(2, 9)):
                job = {
                    "customer_id": row["id"],
                    "number": number,
                    "state": chance.choice(["OPEN", "DONE"]),
                    "price": Decimal(f"12345678901234567890.{number:010}"),
                    "due": datetime(2025, 1, number, n % 24, 30),
                    "weight": 0.1 if number % 2 else None,
                    "took": "01:02:03",
                }
                names, places = ", ".join(job), ", ".join(f":{c}" for c in job)
                db.execute(sa.text(f"INSERT INTO jobs ({names}) VALUES ({places})"), job)
    with engine.begin() as db:
        keys = db.execute(sa.text("SELECT id, email FROM customers LIMIT 30")).all()
        for id_, email in keys:
            for sql in QUERIES:
                given = {name: value for name, value in (("id", id_), ("email", email)) if f":{name}" in sql}
                db.execute(sa.text(sql), given).all()
    return Server(dialect, url, url.replace("+psycopg", "").replace("+pymysql", ""), engine)


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    start, schema = (postgres, POSTGRES) if request.param == "postgresql" else (mariadb, MARIADB)
    with start() as url:
        found = prepared(request.param, url, schema)
        yield found
        found.engine.dispose()


def project(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Discovers and designs in a folder, which becomes the current one."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PREJOIN_SOURCE", server.public)
    found = discover_database()
    Path("access-patterns.md").write_text(found.document, encoding="utf-8")
    Path("mapping.toml").write_text('zone = "America/New_York"\n' + found.mapping_text, encoding="utf-8")
    designed = design_table(read_document("access-patterns.md"), alternatives=0)
    assert designed.fine, designed.diagnostics
    write_design(designed, design_target(Path("table-design.md")))
    return found


def test_migration_from_discovery_to_query(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = project(server, tmp_path, monkeypatch)
    assert "s3cret" not in found.document + found.mapping_text
    assert [e.name for e in found.workload.entities] == ["Customer", "Job"]
    assert len(found.workload.reads) == 6  # one is that of this test itself
    assert all(r.rate is not None and r.rate.value for r in found.workload.reads)
    assert [m.what for m in found.misfits] == ["it groups rows (GROUP BY)"]
    with open_migration() as migration:
        assert plan_load(migration).rows == found.database.table("customers").rows + found.database.table("jobs").rows
        result = load_table(migration, PLACE, create=True)
        assert result.dead == 0, list(Path(result.dead_file).read_text(encoding="utf-8").splitlines())[:3]
        compared = verify_table(migration, PLACE)
        assert compared.equal, compared.differences[:5]
        assert sum(one.runs for one in compared.patterns) > 60
        with connect(migration.package.schema, migration.table, PLACE) as client:
            page = next(iter(client.everything(migration.package.classes["Customer"])))
            job = next(iter(client.everything(migration.package.classes["Job"])))
    customer = next(c for c in page.items if c.email == "Ü1@x.org")
    assert customer.prefs == {"rate": Decimal("0.1"), "deep": [1, None]}
    assert set(customer.tags) == {"a", "c"}
    assert customer.active is True
    assert customer.photo == b"\1\1\1"
    hour = 12 if server.dialect == "postgresql" else 16  # 12:00 without a zone is 16:00 UTC, in New York in summer
    assert customer.joined == datetime(2025, 7, 1, hour, 0, 1, 123456, tzinfo=UTC)
    assert str(job.items[0].price).startswith("12345678901234567890.00000000")


PLANT = """
CREATE SCHEMA plant;
CREATE TYPE plant.kind AS ENUM ('hot', 'cold: very', 'x#y');
CREATE DOMAIN plant.positive AS numeric(20, 6) CHECK (VALUE > 0);
CREATE TABLE plant.sites (
    code char(6) PRIMARY KEY, name text NOT NULL, location point, net inet, opened date NOT NULL, hours tstzrange,
    flags bit(4), ext uuid UNIQUE);
CREATE TABLE plant."Machine Parts" (
    site_code char(6) NOT NULL REFERENCES plant.sites(code), "Serial No" bigint NOT NULL, kind plant.kind NOT NULL,
    "at:once" boolean NOT NULL, dims numeric(10, 3)[] NOT NULL, labels varchar(10)[], kinds plant.kind[],
    spec jsonb NOT NULL, raw bytea, PRIMARY KEY (site_code, "Serial No"));
CREATE TABLE plant.readings (
    site_code char(6) NOT NULL, serial bigint NOT NULL, kind plant.kind NOT NULL, taken timestamptz NOT NULL,
    value plant.positive, big numeric, at_time time, took interval, note text,
    doubled numeric(20, 2) GENERATED ALWAYS AS (value * 2) STORED, PRIMARY KEY (site_code, serial, kind, taken),
    FOREIGN KEY (site_code, serial) REFERENCES plant."Machine Parts"(site_code, "Serial No"));
INSERT INTO plant.sites SELECT 'S' || n, 'Site ' || n, point(n, 1), '10.0.0.1', DATE '2020-02-29',
    tstzrange('2020-01-01', NULL), B'1010', gen_random_uuid() FROM generate_series(1, 9) n;
INSERT INTO plant."Machine Parts" SELECT 'S' || (1 + mod(n, 9)), n,
    (ARRAY['hot', 'cold: very', 'x#y'])[1 + mod(n, 3)]::plant.kind, mod(n, 2) = 0, ARRAY[1.500, n],
    CASE WHEN mod(n, 2) = 0 THEN ARRAY['a', 'ü'] END, ARRAY['cold: very', 'hot']::plant.kind[],
    jsonb_build_object('n', n / 8.0, 'deep', jsonb_build_array(1, NULL, jsonb_build_object('x', 1e30))),
    CASE WHEN mod(n, 3) = 0 THEN decode('00ff', 'hex') END FROM generate_series(1, 60) n;
INSERT INTO plant.readings SELECT 'S' || (1 + mod(m, 9)), m,
    (ARRAY['hot', 'cold: very', 'x#y'])[1 + mod(n, 3)]::plant.kind,
    TIMESTAMPTZ '2025-03-30 00:30:00Z' + n * INTERVAL '1 hour 1 microsecond', CASE WHEN mod(n, 2) = 0 THEN n + 0.5 END,
    12345678901234567890.123456789 + n, TIME '01:02:03.5', INTERVAL '1 day 2 hours',
    CASE mod(n, 5) WHEN 0 THEN '' WHEN 1 THEN NULL ELSE 'n' END FROM generate_series(1, 60) m, generate_series(1, 6) n
"""
PLANT_QUERIES = """
SELECT * FROM plant.sites WHERE code = ?;
SELECT * FROM plant."Machine Parts" WHERE site_code = ? AND "Serial No" = ?;
SELECT * FROM plant."Machine Parts" WHERE kind = ? ORDER BY "Serial No";
SELECT * FROM plant.readings WHERE site_code = ? AND serial = ? AND kind = ? ORDER BY taken DESC LIMIT 10;
SELECT * FROM plant.readings WHERE site_code = ? AND serial = ? AND taken >= ? AND taken < ?;
SELECT max(taken) FROM plant.readings WHERE site_code = ? AND serial = ?;
SELECT p.*, s.name FROM plant."Machine Parts" p JOIN plant.sites s ON s.code = p.site_code WHERE p.site_code = ?;
SELECT * FROM plant.sites WHERE ext = ?;
"""


def test_unusual_types_names_and_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rows, "PAGE", 50)  # so that pages continue after keys of all types
    with postgres() as url:
        engine = sa.create_engine(url)
        with engine.begin() as db:
            for statement in PLANT.split(";"):
                db.exec_driver_sql(statement)
        monkeypatch.setenv("PREJOIN_SOURCE", f"{url.replace('+psycopg', '')}?options=-csearch_path%3Dplant")
        Path("app.sql").write_text(PLANT_QUERIES, encoding="utf-8")
        found = discover_database(queries=["app.sql"])
        assert (found.misfits, found.unread) == ((), ())
        Path("access-patterns.md").write_text(found.document, encoding="utf-8")
        Path("mapping.toml").write_text(found.mapping_text, encoding="utf-8")
        designed = design_table(read_document("access-patterns.md"), alternatives=0)
        assert designed.fine, designed.diagnostics
        write_design(designed, design_target(Path("table-design.md")))
        with open_migration() as migration:
            assert load_table(migration, PLACE, create=True, follow=True).dead == 0
            with engine.begin() as db:
                db.exec_driver_sql("UPDATE plant.readings SET note = 'é' WHERE kind = 'cold: very' AND serial < 20")
                db.exec_driver_sql("DELETE FROM plant.readings WHERE kind = 'x#y' AND serial = 7")
            assert follow_table(migration, PLACE, until_caught_up=True).dead == 0
            compared = verify_table(migration, PLACE)
            assert compared.equal, compared.differences[:5]
            assert [(one.pattern, one.skipped) for one in compared.patterns if not one.runs] == []
            with connect(migration.package.schema, migration.table, PLACE) as client:
                part = client.get(migration.package.classes["MachinePart"], site_code="S1    ", serial_no=18)
        engine.dispose()
    assert part is not None
    assert (part.kind, part.kinds, part.dims) == ("hot", ["cold: very", "hot"], [Decimal("1.5"), Decimal(18)])
    assert part.spec == {"n": Decimal("2.25"), "deep": [1, None, {"x": Decimal(10) ** 30}]}


def test_load_reads_one_snapshot(server: Server, tmp_path: Path) -> None:
    with open_source(server.public) as source, source.snapshot() as snapshot:
        before = snapshot.value("SELECT count(*) FROM jobs")
        with server.engine.connect() as db:
            transaction = db.begin()
            db.execute(sa.text("UPDATE jobs SET number = number + 1000"))
            transaction.commit()
            assert snapshot.value("SELECT count(*) FROM jobs WHERE number < 1000") == before
            with db.begin():
                db.execute(sa.text("UPDATE jobs SET number = number - 1000"))


def test_database_refuses_writes_of_the_migration(server: Server) -> None:
    with open_source(server.public) as source, pytest.raises(PipelineError) as caught, source.snapshot() as snapshot:
        snapshot.connection.exec_driver_sql("DELETE FROM jobs")
    assert caught.value.diagnostics[0].code == "PJ701"
    assert "s3cret" not in str(caught.value)


def test_wrong_password_is_a_message_without_it(server: Server) -> None:
    if server.dialect == "postgresql":
        pytest.skip("the test server trusts everybody")
    with pytest.raises(PipelineError) as caught:
        discover_database(server.public.replace("s3cret", "wr0ng"))
    assert "wr0ng" not in str(caught.value)


def test_killed_load_continues(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prejoin.migrate.load.write import RowWriter

    project(server, tmp_path, monkeypatch)
    write, count = RowWriter.write, iter(range(10_000))

    def dying(self: RowWriter, page: Any) -> Any:
        written = write(self, page)
        if next(count) % 2:
            raise KeyboardInterrupt
        return written

    with open_migration() as migration:
        for rows in migration.rows:
            rows.page = 50
        monkeypatch.setattr(RowWriter, "write", dying)
        for _ in range(100):
            try:
                load_table(migration, PLACE, create=True)
                break
            except KeyboardInterrupt:
                continue
        assert verify_table(migration, PLACE).equal
