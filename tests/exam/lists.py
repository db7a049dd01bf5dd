"""Lists in writes: the items that belong to what the row names, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from tests.exam.documents import ACTING, TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import Case, Exam, Plan

Tables = dict[str, list[Item]]
"""The items of a tenant by entity."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the items of the lists are identified."""

    name: str
    composite: bool

    def id_of(self, name: str) -> str:
        """The attributes of an entity's own id and of its parent."""
        return f"`{name}` (string, natural)" if self.composite else f"`{name}` (uuid, generated)"

    def parent(self, name: str, entity: str) -> str:
        kind = "string" if self.composite else "uuid"
        return f"`{name}` ({kind}, {'id' if self.composite else 'immutable'}, → {entity})"

    def value(self, number: int) -> Any:
        return f"v{number}" if self.composite else UUID(int=number)


GENERATED = Shape("generated ids", False)
COMPOSITE = Shape("composite ids", True)
SHAPES = (GENERATED, COMPOSITE)


def entities(shape: Shape) -> tuple[EntityText, ...]:
    project = shape.parent("projectId", "Project")
    composite_parent = ("`projectId` (string, id, → Task.projectId)", "`taskId` (string, id, → Task.taskId)")
    return (
        EntityText("Project", (shape.id_of("projectId"), "`name` (string, mutable)", "`open` (integer, mutable)")),
        EntityText(
            "Task",
            (project, shape.id_of("taskId"), "`status` (OPEN | DONE, mutable)", "`name` (string, mutable)"),
            "~5 per Project",
        ),
        EntityText("Note", (project, shape.id_of("noteId"), "`name` (string, mutable)"), "~5 per Project"),
        EntityText("Label", (project, shape.id_of("labelId"), "`name` (string, mutable)"), "~5 per Project"),
        EntityText(
            "File",
            (
                *(composite_parent if shape.composite else ("`taskId` (uuid, immutable, → Task)",)),
                shape.id_of("fileId"),
                "`name` (string, mutable)",
            ),
            "~3 per Task",
        ),
    )


def _entity_reads(shape: Shape) -> tuple[Read, ...]:
    lists = [Read(name, "projectId", "Collection") for name in ("Task", "Note", "Label")]
    if shape.composite:
        singles = [Read(name, f"projectId, {name.lower()}Id") for name in ("Task", "Note", "Label")]
        files = [Read("File", "projectId, taskId, fileId"), Read("File", "projectId, taskId", "Collection")]
    else:
        singles = [Read(name, f"{name.lower()}Id") for name in ("Task", "Note", "Label")]
        files = [Read("File", "fileId"), Read("File", "taskId", "Collection")]
    return (Read("Project", "projectId"), *singles, *lists, *files)


PARENT, OTHER_PARENT = 1, 2


def content(shape: Shape, count: int) -> Tables:
    """A project with so many tasks, notes and labels, each task with two files; and another project with two of each."""
    tables: Tables = {"Project": [], "Task": [], "Note": [], "Label": [], "File": []}
    for parent, many in ((PARENT, count), (OTHER_PARENT, 2)):
        project = {"projectId": shape.value(parent)}
        tables["Project"].append({**project, "name": "old", "open": many})
        for number in range(1, many + 1):
            # With a composite id, both projects have the same task ids.
            own = number if shape.composite else parent * 10 + number
            tables["Task"].append({**project, "taskId": shape.value(own), "status": "OPEN", "name": "old"})
            tables["Note"].append({**project, "noteId": shape.value(own), "name": "old"})
            tables["Label"].append({**project, "labelId": shape.value(own), "name": "old"})
            for file in (1, 2):
                file_id = file if shape.composite else parent * 100 + number * 10 + file
                ids = {"taskId": shape.value(own), "fileId": shape.value(file_id)}
                tables["File"].append({**(project if shape.composite else {}), **ids, "name": "old"})
    return tables


