"""Attributes as keys, against brute force: plans, ranges and order equal DynamoDB's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.place import examples

from prejoin.keys import Bounds, Facet, KeyValueError, Lookup, Natural, Plan, Refusal, conditions, plan
from prejoin.keys.template.natural import natural_range
from prejoin.types import Kind, Type

TYPES = {
    "s": Type(Kind.STRING),
    "e": Type(Kind.ENUM, values=("A", "B")),
    "n": Type(Kind.INTEGER),
    "d": Type(Kind.DECIMAL),
    "x": Type(Kind.BINARY),
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "s": st.text(st.sampled_from("ab#$\x00~\U0010ffff"), min_size=1, max_size=3),
    "e": st.sampled_from(["A", "B"]),
    "n": st.integers(-3, 12),
    "d": st.sampled_from([Decimal(n) for n in ("-1.5", "-1", "0", "0.1", "0.10", "1E-130", "-1E-130", "2", "10")]),
    "x": st.binary(min_size=1, max_size=2),
}
OPS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "between": lambda value, ends: ends[0] <= value <= ends[1],
}
names = st.lists(st.sampled_from(sorted(TYPES)), min_size=2, max_size=5, unique=True)
law = settings(max_examples=examples(200, least=200), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def plain(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


@law
@given(names, st.data())
def test_natural_key_index_matches_filter_and_sort(order: list[str], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(order) - 1))
    pk, sk = order[:cut][:4], order[cut:][:4]
    facet = Facet("E", "by", Natural.of(pk, TYPES), Natural.of(sk, TYPES))
    known = data.draw(st.integers(0, len(sk)))
    rest = sk[known:]
    within = None
    if rest and data.draw(st.booleans()):
        within = (rest[0], data.draw(st.sampled_from(sorted(OPS))))
    sign = data.draw(st.sampled_from(["", "-"]))
    sort = [sign + name for name in rest[: data.draw(st.integers(0, len(rest)))]]
    found = plan([facet], Lookup.of("E", equal=[*pk, *sk[:known]], within=within, order=sort))
    assert isinstance(found, Plan), str(found)
    items = data.draw(st.lists(st.fixed_dictionaries({name: VALUES[name] for name in TYPES}), max_size=10))
    near = data.draw(st.sampled_from(items)) if items else {name: data.draw(VALUES[name]) for name in TYPES}
    values: dict[str, Any] = {name: near[name] for name in [*pk, *sk[:known]]}
    if within:
        one, two = data.draw(VALUES[within[0]]), data.draw(VALUES[within[0]])
        values[within[0]] = (one, two) if within[1] == "between" else one
    event(found.scope.kind)
    read = []
    for condition in conditions(found, values):
        here = [(plain(facet.key(item)[1]), at, item) for at, item in enumerate(items)]
        hits = [one for one in here if plain(facet.key(one[2])[0]) == plain(condition.pk) and condition.admits(one[0])]
        read += [item for _, _, item in sorted(hits, key=lambda one: one[:2], reverse=found.reverse)]
    wanted = [
        item
        for item in items
        if all(item[name] == values[name] for name in [*pk, *sk[:known]])
        and (not within or OPS[within[1]](item[within[0]], values[within[0]]))
    ]
    assert sorted(map(repr, read)) == sorted(map(repr, wanted))
    for before, after in pairwise(read):
        first, second = ([item[name] for name in rest[: len(sort)]] for item in (before, after))
        assert first >= second if sign and sort else first <= second


@law
@given(st.sampled_from(["s", "n", "d", "x"]), st.booleans(), st.booleans(), st.data())
def test_excluded_bound_is_excluded(name: str, low_open: bool, high_open: bool, data: st.DataObject) -> None:
    low, high = data.draw(VALUES[name]), data.draw(VALUES[name])
    natural = Natural.of([name], TYPES)
    condition = natural_range(natural, 0, (), Bounds(low, high, low_open, high_open), "pk")
    for value in [low, high, *data.draw(st.lists(VALUES[name]))]:
        inside = (low < value or (low == value and not low_open)) and (
            value < high or (value == high and not high_open)
        )
        assert bool(condition and condition.admits(value)) == inside


@law
@given(st.sampled_from(["s", "x"]), st.data())
def test_begins_with_needs_text_or_binary(name: str, data: st.DataObject) -> None:
    start, value = data.draw(VALUES[name]), data.draw(VALUES[name])
    condition = natural_range(Natural.of([name], TYPES), 0, (), Bounds.of("begins_with", start), "pk")
    assert condition is not None
    assert condition.admits(value) == value.startswith(start)


def test_empty_text_bound_selects_nothing_or_everything() -> None:
    natural = Natural.of(["s"], TYPES)
    assert natural_range(natural, 0, (), Bounds.of("<=", ""), "pk") is None
    everything = natural_range(natural, 0, (), Bounds.of(">=", ""), "pk")
    assert everything is not None
    assert everything.op == ""


def test_gap_or_early_range_in_natural_key_is_refused() -> None:
    facet = Facet("E", "by", Natural.of(["s", "e"], TYPES), Natural.of(["n", "d"], TYPES))
    for ask, why in [
        (Lookup.of("E", equal=["s"]), "its partition needs e"),
        (Lookup.of("E", equal=["s", "e", "d"]), "d would be left to a filter"),
        (Lookup.of("E", equal=["s", "e"], within=("d", ">")), "does not continue with d"),
        (Lookup.of("E", equal=["s", "e"], order=["d"]), "sorted by {n} there"),
        (
            Lookup.of("E", equal=["s", "e", "n"], within=("d", "begins_with")),
            "not in an order that begins_with could use",
        ),
    ]:
        found = plan([facet], ask)
        assert isinstance(found, Refusal)
        assert why in str(found)


def test_entities_sharing_natural_index_need_distinct_values() -> None:
    def by(entity: str, *values: str) -> Facet:
        types = TYPES | {"e": Type(Kind.ENUM, values=values)}
        return Facet(entity, "by", Natural.of(["e"], types), Natural.of(["n"], types))

    assert isinstance(plan([by("E", "A", "B"), by("F", "C")], Lookup.of("E", equal=["e"])), Plan)
    refused = plan([by("E", "A", "B"), by("F", "B", "C")], Lookup.of("E", equal=["e"]))
    assert "it would also read keys of F" in str(refused)
    both = plan([by("E", "A", "B"), by("F", "B", "C")], Lookup.of("E", "F", equal=["e"], order=["-n"]))
    assert isinstance(both, Plan)
    assert both.reverse


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"s": "", "n": 1}, "s is empty"),
        ({"s": "a", "n": "1"}, "n: '1' is not an integer"),
        ({"s": "a"}, "n has no value"),
    ],
)
def test_values_without_key_type_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(KeyValueError, match=message):
        Natural.of(["s", "n"], TYPES).build(values)


def test_natural_key_parses_back_to_values() -> None:
    natural = Natural.of(["e", "n"], TYPES)
    assert natural.parse(("A", 7)) == {"e": "A", "n": 7}
    assert natural.parse(("A", "7")) is None
    assert natural.parse("A") is None
