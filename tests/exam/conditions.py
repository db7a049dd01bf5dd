"""Conditions of writes: each form of the guide with each verb, on the written item and on another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from tests.exam.documents import TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import NOW, Case, Exam, Plan
from tests.exam.oracle import Clause, Combined, Condition, Given, Now, Other, accepts, contradicts, plain

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Form:
    """A form of condition, and attributes of items that fulfil it or do not."""

    name: str
    conditions: tuple[Clause, ...]
    states: Mapping[str, Item]
    """Attributes of an item, by a label. Each form has at least one that fulfils it and one that does not."""
    arguments: Mapping[str, Any]
    unfulfilled: Mapping[str, Any] = field(default_factory=dict)
    """Arguments with which no item fulfils it; empty if there are none."""

    @property
    def has_whole(self) -> bool:
        """Whether a part is about the item as a whole."""
        return any(one.is_whole for clause in self.conditions for one in plain(clause))

    def text(self, prefix: str, names: Mapping[str, str], owner: str = "Ticket") -> str:
        """As the document says it, with `Ticket.` or nothing before each attribute."""
        return "; ".join(_clause_text(clause, prefix, names, owner) for clause in self.conditions)


def _clause_text(clause: Clause, prefix: str, names: Mapping[str, str], owner: str) -> str:
    if isinstance(clause, Condition):
        return _condition_text(clause, prefix, names, owner)
    parts = [_clause_text(part, prefix, names, owner) for part in clause.parts]
    if clause.word == "not":
        return f"not ({parts[0]})"
    grouped = [
        f"({text})" if isinstance(part, Combined) else text for part, text in zip(clause.parts, parts, strict=True)
    ]
    return f" {clause.word} ".join(grouped)


def _condition_text(condition: Condition, prefix: str, names: Mapping[str, str], owner: str) -> str:
    if not condition.attribute:
        return f"{prefix.removesuffix('.')} {condition.op}".strip()
    values = [_value_text(value, names, owner) for value in condition.values]
    said = {"between": " and ".join(values), "in": f"({', '.join(values)})"}.get(condition.op, " ".join(values))
    return f"{prefix}{names.get(condition.attribute, condition.attribute)} {condition.op} {said}".strip()


def _value_text(value: Any, names: Mapping[str, str], owner: str) -> str:
    if isinstance(value, Other):
        return f"{owner}.{names.get(value.attribute, value.attribute)}"
    if isinstance(value, Given):
        return value.name
    if isinstance(value, Now):
        return "now"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _form(text: str, states: Mapping[str, Item], *conditions: Clause, **arguments: Any) -> Form:
    return Form(text, conditions, states, arguments)


def _numbers(op: str, *values: Any, **arguments: Any) -> Form:
    states = {str(number): {"stock": number} for number in (4, 5, 6, 1, 9)}
    return _form(f"stock {op}", {**states, "without": {}}, Condition("stock", op, values), **arguments)


def _times(op: str) -> Form:
    times = {"later": NOW + HOUR, "earlier": NOW - HOUR, "now": NOW}
    states: dict[str, Item] = {label: {"expiresAt": time} for label, time in times.items()}
    return _form(f"expiresAt {op} now", {**states, "without": {}}, Condition("expiresAt", op, (Now(),)))


def _statuses(op: str, *members: str) -> Form:
    return _form(f"status {op} {members}", _STATUSES, Condition("status", op, members))


_STATUSES: dict[str, Item] = {
    "HELD": {"status": "HELD"},
    "OPEN": {"status": "OPEN"},
    "DONE": {"status": "DONE"},
    "without": {},
}
_NOTES: dict[str, Item] = {
    "draft": {"note": "draft 1"},
    "apart": {"note": "a part"},
    "other": {"note": "letter"},
    "without": {},
}
_TAGS: dict[str, Item] = {
    "urgent": {"tags": {"urgent", "old"}},
    "others": {"tags": {"old", "urgently"}},
    "only": {"tags": {"urgent"}},
    "without": {},
}
_ACTIVE: dict[str, Item] = {"true": {"active": True}, "false": {"active": False}, "without": {}}
_REVS: dict[str, Item] = {"expected": {"rev": 7}, "older": {"rev": 6}, "newer": {"rev": 8}}
_BOTH: dict[str, Item] = {
    "both": {"status": "OPEN", "stock": 5},
    "status only": {"status": "OPEN", "stock": 4},
    "stock only": {"status": "DONE", "stock": 5},
    "neither": {"status": "HELD", "stock": 4},
    "without status": {"stock": 6},
    "without stock": {"status": "OPEN"},
}
EXISTS = Condition("", "exists")
NOT_EXISTS = Condition("", "not exists")
LEAST = Given("least")
FORMS = (
    _form("exists", {"any": {"note": "x"}}, EXISTS),
    _form("not exists", {"any": {"note": "x"}}, NOT_EXISTS),
    _form("not exists and attribute", _NOTES, NOT_EXISTS, Condition("note", "not exists")),
    _form("note exists", _NOTES, Condition("note", "exists")),
    _form("note not exists", _NOTES, Condition("note", "not exists")),
    _numbers(">=", LEAST, least=5),
    _numbers(">", LEAST, least=5),
    _numbers("<=", LEAST, least=5),
    _numbers("<", LEAST, least=5),
    _numbers("=", LEAST, least=5),
    _numbers("<>", LEAST, least=5),
    _numbers("=", 5),
    _numbers("<>", 5),
    _numbers(">=", 5),
    _numbers("<", 5),
    _numbers("between", 1, 5),
    replace(_numbers("between", Given("low"), Given("high"), low=1, high=5), unfulfilled={"low": 5, "high": 1}),
    replace(_numbers("between", 1, Given("high"), high=5), unfulfilled={"high": 0}),
    replace(_numbers("between", Given("low"), 5, low=1), unfulfilled={"low": 6}),
    _numbers("in", 9, 5),
    _form("rev = expected", _REVS, Condition("rev", "=", (Given("expected"),)), expected=7),
    _form("rev <> expected", _REVS, Condition("rev", "<>", (Given("expected"),)), expected=7),
    _statuses("=", "OPEN"),
    _statuses("=", "DONE"),
    _statuses("=", "HELD"),
    _statuses("<>", "DONE"),
    _statuses("<>", "OPEN"),
    _statuses("in", "DONE", "OPEN"),
    _statuses("in", "OPEN", "HELD"),
    _form(
        "status = expectedStatus", _statuses("=").states, Condition("status", "=", (Given("wanted"),)), wanted="DONE"
    ),
    _form("active = true", _ACTIVE, Condition("active", "=", (True,))),
    _form("active = false", _ACTIVE, Condition("active", "=", (False,))),
    _form("active <> true", _ACTIVE, Condition("active", "<>", (True,))),
    _form("note begins_with draft", _NOTES, Condition("note", "begins_with", ("draft",))),
    _form("note begins_with start", _NOTES, Condition("note", "begins_with", (Given("start"),)), start="dra"),
    _form("note contains part", _NOTES, Condition("note", "contains", ("part",))),
    _form("tags contains urgent", _TAGS, Condition("tags", "contains", ("urgent",))),
    _form("tags contains tag", _TAGS, Condition("tags", "contains", (Given("tag"),)), tag="urgent"),
    _times(">"),
    _times(">="),
    _times("<"),
    _times("<="),
    _form("two", _BOTH, Condition("status", "=", ("OPEN",)), Condition("stock", ">=", (LEAST,)), least=5),
    _form("two not", _BOTH, Condition("status", "<>", ("DONE",)), Condition("stock", "<", (6,))),
    _form("exists and compare", _STATUSES, EXISTS, Condition("status", "<>", ("DONE",))),
    _form("exists and attribute", _NOTES, EXISTS, Condition("note", "not exists")),
)

# --- Conditions with parts ------------------------------------------------------------------------------------------


def _any(*parts: Clause) -> Combined:
    return Combined("or", parts)


def _all(*parts: Clause) -> Combined:
    return Combined("and", parts)


def _not(part: Clause) -> Combined:
    return Combined("not", (part,))


_TWO: dict[str, Item] = {
    f"{status} {stock}": {
        **({"status": status} if status else {}),
        **({"stock": stock} if stock else {}),
    }
    for status in ("OPEN", "DONE", "")
    for stock in (4, 5, 0)
}
"""A status and a number, both of which may be absent."""
_HELD: dict[str, Item] = {
    "free": {"status": "OPEN"},
    "free, held once": {"status": "OPEN", "expiresAt": NOW - HOUR},
    "held": {"status": "HELD", "expiresAt": NOW + HOUR},
    "held till now": {"status": "HELD", "expiresAt": NOW},
    "held no more": {"status": "HELD", "expiresAt": NOW - HOUR},
    "held for ever": {"status": "HELD"},
    "neither": {},
}
_RELATED: dict[str, Item] = {str(number): {"stock": number, "rev": 5} for number in (4, 5, 6)} | {"without": {"rev": 5}}
_OPEN, _DONE = (Condition("status", "=", (status,)) for status in ("OPEN", "DONE"))
_ENOUGH = Condition("stock", ">=", (LEAST,))
_FIVE = Condition("stock", ">=", (5,))
_NOTE = Condition("note", "exists")
_THREE: dict[str, Item] = {
    f"{label}, {note}": {**state, **({"note": "draft 1"} if note == "noted" else {})}
    for label, state in _TWO.items()
    for note in ("noted", "not noted")
}


def _related(op: str) -> Form:
    return _form(f"stock {op} rev", _RELATED, Condition("stock", op, (Other("rev"),)))


COMBINED = (
    _form("or", _TWO, _any(_OPEN, _ENOUGH), least=5),
    _form("or of a time", _HELD, _any(_OPEN, Condition("expiresAt", "<", (Now(),)))),
    _form("or of three", _THREE, _any(_DONE, _FIVE, _NOTE)),
    _form("and in or", _THREE, _any(_all(_OPEN, _FIVE), _NOTE)),
    _form("or in and", _THREE, _any(_OPEN, _NOTE), _FIVE),
    _form("or beside and", _THREE, _all(_any(_OPEN, _NOTE), _FIVE)),
    _form("or, absent", _TWO, _any(Condition("status", "not exists"), Condition("stock", "<", (5,)))),
    _form("or, unlike", _TWO, _any(Condition("status", "<>", ("OPEN",)), _FIVE)),
    _form("not equal", _STATUSES, _not(_OPEN)),
    _form("not unlike", _STATUSES, _not(Condition("status", "<>", ("OPEN",)))),
    _form("not less", _TWO, _not(Condition("stock", "<", (5,)))),
    _form("not between", _numbers("=").states, _not(Condition("stock", "between", (1, 5)))),
    _form("not in", _STATUSES, _not(Condition("status", "in", ("OPEN", "DONE")))),
    _form("not exists, as a part", _NOTES, _not(_NOTE)),
    _form("not begins_with", _NOTES, _not(Condition("note", "begins_with", ("draft",)))),
    _form("not contains", _TAGS, _not(Condition("tags", "contains", (Given("tag"),))), tag="urgent"),
    _form("not true", _ACTIVE, _not(Condition("active", "=", (True,)))),
    _form("not or", _TWO, _not(_any(_OPEN, _ENOUGH)), least=5),
    _form("not and", _TWO, _not(_all(_OPEN, _FIVE))),
    _form("not not", _TWO, _not(_not(_OPEN))),
    _form("not in or", _THREE, _any(_not(_OPEN), _all(_FIVE, _not(_NOTE)))),
    _form("absent or less", _TWO, _any(NOT_EXISTS, Condition("stock", "<", (5,)))),
    _form("there and free", _TWO, _any(_all(EXISTS, _OPEN), _FIVE)),
    *map(_related, ("<", "<=", ">", ">=", "=", "<>")),
    _form("not related", _RELATED, _not(Condition("stock", "<", (Other("rev"),)))),
    _form("or related", _RELATED, _any(Condition("stock", "<", (Other("rev"),)), Condition("stock", "not exists"))),
)
"""Conditions with `or`, `and`, `not` and parentheses, and those of two attributes."""

# --- Entities -------------------------------------------------------------------------------------------------------

_SHARED = (
    "`status` (OPEN | HELD | DONE, optional, mutable)",
    "`stock` (integer, optional, mutable)",
    "`note` (string, optional, mutable)",
    "`active` (boolean, optional, mutable)",
    "`tags` (set of string, optional, mutable)",
    "`expiresAt` (datetime, optional, mutable)",
    "`rev` (integer, mutable)",
)
"""Attributes of both entities."""
PROJECT_ONLY = {
    "status": "phase",
    "stock": "budget",
    "note": "memo",
    "active": "running",
    "tags": "labels",
    "expiresAt": "closesAt",
    "rev": "edition",
}
"""Attributes that only a project has, by the shared ones of the same type."""


def _renamed(line: str) -> str:
    name = line.split("`")[1]
    return line.replace(f"`{name}`", f"`{PROJECT_ONLY[name]}`")


PROJECT = EntityText(
    "Project",
    (
        "`projectId` (string, natural)",
        "`name` (string, mutable)",
        "`hits` (integer, mutable)",
        *_SHARED,
        *map(_renamed, _SHARED),
    ),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """How a ticket is identified."""

    name: str
    ticket: EntityText
    ids: str
    """The inputs that name a ticket."""
    generated: bool


GENERATED = Shape(
    "generated id",
    EntityText(
        "Ticket",
        (
            "`ticketId` (uuid, generated)",
            "`projectId` (string, immutable, → Project)",
            "`name` (string, mutable)",
            *_SHARED,
        ),
        "~5 per Project",
    ),
    "ticketId",
    True,
)
COMPOSITE = Shape(
    "composite id",
    EntityText(
        "Ticket",
        (
            "`projectId` (string, id, → Project)",
            "`number` (integer, natural)",
            "`name` (string, mutable)",
            *_SHARED,
        ),
        "~5 per Project",
    ),
    "projectId, number",
    False,
)
SHAPES = (GENERATED, COMPOSITE)


@dataclass(frozen=True, slots=True)
class Layout:
    """The actions of a row: what it does with the ticket or tickets, and with their project."""

    name: str
    items: str
    ticket: str = ""
    """The verb for the ticket."""
    project: str = ""
    """The verb for the project; `check` if it only stands in conditions; empty if the row does not name it."""
    many: bool = False
    transaction: str = "Yes"

    def inputs(self, shape: Shape) -> str:
        if self.many:
            names = ["projectId"]
        elif self.ticket in ("create", "put"):
            names = ["Ticket"]
        else:
            names = [shape.ids]
            if shape.generated and (self.project or self.ticket == "upsert"):
                names.append("projectId")
        if self.project == "create":
            names.append("Project")
        if self.ticket in ("update", "upsert"):
            names.append("name")
        if self.ticket == "upsert":
            names.append("rev")
        return ", ".join(names)

    def actions(self, shape: Shape) -> str:
        upsert = "(name, rev, projectId)" if shape.generated else "(name, rev)"
        return self.items.replace("upsert Ticket", f"upsert Ticket {upsert}")


_ACTIONS = {
    "create": "create Ticket",
    "put": "put Ticket",
    "update": "update Ticket (name)",
    "upsert": "upsert Ticket",
    "delete": "delete Ticket",
}
_STEP = "update Project (hits += 1)"
ALONE = tuple(
    Layout(f"{verb}, {transaction}", items, verb, "", transaction=transaction)
    for verb, items in _ACTIONS.items()
    for transaction in ("No", "Yes")
)
STEPS = (
    *(Layout(f"{verb}; update Project", f"{items}; {_STEP}", verb, "update") for verb, items in _ACTIONS.items()),
    Layout("update Project first; delete", f"{_STEP}; delete Ticket", "delete", "update"),
    Layout("create; create Project", "create Ticket; create Project", "create", "create"),
    Layout("delete; delete Project", "delete Ticket; delete Project", "delete", "delete"),
)
CHECKS = tuple(Layout(f"{verb}, check Project", items, verb, "check") for verb, items in _ACTIONS.items())
LISTS = (
    Layout("update list", "update Ticket[] (name)", "update", "", many=True),
    Layout("delete list", "delete Ticket[]", "delete", "", many=True),
    Layout("delete list; delete Project", "delete Ticket[]; delete Project", "delete", "delete", many=True),
    Layout("update list; update Project", f"update Ticket[] (name); {_STEP}", "update", "update", many=True),
)
LIST_CHECKS = (
    Layout("update list, check Project", "update Ticket[] (name)", "update", "check", many=True),
    Layout("delete list, check Project", "delete Ticket[]", "delete", "check", many=True),
)


@dataclass(frozen=True, slots=True)
class Placement:
    """Whom a condition is about, and how the document says so."""

    name: str
    entity: str
    prefix: str
    names: Mapping[str, str]


OWN_BARE = Placement("own bare", "Ticket", "", {})
OWN_DOTTED = Placement("own dotted", "Ticket", "Ticket.", {})
OTHER_DOTTED = Placement("other dotted", "Project", "Project.", {})
OTHER_BARE = Placement("other bare", "Project", "", PROJECT_ONLY)


def combinations() -> Iterator[tuple[Layout, Placement]]:
    for layout in (*ALONE, *STEPS, *LISTS):
        yield layout, OWN_BARE
        yield layout, OWN_DOTTED
    for layout in (*CHECKS, *STEPS, *LISTS[2:], *LIST_CHECKS):
        yield layout, OTHER_DOTTED
        yield layout, OTHER_BARE


def combined_plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    """The conditions with parts, for all layouts of actions."""
    return [
        plan(tenancy, shape, layout, placement, COMBINED)
        for tenancy in tenancies
        for shape in SHAPES
        for layout, placement in combinations()
    ]


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    found: list[Plan] = []
    for tenancy in tenancies:
        for shape in SHAPES:
            found += [plan(tenancy, shape, layout, placement) for layout, placement in combinations()]
        found.append(Plan("unique", tenancy, partial(unique, tenancy)))
        found.append(Plan("refused", tenancy, partial(refused, tenancy)))
        found.append(Plan("whose attribute", tenancy, partial(ambiguous, tenancy)))
    return found


def plan(tenancy: Tenancy, shape: Shape, layout: Layout, placement: Placement, forms: Sequence[Form] = FORMS) -> Plan:
    name = f"{layout.name}, {placement.name}, {shape.name}"
    return Plan(name, tenancy, partial(exam, tenancy, shape, layout, placement, forms))


def exam(tenancy: Tenancy, shape: Shape, layout: Layout, placement: Placement, forms: Sequence[Form] = FORMS) -> Exam:
    """The forms of condition for one layout of actions and one placement."""
    rows: list[Row] = []
    cases: list[Case] = []
    for form in forms:
        if placement is OTHER_BARE and form.has_whole:
            continue  # a bare `exists` is about the first entity
        if layout.many and placement.entity == "Ticket" and form.has_whole:
            continue  # a list has the items that exist
        row = _row(shape, layout, placement, form, len(rows))
        rows.append(row)
        if not row.contradiction:
            cases += _cases(tenancy, shape, layout, placement, form, row)
        if form.unfulfilled and not row.contradiction:
            inverted = replace(form, arguments=form.unfulfilled)
            found = _cases(tenancy, shape, layout, placement, inverted, row)
            cases += [replace(case, label=f"{case.label}, with {form.unfulfilled}") for case in found]
    name = f"{layout.name}, {placement.name}, {shape.name}"
    reads = (Read("Project", "projectId"), Read("Ticket", shape.ids), Read("Ticket", "projectId", "Collection"))
    return Exam(name, DocumentText(tenancy, (PROJECT, shape.ticket), reads, rows), cases)


def _row(shape: Shape, layout: Layout, placement: Placement, form: Form, number: int) -> Row:
    inputs = ", ".join((layout.inputs(shape), *form.arguments))
    verb = layout.ticket if placement.entity == "Ticket" else layout.project
    text = form.text(placement.prefix, placement.names, placement.entity)
    return Row(
        f"row {number}",
        "Ticket, Project" if layout.project else "Ticket",
        inputs,
        layout.actions(shape),
        text,
        layout.transaction,
        contradicts(verb, form.conditions),
    )


# --- Cases ----------------------------------------------------------------------------------------------------------

HERE, ELSEWHERE = "p1", "p2"


def _cases(
    tenancy: Tenancy, shape: Shape, layout: Layout, placement: Placement, form: Form, row: Row
) -> Iterator[Case]:
    """A case for each state of the item that the condition is about, and for its absence."""
    subject_verb = layout.ticket if placement.entity == "Ticket" else layout.project
    if layout.many and placement.entity == "Ticket":
        yield from _list_cases(tenancy, shape, layout, form, row)
        return
    for label, state in form.states.items():
        yield _case(tenancy, shape, layout, placement, form, row, label, state)
    # With the ids of a ticket and of its project, a delete of an absent ticket may compare the project: it is left open.
    is_open = layout.ticket == "delete" and bool(layout.project) and shape.generated and placement.entity == "Ticket"
    if subject_verb != "create" and not is_open:
        yield _case(tenancy, shape, layout, placement, form, row, "absent", None)
    elif subject_verb == "create":
        label, state = next(iter(form.states.items()))
        yield _case(tenancy, shape, layout, placement, form, row, f"taken, {label}", state, taken=True)


def _case(
    tenancy: Tenancy,
    shape: Shape,
    layout: Layout,
    placement: Placement,
    form: Form,
    row: Row,
    label: str,
    state: Item | None,
    taken: bool = False,
) -> Case:
    subject_verb = layout.ticket if placement.entity == "Ticket" else layout.project
    conditions = form.conditions
    holds = accepts(subject_verb, None if subject_verb == "create" else state, state, conditions, form.arguments, NOW)
    opposite = _opposite(form, holds)
    about_ticket = placement.entity == "Ticket"
    ticket_state = state if about_ticket else opposite
    project_state = opposite if about_ticket else state

    ticket = None if ticket_state is None else _ticket(shape, 1, HERE, ticket_state)
    project = None if project_state is None else _project(HERE, project_state, placement.names)
    bystanders = [
        ("Project", _project(ELSEWHERE, opposite, placement.names)),
        ("Ticket", _ticket(shape, 3, ELSEWHERE, opposite)),
    ]
    new_ticket = _ticket(
        shape, 1, HERE, state if about_ticket and layout.ticket == "create" and state is not None else opposite
    )
    if layout.ticket in ("create", "put"):
        new_ticket = {**new_ticket, "name": "new"}
    new_project = _project(HERE, state if not about_ticket and state is not None else opposite, placement.names)

    stored_ticket = ticket
    if layout.ticket == "create":
        stored_ticket = ticket if taken and about_ticket else None
    stored_project = project
    if layout.project == "create":
        stored_project = project if taken and not about_ticket else None
    tickets = [stored_ticket] if stored_ticket else []
    if layout.many:
        tickets = [_ticket(shape, number, HERE, opposite) for number in (1, 2)]
    elif layout.project not in ("delete", "create"):
        bystanders.append(("Ticket", _ticket(shape, 2, HERE, opposite)))

    arguments = _arguments(shape, layout, form, new_ticket, new_project)
    stored = [*_entries("Ticket", tickets), *_entries("Project", [stored_project] if stored_project else [])]
    other_tenant = [
        ("Ticket", _ticket(shape, 1, HERE, opposite)),
        ("Ticket", _ticket(shape, 2, HERE, opposite)),
        ("Project", _project(HERE, opposite, placement.names)),
    ]
    accepted = True
    after_tickets: list[Item] = []
    for old in tickets if layout.many else [stored_ticket]:
        own_conditions = conditions if about_ticket else ()
        accepted = accepted and accepts(layout.ticket, old, new_ticket, own_conditions, form.arguments, NOW)
        after_tickets += _changed(layout.ticket, old, new_ticket, {"name": "new"}, shape)
    if layout.project:
        other_conditions = () if about_ticket else _named(conditions, placement.names)
        new = new_project if layout.project == "create" else None
        accepted = accepted and accepts(layout.project, stored_project, new, other_conditions, form.arguments, NOW)
    if layout.ticket == "delete" and layout.project == "update" and not layout.many and stored_ticket is None:
        accepted = False  # the project counts its tickets, and one that is gone was counted before
    after_projects = [stored_project] if stored_project else []
    if layout.project == "update" and stored_project:
        after_projects = [{**stored_project, "hits": stored_project["hits"] + 1}]
    elif layout.project == "delete":
        after_projects = []
    elif layout.project == "create":
        after_projects = [new_project]
    after = None
    if accepted:
        changed = [*_entries("Ticket", after_tickets), *_entries("Project", after_projects), *bystanders]
        after = for_tenants(tenancy, changed, other_tenant)
    return Case(
        row, label, for_tenants(tenancy, [*stored, *bystanders], other_tenant), _owned(tenancy, arguments), after
    )


def _list_cases(tenancy: Tenancy, shape: Shape, layout: Layout, form: Form, row: Row) -> Iterator[Case]:
    """Lists of none, one and two tickets; of two, one or both fulfil the condition."""
    good = _opposite(form, False)
    lists: dict[str, list[Item]] = {"empty": []}
    for label, state in form.states.items():
        lists[f"one {label}"] = [state]
        lists[f"good and {label}"] = [good, state]
    for label, states in lists.items():
        tickets = [_ticket(shape, number, HERE, state) for number, state in enumerate(states, 1)]
        accepted = all(accepts(layout.ticket, t, None, form.conditions, form.arguments, NOW) for t in tickets)
        opposite = _opposite(form, accepted)
        project = _project(HERE, opposite, {})
        bystanders = [
            ("Project", _project(ELSEWHERE, opposite, {})),
            ("Ticket", _ticket(shape, 3, ELSEWHERE, opposite)),
        ]
        other_tenant = [
            *_entries("Ticket", [_ticket(shape, number, HERE, opposite) for number in (1, 2)]),
            ("Project", project),
        ]
        after = None
        if accepted:
            after_tickets = [new for t in tickets for new in _changed(layout.ticket, t, None, {"name": "new"}, shape)]
            after_projects = [] if layout.project == "delete" else [project]
            if layout.project == "update":
                after_projects = [{**project, "hits": project["hits"] + 1}]
            changed = [*_entries("Ticket", after_tickets), *_entries("Project", after_projects), *bystanders]
            after = for_tenants(tenancy, changed, other_tenant)
        before = [*_entries("Ticket", tickets), ("Project", project), *bystanders]
        arguments = {"projectId": HERE, "name": "new", **form.arguments}
        yield Case(row, label, for_tenants(tenancy, before, other_tenant), _owned(tenancy, arguments), after)


def _opposite(form: Form, holds: bool) -> Item:
    """Attributes that make the form false if it holds, and true if not; for a form about the item, any."""
    states = list(form.states.values())
    wanted = [s for s in states if accepts("check", s, None, form.conditions, form.arguments, NOW) is not holds]
    return (wanted or states)[0]


def _named(conditions: Sequence[Clause], names: Mapping[str, str]) -> list[Clause]:
    """The conditions with other names of attributes."""
    found: list[Clause] = []
    for clause in conditions:
        if isinstance(clause, Combined):
            found.append(Combined(clause.word, tuple(_named(clause.parts, names))))
            continue
        values = [Other(names.get(v.attribute, v.attribute)) if isinstance(v, Other) else v for v in clause.values]
        found.append(Condition(names.get(clause.attribute, clause.attribute), clause.op, tuple(values)))
    return found


def _ticket(shape: Shape, number: int, project: str, state: Item) -> Item:
    ids = {"ticketId": UUID(int=number)} if shape.generated else {"number": number}
    return {"projectId": project, **ids, "name": "old", "rev": 1, **state}


def _project(project: str, state: Item, names: Mapping[str, str]) -> Item:
    renamed = {names.get(name, name): value for name, value in state.items()}
    return {"projectId": project, "name": "old", "hits": 3, "rev": 1, "edition": 1, **renamed}


def _arguments(shape: Shape, layout: Layout, form: Form, ticket: Item, project: Item) -> dict[str, Any]:
    arguments: dict[str, Any] = {"name": "new", "rev": 50, **form.arguments}
    if layout.many:
        return {"projectId": HERE, **arguments}
    if layout.ticket in ("create", "put"):
        arguments = {"Ticket": ticket, **form.arguments}
    else:
        ids = ("ticketId", "projectId") if shape.generated else ("projectId", "number")
        arguments |= {name: ticket[name] for name in ids}
    if layout.project == "create":
        arguments["Project"] = project
    return arguments


def _owned(tenancy: Tenancy, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments; objects belong to the tenant."""
    if not tenancy.attribute:
        return arguments
    objects = {
        name: for_tenants(tenancy, [(name, value)], ())[0][1] for name, value in arguments.items() if name.istitle()
    }
    return {**arguments, **objects}


