"""Generated repositories driven by the proof's data: each method called as its pattern is, and compared with brute force."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any, Protocol, Self

from msgspec.structs import replace as struct_replace
from tests.proof.league import NOW, league_design, league_workload
from tests.render.designed import NAMES as PUBLIC
from tests.render.designed import designed as public

from prejoin.design.mapping.addressing import NEW, links
from prejoin.design.mapping.map_reads import followed
from prejoin.design.model import Design
from prejoin.design.solver.solve import solve
from prejoin.engine import Embedded
from prejoin.proof.bench import Bench
from prejoin.proof.inputs import Given, cases
from prejoin.proof.provoke import REFUSED, _broken, supply
from prejoin.proof.reference import Found, Reference, difference
from prejoin.proof.run_writes import _keep
from prejoin.proof.state import State
from prejoin.proof.steps import Case, Step, steps_of
from prejoin.render.python import Options, render_python
from prejoin.render.python.method import Asked, Known, Method, Option, Param, Whole
from prejoin.render.python.names import names_of
from prejoin.render.python.package import repository_methods
from prejoin.table import AsyncClient, Changes, Client, Collection, Page, TooMany
from prejoin.transport import AsyncTransport, Endpoint, Transport
from prejoin.workload.files import read_file
from prejoin.workload.lookup import target
from prejoin.workload.model import Action, ChangeOp, Combine, Op, Read, Result, Value, Verb, Workload, Write
from prejoin.workload.tenants import is_scoped

ROOT = Path(__file__).parents[3]
DOCUMENTS = {
    **{path.parent.name: path for path in sorted(ROOT.glob("examples/*/access-patterns.md"))},
    **{path.parent.name: path for path in sorted(ROOT.glob("tests/corpus/*/access-patterns.md"))},
    **{path.stem: path for path in sorted(Path(__file__).with_name("documents").glob("*.md"))},
}
"""Examples, published designs, and here one for each kind of thing that these do not have: by name."""
NAMES = [*DOCUMENTS, "league"]
_numbers = count(1)

_APART = re.compile(r"^\w+\.\w+ is not \w")
"""What a generated method says of objects that do not belong together."""


@cache
def designed(name: str) -> tuple[Workload, Design]:
    """A document and its design; that of the league is made by hand."""
    if name == "league":
        return league_workload(), league_design()
    if name in PUBLIC:
        return public(name)
    workload = read_file(DOCUMENTS[name]).workload
    return workload, solve(workload).design


def written(files: Mapping[PurePosixPath, str], folder: Path, beside: str = "") -> None:
    """Generated files in a folder; with `beside`, all of them in the package of that name, tests too."""
    for path, text in files.items():
        place = folder / (PurePosixPath(beside) / path.name if beside else path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


class InconsistentError(Exception):
    """Values that a call of the method cannot have: two items that would have to agree do not."""


class DynamoDB(Transport, AsyncTransport, Protocol):
    """Where a repository is driven."""


class Driver:
    """A generated package imported, on a table that the proof has filled: here, or where it is told."""

    def __init__(
        self,
        workload: Workload,
        design: Design,
        folder: Path,
        options: Options | None = None,
        aio: bool = False,
        at: DynamoDB | None = None,
        harsh: bool = False,
    ) -> None:
        name = f"generated_{next(_numbers)}"
        options = replace(options or Options(), package=name)
        design = struct_replace(design, table=name)
        written(render_python(workload, design, options), folder)
        sys.path.insert(0, str(folder))
        try:
            importlib.invalidate_caches()
            self.entities: ModuleType = importlib.import_module(f"{name}.entities")
            schema = importlib.import_module(f"{name}.schema")
            repository = importlib.import_module(f"{name}.{'async_' if aio else ''}repository")
        finally:
            sys.path.remove(str(folder))
        self.workload = workload
        self.names = names_of(workload)
        self.methods = repository_methods(workload, design, options)
        self.tenant: Any = None
        """For whom methods about the items of a tenant are called."""
        self._tenant_name = workload.tenant.attribute if workload.tenant else ""
        self._end = ExitStack()
        transport = at or self._end.enter_context(Embedded())
        self.bench = Bench.ready(workload, design, transport, NOW, harsh=harsh)
        self._loop = self._end.enter_context(asyncio.Runner())
        if aio and isinstance(at, Endpoint):
            self._end.callback(lambda: self._loop.run(at.close_async()))  # its connections are this loop's
        if at is not None:  # others use that place, too
            self._end.callback(lambda: at.send("DeleteTable", json.dumps({"TableName": name}).encode()))
        client: Any = (AsyncClient if aio else Client)(schema.SCHEMA, schema.TABLE, transport)
        self.repository: Any = getattr(repository, f"{'Async' if aio else ''}{self.names.title}Repository")(client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    def wrong(self) -> list[str]:
        """What is wrong with the methods; there has to be one for each pattern that is served."""
        patterns = [p for p in self.workload.patterns if p.id in self.methods]
        assert patterns
        assert self.bench.refused == []
        found = [self.read(p) if isinstance(p, Read) else self.write(p) for p in patterns]
        return [text for text in found if text]

    def call(self, method: Method, arguments: dict[str, Any]) -> Any:
        positional = [arguments.pop(p.name) for p in method.params if not p.default]
        scoped = is_scoped(self.workload, method.pattern)
        repository = self.repository.of_tenant(self.tenant) if scoped else self.repository
        answer = getattr(repository, method.name)(*positional, **arguments)
        return self._loop.run(answer) if inspect.iscoroutine(answer) else answer

    # --- Objects and values -----------------------------------------------------------------------------------------

    def record(self, entity: str, values: dict[str, Any]) -> Any:
        fields = self.names.fields[entity]
        return getattr(self.entities, self.names.classes[entity])(**{fields[n]: v for n, v in values.items()})

    def values(self, entity: str, record: Any) -> dict[str, Any]:
        found = {n: getattr(record, field, None) for n, field in self.names.fields[entity].items()}
        return {n: v for n, v in found.items() if v is not None}

    def entity(self, record: Any) -> str:
        name = type(record).__name__
        found = {cls: entity for entity, cls in self.names.classes.items()}
        return found.get(name) or next(e for c, e in found.items() if name.startswith(f"{c}View"))

    def found(self, records: Any) -> Found:
        return [(self.entity(one), self.values(self.entity(one), one)) for one in records]

    # --- Reads ------------------------------------------------------------------------------------------------------

    def read(self, read: Read) -> str:
        """What is wrong with a read; empty where nothing is."""
        method = self.methods[read.id]
        asked = Reference(read, self.workload, NOW)
        for given in cases(self.bench, asked):
            if wrong := self._asked(method, asked, read, given):
                return f"{read.id} {given}: {wrong}"
        return ""

    def _asked(self, method: Method, asked: Reference, read: Read, given: Given) -> str:
        arguments = dict(_arguments(method, given))
        self.tenant = given.get(self._tenant_name)
        options = {p.meaning.name for p in method.params if isinstance(p.meaning, Option)}
        expected = asked.answer(self.bench.items, given)
        try:
            answer = self.call(method, {**arguments, **({"limit": None} if "limit" in options else {})})
        except TooMany:
            return "" if len(expected) > 1 else "too many"
        if read.result is Result.COUNT:
            return "" if answer == len(expected) else f"{answer} counted instead of {len(expected)}"
        others: list[Any] = []
        if read.combine is Combine.JOIN:
            answer, *others = answer
        one = not isinstance(answer, Page | Collection | list)
        records = ([] if answer is None else [answer]) if one else list(answer)
        found = self.found(records)
        limit = 1 if one else None if "limit" in options else (read.limit or read.page)
        many = any(i.many for i in read.inputs)
        wrong = difference(found, self._shown(records, expected), None if many else limit)
        if not wrong and not read.needs and not many:
            wrong = asked.disorder(found)
        for name, named in zip(read.entities[1:], others, strict=False):
            wrong = wrong or self._followed(read, name, found, named)
        if not wrong and "limit" in options and len(records) > 1:
            wrong = self._walked(method, arguments, records)
        return wrong

    def _shown(self, records: list[Any], expected: Found) -> Found:
        if not records:
            return expected
        held = {type(one).__name__ for one in records}
        if not any("View" in name for name in held):
            return expected
        fields = set(self.names.fields[expected[0][0]]) if expected else set()
        own = self.names.fields[expected[0][0]] if expected else {}
        kept = {n for n in fields if hasattr(records[0], own[n])}
        return [(name, {k: v for k, v in values.items() if k in kept}) for name, values in expected]

    def _followed(self, read: Read, name: str, found: Found, named: dict[Any, Any]) -> str:
        links = followed(read, self.workload, name)
        assert links
        ids = [[values.get(link.own.name) for link in links] for _, values in found]
        told = [link.other.name for link in links if not link.given]
        wanted = {
            v[told[0]] if len(told) == 1 else tuple(v[n] for n in told): v
            for v in self.bench.items.get(name, [])
            if [v.get(link.other.name) for link in links] in ids
        }
        there = {key: self.values(name, one) for key, one in named.items()}
        shown = {k: {n: v for n, v in values.items() if n in there.get(k, {})} for k, values in wanted.items()}
        return "" if there == shown else f"{len(there)} of {name} instead of {len(wanted)}"

    def _walked(self, method: Method, arguments: dict[str, Any], whole: list[Any]) -> str:
        paged: list[Any] = []
        cursor, pages = None, 0
        while (cursor is not None or not pages) and pages <= len(whole) + 1:
            page = self.call(method, {**arguments, "limit": 2, "after": cursor})
            page = page[0] if isinstance(page, tuple) else page
            cursor, pages = page.cursor, pages + 1
            paged += list(page)
        return "" if paged == whole else "page by page it is not what it is at once"

    # --- Writes -----------------------------------------------------------------------------------------------------

    def write(self, write: Write) -> str:
        """What is wrong with a write: done twice, then with its conditions broken."""
        bench, method = self.bench, self.methods[write.id]
        operation = bench.design.operation(write.id)
        assert operation is not None
        state = State(bench)
        for turn in range(2):
            case = Case(bench, write, operation, turn)
            steps = [self._pointed(case, step) for step in steps_of(case, replacing=turn > 0)]
            supply(bench, state, case)
            try:
                arguments = self._given(method, case, steps)
                self.call(method, arguments)
            except TooMany:
                if case.found_first and not any(s.action.many for s in steps):
                    continue  # several fit what the caller knows: it refuses to choose
                raise
            for step in steps:
                _keep(bench, state, step)
            if wrong := state.difference():
                return f"{write.id}: {wrong}"
        return self._provoked(write, method, state)

    def _provoked(self, write: Write, method: Method, state: State) -> str:
        operation = self.bench.design.operation(write.id)
        assert operation is not None
        for what, case, steps in _broken(self.bench, state, Case(self.bench, write, operation, 2)):
            try:
                nobody = what.startswith("no ")  # whom the items then have to name
                shown = [self._pointed(case, step) if nobody else step for step in steps]
                arguments = self._given(method, case, shown, strict=True)
            except InconsistentError:
                continue
            try:
                self.call(method, arguments)
            except (*REFUSED, LookupError):
                pass
            except TooMany:
                continue
            except ValueError as problem:
                if not _APART.search(str(problem)):
                    raise
                continue  # the broken item belongs to another than the rest: refused before anything was sent
            else:
                return f"{write.id}: {what}, and it was not refused"
            if write.atomic is not False and (wrong := state.difference()):
                return f"{write.id}: {what}: it was refused, and yet something was written: {wrong}"
        return ""

    def _pointed(self, case: Case, step: Step) -> Step:
        """A step whose item names the items that the write depends on, also where nobody is there."""
        named: dict[str, Any] = {}
        for attribute in step.entity.attributes:
            held = target(self.workload, attribute)
            for name, item in case.checked.items():
                ids = {a.name for a in self.bench.entity(name).id}
                own = held[1].name if held and held[0].name == name else attribute.name if attribute.name in ids else ""
                if own and attribute.name in (step.after or {}):
                    named[attribute.name] = item.get(own)
        if step.action.verb in NEW:
            return replace(step, after={**(step.after or {}), **named})
        sets = {n: v for n, v in named.items() if n in step.changed.sets}
        changed = Changes({**step.changed.sets, **sets}, step.changed.adds, step.changed.removes)
        return replace(step, changed=changed, after={**step.after, **sets} if step.after else None)

    def _given(self, method: Method, case: Case, steps: list[Step], strict: bool = False) -> dict[str, Any]:
        """The arguments by which a method does just these steps."""
        found = {p.name: self._argument(p, case, steps) for p in method.params}
        name = self._tenant_name
        items = [item for s in steps for item in (s.after, s.before, s.item) if item and name in item]
        self.tenant = items[0][name] if items else case.given.get(name)
        if strict:
            self._agree(case, steps)
        return {name: value for name, value in found.items() if value is not None or not _defaulted(method, name)}

    def _argument(self, param: Param, case: Case, steps: list[Step]) -> Any:
        match param.meaning:
            case Option(name):
                return NOW if name == "now" else None
            case Whole(entity, many):
                own = [s for s in steps if s.entity.name == entity]
                new = [self.record(entity, s.after or {}) for s in own if s.action.verb in NEW]
                records = new or [self.record(entity, s.before or {}) for s in own]
                return records if many else records[0]
            case Known(entity, attribute, many, new):
                if entity in case.checked:
                    return case.checked[entity].get(attribute)
                own = [s for s in steps if s.entity.name == entity and s.action.verb not in NEW]
                values = [_new(s, attribute) if new else s.item.get(attribute) for s in own]
                return values if many else values[0]
            case Asked(name, _, many):
                values = list(self._values(name, case, steps))
                if name in case.given and any(
                    c.op is Op.EQ and Value(param=name) in c.values for c in case.write.checks
                ):
                    return case.given[name]  # a condition compares with it: what the items have may be something else
                if many:
                    return values or [case.given[name]] * max(1, sum(s.action.many for s in steps))
                return values[0] if values else case.given.get(name)

    def _values(self, name: str, case: Case, steps: list[Step]) -> Iterator[Any]:
        """The values of an input, from the items that take theirs from it."""
        one = next((i for i in case.write.inputs if i.attribute == name), None)
        for step in steps:
            linked = links(self.workload, case.write, step.action, step.entity)
            attribute = next((a for a, source in linked.items() if source == name), None)
            if one is not None and one.many and not step.action.many:
                continue
            if attribute is not None and step.action.verb not in NEW:
                yield step.item.get(attribute)
        for entity, item in case.checked.items():
            looked_at = self.bench.entity(entity)
            linked = links(self.workload, case.write, Action(Verb.UPDATE, entity), looked_at)
            yield from (item.get(a) for a, source in linked.items() if source == name)
        if one is None or not one.many:
            for step in steps:
                if step.action.verb is Verb.UPDATE and name in step.changed.sets and name not in case.lists:
                    yield _new(step, name)

    def _agree(self, case: Case, steps: list[Step]) -> None:
        """A broken item may be one that the others do not fit: no call of the method says so."""
        for one in case.write.inputs:
            name = one.attribute
            if one.many:
                continue
            values = list(self._values(name, case, steps))
            values += [s.after[name] for s in steps if s.action.verb in NEW and s.after and name in s.after]
            if any(value != values[0] for value in values):
                raise InconsistentError(name)
        lists = [i.attribute for i in case.write.inputs if i.many]
        for name in lists:
            new = [s.after.get(name) for s in steps if s.action.verb in NEW and s.action.many and s.after]
            old = list(self._values(name, case, steps))
            if new and old and sorted(map(str, new)) != sorted(map(str, old)):
                raise InconsistentError(name)


def _new(step: Step, attribute: str) -> Any:
    """What a caller gives for an attribute: what it becomes, or what is appended to it."""
    new, old = step.changed.sets.get(attribute), (step.before or {}).get(attribute)
    appended = any(c.attribute == attribute and c.op is ChangeOp.APPEND for c in step.action.changes)
    return new[len(old) :] if appended and isinstance(new, list) and old else new


def _defaulted(method: Method, name: str) -> bool:
    return any(p.name == name and p.default for p in method.params)


def _arguments(method: Method, given: Given) -> Iterator[tuple[str, Any]]:
    for param in method.params:
        match param.meaning:
            case Asked(name, end):
                if name in given:
                    value = given[name]
                    yield param.name, value[0] if end == "low" else value[1] if end == "high" else value
                elif not param.default:
                    raise KeyError(name)
            case Option("now"):
                yield param.name, NOW
            case _:
                pass
