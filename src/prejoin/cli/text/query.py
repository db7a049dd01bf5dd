"""The result of `prejoin query` as text: items in a table for each entity, then the requests and their units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from prejoin.cli.outcome import Line
from prejoin.cli.text.messages import cells, safe
from prejoin.cli.text.tables import table
from prejoin.pipeline.query.query import ENTITY, QueryResult, plain
from prejoin.pipeline.summary import quantity
from prejoin.table.client.observe import Call
from prejoin.workload.program.resolved_read import ReturnKind

_NARROWEST = 12
"""Cells of a column on a narrow terminal. If even these do not fit, each attribute gets a line of its own."""


def query_page(result: QueryResult, width: int | None) -> Iterator[Line]:
    """The pattern, its items, and its requests. Arguments that were made up are marked."""
    pattern, method, items = result.pattern, result.method, result.items
    yield ((f"{pattern.id} ", "bold"), safe(pattern.description or pattern.id))
    arguments = ", ".join(f"{name}={_cell(plain(value))}" for name, value in result.arguments.items())
    yield ((_cut(f"{method.name}({arguments})", width), "dim"),)
    if result.made_up:
        names = ", ".join(name for name in result.arguments if name in result.made_up)
        yield ((_cut(f"made up from the data: {names}", width), "dim"),)
    yield ()
    yield from _items_by_entity(items, width)
    for call in result.calls:
        yield from _call(call, width)
    reads = method.result.kind is not ReturnKind.NOTHING
    item_count = f"{quantity(len(items), 'item')}, " if items or reads else ""
    yield (f"{item_count}{quantity(len(result.calls), 'request')}, {result.units:g} unit{'s' * (result.units != 1)}.",)


def _items_by_entity(items: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[Line]:
    entities = list(dict.fromkeys(item.get(ENTITY, "") for item in items))
    for entity in entities:
        entity_items = [item for item in items if item.get(ENTITY, "") == entity]
        if entity:
            has_count = len(entities) > 1 or len(entity_items) > 1
            yield ((f"{entity}", "bold cyan"), f"  {len(entity_items)}" if has_count else "")
        yield from _items(entity_items, width)
        yield ()


def _call(call: Call, width: int | None) -> Iterator[Line]:
    index = f" on {call.index}" if call.index else ""
    head, units = f"{call.operation}{index}", f"{call.units:g} unit{'s' * (call.units != 1)}"
    first, *more_keys = [safe(key) for key in call.keys]
    if more_keys:  # the keys of a transaction, one below the other
        yield ((head, "green"), f"  {units}")
        yield from ((f"  {_cut(key, width - 2 if width else None)}",) for key in (first, *more_keys))
    else:
        yield ((head, "green"), f"  {_cut(first, width - len(head) - len(units) - 4 if width else None)}  {units}")


def _items(items: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[Line]:
    names = [name for name in dict.fromkeys(name for item in items for name in item) if name != ENTITY]
    rows = [[_cell(item.get(name)) for name in names] for item in items]
    cut_rows = _fit_columns(names, rows, width)
    if cut_rows is None:
        longest = max(map(cells, names))
        for number, row in enumerate(rows):
            if number:
                yield ()
            for name, cell in zip(names, row, strict=True):
                value = _cut(cell, width - longest - 4 if width else None)
                yield (("  " + name + " " * (longest - cells(name) + 2), "dim"), value)
        return
    first, *lines = table([names, *cut_rows], [""] * len(names))
    yield [(piece if isinstance(piece, str) else piece[0], "dim") for piece in first]
    yield from lines


def _fit_columns(names: Sequence[str], rows: list[list[str]], width: int | None) -> list[list[str]] | None:
    """The rows cut to the width of the terminal, the widest column first; None if too little would be left."""
    widths = [max(cells(row[column]) for row in (names, *rows)) for column in range(len(names))]
    if width is None:
        return rows
    while (excess := sum(widths) + 2 * (len(widths) - 1) - width) > 0:
        widest = max(range(len(widths)), key=lambda column: widths[column] - max(_NARROWEST, cells(names[column])))
        room = widths[widest] - max(_NARROWEST, cells(names[widest]))
        if room <= 0:
            return None
        second = sorted(widths)[-2] if len(widths) > 1 else 0
        widths[widest] -= min(excess, room, max(widths[widest] - second, 1))
    return [[_cut(cell, widths[column]) for column, cell in enumerate(row)] for row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return safe(value)
    return safe(msgspec.json.encode(value).decode())


def _cut(text: str, width: int | None) -> str:
    """Cuts a text to some cells of a terminal.

    >>> _cut("maple", 4), _cut("日本語", 5)
    ('map…', '日本…')
    """
    if width is None or cells(text) <= width:
        return text
    end = len(text)
    while end and cells(text[:end]) > width - 1:
        end -= 1
    return f"{text[:end]}…"
