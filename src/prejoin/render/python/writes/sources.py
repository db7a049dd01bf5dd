"""The sources of a write's values: objects, parameters, the variables of loops, and items found before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prejoin.design.mapping.preconditions import compared_attributes
from prejoin.design.mapping.repetition import is_check_found_first, is_found_first
from prejoin.design.model import Operation
from prejoin.render.python.conditions import recorded_attribute, value_text
from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import Part, keyword
from prejoin.render.python.method import LOCAL, InputValue, KnownValue, Param, RecordValue
from prejoin.render.python.names import plural
from prejoin.render.python.values import literal
from prejoin.render.python.writes.loops import Loop, LoopValue
from prejoin.workload.constants import constant
from prejoin.workload.field_names import RESERVED, free, identifier
from prejoin.workload.lookup import can_be_input, target
from prejoin.workload.model import Attribute, Change, Entity, Value, Write
from prejoin.workload.optional_inputs import source_of
from prejoin.workload.program.resolved_write import CheckedItem, Step, resolve_write
from prejoin.workload.tenants import tenant_of


class Sources:
    """The parameters and local names of one write, collected while it is rendered."""

    def __init__(self, context: RenderContext, write: Write, operation: Operation) -> None:
        self.context = context
        self.write = write
        self.operation = operation
        self.resolved = resolve_write(context.workload, write)
        self.steps = self.resolved.written_steps
        self.params: dict[str, Param] = {}
        self._required_types: dict[str, str] = {}
        """By parameter, the types of those that may be None so far."""
        self.locals: set[str] = set()
        self.is_timed = False
        """Whether the code uses the time of the call. The client takes it itself where it marks an item as deleted."""
        self.inputs = {item.attribute: item for item in write.inputs}
        self.tenant = tenant_of(context.workload, write)
        """The attribute that the client of a tenant fills in; empty for a method without tenant."""
        self.records = {step: self.record(step) for step in self.steps if step.is_new}
        """The parameters for new objects."""

    def of(self, step: Step, loop: Loop | None = None) -> StepSources:
        """The sources of the values of a step's items."""
        return StepSources(self, loop, step)

    # --- Parameters -------------------------------------------------------------------------------------------------

    @property
    def ordered_params(self) -> list[Param]:
        """The parameters: objects first, then inputs in the order of the document, then the others."""
        records = list(dict.fromkeys(self.records.values()))
        other_params = [param for param in self.params.values() if param not in records]
        return records + sorted(other_params, key=self._position_of_input)

    def _position_of_input(self, param: Param) -> int:
        names = list(self.inputs)
        return names.index(param.meaning.input) if isinstance(param.meaning, InputValue) else len(names)

    def record(self, step: Step) -> Param:
        """The parameter for the object of a step, or for its objects."""
        cls = self.context.cls(step.entity.name)
        meaning = RecordValue(step.entity.name, step.is_list)
        if not step.is_new:  # an object that exists is one parameter, however often it is used
            for param in self.params.values():
                if param.meaning == meaning:
                    return param
        if step.is_list:
            return self._add_param(plural(identifier(cls)), self.context.sequence(cls), meaning)
        return self._add_param(identifier(cls), cls, meaning)

    def param(
        self, name: str, type_: str, meaning: InputValue | KnownValue, *, may_be_none: bool = False, default: str = ""
    ) -> str:
        """The name of the parameter with a meaning. It is added, unless there is one."""
        for param in self.params.values():
            if param.meaning == meaning:
                # It may be absent in one item, and is needed for another.
                if not may_be_none and self._required_types.get(param.name) == type_:
                    self.params[param.name] = replace(param, annotation=type_)
                return param.name
        param = self._add_param(name, f"{type_} | None" if may_be_none else type_, meaning, default)
        if may_be_none:
            self._required_types[param.name] = type_
        return param.name

    def _add_param(
        self, name: str, annotation: str, meaning: InputValue | RecordValue | KnownValue, default: str = ""
    ) -> Param:
        # A parameter must not hide a name that the body uses.
        is_used = name in RESERVED | LOCAL | {"now"}
        name = free(f"{name}_" if is_used else name, [*self.locals, *self.params])
        param = self.params[name] = Param(name, annotation, meaning, default)
        return param

    def optional_param(self, change: Change) -> str:
        """The parameter of a change that is left out if it is not given; empty for other changes."""
        source = source_of(change)
        for param in self.params.values():
            if param.default and source is not None and param.meaning == InputValue(source):
                return param.name
        return ""

    # --- Loops and what is found first ------------------------------------------------------------------------------

    def loop(self, step: Step) -> Loop | None:
        """The loop of a step; None for one item. Parallel lists are added while it is rendered."""
        if not step.is_list:
            return None
        if step in self.records:
            return self.over(self.records[step], step.entity)
        if step.is_given_whole:
            return self.over(self.record(step), step.entity)
        if self.finds(step):
            return self.over_found(step)
        # New objects that have all list inputs of the step give it their values, one object for each item.
        lists = step.of.list_inputs
        for record_step, param in self.records.items():
            if record_step.is_list and lists and all(map(record_step.entity.attribute, lists)):
                return self.over(param, record_step.entity)
        return Loop()

    def over(self, param: Param, entity: Entity) -> Loop:
        """The loop over the objects of a parameter."""
        name = free(identifier(self.context.names.classes[entity.name]), [*LOCAL, *self.params])
        return Loop(name, param.name, entity.name)

    def over_found(self, step: Step) -> Loop:
        """The loop over the items that a list finds first. Where others are found too, each has its own variable."""
        name = "one"
        if len({item.entity.name for item in self._searches}) > 1:
            inputs = map(identifier, self.inputs)
            cls = self.context.names.classes[step.entity.name]
            name = free(identifier(cls), [*LOCAL, *self.params, *inputs])
            self.locals.add(name)
        return Loop(name, self.variable_of(step), step.entity.name)

    def finds(self, step: Step) -> bool:
        """Whether the items of a step are found first: their key is not known."""
        return is_found_first(step, self.operation, self.context.design)

    def finds_checked(self, item: CheckedItem) -> bool:
        """Whether an item that is only checked is found first."""
        return is_check_found_first(item, self.operation, self.context.design)

    def variable_of(self, item: Step | CheckedItem) -> str:
        """The variable of the items that a step, a check or a list that is only read finds first."""
        searches = self._searches
        if len(searches) == 1:
            return "found"
        names: list[str] = []
        for search in searches:
            names.append(free(f"found_{identifier(self.context.names.classes[search.entity.name])}", names))
        return names[searches.index(item)]

    @property
    def _searches(self) -> list[Step | CheckedItem]:
        """What is found first."""
        steps = [step for step in self.steps if self.finds(step)]
        checked_items = [item for item in self.resolved.checked if self.finds_checked(item)]
        return [*steps, *self.resolved.read_lists, *checked_items]

    def key_of(self, entity: Entity) -> tuple[str, ...]:
        """The attributes in the key of an entity's items, without the tenant."""
        return tuple(name for name in self.context.key_attributes(entity) if name != self.tenant)


