"""Visibility of items: the client's test for a get equals DynamoDB's for a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prejoin.protocol.expressions import Substitutions, bind_condition, evaluate
from prejoin.table.codec.codec import Codec
from prejoin.table.condition.evaluate import holds
from prejoin.table.condition.record import And, Compare, Condition, Exists, Not, Or
from prejoin.table.condition.render import Placeholders, render


@dataclass
class Thing:
    name: str
    count: int


CODEC = Codec.of(Thing)
VALUES = {"name": st.sampled_from(["", "9", "10", "a"]), "count": st.sampled_from([-1, 0, 9, 10])}
names = st.sampled_from(sorted(VALUES))
compared = names.flatmap(
    lambda name: st.builds(Compare, st.just((name,)), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), VALUES[name])
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    compared | st.builds(Exists, names.map(lambda name: (name,)), st.booleans()),
    lambda inner: (
        st.builds(And, st.tuples(inner, inner)) | st.builds(Or, st.tuples(inner, inner)) | st.builds(Not, inner)
    ),
    max_leaves=4,
)
stored = st.sampled_from(
    [{"S": "9"}, {"S": "10"}, {"N": "9"}, {"N": "10"}, {"N": "9.5"}, {"NULL": True}, {"BOOL": True}]
)
items = st.fixed_dictionaries({}, optional={"name": stored, "count": stored})


@given(conditions, items)
def test_visibility_equals_dynamodbs_filter(condition: Condition, item: dict[str, Any]) -> None:
    to = Placeholders()
    text = render(condition, CODEC, to)
    said = to.parameters()
    given_ = Substitutions(said.get("ExpressionAttributeNames"), said.get("ExpressionAttributeValues"))
    assert holds(condition, CODEC, item) == evaluate(bind_condition(text, given_, "FilterExpression"), item)
