"""The roster: assignments from both sides, repeated and concurrent loads, closing teams."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from uuid import uuid4

import pytest
from prejoin import Call, Client, Embedded, NotUnique, TransactionCancelled

import roster as command
from roster import Roster
from teams.entities import Assignment, Team, User
from teams.schema import SCHEMA, TABLE

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture
def calls() -> list[Call]:
    return []


@pytest.fixture
def roster(calls: list[Call]) -> Iterator[Roster]:
    with Embedded() as engine:
        db = Client(SCHEMA, TABLE, engine, observe=calls.append)
        db.create_table()
        made = Roster(db)
        made.load(people())
        yield made


def people() -> list[dict[str, str]]:
    with (HERE / "people.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def row(email: str, team: str, role: str = "MEMBER", since: str = "2026-01-01") -> dict[str, str]:
    return {"email": email, "name": email.partition("@")[0].title(), "team": team, "role": role, "since": since}


def at_once(*work: Callable[[], object]) -> list[BaseException]:
    """Runs functions in threads at the same time, and returns their errors."""
    with ThreadPoolExecutor(len(work)) as pool:
        done = [pool.submit(one) for one in work]
        return [error for one in done if (error := one.exception()) is not None]


def test_a_user_has_teams_and_a_team_has_users(roster: Roster) -> None:
    bob = roster.user_by_email("bob@example.com")
    of_bob = roster.user_and_teams(bob.user_id)
    assert of_bob.one(User) == bob
    assert [one.team_id for one in of_bob.all(Assignment)] == ["platform", "search"]
    of_search = roster.team_and_members("search")
    assert of_search.one(Team) == Team(team_id="search", name="Search")
    (mine,) = [one for one in of_search.all(Assignment) if one.user_id == bob.user_id]
    assert mine in of_bob.all(Assignment)


def test_each_side_is_one_query(roster: Roster, calls: list[Call]) -> None:
    bob = roster.user_by_email("bob@example.com")
    calls.clear()
    roster.user_and_teams(bob.user_id)
    roster.team_and_members("search")
    roster.members_of_team_with_profiles("search")
    assert [call.operation for call in calls] == ["Query", "Query", "Query", "BatchGetItem"]


def test_pages_show_names(roster: Roster) -> None:
    assert list(roster.user_page("bob@example.com")) == [
        "Bob <bob@example.com>",
        "  platform (member) since 2026-02-01",
        "  search (lead) since 2026-03-01",
    ]
    assert list(roster.team_page("platform")) == [
        "Platform",
        "  Ann Lee (lead) since 2026-01-05",
        "  Bob (member) since 2026-02-01",
    ]


def test_team_page_has_members_of_all_pages(roster: Roster) -> None:
    roster.load(row(f"new-{number:03}@example.com", "crowd") for number in range(120))
    assert list(roster.team_page("crowd"))[1:] == [
        f"  New-{number:03} (member) since 2026-01-01" for number in range(120)
    ]


def test_suspended_users_are_listed_and_marked(roster: Roster) -> None:
    assert list(roster.suspended_users()) == []
    roster.suspend_user(roster.user_by_email("cid@example.com").user_id, "SUSPENDED")
    assert [one.name for one in roster.suspended_users()] == ["Cid"]
    assert next(roster.user_page("cid@example.com")) == "Cid <cid@example.com> (suspended)"
    roster.suspend_user(roster.user_by_email("cid@example.com").user_id, "ACTIVE")
    assert list(roster.suspended_users()) == []


def test_repeated_load_changes_nothing(roster: Roster) -> None:
    before = [list(roster.team_page(team)) for team in ("platform", "search")]
    assert roster.load(people()) == 0
    assert roster.load([*people(), row("dee@example.com", "search")]) == 1
    assert list(roster.team_page("platform")) == before[0]
    assert list(roster.team_page("search")) == [*before[1], "  Dee (member) since 2026-01-01"]


def test_concurrent_loads_add_every_user_once(roster: Roster) -> None:
    rows = [row(f"new-{number}@example.com", f"team-{number % 3}") for number in range(12)]
    assert at_once(*(lambda: roster.load(rows) for _ in range(4))) == []
    emails = [
        one.email for team in range(3) for one in roster.members_of_team_with_profiles(f"team-{team}")[1].values()
    ]
    assert sorted(emails) == sorted(one["email"] for one in rows)


@pytest.mark.parametrize("wrong", [{"role": "BOSS"}, {"since": "yesterday"}])
def test_wrong_row_is_named(roster: Roster, wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="row 2 of the list"):
        roster.load([row("dee@example.com", "search"), {**row("eva@example.com", "search"), **wrong}])
    assert list(roster.team_page("search"))[-1] == "  Dee (member) since 2026-01-01"


def test_addresses_are_unique(roster: Roster) -> None:
    with pytest.raises(NotUnique):
        roster.add_user(User(user_id=uuid4(), email="bob@example.com", name="Another", status="ACTIVE"))
    assert roster.user_by_email("bob@example.com").name == "Bob"


def test_missing_user_or_team_is_refused(roster: Roster) -> None:
    bob = roster.user_by_email("bob@example.com")
    for user_id, team_id in ((bob.user_id, "nowhere"), (uuid4(), "search")):
        with pytest.raises(TransactionCancelled, match="there is no"):
            roster.put_user_into_team(
                Assignment(user_id=user_id, team_id=team_id, since=date(2026, 1, 1), role="MEMBER")
            )
    assert [one.team_id for one in roster.user_and_teams(bob.user_id).all(Assignment)] == ["platform", "search"]
    assert len(roster.team_and_members("search").all(Assignment)) == 2


def test_leaving_a_team_removes_both_sides(roster: Roster) -> None:
    bob = roster.user_by_email("bob@example.com")
    roster.take_user_out_of_team(bob.user_id, "search")
    assert list(roster.user_page("bob@example.com"))[1:] == ["  platform (member) since 2026-02-01"]
    assert list(roster.team_page("search"))[1:] == ["  Cid (member) since 2026-03-01"]


def test_closing_a_team_removes_concurrent_members(roster: Roster) -> None:
    users = [roster.user(f"new-{number}@example.com", "New") for number in range(20)]

    def come(user: User) -> None:
        roster.put_user_into_team(
            Assignment(user_id=user.user_id, team_id="search", since=date(2026, 1, 1), role="MEMBER")
        )

    failed = at_once(*(lambda u=user: come(u) for user in users[:10]), lambda: roster.close("search"))
    assert {type(error) for error in failed} <= {TransactionCancelled}
    found = roster.team_and_members("search")
    assert (found.one(Team), found.all(Assignment)) == (None, [])
    for user in (*users, roster.user_by_email("bob@example.com")):
        assert "search" not in [one.team_id for one in roster.user_and_teams(user.user_id).all(Assignment)]
    with pytest.raises(LookupError, match="there is no team search"):
        list(roster.team_page("search"))


def test_closing_an_empty_or_closed_team_works(roster: Roster) -> None:
    roster.set_up_team(Team(team_id="ghosts", name="Ghosts"))
    for _ in range(2):
        roster.close("ghosts")
        assert roster.team_and_members("ghosts").one(Team) is None


def test_commands_as_processes(tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        given = [sys.executable, "roster.py", "--db", str(tmp_path / "teams.db"), *arguments]
        done = subprocess.run(given, cwd=HERE, capture_output=True, text=True, check=False)
        return done.returncode, (done.stdout or done.stderr)

    assert run("load", "people.csv") == (0, "4 new\n")
    assert run("team", "search") == (0, "Search\n  Bob (lead) since 2026-03-01\n  Cid (member) since 2026-03-01\n")
    assert run("user", "zoe@example.com") == (1, "roster: nobody has the address zoe@example.com\n")


def test_the_command_with_a_server(prejoin_url: str) -> None:
    def say(*arguments: str) -> list[str]:
        return list(command.main(["--endpoint", prejoin_url, *arguments]))

    assert say("load", str(HERE / "people.csv")) == ["4 new"]
    assert say("user", "cid@example.com") == ["Cid <cid@example.com>", "  search (member) since 2026-03-01"]
    assert say("close", "search") == ["search is closed"]
    assert say("user", "cid@example.com") == ["Cid <cid@example.com>"]
