"""`--function`: attributes and items of the next design, computed by functions of the user while the table is in use."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prejoin import Client, Embedded
from prejoin.design.document.write_document import write_document
from prejoin.migrate.evolve.function_work import FunctionAction, decide, mark_of
from prejoin.migrate.evolve.functions import EntityFunction, read_functions
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.plan import steps_of
from prejoin.migrate.evolve.transition import CodeVersion, Transition, plan_transition
from prejoin.patterns.integrity.audit import audit
from prejoin.pipeline.errors import InputError, InvalidArgumentError, RefusedError
from prejoin.table.schema.pattern import STATE_TAG
from tests.cli.conftest import Prejoin, prejoin  # noqa: F401 - a fixture
from tests.migrate.evolve.application import Killed
from tests.migrate.evolve.school import STUDENTS, document, school

Function = Callable[[dict[str, Any]], Any]


def split_name(student: dict[str, Any]) -> dict[str, Any]:
    first, _, last = student["fullName"].partition(" ")
    return {"firstName": first, "lastName": last or None}


# --- The table of cases ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize("computed", ["a", "b"])
@pytest.mark.parametrize("stored", ["a", "b", "c", ""])
def test_each_case_is_decided(computed: str, stored: str, is_marked: bool) -> None:
    """The mark says that both were `a`. A value that is empty is absent."""
    action = decide(computed, stored, mark_of("a", "a") if is_marked else "", is_empty=not stored)
    if not is_marked:
        expected = FunctionAction.MARK if stored else FunctionAction.WRITE
    elif computed == "a":
        expected = FunctionAction.NOTHING
    elif stored == computed:
        expected = FunctionAction.MARK
    else:
        expected = FunctionAction.WRITE if stored in ("a", "") else FunctionAction.CONFLICT
    assert action is expected


# --- While the table is in use --------------------------------------------------------------------------------------


class School:
    """The expected students, and the versions of the code that run. Code of NEW owns the names that it has written."""

    def __init__(self, transition: Transition, form: str, seed: int) -> None:
        self.engine = Embedded()
        self.random = random.Random(seed)
        self.transition = transition
        self.tenant = {"schoolId": "s1"} if form == "tenant" else {}
        self.form = form
        self.students: dict[str, dict[str, Any]] = {}
        self.running: list[tuple[CodeVersion, Client]] = []
        self.number = itertools.count()
        self.budget = 100
        """Writes between requests of the worker, so that its passes come to an end."""
        client = self.client(transition.old)
        client.create_table()
        client.insert(transition.old.package.record("Room", {"roomId": "r", "fullName": "Big Room", **self.tenant}))
        self.bystanders = self._others()

    def client(self, version: CodeVersion) -> Client:
        return Client(version.package.schema, "school", self.engine)

    def run(self, *versions: CodeVersion) -> None:
        self.running = [(version, self.client(version)) for version in versions]

    def act(self) -> None:
        version, client = self.random.choice(self.running)
        is_new = version is self.transition.new
        verb = self.random.choice(("enrol", "enrol", "name", "name", "score", "leave"))
        mine = [name for name, known in sorted(self.students.items()) if is_new or not known["isOwned"]]
        number = next(self.number)
        if verb == "enrol" or not mine:
            self._enrol(version, client, f"n{number}", number)
            return
        student = self.random.choice(mine)
        cls, key = version.package.classes["Student"], {"student_id": student, **self._tenant_fields()}
        known = self.students[student]
        if verb == "score":
            _set(client, cls, key, {"score": number})
        elif verb == "leave":
            client.delete(cls, **key, read=True)
            del self.students[student]
        elif is_new:
            full = f"F{number} L{number}"
            known |= {"fullName": full, **split_name({"fullName": full}), "isOwned": True}
            values = {"full_name": full, "first_name": known["firstName"], "last_name": known["lastName"]}
            _set(client, cls, key, values)
        else:
            known["fullName"] = f"G{number} M{number}"
            _set(client, cls, key, {"full_name": known["fullName"]})

    def _enrol(self, version: CodeVersion, client: Client, student: str, number: int) -> None:
        full = f"A{number} B{number}"
        values: dict[str, Any] = {"studentId": student, "fullName": full, "score": 0, **self.tenant}
        if self.form == "history":
            values["version"] = 0
        known: dict[str, Any] = {"fullName": full, "isOwned": False}
        if version is self.transition.new:
            # Not what the function would return.
            known |= {"firstName": f"a{number}", "lastName": f"b{number}", "isOwned": True}
            values |= {"firstName": known["firstName"], "lastName": known["lastName"]}
        client.insert(version.package.record("Student", values))
        self.students[student] = known

    def _tenant_fields(self) -> dict[str, str]:
        return {"school_id": "s1"} if self.tenant else {}

    def _others(self) -> list[Any]:
        items = self.client(self.transition.old).call("Scan")["Items"]
        return [item for item in items if item["entityType"]["S"] == "Room"]

    def check(self) -> None:
        """All students have their names, nothing else has changed, and no mark is left."""
        client = self.client(self.transition.new)
        cls = self.transition.new.package.classes["Student"]
        for student, known in self.students.items():
            record: Any = client.get(cls, student_id=student, **self._tenant_fields())
            expected = known if "firstName" in known else known | split_name(known)
            names = (record.full_name, record.first_name, record.last_name)
            assert names == (expected["fullName"], expected["firstName"], expected["lastName"]), student
        items = [item for item in client.call("Scan")["Items"] if item["entityType"]["S"] != STATE_TAG]
        assert sum(item["entityType"]["S"] == "Student" for item in items) == len(self.students)
        assert not [name for item in items for name in item if name.startswith("~computed")]
        assert self._others() == self.bystanders
        assert list(audit(client)) == []


def _set(client: Client, cls: type[Any], key: dict[str, Any], values: dict[str, Any]) -> None:
    with client.update(cls, **key, read=True) as record:
        for name, value in values.items():
            setattr(record, name, value)


class Interleaved:
    """The transport of the worker: the application acts between its requests, and sometimes kills the worker."""

    concurrent = False

    def __init__(self, application: School, kill: float) -> None:
        self._application = application
        self._kill = kill

    def send(self, operation: str, body: bytes) -> bytes:
        chance = self._application.random
        if chance.random() < self._kill:
            raise Killed
        if chance.random() < 0.3 and self._application.budget:
            self._application.budget -= 1
            self._application.act()
        answer = self._application.engine.send(operation, body)
        if chance.random() < self._kill:
            raise Killed
        return answer

    def close(self) -> None:
        pass


class Worker:
    """Runs steps with functions, and repeats each after a kill."""

    def __init__(self, application: School, folder: Path, *functions: EntityFunction) -> None:
        self.application = application
        self.folder = folder
        self.functions = functions
        self.kills = 0

    def run(self, step: Callable[[Evolution], StepResult]) -> StepResult:
        transition = self.application.transition
        while True:
            transport = Interleaved(self.application, 0.03 / (1 + self.kills / 4))
            client = Client(transition.old.package.schema, "school", transport)
            try:
                with evolution_of(transition, client, state=self.folder) as evolution:
                    evolution.functions = self.functions
                    return step(evolution)
            except Killed:
                self.kills += 1
            except RefusedError as problem:
                if "again and again" not in str(problem):
                    raise
                self.application.budget = 0  # "best at a time with fewer writes"


def change(form: str) -> Transition:
    return plan_transition(school("OLD", form, has_new=False), school("NEW", form, has_new=True))


def of_student(function: Function) -> EntityFunction:
    return EntityFunction("Student", "Student", function.__name__, function)


@pytest.mark.parametrize("form", STUDENTS)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_values_are_computed_while_all_versions_write(form: str, seed: int, tmp_path: Path) -> None:
    transition = change(form)
    application = School(transition, form, seed)
    worker = Worker(application, tmp_path, of_student(split_name))
    application.run(transition.old)
    for _ in range(30):
        application.act()
    worker.run(Evolution.add_indexes)
    application.run(transition.old, transition.prepare)
    for _ in range(10):
        application.act()
    application.run(transition.prepare)
    assert worker.run(Evolution.backfill).undecided == []
    for _ in range(10):
        application.act()
    running = transition.prepare
    for version in transition.versions[1:]:
        application.run(running, version)
        for _ in range(20):
            application.act()
        running = version
    application.run(transition.new)
    assert worker.run(Evolution.backfill).undecided == []
    result = worker.run(Evolution.clean)
    assert result.undecided == []
    assert worker.kills > 0
    application.check()


class Busy:
    """A transport to a table of which code of OLD writes an object again before each pass."""

    concurrent = False

    def __init__(self, application: School) -> None:
        self._application = application
        self._number = 0

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "Scan":
            self._number += 1
            old = self._application.transition.old
            values = {"studentId": "n0", "fullName": f"Ann Lee{self._number}", "score": 0}
            self._application.client(old).put(old.package.record("Student", values))
        return self._application.engine.send(operation, body)

    def close(self) -> None:
        pass


def test_step_ends_while_code_of_old_writes(students: tuple[Transition, School], tmp_path: Path) -> None:
    """Each pass finds an object that OLD has written since the one before. The last ones are left to the next step."""
    transition, application = students
    client = Client(transition.old.package.schema, "school", Busy(application))
    with evolution_of(transition, client, tmp_path) as evolution:
        evolution.functions = (of_student(split_name),)
        assert evolution.backfill().undecided == []
    assert backfill(application, tmp_path, of_student(split_name), step="clean").undecided == []
    names = {item["studentId"]["S"]: item["lastName"]["S"] for item in stored(application) if "lastName" in item}
    (written,) = [item["fullName"]["S"] for item in stored(application) if item.get("studentId") == {"S": "n0"}]
    assert names == {"n0": written.removeprefix("Ann "), "n1": "Ray"}


def test_plan_has_a_backfill_for_a_function(students: tuple[Transition, School]) -> None:
    transition, _ = students
    kinds = [step.kind for step in steps_of(transition, (of_student(split_name),))]
    assert kinds.count("backfill") == 1
    new_entity = replace(transition, needs_prepare=False)  # as if only an entity were new
    assert [step.kind for step in steps_of(new_entity)] == ["deploy", "clean"]
    steps = steps_of(new_entity, (EntityFunction("Student", "Contact", "contacts", split_name),))
    assert [step.kind for step in steps] == ["backfill", "deploy", "clean"]
    assert "compute Contact from Student with contacts" in steps[0].text


# --- Checks ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def students() -> tuple[Transition, School]:
    transition = change("plain")
    application = School(transition, "plain", 0)
    client = application.client(transition.old)
    for number, name in enumerate(("Ann Lee", "Bob Ray", "Cher")):
        values = {"studentId": f"n{number}", "fullName": name, "score": number}
        client.insert(transition.old.package.record("Student", values))
    return transition, application


def stored(application: School) -> list[Any]:
    items = application.client(application.transition.old).call("Scan")["Items"]
    return [item for item in items if item["entityType"]["S"] != STATE_TAG]


def backfill(
    application: School, folder: Path, *functions: EntityFunction, step: str = "backfill", keeps_new: bool = False
) -> StepResult:
    with evolution_of(application.transition, application.client(application.transition.old), folder) as evolution:
        evolution.functions, evolution.keeps_new_values = functions, keeps_new
        result: StepResult = getattr(evolution, step)()
        return result


_numbers = itertools.count()
BROKEN: dict[str, tuple[Function, str, int]] = {
    "raises": (lambda student: {"firstName": student["fullName"].split(" ")[1]}, "raised IndexError", 1),
    "wrong type": (lambda student: {"firstName": student["score"]}, "firstName", 3),
    "no dict": (lambda student: student["fullName"], "returned str, not a dict", 3),
    "unknown attribute": (lambda student: {"nick": "x"}, "nick, which is no new attribute", 3),
    "attribute of OLD": (lambda student: {"score": 1}, "score, which is no new attribute", 3),
    "part of the key": (lambda student: {"studentId": "x"}, "studentId, which is no new attribute", 3),
    "not deterministic": (lambda student: {"firstName": str(next(_numbers))}, "two different results", 3),
    "different attributes": (
        lambda student: {"firstName": "x"} if student["score"] else {"lastName": "x"},
        "for each object",
        1,
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_function_that_fails_for_an_item_writes_nothing(
    case: str, students: tuple[Transition, School], tmp_path: Path
) -> None:
    _, application = students
    function, reason, least = BROKEN[case]
    before = stored(application)
    result = backfill(application, tmp_path, EntityFunction("Student", "Student", "broken", function))
    assert result.undecided_count >= least
    assert all(
        reason in finding.reason and finding.key["pk"]["S"].startswith("STUDENT#") for finding in result.undecided
    )
    assert not result.written
    assert stored(application) == before
    with pytest.raises(RefusedError, match="backfill is not finished"):
        backfill(application, tmp_path, step="clean")


def test_function_cannot_change_what_it_gets(students: tuple[Transition, School], tmp_path: Path) -> None:
    def careless(student: dict[str, Any]) -> dict[str, Any]:
        student["fullName"] += "!"
        return {"firstName": student["fullName"]}

    assert backfill(students[1], tmp_path, of_student(careless)).written["computed"] == 3


def test_later_steps_need_the_function_again(students: tuple[Transition, School], tmp_path: Path) -> None:
    _, application = students
    split = of_student(split_name)
    assert backfill(application, tmp_path, split).written == {"computed": 3}
    assert not backfill(application, tmp_path, split).written
    for step in ("backfill", "clean"):
        with pytest.raises(RefusedError, match="values of Student are computed by a function"):
            backfill(application, tmp_path, step=step)
    assert backfill(application, tmp_path, split, step="clean").undecided == []
    assert not [name for item in stored(application) for name in item if name.startswith("~")]


@pytest.mark.parametrize("keeps_new", [False, True])
def test_value_that_both_versions_changed_is_reported(
    keeps_new: bool, students: tuple[Transition, School], tmp_path: Path
) -> None:
    transition, application = students
    split = of_student(split_name)
    backfill(application, tmp_path, split)
    _set(
        application.client(transition.old),
        transition.old.package.classes["Student"],
        {"student_id": "n0"},
        {"full_name": "Eve X"},
    )
    new, cls = application.client(transition.new), transition.new.package.classes["Student"]
    _set(new, cls, {"student_id": "n0"}, {"first_name": "Anna"})
    result = backfill(application, tmp_path, split, step="clean", keeps_new=keeps_new)
    record: Any = new.get(cls, student_id="n0")
    assert (record.full_name, record.first_name, record.last_name) == ("Eve X", "Anna", "Lee")
    assert [finding.key["pk"]["S"] for finding in result.undecided] == ([] if keeps_new else ["STUDENT#n0"])
    if not keeps_new:  # the way on without the option
        _set(new, cls, {"student_id": "n0"}, {"first_name": None, "last_name": None})
        assert backfill(application, tmp_path, split, step="clean").undecided == []
        record = new.get(cls, student_id="n0")
        assert (record.first_name, record.last_name) == ("Eve", "X")


def test_way_back_removes_values_and_marks(students: tuple[Transition, School], tmp_path: Path) -> None:
    transition, application = students
    before = stored(application)
    backfill(application, tmp_path, of_student(split_name))
    back = plan_transition(transition.new, transition.old)
    client = application.client(transition.old)
    with evolution_of(transition, client, tmp_path) as evolution:
        evolution.change.direction, evolution.change.done = "back", []
    for step in (Evolution.backfill, Evolution.clean):
        with evolution_of(back, client, tmp_path) as evolution:
            assert step(evolution).undecided == []
    assert stored(application) == before


# --- Other entities -------------------------------------------------------------------------------------------------

PHONE = """### Phone