def is_in_project(shape: Shape, tables: Tables, entity: str, item: Item) -> bool:
    """Whether an item belongs to the project that rows name, directly or over its task."""
    project = shape.value(PARENT)
    if entity != "File" or shape.composite:
        return bool(item["projectId"] == project)
    tasks = {task["taskId"] for task in tables["Task"] if task["projectId"] == project}
    return item["taskId"] in tasks


Change = Callable[[Item], Item | None]
"""A changed item, or None for one that is deleted."""


def _delete(item: Item) -> Item | None:
    return None


def _rename(item: Item) -> Item:
    return {**item, "name": "new"}


def _finish(item: Item) -> Item:
    return {**item, "status": "DONE"}


def _close(item: Item) -> Item:
    return {**item, "open": 0}


@dataclass(frozen=True, slots=True)
class Form:
    """A row about a project, and what it does with each entity's items of that project."""

    row: Row
    changes: Mapping[str, Change]
    arguments: Mapping[str, Any] = field(default_factory=dict)


def _form(items: str, changes: Mapping[str, Change], inputs: str = "projectId", conditions: str = "-") -> Form:
    names = list(dict.fromkeys(part.split()[1].removesuffix("[]") for part in items.split("; ")))
    return Form(Row(items, ", ".join(names), inputs, items, conditions), changes, {"name": "new"})


FORMS = (
    _form("delete Project; delete Task[]", {"Project": _delete, "Task": _delete}),
    _form("delete Task[]; delete Project", {"Project": _delete, "Task": _delete}),
    _form("delete Task[]", {"Task": _delete}),
    _form("delete Project; delete Task[]; delete Note[]", {"Project": _delete, "Task": _delete, "Note": _delete}),
    _form("delete Task[]; delete Note[]", {"Task": _delete, "Note": _delete}),
    _form(
        "delete Project; delete Task[]; delete Note[]; delete Label[]",
        {"Project": _delete, "Task": _delete, "Note": _delete, "Label": _delete},
    ),
    _form("delete Task[]; delete Note[]; delete Label[]", {"Task": _delete, "Note": _delete, "Label": _delete}),
    _form("update Task[] (status = DONE)", {"Task": _finish}),
    _form("update Task[] (name)", {"Task": _rename}, "projectId, name"),
    _form("update Task[] (name); update Note[] (name)", {"Task": _rename, "Note": _rename}, "projectId, name"),
    _form("update Task[] (status = DONE); delete Note[]", {"Task": _finish, "Note": _delete}),
    _form(
        "update Project (open = 0); update Task[] (status = DONE); delete Note[]",
        {"Project": _close, "Task": _finish, "Note": _delete},
    ),
    _form("update Project (open = 0); delete Task[]", {"Project": _close, "Task": _delete}),
    _form("delete Project; delete Task[]; delete File[]", {"Project": _delete, "Task": _delete, "File": _delete}),
    _form("delete Task[]; delete File[]", {"Task": _delete, "File": _delete}),
    _form("delete File[]", {"File": _delete}),
    _form("update File[] (name)", {"File": _rename}, "projectId, name"),
    _form("delete Project; update File[] (name)", {"Project": _delete, "File": _rename}, "projectId, name"),
    _form("update Task[] (status = DONE); delete File[]", {"Task": _finish, "File": _delete}),
    _form(
        "delete Project; delete Task[]; delete File[]; delete Note[]; delete Label[]",
        dict.fromkeys(("Project", "Task", "File", "Note", "Label"), _delete),
    ),
    _form("delete Project; delete Task[]", {"Project": _delete, "Task": _delete}, conditions="Project exists"),
    _form("delete Task[]", {"Task": _delete}, conditions="Project exists"),
)
WITHOUT_TRANSACTION = tuple(
    Form(
        Row(f"{f.row.items} No", f.row.entities, f.row.inputs, f.row.items, f.row.conditions, "No"),
        f.changes,
        f.arguments,
    )
    for f in FORMS
)


