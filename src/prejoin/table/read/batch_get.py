"""Many objects by their keys: BatchGetItem, a hundred at a time, until every key is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from prejoin.keys import TABLE
from prejoin.table.backoff import pause
from prejoin.table.codec.values import Json
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import TableError, Unanswered
from prejoin.table.lazy import Lazy
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .execute import sortable, together
from .get import key_of, projection
from .plan import Asked, planned

if TYPE_CHECKING:
    from prejoin.table.condition import key_remainder as comparing
else:
    comparing = Lazy("prejoin.table.condition.key_remainder")

MOST_KEYS = 100
BATCHES = 4
"""Requests side by side. An answer has up to 16 MB."""
ATTEMPTS = 10
"""How often in a row nothing at all may be answered."""

Key = tuple[Any, ...]


def get_many(
    schema: Schema,
    table: str,
    cls: type[Any],
    keys: Iterable[Mapping[str, Any]],
    consistent: bool,
    into: type | None,
    progress: Callable[[int], None] | None,
    keep: bool = False,
) -> Steps[list[Any]]:
    """The objects with these keys, in their order; None where there is none."""
    entity: Bound[Any] = schema.entity(cls)
    names = schema.keys(TABLE).names
    asked: Asked | None = None
    order: list[Key] = []
    waiting: dict[Key, Json] = {}
    for given in keys:
        planned_so, values = planned(schema, (entity,), given, consistent=consistent, into=into)
        asked = _same(asked, planned_so, given)
        key = key_of(schema, asked, values)
        order.append(sortable(key, names))
        waiting[order[-1]] = key
    if asked is None:
        return []
    if keep:
        asked = replace(asked, reading=asked.reading.keeping)
    extra: dict[str, Any] = {"ConsistentRead": True} if consistent else {}
    if into is not None:
        extra |= projection({*asked.reading.wires, *names})
    found = yield from _read_all(table, asked, names, waiting, extra, progress)
    return [found.get(key) for key in order]


def _same(before: Asked | None, asked: Asked, given: Mapping[str, Any]) -> Asked:
    if asked.plan.operation != "GetItem":
        raise TableError(
            f"{', '.join(given)} is not the key of {asked.plan.ask.entities[0]} in the table, "
            "and only by that many are read at once: use query"
        )
    if asked.plan.compared:
        raise comparing.refusal(asked.plan, "get_many")
    if before is not None and asked is not before:
        raise TableError(f"the keys differ in what they name: {', '.join(given)} beside {before.plan.ask}")
    return asked


def _read_all(
    table: str,
    asked: Asked,
    names: tuple[str, ...],
    waiting: Mapping[Key, Json],
    extra: Mapping[str, Any],
    progress: Callable[[int], None] | None,
) -> Steps[dict[Key, Any]]:
    reading, total, attempt = asked.reading, len(waiting), 0
    found: dict[Key, Any] = {}
    rest = list(waiting.values())
    while rest:
        now, rest = rest[: BATCHES * MOST_KEYS], rest[BATCHES * MOST_KEYS :]
        batches = [now[at : at + MOST_KEYS] for at in range(0, len(now), MOST_KEYS)]
        answers = yield from together([_request(table, asked, names, keys, extra) for keys in batches])
        left = [key for answer in answers for key in answer.left.get(table, {}).get("Keys", ())]
        for answer in answers:
            for key, one in zip(answer.keys, answer.found, strict=True):
                found[sortable(key, names)] = reading.matched(one, key_text({name: key[name] for name in names}))
        rest = left + rest
        if progress and len(left) < len(now):
            progress(total - len(rest))
        if left:
            attempt = attempt + 1 if len(left) == len(now) else 0
            if attempt == ATTEMPTS:
                what = f"{len(rest)} of {total} keys were not answered"
                raise Unanswered(f"{what}: {ATTEMPTS} times in a row DynamoDB had no capacity for any", rest)
            yield pause(attempt)
    return found


def _request(table: str, asked: Asked, names: tuple[str, ...], keys: list[Json], extra: Mapping[str, Any]) -> Request:
    body = {"RequestItems": {table: {"Keys": keys, **extra}}}
    return Request(
        "BatchGetItem", body, ", ".join(map(key_text, keys)), lambda answer: asked.reading.batch(answer, names)
    )
