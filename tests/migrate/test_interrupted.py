"""Cut-over, rollback and the beginning of a load, killed before each line: the next command completes them."""

from __future__ import annotations

from collections.abc import Iterator
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
from prejoin.migrate import codes, cutover
from prejoin.migrate.follow.logs import begin_log, end_log
from prejoin.migrate.follow.outbox import OutboxLog
from prejoin.migrate.load.state import LoadState
from prejoin.migrate.migration import Migration
from tests.migrate.interrupt import interrupted, restoring
from tests.migrate.ledger_app import OUTBOX, Seat

PLACE = TablePlace(db="table.db")
FILES = ("ledger.db", "table.db", ".prejoin-migrate", "cutover-report.md")


@pytest.fixture
def project(sessions: sessionmaker[Session]) -> Iterator[Migration]:
    with open_migration() as migration:
        yield migration


@pytest.fixture
def loaded(project: Migration, sessions: sessionmaker[Session]) -> Migration:
    load_table(project, PLACE, create=True, outbox=True)
    change(sessions, "the last write")
    return project


def change(sessions: sessionmaker[Session], holder: str) -> None:
    with sessions.begin() as db:
        db.get_one(Seat, 1).holder = holder


def recorded(sessions: sessionmaker[Session]) -> int:
    """The number of rows in the outbox."""
    with sessions() as db:
        return len(db.execute(sa.select(OUTBOX)).all())


def test_database_that_fails_at_the_end_of_a_cutover_is_tried_again(
    loaded: Migration, sessions: sessionmaker[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: OutboxLog) -> None:
        raise PipelineError(codes.UNREADABLE, "no connection", "check the network")

    with monkeypatch.context() as patch:
        patch.setattr(OutboxLog, "end", failing)
        with pytest.raises(PipelineError, match="no connection"):
            cut_over(loaded, PLACE, by="Ann")
    assert "`prejoin migrate cutover` again" in migration_status().following
    assert cut_over(loaded, PLACE, by="Bob").cutover.by == "Ann"
    assert recorded(sessions) == 0


@pytest.mark.slow
def test_cutover_is_finished_by_the_next_one(loaded: Migration, sessions: sessionmaker[Session]) -> None:
    lines = (cutover._finish, end_log, OutboxLog.end, LoadState.say)
    signed = set()
    for _ in interrupted(lines, restoring(FILES, loaded, sessions), lambda: cut_over(loaded, PLACE, by="Ann")):
        *_, switched, _ = migration_status().steps
        if switched.done:
            assert recorded(sessions) == 0
            continue  # killed after the last effect
        if decided := bool(switched.detail):
            assert "`prejoin migrate cutover` again" in migration_status().following
            for step in (lambda: follow_table(loaded, PLACE), lambda: load_table(loaded, PLACE)):
                with pytest.raises(RefusedError, match="finish it with `prejoin migrate cutover`"):
                    step()
        made = cut_over(loaded, PLACE, by="Bob")
        assert made.cutover.by == ("Ann" if decided else "Bob")
        assert (made.cutover.followed, made.cutover.removed) == ("outbox", ("what prejoin_outbox holds",))
        assert Path("cutover-report.md").read_text(encoding="utf-8") == made.report
        assert recorded(sessions) == 0
        assert [step.name for step in migration_status().steps if not step.done] == ["decommission"]
        signed.add(made.cutover.by)
    assert signed == {"Ann", "Bob"}  # it was killed before and after it was decided


@pytest.mark.slow
def test_rollback_is_finished_by_the_next_one(loaded: Migration, sessions: sessionmaker[Session]) -> None:
    lines = (roll_back, end_log, OutboxLog.end, LoadState.say, LoadState.restart)
    seen = set()
    for _ in interrupted(lines, restoring(FILES, loaded, sessions), lambda: roll_back(loaded, PLACE)):
        code = ""
        try:
            follow_table(loaded, PLACE, once=True)
            assert verify_table(loaded, PLACE, patterns=False).equal  # nothing was removed
            roll_back(loaded, PLACE)
        except PipelineError as problem:
            code = problem.diagnostics[0].code
            if code == "PJ762":
                assert "`prejoin migrate rollback --yes` again" in migration_status().following
                roll_back(loaded, PLACE)
            else:
                assert code == "PJ731"  # it was finished: the migration is gone
        seen.add(code)
        assert recorded(sessions) == 0
        assert {one.items for one in verify_table(loaded, PLACE, patterns=False).entities} == {0}
        assert not any(step.done for step in migration_status().steps[2:])
    assert seen == {"", "PJ762", "PJ731"}


@pytest.mark.slow
@pytest.mark.parametrize("again", [True, False], ids=["same command", "without --outbox"])
def test_load_that_began_to_keep_changes_keeps_them(
    project: Migration, sessions: sessionmaker[Session], again: bool
) -> None:
    lines = (begin_log, OutboxLog.begin)
    found = set()
    for _ in interrupted(
        lines, restoring(FILES, project, sessions), lambda: load_table(project, PLACE, create=True, outbox=True)
    ):
        load_table(project, PLACE, create=True, outbox=again)
        change(sessions, "after the kill")
        try:
            follow_table(project, PLACE, until_caught_up=True)
            assert verify_table(project, PLACE, patterns=False).equal
            found.add("")
        except PipelineError as problem:
            found.add(problem.diagnostics[0].code)
    assert found == ({""} if again else {"", "PJ754"})  # killed before it recorded that it keeps changes


def test_refused_log_can_be_replaced_by_another(project: Migration, sessions: sessionmaker[Session]) -> None:
    with pytest.raises(RefusedError, match="sqlite has no log"):
        load_table(project, PLACE, create=True, follow=True)
    load_table(project, PLACE, outbox=True)
    change(sessions, "x")
    assert follow_table(project, PLACE, until_caught_up=True).rows > 0
    assert roll_back(project, PLACE).items == 30


def test_rollback_of_another_table_or_database_is_refused(loaded: Migration, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError, match=r"loads `ledger` in table\.db, not this table"):
        roll_back(loaded, TablePlace(db="other.db"))
    monkeypatch.setenv("PREJOIN_SOURCE", f"sqlite:///{Path('ledger.db').absolute()}")
    with open_migration() as other, pytest.raises(RefusedError, match=r"are in sqlite:///ledger\.db"):
        roll_back(other)


def test_cut_over_migration_is_not_begun_again(loaded: Migration) -> None:
    cut_over(loaded, PLACE, by="Ann")
    with pytest.raises(RefusedError, match="was cut over"):
        load_table(loaded, PLACE, restart=True, force=True)
