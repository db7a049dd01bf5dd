"""Values of new items that the row says: constants, inputs, other attributes and the time, in each place of an item.

The rule that they are compared with is `expected_item`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from tests.exam.documents import ACTING, TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import NOW, Case, Exam, Plan

VERBS = ("create", "put")
SOURCES = ("constant", "input", "attribute", "optional attribute", "another that is set", "now")
PLACES = ("plain", "index", "unique", "key")
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Target:
    """The attribute `held` that rows set: its type, and where it is kept."""

    place: str
    type: str
    optional: bool

    @property
    def name(self) -> str:
        return f"{'optional' if self.optional else 'required'} {self.type}, {self.place}"

    @property
    def attribute(self) -> str:
        words = {"plain": "mutable", "index": "mutable", "unique": "mutable, unique", "key": "natural"}[self.place]
        return f"`held` ({self.type}, {'optional, ' * self.optional}{words})"

    @property
    def entity(self) -> EntityText:
        id_attribute = "`docId` (uuid, id)" if self.place == "key" else "`docId` (uuid, generated)"
        others = (f"`source` ({self.type}, mutable)", f"`spare` ({self.type}, optional, mutable)")
        return EntityText("Doc", (id_attribute, self.attribute, *others))

    @property
    def reads(self) -> Sequence[Read]:
        by_id = "docId, held" if self.place == "key" else "docId"
        indexed = Read("Doc", "held", "Collection")
        return (Read("Doc", by_id), *([indexed] if self.place == "index" else []))

    def value(self, number: int) -> Any:
        """One of several values of the type; 0 is the constant in rows."""
        return f"v{number}" if self.type == "string" else datetime(2026, 1, 1 + number, tzinfo=UTC)

    @property
    def constant(self) -> str:
        return '"v0"' if self.type == "string" else '"2026-01-01T00:00:00Z"'


TARGETS = [
    Target(place, type_, optional)
    for place in PLACES
    for type_ in ("string", "datetime")
    for optional in (False, True)
    if not (place == "key" and optional)
]


def row_of(target: Target, verb: str, source: str, many: bool) -> Row:
    changes = {
        "constant": f"held = {target.constant}",
        "input": "held = given",
        "attribute": "held = source",
        "optional attribute": "held = spare",
        "another that is set": f"source = {target.constant}, held = source",
        "now": "held = now",
    }[source]
    name = "Doc[]" if many else "Doc"
    inputs = f"{name}, given" if source == "input" else name
    is_impossible = source == "optional attribute" and not target.optional
    if many and target.place == "unique" and source not in ("attribute", "optional attribute"):
        is_impossible = True  # two items of the list would have the same value
    return Row(
        f"{verb} {'several' if many else 'one'} by {source}",
        "Doc",
        inputs,
        f"{verb} {name} ({changes})",
        contradiction=is_impossible,
    )


def expected_item(target: Target, source: str, item: Item, given: Any) -> Item | str:
    """The item that is stored for an object, or that it is refused."""
    if source == "now":
        return {**item, "held": NOW}
    if source == "another that is set" and item["source"] != target.value(0):
        return REFUSED
    value = {
        "constant": target.value(0),
        "input": given,
        "attribute": item["source"],
        "optional attribute": item.get("spare"),
        "another that is set": target.value(0),
    }[source]
    if "held" in item and item["held"] != value:
        return REFUSED
    return item if value is None else {**item, "held": value}


def _objects(target: Target) -> Iterator[tuple[str, Item]]:
    """Objects with each combination of values."""
    for held in (None, 0, 1, 2):
        for source in (0, 1):
            for spare in (None, 1):
                numbers = {"held": held, "source": source, "spare": spare}
                item = {name: target.value(number) for name, number in numbers.items() if number is not None}
                if held is not None or target.optional:
                    yield f"held {held}, source {source}, spare {spare}", {"docId": UUID(int=1), **item}


def _is_same(target: Target, one: Item, other: Item) -> bool:
    names = ("docId", "held") if target.place == "key" else ("docId",)
    return all(one[name] == other[name] for name in names)


def _cases(target: Target, tenancy: Tenancy, row: Row, verb: str, source: str, many: bool) -> Iterator[Case]:
    given = target.value(1)
    bystander = {"docId": UUID(int=9), "held": target.value(7), "source": target.value(7)}
    for label, item in _objects(target):
        result = expected_item(target, source, item, given)
        befores: dict[str, list[Item]] = {"nothing": []}
        if not isinstance(result, str) and "held" in result:
            befores["the same"] = [{**result, "source": target.value(5)}]
            befores["one with its value"] = [{**result, "docId": UUID(int=2)}]
        for state, before in befores.items():
            after: list[Item] | None = [*before]
            is_taken = target.place == "unique" and state == "one with its value"
            if isinstance(result, str) or (verb == "create" and state == "the same") or is_taken:
                after = None
            else:
                after = [*(one for one in before if not _is_same(target, one, result)), result]
            acting = [("Doc", one) for one in (*before, bystander)]
            expected = None
            if after is not None:
                expected = for_tenants(tenancy, [("Doc", one) for one in (*after, bystander)], acting[-1:])
            stored = for_tenants(tenancy, acting, acting[-1:])
            own = _owned(tenancy, item)
            arguments: Mapping[str, Any] = {"Doc[]": [own]} if many else {"Doc": own}
            yield Case(row, f"{label}; {state}", stored, {**arguments, "given": given}, expected, (ValueError,))


def _owned(tenancy: Tenancy, item: Item) -> Item:
    return {tenancy.attribute: ACTING, **item} if tenancy.attribute else item


def exam(target: Target, tenancy: Tenancy) -> Exam:
    rows: list[Row] = []
    cases: list[Case] = []
    for verb in VERBS:
        for source in SOURCES:
            if source == "now" and target.type != "datetime":
                continue
            for many in (False, True):
                row = row_of(target, verb, source, many)
                rows.append(row)
                if not row.contradiction:
                    cases += _cases(target, tenancy, row, verb, source, many)
    return Exam(target.name, DocumentText(tenancy, [target.entity], target.reads, rows), cases)


def short(plan_exam: Exam) -> Exam:
    """The exam with a few of its rows, for every day."""
    rows = plan_exam.document.rows[:4]
    cases = [case for case in plan_exam.cases if case.row in rows]
    return Exam(plan_exam.name, replace(plan_exam.document, rows=rows), cases)


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    return [Plan(target.name, tenancy, partial(exam, target, tenancy)) for tenancy in tenancies for target in TARGETS]
