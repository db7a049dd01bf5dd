"""The operation of each access pattern as table rows, and warnings for rows that differ from the keys.

The keys decide. The rows are for people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from prejoin.design import codes
from prejoin.design.document import headings
from prejoin.design.document.cells import NONE, write_code, write_name, write_prose
from prejoin.design.model import Call, Design, ItemAction, Operation, Request, Units
from prejoin.diagnostics import Diagnostic
from prejoin.protocol.limits import BATCH_GET_KEYS
from prejoin.workload.document.tables import TableRow
from prejoin.workload.model import Pattern, Workload

NOT_SERVED = "not served"
Cells = Mapping[str, str]


def read_rows_of(pattern: Pattern, operation: Operation) -> Iterator[Cells]:
    """The rows of a read: one for each request."""
    yield from _headed(pattern, operation, [_request(request) for request in operation.requests])


def write_rows_of(pattern: Pattern, operation: Operation) -> Iterator[Cells]:
    """The rows of a write or delete: one for each item."""
    rows = [row for request in operation.requests for row in _actions(request)]
    yield from _headed(pattern, operation, rows)


def _headed(pattern: Pattern, operation: Operation, rows: list[dict[str, str]]) -> Iterator[Cells]:
    """The rows of one pattern; the first one has what applies to all."""
    if not operation.served or not rows:
        rows = [{"Operation": NOT_SERVED}, *rows] if not operation.served else rows or [{}]
    assumed = f"the caller knows {', '.join(map(write_code, operation.assumes))}" if operation.assumes else ""
    required = f"requires {', '.join(map(write_code, operation.requires))}" if operation.requires else ""
    remarks = "; ".join(text for text in (operation.problem, operation.remedy, required, assumed) if text)
    for number, row in enumerate(rows):
        head = {"ID": pattern.id, **row}
        first = (write_prose(pattern.description or pattern.name), _units(operation.units), write_prose(remarks))
        told = first if number == 0 else ("", "", "")
        yield {**head, **dict(zip(("Description", "Units", "Remarks"), told, strict=True))}


def _request(request: Request) -> dict[str, str]:
    return {
        "Operation": request.call.value,
        "Table or Index": write_name(request.slot),
        "Partition Key": write_code(request.pk) if request.pk else "-",
        "Sort Key": write_code(request.sk) if request.sk else "-",
        "Parameters": ", ".join(_parameters(request)) or "-",
    }


def _parameters(request: Request) -> Iterator[str]:
    if request.counter:
        yield f"sum of {request.shards} shards of {write_code(request.counter)}"
    elif request.shards > 1:
        yield f"{request.shards} shards, each a request"
    if request.bucket:
        yield f"each {request.bucket} a request"
    if request.each and request.call is Call.BATCH_GET:
        yield f"a key for each {write_code(request.each)}, up to {BATCH_GET_KEYS} in a request"
    elif request.each and request.call is Call.TRANSACT_GET:
        yield f"a key for each {write_code(request.each)}"
    elif request.each:
        yield f"each {write_code(request.each)} a request"
    if request.reverse:
        yield "ScanIndexForward=false"
    if request.limit:
        yield f"Limit={request.limit}"
    if request.consistent:
        yield "ConsistentRead=true"
    if request.count:
        yield "Select=COUNT"
    if request.filters:
        yield f"Filter {' and '.join(map(write_code, request.filters))}"
    if request.attributes:
        yield f"Projection {' '.join(map(write_code, request.attributes))}"


def _actions(request: Request) -> Iterator[dict[str, str]]:
    if not request.actions:
        yield _request(request)
    for action in request.actions:
        yield {
            "Operation": request.call.value,
            "Action": action.action.value if request.call in _SEVERAL else "-",
            "Item": write_code(action.item + "[]" * action.many),
            "Partition Key": write_code(action.pk) if action.pk else "-",
            "Sort Key": write_code(action.sk) if action.sk else "-",
            "Changes": "; ".join(map(write_code, action.changes)) or "-",
            "Conditions": " and ".join(_conditions(action)) or "-",
        }


def _conditions(action: ItemAction) -> Iterator[str]:
    yield from map(write_code, action.conditions)
    yield from (f"{write_code(text)} of the new item" for text in action.compared)


_SEVERAL = frozenset({Call.TRANSACT_WRITE, Call.BATCH_WRITE})


def _units(units: Units | None) -> str:
    """Predicted units of one call.

    >>> _units(Units(read=0.5)), _units(None)
    ('0.5 read', '-')
    """
    if units is None:
        return "-"
    parts = [f"{number:g} {word}" for number, word in ((units.read, "read"), (units.write, "write")) if number]
    return " + ".join(parts) or "-"


_COMPARED = (
    "Operation", "Action", "Item", "Table or Index", "Partition Key", "Sort Key", "Parameters", "Changes", "Conditions",
)  # fmt: skip
_FIX = (
    "write the design again, with `--keep` and this file; the operation follows from the keys and the access patterns"
)


def stale_rows(
    design: Design, workload: Workload, found: Mapping[str, Sequence[TableRow]], tables: Collection[str]
) -> Iterator[Diagnostic]:
    """A warning for each pattern whose rows differ from the mapped operation. Missing tables are ignored."""
    for kind, patterns, rows_of in (
        (headings.READS, workload.reads, read_rows_of),
        (headings.WRITES, workload.writes, write_rows_of),
        (headings.DELETES, workload.deletes, write_rows_of),
    ):
        for pattern in patterns:
            operation = design.operation(pattern.id)
            rows = found.get(pattern.id, ())
            if operation is None or kind not in tables:
                continue
            if not rows:
                yield codes.STALE.at(None, f"{pattern.id} is not among the {kind.lower()} of the design", _FIX)
                continue
            yield from _compared(pattern.id, list(rows_of(pattern, operation)), rows)
    known = {pattern.id for pattern in workload.patterns}
    for id_, rows in found.items():
        if id_ not in known:
            yield codes.STALE.at(rows[0].first.span(), f"there is no access pattern `{id_}`", _FIX)


def _compared(id_: str, wanted: Sequence[Cells], rows: Sequence[TableRow]) -> Iterator[Diagnostic]:
    """A warning for the first difference, if there is one."""
    for expected, row in zip(wanted, rows, strict=False):
        for column in _COMPARED:
            cell = row.cells.get(column)
            if cell is not None and _same(cell.text) != _same(expected.get(column, "")):
                said, right = cell.text or "-", expected.get(column, "-")
                message = f"{id_} has {column} {said} here; by the keys it is {right}"
                yield codes.STALE.at(cell.span(), message, _FIX)
                return
    if len(wanted) != len(rows):
        message = f"{id_} takes {len(rows)} rows here; by the keys it is {len(wanted)}"
        yield codes.STALE.at(rows[-1].first.span(), message, _FIX)


def _same(text: str) -> str:
    """A cell without markup and spaces."""
    bare = "".join(text.replace("`", "").split())
    return "" if bare.lower() in NONE else bare
