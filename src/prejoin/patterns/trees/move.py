"""Move a subtree to another path. Each item is at one path at any moment, and an interrupted move can be resumed.

A small subtree is moved in one transaction. For a larger one, a journal item is written first, and then several
transactions move some items each, from the old path to the new one. So a reader never finds an item twice or not at
all, and concurrent changes are not lost. `resume_moves` finds the journals, and finishes their moves.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from os import urandom
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec

from prejoin.keys import TABLE, Bounds, Template
from prejoin.keys.planner.key_condition import range_condition
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import TRANSACTION_ACTIONS, TRANSACTION_SIZE
from prejoin.protocol.sizes import item_size
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request, Steps, pause
from prejoin.table.errors import AlreadyExists, Conflict, NotFound, TableError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.key_attributes import key_text, wire
from prejoin.table.schema.schema import Schema
from prejoin.table.write.actions import item_name, merge_actions, unknown_attributes
from prejoin.table.write.execute import without_optional
from prejoin.table.write.expand import expand
from prejoin.table.write.merge import add_pattern_writes
from prejoin.table.write.model import ItemAction, StoredObject, Write

from .tree import BoundTree, below, checked_path, tree_of

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

ATTEMPTS = 20
"""How often a transaction is sent that conflicts with other writers."""

ROOM = TRANSACTION_ACTIONS - 1
"""One action of each transaction checks the journal."""


Outcome = Literal["moved", "again", "over"]
"""The outcome of a transaction: done; items have changed, so it is repeated; or the move has ended."""


class MoveUnfinished(TableError):  # noqa: N818 - the family is named by what happened
    """Another move in the same tree is running, or was interrupted."""


class _Move(msgspec.Struct, frozen=True):
    """A move of a subtree."""

    schema: Schema
    table: str
    entity: BoundEntity[Any]
    tree: BoundTree
    tree_values: Mapping[str, Any]
    """The attributes of the key without the path, which identify the tree."""
    source: str
    target: str

    @property
    def key(self) -> Json:
        """The key of the journal item."""
        return self.schema.facet_key(self.tree.journal, self.tree_values)

    def __str__(self) -> str:
        return f"the move of {self.entity.tag} from {self.source} to {self.target}"


@overload
def move(db: Client, cls: type[Any], source: str, target: str, /, **known: Any) -> int: ...
@overload
def move(db: AsyncClient, cls: type[Any], source: str, target: str, /, **known: Any) -> Coroutine[Any, Any, int]: ...
def move(db: Client | AsyncClient, cls: type[Any], source: str, target: str, /, **known: Any) -> Any:
    """Move the items at a path and below it to another path, and return how many.

    Keywords are the other attributes of the key: `move(db, File, "/docs", "/archive/docs", drive="d")`. Raise NotFound
    if there are no items, AlreadyExists if there are items at the target, MoveUnfinished if another move of the same
    tree is running or was interrupted.

    Cost: each item is deleted and put in a transaction, 4 write units for each KB, and the cost of its indexes; 2 units
    more for each transaction. More than 49 items, or 2 MB, need several transactions, and 2 units for the journal.
    """
    entity = db.schema.entity(cls)
    tree = tree_of(entity)
    subtree_move = _Move(
        db.schema, db.table, entity, tree, _tree_values(db.schema, entity, tree, known), source, target
    )
    if below(checked_path(target), checked_path(source)):
        raise TableError(f"{source} cannot be moved to {target}, which is at or below it")
    return db._run(_move_subtree(subtree_move))


@overload
def resume_moves(db: Client, *classes: type[Any], **known: Any) -> int: ...
@overload
def resume_moves(db: AsyncClient, *classes: type[Any], **known: Any) -> Coroutine[Any, Any, int]: ...
def resume_moves(db: Client | AsyncClient, *classes: type[Any], **known: Any) -> Any:
    """Finish interrupted moves, of some classes or of all with a tree, and return how many moves.

    It may be called at any time, also while a move is running. In a table with tenants, call it for each tenant, with
    its client. It costs half a read unit for each class, and the rest of the moves.
    """
    entities = [db.schema.entity(cls) for cls in classes] or [
        entity for entity in db.schema.entities if any(isinstance(pattern, BoundTree) for pattern in entity.patterns)
    ]
    return db._run(_resume_moves(db.schema, db.table, entities, known))


def _tree_values(
    schema: Schema, entity: BoundEntity[Any], tree: BoundTree, key_values: Mapping[str, Any]
) -> dict[str, Any]:
    values = dict(schema.with_tenant(key_values))
    expected_names = {name for name in entity.base.attributes if name != tree.path}
    if values.keys() != expected_names:
        keywords = ", ".join(f"{name}=…" for name in sorted(expected_names)) or "no attributes"
        raise TableError(f"a move in the tree of {entity.tag} needs its paths and {keywords}")
    return values


def _move_subtree(move: _Move) -> Steps[int]:
    items, has_more = yield from _stored_items(move, move.source)
    if not items:
        raise NotFound(f"there is no {move.entity.tag} at {move.source} or below it")
    if (yield from _stored_items(move, move.target, 1))[0]:
        raise AlreadyExists(f"there are items at {move.target} or below it, so {move.source} cannot be moved there")
    chunk = _items_that_fit(move, items)
    if not has_more and len(chunk) == len(items):
        outcome = yield from _move_some(move, chunk, journal=False)
        if outcome == "moved":
            return len(chunk)
    yield from _begin(move)
    return (yield from _finish(move))


def _begin(move: _Move) -> Steps[None]:
    placeholders = Placeholders()
    item = {
        **move.key,
        move.schema.type_attribute: {"S": move.tree.journal.entity},
        "source": {"S": move.source},
        "target": {"S": move.target},
    }
    body = {
        "TableName": move.table,
        "Item": item,
        "ConditionExpression": f"attribute_not_exists({placeholders.name(next(iter(move.key)))})",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **placeholders.parameters(),
    }
    try:
        yield Request("PutItem", body, key_text(move.key))
    except DynamoDBError as error:
        if error.code != "ConditionalCheckFailedException":
            raise
        raise _unfinished_error(move, error.fields.get("Item")) from error


def _finish(move: _Move) -> Steps[int]:
    """Move the remaining items, and delete the journal."""
    count = attempt = 0
    limit = TRANSACTION_ACTIONS
    while True:
        items, _ = yield from _stored_items(move, move.source, limit)
        if not items:
            break
        chunk = _items_that_fit(move, items)
        outcome = yield from _move_some(move, chunk, journal=True)
        if outcome == "over":
            return count
        if outcome == "moved":
            count += len(chunk)
            attempt = 0
            limit = min(2 * limit, TRANSACTION_ACTIONS)
            continue
        attempt += 1
        if attempt == ATTEMPTS:
            raise Conflict(
                f"items below {move.source} were being written at each of {ATTEMPTS} attempts. resume_moves() continues"
            )
        limit = max(1, len(chunk) // 2)  # fewer items, so a conflict is less likely
        yield pause(attempt)
    placeholders = Placeholders()
    body = {
        "TableName": move.table,
        "Key": move.key,
        "ConditionExpression": _is_journal(move, placeholders),
        **placeholders.parameters(),
    }
    try:
        yield Request("DeleteItem", body, key_text(move.key))
    except DynamoDBError as error:
        if error.code != "ConditionalCheckFailedException":  # another program has finished the move
            raise
    return count


def _resume_moves(
    schema: Schema, table: str, entities: Sequence[BoundEntity[Any]], key_values: Mapping[str, Any]
) -> Steps[int]:
    count = 0
    key_values = schema.with_tenant(key_values)
    for entity in entities:
        tree = tree_of(entity)
        pk, sk = tree.journal.pk, tree.journal.sk
        assert isinstance(pk, Template)
        if missing := [name for name in pk.attributes if name not in key_values]:
            raise TableError(
                f"each {missing[0]} has its own moves of {entity.tag}. Pass {missing[0]}=…, or use the client of a "
                "tenant"
            )
        assert isinstance(sk, Template)
        name, sort = schema.keys(TABLE).names
        body = {
            "TableName": table,
            "ConsistentRead": True,
            "KeyConditionExpression": "#pk = :pk",
            "ExpressionAttributeNames": {"#pk": name},
            "ExpressionAttributeValues": {":pk": {"S": pk.build(key_values)}},
        }
        answer = yield Request("Query", body, f"{entity.tag}, unfinished moves")
        for item in answer["Items"]:
            known_values = {**pk.parse(item[name]["S"]), **sk.parse(item[sort]["S"])}
            unfinished_move = _Move(schema, table, entity, tree, known_values, item["source"]["S"], item["target"]["S"])
            yield from _finish(unfinished_move)
            count += 1
    return count


def _stored_items(move: _Move, path: str, limit: int = TRANSACTION_ACTIONS) -> Steps[tuple[list[Json], bool]]:
    """Return the stored items at and below a path, also hidden ones; and whether there are more."""
    base, schema = move.entity.base, move.schema
    assert isinstance(base.sk, Template)
    bounds = Bounds.of("begins_with", path)
    condition = range_condition(base.sk, len(base.sk.parts) - 1, move.tree_values, bounds, base.pk_of(move.tree_values))
    assert condition is not None
    pk, sk = schema.keys(TABLE).names
    assert not isinstance(condition.pk, tuple)
    body = {
        "TableName": move.table,
        "ConsistentRead": True,
        "KeyConditionExpression": "#pk = :pk AND begins_with(#sk, :sk)",
        "ExpressionAttributeNames": {"#pk": pk, "#sk": sk},
        "ExpressionAttributeValues": {":pk": wire(condition.pk), ":sk": wire(condition.low)},
        "Limit": limit,
    }
    answer = yield Request("Query", body, condition)
    return answer["Items"], "LastEvaluatedKey" in answer


def _items_that_fit(move: _Move, items: Sequence[Json]) -> Sequence[Json]:
    """Return as many items as fit into one transaction, where each is deleted and put."""
    actions = size = 0
    guards: set[tuple[str, ...]] = set()
    for number, item in enumerate(items):
        actions_of_item = _actions(move, [item])
        actions += len(actions_of_item)
        size += 2 * item_size(item)
        guard_keys = {action.key for action in actions_of_item if action.owned is not None}
        if not guards.isdisjoint(guard_keys):  # two items with the same unique value, of which one has the guard
            return items[:number]
        guards |= guard_keys
        if actions > ROOM or size > TRANSACTION_SIZE:
            if number == 0:
                raise TableError(f"{move}: one item with the items of its patterns does not fit into a transaction")
            return items[:number]
    return items


def _move_some(move: _Move, items: Sequence[Json], journal: bool) -> Steps[Outcome]:
    """Move some items in one transaction."""
    return (yield from _move_by(move, _actions(move, items), journal))


def _move_by(move: _Move, actions: Sequence[ItemAction], journal: bool) -> Steps[Outcome]:
    placeholders = Placeholders()
    if journal:
        text = _is_journal(move, placeholders)
    else:
        text = f"attribute_not_exists({placeholders.name(next(iter(move.key)))})"
    check = {
        "TableName": move.table,
        "Key": move.key,
        "ConditionExpression": text,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **placeholders.parameters(),
    }
    body = {
        "TransactItems": [
            {"ConditionCheck": check},
            *({action.kind: {"TableName": move.table, **action.parameters}} for action in actions),
        ],
        "ClientRequestToken": urandom(16).hex(),
    }
    try:
        yield Request("TransactWriteItems", body, str(move))
    except DynamoDBError as error:
        if error.code in ("TransactionConflictException", "TransactionInProgressException"):
            return "again"
        if error.code != "TransactionCanceledException":
            raise
        return (yield from _after_cancellation(move, actions, journal, error))
    return "moved"


def _after_cancellation(
    move: _Move, actions: Sequence[ItemAction], journal: bool, error: DynamoDBError
) -> Steps[Outcome]:
    """Return the outcome of a cancelled transaction, by its reasons: one for the journal, and one for each action."""
    journal_reason, *reasons = error.fields.get("CancellationReasons") or [{}]
    if journal_reason.get("Code") == "ConditionalCheckFailed":
        if journal:
            return "over"  # another program has finished the move
        raise _unfinished_error(move, journal_reason.get("Item")) from error
    if required_actions := without_optional(actions, reasons):
        return (yield from _move_by(move, required_actions, journal))
    codes = [reason.get("Code", "None") for reason in reasons]
    if set(codes) - {"None", "ConditionalCheckFailed", "TransactionConflict"}:
        raise error
    coded_actions = zip(actions, codes, strict=False)
    failed_actions = [action for action, code in coded_actions if code == "ConditionalCheckFailed"]
    # If the old items have not changed, there is an item at a new path.
    if failed_actions and all(action.write.verb == "insert" for action in failed_actions):
        raise _already_exists(move, failed_actions[0], journal) from error
    return "again"


def _actions(move: _Move, items: Sequence[Json]) -> Sequence[ItemAction]:
    """Return the actions that move items: a delete if the item has not changed, an insert, and those of patterns."""
    schema, entity = move.schema, move.entity
    writes: list[Write] = []
    for item in items:
        values = entity.codec.values(entity.codec.decode(item))
        path = move.target + values[move.tree.path].removeprefix(move.source)
        key = {name: values[name] for name in entity.base.attributes}
        moved_values = move.tree.values_at(entity, values, path)
        stored_object = StoredObject(values, item, moved_values, complete=True)
        writes.append(Write("delete", entity, key, stored_object, visible=False))
        extra = unknown_attributes(schema, entity, item)
        writes.append(Write("insert", entity, moved_values, extra=extra))
    expanded_writes = add_pattern_writes(schema, writes)
    return merge_actions([action for write, _ in expanded_writes for action in expand(schema, write)])


def _is_journal(move: _Move, placeholders: Placeholders) -> str:
    paths = {"source": move.source, "target": move.target}
    return " AND ".join(f"{placeholders.name(name)} = {placeholders.text(path)}" for name, path in paths.items())


def _unfinished_error(move: _Move, item: Json | None) -> MoveUnfinished:
    paths_text = f" from {item['source']['S']} to {item['target']['S']}" if item else ""
    return MoveUnfinished(
        f"another move of {move.entity.tag}{paths_text} in the same tree is running, or was interrupted. "
        "resume_moves() finishes it"
    )


def _already_exists(move: _Move, action: ItemAction, journal: bool) -> AlreadyExists:
    advice = ". Delete or move it, and resume_moves() continues" if journal else ""
    return AlreadyExists(f"{item_name(action.write)} was inserted since, so {move} has stopped{advice}")
