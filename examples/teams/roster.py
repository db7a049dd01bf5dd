"""The roster of a company: `python roster.py load people.csv`, then `user ann@example.com`, `team platform`.

The table is in teams.db; `--db FILE`, `--endpoint URL` or `--aws` select another location.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from uuid import uuid4

from prejoin import (
    AWS,
    AlreadyExists,
    Client,
    Embedded,
    Endpoint,
    NotUnique,
    TableError,
    TransactionCancelled,
    TransportError,
)

from teams.entities import Assignment, AssignmentRole, Team, User
from teams.repository import TeamsRepository
from teams.schema import SCHEMA, TABLE

ROLES: dict[str, AssignmentRole] = {"LEAD": "LEAD", "MEMBER": "MEMBER"}


class Roster(TeamsRepository):
    """The access patterns, and actions that consist of several."""

    def load(self, rows: Iterable[Mapping[str, str]]) -> int:
        """Adds the users of a list to their teams, and returns the number of new assignments. It can be repeated."""
        users: dict[str, User] = {}
        new = 0
        for number, row in enumerate(rows, 1):
            try:
                email, team_id, role = row["email"], row["team"], ROLES[row["role"]]
                since = dt.date.fromisoformat(row["since"])
            except (KeyError, ValueError) as error:
                raise ValueError(f"row {number} of the list: {error}") from None
            users[email] = user = users.get(email) or self.user(email, row["name"])
            with suppress(AlreadyExists):
                self.set_up_team(Team(team_id=team_id, name=team_id.title()))
            try:
                self.put_user_into_team(Assignment(user_id=user.user_id, team_id=team_id, since=since, role=role))
                new += 1
            except TransactionCancelled as error:
                if not all(isinstance(one, AlreadyExists) for one in error.failures):
                    raise
        return new

    def user(self, email: str, name: str) -> User:
        """The user with an e-mail address; a new one if there is none."""
        new = User(user_id=uuid4(), email=email, name=name, status="ACTIVE")
        try:
            self.add_user(new)
        except NotUnique:
            return self.user_by_email(email)
        return new

    def user_by_email(self, email: str) -> User:
        found = self.sign_in_by_email(email)
        if found is None:
            raise LookupError(f"nobody has the address {email}")
        return found

    def user_page(self, email: str) -> Iterator[str]:
        """A user and their teams: one request by the address, and one for both."""
        found = self.user_and_teams(self.user_by_email(email).user_id)
        user = found.one(User)
        assert user is not None
        yield f"{user.name} <{user.email}>" + (" (suspended)" if user.status == "SUSPENDED" else "")
        yield from (f"  {one.team_id} ({one.role.lower()}) since {one.since}" for one in found.all(Assignment))

    def team_page(self, team_id: str) -> Iterator[str]:
        """A team and its members by name: assignments from the inverted index, and profiles in a batch."""
        team = self.team_and_members(team_id).one(Team)
        if team is None:
            raise LookupError(f"there is no team {team_id}")
        yield team.name
        lines: list[str] = []
        after: str | None = None
        while True:
            page, users = self.members_of_team_with_profiles(team_id, after=after)
            lines += [f"  {users[one.user_id].name} ({one.role.lower()}) since {one.since}" for one in page]
            if (after := page.cursor) is None:
                break
        yield from sorted(lines)

    def close(self, team_id: str) -> None:
        """Deletes a team. The team goes first, so that nobody can be added while its assignments are deleted."""
        self.close_team(team_id, [])
        while members := self.team_and_members(team_id).all(Assignment):
            self.close_team(team_id, [one.user_id for one in members])


def connect(db: str = "teams.db", endpoint: str | None = None, aws: bool = False) -> Roster:
    """Opens the roster in a file, on a server or on AWS, and creates the table if it is missing."""
    place: AWS | Endpoint | Embedded = AWS() if aws else Endpoint(endpoint) if endpoint else Embedded(db)
    client = Client(SCHEMA, TABLE, place)
    if not aws:  # template.yaml creates it there
        client.create_table(if_absent=True)
    return Roster(client)


def main(arguments: list[str] | None = None) -> Iterator[str]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--db", default="teams.db", metavar="FILE", help="a file of the embedded engine; default: teams.db"
    )
    parser.add_argument("--endpoint", metavar="URL", help="a DynamoDB-compatible server")
    parser.add_argument("--aws", action="store_true", help="AWS; template.yaml creates the table")
    parser.add_argument("command", choices=["load", "user", "team", "close"])
    parser.add_argument("what", help="a file to load, an e-mail address, or a team")
    given = parser.parse_args(arguments)
    roster = connect(given.db, given.endpoint, given.aws)
    with closing(roster.db):
        match given.command:
            case "load":
                with open(given.what, encoding="utf-8", newline="") as file:
                    yield f"{roster.load(csv.DictReader(file))} new"
            case "user":
                yield from roster.user_page(given.what)
            case "team":
                yield from roster.team_page(given.what)
            case "close":
                roster.close(given.what)
                yield f"{given.what} is closed"


if __name__ == "__main__":
    try:
        for line in main():
            print(line)
    except (LookupError, ValueError, OSError, TableError, TransportError) as error:
        sys.exit(f"roster: {error}")