def _changed(verb: str, old: Item | None, new: Item | None, sets: Item, shape: Shape) -> list[Item]:
    """The item after a write that is accepted: none or one."""
    if verb in ("create", "put"):
        assert new is not None
        return [new]
    if verb == "delete":
        return []
    if verb == "update":
        return [{**old, **sets}] if old else []
    created = {name: value for name, value in (new or {}).items() if name in ("projectId", "ticketId", "number")}
    return [{**(old or created), **sets, "rev": 50}]


def _entries(entity: str, items: Sequence[Item]) -> list[tuple[str, Item]]:
    return [(entity, item) for item in items]


# --- Conditions without a meaning -----------------------------------------------------------------------------------

SENSELESS = (
    "status >= HELD",
    "status > OPEN",
    "status < least",
    "status between OPEN and HELD",
    "status begins_with O",
    "stock between 5 and 1",
    "rev between 1 and 0",
    "note between b and a",
    "expiresAt between now and now - 1 day",
    "note = null",
    "note <> None",
    "stock = NULL",
)
"""Conditions that `check` has to refuse with each verb, because they would not compare what they say."""


def refused(tenancy: Tenancy) -> Exam:
    """Each condition without a meaning, with each verb, on the own item and on another one."""
    rows: list[Row] = []
    for layout in (*ALONE, *STEPS, *CHECKS, *LISTS):
        for condition in SENSELESS:
            prefix = "Project." if layout in CHECKS else ""
            row = Row(
                f"refused {len(rows)}",
                "Ticket, Project" if layout.project else "Ticket",
                f"{layout.inputs(GENERATED)}, least" if "least" in condition else layout.inputs(GENERATED),
                layout.actions(GENERATED),
                f"{prefix}{condition}",
                layout.transaction,
                contradiction=True,
            )
            rows.append(row)
    reads = (Read("Project", "projectId"), Read("Ticket", "ticketId"), Read("Ticket", "projectId", "Collection"))
    return Exam("refused", DocumentText(tenancy, (PROJECT, GENERATED.ticket), reads, rows), [])


