"""Attack: hostile values in keys, through the client, compared with brute force over a list.

Text full of separators, escapes, control characters and the ends of Unicode; numbers at the edges of DynamoDB; times
at the edges of the calendar; keys of exactly the largest size. Different values must be different items, a read must
find its item and no other, a range must be what a filter over all items gives, in order. What cannot be a key must be
refused with an error of ours, before anything is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from operator import attrgetter
from random import Random
from typing import Any

from prejoin import Client, Entity, Index, Key, Schema, TableError, begins_with, between
from prejoin.engine import Embedded
from prejoin.keys import KeyValueError
from prejoin.protocol.errors import DynamoDBError

from .result import Result

ITEMS, QUESTIONS = 40, 40
PIECES = [
    *["#", "##", "$", "$23", "$24", "$", "~", "!", '"', " ", "%s", "{a}", "{", "}", "\\", "/", "|", ":", ".."],
    *["\x00", "\x01", "\x1f", "\x7f", "\r\n", "\t", "\u2028", "\u202e", "\ufeff"],
    *["A", "a", "b", "0", "9", "10", "-1", "A#", "AA#", "B#", "TEXT#", "UNIQUE#", "null", "None", "true"],
    *["é", "e\u0301", "ß", "İ", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0001f642", "\U0010ffff"],
]
NUMBERS = [
    *(Decimal(text) for text in ("0", "-0", "0.0", "1", "-1", "10", "1E1", "1.0", "0.1", "-0.1", "9", "99", "100")),
    *(Decimal(text) for text in ("9" * 38, "-" + "9" * 38, "1E-38", "-1E-38", "0." + "9" * 38, "-0." + "9" * 38)),
    Decimal("123456789012345678901234567890.12345678"),
]
"""A number in a key has at most 38 digits on either side of the point."""


@dataclass(frozen=True)
class Text:
    tenant: str
    a: str
    b: str


@dataclass(frozen=True)
class Near:
    """Items in the same partitions, whose sort keys lie close to those of `Text`."""

    tenant: str
    a: str


@dataclass(frozen=True)
class Nearer:
    tenant: str
    a: str


@dataclass(frozen=True)
class Number:
    tenant: str
    n: Decimal
    name: str


@dataclass(frozen=True)
class Moment:
    tenant: str
    at: datetime
    name: str


SCHEMA = Schema(
    Entity(Text, Key("TEXT#{tenant}", "A#{a}#{b}"), indexes={"gsi1": Key("A#{a}", "B#{b}#{tenant}")}),
    Entity(Near, Key("TEXT#{tenant}", "AA#{a}")),
    Entity(Nearer, Key("TEXT#{tenant}", "@#{a}")),
    Entity(
        Number,
        Key("NUMBER#{tenant}", "{n}#{name}"),
        indexes={"gsi1": Key("NUMBER#{tenant}", "{n:desc}#{name}")},
    ),
    Entity(Moment, Key("MOMENT#{tenant}", "{at}#{name}")),
    indexes=[Index("gsi1")],
)
OURS = (TableError, KeyValueError)
"""Errors that a value which cannot be a key may raise."""


def run(seconds: float, seed: int) -> Result:
    result = Result()
    end = time.monotonic() + seconds
    turn = 0
    while turn == 0 or time.monotonic() < end:
        attack_once(result, Random(f"{seed}/{turn}"), f"seed {seed}/{turn}")
        turn += 1
    return result


def attack_once(result: Result, chance: Random, name: str, wrap: Callable[[Any], Any] = lambda engine: engine) -> None:
    """A table of hostile items, questions about it, and values that cannot be keys. `wrap` changes the transport."""

    def find(sentence: str) -> None:
        result.findings.append(f"keys, {name}: {sentence}")

    with Embedded() as engine:
        db = Client(SCHEMA, "keys", wrap(engine))
        db.create_table()
        items = _written(db, chance, find)
        result.tries += len(items)
        for _ in range(QUESTIONS):
            _ask(db, items, chance, find)
        result.tries += QUESTIONS
        result.tries += _refused(db, chance, find)
        found = {one for page in db.everything(consistent=True) for one in page}
        if found != items:
            find(f"the table holds {_some(found - items)} more and {_some(items - found)} less than was written")


def _written(db: Client, chance: Random, find: Callable[[str], None]) -> set[Any]:
    """Random items, each inserted and read back; an insert of equal values must be refused, of others never."""
    items: set[Any] = set()
    for one in _items(chance):
        try:
            db.insert(one)
            fresh = True
        except TableError:
            fresh = False
        except DynamoDBError as error:
            find(f"{one!r}: {error}")
            continue
        if fresh == (one in items):
            find(f"{one!r} was {'written twice' if fresh else 'refused, and nothing like it is there'}")
        items.add(one)
        if _got(db, one) != one:
            find(f"{one!r} is read back as {_got(db, one)!r}")
    return items


def _got(db: Client, one: Any) -> Any:
    values = {name: getattr(one, name) for name in one.__dataclass_fields__}
    return db.get(type(one), consistent=True, **values)


def _items(chance: Random) -> list[Any]:
    tenants = [text(chance) for _ in range(3)]
    firsts = [text(chance) for _ in range(6)]
    found: list[Any] = []
    for _ in range(ITEMS):
        tenant = chance.choice(tenants)
        # Parts moved from one value to the next: "a#b" and "c" beside "a" and "b#c".
        first, second = chance.choice(firsts), text(chance)
        joined = f"{first}#{second}"
        cut = chance.choice([at for at, character in enumerate(joined) if character == "#"])
        found += [Text(tenant, first, second), Text(tenant, joined[:cut], joined[cut + 1 :])]
        found += [Near(tenant, first), Nearer(tenant, first)]
        found.append(Number(tenant, number(chance), chance.choice(["", "#", "x"])))
        found.append(Moment(tenant, moment(chance), chance.choice(["", "#", "x"])))
    return found


def _ask(db: Client, items: set[Any], chance: Random, find: Callable[[str], None]) -> None:
    """One question, answered by the client and by a loop over all items."""
    kinds: list[tuple[type[Any], str, str]] = [(Text, "a", "b"), (Text, "b", "tenant")]
    kinds += [(Number, "n", "name"), (Moment, "at", "name")]
    cls, attribute, next_attribute = chance.choice(kinds)
    there: list[Any] = sorted((one for one in items if type(one) is cls), key=repr)  # the same for the same seed
    sample = chance.choice(there)
    fixed = {"a": sample.a} if attribute == "b" else {"tenant": sample.tenant}
    value = getattr(chance.choice(there), attribute) if chance.random() < 0.7 else _value(attribute, chance)
    other = getattr(chance.choice(there), attribute)
    operators: dict[str, tuple[Any, Callable[[Any], bool]]] = {
        "<": (lambda o: getattr(o, attribute) < value, lambda v: v < value),
        "<=": (lambda o: getattr(o, attribute) <= value, lambda v: v <= value),
        ">": (lambda o: getattr(o, attribute) > value, lambda v: v > value),
        ">=": (lambda o: getattr(o, attribute) >= value, lambda v: v >= value),
        "between": (
            lambda o: between(getattr(o, attribute), min(value, other), max(value, other)),
            lambda v: min(value, other) <= v <= max(value, other),
        ),
        "==": (lambda o: getattr(o, attribute) == value, lambda v: v == value),
    }
    if isinstance(value, str) and value:
        operators["begins_with"] = (
            lambda o: begins_with(getattr(o, attribute), value),
            lambda v: v.startswith(value),
        )
    name = chance.choice(sorted(operators))
    where, keeps = operators[name]
    backwards = chance.random() < 0.5
    pages = db.pages(cls, where, size=chance.choice([1, 7, 1000]), reverse=backwards, **fixed)
    try:
        found = [one for page in pages for one in page]
    except TableError as error:
        find(f"{cls.__name__} of {fixed!r} with {attribute} {name} {value!r}: {error}")
        return
    same = [one for one in there if all(getattr(one, of) == is_ for of, is_ in fixed.items())]
    wanted = [one for one in same if keeps(getattr(one, attribute))]
    wanted.sort(key=attrgetter(attribute, next_attribute), reverse=backwards)
    if found != wanted:
        find(
            f"{cls.__name__} of {fixed!r} with {attribute} {name} {value!r} (and {other!r}), reverse={backwards}: "
            f"{found!r}, and should be {wanted!r}"
        )


def _refused(db: Client, chance: Random, find: Callable[[str], None]) -> int:
    """Values at the limits and beyond them."""
    long = Text("t", chance.choice("aé🙂"), "")
    room = 1024 - len(b"A##") - len(long.a.encode())
    fits, too_long = replace(long, b="x" * room), replace(long, b="x" * (room + 1))
    tenant_room = 2048 - len(b"TEXT#")
    fitting: list[Any] = [fits, Near("t" * tenant_room, "a")]
    impossible: list[Any] = [
        too_long,
        Near("t" * (tenant_room + 1), "a"),
        Text("t", "\ud800", "b"),
        Text("t\udfff", "a", "b"),
        Text("t", "a", None),  # type: ignore[arg-type]
        Text("t", 5, "b"),  # type: ignore[arg-type]
        *(
            Number("t", Decimal(text), "")
            for text in ("NaN", "sNaN", "Infinity", "-Infinity", "1E+38", "1E-39", "1E+126")
        ),
        Number("t", Decimal("1" * 39), ""),
        Number("t", True, ""),  # type: ignore[arg-type]
        Moment("t", datetime(2026, 1, 1), ""),
    ]
    for one in fitting:
        try:
            db.insert(one)
        except Exception as error:
            find(f"{str(one)[:80]}… of the largest size is refused: {type(error).__name__}: {error}"[:400])
        else:
            if _got(db, one) != one:
                find(f"{str(one)[:80]}… of the largest size is not read back")
            db.delete(type(one), **{name: getattr(one, name) for name in one.__dataclass_fields__})
    for one in impossible:
        said = str(one)[:80].encode("utf-8", "backslashreplace").decode()
        try:
            db.insert(one)
        except (*OURS, DynamoDBError):
            pass
        except Exception as error:
            find(f"{said} raises {type(error).__name__}: {error!s:.200}")
        else:
            find(f"{said} is accepted")
    return len(fitting) + len(impossible)


def text(chance: Random) -> str:
    return "".join(chance.choices(PIECES, k=chance.choice([0, 1, 1, 2, 3, 5])))


def number(chance: Random) -> Decimal:
    if chance.random() < 0.4:
        return chance.choice(NUMBERS)
    digits, shifts = chance.choice([(1, [0, 37, -38]), (2, [0, 1, -1, 30, -30]), (38, [0, -1, -20, -37, -38])])
    with localcontext(prec=60):
        found = Decimal(chance.randrange(10**digits)).scaleb(chance.choice(shifts))
        return -found if chance.random() < 0.5 else found


def moment(chance: Random) -> datetime:
    if chance.random() < 0.2:
        edges = [datetime.min, datetime.max, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1, 1, 1, 0, 0, 0, 1)]
        return chance.choice(edges).replace(tzinfo=UTC)
    start = datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)
    return start + timedelta(seconds=chance.randrange(-3, 3), microseconds=chance.choice([0, 1, 999_999]))


def _value(attribute: str, chance: Random) -> Any:
    return {"n": number, "at": moment}.get(attribute, text)(chance)


def _some(items: set[Any]) -> list[Any]:
    return sorted(items, key=repr)[:3]
