"""The constructs of entities, and what all constructs of one entity say together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, assert_never

from msgspec.structs import replace

from prejoin.constructs.construct import (
    AddedConstruct,
    BoundConstruct,
    Construct,
    DeclaredConstruct,
    EntityConstruct,
    KeptItem,
)
from prejoin.constructs.contents import large_contents_of
from prejoin.constructs.expiry import expiry_of
from prejoin.constructs.history import HistoryConstruct
from prejoin.constructs.sharded_counter import sharded_counter_of
from prejoin.constructs.soft_delete import SoftDeleteConstruct
from prejoin.constructs.unique import unique_values_of
from prejoin.design.model import Design, InputGroup, ItemName
from prejoin.keys import Template, TemplateError
from prejoin.workload.model import (
    Absence,
    Action,
    Attribute,
    Change,
    Comparison,
    Entity,
    Input,
    Leaf,
    Op,
    Presence,
    Test,
    Verb,
    Workload,
)

CONSTRUCTS: tuple[Construct[Any], ...] = (HistoryConstruct(), SoftDeleteConstruct())
"""The constructs that have a line."""

FLAGGED: tuple[Callable[[Entity], DeclaredConstruct | None], ...] = (expiry_of,)
"""The constructs that the flag of an attribute says: each finds that of an entity."""

Binder = Callable[[Entity, Design, tuple[DeclaredConstruct, ...]], Iterator[AddedConstruct]]
ADDED: tuple[Binder, ...] = (unique_values_of, sharded_counter_of, large_contents_of)
"""The constructs that a design adds: each finds those of an entity, which has constructs of the document, too."""


def lines_of(entity: Entity) -> tuple[BoundConstruct, ...]:
    """The constructs of the lines of an entity."""
    bound: tuple[BoundConstruct, ...] | None = entity.memo.get("lines")
    if bound is None:
        values = [(construct, getattr(entity, construct.name)) for construct in CONSTRUCTS]
        bound = tuple(construct.bind(entity, value) for construct, value in values if value is not None)
        entity.memo["lines"] = bound
    return bound


def constructs_of(entity: Entity) -> tuple[DeclaredConstruct, ...]:
    """The constructs that the document declares for an entity: those of its lines, and then those of its flags."""
    constructs: tuple[DeclaredConstruct, ...] | None = entity.memo.get("constructs")
    if constructs is None:
        flag_constructs = (bind(entity) for bind in FLAGGED)
        constructs = (*lines_of(entity), *(construct for construct in flag_constructs if construct is not None))
        entity.memo["constructs"] = constructs
    return constructs


def added_constructs(entity: Entity, design: Design) -> Iterator[AddedConstruct]:
    """The constructs that a design adds to an entity."""
    for bind in ADDED:
        yield from bind(entity, design, constructs_of(entity))


def all_constructs(entity: Entity, design: Design) -> Iterator[EntityConstruct]:
    """The constructs that a design adds to an entity, and then those that the document declares."""
    yield from added_constructs(entity, design)
    yield from constructs_of(entity)


def added_in(workload: Workload, design: Design) -> Iterator[AddedConstruct]:
    """The constructs that a design adds to entities that have a key in it."""
    for bind in ADDED:
        for entity in workload.entities:
            if has_key(entity, design):
                yield from bind(entity, design, constructs_of(entity))


def added_key(construct: AddedConstruct, design: Design) -> tuple[Template, ...]:
    """The templates of the key of its items; none if it has no items, or if the design has mistakes and no such key.

    For whatever is said of designs that people wrote. The checks report the mistakes.
    """
    try:
        return construct.templates(design)
    except TemplateError:
        return ()


def lines_in(workload: Workload, design: Design) -> Iterator[BoundConstruct]:
    """The constructs of the lines of all entities that have a key in a design."""
    for entity in workload.entities:
        if has_key(entity, design):
            yield from lines_of(entity)


def has_key(entity: Entity, design: Design) -> bool:
    """Whether an entity has an item with a key. In a design by hand it may have none."""
    item = design.item(entity.name)
    return item is not None and bool(item.facets and item.facets[0].pk)


def construct_named(name: str) -> Construct[Any]:
    return next(construct for construct in CONSTRUCTS if construct.name == name)


def kept_items(workload: Workload, design: Design) -> Iterator[tuple[Entity, KeptItem]]:
    """The items of constructs in a design, each with its entity."""
    for bound in lines_in(workload, design):
        for item in bound.items(design):
            yield bound.entity, item


def construct_of(entity: Entity, item: ItemName, design: Design) -> EntityConstruct | None:
    """The construct that an item belongs to."""
    if item.is_own or item.copy:
        return None
    if item.construct:
        return next((bound for bound in lines_of(entity) if bound.construct.name == item.construct), None)
    return next((bound for bound in added_constructs(entity, design) if bound.item_name == item), None)


def maintained(entity: Entity) -> frozenset[str]:
    """The attributes that the client writes by itself."""
    return frozenset().union(*(construct.maintained_names for construct in constructs_of(entity)))


def keeps_contents(entity: Entity) -> bool:
    """Whether large contents are still referred to after an item of the entity was changed or deleted."""
    return any(bound.keeps_contents for bound in constructs_of(entity))


def leaves_contents(entity: Entity) -> bool:
    """Whether large contents to which nothing refers any more stay for ever."""
    return any(bound.leaves_contents for bound in constructs_of(entity))


def initial_values(entity: Entity) -> Mapping[str, Any]:
    """The values that a new item has, whatever its object says."""
    return {name: value for bound in constructs_of(entity) for name, value in bound.initial.items()}


def rewritten(workload: Workload, action: Action) -> Action:
    """An action of a document as it is written out."""
    entity = workload.entity(action.entity)
    for construct in constructs_of(entity) if entity else ():
        action = construct.rewrite(action)
    return action


def shorten_action(workload: Workload, action: Action) -> Action:
    """An action as a document has it: the opposite of `rewritten`."""
    entity = workload.entity(action.entity)
    for construct in constructs_of(entity) if entity else ():
        action = construct.shorten(action)
    return action


def client_verb(entity: Entity, action: Action) -> Verb:
    """The method of the client that does an action."""
    verbs = (bound.client_verb(action) for bound in constructs_of(entity))
    return next((verb for verb in verbs if verb is not action.verb), action.verb)


def visible_tests(entity: Entity) -> tuple[Leaf, ...]:
    """What is true of the items that reads return and writes find."""
    return tuple(test for bound in constructs_of(entity) if (test := bound.visible))


def hidden_filters(workload: Workload, entities: Sequence[str]) -> Iterator[InputGroup]:
    """The filters that leave out hidden items. In a read of several entities they are named with their entity."""
    for name in entities:
        entity = workload.entity(name)
        for input_ in hidden_inputs(entity) if entity else ():
            name_of_input = input_.attribute if len(entities) == 1 else f"{name}.{input_.attribute}"
            yield (replace(input_, attribute=name_of_input),)


def hidden_inputs(entity: Entity) -> Iterator[Input]:
    """The filters that leave out hidden items of one entity."""
    for construct in constructs_of(entity):
        match construct.visible:
            case None:
                continue
            case Presence(attribute=attribute):
                input_ = Input(attribute, op=Op.EXISTS)
            case Absence(attribute=attribute):
                input_ = Input(attribute, op=Op.NOT_EXISTS)
            case Comparison(attribute=attribute, op=op, values=values):
                input_ = Input(attribute, op=op, values=values)
            case _:
                assert_never(construct.visible)
        yield replace(input_, filter=True, keeps=construct.visible_percent)


def held_attributes(entity: Entity) -> frozenset[str]:
    """The attributes that every index and copy has to hold, because reads test them."""
    return frozenset().union(*(bound.held_names for bound in constructs_of(entity)))


def present_tests(entity: Entity, design: Design) -> tuple[Test, ...]:
    """What the client tests by itself of the items that reads and writes find. Operations do not list it."""
    return tuple(test for bound in constructs_of(entity) if (test := bound.present(design)))


def vacant_test(entity: Entity, design: Design) -> Test | None:
    """True of the items that a create replaces as if they were absent; None for none."""
    return next((test for bound in constructs_of(entity) if (test := bound.vacant(design))), None)


def ending_of(entity: Entity) -> Attribute | None:
    """The attribute with the time after which DynamoDB deletes an item of an entity; None if it deletes none."""
    return next((ending for bound in constructs_of(entity) if (ending := bound.ending)), None)


def ending_in(entity: Entity, design: Design) -> str:
    """The attribute with the time after which an item of an entity is gone in a design; empty if there is none."""
    ending = ending_of(entity)
    return ending.name if ending is not None and vacant_test(entity, design) is not None else ""


def retention_in(entity: Entity) -> int | None:
    """The seconds that an item is assumed to be kept because of constructs; None if they do not limit them."""
    return next((seconds for bound in constructs_of(entity) if (seconds := bound.retention) is not None), None)


def hiding_constructs(entity: Entity) -> tuple[DeclaredConstruct, ...]:
    """The constructs that hide items of an entity."""
    return tuple(bound for bound in constructs_of(entity) if bound.hidden_words)


def is_hidden(entity: Entity, values: Mapping[str, Any], now: datetime) -> bool:
    """Whether no read returns an item with these values, and no update finds it."""
    return any(bound.is_hidden(values, now) for bound in constructs_of(entity))


def added_changes(entity: Entity, action: Action) -> tuple[Change, ...]:
    """The changes that the client adds to an update."""
    return tuple(change for bound in constructs_of(entity) for change in bound.also_changes(action))