def _belonging(shape: Shape, form: Form, tables: Tables) -> Tables:
    """The items after an accepted write of a form."""
    after: Tables = {}
    for entity, items in tables.items():
        change = form.changes.get(entity)
        after[entity] = []
        for item in items:
            if change is None or not is_in_project(shape, tables, entity, item):
                after[entity].append(item)
            elif (changed := change(item)) is not None:
                after[entity].append(changed)
    return after


def belonging(tenancy: Tenancy, shape: Shape, transaction: bool = True) -> Exam:
    """Lists of the items that belong to the project that the row names."""
    forms = FORMS if transaction else WITHOUT_TRANSACTION
    rows = [_numbered(form.row, number) for number, form in enumerate(forms)]
    cases: list[Case] = []
    for form, row in zip(forms, rows, strict=True):
        for label, count in (("several", 3), ("one", 1), ("empty", 0)):
            tables = content(shape, count)
            after = _belonging(shape, form, tables)
            arguments = {"projectId": shape.value(PARENT), **form.arguments}
            cases.append(_case(tenancy, row, label, tables, arguments, after))
    name = f"lists of a parent, {shape.name}{'' if transaction else ', No'}"
    return Exam(name, DocumentText(tenancy, entities(shape), _entity_reads(shape), rows), cases)


def given(tenancy: Tenancy, shape: Shape) -> Exam:
    """Lists that the caller gives, as ids or as objects: each item has to belong to the parent that the row names."""
    rows: list[Row] = []
    cases: list[Case] = []
    actions: dict[str, tuple[str, str, dict[str, Change]]] = {
        "delete Task[]": ("", "Task", {"Task": _delete}),
        "update Task[] (status = DONE)": ("", "Task", {"Task": _finish}),
        "update Project (open = 0); delete Task[]": ("", "Project, Task", {"Project": _close, "Task": _delete}),
        "delete Project; delete Task[]; delete Note[]": (
            "noteId[]",
            "Project, Task, Note",
            {"Project": _delete, "Task": _delete, "Note": _delete},
        ),
    }
    for items, (more, names, changes) in actions.items():
        for by in ("taskId[]", "Task[]"):
            if by == "Task[]" and more:
                continue
            inputs = ", ".join(filter(None, ("projectId", by, more)))
            row = Row(f"given {len(rows)}", names, inputs, items)
            rows.append(row)
            form = Form(row, changes)
            cases += _given_cases(tenancy, shape, form, by, bool(more))
    name = f"lists from the caller, {shape.name}"
    return Exam(name, DocumentText(tenancy, entities(shape), _entity_reads(shape), rows), cases)


def _given_cases(tenancy: Tenancy, shape: Shape, form: Form, by: str, notes: bool) -> Iterator[Case]:
    tables = content(shape, 3)
    here = [task for task in tables["Task"] if task["projectId"] == shape.value(PARENT)]
    elsewhere = [task for task in tables["Task"] if task["projectId"] == shape.value(OTHER_PARENT)]
    unknown = {**here[0], "taskId": shape.value(99)}
    note_ids = [note["noteId"] for note in tables["Note"] if note["projectId"] == shape.value(PARENT)]
    lists: dict[str, tuple[list[Item], bool]] = {
        "two of three": (here[:2], True),
        "one": (here[:1], True),
        "none": ([], True),
        "another parent's": ([*here[:1], *elsewhere[:1]], False),
        "only another parent's": (elsewhere[:1], False),
    }
    if by == "taskId[]" and shape.composite:
        # The ids of tasks are within their project: the other project's ids name this project's tasks.
        del lists["another parent's"], lists["only another parent's"]
    if form.changes["Task"] is not _delete:
        lists["unknown"] = ([*here[:1], unknown], False)
    for label, (tasks, accepted) in lists.items():
        wanted = {(task["projectId"], task["taskId"]) for task in tasks}
        after: Tables = dict(tables)
        for entity, change in form.changes.items():
            after[entity] = []
            for item in tables[entity]:
                named = is_in_project(shape, tables, entity, item)
                if entity == "Task":
                    named = (item["projectId"], item["taskId"]) in wanted
                changed = change(item) if named else item
                after[entity] += [] if changed is None else [changed]
        given_tasks = [task["taskId"] for task in tasks] if by == "taskId[]" else _objects(tenancy, "Task", tasks)
        arguments: dict[str, Any] = {"projectId": shape.value(PARENT), by: given_tasks}
        if notes:
            arguments["noteId[]"] = note_ids
        refusals = (ValueError,) if by == "Task[]" else ()
        yield _case(tenancy, form.row, label, tables, arguments, after if accepted else None, refusals)


