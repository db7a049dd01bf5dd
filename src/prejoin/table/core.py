"""What a client does, without I/O: each operation is a conversation of requests and answers, for any driver to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, overload

from prejoin.keys import Plan
from prejoin.protocol.errors import DynamoDBError

from .conversation import Request, Steps
from .errors import CodecError, TableError, TooMany, TransactionCancelled
from .expand import expand
from .reads import Query, read
from .schema import Schema
from .values import Json
from .writes import Action, Write, checked_actions

E = TypeVar("E")


@dataclass(frozen=True)
class Page(Sequence[E], Generic[E]):
    """Objects in the order of the keys. `cursor` goes on after them; None where there are no more."""

    items: tuple[E, ...]
    cursor: str | None = None
    unmatched: tuple[Json, ...] = ()
    """Items that were read and are of no entity asked for, as they came."""

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> E: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[E]: ...
    def __getitem__(self, index: int | slice) -> E | Sequence[E]:
        return self.items[index]


@dataclass(frozen=True)
class Collection:
    """An item collection, read by one query: objects of several classes, in the order of the keys."""

    items: tuple[Any, ...]
    cursor: str | None = None
    unmatched: tuple[Json, ...] = ()

    def all(self, cls: type[E]) -> list[E]:
        return [item for item in self.items if type(item) is cls]

    def one(self, cls: type[E]) -> E | None:
        found = self.all(cls)
        if len(found) > 1:
            raise TooMany(f"{len(found)} {cls.__name__} in the collection, where one was asked for")
        return found[0] if found else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def get_item(schema: Schema, table: str, plan: Plan, values: Mapping[str, Any]) -> Steps[Any]:
    """The object with this key, or None."""
    facet = plan.facets[0]
    own = {plan.ask.attribute(facet.entity, name): value for name, value in values.items()}
    key = schema.written(facet, own)
    body: dict[str, Any] = {"TableName": table, "Key": key}
    if plan.ask.consistent:
        body["ConsistentRead"] = True
    answer = yield Request("GetItem", body, " / ".join(text["S"] for text in key.values()))
    item = answer.get("Item")
    if item is None:
        return None
    entity = schema.by_tag[facet.entity]
    tag = item.get(schema.type_attribute, {}).get("S")
    if tag not in (None, facet_tag(facet.entity, facet.copy)):
        raise CodecError(f"the item {' / '.join(text['S'] for text in key.values())} is a {tag}, not a {entity.tag}")
    return entity.codec.decode(item)


def read_objects(
    schema: Schema, query: Query, limit: int | None, after: str | None
) -> Steps[tuple[tuple[Any, ...], str | None, tuple[Json, ...]]]:
    """Objects of the entities asked for, the cursor, and items that are of none of them."""
    items, cursor = yield from read(query, limit, after)
    tags = {facet_tag(facet.entity, facet.copy): schema.by_tag[facet.entity] for facet in query.plan.facets}
    found, unmatched = [], []
    for item in items:
        entity = tags.get(item.get(schema.type_attribute, {}).get("S", ""))
        if entity is None:
            unmatched.append(item)
        else:
            found.append(entity.codec.decode(item))
    return tuple(found), cursor, tuple(unmatched)


def facet_tag(entity: str, copy: str) -> str:
    return f"{entity}.{copy}" if copy else entity


def write_all(schema: Schema, table: str, writes: Sequence[Write], token: str | None = None) -> Steps[None]:
    """One action as a plain call, several as a transaction; a failure as what it means."""
    actions = checked_actions([action for write in writes for action in expand(schema, write)])
    if not actions:
        return
    if len(actions) == 1 and token is None and actions[0].kind != "ConditionCheck":
        yield from _alone(table, actions[0])
        return
    body: dict[str, Any] = {
        "TransactItems": [{action.kind: {"TableName": table, **action.parameters}} for action in actions]
    }
    if token is not None:
        body["ClientRequestToken"] = token
    try:
        yield Request("TransactWriteItems", body, ", ".join(map(str, actions)))
    except DynamoDBError as error:
        if error.code != "TransactionCanceledException":
            raise
        failures = _failures(error, actions)
        if len(writes) == 1 and failures:
            raise failures[0] from error
        raise TransactionCancelled(failures) from error


def _alone(table: str, action: Action) -> Steps[None]:
    try:
        yield Request(f"{action.kind}Item", {"TableName": table, **action.parameters}, str(action))
    except DynamoDBError as error:
        if error.code == "ConditionalCheckFailedException":
            raise action.failure(error.fields.get("Item")) from error
        raise


def _failures(error: DynamoDBError, actions: Sequence[Action]) -> list[TableError]:
    reasons = cast("list[dict[str, Any]]", error.fields.get("CancellationReasons") or [])
    failures: list[TableError] = []
    for action, reason in zip(actions, reasons, strict=False):
        code = reason.get("Code", "None")
        if code == "ConditionalCheckFailed":
            failures.append(action.failure(reason.get("Item")))
        elif code != "None":
            failures.append(TableError(f"{action}: {code}: {reason.get('Message', '')}"))
    return failures
