"""The planner against brute force: its conditions read exactly the requested items, in the requested order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from tests.place import examples

from prejoin.keys import TABLE, Facet, KeyValueError, Lookup, Plan, Refusal, Template, conditions, disjoint, plan
from prejoin.types import Kind, Type

TYPES = {name: Type(Kind.STRING) for name in "abcg"} | {"n": Type(Kind.INTEGER), "o": Type(Kind.INTEGER)}
PARTITIONS = ["P#{a}", "P#{b}", "P#{a}#{b}", "{a}", "ALL", "P#{c:shard(2)}", "{a:lower}"]
SORTS = [
    "X#{b}#{c}",
    "{b}#{c}",
    "{n}#{c}",
    "X#{n}#{b}#{c}",
    "X#{n:desc}#{c}",
    "Y#{c}",
    "{c}",
    "X#{c}",
    "X#{b}#Z#{n}",
    "X",
    "X#{b}",
    "{n:desc}#{b}",
    "X#{o?}#{c}",
    "{o?:desc}#{c}",
    "X#{g?}",
    "{g?}#{o?}#{c}",
]
TEXT = st.sampled_from(["", "a", "ab", "a#b", "b", "A", "X", "a ", "Y"])
NUMBER = st.sampled_from([-10, -1, 0, 1, 2, 10, 11])
# o and g are optional; o and n are numbers.
ITEM = st.fixed_dictionaries(
    {"a": TEXT, "b": TEXT, "c": TEXT, "n": NUMBER, "o": st.none() | NUMBER, "g": st.none() | TEXT}
)
OPS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "between": lambda value, ends: ends[0] <= value <= ends[1],
}


def template(text: str) -> Template:
    return Template.of(text, TYPES)


@st.composite
def facets(draw: st.DrawFn) -> list[Facet]:
    places = draw(st.sampled_from(["E", "E+F", "E+F", "E+F,E", "E,F", "E+F,E+F", "E,E"]))
    found = []
    for slot, entities in zip([TABLE, "gsi1"], places.split(","), strict=False):
        shared = draw(st.sampled_from(PARTITIONS))
        for entity in entities.split("+"):
            pk = draw(st.sampled_from([shared, shared, shared, *PARTITIONS]))
            found.append(Facet(entity, slot, template(pk), template(draw(st.sampled_from(SORTS)))))
    home = [facet for facet in found if facet.slot == TABLE and facet.sk]
    # A schema refuses entities whose table keys could be equal.
    assume(all(disjoint(a.pk, b.pk) or a.sk is None or b.sk is None or disjoint(a.sk, b.sk) for a, b in pairwise(home)))
    return found


@st.composite
def asks(draw: st.DrawFn, facets: list[Facet]) -> Lookup:
    """Lookups that a facet almost serves: its partition, parts of its sort key, and others."""
    near = draw(st.sampled_from(facets))
    sort = near.sk.attributes if near.sk else ()
    known = draw(st.integers(0, len(sort)))
    equal = {field.attribute for field in near.pk.fields if not field.encoding.shards} | set(sort[:known])
    equal ^= draw(st.sampled_from([set(), set(), set(), {"a"}, {"b"}, {"c"}]))
    rest = [name for name in sort if name not in equal]
    within = draw(st.none() | st.tuples(st.sampled_from(rest[:2]), st.sampled_from(sorted(OPS)))) if rest else None
    sign = draw(st.sampled_from(["", "-"]))
    order = [sign + name for name in draw(st.sampled_from([[], rest[:1], rest[:2], rest, ["b"]]))]
    entities = draw(st.sampled_from([(near.entity,), (near.entity,), ("E", "F"), ("F", "E")]))
    return Lookup.of(*entities, equal=equal, within=within, order=order)


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(facets(), st.lists(st.tuples(st.sampled_from("EF"), ITEM), max_size=12), st.data())
def test_plan_reads_exactly_the_matching_items(
    facets: list[Facet], items: list[tuple[str, dict[str, Any]]], data: Any
) -> None:
    ask = data.draw(asks(facets))
    found = plan(facets, ask)
    if isinstance(found, Refusal):
        event("refused")
        return
    event(f"{found.operation} {found.scope.kind} of {len(ask.entities)}, {found.shards} shards")
    values: dict[str, Any] = {name: data.draw(ITEM)[name] for name in sorted(ask.equal)}
    if items and data.draw(st.booleans()):
        values = {name: items[0][1][name] for name in sorted(ask.equal)}
    if ask.within:
        one, two = data.draw(ITEM)[ask.within.attribute], data.draw(ITEM)[ask.within.attribute]
        assume(one is not None and two is not None)
        values[ask.within.attribute] = (one, two) if ask.within.op == "between" else one
    assume(None not in values.values())  # a missing value cannot be looked up
    stored = _stored(facets, items, found.slot)
    expected = [(entity, item) for entity, item, *_ in stored if entity in ask.entities and _answers(item, ask, values)]
    try:
        read = _read(found, values, stored)
    except KeyValueError:  # an empty key: no item can have it
        read = []
    assert sorted(map(repr, read)) == sorted(map(repr, expected))
    if found.shards == 1:
        for (_, before), (_, after) in pairwise(read):
            assert _rank(before, after, ask) <= 0


def _stored(
    facets: list[Facet], items: list[tuple[str, dict[str, Any]]], slot: str
) -> list[tuple[str, dict[str, Any], str, str]]:
    """The items in one slot; of several with the same table key, the first."""
    taken = {}
    for entity, item in items:
        home = next((f for f in facets if (f.entity, f.slot) == (entity, TABLE)), None)
        there = next((f for f in facets if (f.entity, f.slot) == (entity, slot)), None)
        try:
            identity = home.key(item) if home else (entity, repr(item))
            if there and identity not in taken:
                pk, sk = there.key(item)
                taken[identity] = (entity, item, pk, sk or "")
        except KeyValueError:  # an empty key
            continue
    return list(taken.values())


def _answers(item: dict[str, Any], ask: Lookup, values: dict[str, Any]) -> bool:
    if ask.within:
        value = item[ask.within.attribute]
        if value is None or not OPS[ask.within.op](value, values[ask.within.attribute]):
            return False
    return all(item[name] == values[name] for name in ask.equal)


def _read(
    found: Plan, values: dict[str, Any], stored: list[tuple[str, dict[str, Any], str, str]]
) -> list[tuple[str, dict[str, Any]]]:
    if found.operation == "GetItem":
        key = found.facets[0].key(values)
        there = [(entity, item) for entity, item, pk, sk in stored if (pk, sk) == key]
        return [one for one in there if all(one[1][name] == values[name] for name in found.compared)]
    read = []
    for condition in conditions(found, values):
        hits = [row for row in stored if row[2] == condition.pk and condition.admits(row[3])]
        read += [(e, item) for e, item, _, _ in sorted(hits, key=lambda row: row[3], reverse=found.reverse)]
    return read


def _rank(one: dict[str, Any], two: dict[str, Any], ask: Lookup) -> int:
    for order in ask.order:
        name, descending = order.attribute, order.descending
        if one[name] != two[name]:
            # A missing value is less than all others.
            less = one[name] is None or (two[name] is not None and one[name] < two[name])
            return -1 if less != descending else 1
    return 0


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from("abcn"), unique=True),
    st.lists(st.sampled_from("abcn"), min_size=1, unique=True),
    st.sets(st.sampled_from("abcn")),
    st.none() | st.sampled_from("abcn"),
    st.lists(st.sampled_from("abcn"), unique=True),
)
def test_single_facet_serves_exactly_its_prefixes(
    partition: list[str], sort: list[str], equal: set[str], within: str | None, order: list[str]
) -> None:
    """The partition must be given; other given attributes come first in the sort key, in any order; then range and sort."""
    if within in equal:
        within = None
    facet = Facet(
        "E",
        "gsi1",
        template("#".join(["P", *(f"{{{name}}}" for name in partition)])),
        template("#".join(["S", *(f"{{{name}}}" for name in sort)])),
    )
    rest = equal - set(partition)
    first = set(sort[: _run(sort, equal)])
    following = [name for name in sort[_run(sort, equal) :] if name not in equal]
    wanted = [name for name in order if name not in equal]
    served = (
        set(partition) <= equal
        and rest <= first
        and (within is None or sort[_run(sort, equal) :][:1] == [within])
        and wanted == following[: len(wanted)]
    )
    ask = Lookup.of("E", equal=equal, within=(within, ">=") if within else None, order=order)
    found = plan([facet], ask)
    assert isinstance(found, Plan) == served, str(found)
    assert isinstance(found, Refusal) != served


def _run(sort: list[str], equal: set[str]) -> int:
    return next((i for i, name in enumerate(sort) if name not in equal), len(sort))


TAGGED = ["A", "A#{c}", "B", "B#{b}", "B#{b}#X#{c}", "B#{b}#Y", "C#{n}", "D#{n:desc}#{c}", "{n}#A", "{n}#B#{c}", "Z"]


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.lists(st.sampled_from(TAGGED), min_size=3, max_size=5, unique=True))
def test_collection_reads_all_and_only_its_entities(data: Any, sorts: list[str]) -> None:
    facets = [Facet(f"E{i}", TABLE, template("P#{a}"), template(sk)) for i, sk in enumerate(sorts)]
    wanted = data.draw(st.sets(st.sampled_from([f.entity for f in facets]), min_size=1, max_size=3))
    equal = data.draw(st.sampled_from([{"a"}, {"a"}, {"a", "b"}]))
    within = data.draw(st.sampled_from([None, None, ("n", ">"), ("n", "<=")]))
    found = plan(facets, Lookup.of(*sorted(wanted), equal=equal, within=within))
    if isinstance(found, Refusal):
        event("refused")
        return
    event(f"{found.scope.kind} of {len(wanted)}")
    items = data.draw(st.lists(st.tuples(st.sampled_from([f.entity for f in facets]), ITEM), max_size=12))
    items = [(entity, item | {"a": "a"}) for entity, item in items]
    values = {"a": "a", "b": data.draw(TEXT), "n": data.draw(NUMBER)}
    stored = _stored(facets, items, TABLE)
    expected = [row[:2] for row in stored if row[0] in wanted and _answers(row[1], found.lookup, values)]
    assert sorted(map(repr, _read(found, values, stored))) == sorted(map(repr, expected))