# --- Unique attributes ----------------------------------------------------------------------------------------------

ACCOUNT = EntityText(
    "Account",
    (
        "`accountId` (uuid, generated)",
        "`email` (string, unique, mutable)",
        "`username` (string, unique, mutable)",
        "`name` (string, mutable)",
    ),
)


def unique(tenancy: Tenancy) -> Exam:
    """Attributes that are unique, within a tenant if there are tenants."""
    reads = (Read("Account", "accountId"), Read("Account", "email"))
    rows = [
        *(Row(f"create {n}", "Account", "Account", "create Account", text) for n, text in enumerate(_UNIQUE)),
        Row("update email", "Account", "accountId, email", "update Account (email)", "email unique"),
        Row("update both", "Account", "accountId, email, username", "update Account (email, username)", _UNIQUE[1]),
        Row("update named", "Account", "accountId, email", "update Account (email)", "email unique; name = old"),
        Row("put", "Account", "Account", "put Account", "email unique"),
        Row("delete", "Account", "accountId", "delete Account"),
    ]
    cases: list[Case] = []
    for row in rows:
        for label, email, username, name in (
            ("free", "new@x", "new", "old"),
            ("email taken", "b@x", "new", "old"),
            ("username taken", "new@x", "b", "old"),
            ("both taken", "b@x", "b", "old"),
            ("its own", "a@x", "a", "old"),
            ("another name", "new@x", "new", "other"),
        ):
            cases.append(_unique_case(tenancy, row, label, email, username, name))
    return Exam("unique", DocumentText(tenancy, (ACCOUNT,), reads, rows), cases)


