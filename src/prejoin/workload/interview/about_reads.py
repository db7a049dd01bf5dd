"""Questions about one read: what comes back, in which order, in pages, and how several entities belong together."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from prejoin import types
from prejoin.workload.grammar.answers import (
    COMBINE_FIX,
    read_combine,
    read_page,
    read_result,
    write_combine,
    write_page,
    write_result,
    write_sort,
)
from prejoin.workload.grammar.lexer import Inexact, write_name
from prejoin.workload.interview.step import NONE, Asked, found_entities
from prejoin.workload.lookup import equalities
from prejoin.workload.model import Combine, Pattern, Read, Result, Workload


def ask_result(w: Workload, p: Pattern) -> Asked:
    read = cast(Read, p)
    given = write_result(read.result, read.needs, read.limit) if read.result else _likely_result(w, read)
    return "What comes back: Single, Collection or Count?", given


def _likely_result(w: Workload, read: Read) -> str:
    if len(read.entities) != 1 or any(i.many for i in read.inputs):
        return Result.MANY.value
    entity, known = found_entities(w, read), set(equalities(read))
    if not entity:
        return Result.MANY.value
    unique = any(a.unique and a.name in known for a in entity[0].attributes)
    whole = bool(entity[0].id) and all(a.name in known for a in entity[0].id)
    return Result.ONE.value if unique or whole or entity[0].singleton else Result.MANY.value


def take_result(w: Workload, p: Pattern, text: str) -> Pattern:
    result, needs, limit = read_result(text)
    if result is not Result.MANY:
        p = replace(p, sort=(), paginated=False if result is Result.ONE else None, page=None)
    return replace(p, result=result, needs=needs, limit=limit)


def ask_combine(w: Workload, p: Pattern) -> Asked:
    read = cast(Read, p)
    default = write_combine(read.combine or Combine.COLLECTION, read.via)
    return "How do they belong together: Collection or Join?", default


def take_combine(w: Workload, p: Pattern, text: str) -> Pattern:
    combine, via = read_combine(text)
    if isinstance(combine, bool):
        raise Inexact("there are several entities, so it has to be said how", COMBINE_FIX)
    return replace(p, combine=combine, via=via)


def ask_sort(w: Workload, p: Pattern) -> Asked:
    attributes = [a for e in found_entities(w, p) for a in e.attributes]
    dated = next((a for a in attributes if a.type.kind in {types.Kind.DATETIME, types.Kind.DATE}), None)
    example = (
        f"{write_name(dated.name)} DESC" if dated else f"{write_name(attributes[-1].name)} ASC" if attributes else ""
    )
    words = f"In which order? Such as `{example}`." if example else "In which order?"
    return words, write_sort(cast(Read, p).sort) or NONE


def ask_page(w: Workload, p: Pattern) -> Asked:
    read = cast(Read, p)
    default = "No" if read.limit else "Yes" if read.paginated is None else write_page(read.paginated, read.page)
    return "Does it come in pages?", default


def take_page(w: Workload, p: Pattern, text: str) -> Pattern:
    paginated, page = read_page({"y": "yes", "n": "no"}.get(text.strip().lower(), text))
    return replace(p, paginated=paginated, page=page)
