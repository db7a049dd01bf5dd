"""Tests of the proof: it must detect every broken design and every broken client."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from tests.proof.league import Request, league_design, league_workload, proof

from prejoin import TableError
from prejoin.design.model import Design, Facet, Item, Projection, ProjectionKind
from prejoin.proof.result import Proof

pytestmark = pytest.mark.slow


def test_league_is_proven_with_any_seed() -> None:
    for seed in (1, 2):
        found = proof(seed=seed)
        assert [(a.pattern, a.wrong, a.problem) for a in found.failed] == []
        assert found.findings == ()
        assert found.right
        assert [a.pattern for a in found.patterns] == [p.id for p in league_workload().patterns]
        assert all(a.cases for a in found.patterns)
        assert {a.pattern for a in found.patterns if a.predicted is None} == set()
        assert {a.pattern: a.units for a in found.patterns} == {a.pattern: a.predicted for a in found.patterns}
        assert sum(a.pages for a in found.patterns) > 50
        assert {what for a in found.patterns for what in a.refused} == {
            "a Member that is there already",
            "a Member that is not there",
            "a Member with the email of another",
            "Member.status not as the condition says",
            "a Team that is not there",
            "an Event that is there already",
            "no Team that it depends on",
        }


# --- Broken designs -------------------------------------------------------------------------------------------------


def _items(change: Callable[[Item], Item | None]) -> Design:
    """The design with changed items and unchanged operations."""
    design = league_design()
    return replace(design, items=tuple(found for item in design.items if (found := change(item)) is not None))


def _facets(change: Callable[[Item, Facet], Facet | None]) -> Design:
    def changed(item: Item) -> Item:
        return replace(item, facets=tuple(f for facet in item.facets if (f := change(item, facet)) is not None))

    return _items(changed)


def _sk(entity: str, slot: str, text: str) -> Design:
    def changed(item: Item, facet: Facet) -> Facet:
        return replace(facet, sk=(text,)) if (item.entity, facet.slot, item.copy) == (entity, slot, "") else facet

    return _facets(changed)


def _pk(entity: str, slot: str, text: str) -> Design:
    def changed(item: Item, facet: Facet) -> Facet:
        return replace(facet, pk=(text,)) if (item.entity, facet.slot, item.copy) == (entity, slot, "") else facet

    return _facets(changed)


DESIGNS: dict[str, Callable[[], Design]] = {
    "a facet is missing": lambda: _facets(lambda i, f: None if (i.entity, f.slot) == ("Member", "gsi1") else f),
    "the parts of a sort key are swapped": lambda: _sk("Member", "gsi1", "SCORE#{login}#{score}"),
    "a sort key runs the other way and nobody knows": lambda: _sk("Event", "gsi1", "{eventId}#{at}"),
    "a sort key has no order": lambda: _sk("Member", "gsi3", "JOINED#{login}#{joinedAt}"),
    "a partition is of something else": lambda: _pk("Member", "gsi1", "TEAM#{login}"),
    "the copy is missing": lambda: _items(lambda i: None if i.copy else i),
    "the guard is missing": lambda: replace(league_design(), guards=()),
    "a sparse index has everybody": lambda: _facets(
        lambda i, f: replace(f, when=()) if (i.entity, f.slot) == ("Member", "gsi2") else f
    ),
    "shards that nobody reads": lambda: _pk("Event", "gsi2", "KIND#{kind}#{eventId:shard(9)}"),
    "months where days are read": lambda: _pk("Event", "gsi1", "EVENTS#{at:month}"),
    "an index that does not hold what is wanted": lambda: replace(
        league_design(),
        slots=tuple(replace(s, projection=Projection(ProjectionKind.KEYS_ONLY)) for s in league_design().slots),
    ),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_broken_design_is_detected(name: str) -> None:
    try:
        found = proof(DESIGNS[name]())
    except TableError:
        return  # an invalid schema is refused before anything runs
    assert not found.right
    assert found.failed


def test_a_value_that_a_key_cannot_hold_is_a_finding() -> None:
    found = proof(_sk("Member", "gsi1", "SCORE#{score:05d}#{login}"))
    assert not found.right
    assert "cannot be written" in found.findings[0]


# --- Broken clients -------------------------------------------------------------------------------------------------


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    """A request with each text in a key or value changed."""
    if isinstance(value, dict):
        return {k: change(v) if k == "S" else _texts(v, change) for k, v in value.items()}
    return [_texts(v, change) for v in value] if isinstance(value, list) else value


def _actions(request: Request) -> Iterator[tuple[str, Request]]:
    for one in request.get("TransactItems", ()):
        yield from one.items()


def forwards(operation: str, request: Request) -> None:
    request.pop("ScanIndexForward", None)


def unconditional(operation: str, request: Request) -> None:
    for kind, one in ((operation, request), *_actions(request)):
        if kind.removesuffix("Item") in {"Put", "Update", "Delete"}:
            one.pop("ConditionExpression", None)
            _forget(one)


def _forget(action: Request) -> None:
    """Removes unused names and values, which DynamoDB refuses."""
    texts = " ".join(str(v) for k, v in action.items() if k.endswith("Expression"))
    for member in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        kept = {k: v for k, v in action.get(member, {}).items() if re.search(re.escape(k) + r"(?!\w)", texts)}
        action.pop(member, None)
        if kept:
            action[member] = kept
    if "ConditionExpression" not in action:
        action.pop("ReturnValuesOnConditionCheckFailure", None)


def _is_copy(action: Request) -> bool:
    key = action.get("Key") or action.get("Item") or {}
    return str(key.get("pk", {}).get("S", "")).startswith("LOGIN#")


def stale_copy(operation: str, request: Request) -> Request | None:
    if operation != "TransactWriteItems":
        return None
    kept = [one for one in request["TransactItems"] if not ("Update" in one and _is_copy(one["Update"]))]
    return {**request, "TransactItems": kept or request["TransactItems"]}


def left_copy(operation: str, request: Request) -> Request | None:
    if operation != "TransactWriteItems":
        return None
    kept = [one for one in request["TransactItems"] if not ("Delete" in one and _is_copy(one["Delete"]))]
    return {**request, "TransactItems": kept or request["TransactItems"]}


def left_guard(operation: str, request: Request) -> Request | None:
    if operation != "TransactWriteItems":
        return None
    kept = [o for o in request["TransactItems"] if not ("Delete" in o and "UNIQUE#" in str(o["Delete"]["Key"]))]
    return {**request, "TransactItems": kept}


def stale_index_key(operation: str, request: Request) -> None:
    for one in (request, *(action for _, action in _actions(request))):
        text = one.get("UpdateExpression", "")
        names = one.get("ExpressionAttributeNames", {})
        mine = [k for k, v in names.items() if v == "gsi1sk"]
        if text and mine:
            parts = re.sub(rf"{re.escape(mine[0])} = :\w+(, )?", "", text)
            one["UpdateExpression"] = re.sub(r",\s*(?=$|REMOVE|ADD)", " ", parts)
            _forget(one)


def unescaped(operation: str, request: Request) -> Request:
    found: Request = _texts(request, lambda text: text.replace("$23", "#"))
    return found


def folded(operation: str, request: Request) -> Request:
    if operation in {"CreateTable", "DescribeTable"}:
        return request
    found: Request = _texts(request, lambda text: text.lower() if text.startswith("MEMBER#") else text)
    return found


def open_prefix(operation: str, request: Request) -> None:
    """Prefixes without a terminator: TEAM#1 is a prefix of TEAM#10."""
    if operation == "Query" and "begins_with" in request["KeyConditionExpression"]:
        request["ExpressionAttributeValues"][":k1"]["S"] = request["ExpressionAttributeValues"][":k1"]["S"][:1]