_UNIQUE = ("email unique", "username and email unique", "email unique; name = old", "not exists; email unique")


def _unique_case(tenancy: Tenancy, row: Row, label: str, email: str, username: str, name: str) -> Case:
    def account(number: int, letter: str) -> Item:
        return {"accountId": UUID(int=number), "email": f"{letter}@x", "username": letter, "name": "old"}

    stored = {**account(1, "a"), "name": name}
    bystander = account(2, "b")
    new = {"accountId": UUID(int=1), "email": email, "username": username, "name": name}
    verb = row.items.split()[0]
    changed: list[Item] = [new]
    accepted = email != "b@x" and username != "b"
    if verb == "create":
        accepted = accepted and ("name = old" not in row.conditions or name == "old")
    elif verb == "update":
        sets = {attribute: new[attribute] for attribute in ("email", "username") if attribute in row.inputs}
        changed = [{**stored, **sets}]
        accepted = email != "b@x" and ("username" not in sets or username != "b")
        accepted = accepted and ("name = old" not in row.conditions or name == "old")
    elif verb == "delete":
        changed, accepted = [], True
    before = [bystander] if verb == "create" else [stored, bystander]
    other = [account(1, "a"), account(3, "new")]
    after = for_tenants(tenancy, _entries("Account", [*changed, bystander]), _entries("Account", other))
    arguments = {"Account": new} if "Account" in row.inputs.split(", ") else new
    before_all = for_tenants(tenancy, _entries("Account", before), _entries("Account", other))
    return Case(row, label, before_all, _owned(tenancy, arguments), after if accepted else None)