@dataclass(frozen=True)
class ValueSources:
    """Inputs and values of the document as code, in a loop or outside of one."""

    sources: Sources
    loop: Loop | None

    @property
    def context(self) -> RenderContext:
        return self.sources.context

    @property
    def owner(self) -> str:
        """The entity whose types parameters have; empty for inputs that are no attributes."""
        return ""

    def input(self, name: str, like: Attribute) -> str:
        """The value of an input: an attribute of an object, the variable of a loop, or a parameter."""
        item = self.sources.inputs.get(name)
        # A list input has one value for each item of the loop. A value for all may be in a new object already.
        is_list = item is not None and item.many
        if is_list and self.loop is not None:
            return self._list_value(InputValue(name, many=True), name, like, self.loop)
        if not is_list and (field := self._field_of_new_item(name, like)):
            return field
        # An optional attribute says that items may be without it, not that an argument may be None.
        type_ = self.context.type_of(self.owner, like)
        if is_list:
            meaning = InputValue(name, many=True)
            return self.sources.param(plural(identifier(name, ())), self.context.sequence(type_), meaning)
        if item is None or not item.optional:
            return self.sources.param(identifier(name), type_, InputValue(name))
        self.context.imports.name("prejoin", "NOT_GIVEN", "NotGiven")
        return self.sources.param(
            identifier(name),
            f"{type_} | NotGiven",
            InputValue(name),
            may_be_none=like.optional,
            default="NOT_GIVEN",
        )

    def _field_of_new_item(self, name: str, like: Attribute) -> str:
        """The field of a new object that has the value of an input; empty if none has."""
        for step, param in self.sources.records.items():
            attribute = step.entity.attribute(name)
            if attribute is None or step.is_list or (attribute.optional and not like.optional):
                continue
            if can_be_input(self.context.workload, self.sources.write, step.entity, attribute):
                return f"{param.name}.{self.context.names.field(step.entity.name, name)}"
        return ""

    def _list_value(self, meaning: InputValue | KnownValue, name: str, like: Attribute, loop: Loop) -> str:
        """The value of a list input for each item: an attribute of the loop's object, or a variable of its own."""
        sources = self.sources
        own = self.context.workload.entity(loop.entity) if loop.record else None
        if own and own.attribute(name) and (isinstance(meaning, InputValue) or meaning.entity == own.name):
            return LoopValue(f"{loop.record}.{self.context.names.field(own.name, name)}")
        type_ = self.context.type_of(self.owner, like)
        param = sources.param(plural(identifier(name, ())), self.context.sequence(type_), meaning)
        if loop.record:
            return param  # objects and a list have nothing that makes them go side by side
        if param not in loop.lists:
            loop.lists[param] = free(identifier(name), [*LOCAL, *sources.params, *sources.locals])
            sources.locals.add(loop.lists[param])
        return LoopValue(loop.lists[param])

    def value(self, value: Value, attribute: Attribute) -> str:
        """A value of the document."""
        if value.param is not None:
            return self.input(value.param, attribute)
        if value.now is not None:
            self.sources.is_timed = True
        return value_text(value, attribute, self.context)


