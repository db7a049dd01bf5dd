"""What a client asks, as conversations: the arguments of get, query and collect planned, read, and made objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from prejoin.keys import Order, Role

from .asking import Roles, planned, query_of
from .bind import Bound
from .conversation import Steps
from .core import Collection, Page, get_item, read_objects
from .errors import TooMany
from .expressions import Where, recorded
from .schema import Schema

E = TypeVar("E")


def get(schema: Schema, table: str, cls: type[E], equal: Mapping[str, Any], consistent: bool) -> Steps[E | None]:
    entity = schema.entity(cls)
    plan, values = planned(schema, (entity,), equal, consistent=consistent)
    if plan.operation == "GetItem":
        return cast("E | None", (yield from get_item(schema, table, plan, values)))
    query = query_of(schema, table, plan, values, entity.codec)
    found, *_ = yield from read_objects(schema, query, 2, None)
    if len(found) > 1:
        raise TooMany(f"more than one {entity.tag} by {', '.join(equal)}: use query")
    return found[0] if found else None


def query(
    schema: Schema,
    table: str,
    cls: type[E],
    where: Where[E] | None,
    equal: Mapping[str, Any],
    *,
    order: str | Iterable[str | Order],
    reverse: bool,
    limit: int | None,
    after: str | None,
    filter: Where[E] | None,  # noqa: A002 - the word for it
    consistent: bool,
    now: datetime | None,
) -> Steps[Page[E]]:
    entity = schema.entity(cls)
    plan, values = planned(
        schema,
        (entity,),
        equal,
        recorded(where, entity.codec),
        order=[order] if isinstance(order, str) else order,
        consistent=consistent,
    )
    test = recorded(filter, entity.codec)
    if plan.operation == "GetItem" and test is None and after is None:
        found = yield from get_item(schema, table, plan, values)
        return Page(() if found is None else (found,))
    query = query_of(schema, table, plan, values, entity.codec, reverse=reverse, where=test, now=now)
    return Page(*(yield from read_objects(schema, query, limit, after)))


def collect(
    schema: Schema,
    table: str,
    classes: tuple[type, ...],
    where: Where[Any] | None,
    equal: Mapping[str, Any],
    *,
    roles: Roles | None,
    order: str | Iterable[str | Order],
    reverse: bool,
    limit: int | None,
    after: str | None,
    consistent: bool,
    now: datetime | None,
) -> Steps[Collection]:
    entities: tuple[Bound[Any], ...] = tuple(schema.entity(cls) for cls in classes)
    plan, values = planned(
        schema,
        entities,
        equal,
        recorded(where, entities[0].codec),
        order=[order] if isinstance(order, str) else order,
        consistent=consistent,
        roles=tuple(
            Role(schema.entity(cls).tag, name, attribute)
            for cls, names in (roles or {}).items()
            for name, attribute in names.items()
        ),
    )
    query = query_of(schema, table, plan, values, entities[0].codec, reverse=reverse, now=now)
    return Collection(*(yield from read_objects(schema, query, limit, after)))
