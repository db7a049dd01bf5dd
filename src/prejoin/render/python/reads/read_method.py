"""Renders the method of a read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import assert_never

from prejoin.design.model import Call, Operation
from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import Part, call, comprehension, keyword, mapping, string
from prejoin.render.python.method import Method, Option, Param, ReturnType
from prejoin.render.python.reads.inputs import InputCode, InputNames
from prejoin.render.python.reads.joins import joined_items
from prejoin.render.python.reads.query import QueryCode, ResultCode
from prejoin.render.python.statements import Assign, For, Iteration, Return
from prejoin.workload.field_names import free, identifier
from prejoin.workload.model import Read
from prejoin.workload.program.resolved_read import ReturnKind, Role, resolve_read


def read_method(context: RenderContext, read: Read, operation: Operation) -> Method:
    return _ReadMethod(context, read, operation).method()


class _ReadMethod:
    """Renders one read."""

    def __init__(self, context: RenderContext, read: Read, operation: Operation) -> None:
        self.context = context
        self.read = read
        self.resolved = resolve_read(context.workload, read)
        self.operation = operation
        self.request = operation.requests[0]
        self.first_entity = self.resolved.names[0]
        names = InputNames(context, self.first_entity)
        # The client of a tenant fills in the tenant.
        clauses = [clause for clause in self.resolved.clauses if clause.input.attribute != self.resolved.tenant]
        inputs = list(map(names.code_of, clauses))
        self.params = names.params
        self.values: Iteration | None = None
        """The loop over the values of an input that is a list. In the loop, the input has one value."""
        self.inputs = self._in_loop(inputs)
        self.query = QueryCode(
            context,
            self.resolved,
            self.request,
            self.inputs,
            self.params,
            self._limit,
            self.has_pages,
            repeats_time=self.is_timed,
        )

    def method(self) -> Method:
        first, result = self._result()
        first = self._with_counts(first)
        if self.resolved.joins:
            first, types = joined_items(self.query, self.operation, first, self._params)
            result = replace(result, joined=types)
        block = [*first.statements, Return(first.value)]
        params = self._params
        if self.is_timed:
            self.context.imports.module("datetime as dt")
            params.append(Param("now", "dt.datetime | None", Option.NOW, "None"))
        if self.compares_time:
            block.insert(0, Assign("now", f"now or {self._clock}"))
        return Method(self.read, self.context.names.methods[self.read.id], tuple(params), result, block)

    @property
    def compares_time(self) -> bool:
        values = chain.from_iterable(condition.values for condition in self.read.inputs)
        return any(value.now is not None for value in values)

    @property
    def is_timed(self) -> bool:
        """Whether the result depends on the time of the call."""
        return bool(self.request.bucket) or self.compares_time

    @property
    def _clock(self) -> str:
        """The time of the call; for a further page, the time of the first one, so that both ask the same."""
        if self.has_pages:
            self.context.imports.name("prejoin", "begun")
            return "begun(after)"
        return "dt.datetime.now(dt.UTC)"

    # --- Parameters -------------------------------------------------------------------------------------------------

    def _in_loop(self, inputs: Sequence[InputCode]) -> list[InputCode]:
        """The inputs, each with one value."""
        single: list[InputCode] = []
        for code in inputs:
            if code.input.many and self.values is None and len(self.resolved.names) == 1:
                value = free(identifier(code.field), [param.name for param in self.params])
                self.values = Iteration(value, code.values[0])
                single.append(replace(code, values=(value,)))
            else:
                single.append(code)
        return single

    @property
    def has_pages(self) -> bool:
        match self.resolved.returns:
            case ReturnKind.PAGE:
                return True
            case ReturnKind.COLLECTION:
                return self.read.paginated is not False
            case ReturnKind.NOTHING | ReturnKind.COUNT | ReturnKind.ONE | ReturnKind.LIST:
                return False
            case _:
                assert_never(self.resolved.returns)

    @property
    def _usual_limit(self) -> str:
        return str(self.read.limit or self.read.page or "")

    @property
    def _limit(self) -> str:
        """The limit as code; of a method with pages it is a parameter."""
        if self.resolved.counts:
            return ""
        return "limit" if self.has_pages else self._usual_limit

    @property
    def _params(self) -> list[Param]:
        if not self.has_pages:
            return [*self.params]
        type_ = "int" if self._usual_limit else "int | None"
        limit = Param("limit", type_, Option.LIMIT, self._usual_limit or "None")
        return [*self.params, limit, Param("after", "str | None", Option.AFTER, "None")]

    # --- The result -------------------------------------------------------------------------------------------------

    def _result(self) -> tuple[ResultCode, ReturnType]:
        cls = self.context.cls(self.first_entity)
        view = self._view()
        result = ReturnType(self.resolved.returns, view or cls)
        match self.resolved.returns:
            case ReturnKind.COLLECTION:
                return self.query.of_collection(), ReturnType(ReturnKind.COLLECTION)
            case ReturnKind.COUNT:
                return self._count(cls), ReturnType(ReturnKind.COUNT)
            case ReturnKind.LIST if self.values is not None:
                return self._each(cls, view, self.values), result
            case ReturnKind.ONE if self._has_whole_key:
                return self._get(cls, view), result
            # The key does not name one item, or the order chooses one: the first of a query.
            case ReturnKind.ONE:
                page = self.query.of_items("query", cls, has_order=True, limit="1", view=view)
                return self._after("page", page, "page[0] if page else None"), result
            case ReturnKind.PAGE:
                self.context.imports.name("prejoin", "Page")
                return self.query.of_items("query", cls, has_order=True, limit=self._limit, view=view), result
            case ReturnKind.LIST:
                page = self.query.of_items("query", cls, has_order=True, limit=self._limit, view=view)
                return self._after("found", page, "list(found)"), result
            case ReturnKind.NOTHING:
                raise AssertionError("a read gives something")
            case _:
                assert_never(self.resolved.returns)

    def _with_counts(self, result: ResultCode) -> ResultCode:
        """The result with the sums of sharded counters."""
        for request in self.operation.requests:
            if request.counter:
                self.context.imports.name("prejoin", "with_counts")
                cls = self.context.cls(request.counter.entity)
                options = ["consistent=True"] if request.consistent else []
                sums = call(f"{self.context.wait}with_counts", "self.db", cls, result.value, *options)
                result = replace(result, value=sums)
        return result

    def _view(self) -> str:
        """The view for a read that does not need all attributes; empty otherwise."""
        names = {*self.resolved.wanted_of(*self.resolved.entities)}
        if not names or self.resolved.returns in (ReturnKind.COUNT, ReturnKind.COLLECTION):
            return ""
        # A join needs the ids in the items, whether the caller does or not.
        for join in self.resolved.joins:
            names.update(link.own.name for link in join.links)
        is_whole = len(names) == len(self.resolved.entities[0].attributes)
        return "" if is_whole else self.context.view(self.first_entity, [*names])

    @property
    def _has_whole_key(self) -> bool:
        return not self.read.sort and all(clause.role is Role.EQUAL for clause in self.resolved.clauses)

    def _after(self, variable: str, request: ResultCode, value: str) -> ResultCode:
        """A value of the variable that holds what a request gives."""
        return ResultCode(value, (*request.statements, Assign(variable, request.value)))

    def _count(self, cls: str) -> ResultCode:
        """The number of items; of a list of values, the sum of a count for each."""
        if len(self.resolved.names) > 1:
            return self._after("found", self.query.of_collection(), "len(found)")
        count = self.query.of_items("count", cls)
        if self.values is None:
            return count
        loop = For(self.values, [Assign("found", count.value, "+=")])
        return ResultCode("found", (*count.statements, Assign("found", "0"), loop))

    def _get(self, cls: str, view: str) -> ResultCode:
        options = _into(view)
        equal = self._equalities()
        if self.request.call is Call.TRANSACT_GET:
            self.context.imports.name("prejoin", "Get")
            items = call(f"{self.context.wait}self.db.get_together", call("Get", cls, *options, *equal))
            return ResultCode("found[0]", (Assign("found", items),))
        return ResultCode(call(f"{self.context.wait}self.db.get", cls, *self.query.consistency, *options, *equal))

    def _equalities(self) -> list[Part]:
        """The inputs as keywords, where all of them are equalities."""
        return [keyword(code.field, code.values[0]) for code in self.inputs]

    # --- Lists of ids -----------------------------------------------------------------------------------------------

    def _each(self, cls: str, view: str, values: Iteration) -> ResultCode:
        """A read of a list of ids: one batch if they are keys of the table, else one query for each."""
        if self.request.call is not Call.QUERY:
            return self._batch(cls, view, values)
        query = self.query.of_items("query", cls, has_order=True, view=view)
        items = Assign(f"found: list[{view or cls}]", "[]")
        loop = For(values, [Assign("found", query.value, "+=")])
        return ResultCode("found", (*query.statements, items, loop, *self._sort_statements("found", view)))

    def _batch(self, cls: str, view: str, values: Iteration) -> ResultCode:
        """The items of a batch that exist, in the order of the read."""
        wait = self.context.wait
        if self.request.call is Call.TRANSACT_GET:
            self.context.imports.name("prejoin", "Get")
            gets = comprehension(call("Get", cls, *_into(view), *self._equalities()), values, head="*[")
            items = call(f"{wait}self.db.get_together", gets)
        else:
            key = mapping((string(code.field), code.values[0]) for code in self.inputs)
            items = call(
                f"{wait}self.db.get_many", cls, comprehension(key, values), *self.query.consistency, *_into(view)
            )
        existing = "[one for one in found if one is not None]"
        sorting = self._sort_statements("there", view)
        if not sorting:
            return ResultCode(existing, (Assign("found", items),))
        return ResultCode("there", (Assign("found", items), Assign("there", existing), *sorting))

    def _sort_statements(self, name: str, view: str) -> list[Part]:
        """The lines that sort a list: several requests, each in its own order, do not make one."""
        imports = self.context.imports
        if view:
            sort_names = {sort.bound[self.first_entity].name for sort in self.resolved.order}
            if not sort_names.issubset(self.resolved.wanted_of(*self.resolved.entities)):
                return []  # the view does not show the order
        statements: list[Part] = []
        # Python's sort is stable: the last attribute first.
        for sort in reversed(self.resolved.order):
            attribute = sort.bound[self.first_entity]
            value = f"one.{self.context.names.field(self.first_entity, attribute.name)}"
            if attribute.optional:
                imports.name("typing", "Any", "cast")
                value = f'({value} is not None, cast("Any", {value}))'
            reverse = ["reverse=True"] if sort.descending else []
            statements.append(call(f"{name}.sort", keyword("key", f"lambda one: {value}"), *reverse))
        return statements


def _into(view: str) -> list[Part]:
    return [keyword("into", view)] if view else []
