"""The end of a migration: cut-over, rollback, and the status of all steps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker

from prejoin import (
    PipelineError,
    RefusedError,
    TablePlace,
    cut_over,
    follow_table,
    load_table,
    migration_status,
    open_migration,
    roll_back,
    verify_table,
)
from prejoin.migrate import cutover
from prejoin.migrate.migration import Migration
from tests.migrate.ledger_app import OUTBOX, Invoice, Seat

PLACE = TablePlace(db="table.db")


def done() -> dict[str, bool]:
    return {step.name: step.done for step in migration_status().steps}


def test_cutover_follows_verifies_signs_and_cleans_up(sessions: sessionmaker[Session], ledger: Migration) -> None:
    with sessions.begin() as db:
        db.get_one(Seat, 1).holder = "the last write"
    made = cut_over(ledger, PLACE, by="Ann Miller")
    assert made.cutover.removed == ("what prejoin_outbox holds",)
    assert {e.entity: (e.rows, e.items) for e in made.cutover.entities}["Seat"] == (10, 10)
    assert made.cutover.patterns == ("AP-001", "AP-002", "AP-003", "AP-004", "AP-005")
    text = Path(made.file).read_text(encoding="utf-8")
    assert "Signed off by Ann Miller" in text
    assert made.cutover.digest in text
    assert "- [x] no dead letters" in text
    assert "- [ ] `record_changes` and the table `prejoin_outbox` are removed" in text
    with sessions() as db:
        assert db.execute(sa.select(OUTBOX)).all() == []
    assert [name for name, is_done in done().items() if not is_done] == ["decommission"]


def test_finished_migration_is_neither_followed_nor_loaded_nor_rolled_back(ledger: Migration) -> None:
    cut_over(ledger, PLACE, by="Ann")
    for step in (
        lambda: follow_table(ledger, PLACE, once=True),
        lambda: load_table(ledger, PLACE),
        lambda: cut_over(ledger, PLACE, by="Bob"),
        lambda: roll_back(ledger),
    ):
        with pytest.raises(RefusedError) as caught:
            step()
        assert caught.value.diagnostics[0].code == "PJ761"
    with pytest.raises(RefusedError, match="nothing carries later writes of the table back"):
        roll_back(ledger)


def test_cutover_names_every_reason_and_removes_nothing(sessions: sessionmaker[Session], ledger: Migration) -> None:
    with sessions.begin() as db:
        db.get_one(Invoice, 3).state = "LOST"
    with pytest.raises(RefusedError) as caught:
        cut_over(ledger, PLACE, by="Ann")
    found = caught.value.diagnostics[0]
    assert found.code == "PJ760"
    assert "1 row could not be written" in found.message
    assert "the table differs from the database: 1 unconverted of Invoice" in found.message
    assert not Path("cutover-report.md").exists()
    assert not done()["switch reads"]


def test_cutover_refuses_while_the_application_writes(
    sessions: sessionmaker[Session], ledger: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    def writing(*arguments: object, **named: object) -> object:
        found = verify_table(*arguments, **named)  # type: ignore[arg-type]
        with sessions.begin() as db:
            db.get_one(Seat, 1).holder = "still here"
        return found

    monkeypatch.setattr(cutover, "verify_table", writing)
    with pytest.raises(RefusedError, match="the database was changed during the verification"):
        cut_over(ledger, PLACE, by="Ann")


def test_load_without_changes_can_be_cut_over(sessions: sessionmaker[Session]) -> None:
    with open_migration() as migration:
        with pytest.raises(PipelineError, match="the load is not finished"):
            cut_over(migration, PLACE, by="Ann")
        load_table(migration, PLACE, create=True)
        made = cut_over(migration, PLACE, by="Ann")
    assert (made.cutover.followed, made.cutover.removed) == ("", ())


def test_rollback_says_what_it_removes_and_removes_it(sessions: sessionmaker[Session], ledger: Migration) -> None:
    with sessions.begin() as db:
        db.get_one(Seat, 1).holder = "x"
    planned = roll_back(ledger, PLACE, dry_run=True)
    assert (planned.removed, planned.items) == (("what prejoin_outbox holds",), 30)
    with sessions() as db:
        assert db.execute(sa.select(OUTBOX)).all()
    assert roll_back(ledger, PLACE) == planned
    with sessions() as db:
        assert db.execute(sa.select(OUTBOX)).all() == []
    assert {e.items for e in verify_table(ledger, PLACE, patterns=False).entities} == {0}
    assert not done()["migrate"]
    with pytest.raises(PipelineError, match="there is no migration"):
        roll_back(ledger)
    load_table(ledger, PLACE, outbox=True)  # the table is empty again


def test_status_shows_eight_steps_with_their_commands(sessions: sessionmaker[Session], ledger: Migration) -> None:
    found = migration_status()
    assert [step.name for step in found.steps] == [
        "analyse access patterns",
        "design keys",
        "create the table",
        "migrate",
        "dual-write",
        "validate",
        "switch reads",
        "decommission",
    ]
    assert all(step.command for step in found.steps)
    assert [step.done for step in found.steps] == [True] * 4 + [False] * 4
    assert "prejoin migrate follow" in found.following
    follow_table(ledger, PLACE, until_caught_up=True)
    assert "prejoin migrate verify" in migration_status().following


def test_status_warns_about_unread_changes(ledger: Migration) -> None:
    assert migration_status().warnings == ()
    [warning] = migration_status(now=datetime.now(UTC) + timedelta(hours=2)).warnings
    assert warning.code == "PJ755"
    assert "prejoin migrate rollback" in warning.fix
    cut_over(ledger, PLACE, by="Ann")
    assert migration_status(now=datetime.now(UTC) + timedelta(hours=2)).warnings == ()
