"""Renders `tests/test_repository.py`: a test that calls each method on the embedded engine."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice, product
from typing import Any, TypeVar, assert_never
from uuid import UUID

from prejoin.design.document.samples import sample_values
from prejoin.design.mapping.facets import ending
from prejoin.design.mapping.map_reads import followed, varying
from prejoin.design.mapping.shared_values import agreements, shared_inputs
from prejoin.keys import TABLE
from prejoin.render.python.layout import (
    STEP,
    WIDTH,
    Group,
    Imports,
    Part,
    call,
    comment,
    docstring,
    keyword,
    lay,
    mapping,
    string,
    wide,
)
from prejoin.render.python.method import (
    ArgumentMismatch,
    InputValue,
    KnownValue,
    Method,
    Option,
    RecordValue,
    RenderContext,
    ReturnKind,
)
from prejoin.render.python.names import free, identifier, single
from prejoin.render.python.seed import maker
from prejoin.render.python.values import literal
from prejoin.types import Kind
from prejoin.workload.bounds import is_amount_allowed, is_bounded, is_within, room_for, usual_amount
from prejoin.workload.conditions import all_leaves, is_of_whole_item, operator_of, values_of, ways_to_hold
from prejoin.workload.constants import constant
from prejoin.workload.contents import contents_of
from prejoin.workload.lookup import bindings, can_be_input, changes, target, touched_entities
from prejoin.workload.model import (
    Action,
    Attribute,
    ChangeOp,
    Combine,
    Entity,
    Leaf,
    Op,
    Presence,
    Read,
    Test,
    Value,
    Verb,
    Write,
)
from prejoin.workload.targets import (
    NEW,
    actions_of,
    attribute_of_input,
    checked_items,
    checks_of,
    input_checks,
    is_absence,
    known,
    links,
    list_source,
    read_lists,
    said_equal,
)
from prejoin.workload.tenants import is_owned, tenant_of

TESTS = "tests/test_repository.py"
"""The file of the tests."""
_NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)
T = TypeVar("T")
_MOST_WAYS = 100
"""The ways to fulfil the conditions of a write that are tried."""


class NoTestError(Exception):
    """No test can be written for a method: it is not known which items would satisfy its conditions."""


def left_out(
    module: RenderContext, methods: Mapping[str, Method], package: str, untested: Container[str]
) -> dict[str, str]:
    """The methods that get no test, by the ids of their patterns, with the reasons."""
    reasons: dict[str, str] = {}
    for pattern, method in methods.items():
        if pattern in untested:
            reasons[pattern] = "it is not proven, and a test of it fails"
            continue
        try:
            _test_lines(module, method, Imports(), package)
        except NoTestError as error:
            reasons[pattern] = str(error)
    return reasons


def _test_lines(module: RenderContext, method: Method, imports: Imports, package: str) -> list[str]:
    """The tests of a method: one that it does what it should, and one that it refuses what does not belong."""
    test = _Test(module, method, imports, package)
    lines = test.of_read() if isinstance(method.pattern, Read) else test.of_write()
    body = ["", "", f"def {method.tests[0]}() -> None:"]
    body += docstring(f"{method.pattern.id}: {method.pattern.description or method.name}", indent=STEP)
    body += [line for part in lines for line in lay(part, STEP)]
    for mismatch in method.mismatches[:1]:
        test = _Test(module, method, imports, package)
        body += ["", "", f"def {method.tests[1]}() -> None:"]
        body += docstring(f"{method.pattern.id}: {mismatch.message}", indent=STEP)
        body += [line for part in test.of_write(mismatch) for line in lay(part, STEP)]
    return body


def tests_module(
    module: RenderContext, methods: Mapping[str, Method], package: str, untested: Container[str]
) -> list[str]:
    """The lines of the module. A remark says why a method has no test."""
    imports = Imports()
    title = module.names.title
    imports.name("prejoin", "Embedded")
    imports.name("prejoin", "Client")
    imports.name(f"{package}.repository", f"{title}Repository")
    name = schema = "SCHEMA"
    if module.design.stores:
        imports.name("prejoin", "MemoryStore")
        name, schema = "schema", "schema(MemoryStore())"
    imports.name(f"{package}.schema", name, "TABLE")
    body = [
        f"def ready() -> {title}Repository:",
        *docstring("A repository on an empty table.", indent=STEP),
        f"{STEP}db = Client({schema}, TABLE, Embedded())",
        f"{STEP}db.create_table()",
        f"{STEP}return {title}Repository(db)",
    ]
    missing = left_out(module, methods, package, untested)
    for pattern, method in methods.items():
        if reason := missing.get(pattern):
            body += ["", "", *comment(f"{pattern}, `{method.name}`, has no test: {reason}.")]
        else:
            body += _test_lines(module, method, imports, package)
    for entity in module.workload.entities:
        for attribute in contents_of(entity):
            body += ["", "", *_content(module, entity, attribute, imports, package)]
    head = docstring(f"Every access pattern of {module.workload.title or 'the application'}, run on an empty table.")
    return [*head, "", *imports.lines(package), "", "", *body]


def _content(
    module: RenderContext, entity: Entity, attribute: Attribute, imports: Imports, package: str
) -> Iterator[str]:
    """The test of a large content."""
    names, fields = module.names, module.names.fields[entity.name]
    cls, field_ = names.classes[entity.name], fields[attribute.name]
    for name in ("read_large", "write_large"):
        imports.name("prejoin", name)
    imports.name(f"{package}.entities", cls)
    imports.name(package, "seed")
    base = next(f for f in module.facets if f.entity == entity.name and f.slot == TABLE and not f.copy)
    key = [keyword(fields[a], f"record.{fields[a]}") for a in base.attributes]
    yield f"def test_content_of_{identifier(cls)}_{field_}() -> None:"
    where = "an object store" if module.design.in_store(entity.name, attribute.name) else "parts beside its item"
    yield from docstring(f"{entity.name}.{attribute.name}: a content of 1 MB, in {where}", indent=STEP)
    for part in (
        "db = ready().db",
        f"record = seed.{maker(names, entity)}()",
        "db.insert(record)",
        "content = bytes(range(256)) * 4096",
        call("write_large", "db", cls, string(field_), "content", *key),
        call("found = db.get", cls, *key),
        "assert found is not None",
        f"assert read_large(db, found, {string(field_)}) == content",
    ):
        yield from lay(part, STEP)


@dataclass(slots=True)
class _Item:
    """A sample item of a test: its variable and values, and those of the seed."""

    name: str
    entity: Entity
    values: dict[str, object]
    seed: dict[str, object]
    there: bool = True
    """Whether the test declares it. Of an item that must not exist only the values are used."""

    @property
    def changed(self) -> dict[str, object]:
        return {n: v for n, v in self.values.items() if v != self.seed[n]}


@dataclass(slots=True)
class _Test:
    module: RenderContext
    method: Method
    imports: Imports
    package: str
    items: list[_Item] = field(default_factory=list)
    lines: list[Part] = field(default_factory=list)
    literals: dict[str, object] = field(default_factory=dict)
    """Values by the literals that may be used."""

    # --- Reads ------------------------------------------------------------------------------------------------------

    def of_read(self) -> list[Part]:
        read, workload = self.method.pattern, self.module.workload
        assert isinstance(read, Read)
        joined = read.combine is Combine.JOIN
        entities = read.entities[:1] if joined else read.entities
        own = [self._item(name) for name in entities]
        now = _NOW
        given: dict[str, tuple[_Item, Attribute]] = {}
        for one in read.inputs:
            bound = bindings(workload, entities, one.attribute)
            having = [i for i in own if i.entity.name in bound]
            for item in having:
                attribute = single(workload, item.entity.name, bound[item.entity.name])
                if one.op is Op.NOT_EXISTS:
                    item.values[attribute.name] = None
                elif any(v.now is not None for v in one.values):
                    now = self._moment(item, attribute, one.op, one.values)
                elif one.values and (other := one.values[0].attribute) is not None:
                    wanted = _Comparison(one.op, (self._other_value(item, other),))
                    value = item.values[attribute.name]
                    item.values[attribute.name] = self._value_for([wanted], value, item.entity, attribute)
                elif one.values:
                    item.values[attribute.name] = self._satisfying(one.op, one.values, item.entity, attribute)
                elif one.attribute in given:
                    first = given[one.attribute]
                    item.values[attribute.name] = first[0].values[first[1].name]
                else:
                    given[one.attribute] = (item, attribute)
        others = [self._named(read, name, own[0]) for name in read.entities[1:]] if joined else []
        self._written([*own, *others])
        ops = {i.attribute: i.op for i in read.inputs}
        arguments = [self._asked(p.name, p.meaning, p.default, ops, given, now) for p in self.method.params]
        positional = [a for a in arguments if a and "=" not in a.partition("(")[0]]
        named = [a for a in arguments if a and a not in positional]
        self._asserted(own, others, [*positional, *named])
        if self.tenant:
            self._apart(own[0], [*positional, *named], bool(others))
        return self.lines

    @property
    def tenant(self) -> str:
        """The attribute that the repository of a tenant fills in; empty for a method without tenant."""
        return tenant_of(self.module.workload, self.method.pattern)

    def _apart(self, item: _Item, arguments: list[str], joined: bool) -> None:
        """The lines that assert that another tenant finds nothing."""
        attribute = single(self.module.workload, item.entity.name, self.tenant)
        other = literal(self._second(item.entity, attribute), self.imports)
        self.lines.append(Group("stranger = everyone.of_tenant(", (other,)))
        asked = call(f"nothing = stranger.{self.method.name}", *arguments)
        if joined:
            asked = call(f"nothing, *_ = stranger.{self.method.name}", *arguments)
        self.lines.append(asked)
        zero = {ReturnKind.ONE: "nothing is None", ReturnKind.COUNT: "nothing == 0"}
        self.lines.append(f"assert {zero.get(self.method.result.kind, 'len(nothing) == 0')}")

    def _asked(
        self,
        name: str,
        meaning: object,
        default: str,
        ops: dict[str, Op],
        given: dict[str, tuple[_Item, Attribute]],
        now: datetime,
    ) -> str:
        match meaning:
            case InputValue(asked, _, many):
                item, attribute = given[asked]
                at = self._at(item, attribute.name)
                text = self._argument(ops[asked], at, item.values[attribute.name], attribute)
                text = f"[{text}]" if many else text
                return f"{name}={text}" if default else text
            case Option("now"):
                return f"now={literal(now, self.imports)}"
            case _:
                return ""

    def _argument(self, op: Op, at: str, value: object, attribute: Attribute) -> str:
        """An argument that finds a value."""
        match op:
            case Op.LT | Op.GT | Op.NE:
                return literal(neighbour(value, -1 if op is Op.GT else 1, attribute), self.imports)
            case Op.CONTAINS if attribute.type.kind in {Kind.LIST, Kind.SET}:
                assert isinstance(value, list | set)
                return literal(next(iter(value)), self.imports)
            case Op.BEGINS_WITH if attribute.type.kind not in {Kind.STRING, Kind.ENUM, Kind.ULID}:
                return literal(str(value)[:4], self.imports)
            case Op.EQ | Op.LE | Op.GE | Op.BETWEEN | Op.BEGINS_WITH | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
                return self._used(at)
            case _:
                assert_never(op)

    def _named(self, read: Read, name: str, first: _Item) -> _Item:
        """The item that the first one of a join refers to."""
        item = self._item(name)
        for link in followed(read, self.module.workload, name):
            item.values[link.other.name] = first.values[link.own.name]
        return item

    def _asserted(self, own: list[_Item], others: list[_Item], arguments: list[str]) -> None:
        method, kind = self.method, self.method.result.kind
        lead = "found"
        if others:
            lead = ", ".join(["found", *(f"{item.name}_found" for item in others)])
        head = f"{lead} = repository.{method.name}"
        if wide(f"{STEP}{head}(") > WIDTH:
            self.lines += [call(f"answer = repository.{method.name}", *arguments), f"{lead} = answer"]
        else:
            self.lines.append(call(head, *arguments))
        for item in others:
            if self._view(item):
                self.lines.append(f"assert [*{item.name}_found] == [{self._key(item)}]")
            else:
                self.lines.append(f"assert [*{item.name}_found.values()] == [{item.name}]")
        first = own[0]
        view = self._view(first)
        if kind is ReturnKind.COUNT:
            self.lines.append(f"assert found == {len(own)}")
        elif kind is ReturnKind.COLLECTION:
            self.lines += [f"assert found.all({self._cls(item)}) == [{item.name}]" for item in own]
        elif kind is ReturnKind.ONE:
            if view:
                self.lines += ["assert found is not None", f"assert found.{view} == {first.name}.{view}"]
            else:
                self.lines.append(f"assert found == {first.name}")
        elif view:
            self.lines.append(f"assert [one.{view} for one in found] == [{first.name}.{view}]")
        else:
            self.lines.append(f"assert list(found) == [{first.name}]")
        self.lines = [line for line in self.lines if line]

    def _key(self, item: _Item) -> str:
        """The key of a joined item in the result."""
        read = self.method.pattern
        assert isinstance(read, Read)
        found = followed(read, self.module.workload, item.entity.name)
        links = varying([link for link in found if link.own.name != self.tenant])
        ids = [f"{item.name}.{self._field(item, link.other.name)}" for link in links]
        return ids[0] if len(ids) == 1 else f"({', '.join(ids)})"

    def _view(self, item: _Item) -> str:
        """A field of the view that a read returns; empty if it returns whole items."""
        for view in self.module.views.values():
            if view.entity == item.entity.name and view.name in self.method.result.items:
                return self._field(item, view.attributes[0])
        return ""

    # --- Writes -----------------------------------------------------------------------------------------------------

    def of_write(self, mismatch: ArgumentMismatch | None = None) -> list[Part]:
        """The test of a write; with a mismatch, the test that it is refused."""
        write, workload = self.method.pattern, self.module.workload
        assert isinstance(write, Write)
        actions = [a for a in actions_of(workload, write) if a.verb is not Verb.EXPIRE]
        inputs = {i.attribute: i for i in write.inputs}
        texts: dict[str, str] = {}
        values: dict[str, object] = {}
        new: list[_Item] = []
        made: dict[int, _Item] = {}
        there: list[tuple[Action, _Item]] = []
        for at, action in enumerate(actions):
            if action.verb in NEW:
                item = made[at] = self._item(action.entity)
                new.append(item)
                shared = {attribute.name for attribute in shared_inputs(workload, write, action)}
                for attribute in item.entity.attributes:
                    is_input = attribute.name in inputs and can_be_input(workload, write, attribute)
                    if is_input and attribute.name not in texts:
                        texts[attribute.name] = self._at(item, attribute.name)
                        values[attribute.name] = item.values[attribute.name]
                    elif attribute.name in values and attribute.name in shared:
                        item.values[attribute.name] = values[attribute.name]
                self._set_by_document(action, item, texts, values)
        for one in agreements(workload, write, actions):
            made[one.part].values[one.part_attribute] = made[one.owner].values[one.owner_attribute]
        checked = checked_items(workload, write)
        absent = {one.entity.name for one in checked if one.must_be_absent}
        parents = {action.entity for action in actions if not action.many}
        existing = [*actions, *(one.action for one in checked)]
        # Children of the same entity come after their parent: they have another id.
        for action in sorted(existing, key=lambda action: action.many and action.entity in parents):
            if action.verb not in NEW:
                item = self._item(action.entity)
                # An upsert with `Tally not exists` creates its item.
                creates = action.verb is Verb.UPSERT and is_absence(checks_of(write, action))
                item.there = action.entity not in absent and not creates
                there.append((action, item))
                self._fit(write, action, item, new, texts, values)
                if any(other.entity is item.entity for other in self.items if other is not item):
                    # An item beside another one of its entity, such as a new one, or the parent of a list.
                    linked = links(workload, write, action, item.entity)
                    for attribute in item.entity.id:
                        if attribute.name not in linked and not attribute.references:
                            self._tell_apart(item, attribute.name)
        for between in read_lists(workload, write):
            item = self._item(between.entity)
            there.append((Action(Verb.UPDATE, between.entity), item))
            self._fit(write, between, item, new, texts, values)
        self._belong_to_lists(write, there)
        for action, item in there:
            for change in changes(write, action, item.entity) if action in actions else ():
                touched = item.entity.attribute(change.attribute)
                source = change.attribute if change.value is None else change.value.param
                if touched is None or source is None or source in texts or change.op is ChangeOp.REMOVE:
                    continue
                amount = change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT)
                new_value = self._amount(write, source, touched) if amount else self._second(item.entity, touched)
                if change.op is ChangeOp.APPEND and change.value is not None and isinstance(new_value, list | set):
                    new_value = next(iter(new_value))  # one more is given, and not all of them
                values[source] = new_value
                texts[source] = self._literal(values[source])
        self._fulfil_inputs(write, texts, values)
        for action, item in there:
            self._fulfil(checks_of(write, action), item, texts, values)
        replaced: list[_Item] = []
        for at, item in made.items():
            checks = checks_of(write, actions[at])
            if actions[at].verb is not Verb.PUT:
                self._fulfil(checks, item, texts, values)
            elif any(not is_absence([check]) for check in checks):
                # The conditions of a put are about the stored item.
                before = self._item(item.entity.name)
                before.values = dict(item.values)
                self._fulfil(checks, before, texts, values)
                replaced.append(before)
        self._give_unneeded_inputs(write, texts, values)
        for action, item in there:
            self._make_room(write, action, item, values)
        for at, item in made.items():
            self._set_to_now(actions[at], item)
        if mismatch:
            self._spoil(made[mismatch.record], mismatch.attribute, texts)
        self._declared(new)
        self._written([*(item for _, item in there if item.there), *replaced])
        arguments: list[Part] = []
        for param in sorted(self.method.params, key=lambda param: bool(param.default)):
            text = self._given(param.meaning, new, there, texts)
            is_keyword = param.default and isinstance(param.meaning, InputValue)
            arguments.append(keyword(param.name, text) if is_keyword else text)
        if mismatch:
            self.imports.module("pytest")
            self.imports.module("re")
            match = keyword("match", f"re.escape({string(mismatch.message)})")
            self.lines.append(call("with pytest.raises", "ValueError", match, tail="):"))
            self.lines.append(call(f"{STEP}repository.{self.method.name}", *(a for a in arguments if a)))
            return self.lines
        self.lines.append(call(f"repository.{self.method.name}", *(a for a in arguments if a)))
        self._seen(write, actions, new, there, texts)
        return self.lines

    def _set_by_document(self, action: Action, item: _Item, texts: dict[str, str], values: dict[str, object]) -> None:
        """Gives a new object the values that the document sets. An input that nothing else decides gets its value."""
        for change in action.changes:
            attribute = item.entity.attribute(change.attribute)
            value = change.value
            if attribute is None or value is None or change.op is not ChangeOp.SET or value.now is not None:
                continue
            if value.attribute is not None:
                item.values[attribute.name] = item.values[value.attribute]
            elif value.param is None:
                item.values[attribute.name] = self._constant(value, attribute)
            elif value.param in values:
                item.values[attribute.name] = values[value.param]
            else:
                if item.values[attribute.name] is None:
                    item.values[attribute.name] = self._second(item.entity, attribute)
                values[value.param] = item.values[attribute.name]
                texts[value.param] = self._at(item, attribute.name)

    def _set_to_now(self, action: Action, item: _Item) -> None:
        """Gives a new object the time of the call, where the document sets it: its key may have it."""
        for change in action.changes:
            attribute = item.entity.attribute(change.attribute)
            if attribute is not None and change.value is not None and change.value.now is not None:
                item.values[attribute.name] = self._constant(change.value, attribute)

    def _fit(
        self,
        write: Write,
        action: Action,
        item: _Item,
        new: list[_Item],
        texts: dict[str, str],
        values: dict[str, object],
    ) -> None:
        """Gives an item the values of the write's inputs."""
        workload = self.module.workload
        linked = links(workload, write, action, item.entity)
        inputs = {i.attribute: i for i in write.inputs}
        names = {*self._base(item), *known(workload, write, action)}
        for name in [a.name for a in item.entity.attributes if a.name in names]:
            source = linked.get(name)
            if source is not None and (action.many or not inputs[source].many):
                if source in values:
                    item.values[name] = values[source]
                else:
                    self._tell_apart(item, name)
                    values[source] = item.values[name]
                    texts[source] = self._at(item, name)
                continue
            attribute = single(workload, item.entity.name, name)
            for other in new:
                for one in other.entity.attributes:
                    held = target(workload, one)
                    if held and held[0] is item.entity and held[1] is attribute:
                        item.values[name] = other.values[one.name]
        for name, value in said_equal(write, action, item.entity).items():
            attribute = single(workload, item.entity.name, name)
            if value.param is None:
                item.values[name] = self._satisfying(Op.EQ, (value,), item.entity, attribute)
            elif value.param not in texts:
                texts[value.param] = self._at(item, name)
                values[value.param] = item.values[name]

    def _belong_to_lists(self, write: Write, there: list[tuple[Action, _Item]]) -> None:
        """Gives the items of a list that belongs to another one the ids of the other one's item."""
        for action, item in there:
            if not action.many:
                continue
            source = list_source(self.module.workload, write, action, item.entity)
            parent = next((other for _, other in there if source.over and other.entity.name == source.over), None)
            if parent is not None:
                item.values |= {name: parent.values[part] for name, part in source.over_links.items()}

    def _tell_apart(self, item: _Item, name: str) -> None:
        """Gives an item another id than other items of its entity, if the id is free to choose."""
        attribute = single(self.module.workload, item.entity.name, name)
        others = [other.values[name] for other in self.items if other.entity is item.entity and other is not item]
        if not attribute.id or name == self.tenant or item.values[name] not in others:
            return
        choices: list[object] = [item.seed[name], self._second(item.entity, attribute), *attribute.type.values]
        for _ in range(len(others)):
            choices.append(neighbour(choices[-1], 1, attribute))
        item.values[name] = next((one for one in choices if one not in others), item.values[name])

    def _spoil(self, item: _Item, name: str, texts: dict[str, str]) -> None:
        """Gives an item a value that does not agree with the others."""
        attribute = single(self.module.workload, item.entity.name, name)
        right = item.values[name]
        choices = [item.seed[name], self._second(item.entity, attribute), neighbour(right, 1, attribute)]
        texts |= {s: self._literal(right) for s, text in texts.items() if text == self._at(item, name)}
        item.values[name] = next((one for one in choices if one != right), right)

    def _fulfil(self, checks: Sequence[Test], item: _Item, texts: dict[str, str], values: dict[str, object]) -> None:
        """Makes the conditions hold for an item, in the first way that is possible."""
        checks = [check for check in checks if not is_of_whole_item(check)]
        state = dict(item.values), dict(texts), dict(values)
        refusal: NoTestError | None = None
        for ways in islice(product(*map(ways_to_hold, checks)), _MOST_WAYS):
            try:
                self._fulfil_literals([literal for way in ways for literal in way], item, texts, values)
            except NoTestError as error:
                refusal = refusal or error
                _restore(item.values, state[0])
                _restore(texts, state[1])
                _restore(values, state[2])
            else:
                return
        assert refusal is not None  # without conditions there is one way
        raise refusal

    def _fulfil_literals(
        self,
        literals: Sequence[tuple[Leaf, bool]],
        item: _Item,
        texts: dict[str, str],
        values: dict[str, object],
    ) -> None:
        """Makes comparisons true or false for an item: all that are about one attribute together."""
        by_attribute: dict[str, list[tuple[Leaf, bool]]] = {}
        for leaf, is_true in literals:
            if leaf.attribute:
                by_attribute.setdefault(leaf.attribute, []).append((leaf, is_true))
            elif isinstance(leaf, Presence) is not is_true:
                raise NoTestError(f"the {item.entity.name} would have to be absent")
        # A value that another attribute is compared with may change meanwhile.
        for _ in range(len(by_attribute) + 1):
            is_settled = True
            for name, own in by_attribute.items():
                attribute = single(self.module.workload, item.entity.name, name)
                comparisons = [self._comparison(*literal, item, attribute, texts, values) for literal in own]
                wanted = [one for one in comparisons if one is not None]
                value = self._value_for(wanted, item.values[name], item.entity, attribute)
                if value != item.values[name]:
                    is_settled = False
                    self._change_value(item, name, value, texts, values)
            if is_settled:
                return
        raise NoTestError(f"no values of {item.entity.name} are known for which all conditions hold")

    def _fulfil_inputs(self, write: Write, texts: dict[str, str], values: dict[str, object]) -> None:
        """Makes the conditions on inputs hold: all that are about one input together."""
        workload = self.module.workload
        compared = [literal for check in input_checks(write) for literal in next(ways_to_hold(check))]
        for name in dict.fromkeys(leaf.attribute for leaf, _ in compared):
            attribute = attribute_of_input(workload, write, name)
            if attribute is None:
                continue
            value = values.get(name, _one(attribute) if attribute.type.numeric else None)
            # Inputs that nothing else says get their value last, beside that of this one.
            own = [literal for literal in compared if literal[0].attribute == name]
            own.sort(key=lambda literal: any(v.param and v.param not in values for v in values_of(literal[0])))
            comparisons: list[_Comparison] = []
            for leaf, is_true in own:
                comparisons.append(self._comparison_of_input(leaf, is_true, value, attribute, texts, values))
                value = self._input_value(write, name, value, comparisons, attribute)
            if value != values.get(name):
                values[name] = value
                texts[name] = self._literal(value)

    def _give_unneeded_inputs(self, write: Write, texts: dict[str, str], values: dict[str, object]) -> None:
        """Gives a value to inputs of conditions that are true without them: `me` in `status = FREE or ownerId = me`."""
        workload = self.module.workload
        names = [param.meaning.input for param in self.method.params if isinstance(param.meaning, InputValue)]
        for leaf in all_leaves(write):
            compared = [value.param for value in values_of(leaf) if value.param is not None]
            for name in [leaf.attribute, *compared] if not leaf.entity else compared:
                attribute = attribute_of_input(workload, write, name)
                if name not in names or name in texts or attribute is None:
                    continue
                owners = [workload.entity(leaf.entity), *touched_entities(workload, write), *workload.entities]
                owner = next(one for one in owners if one and one.attribute(attribute.name))
                values[name] = _input_like(self._second(owner, attribute), operator_of(leaf), attribute)
                texts[name] = self._literal(values[name])

    def _input_value(
        self, write: Write, name: str, value: object, comparisons: Sequence[_Comparison], attribute: Attribute
    ) -> object:
        """A value of an input for which all comparisons hold: the present one, if they do for that."""
        choices = [value]
        for bound in [bound for one in comparisons for bound in one.bounds]:
            choices += [bound, *neighbours(bound), *(neighbour(bound, way, attribute) for way in (1, -1))]
        for choice in choices:
            is_fit = choice is not None and all(one.holds(choice) for one in comparisons)
            if is_fit and is_amount_allowed(self.module.workload, write, name, choice):
                return choice
        raise NoTestError(f"no value of {name} is known for which its conditions hold")

    def _comparison_of_input(
        self,
        leaf: Leaf,
        is_true: bool,
        value: object,
        attribute: Attribute,
        texts: dict[str, str],
        values: dict[str, object],
    ) -> _Comparison:
        """A condition on an input with the values that it compares with; other inputs get a value beside its own."""
        op = operator_of(leaf)
        bounds: list[object] = []
        for other in values_of(leaf):
            if other.param is None:
                bounds.append(self._constant(other, attribute))
                continue
            if other.param not in values:
                values[other.param] = self._compared_value(op, value, attribute)
                texts[other.param] = self._literal(values[other.param])
            bounds.append(values[other.param])
        return _Comparison(op, tuple(bounds), is_true)

    def _compared_value(self, op: Op, value: object, attribute: Attribute) -> object:
        """Another value for which the comparison of the value with it is true; for some operators, the same value."""
        match op:
            case Op.LT | Op.NE:
                return neighbour(value, 1, attribute)
            case Op.GT:
                return neighbour(value, -1, attribute)
            case Op.EQ | Op.LE | Op.GE | Op.BETWEEN | Op.BEGINS_WITH | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
                return value
            case _:
                assert_never(op)

    def _comparison(
        self,
        leaf: Leaf,
        is_true: bool,
        item: _Item,
        attribute: Attribute,
        texts: dict[str, str],
        values: dict[str, object],
    ) -> _Comparison | None:
        """A condition with the values that it compares with; None if the caller gives the value of this very item.

        An input that nothing else needs gets a value here.
        """
        op = operator_of(leaf)
        bounds: list[object] = []
        for value in values_of(leaf):
            if value.attribute is not None:
                bounds.append(self._other_value(item, value.attribute))
                continue
            if value.param is None:
                bounds.append(self._constant(value, attribute))
                continue
            if value.param not in values:
                values[value.param] = _input_like(item.values[attribute.name], op, attribute)
                texts[value.param] = self._literal(values[value.param])
            if op is Op.EQ and is_true and texts.get(value.param) == self._at(item, attribute.name):
                return None
            bounds.append(values[value.param])
        return _Comparison(op, tuple(bounds), is_true)

    def _other_value(self, item: _Item, name: str) -> object:
        """The value of an attribute that another one is compared with. An item that lacks it gets one."""
        if item.values.get(name) is None:
            item.values[name] = self._second(item.entity, single(self.module.workload, item.entity.name, name))
        return item.values[name]

    def _change_value(
        self, item: _Item, name: str, value: object, texts: dict[str, str], values: dict[str, object]
    ) -> None:
        """Gives an item another value; arguments that are this value of the item change with it."""
        before = self._at(item, name)
        item.values[name] = value
        for source, text in texts.items():
            if text == before and before not in self.literals:
                values[source] = value

    def _value_for(
        self, comparisons: Sequence[_Comparison], value: object, entity: Entity, attribute: Attribute
    ) -> object:
        """A value for which all comparisons hold: the present one, if they do for that."""
        absent = any(one.op is (Op.NOT_EXISTS if one.is_true else Op.EXISTS) for one in comparisons)
        for choice in [None] if absent else [value, *self._choices(comparisons, entity, attribute)]:
            if _is_within(choice, attribute) and all(one.holds(choice) for one in comparisons):
                return choice
        raise NoTestError(f"no value of {attribute.name} is known for which its conditions hold")

    def _choices(self, comparisons: Sequence[_Comparison], entity: Entity, attribute: Attribute) -> Iterator[object]:
        """Values that comparisons may hold for: those compared with, their neighbours, and others of the type."""
        is_list, is_set = attribute.type.kind is Kind.LIST, attribute.type.kind is Kind.SET
        for bound in [bound for one in comparisons for bound in one.bounds]:
            if is_list or is_set:
                yield bound if isinstance(bound, list | set) else [bound] if is_list else {bound}
            else:
                yield bound
                yield from neighbours(bound)
                yield from (neighbour(bound, direction, attribute) for direction in (1, -1))
        yield from attribute.type.values
        if attribute.type.kind is Kind.BOOLEAN:
            yield from (True, False)
        yield self._second(entity, attribute)

    def _constant(self, value: Value, attribute: Attribute) -> object:
        """A constant, or a time relative to that of the call, as a value of an attribute."""
        if value.now is None:
            return constant(value.const or "", attribute.type)
        moment = self._now() + timedelta(seconds=value.now)
        match attribute.type.kind:
            case Kind.DATETIME:
                return moment
            case Kind.DATE:
                return moment.date()
            case Kind.STRING:
                return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
            case Kind.DECIMAL:
                return Decimal(int(moment.timestamp()))
            case (
                Kind.NUMBER
                | Kind.INTEGER
                | Kind.BOOLEAN
                | Kind.BINARY
                | Kind.UUID
                | Kind.ULID
                | Kind.LIST
                | Kind.MAP
                | Kind.SET
                | Kind.ENUM
                | Kind.CONTENT
            ):
                return int(moment.timestamp())
            case _:
                assert_never(attribute.type.kind)

    def _amount(self, write: Write, source: str, attribute: Attribute) -> object:
        """A small amount that the input allows, of the type of the number that it is added to."""
        amount = usual_amount(self.module.workload, write, source)
        return Decimal(amount) if attribute.type.kind is Kind.DECIMAL else amount

    def _make_room(self, write: Write, action: Action, item: _Item, values: dict[str, object]) -> None:
        """Gives numbers with bounds values to which the amounts can be added."""
        for change in changes(write, action, item.entity) if action in write.actions else ():
            attribute = item.entity.attribute(change.attribute)
            if change.op not in (ChangeOp.ADD, ChangeOp.SUBTRACT) or attribute is None or not is_bounded(attribute):
                continue
            amount: Any = _one(attribute)
            if change.value is not None and change.value.param is not None:
                amount = values.get(change.value.param, amount)
            elif change.value is not None and change.value.const is not None:
                amount = constant(change.value.const, attribute.type)
            amount = amount if change.op is ChangeOp.ADD else -amount
            before: Any = item.values.get(attribute.name)
            if before is not None and not is_within(attribute, before + amount):
                start = room_for(attribute, amount)
                item.values[attribute.name] = before if start is None else start

    def _given(
        self, meaning: object, new: list[_Item], there: list[tuple[Action, _Item]], texts: dict[str, str]
    ) -> str:
        match meaning:
            case RecordValue(entity, many):
                own = [i for i in (*new, *(i for _, i in there)) if i.entity.name == entity]
                return f"[{own[0].name}]" if many else own[0].name
            case InputValue(name, _, many):
                text = self._used(texts[name])
                return f"[{text}]" if many else text
            case KnownValue(entity, attribute, many, is_new):
                item = next(i for _, i in there if i.entity.name == entity)
                text = self._at(item, attribute)
                if is_new:
                    like = single(self.module.workload, entity, attribute)
                    text = texts.setdefault(attribute, self._literal(self._second(item.entity, like)))
                text = self._used(text)
                return f"[{text}]" if many else text
            case Option("now"):
                return f"now={literal(self._now(), self.imports)}"
            case _:
                return ""

    def _now(self) -> datetime:
        """The time of a write. If it sets when items expire, it is recent, so that they have not."""
        ends = any(ending(self.module.design, item.entity) for item in self.items)
        return _NOW.replace(year=2099) if ends else _NOW

    def _seen(
        self,
        write: Write,
        actions: list[Action],
        new: list[_Item],
        there: list[tuple[Action, _Item]],
        texts: dict[str, str],
    ) -> None:
        """The lines that assert the content of the table after the write."""
        fresh = iter(new)
        taken: list[str] = []
        for action in actions:
            if action.verb in NEW:
                item = next(fresh)
                name = free(f"{item.name}_after", taken)
                taken.append(name)
                self.lines.append(self._got(name, item))
                self.lines.append(f"assert {name} == {item.name}")
        for action, item in there:
            if action not in actions:
                continue
            name = free(f"{item.name}_after", taken)
            taken.append(name)
            self.lines.append(self._got(name, item))
            if action.verb is Verb.DELETE:
                self.lines.append(f"assert {name} is None")
                continue
            self.lines.append(f"assert {name} is not None")
            for change in changes(write, action, item.entity):
                attribute = item.entity.attribute(change.attribute)
                if attribute is not None and (
                    expected := self._expected(change.op, change.value, item, attribute, texts)
                ):
                    parts = (f"{name}.{self._field(item, attribute.name)}", expected)
                    self.lines.append(Group("assert (", parts, ")", commas=False, loose=True))

    def _expected(
        self, op: ChangeOp, value: Value | None, item: _Item, attribute: Attribute, texts: dict[str, str]
    ) -> str:
        if op is ChangeOp.APPEND and attribute.optional:
            return ""  # to a type checker it may be None
        source = attribute.name if value is None else value.param
        if source is not None:
            text = self._used(texts.get(source, "1"))
        elif value is not None and value.now is not None:
            return ""
        else:
            assert value is not None
            text = literal(constant(value.const or "", attribute.type), self.imports)
        match op:
            case ChangeOp.SET:
                return f"{'is' if attribute.type.kind is Kind.BOOLEAN else '=='} {text}"
            case ChangeOp.ADD | ChangeOp.SUBTRACT if not item.there:  # it begins at 0
                return f"== {text}" if op is ChangeOp.ADD else f"== -{text}"
            case ChangeOp.ADD | ChangeOp.SUBTRACT:
                return f"== {self._used(self._at(item, attribute.name))} {op.value[0]} {text}"
            case ChangeOp.REMOVE:
                return "is None"
            case ChangeOp.APPEND:
                members = f"*{self._used(self._at(item, attribute.name))}, {'*' * (value is None)}{text}"
                return f"== {{{members}}}" if attribute.type.kind is Kind.SET else f"== [{members}]"
            case _:
                assert_never(op)

    # --- Samples ----------------------------------------------------------------------------------------------------

    def _item(self, name: str) -> _Item:
        entity = self.module.workload.entity(name)
        assert entity is not None  # the design has a key for it
        taken = [i.name for i in self.items] + ["repository", "found", "seed", "ready"]
        taken += ["everyone", "stranger", "nothing"] if self.tenant else []
        seed = sample_values(self.module.workload, entity, self.module.design)
        item = _Item(free(identifier(self.module.names.classes[name]), taken), entity, dict(seed), seed)
        if any(other.entity is entity for other in self.items):  # two that are there share nothing that is unique
            unique = {a.name for a in entity.attributes if a.unique}.union(*entity.unique) - {self.tenant}
            item.values |= {a.name: self._second(entity, a) for a in entity.attributes if a.name in unique}
        self.items.append(item)
        return item

    def _written(self, items: Iterable[_Item]) -> None:
        """The lines that create the repository and insert the items."""
        items = list(items)
        self._declared(items)
        if self.tenant:
            value = next(i.values[self.tenant] for i in self.items if is_owned(self.module.workload, i.entity.name))
            ready: list[Part] = [
                "everyone = ready()",
                call("repository = everyone.of_tenant", literal(value, self.imports)),
            ]
        else:
            ready = ["repository = ready()"]
        self.lines[:0] = ready
        whose = "everyone" if self.tenant else "repository"
        self.lines += [f"{whose}.db.insert({item.name})" for item in items]

    def _declared(self, items: Iterable[_Item]) -> None:
        for item in items:
            made = f"seed.{maker(self.module.names, item.entity)}()"
            self.imports.name(self.package, "seed")
            fields = [(self._field(item, n), literal(v, self.imports)) for n, v in item.changed.items()]
            plain = Group(f"{item.name} = (", (made,), ")", commas=False, loose=True)
            self.lines.append(self._replaced(item.name, made, fields) if fields else plain)

    def _replaced(self, name: str, made: str, fields: list[tuple[str, str]]) -> Part:
        match self.module.style:
            case "pydantic":
                update = keyword("update", mapping((string(n), v) for n, v in fields))
                return call(f"{name} = {made}.model_copy", update)
            case "msgspec":
                self.imports.name("msgspec.structs", "replace")
            case _:
                self.imports.name("dataclasses", "replace")
        return Group(f"{name} = replace(", (made, *(keyword(n, v) for n, v in fields)))

    def _got(self, name: str, item: _Item) -> Part:
        """The call that reads an item from the table."""
        key = []
        for attribute in self._base(item):
            field_ = self._field(item, attribute)
            key.append(
                keyword(field_, f"{item.name}.{field_}" if item.there else self._used(self._at(item, attribute)))
            )
        if self.module.design.counter(item.entity.name) is None:
            return call(f"{name} = repository.db.get", self._cls(item), *key)
        self.imports.name("prejoin", "with_counts")
        got = call("repository.db.get", self._cls(item), *key)
        return call(f"{name} = with_counts", "repository.db", self._cls(item), got)

    def _base(self, item: _Item) -> tuple[str, ...]:
        facets = self.module.facets
        own = next(f for f in facets if f.entity == item.entity.name and f.slot == TABLE and not f.copy)
        return own.attributes

    def _at(self, item: _Item, attribute: str) -> str:
        """A value of a sample as code: its field, unless a type checker would take that for None."""
        if not item.there or single(self.module.workload, item.entity.name, attribute).optional:
            return self._literal(item.values[attribute])
        return f"{item.name}.{self._field(item, attribute)}"

    def _literal(self, value: object) -> str:
        """A literal that may be used: `_used` adds its imports."""
        text = literal(value, Imports())
        self.literals[text] = value
        return text

    def _used(self, text: str) -> str:
        if text in self.literals:
            literal(self.literals[text], self.imports)
        return text

    def _field(self, item: _Item, attribute: str) -> str:
        return self.module.names.field(item.entity.name, attribute)

    def _cls(self, item: _Item) -> str:
        name = self.module.names.classes[item.entity.name]
        self.imports.name(f"{self.package}.entities", name)
        return name

    def _second(self, entity: Entity, attribute: Attribute) -> object:
        """A value other than that of the sample."""
        return sample_values(self.module.workload, entity, self.module.design, [attribute.name])[attribute.name]

    def _satisfying(self, op: Op, values: tuple[Value, ...], entity: Entity, attribute: Attribute) -> object:
        """A value for which a condition with constants holds."""
        bounds = tuple(self._constant(value, attribute) for value in values)
        choice = next(self._choices([_Comparison(op, bounds)], entity, attribute))
        return self._value_for([_Comparison(op, bounds)], choice, entity, attribute)

    def _moment(self, item: _Item, attribute: Attribute, op: Op, values: tuple[Value, ...]) -> datetime:
        """The time of a call for which the time of an item lies in a range relative to now."""
        offsets = [v.now or 0 for v in values]
        value = item.values[attribute.name]
        match value:
            case datetime():
                moment = value
            case date():
                moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
            case int() | Decimal():
                moment = datetime.fromtimestamp(int(value), UTC)
            case _:
                moment = datetime.fromisoformat(str(value))
        after = -1 if op in (Op.GT, Op.GE) else 1 if op in (Op.LT, Op.LE) else 0
        return moment - timedelta(seconds=offsets[-1]) + timedelta(seconds=after)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """An operator, and the values that an attribute is compared with."""

    op: Op
    bounds: tuple[object, ...]
    is_true: bool = True
    """Whether the comparison has to be true, or false."""

    def holds(self, value: object) -> bool:
        """Whether it holds for a value; None is an attribute that an item lacks.

        A value of a type that has no order, or cannot contain anything, fulfils no such condition.
        """
        try:
            return self._holds(value) is self.is_true
        except TypeError:
            return False

    def _holds(self, value: object) -> bool:
        bounds: Any = self.bounds
        given: Any = value
        if given is None and self.op not in (Op.EXISTS, Op.NOT_EXISTS, Op.NE):
            return False
        match self.op:
            case Op.EXISTS:
                return given is not None
            case Op.NOT_EXISTS:
                return given is None
            case Op.NE:
                return bool(given != bounds[0])
            case Op.EQ:
                return bool(given == bounds[0])
            case Op.IN:
                return given in bounds
            case Op.LT:
                return bool(given < bounds[0])
            case Op.LE:
                return bool(given <= bounds[0])
            case Op.GT:
                return bool(given > bounds[0])
            case Op.GE:
                return bool(given >= bounds[0])
            case Op.BETWEEN:
                return bool(bounds[0] <= given <= bounds[1])
            case Op.BEGINS_WITH:
                return str(given).startswith(str(bounds[0]))
            case Op.CONTAINS:
                return bounds[0] in given
            case _:
                assert_never(self.op)


