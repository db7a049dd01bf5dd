"""Charts of a company: from its divisions down to its people, and from a person down to their reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import NAMESPACE_URL, UUID, uuid5

from prejoin import AlreadyExists, Page, TransactionCancelled

from organisation.entities import Division, Employee, Organisation, Team
from organisation.repository import OrganisationRepository


class ChartError(Exception):
    """A request that cannot be carried out."""


@dataclass
class Node:
    """A line of a chart, and the lines below it."""

    label: str
    below: list[Node] = field(default_factory=list)

    def lines(self, arm: str = "", margin: str = "") -> Iterator[str]:
        """
        >>> print(*Node("a", [Node("b", [Node("c")]), Node("d")]).lines(), sep="\\n")
        a
        ├── b
        │   └── c
        └── d
        """
        yield arm + self.label
        for node in self.below[:-1]:
            yield from node.lines(f"{margin}├── ", f"{margin}│   ")
        for node in self.below[-1:]:
            yield from node.lines(f"{margin}└── ", f"{margin}    ")


class Charts:
    """Reads and changes companies."""

    def __init__(self, repository: OrganisationRepository) -> None:
        self.repository = repository

    def load(self, org: str, rows: Sequence[dict[str, str]]) -> None:
        """Loads a company, a row for each person. Existing items stay, so an interrupted load can be repeated."""
        with ignore_existing():
            self.repository.set_up_organisation(Organisation(org_id=org, name=org.upper()))
        for row in rows:
            division, team = short(row["division"]), short(row["team"])
            with ignore_existing():
                self.repository.add_division(Division(org_id=org, division_id=division, name=row["division"]))
            with ignore_existing():
                self.repository.add_team(Team(org_id=org, division_id=division, team_id=team, name=row["team"]))
            employee = Employee(
                employee_id=id_of(row["email"]),
                org_id=org,
                division_id=division,
                team_id=team,
                manager_id=id_of(row["manager"]) if row["manager"] else None,
                name=row["name"],
                title=row["title"],
            )
            with ignore_existing():
                self.repository.hire(employee)

    def person(self, email: str) -> Employee:
        if found := self.repository.one_person(id_of(email)):
            return found
        raise ChartError(f"there is nobody with the address {email}")

    def company(self, org: str) -> Node:
        """The whole company, with its people."""
        top, divisions = Node(org), dict[str, Node]()
        cursor, there = None, False
        while True:
            found = self.repository.whole_chart_of_organisation(org, after=cursor)
            for organisation in found.all(Organisation):
                top.label, there = organisation.name, True
            for division in found.all(Division):
                divisions[division.division_id] = Node(division.name)
            for team in found.all(Team):
                divisions[team.division_id].below.append(self._team(team))
            if (cursor := found.cursor) is None:
                break
        if not there:
            raise ChartError(f"there is no company {org}")
        top.below = list(divisions.values())
        return top

    def division(self, org: str, division_id: str) -> Node:
        """One division with its teams and their people."""
        found = self.repository.division_with_teams(org, division_id)
        division = found.one(Division)
        if division is None:
            raise ChartError(f"there is no division {division_id} in {org}")
        return Node(division.name, [self._team(team) for team in found.all(Team)])

    def _team(self, team: Team) -> Node:
        key = team.org_id, team.division_id, team.team_id
        people = all_pages(lambda after: self.repository.people_of_team(*key, after=after))
        return Node(team.name, [Node(f"{one.name}, {one.title}") for one in people])

    def reports(self, employee: Employee, above: frozenset[UUID] = frozenset()) -> Node:
        """A person and their direct and indirect reports."""
        above |= {employee.employee_id}
        below = [one for one in self._reporting(employee) if one.employee_id not in above]
        return Node(f"{employee.name}, {employee.title}", [self.reports(one, above) for one in below])

    def _reporting(self, manager: Employee) -> Iterator[Employee]:
        return all_pages(lambda after: self.repository.who_reports_to_manager(manager.employee_id, after=after))

    def move(self, employee: Employee, division_id: str, team_id: str, manager: Employee | None) -> None:
        """Moves a person to a team and a manager, who must not report to them."""
        up = manager
        while up:
            if up.employee_id == employee.employee_id:
                raise ChartError(f"{manager.name if manager else ''} reports to {employee.name}")
            up = self.repository.one_person(up.manager_id) if up.manager_id else None
        try:
            self.repository.move_person_to_another_team_or_manager(
                employee.employee_id,
                employee.org_id,
                division_id,
                team_id,
                employee.name,
                manager_id=manager.employee_id if manager else None,
            )
        except TransactionCancelled as error:
            raise ChartError(f"there is no team {team_id} in {division_id}, or {employee.name} has left") from error

    def leave(self, employee: Employee) -> None:
        if first := next(self._reporting(employee), None):
            raise ChartError(f"{first.name} reports to {employee.name}: give them another manager first")
        self.repository.person_leaves(employee.employee_id)


def all_pages(read: Callable[[str | None], Page[Employee]]) -> Iterator[Employee]:
    cursor = None
    while True:
        page = read(cursor)
        yield from page
        if (cursor := page.cursor) is None:
            return


@contextmanager
def ignore_existing() -> Iterator[None]:
    """Ignores the error that an item exists."""
    try:
        yield
    except AlreadyExists:
        pass
    except TransactionCancelled as error:
        if not all(isinstance(one, AlreadyExists) for one in error.failures):
            raise


def id_of(email: str) -> UUID:
    """An id derived from the address, so that loading a person twice makes one item."""
    return uuid5(NAMESPACE_URL, f"mailto:{email.lower()}")


def short(name: str) -> str:
    """The short name of a division or team.

    >>> short("Research & Development")
    'research-development'
    """
    return re.sub(r"\W+", "-", name.lower()).strip("-")
