"""What is asked of one item beside its whole key: it is read, and is the answer only if it has what was given.

Nothing else is read and left out; so that is no filter, but it is tested in the same words, and as DynamoDB would.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from prejoin.keys import Plan
from prejoin.protocol.expressions import Substitutions, bind_condition, evaluate
from prejoin.protocol.values import canonical_item
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import Json
from prejoin.table.errors import TableError

from .record import Compare, Condition, both
from .render import Placeholders, render


def condition(plan: Plan, values: Mapping[str, Any], where: Condition | None) -> Condition | None:
    """What has to hold for the item: that it has what is given beside its key, and what else is wanted of it."""
    entity = plan.facets[0].entity
    given: list[Condition] = [
        Compare((plan.lookup.attribute(entity, name),), "=", values[name]) for name in sorted(plan.compared)
    ]
    return reduce(both, given, where)


def wires(plan: Plan, codec: Codec[Any]) -> set[str]:
    """The attributes that are wanted or tested, as the table calls them, where not all are."""
    entity = plan.facets[0].entity
    names = plan.compared | (plan.lookup.needs or frozenset())
    return {codec.attribute(plan.lookup.attribute(entity, name)).wire for name in names}


def holds(test: Condition, codec: Codec[Any], item: Json) -> bool:
    """Whether an item is as wanted.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Product:
    ...     stock: int
    >>> holds(Compare(("stock",), "=", 10), Codec.of(Product), {"stock": {"N": "10"}})
    True
    """
    to = Placeholders()
    text = render(test, codec, to)
    said = to.parameters()
    names, given = said.get("ExpressionAttributeNames"), said.get("ExpressionAttributeValues")
    # DynamoDB keeps 1.50 as 1.5; not every server does.
    return evaluate(bind_condition(text, Substitutions(names, given)), canonical_item(item))


def refusal(plan: Plan, what: str) -> TableError:
    """Why many are not asked for so at once, where each is read by its key alone."""
    more = ", ".join(sorted(plan.compared))
    return TableError(
        f"{more} is not part of the key of {plan.lookup.entities[0]}, and {what} reads by keys alone: leave it out, "
        "and look at the objects"
    )
