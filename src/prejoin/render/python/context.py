"""What the methods of a repository are rendered from, and what they share: names, imports and views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prejoin.design.cost.bill import Bill
from prejoin.design.cost.contents import stored_contents
from prejoin.design.explain.added import content_words
from prejoin.design.explain.operations import operation_words
from prejoin.design.model import TABLE, Design, Operation
from prejoin.keys import Facet
from prejoin.render.python.entities import Style, View
from prejoin.render.python.layout import Imports
from prejoin.render.python.names import Names
from prejoin.render.python.values import annotation
from prejoin.types import Kind, Type
from prejoin.workload.model import Attribute, Entity, Pattern, Workload, Write
from prejoin.workload.optional_inputs import optional_words


@dataclass(slots=True)
class RenderContext:
    """The input of rendering a repository, and what it has collected: imports and views."""

    workload: Workload
    design: Design
    names: Names
    facets: Sequence[Facet]
    bill: Bill
    style: Style = "dataclass"
    aio: bool = False
    imports: Imports = field(default_factory=Imports)
    views: dict[tuple[str, tuple[str, ...]], View] = field(default_factory=dict)
    unproven: Mapping[str, str] = field(default_factory=dict)
    """The patterns that the proof could not run, with the reasons."""

    @property
    def wait(self) -> str:
        return "await " if self.aio else ""

    def cls(self, entity: str) -> str:
        """Imports the class of an entity and gives its name."""
        name = self.names.classes[entity]
        self.imports.name(".entities", name)
        return name

    def enum(self, entity: str, attribute: str) -> str:
        """Imports the type of an enum attribute and gives its name; empty for other attributes."""
        name = self.names.enums.get((entity, attribute), "")
        if name:
            self.imports.name(".entities", name)
        return name

    def view(self, entity: str, attributes: Sequence[str]) -> str:
        """Imports the view with these attributes of an entity and gives its name."""
        attribute_names = tuple(sorted(set(attributes)))
        if (entity, attribute_names) not in self.views:
            self.views[entity, attribute_names] = View(self._view_name(entity), entity, attribute_names)
        name = self.views[entity, attribute_names].name
        self.imports.name(".entities", name)
        return name

    def _view_name(self, entity: str) -> str:
        views = [view.name for view in self.views.values()]
        used_names = {*self.names.classes.values(), *self.names.enums.values(), *views}
        name = base = f"{self.names.classes[entity]}View"
        number = 2
        while name in used_names:
            name, number = f"{base}{number}", number + 1
        return name

    def type_of(self, entity: str, attribute: Attribute) -> str:
        """The type of a value of an attribute."""
        return annotation(attribute.type, self.imports, self.enum(entity, attribute.name))

    def member_type(self, type_: Type) -> str:
        """The type of a member of a list or set."""
        if type_.of:
            return annotation(type_.of, self.imports)
        if type_.kind is Kind.SET:
            return "str"
        self.imports.name("typing", "Any")
        return "Any"

    def sequence(self, type_: str) -> str:
        """The type of an argument with several values."""
        self.imports.name("collections.abc", "Sequence")
        return f"Sequence[{type_}]"

    def key_attributes(self, entity: Entity) -> tuple[str, ...]:
        """The attributes in the key of an entity's items in the table."""
        place = (entity.name, "", TABLE)
        return next(facet.attributes for facet in self.facets if (facet.entity, facet.copy, facet.slot) == place)

    def words(self, pattern: Pattern, operation: Operation) -> list[str]:
        """The paragraphs of a method's docstring: description, operation, proof, assumptions, large contents, price."""
        requests = " ".join(operation_words(operation))
        contents = " ".join(content_words(operation, self.workload, self.design))
        assumptions = f"It is taken that {'; '.join(operation.assumes)}" if operation.assumes else ""
        not_proven = ""
        if reason := self.unproven.get(pattern.id):
            not_proven = f"Not proven: the proof could not run it, because {reason}. Test it before you use it"
        optional = optional_words(self.workload, pattern) if isinstance(pattern, Write) else ""
        title = pattern.description or pattern.name or pattern.id
        price = self._price(pattern, operation)
        return [title, f"{pattern.id}: {requests}", optional, not_proven, assumptions, contents, price]

    def _price(self, pattern: Pattern, operation: Operation) -> str:
        cost = self.bill.pattern(pattern.id)
        if cost is None:
            return ""
        units = [(cost.units.read, "read"), (cost.units.write, "write")]
        texts = [f"{number:g} {kind} unit{'s' * (number != 1)}" for number, kind in units if number]
        beside = ", without large contents" if stored_contents(operation, self.workload, self.design) else ""
        return f"{' and '.join(texts) or 'Nothing'} a call{beside}, ${cost.dollars:,.2f} a month"
