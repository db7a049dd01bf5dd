"""The literal requests of an operation."""

from __future__ import annotations

from prejoin.design.mapping.repetition import repeated_operation
from prejoin.design.model import TABLE, Design, Operation
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
    for number, one in enumerate(operation.requests):
        requests += contents.get(number, ())
        requests.append(writes.request(one) if one.actions else reads.request(one))
    return tuple(requests)


def _can_be_sent(operation: Operation, workload: Workload, design: Design) -> bool:
    """Whether the document and the design have all that is written, each with a key, and writes write something."""
    if design.slot(TABLE) is None:
        return False
    for request in operation.requests:
        if not request.actions and not request.call.is_read:
            return False
        for action in request.actions:
            items = (design.item(action.item.entity), design.item(action.item.entity, action.item.copy))
            if workload.entity(action.item.entity) is None or any(item is None or not item.facets for item in items):
                return False
    return True


def repeated_requests(operation: Operation, workload: Workload, design: Design) -> tuple[LiteralRequest, ...]:
    """The requests of a write that is called again with `again=True`; none if it has no such parameter."""
    repeated = repeated_operation(operation, workload, design)
    return literal_requests(repeated, workload, design) if repeated is not None else ()