# --- Moves: `delete Slot[]; create Slot[]` --------------------------------------------------------------------------


def _slot_entities(shape: Shape) -> tuple[EntityText, ...]:
    slot = (
        "`roomId` (string, natural)",
        "`hour` (integer, natural)",
        "`appointmentId` (uuid, immutable, → Appointment)",
    )
    if not shape.composite:
        slot = (
            "`slotId` (uuid, generated)",
            "`hour` (integer, mutable)",
            "`appointmentId` (uuid, immutable, → Appointment)",
        )
    return (
        EntityText(
            "Appointment",
            (
                "`appointmentId` (uuid, generated)",
                "`status` (BOOKED | CANCELLED, mutable)",
                "`start` (integer, mutable)",
            ),
        ),
        EntityText("Slot", slot, "~2 per Appointment"),
    )


def moves(tenancy: Tenancy, shape: Shape) -> Exam:
    """The slots of an appointment are replaced by new ones; some of them may have the same key."""
    reads = (
        Read("Appointment", "appointmentId"),
        Read("Slot", "appointmentId", "Collection"),
        Read("Slot", "roomId, hour" if shape.composite else "slotId"),
    )
    steps = "update Appointment (start); delete Slot[]; create Slot[]"
    inputs = "appointmentId, start, Slot[]"
    rows = [
        Row("move", "Appointment, Slot", inputs, steps),
        Row("move booked", "Appointment, Slot", inputs, steps, "Appointment.status = BOOKED"),
        Row("cancel", "Appointment, Slot", "appointmentId", "update Appointment (status = CANCELLED); delete Slot[]"),
        Row("replace", "Slot", "appointmentId, Slot[]", "delete Slot[]; create Slot[]"),
        Row(
            "move, create first",
            "Appointment, Slot",
            inputs,
            "update Appointment (start); create Slot[]; delete Slot[]",
        ),
    ]
    cases: list[Case] = []
    for row in rows:
        for label, old, new in (
            ("apart", (1, 2), (5, 6)),
            ("overlapping", (1, 2), (2, 3)),
            ("the same", (1, 2), (1, 2)),
            ("none before", (), (5, 6)),
            ("none after", (1, 2), ()),
            ("taken by another", (1, 2), (2, 9)),
            ("for another", (1, 2), (5, 8)),
        ):
            if label == "taken by another" and shape is GENERATED:
                continue  # nobody chooses a generated id twice: its key may be longer than the id
            cases.append(_move_case(tenancy, shape, row, label, old, new))
            if row.name == "cancel":
                break
    return Exam(f"moves, {shape.name}", DocumentText(tenancy, _slot_entities(shape), reads, rows), cases)


