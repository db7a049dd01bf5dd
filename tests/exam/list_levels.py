"""Lists over lists: the steps of the jobs of a firm's teams, whatever the order in which the row names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, permutations
from typing import Any

from tests.exam.documents import TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import Case, Exam, Plan

Tables = dict[str, list[Item]]
LEVELS = ("Firm", "Team", "Job", "Step")
"""The items of each entity belong to those of the entity before it."""


def entities() -> list[EntityText]:
    found = [EntityText("Firm", ("`firmId` (string, natural)", "`state` (NEW | DONE, mutable)"))]
    for parent, entity in pairwise(LEVELS):
        attributes = (
            f"`{entity.lower()}Id` (string, natural)",
            f"`{parent.lower()}Id` (string, immutable, → {parent})",
            "`state` (NEW | DONE, mutable)",
        )
        found.append(EntityText(entity, attributes, f"~3 per {parent}"))
    return found


READS = tuple(Read(entity, f"{entity.lower()}Id") for entity in LEVELS)


def content(width: int) -> Tables:
    """Two firms; each item of the first has so many children, and each of the second has one."""
    tables: Tables = {"Firm": [{"firmId": name, "state": "NEW"} for name in ("a", "b")]}
    for parent, entity in pairwise(LEVELS):
        tables[entity] = []
        for owner in (item[f"{parent.lower()}Id"] for item in tables[parent]):
            for number in range(width if owner.startswith("a") else 1):
                own = {f"{entity.lower()}Id": f"{owner}{number}", f"{parent.lower()}Id": owner}
                tables[entity].append({**own, "state": "NEW"})
    return tables


@dataclass(frozen=True, slots=True)
class Form:
    items: tuple[str, ...]
    """The entities whose lists are written, in the order of the row; `Firm` for the firm itself."""
    inputs: str
    verb: str = "delete"
    conditions: str = "-"

    @property
    def text(self) -> str:
        changed = "" if self.verb == "delete" else " (state = DONE)"
        is_given = "[]" in self.inputs
        names = [name if name == "Firm" and not is_given else f"{name}[]" for name in self.items]
        return "; ".join(f"{self.verb} {name}{changed}" for name in names)


FORMS = (
    *(Form(order, "firmId") for order in permutations(LEVELS[1:])),
    *(Form(order, "firmId") for order in (LEVELS, LEVELS[::-1], ("Step", "Firm", "Team", "Job"))),
    *(Form(order, "firmId", "update") for order in (LEVELS, LEVELS[::-1])),
    *(Form(order, "firmId[]") for order in (("Firm", "Team"), *permutations(("Firm", "Team", "Job")))),
    *(Form(order, "firmId[]", "update") for order in (("Firm", "Team", "Job"), ("Job", "Team", "Firm"))),
    Form(("Team", "Job"), "firmId, teamId[]"),
    Form(("Team", "Job"), "firmId, teamId[]", conditions="Firm exists"),
    Form(("Job", "Team"), "firmId, teamId[]", conditions="Firm.state = NEW"),
    Form(LEVELS, "firmId", conditions="Firm exists"),
    Form(LEVELS[1:], "firmId", conditions="Firm exists"),
)


def _belongs(entity: str, item: Item, roots: Sequence[str]) -> bool:
    """Whether an item is one of the given ones or below them: ids begin with the id of the parent."""
    return any(item[f"{entity.lower()}Id"].startswith(root) for root in roots)


def _after(form: Form, tables: Tables, roots: Sequence[str]) -> Tables:
    after: Tables = {}
    for entity, items in tables.items():
        after[entity] = []
        for item in items:
            if entity not in form.items or not _belongs(entity, item, roots):
                after[entity].append(item)
            elif form.verb == "update":
                after[entity].append({**item, "state": "DONE"})
    return after


def levels(tenancy: Tenancy, transaction: str) -> Exam:
    rows: list[Row] = []
    cases: list[Case] = []
    for form in FORMS:
        names = ", ".join(form.items)
        # Without a transaction, the jobs of a given team of another firm would be written before that is known.
        refused = transaction == "No" and form.inputs == "firmId, teamId[]"
        row = Row(f"row {len(rows)}", names, form.inputs, form.text, form.conditions, transaction, refused)
        rows.append(row)
        if refused:
            continue
        for label, width in (("several", 2), ("one", 1), ("empty", 0)):
            tables = content(width)
            teams = [team["teamId"] for team in tables["Team"] if team["firmId"] == "a"]
            for more, arguments, roots in (
                ("", {"firmId": "a", "firmId[]": ["a"], "teamId[]": teams}, ["a"]),
                (" of none", {"firmId": "a", "firmId[]": [], "teamId[]": []}, []),
                (" of one", {"firmId": "a", "firmId[]": ["b"], "teamId[]": teams[:1]}, []),
            ):
                if "[]" not in form.inputs:
                    if more:
                        continue
                elif more == " of one":
                    roots = ["b"] if form.inputs == "firmId[]" else teams[:1]
                elif form.inputs != "firmId[]":
                    roots = list(arguments["teamId[]"])
                after = _after(form, tables, roots)
                cases.append(_case(tenancy, row, label + more, tables, arguments, after))
        if "teamId[]" in form.inputs:
            tables = content(2)
            strange = {"firmId": "a", "teamId[]": ["a0", "b0"]}
            cases.append(_case(tenancy, row, "a team of another firm", tables, strange, None))
        if form.conditions != "-":
            tables = content(2)
            arguments = {"firmId": "a", "teamId[]": ["a0"]}
            without = {**tables, "Firm": tables["Firm"][1:]}
            cases.append(_case(tenancy, row, "no firm", without, arguments, None))
    return Exam(f"levels, {transaction}", DocumentText(tenancy, entities(), READS, rows), cases)


def _case(
    tenancy: Tenancy, row: Row, label: str, before: Tables, arguments: Mapping[str, Any], after: Tables | None
) -> Case:
    other = _entries(content(2))
    expected = None if after is None else for_tenants(tenancy, _entries(after), other)
    return Case(row, label, for_tenants(tenancy, _entries(before), other), arguments, expected)


def _entries(tables: Tables) -> list[tuple[str, Item]]:
    return [(entity, item) for entity, items in tables.items() for item in items]


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    return [
        Plan(f"levels, {transaction}", tenancy, partial(levels, tenancy, transaction))
        for tenancy in tenancies
        for transaction in ("Yes", "No")
    ]
