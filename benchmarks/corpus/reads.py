"""Converts reads of a corpus file, and parts that reads and writes share: inputs, filters, rates, extra columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from corpus.source import Fields, in_words, own_titles
from prejoin.workload.document.columns import known_names
from prejoin.workload.document.tables import READS, WRITES
from prejoin.workload.grammar.inputs import read_inputs
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.quantities import read_rate
from prejoin.workload.lookup import target
from prejoin.workload.model import (
    Combine,
    Consistency,
    Direction,
    Entity,
    Input,
    Op,
    Per,
    Rate,
    Read,
    Result,
    Sort,
    Value,
    Workload,
)

_OPS = {
    **{op.value: op for op in Op},
    "eq": Op.EQ, "equals": Op.EQ, "equal": Op.EQ, "==": Op.EQ, "ne": Op.NE, "not_equals": Op.NE, "!=": Op.NE,
    "lt": Op.LT, "before": Op.LT, "le": Op.LE, "lte": Op.LE, "gt": Op.GT, "after": Op.GT, "ge": Op.GE, "gte": Op.GE,
    "range": Op.BETWEEN, "prefix": Op.BEGINS_WITH, "starts_with": Op.BEGINS_WITH, "begins with": Op.BEGINS_WITH,
    "not_exists": Op.NOT_EXISTS,
}  # fmt: skip
_NOW = {"not expired": Op.GT, "in the future": Op.GT, "expired": Op.LE, "in the past": Op.LE}
_RESULTS = {
    **dict.fromkeys(("one", "single"), Result.ONE),
    **dict.fromkeys(("many", "all", "page", "collection", "list"), Result.MANY),
    "count": Result.COUNT,
}
_DIRECTIONS = {
    **dict.fromkeys(("asc", "ascending", "chronological", "oldest first", ""), Direction.ASC),
    **dict.fromkeys(("desc", "descending", "reverse chronological", "newest first"), Direction.DESC),
}
_RATES = {
    **dict.fromkeys(("per_s", "per_second", "value", "avg_per_s", "average_per_s"), Per.SECOND),
    **dict.fromkeys(("per_min", "per_minute"), Per.MINUTE),
    **dict.fromkeys(("per_h", "per_hour", "hourly"), Per.HOUR),
    **dict.fromkeys(("per_day", "daily"), Per.DAY),
    **dict.fromkeys(("per_month", "monthly"), Per.MONTH),
}
OWN = ("Stated", "Frequency in words", "Condition in words")
"""Columns that only converted documents have."""


def convert_read(fields: Fields, workload: Workload) -> Read:
    entities = names_of_entities(fields, workload)
    inputs = convert_inputs(fields)
    combine = _combine(workload, entities, inputs) if len(entities) > 1 else None
    if combine is Combine.JOIN:
        entities = _naming_first(workload, entities, inputs)
    consistency = fields.word("consistency").lower()
    if consistency not in {"", *(c.value.lower() for c in Consistency)}:
        raise fields.error("consistency", f"`{consistency}` is not eventual, strong or transactional")
    rate, frequency = convert_rate(fields)
    return Read(
        id=fields.word("id"),
        name=fields.words("name"),
        entities=entities,
        description=convert_description(fields),
        inputs=inputs,
        result=_result(fields, workload, entities, inputs),
        needs=fields.names("needs"),
        limit=fields.whole("limit") or None,
        sort=_sort(fields),
        paginated=fields.flag("paginated"),
        rate=rate,
        consistency=Consistency(consistency.capitalize()) if consistency else None,
        combine=combine,
        verbatim=own_columns(fields, {"Frequency in words": frequency}),
    )


def names_of_entities(fields: Fields, workload: Workload) -> tuple[str, ...]:
    names = fields.names("entities") or fields.names("entity")
    if not names:
        raise fields.error("entities", "is missing")
    for name in names:
        if workload.entity(name) is None:
            raise fields.error("entities", f"there is no entity `{name}`")
    return tuple(dict.fromkeys(names))


def convert_description(fields: Fields) -> str:
    description, notes = fields.words("description"), fields.words("notes")
    return f"{description} ({notes})" if description and notes else description or notes


def own_columns(fields: Fields, columns: dict[str, str]) -> dict[str, str]:
    """The extra columns of the document for this source, with fields that are not known."""
    columns = {"Stated": fields.words("stated"), **columns}
    found = {name: text for name, text in columns.items() if text}
    return {**found, **own_titles(fields.rest(), known_names([*READS.columns, *WRITES.columns]), found)}


# --- Inputs -----------------------------------------------------------------------------------------------------------


def convert_inputs(fields: Fields) -> tuple[Input, ...]:
    """The inputs: `given`, then `range`, then `filter`, each in the source's order."""
    inputs = _given(fields)
    inputs += _in_grammar(fields, "range")
    for one in [] if isinstance(fields.get("range"), str) else _each(fields, "range"):
        inputs.append(_compared(one, one.word("attr") or one.word("attribute"), one.get("op"), one.get("value")))
    filters = fields.get("filter")
    if isinstance(filters, str):
        inputs += [msgspec.structs.replace(one, filter=True) for one in _in_grammar(fields, "filter")]
    elif isinstance(filters, list):
        inputs += [Input(name, filter=True) for name in fields.names("filter")]
    else:
        for name, how in fields.mapping("filter").items():
            inputs.append(_filter(fields, name, how))
    return tuple(inputs)


