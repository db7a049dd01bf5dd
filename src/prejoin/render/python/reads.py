"""Renders the methods of reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from prejoin import keys
from prejoin.design.mapping.map_reads import JoinLink, followed, is_filtered, is_tested, plan_read, varying, wanted_of
from prejoin.design.model import Call, ItemName, Operation
from prejoin.render.naming import RESERVED
from prejoin.render.python.conditions import any_of, as_lambda, comparison, recorded_attribute, value_text
from prejoin.render.python.layout import STEP, WIDTH, Group, Part, call, flat, keyword, listing, mapping, string
from prejoin.render.python.method import (
    LOCAL,
    InputValue,
    JoinedItems,
    Method,
    Option,
    Param,
    RenderContext,
    ReturnKind,
    ReturnType,
    body_lines,
)
from prejoin.render.python.names import free, identifier, plural, single
from prejoin.render.python.values import annotation
from prejoin.types import Kind
from prejoin.workload.lookup import alternatives, bare_name, bindings
from prejoin.workload.model import (
    RANGES,
    Attribute,
    Combine,
    Direction,
    Input,
    Op,
    Read,
    Result,
    Value,
)
from prejoin.workload.tenants import tenant_of

_NO_VALUES = frozenset({Op.EXISTS, Op.NOT_EXISTS})
_RESERVED = RESERVED | LOCAL | {"limit", "after", "now"}
_COUNT = ReturnType(ReturnKind.COUNT)
_THERE = "return [one for one in found if one is not None]"
_ROOM = WIDTH - len(STEP * 3) - len("filter=,")
"""The width of a filter on one line. Formatters would break a longer one where it is hard to read."""


def read_plan(module: RenderContext, read: Read) -> keys.Plan | keys.Refusal:
    """The plan of a read, computed once for both repositories."""
    if read.id not in module.plans:
        module.plans[read.id] = plan_read(read, module.workload, module.facets)
    return module.plans[read.id]


def read_method(module: RenderContext, read: Read, operation: Operation) -> Method:
    return _ReadMethod(module, read, operation).method()


@dataclass(frozen=True, slots=True)
class _InputCode:
    """An input with its entity, attribute and field, and its values as code."""

    input: Input
    entity: str
    attribute: Attribute
    field: str
    values: tuple[str, ...]

    @property
    def optional(self) -> bool:
        return self.input.optional and not self.input.values

    def test(self, module: RenderContext) -> Part:
        """The comparison of the input."""
        is_constant = any(value.attribute is None for value in self.input.values)
        return comparison(self.input.op, self.field, self.values, self.attribute, module, given=not is_constant)


def _word_of(op: Op, is_number: bool) -> str:
    """The end of the name of a parameter that is not compared for equality: `placed_at_since`, `price_at_most`."""
    match op:
        case Op.NE:
            return "other_than"
        case Op.LT:
            return "below" if is_number else "before"
        case Op.LE:
            return "at_most" if is_number else "until"
        case Op.GT:
            return "above" if is_number else "after"
        case Op.GE:
            return "at_least" if is_number else "since"
        case Op.BEGINS_WITH:
            return "prefix"
        case Op.CONTAINS:
            return "containing"
        case Op.IN:
            return "in"
        case Op.EQ | Op.BETWEEN | Op.EXISTS | Op.NOT_EXISTS:
            raise AssertionError(f"{op} has no parameter, or two, or one with the name of its attribute")
        case _:
            assert_never(op)


class _ReadMethod:
    """Renders one read."""

    def __init__(self, module: RenderContext, read: Read, operation: Operation) -> None:
        self.module = module
        self.read = read
        self.operation = operation
        self.entities = read.entities[:1] if self.joined else read.entities
        self.first = self.entities[0]
        found = read_plan(module, read)
        assert isinstance(found, keys.Plan)  # it is served
        self.plan = found
        self.params: list[Param] = []
        self.timed = found.bucket is not None
        self.before: list[Part] = []
        """The lines before the call of the client."""
        self.tenant = tenant_of(module.workload, read)
        """The attribute that the client of a tenant fills in."""
        self.given = [self._given(one) for one in read.inputs if one.attribute != self.tenant]
        self.many = next((one for one in self.given if one.input.many), None)

    @property
    def joined(self) -> bool:
        match self.read.combine:
            case Combine.JOIN:
                return True
            case Combine.COLLECTION | None:
                return False
            case _:
                assert_never(self.read.combine)

    @property
    def paged(self) -> bool:
        return self.read.paginated is not False and self.read.result is not Result.COUNT

    def method(self) -> Method:
        body, result = self._body()
        if not self.joined:
            body = self._summed(body)
        body = [*self.before, *body]
        if self.timed:
            self.module.imports.module("datetime as dt")
            self.params.append(Param("now", "dt.datetime | None", Option("now"), "None"))
            if any(v.now is not None for i in self.read.inputs for v in i.values):
                body = [f"now = now or {self._clock}", *body]
        name = self.module.names.methods[self.read.id]
        return Method(self.read, name, tuple(self.params), result, body_lines(body))

    @property
    def _clock(self) -> str:
        """The time of the call; for a further page, the time of the first one, so that both ask the same."""
        if any(param.name == "after" for param in self.params):
            self.module.imports.name("prejoin", "begun")
            return "begun(after)"
        return "dt.datetime.now(dt.UTC)"

    def _body(self) -> tuple[list[Part], ReturnType]:
        read, module = self.read, self.module
        cls = module.cls(self.first)
        if len(self.entities) > 1:
            return self._collection()
        into = self._into()
        shown = into or cls
        match read.result:
            case Result.COUNT:
                return self._count(cls), _COUNT
            case Result.ONE | Result.MANY | None if self.many is not None:
                first, result = self._each(cls, into), ReturnType(ReturnKind.LIST, shown)
            case Result.ONE:
                result = ReturnType(ReturnKind.ONE, shown)
                if self._gettable:
                    first = self._get(cls, into)
                else:
                    first = [self._query(cls, into, "page = ", "1"), "return page[0] if page else None"]
            case Result.MANY | None:
                first, result = self._page(cls, into, shown)
            case _:
                assert_never(read.result)
        if not self.joined:
            return first, result
        return self._with_others(self._summed(first), result)

    def _summed(self, body: list[Part]) -> list[Part]:
        """The lines with the sums of sharded counters in what is returned."""
        for request in self.operation.requests:
            if request.counter:
                self.module.imports.name("prejoin", "with_counts")
                cls = self.module.cls(ItemName.parse(request.counter).entity)
                last = body[-1]
                if isinstance(last, Group):
                    found: Part = Group(last.head.removeprefix("return "), last.items, last.tail, last.commas)
                else:
                    found = flat(last).removeprefix("return ")
                options = ["consistent=True"] if request.consistent else []
                summed = call(f"return {self.module.wait}with_counts", "self.db", cls, found, *options)
                body = [*body[:-1], summed]
        return body

    # --- One entity -------------------------------------------------------------------------------------------------

    def _into(self) -> str:
        """The view for a read that does not need all attributes; empty otherwise."""
        entity = self.module.workload.entity(self.first)
        wanted = wanted_of(self.read, self.module.workload, self.entities) if self.read.needs else ()
        if not wanted or entity is None or self.read.result is Result.COUNT:
            return ""
        if self.joined:
            names = self.read.entities[1:]
            wanted += tuple(link.own.name for n in names for link in followed(self.read, self.module.workload, n))
        return "" if len(set(wanted)) == len(entity.attributes) else self.module.view(self.first, wanted)

    @property
    def _gettable(self) -> bool:
        plain_ = all(i.op is Op.EQ and not i.filter and not i.optional for i in self.read.inputs)
        return self.read.result is Result.ONE and not self.read.sort and plain_

    def _get(self, cls: str, into: str) -> list[Part]:
        wait = self.module.wait
        options = [keyword("into", into)] if into else []
        equal = [keyword(g.field, g.values[0]) for g in self.given]
        if self.operation.requests[0].call is Call.TRANSACT_GET:
            self.module.imports.name("prejoin", "Get")
            together = call(f"found = {wait}self.db.get_together", call("Get", cls, *options, *equal))
            return [together, "return found[0]"]
        return [call(f"return {wait}self.db.get", cls, *self._consistent(), *options, *equal)]

    def _each(self, cls: str, into: str) -> list[Part]:
        """A read of a list of ids: one batch if they are keys of the table, else one query for each."""
        assert self.many is not None
        wait, name, one = self.module.wait, self.many.values[0], self._one()
        if self.plan.operation == "GetItem":
            equal = [(g.field, g.values[0]) for g in self.given]
            options = [*self._consistent(), *([keyword("into", into)] if into else [])]
            if self.operation.requests[0].call is Call.TRANSACT_GET:
                self.module.imports.name("prejoin", "Get")
                parts = [*([keyword("into", into)] if into else []), *(keyword(f, v) for f, v in equal)]
                gets = Group("*[", (call("Get", cls, *parts), f"for {one} in {name}"), "]", commas=False)
                return [call(f"found = {wait}self.db.get_together", gets), *self._there(into)]
            key = mapping((string(field), value) for field, value in equal)
            listed = Group("[", (key, f"for {one} in {name}"), "]", commas=False)
            got = call(f"found = {wait}self.db.get_many", cls, listed, *options)
            return [got, *self._there(into)]
        query = call(f"    found += {wait}self.db.query", cls, *self._asking(filters=True, order=True, into=into))
        sorting = self._sorting("found", into)
        return [f"found: list[{into or cls}] = []", f"for {one} in {name}:", query, *sorting, "return found"]

    def _count(self, cls: str) -> list[Part]:
        """The number of items; of a list of values, the sum of a count for each."""
        count = f"{self.module.wait}self.db.count"
        if self.many is None:
            return [call(f"return {count}", cls, *self._asking(filters=True))]
        name, one = self.many.values[0], self._one()
        found = call(f"    found += {count}", cls, *self._asking(filters=True))
        return ["found = 0", f"for {one} in {name}:", found, "return found"]

    def _one(self) -> str:
        """The variable for one value of the list, which becomes the value of its input."""
        assert self.many is not None
        one = free(identifier(self.many.field), [p.name for p in self.params])
        self.given = [replace(g, values=(one,)) if g is self.many else g for g in self.given]
        return one

    def _there(self, into: str) -> list[Part]:
        """The items of a batch that exist, in the order of the read."""
        sorting = self._sorting("there", into)
        return ["there = [one for one in found if one is not None]", *sorting, "return there"] if sorting else [_THERE]

    def _sorting(self, name: str, into: str) -> list[Part]:
        """The lines that sort a list: several requests, each in its own order, do not make one."""
        module, found = self.module, list[Part]()
        held = wanted_of(self.read, module.workload, self.entities) if into else ()
        for sort in reversed(self.read.sort):
            attribute = single(module.workload, self.first, bare_name(sort.attribute))
            if into and attribute.name not in held:
                return []  # the view does not show the order
            value = f"one.{module.names.field(self.first, attribute.name)}"
            if attribute.optional:
                module.imports.name("typing", "Any")
                module.imports.name("typing", "cast")
                value = f'({value} is not None, cast("Any", {value}))'
            turned = ["reverse=True"] if sort.direction is Direction.DESC else []
            found.append(call(f"{name}.sort", keyword("key", f"lambda one: {value}"), *turned))
        return found

    def _page(self, cls: str, into: str, shown: str) -> tuple[list[Part], ReturnType]:
        limit = self._limits()
        if self.paged:
            self.module.imports.name("prejoin", "Page")
            return [self._query(cls, into, "return ", limit)], ReturnType(ReturnKind.PAGE, shown)
        return [self._query(cls, into, "found = ", limit), "return list(found)"], ReturnType(ReturnKind.LIST, shown)

    def _limits(self) -> str:
        """The limit as code; of a method with pages it is a parameter."""
        usual = self.read.limit or self.read.page
        if not self.paged:
            return str(usual) if usual else ""
        self.params.append(Param("limit", "int" if usual else "int | None", Option("limit"), str(usual)))
        self.params.append(Param("after", "str | None", Option("after"), "None"))
        return "limit"

    def _query(self, cls: str, into: str, lead: str, limit: str) -> Part:
        parts = [*self._asking(filters=True, order=True, limit=limit, into=into)]
        return call(f"{lead}{self.module.wait}self.db.query", cls, *parts)

    # --- Several entities -------------------------------------------------------------------------------------------

    def _collection(self) -> tuple[list[Part], ReturnType]:
        module = self.module
        module.imports.name("prejoin", "Collection")
        classes = Group("(", tuple(module.cls(name) for name in self.entities), ")")
        limit = "" if self.read.result is Result.COUNT else self._limits()
        roles = self._roles()
        tests = self._tests_by_class()
        asking = self._asking(order=True, limit=limit)
        ranged = int(any(g.input.op in RANGES and not is_filtered(g.input, self.plan) for g in self.given))
        named = [*([keyword("roles", roles)] if roles else []), *([keyword("filters", tests)] if tests else [])]
        parts = [*asking[:ranged], *named, *asking[ranged:]]  # the range is a positional argument
        if self.read.result is Result.COUNT:
            return [call(f"found = {module.wait}self.db.collect", classes, *parts), "return len(found)"], _COUNT
        return [call(f"return {module.wait}self.db.collect", classes, *parts)], ReturnType(ReturnKind.COLLECTION)

    def _roles(self) -> Part | None:
        """The `roles` argument: the names that other entities have for the given attributes."""
        roles: dict[str, dict[str, str]] = {}
        keyed = [(g.input.attribute, g.field) for g in self.given if not is_filtered(g.input, self.plan)]
        for name, field in (*keyed, *((sort.attribute, "") for sort in self.read.sort)):
            bound = bindings(self.module.workload, self.entities, name)
            fields = {entity: self.module.names.field(entity, attribute) for entity, attribute in bound.items()}
            field = field or next(iter(fields.values()))
            for entity, own in fields.items():
                if own != field:
                    roles.setdefault(self.module.cls(entity), {})[string(field)] = string(own)
        return mapping((cls, mapping(pairs.items())) for cls, pairs in roles.items()) if roles else None

    def _tests_by_class(self) -> Part | None:
        """The `filters` argument: for each class that has the attributes, the tests of its objects."""
        module = self.module
        tests: dict[str, Part] = {}
        tested = [g for g in self.given if is_tested(g.input)]
        for entity in self.entities:
            bound = [(g, bindings(module.workload, self.entities, g.input.attribute).get(entity)) for g in tested]
            own = [
                replace(g, attribute=single(module.workload, entity, name), field=module.names.field(entity, name))
                for g, name in bound
                if name
            ]
            if own:
                tests[module.cls(entity)] = self._filter(own, entity)
        return mapping(tests.items()) if tests else None

    def _with_others(self, first: list[Part], result: ReturnType) -> tuple[list[Part], ReturnType]:
        """Adds the second half of a join: the items that the first ones refer to, by their ids."""
        module = self.module
        last = first[-1]
        one = result.kind is ReturnKind.ONE
        lead = "one" if one else "page"
        if isinstance(last, Group):
            head = last.head.replace("return ", f"{lead} = ", 1)
            body = [*first[:-1], Group(head, last.items, last.tail, last.commas)]
        else:
            body = [*first[:-1], flat(last).replace("return ", f"{lead} = ", 1)]
        joined: list[JoinedItems] = []
        names: list[str] = []
        for at, name in enumerate(self.read.entities[1:]):
            links = self._links(name)
            assert links  # it is served
            request = self.operation.requests[1 + at]
            local = free(
                plural(identifier(module.names.classes[name])), [*LOCAL, *names, *(p.name for p in self.params)]
            )
            names.append(local)
            ids = f"ids_{at + 1}" if at else "ids"
            values = [f"one.{module.names.field(self.first, link.own.name)}" for link in links]
            value = values[0] if len(values) == 1 else f"({', '.join(values)})"
            there = [f"{text} is not None" for text, link in zip(values, links, strict=True) if link.own.optional]
            if one:
                found = " and ".join(["if one is not None", *there])
                body.append(Group(f"{ids} = (", (f"[{value}]", found, "else []"), ")", commas=False, loose=True))
            else:
                tests = [f"if {' and '.join(there)}"] if there else []
                body.append(Group(f"{ids} = dict.fromkeys(", (value, "for one in page", *tests), ")", commas=False))
            wanted = tuple(request.attributes)
            cls = module.cls(name)
            view = module.view(name, (*wanted, *(link.other.name for link in links))) if wanted else ""
            fields = [module.names.field(name, link.other.name) for link in links]
            unpacked = ["one_id"] if len(links) == 1 else [f"one_{field}" for field in fields]
            loop = f"for {', '.join(unpacked)} in {ids}"
            key = mapping((string(field), own) for field, own in zip(fields, unpacked, strict=True))
            options = [*self._consistent(), *([keyword("into", view)] if view else [])]
            if request.call is Call.BATCH_GET:
                listed = Group("[", (key, loop), "]", commas=False)
                body.append(call(f"{local} = {module.wait}self.db.get_many", cls, listed, *options))
            else:
                equal = [f"{field}={own}" for field, own in zip(fields, unpacked, strict=True)]
                got = call(f"{module.wait}self.db.get", cls, *options, *equal)
                body.append(Group(f"{local} = [", (got, loop), "]", commas=False))
            others = [link.other for link in varying(links)]
            types = [annotation(a.type, module.imports, module.enum(name, a.name)) for a in others]
            type_ = types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"
            joined.append(JoinedItems(type_, view or cls))
        shown = [
            f"{{{self._id(name)}: one for one in {local} if one is not None}}"
            for name, local in zip(self.read.entities[1:], names, strict=True)
        ]
        return [*body, Group("return (", (lead, *shown), ")", loose=True)], replace(result, joined=tuple(joined))

    def _links(self, name: str) -> list[JoinLink]:
        """The attributes by which a join refers to another entity, without the tenant."""
        return [link for link in followed(self.read, self.module.workload, name) if link.own.name != self.tenant]

    def _id(self, name: str) -> str:
        """The key of a joined item in the result, without ids that the caller gives."""
        links = varying(self._links(name))
        ids = [f"one.{self.module.names.field(name, link.other.name)}" for link in links]
        return ids[0] if len(ids) == 1 else f"({', '.join(ids)})"

    # --- What is asked ----------------------------------------------------------------------------------------------

    def _asking(self, *, filters: bool = False, order: bool = False, limit: str = "", into: str = "") -> list[Part]:
        """The arguments of a query: equalities as keywords, the range as condition, the rest as filter."""
        keyed = [g for g in self.given if not is_filtered(g.input, self.plan)]
        ranges = [g for g in keyed if g.input.op is not Op.EQ]
        parts: list[Part] = [condition(ranges, self.module)] if ranges else []
        if order and self.read.sort and self.read.result is not Result.COUNT:
            parts.append(keyword("order", self._order()))
        if limit:
            parts.append(keyword("limit", limit))
            parts += ["after=after"] if self.paged and limit == "limit" else []
        if filters and (left := [g for g in self.given if g not in keyed]):
            parts.append(keyword("filter", self._filter(left)))
        parts += self._consistent()
        parts += [keyword("into", into)] if into else []
        parts += ["now=now"] if self.plan.bucket is not None or (self.timed and "after=after" in parts) else []
        equal = [g for g in keyed if g.input.op is Op.EQ]
        parts += [keyword(g.field, g.values[0]) for g in equal if not g.optional]
        if left_out := [g for g in equal if g.optional]:
            self.module.imports.name("typing", "Any")
            self.before.append("more: dict[str, Any] = {}")
            for given in left_out:
                name = given.values[0]
                self.before += [f"if {name} is not None:", f"    more[{string(given.field)}] = {name}"]
            parts.append("**more")
        return parts

    def _filter(self, left: Sequence[_InputCode], entity: str = "") -> Part:
        """The filter, or that of one `entity` of several. An optional input is tested only if it is given."""
        optional = [g for g in left if g.optional]
        if not optional:
            return condition(left, self.module)
        if len(left) == 1:
            text = f"({flat(condition(left, self.module))}) if {_is_given(optional[0])} else None"
            if len(text) <= _ROOM:
                return text
        module = self.module
        module.imports.name("functools", "reduce")
        module.imports.name("operator", "and_")
        suffix = f" {module.names.classes[entity]}" if entity else ""
        taken = [param.name for param in self.params]
        matches, listed = (free(identifier(f"{name}{suffix}"), taken) for name in ("matches", "asked"))
        self.before += ["", f"def {matches}(o: {module.cls(entity or self.first)}) -> bool:"]
        required = tests_of([g for g in left if not g.optional], module)
        self.before.append(listing(required, "    tests: list[bool] = "))
        for given in optional:
            (test,) = tests_of([given], module)
            self.before += [f"    if {_is_given(given)}:", call("        tests.append", test)]
        self.before += ["    return reduce(and_, tests)", ""]
        if len(optional) < len(left):
            return matches
        asked = [_is_given(one) for one in optional]
        text = f"{matches} if {' or '.join(asked)} else None"
        if len(text) <= _ROOM and not any(" and " in one for one in asked):
            return text
        self.before.append(listing(asked, f"{listed} = "))
        return f"{matches} if any({listed}) else None"

    def _consistent(self) -> list[Part]:
        return ["consistent=True"] if self.plan.lookup.consistent else []

    def _order(self) -> Part:
        """The `order` argument; it names the entity if only one of several has the attribute."""
        module, found = self.module, []
        for sort in self.read.sort:
            bound = bindings(module.workload, self.entities, sort.attribute)
            entity, attribute = next(iter(bound.items()))
            field = module.names.field(entity, attribute)
            item = module.design.item(entity)
            if item and len(bound) < len(self.entities):
                module.imports.name("prejoin", "keys")
                down = sort.direction is Direction.DESC
                found.append(f"keys.Order({string(field)}, {down}, {string(item.tag)})")
            else:
                found.append(string(f"-{field}" if sort.direction is Direction.DESC else field))
        return found[0] if len(found) == 1 and found[0].startswith('"') else listing(found)

    def _given(self, one: Input) -> _InputCode:
        module = self.module
        bound = bindings(module.workload, self.entities, one.attribute)
        entity = self.first if self.first in bound else next(iter(bound), self.first)
        attribute = single(module.workload, entity, bound.get(entity, bare_name(one.attribute)))
        field = module.names.field(entity, attribute.name)
        if one.op in _NO_VALUES:
            return _InputCode(one, entity, attribute, field, ())
        if one.values:
            self.timed = self.timed or any(v.now is not None for v in one.values)
            texts = tuple(self._value(v, entity, attribute) for v in one.values)
            return _InputCode(one, entity, attribute, field, texts)
        return _InputCode(one, entity, attribute, field, self._params(one, entity, attribute))

    def _value(self, value: Value, entity: str, attribute: Attribute) -> str:
        """A value that an attribute is compared with, as code."""
        if value.attribute is None:
            return value_text(value, attribute, self.module)
        other = single(self.module.workload, entity, value.attribute)
        return recorded_attribute(self.module.names.field(entity, other.name), other, self.module)

    def _params(self, one: Input, entity: str, attribute: Attribute) -> tuple[str, ...]:
        """Adds the parameters of an input to the method and gives their names."""
        type_ = input_type(one, entity, attribute, self.module)
        base = bare_name(one.attribute)
        taken = [p.name for p in self.params]
        default = "None" if one.optional else ""
        type_ = f"{type_} | None" if one.optional else type_
        named = [(base, InputValue(one.attribute, many=one.many))]
        if one.op is Op.BETWEEN:
            named = [
                (f"{base} from", InputValue(one.attribute, "low")),
                (f"{base} to", InputValue(one.attribute, "high")),
            ]
        elif one.many:
            named = [(plural(identifier(base, ())), InputValue(one.attribute, many=True))]
        elif one.op is not Op.EQ:
            word = _word_of(one.op, attribute.type.numeric)
            named = [(f"{base} {word}", InputValue(one.attribute, many=one.op is Op.IN))]
        found: list[str] = []
        for text, meaning in named:
            name = free(identifier(text, _RESERVED), [*taken, *found])
            self.params.append(Param(name, type_, meaning, default))
            found.append(name)
        return tuple(found)


def _is_given(given: _InputCode) -> str:
    """The test whether an optional input is given; of a range, both ends."""
    return " and ".join(f"{name} is not None" for name in given.values)


def input_type(one: Input, entity: str, attribute: Attribute, module: RenderContext) -> str:
    """The type of the parameter for an input."""
    if one.op is Op.CONTAINS and attribute.type.kind in {Kind.LIST, Kind.SET}:
        if attribute.type.of:
            return annotation(attribute.type.of, module.imports)
        if attribute.type.kind is Kind.LIST:
            module.imports.name("typing", "Any")
        return "Any" if attribute.type.kind is Kind.LIST else "str"
    if one.op in {Op.BEGINS_WITH, Op.CONTAINS}:
        return "str"
    type_ = annotation(attribute.type, module.imports, module.enum(entity, attribute.name))
    if one.many or one.op is Op.IN:
        module.imports.name("collections.abc", "Sequence")
        return f"Sequence[{type_}]"
    return type_


def condition(given: Sequence[_InputCode], module: RenderContext) -> Part:
    """A condition on the items: `lambda o: between(o.placed_at, low, high)`."""
    return as_lambda(tests_of(given, module))


def tests_of(given: Sequence[_InputCode], module: RenderContext) -> list[Part]:
    """The tests of an item, all of which it has to pass. Alternatives are one test: `(a) | (b)`."""
    rest = iter(given)
    groups = alternatives(one.input for one in given)
    return [any_of([next(rest).test(module) for _ in group]) for group in groups]
