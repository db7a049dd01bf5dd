"""Renders the method of a write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from prejoin.constructs.registry import lines_of, present_tests
from prejoin.design.mapping.repetition import can_repeat
from prejoin.design.model import Call, Did, ItemName, Operation
from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import Part, call, comprehension, in_parentheses, keyword, mapping, string
from prejoin.render.python.method import Method, Option, Param, ReturnType
from prejoin.render.python.statements import Assign, Block, For, If, Iteration, Manager, Raise, Statement, With
from prejoin.render.python.writes.amounts import amount_checks
from prejoin.render.python.writes.existing_items import ItemWrite, check_of_result
from prejoin.render.python.writes.item_conditions import check_of
from prejoin.render.python.writes.loops import Loop
from prejoin.render.python.writes.new_items import NewItem
from prejoin.render.python.writes.refusals import belonging, refused_conditions
from prejoin.render.python.writes.remarks import remarks
from prejoin.render.python.writes.searches import searches
from prejoin.render.python.writes.sources import Sources
from prejoin.workload.field_names import identifier
from prejoin.workload.model import Verb, Write
from prejoin.workload.optional_inputs import is_all_optional
from prejoin.workload.program.resolved_read import ReturnKind
from prejoin.workload.program.resolved_write import Step


def write_method(context: RenderContext, write: Write, operation: Operation) -> Method:
    return _WriteMethod(context, write, operation).method()


class _WriteMethod:
    """Renders one write."""

    def __init__(self, context: RenderContext, write: Write, operation: Operation) -> None:
        self.context = context
        self.write = write
        self.operation = operation
        self.sources = Sources(context, write, operation)
        self.resolved = self.sources.resolved
        self.steps = self.resolved.written_steps
        self.is_repeatable = can_repeat(self.resolved, operation, context.design)
        """Whether the method can be called again for what an index did not show, with `again=True`."""
        self.is_together = self._is_together()
        """Whether the items are written in one transaction."""
        self.loops = {step: self.sources.loop(step) for step in self.steps}
        self.token = self._token() if self.is_together else ""
        if self.token:
            self.sources.locals.add(self.token)

    def method(self) -> Method:
        sources = self.sources
        block = [*searches(sources, self.loops), *self._writes()]
        agreement = belonging(sources)
        block = [*agreement.block, *self._checked_arguments(), *refused_conditions(sources), *block]
        params = sources.ordered_params
        if sources.is_timed:
            self.context.imports.module("datetime as dt")
            params.append(Param("now", "dt.datetime | None", Option.NOW, "None"))
            block.insert(0, Assign("now", "now or dt.datetime.now(dt.UTC)"))
        if self.is_repeatable:
            params.append(Param("again", "bool", Option.AGAIN, "False"))
        if self.token:
            params.append(Param(self.token, "str | None", Option.TOKEN, "None"))
        return Method(
            self.write,
            self.context.names.methods[self.write.id],
            tuple(params),
            ReturnType(ReturnKind.NOTHING),
            block,
            agreement.mismatches,
            remarks(sources, self.is_repeatable),
        )

    def _is_together(self) -> bool:
        # The document says that the items are written one by one, so that an interrupted call can be repeated.
        if self.resolved.is_resumable:
            return False
        is_single = len(self.steps) == 1 and not self.steps[0].is_list
        return bool(self.resolved.checked) or (self.write.atomic is not False and not is_single)

    def _token(self) -> str:
        """The parameter for the token of a transaction; empty if a repeated transaction would differ from the first.

        That is where it depends on what is read before, or on the time.
        """
        if self.resolved.is_timed or self.operation.found_first or self.operation.read_first:
            return ""
        names = {*map(identifier, self.sources.inputs), *self.sources.params}
        for step in (*self.steps, *(item.step for item in self.resolved.checked)):
            # The test that an item is present has the time of the call in it.
            if present_tests(step.entity, self.context.design):
                return ""
            names.update(identifier(attribute.name) for attribute in step.entity.attributes)
        return "request_token" if "token" in names else "token"

    # --- Arguments --------------------------------------------------------------------------------------------------

    def _checked_arguments(self) -> list[Statement]:
        """The checks of amounts, and that something is changed."""
        updates: list[ItemWrite] = []
        for step in self._in_order():
            item_write = ItemWrite(self.sources.of(step, self.loops[step]), self.is_together)
            if item_write.is_update:
                updates.append(item_write)
        checks: list[Statement] = [*amount_checks(self.sources, updates)]
        if is_all_optional(self.context.workload, self.write):
            params: dict[str, None] = {}
            for update in updates:
                params |= dict.fromkeys(change.param for change in update.changes(update.values.arguments()))
            checks.append(_refuse_nothing([*params]))
        return checks

    def _in_order(self) -> list[Step]:
        """The steps in the order in which their items are checked or written."""
        return sorted(self.steps, key=lambda step: step.is_list) if self.resolved.is_resumable else [*self.steps]

    # --- Requests ---------------------------------------------------------------------------------------------------

    def _transaction(self, block: Block, arguments: tuple[Part, ...] = ()) -> With:
        manager = Manager(call("self.db.transaction", *arguments), "tx")
        return With((manager,), block, self.context.aio)

    def _writes(self) -> list[Statement]:
        """The writes of all items, and the checks of those that are only checked."""
        if self.resolved.is_resumable:
            return [*self._checked_first(), *self._steps()]
        if not self.is_together:
            return self._steps()
        block = self._steps()
        checks: list[Statement] = [check_of(self.sources, item) for item in self.resolved.checked]
        block += [If("not again", checks)] if self.is_repeatable and checks else checks
        return [*self._exchanged_lists(), self._transaction(block, (self.token,) if self.token else ())]

    def _steps(self) -> list[Statement]:
        block: list[Statement] = []
        for step in self.steps:
            for statement in self._step(step):
                last = block[-1] if block else None
                # Two writes of the same items are one loop.
                if isinstance(last, For) and isinstance(statement, For) and last.iteration == statement.iteration:
                    block[-1] = For(last.iteration, [*last.body, *statement.body])
                else:
                    block.append(statement)
        return block

    def _step(self, step: Step) -> Block:
        loop = self.loops[step]
        if loop is not None:
            if not self.is_together and self._is_batch(step):
                return [self._batch(step, loop)]
            block = self._exchange(step, loop) if self.is_together and _is_exchanged(step) else self._write(step, loop)
            return [For(loop.iteration, block)]
        if not self.is_repeatable:
            return self._write(step, None)
        if self.is_together and not step.is_new:
            result = check_of_result(self.sources.of(step))
            return [If("again", [result], self._write(step, None))]
        return [If("not again", self._write(step, None))]

    def _write(self, step: Step, loop: Loop | None, *, in_transaction: bool | None = None) -> Block:
        """The write of an item, or of each item of a list."""
        values = self.sources.of(step, loop)
        is_together = self.is_together if in_transaction is None else in_transaction
        match step.verb:
            case Verb.CREATE | Verb.PUT:
                return [NewItem(values).write("tx" if is_together else f"{self.context.wait}self.db")]
            case Verb.UPDATE | Verb.UPSERT | Verb.DELETE:
                return ItemWrite(values, is_together).block()
            case Verb.EXPIRE:
                raise AssertionError("no request expires an item")
            case _:
                assert_never(step.verb)

    def _is_batch(self, step: Step) -> bool:
        """Whether the items of a list are written in batches. Of a list that is exchanged, only the deletes may be."""
        name, effect = ItemName(step.entity.name), Did.PUT if step.is_new else Did.DELETE
        for request in self.operation.requests:
            actions = request.actions if request.call is Call.BATCH_WRITE else ()
            if any(action.item == name and action.action is effect for action in actions):
                return True
        return False

    def _batch(self, step: Step, loop: Loop) -> Part:
        wait = self.context.wait
        if step.is_new:
            return call(f"{wait}self.db.put_many", self.sources.records[step].name)
        values = self.sources.of(step, loop)
        key = mapping((string(values.field(name)), values.key_value(name, loop)) for name in values.key)
        return call(f"{wait}self.db.delete_many", values.cls, comprehension(key, loop.iteration))

    # --- Lists without a transaction --------------------------------------------------------------------------------

    def _checked_first(self) -> list[Statement]:
        """The checks of the single items before the lists are written: if one is refused, nothing is written."""
        results: list[Statement] = []
        checks: list[Statement] = []
        for step in self.steps:
            if step.is_list:
                continue
            if self.is_repeatable and not step.is_new:
                results.append(check_of_result(self.sources.of(step)))
            if self._can_be_refused(step):
                checks += self._write(step, None, in_transaction=True)
        checks += [check_of(self.sources, item) for item in self.resolved.checked]
        if not checks:
            return [If("again", [self._transaction(results)])] if results else []
        if results:
            checks = [If("again", results, checks)]
        check = _with_one_head(self._transaction(checks, ("only_check=True",)))
        # A new item is there when the method is called again, and would be refused.
        is_first_only = self.is_repeatable and not results
        return [If("not again", [check])] if is_first_only else [check]

    def _can_be_refused(self, step: Step) -> bool:
        """Whether DynamoDB may refuse the write of a single item, because of what the table holds."""
        for request in self.operation.requests:
            for action in request.actions:
                if action.action is Did.CHECK and action.item.entity == step.entity.name:
                    return True
        return False

    # --- Lists that are deleted and created anew --------------------------------------------------------------------

    def _exchanged_key(self, step: Step, record: str) -> str:
        """The key of an object of a list that is exchanged. An item that is in both lists is replaced."""
        fields = [f"{record}.{self.sources.of(step).field(name)}" for name in self.sources.key_of(step.entity)]
        return f"({', '.join(fields)})" if len(fields) > 1 else fields[0]

    def _exchanged_lists(self) -> Iterator[Assign]:
        """The keys of the old and of the new items of a list that is exchanged."""
        for step in filter(_is_exchanged, self.steps):
            key = self._exchanged_key(step, "one")
            if step.verb is Verb.DELETE:
                items = Iteration("one", self.sources.variable_of(step))
                yield Assign("old", comprehension(f"{key}: one", items, head="{", tail="}"))
            else:
                items = Iteration("one", self.sources.records[step].name)
                yield Assign("new", comprehension(key, items, head="{", tail="}"))

    def _exchange(self, step: Step, loop: Loop) -> Block:
        key = self._exchanged_key(step, loop.record)
        if step.verb is Verb.DELETE:
            return [If(f"{key} not in new", self._write(step, loop))]
        record = NewItem(self.sources.of(step, loop)).with_document_values()
        insert, put = call("tx.insert", record), call("tx.put", record, keyword("was", "was"))
        return [Assign("was", f"old.get({key})"), If("was is None", [insert], [put])]


def _is_exchanged(step: Step) -> bool:
    """Whether a list is deleted and created anew. DynamoDB takes an item only once in a transaction."""
    return step.is_exchanged and not lines_of(step.entity)


def _refuse_nothing(params: list[str]) -> If:
    """Refuses a call in which nothing is given."""
    first, *further = [f"{param} is NOT_GIVEN" for param in params]
    text = f"give {params[0]}" if len(params) == 1 else f"give at least one of {', '.join(params)}"
    message = string(f"nothing is changed: {text}")
    return If(in_parentheses(first, *(f"and {test}" for test in further)), [Raise("ValueError", message)])


def _with_one_head(statement: With) -> With:
    """One `with` instead of two, as linters want it."""
    inner = statement.body[0]
    if len(statement.body) > 1 or not isinstance(inner, With) or inner.is_async is not statement.is_async:
        return statement
    return With((*statement.managers, *inner.managers), inner.body, statement.is_async)