def _in_grammar(fields: Fields, name: str) -> list[Input]:
    """The inputs of a field that is a text in the document's grammar: `createdAt last 7 days`."""
    text = fields.get(name)
    if not isinstance(text, str):
        return []
    try:
        return list(read_inputs(text))
    except Inexact as problem:
        raise fields.error(name, problem.message) from problem


def _given(fields: Fields) -> list[Input]:
    value = fields.get("given")
    if isinstance(value, dict):
        return [Input(name, values=_values(constant)) for name, constant in fields.mapping("given").items()]
    found = []
    for name in fields.names("given"):
        plain = name.removesuffix("?").removesuffix("[]")
        found.append(Input(plain, optional=name.endswith("?"), many="[]" in name[len(plain) :]))
    return found


def _each(fields: Fields, name: str) -> list[Fields]:
    """The mappings of a field that has one or several."""
    value = fields.get(name)
    if isinstance(value, dict):
        return [fields.fields(name)]
    return fields.entries(name, "attr")


def _compared(fields: Fields, name: str, op: object, value: object, filtered: bool = False) -> Input:
    if not name:
        raise fields.error("attr", "is missing")
    known = _OPS.get(in_words(op).lower()) if op is not None else Op.EQ
    if known is None:
        raise fields.error("op", f"`{in_words(op)}` is not an operator")
    values = _values(value)
    if values and known is not Op.IN and len(values) != known.arity:
        raise fields.error("value", f"`{known}` takes {known.arity} values, not {len(values)}")
    return Input(name, known, values, filter=filtered)


def _filter(fields: Fields, name: str, how: object) -> Input:
    where = Fields({}, f"{fields.where}: filter.{name}")
    if isinstance(how, dict):
        found = _compared(where, name, how.get("op"), how.get("value"), filtered=True)
        keeps = Fields(how, where.where).number("keeps")
        return msgspec.structs.replace(found, keeps=float(keeps)) if keeps is not None else found
    word = in_words(how)
    if word.lower() in _NOW:
        return Input(name, _NOW[word.lower()], (Value(now=0),), filter=True)
    if word.lower() in _OPS:
        return Input(name, _OPS[word.lower()], filter=True)
    match = re.fullmatch(r"(=|==|<>|!=|<=?|>=?|equals)\s*(.+)", word)
    if match:
        return Input(name, _OPS[match[1]], (Value(const=match[2].strip("'\"")),), filter=True)
    if not word or " " in word:
        raise where.error("op", f"`{word}` is not an operator")
    return Input(name, values=(Value(const=word),), filter=True)


def _values(value: object) -> tuple[Value, ...]:
    if value is None:
        return ()
    return tuple(Value(const=in_words(one)) for one in (value if isinstance(value, list) else [value]))


# --- Results ----------------------------------------------------------------------------------------------------------


def _result(fields: Fields, workload: Workload, entities: Sequence[str], inputs: Sequence[Input]) -> Result:
    word = fields.word("returns").lower()
    if word and word not in _RESULTS:
        raise fields.error("returns", f"`{word}` is not one, many or count")
    if word:
        return _RESULTS[word]
    given = {i.attribute for i in inputs if i.op is Op.EQ and not i.filter}
    entity = workload.entity(entities[0])
    whole = len(entities) == 1 and entity is not None and {a.name for a in entity.id} <= given
    return Result.ONE if whole else Result.MANY


