"""BatchGetItem: many objects by their keys, a hundred per request, until all keys are processed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prejoin.keys import TABLE
from prejoin.table.codec.values import Json
from prejoin.table.conversation import ItemKeys, Request, Steps, pause
from prejoin.table.errors import TableError, Unanswered
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .execute import send_all, sortable
from .get import projection
from .plan import ReadPlan, check_only_key, key_of, plan_read

MOST_KEYS = 100
BATCHES = 4
"""How many requests are sent at the same time. A response has up to 16 MB."""
ATTEMPTS = 10
"""How many requests in a row may return nothing at all."""

KeyValues = tuple[Any, ...]


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
    """Read the objects with these keys, in the order of the keys; None for a key without an item."""
    entity: BoundEntity[Any] = schema.entity(cls)
    names = schema.keys(TABLE).names
    plan: ReadPlan | None = None
    order: list[KeyValues] = []
    waiting: dict[KeyValues, Json] = {}
    for attributes in keys:
        key_plan, values = plan_read(schema, (entity,), attributes, consistent=consistent, into=into)
        plan = _check_key_plan(plan, key_plan, attributes)
        key = key_of(schema, plan, values)
        # DynamoDB refuses a key that is requested twice, and returns items in no order.
        order.append(sortable(key, names))
        waiting[order[-1]] = key
    if plan is None:
        return []
    if keep:
        plan = plan.keeping()
    extra: dict[str, Any] = {"ConsistentRead": True} if consistent else {}
    if into is not None:
        extra |= projection({*plan.decoder.wires, *names})
    objects = yield from _read_all(table, plan, names, waiting, extra, progress)
    return [objects.get(key) for key in order]


def _check_key_plan(first: ReadPlan | None, plan: ReadPlan, key: Mapping[str, Any]) -> ReadPlan:
    """Return the plan of a key, if it is a whole key of the table and names the same attributes as the first one."""
    if plan.plan.operation != "GetItem":
        raise TableError(
            f"{', '.join(key)} is not the key of {plan.plan.lookup.entities[0]} in the table, and get_many reads by "
            "that key only. Use query"
        )
    check_only_key(plan, "get_many")
    # Another thread may have planned the same read anew, so that the plans are equal and not the same.
    if first is not None and plan is not first and plan.plan.lookup != first.plan.lookup:
        raise TableError(f"the keys name different attributes: {', '.join(key)} and {first.plan.lookup}")
    return plan


def _read_all(
    table: str,
    plan: ReadPlan,
    names: tuple[str, ...],
    waiting: Mapping[KeyValues, Json],
    extra: Mapping[str, Any],
    progress: Callable[[int], None] | None,
) -> Steps[dict[KeyValues, Any]]:
    decoder, total, attempt = plan.decoder, len(waiting), 0
    objects: dict[KeyValues, Any] = {}
    remaining = list(waiting.values())
    while remaining:
        wave, remaining = remaining[: BATCHES * MOST_KEYS], remaining[BATCHES * MOST_KEYS :]
        batches = [wave[at : at + MOST_KEYS] for at in range(0, len(wave), MOST_KEYS)]
        answers = yield from send_all([_request(table, plan, names, keys, extra) for keys in batches])
        unread = [key for answer in answers for key in answer.unprocessed_keys.get(table, {}).get("Keys", ())]
        for answer in answers:
            for key, result in zip(answer.keys, answer.objects, strict=True):
                objects[sortable(key, names)] = decoder.require_match(
                    result, key_text({name: key[name] for name in names})
                )
        remaining = unread + remaining
        if progress and len(unread) < len(wave):
            progress(total - len(remaining))
        # A response has up to 16 MB. Keys beyond that, or beyond the capacity of the table, are no error: they are
        # listed as unprocessed. Only responses without a single item count as attempts.
        if unread:
            attempt = attempt + 1 if len(unread) == len(wave) else 0
            if attempt == ATTEMPTS:
                raise Unanswered(
                    f"{len(remaining)} of {total} keys were not read: DynamoDB had no capacity for {ATTEMPTS} requests "
                    "in a row",
                    remaining,
                )
            yield pause(attempt)
    return objects


def _request(table: str, plan: ReadPlan, names: tuple[str, ...], keys: list[Json], extra: Mapping[str, Any]) -> Request:
    body = {"RequestItems": {table: {"Keys": keys, **extra}}}
    texts = ItemKeys([key_text(key) for key in keys])
    return Request("BatchGetItem", body, texts, lambda answer: plan.decoder.batch(answer, names))
