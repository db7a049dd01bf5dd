"""Laws of the key encoding: one to one, in order, reversible; a range is the filter it stands for."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prejoin.keys import Bounds, Template, disjoint
from prejoin.keys.condition import ranged
from prejoin.types import Kind, Type

# A loaded machine is no reason to fail.
law = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Few characters around the separator, the escape and the ends of Unicode: collisions are near if there are any.
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


def pair(kind: Kind, spec: str = "") -> Template:
    return Template.of(f"X#{{a{':' + spec if spec else ''}}}#{{b}}", {"a": Type(kind), "b": Type(Kind.STRING)})


def last(kind: Kind, spec: str = "") -> Template:
    return Template.of(f"X#{{a{':' + spec if spec else ''}}}", {"a": Type(kind)})


@law
@given(st.data(), kinds, TEXT)
def test_round_trip(data: st.DataObject, kind: Kind, b: str) -> None:
    a = data.draw(VALUES[kind])
    template = pair(kind)
    assert template.parse(template.build({"a": a, "b": b})) == {"a": a, "b": b}


@law
@given(st.data(), kinds, TEXT, TEXT, st.sampled_from("#!,"))
def test_keys_sort_as_the_tuples_of_their_values_and_are_equal_only_for_equal_ones(
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
def test_with_a_separator_above_the_letters_keys_are_still_one_to_one(
    data: st.DataObject, kind: Kind, b1: str, b2: str, separator: str
) -> None:
    a1, a2 = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    template = Template.of(separator.join(["X", "{b}", "{a}"]), {"a": Type(kind), "b": Type(Kind.STRING)}, separator)
    one, two = template.build({"a": a1, "b": b1}), template.build({"a": a2, "b": b2})
    assert (one == two) == ((a1, b1) == (a2, b2))
    assert template.parse(one) == {"a": a1, "b": b1}
    if template.fields[1].encoding.ordered and b1 == b2:
        assert (one < two) == (a1 < a2)


@law
@given(st.data(), st.sampled_from(DESCENDING))
def test_desc_turns_the_order_round(data: st.DataObject, kind: Kind) -> None:
    a1, a2 = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    template = pair(kind, "desc")
    one, two = template.build({"a": a1, "b": ""}), template.build({"a": a2, "b": ""})
    assert (one < two) == (a1 > a2)
    assert template.parse(one) == {"a": a1, "b": ""}


@law
@given(TEXT, TEXT, TEXT)
def test_a_terminated_prefix_holds_exactly_the_keys_with_that_value(a: str, a2: str, b: str) -> None:
    template = pair(Kind.STRING)
    assert template.build({"a": a2, "b": b}).startswith(template.prefix({"a": a})) == (a == a2)


OPS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "between": lambda value, ends: ends[0] <= value <= ends[1],
}


@law
@given(
    st.data(),
    kinds,
    st.sampled_from(sorted(OPS)),
    st.booleans(),
    st.sampled_from([pair, last]),
    st.sampled_from(["X#", ""]),
)
def test_a_range_reads_what_a_filter_would_keep_and_nothing_of_its_neighbours(
    data: st.DataObject, kind: Kind, op: str, descending: bool, form: Callable[..., Template], lead: str
) -> None:
    spec = "desc" if descending and kind in DESCENDING else ""
    template = form(kind, spec)
    if not lead:
        template = Template.of(template.text.removeprefix("X#"), {"a": Type(kind), "b": Type(Kind.STRING)})
    values = data.draw(st.lists(VALUES[kind], min_size=1, max_size=8))
    near = st.sampled_from(values) | VALUES[kind]
    bound = data.draw(st.tuples(near, near) if op == "between" else near)
    condition = ranged(template, 1 if lead else 0, {}, Bounds.of(op, bound), "pk")
    for value in values:
        key = template.build({"a": value, "b": data.draw(TEXT)})
        if key:
            assert bool(condition and condition.admits(key)) == OPS[op](value, bound)
    if condition and lead:
        for neighbour in ("X", "W#~", "X$", "X#", "Y#a", "X!a", "XX#a", "X$20"):
            assert not condition.admits(neighbour) or neighbour in ("X#", "X$")
        assert condition.op == "between"


@law
@given(st.lists(TEXT, min_size=1), TEXT, TEXT, st.booleans(), st.booleans())
def test_bounds_can_be_open_on_either_side(
    values: list[str], low: str, high: str, low_open: bool, high_open: bool
) -> None:
    template = last(Kind.STRING)
    condition = ranged(template, 1, {}, Bounds(low, high, low_open, high_open), "pk")
    for value in [*values, low, high]:
        inside = (low < value or (low == value and not low_open)) and (
            value < high or (value == high and not high_open)
        )
        assert bool(condition and condition.admits(template.build({"a": value}))) == inside


@law
@given(TEXT, TEXT, TEXT)
def test_begins_with_is_about_the_value(value: str, start: str, b: str) -> None:
    template = pair(Kind.STRING)
    condition = ranged(template, 1, {}, Bounds.of("begins_with", start), "pk")
    assert condition is not None
    assert condition.admits(template.build({"a": value, "b": b})) == value.startswith(start)


TEMPLATES = ["{a}", "X#{a}", "X#{a}#{b}", "X#{b}#Y", "X#Y", "{n:03d}#{a}", "X#{n}", "{d}", "{a}#Y#{b}", "X#{n:02d}#Y"]
TYPES = {"a": Type(Kind.STRING), "b": Type(Kind.STRING), "n": Type(Kind.INTEGER), "d": Type(Kind.DATE)}


@law
@given(st.sampled_from(TEMPLATES), st.sampled_from(TEMPLATES), st.data())
def test_disjoint_templates_never_write_the_same_key(one: str, other: str, data: st.DataObject) -> None:
    first, second = Template.of(one, TYPES), Template.of(other, TYPES)
    values = {
        "a": data.draw(st.sampled_from(["X", "Y", "", "X#Y", "A0", "001", "2026-05-04"])),
        "b": data.draw(st.sampled_from(["X", "Y", "", "A0"])),
        "n": data.draw(st.integers(0, 12)),
        "d": date(2026, 5, 4),
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
