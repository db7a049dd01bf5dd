"""The second half of a join: the items that the first ones refer to, by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prejoin.design.model import Call, Operation, Request
from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import Group, Part, call, comprehension, in_parentheses, keyword, mapping, string
from prejoin.render.python.method import LOCAL, JoinedItems, Param
from prejoin.render.python.names import plural
from prejoin.render.python.reads.query import QueryCode, ResultCode
from prejoin.render.python.statements import Assign, Iteration, Statement
from prejoin.workload.field_names import free, identifier
from prejoin.workload.program.resolved_read import Join, ResolvedRead, ReturnKind


def joined_items(
    query: QueryCode, operation: Operation, first: ResultCode, params: Sequence[Param]
) -> tuple[ResultCode, tuple[JoinedItems, ...]]:
    """Adds the items of other entities to the result, each entity as a dictionary by ids."""
    context, read = query.context, query.resolved
    is_single = read.returns is ReturnKind.ONE
    lead = "one" if is_single else "page"
    statements: list[Statement] = [*first.statements, Assign(lead, first.value)]
    values: list[Part] = [lead]
    types: list[JoinedItems] = []
    names: list[str] = []
    for position, join in enumerate(read.joins):
        taken_names = [*LOCAL, *names, *(param.name for param in params)]
        name = free(plural(identifier(context.names.classes[join.entity.name])), taken_names)
        names.append(name)
        ids = f"ids_{position + 1}" if position else "ids"
        code = _JoinCode(context, read, join, operation.requests[position + 1], name, ids, query.consistency)
        statements += [Assign(ids, code.ids_of_one() if is_single else code.ids_of_page()), code.read()]
        values.append(code.by_id())
        types.append(code.type)
    return ResultCode(Group("(", tuple(values), ")", loose=True), tuple(statements)), tuple(types)


@dataclass(frozen=True, slots=True)
class _JoinCode:
    """One of the entities that a join follows."""

    context: RenderContext
    resolved_read: ResolvedRead
    join: Join
    request: Request
    name: str
    """The variable of its items."""
    ids: str
    """The variable of their ids."""
    consistency: tuple[Part, ...]

    def _field(self, attribute: str) -> str:
        return self.context.names.field(self.join.entity.name, attribute)

    @property
    def _references(self) -> list[str]:
        """The attributes of the first entity's item that hold the id."""
        first = self.resolved_read.names[0]
        return [f"one.{self.context.names.field(first, link.own.name)}" for link in self.join.own_links]

    @property
    def _tests(self) -> list[str]:
        """The tests that optional references are there."""
        pairs = zip(self._references, self.join.own_links, strict=True)
        return [f"{reference} is not None" for reference, link in pairs if link.own.optional]

    @property
    def _key_fields(self) -> list[str]:
        """The fields of the item that the links lead to."""
        return [self._field(link.other.name) for link in self.join.own_links]

    def ids_of_one(self) -> Part:
        condition = " and ".join(["if one is not None", *self._tests])
        return in_parentheses(f"[{_tuple(self._references)}]", condition, "else []")

    def ids_of_page(self) -> Part:
        conditions = [f"if {' and '.join(self._tests)}"] if self._tests else []
        # Several items may refer to one, and BatchGetItem refuses a key that it gets twice.
        return comprehension(
            _tuple(self._references), Iteration("one", "page"), *conditions, head="dict.fromkeys(", tail=")"
        )

    def read(self) -> Assign:
        """The request for the items."""
        fields = self._key_fields
        variables = ["one_id"] if len(fields) == 1 else [f"one_{field}" for field in fields]
        loop = Iteration(", ".join(variables), self.ids)
        cls, wait = self.context.cls(self.join.entity.name), self.context.wait
        options = [*self.consistency]
        if view := self._view():
            options.append(keyword("into", view))
        if self.request.call is Call.BATCH_GET:
            key = mapping(zip(map(string, fields), variables, strict=True))
            return Assign(self.name, call(f"{wait}self.db.get_many", cls, comprehension(key, loop), *options))
        equal = map(keyword, fields, variables)
        return Assign(self.name, comprehension(call(f"{wait}self.db.get", cls, *options, *equal), loop))

    def _view(self) -> str:
        """The class of its items, if the read does not need all attributes; empty otherwise."""
        if not self.request.attributes:
            return ""
        ids = [link.other.name for link in self.join.own_links]
        return self.context.view(self.join.entity.name, (*self.request.attributes, *ids))

    @property
    def type(self) -> JoinedItems:
        entity = self.join.entity.name
        ids = [self.context.type_of(entity, link.other) for link in self.join.key_links]
        id_type = ids[0] if len(ids) == 1 else f"tuple[{', '.join(ids)}]"
        return JoinedItems(id_type, self._view() or self.context.cls(entity))

    def by_id(self) -> str:
        """The items by their ids, without those that the caller gives."""
        key = _tuple([f"one.{self._field(link.other.name)}" for link in self.join.key_links])
        return f"{{{key}: one for one in {self.name} if one is not None}}"


def _tuple(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
