"""The commands: the steps of the guide, output, exit statuses."""

from __future__ import annotations

import re
import shlex
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.orm import Session, sessionmaker

from tests.cli.conftest import Prejoin, prejoin  # noqa: F401 - a fixture
from tests.migrate.ledger_app import Invoice, Seat
from tests.migrate.shop import QUERIES, create_shop

GUIDE = (Path(__file__).parents[2] / "docs/guides/migrate/README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_commands_of_the_guide_run(
    prejoin: Prejoin,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREJOIN_SOURCE", raising=False)
    create_shop(tmp_path / "shop.db")
    Path("app.sql").write_text(QUERIES, encoding="utf-8")
    block = GUIDE.split("```")[1]
    commands = re.findall(r"^prejoin (.+?)(?:  |$)", block, re.MULTILINE)
    assert len(commands) == 8
    for command in commands:
        ran = prejoin(*shlex.split(command))
        assert ran.status == 0, (command, ran.err)
    assert "u1@x.org" in ran.out
    status = prejoin("migrate", "status", "--format", "json").json
    assert [step["done"] for step in status["result"]["steps"]] == [True] * 6 + [False] * 2
    Path("shop-table.db").unlink()
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        code = block.replace("create=True)", 'create=True, state="other")')
        exec(compile(code, "guide", "exec", dont_inherit=True), {"__name__": "guide"})


def test_discover_refuses_to_overwrite(shop: Path, prejoin: Prejoin) -> None:  # noqa: F811
    ran = prejoin("discover", "--queries", "app.sql")
    assert ran.status == 4
    assert "PJ003" in ran.err
    assert prejoin("discover", "--queries", "app.sql", "--force").status == 0


def test_discover_prints_entities_and_says_what_is_next(shop: Path, prejoin: Prejoin) -> None:  # noqa: F811
    ran = prejoin("discover", "--queries", "app.sql", "--to", "new")
    assert "OrderItem" in ran.out
    assert "wrote new/mapping.toml" in ran.err
    assert "next: `prejoin check new/access-patterns.md`" in ran.err
    result = prejoin("discover", "--queries", "app.sql", "--to", "new", "--force", "--format", "json").json["result"]
    assert result["statements"] == 13
    assert result["misfits"][0]["instead"]
    assert result["left_out"]["audit_log"]


def test_a_folder_that_cannot_be_made_is_an_error(shop: Path, prejoin: Prejoin) -> None:  # noqa: F811
    (shop / "file").write_text("", "utf-8")
    ran = prejoin("discover", "--to", "file/new")
    assert ran.status not in {0, 70}
    assert "PJ004" in ran.err


@pytest.mark.parametrize("period", ["5", "0h", "x"])
def test_discover_refuses_a_wrong_period(period: str, shop: Path, prejoin: Prejoin) -> None:  # noqa: F811
    assert prejoin("discover", "--period", period, "--force").status == 2


def test_load_needs_one_place(shop: Path, prejoin: Prejoin) -> None:  # noqa: F811
    assert prejoin("migrate", "load").status == 2
    assert prejoin("migrate", "load", "--db", "a.db", "--aws").status == 2
    assert prejoin("migrate", "load", "--db", "a.db", "--to-files", "x").status == 2


def test_load_with_dead_letters_has_status_1_and_status_counts_them(shop: Path, prejoin: Prejoin) -> None:  # noqa: F811
    with sqlite3.connect("shop.db") as db:
        db.execute("UPDATE orders SET placed_at = 'soon' WHERE id < 4")
    db.close()
    ran = prejoin("migrate", "load", "--db", "t.db", "--format", "json")
    assert ran.status == 1
    assert ran.json["diagnostics"][-1]["code"] == "PJ733"
    assert ran.json["result"]["dead"] == 3
    status = prejoin("migrate", "status").out
    assert "3 dead letters of Order: PJ720" in status
    assert "--replay" in prejoin("migrate", "status").err
    assert "PJ740" in prejoin("migrate", "verify", "--db", "t.db").err


def test_verify_shows_differences(shop: Path, prejoin: Prejoin) -> None:  # noqa: F811
    assert prejoin("migrate", "load", "--db", "t.db").status == 0
    with sqlite3.connect("shop.db") as db:
        db.execute("UPDATE users SET name = 'Eve' WHERE id = 1")
    db.close()
    ran = prejoin("migrate", "verify", "--db", "t.db", "--no-patterns")
    assert ran.status == 1
    assert "different: User 1: name is 'User 1', and should be 'Eve'" in ran.out
    found = prejoin("migrate", "verify", "--db", "t.db", "--no-patterns", "--format", "json").json["result"]
    assert found["counts"] == [{"entity": "User", "kind": "different", "count": 1}]


def test_files_for_s3(shop: Path, prejoin: Prejoin) -> None:  # noqa: F811
    ran = prejoin("migrate", "load", "--to-files", "out", "--format", "json")
    assert ran.status == 0
    assert ran.json["result"]["files"] == ["out/items/00000.json.gz"]


def test_plan_reports_a_wrong_mapping_with_its_line(shop: Path, prejoin: Prejoin) -> None:  # noqa: F811
    text = Path("mapping.toml").read_text(encoding="utf-8")
    Path("mapping.toml").write_text(text.replace('total = "total"', 'total = "totl"'), encoding="utf-8")
    ran = prejoin("migrate", "plan")
    assert ran.status == 1
    assert re.search(r"mapping.toml:\d+:1: error PJ713", ran.err)


def test_status_of_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prejoin: Prejoin) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    ran = prejoin("migrate", "status")
    assert ran.status == 0
    assert "prejoin discover URL" in ran.err


def test_follow_cutover_and_rollback(sessions: sessionmaker[Session], prejoin: Prejoin) -> None:  # noqa: F811
    assert "next: `prejoin migrate follow`" in prejoin("migrate", "load", "--db", "t.db", "--outbox").err
    with sessions.begin() as db:
        db.get_one(Seat, 1).holder = "ann"
        db.get_one(Invoice, 1).state = "LOST"
    ran = prejoin("migrate", "follow", "--db", "t.db", "--until-caught-up", "--format", "json")
    assert ran.status == 1
    assert (ran.json["result"]["caught_up"], ran.json["result"]["dead"]) == (True, 1)
    assert ran.json["diagnostics"][0]["code"] == "PJ733"
    refused = prejoin("migrate", "cutover", "--db", "t.db", "--by", "Ann")
    assert refused.status == 4
    assert "PJ760" in refused.err
    planned = prejoin("migrate", "rollback", "--delete-items", "--db", "t.db")
    assert "would remove: what prejoin_outbox holds, the state in .prejoin-migrate, 30 items" in planned.err
    with sessions.begin() as db:
        db.get_one(Invoice, 1).state = "PAID"
    assert "caught up" in prejoin("migrate", "follow", "--db", "t.db", "--once").err
    finished = prejoin("migrate", "cutover", "--db", "t.db", "--by", "Ann", "--format", "json").json["result"]
    assert (finished["by"], finished["report"]) == ("Ann", "cutover-report.md")
    after = prejoin("migrate", "rollback", "--yes")
    assert after.status == 4
    assert "PJ761" in after.err
    assert "done  switch reads" in prejoin("migrate", "status").out
