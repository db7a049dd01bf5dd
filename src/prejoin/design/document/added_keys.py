"""Keys in a design document that nobody chooses: those of guards, of counters' shards and of a construct's items.

They follow from the rest of the design, so the reader does not take them from the document. A key that somebody changed
there would be built as if it had not been changed: a warning is not enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from prejoin.constructs.construct import AddedConstruct
from prejoin.constructs.registry import added_in, added_key, lines_in
from prejoin.design import codes
from prejoin.design.document.cells import write_code, write_name
from prejoin.design.document.operation_rows import Cells, bare_text
from prejoin.design.model import Design, ItemName
from prejoin.diagnostics import Diagnostic
from prejoin.keys import Template
from prejoin.workload.document.columns import TableRow
from prejoin.workload.model import Workload

_KEY_COLUMNS = ("Partition Key", "Sort Key")
_FIX = "write the key as it was: the client uses no other, and finds no items under another one"


def added_key_cells(construct: AddedConstruct | None, design: Design) -> dict[str, str]:
    """The cells of the key of a guard or a shard; empty if the design has a mistake and there is no such key."""
    templates = added_key(construct, design) if construct else ()
    return key_cells(templates) if templates else {}


def key_cells(templates: Sequence[Template]) -> dict[str, str]:
    """The cells of a key."""
    pk, *sk = (template.text for template in templates)
    return {"Partition Key": _write_template(pk), "Sort Key": _write_template("".join(sk))}


def changed_keys(
    design: Design,
    workload: Workload,
    added_rows: Mapping[ItemName, TableRow],
    construct_rows: Mapping[str, Sequence[TableRow]],
) -> Iterator[Diagnostic]:
    """An error for each row whose key differs from the one that follows from the design.

    `added_rows` has the rows of guards and counters, `construct_rows` those of a construct's section, by its title.
    """
    constructs = {construct.item_name: construct for construct in added_in(workload, design)}
    for name, row in added_rows.items():
        yield from _difference(row, added_key_cells(constructs.get(name), design))
    for line in lines_in(workload, design):
        section = line.construct.section
        for row in construct_rows.get(section.title, ()) if section else ():
            if row.cells["Entity"].text.strip("`* ") == write_name(line.entity.name).strip("`"):
                yield from _difference(row, line.design_row(design))


def _difference(row: TableRow, expected_cells: Cells) -> Iterator[Diagnostic]:
    for column in _KEY_COLUMNS:
        cell, expected_text = row.cells.get(column), expected_cells.get(column)
        # A column may be missing: people delete those that they do not need.
        if cell is None or expected_text is None or bare_text(cell.text) == bare_text(expected_text):
            continue
        message = f"{column} is {cell.text or '-'} here, and can only be {expected_text}"
        yield codes.FIXED_KEY.at(cell.span(), message, _FIX)


def _write_template(text: str) -> str:
    return write_code(text) if text else "-"
