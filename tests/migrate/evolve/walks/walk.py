"""A random walk over the commands of `prejoin evolve`, on several machines, while code of all versions writes.

Commands run in any order and direction, with kills before and after any request, from machines with other clocks and
folders. A process may sleep until its lease is over, wake up while another one works, and go on. At the end the change
is finished in the direction that it has. Then `check` compares the table with the oracle.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from unittest.mock import patch

import msgspec

from prejoin import Client, Embedded, InputError, RefusedError
from prejoin.migrate.evolve import record as record_module
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.duplicates import duplicates_in
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.plan import steps_of
from prejoin.migrate.evolve.record import LEASE, TableRecord, record_place
from prejoin.migrate.evolve.transition import CodeVersion, Transition, design_id, plan_transition
from tests.migrate.evolve.application import Killed
from tests.migrate.evolve.walks.application import Application, Moment
from tests.migrate.evolve.walks.oracle import Code, Oracle, codes_of, sides_of
from tests.migrate.evolve.walks.studio import PAIRS, TABLE_NAME

_BEGIN = 1_800_000_000.0
_MOST = 90
"""The most objects of a walk."""
_KILL = 0.01
_SLEEP = 0.008
_WRITE = 0.05
"""The chances of a request: that the process is killed before or after it, that it sleeps, that somebody writes."""
_MACHINES = ("alpha", "beta")
Step = Callable[[Evolution], StepResult]
STEPS: tuple[Step, ...] = (Evolution.add_indexes, Evolution.backfill, Evolution.backfill, Evolution.clean)


@dataclass(frozen=True)
class Course:
    """The transitions between two designs, and all versions of the code."""

    first: CodeVersion
    second: CodeVersion
    forward: Transition
    back: Transition | None
    """None if no change leads back."""

    @property
    def transitions(self) -> list[Transition]:
        return [self.forward, *([self.back] if self.back else [])]


@cache
def course(pair: str) -> Course:
    first, second = (studio.version(name) for studio, name in zip(PAIRS[pair], ("first", "second"), strict=True))
    forward = plan_transition(first, second)
    try:
        back = plan_transition(second, first)
    except InputError:
        back = None
    return Course(first, second, forward, back)


@cache
def course_codes(pair: str) -> list[Code]:
    """The code of all versions: of both directions, and of the ways back from them, which write the same marks."""
    one = course(pair)
    found: list[Code] = codes_of(one.forward, one.first)
    if one.back is not None:
        turned = plan_transition(one.second, one.first, one.forward.change)
        again = plan_transition(one.first, one.second, one.back.change)
        for transition in (one.back, turned, again):
            found += codes_of(transition, one.first)[1:3]
    return found


class Network:
    """The transport of one command: it kills the process, lets it sleep, and lets others write meanwhile."""

    concurrent = False

    def __init__(self, walk: Walk, is_risky: bool) -> None:
        self._walk = walk
        self._is_risky = is_risky
        self._is_holder = False
        """Whether the process has entered itself in the record of the table."""

    def send(self, operation: str, body: bytes) -> bytes:
        walk = self._walk
        if self._is_risky:
            if walk.random.random() < _KILL:
                raise Killed
            if walk.random.random() < _SLEEP:
                walk.sleep(self._is_holder)
            if walk.random.random() < _WRITE:
                walk.write()
        answer = walk.engine.send(operation, self._in_small_pages(operation, body))
        self._is_holder |= operation == "PutItem" and b"PREJOIN#EVOLVE" in body
        if self._is_risky and walk.random.random() < _KILL:
            raise Killed  # the request was applied, and the command does not know it
        return answer

    def _in_small_pages(self, operation: str, body: bytes) -> bytes:
        """A scan with a limit, so that a small table has several pages."""
        if operation != "Scan":
            return body
        return msgspec.json.encode({"Limit": self._walk.page, **msgspec.json.decode(body)})

    def close(self) -> None:
        pass


@dataclass
class Walk:
    """A table between two designs."""

    pair: str
    seed: int
    folder: Path
    engine: Embedded = field(default_factory=Embedded)
    events: Counter[str] = field(default_factory=Counter)
    is_asleep: bool = False
    overtaken: bool = False
    """Whether another process worked while the one that works was asleep."""

    def __post_init__(self) -> None:
        self.random = random.Random(f"{self.pair} {self.seed}")
        self.course = course(self.pair)
        transition = self.course.forward
        names = {(entity, new): old for entity, old, new in transition.renamed}
        self.oracle = Oracle(self.course.first, self.course.second, frozenset(transition.moved), names)
        self.application = Application(self.engine, self.oracle, self.random, self.moment, self._changed())
        self.log = self.application.log
        self.clock = _BEGIN
        self.machine = _MACHINES[0]
        self.page = self.random.choice((7, 20, 1000))
        """The most items in a page."""
        self._client(self.course.first).create_table()

    def _changed(self) -> frozenset[str]:
        """The entities whose attributes, keys, copies or guards differ."""
        first, second = self.course.first, self.course.second

        def form(version: CodeVersion, entity: str) -> tuple[object, ...]:
            design = version.design
            items = [item for item in design.items if item.entity == entity]
            guards = [guard for guard in design.guards if guard.entity == entity]
            return version.workload.entity(entity), items, guards

        names = [entity.name for entity in second.workload.entities]
        return frozenset([name for name in names if form(first, name) != form(second, name)])

    # --- The application --------------------------------------------------------------------------------------------

    def write(self) -> None:
        if len(self.oracle.objects) < _MOST:
            self.application.write(self._any_code())

    def read(self) -> None:
        self.application.read(self._any_code())

    def _any_code(self) -> Code:
        """Mostly code that knows one design: what it writes has to be carried over."""
        every = course_codes(self.pair)
        of_one_design = [code for code in every if len(code.writes) == 1]
        return self.random.choice(of_one_design if self.random.random() < 0.6 else every)

    def moment(self) -> Moment:
        """The change under way, and the side that is being removed."""
        record = self.record()
        change = record.change
        if change is None or not (change.done or change.step.name):
            # The last change may be repeated, the next one begins, or its first command will be refused.
            return Moment("none", None)
        if not change.is_cleaning:
            return Moment(change.id, None)
        transition = self.direction()
        leaving, _ = sides_of(transition, self.course.first)
        self.oracle.note_cleaning(leaving, transition.old, transition.new)
        return Moment(change.id, leaving)

    # --- Commands ---------------------------------------------------------------------------------------------------

    def act(self) -> None:
        """Writes, reads, or runs any command in any direction."""
        choice = self.random.random()
        if choice < 0.45:
            self.write()
        elif choice < 0.55:
            self.read()
        elif choice < 0.58:
            self._look()
        else:
            self._command()

    def _command(self) -> None:
        self.machine = self.random.choice(_MACHINES)
        if self.random.random() < 0.3:
            self.clock += LEASE * 2
        transition = self.random.choice([*self.course.transitions, self.direction(), self.direction()])
        if self.random.random() < 0.12:
            self._abort(transition)
        else:
            self.run(transition, self.random.choice(STEPS), is_risky=True)

    def sleep(self, is_holder: bool) -> None:
        """A process sleeps until its lease is over, if it has one already; meanwhile another machine works."""
        if self.is_asleep:
            return
        self.is_asleep = True
        machine, self.machine = self.machine, "gamma"
        self.clock += LEASE * 2
        before = self._revision()
        self.log.append("another machine begins")
        self.run(self.direction(), self.random.choice(STEPS), is_risky=True)
        for _ in range(3):
            self.write()
        self.machine, self.is_asleep = machine, False
        self.overtaken |= is_holder and self._revision() != before
        self.log.append(f"the first machine goes on, overtaken: {self.overtaken}")
        self.events["overtaken"] += self.overtaken

    def run(self, transition: Transition, step: Step, is_risky: bool = False) -> StepResult | None:
        """Runs a step. Returns its result; None if it was refused or killed."""
        is_inner = self.is_asleep
        if not is_inner:
            self.overtaken = False
        client = Client(transition.old.package.schema, TABLE_NAME, Network(self, is_risky))
        name = f"{self.machine}: {step.__name__} {transition.old.name} {transition.new.name}"
        # Each machine has a folder of its own, and loses it.
        folder = self.folder / f"{self.machine}{self.random.randrange(10**6)}"
        self.application.time += 1
        since = self.application.time
        self.log.append(f"{name} begins")
        self.oracle.begin_command()
        try:
            with self._on_machine(), evolution_of(transition, client, folder) as evolution:
                result = step(evolution)
                change = evolution.transition.change
        except RefusedError as refusal:
            self.events[f"refused {refusal.diagnostics[0].code}"] += 1
            self.log.append(f"{name} refused: {refusal}")
            return None
        except Killed:
            self.events["killed"] += 1
            self.log.append(f"{name} killed")
            return None
        self.log.append(f"{name}: {dict(result.written)} {[str(one) for one in result.undecided]}")
        self.events[step.__name__] += 1
        assert is_inner or not self.overtaken, "a process went on after its lease was over"
        undecided = {one.kind for one in result.undecided}
        assert undecided <= {"unfit", "damaged"}, result.undecided
        if not result.undecided:
            _, coming = sides_of(transition, self.course.first)
            if step is Evolution.clean:
                self.oracle.note_clean(coming, transition.old, transition.new, since)
            elif step is Evolution.backfill and not result.is_left_to_clean:
                self.oracle.note_complete(change, coming, since)
        return result

    def _abort(self, transition: Transition) -> None:
        name = f"{self.machine}: abort {transition.old.name} {transition.new.name}"
        self.overtaken = False
        try:
            with self._on_machine():
                abort_on(
                    Client(transition.old.package.schema, TABLE_NAME, Network(self, True)), transition, self.folder
                )
            assert not self.overtaken, "a process went on after its lease was over"
            self.events["abort"] += 1
            self.log.append(name)
        except (RefusedError, InputError) as refusal:
            self.events["abort refused"] += 1
            self.log.append(f"{name} refused: {refusal}")
        except Killed:
            self.log.append(f"{name} killed")

    def _look(self) -> None:
        """`plan`, `status` and `log` change nothing."""
        before = self._items()
        transition = self.direction()
        assert steps_of(transition)
        duplicates_in(self._client(transition.old), transition)
        self.record()
        assert self._items() == before

    # --- State ------------------------------------------------------------------------------------------------------

    def record(self) -> TableRecord:
        return record_place(self._client(self.course.first), self.folder).read()

    def direction(self) -> Transition:
        """The transition that is under way, or the next one."""
        record = self.record()
        change = record.change
        is_first = (change.source if change else record.design) in ("", design_id(self.course.first))
        goes_back = change is not None and change.direction == "back"
        is_forward = is_first is not goes_back
        if self.course.back is None or is_forward:
            return self.course.forward
        return self.course.back

    def never_left(self, version: CodeVersion) -> bool:
        """Whether the table had one design all the time: then older items may lack what has a default."""
        return version is self.course.first and not any(one.result == "applied" for one in self.record().log)

    def _revision(self) -> str:
        key = {"pk": {"S": "PREJOIN#EVOLVE"}, "sk": {"S": "STATE"}}
        item = self._client(self.course.first).call("GetItem", {"Key": key}).get("Item", {})
        return str(item.get("revision"))

    def _items(self) -> list[dict[str, object]]:
        items: list[dict[str, object]] = self._client(self.course.first).call("Scan")["Items"]
        return items

    def _client(self, version: CodeVersion) -> Client:
        return Client(version.package.schema, TABLE_NAME, self.engine)

    @contextmanager
    def _on_machine(self) -> Iterator[None]:
        """Another host name, and the clock of the walk."""
        machine = self.machine
        with (
            patch.object(record_module.socket, "gethostname", lambda: machine),
            patch.object(record_module.time, "time", lambda: self.clock),
        ):
            yield
