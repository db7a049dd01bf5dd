"""Members of enums are renamed while the application runs: both names are found, and no item keeps the old one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from prejoin import Client, CodecError, Embedded, InputError, history
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, Guard, Item, KeyAttribute, Projection, ProjectionKind, Slot, When
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.plan import steps_of
from prejoin.migrate.evolve.transition import CodeVersion, Transition, plan_transition
from prejoin.patterns.integrity.audit import audit
from tests.migrate.evolve.application import Interleaved, Killed
from tests.migrate.evolve.shop import _TABLE, index, version

_DOCUMENT = """# Desk

## Entities

### Task

- `taskId` (string, id)
- `team` (string)
- `score` (integer, mutable)
- `status` ({enum}{flags})
{more}
### Team

- `team` (string, id)
- `status` (OPEN | DONE, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Task | Get task | taskId | Single | - | No | 10/s |
| AP-002 | Task | Tasks of team | team | Collection | taskId | No | 10/s |
| AP-003 | Task | By state | team, filter status | Collection | taskId | No | 10/s |
| AP-004 | Task | Ready | team, filter status = {word} | Collection | taskId | No | 10/s |
| AP-005 | Task | Not ready | team, filter status <> {word} | Collection | taskId | No | 10/s |
{reads}
### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Task | Add | taskId, team, score, status | create Task | - | 1/s |
| AP-011 | Task | Change state | taskId, status | update Task (status) | - | 1/s |
| AP-012 | Task | Score | taskId, score | update Task (score) | - | 1/s |
| AP-014 | Task | Reopen | taskId | update Task (status = OPEN) | Task.status = {word} | 1/s |
| AP-015 | Task | Finish | taskId | update Task (status = {word}) | - | 1/s |
{writes}
### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Task | Remove | taskId | delete Task | 1/s |
"""
_PUT = "| AP-013 | Task | Replace | taskId, team, score, status | put Task | - | 1/s |\n"
_READS = {
    "index": "| AP-006 | Task | Of state | status | Collection | score | Yes, 4 | 10/s |\n",
    "sort key": "| AP-006 | Task | Of state | team, status | Collection | score | Yes, 4 | 10/s |\n",
    "natural": "| AP-006 | Task | Of state | status | Collection | score | Yes, 4 | 10/s |\n",
    "sparse": "| AP-006 | Task | Ready ones | status = {word} | Collection | score | Yes, 4 | 10/s |\n",
    "sparse index": "| AP-006 | Task | Of state | status | Collection | score | Yes, 4 | 10/s |\n",
    "copy": "",
    "history": "",
    "": "",
}
PLACES = list(_READS)
FLAGS = {"required": ", mutable", "optional": ", optional, mutable", "default": ", mutable, default={word}"}
OLD_ENUM, NEW_ENUM = "OPEN | DONE | LATE", "OPEN | PAID renamed from DONE | LATE"


def desk(name: str, word: str, place: str = "", form: str = "required", enum: str = "") -> CodeVersion:
    """A version whose tasks are `DONE` or `PAID`."""
    flags = FLAGS[form].format(word=word)
    more = "- `version` (integer, mutable)\n- **History**: 5 versions\n" if place == "history" else ""
    text = _DOCUMENT.format(
        enum=enum or {"DONE": OLD_ENUM, "PAID": NEW_ENUM}[word],
        flags=flags,
        more=more,
        word=word,
        reads=_READS[place].format(word=word),
        writes="" if place == "history" else _PUT,
    )
    facets = [Facet(TABLE, ("TASK#{taskId}",), ("TASK",)), Facet("gsi1", ("TEAM#{team}",), ("{taskId}",))]
    slots = [_TABLE, index("gsi1")]
    own_index = index("gsi2")
    match place:
        case "index":
            facets.append(Facet("gsi2", ("STATUS#{status}",), ("{score}#{taskId}",)))
        case "sort key":
            facets.append(Facet("gsi2", ("TEAM#{team}",), ("STATUS#{status}#{score}#{taskId}",)))
        case "natural":
            own_index = Slot("gsi2", (KeyAttribute("status"),), (KeyAttribute("score", "N"),))
            facets.append(Facet("gsi2", ("{status}",), ("{score}",)))
        case "sparse":
            facets.append(Facet("gsi2", ("READY",), ("{score}#{taskId}",), (When("status", (word,)),)))
        case "sparse index":
            when = (When("status", ("LATE", "OPEN", word)),)
            facets.append(Facet("gsi2", ("STATUS#{status}",), ("{score}#{taskId}",), when))
        case _:
            own_index = None
    slots += [own_index] if own_index else []
    items = [Item("Task", "Task", tuple(facets)), Item("Team", "Team", (Facet(TABLE, ("TEAM#{team}",), ("TEAM",)),))]
    if place == "copy":
        items.append(Item("Task", "Task.by-score", (Facet(TABLE, ("SCORE#{team}",), ("{taskId}",)),), "by-score"))
    return version(name, text, Design("desk", tuple(slots), tuple(items)))


class Desk:
    """The expected tasks, and the versions of the code that run. States are in the words of OLD."""

    def __init__(self, transition: Transition, seed: int) -> None:
        self.engine = Embedded()
        self.random = random.Random(seed)
        self.transition = transition
        self.words = {one.old: one.new for one in transition.renamed_members}
        self.tasks: dict[str, dict[str, Any]] = {}
        self.running: list[tuple[CodeVersion, Client]] = []
        self.checked = 0
        self._number = 0
        client = Client(transition.old.package.schema, "desk", self.engine)
        client.create_table()
        client.insert(transition.old.package.record("Team", {"team": "t9", "status": "DONE"}))
        self.bystander = self.stored("Team")

    @property
    def states(self) -> list[str]:
        entity = self.transition.old.workload.entity("Task")
        attribute = entity.attribute("status") if entity else None
        return list(attribute.type.values) if attribute else []

    def run(self, *versions: CodeVersion) -> None:
        self.running = [(one, Client(one.package.schema, "desk", self.engine)) for one in versions]

    def stored(self, tag: str) -> list[dict[str, Any]]:
        client = Client(self.transition.old.package.schema, "desk", self.engine)
        return [item for item in client.call("Scan")["Items"] if item["entityType"]["S"] == tag]

    def word(self, version_: CodeVersion, state: str) -> str:
        """A state in the words of a version."""
        return state if version_ in (self.transition.old, self.transition.prepare) else self.words.get(state, state)

    def act(self) -> None:
        self._write(*self.random.choice(self.running))
        for version_, client in self.running:
            self._read(version_, client)

    def _write(self, version_: CodeVersion, client: Client) -> None:
        self._number += 1
        verb = self.random.choice(("add", "add", "state", "state", "score", "put", "reopen", "finish", "remove"))
        state = self.random.choice(self.states)
        if verb == "add" or not self.tasks:
            self._put(version_, client, f"k{self._number:04}", state, "AP-010")
            return
        name = self.random.choice(sorted(self.tasks))
        task = self.tasks[name]
        finished = next(iter(self.words))
        if verb == "state":
            task["status"] = state
            self._call(version_, client, "AP-011", {"task_id": name, "status": self.word(version_, state)})
        elif verb == "score":
            task["score"] = self._number
            self._call(version_, client, "AP-012", {"task_id": name, "score": self._number})
        elif verb == "put" and "AP-013" in version_.package.methods:
            self._put(version_, client, name, state, "AP-013")
        elif verb == "reopen" and task["status"] == finished:
            self._call(version_, client, "AP-014", {"task_id": name})
            task["status"] = "OPEN"
        elif verb == "finish":
            self._call(version_, client, "AP-015", {"task_id": name})
            task["status"] = finished
        elif verb == "remove":
            self._call(version_, client, "AP-020", {"task_id": name})
            del self.tasks[name]

    def _put(self, version_: CodeVersion, client: Client, name: str, state: str, pattern: str) -> None:
        task = {"team": self.random.choice(("t0", "t1")), "score": self._number, "status": state}
        given = {**task, "task_id": name, "status": self.word(version_, state)}
        if "version" in version_.package.fields["Task"]:
            given["version"] = 0
        self._call(version_, client, pattern, {"task": version_.package.classes["Task"](**given)})
        self.tasks[name] = task

    def _call(self, version_: CodeVersion, client: Client, pattern: str, arguments: dict[str, Any]) -> Any:
        return version_.package.call(client, version_.package.methods[pattern], arguments)

    def _read(self, version_: CodeVersion, client: Client) -> None:
        for name in self.random.sample(sorted(self.tasks), min(2, len(self.tasks))):
            self._same(version_, [self._call(version_, client, "AP-001", {"task_id": name})], [name])
        team, state = self.random.choice(("t0", "t1")), self.random.choice(self.states)
        finished = next(iter(self.words))
        in_team = [name for name in sorted(self.tasks) if self.tasks[name]["team"] == team]
        reads: dict[str, tuple[dict[str, Any], list[str]]] = {
            "AP-002": ({"team": team}, in_team),
            "AP-003": (
                {"team": team, "status": self.word(version_, state)},
                [name for name in in_team if self.tasks[name]["status"] == state],
            ),
            "AP-004": ({"team": team}, [name for name in in_team if self.tasks[name]["status"] == finished]),
            "AP-005": ({"team": team}, [name for name in in_team if self.tasks[name]["status"] != finished]),
        }
        for pattern, (arguments, names) in reads.items():
            answer = self._call(version_, client, pattern, arguments)
            self._same(version_, answer.items if hasattr(answer, "items") else answer, names)
        if "AP-006" in version_.package.methods:
            self._read_pages(version_, client, team, state, finished)

    def _read_pages(self, version_: CodeVersion, client: Client, team: str, state: str, finished: str) -> None:
        """Reads all pages of the tasks in a state, in the order of their scores."""
        method = version_.package.methods["AP-006"]
        given = {"team": team, "status": self.word(version_, state)}
        names = [param.name for param in method.params]
        arguments = {name: given[name] for name in names if name in given}
        state = state if "status" in arguments else finished
        found = [
            name
            for name, task in self.tasks.items()
            if task["status"] == state and ("team" not in arguments or task["team"] == team)
        ]
        expected = sorted(found, key=lambda name: (self.tasks[name]["score"], name))
        records: list[Any] = []
        after = None
        for _ in range(100):
            page = version_.package.call(client, method, {**arguments, "limit": 4, "after": after})
            records += page.items
            after = page.cursor
            if after is None:
                break
        self._same(version_, records, expected)

    def _same(self, version_: CodeVersion, records: list[Any], names: list[str]) -> None:
        assert [record.task_id for record in records] == names, version_.name
        for record in records:
            task = self.tasks[record.task_id]
            expected = (task["team"], task["score"], self.word(version_, task["status"]))
            assert (record.team, record.score, record.status) == expected, version_.name
            self.checked += 1


class Worker:
    """Runs steps of an evolution, and repeats each after a kill."""

    def __init__(self, desk_: Desk, folder: Path) -> None:
        self.desk = desk_
        self.folder = folder
        self.kills = 0

    def run(self, transition: Transition, step: Any) -> StepResult:
        while True:
            transport = Interleaved(self.desk, 0.1 / (1 + self.kills / 4))  # type: ignore[arg-type]
            client = Client(transition.old.package.schema, "desk", transport)
            try:
                with evolution_of(transition, client, state=self.folder) as evolution:
                    result: StepResult = step(evolution)
                    return result
            except Killed:
                self.kills += 1


def follow(transition: Transition, application: Desk, worker: Worker) -> StepResult:
    """Follows the steps of the plan while the application runs."""
    running = transition.old
    application.run(running)
    for _ in range(40):
        application.act()
    result = StepResult()
    for step in steps_of(transition):
        match step.kind:
            case "deploy":
                deployed = next(one for one in transition.versions if one.name == step.what)
                application.run(running, deployed)
                for _ in range(25):
                    application.act()
                running = deployed
                application.run(running)
            case "backfill":
                result = worker.run(transition, Evolution.backfill)
                assert result.undecided == []
            case "clean":
                result = worker.run(transition, Evolution.clean)
    return result


def renaming(place: str = "", form: str = "required") -> Transition:
    return plan_transition(desk("OLD", "DONE", place, form), desk("NEW", "PAID", place, form))


def require_clean(transition: Transition, application: Desk) -> None:
    """No item has an old member, and all are as NEW needs them."""
    client = Client(transition.new.package.schema, "desk", application.engine)
    assert list(audit(client)) == []
    for item in client.call("Scan")["Items"]:
        if item["entityType"]["S"] not in ("Team", "prejoin.state"):
            assert not set(application.words) & set(repr(item).replace("#", "'").split("'")), item
    assert application.stored("Team") == application.bystander


@pytest.mark.everyday(4)
@pytest.mark.parametrize("direction", ["forward", "back"])
@pytest.mark.parametrize(
    ("place", "form"), [*((place, "required") for place in PLACES), ("", "default"), ("index", "default")]
)
def test_every_version_reads_the_right_member(place: str, form: str, direction: str, tmp_path: Path) -> None:
    old, new = desk("OLD", "DONE", place, form), desk("NEW", "PAID", place, form)
    transition = plan_transition(old, new) if direction == "forward" else plan_transition(new, old)
    assert [step.kind for step in steps_of(transition)] == ["deploy", "deploy", "backfill", "deploy", "clean"]
    application = Desk(transition, seed=len(place) + len(form))
    worker = Worker(application, tmp_path)
    assert follow(transition, application, worker).undecided == []
    assert worker.kills > 0
    assert application.checked > 300
    require_clean(transition, application)


@pytest.mark.parametrize("missing", ["prepare", "switch", "backfill"])
def test_without_one_of_the_steps_the_application_fails(missing: str, tmp_path: Path) -> None:
    transition = renaming()
    application = Desk(transition, seed=3)
    application.run(transition.old)
    for _ in range(40):
        application.act()
    versions = [one for one in (transition.prepare, transition.switch) if one.name != missing]
    running = transition.old
    with pytest.raises((CodecError, AssertionError)):
        for version_ in (*versions, transition.new):
            if version_ is transition.new and missing != "backfill":
                Worker(application, tmp_path).run(transition, Evolution.backfill)
            application.run(running, version_)
            for _ in range(40):
                application.act()
            running = version_


# --- Code that knows one name ---------------------------------------------------------------------------------------


def step(transition: Transition, application: Desk, folder: Path, *steps: Any) -> StepResult:
    result = StepResult()
    for one in steps:
        client = Client(transition.old.package.schema, "desk", application.engine)
        with evolution_of(transition, client, state=folder) as evolution:
            result = one(evolution)
    return result


def write(version_: CodeVersion, application: Desk, name: str, state: str) -> None:
    """Adds a task with the code of a version."""
    values = {"taskId": name, "team": "t0", "score": 1, "status": state}
    if "version" in version_.package.fields["Task"]:
        values["version"] = 0
    Client(version_.package.schema, "desk", application.engine).put(version_.package.record("Task", values), read=True)


def states(application: Desk) -> dict[str, str]:
    return {item["taskId"]["S"]: item["status"]["S"] for item in application.stored("Task")}


@pytest.mark.parametrize("place", ["", "index", "sparse", "copy"])
def test_forgotten_job_of_old_is_renamed_by_the_next_command(place: str, tmp_path: Path) -> None:
    transition = renaming(place)
    application = Desk(transition, seed=1)
    for number in range(5):
        write(transition.old, application, f"k{number}", "DONE" if number else "OPEN")
    result = step(transition, application, tmp_path, Evolution.backfill)
    assert result.written["members renamed"] >= 4
    write(transition.new, application, "new", "PAID")
    assert step(transition, application, tmp_path, Evolution.backfill).written == {}
    write(transition.old, application, "late", "DONE")
    if place in ("", "index"):  # else its write first reads the item, which it cannot
        old = Client(transition.old.package.schema, "desk", application.engine)
        application._call(transition.old, old, "AP-011", {"task_id": "k1", "status": "DONE"})
    assert step(transition, application, tmp_path, Evolution.clean).undecided == []
    assert states(application) == {"k0": "OPEN", "new": "PAID", "late": "PAID"} | {f"k{n}": "PAID" for n in range(1, 5)}
    require_clean(transition, application)
    write(transition.old, application, "later", "DONE")
    assert step(transition, application, tmp_path, Evolution.clean).undecided == []
    require_clean(transition, application)


@pytest.mark.parametrize("place", ["", "index", "sparse index", "history"])
@pytest.mark.parametrize("reached", ["begun", "prepare", "switch", "backfill", "NEW"])
def test_way_back_from_each_step(reached: str, place: str, tmp_path: Path) -> None:
    """What each version wrote until then is there in the words of OLD, and nothing else is."""
    transition = renaming(place)
    application = Desk(transition, seed=1)
    write(transition.old, application, "old", "DONE")
    with evolution_of(transition, Client(transition.old.package.schema, "desk", application.engine), state=tmp_path):
        pass
    expected = {"old": "DONE"}
    for name in ("prepare", "switch", "backfill", "NEW"):
        if reached == "begun":
            break
        if name == "backfill":
            step(transition, application, tmp_path, Evolution.backfill)
        else:
            version_ = {"prepare": transition.prepare, "switch": transition.switch, "NEW": transition.new}[name]
            write(version_, application, name, application.word(version_, "DONE"))
            write(version_, application, f"{name}-open", "OPEN")
            expected |= {name: "DONE", f"{name}-open": "OPEN"}
        if name == reached:
            break
    client = Client(transition.old.package.schema, "desk", application.engine)
    back = abort_on(client, transition, tmp_path)
    if back is None:
        assert reached in ("begun", "prepare", "switch")
        back = plan_transition(transition.new, transition.old)
        if reached != "switch":
            assert states(application) == expected
            return
        # Nothing but the code wrote: a change of its own brings it back.
        step(transition, application, tmp_path, Evolution.backfill)
        back = abort_on(client, transition, tmp_path)
        assert back is not None
    assert step(back, application, tmp_path, Evolution.backfill, Evolution.clean).undecided == []
    assert states(application) == expected
    assert list(audit(client)) == []


def test_earlier_versions_are_renamed_too(tmp_path: Path) -> None:
    transition = renaming("history")
    application = Desk(transition, seed=1)
    write(transition.old, application, "k", "DONE")
    old = Client(transition.old.package.schema, "desk", application.engine)
    for state in ("LATE", "DONE", "OPEN"):
        with old.update(transition.old.package.classes["Task"], task_id="k", read=True) as task:
            task.status = state
    switch = Client(transition.switch.package.schema, "desk", application.engine)
    cls = transition.switch.package.classes["Task"]
    assert {one.status for one in history(switch, cls, task_id="k")} == {"PAID", "LATE"}
    for _ in range(2):
        assert step(transition, application, tmp_path, Evolution.backfill).undecided == []
    assert step(transition, application, tmp_path, Evolution.clean).undecided == []
    require_clean(transition, application)
    new = Client(transition.new.package.schema, "desk", application.engine)
    versions = history(new, transition.new.package.classes["Task"], task_id="k")
    assert {one.status for one in versions} == {"PAID", "LATE"}


def test_plan_says_what_is_renamed() -> None:
    steps = {one.kind: one for one in steps_of(renaming())}
    assert "write PAID instead of DONE of Task.status" in steps["backfill"].text
    assert steps["backfill"].running == "`switch`"
    assert "verify that no item has DONE of Task.status" in steps["clean"].text


# --- Refused --------------------------------------------------------------------------------------------------------


def with_other(version_: CodeVersion, **parts: Any) -> CodeVersion:
    design = replace(version_.design, **parts)
    return CodeVersion(version_.name, version_.workload, map_patterns(design, version_.workload))


def with_key(version_: CodeVersion, facet: Facet, copy: str = "") -> CodeVersion:
    """A version whose tasks, or copies of them, have another key."""
    tasks, teams = version_.design.items
    copied = Item("Task", f"Task.{copy}", (facet,), copy)
    items = (tasks, teams, copied) if copy else (replace(tasks, facets=(facet, *tasks.facets[1:])), teams)
    return with_other(version_, items=items)


_BY_STATUS = Facet(TABLE, ("STATUS#{status}",), ("{taskId}",))
REFUSED = {
    "a key of the table": lambda one: with_key(one, replace(_BY_STATUS, sk=("TASK#{taskId}",))),
    "a key of a copy": lambda one: with_key(one, _BY_STATUS, "by-status"),
    "twice in a key": lambda one: with_other(
        one,
        slots=(*one.design.slots, index("gsi2")),
        items=(
            replace(
                one.design.items[0],
                facets=(
                    *one.design.items[0].facets,
                    Facet("gsi2", ("STATUS#{status}",), ("{status}#{taskId}",)),
                ),
            ),
            one.design.items[1],
        ),
    ),
    "unique": lambda one: with_other(one, guards=(Guard("Task", ("team", "status")),)),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_key_that_cannot_have_two_words_is_refused(reason: str) -> None:
    versions = [REFUSED[reason](desk(name, word)) for name, word in (("OLD", "DONE"), ("NEW", "PAID"))]
    with pytest.raises(InputError, match="rename it in two changes: add PAID to the enum"):
        plan_transition(*versions)


def test_index_without_the_attribute_is_refused() -> None:
    versions = []
    for name, word in (("OLD", "DONE"), ("NEW", "PAID")):
        one = desk(name, word, "index")
        keys_only = replace(one.design.slots[-1], projection=Projection(ProjectionKind.KEYS_ONLY))
        versions.append(with_other(one, slots=(*one.design.slots[:-1], keys_only)))
    with pytest.raises(InputError, match="does not hold all attributes"):
        plan_transition(*versions)


@pytest.mark.parametrize(
    ("enum", "form", "said"),
    [
        ("OPEN | PAID renamed from DONE", "required", "rename in one change"),
        ("OPEN | PAID renamed from DONE | LATE", "optional", "rename in one change"),
        ("OPEN | PAID renamed from DONE | LATE | NEXT", "required", "rename in one change"),
    ],
)
def test_rename_with_another_change_of_the_attribute_is_refused(enum: str, form: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_transition(desk("OLD", "DONE"), desk("NEW", "PAID", "", form, enum))


def test_rename_beside_a_change_that_needs_a_backfill_is_refused() -> None:
    with pytest.raises(InputError, match="rename it in a change of its own"):
        plan_transition(desk("OLD", "DONE"), desk("NEW", "PAID", "index"))
    transition = plan_transition(desk("OLD", "DONE", "index"), desk("NEW", "PAID"))
    kinds = [one.kind for one in steps_of(transition)]
    assert kinds == ["deploy", "deploy", "backfill", "deploy", "remove", "clean"]


def test_member_without_the_words_is_dropped_and_added() -> None:
    """The way of two changes: what is not said to be renamed is not."""
    transition = plan_transition(desk("OLD", "DONE"), desk("NEW", "PAID", enum="OPEN | PAID | LATE"))
    assert transition.renamed_members == ()
    assert transition.verified == (("Task", "status"),)
