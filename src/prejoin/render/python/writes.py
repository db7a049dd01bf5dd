"""Renders the methods of writes.

New items are parameters as objects. Other values are taken from these objects if they have them, else from parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from prejoin.design.cost.refreshes import source_writes
from prejoin.design.counters import is_spread
from prejoin.design.mapping.addressing import sought
from prejoin.design.mapping.facets import ending
from prejoin.design.mapping.shared_values import agreements, shared_inputs
from prejoin.design.model import Call, Operation
from prejoin.keys import TABLE
from prejoin.render.python.argument_checks import amount_checks
from prejoin.render.python.conditions import (
    as_lambda,
    comparison,
    failed_comparison,
    failed_test,
    recorded_attribute,
    test_part,
)
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
from prejoin.render.python.optional_changes import if_given, refuse_nothing
from prejoin.render.python.write_sources import Loop, LoopValue, Sources
from prejoin.types import Kind
from prejoin.workload.bounds import has_bounded_sum
from prejoin.workload.conditions import all_leaves, holds_if_absent, is_of_whole_item, leaves, operator_of, values_of
from prejoin.workload.follow_links import follow_links
from prejoin.workload.grammar.values import write_value
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.lookup import NEXT_VERSION, changes, member_of
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    Leaf,
    Op,
    Presence,
    Test,
    Value,
    Verb,
    Write,
)
from prejoin.workload.optional_inputs import is_only_change
from prejoin.workload.targets import (
    NEW,
    CheckedItem,
    attribute_of_input,
    checks_of,
    input_checks,
    is_absence,
    is_given_whole,
    is_range_of_inputs,
    is_resumable,
    is_tied_by_key,
    known_of_checked,
    links,
    list_over,
    list_source,
    search_attributes,
    ties_of_checked,
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
        self.amount_checks: dict[str, Sequence[Part]] = {}
        """The lines that refuse amounts before anything is sent, by their tests."""
        self.left_out: dict[int, list[str]] = {}
        """By position, the parameters of each action that changes nothing if none of them is given."""
        self.token = ""
        """The parameter for the token of a transaction; empty if there is none."""
        self.repeats = self._can_repeat()
        """Whether the method can be called again for what an index did not show, with `again=True`."""

    def method(self) -> Method:
        body = list(self._body())
        mismatches: list[ArgumentMismatch] = []
        checks = [line for lines in self.amount_checks.values() for line in lines]
        if len(self.left_out) == len(self.sources.actions):
            checks += refuse_nothing([param for params in self.left_out.values() for param in params])
        body = [*self._belonging(mismatches), *checks, *self._refusals(), *body]
        params = self.sources.ordered
        if self.sources.timed:
            self.module.imports.module("datetime as dt")
            params.append(Param("now", "dt.datetime | None", Option("now"), "None"))
            body = ["now = now or dt.datetime.now(dt.UTC)", *body]
        if self.repeats:
            params.append(Param("again", "bool", Option("again"), "False"))
        if self.token:
            params.append(Param(self.token, "str | None", Option("token"), "None"))
        name = self.module.names.methods[self.write.id]
        return Method(
            self.write,
            name,
            tuple(params),
            ReturnType(ReturnKind.NOTHING),
            body_lines(body),
            tuple(mismatches),
            self._remarks(),
        )

    # --- Lists in an index ------------------------------------------------------------------------------------------
    #
    # An index may lack items that were written a moment ago, so a list that is found there may miss some, and DynamoDB
    # has no way to read it consistently. Called again later, the method does only what belongs to the list. It checks
    # that the items which it has deleted or changed the first time are so still.

    def _stale_lists(self) -> list[str]:
        """The entities whose lists are found in an index."""
        indexed = {name for r in self.operation.finds if r.slot != TABLE for name in r.entities}
        lists = [action for action in self.write.actions if action.many and action.verb not in NEW]
        stale = [action.entity for action in lists if not self._must_find_all(action)]
        return [name for name in dict.fromkeys(stale) if name in indexed]

    def _must_find_all(self, action: Action) -> bool:
        """Whether a given id that is not found refuses the write.

        A delete without a transaction can be repeated: what is not found may be deleted already.
        """
        source = list_source(self.module.workload, self.write, action, self.sources.entity(action.entity))
        return source.is_given and not (action.verb is Verb.DELETE and is_resumable(self.write))

    def _can_repeat(self) -> bool:
        """Whether the effect of the single actions can be checked, and the lists are set to constants or deleted."""
        if not self._stale_lists() or not any(not action.many for action in self.sources.actions):
            return False
        return all(self._is_repeatable(action) for action in self.sources.actions)

    def _is_repeatable(self, action: Action) -> bool:
        if action.verb in NEW:
            return not action.many
        if action.many:
            changed = changes(self.write, action, self.sources.entity(action.entity))
            return all(change.op in (ChangeOp.SET, ChangeOp.REMOVE) for change in changed)
        is_settled = action.verb is Verb.DELETE or (action.verb is Verb.UPDATE and bool(_settled(action)))
        return is_settled and not self.sources.finds(action)

    def _remarks(self) -> tuple[str, ...]:
        """Further sentences of the docstring."""
        return (*self._remarks_on_values(), *self._remarks_on_followers(), *self._remarks_on_lists())

    def _remarks_on_followers(self) -> Iterator[str]:
        """What the docstring says of attributes that follow what the write changes, and that no stream updates."""
        names = self.module.names
        for link in follow_links(self.module.workload):
            if link.within is not None or self.write not in source_writes(self.module.workload, link):
                continue
            source, entity = link.source.name, link.entity.name
            pairs = [
                f"`{names.classes[entity]}.{names.field(entity, own)}` follows "
                f"`{names.classes[source]}.{names.field(source, followed)}`"
                for own, followed in link.attributes.items()
            ]
            key = ", ".join(f"{names.field(source, part)}=…" for part in link.by if part != self.sources.tenant)
            refresh = f"{'await ' if self.module.aio else ''}refresh(repository.db, {names.classes[source]}, {key})"
            yield f"{' and '.join(pairs)}: call `{refresh}` of `prejoin` afterwards"

    def _remarks_on_values(self) -> Iterator[str]:
        """What the docstring says of the values of new objects that the document sets."""
        for at, param in self.sources.records.items():
            action = self.sources.actions[at]
            entity = self.sources.entity(action.entity)
            replaced: list[str] = []
            compared: list[str] = []
            for change, attribute in self._set_by_document(action, entity):
                assert change.value is not None  # as `_set_by_document` says
                value = write_value(change.value, frozenset(self.sources.inputs))
                if change.value.attribute is not None:
                    value = self.module.names.field(entity.name, change.value.attribute)
                text = f"`{self.module.names.field(entity.name, attribute.name)} = {value}`"
                (compared if change.value.now is None else replaced).append(text)
            if compared:
                name = f"one of `{param.name}`" if action.many else f"`{param.name}`"
                yield f"Raises `ValueError` if {name} has other values than {', '.join(compared)}"
            if replaced:
                name = f"each of `{param.name}`" if action.many else f"`{param.name}`"
                yield f"Replaces the values of {name}: {', '.join(replaced)}"

    def _remarks_on_lists(self) -> tuple[str, ...]:
        """What the docstring says of lists that are found in an index."""
        stale = self._stale_lists()
        if not stale:
            return ()
        way = "with `again=True` a moment later" if self.repeats else "a moment later"
        known = f"An index may lack {' and '.join(stale)} items that were written a moment ago"
        repeatable = self.repeats or not any(not action.many for action in self.sources.actions)
        return (f"{known}: call it again {way} for those" if repeatable else known,)

    def _as_done(self, at: int, action: Action, depth: str) -> Part:
        """The check that an item is as the write has left it."""
        entity = self.sources.entity(action.entity)
        base = {*self.sources.base(entity)}
        given = [(name, value) for name, value in self.sources.given(at, action, entity, None) if name in base]
        fields = [keyword(self.module.names.field(entity.name, name), value) for name, value in given]
        cls = self.module.cls(entity.name)
        if action.verb is Verb.DELETE:
            return call(f"{depth}tx.check_absent", cls, *fields)
        tests: list[Part] = []
        for change in _settled(action):
            attribute = entity.attribute(change.attribute)
            assert attribute is not None  # checked in the document
            field_ = self.module.names.field(entity.name, attribute.name)
            if change.op is ChangeOp.REMOVE or change.value is None:
                tests.append(comparison(Op.NOT_EXISTS, field_, (), attribute, self.module))
            else:
                value = self.sources.value(change.value, entity.name, attribute, None)
                tests.append(comparison(Op.EQ, field_, [value], attribute, self.module))
        return call(f"{depth}tx.check", cls, keyword("where", as_lambda(tests)), *fields)

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
            lines = list(self._other_values(at, action, entity, loop, record, mismatches))
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

    def _other_values(
        self,
        at: int,
        action: Action,
        entity: Entity,
        loop: Loop | None,
        record: str,
        mismatches: list[ArgumentMismatch],
    ) -> Iterator[Part]:
        """The checks that refuse a new object with another value than the document sets.

        An object may lack an optional attribute. Nobody knows the time of the call before, so that `now` replaces what
        the object has.
        """
        depth = STEP if loop else ""
        for change, attribute in self._set_by_document(action, entity):
            assert change.value is not None  # as `_set_by_document` says
            if change.value.now is not None:
                continue
            left = f"{record}.{self.module.names.field(entity.name, attribute.name)}"
            right = self._new_value(change.value, entity, attribute, loop, record)
            is_given = change.value.const is None
            tests = [failed_comparison(Op.EQ, left, [right], replace(attribute, optional=False), is_given)]
            if attribute.optional:
                tests.insert(0, f"{left} is not None")
            message = f"{left} is not {right}"
            mismatches.append(ArgumentMismatch(at, attribute.name, message))
            yield Group(
                f"{depth}if (", (tests[0], *(f"and {test}" for test in tests[1:])), "):", commas=False, loose=True
            )
            yield call(f"{depth}{STEP}raise ValueError", string(message))

    def _strangers(self) -> Iterator[Part]:
        """The checks that refuse given objects which do not belong to the items that the write names."""
        for action in self.sources.actions:
            entity = self.sources.entity(action.entity)
            if action.verb in NEW or not action.many or not is_given_whole(self.write, action, entity):
                continue
            linked = links(self.module.workload, self.write, action, entity)
            param = self.sources.record(action)
            loop = self.sources.over(action, param, entity.name)
            lines: list[Part] = []
            for name, source in linked.items():
                attribute = entity.attribute(name)
                if attribute is None or name == self.sources.tenant:
                    continue
                left = f"{loop.record}.{self.module.names.field(entity.name, name)}"
                right = self.sources.input(source, entity.name, replace(attribute, optional=False), None)
                lines.append(f"{STEP}if {left} != {right}:")
                lines.append(call(f"{STEP}{STEP}raise ConditionFailed", string(f"{left} is not {right}")))
            if lines:
                self.module.imports.name("prejoin", "ConditionFailed")
                yield f"{loop.head}:"
                yield from lines

    def _refusals(self) -> Iterator[Part]:
        """The conditions that are checked before anything is sent: those on inputs, and those on new items."""
        yield from self._strangers()
        for check in input_checks(self.write):
            yield from self._refusal(check, self._failed_input, "")
        for at, param in self.sources.records.items():
            action = self.sources.actions[at]
            checks = [check for check in checks_of(self.write, action) if not is_of_whole_item(check)]
            if action.verb is not Verb.CREATE or not checks:
                continue
            entity = self.sources.entity(action.entity)
            loop = self.sources.over(action, param, entity.name) if action.many else None
            if loop:
                yield f"{loop.head}:"
            failed = self._failed_of_new(action, entity, loop, loop.record if loop else param.name)
            for check in checks:
                yield from self._refusal(check, failed, STEP if loop else "")

    def _failed_input(self, leaf: Leaf) -> str:
        """The opposite of a comparison of an input, as code."""
        attribute = attribute_of_input(self.module.workload, self.write, leaf.attribute)
        assert attribute is not None  # checked in the document
        given = replace(attribute, optional=False)
        left = self.sources.input(leaf.attribute, "", given, None)
        values = [self.sources.value(value, "", given, None) for value in values_of(leaf)]
        return failed_comparison(operator_of(leaf), left, values, given, self._is_given(leaf))

    def _failed_of_new(self, action: Action, entity: Entity, loop: Loop | None, record: str) -> Callable[[Leaf], str]:
        """The function that gives the opposite of a test of a new object, as code."""
        sets = dict(self._document_values(action, entity, loop, record))

        def of_field(name: str) -> str:
            field_ = self.module.names.field(entity.name, name)
            return sets.get(field_, f"{record}.{field_}")

        def failed(leaf: Leaf) -> str:
            attribute = entity.attribute(leaf.attribute)
            assert attribute is not None  # checked in the document
            if isinstance(leaf, Comparison) and (other := leaf.values[0].attribute) is not None:
                return self._failed_relation(leaf.op, entity, attribute, other, of_field)
            values = [self.sources.value(value, entity.name, attribute, loop) for value in values_of(leaf)]
            return failed_comparison(
                operator_of(leaf), of_field(attribute.name), values, attribute, self._is_given(leaf)
            )

        return failed

    def _failed_relation(
        self, op: Op, entity: Entity, attribute: Attribute, name: str, of_field: Callable[[str], str]
    ) -> str:
        """The opposite of a comparison of two attributes of a new object, as code."""
        other = entity.attribute(name)
        assert other is not None  # checked in the document
        right = of_field(name)
        failed = failed_comparison(op, of_field(attribute.name), [right], attribute)
        if not other.optional:
            return failed
        # DynamoDB finds an absent attribute unlike everything, and every other comparison with it false.
        return f"{right} is not None and ({failed})" if op is Op.NE else f"{right} is None or {failed}"

    def _refusal(self, check: Test, failed_leaf: Callable[[Leaf], str], depth: str) -> Iterator[Part]:
        self.module.imports.name("prejoin", "ConditionFailed")
        text = write_checks((check,), frozenset(self.sources.inputs))
        yield Group(f"{depth}if (", (failed_test(check, failed_leaf),), "):", commas=False, loose=True)
        yield call(f"{depth}{STEP}raise ConditionFailed", string(f"not fulfilled: {text}"))

    # --- What is done -----------------------------------------------------------------------------------------------

    def _body(self) -> Iterator[Part]:
        wait = self.module.wait
        checked = self.sources.checked
        several = len(self.sources.actions) > 1 or any(a.many for a in self.sources.actions)
        resumable = is_resumable(self.write)
        together = not resumable and (bool(checked) or (self.write.atomic is not False and several))
        loops = [self.sources.loop(at, action) for at, action in enumerate(self.sources.actions)]
        for between in self.sources.between:
            yield self._read_list(between)
        for at in self._parents_first():
            action = self.sources.actions[at]
            if self.sources.finds(action):
                names = search_attributes(self.module.workload, self.write, action)
                yield from self._find(self.sources.found(at), action, loops, at, names)
        for item in checked:
            if self.sources.finds_checked(item):
                names = known_of_checked(self.module.workload, self.write, item)
                yield from self._find(self.sources.found(item), item.action, loops, None, names)
        if together:
            yield from self._exchanged_lists()
            self.token = self._token(checked)
            yield f"{'async ' if wait else ''}with self.db.transaction({self.token}) as tx:"
        if resumable:
            yield from self._check_first()
        before = ""
        depth = STEP if together else ""
        for at, action in enumerate(self.sources.actions):
            if not together and action.entity in self.batched and action.many:
                yield from self._batch(at, action, loops[at])
            elif self.repeats and not action.many:
                if together and action.verb not in NEW:
                    yield f"{depth}if again:"
                    yield self._as_done(at, action, depth + STEP)
                    yield f"{depth}else:"
                else:
                    yield f"{depth}if not again:"
                yield from self._do(at, action, None, together, depth + STEP)
                before = ""
            else:
                lines = list(self._do(at, action, loops[at], together, depth))
                head = flat(lines[0]) if loops[at] else ""
                yield from lines[1:] if head and head == before else lines  # two on the same items are one loop
                before = head
        if self.repeats and together and checked:
            yield f"{depth}if not again:"
        for item in checked if together else ():
            yield from self._check(item, depth + STEP if self.repeats else depth)

    def _check_first(self) -> Iterator[Part]:
        """The checks of the single items before the lists are written: if one is refused, nothing is written."""
        lines: list[Part] = []
        done: list[Part] = []
        depth = STEP * 2 if self.repeats else STEP
        for at, action in enumerate(self.sources.actions):
            if action.many:
                continue
            if self.repeats and action.verb not in NEW:
                done.append(self._as_done(at, action, depth))
            entity = self.sources.entity(action.entity)
            if self._can_be_refused(at, action, entity):
                lines += self._one(at, action, entity, None, True, depth)
        for item in self.sources.checked:
            lines += self._check(item, depth)
        begin = f"{'async ' if self.module.wait else ''}with self.db.transaction"
        if done and not lines:
            yield "if again:"
            yield f"{STEP}{begin}() as tx:"
            yield from done
        elif not done and not self.module.wait and (update := self._only_update()):
            # Linters want one `with`.
            yield Group("with (", ("self.db.transaction(only_check=True) as tx", update[0]), "):", loose=True)
            yield from update[1:]
        elif lines:
            yield f"{begin}(only_check=True) as tx:"
            if done:
                yield f"{STEP}if again:"
                yield from done
                yield f"{STEP}else:"
            yield from lines

    def _only_update(self) -> list[Part]:
        """The context manager of the update that is all there is to check first, and its changes; else nothing."""
        single = [(at, action) for at, action in enumerate(self.sources.actions) if not action.many]
        refused = [(at, one) for at, one in single if self._can_be_refused(at, one, self.sources.entity(one.entity))]
        if len(refused) != 1 or self.sources.checked:
            return []
        at, action = refused[0]
        first, *changed = self._one(at, action, self.sources.entity(action.entity), None, True, "")
        if not isinstance(first, Group) or not first.head.startswith("with "):
            return []
        return [Group(first.head.removeprefix("with "), first.items, first.tail.removesuffix(":")), *changed]

    def _can_be_refused(self, at: int, action: Action, entity: Entity) -> bool:
        """Whether DynamoDB may refuse the write of a single item, because of what the table holds."""
        design = self.module.design
        if action.verb is not Verb.CREATE and is_spread(design.counters, self.write, action, entity):
            return False
        match action.verb:
            case Verb.CREATE:
                return True
            case Verb.PUT:
                is_unique = any(guard.entity == entity.name for guard in design.guards)
                return is_unique or bool(self._where(action, entity, None, []))
            case Verb.UPDATE | Verb.UPSERT | Verb.DELETE | Verb.EXPIRE:
                given = self.sources.given(at, action, entity, None)
                known_values = {name for name, _ in given} - {*self.sources.base(entity)}
                if action.verb is Verb.UPDATE or known_values or self._where(action, entity, None, given):
                    return True
                changed = {change.attribute for change in changes(self.write, action, entity)}
                takes_unique = any(g.entity == entity.name and changed & set(g.attributes) for g in design.guards)
                return action.verb is Verb.UPSERT and (takes_unique or has_bounded_sum(self.write, action, entity))
            case _:
                assert_never(action.verb)

    def _parents_first(self) -> list[int]:
        """The positions of the actions; a list that is found over another one comes after it."""
        positions = {action.entity: at for at, action in enumerate(self.sources.actions) if action.many}
        ordered: dict[int, None] = {}

        def add(at: int) -> None:
            action = self.sources.actions[at]
            if action.many and action.verb not in NEW:
                entity = self.sources.entity(action.entity)
                over = list_source(self.module.workload, self.write, action, entity).over
                if over in positions:
                    add(positions[over])
            ordered[at] = None

        for at in range(len(self.sources.actions)):
            add(at)
        return list(ordered)

    def _token(self, checked: Iterable[CheckedItem]) -> str:
        """The name of the token parameter; empty if a repeated transaction would differ from the first.

        That is where it depends on what is read before, or on the time.
        """
        write, sources = self.write, self.sources
        names = (*(a.entity for a in sources.actions), *(item.entity.name for item in checked))
        touched = [sources.entity(name) for name in dict.fromkeys(names)]
        values = [value for leaf in all_leaves(write) for value in values_of(leaf)]
        values += [c.value for action in write.actions for c in action.changes if c.value]
        timed = any(v.now is not None for v in values) or any(ending(self.module.design, e) for e in touched)
        if timed or sources.found_first or sources.read_first:
            return ""
        given = {identifier(name) for name in (*sources.inputs, *(a.name for e in touched for a in e.attributes))}
        name = "request_token" if "token" in given else "token"
        sources.locals.add(name)
        return name

    def _do(self, at: int, action: Action, loop: Loop | None, together: bool, depth: str) -> Iterator[Part]:
        entity = self.sources.entity(action.entity)
        inner = depth + STEP if loop else depth
        if loop and together and (key := self._exchanged_key(action, entity, loop.record)):
            yield f"{depth}{loop.head}:"
            yield from self._exchange(at, action, entity, loop, key, inner)
            return
        lines = list(self._one(at, action, entity, loop, together, inner))
        if loop:
            yield f"{depth}{loop.head}:"
        yield from lines

    def _exchanged_key(self, action: Action, entity: Entity, record: str) -> str:
        """The key of an object of a list that the write deletes and creates anew; empty for other lists.

        An item that is in both lists is replaced: DynamoDB takes an item only once in a transaction.
        """
        verbs = {other.verb for other in self.sources.actions if other.many and other.entity == entity.name}
        if verbs != {Verb.DELETE, Verb.CREATE} or entity.history:
            return ""
        parts = [f"{record}.{self.module.names.field(entity.name, name)}" for name in self.sources.base(entity)]
        return f"({', '.join(parts)})" if len(parts) > 1 else parts[0]

    def _exchanged_lists(self) -> Iterator[Part]:
        """The keys of the old and of the new items of a list that is deleted and created anew."""
        for at, action in enumerate(self.sources.actions):
            entity = self.sources.entity(action.entity)
            if action.many and (key := self._exchanged_key(action, entity, "one")):
                if action.verb is Verb.DELETE:
                    yield Group("old = {", (f"{key}: one for one in {self.sources.found(at)}",), "}", commas=False)
                else:
                    yield Group("new = {", (f"{key} for one in {self.sources.records[at].name}",), "}", commas=False)

    def _exchange(self, at: int, action: Action, entity: Entity, loop: Loop, key: str, depth: str) -> Iterator[Part]:
        if action.verb is Verb.DELETE:
            yield f"{depth}if {key} not in new:"
            yield from self._one(at, action, entity, loop, True, depth + STEP)
            return
        record: Part = loop.record
        if sets := self._completed_values(action, entity, loop, loop.record):
            record = self._replaced(loop.record, sets)
        yield f"{depth}was = old.get({key})"
        yield f"{depth}if was is None:"
        yield call(f"{depth}{STEP}tx.insert", record)
        yield f"{depth}else:"
        yield call(f"{depth}{STEP}tx.put", record, keyword("was", "was"))

    def _one(
        self, at: int, action: Action, entity: Entity, loop: Loop | None, together: bool, depth: str
    ) -> Iterator[Part]:
        cls = self.module.cls(entity.name)
        writer, wait = ("tx", "") if together else ("self.db", self.module.wait)
        if action.verb in NEW:
            yield from self._new(at, action, entity, loop, f"{wait}{writer}", depth)
            return
        given = self.sources.given(at, action, entity, loop)
        if is_spread(self.module.design.counters, self.write, action, entity):
            # The item is not written, so nothing of it can be checked.
            given = [(name, value) for name, value in given if name in self.sources.base(entity)]
        read = ["read=True"] if entity.name in self.sources.read_first else []
        where = self._where(action, entity, loop, given)
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
        # A later action may have a parameter of the name of its input.
        inputs = map(identifier, self.sources.inputs)
        taken = [*LOCAL, *self.sources.params, *self.sources.locals, *inputs, *([loop.record] if loop else [])]
        local = free(identifier(cls), taken)
        optional = [self.sources.optional_param(change) for change, _ in changed]
        outer = depth
        # Of a write with one optional input and nothing else, it has to be given.
        needed = is_only_change(self.module.workload, self.write)
        skipped = all(optional) and len(self.sources.actions) > 1 and not needed
        if all(optional):
            self.left_out[at] = optional
        if skipped:  # an update without changes is refused, and the other actions have theirs
            yield if_given(optional, outer)
            depth += STEP
        verb = Verb.UPDATE if _only_existing(self.write, action) else action.verb
        opening = f"{depth}{'async ' if wait else ''}with {writer}.{verb}"
        yield call(opening, cls, *options, *fields, tail=f") as {local}:")
        for (change, attribute), param in zip(changed, optional, strict=True):
            line = self._change(change, entity, attribute, local, loop, action.verb is Verb.UPSERT)
            if param and not needed and not (skipped and len(set(optional)) == 1):
                yield if_given([param], depth + STEP)
                yield f"{depth}{STEP * 2}{line}"
            else:
                yield f"{depth}{STEP}{line}"
        if skipped and together and action.verb is Verb.UPDATE:  # its conditions hold, whatever is given
            yield f"{outer}else:"
            checked = [keyword("where", where)] if where else []
            yield call(f"{depth}tx.check", cls, *checked, *fields)

    def _new(
        self, at: int, action: Action, entity: Entity, loop: Loop | None, writer: str, depth: str
    ) -> Iterator[Part]:
        record = loop.record if loop else self.sources.records[at].name
        shown: Part = record
        if sets := self._completed_values(action, entity, loop, record):
            shown = self._replaced(record, sets)
        if action.verb is Verb.CREATE:
            yield call(f"{depth}{writer}.insert", shown)
            return
        where = self._where(action, entity, loop, [])
        options = [*([keyword("where", where)] if where else [])]
        options += ["read=True"] if entity.name in self.sources.read_first else []
        yield call(f"{depth}{writer}.put", shown, *options)

    def _set_by_document(self, action: Action, entity: Entity) -> Iterator[tuple[Change, Attribute]]:
        """The changes that say which value an attribute of a new item has: `create Clinic (adminCount = 1)`."""
        for change in action.changes:
            attribute = entity.attribute(change.attribute)
            if attribute is None or change.value is None or change.op is not ChangeOp.SET:
                continue
            if change.value.param != attribute.name:
                yield change, attribute

    def _document_values(
        self, action: Action, entity: Entity, loop: Loop | None, record: str
    ) -> Iterator[tuple[str, str]]:
        """The fields of a new object whose values the document says, with these values as code."""
        for change, attribute in self._set_by_document(action, entity):
            assert change.value is not None  # as `_set_by_document` says
            value = self._new_value(change.value, entity, attribute, loop, record)
            yield self.module.names.field(entity.name, attribute.name), value

    def _completed_values(
        self, action: Action, entity: Entity, loop: Loop | None, record: str
    ) -> list[tuple[str, str]]:
        """The fields of a new object that the method sets. It only compares the others with the document's values."""
        completed = {
            self.module.names.field(entity.name, attribute.name)
            for change, attribute in self._set_by_document(action, entity)
            if attribute.optional or (change.value is not None and change.value.now is not None)
        }
        values = self._document_values(action, entity, loop, record)
        return [(name, value) for name, value in values if name in completed]

    def _new_value(self, value: Value, entity: Entity, attribute: Attribute, loop: Loop | None, record: str) -> str:
        """The value of an attribute of a new object, as code. It may be another attribute of the object."""
        if value.attribute is not None:
            return f"{record}.{self.module.names.field(entity.name, value.attribute)}"
        return self.sources.value(value, entity.name, attribute, loop)

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
            case ChangeOp.SET:
                if change.value is not None:
                    return f"{name} = {self.sources.value(change.value, entity.name, attribute, loop)}"
                return f"{name} = {self.sources.new_value(entity, attribute, loop)}"
            case _:
                assert_never(change.op)

    def _amount(self, change: Change, entity: Entity, attribute: Attribute, loop: Loop | None) -> str:
        if change.value is None:
            return "1"
        amount = self.sources.value(change.value, entity.name, replace(attribute, optional=False), loop)
        self.amount_checks.update(amount_checks(self.module, self.write, change, amount, loop))
        return amount

    # --- What is found first, and batches ---------------------------------------------------------------------------

    def _find(
        self, found: str, action: Action, loops: Sequence[Loop | None], at: int | None, names: Iterable[str]
    ) -> Iterator[Part]:
        """The query that finds an item to write or check, by all attributes that are known.

        `at` is the position of the action; None for a check.
        """
        entity = self.sources.entity(action.entity)
        cls, wait = self.module.cls(entity.name), self.module.wait
        request = next(r for r in self.operation.finds if entity.name in r.entities)
        names = sought(self.write, action, self.module.facets, entity, frozenset(names))
        names = sorted(names - {self.sources.tenant})
        loop = loops[at] if at is not None else None
        filtered, lists = request.filtered, Loop(action)
        over = self._over(action, entity, loops) if loop else None
        sources = {n: self.sources.source(n, action, entity, lists if loop else None) for n in names if not over}
        if over:
            lists, sources = over
        equal = [keyword(self.module.names.field(entity.name, n), sources[n]) for n in names if n not in filtered]
        tests: list[Part] = []
        for name in sorted(filtered & set(names)):
            attribute = entity.attribute(name)
            assert attribute is not None
            field_ = self.module.names.field(entity.name, name)
            tests.append(comparison(Op.EQ, field_, [sources[name]], attribute, self.module, given=True))
        looped = any(isinstance(sources[name], LoopValue) for name in filtered & set(names))
        options = [keyword("filter", as_lambda(tests, looped))] if tests else []
        options += ["consistent=True"] if loop is not None and request.consistent else []
        if loop is not None and (lists.lists or lists.record):
            yield f"{found}: list[{cls}] = []"
            yield f"{lists.head}:"
            yield call(f"{STEP}{found} += {wait}self.db.query", cls, *options, *equal)
            if lists.lists and not over and self._must_find_all(action):
                self.module.imports.name("prejoin", "NotFound")
                yield f"if len({found}) != len({next(iter(lists.lists))}):"
                yield f'    raise NotFound("there is no such {cls}")'
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
        self.module.imports.name("prejoin", "NotFound")
        yield f"if {found} is None:"
        yield f'    raise NotFound("there is no such {cls}")'

    def _read_list(self, action: Action) -> Part:
        """The query for a list that is not written, because another one belongs to its items."""
        entity = self.sources.entity(action.entity)
        request = next(r for r in self.operation.finds if entity.name in r.entities)
        names = search_attributes(self.module.workload, self.write, action)
        equal = [
            keyword(self.module.names.field(entity.name, name), self.sources.source(name, action, entity, None))
            for name in sorted(names - {self.sources.tenant})
        ]
        options = ["consistent=True"] if request.consistent else []
        variable = self.sources.found(action)
        return call(f"{variable} = {self.module.wait}self.db.query", self.module.cls(entity.name), *options, *equal)

    def _over(self, action: Action, entity: Entity, loops: Sequence[Loop | None]) -> tuple[Loop, dict[str, str]] | None:
        """The loop over another list, through whose items those of an action are found, and their attributes."""
        source = list_source(self.module.workload, self.write, action, entity)
        if not source.over:
            return None
        parent = self.sources.entity(source.over)
        other = list_over(source)
        if other is not None:
            loop: Loop | None = Loop(other, "one", self.sources.found(other), parent.name)
        else:
            position = next(at for at, one in enumerate(self.sources.actions) if one.entity == parent.name)
            other, loop = self.sources.actions[position], loops[position]
        assert loop is not None  # it is a list
        sources = {}
        for name, part in source.over_links.items():
            if loop.record:
                sources[name] = f"{loop.record}.{self.module.names.field(parent.name, part)}"
            else:
                sources[name] = self.sources.source(part, other, parent, loop)
        for name in source.links:
            if name != self.sources.tenant:
                sources[name] = self.sources.source(name, action, entity, loop)
        return loop, sources

    def _batch(self, at: int, action: Action, loop: Loop | None) -> list[Part]:
        assert loop is not None  # batches are of many
        entity = self.sources.entity(action.entity)
        wait = self.module.wait
        if action.verb in NEW:
            return [call(f"{wait}self.db.put_many", self.sources.records[at].name)]
        pairs = [(n, self.sources.base_source(n, action, entity, loop)) for n in self.sources.base(entity)]
        key = mapping((string(self.module.names.field(entity.name, n)), v) for n, v in pairs)
        listed = Group("[", (key, loop.head), "]", commas=False)
        return [call(f"{wait}self.db.delete_many", self.module.cls(entity.name), listed)]

    # --- Conditions -------------------------------------------------------------------------------------------------

    def _check(self, item: CheckedItem, depth: str) -> Iterator[Part]:
        """The check of an item that is not written."""
        entity = item.entity
        name, base = entity.name, self.sources.base(entity)
        if self.sources.finds_checked(item):
            found = self.sources.found(item)
            pairs = [(n, f"{found}.{self.module.names.field(name, n)}") for n in base]
        else:
            pairs = [(n, self.sources.source(n, item.action, entity, None)) for n in base]
        ties = ties_of_checked(self.module.workload, self.write, item, base)
        for tied, source in ties.items():
            attribute = entity.attribute(tied)
            assert attribute is not None  # it refers to another item
            pairs.append((tied, self.sources.input(source, name, replace(attribute, optional=False), None)))
        fields = [keyword(self.module.names.field(name, n), v) for n, v in pairs]
        if item.must_be_absent:
            yield call(f"{depth}tx.check_absent", self.module.cls(name), *fields)
            return
        where, _ = self._tests(item.checks, entity, None, dict(pairs))
        options = [keyword("where", as_lambda(where))] if where else []
        if where and all(holds_if_absent(check) for check in item.checks):
            options.append("or_absent=True")
        yield call(f"{depth}tx.check", self.module.cls(name), *options, *fields)

    def _where(self, action: Action, entity: Entity, loop: Loop | None, given: Iterable[tuple[str, str]]) -> Part:
        """The condition on the item of an action. `given` are the attributes that are compared with the key."""
        checks = checks_of(self.write, action)
        compared = dict(given)
        tests, looped = self._tests(checks, entity, loop, compared)
        base = {*self.sources.base(entity)}
        # An equality with the key is not compared, because another value is another key.
        demanding = [check for check in checks if not is_of_whole_item(check) and not holds_if_absent(check)]
        implied = any(not _names_in(check) <= base for check in demanding) or bool(compared.keys() - base)
        is_list = loop is not None and action.verb is Verb.DELETE
        is_given = is_list and list_source(self.module.workload, self.write, action, entity).is_given
        exists = any(isinstance(check, Presence) and is_of_whole_item(check) for check in checks)
        required = exists or (is_given and self.write.atomic is not False) or bool(demanding)
        required = required or (action.verb is Verb.DELETE and self._is_tied_by_key(action, entity))
        if required and not action.updates and not implied:
            tests = [*tests, self._item_test(Op.EXISTS, entity)]
        if is_absence(checks):
            tests = [*tests, self._item_test(Op.NOT_EXISTS, entity)]
        return as_lambda(tests, looped) if tests else ""

    def _item_test(self, op: Op, entity: Entity) -> Part:
        """The test that an item exists, or does not, by an attribute that every item has."""
        # Of its key, unless there is only one item.
        always = [*self.sources.base(entity), *(a.name for a in entity.attributes if not a.optional)]
        attribute = entity.attribute(always[0])
        assert attribute is not None
        return comparison(op, self.module.names.field(entity.name, attribute.name), (), attribute, self.module)

    def _is_tied_by_key(self, action: Action, entity: Entity) -> bool:
        return is_tied_by_key(self.module.workload, self.write, action, entity, self.sources.base(entity))

    def _tests(
        self, checks: Iterable[Test], entity: Entity, loop: Loop | None, given: Mapping[str, str]
    ) -> tuple[list[Part], bool]:
        """The conditions on attributes of an item, and whether they use variables of a loop.

        An equality with the value that is given with the key is left out: it is compared anyway.
        """
        tests: list[Part] = []
        looped = False

        def leaf_tests(leaf: Leaf) -> list[Part]:
            nonlocal looped
            if not leaf.attribute:
                return [self._item_test(operator_of(leaf), entity)]
            attribute = entity.attribute(leaf.attribute)
            assert attribute is not None  # checked in the document
            values = [self._compared_value(value, entity, attribute, loop) for value in values_of(leaf)]
            looped = looped or any(isinstance(value, LoopValue) for value in values)
            return self._leaf_tests(leaf, entity, attribute, values)

        for check in checks:
            if is_of_whole_item(check) or self._is_said(check, entity, loop, given):
                continue
            tests.append(test_part(check, leaf_tests, self.module))
        return tests, looped

    def _is_said(self, check: Test, entity: Entity, loop: Loop | None, given: Mapping[str, str]) -> bool:
        """Whether a condition is an equality with the value that is given with the key."""
        if not isinstance(check, Comparison) or check.op is not Op.EQ:
            return False
        attribute = entity.attribute(check.attribute)
        if attribute is None or attribute.name not in given:
            return False
        return self._compared_value(check.values[0], entity, attribute, loop) == given[attribute.name]

    def _compared_value(self, value: Value, entity: Entity, attribute: Attribute, loop: Loop | None) -> str:
        """A value of a condition, as code. An attribute of the same item is one of the recorder."""
        if value.attribute is None:
            return self.sources.value(value, entity.name, attribute, loop)
        other = entity.attribute(value.attribute)
        assert other is not None  # checked in the document
        return recorded_attribute(self.module.names.field(entity.name, other.name), other, self.module)

    def _leaf_tests(self, leaf: Leaf, entity: Entity, attribute: Attribute, values: Sequence[str]) -> list[Part]:
        field_ = self.module.names.field(entity.name, attribute.name)
        is_given = self._is_given(leaf)
        if isinstance(leaf, Comparison) and is_range_of_inputs(leaf):
            # If the ends of a `between` are the wrong way round, DynamoDB refuses the whole request.
            least = comparison(Op.GE, field_, values[:1], attribute, self.module, is_given)
            return [least, comparison(Op.LE, field_, values[1:], attribute, self.module, is_given)]
        return [comparison(operator_of(leaf), field_, values, attribute, self.module, is_given)]

    def _is_given(self, leaf: Leaf) -> bool:
        """Whether the values of a condition are no constants; for `in`, whether they are one parameter, a list."""
        values = values_of(leaf)
        names = [value.param for value in values if value.param is not None]
        lists = [name for name in names if name in self.sources.inputs and self.sources.inputs[name].many]
        if operator_of(leaf) is Op.IN:
            return bool(lists)
        return bool(names) or any(value.attribute is not None for value in values)


def _names_in(test: Test) -> set[str]:
    """The attributes that a condition is about."""
    return {leaf.attribute for leaf in leaves(test)}


def _settled(action: Action) -> list[Change]:
    """The changes of an update whose result is a constant, or that the attribute is absent."""
    return [
        change
        for change in action.changes
        if change.op is ChangeOp.REMOVE
        or (change.op is ChangeOp.SET and change.value is not None and change.value.const is not None)
    ]


def _only_existing(write: Write, action: Action) -> bool:
    """Whether an upsert may not create an item: `Counter exists`."""
    return any(isinstance(check, Presence) and is_of_whole_item(check) for check in checks_of(write, action))
