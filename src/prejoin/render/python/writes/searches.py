"""The queries that find items first: those whose keys the caller does not know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from prejoin.design.mapping.addressing import sought
from prejoin.design.mapping.repetition import must_find_all
from prejoin.design.model import Request
from prejoin.render.python.conditions import as_lambda, comparison
from prejoin.render.python.layout import Part, call, keyword
from prejoin.render.python.statements import Assign, For, If, Raise, Statement
from prejoin.render.python.writes.loops import Loop, LoopValue
from prejoin.render.python.writes.sources import Sources
from prejoin.workload.model import Op
from prejoin.workload.program.resolved_write import Step


def searches(sources: Sources, loops: Mapping[Step, Loop | None]) -> list[Statement]:
    """Finds what a write has to find first."""
    block: list[Statement] = [_unwritten_list(sources, step) for step in sources.resolved.read_lists]
    for step in _parents_first(sources.steps):
        if sources.finds(step):
            search = _Search(sources, step, sources.variable_of(step), step.search_attributes)
            block += search.find_list(loops) if step.is_list else search.find_item()
    for item in sources.resolved.checked:
        if sources.finds_checked(item):
            block += _Search(sources, item.step, sources.variable_of(item), item.known).find_item()
    return block


def _parents_first(steps: tuple[Step, ...]) -> list[Step]:
    """The steps; a list that is found over another one comes after it."""
    lists = {step.entity.name: step for step in steps if step.is_list}
    ordered_steps: dict[Step, None] = {}

    def add(step: Step) -> None:
        if step.is_existing_list and step.list_source.over in lists:
            add(lists[step.list_source.over])
        ordered_steps[step] = None

    for step in steps:
        add(step)
    return list(ordered_steps)


def _request(sources: Sources, step: Step) -> Request:
    """The request that finds the items of a step."""
    return next(request for request in sources.operation.finds if step.entity.name in request.entities)


def _unwritten_list(sources: Sources, step: Step) -> Assign:
    """The query for a list that is not written, because another one belongs to its items."""
    values = sources.of(step)
    names = sorted(step.search_attributes - {sources.tenant})
    options = ["consistent=True"] if _request(sources, step).consistent else []
    equal = values.keywords({name: values.stored_value(name) for name in names})
    query = call(f"{sources.context.wait}self.db.query", values.cls, *options, *equal)
    return Assign(sources.variable_of(step), query)


def _list_of(steps: Iterable[Step], entity: str) -> Step:
    return next(step for step in steps if step.entity.name == entity)


@dataclass(frozen=True, slots=True)
class _Search:
    """The query for an item to write or check, or for those of a list, by all attributes that are known."""

    sources: Sources
    step: Step
    variable: str
    known_names: frozenset[str]

    @property
    def cls(self) -> str:
        return self.sources.context.cls(self.step.entity.name)

    @property
    def request(self) -> Request:
        return _request(self.sources, self.step)

    @property
    def names(self) -> list[str]:
        facets = self.sources.context.facets
        return sorted(sought(self.step, facets, self.known_names) - {self.sources.tenant})

    def find_item(self) -> list[Statement]:
        wait = self.sources.context.wait
        values = self.sources.of(self.step)
        texts = {name: values.stored_value(name) for name in self.names}
        filter_ = self._filter(texts)
        if not filter_:
            item = Assign(self.variable, call(f"{wait}self.db.get", self.cls, *self._equalities(texts)))
            return [item, self._refusal(f"{self.variable} is None")]
        self.sources.context.imports.name("prejoin", "TooMany")
        items = f"{self.variable}_all"
        too_many = Raise("TooMany", f'"more than one {self.cls} where one was asked for"')
        return [
            Assign(items, call(f"{wait}self.db.query", self.cls, *filter_, *self._equalities(texts))),
            If(f"len({items}) > 1", [too_many]),
            Assign(self.variable, f"{items}[0] if {items} else None"),
            self._refusal(f"{self.variable} is None"),
        ]

    def find_list(self, loops: Mapping[Step, Loop | None]) -> list[Statement]:
        if self.step.list_source.over:
            loop, texts = self._over_list(loops)
        else:
            loop = Loop()
            values = self.sources.of(self.step, loop)
            texts = {name: values.stored_value(name) for name in self.names}
        options = self._filter(texts)
        if self.request.consistent:
            options.append("consistent=True")
        wait = self.sources.context.wait
        query = call(f"{wait}self.db.query", self.cls, *options, *self._equalities(texts))
        if not loop.lists and not loop.record:
            return [Assign(self.variable, query)]
        block: list[Statement] = [
            Assign(f"{self.variable}: list[{self.cls}]", "[]"),
            For(loop.iteration, [Assign(self.variable, query, "+=")]),
        ]
        if loop.lists and not self.step.list_source.over and must_find_all(self.step):
            return [*block, self._refusal(f"len({self.variable}) != len({next(iter(loop.lists))})")]
        return block

    def _refusal(self, test: str) -> If:
        self.sources.context.imports.name("prejoin", "NotFound")
        return If(test, [Raise("NotFound", f'"there is no such {self.cls}"')])

    def _equalities(self, texts: Mapping[str, str]) -> list[Part]:
        equal = {name: texts[name] for name in self.names if name not in self.request.filtered}
        return self.sources.of(self.step).keywords(equal)

    def _filter(self, texts: Mapping[str, str]) -> list[Part]:
        """The filter on what the key does not answer."""
        values, context = self.sources.of(self.step), self.sources.context
        tests: list[Part] = []
        is_looped = False
        for name in self.names:
            if name in self.request.filtered:
                field, attribute = values.field(name), values.attribute(name)
                tests.append(comparison(Op.EQ, field, [texts[name]], attribute, context, has_params=True))
                is_looped = is_looped or isinstance(texts[name], LoopValue)
        return [keyword("filter", as_lambda(tests, is_looped))] if tests else []

    def _over_list(self, loops: Mapping[Step, Loop | None]) -> tuple[Loop, dict[str, str]]:
        """The loop over another list, through whose items those of this one are found, and their attributes."""
        source = self.step.list_source
        parent, loop = self._parent(loops)
        values = self.sources.of(parent, loop)
        texts: dict[str, str] = {}
        for name, part in source.over_links.items():
            texts[name] = f"{loop.record}.{values.field(part)}" if loop.record else values.stored_value(part)
        own_values = self.sources.of(self.step, loop)
        for name in source.links:
            if name != self.sources.tenant:
                texts[name] = own_values.stored_value(name)
        return loop, texts

    def _parent(self, loops: Mapping[Step, Loop | None]) -> tuple[Step, Loop]:
        """The list whose items those of this one belong to, with its loop."""
        source = self.step.list_source
        if source.unwritten:
            parent = _list_of(self.sources.resolved.read_lists, source.over)
            return parent, self.sources.over_found(parent)
        parent = _list_of(filter(attrgetter("is_existing_list"), self.sources.steps), source.over)
        loop = loops[parent]
        assert loop is not None  # it is a list
        return parent, loop