@dataclass(frozen=True)
class StepSources(ValueSources):
    """The values of one step's items as code."""

    step: Step

    @property
    def owner(self) -> str:
        return self.entity.name

    @property
    def entity(self) -> Entity:
        return self.step.entity

    @property
    def cls(self) -> str:
        return self.context.cls(self.entity.name)

    @property
    def key(self) -> tuple[str, ...]:
        """The attributes in the key of the items, without the tenant."""
        return self.sources.key_of(self.entity)

    def field(self, attribute: str) -> str:
        return self.context.names.field(self.entity.name, attribute)

    def attribute(self, name: str) -> Attribute:
        attribute = self.entity.attribute(name)
        assert attribute is not None  # checked in the document
        return attribute

    def keywords(self, values: Mapping[str, str]) -> list[Part]:
        """Values of attributes as arguments."""
        return [keyword(self.field(name), value) for name, value in values.items()]

    def new_value(self, attribute: Attribute) -> str:
        """The new value of an attribute if the document gives none: the input with its name."""
        if attribute.name in self.sources.inputs:
            return self.input(attribute.name, attribute)
        meaning = KnownValue(self.entity.name, attribute.name, new=True)
        type_ = self.context.type_of(self.entity.name, attribute)
        return self.sources.param(identifier(attribute.name), type_, meaning)

    def compared_value(self, value: Value, attribute: Attribute) -> str:
        """A value of a condition. An attribute of the same item is one of the recorder."""
        if value.attribute is None:
            return self.value(value, attribute)
        other = self.attribute(value.attribute)
        return recorded_attribute(self.field(other.name), other, self.context)

    # --- Existing items ---------------------------------------------------------------------------------------------

    def arguments(self) -> dict[str, str]:
        """The arguments for an existing item by attribute: its key, and others that are compared."""
        sources, step = self.sources, self.step
        compared_names = compared_attributes(step, sources.operation, self.context.design)
        names = [*self.key, *(name for name in compared_names if name != sources.tenant)]
        if not sources.finds(step):
            return {name: self.stored_value(name) for name in names}
        arguments: dict[str, str] = {}
        for name in names:
            if self.loop and name not in self.key and name in step.list_source.links:
                arguments[name] = self.stored_value(name)  # it may have changed since the item was found by it
            else:
                record = self.loop.record if self.loop else sources.variable_of(step)
                arguments[name] = f"{record}.{self.field(name)}"
        return arguments

    def stored_value(self, name: str) -> str:
        """The value of an attribute of an existing item."""
        step, loop = self.step, self.loop
        attribute = self.attribute(name)
        if step.is_given_whole and loop is None:
            return f"{self.sources.record(step).name}.{self.field(name)}"
        if step.is_given_whole and loop is not None and loop.record and name not in step.sources:
            return LoopValue(f"{loop.record}.{self.field(name)}")
        if name in step.sources and (loop or not self.sources.inputs[step.sources[name]].many):
            return self.input(step.sources[name], attribute)
        if name in step.fixed:
            return self.value(step.fixed[name], attribute)
        # An enum of one member leaves nothing to ask the caller for.
        if len(attribute.type.values) == 1:
            return literal(constant(attribute.type.values[0], attribute.type), self.context.imports)
        if reference := self._reference_of_new_item(attribute):
            return reference
        meaning = KnownValue(self.entity.name, name, many=loop is not None)
        if loop is not None:
            return self._list_value(meaning, name, attribute, loop)
        type_ = self.context.type_of(self.entity.name, attribute)
        return self.sources.param(identifier(name), type_, meaning, may_be_none=attribute.optional)

    def _reference_of_new_item(self, attribute: Attribute) -> str:
        """The field of a new object that refers to an attribute of the item; empty if none does."""
        for step, param in self.sources.records.items():
            # Each object of a list may refer to another item.
            for own in () if step.is_list else step.entity.attributes:
                entity, referenced_attribute = target(self.context.workload, own) or (None, None)
                if entity is self.entity and referenced_attribute is attribute:
                    return f"{param.name}.{self.context.names.field(step.entity.name, own.name)}"
        return ""

    def key_value(self, name: str, loop: Loop) -> str:
        """The value of an attribute of the key, of an item that was found or is known."""
        return f"{loop.record}.{self.field(name)}" if self.sources.finds(self.step) else self.stored_value(name)
