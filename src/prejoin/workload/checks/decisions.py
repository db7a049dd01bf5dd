"""Checks that each decision can be obeyed and that no two contradict each other."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import assert_never

from prejoin.keys import Separator, Template, TemplateError
from prejoin.keys.template.separator import SEPARATORS
from prejoin.protocol.limits import ITEM_SIZE, KB
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.contents import CONTENT
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import (
    Accept,
    AtMost,
    ContentPlace,
    CounterShards,
    FixedKey,
    IndexKeys,
    Minimise,
    Naming,
    OutOfScope,
    OwnTable,
    Pin,
    Read,
    Spread,
    Under,
    Unproven,
    Without,
)
from prejoin.workload.read_result import Path

_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}\Z")
_LONGEST_NAME = 255
"""DynamoDB's limit in bytes for the name of a key attribute."""


def check_decisions(r: Reporter) -> None:
    first_decisions: dict[Hashable, tuple[Pin, int]] = {}
    separator = _separator(r)
    for index, decision in enumerate(r.workload.decisions):
        pin = decision.pin
        if pin is None:
            continue
        path: Path = ("decisions", index)
        for problem, fix in _problems(r, pin, separator):
            r.say(codes.NOT_FOLLOWED, path, problem, fix)
        subject = _subject_of(pin)
        earlier_pin, earlier_index = first_decisions.setdefault(subject, (pin, index)) if subject else (pin, index)
        if earlier_pin != pin:
            place = f"line {span.line}" if (span := r.places.find(("decisions", earlier_index))) else "another decision"
            message = f"`{write_pin(pin)}` and `{write_pin(earlier_pin)}` ({place}) exclude each other"
            r.say(codes.CONTRADICTION, path, message, "leave out one of them")
    _check_distinct_names(r)


def _subject_of(pin: Pin) -> Hashable:
    """The subject of a decision, if there can be only one decision about it."""
    match pin:
        case Minimise():
            return "minimise"
        case IndexKeys():
            return "index keys"
        case Naming():
            return ("name", pin.what)
        case FixedKey():
            return ("key", pin.entity, pin.index)
        case Spread():
            return ("spread", pin.entity, bool(pin.shards))
        case CounterShards():
            return ("counter", pin.entity, pin.attribute)
        case ContentPlace():
            return ("content", pin.entity, pin.attribute)
        case Accept() | OutOfScope():
            return ("pattern", pin.pattern)
        case Unproven():
            return ("unproven", pin.pattern)
        case Under():
            return ("under", pin.entity)
        case AtMost() | Without() | OwnTable():
            return None
        case _:
            assert_never(pin)


def _problems(r: Reporter, pin: Pin, separator: str) -> Iterator[tuple[str, str]]:
    """Why a decision cannot be obeyed, and what to write instead."""
    match pin:
        case FixedKey():
            yield from _key(r, pin, separator)
        case Naming():
            yield from _naming(pin)
        case Accept():
            pattern = r.workload.pattern(pin.pattern)
            if pattern is not None and not isinstance(pattern, Read):
                yield f"{pin.pattern} is a write: only a read may {pin.how}", "leave the decision out"
        case OwnTable():
            yield from _second_tables(r, pin)
        case ContentPlace():
            entity = r.workload.entity(pin.entity)
            attribute = entity.attribute(pin.attribute) if entity else None
            if attribute and attribute.type != CONTENT:
                fix = f"give it the type `content`, or a size of more than {ITEM_SIZE // KB} KB"
                yield f"`{pin.entity}.{pin.attribute}` is in its item, because it is no large content", fix
        case Under():
            if pin.entity == pin.parent:
                yield f"`{pin.entity}` cannot live under itself", "name the entity that it belongs to"
        case AtMost() | Without() | Spread() | CounterShards() | Minimise() | IndexKeys() | OutOfScope() | Unproven():
            pass
        case _:
            assert_never(pin)


def _key(r: Reporter, pin: FixedKey, separator: str) -> Iterator[tuple[str, str]]:
    entity = r.workload.entity(pin.entity)
    if entity is None:
        return
    yield from _missing_sort_key(r, pin)
    types = {a.name: a.type for a in entity.attributes}
    for text in (pin.pk, pin.sk):
        if not text:
            continue
        try:
            fields = Template.of(text, types, separator).attributes
        except TemplateError as problem:
            if all(name in types for name in re.findall(r"\{([^{}:?]+)", text)):  # PJ202 reports an unknown one
                yield str(problem), "write a key such as `USER#{userId}`"
        except ValueError:
            yield f"`{text}` is not a key template", "write a key such as `USER#{userId}`"
        else:
            unfit = [name for name in fields if not types[name].scalar]
            if unfit:
                kind = types[unfit[0]]
                yield f"`{unfit[0]}` is {kind}, which cannot stand in a key", "use a string, a number or a date"


def _naming(pin: Naming) -> Iterator[tuple[str, str]]:
    """A name that DynamoDB or a key template does not take."""
    if pin.what == "separator":
        if len(pin.name) != 1 or pin.name not in SEPARATORS:
            yield f"{pin.name!r} cannot separate the parts of a key", f"choose one of {SEPARATORS}"
    elif pin.what == "table":
        if not _TABLE_NAME.match(pin.name):
            fix = "use 3 to 255 letters, digits, `_`, `-` and `.`"
            yield f"`{pin.name}` cannot be the name of a table", fix
    elif len(pin.name.encode(errors="surrogatepass")) > _LONGEST_NAME:
        yield f"`{pin.name[:20]}…` has more than {_LONGEST_NAME} bytes", "use a shorter name"


def _second_tables(r: Reporter, pin: OwnTable) -> Iterator[tuple[str, str]]:
    """The entities of a decision that another decision gives a table of their own, too."""
    own_tables = [d.pin for d in r.workload.decisions if isinstance(d.pin, OwnTable) and d.pin is not pin]
    for name in pin.entities:
        if any(name in other.entities for other in own_tables):
            yield f"`{name}` has two tables of its own", "name an entity once, with all of its needs"


def _missing_sort_key(r: Reporter, pin: FixedKey) -> Iterator[tuple[str, str]]:
    """A key of one part in the table, or in an index where another entity's key has two."""
    keys = [d.pin for d in r.workload.decisions if isinstance(d.pin, FixedKey) and d.pin.index == pin.index]
    if pin.sk or not (pin.index == "" or any(key.sk for key in keys)):
        return
    place = f"`{pin.index}`" if pin.index else "the table"
    fix = f"write `{pin.entity} has key {pin.pk} and {pin.entity.upper()}`, each key in backticks"
    yield f"keys in {place} have two parts, and that of `{pin.entity}` has one", fix


def _separator(r: Reporter) -> str:
    separators = (d.pin.name for d in r.workload.decisions if isinstance(d.pin, Naming) and d.pin.what == "separator")
    for name in separators:
        try:
            return Separator(name).char
        except TemplateError:
            continue
    return "#"


def _check_distinct_names(r: Reporter) -> None:
    """The table's own attributes need distinct names."""
    noun_of_name: dict[str, str] = {}
    for index, decision in enumerate(r.workload.decisions):
        pin = decision.pin
        if not isinstance(pin, Naming) or not pin.what.is_stored:
            continue
        earlier_noun = noun_of_name.setdefault(pin.name, pin.what)
        if earlier_noun != pin.what:
            message = f"the {pin.what} and the {earlier_noun} are both named `{pin.name}`"
            r.say(codes.NOT_FOLLOWED, ("decisions", index), message, "give each a name of its own")