def _sort(fields: Fields) -> tuple[Sort, ...]:
    value = fields.get("sort")
    if isinstance(value, str):
        name, _, direction = value.strip().partition(" ")
        return (Sort(name, _direction(fields, direction)),)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(Sort(name) for name in fields.names("sort"))
    found = []
    for one in _each(fields, "sort"):
        name = one.word("attr") or one.word("attribute")
        if not name:
            raise one.error("attr", "is missing")
        found.append(Sort(name, _direction(one, one.word("dir") or one.word("direction"))))
    return tuple(found)


def _direction(fields: Fields, word: str) -> Direction:
    direction = _DIRECTIONS.get(word.strip().lower())
    if direction is None:
        raise fields.error("dir", f"`{word}` is not a direction")
    return direction


# --- Several entities -------------------------------------------------------------------------------------------------


def _combine(workload: Workload, entities: Sequence[str], inputs: Sequence[Input]) -> Combine:
    """A join if an entity lacks the inputs and one that has them refers to it; a collection otherwise.

    Followers of a user with their profiles: `Follow` has `followedUsername`, `User` has not, and another attribute of
    `Follow` holds a user's id.
    """
    given = {i.attribute for i in inputs if i.op is Op.EQ and not i.filter}
    having = _having(workload, entities, given)
    lacking = [e for e in entities if e not in {h.name for h in having}]
    joined = given and any(_named_by(workload, name, having, given) for name in lacking)
    return Combine.JOIN if joined else Combine.COLLECTION


def _having(workload: Workload, entities: Sequence[str], given: set[str]) -> list[Entity]:
    """The entities that have the inputs as attributes: all of them or, if there are none, some of them."""
    found = [e for e in map(workload.entity, entities) if e and all(e.attribute(a) for a in given)]
    return found or [e for e in map(workload.entity, entities) if e and any(e.attribute(a) for a in given)]


def _named_by(workload: Workload, name: str, others: Sequence[Entity], given: set[str]) -> bool:
    """Whether an attribute that is not an input holds its id."""
    held = (a for e in others for a in e.attributes if a.name not in given)
    return any(found[0].name == name for a in held if (found := target(workload, a)))


def _naming_first(workload: Workload, entities: Sequence[str], inputs: Sequence[Input]) -> tuple[str, ...]:
    """The entities with the one that refers to the others first, as a join is written."""
    given = {i.attribute for i in inputs if i.op is Op.EQ and not i.filter}
    having = {e.name for e in _having(workload, entities, given)}
    return (*(e for e in entities if e in having), *(e for e in entities if e not in having))


def read_together(entries: Sequence[Fields]) -> dict[str, set[tuple[str, str]]]:
    """For each entity, the inputs of reads of it and others, with the others' names."""
    found: dict[str, set[tuple[str, str]]] = {}
    for fields in entries:
        names = fields.names("entities")
        given = fields.get("given")
        for name in names if fields.word("kind") in {"", "read"} and isinstance(given, list) else ():
            pairs = {(one, other) for one in fields.names("given") for other in names if other != name}
            found.setdefault(name, set()).update(pairs)
    return found


# --- Rates ------------------------------------------------------------------------------------------------------------


def convert_rate(fields: Fields) -> tuple[Rate | None, str]:
    """The rate, and words about it that contain no figure."""
    known: dict[str, object] = {}
    words: list[str] = []
    for name in ("rate", "frequency"):
        value = fields.get(name)
        if isinstance(value, dict):
            known |= _figures(fields.fields(name), words)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            known |= {"value": float(fields.number(name) or 0), "per": Per.SECOND}
        elif text := fields.words(name):
            try:
                rate = read_rate(text)
                known |= {f: getattr(rate, f) for f in rate.__struct_fields__ if getattr(rate, f) is not None}
            except Inexact:
                words.append(text)
    weight = fields.number("weight")
    if weight is not None:
        known["weight"] = float(weight)
    return (Rate(**known) if known else None), "; ".join(words)  # type: ignore[arg-type]


def _figures(fields: Fields, words: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in fields.data:
        if name in _RATES and (figure := fields.number(name)) is not None:
            found |= {"value": float(figure), "per": _RATES[name]}
    for name, part in (("peak_per_s", "peak"), ("peak", "peak"), ("weight", "weight"), ("hottest", "hottest")):
        if (figure := fields.number(name)) is not None:
            found[part] = float(figure)
    words += [f"{name.lower()}: {text}" for name, text in fields.rest().items()]
    return found
