"""The literal requests of an operation."""

from __future__ import annotations

from prejoin.design.mapping.repetition import repeated_operation
from prejoin.design.model import TABLE, Design, ItemName, Operation
from prejoin.design.requests.contents import content_requests
from prejoin.design.requests.literal import LiteralRequest
from prejoin.design.requests.reads import ReadRequests
from prejoin.design.requests.writes import WriteRequests
from prejoin.workload.model import Workload


def literal_requests(operation: Operation, workload: Workload, design: Design) -> tuple[LiteralRequest, ...]:
    """The requests of an operation as they are sent, in their order.

    There are none for a design by hand with a mistake because of which they cannot be said: the checks report it.
    """
    if not _can_be_sent(operation, workload, design):
        return ()
    reads = ReadRequests(operation, workload, design)
    writes = WriteRequests(operation, workload, design)
    contents = content_requests(operation, workload, design)
    requests: list[LiteralRequest] = []
    for number, request in enumerate(operation.requests):
        requests += contents.get(number, ())
        requests.append(writes.request(request) if request.actions else reads.request(request))
    return tuple(requests)


def _can_be_sent(operation: Operation, workload: Workload, design: Design) -> bool:
    """Whether the document and the design have all that is written, each with a key, and writes write something."""
    if design.slot(TABLE) is None:
        return False
    for request in operation.requests:
        if not request.actions and not request.call.is_read:
            return False
    return all(_has_key(action.item, workload, design) for action in operation.actions)


def _has_key(name: ItemName, workload: Workload, design: Design) -> bool:
    """Whether an item and the one that it is a copy of or belongs to are in the design, each with a key."""
    if workload.entity(name.entity) is None:
        return False
    own, item = design.item(name.entity), design.item(name.entity, name.copy)
    return own is not None and bool(own.facets) and item is not None and bool(item.facets)


def repeated_requests(operation: Operation, workload: Workload, design: Design) -> tuple[LiteralRequest, ...]:
    """The requests of a write that is called again with `again=True`; none if it has no such parameter."""
    second_call = repeated_operation(operation, workload, design)
    return literal_requests(second_call, workload, design) if second_call is not None else ()