def _move_case(tenancy: Tenancy, shape: Shape, row: Row, label: str, old: Sequence[int], new: Sequence[int]) -> Case:
    own = {"appointmentId": UUID(int=1)}
    other = {"appointmentId": UUID(int=2)}
    appointment = {**own, "status": "BOOKED", "start": 1}
    bystander = {**other, "status": "BOOKED", "start": 9}
    tables: Tables = {
        "Appointment": [appointment, bystander],
        "Slot": [*(_slot(shape, hour, own) for hour in old), _slot(shape, 9, other)],
    }
    news = [_slot(shape, hour, own) for hour in new]
    moved = {**appointment, "start": 5}
    if row.name == "cancel":
        moved, news = {**appointment, "status": "CANCELLED"}, []
    elif row.name == "replace":
        moved = appointment
    after: Tables | None = {"Appointment": [moved, bystander], "Slot": [*news, _slot(shape, 9, other)]}
    if 9 in new:
        after = None
    if 8 in new:
        news[-1] = _slot(shape, 8, other)
        after = None
    arguments = {"appointmentId": UUID(int=1), "start": 5, "Slot[]": _objects(tenancy, "Slot", news)}
    return _case(tenancy, row, label, tables, arguments, after, (ValueError,) if 8 in new else ())


def _slot(shape: Shape, hour: int, appointment: Item) -> Item:
    ids = {"roomId": "r1"} if shape.composite else {"slotId": UUID(int=hour)}
    return {**ids, "hour": hour, **appointment}


# --- Rows that `check` has to refuse --------------------------------------------------------------------------------


def unbound(tenancy: Tenancy) -> Exam:
    """Lists that nothing ties to the row, or that could be tied in two ways."""
    accounts = (
        EntityText("Account", ("`accountId` (uuid, generated)", "`name` (string, mutable)")),
        EntityText(
            "Transfer",
            (
                "`transferId` (uuid, generated)",
                "`fromAccountId` (uuid, immutable, → Account)",
                "`toAccountId` (uuid, immutable, → Account)",
            ),
            "~5 per Account",
        ),
        EntityText("Rate", ("`rateId` (uuid, generated)", "`name` (string, mutable)")),
    )
    reads = (
        Read("Account", "accountId"),
        Read("Transfer", "transferId"),
        Read("Transfer", "fromAccountId", "Collection"),
        Read("Transfer", "toAccountId", "Collection"),
        Read("Rate", "rateId"),
    )
    sent, received = "delete Transfer[] by fromAccountId", "delete Transfer[] by toAccountId"
    by_sender = Row("by", "Account, Transfer", "accountId", "delete Account; delete Transfer[] by fromAccountId")
    rows = [
        Row("two ways", "Account, Transfer", "accountId", "delete Account; delete Transfer[]", contradiction=True),
        Row("unbound", "Account, Rate", "accountId", "delete Account; delete Rate[]", contradiction=True),
        Row("unbound update", "Rate", "name", "update Rate[] (name)", contradiction=True),
        Row("unbound delete", "Rate", "-", "delete Rate[]", contradiction=True),
        Row("twice", "Account", "accountId, name", "update Account (name); delete Account", contradiction=True),
        Row("delete and create", "Account", "Account", "delete Account; create Account", contradiction=True),
        Row("two lists", "Account, Transfer", "accountId", f"delete Account; {sent}; {received}", contradiction=True),
        Row("two lists No", "Transfer", "accountId", f"{received}; {sent}", "-", "No", contradiction=True),
        by_sender,
    ]
    tables: Tables = {
        "Account": [{"accountId": UUID(int=n), "name": "old"} for n in (1, 2)],
        "Rate": [],
        "Transfer": [],
    }
    for number, (sender, receiver) in enumerate(((1, 2), (2, 1), (1, 2), (2, 2)), 1):
        accounts_of = {"fromAccountId": UUID(int=sender), "toAccountId": UUID(int=receiver)}
        tables["Transfer"].append({"transferId": UUID(int=number), **accounts_of})
    after: Tables = {
        "Account": tables["Account"][1:],
        "Transfer": [t for t in tables["Transfer"] if t["fromAccountId"] != UUID(int=1)],
    }
    cases = [_case(tenancy, by_sender, "sent", tables, {"accountId": UUID(int=1)}, after)]
    return Exam("unbound lists", DocumentText(tenancy, accounts, reads, rows), cases)


