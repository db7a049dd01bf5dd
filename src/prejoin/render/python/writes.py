"""Writes as methods: each does what the pattern does, under its conditions, all of it or nothing where that is said.

New items are given as objects. What else a write needs comes from these where they have it, and else from parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from prejoin.design.addressing import NEW, actions_of, known, links, said_equal, unknown
from prejoin.design.model import Call, Operation
from prejoin.keys import TABLE
from prejoin.render.naming import RESERVED
from prejoin.render.python.layout import STEP, Group, Part, call, flat, keyword, mapping, string
from prejoin.render.python.method import LOCAL, Asked, Known, Method, Module, Option, Param, Whole, bodied
from prejoin.render.python.names import free, identifier, plural
from prejoin.render.python.reads import as_lambda, test_text, value_text
from prejoin.render.python.values import annotation, literal
from prejoin.types import Kind
from prejoin.workload.constants import constant
from prejoin.workload.lookup import changes, target
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    ChangeOp,
    Check,
    CheckKind,
    Entity,
    Op,
    Value,
    Verb,
    Write,
)


def write_method(module: Module, write: Write, operation: Operation) -> Method:
    return _Writing(module, write, operation).method()


@dataclass(slots=True)
class _Loop:
    """What a write of many goes over: new objects, found ones, or lists side by side."""

    action: Action
    record: str = ""
    """The variable, where each is an object."""
    over: str = ""
    entity: str = ""
    lists: dict[str, str] = field(default_factory=dict)
    """Lists side by side: the variable of each, by its parameter."""

    @property
    def head(self) -> str:
        if self.record:
            return f"for {self.record} in {self.over}"
        if len(self.lists) == 1:
            name, one = next(iter(self.lists.items()))
            return f"for {one} in {name}"
        return f"for {', '.join(self.lists.values())} in zip({', '.join(self.lists)}, strict=True)"


class _Writing:
    """One write being written down."""

    def __init__(self, module: Module, write: Write, operation: Operation) -> None:
        self.module = module
        self.write = write
        self.operation = operation
        self.actions = [a for a in actions_of(module.workload, write) if a.verb is not Verb.EXPIRE]
        self.records: dict[int, Param] = {}
        """The objects that are given, by the position of the action that writes them."""
        self.params: dict[str, Param] = {}
        self.locals: set[str] = set()
        self.timed = False
        self.inputs = {i.attribute: i for i in write.inputs}
        requests = operation.requests
        self.found_first = {e for r in requests if r.call is Call.QUERY for e in r.entities}
        self.read_first = {e for r in requests if r.call is Call.GET for e in r.entities}
        self.batched = {e for r in requests if r.call is Call.BATCH_WRITE for e in r.entities}
        for at, action in enumerate(self.actions):
            if action.verb in NEW:
                self.records[at] = self._record(action)

    def method(self) -> Method:
        body = list(self._body())
        order = [*(p.name for p in self.records.values())]
        rest = [p for p in self.params.values() if p.name not in order]
        given = list(self.inputs)
        rest.sort(key=lambda p: given.index(p.meaning.input) if isinstance(p.meaning, Asked) else len(given))
        params = [*dict.fromkeys(self.params[name] for name in order), *rest]
        if self.timed:
            self.module.imports.module("datetime as dt")
            params.append(Param("now", "dt.datetime | None", Option("now"), "None"))
            body = ["now = now or dt.datetime.now(dt.UTC)", *body]
        return Method(self.write, self.module.names.methods[self.write.id], tuple(params), "None", bodied(body))

    # --- What is given ----------------------------------------------------------------------------------------------

    def _record(self, action: Action) -> Param:
        cls = self.module.cls(action.entity)
        name = identifier(cls)
        type_ = cls
        if action.many:
            self.module.imports.name("collections.abc", "Sequence")
            name, type_ = plural(name), f"Sequence[{cls}]"
        return self._param(name, type_, Whole(action.entity, action.many))

    def _param(self, name: str, type_: str, meaning: Asked | Whole | Known) -> Param:
        for param in self.params.values():
            if param.meaning == meaning and not isinstance(meaning, Whole):
                return param
        name = free(f"{name}_" if name in RESERVED else name, [*LOCAL, "now", *self.locals, *self.params])
        found = self.params[name] = Param(name, type_, meaning)
        return found

    def _type(self, entity: str, attribute: Attribute) -> str:
        type_ = annotation(attribute.type, self.module.imports, self.module.enum(entity, attribute.name))
        return f"{type_} | None" if attribute.optional else type_

    def _sequence(self, type_: str) -> str:
        self.module.imports.name("collections.abc", "Sequence")
        return f"Sequence[{type_}]"

    def _input(self, name: str, entity: str, like: Attribute, loop: _Loop | None) -> str:
        """The value of an input: from an object that is given, of the list that is gone over, or a parameter."""
        many = self.inputs[name].many if name in self.inputs else False
        if many and loop is not None:
            return self._listed(Asked(name, many=True), name, entity, like, loop)
        for at, param in self.records.items():
            own = self.module.workload.entity(self.actions[at].entity)
            attribute = own.attribute(name) if own else None
            fits = attribute is not None and (like.optional or not attribute.optional)
            if attribute is not None and own is not None and fits and not self.actions[at].many and not many:
                return f"{param.name}.{self.module.names.field(own.name, name)}"
        type_ = self._type(entity, like)
        if many:
            return self._param(plural(identifier(name, ())), self._sequence(type_), Asked(name, many=True)).name
        return self._param(identifier(name), type_, Asked(name)).name

    def _listed(self, meaning: Asked | Known, name: str, entity: str, like: Attribute, loop: _Loop) -> str:
        """What each of many has of a list: of the objects that are gone over, or beside other lists."""
        own = self.module.workload.entity(loop.entity) if loop.record else None
        if own and own.attribute(name) and (isinstance(meaning, Asked) or meaning.entity == own.name):
            return f"{loop.record}.{self.module.names.field(own.name, name)}"
        type_ = self._type(entity, like)
        param = self._param(plural(identifier(name, ())), self._sequence(type_), meaning)
        if loop.record:
            return param.name  # objects and a list have nothing that makes them go side by side
        if param.name not in loop.lists:
            loop.lists[param.name] = free(identifier(name), [*LOCAL, *self.params, *self.locals])
            self.locals.add(loop.lists[param.name])
        return loop.lists[param.name]

    # --- What is done -----------------------------------------------------------------------------------------------

    def _body(self) -> Iterator[Part]:
        wait = self.module.wait
        checked = self._checked()
        several = len(self.actions) > 1 or any(a.many for a in self.actions)
        together = bool(checked) or (self.write.atomic is not False and several)
        loops = [self._loop(at, action) for at, action in enumerate(self.actions)]
        for at, action in enumerate(self.actions):
            if action.entity in self.found_first and action.verb not in NEW:
                yield from self._find(at, action, loops[at])
        if together:
            yield f"{'async ' if wait else ''}with self.db.transaction() as tx:"
        later: list[Part] = []
        before = ""
        for at, action in enumerate(self.actions):
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

    def _checked(self) -> dict[str, list[Check]]:
        """The conditions on entities that are not written."""
        written = {a.entity for a in self.actions}
        found: dict[str, list[Check]] = {}
        for check in self.write.checks:
            if check.entity and check.entity not in written and check.kind is not CheckKind.UNIQUE:
                found.setdefault(check.entity, []).append(check)
        return found

    def _loop(self, at: int, action: Action) -> _Loop | None:
        """What an action on many goes over. Of lists it is told while it is written."""
        if not action.many:
            return None
        if at in self.records:
            return self._over(action, self.records[at], action.entity)
        if action.entity in self.found_first:
            return _Loop(action, "one", self._found(at), action.entity)
        lists = {name for name, one in self.inputs.items() if one.many}
        for other, param in self.records.items():
            entity = self.module.workload.entity(self.actions[other].entity)
            if self.actions[other].many and entity and lists and all(entity.attribute(name) for name in lists):
                return self._over(action, param, entity.name)
        return _Loop(action)

    def _over(self, action: Action, param: Param, entity: str) -> _Loop:
        name = free(identifier(self.module.names.classes[entity]), [*LOCAL, *self.params])
        return _Loop(action, name, param.name, entity)

    def _found(self, at: int) -> str:
        names = [a.entity for a in self.actions if a.entity in self.found_first and a.verb not in NEW]
        if len(names) == 1:
            return "found"
        return f"found_{identifier(self.module.names.classes[self.actions[at].entity])}"

    def _do(self, at: int, action: Action, loop: _Loop | None, together: bool) -> Iterator[Part]:
        entity = self._entity(action.entity)
        depth = STEP if together else ""
        inner = depth + STEP if loop else depth
        lines = list(self._one(at, action, entity, loop, together, inner))
        if loop:
            yield f"{depth}{loop.head}:"
        yield from lines

    def _one(
        self, at: int, action: Action, entity: Entity, loop: _Loop | None, together: bool, depth: str
    ) -> Iterator[Part]:
        cls = self.module.cls(entity.name)
        writer, wait = ("tx", "") if together else ("self.db", self.module.wait)
        if action.verb in NEW:
            yield self._new(at, action, entity, loop, f"{depth}{wait}{writer}")
            return
        given = self._given(at, action, entity, loop)
        read = ["read=True"] if entity.name in self.read_first else []
        where = self._where(action, entity, loop, [n for n, _ in given])
        fields = [keyword(self.module.names.field(entity.name, n), v) for n, v in given]
        options = [*([keyword("where", where)] if where else []), *read]
        if action.verb is Verb.DELETE:
            yield call(f"{depth}{wait}{writer}.delete", cls, *options, *fields)
            return
        local = free(identifier(cls), [*LOCAL, *self.params, *self.locals, *([loop.record] if loop else [])])
        opening = f"{depth}{'async ' if wait else ''}with {writer}.update"
        yield call(opening, cls, *options, *fields, tail=f") as {local}:")
        for change in changes(self.write, action, entity):
            attribute = entity.attribute(change.attribute)
            if attribute is not None:
                yield f"{depth}{STEP}{self._change(change, entity, attribute, local, loop)}"

    def _new(self, at: int, action: Action, entity: Entity, loop: _Loop | None, writer: str) -> Part:
        record = loop.record if loop else self.records[at].name
        shown: Part = record
        sets = self._constants(action, entity, loop)
        if sets:
            shown = self._replaced(record, sets)
        if action.verb is Verb.CREATE:
            return call(f"{writer}.insert", shown)
        where = self._where(action, entity, loop, [])
        options = [*([keyword("where", where)] if where else [])]
        options += ["read=True"] if entity.name in self.read_first else []
        return call(f"{writer}.put", shown, *options)

    def _constants(self, action: Action, entity: Entity, loop: _Loop | None) -> list[tuple[str, str]]:
        """What a new item is given, whatever the object says."""
        found = []
        for change in action.changes:
            attribute = entity.attribute(change.attribute)
            if attribute is not None and change.value is not None and change.op is ChangeOp.SET:
                if change.value.param == attribute.name:
                    continue
                value = self._value(change.value, entity.name, attribute, loop)
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

    def _change(self, change: Change, entity: Entity, attribute: Attribute, local: str, loop: _Loop | None) -> str:
        name = f"{local}.{self.module.names.field(entity.name, attribute.name)}"
        match change.op:
            case ChangeOp.REMOVE:
                return f"{name} = None"
            case ChangeOp.ADD | ChangeOp.SUBTRACT:
                amount = self._amount(change, entity, attribute, loop)
                if attribute.optional:
                    self.module.imports.name("prejoin.table", "add")
                    sign = "-" if change.op is ChangeOp.SUBTRACT else ""
                    return f"{name} = add({name}, {sign}{amount})"
                return f"{name} {change.op} {amount}"
            case ChangeOp.APPEND:
                if change.value is not None:
                    more = self._value(change.value, entity.name, attribute, loop)
                    more = f"{{{more}}}" if attribute.type.kind is Kind.SET else f"[{more}]"
                else:
                    more = self._new_value(entity, attribute, loop)
                function = "add" if attribute.type.kind is Kind.SET else "appended"
                self.module.imports.name("prejoin.table", function)
                return f"{name} = {function}({name}, {more})"
            case _:
                if change.value is not None:
                    return f"{name} = {self._value(change.value, entity.name, attribute, loop)}"
                return f"{name} = {self._new_value(entity, attribute, loop)}"

    def _amount(self, change: Change, entity: Entity, attribute: Attribute, loop: _Loop | None) -> str:
        if change.value is None:
            return "1"
        text = self._value(change.value, entity.name, attribute, loop)
        return text if text not in {"0", 'Decimal("0")'} else "1"

    def _new_value(self, entity: Entity, attribute: Attribute, loop: _Loop | None) -> str:
        """What an attribute is set to where that is not said: the input of its name."""
        if attribute.name in self.inputs:
            return self._input(attribute.name, entity.name, attribute, loop)
        meaning = Known(entity.name, attribute.name, new=True)
        return self._param(identifier(attribute.name), self._type(entity.name, attribute), meaning).name

    def _value(self, value: Value, entity: str, attribute: Attribute, loop: _Loop | None) -> str:
        if value.param is not None:
            return self._input(value.param, entity, attribute, loop)
        self.timed = self.timed or value.now is not None
        return value_text(value, attribute, self.module)

    # --- Which items ------------------------------------------------------------------------------------------------

    def _entity(self, name: str) -> Entity:
        found = self.module.workload.entity(name)
        assert found is not None  # the design has a key for it
        return found

    def _base(self, entity: Entity) -> tuple[str, ...]:
        facets = self.module.facets
        return next(f for f in facets if f.entity == entity.name and f.slot == TABLE and not f.copy).attributes

    def _given(self, at: int, action: Action, entity: Entity, loop: _Loop | None) -> list[tuple[str, str]]:
        """What is said of an item that is changed: its key, and what else the caller knows, unless that is read."""
        base = self._base(entity)
        if entity.name in self.found_first:
            design, write = self.module.design, self.write
            needed = (
                unknown(write, action, entity, design, frozenset()) if entity.name not in self.read_first else set()
            )
            record = loop.record if loop else self._found(at)
            names = [*base, *sorted(needed - set(base))]
            return [(n, f"{record}.{self.module.names.field(entity.name, n)}") for n in names]
        names = list(base)
        if entity.name not in self.read_first:
            names += self._also_known(action, entity, set(base), loop)
        return [(name, self._source(name, action, entity, loop)) for name in dict.fromkeys(names)]

    def _also_known(self, action: Action, entity: Entity, base: set[str], loop: _Loop | None) -> list[str]:
        """What is said of an item beside its key: what its other keys are made of, and what is meant to be checked.

        An input that another entity has as well may be that one's alone: who comments on a post is not its author.
        """
        workload, write = self.module.workload, self.write
        linked = links(workload, write, action, entity)
        needed = unknown(write, action, entity, self.module.design, frozenset())
        needed |= said_equal(write, entity).keys()
        touched = {a.entity for a in self.actions} - {entity.name}
        others = [other for other in map(workload.entity, touched) if other]
        found = []
        for name in sorted(known(workload, write, action) - base):
            source = linked.get(name, "")
            # A list of versions is that of the parts, and says nothing of the one document.
            listed = source in self.inputs and self.inputs[source].many and loop is None
            shared = bool(source) and any(other.attribute(source) for other in others)
            if not listed and (name in needed or not shared):
                found.append(name)
        return found

    def _source(self, name: str, action: Action, entity: Entity, loop: _Loop | None) -> str:
        """Where the value of an attribute of an existing item comes from."""
        attribute = entity.attribute(name)
        assert attribute is not None  # keys are made of attributes
        if entity.name in self.inputs:
            record = self._param(
                identifier(self.module.cls(entity.name)), self.module.cls(entity.name), Whole(entity.name)
            )
            return f"{record.name}.{self.module.names.field(entity.name, name)}"
        linked = links(self.module.workload, self.write, action, entity)
        if name in linked and (loop or not self.inputs[linked[name]].many):
            return self._input(linked[name], entity.name, attribute, loop)
        said = said_equal(self.write, entity).get(name)
        if said is not None:
            return self._value(said.values[0], entity.name, attribute, loop)
        if len(attribute.type.values) == 1:
            return literal(constant(attribute.type.values[0], attribute.type), self.module.imports)
        for at, param in self.records.items():
            other = self._entity(self.actions[at].entity)
            for one in other.attributes:
                held = target(self.module.workload, one)
                if held and held[0] is entity and held[1] is attribute and not self.actions[at].many:
                    return f"{param.name}.{self.module.names.field(other.name, one.name)}"
        if loop is not None:
            return self._listed(Known(entity.name, name, many=True), name, entity.name, attribute, loop)
        return self._param(identifier(name), self._type(entity.name, attribute), Known(entity.name, name)).name

    def _find(self, at: int, action: Action, loop: _Loop | None) -> Iterator[Part]:
        """The Query by which what is to be written is found: by all that is known of it."""
        entity = self._entity(action.entity)
        cls, wait = self.module.cls(entity.name), self.module.wait
        request = next(r for r in self.operation.requests if r.call is Call.QUERY and entity.name in r.entities)
        filtered = {text.partition(" ")[0] for text in request.filters}
        names = sorted(known(self.module.workload, self.write, action))
        lists = _Loop(action)
        sources = {n: self._source(n, action, entity, lists if loop else None) for n in names}
        equal = [keyword(self.module.names.field(entity.name, n), sources[n]) for n in names if n not in filtered]
        tests: list[Part] = []
        for name in sorted(filtered & set(names)):
            attribute = entity.attribute(name)
            assert attribute is not None
            field_ = self.module.names.field(entity.name, name)
            tests.append(test_text(Op.EQ, field_, [sources[name]], attribute, self.module))
        options = [keyword("filter", as_lambda(tests, self._looped(tests, lists)))] if tests else []
        found = self._found(at)
        if loop is not None and lists.lists:
            yield f"{found}: list[{cls}] = []"
            yield f"{lists.head}:"
            yield call(f"{STEP}{found} += {wait}self.db.query", cls, *options, *equal)
            return
        if loop is not None:
            yield call(f"{found} = {wait}self.db.query", cls, *options, *equal)
            return
        if tests:
            self.module.imports.name("prejoin.table", "TooMany")
            many = f"{found}_all"
            yield call(f"{many} = {wait}self.db.query", cls, *options, *equal)
            yield f"if len({many}) > 1:"
            yield f'    raise TooMany("more than one {cls} where one was asked for")'
            yield f"{found} = {many}[0] if {many} else None"
        else:
            yield call(f"{found} = {wait}self.db.get", cls, *equal)
        yield f"if {found} is None:"
        yield f'    raise LookupError("there is no such {cls}")'

    def _batch(self, at: int, action: Action, loop: _Loop | None) -> list[Part]:
        assert loop is not None  # batches are of many
        entity = self._entity(action.entity)
        wait = self.module.wait
        if action.verb in NEW:
            return [call(f"{wait}self.db.put_many", self.records[at].name)]
        pairs = [(n, self._base_source(n, at, action, entity, loop)) for n in self._base(entity)]
        key = mapping((string(self.module.names.field(entity.name, n)), v) for n, v in pairs)
        listed = Group("[", (key, loop.head), "]", commas=False)
        return [call(f"{wait}self.db.delete_many", self.module.cls(entity.name), listed)]

    def _base_source(self, name: str, at: int, action: Action, entity: Entity, loop: _Loop) -> str:
        if entity.name in self.found_first:
            return f"{loop.record}.{self.module.names.field(entity.name, name)}"
        return self._source(name, action, entity, loop)

    # --- Conditions -------------------------------------------------------------------------------------------------

    def _check(self, name: str, checks: Sequence[Check]) -> Iterator[Part]:
        """A condition on an item that is not written."""
        entity = self._entity(name)
        action = Action(Verb.UPDATE, name)
        where = self._tests(checks, entity, None, ())
        pairs = [(n, self._source(n, action, entity, None)) for n in self._base(entity)]
        fields = [keyword(self.module.names.field(name, n), v) for n, v in pairs]
        options = [keyword("where", as_lambda(where))] if where else []
        yield call(f"{STEP}tx.check", self.module.cls(name), *options, *fields)

    def _where(self, action: Action, entity: Entity, loop: _Loop | None, given: Iterable[str]) -> Part:
        tests = self._tests(self.write.checks, entity, loop, given)
        first = self.module.names.field(entity.name, self._base(entity)[0])
        meant = [c for c in self.write.checks if self._meant(c) == entity.name and not c.attribute]
        kinds = {c.kind for c in meant}
        attribute = entity.attribute(self._base(entity)[0])
        assert attribute is not None
        if CheckKind.EXISTS in kinds and action.verb is not Verb.UPDATE and not tests:
            tests = [test_text(Op.EXISTS, first, (), attribute, self.module)]
        if CheckKind.NOT_EXISTS in kinds and action.verb is Verb.PUT:
            tests = [*tests, test_text(Op.NOT_EXISTS, first, (), attribute, self.module)]
        return as_lambda(tests, self._looped(tests, loop)) if tests else ""

    def _meant(self, check: Check) -> str:
        first = self.write.entities[0] if self.write.entities else self.write.actions[0].entity
        return check.entity or first

    def _tests(self, checks: Iterable[Check], entity: Entity, loop: _Loop | None, given: Iterable[str]) -> list[Part]:
        """The comparisons with attributes of an item. What is given with its key is compared already."""
        found: list[Part] = []
        said = set(given)
        for check in checks:
            if check.kind is not CheckKind.COMPARE or check.op is None or check.entity not in {"", entity.name}:
                continue
            attribute = entity.attribute(check.attribute)
            if attribute is None or (check.op is Op.EQ and attribute.name in said):
                continue
            values = [self._value(v, entity.name, attribute, loop) for v in check.values]
            field_ = self.module.names.field(entity.name, attribute.name)
            found.append(test_text(check.op, field_, values, attribute, self.module))
        return found

    def _looped(self, tests: list[Part], loop: _Loop | None) -> bool:
        """Whether a condition is about the variables of a loop."""
        names = [loop.record, *loop.lists.values()] if loop else []
        return any(name in _words(flat(test)) for name in names for test in tests)


def _words(text: str) -> set[str]:
    return set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
