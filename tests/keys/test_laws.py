"""Laws of the key encoding: one to one, order-preserving, reversible; a range equals a filter."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import examples

from prejoin.keys import Bounds, KeyField, KeyValueError, Template, disjoint
from prejoin.keys.planner.key_condition import compile_range, range_condition
from prejoin.keys.template.encoding import encode_datetime
from prejoin.keys.template.shape import Chars, Either, Shape, meet
from prejoin.keys.template.specs import BUCKETS, buckets
from prejoin.types import Kind, Type

# No deadline, because machines are busy.
# Fewer examples miss mutants of the encoding.
law = settings(max_examples=examples(40, least=40), deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Few characters around the separator, the escape and the ends of Unicode, which make collisions likely.
TEXT = st.text(st.sampled_from("ab#$ !\"0~{}%\x00\n'é\ud7ff\ue000\U0010ffff🙂"), max_size=4) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=6
)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4)
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.STRING: TEXT,
    Kind.INTEGER: st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-20, 20),
    Kind.DECIMAL: DECIMALS | st.sampled_from([Decimal(n) for n in ("0", "-0.5", "-0.50", "0.05", "-19", "-19.9")]),
    Kind.BOOLEAN: st.booleans(),
    Kind.DATE: st.dates(),
    Kind.DATETIME: st.datetimes(timezones=st.just(UTC)),
    Kind.UUID: st.uuids(),
    Kind.BINARY: st.binary(max_size=4),
    Kind.ULID: st.text(st.sampled_from("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), min_size=26, max_size=26),
}
DESCENDING = [Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.DATETIME]
kinds = st.sampled_from(sorted(VALUES))

# Specs that can be decoded, with strategies for their values.
FORMS: dict[tuple[Kind, str], st.SearchStrategy[Any]] = {
    (Kind.INTEGER, "06d"): st.integers(0, 999_999),
    (Kind.NUMBER, "3"): st.integers(0, 999),
    (Kind.DECIMAL, "09.2f"): st.decimals(0, Decimal("999999.99"), places=2),
    (Kind.DATETIME, "seconds"): st.datetimes(timezones=st.just(UTC)).map(lambda at: at.replace(microsecond=0)),
    (Kind.DATETIME, "millis"): st.datetimes(timezones=st.just(UTC)).map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
    ),
}
FIELDS: list[tuple[Kind, str, st.SearchStrategy[Any]]] = [
    *((kind, "", VALUES[kind]) for kind in sorted(VALUES)),
    *((kind, "desc", VALUES[kind]) for kind in DESCENDING),
    *((kind, spec, values) for (kind, spec), values in FORMS.items()),
    *((kind, f"{spec},desc", values) for (kind, spec), values in FORMS.items()),
]
fields = st.sampled_from(FIELDS)


def text_of(spec: str, optional: bool = False) -> str:
    return f"{{a{'?' * optional}{':' + spec if spec else ''}}}"


def pair(kind: Kind, spec: str = "", optional: bool = False) -> Template:
    return Template.of(f"X#{text_of(spec, optional)}#{{b}}", {"a": Type(kind), "b": Type(Kind.STRING)})


def last(kind: Kind, spec: str = "", optional: bool = False) -> Template:
    return Template.of(f"X#{text_of(spec, optional)}", {"a": Type(kind)})


class Least:
    """The place of a missing value in the order of values."""

    def __lt__(self, other: object) -> bool:
        return not isinstance(other, Least)

    def __gt__(self, other: object) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Least)

    __hash__ = None  # type: ignore[assignment]


def rank(value: Any) -> Any:
    return Least() if value is None else value


@law
@given(st.data(), fields, TEXT, st.booleans(), st.sampled_from("#!,|:"))
def test_round_trip(data: st.DataObject, field: tuple[Kind, str, Any], b: str, optional: bool, separator: str) -> None:
    kind, spec, values = field
    a = data.draw(st.none() | values if optional else values)
    text = separator.join(["X", text_of(spec, optional), "{b}"])
    template = Template.of(text, {"a": Type(kind), "b": Type(Kind.STRING)}, separator)
    assert template.parse(template.build({"a": a, "b": b})) == {"a": a, "b": b}


@law
@given(st.data(), kinds, TEXT, TEXT, st.sampled_from("#!,"))
def test_keys_are_injective_and_order_preserving(
    data: st.DataObject, kind: Kind, b1: str, b2: str, separator: str
) -> None:
    a1, a2 = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    types = {"a": Type(kind), "b": Type(Kind.STRING)}
    template = Template.of(separator.join(["X", "{a}", "{b}"]), types, separator)
    one, two = template.build({"a": a1, "b": b1}), template.build({"a": a2, "b": b2})
    assert (one < two) == ((a1, b1) < (a2, b2))
    assert (one == two) == ((a1, b1) == (a2, b2))
    assert (one.encode() < two.encode()) == (one < two), "DynamoDB compares bytes"


@law
@given(st.data(), kinds, TEXT, TEXT, st.sampled_from("|:/_"))
def test_high_separator_keeps_keys_injective(data: st.DataObject, kind: Kind, b1: str, b2: str, separator: str) -> None:
    a1, a2 = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    template = Template.of(separator.join(["X", "{b}", "{a}"]), {"a": Type(kind), "b": Type(Kind.STRING)}, separator)
    one, two = template.build({"a": a1, "b": b1}), template.build({"a": a2, "b": b2})
    assert (one == two) == ((a1, b1) == (a2, b2))
    assert template.parse(one) == {"a": a1, "b": b1}
    if template.fields[1].encoding.ordered and b1 == b2:
        assert (one < two) == (a1 < a2)


@law
@given(st.data(), fields, TEXT, TEXT, st.booleans())
def test_every_encoding_keeps_order_and_desc_reverses_it(
    data: st.DataObject, field: tuple[Kind, str, Any], b1: str, b2: str, optional: bool
) -> None:
    kind, spec, values = field
    draw = st.none() | values if optional else values
    a1, a2 = data.draw(draw), data.draw(draw)
    template = pair(kind, spec, optional)
    one, two = template.build({"a": a1, "b": b1}), template.build({"a": a2, "b": b2})
    r1, r2 = rank(a1), rank(a2)
    assert (one == two) == ((a1, b1) == (a2, b2))
    if r1 == r2:
        assert (one < two) == (b1 < b2)
    else:
        assert (one < two) == ((r1 > r2) if "desc" in spec else (r1 < r2))


@law
@given(TEXT, TEXT, TEXT)
def test_prefix_matches_exactly_the_keys_with_its_values(a: str, a2: str, b: str) -> None:
    template = pair(Kind.STRING)
    assert template.build({"a": a2, "b": b}).startswith(template.prefix({"a": a})) == (a == a2)


OPS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "between": lambda value, ends: ends[0] <= value <= ends[1],
}


@settings(parent=law, max_examples=examples(300, least=300))
@given(
    st.data(),
    fields,
    st.sampled_from(sorted(OPS)),
    st.booleans(),
    st.sampled_from([pair, last]),
    st.sampled_from(["X#", ""]),
)
def test_range_matches_filter_within_entity(
    data: st.DataObject,
    field: tuple[Kind, str, Any],
    op: str,
    optional: bool,
    form: Callable[..., Template],
    lead: str,
) -> None:
    kind, spec, drawn = field
    if not lead and form is last:
        optional = False  # a key that may be empty is refused
    template = form(kind, spec, optional)
    if not lead:
        template = Template.of(template.text.removeprefix("X#"), {"a": Type(kind), "b": Type(Kind.STRING)})
    values = data.draw(st.lists(drawn, min_size=1, max_size=8))
    near = st.sampled_from(values) | drawn
    bound = data.draw(st.tuples(near, near) if op == "between" else near)
    condition = range_condition(template, 1 if lead else 0, {}, Bounds.of(op, bound), "pk")
    for value in [*values, None] if optional else values:
        key = template.build({"a": value, "b": data.draw(TEXT)})
        if key:
            inside = value is not None and OPS[op](value, bound)
            assert bool(condition and condition.admits(key)) == inside
    if condition and lead:
        for neighbour in ("X", "W#~", "X$", "X#", "Y#a", "X!a", "XX#a", "X$20"):
            assert not condition.admits(neighbour) or neighbour in ("X#", "X$")
        assert condition.op == "between"


@law
@given(st.data(), st.sampled_from(sorted(OPS)), fields, st.permutations([last, pair]))
def test_one_range_finds_keys_that_end_and_keys_that_go_on(
    data: st.DataObject, op: str, field: tuple[Kind, str, Any], forms: list[Callable[..., Template]]
) -> None:
    """A parent and its children in one order: `AT#{at}` beside `AT#{at}#CHILD#{id}`."""
    kind, spec, drawn = field
    one, other = (form(kind, spec) for form in forms)
    values = data.draw(st.lists(drawn, min_size=1, max_size=8))
    near = st.sampled_from(values) | drawn
    bound = data.draw(st.tuples(near, near) if op == "between" else near)
    condition = compile_range(one, 1, [other])({}, Bounds.of(op, bound), "pk")
    for value, template in product(values, (one, other)):
        key = template.build({"a": value, "b": data.draw(TEXT)})
        assert bool(condition and condition.admits(key)) == OPS[op](value, bound)


@law
@given(st.lists(TEXT, min_size=1), TEXT, TEXT, st.booleans(), st.booleans())
def test_bounds_can_be_open_on_either_side(
    values: list[str], low: str, high: str, low_open: bool, high_open: bool
) -> None:
    template = last(Kind.STRING)
    condition = range_condition(template, 1, {}, Bounds(low, high, low_open, high_open), "pk")
    for value in [*values, low, high]:
        inside = (low < value or (low == value and not low_open)) and (
            value < high or (value == high and not high_open)
        )
        assert bool(condition and condition.admits(template.build({"a": value}))) == inside


@law
@given(TEXT, TEXT, TEXT, st.booleans())
def test_begins_with_matches_value_prefix(value: str, start: str, b: str, optional: bool) -> None:
    template = pair(Kind.STRING, optional=optional)
    condition = range_condition(template, 1, {}, Bounds.of("begins_with", start), "pk")
    assert condition is not None
    assert condition.admits(template.build({"a": value, "b": b})) == value.startswith(start)
    if optional:
        assert not condition.admits(template.build({"a": None, "b": b}))


RAW = ["user_{a}|{b}", "{d}{b}", "{b}", "X#{d}#{a}", "{n:04d}-{b}", "X#{e}/{b}", "{d:desc}.{n}"]
RAW_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "a": TEXT,
    "b": TEXT,
    "d": st.dates(),
    "n": st.integers(0, 9999),
    "e": st.sampled_from(["X", "Y", "A0"]),
}


@settings(parent=law, max_examples=examples(300, least=300))
@given(st.data(), st.sampled_from(RAW), st.sampled_from(sorted(OPS)))
def test_raw_keys_are_injective_and_ranges_match_filters(data: st.DataObject, text: str, op: str) -> None:
    template = Template.of(text, TYPES, raw=True)
    draw = st.fixed_dictionaries({name: RAW_VALUES[name] for name in template.attributes})
    items, keys = [], []
    for item in data.draw(st.lists(draw, min_size=1, max_size=6)):
        try:
            key = template.build(item)
        except KeyValueError:  # it contains its own terminator
            continue
        assert template.parse(key) == item
        items.append(item)
        keys.append(key)
    at = next(i for i, part in enumerate(template.parts) if isinstance(part, KeyField))
    field = template.parts[at]
    assert isinstance(field, KeyField)
    if not field.encoding.ordered:
        return
    near = data.draw(draw)[field.attribute], data.draw(draw)[field.attribute]
    bound = near if op == "between" else near[0]
    condition = range_condition(template, at, {}, Bounds.of(op, bound), "pk")
    for item, key in zip(items, keys, strict=True):
        if key:
            assert bool(condition and condition.admits(key)) == OPS[op](item[field.attribute], bound)


@law
@given(st.sampled_from(sorted(BUCKETS)), st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_buckets_partition_time_in_order(unit: str, one: datetime, two: datetime) -> None:
    template = Template.of(f"{{a:{unit}}}", {"a": Type(Kind.DATETIME)})
    first, second = template.build({"a": one}), template.build({"a": two})
    assert (first <= second) or one > two
    near = one + timedelta(days=3) if one.year < 9999 else one
    passed = list(buckets(unit, one, near)) if unit != "minute" else list(buckets(unit, one, one))
    assert passed[0] == first
    assert passed == sorted(set(passed))
    if unit != "minute":
        assert passed[-1] == template.build({"a": near})


TEMPLATES = [
    "{e}",
    "X#{e}#{b}",
    "X#{b?}#Y",
    "{a}",
    "X#{a}",
    "X#{a}#{b}",
    "X#{b}#Y",
    "X#Y",
    "{n:03d}#{a}",
    "X#{n}",
    "{d}",
    "{a}#Y#{b}",
    "X#{n:02d}#Y",
]
TYPES = {"a": Type(Kind.STRING), "b": Type(Kind.STRING), "n": Type(Kind.INTEGER), "d": Type(Kind.DATE)} | {
    "e": Type(Kind.ENUM, values=("X", "Y", "A0"))
}


@law
@given(st.sampled_from(TEMPLATES), st.sampled_from(TEMPLATES), st.data())
def test_disjoint_templates_never_write_the_same_key(one: str, other: str, data: st.DataObject) -> None:
    first, second = Template.of(one, TYPES), Template.of(other, TYPES)
    values = {
        "a": data.draw(st.sampled_from(["X", "Y", "", "X#Y", "A0", "001", "2026-05-04"])),
        "b": data.draw(st.sampled_from(["X", "Y", "", "A0"])),
        "n": data.draw(st.integers(0, 12)),
        "d": date(2026, 5, 4),
        "e": data.draw(st.sampled_from(["X", "Y", "A0"])),
    }
    key = first.build(values)
    if key and second.matches(key):
        assert not disjoint(first, second)


@pytest.mark.parametrize("text", TEMPLATES)
def test_a_template_is_never_disjoint_from_itself(text: str) -> None:
    assert not disjoint(Template.of(text, TYPES), Template.of(text, TYPES))


def test_times_before_the_year_1000_and_at_the_ends_of_the_calendar_keep_their_order() -> None:
    template = Template.of("{t}", {"t": Type(Kind.DATETIME)})
    moments = [datetime(year, 1, 1, tzinfo=UTC) for year in (1, 999, 1000, 2026, 9999)]
    keys = [template.build({"t": moment}) for moment in moments]
    assert keys == sorted(keys)
    assert len({len(key) for key in keys}) == 1


PIECES = st.sampled_from(["a", "b", "ab"])


def shapes(depth: int = 2) -> st.SearchStrategy[Shape]:
    piece: st.SearchStrategy[Any] = st.builds(
        Chars, PIECES.map(lambda text: tuple((char, char) for char in text)), st.booleans()
    )
    if depth:
        piece |= st.builds(Either, st.lists(shapes(depth - 1), min_size=1, max_size=3).map(tuple))
    return st.lists(piece, max_size=3).map(tuple)


def texts(shape: Shape, most: int) -> set[str]:
    """All texts of a shape up to a length."""
    found = {""}
    for piece in shape:
        if isinstance(piece, Either):
            heads = {text for one in piece.shapes for text in texts(one, most)}
        else:
            heads = {low for low, _ in piece.ranges}
            if piece.many:
                heads = {""} | {a + b for a in heads | {""} for b in heads} | {c * 3 for c in heads}
        found = {head + tail for head in found for tail in heads if len(head + tail) <= most}
    return found


@law
@given(shapes(), shapes())
def test_shapes_meet_if_a_text_matches_both(one: Shape, other: Shape) -> None:
    if texts(one, 3) & texts(other, 3):
        assert meet(one, other)
    if not any(isinstance(p, Either) or p.many for p in one + other):
        assert meet(one, other) == bool(texts(one, 3) & texts(other, 3))


class OwnDatetime(datetime):
    """A subclass, as in `freezegun` and `pandas`."""


@law
@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)), st.integers(-23, 23), st.booleans())
def test_times_are_written_in_utc_with_all_digits(at: datetime, hours: int, own: bool) -> None:
    zoned = at.replace(tzinfo=timezone(timedelta(hours=hours)), fold=0)
    given = OwnDatetime.fromisoformat(zoned.isoformat()) if own else zoned
    assert encode_datetime(given) == zoned.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
    utc = zoned.astimezone(UTC)
    assert encode_datetime(utc) == encode_datetime(given)