def of_tenant(tenancy: Tenancy) -> Exam:
    """The lists of a tenant, whose own item is among the written ones."""
    rooms = (EntityText("Room", ("`roomId` (string, natural)", "`name` (string, mutable)")),)
    reads = (Read("Room", "roomId"), Read("Room", "-", "Collection"))
    rows = [
        Row("close", "Clinic, Room", "clinicId", "delete Clinic; delete Room[]"),
        Row("rename", "Clinic, Room", "clinicId, title, name", "update Clinic (title); update Room[] (name)"),
        Row("rooms alone", "Room", "name", "update Room[] (name)", contradiction=True),
        Row("no rooms", "Room", "-", "delete Room[]", contradiction=True),
    ]
    cases: list[Case] = []
    for label, numbers in (("several", (1, 2)), ("one", (1,)), ("empty", ())):
        here = [("Room", {"roomId": f"r{number}", "name": "old"}) for number in numbers]
        other = [("Room", {"roomId": f"r{number}", "name": "old"}) for number in (1, 2)]
        before = for_tenants(tenancy, here, other)
        arguments = {"clinicId": ACTING, "title": "new", "name": "new"}
        closed = [(entity, item) for entity, item in before if item["clinicId"] != ACTING]
        renamed: list[tuple[str, Item]] = list(closed)
        for entity, item in before:
            if item["clinicId"] == ACTING:
                renamed.append((entity, {**item, "title" if entity == "Clinic" else "name": "new"}))
        cases.append(Case(rows[0], label, before, arguments, closed))
        cases.append(Case(rows[1], label, before, arguments, renamed))
    return Exam("lists of the tenant", DocumentText(tenancy, rooms, reads, rows), cases)


def narrowed(tenancy: Tenancy) -> Exam:
    """Lists by references that the row changes, and inputs beside the one that binds a list."""
    entities = (
        EntityText("User", ("`userId` (string, natural)", "`name` (string, mutable)")),
        EntityText(
            "Task",
            (
                "`taskId` (string, generated)",
                "`ownerId` (string, mutable, → User)",
                "`reviewerId` (string, optional, mutable, → User)",
                "`title` (string, mutable)",
                "`done` (boolean, mutable)",
            ),
            "~5 per User",
        ),
    )
    reads = (
        Read("User", "userId"),
        Read("Task", "taskId"),
        Read("Task", "ownerId", "Collection"),
        Read("Task", "reviewerId", "Collection"),
        Read("Task", "ownerId, title", "Collection"),
    )
    hand_over = "update Task[] by ownerId (ownerId = newOwnerId)"
    rows = [
        Row("hand over", "Task", "ownerId, newOwnerId", hand_over),
        Row("hand over alike", "Task", "ownerId, newOwnerId", "update Task[] (ownerId = newOwnerId)"),
        Row("unreview", "Task", "reviewerId", "update Task[] by reviewerId (remove reviewerId)"),
        Row("narrowed", "Task", "ownerId, title", "update Task[] (done = true)"),
        Row("compared", "Task", "ownerId, title", "update Task[] (done = true)", "Task.title = title"),
        Row("by title", "Task", "title", "delete Task[]", contradiction=True),
        Row("brackets", "Task", "taskId[]", "delete Task", contradiction=True),
        Row("selected", "Task", "ownerId, title >=", "delete Task[]", contradiction=True),
        Row("filtered", "Task", "ownerId, filter title <> x", "delete Task[]", contradiction=True),
        Row("constant", "Task", "taskId, title = x", "delete Task", contradiction=True),
        Row("optional", "Task", "ownerId, title?", "delete Task[]", contradiction=True),
    ]
    tables: Tables = {"User": [{"userId": name, "name": name} for name in ("a", "b", "c")], "Task": []}
    people = (("a", "b", "x"), ("a", "", "y"), ("a", "a", "x"), ("b", "a", "x"), ("c", "b", "y"))
    for number, (owner, reviewer, title) in enumerate(people, 1):
        reviewed = {"reviewerId": reviewer} if reviewer else {}
        task = {"taskId": f"t{number}", "ownerId": owner, **reviewed, "title": title, "done": False}
        tables["Task"].append(task)

    def after(change: Callable[[Item], Item]) -> Tables:
        return {**tables, "Task": [dict(change(task)) for task in tables["Task"]]}

    def handed(task: Item) -> Item:
        return {**task, "ownerId": "c"} if task["ownerId"] == "a" else task

    def unreviewed(task: Item) -> Item:
        is_own = task.get("reviewerId") == "b"
        return {name: value for name, value in task.items() if name != "reviewerId"} if is_own else task

    def done_of(owner: str) -> Callable[[Item], Item]:
        return lambda task: {**task, "done": True} if (task["ownerId"], task["title"]) == (owner, "x") else task

    owners = {"ownerId": "a", "newOwnerId": "c"}
    cases = [
        _case(tenancy, rows[0], "handed", tables, owners, after(handed)),
        _case(tenancy, rows[1], "handed", tables, owners, after(handed)),
        _case(tenancy, rows[2], "removed", tables, {"reviewerId": "b"}, after(unreviewed)),
        _case(tenancy, rows[3], "of a title", tables, {"ownerId": "a", "title": "x"}, after(done_of("a"))),
        _case(tenancy, rows[4], "one of another", tables, {"ownerId": "a", "title": "x"}, None),
        _case(tenancy, rows[4], "all of it", tables, {"ownerId": "b", "title": "x"}, after(done_of("b"))),
    ]
    return Exam("narrowed lists", DocumentText(tenancy, entities, reads, rows), cases)


