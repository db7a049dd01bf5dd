"""Conditions as expressions: DynamoDB accepts them, and evaluates them as written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.place import fresh

from prejoin import Client, Entity, Key, Schema
from prejoin.table.codec.codec import Codec
from prejoin.table.condition.record import And, Compare, Condition, Not, Or
from prejoin.table.condition.render import Placeholders, render


@dataclass
class Thing:
    name: str
    a: int
    b: int


SCHEMA = Schema(Entity(Thing, Key("THING#{name}", "THING")))

leaves = st.builds(
    Compare, st.sampled_from([("a",), ("b",)]), st.sampled_from(["=", "<>", "<", ">="]), st.integers(0, 2)
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=6,
)


def meant(condition: Any, thing: Thing) -> bool:
    match condition:
        case And(items):
            return all(meant(item, thing) for item in items)
        case Or(items):
            return any(meant(item, thing) for item in items)
        case Not(item):
            return not meant(item, thing)
        case Compare((name,), op, value):
            found = getattr(thing, name)
            return {"=": found == value, "<>": found != value, "<": found < value, ">=": found >= value}[op]
    raise AssertionError(condition)


@given(conditions, st.integers(0, 2), st.integers(0, 2))
def test_nested_conditions_are_evaluated_as_written(condition: Condition, a: int, b: int) -> None:
    db = Client(SCHEMA, "things", fresh())
    db.create_table()
    thing = db.insert(Thing("x", a, b))
    found = db.query(Thing, name="x", filter=lambda _: condition)  # type: ignore[arg-type, return-value]
    assert found.items == ((thing,) if meant(condition, thing) else ())


def test_parentheses_that_change_nothing_are_left_out() -> None:
    one = Compare(("a",), "=", 1)
    either = Or((one, Compare(("b",), "=", 2)))
    codec = Codec.of(Thing)
    assert render(And((And((either,)), one)), codec, Placeholders()) == "(#0 = :0 OR #1 = :1) AND #0 = :2"
    assert render(Not(And((either,))), codec, Placeholders()) == "NOT (#0 = :0 OR #1 = :1)"