def open_range(operation: str, request: Request) -> None:
    """Ranges without an end include later items."""
    if operation == "Query" and "BETWEEN" in request["KeyConditionExpression"]:
        request["KeyConditionExpression"] = request["KeyConditionExpression"].replace("BETWEEN :k1 AND :k2", ">= :k1")
        del request["ExpressionAttributeValues"][":k2"]


def one_shard(operation: str, request: Request) -> None:
    """Reads one shard twice, and another not at all."""
    if operation == "Query":
        value = request["ExpressionAttributeValues"][":k0"]
        value["S"] = re.sub(r"^(KIND#\w+#).*$", r"\g<1>0", value["S"])


def first_page_again(operation: str, request: Request) -> None:
    request.pop("ExclusiveStartKey", None)


def eventually(operation: str, request: Request) -> None:
    """Eventually consistent reads. They return the same here, but cost half."""
    if operation in {"GetItem", "Query"}:
        request.pop("ConsistentRead", None)


def no_projection(operation: str, request: Request) -> None:
    if operation == "CreateTable":
        for index in request.get("GlobalSecondaryIndexes", ()):
            index["Projection"] = {"ProjectionType": "KEYS_ONLY"}


def lost_attribute(operation: str, request: Request) -> None:
    for one in (request, *(action for _, action in _actions(request))):
        one.get("Item", {}).pop("note", None)


