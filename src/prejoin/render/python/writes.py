"""Renders the methods of writes.

New items are parameters as objects. Other values are taken from these objects if they have them, else from parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from prejoin.design.counters import is_spread
from prejoin.design.mapping.addressing import NEW, is_absence, known, known_of_checked, sought
from prejoin.design.mapping.facets import ending
from prejoin.design.mapping.shared_values import agreements, shared_inputs
from prejoin.design.model import Call, Operation
from prejoin.render.python.conditions import as_lambda, comparison
from prejoin.render.python.layout import STEP, Group, Part, call, flat, keyword, mapping, string
from prejoin.render.python.method import (
    LOCAL,
    ArgumentMismatch,
    InputValue,
    Method,
    Option,
    Param,
    RenderContext,
    ReturnKind,
    ReturnType,
    body_lines,
)
from prejoin.render.python.names import free, identifier
from prejoin.render.python.write_sources import Loop, LoopValue, Sources
from prejoin.types import Kind
from prejoin.workload.lookup import NEXT_VERSION, changes, member_of
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    ChangeOp,
    Check,
    CheckKind,
    Entity,
    Op,
    Verb,
    Write,
)


def write_method(module: RenderContext, write: Write, operation: Operation) -> Method:
    return _WriteMethod(module, write, operation).method()


class _WriteMethod:
    """Renders one write."""

    def __init__(self, module: RenderContext, write: Write, operation: Operation) -> None:
        self.module = module
        self.write = write
        self.operation = operation
        self.sources = Sources(module, write, operation)
        self.batched = {e for r in operation.requests if r.call is Call.BATCH_WRITE for e in r.entities}
        self.token = ""
        """The parameter for the token of a transaction; empty if there is none."""

    def method(self) -> Method:
        body = list(self._body())
        mismatches: list[ArgumentMismatch] = []
        body = [*self._belonging(mismatches), *body]
        params = self.sources.ordered
        if self.sources.timed:
            self.module.imports.module("datetime as dt")
            params.append(Param("now", "dt.datetime | None", Option("now"), "None"))
            body = ["now = now or dt.datetime.now(dt.UTC)", *body]
        if self.token:
            params.append(Param(self.token, "str | None", Option("token"), "None"))
        name = self.module.names.methods[self.write.id]
        return Method(
            self.write, name, tuple(params), ReturnType(ReturnKind.NOTHING), body_lines(body), tuple(mismatches)
        )

    # --- What belongs together --------------------------------------------------------------------------------------

    def _belonging(self, mismatches: list[ArgumentMismatch]) -> Iterator[Part]:
        """The checks that refuse objects which do not belong together, before anything is sent."""
        workload, actions, records = self.module.workload, self.sources.actions, self.sources.records
        owners = {(a.part, a.part_attribute): a for a in agreements(workload, self.write, actions)}
        asked = {p.meaning.input: p.name for p in self.sources.params.values() if isinstance(p.meaning, InputValue)}
        for at, param in records.items():
            action = actions[at]
            entity = self.sources.entity(action.entity)
            shared = {attribute.name for attribute in shared_inputs(workload, self.write, action)}
            loop = self.sources.over(action, param, entity.name) if action.many else None
            record = loop.record if loop else param.name
            lines: list[Part] = []
            for attribute in (a for a in entity.attributes if a.name != self.sources.tenant):
                left = f"{record}.{self.module.names.field(entity.name, attribute.name)}"
                if owned := owners.get((at, attribute.name)):
                    cls = actions[owned.owner].entity
                    right = f"{records[owned.owner].name}.{self.module.names.field(cls, owned.owner_attribute)}"
                elif attribute.name in shared and attribute.name in asked:
                    right = asked[attribute.name]
                elif attribute.name in shared and loop:
                    right = left.replace(record, f"{param.name}[0]", 1)
                else:
                    continue
                message = f"{left} is not {right}"
                if not right.startswith(f"{param.name}["):
                    mismatches.append(ArgumentMismatch(at, attribute.name, message))
                depth = STEP if loop else ""
                lines.append(Group(f"{depth}if (", (left, f"!= {right}"), "):", commas=False, loose=True))
                lines.append(call(f"{depth}{STEP}raise ValueError", string(message)))
            if lines and loop:
                yield f"{loop.head}:"
            yield from lines

    # --- What is done -----------------------------------------------------------------------------------------------

    def _body(self) -> Iterator[Part]:
        wait = self.module.wait
        checked = self.sources.checked
        several = len(self.sources.actions) > 1 or any(a.many for a in self.sources.actions)
        together = bool(checked) or (self.write.atomic is not False and several)
        loops = [self.sources.loop(at, action) for at, action in enumerate(self.sources.actions)]
        for at, action in enumerate(self.sources.actions):
            if action.entity in self.sources.found_first and action.verb not in NEW:
                names = known(self.module.workload, self.write, action)
                yield from self._find(self.sources.found(at), action, loops[at], names)
        for name in checked:
            if name in self.sources.found_first:
                names = known_of_checked(self.module.workload, self.write, self.sources.entity(name))
                yield from self._find(self.sources.found(name), Action(Verb.UPDATE, name), None, names)
        if together:
            self.token = self._token(checked)
            yield f"{'async ' if wait else ''}with self.db.transaction({self.token}) as tx:"
        later: list[Part] = []
        before = ""
        for at, action in enumerate(self.sources.actions):
            if not together and action.entity in self.batched and action.many:
                later += self._batch(at, action, loops[at])
            else:
                lines = list(self._do(at, action, loops[at], together))
                head = flat(lines[0]) if loops[at] else ""
                yield from lines[1:] if head and head == before else lines  # two on the same items are one loop
                before = head
        for name, checks in checked.items():
            yield from self._check(name, checks)
        yield from later

    def _token(self, checked: Iterable[str]) -> str:
        """The name of the token parameter; empty if a repeated transaction would differ from the first.

        That is where it depends on what is read before, or on the time.
        """
        write, sources = self.write, self.sources
        touched = [sources.entity(name) for name in dict.fromkeys((*(a.entity for a in sources.actions), *checked))]
        values = [v for check in write.checks for v in check.values]
        values += [c.value for action in write.actions for c in action.changes if c.value]
        timed = any(v.now is not None for v in values) or any(ending(self.module.design, e) for e in touched)
        if timed or sources.found_first or sources.read_first:
            return ""
        given = {identifier(name) for name in (*sources.inputs, *(a.name for e in touched for a in e.attributes))}
        name = "request_token" if "token" in given else "token"
        sources.locals.add(name)
        return name

    def _do(self, at: int, action: Action, loop: Loop | None, together: bool) -> Iterator[Part]:
        entity = self.sources.entity(action.entity)
        depth = STEP if together else ""
        inner = depth + STEP if loop else depth
        lines = list(self._one(at, action, entity, loop, together, inner))
        if loop:
            yield f"{depth}{loop.head}:"
        yield from lines

    def _one(
        self, at: int, action: Action, entity: Entity, loop: Loop | None, together: bool, depth: str
    ) -> Iterator[Part]:
        cls = self.module.cls(entity.name)
        writer, wait = ("tx", "") if together else ("self.db", self.module.wait)
        if action.verb in NEW:
            yield self._new(at, action, entity, loop, f"{depth}{wait}{writer}")
            return
        given = self.sources.given(at, action, entity, loop)
        if is_spread(self.module.design.counters, self.write, action, entity):
            # The item is not written, so nothing of it can be checked.
            given = [(name, value) for name, value in given if name in self.sources.base(entity)]
        read = ["read=True"] if entity.name in self.sources.read_first else []
        where = self._where(action, entity, loop, [n for n, _ in given])
        fields = [keyword(self.module.names.field(entity.name, n), v) for n, v in given]
        options = [*([keyword("where", where)] if where else []), *read]
        if action.verb is Verb.DELETE:
            yield call(f"{depth}{wait}{writer}.delete", cls, *options, *fields)
            return
        # An upsert sets the attributes of its key by itself.
        named = {name for name, _ in given} if action.verb is Verb.UPSERT else set()
        changed = [
            (change, attribute)
            for change in changes(self.write, action, entity)
            if not (entity.history and change == NEXT_VERSION)  # the client counts it
            if (attribute := entity.attribute(change.attribute)) and attribute.name not in named
        ]
        for change, attribute in changed:
            self._change(change, entity, attribute, "", loop)  # its parameters have their names before the local has
        taken = [*LOCAL, *self.sources.params, *self.sources.locals, *([loop.record] if loop else [])]
        local = free(identifier(cls), taken)
        opening = f"{depth}{'async ' if wait else ''}with {writer}.{action.verb}"
        yield call(opening, cls, *options, *fields, tail=f") as {local}:")
        for change, attribute in changed:
            yield f"{depth}{STEP}{self._change(change, entity, attribute, local, loop, action.verb is Verb.UPSERT)}"

    def _new(self, at: int, action: Action, entity: Entity, loop: Loop | None, writer: str) -> Part:
        record = loop.record if loop else self.sources.records[at].name
        shown: Part = record
        sets = self._constants(action, entity, loop)
        if sets:
            shown = self._replaced(record, sets)
        if action.verb is Verb.CREATE:
            return call(f"{writer}.insert", shown)
        where = self._where(action, entity, loop, [])
        options = [*([keyword("where", where)] if where else [])]
        options += ["read=True"] if entity.name in self.sources.read_first else []
        return call(f"{writer}.put", shown, *options)

    def _constants(self, action: Action, entity: Entity, loop: Loop | None) -> list[tuple[str, str]]:
        """Attributes of a new item that the document sets, whatever the object has."""
        found = []
        for change in action.changes:
            attribute = entity.attribute(change.attribute)
            if attribute is not None and change.value is not None and change.op is ChangeOp.SET:
                if change.value.param == attribute.name:
                    continue
                value = self.sources.value(change.value, entity.name, attribute, loop)
                found.append((self.module.names.field(entity.name, attribute.name), value))
        return found

    def _replaced(self, record: str, sets: Sequence[tuple[str, str]]) -> Part:
        match self.module.style:
            case "pydantic":
                return call(f"{record}.model_copy", keyword("update", mapping((string(n), v) for n, v in sets)))
            case "msgspec":
                self.module.imports.name("msgspec.structs", "replace")
            case _:
                self.module.imports.name("dataclasses", "replace")
        return call("replace", record, *(keyword(n, v) for n, v in sets))

    def _change(
        self, change: Change, entity: Entity, attribute: Attribute, local: str, loop: Loop | None, upsert: bool = False
    ) -> str:
        name = f"{local}.{self.module.names.field(entity.name, attribute.name)}"
        match change.op:
            case ChangeOp.REMOVE:
                return f"{name} = None"
            case ChangeOp.ADD | ChangeOp.SUBTRACT:
                amount = self._amount(change, entity, attribute, loop)
                if attribute.optional or upsert:
                    self.module.imports.name("prejoin", "add")
                    sign = "-" if change.op is ChangeOp.SUBTRACT else ""
                    return f"{name} = add({name}, {sign}{amount})"
                return f"{name} {change.op} {amount}"
            case ChangeOp.APPEND:
                if change.value is not None:
                    more = self.sources.value(change.value, entity.name, member_of(attribute), loop)
                    more = f"{{{more}}}" if attribute.type.kind is Kind.SET else f"[{more}]"
                else:
                    more = self.sources.new_value(entity, replace(attribute, optional=False), loop)
                function = "add" if attribute.type.kind is Kind.SET else "appended"
                self.module.imports.name("prejoin", function)
                return f"{name} = {function}({name}, {more})"
            case _:
                if change.value is not None:
                    return f"{name} = {self.sources.value(change.value, entity.name, attribute, loop)}"
                return f"{name} = {self.sources.new_value(entity, attribute, loop)}"

    def _amount(self, change: Change, entity: Entity, attribute: Attribute, loop: Loop | None) -> str:
        if change.value is None:
            return "1"
        return self.sources.value(change.value, entity.name, replace(attribute, optional=False), loop)

    # --- What is found first, and batches ---------------------------------------------------------------------------

    def _find(self, found: str, action: Action, loop: Loop | None, names: Iterable[str]) -> Iterator[Part]:
        """The query that finds an item to write or check, by all attributes that are known."""
        entity = self.sources.entity(action.entity)
        cls, wait = self.module.cls(entity.name), self.module.wait
        request = next(r for r in self.operation.finds if entity.name in r.entities)
        names = sought(self.write, self.module.facets, entity, frozenset(names))
        names = sorted(names - {self.sources.tenant})
        filtered, lists = request.filtered, Loop(action)
        sources = {n: self.sources.source(n, action, entity, lists if loop else None) for n in names}
        equal = [keyword(self.module.names.field(entity.name, n), sources[n]) for n in names if n not in filtered]
        tests: list[Part] = []
        for name in sorted(filtered & set(names)):
            attribute = entity.attribute(name)
            assert attribute is not None
            field_ = self.module.names.field(entity.name, name)
            tests.append(comparison(Op.EQ, field_, [sources[name]], attribute, self.module, given=True))
        looped = any(isinstance(sources[name], LoopValue) for name in filtered & set(names))
        options = [keyword("filter", as_lambda(tests, looped))] if tests else []
        if loop is not None and lists.lists:
            yield f"{found}: list[{cls}] = []"
            yield f"{lists.head}:"
            yield call(f"{STEP}{found} += {wait}self.db.query", cls, *options, *equal)
            return
        if loop is not None:
            yield call(f"{found} = {wait}self.db.query", cls, *options, *equal)
            return
        if tests:
            self.module.imports.name("prejoin", "TooMany")
            many = f"{found}_all"
            yield call(f"{many} = {wait}self.db.query", cls, *options, *equal)
            yield f"if len({many}) > 1:"
            yield f'    raise TooMany("more than one {cls} where one was asked for")'
            yield f"{found} = {many}[0] if {many} else None"
        else:
            yield call(f"{found} = {wait}self.db.get", cls, *equal)
        yield f"if {found} is None:"
        yield f'    raise LookupError("there is no such {cls}")'

    def _batch(self, at: int, action: Action, loop: Loop | None) -> list[Part]:
        assert loop is not None  # batches are of many
        entity = self.sources.entity(action.entity)
        wait = self.module.wait
        if action.verb in NEW:
            return [call(f"{wait}self.db.put_many", self.sources.records[at].name)]
        pairs = [(n, self.sources.base_source(n, at, action, entity, loop)) for n in self.sources.base(entity)]
        key = mapping((string(self.module.names.field(entity.name, n)), v) for n, v in pairs)
        listed = Group("[", (key, loop.head), "]", commas=False)
        return [call(f"{wait}self.db.delete_many", self.module.cls(entity.name), listed)]

    # --- Conditions -------------------------------------------------------------------------------------------------

    def _check(self, name: str, checks: Sequence[Check]) -> Iterator[Part]:
        """The check of an item that is not written."""
        entity = self.sources.entity(name)
        action = Action(Verb.UPDATE, name)
        base = self.sources.base(entity)
        if name in self.sources.found_first:
            found = self.sources.found(name)
            pairs = [(n, f"{found}.{self.module.names.field(name, n)}") for n in base]
        else:
            pairs = [(n, self.sources.source(n, action, entity, None)) for n in base]
        fields = [keyword(self.module.names.field(name, n), v) for n, v in pairs]
        if is_absence(checks):
            yield call(f"{STEP}tx.check_absent", self.module.cls(name), *fields)
            return
        where, _ = self._tests(checks, entity, None, ())
        options = [keyword("where", as_lambda(where))] if where else []
        yield call(f"{STEP}tx.check", self.module.cls(name), *options, *fields)

    def _where(self, action: Action, entity: Entity, loop: Loop | None, given: Iterable[str]) -> Part:
        tests, looped = self._tests(self.write.checks, entity, loop, given)
        meant = [c for c in self.write.checks if self._meant(c) == entity.name and not c.attribute]
        kinds = {c.kind for c in meant}
        # Something that every item has: of its key, unless there is only one item.
        always = [*self.sources.base(entity), *(a.name for a in entity.attributes if not a.optional)]
        attribute = entity.attribute(always[0])
        assert attribute is not None
        first = self.module.names.field(entity.name, attribute.name)
        compared = {c.op for c in self.write.checks if c.kind is CheckKind.COMPARE and c.entity in {"", entity.name}}
        # What is not there is unlike everything: `<>` alone says nothing of whether it is.
        if CheckKind.EXISTS in kinds and not action.updates and compared <= {Op.NE, Op.NOT_EXISTS}:
            tests = [*tests, comparison(Op.EXISTS, first, (), attribute, self.module)]
        if CheckKind.NOT_EXISTS in kinds and action.verb is Verb.PUT:
            tests = [*tests, comparison(Op.NOT_EXISTS, first, (), attribute, self.module)]
        return as_lambda(tests, looped) if tests else ""

    def _meant(self, check: Check) -> str:
        return check.entity or self.write.first_entity

    def _tests(
        self, checks: Iterable[Check], entity: Entity, loop: Loop | None, given: Iterable[str]
    ) -> tuple[list[Part], bool]:
        """The comparisons with attributes of an item, and whether they use variables of a loop.

        Attributes given with the key are left out: these are compared anyway.
        """
        found: list[Part] = []
        said, looped = set(given), False
        for check in checks:
            if check.kind is not CheckKind.COMPARE or check.op is None or check.entity not in {"", entity.name}:
                continue
            attribute = entity.attribute(check.attribute)
            if attribute is None or (check.op is Op.EQ and attribute.name in said):
                continue
            values = [self.sources.value(v, entity.name, attribute, loop) for v in check.values]
            looped = looped or any(isinstance(value, LoopValue) for value in values)
            field_ = self.module.names.field(entity.name, attribute.name)
            found.append(comparison(check.op, field_, values, attribute, self.module, self._is_given(check)))
        return found, looped

    def _is_given(self, check: Check) -> bool:
        """Whether parameters hold the values of a condition; for `in`, one parameter that is a list."""
        names = [value.param for value in check.values if value.param is not None]
        lists = [name for name in names if name in self.sources.inputs and self.sources.inputs[name].many]
        return bool(lists if check.op is Op.IN else names)
