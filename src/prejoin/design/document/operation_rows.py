"""The operation of each access pattern as table rows, and warnings for rows that differ from the keys.

The keys decide. The rows are for people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from prejoin.design import codes
from prejoin.design.document import headings
from prejoin.design.document.cells import NONE, write_code, write_name, write_prose
from prejoin.design.model import Call, Design, Did, ItemAction, Operation, Request, Units
from prejoin.design.operation_text import change_text, condition_text, filter_text, put_text
from prejoin.diagnostics import Diagnostic
from prejoin.protocol.limits import BATCH_GET_KEYS
from prejoin.workload.document.columns import TableRow
from prejoin.workload.model import Pattern, Read, Workload

NOT_SERVED = "not served"
Cells = Mapping[str, str]


def read_rows_of(pattern: Pattern, operation: Operation) -> Iterator[Cells]:
    """The rows of a read: one for each request."""
    yield from _complete_rows(pattern, operation, [_request_cells(request) for request in operation.requests])


def write_rows_of(pattern: Pattern, operation: Operation, key: str) -> Iterator[Cells]:
    """The rows of a write or delete: one for each item. `key` is the partition key of the table."""
    rows = chain.from_iterable(_action_rows(request, key) for request in operation.requests)
    yield from _complete_rows(pattern, operation, list(rows))


def rows_of(pattern: Pattern, operation: Operation, key: str) -> Iterator[Cells]:
    """The rows of a pattern."""
    if isinstance(pattern, Read):
        return read_rows_of(pattern, operation)
    return write_rows_of(pattern, operation, key)


def _complete_rows(pattern: Pattern, operation: Operation, rows: list[dict[str, str]]) -> Iterator[Cells]:
    """The rows of one pattern; the first one has what applies to all."""
    if not operation.served:
        rows = [{"Operation": NOT_SERVED}, *rows]
    elif not rows:
        rows = [{}]
    head = {
        "Description": write_prose(pattern.description or pattern.name),
        "Units": _units(operation.units),
        "Remarks": write_prose("; ".join(_remarks(operation))),
    }
    empty = dict.fromkeys(head, "")
    for number, row in enumerate(rows):
        yield {"ID": pattern.id, **row, **(head if number == 0 else empty)}


def _remarks(operation: Operation) -> Iterator[str]:
    if operation.problem:
        yield operation.problem
    if operation.remedy:
        yield operation.remedy
    if operation.requires:
        yield f"requires {', '.join(write_code(condition_text(test)) for test in operation.requires)}"
    if operation.assumes:
        yield f"the caller knows {', '.join(map(write_code, operation.assumes))}"


def _request_cells(request: Request) -> dict[str, str]:
    return {
        "Operation": request.call.value,
        "Table or Index": write_name(request.slot),
        "Partition Key": write_code(request.pk) if request.pk else "-",
        "Sort Key": write_code(str(request.sk)) if request.sk else "-",
        "Parameters": ", ".join(_parameters(request)) or "-",
    }


def _parameters(request: Request) -> Iterator[str]:
    # One piece: a list of the parameters in the order of the column. None depends on another.
    if request.counter:
        yield f"sum of {request.shards} shards of {write_code(str(request.counter))}"
    elif request.shards > 1:
        yield f"{request.shards} shards, each a request"
    if request.bucket:
        yield f"each {request.bucket} a request"
    if request.each:
        yield _repetition_text(request)
    if request.reverse:
        yield "ScanIndexForward=false"
    if request.limit:
        yield f"Limit={request.limit}"
    if request.consistent:
        yield "ConsistentRead=true"
    if request.count:
        yield "Select=COUNT"
    if request.filters:
        yield f"Filter {' and '.join(write_code(filter_text(group)) for group in request.filters)}"
    if request.attributes:
        yield f"Projection {' '.join(map(write_code, request.attributes))}"


def _repetition_text(request: Request) -> str:
    each = write_code(request.each)
    if request.call is Call.BATCH_GET:
        return f"a key for each {each}, up to {BATCH_GET_KEYS} in a request"
    # A TransactGetItems has all keys in one request: if they are too many for one, there is no transaction.
    if request.call is Call.TRANSACT_GET:
        return f"a key for each {each}"
    return f"each {each} a request"


def _action_rows(request: Request, key: str) -> Iterator[dict[str, str]]:
    if not request.actions:
        yield _request_cells(request)
    for action in request.actions:
        yield {
            "Operation": request.call.value,
            "Action": action.action.value if request.call in _CALLS_WITH_SEVERAL_ACTIONS else "-",
            "Item": write_code(str(action.item) + "[]" * action.many),
            "Partition Key": write_code(action.pk) if action.pk else "-",
            "Sort Key": write_code(action.sk) if action.sk else "-",
            "Changes": "; ".join(map(write_code, _change_texts(action))) or "-",
            "Conditions": " and ".join(_condition_texts(action, key)) or "-",
        }


def _change_texts(action: ItemAction) -> Iterator[str]:
    """The changes of an update; of a put, the values that the access pattern gives its item."""
    for change in action.changes:
        if action.action is not Did.PUT:
            yield change_text(change)
        elif change.value is not None:
            yield put_text(change)


def _condition_texts(action: ItemAction, key: str) -> Iterator[str]:
    yield from (write_code(condition_text(test, key)) for test in action.conditions)
    yield from (f"{write_code(condition_text(test, key))} of the new item" for test in action.compared)


_CALLS_WITH_SEVERAL_ACTIONS = frozenset({Call.TRANSACT_WRITE, Call.BATCH_WRITE})


def _units(units: Units | None) -> str:
    """Predicted units of one call.

    >>> _units(Units(read=0.5)), _units(None)
    ('0.5 read', '-')
    """
    if units is None:
        return "-"
    parts = [f"{number:g} {word}" for number, word in ((units.read, "read"), (units.write, "write")) if number]
    return " + ".join(parts) or "-"


_COMPARED_COLUMNS = (
    "Operation", "Action", "Item", "Table or Index", "Partition Key", "Sort Key", "Parameters", "Changes", "Conditions",
)  # fmt: skip
_FIX = (
    "write the design again, with `--keep` and this file; the operation follows from the keys and the access patterns"
)


def stale_rows(
    design: Design, workload: Workload, rows_by_id: Mapping[str, Sequence[TableRow]], tables: Collection[str]
) -> Iterator[Diagnostic]:
    """A warning for each pattern whose rows differ from the mapped operation. Missing tables are ignored."""
    patterns_by_table: dict[str, Sequence[Pattern]] = {
        headings.READS: workload.reads,
        headings.WRITES: workload.writes,
        headings.DELETES: workload.deletes,
    }
    for table, patterns in patterns_by_table.items():
        if table not in tables:
            continue
        for pattern in patterns:
            operation = design.operation(pattern.id)
            rows = rows_by_id.get(pattern.id, ())
            if operation is None:
                continue
            if not rows:
                yield codes.STALE.at(None, f"{pattern.id} is not among the {table.lower()} of the design", _FIX)
                continue
            yield from _first_difference(pattern.id, list(rows_of(pattern, operation, design.partition_key)), rows)
    pattern_ids = {pattern.id for pattern in workload.patterns}
    for id_, rows in rows_by_id.items():
        if id_ not in pattern_ids:
            yield codes.STALE.at(rows[0].first.span(), f"there is no access pattern `{id_}`", _FIX)


def _first_difference(
    pattern_id: str, expected_rows: Sequence[Cells], rows: Sequence[TableRow]
) -> Iterator[Diagnostic]:
    """A warning for the first difference, if there is one."""
    for expected_cells, row in zip(expected_rows, rows, strict=False):
        for column in _COMPARED_COLUMNS:
            cell = row.cells.get(column)
            # A column may be missing: people delete those that they do not need.
            if cell is not None and bare_text(cell.text) != bare_text(expected_cells.get(column, "")):
                expected_text = expected_cells.get(column, "-")
                message = f"{pattern_id} has {column} {cell.text or '-'} here; by the keys it is {expected_text}"
                yield codes.STALE.at(cell.span(), message, _FIX)
                return
    if len(expected_rows) != len(rows):
        message = f"{pattern_id} takes {len(rows)} rows here; by the keys it is {len(expected_rows)}"
        yield codes.STALE.at(rows[-1].first.span(), message, _FIX)


def bare_text(text: str) -> str:
    """A cell without markup and spaces."""
    bare = "".join(text.replace("`", "").split())
    return "" if bare.lower() in NONE else bare
