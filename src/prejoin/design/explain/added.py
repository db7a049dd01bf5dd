"""Describes what the client adds to the requests of a pattern by itself: contents stored before, and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prejoin.constructs.construct import DeclaredConstruct
from prejoin.constructs.registry import constructs_of
from prejoin.design.cost.contents import stored_contents
from prejoin.design.model import Design, Operation
from prejoin.design.phrases import coded, count, listed, verb
from prejoin.design.requests.contents import left_contents
from prejoin.design.requests.literal import LiteralRequest, WriteRequest
from prejoin.design.requests.lower import literal_requests
from prejoin.design.requests.placeholders import OwnerSource, Source, StoredSource
from prejoin.keys.content import INLINE
from prejoin.workload.bounds import is_bounded
from prejoin.workload.grammar.quantities import write_size
from prejoin.workload.model import ChangeOp, Workload


def added_words(operation: Operation, workload: Workload, design: Design) -> Iterator[str]:
    """One sentence for each content that the client stores, and for each kind of condition that it adds."""
    yield from content_words(operation, workload, design)
    yield from _presence_sentences(operation, workload, design)
    sources = list(_value_sources(literal_requests(operation, workload, design)))
    # An optimistic condition: a write whose keys depend on a stored value first reads that value, then requires it.
    if compared_names := sorted({source.attribute for source in sources if isinstance(source, StoredSource)}):
        values = verb(compared_names, "has its known value, or that", "have their known values, or those")
        yield f"The client also requires that {coded(compared_names)} {values} read before."
    if bounded_names := _bounded_numbers(operation, workload):
        stays = verb(bounded_names, "stays", "stay")
        yield f"The client also requires that {coded(bounded_names)} {stays} within the bounds."
    if any(isinstance(source, OwnerSource) for source in sources):
        yield "A guard may also be the item's own: the client adds this to its condition."


def content_words(operation: Operation, workload: Workload, design: Design) -> Iterator[str]:
    """The large contents that an operation stores before its items, with what that costs, and those that it leaves."""
    for content in stored_contents(operation, workload, design):
        typical_content = f"one of {write_size(content.size)}"
        large = f"A `{content.name}` of more than {write_size(INLINE)} after compression is stored first"
        if content.stored:
            objects = count(content.object_count, "request")
            yield f"{large}, in the object store: {objects} for {typical_content}, and no units of the table."
        else:
            parts = count(content.part_count, "part")
            yield f"{large}: {parts} and {count(content.write_units, 'write unit')} more for {typical_content}."
    for name in left_contents(operation, workload, design):
        yield f"The old content of `{name}` stays until `remove_garbage` deletes it."


def _bounded_numbers(operation: Operation, workload: Workload) -> list[str]:
    """The numbers with bounds that an operation adds to or takes from, in order.

    These need a condition in the request: only DynamoDB knows the sum.
    """
    names: dict[str, None] = {}
    for action in operation.actions:
        entity = workload.entity(action.item.entity)
        if entity is None or not action.item.is_own:
            continue
        for change in action.changes:
            attribute = entity.attribute(change.attribute)
            is_sum = change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT)
            if is_sum and attribute is not None and is_bounded(attribute):
                names[attribute.name] = None
    return list(names)


def _entity_names(operation: Operation) -> list[str]:
    """The entities whose items an operation reads or writes, in order."""
    names: dict[str, None] = {}
    for request in operation.requests:
        if request.actions:
            names.update((action.item.entity, None) for action in request.actions)
        else:
            names.update(dict.fromkeys(request.entities))
    return list(names)


def _presence_sentences(operation: Operation, workload: Workload, design: Design) -> Iterator[str]:
    """What the client tests by itself of the items: a sentence of each construct, for all entities that have it."""
    names: dict[type[DeclaredConstruct], list[str]] = {}
    constructs: dict[type[DeclaredConstruct], DeclaredConstruct] = {}
    for entity in map(workload.entity, _entity_names(operation)):
        if entity is None:
            continue
        for construct in constructs_of(entity):
            if construct.present(design) is not None:
                names.setdefault(type(construct), []).append(construct.entity.name)
                constructs[type(construct)] = construct
    for kind, construct in constructs.items():
        if words := construct.presence_words(listed(names[kind]), design):
            yield words


def _value_sources(requests: Iterable[LiteralRequest]) -> Iterator[Source]:
    """The sources of the values in the expressions of writes."""
    for request in requests:
        for item in request.items if isinstance(request, WriteRequest) else ():
            yield from item.placeholders.values.values()
            # The request that is sent instead in another case has values of its own.
            if item.otherwise is not None:
                yield from item.otherwise.placeholders.values.values()
