"""Where the tables of access patterns in a document say something else than its keys do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from prejoin.design.document import codes, titles
from prejoin.design.document.cells import NONE
from prejoin.design.document.mapping import Cells, read_rows_of, write_rows_of
from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic
from prejoin.workload.document.tables import Row
from prejoin.workload.model import Workload

_COMPARED = (
    "Operation", "Action", "Item", "Table or Index", "Partition Key", "Sort Key", "Parameters", "Changes", "Conditions",
)  # fmt: skip
_FIX = "write the design again; the operation follows from the keys and the access patterns"


def stale_rows(
    design: Design, workload: Workload, found: Mapping[str, Sequence[Row]], tables: Collection[str]
) -> Iterator[Diagnostic]:
    """A warning for each pattern that is told in another way than the keys would have it. Missing tables are none."""
    for kind, patterns, rows_of in (
        (titles.READS, workload.reads, read_rows_of),
        (titles.WRITES, workload.writes, write_rows_of),
        (titles.DELETES, workload.deletes, write_rows_of),
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


def _compared(id_: str, wanted: Sequence[Cells], rows: Sequence[Row]) -> Iterator[Diagnostic]:
    """The first difference, if there is any."""
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
    """A cell without what makes no difference."""
    bare = "".join(text.replace("`", "").split())
    return "" if bare.lower() in NONE else bare