# --- Whose attribute it is ------------------------------------------------------------------------------------------


def ambiguous(tenancy: Tenancy) -> Exam:
    """A bare name is the first entity's; of two others it has to be said whose."""
    clerk = EntityText("Clerk", ("`clerkId` (string, natural)", "`calls` (integer, mutable)"))
    reads = (Read("Project", "projectId"), Read("Ticket", "ticketId"), Read("Clerk", "clerkId"))
    items = "update Clerk (calls += 1); update Ticket (name); update Project (hits += 1)"
    inputs = "clerkId, ticketId, projectId, name"
    rows = [
        Row("two have it", "Clerk, Ticket, Project", inputs, items, "status = OPEN", contradiction=True),
        Row("two have it, exists", "Clerk, Ticket, Project", inputs, items, "note exists", contradiction=True),
        Row("twice", "Ticket", "ticketId, name, rev", "update Ticket (name); delete Ticket", contradiction=True),
        Row("one has it", "Clerk, Ticket, Project", inputs, items, "budget >= 5"),
        Row("the first has it", "Ticket, Clerk, Project", inputs, items, "stock >= 5"),
        Row("the first has it, too", "Project, Clerk, Ticket", inputs, items, "stock >= 5"),
        Row("said", "Clerk, Ticket, Project", inputs, items, "Ticket.stock >= 5"),
        Row("said of the last", "Clerk, Ticket, Project", inputs, items, "Project.stock >= 5"),
        Row("each", "Clerk, Ticket, Project", inputs, items, "Project.stock >= 5; Ticket.stock >= 5"),
    ]
    subjects = {
        "one has it": ("budget",),
        "the first has it": ("ticket",),
        "the first has it, too": ("project",),
        "said": ("ticket",),
        "said of the last": ("project",),
        "each": ("project", "ticket"),
    }
    cases = [
        _ambiguous_case(tenancy, row, subjects[row.name], high)
        for row in rows
        if row.name in subjects
        for high in (("ticket",), ("project",), ("budget",), (), ("ticket", "project", "budget"))
    ]
    document = DocumentText(tenancy, (PROJECT, GENERATED.ticket, clerk), reads, rows)
    return Exam("whose attribute", document, cases)


def _ambiguous_case(tenancy: Tenancy, row: Row, subjects: Sequence[str], high: Sequence[str]) -> Case:
    """Of the ticket's stock, the project's stock and its budget, those in `high` are high enough."""
    numbers = {name: 6 if name in high else 4 for name in ("ticket", "project", "budget")}
    ticket = _ticket(GENERATED, 1, HERE, {"stock": numbers["ticket"]})
    project = _project(HERE, {"stock": numbers["project"], "budget": numbers["budget"]}, {})
    before = [("Ticket", ticket), ("Project", project), ("Clerk", {"clerkId": "c1", "calls": 1})]
    after: list[tuple[str, Item]] | None = None
    if all(name in high for name in subjects):
        after = [("Ticket", {**ticket, "name": "new"}), ("Project", {**project, "hits": 4})]
        after.append(("Clerk", {"clerkId": "c1", "calls": 2}))
    arguments = {"clerkId": "c1", "ticketId": UUID(int=1), "projectId": HERE, "name": "new"}
    expected = None if after is None else for_tenants(tenancy, after, before)
    label = f"high: {', '.join(high) or 'none'}"
    return Case(row, label, for_tenants(tenancy, before, before), arguments, expected)