def _restore(current: dict[str, T], before: Mapping[str, T]) -> None:
    """Gives a dict the content that it had."""
    current.clear()
    current.update(before)


def _input_like(value: object, op: Op, attribute: Attribute) -> object:
    """An input that the value of an item is compared with. Numbers are small, so that stock and balances suffice."""
    if attribute.type.numeric and not attribute.ttl:
        return _one(attribute)
    if op is Op.CONTAINS and isinstance(value, list | set):
        return next(iter(value))
    if attribute.type.kind is Kind.ENUM and op in (Op.LT, Op.GT):  # of the others, one is less, or greater
        return max(attribute.type.values) if op is Op.LT else min(attribute.type.values)
    return value


def _is_within(value: object, attribute: Attribute) -> bool:
    """Whether a number is within the bounds of its attribute."""
    least, most = attribute.bounds
    if not isinstance(value, int | Decimal):
        return True
    return (least is None or value >= least) and (most is None or value <= most)


def neighbours(value: object) -> Iterator[object]:
    """Times shortly after and before a time."""
    if isinstance(value, datetime):
        yield from (value + timedelta(seconds=seconds) for seconds in (1, -1))


def _one(attribute: Attribute) -> object:
    """The number one in the type of an attribute."""
    return Decimal(1) if attribute.type.kind is Kind.DECIMAL else 1


def neighbour(value: object, direction: int, attribute: Attribute) -> object:
    """The next value below or above; for other types, a different one."""
    match value:
        case bool():
            return not value
        case int() | Decimal():
            return value + direction
        case datetime() | date():
            return value + timedelta(days=direction)
        case UUID():
            return UUID(int=min(max(value.int + direction, 0), 2**128 - 1))
        case str() if attribute.type.kind is Kind.ENUM:
            return next((v for v in attribute.type.values if v != value), value)
        case str():
            return f"{value}~" if direction > 0 else value[:-1] or value
        case _:
            return value
