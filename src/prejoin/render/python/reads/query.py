"""The arguments of a read's query: the range, the order, filters and equalities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prejoin.design.model import Request
from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import STEP, WIDTH, Group, Part, call, flat, keyword, listing, mapping, string
from prejoin.render.python.method import Param
from prejoin.render.python.reads.inputs import InputCode, condition, tests_of
from prejoin.render.python.statements import BLANK, Assign, Function, If, Return, Statement
from prejoin.workload.field_names import free, identifier
from prejoin.workload.model import Op
from prejoin.workload.program.resolved_read import Clause, ResolvedRead, Role, SortClause

_ROOM = WIDTH - len(STEP * 3) - len("filter=,")
"""The width of a filter on one line. Formatters would break a longer one where it is hard to read."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call, with the statements that have to come before it."""

    parts: tuple[Part, ...] = ()
    preparation: tuple[Statement, ...] = ()

    def __add__(self, other: Arguments) -> Arguments:
        return Arguments((*self.parts, *other.parts), (*self.preparation, *other.preparation))


@dataclass(frozen=True, slots=True)
class ResultCode:
    """A value as code, and the statements that have to come before it."""

    value: Part
    statements: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryCode:
    """The query of a read as code."""

    context: RenderContext
    resolved: ResolvedRead
    request: Request
    inputs: Sequence[InputCode]
    params: Sequence[Param]
    limit: str = ""
    has_pages: bool = False
    repeats_time: bool = False
    """Whether a further page is of the time at which the first one was asked for."""

    @property
    def first_entity(self) -> str:
        return self.resolved.names[0]

    @property
    def key_inputs(self) -> list[InputCode]:
        """The inputs that are arguments of their own, and no parts of the filter."""
        return [code for code in self.inputs if self.request.is_key(code.input)]

    @property
    def filter_inputs(self) -> list[InputCode]:
        return [code for code in self.inputs if not self.request.is_key(code.input)]

    def of_items(
        self, method: str, cls: str, *, has_order: bool = False, limit: str = "", view: str = ""
    ) -> ResultCode:
        """A query for items of one entity, or for their number."""
        arguments = Arguments(self._condition() + self._order(has_order) + self._page(limit))
        if self.filter_inputs:
            filter_ = self._filter(self.filter_inputs)
            arguments += Arguments((keyword("filter", filter_.value),), filter_.statements)
        arguments += Arguments(self._options(limit, view)) + self._equalities()
        query = call(f"{self.context.wait}self.db.{method}", cls, *arguments.parts)
        return ResultCode(query, arguments.preparation)

    def of_collection(self) -> ResultCode:
        """A query for items of several entities."""
        self.context.imports.name("prejoin", "Collection")
        classes = Group("(", tuple(map(self.context.cls, self.resolved.names)), ")")
        roles = self._roles()
        arguments = Arguments(self._condition() + ((keyword("roles", roles),) if roles else ()))
        arguments += self._filters_by_class()
        options = self._order(True) + self._page(self.limit) + self._options(self.limit, "")
        arguments += Arguments(options) + self._equalities()
        collection = call(f"{self.context.wait}self.db.collect", classes, *arguments.parts)
        return ResultCode(collection, arguments.preparation)

    # --- Options ----------------------------------------------------------------------------------------------------

    @property
    def consistency(self) -> tuple[Part, ...]:
        return ("consistent=True",) if self.request.consistent else ()

    def _condition(self) -> tuple[Part, ...]:
        ranges = [code for code in self.key_inputs if code.input.op is not Op.EQ]
        return (condition(ranges, self.context),) if ranges else ()

    def _page(self, limit: str) -> tuple[Part, ...]:
        if not limit:
            return ()
        option = keyword("limit", limit)
        return (option, "after=after") if self._is_page(limit) else (option,)

    def _is_page(self, limit: str) -> bool:
        return self.has_pages and limit == "limit"

    def _options(self, limit: str, view: str) -> tuple[Part, ...]:
        options: list[Part] = [*self.consistency]
        if view:
            options.append(keyword("into", view))
        # Time buckets are those up to now: the pages of one read have to end at the same one.
        if self.request.bucket or (self.repeats_time and self._is_page(limit)):
            options.append("now=now")
        return tuple(options)

    def _order(self, has_order: bool) -> tuple[Part, ...]:
        """The `order` argument; it names the entity if only one of several has the attribute."""
        if not has_order or not self.resolved.order:
            return ()
        # One attribute that all entities have is a name: `order="-placed_at"`.
        orders = list(map(self._sorted_by, self.resolved.order))
        is_name = len(orders) == 1 and not self._is_of_one(self.resolved.order[0])
        return (keyword("order", orders[0] if is_name else listing(orders)),)

    def _sorted_by(self, sort: SortClause) -> str:
        entity, attribute = next(iter(sort.bound.items()))
        field = self.context.names.field(entity, attribute.name)
        if not self._is_of_one(sort):
            return string(f"-{field}" if sort.descending else field)
        item = self.context.design.item(entity)
        assert item is not None  # as `_is_of_one` says
        self.context.imports.name("prejoin", "keys")
        return f"keys.Order({string(field)}, {sort.descending}, {string(item.tag)})"

    def _is_of_one(self, sort: SortClause) -> bool:
        """Whether only one of several entities has the attribute."""
        is_stored = self.context.design.item(next(iter(sort.bound))) is not None
        return is_stored and len(sort.bound) < len(self.resolved.names)

    def _equalities(self) -> Arguments:
        """The inputs that keys take as keywords. Optional ones are collected in `more`."""
        parts: list[Part] = []
        additions: list[Statement] = []
        for code in self.key_inputs:
            if code.input.op is not Op.EQ:
                continue
            if code.is_optional:
                addition = Assign(f"more[{string(code.field)}]", code.values[0])
                additions.append(If(code.is_given, [addition]))
            else:
                parts.append(keyword(code.field, code.values[0]))
        if not additions:
            return Arguments(tuple(parts))
        self.context.imports.name("typing", "Any")
        return Arguments((*parts, "**more"), (Assign("more: dict[str, Any]", "{}"), *additions))

    # --- Several entities -------------------------------------------------------------------------------------------

    def _roles(self) -> Part | None:
        """The `roles` argument: the names that other entities have for the attributes."""
        names = self.context.names
        roles: dict[str, dict[str, str]] = {}
        clauses: list[tuple[Clause | SortClause, str]] = [(code.clause, code.field) for code in self.key_inputs]
        clauses += [(sort, "") for sort in self.resolved.order]
        for clause, field in clauses:
            for entity, attribute in clause.bound.items():
                own_field = names.field(entity, attribute.name)
                # The order has the name that its first entity has for the attribute.
                field = field or own_field
                if own_field != field:
                    roles.setdefault(self.context.cls(entity), {})[string(field)] = string(own_field)
        return mapping((cls, mapping(pairs.items())) for cls, pairs in roles.items()) if roles else None

    def _filters_by_class(self) -> Arguments:
        """The `filters` argument: for each class that has the attributes, the tests of its objects."""
        filters: dict[str, Part] = {}
        preparation: list[Statement] = []
        for entity in self.resolved.names:
            codes = list(self._filters_of(entity))
            if codes:
                filter_ = self._filter(codes, entity)
                filters[self.context.cls(entity)] = filter_.value
                preparation += filter_.statements
        parts = (keyword("filters", mapping(filters.items())),) if filters else ()
        return Arguments(parts, tuple(preparation))

    def _filters_of(self, entity: str) -> Iterator[InputCode]:
        """The inputs that filter items of an entity, with its attributes."""
        for code in self.inputs:
            attribute = code.clause.bound.get(entity)
            if code.clause.role is Role.FILTER and attribute is not None:
                field = self.context.names.field(entity, attribute.name)
                yield replace(code, attribute=attribute, field=field)

    # --- Filters ----------------------------------------------------------------------------------------------------

    def _filter(self, codes: Sequence[InputCode], entity: str = "") -> ResultCode:
        """The filter, or that of one `entity` of several. An optional input is in it only if it is given."""
        tests = [code.is_given for code in codes if code.is_optional]
        if not tests:
            return ResultCode(condition(codes, self.context))
        if len(codes) == 1:
            text = f"({flat(condition(codes, self.context))}) if {codes[0].is_given} else None"
            if len(text) <= _ROOM:
                return ResultCode(text)
        suffix = f" {self.context.names.classes[entity]}" if entity else ""
        params = [param.name for param in self.params]
        function = free(identifier(f"matches{suffix}"), params)
        listed_tests = free(identifier(f"asked{suffix}"), params)
        matches = self._matches(function, codes, self.context.cls(entity or self.first_entity))
        preparation: list[Statement] = [BLANK, matches, BLANK]
        if len(tests) < len(codes):
            return ResultCode(function, tuple(preparation))
        text = f"{function} if {' or '.join(tests)} else None"
        # A test of a range has an `and`, which should not stand beside `or` without parentheses.
        if len(text) > _ROOM or " and " in text:
            preparation.append(Assign(listed_tests, listing(tests)))
            text = f"{function} if any({listed_tests}) else None"
        return ResultCode(text, tuple(preparation))

    def _matches(self, name: str, codes: Sequence[InputCode], cls: str) -> Function:
        """The function that tests an item by the inputs that are given."""
        self.context.imports.name("functools", "reduce")
        self.context.imports.name("operator", "and_")
        required_codes = [code for code in codes if not code.is_optional]
        body: list[Statement] = [Assign("tests: list[bool]", listing(tests_of(required_codes, self.context)))]
        optional_codes = [code for code in codes if code.is_optional]
        body += [If(code.is_given, [call("tests.append", code.test(self.context))]) for code in optional_codes]
        body.append(Return("reduce(and_, tests)"))
        return Function(name, (f"o: {cls}",), "bool", body)
