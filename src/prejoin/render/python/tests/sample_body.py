"""The statements of a generated test: items that differ little from those of the seed, calls, and reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prejoin.design.document.samples import sample_values
from prejoin.render.python.context import RenderContext
from prejoin.render.python.entities import with_other_values
from prejoin.render.python.layout import Imports, Part, call, in_parentheses, keyword
from prejoin.render.python.method import Method, Param
from prejoin.render.python.names import single
from prejoin.render.python.seed import maker
from prejoin.render.python.statements import Assign, Statement
from prejoin.render.python.values import literal
from prejoin.workload.field_names import free, identifier
from prejoin.workload.model import Entity
from prejoin.workload.tenants import tenant_of

_USED = ("repository", "found", "answer", "seed", "ready", "refused", "everyone", "stranger", "nothing")
"""Names that the tests use themselves."""


@dataclass(frozen=True, slots=True)
class SampleItem:
    """An item of a test: its variable and its values."""

    name: str
    entity: Entity
    values: Mapping[str, Any]


@dataclass(slots=True)
class TestBody:
    """The statements of a test while they are written."""

    __test__ = False  # pytest: this is no class of tests

    context: RenderContext
    method: Method
    imports: Imports
    package: str
    block: list[Statement] = field(default_factory=list)
    names: list[str] = field(default_factory=lambda: [*_USED])

    @property
    def tenant(self) -> str:
        """The attribute that the repository of a tenant fills in; empty for a method without tenant."""
        return tenant_of(self.context.workload, self.method.pattern)

    @property
    def whole(self) -> str:
        """The variable of the repository that is bound to no tenant."""
        return "everyone" if self.tenant else "repository"

    def add(self, statement: Statement) -> None:
        self.block.append(statement)

    def begin(self, tenant: object) -> None:
        """Creates the repository, for a tenant if the method belongs to one."""
        self.add(Assign(self.whole, "ready()"))
        if self.tenant:
            self.add(Assign("repository", call("everyone.of_tenant", self.literal(tenant))))

    def item(self, entity: Entity, values: Mapping[str, Any], name: str = "") -> SampleItem:
        """Declares an item. Without a name its variable has that of the class."""
        variable = free(name or identifier(self.context.names.classes[entity.name]), self.names)
        self.names.append(variable)
        self.add(Assign(variable, self._sample(entity, values)))
        return SampleItem(variable, entity, values)

    def _sample(self, entity: Entity, values: Mapping[str, Any]) -> Part:
        """The sample of the seed, with other values where it has them."""
        self.imports.name(self.package, "seed")
        sample = f"seed.{maker(self.context.names, entity)}()"
        usual = sample_values(self.context.workload, entity, self.context.design)
        names = [a.name for a in entity.attributes if usual.get(a.name) != values.get(a.name)]
        if not names:
            return in_parentheses(sample)
        return self.with_values(sample, entity, {name: values.get(name) for name in names})

    def with_values(self, item: str, entity: Entity, values: Mapping[str, Any]) -> Part:
        """An object with some other values."""
        fields = [(self.context.names.field(entity.name, name), self.literal(value)) for name, value in values.items()]
        return with_other_values(item, fields, self.context.style, self.imports)

    def insert(self, items: Iterable[SampleItem]) -> None:
        for item in items:
            self.add(f"{self.whole}.db.insert({item.name})")

    def read(self, name: str, entity: Entity, key: Mapping[str, str], repository: str = "repository") -> str:
        """Reads an item from the table, by the texts of its key; gives the variable."""
        variable = free(name, self.names)
        self.names.append(variable)
        attributes = self.context.key_attributes(entity)
        fields = [keyword(self.context.names.field(entity.name, attribute), key[attribute]) for attribute in attributes]
        item = call(f"{repository}.db.get", self.cls(entity), *fields)
        if self.context.design.counter(entity.name) is not None:
            self.imports.name("prejoin", "with_counts")
            item = call("with_counts", f"{repository}.db", self.cls(entity), item)
        self.add(Assign(variable, item))
        return variable

    def at(self, item: SampleItem, attribute: str) -> str:
        """A value of an item as code: its field, unless a type checker would take that for None."""
        if single(self.context.workload, item.entity.name, attribute).optional:
            return self.literal(item.values.get(attribute))
        return f"{item.name}.{self.context.names.field(item.entity.name, attribute)}"

    def arguments(self, text_of: Callable[[Param], str | None]) -> list[Part]:
        """The arguments of the call, those without a keyword first. `text_of` gives None for one that is left out."""
        positional: list[Part] = []
        keywords: list[Part] = []
        for param in self.method.params:
            text = text_of(param)
            if text is not None and param.default:
                keywords.append(keyword(param.name, text))
            elif text is not None:
                positional.append(text)
        return [*positional, *keywords]

    def literal(self, value: object) -> str:
        return literal(value, self.imports)

    def cls(self, entity: Entity) -> str:
        name = self.context.names.classes[entity.name]
        self.imports.name(f"{self.package}.entities", name)
        return name