- `studentId` (string, id)
- `number` (integer, id)
- `text` (string, mutable)

"""


def phones(student: dict[str, Any]) -> list[dict[str, Any]]:
    """The words of the name are the numbers of two phones."""
    words = student["fullName"].split(" ")
    return [{"studentId": student["studentId"], "number": at, "text": word} for at, word in enumerate(words)]


@pytest.fixture
def with_phones() -> School:
    transition = plan_transition(
        school("OLD", "plain", has_new=False), school("NEW", "plain", has_new=False, entity=PHONE)
    )
    application = School(transition, "plain", 0)
    client = application.client(transition.old)
    for number in range(5):
        values = {"studentId": f"n{number}", "fullName": f"A{number} B{number}", "score": 0}
        client.insert(transition.old.package.record("Student", values))
    return application


def texts(application: School) -> dict[tuple[str, int], str]:
    items = [item for item in stored(application) if item["entityType"]["S"] == "Phone"]
    return {(item["studentId"]["S"], int(item["number"]["N"])): item["text"]["S"] for item in items}


def test_entity_is_split_while_all_versions_write(with_phones: School, tmp_path: Path) -> None:
    application = with_phones
    transition = application.transition
    split = EntityFunction("Student", "Phone", "phones", phones)
    old, new = application.client(transition.old), application.client(transition.new)
    student, phone = transition.old.package.classes["Student"], transition.new.package.classes["Phone"]
    originals = stored(application)
    assert backfill(application, tmp_path, split).written == {"computed": 10}
    assert len(texts(application)) == 10
    # The originals stay; they only have a note of what was made from them.
    kept = [item for item in stored(application) if item["entityType"]["S"] != "Phone"]
    assert [{name: value for name, value in item.items() if name[0] != "~"} for item in kept] == originals
    _set(old, student, {"student_id": "n0"}, {"full_name": "C0 B0 D0"})  # code of OLD goes on
    _set(new, phone, {"student_id": "n1", "number": 0}, {"text": "new"})  # code of NEW changes an item
    new.delete(phone, student_id="n2", number=1)  # or deletes one
    new.put(transition.new.package.record("Phone", {"studentId": "n3", "number": 7, "text": "own"}))  # or makes one
    assert backfill(application, tmp_path, split).undecided == []
    expected = {(f"n{number}", at): f"{word}{number}" for number in range(5) for at, word in enumerate("AB")}
    expected |= {("n0", 0): "C0", ("n0", 2): "D0", ("n1", 0): "new", ("n3", 7): "own"}
    del expected["n2", 1]
    assert texts(application) == expected
    assert backfill(application, tmp_path, split, step="clean").undecided == []
    assert texts(application) == expected
    assert not [name for item in stored(application) for name in item if name.startswith("~")]


@pytest.mark.parametrize("seed", range(3))
def test_split_survives_kills(with_phones: School, seed: int, tmp_path: Path) -> None:
    application = with_phones
    application.random.seed(seed)
    application.students = {f"n{at}": {"fullName": f"A{at} B{at}", "isOwned": False} for at in range(5)}
    application.number = itertools.count(100)
    application.budget = 40
    application.run(application.transition.old)
    worker = Worker(application, tmp_path, EntityFunction("Student", "Phone", "phones", phones))
    assert worker.run(Evolution.backfill).undecided == []
    application.running = []
    quiet = backfill(application, tmp_path, *worker.functions)
    assert quiet.undecided == []
    found = texts(application)
    for student, known in application.students.items():
        words = known["fullName"].split(" ")
        assert [found[student, at] for at in range(len(words))] == words


def test_results_with_the_same_key_are_reported(with_phones: School, tmp_path: Path) -> None:
    def same(student: dict[str, Any]) -> dict[str, Any]:
        return {"studentId": "n0", "number": 1, "text": student["fullName"]}

    result = backfill(with_phones, tmp_path, EntityFunction("Student", "Phone", "same", same))
    assert result.undecided_count == 4
    assert all("returned the same key for" in finding.reason for finding in result.undecided)
    assert not texts(with_phones)


def test_entity_is_merged_into_another(students: tuple[Transition, School], tmp_path: Path) -> None:
    transition, application = students
    client = application.client(transition.old)
    for room, name in (("n0", "Blue"), ("n1", "Red")):
        client.insert(transition.old.package.record("Room", {"roomId": room, "fullName": name}))

    def of_room(room: dict[str, Any]) -> dict[str, Any] | None:
        is_of_student = room["roomId"].startswith("n")
        return {"studentId": room["roomId"], "firstName": room["fullName"]} if is_of_student else None

    result = backfill(application, tmp_path, EntityFunction("Room", "Student", "of_room", of_room))
    assert (result.undecided, dict(result.written)) == ([], {"computed": 2})
    new, cls = application.client(transition.new), transition.new.package.classes["Student"]
    names = [new.get(cls, student_id=f"n{number}").first_name for number in range(3)]  # type: ignore[attr-defined]
    assert names == ["Blue", "Red", None]


# --- Loading --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("changes.py:split", "does not name an entity"),
        ("Studen=changes.py:split", "there is no entity `Studen` in `OLD`"),
        ("Student to Phone=changes.py:split", "there is no entity `Phone` in `NEW`"),
        ("Student=none.py:split", "there is no file none.py"),
        ("Student=changes.py:splt", "has no function `splt`"),
        ("Student=broken.py:split", "raised ZeroDivisionError"),
    ],
)
def test_function_that_cannot_be_loaded_is_refused(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("changes.py").write_text("def split(student):\n    return {}\n", encoding="utf-8")
    Path("broken.py").write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=message):
        read_functions([text], change("plain"))


def test_change_without_new_attributes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to compute"):
        read_functions(["Room=changes.py:split"], change("plain"))


@pytest.mark.parametrize("is_new", [True, False])
def test_items_of_an_entity_that_one_design_has_are_passed_over(is_new: bool, tmp_path: Path) -> None:
    """The items of a new entity, which NEW has written, or of one that is gone."""
    ends = (school("OLD", "plain", has_new=False), school("NEW", "plain", has_new=False, entity=PHONE))
    transition = plan_transition(*(ends if is_new else ends[::-1]))
    application = School(transition, "plain", 0)
    package = ends[1].package
    application.client(ends[1]).insert(package.record("Phone", {"studentId": "n", "number": 1, "text": "t"}))
    before = stored(application)
    for step in ("backfill", "clean"):
        assert backfill(application, tmp_path, step=step).undecided == []
    assert stored(application) == before


def test_commands_try_the_function_first_and_then_write(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prejoin: Prejoin,  # noqa: F811
) -> None:
    for name, has_new in (("old", False), ("new", True)):
        version = school(name, "plain", has_new=has_new)
        (tmp_path / name).mkdir()
        (tmp_path / name / "access-patterns.md").write_text(document("plain", has_new=has_new), encoding="utf-8")
        design = write_document(version.design, version.workload)
        (tmp_path / name / "table-design.md").write_text(design, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    old = school("old", "plain", has_new=False)
    with Embedded("school.db") as engine:
        client = Client(old.package.schema, "school", engine)
        client.create_table()
        for number, name in enumerate(("Ann Lee", "Cher")):
            values = {"studentId": f"n{number}", "fullName": name, "score": number}
            client.insert(old.package.record("Student", values))
    code = (
        "def split(s):\n    first, last = s['fullName'].split(' ')\n    return {'firstName': first, 'lastName': last}\n"
    )
    Path("changes.py").write_text(code, encoding="utf-8")
    place = ("old", "new", "--db", "school.db", "--function", "Student=changes.py:split")
    planned = prejoin("evolve", "plan", *place)
    assert (planned.status, "STUDENT#n1" in planned.out, "raised ValueError" in planned.out) == (1, True, True)
    refused = prejoin("evolve", "backfill", *place, "--yes", "--format", "json").json["result"]
    assert (refused["written"], refused["undecided_count"]) == ({}, 1)
    Path("changes.py").write_text(code.replace("first, last =", "first, *last ="), encoding="utf-8")
    assert "wrong lastName" in prejoin("evolve", "plan", *place).out
    code = code.replace("first, last = s['fullName'].split(' ')", "first, _, last = s['fullName'].partition(' ')")
    Path("changes.py").write_text(code, encoding="utf-8")
    planned = prejoin("evolve", "plan", *place)
    assert (planned.status, "to `prejoin evolve backfill` and `clean`, too" in planned.err) == (0, True), planned.err
    done = prejoin("evolve", "backfill", *place, "--yes", "--format", "json").json["result"]
    assert (done["written"], done["undecided"]) == ({"computed": 2}, [])
    assert prejoin("evolve", "clean", *place[:4], "--yes").status == 4
    assert prejoin("evolve", "clean", *place, "--yes").status == 0


# --- An id of another form ------------------------------------------------------------------------------------------


def test_id_of_another_form_is_refused_with_the_way(tmp_path: Path) -> None:
    number = PHONE.replace("`number` (integer, id)", "`number` (string, id)")
    old = school("OLD", "plain", has_new=False, entity=PHONE)
    with pytest.raises(InputError, match="add another entity with the new id") as error:
        plan_transition(old, school("NEW", "plain", has_new=False, entity=number))
    assert "--function" in str(error.value)


def test_items_of_another_entity_may_have_an_id_of_another_form(with_phones: School, tmp_path: Path) -> None:
    """The id is made from the old one by a rule."""
    application = with_phones

    def with_new_id(student: dict[str, Any]) -> dict[str, Any]:
        return {"studentId": f"ord-{student['studentId']}", "number": 1, "text": student["fullName"]}

    result = backfill(application, tmp_path, EntityFunction("Student", "Phone", "with_new_id", with_new_id))
    assert result.undecided == []
    assert set(texts(application)) == {(f"ord-n{number}", 1) for number in range(5)}