ASKING: dict[str, Callable[[str, Request], Request | None]] = {
    f.__name__: f
    for f in (
        forwards,
        unconditional,
        stale_copy,
        left_copy,
        left_guard,
        stale_index_key,
        unescaped,
        folded,
        open_prefix,
        open_range,
        one_shard,
        first_page_again,
        eventually,
        no_projection,
        lost_attribute,
    )
}


@pytest.mark.parametrize("name", ASKING)
def test_changed_request_is_detected(name: str) -> None:
    _found_out(lambda: proof(ask=ASKING[name]))


def last_is_lost(operation: str, request: Request, answer: Request) -> Request:
    if operation == "Query" and len(answer.get("Items", ())) > 1:
        return {**answer, "Items": answer["Items"][:-1], "Count": answer["Count"] - 1}
    return answer


def last_is_twice(operation: str, request: Request, answer: Request) -> Request:
    if operation == "Query" and answer.get("Items"):
        return {**answer, "Items": [*answer["Items"], answer["Items"][-1]], "Count": answer["Count"] + 1}
    return answer


def turned_round(operation: str, request: Request, answer: Request) -> Request:
    if operation == "Query" and "Items" in answer:
        return {**answer, "Items": answer["Items"][::-1]}
    return answer


def cut_short(operation: str, request: Request, answer: Request) -> Request:
    return {k: v for k, v in answer.items() if k != "LastEvaluatedKey"} if operation == "Query" else answer


def miscounted(operation: str, request: Request, answer: Request) -> Request:
    return {**answer, "Count": answer["Count"] + 1} if request.get("Select") == "COUNT" else answer


def dearer(operation: str, request: Request, answer: Request) -> Request:
    used = answer.get("ConsumedCapacity")
    if isinstance(used, dict):
        return {**answer, "ConsumedCapacity": {**used, "CapacityUnits": used["CapacityUnits"] + 0.5}}
    return answer


def somebody_else(operation: str, request: Request, answer: Request) -> Request:
    """Another item than the requested one."""
    if operation == "GetItem" and "Item" in answer and "name" in answer["Item"]:
        return {**answer, "Item": {**answer["Item"], "name": {"S": "another"}}}
    return answer


TELLING: dict[str, Callable[[str, Request, Request], Request]] = {
    f.__name__: f for f in (last_is_lost, last_is_twice, turned_round, cut_short, miscounted, dearer, somebody_else)
}


@pytest.mark.parametrize("name", TELLING)
def test_changed_response_is_detected(name: str) -> None:
    _found_out(lambda: proof(tell=TELLING[name]))


def _found_out(run: Callable[[], Proof]) -> None:
    try:
        found = run()
    except TableError:
        return  # the client itself has detected the error
    assert not found.right, "nobody noticed"
