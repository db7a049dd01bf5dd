"""The sources of a write's values: objects, parameters, the variables of loops, and items found before."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import msgspec

from prejoin.design.mapping.addressing import unknown
from prejoin.design.model import Operation
from prejoin.keys import TABLE
from prejoin.render.naming import RESERVED
from prejoin.render.python.conditions import value_text
from prejoin.render.python.method import LOCAL, InputValue, KnownValue, Param, RecordValue, RenderContext
from prejoin.render.python.names import free, identifier, plural
from prejoin.render.python.values import annotation, literal
from prejoin.workload.constants import constant
from prejoin.workload.lookup import can_be_input, target
from prejoin.workload.model import Action, Attribute, Change, Entity, Value, Verb, Write
from prejoin.workload.optional_inputs import source_of
from prejoin.workload.targets import (
    NEW,
    CheckedItem,
    actions_of,
    checked_items,
    is_given_whole,
    is_movable,
    known,
    known_of_checked,
    links,
    list_source,
    read_lists,
    said_equal,
)
from prejoin.workload.tenants import tenant_of


@dataclass(slots=True)
class Loop:
    """The loop of an action on many items: over new objects, found ones, or parallel lists."""

    action: Action
    record: str = ""
    """The variable, if the loop is over objects."""
    over: str = ""
    entity: str = ""
    lists: dict[str, str] = field(default_factory=dict)
    """The variables of parallel lists, by parameter."""

    @property
    def head(self) -> str:
        if self.record:
            return f"for {self.record} in {self.over}"
        if len(self.lists) == 1:
            name, one = next(iter(self.lists.items()))
            return f"for {one} in {name}"
        return f"for {', '.join(self.lists.values())} in zip({', '.join(self.lists)}, strict=True)"


class LoopValue(str):
    """The code of a value that differs in each round of a loop. A lambda with it needs a remark for linters."""

    __slots__ = ()


class Sources:
    """The parameters and local names of one write, collected while it is rendered."""

    def __init__(self, module: RenderContext, write: Write, operation: Operation) -> None:
        self.module = module
        self.write = write
        self.actions = [a for a in actions_of(module.workload, write) if a.verb is not Verb.EXPIRE]
        self.records: dict[int, Param] = {}
        """The parameters for objects, by the position of the action that writes them."""
        self.params: dict[str, Param] = {}
        self.locals: set[str] = set()
        self.timed = False
        self.inputs = {i.attribute: i for i in write.inputs}
        self.tenant = tenant_of(module.workload, write)
        """The attribute that the client of a tenant fills in; empty for a method without tenant."""
        self.found_first = operation.found_first
        self.read_first = operation.read_first
        self.checked = checked_items(module.workload, write)
        """The items that are checked and not written."""
        self.between = read_lists(module.workload, write)
        """The lists that are read, because others belong to their items, and not written."""
        for at, action in enumerate(self.actions):
            if action.verb in NEW:
                self.records[at] = self.record(action)

    @property
    def ordered(self) -> list[Param]:
        """The parameters: objects first, then inputs in the order of the document, then the rest."""
        order = [*(p.name for p in self.records.values())]
        rest = [p for p in self.params.values() if p.name not in order]
        given = list(self.inputs)
        rest.sort(key=lambda p: given.index(p.meaning.input) if isinstance(p.meaning, InputValue) else len(given))
        return [*dict.fromkeys(self.params[name] for name in order), *rest]

    # --- Parameters -------------------------------------------------------------------------------------------------

    def record(self, action: Action) -> Param:
        cls = self.module.cls(action.entity)
        name = identifier(cls)
        type_ = cls
        if action.many:
            self.module.imports.name("collections.abc", "Sequence")
            name, type_ = plural(name), f"Sequence[{cls}]"
        meaning = RecordValue(action.entity, action.many)
        if action.verb not in NEW:  # an object that exists is one parameter, however often it is used
            same = [param for param in self.params.values() if param.meaning == meaning]
            return same[0] if same else self.param(name, type_, meaning)
        return self.param(name, type_, meaning)

    def param(self, name: str, type_: str, meaning: InputValue | RecordValue | KnownValue, default: str = "") -> Param:
        for param in self.params.values():
            if param.meaning == meaning and not isinstance(meaning, RecordValue):
                # It may be absent in one item, and is needed for another.
                if param.annotation != type_ and param.annotation.replace(" | None", "") == type_:
                    param = self.params[param.name] = replace(param, annotation=type_)
                return param
        name = free(f"{name}_" if name in RESERVED | LOCAL | {"now"} else name, [*self.locals, *self.params])
        found = self.params[name] = Param(name, type_, meaning, default)
        return found

    def type(self, entity: str, attribute: Attribute) -> str:
        type_ = annotation(attribute.type, self.module.imports, self.module.enum(entity, attribute.name))
        return f"{type_} | None" if attribute.optional else type_

    def sequence(self, type_: str) -> str:
        self.module.imports.name("collections.abc", "Sequence")
        return f"Sequence[{type_}]"

    # --- Loops ------------------------------------------------------------------------------------------

    def loop(self, at: int, action: Action) -> Loop | None:
        """The loop of an action; None for one item. Parallel lists are added while it is rendered."""
        if not action.many:
            return None
        if at in self.records:
            return self.over(action, self.records[at], action.entity)
        if is_given_whole(self.write, action, self.entity(action.entity)):
            return self.over(action, self.record(action), action.entity)
        if self.finds(action):
            return Loop(action, "one", self.found(at), action.entity)
        lists = {name for name, one in self.inputs.items() if one.many}
        for other, param in self.records.items():
            entity = self.module.workload.entity(self.actions[other].entity)
            if self.actions[other].many and entity and lists and all(entity.attribute(name) for name in lists):
                return self.over(action, param, entity.name)
        return Loop(action)

    def over(self, action: Action, param: Param, entity: str) -> Loop:
        name = free(identifier(self.module.names.classes[entity]), [*LOCAL, *self.params])
        return Loop(action, name, param.name, entity)

    def finds(self, action: Action) -> bool:
        """Whether the items of an action are found first: their key is not known."""
        entity = self.entity(action.entity)
        is_given = is_given_whole(self.write, action, entity)
        if entity.name not in self.found_first or action.verb in NEW or is_given:
            return False
        return not known(self.module.workload, self.write, action).issuperset(self.base(entity))

    def finds_checked(self, item: CheckedItem) -> bool:
        """Whether an item that is only checked is found first."""
        names = known_of_checked(self.module.workload, self.write, item)
        return item.entity.name in self.found_first and not names.issuperset(self.base(item.entity))

    def found(self, at: int | CheckedItem | Action) -> str:
        """The variable of the items that an action (by position), a check or a list that is only read finds first."""
        finding: list[tuple[int | CheckedItem | Action, str]] = [
            (position, action.entity) for position, action in enumerate(self.actions) if self.finds(action)
        ]
        finding += [(action, action.entity) for action in self.between]
        finding += [(item, item.entity.name) for item in self.checked if self.finds_checked(item)]
        if len(finding) == 1:
            return "found"
        names: list[str] = []
        for key, entity in finding:
            name = free(f"found_{identifier(self.module.names.classes[entity])}", names)
            if key is at or key == at:
                return name
            names.append(name)
        raise KeyError(at)

    # --- Values -----------------------------------------------------------------------------------------------------

    def input(self, name: str, entity: str, like: Attribute, loop: Loop | None) -> str:
        """The value of an input: an attribute of an object, the variable of a loop, or a parameter."""
        many = self.inputs[name].many if name in self.inputs else False
        if many and loop is not None:
            return self.listed(InputValue(name, many=True), name, entity, like, loop)
        for at, param in self.records.items():
            own = self.module.workload.entity(self.actions[at].entity)
            attribute = own.attribute(name) if own else None
            fits = attribute is not None and (like.optional or not attribute.optional)
            fits = fits and attribute is not None and can_be_input(self.module.workload, self.write, attribute)
            if attribute is not None and own is not None and fits and not self.actions[at].many and not many:
                return f"{param.name}.{self.module.names.field(own.name, name)}"
        if name in self.inputs and self.inputs[name].optional and not many:
            self.module.imports.name("prejoin", "NOT_GIVEN", "NotGiven")
            required = self.type(entity, msgspec.structs.replace(like, optional=False))
            annotation_ = f"{required} | NotGiven{' | None' if like.optional else ''}"
            return self.param(identifier(name), annotation_, InputValue(name), "NOT_GIVEN").name
        # An optional attribute says that items may be without it, not that an argument may be None.
        type_ = self.type(entity, msgspec.structs.replace(like, optional=False))
        if many:
            return self.param(plural(identifier(name, ())), self.sequence(type_), InputValue(name, many=True)).name
        return self.param(identifier(name), type_, InputValue(name)).name

    def listed(self, meaning: InputValue | KnownValue, name: str, entity: str, like: Attribute, loop: Loop) -> str:
        """The value of a list input for each item: an attribute of the loop's object, or a variable of its own."""
        own = self.module.workload.entity(loop.entity) if loop.record else None
        if own and own.attribute(name) and (isinstance(meaning, InputValue) or meaning.entity == own.name):
            return LoopValue(f"{loop.record}.{self.module.names.field(own.name, name)}")
        type_ = self.type(entity, msgspec.structs.replace(like, optional=False))
        param = self.param(plural(identifier(name, ())), self.sequence(type_), meaning)
        if loop.record:
            return param.name  # objects and a list have nothing that makes them go side by side
        if param.name not in loop.lists:
            loop.lists[param.name] = free(identifier(name), [*LOCAL, *self.params, *self.locals])
            self.locals.add(loop.lists[param.name])
        return LoopValue(loop.lists[param.name])

    def new_value(self, entity: Entity, attribute: Attribute, loop: Loop | None) -> str:
        """The new value of an attribute if the document gives none: the input with its name."""
        if attribute.name in self.inputs:
            return self.input(attribute.name, entity.name, attribute, loop)
        meaning = KnownValue(entity.name, attribute.name, new=True)
        required = msgspec.structs.replace(attribute, optional=False)
        return self.param(identifier(attribute.name), self.type(entity.name, required), meaning).name

    def value(self, value: Value, entity: str, attribute: Attribute, loop: Loop | None) -> str:
        if value.param is not None:
            return self.input(value.param, entity, attribute, loop)
        self.timed = self.timed or value.now is not None
        return value_text(value, attribute, self.module)

    def optional_param(self, change: Change) -> str:
        """The parameter of a change that is left out if it is not given; empty for other changes."""
        source = source_of(change)
        for param in self.params.values():
            if param.default and source is not None and param.meaning == InputValue(source):
                return param.name
        return ""

    # --- Existing items ---------------------------------------------------------------------------------------

    def entity(self, name: str) -> Entity:
        found = self.module.workload.entity(name)
        assert found is not None  # the design has a key for it
        return found

    def base(self, entity: Entity) -> tuple[str, ...]:
        facets = self.module.facets
        own = next(f for f in facets if f.entity == entity.name and f.slot == TABLE and not f.copy)
        return tuple(name for name in own.attributes if name != self.tenant)

    def given(self, at: int, action: Action, entity: Entity, loop: Loop | None) -> list[tuple[str, str]]:
        """The arguments for an existing item: its key, and further attributes that the caller knows."""
        base = self.base(entity)
        if self.finds(action):
            design, write = self.module.design, self.write
            needed = (
                unknown(write, action, entity, design, frozenset()) if entity.name not in self.read_first else set()
            )
            record = loop.record if loop else self.found(at)
            names = [*base, *sorted(needed - {*base, self.tenant})]
            fields = {n: f"{record}.{self.module.names.field(entity.name, n)}" for n in names}
            for name in self.movable(action, entity) if loop else ():
                fields[name] = self.source(name, action, entity, loop)
            return list(fields.items())
        names = [*base, *self.also_known(action, entity, set(base), loop)]
        return [(name, self.source(name, action, entity, loop)) for name in dict.fromkeys(names)]

    def movable(self, action: Action, entity: Entity) -> list[str]:
        """The attributes by which a list was found, and that may have changed since: they are checked for each item."""
        source = list_source(self.module.workload, self.write, action, entity)
        return [name for name in source.links if is_movable(entity, name, self.base(entity)) and name != self.tenant]

    def also_known(self, action: Action, entity: Entity, base: set[str], loop: Loop | None) -> list[str]:
        """The attributes given beside the key. Index keys need them, and they are compared with the stored ones.

        An upsert has none: there may be no stored item to compare them with.
        """
        if action.verb is Verb.UPSERT:
            return []
        workload, write = self.module.workload, self.write
        linked = links(workload, write, action, entity)
        if loop is not None and loop.record and is_given_whole(write, action, entity):
            # Given objects need not be as they are stored. They have to belong to the items that the write names.
            return [name for name in linked if name not in base and name != self.tenant]
        # A list of versions is that of the parts, and says nothing of the one document.
        lists = {name for name, one in self.inputs.items() if one.many} if loop is None else set()
        names = known(workload, write, action) - base - {self.tenant}
        return [n for n in sorted(names) if linked.get(n, "") not in lists]

    def source(self, name: str, action: Action, entity: Entity, loop: Loop | None) -> str:
        """The value of an attribute of an existing item."""
        attribute = entity.attribute(name)
        assert attribute is not None  # keys are made of attributes
        linked = links(self.module.workload, self.write, action, entity)
        if is_given_whole(self.write, action, entity):
            if loop is not None and loop.record and name not in linked:
                return LoopValue(f"{loop.record}.{self.module.names.field(entity.name, name)}")
            if loop is None:
                record = self.record(action)
                return f"{record.name}.{self.module.names.field(entity.name, name)}"
        if name in linked and (loop or not self.inputs[linked[name]].many):
            return self.input(linked[name], entity.name, attribute, loop)
        said = said_equal(self.write, action, entity).get(name)
        if said is not None:
            return self.value(said, entity.name, attribute, loop)
        if len(attribute.type.values) == 1:
            return literal(constant(attribute.type.values[0], attribute.type), self.module.imports)
        for at, param in self.records.items():
            other = self.entity(self.actions[at].entity)
            for one in other.attributes:
                held = target(self.module.workload, one)
                if held and held[0] is entity and held[1] is attribute and not self.actions[at].many:
                    return f"{param.name}.{self.module.names.field(other.name, one.name)}"
        if loop is not None:
            return self.listed(KnownValue(entity.name, name, many=True), name, entity.name, attribute, loop)
        return self.param(identifier(name), self.type(entity.name, attribute), KnownValue(entity.name, name)).name

    def base_source(self, name: str, action: Action, entity: Entity, loop: Loop) -> str:
        if self.finds(action):
            return f"{loop.record}.{self.module.names.field(entity.name, name)}"
        return self.source(name, action, entity, loop)
