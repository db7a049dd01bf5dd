"""What `prejoin query` shows: items as tables, one for each entity, as wide as the terminal; requests and units."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from prejoin.cli.outcome import Line
from prejoin.cli.output import table
from prejoin.cli.text.messages import cells, counted, safe
from prejoin.render.python.method import Method
from prejoin.table import Call
from prejoin.workload.model import Pattern

_LEAST = 12
"""Cells that a column keeps where the terminal is narrow; with less of each, items are shown one below the other."""
_ENTITY = "entity"


def items_of(answer: Any) -> list[dict[str, Any]]:
    """What was found, as plain data: each item with its entity."""
    if answer is None:
        return []
    if isinstance(answer, int):
        return [{"count": answer}]
    if isinstance(answer, Mapping):
        return [one for value in answer.values() for one in items_of(value)]
    if isinstance(answer, tuple):  # a read and those that it names, by their ids
        return [one for part in answer for one in items_of(part)]
    found = answer.items if hasattr(answer, "cursor") else answer if isinstance(answer, list) else [answer]
    return [_record(one) for one in found]


def cursor_of(answer: Any) -> str | None:
    page = answer[0] if isinstance(answer, tuple) and answer else answer
    return getattr(page, "cursor", None)


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    return msgspec.to_builtins(value, enc_hook=_plain)


def _record(one: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(one):
        values = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        return {_ENTITY: type(one).__name__, **plain(values)}
    return {"value": plain(one)}


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


def page(
    asked: Pattern,
    method: Method,
    values: Mapping[str, Any],
    items: Sequence[Mapping[str, Any]],
    calls: Sequence[Call],
    width: int | None,
    made_up: frozenset[str] = frozenset(),
) -> Iterator[Line]:
    """The pattern, what it found, and what that took. Arguments that were made up are marked."""
    yield ((f"{asked.id} ", "bold"), safe(asked.description or asked.id))
    arguments = ", ".join(f"{name}={_cell(plain(value))}" for name, value in values.items())
    yield ((_cut(f"{method.name}({arguments})", width), "dim"),)
    if made_up:
        yield ((_cut(f"made up from the data: {', '.join(name for name in values if name in made_up)}", width), "dim"),)
    yield ()
    kinds = list(dict.fromkeys(item.get(_ENTITY, "") for item in items))
    for kind in kinds:
        own = [item for item in items if item.get(_ENTITY, "") == kind]
        if kind:
            yield ((f"{kind}", "bold cyan"), f"  {len(own)}" if len(kinds) > 1 or len(own) > 1 else "")
        yield from _items(own, width)
        yield ()
    for call in calls:
        yield from _call(call, width)
    used = sum(call.units for call in calls)
    found = (
        f"{counted(len(items), 'item')}, "
        if items or (isinstance(method.result, str) and method.result != "None")
        else ""
    )
    yield (f"{found}{counted(len(calls), 'request')}, {used:g} unit{'s' * (used != 1)}.",)


def _call(call: Call, width: int | None) -> Iterator[Line]:
    where = f" on {call.index}" if call.index else ""
    head, units = f"{call.operation}{where}", f"{call.units:g} unit{'s' * (call.units != 1)}"
    first, *others = [safe(key) for key in call.key.split(", ")]
    if others:  # a transaction: what it is about, one below the other
        yield ((head, "green"), f"  {units}")
        yield from ((f"  {_cut(key, width - 2 if width else None)}",) for key in (first, *others))
    else:
        yield ((head, "green"), f"  {_cut(first, width - len(head) - len(units) - 4 if width else None)}  {units}")


def _items(items: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[Line]:
    names = [name for name in dict.fromkeys(name for item in items for name in item) if name != _ENTITY]
    rows = [[_cell(item.get(name)) for name in names] for item in items]
    fitted = _fitted(names, rows, width)
    if fitted is None:
        longest = max(map(cells, names))
        for at, row in enumerate(rows):
            if at:
                yield ()
            for name, cell in zip(names, row, strict=True):
                value = _cut(cell, width - longest - 4 if width else None)
                yield (("  " + name + " " * (longest - cells(name) + 2), "dim"), value)
        return
    first, *rest = table([names, *fitted], [""] * len(names))
    yield [(piece if isinstance(piece, str) else piece[0], "dim") for piece in first]
    yield from rest


def _fitted(names: Sequence[str], rows: list[list[str]], width: int | None) -> list[list[str]] | None:
    """The rows cut to the width of the terminal, the widest column first; None where too little would be left."""
    widths = [max(cells(row[at]) for row in (names, *rows)) for at in range(len(names))]
    if width is None:
        return rows
    while (over := sum(widths) + 2 * (len(widths) - 1) - width) > 0:
        at = max(range(len(widths)), key=lambda one: widths[one] - max(_LEAST, cells(names[one])))
        room = widths[at] - max(_LEAST, cells(names[at]))
        if room <= 0:
            return None
        second = sorted(widths)[-2] if len(widths) > 1 else 0
        widths[at] -= min(over, room, max(widths[at] - second, 1))
    return [[_cut(cell, widths[at]) for at, cell in enumerate(row)] for row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return safe(value)
    return safe(msgspec.json.encode(value).decode())


def _cut(text: str, width: int | None) -> str:
    """A text as it fits into some cells of a terminal.

    >>> _cut("maple", 4), _cut("日本語", 5)
    ('map…', '日本…')
    """
    if width is None or cells(text) <= width:
        return text
    end = len(text)
    while end and cells(text[:end]) > width - 1:
        end -= 1
    return f"{text[:end]}…"