# --- Common ---------------------------------------------------------------------------------------------------------


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    found: list[Plan] = []
    for tenancy in tenancies:
        for shape in SHAPES:
            found.append(Plan(f"lists of a parent, {shape.name}", tenancy, partial(belonging, tenancy, shape)))
            one_by_one = partial(belonging, tenancy, shape, transaction=False)
            found.append(Plan(f"lists of a parent, No, {shape.name}", tenancy, one_by_one))
            found.append(Plan(f"lists from the caller, {shape.name}", tenancy, partial(given, tenancy, shape)))
            found.append(Plan(f"moves, {shape.name}", tenancy, partial(moves, tenancy, shape)))
        found.append(Plan("unbound lists", tenancy, partial(unbound, tenancy)))
        found.append(Plan("narrowed lists", tenancy, partial(narrowed, tenancy)))
        if tenancy.entity:
            found.append(Plan("lists of the tenant", tenancy, partial(of_tenant, tenancy)))
    return found


def _numbered(row: Row, number: int) -> Row:
    return Row(f"row {number}", row.entities, row.inputs, row.items, row.conditions, row.transaction)


def _objects(tenancy: Tenancy, entity: str, items: Sequence[Item]) -> list[Item]:
    """Items as the caller gives them: they belong to the acting tenant."""
    return [for_tenants(tenancy, [(entity, item)], ())[0][1] for item in items]


def _case(
    tenancy: Tenancy,
    row: Row,
    label: str,
    before: Tables,
    arguments: Mapping[str, Any],
    after: Tables | None,
    refusals: tuple[type[Exception], ...] = (),
) -> Case:
    other = _entries(before)
    expected = None if after is None else for_tenants(tenancy, _entries(after), other)
    return Case(row, label, for_tenants(tenancy, _entries(before), other), arguments, expected, refusals)


def _entries(tables: Tables) -> list[tuple[str, Item]]:
    return [(entity, item) for entity, items in tables.items() for item in items]
